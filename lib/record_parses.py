"""The parses of the sample corpus, recorded: its graph snippets, and so the prompts of the graph arms, are the same on every machine (SPEC 5, 10).

usage: python -m lib.record_parses     parses every passage of the sample anew and writes data/sample/recorded/parse-*.jsonl
"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from lib import ace_parse, tables
from lib.ace_parse import group
from lib.recorded import DATA, group_name, write_recorded


FOLDER = DATA / "sample" / "recorded"


def record(parser: ace_parse.Parser | None = None, folder: Path = FOLDER, documents: pd.DataFrame | None = None) -> Path:
    """Parse every passage (the sample's, unless ``documents`` says) without looking at what is recorded or cached; the same parses give the same bytes."""
    parser = parser or ace_parse.SpacyParser()
    documents = tables.read("documents", "sample") if documents is None else documents
    made = dict(zip(ace_parse.keys(documents, parser), ace_parse.parses(documents, parser, cache=None)))
    told = group(parser)
    path = folder / f"{group_name(told)}.jsonl"
    write_recorded(path, told, made)
    return path


if __name__ == "__main__":
    print(f"written: {record().name}")
    sys.exit(0)
