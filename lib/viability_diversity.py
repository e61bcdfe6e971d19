"""Alpha-nDCG: a ranking measure in which the second copy of one fact earns less, and the tenth almost nothing (Clarke et al., SIGIR 2008).

Document 001 asks for it beside bundle completion: near-duplicates should not earn repeated credit where the task needs coverage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

Nuggets = Collection[str]  # the facts that one passage states


def alpha_gains(listed: Sequence[Nuggets], alpha: float = 0.5) -> list[float]:
    """The gain at each rank: each fact earns (1 - alpha) to the power of how often it was seen above.

    >>> alpha_gains([{"rule"}, {"rule"}, {"rule", "exception"}])
    [1.0, 0.5, 1.25]
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must lie in [0, 1], got {alpha}")
    seen, gains = Counter(), []
    for nuggets in map(set, listed):
        gains.append(float(sum((1 - alpha) ** seen[n] for n in nuggets)))
        seen.update(nuggets)
    return gains


def alpha_dcg(listed: Sequence[Nuggets], k: int, alpha: float = 0.5) -> float:
    """Discounted sum of `alpha_gains` over the first k ranks, discount log2(rank + 1)."""
    if k < 1:
        raise ValueError(f"a cutoff is at least 1, got {k}")
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(alpha_gains(listed[:k], alpha), 1))


def greedy_ideal(corpus: Sequence[Nuggets], k: int, alpha: float = 0.5) -> list[Nuggets]:
    """The usual ideal: at each rank the passage that gains most; ties go to the one given first, which moves the
    value (TREC's ndeval takes the last id; so does `viability_unit_table`). The true optimum is NP-hard.

    >>> greedy_ideal([{"rule"}, {"rule"}, {"exception"}], 2) == [{"rule"}, {"exception"}]
    True
    """
    left, seen, ideal = [set(n) for n in corpus if n], Counter(), []
    while left and len(ideal) < k:
        best = max(range(len(left)), key=lambda at: sum((1 - alpha) ** seen[n] for n in left[at]))
        seen.update(left[best])
        ideal.append(left.pop(best))
    return ideal


def alpha_ndcg(listed: Sequence[Nuggets], corpus: Sequence[Nuggets], k: int, alpha: float = 0.5) -> float:
    """alpha-DCG over that of the corpus's greedy ideal; NaN where no passage states a fact. May exceed 1 where greedy is not optimal.

    >>> alpha_ndcg([{"rule"}, {"rule"}], [{"rule"}, {"rule"}, {"exception"}], 2) < alpha_ndcg([{"rule"}, {"exception"}], [{"rule"}, {"exception"}], 2)
    True
    """
    ideal = alpha_dcg(greedy_ideal(corpus, k, alpha), k, alpha)
    return alpha_dcg(listed, k, alpha) / ideal if ideal else math.nan
