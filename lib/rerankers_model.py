"""Language models as rerankers, one question each (document 001, "Pointwise, pairwise and listwise are different questions"; SPEC 11).

``yes_no``    pointwise: does this passage help? The score is the log-odds of yes against no.
``pairwise``  which of two helps more? Asked in both orders; a cheap sort decides which pairs are asked.
``listwise``  put these in order. A window slides from the end of the list to its beginning, so that a passage can climb from one window to the next.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lib.rerankers import Pair, Pointwise, Reranked, check_window, places
from lib.rerankers_judge import Judge, filled, one_line
from lib.rerankers_reply import parse
from lib.rerankers_sort import bubble, insertion

YES_NO, A_B = (" yes", " no"), (" A", " B")
SORTS = ("insertion", "bubble")


def short(judge: Judge) -> str:
    """The model's name without its owner or folder."""
    return judge.spec["model"].rstrip("/").split("/")[-1]


def yes_no(judge: Judge, name: str | None = None) -> Pointwise:
    """Pointwise by yes/no logits: score = log-odds of " yes" against " no" (nats), no probability of relevance."""
    def said(pairs: Sequence[Pair]) -> list:
        return judge.choose([filled("yes_no", question=one_line(q), passage=one_line(p)) for q, p in pairs], YES_NO)

    return Pointwise(name or f"{short(judge)} yes/no", lambda pairs: [c.log_odds for c in said(pairs)], lambda pairs: [c.n_tokens for c in said(pairs)])


class Preference(NamedTuple):
    """How far the first passage is preferred (nats, mean of both orders), and whether the two orders contradict each other."""

    margin: float
    contradicts: bool
    tokens: int


class Pairwise:
    """Sorts by preferences, each asked in both orders, since models favour a place; the contradictions are counted in ``repaired``.

    ``sort``: ``insertion`` (binary, from the first-stage order) or ``bubble`` (a window of two slides from the end, once for each place of the top).
    ``top``: only so many places are sorted, the rest stay behind in first-stage order; None sorts all. Scores are NaN: a sort gives places.
    """

    def __init__(self, judge: Judge, sort: str = "insertion", top: int | None = 5, name: str | None = None) -> None:
        check_sort(sort, top)
        self.judge, self.sort, self.top, self.name = judge, {"insertion": insertion, "bubble": bubble}[sort], top, name or f"{short(judge)} pairwise"

    def prefer(self, question: str, one: str, other: str) -> Preference:
        """Whether ``one`` helps more than ``other``; margin 0 where they say the same."""
        q, a, b = one_line(question), one_line(one), one_line(other)
        if a == b:
            return Preference(0.0, False, 0)
        ahead, behind = self.judge.choose([filled("pairwise", question=q, first=x, second=y) for x, y in ((a, b), (b, a))], A_B)
        return Preference((ahead.log_odds - behind.log_odds) / 2, ahead.log_odds * behind.log_odds > 0, ahead.n_tokens + behind.n_tokens)

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """The passages sorted; ``calls`` is two a comparison, ``repaired`` how many of the comparisons were settled by the mean of a contradiction."""
        at, made = places(question, passages), {}

        def before(i: int, j: int) -> bool:
            """Whether the passage at ``i`` goes before that at ``j``, which stands ahead of it: only if it is preferred."""
            key = min(i, j), max(i, j)
            if key not in made:
                made[key] = self.prefer(question, passages[at[key[0]]], passages[at[key[1]]])
            return made[key].margin > 0 if i < j else made[key].margin < 0  # asked in both orders, so the other way round is its negative

        order = [at[i] for i in self.sort(len(at), before, self.top)]
        silent = [i for i in range(len(passages)) if i not in set(at)]
        asked = [p for p in made.values() if p.tokens]
        return Reranked(order + silent, [math.nan] * len(passages), 2 * len(asked), sum(p.tokens for p in made.values()), sum(p.contradicts for p in asked))


def check_sort(sort: object, top: object) -> None:
    """Raise ValueError for an unknown sort, or a number of places that is none."""
    if sort not in SORTS:
        raise ValueError(f"sort must be one of {', '.join(SORTS)}, got {sort!r}")
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise ValueError(f"top must be a whole number of 1 or more, or None for all places, got {top!r}")


class Reply(NamedTuple):
    """One window: the places it showed, the raw text, the places as ordered, and whether the text had to be repaired."""

    shown: list[int]
    raw: str
    ordered: list[int]
    repaired: bool
    tokens: int


class Listwise:
    """Writes an order of ``window`` passages at a time; windows move ``stride`` towards the top (RankGPT's sliding window)."""

    def __init__(self, judge: Judge, window: int = 10, stride: int = 5, name: str | None = None) -> None:
        check_window(window, stride)
        self.judge, self.window, self.stride, self.name = judge, window, stride, name or f"{short(judge)} listwise"

    def replies(self, question: str, passages: Sequence[str]) -> list[Reply]:
        """What was asked and written, window by window, malformed texts as they are."""
        order, made = places(question, passages), []
        for start, end in windows(len(order), self.window, self.stride):
            shown = order[start:end]
            listed = "\n".join(f"[{n}] {one_line(passages[i])}" for n, i in enumerate(shown, 1))
            row, = self.judge.write([filled("listwise", question=one_line(question), passages=listed)], max_new_tokens=4 * self.window + 4)
            found, repaired = parse(row["raw_text"], len(shown))
            ordered = [shown[i] for i in found]
            made.append(Reply(shown, row["raw_text"], ordered, repaired, (row["n_prompt_tokens"] or 0)))
            order[start:end] = ordered
        return made

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """The passages as the last window left them; scores are NaN."""
        order = places(question, passages)
        silent = [i for i in range(len(passages)) if i not in set(order)]
        made = self.replies(question, passages)
        for (start, end), reply in zip(windows(len(order), self.window, self.stride), made, strict=True):
            order[start:end] = reply.ordered
        return Reranked(order + silent, [math.nan] * len(passages), len(made), sum(r.tokens for r in made), sum(r.repaired for r in made))


def windows(n: int, window: int, stride: int) -> list[tuple[int, int]]:
    """(first, one past last) of each window over ``n`` places, from the end to the beginning; a single place is no window.

    >>> windows(20, 10, 5), windows(7, 10, 5), windows(1, 10, 5)
    ([(10, 20), (5, 15), (0, 10)], [(0, 7)], [])
    """
    check_window(window, stride)
    ends = [n - i * stride for i in range(n)] if n > 1 else []
    made = []
    for end in ends:
        made.append((max(0, end - window), end))
        if end <= window:
            break
    return made
