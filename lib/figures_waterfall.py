"""Where answers are lost, stage by stage: the waterfall of one chain (SPEC 7; document 000, section 3). `figures_slices` compares chains."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, PERCENT, ChartError, ready

ALIVE, FELL, ASIDE = "#0B3C6F", "#8A3F14", "#9DB3CB"
LOST = {"corpus": "#F8EBE1", "pool": "#EFD0B9", "context": "#DDA57E", "read": "#B3682F"}  # light to dark in the order of the stages, so also in grey
STAGES = {"corpus": ["stands in", "the corpus"], "pool": ["retrieved:", "in the pool"], "context": ["packed:", "in the context"],
          "read": ["read:", "answered exactly"]}
LOST_IN = {"corpus": "for lack of their words in the corpus", "pool": "in retrieval", "context": "in packing", "read": "in reading"}
ENDS = {"em": "come out right", "f1": "come out, counted by F1", "none": "reach the context"}
CHAIN = ["tier", "dataset", "slice", "pack_id", "policy", "budget", "reader", "precision", "outcome"]
COLUMN, PITCH, FIRST, HEIGHT = 72, 142, 40, 300  # pixels: width of a column, from one to the next, the first one's middle, the plot's height


def waterfall(table: pd.DataFrame, marks: pd.DataFrame | None = None, tier: str | None = None) -> alt.LayerChart:
    """Share of answers still alive after each stage, and above it what that stage lost: the losses add up to what is missing at the end.

    ``table``: one chain of the table ``waterfall`` (stage, order, share, lost, ci_low, ci_high, n; where there lost_low, lost_high, undefined,
    outcome and what names the arm). ``marks``: table ``waterfall_marks``, of which the chain's own rows are drawn: a tick on the context for
    the documents in rank order, and a bar apart for what was right without the answer. Raises ChartError when the losses do not add up.
    """
    df = _chain(table)
    outcome = df["outcome"].iloc[0] if "outcome" in df else "em"
    beside = _of_chain(marks, df) if marks is not None else {}
    whole = whole_percent(df["share"])
    before = df["share"].shift(fill_value=1.0)
    names = STAGES | ({"read": ["read:", "its F1"]} if outcome == "f1" else {})
    df = df.assign(before=before, kept=[f"{w}{words.GAP}%" for w in whole], fell=[f"−{d}" if d else "" for d in whole.shift(fill_value=100) - whole],
                   middle=(before + df["share"]) / 2, label=[names.get(s, [s]) for s in df["stage"]], x=[FIRST + PITCH * k for k in range(len(df))],
                   tint=[LOST.get(s, LOST["context"]) for s in df["stage"]])
    width = FIRST + PITCH * (len(df) - 1) + COLUMN // 2 + (PITCH + 22 if "right_without_answer" in beside else 40)
    layers = [*_columns(df, width), *_rank_order(df, beside), *_without(df, beside, outcome)]
    title = words.headed(_finding(df, whole, outcome), *_notes(df, beside, tier), width=740)
    return alt.layer(*layers).properties(width=width, height=HEIGHT, title=title)


def _chain(table: pd.DataFrame) -> pd.DataFrame:
    df = ready(table, "waterfall", "stage", "order", "share", "lost", "ci_low", "ci_high", "n").sort_values("order", ignore_index=True)
    if df["stage"].duplicated().any():
        raise ChartError(f"waterfall: stage {df.loc[df['stage'].duplicated(), 'stage'].iloc[0]!r} repeats; keep one data set, slice, policy, "
                         "budget, reader, precision and outcome")
    check_losses(df, "waterfall")
    return df


def check_losses(df: pd.DataFrame, figure: str) -> None:
    """Raise ChartError unless each loss of one chain, in order, is the fall in share."""
    falls = df["share"].shift(fill_value=1.0) - df["share"]
    off = (falls - df["lost"]).abs()
    if off.max() > 1e-4:
        at = off.idxmax()
        raise ChartError(f"{figure}: lost is not the fall in share at stage {df['stage'][at]!r}: share falls by {falls[at]:.4f}, "
                         f"lost says {df['lost'][at]:.4f}")


def whole_percent(shares: pd.Series) -> pd.Series:
    """Shares in [0, 1] as whole per cent; losses are printed as their differences, so they add up on paper too."""
    return (100 * shares).round().astype(int)


def _of_chain(marks: pd.DataFrame, df: pd.DataFrame) -> dict[str, dict]:
    """The chain's own marks by name; a mark without a value is left out."""
    rows = marks.dropna(subset=["estimate", "ci_low", "ci_high"])
    for column in (c for c in CHAIN if c in df and c in rows):
        rows = rows[rows[column] == df[column].iloc[0]]
    if rows["mark"].duplicated().any():
        raise ChartError(f"waterfall: mark {rows.loc[rows['mark'].duplicated(), 'mark'].iloc[0]!r} repeats; marks must say which chain they belong to")
    return {r.mark: {"value": float(r.estimate), "low": float(r.ci_low), "high": float(r.ci_high)} for r in rows.itertuples()}


