"""Hop order where the release states none: the last hop is the passage that holds the answer, if exactly one does (SPEC 1)."""

from __future__ import annotations

from collections.abc import Sequence

from lib.passages import Gold, Passage, passage_id
from lib.text import is_yes_no, normalise_answer


def comparison_type(answers: Sequence[str]) -> str:
    """comparison_yesno or comparison_choice, by the canonical answer.

    >>> comparison_type(["Yes"]), comparison_type(["the Marl"])
    ('comparison_yesno', 'comparison_choice')
    """
    return "comparison_yesno" if is_yes_no(answers[0]) else "comparison_choice"


def holds(passage: Passage, answers: Sequence[str]) -> bool:
    """Whether an answer's normalised tokens stand in a row in the passage's title or in its text, never across the two.

    >>> holds(Passage("Marl", "A river in the fens.", None, "spacy", False), ["the fens"])
    True
    """
    needles = [f" {normalised} " for answer in answers if (normalised := normalise_answer(answer))]
    hay = [f" {normalise_answer(part)} " for part in (passage.title, passage.text)]
    return any(needle in part for needle in needles for part in hay)


def order_by_answer(gold: Sequence[Passage], answers: Sequence[str], question_type: str, notes: list[str]) -> list[Gold]:
    """Gold with the last hop marked where exactly one passage holds the answer; why it is undefined goes to the notes."""
    holders = [i for i, passage in enumerate(gold) if holds(passage, answers)]
    if question_type.startswith("comparison"):
        reason = "last_hop_none_comparison"
    elif is_yes_no(answers[0]):
        reason = "last_hop_none_yes_no"  # "no" stands in many passages by chance
    elif any(not passage.text for passage in gold):
        reason = "last_hop_unknown_gold_text_missing"
    else:
        reason = {0: "last_hop_answer_in_no_gold", 1: "last_hop_defined"}.get(len(holders), "last_hop_answer_in_several_gold")
    notes.append(reason)
    ids = [passage_id(passage.title, passage.text) for passage in gold]
    if reason != "last_hop_defined":
        return [Gold(doc_id) for doc_id in ids]
    # With two gold passages the other one is the first hop; with four the order before the last is unknown.
    return [
        Gold(doc_id, len(gold) if i == holders[0] else (1 if len(gold) == 2 else None), i == holders[0])
        for i, doc_id in enumerate(ids)
    ]
