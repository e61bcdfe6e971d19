"""The interventional test drawn: what moved, what stayed within the margin, and what kind of gold the treatment adds (document 000, section 3.4)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import dissociation, wording
from lib.charts import INK, LOOKS, MUTED, PAPER, PERCENT, SPARE, ChartError, ready, row_axis

WIDTH, ROW, LABELS = 236, 26, 178  # pixels: a plot; a row; the names left of it
SIGNED = "datum.value == 0 ? '0' : replace(format(100 * datum.value, '+.0f'), '-', '−')"
NAMES = {"gold_coverage": "coverage", "all_gold_in_context": "all gold in context", "answer_in_context": "answer-in-context",
         "answer_in_context_defined": "answer-in-context", "f1": "F1", "em": "EM"}
FEWEST = 10  # passages or questions: a share of fewer is not drawn, its interval would be a pretence
TITLES = {  # {moved}: rose or fell
    "no gold": "there is no gold to cover", "no span": "there is no answer to look for", "no move": "coverage stayed within the margin",
    "coverage undecided": "whether coverage moved is undecided", "together": "answers in context {moved} with coverage",
    "against both": "coverage and answers in context {moved}, F1 went the other way",
    "opposed": "coverage {moved}, answers in context went the other way", "against the diagnostic": "coverage {moved} and F1 moved, answers in context stayed",
    "dissociation": "coverage {moved}, answers in context and F1 stayed",
    "dissociation, F1 undecided": "coverage {moved}, answers in context stayed, F1 is undecided",
    "inconclusive": "coverage {moved}, whether answers in context moved is undecided"}
WHY = {"answer_ranked_first": ("answer's passage", "ranked first"), "answer_first_pick": ("answer's passage", "{control} picks it first"),
       "added_bridging": ("gold {treatment} adds", "without the answer"), "dropped_answer": ("gold {treatment} drops", "with the answer")}
BASE = {"added_bridging": "open_bridging", "dropped_answer": "control_answer"}


def dissociation_figure(table: pd.DataFrame, mechanism: pd.DataFrame, reader: str, tier: str | None = None,
                        diagnostic: str = "answer_in_context_defined") -> alt.VConcatChart:
    """Coverage, answer-in-context and F1 moved or not, a panel a data set, over why: where the answer's passage is ranked and what gold is added.

    ``table`` (intervention) and ``mechanism`` (all question types): one pack, budget, half and pair. Verdicts are written on the marks. Rows
    without an interval, and shares of fewer than ten, are not drawn. Raises ChartError.
    """
    chosen = (table["reader"] == "none") & table["metric"].isin(["gold_coverage", diagnostic]) | (table["reader"] == reader) & (table["metric"] == "f1")
    df = ready(table[chosen].dropna(subset=["delta", "ci_low", "eq_low"]), "dissociation", "dataset", "treatment", "control", "metric", "delta", "ci_low",
               "ci_high", "eq_low", "eq_high", "margin", "verdict", "n")
    if df.duplicated(["dataset", "metric"]).any():
        raise ChartError("dissociation: a metric comes several times in one data set; keep one pack, budget, half, precision and pair")
    margin, sets = float(df["margin"].iloc[0]), sorted(set(df["dataset"]))
    reach = 1.15 * max(df["ci_high"].max(), -df["ci_low"].min(), margin)
    forests = [_forest(df[df["dataset"] == d], d, diagnostic, margin, reach, d == sets[-1]) for d in sets]
    why = {d: rows for d in sets if len(rows := _shares(mechanism[mechanism["dataset"] == d]))}
    dots = [_dots(rows, d, d == list(why)[-1]) for d, rows in why.items()]
    pair = f"{df['treatment'].iloc[0]} − {df['control'].iloc[0]}"
    read = f"F1 of {reader} · " if "f1" in set(df["metric"]) else ""
    notes = [f"{pair} · {words.counted(df['n'])} · {read}{words.tier_of(df, tier)} · paired bootstrap",
             f"Above: thin bars 95{words.GAP}%, thick bars 90{words.GAP}% intervals; equivalent: the thick bar within the shade, ±{100 * margin:g} points",
             f"Below: shares with 95{words.GAP}% intervals; diamonds: the same among all gold that could be added, or dropped" if dots else ""]
    title = words.headed(_finding(dissociation.pattern(table[table["dataset"].isin(sets)], reader, diagnostic)), *notes)
    parts = [alt.vconcat(*forests, spacing=16), *([alt.vconcat(*dots, spacing=16)] if dots else [])]
    return alt.vconcat(*parts, spacing=34).properties(title=title)


def _finding(found: pd.DataFrame) -> str:
    said = [TITLES[r.pattern].format(moved="rose" if r.coverage == "moved up" else "fell") for r in found.itertuples()]
    groups = {text: [wording.named(d) for d in dict.fromkeys(rows["dataset"])] for text, rows in found.assign(text=said).groupby("text", sort=False)}
    text = "; ".join(f"on {words.listed(sets)}, {text}" for text, sets in groups.items())
    return text[0].upper() + text[1:]


def _forest(df: pd.DataFrame, dataset: str, diagnostic: str, margin: float, reach: float, last: bool) -> alt.LayerChart:
    """One data set's rows: the margin's band, both intervals, the mark, its verdict with the numbers."""
    order = [m for m in ("gold_coverage", diagnostic, "f1") if m in set(df["metric"])]
    df = df.assign(place=df["metric"].map(order.index)).sort_values("place", ignore_index=True)
    colour = [_colour(r) for r in df.itertuples()]
    df = df.assign(row=[NAMES.get(m, m) for m in df["metric"]], colour=colour, count=[f"n = {n:,}" for n in df["n"]],
                   fill=[PAPER if v == "inconclusive" else c for c, v in zip(colour, df["verdict"])],
                   numbers=[f"{_points(d)} [{_points(a)}, {_points(b)}]" for d, a, b in zip(df["delta"], df["ci_low"], df["ci_high"])])
    x = alt.X("ci_low:Q", title="treatment − control, points" if last else None, axis=alt.Axis(tickCount=5, labelExpr=SIGNED, labels=last),
              scale=alt.Scale(domain=[-reach, reach], nice=False))
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=list(df["row"]), title=None, axis=_labels(list(df["row"]))), color=alt.Color("colour:N", scale=None))
    band = alt.Chart(pd.DataFrame([{"ci_low": -margin, "high": margin}])).mark_rect(color=INK, opacity=0.09).encode(x=x, x2="high:Q")
    zero = alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q")
    mark = base.mark_point(filled=True, size=80, opacity=1, strokeWidth=2).encode(
        x="delta:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None))
    wide = base.mark_rule(strokeWidth=1.5).encode(x=x, x2="ci_high:Q")
    narrow = base.mark_rule(strokeWidth=4.5).encode(x="eq_low:Q", x2="eq_high:Q")
    count = base.mark_text(align="left", dx=214).encode(x=alt.value(WIDTH), text="count:N", color=alt.value(MUTED))
    return alt.layer(band, zero, wide, narrow, mark, *_texts(base, "verdict", "numbers"), count).properties(
        width=WIDTH, height=ROW * len(df), title=_heading(wording.named(dataset)))


def _colour(row) -> str:
    """The policy's that has more of it, where it moved; ink where it stayed within the margin; else grey."""
    if row.verdict.startswith("moved"):
        return LOOKS.get(row.treatment if row.delta > 0 else row.control, SPARE).colour
    return INK if row.verdict in dissociation.SAME else MUTED


