"""The recorded layer's files and the keys of the store: one JSON-lines file a group, committed (SPEC 5)."""
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lib.text import encoded

DATA = Path(__file__).resolve().parents[1] / "data"
GROUP = ("kind", "model", "revision", "precision", "decoding")


class StoreError(RuntimeError):
    """A layer of the store cannot be read or written."""


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no escapes beyond JSON's own, no NaN.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def entry_key(group: Mapping[str, Any], prompt: Any) -> str:
    """Key of one stored value: sha256 of the canonical JSON of {kind, model, revision, precision, decoding, prompt}.

    `prompt` is any JSON value: a reader's prompt, a [question, passage] pair. Raises ValueError for other group fields.
    """
    if set(group) != set(GROUP):
        raise ValueError(f"a group of the store has the fields {list(GROUP)}, got {sorted(group)}")
    return _sha256(canonical({**group, "prompt": prompt}))


def group_name(group: Mapping[str, Any]) -> str:
    """File name stem of a group: kind, model, precision and six digits that also tell revision and decoding apart."""
    digest = entry_key(group, None)[:6]
    words = (str(group["kind"]), str(group["model"]).split("/")[-1], str(group["precision"]), digest)
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", word) for word in words)


def write_recorded(path: Path, group: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Write a recorded file in one step: a head line with the group and the number of rows, then rows sorted by key."""
    lines = [canonical({"group": dict(group), "rows": len(values)})]
    lines += [canonical({"key": key, "value": values[key]}) for key in sorted(values)]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_recorded(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Group and values (by key) of a recorded file; raises StoreError where a line is cut, damaged or missing."""
    mend = f"restore it with `git checkout -- {_shown(path)}`, or write it anew with `make record`"
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise StoreError(f"{path.name}: cannot be read ({error}); {mend}") from error
    except UnicodeDecodeError as error:
        number = error.object[:error.start].count(b"\n") + 1
        raise StoreError(f"{path.name} line {number}: byte {error.object[error.start]:#04x} is no UTF-8; {mend}") from error
    number = 1
    try:
        head = json.loads(lines[0])
        group, rows, values = head["group"], head["rows"], {}
        for number, line in enumerate(lines[1:-1], start=2):
            row = json.loads(line)
            values[row["key"]] = row["value"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise StoreError(f"{path.name} line {number}: not a row of recorded answers ({error!r}); {mend}") from error
    if lines[-1] or len(values) != rows:  # the text ends in a newline, so the last piece is empty
        raise StoreError(f"{path.name}: cut off, {len(values)} whole rows of {rows}; {mend}")
    return group, values


def damaged(group: Mapping[str, Any], keys: Sequence[str], of: int) -> str:
    """What is wrong with values of a group that are not what they must be (their ``keys``, out of ``of``), and the mend."""
    name = group_name(group)
    return (f"{name}: {len(keys)} of {of} stored values are damaged, first {keys[0][:12]}; restore data/sample/recorded/{name}.jsonl with `git checkout` "
            "if it holds them, else delete data/cache/store: what is not recorded is made anew")


def _shown(path: Path) -> str:
    return path.relative_to(DATA.parent).as_posix() if path.is_relative_to(DATA.parent) else path.name


def _sha256(text: str) -> str:
    return hashlib.sha256(encoded(text)).hexdigest()
