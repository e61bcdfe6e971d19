"""Thresholds with a promise: the mean harm within a budget, or harm within it with high probability (SPEC 12, "Beyond").

A threshold chosen where the harm *looks* low enough is one that was lucky. Two remedies use calibration questions that the model has not seen. *Conformal risk
control* (Angelopoulos et al., 2022) adds one imaginary harmed question: over draws of calibration and new question, the **mean** harm keeps the budget.
The *high-probability* rule (Learn then Test with fixed-sequence testing, Angelopoulos et al., 2021; for this loss it equals the risk-controlling sets of Bates
et al., 2021, with Clopper and Pearson's bound) goes up from the lowest threshold and stops before the first whose harm might still be above the budget: the
chance that the **true** harm of its gate breaks the budget is at most ``delta``. Harm: a skip where the reranked list has the target and the fallback has not;
its rate is over all questions and never falls as the threshold rises, which both proofs need. Neither counts beneficial skips.
"""
from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import beta, binom

from lib.whole import is_number, is_whole

DELTA = 0.1  # chance that the high-probability rule may be wrong
METHODS = ("as seen", "conformal", "high probability")
SIZES = ["budget", "delta", "method", "harms", "questions"]


def threshold_of(p_harm: np.ndarray, harm: np.ndarray, budget: float, method: str, delta: float = DELTA) -> float:
    """The highest threshold (skip where p_harm <= it) that ``method`` grants for ``budget`` pp; -inf where it grants none.

    ``as seen``: harm on these very questions within the budget, no promise. Ties are skipped together. Raises ValueError for an unknown method, a budget
    outside [0, 100] or a delta outside (0, 1).

    >>> p, harm = np.arange(300) / 300, np.arange(300) >= 290
    >>> [round(threshold_of(p, harm, 1.0, m), 3) for m in METHODS]
    [0.973, 0.97, 0.963]
    """
    check_promise(budget, method, delta)
    if len(p_harm) != len(harm) or np.isnan(p_harm).any():
        raise ValueError(f"each calibration question needs a chance of harm and an outcome, got {len(p_harm)} chances, {int(np.isnan(p_harm).sum())} of them "
                         f"missing, and {len(harm)} outcomes; leave out questions of a gate that refused")
    n, order = len(p_harm), np.argsort(p_harm, kind="stable")
    if not n:
        return -math.inf
    p, harms = p_harm[order], np.cumsum(harm[order])
    ends = np.flatnonzero(np.append(p[1:] != p[:-1], True))
    granted = _granted(harms[ends], n, budget / 100, method, delta)
    first = int(np.argmin(granted)) if not granted.all() else len(ends)
    return float(p[ends[first - 1]]) if first else -math.inf


def check_promise(budget: float, method: str, delta: float) -> None:
    """Raise ValueError for a method, budget (pp) or chance to be wrong that is none."""
    if method not in METHODS or not is_number(budget, 0) or budget > 100 or not is_number(delta) or not 0 < delta < 1:
        raise ValueError(f"method must be one of {METHODS}, budget lie in [0, 100] pp, delta in (0, 1); got {method!r}, {budget!r} and {delta!r}")


def _granted(harms: np.ndarray, n: int, share: float, method: str, delta: float) -> np.ndarray:
    """Whether a threshold with ``harms`` harmed of ``n`` calibration questions passes; harms never fall, so what passes comes first."""
    if method == "as seen":
        return harms <= n * share + 1e-9
    if method == "conformal":
        return harms + 1 <= (n + 1) * share + 1e-9
    return binom.cdf(harms, n, share) <= delta  # the exact p-value of "the harm is above the budget"


def upper_harm(harms: int, n: int, delta: float = DELTA) -> float:
    """Clopper and Pearson's upper bound on the rate of harm, in pp, after ``harms`` among ``n``: the high-probability rule grants where it is in the budget.

    >>> round(upper_harm(0, 230), 4), round(upper_harm(0, 229), 4)
    (0.9961, 1.0005)
    """
    return 100.0 if harms >= n else 100 * float(beta.ppf(1 - delta, harms + 1, n - harms))


def questions_needed(budget: float, method: str, harms: int = 0, delta: float = DELTA) -> int:
    """The fewest calibration questions with which ``method`` grants ``budget`` pp though ``harms`` of them were harmed.

    >>> questions_needed(1.0, "high probability"), questions_needed(1.0, "conformal")
    (230, 99)
    """
    check_promise(budget, method, delta)
    if not 0 < budget < 100 or not is_whole(harms, 0):
        raise ValueError(f"a budget lies between 0 and 100 pp and harms are 0 or more, got {budget} and {harms}")
    low, high = harms, 2 * (harms + 1)
    while not _granted(np.array([harms]), high, budget / 100, method, delta)[0]:
        low, high = high, 2 * high
    while high - low > 1:  # n low is refused, n high granted
        middle = (low + high) // 2
        low, high = (low, middle) if _granted(np.array([harms]), middle, budget / 100, method, delta)[0] else (middle, high)
    return high


def sizes_table(budgets: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0), harms: tuple[int, ...] = (0, 1, 2, 5), delta: float = DELTA) -> pd.DataFrame:
    """Calibration questions needed, by budget (pp), method and harms seen. Below the number with 0 harms the rule can grant nothing, whatever the model."""
    rows = [(b, delta, m, h, questions_needed(b, m, h, delta)) for b in budgets for m in METHODS[1:] for h in harms]
    return pd.DataFrame(rows, columns=SIZES)
