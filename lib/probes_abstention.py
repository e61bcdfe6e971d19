"""Abstention apart from ranking: does the top score know that nothing relevant is in the pool, and what does answering anyway risk (document 001, Part II)?"""
from __future__ import annotations

import math

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.depth import KEY

ABSTENTION = ["dataset", "auc", "auc_low", "auc_high", "auc_removed", "removed_low", "removed_high", "n", "n_without"]
CURVE = ["dataset", "threshold", "coverage", "risk_empty", "risk_top"]


def top_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a query: top (its largest score), relevant_top (whether that candidate is relevant; ties: any of them), relevant (whether any is)."""
    known = scores.dropna(subset=["score"])
    relevant = known["grade"].astype(float) > 0
    best = known["score"] == known.groupby(KEY)["score"].transform("max")
    flags = known.assign(relevant=relevant, relevant_top=relevant & best)
    return flags.groupby([*KEY, "slice", "half"], as_index=False).agg(top=("score", "max"), relevant=("relevant", "any"), relevant_top=("relevant_top", "any"))


def without_relevant(scores: pd.DataFrame) -> pd.DataFrame:
    """The same pools with their relevant candidates taken out: what a query looks like whose answer was never retrieved."""
    return scores[~(scores["grade"].astype(float) > 0)]


def abstention(scores: pd.DataFrame, resamples: int = 2_000, seed: int = 0) -> pd.DataFrame:
    """Whether the largest score tells pools with something relevant from pools without, a row a data set: auc in [0, 1] with interval, 0.5 is chance.

    auc: over the pools as they are (n_without of them have nothing relevant); auc_removed: each pool with something relevant against all such pools with it
    taken out. Questions are drawn with both their pools. NaN where a kind is missing.
    """
    made = []
    for dataset, part in scores.groupby("dataset"):
        tops = top_scores(part)
        natural = _auc(tops.loc[tops["relevant"], ["qid", "top"]], tops.loc[~tops["relevant"], ["qid", "top"]], resamples, seed)
        full = tops.loc[tops["relevant"], ["qid", "top"]]
        removed = top_scores(without_relevant(part[part["qid"].isin(full["qid"])]))[["qid", "top"]]
        made.append((dataset, *natural, *_auc(full, removed, resamples, seed), len(tops), int((~tops["relevant"]).sum())))
    return pd.DataFrame(made, columns=ABSTENTION)


def _auc(positive: pd.DataFrame, negative: pd.DataFrame, resamples: int, seed: int) -> tuple[float, float, float]:
    """Share of (positive, negative) pairs in the right order, ties half, with an interval over questions drawn with all their rows."""
    if positive.empty or negative.empty:
        return math.nan, math.nan, math.nan
    names = sorted({*positive["qid"], *negative["qid"]})
    place = {q: i for i, q in enumerate(names)}
    high, low = positive["top"].to_numpy(float)[:, None], negative["top"].to_numpy(float)[None]
    wins = (high > low) + 0.5 * (high == low)
    rows, columns = (np.array([place[q] for q in side["qid"]]) for side in (positive, negative))
    counts = np.vstack([np.bincount(np.random.default_rng([seed, r]).integers(len(names), size=len(names)), minlength=len(names)) for r in range(resamples)])
    drawn = bootstrap.divide(((counts[:, rows] @ wins) * counts[:, columns]).sum(1), counts[:, rows].sum(1) * counts[:, columns].sum(1))
    return tuple(bootstrap.percentile_interval(float(wins.mean()), drawn, np.arange(len(names)), tested=False)[:3])


def risk_coverage(scores: pd.DataFrame) -> pd.DataFrame:
    """Answer only queries whose top score is high: coverage (share answered), risk_empty (share of these with nothing relevant in the pool), risk_top (whose
    top candidate is not relevant), a row a data set and distinct threshold; threshold: the least top score answered. Coverage rises, the last row answers all.
    """
    made = []
    for dataset, part in scores.groupby("dataset"):
        tops = top_scores(part)
        if tops.empty:
            continue
        flags = tops.assign(empty=~tops["relevant"], wrong=~tops["relevant_top"], n=1)
        by = flags.groupby("top")[["empty", "wrong", "n"]].sum().sort_index(ascending=False).cumsum()
        shares = {"coverage": by["n"] / len(tops), "risk_empty": by["empty"] / by["n"], "risk_top": by["wrong"] / by["n"]}
        made.append(pd.DataFrame({"dataset": dataset, "threshold": by.index, **shares}))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=CURVE)


def under_risk_coverage(curve: pd.DataFrame, risk: str = "risk_top") -> pd.Series:
    """Area under the risk-coverage curve by data set, low is good: mean risk over all coverages (stepwise). Read it beside the risk
    of answering all, which is the curve's last row.

    >>> float(under_risk_coverage(pd.DataFrame({"dataset": "d", "coverage": [0.5, 1.0], "risk_top": [0.0, 0.5]}))["d"])
    0.25
    """
    steps = curve.groupby("dataset")["coverage"].diff().fillna(curve["coverage"])
    return (curve[risk] * steps).groupby(curve["dataset"]).sum()
