"""What a choice of packer per question could win, and what a selector does win (document 000, section 5.0.0.5; SPEC 8).

``oracle`` knows the outcome and takes the best of the compared packers on each question. ``best_fixed`` is the packer with the highest mean on the same
questions: chosen and judged on the same rows it flatters itself a little, so half 1 also has ``mean_chosen_on_half_0``.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.summaries import PANEL
from lib.transitions import require
from lib.wording import compared

COLUMNS = ["tier", *PANEL, "half", "outcome", "policy", "quantity", "chosen", "estimate", "ci_low", "ci_high", "n", "clusters"]
NOT_PACKED = ("closed_book", "oracle")


def headroom(outcomes: pd.DataFrame, tier: str, picks: pd.DataFrame | None = None, measures: Sequence[str] = ("f1", "em"), resamples: int = 10_000,
             seed: int = 0) -> pd.DataFrame:
    """The headroom table; ``picks`` (from ``lib.selector``) adds the selector's rows.

    Only questions that every compared packer answered count. A selector's minus_best_fixed is against the packer that was best where it was trained;
    ``as_best_fixed`` is the share of questions on which it just takes that one (1: it has collapsed).
    Its intervals do not hold the spread of training. Raises ValueError for a measure that is no column.
    """
    require(outcomes, measures)
    read, rows = outcomes[(outcomes["reader"] != "none") & ~outcomes["policy"].isin(NOT_PACKED)], []
    for panel, whole in read.groupby(PANEL):
        for measure in measures:
            wide = answered(whole, measure)
            if wide.empty:
                continue
            chosen = _picked(picks, panel, measure)
            half_of = whole.drop_duplicates("qid").set_index("qid")["half"].reindex(wide.index).astype(int)
            for half in ("all", "0", "1"):
                here = wide if half == "all" else wide[half_of == int(half)]
                if len(here):
                    other = wide[half_of == 0] if half == "1" else wide.iloc[:0]
                    found = _intervals(dict(_quantities(here, other, chosen)), here.index, resamples, seed)
                    rows += [(tier, *panel, half, measure, *row) for row in found]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"chosen": "string"})


def answered(group: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Questions x compared packers, one panel: the outcome of each; only questions with all of them, by qid.

    >>> rows = pd.DataFrame({"qid": ["a", "a", "b"], "policy": ["naive", "mmr", "mmr"], "f1": [1.0, 0.5, 0.0]})
    >>> answered(rows, "f1").loc["a"].to_dict()
    {'naive': 1.0, 'mmr': 0.5}
    """
    known = group[group[measure].notna()]
    if known.empty:
        return pd.DataFrame()
    return known.pivot(index="qid", columns="policy", values=measure)[compared(list(known["policy"].unique()))].astype(float).dropna()


def best_fixed(wide: pd.DataFrame) -> str:
    """The packer with the highest mean; ties go to the one named first (``wording.compared``)."""
    return wide.mean().round(12).idxmax()


def _quantities(wide: pd.DataFrame, other: pd.DataFrame, picks: pd.DataFrame) -> Iterator[tuple[tuple, np.ndarray]]:
    """((policy, quantity, chosen), a value a question)."""
    fixed, oracle = best_fixed(wide), wide.max(axis=1)
    for policy in wide:
        rivals = wide.drop(columns=policy).max(axis=1).fillna(-np.inf)
        yield (policy, "mean", pd.NA), wide[policy]
        yield (policy, "best_or_tied", pd.NA), wide[policy] >= rivals
        yield (policy, "strictly_best", pd.NA), wide[policy] > rivals
    yield ("best_fixed", "mean", fixed), wide[fixed]
    if len(other):
        before = best_fixed(other)
        yield ("best_fixed", "mean_chosen_on_half_0", before), wide[before]
    yield ("oracle", "mean", pd.NA), oracle
    yield ("oracle", "minus_best_fixed", fixed), oracle - wide[fixed]
    by = {s: rows.set_index("qid").reindex(wide.index) for s, rows in picks.groupby("selector")}
    by = {s: rows for s, rows in by.items() if rows["pick"].notna().all()}
    for rows in list(by.values())[:1]:  # the packer that was best in training is the same for all selectors
        yield ("best_fixed", "mean_chosen_in_training", pd.NA), _at(wide, rows["fixed"])
    for selector, rows in by.items():
        yield from _selected(wide, rows["pick"], rows["fixed"], selector)


def _at(wide: pd.DataFrame, policies: pd.Series) -> np.ndarray:
    return wide.to_numpy()[range(len(wide)), wide.columns.get_indexer(policies)]


def _selected(wide: pd.DataFrame, pick: pd.Series, fixed: pd.Series, selector: str) -> Iterator[tuple[tuple, np.ndarray]]:
    yield (selector, "mean", pd.NA), _at(wide, pick)
    yield (selector, "minus_best_fixed", pd.NA), _at(wide, pick) - _at(wide, fixed)
    yield (selector, "as_best_fixed", pd.NA), pick == fixed
    for policy in wide:
        yield (selector, f"picks_{policy}", pd.NA), pick == policy


def _picked(picks: pd.DataFrame | None, panel: tuple, measure: str) -> pd.DataFrame:
    """The picks of one panel; none where none were made."""
    if picks is None or picks.empty:
        return pd.DataFrame(columns=["selector", "qid", "pick", "fixed"])
    return picks[(picks[PANEL] == list(panel)).all(axis=1) & (picks["outcome"] == measure)]


def _intervals(values: dict, qids: pd.Index, resamples: int, seed: int) -> Iterator[tuple]:
    matrix = np.column_stack([np.asarray(v, dtype=float) for v in values.values()])
    for names, i in zip(values, stats.paired_cluster_bootstraps(matrix, qids, resamples=resamples, seed=seed)):
        yield (*names, i.estimate, i.low, i.high, i.n, i.clusters)
