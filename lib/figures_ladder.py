"""The reader ladder as a figure: what a packer gains at each reader, by size and number format, the published rungs pale beside it (document 000, Figure 4)."""
from __future__ import annotations

import json
import re

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, SPARE, ChartError, NothingToDraw, ready
from lib.figures_effects import SIGNED

WIDTH, HEIGHT, APART = 620, 170, 34  # pixels: a panel; from one number format to the next at one size
PALE = "#A9B7C6"  # what document 000 printed
ORDER = ("fp32", "fp16", "bf16", "served", "nf4")
COLUMNS = ("reader", "precision", "billions", "policy", "control", "estimate", "ci_low", "ci_high", "n")


def reader_ladder(table: pd.DataFrame, published: pd.DataFrame | None = None, pairs: tuple = (("submod", "focused"), ("submod", "naive"), ("tuned", "submod")),
                  margin: float | None = None, tier: str | None = None) -> alt.VConcatChart:
    """A panel a contrast: difference in F1 with its interval against the reader's parameters (log), number formats of one size side by side.

    ``table``: rows of `lib.ladder` of kind contrast, quantity f1, one data set. ``published`` as `ladder_partners.published_ladder`: pale, hollow, without
    interval where none is printed. Filled where an interval excludes 0; ``margin`` shades what counts as equivalent. Raises ChartError.
    """
    df = ready(table, "reader_ladder", *COLUMNS)
    df = df[df["billions"].notna()]
    shown = [p for p in pairs if ((df["policy"] == p[0]) & (df["control"] == p[1])).any()]
    if not shown:
        raise NothingToDraw(f"reader_ladder: none of the contrasts {pairs} was read by a reader whose name tells its size")
    if df.duplicated(["reader", "precision", "policy", "control"]).any():
        raise ChartError("reader_ladder: a rung has several rows of one contrast; filter to one data set, budget and quantity")
    beside = published if published is not None else pd.DataFrame(columns=COLUMNS)
    sizes = _ticks(pd.concat([df[["reader", "billions"]], beside[["reader", "billions"]]]))
    span = [np.log10(min(sizes)) - 0.16, np.log10(max(sizes)) + 0.16]
    places = _placed(pd.concat([df.assign(ours=True), beside.assign(ours=False)], ignore_index=True), span)
    reach = 1.3 * np.nanmax(np.abs(places[["estimate", "ci_low", "ci_high"]].to_numpy(float)))
    last = len(shown) - 1
    charts = [_panel(places, pair, span, reach, sizes, margin, k == last) for k, pair in enumerate(shown)]
    notes = [*(f"{finding(df, pair)}." for pair in shown[1:]), _corrected(df, shown),
             f"{words.counted_in(df)} a mark · {words.tier_of(df, tier)}" + (f" · shaded: within ±{margin:g}" if margin else ""),
             f"Bars: 95{words.GAP}% paired bootstrap intervals over questions"]
    return alt.vconcat(_key(len(beside) > 0), *charts, spacing=14).properties(title=words.headed(finding(df, shown[0]), *notes, width=740))


def finding(df: pd.DataFrame, pair: tuple[str, str]) -> str:
    """What the rungs say of one contrast, in a sentence.

    >>> two = pd.DataFrame({"policy": "submod", "control": "focused", "ci_low": [-0.1, 0.1], "ci_high": [0.1, 0.2], "estimate": [0.0, 0.15]})
    >>> finding(two.assign(reader=["a-1b", "a-2b"], precision="fp32"), ("submod", "focused"))
    'submod against focused on F1: better on 1 of 2 rungs (a-2b fp32), undecided on 1'
    """
    rows = df[(df["policy"] == pair[0]) & (df["control"] == pair[1])]
    found = [words.verdict(a, b) for a, b in zip(rows["ci_low"], rows["ci_high"])]
    if len(rows) == 1:
        name, said = f"{rows['reader'].iloc[0]} {rows['precision'].iloc[0]}", {"wins": "is better", "loses": "is worse", "undecided": "cannot be told apart"}
        return f"On the one rung read, {name}, {pair[0]} {said[found[0]]} {'from' if found[0] == 'undecided' else 'than'} {pair[1]} on F1"
    if set(found) == {"undecided"}:
        return f"On none of {len(rows)} rungs does F1 tell {pair[0]} from {pair[1]}: every rung's interval holds 0"
    names = {v: [f"{r} {p}" for r, p, w in zip(rows["reader"], rows["precision"], found) if w == v] for v in found}
    said = {"wins": "better", "loses": "worse", "undecided": "undecided"}
    parts = []
    for v in (v for v in said if v in names):
        count = f"on {len(names[v])}{f' of {len(rows)} rungs' if not parts else ''}"
        parts.append(f"{said[v]} {count}{f' ({names[v][0]})' if len(names[v]) == 1 and v != 'undecided' else ''}")
    return f"{pair[0]} against {pair[1]} on F1: {', '.join(parts)}"


