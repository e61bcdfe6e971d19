"""The interventional test: coverage moved, did answer-in-context, did the answers? (Document 000, section 3.4; SPEC 8, 9.)

"Did not move" is a claim of its own: it takes two one-sided tests with a margin, not an interval that covers 0.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap, stats, summaries
from lib.bootstrap import Interval

PAIR = ("submod", "focused")  # treatment, control: document 000's pair
METRICS = ("gold_coverage", "all_gold_in_context", "answer_in_context", "answer_in_context_defined", "coverage_minus_answer", "f1", "em")
PANEL = ["pack_id", "budget", "reader", "precision"]
KEY = ["dataset", "qid", "half", *PANEL]
COLUMNS = ["tier", "dataset", *PANEL, "half", "treatment", "control", "metric", "delta", "ci_low", "ci_high", "p_value", "margin", "eq_low", "eq_high",
           "eq_p", "verdict", "mde", "n", "clusters"]
FEWEST = 6  # questions that must change before a metric has moved: 2 * 0.5 ** 6 is 3 %


def intervention(outcomes: pd.DataFrame, tier: str, pair: tuple[str, str] = PAIR, metrics: Sequence[str] = METRICS, margin: float = 0.02,
                 resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The intervention table: each metric's paired difference (treatment - control) with interval, p, equivalence test and verdict.

    Metrics of the context need no reader: they come once a pack and budget, with reader ``none`` and every question packed; f1 and em a
    row a reader, over the questions it read. ``coverage_minus_answer`` is gold_coverage - answer_in_context_defined, so its row says whether
    the two moved apart: that one moved and the other is undecided proves no such thing. One draw of questions serves all metrics and packs
    of a data set and half. A metric that no question has is a row with n 0. Raises ValueError for the oracle, whose contexts depend on
    the reader, an unknown metric, or a margin that is not positive.
    """
    if "oracle" in pair:
        raise ValueError(f"pair must be two packing rules, got {pair}: the oracle's contexts depend on the reader")
    if unknown := [m for m in metrics if m not in METRICS and m not in outcomes]:
        raise ValueError(f"metrics must be columns of outcomes or among {', '.join(METRICS)}; got {', '.join(unknown)}")
    rows = []
    for half, part in summaries.halves(differences(outcomes, pair, metrics).reset_index()):
        for dataset, group in part.groupby("dataset"):
            wide = group.pivot(index="qid", columns=[*PANEL, "metric"], values="delta").sort_index(axis=1)
            sample, drawn = bootstrap.column_means(wide.to_numpy(float), wide.index, resamples, seed)
            for column, mean, draws, deltas in zip(wide.columns, sample[0], drawn.T, wide.to_numpy(float).T):
                found = _row(mean, draws, deltas, margin)
                rows.append((tier, dataset, *column[:-1], half, *pair, column[-1], *found))
    return pd.DataFrame(rows, columns=COLUMNS)


def differences(outcomes: pd.DataFrame, pair: tuple[str, str] = PAIR, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """Treatment - control of each metric and question, long: indexed by dataset, qid, half, panel and metric, one column ``delta``.

    Raises ValueError where a policy packed a question twice in one panel.
    """
    o = outcomes[outcomes["policy"].isin(pair)]
    answer = o["answer_in_context"].astype(float).where(o["answer_defined"].astype(bool))
    o = o.assign(answer_in_context_defined=answer, coverage_minus_answer=o["gold_coverage"].astype(float) - answer)
    context = o.drop_duplicates([*KEY[:5], "policy"]).assign(reader="none", precision="none")  # the same context, whoever read it
    kinds = [(context, [m for m in metrics if m not in summaries.READ]), (o[o["em"].notna()], [m for m in metrics if m in summaries.READ])]
    parts = []
    for rows, chosen in kinds:
        treatment, control = (rows[rows["policy"] == p].set_index(KEY)[chosen].astype(float) for p in pair)
        shared = treatment.index.intersection(control.index)  # repeats of a row show up here, and pivot refuses them
        delta = treatment.loc[shared] - control.loc[shared]
        parts.append(delta.rename_axis("metric", axis=1).stack().rename("delta").to_frame())
    return pd.concat(parts)


def _row(mean: float, draws: np.ndarray, deltas: np.ndarray, margin: float) -> tuple:
    """delta ... clusters of one metric, from its mean, its draws and its differences (NaN where undefined)."""
    known = np.flatnonzero(~np.isnan(deltas))
    moved = bootstrap.percentile_interval(mean, draws, known, tested=True)
    same = stats.equivalence_of_draws(deltas, np.arange(len(deltas)), draws, margin)
    sd = deltas[known].std(ddof=1) if len(known) > 1 else 0.0
    mde = stats.minimum_detectable_effect(sd, len(known)) if sd else math.nan
    changed = int(np.count_nonzero(deltas[known]))
    return (*moved[:4], margin, same.low, same.high, same.p_value, verdict(moved, same, changed), mde, moved.n, moved.clusters)


def verdict(moved: Interval, same: stats.Equivalence, changed: int = FEWEST) -> str:
    """What the 95 % interval and the two one-sided tests say together.

    "moved up", "moved down": the 95 % interval excludes 0. "equivalent": the 90 % interval lies within the margin. Both at once:
    "slightly up", "slightly down", a move smaller than we would call one, so it counts as equivalent. "inconclusive": neither.
    "undefined": no question has the metric. Fewer than six ``changed`` questions move nothing: a sign test on five cannot reach 5 %, though a
    percentile interval would.

    >>> verdict(Interval(0.01, 0.004, 0.016, 0.001, 900, 900), stats.Equivalence("equivalent", 0.01, 0.005, 0.015, 0.01, 0.02, 900, 900))
    'slightly up'
    """
    if math.isnan(moved.estimate):
        return "undefined"
    way = "" if changed < FEWEST else "up" if moved.low > 0 else "down" if moved.high < 0 else ""
    if same.verdict == "equivalent":
        return f"slightly {way}" if way else "equivalent"
    return f"moved {way}" if way else "inconclusive"
