"""Covariances of many blocks of variables under one draw of questions: correlations, R2 and partial correlations follow from them (SPEC 8)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.bootstrap import cluster_codes, divide, resample_totals

CONSTANT = 1e-12  # the variables have variance 1: less than this is rounding, as in ``stats.cluster_correlation``


def scaled(columns: np.ndarray) -> np.ndarray:
    """Each column with mean 0 and variance 1 over its known values: moments of far-off numbers would cancel. A constant becomes 0.

    >>> scaled(np.array([[1.0], [3.0], [np.nan]])).ravel().tolist()
    [-1.0, 1.0, nan]
    """
    known = ~np.isnan(columns)
    n = np.maximum(known.sum(axis=0), 1)
    centred = columns - np.where(known, columns, 0).sum(axis=0) / n
    spread = np.sqrt(np.where(known, centred**2, 0).sum(axis=0) / n)
    return centred / np.where(spread > CONSTANT, spread, 1)


def covariances(blocks: Sequence[np.ndarray], clusters: Sequence, resamples: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each block (rows, k): the sample's covariance matrix, (1, k, k), and those of the resamples, (resamples, k, k).

    All blocks have the same rows; a row with a missing value in a block adds nothing to that block. One draw of clusters serves all.
    Raises ValueError as ``bootstrap.resample_totals`` does.

    >>> covariances([np.array([[0.0, 0.0], [2.0, 4.0]])], ["q1", "q2"], 1, 0)[0][0].tolist()
    [[[1.0, 2.0], [2.0, 4.0]]]
    """
    made = [_moments(block) for block in blocks]
    totals = resample_totals(np.hstack(made), cluster_codes(clusters, len(made[0])), resamples, seed)
    cuts = np.cumsum([m.shape[1] for m in made])[:-1]
    parts = [np.split(total, cuts, axis=1) for total in totals]
    return [(_covariance(one, b.shape[1]), _covariance(many, b.shape[1])) for b, one, many in zip(blocks, *parts)]


def _moments(block: np.ndarray) -> np.ndarray:
    """Columns to be added up: 1, the variables, the products of each pair once."""
    kept = ~np.isnan(block).any(axis=1)
    values = np.where(kept[:, None], block, 0)
    left, right = np.triu_indices(block.shape[1])
    return np.hstack([kept[:, None].astype(float), values, values[:, left] * values[:, right]])


def _covariance(totals: np.ndarray, k: int) -> np.ndarray:
    means = divide(totals[:, 1:], totals[:, :1])
    first = means[:, :k]
    second = np.empty((len(totals), k, k))
    left, right = np.triu_indices(k)
    second[:, left, right] = second[:, right, left] = means[:, k:]
    return second - first[:, :, None] * first[:, None, :]


def correlation(covariance: np.ndarray, i: int = 0, j: int = 1) -> np.ndarray:
    """Pearson correlation of variables i and j of scaled data, (draws,); NaN where one of them is constant."""
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    scale = np.sqrt(np.where(variance > CONSTANT, variance, np.nan))
    return covariance[:, i, j] / (scale[:, i] * scale[:, j])
