"""The policy assistant drawn: routes against one switch, slice by slice, and exception retrieval before and after each repair (document 001, Part IV)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import wording_policy as wording
from lib.charts import INK, MUTED, PAPER, PERCENT, Look, NothingToDraw, ready, row_axis
from lib.policy_arms import STEPS
from lib.policy_study import BASE, REPAIR, SWITCH
from lib.policy_tables import EVERY, NONE

LEFT, RIGHT, ROW, PANEL, STEP = 300, 170, 68, 152, 34  # pixels
LOOKS: dict[str, Look] = {
    BASE: Look("#82888F", [1, 0], "circle", 1.6),
    SWITCH: Look("#CF5A12", [1, 0], "square", 1.6),
    REPAIR: Look("#2A9D8F", [1, 0], "triangle-up", 1.6),
    "routed": Look("#0B3C6F", [1, 0], "diamond", 2.4),
}
NAMES = {BASE: "baseline", SWITCH: "one switch: reranker everywhere", REPAIR: "repaired everywhere", "routed": "routed by kind"}
PANELS = {"exception_in_pool": "exception in the pool", "exception_shown": "exception shown", "complete": "evidence complete"}


def routes(table: pd.DataFrame, tier: str | None = None, measure: str = "complete", treatment: str = "routed", control: str = SWITCH) -> alt.HConcatChart:
    """Left: the share of each slice's questions whose evidence is complete, arm by arm. Right: routed minus the global switch, paired.

    ``table``: policy_routes of one tier. Raises NothingToDraw where the switch was not measured (no reranker).
    """
    mine = table[table["measure"] == measure].dropna(subset=["estimate", "ci_low"])
    levels, deltas = mine[mine["minus"] == NONE], mine[(mine["name"] == treatment) & (mine["minus"] == control)]
    if deltas.empty:
        raise NothingToDraw(f"figures_policy.routes: no difference of {treatment} and {control}; it takes a reranker and two questions a slice")
    there = [a for a in LOOKS if a in set(levels["name"])]
    levels = levels[levels["name"].isin(there) & levels["slice"].isin(set(deltas["slice"]))]
    order = [wording.kind(s) for s in wording.in_order(deltas["slice"])]
    levels = ready(_named(levels), "figures_policy.routes", "kind", "estimate", "ci_low", "ci_high")
    deltas = ready(_named(deltas), "figures_policy.routes", "kind", "estimate", "ci_low", "ci_high")
    title = words.headed(
        wording.routed(table, measure, treatment, control),
        f"Four passages shown · {words.counted(deltas.loc[deltas['slice'] != EVERY, 'n'])} a kind · {words.tier_of(table, tier)}",
        f"Bars: 95{words.GAP}% bootstrap intervals over questions · routes chosen on one half of the questions, judged on the other, many splits",
        "Right: routed minus the switch, paired; filled where it also passes Holm's correction over the kinds",
        wording.beside(table, measure, treatment),
        width=720,
    )
    left = _levels(levels, there, order)
    return alt.hconcat(left, _deltas(deltas, order), spacing=22).properties(title=title)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(kind=[wording.kind(s) for s in rows["slice"]])


def _levels(df: pd.DataFrame, there: list[str], order: list[str]) -> alt.VConcatChart:
    apart = {a: (k - (len(there) - 1) / 2) * 13 for k, a in enumerate(there)}
    y = alt.Y("kind:N", sort=order, title=None, axis=row_axis(order), scale=alt.Scale(padding=0))
    x = lambda c: alt.X(f"{c}:Q", title="questions whose evidence is complete", scale=alt.Scale(domain=[0, 1], nice=False), axis=PERCENT)
    layers = [_stripes(order, y)]
    for name in there:
        look, part = LOOKS[name], alt.Chart(df[df["name"] == name])
        layers.append(part.mark_rule(color=look.colour, strokeWidth=look.width, yOffset=apart[name]).encode(x=x("ci_low"), x2="ci_high:Q", y=y))
        layers.append(part.mark_point(shape=look.shape, filled=True, color=look.colour, size=75, opacity=1, yOffset=apart[name]).encode(x=x("estimate"), y=y))
    return alt.vconcat(_key(there), alt.layer(*layers).properties(width=LEFT, height=ROW * len(order)), spacing=6)


def _stripes(order: list[str], y: alt.Y) -> alt.Chart:
    rows = pd.DataFrame({"kind": order[::2]})
    return alt.Chart(rows).mark_bar(color="#F4F5F6", size=ROW).encode(y=y, x=alt.value(0), x2=alt.value(LEFT))


def _key(there: list[str]) -> alt.LayerChart:
    """The arms by name above the marks, two lines of two."""
    data = pd.DataFrame({"x": [k % 2 for k in range(len(there))], "y": [k // 2 for k in range(len(there))], "name": [NAMES[a] for a in there],
                         "colour": [LOOKS[a].colour for a in there], "shape": [LOOKS[a].shape for a in there]})
    place = {"x": alt.X("x:O", axis=None, scale=alt.Scale(domain=[0, 1], padding=0)), "y": alt.Y("y:O", axis=None)}
    base = alt.Chart(data).encode(**place)
    marks = base.mark_point(filled=True, size=80, opacity=1, xOffset=-78).encode(
        color=alt.Color("colour:N", scale=None), shape=alt.Shape("shape:N", scale=None))
    return alt.layer(marks, base.mark_text(align="left", xOffset=-68, fontSize=11).encode(text="name:N")).properties(width=LEFT, height=34)


def _deltas(df: pd.DataFrame, order: list[str]) -> alt.VConcatChart:
    sure = (df["ci_low"] > 0) | (df["ci_high"] < 0)
    passed = sure & ~(df["p_holm"] >= 0.05)
    df = df.assign(fill=[LOOKS["routed"].colour if f else PAPER for f in passed], said=[words.signed(100 * e, 0) for e in df["estimate"]])
    reach = max(0.2, float(df[["ci_low", "ci_high"]].abs().max().max())) * 1.08
    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : replace(format(100 * datum.value, '+.0f'), '-', '−')", tickCount=4)
    x = lambda c: alt.X(f"{c}:Q", title="points gained or lost", scale=alt.Scale(domain=[-reach, reach], nice=False), axis=axis)
    y = alt.Y("kind:N", sort=order, title=None, axis=None, scale=alt.Scale(padding=0))
    base = alt.Chart(df).encode(y=y)
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=MUTED, strokeDash=[3, 3]).encode(x=x("x"))
    rule = base.mark_rule(color=LOOKS["routed"].colour, strokeWidth=2).encode(x=x("ci_low"), x2="ci_high:Q")
    dot = base.mark_point(shape="diamond", filled=True, size=95, opacity=1, stroke=LOOKS["routed"].colour, strokeWidth=2).encode(
        x=x("estimate"), fill=alt.Fill("fill:N", scale=None))
    halo, ink = {"color": PAPER, "stroke": PAPER, "strokeWidth": 5, "strokeJoin": "round"}, {"color": INK}
    texts = [base.mark_text(dy=-15, fontWeight="bold", fontSize=11.5, **look).encode(x=x("estimate"), text="said:N") for look in (halo, ink)]
    head = alt.Chart(pd.DataFrame({"t": ["routed minus the switch"]})).mark_text(color=INK, fontSize=11).encode(
        text="t:N", x=alt.value(RIGHT / 2), y=alt.value(17)).properties(width=RIGHT, height=34)
    return alt.vconcat(head, alt.layer(zero, rule, dot, *texts).properties(width=RIGHT, height=ROW * len(order)), spacing=6)


def steps(table: pd.DataFrame, tier: str | None = None, slice: str = "exclusion", depth: int | None = None) -> alt.HConcatChart:
    """Exception retrieval before and after each repair: a panel a measure, a row a step, intervals drawn; in its heading the gain of last over first.

    ``table``: policy_steps of one tier; ``depth``: one of its depths (default: the largest). Raises NothingToDraw where the slice has no exception.
    """
    depth = int(table["depth"].max()) if depth is None and len(table) else depth
    mine = table[(table["slice"] == slice) & (table["depth"] == depth) & table["name"].isin(STEPS)].dropna(subset=["estimate", "ci_low"])
    levels = mine[mine["minus"] == NONE]
    there = [m for m in PANELS if m in set(levels["measure"])]
    if not there:
        raise NothingToDraw(f"figures_policy.steps: no step is measured on {slice!r} questions at depth {depth}")
    order = [wording.STEP[s] for s in STEPS if s in set(levels["name"])]
    levels = ready(levels.assign(step=[wording.STEP[s] for s in levels["name"]]), "figures_policy.steps", "step", "estimate", "ci_low", "ci_high")
    title = words.headed(
        wording.repaired(table, slice, depth),
        f"{wording.kind(slice).capitalize()} questions · {words.counted(levels['n'])} · pool of {depth}, four passages shown · {words.tier_of(table, tier)}",
        f"Bars: 95{words.GAP}% bootstrap intervals over questions (exact where all agree) · above each panel: last step minus first, paired, in points",
        width=720,
    )
    panels = [_panel(levels[levels["measure"] == m], mine, m, order, first=m == there[0]) for m in there]
    return alt.hconcat(*panels, spacing=16).properties(title=title)


def _panel(df: pd.DataFrame, every: pd.DataFrame, measure: str, order: list[str], first: bool) -> alt.LayerChart:
    gain = every[(every["measure"] == measure) & (every["name"] == STEPS[-1]) & (every["minus"] == STEPS[0])]
    said = "" if gain.empty else f"{words.signed(100 * gain['estimate'].iloc[0], 0)} [{words.signed(100 * gain['ci_low'].iloc[0], 0)}, " \
                                 f"{words.signed(100 * gain['ci_high'].iloc[0], 0)}]"
    y = alt.Y("step:N", sort=order, title=None, axis=row_axis(order) if first else None, scale=alt.Scale(padding=0))
    x = lambda c: alt.X(f"{c}:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(
        labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'", values=[0, 0.5, 1]))
    colour, base = LOOKS[REPAIR].colour, alt.Chart(df).encode(y=y)
    path = base.mark_line(color=colour, strokeWidth=1.2, opacity=0.55).encode(x=x("estimate"), order=alt.Order("rank:O"))
    path.data = df.assign(rank=[order.index(s) for s in df["step"]])
    rule = base.mark_rule(color=colour, strokeWidth=2).encode(x=x("ci_low"), x2="ci_high:Q")
    dot = base.mark_point(filled=True, color=colour, size=80, opacity=1).encode(x=x("estimate"))
    head = alt.TitleParams([PANELS[measure], said], fontSize=11.5, fontWeight="normal", color=INK, anchor="middle", frame="group", offset=8)
    return alt.layer(path, rule, dot).properties(width=PANEL, height=STEP * len(order), title=head)
