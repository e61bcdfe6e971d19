"""The forest: paired contrasts, treatment - control, with their intervals around zero (SPEC 8)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, SPARE, ChartError, ready, row_axis

WIDTH, ROW = 400, 27  # pixels: the plot between row names and numbers; a row
SIGNED = "datum.value == 0 ? '0' : replace(format(datum.value, '+.2f'), '-', '−')"
PANEL = ("dataset", "reader", "precision", "budget", "pack_id")


def forest(contrasts: pd.DataFrame, margin: float | None = None, tier: str | None = None, finding: str | None = None, holm: bool = False) -> alt.LayerChart:
    """Treatment - control with its interval around zero, a row a contrast in the order given, each with its numbers.

    ``contrasts``: treatment, control, metric, delta, ci_low, ci_high, n (and where they differ dataset, reader, precision, budget,
    which then name the rows; clusters). A mark takes the winner's colour and is hollow where undecided. ``margin`` (same units as delta)
    shades what counts as equivalent. One metric at a time. A column ``label`` names the rows instead of the pair; ``finding`` replaces the title; with
    ``holm`` a mark is filled where ``p_holm`` is below 0.05, else where its interval excludes 0. Raises ChartError.
    """
    df = ready(contrasts, "forest", "treatment", "control", "metric", "delta", "ci_low", "ci_high", "n")
    metric = _only(df, "metric", "forest")
    df = df.assign(row=df["label"] if "label" in df else _row_names(df), verdict=[words.verdict(a, b, margin) for a, b in zip(df["ci_low"], df["ci_high"])])
    if holm:
        df["verdict"] = df["verdict"].where(df["p_holm"].astype(float) < 0.05, "undecided")
    _no_twins(df, "row", "forest")
    winner = {"wins": df["treatment"], "loses": df["control"]}
    colours = [LOOKS.get(winner[v][i], SPARE).colour if v in winner else None for i, v in enumerate(df["verdict"])]
    df = df.assign(colour=[c or MUTED for c in colours], fill=[c or PAPER for c in colours], numbers=[
        f"{words.signed(d)}  [{words.signed(a)}, {words.signed(b)}]" for d, a, b in zip(df["delta"], df["ci_low"], df["ci_high"])])
    reach = 1.12 * max(df["ci_high"].max(), -df["ci_low"].min(), margin or 0)
    one = df.drop_duplicates(["treatment", "control"]) if "label" in df else []
    pair = f"{df['treatment'].iloc[0]} − {df['control'].iloc[0]}" if len(one) == 1 else "treatment − control"
    x = alt.X("ci_low:Q", title=f"difference in {words.shown(metric)}, {pair}", axis=alt.Axis(tickCount=5, labelExpr=SIGNED),
              scale=alt.Scale(domain=[-reach, reach], nice=False))
    layers = [*_margin(margin, x), alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q"),
              *_marks(df, x, "delta", _rows_axis(df["row"])), _numbers(df, "row"), *_sides(df, reach)]
    band = f" · shaded: within ±{margin:g}" if margin is not None else ""
    filled = "filled where p after Holm is below 0.05" if holm else "filled where they exclude 0"
    title = words.headed(finding or _finding(df, words.shown(metric), margin), f"{words.counted_in(df)} · {words.tier_of(df, tier)}{band}",
                         f"Bars: 95{words.GAP}% paired bootstrap intervals over questions; {filled}", width=680)
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(df) + 8, title=title)


def _only(df: pd.DataFrame, column: str, figure: str) -> str:
    found = sorted(set(df[column]))
    if len(found) > 1:
        raise ChartError(f"{figure}: one {column} at a time, found {found}; filter the table first")
    return found[0]


def _no_twins(df: pd.DataFrame, column: str, figure: str) -> None:
    twice = df.loc[df[column].duplicated(), column]
    if len(twice):
        raise ChartError(f"{figure}: several rows are called {twice.iloc[0]!r}; filter to one data set, pool, half, reader and budget")


def _row_names(df: pd.DataFrame) -> list[str]:
    pair = df["treatment"] + " − " + df["control"]
    parts = [pair] if pair.nunique() > 1 or len(df) == 1 else []
    parts += [df[c].astype(str) + (" tokens" if c == "budget" else "") for c in PANEL if c in df and df[c].nunique() > 1]
    return [", ".join(values) for values in zip(*parts)] if parts else list(pair)


def _finding(df: pd.DataFrame, metric: str, margin: float | None) -> str:
    one = df[["treatment", "control"]].drop_duplicates()
    if df["treatment"].nunique() == 1 and len(one) == len(df):
        said = {"wins": "beats {}", "loses": "loses to {}", "equivalent": f"is equivalent to {{}} within ±{margin}",
                "undecided": "cannot be told from {}"}
        parts = [said[v].format(words.listed(list(df.loc[df["verdict"] == v, "control"]))) for v in said if (df["verdict"] == v).any()]
        return f"On {metric}, {df['treatment'].iloc[0]} {', and '.join(parts) if len(parts) < 3 else '; it '.join(parts)}"
    who = f"{one['treatment'].iloc[0]} against {one['control'].iloc[0]}" if len(one) == 1 else "Treatment against control"
    said = {"wins": "better", "loses": "worse", "equivalent": "equivalent", "undecided": "undecided"}
    found = [(word, df.loc[df["verdict"] == v, "row"]) for v, word in said.items() if (df["verdict"] == v).any()]
    counts = [f"{word} in {f'all {len(df)}' if len(rows) == len(df) else len(rows)}" for word, rows in found]
    names = [f" ({rows.iloc[0]})" if len(rows) == 1 else "" for _, rows in found]
    return f"{who} on {metric}: {', '.join(count + name for count, name in zip(counts, names))}"


def _rows_axis(names: pd.Series) -> alt.Y:
    return alt.Y("row:N", sort=list(names), title=None, axis=row_axis(list(names)))


def _margin(margin: float | None, x: alt.X) -> list[alt.Chart]:
    if margin is None:
        return []
    base = alt.Chart(pd.DataFrame([{"ci_low": -margin, "high": margin}]))
    return [base.mark_rect(color=INK, opacity=0.06).encode(x=x, x2="high:Q")]


def _marks(df: pd.DataFrame, x: alt.X, value: str, y: alt.Y) -> list[alt.Chart]:
    base = alt.Chart(df).encode(y=y)
    colour = {"color": alt.Color("colour:N", scale=None)}
    return [base.mark_rule(strokeWidth=2, strokeCap="round").encode(x=x, x2="ci_high:Q", **colour),
            base.mark_point(filled=True, size=85, opacity=1, strokeWidth=2).encode(
                x=f"{value}:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None))]


def _numbers(df: pd.DataFrame, row: str) -> alt.Chart:
    return alt.Chart(df).mark_text(align="left", dx=14, fontSize=11.5).encode(
        x=alt.value(WIDTH), y=alt.Y(f"{row}:N", sort=list(df[row])), text="numbers:N")


def _sides(df: pd.DataFrame, reach: float) -> list[alt.Chart]:
    """Above the plot, which side speaks for whom."""
    treatment = df["treatment"].iloc[0] if df["treatment"].nunique() == 1 else "treatment"
    control = df["control"].iloc[0] if df["control"].nunique() == 1 else "control"
    base = alt.Chart(pd.DataFrame([{"left": f"← {control} better", "right": f"{treatment} better →"}]))
    return [base.mark_text(align="left", color=MUTED, fontSize=11).encode(x=alt.value(0), y=alt.value(-9), text="left:N"),
            base.mark_text(align="right", color=MUTED, fontSize=11).encode(x=alt.value(WIDTH), y=alt.value(-9), text="right:N")]
