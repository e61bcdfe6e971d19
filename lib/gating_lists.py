"""The lists that a gate chooses between, and what the reranker makes of their union: the table gate_candidates of notebook 01 (document 002, sections 2 and 4).

H is the graph list, V the dense one. The expensive reranker reads the first ten of both together and orders them: list R. A row a question and candidate holds
what the two lists and the reranker say of it and how it fits the question's words, and no text, so that the lists, their features and the student D can be
made from it anywhere.
"""
from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib.gating_files import check_pattern
from lib.graph_list_distilled import WORDS, word_features
from lib.pool_union import COLUMNS as POOLED
from lib.pool_union import FIRST, RRF_K, H, V, as_rankings, pool
from lib.ranking import QUESTION
from lib.rerankers_open import check_spec
from lib.rerankers_sample import CODER, Task, list_name, reranked
from lib.store import Store

POOL = "H + V"
POOLS: dict[str, tuple[str, ...]] = {"H + V + BM25": (H, V, "bm25"), "all five": (H, V, "bm25", "wordllama", "splade-tiny")}  # document 002's table 9
LANGUAGE = Task({"method": "yes_no", **CODER}, 40, 2 * FIRST, POOL)  # the language model on record, for a subset
OPTIONS = ("expand", "ablate")
PLACES = 10  # of a list over a larger pool that are kept
CANDIDATES = [*POOLED, "title_key", *WORDS, "rank_r", "score_r"]
USAGE = [*QUESTION, "reranker", "pairs", "tokens"]
LISTED = [*QUESTION, "pool", "reranker", "rank", "doc_id"]


class Made(NamedTuple):
    """``candidates``: CANDIDATES, the union of H and V; ``usage``: USAGE, what ordering it cost, where any was read; ``pools``: LISTED, the first places
    over this and other pools and by other rerankers; ``left_out``: {list: reason}."""

    candidates: pd.DataFrame
    usage: pd.DataFrame
    pools: pd.DataFrame
    left_out: dict[str, str]


def made(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, spec: Mapping[str, Any] | None, language_models: bool = False,
         expand: Collection[str] = (), scope: str = "pooled", store: Store | None = None, progress: bool = False) -> Made:
    """Everything a gate needs, from ``rankings`` with the rankers graph and dense in ``scope``.

    ``spec``: the reranker (``rerankers_open``), None: H and V alone, rank_r missing; ``language_models``: also LANGUAGE's subset, as far as it is on record;
    ``expand``: data sets whose larger POOLS are reranked, too. Raises ValueError for a list that is not there and a specification that is none.
    """
    if spec:
        check_spec(spec)
    rankings = rankings.merge(questions[QUESTION], on=QUESTION)
    pooled = pool(rankings, scope=scope)
    shown = as_rankings(pooled, POOL, scope)
    rows, costs, left = _read(shown, questions, documents, [Task(spec, 0, 2 * FIRST, POOL)] if spec else [], store, scope, progress)
    listed = [_listed(rows, costs)]
    if spec and language_models:
        found, own, absent = _read(shown, questions, documents, [LANGUAGE], store, scope, progress)
        listed.append(_listed(found[~found["ranker"].isin(rows["ranker"])], own))  # the language model may be the reranker itself
        left = absent | left
    if spec and len(expand):
        found, absent = expanded(rankings[rankings["dataset"].isin(list(expand))], questions, documents, spec, scope, store, progress)
        listed.append(found)
        left = left | absent
    return Made(candidates(pooled, rows, questions, documents), _usage(costs), pd.concat(listed, ignore_index=True), left)


def check(block: Mapping[str, Any], datasets: Collection[str]) -> dict[str, Any]:
    """The block ``graph`` of the parameters, whole; raises ValueError for an option or a data set that is not there, and files that are no pattern.

    >>> check({"expand": ["a"]}, ["a", "b"]), check({}, ["a"])
    ({'expand': ['a'], 'ablate': [], 'files': ''}, {})
    """
    if not isinstance(block, Mapping) or set(block) - {*OPTIONS, "files"} or not all(isinstance(block.get(name, []), list) for name in OPTIONS):
        raise ValueError(f"graph must be a block of {', '.join(OPTIONS)}, lists of data sets, and files ({{}}: no graph list), got {block!r}")
    check_pattern(block.get("files", ""), "-lists.csv.gz")
    if lost := [d for name in OPTIONS for d in block.get(name, []) if not isinstance(d, str) or d not in list(datasets)]:
        raise ValueError(f"graph names {lost[0]!r}, and no data set is called so; there are {', '.join(sorted(datasets))}")
    return {**{name: list(dict.fromkeys(block.get(name, []))) for name in OPTIONS}, "files": block.get("files", "")} if block else {}


def nothing() -> Made:
    """What is made without a graph list."""
    return Made(*(pd.DataFrame(columns=c) for c in (CANDIDATES, USAGE, LISTED)), {})


