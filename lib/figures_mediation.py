"""The part of a contrast that runs through a mediator: total = through it + besides it (document 000, section 3.1; ``lib.mediation``)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, ChartError, ready
from lib.figures_effects import SIGNED

WIDTH, BESIDE, BLOCK, TOP = 300, 160, 98, 4  # pixels: the plot; the numbers beside it; a contrast; above the first
LANES = {"total": 33, "indirect": 54, "direct": 75}
COLOUR = {"total": INK, "indirect": "#0B3C6F", "direct": "#CF5A12"}
SHAPE = {"total": "circle", "indirect": "square", "direct": "triangle-up"}


def mediation_effects(table: pd.DataFrame, mediator: str = "answer_in_context", outcome: str = "f1", tier: str | None = None) -> alt.LayerChart:
    """A contrast a block: the whole difference, the part that runs through the mediator, the part that does not; and the two paths in words.

    ``table``: mediation of one data set, pack, budget and reader. Filled where the interval excludes 0. Raises ChartError.
    """
    df = ready(table, "mediation_effects", "treatment", "control", "mediator", "outcome", "quantity", "n")
    df = df[(df["outcome"] == outcome) & (df["mediator"] == mediator)].assign(pair=lambda d: d["treatment"] + " − " + d["control"])
    effects = ready(df[df["quantity"].isin(LANES)], f"mediation_effects of {outcome!r} through {mediator!r}", "estimate", "ci_low", "ci_high")
    if effects.duplicated(["pair", "quantity"]).any():
        raise ChartError("mediation_effects: a contrast has several values of one quantity; keep one data set, pack, budget and reader")
    order = list(dict.fromkeys(effects["pair"]))
    known = {(r.pair, r.quantity): r for r in df.itertuples()}
    names = {"total": "whole difference", "indirect": f"through {mediator}", "direct": "the rest"}
    effects = effects.assign(
        place=[TOP + BLOCK * order.index(p) + LANES[q] for p, q in zip(effects["pair"], effects["quantity"])], name=effects["quantity"].map(names),
        colour=effects["quantity"].map(COLOUR), numbers=[f"{words.signed(e)}  [{words.signed(a)}, {words.signed(b)}]" for e, a, b in
                                                         zip(effects["estimate"], effects["ci_low"], effects["ci_high"])])
    effects["fill"] = [c if a > 0 or b < 0 else PAPER for c, a, b in zip(effects["colour"], effects["ci_low"], effects["ci_high"])]
    heads = pd.DataFrame([{"place": TOP + BLOCK * i + 8, "pair": p, "paths": _paths(known, p, mediator, words.shown(outcome))} for i, p in enumerate(order)])
    where = " · ".join(str(df[c].iloc[0]) for c in ("dataset", "reader", "precision") if c in df and df[c].nunique() == 1)
    left = f", {int(df['undefined'].max())} undefined left out" if "undefined" in df and df["undefined"].max() else ""
    title = words.headed(_finding(known, order, mediator, words.shown(outcome)), f"{where} · {words.counted(df['n'])}{left} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals over questions; read as cause only under the assumptions in the text", width=690)
    return alt.layer(*_layers(effects, heads, BLOCK * len(order), f"difference in {words.shown(outcome)}, treatment − control")).properties(
        width=WIDTH, height=BLOCK * len(order), title=title)


def _paths(known: dict, pair: str, mediator: str, outcome: str) -> str:
    a, b = known.get((pair, "a")), known.get((pair, "b"))
    moved = f"{mediator} moves by {words.signed(a.estimate)}" if a is not None and pd.notna(a.estimate) else ""
    return f"{moved}; a step of 1 is worth {words.signed(b.estimate)} {outcome}" if moved and b is not None and pd.notna(b.estimate) else moved


def _layers(effects: pd.DataFrame, heads: pd.DataFrame, height: int, title: str) -> list[alt.Chart]:
    reach = 1.1 * max(effects["ci_high"].max(), -effects["ci_low"].min(), 0.005)
    x = alt.X("ci_low:Q", title=title, scale=alt.Scale(domain=[-reach, reach], nice=False), axis=alt.Axis(tickCount=5, labelExpr=SIGNED))
    y = alt.Y("place:Q", title=None, axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    base, head = alt.Chart(effects).encode(y=y), alt.Chart(heads).encode(y=y)
    colour = alt.Color("colour:N", scale=None)
    zero = heads.assign(zero=0, place=heads["place"] + LANES["total"] - 20, below=heads["place"] + LANES["direct"] + 2)
    return [alt.Chart(zero).mark_rule(color=INK).encode(x="zero:Q", y=y, y2="below:Q"),
            base.mark_rule(strokeWidth=2, strokeCap="round").encode(x=x, x2="ci_high:Q", color=colour),
            base.mark_point(filled=True, size=85, opacity=1, strokeWidth=2).encode(
                x="estimate:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None),
                shape=alt.Shape("quantity:N", scale=alt.Scale(domain=list(SHAPE), range=list(SHAPE.values())), legend=None)),
            base.mark_text(align="right", dx=-12, fontSize=12).encode(x=alt.value(0), text="name:N"),
            base.mark_text(align="left", dx=14, fontSize=11.5).encode(x=alt.value(WIDTH), text="numbers:N"),
            head.mark_text(align="left", dx=-170, fontWeight="bold", fontSize=12.5).encode(x=alt.value(0), text="pair:N"),
            head.mark_text(align="right", color=MUTED, fontSize=11).encode(x=alt.value(WIDTH + BESIDE), text="paths:N")]


def _finding(known: dict, order: list[str], mediator: str, outcome: str) -> str:
    """The contrast with the largest decided difference and the part of it that runs through the mediator; else that there is nothing to divide."""
    decided = [p for p in order if known[p, "total"].ci_low > 0 or known[p, "total"].ci_high < 0]
    if not decided:
        return f"{order[0]}: the difference in {outcome} is undecided, so there is nothing to divide" if len(order) == 1 else \
            f"None of {len(order)} contrasts in {outcome} is decided, so there is nothing to divide"
    pair = max(decided, key=lambda p: abs(known[p, "total"].estimate))
    total, through, share = (known[pair, q] for q in ("total", "indirect", "share"))
    word = "gain" if total.estimate > 0 else "loss"
    if through.ci_low <= 0 <= through.ci_high:
        return f"{pair}: no part of the {word} in {outcome} can be shown to run through {mediator}"
    ends = f"[{words.percent(share.ci_low)} to {words.percent(share.ci_high)}]"
    return f"{pair}: {words.percent(share.estimate)} of the {word} in {outcome} goes with {mediator} {ends}"
