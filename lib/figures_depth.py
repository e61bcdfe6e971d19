"""Depth curves: for each slice what the candidates hold, could give and do give at each depth, over what that depth costs (document 001, Part III)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PERCENT, ChartError, NothingToDraw, ready

WIDTH, HEIGHT, COST, ACROSS = 190, 138, 34, 3  # pixels: a panel, its cost below; panels in a row
LINES = {"coverage": ("coverage", "#82888F", [2, 2], 1.6), "ceiling": ("ceiling", INK, [7, 3], 1.8), "realised": ("realised", "#0B3C6F", [1, 0], 2.6),
         "base": ("first stage", "#CF5A12", [9, 3, 2, 3], 1.6)}
BANDED = ("ceiling", "realised")
COSTS = {"tokens": "tokens read", "pairs": "pairs scored"}
NEEDED = ("dataset", "slice", "ranker", "reranker", "depth", "measure", "estimate", "ci_low", "ci_high", "n")
MOST = 8  # slices, with the key in the ninth place


def depth_curves(table: pd.DataFrame, sufficient: pd.DataFrame | None = None, falls: pd.DataFrame | None = None, cost: str | None = None, m: int = 10,
                 tier: str | None = None) -> alt.ConcatChart | alt.VConcatChart:
    """A panel a slice: coverage, ceiling, realised and first-stage quality against depth (log), the smallest sufficient depth marked, cost in bars below.

    ``table``: depth, of one data set, ranker and reranker; ``sufficient`` and ``falls``: depth_sufficient and depth_falls of the same. ``cost``: tokens or
    pairs, by default tokens where they were counted. Raises ChartError; NothingToDraw where no slice has a judged question with an interval.
    """
    if "dataset" in table and len(table[["dataset", "ranker", "reranker"]].drop_duplicates()) > 1:
        raise ChartError("depth_curves: several data sets, rankers or rerankers; filter to one of each")
    shown = table[table["measure"].isin(LINES)].dropna(subset=["estimate", "ci_low", "ci_high"])
    df = ready(shown, "depth_curves", *NEEDED)
    slices = [s for s in dict.fromkeys(df["slice"]) if (df.loc[df["slice"] == s, "measure"] == "realised").any()]
    if not slices:
        raise NothingToDraw("depth_curves: no slice has realised quality with an interval; judge some questions of it")
    left, slices = slices[MOST:], slices[:MOST]
    cost = cost or next((c for c in COSTS if table.loc[table["measure"] == c, "estimate"].notna().any()), None)
    paid = table[(table["measure"] == cost) & table["estimate"].notna()].astype({"estimate": float})
    x = _across(df["depth"])
    gains = table[(table["measure"] == "gain") & table["ci_high"].notna()].sort_values("depth")
    panels = [_panel(*(t[t["slice"] == s] for t in (df, paid, gains)), _row(sufficient, s), s, x, cost, paid["estimate"].max()) for s in slices]
    whole = slices[0]
    notes = [f"nDCG@{m} and coverage against the candidates reranked (log scale) · {df['ranker'].iloc[0]}, then {df['reranker'].iloc[0]}",
             f"{words.counted_in(df[df['slice'] == whole])} in the first panel · {words.tier_of(df, tier)}",
             f"Bands: 95{words.GAP}% intervals over questions" + (f" · bars: {COSTS[cost]} a query" if cost else ""),
             f"Not shown: {words.listed(left)}" if left else ""]
    title = words.headed(finding(_row(sufficient, whole), _row(falls, whole), df[df["slice"] == whole], gains[gains["slice"] == whole], m), *notes, width=700)
    wide, marked = len(panels) % ACROSS == 0, sufficient is not None
    grid = alt.concat(*panels, *([] if wide else [_key(marked, False)]), columns=ACROSS, spacing=24)
    chart = alt.vconcat(grid, _key(marked, True), spacing=16) if wide else grid
    return chart.properties(title=title).configure_view(stroke=None)


def finding(enough: pd.Series | None, fall: pd.Series | None, curve: pd.DataFrame, gains: pd.DataFrame | None = None, m: int = 10) -> str:
    """What the whole data set says of depth: harm at every depth first, a confirmed fall, then the smallest sufficient depth or that it is not decided."""
    if _harms(gains):
        lost = [words.signed(v) for v in (gains["estimate"].iloc[0], gains["estimate"].iloc[-1])]
        ends = f"{lost[0]} at depth {gains['depth'].iloc[0]}" + (f" to {lost[1]} at {gains['depth'].iloc[-1]}" if len(gains) > 1 else "")
        return f"Reranking loses to the first stage at every depth tried: nDCG@{m} changes by {ends}"
    realised = curve[curve["measure"] == "realised"].sort_values("depth")
    first, last = realised.iloc[0], realised.iloc[-1]
    ends = f"from depth {first['depth']} to {last['depth']}, nDCG@{m} goes from {first['estimate']:.2f} to {last['estimate']:.2f}"
    if fall is not None and fall["verdict"] == "falls":
        lost = f"{fall['depth']} candidates instead of {fall['peak']} change nDCG@{m} by {words.signed(fall['delta'])}"
        return f"Deeper is worse: {lost}, chosen and confirmed on different questions"
    if gains is not None and len(gains) and not (gains["ci_low"] > 0).any():
        return f"At no depth tried does reranking clearly beat the first stage{_first(curve)}: {ends}"
    if enough is None or enough["verdict"] == "undefined":
        return ends[0].upper() + ends[1:]
    if enough["verdict"].startswith("decided"):
        rising = "; deeper lists were not tried" if "rising" in enough["verdict"] else ""
        return f"Reranking {enough['depth']} candidates is enough: nDCG@{m} is within {enough['tolerance']:g} of the best depth{rising}"
    low, high = enough["depth_low"], enough["depth_high"]
    where = f"{low} to {high} candidates may do" if low != high else f"{low} candidates look enough on {enough['n']} questions"
    return f"How deep to rerank is not decided: {where}; {ends}"


def _first(curve: pd.DataFrame) -> str:
    """The first stage's own quality in brackets, where the curve has it."""
    base = curve.loc[curve["measure"] == "base", "estimate"]
    return f" ({base.iloc[0]:.2f})" if len(base) else ""


