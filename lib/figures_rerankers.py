"""Rerankers beside each other: what each adds to its own first stage, with its interval, and what it costs a question (SPEC 11)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PAPER, ChartError, ready, row_axis
from lib.rerankers_compare import AGAIN, CROSS, KINDS, LANGUAGE, NO_MODEL, told
from lib.viability_verdict import LEVEL

WIDTH, ROW = 200, 26  # pixels: the panel of differences, a row
COLOURS = {NO_MODEL: "#82888F", CROSS: "#0B3C6F", LANGUAGE: "#CF5A12", AGAIN: "#2A9D8F"}
SHAPES = {NO_MODEL: "square", CROSS: "circle", LANGUAGE: "diamond", AGAIN: "triangle-up"}
NEEDED = ("dataset", "ranker", "kind", "delta", "ci_low", "ci_high", "n", "depth", "cutoff")


def rerankers_beside(table: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """A row a list: nDCG minus that of its first stage on the same questions, filled where the interval excludes 0 and p after Holm is below 0.05; questions and cost in words beside it.

    ``table``: rerankers, of one data set. Raises ChartError; NothingToDraw where no list has an interval.
    """
    shown = told(table[table["measure"] == "ndcg"].dropna(subset=["delta", "ci_low", "ci_high"]))
    df = ready(shown, "rerankers_beside", *NEEDED)
    if df["dataset"].nunique() > 1 or df["ranker"].duplicated().any():
        raise ChartError("rerankers_beside: several data sets or tiers; filter to one")
    said = ["undecided" if p >= LEVEL else words.verdict(low, high) for low, high, p in zip(df["ci_low"], df["ci_high"], df["p_holm"])]
    df = df.assign(
        said=said,
        name=df["ranker"],
        colour=df["kind"].map(COLOURS),
        shape=df["kind"].map(SHAPES),
        asked=[f"{n:,}" for n in df["n"]],
        cost=[cost_of(r) for r in df.itertuples()],
        net=[f"{words.signed(d)} [{words.signed(a)}, {words.signed(b)}]" for d, a, b in zip(df["delta"], df["ci_low"], df["ci_high"])],
    )
    df["fill"] = [PAPER if v == "undecided" else c for v, c in zip(said, df["colour"])]
    rows, span = list(df["name"]), [min(df["ci_low"].min(), -0.01), max(df["ci_high"].max(), 0.01)]
    span = [v + sign * 0.06 * (span[1] - span[0]) for v, sign in zip(span, (-1, 1))]
    axis = alt.Axis(tickCount=4, labelExpr="datum.value == 0 ? '0' : replace(format(datum.value, '+~g'), '-', '−')")
    x = alt.X("ci_low:Q", title="nDCG minus that of its first stage, same questions", axis=axis, scale=alt.Scale(domain=span, nice=False))
    base = alt.Chart(df).encode(
        y=alt.Y("name:N", sort=rows, title=None, axis=row_axis(rows), scale=alt.Scale(domain=rows)), color=alt.Color("colour:N", scale=None)
    )
    marks = [
        *_bands(df, rows),
        alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q"),
        base.mark_rule(strokeWidth=2).encode(x=x, x2="ci_high:Q"),
        base.mark_point(filled=True, size=80, opacity=1, strokeWidth=1.8).encode(
            x="delta:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None), shape=alt.Shape("shape:N", scale=None)
        ),
    ]
    title = words.headed(
        finding(df),
        f"{words.counted_in(df)}, each list against its own first stage · nDCG@{df['cutoff'].iloc[0]} · {words.tier_of(table, tier)}",
        f"Bars: 95{words.GAP}% bootstrap intervals, filled where they exclude 0, also after Holm's correction",
        f"{kinds_said(df)}",
        width=740,
    )
    return alt.layer(*marks, *_columns(df, rows)).properties(width=WIDTH, height=ROW * len(rows), title=title)


def _bands(df: pd.DataFrame, rows: list[str]) -> list[alt.Chart]:
    """A shade behind the second retrievals, which are no rerankers."""
    inside = df[df["kind"] == AGAIN]
    return (
        [alt.Chart(inside[["name"]]).mark_rect(color=FAINT, opacity=0.45, height=ROW).encode(y=alt.Y("name:N", sort=rows, title=None))] if len(inside) else []
    )


def _columns(df: pd.DataFrame, rows: list[str]) -> list[alt.Chart]:
    """Difference, questions and cost as text to the right of the panel, under their heads."""
    places = {"net": (14, "difference"), "asked": (166, "n"), "cost": (206, "cost a question")}
    base = alt.Chart(df).encode(y=alt.Y("name:N", sort=rows, title=None))
    cells = [base.mark_text(align="left", dx=dx, color=INK, fontSize=11).encode(x=alt.value(WIDTH), text=f"{column}:N") for column, (dx, _) in places.items()]
    heads = [
        alt.Chart(pd.DataFrame([{"head": head}]))
        .mark_text(align="left", dx=dx, color=MUTED, fontSize=11)
        .encode(x=alt.value(WIDTH), y=alt.value(-8), text="head:N")
        for dx, head in places.values()
    ]
    return [*cells, *heads]


def cost_of(row) -> str:
    """What a list costs a question, in words.

    >>> from types import SimpleNamespace as Row
    >>> cost_of(Row(kind="no model", calls=0.0, tokens=0.0)), cost_of(Row(kind="cross-encoder", calls=50.0, tokens=6123.4))
    ('no model', '50 calls, 6,100 tokens')
    """
    if row.kind == NO_MODEL:
        return "no model"
    if row.kind == AGAIN:
        return "a second search"
    return "not counted" if pd.isna(row.calls) else f"{row.calls:,.0f} calls, {float(f'{row.tokens:.2g}'):,.0f} tokens"


def kinds_said(df: pd.DataFrame) -> str:
    """The kinds as a line of the subtitle, with the names of their marks."""
    marks = {
        NO_MODEL: "squares: fusion, no model",
        CROSS: "circles: cross-encoder",
        LANGUAGE: "diamonds: language model",
        AGAIN: "triangles, shaded: a second retrieval, no reranker",
    }
    return " · ".join(marks[k] for k in KINDS if (df["kind"] == k).any()).capitalize()


def finding(df: pd.DataFrame) -> str:
    """The title: which pure rerankers gain, lose or stay undecided; second retrievals apart.

    >>> rows = pd.DataFrame({"name": ["a", "b"], "kind": ["cross-encoder", "no model"], "said": ["wins", "undecided"]})
    >>> finding(rows)
    'a gains over its first stage; b is undecided'
    """
    pure = df[df["kind"] != AGAIN]
    verbs = {
        "wins": ("gains over its first stage", "gain over their first stage"),
        "loses": ("loses to its first stage", "lose to their first stage"),
        "undecided": ("is undecided", "are undecided"),
    }
    said = []
    for verdict, (one, many) in verbs.items():
        names = list(pure.loc[pure["said"] == verdict, "name"])
        if names:
            called = f"{len(names)} of {len(pure)} rerankers" if len(names) > 3 else words.listed(names)
            said.append(f"{called} {one if len(names) == 1 else many}")
    return "; ".join(said) or "Only second retrievals were measured: no reranker"
