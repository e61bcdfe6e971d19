"""Cases for the probes of a reranker, taken from a tier's own lists, so that recorded scores answer them (document 001, "Three negative controls")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lib import probes, reading
from lib.probes_asked import Case
from lib.ranking import QUESTION
from lib.reader_spec import ReaderError
from lib.rerankers_lists import first_lists
from lib.rerankers_open import open_reranker
from lib.store import Store
from lib.weights import WeightsError

LIKE = 10  # passages of a case


def cases(
    rankings: pd.DataFrame, gold: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, n: int, first: str = "hybrid", scope: str = "pooled"
) -> list[Case]:
    """``n`` questions of each data set (in the order of their hashed ids) with the first ten of a list and their grades; no case without a relevant passage.

    The stranger of a case is the first passage far down its own list that is relevant to another question and not to this one: another question's
    passage, and one whose score is known wherever the whole list's are.
    """
    gold = gold[gold["grade"] > 0]
    asked = reading.first(questions.merge(gold[QUESTION].drop_duplicates(), on=QUESTION), n) if n else questions.head(0)
    grades = {key: dict(zip(part["doc_id"], part["grade"])) for key, part in gold.groupby(QUESTION)}
    wanted = set(zip(gold["dataset"], gold["doc_id"]))
    made = []
    for key, question, docs, texts in first_lists(rankings, asked, documents, first, scope) if len(asked) else []:
        own = grades[key]
        far = [t for d, t in zip(docs[2 * LIKE :], texts[2 * LIKE :]) if (key[0], d) in wanted and d not in own]
        made.append(Case(f"{key[0]} {key[1]}", question, texts[:LIKE], [float(own.get(d, 0)) for d in docs[:LIKE]], stranger=far[0] if far else None))
    return made


def probed(
    asked: Sequence[Case], spec: Mapping[str, Any] | None, tier: str, cutoff: int = 5, resamples: int = 10_000, store: Store | None = None
) -> tuple[pd.DataFrame, str]:
    """(the table probes, why it is empty): a pointwise reranker on ``asked``; nothing is probed without a case, or where weights and recorded scores lack."""
    empty = pd.DataFrame(columns=probes.COLUMNS)
    if spec is None or not asked:
        return empty, "no reranker is named" if spec is None else "no question has a relevant passage and a list"
    try:
        return probes.probe(open_reranker(spec, store or Store()), asked, m=cutoff, resamples=resamples, tier=tier), ""
    except (WeightsError, ReaderError) as error:
        return empty, str(error).splitlines()[0]