def _finding(df: pd.DataFrame, whole: pd.Series, outcome: str) -> str:
    """The stage that loses most, or those whose intervals do not tell which does."""
    if df["lost"].max() <= 0:
        return "No stage loses an answer"
    points, most = whole.shift(fill_value=100) - whole, largest_losses(df)
    end = f"{whole.iloc[-1]} {ENDS.get(outcome, ENDS['em'])}"
    first = df["stage"][most[0]]
    if len(most) > 1:
        said = words.listed([f"{points[i]} {'are lost ' if i == most[0] else ''}{LOST_IN.get(df['stage'][i], df['stage'][i])}" for i in most])
        return f"Of 100 answers {said}, too close to rank; {end}"
    verb = "never stand in the corpus" if first == "corpus" else f"are lost {LOST_IN.get(first, first)}"
    return f"Of 100 answers {points[most[0]]} {verb}, the largest of {len(df)} losses; {end}"


def largest_losses(df: pd.DataFrame) -> list[int]:
    """The largest loss and those whose intervals meet its interval, largest first; without intervals of the losses the largest alone."""
    order = list(df["lost"].sort_values(ascending=False, kind="stable").index)
    if not {"lost_low", "lost_high"} <= set(df) or df[["lost_low", "lost_high"]].isna().any(axis=None):
        return order[:1]
    return [i for i in order if i == order[0] or (df["lost_high"][i] >= df["lost_low"][order[0]] and df["lost"][i] > 0)]


def _notes(df: pd.DataFrame, beside: dict, tier: str | None) -> list[str]:
    arm = " · ".join(str(df[c].iloc[0]) + (f" at {df['budget'].iloc[0]} tokens" if c == "policy" and "budget" in df else "")
                     for c in ("dataset", "slice", "policy", "reader", "precision") if c in df and df[c].iloc[0] not in ("all", "none"))
    left_out = f" (and {int(df['undefined'].iloc[0])} without, left out)" if "undefined" in df and df["undefined"].iloc[0] else ""
    tick = " · tick: what documents in rank order, cut at the budget, would have kept" if "first_stage_order" in beside else ""
    return [arm, f"{words.counted(df['n'])} with a defined answer{left_out} · {words.tier_of(df, tier)}", f"Bars: 95{words.GAP}% bootstrap intervals{tick}"]


def _printed_without(df: pd.DataFrame, beside: dict) -> int:
    """Per cent right without the answer in the context, as the difference of printed numbers: it and the last share add up to the printed mean."""
    return round(100 * (df["share"].iloc[-1] + beside["right_without_answer"]["value"])) - int(whole_percent(df["share"]).iloc[-1])


def _x(column: str = "x") -> alt.X:
    return alt.X(f"{column}:Q", title=None, axis=None)


