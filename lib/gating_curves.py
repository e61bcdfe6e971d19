"""Decision curves: what each gate would cost at every skip rate, between skipping at random and an oracle (SPEC 12, "Beyond").

A gate's held-out chances of harm order the questions of each fold; the curve skips a growing share of every fold in that order. Its own place on the curve was
chosen inside the folds: the point beside it. The rest of the curve is hindsight, good for comparing orders, not for choosing a threshold.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.gating_outcomes import outcomes
from lib.gating_rivals_table import LEARNED
from lib.whole import check_draws, is_number

SHARES = tuple(round(0.05 * i, 2) for i in range(21))
AREAS = ["tier", "gate", "dataset", "k", "rule", "knows", "ci_low", "ci_high", "n"]
CURVES = ["tier", "gate", "dataset", "k", "rule", "skip", "delta", "ci_low", "ci_high", "n"]
RANDOM, ORACLE = "random", "oracle"


def decision_curves(runs: Mapping[str, pd.DataFrame], tier: str, k: int, rule: str, shares: tuple[float, ...] = SHARES, resamples: int = 10_000,
                    seed: int = 0) -> pd.DataFrame:
    """delta (pp) at each skip rate with its interval over questions, a curve a gate and data set, at one K and rule.

    ``random`` and ``oracle`` (beneficial skips first, harmful ones last) fall back as the gate ``learned`` does, or the first one given. Questions with equal
    chances of harm share what is skipped of them, so a gate that knows nothing draws the random line. A fold that refused counts as knowing nothing. The
    interval is over questions with their places in the order held fast. Raises ValueError for a share outside [0, 1].
    """
    check_draws(resamples, seed)
    if wrong := [s for s in shares if not is_number(s, 0) or s > 1]:
        raise ValueError(f"shares of questions lie in [0, 1], got {wrong[0]!r}")
    rows, first = [], LEARNED if LEARNED in runs else next(iter(runs), None)
    for gate, decisions in runs.items():
        for dataset, part in outcomes(decisions[(decisions["k"] == k) & (decisions["rule"] == rule)]).groupby("dataset"):
            orders = {gate: part["p_harm"].to_numpy(float)}
            if gate == first:
                orders |= {RANDOM: np.zeros(len(part)), ORACLE: part["rerank_hit"].to_numpy(float) - part["fallback_hit"].to_numpy(float)}
            for name, order in orders.items():
                found = stats.paired_cluster_bootstraps(skipped_changes(part, order, shares), part["qid"].tolist(), resamples, seed)
                rows += [(tier, name, dataset, k, rule, s, i.estimate, i.low, i.high, i.n) for s, i in zip(shares, found)]
    return pd.DataFrame(rows, columns=CURVES)


def areas(runs: Mapping[str, pd.DataFrame], tier: str, k: int, rule: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """How much of what an oracle knows does a gate know? ``knows``: the area between its curve and the random line over that of the oracle, 0 for a gate that
    skips at random, 1 for the oracle, below 0 for one that knows the wrong way round; with interval. Each against its own fallbacks; missing where no skip
    changes anything.
    """
    check_draws(resamples, seed)
    rows, shares = [], np.linspace(0, 1, 101)
    for gate, decisions in runs.items():
        for dataset, part in outcomes(decisions[(decisions["k"] == k) & (decisions["rule"] == rule)]).groupby("dataset"):
            truth = part["rerank_hit"].to_numpy(float) - part["fallback_hit"].to_numpy(float)
            mine, chance, best = (skipped_changes(part, o, shares).mean(axis=1) for o in (part["p_harm"].to_numpy(float), np.zeros(len(part)), truth))
            i = stats.ratio_interval(mine - chance, best - chance, part["qid"].tolist(), resamples, seed)
            rows.append((tier, gate, dataset, k, rule, *i[:3], i.n))
    return pd.DataFrame(rows, columns=AREAS)


def skipped_changes(found: pd.DataFrame, order: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """(n, shares): what each question adds to delta (pp) when that share of its fold is skipped, lowest ``order`` first; NaN orders are all alike.

    A fold of m questions skips share * m of them, the last in part; questions of one value are skipped to equal parts.
    """
    change = 100 * (found["fallback_hit"].astype(float) - found["rerank_hit"].astype(float)).to_numpy()
    made, folds, known = np.zeros((len(found), len(shares))), found["fold"].to_numpy(), np.nan_to_num(np.asarray(order, float))
    for fold in np.unique(folds):
        at = np.flatnonzero(folds == fold)
        _, tie, size = np.unique(known[at], return_inverse=True, return_counts=True)
        before = np.cumsum(size) - size
        part = np.clip((np.array(shares)[None, :] * len(at) - before[:, None]) / size[:, None], 0, 1)  # of each tie that is skipped
        made[at] = change[at, None] * part[tie]
    return made
