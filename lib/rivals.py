"""Rivals of submodular packing from elsewhere, over the same candidates, costs and budget (SPEC 4).

``adagres``: relevance minus an adaptive penalty on redundancy (Peng, Wang, Long and Sheng, "AdaGReS", arXiv 2512.25052, 2025; the formula
of beta is that of the authors' repository orderer0001/AdaGReS). ``selective``: what a small language model finds predictable is dropped
(Li, Dong, Guerin and Lin, "Selective Context", EMNLP 2023). The third rival, a cross-encoder as relevance, is a setting of the four
published packers, see ``lib.rivals_relevance``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lib.submodular import check_costs
from lib.whole import check_budget

if TYPE_CHECKING:
    from lib.candidates import Candidates, Picks

LEAST_BETA = 0.01  # of the authors' code, where beta has no value: a budget of one snippet, or candidates that share nothing


def adaptive_beta(relevance: np.ndarray, similarity: np.ndarray, costs: np.ndarray, budget: float) -> float:
    """AdaGReS's weight of redundancy: mean relevance over (k - 1) / 2 times the mean similarity of two candidates, k = budget // mean cost.

    With it, relevance and redundancy of a typical full pack weigh alike. 0.01 where k is 1 or nothing is similar; 0, the limit, for an endless budget.

    >>> adaptive_beta(np.array([.4, .6]), np.array([[1, .5], [.5, 1]]), np.array([10, 10]), 30)
    1.0
    """
    n = len(relevance)
    k = budget // np.mean(costs) if n and budget < np.inf else budget if n else 0
    shared = (np.sum(similarity) - np.trace(similarity)) / (n * (n - 1)) if n > 1 else 0.0
    return float(np.mean(relevance) / ((k - 1) / 2 * shared)) if k > 1 and shared > 0 else LEAST_BETA


def adagres(c: Candidates, budget: float, beta: float | None = None, stop: bool = False) -> Picks:
    """Greedy on sum of relevance minus beta times the sum of pairwise similarities among the chosen, while the budget lasts.

    ``beta`` None: from the instance. What we fixed: relevance is the setting's, the same that every packer sees (the paper: the cosine with the
    question, setting relevance dense); all candidates of the pool take part; snippets are taken while any fits, as the budget here is counted in
    tokens and not in snippets; ``stop`` True ends where no snippet gains. Gains are not divided by length. Ties: better first-stage rank.
    Raises ValueError for a negative or NaN beta.
    """
    check_budget(budget)
    similarity, costs = np.clip(np.asarray(c.similarity, float), 0, 1), check_costs(c.costs)
    beta = adaptive_beta(c.relevance, similarity, costs, budget) if beta is None else beta
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta, the weight of redundancy, must be 0 or more, got {beta}; give None to take it from the candidates")
    gain, free, room, picks = np.asarray(c.relevance, float).copy(), np.ones(len(costs), bool), budget, []
    while len(left := np.flatnonzero(free & (costs <= room))):
        i = int(left[gain[left].argmax()])
        if stop and gain[i] <= 0:
            break
        picks.append((i, float(gain[i])))
        free[i] = False
        room -= costs[i]
        gain -= beta * similarity[:, i]
    return picks


def selective(c: Candidates, budget: float, stop: bool = False) -> Picks:
    """Snippets by their mean self-information, highest first: those that a language model finds predictable are dropped until the rest fits.

    What we fixed: units are our snippets (the paper: phrases, sentences or tokens), so that a kept unit can be read; the budget decides how many stay
    (the paper: a percentile), and one that does not fit is passed over, as by the other packers (``stop`` True: it ends the packing). The question
    plays no part, as in the paper. Ties: better first-stage rank. Raises ValueError where ``c.surprise`` is None or NaN.
    """
    if c.surprise is None:
        raise ValueError(f"packer 'selective' needs the mean self-information of each candidate, and question {c.qid!r} has none: "
                         "fill Candidates.surprise with lib.rivals_surprise.surprises(...)")
    surprise = np.asarray(c.surprise, float)
    if np.isnan(surprise).any():
        raise ValueError(f"a candidate of question {c.qid!r} has no self-information; score its passage first (lib.rivals_surprise)")
    from lib.packers import fill  # packers registers this rule, so it cannot be imported above

    return [(i, float(surprise[i])) for i, _ in fill(np.argsort(-surprise, kind="stable"), c.costs, budget, stop)]
