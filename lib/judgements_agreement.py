"""Agreement of two assessors over labels: per cent, Cohen's kappa, Krippendorff's alpha; from tables of counts, from labels, and as expected (SPEC 11).

A table counts label pairs, (labels, labels): rows the first assessor's. All three are functions of that table, so that an expected table (of known
confusion) gives the value that labels must show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lib import bootstrap
from lib.bootstrap import Interval, cluster_codes, divide, percentile_interval
from lib.judgements_records import LABELS


class Agreement(NamedTuple):
    """Share of equal labels; kappa: above chance by each one's own shares; alpha: above chance by the shares of both together. NaN where chance is 1."""

    percent: float
    kappa: float
    alpha: float


def agreement(counts: ArrayLike, units: float | None = None) -> Agreement:
    """Agreement of a table of label pairs, counts or shares; ``units``: passages labelled (default: the table's sum; infinity for expected shares).

    Alpha compares with pairs drawn without replacement from all 2 x units labels. Sources: Cohen (1960); Krippendorff (2011), nominal, two observers.

    >>> [round(v, 3) for v in agreement([[5, 3], [1, 1]])]
    [0.6, 0.091, 0.095]
    """
    table = np.asarray(counts, float)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or (table < 0).any():
        raise ValueError(f"need a square table of label pairs without negative counts, got shape {table.shape}")
    found = _agreements(table[None], np.array([table.sum() if units is None else units]))
    return Agreement(*(float(v[0]) for v in found))


def _agreements(tables: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(percent, kappa, alpha) of many tables, (tables, labels, labels)."""
    shares = divide(tables, tables.sum(axis=(1, 2))[:, None, None])
    same = np.trace(shares, axis1=1, axis2=2)
    rows, columns = shares.sum(axis=2), shares.sum(axis=1)
    by_own = (rows * columns).sum(axis=1)
    by_both = (((rows + columns) / 2) ** 2).sum(axis=1)
    without = divide(1 - by_both, 1 - 1 / (2 * units))  # two labels drawn without replacement differ
    return same, divide(same - by_own, _unless_none(1 - by_own)), 1 - divide(1 - same, _unless_none(without))


def _unless_none(differing: np.ndarray) -> np.ndarray:
    return np.where(differing < 1e-12, 0.0, differing)  # one label alone: chance cannot be told from agreement


def pairs(one: Sequence[str], other: Sequence[str], labels: Sequence[str] = LABELS) -> np.ndarray:
    """The table of label pairs; ValueError for a label that is not among ``labels``."""
    if strange := (set(one) | set(other)) - set(labels):
        raise ValueError(f"label {sorted(map(str, strange))[0]!r} is none of {', '.join(labels)}")
    place = {label: at for at, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    np.add.at(table, ([place[v] for v in one], [place[v] for v in other]), 1)
    return table


def agreement_intervals(
    one: Sequence[str], other: Sequence[str], clusters: Sequence, labels: Sequence[str] = LABELS, resamples: int = 10_000, seed: int = 0
) -> dict[str, Interval]:
    """Each measure of ``Agreement`` with its interval over clusters (questions): a question's passages are drawn together."""
    place = {label: at for at, label in enumerate(labels)}
    pairs(one, other, labels)
    cells = np.zeros((len(one), len(labels) ** 2))
    cells[np.arange(len(one)), [place[a] * len(labels) + place[b] for a, b in zip(one, other, strict=True)]] = 1
    codes = cluster_codes(clusters, len(one))
    sample, drawn = (t.reshape(-1, len(labels), len(labels)) for t in bootstrap.resample_totals(cells, codes, resamples, seed))
    found = zip(Agreement._fields, _agreements(sample, sample.sum(axis=(1, 2))), _agreements(drawn, drawn.sum(axis=(1, 2))))
    return {name: percentile_interval(float(value[0]), draws, codes, tested=False) for name, value, draws in found}


def expected_pairs(shares: ArrayLike, first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """The expected table of label pairs: ``shares`` of the true labels, each assessor's confusion matrix (rows: true label, columns: label given).

    The two err independently once the true label is known. Who share a misconception agree more often than this, and are no more right.

    >>> expected_pairs([0.5, 0.5], [[1, 0], [0, 1]], [[0.8, 0.2], [0, 1]]).tolist()
    [[0.4, 0.1], [0.0, 0.5]]
    """
    shares, first, second = (np.asarray(v, float) for v in (shares, first, second))
    return first.T @ (shares[:, None] * second)


def expected_wrong(shares: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Expected share of passages on which both give the same wrong label: agreement that no adjudication of disagreements will ever look at.

    >>> expected_wrong([1.0, 0.0], [[0.75, 0.25], [0, 1]], [[0.5, 0.5], [0, 1]])
    0.125
    """
    shares, both = np.asarray(shares, float), np.asarray(first, float) * np.asarray(second, float)
    return float(shares @ (both.sum(axis=1) - np.diag(both)))
