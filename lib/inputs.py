"""All data sets of one tier: paths resolved from the repository's root, absent ones skipped with a reason, tables joined."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lib import datasets, scoring, whole
from lib.tables import ROOT

KINDS = ("questions", "gold", "documents", "pools")
FILES = ("path", "questions", "documents", "gold", "pools", "rankings", "aliases")  # keys of a source that name files


def resolved(source: dict) -> dict:
    """``source`` with its relative paths taken from the repository's root, wherever the notebook runs."""
    def absolute(value):
        return [absolute(v) for v in value] if isinstance(value, list) else str(ROOT / value)

    return {k: absolute(v) if k in FILES and v else v for k, v in source.items()}


def missing_files(source: dict) -> list[str]:
    """The files a source names that are not there, relative to the root; raises ValueError where ``source`` does not name files."""
    if not isinstance(source, Mapping):
        raise ValueError(f"a source is a block such as {{path: data/raw/own}}, got {source!r}; mend sources in params.yaml")
    named = [source[key] for key in FILES if source.get(key)]
    paths = [p for value in named for p in (value if isinstance(value, list) else [value])]
    wrong = [p for p in paths if not isinstance(p, (str, Path))]
    if wrong:
        raise ValueError(f"a source names files as text, got {wrong[0]!r} in {dict(source)}; mend sources in params.yaml")
    return [str(p) for p in paths if not (ROOT / p).exists()]


def check_whole(**numbers: object) -> None:
    """Raise ValueError unless each named parameter is a whole number of 1 or more.

    >>> check_whole(depth=50, dimensions=320)
    """
    for name, value in numbers.items():
        whole.check_whole(name, value, 1, mend="; mend it in params.yaml or in the parameters cell")


def check_rule(dataset: str) -> None:
    """Raise ValueError for a data set whose name has no scoring rule: better here than after hours of reading."""
    try:
        scoring.rule_for(dataset)
    except ValueError as error:
        raise ValueError(f"data set {dataset!r} has no scoring rule; let its name in sources begin with 'own', as in 'own_{dataset}': exact match and F1 "
                         "over all accepted answers") from error


def told(report: Mapping) -> str:
    """What one should know of a loaded set beyond the sizes of its tables: its non-zero counts, in one line."""
    sizes = (*KINDS, "rankings", "records")
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in report.items() if v and k not in sizes) or "nothing out of the ordinary"


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
    only where somebody brought some. ValueError for sources that name no files, or a data set without a scoring rule.
    """
    parts: dict[str, list[pd.DataFrame]] = {k: [] for k in (*KINDS, "rankings")}
    skipped, reports = {}, {}
    if not isinstance(sources, Mapping) or not sources:
        raise ValueError(f"sources must name data sets, as in {{own_questions: {{path: data/raw/own}}}}, got {sources!r}; mend it in params.yaml")
    for name, source in sources.items():
        absent = missing_files(source)
        if absent:
            skipped[name] = f"not there: {', '.join(absent)} (see data/raw/README.md)"
            continue
        check_rule(name)
        loaded = drawn(datasets.load(name, resolved(source)))
        reports[name] = loaded["report"]
        for kind in parts:
            parts[kind] += [loaded[kind]] if kind in loaded else []
    if not reports:
        raise FileNotFoundError("no data set of this tier is at hand: " + "; ".join(f"{k}: {v}" for k, v in skipped.items()))
    return {k: pd.concat(v, ignore_index=True) for k, v in parts.items() if v}, skipped, reports
