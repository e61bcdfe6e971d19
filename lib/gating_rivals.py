"""Rival gates under the learned gate's own protocol: one threshold on one confidence statistic, and a gate of six features (document 002, section 5; SPEC 12).

A statistic is not learned. In each training fold it gets a threshold, chosen by the same rules as the learned gate's, and Platt's two numbers, which make it a
chance of harm. More confidence must mean less harm: where the training fold says the reverse, the statistic knows nothing there and all questions get one
chance, the rate of harm. A rival gives the tables of ``lib.gating_nested``, so every later table takes it as it takes the learned gate.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.gating_choose import RULES, Rule, harmful
from lib.gating_features import DEPTH, NAMES
from lib.gating_inputs import QuestionSet
from lib.gating_learner import calibrated, folds_of, scaling
from lib.gating_models import Basis, Grid, Scorer
from lib.gating_nested import CELL, CHOICES, DECISIONS, KS, OUTER, TRIED, Nested, check, decide, logged, nested, outer_folds
from lib.gating_select import Gate, best_of, cut_of, hits_of, ranks_of

Statistic = Callable[[QuestionSet], np.ndarray]  # confidence of each question's list, (n,); high: skip
INNER = 3  # folds that D's labels are cross-fitted in, as the learned gate's
# Is the best passage near at all, does it stand out, is the list flat or steep; a second witness's level; do both lists agree, and on the winner. Left out:
# what equals these for a sorted list (max), what moves with them (mean, further places), and how the question is worded, which says nothing of the lists.
SIX = ("h_score_1", "h_gap_1_2", "h_std", "v_score_1", "jaccard_5", "h1_rank_in_v")


class Standing(NamedTuple):
    """A statistic as a model: the chance of harm before calibration falls with the confidence, 1/2 at the training mean."""

    centre: float
    spread: float

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """(n, 2): chances of no harm and of harm, from confidences (n, 1)."""
        harm = 1 / (1 + np.exp(np.clip((x[:, 0] - self.centre) / self.spread, -30, 30)))
        return np.column_stack([1 - harm, harm])


def feature(name: str) -> Statistic:
    """A feature as the statistic; raises ValueError for a name that is none of the 27."""
    if name not in NAMES:
        raise ValueError(f"a feature is one of {', '.join(NAMES)}, got {name!r}")
    return lambda data: data.features[:, NAMES.index(name)]


def commitment(data: QuestionSet) -> np.ndarray:
    """Standard deviation of H's scores over their mean (normalised query commitment): a steep list has made up its mind; 0 where the mean is 0."""
    mean, std = (data.features[:, NAMES.index(name)] for name in ("h_mean", "h_std"))
    return np.divide(std, np.abs(mean), out=np.zeros(len(mean)), where=mean != 0)


def certainty(lists: pd.DataFrame, name: str = "H") -> Statistic:
    """Training-free: 1 - entropy of the softmax of a list's standardised scores, over its maximum; 0: all places alike, 1: one place has it all.

    Standardised, because lists score in units of their own. A question without a list, or with one place, gets 0.
    """
    rows = lists[(lists["list"] == name) & (lists["rank"] <= DEPTH)].dropna(subset=["score"])
    by = rows.groupby(["dataset", "qid"])["score"]
    z = (rows["score"] - by.transform("mean")) / by.transform("std", ddof=0).replace(0, np.nan)
    weight = np.exp(z.fillna(0.0))
    key = [rows["dataset"], rows["qid"]]
    share = weight / weight.groupby(key).transform("sum")
    entropy, places = (-share * np.log(share)).groupby(key).sum(), by.size()
    sure = (1 - entropy / np.log(places.where(places > 1))).fillna(0.0)
    return lambda data: sure.reindex(pd.MultiIndex.from_product([[data.dataset], data.qids])).fillna(0.0).to_numpy()


def statistics(lists: pd.DataFrame) -> dict[str, Statistic]:
    """The four statistics by the name of their gate: the document's score gap, uncertainty, and two that abstention from score distributions goes by.

    ``top score`` is the signal of ``lib.probes_abstention``: there it says when not to answer, here when to call for help.
    """
    return {"score gap": feature("h_gap_1_2"), "uncertainty": certainty(lists), "top score": feature("h_score_1"), "commitment": commitment}


