"""What the unjudged may hide: a list's score with them as zero, without them, and between the worst and the best they could be (SPEC 11).

Bounds are exact over every grade that the unjudged could get. Best and worst are *not* "all relevant" and "none": a relevant passage that lies low adds
more to the ideal than to the list, so finding one can lower nDCG.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import grades as one_list
from lib.grades import Grades, condense, dcg_at, is_judged, judged_at, ndcg_at, recall_at
from lib.ranking import QUESTION

MOST = 12  # unjudged places among the first k that are searched: 4 grades of 12 are 455 choices
MEASURES = ("judged", "ndcg_as_zero", "ndcg_condensed", "ndcg_low", "ndcg_high", "recall_as_zero", "recall_condensed", "recall_low", "recall_high")


class Hidden(NamedTuple):
    """One list at k: judged share of the first k, nDCG and recall three ways; ``low`` and ``high`` bound what full judgement could show."""

    judged: float
    ndcg_as_zero: float
    ndcg_condensed: float
    ndcg_low: float
    ndcg_high: float
    recall_as_zero: float
    recall_condensed: float
    recall_low: float
    recall_high: float


def hidden(grades: Grades, corpus_grades: Grades, k: int, elsewhere: int = 0, highest: int = 3, form: str = "exponential") -> Hidden:
    """What the unjudged of one list may hide at k, nDCG and recall in [0, 1].

    ``grades``: the list, None unjudged; ``corpus_grades``: every judged passage; ``elsewhere``: unjudged passages outside the first k that may be relevant,
    too (those of the pool below k, or of the corpus). Each may have any whole grade up to ``highest``. A value without any relevant passage is undefined.

    >>> [round(v, 4) for v in hidden([None, 1], [1], k=2, highest=1)[:5]]
    [0.5, 0.6309, 1.0, 0.6309, 1.0]
    """
    top, judged = list(grades[:k]), [g for g in corpus_grades if is_judged(g)]
    n, short = sum(g > 0 for g in judged), condense(grades)
    low, high = ndcg_bounds(top, judged, k, elsewhere, highest, form)
    return Hidden(
        judged_at(grades, k) if len(top) else math.nan,
        ndcg_at(top, judged, k, form),
        ndcg_at(short, judged, k, form),
        low,
        high,
        recall_at(top, n, k),
        recall_at(short, n, k),
        *recall_bounds(top, n, elsewhere),
    )


def ndcg_bounds(top: Grades, judged: Grades, k: int, elsewhere: int, highest: int = 3, form: str = "exponential") -> tuple[float, float]:
    """(least, most) nDCG@k over all grades of the unjudged of ``top`` (the first k) and of ``elsewhere`` more; exact.

    Best: whatever is elsewhere is irrelevant. Worst: it is all of the highest grade, for it raises the ideal alone. Within the list a given set of
    grades is best in falling and worst in rising order, so only sets are tried. NaN where nothing can be relevant; ValueError over ``MOST`` unjudged places.
    """
    free = [at for at, grade in enumerate(top) if not is_judged(grade)]
    if len(free) > MOST:
        raise ValueError(f"{len(free)} unjudged places among the first {k}: exact bounds are searched for {MOST} at most; lower k")
    gained = one_list.gain(judged, form)
    held, levels = dcg_at(top, k, form), one_list.gain(range(highest + 1), form)
    sets = levels[_sets(highest, len(free))]  # (choices, free), each in falling order
    weights = 1 / np.log2(np.array(free, float) + 2)
    best = _ratios(held + sets @ weights, sets, gained, k)
    outside = np.full((len(sets), min(elsewhere, k)), levels[-1])
    worst = _ratios(held + sets[:, ::-1] @ weights, np.hstack([sets, outside]), gained, k)
    both = np.concatenate([worst, best])
    both = both[~np.isnan(both)]
    return (float(both.min()), float(both.max())) if len(both) else (math.nan, math.nan)


@lru_cache(maxsize=256)
def _sets(highest: int, n: int) -> np.ndarray:
    return np.array(list(combinations_with_replacement(range(highest, -1, -1), n)), int)


def _ratios(dcg: np.ndarray, added: np.ndarray, gained: np.ndarray, k: int) -> np.ndarray:
    """DCG over the ideal of the judged gains and those added, a row each; NaN where nothing is relevant."""
    known = np.sort(gained)[::-1][:k]
    every = np.hstack([added, np.broadcast_to(known, (len(added), len(known)))])
    ideal = -np.sort(-every, axis=1)[:, :k]
    return dcg / np.where((total := ideal @ (1 / np.log2(np.arange(ideal.shape[1]) + 2.0))) > 0, total, np.nan)


def recall_bounds(top: Grades, n_relevant: int, elsewhere: int) -> tuple[float, float]:
    """(least, most) recall at k: worst with all of ``elsewhere`` relevant and none of the list's unjudged, best the other way round.

    >>> recall_bounds([1, None, 0], n_relevant=2, elsewhere=2)
    (0.25, 0.6666666666666666)
    """
    found, free = sum(is_judged(g) and g > 0 for g in top), sum(not is_judged(g) for g in top)
    low = found / (n_relevant + elsewhere) if n_relevant + elsewhere else (1.0 if free else math.nan)
    return low, (found + free) / (n_relevant + free) if n_relevant + free else (0.0 if elsewhere else math.nan)


def unjudged_rows(
    rankings: pd.DataFrame, judgements: pd.DataFrame, k: int, depth: int, highest: int | None = None, form: str = "exponential"
) -> pd.DataFrame:
    """`hidden` of every list: a row a (dataset, qid, ranker) with ``MEASURES`` and how many unjudged passages lie in the first k (shown) and elsewhere.

    *Elsewhere*: unjudged passages in the first ``depth`` of any of the lists, outside this list's first k; nothing beyond is presumed relevant, and no
    finite pool proves that. ``judgements``: dataset, qid, doc_id, grade (missing: uncertain, so unjudged). ``highest``: the highest grade, by default of
    the judgements.
    """
    if not 1 <= k <= depth:
        raise ValueError(f"need 1 <= k <= depth, got k = {k} and depth = {depth}")
    known = judgements.dropna(subset=["grade"]).drop_duplicates([*QUESTION, "doc_id"])
    highest = highest or int(max(known["grade"].max(), 1) if len(known) else 1)
    graded = {key: dict(zip(part["doc_id"], part["grade"])) for key, part in known.groupby(QUESTION)}
    pools = rankings[rankings["rank"] <= depth]
    open_ = {key: set(ids) - set(graded.get(key, ())) for key, ids in pools.groupby(QUESTION)["doc_id"]}
    rows = []
    for (dataset, qid, ranker), part in pools.sort_values("rank").groupby([*QUESTION, "ranker"]):
        mine, ids = graded.get((dataset, qid), {}), list(part["doc_id"])
        rest = len(open_.get((dataset, qid), set()) - set(ids[:k]))
        found = hidden([mine.get(doc) for doc in ids], list(mine.values()), k, rest, highest, form)
        rows.append((dataset, qid, ranker, *found, sum(doc not in mine for doc in ids[:k]), rest))
    return pd.DataFrame(rows, columns=[*QUESTION, "ranker", *MEASURES, "unjudged_shown", "unjudged_elsewhere"])
