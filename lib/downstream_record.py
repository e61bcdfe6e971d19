"""Answers to the packed lists of notebook 07, put on record, so that nobody has to run the reader again (SPEC 5).

usage: python -m lib.downstream_record          reads what no layer holds (a killed run resumes) and adds it to the file in data/sample/recorded/
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd
import yaml

from lib import tables
from lib.downstream_reading import prompts
from lib.reader_spec import ReaderError, answer_group
from lib.readers import read_prompts
from lib.recorded import entry_key
from lib.store import Store, StoreError
from lib.tables import ROOT
from lib.weights import WeightsError

TIER = "sample"


def asks(block: Mapping[str, Any], questions: pd.DataFrame, tier: str = TIER) -> list[tuple[Mapping[str, Any], set[str]]]:
    """(reader, prompts) of the block ``gating``, from the tables that notebook 07 wrote; none where it names no reader.

    >>> asks({"downstream": {"read": {}}}, pd.DataFrame())
    []
    """
    return [(reader, set(prompts(tables.read(table, tier), questions))) for table, reader in readers_of(block).items()]


def readers_of(block: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Table of contexts -> the reader that the block ``gating`` names for it; nobody where it names none.

    >>> readers_of({"downstream": {"read": {}}, "gate": {"replay": {"reader": {"model": "m"}}}})
    {'gate_contexts': {'model': 'm'}}
    """
    wanted = {"downstream_contexts": (block.get("downstream") or {}).get("read"), "gate_contexts": (block.get("gate") or {}).get("replay")}
    return {table: read["reader"] for table, read in wanted.items() if read}


def record(store: Store | None = None) -> list[str]:
    """Answer what is not on record and add it to the files of the recorded layer; a line a reader. What stands there for other purposes stays."""
    store, said = store or Store(), []
    block = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[TIER]["gating"]
    for reader, wanted in asks(block, tables.read("questions", TIER)):
        read_prompts(sorted(wanted), reader, store)
        group = answer_group(reader)
        path = store.export(group, [entry_key(group, p) for p in wanted], keep=True)
        said.append(f"{reader['model']}: {len(wanted)} answers to packed lists in {path.name}")
    return said


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        print("\n".join(record()))
    except (ValueError, OSError, WeightsError, ReaderError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
