"""The table of what training targets teach, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
from lib.declarations_between import INTERVAL
from lib.declarations_results import TIER

TARGETS: dict[str, dict] = {
    "targets": dict(format="csv", key=["tier", "where", "dataset", "variant", "control", "measure", "kind"],
                    meaning="what each training target teaches: variants of one cross-encoder on questions kept out of training (lib.targets)", columns={
        **TIER, "where": ("str", "held out: questions of the training sets kept out of training; transfer: the sample corpus"),
        "dataset": ("str", "data set; all: every held-out question"),
        "variant": ("str", "label_negatives, as in lib/recipes/reranker_variants.yaml; untrained: the start; first sentence: a rule without a model"),
        "control": ("str", "the variant subtracted, question by question; none for a level"),
        "measure": ("str", "auc, mrr, ndcg of the support among one kind of chunk, by question; on_top: what stands first of all; auc_all: over questions; "
                           "ece_sigmoid, ece_platt, mean_sigmoid, base_rate: the score as a probability"),
        "kind": ("str", "sibling: the gold passage's other chunks; later: siblings where the support does not open the passage; near: the question's other "
                        "passages; easy: other questions'; support; topical: sibling or near; all"),
        **{k: v for k, v in INTERVAL.items() if k not in ("n", "clusters")}, "p_value": ("float?", "two-sided, paired cluster bootstrap; contrasts alone"),
        "p_holm": ("float?", "Holm over the contrasts and kinds of one data set and measure; later and topical are parts of others and have none"),
        "n": ("int", "questions; chunks where the measure runs over questions"), "undefined": ("int", "questions left out and counted")}),
}
