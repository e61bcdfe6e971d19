"""A placebo for answer-in-context: what the same reader answers without any context cannot depend on what a packer kept (SPEC 8).

Easy questions keep their answers more often and are also more often answered from memory or by guessing. So a part of what answer-in-context "explains" may
be the question. Two things tell: ``r_closed_book``, its correlation with the closed-book score of the same question, which a pure effect of the context
would leave at 0; and what is left beside recall@5 *and* that score (``delta_r2_closed_book``, ``partial_r_closed_book``).
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib import moments, poolings
from lib.bootstrap import cluster_codes, percentile_interval
from lib.validity import BOOTSTRAP, COLUMNS, SCORES

QUANTITIES = ("r_closed_book", "r2_recall_closed_book", "delta_r2_closed_book", "partial_r_closed_book")
TESTED = ("r_closed_book", "partial_r_closed_book")  # the others are never negative


def closed_book(outcomes: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Rows of the table ``validity``: ``QUANTITIES`` for each data set (and ``all``), reader, kind of rows and score, over the compared packers.

    ``outcomes`` as ``validity.validity`` takes them, with the rows of policy closed_book; no row for a reader that was not asked without a context.
    """
    alone = outcomes[outcomes["policy"] == "closed_book"].set_index(["dataset", "qid", "reader", "precision"])[list(SCORES)].add_suffix("_alone")
    rows = []
    for key, group in poolings.groups(outcomes) if len(alone) else ():
        group = group[poolings.masks(group)["policies"]].join(alone, on=["dataset", "qid", "reader", "precision"])
        for score in SCORES:
            values = poolings.numbers(group, ["answer_in_context", "recall_at_5", f"{score}_alone", score])
            if not np.isnan(values[:, 2]).all():
                rows += [(tier, *key, "policies", *made) for made in _quantities(group, values, score, resamples, seed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _quantities(group: pd.DataFrame, values: np.ndarray, score: str, resamples: int, seed: int) -> Iterator[tuple]:
    """rows, outcome, quantity, estimate, ci_low, ci_high, p_value, null_high, method, n, clusters."""
    whole = ~np.isnan(values).any(axis=1)
    kinds = {"all": whole, "defined": whole & group["answer_defined"].astype(bool).to_numpy()}
    blocks = [moments.scaled(np.where(kept[:, None], values, np.nan)) for kept in kinds.values()]
    for (kind, kept), drawn in zip(kinds.items(), moments.covariances(blocks, group["cluster"], resamples, seed)):
        codes = cluster_codes(group["cluster"][kept], int(kept.sum())) if kept.any() else np.array([], int)
        sample, resampled = (beside(c) for c in drawn)
        for quantity in QUANTITIES:
            i = percentile_interval(sample[quantity][0], resampled[quantity], codes, tested=quantity in TESTED)
            yield kind, score, quantity, *i[:4], np.nan, BOOTSTRAP, i.n, i.clusters


def beside(covariance: np.ndarray) -> dict[str, np.ndarray]:
    """The quantities, each (draws,), from covariances (draws, 4, 4) of answer_in_context, recall_at_5, the closed-book score and the score.

    >>> cov = np.array([[[1, 0, .5, .5], [0, 1, 0, 0], [.5, 0, 1, .8], [.5, 0, .8, 1]]])
    >>> {k: round(float(v[0]), 3) for k, v in beside(cov).items()}
    {'r_closed_book': 0.5, 'r2_recall_closed_book': 0.64, 'delta_r2_closed_book': 0.013, 'partial_r_closed_book': 0.192}
    """
    r = np.stack([np.stack([moments.correlation(covariance, i, j) for j in range(4)], axis=-1) for i in range(4)], axis=-2)
    score, answer = _left(r, 3), _left(r, 0)
    both = r[:, 0, 3] - _explained(r, 0, 3)
    step = both**2 / np.where(answer > moments.CONSTANT, answer, np.nan)
    partial = both / np.sqrt(np.where((answer > moments.CONSTANT) & (score > moments.CONSTANT), answer * score, np.nan))
    return dict(zip(QUANTITIES, (r[:, 0, 2], 1 - score, step, partial)))


def _explained(r: np.ndarray, i: int, j: int) -> np.ndarray:
    """What recall (1) and the closed-book score (2) carry of the correlation of variables i and j, (draws,); NaN where the two are one."""
    apart = 1 - r[:, 1, 2] ** 2
    shared = r[:, i, 1] * r[:, j, 1] + r[:, i, 2] * r[:, j, 2] - r[:, 1, 2] * (r[:, i, 1] * r[:, j, 2] + r[:, i, 2] * r[:, j, 1])
    return shared / np.where(apart > moments.CONSTANT, apart, np.nan)


def _left(r: np.ndarray, i: int) -> np.ndarray:
    return 1 - _explained(r, i, i)
