"""How each diagnostic goes with answer quality over policy x question rows (document 000, sections 3.2 and 3.4, Tables 1 and 2)."""
from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import moments, poolings
from lib.bootstrap import Interval, cluster_codes, percentile_interval

DIAGNOSTICS = ("answer_in_context", "answer_in_context_defined", "gold_coverage", "all_gold_at_5", "recall_at_5", "gold_density")
SCORES = ("f1", "em")
LEADER = "answer_in_context"  # what document 000 calls the strongest single predictor
COLUMNS = ["tier", *poolings.GROUP, "pooling", "predictor", "minus", "outcome", "estimate", "ci_low", "ci_high", "n", "clusters"]


def correlations(outcomes: pd.DataFrame, tier: str, predictors: Sequence[str] = DIAGNOSTICS, scores: Sequence[str] = SCORES, resamples: int = 10_000,
                 seed: int = 0) -> pd.DataFrame:
    """The correlations table: Pearson r of each diagnostic with each score, per data set (and ``all``), reader and pooling.

    Where ``minus`` names a second diagnostic, the row is r(answer_in_context) - r(that one) from the same resamples: two intervals that
    overlap may still leave the order of the two certain. Rows with a missing value are left out of their cell; a constant gives NaN.
    ``outcomes`` of one pack and budget. Raises ValueError as ``poolings.groups`` and ``bootstrap.resample_totals`` do.
    """
    rows = []
    for key, group in poolings.groups(outcomes):
        x, y = (poolings.numbers(group, list(columns)) for columns in (predictors, scores))
        for pooling, kept in poolings.masks(group).items():
            cells = _cells(x[kept], y[kept], group["cluster"][kept], predictors, resamples, seed)
            rows += [(tier, *key, pooling, predictors[i], "none" if m is None else predictors[m], scores[j], r.estimate, r.low, r.high, r.n, r.clusters)
                     for (i, m, j), r in cells.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _cells(x: np.ndarray, y: np.ndarray, clusters: Sequence, predictors: Sequence[str], resamples: int, seed: int) -> dict[tuple, Interval]:
    """(predictor, None or the predictor taken away, score) -> interval, all from one draw."""
    x, y, codes = moments.scaled(x), moments.scaled(y), cluster_codes(clusters, len(x))
    pairs = list(itertools.product(range(x.shape[1]), range(y.shape[1])))
    found = moments.covariances([np.column_stack([x[:, i], y[:, j]]) for i, j in pairs], clusters, resamples, seed)
    r = {pair: [moments.correlation(c) for c in both] for pair, both in zip(pairs, found)}
    known = {(i, j): ~np.isnan(x[:, i] + y[:, j]) for i, j in pairs}
    cells = {(i, None, j): percentile_interval(r[i, j][0][0], r[i, j][1], codes[known[i, j]], tested=False) for i, j in pairs}
    first = list(predictors).index(LEADER) if LEADER in predictors else None
    for i, j in pairs if first is not None else []:
        if i != first and predictors[i] != f"{LEADER}_defined":
            sample, drawn = (a - b for a, b in zip(r[first, j], r[i, j]))
            cells[first, i, j] = percentile_interval(sample[0], drawn, codes[known[i, j] & known[first, j]], tested=False)
    return cells