def six_features(data: QuestionSet) -> QuestionSet:
    """``data`` as a gate of six features sees it: the columns SIX, and no vector of the question."""
    return data._replace(features=data.features[:, [NAMES.index(name) for name in SIX]], vectors=np.zeros((len(data.qids), 0)))


def rivals(sets: Sequence[QuestionSet], statistics: Mapping[str, Statistic], ks: Sequence[int] = KS, rules: Sequence[Rule] = RULES, seed: int = 0,
           outer: int = OUTER, jobs: int = 1) -> dict[str, Nested]:
    """A run of each rival by name: the statistics, ``six features`` (logistic regression), ``best fixed`` (never, H or D, whichever the fold prefers)."""
    made = {name: one_threshold(sets, statistic, ks, rules, seed, outer) for name, statistic in statistics.items()}
    made["six features"] = nested([six_features(s) for s in sets], ks, rules, Grid(("lr",), (0,)), seed, outer, jobs)
    made["best fixed"] = nested(sets, ks, rules, Grid((), ()), seed, outer)
    return made


def one_threshold(sets: Sequence[QuestionSet], statistic: Statistic, ks: Sequence[int] = KS, rules: Sequence[Rule] = RULES, seed: int = 0,
                  outer: int = OUTER) -> Nested:
    """The nested protocol for a gate that knows one number a question. Raises ValueError for a K or rule that is none, or a statistic that is not finite."""
    check(sets, ks, rules, Grid((), ()), seed, outer)
    parts = []
    for data in sets:
        told = np.asarray(statistic(data), float)
        if told.shape != data.qids.shape or not np.isfinite(told).all():
            raise ValueError(f"a statistic gives one finite number a question, got shape {told.shape} for {len(data.qids)} questions of {data.dataset}")
        data = data._replace(features=told[:, None], vectors=np.zeros((len(told), 0)))
        parts += [_fold(data, train, test, fold, ks, rules, seed) for fold, train, test in outer_folds(data, outer, seed)]
    tables = [pd.concat(p, ignore_index=True) for p in zip(*parts)] or [pd.DataFrame(columns=c) for c in (DECISIONS, CHOICES, TRIED)]
    rest = (t.sort_values([*CELL, "fold"], kind="stable", ignore_index=True) for t in tables[1:])
    return Nested(tables[0].sort_values([*CELL, "qid"], ignore_index=True), *rest)


def _fold(data: QuestionSet, train: np.ndarray, test: np.ndarray, fold: int, ks: Sequence[int], rules: Sequence[Rule], seed: int) -> tuple:
    ranks = ranks_of(data, train, folds_of(data.qids[train], INNER, seed, "inner"))
    told = data.features[train, 0]
    model = Standing(float(told.mean()), float(told.std()) or 1.0) if len(train) else None
    gates, tried = [], []
    for k in ks:
        hits = hits_of(ranks, k)
        options = [_option(model, data.features[train], hits, fallback) for fallback in ("H", "D") if fallback in hits]
        for rule in rules:
            made = [(o, cut_of(o, hits, rule)) for o in options]
            tried += [{"k": k, "rule": rule.name, "model": "threshold", "label": "rerank_helps", "fallback": o["fallback"], "pca": 0,
                       "available": o["available"], "inner_skip": c.skip, "inner_delta": c.delta, "inner_expected": c.expected} for o, c in made]
            gate = best_of(data.dataset, k, rule, made, len(train), None, hits)
            gates.append(Gate(gate.choice, Scorer(model, Basis(np.zeros(0), np.zeros((0, 0))), "rerank_helps")) if gate.choice.model == "threshold" else gate)
    log = pd.DataFrame([logged(g) for g in gates]).assign(fold=fold, n_test=len(test))
    return decide(data, gates, train, test).assign(fold=fold)[DECISIONS], log[CHOICES], pd.DataFrame(tried).assign(dataset=data.dataset, fold=fold)[TRIED]


def _option(model: Standing | None, told: np.ndarray, hits: dict[str, np.ndarray], fallback: str) -> dict:
    harm = harmful(hits[fallback], hits["R"])
    made = {"model": "threshold", "fallback": fallback, "label": "rerank_helps", "pca": 0, "available": bool(harm.any()) and not harm.all()}
    if made["available"]:
        raw = model.predict_proba(told)[:, 1]
        made["slope"], made["intercept"] = scaling(raw, harm)
        made["p"] = calibrated(raw, made["slope"], made["intercept"])
    return made