def candidates(pooled: pd.DataFrame, ordered: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """CANDIDATES: the pool with its words, the key of each title, and place and score by the reranker (missing where it ordered nothing)."""
    key = [*QUESTION, "doc_id"]
    keys = {(d.dataset, d.doc_id): title_key(d.title, d.doc_id) for d in documents.itertuples()}
    rows = word_features(pooled, questions, documents)
    rows["title_key"] = [keys[k] for k in zip(rows["dataset"], rows["doc_id"])]
    rows = rows.merge(ordered[[*key, "rank", "score"]].rename(columns={"rank": "rank_r", "score": "score_r"}), on=key, how="left", validate="one_to_one")
    return rows.astype({"rank_r": "Int64", "score_r": float})[CANDIDATES].sort_values([*QUESTION, "rank"], ignore_index=True)


def title_key(title: object, doc_id: str) -> str:
    """What stands for a title where no text may stand: equal for equal titles; a passage without a title has one of its own.

    >>> title_key("Edda Vane", "d1") == title_key("Edda Vane", "d2"), title_key("", "d1") == title_key("", "d2")
    (True, False)
    """
    told = f"title {title}" if isinstance(title, str) and title else f"passage {doc_id}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def union(rankings: pd.DataFrame, lists: Sequence[str], name: str, first: int = FIRST, scope: str = "pooled") -> pd.DataFrame:
    """The first ``first`` of several ``lists`` together, as rows of the rankings table; by reciprocal-rank fusion of the whole lists, ties by doc_id."""
    rows = rankings[(rankings["scope"] == scope) & rankings["ranker"].isin(list(lists))]
    rows = rows.assign(share=1 / (RRF_K + rows["rank"].astype(float)), near=rows["rank"] <= first)
    found = rows.groupby([*QUESTION, "doc_id"], as_index=False).agg(share=("share", "sum"), near=("near", "any"))
    found = found[found["near"].astype(bool)].assign(share=lambda t: t["share"].round(12))
    found = found.sort_values([*QUESTION, "share", "doc_id"], ascending=[True, True, False, True])
    rank = found.groupby(QUESTION).cumcount().to_numpy() + 1
    return found[QUESTION].assign(scope=scope, ranker=name, rank=rank, doc_id=found["doc_id"], score=-rank.astype(float)).reset_index(drop=True)


def unions(rankings: pd.DataFrame, scope: str = "pooled") -> pd.DataFrame:
    """The larger POOLS of the questions for which all their lists are there, as rows of the rankings table."""
    parts = []
    for name, lists in POOLS.items():
        rows = rankings[(rankings["scope"] == scope) & rankings["ranker"].isin(list(lists))]
        parts.append(union(rows[rows.groupby(QUESTION)["ranker"].transform("nunique") == len(lists)], lists, name, scope=scope))
    return pd.concat(parts, ignore_index=True)


def expanded(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, spec: Mapping[str, Any], scope: str = "pooled",
             store: Store | None = None, progress: bool = False) -> tuple[pd.DataFrame, dict[str, str]]:
    """(LISTED rows of the larger pools by the same reranker, {list left out: reason}); a question that lacks a list of a pool is left out of that pool."""
    every, asked = unions(rankings, scope), len(rankings[QUESTION].drop_duplicates())
    whole = {name: len(every.loc[every["ranker"] == name, QUESTION].drop_duplicates()) for name in POOLS}
    tasks = [Task(spec, 0, len(lists) * FIRST, name) for name, lists in POOLS.items() if whole[name]]
    rows, costs, left = _read(every, questions, documents, tasks, store, scope, progress)
    absent = {list_name(name, spec.get("name") or spec["model"]): f"a list of this pool is not there for {asked - n} of {asked} questions"
              for name, n in whole.items() if n < asked or not asked}
    return _listed(rows, costs), absent | left


def _read(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, tasks: Sequence[Task], store: Store | None, scope: str,
          progress: bool) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """``reranked`` without the lists of which nothing was read, since question or passages have no text: what comes back of them is no order."""
    rows, costs, left = reranked(rankings, questions, documents, tasks, store, scope, progress=progress)
    costs = costs[(costs["calls"].astype(float) > 0) | (costs["candidates"].astype(float) == 1)]  # one passage alone may need no call
    read = set(zip(*(costs[c] for c in (*QUESTION, "ranker"))))
    return rows[np.array([key in read for key in zip(*(rows[c] for c in (*QUESTION, "ranker")))], bool)], costs, left


def _listed(rows: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """LISTED: the first PLACES of reranked lists; ``costs`` tells which list each one was made from."""
    pools = dict(zip(costs["ranker"], costs["first"]))
    rows = rows[rows["rank"] <= PLACES]
    reranker = [name.removeprefix(list_name(pools[name], "")) for name in rows["ranker"]]
    return rows[QUESTION].assign(pool=rows["ranker"].map(pools), reranker=reranker, rank=rows["rank"], doc_id=rows["doc_id"]).reset_index(drop=True)


def _usage(costs: pd.DataFrame) -> pd.DataFrame:
    """USAGE: passages and tokens that ordering each union cost."""
    reranker = [name.removeprefix(list_name(first, "")) for name, first in zip(costs["ranker"], costs["first"])]
    return costs[QUESTION].assign(reranker=reranker, pairs=costs["candidates"].astype(int),
                                  tokens=costs["tokens"].astype(float).where(lambda t: t > 0, np.nan)).reset_index(drop=True)
