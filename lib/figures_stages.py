"""Where answers are lost, stage by stage, and what retrieval brings at each depth (document 000, sections 3.3 and 6.2)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, PERCENT, RANKERS, SPARE, ChartError, in_order, ready, scale_of

ALIVE, LOST, FELL = "#0B3C6F", "#E8C3AA", "#9A4A1C"
STAGES = {"corpus": ["stands in", "the corpus"], "pool": ["retrieved:", "in the pool"], "context": ["packed:", "in the context"],
          "read": ["read:", "answered exactly"]}
LETTERS = 14.5  # pixels one line of label text takes


def waterfall(table: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """Share of answers still alive after each stage, and above it what that stage lost: the losses add up to what is missing at the end.

    ``table``: stage, order, share, lost, ci_low, ci_high (of share), n (and policy, budget, reader, dataset, tier, which are named
    below the title). One chain at a time. Raises ChartError when the losses do not add up.
    """
    df = ready(table, "waterfall", "stage", "order", "share", "lost", "ci_low", "ci_high", "n").sort_values("order", ignore_index=True)
    if df["stage"].duplicated().any():
        raise ChartError(f"waterfall: stage {df.loc[df['stage'].duplicated(), 'stage'].iloc[0]!r} repeats; keep one data set, policy, "
                         "budget, reader and precision")
    before = df["share"].shift(fill_value=1.0)
    off = (before - df["share"] - df["lost"]).abs()
    if off.max() > 1e-4:
        raise ChartError(f"waterfall: lost is not the fall in share at stage {df['stage'][off.idxmax()]!r}: share falls by "
                         f"{(before - df['share'])[off.idxmax()]:.4f}, lost says {df['lost'][off.idxmax()]:.4f}")
    whole = (100 * df["share"]).round().astype(int)  # losses are printed as differences of the printed shares, so they add up on paper too
    df = df.assign(before=before, kept=[f"{w}{words.GAP}%" for w in whole], fell=[f"−{d}" if d else "" for d in whole.shift(fill_value=100) - whole],
                   middle=(before + df["share"]) / 2, label=[STAGES.get(s, [s]) for s in df["stage"]])
    arm = " · ".join(str(df[c].iloc[0]) + (f" at {df['budget'].iloc[0]} tokens" if c == "policy" and "budget" in df else "")
                     for c in ("dataset", "policy", "reader", "precision") if c in df)
    title = words.headed(_worst(df, whole), arm, f"{words.counted(df['n'])} with a defined answer · {words.tier_of(df, tier)}",
                         f"Bars: 95{words.GAP}% bootstrap intervals of the share still alive", width=640)
    return alt.layer(*_columns(df)).properties(width=530, height=300, title=title)


def _worst(df: pd.DataFrame, whole: pd.Series) -> str:
    worst = df["lost"].idxmax()
    if df["lost"][worst] <= 0:
        return "No stage loses an answer"
    doing = {"corpus": "the corpus does not hold them", "pool": "retrieval", "context": "packing", "read": "reading"}
    points = whole.shift(fill_value=100)[worst] - whole[worst]
    stage = df["stage"][worst]
    verb = "never stand in the corpus" if stage == "corpus" else f"are lost in {doing.get(stage, stage)}"
    return f"Of 100 answers {points} {verb}, the largest of {len(df)} losses; {whole.iloc[-1]} come out right"


def _columns(df: pd.DataFrame) -> list[alt.Chart]:
    x = alt.X("stage:N", sort=list(df["stage"]), title=None, scale=alt.Scale(paddingInner=0.42, paddingOuter=0.2), axis=None)
    base = alt.Chart(df).encode(x=x)
    y = alt.Y("share:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=PERCENT)
    alive = base.mark_bar(color=ALIVE).encode(y=y)
    fell = base.mark_bar(color=LOST).encode(y="share:Q", y2="before:Q")
    bars = base.mark_rule(color=PAPER, strokeWidth=5).encode(y="ci_low:Q", y2="ci_high:Q"), base.mark_rule(color=INK, strokeWidth=2).encode(
        y="ci_low:Q", y2="ci_high:Q")
    kept = base.mark_text(color=PAPER, fontWeight="bold", fontSize=13, baseline="bottom", dy=-9).encode(y=alt.value(300), text="kept:N")
    fallen = base.mark_text(align="left", dx=45, fontSize=13, fontWeight="bold", color=FELL).encode(y="middle:Q", text="fell:N")
    names = base.mark_text(baseline="top", fontSize=11.5, lineHeight=15).encode(y=alt.value(310), text="label:N")
    return [alive, fell, *bars, kept, fallen, names]


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
    last = df.sort_values("k").groupby("ranker", sort=True).tail(1).sort_values("ranker", ignore_index=True)
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
