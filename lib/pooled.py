"""Published figures that pool policies or condition on retrieval, computed on the outcomes table with intervals over questions (SPEC 8).

Each figure takes rows of one data set (one row a question and policy, from one reader or none) and returns an `Interval`.
"""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import bootstrap, stats, transitions
from lib.bootstrap import Interval


def mean(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Mean of ``measure``: under a condition, what 000 states in sections 3.2 and 3.3 (b)."""
    return stats.mean_interval(rows[w["measure"]].astype(float), rows["qid"], resamples=resamples, seed=seed)


def gap(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Mean of ``measure`` where the indicator ``by`` is 1 minus where it is 0; one draw of questions serves both sides."""
    values, holds = rows[w["measure"]].astype(float), rows[w["by"]].astype(float)
    sides = np.column_stack([values.where(holds == 1), values.where(holds == 0)])
    sample, drawn = bootstrap.column_means(sides, rows["qid"], resamples, seed)
    codes = bootstrap.cluster_codes(rows["qid"], len(rows))[~np.isnan(sides).all(axis=1)]
    return bootstrap.percentile_interval(sample[0, 0] - sample[0, 1], drawn[:, 0] - drawn[:, 1], codes, tested=False)


def correlation(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Pearson correlation of ``x`` and ``y``; partial where ``control`` names a third column."""
    given = rows[w["control"]].astype(float) if "control" in w else None
    return stats.cluster_correlation(rows[w["x"]].astype(float), rows[w["y"]].astype(float), rows["qid"], given=given, resamples=resamples, seed=seed)


def best_or_tied(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Share of questions on which no other policy has a higher ``measure`` than ``policy``. Source: document 000, 5.0.0.5."""
    wide = rows.pivot(index="qid", columns="policy", values=w["measure"]).astype(float).dropna()
    best = (wide[w["policy"]] >= wide.max(axis=1)).astype(float)
    return stats.mean_interval(best, best.index, resamples=resamples, seed=seed)


def tokens_saved_pct(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Tokens that ``policy`` at ``budget`` packs less than ``control`` at ``control_budget``, in per cent of the latter (000, 6.4)."""
    wide = rows.pivot(index="qid", columns=["policy", "budget"], values="n_tokens").astype(float)
    small, large = wide[w["policy"], w["budget"]], wide[w["control"], w["control_budget"]]
    return stats.ratio_interval(100 * (large - small), large, wide.index, resamples=resamples, seed=seed)


FIGURES = {f.__name__: f for f in (mean, gap, correlation, best_or_tied, tokens_saved_pct)} | transitions.FIGURES


def figure(outcomes: pd.DataFrame, where: Mapping, policies: list[str], resamples: int = 10_000, seed: int = 0) -> Interval:
    """The figure that ``where`` describes, on ``outcomes`` rows of one data set, pack and reader.

    ``where``: figure (a name in FIGURES) and its own columns; policies (default: ``policies``), budget, given (column: value).
    ``answer_lost`` is 1 - answer_in_context. Raises ValueError for an unknown figure, LookupError where no row is left.

    >>> two = pd.DataFrame({"qid": ["a", "b"], "policy": "naive", "budget": 160, "f1": 1.0, "answer_in_context": 1})
    >>> figure(two, {"figure": "mean", "measure": "f1", "given": {"answer_in_context": 1}, "budget": 160}, ["naive"], 10).estimate
    1.0
    """
    if where.get("figure") not in FIGURES:
        raise ValueError(f"unknown figure {where.get('figure')!r}; there are {', '.join(FIGURES)}")
    named = [where[k] for k in ("policy", "treatment", "control") if k in where]
    pool = named if where["figure"] in ("tokens_saved_pct", *transitions.FIGURES) else where.get("policies", policies)
    budgets = [where[k] for k in ("budget", "control_budget") if k in where]
    rows = outcomes[outcomes["policy"].isin(pool) & outcomes["budget"].isin(budgets)]
    absent = [f"{p} at {b}" for p in pool for b in budgets[:1] if not ((rows["policy"] == p) & (rows["budget"] == b)).any()]
    absent += [f"budget {b}" for b in budgets if b not in set(rows["budget"])]
    if absent:
        raise LookupError(f"outcomes hold no rows of {', '.join(absent)}")
    rows = rows.assign(answer_lost=1 - rows["answer_in_context"].astype(float))
    for column, value in where.get("given", {}).items():
        rows = rows[rows[column].astype(float) == value]
    if rows.empty:
        raise LookupError(f"no row of outcomes fulfils {where['given']}")
    return FIGURES[where["figure"]](rows, where, resamples, seed)
