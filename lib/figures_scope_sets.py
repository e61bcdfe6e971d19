"""The scope map's figures for a whole run: one a data set, one below the other, or a note where nothing can be drawn."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import figures_scope, scope_map
from lib.charts import NothingToDraw
from lib.figures import each_set, nothing
from lib.figures_scope_lines import budget_gaps, order_dots, unlock_lines
from lib.scope_map import SHORT


def unlock(table: pd.DataFrame, tier: str, budget: int = 160) -> alt.TopLevelMixin:
    """What lists of each depth hold, a figure a data set."""
    return each_set(unlock_lines, table[table["dataset"] != "all"], tier=tier, budget=budget)


def budget_gap(shape: pd.DataFrame, tier: str) -> alt.TopLevelMixin:
    """Gains over the budget, a figure a data set; document 000's marks beside HotpotQA, or beside the only data set."""
    rows = shape[shape["dataset"] != "all"].dropna(subset=["ci_low"])
    names = list(pd.unique(rows["dataset"]))
    pale = scope_map.published()
    pale = pale[pale["condition"] == "budget"].rename(columns={"estimate": "delta"}).astype({"delta": float})
    pale = pale.assign(place=pale["setting"].str.extract(r"(\d+)$")[0].astype(int))[["place", "delta"]]
    parts = []
    for name in names:
        beside = pale if name == "hotpotqa" or len(names) == 1 else None
        try:
            parts.append(budget_gaps(rows[rows["dataset"] == name], tier, beside, SHORT.get(name, name)))
        except NothingToDraw:
            continue
    return alt.vconcat(*parts, spacing=40) if len(parts) > 1 else parts[0] if parts else nothing("gains over the budget")


def order(means: pd.DataFrame, table: pd.DataFrame, tier: str) -> alt.TopLevelMixin:
    """F1 by the place of the answer, a figure a data set."""

    def answer_places(part: pd.DataFrame, **settings) -> alt.TopLevelMixin:
        return order_dots(part, table[table["dataset"] == part["dataset"].iloc[0]], **settings)

    return each_set(answer_places, means, tier=tier)


def conditions(table: pd.DataFrame, tier: str, main_reader: str, sweep_reader: str) -> alt.TopLevelMixin:
    """All four conditions in one picture, over all data sets."""
    try:
        return figures_scope.drawn(table, tier, main_reader, sweep_reader)
    except NothingToDraw:
        return nothing("scope map")
