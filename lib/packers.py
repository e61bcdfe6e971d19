"""Packing rules: which candidate snippets fit into the token budget. All see the same candidates, costs and relevance (SPEC 4).

A packer is ``pack(candidates, budget, **settings) -> [(index, marginal gain)]`` in the order picked; ``pack`` returns the snippet
ids in reading order. Candidates come in first-stage order, so a tie goes to the better first-stage rank.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from lib import submodular, submodular_best
from lib.candidates import Candidates, Picks
from lib.rivals import adagres, selective
from lib.tuned import tuned
from lib.whole import check_budget

PUBLISHED_LAMBDA = 0.7
GREEDIES: dict[str, Callable[..., Picks]] = {"ratio": submodular.fast_greedy, "both": submodular_best.best_of_two}


def fill(order, costs: np.ndarray, budget: float, stop: bool = False) -> Picks:
    """Take candidates in ``order`` while they fit; one that does not fit is passed over, or ends the packing where ``stop``."""
    submodular.check_costs(costs)
    check_budget(budget)
    picks, left = [], budget
    for i in order:
        if costs[i] <= left:
            picks.append((int(i), 0.0))
            left -= costs[i]
        elif stop:
            break
    return picks


def step_by_step(costs: np.ndarray, budget: float, stop: bool, best: Callable[[np.ndarray], tuple[int, float]], picked: Callable[[int], None]) -> Picks:
    """Ask for the ``best`` of those left, take it while it fits, tell ``picked``. One that does not fit is passed over, or ends the packing where ``stop``.

    What does not fit now never will, so without ``stop`` only what fits is asked about.
    """
    costs = submodular.check_costs(costs)
    check_budget(budget)
    free, room, picks = np.ones(len(costs), bool), budget, []
    while True:
        left = np.flatnonzero(free if stop else free & (costs <= room))
        if not len(left):
            return picks
        i, gain = best(left)
        if costs[i] > room:
            return picks
        picks.append((i, gain))
        free[i] = False
        room -= costs[i]
        picked(i)


def naive(c: Candidates, budget: float, stop: bool = False) -> Picks:
    """By relevance until the budget is hit. Source: document 000, section 4.3."""
    return [(i, float(c.relevance[i])) for i, _ in fill(np.argsort(-c.relevance, kind="stable"), c.costs, budget, stop)]


def focused(c: Candidates, budget: float, stop: bool = False) -> Picks:
    """Prefers new query terms, then a document not yet used, then relevance; the budget is checked after the pick, length is ignored.

    Source: document 000, section 4.3 (the order of the three preferences is our reading).
    """
    fresh, covered, new = np.ones(len(c.ids), bool), np.zeros(c.terms.shape[1], bool), np.count_nonzero(c.terms, axis=1)

    def best(left: np.ndarray) -> tuple[int, float]:
        likely = left[new[left] == new[left].max()]
        likely = likely[fresh[likely]] if fresh[likely].any() else likely
        i = likely[c.relevance[likely].argmax()]
        return int(i), float(new[i])

    def picked(i: int) -> None:
        covered[:] |= c.terms[i]
        new[:] = np.count_nonzero(c.terms & ~covered, axis=1)
        fresh[c.document == c.document[i]] = False

    return step_by_step(c.costs, budget, stop, best, picked)


def mmr(c: Candidates, budget: float, lam: float = PUBLISHED_LAMBDA, stop: bool = False) -> Picks:
    """Maximal marginal relevance, lambda 0.7: relevance minus the nearest chosen neighbour, both in [0, 1].

    lam 1 is the relevance order; the first pick is always the most relevant. Raises ValueError for lam outside [0, 1]. Source: Carbonell and Goldstein (1998).
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"MMR's lambda must lie in [0, 1] (1: relevance alone), got {lam}")
    relevance, nearest, first = np.asarray(c.relevance, float), np.zeros(len(c.ids)), True

    def best(left: np.ndarray) -> tuple[int, float]:
        score = lam * relevance[left] - (1 - lam) * nearest[left]
        likely = np.flatnonzero(score == score.max())
        k = likely[relevance[left[likely]].argmax()] if first else likely[0]  # lam 0 sees no relevance: it decides the first
        return int(left[k]), float(score[k])

    def picked(i: int) -> None:
        nonlocal first
        first = False
        np.maximum(nearest, np.clip(c.similarity[:, i], 0, 1), out=nearest)

    return step_by_step(c.costs, budget, stop, best, picked)


