"""The policy corpus as judgement records, and its sections as passages with first-stage lists (SPEC 11; DESIGN, "The sample corpus")."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from lib import policy_chunks, retrieval
from lib.judgements_records import Candidate, Judgement
from lib.vectors import CACHE

DATASET = "policy"
RECORDED = "authors"  # who judged: those who wrote corpus and questions
WHOLE = 1_000_000  # words of a section that is never parted
ABOUT = ["family", "source_type", "authority", "effective_from", "effective_to", "jurisdiction", "entitlement", "superseded_by"]


def records_of(questions: pd.DataFrame, judged: pd.DataFrame, date: str, assessor: str = RECORDED) -> list[Judgement]:
    """The policy corpus's questions and judgements as records, all by one assessor on one day.

    ``questions``: qid, question, slice, asked_on, operative_claim, roles, acceptable_sources, disqualifying; ``judged``: qid, doc_id, section_id, sentences,
    label, grade, role, bundles, note. The evidence has to be in force on the day of the question.
    """
    by = {qid: part for qid, part in judged.groupby("qid")}
    made = []
    for q in questions.sort_values("qid").to_dict("records"):
        rows = by[q["qid"]].to_dict("records") if q["qid"] in by else []
        candidates = tuple(_candidate(row, assessor, date) for row in sorted(rows, key=lambda r: (r["doc_id"], r["section_id"])))
        made.append(
            Judgement(
                q["qid"],
                q["question"],
                q["operative_claim"],
                dict(Counter(q["roles"])),
                tuple(q["acceptable_sources"]),
                q["asked_on"],
                tuple(q["disqualifying"]),
                (q["slice"],),
                candidates,
            )
        )
    return made


def _candidate(row: dict, assessor: str, date: str) -> Candidate:
    grade, span = row["grade"], row["sentences"]
    return Candidate(
        row["doc_id"],
        row["section_id"],
        None if span is None else (int(span[0]), int(span[1])),
        row["label"],
        None if pd.isna(grade) else int(grade),
        _text(row["role"]),
        tuple(row["bundles"]),
        assessor,
        date,
        _text(row.get("note")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def passages(documents: pd.DataFrame) -> pd.DataFrame:
    """A row a section, with its lineage: dataset, doc_id (document#section), title, text, and what is known of its document (``ABOUT``)."""
    cut = policy_chunks.chunks(documents, "lineage", longest=WHOLE)
    named = [f"{doc}#{holds[0][0]}" for doc, holds in zip(cut["doc_id"], cut["holds"])]
    about = documents.set_index("doc_id")[[c for c in ABOUT if c in documents]].reindex(cut["doc_id"]).reset_index(names="document")
    return pd.concat([pd.DataFrame({"dataset": DATASET, "doc_id": named, "title": "", "text": cut["text"].to_numpy()}), about], axis=1)


def lists(questions: pd.DataFrame, sections: pd.DataFrame, encoder: retrieval.Encoder, depth: int = 50, cache: Path | None = CACHE) -> pd.DataFrame:
    """BM25, dense and hybrid lists over every section, as a rankings table of scope pooled; unfiltered, for assessors read what is superseded, too."""
    asked = questions.assign(dataset=DATASET)[["dataset", "qid", "question"]]
    none = pd.DataFrame(columns=["dataset", "qid", "doc_id"])
    return retrieval.rank(asked, sections, none, encoder, scopes=("pooled",), depth=depth, cache=cache)
