"""Measures of one graded list: what was found, in which order, and what order alone could still gain (SPEC 2, 11).

A list is its documents' grades in rank order: a grade above 0 is relevant, negative grades count as 0, None is unjudged and gains
nothing. Without a relevant document in the corpus every measure of relevance is NaN: undefined, not zero.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

GAINS = ("exponential", "linear")
Grades = Sequence[float | None]


def is_judged(grade: float | None) -> bool:
    """Tell a judged grade, 0 included, from an unjudged one: None, or NaN as pandas stores it."""
    return grade is not None and not math.isnan(grade)


def _worth(grade: float | None) -> float:
    return max(grade, 0) if is_judged(grade) else 0


def gain(grades: Grades, form: str = "exponential") -> np.ndarray:
    """Gains of grades: 2**g - 1 ("exponential") or g ("linear"); unjudged and negative grades gain 0 (document 001, its audit).

    >>> gain([3, 0, -1, None]).tolist()
    [7.0, 0.0, 0.0, 0.0]
    """
    if form not in GAINS:
        raise ValueError(f"unknown gain {form!r}: expected one of {GAINS}")
    grades = np.array([_worth(grade) for grade in grades], dtype=float)
    return 2**grades - 1 if form == "exponential" else grades


def dcg_at(grades: Grades, k: int, form: str = "exponential") -> float:
    """Discounted cumulative gain of the first k ranks, discount log2(rank + 1).

    >>> dcg_at([0, 0, 2], 3)
    1.5
    """
    top = gain(grades[: _cutoff(k)], form)
    return float((top / np.log2(np.arange(2, len(top) + 2))).sum())


def ndcg_at(grades: Grades, corpus_grades: Grades, k: int, form: str = "exponential") -> float:
    """DCG over that of the best order of the whole corpus (not of the pool), in [0, 1]; NaN without a relevant document.

    >>> round(ndcg_at([0, 0, 2, 0, 3], [3, 2], 3), 4)
    0.1687
    """
    ideal = dcg_at(sorted(map(_worth, corpus_grades), reverse=True), k, form)
    return dcg_at(grades, k, form) / ideal if ideal else math.nan


def recall_at(grades: Grades, n_gold: int, k: int) -> float:
    """Fraction of the n_gold relevant documents within the first k ranks, in [0, 1]; the denominator is n_gold, not k.

    >>> recall_at([1, 0, 1], n_gold=4, k=3)
    0.5
    """
    return sum(_worth(grade) > 0 for grade in grades[: _cutoff(k)]) / n_gold if n_gold else math.nan


def all_gold_at(grades: Grades, n_gold: int, k: int) -> float:
    """1.0 when all n_gold relevant documents lie within the first k ranks, else 0.0.

    >>> all_gold_at([1, 0, 1], n_gold=2, k=3)
    1.0
    """
    recall = recall_at(grades, n_gold, k)
    return recall if math.isnan(recall) else float(recall == 1)


def reciprocal_rank(grades: Grades, n_gold: int) -> float:
    """1 / rank of the first relevant document, 0 when the list holds none; its mean over questions is MRR.

    >>> reciprocal_rank([0, 1], n_gold=1)
    0.5
    """
    if not n_gold:
        return math.nan
    return next((1 / rank for rank, grade in enumerate(grades, start=1) if _worth(grade) > 0), 0.0)


def last_hop_at(ids: Sequence[str], last_hop: str | None, k: int) -> float:
    """1.0 when the last hop is among the first k ids, else 0.0; NaN for a question without a last hop (document 002).

    Ids are passages, or titles for the title-level figure, which counts any passage of that title.

    >>> last_hop_at(["d1", "d2"], "d2", 1)
    0.0
    """
    return math.nan if last_hop is None else float(last_hop in list(ids[: _cutoff(k)]))


def judged_at(grades: Grades, k: int) -> float:
    """Fraction of the first k documents (of all, in a shorter list) that were judged; NaN for an empty list (SPEC 11).

    >>> judged_at([None, 1], 2)
    0.5
    """
    top = grades[: _cutoff(k)]
    return sum(map(is_judged, top)) / len(top) if len(top) else math.nan


def condense(grades: Grades) -> list[float]:
    """Drop the unjudged documents, so that the judged ones move up (SPEC 11).

    >>> condense([None, 1])
    [1]
    """
    return [grade for grade in grades if is_judged(grade)]


def order_by_score(scores: Sequence[float], first_stage_ranks: Sequence[int]) -> list[int]:
    """Positions from best to worst: by score, ties by first-stage rank, never by document id.

    Raises ValueError for a score that is NaN or ranks that repeat: the order would depend on chance.

    >>> order_by_score([0.5, 0.9, 0.5], [2, 3, 1])
    [1, 2, 0]
    """
    if any(math.isnan(score) for score in scores):
        raise ValueError(
            f"score {next(at for at, score in enumerate(scores) if math.isnan(score))} is NaN and has no place in an order"
        )
    if len(set(first_stage_ranks)) != len(scores):
        raise ValueError(
            f"got {len(scores)} scores and {len(set(first_stage_ranks))} distinct first-stage ranks: ties need one rank each"
        )
    return sorted(range(len(scores)), key=lambda at: (-scores[at], first_stage_ranks[at]))


def tie_bounds(grades: Grades, scores: Sequence[float], measure: Callable[[list], float]) -> tuple[float, float]:
    """(worst, best) value of a measure of grades over all orders within tied scores.

    >>> tie_bounds([1, 0], [0.5, 0.5], lambda grades: reciprocal_rank(grades, 1))
    (0.5, 1.0)
    """
    pairs = list(zip(scores, grades, strict=True))
    worst, best = ([grade for _, grade in sorted(pairs, key=lambda pair: (-pair[0], sign * _worth(pair[1])))] for sign in (1, -1))
    return measure(worst), measure(best)


class Headroom(NamedTuple):
    """nDCG shares of one pool; base + ordering_headroom + omission_gap = 1, and ceiling = base + ordering_headroom."""

    base: float
    ceiling: float
    ordering_headroom: float
    omission_gap: float


def headroom(grades: Grades, corpus_grades: Grades, k: int, form: str = "exponential") -> Headroom:
    """Split nDCG@k into what the pool's order earns, what order alone could add, and what was never retrieved (SPEC 11).

    All NaN without a relevant document (document 001's script calls that total omission).

    >>> [round(part, 4) for part in headroom([0, 0, 2], [3, 2], 3)]
    [0.1687, 0.3374, 0.1687, 0.6626]
    """
    base = ndcg_at(grades, corpus_grades, k, form)
    ceiling = ndcg_at(sorted(map(_worth, grades), reverse=True), corpus_grades, k, form)
    return Headroom(base, ceiling, ceiling - base, 1 - ceiling)


class BundleCoverage(NamedTuple):
    """How far a pool covers alternative evidence bundles, in [0, 1]; complete: at least one bundle as a whole."""

    union: float
    best: float
    complete: bool


def bundle_coverage(bundles: Sequence[Collection[str]], pool: Collection[str]) -> BundleCoverage:
    """Cover the union of bundles beside the best bundle (SPEC 11); raises ValueError without a bundle or for an empty one.

    >>> bundle_coverage([{"a", "b"}, {"c"}], {"a", "c"}).best
    1.0
    """
    if not bundles or not all(bundles):
        raise ValueError(f"every question with bundles needs at least one, and none empty; got {list(bundles)}")
    union, pool = set().union(*bundles), set(pool)
    best = max(len(set(bundle) & pool) / len(set(bundle)) for bundle in bundles)
    return BundleCoverage(len(union & pool) / len(union), best, best == 1)


def _cutoff(k: int) -> int:
    if k < 1:
        raise ValueError(f"a cutoff is at least 1, got {k}")
    return k
