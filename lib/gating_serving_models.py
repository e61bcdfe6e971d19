"""A fitted model as plain numbers, and its score of one question without scikit-learn: logistic regression, forest, histogram boosting (document 002).

Trees are laid out in one array of nodes each for feature, threshold, left and right child and value; ``roots`` says where each tree starts. A question walks
down all trees at once. A leaf is its own child, so walking on does no harm.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lib.whole import is_number

KINDS = ("lr", "rf", "gbm")
NODES = ("feature", "threshold", "left", "right", "value")
ARRAYS = {"lr": ("mean", "scale", "coefficients"), "rf": ("roots", *NODES), "gbm": ("roots", *NODES)}
NUMBERS = {"lr": ("intercept",), "rf": ("depth",), "gbm": ("depth", "baseline")}


def exported(model: Any, kind: str) -> dict:
    """The numbers of a fitted model of ``lib.gating_models``: arrays and numbers by name. Raises ValueError for a kind that cannot be served."""
    if kind == "lr":
        scaler, logistic = model[0], model[1]
        return {"mean": scaler.mean_, "scale": scaler.scale_, "coefficients": logistic.coef_[0], "intercept": float(logistic.intercept_[0])}
    if kind == "rf":
        return _joined([_forest_tree(t.tree_) for t in model.estimators_])
    if kind == "gbm":
        return _joined([_boosted_tree(t[0].nodes) for t in model._predictors]) | {"baseline": float(np.ravel(model._baseline_prediction)[0])}
    raise ValueError(f"a model that can be served is {', '.join(KINDS)}, got {kind!r}; choose from a grid of these")


def _forest_tree(tree: Any) -> dict[str, np.ndarray]:
    leaf = tree.children_left < 0
    share = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    return {"feature": np.where(leaf, 0, tree.feature), "threshold": tree.threshold, "left": tree.children_left, "right": tree.children_right, "leaf": leaf,
            "value": share[:, 1]}


def _boosted_tree(nodes: np.ndarray) -> dict[str, np.ndarray]:
    leaf = nodes["is_leaf"].astype(bool)
    return {"feature": np.where(leaf, 0, nodes["feature_idx"]), "threshold": nodes["num_threshold"], "left": nodes["left"].astype(int),
            "right": nodes["right"].astype(int), "leaf": leaf, "value": nodes["value"]}


def _joined(trees: list[dict[str, np.ndarray]]) -> dict:
    """Trees in one layout; a leaf points to itself, its threshold is 0; ``depth``: the most steps from a root to a leaf."""
    sizes = [len(t["leaf"]) for t in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    made: dict[str, Any] = {"roots": roots}
    for name in NODES:
        made[name] = np.concatenate([t[name] + root if name in ("left", "right") else t[name] for t, root in zip(trees, roots)])
    leaf, own = np.concatenate([t["leaf"] for t in trees]), np.arange(sum(sizes))
    made["left"], made["right"] = np.where(leaf, own, made["left"]), np.where(leaf, own, made["right"])
    made["threshold"] = np.where(leaf, 0.0, made["threshold"])
    at, depth = roots, 0
    reached = np.unique(at)
    while not leaf[reached].all():
        reached, depth = np.unique(np.concatenate([made["left"][reached], made["right"][reached]])), depth + 1
    return made | {"depth": depth}


def checked(numbers: Mapping[str, Any], kind: str, inputs: int) -> dict:
    """``numbers`` as arrays, if they make a model of ``kind`` on ``inputs`` columns; raises ValueError saying which do not."""
    if kind not in KINDS:
        raise ValueError(f"a model that can be served is {', '.join(KINDS)}, got {kind!r}")
    if wrong := sorted({*ARRAYS[kind], *NUMBERS[kind]} ^ set(numbers)):
        raise ValueError(f"a model of kind {kind} has {', '.join((*ARRAYS[kind], *NUMBERS[kind]))}; {wrong} are missing or too many")
    whole = {"roots", "feature", "left", "right", "depth"}
    made = {n: np.asarray(numbers[n], float) for n in (*ARRAYS[kind], *NUMBERS[kind])}
    parted = any(((made[n] % 1 != 0) | (np.abs(made[n]) > 2**53)).any() for n in whole & set(made))
    if parted or any(made[n].ndim != 1 for n in ARRAYS[kind]) or any(made[n].ndim for n in NUMBERS[kind]):
        raise ValueError(f"the {kind} model's arrays are no flat lists, or hold parts of a whole number")
    made |= {n: made[n].astype(int) for n in whole & set(made)}
    lengths = {len(made[n]) for n in (ARRAYS["lr"] if kind == "lr" else NODES)}
    nodes = lengths.pop() if len(lengths) == 1 else -1
    sound = nodes == inputs and bool((made["scale"] > 0).all()) if kind == "lr" else nodes > 0 and len(made["roots"]) > 0 and _sound(made, nodes, inputs)
    if not sound or not all(np.isfinite(a).all() for a in made.values()):
        raise ValueError(f"the {kind} model's arrays do not fit each other or {inputs} inputs")
    return made | {n: made[n].item() for n in NUMBERS[kind]}


def _sound(trees: Mapping[str, np.ndarray], nodes: int, inputs: int) -> bool:
    inside = all(((0 <= trees[n]) & (trees[n] < nodes)).all() for n in ("roots", "left", "right"))
    return inside and bool(((0 <= trees["feature"]) & (trees["feature"] < inputs)).all()) and 0 <= int(trees["depth"]) <= nodes


def checked_summary(told: object, names: Sequence[str], inputs: int) -> dict[str, dict[str, Any]]:
    """The training summary by input, edges and shares as arrays; raises ValueError where it is none, ``names`` being its first ``inputs``."""
    made: dict[str, dict[str, Any]] = {}
    for row in told if isinstance(told, list) else []:
        if not isinstance(row, Mapping) or (absent := [n for n in ("name", "low", "high", "edges", "shares") if n not in row]):
            raise ValueError(f"the training summary's row {len(made) + 1} lacks {', '.join(absent) if isinstance(row, Mapping) else 'everything'}")
        edges, shares = np.array(row["edges"], float), np.array(row["shares"], float)
        ordered = edges.ndim == shares.ndim == 1 and bool((np.diff(edges) > 0).all()) and bool(np.isfinite(edges).all())
        if not ordered or len(shares) != len(edges) + 1 or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
            raise ValueError(f"input {row['name']!r} has {edges.size} edges and {shares.size} shares; edges rise, and shares, one more than these, add up to 1")
        if not is_number(row["low"]) or not is_number(row["high"], row["low"]):
            raise ValueError(f"input {row['name']!r} has the range {row['low']!r} to {row['high']!r}; two finite numbers in order are expected")
        made[row["name"]] = {**row, "edges": edges, "shares": shares}
    if list(made)[: len(names)] != list(names) or len(made) != inputs or len(told) != inputs:
        raise ValueError(f"the training summary names {len(made)} inputs, the gate reads {inputs}, the features first")
    return made


def chance(numbers: Mapping[str, Any], kind: str, x: np.ndarray) -> float:
    """The model's chance of its label for one question's inputs (n_inputs,), as scikit-learn's predict_proba says it.

    >>> round(chance({"mean": np.zeros(1), "scale": np.ones(1), "coefficients": np.ones(1), "intercept": 0.0}, "lr", np.zeros(1)), 3)
    0.5
    """
    if kind == "lr":
        return _sigmoid(float(((x - numbers["mean"]) / numbers["scale"]) @ numbers["coefficients"]) + numbers["intercept"])
    values = numbers["value"][_leaves(numbers, x.astype(np.float32) if kind == "rf" else x)]  # a forest of scikit-learn looks at single precision
    return float(values.mean()) if kind == "rf" else _sigmoid(numbers["baseline"] + float(values.sum()))


def _leaves(trees: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    at = trees["roots"]
    for _ in range(trees["depth"]):
        at = np.where(x[trees["feature"][at]] <= trees["threshold"][at], trees["left"][at], trees["right"][at])
    return at


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -700, 700))))
