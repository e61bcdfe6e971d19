"""How far a gate's promise lies above its truth, in a simulation where the chance of harm is known (document 002, section 6; SPEC 12).

Every question has a known chance that a skip harms it and one that it helps. A grid of candidate scores sees the first through noise; on ``n`` training
questions each finds the threshold that skips most within the rule, and the one that skips most is chosen: the rule is met on paper because it was searched
for. What the chosen gate costs on ``n`` fresh questions follows from their known chances. A search among more candidates, or on fewer questions, promises more
than it keeps; and since the threshold rides the edge of the rule, a rule that looks at the delta alone is a coin toss at any n, even without a search.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.gating_bound import lower_bound
from lib.gating_choose import RULES, Rule, check_rule
from lib.whole import check_seed, check_whole

COLUMNS = ["rule", "n", "grid", "quantity", "estimate", "ci_low", "ci_high", "runs"]
QUANTITIES = ("promised", "true", "optimism", "skip_promised", "skip_true", "true_passes", "held_out_passes", "bound_passes")
NOISE = 0.6     # of a candidate's score, beside a signal of variance 1
HARM = (-2.2, -1.2)  # intercept and slope of the log-odds of harm in the ease, so that Platt scaling has the right form
HELPED = 0.02   # chance of a beneficial skip, the same for all
STEPS = 12      # of Newton's method in Platt scaling


def optimism_table(ns: Sequence[int] = (250, 500, 2000), grids: Sequence[int] = (1, 8, 64), runs: int = 100, rules: Sequence[Rule] = (RULES[0], RULES[2]),
                   seed: int = 0) -> pd.DataFrame:
    """Mean over simulated runs, with interval: rule, n (training and held-out questions each), grid (candidates), quantity, estimate, ci_low, ci_high, runs.

    coverage: promised and true are deltas in pp, optimism = promised - true. budget: they are harms, optimism = true - promised. passes: shares of
    runs within the rule, by the known truth, by ``n`` held-out questions, and by the one-sided bound on these. Raises ValueError for numbers that are not
    whole, a rule or a seed that is none.
    """
    check_seed(seed)
    for name, values in (("ns", ns), ("grids", grids), ("runs", (runs,))):
        for value in values:
            check_whole(name, value, 1)
    for rule in rules:
        check_rule(rule)
    if not len(grids) or not len(rules):
        raise ValueError("at least one size of the grid and one rule are needed")
    rows = []
    for n in ns:
        per_run = [_run(n, grids, rules, np.random.default_rng([seed, n, r])) for r in range(runs)]
        for key in per_run[0]:
            values = np.array([run[key] for run in per_run])
            means, draws = bootstrap.column_means(values, range(runs), 2000, seed)
            for q, name in enumerate(QUANTITIES):
                i = bootstrap.percentile_interval(means[0, q], draws[:, q], np.arange(runs), tested=False)
                rows.append((key[0], n, key[1], name, i.estimate, i.low, i.high, runs))
    return pd.DataFrame(rows, columns=COLUMNS)


def _questions(n: int, candidates: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(chance of harm (n,), outcome of a skip (n,) in -1, 0, 1, scores (candidates, n))."""
    ease = rng.normal(size=n)
    harm = 1 / (1 + np.exp(-(HARM[0] + HARM[1] * ease)))
    u = rng.random(n)
    outcome = np.where(u < harm, -1, np.where(u < harm + HELPED, 1, 0))
    return harm, outcome, -ease + NOISE * rng.normal(size=(candidates, n))


def _run(n: int, grids: Sequence[int], rules: Sequence[Rule], rng: np.random.Generator) -> dict[tuple[str, int], tuple[float, ...]]:
    most = max(grids)
    _, outcome, scores = _questions(n, most, rng)
    fresh_harm, fresh_outcome, fresh_scores = _questions(n, most, rng)
    order = np.argsort(scores, axis=1)
    made = {}
    for rule in rules:
        gained = 100 * np.cumsum(outcome[order], axis=1) / n
        if rule.kind == "budget":
            chance = platt_many(scores, outcome == -1)
            gained = -100 * np.cumsum(np.take_along_axis(chance, order, axis=1), axis=1) / n
        places = np.where(gained >= -rule.points, np.arange(1, n + 1), 0).max(axis=1)
        for grid in grids:
            best = int(places[:grid].argmax())
            skipped = int(places[best])
            threshold = scores[best, order[best, skipped - 1]] if skipped else -np.inf
            skip = fresh_scores[best] <= threshold
            promised = float(gained[best, skipped - 1]) if skipped else 0.0
            made[rule.name, grid] = _told(rule, n, promised, skipped / n, skip, fresh_harm, fresh_outcome)
    return made


def _told(rule: Rule, n: int, promised: float, skip_promised: float, skip: np.ndarray, harm: np.ndarray, outcome: np.ndarray) -> tuple[float, ...]:
    """QUANTITIES of one gate on fresh questions; for a budget only harm counts."""
    helped = HELPED if rule.kind == "coverage" else 0.0
    true = 100 * float((skip * (helped - harm)).mean())
    harmful, beneficial = int((skip & (outcome == -1)).sum()), int((skip & (outcome == 1)).sum()) if rule.kind == "coverage" else 0
    realised, bound = 100 * (beneficial - harmful) / n, lower_bound(beneficial, harmful, n)
    sign = 1 if rule.kind == "coverage" else -1
    return (sign * promised, sign * true, promised - true, skip_promised, float(skip.mean()), float(true >= -rule.points), float(realised >= -rule.points),
            float(bound >= -rule.points))


def platt_many(scores: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Platt-scaled chances (candidates, n) of many scores for the same outcomes, by Newton's method; a constant where nothing or everything happened.

    >>> platt_many(np.array([[0.0, 1.0, 0.0, 1.0]]), np.array([False, True, False, False])).round(3).tolist()
    [[0.0, 0.5, 0.0, 0.5]]
    """
    rate = happened.mean()
    if rate in (0.0, 1.0):
        return np.full(scores.shape, rate)
    slope, intercept = np.zeros(len(scores)), np.full(len(scores), np.log(rate / (1 - rate)))
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(slope[:, None] * scores + intercept[:, None], -30, 30)))
        weight, error = chance * (1 - chance) + 1e-9, happened - chance
        a, b, c = (weight * scores**2).sum(axis=1), (weight * scores).sum(axis=1), weight.sum(axis=1)
        down, up = (error * scores).sum(axis=1), error.sum(axis=1)
        slope, intercept = slope + (c * down - b * up) / (a * c - b * b), intercept + (a * up - b * down) / (a * c - b * b)
    return 1 / (1 + np.exp(-np.clip(slope[:, None] * scores + intercept[:, None], -30, 30)))
