"""The tables of rerankers: what each reranked list cost, and what a cascade's signals are worth; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL, QUESTION
from lib.declarations_results import TIER

RERANKERS: dict[str, dict] = {
    "rerankers": dict(format="csv", key=["tier", "dataset", "ranker", "measure"],
                      meaning="each reranked list, and each second retrieval, against its own first stage on its questions (lib.rerankers_compare)", columns={
        **TIER, "dataset": QUESTION["dataset"], "ranker": ("str", "the list: first stage + reranker, or a second retrieval"),
        "first_stage": ("str", "what it was made from"), "kind": ("str", "no model, cross-encoder, language model; second retrieval: no reranker"),
        "measure": ("str", "ndcg at the cutoff; pool_recall: recall at the depth, which no reranker changes"),
        "depth": ("int", "candidates counted by pool_recall"), "cutoff": ("int", "final places"), "first": ("float?", "mean of the first stage"),
        "estimate": ("float?", "mean of the list"), "delta": ("float?", "list minus first stage"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap"), "p_holm": ("float?", "Holm over the lists of one data set and measure"),
        "calls": ("float?", "model calls a question; missing where not counted"), "tokens": ("float?", "tokens read a question"),
        "repaired": ("float?", "malformed or contradictory outputs that had to be repaired, of all questions"),
        "repaired_calls": ("float?", "calls that they are out of"), "n": ("int", "questions with a list and a relevant passage")}),
    "rerank_costs": dict(format="csv", key=["tier", "dataset", "qid", "scope", "ranker"],
                         meaning="what each reranked list would cost without a cache (SPEC 11)", columns={
        **TIER, **QUESTION, "scope": ("str", "own: the question's paragraphs; pooled: all paragraphs"), "ranker": ("str", "the reranked list's name"),
        "first": ("str", "first-stage list that was reordered"), "depth": ("int", "candidates that were to be reordered"),
        "candidates": ("int", "candidates that were: fewer where the list is shorter"), "calls": ("int", "model calls"),
        "tokens": ("int", "tokens the model read"), "repaired": ("int", "malformed or contradictory outputs that had to be repaired")}),
    "reranked_left_out": dict(format="csv", key=["tier", "ranker"], meaning="lists of the table reranked that could not be made", columns={
        **TIER, "ranker": ("str", "the list's name"), "reason": ("str", "what was missing")}),
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
