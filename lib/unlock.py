"""Does more retrieval unlock the evidence, measured at the depth that was widened (SPEC 9; document 000, sections 6.2 and 6.3, Table 4).

Document 000 retrieves deeper and looks at recall@5 again. The first five of a deeper list of the same ranking are the same five, so its two columns are equal
by construction and show nothing. Here every depth is measured at that depth, three times: are all gold passages in the list (``all_gold``), does the answer
stand in one of its passages (``answer_in_list``), and what is left of both once a packer has cut the list to the budget (``all_gold_in_context``,
``answer_in_context_defined``).
"""
from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import ranking, scope, stats, survival
from lib.parts import halves
from lib.settings import SETTING

DEPTHS = (5, 10, 20, 50)
BASE = ("dense", 5)   # what document 000 packs from
RANKERS = ("dense", "iterative")
KEPT = ("answer_in_context_defined", "all_gold_in_context")
CELL = ["scope", "ranker", "depth", "policy", "measure"]
COLUMNS = ["tier", "dataset", "half", *CELL, "against", "estimate", "ci_low", "ci_high", "p_value", "n", "clusters", "undefined"]


def cut(rankings: pd.DataFrame, depth: int) -> pd.DataFrame:
    """The lists no deeper than ``depth``: what a shallower retrieval would have brought."""
    return rankings[rankings["rank"] <= depth]


def depths_of(rankings: pd.DataFrame, depths: Sequence[int]) -> list[int]:
    """The depths that differ for these lists: those below the longest, and the first that holds it whole.

    >>> depths_of(pd.DataFrame({"rank": range(1, 11)}), (5, 10, 20, 50))
    [5, 10]
    """
    longest = int(rankings["rank"].max()) if len(rankings) else 0
    return [d for i, d in enumerate(sorted(depths)) if i == 0 or sorted(depths)[i - 1] < longest]


def holder_ranks(questions: pd.DataFrame, documents: pd.DataFrame, rankings: pd.DataFrame) -> pd.DataFrame:
    """The first rank at which a passage holds an accepted answer: dataset, qid, scope, ranker, holder_rank (missing: no listed passage does).

    Questions without a span have no row: nothing is looked for.
    """
    span = survival.answers_in_contexts(questions["answers"], [[] for _ in range(len(questions))], questions["question_type"])["answer_defined"].to_numpy(bool)
    asked = questions.loc[span, ["dataset", "qid", "answers", "question_type"]]
    pairs = rankings[["dataset", "qid", "doc_id"]].drop_duplicates().merge(asked, on=["dataset", "qid"]).merge(documents[["dataset", "doc_id", "text"]],
                                                                                                               on=["dataset", "doc_id"])
    pairs["holds"] = survival.answers_in_contexts(pairs["answers"], [[t] for t in pairs["text"]], pairs["question_type"])["answer_in_context"].to_numpy()
    found = rankings.merge(pairs[["dataset", "qid", "doc_id", "holds"]], on=["dataset", "qid", "doc_id"])
    key = ["dataset", "qid", "scope", "ranker"]
    first = found[found["holds"] == 1].groupby(key)["rank"].min().rename("holder_rank")
    return found[key].drop_duplicates().merge(first.reset_index(), on=key, how="left")


def listed(questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, rankings: pd.DataFrame, depths: Sequence[int] = DEPTHS) -> pd.DataFrame:
    """Long, a value a question: dataset, qid, scope, ranker, depth, policy (none), measure, value. Measures: recall, all_gold, last_hop_hit, answer_in_list."""
    made = []
    for (dataset, area), rows in rankings.groupby(["dataset", "scope"]):
        here = depths_of(rows, depths)
        measured = ranking.ranking_measures(rows, gold[gold["dataset"] == dataset], ks=here)
        holders = holder_ranks(questions[questions["dataset"] == dataset], documents[documents["dataset"] == dataset], rows)
        for depth in here:
            key = ["dataset", "qid", "scope", "ranker"]
            wide = measured[[*key, *(f"{m}_at_{depth}" for m in ("recall", "all_gold", "last_hop_hit"))]].rename(columns=lambda c,
                                                                                                                 d=depth: c.removesuffix(f"_at_{d}"))
            wide = wide.merge(holders.assign(answer_in_list=(holders["holder_rank"].astype(float) <= depth).astype(float)).drop(columns="holder_rank"), on=key,
                              how="left")
            made.append(wide.melt(key, var_name="measure").assign(depth=depth, policy="none"))
    columns = ["dataset", "qid", *CELL, "value"]
    return pd.concat(made, ignore_index=True)[columns] if made else pd.DataFrame(columns=columns)


