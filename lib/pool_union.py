"""The pool that document 002 hands to its expensive reranker: the first passages of the graph list H and of the dense list V together."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.keys import check_once
from lib.ranking import QUESTION
from lib.whole import check_whole

H, V = "graph", "dense"
FIRST = 10      # passages of each list, as document 002's table 1 looks at ten of each
FUSED = "union"  # the ranker under whose name the pool's rows can be handed to lib.rerankers_lists
RRF_K = 60
COLUMNS = [*QUESTION, "doc_id", "rank_h", "score_h", "rank_v", "score_v", "rank"]


def pool(rankings: pd.DataFrame, first: int = FIRST, lists: Sequence[str] = (H, V), scope: str = "pooled") -> pd.DataFrame:
    """One row a question and passage of the first ``first`` of either list: dataset, qid, doc_id, rank_h, score_h, rank_v, score_v, rank.

    rank_h, score_h (rank_v, score_v): place and score in the whole list of ``lists[0]`` (``lists[1]``), missing where that list does not hold the passage.
    rank: the order in which the pool is shown, by reciprocal-rank fusion of the two lists; ties go to the better rank in ``lists[0]``, then in ``lists[1]``.
    Raises ValueError for a ``first`` that is not whole, a list that is not there, a repeated passage, a missing doc_id, or a rank that is none.
    """
    check_whole("first", first, 1)
    if isinstance(lists, str) or len(lists) != 2 or lists[0] == lists[1]:
        raise ValueError(f"lists must name two lists, got {lists!r}")
    sides = {side: _side(rankings, name, scope, side) for side, name in zip("hv", lists, strict=True)}
    both = sides["h"].merge(sides["v"], on=[*QUESTION, "doc_id"], how="outer", validate="one_to_one")
    ranks = both[["rank_h", "rank_v"]].astype(float)
    both = both[(ranks <= first).any(axis=1)].reset_index(drop=True)
    ranks = both[["rank_h", "rank_v"]].astype(float)
    both["_fused"] = -(1 / (RRF_K + ranks)).sum(axis=1).round(12)
    both = both.sort_values([*QUESTION, "_fused", "rank_h", "rank_v"], ignore_index=True)
    both["rank"] = both.groupby(QUESTION).cumcount() + 1
    return both.astype({"rank_h": "Int64", "rank_v": "Int64"})[COLUMNS]


def _side(rankings: pd.DataFrame, name: str, scope: str, side: str) -> pd.DataFrame:
    mine = rankings[(rankings["ranker"] == name) & (rankings["scope"] == scope)]
    if mine.empty and len(rankings):
        there = sorted({f"{s} {r}" for s, r in zip(rankings["scope"], rankings["ranker"])})
        raise ValueError(f"there is no list by {name!r} in scope {scope!r}; there are {', '.join(there)}: rank with it first")
    check_once(mine, [*QUESTION, "doc_id"], f"list {name!r}", "keep one ranking of each question")
    ranks = pd.to_numeric(mine["rank"], errors="coerce").astype(float)
    if (wrong := ~((ranks >= 1) & (ranks % 1 == 0)) | mine["doc_id"].isna() | np.isinf(mine["score"].astype(float))).any():
        raise ValueError(f"list {name!r}: {mine.loc[wrong, [*QUESTION, 'doc_id', 'rank', 'score']].iloc[0].to_dict()} cannot be; every row names a passage, "
                         "ranks count 1, 2, 3, ..., and scores are finite")
    return mine[[*QUESTION, "doc_id", "rank", "score"]].rename(columns={"rank": f"rank_{side}", "score": f"score_{side}"})


def as_rankings(pooled: pd.DataFrame, name: str = FUSED, scope: str = "pooled") -> pd.DataFrame:
    """The pool as rows of the rankings table, so that ``lib.rerankers_lists`` can rerank it; score: minus the rank."""
    return pooled[QUESTION].assign(scope=scope, ranker=name, rank=pooled["rank"], doc_id=pooled["doc_id"], score=-pooled["rank"].astype(float))
