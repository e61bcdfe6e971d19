"""The tables of the gate; form: see ``lib.declarations``. Deltas, bounds and harms are in percentage points (pp), rates are shares."""
from lib.declarations_between import QUESTION
from lib.declarations_results import TIER

CELL = {"dataset": QUESTION["dataset"], "k": ("int", "places of the list that the reader gets"), "rule": ("str", "coverage; budget and its points")}
FOLD = {"fold": ("int", "outer fold, from 0")}
CHOSEN = {"model": ("str", "lr, rf, gbm; always, never: no model needed; refused: the training fold has no harmful question to learn from"),
          "label": ("str", "what the model learned: rerank_helps, fallback_has_gold, none"), "fallback": ("str", "H, D or none"),
          "pca": ("int", "directions of the question's vector beside the 27 features")}
INNER = {"inner_skip": ("float", "share skipped in the inner folds"), "inner_delta": ("float", "delta there, pp"),
         "inner_expected": ("float", "expected harm there, pp")}
SPREAD = {"ci_low": ("float?", "95 % interval over questions, lower end"), "ci_high": ("float?", "upper end")}
DELTA = {"delta": ("float", "gated - always reranked, pp; equals (beneficial - harmful) / n"), **SPREAD}
SKIP = {"skip": ("float", "share of questions skipped"), "skip_low": ("float?", "95 % interval over questions, lower end"),
        "skip_high": ("float?", "upper end")}
COUNTS = {"harmful": ("int", "skips where the reranked list has the target and the fallback has not"), "beneficial": ("int", "skips where it is the reverse")}
BOUND = {"bound": ("float", "one-sided 95 % lower bound on delta, pp")}
N = {"n": ("int", "questions")}


def _interval(name: str, meaning: str) -> dict:
    return {name: ("float?", meaning), f"{name}_low": ("float?", "95 % interval, lower end"), f"{name}_high": ("float?", "upper end")}


