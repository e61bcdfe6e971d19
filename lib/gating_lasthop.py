"""LastHop@K against K: how deep must a list be read to cover a share of questions; larger pools; F1 replayed (document 002, Tables 9 to 12)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import bootstrap, stats
from lib.gating_inputs import QuestionSet, target_ranks
from lib.gating_nested import OUTER, check_sets, outer_folds
from lib.gating_outcomes import outcomes
from lib.keys import check_once, keyed
from lib.ranking import QUESTION
from lib.whole import check_draws, check_whole

PIPELINES = ("H", "V", "rerank", "gated")
LEVELS = (0.25, 0.20, 0.10, 0.05)
DEPTHS = tuple(range(1, 11))
POOL_KS = (1, 3, 5, 7, 10)
CURVE = ["tier", "dataset", "pipeline", "k", "coverage", "ci_low", "ci_high", "n"]
LEVEL = ["tier", "dataset", "pipeline", "alpha", "k", "k_sure", "n"]
POOL = ["tier", "dataset", "pool", "k", "coverage", "delta", "ci_low", "ci_high", "wins", "losses", "sign_p", "p_holm", "n"]
REPLAY = ["tier", "dataset", "k", "rule", "measure", "h_all", "rerank_all", "covered", "h", "rerank", "gated", "delta", "ci_low", "ci_high", "p_value", "n"]


def gated_ranks(sets: Sequence[QuestionSet], decisions: pd.DataFrame, k: int, rule: str, seed: int = 0, outer: int = OUTER) -> pd.DataFrame:
    """Rank of each target in H, in V, in the reranked list and in what the gate of one cell hands on: dataset, qid, pipeline, rank (infinite: absent).

    One policy, that of ``k`` and ``rule``, is read at every depth, as the document does. Lists D are learned again from each training fold. Raises ValueError
    where the decisions were made with other folds.
    """
    check_sets(sets)
    mine, parts = decisions[(decisions["k"] == k) & (decisions["rule"] == rule)], []
    for data in sets:
        told = mine[mine["dataset"] == data.dataset].set_index("qid")
        if sorted(told.index) != sorted(data.qids):
            raise ValueError(f"{data.dataset}: {len(told)} decisions at k {k}, rule {rule!r}, for {len(data.qids)} questions; give one a question")
        told = told.loc[data.qids]
        gated = np.where(told["skip"].astype(bool), data.ranks["H"], data.ranks["R"])
        for fold, train, test in outer_folds(data, outer, seed):
            if (told["fold"].iloc[test] != fold).any():
                raise ValueError(f"{data.dataset}: the decisions have other folds than seed {seed} and {outer} folds give; name those of the run")
            use = test[(told["skip"].astype(bool) & (told["fallback"] == "D")).to_numpy()[test]]
            if len(use):
                gated[use] = data.distil(train, use)
        ranks = {"H": data.ranks["H"], "V": data.ranks["V"], "rerank": data.ranks["R"], "gated": gated}
        parts += [pd.DataFrame({"dataset": data.dataset, "qid": data.qids, "pipeline": p, "rank": ranks[p]}) for p in PIPELINES]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["dataset", "qid", "pipeline", "rank"])


def lasthop_curves(ranks: pd.DataFrame, tier: str, depths: Sequence[int] = DEPTHS, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Share of questions whose target is among the first k, a row a data set, pipeline and k, with its interval; one draw for all rows of a data set.

    Raises ValueError for a question given twice in one pipeline, and depths that are no whole numbers.
    """
    check_draws(resamples, seed)
    _check_depths(depths)
    check_once(ranks, ["dataset", "qid", "pipeline"], "ranks")
    rows = []
    for dataset, part in ranks.groupby("dataset"):
        wide = part.pivot(index="qid", columns="pipeline", values="rank")
        keys = [(p, k) for p in wide.columns for k in depths]
        means, drawn = bootstrap.column_means(np.column_stack([wide[p] <= k for p, k in keys]).astype(float), wide.index.tolist(), resamples, seed)
        codes = np.arange(len(wide))
        found = [bootstrap.percentile_interval(m, d, codes, tested=False) for m, d in zip(means[0], drawn.T)]
        rows += [(tier, dataset, *key, i.estimate, i.low, i.high, i.n) for key, i in zip(keys, found)]
    return pd.DataFrame(rows, columns=CURVE)


def _check_depths(depths: Sequence[int]) -> None:
    for k in depths:
        check_whole("k", k, 1)
    if len(set(depths)) < len(depths):
        raise ValueError(f"each k is asked for once, got {list(depths)}")


def smallest_k(curves: pd.DataFrame, levels: Sequence[float] = LEVELS) -> pd.DataFrame:
    """The smallest k that covers a share of 1 - alpha (document 002, Table 12), missing where none does; ``k_sure``: at which the interval's lower end does."""
    rows = []
    for (tier, dataset, pipeline), part in curves.groupby(["tier", "dataset", "pipeline"]):
        for alpha in levels:
            reach = [part.loc[part[c] >= 1 - alpha - 1e-12, "k"].min() for c in ("coverage", "ci_low")]
            rows.append((tier, dataset, pipeline, alpha, *reach, int(part["n"].max())))
    return pd.DataFrame(rows, columns=LEVEL)


