"""Files on record that a parameter names by a pattern: question sets and measures of the graph list (document 002)."""
from __future__ import annotations

from pathlib import Path, PurePath

from lib.tables import ROOT

FOLDER = "data/results/gating"
LONGEST = 255  # bytes of a file's name


def check_pattern(pattern: object, end: str) -> str:
    """``pattern`` of files below the repository whose names end in ``end``; "": none. Raises ValueError for what is no pattern.

    >>> check_pattern("data/results/gating/*-lists.csv.gz", "-lists.csv.gz"), check_pattern("", "-lists.csv.gz")
    ('data/results/gating/*-lists.csv.gz', '')
    """
    parts = PurePath(pattern).parts if isinstance(pattern, str) else ()
    if pattern != "" and (not parts or not pattern.isprintable() or PurePath(pattern).is_absolute() or ".." in parts
                          or any(len(p.encode()) > LONGEST or "**" in p and p != "**" for p in parts) or len(parts) > LONGEST):
        raise ValueError(f"files must be a pattern of file names below the repository, such as {FOLDER}/*{end}, or \"\" for none, got {str(pattern)[:80]!r}")
    return pattern


def found(pattern: str, end: str, root: Path = ROOT) -> list[Path]:
    """What the pattern finds below ``root`` and ends in ``end``, by path; none is no error."""
    return [path for path in sorted(root.glob(pattern)) if path.name.endswith(end)] if check_pattern(pattern, end).strip() else []
