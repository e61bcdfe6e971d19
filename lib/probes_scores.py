"""What a reranker's scores mean across queries: drift, calibration, and whether they know that nothing is relevant (document 001, Part II).

Ranking asks which candidate comes first, and needs scores that are comparable within a query. A threshold needs more: a scale that holds from query to query.
``scores``: a row a candidate with dataset, qid, slice, half, score, grade; candidates without a score are left out. Intervals are over questions.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats as distributions

from lib import bootstrap, stats
from lib.depth import KEY
from lib.probes_abstention import abstention, risk_coverage, top_scores, under_risk_coverage
from lib.probes_calibration import calibration
from lib.whole import check_whole

BINS = 10
DRIFT = ["dataset", "comparison", "quantity", "estimate", "ci_low", "ci_high", "p_value", "n", "n_other"]
TABLE = ["tier", "dataset", "ranker", "reranker", "comparison", "quantity", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "n"]


def drift(scores: pd.DataFrame, resamples: int = 2_000, seed: int = 0) -> pd.DataFrame:
    """The drift of the top score between queries of a data set, a row a comparison and quantity.

    ``comparison`` "half 0 − half 1" (should differ by chance only) and a slice against all other queries; ks: the largest gap between the two
    distributions, [0, 1], with its p; psi: population stability index over tenths of the others' scores, with the p of shuffled queries (by convention under
    0.1 is stable, over 0.25 shifted; with few queries chance alone is larger, so read the p). "between queries": the share of the variance of all scores
    that lies between queries' means, with its interval. NaN where a side has fewer than two queries.
    """
    made = []
    for dataset, part in scores.dropna(subset=["score"]).groupby("dataset"):
        tops = top_scores(part).sort_values("qid")
        sides = [("half 0 − half 1", tops["half"] == 0)]
        sides += [(f"{name} − others", tops["slice"] == name) for name in sorted(tops["slice"].unique())] if tops["slice"].nunique() > 1 else []
        for name, inside in sides:
            a, b = tops.loc[inside, "top"].to_numpy(float), tops.loc[~inside, "top"].to_numpy(float)
            enough = min(len(a), len(b)) > 1
            ks = distributions.ks_2samp(a, b) if enough else None
            made.append((dataset, name, "ks", ks.statistic if ks else math.nan, math.nan, math.nan, ks.pvalue if ks else math.nan, len(a), len(b)))
            index, p = (psi(a, b), _psi_p(a, b, resamples, seed)) if enough else (math.nan, math.nan)
            made.append((dataset, name, "psi", index, math.nan, math.nan, p, len(a), len(b)))
        i = between_queries(part, resamples, seed)
        made.append((dataset, "all", "between queries", *i[:3], math.nan, i.clusters, 0))
    return pd.DataFrame(made, columns=DRIFT)


def psi(values: np.ndarray, reference: np.ndarray, bins: int = BINS) -> float:
    """Population stability index: sum of (p - q) ln(p / q) over bins that hold equal shares of the reference; half a count is added to each bin.

    >>> round(psi(np.arange(100.0), np.arange(100.0)), 6)
    0.0
    """
    edges = np.unique(np.quantile(reference, np.linspace(0, 1, bins + 1)[1:-1]))
    counts = [np.bincount(np.searchsorted(edges, v, side="left"), minlength=len(edges) + 1) + 0.5 for v in (values, reference)]
    p, q = (c / c.sum() for c in counts)
    return float(((p - q) * np.log(p / q)).sum())


def _psi_p(values: np.ndarray, reference: np.ndarray, resamples: int, seed: int) -> float:
    rng, whole, observed = np.random.default_rng(seed), np.sort(np.concatenate([values, reference])), psi(values, reference)
    drawn = (rng.permutation(whole) for _ in range(resamples))
    return (1 + sum(psi(d[:len(values)], d[len(values):]) >= observed - 1e-12 for d in drawn)) / (resamples + 1)


def between_queries(scores: pd.DataFrame, resamples: int = 2_000, seed: int = 0) -> bootstrap.Interval:
    """Share of the variance of all scores that lies between queries' means (eta squared), [0, 1]; NaN where all scores are equal.

    0: every query has the same mean score; 1: knowing the query tells the score. Large shares mean that one threshold treats queries unequally.
    """
    known = scores.dropna(subset=["score"])
    centred = known["score"] - known["score"].mean()  # far-off raw moments would cancel
    by = centred.groupby([known[k] for k in KEY]).agg(["sum", "count"])
    squares = (centred**2).groupby([known[k] for k in KEY]).sum()
    columns = np.column_stack([by["count"], by["sum"], by["sum"] ** 2 / by["count"], squares])
    codes = bootstrap.cluster_codes(list(by.index), len(by))
    share = [_eta(t) for t in bootstrap.resample_totals(columns, codes, resamples, seed)]
    return bootstrap.percentile_interval(float(share[0][0]), share[1], codes, tested=False)


def _eta(totals: np.ndarray) -> np.ndarray:
    count, total, between, squares = totals.T
    correction = bootstrap.divide(total**2, count)
    spread = squares - correction
    return (between - correction) / np.where(spread > 1e-12, spread, np.nan)


def checked(scores: pd.DataFrame, columns: Sequence[str] = (*KEY, "slice", "half", "score", "grade")) -> pd.DataFrame:
    """``scores`` where it has the columns and no infinite score, else ValueError."""
    if missing := set(columns) - set(scores):
        raise ValueError(f"scores: columns {sorted(missing)} are missing, found {list(scores)}")
    if np.isinf(scores["score"].to_numpy(float)).any():
        raise ValueError("scores: a score is infinite; a candidate that the model could not score must be NaN")
    return scores.astype({"score": float, "grade": float})


def table_of(scores: pd.DataFrame, tier: str, ranker: str, reranker: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Drift, calibration and abstention of one reranker in one long table (see their functions): tier, dataset, ranker, reranker, comparison, quantity, ..."""
    check_whole("resamples", resamples, 1)
    scores, made = checked(scores), []
    few = min(resamples, 2_000)
    for r in drift(scores, few, seed).itertuples():
        made.append((r.dataset, r.comparison, r.quantity, r.estimate, r.ci_low, r.ci_high, r.p_value, r.n))
    for r in calibration(scores, resamples, seed).itertuples():
        made.append((r.dataset, r.form, "ece", r.ece, r.ci_low, r.ci_high, math.nan, r.clusters))
    for r in abstention(scores, few, seed).itertuples():
        made.append((r.dataset, "pools as they are", "auc of the top score", r.auc, r.auc_low, r.auc_high, math.nan, r.n))
        made.append((r.dataset, "relevant removed", "auc of the top score", r.auc_removed, r.removed_low, r.removed_high, math.nan, r.n - r.n_without))
    for dataset, curve in risk_coverage(scores).groupby("dataset"):
        n = top_scores(scores[scores["dataset"] == dataset])["qid"].nunique()
        made.append((dataset, "answering all", "risk", curve["risk_top"].iloc[-1], math.nan, math.nan, math.nan, n))
        made.append((dataset, "by top score", "mean risk over coverages", under_risk_coverage(curve)[dataset], math.nan, math.nan, math.nan, n))
    columns = ["dataset", "comparison", "quantity", "estimate", "ci_low", "ci_high", "p_value", "n"]
    out = pd.DataFrame(made, columns=columns).assign(tier=tier, ranker=ranker, reranker=reranker)
    return out.assign(p_holm=out.groupby(["dataset", "quantity"])["p_value"].transform(stats.holm) if len(out) else out["p_value"])[TABLE]
