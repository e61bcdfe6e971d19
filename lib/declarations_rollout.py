"""The tables of results of a release: gates, decisions, residual omission, fates, canary; CSV under data/results/<tier>/; form: see ``lib.declarations``."""

from lib.declarations_results import SET, TIER

SLICED = {**SET, "slice": ("str", "slice of questions; all: every question")}
ESTIMATE = {"estimate": ("float?", "mean or share"), "ci_low": ("float?", "95 % interval over questions, lower end"), "ci_high": ("float?", "upper end")}
COUNTED = {"n": ("int", "questions"), "undefined": ("int", "questions left out and counted")}
MEASURE = {"measure": ("str", "ndcg: nDCG at the places shown; shown: the evidence required is among them")}

ROLLOUT: dict[str, dict] = {
    "release_gates": dict(
        format="csv",
        key=["tier", "dataset", "slice", "gate"],
        meaning="a row a slice and release gate (lib.rollout_gates; lib/recipes/release_gates.yaml)",
        columns={
            **TIER,
            **SLICED,
            "gate": ("str", "sufficiency, headroom, capture, regressions, latency_p95, downstream"),
            "consequence": ("str", "what a wrong list does, as the gate file names it"),
            "threshold": ("float", "what is asked"),
            "estimate": ("float?", "what was seen; missing: not measured"),
            "low": ("float?", "one-sided lower bound at the file's alpha"),
            "high": ("float?", "one-sided upper bound"),
            "verdict": ("str", "pass, fail, cannot tell"),
            "events": ("float?", "questions (requests) that count against the gate, where it is a share"),
            "n": ("int", "questions (capture: with headroom; latency: requests)"),
            "undefined": ("int", "questions left out and counted"),
            "least": ("float?", "fewest that could pass, if none counted against it"),
            "needed": ("float?", "with which the gate would be told in 8 of 10 cases, were the truth what was seen"),
        },
    ),
    "release_decisions": dict(
        format="csv",
        key=["tier", "dataset", "slice"],
        meaning="what the gates decide for each slice (lib.rollout_gates)",
        columns={
            **TIER,
            **SLICED,
            "consequence": ("str", "see release_gates"),
            "decision": ("str", "release, keep off, repair retrieval, repair both, not enough evidence"),
            "failed": ("str?", "gates that failed"),
            "open": ("str?", "gates that cannot tell"),
            "needed": ("float?", "questions that the open gates need at least"),
            "n": ("int", "questions"),
        },
    ),
    "release_residual": dict(
        format="csv",
        key=["tier", "dataset", "slice", "where"],
        meaning="residual omission in the units of the decision (lib.rollout_residual)",
        columns={
            **TIER,
            **SLICED,
            "consequence": ("str", "see release_gates"),
            "evidence": ("str", "what the decision needs, in words"),
            "where": ("str", "pool, shown before, shown after"),
            "absent": ("int", "questions whose required evidence is not there"),
            **COUNTED,
            "rate": ("float?", "absent / n"),
            "ci_low": ("float?", "exact binomial 95 % interval, lower end"),
            "ci_high": ("float?", "upper end"),
            "volume": ("int", "questions of the slice a year; 0: unknown"),
            "a_year": ("float?", "rate x volume"),
            "year_low": ("float?", "lower end"),
            "year_high": ("float?", "upper end"),
        },
    ),
    "release_fates": dict(
        format="csv",
        key=["tier", "dataset", "slice", "when", "fate"],
        meaning="shares of gold passages by fate (lib.rollout_fates)",
        columns={
            **TIER,
            **SLICED,
            "when": ("str", "before or after the change"),
            "fate": ("str", "never retrieved, filtered, left low, demoted, shown, promoted; seen: shown or promoted"),
            **ESTIMATE,
            "passages": ("int", "gold passages with this fate"),
            "n": ("int", "questions"),
        },
    ),
    "release_moves": dict(
        format="csv",
        key=["tier", "dataset", "slice", "before", "after"],
        meaning="gold passages by fate before and fate after (lib.rollout_fates)",
        columns={
            **TIER,
            **SLICED,
            "before": ("str", "fate under the old unit"),
            "after": ("str", "fate under the new one"),
            "passages": ("int", "gold passages"),
            "questions": ("int", "questions that they belong to"),
            "of": ("int", "gold passages of the slice"),
        },
    ),
    "release_gains": dict(
        format="csv",
        key=["tier", "dataset", "slice", "measure", "over"],
        meaning="new minus old order, over all questions and over those whose pool holds the evidence (lib.rollout_split)",
        columns={**TIER, **SLICED, **MEASURE, "over": ("str", "all; evidence in the pool"), **ESTIMATE, "p_value": ("float?", "two-sided, paired"), **COUNTED},
    ),
    "release_split": dict(
        format="csv",
        key=["tier", "dataset", "slice", "measure", "part"],
        meaning="what of an end-to-end change is ordering, what retrieval (lib.rollout_split)",
        columns={
            **TIER,
            **SLICED,
            **MEASURE,
            "part": ("str", "ordering + retrieval = total = retrieval first + ordering then"),
            **ESTIMATE,
            "p_value": ("float?", "two-sided, paired"),
            **COUNTED,
        },
    ),
    "release_canary": dict(
        format="csv",
        key=["tier", "dataset", "slice", "share", "n"],
        meaning="the canary look by look (lib.rollout_canary)",
        columns={
            **TIER,
            **SLICED,
            "share": ("float", "share of the questions that meet the new unit"),
            "looked": ("int", "look, from 1"),
            "n": ("int", "questions so far"),
            "mean": ("float", "mean change so far"),
            "harm_capital": ("float", "capital of the bet against harmless, from 1"),
            "gain_capital": ("float", "capital of the bet against no gain"),
            "needed_capital": ("float", "at which a bet is won"),
            "verdict": ("str", "go on; stop and roll back; promote"),
        },
    ),
}
