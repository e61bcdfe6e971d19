"""Shares of omission causes per slice, with intervals over queries (document 001, viability test 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.bootstrap import RESAMPLES, cluster_codes, divide, percentile_interval, resample_totals
from lib.viability_causes import CAUSES, KEY
from lib.viability_requirement import EVERY
from lib.viability_slices import widened

SHARE_COLUMNS = ["tier", "dataset", "slice", "cause", "estimate", "ci_low", "ci_high", "passages", "n", "queries"]


def cause_shares(causes: pd.DataFrame, membership: pd.DataFrame, tier: str = "own", resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """Of a slice's missing passages, the share of each cause: ``SHARE_COLUMNS``. ``passages``: of this cause; n: missing in all; queries: that miss any.

    Resamples draw queries with all their missing passages; a cause that all share, or none, has the interval that so many queries leave.
    Slices without a missing passage have no rows.
    """
    everywhere = causes[KEY].drop_duplicates().assign(slice=EVERY)
    rows, out = causes.merge(pd.concat([everywhere, membership[[*KEY, "slice"]].drop_duplicates()]), on=KEY), []
    for (dataset, name), part in rows.groupby(["dataset", "slice"]):
        hits = np.column_stack([(part["cause"] == cause).to_numpy(float) for cause in CAUSES] + [np.ones(len(part))])
        codes = cluster_codes(list(part["qid"]), len(part))
        observed, drawn = (divide(t[:, :-1], t[:, -1:]) for t in resample_totals(hits, codes, resamples, seed))  # one draw serves all causes
        for at, cause in enumerate(CAUSES):
            i = widened(percentile_interval(observed[0, at], drawn[:, at], codes, tested=False))
            out.append((tier, dataset, name, cause, i.estimate, i.low, i.high, int(hits[:, at].sum()), i.n, i.clusters))
    return pd.DataFrame(out, columns=SHARE_COLUMNS)
