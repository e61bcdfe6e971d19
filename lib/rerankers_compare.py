"""Rerankers beside each other: each list against its own first stage on the questions that it has, with what it cost (SPEC 11).

Two lists of different questions cannot be compared by their means: a language model that read forty questions is held against its first stage on these forty.
What retrieves again is no reranker: its rows say so, and the recall of its pool, which no reranker can change, stands beside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lib import stats
from lib.cross_encoder import read_card
from lib.ranking import QUESTION, ranking_measures
from lib.rerankers_feedback import SECOND_RETRIEVALS

FIRST_OF = {"rocchio": "dense", "rm3": "bm25", "iterative": "dense"}  # what a second retrieval began with
NO_MODEL, CROSS, LANGUAGE, AGAIN = "no model", "cross-encoder", "language model", "second retrieval"
KINDS = (NO_MODEL, CROSS, LANGUAGE, AGAIN)
MEASURES = ("ndcg", "pool_recall")
COLUMNS = [
    "tier",
    "dataset",
    "ranker",
    "first_stage",
    "kind",
    "measure",
    "depth",
    "cutoff",
    "first",
    "estimate",
    "delta",
    "ci_low",
    "ci_high",
    "p_value",
    "p_holm",
    "calls",
    "tokens",
    "repaired",
    "repaired_calls",
    "n",
]


def kind_of(ranker: str) -> str:
    """What a list's name says of how it was made.

    >>> kind_of("hybrid + fusion"), kind_of("hybrid + reranker"), kind_of("hybrid + smollm2-135m yes/no"), kind_of("rm3")
    ('no model', 'cross-encoder', 'language model', 'second retrieval')
    """
    if ranker in SECOND_RETRIEVALS:
        return AGAIN
    method = ranker.rpartition(" + ")[2]
    return NO_MODEL if method == "fusion" else LANGUAGE if method.endswith(("yes/no", "pairwise", "listwise")) else CROSS


def first_of(ranker: str) -> str:
    """The first stage of a list; raises ValueError for a first stage itself.

    >>> first_of("hybrid + reranker"), first_of("rocchio")
    ('hybrid', 'dense')
    """
    if ranker not in FIRST_OF and " + " not in ranker:
        raise ValueError(f"{ranker!r} is a first stage; lists to compare are called 'first + reranker' or one of {', '.join(FIRST_OF)}")
    return FIRST_OF.get(ranker) or ranker.partition(" + ")[0]


def made_from(rankings: pd.DataFrame, scope: str) -> list[str]:
    """The lists of a scope that were made from another one, whose first stage is there, too: the kinds in the order of ``KINDS``."""
    there = set(rankings.loc[rankings["scope"] == scope, "ranker"])
    found = [r for r in there if (r in FIRST_OF or " + " in r) and first_of(r) in there]
    return sorted(found, key=lambda r: (KINDS.index(kind_of(r)), first_of(r), r))


def compare(
    rankings: pd.DataFrame,
    gold: pd.DataFrame,
    costs: pd.DataFrame,
    tier: str,
    scope: str = "pooled",
    cutoff: int = 5,
    depth: int = 50,
    resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """The table rerankers: a row a data set, list and measure (nDCG at ``cutoff``; recall of the first ``depth``), the list minus its first stage.

    Only questions with a list and a relevant passage count. calls and tokens are means a question, repaired a sum, from ``costs`` (``rerankers_lists.COST``);
    missing where a list's cost was not told; a fusion costs nothing. Holm runs over the lists of one data set and measure.
    """
    made, gold = [], gold[gold["grade"] > 0]
    here = rankings[(rankings["scope"] == scope) & rankings["dataset"].isin(set(gold["dataset"]))].astype({"rank": int})
    measured = ranking_measures(here, gold, [cutoff, depth]).set_index(["ranker", *QUESTION]) if len(here) else None
    for ranker in made_from(here, scope) if len(here) else []:
        own, first = measured.loc[ranker], measured.loc[first_of(ranker)]
        own = own[own["in_rankings"] & (own["n_gold"] > 0)]
        for dataset, part in own.groupby("dataset"):
            before = first.reindex(part.index)
            for measure, column in zip(MEASURES, (f"ndcg_at_{cutoff}", f"recall_at_{depth}")):
                i = stats.paired_cluster_bootstrap((part[column] - before[column]).to_numpy(float), list(part.index), resamples, seed)
                head = (tier, dataset, ranker, first_of(ranker), kind_of(ranker), measure, depth, cutoff, before[column].mean(), part[column].mean())
                made.append((*head, *i[:4], math.nan, *_cost(costs, ranker, part.index), i.n))
    table = pd.DataFrame(made, columns=COLUMNS)
    table["p_holm"] = table.groupby(["dataset", "measure"])["p_value"].transform(lambda p: stats.holm(p.to_numpy())) if len(table) else np.nan
    return table


def _cost(costs: pd.DataFrame, ranker: str, questions: pd.MultiIndex) -> tuple[float, float, float, float]:
    """(mean calls, mean tokens, repaired outputs, calls in all) of the questions counted."""
    if kind_of(ranker) == NO_MODEL:
        return 0.0, 0.0, 0.0, 0.0
    mine = costs[costs["ranker"] == ranker]
    mine = mine[pd.MultiIndex.from_frame(mine[QUESTION]).isin(questions)]
    if mine.empty:
        return (math.nan,) * 4
    return float(mine["calls"].mean()), float(mine["tokens"].mean()), float(mine["repaired"].sum()), float(mine["calls"].sum())


def told(table: pd.DataFrame, measures: Sequence[str] = ("ndcg",)) -> pd.DataFrame:
    """The rows of the table as a reader compares them: the pure rerankers before the second retrievals, the larger difference first within a kind."""
    rows = table[table["measure"].isin(measures)].assign(order=lambda d: d["kind"].map(KINDS.index))
    return rows.sort_values(["dataset", "order", "delta"], ascending=[True, True, False], ignore_index=True).drop(columns="order")


def at_home(spec: Mapping[str, Any] | None, control: str = "dense") -> pd.DataFrame:
    """Where a cross-encoder trained here was at home: nDCG@5 minus ``control``'s on the questions held out of its training, a row a data set, from its card.

    Lists there are a question's own paragraphs, so the numbers compare data sets, not tiers. No row for another reranker, which has no such card.
    """
    columns = ["dataset", "control", "first", "estimate", "delta", "ci_low", "ci_high", "pairs", "n"]
    if spec is None or spec["method"] != "cross_encoder":
        return pd.DataFrame(columns=columns)
    card, rows = read_card(spec["model"]), []
    for dataset, held in card["held_out"]["order"].items():
        means = [held["measures"]["ndcg_at_5"][name][0] for name in (control, "cross_encoder")]
        trained = sum(card["counts"]["pairs"].get(dataset, {}).values())
        rows.append((dataset, control, *means, *held["differences"]["ndcg_at_5"][f"cross_encoder - {control}"][:3], trained, held["n"]))
    return pd.DataFrame([r for r in rows if r[0] != "all"], columns=columns)
