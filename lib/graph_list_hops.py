"""How far a list reaches along a chain: is the passage of each hop among the first places, by the graph list H and by the dense list V (SPEC 10, 12)?"""
from __future__ import annotations

import pandas as pd

from lib import stats
from lib.pool_union import H, V
from lib.ranking import QUESTION
from lib.whole import check_whole

COLUMNS = ["tier", "dataset", "n_hops", "hop", "graph", "dense", "delta", "ci_low", "ci_high", "p_value", "p_holm", "n"]


def by_hop(rankings: pd.DataFrame, gold: pd.DataFrame, questions: pd.DataFrame, tier: str, k: int = 5, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """COLUMNS: share of questions of ``n_hops`` hops whose gold passage of ``hop`` is among the first ``k`` of H and of V; delta = H - V in points, paired.

    Gold without a place in the chain is left out, several passages of one hop count by their mean. Interval: bootstrap over questions, 95 %; Holm over the rows
    of a data set. No rows without a list or a hop.
    """
    check_whole("k", k, 1)
    chain = gold.dropna(subset=["hop"]).merge(questions[[*QUESTION, "n_hops"]].dropna(), on=QUESTION)
    found = rankings[(rankings["scope"] == "pooled") & (rankings["rank"] <= k)]
    listed = {name: found[found["ranker"] == name][[*QUESTION, "doc_id"]].drop_duplicates() for name in (H, V)}
    if chain.empty or any(t.empty for t in listed.values()):
        return pd.DataFrame(columns=COLUMNS)
    for name, rows in listed.items():
        chain = chain.merge(rows.assign(**{name: 1.0}), on=[*QUESTION, "doc_id"], how="left").fillna({name: 0.0})
    made = []
    for dataset, part in chain.groupby("dataset"):
        cells = [(key, rows.groupby("qid")[[H, V]].mean()) for key, rows in part.groupby(["n_hops", "hop"])]
        intervals = [stats.paired_cluster_bootstrap((100 * (c[H] - c[V])).to_numpy(), c.index.tolist(), resamples, seed) for _, c in cells]
        adjusted = stats.holm([i.p_value for i in intervals])
        made += [(tier, dataset, int(hops), int(hop), c[H].mean(), c[V].mean(), i.estimate, i.low, i.high, i.p_value, p, len(c))
                 for ((hops, hop), c), i, p in zip(cells, intervals, adjusted)]
    return pd.DataFrame(made, columns=COLUMNS)
