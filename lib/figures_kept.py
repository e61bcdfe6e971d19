"""What keeping the answer is worth where retrieval has done its part, and what became of the answers (document 000, section 3.3 (b), Figure 2)."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PAPER, ChartError, NothingToDraw, ready, row_axis

STRONG = "#0B3C6F"
KINDS = {"defined": "questions with a span", "all": "all, as published"}
FATES = {  # quantities, name, colour of the bar, of its number
    "kept": (("share_kept_in_gold", "share_kept_elsewhere"), "kept", STRONG, PAPER),
    "packing": (("share_dropped_by_packing",), "dropped by packing", "#CF5A12", PAPER),
    "elsewhere": (("share_dropped_elsewhere",), "dropped, not in gold", "#EDC3A2", INK),
    "never": (("share_dropped_never_verbatim",), "never verbatim", "#D5D9DE", INK),
    "undefined": (("share_undefined",), "no span", "#EEF0F2", INK)}
WIDTH, ROW = 360, 30  # pixels: the plot between names and numbers; a row
SCORES = {"f1": "F1", "em": "EM"}
INTERVALS = f"Bars: 95{words.GAP}% bootstrap intervals over questions"


def kept_or_dropped(table: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """F1 and EM where packing kept the answer (filled) and where it did not (hollow), all gold retrieved; below, what became of the answers.

    ``table``: retrieval_perfect of one data set, reader and policy: quantity, estimate, ci_low, ci_high, n, rows (``defined``, ``all`` or both).
    Raises ChartError where no kind of rows has answers both kept and dropped.
    """
    df = ready(table, "kept_or_dropped", "quantity", "rows", "n")
    if df.duplicated(["rows", "quantity"]).any():
        raise ChartError("kept_or_dropped: a quantity has several rows; keep one data set, reader, precision and policy")
    kinds = [k for k in KINDS if k in set(df["rows"])]
    at = df.set_index(["rows", "quantity"])
    sides = _all_sides(at, kinds)
    if not sides:
        raise NothingToDraw("kept_or_dropped: no score has a value with an interval both where the answer was kept and where it was dropped")
    bars = pd.DataFrame([piece for kind in kinds for piece in _pieces(at, kind)])
    main = sides[0]
    share = at["estimate"].get((main["kind"], "share_dropped_by_packing"), float("nan"))
    dropped = f"packing drops {words.percent(share)} of the answers; " if share == share else ""
    title = words.headed(f"All gold retrieved, {dropped}{_worth(main)}", _counted(df, main["kind"], tier),
                         f"{INTERVALS}; at the right the ratio, kept over dropped", width=690)
    return alt.vconcat(_dumbbells(pd.DataFrame(sides)), _stack(bars), spacing=26).properties(title=title)


def drawable(table: pd.DataFrame) -> bool:
    """Whether `kept_or_dropped` has a row to draw: a score known with an interval on both sides."""
    kinds = [k for k in KINDS if k in set(table["rows"])]
    return bool(_all_sides(table.drop_duplicates(["rows", "quantity"]).set_index(["rows", "quantity"]), kinds))


def _all_sides(at: pd.DataFrame, kinds: list[str]) -> list[dict]:
    made = [_sides(at, kind, score, len(kinds) > 1) for kind in kinds for score in SCORES]
    return [row for row in made if not pd.isna([row[f"{side}{end}"] for side in ("kept", "dropped", "gap") for end in ("", "_low", "_high")]).any()]


def _sides(at: pd.DataFrame, kind: str, score: str, several: bool) -> dict:
    """One row of the dumbbells; a quantity that the table lacks is missing."""
    row = {"row": SCORES[score] + (f", {KINDS[kind]}" if several else ""), "kind": kind, "score": SCORES[score]}
    for side in ("kept", "dropped", "gap", "ratio"):
        found = at.loc[[(kind, f"{score}_{side}")]].iloc[0] if (kind, f"{score}_{side}") in at.index else pd.Series(dtype=float)
        row |= {f"{side}{end}": float(found.get(column, np.nan)) for end, column in (("", "estimate"), ("_low", "ci_low"), ("_high", "ci_high"))}
    return row | {"ratio_text": _ratio(row["ratio"], row["ratio_low"], row["ratio_high"])}


def _ratio(ratio: float, low: float, high: float) -> str:
    if pd.isna(ratio):
        return "no ratio"
    show = [f"{v:.0f}" if v >= 9.95 else f"{v:.1f}" for v in (ratio, low, high)]
    return f"{show[0]} ×  " + (f"[{show[1]}, {show[2]}]" if high == high else f"[{show[1]}, no upper end]" if low == low else "")


def _worth(row: dict) -> str:
    found = words.verdict(row["gap_low"], row["gap_high"])
    numbers = f"{row['score']} is {row['kept']:.2f} with the answer in the context, {row['dropped']:.2f} without"
    times = f" ({row['ratio_text'].split(' ×')[0]} times)" if row["ratio"] == row["ratio"] else ""
    return {"wins": f"{numbers}{times}", "loses": f"{numbers}: lower", "undecided": f"{numbers}: too close to call"}[found]


def _counted(df: pd.DataFrame, kind: str, tier: str | None) -> str:
    """n of the first kind of rows (the shares' n: all its rows) and of the other, where the table has both."""
    n = {k: part.loc[part["quantity"].str.startswith("share_"), "n"].max() for k, part in df.groupby("rows")}
    other = [f"{int(v):,} as published" for k, v in n.items() if k != kind]
    questions = df.loc[df["rows"] == kind, "clusters"].max() if "clusters" in df else None
    first = words.counted([n[kind]], "rows") + (f" of {int(questions):,} questions" if questions else "") + (f" ({other[0]})" if other else "")
    arm = [str(df[c].iloc[0]) for c in ("dataset", "reader") if c in df]
    return " · ".join([*arm, first, words.tier_of(df, tier)])


def _dumbbells(df: pd.DataFrame) -> alt.LayerChart:
    rows, end = list(df["row"]), min(1.0, 0.08 + df[["kept_high", "dropped_high"]].max(axis=None))
    places = [words.nudge([a, b], 30 * end / WIDTH) for a, b in zip(df["kept"], df["dropped"])]  # numbers of close marks stand side by side
    df = df.assign(kept_at=[p[0] for p in places], dropped_at=[p[1] for p in places])
    heads = dict(zip(("kept", "dropped"), words.nudge([df["kept"][0], df["dropped"][0]], 95 * end / WIDTH)))
    x = alt.X("kept:Q", title=None, axis=alt.Axis(tickCount=5, format="~g"), scale=alt.Scale(domain=[0, end], nice=False))
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=rows, title=None, axis=row_axis(rows)))
    layers = [base.mark_rule(color=FAINT, strokeWidth=6).encode(x=x, x2="dropped:Q")]
    for side, fill, name in (("kept", STRONG, "answer kept"), ("dropped", PAPER, "answer not in context")):
        here = base.encode(x=alt.X(f"{side}:Q", title=None))
        layers += [base.mark_rule(color=STRONG, strokeWidth=2).encode(x=alt.X(f"{side}_low:Q"), x2=f"{side}_high:Q"),
                   here.mark_point(filled=True, size=95, opacity=1, fill=fill, stroke=STRONG, strokeWidth=2),
                   base.mark_text(dy=-13, fontSize=11).encode(x=f"{side}_at:Q", text=alt.Text(f"{side}:Q", format=".2f")),
                   alt.Chart(pd.DataFrame([{"at": heads[side], "name": name}])).mark_text(color=MUTED, fontSize=11).encode(
                       x="at:Q", y=alt.value(-12), text="name:N")]
    layers.append(base.mark_text(align="left", dx=14).encode(x=alt.value(WIDTH), text="ratio_text:N"))
    return alt.layer(*layers).properties(width=WIDTH, height=(ROW + 4) * len(df) + 6)


