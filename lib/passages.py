"""Passages and questions as every release is read into, and the four tables they become (SPEC 1)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from lib import tables
from lib.fields import clean
from lib.records import Record

QUESTION_TYPES = (
    "bridge",
    "comparison_yesno",
    "comparison_choice",
    "compositional",
    "single",
    "paraphrased",
    "free_form",
    "inference",
    "bridge_comparison",
    "unstated",
)


class Passage(NamedTuple):
    """One passage: title and text without line breaks; `sentences` are character offsets, None where nobody has split it yet."""

    title: str
    text: str
    sentences: tuple[tuple[int, int], ...] | None
    split_by: str  # release, author or spacy
    had_line_breaks: bool

    @property
    def doc_id(self) -> str:
        """The id of a public passage: it follows from title and text, so that two files agree on it."""
        return passage_id(self.title, self.text)


class Gold(NamedTuple):
    """One gold passage of a question; `hop` from 1, both marks None where the chain's order is unknown."""

    doc_id: str
    hop: int | None = None
    is_last_hop: bool | None = None
    grade: int = 1


@dataclass(frozen=True)
class Question:
    """One question as read; `notes` name what the report counts, `record` where it stands."""

    record: Record
    qid: str
    question: str
    answers: list[str]
    question_type: str
    n_hops: int | None
    passages: list[Passage]
    gold: list[Gold]
    notes: list[str] = field(default_factory=list)


def passage_id(title: str, text: str) -> str:
    """ "d" and the first 12 hex digits of sha256(title, line break, text).

    >>> passage_id("Marl", "A river.")
    'd2582197d051d'
    """
    return "d" + hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:12]


def split_passage(title: str, pieces: Sequence[object], record: Record, name: str, split_by: str = "release") -> Passage:
    """A passage from its sentences, joined by one space; empty sentences go.

    >>> split_passage("Marl", ["A river. ", " It floods."], Record("f", 1, {}), "context").sentences
    ((0, 8), (9, 19))
    """
    cleaned = [clean(piece, record, name) for piece in pieces]
    spans, start = [], 0
    for sentence in filter(None, cleaned):
        spans.append((start, start + len(sentence)))
        start += len(sentence) + 1
    had_breaks = any("\n" in piece for piece in pieces)
    return Passage(title, " ".join(filter(None, cleaned)), tuple(spans), split_by, had_breaks)


def whole_passage(title: str, text: object, record: Record, name: str) -> Passage:
    """A passage that comes as one text; spaCy's rule splits it when the documents table is made."""
    cleaned = clean(text, record, name)
    return Passage(title, cleaned, None, "spacy", "\n" in text)


def context_notes(context: list[Passage]) -> list[str]:
    """What the report counts about a question's own paragraphs: repeats, empty ones, fewer than the ten of the release."""
    texts = [(p.title, p.text) for p in context if p.text]
    notes = ["repeated_paragraph"] * (len(texts) - len(set(texts))) + ["empty_paragraph"] * (len(context) - len(texts))
    return notes + (["questions_with_fewer_than_10_paragraphs"] if 0 < len(context) < 10 else [])


def half(qid: str) -> int:
    """The half of its slice a question falls in: sha256("half:" + qid) mod 2 (SPEC 1); 0 chooses settings, 1 confirms them."""
    return hashlib.sha256(f"half:{qid}".encode()).digest()[-1] % 2


def offsets(passage: Passage) -> list[list[int]]:
    """[start, end] of each sentence, from the release or author if known, else by spaCy's rule."""
    if passage.sentences is not None:
        return [list(span) for span in passage.sentences]
    from lib.text import split_sentences

    return [list(span) for span in split_sentences(passage.text)]


def frame(rows: Iterable[dict], name: str) -> pd.DataFrame:
    """Rows as the declared table `name`, checked; absent columns are missing values."""
    columns = tables.TABLES[name].columns
    return tables.check(pd.DataFrame(list(rows), columns=list(columns), dtype=object), name)


def tables_of(questions: Sequence[Question], dataset: str, slice_name: str) -> dict[str, pd.DataFrame]:
    """The tables questions, gold, documents and pools of one release; a passage that many questions share is one document.

    A release's own sentences win over spaCy's where two files hold the same passage.
    """
    documents: dict[str, Passage] = {}
    for passage in (p for q in questions for p in q.passages):
        known = documents.get(passage.doc_id)
        if known is None or (known.sentences is None and passage.sentences is not None):
            documents[passage.doc_id] = passage
    return {
        "questions": frame(
            (question_row(dataset, q.qid, q.question, q.answers, q.question_type, slice_name, q.n_hops) for q in questions),
            "questions",
        ),
        "gold": frame((dict(dataset=dataset, qid=q.qid, **g._asdict()) for q in questions for g in q.gold), "gold"),
        "documents": frame(
            (
                {
                    "dataset": dataset,
                    "doc_id": i,
                    "title": p.title,
                    "text": p.text,
                    "sentences": offsets(p),
                    "split_by": p.split_by,
                }
                for i, p in documents.items()
            ),
            "documents",
        ),
        "pools": frame(
            (
                {"dataset": dataset, "qid": q.qid, "doc_id": i}
                for q in questions
                for i in dict.fromkeys(p.doc_id for p in q.passages)
            ),
            "pools",
        ),
    }


def question_row(
    dataset: str, qid: str, question: str, answers: list[str], question_type: str, slice_name: str, n_hops: int | None
) -> dict:
    """One row of the questions table; the seeds are drawn later, over whole slices."""
    return {
        "dataset": dataset,
        "qid": qid,
        "question": question,
        "answers": answers,
        "question_type": question_type,
        "slice": slice_name,
        "n_hops": n_hops,
        "half": half(qid),
        "seeds": [],
    }


def report_of(questions: Sequence[Question], made: dict[str, pd.DataFrame]) -> dict[str, int]:
    """Counts of what was read, tolerated and left undefined."""
    counts = Counter(note for q in questions for note in q.notes)
    counts["documents_with_line_breaks"] = len({p.doc_id for q in questions for p in q.passages if p.had_line_breaks})
    counts["questions_without_gold"] = sum(not q.gold for q in questions)
    counts["questions_without_paragraphs"] = sum(not q.passages for q in questions)
    counts["questions_without_answer"] = sum(q.answers == [""] for q in questions)
    return {name: len(table) for name, table in made.items()} | dict(sorted(counts.items()))
