"""A score against a yes/no judgement: threshold, agreement, area under the curve, and intervals over questions (SPEC 7 and 8)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from lib import bootstrap
from lib.bootstrap import Interval, cluster_codes, divide, percentile_interval

MEASURES = ("agreement", "kappa", "sensitivity", "specificity")


def youden(scores: ArrayLike, labels: ArrayLike) -> float:
    """The threshold t with the largest sensitivity + specificity - 1 of ``score >= t``: halfway between two neighbouring scores, of equal ones the highest.

    Missing scores are left out; NaN where all labels are the same. Source: Youden (1950).

    >>> youden([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    1.5
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels, float)
    known = ~np.isnan(scores) & ~np.isnan(labels)
    values, hits = scores[known], labels[known] == 1
    if hits.all() or not hits.any():
        return float("nan")
    cuts = np.unique(values)[::-1]
    order = np.sort(values[hits]), np.sort(values[~hits])
    rates = [1 - np.searchsorted(part, cuts, side="left") / len(part) for part in order]
    best = int(np.argmax((rates[0] - rates[1]).round(12)))  # the first, and so the highest, of equal ones
    return float((cuts[best] + cuts[best + 1]) / 2) if best + 1 < len(cuts) else float(cuts[best])


def agreements(said: np.ndarray, labels: ArrayLike, clusters: Sequence, resamples: int = 10_000, seed: int = 0) -> list[dict[str, Interval]]:
    """For each column of ``said`` (rows, judges; 0, 1 or NaN) its agreement with ``labels``, Cohen's kappa, sensitivity and specificity.

    Rows where either is missing are left out; one draw of clusters serves all judges.

    >>> agreements(np.array([[1.0], [0.0]]), [1, 0], ["a", "b"], 10)[0]["kappa"].estimate
    1.0
    """
    labels = np.asarray(labels, float)[:, None]
    known = ~np.isnan(said) & ~np.isnan(labels)
    cells = [np.where(known, (said == s) & (labels == t), False) for s in (1, 0) for t in (1, 0)]
    codes, k = cluster_codes(clusters, len(said)), said.shape[1]
    totals = bootstrap.resample_totals(np.hstack(cells).astype(float), codes, resamples, seed)
    both = [[_measures(*(total[:, c * k + j] for c in range(4))) for total in totals] for j in range(k)]
    shown = {"agreement": known, "kappa": known, "sensitivity": known & (labels == 1), "specificity": known & (labels == 0)}
    return [{m: percentile_interval(float(sample[m][0]), drawn[m], codes[shown[m][:, j]], tested=False) for m in MEASURES}
            for j, (sample, drawn) in enumerate(both)]


def _measures(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, tn: np.ndarray) -> dict[str, np.ndarray]:
    n = tp + fp + fn + tn
    same = divide(tp + tn, n)
    chance = divide((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n * n)
    return {"agreement": same, "kappa": divide(same - chance, 1 - chance), "sensitivity": divide(tp, tp + fn), "specificity": divide(tn, fp + tn)}


def shares(values: np.ndarray, clusters: Sequence, resamples: int = 10_000, seed: int = 0) -> list[Interval]:
    """Mean of each column of ``values`` (rows, judges) over its known rows; one draw of clusters serves all.

    >>> shares(np.array([[1.0], [0.0]]), ["a", "b"], 10)[0].estimate
    0.5
    """
    sample, drawn = bootstrap.column_means(values, clusters, resamples, seed)
    codes = cluster_codes(clusters, len(values))
    return [percentile_interval(float(sample[0, j]), drawn[:, j], codes[~np.isnan(values[:, j])], tested=False) for j in range(values.shape[1])]


def auc(scores: ArrayLike, labels: ArrayLike, clusters: Sequence, resamples: int = 10_000, seed: int = 0) -> Interval:
    """Share of (labelled 1, labelled 0) pairs of rows in which the first scores higher, ties half, with its interval over clusters.

    Rows with a missing value are left out; NaN where all labels are the same.

    >>> auc([0.1, 0.9, 0.5], [0, 1, 0], ["a", "b", "c"], 10).estimate
    1.0
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels, float)
    codes, known = cluster_codes(clusters, len(scores)), ~np.isnan(scores) & ~np.isnan(labels)
    n = int(codes.max()) + 1
    right, left = (np.flatnonzero(known & (labels == value)) for value in (1, 0))
    wins = np.zeros((n, n))  # pairs won between the clusters: a resample's wins are a quadratic form in how often each is drawn
    for i in right:
        np.add.at(wins[codes[i]], codes[left], (scores[i] > scores[left]) + (scores[i] == scores[left]) / 2)
    pairs = np.outer(np.bincount(codes[right], minlength=n), np.bincount(codes[left], minlength=n))
    sample, drawn = bootstrap.resample_totals(np.eye(n), np.arange(n), resamples, seed)
    estimate, draws = (divide(((t @ wins) * t).sum(axis=1), ((t @ pairs) * t).sum(axis=1)) for t in (sample, drawn))
    return percentile_interval(float(estimate[0]), draws, codes[known], tested=False)


def exact_share(values: ArrayLike, clusters: Sequence, level: float = 0.95) -> Interval:
    """A share of few rows (0 or 1, NaN left out) with an exact binomial interval on as many cases as there are clusters.

    For counts so small that a bootstrap of none wrong would claim certainty. Source: Clopper and Pearson (1934); cases counted by cluster,
    the cautious end of Korn and Graubard (1998).

    >>> round(exact_share([0, 0, 0], ["a", "b", "c"]).high, 3)
    0.708
    """
    values = np.asarray(values, float)
    codes = np.unique([str(c) for c in clusters], return_inverse=True)[1][~np.isnan(values)]
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"), float("nan"), 0, 0)
    share, n = float(values.mean()), len(np.unique(codes))
    k, tail = share * n, (1 - level) / 2
    low = float(beta.ppf(tail, k, n - k + 1)) if k > 0 else 0.0
    high = float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
    return Interval(share, low, high, float("nan"), len(values), n)
