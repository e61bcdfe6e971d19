"""The tables of results on when principled packing helps, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL, PACK, READER
from lib.declarations_results import DELTA, HALF, PAIR, PANEL, SET, TIER

JUDGED = {**DELTA, "p_value": ("float?", "two-sided, paired cluster bootstrap"), "p_holm": ("float?", "Holm over the rows of one family"),
          "margin": ("float?", "equivalence margin"), "eq_low": ("float?", "lower end of the 90 % interval"), "eq_high": ("float?", "upper end"),
          "eq_p": ("float?", "two one-sided tests, the larger p"), "verdict": ("str", "wins, loses, equivalent (within the margin), undecided, undefined; on tokens fewer, more"),
          "mde": ("float?", "minimum detectable effect at 80 % power"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}

SCOPE: dict[str, dict] = {
    "compression": dict(format="csv", key=["tier", "dataset", "pack_id", "quantity"], meaning="what the graph of claims compresses (SPEC 10)", columns={
        **TIER, **SET, "pack_id": PACK["pack_id"],
        "quantity": ("str", "claims a pool; claims_merged: share that another stands for; tokens_saved: share of their tokens; tokens_shown: over those of the chunks"),
        **INTERVAL}),
    "ladder": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "kind", "against", "policy", "control", "quantity"],
                   meaning="the same contexts past readers of several sizes and number formats (lib.ladder)", columns={
        **TIER, **PANEL, "kind": ("str", "score, contrast, context, best, precision, scale, trend, claim (lib.ladder)"),
        "against": ("str", "the other rung, in comparisons of rungs; none"), "policy": ("str", "packing rule, closed_book, or pooled over the packers"),
        "control": ("str", "the packing rule subtracted, none where no contrast"), "quantity": ("str", "see lib.ladder"),
        "billions": ("float?", "nominal parameters in thousand millions, as the model's name says"), "weights": ("str?", "what the weights had been through"),
        "chosen": ("str?", "best: the policy with the highest F1"), **INTERVAL, "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm within a rung's contrasts, and within comparisons of one kind; of a lead, times the number of pairs"),
        "mde": ("float?", "minimum detectable effect at 80 % power"), "eq_low": ("float?", "lower end of the 90 % interval, where equivalence is asked"),
        "eq_high": ("float?", "upper end"), "verdict": ("str?", "of a difference as in intervention; of a lead: separated or not; of a claim: see lib.ladder_between"),
        "undefined": ("int", "rows left out and counted")}),
    "ladder_partners": dict(format="csv", key=["tier", "claim"], meaning="document 000's contrasts, policy tables and ladder beside this run's rungs", columns={
        "claim": ("str", "name in data/published/claims.csv"), **TIER, "label": ("str", "the claim in words"), "source": ("str", "document and place"),
        "published": ("float", "published value"), "published_low": ("float?", "published interval, lower end"), "published_high": ("float?", "upper end"),
        "reader_needed": ("str?", "published reader and number format; missing where no reader is involved"), "compared_with": ("str?", "our data set"),
        "reader": ("str?", "our rung"), "ours": ("float?", "our value"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "n": ("int?", "questions"), "verdict": ("str", "reproduced, differs, inconclusive; other reader: shown beside, not judged; not run"),
        "note": ("str?", "what differs in the set-up, or why not run")}),
    "dials": dict(format="csv", key=["tier", "dial", "value", "treatment", "control", "measure", "reader", "precision"],
                  meaning="generated worlds, one dial turned at a time: what it moves, what is retrieved, kept and answered, contrasts and trends (SPEC 9)", columns={
        **TIER, "dial": ("str", "hops, surfacing, redundancy, position, paraphrase"), "value": ("str", "where the dial stands; trend: change from its low to its high end"),
        "place": ("float?", "along the dial, 0 to 1; missing for trends and where the value at rest is no point of the dial"), "end": ("str", "low, high or none"),
        "at_rest": ("bool", "the dial stands where it stands while others are turned"),
        "treatment": ("str", "policy; pool: what retrieval finds; world: what the dials move"), "control": ("str", "the policy subtracted, none for a level"),
        "measure": ("str", "answer_in_context_defined, lost_in_retrieval and lost_in_packing add up to 1; answer_kept: where the answer is in the pool; see lib.dials_table"),
        **READER, **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "p_value": ("float?", "two-sided, paired bootstrap over questions; contrasts alone"),
        "p_holm": ("float?", "of the planned metric: Holm over points and contrasts, or over trends; by reader"),
        "eq_low": ("float?", "lower end of the 90 % interval"), "eq_high": ("float?", "upper end"), "eq_p": ("float?", "two one-sided tests against the margin"),
        "verdict": ("str?", "of a point as in intervention; of a trend: rises, falls, flat, undecided (then: reversing), as frozen in data/published/plan.yaml"),
        "n": INTERVAL["n"], "undefined": ("int", "questions left out and counted")}),
    "embedders": dict(format="csv", key=["tier", "dataset", "scope", "ranker", "minus", "treatment", "control", "measure"],
                      meaning="what each ranker retrieves, what packers keep of it, and what a ranker changes, paired by question (lib.embedders)", columns={
        **TIER, "dataset": ("str", "data set, or all"), "scope": ("str", "own or pooled"), "ranker": ("str", "whose top 5 is packed"),
        "minus": ("str", "none; or the ranker whose value is taken away, question by question"),
        "treatment": ("str", "policy, or none: before any packer"), "control": ("str", "the policy subtracted; none for a level"),
        "measure": ("str", "all_gold_at_5, recall_at_5, answer_in_pool, answer_in_context_defined"),
        **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "p_value": ("float?", "two-sided, paired cluster bootstrap; comparisons alone"),
        "p_holm": ("float?", "Holm over one data set's contrasts of packers, over what rankers change in them, or over what rankers change in one measure"),
        "verdict": ("str?", "of comparisons, as in intervention: moved up or down, slightly up or down, equivalent, inconclusive, undefined"),
        "n": INTERVAL["n"], "clusters": INTERVAL["clusters"], "undefined": ("int", "questions left out and counted")}),
    "objective_ablations": dict(format="csv", key=["tier", "dataset", "half", "policy", "change", "control", "measure"],
                                meaning="the four-term objective with one setting changed, beside the published one and the heuristics; no reader involved (SPEC 4)", columns={
        **TIER, "dataset": ("str", "data set; all: every question of every set once"), "half": ("str", "0 (choose), 1 (confirm), all"),
        "policy": ("str", "submod or mmr"), "change": ("str", "see lib.submodular_ablations; published: none"),
        "control": ("str", "published: the same rule unchanged; or a heuristic as published"), "measure": ("str", "column of survival"),
        "mean": ("float?", "the changed setting's"), **DELTA, "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm over the changes of one rule, data set, half, control and measure"), "wins": ("int", "questions where the change is higher"),
        "losses": ("int", "questions where it is lower"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"], "undefined": ("int", "questions left out and counted")}),
    "optimality": dict(format="csv", key=["tier", "dataset", "rule", "quantity"], meaning="the greedies beside the best pack there is, on the four-term objective without a cap", columns={
        **TIER, "dataset": ("str", "data set; all: every question of every set once"), "rule": ("str", "ratio (published), unit cost, both: the better of the two"),
        "quantity": ("str", "optimal: share of pools of at most 15 snippets where no pack has a higher F; of_optimum: F over the optimum there; least_of_optimum: the lowest; "
                            "certified: F over the bound, all pools"), **INTERVAL, "undefined": ("int", "pools left out and counted")}),
    "scope": dict(format="csv", key=["tier", "condition", "dataset", "setting", "pack_id", "budget", "reader", "precision", "treatment", "control", "metric"],
                  meaning="document 000's four conditions: the gain of one packer over another where a condition holds, where it fails, and the difference", columns={
        **TIER, "condition": ("str", "structure, retrieval, pool, budget or reader (lib.scope_conditions)"), "dataset": ("str", "data set, or all"),
        "setting": ("str", "slice of questions, pool, budget, reader, contrast of shape, or A − B: the difference between two of them"),
        "expected": ("str", "by document 000: helps, fails; of a difference or shape: rises (above 0), falls (below 0)"),
        "pack_id": ("str", "pack, or several"), "budget": ("int", "tokens; 0: several"), "reader": ("str", "reader, none, or several"), "precision": READER["precision"],
        **PAIR, "metric": ("str", "column of outcomes"), **JUDGED}),
    "unlock": dict(format="csv", key=["tier", "dataset", "half", "scope", "ranker", "depth", "policy", "measure", "against"],
                   meaning="what deeper or iterative retrieval brings, measured at its own depth, and what packers keep of it (lib.unlock)", columns={
        **TIER, "dataset": ("str", "data set, or all"), **HALF, "scope": ("str", "own or pooled"), "ranker": ("str", "dense, iterative; claims: graph claims, depth in claims"),
        "depth": ("int", "passages in the list"), "policy": ("str", "none: before packing; a packer at the main budget; or a difference of two"),
        "measure": ("str", "recall, all_gold, last_hop_hit, answer_in_list; answer_in_context_defined, all_gold_in_context; documents"),
        "against": ("str", "none: a mean; dense 5: less the same of the first five of the dense list; dense: less dense at the same depth"),
        **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "p_value": ("float?", "two-sided, of differences"), "n": INTERVAL["n"],
        "clusters": INTERVAL["clusters"], "undefined": ("int", "questions left out and counted")}),
    "budget_shape": dict(format="csv", key=["tier", "dataset", "pack_id", "reader", "precision", "treatment", "control", "metric", "quantity"],
                         meaning="gaps between packers at every budget, tests of their shape, and quality at fewer tokens (lib.budget_shape)", columns={
        **TIER, "dataset": ("str", "data set, or all"), "pack_id": PACK["pack_id"], **READER, "treatment": ("str", "policy, or policy@budget"),
        "control": ("str", "policy, or policy@budget"), "metric": ("str", "column of outcomes"),
        "quantity": ("str", "gap_<budget>; bump: gap at 160 minus the mean of those at 96 and 224; trend, curve: per doubling of the budget; same_quality"), **JUDGED}),
    "order": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "reader", "precision", "treatment", "control", "metric"],
                  meaning="the same snippets with the answer's first, in the middle or last: differences between places (lib.context_order)", columns={
        **TIER, **SET, **PACK, **READER, "treatment": ("str", "place of the answer's snippet"), "control": ("str", "place"), "metric": ("str", "f1 or em"), **JUDGED}),
    "when": dict(format="csv", key=["tier", "dataset", "group", "situation"], meaning="which packer when: what keeps most in each situation, and what does as well (lib.when)", columns={
        **TIER, "dataset": ("str", "data set, or all"), "situation": ("str", "in words"), "group": ("str", "all, structure, retrieval, budget, evidence, reader"),
        "metric": ("str", "answer_in_context_defined, or f1 of a reader"), **{k: v for k, v in PACK.items() if k != "policy"}, **READER, "best": ("str", "packer with the highest mean"),
        "tied": ("str", "packers that no paired interval parts from the best, best first"), "mean": ("float", "of the best"), "tokens": ("float", "mean tokens of the best"),
        "cheapest": ("str", "of the tied, the one with the fewest tokens"), "cheapest_tokens": ("float", "its tokens"),
        **{f"over_{c}{end}": ("float?", f"best minus {c}{said}") for c in ("topk", "naive", "focused")
           for end, said in (("", ""), ("_low", ", lower end of the 95 % interval"), ("_high", ", upper end"))},
        "steady": ("bool", "each half alone finds its best among the tied"), "n": ("int", "questions"), "advice": ("str", "the row in words")}),
    "scope_partners": dict(format="csv", key=["tier", "claim"], meaning="document 000's scope map, Tables 4 and 7 beside this run", columns={
        "claim": ("str", "name in data/published/claims.csv"), **TIER, "label": ("str", "the claim in words"), "source": ("str", "document and place"),
        "published": ("float?", "published value"), "published_low": ("float?", "published interval, lower end"), "published_high": ("float?", "upper end"),
        "reader_needed": ("str?", "published reader and number format; missing where no reader is involved"), "compared_with": ("str?", "our data set"),
        "reader": ("str?", "ours"), "ours": ("float?", "our value"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "n": ("int?", "questions or rows"),
        "verdict": ("str", "reproduced, differs, inconclusive, not run"), "note": ("str?", "what differs in the set-up, or why not run")}),
    "factorial": dict(format="csv", key=["tier", "dataset", "budget", "reader", "precision", "half", "kind", "treatment", "control", "metric"],
                      meaning="{chunk, ace} x packers: does packing help, does the representation, and does the one depend on the other (lib.factorial)", columns={
        **TIER, "dataset": ("str", "data set, or all"), "budget": PACK["budget"], **READER, **HALF, "kind": ("str", "packer, representation, anchor (against naive chunks), interaction"),
        "treatment": ("str", "arm, or difference of arms"), "control": ("str", "arm, or difference of arms"), "metric": ("str", "column of outcomes"), **DELTA,
        "p_value": ("float?", "two-sided"), "p_holm": ("float?", "Holm over the contrasts and metrics of a panel"), "mde": ("float?", "minimum detectable effect at 80 % power"),
        "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
    "packer_contest": dict(format="csv", key=["tier", "dataset", "budget", "policy", "measure"],
                           meaning="every packer and rival against submod on the same candidates, costs and budgets; no reader involved (SPEC 4)", columns={
        **TIER, "dataset": ("str", "data set; all: pooled over questions, where there are several"), "budget": PACK["budget"],
        "policy": ("str", "packing rule, a setting of one (lib.contest.CHANGES), or a bound: pool, best_possible (knows the answer)"),
        "measure": ("str", "column of survival; answer_in_context_defined: over questions with a span to look for"),
        **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "delta": ("float?", "mean of policy - submod over the questions both packed"),
        "delta_low": ("float?", "95 % paired interval over questions, lower end"), "delta_high": ("float?", "upper end"),
        "p_value": ("float?", "two-sided, paired cluster bootstrap; no bounds"), "p_holm": ("float?", "Holm over the policies of one data set, budget and measure"),
        "wins": ("int", "questions where the policy is higher"), "losses": ("int", "questions where it is lower"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"],
        "undefined": ("int", "questions left out and counted"), "part": ("str", "all, or how many of the questions this policy packed")}),
    "policy_table": dict(format="csv", key=["tier", "dataset", "policy", "measure"],
                         meaning="every column of document 000's tables of policies, at the reading budget, for each data set and over all questions", columns={
        **TIER, "dataset": ("str", "data set; all: every question of every set once"),
        "policy": ("str", "packer; ace_: from graph snippets; closed_book; oracle"), "measure": ("str", "column of outcomes"),
        "estimate": INTERVAL["estimate"], "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "n": ("int", "questions with a value"),
        "undefined": ("int", "questions left out and counted: not read, or without a value")}),
    "policy_contrasts": dict(format="csv", key=["tier", "dataset", "treatment", "control", "metric"],
                             meaning="paired contrasts of the table of policies, tokens among them, for each data set and over all questions", columns={
        **TIER, "dataset": ("str", "data set; all: every question of every set once"), "budget": ("int", "tokens"), "reader": READER["reader"], **PAIR,
        "metric": ("str", "column of outcomes"), **DELTA, "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm over the pairs and metrics of one data set"), "wins": ("int", "questions where the treatment is higher"),
        "losses": ("int", "questions where it is lower"), "sign_p": ("float?", "exact sign test of wins and losses"),
        "mde": ("float?", "smallest difference found four times out of five"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
}
