"""The lists that an audit compares: the pools, their reranked orders, their best orders, and what ties and unjudged passages leave open."""

from __future__ import annotations

import pandas as pd

from lib import ranking

KEY = ["dataset", "qid"]


def pools_of(first: pd.DataFrame, depth: int | None) -> pd.DataFrame:
    """The first ``depth`` passages of each list, or all; ValueError for a depth below 1."""
    if depth is not None and depth < 1:
        raise ValueError(f"a depth is at least 1, got {depth}")
    return listed(first if depth is None else first[first["rank"] <= depth])


def listed(rankings: pd.DataFrame) -> pd.DataFrame:
    """A rankings table in the form that `ranking.ranking_measures` takes, but for its ranker."""
    plain = {"rank": "int64", "score": "float64"}  # stored tables hold nullable numbers, in which NaN and missing are two things
    return rankings[[*KEY, "rank", "doc_id", "score"]].astype(plain).assign(scope="pool")


def reranked_within(reranked: pd.DataFrame, pools: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    """The reranked lists cut to the pools of a smaller depth, ranks closed; ValueError for a passage that the first stage lacks.

    Exact for a reranker that scores each passage by itself; any other must be run again on the smaller pool.
    """
    retrieved = pd.MultiIndex.from_frame(first[[*KEY, "doc_id"]])
    here = pd.MultiIndex.from_frame(reranked[[*KEY, "doc_id"]])
    outside = ~here.isin(retrieved)
    if outside.any():
        row = reranked[outside].iloc[0]
        raise ValueError(
            f"the reranked list of query {row['qid']!r} holds {row['doc_id']!r}, which the first stage did not retrieve ({outside.sum():,} such "
            "rows in all): a pure reranker only reorders its pool. Audit the list as a first stage, or drop those rows"
        )
    if len(pools) < len(first):
        reranked = reranked[here.isin(pd.MultiIndex.from_frame(pools[[*KEY, "doc_id"]]))].sort_values([*KEY, "rank"], ignore_index=True)
        reranked = reranked.assign(rank=reranked.groupby(KEY).cumcount() + 1)
    return reranked


def oracle_order(pools: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """The best order of each pool under the judgements, relevant passages alone, in the form of the rankings table.

    >>> pool = pd.DataFrame({"dataset": "d", "qid": "q", "rank": [1, 2], "doc_id": ["a", "b"], "score": [2.0, 1.0], "scope": "pool"})
    >>> oracle_order(pool, pd.DataFrame({"dataset": "d", "qid": "q", "doc_id": ["b"], "grade": [1]}))[["rank", "doc_id"]].values.tolist()
    [[1, 'b']]
    """
    found = pools.merge(judgements[judgements["grade"] > 0], on=[*KEY, "doc_id"]).sort_values([*KEY, "grade", "rank"], ascending=[True, True, False, True])
    return found.assign(rank=found.groupby(KEY).cumcount() + 1, score=found["grade"].astype(float))[[*KEY, "rank", "doc_id", "score", "scope"]]


def variants(lists: dict[str, pd.DataFrame], judgements: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What ties and unjudged passages leave open: lists with ties as badly and as well as can be (of queries with ties alone), and without the unjudged."""
    made = {}
    for name, rows in lists.items():
        ranked = rows.assign(ranker=name)
        made[f"{name}_condensed"] = ranking.condensed_rankings(ranked, judgements)
        tied = ranked[ranked.duplicated([*KEY, "score"])][KEY].drop_duplicates()
        if len(tied):
            ranked = ranked.merge(tied, on=KEY)
            made |= {f"{name}_{end}": ranking.retied_rankings(ranked, judgements, best=end == "best") for end in ("worst", "best")}
    return {name: rows[[*KEY, "rank", "doc_id", "score", "scope"]] for name, rows in made.items() if len(rows)}
