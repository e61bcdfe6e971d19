"""The survival curve: how many answers each packer carries into the context as the budget grows (document 000, sections 3 and 6.4)."""
from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, PERCENT, PUBLISHED, SPARE, ChartError, in_order, ready, scale_of

WIDTH, HEIGHT = 560, 360
LETTERS = 14.5  # pixels one line of label text takes
COUNTED = {"answer_in_context": "Share of questions whose answer survives packing; where no answer is defined it counts as lost",
           "answer_in_context_defined": "Share of questions with a defined answer whose answer survives packing"}


def survival_curve(table: pd.DataFrame, ceiling: Mapping[str, float], tier: str | None = None, *, treatment: str = "submod",
                   control: str | None = "naive", budget: int = 160, contrast: Mapping[str, float] | None = None) -> alt.LayerChart:
    """Share of questions whose answer survives packing, against the budget: a line and a band a policy, under the pool's ceiling.

    ``table``: policy, budget, estimate, ci_low, ci_high, n, and where known measure, dataset, tier (shares in [0, 1]; budget 0, closed
    book, holds no context and is left out).
    ``ceiling``: estimate, low, high: share whose answer stands in the candidate pool. ``contrast`` (delta, ci_low, ci_high of
    treatment - control at ``budget``) decides the title; without it only intervals that do not touch do (``control`` None: one policy alone). Raises ChartError.
    """
    df = ready(table, "survival_curve", "policy", "budget", "estimate", "ci_low", "ci_high", "n")
    df = df[df["budget"] > 0].sort_values(["policy", "budget"], ignore_index=True)
    if df.duplicated(["policy", "budget"]).any():
        raise ChartError("survival_curve: a policy has several rows at one budget; keep one data set, pool, half, reader and measure")
    top = {k: float(ceiling[k]) for k in ("estimate", "low", "high")}
    here = df[df["budget"] == budget].set_index("policy")
    missing = [p for p in (treatment, control) if p is not None and p not in here.index]
    if missing:
        raise ChartError(f"survival_curve: {missing} have no row at budget {budget}; found {sorted(here.index)}")
    low, high = _span(df, top)
    x = alt.X("budget:Q", title="Budget: tokens the evidence may use", scale=alt.Scale(domain=_ends(df), nice=False, zero=False),
              axis=alt.Axis(values=sorted(set(df["budget"])), grid=False, format="d"))
    y = alt.Y("ci_low:Q", title=None, scale=alt.Scale(domain=[low, high], nice=False, zero=False), axis=PERCENT)
    layers = [*_ceiling(top, df), *_reader(here, treatment, budget, low), *_intervals(df, x, y, {treatment, control} - {None}), *_lines(df),
              *_gap(df, treatment, top, budget, high - low), *_names(df, low, high)]
    title = words.headed(
        _finding(here, treatment, control, budget, contrast),
        COUNTED.get(df["measure"].iloc[0] if "measure" in df else "", "Share of questions whose answer survives packing"),
        f"{words.counted_in(df)} · bands and bars: 95{words.GAP}% bootstrap intervals over questions · {words.tier_of(table, tier)}")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _finding(here: pd.DataFrame, treatment: str, control: str | None, budget: int, contrast: Mapping[str, float] | None) -> str:
    if control is None:
        return f"With {budget} tokens, {treatment} carries {words.percent(here.loc[treatment, 'estimate'])} of answers into the context"
    a, b = here.loc[treatment], here.loc[control]
    found = words.verdict(contrast["ci_low"], contrast["ci_high"]) if contrast else words.apart(a, b)
    ours, theirs = words.percent(a["estimate"]), words.percent(b["estimate"])
    return {"wins": f"With {budget} tokens, {treatment} carries more answers into the context than {control}: {ours} against {theirs}",
            "loses": f"With {budget} tokens, {treatment} carries fewer answers into the context than {control}: {ours} against {theirs}",
            "undecided": f"With {budget} tokens, {treatment} carries {ours} of answers into the context and {control} {theirs}: "
                         "too close to call"}[found]


def _span(df: pd.DataFrame, top: Mapping[str, float]) -> tuple[float, float]:
    low = max(0.0, (int(df["ci_low"].min() * 20 - 0.5)) / 20)
    return low, min(1.0, (int(max(top["high"], df["ci_high"].max()) * 20) + 2) / 20)


def _ends(df: pd.DataFrame) -> list[float]:
    low, high = int(df["budget"].min()), int(df["budget"].max())
    aside = 0.035 * (high - low) or 32
    return [low - aside, high + aside]


def _ceiling(top: Mapping[str, float], df: pd.DataFrame) -> list[alt.Chart]:
    left, right = _ends(df)
    label = f"{words.percent(top['estimate'])} of answers stood in the candidate pool: no packer can carry more"
    base = alt.Chart(pd.DataFrame([{**top, "left": left, "right": right, "label": label}]))
    band = base.mark_rect(color=INK, opacity=0.07).encode(x="left:Q", x2="right:Q", y="low:Q", y2="high:Q")
    rule = base.mark_rule(color=INK, strokeWidth=1.4).encode(x="left:Q", x2="right:Q", y="estimate:Q")
    look = {"align": "left", "baseline": "bottom", "dx": 1, "dy": -6, "fontWeight": "bold", "fontSize": 12}
    texts = [base.mark_text(**look, **halo).encode(x="left:Q", y="high:Q", text="label:N") for halo in ({"stroke": PAPER, "strokeWidth": 4}, {})]
    return [band, rule, *texts]


