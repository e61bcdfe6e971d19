"""What a gate that skips a costly step is worth: the identity, the one-point rule, and the random gate (SPEC 12; document 002)."""
from __future__ import annotations

from collections.abc import Sequence


def skip_delta(beneficial: int, harmful: int, n: int) -> float:
    """Change of the mean when some questions are skipped, in percentage points: (beneficial - harmful) / n.

    A skip is beneficial where the fallback is right and the costly step is not, harmful the other way round. Raises ValueError for n < 1.

    >>> round(skip_delta(36, 48, 491), 2)
    -2.44
    """
    if n < 1 or beneficial < 0 or harmful < 0 or beneficial + harmful > n:
        raise ValueError(f"need 0 <= beneficial + harmful <= n and n >= 1, got {beneficial}, {harmful}, {n}")
    return 100 * (beneficial - harmful) / n


def within(delta: float, budget: float = 1.0) -> bool:
    """Whether a delta (percentage points, unrounded) loses no more than ``budget`` points.

    >>> within(-0.9999), within(-1.0001)
    (True, False)
    """
    return delta >= -budget


def random_gate_delta(skip_rates: Sequence[float], fallback: Sequence[float], costly: Sequence[float], sizes: Sequence[int]) -> float:
    """Expected delta of skipping at random, in the units of the scores: per outer fold skip rate x (always fallback - always costly), each with
    that fold's own fallback and rate, then weighted by fold size. Raises ValueError for unequal lengths.

    >>> round(random_gate_delta([0.5, 0.25], [0.6, 0.4], [0.7, 0.8], [10, 30]), 4)
    -0.0875
    """
    if not len(skip_rates) == len(fallback) == len(costly) == len(sizes) or not sum(sizes):
        raise ValueError(f"one skip rate, fallback, costly mean and size a fold, got {len(skip_rates)}, {len(fallback)}, {len(costly)}, {len(sizes)}")
    return sum(n * s * (f - c) for s, f, c, n in zip(skip_rates, fallback, costly, sizes)) / sum(sizes)
