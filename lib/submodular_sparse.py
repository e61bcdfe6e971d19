"""Similarities of many candidates, each kept to its nearest: for pools too large for every pair.

All pairs of 20,000 candidates are 3.2 GB, and the first look at every gain costs as many steps. With the k nearest of each, memory and every step after
the similarities grow with n k. What is left out costs value: the greedy then climbs another saturated coverage, and F, measured with all pairs
(``whole_value``), is a little lower. Below ``DENSE_TO`` candidates all pairs are kept: the loss would buy nothing.
"""
from __future__ import annotations

import numpy as np
from scipy import sparse

from lib.submodular import LAZY_FROM, PUBLISHED_ALPHA, PUBLISHED_WEIGHTS, objective, value

DENSE_TO = 3_000  # candidates: all pairs up to here (72 MB)
NEAREST = 64
BLOCK = 512  # rows of similarities at a time


def method(n: int) -> str:
    """Which way a pool of n candidates is packed: plain (every gain at each step), lazy, or lazy on the nearest neighbours; the first two pick the same.

    >>> [method(n) for n in (60, 2_000, 20_000)]
    ['plain', 'lazy', 'neighbours']
    """
    return "plain" if n < LAZY_FROM else "lazy" if n <= DENSE_TO else "neighbours"


def neighbours(unit: np.ndarray, k: int = NEAREST, block: int = BLOCK) -> sparse.csc_array:
    """Cosines of unit rows (n, d), clipped at 0, of pairs where one is among the k nearest of the other (itself one of them).

    Sparse columns (n, n), 2 n k entries at most. Raises ValueError for k below 1. A block of rows at a time: memory grows with n, time with n squared.

    >>> neighbours(np.eye(3), 1).toarray().tolist() == np.eye(3).tolist()
    True
    """
    if k < 1:
        raise ValueError(f"each candidate keeps at least one neighbour, itself, got k = {k}")
    unit = np.ascontiguousarray(unit, np.float32)
    n, k = len(unit), min(k, len(unit))
    near, cosine = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    for at in range(0, n, block):
        rows = slice(at, min(at + block, n))
        every = unit[rows] @ unit.T
        near[rows] = np.argpartition(every, n - k, axis=1)[:, n - k:]
        cosine[rows] = np.take_along_axis(every, near[rows], axis=1)
    kept = sparse.csr_array((np.clip(cosine, 0, 1).ravel().astype(float), near.ravel(), np.arange(0, n * k + 1, max(k, 1))), shape=(n, n))
    return kept.maximum(kept.T).tocsc()  # a snippet near to many is kept by them, not they by it


def similarities(unit: np.ndarray, k: int = NEAREST):
    """All pairs (n, n), or the nearest neighbours, whichever ``method`` says for so many rows."""
    return neighbours(unit, k) if method(len(unit)) == "neighbours" else np.clip(np.round(unit @ unit.T, 12), 0, 1)


def whole_value(unit: np.ndarray, relevance, terms, document, chosen, weights=PUBLISHED_WEIGHTS, alpha: float = PUBLISHED_ALPHA, block: int = BLOCK) -> float:
    """F of ``chosen`` with every pair of the unit rows (n, d), without ever holding all of them: what a set found among neighbours is really worth.

    >>> round(whole_value(np.eye(2), [.5, .5], np.ones((2, 1), bool), [0, 1], [0, 1]), 6)
    2.2
    """
    f = objective(relevance, terms, sparse.csc_array((len(unit), len(unit))), document, weights, alpha)  # the three terms that need no pairs
    chosen, unit = list(chosen), np.asarray(unit, np.float32)
    covered = whole = 0.0
    for at in range(0, len(unit), block):
        every = np.clip(unit[at:at + block] @ unit.T, 0, 1).astype(float)
        saturation = alpha * every.sum(axis=1)
        covered += np.minimum(every[:, chosen].sum(axis=1), saturation).sum()
        whole += np.minimum(every.sum(axis=1), saturation).sum()
    return value(f, chosen) + float(weights[2] * covered / whole if whole > 0 else 0.0)
