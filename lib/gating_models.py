"""The models of a gate, and how their grid is spelt: logistic regression, forest, histogram boosting, on 27 features and a PCA of the question (document 002).

The document names the three kinds and no setting of them; ours are small and stand here.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lib.whole import check_seed, check_whole

LABELS = ("rerank_helps", "fallback_has_gold")
FOREST = {"n_estimators": 40, "min_samples_leaf": 5, "max_features": "sqrt"}
BOOSTING = {"max_iter": 40, "learning_rate": 0.1, "max_leaf_nodes": 7, "min_samples_leaf": 10, "early_stopping": False}
PENALTY = 1.0  # C of the logistic regression, on standardised columns
CLIP = 1e-3    # probabilities are kept this far from 0 and 1 before their logit is taken


class Grid(NamedTuple):
    """What the inner folds choose from; ``constants``: never and always skip, which need no model."""

    models: tuple[str, ...]
    pcas: tuple[int, ...]
    labels: tuple[str, ...] = LABELS
    fallbacks: tuple[str, ...] = ("H", "D")
    constants: tuple[str, ...] = ("never", "always")
    inner: int = 3


FULL = Grid(("lr", "rf", "gbm"), (0, 8, 32))
SMALL = Grid(("lr", "gbm"), (8,))


def grid_of(name: str) -> Grid:
    """A grid by name: full, as the document's, or small, for speed; raises ValueError for another name."""
    grids = {"full": FULL, "small": SMALL}
    if not isinstance(name, str) or name not in grids:
        raise ValueError(f"a grid is {' or '.join(grids)}, got {name!r}")
    return grids[name]


def check_grid(grid: Grid) -> None:
    """Raise ValueError for a grid that no fold can choose from."""
    known = {"models": ("lr", "rf", "gbm"), "labels": LABELS, "fallbacks": ("H", "D", "oracle"), "constants": ("never", "always")}
    for name, allowed in known.items():
        told = getattr(grid, name)
        if isinstance(told, str) or [v for v in told if v not in allowed] or len(set(told)) < len(told):
            raise ValueError(f"the grid holds {name} {told!r}; a tuple of {', '.join(allowed)} is expected, each at most once")
    for pca in grid.pcas:
        check_whole("grid.pcas", pca, 0)
    check_whole("grid.inner", grid.inner, 2)
    if len(set(grid.pcas)) < len(grid.pcas) or grid.models and not (grid.pcas and grid.labels and grid.fallbacks):
        raise ValueError(f"a grid with models needs pcas, labels and fallbacks, each once, got pcas {grid.pcas}, labels {grid.labels}, {grid.fallbacks}")


class Basis(NamedTuple):
    """Centre (d,) and directions (d, size) of a PCA."""

    centre: np.ndarray
    directions: np.ndarray


class Scorer(NamedTuple):
    """A fitted model with its basis: all that is needed to score a question."""

    model: Any
    basis: Basis
    label: str


def basis_of(vectors: np.ndarray, size: int) -> Basis:
    """Principal directions of ``vectors`` (n, d), at most ``size``; the largest entry of each is positive, so that its sign means the same everywhere."""
    centre = vectors.mean(axis=0)
    size = min(size, *vectors.shape)
    if not size:
        return Basis(centre, np.zeros((vectors.shape[1], 0)))
    directions = np.linalg.svd(vectors - centre, full_matrices=False)[2][:size].T
    return Basis(centre, directions * np.sign(directions[np.abs(directions).argmax(axis=0), range(size)]))


def cut(basis: Basis, size: int) -> Basis:
    """The first ``size`` directions."""
    return Basis(basis.centre, basis.directions[:, :size])


def design(features: np.ndarray, vectors: np.ndarray, basis: Basis) -> np.ndarray:
    """(n, 27 + size): what a model sees."""
    return np.hstack([features, (vectors - basis.centre) @ basis.directions])


def fit(kind: str, x: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """A fitted model of ``kind`` (lr, rf or gbm); y holds both classes. Raises ValueError for another kind, a seed that is none, and one class alone."""
    check_seed(seed)
    if not 0 < np.sum(y) < len(y):
        raise ValueError(f"{len(y)} questions, of which {int(np.sum(y))} have the label: both classes are needed to learn one; give more questions")
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "lr":
        return make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=300)).fit(x, y)
    if kind == "rf":
        return RandomForestClassifier(**FOREST, random_state=seed).fit(x, y)
    if kind == "gbm":
        return HistGradientBoostingClassifier(**BOOSTING, random_state=seed).fit(x, y)
    raise ValueError(f"a model is lr, rf or gbm, got {kind!r}")


def raw_harm(chance: np.ndarray, label: str) -> np.ndarray:
    """The model's chance of ``label`` read as a chance of harm, before calibration: that the fallback lacks the gold bounds harm from above."""
    return chance if label == "rerank_helps" else 1 - chance


def logit(chance: np.ndarray) -> np.ndarray:
    """Log-odds, of chances kept off 0 and 1.

    >>> logit(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 6.91]
    """
    kept = np.clip(chance, CLIP, 1 - CLIP)
    return np.log(kept / (1 - kept))


def score(scorer: Scorer, features: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Raw chance of harm (n,) of questions with ``features`` (n, 27) and ``vectors`` (n, d)."""
    return raw_harm(scorer.model.predict_proba(design(features, vectors, scorer.basis))[:, 1], scorer.label)
