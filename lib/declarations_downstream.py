"""The tables on what a better order leaves in the reader's context; form: see ``lib.declarations``."""

from lib.declarations_between import INTERVAL, QUESTION
from lib.declarations_results import SET, TIER

MEASURES = {
    "ndcg": "nDCG at the list's depth, of the order in which the passages are handed on",
    "gold_in_list": "share of gold passages among those handed on",
    "answer_in_list": "1: an answer stands in one snippet of those handed on; missing without a span",
    "answer_in_context": "1: an answer stands in one packed snippet; missing without a span",
    "gold_coverage": "share of gold passages packed",
    "all_gold_in_context": "1: all of them",
    "n_tokens": "budget tokens packed",
    "em": "exact match",
    "f1": "token F1",
}
QUANTITIES = {
    "rank_correlation": "of the gain in nDCG and the gain in the measure (Spearman, ranks of the whole sample)",
    "lost_though_rose": "share of all questions whose nDCG rose and whose measure fell",
    "rose_lost": "of the questions whose nDCG rose, those whose measure fell",
    "rose_same": "of these, those whose measure stayed",
    "rose_rose": "of these, those whose measure rose",
    "rose_full": "of these, those whose measure was 1 already: nothing was left to gain",
    "capture": "sum of the gains over the sum of what the pool's best order gains",
    "ndcg_capture": "the same of nDCG, on the same questions",
}
LIST = {
    "first_stage": ("str", "the first-stage list it was made of"),
    "ranker": ("str", "the list; best order: of that pool; all gold first: what no reranker can reach"),
    "order": ("str", "own: its order; first stage: the same passages in the first stage's order"),
    "depth": ("int", "passages handed on"),
}
CELL = {**{k: v for k, v in LIST.items() if k != "order"}, "packer": ("str", "packing rule; none: measured before any packer")}
MEASURE = {"measure": ("str", "; ".join(f"{name}: {said}" for name, said in MEASURES.items()))}
BY = {"reader": ("str", "whose answers em and f1 score; none: no reader decides")}
MEAN = {"estimate": INTERVAL["estimate"], "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"]}
SLICE = {"slice": ("str", "kind of question; all: every question")}

DOWNSTREAM: dict[str, dict] = {
    "downstream_contexts": dict(
        format="parquet",
        key=["dataset", "qid", "context_hash"],
        meaning="packed lists that a reader is asked about (lib.downstream_reading)",
        columns={**QUESTION, "context_hash": ("str", "sha256 of the context"), "context": ("str", "snippets joined by line breaks; may be empty")},
    ),
    "downstream_outcomes": dict(
        format="parquet",
        key=["dataset", "qid", *LIST, "packer"],
        meaning="each list's first passages packed, and read where a reader was asked",
        columns={
            **QUESTION,
            **LIST,
            "packer": ("str", "packing rule"),
            "budget": ("int", "tokens the evidence may use"),
            "context_hash": ("str", "sha256 of the context"),
            **{name: ("float?", said) for name, said in MEASURES.items() if name not in ("n_tokens", "em", "f1")},
            "n_tokens": ("int", "budget tokens packed"),
            "n_snippets": ("int", "snippets packed"),
            "reader": ("str", "the reader asked; none"),
            "precision": ("str", "number format of its weights; none"),
            "em": ("float?", "exact match; missing where not asked"),
            "f1": ("float?", "token F1; missing where not asked"),
        },
    ),
    "downstream": dict(
        format="csv",
        key=["tier", "dataset", "slice", *CELL, "measure"],
        meaning="what arrives of each list: means (lib.downstream_gains)",
        columns={
            **TIER,
            **SET,
            **SLICE,
            **CELL,
            **MEASURE,
            **BY,
            **MEAN,
            "n": ("int", "questions"),
            "undefined": ("int", "questions of the list that lack the measure"),
        },
    ),
    "downstream_contrasts": dict(
        format="csv",
        key=["tier", "dataset", "slice", *CELL, "measure", "effect", "given"],
        meaning="each list minus its own first stage, paired by question (lib.downstream_gains)",
        columns={
            **TIER,
            **SET,
            **SLICE,
            **CELL,
            **MEASURE,
            **BY,
            "effect": (
                "str",
                "whole = selection + order; selection: its passages in the first stage's order, minus the first stage; order: the same passages, its order",
            ),
            "given": ("str", "every question (unconditional), or those with the evidence in the pool (conditional)"),
            "delta": ("float?", "list minus first stage"),
            "ci_low": INTERVAL["ci_low"],
            "ci_high": INTERVAL["ci_high"],
            "p_value": ("float?", "two-sided, paired cluster bootstrap"),
            "p_holm": ("float?", "Holm over lists and packers of one measure; in slices over the slices of one list"),
            "wins": ("int", "questions where it rose"),
            "losses": ("int", "questions where it fell"),
            "n": ("int", "questions"),
        },
    ),
    "downstream_signs": dict(
        format="csv",
        key=["tier", "dataset", *CELL, "measure", "ranking", "outcome"],
        meaning="whether nDCG rose, by what became of the measure, question by question (lib.downstream_signs)",
        columns={
            **TIER,
            **SET,
            **CELL,
            **MEASURE,
            **BY,
            "ranking": ("str", "nDCG against the first stage: rose, same, fell"),
            "outcome": ("str", "the measure: rose, same, fell"),
            "questions": ("int", "questions of the cell"),
            "share": ("float?", "of all n"),
            "ci_low": INTERVAL["ci_low"],
            "ci_high": INTERVAL["ci_high"],
            "n": ("int", "questions with both"),
        },
    ),
    "downstream_agreement": dict(
        format="csv",
        key=["tier", "dataset", *CELL, "measure", "quantity"],
        meaning="how far a gain in nDCG and a gain for the reader go together",
        columns={
            **TIER,
            **SET,
            **CELL,
            **MEASURE,
            **BY,
            "quantity": ("str", "; ".join(f"{name}: {said}" for name, said in QUANTITIES.items())),
            **MEAN,
            "p_value": ("float?", "two-sided, of the rank correlation against 0"),
            "n": ("int", "questions"),
        },
    ),
}
