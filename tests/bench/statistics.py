"""Many contrasts in one draw, against scipy.stats.bootstrap per contrast; both in one process on the same paired differences."""
from __future__ import annotations

import time

import numpy as np
from scipy.stats import bootstrap as scipy_bootstrap

from lib import stats

QUESTIONS, CONTRASTS, RESAMPLES, FEW = 1_500, 40, 10_000, 500
BATCHES = (20, 100, 500)  # scipy's own setting (all at once) is the slowest; it gets the best of these


def differences(seed: int = 0) -> np.ndarray:
    """(questions, contrasts): most questions tie, the others jump, as differences of F1 do."""
    rng = np.random.default_rng(seed)
    jumps = rng.choice([-1, -0.67, -0.5, 0.4, 0.5, 1], size=(QUESTIONS, CONTRASTS))
    return np.where(rng.random((QUESTIONS, CONTRASTS)) < 0.2, jumps, 0.0)


def bench_contrasts() -> str:
    """40 contrasts of 1,500 questions, 10,000 paired resamples: intervals and p-values here, intervals only from scipy."""
    deltas, names = differences(), [f"q{i}" for i in range(QUESTIONS)]
    ours, found = _seconds(lambda: stats.paired_cluster_bootstraps(deltas, names, RESAMPLES), repeats=3)
    batch = min(BATCHES, key=lambda b: _seconds(lambda: _scipy(deltas[:, 0], batch=b), repeats=2)[0])
    vectorised, theirs = _seconds(lambda: [_scipy(d, batch=batch) for d in deltas.T])
    joint, _ = _seconds(lambda: _scipy(deltas, batch=batch, axis=0))
    generic, _ = _seconds(lambda: [_scipy(d, n_resamples=FEW, vectorized=False) for d in deltas.T])
    generic *= RESAMPLES / FEW
    apart = max(abs(a.low - b.confidence_interval.low) for a, b in zip(found, theirs))
    return (f"{CONTRASTS} contrasts of {QUESTIONS:,} questions, {RESAMPLES:,} resamples: {ours:.2f} CPU-s in one draw; scipy.stats.bootstrap per contrast, "
            f"vectorised (batch {batch}): {vectorised / ours:.0f} times that; generic path (measured on {FEW} resamples and scaled): {generic / ours:.0f} times; "
            f"scipy with all contrasts in one call: {joint / ours:.0f} times; lower ends differ by {apart:.4f} at most")


def _scipy(deltas: np.ndarray, n_resamples: int = RESAMPLES, **path):
    settings = {"method": "percentile", "vectorized": True, "rng": np.random.default_rng(0)}
    return scipy_bootstrap((deltas,), np.mean, n_resamples=n_resamples, **settings | path)


def _seconds(call, repeats: int = 1):
    """(least CPU-seconds of this process, result) over ``repeats`` runs."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        spent.append(time.process_time() - start)
    return min(spent), result


if __name__ == "__main__":
    print(bench_contrasts())
