"""The scope map in one picture: all four conditions with intervals, failures included, published values as pale marks (document 000, section 6 and Figure
5)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import scope_map
from lib.charts import FAINT, INK, LOOKS, MUTED, PAPER, NothingToDraw, ready, row_axis
from lib.scope_map import CONDITIONS, SCORE, SHORT, SPAN

WIDTH, ROW = 218, 19  # pixels: one column, a row
SIGNED = "datum.value == 0 ? '0' : replace(format(datum.value, '+.2f'), '-', '−')"
NO_READER = "contexts do not depend on the reader"


def scope_map_figure(rows: pd.DataFrame, verdicts: pd.DataFrame, tier: str, treatment: str = "submod", control: str = "focused") -> alt.VConcatChart:
    """A panel a condition, a row a setting, a column a measure; diamonds are differences between settings, on which the condition stands or falls.

    ``rows`` from ``scope_map.rows``, ``verdicts`` from ``scope_map.verdicts`` (they make the title). Raises NothingToDraw without a row of ours.
    """
    if rows.empty or not (rows["source"] == "ours").any():
        raise NothingToDraw("scope_map: no contrast with an interval is known")
    df = ready(rows.astype({"ci_low": float, "ci_high": float, "estimate": float}), "scope_map", "condition", "setting", "column", "source")
    several = df.loc[df["source"] == "ours", "dataset"].nunique() > 1
    df = df.assign(row=[_name(*r, several) for r in zip(df["dataset"], df["setting"], df["source"], df["condition"])])
    said = [words.verdict(a, b) if s == "ours" else "published" for a, b, s in zip(df["ci_low"], df["ci_high"], df["source"])]
    colour = {"wins": LOOKS[treatment].colour, "loses": LOOKS[control].colour, "undecided": MUTED, "published": "#AEB4BB"}
    df = df.assign(colour=[colour[v] for v in said], fill=[colour[v] if v in ("wins", "loses") else PAPER for v in said])
    reach = {c: _reach(df[df["column"] == c]) for c in (SPAN, SCORE)}
    parts = [c for c in CONDITIONS if ((df["condition"] == c) & (df["source"] == "ours")).any()]
    room = round(6.6 * df["row"].str.len().max()) + 12
    panels = [_condition(df[df["condition"] == c], c, reach, c == parts[-1], treatment, control, room) for c in parts]
    n = df.loc[df["source"] == "ours", "n"]
    title = words.headed(finding(verdicts, _counts(df), treatment, control),
                         f"Gain of {treatment} over {control} · {words.counted(n)} · {words.tier_of(df, tier)} · 95{words.GAP}% paired bootstrap intervals, "
                         "filled where they exclude 0",
                         "Diamonds: a difference between two settings, which is what a condition claims · pale: document 000 (HotpotQA, 3B, unless named)",
                         width=720)
    return alt.vconcat(*panels, spacing=10).properties(title=title)


def _counts(df: pd.DataFrame) -> tuple[int, int, int]:
    """Settings (not differences) of ours: how many, clearly above zero, clearly below."""
    own = df[(df["source"] == "ours") & ~df["difference"].astype(bool)]
    return len(own), int((own["ci_low"] > 0).sum()), int((own["ci_high"] < 0).sum())


def finding(verdicts: pd.DataFrame, counts: tuple[int, int, int], treatment: str = "submod", control: str = "focused") -> str:
    """The title: in how many settings the gain is clear, and what became of each condition.

    >>> finding(pd.DataFrame({"condition": ["structure", "budget"], "verdict": ["not seen", "borne out"]}), (9, 2, 0))
    'submod gains on focused in 2 and loses in 0 of 9 comparisons; budget borne out, structure not seen'
    """
    parts = []
    for kind in ("borne out", "reversed", "not seen", "not tested"):  # the last: its settings may be drawn, but not the difference that decides it
        names = list(verdicts.loc[verdicts["verdict"] == kind, "condition"])
        lacks = f"without the difference that decides {'it' if len(names) == 1 else 'them'}"
        parts += [f"{words.listed(names)} {lacks if kind == 'not tested' else kind}"] if names else []
    settings, wins, losses = counts
    return f"{treatment} gains on {control} in {wins} and loses in {losses} of {settings} comparisons" + (f"; {', '.join(parts)}" if parts else "")


def _name(dataset: str, setting: str, source: str, condition: str, several: bool) -> str:
    apart = source == "published" and dataset.startswith("ragbench")
    if condition == "reader" and source == "published":
        return f"{setting} (published)"
    setting = setting.replace(" fp32", "") if condition == "reader" else setting
    if apart:
        return f"{SHORT[dataset]} (published)"
    if source == "published" and condition == "retrieval" and not several:
        return setting
    return f"{setting} · {SHORT.get(dataset, dataset)}" if several and condition != "budget" else setting


def _reach(df: pd.DataFrame) -> list[float]:
    values = pd.concat([df["ci_low"], df["ci_high"], df["estimate"]]).dropna()
    low, high = (values.min(), values.max()) if len(values) else (-0.05, 0.05)
    pad = 0.06 * (max(high, 0) - min(low, 0)) or 0.02
    return [float(min(low, 0) - pad), float(max(high, 0) + pad)]


def _condition(df: pd.DataFrame, condition: str, reach: dict, last: bool, treatment: str, control: str, room: int) -> alt.HConcatChart:
    order = list(dict.fromkeys(df["row"]))
    columns = [_column(df[df["column"] == c], c, order, reach[c], k == 0, last, room) for k, c in enumerate((SPAN, SCORE))]
    head = alt.TitleParams(CONDITIONS[condition], fontSize=12.5, anchor="start", frame="bounds", offset=6, color=INK)
    return alt.hconcat(*columns, spacing=30, bounds="flush").properties(title=head)


def _column(df: pd.DataFrame, column: str, order: list[str], reach: list[float], first: bool, last: bool, room: int) -> alt.LayerChart:
    axis = row_axis(order, first)
    axis.minExtent = axis.maxExtent = room if first else 0
    axis.labelFontSize = 11
    y = alt.Y("row:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=axis)
    x = alt.X("estimate:Q", title=f"difference in {column}" if last else None, scale=alt.Scale(domain=reach, nice=False),
              axis=alt.Axis(tickCount=3, labelExpr=SIGNED, labels=last, gridColor=FAINT))
    zero = alt.Chart(pd.DataFrame([{"estimate": 0.0}])).mark_rule(color=INK).encode(x=x)
    blank = alt.Chart(pd.DataFrame({"row": order})).mark_point(opacity=0).encode(y=y)
    layers = [blank, zero] if len(df) else [blank, zero.mark_rule(opacity=0)]
    if df.empty:
        layers.append(alt.Chart(pd.DataFrame([{"said": NO_READER}])).mark_text(align="left", color=MUTED, fontSize=11, fontStyle="italic").encode(
            x=alt.value(4), y=alt.value(ROW / 2), text="said:N"))
    for published in (True, False):
        part = df[(df["source"] == "published") == published]
        if part.empty:
            continue
        colour = alt.Color("colour:N", scale=None)
        known = part.dropna(subset=["ci_low"])
        if len(known):
            bar = alt.Chart(known.drop(columns="estimate").rename(columns={"ci_low": "estimate"}))
            layers.append(bar.mark_rule(strokeWidth=1.2 if published else 1.9, strokeCap="round").encode(y=y, x=x, x2="ci_high:Q", color=colour))
        shape = alt.condition("datum.difference", alt.value("diamond"), alt.value("circle"))
        layers.append(alt.Chart(part).mark_point(filled=True, size=46 if published else 62, opacity=1, strokeWidth=1.6).encode(
            y=y, x=x, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None), shape=shape))
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(order))


def drawn(table: pd.DataFrame, tier: str, main_reader: str, sweep_reader: str) -> alt.VConcatChart:
    """The picture straight from the scope table."""
    return scope_map_figure(scope_map.rows(table, main_reader, sweep_reader), scope_map.verdicts(table), tier)