def _pieces(at: pd.DataFrame, kind: str) -> list[dict]:
    """The stacked bar of one kind of rows: from, to, name, number of each piece; numbers are differences of rounded sums, so they make 100."""
    pieces, before = [], 0.0
    for quantities, name, colour, ink in FATES.values():
        found = [at["estimate"].get((kind, q), 0.0) for q in quantities]
        share = float(pd.Series(found).fillna(0).sum())
        whole = round(100 * (before + share)) - round(100 * before)
        if share > 0:
            pieces.append({"row": KINDS[kind], "name": name, "low": before, "high": before + share, "middle": before + share / 2, "colour": colour,
                           "ink": ink, "number": f"{whole}{words.GAP}%" if share >= 0.06 else f"{whole}" if share >= 0.025 else ""})
        before += share
    return pieces


def _stack(df: pd.DataFrame) -> alt.LayerChart:
    rows = list(dict.fromkeys(df["row"]))
    names = df.drop_duplicates("name", keep="first") if len(rows) == 1 else df[df["row"] == rows[-1]]
    missing = df[~df["name"].isin(names["name"])].drop_duplicates("name")
    names = pd.concat([names, missing]).sort_values("middle", ignore_index=True)
    places = _apart([m * WIDTH for m in names["middle"]], [3.0 * len(n) + 6 for n in names["name"]])
    names = names.assign(place=places)
    base = alt.Chart(df).encode(y=alt.Y("row:N", sort=rows, title=None, axis=row_axis(rows), scale=alt.Scale(paddingInner=0.3, paddingOuter=0.1)))
    x = alt.X("low:Q", title=None, axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    layers = [base.mark_bar(stroke=PAPER, strokeWidth=1).encode(x=x, x2="high:Q", color=alt.Color("colour:N", scale=None)),
              base.mark_text(fontSize=11.5).encode(x=alt.X("middle:Q"), text="number:N", color=alt.Color("ink:N", scale=None))]
    for r in names.itertuples():
        layers.append(alt.Chart(pd.DataFrame([{"name": r.name}])).mark_text(fontSize=11, color=MUTED).encode(
            x=alt.value(round(r.place, 1)), y=alt.value(24 * len(rows) + 10), text="name:N"))
    head = alt.TitleParams("what became of the answer, share of rows", fontSize=11.5, fontWeight="normal", color=MUTED, frame="group", offset=6)
    return alt.layer(*layers).properties(width=WIDTH, height=24 * len(rows), title=head)


def _apart(centres: list[float], half: list[float]) -> list[float]:
    """Centres of names of different widths, moved as little as can be (least squares) so that none overlap; ``half``: half of each width."""
    offsets = np.concatenate([[0.0], np.cumsum([a + b for a, b in zip(half, half[1:])])])
    return list(isotonic_regression(np.array(centres) - offsets).x + offsets)
