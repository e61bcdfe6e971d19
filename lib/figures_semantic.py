"""Support without a span, drawn: how the scores lie, how they err against people, and whether answers rest on the context (SPEC 7)."""
from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, ChartError, NothingToDraw, ready, row_axis
from lib.scored_contexts import SPAN, SPREAD
from lib.scorers import family

STRONG, WARM = "#0B3C6F", "#CF5A12"
GROUPS = {"answer in it": STRONG, "answer elsewhere": WARM, "never verbatim": "#6B7280", "free-form": "#6B7280", "yes/no": "#6B7280"}
WIDTH, ROW = 380, 19  # pixels: the plot between names and numbers; a row
EXACT = f"Bars: exact 95{words.GAP}% intervals, cases counted by question"
BOOTSTRAP = f"Bars: 95{words.GAP}% bootstrap intervals over questions"
NAMED = {SPAN: "span (answer_in_context)"}


def shown_as(scorer: str, among: Sequence[str] = ()) -> str:
    """A scorer's name on figures: without the usual number format, and without its form where no other form of it is among the shown.

    >>> shown_as("smollm2-135m fp32 log-probability, lift"), shown_as("m similarity, a", ["m similarity, b", "m similarity, a"])
    ('smollm2-135m log-probability', 'm similarity, a')
    """
    alone = sum(family(other) == family(scorer) for other in among) < 2
    return NAMED.get(scorer, (family(scorer) if alone else scorer).replace(" fp32 ", " "))


