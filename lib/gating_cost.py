"""What the skips save: money from measured tokens and pairs at prices that are parameters, and seconds (document 002, Table 13)."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import stats
from lib.gating_nested import CELL
from lib.gating_outcomes import check_decided_once
from lib.keys import check_once
from lib.whole import check_draws, is_number

COST = ["tier", *CELL, "always_per_1k", "gated_per_1k", "saved", "saved_low", "saved_high", "skip", "always_seconds", "gated_seconds", "always_p95",
        "gated_p95", "counts", "measured", "n"]
UNITS = {"tokens": 1e6, "pairs": 1e3}  # a price is for a million tokens, for a thousand pairs


def cost_table(decisions: pd.DataFrame, usage: pd.DataFrame, prices: Mapping[str, float], tier: str, decision_seconds: float = 0.002,
               resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Cost of reranking per 1,000 questions, always and gated, and the share saved with its interval; mean and 95th percentile of the seconds added.

    ``usage``: dataset, qid and any of tokens, pairs, seconds, as one reranking of the question used them. A question without a count takes its data set's
    mean, and ``counts`` then says "per-call average" where the document does: of ``n`` questions so many are ``measured``. ``prices``: of a million
    ``tokens``, of a thousand ``pairs``, in any currency. Skipping by the average saves exactly the skip rate; by measured counts, more or less. Raises
    ValueError for a price of something not counted, a price or usage below 0, and a question whose usage or decision is given twice.
    """
    check_draws(resamples, seed)
    check_decided_once(decisions)
    check_once(usage, ["dataset", "qid"], "usage", "add up what one reranking of the question used")
    if not prices or (unknown := [u for u in prices if u not in UNITS or u not in usage]):
        raise ValueError(f"prices are of {', '.join(UNITS)}, as far as usage counts them, got {dict(prices)} and columns {list(usage)}"
                         + (f"; {unknown} is not counted" if prices else ""))
    if wrong := {u: p for u, p in prices.items() if not is_number(p, 0)}:
        raise ValueError(f"prices are numbers of 0 or more, got {wrong}; mend prices")
    for unit in [u for u in ("tokens", "pairs", "seconds") if u in usage]:
        if (wrong := (usage[unit].astype(float) < 0) | np.isinf(usage[unit].astype(float))).any():
            raise ValueError(f"usage: {unit} of {usage.loc[wrong, ['dataset', 'qid', unit]].iloc[0].to_dict()} cannot be; "
                             "give what was measured, or leave it missing")
    rows, counted = [], usage.assign(cost=sum(p * usage[u].astype(float) / UNITS[u] for u, p in prices.items()))
    for key, part in decisions.groupby(CELL):
        mine = part[["dataset", "qid", "skip"]].merge(counted, on=["dataset", "qid"], how="left")
        measured, kept = mine["cost"].notna(), ~mine["skip"].to_numpy(bool)
        cost = mine["cost"].fillna(counted.loc[counted["dataset"] == key[0], "cost"].mean()).to_numpy(float)
        saved = stats.ratio_interval(cost * ~kept, cost, mine["qid"].tolist(), resamples, seed)
        rows.append((tier, *key, 1000 * cost.mean(), 1000 * (cost * kept).mean(), saved.estimate, saved.low, saved.high, 1 - kept.mean(),
                     *_seconds(mine, kept, decision_seconds), _said(measured), int(measured.sum()), len(mine)))
    return pd.DataFrame(rows, columns=COST)


def _said(measured: pd.Series) -> str:
    return "measured" if measured.all() else "per-call average" if not measured.any() else "measured, else per-call average"


def _seconds(mine: pd.DataFrame, kept: np.ndarray, decision: float) -> tuple[float, float, float, float]:
    """Mean seconds always and gated, then their 95th percentiles; a gated question always pays for the decision. NaN where a time is missing."""
    if "seconds" not in mine or mine["seconds"].isna().any():
        return (np.nan,) * 4
    always = mine["seconds"].to_numpy(float)
    gated = decision + always * kept
    return float(always.mean()), float(gated.mean()), float(np.quantile(always, 0.95)), float(np.quantile(gated, 0.95))
