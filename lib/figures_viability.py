"""The two-error plane: which stage lost the evidence, a mark a slice (document 001, the two-error plane)."""

from __future__ import annotations

import math

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import MUTED, PAPER
from lib.figures_viability_marks import marks_of, setting_of
from lib.viability_verdict import PUBLISHED, Thresholds

SIDE, HEIGHT = 400, 400  # pixels of the plane
GAP = 17  # pixels between two labels


def two_error_plane(slices: pd.DataFrame, verdicts: pd.DataFrame, tier: str | None = None, thresholds: Thresholds = PUBLISHED) -> alt.LayerChart:
    """Omission against ordering headroom, a mark a slice with both intervals, document 001's thresholds as the regions' borders.

    ``slices`` and ``verdicts`` (lib.viability_slices, lib.viability_verdict) of one first stage, reranker, depth, cutoff and gain. Axes are stretched
    near 0 (square root), where the thresholds lie. Raises NothingToDraw where no slice has an omission gap.
    """
    df = marks_of(slices, verdicts, "two_error_plane", "omission_gap", "ordering_headroom")
    df = df.sort_values("ordering_headroom", kind="stable", ignore_index=True)  # of marks at one height the leftmost gets the highest label
    df = df.assign(label_y=_label_places(df["omission_gap"]), label=[f"{n} · {v}" for n, v in zip(df["name"], df["short"])])
    x, y = _axis(alt.X, "ordering headroom: what a perfect order of the pool would add (nDCG)"), _axis(alt.Y, "omission gap: what the pool lacks (nDCG)")
    base = alt.Chart(df).encode(color=alt.Color("colour:N", scale=None))
    across = base.mark_rule(strokeWidth=1.6).encode(x=x("ordering_headroom_low"), y=y("omission_gap"), x2="ordering_headroom_high:Q")
    up = base.mark_rule(strokeWidth=1.6).encode(x=x("ordering_headroom"), y=y("omission_gap_low"), y2="omission_gap_high:Q")
    dots = base.mark_point(filled=True, size=90, opacity=1, strokeWidth=2).encode(
        x=x("ordering_headroom"),
        y=y("omission_gap"),
        fill=alt.Fill("fill:N", scale=None),
        stroke=alt.Stroke("colour:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
    )
    leaders = base.mark_rule(strokeWidth=0.7, opacity=0.55).encode(x=x("ordering_headroom"), y=y("omission_gap"), x2=alt.value(SIDE + 16), y2="label_y:Q")
    labels = base.mark_text(align="left", dx=20, fontWeight="bold").encode(x=alt.value(SIDE), y=y("label_y"), text="label:N")
    title = words.headed(
        plane_finding(df),
        *setting_of(df, slices, tier),
        f"Bars: 95{words.GAP}% bootstrap intervals (exact where all queries agree) · axes stretched near 0",
        "Regions: document 001's thresholds on means · labels: our verdict, from the evidence required",
        "Hollow: undecided, in part where the label ends in “?”",
        width=700,
    )
    layers = [*_regions(x, y, thresholds), leaders, across, up, *_names(x, y, thresholds), dots, labels]
    return alt.layer(*layers).properties(width=SIDE, height=HEIGHT, title=title)


def _label_places(values: pd.Series) -> list[float]:
    pixels = words.nudge([HEIGHT * (1 - math.sqrt(v)) for v in values], GAP, 0, HEIGHT)
    return [round(max(0.0, 1 - p / HEIGHT) ** 2, 6) for p in pixels]


def _axis(channel: type, title: str):
    """A field -> its place on one of the plane's two axes."""
    ticks = alt.Axis(values=[0, 0.02, 0.05, 0.1, 0.25, 0.5, 1], format=".2~f", grid=False)
    return lambda field: channel(f"{field}:Q", title=title, axis=ticks, scale=alt.Scale(type="sqrt", domain=[0, 1], nice=False))


def _regions(x, y, thresholds: Thresholds) -> list[alt.Chart]:
    """The four regions, and the line base = 0 beyond which nothing can lie."""
    h, o = thresholds.headroom, thresholds.omission
    tints = pd.DataFrame(
        [(0, h, 0, o, "#E3F1EF"), (h, 1, 0, o, "#E1E9F2"), (0, h, o, 1, "#F8E6DA"), (h, 1, o, 1, "#F1EAF0")], columns=["x", "x2", "y", "y2", "tint"]
    )
    tiles = alt.Chart(tints).mark_rect(opacity=0.85).encode(x=x("x"), x2="x2:Q", y=y("y"), y2="y2:Q", color=alt.Color("tint:N", scale=None))
    edge = pd.DataFrame([(v / 50, 1 - v / 50) for v in range(51)], columns=["x", "y"])
    limit = alt.Chart(edge).mark_line(strokeDash=[4, 3], strokeWidth=1, color=MUTED).encode(x=x("x"), y=y("y"))
    beyond = alt.Chart(edge.assign(top=1)).mark_area(color=PAPER, opacity=0.8, line=False).encode(x=x("x"), y=y("y"), y2="top:Q")
    return [tiles, beyond, limit]


def _names(x, y, thresholds: Thresholds) -> list[alt.Chart]:
    """The regions' names, each on a halo of paper: bars may run through a region that is small."""
    h, o = thresholds.headroom, thresholds.omission
    named = [
        (0.0004, o * 0.9, ["KEEP THE", "BASELINE"], 0, "left"),
        (0.9, 0.004, "RERANK", 0, "right"),
        (0.0016, 0.93, "REPAIR RETRIEVAL", 90, "left"),
        (h * 1.25, 0.86, "REPAIR BOTH", 0, "left"),
        (0.98, 0.95, "impossible: base would be below 0", 0, "right"),
    ]
    return [
        alt.Chart(pd.DataFrame([{"x": a, "y": b, "text": t}]))
        .mark_text(
            **halo,
            align=side,
            angle=turn,
            fontSize=9.5,
            lineHeight=12,
            fontWeight="normal" if t[0] == "i" else "bold",
            baseline="top",
        )
        .encode(x=x("x"), y=y("y"), text="text:N")
        for a, b, t, turn, side in named
        for halo in ({"color": PAPER, "stroke": PAPER, "strokeWidth": 6, "strokeJoin": "round"}, {"color": MUTED})
    ]


def plane_finding(df: pd.DataFrame) -> str:
    """The title: which slices want what; those that intervals leave open are counted.

    >>> plane_finding(pd.DataFrame({"slice": ["a", "b"], "name": ["a", "b"], "verdict": ["rerank", "undecided: retrieval, ordering"]}))
    'a: rerank; 1 of 2 undecided'
    """
    rows = df[df["slice"] != "all"] if (df["slice"] != "all").any() else df
    groups: dict[str, list[str]] = {}
    for name, verdict in zip(rows["name"], rows["verdict"]):
        groups.setdefault(verdict.split("; undecided")[0] if not verdict.startswith("undecided") else "undecided", []).append(name)
    open_ = groups.pop("undecided", [])
    many = len(rows) > 6
    said = [f"{f'{len(names)} slices' if many else words.listed(names)}: {verdict}" for verdict, names in sorted(groups.items(), key=lambda g: -len(g[1]))]
    if open_ and not said:
        return f"{f'All {len(open_)} slices' if many else words.listed(open_)}: undecided, with so few queries in each"
    found = "; ".join(said + ([f"{len(open_)} of {len(rows)} undecided"] if open_ else [])).replace("1 slices", "1 slice")
    whole = df.loc[df["slice"] == "all", "verdict"] if many else []
    return (f"All queries: {whole.iloc[0]}; of {len(rows)} slices, " if len(whole) == 1 else "") + found
