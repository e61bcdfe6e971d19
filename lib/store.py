"""One content-addressed store in two layers: recorded answers in git, a cache on disk beside them (SPEC 5).

A key is the sha256 of everything that decides a value: the group (kind, model, revision, precision, decoding) and the
prompt. `recorded` (data/sample/recorded/, one JSON-lines file a group, committed) is asked first, so that a table is the
same on every machine; `cache` (data/cache/store, ignored by git) takes every new value at once, so that a kill loses
nothing. `Store(ignore_recorded=True)` is `make live`. Values and prompts are JSON; nothing is ever unpickled.
"""
from __future__ import annotations

import errno
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lib.recorded import DATA, StoreError, damaged, entry_key, group_name, read_recorded, write_recorded

__all__ = ["Store", "StoreError", "disk_errors", "entry_key"]
DISK_FULL = "the disk is full: nothing of this batch was kept, what was stored before is safe; free some space and run again"
MEND = "delete data/cache/store: recorded answers stay, live ones are read again"


class Store:
    """Both layers behind `get_many` and `put_many`; a hit in either loads no model."""

    def __init__(self, recorded: Path = DATA / "sample" / "recorded", cache: Path = DATA / "cache" / "store",
                 ignore_recorded: bool = False) -> None:
        self.recorded, self.cache, self.ignore_recorded = Path(recorded), Path(cache), ignore_recorded
        self._rows: dict[str, Any] | None = None
        self._disk = None

    def get(self, key: str) -> Any | None:
        """Value of a key, None where neither layer holds it; raises StoreError."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values that either layer holds, by key; raises StoreError."""
        keys, rows = list(keys), self.recorded_rows()
        found = {key: rows[key] for key in keys if key in rows}
        rest = [key for key in keys if key not in found]
        if rest and self.cache.is_dir():  # a read alone creates no folder
            with disk_errors(self.cache):
                disk = self._open()
                hits = ((key, disk.get(key)) for key in rest)
                found.update({key: _held(hit)["value"] for key, hit in hits if hit is not None})
        return found

    def get_sound(self, group: Mapping[str, Any], keys: Iterable[str], sound: Callable[[str, Any], bool]) -> dict[str, Any]:
        """``get_many``; raises StoreError where a value of the group is not what ``sound(key, value)`` says it must be."""
        found = self.get_many(keys)
        if wrong := sorted(key for key, value in found.items() if not sound(key, value)):
            raise StoreError(damaged(group, wrong, len(found)))
        return found

    def put_many(self, group: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Cache the values (by key) of one group, all or none of them; raises StoreError."""
        name = group_name(group)
        with disk_errors(self.cache):
            disk = self._open()
            with disk.transact():
                disk[f"group {name}"] = {"group": dict(group)}
                for key, value in values.items():
                    disk[key] = {"in": name, "value": value}

    def put(self, group: Mapping[str, Any], key: str, value: Any) -> None:
        """Cache one value; raises StoreError."""
        self.put_many(group, {key: value})

    def recorded_rows(self) -> dict[str, Any]:
        """All values of the recorded layer by key (empty with `ignore_recorded`); raises StoreError on a damaged file."""
        if self.ignore_recorded:
            return {}
        if self._rows is None:
            files = sorted(self.recorded.glob("*.jsonl"))
            self._rows = {key: value for file in files for key, value in read_recorded(file)[1].items()}
        return self._rows

    def groups(self) -> list[dict[str, Any]]:
        """The groups that the cache holds, by file name."""
        if not self.cache.is_dir():
            return []
        with disk_errors(self.cache):
            disk = self._open()
            return [disk[key]["group"] for key in sorted(disk) if key.startswith("group ")]

    def export(self, group: Mapping[str, Any], keys: Iterable[str] | None = None, keep: bool = False) -> Path:
        """Write a group's recorded file anew from both layers and return it; equal values give equal bytes.

        `keys` limits the file to these (raises StoreError where one is in no layer); None takes all of the group. With `keep` the other rows that stand in
        the file stay: one file may serve several purposes.
        """
        path = self.recorded / f"{group_name(group)}.jsonl"
        wanted = set(keys) if keys is not None else self._keys_of(group, path)
        values = self.get_many(wanted)
        if missing := wanted - set(values):
            raise StoreError(f"{path.name}: {len(missing)} of {len(wanted)} values to record are in no layer, "
                             f"first {min(missing)[:12]}; run the reading stage live, then `make record`")
        if keep and path.exists():
            values = read_recorded(path)[1] | values
        with disk_errors(self.recorded):
            write_recorded(path, group, values)
        self._rows = None
        return path

    def _keys_of(self, group: Mapping[str, Any], path: Path) -> set[str]:
        keys = set(read_recorded(path)[1]) if path.exists() and not self.ignore_recorded else set()
        if self.cache.is_dir():
            with disk_errors(self.cache):
                disk = self._open()
                keys |= {key for key in disk if not key.startswith("group ") and disk[key]["in"] == group_name(group)}
        return keys

    def _open(self):
        if self._disk is None:
            from diskcache import Cache, JSONDisk

            # diskcache would start to forget at 1 GB; answers must stay
            self._disk = Cache(str(self.cache), disk=JSONDisk, eviction_policy="none", size_limit=1 << 50)
        return self._disk

    def close(self) -> None:
        """Close the cache's file; the store opens it again when needed."""
        if self._disk is not None:
            self._disk.close()
            self._disk = None


def _held(hit: Any) -> dict[str, Any]:
    if not isinstance(hit, dict) or "value" not in hit:
        raise OSError(f"a stored value is a {type(hit).__name__} and not what this library writes")
    return hit


@contextmanager
def disk_errors(folder: Path, mend: str = MEND) -> Iterator[None]:
    """Turn a full disk and a damaged or unwritable folder into one StoreError; `mend` says what to do about damage."""
    try:
        yield
    except (OSError, sqlite3.Error, zlib.error, json.JSONDecodeError, UnicodeDecodeError) as error:  # the last three: a value that is no JSON
        if getattr(error, "errno", None) == errno.ENOSPC or "is full" in str(error):
            raise StoreError(f"{folder.name}: {DISK_FULL}") from error
        raise StoreError(f"{folder.name}: cannot be used ({error}); if the folder is damaged, {mend}") from error
