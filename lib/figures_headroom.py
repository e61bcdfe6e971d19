"""What a choice of packer per question could win, and what a selector wins (document 000, section 5.0.0.5)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, SPARE, ChartError, NothingToDraw, ready, row_axis

WIDTH, ROW = 270, 30  # pixels: the plot left of the remarks; a row
ORACLE, CHOSEN = "oracle", ("selector", "selector_eager")
LEARNED = "best_fixed"
CALLED = {"selector": "selector, careful", "selector_eager": "selector, eager", LEARNED: "best fixed in training"}


def headroom_dots(table: pd.DataFrame, outcome: str = "f1", tier: str | None = None) -> alt.LayerChart:
    """Mean outcome of each packer, the selectors and the oracle; beside each how often it is best, or what it wins over the best fixed packer.

    ``table``: headroom of one data set, pack, budget, reader and half. The dashed line is the best fixed packer. Raises ChartError.
    """
    df = ready(table, "headroom_dots", "policy", "quantity", "outcome", "n")
    df = ready(df[df["outcome"] == outcome], f"headroom_dots of {outcome!r}", "estimate", "ci_low", "ci_high")
    if df.duplicated(["policy", "quantity"]).any():
        raise ChartError("headroom_dots: a policy has several values of one quantity; keep one data set, pack, budget, reader and half")
    value = {(r.policy, r.quantity): r for r in df.itertuples()}
    means = df[((df["quantity"] == "mean") & (df["policy"] != LEARNED)) | (df["quantity"] == "mean_chosen_in_training")]
    packers = means[~means["policy"].isin((ORACLE, *CHOSEN, LEARNED))].sort_values("estimate", ascending=False, kind="stable")
    if packers.empty or (ORACLE, "minus_best_fixed") not in value:
        raise NothingToDraw(f"headroom_dots: needs the mean of a packer and of the oracle, found {sorted(set(means['policy']))}")
    order = [p for p in (ORACLE, *reversed(CHOSEN), LEARNED) if p in set(means["policy"])] + list(packers["policy"])
    rows = means.assign(row=[CALLED.get(p, p) for p in means["policy"]], remark=[_remark(p, value) for p in means["policy"]],
                        numbers=[f"{v:.3f}" for v in means["estimate"]], colour=[LOOKS.get(p, SPARE).colour for p in means["policy"]])
    learned = value.get((LEARNED, "mean_chosen_in_training"))
    where = " · ".join(str(df[c].iloc[0]) for c in ("dataset", "reader", "precision") if c in df and df[c].nunique() == 1)
    title = words.headed(_finding(value, words.shown(outcome)), f"{where} · {words.counted(df['n'])} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals over questions; dashed: the best fixed packer"
                         + (f". A selector is compared with what was best in its training, on average {learned.estimate:.3f}" if learned else ""), width=690)
    return alt.layer(*_dots(rows, [CALLED.get(p, p) for p in order], packers["estimate"].max())).properties(width=WIDTH, height=ROW * len(order), title=title)


def _remark(policy: str, value: dict) -> str:
    if (policy, "minus_best_fixed") in value:
        r = value[policy, "minus_best_fixed"]
        same = value.get((policy, "as_best_fixed"))
        over = f"{words.signed(r.estimate)} [{words.signed(r.ci_low)}, {words.signed(r.ci_high)}]"
        return f"{over} over the best fixed" if same is None else f"{over}; same pick on {words.percent(same.estimate)}"
    best, alone = (value.get((policy, q)) for q in ("best_or_tied", "strictly_best"))
    return f"best or tied on {words.percent(best.estimate)}, alone best on {words.percent(alone.estimate)}" if best and alone else ""


def _finding(value: dict, outcome: str) -> str:
    room = value[ORACLE, "minus_best_fixed"]
    could = f"Whoever knew the outcome would win {words.signed(room.estimate)} {outcome} by choosing per question"
    if ("selector", "minus_best_fixed") not in value:
        return f"{could}; no selector was trained"
    won = {s: value[s, "minus_best_fixed"] for s in CHOSEN if (s, "minus_best_fixed") in value}
    found = {s: words.verdict(r.ci_low, r.ci_high) for s, r in won.items()}
    if set(found.values()) == {"undecided"}:
        return f"{could}; what a selector wins cannot be told from nothing"
    who = next(s for s, v in found.items() if v != "undecided")
    name = "careful" if who == "selector" else "eager"
    said = f"wins {words.signed(won[who].estimate)} of it" if found[who] == "wins" else f"loses {abs(won[who].estimate):.3f}"
    return f"{could}; the {name} selector {said}"


def _dots(rows: pd.DataFrame, order: list[str], fixed: float) -> list[alt.Chart]:
    low, high = rows["ci_low"].min(), rows["ci_high"].max()
    pad = 0.08 * (high - low) or 0.05
    scale = alt.Scale(domain=[max(0.0, low - pad), high + pad], nice=False, zero=False)
    x = alt.X("ci_low:Q", title=None, scale=scale, axis=alt.Axis(tickCount=4))
    base = alt.Chart(rows).encode(y=alt.Y("row:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=row_axis(order)))
    colour, names = alt.Color("colour:N", scale=None), sorted(set(rows["policy"]))
    line = alt.Chart(pd.DataFrame([{"ci_low": fixed}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x="ci_low:Q")
    bar = base.mark_rule(strokeWidth=2, strokeCap="round").encode(x=x, x2="ci_high:Q", color=colour)
    shapes = alt.Scale(domain=names, range=[LOOKS[n].shape if n in LOOKS else "cross" for n in names])
    point = base.mark_point(filled=True, size=85, opacity=1, stroke=PAPER, strokeWidth=0.5).encode(
        x="estimate:Q", color=colour, shape=alt.Shape("policy:N", scale=shapes, legend=None))
    text = base.mark_text(align="left", dx=14, fontSize=11.5, color=INK).encode(x=alt.value(WIDTH), text="numbers:N")
    said = base.mark_text(align="left", dx=58, fontSize=11, color=MUTED).encode(x=alt.value(WIDTH), text="remark:N")
    return [line, bar, point, text, said]
