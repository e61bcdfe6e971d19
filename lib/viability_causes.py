"""Why a relevant passage is missing from its pool: a label per missing passage, by stated rules on texts and metadata (document 001, viability test 2).

The first rule that holds gives the cause; the others that hold too are listed in ``also``. Words are content terms (lib.text).

1. access filter: the passage's ``entitlement`` is none of those that the query carries.
2. freshness: the passage took effect after the index was built (``effective_from`` > ``indexed_at``), is not in the index at all, or the pool
   holds the version that it replaces (``superseded_by``).
3. chunking: the passage holds too few of the question's words, but its document as a whole, headings and footnotes included, holds enough.
4. underspecified query: the passage holds every word of the question, and so do as many others as the pool is deep, or more.
5. vocabulary: passage and document hold too few of the question's words.
6. unknown: its words fit and nothing above explains it, or its text is not at hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import NamedTuple

import pandas as pd

from lib.text import content_terms

KEY = ["dataset", "qid"]
ACCESS, FRESHNESS, CHUNKING, UNDERSPECIFIED, VOCABULARY, UNKNOWN = "access filter", "freshness", "chunking", "underspecified query", "vocabulary", "unknown"
CAUSES = (ACCESS, FRESHNESS, CHUNKING, UNDERSPECIFIED, VOCABULARY, UNKNOWN)
ENOUGH = 1 / 3  # of the question's words: less is a vocabulary mismatch
CAUSE_COLUMNS = [*KEY, "doc_id", "grade", "cause", "also", "overlap", "document_overlap", "rivals", "linked"]


class Case(NamedTuple):
    """What the rules look at for one missing passage. Shares are of the question's content terms; None: not known."""

    overlap: float | None
    document_overlap: float | None
    rivals: int  # other passages that hold every word of the question
    depth: int  # of the pool
    entitled: bool = True
    fresh: bool = True


RULES: dict[str, Callable[[Case, float], bool]] = {
    ACCESS: lambda c, enough: not c.entitled,
    FRESHNESS: lambda c, enough: not c.fresh,
    CHUNKING: lambda c, enough: c.overlap is not None and c.overlap < enough <= c.document_overlap,
    UNDERSPECIFIED: lambda c, enough: c.overlap == 1 and c.rivals >= max(c.depth, 1),
    VOCABULARY: lambda c, enough: c.overlap is not None and c.document_overlap < enough,
}


def causes_of(case: Case, enough: float = ENOUGH) -> list[str]:
    """Every rule that holds, in order; ["unknown"] where none does.

    >>> causes_of(Case(overlap=0.1, document_overlap=0.6, rivals=0, depth=10))
    ['chunking']
    """
    return [cause for cause, holds in RULES.items() if holds(case, enough)] or [UNKNOWN]