def _harms(gains: pd.DataFrame | None) -> bool:
    """Whether the gain's interval lies below 0 at every depth."""
    return gains is not None and len(gains) > 0 and bool((gains["ci_high"] < 0).all())


def _row(table: pd.DataFrame | None, name: str) -> pd.Series | None:
    """The row of a slice on realised quality, None where there is none."""
    if table is None:
        return None
    rows = table[(table["slice"] == name) & (table["measure"] == "realised")]
    if len(rows) > 1:
        raise ChartError(f"depth_curves: slice {name!r} has {len(rows)} rows; keep one data set, ranker and reranker")
    return rows.iloc[0] if len(rows) else None


def _across(depths: pd.Series) -> dict:
    values = sorted(int(d) for d in depths.unique())
    kept = [v for i, v in enumerate(values) if i in (0, len(values) - 1) or v / values[0] >= 1.6]
    return {"values": kept, "scale": alt.Scale(type="log", domain=[values[0] * 0.8, values[-1] * 1.25], nice=False, padding=0)}


def _panel(df: pd.DataFrame, paid: pd.DataFrame, gains: pd.DataFrame, enough: pd.Series | None, name: str, across: dict, cost: str | None,
           most: float) -> alt.VConcatChart:
    def x(labels: bool) -> alt.X:
        return alt.X("depth:Q", title=None, scale=across["scale"], axis=alt.Axis(values=across["values"], labels=labels, grid=False, labelFontSize=10))
    y = alt.Y("estimate:Q", title=None, axis=PERCENT, scale=alt.Scale(domain=[0, 1], nice=False))
    enough = None if _harms(gains) else enough
    layers = _marked(enough, across["scale"])
    for measure in ("coverage", "base", "ceiling", "realised"):
        _, colour, dash, width = LINES[measure]
        part = df[df["measure"] == measure]
        if measure in BANDED:
            layers.append(alt.Chart(part).mark_area(color=colour, opacity=0.13).encode(x=x(False), y=alt.Y("ci_low:Q"), y2="ci_high:Q"))
        layers.append(alt.Chart(part).mark_line(color=colour, strokeDash=dash, strokeWidth=width).encode(x=x(False), y=y))
    layers.append(alt.Chart(df[df["measure"] == "realised"]).mark_point(color=LINES["realised"][1], filled=True, size=30, opacity=1).encode(x=x(False), y=y))
    n = int(df.loc[df["measure"] == "realised", "n"].max())
    said = f"n = {n} · worse at every depth" if _harms(gains) else _said(enough, n)
    head = alt.TitleParams(_named(name), subtitle=said, fontSize=12.5, subtitleFontSize=10.5, offset=6, frame="group", subtitlePadding=3)
    main = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)
    if cost is None or paid.empty:
        return alt.vconcat(main)
    axis = alt.Axis(values=[0, most], labelExpr="datum.value ? format(datum.value, '.2~s') : '0'", grid=False)
    bars = alt.Chart(paid[["depth", "estimate"]]).mark_bar(color=MUTED, opacity=0.55, size=9).encode(
        x=x(True), y=alt.Y("estimate:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, most], nice=False)))
    return alt.vconcat(main, bars.properties(width=WIDTH, height=COST), spacing=6)


def _marked(enough: pd.Series | None, scale: alt.Scale) -> list[alt.Chart]:
    """The smallest sufficient depth as a line in the shade of the depths that it may be."""
    if enough is None or pd.isna(enough["depth"]):
        return []
    at = pd.DataFrame([{"depth": float(enough["depth"]), "low": float(enough["depth_low"]) / 1.08, "high": float(enough["depth_high"]) * 1.08}])
    base = alt.Chart(at)
    return [base.mark_rect(color=FAINT, opacity=0.6).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=alt.value(0), y2=alt.value(HEIGHT)),
            base.mark_rule(color=INK, strokeWidth=1).encode(x=alt.X("depth:Q", scale=scale), y=alt.value(0), y2=alt.value(HEIGHT))]


def _named(name: str) -> str:
    return "all questions" if name == "all" else name.replace("_", " ")


def _said(enough: pd.Series | None, n: int) -> str:
    """The line under a panel's name."""
    if enough is None or pd.isna(enough["depth"]):
        return f"n = {n}"
    low, high = enough["depth_low"], enough["depth_high"]
    if enough["verdict"].startswith("decided"):
        return f"n = {n} · {enough['depth']} suffice"
    return f"n = {n} · " + (f"not decided: {low} to {high}" if low != high else f"{low} may do, too few to decide")


def _key(marked: bool, wide: bool) -> alt.LayerChart:
    """The names of the lines, where the next panel would stand; in one line (``wide``) where that is a row of its own."""
    parts = []
    places = [(8 + 124 * k, 14) if wide else (8, 24 + 20 * k) for k in range(len(LINES) + 1)]
    for (left, down), (name, colour, dash, width) in zip(places, LINES.values()):
        base = alt.Chart(pd.DataFrame([{"line": name}])).encode(y=alt.value(down))
        parts += [base.mark_rule(strokeWidth=width, color=colour, strokeDash=dash).encode(x=alt.value(left), x2=alt.value(left + 34)),
                  base.mark_text(align="left", fontSize=12, color=colour, fontWeight="bold").encode(x=alt.value(left + 42), text="line:N")]
    if marked:
        left, down = places[-1]
        base = alt.Chart(pd.DataFrame([{"line": "smallest sufficient depth,\nshade: where it may lie"}]))
        high, low = alt.value(down - 9), alt.value(down + 9)
        parts += [base.mark_rect(color=FAINT, opacity=0.6).encode(x=alt.value(left + 6), x2=alt.value(left + 28), y=high, y2=low),
                  base.mark_rule(color=INK, strokeWidth=1).encode(x=alt.value(left + 17), y=high, y2=low),
                  base.mark_text(align="left", fontSize=10.5, color=MUTED, lineBreak="\n", dy=-6).encode(
                      x=alt.value(left + 42), y=alt.value(down), text="line:N")]
    return alt.layer(*parts).properties(width=700 if wide else WIDTH, height=30 if wide else HEIGHT)
