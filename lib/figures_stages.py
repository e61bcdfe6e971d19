"""What retrieval brings at each depth (document 000, section 6.2); the waterfall lies in `figures_waterfall` and `figures_slices`."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import MUTED, PAPER, PERCENT, RANKERS, SPARE, ChartError, in_order, ready, scale_of
from lib.figures_slices import waterfall_slices
from lib.figures_waterfall import waterfall

__all__ = ["retrieval_lines", "waterfall", "waterfall_slices"]
LETTERS = 14.5  # pixels one line of label text takes


def retrieval_lines(table: pd.DataFrame, tier: str | None = None, versus: pd.DataFrame | None = None) -> alt.VConcatChart:
    """Retrieval measures against their cutoff k: a line and a band a ranker, a column a scope, a row a measure.

    ``table``: scope, ranker, measure ("recall_at_5" or "recall@5"), estimate, ci_low, ci_high, n (and clusters, tier; one data set).
    Measures without a cutoff are left out. ``versus``: paired differences (scope, treatment, control, delta, ci_low, ci_high) that decide the
    title; without it only intervals that do not touch do. Raises ChartError.
    """
    df = ready(table, "retrieval_lines", "scope", "ranker", "measure", "estimate", "ci_low", "ci_high", "n")
    cut = df["measure"].str.extract(r"^(?P<kind>.+?)(?:@|_at_)(?P<k>\d+)$")
    df = df.assign(kind=cut["kind"], k=pd.to_numeric(cut["k"])).dropna(subset=["k"]).astype({"k": int})
    if df.empty:
        raise ChartError(f"retrieval_lines: no measure has a cutoff such as recall_at_5; found {sorted(set(table['measure']))}")
    if df.duplicated(["scope", "ranker", "kind", "k"]).any():
        raise ChartError("retrieval_lines: a ranker has several values of one measure in one scope; keep one data set")
    scopes, kinds = sorted(set(df["scope"])), sorted(set(df["kind"]), key=lambda kind: (kind != "recall", kind))
    width = 520 if len(scopes) == 1 else 236
    low = max(0.0, int(df["ci_low"].min() * 10) / 10)
    rows = [alt.hconcat(*[_panel(df[(df["scope"] == s) & (df["kind"] == kind)], f"{kind} at k, {s}", low, width) for s in scopes], spacing=66)
            for kind in kinds]
    title = words.headed(_deepest(df, scopes, kinds[0]) if versus is None else _paired(versus, scopes), f"Mean over questions, by cutoff k · {words.counted_in(df)} · bands: 95{words.GAP}% "
                         f"bootstrap intervals · {words.tier_of(df, tier)}", width=720)
    return alt.vconcat(*rows, spacing=26).properties(title=title)


def _panel(df: pd.DataFrame, name: str, low: float, width: int) -> alt.LayerChart:
    rankers = in_order(df["ranker"], RANKERS)
    height = 190
    y = alt.Y("ci_low:Q", title=None, scale=alt.Scale(domain=[low, 1], nice=False, zero=False), axis=PERCENT)
    x = alt.X("k:Q", title="k", scale=alt.Scale(type="log", base=2, nice=False, padding=9), axis=alt.Axis(values=sorted(set(df["k"])), format="d", grid=False))
    base = alt.Chart(df.sort_values(["ranker", "k"])).encode(x=x, color=alt.Color("ranker:N", scale=scale_of("colour", rankers, RANKERS), legend=None))
    band = base.mark_area(opacity=0.13).encode(y=y, y2="ci_high:Q")
    line = base.mark_line().encode(y="estimate:Q", strokeDash=alt.StrokeDash("ranker:N", scale=scale_of("dash", rankers, RANKERS), legend=None))
    point = base.mark_point(filled=True, size=50, opacity=1, stroke=PAPER, strokeWidth=1).encode(
        y="estimate:Q", shape=alt.Shape("ranker:N", scale=scale_of("shape", rankers, RANKERS), legend=None))
    last = df.sort_values("k").groupby("ranker").tail(1).set_index("ranker").loc[rankers[::-1]].reset_index()  # of equal ends the first ranker's name is on top
    last = last.assign(place=words.nudge(list(last["estimate"]), LETTERS / height * (1 - low), low, 1.0),
                       colour=[RANKERS.get(r, SPARE).colour for r in last["ranker"]])
    text = alt.Chart(last).mark_text(align="left", dx=10, fontWeight="bold").encode(
        x=alt.value(width), y="place:Q", text="ranker:N", color=alt.Color("colour:N", scale=None))
    return alt.layer(band, line, point, text).properties(
        width=width, height=height, title=alt.TitleParams(name, fontSize=12, frame="group", offset=10, color=MUTED))


def _deepest(df: pd.DataFrame, scopes: list[str], kind: str) -> str:
    """The best ranker of each scope at the cutoff nearest 5, and whether its interval meets the next one's."""
    k = min(set(df["k"]), key=lambda v: (abs(v - 5), v))
    here = df[(df["kind"] == kind) & (df["k"] == k)].sort_values("estimate", ascending=False, kind="stable")
    said, clear = [], []
    for scope in scopes:
        part = here[here["scope"] == scope]
        best = part.iloc[0]
        said.append(f"{words.percent(best['estimate'])} with {best['ranker']} in scope {scope}")
        if len(part) > 1 and all(words.apart(best, r) == "wins" for _, r in part.iloc[1:].iterrows()):
            clear.append(scope)
    lead = f"; clear of the other rankers in {words.listed(clear)}" if clear else "; no ranker is clear of the others"
    return f"{kind} at {k} reaches {' and '.join(said)}{lead if here['ranker'].nunique() > 1 else ''}"


def _paired(versus: pd.DataFrame, scopes: list[str]) -> str:
    """For each scope the widest decided difference of all gold in the top 5, or that there is none."""
    said = []
    for scope in scopes:
        part = versus[versus["scope"] == scope]
        decided = part[(part["ci_low"] > 0) | (part["ci_high"] < 0)]
        if decided.empty:
            said.append(f"{scope}: the rankers tie")
            continue
        row = decided.loc[decided["delta"].abs().idxmax()]
        ahead, behind = (row["treatment"], row["control"]) if row["delta"] > 0 else (row["control"], row["treatment"])
        said.append(f"{scope}: {ahead} leads {behind} by {abs(100 * row['delta']):.0f} points")
    return f"All gold in the top 5, {'; '.join(said)}"
