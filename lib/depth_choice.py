"""The smallest sufficient depth, and whether going deeper does harm: answers with an interval, or "not decided" (document 001, Part III)."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap, stats
from lib.depth_table import by_slice, check_key, pivoted

BASES = {"realised": "base", "met": "met_base"}  # what the first stage has of a measure, whatever the depth
MEASURES = ("coverage", "ceiling", "realised", "met")
ALPHA = 0.05
SUFFICIENT = ["tier", "dataset", "slice", "ranker", "reranker", "measure", "tolerance", "depth", "depth_low", "depth_high", "best", "value", "best_value",
              "verdict", "exhausted", "n", "undefined"]
FALLS = ["tier", "dataset", "slice", "ranker", "reranker", "measure", "peak", "depth", "delta_chosen", "delta", "ci_low", "ci_high", "p_value", "p_holm",
         "verdict", "n_chosen", "n", "undefined"]


def sufficient(rows: pd.DataFrame, tier: str, ranker: str, reranker: str, tolerance: float = 0.02, measures: Sequence[str] = MEASURES,
               resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """For each slice and measure the smallest of the depths asked whose mean lies within ``tolerance`` of the best mean over all of them.

    depth_low and depth_high: where the answer lies in 95 % of the resamples of questions. ``verdict``: decided (all of these give one depth), not decided,
    undefined (fewer than two questions with a value); "still rising" is added where the deepest depth asked is needed, since a deeper one might be better yet;
    "worse than the first stage" where reranking at ``depth`` loses to not reranking at all (the 95 % interval of the difference lies below 0).
    Never decided with so few questions that a loss of the whole tolerance might just not have occurred ((1 - tolerance) ** n is at least 5 %: under
    149 questions at 0.02, 59 at 0.05). ``exhausted``: questions whose list ends before the deepest depth; there the curve is flat by construction.
    Raises ValueError for a tolerance outside (0, 1).
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, in the units of the measures, got {tolerance}")
    made = []
    for (dataset, name), part in by_slice(check_key(rows)):
        asked, deepest = part["qid"].nunique(), part["depth"].max()
        ends = int(part.loc[part["depth"] == deepest, "exhausted"].sum())
        for measure in measures:
            wide = pivoted(part, measure)
            *found, verdict = _smallest(wide, tolerance, resamples, seed)
            worse = ", worse than the first stage" if _loses(part, measure, found[0], resamples, seed) else ""
            made.append((tier, dataset, name, ranker, reranker, measure, tolerance, *found, verdict + worse, ends, len(wide), asked - len(wide)))
    return pd.DataFrame(made, columns=SUFFICIENT).astype(dict.fromkeys(("depth", "depth_low", "depth_high", "best"), "Int64"))


def _smallest(wide: pd.DataFrame, tolerance: float, resamples: int, seed: int) -> tuple:
    """(depth, low, high, best depth, its value, the best value, verdict)."""
    if len(wide) < 2:
        return pd.NA, pd.NA, pd.NA, pd.NA, math.nan, math.nan, "undefined"
    depths, means = np.array(wide.columns, int), wide.mean().to_numpy()
    found = first_within(means[None], tolerance)[0]
    drawn = first_within(bootstrap.bootstrap_means(wide.to_numpy(), wide.index, resamples, seed), tolerance)
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf").astype(int)
    verdict = "decided" if low == high == found and (1 - tolerance) ** len(wide) < ALPHA else "not decided"
    rising = ", still rising" if found == len(depths) - 1 and len(depths) > 1 else ""
    best = int(np.argmax(means.round(12)))
    return int(depths[found]), int(depths[low]), int(depths[high]), int(depths[best]), float(means[found]), float(means[best]), verdict + rising


def _loses(part: pd.DataFrame, measure: str, depth: int, resamples: int, seed: int) -> bool:
    if pd.isna(depth) or BASES.get(measure) not in part:
        return False
    at = part[part["depth"] == depth].sort_values("qid")
    return stats.paired_cluster_bootstrap((at[measure] - at[BASES[measure]]).to_numpy(float), list(at["qid"]), resamples, seed).high < 0


def first_within(means: np.ndarray, tolerance: float) -> np.ndarray:
    """Place of the first column of each row that lies within ``tolerance`` of the row's largest.

    >>> first_within(np.array([[0.5, 0.79, 0.8], [0.8, 0.1, 0.2]]), 0.02).tolist()
    [1, 0]
    """
    return (means >= means.max(axis=1, keepdims=True) - tolerance - 1e-12).argmax(axis=1)


def falls(rows: pd.DataFrame, tier: str, ranker: str, reranker: str, measure: str = "realised", resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Whether quality falls from a smaller to a larger depth: for each slice one pair of depths chosen on half 0 and tested on half 1.

    Chosen: the depth with the deepest fall below the best smaller one (``peak``). ``delta``: measure at the depth minus at the peak on half 1, paired,
    with interval and p; Holm over the slices of a data set. ``verdict``: falls (delta below 0 and p_holm below 5 %), no fall found, undefined (fewer
    than two questions in a half, or one depth). A fall is confirmed, never searched for, on half 1, so chance finds one in at most 5 % of data sets.
    """
    made = []
    for (dataset, name), part in by_slice(check_key(rows)):
        halves = [pivoted(part[part["half"] == h], measure) for h in (0, 1)]
        head = (tier, dataset, name, ranker, reranker, measure)
        undefined = part["qid"].nunique() - sum(map(len, halves))
        if min(map(len, halves)) < 2 or halves[0].shape[1] < 2:
            made.append((*head, pd.NA, pd.NA, *[math.nan] * 5, math.nan, "undefined", len(halves[0]), len(halves[1]), undefined))
            continue
        peak, depth, chosen = deepest_fall(halves[0].mean())
        i = stats.paired_cluster_bootstrap((halves[1][depth] - halves[1][peak]).to_numpy(), halves[1].index, resamples, seed)
        made.append((*head, peak, depth, chosen, *i[:4], math.nan, "", len(halves[0]), i.n, undefined))
    out = pd.DataFrame(made, columns=FALLS).astype({"peak": "Int64", "depth": "Int64"})
    out["p_holm"] = out.groupby("dataset")["p_value"].transform(stats.holm)
    found = (out["delta"] < 0) & (out["p_holm"] < ALPHA)
    return out.assign(verdict=out["verdict"].where(out["verdict"] == "undefined", np.where(found, "falls", "no fall found")))


def deepest_fall(means: pd.Series) -> tuple[int, int, float]:
    """(peak, depth, mean at depth - mean at peak) with the lowest difference over peak < depth; the first of equals.

    >>> deepest_fall(pd.Series({5: 0.5, 10: 0.8, 20: 0.7}))[:2]
    (10, 20)
    """
    values = means.to_numpy().round(12)
    below = [(values[j] - values[:j].max(), int(values[:j].argmax()), j) for j in range(1, len(values))]
    delta, i, j = min(below, key=lambda b: b[0])
    return int(means.index[i]), int(means.index[j]), float(delta)
