"""MuSiQue in its release's own schema: hop order is the decomposition's, the last hop its last supporting paragraph (SPEC 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lib.fields import cast_answers, clean, entries, identifier, require, text_field
from lib.passages import Gold, Passage, Question, whole_passage
from lib.records import Record


def read_musique(records: Sequence[Record]) -> list[Question]:
    """Questions of MuSiQue-Ans (and, with a note, MuSiQue-Full's unanswerable contexts).

    Two paragraphs may share a title: a gold passage is named by its number in the record, never by title. (Document 002's first version
    had a wrong MuSiQue target.) Raises DataError where a step points at a paragraph that the record does not hold.
    """
    return [_question(record) for record in records]


def _question(record: Record) -> Question:
    notes: list[str] = []
    paragraphs = _paragraphs(record)
    steps = entries(record, "question_decomposition", ("paragraph_support_idx",))
    gold = _gold(record, paragraphs, steps, notes)
    if record.fields.get("answerable") is False or any(step["paragraph_support_idx"] is None for step in steps):
        notes.append("questions_without_full_support")
    passages = [p for p in paragraphs.values() if p.text]
    notes += ["empty_paragraph"] * (len(paragraphs) - len(passages))
    notes += ["repeated_paragraph"] * (len(passages) - len({p.doc_id for p in passages}))
    return Question(
        record,
        identifier(record, "id"),
        text_field(record, "question"),
        _answers(record),
        "compositional",
        len(steps) or None,
        passages,
        gold,
        notes,
    )


def _answers(record: Record) -> list[str]:
    canonical = cast_answers(require(record, "answer"), record, "answer")
    aliases = record.fields.get("answer_aliases")
    return (
        canonical if aliases in (None, []) else list(dict.fromkeys(canonical + cast_answers(aliases, record, "answer_aliases")))
    )


def _paragraphs(record: Record) -> dict[int, Passage]:
    """The record's paragraphs by their own number `idx`."""
    found: dict[int, Passage] = {}
    for entry in entries(record, "paragraphs", ("idx", "title", "paragraph_text")):
        if not isinstance(entry["idx"], int) or entry["idx"] in found:
            raise record.error("paragraphs", f"idx {entry['idx']!r} is no number or repeats", "number the paragraphs from 0")
        found[entry["idx"]] = whole_passage(
            clean(entry["title"], record, "paragraphs"), entry["paragraph_text"], record, "paragraphs"
        )
    return found


def _gold(record: Record, paragraphs: dict[int, Passage], steps: Sequence[dict[str, Any]], notes: list[str]) -> list[Gold]:
    """One row a supporting passage, at the latest step that needs it."""
    hops: dict[str, int] = {}
    for hop, step in enumerate(steps, 1):
        index = step["paragraph_support_idx"]
        if index is None or not paragraphs:
            continue
        if index not in paragraphs:
            raise record.error(
                "question_decomposition",
                f"step {hop} points at paragraph {index!r}, the record holds {sorted(paragraphs)}",
                "mend paragraph_support_idx or add the paragraph",
            )
        doc_id = paragraphs[index].doc_id
        notes += ["passage_supports_two_steps"] if doc_id in hops else []
        hops[doc_id] = hop
    flagged = {paragraphs[e["idx"]].doc_id for e in record.fields["paragraphs"] or [] if e.get("is_supporting")}
    notes += ["supporting_marks_differ_from_decomposition"] if flagged != set(hops) else []
    last_known = bool(steps) and bool(hops) and max(hops.values()) == len(steps)
    notes.append("last_hop_defined" if last_known else "last_hop_unknown_support_missing")
    gold = [Gold(doc_id, hop, hop == len(steps) if last_known else None) for doc_id, hop in hops.items()]
    return gold + [Gold(doc_id) for doc_id in sorted(flagged - set(hops))]
