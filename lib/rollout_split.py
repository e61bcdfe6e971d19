"""What of a change is ordering and what is retrieval: two steps that add up, exactly; and gains with and without the evidence in the pool (document 001)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.bootstrap import RESAMPLES
from lib.judgements_tables import typed
from lib.rollout_rows import of_slice
from lib.stats import paired_cluster_bootstraps
from lib.viability_lists import KEY

SPLIT = ["dataset", "slice", "measure", "part", "estimate", "ci_low", "ci_high", "p_value", "n", "undefined"]
GAINS = ["dataset", "slice", "measure", "over", "estimate", "ci_low", "ci_high", "p_value", "n", "undefined"]
PARTS = ("ordering", "retrieval", "total", "retrieval first", "ordering then")
MEASURES = {"ndcg": ("base", "reranked"), "shown": ("shown_before", "shown_after")}


def split(frozen: pd.DataFrame, live: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``SPLIT``: the change from the old system (old candidates, old order) to the new one (new candidates, new order), by question.

    ``frozen`` and ``live``: `rollout_rows.question_rows` of the old and of the new candidates, the same reranker. ordering: the new order of the old
    candidates minus the old order; retrieval: the new order of the new candidates minus that of the old ones; total: their sum. The other way round:
    retrieval first (the old order of the new candidates minus that of the old), ordering then. Means over questions that all four have; paired intervals.
    """
    both = frozen.merge(live, on=[*KEY, "slice"], suffixes=("", "_live"))
    out = []
    for (dataset, name), part in of_slice(both):
        for measure, (old, new) in MEASURES.items():
            a, b, d, c = (part[column].to_numpy(float) for column in (old, new, f"{old}_live", f"{new}_live"))
            steps = np.column_stack([b - a, c - b, c - a, d - a, c - d])
            steps[np.isnan(steps).any(axis=1)] = np.nan
            found = paired_cluster_bootstraps(steps, part["qid"].tolist(), resamples, seed)
            out += [(dataset, name, measure, said, *i[:4], i.n, len(part) - i.n) for said, i in zip(PARTS, found)]
    return typed(pd.DataFrame(out, columns=SPLIT), "release_split")


def gains(rows: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``GAINS``: new minus old order over all questions (``over`` = all), and over those whose pool holds the required evidence (evidence in the pool).

    The second tells the mechanism, and overstates the system: publish both.
    """
    out = []
    for (dataset, name), part in of_slice(rows):
        for measure, (old, new) in MEASURES.items():
            change = (part[new] - part[old]).to_numpy(float)
            inside = np.where(part["in_pool"].to_numpy(float) == 1, change, np.nan)
            found = paired_cluster_bootstraps(np.column_stack([change, inside]), part["qid"].tolist(), resamples, seed)
            out += [(dataset, name, measure, over, *i[:4], i.n, len(part) - i.n) for over, i in zip(("all", "evidence in the pool"), found)]
    return pd.DataFrame(out, columns=GAINS)


def changes(rows: pd.DataFrame, arrivals: pd.DataFrame, measure: str = "ndcg") -> pd.DataFrame:
    """dataset, qid, change of the questions of ``arrivals`` (`rollout_canary.assigned`), in their order: each question its own control, by replay.

    Raises ValueError for an unknown measure.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    old, new = MEASURES[measure]
    whole = rows[rows["slice"] == "all"]
    return arrivals[KEY].merge(whole.assign(change=whole[new] - whole[old])[[*KEY, "change"]], on=KEY)


def adds_up(table: pd.DataFrame, tolerance: float = 1e-9) -> bool:
    """Whether ordering and retrieval give the total, both ways round, in every row of `split`; a table without a row is no contradiction."""
    if table.empty:
        return True
    wide = table.pivot_table(index=["dataset", "slice", "measure"], columns="part", values="estimate")
    one, two = wide["ordering"] + wide["retrieval"], wide["retrieval first"] + wide["ordering then"]
    return bool(((one - wide["total"]).abs() < tolerance).all() and ((two - wide["total"]).abs() < tolerance).all())