def pool_expansion(pools: Mapping[str, pd.DataFrame], targets: pd.DataFrame, tier: str, ks: Sequence[int] = POOL_KS, unit: str = "doc_id",
                   resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """LastHop@k of lists reranked over larger pools against the first one given (document 002, Table 9), on the questions that all of them ranked.

    ``pools``: dataset, qid, rank, ``unit``, by name. delta in pp with interval; wins and losses with their exact sign test; Holm over one pool's ks. That no
    test is significant does not make pools equal: read the interval. The first pool's own rows have no delta. Raises ValueError for
    a target or a passage of a list that is given twice.
    """
    check_draws(resamples, seed)
    _check_depths(ks)
    targets = keyed(targets, "targets").dropna(subset=[unit])
    check_once(targets, ["dataset", "qid"], "targets")
    pools = {name: keyed(p, f"pool {name}") for name, p in pools.items()}
    for name, p in pools.items():
        check_once(p, ["dataset", "qid", "rank"], f"pool {name}", "keep the list of one reranker")
    rows, names = [], list(pools)
    for dataset, goal in targets.groupby("dataset"):
        mine = {name: p[p["dataset"] == dataset] for name, p in pools.items()}
        asked = sorted(set(goal["qid"]).intersection(*(p["qid"] for p in mine.values())))
        if not asked:
            continue
        places = {name: target_ranks(p, goal.set_index("qid")[unit], asked, unit) for name, p in mine.items()}
        hits = {name: np.column_stack([places[name] <= k for k in ks]).astype(float) for name in names}
        rows += [(tier, dataset, names[0], k, c, *[None] * 7, len(asked)) for k, c in zip(ks, hits[names[0]].mean(axis=0))]
        for name in names[1:]:
            change = hits[name] - hits[names[0]]
            found = stats.paired_cluster_bootstraps(100 * change, asked, resamples, seed)
            counts = [(int((c > 0).sum()), int((c < 0).sum())) for c in change.T]
            signs = [stats.sign_test(*c) for c in counts]
            rows += [(tier, dataset, name, k, c, i.estimate, i.low, i.high, *count, p, holm, len(asked))
                     for k, c, i, count, p, holm in zip(ks, hits[name].mean(axis=0), found, counts, signs, stats.holm(signs))]
    return pd.DataFrame(rows, columns=POOL)


def pools_compared(pools: pd.DataFrame, targets: pd.DataFrame, tier: str, ks: Sequence[int] = POOL_KS, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """``pool_expansion`` of the table gate_pools: the first reranker over every pool, then every other reranker over the first pool, on the questions it was asked.

    ``pool`` names the pool; of the second kind it is followed by who ordered it.
    """
    if pools.empty:
        return pd.DataFrame(columns=POOL)
    main = pools["reranker"].iloc[0]
    over = {name: rows for name, rows in pools[pools["reranker"] == main].groupby("pool", sort=False)}
    first = next(iter(over))
    parts = [pool_expansion(over, targets, tier, ks, resamples=resamples, seed=seed)] if len(over) > 1 else []
    for other, rows in pools[(pools["reranker"] != main) & (pools["pool"] == first)].groupby("reranker", sort=False):
        same = over[first].merge(rows[QUESTION].drop_duplicates(), on=QUESTION)
        named = {f"{first}, {main} (questions of {other})": same, f"{first}, {other}": rows}
        parts.append(pool_expansion(named, targets, tier, ks, resamples=resamples, seed=seed))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=POOL)


def replayed(decisions: pd.DataFrame, f1: pd.DataFrame, tier: str, k: int = 5, measure: str = "f1", resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Answer F1 of H, of the reranked list and of the gate, replayed from answers that exist (document 002, Tables 10 and 11), a row a data set and rule.

    ``f1``: dataset, qid, h, rerank, and d where the lists D were read. *Covered*: the gate's list was read, i.e. reranked questions and skips to H (to D, if
    known); h, rerank, gated and delta = gated - rerank (in F1) are over these alone, h_all and rerank_all over all n. Skips to an unread D drop out, and those
    are skipped questions: with few covered, the three do not speak for all. Raises ValueError for missing columns, and
    for a question whose F1 or decision is given twice.
    """
    check_draws(resamples, seed)
    if missing := [c for c in ("dataset", "qid", "h", "rerank") if c not in f1]:
        raise ValueError(f"f1: columns {missing} are missing, found {list(f1)}")
    check_once(f1, ["dataset", "qid"], "f1", "keep the answers of one reader")
    rows = []
    found = outcomes(decisions[decisions["k"] == k]).merge(f1, on=["dataset", "qid"], how="inner").dropna(subset=["h", "rerank"])
    for (dataset, rule), part in found.groupby(["dataset", "rule"]):
        skip, on_d = part["skip"].to_numpy(bool), (part["fallback"] == "D").to_numpy()
        h, rerank = part["h"].to_numpy(float), part["rerank"].to_numpy(float)
        d = part["d"].to_numpy(float) if "d" in part else np.full(len(part), np.nan)
        gated = np.where(skip, np.where(on_d, d, h), rerank)
        known = ~np.isnan(gated)
        means = [float(v[known].mean()) if known.any() else np.nan for v in (h, rerank, gated)]
        i = stats.paired_cluster_bootstrap(gated - rerank, part["qid"].tolist(), resamples, seed)
        rows.append((tier, dataset, k, rule, measure, h.mean(), rerank.mean(), int(known.sum()), *means, i.estimate, i.low, i.high, i.p_value, len(part)))
    return pd.DataFrame(rows, columns=REPLAY)
