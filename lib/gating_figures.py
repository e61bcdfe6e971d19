"""The gate in pictures: what it skips and what that costs in every cell, and whether its chances of harm come true (document 002, Figures 2 and 1)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, NothingToDraw, ready, row_axis
from lib.gating_cells import POINT
from lib.gating_harm import FEW
from lib.gating_words_idle import NOTHING, counts
from lib.wording import named

KEPT, SURE, BROKEN, PROMISE = "#2A9D8F", "#0B3C6F", "#CF5A12", "#82888F"
IDLE = {"nothing skipped": (PROMISE, "diamond")}  # neither sure nor unsure: without a skip nothing can be lost
VERDICTS = {"surely within 1 pp": (SURE, "circle"), "within 1 pp, not surely": (KEPT, "square"), "loses more than 1 pp": (BROKEN, "triangle-down")}
ROW, SKIPPED, CHANGED = 24, 150, 215  # pixels: a row, the panels of skips and of delta
PANEL, LARGE = 164, 240  # of reliability: three or more a row, fewer
NEEDED = ("dataset", "k", "rule", "skip", "skip_low", "skip_high", "inner_skip", "delta", "ci_low", "ci_high", "bound", "within", "surely_within", "harmful",
          "beneficial", "n")


def held_out(cells: pd.DataFrame, rule: str, tier: str | None = None) -> alt.HConcatChart:
    """Skip rate (beside the inner folds' promise) and delta of every cell under one rule, with intervals; a vertical line at -1 pp.

    ``cells``: gating_cells. Raises NothingToDraw where the rule has no cell with an interval.
    """
    df = cells[cells["rule"] == rule].dropna(subset=["ci_low", "skip_low"])
    if df.empty:
        raise NothingToDraw(f"held_out: no cell of rule {rule} has an interval")
    df = ready(df.sort_values(["dataset", "k"]), "held_out", *NEEDED)
    looks = {**VERDICTS, **(IDLE if (df["skip"] == 0).any() else {})}
    names = list(looks)
    df["cell"] = [f"{named(d)}, K {k}" for d, k in zip(df["dataset"], df["k"])]
    df["verdict"] = [names[3 if not skipped else 0 if s else 1 if w else 2] for skipped, s, w in zip(df["skip"], df["surely_within"], df["within"])]
    bounded = df[df["skip"] > 0]  # the bound speaks of skips
    df["counts"] = [f"{h} / {b}" for h, b in zip(df["harmful"], df["beneficial"])]
    rows, height = df["cell"].tolist(), ROW * len(df)
    y = alt.Y("cell:N", sort=rows, title=None, axis=row_axis(rows))
    bare = alt.Y("cell:N", sort=rows, title=None, axis=row_axis(rows, labels=False))
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=names, range=[c for c, _ in looks.values()]),
                       legend=alt.Legend(title=None, orient="bottom", symbolType="circle", labelLimit=260, columnPadding=30))
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=names, range=[s for _, s in looks.values()]))
    skipped, changed = "questions skipped", "delta against always reranking, pp"
    share = alt.X("skip:Q", title=skipped, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=3, domain=False))
    left = alt.layer(alt.Chart(df).mark_rule(strokeWidth=1.6).encode(x=alt.X("skip_low:Q", title=skipped), x2="skip_high:Q", y=y, color=colour),
                     alt.Chart(df).mark_tick(color=PROMISE, thickness=2.4, size=15).encode(x=alt.X("inner_skip:Q", title=skipped), y=y),
                     alt.Chart(df).mark_point(filled=True, size=62, opacity=1).encode(x=share, y=y, color=colour, shape=shape))
    low, high = min(df["ci_low"].min(), *bounded["bound"], -2 * POINT), max(df["ci_high"].max(), POINT)
    span = alt.Scale(domain=[low - 0.06 * (high - low), high + 0.06 * (high - low)], nice=False)
    lines = [alt.Chart(pd.DataFrame({"at": [at]})).mark_rule(color=INK, strokeWidth=1, strokeDash=dash).encode(x=alt.X("at:Q", title=changed))
             for at, dash in ((0, [1, 0]), (-POINT, [4, 3]))]
    delta = alt.X("delta:Q", title=changed, scale=span)
    right = alt.layer(*lines,
                      alt.Chart(df).mark_rule(strokeWidth=1.6).encode(x=alt.X("ci_low:Q", title=changed), x2="ci_high:Q", y=bare, color=colour),
                      alt.Chart(bounded).mark_tick(color=INK, thickness=2, size=9).encode(x=alt.X("bound:Q", title=changed), y=bare),
                      alt.Chart(df).mark_point(filled=True, size=62, opacity=1).encode(x=delta, y=bare, color=colour, shape=shape),
                      alt.Chart(df).mark_text(align="left", fontSize=11, color=MUTED).encode(x=alt.value(CHANGED + 14), y=bare, text="counts:N"),
                      alt.Chart(pd.DataFrame([{"head": "harmful / beneficial"}])).mark_text(align="left", fontSize=11, color=MUTED).encode(
                          x=alt.value(CHANGED + 14), y=alt.value(-10), text="head:N"))
    notes = [f"Rule: {rule} · a row a data set and K (cell) · {words.counted(df['n'])}",
             f"Grey tick: skips promised by the inner folds · black tick: 95{words.GAP}% bound on delta",
             f"Lines: 95{words.GAP}% intervals over questions · dashes: the 1 pp rule · {words.tier_of(df, tier)}"]
    parts = [p.properties(width=w, height=height) for p, w in ((left, SKIPPED), (right, CHANGED))]
    return alt.hconcat(*parts, spacing=16).properties(title=words.headed(finding(df), *notes, width=720)).configure_view(stroke=None)


def finding(df: pd.DataFrame) -> str:
    """Skips and cost on average, and how many cells keep the 1 pp rule, by the bare delta and surely."""
    (active, within, surely), harmed = counts(df), int((df["harmful"] > 0).sum())
    if not active:
        return f"The gate {NOTHING}"
    idle = len(df) - active
    apart = f"it skips nothing in {idle} of {len(df)}, {within} of {active} other" if idle else f"{within} of {active}"
    said = (f"On average the gate skips {words.percent(df['skip'].mean())} at {words.signed(df['delta'].mean(), 1)} pp: "
            f"{apart} cell{'' if active == 1 else 's'} {'loses' if within == 1 else 'lose'} at most 1 pp")
    sure = "none of them surely" if within and not surely else f"{surely} surely" if within else "and so none surely"
    return f"{said}, {sure}; skips do harm in {harmed}"


def reliable(bins: pd.DataFrame, rule: str, form: str = "calibrated", tier: str | None = None) -> alt.ConcatChart:
    """Promised against realised share of harm, a panel a data set, ten bins pooled over K, with intervals and counts; the diagonal is a kept promise.

    ``bins``: gating_reliability. Bins of fewer than FEW questions are left out and counted. Raises NothingToDraw where no bin has an interval.
    """
    every = bins[(bins["rule"] == rule) & (bins["form"] == form)].dropna(subset=["p_harm", "harm", "ci_low", "ci_high"])
    df = every[every["questions"] >= FEW]
    if df.empty:
        raise NothingToDraw(f"reliable: no bin of rule {rule} has an interval")
    df = ready(df, "reliable", "dataset", "p_harm", "harm", "ci_low", "ci_high", "count", "questions")
    df["kept"] = [["the interval holds the promise", "it does not"][int(not (a <= p <= b))] for a, p, b in zip(df["ci_low"], df["p_harm"], df["ci_high"])]
    few, sets = len(every) - len(df), df["dataset"].nunique()
    columns = 2 if sets in (2, 4) else 3
    panels = [_panel(part, named(name), LARGE if sets in (1, 2, 4) else PANEL) for name, part in df.groupby("dataset")]
    off, biggest = df[df["kept"] == "it does not"], df.loc[df["count"].idxmax()]
    title = (f"In {len(df) - len(off)} of {len(df)} bins the interval holds the promise of harm; "
             f"the fullest promises {words.percent(biggest['p_harm'])} and brings {words.percent(biggest['harm'])}")
    notes = [f"Rule: {rule} · p_harm {form} · held-out questions, K pooled, ten equal bins",
             f"Numbers: pairs of question and K in the bin · lines: 95{words.GAP}% intervals",
             f"Dashes: promise equals truth{' · scales differ' if sets > 1 else ''} · {words.tier_of(df, tier)}",
             f"Not drawn: {few} bin{'s' * (few > 1)} of fewer than {FEW} questions" if few else ""]
    return alt.concat(*panels, columns=columns, spacing=24).properties(title=words.headed(title, *notes, width=720)).configure_view(stroke=None)


def _panel(df: pd.DataFrame, name: str, size: int) -> alt.LayerChart:
    reach = min(1.0, 1.12 * max(df["p_harm"].max(), df["ci_high"].max()))
    axis = alt.Axis(tickCount=5, format=".0%" if reach > 0.05 else ".1%")
    x = alt.X("p_harm:Q", title="promised", scale=alt.Scale(domain=[0, reach], nice=False), axis=axis)
    y = alt.Y("harm:Q", title="came true", scale=alt.Scale(domain=[0, 1.06 * reach], nice=False), axis=axis)
    kinds = ["the interval holds the promise", "it does not"]
    colour = alt.Color("kept:N", scale=alt.Scale(domain=kinds, range=[SURE, BROKEN]),
                       legend=alt.Legend(title=None, orient="bottom", columnPadding=40, labelLimit=260))
    shape = alt.Shape("kept:N", scale=alt.Scale(domain=kinds, range=["circle", "triangle-down"]))
    line = alt.Chart(pd.DataFrame({"p_harm": [0, reach], "harm": [0, reach]})).mark_line(color=MUTED, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y)
    base = alt.Chart(df)
    top = df.assign(top=df["ci_high"].clip(upper=reach))
    return alt.layer(line, base.mark_rule(strokeWidth=1.6).encode(x=x, y=alt.Y("ci_low:Q", title="came true"), y2="ci_high:Q", color=colour),
                     base.mark_point(filled=True, opacity=1, size=55, stroke=PAPER, strokeWidth=0.6).encode(x=x, y=y, color=colour, shape=shape),
                     alt.Chart(top).mark_text(dy=-8, fontSize=9.5, color=MUTED).encode(x=x, y=alt.Y("top:Q", title="came true"),
                                                                                       text=alt.Text("count:Q", format=","))
                     ).properties(width=size, height=size, title=alt.TitleParams(name, fontSize=12.5, offset=6, frame="group"))
