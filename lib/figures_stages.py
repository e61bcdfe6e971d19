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


def retrieval_lines(table: pd.DataFrame, tier: str | None = None, versus: pd.DataFrame | None = None, between: pd.DataFrame | None = None,
                    main: str = "dense") -> alt.VConcatChart:
    """Retrieval measures against their cutoff k: a line and a band a ranker, a column a scope, a row a measure.

    ``table``: scope, ranker, measure ("recall_at_5" or "recall@5"), estimate, ci_low, ci_high, n (and clusters, tier; one data set).
    Measures without a cutoff are left out. ``between`` (``summaries.scope_contrasts``) makes the title: how often all gold is in the ``main`` ranker's
    top 5, own against pooled. ``versus`` (``summaries.ranker_contrasts``) adds which rankers part from ``main`` after Holm. Without them the best
    value makes the title, and only intervals that do not touch count as apart. Raises ChartError.
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
    level = df[(df["kind"] == "all_gold") & (df["k"] == 5) & (df["ranker"] == main)]
    told = between[between["ranker"] == main] if between is not None else []
    head = _scopes(told.iloc[0]) if len(told) else _level(level.iloc[0]) if versus is not None and len(level) == 1 else _deepest(df, scopes, kinds[0])
    beside = [_beside(versus, scopes, main)] if versus is not None else []
    title = words.headed(head, *beside, f"Mean over questions, by cutoff k · {words.counted_in(df)} · bands: 95{words.GAP}% "
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


def _scopes(row: pd.Series) -> str:
    """All gold in the top 5 among the question's own passages and among all, and whether the paired difference is clear."""
    low, high = (words.signed(100 * v, 0) for v in (row["ci_low"], row["ci_high"]))
    said = "no clear difference, " if words.verdict(row["ci_low"], row["ci_high"]) == "undecided" else ""
    return (f"{row['ranker']} has all gold in its top 5 for {words.percent(row['own'])} of questions among their own passages and "
            f"{words.percent(row['pooled'])} among all: {said}{words.signed(100 * row['delta'], 0)} points [{low}, {high}]")


def _level(row: pd.Series) -> str:
    """All gold in the top 5 where one scope was ranked."""
    return (f"{row['ranker']} has all gold in its top 5 for {words.percent(row['estimate'])} of questions, scope {row['scope']} "
            f"[{words.percent(row['ci_low'])}, {words.percent(row['ci_high'])}]")


def _beside(versus: pd.DataFrame, scopes: list[str], main: str) -> str:
    """Which rankers have all gold in the top 5 more or less often than ``main``, scope by scope, where Holm's p is below 0.05."""
    if not (versus["treatment"].eq(main) | versus["control"].eq(main)).any():
        return ""
    said = []
    for scope in scopes:
        part = versus[(versus["scope"] == scope) & (versus["p_holm"] < 0.05)]
        gain = {r.treatment: r.delta for r in part[part["control"] == main].itertuples()}
        gain |= {r.control: -r.delta for r in part[part["treatment"] == main].itertuples()}
        names = [f"{r} {words.signed(100 * gain[r], 0)}" for r in sorted(gain, key=lambda r: -gain[r])]
        said.append(f"{scope}: {', '.join(names) or 'none'}")
    return f"Other rankers against {main}, all gold in the top 5, points where Holm's p is below 0.05: {'; '.join(said)}"
