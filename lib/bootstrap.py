"""The cluster bootstrap under `lib.stats`: questions are drawn with replacement, each with all its rows (SPEC 8)."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

RESAMPLES = 10_000
_BLOCK = 2_000_000  # drawn cluster ids held at once, 16 MB


class Interval(NamedTuple):
    """An estimate and its interval; `p_value` is NaN where nothing is tested; `n` counts rows, `clusters` questions."""

    estimate: float
    low: float
    high: float
    p_value: float
    n: int
    clusters: int


def cluster_codes(clusters: Sequence, n_rows: int) -> np.ndarray:
    """Number the clusters 0, 1, ... by name, one code per row; raises ValueError for unequal lengths or no row.

    >>> cluster_codes(["q2", "q1", "q2"], 3).tolist()
    [1, 0, 1]
    """
    if n_rows == 0 or n_rows != len(clusters):
        raise ValueError(
            f"got {n_rows} rows and {len(clusters)} clusters: at least one row, and a cluster (qid) per row, are needed"
        )
    # By name and not by first appearance, so that shuffling the rows changes nothing; tuples such as (seed, qid) are names too.
    return np.unique([str(cluster) for cluster in clusters], return_inverse=True)[1]


def resample_totals(columns: np.ndarray, codes: np.ndarray, resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Column totals of the sample, (1, columns), and of each resample of clusters, (resamples, columns).

    Every statistic that is a function of totals (mean, ratio, correlation) is computed from these alone. Raises ValueError for
    infinite values or fewer than one resample.

    >>> resample_totals(np.ones((2, 1)), np.array([0, 1]), 3, seed=0)[1].tolist()
    [[2.0], [2.0], [2.0]]
    """
    if np.isinf(columns).any():
        raise ValueError(
            f"row {int(np.isinf(columns).any(axis=1).argmax())} holds an infinite value: undefined values must be NaN"
        )
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    sums = np.column_stack([np.bincount(codes, weights=column) for column in columns.T])
    drawn = np.vstack([counts @ sums for counts in _draw_counts(len(sums), resamples, seed)])
    return sums.sum(axis=0, keepdims=True), drawn


def _draw_counts(n_clusters: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Blocks of multinomial counts, (block, clusters): how often each cluster is drawn."""
    generator, block = np.random.default_rng(seed), max(1, _BLOCK // n_clusters)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(n_clusters, size=(rows, n_clusters)) + n_clusters * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n_clusters).reshape(rows, n_clusters).astype(float)


def bootstrap_means(matrix: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """Means of each column under a cluster bootstrap, (resamples, columns): one draw serves all columns (SPEC 8).

    `matrix` is (rows, columns), `clusters` names each row's question; the order of the rows does not matter. A resample without a
    value of a column gives NaN there. Raises ValueError for empty, infinite or unequally long input.

    >>> bootstrap_means([[1.0, 0.0], [1.0, 0.0]], ["q1", "q2"], resamples=1).tolist()
    [[1.0, 0.0]]
    """
    return column_means(matrix, clusters, resamples, seed)[1]


def column_means(
    matrix: ArrayLike, clusters: Sequence, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Means of each column over its known values: of the sample, (1, columns), and of each resample, (resamples, columns)."""
    matrix = as_columns(matrix)
    known = ~np.isnan(matrix)
    columns = np.hstack([np.where(known, matrix, 0), known])
    totals = resample_totals(columns, cluster_codes(clusters, len(matrix)), resamples, seed)
    sample, resampled = (divide(*np.hsplit(total, 2)) for total in totals)
    return sample, resampled


def as_columns(values: ArrayLike) -> np.ndarray:
    """Make (rows, columns) of floats out of (rows,) or (rows, columns)."""
    values = np.asarray(values, dtype=float)
    return values[:, None] if values.ndim == 1 else values


def complete_rows(columns: Sequence[ArrayLike], clusters: Sequence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make (rows, columns) with incomplete rows set to 0, so that they add nothing; which are complete; the cluster codes."""
    if {len(column) for column in columns} != {len(clusters)}:
        raise ValueError(f"got columns of {[len(column) for column in columns]} rows and {len(clusters)} clusters")
    rows = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    kept = ~np.isnan(rows).any(axis=1)
    return np.where(kept[:, None], rows, 0), kept, cluster_codes(clusters, len(rows))


def divide(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
    """Divide, with NaN where the denominator is 0."""
    return numerators / np.where(denominators == 0, np.nan, denominators)


def percentile_interval(estimate: float, draws: np.ndarray, codes: np.ndarray, *, tested: bool, level: float = 0.95) -> Interval:
    """Percentile interval of the drawn statistics, with the two-sided p against 0 where `tested`.

    `codes` holds the cluster of each row with a value. Draws without a value are dropped. One question says
    nothing about the spread between questions: fewer than two give NaN.

    >>> percentile_interval(0.0, np.zeros(9), np.array([0, 1]), tested=True).p_value
    1.0
    """
    draws, n, clusters = draws[~np.isnan(draws)], len(codes), len(np.unique(codes))
    if clusters < 2 or not len(draws) or math.isnan(estimate):
        return Interval(float(estimate), math.nan, math.nan, math.nan, n, clusters)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(estimate), float(low), float(high), _two_sided_p(draws) if tested else math.nan, n, clusters)


def _two_sided_p(draws: np.ndarray) -> float:
    # Both tails count zeros, so a policy against itself gives 1; the extra 1 keeps p from ever being 0.
    tail = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0))
    return float(min(1.0, (1 + 2 * tail) / (len(draws) + 1)))
