"""A user's own questions, documents, gold, pools and rankings, and the repository's sample corpus, which has the same form (SPEC 1).

JSON lines or CSV, plain or .gz, one file (or several) a kind. Lists in a CSV cell are a JSON array or separated by "|".

| kind | fields (in brackets: may be absent) |
|---|---|
| questions | qid, question, answers or answer, [question_type], [slice], [gold: doc_ids in hop order], [pool: doc_ids] |
| documents | doc_id, sentences or text, [title], [source_type, authority, jurisdiction, effective_from, effective_to, superseded_by, entitlement] |
| gold | qid, doc_id, [grade], [hop], [is_last_hop] |
| pools | qid, doc_id |
| rankings | qid, ranker, doc_id, rank or score, [scope] |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lib.fields import cast_answers, clean, list_field, optional_date, optional_text, require, text_field, unique
from lib.own_lists import gold_rows, pool_rows, ranking_rows
from lib.passages import QUESTION_TYPES, Gold, Passage, frame, offsets, question_row, split_passage, whole_passage
from lib.records import DataError, Record, read_records

KINDS = ("questions", "documents", "gold", "pools", "rankings")
FEW = 50  # documents that may be every question's pool where it names none
_LABELS = ("source_type", "authority", "jurisdiction", "entitlement")


def load_own(dataset: str, source: Mapping) -> dict[str, pd.DataFrame | dict]:
    """The tables of one's own files, with "report".

    `source` names files by kind, {"questions": file, "documents": [file, file], ...}, or has a "path": a folder, or a list of files, whose
    names tell the kind ("documents.jsonl", "north.questions.csv.gz"). Questions and documents are required. Ids are kept as they are; a question and
    a document may share one. A question without a pool has all documents for its pool where there are at most 50. Raises DataError for an empty or repeated id, an id that resolves to nothing, or a field that does not fit.
    """
    files = _files(dataset, source)
    records = {kind: [r for path in files[kind] for r in read_records(path)] for kind in KINDS}
    notes: Counter[str] = Counter()
    documents = _documents(dataset, records["documents"], notes)
    known = {row["doc_id"] for row in documents}
    questions, inline_gold, inline_pools = _questions(dataset, records["questions"], known, source.get("slice"), notes)
    asked = {row["qid"] for row in questions}
    gold = inline_gold + gold_rows(dataset, records["gold"], asked, known, notes)
    _refuse_both(inline_gold, records["gold"], "gold")
    _refuse_both(inline_pools, records["pools"], "pools")
    counted = Counter(row["qid"] for row in gold)
    questions = [{**row, "n_hops": counted[row["qid"]] or None} for row in questions]
    pools = _whole_pools(dataset, inline_pools + pool_rows(dataset, records["pools"], asked, known), sorted(asked), sorted(known), notes)
    made = {
        "questions": frame(questions, "questions"),
        "gold": frame(gold, "gold"),
        "documents": frame(documents, "documents"),
        "pools": frame(pools, "pools"),
    }
    if records["rankings"]:
        made["rankings"] = frame(ranking_rows(dataset, records["rankings"], asked, known, notes), "rankings")
    notes["questions_without_gold"] = len(asked - {row["qid"] for row in gold})
    notes["last_hop_defined"] = sum(row.get("is_last_hop") is True for row in gold)
    return {**made, "report": {name: len(table) for name, table in made.items()} | dict(sorted(notes.items()))}


def _files(dataset: str, source: Mapping) -> dict[str, list[Path]]:
    files = {kind: [Path(p) for p in _listed(source.get(kind))] for kind in KINDS}
    for given in map(Path, _listed(source.get("path"))):
        for path in sorted(given.iterdir()) if given.is_dir() else [given]:
            kinds = [kind for kind in KINDS if kind in path.name.split(".")]
            if kinds:
                files[kinds[0]].append(path)
            elif not given.is_dir():
                raise DataError(
                    f"{path}: its name tells no kind; name it after one of {', '.join(KINDS)}, or pass it by kind in the source"
                )
    missing = [kind for kind in ("questions", "documents") if not files[kind]]
    if missing:
        raise DataError(
            f"data set {dataset!r}: no file of {' and '.join(missing)} in the source {dict(source)}; pass a folder that holds "
            "questions.jsonl and documents.jsonl, or name the files by kind"
        )
    return files


def _listed(value: object) -> list:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _whole_pools(dataset: str, pools: list[dict], asked: Sequence[str], known: Sequence[str], notes: Counter) -> list[dict]:
    """``pools``, and for a question without one all documents where they are few; else its own scope stays empty."""
    without = sorted(set(asked) - {row["qid"] for row in pools})
    notes["questions_without_pool"] = 0 if len(known) <= FEW else len(without)
    notes["pools_of_all_documents"] = len(without) if len(known) <= FEW else 0
    whole = [{"dataset": dataset, "qid": q, "doc_id": d} for q in without for d in known]
    return pools + (whole if len(known) <= FEW else [])


def _refuse_both(inline: Sequence[dict], records: Sequence[Record], kind: str) -> None:
    if inline and records:
        raise DataError(f"{records[0].file}, line 1: the questions file carries {kind} already; give them in one place")


def _documents(dataset: str, records: Sequence[Record], notes: Counter) -> list[dict]:
    rows = []
    for record, doc_id in zip(records, unique(records, "doc_id")):
        passage = _passage(record)
        if not passage.text:
            raise record.error("text or sentences", "is empty", "give the document its text or take it out")
        notes["documents_with_line_breaks"] += passage.had_line_breaks
        rows.append(
            dict(
                dataset=dataset,
                doc_id=doc_id,
                title=passage.title,
                text=passage.text,
                sentences=offsets(passage),
                split_by=passage.split_by,
                **_labels(record),
            )
        )
    known = {row["doc_id"] for row in rows}
    for record, row in zip(records, rows):
        if row["superseded_by"] is not None and (row["superseded_by"] not in known or row["superseded_by"] == row["doc_id"]):
            raise record.error(
                "superseded_by",
                f"{row['superseded_by']!r} is no other document",
                "name the newer version's doc_id or leave it out",
            )
    return rows


def _passage(record: Record) -> Passage:
    title = optional_text(record, "title") or ""
    if record.fields.get("sentences") is not None:
        sentences = list_field(record, "sentences")
        if sentences and not all(isinstance(s, str) for s in sentences):
            raise record.error(
                "sentences", f"expected a list of strings, got {sentences[0]!r}", "write the sentences themselves, not offsets"
            )
        return split_passage(title, sentences, record, "sentences", split_by="author")
    return whole_passage(title, require(record, "text"), record, "text")


def _labels(record: Record) -> dict[str, str | None]:
    """What 001's hard filters read; missing where unknown."""
    dates = {name: optional_date(record, name) for name in ("effective_from", "effective_to")}
    if None not in dates.values() and dates["effective_from"] > dates["effective_to"]:
        raise record.error(
            "effective_to",
            f"{dates['effective_to']} lies before effective_from {dates['effective_from']}",
            "swap or mend the dates",
        )
    return {name: optional_text(record, name) for name in (*_LABELS, "superseded_by")} | dates


