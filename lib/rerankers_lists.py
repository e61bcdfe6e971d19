"""Reranked lists for the rankings table: the first ``depth`` candidates reordered, the deeper ones behind them in first-stage order (SPEC 11)."""
from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from lib.ranking import LIST, QUESTION
from lib.rerankers import Reranked, Reranker, ask, told
from lib.retrieval import passage
from lib.whole import check_whole

log = logging.getLogger(__name__)
COLUMNS = [*LIST, "rank", "doc_id", "score"]
COST = [*LIST, "first", "depth", "candidates", "calls", "tokens", "repaired"]


def rerank_lists(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, reranker: Reranker, depth: int, first: str = "hybrid",
                 scope: str = "pooled", name: str | None = None, progress: bool = True) -> pd.DataFrame:
    """Rows for the rankings table, ranker ``name`` (default: the reranker's): the first ``depth`` of ``first``'s list in ``scope``, reordered.

    Raises ValueError as ``rerank_all`` does.
    """
    return rerank_all(rankings, questions, documents, reranker, depth, first, scope, name, progress)[0]


def rerank_all(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, reranker: Reranker, depth: int, first: str = "hybrid",
               scope: str = "pooled", name: str | None = None, progress: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows for the rankings table, what each list cost: COST), a list a question of ``questions`` that has a first-stage list.

    ``reranker`` looks its model's answers up in the store it was made with, so that a killed run resumes and nothing is asked twice; where it can
    ``prepare``, all its pairs are scored together. Scores fall along the list: deeper candidates go on below the last. A question with a missing text is
    left in first-stage order, at no cost. Raises ValueError for an unknown first stage, ranks that are not 1, 2, 3, ... and a document that is not there.
    """
    check_whole("depth", depth, 1)
    lists = list(first_lists(rankings, questions, documents, first, scope))
    if hasattr(reranker, "prepare"):
        reranker.prepare([(q, p) for _, q, _, texts in lists if told(q) for p in texts[:depth] if told(p)])
    called, rows, costs = name or reranker.name, [], []
    for key, question, docs, texts in _bar(lists, called, progress):
        head = texts[:depth]
        made = ask(reranker, question, head) if told(question) else Reranked(list(range(len(head))), [math.nan] * len(head), 0, 0, 0)
        order = [*made.order, *range(len(head), len(docs))]
        scores = falling([made.scores[i] for i in made.order], len(docs))
        rows += [(*key, scope, called, rank, docs[i], score) for rank, (i, score) in enumerate(zip(order, scores, strict=True), 1)]
        costs.append((*key, scope, called, first, depth, len(head), made.calls, made.tokens, made.repaired))
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(costs, columns=COST)


def falling(scores: Sequence[float], n: int) -> list[float]:
    """``n`` finite scores in list order that never rise: those given where they do not, else one less than the one before.

    >>> falling([2.0, 0.5, float("nan")], 5)
    [2.0, 0.5, -0.5, -1.5, -2.5]
    >>> falling([float("nan")] * 2, 2)
    [0.0, -1.0]
    """
    out: list[float] = []
    for given in [*scores, *[math.nan] * (n - len(scores))]:
        below = out[-1] - 1.0 if out else 0.0
        fits = math.isfinite(given) and (not out or given <= out[-1])
        out.append(float(given) if fits else below)
    return out


def first_lists(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, first: str,
                scope: str) -> Iterator[tuple[tuple[str, str], str, list[str], list[str]]]:
    """(dataset and qid, question, doc_ids, texts) of each first-stage list, by data set and question; raises ValueError as ``rerank_all`` says."""
    mine = rankings[(rankings["scope"] == scope) & (rankings["ranker"] == first)]
    if mine.empty and len(rankings):
        there = sorted({f"{s} {r}" for s, r in zip(rankings["scope"], rankings["ranker"])})
        raise ValueError(f"there is no list by {first!r} in scope {scope!r} to rerank; there are {', '.join(there)}")
    for table, key, name in ((questions, QUESTION, "questions"), (documents, ["dataset", "doc_id"], "documents")):
        if (twice := table.duplicated(key)).any():
            raise ValueError(f"table {name} holds {table[twice].iloc[0][key].to_dict()} twice, and texts may differ; keep one row")
    mine = mine.merge(questions[[*QUESTION, "question"]], on=QUESTION, validate="many_to_one").sort_values([*QUESTION, "rank"], kind="stable")
    if mine.empty:
        return
    text = {(d.dataset, d.doc_id): passage(d.title if told(d.title) else "", d.text) if told(d.text) else "" for d in documents.itertuples()}
    lost = next(((d, i) for d, i in zip(mine["dataset"], mine["doc_id"]) if (d, i) not in text), None)
    if lost:
        raise ValueError(f"the list of {first!r} names document {lost[1]!r} of {lost[0]!r}, which is not in table documents")
    for (dataset, qid), rows in mine.groupby(QUESTION):
        docs = rows["doc_id"].tolist()
        if rows["rank"].tolist() != list(range(1, len(docs) + 1)) or len(set(docs)) < len(docs):
            raise ValueError(f"the list of {first!r} for question {qid!r} is none: ranks must be 1, 2, 3, ... and documents differ, got ranks "
                             f"{rows['rank'].tolist()[:5]}... and {len(docs) - len(set(docs))} repeated documents")
        yield (dataset, qid), rows["question"].iat[0], docs, [text[dataset, d] for d in docs]


def _bar(lists: Sequence[Any], name: str, progress: bool) -> Iterator[Any]:
    from tqdm import tqdm

    quiet = not (progress and sys.stderr.isatty())
    for done, item in enumerate(tqdm(lists, desc=name, unit="question", disable=quiet), 1):
        yield item
        if quiet and progress and done % 20 == 0:
            log.info("%s: %d of %d questions", name, done, len(lists))
