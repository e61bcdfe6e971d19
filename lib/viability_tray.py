"""The sealed tray, told with one question: what lies on it, how deep the gold lies, and what is not there at all (document 001, Part I)."""

from __future__ import annotations

import pandas as pd

from lib.ranking import QUESTION
from lib.wording_viability import of_tray

COLUMNS = ["gold", "title", "rank", "reranked"]


def places(rankings: pd.DataFrame, gold: pd.DataFrame, first: str, scope: str, depth: int) -> pd.DataFrame:
    """A row a gold passage: dataset, qid, doc_id, rank on the tray (missing where it is not among the first ``depth``)."""
    mine = rankings[(rankings["scope"] == scope) & (rankings["ranker"] == first) & (rankings["rank"] <= depth)]
    asked = gold[gold["grade"] > 0].merge(mine[QUESTION].drop_duplicates(), on=QUESTION)
    return asked[[*QUESTION, "doc_id"]].merge(mine[[*QUESTION, "doc_id", "rank"]], on=[*QUESTION, "doc_id"], how="left")


def buried(found: pd.DataFrame, cutoff: int) -> tuple[str, str] | None:
    """World A: the question whose gold is all on the tray and lies lowest, beyond the cutoff; None where there is no such question.

    >>> rows = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "doc_id": ["x", "y"], "rank": [9, None]})
    >>> buried(rows, 5), absent(rows)
    (('d', 'a'), ('d', 'b'))
    """
    by = found.groupby(QUESTION)["rank"].agg(["max", "size", "count"])
    low = by.loc[(by["size"] == by["count"]) & (by["max"] > cutoff), "max"]
    return None if low.empty else low.index[low.astype(float).to_numpy().argmax()]


def absent(found: pd.DataFrame) -> tuple[str, str] | None:
    """World B: the question of whose gold the smallest share is on the tray; None where every tray is complete."""
    share = found.assign(held=found["rank"].notna()).groupby(QUESTION)["held"].mean()
    return None if share.empty or share.min() == 1 else share.index[share.to_numpy().argmin()]


def tray(
    rankings: pd.DataFrame,
    gold: pd.DataFrame,
    documents: pd.DataFrame,
    key: tuple[str, str],
    first: str,
    again: str | None = None,
    scope: str = "pooled",
    cutoff: int = 5,
    depth: int = 50,
) -> pd.DataFrame:
    """The first ``cutoff`` of a question's tray and its gold passages, wherever they are: gold, title, rank, reranked (rank after reranking)."""

    def listed(ranker: str | None) -> pd.Series:
        at = (rankings["scope"] == scope) & (rankings["ranker"] == ranker) & (rankings["dataset"] == key[0]) & (rankings["qid"] == key[1])
        return rankings[at & (rankings["rank"] <= depth)].set_index("doc_id")["rank"]

    before, after = listed(first), listed(again)
    own = gold.loc[(gold["dataset"] == key[0]) & (gold["qid"] == key[1]) & (gold["grade"] > 0), "doc_id"]
    shown = dict.fromkeys([*before[before <= cutoff].sort_values().index, *own])
    titles = documents[documents["dataset"] == key[0]].set_index("doc_id")["title"]
    rows = [(d in set(own), titles.get(d, d), before.get(d), after.get(d)) for d in shown]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"rank": "Int64", "reranked": "Int64"}).sort_values("rank", ignore_index=True)


def told(
    key: tuple[str, str] | None,
    questions: pd.DataFrame,
    gold: pd.DataFrame,
    documents: pd.DataFrame,
    rankings: pd.DataFrame,
    first: str,
    again: str | None = None,
    scope: str = "pooled",
    cutoff: int = 5,
    depth: int = 50,
) -> tuple[str, pd.DataFrame]:
    """(a sentence on the question, its tray); an empty tray where there is no such question."""
    if key is None:
        return "No question of this tier lies so.", pd.DataFrame(columns=COLUMNS)
    asked = questions.loc[(questions["dataset"] == key[0]) & (questions["qid"] == key[1]), "question"].iloc[0]
    rows = tray(rankings, gold, documents, key, first, again, scope, cutoff, depth)
    return f"{asked} {of_tray(rows, cutoff, depth)}", rows
