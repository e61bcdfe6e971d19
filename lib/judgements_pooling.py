"""What a candidate ceiling becomes when only the top of an old system was judged: pooling bias, shown by hiding judgements that we have (document 001).

"If only the top results from an old system were judged, a new retriever can surface unjudged relevant material that the oracle treats as irrelevant."
Everything below the old system's top is hidden, the new list is audited on what is left, and both audits stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import stats, viability
from lib.ranking import QUESTION

MEASURES = ("candidate_recall", "base", "ceiling")
BIAS = [
    "judged_by",
    "judged_depth",
    "first_stage",
    "measure",
    "measured",
    "truth",
    "delta",
    "ci_low",
    "ci_high",
    "n",
    "relevant_hidden",
    "relevant",
    "undefined",
]
REVERSAL = [
    "judged_by",
    "judged_depth",
    "treatment",
    "control",
    "measure",
    "measured",
    "measured_low",
    "measured_high",
    "truth",
    "truth_low",
    "truth_high",
    "n",
    "n_truth",
]


def judged_within(judgements: pd.DataFrame, rankings: pd.DataFrame, ranker: str, depth: int) -> pd.DataFrame:
    """The judgements that are left if assessors had read only the first ``depth`` passages of ``ranker``; ValueError without such a list."""
    if depth < 1 or ranker not in set(rankings["ranker"]):
        raise ValueError(f"need a depth of 1 or more and a ranker of {sorted(set(rankings['ranker']))}, got {depth} and {ranker!r}")
    read = rankings.loc[(rankings["ranker"] == ranker) & (rankings["rank"] <= depth), [*QUESTION, "doc_id"]]
    return judgements.merge(read, on=[*QUESTION, "doc_id"])


def audited(rankings: pd.DataFrame, judgements: pd.DataFrame, asked: pd.DataFrame, cutoff: int, depth: int) -> pd.DataFrame:
    """``MEASURES`` of every list: index (dataset, qid, ranker); missing where no relevant passage is known. ``asked``: the questions that have rows."""
    rows = []
    for ranker, first in rankings.groupby("ranker"):
        found = viability.audit(first, judgements, cutoff=cutoff, depth=depth, gains=["exponential"], bounds=False)
        rows.append(asked.merge(found, on=QUESTION, how="left").assign(ranker=ranker))
    return pd.concat(rows).set_index([*QUESTION, "ranker"])[[*MEASURES, "n_relevant"]]


def both_audits(
    rankings: pd.DataFrame, judgements: pd.DataFrame, judged_by: str, judged_depths: Sequence[int], cutoff: int = 5, depth: int = 50
) -> pd.DataFrame:
    """Each list audited on all judgements (truth) and on those of ``judged_by``'s first ``judged_depths`` (measured), a row a question, list, depth, measure.

    ``rankings``: one scope; ``judgements``: dataset, qid, doc_id, grade. A question whose relevant passages are all hidden has no measured value:
    it drops out of the means of whoever does not know.
    """
    asked = judgements.loc[judgements["grade"] > 0, QUESTION].drop_duplicates()
    truth = audited(rankings, judgements, asked, cutoff, depth)
    rows = []
    for judged_depth in judged_depths:
        left = judged_within(judgements, rankings, judged_by, judged_depth)
        seen = audited(rankings, left, asked, cutoff, depth).reindex(truth.index) if len(left) else truth * np.nan
        for measure in MEASURES:
            both = pd.DataFrame({"measured": seen[measure], "truth": truth[measure], "relevant": truth["n_relevant"], "known": seen["n_relevant"].fillna(0)})
            rows.append(both.reset_index().assign(measure=measure, judged_by=judged_by, judged_depth=judged_depth))
    return pd.concat(rows, ignore_index=True)


def bias(both: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Mean of each measure as it looks and as it is, and their difference over the questions that have both: the table judgement_pooling.

    ``measured`` and ``truth`` are means over the same questions; ``undefined``: questions left without a known relevant passage.
    """
    rows = []
    for (dataset, judged_by, depth, ranker, measure), part in both.groupby(["dataset", "judged_by", "judged_depth", "ranker", "measure"]):
        kept = part.dropna(subset=["measured", "truth"])
        i = stats.mean_interval(part["measured"] - part["truth"], part["qid"], resamples, seed)
        hidden = int((part["relevant"] - part["known"]).sum())
        means = kept[["measured", "truth"]].mean()
        rows.append(
            (tier, dataset, judged_by, depth, ranker, measure, *means, i.estimate, i.low, i.high, i.n, hidden, int(part["relevant"].sum()), len(part) - i.n)
        )
    return pd.DataFrame(rows, columns=["tier", "dataset", *BIAS])


def reversals(both: pd.DataFrame, treatment: str, control: str, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The difference of two lists as it looks and as it is, each with its interval: does hiding judgements change who wins?

    A data set that lacks one of the lists has no row. Each difference is over the questions that have a value: n for who does not know, n_truth for who does.
    """
    rows = []
    for (dataset, judged_by, depth, measure), part in both.groupby(["dataset", "judged_by", "judged_depth", "measure"]):
        if {treatment, control} - set(part["ranker"]):
            continue
        wide = part.pivot(index="qid", columns="ranker", values=["measured", "truth"])
        deltas = np.column_stack([wide[side, treatment] - wide[side, control] for side in ("measured", "truth")])
        seen, true = stats.paired_cluster_bootstraps(deltas, wide.index, resamples, seed)
        rows.append((tier, dataset, judged_by, depth, treatment, control, measure, *seen[:3], *true[:3], seen.n, true.n))
    return pd.DataFrame(rows, columns=["tier", "dataset", *REVERSAL])
