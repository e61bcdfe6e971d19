"""Records read from files: JSON lines, a JSON array, CSV or Parquet, plain or gzip'd, and the early errors about them.

Whatever is wrong with a file is one DataError that names file, line, field and mend (SPEC 1).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

LONGEST_CELL = 100_000_000  # characters; the CSV reader's own limit (131,072) is shorter than a long document


class DataError(ValueError):
    """A file or record does not fit; the message names file, line, field, what was found and the mend."""


class Record(NamedTuple):
    """One record with the place it came from; `line` counts from 1 (in a JSON array, Parquet file or hub split: the record's number)."""

    file: str
    line: int
    fields: dict[str, Any]

    def error(self, field: str, problem: str, mend: str) -> DataError:
        """The DataError for one field of this record.

        >>> Record("q.jsonl", 3, {}).error("qid", "is missing", "give every question an id").args[0]
        'q.jsonl, line 3, field qid: is missing; give every question an id'
        """
        return DataError(f"{self.file}, line {self.line}, field {field}: {problem}; {mend}")


def read_records(path: str | Path) -> list[Record]:
    """All records of one file, by its name: .jsonl, .json (array or lines), .csv, each also as .gz, or .parquet.

    Raises DataError for a missing, empty, cut-short or undecodable file, and for a line that is no JSON object.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "is not there"
        raise DataError(f"{path}: {what}; check the path, or put a copy of the release's file there")
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1].lower()
    if kind == "parquet":
        records = list(_from_parquet(path))
    else:
        text = decoded(read_bytes(path), path)
        records = list(_from_csv(text, path) if kind == "csv" else _from_json(text, path))
    if not records:
        raise DataError(f"{path}, line 1: the file holds no record; it may have been cut short, copy it again")
    return records


def read_bytes(path: Path) -> bytes:
    raw = path.read_bytes()
    if not (path.name.endswith(".gz") or raw.startswith(b"\x1f\x8b")):
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the gzip stream is cut short or damaged ({error}); copy the file again") from error


def decoded(raw: bytes, path: Path) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: broken Unicode, byte {raw[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from error


def _from_json(text: str, path: Path) -> Iterator[Record]:
    if text.lstrip().startswith("["):
        values = enumerate(_parse(text, path, 1), 1)
    else:
        # Only "\n" ends a line: str.splitlines would also cut at U+2028, which JSON allows inside a string.
        values = ((n, _parse(line, path, n)) for n, line in enumerate(text.split("\n"), 1) if line.strip())
    for line, value in values:
        if not isinstance(value, dict):
            raise DataError(f"{path}, line {line}: expected a JSON object, got {type(value).__name__}; write one object a line")
        yield Record(str(path), line, value)


def _parse(text: str, path: Path, line: int) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(named := dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{path}, line {line}: the key {twice!r} stands twice in one object; name each once")
        return named

    try:
        return json.loads(text, object_pairs_hook=once)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError: no JSON, or a number of thousands of digits
        at = line + getattr(error, "lineno", 1) - 1
        raise DataError(
            f"{path}, line {at}: no valid JSON ({error}); the file may be cut short, copy it again or mend the line"
        ) from error


def _from_csv(text: str, path: Path) -> Iterator[Record]:
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(rows, [])
        if len(set(header)) < len(header):
            raise DataError(f"{path}, line 1: a column name repeats in {header}; name each column once")
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{path}, line {rows.line_num}: {len(row)} cells under {len(header)} column names; quote cells that hold commas"
                )
            # An empty cell is a missing value: CSV cannot tell the two apart.
            yield Record(str(path), rows.line_num, {name: cell for name, cell in zip(header, row) if cell.strip()})
    except csv.Error as error:
        raise DataError(
            f"{path}, line {rows.line_num}: no valid CSV ({error}); quote cells that hold quotes or line breaks"
        ) from error


def _from_parquet(path: Path) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: no readable Parquet file ({error}); it may be cut short, copy it again") from error
    for number, fields in enumerate(rows, 1):
        yield Record(str(path), number, fields)
