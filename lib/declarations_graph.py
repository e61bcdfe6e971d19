"""The tables of results on document 002's lists, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import DOC, INTERVAL, QUESTION
from lib.declarations_results import TIER

HALF = {"half": ("str", "0 (choose), 1 (confirm), all")}
MEASURE = ("str", "recall_at_5, all_gold_at_5, last_hop_hit_at_k: the last hop's passage is among the first k; title_: any passage of its title")

MEASURES = ("recall_at_5", "all_gold_at_5", *(f"{form}last_hop_hit_at_{k}" for form in ("", "title_") for k in (1, 5, 10)))

GRAPH: dict[str, dict] = {
    "graph_lists": dict(format="csv", key=["tier", "dataset", "half", "n_hops", "ranker", "minus", "measure"],
                        meaning="the graph list H, the dense list V and other first stages over pooled corpora (lib.graph_list_table)", columns={
        **TIER, "dataset": ("str", "data set"), **HALF, "n_hops": ("int", "passages to combine; 0: all questions"), "ranker": ("str", "whose list"),
        "minus": ("str", "none: a level; else the ranker whose value is taken away, question by question"), "measure": MEASURE,
        "estimate": INTERVAL["estimate"], "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap; of differences alone"),
        "p_holm": ("float?", "Holm over the differences of one data set, half and number of hops"),
        "wins": ("int?", "questions on which the ranker is better"), "losses": ("int?", "on which it is worse"), "n": INTERVAL["n"],
        "undefined": ("int", "questions left out and counted: no gold, or no last hop")}),
    "graph_hops": dict(format="csv", key=["tier", "dataset", "n_hops", "hop"], meaning="how far each list reaches along a chain (lib.graph_list_hops)", columns={
        **TIER, "dataset": ("str", "data set"), "n_hops": ("int", "hops of the question"), "hop": ("int", "place of the passage in the chain, from 1"),
        "graph": ("float", "share of questions with that passage among the first five of the graph list"), "dense": ("float", "of the dense list"),
        "delta": ("float?", "graph - dense, points"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap"), "p_holm": ("float?", "Holm over the rows of a data set"), "n": ("int", "questions")}),
    "graph_ablations": dict(format="csv", key=["tier", "dataset", "half", "choice"],
                            meaning="the graph list with one choice changed at a time, chosen on half 0, confirmed on half 1 (lib.graph_list_table)", columns={
        **TIER, "dataset": ("str", "data set"), **HALF, "choice": ("str", "what differs from lib.graph_list_choices; 'as chosen': nothing"),
        "chosen_by": ("float?", "mean of recall_at_5 and last_hop_hit_at_5"),
        **{m: ("float?", "mean; see graph_lists") for m in MEASURES},
        "n": ("int", "questions"), "fell_back": ("int", "questions without a phrase in the graph: passages alone")}),
    "gate_candidates": dict(format="parquet", key=["dataset", "qid", "doc_id"], meaning="the first ten of the graph list H and of the dense list V, reranked: what a "
                            "gate chooses between (lib.gating_lists)", columns={
        **QUESTION, **DOC, "rank_h": ("int?", "place in the whole list H, missing: not in it"), "score_h": ("float?", "PageRank of the passage"),
        "rank_v": ("int?", "place in the whole list V"), "score_v": ("float?", "cosine"), "rank": ("int", "place in the union, by reciprocal-rank fusion"),
        "title_key": ("str", "stands for the title: equal for equal titles"), "overlap": ("float", "share of the question's words that the passage holds"),
        "overlap_title": ("float", "that its title holds"), "title_named": ("float", "1: the question holds all words of the title"),
        "length": ("float", "log(1 + characters)"), "rank_r": ("int?", "place by the reranker; missing: no reranker"),
        "score_r": ("float?", "the reranker's score")}),
    "gate_usage": dict(format="parquet", key=["dataset", "qid"], meaning="what reranking each union costs without a cache (lib.gating_lists)", columns={
        **QUESTION, "reranker": ("str", "who reads"), "pairs": ("int", "passages read"), "tokens": ("float?", "tokens read; missing: not counted")}),
    "gate_pools": dict(format="parquet", key=["dataset", "qid", "pool", "reranker", "rank"], meaning="the first places of the unions of more lists, reranked, and of "
                       "other rerankers (document 002, Table 9)", columns={
        **QUESTION, "pool": ("str", "the lists whose first ten were joined"), "reranker": ("str", "who reads"), "rank": ("int", "place, to ten"), **DOC}),
}
