"""Runs, judgements, slices, queries and corpora of other people's tools: TREC files, BEIR folders, CSV, TSV, JSON; plain or gzip'd.

Whatever cannot be read as meant is one DataError that names file, line and mend; what can be, but should be known, is counted
(lib.viability_assembly). Ids are text in one spelling (lib.viability_ids); two ids that become one by that are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from lib.records import DataError
from lib.viability_files import DOC, QID, first_of, judgement_rows, read_rows, run_rows
from lib.viability_ids import day, identifier, one_text, several, slice_name

__all__ = ["DOC", "QID", "beir_files", "read_judgements", "read_run", "read_slices", "read_texts"]
TEXT = ("text", "question", "query", "contents", "passage")
FIELDS: dict[str, Callable[[object, str], object]] = {
    **dict.fromkeys(("title", "document", "copy_of", "superseded_by", "entitlement"), one_text),
    **dict.fromkeys(("travels_with", "entitlements"), several),
    **dict.fromkeys(("effective_from", "indexed_at"), day),
    "slice": slice_name,
}  # what the audit reads of a query or passage beside id and text


def read_run(path: str | Path) -> pd.DataFrame:
    """A run: qid, doc_id, score, rank (missing where not given), line. TREC's six columns, a table with qid, doc_id and score or rank, a JSON
    object {qid: {doc_id: score}}, or JSON lines with the list ``ranked``. Raises DataError."""
    path = Path(path)
    rows = list(run_rows(path))
    return _without_repeats(_frame(path, rows, ["qid", "doc_id", "score", "rank", "line"], "run"), path)


def read_judgements(path: str | Path) -> pd.DataFrame:
    """Judgements: qid, doc_id, grade (missing: uncertain), role, bundle, line. TREC's four columns, BEIR's three with a header, a table with qid,
    doc_id and grade, or JSON lines with the list ``gold`` (grade 1). Raises DataError, also for a passage with two different grades."""
    path = Path(path)
    table = _frame(path, list(judgement_rows(path)), ["qid", "doc_id", "grade", "role", "bundle", "line"], "judgement")
    _refuse_collisions(table, path)
    grades = table.groupby(["qid", "doc_id"])["grade"].agg(["nunique", "count", "size"])
    torn = grades.index[(grades["nunique"] > 1) | ((grades["count"] > 0) & (grades["count"] < grades["size"]))]
    if len(torn):
        lines = table.loc[(table["qid"] == torn[0][0]) & (table["doc_id"] == torn[0][1]), "line"]
        raise DataError(f"{path}, lines {', '.join(map(str, lines[:3]))}: passage {torn[0][1]!r} of query {torn[0][0]!r} has different grades; keep one")
    return table.drop(columns=["raw", "line"])


def read_texts(path: str | Path, names: Sequence[str], key: str) -> pd.DataFrame:
    """Queries (``key`` qid) or passages (doc_id) with their text and every other field, ``FIELDS`` checked; ``names``: what the id may be called.

    Raises DataError for a missing text, a repeated id, and a field of another kind."""
    rows = []
    for record in read_rows(Path(path)):
        text = first_of(record.fields, TEXT)
        if text is None:
            raise record.error("text", f"is missing; found {sorted(record.fields)}", f"name the text one of {', '.join(TEXT)}")
        at = f"{record.file}, line {record.line}, field"
        one_text(text, f"{at} text", "give one text")
        known = {name: check(record.fields[name], f"{at} {name}") for name, check in FIELDS.items() if name in record.fields}
        rows.append({**record.fields, **known, key: identifier(first_of(record.fields, names), f"{at} {key}"), "text": str(text)})
    table = pd.DataFrame(rows)
    if table[key].duplicated().any():
        raise DataError(f"{path}: id {table.loc[table[key].duplicated(), key].iloc[0]!r} comes twice; ids must be unique, also after stripping white space and composing letters")
    return table


def read_slices(path: str | Path) -> pd.DataFrame:
    """Slices: qid, slice; a query may have several rows. Raises DataError."""
    rows = []
    for record in read_rows(Path(path)):
        at = f"{record.file}, line {record.line}, field"
        name = slice_name(record.fields.get("slice"), f"{at} slice")
        if name is None:
            raise record.error("slice", "is missing", "name the query's slice")
        rows.append({"qid": identifier(first_of(record.fields, QID), f"{at} qid"), "slice": name})
    return pd.DataFrame(rows).drop_duplicates(ignore_index=True)


def beir_files(folder: str | Path, split: str = "test") -> dict[str, Path]:
    """Where a BEIR folder keeps its qrels, queries and corpus; DataError names the first that is not there."""
    found = {}
    for name, stem in (("qrels", f"qrels/{split}.tsv"), ("queries", "queries.jsonl"), ("corpus", "corpus.jsonl")):
        there = [p for p in (Path(folder) / stem, Path(folder) / f"{stem}.gz") if p.is_file()]
        if not there:
            raise DataError(f"{Path(folder) / stem}: is not there; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/{split}.tsv")
        found[name] = there[0]
    return found


# ---- ids


def _frame(path: Path, rows: list[tuple], columns: list[str], what: str) -> pd.DataFrame:
    if not rows:
        raise DataError(f"{path}: the file holds no {what}; it may have been cut short, copy it again")
    for row in rows:
        for name, value in zip(columns[:2], row):
            if not isinstance(value, str) or not value.isascii():  # what is no text, or no sound one, fits no table
                identifier(value, f"{path}, line {row[-1]}, field {name}")
    table = pd.DataFrame(rows, columns=columns)
    raw, raw_qid = table["doc_id"], table["qid"]
    for name in ("qid", "doc_id"):
        places = dict(zip(table[name][::-1], table["line"][::-1]))
        seen = {value: identifier(value, f"{path}, line {line}, field {name}") for value, line in places.items()}
        table[name] = table[name].map(seen)
    forms = pd.DataFrame({"qid": table["qid"], "raw": raw_qid.map(repr)}).drop_duplicates()
    if forms["qid"].duplicated().any():
        raise _collision(path, forms.loc[forms["qid"].duplicated(), "qid"].iloc[0], table.loc[forms.index[forms["qid"].duplicated()], "line"].tolist())
    return table.assign(raw=raw)


def _collision(path: Path, name: str, lines: list) -> DataError:
    return DataError(
        f"{path}, line{'s' * (len(lines) > 1)} {', '.join(map(str, lines[:3]))}: different ids become {name!r} once white space at their ends is gone, "
        "letters are composed (Unicode NFC) or a number is read as text; write one id alike everywhere, and different ids differently"
    )


def _refuse_collisions(table: pd.DataFrame, path: Path) -> None:
    forms = table.assign(raw=table["raw"].map(repr)).drop_duplicates(["qid", "doc_id", "raw"])
    twice = forms.duplicated(["qid", "doc_id"])
    if twice.any():
        row = forms[twice].iloc[0]
        raise _collision(path, row["doc_id"], table.loc[(table["qid"] == row["qid"]) & (table["doc_id"] == row["doc_id"]), "line"].tolist())


def _without_repeats(run: pd.DataFrame, path: Path) -> pd.DataFrame:
    repeated = run.duplicated(["qid", "doc_id"])
    if repeated.any():
        _refuse_collisions(run, path)
        row = run[repeated].iloc[0]
        lines = run.loc[(run["qid"] == row["qid"]) & (run["doc_id"] == row["doc_id"]), "line"].tolist()
        raise DataError(
            f"{path}, lines {', '.join(map(str, lines[:3]))}: passage {row['doc_id']!r} is repeated for query {row['qid']!r}; rank each passage once"
        )
    return run.drop(columns=["raw", "line"])
