"""The arms of the policy assistant, and what each shows of every question's evidence (document 001, "Worked production example"; SPEC 11).

Exception retrieval is repaired step by step (``STEPS``): windows, then chunks that end with their section, then chunks with their lineage, then a place
kept for an appendix, footnote or table, filled from the same pool, then from a second query. The step before the last tells what the place alone does: it
retrieves nothing. An *arm* (``ARMS``) is a whole way from a question to four passages; arms stand in the order of their price.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib import policy_chunks, retrieval
from lib import policy_filters as filters
from lib import policy_search as search
from lib.policy_bundles import measured
from lib.policy_corpus import PolicyCorpus
from lib.rerankers import Reranker
from lib.vectors import CACHE

STEPS = ("windows", "sections", "lineage", "kept place", "second query")
AGAIN = " + reranker"
ROUTED = ("windows", "lineage", "second query")  # steps that are arms, as they are and reranked
ARMS = (*ROUTED, *(name + AGAIN for name in ROUTED))
MEASURES = ("complete", "coverage", "union", "pool_complete", "ceiling", "ceiling_coverage", "headroom", "omission_gap", "exception_in_pool",
            "exception_shown")
OUTCOME = ["qid", "slice", "arm", *MEASURES, "words", "candidates", "scored"]


class Search(NamedTuple):
    """How the assistant searches: the filters in force, the pool's depth, places shown, places kept for the second query, candidates a reranker reads."""

    rules: Sequence[str] = filters.RULES
    least_authority: int = 1
    depth: int = search.POOL
    places: int = search.PLACES
    kept: int = 1
    read: int = 50


USUAL = Search()


class Lists(NamedTuple):
    """One arm: an index, a list a question (its pool, in the order in which it is shown), and how many passages a reranker scored for each."""

    index: search.Index
    found: Mapping[str, list[str]]
    scored: Mapping[str, int]


def indexes(corpus: PolicyCorpus, encoder: retrieval.Encoder, cache: Path | None = CACHE) -> dict[str, search.Index]:
    """An index for each way to cut the documents."""
    return {how: search.index(policy_chunks.chunks(corpus.documents, how), corpus.documents, encoder, cache) for how in policy_chunks.STEPS}


def first_stage(corpus: PolicyCorpus, by_cut: Mapping[str, search.Index], how: Search = USUAL) -> dict[str, Lists]:
    """The lists of ``STEPS`` in first-stage order; no reranker is asked. A pool holds at most ``how.depth`` chunks, the second query's among them."""
    none = dict.fromkeys(corpus.questions["qid"], 0)
    made = {cut: Lists(here, search.pools(here, corpus.questions, how.rules, how.least_authority, how.depth), none) for cut, here in by_cut.items()}
    here, first = made["lineage"].index, made["lineage"].found
    kinds = dict(zip(here.chunks["chunk_id"], here.chunks["kind"]))
    beside = {q: [chunk for chunk in first[q] if kinds[chunk] in search.BESIDE] for q in first}
    second = search.second_lists(here, corpus.questions, first, how.rules, how.least_authority)
    filled = {"kept place": beside, "second query": second}
    return made | {name: Lists(here, {q: search.reserved(first[q], found[q], how.places, how.kept)[: how.depth] for q in first}, none)
                   for name, found in filled.items()}


def reranked(corpus: PolicyCorpus, steps: Mapping[str, Lists], reranker: Reranker, how: Search = USUAL) -> dict[str, Lists]:
    """The arms of ``ROUTED`` reranked: of each step's pool the first ``how.read``, the deeper ones behind them as they were.

    The place kept for the second query stays its own: what it holds has another role and is no rival for the same place.
    """
    made = {}
    for name in ROUTED:
        here, pool = steps[name].index, steps[name].found
        order = search.reranked(pool, corpus.questions, here, reranker, how.read)
        if name == "second query":
            second = search.second_lists(here, corpus.questions, steps["lineage"].found, how.rules, how.least_authority)
            order = {q: search.reserved(order[q], second[q], how.places, how.kept)[: how.depth] for q in order}
        made[name + AGAIN] = Lists(here, order, {q: min(len(pool[q]), how.read) for q in pool})
    return made


def outcomes(corpus: PolicyCorpus, arms: Mapping[str, Lists], how: Search = USUAL) -> pd.DataFrame:
    """``OUTCOME``: a row a question and arm; shares in [0, 1], missing where a question has no bundle (or no exception); ``words`` are those shown.

    The last gate stands here once more: of each list only documents that no rule refuses are shown.
    """
    allowed = {q["qid"]: filters.admissible(corpus.documents, q, how.rules, how.least_authority) for q in corpus.questions.to_dict("records")}
    rows = []
    for arm, lists in arms.items():
        judged = policy_chunks.holders(corpus.judgements, lists.index.chunks)
        by, of = dict(iter(judged.groupby("qid"))), lists.index.document_of
        length = dict(zip(lists.index.chunks["chunk_id"], lists.index.chunks["text"].str.split().str.len()))
        for qid, name in zip(corpus.questions["qid"], corpus.questions["slice"]):
            shown = filters.shown(lists.found[qid], of, allowed[qid], how.places)
            found = measured(by.get(qid, judged.iloc[:0]), lists.found[qid], shown, how.places)
            counts = {"words": sum(length[c] for c in shown), "candidates": len(lists.found[qid]), "scored": lists.scored[qid]}
            rows.append({"qid": qid, "slice": name, "arm": arm, **found, **counts})
    return pd.DataFrame(rows, columns=OUTCOME).astype(dict.fromkeys(MEASURES, float))


def window_sizes(corpus: PolicyCorpus, encoder: retrieval.Encoder, sizes: Sequence[int], how: Search = USUAL,
                 cache: Path | None = CACHE) -> pd.DataFrame:
    """``outcomes`` of windows of several sizes (words, a sixth of them overlapping), arm ``windows of N``: is the first step a straw man?"""
    made = {}
    for words in sizes:
        cut = policy_chunks.chunks(corpus.documents, "windows", words, words // 6)
        here = search.index(cut, corpus.documents, encoder, cache)
        made[f"windows of {words}"] = Lists(here, search.pools(here, corpus.questions, how.rules, how.least_authority, how.depth),
                                            dict.fromkeys(corpus.questions["qid"], 0))
    return outcomes(corpus, made, how)
