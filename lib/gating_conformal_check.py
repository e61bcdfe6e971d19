"""Do the promises of conformal gates hold? Two hundred calibration draws from a population whose chances of harm are known (SPEC 12, "Beyond")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.gating_conformal import DELTA, METHODS, check_promise, threshold_of
from lib.gating_inputs import question_sets
from lib.gating_models import basis_of, design, fit
from lib.gating_simulated import simulated
from lib.whole import check_seed, check_whole

CHECK = ["method", "budget", "delta", "n", "mean_harm", "ci_low", "ci_high", "violations", "violations_low", "violations_high", "skip", "nothing",
         "kept", "runs"]


def known_scores(n: int = 4000, train: int = 400, k: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(what a logistic gate learned from ``train`` other questions says, the true chance that a skip harms), each (n,): the population to draw from."""
    check_whole("n", n, 1)
    check_whole("train", train, 2)
    s = simulated(n + train, seed, ks=(k,))
    data = question_sets(s.lists, s.targets, s.questions, s.vectors)[0][0]
    truth = s.truth[s.truth["k"] == k].set_index("qid").loc[data.qids, "p_harm"].to_numpy()
    harm = (data.ranks["R"] <= k) & (data.ranks["H"] > k)
    learn, rest = np.arange(train), np.arange(train, n + train)
    basis = basis_of(data.vectors[learn], 0)
    model = fit("lr", design(data.features[learn], data.vectors[learn], basis), harm[learn], seed)
    return model.predict_proba(design(data.features[rest], data.vectors[rest], basis))[:, 1], truth[rest]


def promises_table(scores: np.ndarray, truth: np.ndarray, budgets: Sequence[float] = (1.0, 2.0), sizes: Sequence[int] = (150, 300, 1000), runs: int = 200,
                   delta: float = DELTA, seed: int = 0) -> pd.DataFrame:
    """A row a method, budget (pp) and number of calibration questions, over ``runs`` draws.

    Each draw takes n questions at random from the population, with outcomes by their true chances, and sets a threshold. ``mean_harm``: the mean over draws
    of the *true* harm in the population, pp, with interval; ``violations``: the share of draws whose true harm is above the budget, with its exact interval;
    ``skip``: share skipped; ``nothing``: share of draws that skip nothing. ``kept``: whether the draws are compatible with the method's promise (conformal: the
    mean; high probability: violations of at most delta); missing for ``as seen``, which promises nothing.
    """
    if not 0 < len(scores) == len(truth) or not np.isfinite([scores, truth]).all():
        raise ValueError(f"a population needs a score and a true chance of harm each, got {len(scores)} and {len(truth)}; see known_scores")
    check_seed(seed)
    for name, values in (("sizes", sizes), ("runs", (runs,))):
        for value in values:
            check_whole(name, value, 1)
    for budget in budgets:
        check_promise(budget, METHODS[0], delta)
    order = np.argsort(scores, kind="stable")
    ranked, harm_upto = scores[order], np.append(0.0, 100 * np.cumsum(truth[order]) / len(truth))
    rows = []
    for n in sizes:
        draws = [_draw(scores, truth, n, np.random.default_rng([seed, n, r])) for r in range(runs)]
        for budget in budgets:
            for method in METHODS:
                cuts = np.array([threshold_of(p, harm, budget, method, delta) for p, harm in draws])
                skipped = np.searchsorted(ranked, cuts, side="right")
                rows.append((method, budget, delta, n, *_told(method, budget, delta, harm_upto[skipped], skipped / len(scores), seed), runs))
    return pd.DataFrame(rows, columns=CHECK)


def _draw(scores: np.ndarray, truth: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    drawn = rng.integers(len(scores), size=n)
    return scores[drawn], rng.random(n) < truth[drawn]


def _told(method: str, budget: float, delta: float, harms: np.ndarray, skip: np.ndarray, seed: int) -> tuple:
    from scipy.stats import binomtest

    means, drawn = bootstrap.column_means(harms, range(len(harms)), 2000, seed)
    mean = bootstrap.percentile_interval(means[0, 0], drawn[:, 0], np.arange(len(harms)), tested=False)
    broken = int((harms > budget).sum())
    exact = binomtest(broken, len(harms)).proportion_ci()
    kept = {"as seen": None, "conformal": not mean.low > budget, "high probability": not exact.low > delta}[method]
    return mean.estimate, mean.low, mean.high, broken / len(harms), exact.low, exact.high, float(skip.mean()), float((skip == 0).mean()), kept
