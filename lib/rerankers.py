"""Rerankers behind one Protocol: they order the candidates they are given and add none (document 001, "The ceiling in one inequality"; SPEC 11).

A reranker is asked with a question and passages in first-stage order, and answers with a permutation. What retrieves again (``lib.rerankers_feedback``) is
none: its list has a type of its own. ``lib.rerankers_open`` makes the rerankers of a specification.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from lib.whole import check_whole, is_number, is_whole

Pair = tuple[str, str]


class Reranked(NamedTuple):
    """One list reordered. Costs are those of a run without a cache, so that a second run tells the same."""

    order: list[int]      # a permutation of range(len(passages)), best first
    scores: list[float]   # one per passage in input order, NaN where the method gives none; comparable within one question only
    calls: int            # model calls
    tokens: int           # tokens the model read
    repaired: int         # malformed or contradictory outputs that had to be repaired


class Reranker(Protocol):
    """Anything that orders passages for a question; ``name`` is the ranker's name in tables."""

    name: str

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked: ...


NOTHING = Reranked([], [], 0, 0, 0)


def told(text: object) -> bool:
    """Whether a text says something; a missing text is no text.

    >>> told("eels"), told(" "), told(float("nan"))
    (True, False, False)
    """
    return isinstance(text, str) and bool(text.strip())


def places(question: str, passages: Sequence[str]) -> list[int]:
    """Places of the passages that say something: those that a model is asked about, the others go last in first-stage order.

    Raises ValueError for a missing or blank question, and for one text in place of a list.

    >>> places("Who?", ["eels", "", "Eels."])
    [0, 2]
    """
    if not told(question):
        raise ValueError(f"a reranker needs a question that says something, got {question!r}; take the question out or mend table questions")
    if isinstance(passages, str) or not isinstance(passages, Sequence):
        got = f"{type(passages).__name__} {str(passages)[:40]!r}"
        raise ValueError(f"passages must be a list of texts, got {got}; put it into a list")  # noqa: TRY004  (a wrong value, like the others)
    return [i for i, passage in enumerate(passages) if told(passage)]


def by_score(scores: Sequence[float]) -> list[int]:
    """Places from the best score to the worst; equal scores, and then the missing ones (NaN), in first-stage order.

    >>> by_score([0.5, float("nan"), 0.9, 0.5])
    [2, 0, 3, 1]
    """
    if math.inf in map(abs, scores):
        raise ValueError(f"score {list(map(abs, scores)).index(math.inf)} of {len(scores)} is infinite; a reranker's scores are finite or NaN")
    return sorted(range(len(scores)), key=lambda i: (math.isnan(scores[i]), 0.0 if math.isnan(scores[i]) else -scores[i], i))


def checked(reranked: Reranked, n: int) -> Reranked:
    """``reranked`` as it is; raises ValueError unless its order is a permutation of the ``n`` candidates and it has as many scores.

    >>> checked(Reranked([1, 0], [0.1, 0.2], 2, 40, 0), 2).order
    [1, 0]
    """
    order = list(reranked.order)
    if strange := [i for i in order if not is_whole(i)]:
        raise ValueError(f"a reranker's order holds places, whole numbers from 0 to {n - 1}, got {strange[0]!r}")
    if sorted(order) != list(range(n)):
        strange, lost = sorted(set(order) - set(range(n))), sorted(set(range(n)) - set(order))
        twice = sorted({i for i in order if order.count(i) > 1})
        raise ValueError(f"a reranker must give each of {n} candidates once, got {len(order)} places: missing {lost[:5]}, repeated {twice[:5]}, "
                         f"not among them {strange[:5]}; one that adds candidates retrieves, see lib.rerankers_feedback")
    if len(reranked.scores) != n:
        raise ValueError(f"a reranker must give a score (or NaN) for each of {n} candidates, got {len(reranked.scores)}")
    if strange := [s for s in reranked.scores if not is_number(s) and not (isinstance(s, (float, np.floating)) and math.isnan(s))]:
        raise ValueError(f"a reranker's scores are finite numbers or NaN, got {strange[0]!r}; mend the reranker, or give NaN where it has no score")
    if not all(map(is_number, (reranked.calls, reranked.tokens, reranked.repaired))) or min(reranked.calls, reranked.tokens, reranked.repaired) < 0:
        raise ValueError(f"calls, tokens and repaired count from 0, got {reranked.calls}, {reranked.tokens} and {reranked.repaired}")
    return reranked


def ask(reranker: Reranker, question: str, passages: Sequence[str]) -> Reranked:
    """What ``reranker`` makes of the passages, checked; nothing is asked where there is no passage that says anything."""
    if not places(question, passages):
        return Reranked(list(range(len(passages))), [math.nan] * len(passages), 0, 0, 0)
    return checked(reranker.rerank(question, passages), len(passages))


class Pointwise:
    """A reranker that scores each passage by itself, whatever model does so.

    ``score`` gives a number per (question, passage), ``tokens`` how many tokens the model reads of each. A passage that stands twice is scored once and
    counted once.
    """

    def __init__(self, name: str, score: Callable[[Sequence[Pair]], Sequence[float]], tokens: Callable[[Sequence[Pair]], Sequence[int]]) -> None:
        self.name, self.score, self.tokens = name, score, tokens

    def prepare(self, pairs: Sequence[Pair]) -> None:
        """Score many pairs at once, so that batches are of similar length; they lie in the store when ``rerank`` asks for them."""
        self.score(list(dict.fromkeys(pairs)))

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """Passages by score; raises ValueError for a question that says nothing."""
        at = places(question, passages)
        pairs = list(dict.fromkeys((question, passages[i]) for i in at))
        found = dict(zip(pairs, self.score(pairs), strict=True)) if pairs else {}
        scores = [math.nan] * len(passages)
        for i in at:
            scores[i] = float(found[question, passages[i]])
        return Reranked(by_score(scores), scores, len(pairs), sum(self.tokens(pairs)) if pairs else 0, 0)


class Unchanged:
    """The first stage as a reranker: a control, and the free small step of a cascade."""

    def __init__(self, name: str = "first stage") -> None:
        self.name = name

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """The passages as they are, without scores and at no cost."""
        return Reranked(list(range(len(passages))), [math.nan] * len(passages), 0, 0, 0)


def check_window(window: int, stride: int) -> None:
    """Raise ValueError for a window below 2, or a stride that would leave candidates between two windows.

    >>> check_window(10, 5)
    """
    check_whole("window", window, 2, mend=": a window of one passage orders nothing")
    check_whole("stride", stride, 1, window, mend=f": windows of {window} that move by more leave candidates unread")
