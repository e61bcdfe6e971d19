"""Rows of runs and judgements as files hold them, under `viability_inputs`: TREC columns, TSV, and records of CSV, JSON and Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from lib import records
from lib.records import DataError
from lib.viability_ids import one_text

QID = ("qid", "query_id", "query-id", "queryid", "topic", "_id", "id")
DOC = ("doc_id", "docid", "docno", "doc-id", "corpus-id", "corpus_id", "passage_id", "pid", "_id", "id")
GRADE = ("grade", "relevance", "rel", "label", "score")
SYSTEM = ("ranker", "run", "run_id", "runid", "tag", "system")  # whose list a row is of
UNCERTAIN = ("", "uncertain", "?", "na", "nan", "none")
HIGHEST_GRADE = 60  # 2 ** grade - 1 must keep its last digits
TABLES = ("csv", "tsv", "json", "jsonl", "parquet")


def kind(path: Path) -> str:
    """What a file is, by its name: the suffix before .gz."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[-1].lower()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        raise DataError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'is not there'}; check the path")
    text = records.decoded(records.read_bytes(path), path)
    return ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip())


def read_rows(path: Path) -> Iterator[records.Record]:
    """The records of a CSV, TSV, JSON, JSON lines or Parquet file; raises DataError."""
    if kind(path) == "json" and path.is_file() and (whole := _whole_object(path)) is not None:
        return iter([records.Record(str(path), 1, whole)])
    if kind(path) != "tsv":
        return iter(records.read_records(path))
    lines = [(n, line.rstrip("\r").split("\t")) for n, line in _lines(path)]
    if not lines:
        raise DataError(f"{path}, line 1: the file holds no record; it may have been cut short, copy it again")
    header = [name.strip() for name in lines[0][1]]
    if len(set(header)) < len(header) or not {*QID, *DOC} & set(header):
        raise DataError(
            f"{path}, line 1: expected column names, each once and one of them an id ({', '.join(QID[:3])} or {', '.join(DOC[:3])}), found {header[:8]}; "
            "name the columns there, or call a TREC file .trec or .txt"
        )
    if uneven := next((n for n, cells in lines if len(cells) != len(header)), None):
        raise DataError(f"{path}, line {uneven}: not as many cells as the {len(header)} of its first line; the file may be cut short, copy it again")
    return (records.Record(str(path), n, dict(zip(header, cells))) for n, cells in lines[1:])


def _whole_object(path: Path) -> dict | None:
    """The file as one JSON object over any number of lines, None where it is none; DataError for a name that comes twice in it, of which one would be lost."""

    def once(pairs: list[tuple]) -> dict:
        made = dict(pairs)
        if len(made) < len(pairs):
            name = next(name for at, (name, _) in enumerate(pairs) if name in dict(pairs[:at]))
            raise DataError(f"{path}: {name!r} comes twice in one JSON object; give each query once, and each passage once a query")
        return made

    try:
        value = json.loads(records.decoded(records.read_bytes(path), path), object_pairs_hook=once)
    except (json.JSONDecodeError, RecursionError):
        return None  # JSON lines, or damaged: read_records tells
    return value if isinstance(value, dict) else None


def run_rows(path: Path) -> Iterator[tuple]:
    """(qid, doc_id, score, rank or NaN, line) of each row; raises DataError."""
    systems: dict[object, object] = {}
    mixed = None
    if kind(path) in TABLES:
        for record in read_rows(path):
            yield from _run_record(record)
            qid, system = (str(first_of(record.fields, names)) for names in (QID, SYSTEM))
            if first_of(record.fields, SYSTEM) is not None and systems.setdefault(qid, system) != system:
                raise _mixed(path, record.line, qid, systems[qid], system)
        return
    tags: list[str] = []
    for n, line in _lines(path):
        cells = line.split()
        if len(cells) != 6:
            raise DataError(
                f"{path}, line {n}: {len(cells)} columns, a TREC run has 6 (qid Q0 doc_id rank score tag); the file may be cut short, copy it again"
            )
        yield cells[0], cells[2], _number(cells[4], path, n, "score"), _number(cells[3], path, n, "rank"), n
        if cells[5] not in tags[-1:]:
            tags.append(cells[5])
        if systems.setdefault(cells[0], cells[5]) != cells[5] and mixed is None:
            mixed = (n, cells[0], systems[cells[0]], cells[5])
    # Cut inside its last word, a line still has six columns; its tag then stops short of the others.
    if len(tags) > 1 and tags[-1] not in tags[:-1] and tags[-2].startswith(tags[-1]):
        raise DataError(f"{path}, last line: its tag {tags[-1]!r} is the beginning of {tags[-2]!r}; the file was cut short, copy it again")
    if mixed:
        raise _mixed(path, *mixed)


