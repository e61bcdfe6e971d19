"""Promise and truth of a gate in the simulation: optimism by the size of the search and the number of questions; how often the bare rule passes (SPEC 12)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, NothingToDraw, ready

WIDTH, HEIGHT = 270, 190
LOOKS = (("#A44A8F", "diamond", [2, 2]), ("#CF5A12", "square", [7, 3]), ("#0B3C6F", "circle", [1, 0]), ("#2A9D8F", "triangle-up", [4, 2]))
PANELS = {"optimism": "how much worse than promised, pp", "held_out_passes": "runs that keep the rule on held-out questions"}


def optimism(table: pd.DataFrame, rule: str = "coverage") -> alt.ConcatChart:
    """Optimism (left) and the share of runs whose held-out value keeps the rule (right) by the size of the grid, a line a number of questions.

    ``table``: gating_optimism. Raises NothingToDraw without rows of the rule that have intervals.
    """
    df = table[(table["rule"] == rule) & table["quantity"].isin(PANELS)].dropna(subset=["ci_low", "ci_high"])
    if df.empty or df["grid"].nunique() < 2:
        raise NothingToDraw(f"optimism: rule {rule} needs two sizes of the grid with intervals")
    df = ready(df, "optimism", "n", "grid", "quantity", "estimate", "ci_low", "ci_high", "runs")
    parts = [_panel(df[df["quantity"] == quantity], quantity) for quantity in PANELS]
    notes = [f"Simulation with known chances of harm · rule: {rule} · n: training questions, and as many held out",
             f"Lines: 95{words.GAP}% intervals over n = {int(df['runs'].max())} runs · dashes: every second run"]
    return alt.hconcat(*parts, spacing=40).properties(title=words.headed(finding(df), *notes, width=720)).configure_view(stroke=None)


def finding(df: pd.DataFrame) -> str:
    """Optimism of the widest and the narrowest search on the fewest questions, and how often the latter passes."""
    got = df.set_index(["quantity", "n", "grid"])["estimate"]
    n, one, most = df["n"].min(), df["grid"].min(), df["grid"].max()
    wide, narrow = got["optimism", n, most], got["optimism", n, one]
    moved = "more than it keeps" if wide > 0 else "no more than it keeps"
    return (f"On {n} questions the best of {most} candidates promises {abs(wide):.1f} pp {moved}, one alone {words.signed(narrow, 1)}; "
            f"even that one keeps the rule in {words.percent(got['held_out_passes', n, one])} of runs")


def _panel(df: pd.DataFrame, quantity: str) -> alt.LayerChart:
    sizes, passes = sorted(df["grid"].unique()), quantity != "optimism"
    places = alt.Scale(paddingInner=0.75, paddingOuter=0.45)
    x = alt.X("grid:O", sort=sizes, title="candidates to choose from", scale=places, axis=alt.Axis(labelAngle=0, grid=False))
    span = alt.Scale(domain=[0, 1.05], nice=False) if passes else alt.Scale(domain=[min(0, df["ci_low"].min()), df["ci_high"].max() * 1.05], nice=False)
    y = alt.Y("estimate:Q", title=None, scale=span, axis=alt.Axis(format=".0%" if passes else ".1f", tickCount=5))
    level, dashes = (0.5, [4, 3]) if passes else (0.0, [1, 0])
    layers, ends = [alt.Chart(pd.DataFrame({"at": [level]})).mark_rule(color=INK, strokeDash=dashes, strokeWidth=1).encode(y="at:Q")], []
    beside = alt.XOffset("n:O", sort=sorted(df["n"].unique()))  # else equal values would hide each other
    for (n, part), (colour, shape, dash) in zip(df.groupby("n"), LOOKS):
        layers += [alt.Chart(part).mark_rule(color=colour, strokeWidth=1.5).encode(x=x, xOffset=beside, y=alt.Y("ci_low:Q", title=None), y2="ci_high:Q"),
                   alt.Chart(part).mark_line(color=colour, strokeDash=dash, strokeWidth=2).encode(x=x, xOffset=beside, y=y),
                   alt.Chart(part).mark_point(color=colour, shape=shape, filled=True, size=60, opacity=1).encode(x=x, xOffset=beside, y=y)]
        ends.append((part.loc[part["grid"].idxmax()], n, colour))
    low, high = span.domain
    for (end, n, colour), place in zip(ends, words.nudge([HEIGHT * (high - e["estimate"]) / (high - low) for e, _, _ in ends], 13, 6, HEIGHT - 6)):
        label = alt.Chart(pd.DataFrame([{"grid": end["grid"], "said": f"n = {n:,}"}]))
        layers.append(label.mark_text(align="left", dx=18, fontSize=11, fontWeight="bold", color=colour).encode(x=x, y=alt.value(place), text="said:N"))
    head = alt.TitleParams(PANELS[quantity], fontSize=12.5, fontWeight="normal", color=MUTED, offset=8, frame="group")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)
