"""First-stage rankings: dense encoders, BM25, a fusion of the two and learned sparse terms, over a question's own pool or all passages (SPEC 2)."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import splade, text, weights
from lib.encoders import Encoder, SentenceEncoder, encoder  # noqa: F401 - one name, lib.retrieval, for the whole subject
from lib.rankers import OURS, check_more  # noqa: F401
from lib.tables import ROOT  # noqa: F401
from lib.vectors import CACHE, DIMENSIONS, embed, truncate
from lib.whole import check_whole

RRF_K = 60          # Cormack, Clarke and Buettcher (2009)
CELLS = 4_000_000   # scores held at once for one ranker, 32 MB: questions are ranked in blocks
SCOPES = ("own", "pooled")
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]  # places of questions, places of documents -> (questions, documents)


def passage(title: str, body: str) -> str:
    """What every ranker sees of a document."""
    return f"{title}. {body}"


def dense_scores(question_vectors: np.ndarray, document_vectors: np.ndarray) -> np.ndarray:
    """Cosine of each question with each document; rows are unit vectors. Shape (questions, documents)."""
    # a float32 product differs in its last bits with a row's place in the matrix, so renaming documents would change scores
    if np.ndim(document_vectors) == 2 and not (len(question_vectors) and len(document_vectors)):  # no text has vectors of no known length
        return np.zeros((len(question_vectors), len(document_vectors)))
    return np.round(np.asarray(question_vectors, float) @ np.asarray(document_vectors, float).T, 9)


def bm25_scores(questions: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    """BM25 (Lucene's form, k1 1.5, b 0.75) of each question over all passages; idf from the whole corpus. Shape (questions, documents)."""
    return _bm25(questions, passages)(np.arange(len(questions)), np.arange(len(passages)))


def _bm25(questions: Sequence[str], passages: Sequence[str]) -> Score:
    import bm25s

    corpus = [text.content_terms(p) for p in passages]
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    if any(corpus):
        index.index(corpus, show_progress=False)
    known = set(index.vocab_dict) if any(corpus) else set()

    def score(asked: np.ndarray, among: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(asked), len(among)), np.float32)
        for row, i in zip(scores, asked):
            if terms := [t for t in text.content_terms(questions[i]) if t in known]:
                row[:] = index.get_scores(terms)[among]
        return scores

    return score


def _dense(questions: Sequence[str], passages: Sequence[str], encoder: Encoder, cache: Path | None, dimensions: int) -> Score:
    told = truncate(embed(passages, encoder, cache), dimensions).astype(float)
    asked = truncate(embed(questions, encoder, cache), dimensions)
    return lambda rows, columns: dense_scores(asked[rows], told[columns])


def _named(name: str, questions: Sequence[str], passages: Sequence[str], cache: Path | None, dimensions: int) -> Score:
    """Scores of a further ranker: learned sparse terms where the registered weights are a masked language model, else a dense encoder's."""
    if not _sparse(name):
        return _dense(questions, passages, encoder(name), cache, dimensions)
    asked, told = splade.term_weights(questions, passages, splade.SparseEncoder(name), cache)
    return lambda rows, columns: splade.sparse_scores(asked[rows], told[columns])


def _sparse(name: str) -> bool:
    return name in weights.REGISTRY and weights.REGISTRY[name].kind == splade.KIND


def check_ranking(scopes: Sequence[str], depth: int, dimensions: int) -> None:
    """Raise ValueError for what no ranking can be told: scopes other than own and pooled, a depth or dimensions that are no whole number of 1 or more.

    >>> check_ranking(("own",), 50, 320)
    """
    listed = isinstance(scopes, (list, tuple)) and len(scopes) > 0 and all(isinstance(s, str) for s in scopes)
    if not listed or len(set(scopes)) < len(scopes) or not set(scopes) <= set(SCOPES):
        raise ValueError(f"scopes must be a list of distinct names out of {', '.join(SCOPES)}, got {scopes!r}; mend the call")
    check_whole("depth", depth, 1)
    check_whole("dimensions", dimensions, 1)


def tie_breaks(passages: Sequence[str]) -> np.ndarray:
    """A fixed order for equal scores that depends on what a passage says, not on its id: renaming documents changes nothing."""
    digests = [hashlib.sha256(text.encoded(p)).digest() for p in passages]
    return np.argsort(np.argsort(np.array(digests, dtype="S32"), kind="stable"), kind="stable")


def ordered(scores: np.ndarray, ties: np.ndarray, depth: int) -> np.ndarray:
    """Indices of the ``depth`` best scores, best first; equal scores by ``ties``."""
    if not 0 < depth < len(scores):
        return np.lexsort((ties, -scores))[:depth]
    reach = np.flatnonzero(scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth])  # no worse than the last that fits
    return reach[np.lexsort((ties[reach], -scores[reach]))[:depth]]


def reciprocal_rank_fusion(rankings: Iterable[np.ndarray], n: int, k: int = RRF_K) -> np.ndarray:
    """Sum of 1 / (k + rank) over rankings (arrays of indices, best first) of n documents. Shape (n,)."""
    fused = np.zeros(n)
    for ranking in rankings:
        fused[ranking] += 1.0 / (k + 1 + np.arange(len(ranking)))
    return fused


