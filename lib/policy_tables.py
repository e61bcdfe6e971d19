"""Tables of the policy assistant: means and paired differences per slice, with intervals over questions (SPEC 8, 11)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.bootstrap import RESAMPLES, Interval
from lib.policy_arms import AGAIN, STEPS
from lib.policy_superseded import MEASURES as STALE
from lib.stats import holm, paired_cluster_bootstraps

EVERY, NONE = "all", "none"
CELL = ["slice", "name", "minus", "measure"]
COLUMNS = [*CELL, "estimate", "ci_low", "ci_high", "p_value", "p_holm", "n", "undefined"]
COUNTS = ("words", "scored", "milliseconds")  # no shares: where all agree there is nothing unseen within [0, 1]
REPAIRED = ("complete", "coverage", "union", "ceiling", "omission_gap", "headroom", "pool_complete", "exception_in_pool", "exception_shown", "words")


def compared(values: Mapping[tuple[str, str], pd.Series], slices: pd.Series, pairs: Sequence[tuple[str, str]] = (), resamples: int = RESAMPLES,
             seed: int = 0) -> pd.DataFrame:
    """``COLUMNS``, long: of each (name, measure) the mean, and of each pair (treatment, control) the paired mean difference; a slice at a time, and ``all``.

    ``values``: (name, measure) -> a value a question (index qid, missing where undefined); ``slices``: qid -> slice. ``minus`` is ``none`` for a mean. Holm
    runs over the slices of one name, minus and measure, ``all`` apart. A measure that no question of a slice has is a row with n 0.
    """
    cells = {(name, NONE, m): v for (name, m), v in values.items()}
    for measure in dict.fromkeys(m for _, m in values):
        both = [(t, c) for t, c in pairs if (t, measure) in values and (c, measure) in values]
        cells |= {(t, c, measure): values[t, measure] - values[c, measure] for t, c in both}
    qids, made = sorted(slices.index), []
    table, of = np.column_stack([v.reindex(qids).to_numpy(float) for v in cells.values()]), slices.reindex(qids).to_numpy()
    for name in [EVERY, *dict.fromkeys(of)]:
        mine = np.ones(len(qids), bool) if name == EVERY else of == name
        for (told, minus, measure), i in zip(cells, paired_cluster_bootstraps(table[mine], np.array(qids)[mine], resamples, seed)):
            i = i if measure in COUNTS else unmoved(i, level=minus == NONE)
            p = np.nan if minus == NONE else i.p_value
            made.append((name, told, minus, measure, i.estimate, i.low, i.high, p, i.n, int(mine.sum()) - i.n))
    out = pd.DataFrame(made, columns=[c for c in COLUMNS if c != "p_holm"])
    family = (out["minus"] != NONE) & (out["slice"] != EVERY)
    adjusted = out[family].groupby(CELL[1:])["p_value"].transform(lambda p: holm(p.to_numpy()))
    return out.assign(p_holm=adjusted.reindex(out.index).astype(float))[COLUMNS]


def unmoved(interval: Interval, level: bool) -> Interval:
    """The interval, as wide as n questions leave it, 1 - 0.025 ** (1 / n) to each side, where all of them agree; a share (``level``) stays in [0, 1].

    A bootstrap of equal values has no width, however few they are: twelve questions without a change do not prove that there is none.

    >>> [round(x, 3) for x in unmoved(Interval(0.0, 0.0, 0.0, 1.0, 12, 12), level=False)[:3]]
    [0.0, -0.265, 0.265]
    """
    if not interval.high - interval.low < 1e-12 or not 0 <= abs(interval.estimate) <= 1:
        return interval
    unseen = 1 - 0.025 ** (1 / interval.clusters)
    low, high = interval.estimate - unseen, interval.estimate + unseen
    return interval._replace(low=max(0.0, low), high=min(1.0, high)) if level else interval._replace(low=max(-1.0, low), high=min(1.0, high))


def laid_out(outcomes: pd.DataFrame, measures: Sequence[str]) -> dict[tuple[str, str], pd.Series]:
    """(arm, measure) -> a value a question, from ``policy_arms.outcomes``."""
    return {(arm, m): rows.set_index("qid")[m].astype(float) for arm, rows in outcomes.groupby("arm", sort=False) for m in measures}


def slices_of(outcomes: pd.DataFrame) -> pd.Series:
    """qid -> slice."""
    return outcomes.drop_duplicates("qid").set_index("qid")["slice"]


def step_table(outcomes: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0, steps: Sequence[str] = STEPS) -> pd.DataFrame:
    """``COLUMNS`` of the repair: each step, each step minus the one before, and the last minus the first."""
    pairs = [*zip(steps[1:], steps), (steps[-1], steps[0])]
    rows = outcomes[outcomes["arm"].isin(steps)]
    return compared(laid_out(rows, REPAIRED), slices_of(rows), list(dict.fromkeys(pairs)), resamples, seed)


def reranked_table(outcomes: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``COLUMNS`` of what a reranker makes of each step it was asked about: each reranked arm, and minus its own first stage."""
    arms = [a for a in dict.fromkeys(outcomes["arm"]) if a.endswith(AGAIN)]
    rows = outcomes[outcomes["arm"].isin([*arms, *(a.removesuffix(AGAIN) for a in arms)])]
    found = compared(laid_out(rows, REPAIRED), slices_of(outcomes), [(a, a.removesuffix(AGAIN)) for a in arms], resamples, seed)
    return found[found["name"].isin(arms)].reset_index(drop=True)


def window_table(outcomes: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``COLUMNS`` of windows of other sizes (``policy_arms.window_sizes``): no differences."""
    return compared(laid_out(outcomes, REPAIRED), slices_of(outcomes), (), resamples, seed)


def stale_table(rows: pd.DataFrame, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``COLUMNS`` of versions not in force (``policy_superseded.rows``): name ``order, filters on`` or ``off``; filters off - on, reranked - hybrid."""
    named = rows.assign(arm=rows["order"] + ", filters " + rows["filters"])
    there = set(named["arm"])
    pairs = [("hybrid, filters off", "hybrid, filters on"), ("reranked, filters off", "reranked, filters on"), ("reranked, filters off", "hybrid, filters off")]
    return compared(laid_out(named, STALE), slices_of(rows), [p for p in pairs if set(p) <= there], resamples, seed)