def pools(settings: pd.DataFrame, main: str) -> dict[str, tuple[str, str, int]]:
    """pack_id -> (scope, ranker, depth) of the main pack and of those that differ from it in nothing but where their candidates come from."""
    made = {r.id: SETTING | json.loads(r.settings) for r in settings.itertuples() if r.kind == "pack"}
    where, base = ("scope", "ranker", "depth"), made.get(main, SETTING)
    return {name: tuple(s[k] for k in where) for name, s in made.items() if all(s[k] == base[k] for k in base if k not in where)}


def packed(questions: pd.DataFrame, survived: pd.DataFrame, settings: pd.DataFrame, main: str, budget: int, policies: Sequence[str]) -> pd.DataFrame:
    """The same long form for what the packers keep at ``budget`` of each pool; policy ``submod - focused`` and the like for paired differences."""
    where = pools(settings, main)
    rows = scope.arms(survived[survived["pack_id"].isin(list(where)) & survived["policy"].isin(policies)], questions, budget=budget)
    rows[["scope", "ranker", "depth"]] = pd.DataFrame([where[p] for p in rows["pack_id"]], columns=["scope", "ranker", "depth"], index=rows.index)
    long = rows.melt(["dataset", "qid", "scope", "ranker", "depth", "policy"], list(KEPT), "measure")
    wide = long.pivot(index=["dataset", "qid", "scope", "ranker", "depth", "measure"], columns="policy", values="value").astype(float)
    pairs = [("submod", c) for c in ("focused", "naive") if {"submod", c} <= set(wide)]
    gaps = [(wide[t] - wide[c]).rename("value").reset_index().assign(policy=f"{t} - {c}") for t, c in pairs]
    return pd.concat([long, *gaps], ignore_index=True)[["dataset", "qid", *CELL, "value"]]


def unlock(questions: pd.DataFrame, values: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The unlock table from the long values of ``listed`` and ``packed``: means, and paired differences, for each half and over all.

    ``against``: none, a mean; dense 5, the same measure less that of the first five of the dense list; dense, iterative less dense at the same depth.
    """
    rows = values.merge(questions[["dataset", "qid", "half"]], on=["dataset", "qid"])
    made = []
    for half, part in halves(rows):
        for dataset, group in (scope.sets(part) if half == "all" else part.groupby("dataset")):
            wide = _with_differences(_shared(group.pivot(index=["dataset", "qid"], columns=CELL, values="value").astype(float)))
            if len(wide.columns):
                found = stats.paired_cluster_bootstraps(wide.to_numpy(), wide.index, resamples=resamples, seed=seed)
                made += [(tier, dataset, half, *name, i.estimate, i.low, i.high, i.p_value if name[-1] != "none" else np.nan, i.n, i.clusters, len(wide) - i.n)
                         for name, i in zip(wide, found)]
    return pd.DataFrame(made, columns=COLUMNS)


def _shared(wide: pd.DataFrame) -> pd.DataFrame:
    """The columns that every data set has: a mean over all of them must not be that of one."""
    there = wide.notna().groupby(level="dataset").any().all()
    return wide.loc[:, there]


def _with_differences(wide: pd.DataFrame) -> pd.DataFrame:
    """A column (*CELL, none) for each cell, and its differences from dense 5, and from dense at the same depth."""
    made = {(*cell, "none"): wide[cell] for cell in wide}
    for area, ranker, depth, policy, measure in wide:
        start, same = (area, *BASE, policy, measure), (area, BASE[0], depth, policy, measure)
        if (ranker, depth) != BASE and start in wide:
            made[area, ranker, depth, policy, measure, f"{BASE[0]} {BASE[1]}"] = wide[area, ranker, depth, policy, measure] - wide[start]
        if ranker != BASE[0] and same in wide:
            made[area, ranker, depth, policy, measure, BASE[0]] = wide[area, ranker, depth, policy, measure] - wide[same]
    return pd.DataFrame(made, index=wide.index)


def same_five(gold: pd.DataFrame, rankings: pd.DataFrame, depths: Sequence[int] = DEPTHS) -> pd.DataFrame:
    """Document 000's Table 4, made again: recall and all-gold at cutoff 5 of one ranking cut at each depth. The rows are equal, whatever the data."""
    parts = []
    for depth in depths:
        measured = ranking.ranking_measures(cut(rankings, depth), gold, ks=(5,))
        parts.append(measured.groupby(["dataset", "scope", "ranker"])[["recall_at_5", "all_gold_at_5"]].mean().reset_index().assign(retrieved=depth))
    return pd.concat(parts, ignore_index=True)[["dataset", "scope", "ranker", "retrieved", "recall_at_5", "all_gold_at_5"]]
