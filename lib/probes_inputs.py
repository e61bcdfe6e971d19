"""The probes that change what a reranker is given: order, copies, a stranger, other words, an instruction; and the controls (document 001).

Each takes the reranker (as ``Asked``) and cases, and gives a value a case, low is good; NaN where the case does not fit the probe, [] where none can.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lib.grades import ndcg_at
from lib.probes_asked import Asked, Case

COPIES = 2       # beside the passage itself
ACCEPTED = 0.9   # share of complete pools that the bar of the omitted answer lets pass


def best_order(grades: Sequence[float]) -> list[int]:
    """Places by grade, high first; equals keep their place.

    >>> best_order([0, 2, 1])
    [1, 2, 0]
    """
    return sorted(range(len(grades)), key=lambda i: -grades[i] if grades[i] > 0 else 0.0)


def changed_pairs(before: Sequence[int], after: Sequence[int]) -> float:
    """Share of pairs in another order (Kendall's distance), in [0, 1]; NaN for fewer than two items. Both name the same items.

    >>> changed_pairs([0, 1, 2], [0, 2, 1])
    0.3333333333333333
    """
    place = {item: i for i, item in enumerate(after)}
    pairs = list(combinations(before, 2))
    return sum(place[a] > place[b] for a, b in pairs) / len(pairs) if pairs else math.nan


def changed_top(before: Sequence[int], after: Sequence[int], m: int) -> float:
    """Share of the first m of ``before`` that is not among the first m of ``after``; NaN where m holds all, since nothing could change.

    >>> changed_top([0, 1, 2], [2, 0, 1], 2)
    0.5
    """
    return len(set(before[:m]) - set(after[:m])) / m if len(before) > m else math.nan


def below_oracle(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """nDCG@m of the best order less the reranker's; NaN where the order given is as good as the best."""
    def one(case: Case) -> float:
        best, given = _ndcg(case, best_order(case.grades), asked.m), _ndcg(case, range(len(case.grades)), asked.m)
        return best - _ndcg(case, asked.order(case.question, case.passages), asked.m) if best - given > 1e-12 else math.nan
    return [one(case) for case in cases]


def lost_when_correct(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """nDCG@m lost when the best order is what comes in; NaN without a relevant passage, or with nothing else."""
    def one(case: Case) -> float:
        order = best_order(case.grades)
        if not any(g > 0 for g in case.grades) or len(set(case.grades)) == 1:
            return math.nan
        return 1 - _ndcg(case, [order[i] for i in asked.order(case.question, _at(case, order))], asked.m)
    return [one(case) for case in cases]


def accepted_without_answer(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """1 where the pool without its relevant passages still has a top score at or above the bar that nine in ten complete pools reach, else 0.

    [] where the top scores of complete pools are all equal or missing: a reranker that only orders cannot abstain.
    """
    fit = [case if any(g > 0 for g in case.grades) and any(not g > 0 for g in case.grades) else None for case in cases]
    whole = [asked.top_score(c.question, c.passages) if c else math.nan for c in fit]
    known = [s for s in whole if not math.isnan(s)]
    if len(set(known)) < 2:
        return []
    bar = float(np.quantile(known, 1 - ACCEPTED, method="lower"))
    rest = [asked.top_score(c.question, [p for p, g in zip(c.passages, c.grades) if not g > 0]) if c else math.nan for c in fit]
    return [math.nan if math.isnan(s) else float(s >= bar) for s in rest]


def changed_on_repeat(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """1 where the second answer to the same call differs."""
    return [float(asked.order(c.question, c.passages) != asked.order(c.question, c.passages, again=True)) if len(c.passages) > 1 else math.nan for c in cases]


def changed_by_shuffle(asked: Asked, cases: Sequence[Case], shuffles: int = 2) -> list[float]:
    """Mean change of the first m over seeded shuffles of the input."""
    def one(case: Case) -> float:
        if len(case.passages) <= asked.m:
            return math.nan
        before, draw, found = asked.order(case.question, case.passages), asked.draw(case), []
        for _ in range(shuffles):
            mixed = draw.sample(range(len(case.passages)), len(case.passages))
            found.append(changed_top(before, [mixed[i] for i in asked.order(case.question, _at(case, mixed))], asked.m))
        return sum(found) / shuffles
    return [one(case) for case in cases]


def changed_by_duplicates(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Change of the order of the distinct passages when one that is not relevant comes three times; a passage stands where its best copy stands."""
    def one(case: Case) -> float:
        others = [i for i, g in enumerate(case.grades) if not g > 0]
        if not others or len(case.passages) < 2:
            return math.nan
        copied = asked.draw(case).choice(others)
        given = [*range(len(case.passages)), *[copied] * COPIES]
        after = dict.fromkeys(given[i] for i in asked.order(case.question, _at(case, given)))
        return changed_pairs(asked.order(case.question, case.passages), list(after))
    return [one(case) for case in cases]


def _with_stranger(asked: Asked, cases: Sequence[Case]) -> list[list[int] | None]:
    """For each case the order with a passage of another question put in at a drawn place; -1 is the stranger."""
    found: list[list[int] | None] = []
    for case in cases:
        strangers = [p for other in cases if other.qid != case.qid for p in other.passages if p not in case.passages]
        strangers = strangers if case.stranger is None else [case.stranger]
        if not strangers or not len(case.passages):
            found.append(None)
            continue
        draw = asked.draw(case)
        stranger, given = draw.choice(sorted(set(strangers))), list(range(len(case.passages)))
        given.insert(draw.randrange(len(given) + 1), -1)
        order = asked.order(case.question, [stranger if i < 0 else case.passages[i] for i in given])
        found.append([given[i] for i in order])
    return found


def beaten_by_control(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Share of a case's relevant passages that stand below the stranger; NaN without a relevant one."""
    def one(case: Case, order: list[int] | None) -> float:
        relevant = [i for i, g in enumerate(case.grades) if g > 0]
        return sum(order.index(i) > order.index(-1) for i in relevant) / len(relevant) if order and relevant else math.nan
    return [one(case, order) for case, order in zip(cases, _with_stranger(asked, cases))]


def changed_by_control(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Change of the order of the case's own passages when the stranger is there."""
    orders = _with_stranger(asked, cases)
    return [changed_pairs(asked.order(c.question, c.passages), [i for i in order if i >= 0]) if order else math.nan for c, order in zip(cases, orders)]


def changed_by_rewording(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Change of the first m under the question's other words; NaN for cases without any."""
    return [changed_top(asked.order(c.question, c.passages), asked.order(c.reworded, c.passages), asked.m) if c.reworded else math.nan for c in cases]


def against_instruction(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """How the pair of an instruction moved: 0 as told (turned, or right before and after), 0.5 unmoved and wrong, 1 right before and wrong after."""
    def one(case: Case) -> float:
        if case.instruction is None:
            return math.nan
        told = case.instruction
        before, after = (asked.order(q, case.passages) for q in (case.question, told.question))
        was, now = (order.index(told.up) < order.index(told.down) for order in (before, after))
        return 0.0 if now else 1.0 if was else 0.5
    return [one(case) for case in cases]


def _ndcg(case: Case, order: Sequence[int], m: int) -> float:
    return ndcg_at([case.grades[i] for i in order], case.grades, m)


def _at(case: Case, places: Sequence[int]) -> list[str]:
    return [case.passages[i] for i in places]
