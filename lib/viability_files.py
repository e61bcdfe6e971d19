"""Rows of runs and judgements as files hold them, under `viability_inputs`: TREC columns, TSV, and records of CSV, JSON and Parquet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from lib import records
from lib.records import DataError

QID = ("qid", "query_id", "query-id", "queryid", "topic", "_id", "id")
DOC = ("doc_id", "docid", "docno", "doc-id", "corpus-id", "corpus_id", "passage_id", "pid", "_id", "id")
GRADE = ("grade", "relevance", "rel", "label", "score")
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
    if kind(path) != "tsv":
        return iter(records.read_records(path))
    lines = [(n, line.rstrip("\r").split("\t")) for n, line in _lines(path)]
    if not lines:
        raise DataError(f"{path}, line 1: the file holds no record; it may have been cut short, copy it again")
    header = [name.strip() for name in lines[0][1]]
    if uneven := next((n for n, cells in lines if len(cells) != len(header)), None):
        raise DataError(f"{path}, line {uneven}: not as many cells as the {len(header)} of its first line; the file may be cut short, copy it again")
    return (records.Record(str(path), n, dict(zip(header, cells))) for n, cells in lines[1:])


def run_rows(path: Path) -> Iterator[tuple]:
    """(qid, doc_id, score, rank or NaN, line) of each row; raises DataError."""
    if kind(path) in TABLES:
        for record in read_rows(path):
            yield from _run_record(record)
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
    # Cut inside its last word, a line still has six columns; its tag then stops short of the others.
    if len(tags) > 1 and tags[-1] not in tags[:-1] and tags[-2].startswith(tags[-1]):
        raise DataError(f"{path}, last line: its tag {tags[-1]!r} is the beginning of {tags[-2]!r}; the file was cut short, copy it again")


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
        for record in read_rows(path):
            fields = record.fields
            if fields and all(isinstance(v, dict) for v in fields.values()):
                yield from ((qid, doc, _grade(g, path, record.line), None, None, record.line) for qid, judged in fields.items() for doc, g in judged.items())
            elif isinstance(fields.get("gold"), list):
                yield from ((first_of(fields, QID), doc, 1.0, None, None, record.line) for doc in fields["gold"])
            else:
                yield (
                    first_of(fields, QID),
                    first_of(fields, DOC),
                    _grade(first_of(fields, GRADE), path, record.line),
                    fields.get("role"),
                    fields.get("bundle"),
                    record.line,
                )
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


def _number(value: object, path: str | Path, line: int, name: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{path}, line {line}: {name} {value!r} is no finite number, so it has no place in an order; mend or drop the row")
    return number


def _grade(value: object, path: Path, line: int) -> float:
    if value is None or str(value).strip().lower() in UNCERTAIN:
        return math.nan
    grade = _number(value, path, line, "grade")
    if grade > HIGHEST_GRADE:
        raise DataError(f"{path}, line {line}: grade {value!r} is above {HIGHEST_GRADE}; grades are small numbers such as 0 to 3, gains are made from them")
    return grade