def _reader(here: pd.DataFrame, treatment: str, budget: int, low: float) -> list[alt.Chart]:
    data = [{"budget": budget, "foot": low, "kept": here.loc[treatment, "estimate"], "label": "the reader's budget"}]
    base = alt.Chart(pd.DataFrame(data)).encode(x="budget:Q")
    return [base.mark_rule(color=MUTED, strokeDash=[2, 3]).encode(y="foot:Q", y2="kept:Q"),
            base.mark_text(align="left", baseline="bottom", dx=6, dy=-6, color=MUTED, fontSize=11).encode(y="foot:Q", text="label:N")]


def _intervals(df: pd.DataFrame, x: alt.X, y: alt.Y, compared: set[str]) -> list[alt.Chart]:
    """Bands for the two policies compared; slim bars beside the points for the others, since more than two bands are mud."""
    names = in_order(df["policy"])
    compared = compared if df["budget"].nunique() > 1 else set()  # a band needs two points
    colour = alt.Color("policy:N", scale=scale_of("colour", names), legend=None)
    others = [p for p in names if p not in compared]
    step = (_ends(df)[1] - _ends(df)[0]) * 3 / WIDTH  # three pixels
    aside = {p: (k - (len(others) - 1) / 2) * step for k, p in enumerate(others)}
    bars = df[df["policy"].isin(others)]
    bars = bars.assign(beside=bars["budget"] + bars["policy"].map(aside).astype(float))
    band = alt.Chart(df[df["policy"].isin(compared)]).mark_area(opacity=0.14).encode(x=x, y=y, y2="ci_high:Q", color=colour)
    return [band, alt.Chart(bars).mark_rule(opacity=0.5, strokeWidth=1.6).encode(x="beside:Q", y="ci_low:Q", y2="ci_high:Q", color=colour)]


def _lines(df: pd.DataFrame) -> list[alt.Chart]:
    names = in_order(df["policy"])
    base = alt.Chart(df.assign(prominent=df["policy"].isin(PUBLISHED))).encode(
        x="budget:Q", y="estimate:Q", color=alt.Color("policy:N", scale=scale_of("colour", names), legend=None))
    line = base.mark_line(strokeJoin="round").encode(
        strokeDash=alt.StrokeDash("policy:N", scale=scale_of("dash", names), legend=None),
        strokeWidth=alt.StrokeWidth("policy:N", scale=scale_of("width", names), legend=None))
    point = base.mark_point(filled=True, opacity=1, stroke=PAPER, strokeWidth=1).encode(
        shape=alt.Shape("policy:N", scale=scale_of("shape", names), legend=None),
        size=alt.condition("datum.prominent", alt.value(62), alt.value(34)))
    return [line, point]


def _gap(df: pd.DataFrame, treatment: str, top: Mapping[str, float], budget: int, span: float) -> list[alt.Chart]:
    """What the treatment still loses: a bar from its point up to the ceiling; left out where no room is left to label it."""
    kept = float(df.loc[(df["policy"] == treatment) & (df["budget"] == budget), "estimate"].iloc[0])
    if top["low"] - df.loc[df["budget"] >= budget, "ci_high"].max() < 1.8 * LETTERS / HEIGHT * span:
        return []
    lost = round(100 * top["estimate"]) - round(100 * kept)  # of the rounded shares, so that the numbers on the figure add up
    label = f"{treatment} still loses {lost} points in packing"
    base = alt.Chart(pd.DataFrame([{"budget": budget, "kept": kept, "top": top["estimate"], "foot": top["low"], "label": label}]))
    bar = base.mark_rule(color=INK, strokeWidth=1.4).encode(x="budget:Q", y="kept:Q", y2="top:Q")
    return [bar, base.mark_text(align="left", dx=8, dy=12).encode(x="budget:Q", y="foot:Q", text="label:N")]


def _names(df: pd.DataFrame, low: float, high: float) -> list[alt.Chart]:
    last = df.sort_values("budget").groupby("policy", sort=True).tail(1).sort_values("policy", ignore_index=True)
    places = words.nudge(list(last["estimate"]), LETTERS / HEIGHT * (high - low), low, high)
    last = last.assign(place=places, label=[f"{p}  {words.percent(v)}" for p, v in zip(last["policy"], last["estimate"])],
                       weight=[("bold" if p in PUBLISHED else "normal") for p in last["policy"]],
                       colour=[LOOKS.get(p, SPARE).colour for p in last["policy"]], right=_ends(df)[1])
    base = alt.Chart(last).encode(color=alt.Color("colour:N", scale=None), y="place:Q")
    texts = [base.transform_filter(alt.datum.weight == w).mark_text(align="left", dx=22, fontSize=12, fontWeight=w).encode(
        x="right:Q", text="label:N") for w in ("bold", "normal")]
    # A thin lead joins each name with its line's end, which matters where names were moved apart.
    lead = base.mark_rule(strokeWidth=0.8, opacity=0.7, xOffset=8, x2Offset=19).encode(x="budget:Q", x2="right:Q", y="estimate:Q", y2="place:Q")
    return [lead, *texts]
