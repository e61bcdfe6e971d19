"""What might tell that a small reranker's order is wrong: signals, each higher where escalation should pay (document 001, Part III; SPEC 11).

That a score "looks uncertain" proves nothing: ``lib.rerankers_validation`` asks of each signal whether it foretells error on held-out questions.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lib import text
from lib.iterative import names
from lib.rerankers import Reranked

TOP = 5  # places that the reader sees
# a capital or a digit begins it; it holds a digit and a capital, or parts joined by - / . that hold two digits: POL-104, ISO9001, 2024-17, but no 1934
_CODE = re.compile(r"(?<![\w.-])(?=[\w./-]*[0-9])(?:(?=[\w./-]*[A-Z])[A-Z0-9][\w./-]*\w|[0-9]+(?:[-/.][0-9]+)+)(?![\w-])")


class Read(NamedTuple):
    """What a signal sees: the question, the passages in first-stage order, and what the small reranker made of them."""

    question: str
    passages: Sequence[str]
    small: Reranked


Signal = Callable[[Read], float]


def identifiers(question: str) -> list[str]:
    """Codes in a question: what must match exactly; a plain year or number is none.

    >>> identifiers("What does POL-104 say about ISO9001 since 1934, and rule 12/7?")
    ['POL-104', 'ISO9001', '12/7']
    """
    return list(dict.fromkeys(_CODE.findall(question))) if isinstance(question, str) else []


def holds(code: str, passage: str) -> bool:
    """Whether the code stands in the passage as a word of its own: POL-10 does not stand in POL-104."""
    return isinstance(passage, str) and re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-])", passage) is not None


def closeness(read: Read) -> float:
    """Minus the margin: the score of place TOP + 1 less that of place TOP, at most 0; NaN where the list is no longer or gives no scores."""
    scores = [read.small.scores[i] for i in read.small.order]
    return float(scores[TOP] - scores[TOP - 1]) if len(scores) > TOP else math.nan


def closeness_at_1(read: Read) -> float:
    """Minus the margin between the first two, at most 0; NaN with fewer than two or without scores."""
    scores = [read.small.scores[i] for i in read.small.order]
    return float(scores[1] - scores[0]) if len(scores) > 1 else math.nan


def disagreement(read: Read) -> float:
    """Share of the small reranker's first TOP that the first stage did not have there, [0, 1]; NaN without passages.

    >>> disagreement(Read("Who?", ["a"] * 6, Reranked([5, 0, 1, 2, 3, 4], [0.0] * 6, 6, 0, 0)))
    0.2
    """
    top = read.small.order[:TOP]
    return sum(i >= len(top) for i in top) / len(top) if top else math.nan


def missing_roles(read: Read) -> float:
    """Share of the question's names (of its content words, where it has none) that no passage of the first TOP holds, [0, 1]; NaN without any.

    A stand-in for evidence roles where nobody has labelled them: each name is a role that some passage has to fill.
    """
    named = [set(text.content_terms(name)) for name in names(read.question)]
    roles = [words for words in named if words] or [{word} for word in text.content_terms(read.question)]  # "Which" begins a question and names nothing
    shown = set().union(*(text.content_terms(read.passages[i]) for i in read.small.order[:TOP] if isinstance(read.passages[i], str)), set())
    return sum(not role <= shown for role in roles) / len(roles) if roles else math.nan


def ceiling_gap(slope: float = 1.0, intercept: float = 0.0, top: int = TOP) -> Signal:
    """The signal that estimates the candidate oracle: expected DCG of the best order of the pool less that of the small reranker's.

    Chances of relevance are the logistic of slope x score + intercept (Platt's fit on held-out questions: a raw logit is no probability). In the best
    order the j-th place gains where at least j passages are relevant, in the given one where its own passage is. A model card tells its fit:
    ``ceiling_gap(*read_card("reranker")["held_out"]["calibration"]["platt"])``.
    """
    def gap(read: Read) -> float:
        scores = np.array([read.small.scores[i] for i in read.small.order], float)
        if not len(scores) or np.isnan(scores).any():
            return math.nan
        return expected_gap(1 / (1 + np.exp(-np.clip(slope * scores + intercept, -50, 50))), top)

    return gap


def expected_gap(chances: np.ndarray, top: int = TOP) -> float:
    """Expected DCG at ``top`` (gain 1) of the best order less that of the given one, for independent chances of relevance in list order.

    >>> expected_gap(np.array([1.0, 0.0])), round(expected_gap(np.array([0.0, 1.0])), 4)
    (0.0, 0.3691)
    """
    number = np.array([1.0])  # chances of 0, 1, 2, ... relevant passages
    for p in chances:
        number = np.convolve(number, [1 - p, p])
    at_least = number[::-1].cumsum()[::-1][1:top + 1]
    discount = 1 / np.log2(np.arange(2, len(at_least) + 2))
    return float(np.round(((at_least - chances[:top]) * discount).sum(), 12)) + 0.0


SIGNALS: dict[str, Signal] = {"closeness": closeness, "closeness_at_1": closeness_at_1, "disagreement": disagreement, "missing_roles": missing_roles,
                              "ceiling_gap": ceiling_gap()}
