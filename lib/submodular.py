"""The greedies that maximise the four-term objective of document 000 (``submodular_objective``) under a token budget, and a bound on the optimum.

Gains are kept and brought up to date, not made anew at each step (``submodular_state``). A pick and its gain are the same to the last bit whichever of
the greedies made it. The better of two greedies, exact optima and sparse neighbours: ``submodular_best``, ``submodular_exact``, ``submodular_sparse``.
"""
from __future__ import annotations

import numpy as np

from lib.submodular_exact import exact
from lib.submodular_objective import PUBLISHED_ALPHA, PUBLISHED_WEIGHTS, Objective, check_costs, objective, terms_of, value
from lib.submodular_state import State
from lib.whole import check_budget

__all__ = ["LAZY_FROM", "PUBLISHED_ALPHA", "PUBLISHED_WEIGHTS", "TIE", "Objective", "Picks", "State", "check_costs", "exact", "fast_greedy", "gains", "greedy",
           "lazy_greedy", "objective", "terms_of", "upper_bound", "value"]

Picks = list[tuple[int, float]]
LAZY_FROM = 130  # candidates: below this a step costs less than what laziness saves
MOST_STEPS = 2_000_000  # candidates x budget up to which a bound fills the budget with whole snippets
TIE = 1e-12  # gains nearer than this, relative to the largest single gain, are equal: the last bits of a sum depend on the order of the candidates


def gains(f: Objective, chosen) -> np.ndarray:
    """Marginal gain of every candidate on top of ``chosen``. Shape (n,); 0 for those already chosen."""
    state, chosen = State(f), list(chosen)
    for i in chosen:
        state.add(i)
    out = state.renew().gains()
    out[chosen] = 0.0
    return out


def _check_cap(cap: int | None) -> None:
    if cap is not None and (cap < 1 or cap != int(cap)):
        raise ValueError(f"the snippet cap must be a whole number of 1 or more, or None for no cap, got {cap}")


def greedy(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None, start: State | None = None) -> Picks:
    """Cost-scaled greedy with the singleton fallback: [(candidate, marginal gain)] in the order picked.

    At each step the feasible candidate with the largest gain / cost**exponent; equal ratios go to the lower index, so pass
    candidates in first-stage order. exponent 1 is the published rule, 0 the unit-cost greedy. ``cap`` limits the picks; ``start`` is a memory of
    the empty set, where there is one. Source: document 000, section 4.2; the fallback is Lin and Bilmes (2010). What it guarantees: ``best_of_two``.
    """
    return _climb(f, check_costs(costs), budget, exponent, cap, start, lazy=False)


def lazy_greedy(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None, start: State | None = None) -> Picks:
    """The same picks as ``greedy``, with stale gains re-evaluated only when they reach the top (Minoux 1978)."""
    return _climb(f, check_costs(costs), budget, exponent, cap, start, lazy=True)


def fast_greedy(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None, start: State | None = None) -> Picks:
    """Whichever of ``greedy`` and ``lazy_greedy`` is faster for so many candidates; they pick the same."""
    return (greedy if len(f.relevance) < LAZY_FROM else lazy_greedy)(f, costs, budget, exponent, cap, start)


def _climb(f: Objective, costs: np.ndarray, budget: float, exponent: float, cap: int | None, start: State | None, lazy: bool) -> Picks:
    _check_cap(cap)
    if not (np.isfinite(exponent) and exponent >= 0):
        raise ValueError(f"the exponent of the costs must be a number of 0 or more, got {exponent}")
    if costs.shape != f.relevance.shape:
        raise ValueError(f"{len(f.relevance)} candidates need as many costs, got {costs.shape}")
    check_budget(budget)
    state, scale, left = (start.copy() if start else State(f).renew()), costs**exponent, budget
    gain = first = state.gains()
    free, picks = costs <= left, []
    slack = TIE * first[free].max(initial=0.0) / scale  # so that picks depend neither on the unit of the weights nor on that of the costs
    while free.any():
        if lazy and picks:
            gain = _renewed(state, scale, free, slack)
        elif picks:
            gain = state.renew().gains()
        ratio = np.where(free, gain / scale, -np.inf)
        top = int(ratio.argmax())
        if ratio[top] < 0:
            break
        best = int((ratio + slack >= ratio[top] - slack[top]).argmax())
        picks.append((best, float(gain[best])))
        left -= costs[best]
        if cap is not None and len(picks) == cap:
            break
        free &= costs <= left
        free[best] = False
        if free.any():
            state.add(best)
    return _fallback(f, costs <= budget, first, picks)


def _renewed(state: State, scale: np.ndarray, free: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Gains, up to date for every free candidate that could win or tie: below the best fresh ratio no stale one can, for gains only fall."""
    some = 1
    while True:
        gain = state.gains()
        ratio = np.where(free, gain / scale, -np.inf)
        fresh = np.where(state.fresh, ratio, -np.inf)
        top = int(fresh.argmax())
        stale = np.flatnonzero(~state.fresh & (ratio + 2 * slack >= fresh[top] - slack[top]) & free)
        if not len(stale):
            return gain
        state.renew(stale if len(stale) <= some else stale[np.argpartition(-ratio[stale], some - 1)[:some]])
        some *= 2


def _fallback(f: Objective, fits: np.ndarray, first: np.ndarray, picks: Picks) -> Picks:
    """``picks``, or the single candidate that is worth more than all of them together; ``first``: gains on top of nothing, (n,)."""
    if not picks:
        return picks
    single = np.where(fits, first, -1.0)
    most = single.max()
    if most * (1 + 1e-9) > sum(g for _, g in picks) and most * (1 - TIE) > value(f, [i for i, _ in picks]):  # the sum saves the second look in most cases
        best = int((single >= most * (1 - TIE)).argmax())
        return [(best, float(single[best]))]
    return picks


def upper_bound(f: Objective, costs, budget: float, chosen, whole: bool = False) -> float:
    """A bound on the optimum (no cap): F(T) plus the most that the gains left at T could add within the whole budget, least over prefixes T of ``chosen``.

    The budget is filled with parts of snippets, or, where ``whole`` and costs are whole numbers, with whole ones, which is tighter. Every order of ``chosen``
    gives a bound; the order picked is the tightest as a rule. Source: Leskovec et al. (2007), section 3.2, there at T = ``chosen`` alone.
    """
    check_budget(budget)
    costs, state, bounds = check_costs(costs), State(f), []
    fill = _whole_fill if whole and (costs == np.floor(costs)).all() and len(costs) * budget <= MOST_STEPS else _fill
    for k in range(len(chosen) + 1):
        gain = state.renew().gains()
        gain[state.chosen] = 0.0
        bounds.append(value(f, chosen[:k]) + fill(gain, costs, budget))
        if k < len(chosen):
            state.add(chosen[k])
    return min(bounds)


def _fill(gain: np.ndarray, costs: np.ndarray, budget: float) -> float:
    order = np.argsort(-gain / costs, kind="stable")
    room = np.clip(budget - np.concatenate([[0.0], np.cumsum(costs[order])[:-1]]), 0, costs[order])
    return float((gain[order] * room / costs[order]).sum())


def _whole_fill(gain: np.ndarray, costs: np.ndarray, budget: float) -> float:
    most = np.zeros(int(budget) + 1)  # by tokens spent: the most that the snippets looked at so far could add
    for i in np.flatnonzero((gain > 0) & (costs <= budget)):
        c = int(costs[i])
        most[c:] = np.maximum(most[c:], most[:len(most) - c] + gain[i])
    return float(most[-1])
