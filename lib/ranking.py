"""Ranking measures of whole tables, one row per question and ranker, from `rankings` and `gold` (SPEC 2).

They equal the measures of one list in `lib.grades`, which can be had from here too.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.grades import (  # noqa: F401 - one name, lib.ranking, for the whole subject
    all_gold_at,
    bundle_coverage,
    condense,
    dcg_at,
    gain,
    headroom,
    judged_at,
    last_hop_at,
    ndcg_at,
    order_by_score,
    recall_at,
    reciprocal_rank,
    tie_bounds,
)

KS = (1, 3, 5, 7, 10, 20, 50)
QUESTION = ["dataset", "qid"]
LIST = [*QUESTION, "scope", "ranker"]


def ranking_measures(
    rankings: pd.DataFrame,
    gold: pd.DataFrame,
    ks: Sequence[int] = KS,
    form: str = "exponential",
    documents: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Measure every list: one row per (dataset, qid, scope, ranker), wide in the measures, all in [0, 1] (SPEC 2).

    Columns: n_gold, n_negative (negative grades, which count as 0), in_rankings, mrr (this question's reciprocal rank), and for
    each k recall_at_k, all_gold_at_k, ndcg_at_k (`form` of gain as in `lib.grades`), last_hop_hit_at_k, judged_at_k. A judged
    question for which a ranker has no list scores 0 and stays. NaN: no gold; for the last hop, none defined. `documents`
    (dataset, doc_id, title) adds title_recall_at_k and title_last_hop_hit_at_k: any passage of a gold title counts, k counts
    passages. Raises ValueError for a repeated document in a list, ranks that are not 1, 2, 3, ..., two last hops of a question.
    """
    _check_lists(rankings)
    gold = _check_gold(gold)
    measures = _measure(rankings, gold, ks, form)
    if documents is not None:
        titled = _by_title(rankings, documents, LIST, {"rank": "min"})
        by_title = _measure(titled, _by_title(gold, documents, QUESTION, {"grade": "max", "is_last_hop": "any"}), ks, form)
        kept = [f"{measure}_at_{k}" for k in ks for measure in ("recall", "last_hop_hit")]
        measures = measures.join(by_title[kept].add_prefix("title_"))
    return measures.reset_index()


def _check_lists(rankings: pd.DataFrame) -> None:
    repeated = rankings.duplicated([*LIST, "doc_id"])
    if repeated.any():
        first = rankings[repeated].iloc[0]
        raise ValueError(
            f"rankings: document {first['doc_id']!r} is repeated in {first[LIST].to_dict()}: rank each document once"
        )
    ordered = rankings.sort_values("rank", kind="stable")
    wrong = ordered.groupby(LIST).cumcount() + 1 != ordered["rank"]
    if wrong.any():
        first = ordered[wrong].iloc[0]
        raise ValueError(f"rankings: rank {first['rank']} in {first[LIST].to_dict()} breaks the sequence 1, 2, 3, ...")


def _check_gold(gold: pd.DataFrame) -> pd.DataFrame:
    if missing := {*QUESTION, "doc_id", "grade"} - set(gold.columns):
        raise ValueError(f"gold: columns {sorted(missing)} are missing, found {list(gold.columns)}")
    gold = gold.reindex(columns=[*QUESTION, "doc_id", "grade", "is_last_hop"]).astype({"grade": float})
    gold["is_last_hop"] = gold["is_last_hop"].eq(True).fillna(False).astype(bool)  # missing where undefined
    twice = gold.duplicated([*QUESTION, "doc_id"]) | (gold["is_last_hop"] & gold.duplicated([*QUESTION, "is_last_hop"]))
    if twice.any():
        raise ValueError(f"gold: a document or a last hop is given twice to one question: {gold[twice].iloc[0].to_dict()}")
    return gold


def _measure(rankings: pd.DataFrame, gold: pd.DataFrame, ks: Sequence[int], form: str) -> pd.DataFrame:
    measures = _one_row_per_list(rankings, gold)
    n_gold, lengths = measures["n_gold"].where(measures["n_gold"] > 0), rankings.groupby(LIST).size().reindex(measures.index)
    judged = rankings[[*LIST, "rank", "doc_id"]].merge(gold, on=[*QUESTION, "doc_id"])
    judged["gained"] = _discounted_gain(judged, form)
    has_last_hop = _question_index(measures).isin(pd.MultiIndex.from_frame(gold.loc[gold["is_last_hop"], QUESTION]))

    def total(rows: pd.Series, at: pd.DataFrame) -> pd.Series:
        return rows.groupby([at[key] for key in LIST]).sum().reindex(measures.index).fillna(0.0)

    hits = judged[judged["grade"] > 0]
    measures["mrr"] = (1 / hits.groupby(LIST)["rank"].min()).reindex(measures.index).fillna(0.0).where(n_gold.notna())
    for k in ks:
        top = judged[judged["rank"] <= k]
        found = total((top["grade"] > 0).astype(float), top)
        measures[f"recall_at_{k}"] = found / n_gold
        measures[f"all_gold_at_{k}"] = (found == n_gold).astype(float).where(n_gold.notna())
        measures[f"ndcg_at_{k}"] = total(top["gained"], top) / _ideal(gold, k, form).reindex(_question_index(measures)).to_numpy()
        measures[f"last_hop_hit_at_{k}"] = total(top["is_last_hop"].astype(float), top).where(has_last_hop)
        measures[f"judged_at_{k}"] = total(top["grade"].notna().astype(float), top) / lengths.clip(upper=k)
    return measures


