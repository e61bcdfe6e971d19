"""Depth curves per slice with intervals: coverage, ceiling, realised quality and cost at each depth (document 001, "Depth is a resource curve")."""
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib import stats
from lib.depth import KEY

ALL = "all"
LEVELS = ("coverage", "complete", "base", "ceiling", "realised", "realised_worst", "realised_best", "met_base", "met", "newcomers", "judged", "pairs", "tokens")
COLUMNS = ["tier", "dataset", "slice", "ranker", "reranker", "depth", "measure", "estimate", "ci_low", "ci_high", "p_value", "n", "clusters", "undefined",
           "exhausted", "unscored"]


def depth_table(rows: pd.DataFrame, tier: str, ranker: str, reranker: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The depth table of ``lib.depth.depth_rows``: a row a data set, slice (and ``all``), depth and measure, means with 95 % intervals over questions.

    Beside the columns of the rows: headroom (ceiling - base), gain (realised - base, with p), lost (ceiling - realised), regressed (share of questions
    that got worse), capture (gains over headrooms, over questions with headroom). ``undefined`` counts questions without a value, ``exhausted``
    those whose list is shorter than the depth, ``unscored`` candidates without a score. A slice without a judged question has rows of NaN with n 0.
    """
    rows, made = with_differences(rows), []
    for (dataset, name), part in by_slice(rows):
        wide = part.pivot(index="qid", columns="depth").sort_index()
        cells = [(d, m) for d in sorted(part["depth"].unique()) for m in (*LEVELS, "headroom", "gain", "lost", "regressed")]
        found = stats.paired_cluster_bootstraps(np.column_stack([wide[m, d].to_numpy(float) for d, m in cells]), wide.index, resamples, seed)
        found = {cell: i._replace(p_value=i.p_value if cell[1] == "gain" else math.nan) for cell, i in zip(cells, found, strict=True)}
        found |= {(d, "capture"): _capture(wide["gain", d], wide["headroom", d], resamples, seed) for d in sorted(part["depth"].unique())}
        counts = part.groupby("depth")[["exhausted", "unscored"]].sum()
        made += [(tier, dataset, name, ranker, reranker, d, m, *i, len(wide) - i.n, *counts.loc[d]) for (d, m), i in found.items()]
    return pd.DataFrame(made, columns=COLUMNS)


def entered_table(rows: pd.DataFrame, tier: str, ranker: str, reranker: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Means of ``lib.depth.entered`` per data set, slice, depth and ``beyond``, with 95 % intervals over questions."""
    made = []
    for (dataset, name), part in by_slice(rows):
        wide = part.pivot(index="qid", columns=["depth", "beyond"], values="share").sort_index()
        found = stats.paired_cluster_bootstraps(wide.to_numpy(float), wide.index, resamples, seed)
        made += [(tier, dataset, name, ranker, reranker, d, b, i.estimate, i.low, i.high, i.n) for (d, b), i in zip(wide.columns, found, strict=True)]
    return pd.DataFrame(made, columns=["tier", "dataset", "slice", "ranker", "reranker", "depth", "beyond", "share", "ci_low", "ci_high", "n"])


def with_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` with headroom, gain, lost and regressed; NaN where nothing is relevant."""
    gain = rows["realised"] - rows["base"]
    return rows.assign(headroom=(rows["ceiling"] - rows["base"]).clip(lower=0), gain=gain, lost=(rows["ceiling"] - rows["realised"]).clip(lower=0),
                       regressed=(gain < -1e-12).astype(float).where(gain.notna()))


def by_slice(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """((dataset, slice), rows): the whole data set first, as slice ``all``, then its slices where there are several."""
    for dataset, part in rows.groupby("dataset"):
        yield (dataset, ALL), part
        if part["slice"].nunique() > 1:
            yield from (((dataset, name), inside) for name, inside in part.groupby("slice"))


def pivoted(part: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Questions x depths of one measure, only questions with a value at every depth."""
    return part.pivot(index="qid", columns="depth", values=measure).sort_index().sort_index(axis=1).dropna()


def _capture(gains: pd.Series, headrooms: pd.Series, resamples: int, seed: int) -> stats.Interval:
    there = headrooms > 1e-12
    return stats.ratio_interval(gains.where(there), headrooms.where(there), list(gains.index), resamples, seed)


def check_key(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` if they hold one row a question and depth, else ValueError."""
    if rows.duplicated([*KEY, "depth"]).any():
        raise ValueError(f"rows: {rows[rows.duplicated([*KEY, 'depth'])].iloc[0][[*KEY, 'depth']].to_dict()} comes twice; hand over one ranker and reranker")
    return rows
