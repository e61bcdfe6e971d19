"""What counts as a number or a whole number where a parameter is checked: Python's and numpy's, never True, NaN or infinity."""
from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np


MOST = 2**63 - 1  # what a column of whole numbers holds
MOST_SEED = 2**32 - 1  # what scikit-learn takes as a seed


def is_whole(value: object, least: float = -math.inf) -> bool:
    """Whether ``value`` is a whole number of ``least`` or more that a table can hold; 3.0 and True are none.

    >>> is_whole(np.int64(3), 1), is_whole(10 ** 400, 1), is_whole(3.0, 1), is_whole(True, 0)
    (True, False, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and bool(least <= value <= MOST)


def is_number(value: object, least: float = -math.inf) -> bool:
    """Whether ``value`` is a number that a float can hold, of ``least`` or more.

    >>> is_number(0.5, 0), is_number(math.nan), is_number(10 ** 400), is_number("1")
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return math.isfinite(value) and bool(value >= least)
    except OverflowError:  # a whole number beyond every float
        return False


def check_whole(name: str, value: object, least: int, most: int | None = None, mend: str = "") -> None:
    """Raise ValueError unless ``value``, the parameter ``name``, is a whole number within its limits; ``mend`` ends the message."""
    if not is_whole(value, least) or (most is not None and value > most):
        raise ValueError(f"{name} must be a whole number {f'from {least} to {most}' if most is not None else f'of {least} or more'}, got {value!r}{mend}")


def check_budget(budget: object) -> None:
    """Raise ValueError unless ``budget`` (tokens) is a number of 0 or more; infinity is a budget that everything fits."""
    endless = isinstance(budget, Real) and not isinstance(budget, (bool, np.bool_)) and budget == math.inf
    if not endless and not is_number(budget, 0):
        raise ValueError(f"a token budget must be a number of 0 or more (infinity: everything fits), got {budget!r}; mend budget or budgets")


def check_seed(seed: object) -> None:
    """Raise ValueError unless ``seed`` is one that every generator takes; None would draw anew at each call.

    >>> check_seed(0)
    """
    check_whole("seed", seed, 0, MOST_SEED)


def check_draws(resamples: object, seed: object) -> None:
    """Raise ValueError unless ``resamples`` is a whole number of 1 or more and ``seed`` a seed."""
    check_whole("resamples", resamples, 1)
    check_seed(seed)
