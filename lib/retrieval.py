"""First-stage rankings: a dense bi-encoder, BM25, and their reciprocal-rank fusion, over a question's own pool or all passages (SPEC 2)."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from lib import text, weights
from lib.store import StoreError, disk_errors
from lib.tables import ROOT

DIMENSIONS = 320  # document 000, section 5: vectors truncated to 320 dimensions
RRF_K = 60        # Cormack, Clarke and Buettcher (2009)
Score = Callable[[str], np.ndarray]


class Encoder(Protocol):
    """Turns texts into vectors; ``name`` keys the cache."""

    name: str

    def encode(self, texts: Sequence[str]) -> np.ndarray: ...


class SentenceEncoder:
    """A sentence-transformers bi-encoder (weights registry name, folder or hub id), loaded at the first text it has to encode (fp32)."""

    def __init__(self, name: str, batch_size: int = 32):
        self.name, self.batch_size, self._model = name, batch_size, None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (n, d) float32; raises WeightsError when the model cannot be had."""
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            where = weights.source(self.name)
            with weights.loading(self.name):
                self._model = SentenceTransformer(str(where))
        return self._model.encode(list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False)


def truncate(vectors: np.ndarray, dimensions: int = DIMENSIONS) -> np.ndarray:
    """The first ``dimensions`` coordinates, renormalised to length 1; raises ValueError for a vector with NaN or infinity."""
    short = np.asarray(vectors, np.float32)[:, :dimensions]
    if not np.isfinite(short).all():
        at = int(np.flatnonzero(~np.isfinite(short).all(axis=1))[0])
        raise ValueError(f"vector {at} of {len(short)} holds NaN or infinity; delete data/cache/vectors and encode again")
    return short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-12)


def embed(texts: Sequence[str], encoder: Encoder, cache: Path | None = ROOT / "data" / "cache" / "vectors", batch: int = 256) -> np.ndarray:
    """Vectors of ``texts`` (n, d), each distinct text encoded once ever: saved after every batch, so a killed run resumes.

    Raises StoreError for a full disk or a damaged ``cache``. Batches depend neither on the order of ``texts`` nor on when a run was killed, since an encoder's last bits follow its batch.
    """
    from diskcache import Cache
    from tqdm.auto import tqdm

    keys = [hashlib.sha256(f"{encoder.name}\n{t}".encode()).hexdigest() for t in texts]
    known: dict[str, np.ndarray] = {}
    guard = _cache_errors(cache)
    with guard():
        # diskcache would start to forget at 1 GB
        store = Cache(str(cache), eviction_policy="none", size_limit=1 << 50) if cache else {}
        for k in dict.fromkeys(keys):
            if k in store:
                known[k] = _vector(store[k], cache)
    todo = [(k, t) for k, t in dict(zip(keys, texts)).items() if k not in known]
    todo.sort(key=lambda pair: (len(pair[1]), pair[1]))
    for i in tqdm(range(0, len(todo), batch), desc=f"embedding with {encoder.name}", disable=None if todo else True):
        part = todo[i:i + batch]
        made = {k: np.asarray(v, np.float32) for (k, _), v in zip(part, encoder.encode([t for _, t in part]), strict=True)}
        known.update(made)
        with guard(), store.transact() if cache else nullcontext():  # all of a batch or none
            for k, v in made.items():
                store[k] = v.tobytes()
    if cache:
        store.close()
    if len(lengths := {len(v) for v in known.values()}) > 1:
        raise StoreError(f"vectors of {encoder.name} have {sorted(lengths)} numbers; {_mend(cache)}")
    return np.stack([known[k] for k in keys]) if keys else np.zeros((0, DIMENSIONS), np.float32)


def _mend(cache: Path | None) -> str:
    shown = cache.relative_to(ROOT) if cache and cache.is_relative_to(ROOT) else cache
    return f"delete {shown} and run again: texts are encoded anew"


def _cache_errors(cache: Path | None) -> Callable:
    return partial(disk_errors, cache, _mend(cache)) if cache else nullcontext


def _vector(value: object, cache: Path | None) -> np.ndarray:
    """A cached vector; raises StoreError where it is none."""
    if cache and not (isinstance(value, bytes) and value and len(value) % 4 == 0):
        raise StoreError(f"{cache.name}: a stored vector is damaged; {_mend(cache)}")
    return np.frombuffer(value, np.float32)


def passage(title: str, body: str) -> str:
    """What every ranker sees of a document."""
    return f"{title}. {body}"


