"""The policy assistant's search: filters first, then a hybrid pool, then an order, and four passages shown (document 001, "Worked production example").

A *list* is one question's chunks, best first. The second query is a second retrieval: its list may hold what the first one missed, so it is measured as
retrieval and never as reranking.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import policy_filters as filters
from lib import retrieval, text
from lib.rerankers import Reranker, ask
from lib.vectors import CACHE, embed, truncate
from lib.whole import check_whole

POOL, PLACES = 100, 4
BESIDE = ("appendix", "footnote", "table")  # where exceptions live
ASKED_FOR = "exception exemption does not apply except"  # what the second query asks for beside names


class Index(NamedTuple):
    """One way to cut the corpus, ready to be searched: chunks, their documents, the order of equal scores."""

    chunks: pd.DataFrame
    documents: pd.DataFrame
    ties: np.ndarray
    encoder: retrieval.Encoder
    cache: Path | None

    @property
    def document_of(self) -> dict[str, str]:
        """chunk_id -> doc_id."""
        return dict(zip(self.chunks["chunk_id"], self.chunks["doc_id"]))


def index(chunks: pd.DataFrame, documents: pd.DataFrame, encoder: retrieval.Encoder, cache: Path | None = CACHE) -> Index:
    """An index; raises ValueError without a chunk."""
    if chunks.empty:
        raise ValueError("no chunk to search: the documents have no sections")
    return Index(chunks.reset_index(drop=True), documents, retrieval.tie_breaks(chunks["text"].tolist()), encoder, cache)


def scored(here: Index, queries: Sequence[str]) -> dict[str, np.ndarray]:
    """Scores of every chunk for every query by BM25 and by vectors, (queries, chunks) each; words are weighed over the whole corpus."""
    texts = here.chunks["text"].tolist()
    asked, told = (truncate(embed(part, here.encoder, here.cache)) for part in (queries, texts))
    return {"bm25": retrieval.bm25_scores(queries, texts), "dense": retrieval.dense_scores(asked, told)}


def hybrid(scores: Mapping[str, np.ndarray], at: int, inside: np.ndarray, ties: np.ndarray, depth: int) -> np.ndarray:
    """One query's list among the chunks ``inside`` (places): both orders fused by reciprocal rank, as every hybrid list here; at most ``depth`` places."""
    if not len(inside):
        return inside
    orders = [retrieval.ordered(s[at][inside], ties[inside], len(inside)) for s in scores.values()]
    return inside[retrieval.ordered(retrieval.reciprocal_rank_fusion(orders, len(inside)), ties[inside], depth)]


def pools(here: Index, questions: pd.DataFrame, rules: Sequence[str] = filters.RULES, least_authority: int = 1, depth: int = POOL) -> dict[str, list[str]]:
    """qid -> its candidates, best first: chunks of documents that no rule refuses, filtered before any score."""
    check_whole("depth", depth, 1)
    scores, ids = scored(here, questions["question"].tolist()), here.chunks["chunk_id"].to_numpy()
    found = {}
    for at, question in enumerate(questions.to_dict("records")):
        allowed = filters.admissible(here.documents, question, rules, least_authority)
        inside = np.flatnonzero(here.chunks["doc_id"].isin(allowed))
        found[question["qid"]] = ids[hybrid(scores, at, inside, here.ties, depth)].tolist()
    return found


def operative(pool: Sequence[str], here: Index, source_types: Sequence[str] = ("policy",)) -> str | None:
    """The document that a pool's best chunk of an operative source belongs to; None where there is none."""
    kinds = dict(zip(here.documents["doc_id"], here.documents["source_type"]))
    of = here.document_of
    return next((of[chunk] for chunk in pool if kinds[of[chunk]] in source_types), None)


def structured_query(question: str, document: Mapping) -> str:
    """The second query: the found document's identifier and title, what the question speaks of, and the words of an exception.

    >>> structured_query("May night staff carry over leave?", {"identifier": "HR-1", "title": "Leave"})
    'HR-1 Leave may night staff carry leave exception exemption does not apply except'
    """
    names = [str(document.get(c)) for c in ("identifier", "title") if isinstance(document.get(c), str)]
    return " ".join([*names, *dict.fromkeys(text.content_terms(question)), ASKED_FOR])


def second_lists(here: Index, questions: pd.DataFrame, first: Mapping[str, Sequence[str]], rules: Sequence[str] = filters.RULES, least_authority: int = 1,
                 depth: int = 10, kinds: Sequence[str] = BESIDE) -> dict[str, list[str]]:
    """qid -> what the second query finds among appendices, footnotes and tables (``kinds``), the same filters before it.

    It needs chunks that know their section: windows have no kind, so there it finds nothing.
    """
    rows = here.documents.set_index("doc_id").to_dict("index")
    named = {q: operative(first[q], here) for q in questions["qid"]}
    asked = [structured_query(q["question"], rows[named[q["qid"]]] if named[q["qid"]] else {}) for q in questions.to_dict("records")]
    scores, ids, found = scored(here, asked), here.chunks["chunk_id"].to_numpy(), {}
    for at, question in enumerate(questions.to_dict("records")):
        allowed = filters.admissible(here.documents, question, rules, least_authority)
        inside = np.flatnonzero(here.chunks["doc_id"].isin(allowed) & here.chunks["kind"].isin(kinds))
        found[question["qid"]] = ids[hybrid(scores, at, inside, here.ties, depth)].tolist()
    return found


def reserved(first: Sequence[str], second: Sequence[str], places: int = PLACES, kept: int = 1) -> list[str]:
    """Both lists as one: the last ``kept`` of the ``places`` shown go to the best of the second list that the places before do not hold.

    The rest of the second list follows, then the rest of the first.

    >>> reserved(["a", "b", "c", "d"], ["b", "x"], places=3)
    ['a', 'b', 'x', 'c', 'd']
    """
    check_whole("kept", kept, 0, places)
    head = list(first[: places - kept])
    new = [chunk for chunk in second if chunk not in head][:kept]
    return list(dict.fromkeys([*head, *new, *second, *first]))


def reranked(lists: Mapping[str, Sequence[str]], questions: pd.DataFrame, here: Index, reranker: Reranker, read: int = POOL) -> dict[str, list[str]]:
    """The first ``read`` of each list in the reranker's order, the rest behind them; all pairs are scored together where it can prepare them."""
    check_whole("read", read, 1)
    pairs = texts(lists, questions, here, read)
    if hasattr(reranker, "prepare"):
        reranker.prepare([(question, chunk) for question, chunks in pairs.values() for chunk in chunks])
    return {q: [lists[q][i] for i in ask(reranker, *pairs[q]).order] + list(lists[q][read:]) for q in lists}


def texts(lists: Mapping[str, Sequence[str]], questions: pd.DataFrame, here: Index, read: int = POOL) -> dict[str, tuple[str, list[str]]]:
    """qid -> (the question, the texts of the first ``read`` of its list): what a reranker is asked."""
    told, asked = dict(zip(here.chunks["chunk_id"], here.chunks["text"])), dict(zip(questions["qid"], questions["question"]))
    return {q: (asked[q], [told[chunk] for chunk in chunks[:read]]) for q, chunks in lists.items()}