def _texts(base: alt.Chart, bold: str, plain: str) -> list[alt.Chart]:
    return [base.mark_text(align="left", dx=12, fontWeight="bold").encode(x=alt.value(WIDTH), text=f"{bold}:N"),
            base.mark_text(align="left", dx=104, color=INK).encode(x=alt.value(WIDTH), text=f"{plain}:N", color=alt.value(INK))]


def _labels(names: list[str]) -> alt.Axis:
    axis = row_axis(names)
    axis.minExtent = LABELS  # panels of one figure share their left edge
    return axis


def _heading(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=12, frame="group", anchor="start", offset=7, color=INK)


def _points(value: float) -> str:
    return words.signed(100 * value, 1)


def _shares(table: pd.DataFrame) -> pd.DataFrame:
    """One data set's shares that can be drawn (all question types), each with the share it is to be held against; no row where none can."""
    known = table[(table["question_type"] == "all") & (table["n"] >= FEWEST)].dropna(subset=["estimate", "ci_low"])
    if known["quantity"].duplicated().any():
        raise ChartError("dissociation: a quantity of the mechanism comes several times; keep one pack, budget, half and pair")
    value = known.set_index("quantity")
    shown = [q for q in WHY if q in value.index]
    rows = value.loc[shown].reset_index()
    names = [", ".join(WHY[r.quantity]).format(treatment=r.treatment, control=r.control) for r in rows.itertuples()]
    base = [float(value["estimate"].get(BASE.get(q, ""), float("nan"))) for q in shown]
    among = [f"of {r.n:,} {'passages' if r.quantity in BASE else 'questions'}" for r in rows.itertuples()]
    return rows.assign(row=names, base=base, among=among, share=[words.percent(v) for v in rows["estimate"]])


def _dots(rows: pd.DataFrame, dataset: str, last: bool) -> alt.LayerChart:
    """One data set's shares as dots: the answer's passage, the gold added and dropped, each beside its base."""
    df = ready(rows, "dissociation", "row", "estimate", "ci_low", "ci_high")
    axis = PERCENT if last else alt.Axis(labels=False, tickCount=6)
    x = alt.X("ci_low:Q", title="share" if last else None, axis=axis, scale=alt.Scale(domain=[0, 1], nice=False))
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=list(df["row"]), title=None, axis=_labels(list(df["row"]))))
    bar = base.mark_rule(strokeWidth=2, color=INK).encode(x=x, x2="ci_high:Q")
    dot = base.mark_point(filled=True, size=70, opacity=1, color=INK).encode(x="estimate:Q")
    against = base.transform_filter("isValid(datum.base)").mark_point(
        shape="diamond", filled=True, size=75, opacity=1, fill=PAPER, stroke=MUTED, strokeWidth=1.6).encode(x="base:Q")
    return alt.layer(bar, dot, against, *_texts(base, "share", "among")).properties(
        width=WIDTH, height=ROW * len(df), title=_heading(f"Why: {wording.named(dataset)}"))
