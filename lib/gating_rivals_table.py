"""Every gate beside every other on the same questions, with the random gate at its own skip rate, fixed policies and the oracle (document 002, Table 5)."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import stats
from lib.gate import random_gate_delta, skip_delta, within
from lib.gating_bound import lower_bound
from lib.gating_cells import POINT
from lib.gating_nested import CELL, DECISIONS
from lib.gating_outcomes import check_decided_once, outcomes, policies
from lib.whole import check_draws

RIVALS = ["tier", "gate", *CELL, "fallbacks", "skip", "skip_low", "skip_high", "rerank", "gated", "delta", "ci_low", "ci_high", "bound", "harmful",
          "beneficial", "sign_p", "within", "surely_within", "random", "over_random", "over_low", "over_high", "n"]
WIDE = ["tier", "dataset", "k", "rule", "learned_skip", "learned_delta", "gap_skip", "gap_delta", "fixed_skip", "fixed_delta", "random_skip", "random_delta",
        "always_h_delta", "always_d_delta", "oracle_skip_h", "oracle_skip_d", "n"]
LEARNED = "learned"
FIXED = "fixed"  # the rule of a policy that has none


def fixed(decisions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Decisions of "always H", "always D" and "always rerank", from those of any gate; no D where a question of the data set lacks it."""
    check_decided_once(decisions)
    one = decisions.drop_duplicates(["dataset", "qid", "k"]).assign(rule=FIXED, p_harm=np.nan, p_raw=np.nan)
    with_d = one[one["d_hit"].notna().groupby(one["dataset"]).transform("all")] if len(one) else one
    made = {"always H": one.assign(skip=True, fallback="H"), "always D": with_d.assign(skip=True, fallback="D"),
            "always rerank": one.assign(skip=False, fallback="none")}
    return {name: table[DECISIONS].reset_index(drop=True) for name, table in made.items() if len(table)}


def random_values(found: pd.DataFrame) -> pd.Series:
    """What each question of a cell (outcomes) gains in expectation, in pp, if its fold skips as many as it did, but at random; the mean is the closed form."""
    rate = found["skip"].astype(float).groupby(found["fold"]).transform("mean")
    return 100 * rate * (found["fallback_hit"].astype(float) - found["rerank_hit"].astype(float))


def matched_random(found: pd.DataFrame) -> float:
    """Delta (pp) of a random gate with each fold's own fallback and skip rate, in closed form (``lib.gate.random_gate_delta``)."""
    by = found.assign(**{c: found[c].astype(float) for c in ("skip", "fallback_hit", "rerank_hit")}).groupby("fold")
    means = by[["skip", "fallback_hit", "rerank_hit"]].mean()
    return 100 * random_gate_delta(*(means[c].tolist() for c in means), by.size().tolist())


def rivals_table(runs: Mapping[str, pd.DataFrame], tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """A row a gate, data set, K and rule. ``runs``: decisions by the name of their gate.

    delta, bound, random and over_random are in pp. ``sign_p``: exact sign test of beneficial against harmful skips. ``random``: skipping as many at random;
    ``over_random`` = delta - random, with its interval: what the gate knows. Skip rates are shares.
    """
    check_draws(resamples, seed)
    rows = []
    for gate, decisions in runs.items():
        for key, part in outcomes(decisions).groupby(CELL):
            n, harm, gain = len(part), int(part["harmful"].sum()), int(part["beneficial"].sum())
            change = 100 * (part["gated_hit"].astype(float) - part["rerank_hit"].astype(float))
            columns = np.column_stack([part["skip"].astype(float), change, change - random_values(part)])
            skip, delta, over = stats.paired_cluster_bootstraps(columns, part["qid"].tolist(), resamples, seed)
            kept, bound = skip_delta(gain, harm, n), lower_bound(gain, harm, n)
            names = "/".join(sorted(set(part["fallback"]) - {"none"})) or "none"
            hits = part["rerank_hit"].mean(), part["gated_hit"].mean()
            rows.append((tier, gate, *key, names, *skip[:3], *hits, kept, delta.low, delta.high, bound, harm, gain, stats.sign_test(gain, harm),
                         within(kept, POINT), within(bound, POINT), matched_random(part), *over[:3], n))
    return pd.DataFrame(rows, columns=RIVALS)


def oracle_skips(decisions: pd.DataFrame) -> pd.DataFrame:
    """The share of questions that a skip would not harm, by data set and K: oracle_skip_h and oracle_skip_d (missing where D is), with always_*_delta in pp."""
    rows = []
    for (dataset, k), part in policies(decisions).groupby(["dataset", "k"]):
        rerank, h, d = (part[c].to_numpy(float) for c in ("rerank_hit", "h_hit", "d_hit"))
        rows.append((dataset, k, *(100 * float((f - rerank).mean()) for f in (h, d)),
                     *(float(np.mean(f >= rerank)) if not np.isnan(f).any() else np.nan for f in (h, d))))
    return pd.DataFrame(rows, columns=["dataset", "k", "always_h_delta", "always_d_delta", "oracle_skip_h", "oracle_skip_d"])


def baselines(rivals: pd.DataFrame, decisions: pd.DataFrame) -> pd.DataFrame:
    """Document 002's Table 5, a row a data set, K and rule, skip rates as shares and deltas in pp; intervals and the other gates: ``rivals_table``.

    ``rivals`` holds the gates ``learned``, ``score gap`` and ``best fixed``; ``decisions`` are the learned gate's. Raises ValueError where one is absent.
    """
    if absent := {LEARNED, "score gap", "best fixed"} - set(rivals["gate"]) if len(rivals) else set():
        raise ValueError(f"rivals: the gates {sorted(absent)} are missing, found {sorted(set(rivals['gate']))}; run them all through rivals_table")
    key = ["tier", *CELL]
    learned = rivals[rivals["gate"] == LEARNED].rename(columns={"skip": "learned_skip", "delta": "learned_delta", "random": "random_delta"})
    made = learned.assign(random_skip=learned["learned_skip"])
    for gate, short in (("score gap", "gap"), ("best fixed", "fixed")):
        mine = rivals[rivals["gate"] == gate].rename(columns={"skip": f"{short}_skip", "delta": f"{short}_delta"})
        made = made.merge(mine[[*key, f"{short}_skip", f"{short}_delta"]], on=key, how="left")
    return made.merge(oracle_skips(decisions), on=CELL[:2], how="left")[WIDE]
