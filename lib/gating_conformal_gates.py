"""Conformal gates on held-out questions: half of each training fold learns the gate, the other half sets its threshold (SPEC 12, "Beyond")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.gating_choose import Rule
from lib.gating_conformal import DELTA, check_promise, threshold_of
from lib.gating_inputs import QuestionSet
from lib.gating_learner import folds_of
from lib.gating_models import Grid
from lib.gating_nested import CELL, DECISIONS, KS, OUTER, check, decide, outer_folds
from lib.gating_outcomes import outcomes
from lib.gating_select import select

GRID = Grid(("lr",), (0, 8), labels=("rerank_helps",), constants=())
LOG = [*CELL, "fold", "model", "fallback", "threshold", "n_learn", "n_calibration", "harms"]


def conformal_gates(sets: Sequence[QuestionSet], budgets: Sequence[float] = (0.5, 1.0, 2.0), method: str = "conformal", ks: Sequence[int] = KS,
                    delta: float = DELTA, grid: Grid = GRID, choose: float = 1.0, seed: int = 0, outer: int = OUTER) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(decisions, log): rules ``budget 0.5`` and so on, with thresholds by ``method`` of ``lib.gating_conformal``.

    The learning half chooses model and fallback as for a budget of ``choose`` pp, scales the chances and learns D; the calibration half only sets thresholds,
    once a budget. Log: dataset, k, rule, fold, model, fallback, threshold (missing: skip nothing), sizes of both halves, harms (calibration questions that a
    skip would harm). Raises ValueError for an unknown method, K or budget.
    """
    for budget in budgets:
        check_promise(budget, method, delta)
    rules = [Rule(f"budget {b:g}", "budget", float(b)) for b in budgets]
    check(sets, ks, rules, grid, seed, outer)
    made, log = [], []
    for data in sets:
        for fold, train, test in outer_folds(data, outer, seed):
            half = folds_of(data.qids[train], 2, seed, "calibration")
            learn, calibration = train[half == 0], train[half == 1]
            gates = select(data, learn, ks, [Rule("choose", "budget", choose)], grid, seed)[0]
            seen, held_out = (decide(data, gates, learn, part).assign(fold=fold) for part in (calibration, test))
            for k in ks:
                tables = _thresholds(outcomes(seen[seen["k"] == k]), held_out[held_out["k"] == k], rules, method, delta)
                gate = next(g.choice for g in gates if g.choice.k == k)
                for rule, table, threshold, harms in tables:
                    made.append(table)
                    log.append((data.dataset, k, rule, fold, gate.model, gate.fallback, threshold, len(learn), len(calibration), harms))
    decisions = pd.concat(made, ignore_index=True)[DECISIONS] if made else pd.DataFrame(columns=DECISIONS)
    return decisions.sort_values([*CELL, "qid"], ignore_index=True), pd.DataFrame(log, columns=LOG)


def _thresholds(seen: pd.DataFrame, held_out: pd.DataFrame, rules: Sequence[Rule], method: str, delta: float) -> list[tuple]:
    """(rule, decisions, threshold, harms) by rule; a gate without a fallback skips nothing."""
    able = bool((held_out["fallback"] != "none").all()) and bool(held_out["p_harm"].notna().all())
    p, harm = seen["p_harm"].to_numpy(float), seen["harm"].to_numpy(bool)
    made = []
    for rule in rules:
        cut = threshold_of(p, harm, rule.points, method, delta) if able else -np.inf
        skip = held_out["p_harm"].to_numpy(float) <= cut
        made.append((rule.name, held_out.assign(rule=rule.name, skip=skip), cut if np.isfinite(cut) else np.nan, int(harm.sum())))
    return made
