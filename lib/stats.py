"""Statistics: paired differences over questions, their intervals and tests (SPEC 8).

A question (the cluster) is drawn with all its rows, because its policies, budgets and readers share one fate. Missing values
(NaN) are left out of a mean and of its n. Intervals are percentile intervals, 95 % unless said otherwise.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats as distributions
from scipy.special import bdtr

from lib.bootstrap import (
    RESAMPLES,
    Interval,
    as_columns,
    bootstrap_means,
    cluster_codes,
    column_means,
    complete_rows,
    divide,
    percentile_interval,
    resample_totals,
)


class Equivalence(NamedTuple):
    """A verdict ("equivalent", "different", "inconclusive"), the 1 - 2 alpha interval it rests on, the larger one-sided p."""

    verdict: str
    estimate: float
    low: float
    high: float
    p_value: float
    margin: float
    n: int
    clusters: int


def paired_cluster_bootstrap(delta_rows: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Mean paired difference (treatment - control) with interval and two-sided p over questions (SPEC 8).

    p is at least 1 / (resamples + 1); with fewer than two questions, interval and p are NaN. Raises ValueError as
    `bootstrap_means` does.

    >>> paired_cluster_bootstrap([0.0, 0.0], ["q1", "q2"])
    Interval(estimate=0.0, low=0.0, high=0.0, p_value=1.0, n=2, clusters=2)
    """
    return paired_cluster_bootstraps(delta_rows, clusters, resamples, seed)[0]


def paired_cluster_bootstraps(
    delta_matrix: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0
) -> list[Interval]:
    """Do `paired_cluster_bootstrap` for each column of (rows, contrasts), with one common draw."""
    return _mean_intervals(delta_matrix, clusters, resamples, seed, tested=True)


