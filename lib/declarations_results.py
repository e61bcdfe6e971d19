"""The tables of results, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL, PACK, QUESTION, READER

TIER = {"tier": ("str", "sample, real, own or paper")}
SET = {"dataset": QUESTION["dataset"]}
HALF = {"half": ("str", "0 (choose), 1 (confirm), all; where several seeds draw questions also 'seed 42' and so on, and instances: each (seed, question) once")}
PAIR = {"treatment": ("str", "policy"), "control": ("str", "policy")}
PANEL = {**SET, "pack_id": PACK["pack_id"], "budget": PACK["budget"], **READER}
DELTA = {"delta": ("float?", "mean of treatment - control"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"]}
POOLING = {"pooling": ("str", "policies: the packers compared; with_oracle: the per-question best among the rows too")}
SLICE = ("str", "all, or a value of a column that groups questions, as in question_type=bridge")
ROWS = {"rows": ("str", "all: undefined answer-in-context counts 0, as published; defined: only questions with a span")}

RESULTS = {
    "settings": dict(format="csv", key=["id"], meaning="what each pool_id and pack_id stands for", columns={
        "id": ("str", "pool_id or pack_id"), "kind": ("str", "pool or pack"), "settings": ("str", "all settings as JSON")}),
    "retrieval": dict(format="csv", key=["tier", "dataset", "scope", "ranker", "measure"], meaning="ranking measures, mean over questions", columns={
        "tier": ("str", "sample, real or paper"), "dataset": QUESTION["dataset"], "scope": ("str", "own or pooled"), "ranker": ("str", "ranker"),
        "measure": ("str", "name with cutoff"), **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "policies": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "reader", "precision", "half", "measure"],
                     meaning="each measure of each policy, mean over questions", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **PACK, **READER, "half": ("str", "0, 1 or all"),
        "measure": ("str", "column of outcomes"), **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "packing": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "half", "measure"],
                    meaning="what survives into the packed context, mean over questions; no reader involved", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **PACK, "half": ("str", "0, 1 or all"), "measure": ("str", "column of survival"),
        **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "choices": dict(format="csv", key=["tier", "dataset", "pack_id", "half", "policy", "measure"],
                    meaning="every packing setting tried, beside the published column and the main setting", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], "pack_id": PACK["pack_id"], "half": ("str", "0 (choose), 1 (confirm) or all"),
        "policy": PACK["policy"], "measure": ("str", "column of survival"), "ours": ("float?", "mean over questions"), "ci_low": INTERVAL["ci_low"],
        "ci_high": INTERVAL["ci_high"], "published": ("float?", "document 000, Table 6; HotpotQA only"), "difference": ("float?", "ours - published"),
        "moved": ("float?", "ours - the main setting's"), "n": INTERVAL["n"]}),
    "correlations": dict(format="csv", key=["tier", "dataset", "reader", "precision", "pooling", "predictor", "minus", "outcome"],
                         meaning="Pearson correlation over policy x question rows; undefined answer-in-context counts 0 unless _defined", columns={
        "tier": ("str", "tier"), "dataset": ("str", "data set, or all"), **READER, **POOLING, "predictor": ("str", "diagnostic"),
        "minus": ("str", "none; or the diagnostic whose correlation is taken away, both from the same resamples"), "outcome": ("str", "f1 or em"),
        **INTERVAL}),
    "conditional": dict(format="csv", key=["tier", "dataset", "reader", "precision", "condition", "holds", "measure"],
                        meaning="mean answer quality where a condition holds and where it does not; questions with a defined answer, four published policies",
                        columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **READER, "condition": ("str", "indicator column"), "holds": ("int", "1 or 0"),
        "measure": ("str", "f1 or em"), **INTERVAL}),
    "contrasts": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "half", "treatment", "control", "metric"],
                      meaning="paired differences, treatment - control", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], "pack_id": PACK["pack_id"], "budget": PACK["budget"], **READER,
        **HALF, "treatment": ("str", "policy"), "control": ("str", "policy"), "metric": ("str", "column of outcomes"),
        "delta": ("float", "mean of treatment - control"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap"),
        "p_holm": ("float?", "Holm over the pairs and metrics of one data set, pack, budget, reader and half"),
        "wins": ("int", "questions where the treatment is higher"), "losses": ("int", "questions where it is lower; ties are neither"),
        "sign_p": ("float", "exact two-sided sign test on wins and losses"),
        "mde": ("float?", "minimum detectable effect at 80 % power"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
    "waterfall": dict(format="csv", key=["tier", "dataset", "slice", "pack_id", "policy", "budget", "reader", "precision", "outcome", "stage"],
                      meaning="where answers are lost, stage by stage, over questions with a defined answer", columns={
        **TIER, **SET, "slice": SLICE, **PACK, **READER,
        "outcome": ("str", "what the last stage asks for: em; f1 (the F1 of answers that stood in the context); none: the chain ends at the context"),
        "stage": ("str", "corpus, pool, context, read"), "order": ("int", "place in the chain"), "share": ("float?", "share of defined questions still alive"),
        "lost": ("float?", "share lost here"), "ci_low": ("float?", "95 % interval of the share, lower end"), "ci_high": ("float?", "upper end"),
        "lost_low": ("float?", "95 % interval of the loss, lower end"), "lost_high": ("float?", "upper end"),
        "n": ("int", "questions with a defined answer"), "undefined": ("int", "questions without one")}),
    "waterfall_marks": dict(format="csv", key=["tier", "dataset", "slice", "pack_id", "policy", "budget", "reader", "precision", "outcome", "mark"],
                            meaning="beside the waterfall, not part of its chain; shares of the same questions", columns={
        **TIER, **SET, "slice": SLICE, **PACK, **READER, "outcome": ("str", "em or f1"),
        "mark": ("str", "first_stage_order: what documents in rank order, cut at the budget, would have kept; right_without_answer: right although the answer "
                        "did not stand in the context"),
        **INTERVAL, "undefined": ("int", "questions without a defined answer")}),
    "validity": dict(format="csv", key=["tier", "dataset", "reader", "precision", "pooling", "rows", "outcome", "quantity"],
                     meaning="what answer-in-context adds to recall@5 in predicting answer quality (document 000, section 3.3 (a))", columns={
        **TIER, "dataset": ("str", "data set, or all"), **READER, **POOLING, **ROWS, "outcome": ("str", "f1 or em"),
        "quantity": ("str", "r2_recall, r2_both, delta_r2, delta_r2_equal_recall (the same against a stricter null); beta_* in outcome units per SD; "
                            "std_beta_* fully standardised; partial_r; r_predictors; *_closed_book: beside the closed-book score (lib.validity_closed_book)"),
        **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "p_value": ("float?", "two-sided; for delta_r2 from the permutation null"),
        "null_high": ("float?", "delta_r2: 95th percentile when answer-in-context is permuted across questions within policy; _equal_recall: across those of "
                                "equal recall"),
        "method": ("str", "cluster bootstrap, or cluster-robust covariance"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
    "retrieval_perfect": dict(format="csv", key=["tier", "dataset", "reader", "precision", "policy", "rows", "quantity"],
                              meaning="rows whose gold was all retrieved in the top 5: what packing dropped, and what that cost (section 3.3 (b))", columns={
        **TIER, "dataset": ("str", "data set, or all"), **READER, "policy": ("str", "packing rule, or pooled: all compared packers"), **ROWS,
        "quantity": ("str", "six shares that add up to 1: share_kept_in_gold, share_kept_elsewhere, share_dropped_by_packing (stood in a gold passage), "
                            "share_dropped_elsewhere, share_dropped_never_verbatim, share_undefined (rows all only); share_dropped, share_never_verbatim (in "
                            "no gold passage); f1_kept, f1_dropped, f1_gap, f1_ratio (kept over dropped), and the same of em"), **INTERVAL}),
    "intervention": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "half", "treatment", "control", "metric"],
                         meaning="did coverage move, did answer-in-context, did the answers: differences with two one-sided tests (section 3.4)", columns={
        **TIER, **PANEL, **HALF, **PAIR, "metric": ("str", "column of outcomes; coverage_minus_answer: whether the two moved apart"), **DELTA,
        "p_value": ("float?", "two-sided against 0"), "margin": ("float", "equivalence margin"),
        "eq_low": ("float?", "lower end of the 90 % interval"), "eq_high": ("float?", "upper end"), "eq_p": ("float?", "larger one-sided p"),
        "verdict": ("str", "moved up, moved down, equivalent, slightly up or slightly down (moved, but within the margin), inconclusive, undefined"),
        "mde": ("float?", "minimum detectable effect at 80 % power"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
    "mechanism": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "half", "treatment", "control", "question_type", "quantity"],
                      meaning="why coverage and answers part: where the answer's document is ranked, and what kind of gold the treatment adds", columns={
        **TIER, **SET, "pack_id": PACK["pack_id"], "budget": PACK["budget"], **HALF, **PAIR, "question_type": ("str", "kind of question, or all"),
        "quantity": ("str", "see lib.mechanism"), **INTERVAL}),
    "transitions": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "half", "treatment", "control", "outcome",
                                           "transition"],
                        meaning="a contrast split by what became of the answer (section 5.0.0.4)", columns={
        **TIER, **PANEL, **HALF, **PAIR, "outcome": ("str", "f1 or em"),
        "transition": ("str", "gained, lost, kept, absent (in neither context), undefined (no span), net (gained and lost), all"),
        "questions": ("int", "questions in it"), "share": ("float?", "of all questions"), "mean_delta": ("float?", "mean difference inside it"),
        "contribution": ("float?", "sum of its differences over all questions: contributions add up to the contrast"),
        "ci_low": ("float?", "95 % interval of the contribution"), "ci_high": INTERVAL["ci_high"],
        "share_of_delta": ("float?", "contribution over the whole difference; missing where its interval holds 0"),
        "share_low": ("float?", "95 % interval of share_of_delta"), "share_high": ("float?", "upper end"), "n": INTERVAL["n"],
        "clusters": INTERVAL["clusters"]}),
    "assembly": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "half", "treatment", "control", "measure"],
                     meaning="does a packer assemble more gold or only pack denser; no reader involved (section 5.0.0.4)", columns={
        **TIER, **SET, "pack_id": PACK["pack_id"], "budget": PACK["budget"], **HALF, **PAIR, "measure": ("str", "all_gold_in_context or gold_density"),
        "questions_treatment": ("int?", "questions with all gold in the context; missing for the density"), "questions_control": ("int?", "the same"),
        "mean_treatment": ("float?", "mean over questions"), "mean_control": ("float?", "mean over questions"), **DELTA,
        "p_value": ("float?", "two-sided"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"], "undefined": ("int", "questions without gold")}),
    "headroom": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "half", "outcome", "policy", "quantity"],
                     meaning="what a per-question choice of packer could win, and what a selector over retrieval features does win (section 5.0.0.5)", columns={
        **TIER, **PANEL, **HALF, "outcome": ("str", "f1 or em"), "policy": ("str", "packing rule, oracle, best_fixed, selector or selector_eager"),
        "quantity": ("str", "mean; best_or_tied and strictly_best (share of questions); minus_best_fixed; best_fixed also mean_chosen_on_half_0 and "
                            "mean_chosen_in_training; selectors also "
                            "as_best_fixed and picks_<packer> (share of questions)"), "chosen": ("str?", "which packer was the best fixed one"), **INTERVAL}),
    "mediation": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "treatment", "control", "outcome", "mediator",
                                         "quantity"],
                      meaning="the part of a contrast that runs through a mediator, under the assumptions in lib.mediation", columns={
        **TIER, **PANEL, **PAIR, "outcome": ("str", "f1 or em"), "mediator": ("str", "answer_in_context or gold_coverage"),
        "quantity": ("str", "a (policy to mediator), b (mediator to outcome), interaction (b under the treatment minus b under the control), total, indirect, "
                            "direct, share (indirect over total; missing where the total's interval holds 0), misfit (0 where the model's straight lines "
                            "hold)"),
        **INTERVAL, "undefined": ("int", "questions whose mediator is undefined, left out")}),
    "variants": dict(format="csv", key=["tier", "dataset", "reader", "precision", "scorer", "half", "rows", "quantity"],
                     meaning="answer-in-context without a span: how each scorer agrees with the span variant and with people, and how it predicts answers",
                     columns={
        **TIER, **SET, "reader": ("str", "whose answers are predicted; none where none is involved"), "precision": READER["precision"],
        "scorer": ("str", "what judged; answer_in_context: the span variant itself"), **HALF,
        "rows": ("str", "which contexts: verbatim, not verbatim, free-form, yes/no, answer removed, hand-checked, ... (lib.semantic)"),
        "quantity": ("str", "see lib.semantic"), **INTERVAL}),
    "faithfulness": dict(format="csv", key=["tier", "dataset", "reader", "precision", "policy", "quantity"],
                         meaning="whether answers rest on the context: closed book, and the context without the snippets that hold the answer", columns={
        **TIER, **SET, **READER, "policy": ("str", "packing rule, or pooled"), "quantity": ("str", "see lib.faithfulness"), **INTERVAL}),
    "scoring_rules": dict(format="csv", key=["tier", "dataset", "reader", "precision", "rule"],
                          meaning="how many scores change when another data set's official script is used", columns={
        **TIER, **SET, **READER, "own_rule": ("str", "the data set's own rule"), "rule": ("str", "the other rule"),
        "changed_em": ("int", "answers whose EM differs"),
        "changed_f1": ("int", "answers whose F1 differs"), "mean_em": ("float?", "by the other rule"), "mean_f1": ("float?", "by the other rule"),
        "own_em": ("float?", "by the own rule"), "own_f1": ("float?", "by the own rule"), "n": ("int", "answers with their text at hand"),
        "clusters": INTERVAL["clusters"]}),
    "claims": dict(format="csv", key=["claim", "tier"], meaning="published beside ours (data/published/README.md)", columns={
        "claim": ("str", "name"), "kind": ("str", "score, difference, count, or limitation: what document 000 says it cannot show"),
        "label": ("str", "the claim in words"), "tier": ("str", "tier"), "source": ("str", "document and place"), "dataset": ("str", "published data set"),
        "compared_with": ("str?", "our data set: the published one, or the corpus that stands in for it"),
        "reader_needed": ("str?", "published reader and number format; missing where none is involved"), "reader": ("str?", "ours"),
        "headline": ("bool", "drawn in the figure"), "published": ("float?", "published value"),
        "published_low": ("float?", "published interval, lower end"), "published_high": ("float?", "published interval, upper end"),
        "published_p": ("str?", "published p, as printed"), "effect": ("float?", "published effect: our half-width may be as large"),
        "ours": ("float?", "our value"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "difference": ("float?", "ours - published"),
        "n": ("int?", "questions or rows"), "verdict": ("str", "reproduced, differs, inconclusive, not run; of a limitation: lifted, partly lifted, stands"),
        "note": ("str?", "what differs in the set-up, or why not run")}),
}
