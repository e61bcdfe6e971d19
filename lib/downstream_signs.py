"""Do the questions whose ranking got better keep more of their answers? Signs, rank correlation and capture, question by question (document 001, test 7)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib import stats
from lib.downstream import BEST, OWN
from lib.downstream_gains import NO_PACKER, TINY, reader_of, wide
from lib.viability_slices import widened

OUTCOMES = ("answer_in_context", "f1")
ROSE, SAME, FELL = "rose", "same", "fell"
UNKNOWN = stats.Interval(np.nan, np.nan, np.nan, np.nan, 0, 0)
SIGNS = (ROSE, SAME, FELL)
SETUP = ["tier", "dataset", "first_stage", "ranker", "depth", "packer", "measure", "reader"]
CELLS = [*SETUP, "ranking", "outcome", "questions", "share", "ci_low", "ci_high", "n"]
AGREEMENT = [*SETUP, "quantity", "estimate", "ci_low", "ci_high", "p_value", "n"]


def pairs(outcomes: pd.DataFrame, tier: str) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """(SETUP, a row a question: the measure before, the gains ndcg and outcome, and those of the pool's best order).

    For each list, packer, depth and measure of OUTCOMES.
    Questions that lack one of the two gains are left out.
    """
    for dataset, part in outcomes[outcomes["order"] == OWN].groupby("dataset"):
        table = wide(part).droplevel("order", axis=1)
        for first, ranker, depth, packer, measure in table.columns:
            if ranker == first or measure not in OUTCOMES:
                continue

            def gain(of: str, name: str, by: str, first=first, depth=depth, table=table) -> pd.Series:
                cells = [(first, r, depth, by, name) for r in (of, first)]
                return (table[cells[0]] - table[cells[1]]) if all(c in table for c in cells) else pd.Series(np.nan, table.index)

            best = f"{first} + {BEST}"
            found = pd.DataFrame(
                {
                    "before": table[(first, first, depth, packer, measure)],
                    "ndcg": gain(ranker, "ndcg", NO_PACKER),
                    "outcome": gain(ranker, measure, packer),
                    "ndcg_best": gain(best, "ndcg", NO_PACKER),
                    "outcome_best": gain(best, measure, packer),
                }
            ).dropna(subset=["ndcg", "outcome"])
            if len(found):
                yield (tier, dataset, first, ranker, depth, packer, measure, reader_of(outcomes, measure)), found


def sign(gains: pd.Series) -> np.ndarray:
    """rose, same or fell of each gain.

    >>> sign(pd.Series([0.5, 0.0, -1.0])).tolist()
    ['rose', 'same', 'fell']
    """
    return np.select([gains > TINY, gains < -TINY], [ROSE, FELL], SAME)


def signs(outcomes: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The table downstream_signs: how many questions' nDCG rose, stayed or fell, by what became of the measure; all nine cells, shares of all n questions."""
    made = []
    for setup, found in pairs(outcomes, tier):
        ranking, outcome = sign(found["ndcg"]), sign(found["outcome"])
        cells = [(r, o) for r in SIGNS for o in SIGNS]
        hits = np.array([(ranking == r) & (outcome == o) for r, o in cells], float).T
        for cell, i in zip(cells, map(widened, stats.paired_cluster_bootstraps(hits, found.index, resamples, seed))):
            made.append((*setup, *cell, round(i.estimate * i.n), i.estimate, i.low, i.high, i.n))
    return pd.DataFrame(made, columns=CELLS)


def agreement(outcomes: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The table downstream_agreement: ``declarations_downstream.QUANTITIES`` for each list, packer and measure; what no question can tell has n 0."""
    made = []
    for setup, found in pairs(outcomes, tier):
        made += [(*setup, name, i.estimate, i.low, i.high, i.p_value, i.n) for name, i in _quantities(found, resamples, seed).items()]
    return pd.DataFrame(made, columns=AGREEMENT)


def _quantities(found: pd.DataFrame, resamples: int, seed: int) -> dict[str, stats.Interval]:
    draws = {"resamples": resamples, "seed": seed}
    ranking, outcome = sign(found["ndcg"]), sign(found["outcome"])
    ranks, rose = found[["ndcg", "outcome"]].rank(), found[ranking == ROSE]
    out = {
        "rank_correlation": stats.cluster_correlation(ranks["ndcg"], ranks["outcome"], found.index, **draws),
        "lost_though_rose": widened(stats.mean_interval(((ranking == ROSE) & (outcome == FELL)).astype(float), found.index, **draws)),
    }
    signed = sign(rose["outcome"])
    for name, hits in (("rose_lost", signed == FELL), ("rose_same", signed == SAME), ("rose_rose", signed == ROSE), ("rose_full", rose["before"] > 1 - TINY)):
        hits = np.asarray(hits, float)
        out[name] = widened(stats.mean_interval(hits, rose.index, **draws)) if len(rose) else UNKNOWN
    for name, part in (("capture", "outcome"), ("ndcg_capture", "ndcg")):
        known = found.dropna(subset=["ndcg_best", "outcome_best"])
        room = len(known) and known[f"{part}_best"].sum() > TINY  # no headroom, no share of it
        out[name] = stats.ratio_interval(known[part], known[f"{part}_best"], known.index, **draws) if room else UNKNOWN
    return out
