"""HotpotQA (distractor, fullwiki) and 2WikiMultiHopQA in their releases' own schemas (SPEC 1).

Both name gold passages by title and give no hop order: the last hop is the passage that holds the answer, if exactly one does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lib.fields import cast_answers, clean, identifier, require, text_field
from lib.hops import comparison_type, order_by_answer
from lib.passages import Passage, Question, context_notes, split_passage
from lib.records import Record
from lib.releases_ircot import ircot_context, ircot_question

_TYPES = {"hotpotqa": ("bridge", "comparison"), "2wiki": ("compositional", "inference", "comparison", "bridge_comparison")}


def read_hotpotqa(records: Sequence[Record], open_world: bool = False) -> list[Question]:
    """Questions of HotpotQA, each record in the release's schema or in IRCoT's; `open_world` for fullwiki.

    In the closed setting every gold title stands among the question's own paragraphs, else DataError. In the open one (and where a question
    has no paragraphs) a missing gold passage is looked for under its title in the other questions' paragraphs; one found nowhere stays
    gold, with the id of its title alone, so that |gold| does not shrink with the retriever's failures.
    """
    return _read(records, "hotpotqa", open_world, {})


def read_2wiki(records: Sequence[Record], aliases: Mapping[str, list[str]] | None = None) -> list[Question]:
    """Questions of 2WikiMultiHopQA; `aliases` maps an answer_id to further accepted answers (read_alias_file)."""
    return _read(records, "2wiki", False, aliases or {})


def read_alias_file(records: Sequence[Record]) -> dict[str, list[str]]:
    """2Wiki's id_aliases.json: Q_id -> aliases and demonyms.

    >>> read_alias_file([Record("a", 1, {"Q_id": "Q1", "aliases": ["Ys"], "demonyms": ["Yssian"]})])
    {'Q1': ['Ys', 'Yssian']}
    """
    found = {}
    for record in records:
        names = [*require(record, "aliases"), *(record.fields.get("demonyms") or [])]
        found[identifier(record, "Q_id")] = [name for name in (clean(n, record, "aliases") for n in names) if name]
    return found


def _read(records: Sequence[Record], release: str, open_world: bool, aliases: Mapping[str, list[str]]) -> list[Question]:
    contexts = [ircot_context(r) if _is_ircot(r, release) else _context(r) for r in records]
    held = Counter(p.title for p in {p.doc_id: p for context in contexts for p in context if p.text}.values())
    elsewhere = {p.title: p for context in contexts for p in context if p.text and held[p.title] == 1}
    return [
        ircot_question(r, c) if _is_ircot(r, release) else _question(r, c, release, elsewhere, open_world, aliases)
        for r, c in zip(records, contexts)
    ]


def _is_ircot(record: Record, release: str) -> bool:
    return release == "hotpotqa" and "question_id" in record.fields


def _unpacked(record: Record, name: str, second: str) -> list[tuple[Any, Any]]:
    """Pairs from the release's [[a, b], ...], the hub's {"title": [...], second: [...]} columns, or either as a JSON string."""
    value = require(record, name)
    try:
        value = json.loads(value) if isinstance(value, str) else value
        pairs = (
            list(zip(value["title"], value[second], strict=True))
            if isinstance(value, dict)
            else [tuple(pair) for pair in value or []]
        )
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("an entry is not a pair")
    except (TypeError, KeyError, ValueError) as error:
        raise record.error(
            name, f"expected pairs of a title and {second} ({error})", "check that the file is in the release's schema"
        ) from error
    return pairs


def _context(record: Record) -> list[Passage]:
    passages = []
    for title, sentences in _unpacked(record, "context", "sentences"):
        if not isinstance(sentences, (list, tuple)):
            raise record.error(
                "context", f"expected a list of sentences, got {type(sentences).__name__}", "write [title, [sentence, ...]]"
            )
        passages.append(split_passage(clean(title, record, "context"), sentences, record, "context"))
    return passages


def _question(
    record: Record,
    context: list[Passage],
    release: str,
    elsewhere: Mapping[str, Passage],
    open_world: bool,
    aliases: Mapping[str, list[str]],
) -> Question:
    answers, notes = cast_answers(require(record, "answer"), record, "answer"), context_notes(context)
    if answer_id := record.fields.get("answer_id"):
        answers = list(dict.fromkeys(answers + aliases.get(answer_id, [])))
    elif release == "2wiki":
        notes.append("answer_id_missing")
    kind = text_field(record, "type")
    if kind not in _TYPES[release]:
        raise record.error("type", f"got {kind!r}", f"expected one of {', '.join(_TYPES[release])}")
    facts = _unpacked(record, "supporting_facts", "sent_id")
    gold = []
    for title in dict.fromkeys(clean(title, record, "supporting_facts") for title, _ in facts):
        gold.append(_resolve(title, record, context, elsewhere, open_world, notes))
    notes += _index_notes(record, facts)
    question_type = comparison_type(answers) if kind == "comparison" else kind
    return Question(
        record,
        identifier(record, "_id", "id"),
        text_field(record, "question"),
        answers,
        question_type,
        len(gold) or None,
        [p for p in context if p.text],
        order_by_answer(gold, answers, question_type, notes),
        notes,
    )


def _resolve(
    title: str, record: Record, context: list[Passage], elsewhere: Mapping[str, Passage], open_world: bool, notes: list[str]
) -> Passage:
    own = list(dict.fromkeys(p for p in context if p.title == title))
    if len(own) > 1:
        notes.append("gold_title_shared_by_two_paragraphs")  # the title cannot tell them apart: the first is taken
    if own and own[0].text:
        return own[0]
    if context and not own and not open_world:
        raise record.error(
            "supporting_facts",
            f"the gold title {title!r} is not among the question's {len(context)} paragraphs",
            'mend the title, or load retrieved contexts as the data set "hotpotqa_fullwiki"',
        )
    notes.append("gold_found_with_another_question" if title in elsewhere else "gold_without_passage")
    return elsewhere.get(title, Passage(title, "", None, "release", False))


def _index_notes(record: Record, facts: Sequence[tuple[Any, Any]]) -> list[str]:
    lengths: dict[str, int] = {}
    for title, sentences in _unpacked(record, "context", "sentences"):
        lengths[title] = max(len(sentences), lengths.get(title, 0))
    for _, index in facts:
        if not isinstance(index, int):
            raise record.error("supporting_facts", f"expected a sentence number, got {index!r}", "write [title, number]")
    outside = sum(title in lengths and not 0 <= index < lengths[title] for title, index in facts)
    return ["sentence_index_out_of_range"] * outside
