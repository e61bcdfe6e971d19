"""The tables of results on the policy assistant's search, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL
from lib.declarations_results import TIER

QID = {"qid": ("str", "question of the policy corpus")}
SLICE = {"slice": ("str", "kind of question; all: every question")}
DEPTH = {"depth": ("int", "chunks that a pool holds at most")}
SHARES = {
    "complete": "1: one admissible bundle is whole among the passages shown",
    "coverage": "share of the best bundle's spans shown",
    "union": "share of all bundles' spans shown",
    "pool_complete": "1: one bundle is whole in the pool",
    "ceiling": "1: some order of the pool could show one whole",
    "ceiling_coverage": "the best bundle share that any order could show",
    "headroom": "ceiling - complete",
    "omission_gap": "1 - ceiling",
    "exception_in_pool": "share of the exception's spans in the pool; missing without an exception",
    "exception_shown": "the same among the passages shown",
}
MEASURED = {
    "name": ("str", "arm: how the policies are cut (windows of N words), what is asked again, who orders"),
    "minus": ("str", "none; or the arm whose value is taken away, question by question"),
    "measure": ("str", "column of policy_outcomes, or as said below"),
    "estimate": INTERVAL["estimate"], "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
    "p_value": ("float?", "two-sided, paired bootstrap over questions; differences alone"),
    "p_holm": ("float?", "Holm over the slices"),
    "n": ("int", "questions"), "undefined": ("int", "questions left out and counted"),
}

POLICY_SEARCH: dict[str, dict] = {
    "policy_outcomes": dict(
        format="csv", key=["tier", "depth", "arm", "qid"], meaning="what each arm shows of every question's evidence (lib.policy_arms)",
        columns={**TIER, **DEPTH, "arm": MEASURED["name"], **QID, "slice": ("str", "kind of question"), **{c: ("float?", said) for c, said in SHARES.items()},
                 "words": ("int", "words of the passages shown"), "candidates": ("int", "chunks in the pool"),
                 "scored": ("int", "passages that a reranker scored")}),
    "policy_steps": dict(
        format="csv", key=["tier", "depth", "slice", "name", "minus", "measure"],
        meaning="exception retrieval repaired step by step, before and after (lib.policy_tables)",
        columns={**TIER, **DEPTH, **SLICE, **MEASURED}),
    "policy_routes": dict(
        format="csv", key=["tier", "slice", "name", "minus", "measure"],
        meaning="a way for each kind of question against one switch for all (lib.policy_study)",
        columns={**TIER, **SLICE, **MEASURED,
                 "name": ("str", "an arm for every question, or: routed (chosen on other questions), in sample, told slices, document 001's"),
                 "measure": ("str", "complete, coverage, exception_shown; scored: passages; milliseconds: of the reranker, from recorded times")}),
    "policy_choices": dict(
        format="csv", key=["tier", "slice", "arm"], meaning="which arm each slice is sent to (lib.policy_routes)",
        columns={**TIER, "slice": ("str", "kind of question"), "arm": MEASURED["name"], "share": ("float", "of the splits that chose it, on other questions"),
                 "in_sample": ("bool", "chosen when all questions may be looked at"), "mean": ("float?", "share of the slice's questions that it completes")}),
    "policy_router": dict(
        format="csv", key=["tier", "slice", "told"], meaning="what kind of question a router takes each for (lib.policy_slices)",
        columns={**TIER, "slice": ("str", "the true kind"), "told": ("str", "the kind told from its words"), "questions": ("int", "so many"),
                 "share": ("float?", "of the slice")}),
    "policy_stale": dict(
        format="csv", key=["tier", "slice", "name", "minus", "measure"], meaning="versions not in force among the passages shown (lib.policy_superseded)",
        columns={**TIER, **SLICE, **MEASURED, "name": ("str", "order, and filters on or off"),
                 "measure": ("str", "shown: questions with one among the passages shown; above: where the list holds both, one stands above all in force; "
                             "refused: share of the passages shown that a filter refuses; complete")}),
    "policy_filters": dict(
        format="csv", key=["tier", "qid", "rule"], meaning="what hard filters take away before any score (lib.policy_filters)",
        columns={**TIER, **QID, "rule": ("str", "filter; any: all together"), "documents": ("int", "in the corpus"), "refused": ("int", "of these"),
                 "alone": ("int", "refused by this rule and no other")}),
}
