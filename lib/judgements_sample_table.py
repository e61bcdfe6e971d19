"""The audit of the unjudged rehearsed where the answer is known: hidden judgements are what the auditor finds (document 001; SPEC 11)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.judgements_pooling import judged_within
from lib.judgements_sample import KEY, draw, frame, missing_relevant, needed
from lib.ranking import QUESTION

COLUMNS = [
    "tier",
    "dataset",
    "judged_by",
    "judged_depth",
    "depth",
    "sampled",
    "population",
    "found",
    "uncertain",
    "estimate",
    "ci_low",
    "ci_high",
    "truth",
    "needed",
]


def found_in(sample: pd.DataFrame, judgements: pd.DataFrame) -> pd.Series:
    """What the auditor finds: 1 relevant, 0 not (a passage that nobody recorded is taken as irrelevant), missing where the record is uncertain."""
    once = judgements.drop_duplicates(KEY).assign(relevant=lambda d: (d["grade"] > 0).astype(float).mask(d["grade"].isna()), recorded=True)
    told = sample[KEY].merge(once[[*KEY, "relevant", "recorded"]], on=KEY, how="left")
    return told["relevant"].where(told["recorded"].eq(True), 0.0).set_axis(sample.index)


def audit_table(
    rankings: pd.DataFrame,
    judgements: pd.DataFrame,
    judged_by: str,
    judged_depth: int,
    tier: str,
    depth: int = 10,
    sizes: Sequence[int] = (50, 100, 200, 400),
    membership: pd.DataFrame | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """The table judgement_audit: samples from the unjudged of all lists' first ``depth``, if only ``judged_by``'s first ``judged_depth`` had been read.

    ``truth``: relevant passages in all on record there. ``needed``: how many to audit for an interval half as wide, if the share found is the true one.
    Sizes over the population are left out: there is nothing more to draw.
    """
    rows = []
    for dataset, lists in rankings.groupby("dataset"):
        mine = judgements[judgements["dataset"] == dataset]
        left = judged_within(mine, lists, judged_by, judged_depth)
        asked = mine.loc[mine["grade"] > 0, QUESTION].drop_duplicates()
        whole = frame(lists.merge(asked, on=QUESTION), left, depth, None if membership is None else membership[membership["dataset"] == dataset])
        truth = int((found_in(whole, mine) == 1).sum())
        for n in (n for n in sizes if n <= len(whole)):
            sample = draw(whole, n, seed)
            m = missing_relevant(sample, found_in(sample, mine))
            half = (m.high - m.low) / 4
            wanted = needed(m.population, m.estimate / m.population, half) if 0 < m.estimate < m.population and half > 0 else None
            rows.append(
                (tier, dataset, judged_by, judged_depth, depth, m.audited, m.population, m.found, m.uncertain, m.estimate, m.low, m.high, truth, wanted)
            )
    return pd.DataFrame(rows, columns=COLUMNS).astype({"needed": "Int64"}).drop_duplicates(["dataset", "sampled"], ignore_index=True)
