"""Lines of the scope map: retrieval unlocked by depth or by a second step, gaps over the budget, F1 by the place of the answer (document 000, section 6)."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, LOOKS, MUTED, PAPER, PERCENT, RANKERS, NothingToDraw, in_order, ready, scale_of
from lib.context_order import PLACES

HEIGHT, LETTERS = 190, 14.5
UNLOCKED = {"all_gold": "all gold in the list", "answer_in_list": "answer in the list", "answer_in_context_defined": "answer kept, submod"}
SIGNED = "datum.value == 0 ? '0' : replace(format(datum.value, '+.2f'), '-', '−')"


def unlock_lines(table: pd.DataFrame, tier: str | None = None, budget: int = 160) -> alt.VConcatChart:
    """What a list of each depth holds, for the dense and the iterative retriever, and what submod keeps of it: a row a scope, a column a measure.

    ``table``: the unlock table of one data set (half all); paired differences at depth 5 make the title. Raises NothingToDraw without two depths or rankers.
    """
    here = table[(table["half"] == "all") & (table["against"] == "none") & table["ranker"].isin(["dense", "iterative"])]
    rows = here[(here["policy"].isin(["none", "submod"])) & here["measure"].isin(list(UNLOCKED))].dropna(subset=["estimate", "ci_low", "ci_high"])
    if len(rows[["ranker", "depth"]].drop_duplicates()) < 2:
        raise NothingToDraw("unlock_lines: one list alone shows no unlock")
    listed = rows[rows["policy"] == "none"].groupby("scope")["depth"].max()
    rows = rows[rows["depth"] <= rows["scope"].map(listed).fillna(np.inf)]  # a pool cannot be deeper than its list
    df = ready(rows, "unlock_lines", "scope", "ranker", "depth", "measure", "estimate", "ci_low", "ci_high", "n")
    scopes, low = sorted(set(df["scope"])), max(0.0, int(df["ci_low"].min() * 10) / 10)
    measures = [m for m in UNLOCKED if (df["measure"] == m).any()]
    panels = [alt.hconcat(*[_depths(df[(df["scope"] == s) & (df["measure"] == m)],
                                    f"{UNLOCKED[m]}{f' at {budget}' if m == 'answer_in_context_defined' else ''}, {s}", low, m == measures[-1])
                            for m in measures], spacing=30) for s in scopes]
    title = words.headed(_unlocked(table),
                         f"By depth of the list, each measured at that depth · {words.counted_in(df)} · bands: 95{words.GAP}% bootstrap intervals · "
                         f"{words.tier_of(df, tier)}",
                         "At cutoff 5 the same ranking retrieved deeper is the same list: only the depth that was widened can show a difference", width=720)
    return alt.vconcat(*panels, spacing=22).properties(title=title)


def _depths(df: pd.DataFrame, name: str, low: float, last: bool) -> alt.LayerChart:
    rankers, width = in_order(df["ranker"], RANKERS), 182
    y = alt.Y("ci_low:Q", title=None, scale=alt.Scale(domain=[low, 1], nice=False, zero=False), axis=PERCENT)
    x = alt.X("depth:Q", title="passages", scale=alt.Scale(type="log", base=2, nice=False, padding=10),
              axis=alt.Axis(values=sorted(set(df["depth"])) or [5], format="d", grid=False))
    base = alt.Chart(df.sort_values(["ranker", "depth"])).encode(x=x, color=alt.Color("ranker:N", scale=scale_of("colour", rankers, RANKERS), legend=None))
    layers = [base.mark_area(opacity=0.13).encode(y=y, y2="ci_high:Q"),
              base.mark_line().encode(y="estimate:Q", strokeDash=alt.StrokeDash("ranker:N", scale=scale_of("dash", rankers, RANKERS), legend=None)),
              base.mark_rule(opacity=0.5).encode(y=y, y2="ci_high:Q"),
              base.mark_point(filled=True, size=50, opacity=1, stroke=PAPER, strokeWidth=1).encode(
                  y="estimate:Q", shape=alt.Shape("ranker:N", scale=scale_of("shape", rankers, RANKERS), legend=None))]
    if last:
        ends = df.sort_values("depth").groupby("ranker", sort=True).tail(1).sort_values("ranker", ignore_index=True)
        ends = ends.assign(place=words.nudge(list(ends["estimate"]), LETTERS / HEIGHT * (1 - low), low, 1.0),
                           colour=[RANKERS[r].colour for r in ends["ranker"]])
        layers.append(alt.Chart(ends).mark_text(align="left", dx=8, fontWeight="bold").encode(x=alt.value(width), y="place:Q", text="ranker:N",
                                                                                              color=alt.Color("colour:N", scale=None)))
    return alt.layer(*layers).properties(width=width, height=HEIGHT, title=alt.TitleParams(name, fontSize=11.5, frame="group", offset=8, color=MUTED))


def _unlocked(table: pd.DataFrame) -> str:
    """The paired gain of the second step in all gold among five passages, scope by scope."""
    rows = table[(table["half"] == "all") & (table["ranker"] == "iterative") & (table["depth"] == 5) & (table["measure"] == "all_gold")
                 & (table["against"] == "dense")]
    said = {"wins": "brings all gold into the top 5 more often", "loses": "brings all gold into the top 5 less often",
            "undecided": "brings no clear change to the top 5"}
    found = {verdict: [] for verdict in said}
    for r in rows.dropna(subset=["ci_low"]).itertuples():
        found[words.verdict(r.ci_low, r.ci_high)].append(f"{words.signed(100 * r.estimate, 0)} points {r.scope}")
    parts = [f"{said[verdict]} ({', '.join(where)})" for verdict, where in found.items() if where]
    return f"A second retrieval from the bridge {'; it '.join(parts)}" if parts else "How much deeper lists bring, measured at their own depth"


def budget_gaps(table: pd.DataFrame, tier: str | None = None, published: pd.DataFrame | None = None, dataset: str = "") -> alt.HConcatChart:
    """Gains of submod over focused and over naive against the budget, with their intervals: on answer-in-context, and on F1 where other budgets were read.

    ``table``: budget_shape of one data set; ``published``: budget, delta, marked pale on F1. The test of the inverted U makes the title. Raises NothingToDraw.
    """
    table = table.reset_index(drop=True)
    at = table["quantity"].str.extract(r"^gap_(\d+)$")[0]
    rows = table[at.notna() & table["metric"].isin(["answer_in_context_defined", "f1"])
                 & (table["treatment"] == "submod")].assign(budget=at.astype(float)).dropna(subset=["ci_low"])
    if rows.empty:
        raise NothingToDraw("budget_gaps: no gap between packers is known at any budget")
    df = ready(rows.astype({"budget": int}), "budget_gaps", "budget", "control", "metric", "delta", "ci_low", "ci_high", "n")
    swept = df.groupby("metric")["budget"].nunique()
    metrics = [m for m in ("answer_in_context_defined", "f1") if swept.get(m, 0) > 1] or list(swept.index[:1])
    panels = [_gaps(df[df["metric"] == m], m, published if m == "f1" else None, 268 if len(metrics) > 1 else 560) for m in metrics]
    where = f"{dataset} · " if dataset else ""
    pale = " · pale: document 000's F1 over focused (HotpotQA, Qwen2.5-3B)" if published is not None and "f1" in metrics else ""
    title = words.headed(_shape(table),
                         f"Gain of submod, treatment − control, by budget in tokens · {where}{words.counted(df['n'])} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% paired bootstrap intervals, filled where they exclude 0{pale}", width=720)
    return alt.hconcat(*panels, spacing=46).properties(title=title)


def _gaps(df: pd.DataFrame, metric: str, published: pd.DataFrame | None, width: int) -> alt.LayerChart:
    budgets = sorted(set(df["budget"]))
    controls = [c for c in ("focused", "naive") if c in set(df["control"])]
    shift = {c: (k - (len(controls) - 1) / 2) * 5 for k, c in enumerate(controls)}
    clear = (df["ci_low"] > 0) | (df["ci_high"] < 0)
    colour = [LOOKS[c].colour for c in df["control"]]
    df = df.assign(place=df["budget"] + df["control"].map(shift), colour=colour, fill=np.where(clear, colour, PAPER))
    x = alt.X("place:Q", title="budget", scale=alt.Scale(domain=[budgets[0] - 14, budgets[-1] + 14], nice=False),
              axis=alt.Axis(values=budgets, format="d", grid=False))
    y = alt.Y("delta:Q", title=None, axis=alt.Axis(labelExpr=SIGNED, tickCount=6, gridColor=FAINT))
    layers = [alt.Chart(pd.DataFrame([{"delta": 0.0}])).mark_rule(color=INK).encode(y=y)]
    if published is not None and len(published):
        pale = alt.Chart(published).encode(x=x, y=y)
        layers += [pale.mark_line(color="#C3C8CE", strokeDash=[3, 3]), pale.mark_point(size=60, color="#AEB4BB", filled=False)]
    for control in controls:
        base = alt.Chart(df[df["control"] == control].sort_values("budget")).encode(x=x, color=alt.Color("colour:N", scale=None))
        layers += [base.mark_line(opacity=0.6, strokeDash=LOOKS[control].dash).encode(y=y),
                   base.mark_rule(strokeWidth=1.8).encode(y="ci_low:Q", y2="ci_high:Q"),
                   base.mark_point(filled=True, size=60, opacity=1, strokeWidth=1.7,
                                   shape=LOOKS[control].shape).encode(y=y, fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None))]
    last = df.sort_values("budget").groupby("control").tail(1).sort_values("control")
    span = max(df["ci_high"].max(), 0) - min(df["ci_low"].min(), 0) or 1
    last = last.assign(label="over " + last["control"], spot=words.nudge(list(last["delta"]), 18 * span / 230))
    layers.append(alt.Chart(last).mark_text(align="left", dx=4, fontWeight="bold").encode(x=alt.value(width), y=alt.Y("spot:Q"), text="label:N",
                                                                                          color=alt.Color("colour:N", scale=None)))
    return alt.layer(*layers).properties(width=width, height=230,
                                         title=alt.TitleParams(f"difference in {words.shown(metric)}", fontSize=12, frame="group", color=MUTED, offset=8))


def _shape(table: pd.DataFrame) -> str:
    """Whether the gap over focused has its top at 160, by the contrast stated in advance, on F1 where it was read."""
    rows = table[(table["quantity"] == "bump") & (table["treatment"] == "submod") & (table["control"] == "focused")].dropna(subset=["ci_low"])
    rows = pd.concat([rows[rows["metric"] == m] for m in ("answer_in_context_defined", "f1")])
    if rows.empty:
        return "Gain of submod by budget; the shape is not tested, since 96, 160 and 224 tokens were not all packed"
    said = {"wins": "has its top at 160 tokens", "loses": "dips at 160 tokens, the opposite of an inverted U", "undecided": "shows no clear inverted U"}
    found: dict[str, list[str]] = {verdict: [] for verdict in said}
    for r in rows.itertuples():
        mean, low, high = (words.signed(100 * v, 1) for v in (r.delta, r.ci_low, r.ci_high))
        found[words.verdict(r.ci_low, r.ci_high)].append(f"{'F1' if r.metric == 'f1' else 'answers in context'} {mean} [{low}, {high}]")
    parts = [f"{said[verdict]} ({', '.join(where)} points)" for verdict, where in found.items() if where]
    return f"The gain over focused {'; it '.join(parts)}"


def order_dots(means: pd.DataFrame, order: pd.DataFrame, tier: str | None = None) -> alt.HConcatChart:
    """Mean F1 where the answer's snippet stands first, in the middle, last: a column a budget, a mark a place with its interval.

    ``means`` from ``context_order.means`` and ``order`` (the table) of one data set; the paired differences make the title. Raises NothingToDraw.
    """
    rows = means[means["measure"] == "f1"].dropna(subset=["ci_low"])
    if rows.empty:
        raise NothingToDraw("order_dots: no context was read in three orders")
    df = ready(rows, "order_dots", "place", "budget", "reader", "estimate", "ci_low", "ci_high", "n")
    df = df.assign(panel=[f"{r}, budget {b}" for r, b in zip(df["reader"], df["budget"])])
    low, high = df["ci_low"].min(), df["ci_high"].max()
    span = [max(0.0, low - 0.1 * (high - low)), high + 0.1 * (high - low)]
    panels = [_places(part, name, span) for name, part in df.groupby("panel", sort=False)]
    title = words.headed(_lost(order),
                         f"Mean F1 by the place of the answer's snippet; same snippets, same tokens · {words.counted_in(df)} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals of the means; the title rests on paired differences", width=640)
    return alt.hconcat(*panels, spacing=30).properties(title=title)


def _places(df: pd.DataFrame, name: str, span: list[float]) -> alt.LayerChart:
    x = alt.X("place:N", sort=list(PLACES), title=None, axis=alt.Axis(labelAngle=0, labelFontSize=12, labelColor=INK, grid=False))
    y = alt.Y("ci_low:Q", title=None, scale=alt.Scale(domain=span, nice=False, zero=False), axis=alt.Axis(tickCount=5, format=".2f"))
    base = alt.Chart(df.assign(numbers=[f"{v:.3f}" for v in df["estimate"]])).encode(x=x)
    colour = LOOKS["submod"].colour
    return alt.layer(base.mark_line(color=FAINT).encode(y="estimate:Q"), base.mark_rule(strokeWidth=2, color=colour).encode(y=y, y2="ci_high:Q"),
                     base.mark_point(filled=True, size=80, opacity=1, color=colour).encode(y="estimate:Q"),
                     base.mark_text(dx=8, dy=-8, align="left", fontSize=11).encode(y="estimate:Q", text="numbers:N")).properties(
        width=250, height=170, title=alt.TitleParams(name, fontSize=12, frame="group", color=MUTED, offset=8))


def _lost(order: pd.DataFrame) -> str:
    """What first − middle and last − middle say, each end for itself: lost in the middle is said only where both ends are read better."""
    rows = order[(order["metric"] == "f1") & (order["control"] == "middle")].dropna(subset=["ci_low"])
    if rows.empty:
        return "F1 by the place of the answer; no difference between places is known"
    said = {"wins": "is read better than in the middle", "loses": "is read worse than in the middle"}
    ends = []
    for end, part in rows.groupby("treatment", sort=True):
        of = "" if len(part) == 1 else f" at {'both' if len(part) == 2 else f'all {len(part)}'} budgets"
        clear = [f"{word}{f' at {k} of {len(part)} budgets' if k < len(part) else of}" for v, word in said.items() if (k := int((part["verdict"] == v).sum()))]
        same = int((part["verdict"] == "equivalent").sum())
        ends.append((end, " and ".join(clear) or (
            "is read like one in the middle, within the margin" if same == len(part) else "cannot be told from the middle")))
    if len(ends) == 2 and set(rows["verdict"]) == {"wins"}:
        return f"Lost in the middle: an answer there is read worse than at either end, in {len(rows)} of {len(rows)} comparisons"
    return f"An answer put {'; put '.join(f'{end} it {what}' if k else f'{end} {what}' for k, (end, what) in enumerate(ends))}"