def dense_scores(question_vectors: np.ndarray, document_vectors: np.ndarray) -> np.ndarray:
    """Cosine of each question with each document; rows are unit vectors. Shape (questions, documents)."""
    # a float32 product differs in its last bits with a row's place in the matrix, so renaming documents would change scores
    return np.round(np.asarray(question_vectors, float) @ np.asarray(document_vectors, float).T, 9)


def bm25_scores(questions: Sequence[str], passages: Sequence[str]) -> np.ndarray:
    """BM25 (Lucene's form, k1 1.5, b 0.75) of each question over all passages; idf from the whole corpus. Shape (questions, documents)."""
    import bm25s

    corpus, scores = [text.content_terms(p) for p in passages], np.zeros((len(questions), len(passages)), np.float32)
    if not any(corpus):
        return scores
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(corpus, show_progress=False)
    known = set(index.vocab_dict)
    for row, question in zip(scores, questions):
        terms = [t for t in text.content_terms(question) if t in known]
        row[:] = index.get_scores(terms) if terms else 0
    return scores


def tie_breaks(passages: Sequence[str]) -> np.ndarray:
    """A fixed order for equal scores that depends on what a passage says, not on its id: renaming documents changes nothing."""
    digests = [hashlib.sha256(p.encode()).digest() for p in passages]
    return np.argsort(np.argsort(np.array(digests, dtype="S32"), kind="stable"), kind="stable")


def ordered(scores: np.ndarray, ties: np.ndarray, depth: int) -> np.ndarray:
    """Indices of the ``depth`` best scores, best first; equal scores by ``ties``."""
    return np.lexsort((ties, -scores))[:depth]


def reciprocal_rank_fusion(rankings: Iterable[np.ndarray], n: int, k: int = RRF_K) -> np.ndarray:
    """Sum of 1 / (k + rank) over rankings (arrays of indices, best first) of n documents. Shape (n,)."""
    fused = np.zeros(n)
    for ranking in rankings:
        fused[ranking] += 1.0 / (k + 1 + np.arange(len(ranking)))
    return fused


def rank(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: Encoder, scopes=("own", "pooled"), depth: int = 50,
         cache: Path | None = ROOT / "data" / "cache" / "vectors", dimensions: int = DIMENSIONS) -> pd.DataFrame:
    """The rankings table of one data set for dense, bm25 and hybrid in each scope; ``depth`` documents at most."""
    passages = [passage(d.title, d.text) for d in documents.itertuples()]
    vectors = truncate(embed(passages, encoder, cache), dimensions)
    asked = truncate(embed(questions["question"].tolist(), encoder, cache), dimensions)
    scored = {"dense": dense_scores(asked, vectors), "bm25": bm25_scores(questions["question"].tolist(), passages)}
    place = {d: i for i, d in enumerate(documents["doc_id"])}
    if len(lost := pools[~pools["doc_id"].isin(place.keys())]):
        raise ValueError(f"the pool of question {lost['qid'].iat[0]!r} names document {lost['doc_id'].iat[0]!r}, which is not in table documents")
    own = {q: np.array([place[d] for d in group]) for q, group in pools.groupby("qid")["doc_id"]}
    ties, everything = tie_breaks(passages), np.arange(len(passages))
    rows = []
    for scope in scopes:
        for i, q in enumerate(questions.itertuples()):
            inside = everything if scope == "pooled" else own.get(q.qid, everything[:0])
            lists = {name: inside[ordered(s[i][inside], ties[inside], len(inside))] for name, s in scored.items()}
            fused = reciprocal_rank_fusion([lists["dense"], lists["bm25"]], len(passages))
            lists["hybrid"] = inside[ordered(fused[inside], ties[inside], len(inside))]
            for name, ranking in lists.items():
                values = fused if name == "hybrid" else scored[name][i]
                rows += [(q.dataset, q.qid, scope, name, r, documents["doc_id"].iat[j], float(values[j]))
                         for r, j in enumerate(ranking[:depth], 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def rank_sets(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: Encoder, depth: int = 50,
              dimensions: int = DIMENSIONS) -> pd.DataFrame:
    """``rank`` for every data set: the rankings table."""
    parts = [rank(asked, documents[documents["dataset"] == name], pools[pools["dataset"] == name], encoder, depth=depth, dimensions=dimensions)
             for name, asked in questions.groupby("dataset")]
    return pd.concat(parts, ignore_index=True)
