"""Sorts that ask few comparisons, for a judge that is dear: they start from the first-stage order and need not fill every place (SPEC 11).

``before(i, j)`` says whether ``i`` goes before ``j``, which stands ahead of it; where it says no they stay, so that ties keep the first-stage order.
A judge that contradicts itself (A over B, B over C, C over A) still gives a permutation.
"""
from __future__ import annotations

from collections.abc import Callable

Before = Callable[[int, int], bool]


def insertion(n: int, before: Before, top: int | None = None) -> list[int]:
    """Places sorted by binary insertion, the best ``top`` of them; the rest stay behind in first-stage order.

    Asks at most ``insertion_bound(n, top)`` times: what does not beat the last of the top is asked about once.

    >>> insertion(4, lambda i, j: i > j, top=2)
    [3, 2, 0, 1]
    """
    limit, best = n if top is None else min(top, n), []
    for i in range(n):
        full = len(best) == limit
        if full and not before(i, best[-1]):
            continue
        low, high = 0, len(best) - full  # a full list's last place has just been lost
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if before(i, best[middle]) else (middle + 1, high)
        best = (best[:low] + [i] + best[low:])[:limit]
    chosen = set(best)
    return best + [i for i in range(n) if i not in chosen]


def insertion_bound(n: int, top: int | None = None) -> int:
    """The most comparisons that ``insertion`` asks: inserting into k places takes ceil(log2(k + 1)).

    >>> insertion_bound(20), insertion_bound(20, 5), insertion_bound(1)
    (69, 68, 0)
    """
    limit = n if top is None else min(top, n)
    return sum(k.bit_length() for k in range(limit)) + max(0, n - limit) * (1 + (limit - 1).bit_length() if limit else 0)


def bubble(n: int, before: Before, top: int | None = None) -> list[int]:
    """Places sorted by passes from the end, each carrying the best of the rest up: one pass for each place of the top.

    Asks ``bubble_bound(n, top)`` times at most; a pass that moves nothing ends it, since everything above the last move is in order.

    >>> bubble(4, lambda i, j: i > j, top=1)
    [3, 0, 1, 2]
    """
    order = list(range(n))
    for place in range(n if top is None else min(top, n)):
        moved = False
        for at in range(n - 1, place, -1):
            if before(order[at], order[at - 1]):
                order[at - 1], order[at], moved = order[at], order[at - 1], True
        if not moved:
            break
    return order


def bubble_bound(n: int, top: int | None = None) -> int:
    """The most comparisons that ``bubble`` asks.

    >>> bubble_bound(20), bubble_bound(20, 5)
    (190, 85)
    """
    return sum(n - 1 - place for place in range(n if top is None else min(top, n)))
