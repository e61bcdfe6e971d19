"""What a contrast is made of: answers gained, lost, kept and absent, gross and net (document 000, section 5.0.0.4)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, ChartError, ready
from lib.figures_effects import SIGNED

WIDTH, BESIDE, TITLE_WIDTH = 450, 190, 690  # pixels: the plot; the numbers beside it; title and notes
BLOCK, KEY = 92, 30            # pixels: a contrast with its lanes; the key above the first
BAR, NET, ALL = 33, 57, 73     # pixels within a block: middle of the bar, of the net mark, of the mark of all questions
FILL = {"gained": "#0B3C6F", "lost": "#CF5A12", "kept": "#8DA0B3", "absent": "#C3C9CF", "undefined": "#E9EBED"}
SAID = {"gained": "gained", "lost": "lost", "kept": "kept", "absent": "in neither context", "undefined": "without a span"}
ROOM = {"gained": 67, "lost": 50, "kept": 54, "absent": 126, "undefined": 0}  # pixels to the next entry of the key


def transition_bars(table: pd.DataFrame, outcome: str = "f1", tier: str | None = None) -> alt.LayerChart:
    """A contrast a block: what each kind of question adds to the difference, the net of gained and lost (diamond), and the whole difference (dot).

    ``table``: transitions of one data set, pack, budget, reader and half. Positive parts are stacked to the right of zero, negative ones to the
    left; they add up to the dot. Raises ChartError.
    """
    df = _one_panel(table, "transition_bars", "transition", outcome, "questions", "contribution", "ci_low", "ci_high")
    order = list(dict.fromkeys(df["pair"]))
    df = df.assign(top=[KEY + BLOCK * order.index(p) for p in df["pair"]])
    parts = _stacked(df[df["transition"].isin(FILL)])
    marks = df[df["transition"].isin(("net", "all"))].assign(place=lambda d: d["top"] + d["transition"].map({"net": NET, "all": ALL}))
    reach = 1.08 * max(parts[["low", "high"]].abs().max().max(), df[["ci_low", "ci_high"]].abs().max().max(), 0.005)
    height = KEY + BLOCK * len(order) - 8
    x, y = _axes(reach, height, f"part of the difference in {words.shown(outcome)}, treatment − control; the parts add up to “all”")
    layers = [_zero(order, y), *_segments(parts, x, y), *_marks(marks, x, y), *_heads(df, order, y), *_key(y), *_numbers(df, y, outcome)]
    notes = f"{_where(df)} · {words.counted(df['n'])} · {words.tier_of(df, tier)}"
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=words.headed(
        _made_of(df, words.shown(outcome)), notes, f"Lines: 95{words.GAP}% bootstrap intervals over questions; a share is stated only where the whole "
        "difference is decided", width=TITLE_WIDTH))


def _one_panel(table: pd.DataFrame, figure: str, kind: str, outcome: str, *values: str) -> pd.DataFrame:
    df = ready(table, figure, "treatment", "control", "outcome", kind, *values, "n")
    df = ready(df[df["outcome"] == outcome], f"{figure} of {outcome!r}", *values)
    df = df.assign(pair=df["treatment"] + " − " + df["control"])
    if df.duplicated(["pair", kind]).any():
        twice = df.loc[df.duplicated(["pair", kind]), "pair"].iloc[0]
        raise ChartError(f"{figure}: several rows of {twice!r} are of one {kind}; keep one data set, pack, budget, reader and half")
    return df


def _where(df: pd.DataFrame) -> str:
    return " · ".join(str(df[c].iloc[0]) for c in ("dataset", "reader", "precision") if c in df and df[c].nunique() == 1)


def _stacked(parts: pd.DataFrame) -> pd.DataFrame:
    """Each part from where the last of its sign ended: gained, kept, ... to the right, lost, kept, ... to the left."""
    rows = parts.assign(rank=parts["transition"].map({k: i for i, k in enumerate(FILL)})).sort_values(["top", "rank"], kind="stable")
    sign = rows["contribution"] >= 0
    end = rows.groupby(["pair", sign])["contribution"].cumsum()
    return rows.assign(low=end - rows["contribution"], high=end, fill=rows["transition"].map(FILL), place=rows["top"] + BAR)


def _axes(reach: float, height: int, title: str) -> tuple[alt.X, alt.Y]:
    x = alt.X("low:Q", title=title, scale=alt.Scale(domain=[-reach, reach], nice=False), axis=alt.Axis(tickCount=5, labelExpr=SIGNED))
    return x, alt.Y("place:Q", title=None, axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))


def _zero(order: list[str], y: alt.Y) -> alt.Chart:
    """The line at zero, interrupted where the counts stand."""
    lines = pd.DataFrame([{"zero": 0, "place": KEY + BLOCK * i + BAR - 15, "below": KEY + BLOCK * i + ALL + 9} for i in range(len(order))])
    return alt.Chart(lines).mark_rule(color=INK, strokeWidth=1).encode(x="zero:Q", y=y, y2="below:Q")


def _segments(parts: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    base = alt.Chart(parts).encode(y=y)
    bar = base.mark_bar(height=22, stroke=PAPER, strokeWidth=0.7).encode(x=x, x2="high:Q", color=alt.Color("fill:N", scale=None))
    # Both intervals may reach zero from their side: one above the other they stay two lines.
    both = parts[parts["transition"].isin(("gained", "lost"))].assign(place=lambda d: d["place"] + d["transition"].map({"gained": -4, "lost": 4}))
    ends = alt.Chart(both).encode(y=y, x=alt.X("ci_low:Q"), x2="ci_high:Q")
    return [bar, ends.mark_rule(color=PAPER, strokeWidth=4), ends.mark_rule(color=INK, strokeWidth=1.6)]


def _marks(marks: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    base = alt.Chart(marks.assign(decided=(marks["ci_low"] > 0) | (marks["ci_high"] < 0))).encode(y=y)
    point = base.mark_point(size=80, filled=True, opacity=1, stroke=INK, strokeWidth=1.8).encode(
        x="contribution:Q", shape=alt.Shape("transition:N", scale=alt.Scale(domain=["net", "all"], range=["diamond", "circle"]), legend=None),
        fill=alt.condition("datum.decided", alt.value(INK), alt.value(PAPER)))
    return [base.mark_rule(color=INK, strokeWidth=1.8).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q"), point]


def _heads(df: pd.DataFrame, order: list[str], y: alt.Y) -> list[alt.Chart]:
    count = df.pivot(index="pair", columns="transition", values="questions").reindex(order).fillna(0).astype(int)
    said = [", ".join(f"{n[k]:,} {SAID[k]}" for k in FILL if k in n) for _, n in count.iterrows()]
    base = alt.Chart(pd.DataFrame({"pair": order, "said": said, "place": [KEY + BLOCK * i + 8 for i in range(len(order))]})).encode(y=y)
    return [base.mark_text(align="left", fontWeight="bold", fontSize=12.5).encode(x=alt.value(0), text="pair:N"),
            base.mark_text(align="right", color=MUTED, fontSize=11).encode(x=alt.value(WIDTH + BESIDE), text="said:N")]


def _key(y: alt.Y) -> list[alt.Chart]:
    at, rows = 6, []
    for kind, fill in FILL.items():
        rows.append({"at": at, "fill": fill, "said": SAID[kind], "place": 8})
        at += ROOM[kind]
    base = alt.Chart(pd.DataFrame(rows)).encode(y=y, x=alt.X("at:Q", scale=None))
    return [base.mark_point(shape="square", filled=True, size=95, opacity=1).encode(fill=alt.Fill("fill:N", scale=None)),
            base.mark_text(align="left", dx=9, fontSize=11, color=MUTED).encode(text="said:N")]


def _numbers(df: pd.DataFrame, y: alt.Y, outcome: str) -> list[alt.Chart]:
    value = {(r.pair, r.transition): r for r in df.itertuples()}
    rows = []
    for pair, top in df.groupby("pair", sort=False)["top"].first().items():
        rows.append((top + BAR, " · ".join(f"{k} {words.signed(value[pair, k].contribution)}" for k in ("gained", "lost") if (pair, k) in value)))
        for kind, place in (("net", NET), ("all", ALL)):
            if (pair, kind) in value:
                r = value[pair, kind]
                rows.append((top + place, f"{kind} {words.signed(r.contribution)}  [{words.signed(r.ci_low)}, {words.signed(r.ci_high)}]"))
    return [alt.Chart(pd.DataFrame(rows, columns=["place", "said"])).mark_text(align="left", dx=14, fontSize=11).encode(y=y, x=alt.value(WIDTH), text="said:N")]


def _made_of(df: pd.DataFrame, outcome: str) -> str:
    """The clearest decided contrast in gross and net shares; where none is decided, counts and no share."""
    whole = df[df["transition"] == "all"]
    decided = whole[(whole["ci_low"] > 0) | (whole["ci_high"] < 0)]
    pair = decided.loc[decided["contribution"].abs().idxmax(), "pair"] if len(decided) else df["pair"].iloc[0]
    of = df[df["pair"] == pair].set_index("transition")
    gained, lost = int(of["questions"].get("gained", 0)), int(of["questions"].get("lost", 0))
    if decided.empty:
        rest = "no difference" if len(whole) > 1 else "the difference"
        return f"{pair}: {gained} answers gained, {lost} lost; {rest} in {outcome} is {'decided' if len(whole) > 1 else 'undecided'}, so no share is stated"
    up = of["contribution"]["all"] > 0
    gross, net = (words.percent(of["contribution"].get(k, 0) / of["contribution"]["all"]) for k in ("gained" if up else "lost", "net"))
    what = f"newly placed answers make up {gross} of the gain" if up else f"answers no longer there make up {gross} of the loss"
    return f"{pair}: {what} in {outcome}, {net} net of those {'lost' if up else 'gained'}"
