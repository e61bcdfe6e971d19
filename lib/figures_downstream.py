"""How much of a better order survives the consumer: from nDCG over the passages handed on to the packed answer and F1 (document 001, viability test 7)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, LOOKS, MUTED, PAPER, SPARE, NothingToDraw, ready, row_axis
from lib.downstream import BEST
from lib.downstream_gains import GIVEN, NO_PACKER, WHOLE, told
from lib.downstream_words import decided, finding, main_list
from lib.figures_viability_sets import drawn, stacked
from lib.wording import named

WIDTH, ROW = 232, 25  # pixels: a panel, a row
BEFORE = {"ndcg": "nDCG of the passages handed on", "gold_in_list": "gold handed on", "answer_in_list": "answer handed on"}
AFTER = {"answer_in_context": "answer packed", "f1": "F1"}
HALO = "#C9A227"  # the best order, behind the list's own marks
NEEDED = ("stage", "list", "delta", "ci_low", "ci_high")


def survives(contrasts: pd.DataFrame, firsts: Sequence[str], depth: int, packer: str, tier: str) -> alt.TopLevelMixin:
    """``gains_on_the_way`` of each data set, one below the other; a note where nothing can be drawn. ``packer``: the one that the title speaks of."""
    parts = [drawn(gains_on_the_way, part, firsts=firsts, depth=depth, packer=packer, tier=tier) for _, part in contrasts.groupby("dataset", sort=False)]
    return stacked([c for chart in parts for c in chart], "gains on the way to the reader")


def gains_on_the_way(contrasts: pd.DataFrame, firsts: Sequence[str], depth: int, packer: str, tier: str | None = None) -> alt.TopLevelMixin:
    """A panel a first stage, a row a stage on the way: its main list minus the first stage, filled where decided; behind it the pool's best order.

    ``contrasts``: downstream_contrasts of one data set. Raises NothingToDraw where no list has an interval.
    """
    rows = marks(contrasts, firsts, depth)
    if rows.empty:
        raise NothingToDraw("gains_on_the_way: no list beside its first stage has an interval")
    df, stages = ready(rows, "gains_on_the_way", *NEEDED), list(dict.fromkeys(rows.sort_values("place")["stage"]))
    low, high = min(df["ci_low"].min(), -0.01), max(df["ci_high"].max(), 0.01)
    domain = [low - 0.05 * (high - low), high + 0.05 * (high - low)]
    panels = [_panel(df[df["list"] == name], name, stages, domain, at == 0) for at, name in enumerate(dict.fromkeys(df["list"]))]
    said = [s for name in dict.fromkeys(df["list"]) if (s := finding(contrasts, name, packer, depth))]
    where, finding_ = named(contrasts["dataset"].iloc[0]), "; ".join(said) or "What a better order leaves in the context is not known"
    title = words.headed(
        f"{finding_[:1].upper()}{finding_[1:]}".replace(" + ", f"{words.GAP}+{words.GAP}"),
        f"{where[:1].upper() + where[1:]} · {words.counted(df['n'])} · the first {depth} passages of each list · {words.tier_of(contrasts, tier)}"
        f" · the title is on packer {packer}",
        f"Marks: list minus its first stage, 95{words.GAP}% bootstrap intervals, filled where they exclude 0, also after Holm's correction. "
        "Ochre: the order of the same pool that is best by nDCG",
        width=760,
    )
    return alt.hconcat(*panels, spacing=18).properties(title=title)


def marks(contrasts: pd.DataFrame, firsts: Sequence[str], depth: int) -> pd.DataFrame:
    """A row a panel, stage and list: stage, place, list (the panel's), best (whether the best order), delta with its interval, n, looks."""
    packers = [p for p in [*LOOKS, *sorted(set(contrasts["packer"]) - set(LOOKS))] if p in set(contrasts["packer"]) - {NO_PACKER}]
    stages = [(NO_PACKER, m, said) for m, said in BEFORE.items()] + [(p, m, f"{said}, {p}") for m, said in AFTER.items() for p in packers]
    dataset = contrasts["dataset"].iloc[0] if len(contrasts) else ""
    lists = [(main_list(contrasts, dataset, first), f"{first} + {BEST}") for first in firsts]
    shown = told(contrasts, (*BEFORE, *AFTER), packers, depth, (WHOLE,), (GIVEN,)).dropna(subset=["ci_low", "ci_high"])
    made = []
    for own, best in (pair for pair in lists if pair[0]):
        for place, (by, measure, said) in enumerate(stages):
            for r in shown[shown["ranker"].isin([own, best]) & (shown["packer"] == by) & (shown["measure"] == measure)].to_dict("records"):
                look = LOOKS.get(by, SPARE)
                ink = INK if measure == "f1" else MUTED if by == NO_PACKER else look.colour
                fill = PAPER if decided(pd.Series(r)) == "undecided" else ink
                made.append(
                    {
                        **{k: r[k] for k in ("delta", "ci_low", "ci_high", "n")},
                        "stage": said,
                        "place": place,
                        "list": own,
                        "best": r["ranker"] == best,
                        "colour": ink,
                        "fill": fill,
                        "shape": "circle" if by == NO_PACKER else look.shape,
                    }
                )
    return pd.DataFrame(made, columns=["stage", "place", "list", "best", "delta", "ci_low", "ci_high", "n", "colour", "fill", "shape"])


def _panel(df: pd.DataFrame, name: str, stages: list[str], domain: list[float], labels: bool) -> alt.LayerChart:
    axis = alt.Axis(tickCount=5, labelExpr="datum.value == 0 ? '0' : replace(format(datum.value, '+.2~f'), '-', '−')")
    x = alt.X("ci_low:Q", title=f"{name}, minus {name.partition(' + ')[0]}", axis=axis, scale=alt.Scale(domain=domain, nice=False))
    y = alt.Y("stage:N", sort=stages, title=None, axis=row_axis(stages, labels), scale=alt.Scale(domain=stages))
    own, best = alt.Chart(df[~df["best"]]).encode(y=y), alt.Chart(df[df["best"]]).encode(y=y)
    before = [s for s in stages if s in BEFORE.values()]
    layers = [
        alt.Chart(pd.DataFrame({"stage": before})).mark_rect(color=FAINT, opacity=0.35, height=ROW).encode(y=y),
        alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x="zero:Q"),
        best.mark_rule(color=HALO, strokeWidth=6, opacity=0.3).encode(x=x, x2="ci_high:Q"),
        best.mark_tick(color=HALO, thickness=2.5, size=14).encode(x="delta:Q"),
        own.mark_rule(strokeWidth=2).encode(x=x, x2="ci_high:Q", color=alt.Color("colour:N", scale=None)),
        own.mark_point(filled=True, size=75, opacity=1, strokeWidth=1.8).encode(
            x="delta:Q", fill=alt.Fill("fill:N", scale=None), stroke=alt.Stroke("colour:N", scale=None), shape=alt.Shape("shape:N", scale=None)
        ),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(stages))