def _y(column: str) -> alt.Y:
    return alt.Y(f"{column}:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=PERCENT)


def _columns(df: pd.DataFrame, width: int) -> list[alt.Chart]:
    base = alt.Chart(df).encode(x=alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=[0, width], nice=False)))
    fell = base.mark_bar(size=COLUMN).encode(y=_y("share"), y2="before:Q", color=alt.Color("tint:N", scale=None))
    alive = base.mark_bar(size=COLUMN, color=ALIVE).encode(y=_y("share"), y2=alt.datum(0))
    levels = alt.Chart(df.iloc[:-1].assign(end=df["x"].iloc[:-1] + PITCH)).mark_rule(color=INK, strokeWidth=0.8, opacity=0.55, xOffset=COLUMN / 2,
                                                                                     x2Offset=-COLUMN / 2).encode(x=_x(), x2="end:Q", y=_y("share"))
    low = df["share"] < 0.1  # too little dark for a white number: there it stands above the interval
    written = alt.Chart(df.assign(foot=(df["ci_high"] + 0.015).where(low, 0.03), ink=[INK if small else PAPER for small in low]))
    kept = written.mark_text(fontWeight="bold", fontSize=13, baseline="bottom").encode(
        x=_x(), y=_y("foot"), text="kept:N", color=alt.Color("ink:N", scale=None))
    fallen = [base.mark_text(align="left", dx=COLUMN / 2 + 6, fontSize=13, fontWeight="bold", color=FELL, **halo).encode(y=_y("middle"), text="fell:N")
              for halo in ({"stroke": PAPER, "strokeWidth": 4}, {})]
    names = base.mark_text(baseline="top", fontSize=11.5, lineHeight=15).encode(y=alt.value(HEIGHT + 10), text="label:N")
    return [fell, alive, levels, *_whiskers(base, "ci_low", "ci_high"), kept, *fallen, names]


def _whiskers(base: alt.Chart, low: str, high: str) -> list[alt.Chart]:
    return [base.mark_rule(color=colour, strokeWidth=thick).encode(y=_y(low), y2=f"{high}:Q") for colour, thick in ((PAPER, 5), (INK, 2))]


def _rank_order(df: pd.DataFrame, beside: dict) -> list[alt.Chart]:
    """A tick on the left edge of the context's column, its interval beside it, and its label between the columns."""
    at = df.loc[df["stage"] == "context", "x"]
    if "first_stage_order" not in beside or at.empty:
        return []
    mark, left = beside["first_stage_order"], float(at.iloc[0]) - COLUMN / 2
    value, place = round(100 * mark["value"]), {"baseline": "top", "dy": 8} if mark["value"] > 0.2 else {"baseline": "bottom", "dy": -34}
    base = alt.Chart(pd.DataFrame([{**mark, "x": left - 6, "from": left - 12, "to": left + 14, "label": ["rank", "order:", f"{value}{words.GAP}%"]}]))
    ticks = [base.mark_rule(color=colour, strokeWidth=thick).encode(x=_x("from"), x2="to:Q", y=_y("value")) for colour, thick in ((PAPER, 5), (INK, 2))]
    return [base.mark_rule(color=MUTED, strokeWidth=1.4).encode(x=_x(), y=_y("low"), y2="high:Q"), *ticks,
            base.mark_text(align="right", **place, dx=-4, fontSize=11, lineHeight=13, color=INK).encode(x=_x("from"), y=_y("value"), text="label:N")]


def _without(df: pd.DataFrame, beside: dict, outcome: str) -> list[alt.Chart]:
    """The bar apart: right (or F1 earned) although the answer did not stand in the context, over the same questions."""
    if "right_without_answer" not in beside:
        return []
    mark, x = beside["right_without_answer"], float(df["x"].iloc[-1]) + PITCH
    first = {"f1": "F1 earned without"}.get(outcome, "right without")
    base = alt.Chart(pd.DataFrame([{**mark, "x": x, "aside": x - PITCH / 2 + 8, "printed": f"+{words.GAP}{_printed_without(df, beside)}{words.GAP}%",
                                    "label": [first, "the answer in", "the context"]}]))
    apart = base.mark_rule(color=MUTED, strokeDash=[2, 3]).encode(x=_x("aside"))
    bar = base.mark_bar(size=COLUMN, color=ASIDE, stroke=MUTED, strokeDash=[3, 2]).encode(x=_x(), y=_y("value"), y2=alt.datum(0))
    value = base.mark_text(baseline="bottom", dy=-7, fontSize=13, fontWeight="bold", color=INK).encode(x=_x(), y=_y("high"), text="printed:N")
    name = base.mark_text(baseline="top", fontSize=11.5, lineHeight=15).encode(x=_x(), y=alt.value(HEIGHT + 10), text="label:N")
    return [apart, bar, *_whiskers(base.encode(x=_x()), "low", "high"), value, name]
