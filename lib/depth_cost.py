"""What a query gained by reranking costs: cost per additional successful query, per slice and depth (document 001, "Price the gain").

A query is successful when its evidence requirement is met in the first m places (column met of ``lib.depth.depth_rows``). Additional: successful with the
reranker and not without, less those lost by it. Cost: what the added scoring of ALL queries costs, at prices that are parameters.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.depth_table import by_slice, check_key
from lib.whole import is_number

UNITS = ("pairs", "tokens")
FIRST = "first stage"
COLUMNS = ["tier", "dataset", "slice", "ranker", "reranker", "depth", "against", "cost", "gained", "lost", "additional", "additional_low", "additional_high",
           "per_unit", "per_unit_low", "per_unit_high", "cost_per_success", "cost_low", "cost_high", "n", "undefined"]


def priced(rows: pd.DataFrame, prices: Mapping[str, float]) -> pd.Series:
    """Cost of each row: the sum of pairs and tokens times their price; ``prices``: {"pairs": 0.02} or {"pairs": ..., "tokens": ...}.

    Raises ValueError for another unit, a negative price, or none above 0.
    """
    if not isinstance(prices, Mapping) or set(prices) - set(UNITS) or not all(is_number(p, 0) for p in prices.values()) or not sum(prices.values()) > 0:
        raise ValueError(f"prices must give {' and/or '.join(UNITS)} a price of at least 0, one above it, got {prices!r}")
    return sum(rows[unit].astype(float) * price for unit, price in prices.items() if price)


def cost_table(rows: pd.DataFrame, tier: str, ranker: str, reranker: str, prices: Mapping[str, float], resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Cost and additional successful queries of each depth against the first stage, and against the next smaller depth.

    cost: mean a query; gained, lost: queries; additional: (gained - lost) / n with its interval; per_unit: additional successes per unit of cost;
    cost_per_success: its inverse, missing with its interval where nothing is gained on balance. Its upper end is missing (no bound) where the interval
    of ``additional`` reaches 0. Queries without a relevant document, or without a price (tokens not counted), are left out and counted.
    """
    rows = check_key(rows).assign(cost=priced(rows, prices))
    made = []
    for (dataset, name), part in by_slice(rows):
        wide, depths = part.pivot(index="qid", columns="depth"), sorted(part["depth"].unique())
        steps = [(d, FIRST, wide["met_base", d], 0 * wide["cost", d]) for d in depths]
        steps += [(d, str(before), wide["met", before], wide["cost", before]) for before, d in pairwise(depths)]
        for d, against, met, cost in steps:
            found = price_of(wide["met", d] - met, wide["cost", d] - cost, list(wide.index), resamples, seed)
            made.append((tier, dataset, name, ranker, reranker, d, against, *found, len(wide) - found[-1]))
    return pd.DataFrame(made, columns=COLUMNS)


def price_of(change: pd.Series, cost: pd.Series, clusters: list, resamples: int = 10_000, seed: int = 0) -> tuple:
    """(cost, gained, lost, additional and interval, per unit and interval, cost per success and interval, n) of changes of success in {-1, 0, 1}.

    >>> [round(v, 3) for v in price_of(pd.Series([1.0, 0.0, 1.0]), pd.Series([2.0, 2.0, 2.0]), ["a", "b", "c"])[:4]]
    [2.0, 2, 0, 0.667]
    """
    columns, kept, codes = bootstrap.complete_rows([change, cost], clusters)
    n, (gained, lost) = int(kept.sum()), (int((sign * columns[:, 0] > 0).sum()) for sign in (1, -1))
    if not n:
        return (math.nan, 0, 0, *[math.nan] * 9, 0)
    sample, drawn = bootstrap.resample_totals(np.column_stack([columns, kept]), codes, resamples, seed)
    additional, per_unit = (bootstrap.percentile_interval(float(bootstrap.divide(sample[:, 0], sample[:, k])[0]), bootstrap.divide(drawn[:, 0], drawn[:, k]),
                                                          codes[kept], tested=False) for k in (2, 1))
    inverse = [1 / v if v > 0 and per_unit.estimate > 0 else math.nan for v in (per_unit.estimate, per_unit.high, per_unit.low)]
    return (float(sample[0, 1] / n), gained, lost, *additional[:3], *per_unit[:3], *inverse, n)
