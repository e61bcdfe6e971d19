"""Does a signal foretell the small reranker's errors? Thresholds are chosen on half 0 and confirmed on half 1 (document 001; SPEC 1, 11).

An error is a question on which the large reranker does better than the small one. A signal is worth something only if escalating by it beats escalating
as many questions by lot: such a coin lifts quality by its share of what the large one gains, and costs the same.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.bootstrap import RESAMPLES, Interval
from lib.cross_encoder_quality import pairwise_auc
from lib.ranking import QUESTION
from lib.rerankers import Reranker, ask, told
from lib.rerankers_lists import first_lists
from lib.rerankers_signals import SIGNALS, Read, Signal
from lib.whole import is_number

COLUMNS = ["tier", "dataset", "small", "large", "signal", "threshold", "half", "quantity", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "n",
           "clusters"]
Quality = Callable[[str, str, list[str]], float]
BASE = (*QUESTION, "half", "small", "large", "small_tokens", "large_tokens")
TESTED = ("delta_small", "delta_large", "delta_coin")
NO_INTERVAL = Interval(math.nan, math.nan, math.nan, math.nan, 0, 0)


def cascade_rows(rankings: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, small: Reranker, large: Reranker,
                 quality: Quality, depth: int, first: str = "hybrid", scope: str = "pooled", signals: dict[str, Signal] | None = None) -> pd.DataFrame:
    """A row a question: dataset, qid, half, small and large (quality), their tokens, and a column for each signal.

    ``quality(dataset, qid, doc_ids)`` is the quality of an ordered list, NaN where undefined, such as nDCG at 5 from the gold table.
    """
    every, rows = signals or SIGNALS, []
    halves = {(d, q): h for d, q, h in zip(questions["dataset"], questions["qid"], questions["half"])}
    for (dataset, qid), question, docs, texts in first_lists(rankings, questions, documents, first, scope):
        if not told(question):
            continue
        made = {which: ask(model, question, texts[:depth]) for which, model in (("small", small), ("large", large))}
        got = {which: quality(dataset, qid, [docs[i] for i in m.order]) for which, m in made.items()}
        read = Read(question, texts[:depth], made["small"])
        rows.append({"dataset": dataset, "qid": qid, "half": halves[dataset, qid], **got, "small_tokens": made["small"].tokens,
                     "large_tokens": made["large"].tokens, **{name: signal(read) for name, signal in every.items()}})
    return pd.DataFrame(rows, columns=[*BASE, *every])


def choose_threshold(signal: np.ndarray, small: np.ndarray, large: np.ndarray, tolerance: float = 0.01) -> float:
    """The highest threshold (fewest questions escalated) whose mean quality is within ``tolerance`` of the best that any threshold reaches.

    inf, never, is one of them; at every other an undefined signal (NaN) escalates.

    >>> choose_threshold(np.array([0.1, 0.9]), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    0.9
    """
    tried = [math.inf, *sorted({float(s) for s in signal if not math.isnan(s)}, reverse=True)]
    means = [float(np.where(_up(signal, t), large, small).mean()) for t in tried]
    return next(t for t, mean in zip(tried, means) if mean >= max(means) - tolerance)


def _up(signal: np.ndarray, threshold: float) -> np.ndarray:
    """Which questions escalate, as ``Cascade.escalates`` decides: never at inf, and wherever the signal is undefined at any other threshold."""
    return np.zeros(len(signal), bool) if threshold == math.inf else np.isnan(signal) | (signal >= threshold)


def validate_cascade(rows: pd.DataFrame, tier: str, small: str, large: str, signals: Sequence[str] | None = None, tolerance: float = 0.01,
                     resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """The table ``cascade``: a row a data set, signal, half and quantity; thresholds from half 0, which half 1 confirms. ``small``, ``large``: names.

    Quantities: share_escalated; quality; delta_small, delta_large and delta_coin (cascade minus each; coin: the large one by lot on the same share of
    questions); auc (how often a question that the large one mends has the higher signal than another, ties half); tokens and large_tokens, a question,
    of the cascade and of always asking the large one alone. ``rows`` as of ``cascade_rows``; questions without a defined quality are left out. Holm is
    over the signals of one data set, half and quantity. No row for a half without a question. Raises ValueError for unknown signals.
    """
    named = list(signals) if signals is not None else [c for c in rows.columns if c not in BASE]
    if lost := [s for s in named if s not in rows.columns]:
        raise ValueError(f"rows have no signal {', '.join(lost)}; columns are {', '.join(rows.columns)}")
    if not is_number(tolerance, 0):
        raise ValueError(f"tolerance must be a number of 0 or more, in the units of quality, got {tolerance!r}")
    made = []
    for dataset, known in rows.dropna(subset=["small", "large"]).groupby("dataset"):
        chosen = known[known["half"] == 0]
        for name in named if len(chosen) else []:
            threshold = choose_threshold(*(chosen[c].to_numpy(float) for c in (name, "small", "large")), tolerance)
            for half, part in known.groupby("half"):
                for quantity, i in _quantities(part, name, threshold, resamples, seed).items():
                    shown = threshold if math.isfinite(threshold) else math.nan  # missing: never escalates
                    row = (i.estimate, i.low, i.high, i.p_value, math.nan, i.n, i.clusters)
                    made.append((tier, dataset, small, large, name, shown, int(half), quantity, *row))
    out = pd.DataFrame(made, columns=COLUMNS)
    for _, group in out[out["quantity"].isin(TESTED)].groupby(["dataset", "half", "quantity"]):
        out.loc[group.index, "p_holm"] = stats.holm(group["p_value"].to_numpy(float))
    return out


def _quantities(part: pd.DataFrame, name: str, threshold: float, resamples: int, seed: int) -> dict[str, Interval]:
    signal, small, large, cheap, dear = (part[c].to_numpy(float) for c in (name, "small", "large", "small_tokens", "large_tokens"))
    up, clusters = _up(signal, threshold), list(zip(part["dataset"], part["qid"]))
    quality, share = np.where(up, large, small), up.mean()
    means = {"share_escalated": up.astype(float), "quality": quality, "tokens": cheap + np.where(up, dear, 0.0), "large_tokens": dear}
    deltas = {"delta_small": quality - small, "delta_large": quality - large, "delta_coin": quality - (small + share * (large - small))}
    out = {q: stats.mean_interval(v, clusters, resamples, seed) for q, v in means.items()}
    out |= {q: stats.paired_cluster_bootstrap(v, clusters, resamples, seed) for q, v in deltas.items()}
    return out | {"auc": auc_interval(signal, large > small, resamples, seed)}


def auc_interval(signal: np.ndarray, error: np.ndarray, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """How often an error has the higher signal than no error, ties half, [0, 1], with its percentile interval over questions; undefined signals left out.

    >>> auc_interval(np.array([0.1, 0.9, 0.4]), np.array([False, True, False]), resamples=9).estimate
    1.0
    """
    kept = ~np.isnan(signal)
    signal, error = signal[kept], error[kept]
    if error.all() or not error.any():
        return NO_INTERVAL._replace(n=len(signal), clusters=len(signal))
    generator, drawn = np.random.default_rng(seed), []
    order = np.lexsort((error, signal))  # the draw must not depend on the order of the rows
    signal, error = signal[order], error[order]
    for _ in range(min(resamples, 2_000)):
        at = generator.integers(len(signal), size=len(signal))
        drawn.append(pairwise_auc(signal[at], error[at]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Interval(pairwise_auc(signal, error), float(low), float(high), math.nan, len(signal), len(signal))