def mean_interval(values: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Mean of `values` with its cluster-bootstrap interval; nothing is tested, so p is NaN (SPEC 8).

    >>> mean_interval([1.0, 1.0], ["q1", "q2"]).low
    1.0
    """
    return _mean_intervals(values, clusters, resamples, seed, tested=False)[0]


def _mean_intervals(values: ArrayLike, clusters: Sequence, resamples: int, seed: int, **kind) -> list[Interval]:
    matrix = as_columns(values)
    means, drawn = column_means(matrix, clusters, resamples, seed)
    codes, known = cluster_codes(clusters, len(matrix)), ~np.isnan(matrix)
    return [
        percentile_interval(mean, draws, codes[rows], **kind)
        for mean, draws, rows in zip(means[0], drawn.T, known.T, strict=True)
    ]


def ratio_interval(
    numerator_rows: ArrayLike, denominator_rows: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Sum over sum, such as gains over headrooms (SPEC 11), with its cluster-bootstrap interval; p is NaN.

    Rows with either part missing are left out; a denominator of 0 gives NaN. Raises ValueError as `bootstrap_means` does.

    >>> ratio_interval([1.0, 2.0], [2.0, 4.0], ["q1", "q2"]).estimate
    0.5
    """
    rows, kept, codes = complete_rows([numerator_rows, denominator_rows], clusters)
    observed, drawn = (divide(*total.T) for total in resample_totals(rows, codes, resamples, seed))
    return percentile_interval(observed[0], drawn, codes[kept], tested=False)


def cluster_correlation(
    x: ArrayLike, y: ArrayLike, clusters: Sequence, given: ArrayLike | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Pearson correlation of x and y, partial if `given` names a third variable, with cluster-bootstrap interval and p (SPEC 8).

    Rows with a missing value are left out; a constant variable gives NaN. Raises ValueError as `bootstrap_means` does.

    >>> round(cluster_correlation([1, 2, 3], [2, 4, 6], ["q1", "q2", "q3"]).estimate, 9)
    1.0
    """
    rows, kept, codes = complete_rows([x, y] if given is None else [x, y, given], clusters)
    centred = np.where(kept[:, None], rows - rows.sum(axis=0) / max(kept.sum(), 1), 0)
    spread = np.sqrt((centred**2).sum(axis=0) / max(kept.sum(), 1))
    scaled = centred / np.where(spread > 0, spread, 1)  # raw second moments of far-off numbers would cancel
    products = (scaled[:, :, None] * scaled[:, None, :]).reshape(len(rows), -1)
    moments = np.hstack([kept[:, None], scaled, products])
    observed, drawn = (_correlation(total, rows.shape[1]) for total in resample_totals(moments, codes, resamples, seed))
    return percentile_interval(observed[0], drawn, codes[kept], tested=True)


def _correlation(totals: np.ndarray, n_variables: int) -> np.ndarray:
    """Correlation of variables 0 and 1, given 2 if there is one, from rows of (count, sums, sums of products)."""
    means = divide(totals[:, 1:], totals[:, :1])
    first, second = means[:, :n_variables], means[:, n_variables:].reshape(-1, n_variables, n_variables)
    covariance = second - first[:, :, None] * first[:, None, :]
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.where(variance > 1e-12, variance, np.nan))  # the variables have variance 1: less than this is rounding
    r = covariance / (scale[:, :, None] * scale[:, None, :])
    if n_variables == 2:
        return r[:, 0, 1]
    unexplained = (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
    return (r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]) / np.sqrt(np.where(unexplained > 1e-12, unexplained, np.nan))


def equivalence(
    delta_rows: ArrayLike,
    clusters: Sequence,
    margin: float = 0.02,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Equivalence:
    """Two one-sided tests that the mean difference lies within +- margin, in the units of the rows (SPEC 8).

    "equivalent": the 1 - 2 alpha interval lies inside the margin and p is below alpha; "different": wholly outside; else "inconclusive".
    Raises ValueError for a margin that is not positive.

    >>> equivalence([0.0] * 200, range(200)).verdict
    'equivalent'
    """
    matrix = as_columns(delta_rows)
    drawn = bootstrap_means(matrix, clusters, resamples, seed)
    return equivalence_of_draws(matrix[:, 0], cluster_codes(clusters, len(matrix)), drawn[:, 0], margin, alpha)


def equivalence_of_draws(deltas: np.ndarray, codes: np.ndarray, draws: np.ndarray, margin: float, alpha: float = 0.05) -> Equivalence:
    """Do `equivalence` on draws of the mean that are at hand: one draw then serves interval and test, and many metrics.

    Draws show only what occurred. Where few questions changed, a loss in one of 50 may just not have occurred, and the draws alone would
    call a fifth of such losses equivalent at 160 questions. So p is never below the exact binomial chance of as few losing (or gaining)
    questions as there are, if the mean lay at the margin: (1 - margin) ** questions where none changed, 149 questions at 2 points.

    >>> equivalence_of_draws(np.zeros(200), np.arange(200), np.zeros(99), margin=0.02)[:4]
    ('equivalent', 0.0, 0.0, 0.0)
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    known = ~np.isnan(deltas)
    deltas, codes, draws = deltas[known], codes[known], draws[~np.isnan(draws)]
    inner = percentile_interval(deltas.mean() if len(deltas) else math.nan, draws, codes, tested=False, level=1 - 2 * alpha)
    if math.isnan(inner.low):
        return Equivalence("inconclusive", *inner[:3], math.nan, margin, inner.n, inner.clusters)
    beyond = max(np.count_nonzero(draws <= -margin), np.count_nonzero(draws >= margin))
    by_question = np.bincount(codes, weights=deltas)[np.bincount(codes) > 0] * inner.clusters / inner.n  # its mean is that of the rows
    unseen = max(0.0, 1 - margin) ** inner.clusters  # losses of 1 that have not occurred yet
    p_value = float(max((1 + beyond) / (len(draws) + 1), unseen, _too_few(by_question, margin), _too_few(-by_question, margin)))
    inside = -margin < inner.low and inner.high < margin and p_value < alpha
    verdict = "equivalent" if inside else "different" if inner.low > margin or inner.high < -margin else "inconclusive"
    return Equivalence(verdict, *inner[:3], p_value, margin, inner.n, inner.clusters)


def _too_few(deltas: np.ndarray, margin: float) -> float:
    """Chance of as few losing questions as there are, if losses of the size seen made the mean -margin; 0 where nothing lost."""
    losses = -deltas[deltas < 0]
    rate = (margin + deltas.clip(0).mean()) / losses.mean() if len(losses) else 1.0
    return float(bdtr(len(losses), len(deltas), rate)) if rate < 1 else 0.0  # binomial P(no more losses)


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided sign test on untied pairs; without any, p is 1 (METRIC_CASES, "Statistics").

    >>> round(sign_test(13, 0), 6)
    0.000244
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"wins and losses must not be negative, got {wins} and {losses}")
    return float(distributions.binomtest(int(wins), int(wins + losses)).pvalue) if wins + losses else 1.0


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down adjusted p-values in the given order; NaN stays NaN and is no member of the family (SPEC 8).

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    if ((p_values < 0) | (p_values > 1)).any():
        raise ValueError(f"p-values must lie in [0, 1], got {p_values[(p_values < 0) | (p_values > 1)][0]}")
    order = np.argsort(p_values, kind="stable")[: np.count_nonzero(~np.isnan(p_values))]  # NaN sorts last
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1)))
    return adjusted


def minimum_detectable_effect(sd: float, n: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """Smallest mean paired difference that n questions show with this power, two-sided, normal approximation (SPEC 8).

    `sd` is of the paired differences (per question); the result has its units.

    >>> round(minimum_detectable_effect(0.3, 200), 3)
    0.059
    """
    if n < 1 or not sd >= 0:
        raise ValueError(f"need n >= 1 and sd >= 0, got n = {n} and sd = {sd}")
    return float((distributions.norm.ppf(1 - alpha / 2) + distributions.norm.ppf(power)) * sd / math.sqrt(n))
