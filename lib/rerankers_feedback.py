"""Relevance feedback: a SECOND RETRIEVAL, told by the first list what to look for (document 001, on ReFIT; SPEC 11).

Its list need not be a permutation of the candidates: it can find what the first retrieval missed, and lose what it found. So it has a type of its own, is
measured with the retrieval measures, and belongs to no comparison of pure rerankers. Nobody judges the first list here: its first passages are taken to be
relevant (pseudo-relevance feedback), whether they are or not.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import retrieval, text
from lib.ranking import QUESTION
from lib.rerankers_lists import COLUMNS
from lib.vectors import CACHE, DIMENSIONS, embed, truncate
from lib.whole import check_whole, is_number

METHODS = ("rocchio", "rm3")
SECOND_RETRIEVALS = (*METHODS, "iterative")  # rankers whose lists are second retrievals, for labels


class Retrieved(NamedTuple):
    """A list of the corpus, best first: places in it, and their scores. No permutation of any candidates."""

    found: list[int]
    scores: list[float]


def rocchio(question: np.ndarray, documents: np.ndarray, first: Sequence[int], weight: float = 0.75) -> np.ndarray:
    """Rocchio's question vector: question + ``weight`` times the mean vector of the ``first`` documents, of length 1. Shape (d,).

    Without a first document it is the question itself. Raises ValueError for a negative weight.

    >>> rocchio(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), [0], weight=1.0).round(4).tolist()
    [0.7071, 0.7071]
    """
    if not is_number(weight, 0):
        raise ValueError(f"weight must be a number of 0 or more, got {weight!r}")
    if strange := [i for i in first if not 0 <= i < len(documents)]:
        raise ValueError(f"first names document {strange[0]}, there are {len(documents)}, counted from 0")
    mixed = np.asarray(question, float) + (weight * np.asarray(documents, float)[list(first)].mean(axis=0) if len(first) else 0.0)
    return mixed / max(float(np.linalg.norm(mixed)), 1e-12)


def rm3(question: Sequence[str], first: Sequence[Sequence[str]], scores: Sequence[float], terms: int = 10, original: float = 0.5) -> dict[str, float]:
    """RM3: weights of terms that add up to 1, a share ``original`` of them the question's own terms by frequency.

    The rest is the relevance model: p(w) = sum over the ``first`` passages (lists of terms) of tf(w) / length x the passage's share of the ``scores``,
    its ``terms`` likeliest words (ties by alphabet), rescaled (Abdul-Jaleel et al. 2004; Lavrenko and Croft 2001). Raises ValueError for a share
    outside [0, 1] or unequal lengths.

    >>> rm3(["eel"], [["eel", "mill"]], [3.0], terms=2)
    {'eel': 0.75, 'mill': 0.25}
    """
    if not is_number(original, 0) or original > 1 or len(first) != len(scores):
        raise ValueError(f"original must lie in [0, 1] and each passage have a score, got {original!r}, {len(first)} passages and {len(scores)} scores")
    if not all(is_number(s) for s in scores):
        raise ValueError(f"the scores of the first passages must be finite numbers, got {next(s for s in scores if not is_number(s))!r}; mend that list")
    check_whole("terms", terms, 1)
    asked, shares = Counter(question), np.clip(np.asarray(scores, float), 0, None)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(first), 1 / max(1, len(first)))
    model: Counter = Counter()
    for passage, share in zip(first, shares):
        for word, n in Counter(passage).items():
            model[word] += share * n / len(passage)
    best = dict(sorted(model.items(), key=lambda item: (-item[1], item[0]))[:terms])
    told, said = sum(best.values()), sum(asked.values())
    own, new = (original if told else 1.0), (1 - original if said else 1.0)
    mixed = {w: own * asked[w] / said if asked[w] else 0.0 for w in asked} if said else {}
    for word, p in best.items():
        mixed[word] = mixed.get(word, 0.0) + new * p / told
    return {w: float(v) for w, v in mixed.items() if v > 0}


def feedback_lists(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, method: str, encoder: retrieval.Encoder | None = None,
                   first: str | None = None, feedback: int = 3, depth: int = 50, dimensions: int = DIMENSIONS, cache: Path | None = CACHE,
                   weight: float = 0.75, terms: int = 10, original: float = 0.5) -> pd.DataFrame:
    """Rows for the rankings table, ranker ``method``, scope pooled: what the second retrieval finds, the first ``feedback`` of ``first``'s list known.

    ``rocchio`` asks the vectors of ``encoder`` again (first: dense), ``rm3`` BM25 with weighted terms (first: bm25). Raises ValueError for another method.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    check_whole("feedback", feedback, 1)
    check_whole("depth", depth, 1)
    began = first or {"rocchio": "dense", "rm3": "bm25"}[method]
    mine = rankings[(rankings["scope"] == "pooled") & (rankings["ranker"] == began) & (rankings["rank"] <= feedback)]
    if mine.empty and len(questions):
        raise ValueError(f"there is no pooled list by {began!r} to learn from; rankers are {', '.join(sorted(set(rankings['ranker'])))}")
    rows: list[tuple] = []
    for dataset, asked in questions.groupby("dataset"):
        docs = documents[documents["dataset"] == dataset].reset_index(drop=True)
        corpus = [retrieval.passage(d.title, d.text) for d in docs.itertuples()]
        known = _known(mine[mine["dataset"] == dataset], docs)
        if method == "rocchio":
            if encoder is None:
                raise ValueError("rocchio needs an encoder, such as retrieval.SentenceEncoder('minilm')")
            scores = _by_vectors(asked, corpus, known, encoder, dimensions, cache, weight)
        else:
            scores = _by_words(asked, corpus, known, terms, original)
        ties = retrieval.tie_breaks(corpus)
        for qid, row in zip(asked["qid"], scores):
            made = _retrieved(row, ties, depth)
            rows += [(dataset, qid, "pooled", method, rank, docs["doc_id"].iat[i], s) for rank, (i, s) in enumerate(zip(*made), 1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _retrieved(scores: np.ndarray, ties: np.ndarray, depth: int) -> Retrieved:
    found = retrieval.ordered(scores, ties, depth)
    return Retrieved(found.tolist(), scores[found].tolist())


def _known(mine: pd.DataFrame, docs: pd.DataFrame) -> dict[str, tuple[list[int], list[float]]]:
    place = {d: i for i, d in enumerate(docs["doc_id"])}
    if lost := sorted(set(mine["doc_id"]) - set(place)):
        raise ValueError(f"the first list names document {lost[0]!r}, which is not in table documents")
    return {qid: ([place[d] for d in rows["doc_id"]], rows["score"].tolist()) for qid, rows in mine.sort_values([*QUESTION, "rank"]).groupby("qid")}


def _by_vectors(asked: pd.DataFrame, corpus: list[str], known: dict, encoder: retrieval.Encoder, dimensions: int, cache: Path | None,
                weight: float) -> np.ndarray:
    told = truncate(embed(corpus, encoder, cache), dimensions)
    own = truncate(embed(asked["question"].tolist(), encoder, cache), dimensions)
    turned = [rocchio(v, told, known.get(qid, ([], []))[0], weight) for qid, v in zip(asked["qid"], own)]
    return retrieval.dense_scores(np.array(turned), told)


def _by_words(asked: pd.DataFrame, corpus: list[str], known: dict, terms: int, original: float) -> np.ndarray:
    words = [text.content_terms(p) for p in corpus]
    weights = [rm3(text.content_terms(q), [words[i] for i in known.get(qid, ([], []))[0]], known.get(qid, ([], []))[1], terms, original)
               for qid, q in zip(asked["qid"], asked["question"])]
    every = sorted({w for ws in weights for w in ws})
    single, place, among = retrieval._bm25(every, corpus), {w: i for i, w in enumerate(every)}, np.arange(len(corpus))

    def total(told: dict[str, float]) -> np.ndarray:
        """BM25 is a sum over terms, so a weighted question is a weighted sum of one-word questions."""
        rows = single(np.array([place[w] for w in told], int), among).astype(float)
        return np.array(list(told.values())) @ rows if told else np.zeros(len(corpus))

    return np.array([total(told) for told in weights]).round(9)
