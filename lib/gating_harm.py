"""Does a promised chance of harm come true? Expected against realised harm, calibration, discrimination, budgets (document 002, Tables 7 and 8)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.cross_encoder_quality import BINS
from lib.gate import within
from lib.gating_bound import auc_interval
from lib.gating_choose import Rule
from lib.gating_nested import CELL
from lib.gating_outcomes import outcomes
from lib.keys import check_once
from lib.whole import check_draws

FEW = 10  # a bin of fewer questions says nothing, and is neither drawn nor spoken of
FORMS = {"calibrated": "p_harm", "raw": "p_raw"}
HARM = ["tier", *CELL, "budget", "expected", "realised", "excess", "excess_low", "excess_high", "in_budget", "ece", "ece_low", "ece_high", "ece_raw",
        "ece_raw_low", "ece_raw_high", "auc", "auc_low", "auc_high", "auc_pooled", "harms", "n", "undefined"]
BIN = ["tier", "dataset", "rule", "form", "bin", "low", "high", "count", "p_harm", "harm", "ci_low", "ci_high", "questions"]
RULE = ["tier", "rule", "budget", "cells", "skip", "skip_low", "skip_high", "delta", "ci_low", "ci_high", "harmful", "beneficial", "cells_within",
        "cells_surely_within", "cells_with_harm", "cells_in_budget", "cells_over_promise", "expected", "realised", "worst", "n"]


def harm_table(decisions: pd.DataFrame, rules: Sequence[Rule], tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Every cell and rule: expected harm (sum of p_harm over skips / questions), realised harm, excess = realised - expected with its interval, all in pp;
    calibration error of p_harm and of the raw chance on all held-out questions, and auc within folds, with intervals. ``auc_pooled`` counts pairs across folds
    too, as document 002's 0.16 suggests that it does, and falls below a half by construction where chances differ little within a fold. ``undefined``:
    questions of folds that refused.

    ``in_budget``: realised harm within the budget; missing for the coverage rule, which has none. A calibration error is never negative: its interval leans up.
    """
    check_draws(resamples, seed)
    points, rows = {r.name: r.points for r in rules if r.kind == "budget"}, []
    for dataset, part in outcomes(decisions).groupby("dataset"):
        groups = list(part.groupby(CELL))
        errors = ece_many([(g[c].to_numpy(float), g["harm"].to_numpy(bool)) for _, g in groups for c in FORMS.values()],
                          [g["qid"].tolist() for _, g in groups for _ in FORMS], resamples, seed)
        for i, (key, g) in enumerate(groups):
            p, harm, n = g["p_harm"].to_numpy(float), g["harm"].to_numpy(bool), len(g)
            known = ~np.isnan(p)
            promised = np.where(g["skip"].to_numpy(bool), np.nan_to_num(p), 0.0)
            excess = _excess(g, promised, resamples, seed)
            budget, realised = points.get(key[2], np.nan), 100 * int(g["harmful"].sum()) / n
            kept = within(-realised, budget) if budget == budget else None
            order = *auc_interval(p[known], harm[known], g["fold"].to_numpy()[known]), auc_interval(p[known], harm[known])[0]
            rows.append((tier, *key, budget, 100 * promised.sum() / n, realised, *excess, kept, *errors[2 * i][:3], *errors[2 * i + 1][:3], *order,
                         int(harm.sum()), n, int((~known).sum())))
    return pd.DataFrame(rows, columns=HARM)


def _excess(found: pd.DataFrame, promised: np.ndarray, resamples: int, seed: int) -> tuple[float, float, float]:
    """Realised less promised harm, pp, with interval; where some were skipped and none harmed no resample is, and the exact binomial upper end stands in."""
    i = _mean(100 * (found["harmful"].to_numpy(float) - promised), found["qid"], resamples, seed)
    if found["harmful"].any() or not found["skip"].any() or len(found) < 2:
        return i[:3]
    return i.estimate, i.estimate, i.estimate + 100 * (1 - 0.025 ** (1 / len(found)))


def _mean(values: np.ndarray, clusters: pd.Series, resamples: int, seed: int) -> bootstrap.Interval:
    means, drawn = bootstrap.column_means(values, clusters.tolist(), resamples, seed)
    return bootstrap.percentile_interval(means[0, 0], drawn[:, 0], bootstrap.cluster_codes(clusters.tolist(), len(values)), tested=False)