def support_scores(table: pd.DataFrame, variants: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """Where each scorer's scores lie in each group of contexts, a panel a scorer, with its threshold.

    ``table``: one data set of ``scored_contexts.spread``; ``variants``: the variants table, whose kappa on half 1 decides the title. Raises ChartError.
    """
    df = ready(table, "support_scores", "scorer", "group", "q10", "q25", "q50", "q75", "q90", "threshold", "n")
    if "dataset" in df and df["dataset"].nunique() > 1:
        raise ChartError("support_scores: keep one data set")
    agreed = _agreed(variants, df)
    order = [*agreed, *sorted(set(df["scorer"]) - set(agreed))]
    rows = [g for g in SPREAD if g in set(df["group"])]
    df = df.assign(colour=df["group"].map(GROUPS), told=[f"{words.percent(s)} · {n:,}" for s, n in zip(df["share_supported"], df["n"])])
    parts = [df[df["scorer"] == name] for name in order]
    panels = [_panel(part, [g for g in rows if g in set(part["group"])], name, agreed.get(name), k == 0) for k, (name, part) in enumerate(zip(order, parts))]
    where = f"{df['dataset'].iloc[0]} · " if "dataset" in df else ""
    counted = f"{where}{words.counted(df.groupby('scorer')['n'].sum(), 'contexts')} a scorer"
    title = words.headed(_finding(agreed, df), f"{counted} · {words.tier_of(variants, tier)}",
                         f"Point: median; thick: middle half; thin: middle 80{words.GAP}%. Dashed: supported from here on, chosen on half 0. "
                         f"At the right: share called supported, contexts. Kappa: on half 1, with 95{words.GAP}% interval", width=700)
    return alt.vconcat(*panels, spacing=16).properties(title=title)


def _agreed(variants: pd.DataFrame, df: pd.DataFrame) -> dict[str, pd.Series]:
    """kappa on half 1 by scorer, best first."""
    rows = variants[(variants["quantity"] == "kappa") & (variants["half"] == "1") & (variants["rows"] == "verbatim") & variants["scorer"].isin(df["scorer"])]
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
    near = [shown_as(n, list(agreed)) for n, row in agreed.items() if n != best["scorer"] and row["ci_high"] >= best["ci_low"]]
    first = f"{shown_as(best['scorer'], list(agreed))} agrees with the span variant best (kappa {best['estimate']:.2f}{', not clear of ' + _few(near) if near else ''})"
    free = df[(df["group"] == "free-form") & (df["scorer"] == best["scorer"])]
    return first + (f"; of the free-form contexts it calls {words.percent(free['share_supported'].iloc[0])} supported" if len(free) else "")


def _few(names: list[str]) -> str:
    return words.listed(names) if len(names) < 2 else f"{len(names)} others"


def _panel(df: pd.DataFrame, rows: list[str], name: str, kappa: pd.Series | None, first: bool) -> alt.LayerChart:
    low, high = df["q10"].min(), df["q90"].max()
    pad = 0.06 * (high - low) or 0.05
    cut = df["threshold"].iloc[0]
    span = [min(low, cut) - pad, max(high, cut) + pad]
    y = alt.Y("group:N", sort=rows, title=None, axis=row_axis(rows), scale=alt.Scale(domain=rows))
    base = alt.Chart(df).encode(y=y, color=alt.Color("colour:N", scale=None))
    x = alt.X("q10:Q", title=None, scale=alt.Scale(domain=span, nice=False, zero=False), axis=alt.Axis(tickCount=5))
    layers = [alt.Chart(pd.DataFrame([{"cut": cut}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="cut:Q"),
              base.mark_rule(strokeWidth=1.5).encode(x=x, x2="q90:Q"), base.mark_rule(strokeWidth=7).encode(x=alt.X("q25:Q"), x2="q75:Q"),
              base.mark_point(filled=True, fill=PAPER, size=26, opacity=1, strokeWidth=1.5).encode(x=alt.X("q50:Q"), stroke=alt.Stroke("colour:N", scale=None)),
              base.mark_text(align="left", dx=14, color=INK).encode(x=alt.value(WIDTH), text="told:N", color=alt.value(INK))]
    if first:
        side = -6 if (cut - span[0]) > 0.72 * (span[1] - span[0]) else 6
        layers.append(alt.Chart(pd.DataFrame([{"cut": cut, "said": "supported from here"}])).mark_text(
            align="right" if side < 0 else "left", dx=side, color=MUTED, fontSize=11).encode(x="cut:Q", y=alt.value(-8), text="said:N"))
    name = name.replace(" fp32 ", " ")
    told = f"{name} · kappa {kappa['estimate']:.2f} [{kappa['ci_low']:.2f}, {kappa['ci_high']:.2f}]" if kappa is not None else name
    head = alt.TitleParams(told, fontSize=12, frame="group", offset=14 if first else 6)
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows), title=head)


def hand_checked_errors(variants: pd.DataFrame, tier: str | None = None) -> alt.HConcatChart:
    """How each scorer, and the span variant, errs on contexts that were judged by reading: supported wrongly, and denied wrongly; exact intervals.

    ``variants``: rows of one data set, rows ``hand-checked``. Raises ChartError.
    """
    df = variants[(variants["rows"] == "hand-checked") & variants["quantity"].isin(["wrongly_supported", "wrongly_denied"])]
    df = ready(df, "hand_checked_errors", "scorer", "quantity", "estimate", "ci_low", "ci_high", "n")
    wide = df.pivot(index="scorer", columns="quantity", values="estimate").dropna()
    if wide.shape != (len(wide), 2) or wide.empty:
        raise NothingToDraw("hand_checked_errors: a scorer needs both a share wrongly supported and a share wrongly denied")
    order = list(wide.mean(axis=1).sort_values(kind="stable").index)
    df = df[df["scorer"].isin(order)]
    df = df.assign(name=[shown_as(s, order) for s in df["scorer"]], colour=np.where(df["scorer"] == SPAN, WARM, STRONG), place=df["estimate"].clip(0.1, 0.9),
                   told=[f"{round(e * n)} of {n}" for e, n in zip(df["estimate"], df["n"])])
    names = [shown_as(s, order) for s in order]
    heads = {"wrongly_supported": "called supported, judged not", "wrongly_denied": "not called supported, judged so"}
    panels = [_errors(df[df["quantity"] == q], names, head, k == 0) for k, (q, head) in enumerate(heads.items())]
    counted = words.counted(df["n"], "contexts")
    title = words.headed(_least(wide, df, order), f"{counted} judged so · {words.tier_of(df, tier)}", EXACT, width=700)
    return alt.hconcat(*panels, spacing=20).properties(title=title)


def _errors(df: pd.DataFrame, names: list[str], head: str, first: bool) -> alt.LayerChart:
    base = alt.Chart(df).encode(y=alt.Y("name:N", sort=names, title=None, axis=row_axis(names, first)), color=alt.Color("colour:N", scale=None))
    x = alt.X("estimate:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'"))
    layers = [base.mark_rule(strokeWidth=2).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q"), base.mark_point(filled=True, size=85, opacity=1).encode(x=x),
              base.mark_text(dy=-11, fontSize=11).encode(x="place:Q", text="told:N")]
    return alt.layer(*layers).properties(width=215, height=34 * len(names), title=alt.TitleParams(head, fontSize=12, frame="group", offset=8))


