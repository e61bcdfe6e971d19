"""RAGBench (CovidQA, ExpertQA) in its release's own schema: free-form answers, relevance marked by sentence keys (SPEC 1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lib.fields import cast_answers, clean, identifier, require, text_field
from lib.passages import Gold, Passage, Question, split_passage, whole_passage
from lib.records import Record

_TITLE = re.compile(r"\s*Title:[ \t]*(\S[^\n]*?)[ \t]*\n")


def read_ragbench(records: Sequence[Record]) -> list[Question]:
    """Questions of one RAGBench component; the accepted answer is the release's `response`.

    A document is gold where one of its sentences is named in `all_relevant_sentence_keys` ("0a": first document, sentence a). Documents
    carry no title of their own; a leading "Title:" line is read as one and stays in the text. There is no hop order.
    """
    return [_question(record) for record in records]


def _question(record: Record) -> Question:
    notes: list[str] = []
    keyed = _keyed_sentences(record)
    passages = [_passage(record, i, text, keyed, notes) for i, text in enumerate(_list(record, "documents"))]
    gold = _gold(record, passages, keyed, notes)
    shown = [p for p in passages if p.text]
    notes += ["empty_paragraph"] * (len(passages) - len(shown)) + ["repeated_paragraph"] * (
        len(shown) - len({p.doc_id for p in shown})
    )
    notes.append("last_hop_none_free_form")
    return Question(
        record,
        identifier(record, "id"),
        text_field(record, "question"),
        cast_answers(require(record, "response"), record, "response"),
        "free_form",
        len(gold) or None,
        shown,
        gold,
        notes,
    )


def _list(record: Record, name: str) -> list[Any]:
    value = require(record, name)
    if not isinstance(value, (list, tuple, type(None))):
        raise record.error(name, f"expected a list, got {type(value).__name__}", "check that the file is in RAGBench's schema")
    return list(value or [])


def _keyed_sentences(record: Record) -> list[list[tuple[str, str]]]:
    """(key, sentence) pairs, one list a document."""
    keyed = []
    for i, sentences in enumerate(_list(record, "documents_sentences")):
        if not isinstance(sentences, (list, tuple)) or any(not isinstance(s, (list, tuple)) or len(s) != 2 for s in sentences):
            raise record.error(
                f"documents_sentences[{i}]", "expected [key, sentence] pairs", "check that the file is in RAGBench's schema"
            )
        keyed.append([(clean(key, record, "documents_sentences"), sentence) for key, sentence in sentences])
    return keyed


def _passage(record: Record, i: int, text: Any, keyed: list[list[tuple[str, str]]], notes: list[str]) -> Passage:
    """Document i with the release's sentences where they spell the document's own text, else split by spaCy and counted."""
    whole = whole_passage("", text, record, f"documents[{i}]")
    titled = _TITLE.match(text)
    title = " ".join(titled.group(1).split()) if titled else ""
    if i < len(keyed) and keyed[i]:
        split = split_passage(title, [sentence for _, sentence in keyed[i]], record, f"documents_sentences[{i}]")
        if split.text.replace(" ", "") == whole.text.replace(" ", ""):
            return split._replace(had_line_breaks=whole.had_line_breaks)
    notes.append("sentences_do_not_spell_the_document")
    return whole._replace(title=title)


def _gold(record: Record, passages: list[Passage], keyed: list[list[tuple[str, str]]], notes: list[str]) -> list[Gold]:
    place = {key: i for i, sentences in enumerate(keyed) for key, _ in sentences if i < len(passages) and passages[i].text}
    keys = [clean(key, record, "all_relevant_sentence_keys") for key in _list(record, "all_relevant_sentence_keys")]
    # The keys were written by a model: some name no sentence. They are counted, not mended.
    notes += ["relevant_key_without_sentence"] * sum(key not in place for key in keys)
    return [Gold(doc_id) for doc_id in dict.fromkeys(passages[place[key]].doc_id for key in keys if key in place)]
