"""A cascade: identifiers by exact match, the rest by a small reranker, and by a large one where a signal passes its threshold (document 001; SPEC 11)."""
from __future__ import annotations

import math
from collections.abc import Sequence

from lib.rerankers import Reranked, Reranker, ask, places
from lib.rerankers_signals import SIGNALS, Read, Signal, holds, identifiers


class Cascade:
    """``small`` orders; where ``signal`` is ``threshold`` or more, ``large`` orders the small one's first ``head`` anew (None: all), in first-stage order.

    ``threshold`` -inf always escalates and equals the large one, inf never does and equals the small one. An undefined signal (NaN) escalates: not
    knowing is no ground for trusting the small one. ``bypass``: a question with an identifier that some passage holds asks no model.
    """

    def __init__(self, small: Reranker, large: Reranker, signal: Signal | str = "closeness", threshold: float = 0.0, head: int | None = None,
                 bypass: bool = True, name: str | None = None) -> None:
        if signal not in SIGNALS if isinstance(signal, str) else not callable(signal):
            raise ValueError(f"signal must be a function of a Read or one of {', '.join(SIGNALS)}, got {signal!r}")
        if not isinstance(threshold, (int, float)) or math.isnan(threshold):
            raise ValueError(f"threshold must be a number (-inf: always escalate, inf: never), got {threshold!r}")
        if head is not None and (isinstance(head, bool) or not isinstance(head, int) or head < 1):
            raise ValueError(f"head must be a whole number of 1 or more, or None for all candidates, got {head!r}")
        self.small, self.large, self.threshold, self.head, self.bypass = small, large, threshold, head, bypass
        self.signal = SIGNALS[signal] if isinstance(signal, str) else signal
        self.name = name or f"{small.name}, then {large.name}"

    def escalates(self, read: Read) -> bool:
        """Whether the large reranker is asked."""
        if math.isinf(self.threshold):
            return self.threshold < 0
        value = self.signal(read)
        return math.isnan(value) or value >= self.threshold

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """The order of whichever step decided; calls, tokens and repairs of every step that ran."""
        if not places(question, passages):
            return Reranked(list(range(len(passages))), [math.nan] * len(passages), 0, 0, 0)
        if self.bypass and (exact := by_identifier(question, passages)) is not None:
            return exact
        small = ask(self.small, question, passages)
        if not self.escalates(Read(question, passages, small)):
            return small
        head = sorted(small.order[:self.head])
        large = ask(self.large, question, [passages[i] for i in head])
        scores = [math.nan] * len(passages)
        for i, score in zip(head, large.scores):
            scores[i] = score
        order = [head[i] for i in large.order] + [i for i in small.order if i not in set(head)]
        return Reranked(order, scores, small.calls + large.calls, small.tokens + large.tokens, small.repaired + large.repaired)


def by_identifier(question: str, passages: Sequence[str]) -> Reranked | None:
    """Passages by how many of the question's identifiers they hold, ties in first-stage order, no model asked; None where none holds any.

    >>> by_identifier("What does POL-104 ask?", ["POL-10: no.", "See POL-104."]).order
    [1, 0]
    """
    codes = identifiers(question)
    found = [float(sum(holds(code, p) for code in codes)) for p in passages]
    if not any(found):
        return None
    return Reranked(sorted(range(len(passages)), key=lambda i: -found[i]), found, 0, 0, 0)
