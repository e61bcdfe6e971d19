"""The tables of rival gates, decision curves, LastHop@K, conformal promises; form: see ``lib.declarations``. Deltas and harms in pp, rates as shares."""
from lib.declarations_gating import BOUND, CELL, COUNTS, DELTA, SKIP, SPREAD, N
from lib.declarations_results import TIER

DATASET = {"dataset": CELL["dataset"]}
GATE = {"gate": ("str", "learned; score gap, uncertainty, top score, commitment: one threshold; six features; best fixed; always H, D, rerank")}
PIPELINE = {"pipeline": ("str", "H, V, rerank, gated: what the gate of one K and rule hands on")}


def _both(name: str, meaning: str) -> dict:
    return {f"{name}_skip": ("float?", f"share skipped, {meaning}"), f"{name}_delta": ("float?", f"delta, {meaning}, pp")}


GATING_MORE: dict[str, dict] = {
    "gating_rivals": dict(format="csv", key=["tier", "gate", *CELL], meaning="every gate beside every other under the nested protocol (document 002, Table 5)",
                          columns={
        **TIER, **GATE, **CELL, "fallbacks": ("str", "those that folds chose"), **SKIP, "rerank": ("float", "hit rate of always reranking"),
        "gated": ("float", "hit rate of the gate"), **DELTA, **BOUND, **COUNTS, "sign_p": ("float", "exact sign test of beneficial against harmful skips"),
        "within": ("bool", "delta of -1 pp or more, unrounded"), "surely_within": ("bool", "bound of -1 pp or more"),
        "random": ("float", "delta of skipping as many of each fold at random, closed form, pp"), "over_random": ("float", "delta - random, pp"),
        "over_low": ("float?", "95 % interval over questions, lower end"), "over_high": ("float?", "upper end"), **N}),
    "gating_baselines": dict(format="csv", key=["tier", *CELL], meaning="the learned gate and its baselines, as document 002's Table 5 has them", columns={
        **TIER, **CELL, **_both("learned", "learned gate"), **_both("gap", "threshold on the score gap"), **_both("fixed", "best fixed policy of each fold"),
        **_both("random", "at random, as many as the learned gate"), "always_h_delta": ("float", "delta of always H, pp"),
        "always_d_delta": ("float?", "delta of always D, pp; missing without D"), "oracle_skip_h": ("float", "share that a skip to H would not harm"),
        "oracle_skip_d": ("float?", "the same to D"), **N}),
    "gating_curves": dict(format="csv", key=["tier", "gate", *CELL, "skip"], meaning="what every gate costs at every skip rate, in hindsight", columns={
        **TIER, "gate": ("str", GATE["gate"][1] + "; random; oracle"), **CELL, "skip": ("float", "share skipped of each fold, lowest p_harm first"),
        "delta": ("float", "gated - always reranked, pp"), **SPREAD, **N}),
    "gating_areas": dict(format="csv", key=["tier", "gate", *CELL], meaning="how much of an oracle's knowledge each gate has", columns={
        **TIER, **GATE, **CELL, "knows": ("float?", "area between curve and random line over the oracle's; 0: random, 1: oracle"), **SPREAD, **N}),
    "gating_lasthop": dict(format="csv", key=["tier", "dataset", "pipeline", "k"], meaning="LastHop@k against k (document 002, Table 12)", columns={
        **TIER, **DATASET, **PIPELINE, "k": ("int", "places"), "coverage": ("float", "share of questions with the last hop among them"), **SPREAD, **N}),
    "gating_levels": dict(format="csv", key=["tier", "dataset", "pipeline", "alpha"], meaning="the smallest k that covers 1 - alpha (document 002, Table 12)",
                          columns={
        **TIER, **DATASET, **PIPELINE, "alpha": ("float", "share of questions that may be missed"), "k": ("int?", "smallest; missing: none that was tried"),
        "k_sure": ("int?", "smallest at which the interval's lower end covers it"), **N}),
    "gating_pools": dict(format="csv", key=["tier", "dataset", "pool", "k"], meaning="LastHop@k of lists reranked over larger pools (document 002, Table 9)",
                         columns={
        **TIER, **DATASET, "pool": ("str", "the lists whose union was reranked"), "k": ("int", "places"),
        "coverage": ("float", "share of questions with the last hop among them"), "delta": ("float?", "against the first pool, pp; missing: its own row"),
        **SPREAD, "wins": ("int?", "questions that only this pool covers"), "losses": ("int?", "that only the first one covers"),
        "sign_p": ("float?", "exact sign test"), "p_holm": ("float?", "Holm over the k of one pool"), **N}),
    "gating_replayed": dict(format="csv", key=["tier", *CELL, "measure"], meaning="answer F1 replayed from answers that exist (document 002, Tables 10 and 11)", columns={
        **TIER, **CELL, "measure": ("str", "f1; answer_in_context: the packed text holds it"), "h_all": ("float", "mean F1 on H, all n"), "rerank_all": ("float", "on the reranked list, all n"),
        "covered": ("int", "questions whose gated list was read"), "h": ("float?", "mean F1 on H, covered questions"),
        "rerank": ("float?", "on the reranked list, covered questions"), "gated": ("float?", "on what the gate hands on, covered questions"),
        "delta": ("float?", "gated - rerank, in F1"), **SPREAD, "p_value": ("float?", "two-sided, paired cluster bootstrap"), **N}),
    "gating_promises": dict(format="csv", key=["method", "budget", "n"], meaning="do conformal promises hold on the true risk? simulated", columns={
        "method": ("str", "as seen: no promise; conformal: mean harm; high probability: true harm"), "budget": ("float", "harm allowed, pp"),
        "delta": ("float", "chance that the high-probability rule may be wrong"), "n": ("int", "calibration questions"),
        "mean_harm": ("float", "true harm, mean over draws, pp"), **SPREAD, "violations": ("float", "share of draws whose true harm is above the budget"),
        "violations_low": ("float", "exact 95 % interval, lower end"), "violations_high": ("float", "upper end"), "skip": ("float", "share skipped, mean"),
        "nothing": ("float", "share of draws that skip nothing"), "kept": ("bool?", "the draws agree with the promise; missing: none made"),
        "runs": ("int", "draws")}),
    "gating_calibration_sizes": dict(format="csv", key=["budget", "delta", "method", "harms"], meaning="calibration questions that a conformal budget needs",
                                     columns={
        "budget": ("float", "harm allowed, pp"), "delta": ("float", "chance that the high-probability rule may be wrong"),
        "method": ("str", "conformal; high probability"), "harms": ("int", "calibration questions harmed"), "questions": ("int", "fewest that suffice")}),
    "gating_conformal": dict(format="csv", key=["tier", "method", *CELL, "fold"], meaning="thresholds that calibration questions granted", columns={
        **TIER, "method": ("str", "conformal; high probability"), **CELL, "fold": ("int", "outer fold, from 0"),
        "model": ("str", "lr, rf, gbm, never, refused"),
        "fallback": ("str", "H, D or none"), "threshold": ("float?", "skip where p_harm is at most this; missing: skips nothing"),
        "n_learn": ("int", "questions that the gate was learned from"), "n_calibration": ("int", "questions that set the threshold"),
        "harms": ("int", "of these, how many a skip would harm")}),
}
