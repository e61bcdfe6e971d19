"""Means with their intervals: policies side by side, and scores with and without the answer in the context (document 000, section 3.2)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, LOOKS, MUTED, PAPER, SPARE, ChartError, ready, row_axis, scale_of

WIDTH, ROW = 600, 34  # pixels: all panels together without row names; a row
REFERENCE = ("gold", "oracle", "closed_book")  # arms that know the answer or see nothing: drawn, never called the leader


def dot_rows(table: pd.DataFrame, measure: str, tier: str | None = None) -> alt.LayerChart | alt.HConcatChart:
    """Policies as rows, the best on top: estimate and interval of one measure; side by side where there are several data sets.

    ``table``: policy, estimate, ci_low, ci_high, n (and dataset, clusters, tier; where it has a column ``measure``, the rows of
    ``measure`` are taken). The order is that of the mean over data sets. Raises ChartError.
    """
    df = ready(table, "dot_rows", "policy", "n")
    df = ready(df[df["measure"] == measure] if "measure" in df else df, f"dot_rows of {measure!r}", "estimate", "ci_low", "ci_high")
    sets = sorted(set(df["dataset"])) if "dataset" in df else [""]
    df = df.assign(set=df.get("dataset", ""), colour=[LOOKS.get(p, SPARE).colour for p in df["policy"]],
                   numbers=[f"{v:.3f}" for v in df["estimate"]])
    if df.duplicated(["set", "policy"]).any():
        raise ChartError("dot_rows: a policy has several rows in one data set; keep one pool, budget, half, reader and precision")
    order = list(df.groupby("policy")["estimate"].mean().sort_values(ascending=False, kind="stable").index)
    low, high = df["ci_low"].min(), df["ci_high"].max()
    pad = 0.08 * (high - low) or 0.05
    span = [max(0.0, low - pad) if low >= 0 else low - pad, high + pad]
    width = (WIDTH - 24 * (len(sets) - 1)) // len(sets) if len(sets) > 1 else 480
    panels = [_dots(df[df["set"] == name], order, span, width, name if len(sets) > 1 else "", k == 0) for k, name in enumerate(sets)]
    chart = panels[0] if len(panels) == 1 else alt.hconcat(*panels, spacing=24)
    return chart.properties(title=words.headed(
        f"{words.shown(measure)}: {_leaders(df, sets)}", f"Mean over questions · {words.counted_in(df)} · {words.tier_of(df, tier)}",
        f"Bars: 95{words.GAP}% bootstrap intervals over questions", width=600 if len(sets) == 1 else 720))


def _dots(df: pd.DataFrame, order: list[str], span: list[float], width: int, name: str, first: bool) -> alt.LayerChart:
    shown = [p for p in order if p in set(df["policy"])]
    base = alt.Chart(df).encode(y=alt.Y("policy:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=row_axis(order, first)),
                                color=alt.Color("colour:N", scale=None))
    bar = base.mark_rule(strokeWidth=2, strokeCap="round").encode(
        x=alt.X("ci_low:Q", title=None, scale=alt.Scale(domain=span, nice=False, zero=False), axis=alt.Axis(tickCount=4)), x2="ci_high:Q")
    point = base.mark_point(filled=True, size=85, opacity=1).encode(
        x="estimate:Q", shape=alt.Shape("policy:N", scale=scale_of("shape", shown), legend=None))
    text = base.mark_text(dy=-11, fontSize=11).encode(x="estimate:Q", text="numbers:N")
    head = alt.TitleParams(name, fontSize=12, frame="group", offset=10)
    return alt.layer(bar, point, text).properties(width=width, height=ROW * len(order), **({"title": head} if name else {}))


def _leaders(df: pd.DataFrame, sets: list[str]) -> str:
    """Who is first among the packers in each data set, and whether any interval meets the leader's."""
    first, close = {}, {}
    for name in sets:
        part = df[(df["set"] == name) & ~df["policy"].isin(REFERENCE)].sort_values("estimate", ascending=False, kind="stable")
        if len(part):
            best = part.iloc[0]
            first.setdefault(best["policy"], []).append(name)
            close[name] = [r["policy"] for _, r in part.iloc[1:].iterrows() if words.apart(best, r) == "undecided"]
    if not first:
        return "only reference arms were run"
    if len(sets) > 1:
        clear = [name for name, near in close.items() if not near]
        named = {p: f"all {len(sets)} data sets" if len(where) == len(sets) else words.listed(where) for p, where in first.items()}
        who = [f"{policy} leads on {where}" for policy, where in named.items()]
        return f"{'; '.join(who)}; {f'clear of the rest on {words.listed(clear)}' if clear else 'nowhere clear of the rest'}"
    policy, near = next(iter(first)), close[sets[0]]
    value = df.loc[df["policy"] == policy, "estimate"].iloc[0]
    others = words.listed(near) if len(near) in (1, 2) else f"{len(near)} others"
    return f"among packers {policy} leads with {value:.3f}, {f'too close to {others} to call' if near else 'clear of the rest'}"


