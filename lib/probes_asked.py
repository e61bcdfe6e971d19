"""What the probes ask with: cases, and a reranker that counts its calls, is asked the same once, and must answer with a permutation (document 001)."""
from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from lib.whole import is_number, is_whole


class Instruction(NamedTuple):
    """The question with an instruction, and two places of the case: the passage that should stand above the other once it is given."""

    question: str
    up: int
    down: int


class Case(NamedTuple):
    """One question with its candidates in first-stage order and their grades; other words, an instruction and a stranger where there are any.

    ``stranger``: the passage of another question that the probes put in; without one they draw it from the other cases.
    """

    qid: str
    question: str
    passages: Sequence[str]
    grades: Sequence[float]
    reworded: str | None = None
    instruction: Instruction | None = None
    stranger: str | None = None


def check_case(case: Case) -> None:
    """Raise ValueError for a case whose grades are not numbers, one a passage, or whose instruction names no two passages of it.

    >>> check_case(Case("q", "Who?", ["a", "b"], [1, 0]))
    """
    n = len(case.passages)
    if len(case.grades) != n or not all(map(is_number, case.grades)):
        raise ValueError(f"case {case.qid!r}: each of {n} passages needs one grade, a number (0 where nobody judged it), got {list(case.grades)[:10]}")
    told = case.instruction
    if told is not None and not (told.up != told.down and all(is_whole(i, 0) and i < n for i in (told.up, told.down))):
        raise ValueError(f"case {case.qid!r}: an instruction names two of {n} passages by place, from 0, got {told.up!r} and {told.down!r}")


class Asked:
    """A reranker with the cutoff m, the seed of the probes and how many passages of a case are compared in pairs.

    It counts calls, asks the same once, and checks that each order is a permutation.
    """

    def __init__(self, reranker: Any, m: int, seed: int, compared: int = 12) -> None:
        self.reranker, self.m, self.seed, self.compared, self.calls = reranker, m, seed, compared, 0
        self._orders: dict[tuple, tuple[list[int], Sequence[float]]] = {}
        self._preferred: dict[tuple[str, str, str], tuple[bool, bool, bool]] = {}

    def order(self, question: str, passages: Sequence[str], again: bool = False) -> list[int]:
        """Places, best first; ``again``: asked anew even where the answer is known. Raises ValueError where they are no permutation."""
        return (self._ask if again else self._known)(question, passages)[0]

    def top_score(self, question: str, passages: Sequence[str]) -> float:
        """The largest score; NaN where no passage has one."""
        scores = [s for s in self._known(question, passages)[1] if not math.isnan(s)]
        return max(scores, default=math.nan)

    def preference(self, question: str, a: str, b: str) -> tuple[bool, bool, bool]:
        """Whether a stands above b, whether b stands above a, and whether the two orders of asking contradict each other."""
        key = (question, a, b)
        if key not in self._preferred:
            self.calls += 2
            if hasattr(self.reranker, "prefer"):
                found = self.reranker.prefer(question, a, b)
                self._preferred[key] = found.margin > 0, found.margin < 0, bool(found.contradicts)
            else:
                one, other = (bool(self.reranker.prefers(question, *pair)) for pair in ((a, b), (b, a)))
                self._preferred[key] = one and not other, other and not one, one == other
        return self._preferred[key]

    def _known(self, question: str, passages: Sequence[str]) -> tuple[list[int], Sequence[float]]:
        key = (question, *passages)
        if key not in self._orders:
            self._orders[key] = self._ask(question, passages)
        return self._orders[key]

    def _ask(self, question: str, passages: Sequence[str]) -> tuple[list[int], Sequence[float]]:
        if not len(passages):
            return [], []
        found = self.reranker.rerank(question, list(passages))
        self.calls += found.calls
        if not all(map(is_whole, found.order)) or sorted(found.order) != list(range(len(passages))):
            raise ValueError(f"{self.reranker.name}: the order of {len(passages)} passages must name each place once, got {list(found.order)[:10]}")
        if len(found.scores) != len(passages) or any(math.isinf(s) for s in found.scores):
            raise ValueError(f"{self.reranker.name}: each of {len(passages)} passages needs one score, finite or NaN, got {list(found.scores)[:10]}")
        return list(found.order), found.scores

    def draw(self, case: Case) -> random.Random:
        """A generator of the case's own, so that neither the order nor the number of cases changes what is drawn."""
        return random.Random(f"{self.seed} {case.qid}")
