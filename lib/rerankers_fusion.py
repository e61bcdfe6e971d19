"""Fusion of lists that are at hand: the free baseline that a reranker has to beat, since it calls no model (SPEC 11).

``rrf``   reciprocal ranks: sum of weight / (k + rank), k 60 (Cormack, Clarke and Buettcher 2009); asks nothing of the scores.
``sum``   weighted sum of normalised scores (CombSUM, Fox and Shaw 1994); ``mnz`` the same times the number of lists that hold the document.
A score is normalised within one question's list: ``min_max`` to [0, 1] (a list of equal scores gives 1), ``z`` to mean 0 and standard deviation 1 (equal
scores: 0), ``none`` leaves it. A document that a list lacks gets what the list's worst got (rrf: nothing), so that lacking never beats standing last.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.ranking import QUESTION
from lib.rerankers import by_score
from lib.rerankers_lists import COLUMNS
from lib.retrieval import RRF_K
from lib.whole import check_whole, is_number

HOW, NORMALISE = ("rrf", "sum", "mnz"), ("min_max", "z", "none")


def normalised(scores: Sequence[float], how: str = "min_max") -> np.ndarray:
    """One list's scores on a scale that can be added to another's; raises ValueError for NaN, infinity or an unknown name. Shape (n,).

    >>> normalised([3.0, 1.0, 2.0]).tolist(), normalised([2.0, 2.0]).tolist(), normalised([3.0, 1.0], "z").tolist()
    ([1.0, 0.0, 0.5], [1.0, 1.0], [1.0, -1.0])
    """
    if how not in NORMALISE:
        raise ValueError(f"normalise must be one of {', '.join(NORMALISE)}, got {how!r}")
    values = np.asarray(scores, float)
    if not np.isfinite(values).all():
        raise ValueError(f"score {int(np.flatnonzero(~np.isfinite(values))[0])} of {len(values)} is NaN or infinite and cannot be normalised; mend the list")
    if how == "none" or not len(values):
        return values
    if how == "min_max":
        low, spread = values.min(), values.max() - values.min()
        return (values - low) / spread if spread > 0 else np.ones(len(values))
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros(len(values))


def fused(lists: Sequence[Mapping[str, float]], how: str = "rrf", normalise: str = "min_max", weights: Sequence[float] | None = None,
          k: int = RRF_K) -> dict[str, float]:
    """Score of each document of any list; each list is {document: score}, in rank order. Raises ValueError for unknown names or unfit weights.

    >>> {d: round(s, 4) for d, s in fused([{"a": 0.9, "b": 0.3}, {"b": 7.0, "c": 5.0}], "sum").items()}
    {'a': 1.0, 'b': 1.0, 'c': 0.0}
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}, got {how!r}")
    shares = [1.0] * len(lists) if weights is None else list(weights)
    if len(shares) != len(lists) or not all(is_number(w, 0) for w in shares):
        raise ValueError(f"weights must be {len(lists)} numbers of 0 or more, one a list, got {weights!r}")
    check_whole("k", k, 0)
    found = list(dict.fromkeys(d for each in lists for d in each))
    total = dict.fromkeys(found, 0.0)
    for each, share in zip(lists, shares):
        if not each:
            continue
        scores = {d: 1 / (k + r) for r, d in enumerate(each, 1)} if how == "rrf" else dict(zip(each, normalised(list(each.values()), normalise).tolist()))
        worst = 0.0 if how == "rrf" else min(scores.values())
        for document in found:
            total[document] += share * scores.get(document, worst)
    held = {d: sum(d in each for each in lists) if how == "mnz" else 1 for d in found}
    return {d: total[d] * held[d] for d in found}


def fuse_lists(rankings: pd.DataFrame, rankers: Sequence[str], depth: int = 50, first: str | None = None, scope: str = "pooled", how: str = "rrf",
               normalise: str = "min_max", weights: Sequence[float] | None = None, k: int = RRF_K, name: str = "fusion") -> pd.DataFrame:
    """Rows for the rankings table, ranker ``name``: the first ``depth`` of each ranker's list fused, a list a question.

    With ``first`` only the first ``depth`` of that ranker's list are ordered, a pure reranking; without it the pool is the union of the lists, another
    first stage. Ties go to the better place in ``first``'s list (else in the first list that holds the document, lists in the order of ``rankers``).
    Raises ValueError for a ranker without a list and as ``fused`` does.
    """
    check_whole("depth", depth, 1)
    mine = rankings[(rankings["scope"] == scope) & rankings["ranker"].isin([*rankers, *([first] if first else [])]) & (rankings["rank"] <= depth)]
    if lost := sorted({*rankers, *([first] if first else [])} - set(mine["ranker"])):
        raise ValueError(f"there is no list by {', '.join(lost)} in scope {scope!r}; there are {', '.join(sorted(set(rankings['ranker'])))}")
    rows = []
    for key, group in mine.sort_values([*QUESTION, "ranker", "rank"]).groupby(QUESTION):
        by_ranker = {r: dict(zip(g["doc_id"], g["score"])) for r, g in group.groupby("ranker")}
        lists = [by_ranker.get(r, {}) for r in rankers]
        scores = fused(lists, how, normalise, weights, k)
        pool = list(by_ranker.get(first, {})) if first else list(scores)
        values = [scores.get(d, math.nan) for d in pool]
        values = [min((v for v in values if not math.isnan(v)), default=0.0) - 1 if math.isnan(v) else v for v in values]  # in none of the lists: last
        rows += [(*key, scope, name, rank, pool[i], values[i]) for rank, i in enumerate(by_score(values), 1)]
    return pd.DataFrame(rows, columns=COLUMNS)
