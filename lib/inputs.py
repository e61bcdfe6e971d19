"""All data sets of one tier: paths resolved from the repository's root, absent ones skipped with a reason, tables joined."""
from __future__ import annotations

from pathlib import Path

import pandas as pd

from lib import datasets
from lib.tables import ROOT

KINDS = ("questions", "gold", "documents", "pools")


def resolved(source: dict) -> dict:
    """``source`` with its relative paths taken from the repository's root, wherever the notebook runs."""
    def absolute(value):
        return [absolute(v) for v in value] if isinstance(value, list) else str(ROOT / value)

    keys = {"path", "aliases", "questions", "documents", "gold", "pools", "rankings"}
    return {k: absolute(v) if k in keys else v for k, v in source.items()}


def missing_files(source: dict) -> list[str]:
    """The files a source names that are not there, relative to the root."""
    paths = source.get("path", [])
    return [p for p in ([paths] if isinstance(paths, str) else paths) if not (ROOT / p).exists()]


def load_all(sources: dict[str, dict]) -> tuple[dict[str, pd.DataFrame], dict[str, str], dict[str, dict]]:
    """(tables, skipped, reports) of every data set named in params.yaml.

    A data set whose files are absent is skipped with its reason; FileNotFoundError when that leaves none.
    """
    parts: dict[str, list[pd.DataFrame]] = {k: [] for k in KINDS}
    skipped, reports = {}, {}
    for name, source in sources.items():
        absent = missing_files(source)
        if absent:
            skipped[name] = f"not there: {', '.join(absent)} (see data/raw/README.md)"
            continue
        loaded = datasets.load(name, resolved(source))
        reports[name] = loaded["report"]
        for kind in KINDS:
            parts[kind].append(loaded[kind])
    if not reports:
        raise FileNotFoundError("no data set of this tier is at hand: " + "; ".join(f"{k}: {v}" for k, v in skipped.items()))
    return {k: pd.concat(v, ignore_index=True) for k, v in parts.items()}, skipped, reports