def objective(c: Candidates, weights=submodular.PUBLISHED_WEIGHTS, alpha: float = submodular.PUBLISHED_ALPHA) -> submodular.Objective:
    """The four-term objective over this question's candidates."""
    return submodular.objective(c.relevance, c.terms, c.similarity, c.document, weights, alpha)


def submod(c: Candidates, budget: float, exponent: float = 1.0, cap: int | None = None, weights=submodular.PUBLISHED_WEIGHTS,
           alpha: float = submodular.PUBLISHED_ALPHA, greedy: str = "ratio") -> Picks:
    """Cost-scaled greedy on the four-term objective with the singleton fallback; ``greedy`` both: or the unit-cost one, if that has the higher F.

    Raises ValueError for another ``greedy``. Source: document 000, section 4.2 (``ratio``); what is proved: ``submodular_best``.
    """
    if greedy not in GREEDIES:
        raise ValueError(f"greedy must be one of {', '.join(GREEDIES)}, got {greedy!r}")
    return GREEDIES[greedy](objective(c, weights, alpha), c.costs, budget, exponent, cap)


def topk(c: Candidates, budget: float) -> Picks:
    """Documents in first-stage order, sentences in theirs, cut at the first snippet that does not fit: the field's default."""
    return fill(np.lexsort((c.position, c.doc_rank)), c.costs, budget, stop=True)


def random(c: Candidates, budget: float, seed: int = 0) -> Picks:
    """Candidates in an order drawn from (seed, question id): the floor."""
    digest = hashlib.sha256(f"random:{seed}:{c.qid}".encode()).digest()
    return fill(np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(len(c.ids)), c.costs, budget)


def gold(c: Candidates, budget: float) -> Picks:
    """Gold passages only, snippets that hold the answer first: the reader's ceiling within the budget."""
    if c.holds_answer is None:
        raise ValueError("the gold arm needs candidates from gold passages (pool_id 'gold') with holds_answer set")
    return fill(np.lexsort((c.position, c.doc_rank, ~c.holds_answer)), c.costs, budget)


PACKERS: dict[str, Callable[..., Picks]] = {f.__name__: f for f in (naive, focused, mmr, submod, tuned, topk, random, gold, adagres, selective)}


def reading_order(c: Candidates, picks: Picks, order: str = "rank") -> list[int]:
    """Positions of ``picks`` as the reader sees them: ``rank`` (document rank, then place in it) or ``picked``."""
    if order == "picked":
        return list(range(len(picks)))
    if order == "rank":
        return sorted(range(len(picks)), key=lambda k: (c.doc_rank[picks[k][0]], c.position[picks[k][0]]))
    raise ValueError(f"order must be 'rank' or 'picked', got {order!r}")


def picked(c: Candidates, policy: str, budget: float, **settings) -> Picks:
    """Run one packing rule: [(candidate index, marginal gain)] in the order picked, within ``budget`` tokens (0 or more; infinity: all that fits the rule)."""
    check_budget(budget)
    if policy not in PACKERS:
        raise ValueError(f"no packer is called {policy!r}; there are {', '.join(PACKERS)}")
    picks = PACKERS[policy](c, budget, **settings) if c.ids else []
    if sum(c.costs[i] for i, _ in picks) > budget:
        raise AssertionError(f"{policy} went over its budget of {budget} on question {c.qid}")
    return picks


def pack(c: Candidates, policy: str, budget: float, order: str = "rank", **settings) -> Picks:
    """What the rule ``picked``, in reading order."""
    picks = picked(c, policy, budget, **settings)
    return [picks[k] for k in reading_order(c, picks, order)]
