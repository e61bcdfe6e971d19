"""Folds by hash, out-of-fold scores of a training fold, and their calibration: what a choice inside a training fold is built from (document 002, section 3)."""
from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from lib.cross_encoder_quality import platt
from lib.gating_inputs import QuestionSet
from lib.gating_models import Grid, Scorer, basis_of, cut, design, fit, logit
from lib.whole import check_seed


def folds_of(qids: Sequence[str], folds: int, seed: int, name: str) -> np.ndarray:
    """A fold a question, sizes equal to one, by the order of hashes: the order of the rows does not matter. Raises ValueError for a seed that is none.

    >>> sorted(folds_of(["a", "b", "c"], 3, 0, "outer").tolist())
    [0, 1, 2]
    """
    check_seed(seed)
    keys = [hashlib.sha256(f"{name}:{seed}:{q}".encode()).hexdigest() for q in qids]
    place = np.empty(len(keys), int)
    place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return place % folds


class Learner:
    """Out-of-fold scores of the questions ``train``, each (model, PCA, labels) fitted once, whatever K, rule and list asks for it; ``inner``: a fold each."""

    def __init__(self, data: QuestionSet, train: np.ndarray, inner: np.ndarray, grid: Grid, seed: int):
        self.data, self.train, self.seed, self.known = data, train, seed, {}
        self.parts = [(np.flatnonzero(inner != j), np.flatnonzero(inner == j)) for j in np.unique(inner)]
        self.most = max(grid.pcas, default=0)
        self.bases = [basis_of(data.vectors[train[kept]], self.most) if len(kept) else None for kept, _ in self.parts]

    def learnable(self, y: np.ndarray) -> bool:
        """Whether every inner training part has both classes."""
        return len(self.parts) > 1 and all(0 < y[kept].sum() < len(kept) for kept, _ in self.parts)

    def out_of_fold(self, model: str, pca: int, y: np.ndarray) -> np.ndarray:
        """The chance of ``y`` for each training question, from the inner folds without it."""
        key = (model, pca, y.tobytes())
        if key not in self.known:
            chance = np.empty(len(y))
            for (kept, ahead), basis in zip(self.parts, self.bases):
                x = design(self.data.features[self.train], self.data.vectors[self.train], cut(basis, pca))
                chance[ahead] = fit(model, x[kept], y[kept], self.seed).predict_proba(x[ahead])[:, 1]
            self.known[key] = chance
        return self.known[key]

    def refitted(self, model: str, pca: int, label: str, y: np.ndarray) -> Scorer:
        """The model on the whole training fold."""
        key = (model, pca, label, y.tobytes())
        if key not in self.known:
            features, vectors = self.data.features[self.train], self.data.vectors[self.train]
            basis = basis_of(vectors, pca)
            self.known[key] = Scorer(fit(model, design(features, vectors, basis), y, self.seed), basis, label)
        return self.known[key]


def scaling(raw: np.ndarray, harm: np.ndarray) -> tuple[float, float]:
    """Platt's slope and intercept for raw chances of harm; where the slope would be negative, 0 and the base rate.

    A model whose out-of-fold order runs backwards knows nothing. To turn it round would be to learn noise, which held-out questions pay for.
    """
    slope, intercept = platt(logit(raw), harm, logit(raw))[1]
    return (slope, intercept) if slope > 0 else (0.0, float(np.log(harm.mean() / (1 - harm.mean()))))


def calibrated(raw: np.ndarray, slope: float, intercept: float) -> np.ndarray:
    """Platt scaling of raw chances.

    >>> calibrated(np.array([0.25]), 1.0, 0.0).round(6).tolist()
    [0.25]
    """
    from scipy.special import expit  # quiet where a steep slope overflows

    return expit(slope * logit(raw) + intercept)
