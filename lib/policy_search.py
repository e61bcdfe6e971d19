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

from lib import policy_chunks, retrieval, text
from lib import policy_filters as filters
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
    """An index; raises ValueError without a chunk, or where two share an id."""
    if chunks.empty:
        raise ValueError("no chunk to search: the documents have no sections")
    return Index(policy_chunks.once(chunks).reset_index(drop=True), documents, retrieval.tie_breaks(chunks["text"].tolist()), encoder, cache)


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


def _asked(questions: pd.DataFrame) -> list[dict]:
    """The questions one by one. Raises ValueError where qid or question is missing, or a qid comes twice: two askers may have other rights."""
    if lacking := [c for c in ("qid", "question") if c not in questions]:
        raise ValueError(f"questions must have the column {lacking[0]}, got {', '.join(map(str, questions.columns))}; add it")
    if (twice := questions["qid"].duplicated()).any():
        raise ValueError(f"qid {questions.loc[twice, 'qid'].iloc[0]!r} comes twice, so that one asker would get the other's list; give each question its own")
    return questions.to_dict("records")


def pools(here: Index, questions: pd.DataFrame, rules: Sequence[str] = filters.RULES, least_authority: int = 1, depth: int = POOL) -> dict[str, list[str]]:
    """qid -> its candidates, best first: chunks of documents that no rule refuses, filtered before any score."""
    check_whole("depth", depth, 1)
    rows = _asked(questions)
    scores, ids, found = scored(here, [q["question"] for q in rows]), here.chunks["chunk_id"].to_numpy(), {}
    for at, question in enumerate(rows):
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

    It needs chunks that know their section: windows have no kind, so there it finds nothing. Raises ValueError for a question without a ``first`` list.
    """
    told, rows = _asked(questions), here.documents.set_index("doc_id").to_dict("index")
    if lacking := [q["qid"] for q in told if q["qid"] not in first]:
        raise ValueError(f"question {lacking[0]!r} has no first list; the second query needs what pools() found for it")
    named = {q["qid"]: operative(first[q["qid"]], here) for q in told}
    scores = scored(here, [structured_query(q["question"], rows[named[q["qid"]]] if named[q["qid"]] else {}) for q in told])
    ids, found = here.chunks["chunk_id"].to_numpy(), {}
    for at, question in enumerate(told):
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
    """qid -> (the question, the texts of the first ``read`` of its list): what a reranker is asked.

    Raises ValueError for a list of no question here, a chunk that is not in the index, or one id with two texts.
    """
    told, asked = dict(zip(policy_chunks.once(here.chunks)["chunk_id"], here.chunks["text"])), {q["qid"]: q["question"] for q in _asked(questions)}
    if (strange := [q for q in lists if q not in asked]) or (strange := [c for chunks in lists.values() for c in chunks if c not in told]):
        raise ValueError(f"{strange[0]!r} is neither a question nor a chunk here; give lists, questions and index of one search")
    return {q: (asked[q], [told[chunk] for chunk in chunks[:read]]) for q, chunks in lists.items()}
