"""Packing rules: which candidate snippets fit into the token budget. All see the same candidates, costs and relevance (SPEC 4).

A packer is ``pack(candidates, budget, **settings) -> [(index, marginal gain)]`` in the order picked; ``pack`` returns the snippet
ids in reading order. Candidates come in first-stage order, so a tie goes to the better first-stage rank.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lib import submodular

Picks = list[tuple[int, float]]
PUBLISHED_LAMBDA = 0.7


@dataclass(frozen=True)
class Candidates:
    """One question's snippets: ids (n), relevance (n,) [0, 1], costs (n,) tokens, terms (n, t) bool, similarity (n, n), document (n,),
    document rank (n,) from 1, position in the document (n,) from 0. Some arms alone look at the rest: ``holds_answer`` (n,) the gold arm,
    ``chance`` (n,) [0, 1], a learned guess that the answer stands there, the tuned one, ``surprise`` (n,) mean self-information of a token, nats,
    the compressing one."""

    qid: str
    ids: tuple[str, ...]
    relevance: np.ndarray
    costs: np.ndarray
    terms: np.ndarray
    similarity: np.ndarray
    document: np.ndarray
    doc_rank: np.ndarray
    position: np.ndarray
    holds_answer: np.ndarray | None = None
    chance: np.ndarray | None = None
    surprise: np.ndarray | None = None

    def __post_init__(self):
        n = len(self.ids)
        wrong = {k: len(v) for k, v in vars(self).items() if k not in ("qid", "ids") and v is not None and len(v) != n}
        if wrong:
            raise ValueError(f"question {self.qid!r} has {n} candidates, but {wrong} entries; give one a candidate")
        submodular.check_costs(self.costs)
        if not (np.asarray(self.relevance, float) >= 0).all():
            raise ValueError(f"relevance must be 0 or more and not NaN, got {np.min(self.relevance)} for question {self.qid!r}; mend the snippets table")


def fill(order, costs: np.ndarray, budget: float, stop: bool = False) -> Picks:
    """Take candidates in ``order`` while they fit; one that does not fit is passed over, or ends the packing where ``stop``."""
    submodular.check_costs(costs)
    picks, left = [], budget
    for i in order:
        if costs[i] <= left:
            picks.append((int(i), 0.0))
            left -= costs[i]
        elif stop:
            break
    return picks


def naive(c: Candidates, budget: float, stop: bool = False) -> Picks:
    """By relevance until the budget is hit. Source: document 000, section 4.3."""
    return [(i, float(c.relevance[i])) for i, _ in fill(np.argsort(-c.relevance, kind="stable"), c.costs, budget, stop)]


def focused(c: Candidates, budget: float, stop: bool = False) -> Picks:
    """Prefers new query terms, then a document not yet used, then relevance; the budget is checked after the pick, length is ignored.

    Source: document 000, section 4.3 (the order of the three preferences is our reading).
    """
    left, used, covered = budget, set(), np.zeros(c.terms.shape[1], bool)
    rest, picks = list(range(len(c.ids))), []
    while rest:
        new = {i: int((c.terms[i] & ~covered).sum()) for i in rest}
        best = max(rest, key=lambda i: (new[i], c.document[i] not in used, c.relevance[i], -i))
        rest.remove(best)
        if c.costs[best] > left:
            if stop:
                break
            continue
        picks.append((best, float(new[best])))
        covered |= c.terms[best]
        used.add(c.document[best])
        left -= c.costs[best]
    return picks


def mmr(c: Candidates, budget: float, lam: float = PUBLISHED_LAMBDA, stop: bool = False) -> Picks:
    """Maximal marginal relevance, lambda 0.7: relevance minus the nearest chosen neighbour, both in [0, 1].

    lam 1 is the relevance order; the first pick is always the most relevant. Raises ValueError for lam outside [0, 1]. Source: Carbonell and Goldstein (1998).
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"MMR's lambda must lie in [0, 1] (1: relevance alone), got {lam}")
    similarity = np.clip(c.similarity, 0, 1)
    left, rest, picks = budget, list(range(len(c.ids))), []
    nearest = np.zeros(len(c.ids))
    while rest:
        score = lam * c.relevance - (1 - lam) * nearest
        best = max(rest, key=lambda i: (score[i], 0 if picks else c.relevance[i], -i))  # lam 0 sees no relevance: it decides the first
        rest.remove(best)
        if c.costs[best] > left:
            if stop:
                break
            continue
        picks.append((best, float(score[best])))
        nearest = np.maximum(nearest, similarity[:, best])
        left -= c.costs[best]
    return picks


def objective(c: Candidates, weights=submodular.PUBLISHED_WEIGHTS, alpha: float = submodular.PUBLISHED_ALPHA) -> submodular.Objective:
    """The four-term objective over this question's candidates."""
    return submodular.objective(c.relevance, c.terms, c.similarity, c.document, weights, alpha)


def submod(c: Candidates, budget: float, exponent: float = 1.0, cap: int | None = None, weights=submodular.PUBLISHED_WEIGHTS,
           alpha: float = submodular.PUBLISHED_ALPHA) -> Picks:
    """Cost-scaled greedy on the four-term objective with the singleton fallback. Source: document 000, section 4.2."""
    return submodular.greedy(objective(c, weights, alpha), c.costs, budget, exponent, cap)


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


PACKERS: dict[str, Callable[..., Picks]] = {f.__name__: f for f in (naive, focused, mmr, submod, topk, random, gold)}


def reading_order(c: Candidates, picks: Picks, order: str = "rank") -> list[int]:
    """Positions of ``picks`` as the reader sees them: ``rank`` (document rank, then place in it) or ``picked``."""
    if order == "picked":
        return list(range(len(picks)))
    if order == "rank":
        return sorted(range(len(picks)), key=lambda k: (c.doc_rank[picks[k][0]], c.position[picks[k][0]]))
    raise ValueError(f"order must be 'rank' or 'picked', got {order!r}")


def pack(c: Candidates, policy: str, budget: float, order: str = "rank", **settings) -> Picks:
    """Run one packing rule: [(candidate index, marginal gain)] in reading order, within ``budget`` tokens."""
    if policy not in PACKERS:
        raise ValueError(f"no packer is called {policy!r}; there are {', '.join(PACKERS)}")
    picks = PACKERS[policy](c, budget, **settings) if c.ids else []
    if sum(c.costs[i] for i, _ in picks) > budget:
        raise AssertionError(f"{policy} went over its budget of {budget} on question {c.qid}")
    return [picks[k] for k in reading_order(c, picks, order)]
