"""The replication at a glance: what the documents published beside what this compendium measured (the table claims)."""
from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, VERDICTS, ChartError, ready

WIDTH, ROW, NAMES, NUMBERS = 160, 26, 258, 190  # pixels: the plot, a row, the columns of names and of numbers
PANELS = {"score": "scores, shares and correlations", "difference": "differences", "count": "counts and tokens"}
ORDER = tuple(PANELS.values())
LARGE = 1.5  # a score beyond this is a number of tokens or a percentage: it stands with the counts


def published_beside_ours(claims: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """A row a claim: the published value hollow, ours filled with its interval and coloured by verdict, both in numbers.

    ``claims``: claim, kind, label, published, ours, ci_low, ci_high, n, verdict (reproduced, differs, inconclusive, not run), and tier, which
    must be one. Values may be missing where a claim was not run; a claim without a published value is left out. Scores, differences and
    counts stand in panels of their own. Raises ChartError.
    """
    df = ready(claims, "published_beside_ours", "claim", "kind", "label", "verdict").dropna(subset=["published"]).reset_index(drop=True)
    unknown = sorted(set(df["verdict"]) - set(VERDICTS))
    if unknown:
        raise ChartError(f"published_beside_ours: verdicts {unknown} are unknown; the known ones are {', '.join(VERDICTS)}")
    if df["claim"].duplicated().any():
        raise ChartError(f"published_beside_ours: claim {df.loc[df['claim'].duplicated(), 'claim'].iloc[0]!r} repeats; keep one tier")
    largest = df[["published", "ours"]].abs().max(axis=1)
    kinds = ["count" if v > LARGE else k for k, v in zip(df["kind"], largest)]
    df = df.assign(panel=[PANELS[k] for k in kinds], colour=df["verdict"].map(VERDICTS),
                   numbers=[_numbers(*row) for row in zip(df["published"], df["ours"], df["ci_low"], df["ci_high"])])
    names = [name for name in ORDER if (df["panel"] == name).any()]
    panels = [_panel(df[df["panel"] == name], name if len(names) > 1 else "", name == names[0]) for name in names]
    counts = {verdict: int((df["verdict"] == verdict).sum()) for verdict in VERDICTS}
    found = [f"{n} {'differ' if v == 'differs' and n > 1 else v}" for v, n in counts.items() if n]
    run = df["n"].dropna()
    readers = sorted(set(df["reader"].dropna())) if "reader" in df else []
    read_by = f" · ours read by {words.listed(readers)}" if readers else ""
    title = words.headed(f"{len(df)} published numbers: {words.listed(found)}", f"{words.counted(run, 'questions or rows') if len(run) else 'nothing run'} · "
                         f"{words.tier_of(df, tier)}{read_by}", f"Hollow: published. Filled: ours, with its 95{words.GAP}% interval")
    return alt.vconcat(*panels, spacing=16).properties(title=title)


def _numbers(published: float, ours: float, low: float, high: float) -> str:
    digits = 3 if abs(published) < 1.5 else 0 if float(published).is_integer() else 1
    show = [f"{v:,.{digits}f}".replace("-", "−") for v in (published, ours, low, high)]
    if pd.isna(ours):
        return show[0]
    return f"{show[0]} → {show[1]}" + ("" if pd.isna(low) else f"  [{show[2]}, {show[3]}]")


def _panel(df: pd.DataFrame, name: str, first: bool) -> alt.LayerChart:
    rows = list(df["label"])
    axis = alt.Axis(labelColor=INK, labelFontSize=11.5, labelLimit=NAMES - 20, minExtent=NAMES, maxExtent=NAMES, grid=False, labelPadding=10)
    values = df[["published", "ours", "ci_low", "ci_high"]].to_numpy(float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = 0.06 * (high - low) or 0.06 * abs(high) or 0.05
    scale = alt.Scale(domain=[min(low - pad, 0), max(high + pad, 0)], nice=False)
    base = alt.Chart(df).encode(y=alt.Y("label:N", sort=rows, title=None, axis=axis))
    colour = {"color": alt.Color("colour:N", scale=None)}
    x = alt.X("published:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))
    run = base.transform_filter("isValid(datum.ours)")
    layers = [alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color="#B9BEC4").encode(x=alt.X("zero:Q", scale=scale)),
              run.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2, strokeCap="round").encode(
                  x=alt.X("ci_low:Q", scale=scale), x2="ci_high:Q", **colour),
              run.mark_point(filled=True, size=75, opacity=1).encode(x=alt.X("ours:Q", scale=scale), **colour),
              base.mark_point(shape="diamond", size=95, strokeWidth=1.6, fill=PAPER, fillOpacity=0.55, stroke=INK, opacity=1).encode(x=x),
              base.mark_text(align="left", dx=14, fontSize=11.5).encode(x=alt.value(WIDTH), text="numbers:N"),
              base.mark_text(align="left", dx=14 + NUMBERS, fontSize=11.5, fontWeight="bold").encode(
                  x=alt.value(WIDTH), text="verdict:N", **colour)]
    if first:
        heads = pd.DataFrame([{"at": WIDTH + 14, "text": "published → ours"}, {"at": WIDTH + 14 + NUMBERS, "text": "verdict"}])
        layers += [alt.Chart(heads.iloc[[i]]).mark_text(align="left", color=MUTED, fontSize=11).encode(
            x=alt.value(int(heads["at"][i])), y=alt.value(-10), text="text:N") for i in range(2)]
    head = {"title": alt.TitleParams(name, fontSize=11.5, fontWeight="normal", color=MUTED, frame="group", offset=6)} if name else {}
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(df), **head)
