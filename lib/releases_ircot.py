"""IRCoT's form of HotpotQA: whole paragraphs with supporting marks, without types and sentence splits."""

from __future__ import annotations

import re

from lib.fields import cast_answers, clean, entries, identifier, text_field
from lib.hops import comparison_type, order_by_answer
from lib.passages import Passage, Question, context_notes, whole_passage
from lib.records import Record
from lib.text import is_yes_no, normalise_answer

_BRACKETED = re.compile(r"\s*\([^()]*\)$")


def ircot_context(record: Record) -> list[Passage]:
    return [
        whole_passage(clean(entry["title"], record, "contexts"), entry["paragraph_text"], record, "contexts")
        for entry in entries(record, "contexts", ("title", "paragraph_text", "is_supporting"))
    ]


def ircot_question(record: Record, context: list[Passage]) -> Question:
    """IRCoT's form keeps no type: a yes/no answer or a question that names every gold title is taken for a comparison.

    On 954 HotpotQA questions of known type that finds 250 of 253 comparisons and takes 54 of 701 bridge questions for one; those lose
    their last hop, which is the careful side.
    """
    question = text_field(record, "question_text")
    spans = entries(record, "answers_objects", ("spans",))
    if not spans:
        raise record.error("answers_objects", "is empty", "give one object with the answer's spans")
    answers = cast_answers(spans[0]["spans"], record, "answers_objects")
    flags = [entry["is_supporting"] for entry in record.fields["contexts"]]
    gold = list({p.doc_id: p for p, supporting in zip(context, flags) if supporting and p.text}.values())
    asked = f" {normalise_answer(question)} "
    named = [f" {normalise_answer(_BRACKETED.sub('', p.title))} " in asked for p in gold]
    is_comparison = is_yes_no(answers[0]) or (bool(named) and all(named))
    question_type = comparison_type(answers) if is_comparison else "bridge"
    notes = [*context_notes(context), "type_inferred"]
    return Question(
        record,
        identifier(record, "question_id"),
        question,
        answers,
        question_type,
        len(gold) or None,
        [p for p in context if p.text],
        order_by_answer(gold, answers, question_type, notes),
        notes,
    )
