"""All data sets of one tier: paths resolved from the repository's root, absent ones skipped with a reason, tables joined."""
from __future__ import annotations

import pandas as pd

from lib import datasets
from lib.tables import ROOT

KINDS = ("questions", "gold", "documents", "pools")
FILES = ("path", "questions", "documents", "gold", "pools", "rankings", "aliases")  # keys of a source that name files


def resolved(source: dict) -> dict:
    """``source`` with its relative paths taken from the repository's root, wherever the notebook runs."""
    def absolute(value):
        return [absolute(v) for v in value] if isinstance(value, list) else str(ROOT / value)

    return {k: absolute(v) if k in FILES and v else v for k, v in source.items()}


def missing_files(source: dict) -> list[str]:
    """The files a source names that are not there, relative to the root."""
    named = [source[key] for key in FILES if source.get(key)]
    paths = [p for value in named for p in (value if isinstance(value, list) else [value])]
    return [str(p) for p in paths if not (ROOT / p).exists()]


def drawn(loaded: dict) -> dict:
    """Only the questions that some seed draws, with their gold and pools, where a slice is large enough to draw from; the corpus stays whole."""
    questions = loaded["questions"]
    taken = questions["seeds"].map(len) > 0
    large = taken.groupby(questions["slice"]).transform("any")
    kept = questions[taken | ~large]
    if len(kept) == len(questions):
        return loaded
    own = {k: t[t["qid"].isin(kept["qid"])] for k, t in loaded.items() if k in ("gold", "pools", "rankings")}
    return {**loaded, **own, "questions": kept, "report": {**loaded["report"], "questions_not_drawn": len(questions) - len(kept)}}


def load_all(sources: dict[str, dict]) -> tuple[dict[str, pd.DataFrame], dict[str, str], dict[str, dict]]:
    """(tables, skipped, reports) of every data set named in params.yaml.

    A data set whose files are absent is skipped with its reason; FileNotFoundError when that leaves none. The tables have ``rankings``
    only where somebody brought some.
    """
    parts: dict[str, list[pd.DataFrame]] = {k: [] for k in (*KINDS, "rankings")}
    skipped, reports = {}, {}
    for name, source in sources.items():
        absent = missing_files(source)
        if absent:
            skipped[name] = f"not there: {', '.join(absent)} (see data/raw/README.md)"
            continue
        loaded = drawn(datasets.load(name, resolved(source)))
        reports[name] = loaded["report"]
        for kind in parts:
            parts[kind] += [loaded[kind]] if kind in loaded else []
    if not reports:
        raise FileNotFoundError("no data set of this tier is at hand: " + "; ".join(f"{k}: {v}" for k, v in skipped.items()))
    return {k: pd.concat(v, ignore_index=True) for k, v in parts.items() if v}, skipped, reports
