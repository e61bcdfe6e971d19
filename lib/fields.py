"""Fields of a record: required, cleaned and cast once, with an early DataError for what does not fit (SPEC 1)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date
from typing import Any

from lib.records import Record


def require(record: Record, *names: str) -> Any:
    """The value of the first of `names` that the record has; DataError where it has none of them.

    >>> require(Record("q", 1, {"id": "a"}), "_id", "id")
    'a'
    """
    for name in names:
        if name in record.fields:
            return record.fields[name]
    raise record.error(
        " or ".join(names),
        f"is missing, found {', '.join(map(str, record.fields)) or 'no field'}",
        "check that the file is in the schema of this data set",
    )


def clean(value: Any, record: Record, name: str) -> str:
    """`value` as text with every run of white space made one space; DataError for what is not text, NaN or broken Unicode.

    >>> clean("two\\n lines ", Record("q", 1, {}), "text")
    'two lines'
    """
    if not isinstance(value, str):
        raise record.error(name, f"expected text, got {_shown(value)}", "write a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise record.error(
            name, f"broken Unicode, a lone surrogate at character {error.start}", "write the character itself, in UTF-8"
        ) from error
    return " ".join(value.split())


def text_field(record: Record, *names: str) -> str:
    """A required text that is not empty."""
    text = clean(require(record, *names), record, names[0])
    if not text:
        raise record.error(names[0], "is empty", "fill it in or take the record out")
    return text


def identifier(record: Record, *names: str) -> str:
    """A required id as text; whole numbers are cast. DataError for an empty id, NaN, a float or a list.

    >>> identifier(Record("q", 1, {"id": 7}), "id")
    '7'
    """
    value = require(record, *names)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = clean(value, record, names[0])
    if not text or text.lower() == "nan":
        raise record.error(names[0], f"got {value!r} for an id", "give every record an id of its own")
    return text


def cast_answers(value: Any, record: Record, name: str) -> list[str]:
    """Accepted answers as text, cast once (METRIC_CASES): a list item by item, numbers to digits, true/false to yes/no, None to "".

    An empty string or list is an error, None is not: releases write None where they withhold the answer. Repeats are dropped.

    >>> cast_answers([1912, "1912", None], Record("q", 1, {}), "answer")
    ['1912']
    """
    if value is None:
        return [""]
    items = [item for item in value if item is not None] if isinstance(value, (list, tuple)) else [value]
    answers = list(dict.fromkeys(_cast(item, record, name) for item in items))
    if not answers or "" in answers:
        raise record.error(
            name,
            f"holds an empty answer ({_shown(value)})",
            "give at least one answer and no empty one, or null where it is withheld",
        )
    return answers


def entries(record: Record, name: str, fields: Sequence[str]) -> list[dict]:
    """The list of objects under `name`, each with `fields`; an absent list value (None) is empty; DataError otherwise."""
    value = require(record, name)
    if not isinstance(value, (list, tuple, type(None))):
        raise record.error(
            name, f"expected a list of objects, got {type(value).__name__}", "check that the file is in the release's schema"
        )
    for i, entry in enumerate(value or []):
        missing = [f for f in fields if not isinstance(entry, dict) or f not in entry]
        if missing:
            raise record.error(f"{name}[{i}]", f"lacks {', '.join(missing)}", "check that the file is in the release's schema")
    return list(value or [])


def list_field(record: Record, name: str) -> list[Any]:
    """A required list; a text, as CSV gives it, is read as a JSON array or split at "|".

    >>> list_field(Record("q.csv", 2, {"gold": "d1|d2"}), "gold")
    ['d1', 'd2']
    """
    value = require(record, name)
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return [part.strip() for part in value.split("|")]
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            raise record.error(name, f"is no valid JSON array ({error})", 'write ["a", "b"] or a|b') from error
    if not isinstance(value, (list, tuple)):
        raise record.error(name, f"expected a list, got {_shown(value)}", "write a list")
    return list(value)


def optional_text(record: Record, name: str) -> str | None:
    """A text that may be absent; an absent or empty one is None."""
    value = record.fields.get(name)
    return None if value is None else clean(value, record, name) or None


def optional_date(record: Record, name: str) -> str | None:
    """A day that may be absent, as YYYY-MM-DD."""
    text = optional_text(record, name)
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise record.error(name, f"got {text!r} for a day", "write YYYY-MM-DD or leave it out") from error


def number_field(
    record: Record, name: str, whole: bool = False, default: int | None = None, required: bool = False
) -> float | int | None:
    """A finite number (a whole one if asked), from JSON or a CSV cell; `default` where it is absent, unless `required`.

    >>> number_field(Record("g.csv", 2, {"grade": "2"}), "grade", whole=True)
    2
    """
    value = require(record, name) if required else record.fields.get(name)
    if value is None and not required:
        return default
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number) or whole and number != int(number):
        raise record.error(
            name, f"expected a {'whole ' if whole else ''}number, got {_shown(value)}", "mend the number or leave it out"
        )
    return int(number) if whole else number


def unique(records: Sequence[Record], name: str) -> list[str]:
    """The ids of all records; DataError for one that repeats."""
    lines: dict[str, Record] = {}
    for record in records:
        key = identifier(record, name)
        if key in lines:
            raise record.error(
                name, f"{key!r} stands already in {lines[key].file}, line {lines[key].line}", "give every record an id of its own"
            )
        lines[key] = record
    return list(lines)


def _cast(item: Any, record: Record, name: str) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, (int, float)) and math.isfinite(item):
        return str(item)
    return clean(item, record, name)


def _shown(value: Any) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"
