"""The tables of results on depth, latency and probes of rerankers, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL
from lib.declarations_results import TIER

SLICE = {"dataset": ("str", "data set"), "slice": ("str", "slice of questions, or all"), "ranker": ("str", "first stage"),
        "reranker": ("str", "what orders its candidates")}
ENDS = {k: INTERVAL[k] for k in ("estimate", "ci_low", "ci_high")}

DEPTH: dict[str, dict] = {
    "depth": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "depth", "measure"],
                  meaning="coverage, ceiling, realised quality and cost when the first d candidates are reranked (lib.depth_table)", columns={
        **TIER, **SLICE, "depth": ("int", "candidates the reranker sees"),
        "measure": ("str", "see lib.depth.depth_rows; headroom, gain, lost, regressed, capture"), **ENDS,
        "p_value": ("float?", "two-sided, paired cluster bootstrap; of the gain alone"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"],
        "undefined": ("int", "questions left out and counted"), "exhausted": ("int", "questions whose list is shorter than the depth"),
        "unscored": ("int", "candidates within the depth without a score")}),
    "depth_entered": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "depth", "beyond"],
                          meaning="where the irrelevant documents among the first m come from, by depth (lib.depth.entered)", columns={
        **TIER, **SLICE, "depth": ("int", "candidates the reranker sees"), "beyond": ("int", "counted: those that the first stage ranked beyond this"),
        "share": ("float?", "mean share of the first m places, [0, 1]"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "n": INTERVAL["n"]}),
    "depth_sufficient": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "measure"],
                             meaning="the smallest sufficient depth of each slice, or not decided (lib.depth_choice)", columns={
        **TIER, **SLICE, "measure": ("str", "coverage, ceiling, realised or met"), "tolerance": ("float", "how far below the best mean still suffices"),
        "depth": ("int?", "smallest of the depths asked that suffices"), "depth_low": ("int?", "lower end: the answer of 95 % of the resamples"),
        "depth_high": ("int?", "upper end"), "best": ("int?", "depth with the best mean"), "value": ("float?", "mean at depth"),
        "best_value": ("float?", "the best mean"),
        "verdict": ("str", "decided, not decided, undefined; still rising: the deepest depth asked is needed; worse than the first stage"),
        "exhausted": ("int", "questions whose list ends before the deepest depth"), "n": ("int", "questions"),
        "undefined": ("int", "questions left out and counted")}),
    "depth_falls": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "measure"],
                        meaning="whether quality falls with depth: a pair of depths chosen on half 0, tested on half 1 (lib.depth_choice)", columns={
        **TIER, **SLICE, "measure": ("str", "realised, or another measure"), "peak": ("int?", "the better, smaller depth"),
        "depth": ("int?", "the depth that falls below it"),
        "delta_chosen": ("float?", "measure at depth minus at peak on half 0, where the pair was chosen"), "delta": ("float?", "the same on half 1"),
        "ci_low": ("float?", "95 % interval over questions, lower end"), "ci_high": ("float?", "upper end"),
        "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm over the slices of a data set"), "verdict": ("str", "falls, no fall found, undefined"),
        "n_chosen": ("int", "questions of half 0"),
        "n": ("int", "questions of half 1"), "undefined": ("int", "questions left out and counted")}),
    "depth_cost": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "depth", "against"],
                       meaning="what an additional successful query costs (lib.depth_cost)", columns={
        **TIER, **SLICE, "depth": ("int", "candidates the reranker sees"), "against": ("str", "first stage, or the next smaller depth"),
        "cost": ("float?", "mean added cost a query, at the prices given"), "gained": ("int", "queries successful now and not before"),
        "lost": ("int", "the other way round"),
        "additional": ("float?", "(gained - lost) / n"), "additional_low": ("float?", "95 % interval, lower end"), "additional_high": ("float?", "upper end"),
        "per_unit": ("float?", "additional successes per unit of cost"), "per_unit_low": ("float?", "lower end"), "per_unit_high": ("float?", "upper end"),
        "cost_per_success": ("float?", "its inverse; missing where nothing is gained on balance"), "cost_low": ("float?", "lower end"),
        "cost_high": ("float?", "upper end; missing: no bound"), "n": ("int", "questions"), "undefined": ("int", "questions left out and counted")}),
    "latency": dict(format="csv", key=["tier", "reranker", "depth", "arrangement", "load", "quantity"],
                    meaning="latency under load, simulated from recorded service times (lib.latency_table)", columns={
        **TIER, "reranker": SLICE["reranker"], "depth": ("int", "candidates scored a query"),
        "arrangement": ("str", "single, batched, bursty; bursty, batched; on and off"),
        "load": ("float", "arrival rate over what the servers can do one query at a time"), "rate": ("float", "queries a second"),
        "quantity": ("str", "p50, p95, p99, mean, wait (seconds); timed_out (share); batch (queries served together)"), **ENDS,
        "requests": ("int", "simulated requests a run"), "runs": ("int", "runs, over which the interval is taken")}),
    "fallback": dict(format="csv", key=["tier", "dataset", "slice", "ranker", "reranker", "depth", "arrangement", "load", "measure"],
                     meaning="quality under load when requests that time out or fail get the first-stage order (lib.latency_table)", columns={
        **TIER, **SLICE, "depth": ("int", "candidates the reranker sees"), "arrangement": ("str", "as in latency"), "load": ("float", "as in latency"),
        "fallback": ("float", "share of requests answered in the first-stage order"), "measure": ("str", "ndcg or met"), **ENDS, "n": INTERVAL["n"],
        "undefined": ("int", "questions left out and counted")}),
    "probes": dict(format="csv", key=["tier", "reranker", "probe"], meaning="controls and probes of a reranker: a number each, low is good (lib.probes)",
    columns={
        **TIER, "reranker": SLICE["reranker"], "probe": ("str", "name"), "value": ("float?", "mean over cases"), "ci_low": INTERVAL["ci_low"],
                "ci_high": INTERVAL["ci_high"],
        "threshold": ("float", "the most that passes"), "verdict": ("str", "pass, fail, not applicable"),
        "sure": ("bool?", "the interval lies on that side as a whole"),
        "n": ("int", "cases with a value"), "calls": ("int", "model calls the probe took"), "meaning": ("str", "the number in words")}),
    "score_scale": dict(format="csv", key=["tier", "dataset", "ranker", "reranker", "comparison", "quantity"],
                        meaning="what a reranker's scores mean across queries: drift, calibration, abstention (lib.probes_scores)", columns={
        **TIER, "dataset": SLICE["dataset"], "ranker": SLICE["ranker"], "reranker": SLICE["reranker"], "comparison": ("str", "between whom, or in which form"),
        "quantity": ("str", "ks, psi, between queries, ece, auc of the top score, risk"), **ENDS, "p_value": ("float?", "of ks and psi"),
        "p_holm": ("float?", "Holm over the comparisons of one quantity"), "n": ("int", "queries")}),
    "reliability": dict(format="csv", key=["tier", "dataset", "ranker", "reranker", "form", "half", "bin"],
                        meaning="predicted probability beside the share relevant, by bin (lib.probes_calibration)", columns={
        **TIER, "dataset": SLICE["dataset"], "ranker": SLICE["ranker"], "reranker": SLICE["reranker"], "form": ("str", "sigmoid, or platt fitted on half 0"),
        "half": ("str", "half judged"), "bin": ("int", "from 0"), "low": ("float", "lower edge"), "high": ("float", "upper edge"),
        "count": ("int", "candidates"),
        "probability": ("float?", "mean predicted"), "relevant": ("float?", "share relevant")}),
}
