"""What a listwise model wrote, read as an order: repaired where it is none (document 001, "Pointwise, pairwise and listwise"; SPEC 11)."""
from __future__ import annotations

import re

_ORDER = re.compile(r"\s*\[?[0-9]+\]?(?:\s*[>,]\s*\[?[0-9]+\]?)*\s*\.?\s*")


def parse(text: str | None, n: int) -> tuple[list[int], bool]:
    """(places from 0, whether they had to be repaired) of a text that should order the numbers 1 to ``n``.

    Numbers out of range are dropped, of a repeated one the first stays, missing ones follow in the order shown. A text is well formed where it is
    numbers with > or , between them and names each of 1 to n once; prose around a whole order is repaired, too. A missing text (None) says nothing.

    >>> parse("2 > 3 > 1", 3), parse("[3] > [3] > [9]", 3), parse("I cannot say.", 2)
    (([1, 2, 0], False), ([2, 0, 1], True), ([0, 1], True))
    """
    text = text if isinstance(text, str) else ""
    written = [int(d) - 1 if len(d) < 10 else -1 for d in re.findall(r"[0-9]+", text.split("\n", 1)[0])]  # an endless run of digits is no place
    known = list(dict.fromkeys(i for i in written if 0 <= i < n))
    whole = len(written) == n == len(known) and _ORDER.fullmatch(text.split("\n", 1)[0]) is not None
    return known + [i for i in range(n) if i not in set(known)], not whole