def _mixed(path: Path, line: int, qid: object, one: object, other: object) -> DataError:
    return DataError(f"{path}, line {line}: query {qid!r} has rows of two systems, {one!r} and {other!r}; keep the rows of one in a file")


def _run_record(record: records.Record) -> Iterator[tuple]:
    fields, at = record.fields, (record.file, record.line)
    if fields and all(isinstance(v, dict) for v in fields.values()):
        for qid, scored in fields.items():
            yield from ((qid, doc, _number(score, *at, "score"), math.nan, record.line) for doc, score in scored.items())
    elif isinstance(fields.get("ranked"), list):
        yield from ((first_of(fields, QID), doc, float(-rank), rank, record.line) for rank, doc in enumerate(fields["ranked"], 1))
    elif "score" in fields or "rank" in fields:
        rank = _number(fields["rank"], *at, "rank") if "rank" in fields else math.nan
        yield first_of(fields, QID), first_of(fields, DOC), _number(fields["score"], *at, "score") if "score" in fields else -rank, rank, record.line
    else:
        raise record.error("score", f"is missing, and so is rank; found {sorted(fields)}", "give each row qid, doc_id and score or rank")


def judgement_rows(path: Path) -> Iterator[tuple]:
    """(qid, doc_id, grade or NaN, role, bundle, line) of each row; raises DataError."""
    if kind(path) in TABLES:
        told = False
        for record in read_rows(path):
            fields = record.fields
            told = told or first_of(fields, GRADE) is not None or not any(name in fields for name in DOC)
            if fields and all(isinstance(v, dict) for v in fields.values()):
                yield from ((qid, doc, _grade(g, path, record.line), None, None, record.line) for qid, judged in fields.items() for doc, g in judged.items())
            elif isinstance(fields.get("gold"), list):
                yield from ((first_of(fields, QID), doc, 1.0, None, None, record.line) for doc in fields["gold"])
            else:
                yield (
                    first_of(fields, QID),
                    first_of(fields, DOC),
                    _grade(first_of(fields, GRADE), path, record.line),
                    *(one_text(fields.get(name), f"{path}, line {record.line}, field {name}") for name in ("role", "bundle")),
                    record.line,
                )
        if not told:
            raise DataError(f"{path}: no row has a grade; add the column grade (0: not relevant, 1 and more: relevant)")
        return
    for n, line in _lines(path):
        cells = line.split()
        if len(cells) != 4:
            raise DataError(f"{path}, line {n}: {len(cells)} columns, TREC judgements have 4 (qid 0 doc_id grade); the file may be cut short, copy it again")
        yield cells[0], cells[2], _grade(cells[3], path, n), None, None, n


def first_of(fields: dict, names: Sequence[str]):
    """The first field that is there and not missing, by its possible names; None where there is none.

    >>> first_of({"query-id": "q1"}, QID)
    'q1'
    """
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _number(value: object, path: str | Path, line: int, name: str, mend: str = "so it has no place in an order; mend or drop the row") -> float:
    try:
        number = math.nan if isinstance(value, bool) or value is None or "_" in str(value) else float(value)  # Python alone reads 9_5 as 95
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{path}, line {line}: {name} {str(value)[:40]!r} is no finite number, {mend}")
    return number


def _grade(value: object, path: Path, line: int) -> float:
    if value is None or str(value).strip().lower() in UNCERTAIN:
        return math.nan
    grade = _number(value, path, line, "grade", "such as 0 to 3; mend it, or leave it empty where it is uncertain")
    if grade > HIGHEST_GRADE:
        raise DataError(f"{path}, line {line}: grade {value!r} is above {HIGHEST_GRADE}; grades are small numbers such as 0 to 3, gains are made from them")
    return grade
