"""Latency under load: p50, p95 and p99 of a reranker's answers, timeouts, and the quality that is left where the first stage answers instead (SPEC 11)."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lib import latency, stats
from lib.depth_table import by_slice
from lib.latency_times import Times, draws, efficiency, single
from lib.whole import check_whole, is_number

LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
ARRANGEMENTS: dict[str, Mapping[str, Any]] = {
    "single": {"arrivals": latency.poisson, "batched": False},
    "batched": {"arrivals": latency.poisson, "batched": True},
    "bursty": {"arrivals": latency.bursts, "batched": False},
    "bursty, batched": {"arrivals": latency.bursts, "batched": True},
    "on and off": {"arrivals": latency.on_off, "batched": False},
}
WARM_UP = 0.2  # share of each run that is not counted: a queue starts empty
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
COLUMNS = ["tier", "reranker", "depth", "arrangement", "load", "rate", "quantity", "estimate", "ci_low", "ci_high", "requests", "runs"]
FALLBACK = ["tier", "dataset", "slice", "ranker", "reranker", "depth", "arrangement", "load", "fallback", "measure",
            "estimate", "ci_low", "ci_high", "n", "undefined"]


def latency_table(times: Times, tier: str, reranker: str, depths: Sequence[int], loads: Sequence[float] = LOADS,
                  arrangements: Sequence[str] = ("single", "batched", "bursty"), timeout: float = 2.0, servers: int = 1, max_batch: int = 8,
                  max_wait: float = 0.05, give_up: bool = False, requests: int = 4_000, runs: int = 20, seed: int = 0) -> pd.DataFrame:
    """The latency table: a row a depth, arrangement, load and quantity, with a 95 % interval over ``runs`` simulated runs of ``requests`` each.

    Quantities: p50, p95, p99, mean (seconds from arrival to answer), wait (mean seconds before service), timed_out (share in [0, 1] not answered within
    ``timeout`` seconds), batch (mean queries served together). ``load``: arrival rate over what the servers can do one query at a time, in (0, 1).
    ``give_up``: a request that has waited for the whole timeout is dropped unserved (it has timed out either way); latencies are then of those served.
    All arrangements and loads of a depth draw the same service times. Raises ValueError for a load outside (0, 1) and an unknown arrangement.
    """
    if wrong := [x for x in loads if not is_number(x) or not 0 < x < 1]:
        raise ValueError(f"a load lies between 0 and 1 (at 1 the queue never stops growing), got {wrong[0]!r}")
    for name, value in (("servers", servers), ("max_batch", max_batch), ("requests", requests), ("runs", runs)):
        check_whole(name, value, 1)
    check_whole("seed", seed, 0)
    if not is_number(timeout, 0) or timeout == 0 or not is_number(max_wait, 0):
        raise ValueError(f"timeout is a positive number of seconds and max_wait one of 0 or more, got {timeout!r} and {max_wait!r}")
    if unknown := set(arrangements) - set(ARRANGEMENTS):
        raise ValueError(f"unknown arrangement {min(unknown)!r}, there are {', '.join(ARRANGEMENTS)}")
    made = []
    for depth in depths:
        mean = single(times, depth).mean()
        for arrangement in arrangements:
            how = ARRANGEMENTS[arrangement]
            for load in loads:
                rate = load * servers / mean
                limits = (servers, max_batch, max_wait, timeout, give_up, requests)
                found = pd.DataFrame([_run(times, depth, how, rate, *limits, seed + 1_000_003 * r) for r in range(runs)])
                for quantity in found:
                    i = stats.mean_interval(found[quantity].to_numpy(), range(runs), resamples=2_000, seed=seed)
                    made.append((tier, reranker, depth, arrangement, load, rate, quantity, *i[:3], requests, runs))
    return pd.DataFrame(made, columns=COLUMNS)


def _run(times: Times, depth: int, how: Mapping[str, Any], rate: float, servers: int, max_batch: int, max_wait: float, timeout: float,
         give_up: bool, requests: int, seed: int) -> dict[str, float]:
    """One simulated run's quantities, its warm-up left out."""
    arrivals, seconds = how["arrivals"](rate, requests, seed), draws(times, depth, requests, seed + 1)
    service = together(seconds, efficiency(times, depth)) if how["batched"] else seconds
    patience = timeout if give_up else math.inf
    served = latency.simulate(arrivals, service, servers, max_batch if how["batched"] else 1, max_wait if how["batched"] else 0.0, patience)
    wait, answered, batch = (column[int(WARM_UP * requests):] for column in served)
    known = answered[~np.isnan(answered)]
    # the next larger observation: no quantile is interpolated below what happened
    quantiles = {name: float(np.quantile(known, q, method="higher")) if len(known) else math.nan for name, q in QUANTILES.items()}
    late = float((~(answered <= timeout)).mean())  # who was given up has no answer and is late too
    return {**quantiles, "mean": _mean(known), "wait": _mean(wait[~np.isnan(wait)]), "timed_out": late, "batch": _mean(batch[batch > 0])}


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else math.nan


def together(seconds: np.ndarray, by_size: pd.Series) -> Callable[[int, int], float]:
    """Seconds of a batch (first, last + 1): the sum of its queries' own, times the measured efficiency of that many together.

    >>> together(np.array([1.0, 3.0]), pd.Series({1: 1.0, 2: 0.5}))(0, 2)
    2.0
    """
    sizes, values, running = by_size.index.to_numpy(float), by_size.to_numpy(float), np.concatenate([[0.0], np.cumsum(seconds)])
    largest = int(sizes.max())
    table = np.interp(np.arange(largest + 1), sizes, values)
    return lambda first, last: float((running[last] - running[first]) * table[min(last - first, largest)])


def fallback_table(rows: pd.DataFrame, table: pd.DataFrame, tier: str, ranker: str, reranker: str, failure_rate: float = 0.0,
                   measures: Sequence[str] = ("ndcg", "met"), resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Quality at each depth and load when a request that times out, or whose model fails, is answered in the first-stage order.

    ``rows`` of ``lib.depth.depth_rows``, ``table`` of ``latency_table``; depths in both. ``fallback`` = 1 - (1 - timed_out)(1 - failure_rate). A request is
    taken to time out whatever its question, so quality is (1 - fallback) x reranked + fallback x first stage, question by question; the intervals
    are over questions. The best depth under load need not be the best depth. Raises ValueError for a rate outside [0, 1].
    """
    if not 0 <= failure_rate <= 1:
        raise ValueError(f"a failure rate is a share in [0, 1], got {failure_rate}")
    columns = {"ndcg": ("realised", "base"), "met": ("met", "met_base")}
    out, made = table[table["quantity"] == "timed_out"], []
    for (dataset, name), part in by_slice(rows):
        for depth, at in part.sort_values("qid").groupby("depth"):
            here = out[out["depth"] == depth]
            share = 1 - (1 - here["estimate"].to_numpy()) * (1 - failure_rate)
            for measure in measures if len(here) else ():
                with_model, without = (at[c].to_numpy(float)[:, None] for c in columns[measure])
                found = stats.paired_cluster_bootstraps((1 - share) * with_model + share * without, list(at["qid"]), resamples, seed)
                made += [(tier, dataset, name, ranker, reranker, depth, r.arrangement, r.load, s, measure, *i[:3], i.n, len(at) - i.n)
                         for r, s, i in zip(here.itertuples(), share, found, strict=True)]
    return pd.DataFrame(made, columns=FALLBACK)
