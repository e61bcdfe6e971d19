"""The better of two greedies, what is proved about it, and a certificate for one pack.

Proved for monotone F with diminishing returns and a token budget alone, no cap; shares of the best feasible F:

- cost-scaled greedy (exponent 1) + best single snippet: (1 - 1/e)/2 = 0.316 in Khuller, Moss and Naor (1999), for coverage. They, and Lin and Bilmes (2010) for
  any such F, state 1 - 1/sqrt(e) = 0.393; Tang et al. (2021, "Revisiting Modified Greedy Algorithm ...") found a gap in the proof of 1999 and proved 0.405.
  Kulik, Schwartz and Shachnai (2021): more than 0.4295 cannot be proved for it.
- the better of the unit-cost (exponent 0) and the cost-scaled greedy: (1 - 1/e)/2 = 0.316, Leskovec et al. (2007), theorem 3.
- the unit-cost greedy alone, any other exponent, or a snippet cap on top of the budget: nothing that these proofs cover.

``best_of_two`` with exponent 1 contains the first, so 0.405 holds for it too. The certificate of a pack is mostly far higher than any of these.
"""
from __future__ import annotations

import math

from lib.submodular import TIE, Objective, Picks, State, fast_greedy, terms_of, upper_bound, value

PROVED = 0.405  # Tang et al. (2021)


def best_of_two(f: Objective, costs, budget: float, exponent: float = 1.0, cap: int | None = None) -> Picks:
    """The cost-scaled or the unit-cost greedy's picks, whichever has the higher F; equal F goes to the cost-scaled. Both with the singleton fallback.

    >>> import numpy as np
    >>> from lib.submodular import objective
    >>> f = objective([3, 2, 2, 2], np.zeros((4, 0)), np.eye(4), range(4), (1, 0, 0, 0))
    >>> [i for i, _ in best_of_two(f, [9, 3, 3, 3], 9)], [i for i, _ in fast_greedy(f, [9, 3, 3, 3], 9, exponent=0)]
    ([1, 2, 3], [0])
    """
    start = State(f).renew()
    scaled, unit = (fast_greedy(f, costs, budget, r, cap, start) for r in (exponent, 0.0))
    return unit if value(f, [i for i, _ in unit]) * (1 - TIE) > value(f, [i for i, _ in scaled]) else scaled


def guarantee(exponent: float = 1.0, cap: int | None = None) -> float:
    """The share of the best feasible F that is proved for ``greedy`` and ``best_of_two``; NaN where nothing is (see the module).

    >>> guarantee(), guarantee(exponent=0.5)
    (0.405, nan)
    """
    return PROVED if exponent == 1 and cap is None else math.nan


def certificate(f: Objective, costs, budget: float, picked: list[int]) -> dict[str, float]:
    """What one pack is certified to be worth: its four terms, F, the best single snippet's F, a bound on any pack's F within the budget, and the share.

    ``picked``: indices in the order picked. ``bound`` lies at or above the optimum under the budget alone, so above that under a cap as well;
    ``share`` = F / bound, [0, 1]: the pack's F is at least that share of the best (1 where nothing is worth anything). It holds for any
    rule's picks, and says nothing about answers.
    """
    names = ("relevance", "query_coverage", "saturated_coverage", "document_diversity")
    worth, bound = value(f, picked), upper_bound(f, costs, budget, picked, whole=True)
    first = State(f).renew().gains()
    single = max((first[i] for i, cost in enumerate(costs) if cost <= budget), default=0.0)
    share = min(1.0, worth / bound) if bound > 0 else 1.0
    return {**dict(zip(names, terms_of(f, picked).tolist())), "F": worth, "singleton": float(single), "bound": bound, "share": share}
