"""The reranked lists of a tier and what was asked for them: one plan for notebook 01, for the recorded layer and for the tests (SPEC 5, 11).

Document 001's worked example fuses a lexical and a dense list and reranks that, so the hybrid list is reranked first, the dense one beside it. Language
models read the first 20 of the hybrid list of some questions, the first in the order of their hashed ids, so that a smaller subset lies in a larger one.
"""
from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lib import reading
from lib.cross_encoder_model import Pair
from lib.ranking import QUESTION
from lib.reader_spec import ReaderError
from lib.rerankers_judge import Judge
from lib.rerankers_lists import COLUMNS, COST, rerank_all
from lib.rerankers_open import check_spec, open_reranker, reader_of
from lib.retrieval import passage
from lib.store import Store
from lib.weights import WeightsError
from lib.whole import check_whole

log = logging.getLogger(__name__)
FIRSTS, DEPTH = ("hybrid", "dense"), 50


class Task(NamedTuple):
    """One reranker over the first ``depth`` of a list, for so many questions of each data set (0: all)."""

    spec: Mapping[str, Any]
    questions: int
    depth: int
    first: str = "hybrid"


CODER, SMALL = {"model": "qwen2.5-coder-0.5b", "precision": "bf16"}, {"model": "smollm2-135m", "precision": "fp32"}
LARGE = {"model": "qwen2.5-coder-1.5b", "precision": "bf16"}
LISTS = tuple(Task({"method": "cross_encoder", "model": "reranker"}, 0, DEPTH, first) for first in FIRSTS)  # whole lists of every question
SUBSETS = (
    Task({"method": "yes_no", **SMALL}, 60, 20),
    Task({"method": "yes_no", **CODER}, 100, 20),
    Task({"method": "listwise", **CODER, "window": 10, "stride": 5}, 40, 20),
    Task({"method": "pairwise", **CODER, "sort": "insertion", "top": 5}, 24, 10),
    Task({"method": "yes_no", **LARGE}, 24, 20),
)
PLAN = (*LISTS, *SUBSETS)


def list_name(first: str, reranker: str) -> str:
    """The ranker's name in tables: first stage, plus, reranker.

    >>> list_name("hybrid", "reranker")
    'hybrid + reranker'
    """
    return f"{first} + {reranker}"


def reranked(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, tasks: Iterable[Task] = LISTS, store: Store | None = None,
             scope: str = "pooled", live: bool = False, progress: bool = False) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """(rows for the rankings table, cost of each list, {list left out: reason}) of the tasks; recorded scores load no model.

    A cross-encoder scores what is not recorded, a language model only if ``live``; a list that cannot be made whole is left out with its reason. Lists
    of SUBSETS do not cover every question: measure them, and their first stage, on their own questions, or the others count as missed.
    """
    kept, lists, costs, skipped, judges = store or Store(), [], [], {}, {}
    for task in tasks:
        check_whole("questions", task.questions, 0)
        named = str(task.spec["model"])
        try:
            reranker = open_reranker(task.spec, kept, _judge(task.spec, kept, judges, live, progress), progress)
            named = reranker.name
            made, cost = rerank_all(rankings, reading.first(questions, task.questions), documents, reranker, task.depth, task.first, scope,
                                    list_name(task.first, named), progress)
        except (WeightsError, ReaderError) as error:  # weights are missing or damaged, or answers are not recorded
            skipped[list_name(task.first, named)] = str(error).splitlines()[0]
            continue
        lists.append(made)
        costs.append(cost)
    for judge in judges.values():
        judge.close()
    return (pd.concat(lists, ignore_index=True) if lists else pd.DataFrame(columns=COLUMNS),
            pd.concat(costs, ignore_index=True) if costs else pd.DataFrame(columns=COST), skipped)


def _judge(spec: Mapping[str, Any], store: Store, judges: dict[str, Judge], live: bool, progress: bool) -> Judge | None:
    """The judge that rerankers of one model share; None for a cross-encoder."""
    if check_spec(spec) not in ("yes_no", "pairwise", "listwise"):
        return None
    asked = reader_of(spec) if live else {**reader_of(spec), "backend": "replay"}
    key = str(sorted(asked.items()))
    if key not in judges:
        judges[key] = Judge(asked, store, progress=progress)
    return judges[key]


def union_pairs(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, firsts: Sequence[str] = FIRSTS, depth: int = DEPTH,
                scope: str = "pooled") -> list[Pair]:
    """(question, passage) of the first ``depth`` of every list in ``firsts``, each once, sorted: what the cross-encoder is asked and what is recorded."""
    key = [*QUESTION, "doc_id"]
    mine = rankings[(rankings["scope"] == scope) & rankings["ranker"].isin(firsts) & (rankings["rank"] <= depth)]
    rows = mine[key].drop_duplicates().sort_values(key, ignore_index=True)
    rows = rows.merge(questions[[*QUESTION, "question"]], on=QUESTION, validate="many_to_one")
    rows = rows.merge(documents[["dataset", "doc_id", "title", "text"]], on=["dataset", "doc_id"], validate="many_to_one")
    return list(dict.fromkeys(zip(rows["question"], map(passage, rows["title"], rows["text"]))))
