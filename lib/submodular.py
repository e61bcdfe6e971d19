"""The four-term objective of document 000, section 4.1, and the greedies that maximise it under a token budget.

F(S) = w_rel Rel(S) + w_qry QueryCov(S) + w_cov Repr(S) + w_div Div(S), each term divided by its value on the whole candidate
set (0/0 = 0), so every term and, for weights that sum to w, F lies in [0, w].
"""
from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

PUBLISHED_WEIGHTS = (1.0, 0.5, 0.4, 0.3)  # relevance, query coverage, saturated coverage, document diversity
PUBLISHED_ALPHA = 0.3
TIE = 1e-12  # ratios nearer than this are equal: the last bits of a sum depend on the order of the candidates


@dataclass(frozen=True)
class Objective:
    """Arrays over n candidates: relevance (n,), terms (n, t) bool, similarity (n, n) in [0, 1], document (n,) int, scales (4,)."""

    relevance: np.ndarray
    terms: np.ndarray
    similarity: np.ndarray
    document: np.ndarray
    saturation: np.ndarray
    weights: np.ndarray
    scales: np.ndarray


def objective(relevance, terms, similarity, document, weights=PUBLISHED_WEIGHTS, alpha: float = PUBLISHED_ALPHA) -> Objective:
    """Build F over n candidates; raises ValueError for what would break monotonicity: negative or NaN relevance, weights, alpha.

    Similarities are clipped at 0: a negative cosine would break monotonicity. Source: document 000, section 4.1; SPEC 4.

    >>> f = objective([.5, .5], np.ones((2, 1), bool), np.eye(2), [0, 1])
    >>> round(value(f, [0, 1]), 6)
    2.2
    """
    relevance = np.asarray(relevance, float)
    if np.isnan(relevance).any() or (relevance < 0).any():
        raise ValueError(f"relevance must be 0 or more, got {relevance.min()} (or NaN); mend it in the snippets table")
    similarity, n = np.clip(np.asarray(similarity, float), 0.0, None), len(relevance)
    if similarity.shape != (n, n) or np.isnan(similarity).any() or len(terms) != n or len(document) != n:
        raise ValueError(f"{n} candidates need {n} term rows, {n} documents and {n} x {n} similarities without NaN, got {len(terms)}, "
                         f"{len(document)} and {similarity.shape} with {int(np.isnan(similarity).sum())} NaN")
    if len(weights) != 4 or not all(w >= 0 for w in [*weights, alpha]):
        raise ValueError(f"F needs four weights and an alpha of 0 or more (else it is not monotone), got {list(weights)} and {alpha}")
    document = np.unique(np.asarray(document), return_inverse=True)[1]
    saturation = alpha * similarity.sum(axis=1)
    raw = Objective(relevance, np.asarray(terms, bool), similarity, document, saturation, np.asarray(weights, float), np.ones(4))
    whole = terms_of(raw, range(len(relevance)))
    return Objective(*[getattr(raw, f) for f in list(Objective.__dataclass_fields__)[:-1]], whole)


def terms_of(f: Objective, chosen) -> np.ndarray:
    """The four terms of the set ``chosen`` (indices), divided by ``f.scales``; 0 where the scale is 0. Shape (4,)."""
    chosen = list(chosen)
    masses = np.bincount(f.document[chosen], f.relevance[chosen]) if chosen else np.zeros(1)
    covered = np.minimum(f.similarity[:, chosen].sum(axis=1), f.saturation).sum()
    raw = np.array([f.relevance[chosen].sum(), f.terms[chosen].any(axis=0).sum(), covered, np.sqrt(masses).sum()], float)
    return np.divide(raw, f.scales, out=np.zeros(4), where=f.scales > 0)


def value(f: Objective, chosen) -> float:
    """F of the set ``chosen``."""
    return float(f.weights @ terms_of(f, chosen))


def gains(f: Objective, chosen) -> np.ndarray:
    """Marginal gain of every candidate on top of ``chosen``, in one pass. Shape (n,); 0 for those already chosen."""
    chosen = list(chosen)
    mass = np.zeros(f.document.max(initial=-1) + 1)
    np.add.at(mass, f.document[chosen], f.relevance[chosen])
    held = f.similarity[:, chosen].sum(axis=1)
    new_cover = np.minimum(held[:, None] + f.similarity, f.saturation[:, None]) - np.minimum(held, f.saturation)[:, None]
    new_terms = f.terms[:, ~f.terms[chosen].any(axis=0)].sum(axis=1)
    before = mass[f.document]
    raw = np.stack([f.relevance, new_terms, new_cover.sum(axis=0), np.sqrt(before + f.relevance) - np.sqrt(before)])
    scaled = np.divide(raw, f.scales[:, None], out=np.zeros_like(raw), where=f.scales[:, None] > 0)
    out = f.weights @ scaled
    out[chosen] = 0.0
    return out


