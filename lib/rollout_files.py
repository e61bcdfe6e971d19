"""Replay records as JSON Lines: a header that counts and seals them, a record a line; written in one step, and refused where damaged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.records import DataError
from lib.rollout_replay import SCHEMA, Replay, check_record
from lib.rollout_units import digest, json_once
from lib.tables import write_atomically

KIND = "replay"
GOOD = "take it from the last good copy"


def sealed(records: Sequence[Replay]) -> dict[str, Any]:
    """The header: how many records there are, and one digest over theirs: two files with equal headers hold the same records, bit for bit."""
    return {"kind": KIND, "schema": SCHEMA, "records": len(records), "digest": digest([r["digest"] for r in records])}


def write_replays(records: Sequence[Replay], path: Path) -> Path:
    """Write records; an interrupted write leaves the old file. Raises DataError for a record that does not reproduce, or a question that stands twice."""
    keys = [(r["dataset"], r["qid"]) for r in records]
    if len(set(keys)) < len(keys):
        raise DataError(f"question {next(k for k in keys if keys.count(k) > 1)} has two records; keep one file a run")
    lines = [json.dumps(line, ensure_ascii=False, allow_nan=False) for line in (sealed(records), *(check_record(r, r["qid"]) for r in records))]
    return write_atomically(Path(path), lambda p: Path(p).write_text("\n".join(lines) + "\n", encoding="utf-8"))


def read_replays(path: Path) -> list[Replay]:
    """The records of a file, each checked and reproduced; DataError, with file and line, for whatever is missing, cut short, changed or of another schema."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read ({error}); {GOOD}") from error
    if not text.endswith("\n"):
        raise DataError(f"{path.name}: its last line has no end, so it was cut short; {GOOD}")
    lines = text[:-1].split("\n")
    head = _line(lines[0], path, 1)
    if not isinstance(head, dict) or head.get("kind") != KIND or head.get("schema") != SCHEMA:
        raise DataError(f"{path.name}, line 1: no header of replay records, schema {SCHEMA}; {GOOD}")
    if head.get("records") != len(lines) - 1:
        raise DataError(f"{path.name}: the header promises {head.get('records')} records, {len(lines) - 1} are there; {GOOD}")
    records = [check_record(_line(line, path, n), f"{path.name}, line {n}") for n, line in enumerate(lines[1:], 2)]
    if sealed(records) != head:
        raise DataError(f"{path.name}: these are not the records that the header was written for; {GOOD}")
    return records


def _line(line: str, path: Path, at: int) -> Any:
    try:
        return json_once(line)
    except ValueError as error:
        raise DataError(f"{path.name}, line {at}: no valid JSON record ({error}); {GOOD}") from error


def differing(a: Sequence[Replay], b: Sequence[Replay]) -> list[tuple[str, str]]:
    """Questions whose records differ in anything, or that only one side holds; [] where a rollback restored everything, bit for bit."""
    left, right = ({(r["dataset"], r["qid"]): r["digest"] for r in side} for side in (a, b))
    return sorted(key for key in left.keys() | right.keys() if left.get(key) != right.get(key))
