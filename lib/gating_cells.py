"""Per data set and K: what always reranking brings, and what a gate keeps of it on held-out questions (document 002, Tables 3, 4 and 6)."""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib import stats
from lib.gate import skip_delta, within
from lib.gating_bound import lower_bound
from lib.gating_nested import CELL
from lib.gating_outcomes import outcomes, policies
from lib.keys import check_once
from lib.whole import check_draws

POINT = 1.0  # the pre-registered rule, percentage points
ALWAYS = ["tier", "dataset", "k", "h", "d", "rerank", "delta", "ci_low", "ci_high", "p_value", "p_holm", "wins", "losses", "sign_p", "n"]
CELLS = ["tier", *CELL, "fallbacks", "skip", "skip_low", "skip_high", "rerank", "gated", "delta", "ci_low", "ci_high", "bound", "harmful", "beneficial",
         "within", "surely_within", "inner_skip", "gap", "inner_low", "inner_high", "inner_delta", "models", "labels", "refused", "n"]
SHORT = {"rerank_helps": "h", "fallback_has_gold": "g", "none": "-"}


def always_table(decisions: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Always reranking against H, a row a data set and K: hit rates, delta (pp) with interval, wins and losses with their exact sign test.

    Holm over the K of one data set.
    """
    check_draws(resamples, seed)
    rows = []
    for dataset, part in policies(decisions).groupby("dataset"):
        wide = part.astype({"rerank_hit": float, "h_hit": float}).pivot(index="qid", columns="k", values=["rerank_hit", "h_hit", "d_hit"])
        ks = sorted(part["k"].unique())
        deltas = np.column_stack([wide["rerank_hit"][k] - wide["h_hit"][k] for k in ks])
        found = stats.paired_cluster_bootstraps(100 * deltas, wide.index, resamples, seed)
        for k, i, p, column in zip(ks, found, stats.holm([i.p_value for i in found]), deltas.T):
            wins, losses = int((column > 0).sum()), int((column < 0).sum())
            rows.append((tier, dataset, k, wide["h_hit"][k].mean(), wide["d_hit"][k].mean(), wide["rerank_hit"][k].mean(), i.estimate, i.low, i.high, i.p_value,
                         p, wins, losses, stats.sign_test(wins, losses), i.n))
    return pd.DataFrame(rows, columns=ALWAYS)


def cells(decisions: pd.DataFrame, choices: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0, lesson: bool = False) -> pd.DataFrame:
    """Held-out skip rate, delta, harm and benefit of every data set, K and rule, beside what the inner folds promised and chose.

    delta, bound and inner_delta are in percentage points against always reranking, skip and gap are shares. ``bound``: one-sided 95 % (``lib.gating_bound``);
    ``within``: delta >= -1, unrounded; ``surely_within``: bound >= -1. Folds share training questions, so the interval is that of these gates on such
    questions, not of the procedure. Raises ValueError where delta is not (beneficial - harmful) / n, and
    where ``choices`` holds a fold twice or lacks a cell.
    """
    check_draws(resamples, seed)
    check_once(choices, [*CELL, "fold"], "choices", "keep those of one run and one gate")
    rows, found = [], outcomes(decisions, lesson)
    logs, spreads = dict(list(choices.groupby(CELL))), _spreads(found, resamples, seed)
    for key, part in found.groupby(CELL):
        if key not in logs:
            raise ValueError(f"choices: no fold of cell {key}; give the choices of the run that made the decisions")
        n, harm, gain = len(part), int(part["harmful"].sum()), int(part["beneficial"].sum())
        delta, rerank, gated = skip_delta(gain, harm, n), part["rerank_hit"].mean(), part["gated_hit"].mean()
        if abs(100 * (gated - rerank) - delta) > 1e-9:
            raise ValueError(f"cell {key}: delta {100 * (gated - rerank)} is not (beneficial - harmful) / n = {delta}; the hits and the counts disagree")
        skip, change = spreads[key]
        bound = lower_bound(gain, harm, n)
        rows.append((tier, *key, _joined(part.loc[part["fallback"] != "none", "fallback"]), *skip[:3], rerank, gated, delta, change.low, change.high, bound,
                     harm, gain, within(delta, POINT), within(bound, POINT), *_inner(logs[key], skip.estimate), n))
    return pd.DataFrame(rows, columns=CELLS)


def _joined(names: pd.Series) -> str:
    return "/".join(sorted(set(names))) or "none"


def _inner(log: pd.DataFrame, skip: float) -> tuple:
    """Mean inner skip over folds, held-out minus it, its range, mean inner delta; models and labels by fold; how many folds refused."""
    log = log.sort_values("fold")
    inner = log["inner_skip"].astype(float)
    return (inner.mean(), skip - inner.mean(), inner.min(), inner.max(), log["inner_delta"].astype(float).mean(), "/".join(log["model"]),
            "/".join(log["label"].map(SHORT)), int((log["model"] == "refused").sum()))


def _spreads(found: pd.DataFrame, resamples: int, seed: int) -> dict[tuple, tuple[stats.Interval, stats.Interval]]:
    """Intervals of the skip rate and of delta (pp) of every cell; the cells of a data set share one draw of its questions."""
    made = {}
    for dataset, part in found.groupby("dataset"):
        part = part.assign(skipped=part["skip"].astype(float), change=100 * (part["gated_hit"].astype(float) - part["rerank_hit"].astype(float)))
        wide = part.pivot(index="qid", columns=["k", "rule"], values=["skipped", "change"])
        keys = list(wide["skipped"].columns)
        intervals = stats.paired_cluster_bootstraps(np.hstack([wide["skipped"][keys].to_numpy(), wide["change"][keys].to_numpy()]), wide.index, resamples, seed)
        made |= {(dataset, *key): (intervals[i], intervals[len(keys) + i]) for i, key in enumerate(keys)}
    return made