def _least(wide: pd.DataFrame, df: pd.DataFrame, order: list[str]) -> str:
    """Both errors of the span variant and of the scorer with the fewest: so few cases rank nobody."""
    told = df.set_index(["scorer", "quantity"])["told"]
    best = next((s for s in order if s != SPAN), SPAN)
    both = {s: (told[s, "wrongly_supported"], told[s, "wrongly_denied"]) for s in {best, SPAN} if s in wide.index}
    if SPAN not in both or best == SPAN:
        return f"Against a careful reading {shown_as(best, order)} calls {both[best][0]} supported wrongly and misses {both[best][1]}"
    return (f"Against a careful reading the span variant calls {both[SPAN][0]} supported wrongly and misses {both[SPAN][1]}; "
            f"{shown_as(best, order)} {both[best][0]} and {both[best][1]}")


ARMS = {  # name, fill, stroke
    "with": ("whole context", STRONG, STRONG), "other": ("other snippets out", PAPER, STRONG), "without": ("answer out", WARM, WARM),
    "closed": ("closed book", PAPER, MUTED)}


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
    first = df.assign(policy=df["policy"].where(df["policy"] != "pooled", ""))  # all packers before each of them
    order = list(dict.fromkeys(first.sort_values([*(p for p in parts if p != "policy"), "policy"])["row"]))
    more = table[table["quantity"] == "f1_falls_more"]
    counted = words.counted_in(df[df["arm"] == "with"])
    title = words.headed(_rest(df, _fall(table), more, order), f"Contexts that hold the answer · {counted} · {words.tier_of(table, tier)}", BOOTSTRAP, width=700)
    return alt.layer(*_four(df, order)).properties(width=470, height=64 * len(order), title=title)


def _fall(table: pd.DataFrame) -> tuple[float, float]:
    """The interval of F1 with the whole context minus F1 without the answer's snippets, of the pooled rows where there are some; undecided without one."""
    rows = table[table["quantity"] == "f1_falls"].dropna(subset=["ci_low", "ci_high"])
    rows = rows[rows["policy"] == "pooled"] if (rows["policy"] == "pooled").any() else rows
    return (rows["ci_low"].iloc[0], rows["ci_high"].iloc[0]) if len(rows) else (-1.0, 1.0)


def _rest(df: pd.DataFrame, falls: tuple[float, float], more: pd.DataFrame, order: list[str]) -> str:
    """The finding: ``falls`` is the interval of whole minus without, all packers together; ``more`` of that fall beyond the control's."""
    main = df[df["row"] == order[0]].set_index("arm")["estimate"]
    sides = f"{main['with']:.2f} with, {main['without']:.2f} without"
    said = {"wins": f"F1 falls from {main['with']:.2f} to {main['without']:.2f} without the answer's snippets",
            "loses": f"F1 rises without the answer's snippets ({sides})", "undecided": f"Whether F1 falls without the answer's snippets is undecided ({sides})"}
    told = said[words.verdict(*falls)]
    if "other" not in main:
        return told
    found = [words.verdict(low, high) for low, high in zip(more["ci_low"].dropna(), more["ci_high"].dropna())]
    less = found.count("loses")  # removing others hurts more than removing the answer: an answer that does not rest on its snippets
    decided = {frozenset({"wins"}): ": in every row more than the control", frozenset({"undecided"}): ": in no row clearly more than the control"}
    told_of = f": in {less} of {len(found)} rows less than the control" if less else decided.get(frozenset(found), "")
    return f"{told}; without as many others it is {main['other']:.2f}{told_of}"


def _four(df: pd.DataFrame, order: list[str]) -> list[alt.Chart]:
    """The arms of a row one below the other, number (and in the first row name) behind each interval."""
    end = min(1.0, df["ci_high"].max() + 0.02) * 1.28  # room for the names
    x = alt.X("estimate:Q", title=None, axis=alt.Axis(tickCount=6, format=".1f"), scale=alt.Scale(domain=[0, end], nice=False))
    df = df.assign(told=[f"{e:.2f}" + (f"  {ARMS[arm][0]}" if row == order[0] else "") for e, arm, row in zip(df["estimate"], df["arm"], df["row"])])
    layers = []
    for k, arm in enumerate(a for a in ARMS if a in set(df["arm"])):
        down = 13 * (k - 1.5)
        base = alt.Chart(df[df["arm"] == arm]).encode(y=alt.Y("row:N", sort=order, title=None, axis=row_axis(order, len(order) > 1)))
        layers += [base.mark_rule(strokeWidth=2, color=ARMS[arm][2], yOffset=down).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q"),
                   base.mark_point(filled=True, size=75, opacity=1, strokeWidth=2, fill=ARMS[arm][1], stroke=ARMS[arm][2], yOffset=down).encode(x=x),
                   base.mark_text(align="left", dx=8, fontSize=11, color=ARMS[arm][2], yOffset=down).encode(x="ci_high:Q", text="told:N")]
    return layers
