"""Support without a span, drawn: how the scores lie, how they err against people, and whether answers rest on the context (SPEC 7)."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PAPER, ChartError, ready, row_axis
from lib.scored_contexts import SPAN, SPREAD

STRONG, WARM = "#0B3C6F", "#CF5A12"
GROUPS = {"answer in it": STRONG, "answer elsewhere": WARM, "never verbatim": "#6B7280", "free-form": "#6B7280", "yes/no": "#6B7280"}
WIDTH, ROW = 380, 19  # pixels: the plot between names and numbers; a row
EXACT = f"Bars: exact 95{words.GAP}% intervals, cases counted by question"
BOOTSTRAP = f"Bars: 95{words.GAP}% bootstrap intervals over questions"
NAMED = {SPAN: "span (answer_in_context)"}


def support_scores(table: pd.DataFrame, variants: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """Where each scorer's scores lie in each group of contexts, a panel a scorer, with its threshold.

    ``table``: one data set of ``scored_contexts.spread``; ``variants``: the variants table, whose kappa on half 1 decides the title. Raises ChartError.
    """
    df = ready(table, "support_scores", "scorer", "group", "q10", "q25", "q50", "q75", "q90", "threshold", "n")
    if "dataset" in df and df["dataset"].nunique() > 1:
        raise ChartError("support_scores: keep one data set")
    agreed = _agreed(variants, df)
    order = [s for s in agreed if s in set(df["scorer"])] + sorted(set(df["scorer"]) - set(agreed))
    rows = [g for g in SPREAD if g in set(df["group"])]
    df = df.assign(colour=df["group"].map(GROUPS), told=[f"{words.percent(s)} · {n:,}" for s, n in zip(df["share_supported"], df["n"])])
    panels = [_panel(df[df["scorer"] == name], rows, name, agreed.get(name), k == 0) for k, name in enumerate(order)]
    where = f"{df['dataset'].iloc[0]} · " if "dataset" in df else ""
    title = words.headed(_finding(agreed, df), f"{where}{words.counted(df.groupby('scorer')['n'].sum(), 'contexts')} a scorer · {words.tier_of(variants, tier)}",
                         f"Point: median; thick: middle half; thin: middle 80{words.GAP}%. Dashed: supported from here on, chosen on half 0. "
                         f"At the right: share called supported, contexts. Kappa: on half 1, with 95{words.GAP}% interval", width=700)
    return alt.vconcat(*panels, spacing=16).properties(title=title)


def _agreed(variants: pd.DataFrame, df: pd.DataFrame) -> dict[str, pd.Series]:
    """kappa on half 1 by scorer, best first."""
    rows = variants[(variants["quantity"] == "kappa") & (variants["half"] == "1") & (variants["rows"] == "verbatim")]
    if "dataset" in df and "dataset" in rows:
        rows = rows[rows["dataset"] == df["dataset"].iloc[0]]
    rows = rows.dropna(subset=["estimate", "ci_low", "ci_high"]).sort_values(["estimate", "scorer"], ascending=[False, True])
    return {row["scorer"]: row for _, row in rows.iterrows()}


def _finding(agreed: dict[str, pd.Series], df: pd.DataFrame) -> str:
    if not agreed:
        return "No scorer can be compared with the span variant here"
    best = next(iter(agreed.values()))
    if best["ci_low"] <= 0:
        return "No scorer agrees with the span variant beyond chance"
    near = [n for n, row in agreed.items() if n != best["scorer"] and row["ci_high"] >= best["ci_low"]]
    first = f"{best['scorer']} agrees with the span variant best (kappa {best['estimate']:.2f}{', not clear of ' + _few(near) if near else ''})"
    free = df[(df["group"] == "free-form") & (df["scorer"] == best["scorer"])]
    return first + (f"; of the free-form contexts it calls {words.percent(free['share_supported'].iloc[0])} supported" if len(free) else "")


def _few(names: list[str]) -> str:
    return words.listed(names) if len(names) < 2 else f"{len(names)} others"


def _panel(df: pd.DataFrame, rows: list[str], name: str, kappa: pd.Series | None, first: bool) -> alt.LayerChart:
    low, high = df["q10"].min(), df["q90"].max()
    pad = 0.06 * (high - low) or 0.05
    cut = df["threshold"].iloc[0]
    span = [min(low, cut) - pad, max(high, cut) + pad]
    base = alt.Chart(df).encode(y=alt.Y("group:N", sort=rows, title=None, axis=row_axis(rows), scale=alt.Scale(domain=rows)), color=alt.Color("colour:N", scale=None))
    x = alt.X("q10:Q", title=None, scale=alt.Scale(domain=span, nice=False, zero=False), axis=alt.Axis(tickCount=5))
    layers = [alt.Chart(pd.DataFrame([{"cut": cut}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="cut:Q"),
              base.mark_rule(strokeWidth=1.5).encode(x=x, x2="q90:Q"), base.mark_rule(strokeWidth=7).encode(x=alt.X("q25:Q"), x2="q75:Q"),
              base.mark_point(filled=True, fill=PAPER, size=26, opacity=1, strokeWidth=1.5).encode(x=alt.X("q50:Q"), stroke=alt.Stroke("colour:N", scale=None)),
              base.mark_text(align="left", dx=14, color=INK).encode(x=alt.value(WIDTH), text="told:N", color=alt.value(INK))]
    if first:
        side = -6 if (cut - span[0]) > 0.72 * (span[1] - span[0]) else 6
        layers.append(alt.Chart(pd.DataFrame([{"cut": cut, "said": "supported from here"}])).mark_text(
            align="right" if side < 0 else "left", dx=side, color=MUTED, fontSize=11).encode(x="cut:Q", y=alt.value(-8), text="said:N"))
    told = f"{name} · kappa {kappa['estimate']:.2f} [{kappa['ci_low']:.2f}, {kappa['ci_high']:.2f}]" if kappa is not None else name
    head = alt.TitleParams(told, fontSize=12, frame="group", offset=14 if first else 6)
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows), title=head)


def hand_checked_errors(variants: pd.DataFrame, tier: str | None = None) -> alt.HConcatChart:
    """How each scorer, and the span variant, errs on contexts that a person judged: supported wrongly, and denied wrongly; exact intervals.

    ``variants``: rows of one data set, rows ``hand-checked``. Raises ChartError.
    """
    df = variants[(variants["rows"] == "hand-checked") & variants["quantity"].isin(["wrongly_supported", "wrongly_denied"])]
    df = ready(df, "hand_checked_errors", "scorer", "quantity", "estimate", "ci_low", "ci_high", "n")
    wide = df.pivot(index="scorer", columns="quantity", values="estimate").dropna()
    if wide.shape != (len(wide), 2) or wide.empty:
        raise ChartError("hand_checked_errors: a scorer needs both a share wrongly supported and a share wrongly denied")
    order = list(wide.mean(axis=1).sort_values(kind="stable").index)
    df = df[df["scorer"].isin(order)].assign(name=lambda t: t["scorer"].map(lambda s: NAMED.get(s, s)), colour=lambda t: np.where(t["scorer"] == SPAN, WARM, STRONG),
                                             told=lambda t: [f"{round(e * n)} of {n}" for e, n in zip(t["estimate"], t["n"])])
    names = [NAMED.get(s, s) for s in order]
    heads = {"wrongly_supported": "called supported, judged not", "wrongly_denied": "not called supported, judged so"}
    panels = [_errors(df[df["quantity"] == q], names, head, k == 0) for k, (q, head) in enumerate(heads.items())]
    title = words.headed(_least(wide, df, order), f"{words.counted(df.groupby('quantity')['n'].max(), 'contexts')} judged so · {words.tier_of(df, tier)}", EXACT, width=700)
    return alt.hconcat(*panels, spacing=20).properties(title=title)


def _errors(df: pd.DataFrame, names: list[str], head: str, first: bool) -> alt.LayerChart:
    base = alt.Chart(df).encode(y=alt.Y("name:N", sort=names, title=None, axis=row_axis(names, first)), color=alt.Color("colour:N", scale=None))
    x = alt.X("estimate:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'"))
    layers = [base.mark_rule(strokeWidth=2).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q"), base.mark_point(filled=True, size=85, opacity=1).encode(x=x),
              base.mark_text(dy=-11, fontSize=11).encode(x="estimate:Q", text="told:N")]
    return alt.layer(*layers).properties(width=215, height=34 * len(names), title=alt.TitleParams(head, fontSize=12, frame="group", offset=8))


def _least(wide: pd.DataFrame, df: pd.DataFrame, order: list[str]) -> str:
    best, told = order[0], df.set_index(["scorer", "quantity"])["told"]
    both = f"{told[best, 'wrongly_supported']} wrongly supported, {told[best, 'wrongly_denied']} missed"
    if best == SPAN or SPAN not in wide.index:
        return f"Against a person's judgement {NAMED.get(best, best)} errs least: {both}"
    return f"Against a person's judgement {best} errs least: {both}; the span {told[SPAN, 'wrongly_supported']} and {told[SPAN, 'wrongly_denied']}"


ARMS = {"with": ("whole context", STRONG, STRONG), "other": ("other snippets out", PAPER, STRONG), "without": ("answer out", WARM, WARM), "closed": ("closed book", PAPER, MUTED)}


def faithful(table: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """F1 with the whole context, without other snippets, without the answer's, and closed book: a row a policy, reader or data set.

    ``table``: the faithfulness table; the rows are named by what differs among dataset, reader and policy. Raises ChartError.
    """
    df = ready(table[table["quantity"].isin([f"f1_{arm}" for arm in ARMS])], "faithful", "policy", "quantity", "n")
    df = ready(df, "faithful", "estimate", "ci_low", "ci_high").assign(arm=lambda t: t["quantity"].str.removeprefix("f1_"))
    parts = [c for c in ("dataset", "reader", "precision", "policy") if c in df and df[c].nunique() > 1]
    df = df.assign(row=df[parts].agg(" · ".join, axis=1).str.replace("pooled", "all packers") if parts else "all packers")
    if df.duplicated(["row", "arm"]).any():
        raise ChartError("faithful: an arm has several rows; keep one tier")
    order = list(dict.fromkeys(df.sort_values([*(p for p in parts if p != "policy"), "policy"], key=lambda c: c.where(c != "pooled", "") if c.name == "policy" else c)["row"]))
    df = df.assign(fill=df["arm"].map(lambda a: ARMS[a][1]), stroke=df["arm"].map(lambda a: ARMS[a][2]))
    more = table[table["quantity"] == "f1_falls_more"]
    title = words.headed(_rest(df, more, order), f"Contexts that hold the answer · {words.counted_in(df[df['arm'] == 'with'])} · {words.tier_of(table, tier)}", BOOTSTRAP, width=700)
    return alt.layer(*_four(df, order)).properties(width=470, height=44 * len(order) + 6, title=title)


def _rest(df: pd.DataFrame, more: pd.DataFrame, order: list[str]) -> str:
    main = df[df["row"] == order[0]].set_index("arm")["estimate"]
    told = f"F1 falls from {main['with']:.2f} to {main['without']:.2f} without the answer's snippets"
    if main["without"] >= main["with"]:
        told = f"F1 does not fall without the answer's snippets ({main['with']:.2f} before, {main['without']:.2f} after)"
    if "other" not in main:
        return told
    found = {words.verdict(low, high) for low, high in zip(more["ci_low"].dropna(), more["ci_high"].dropna())}
    decided = {frozenset({"wins"}): ": in every row more than the control", frozenset({"undecided"}): ": in no row clearly more than the control"}
    return f"{told}, to {main['other']:.2f} without others{decided.get(frozenset(found), '')}"


def _four(df: pd.DataFrame, order: list[str]) -> list[alt.Chart]:
    end = min(1.0, df["ci_high"].max() + 0.06)
    x = alt.X("estimate:Q", title=None, axis=alt.Axis(tickCount=6, format=".1f"), scale=alt.Scale(domain=[0, end], nice=False))
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=order, title=None, axis=row_axis(order, len(order) > 1)), x=x)
    span = df.groupby("row")["estimate"].agg(["min", "max"]).reset_index()
    layers = [alt.Chart(span).mark_rule(color=FAINT, strokeWidth=7).encode(y=alt.Y("row:N", sort=order), x="min:Q", x2="max:Q"),
              base.mark_rule(strokeWidth=1.8, opacity=0.75).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q", color=alt.Color("stroke:N", scale=None)),
              base.mark_point(filled=True, size=95, opacity=1, strokeWidth=2).encode(fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("stroke:N", scale=None))]
    df = df.sort_values(["row", "estimate"])
    gap = 28 * end / 470  # numbers of close marks stand side by side
    df = df.assign(place=[p for _, part in df.groupby("row", sort=False) for p in words.nudge(list(part["estimate"]), gap, low=0)])
    layers.append(alt.Chart(df).mark_text(dy=-13, fontSize=11).encode(y=alt.Y("row:N", sort=order), x="place:Q", text=alt.Text("estimate:Q", format=".2f")))
    top = df[df["row"] == order[0]].sort_values("estimate")
    places = words.nudge(list(top["estimate"]), 92 * end / 470, low=40 * end / 470, high=end - 30 * end / 470)
    top = top.assign(place=places, name=[ARMS[a][0] for a in top["arm"]])
    return [*layers, alt.Chart(top).mark_text(color=MUTED, fontSize=11).encode(x="place:Q", y=alt.value(-12), text="name:N")]
