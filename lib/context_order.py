"""Where in the context the answer stands: the same snippets of one pack with the answer's first, in the middle, last (document 000, section 2; SPEC 9).

Only the order changes: same snippets, same tokens, same answer. "Lost in the middle" (Liu et al., 2023) predicts that the middle reads worst. Contexts of a
hundred tokens are short for that claim, so an effect may well be absent here, and equivalence within a margin has to be shown, not assumed.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pandas as pd

from lib import diagnostics, evidence, readers, scope, stats, survival

PLACES = ("first", "middle", "last")
LEAST = 3  # snippets: with fewer there is no middle
PAIRS = (("first", "middle"), ("last", "middle"), ("first", "last"))
ASKED = ["dataset", "qid", "pack_id", "policy", "budget", "question", "answers", "context", "context_hash", "prompt"]
PANEL = ["dataset", "pack_id", "policy", "budget", "reader", "precision"]
COLUMNS = ["tier", *PANEL, "treatment", "control", "metric", *scope.JUDGED]


def moved(texts: Sequence[str], holder: int, place: str) -> list[str]:
    """``texts`` with the one at ``holder`` put first, in the middle or last; the others keep their order. Raises ValueError for another place.

    >>> moved(["a", "b", "ANSWER", "c"], 2, "first"), moved(["a", "b", "c", "ANSWER"], 3, "middle")
    (['ANSWER', 'a', 'b', 'c'], ['a', 'b', 'ANSWER', 'c'])
    """
    if place not in PLACES:
        raise ValueError(f"place must be one of {', '.join(PLACES)}, got {place!r}")
    rest = [t for i, t in enumerate(texts) if i != holder]
    at = {"first": 0, "middle": len(texts) // 2, "last": len(rest)}[place]
    return [*rest[:at], texts[holder], *rest[at:]]


def holders(answers: Sequence[str], texts: Sequence[str], question_type: str | None) -> list[int]:
    """Which of ``texts`` hold an accepted answer; none where the question has no span."""
    return [i for i, t in enumerate(texts) if survival.answer_in_context(answers, [t], question_type).value]


def ordered(questions: pd.DataFrame, packs: pd.DataFrame, snippets: pd.DataFrame, contexts: pd.DataFrame, policy: str, budgets: Sequence[int],
            pack_id: str) -> pd.DataFrame:
    """Contexts of one packer to be read in three orders, columns ASKED and ``place``, in the form of ``reading.to_read``.

    Taken are those of at least three snippets of which exactly one holds the answer: with two holders there is no one place. No row where there is none.
    """
    wanted = contexts[(contexts["pack_id"] == pack_id) & (contexts["policy"] == policy) & contexts["budget"].isin(budgets) & (contexts["n_snippets"] >= LEAST)]
    listed = diagnostics.snippet_lists(packs.merge(wanted[diagnostics.PACK_KEY]), snippets, wanted) if len(wanted) else wanted.assign(texts=None)
    listed = listed.merge(questions[["dataset", "qid", "question", "answers", "question_type"]], on=["dataset", "qid"])
    rows = []
    for r in listed.itertuples():
        if len(at := holders(r.answers, r.texts, r.question_type)) == 1:
            rows += [(r.dataset, r.qid, r.pack_id, r.policy, r.budget, r.question, r.answers, evidence.joined(moved(r.texts, at[0], place)), place)
                     for place in PLACES]
    if not rows:
        return pd.DataFrame(columns=[*ASKED, "place"])
    out = pd.DataFrame(rows, columns=[*ASKED[:-2], "place"])
    return out.assign(context_hash=[hashlib.sha256(c.encode()).hexdigest() for c in out["context"]],
                      prompt=[readers.build_prompt(c, q) for c, q in zip(out["context"], out["question"])])[[*ASKED, "place"]]


def scored(asked: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """One row a context, place and reader with em and f1; ``answers`` from ``reading.read_all(asked, ...)``."""
    keep = ["dataset", "qid", "context_hash", "reader", "precision", "em", "f1"]
    return asked[[*diagnostics.PACK_KEY, "place", "context_hash"]].merge(answers[keep], on=keep[:3])


def means(rows: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Mean F1 and EM at each place: tier, dataset, pack_id, policy, budget, reader, precision, place, measure, estimate, ci_low, ci_high, n, clusters."""
    made = []
    for panel, group in rows.groupby(PANEL):
        wide = group.pivot(index="qid", columns="place", values=["f1", "em"]).astype(float)
        wide = wide.reindex(columns=pd.MultiIndex.from_product([["f1", "em"], sorted(PLACES)], names=wide.columns.names))  # a place that was not read: NaN
        found = stats.paired_cluster_bootstraps(wide.to_numpy(), wide.index, resamples=resamples, seed=seed)
        made += [(tier, *panel, place, measure, i.estimate, i.low, i.high, i.n, i.clusters) for (measure, place), i in zip(wide.columns, found)]
    return pd.DataFrame(made, columns=["tier", *PANEL, "place", "measure", "estimate", "ci_low", "ci_high", "n", "clusters"])


def order(rows: pd.DataFrame, tier: str, margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The order table: paired differences of F1 and EM between places, with the test for equivalence; Holm over the pairs and metrics of a panel.

    A place that was not read gives rows of NaN.

    >>> made = pd.DataFrame({"dataset": "d", "pack_id": "p", "policy": "submod", "budget": 160, "reader": "r", "precision": "fp32", "em": 0.0, "f1": 0.0,
    ...                      "qid": [f"q{i}" for i in range(200) for _ in PLACES], "place": list(PLACES) * 200})
    >>> order(made, "t")["verdict"].unique().tolist()
    ['equivalent']
    """
    made = []
    for panel, group in rows.groupby(PANEL):
        wide = {m: group.pivot(index="qid", columns="place", values=m).astype(float).reindex(columns=PLACES) for m in ("f1", "em")}
        deltas = pd.DataFrame({(t, c, m): w[t] - w[c] for m, w in wide.items() for t, c in PAIRS})
        made += [(tier, *panel, *name, *values) for name, *values in scope.judged(deltas, margin, resamples, seed).itertuples(name=None)]
    return pd.DataFrame(made, columns=COLUMNS)


def to_read(*frames: pd.DataFrame) -> pd.DataFrame:
    """Several tables of contexts to be read as one; closed book and repeated contexts are left out, since a reader is asked once a prompt."""
    rows = pd.concat([f for f in frames if len(f)] or [pd.DataFrame(columns=ASKED)], ignore_index=True)
    return rows[rows["policy"] != "closed_book"].drop_duplicates(["dataset", "qid", "context_hash"]).reset_index(drop=True)

