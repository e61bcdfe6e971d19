"""What the unjudged may hide, per list and slice, beside what all judgements at hand say: the table judgement_unjudged (document 001; SPEC 11)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib import stats
from lib.judgements_pooling import judged_within
from lib.judgements_unjudged import MEASURES, unjudged_rows
from lib.ranking import QUESTION

ALL = "everyone"  # judged_by where nothing is hidden
EVERY = "all"
FULL = ("ndcg_full", "recall_full")
COLUMNS = ["slice", "ranker", "judged_by", "judged_depth", "cutoff", "depth", "measure", "estimate", "ci_low", "ci_high", "n", "undefined"]


def hidden_rows(
    rankings: pd.DataFrame,
    judgements: pd.DataFrame,
    judged_by: str = ALL,
    judged_depth: int = 0,
    cutoff: int = 5,
    depth: int = 50,
    highest: int | None = None,
) -> pd.DataFrame:
    """A row a question and list: `unjudged_rows` on what the assessors of ``judged_by``'s first ``judged_depth`` read, and ``FULL`` on all judgements.

    With ``ALL`` nothing is hidden, and the bounds speak of what nobody judged. ``outside``: relevant passages that no list holds within ``depth``; the
    bounds presume none, so the full score may then lie below them. Only questions with a relevant passage have rows.
    """
    asked = judgements.loc[judgements["grade"] > 0, QUESTION].drop_duplicates()
    left = judgements if judged_by == ALL else judged_within(judgements, rankings, judged_by, judged_depth)
    rankings = rankings.merge(asked, on=QUESTION)
    highest = highest or int(judgements["grade"].max() if len(asked) else 1)
    rows = unjudged_rows(rankings, left, cutoff, depth, highest)
    full = unjudged_rows(rankings, judgements, cutoff, depth, highest).set_index([*QUESTION, "ranker"])[["ndcg_as_zero", "recall_as_zero"]]
    full.columns = FULL
    shown = rankings.loc[rankings["rank"] <= depth, [*QUESTION, "doc_id"]].drop_duplicates()
    relevant = judgements[judgements["grade"] > 0].drop_duplicates([*QUESTION, "doc_id"])[[*QUESTION, "doc_id"]]
    lost = (
        relevant.merge(shown, on=[*QUESTION, "doc_id"], how="left", indicator=True).query("_merge == 'left_only'").groupby(QUESTION).size().rename("outside")
    )
    rows = rows.join(full, on=[*QUESTION, "ranker"]).join(lost, on=QUESTION).fillna({"outside": 0})
    return rows.assign(judged_by=judged_by, judged_depth=judged_depth, cutoff=cutoff, depth=depth)


def hidden_table(rows: Sequence[pd.DataFrame], tier: str, membership: pd.DataFrame | None = None, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Means of `hidden_rows` per list and slice, each with its interval over questions, long; a mean that no question has is a row with n 0.

    The ends of the bounds have intervals of their own: from ``ci_low`` of ndcg_low to ``ci_high`` of ndcg_high both kinds of ignorance are in.
    """
    every, out = pd.concat(rows, ignore_index=True), []
    slices = every[QUESTION].drop_duplicates().assign(slice=EVERY)
    if membership is not None:
        slices = pd.concat([slices, membership[[*QUESTION, "slice"]].drop_duplicates()])
    measures = [*MEASURES, *FULL]
    setup = ["dataset", "slice", "ranker", "judged_by", "judged_depth", "cutoff", "depth"]
    for name, part in every.merge(slices, on=QUESTION).groupby(setup):
        values = part.set_index("qid").sort_index()[measures].astype(float)
        found = stats.paired_cluster_bootstraps(values.to_numpy(), values.index, resamples, seed)
        out += [(tier, *name, measure, i.estimate, i.low, i.high, i.n, len(part) - i.n) for measure, i in zip(measures, found)]
    return pd.DataFrame(out, columns=["tier", "dataset", *COLUMNS])
