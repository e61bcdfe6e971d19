"""The figures of the notebooks by name; how they look and how they are saved is in ``charts``."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import altair as alt
import pandas as pd

from lib.charts import MUTED, NothingToDraw, save, use
from lib.figures_claims import published_beside_ours
from lib.figures_effects import forest
from lib.figures_example import worked_example
from lib.figures_headroom import headroom_dots
from lib.figures_intervention import dissociation_figure as dissociation
from lib.figures_kept import drawable, kept_or_dropped
from lib.figures_means import conditional_means, dot_rows
from lib.figures_mediation import mediation_effects
from lib.figures_packing import survival_curve
from lib.figures_semantic import faithful, hand_checked_errors, support_scores
from lib.figures_stages import retrieval_lines, waterfall, waterfall_slices
from lib.figures_transitions import transition_bars
from lib.figures_validity import correlation_rows, ladder
from lib.wording import compared, lead

__all__ = ["both_sides", "conditional_means", "correlation_rows", "dissociation", "dot_rows", "drawn", "each_set", "example", "faithful", "forest", "forests", "hand_checked_errors", "headroom_dots",
           "kept_or_dropped_sets", "known", "ladder", "mediation_effects", "note", "nothing", "published_beside_ours", "retrieval", "retrieval_lines", "save",
           "support_scores", "survival_curve", "survival_curves", "transition_bars", "use", "waterfall", "waterfall_slices", "worked_example"]


def known(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that can be drawn: value and interval are known (a mean over one question has no interval)."""
    return table.dropna(subset=[c for c in ("estimate", "share", "delta", "ci_low", "ci_high") if c in table])


def note(said: str) -> alt.Chart:
    """What stands in a figure's place where there is nothing to draw."""
    return alt.Chart(pd.DataFrame([{"said": said}])).mark_text(align="left", fontSize=12, color=MUTED).encode(
        x=alt.value(0), y=alt.value(12), text="said:N").properties(width=560, height=24)


def nothing(what: str) -> alt.Chart:
    """A note that ``what`` is not drawn."""
    return note(f"{what}: not drawn, since no value with an interval is known (an interval takes two questions)")


def drawn(draw: Callable[..., alt.TopLevelMixin], table: pd.DataFrame, **settings) -> alt.TopLevelMixin:
    """The figure of the rows of ``table`` that can be drawn, or a note that there are none."""
    rows, name = known(table), draw.__name__.strip("_").replace("_", " ")
    try:
        return draw(rows, **settings) if len(rows) else nothing(name)
    except NothingToDraw:
        return nothing(name)


def each_set(draw: Callable[..., alt.TopLevelMixin], table: pd.DataFrame, **settings) -> alt.TopLevelMixin:
    """One figure a data set, one below the other; a single data set's figure stands alone. A note where nothing can be drawn."""
    parts = []
    for _, part in known(table).groupby("dataset", sort=False):
        with suppress(NothingToDraw):  # a small data set among others takes nothing from them
            parts.append(draw(part, **settings))
    if not parts:
        return nothing(draw.__name__.strip("_").replace("_", " "))
    return parts[0] if len(parts) == 1 else alt.vconcat(*parts, spacing=40)


def both_sides(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of conditional means where there is a value with the condition and one without."""
    rows = known(table)
    sides = rows.groupby(["dataset", "reader", "precision", "measure"])["holds"].transform("nunique")
    return rows[sides == 2]


def example(question: str, answer: str, snippets: pd.DataFrame, packs: pd.DataFrame, **settings) -> alt.TopLevelMixin:
    """The worked example, or a note where no packer keeps a snippet."""
    if packs.empty or snippets.empty:
        return note(f"worked example: not drawn, since no packer keeps a snippet within {settings['budget']} tokens")
    return worked_example(question, answer, snippets, packs, **settings)


def survival_curves(table: pd.DataFrame, contrasts: pd.DataFrame, budget: int, tier: str) -> alt.TopLevelMixin:
    """The survival curve of each data set from the packing table of one pack: shares of span questions, the pool's share above them.

    ``contrasts`` (``summaries.survival_contrasts``) decides the title: submod against naive at ``budget``, or what else was packed. A note where
    no answer is defined.
    """
    rows = known(table[(table["half"] == "all") & (table["policy"] != "gold") & table["measure"].isin(["answer_in_pool", "answer_in_context_defined"])])
    if rows.empty:
        return nothing("survival curves")
    names = compared(list(rows["policy"].unique()))
    treatment = lead(names)
    control = next((p for p in names if p != treatment), None)
    against = contrasts[(contrasts["half"] == "all") & (contrasts["budget"] == budget) & (contrasts["treatment"] == treatment) & (contrasts["control"] == control)]

    def survival_curves(part: pd.DataFrame, **settings) -> alt.TopLevelMixin:
        pool = part[part["measure"] == "answer_in_pool"].iloc[0]
        ceiling = {"estimate": pool["estimate"], "low": pool["ci_low"], "high": pool["ci_high"]}
        contrast = against[against["dataset"] == part["dataset"].iloc[0]][["delta", "ci_low", "ci_high"]].to_dict("records")
        return survival_curve(part[part["measure"] == "answer_in_context_defined"], ceiling, contrast=contrast[0] if contrast else None, **settings)

    return each_set(survival_curves, rows, budget=budget, tier=tier, treatment=treatment, control=control)


def forests(contrasts: pd.DataFrame, metrics: list[str], margin: float, tier: str) -> alt.TopLevelMixin:
    """A forest plot a metric, one below the other; ``margin`` in the metrics' units."""
    rows = known(contrasts)
    there = [rows[rows["metric"] == m] for m in metrics if (rows["metric"] == m).any()]
    return alt.vconcat(*[forest(part, margin=margin, tier=tier) for part in there], spacing=40) if there else nothing("contrasts")


def retrieval(table: pd.DataFrame, versus: pd.DataFrame, tier: str, between: pd.DataFrame | None = None) -> alt.TopLevelMixin:
    """Recall and all-gold against the cutoff for each data set; paired differences between scopes and between rankers make the title and the note."""
    shown = table[table["measure"].str.match("recall|all_gold")]

    def retrieval(part: pd.DataFrame, **settings) -> alt.TopLevelMixin:
        here, scopes = part["dataset"].iloc[0], None if between is None else between[between["dataset"] == part["dataset"].iloc[0]]
        return retrieval_lines(part, versus=versus[versus["dataset"] == here], between=scopes, **settings)

    return each_set(retrieval, shown, tier=tier)


def kept_or_dropped_sets(table: pd.DataFrame, tier: str) -> alt.TopLevelMixin:
    """Kept against dropped for each data set (a ratio may lack its upper end, so rows without an interval stay); a note where nothing was retrieved whole."""
    parts = [kept_or_dropped(part, tier=tier) for _, part in table.groupby("dataset", sort=False) if drawable(part)]
    if not parts:
        return nothing("kept or dropped")
    return parts[0] if len(parts) == 1 else alt.vconcat(*parts, spacing=40)