GATING: dict[str, dict] = {
    "gating_decisions": dict(format="parquet", key=["dataset", "qid", "k", "rule"], meaning="what the gate of the fold that left a question out does with it",
                             columns={
        **QUESTION, "k": CELL["k"], "rule": CELL["rule"], **FOLD,
        "p_harm": ("float?", "calibrated chance that a skip harms; missing where the gate refused"), "p_raw": ("float?", "the same before calibration"),
        "skip": ("bool", "the reranker is not called"), "fallback": ("str", "H or D, one a fold; none: never skips"),
        "rerank_hit": ("bool", "last hop among the first k of the reranked list"), "h_hit": ("bool", "of H"),
        "d_hit": ("float?", "1 or 0: of D learned from the training fold; missing without D")}),
    "gating_choices": dict(format="csv", key=["tier", *CELL, "fold"], meaning="what each outer fold chose and what its inner folds promised", columns={
        **TIER, **CELL, **FOLD, **CHOSEN, "slope": ("float?", "of Platt scaling, on the log-odds of p_raw"), "intercept": ("float?", "of Platt scaling"),
        "threshold": ("float?", "skip where p_harm is at most this; missing: always or never"), **INNER,
        "inner_harmful": ("int", "harmful skips there"), "inner_beneficial": ("int", "beneficial skips there"),
        "base_rate": ("float?", "rate of harm in the training fold, against the chosen fallback"), "n_train": ("int", "questions of the training fold"),
        "positives": ("int", "harmful ones among them"), "n_test": ("int", "questions held out")}),
    "gating_tried": dict(format="csv", key=["tier", *CELL, "fold", *CHOSEN], meaning="every configuration in the running, with the best threshold it found",
                         columns={
        **TIER, **CELL, **FOLD, **CHOSEN, "available": ("bool", "no: a training part lacked positives or negatives"), **INNER}),
    "gating_always": dict(format="csv", key=["tier", "dataset", "k"], meaning="always reranking against H (document 002, Table 3)", columns={
        **TIER, "dataset": CELL["dataset"], "k": CELL["k"], "h": ("float", "share of questions whose last hop is among the first k of H"),
        "d": ("float?", "of D, each question's D learned without it"), "rerank": ("float", "of the reranked list"),
        "delta": ("float", "rerank - h, pp"), **SPREAD, "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm over the k of one data set"), "wins": ("int", "questions that only the reranked list covers"),
        "losses": ("int", "questions that only H covers"), "sign_p": ("float", "exact sign test of wins and losses"), **N}),
    "gating_cells": dict(format="csv", key=["tier", *CELL], meaning="the gate on held-out questions (document 002, Tables 4 and 6)", columns={
        **TIER, **CELL, "fallbacks": ("str", "those that folds chose"), **SKIP, "rerank": ("float", "hit rate of always reranking"),
        "gated": ("float", "hit rate of the gate"), **DELTA, **BOUND, **COUNTS, "within": ("bool", "delta of -1 pp or more, unrounded"),
        "surely_within": ("bool", "bound of -1 pp or more"), "inner_skip": ("float", "share skipped in the inner folds, mean over outer folds"),
        "gap": ("float", "held-out minus inner skip rate"), "inner_low": ("float", "lowest inner skip rate of a fold"), "inner_high": ("float", "highest"),
        "inner_delta": ("float", "delta in the inner folds, mean over outer folds, pp"), "models": ("str", "by fold"),
        "labels": ("str", "by fold; h: rerank_helps, g: fallback_has_gold, -: none"), "refused": ("int", "folds without a harmful question"), **N}),
    "gating_harm": dict(format="csv", key=["tier", *CELL], meaning="promised and realised harm, calibration and discrimination (document 002, Table 7)",
                        columns={
        **TIER, **CELL, "budget": ("float?", "expected harm allowed, pp; missing for the coverage rule"),
        "expected": ("float", "sum of p_harm over held-out skips / questions, pp"), "realised": ("float", "harmful skips / questions, pp"),
        **_interval("excess", "realised - expected, pp"), "in_budget": ("bool?", "realised harm within the budget"),
        **_interval("ece", "calibration error of p_harm on all held-out questions, 10 equal bins"), **_interval("ece_raw", "the same of p_raw"),
        **_interval("auc", "share of (harmed, not) pairs of a fold in the right order of p_harm; DeLong's interval, over folds"),
        "auc_pooled": ("float?", "the same over all pairs: below a half by construction where p_harm hardly differs within a fold"),
        "harms": ("int", "questions that a skip would harm"), **N, "undefined": ("int", "questions without p_harm: their fold refused")}),
    "gating_reliability": dict(format="csv", key=["tier", "dataset", "rule", "form", "bin"], columns={
        **TIER, "dataset": CELL["dataset"], "rule": CELL["rule"], "form": ("str", "calibrated: p_harm; raw: p_raw"), "bin": ("int", "from 0"),
        "low": ("float", "lower edge"), "high": ("float", "upper edge"), "count": ("int", "questions x k in the bin"), "p_harm": ("float?", "mean chance"),
        "harm": ("float?", "share that a skip would harm"), **SPREAD, "questions": ("int", "distinct questions")},
                               meaning="promise and truth by bin, pooled over k (document 002, Figure 1)"),
    "gating_rules": dict(format="csv", key=["tier", "rule"], meaning="the rules beside each other, over all cells (document 002, Table 8)", columns={
        **TIER, "rule": CELL["rule"], "budget": ("float?", "pp; missing for the coverage rule"), "cells": ("int", "data sets x k"), **SKIP,
        "delta": ("float", "mean over cells, pp"), **SPREAD, **COUNTS, "cells_within": ("int", "cells with delta of -1 pp or more"),
        "cells_surely_within": ("int", "cells with bound of -1 pp or more"), "cells_with_harm": ("int", "cells with a harmful skip"),
        "cells_in_budget": ("int?", "cells with realised harm within the budget"),
        "cells_over_promise": ("int", "cells with more realised than expected harm"),
        "expected": ("float", "mean over cells, pp"), "realised": ("float", "mean over cells, pp"), "worst": ("float", "lowest delta of a cell, pp"), **N}),
    "gating_cost": dict(format="csv", key=["tier", *CELL], meaning="cost and seconds of reranking, always and gated (document 002, Table 13)", columns={
        **TIER, **CELL, "always_per_1k": ("float", "cost of reranking 1,000 questions, in the currency of the prices"),
        "gated_per_1k": ("float", "with the gate"), **_interval("saved", "share of the cost saved"), "skip": SKIP["skip"],
        "always_seconds": ("float?", "mean seconds that reranking adds"), "gated_seconds": ("float?", "with the gate, its own time included"),
        "always_p95": ("float?", "95th percentile of these"), "gated_p95": ("float?", "with the gate"),
        "counts": ("str", "measured; per-call average: the data set's mean stands for a question"),
        "measured": ("int", "questions with a count of their own"), **N}),
    "gating_leaks": dict(format="csv", key=["tier", "decider", "dataset", "fold"], meaning="decisions that move when held-out questions exchange their labels",
                         columns={
        **TIER, "decider": ("str", "the gate asked"), "dataset": CELL["dataset"], **FOLD, "labels_moved": ("int", "held-out questions whose labels changed"),
        "decisions": ("int", "decisions compared"), "skip_moved": ("int", "skips that changed"), "fallback_moved": ("int", "fallbacks that changed"),
        "p_harm_moved": ("int", "chances that changed"), "caught": ("bool?", "something moved: the gate saw a label; missing where no label changed"), **N}),
    "gating_lossless": dict(format="csv", key=["tier", "dataset", "k", "how"], meaning="the retracted lossless figure: claimed, run, and chosen honestly",
                            columns={
        **TIER, "dataset": CELL["dataset"], "k": CELL["k"], "how": ("str", "oracle fallback, where chosen or held out; the same skips with H, D; honest"),
        **SKIP, **DELTA, "bound": ("float?", BOUND["bound"][1]), **COUNTS, "n": ("int", "questions; where chosen: counted once a fold")}),
    "gating_optimism": dict(format="csv", key=["rule", "n", "grid", "quantity"], meaning="promise and truth of a gate, simulated with known harm", columns={
        "rule": CELL["rule"], "n": ("int", "training questions, and as many held out"), "grid": ("int", "candidate scores to choose from"),
        "quantity": ("str", "promised, true, optimism (pp); skip_promised, skip_true; true_passes, held_out_passes, bound_passes: runs within the rule"),
        "estimate": ("float", "mean over runs"), "ci_low": ("float?", "95 % interval over runs, lower end"), "ci_high": ("float?", "upper end"),
        "runs": ("int", "simulated runs")}),
}
