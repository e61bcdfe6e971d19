"""What the figures of the viability audit share: a row a slice with its verdict's looks, and the set-up in words."""

from __future__ import annotations

import pandas as pd

from lib import chart_words as words
from lib import wording
from lib.charts import MUTED, PAPER, NothingToDraw, ready
from lib.viability_verdict import KEEP, REFUSE, REPAIR, RERANK, TRY

SHORT = {REPAIR: "repair", RERANK: "rerank", TRY: "try a reranker", KEEP: "keep", REFUSE: "reject"}
COLOURS = {REPAIR: "#CF5A12", RERANK: "#0B3C6F", TRY: "#0B3C6F", KEEP: "#2A9D8F", REFUSE: "#7A2E3A"}
SHAPES = {REPAIR: "square", RERANK: "circle", TRY: "circle", KEEP: "triangle-up", REFUSE: "triangle-down"}


def marks_of(slices: pd.DataFrame, verdicts: pd.DataFrame, figure: str, *measures: str) -> pd.DataFrame:
    """A row a slice: each measure with its interval, the verdict's looks; 'all' last. ChartError for more than one set-up."""
    setup = ["first_stage", "reranker", "depth", "cutoff", "gain"]
    if len(slices[setup].drop_duplicates()) > 1:
        raise NothingToDraw(f"{figure}: {len(slices[setup].drop_duplicates())} set-ups, a figure shows one; keep one reranker, depth and gain")
    wide = None
    for measure in measures:
        part = slices[slices["measure"] == measure].dropna(subset=["estimate"]).set_index(["dataset", "slice"])[["estimate", "ci_low", "ci_high", "n"]]
        part.columns = [measure, f"{measure}_low", f"{measure}_high", f"{measure}_n"]
        wide = part if wide is None else wide.join(part, how="inner")
    if wide is None or wide.empty:
        raise NothingToDraw(f"{figure}: no slice has {' and '.join(measures)}")
    said = verdicts.set_index(["dataset", "slice"])[["verdict", "p_holm", "n", *setup]]
    df = wide.join(said).reset_index()
    for measure in measures:  # one query leaves no interval: the mark stands alone
        for end in ("low", "high"):
            df[f"{measure}_{end}"] = df[f"{measure}_{end}"].fillna(df[measure])
    several = df["dataset"].nunique() > 1
    names = ["all queries" if s == "all" else s.replace("_", " ") for s in df["slice"]]
    df["name"] = [f"{wording.named(d)}: {n}" if several else n for d, n in zip(df["dataset"], names)]
    first = [v.split("; undecided")[0].split(" and ")[0] for v in df["verdict"]]
    df = df.assign(short=[_short(v) for v in df["verdict"]], colour=[COLOURS.get(v, MUTED) for v in first], shape=[SHAPES.get(v, "diamond") for v in first])
    df["fill"] = [PAPER if "undecided" in v else c for v, c in zip(df["verdict"], df["colour"])]
    df["last"] = df["slice"] == "all"
    return ready(df.sort_values(["last", "dataset", "slice"]).drop(columns="last"), figure, "name", *measures)


def _short(verdict: str) -> str:
    """A verdict in a word or two.

    >>> _short("repair retrieval and reject this reranker"), _short("rerank; undecided: retrieval")
    ('repair, reject', 'rerank?')
    """
    said, _, open_ = verdict.partition("undecided")
    parts = [SHORT.get(p, p) for p in said.strip("; ").split(" and ") if p]
    return ", ".join(parts) + "?" * bool(open_) if parts else "undecided"


def setting_of(df: pd.DataFrame, slices: pd.DataFrame, tier: str | None) -> list[str]:
    one = df.iloc[0]
    again = "" if one["reranker"] == "none" else f" · reranked by {one['reranker']}"
    where = "" if df["dataset"].nunique() > 1 or one["dataset"] == "run" else f"{wording.named(one['dataset'])} · "  # files of a command line have no name
    return [
        f"{one['first_stage']}, depth {one['depth']}{again} · {words.tier_of(slices, tier)}",
        f"{where}nDCG@{one['cutoff']}, {one['gain']} gain · {words.counted(df['n'], 'query' if df['n'].max() == 1 else 'queries')}",
    ]