def conditional_means(table: pd.DataFrame, measure: str = "f1", tier: str | None = None) -> alt.LayerChart:
    """Mean score where the condition holds (filled) and where it does not (hollow): a row a policy, reader or data set.

    ``table``: holds (0 or 1), estimate, ci_low, ci_high, n, and one or more of dataset, policy, reader, precision, which name the rows
    where they differ (and clusters, tier, condition; where it has a column ``measure``, the rows of ``measure`` are taken).
    """
    df = ready(table, "conditional_means", "holds", "n")
    df = ready(df[df["measure"] == measure] if "measure" in df else df, f"conditional_means of {measure!r}", "estimate", "ci_low", "ci_high")
    parts = [c for c in ("dataset", "policy", "reader", "precision") if c in df and df[c].nunique() > 1]
    df = df.assign(row=df[parts].agg(" · ".join, axis=1) if parts else "all", numbers=[f"{v:.2f}" for v in df["estimate"]])
    wide = df.pivot(index="row", columns="holds") if not df.duplicated(["row", "holds"]).any() else None
    if wide is None or set(df["holds"]) != {0, 1} or wide["estimate"].isna().any(axis=None):
        raise ChartError("conditional_means: each row needs one value where the condition holds (1) and one where it does not (0); "
                         f"found {df.groupby('row')['holds'].apply(list).to_dict()}")
    colours = {r: LOOKS[p].colour if "policy" in parts and p in LOOKS else LOOKS["submod"].colour
               for r, p in zip(df["row"], df["policy"] if "policy" in parts else df["row"])}
    df = df.assign(colour=df["row"].map(colours), fill=[colours[r] if h else PAPER for r, h in zip(df["row"], df["holds"])])
    order = list((wide["estimate"][1]).sort_values(ascending=False, kind="stable").index)
    condition = f"the {(df['condition'].iloc[0] if 'condition' in df else 'answer_in_context').replace('_', ' ')}"
    title = words.headed(_worth(wide, words.shown(measure), condition), f"{words.counted_in(df)} a mark · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals over questions", width=600)
    return alt.layer(*_dumbbells(df, order, condition)).properties(width=480, height=ROW * len(order) + 12, title=title)


def _worth(wide: pd.DataFrame, shown: str, condition: str) -> str:
    found = [words.verdict(r["ci_low"][1] - r["ci_high"][0], r["ci_high"][1] - r["ci_low"][0]) for _, r in wide.iterrows()]
    with_, without = wide["estimate"][1], wide["estimate"][0]
    numbers = f"{_range(with_)} with {condition}, {_range(without)} without"
    if set(found) == {"wins"}:
        return f"{shown} is {numbers}{'' if len(wide) == 1 else ': higher in every row'}"
    kinds = [f"{word} in {found.count(v)}" for v, word in (("wins", "higher"), ("loses", "lower"), ("undecided", "undecided")) if v in found]
    return f"{shown} is {numbers}: {', '.join(kinds)} of {len(found)}"


def _range(values: pd.Series) -> str:
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low} to {high}"


def _dumbbells(df: pd.DataFrame, order: list[str], condition: str) -> list[alt.Chart]:
    axis = row_axis(order, len(order) > 1)
    x = alt.X("estimate:Q", title=None, axis=alt.Axis(tickCount=6), scale=alt.Scale(domain=[0, min(1, df["ci_high"].max() + 0.08)], nice=False))
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=order, title=None, axis=axis), x=x)
    join = base.mark_line(color=FAINT, strokeWidth=6).encode(detail="row:N")
    bar = base.mark_rule(strokeWidth=2).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q", color=alt.Color("colour:N", scale=None))
    point = base.mark_point(filled=True, size=95, opacity=1, strokeWidth=2).encode(
        fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None))
    text = base.mark_text(dy=-13, fontSize=11).encode(text="numbers:N")
    top = df[df["row"] == order[0]].assign(name=lambda d: d["holds"].map({1: f"with {condition}", 0: "without"}))
    name = alt.Chart(top).mark_text(color=MUTED, fontSize=11).encode(x="estimate:Q", y=alt.value(-12), text="name:N")
    return [join, bar, point, text, name]
