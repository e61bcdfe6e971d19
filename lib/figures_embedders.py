"""A row a ranker: what it retrieves, what the packers' contrast is on its lists, and what it changes in that contrast (SPEC 2, 9)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, RANKERS, SPARE, ChartError, in_order, ready, row_axis
from lib.embedders import ALL, KEPT, NONE, dependence

WIDTH, ROW = 172, 21  # pixels: a panel, a row
SHARE = alt.Axis(labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'", tickCount=4, grid=True)
POINTS = alt.Axis(labelExpr="datum.value == 0 ? '0' : replace(format(100 * datum.value, '+.0f'), '-', '−')", tickCount=4, grid=True)


def ranker_forest(table: pd.DataFrame, treatment: str = "submod", control: str = "focused", margin: float | None = None,
                  tier: str | None = None) -> alt.VConcatChart:
    """Three columns a data set (all gold in the top 5; treatment - control in answer-in-context; that minus the main ranker's), a row a ranker.

    ``table``: the embedders table. A contrast's mark is filled where its interval excludes 0. ``margin`` (a share) shades what counts as
    equivalent. Raises ChartError; NothingToDraw where no ranker's lists were packed with both policies.
    """
    table = table.reset_index(drop=True)
    pair = (table["treatment"] == treatment) & (table["control"] == control) & (table["measure"] == KEPT)
    shown = table[(pair | ((table["measure"] == "all_gold_at_5") & (table["minus"] == NONE))) & table["ci_low"].notna()]
    shown = shown[shown["dataset"].isin(shown.loc[pair.reindex(shown.index), "dataset"])]
    df = ready(shown, "ranker_forest", "dataset", "scope", "ranker", "minus", "estimate", "ci_low", "ci_high", "n")
    scopes = sorted(set(df["scope"]))
    if len(scopes) > 1:
        raise ChartError(f"ranker_forest: one scope at a time, found {scopes}; filter the table first")
    order = in_order(df["ranker"], RANKERS)
    df = df.assign(colour=[RANKERS.get(r, SPARE).colour for r in df["ranker"]], column=_columns(df))
    df["fill"] = [c if kind == "level" or low > 0 or high < 0 else PAPER for c, kind, low, high in zip(df["colour"], df["column"], df["ci_low"], df["ci_high"])]
    sets = sorted(set(df["dataset"]), key=lambda d: (d != ALL, d))
    heads = {"level": "all gold in the top 5", "contrast": f"{treatment} − {control}, points"}
    heads |= {"change": f"… minus {_reference(df)}'s, points"} if _reference(df) else {}
    domains = {kind: _domain(df[df["column"] == kind], kind, margin) for kind in heads}
    names = {d: f"all {len(sets) - 1} sets" if d == ALL else d for d in sets} if len(sets) > 1 else dict.fromkeys(sets, "")
    rows = [_row(df[df["dataset"] == d], names[d], order, heads if d == sets[0] else dict.fromkeys(heads, ""), domains, margin, d == sets[-1]) for d in sets]
    band = [f"Shaded: within ±{100 * margin:g}{words.GAP}points"] if margin is not None else []
    counted = words.counted(df.loc[df["column"] == "contrast", "n"])
    what = f"Answer in the context, by the ranker whose top 5 was packed · {counted} · {words.tier_of(df, tier)}"
    title = words.headed(_finding(table, treatment, control), what, f"Bars: 95{words.GAP}% bootstrap intervals over questions, a difference is filled where its bar excludes 0", *band, width=720)
    return alt.vconcat(*rows, spacing=16).properties(title=title)


def _columns(df: pd.DataFrame) -> list[str]:
    return ["change" if m != NONE else "level" if c == NONE else "contrast" for m, c in zip(df["minus"], df["control"])]


def _domain(df: pd.DataFrame, kind: str, margin: float | None) -> list[float]:
    if kind == "level":
        return [int(10 * df["ci_low"].min()) / 10, min(1.0, int(10 * df["ci_high"].max() + 1) / 10)] if len(df) else [0.0, 1.0]
    low, high = (df["ci_low"].min(), df["ci_high"].max()) if len(df) else (0.0, 0.0)
    low, high = min(low, -(margin or 0.01)), max(high, margin or 0.01)
    return [low - 0.06 * (high - low), high + 0.06 * (high - low)]


def _row(df: pd.DataFrame, name: str, order: list[str], heads: dict[str, str], domains: dict, margin: float | None, last: bool) -> alt.HConcatChart:
    panels = [_panel(df[df["column"] == kind], kind, order, head, domains[kind], margin, k == 0, last) for k, (kind, head) in enumerate(heads.items())]
    told = {"title": alt.TitleParams(name, fontSize=12, frame="group", offset=5)} if name else {}
    return alt.hconcat(*panels, spacing=36, bounds="flush").properties(**told)


def _panel(df: pd.DataFrame, kind: str, order: list[str], head: str, domain: list[float], margin: float | None, first: bool, last: bool) -> alt.LayerChart:
    axis = (SHARE if kind == "level" else POINTS).copy()
    axis.labels = last
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    x = alt.X("ci_low:Q", title=None, scale=scale, axis=axis)
    y = alt.Y("ranker:N", sort=order, title=None, axis=row_axis(order, first), scale=alt.Scale(domain=order))
    base = alt.Chart(df).encode(y=y, color=alt.Color("colour:N", scale=None))
    behind = [] if kind == "level" else [alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x=alt.X("zero:Q", scale=scale))]
    if margin is not None and kind != "level":
        band = alt.Chart(pd.DataFrame([{"low": -margin, "high": margin}]))
        behind.insert(0, band.mark_rect(color=INK, opacity=0.06).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"))
    filled = {"fill": alt.Fill("fill:N", scale=None), "stroke": alt.Stroke("colour:N", scale=None)}
    marks = [base.mark_rule(strokeWidth=2).encode(x=x, x2="ci_high:Q"),
             base.mark_point(filled=True, size=62, opacity=1, strokeWidth=1.8).encode(x="estimate:Q", **filled)]
    title = {"title": alt.TitleParams(head, fontSize=11.5, fontWeight="normal", color=MUTED, frame="group", offset=7)} if head else {}
    return alt.layer(*behind, *marks).properties(width=WIDTH, height=ROW * len(order), **title)


def _finding(table: pd.DataFrame, treatment: str, control: str) -> str:
    """Over all questions where sets are pooled, else of the one set: whether any ranker changes the contrast."""
    found = dependence(table)
    found = found[(found["treatment"] == treatment) & (found["control"] == control)]
    if found.empty:
        return f"{treatment} against {control} was packed from one ranker's lists alone"
    row = found[found["dataset"] == ALL].iloc[0] if (found["dataset"] == ALL).any() else found.iloc[0]
    spread = f"{words.signed(100 * row['lowest'], 1)} to {words.signed(100 * row['highest'], 1)} points".replace(" ", words.GAP)
    ahead, behind, n = row["ahead"], row["behind"], row["rankers"]
    first = f"{treatment} against {control}: ahead with {ahead}, behind with {behind} of {n} rankers"
    if n in (ahead, behind):
        first = f"{treatment} keeps {'more' if ahead else 'fewer'} answers than {control} with every ranker"
    elif ahead == behind == 0:
        first = f"{treatment} cannot be told from {control} with any ranker"
    then = {"depends": f"with {row['widest']} it is another than with {_reference(table)}", "same": "the ranker changes nothing beyond the margin",
            "undecided": "whether the ranker changes that stays open"}[row["answer"]]
    return f"{first} ({spread}); {then}"


def _reference(df: pd.DataFrame) -> str:
    """The ranker that the others are compared with."""
    return next((m for m in df["minus"] if m != NONE), "")
