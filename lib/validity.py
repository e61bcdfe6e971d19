"""What answer-in-context adds to recall@5 in predicting answer quality (document 000, section 3.3 (a); SPEC 8).

The ladder: the share of the variance of F1 (or EM) that recall explains by a straight line (``r2_recall``), the share with answer-in-context
beside it (``r2_both``), and the step between (``delta_r2``). An R2 increment is never negative: noise raises it too, so a bootstrap interval
alone cannot exclude zero. Its p and ``null_high`` come from permutations that hand each question another question's answer-in-context.

Betas: ``beta_*`` is F1 (or EM) per standard deviation of the predictor, ``std_beta_*`` standard deviations per standard deviation. 000
prints 0.21 and 0.05 as "standardised", and only the first fits its other figures. From R2 0.086 and 0.257 and r = 0.41 between the predictors,
a full standardisation would give sqrt(0.171 / (1 - 0.41^2)) = 0.45 and sqrt(0.086) - 0.45 * 0.41 = 0.11; both over 0.21 and 0.05 are 0.46,
a standard deviation that F1, a number in [0, 1] with mean 0.41, can have (0.49 at most).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import statsmodels.api as sm

from lib import moments, poolings
from lib.bootstrap import Interval, cluster_codes, percentile_interval
from lib.nulls import increments

PREDICTORS = ("answer_in_context", "recall_at_5")
SCORES = ("f1", "em")
BOOTSTRAP, ROBUST = "cluster bootstrap", "cluster-robust covariance"
TESTED = ("partial_r", "r_predictors")  # the others are never negative
COLUMNS = ["tier", *poolings.GROUP, "pooling", "rows", "outcome", "quantity", "estimate", "ci_low", "ci_high", "p_value", "null_high", "method",
           "n", "clusters"]


def validity(outcomes: pd.DataFrame, tier: str, resamples: int = 10_000, permutations: int = 2_000, seed: int = 0) -> pd.DataFrame:
    """The validity table, per data set (and ``all``), reader, pooling, score and kind of rows (``all``, ``defined``).

    Rows without recall (no gold) are left out; ``n`` says how many stay. Undefined where a predictor or the score is constant or the two
    predictors are one. ``outcomes`` of one pack and budget. Raises ValueError as ``poolings.groups`` does, and for fewer than one permutation.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, got {permutations}")
    rows = []
    for key, group in poolings.groups(outcomes):
        values, parts = poolings.numbers(group, [*PREDICTORS, *SCORES]), list(_parts(group))
        blocks = [moments.scaled(np.where(kept[:, None] & ~np.isnan(values).any(axis=1, keepdims=True), values, np.nan)) for *_, kept in parts]
        drawn = moments.covariances(blocks, group["cluster"], resamples, seed)
        for (pooling, kind, _), block, both in zip(parts, blocks, drawn):
            kept = ~np.isnan(block).any(axis=1)
            for made in _quantities(group[kept], values[kept], both, permutations, seed):
                rows.append((tier, *key, pooling, kind, *made))
    return pd.DataFrame(rows, columns=COLUMNS)


