"""What a training target teaches: which chunks each variant tells from the support, on questions kept out of training (document 001, SPEC 11).

Beside the support of a question stand three kinds of distractor: ``sibling`` (the gold passage's own other chunks: telling them apart is evidential
support), ``near`` (the question's other passages: topic) and ``easy`` (passages of other questions). ``later``: siblings again, only of passages that
do not open with their support, because a model may have learned that support comes first.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from lib import agreement, grades, stats
from lib.cross_encoder_quality import calibration, pairwise_auc
from lib.retrieval import tie_breaks

UNTRAINED, FIRST, HELD_OUT, TRANSFER = "untrained", "first sentence", "held out", "transfer"
CONTRASTS = (("support_mixed", "document_mixed"), ("support_mixed", "support_easy"), ("support_near", "support_easy"), ("support_mixed", "support_near"),
             ("support_mixed", "document_easy"), ("support_mixed", UNTRAINED))
KINDS = ("sibling", "later", "near", "easy")
PLANNED = ("sibling", "near", "easy")  # later is a part of sibling, so that Holm does not count it twice
ON_TOP = ("support", "sibling", "near", "easy", "topical")
KEY = ["dataset", "qid"]
COLUMNS = ["where", "dataset", "variant", "control", "measure", "kind", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "n", "undefined"]


def check_fair(pairs: Mapping[str, pd.DataFrame]) -> None:
    """Raise ValueError unless every variant is shown as many pairs of each question, so that only the target differs."""
    sizes = {name: part.groupby(KEY).size() for name, part in pairs.items()}
    for name, size in sizes.items():
        first, expected = next(iter(sizes.items()))
        if not size.equals(expected):
            raise ValueError(f"{name} is shown {size.sum()} pairs of {len(size)} questions, {first} {expected.sum()} of {len(expected)}: variants must "
                             "differ in their target alone; give each the same each, sentences, questions and seed")


def outcomes(scored: pd.DataFrame) -> pd.DataFrame:
    """A row a question, a column (measure, kind): auc, mrr and ndcg of the support among each kind, and what stands on top (1 or 0).

    ``scored``: rows of lib.training_chunks.cases of one variant, with ``score``. Siblings are ranked passage by passage and averaged over the
    question's passages that have both. ``topical`` on top: a sibling or a near one. NaN where a question has not both kinds. Scores that tie stand in
    the order of a hash of their texts. Raises ValueError for a missing score.
    """
    if missing := int(scored["score"].isna().sum()):
        raise ValueError(f"{missing} of {len(scored)} chunks have no score; score them all, so that every variant is measured on the same chunks")
    order = scored.assign(tie=tie_breaks(list(scored["text"]))).sort_values(["score", "tie"], ascending=[False, True])
    made = {key: _of_question(part) for key, part in order.groupby(KEY)}
    index = pd.MultiIndex.from_tuples(list(made), names=KEY)
    columns = pd.MultiIndex.from_tuples([(m, k) for m in ("auc", "mrr", "ndcg") for k in KINDS] + [("on_top", k) for k in ON_TOP])
    return pd.DataFrame(list(made.values()), index=index, columns=columns, dtype=float)


def _of_question(part: pd.DataFrame) -> dict[tuple[str, str], float]:
    top = part["kind"].iloc[0]
    made = {("on_top", k): float(top == k or k == "topical" and top in ("sibling", "near")) for k in ON_TOP}
    support = part["kind"] == "support"
    inside = [p for _, p in part[support | (part["kind"] == "sibling")].groupby("doc_id", sort=False)]
    later = [p for p in inside if p.loc[p["kind"] == "support", "first"].min() > 0]
    for kind, lists in (("sibling", inside), ("later", later), *((k, [part[support | (part["kind"] == k)]]) for k in ("near", "easy"))):
        found = [m for m in map(_of_list, lists) if m is not None]
        for at, measure in enumerate(("auc", "mrr", "ndcg")):
            made[measure, kind] = float(np.mean([m[at] for m in found])) if found else float("nan")
    return made


def _of_list(part: pd.DataFrame) -> tuple[float, float, float] | None:
    """(auc, reciprocal rank, ndcg) of the support in a list in order of its scores; None without both kinds."""
    right = (part["kind"] == "support").to_numpy()
    if right.all() or not right.any():
        return None
    listed = right.astype(int).tolist()
    return (pairwise_auc(part["score"].to_numpy(float), right), grades.reciprocal_rank(listed, sum(listed)),
            grades.ndcg_at(listed, listed, len(listed)))


def table(scored: pd.DataFrame, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The table ``targets`` without its tier: levels of each variant, paired contrasts between them, AUC and calibration over all questions.

    ``scored``: cases with where, variant and score, the same chunks in each variant. Groups: the held-out questions together (``all``), and each
    data set. p_holm: over the contrasts and kinds of one group and measure. Raises ValueError where variants were scored on other chunks.
    """
    _check_same(scored)
    scored = pd.concat([scored, _first_sentences(scored)], ignore_index=True)
    rows = []
    for where, dataset, part in _groups(scored):
        by_variant = {name: outcomes(p) for name, p in part.groupby("variant", sort=False)}
        rows += _levels(by_variant, (where, dataset), resamples, seed) + _contrasts(by_variant, (where, dataset), resamples, seed)
        rows += [(where, dataset, name, "none", *row) for name, p in part.groupby("variant", sort=False) if name != FIRST
                 for row in _over_questions(p, resamples, seed)]
    made = pd.DataFrame(rows, columns=COLUMNS)
    family = made["control"].ne("none") & made["p_value"].notna() & ~made["kind"].isin(["later", "topical"])
    for places in made[family].groupby(["where", "dataset", "measure"]).groups.values():
        made.loc[places, "p_holm"] = stats.holm(made.loc[places, "p_value"])
    return made


