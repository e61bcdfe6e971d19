"""The tables of results on document 002's lists, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL
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
    "graph_ablations": dict(format="csv", key=["tier", "dataset", "half", "choice"],
                            meaning="the graph list with one choice changed at a time, chosen on half 0, confirmed on half 1 (lib.graph_list_table)", columns={
        **TIER, "dataset": ("str", "data set"), **HALF, "choice": ("str", "what differs from lib.graph_list_choices; 'as chosen': nothing"),
        "chosen_by": ("float?", "mean of recall_at_5 and last_hop_hit_at_5"),
        **{m: ("float?", "mean; see graph_lists") for m in MEASURES},
        "n": ("int", "questions"), "fell_back": ("int", "questions without a phrase in the graph: passages alone")}),
}
