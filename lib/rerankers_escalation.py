"""When to escalate: the first stage then the cross-encoder, the cross-encoder then a language model, each against a coin of the same cost (SPEC 11).

The cheapest small step is none at all: the first stage as it stands, with its own scores. So the first cascade asks whom a reranker should serve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lib import reading
from lib.grades import ndcg_at
from lib.ranking import QUESTION
from lib.reader_spec import ReaderError
from lib.rerankers import Reranked, Reranker
from lib.rerankers_judge import Judge
from lib.rerankers_lists import first_lists
from lib.rerankers_open import open_reranker, reader_of
from lib.rerankers_sample import SUBSETS, Task
from lib.rerankers_validation import COLUMNS, cascade_rows, validate_cascade
from lib.store import Store
from lib.weights import WeightsError


class AsRetrieved(NamedTuple):
    """The first stage as a reranker with its own scores: it changes nothing and costs nothing, but its signals can be read."""

    name: str
    scores: Mapping[tuple[str, tuple[str, ...]], list[float]]

    def rerank(self, question: str, passages: Sequence[str]) -> Reranked:
        """The order as it is; raises KeyError for a list that was not given."""
        return Reranked(list(range(len(passages))), self.scores[question, tuple(passages)], 0, 0, 0)


def as_retrieved(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, first: str, depth: int, scope: str = "pooled") -> AsRetrieved:
    """The first ``depth`` of ``first``'s lists with their scores."""
    mine = rankings[(rankings["scope"] == scope) & (rankings["ranker"] == first)].sort_values([*QUESTION, "rank"])
    listed = {key: scores.tolist() for key, scores in mine.groupby(QUESTION)["score"]}
    return AsRetrieved(
        first, {(asked, tuple(texts[:depth])): listed[key][:depth] for key, asked, _, texts in first_lists(rankings, questions, documents, first, scope)}
    )


def quality_of(gold: pd.DataFrame, cutoff: int) -> Callable[[str, str, list[str]], float]:
    """nDCG at ``cutoff`` of an ordered list of documents, NaN without a relevant one in the corpus."""
    grades = {key: dict(zip(part["doc_id"], part["grade"])) for key, part in gold.groupby(QUESTION)}

    def quality(dataset: str, qid: str, docs: list[str]) -> float:
        known = grades.get((dataset, qid), {})
        return ndcg_at([known.get(d, 0) for d in docs], list(known.values()), cutoff)

    return quality


def cascades(
    rankings: pd.DataFrame,
    questions: pd.DataFrame,
    documents: pd.DataFrame,
    gold: pd.DataFrame,
    tier: str,
    spec: Mapping[str, Any] | None,
    tasks: Sequence[Task] = SUBSETS,
    first: str = "hybrid",
    depth: int = 50,
    cutoff: int = 5,
    scope: str = "pooled",
    resamples: int = 10_000,
    seed: int = 0,
    store: Store | None = None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """(the table cascade, {cascade left out: reason}): ``first`` then the reranker of ``spec``, and that one then each pointwise task that is recorded.

    No model of a task is loaded: what is not recorded is left out. Without ``spec`` or gold there is nothing to escalate to, or nothing to validate with.
    """
    kept, made, skipped = store or Store(), [], {}
    if spec is None or gold.empty or questions.empty:
        return pd.DataFrame(columns=COLUMNS), skipped
    large = open_reranker(spec, kept)
    small = as_retrieved(rankings, questions, documents, first, depth, scope)
    steps: list[tuple[Reranker, Callable[[], Reranker], pd.DataFrame, int]] = [(small, lambda: large, questions, depth)]
    for task in [t for t in tasks if t.spec["method"] == "yes_no" and t.first == first]:
        steps.append((large, lambda task=task: _recorded(task, kept), reading.first(questions, task.questions), task.depth))
    for before, after, asked, seen in steps:
        model = after()
        try:
            rows = cascade_rows(rankings, asked, documents, before, model, quality_of(gold, cutoff), seen, first, scope)
        except (WeightsError, ReaderError) as error:
            skipped[f"{before.name}, then {model.name}"] = str(error).splitlines()[0]
            continue
        signals = [c for c in rows.columns[7:] if rows[c].notna().any()]
        if len(rows):
            made.append(validate_cascade(rows, tier, before.name, model.name, signals, resamples=resamples, seed=seed))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=COLUMNS), skipped


def _recorded(task: Task, store: Store) -> Reranker:
    return open_reranker(task.spec, store, Judge({**reader_of(task.spec), "backend": "replay"}, store))
