"""Is answer-in-context recall in disguise? The R2 ladder and the correlations, drawn (document 000, sections 3.2 and 3.3 (a))."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, ChartError, NothingToDraw, ready, row_axis

STRONG, WEAK, NULL = "#0B3C6F", "#A9B6C6", "#CF5A12"
KINDS = {"all": "all, as published", "defined": "questions with a span"}
SCORES = ("f1", "em")
WIDTH, ROW = 340, 34  # pixels: the plot between names and numbers; a row


def ladder(table: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """How much of the variance of a score recall explains, and how much more answer-in-context adds: a row a data set and score.

    ``table``: validity rows of quantities r2_recall, r2_both and delta_r2 (estimate, ci_low, ci_high, p_value, null_high, n) and dataset,
    outcome, rows, pooling, reader, which name the rows where they differ. The mark after recall's bar: what chance adds in 19 of 20
    permutations. Rows that lack a value are left out; raises ChartError where none is left.
    """
    df = ready(table[table["quantity"].isin(["r2_recall", "r2_both", "delta_r2"])], "ladder", "dataset", "outcome", "quantity", "n")
    df = df.assign(score=df["outcome"].map(words.shown))
    keys = [c for c in ("dataset", "rows", "score", "pooling", "reader", "precision") if c in df]
    if df.duplicated([*keys, "quantity"]).any():
        raise ChartError("ladder: a quantity has several rows; keep one tier")
    parts = [c for c in keys if df[c].nunique() > 1] or ["score"]
    df = df.assign(rows=df["rows"].map(lambda kind: KINDS.get(kind, kind)) if "rows" in df else "").sort_values(
        [c for c in keys if c != "score"], kind="stable").sort_values("outcome", key=lambda o: o != "f1", kind="stable")
    df = df.assign(row=df[parts].astype(str).agg(", ".join, axis=1))
    wide = df.pivot(index="row", columns="quantity")
    order = sorted(dict.fromkeys(df["row"]), key=lambda r: list(dict.fromkeys(df["dataset"])).index(df.loc[df["row"] == r, "dataset"].iloc[0]))
    made = pd.DataFrame([_rung(row, wide.loc[row]) for row in order])
    made = made.dropna(subset=["recall", "both", "both_low", "chance_end", "step_low"]).reset_index(drop=True)
    if made.empty:
        raise NothingToDraw("ladder: no row has an R2 with and without answer-in-context, an interval and a null")
    title = words.headed(_added(made, df), words.counted_in(df) + f" · {words.tier_of(df, tier)}",
                         f"Black: 95{words.GAP}% bootstrap interval of the whole. At the right: both steps, the second with its interval",
                         f"Orange: what the answer_in_context of other questions adds at most in 95{words.GAP}% of permutations", width=720)
    return alt.layer(*_rungs(made)).properties(width=WIDTH, height=ROW * len(made) + 4, title=title)


def _rung(name: str, row: pd.Series) -> dict:
    def of(column: str, quantity: str) -> float:
        return float(row.get((column, quantity), np.nan))

    recall, step = of("estimate", "r2_recall"), of("estimate", "delta_r2")
    p = of("p_value", "delta_r2")
    return {"row": name, "recall": recall, "both": of("estimate", "r2_both"), "both_low": of("ci_low", "r2_both"), "both_high": of("ci_high", "r2_both"),
            "chance_end": recall + of("null_high", "delta_r2"), "step": step, "step_low": of("ci_low", "delta_r2"), "above": step > of("null_high", "delta_r2"),
            "numbers": f"{recall:.3f} + {step:.3f}  [{of('ci_low', 'delta_r2'):.3f}, {of('ci_high', 'delta_r2'):.3f}]",
            "p": f"p {'= ' + format(p, '.3f') if p >= 0.001 else '< 0.001'}"}


def _added(made: pd.DataFrame, df: pd.DataFrame) -> str:
    score = words.shown(df["outcome"].iloc[0]) if df["outcome"].nunique() == 1 else "answer quality"
    above, whole = int(made["above"].sum()), len(made)
    if above == 0:
        return f"answer_in_context adds no more to recall_at_5 in explaining {score} than chance would"
    steps = [f"{100 * v:.0f}" for v in (made.loc[made["above"], "step"].min(), made.loc[made["above"], "step"].max())]
    points = steps[0] if steps[0] == steps[1] else f"{steps[0]} to {steps[1]}"
    where = "" if above == whole else f" in {above} of {whole} rows"
    first = [f"{100 * v:.0f}" for v in (made["recall"].min(), made["recall"].max())]
    explained = f"{first[0]}{words.GAP}%" if first[0] == first[1] else f"{first[0]} to {first[1]}{words.GAP}%"
    return f"recall_at_5 explains {explained} of the variance of {score}; answer_in_context adds {points} points{where}, more than chance does"


def _rungs(df: pd.DataFrame) -> list[alt.Chart]:
    rows = list(df["row"])
    x = alt.X("zero:Q", title="share of the variance explained (R²)", axis=alt.Axis(tickCount=6, format=".1f"),
              scale=alt.Scale(domain=[0, min(1.0, 1.08 * df["both_high"].max())], nice=False))
    y = alt.Y("row:N", sort=rows, title=None, axis=row_axis(rows), scale=alt.Scale(paddingInner=0.5, paddingOuter=0.3))
    base = alt.Chart(df.assign(zero=0.0)).encode(y=y)
    middle = (df["recall"] + df["both"]).iloc[0] / 2 / min(1.0, 1.08 * df["both_high"].max()) * (WIDTH)
    names = (("recall_at_5", 28), ("+ answer_in_context", max(middle, 124)))  # side by side even where recall's bar is short
    named = [alt.Chart(pd.DataFrame([{"name": name}])).mark_text(color=MUTED, fontSize=11).encode(
        x=alt.value(round(place)), y=alt.value(-9), text="name:N") for name, place in names]
    return [base.mark_bar(color=WEAK).encode(x=x, x2="recall:Q"), base.mark_bar(color=STRONG).encode(x="recall:Q", x2="both:Q"),
            base.mark_bar(color=NULL, height=6).encode(x="recall:Q", x2="chance_end:Q"),
            base.mark_rule(color=PAPER, strokeWidth=5).encode(x="both_low:Q", x2="both_high:Q"),
            base.mark_rule(color=INK, strokeWidth=2).encode(x="both_low:Q", x2="both_high:Q"), *named,
            base.mark_text(align="left", dx=14, dy=-7, fontSize=11.5).encode(x=alt.value(WIDTH), text="numbers:N"),
            base.mark_text(align="left", dx=14, dy=8, fontSize=11, color=MUTED).encode(x=alt.value(WIDTH), text="p:N")]


def correlation_rows(table: pd.DataFrame, tier: str | None = None) -> alt.LayerChart | alt.HConcatChart:
    """Correlation of each diagnostic with F1 (filled) and EM (hollow), the strongest on top; a panel a data set.

    ``table``: correlations of one reader and pooling: predictor, minus, outcome, estimate, ci_low, ci_high, n, dataset. Its differences
    (rows with a ``minus``) decide the title. Raises ChartError.
    """
    df = ready(table, "correlation_rows", "dataset", "predictor", "minus", "outcome", "estimate", "ci_low", "ci_high", "n")
    if df.duplicated(["dataset", "predictor", "minus", "outcome"]).any():
        raise ChartError("correlation_rows: a diagnostic has several rows; keep one reader, precision, pooling and tier")
    shown, sets = df[df["minus"] == "none"], list(dict.fromkeys(df["dataset"]))
    if shown.empty:
        raise NothingToDraw("correlation_rows: there is no correlation to draw, only differences; keep the rows whose minus is none")
    score = "f1" if (shown["outcome"] == "f1").any() else shown["outcome"].iloc[0]
    order = list(shown[shown["outcome"] == score].groupby("predictor")["estimate"].mean().sort_values(ascending=False, kind="stable").index)
    shown = shown[shown["predictor"].isin(order)].assign(numbers=lambda d: [words.signed(v, 2) for v in d["estimate"]])
    low, high = min(0.0, shown["ci_low"].min()), shown["ci_high"].max()
    span = [low - 0.02 * (low < 0), min(1.0, high + 0.04)]
    width = 440 if len(sets) == 1 else (470 - 24 * (len(sets) - 1)) // len(sets)
    panels = [_dots(shown[shown["dataset"] == name], order, span, width, name if len(sets) > 1 else "", k == 0) for k, name in enumerate(sets)]
    chart = panels[0] if len(panels) == 1 else alt.hconcat(*panels, spacing=24)
    span_only = "_defined: questions with a span only. " if "answer_in_context_defined" in order else ""
    title = words.headed(_strongest(df, sets, score), f"{words.counted_in(shown)} · {words.tier_of(df, tier)}",
                         f"Pearson correlation with F1 (filled) and EM (hollow). Bars: 95{words.GAP}% bootstrap intervals over questions",
                         f"{span_only}In the title: the paired difference of two correlations", width=720)
    return chart.properties(title=title)


def _strongest(df: pd.DataFrame, sets: list[str], score: str) -> str:
    """answer_in_context against the best of the others, by their paired difference."""
    found = {name: _lead(df[(df["dataset"] == name) & (df["outcome"] == score)]) for name in sets}
    found = {name: lead for name, lead in found.items() if lead}
    if len(found) < 2:
        return next((said.format(words.shown(score)) for _, said in found.values()), f"How each diagnostic goes with {words.shown(score)}")
    parts = {"wins": "ahead of every other diagnostic", "undecided": "not told from the best other", "loses": "behind the best other"}
    where = {v: [name for name, (verdict, _) in found.items() if verdict == v] for v in parts}
    said = [f"{parts[v]} on {f'all {len(found)} sets' if len(names) == len(found) else words.listed(names)}" for v, names in where.items() if names]
    return f"answer_in_context, as a predictor of {words.shown(score)}, is {'; '.join(said)}"


def _lead(part: pd.DataFrame) -> tuple[str, str] | None:
    """(verdict, sentence) on the closest of the others: behind one of them, ahead of all, or not told from one."""
    versus = part[(part["minus"] != "none") & (part["predictor"] == "answer_in_context")].sort_values(["estimate", "minus"])
    if versus.empty:
        return None
    for verdict, rows in (("loses", versus[versus["ci_high"] < 0]), ("undecided", versus[versus["ci_low"] <= 0]), ("wins", versus)):
        if len(rows):
            row, sign = rows.iloc[0], -1 if verdict == "loses" else 1
            low, high = sorted([sign * row["ci_low"], sign * row["ci_high"]])
            by = f"{words.signed(sign * row['estimate'], 2)} [{words.signed(low, 2)}, {words.signed(high, 2)}]"
            return verdict, {"wins": f"answer_in_context goes with {{}} more closely than any other measure on the same rows, ahead of {row['minus']} by {by}",
                             "loses": f"answer_in_context does not go with {{}} best: {row['minus']} is ahead by {by}",
                             "undecided": f"answer_in_context and {row['minus']} cannot be told apart as predictors of {{}}: {by}"}[verdict]
    return None


def _dots(df: pd.DataFrame, order: list[str], span: list[float], width: int, name: str, first: bool) -> alt.LayerChart:
    y = alt.Y("predictor:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=row_axis(order, first))
    x = alt.X("ci_low:Q", title=None, axis=alt.Axis(tickCount=4, format=".1f"), scale=alt.Scale(domain=span, nice=False))
    layers = [alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color="#B9BEC4").encode(x=alt.X("zero:Q"))]
    for score, fill in (("f1", STRONG), ("em", PAPER)):
        base = alt.Chart(df[df["outcome"] == score]).encode(y=y, yOffset=alt.YOffset("outcome:N", sort=list(SCORES), scale=alt.Scale(domain=list(SCORES))))
        layers += [base.mark_rule(strokeWidth=2, strokeCap="round", color=STRONG).encode(x=x, x2="ci_high:Q"),
                   base.mark_point(filled=True, size=75, opacity=1, fill=fill, stroke=STRONG, strokeWidth=1.8).encode(x="estimate:Q")]
        if score == "f1":
            layers.append(base.mark_text(dy=-11, fontSize=11).encode(x="estimate:Q", text="numbers:N"))
    head = alt.TitleParams(name, fontSize=12, frame="group", offset=10)
    return alt.layer(*layers).properties(width=width, height=(ROW + 8) * len(order), **({"title": head} if name else {}))
