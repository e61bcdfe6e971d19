"""The figures of the notebooks by name; how they look and how they are saved is in ``charts``."""
from __future__ import annotations

from collections.abc import Callable

import altair as alt
import pandas as pd

from lib.charts import save, use
from lib.figures_claims import published_beside_ours
from lib.figures_effects import forest
from lib.figures_example import worked_example
from lib.figures_means import conditional_means, dot_rows
from lib.figures_packing import survival_curve
from lib.figures_stages import retrieval_lines, waterfall

__all__ = ["conditional_means", "dot_rows", "each_set", "forest", "forests", "published_beside_ours", "retrieval", "retrieval_lines", "save", "survival_curve",
           "survival_curves", "use", "waterfall", "worked_example"]


def each_set(draw: Callable[..., alt.TopLevelMixin], table: pd.DataFrame, **settings) -> alt.TopLevelMixin:
    """One figure a data set, one below the other; a single data set's figure stands alone."""
    drawn = [draw(part, **settings) for _, part in table.groupby("dataset", sort=False)]
    return drawn[0] if len(drawn) == 1 else alt.vconcat(*drawn, spacing=40)


def survival_curves(table: pd.DataFrame, contrasts: pd.DataFrame, budget: int, tier: str) -> alt.TopLevelMixin:
    """The survival curve of each data set from the packing table of one pack: shares of span questions, the pool's share above them.

    ``contrasts`` (``summaries.survival_contrasts``) decides the title: submod against naive at ``budget``.
    """
    rows = table[(table["half"] == "all") & (table["policy"] != "gold")]
    against = contrasts[(contrasts["half"] == "all") & (contrasts["budget"] == budget)].set_index("dataset")

    def draw(part: pd.DataFrame, **settings) -> alt.TopLevelMixin:
        pool = part[(part["measure"] == "answer_in_pool") & (part["policy"] == "naive")].iloc[0]
        ceiling = {"estimate": pool["estimate"], "low": pool["ci_low"], "high": pool["ci_high"]}
        contrast = against.loc[part["dataset"].iloc[0], ["delta", "ci_low", "ci_high"]].to_dict()
        return survival_curve(part[part["measure"] == "answer_in_context_defined"], ceiling, contrast=contrast, **settings)

    return each_set(draw, rows, budget=budget, tier=tier)


def forests(contrasts: pd.DataFrame, metrics: list[str], margin: float, tier: str) -> alt.TopLevelMixin:
    """A forest plot a metric, one below the other; ``margin`` in the metrics' units."""
    return alt.vconcat(*[forest(contrasts[contrasts["metric"] == m], margin=margin, tier=tier) for m in metrics], spacing=40)


def retrieval(table: pd.DataFrame, versus: pd.DataFrame, tier: str) -> alt.TopLevelMixin:
    """Recall and all-gold against the cutoff for each data set; paired differences between rankers decide the title."""
    shown = table[table["measure"].str.match("recall|all_gold")]

    def draw(part: pd.DataFrame, **settings) -> alt.TopLevelMixin:
        return retrieval_lines(part, versus=versus[versus["dataset"] == part["dataset"].iloc[0]], **settings)

    return each_set(draw, shown, tier=tier)
