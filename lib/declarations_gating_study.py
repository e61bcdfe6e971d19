"""The tables that hand a gate's inputs on, and what is left out of its study; form: see ``lib.declarations``."""
from lib.declarations_between import QUESTION
from lib.declarations_gating import CELL
from lib.declarations_results import TIER
from lib.gating_features import NAMES

GATING_STUDY: dict[str, dict] = {
    "gate_features": dict(format="parquet", key=["dataset", "qid"], meaning="the 27 features that a gate sees (document 002, Table 1; lib.gating_features)",
                          columns={**QUESTION, **{name: ("float", "lib.gating_features") for name in NAMES}}),
    "gate_contexts": dict(format="parquet", key=["dataset", "qid", "context_hash"], meaning="the packed first places of H and R that a reader is asked about",
                          columns={**QUESTION, "context_hash": ("str", "sha256 of the context"), "context": ("str", "the packed text")}),
    "gating_left_out": dict(format="csv", key=["tier", "dataset", "reason"], meaning="questions that no gate can be learned from", columns={
        **TIER, "dataset": CELL["dataset"], "reason": ("str", "no last hop, no list"), "questions": ("int", "how many")}),
    "gating_truth": dict(format="csv", key=["dataset", "k", "rule"], meaning="a gate in a simulated world, beside the harm written down for its skips, pp", columns={
        **CELL, "skip": ("float", "share skipped"), "expected": ("float", "promised harm"), "realised": ("float", "harmful skips"), "true": ("float", "true harm"),
        "delta": ("float", "gated - always reranked"), "true_delta": ("float", "the same by the true chances"), "n": ("int", "questions")}),
    "gating_drift": dict(format="csv", key=["tier", "input"], meaning="inputs of questions that the saved gate did not learn from, against its training", columns={
        **TIER, "input": ("str", "feature or direction"), "index": ("float?", "population stability index"), "chance": ("float?", "what it is if nothing moved"),
        "outside": ("float?", "share beyond the training range"), "moved": ("bool?", "index above a fifth and chance"), "n": ("int", "questions")}),
}
