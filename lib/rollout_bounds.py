"""What a finite number of questions can tell: exact one-sided bounds of a rate, guarded bounds of a mean, and how many questions would be needed.

A gate passes only where a one-sided bound at level ``alpha`` lies on its good side, and fails only where the other bound lies on the bad one. Between the two
it cannot tell, and says how many questions could (document 001, "Release gates"; SPEC 11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats as distributions

from lib.bootstrap import RESAMPLES, bootstrap_means, divide, resample_totals
from lib.whole import check_whole, is_number

MOST = 100_000  # questions: nobody judges more
POWER = 0.8  # chance of telling, were the truth what was seen
NOTHING = (math.nan, math.nan, math.nan)


class Bounds(NamedTuple):
    """An estimate and its two one-sided bounds, each wrong with chance ``alpha`` at most; NaN where nothing is known."""

    estimate: float
    low: float
    high: float


def rate_bounds(events: int, n: int, alpha: float = 0.05) -> Bounds:
    """The rate of ``events`` in ``n`` with exact binomial (Clopper-Pearson) bounds, each of level ``alpha``; NaN without a question.

    Zero events in n leave a bound of 1 - alpha ** (1 / n), which the rule of three, 3 / n, rounds. Raises ValueError for impossible counts.

    >>> [round(x, 3) for x in rate_bounds(0, 59)], [round(x, 4) for x in rate_bounds(6, 200, 0.025)]
    ([0.0, 0.0, 0.05], [0.03, 0.0111, 0.0642])
    """
    _check_alpha(alpha)
    check_whole("n", n, 0)
    check_whole("events", events, 0, n)
    if not n:
        return Bounds(*NOTHING)
    low = float(distributions.beta.ppf(alpha, events, n - events + 1)) if events else 0.0
    high = float(distributions.beta.ppf(1 - alpha, events + 1, n - events)) if events < n else 1.0
    return Bounds(events / n, low, high)


def least_questions(limit: float, alpha: float = 0.05) -> int:
    """Questions that a rate of at most ``limit`` needs at least, without one event: log(alpha) / log(1 - limit), about 3 / limit (rule of three).

    >>> least_questions(0.05), least_questions(0.01)
    (59, 299)
    """
    _check_alpha(alpha)
    if not is_number(limit, 0) or not 0 < limit < 1:
        raise ValueError(f"a limit of a rate lies between 0 and 1, got {limit!r}; a limit of 0 can never be shown to hold")
    return math.ceil(math.log(alpha) / math.log1p(-limit) - 1e-9)


@lru_cache(maxsize=4_096)
def questions_for_rate(rate: float, limit: float, alpha: float = 0.05, power: float = POWER) -> float:
    """Fewest questions with which a truth of ``rate`` events would be told from ``limit`` (on whichever side it is) with chance ``power``; exact binomial.

    inf where they are equal, or over ``MOST``. (The chance saws up and down with n: this is the first n that reaches it.)

    >>> questions_for_rate(0.0, 0.05), questions_for_rate(0.02, 0.05), questions_for_rate(0.05, 0.05)
    (59.0, 234.0, inf)
    """
    _check_alpha(alpha)
    if math.isnan(rate) or rate == limit:
        return math.inf
    lowest = 1
    for most in (1_000, 10_000, MOST):
        n = np.arange(lowest, most + 1)
        if rate < limit:  # tell "at most": few enough events
            most_events = distributions.binom.ppf(alpha, n, limit)
            most_events -= distributions.binom.cdf(most_events, n, limit) > alpha
            told = distributions.binom.cdf(most_events, n, rate)
        else:  # tell "above": too many of them
            least_events = distributions.binom.isf(alpha, n, limit) + 1
            told = distributions.binom.sf(least_events - 1, n, rate)
        if (told >= power).any():
            return float(n[int(np.argmax(told >= power))])
        lowest = most + 1
    return math.inf


def questions_for_mean(values: Sequence[float], limit: float, alpha: float = 0.05, power: float = POWER) -> float:
    """Questions with which a mean and spread such as these would be told from ``limit`` with chance ``power`` (normal approximation); inf where equal.

    >>> questions_for_mean([0.0, 0.2] * 20, 0.05), questions_for_mean([0.0] * 15, 0.02)
    (26.0, 149.0)
    """
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    distance = abs(known.mean() - limit) if len(known) > 1 else 0.0
    if distance < 1e-12:
        return math.inf
    if not known.any():  # nothing moved: a bootstrap has no spread, the exact bound of a share has
        return float(least_questions(abs(limit), alpha)) if 0 < abs(limit) < 1 else math.inf
    z = distributions.norm.isf(alpha) + distributions.norm.isf(1 - power)
    return float(max(2, math.ceil((z * known.std(ddof=1) / distance) ** 2)))


def mean_bounds(values: Sequence[float], clusters: Sequence, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = 0) -> Bounds:
    """A mean of values in [-1, 1], one a question, with one-sided bounds of level ``alpha``: bootstrap over questions, guarded against the unseen.

    A bootstrap shows only what occurred: where no question lost, no resample does. So the lower bound is never above what the exact bound on the share of
    losing questions leaves, were each loss as large as those seen (1 where none was); the upper one likewise for gains. NaN with fewer than two questions.

    >>> [round(x, 3) for x in mean_bounds([0.0] * 59, range(59))]
    [0.0, -0.05, 0.05]
    """
    rows = np.asarray(values, float)
    known = ~np.isnan(rows)
    rows, names = rows[known], [c for c, k in zip(clusters, known, strict=True) if k]
    if len(rows) < 2:
        return Bounds(float(rows.mean()) if len(rows) else math.nan, math.nan, math.nan)
    if np.abs(rows).max() > 1 + 1e-9:
        raise ValueError(f"a mean of values in [-1, 1] is asked, got {rows[np.abs(rows).argmax()]}; give shares or differences of shares")
    drawn = bootstrap_means(rows, names, resamples, seed)[:, 0]
    low, high = np.quantile(drawn, _ends(alpha, len(rows)))
    return Bounds(float(rows.mean()), float(min(low, -_unseen(-rows, alpha))), float(max(high, _unseen(rows, alpha))))


def _unseen(rows: np.ndarray, alpha: float) -> float:
    """The mean, were the positive values as frequent as the exact bound allows, at their mean size."""
    up = rows[rows > 0]
    return rate_bounds(len(up), len(rows), alpha).high * (up.mean() if len(up) else 1.0) + rows.clip(max=0).mean()


def share_bounds(values: Sequence[float], clusters: Sequence, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = 0) -> Bounds:
    """`mean_bounds` of values in [0, 1], such as headroom: the lower bound is the bootstrap's, since nothing can be lost."""
    rows = np.asarray(values, float)
    found = mean_bounds(rows, clusters, alpha, resamples, seed)
    if math.isnan(found.low):
        return found
    known = ~np.isnan(rows)
    drawn = bootstrap_means(rows[known], [c for c, k in zip(clusters, known, strict=True) if k], resamples, seed)[:, 0]
    return found._replace(low=float(np.quantile(drawn, _ends(alpha, int(known.sum()))[0])))


