"""How sure a held-out delta is: a one-sided bound that holds where few questions changed or none, and an interval for an area under the curve (SPEC 12)."""
from __future__ import annotations

import math

import numpy as np
from scipy import optimize
from scipy.stats import beta, norm

from lib.gate import skip_delta


def lower_bound(beneficial: int, harmful: int, n: int, level: float = 0.95) -> float:
    """One-sided lower confidence bound on delta = (beneficial - harmful) / n, in percentage points.

    The lower of two: Tango's score bound for paired yes/no outcomes (Statistics in Medicine 17, 1998), and beneficial / n less the exact upper bound on the
    rate of harm. A bootstrap would say 0 where nothing was harmed in 50 questions; this says that up to 5.8 in a hundred may be. The level is
    nominal: at a true loss of 1 pp the bound errs in at most 5.3 % of runs of 150 questions and more; elsewhere its coverage can fall to 91 %. Raises ValueError
    for impossible counts or a level outside (0, 1).

    >>> round(lower_bound(0, 0, 50), 2), round(lower_bound(36, 48, 491), 2)
    (-5.82, -5.56)
    """
    skip_delta(beneficial, harmful, n)
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, got {level}")
    exact = beneficial / n - (1.0 if harmful == n else float(beta.ppf(level, harmful + 1, n - harmful)))
    z = float(norm.ppf(level))
    observed = (beneficial - harmful) / n
    if harmful == n:
        return -100.0
    tango = optimize.brentq(lambda d: _score(beneficial, harmful, n, d) - z, -1 + 1e-12, observed - 1e-12) if observed > -1 + 1e-9 else -1.0
    return 100 * max(-1.0, min(tango, exact))


def _score(beneficial: int, harmful: int, n: int, delta: float) -> float:
    """Tango's z of the observed counts against a true ``delta``; the rate of harm is its maximum likelihood value under ``delta``."""
    a, b, c = 2 * n, -beneficial - harmful + (2 * n - beneficial + harmful) * delta, -harmful * delta * (1 - delta)
    rate = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = n * (2 * rate + delta * (1 - delta))
    return (beneficial - harmful - n * delta) / math.sqrt(variance) if variance > 0 else math.inf


def auc_interval(chance: np.ndarray, happened: np.ndarray, folds: np.ndarray | None = None, level: float = 0.95) -> tuple[float, float, float]:
    """(auc, low, high): share of (happened, not) pairs in the right order, ties half; NaN without a pair, no interval with fewer than two of a kind.

    With ``folds`` only pairs within a fold count, each fold having its own model. Pairs across folds mislead: a fold with more harm was left out of a training
    set with less, so even constants, the training sets' rates, order such pairs wrongly, and the pooled share falls far below a half. The interval is
    DeLong's, summed over folds.

    >>> constants = np.array([0.2, 0.2, 0.6, 0.6]), np.array([True, True, True, False])
    >>> auc_interval(*constants)[0].__round__(3), auc_interval(*constants, folds=np.array([0, 0, 1, 1]))[0]
    (0.167, 0.5)
    """
    folds = np.zeros(len(chance), int) if folds is None else folds
    right, above, below = 0.0, [], []
    for fold in np.unique(folds):
        mine = folds == fold
        up, down = chance[mine & happened][:, None], chance[mine & ~happened][None, :]
        order = (up > down) + 0.5 * (up == down)
        right += order.sum()
        above += [(row, order.shape[1]) for row in order.sum(axis=1)]
        below += [(column, order.shape[0]) for column in order.sum(axis=0)]
    pairs = sum(n for _, n in above)
    if not pairs:
        return math.nan, math.nan, math.nan
    estimate = float(right / pairs)
    if len(above) < 2 or len(below) < 2:
        return estimate, math.nan, math.nan
    spread = sum(len(kind) / (len(kind) - 1) * sum((won - estimate * n) ** 2 for won, n in kind) for kind in (above, below))
    reach = float(norm.ppf((1 + level) / 2)) * math.sqrt(spread) / pairs
    return estimate, max(0.0, estimate - reach), min(1.0, estimate + reach)