def _placed(chance: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """(n, 3 BINS): for each bin the sum of chances, of happenings, and the count; rows without a chance are 0. The last bin is closed."""
    known = ~np.isnan(chance)
    place = np.minimum((np.where(known, chance, 0) * BINS).astype(int), BINS - 1)
    inside = np.eye(BINS)[place] * known[:, None]
    return np.hstack([inside * np.nan_to_num(chance)[:, None], inside * happened[:, None], inside])


def ece_many(pairs: Sequence[tuple[np.ndarray, np.ndarray]], clusters: Sequence[list], resamples: int = 10_000, seed: int = 0) -> list[bootstrap.Interval]:
    """Expected calibration errors of many (chances, happened), as ``lib.cross_encoder_quality.ece`` gives each; all on the same questions, drawn once.

    >>> ece_many([(np.array([0.25, 0.25, 1.0]), np.array([0, 1, 1]))], [["a", "b", "c"]], resamples=9)[0].estimate.__round__(6)
    0.166667
    """
    if not pairs:
        return []
    codes, made = bootstrap.cluster_codes(clusters[0], len(clusters[0])), []
    columns = [_placed(*pair)[np.argsort(c, kind="stable")] for pair, c in zip(pairs, clusters)]
    drawn = bootstrap.resample_totals(np.hstack(columns), np.sort(codes), resamples, seed)
    for i, ((chance, _), named) in enumerate(zip(pairs, clusters)):
        mine = [t[:, 3 * BINS * i : 3 * BINS * (i + 1)].reshape(len(t), 3, BINS) for t in drawn]
        errors = [bootstrap.divide(np.abs(t[:, 0] - t[:, 1]).sum(axis=1), t[:, 2].sum(axis=1)) for t in mine]
        known = ~np.isnan(chance)
        made.append(bootstrap.percentile_interval(errors[0][0], errors[1], bootstrap.cluster_codes(named, len(chance))[known], tested=False))
    return made


def reliability(decisions: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Ten equal bins of the chance of harm, pooled over K within a data set, calibrated and raw: count, mean chance, share harmed with interval over questions
    (exact binomial where all or none are). Empty bins have count 0 and no values. ``questions``: distinct questions in the bin.
    """
    check_draws(resamples, seed)
    rows = []
    for (dataset, rule), g in outcomes(decisions).groupby(["dataset", "rule"]):
        for form, column in FORMS.items():
            chance = g[column].to_numpy(float)
            place = np.where(np.isnan(chance), -1, np.minimum(np.nan_to_num(chance) * BINS, BINS - 1).astype(int))
            codes = bootstrap.cluster_codes(g["qid"].tolist(), len(g))
            totals, drawn = bootstrap.resample_totals(_placed(chance, g["harm"].to_numpy(bool)), codes, resamples, seed)
            total, draws = totals.reshape(3, BINS), drawn.reshape(-1, 3, BINS)
            for b in range(BINS):
                shares = bootstrap.divide(draws[:, 1, b], draws[:, 2, b])
                chance_here, share = bootstrap.divide(total[:2, b], total[2, b])
                i = bootstrap.percentile_interval(share, shares, codes[place == b], tested=False)
                rows.append((tier, dataset, rule, form, b, b / BINS, (b + 1) / BINS, int(total[2, b]), chance_here, i.estimate, *_ends(i), i.clusters))
    return pd.DataFrame(rows, columns=BIN)


def _ends(i: bootstrap.Interval) -> tuple[float, float]:
    """The interval of a share; where all or none were harmed no resample differs, and the exact binomial interval over questions stands in."""
    if i.estimate not in (0.0, 1.0):
        return i.low, i.high
    from scipy.stats import binomtest

    return tuple(binomtest(round(i.estimate * i.clusters), i.clusters).proportion_ci())


def rule_table(decisions: pd.DataFrame, cells: pd.DataFrame, harms: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The rules beside each other (Table 8): skip rate and delta averaged over cells, counts added up, and in how many cells each promise was kept.

    Each data set is drawn by itself; ``worst``: the lowest delta of a cell; ``cells_over_promise``: realised harm above expected. Raises ValueError where
    ``cells`` and ``harms`` do not hold the same cells, each once.
    """
    check_draws(resamples, seed)
    for table, name in ((cells, "cells"), (harms, "harms")):
        check_once(table, CELL, name)
    if len(cells) != len(harms) or len(cells.merge(harms[CELL], on=CELL)) < len(cells):
        raise ValueError(f"{len(cells)} cells and {len(harms)} rows of harm do not belong together; make both from one table of decisions")
    rows, found = [], outcomes(decisions)
    for rule, mine in cells.groupby("rule", sort=False):
        told = harms[harms["rule"] == rule]
        skip, delta = _macro(found[found["rule"] == rule], resamples, seed)
        budget = told["budget"].iloc[0]
        rows.append((tier, rule, budget, len(mine), *skip, *delta, int(mine["harmful"].sum()), int(mine["beneficial"].sum()), int(mine["within"].sum()),
                     int(mine["surely_within"].sum()), int((mine["harmful"] > 0).sum()), int(told["in_budget"].sum()) if budget == budget else None,
                     int((told["realised"] > told["expected"]).sum()), told["expected"].mean(), told["realised"].mean(), mine["delta"].min(),
                     found[["dataset", "qid"]].drop_duplicates().shape[0]))
    return pd.DataFrame(rows, columns=RULE)


def _macro(found: pd.DataFrame, resamples: int, seed: int) -> list[tuple[float, float, float]]:
    """(estimate, low, high) of the skip rate (share) and of delta (pp), averaged over the cells."""
    observed, drawn = [], []
    for i, (_, part) in enumerate(found.groupby("dataset")):
        values = np.column_stack([part["skip"].astype(float), 100 * (part["gated_hit"].astype(float) - part["rerank_hit"].astype(float))])
        means, draws = bootstrap.column_means(values, part["qid"].tolist(), resamples, seed + i)
        observed.append(means[0])
        drawn.append(draws)
    centre, spread = np.mean(observed, axis=0), np.quantile(np.mean(drawn, axis=0), [0.025, 0.975], axis=0)
    known = found["qid"].nunique() > 1
    return [(float(centre[c]), *(float(s) if known else np.nan for s in spread[:, c])) for c in (0, 1)]