def ratio_bounds(above: Sequence[float], below: Sequence[float], clusters: Sequence, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = 0) -> Bounds:
    """Sum over sum, such as gains over headrooms, with one-sided bootstrap bounds; NaN where fewer than two questions have a part below."""
    rows = np.column_stack([np.asarray(above, float), np.asarray(below, float)])
    kept = ~np.isnan(rows).any(axis=1) & (rows[:, 1] > 0)
    rows, names = rows[kept], [str(c) for c, k in zip(clusters, kept, strict=True) if k]
    if len(rows) < 2:
        return Bounds(float(rows[0, 0] / rows[0, 1]) if len(rows) else math.nan, math.nan, math.nan)
    observed, drawn = (divide(*total.T) for total in resample_totals(rows, np.unique(names, return_inverse=True)[1], resamples, seed))
    low, high = np.nanquantile(drawn, _ends(alpha, len(rows)))
    return Bounds(float(observed[0]), float(low), float(high))


def _ends(alpha: float, n: int) -> tuple[float, float]:
    """Quantiles of the draws that make bounds of level alpha with n questions: percentile bounds are too narrow with few, so these are expanded as Student's
    t is wider than the normal (Hesterberg, "What teachers should know about the bootstrap", 2015)."""
    tail = float(distributions.norm.cdf(-math.sqrt(n / (n - 1)) * distributions.t.isf(alpha, n - 1)))
    return tail, 1 - tail


def _check_alpha(alpha: float) -> None:
    if not is_number(alpha) or not 0 < alpha < 0.5:
        raise ValueError(f"alpha, the chance that a bound is wrong, lies between 0 and 0.5, got {alpha!r}")
