"""The best feasible set of a small instance, by looking at every one."""
from __future__ import annotations

import numpy as np

from lib.submodular_objective import Objective, check_costs, value
from lib.whole import check_budget

MOST = 15  # candidates: 2**15 sets
CLOSE = 1e-9  # values nearer than this to the best, relative to it, are compared as ``value`` makes them


def exact(f: Objective, costs, budget: float) -> tuple[list[int], float]:
    """The best feasible set and its F, by enumeration; at most 15 candidates (2**15 sets). Of equals the smallest, then the one of better ranks.

    >>> from lib.submodular_objective import objective
    >>> exact(objective([1, 9], np.zeros((2, 0)), np.eye(2), [0, 1], (1, 0, 0, 0)), [1, 10], 10)
    ([1], 0.9)
    """
    check_budget(budget)
    costs = check_costs(costs)
    if len(costs) > MOST:
        raise ValueError(f"exact enumeration takes at most {MOST} candidates, got {len(costs)}; use greedy and its certificate")
    sets, worth = [[]], np.zeros(1)
    for chosen, values in _levels(f, costs, budget):
        near = np.flatnonzero(values >= max(worth.max(), values.max()) * (1 - CLOSE))
        sets, worth = sets + chosen[near].tolist(), np.append(worth, values[near])
    close = [s for s, v in zip(sets, worth) if v >= worth.max() * (1 - CLOSE)]
    return max(((s, value(f, s)) for s in close), key=lambda pair: pair[1])


def _levels(f: Objective, costs: np.ndarray, budget: float):
    """(sets (m, k), their F (m,)) for k = 1, 2 ..., each level in the order of the indices: the sets of one more candidate than those that fit."""
    n, similarity = len(costs), np.asarray(f.similarity.T, float)
    documents = np.eye(f.document.max(initial=-1) + 1)[f.document] * f.relevance[:, None]
    weights = np.divide(f.weights, f.scales, out=np.zeros(4), where=f.scales > 0)
    chosen, spent = np.zeros((1, 0), int), np.zeros(1)
    relevance, terms, held, mass = np.zeros(1), np.zeros((1, f.terms.shape[1]), bool), np.zeros((1, n)), np.zeros((1, documents.shape[1]))
    while True:
        last = chosen[:, -1] if chosen.shape[1] else np.full(1, -1)
        old, new = np.nonzero((np.arange(n) > last[:, None]) & (spent[:, None] + costs <= budget))
        if not len(old):
            return
        chosen, spent, relevance = np.column_stack([chosen[old], new]), spent[old] + costs[new], relevance[old] + f.relevance[new]
        terms, held, mass = terms[old] | f.terms[new], held[old] + similarity[new], mass[old] + documents[new]
        worth = [relevance, terms.sum(axis=1), np.minimum(held, f.saturation).sum(axis=1), np.sqrt(mass).sum(axis=1)]
        yield chosen, weights @ np.array(worth, float)