def rank(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: Encoder, scopes=("own", "pooled"), depth: int = 50,
         cache: Path | None = CACHE, dimensions: int = DIMENSIONS, *, more: Sequence[str] = ()) -> pd.DataFrame:
    """The rankings table of one data set for dense, bm25, hybrid and ``more`` encoders by name, in each scope; ``depth`` documents at most.

    Questions are ranked in blocks, so memory grows with the rows of the table and not with questions x documents.
    """
    check_more(more)
    check_ranking(scopes, depth, dimensions)
    asked, passages = questions["question"].tolist(), [passage(d.title, d.text) for d in documents.itertuples()]
    scores = {"dense": _dense(asked, passages, encoder, cache, dimensions), "bm25": _bm25(asked, passages)}
    scores |= {name: _named(name, asked, passages, cache, dimensions) for name in more}
    own, ties = _own(questions, documents, pools), tie_breaks(passages)
    lists: dict[str, list] = {scope: [] for scope in scopes}
    for block in _blocks(len(asked), len(passages) if "pooled" in scopes else 0):
        among = np.arange(len(passages)) if "pooled" in scopes else np.unique(np.concatenate([own[i] for i in block]))
        scored = {name: score(block, among) for name, score in scores.items()}
        for scope in scopes:
            for k, i in enumerate(block):
                inside = np.arange(len(among)) if scope == "pooled" else np.searchsorted(among, own[i])
                found = _lists({name: s[k][inside] for name, s in scored.items()}, ties[among[inside]], depth)
                lists[scope] += [(i, name, among[inside[at]], values) for name, (at, values) in found.items()]
    return _table(questions, documents, lists)


def _own(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame) -> list[np.ndarray]:
    """Places of each question's own documents; raises ValueError for a document that is not there."""
    place = {d: i for i, d in enumerate(documents["doc_id"])}
    if len(lost := pools[~pools["doc_id"].isin(place.keys())]):
        raise ValueError(f"the pool of question {lost['qid'].iat[0]!r} names document {lost['doc_id'].iat[0]!r}, which is not in table documents")
    own = {q: np.array([place[d] for d in group]) for q, group in pools.groupby("qid")["doc_id"]}
    return [own.get(q, np.zeros(0, int)) for q in questions["qid"]]


def _blocks(n_questions: int, n_documents: int) -> list[np.ndarray]:
    """Places of the questions that are scored together; 64 where each has its own few documents (``n_documents`` 0)."""
    size = max(1, CELLS // n_documents) if n_documents else 64
    return [np.arange(start, min(start + size, n_questions)) for start in range(0, n_questions, size)]


def _lists(scored: dict[str, np.ndarray], ties: np.ndarray, depth: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """One question's lists in one scope, best first: places and scores; hybrid fuses the whole lists of dense and bm25."""
    whole = [ordered(scored[name], ties, len(ties)) for name in ("dense", "bm25")]
    out = {"dense": scored["dense"], "bm25": scored["bm25"], "hybrid": reciprocal_rank_fusion(whole, len(ties))} | scored
    orders = dict(zip(("dense", "bm25"), (order[:depth] for order in whole)))
    orders |= {name: ordered(s, ties, depth) for name, s in out.items() if name not in orders}
    return {name: (orders[name], s[orders[name]].astype(float)) for name, s in out.items()}


def _table(questions: pd.DataFrame, documents: pd.DataFrame, lists: dict[str, list]) -> pd.DataFrame:
    """The rankings table of lists (place of the question, ranker, places of documents, scores) by scope."""
    rows = [(scope, *entry) for scope, entries in lists.items() for entry in entries if len(entry[2])]
    columns = ["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"]
    if not rows:
        return pd.DataFrame([], columns=columns)
    scope, asked, ranker, found, values = zip(*rows)
    lengths = [len(f) for f in found]
    asked = np.repeat(asked, lengths)
    made = [questions["dataset"].to_numpy()[asked], questions["qid"].to_numpy()[asked], np.repeat(np.array(scope, object), lengths),
            np.repeat(np.array(ranker, object), lengths), np.concatenate([np.arange(1, n + 1) for n in lengths]),
            documents["doc_id"].to_numpy()[np.concatenate(found)], np.concatenate(values)]
    return pd.DataFrame(dict(zip(columns, made)))


def rank_sets(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: Encoder, depth: int = 50,
              dimensions: int = DIMENSIONS, more: Sequence[str] = (), cache: Path | None = CACHE) -> pd.DataFrame:
    """``rank`` for every data set: the rankings table; without a row where there is no question."""
    parts = [rank(asked, documents[documents["dataset"] == name], pools[pools["dataset"] == name], encoder, depth=depth, cache=cache,
                  dimensions=dimensions, more=more) for name, asked in questions.groupby("dataset")]
    return pd.concat(parts, ignore_index=True) if parts else _table(questions, documents, {})
