"""Nested cross-validation of a gate in one call: all is chosen inside the training fold and applied once to the questions left out (document 002).

``nested`` gives three tables. *decisions*: a row a question, K and rule, out of fold, with all that any later table needs. *choices*: what each fold chose and
what its inner folds promised. *tried*: every configuration that was in the running.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.gating_choose import RULES, Rule
from lib.gating_inputs import QuestionSet
from lib.gating_learner import folds_of
from lib.gating_models import FULL, Grid
from lib.gating_select import Gate, chances, check_asked, hits_of, select, skips
from lib.whole import check_seed, check_whole, is_whole

KS = (1, 5, 10)
OUTER = 5
CELL = ["dataset", "k", "rule"]
DECISIONS = ["dataset", "qid", "k", "rule", "fold", "p_harm", "p_raw", "skip", "fallback", "rerank_hit", "h_hit", "d_hit"]
CHOICES = [*CELL, "fold", "model", "label", "fallback", "pca", "slope", "intercept", "threshold", "inner_skip", "inner_delta", "inner_expected",
           "inner_harmful", "inner_beneficial", "base_rate", "n_train", "positives", "n_test"]
TRIED = [*CELL, "fold", "model", "label", "fallback", "pca", "available", "inner_skip", "inner_delta", "inner_expected"]


class Nested(NamedTuple):
    """The three tables of a run: columns DECISIONS, CHOICES and TRIED."""

    decisions: pd.DataFrame
    choices: pd.DataFrame
    tried: pd.DataFrame


def nested(sets: Sequence[QuestionSet], ks: Sequence[int] = KS, rules: Sequence[Rule] = RULES, grid: Grid = FULL, seed: int = 0, outer: int = OUTER,
           jobs: int = 1) -> Nested:
    """The protocol on every data set, ``jobs`` outer folds at a time, which changes no number. Raises ValueError for what ``check`` refuses."""
    check(sets, ks, rules, grid, seed, outer)
    if not is_whole(jobs, 1) and jobs != -1:
        raise ValueError(f"jobs must be a whole number of 1 or more, or -1 for all cores, got {jobs!r}")
    tasks = [(data, train, test, fold) for data in sets for fold, train, test in outer_folds(data, outer, seed)]
    found = _each(tasks, lambda data, train, test, fold: fold_tables(data, train, test, fold, ks, rules, grid, seed), jobs)
    parts = [pd.concat(tables, ignore_index=True) if tables else None for tables in zip(*found)] or [None] * 3
    made = [part if part is not None else pd.DataFrame(columns=c) for part, c in zip(parts, (DECISIONS, CHOICES, TRIED))]
    return Nested(made[0].sort_values([*CELL, "qid"], ignore_index=True), *(t.sort_values([*CELL, "fold"], kind="stable", ignore_index=True) for t in made[1:]))


def check(sets: Sequence[QuestionSet], ks: Sequence[int], rules: Sequence[Rule], grid: Grid, seed: int, outer: int) -> None:
    """Raise ValueError for what no run can use, before anything is fitted."""
    check_whole("outer", outer, 2)
    check_asked(ks, rules, grid, seed)
    check_sets(sets)


def check_sets(sets: Sequence[QuestionSet]) -> None:
    """Raise ValueError where two data sets have one name, or two questions of one data set."""
    names = [data.dataset for data in sets]
    if len(set(names)) < len(names):
        raise ValueError(f"the data sets are called {names}; give each a name of its own, or join their questions")
    for data in sets:
        if len(set(data.qids)) < len(data.qids):
            raise ValueError(f"{data.dataset}: {len(data.qids)} questions have {len(set(data.qids))} qids; give each question a qid of its own")


def outer_folds(data: QuestionSet, outer: int = OUTER, seed: int = 0) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(fold, train, test), positions in ``data``, for each fold that has questions. Raises ValueError for fewer than two folds and a seed that is none."""
    check_whole("outer", outer, 2)
    check_seed(seed)
    folds = folds_of(data.qids, outer, seed, "outer")
    return [(f, np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(outer) if (folds == f).any()]


def _each(tasks: list[tuple], call, jobs: int) -> list:
    if jobs == 1:
        return [call(*task) for task in tasks]
    from joblib import Parallel, delayed

    return Parallel(n_jobs=jobs)(delayed(call)(*task) for task in tasks)


def fold_tables(data: QuestionSet, train: np.ndarray, test: np.ndarray, fold: int, ks: Sequence[int], rules: Sequence[Rule], grid: Grid,
                seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Decisions, choices and tried configurations of one outer fold: the labels of ``test`` are read only to fill in the hits."""
    gates, tried = select(data, train, ks, rules, grid, seed)
    decisions = decide(data, gates, train, test).assign(fold=fold)
    log = pd.DataFrame([logged(g) for g in gates]).assign(fold=fold, n_test=len(test))
    return decisions[DECISIONS], log[CHOICES], pd.DataFrame(tried).assign(dataset=data.dataset, fold=fold)[TRIED]


def decide(data: QuestionSet, gates: Sequence[Gate], train: np.ndarray, test: np.ndarray) -> pd.DataFrame:
    """What ``gates``, learned from ``train``, do with the questions ``test``, and what each list would have found; D is learned from all of ``train``."""
    ranks = {name: data.ranks[name][test] for name in ("H", "R")}
    if data.distil is not None and len(train):
        ranks["D"] = data.distil(train, test)
    rows = []
    for gate in gates:
        hits, choice = hits_of(ranks, gate.choice.k), gate.choice
        p_harm, p_raw = chances(gate, data.features[test], data.vectors[test])
        rows.append(pd.DataFrame({
            "dataset": data.dataset, "qid": data.qids[test], "k": choice.k, "rule": choice.rule, "p_harm": p_harm, "p_raw": p_raw, "skip": skips(gate, p_harm),
            "fallback": choice.fallback, "rerank_hit": hits["R"], "h_hit": hits["H"], "d_hit": hits["D"].astype(float) if "D" in hits else np.nan}))
    return pd.concat(rows, ignore_index=True)


def logged(gate: Gate) -> dict:
    """A gate's choice as a row of the log, its fold and ``n_test`` aside."""
    c = gate.choice
    own = {name: getattr(c, name) for name in ("dataset", "k", "rule", "model", "label", "fallback", "pca", "slope", "intercept", "base_rate", "positives")}
    inner = {f"inner_{name}": getattr(c.cut, name) for name in ("skip", "delta", "expected", "harmful", "beneficial")}
    return own | inner | {"n_train": c.n, "threshold": c.cut.threshold if np.isfinite(c.cut.threshold) else np.nan}
