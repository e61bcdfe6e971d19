"""Where to put the threshold: the coverage rule and the loss budget, on questions of the training fold alone (document 002, sections 3.3 and 3.4).

Both rules skip the questions whose calibrated chance of harm is lowest, and both want to skip as many as they may. *Coverage*: the skips may lower the training
fold's coverage by ``points``. *Budget*: their chances of harm may add up to ``points`` a hundred questions. Equal chances are skipped together or not at all.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lib.gate import skip_delta, within
from lib.whole import is_number


class Rule(NamedTuple):
    """``kind``: coverage or budget; ``points``: percentage points that may be lost."""

    name: str
    kind: str
    points: float


RULES = (Rule("coverage", "coverage", 1.0), Rule("budget 0.5", "budget", 0.5), Rule("budget 1", "budget", 1.0), Rule("budget 2", "budget", 2.0))


class Cut(NamedTuple):
    """A threshold (skip where p_harm <= threshold) and what it promises: share skipped, delta and expected harm in pp, harmful and beneficial skips."""

    threshold: float
    skip: float
    delta: float
    expected: float
    harmful: int
    beneficial: int


NOWHERE = Cut(-np.inf, 0.0, 0.0, 0.0, 0, 0)


def harmful(fallback: np.ndarray, rerank: np.ndarray) -> np.ndarray:
    """Questions that a skip would harm: the reranked list has the target, the fallback has not."""
    return rerank & ~fallback


def check_rule(rule: Rule) -> None:
    """Raise ValueError for what is no Rule, is of no known kind, or may lose less than nothing."""
    if not isinstance(rule, Rule) or rule.kind not in ("coverage", "budget") or not is_number(rule.points, 0):
        raise ValueError(f"a rule is of kind coverage or budget with points >= 0, got {rule}")


def cut(p_harm: np.ndarray, fallback: np.ndarray, rerank: np.ndarray, rule: Rule) -> Cut:
    """The threshold that skips most within ``rule``; NOWHERE if none skips anything. ``fallback``, ``rerank``: hits (n,), bool.

    >>> hit = np.array([True, True, False, False])
    >>> cut(np.array([0.1, 0.2, 0.3, 0.9]), hit, np.array([True, False, True, True]), Rule("even", "coverage", 0.0))[:3]
    (0.3, 0.75, 0.0)
    """
    n, order = len(p_harm), np.argsort(p_harm, kind="stable")
    p, harm, gain = p_harm[order], np.cumsum(harmful(fallback, rerank)[order]), np.cumsum((fallback & ~rerank)[order])
    ends = np.flatnonzero(np.append(p[1:] != p[:-1], True)) if n else np.zeros(0, int)
    expected = 100 * np.cumsum(p)[ends] / max(n, 1)
    # in the very arithmetic of lib.gate: 4 of 400 is exactly one point
    lost = 100 * (gain[ends] - harm[ends]) / max(n, 1) if rule.kind == "coverage" else -expected
    allowed = np.flatnonzero(lost >= -rule.points)
    if not len(allowed):
        return NOWHERE
    at = allowed[-1]
    end = ends[at]
    return Cut(float(p[end]), float(end + 1) / n, skip_delta(int(gain[end]), int(harm[end]), n), float(expected[at]), int(harm[end]), int(gain[end]))


def everywhere(fallback: np.ndarray, rerank: np.ndarray, rule: Rule) -> Cut:
    """Always skip, if the rule allows it on these questions; else NOWHERE. Its one chance of harm is the rate of harm."""
    n, harm, gain = len(rerank), int(harmful(fallback, rerank).sum()), int((fallback & ~rerank).sum())
    delta, expected = skip_delta(gain, harm, n), 100 * harm / n
    allowed = within(delta if rule.kind == "coverage" else -expected, rule.points)
    return Cut(np.inf, 1.0, delta, expected, harm, gain) if allowed else NOWHERE
