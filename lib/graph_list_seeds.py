"""Where the walk over the graph starts for a question: on phrases it names or asks about, and a little on passages like it (document 002, list H)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lib import graph_list_phrases
from lib.encoders import Encoder
from lib.graph_list_choices import Choices
from lib.graph_list_index import linked_vectors
from lib.graph_list_kept import Index

CELLS = 20_000_000  # cosines of questions with triples held at once


class Seeds(NamedTuple):
    """Of one question: phrases and their weights, and how many of its names the graph knew, how many it did not (linked or lost), triples used."""

    phrases: np.ndarray
    weights: np.ndarray
    names: int
    linked: int
    lost: int
    triples: int


def seeds(questions: Sequence[str], parses: Sequence[Mapping], index: Index, linker: Encoder, choices: Choices) -> list[Seeds]:
    """The phrase seeds of each question; none where it has no name and nearest triple in the graph."""
    place = {p: i for i, p in enumerate(index.phrases.tolist()) if index.names[i]}
    held = np.maximum(np.bincount(index.contains[:, 1], minlength=len(index.phrases)), 1)
    spelt = [graph_list_phrases.asked(q, p, place) if choices.seeds != "triples" else ([], []) for q, p in zip(questions, parses, strict=True)]
    linked = _linked([name for _, unknown in spelt for name in unknown], index, linker, choices.link)
    nearest = _nearest(questions, index, linker, choices.triples) if choices.seeds != "names" else [([], [])] * len(questions)
    out = []
    for (known, unknown), (facts, cosines) in zip(spelt, nearest, strict=True):
        also = [linked[name] for name in unknown if name in linked]
        weight: dict[int, list[float]] = {i: [1.0] for i in [*(place[name] for name in known), *also]}
        for fact, cosine in zip(facts, cosines):
            for phrase in index.facts[fact]:
                if weight.get(int(phrase)) != [1.0]:  # a name of the question has its full weight already
                    weight.setdefault(int(phrase), []).append(float(cosine))
        phrases = np.array(sorted(weight), int)
        mean = np.array([sum(weight[i]) / len(weight[i]) for i in phrases])
        out.append(Seeds(phrases, mean / held[phrases] if choices.specific else mean, len(known), len(also), len(unknown) - len(also), len(facts)))
    return out


def _linked(unknown: Sequence[str], index: Index, linker: Encoder, least: float) -> dict[str, int]:
    """Each name that the graph lacks -> its nearest name there, from a cosine of ``least`` on."""
    who, texts = np.flatnonzero(index.names), list(dict.fromkeys(unknown))
    if not len(who) or not texts:
        return {}
    cosines = _cosines(linker, texts, index.phrases[who].tolist())
    best = cosines.argmax(1)  # the first of equal ones: names stand in alphabetical order
    return {text: int(who[b]) for text, b, row in zip(texts, best, cosines) if row[b] >= least}


def _nearest(questions: Sequence[str], index: Index, linker: Encoder, most: int) -> list[tuple[list[int], list[float]]]:
    """The triples nearest to each question, best first, and their cosines (above 0)."""
    if not len(index.told):
        return [([], [])] * len(questions)
    told, out = linked_vectors(linker, index.told.tolist()), []
    step = max(1, CELLS // len(told))
    for start in range(0, len(questions), step):
        cosines = np.round(linked_vectors(linker, questions[start:start + step]) @ told.T, 6)
        for row in cosines:
            reach = np.flatnonzero(row >= np.partition(row, -min(most, len(row)))[-min(most, len(row))])
            best = [int(i) for i in reach[np.lexsort((reach, -row[reach]))][:most] if row[i] > 0]
            out.append((best, row[best].tolist()))
    return out


def _cosines(linker: Encoder, left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    return np.round(linked_vectors(linker, left) @ linked_vectors(linker, right).T, 6)


def near_passages(cosines: np.ndarray, most: int) -> np.ndarray:
    """Start weights (n,) of the ``most`` passages nearest to a question: cosine above that of the next one, sum 1; zeros where all are alike.

    >>> near_passages(np.array([0.9, 0.5, 0.4]), 1).tolist(), near_passages(np.array([0.2, 0.2]), 1).tolist()
    ([1.0, 0.0, 0.0], [0.0, 0.0])
    """
    if not len(cosines):
        return np.zeros(0)
    base = np.partition(cosines, -most - 1)[-most - 1] if most < len(cosines) else cosines.min()
    over = np.maximum(cosines - base, 0.0)
    return over / over.sum() if over.sum() > 0 else over


def starts(found: Seeds, cosines: np.ndarray, n_phrases: int, choices: Choices) -> tuple[np.ndarray, bool]:
    """(start weights over passages, then phrases; whether the question fell back on passages alone for want of a phrase). Sum 1, or 0 for nothing at all."""
    phrases, passages = np.zeros(n_phrases), near_passages(cosines, choices.passages)
    phrases[found.phrases] = found.weights
    fell_back = not phrases.sum() > 0
    share = 1.0 if fell_back else choices.passage_share if passages.sum() > 0 else 0.0
    both = np.concatenate([share * passages, (1 - share) * phrases / (phrases.sum() or 1.0)])
    return both / (both.sum() or 1.0), fell_back