def _corrected(df: pd.DataFrame, shown: list[tuple[str, str]]) -> str:
    """How many of the drawn differences are decided after Holm's correction over a rung's contrasts; nothing where the table does not say."""
    rows = pd.concat([df[(df["policy"] == p) & (df["control"] == c)] for p, c in shown])
    if "p_holm" not in rows or rows["p_holm"].isna().all():
        return ""
    clear, after = int(((rows["ci_low"] > 0) | (rows["ci_high"] < 0)).sum()), int((rows["p_holm"] < 0.05).sum())
    return f"After Holm's correction {after} of {len(rows)} differences remain{'s' if after == 1 else ''} decided" if clear else ""


def _key(published: bool) -> alt.LayerChart:
    """What filled, hollow and pale marks mean, in one line above the panels."""
    entries = [("interval excludes 0 (colour: who is ahead)", INK, INK), ("interval holds 0", MUTED, PAPER),
               *([("document 000, HotpotQA (bar where printed)", PALE, PAPER)] if published else [])]
    width = [5.8 * len(text) + 26 for text, _, _ in entries]
    data = pd.DataFrame([{"x": sum(width[:k]), "text": text, "colour": colour, "fill": fill} for k, (text, colour, fill) in enumerate(entries)])
    base = alt.Chart(data).encode(x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, WIDTH + 30], nice=False)), y=alt.value(7))
    mark = base.mark_point(filled=True, size=70, opacity=1, strokeWidth=2, xOffset=5).encode(
        fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None))
    return alt.layer(mark, base.mark_text(align="left", dx=14, fontSize=11, color=MUTED).encode(text="text:N")).properties(width=WIDTH + 30, height=14)


def size_name(size: float) -> str:
    """Parameters in thousand millions as names print them.

    >>> size_name(0.135), size_name(0.5), size_name(14.0)
    ('135M', '0.5B', '14B')
    """
    return f"{size:g}B" if size >= 0.5 else f"{1000 * size:g}M"


def _ticks(readers: pd.DataFrame) -> dict[float, list[str]]:
    """Size -> the lines of its label: the parameters, then the models of that size without them."""
    out: dict[float, list[str]] = {}
    for size, part in readers.groupby("billions"):
        names = sorted({re.sub(r"-?\d+(\.\d+)?[mb](-instruct)?$", "", r, flags=re.IGNORECASE) for r in part["reader"]}, key=str.lower)
        out[float(size)] = [size_name(size), *names[:2]]
    return out


def _placed(df: pd.DataFrame, span: list[float]) -> pd.DataFrame:
    """Each mark's place: log10 of the size, number formats of one size apart."""
    unit = (span[1] - span[0]) / WIDTH
    rank = {p: i for i, p in enumerate(ORDER)}
    out = df.assign(x=np.nan)
    for _, part in out.groupby(["billions", "ours"]):
        formats = sorted(part["precision"].unique(), key=lambda p: rank.get(p, len(rank)))
        for k, name in enumerate(formats):
            at = part.index[part["precision"] == name]
            out.loc[at, "x"] = np.log10(out.loc[at, "billions"].astype(float)) + unit * APART * (k - (len(formats) - 1) / 2)
    return out


