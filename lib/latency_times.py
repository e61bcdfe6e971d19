"""Recorded service times of a reranker: read, checked, and drawn from; written by ``python -m lib.record_times`` (SPEC 11).

Service times belong to a machine. They are an input that one machine recorded, so that what follows from them is the same everywhere.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib.tables import ROOT, write_atomically

SUMMARY = ["depth", "queries", "calls", "mean", "p50", "p95", "largest", "seconds_a_pair", "tokens_a_pair", "efficiency", "peak_mb"]
TIMES = ROOT / "data" / "sample" / "service_times.json"
COLUMNS = ("depth", "queries", "repeat", "seconds", "wall", "pairs", "tokens", "peak_mb")
WHOLE = ("depth", "queries", "repeat", "pairs", "tokens")
MEND = "record it with `python -m lib.record_times`"


class Times(NamedTuple):
    """``rows``: depth, queries scored in one call, repeat, seconds (of processor time), wall, pairs, tokens, peak_mb; ``about``: model and machine in words."""

    rows: pd.DataFrame
    about: Mapping[str, Any]


def read_times(path: Path = TIMES) -> Times:
    """The recorded times; raises ValueError where the file is missing, cut short, or holds a time that is not positive."""
    try:
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        plain = pd.DataFrame(told["rows"], columns=told["columns"])[list(COLUMNS)].astype(float)
        rows = plain.astype(dict.fromkeys(WHOLE, int))
        about = told["about"]
    except FileNotFoundError as error:
        raise ValueError(f"service times: {Path(path).name} is not there; {MEND}") from error
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise ValueError(f"service times: {Path(path).name} is damaged ({error}); {MEND}") from error
    if not isinstance(about, dict) or not isinstance(about.get("model"), str):
        raise ValueError(f"service times: {Path(path).name} does not tell the model; {MEND}")  # noqa: TRY004
    counts = plain[["depth", "queries", "pairs"]]
    if not (counts >= 1).all(axis=None) or not (plain[list(WHOLE)] == rows[list(WHOLE)]).all(axis=None):
        raise ValueError(f"service times: {Path(path).name} must hold whole depths, queries and pairs of at least 1, least {counts.min().to_dict()}; {MEND}")
    if rows.empty or not ((rows["seconds"] > 0) & (rows["seconds"] < np.inf)).all():
        raise ValueError(f"service times: {Path(path).name} must hold positive seconds, got {len(rows)} rows, least {rows['seconds'].min()}; {MEND}")
    return Times(rows, about)


def write_times(times: Times, path: Path = TIMES) -> Path:
    """Write times as JSON, a row a line."""
    rows = [json.dumps([float(f"{v:.6g}") if isinstance(v, float) else int(v) for v in row]) for row in times.rows[list(COLUMNS)].itertuples(index=False)]
    about = json.dumps(dict(times.about), indent=1, sort_keys=True, ensure_ascii=False)
    text = '{"about": ' + about + ',\n"columns": ' + json.dumps(list(COLUMNS)) + ',\n"rows": [\n' + ",\n".join(rows) + "\n]}\n"
    return write_atomically(Path(path), lambda p: Path(p).write_text(text, encoding="utf-8"))


def depths_of(times: Times) -> list[int]:
    """Depths at which single queries were timed."""
    return sorted(times.rows.loc[times.rows["queries"] == 1, "depth"].unique().tolist())


def single(times: Times, depth: int) -> np.ndarray:
    """Seconds of the single queries timed at ``depth``; raises ValueError where there are none."""
    rows = times.rows[(times.rows["depth"] == depth) & (times.rows["queries"] == 1)]
    if rows.empty:
        raise ValueError(f"service times: none at depth {depth}, there are {depths_of(times)}; ask for one of these, or {MEND}")
    return rows.sort_values("repeat")["seconds"].to_numpy()


def efficiency(times: Times, depth: int) -> pd.Series:
    """Seconds of b queries scored together over b times the mean of one alone, by b; 1 where only single queries were timed at the depth.

    Below 1: batching saves. Between the sizes that were timed it is interpolated, beyond the largest it stays.
    """
    rows = times.rows[times.rows["depth"] == depth]
    together = rows.groupby("queries")["seconds"].mean()
    return together / (together.index * single(times, depth).mean())


def draws(times: Times, depth: int, n: int, seed: int) -> np.ndarray:
    """Seconds of n single queries, drawn with replacement from those timed at ``depth``."""
    return np.random.default_rng(seed).choice(single(times, depth), n)


def summary(times: Times) -> pd.DataFrame:
    """A row a depth and number of queries a call: calls timed, mean, p50, p95 and largest seconds, seconds and tokens a pair, efficiency, peak memory in MB."""
    made = []
    for (depth, queries), rows in times.rows.groupby(["depth", "queries"]):
        s, pairs = rows["seconds"], rows["pairs"].sum()
        together = efficiency(times, depth).get(queries, np.nan) if depth in depths_of(times) else np.nan
        made.append((depth, queries, len(rows), s.mean(), s.quantile(0.5), s.quantile(0.95), s.max(), s.sum() / pairs, rows["tokens"].sum() / pairs, together,
                     rows["peak_mb"].max()))
    return pd.DataFrame(made, columns=SUMMARY)
