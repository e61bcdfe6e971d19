"""Does the gain of a packer rise and fall with the budget (document 000, section 6.4): gaps per budget, the inverted U tested, quality at fewer tokens.

The prediction that document 000 gave up is monotone (the tighter, the larger the gain); what it reports instead is an inverted U with its top near 160.
Both are contrasts of the same paired differences, stated before looking: ``bump`` is the gap at 160 minus the mean of the gaps at 96 and 224; ``trend`` the
slope of the gap over log2 of the budget; ``curve`` the second coefficient of a parabola in log2 of the budget (below zero: an inverted U).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import context_order, diagnostics, reading, scope

BUMP = (96, 160, 224)  # document 000, section 6.4: "at 96 ...; at 224 ..."
PUBLISHED_BUDGETS = (96, 128, 160, 224)
KEY = ["dataset", "pack_id", "reader", "precision"]
COLUMNS = ["tier", *KEY, "treatment", "control", "metric", "quantity", *scope.JUDGED]


def sweep_to_read(questions: pd.DataFrame, contexts: pd.DataFrame, policies: Sequence[str], budgets: Sequence[int], per_set: int | Mapping[str, int] = 0,
                  pack_id: str | None = None) -> pd.DataFrame:
    """What has to be read to have F1 at each of ``budgets``, columns as from ``reading.to_read`` without closed book; no row without a budget."""
    asked = [reading.to_read(questions, contexts, list(policies), budget, per_set, pack_id) for budget in budgets]
    rows = pd.concat(asked, ignore_index=True) if asked else pd.DataFrame(columns=context_order.ASKED)
    return rows[rows["policy"] != "closed_book"].reset_index(drop=True)


def read_rows(asked: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """One row a question, policy, budget and reader with em and f1, from what was asked and what was answered."""
    keep = ["dataset", "qid", "context_hash", "reader", "precision", "em", "f1"]
    return asked[[*diagnostics.PACK_KEY, "context_hash"]].drop_duplicates().merge(answers[keep], on=keep[:3]).drop(columns="context_hash")


def with_main(swept: pd.DataFrame, outcomes: pd.DataFrame, pack_id: str, budget: int) -> pd.DataFrame:
    """``read_rows`` with those of the main budget beside them: the same questions and readers, from the outcomes table."""
    if swept.empty or budget in set(swept["budget"]):
        return swept
    read = outcomes[outcomes["em"].notna() & (outcomes["pack_id"] == pack_id) & (outcomes["budget"] == budget) & outcomes["policy"].isin(set(swept["policy"]))]
    asked = swept[["dataset", "qid", "reader", "precision"]].drop_duplicates()
    return pd.concat([swept, read[list(swept)].merge(asked)], ignore_index=True)


def slopes(budgets: Sequence[int]) -> dict[str, np.ndarray]:
    """Weights over ``budgets`` (ascending) that turn gaps into ``trend`` and ``curve``: least squares on log2(budget), per doubling.

    ``trend`` needs two budgets and ``curve`` three; what the budgets do not allow is left out.

    >>> slopes([64, 128, 256])["trend"].tolist(), slopes([64, 128, 256])["curve"].tolist()
    ([-0.5, 0.0, 0.5], [0.5, -1.0, 0.5])
    """
    x = np.log2(np.asarray(budgets, float)) if len(budgets) else np.zeros(0)
    x = x - x.mean() if len(x) else x
    return {name: np.linalg.pinv(np.vander(x, degree + 1, increasing=True))[degree].round(12) + 0.0 for name, degree in (("trend", 1), ("curve", 2))
            if len(x) > degree}


def gaps(rows: pd.DataFrame, treatment: str, control: str, metric: str) -> pd.DataFrame:
    """treatment - control of one panel, a row a question, a column a budget (ascending); questions that lack an arm at a budget are NaN there."""
    wide = rows[rows["policy"].isin([treatment, control])].pivot(index=["dataset", "qid"], columns=["budget", "policy"], values=metric).astype(float)
    there = [b for b in sorted(set(rows["budget"])) if (b, treatment) in wide and (b, control) in wide]
    return pd.DataFrame({b: wide[b, treatment] - wide[b, control] for b in there}, index=wide.index)


def shape(gap: pd.DataFrame) -> pd.DataFrame:
    """The same with the shape's contrasts as columns: each question's own bump, trend and curve, so that they are paired like the gaps."""
    made = {f"gap_{b}": gap[b] for b in gap}
    low, top, high = BUMP
    if set(BUMP) <= set(gap):
        made["bump"] = gap[top] - (gap[low] + gap[high]) / 2
    return pd.DataFrame(made | {name: gap @ w for name, w in slopes(list(gap)).items()}, index=gap.index)


def budget_shape(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]], metrics: Sequence[str], tier: str, margin: float = 0.02, resamples: int = 10_000,
                 seed: int = 0) -> pd.DataFrame:
    """The budget_shape table: gaps at every budget and the three contrasts of shape, for each data set, over all of them, and each reader.

    ``rows``: dataset, qid, pack_id, policy, budget, reader, precision and the metrics (missing where undefined). Holm over the rows of one pair and metric.
    ``quantity``: gap_<budget>, bump, trend, curve; ``verdict`` of a shape says above 0, below 0, equivalent or undecided.
    """
    made = []
    for key, group in [*rows.groupby(KEY), *_over_all(rows)]:
        for treatment, control in pairs:
            for metric in metrics:
                deltas = shape(gaps(group.dropna(subset=[metric]), treatment, control, metric)).dropna(axis=1, how="all")
                if len(deltas.columns):
                    made += [(tier, *key, treatment, control, metric, *r) for r in scope.judged(deltas, margin, resamples, seed).itertuples(name=None)]
    table = pd.DataFrame(made, columns=COLUMNS)
    sides = table["verdict"].replace({"wins": "above 0", "loses": "below 0"})  # a shape is nobody's win
    return table.assign(verdict=table["verdict"].where(table["quantity"].str.startswith("gap_"), sides))


def _over_all(rows: pd.DataFrame) -> list[tuple[tuple, pd.DataFrame]]:
    """Every panel over all data sets, where there are several."""
    parts = [(key, group) for key, group in rows.groupby(KEY[1:]) if group["dataset"].nunique() > 1]
    return [(("all", *key), group) for key, group in parts]


def same_quality(rows: pd.DataFrame, tier: str, metrics: Sequence[str], treatment: tuple[str, int] = ("submod", 160),
                 control: tuple[str, int] = ("focused", 224),
                 margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Quality at fewer tokens: one packer at a small budget against another at a larger one, as rows of the budget_shape table (quantity same_quality).

    Equivalence within ``margin`` is tested by two one-sided tests; tokens are a contrast of their own, and need no margin. No row where an arm is absent.
    """
    made = []
    for key, group in [*rows.groupby(KEY), *_over_all(rows)]:
        sides = [group[(group["policy"] == p) & (group["budget"] == b)].set_index(["dataset", "qid"]) for p, b in (treatment, control)]
        deltas = pd.DataFrame({m: sides[0][m].astype(float) - sides[1][m].astype(float) for m in metrics}).dropna(axis=1, how="all")
        if len(deltas.columns):
            names = [f"{p}@{b}" for p, b in (treatment, control)]
            made += [(tier, *key, *names, m, "same_quality", *values) for m, *values in scope.judged(deltas, margin, resamples, seed).itertuples(name=None)]
    return _tokens(pd.DataFrame(made, columns=COLUMNS))


def _tokens(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows on tokens say fewer or more: a margin made for shares says nothing about them."""
    on = rows["metric"] == "n_tokens"
    rows.loc[on, "verdict"] = rows.loc[on, "verdict"].replace({"wins": "more", "loses": "fewer", "equivalent": "undecided"})
    rows.loc[on, ["margin", "eq_low", "eq_high", "eq_p"]] = np.nan
    return rows
