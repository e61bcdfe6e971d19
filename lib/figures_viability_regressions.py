"""What a reranker lifts and what it spoils, a row a slice (document 001, the reranking viability test 5)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, row_axis
from lib.figures_viability_marks import marks_of, setting_of
from lib.viability_verdict import FEWEST, LEVEL

ROOM, ROW = 330, 34  # pixels: the regressions' axis, a row
GAINED, LOST = "#5C86B5", "#D9793F"


def regressions_by_slice(slices: pd.DataFrame, verdicts: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """What a reranker lifts and what it spoils, a row a slice: mean nDCG gained to the right, lost to the left, the net as a dot with its interval.

    Raises NothingToDraw where nothing was reranked.
    """
    df = marks_of(slices, verdicts, "regressions_by_slice", "realised_gain", "regression", "ordering_headroom", "regressed")
    df = df.assign(
        lifted=df["realised_gain"] + df["regression"], spoilt=-df["regression"], spoilt_low=-df["regression_high"], spoilt_high=-df["regression_low"]
    )
    judged = zip(df["realised_gain_n"], df["realised_gain_low"], df["realised_gain_high"], df["p_holm"])
    said = ["undecided" if n < FEWEST else clear(*row) for n, *row in judged]
    df["dot"] = [PAPER if v == "undecided" else INK for v in said]
    df["counts"] = [f"{round(r * n)} of {n}" for r, n in zip(df["regressed"], df["regressed_n"])]
    df["net"] = [
        f"{words.signed(g)} [{words.signed(a)}, {words.signed(b)}]" for g, a, b in zip(df["realised_gain"], df["realised_gain_low"], df["realised_gain_high"])
    ]
    rows = list(df["name"])
    span = [
        min(df["spoilt_low"].min(), df["realised_gain_low"].min(), -0.02) * 1.06,
        max(df["lifted"].max(), df["realised_gain_high"].max(), df["ordering_headroom"].max(), 0.02) * 1.04,
    ]
    axis = alt.Axis(tickCount=6, labelExpr="datum.value == 0 ? '0' : replace(format(datum.value, '+~g'), '-', '−')")
    base = alt.Chart(df).encode(y=alt.Y("name:N", sort=rows, title=None, axis=row_axis(rows)))
    zero = alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q")
    bars = [
        base.mark_bar(height=13, color=colour).encode(
            x2=alt.datum(0), x=alt.X(f"{field}:Q", title="mean change of nDCG a query", axis=axis, scale=alt.Scale(domain=span, nice=False))
        )
        for field, colour in (("lifted", GAINED), ("spoilt", LOST))
    ]
    reach = base.mark_tick(thickness=2, height=18, color=MUTED).encode(x="ordering_headroom:Q")
    loss = base.mark_rule(strokeWidth=1, color="#7A3A10").encode(x="spoilt_low:Q", x2="spoilt_high:Q")
    net = base.mark_rule(strokeWidth=2, color=INK, yOffset=0).encode(x="realised_gain_low:Q", x2="realised_gain_high:Q")
    dot = base.mark_point(filled=True, size=62, opacity=1, stroke=INK, strokeWidth=1.6).encode(x="realised_gain:Q", fill=alt.Fill("dot:N", scale=None))
    heads = (
        alt.Chart(pd.DataFrame([{"t": "lowered", "at": ROOM + 14}, {"t": "net change", "at": ROOM + 96}]))
        .mark_text(align="left", color=MUTED, fontSize=11)
        .encode(x=alt.X("at:Q", scale=None), y=alt.value(-8), text="t:N")
    )
    texts = [base.mark_text(align="left", dx=dx, color=INK).encode(x=alt.value(ROOM), text=f"{c}:N") for c, dx in (("counts", 14), ("net", 96))]
    title = words.headed(
        regression_finding(df, said),
        *setting_of(df, slices, tier),
        f"Bars: gained, lost (thin line: its 95{words.GAP}% interval) · grey tick: headroom",
        "Dot: net with its interval, filled where it also passes Holm's correction over the slices",
        width=720,
    )
    return alt.layer(zero, *bars, reach, loss, net, dot, *texts, heads).properties(width=ROOM, height=ROW * len(rows), title=title)


def clear(low: float, high: float, p_holm: float) -> str:
    """What a net change says once Holm's correction over the slices is passed, too; the interval alone where there was no test.

    >>> clear(-0.09, -0.002, 0.27), clear(-0.09, -0.002, float("nan"))
    ('undecided', 'loses')
    """
    return "undecided" if p_holm >= LEVEL else words.verdict(low, high)


def regression_finding(df: pd.DataFrame, said: list[str]) -> str:
    """The title: where the net change is clear, and how many queries lose; of many slices only their number, after all queries together."""
    rows = df.assign(said=said)
    overall = rows[rows["slice"] == "all"]
    rows = rows[rows["slice"] != "all"] if (rows["slice"] != "all").any() else rows
    total = df[df["slice"] == "all"] if (df["slice"] == "all").any() else rows
    lowered, n = int((total["regressed"] * total["regressed_n"]).round().sum()), int(total["regressed_n"].sum())
    found = {verb: list(rows.loc[rows["said"] == v, "name"]) for verb, v in (("gains on", "wins"), ("loses on", "loses"), ("is undecided on", "undecided"))}
    found = {verb: names for verb, names in found.items() if names}
    if len(rows) == 1:
        said = f"{next(iter(found)).removesuffix(' on')} on {rows['name'].iloc[0]}"
    elif max(map(len, found.values())) > 3:
        verbs = {"wins": "gains", "loses": "loses", "undecided": "is undecided"}
        whole = f"{verbs[overall['said'].iloc[0]]} over all queries; it " if len(overall) == 1 else ""
        many = [f"{verb} {len(names)}" for verb, names in found.items()]
        said = whole + (f"{next(iter(found))} all {len(rows)} slices" if len(found) == 1 else f"{words.listed(many)} of {len(rows)} slices")
    else:
        said = "; ".join(f"{verb} {words.listed(names)}" for verb, names in found.items())
    return f"The reranker {said}; it lowers {lowered:,} of {n:,} {'query' if n == 1 else 'queries'}"
