"""Latency tails: the median and the slowest answers of a reranker by load, a panel an arrival pattern (document 001, "Mean latency is not enough")."""
from __future__ import annotations

import math

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, ChartError, NothingToDraw, ready

WIDTH, HEIGHT = 196, 190  # pixels of a panel
LINES = {"p99": ("#7A2E3A", [1, 0], 2.4), "p95": ("#CF5A12", [7, 3], 2.0), "p50": ("#0B3C6F", [2, 2], 2.0)}
ABOUT = {"single": "one at a time, steady arrivals", "batched": "collected into batches", "bursty": "arrivals in bursts",
         "bursty, batched": "bursts, in batches", "on and off": "a source that pauses"}
PLANNED = 0.7  # the load that the title speaks of
NEEDED = ("reranker", "depth", "arrangement", "load", "quantity", "estimate", "ci_low", "ci_high", "requests", "runs")


def latency_tails(table: pd.DataFrame, timeout: float | None = None, depth: int | None = None, tier: str | None = None) -> alt.ConcatChart:
    """p50, p95 and p99 of the seconds to an answer against load, a panel an arrangement, on one logarithmic scale; the timeout is a line across.

    ``table``: latency, of one reranker. ``depth``: which to draw where there are several (default: the deepest). Raises ChartError, NothingToDraw.
    """
    df = ready(table[table["quantity"].isin(LINES)].dropna(subset=["estimate", "ci_low", "ci_high"]), "latency_tails", *NEEDED)
    depth = int(df["depth"].max()) if depth is None else depth
    df = df[df["depth"] == depth]
    if df.empty:
        raise NothingToDraw(f"latency_tails: no latency at depth {depth}")
    if df["reranker"].nunique() > 1 or df.duplicated(["arrangement", "load", "quantity"]).any():
        raise ChartError("latency_tails: several rerankers or tiers; filter to one")
    low, high = min(df["ci_low"].min(), timeout or float("inf")) / 1.25, max(df["ci_high"].max(), timeout or 0) * 1.25
    axis = alt.Axis(values=_ticks(low, high), labelExpr="format(datum.value, '~g') + ' s'")
    y = alt.Y("estimate:Q", title=None, axis=axis, scale=alt.Scale(type="log", domain=[low, high], nice=False))
    kinds = [a for a in ABOUT if a in set(df["arrangement"])] + sorted(set(df["arrangement"]) - set(ABOUT))
    late = table[(table["quantity"] == "timed_out") & (table["depth"] == depth)]
    panels = [_panel(df[df["arrangement"] == a], y, (low, high), a, timeout) for a in kinds]
    notes = [f"{df['reranker'].iloc[0]}, {depth} candidates a query · seconds from arrival to answer (log scale)",
             "load: arrivals over what can be answered one at a time" + (f" · dashes across: the timeout of {timeout:g} s" if timeout is not None else ""),
             f"Simulated from recorded service times: n = {int(df['runs'].max())} runs of {int(df['requests'].max()):,} requests",
             f"Bands: 95{words.GAP}% intervals over runs · {words.tier_of(df, tier)}"]
    return alt.concat(*panels, columns=3, spacing=22).properties(title=words.headed(finding(df, late, timeout), *notes, width=720)).configure_view(stroke=None)


def finding(df: pd.DataFrame, late: pd.DataFrame, timeout: float | None = None) -> str:
    """Median and slowest answers at the load nearest to 0.7, of the first arrangement and of that with the longest tail; timeouts where counted."""
    common = set.intersection(*(set(part["load"]) for _, part in df.groupby("arrangement")))
    if not common or not {"p50", "p99"} <= set(df["quantity"]):
        return f"The slowest answers take up to {_seconds(df['estimate'].max())}"
    load = min(common, key=lambda x: (abs(x - PLANNED), x))
    at = df[df["load"] == load].pivot(index="arrangement", columns="quantity", values="estimate")
    shown = list(dict.fromkeys([next((a for a in ABOUT if a in at.index), at.index[0]), at["p99"].idxmax()]))
    lost = late[late["load"] == load].set_index("arrangement")["estimate"] if timeout is not None else {}
    said = [f"about {at.loc[a, 'p99'] / at.loc[a, 'p50']:.0f} times the median ({a}: {_seconds(at.loc[a, 'p99'])} against {_seconds(at.loc[a, 'p50'])}"
            + (f", {words.percent(float(lost[a]))} time out)" if a in lost else ")") for a in shown]
    return f"At load {load:g} the slowest answers (p99) take {words.listed(said)}"


def _seconds(value: float) -> str:
    """Seconds to three digits at most.

    >>> _seconds(0.1234), _seconds(43.21), _seconds(294.3)
    ('0.12 s', '43 s', '294 s')
    """
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten within the range; powers of ten alone where there are many."""
    values = [round(k * 10.0**e, 9) for e in range(-4, 6) for k in (1, 2, 5) if low <= k * 10.0**e <= high]
    return values if len(values) <= 8 else [v for v in values if f"{v:e}".startswith("1.0")]


def _panel(df: pd.DataFrame, y: alt.Y, span: tuple[float, float], name: str, timeout: float | None) -> alt.LayerChart:
    values = sorted(df["load"].unique())
    x = alt.X("load:Q", title="load", scale=alt.Scale(domain=[min(values) - 0.04, max(values) + 0.17], nice=False),
              axis=alt.Axis(values=values, format="~g", grid=False, labelOverlap="greedy", labelFontSize=10))
    layers = []
    if timeout is not None:
        layers.append(alt.Chart(pd.DataFrame([{"estimate": timeout}])).mark_rule(color=INK, strokeWidth=1, strokeDash=[3, 2]).encode(y=y))
    ends = []
    for quantity, (colour, dash, width) in LINES.items():
        part = df[df["quantity"] == quantity]
        if part.empty:
            continue
        layers += [alt.Chart(part).mark_area(color=colour, opacity=0.15).encode(x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q"),
                   alt.Chart(part).mark_line(color=colour, strokeDash=dash, strokeWidth=width).encode(x=x, y=y),
                   alt.Chart(part).mark_point(color=colour, filled=True, size=26, opacity=1).encode(x=x, y=y)]
        ends.append(part.loc[part["load"].idxmax(), ["load", "quantity", "estimate"]])
    down = [HEIGHT * math.log(span[1] / e["estimate"]) / math.log(span[1] / span[0]) for e in ends]
    for end, place in zip(ends, words.nudge(down, 12)):
        base = alt.Chart(pd.DataFrame([end.to_dict()])).mark_text(align="left", dx=7, fontSize=11, fontWeight="bold", color=LINES[end["quantity"]][0])
        layers.append(base.encode(x=x, y=alt.value(place), text="quantity:N"))
    head = alt.TitleParams(name, subtitle=ABOUT.get(name, ""), fontSize=12.5, subtitleFontSize=10.5, offset=6, frame="group", subtitlePadding=3)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)