def _questions(
    dataset: str, records: Sequence[Record], known: set[str], slice_name: str | None, notes: Counter
) -> tuple[list, list, list]:
    """Rows of questions, gold and pools; the latter two where the questions carry them."""
    questions, gold, pools = [], [], []
    for record, qid in zip(records, unique(records, "qid")):
        kind = optional_text(record, "question_type") or "unstated"
        if kind not in QUESTION_TYPES:
            raise record.error("question_type", f"got {kind!r}", f"use one of {', '.join(QUESTION_TYPES)}, or leave it out")
        name = "answers" if "answers" in record.fields else "answer"
        value = require(record, "answers", "answer")
        answers = cast_answers(list_field(record, name) if name == "answers" and isinstance(value, str) else value, record, name)
        notes["questions_without_answer"] += answers == [""]
        chain = _resolved(record, "gold", known)
        gold += [dict(dataset=dataset, qid=qid, **g._asdict()) for g in _in_order(chain, kind, notes)]
        pools += [{"dataset": dataset, "qid": qid, "doc_id": d} for d in _resolved(record, "pool", known)]
        own_slice = optional_text(record, "slice") or slice_name or dataset
        questions.append(question_row(dataset, qid, text_field(record, "question"), answers, kind, own_slice, None))
    return questions, gold, pools


def _resolved(record: Record, name: str, known: set[str]) -> list[str]:
    """The doc_ids listed under `name`, each known and named once."""
    if record.fields.get(name) is None:
        return []
    ids = [clean(d, record, name) for d in list_field(record, name)]
    for doc_id in ids:
        if doc_id not in known or ids.count(doc_id) > 1:
            raise record.error(
                name,
                f"{doc_id!r} is {'listed twice' if doc_id in known else 'no document'}",
                "name each document once, by its doc_id",
            )
    return ids


def _in_order(chain: Sequence[str], question_type: str, notes: Counter) -> list[Gold]:
    """Gold in hop order; comparisons have none, nor have free-form answers drawn from several passages."""
    if question_type.startswith("comparison") or question_type == "free_form" and len(chain) > 1:
        notes[f"last_hop_none_{'free_form' if question_type == 'free_form' else 'comparison'}"] += 1
        return [Gold(doc_id) for doc_id in chain]
    return [Gold(doc_id, hop, hop == len(chain)) for hop, doc_id in enumerate(chain, 1)]
