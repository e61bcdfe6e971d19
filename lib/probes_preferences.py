"""Probes of pairwise preferences: do they go round in circles, and do they depend on which passage is named first (document 001, Part II)?"""
from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lib.probes_asked import Asked, Case


def cycles(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Share of a case's triples of passages that are preferred in a circle (a over b, b over c, c over a); [] without pairwise preferences."""
    return [cyclic_share(beats) for beats, _ in _preferences(asked, cases)]


def contradictions(asked: Asked, cases: Sequence[Case]) -> list[float]:
    """Share of a case's pairs whose preference turns when the other passage is named first; NaN for fewer than two passages."""
    return [sum(turned) / len(turned) if turned else math.nan for _, turned in _preferences(asked, cases)]


def three_cycles(beats: np.ndarray) -> int:
    """Number of circles of three in a matrix of preferences: [a, b] is True where a stands above b; a pair may have no preference.

    >>> three_cycles(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool))
    1
    """
    one = beats.astype(np.int64)
    return int(np.trace(one @ one @ one)) // 3


def cyclic_share(beats: np.ndarray) -> float:
    """Circles of three over all triples, in [0, 1], at most about 1/4 with many passages; NaN for fewer than three."""
    triples = math.comb(len(beats), 3)
    return three_cycles(beats) / triples if triples else math.nan


def most_cycles(n: int) -> int:
    """The most circles of three that n items can have (Kendall and Babington Smith, 1940): about as many as a random order has on average.

    >>> most_cycles(3), most_cycles(4), most_cycles(5)
    (1, 2, 5)
    """
    return (n**3 - n) // 24 if n % 2 else (n**3 - 4 * n) // 24


def _preferences(asked: Asked, cases: Sequence[Case]) -> list[tuple[np.ndarray, list[bool]]]:
    """For each case who stands above whom among its first passages, and which pairs contradict themselves; [] where the reranker prefers nothing."""
    if not (hasattr(asked.reranker, "prefer") or hasattr(asked.reranker, "prefers")):
        return []
    found = []
    for case in cases:
        passages = case.passages[:asked.compared]
        beats, turned = np.zeros((len(passages), len(passages)), bool), []
        for a, b in combinations(range(len(passages)), 2):
            beats[a, b], beats[b, a], contradicts = asked.preference(case.question, passages[a], passages[b])
            turned.append(contradicts)
        found.append((beats, turned))
    return found
