"""The figures of the audit for every data set of a tier, one below the other; a note where nothing can be drawn."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt
import pandas as pd

from lib.charts import NothingToDraw
from lib.figures import nothing
from lib.figures_depth import depth_curves
from lib.figures_depth_latency import latency_tails
from lib.figures_rerankers import rerankers_beside
from lib.figures_viability import two_error_plane
from lib.figures_viability_regressions import regressions_by_slice
from lib.viability_sets import rows_of

SLICE = ["dataset", "slice"]


def stacked(parts: list[alt.TopLevelMixin], what: str) -> alt.TopLevelMixin:
    """The charts below one another; a note that ``what`` is not drawn where there is none."""
    if len(parts) < 2:
        return parts[0] if parts else nothing(what)
    config = {}
    for part in parts:  # a chart below another may not have a configuration of its own
        config |= {} if part.config is alt.Undefined else part.config.to_dict()
        part.config = alt.Undefined
    return alt.vconcat(*parts, spacing=40, **({"config": alt.Config(**config)} if config else {}))


def drawn(draw: Callable[..., alt.TopLevelMixin], *tables: pd.DataFrame, **settings) -> list[alt.TopLevelMixin]:
    """The chart in a list, an empty one where the tables hold nothing to draw."""
    try:
        return [draw(*tables, **settings)]
    except NothingToDraw:
        return []


def of_setup(draw: Callable[..., alt.TopLevelMixin], slices: pd.DataFrame, verdicts: pd.DataFrame, first: str, reranker: str, tier: str) -> alt.TopLevelMixin:
    """``two_error_plane`` or ``regressions_by_slice`` of one first stage and reranker, a figure a data set."""
    told = [rows_of(t, first, reranker) for t in (slices, verdicts)]
    parts = [c for name in dict.fromkeys(told[0]["dataset"]) for c in drawn(draw, *(t[t["dataset"] == name] for t in told), tier=tier)]
    return stacked(parts, draw.__name__.replace("_", " "))


def planes(slices: pd.DataFrame, verdicts: pd.DataFrame, first: str, reranker: str, tier: str) -> alt.TopLevelMixin:
    """The two-error plane of one first stage and reranker."""
    return of_setup(two_error_plane, slices, verdicts, first, reranker, tier)


def regressions(slices: pd.DataFrame, verdicts: pd.DataFrame, first: str, reranker: str, tier: str) -> alt.TopLevelMixin:
    """Whom one reranker lifts and whom it lowers, by slice."""
    return of_setup(regressions_by_slice, slices, verdicts, first, reranker, tier)


def curves(tables: dict[str, pd.DataFrame], tier: str, cutoff: int) -> alt.TopLevelMixin:
    """The depth curves of each data set, first stage and reranker of the tables of ``depth_sets.studied``."""
    key, parts = ["dataset", "ranker", "reranker"], []
    for name, part in tables["depth"].groupby(key, sort=False) if "depth" in tables and len(tables["depth"]) else ():
        mine = [t[(t[key] == name).all(axis=1)] for t in (tables["depth_sufficient"], tables["depth_falls"])]
        parts += drawn(depth_curves, part, *mine, m=cutoff, tier=tier)
    return stacked(parts, "depth curves")


def tails(latency: pd.DataFrame, timeout: float, depth: int, tier: str) -> alt.TopLevelMixin:
    """The latency tails at one depth."""
    return stacked(drawn(latency_tails, latency, timeout=timeout, depth=depth, tier=tier) if len(latency) else [], "latency tails")


def beside(table: pd.DataFrame, tier: str) -> alt.TopLevelMixin:
    """The rerankers of each data set beside each other."""
    return stacked([c for _, part in table.groupby("dataset", sort=False) for c in drawn(rerankers_beside, part, tier=tier)], "rerankers")
