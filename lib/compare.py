"""Do two runs say the same? Tables key by key, text number by number.

usage: python -m lib.compare A B              whether results of A and B differ beyond their intervals (A, B: a git revision or a folder)
       python -m lib.compare --rebuilt [REV]  whether what a rebuild just wrote equals what REV (HEAD) holds, within rounding
"""
from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pandas as pd

from lib.tables import ROOT, TABLES

BUILT = ["data/results/sample", "figures/sample", "notebooks/executed"]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
STYLED = re.compile(r"T_[0-9a-f]{5,}")
RELATIVE, ABSOLUTE = 0.02, 0.02  # another processor's last bits can flip a tie, a bootstrap draw, a rounded digit


def folder_of(where: str) -> Path:
    """``where`` itself if it is a folder, else the built files of that git revision in a temporary folder."""
    if Path(where).is_dir():
        return Path(where)
    packed = subprocess.run(["git", "archive", where, "--", *BUILT], cwd=ROOT, capture_output=True)
    if packed.returncode:
        raise SystemExit(f"{where!r} is neither a folder nor a git revision that holds {', '.join(BUILT)}: {packed.stderr.decode().strip()}")
    target = Path(tempfile.mkdtemp(prefix="compare-"))
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        tar.extractall(target, filter="data")
    return target


def close(a: str, b: str) -> bool:
    """Whether two texts agree but for numbers that differ by rounding, and for the ids of styled tables."""
    a, b = STYLED.sub("T_", a), STYLED.sub("T_", b)
    if NUMBER.split(a) != NUMBER.split(b):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b))
    return all(x == y or abs(float(x) - float(y)) <= max(ABSOLUTE, RELATIVE * max(abs(float(x)), abs(float(y)))) for x, y in pairs)


def _keyed(path: Path) -> pd.DataFrame:
    """A result table indexed by its key, its other columns as they stand."""
    table = TABLES[path.stem]
    kinds = {c: "string" for c, (kind, _, _) in table.columns.items() if kind == "str"}
    df = pd.read_csv(path, dtype=kinds)
    absent = [k for k in table.key if k not in df]
    if absent:
        raise SystemExit(f"{path}: key columns {absent} are missing; it is no table {path.stem} of today's lib/declarations.py")
    return df.set_index(list(table.key))


def table_differences(a: Path, b: Path) -> list[str]:
    """Rows of two CSV tables that differ: absent keys, and values apart by more than rounding."""
    left, right = _keyed(a), _keyed(b)
    lines = [f"{a.stem}: column {c} only {'before' if c in left else 'after'}" for c in left.columns.symmetric_difference(right.columns)]
    lines += [f"{a.stem}: key {k} only {'before' if k in left.index else 'after'}" for k in left.index.symmetric_difference(right.index)]
    both = left.index.intersection(right.index)
    for column in left.columns.intersection(right.columns):
        for key, x, y in zip(both, left.loc[both, column], right.loc[both, column]):
            same = str(x) == str(y) if column in _counts(a.stem) else close(str(x), str(y))
            if not (pd.isna(x) and pd.isna(y)) and not same:
                lines.append(f"{a.stem}: {column} of {key} was {x}, is {y}")
    return lines


def _counts(name: str) -> set[str]:
    """Columns of whole numbers: rounding explains no difference there."""
    return {c for c, (kind, _, _) in TABLES[name].columns.items() if kind == "int"}


def rebuilt(revision: str) -> list[str]:
    """Differences between ``revision`` and the working copy that rounding does not explain; [] when the rebuild leaves none."""
    before, lines, bytes_apart = folder_of(revision), [], 0
    names = {str(p.relative_to(base)) for base in (before, ROOT) for top in BUILT for p in (base / top).rglob("*") if p.is_file()
             and not p.name.startswith(".") and ".partial." not in p.name and p.suffix != ".png"}  # neither leftovers nor what git ignores
    for name in sorted(names):
        a, b = before / name, ROOT / name
        if not a.exists() or not b.exists():
            lines.append(f"{name} is only {'in ' + revision if a.exists() else 'in the rebuild'}")
        elif a.read_bytes() != b.read_bytes():
            bytes_apart += 1
            if a.suffix == ".csv" and a.stem in TABLES:
                lines += table_differences(a, b)
            elif not close(a.read_text(encoding="utf-8"), b.read_text(encoding="utf-8")):
                lines.append(f"{name} says something else than in {revision}")
    print(f"rebuild against {revision}: {len(names)} files, {bytes_apart} differ in bytes, {len(lines)} beyond rounding")
    return lines


def beyond_intervals(a: Path, b: Path) -> list[str]:
    """Results whose 95 % intervals in A and B do not overlap."""
    lines = []
    for name, both in _paired(a, b).items():
        apart = both[(both["ci_low_a"] > both["ci_high_b"]) | (both["ci_low_b"] > both["ci_high_a"])]
        lines += [f"{name}: {k}: [{r.ci_low_a:.3g}, {r.ci_high_a:.3g}] and [{r.ci_low_b:.3g}, {r.ci_high_b:.3g}]" for k, r in apart.iterrows()]
    return lines


def _paired(a: Path, b: Path) -> dict[str, pd.DataFrame]:
    """Results with an interval that both folders hold, by table; files are matched by name, since every such key holds the tier."""
    with_interval = [name for name, table in TABLES.items() if table.format == "csv" and "ci_low" in table.columns]
    found = {name: [[_keyed(p) for p in sorted(folder.rglob(f"{name}.csv"))] for folder in (a, b)] for name in with_interval}
    return {name: pd.concat(left).add_suffix("_a").join(pd.concat(right).add_suffix("_b"), how="inner")
            for name, (left, right) in found.items() if left and right}


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--rebuilt"]:
        lines = rebuilt(arguments[1] if len(arguments) > 1 else "HEAD")
    elif len(arguments) == 2:
        folders = [folder_of(a) for a in arguments]
        compared = sum(map(len, _paired(*folders).values()))
        if not compared:
            raise SystemExit(f"{arguments[0]} and {arguments[1]} have no result in common: nothing was compared")
        lines = beyond_intervals(*folders)
        print(f"{arguments[0]} and {arguments[1]} differ beyond their intervals in {len(lines)} of {compared} results")
    else:
        print(__doc__)
        return 2
    print("\n".join(lines[:50] + ([f"... and {len(lines) - 50} more"] if len(lines) > 50 else [])))
    return int(bool(lines) and arguments[0] == "--rebuilt")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