def _parts(group: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """(pooling, kind of rows, which rows)."""
    defined = group["answer_defined"].astype(bool).to_numpy()
    for pooling, kept in poolings.masks(group).items():
        yield pooling, "all", kept
        yield pooling, "defined", kept & defined


def _quantities(group: pd.DataFrame, values: np.ndarray, covariances: Sequence[np.ndarray], permutations: int, seed: int) -> Iterator[tuple]:
    """outcome, quantity, estimate, ci_low, ci_high, p_value, null_high, method, n, clusters."""
    codes = cluster_codes(group["cluster"], len(group)) if len(group) else np.array([], int)
    questions = len(np.unique(codes))
    nulls = increments(group, values, len(PREDICTORS), permutations, seed) if questions > 1 else {}
    for j, score in enumerate(SCORES):
        sample, drawn = (ladder(c, 2 + j) for c in covariances)
        for quantity, estimate in sample.items():
            i = percentile_interval(estimate[0], drawn[quantity], codes, tested=quantity in TESTED)
            p, high = tail(estimate[0], nulls["any"][:, j]) if quantity == "delta_r2" and nulls else (i.p_value, np.nan)
            yield score, quantity, *i[:3], p, high, BOOTSTRAP, i.n, i.clusters
            if quantity == "delta_r2":
                p, high = tail(estimate[0], nulls["equal_recall"][:, j]) if nulls else (np.nan, np.nan)
                yield score, "delta_r2_equal_recall", *i[:3], p, high, BOOTSTRAP, i.n, i.clusters
        for quantity, i in betas(values[:, :2], values[:, 2 + j], codes).items():
            yield score, quantity, *i[:4], np.nan, ROBUST, i.n, i.clusters


def ladder(covariance: np.ndarray, y: int = 2) -> dict[str, np.ndarray]:
    """The quantities, each (draws,), from covariances (draws, k, k) of answer_in_context (0), recall_at_5 (1) and the score (``y``).

    >>> cov = np.array([[[1.0, 0.0, 0.6], [0.0, 1.0, 0.3], [0.6, 0.3, 1.0]]])
    >>> {k: round(float(v[0]), 3) for k, v in ladder(cov).items()}
    {'r2_recall': 0.09, 'r2_both': 0.45, 'delta_r2': 0.36, 'partial_r': 0.629, 'r_predictors': 0.0}
    """
    r_a, r_recall, r_both = moments.correlation(covariance, 0, y), moments.correlation(covariance, 1, y), moments.correlation(covariance, 0, 1)
    own = _above_rounding(1 - r_both**2)  # of answer_in_context, not shared with recall
    step = (r_a - r_recall * r_both) ** 2 / own
    partial = (r_a - r_recall * r_both) / np.sqrt(own * _above_rounding(1 - r_recall**2))
    return {"r2_recall": r_recall**2, "r2_both": r_recall**2 + step, "delta_r2": step, "partial_r": partial, "r_predictors": r_both}


def _above_rounding(part: np.ndarray) -> np.ndarray:
    return np.where(part > moments.CONSTANT, part, np.nan)


def tail(observed: float, null: np.ndarray) -> tuple[float, float]:
    """(1 + how many permutations reach ``observed``) / (1 + permutations), and the null's 95th percentile.

    >>> tail(0.5, np.array([0.1, 0.2, 0.3]))[0]
    0.25
    """
    if np.isnan(observed) or np.isnan(null).all():
        return np.nan, np.nan
    reached = np.count_nonzero(null >= observed - moments.CONSTANT)  # an equal value may differ in its last digit
    return float((1 + reached) / (1 + len(null))), float(np.nanquantile(null, 0.95))


def betas(x: np.ndarray, y: np.ndarray, codes: np.ndarray) -> dict[str, Interval]:
    """Coefficients of y (rows,) on both columns of x, (rows, 2), per standard deviation of each; covariance clustered by ``codes``.

    ``beta_*`` in units of y, ``std_beta_*`` in its standard deviations. NaN where a variable is constant, the columns are one, or there are
    fewer questions than 3.

    >>> x, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0.0, 0.2, 0.6, 0.8])
    >>> {k: round(v.estimate, 3) for k, v in betas(x, y, np.arange(4)).items()}["beta_answer_in_context"]
    0.3
    """
    names, n, clusters = [f"{kind}_{p}" for kind in ("beta", "std_beta") for p in PREDICTORS], len(y), len(np.unique(codes))
    z, scaled_y = moments.scaled(x.astype(float)), moments.scaled(y[:, None].astype(float))[:, 0]
    usable = clusters > 2 and n > 3 and scaled_y.any() and z.any(axis=0).all() and abs((z[:, 0] * z[:, 1]).mean()) < 1 - moments.CONSTANT
    if not usable:
        return {name: Interval(np.nan, np.nan, np.nan, np.nan, n, clusters) for name in names}
    fits = [sm.OLS(target, sm.add_constant(z)).fit(cov_type="cluster", cov_kwds={"groups": codes}) for target in (y, scaled_y)]
    made = [(b, *ends, p) for fit in fits for b, ends, p in zip(fit.params[1:], fit.conf_int()[1:], fit.pvalues[1:])]
    return {name: Interval(*map(float, found), n, clusters) for name, found in zip(names, made)}
