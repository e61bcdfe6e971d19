"""The policy assistant before the release gates: its outcomes as rows of questions, its chunks as candidates, its filters as what they dropped (SPEC 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import policy_filters as filters
from lib.policy_chunks import holders
from lib.rerankers import Reranker, ask
from lib.rollout_rows import ROWS
from lib.viability_requirement import EVERY

DATASET = "policy"


def outcome_rows(outcomes: pd.DataFrame, before: str, after: str, dataset: str = DATASET) -> pd.DataFrame:
    """``rollout_rows.ROWS`` from `policy_arms.outcomes`: the arm ``after`` against the arm ``before`` over the same pools, and once more as slice ``all``.

    The requirement is a whole bundle. Scores are not nDCG but the best bundle's share: base and reranked of what is shown, ceiling of the best order of the
    pool. Raises ValueError for an arm that is not there, or pools that differ (then more than the order was changed).
    """
    if lost := [a for a in (before, after) if a not in set(outcomes["arm"])]:
        raise ValueError(f"there is no outcome of arm {lost[0]!r}; there are {', '.join(sorted(set(outcomes['arm'])))}")
    if outcomes.duplicated(["qid", "arm"]).any():
        raise ValueError("a question has several outcomes of one arm; keep one depth")
    old, new = (outcomes[outcomes["arm"] == arm].set_index("qid").sort_index() for arm in (before, after))
    new = new.reindex(old.index)
    pools = old["pool_complete"].astype(float), new["pool_complete"].astype(float)
    if not np.allclose(*pools, equal_nan=True):
        raise ValueError(f"arms {before!r} and {after!r} have other pools: gates ask what an order makes of the same candidates")
    shown = old["complete"].astype(float), new["complete"].astype(float)
    known = shown[0].notna() & shown[1].notna()
    base, reranked, best = (side.astype(float) for side in (old["coverage"], new["coverage"], old["ceiling_coverage"]))
    rows = pd.DataFrame({"dataset": dataset, "qid": old.index, "slice": old["slice"], "in_pool": pools[0], "shown_before": shown[0], "shown_after": shown[1],
                         "broken": (shown[0] > shown[1]).astype(float).where(known), "repaired": (shown[0] < shown[1]).astype(float).where(known), "base": base,
                         "reranked": reranked, "ceiling": best, "ordering_headroom": (best - base).clip(lower=0), "realised_gain": reranked - base})
    return pd.concat([rows, rows.assign(slice=EVERY)], ignore_index=True)[ROWS]


def gold_chunks(judgements: pd.DataFrame, cut: pd.DataFrame, labels: Sequence[str] = ("bundle",), dataset: str = DATASET) -> pd.DataFrame:
    """dataset, qid, doc_id (a chunk), grade: the first chunk that holds each judged span with one of ``labels`` whole (default: what bundles need).

    A span that every cut goes through keeps its own name: no chunk is called so, and its fate is never retrieved.
    """
    rows = holders(judgements[judgements["label"].isin(labels)], cut)
    named = [min(held) if held else span for held, span in zip(rows["holders"], rows["span"])]
    return rows.assign(dataset=dataset, doc_id=named)[["dataset", "qid", "doc_id", "grade"]].drop_duplicates(["qid", "doc_id"], ignore_index=True)


def membership(questions: pd.DataFrame, dataset: str = DATASET) -> pd.DataFrame:
    """dataset, qid, slice as the questions' own column has it."""
    return questions.assign(dataset=dataset)[["dataset", "qid", "slice"]]


def dropped(chunks: pd.DataFrame, documents: pd.DataFrame, questions: pd.DataFrame, rules: Sequence[str] = filters.RULES,
            least_authority: int = 1, dataset: str = DATASET) -> dict[tuple[str, str], dict[str, str]]:
    """(dataset, qid) -> {chunk: the first rule in force that refuses its document}, as `rollout_replay.replays` takes it."""
    rules, out = filters.check(rules, least_authority), {}
    for question in questions.to_dict("records"):
        refused = filters.refusals(documents, question, least_authority)[list(rules)]
        first = refused.idxmax(axis=1)[refused.any(axis=1)]
        out[dataset, question["qid"]] = {c: first[d] for c, d in zip(chunks["chunk_id"], chunks["doc_id"]) if d in first.index}
    return out


def candidate_lists(found: Mapping[str, Sequence[str]], text: Mapping[str, str], questions: pd.DataFrame, reranker: Reranker | None = None, read: int = 50,
                    name: str = "hybrid", dataset: str = DATASET) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """(the first ``read`` of each list as rows of a rankings table, the reranker's raw scores of them or None).

    ``found``: qid -> chunks in first-stage order; the fused score is not kept by the search, so 1 / rank stands in for it. ``text``: chunk -> what is read.
    """
    rows = [(dataset, q, name, rank, chunk, 1 / rank) for q, chunks in found.items() for rank, chunk in enumerate(chunks[:read], 1)]
    first = pd.DataFrame(rows, columns=["dataset", "qid", "ranker", "rank", "doc_id", "score"])
    if reranker is None:
        return first, None
    asked = dict(zip(questions["qid"], questions["question"]))
    scored = [ask(reranker, asked[q], [text[c] for c in chunks[:read]]).scores for q, chunks in found.items()]
    return first, first.assign(score=[s for scores in scored for s in scores])
