"""Absolute scores and the form of answers, a row a rung of the reader ladder (SPEC 9; document 000, Tables 6, 8 and 9)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, LOOKS, MUTED, PAPER, SPARE, ChartError, NothingToDraw, in_order, ready, row_axis
from lib.ladder_rungs import billions

WIDTH, ROW, STEP, KEY = 480, 74, 13, 520  # pixels: a plot; a rung; from one policy to the next within it; the line of names
FLOOR = "without the answer"  # mean F1 of contexts that do not hold it: what a rung gets by other means
FORMS = ("answer_precision", "answer_recall")
PANELS = (("words", "tokens"), ("abstains", "abstains"), ("cut_off", "cut off"))
AT = ("reader", "precision", "policy", "quantity", "estimate", "ci_low", "ci_high", "n")


def rung_scores(table: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """F1 of each policy on each rung, closed book and the floor (F1 where the context lacks the answer) below them; rungs in the order given.

    ``table``: rows of `lib.ladder` of one data set. Those of kind score are drawn; those of kind scale and contrast, where there are any, make the title,
    which is silent on differences that were not tested by question. Closed book is over all questions, the floor over the span questions that a packer
    lost: the key says so. Raises ChartError.
    """
    df = ready(table, "rung_scores", *AT)
    kinds = df["kind"] if "kind" in df else pd.Series("score", index=df.index)
    tested, df = df[kinds.isin(["scale", "contrast"])], df[kinds == "score"]
    if df.empty:
        raise NothingToDraw("rung_scores: the table has no row of kind score")
    df = df[(df["quantity"] == "f1") & (df["policy"] != "pooled") | (df["quantity"] == "f1_without")]
    df = df.assign(rung=df["reader"] + " " + df["precision"], name=df["policy"].where(df["quantity"] == "f1", FLOOR))
    packers = in_order(set(df["name"]) - {"closed_book", FLOOR})
    if not packers:
        raise NothingToDraw("rung_scores: no packer was read")
    _one_each(df, "rung_scores", ["rung", "name"])
    order, names = list(dict.fromkeys(df["rung"])), [*packers, *(n for n in ("closed_book", FLOOR) if n in set(df["name"]))]
    df = df.assign(colour=[LOOKS.get(n, SPARE).colour for n in df["name"]], shape=[LOOKS.get(n, SPARE).shape if n != FLOOR else "circle" for n in df["name"]],
                   fill=[LOOKS.get(n, SPARE).colour if n != FLOOR else PAPER for n in df["name"]], size=[150 if n == "closed_book" else 62 for n in df["name"]],
                   place=[STEP * (names.index(n) - (len(names) - 1) / 2) for n in df["name"]])
    high = min(1.0, df["ci_high"].max() + 0.04)
    layers, x = [], alt.X("ci_low:Q", title="F1", scale=alt.Scale(domain=[0, high], nice=False), axis=alt.Axis(tickCount=6))
    for place, part in df.groupby("place"):
        base = alt.Chart(part).encode(y=_rows(order))
        bar = base.mark_rule(strokeWidth=1.8, strokeCap="round", yOffset=place).encode(
            x=x, x2="ci_high:Q", color=alt.Color("colour:N", scale=None))
        point = base.mark_point(filled=True, opacity=1, strokeWidth=1.6, yOffset=place).encode(x="estimate:Q", **_mark())
        layers += [bar, point]
    chart = alt.layer(*layers).properties(width=WIDTH, height=ROW * len(order))
    packed = df[df["name"].isin(packers)]
    means = table[(table["policy"] == "pooled") & (table["quantity"] == "f1") & (table["kind"] == "score")] if len(tested) else packed[:0]
    title = words.headed(_levels(packed, tested, means), f"Mean F1 over questions · {words.counted_in(packed)} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals of the means; the title rests on differences by question",
                         "Without the answer: what a packer lost of the span questions, so other questions than closed book" if FLOOR in names else "",
                         width=740)
    return alt.vconcat(*_keys(df, names), chart, spacing=8).properties(title=title)


def answer_forms(table: pd.DataFrame, tier: str | None = None) -> alt.HConcatChart:
    """The form of each rung's answers over all packers: token precision (filled) and recall (hollow), length, and the shares that abstain or are cut off.

    ``table``: rows of `lib.ladder` of kind score and policy pooled, one data set. A panel without a known value is left out. Raises ChartError.
    """
    df = ready(table, "answer_forms", *AT)
    df = df[(df["policy"] == "pooled")].assign(rung=lambda t: t["reader"] + " " + t["precision"])
    _one_each(df, "answer_forms", ["rung", "quantity"])
    known = df[df["quantity"].isin([*FORMS, *(q for q, _ in PANELS)])]
    if known.empty:
        raise NothingToDraw("answer_forms: no answer's form is known")
    order = list(dict.fromkeys(known["rung"]))
    panels = [p for p in [_both(known, order)] if p is not None]
    single = [(known[known["quantity"] == q], name, q == "words") for q, name in PANELS if (known["quantity"] == q).any()]
    panels += [_one(part, order, name, not panels and k == 0, length) for k, (part, name, length) in enumerate(single)]
    title = words.headed(form_finding(known), f"Mean over the answers of all packers · {words.counted_in(known)} · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals over questions · cut off: used up its tokens", width=740)
    return alt.hconcat(*panels, spacing=16).properties(title=title)


def form_finding(df: pd.DataFrame) -> str:
    """Whether longer answers cost precision: which rung says most, and how far its precision and recall lie apart."""
    wide = df.pivot(index="rung", columns="quantity", values="estimate")
    if not {"words", "answer_precision", "answer_recall"} <= set(wide):
        names = words.listed([name for q, name in PANELS if q in wide] or ["nothing"])
        return f"Of the form of these answers {names} is known: their scores were kept, not their texts"
    low, high = wide["words"].idxmin(), wide["words"].idxmax()
    gap = (wide["answer_recall"] - wide["answer_precision"]).round(2)
    spread = ("recall and precision part by no more than 5 points" + (" on any rung" if len(wide) > 1 else "")) if gap.abs().max() <= 0.05 else (
        f"recall exceeds precision most on {gap.idxmax()} ({100 * gap.max():+.0f} points)" if gap.max() > 0.05 else
        f"precision exceeds recall most on {gap.idxmin()} ({100 * -gap.min():+.0f} points)")
    if len(wide) == 1:
        return f"{high} answers in {wide['words'].iloc[0]:.1f} tokens; {spread}"
    return f"Answers run from {wide['words'][low]:.1f} tokens ({low}) to {wide['words'][high]:.1f} ({high}); {spread}"


def _one_each(df: pd.DataFrame, figure: str, key: list[str]) -> None:
    if df.duplicated(key).any():
        raise ChartError(f"{figure}: {' '.join(map(str, df.loc[df.duplicated(key), key].iloc[0]))} has several rows; filter to one data set and budget")


def _mark() -> dict:
    return {"stroke": alt.Stroke("colour:N", scale=None), "fill": alt.Fill("fill:N", scale=None), "shape": alt.Shape("shape:N", scale=None),
            "size": alt.Size("size:Q", scale=None)}


def _rows(order: list[str], labels: bool = True) -> alt.Y:
    return alt.Y("rung:N", sort=order, title=None, axis=row_axis(order, labels), scale=alt.Scale(domain=order, padding=0))


def _levels(df: pd.DataFrame, tested: pd.DataFrame, means: pd.DataFrame) -> str:
    """How far F1 moves from the smallest to the largest rung, by the paired difference; then how far the packers lie apart, and how much of that is decided."""
    lowest, highest = (df.loc[getattr(df["estimate"], at)()] for at in ("idxmin", "idxmax"))
    plain = f"F1 runs from {lowest['estimate']:.2f} ({lowest['rung']}, {lowest['name']}) to {highest['estimate']:.2f} ({highest['rung']}, {highest['name']})"
    if "kind" not in tested or tested.empty:
        return plain
    parts = [p for p in (_grown(tested, means), _between(tested)) if p]
    return "; ".join(parts) or plain


def _grown(tested: pd.DataFrame, means: pd.DataFrame) -> str:
    """The paired change of mean F1 over all packers from the smallest rung to the largest; empty where no two sizes were compared."""
    rows = tested[(tested["kind"] == "scale") & (tested["policy"] == "pooled") & (tested["quantity"] == "f1") & (tested["control"] == "none")]
    sized = rows.assign(step=[billions(r) - billions(a.split()[0]) for r, a in zip(rows["reader"], rows["against"])]).dropna(subset=["step"])
    if sized.empty:
        return ""
    row = sized.loc[sized["step"].idxmax()]
    low, high = (words.signed(100 * v, 0) for v in (row["ci_low"], row["ci_high"]))
    way = {"wins": "rises", "loses": "falls", "undecided": "does not clearly move"}[words.verdict(row["ci_low"], row["ci_high"])]
    level = {f"{r} {p}": f"{e:.2f} ({r} {p})" for r, p, e in zip(means["reader"], means["precision"], means["estimate"])}
    small, large = (level.get(name, name) for name in (row["against"], f"{row['reader']} {row['precision']}"))
    return f"F1 {way} from {small} to {large}: {words.signed(100 * row['estimate'], 0)} points [{low}, {high}]"


def _between(tested: pd.DataFrame) -> str:
    """The widest paired difference between two packers on any rung, and how many of all are decided, before and after Holm."""
    rows = tested[(tested["kind"] == "contrast") & (tested["quantity"] == "f1")]
    if rows.empty:
        return ""
    clear = int(((rows["ci_low"] > 0) | (rows["ci_high"] < 0)).sum())
    after = int((rows["p_holm"].astype(float) < 0.05).sum())
    held = f"{clear} of {len(rows)} differences decided{f', {after} after Holm' if clear else ''}"
    return f"the packers lie within {100 * rows['estimate'].abs().max():.1f} points of each other ({held})"


def _keys(df: pd.DataFrame, names: list[str]) -> list[alt.LayerChart]:
    """Two lines of names with their marks: the packers, then closed book and the floor with the rows that each is the mean of."""
    told = {n: n for n in names}
    for name, what in (("closed_book", "closed book ({:,} questions)"), (FLOOR, "context without the answer ({:,} contexts)")):
        if name in told:
            told[name] = what.format(int(df.loc[df["name"] == name, "n"].max()))
    lines = [[n for n in names if n not in ("closed_book", FLOOR)], [n for n in names if n in ("closed_book", FLOOR)]]
    return [_key(df, line, told) for line in lines if line]


def _key(df: pd.DataFrame, names: list[str], told: dict[str, str]) -> alt.LayerChart:
    """The arms by name above the plot, with their marks."""
    looks = df.drop_duplicates("name").set_index("name")
    width = [6.2 * len(told[n]) + 34 for n in names]
    data = pd.DataFrame({"x": [sum(width[:k]) for k in range(len(names))], "name": [told[n] for n in names],
                         **{c: [looks.loc[n, c] for n in names] for c in ("colour", "shape", "fill", "size")}})
    base = alt.Chart(data).encode(x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, KEY], nice=False)), y=alt.value(7))
    mark = base.mark_point(filled=True, opacity=1, strokeWidth=1.6, xOffset=5).encode(**_mark())
    return alt.layer(mark, base.mark_text(align="left", dx=14).encode(text="name:N")).properties(width=KEY, height=14)


def _both(df: pd.DataFrame, order: list[str]) -> alt.LayerChart | None:
    """Token precision and recall in one panel, recall hollow and a little lower."""
    part = df[df["quantity"].isin(FORMS)]
    if part.empty:
        return None
    x = alt.Scale(domain=[0, min(1.0, part["ci_high"].max() + 0.06)], nice=False)
    layers = []
    ink = LOOKS["submod"].colour
    for quantity, place, fill in zip(FORMS, (-6, 6), (ink, PAPER)):
        rows = part[part["quantity"] == quantity].assign(fill=fill)
        base = alt.Chart(rows).encode(y=_rows(order))
        layers += [base.mark_rule(color=ink, strokeWidth=1.8, yOffset=place).encode(
                       x=alt.X("ci_low:Q", title=None, scale=x, axis=alt.Axis(tickCount=4)), x2="ci_high:Q"),
                   base.mark_point(filled=True, size=62, opacity=1, strokeWidth=2, stroke=ink, yOffset=place).encode(
                       x="estimate:Q", fill=alt.Fill("fill:N", scale=None))]
    return alt.layer(*layers).properties(width=190, height=40 * len(order), title=_head("token precision ●  recall ○"))


def _one(df: pd.DataFrame, order: list[str], name: str, labels: bool, length: bool) -> alt.LayerChart:
    base = alt.Chart(df).encode(y=_rows(order, labels))
    top = max(df["ci_high"].max() * 1.1, 0.1)
    axis = alt.Axis(tickCount=3) if length else alt.Axis(tickCount=3, labelExpr="format(100 * datum.value, '.0f') + '\u00a0%'")
    x = alt.X("ci_low:Q", title=None, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    bar = base.mark_rule(color=INK, strokeWidth=1.8).encode(x=x, x2="ci_high:Q")
    return alt.layer(bar, base.mark_point(filled=True, size=62, opacity=1, color=INK).encode(x="estimate:Q")).properties(
        width=84, height=40 * len(order), title=_head(name))


def _head(text: str) -> alt.TitleParams:
    return alt.TitleParams(text, fontSize=11.5, fontWeight="normal", color=MUTED, anchor="start", frame="group", offset=8)
