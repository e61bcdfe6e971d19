"""Rows of the table ``ladder``: named per-question values, one common draw of questions, and what means and differences say (SPEC 8)."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import bootstrap, ladder_rungs, stats
from lib.intervention import verdict as said_by

METRICS = ("f1", "em")
ALL = "all rungs"
NUMBERS = ["estimate", "ci_low", "ci_high", "p_value", "mde", "eq_low", "eq_high", "verdict", "n", "clusters", "undefined"]


class Drawn(NamedTuple):
    """Columns of values by name: ``values`` (rows, columns), their means (columns,), and the means under each resample (resamples, columns)."""

    names: list
    values: np.ndarray
    means: np.ndarray
    draws: np.ndarray
    codes: np.ndarray

    def at(self, name) -> tuple[np.ndarray, float, np.ndarray]:
        """Values, mean and drawn means of one column."""
        j = self.names.index(name)
        return self.values[:, j], float(self.means[j]), self.draws[:, j]


def draw(columns: Mapping, clusters, resamples: int = 10_000, seed: int = 0) -> Drawn:
    """One bootstrap of questions for all ``columns`` (name -> values, a row each of ``clusters``).

    >>> draw({"a": np.array([0.0, 1.0])}, ["q1", "q2"], resamples=5).at("a")[1]
    0.5
    """
    names, matrix = list(columns), np.column_stack([np.asarray(v, dtype=float) for v in columns.values()])
    sample, drawn = bootstrap.column_means(matrix, clusters, resamples, seed)
    return Drawn(names, matrix, sample[0], drawn, bootstrap.cluster_codes(clusters, len(matrix)))


def mean_cell(drawn: Drawn, name) -> dict:
    """A mean with its interval; nothing is tested. ``undefined`` counts rows without the value."""
    values, mean, draws = drawn.at(name)
    known = ~np.isnan(values)
    return _cell(bootstrap.percentile_interval(mean, draws, drawn.codes[known], tested=False), undefined=int((~known).sum()))


def difference_cell(drawn: Drawn, name, margin: float | None = None) -> dict:
    """A mean of paired differences: interval, p, minimum detectable effect at 80 % power and, with a margin, the 90 % interval of two one-sided tests.

    ``verdict`` as `lib.intervention.verdict`: moved up or down, slightly so (decided, yet within the margin), equivalent, inconclusive, undefined.
    """
    values, mean, draws = drawn.at(name)
    known = ~np.isnan(values)
    moved = bootstrap.percentile_interval(mean, draws, drawn.codes[known], tested=True)
    same = stats.equivalence_of_draws(values, drawn.codes, draws, margin) if margin else None
    sd = values[known].std(ddof=1) if known.sum() > 1 else 0.0
    mde = stats.minimum_detectable_effect(sd, int(known.sum())) if sd else math.nan
    none = stats.Equivalence("inconclusive", math.nan, math.nan, math.nan, math.nan, math.nan, moved.n, moved.clusters)
    told = said_by(moved, same or none, int(np.count_nonzero(values[known])))
    ends = {"eq_low": same.low, "eq_high": same.high} if same else {}
    return _cell(moved, mde=mde, verdict=told, undefined=int((~known).sum()), **ends)


def apart_cell(drawn: Drawn, first, second) -> dict:
    """Mean of one column minus mean of another, over whichever rows each has (such as with and without the answer in the context)."""
    (a, mean_a, draws_a), (b, mean_b, draws_b) = drawn.at(first), drawn.at(second)
    known = ~np.isnan(a) | ~np.isnan(b)
    return _cell(bootstrap.percentile_interval(mean_a - mean_b, draws_a - draws_b, drawn.codes[known], tested=False), undefined=int((~known).sum()))


def row(rung: tuple[str, str], kind: str, policy: str, quantity: str, cell: Mapping, against: str = "none", control: str = "none",
        chosen: object = pd.NA) -> dict:
    """One row of the table, but for what all rows of a data set share."""
    reader, precision = rung
    one = reader not in (ALL, "none")
    return {"reader": reader, "precision": precision, "kind": kind, "against": against, "policy": policy, "control": control, "quantity": quantity,
            "billions": ladder_rungs.billions(reader) if one else math.nan, "weights": ladder_rungs.weights_of(reader, precision) if one else pd.NA,
            "chosen": chosen, **cell}


def _cell(i: bootstrap.Interval, mde: float = math.nan, verdict: object = pd.NA, undefined: int = 0, eq_low: float = math.nan,
          eq_high: float = math.nan) -> dict:
    return dict(zip(NUMBERS, (i.estimate, i.low, i.high, i.p_value, mde, eq_low, eq_high, verdict, i.n, i.clusters, undefined)))
