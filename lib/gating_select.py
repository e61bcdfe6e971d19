"""What one training fold chooses: model, label, fallback, PCA, threshold, calibration and list D, by inner folds (document 002, section 3; SPEC 12)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lib.gating_choose import NOWHERE, Cut, Rule, check_rule, cut, everywhere, harmful
from lib.gating_inputs import QuestionSet
from lib.gating_learner import Learner, calibrated, folds_of, scaling
from lib.gating_models import Grid, Scorer, check_grid, raw_harm, score
from lib.whole import check_seed, check_whole

Hits = dict[str, np.ndarray]  # of each list, at one K, bool


class Choice(NamedTuple):
    """One row of the log: what was chosen, what the inner folds promised, and on how many questions."""

    dataset: str
    k: int
    rule: str
    model: str      # lr, rf, gbm, always, never; refused: nothing to learn from
    label: str      # rerank_helps, fallback_has_gold, none
    fallback: str   # H, D, none
    pca: int
    slope: float
    intercept: float
    base_rate: float  # of harm in the training fold, the p_harm of a gate without a model
    cut: Cut
    n: int
    positives: int  # harmful questions of the training fold


class Gate(NamedTuple):
    """A choice and, where it has a model, the model refitted on the whole training fold."""

    choice: Choice
    scorer: Scorer | None


def hits_of(ranks: dict[str, np.ndarray], k: int) -> Hits:
    """Whether the target is among the first ``k`` of each list. ``oracle``: the better of H and D by the label, which nobody can run; a lesson."""
    found = {name: r <= k for name, r in ranks.items()}
    return found | {"oracle": found["H"] | found["D"] if "D" in found else found["H"]}


def select(data: QuestionSet, train: np.ndarray, ks: Sequence[int], rules: Sequence[Rule], grid: Grid, seed: int = 0) -> tuple[list[Gate], list[dict]]:
    """A gate for each K and rule from the questions ``train`` (positions), and every configuration tried, a row a configuration, K and rule.

    Labels of the list D are cross-fitted: each training question's D comes from the training questions of the other inner folds. Raises ValueError for a K,
    rule, grid or seed that is none.
    """
    check_asked(ks, rules, grid, seed)
    inner = folds_of(data.qids[train], grid.inner, seed, "inner")
    ranks = ranks_of(data, train, inner)
    learner = Learner(data, train, inner, grid, seed)
    gates, tried = [], []
    for k in ks:
        hits = hits_of(ranks, k)
        options = _options(hits, learner, grid)
        for rule in rules:
            made = [(o, cut_of(o, hits, rule)) for o in options]
            tried += [dict(k=k, rule=rule.name, **_named(o), available=o["available"], inner_skip=c.skip, inner_delta=c.delta, inner_expected=c.expected)
                      for o, c in made]
            gates.append(best_of(data.dataset, k, rule, made, len(train), learner, hits))
    return gates, tried


def check_asked(ks: Sequence[int], rules: Sequence[Rule], grid: Grid, seed: int) -> None:
    """Raise ValueError for what no fold can use: a K, rule, grid or seed that is none, or that stands twice."""
    check_seed(seed)
    check_grid(grid)
    if np.ndim(ks) != 1 or isinstance(rules, Rule):
        raise ValueError(f"ks and rules are lists, got {ks!r} and {rules!r}; write (5,) for one K, [rule] for one rule")
    for k in ks:
        check_whole("k", k, 1)
    for rule in rules:
        check_rule(rule)
    if len({r.name for r in rules}) < len(rules) or len(set(ks)) < len(ks) or not len(rules) or not len(ks):
        raise ValueError(f"at least one K and one rule, each K once and each rule under a name of its own, are needed, got {list(ks)} and "
                         f"{[r.name for r in rules]}")


def ranks_of(data: QuestionSet, train: np.ndarray, inner: np.ndarray) -> dict[str, np.ndarray]:
    """Ranks of the targets of ``train`` in H and R, and in lists D of their own inner folds where there are two folds or more."""
    ranks = {name: data.ranks[name][train] for name in ("H", "R")}
    if data.distil is not None and len(set(inner)) > 1:
        ranks["D"] = np.empty(len(train))
        for j in np.unique(inner):
            ranks["D"][inner == j] = data.distil(train[inner != j], train[inner == j])
    return ranks


def _options(hits: Hits, learner: Learner, grid: Grid) -> list[dict]:
    """Every configuration, constants first. A fallback that harms no training question is not to be had: nothing can be learned about its harm."""
    options = [dict(model="never", available=True)] if "never" in grid.constants else []
    for fallback in (f for f in grid.fallbacks if f in hits):
        harm = harmful(hits[fallback], hits["R"])
        if "always" in grid.constants:
            options.append(dict(model="always", fallback=fallback, available=bool(harm.any())))
        for label in grid.labels:
            y = harm if label == "rerank_helps" else hits[fallback]
            available = bool(harm.any()) and not harm.all() and learner.learnable(y)
            for model in grid.models:
                for pca in dict.fromkeys(min(p, learner.data.vectors.shape[1]) for p in grid.pcas):
                    made = dict(model=model, fallback=fallback, label=label, pca=pca, available=available, y=y)
                    if available:
                        raw = raw_harm(learner.out_of_fold(model, pca, y), label)
                        made["slope"], made["intercept"] = scaling(raw, harm)
                        made["p"] = calibrated(raw, made["slope"], made["intercept"])
                    options.append(made)
    return options


def _named(option: dict) -> dict:
    return {"model": option["model"], "label": option.get("label", "none"), "fallback": option.get("fallback", "none"), "pca": option.get("pca", 0)}


def cut_of(option: dict, hits: Hits, rule: Rule) -> Cut:
    """The threshold of a configuration; NOWHERE for one that is not to be had."""
    if not option["available"] or option["model"] == "never":
        return NOWHERE
    fallback = hits[option["fallback"]]
    return everywhere(fallback, hits["R"], rule) if option["model"] == "always" else cut(option["p"], fallback, hits["R"], rule)


def best_of(dataset: str, k: int, rule: Rule, made: list[tuple[dict, Cut]], n: int, learner: Learner, hits: Hits) -> Gate:
    """The configuration that skips most; ties: the higher inner delta (budget: the lower expected harm), then the one named first in the grid."""
    asked = [o for o, _ in made if o["model"] != "never"]
    usable = [(o, c) for o, c in made if o["available"] and c.skip > 0]
    option, best = dict(model="never"), NOWHERE
    if asked and not any(o["available"] for o in asked):
        option = dict(model="refused")
    elif usable:
        option, best = max(usable, key=lambda pair: (pair[1].skip, pair[1].delta if rule.kind == "coverage" else -pair[1].expected))
    named = _named(option)
    harm = harmful(hits.get(named["fallback"], hits["H"]), hits["R"])
    rate = float(harm.mean()) if n and option["model"] != "refused" else np.nan
    choice = Choice(dataset, k, rule.name, **{c: named[c] for c in ("model", "label", "fallback", "pca")}, slope=option.get("slope", np.nan),
                    intercept=option.get("intercept", np.nan), base_rate=rate, cut=best, n=n, positives=int(harm.sum()))
    return Gate(choice, learner.refitted(named["model"], named["pca"], named["label"], option["y"]) if "y" in option else None)


def chances(gate: Gate, features: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(p_harm calibrated, p_raw before calibration) of questions; the training fold's rate of harm where there is no model, NaN where it refused."""
    if gate.scorer is None:
        rate = np.full(len(features), gate.choice.base_rate)
        return rate, rate
    raw = score(gate.scorer, features, vectors)
    return calibrated(raw, gate.choice.slope, gate.choice.intercept), raw


def skips(gate: Gate, p_harm: np.ndarray) -> np.ndarray:
    """Which questions the gate skips: all for always, none for never and refused, else where p_harm is at most the threshold."""
    if gate.scorer is None:
        return np.full(len(p_harm), gate.choice.model == "always")
    return p_harm <= gate.choice.cut.threshold