def _groups(scored: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for where, part in scored.groupby("where"):
        sets = sorted(set(part["dataset"]))
        yield from ((where, "all", part),) if len(sets) > 1 else ()
        yield from ((where, d, part[part["dataset"] == d]) for d in sets)


def _levels(by_variant: Mapping[str, pd.DataFrame], group: tuple[str, str], resamples: int, seed: int) -> list[tuple]:
    return [(*group, name, "none", *row[:3], *row[3:5], np.nan, np.nan, *row[6:]) for name, wide in by_variant.items()
            for row in _intervals(wide, resamples, seed) if name != FIRST or row[0] != "on_top" and row[1] in ("sibling", "later")]


def _contrasts(by_variant: Mapping[str, pd.DataFrame], group: tuple[str, str], resamples: int, seed: int) -> list[tuple]:
    return [(*group, a, b, *row[:6], np.nan, *row[6:]) for a, b in CONTRASTS if a in by_variant and b in by_variant
            for row in _intervals(by_variant[a] - by_variant[b], resamples, seed)]


def _intervals(wide: pd.DataFrame, resamples: int, seed: int) -> list[tuple]:
    """(measure, kind, estimate, low, high, p, n, undefined) of each column over questions."""
    found = stats.paired_cluster_bootstraps(wide.to_numpy(float), list(wide.index), resamples, seed)
    return [(*column, i.estimate, i.low, i.high, i.p_value, i.n, len(wide) - i.n) for column, i in zip(wide.columns, found)]


def _over_questions(part: pd.DataFrame, resamples: int, seed: int) -> list[tuple]:
    """One threshold for all questions: AUC of the support against every other chunk, calibration of the sigmoid as it is and after Platt's fit."""
    right = (part["kind"] == "support").to_numpy()
    i = agreement.auc(part["score"], right.astype(float), list(zip(part["dataset"], part["qid"])), resamples, seed)
    listed = part.assign(doc_id=part["doc_id"] + ":" + part["chunk"].astype(str), ranker="cross_encoder")
    told = calibration(listed, listed.loc[right, [*KEY, "doc_id"]])
    n = len(part)
    rows = [("auc_all", "all", i.estimate, i.low, i.high, np.nan, np.nan, n, 0)]
    for measure in ("ece_sigmoid", "ece_platt"):
        if measure in told:
            rows.append((measure, "all", *(np.nan if v is None else v for v in told[measure]), np.nan, np.nan, n, 0))
    return rows + [(m, "all", told[m], np.nan, np.nan, np.nan, np.nan, n, 0) for m in ("mean_sigmoid", "base_rate")]


def _first_sentences(scored: pd.DataFrame) -> pd.DataFrame:
    """A rule without a model, beside the siblings: the earlier in its passage, the better."""
    one = scored[scored["variant"] == scored["variant"].iloc[0]] if len(scored) else scored
    return one.assign(variant=FIRST, score=-one["first"].astype(float))


def _check_same(scored: pd.DataFrame) -> None:
    chunks = {name: set(zip(*(p[c] for c in (*KEY, "kind", "doc_id", "chunk")))) for name, p in scored.groupby("variant")}
    for name, found in chunks.items():
        first, expected = next(iter(chunks.items()))
        if found != expected:
            raise ValueError(f"{name} was scored on {len(found)} chunks, {first} on {len(expected)}, {len(found ^ expected)} of them in one only: "
                             "score the same cases with each")