def check_costs(costs) -> np.ndarray:
    """Costs as floats; raises ValueError naming the first candidate that costs nothing."""
    costs = np.asarray(costs, float)
    if (costs <= 0).any() or np.isnan(costs).any():
        at = int(np.flatnonzero(~(costs > 0))[0])
        raise ValueError(f"every snippet must cost at least one token, but candidate {at} costs {costs[at]}; drop empty snippets first")
    return costs


def _check_cap(cap: int | None) -> None:
    if cap is not None and cap < 1:
        raise ValueError(f"the snippet cap must be 1 or more, or None for no cap, got {cap}")


def greedy(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None) -> list[tuple[int, float]]:
    """Cost-scaled greedy with the singleton fallback: [(candidate, marginal gain)] in the order picked.

    At each step the feasible candidate with the largest gain / cost**exponent; equal ratios go to the lower index, so pass
    candidates in first-stage order. exponent 1 is the published rule, 0 the unit-cost greedy. ``cap`` limits the picks.
    Source: document 000, section 4.2; the fallback is Lin and Bilmes (2010), the bound Khuller, Moss and Naor (1999).
    """
    costs, n = check_costs(costs), len(f.relevance)
    _check_cap(cap)
    chosen: list[int] = []
    picks: list[tuple[int, float]] = []
    left = budget
    while cap is None or len(chosen) < cap:
        gain = gains(f, chosen)
        ratio = np.where(costs <= left, gain / costs**exponent, -1.0)
        ratio[chosen] = -1.0
        if n == 0 or ratio.max() < 0:
            break
        best = int(np.flatnonzero(ratio >= ratio.max() - TIE)[0])
        chosen.append(best)
        picks.append((best, float(gain[best])))
        left -= costs[best]
    return _fallback(f, costs, budget, picks)


def _fallback(f: Objective, costs: np.ndarray, budget: float, picks: list[tuple[int, float]]) -> list[tuple[int, float]]:
    single = np.where(costs <= budget, gains(f, []), -1.0)
    if len(single) and single.max() > value(f, [i for i, _ in picks]) + TIE:
        best = int(np.flatnonzero(single >= single.max() - TIE)[0])
        return [(best, float(single[best]))]
    return picks


def lazy_greedy(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None) -> list[tuple[int, float]]:
    """The same picks as ``greedy``, with stale gains re-evaluated only when they reach the top (Minoux 1978)."""
    import heapq

    costs = check_costs(costs)
    _check_cap(cap)
    heap = [(-g / c**exponent, i) for i, (g, c) in enumerate(zip(gains(f, []), costs))]
    heapq.heapify(heap)
    picks: list[tuple[int, float]] = []
    left = budget
    while cap is None or len(picks) < cap:
        chosen, fresh = [i for i, _ in picks], []
        # gains only fall, so below the best fresh ratio no stale one can win or tie
        while heap and (not fresh or -heap[0][0] >= max(fresh)[0] - 2 * TIE):
            _, i = heapq.heappop(heap)
            if costs[i] <= left:
                gain = value(f, [*chosen, i]) - value(f, chosen)
                fresh.append((gain / costs[i] ** exponent, i, gain))
        if not fresh:
            break
        best = min(i for ratio, i, _ in fresh if ratio >= max(fresh)[0] - TIE)
        for ratio, i, gain in fresh:
            if i == best:
                picks.append((i, gain))
            else:
                heapq.heappush(heap, (-ratio, i))
        left -= costs[best]
    return _fallback(f, costs, budget, picks)


def exact(f: Objective, costs, budget: float) -> tuple[list[int], float]:
    """The best feasible set by enumeration; at most 15 candidates (2**15 sets)."""
    costs = check_costs(costs)
    if len(costs) > 15:
        raise ValueError(f"exact enumeration takes at most 15 candidates, got {len(costs)}; use greedy and its certificate")
    sets = (s for k in range(len(costs) + 1) for s in itertools.combinations(range(len(costs)), k) if costs[list(s)].sum() <= budget)
    return max(((list(s), value(f, s)) for s in sets), key=lambda pair: pair[1])


def upper_bound(f: Objective, costs, budget: float, chosen) -> float:
    """A bound on the optimum (no cap): F(T) plus the fractional fill of the budget with the gains left at T, least over prefixes T."""
    costs = check_costs(costs)
    bounds = []
    for k in range(len(chosen) + 1):
        gain = gains(f, chosen[:k])
        order = np.argsort(-gain / costs, kind="stable")
        room = np.clip(budget - np.concatenate([[0.0], np.cumsum(costs[order])[:-1]]), 0, costs[order])
        bounds.append(value(f, chosen[:k]) + float((gain[order] * room / costs[order]).sum()))
    return min(bounds)
