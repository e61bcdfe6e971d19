"""The tables of rerankers: what each reranked list cost, and what a cascade's signals are worth; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL, QUESTION
from lib.declarations_results import TIER

RERANKERS: dict[str, dict] = {
    "rerank_costs": dict(format="parquet", key=["dataset", "qid", "scope", "ranker"], meaning="what each reranked list would cost without a cache (SPEC 11)",
                         columns={
        **QUESTION, "scope": ("str", "own: the question's paragraphs; pooled: all paragraphs"), "ranker": ("str", "the reranked list's name"),
        "first": ("str", "first-stage list that was reordered"), "depth": ("int", "candidates that were to be reordered"),
        "candidates": ("int", "candidates that were: fewer where the list is shorter"), "calls": ("int", "model calls"),
        "tokens": ("int", "tokens the model read"), "repaired": ("int", "malformed or contradictory outputs that had to be repaired")}),
    "cascade": dict(format="csv", key=["tier", "dataset", "small", "large", "signal", "half", "quantity"],
                    meaning="what escalating by a signal is worth: thresholds chosen on half 0, confirmed on half 1 (lib.rerankers_validation)", columns={
        **TIER, "dataset": ("str", "data set"), "small": ("str", "the reranker asked first"), "large": ("str", "the one escalated to"),
        "signal": ("str", "see lib.rerankers_signals"),
        "threshold": ("float?", "escalates from here on; missing: never, which was best on half 0"), "half": ("int", "0: chosen there, 1: confirmed"),
        "quantity": ("str", "share_escalated, quality, delta_small, delta_large, delta_coin, auc, tokens, large_tokens"),
        "estimate": INTERVAL["estimate"], "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap; differences alone"), "p_holm": ("float?", "Holm over the signals of one quantity and half"),
        "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
}