def _panel(places: pd.DataFrame, pair: tuple[str, str], span: list[float], reach: float, sizes: dict[float, list[str]], margin: float | None,
           last: bool) -> alt.LayerChart:
    treatment, control = pair
    rows = places[(places["policy"] == treatment) & (places["control"] == control)]
    verdicts = [words.verdict(a, b) for a, b in zip(rows["ci_low"].astype(float), rows["ci_high"].astype(float))]
    winner = {"wins": LOOKS.get(treatment, SPARE).colour, "loses": LOOKS.get(control, SPARE).colour}
    colours = [winner.get(v, MUTED) if ours else PALE for v, ours in zip(verdicts, rows["ours"])]
    rows = rows.assign(colour=colours, fill=[c if v in winner and ours else PAPER for c, v, ours in zip(colours, verdicts, rows["ours"])],
                       end=_ends(rows[["estimate", "ci_low", "ci_high"]].astype(float)),
                       below=rows["estimate"].astype(float) < 0)
    values = [float(np.log10(s)) for s in sizes]
    ticks = " : ".join(f"abs(datum.value - {v:.6f}) < 0.001 ? {json.dumps(lines)}" for v, lines in zip(values, sizes.values())) + " : ''"
    axis = alt.Axis(values=values, labelExpr=ticks, labels=last, title="reader, by its parameters (log scale)" if last else None, gridColor="#F3F4F6",
                    labelOverlap=False)
    x = alt.X("x:Q", axis=axis, scale=alt.Scale(domain=span, nice=False))
    y = alt.Y("estimate:Q", title=f"F1, {treatment} − {control}", axis=alt.Axis(tickCount=5, labelExpr=SIGNED),
              scale=alt.Scale(domain=[-reach, reach], nice=False))
    band = pd.DataFrame([{"low": -margin, "high": margin}] if margin else [], columns=["low", "high"])
    layers = [alt.Chart(band).mark_rect(color=INK, opacity=0.06).encode(y="low:Q", y2="high:Q")] if margin else []
    layers.append(alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(y="zero:Q"))
    for ours in (False, True):
        part = rows[rows["ours"] == ours]
        if len(part):
            layers += _marks(part, x, y, ours)
    sides = pd.DataFrame([{"y": reach * 0.93, "text": f"↑ {treatment} ahead", "colour": winner["wins"]},
                          {"y": -reach * 0.93, "text": f"↓ {control} ahead", "colour": winner["loses"]}])
    layers.append(alt.Chart(sides).mark_text(align="left", fontSize=11, fontWeight="bold").encode(
        x=alt.value(6), y=alt.Y("y:Q"), text="text:N", color=alt.Color("colour:N", scale=None)))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def _ends(rows: pd.DataFrame) -> pd.Series:
    """Where a mark's label goes: beyond the end of its interval that is farther from 0."""
    return rows["ci_high"].where(rows["estimate"] >= 0, rows["ci_low"]).fillna(rows["estimate"])


def _marks(part: pd.DataFrame, x: alt.X, y: alt.Y, ours: bool) -> list[alt.Chart]:
    part = part[["x", "estimate", "ci_low", "ci_high", "end", "below", "colour", "fill", "precision"]]
    part = part.astype(dict.fromkeys(("estimate", "ci_low", "ci_high"), float))
    base, whole = alt.Chart(part), alt.Chart(part.dropna(subset=["ci_low"]))
    return [whole.mark_rule(strokeWidth=2 if ours else 1.4, strokeCap="round").encode(
                x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q", color=alt.Color("colour:N", scale=None)),
            base.mark_point(filled=True, size=80 if ours else 55, opacity=1, strokeWidth=2 if ours else 1.4).encode(
                x=x, y=y, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None)),
            *(alt.Chart(part[part["below"] == below]).mark_text(dy=10 if below else -9, fontSize=10, color=MUTED if ours else "#8C97A3").encode(
                x=x, y=alt.Y("end:Q"), text="precision:N") for below in (False, True) if (part["below"] == below).any())]
