"""Are a reranker's scores probabilities? Reliability bins, calibration error, Platt scaling fitted on half 0 and judged on half 1 (document 001, SPEC 11)."""
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib.cross_encoder_quality import ece, platt

BINS = 10
RELIABILITY = ["dataset", "form", "half", "bin", "low", "high", "count", "probability", "relevant"]
CALIBRATION = ["dataset", "form", "ece", "ci_low", "ci_high", "probability", "relevant", "n", "clusters"]


def reliability(scores: pd.DataFrame, bins: int = BINS) -> pd.DataFrame:
    """Calibration on half 1, a row a bin of predicted probability with its count, mean probability and share relevant; empty bins have NaN.

    ``form``: sigmoid (the score read as a logit) and platt (slope and intercept fitted on half 0). No rows of platt where half 0 has one class only.
    """
    made = []
    for dataset, form, probabilities, relevant, _ in _judged(scores):
        place = np.minimum((probabilities * bins).astype(int), bins - 1)
        for b in range(bins):
            here = place == b
            means = (probabilities[here].mean(), relevant[here].mean()) if here.any() else (math.nan, math.nan)
            made.append((dataset, form, "1", b, b / bins, (b + 1) / bins, int(here.sum()), *means))
    return pd.DataFrame(made, columns=RELIABILITY)


def calibration(scores: pd.DataFrame, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Expected calibration error of sigmoid and platt on half 1, with interval; mean probability beside the share relevant.

    An error of binned means is never negative, so its interval leans upwards; with rare relevance a constant near 0 is well calibrated and of no use.
    """
    made = []
    for dataset, form, probabilities, relevant, clusters in _judged(scores):
        i = ece(probabilities, relevant, clusters, resamples, seed)
        made.append((dataset, form, i.estimate, i.low, i.high, float(probabilities.mean()), float(relevant.mean()), i.n, i.clusters))
    return pd.DataFrame(made, columns=CALIBRATION)


def _judged(scores: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, list]]:
    """(dataset, form, probabilities, relevant, clusters) on half 1."""
    for dataset, part in scores.dropna(subset=["score"]).groupby("dataset"):
        half, logits, relevant = part["half"].to_numpy(int), part["score"].to_numpy(float), part["grade"].to_numpy(float) > 0
        if not (half == 1).any():
            continue
        there, clusters = half == 1, part.loc[half == 1, "qid"].tolist()
        yield dataset, "sigmoid", 1 / (1 + np.exp(-logits[there])), relevant[there], clusters
        if len(set(relevant[~there])) == 2:
            yield dataset, "platt", platt(logits[~there], relevant[~there], logits[there])[0], relevant[there], clusters