def _one_row_per_list(rankings: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """Every ranker of a data set x every question that the rankings or the judgements know, indexed by LIST, with its counts."""
    systems = rankings[["dataset", "scope", "ranker"]].drop_duplicates()
    questions = pd.concat([gold[QUESTION], rankings[QUESTION]]).drop_duplicates()
    rows = systems.merge(questions, on="dataset")[LIST].sort_values(LIST).set_index(LIST)
    for column, counted in (("n_gold", gold["grade"] > 0), ("n_negative", gold["grade"] < 0)):
        counts = gold[counted].groupby(QUESTION).size().reindex(_question_index(rows))
        rows[column] = counts.fillna(0).to_numpy(int)
    return rows.assign(in_rankings=rows.index.isin(pd.MultiIndex.from_frame(rankings[LIST].drop_duplicates())))


def _question_index(measures: pd.DataFrame) -> pd.MultiIndex:
    return measures.index.droplevel(["scope", "ranker"])


def _discounted_gain(documents: pd.DataFrame, form: str) -> np.ndarray:
    return gain(documents["grade"], form) / np.log2(documents["rank"].to_numpy(float) + 1)


def _ideal(gold: pd.DataFrame, k: int, form: str) -> pd.Series:
    """Each question's DCG of the corpus's best k; missing where nothing is relevant."""
    ranked = gold[gold["grade"] > 0]
    ranked = ranked.assign(rank=ranked.groupby(QUESTION)["grade"].rank(method="first", ascending=False))
    ranked = ranked[ranked["rank"] <= k]
    return ranked.assign(gained=_discounted_gain(ranked, form)).groupby(QUESTION)["gained"].sum()


def _by_title(table: pd.DataFrame, documents: pd.DataFrame, key: list[str], merged: dict[str, str]) -> pd.DataFrame:
    """Name documents by title (by themselves where it is unknown or empty) and merge those of one title."""
    titled = table.merge(documents[["dataset", "doc_id", "title"]], on=["dataset", "doc_id"], how="left", validate="many_to_one")
    titled["doc_id"] = titled["title"].where(titled["title"].fillna("") != "", titled["doc_id"])
    return titled.groupby([*key, "doc_id"], as_index=False).agg(merged)


def condensed_rankings(rankings: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """Drop unjudged documents and close the ranks, so that `ranking_measures` gives the condensed measures (SPEC 11)."""
    judged = rankings.merge(gold[[*QUESTION, "doc_id"]], on=[*QUESTION, "doc_id"]).sort_values([*LIST, "rank"], ignore_index=True)
    return judged.assign(rank=judged.groupby(LIST).cumcount() + 1)


def retied_rankings(rankings: pd.DataFrame, gold: pd.DataFrame, best: bool) -> pd.DataFrame:
    """Order tied scores as well (best) or as badly as can be: `ranking_measures` of both are the bounds that ties leave open."""
    graded = rankings.merge(gold[[*QUESTION, "doc_id", "grade"]], on=[*QUESTION, "doc_id"], how="left")
    graded["worth"] = graded["grade"].fillna(0).clip(lower=0)
    ordered = graded.sort_values(
        [*LIST, "score", "worth", "rank"], ascending=[True] * 4 + [False, not best, True], ignore_index=True
    )
    return ordered.assign(rank=ordered.groupby(LIST).cumcount() + 1)[rankings.columns]


def mean_measures(measures: pd.DataFrame) -> pd.DataFrame:
    """Average `ranking_measures` per (dataset, scope, ranker); what is undefined is left out of its mean and counted.

    Adds n (questions), n_no_gold, n_no_last_hop, n_missing (judged, but no list) and n_negative (negative grades).
    """
    system, hop = ["dataset", "scope", "ranker"], next(c for c in measures.columns if c.startswith("last_hop_hit_at_"))
    flags = measures.assign(
        n=1,
        n_no_gold=measures["n_gold"] == 0,
        n_no_last_hop=measures[hop].isna(),
        n_missing=~measures["in_rankings"] & (measures["n_gold"] > 0),
    )
    counts = flags.groupby(system)[["n", "n_no_gold", "n_no_last_hop", "n_missing", "n_negative"]].sum()
    means = measures.drop(columns=["qid", "n_gold", "n_negative", "in_rankings"]).groupby(system).mean()
    return counts.astype("int64").join(means).reset_index()