def missing_passages(pools: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """Relevant passages that their query's pool lacks: dataset, qid, doc_id, grade."""
    relevant = judgements.loc[judgements["grade"] > 0, [*KEY, "doc_id", "grade"]].drop_duplicates([*KEY, "doc_id"])
    held = pd.MultiIndex.from_frame(pools[[*KEY, "doc_id"]])
    return relevant[~pd.MultiIndex.from_frame(relevant[[*KEY, "doc_id"]]).isin(held)].sort_values([*KEY, "doc_id"], ignore_index=True)


def omission_causes(
    pools: pd.DataFrame,
    judgements: pd.DataFrame,
    queries: pd.DataFrame | None = None,
    corpus: pd.DataFrame | None = None,
    indexed_at: str | None = None,
    enough: float = ENOUGH,
    depth: int | None = None,
) -> pd.DataFrame:
    """Label every missing passage: ``CAUSE_COLUMNS``, one row a (query, passage).

    ``queries``: qid, text (or question), and where filters apply ``entitlements`` (a list, or names with ';' between) and ``indexed_at``;
    ``corpus``: doc_id, text, and where known title, document (whose chunk it is; else passages that share a title are of one document),
    entitlement, effective_from (ISO days), superseded_by. ``depth``: of the pools asked for, by default the longest. ``overlap`` and
    ``document_overlap``: shares of the question's words in passage and document; ``linked``: a passage of the pool names
    its title, so that a second retrieval could find it.
    """
    missing = missing_passages(pools, judgements)
    depth = depth or int(pools.groupby(KEY).size().max() if len(pools) else 0)
    asked = {} if queries is None else {row["qid"]: row for row in queries.to_dict("records")}
    known = None if corpus is None else _Corpus(corpus, [_question(asked[q]) for q in dict.fromkeys(missing["qid"]) if q in asked])
    found = {qid: list(ids) for qid, ids in pools[pools["qid"].isin(set(missing["qid"]))].groupby("qid")["doc_id"]}
    rows = [
        (*row, *_labelled(row, asked.get(row[1]), known, found.get(row[1], []), depth, indexed_at, enough))
        for row in missing.itertuples(index=False, name=None)
    ]
    return pd.DataFrame(rows, columns=CAUSE_COLUMNS).astype({"overlap": float, "document_overlap": float, "rivals": "Int64", "linked": "boolean"})


def _labelled(row: tuple, query: dict | None, corpus: _Corpus | None, pool: list[str], depth: int, indexed_at: str | None, enough: float) -> tuple:
    passage = corpus.rows.get(row[2]) if corpus else None
    day = (query or {}).get("indexed_at") or indexed_at
    fresh = corpus is None or (passage is not None and not _newer(passage.get("effective_from"), day) and not corpus.replaced(row[2], pool))
    entitled = not passage or query is None or _entitled(passage.get("entitlement"), query.get("entitlements"))
    if not passage or query is None or not (words := set(content_terms(_question(query)))):
        labels = causes_of(Case(None, None, 0, depth, entitled, fresh), enough)
        return labels[0], "; ".join(labels[1:]), None, None, None, None
    own = len(words & corpus.terms(row[2])) / len(words)
    whole = len(words & corpus.document_terms(row[2])) / len(words)
    rivals = corpus.holding(words) - (own == 1)
    labels = causes_of(Case(own, whole, rivals, depth, entitled, fresh), enough)
    return labels[0], "; ".join(labels[1:]), own, whole, rivals, corpus.names(pool, passage.get("title"))


def _question(query: dict) -> str:
    return str(query.get("text") if _there(query.get("text")) else query.get("question", ""))


def _there(value: object) -> bool:
    return value is not None and (not pd.api.types.is_scalar(value) or (not pd.isna(value) and value != ""))


def _newer(effective_from: object, day: object) -> bool:
    return _there(effective_from) and _there(day) and str(effective_from) > str(day)


def _entitled(needed: object, held: object) -> bool:
    """Whether a query may see a passage: open passages are everyone's; a query that states no entitlements is not filtered."""
    if not _there(needed) or not (_there(held) or held == ""):
        return True
    return str(needed) in ([e.strip() for e in held.split(";")] if isinstance(held, str) else set(map(str, held)))


class _Corpus:
    """Passages by id, their words, and which of them hold a question's words (indexed for the words asked alone)."""

    def __init__(self, corpus: pd.DataFrame, questions: list[str]):
        self.rows = {row["doc_id"]: row for row in corpus.to_dict("records")}
        self.chunks: dict[object, list[str]] = defaultdict(list)
        for doc in self.rows:
            self.chunks[self._document(doc)].append(doc)
        wanted = {term for question in questions for term in content_terms(question)}
        self._terms = (
            {doc: wanted.intersection(content_terms(f"{row.get('title') or ''}\n{row['text']}")) for doc, row in self.rows.items()} if wanted else {}
        )
        self._postings: dict[str, set[str]] = defaultdict(set)
        for doc, terms in self._terms.items():
            for term in terms:
                self._postings[term].add(doc)

    def _document(self, doc: str) -> object:
        row = self.rows[doc]
        return next((("document", row[c]) if c == "document" else ("title", row[c]) for c in ("document", "title") if _there(row.get(c))), ("passage", doc))

    def terms(self, doc: str) -> set[str]:
        return self._terms.get(doc, set())

    def document_terms(self, doc: str) -> set[str]:
        return set().union(*(self.terms(chunk) for chunk in self.chunks[self._document(doc)]))

    def holding(self, words: Collection[str]) -> int:
        """How many passages hold every one of the words."""
        return len(set.intersection(*(self._postings[word] for word in words)))

    def replaced(self, doc: str, pool: list[str]) -> bool:
        """Whether the pool holds an older version of ``doc``."""
        return any(self.rows[old].get("superseded_by") == doc for old in pool if old in self.rows)

    def names(self, pool: list[str], title: object) -> bool:
        """Whether a passage of the pool says the title."""
        return _there(title) and any(str(title).casefold() in str(self.rows[doc]["text"]).casefold() for doc in pool if doc in self.rows)
