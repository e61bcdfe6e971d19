"""A policy selector: which packer to take for a question, from what is known before anything is read (document 000's "router", section 5.0.0.5).

Nested cross-validation over questions: in each outer fold the models and margins of the grid are tried inside the training questions, and the winner picks a
packer for the questions left out; a question's own outcome never reaches its pick. Never leaving the best fixed packer is in the grid too. ``selector`` leaves
it only for a gain that is clear of 0 although a dozen settings were tried, ``selector_eager`` for any gain at all: if the careful one collapses to the
best fixed packer, the eager one shows what it has thereby missed.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib.headroom import NOT_PACKED, answered
from lib.summaries import PANEL

FEWEST = 40            # questions; below, a fold holds too few for any model
MARGINS = (0.0, 0.02)  # the fixed packer is left for a predicted gain above this, in units of the outcome
CARE = {"selector": 2.6, "selector_eager": 0.0}  # standard errors the gain must exceed; 2.6: one-sided 5 % shared by 12 settings (Bonferroni)
NEVER = "never leave the best fixed packer"
COLUMNS = [*PANEL, "outcome", "selector", "qid", "fold", "model", "pick", "fixed"]


def models(n: int, seed: int) -> dict:
    """The regressors of the grid: each predicts every packer's gain over the fixed one from the features of ``n`` training questions."""
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    leaf = max(5, n // 25)
    ridges = {f"ridge, penalty {a}": make_pipeline(StandardScaler(), Ridge(alpha=a)) for a in (10, 300)}
    trees = {f"tree of depth {d}": DecisionTreeRegressor(max_depth=d, min_samples_leaf=leaf, random_state=seed) for d in (1, 2, 3)}
    return ridges | trees | {"forest": ExtraTreesRegressor(20, min_samples_leaf=leaf, random_state=seed)}


def picks(outcomes: pd.DataFrame, features: pd.DataFrame, measures: Sequence[str] = ("f1",), seed: int = 0, folds: int = 5) -> pd.DataFrame:
    """The packer picked for each question, out of fold: dataset, pack_id, budget, reader, precision, outcome, selector, qid, fold, model, pick, fixed.

    ``fixed`` is the packer that was best among the questions the pick was learned from. ``features`` (``lib.selector_features``) name the pack and budget;
    a panel with fewer than ``FEWEST`` questions, or with one packer, has no rows.
    """
    read, rows = outcomes[(outcomes["reader"] != "none") & ~outcomes["policy"].isin(NOT_PACKED)], []
    known = {k: g.set_index("qid").drop(columns=PANEL[:3]) for k, g in features.groupby(PANEL[:3])}
    for panel, group in read.groupby(PANEL):
        for measure in measures if panel[:3] in known else ():
            wide = answered(group, measure)
            wide = wide[wide.index.isin(known[panel[:3]].index)]  # sorted by qid: neither folds nor models depend on the order of the rows
            if len(wide) >= FEWEST and wide.shape[1] > 1:
                chosen = choose(known[panel[:3]].loc[wide.index].to_numpy(float), wide.to_numpy(), seed, folds)
                named = chosen.assign(**{c: wide.columns[chosen[c]] for c in ("pick", "fixed")}, qid=wide.index[chosen["row"]], outcome=measure)
                rows.append(named.assign(**dict(zip(PANEL, panel))))
    return pd.concat(rows, ignore_index=True)[COLUMNS] if rows else pd.DataFrame(columns=COLUMNS)


def choose(features: np.ndarray, values: np.ndarray, seed: int = 0, folds: int = 5, care: Mapping[str, float] = CARE) -> pd.DataFrame:
    """Out-of-fold picks: selector, row, fold, model, pick, fixed (the last two are columns of ``values``, questions x packers).

    ``features`` (questions x features) may hold NaN. Raises ValueError where the rows differ or are fewer than ``FEWEST``.
    """
    from sklearn.model_selection import KFold

    if len(features) != len(values) or len(values) < FEWEST:
        raise ValueError(f"got {len(features)} rows of features and {len(values)} of outcomes: as many of each, and at least {FEWEST}, are needed")
    out = []
    for fold, (train, test) in enumerate(KFold(folds, shuffle=True, random_state=seed).split(values)):
        tried, fixed = _tried(features[train], values[train], seed), _fixed(values[train])
        for selector, errors in care.items():
            name, margin = _best(tried, errors)
            gains = np.zeros(values[test].shape) if name == NEVER else _gains(models(len(train), seed)[name], features[train], values[train], features[test])
            model = name if name == NEVER else f"{name}, margin {margin}"
            out.append(pd.DataFrame({"row": test, "pick": _take(gains, fixed, margin)}).assign(selector=selector, fold=fold, model=model, fixed=fixed))
    return pd.concat(out, ignore_index=True).sort_values(["selector", "row"], ignore_index=True)


def _tried(features: np.ndarray, values: np.ndarray, seed: int, folds: int = 3) -> dict[tuple[str, float], np.ndarray]:
    """For each model and margin the cross-validated gain over the fixed packer, a value a training question."""
    from sklearn.model_selection import KFold

    tried: dict = {}
    for train, test in KFold(folds, shuffle=True, random_state=seed + 1).split(values):
        fixed = _fixed(values[train])
        for name, model in models(len(train), seed).items():
            gains = _gains(model, features[train], values[train], features[test])
            for margin in MARGINS:
                taken = values[test, _take(gains, fixed, margin)]
                tried.setdefault((name, margin), []).append(taken - values[test, fixed])
    return {setting: np.concatenate(parts) for setting, parts in tried.items()}


def _best(tried: dict[tuple[str, float], np.ndarray], errors: float) -> tuple[str, float]:
    """The setting with the highest gain (ties: the one tried first) if that exceeds ``errors`` standard errors; else never to leave."""
    best = max(tried, key=lambda s: tried[s].mean())
    error = tried[best].std(ddof=1) / np.sqrt(len(tried[best]))
    return best if tried[best].mean() > errors * error and error > 0 else (NEVER, 0.0)


def _fixed(values: np.ndarray) -> int:
    return int(values.mean(axis=0).round(12).argmax())


def _gains(model, features: np.ndarray, values: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Predicted gain of each packer over the fixed one, for the questions ahead; what is missing takes the training median."""
    middle = np.array([np.median(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in features.T])
    model.fit(np.where(np.isnan(features), middle, features), values - values[:, [_fixed(values)]])
    return model.predict(np.where(np.isnan(ahead), middle, ahead)).reshape(len(ahead), -1)


def _take(gains: np.ndarray, fixed: int, margin: float) -> np.ndarray:
    """The packer with the highest predicted gain where that exceeds the margin, else the fixed one."""
    return np.where(gains.max(axis=1) > margin, gains.argmax(axis=1), fixed)
