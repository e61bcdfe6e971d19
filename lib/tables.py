"""The tables that notebooks hand to each other: declared once, checked when written and when read.

A stage never invents a column: it reads tables by name and tier, and writes tables by name and tier. Between stages a table is
Parquet under ``data/derived/<tier>/``; a result is CSV (six significant digits) under ``data/results/<tier>/``.

>>> sorted(TABLES["gold"].columns)[:2]
['dataset', 'doc_id']
"""
from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pandera.pandas as pa

from lib.declarations import DECLARATIONS

ROOT = Path(__file__).resolve().parents[1]
DTYPES = {"str": "string", "int": "Int64", "float": "float64", "bool": "boolean", "list": object}
NAMES = {"str": "text", "int": "a whole number", "float": "a number", "bool": "True or False", "list": "a list"}


class TableError(ValueError):
    """A table does not fit its declaration; the message names table, column, row and mend."""


@dataclass(frozen=True)
class Table:
    """One declared table: key columns, all columns with (type, nullable, meaning), and the file format."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: dict[str, tuple[str, bool, str]]
    format: str

    def path(self, tier: str) -> Path:
        """Where this table of ``tier`` lies."""
        folder = "derived" if self.format == "parquet" else "results"
        return ROOT / "data" / folder / tier / f"{self.name}.{self.format}"


def _declared(name: str, spec: dict) -> Table:
    columns = {column: (kind.rstrip("?"), kind.endswith("?"), meaning) for column, (kind, meaning) in spec["columns"].items()}
    return Table(name, spec["meaning"], tuple(spec["key"]), columns, spec["format"])


TABLES: dict[str, Table] = {name: _declared(name, spec) for name, spec in DECLARATIONS.items()}


def _table(name: str) -> Table:
    if name not in TABLES:
        raise TableError(f"no table is called {name!r}; the declared ones are {', '.join(TABLES)}")
    return TABLES[name]


def _schema(table: Table) -> pa.DataFrameSchema:
    checks = {"float": pa.Check(lambda column: ~np.isinf(column), name="a finite number")}
    columns = {c: pa.Column(DTYPES[kind], checks=checks.get(kind), nullable=nullable)
               for c, (kind, nullable, _) in table.columns.items()}
    return pa.DataFrameSchema(columns, coerce=True)


def _key_of(df: pd.DataFrame, at: int, table: Table) -> str:
    return ", ".join(f"{k}={df[k].iloc[at]!r}" for k in table.key)


def _offence(df: pd.DataFrame, column: str, rule: str, at: int, table: Table) -> TableError:
    return TableError(f"table {table.name}, column {column}: {rule} in row {at} ({_key_of(df, at, table)}); mend the row before the table is written")


def _fits(value, kind: str) -> bool:
    """Whether one value can become ``kind`` without a change of meaning; the id 12.0 is no text, and "3" no number."""
    if isinstance(value, (list, np.ndarray)):
        return kind == "list"
    if pd.isna(value):
        return True  # whether it may be missing is asked later
    if kind == "str":
        return isinstance(value, (str, int, np.integer))
    number = isinstance(value, (int, float, np.number, np.bool_))
    return number and {"int": float(value).is_integer(), "float": True, "bool": value in (0, 1)}.get(kind, False)


def _refuse_misfits(df: pd.DataFrame, table: Table) -> None:
    """Raise TableError at the first value that pandas would refuse without saying where, or turn into something else in silence."""
    types = pd.api.types
    sure = {"str": lambda d: isinstance(d, pd.StringDtype), "int": types.is_integer_dtype, "float": types.is_numeric_dtype, "bool": types.is_bool_dtype}
    for column, (kind, _, _) in table.columns.items():
        if kind in sure and sure[kind](df[column].dtype):
            continue
        fits = df[column].map(lambda v, kind=kind: _fits(v, kind)).to_numpy(dtype=bool)
        if not fits.all():
            at = int(np.flatnonzero(~fits)[0])
            raise _offence(df, column, f"expected {NAMES[kind]}, got {df[column].iloc[at]!r}", at, table)


def _plain(value):
    """Lists all the way down: Parquet gives arrays of arrays back."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(v) for v in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return value


def check(df: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return ``df`` with declared columns, types and order, sorted by key; raise TableError at the first thing that does not fit."""
    table = _table(name)
    missing = [c for c in table.columns if c not in df]
    extra = [c for c in df if c not in table.columns] + [f"{c} (again)" for c in df.columns[df.columns.duplicated()]]
    if missing or extra:
        raise TableError(f"table {name}: missing columns {missing}, undeclared columns {extra}; found {list(df)}; "
                         f"declared in lib/declarations.py are {list(table.columns)}")
    df = df[list(table.columns)].reset_index(drop=True)
    for column in (c for c, (kind, _, _) in table.columns.items() if kind == "list"):
        df[column] = df[column].map(_plain).astype(object)
    _refuse_misfits(df, table)
    for column in (c for c, (kind, _, _) in table.columns.items() if kind == "float" and df[c].dtype == object):
        df[column] = df[column].astype("Float64")  # pd.NA is missing, too
    try:
        out = _schema(table).validate(df, lazy=True)
    except pa.errors.SchemaErrors as error:
        first = error.failure_cases.iloc[0]
        rule = {"not_nullable": "a value is missing"}.get(first["check"], f"expected {first['check']}, got {first['failure_case']}")
        raise _offence(df, first["column"], rule, int(first["index"]), table) from error
    twice = out.duplicated(list(table.key))
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise TableError(f"table {name}: the key repeats in row {at} ({_key_of(out, at, table)}); keep one row a key")
    out.attrs = {}  # Parquet would store them, and equal rows would differ in bytes
    return out.sort_values(list(table.key), kind="stable").reset_index(drop=True)


def write_atomically(path: Path, save: Callable[[str], None]) -> Path:
    """Call ``save(temporary name)`` and move the file to ``path`` in one step: a kill or a full disk leaves the old file."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
        save(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, f"could not write {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}: {error.strerror or error}; "
                                   f"nothing was changed. {_mend(error)} and run again") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return path


def _mend(error: OSError) -> str:
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "Make the folder writable"
    return "Free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "Mend that"


def six_digits(df: pd.DataFrame) -> pd.DataFrame:
    """Floats rounded to six significant digits, so that a CSV does not change with the last bits of a sum."""
    return df.apply(lambda c: c.map(lambda v: float(f"{v:.6g}"), na_action="ignore") if c.dtype == "float64" else c)


def write(df: pd.DataFrame, name: str, tier: str) -> Path:
    """Check ``df`` against its declaration and write it for ``tier``; the same rows give the same bytes."""
    table, df = _table(name), check(df, name)
    if table.format == "parquet":
        return write_atomically(table.path(tier), lambda p: df.to_parquet(p, index=False, compression="zstd"))
    return write_atomically(table.path(tier), lambda p: six_digits(df).to_csv(p, index=False, lineterminator="\n"))


def read(name: str, tier: str) -> pd.DataFrame:
    """Read and check a table; a missing or truncated file is one error that names the stage to run."""
    table = _table(name)
    path = table.path(tier)
    shown = path.relative_to(ROOT)
    if not path.exists():
        raise FileNotFoundError(f"table {name} of tier {tier!r} is not there ({shown}); {_stage_that_writes(table)} writes it: run "
                                f"'make {'repro' if tier == 'sample' else tier}' first")
    try:
        df = pd.read_parquet(path) if table.format == "parquet" else _read_csv(path, table)
    except (OSError, ValueError) as error:  # pyarrow's and the CSV parser's errors are kinds of ValueError
        raise TableError(f"table {name}: {shown} cannot be read ({type(error).__name__}: {error}); it may be cut short. "
                         f"Delete it and run 'make {'repro' if tier == 'sample' else tier}'; {_stage_that_writes(table)} writes it") from error
    return check(df, name)


def _read_csv(path: Path, table: Table) -> pd.DataFrame:
    """A CSV as ``write`` left it: text stays text (a data set may be called "NA"), and only what may be missing is read as missing."""
    if path.read_bytes()[-1:] != b"\n":
        raise ValueError("its last line has no end")
    texts = {c: "string" for c, (kind, *_) in table.columns.items() if kind == "str"}
    empty_is_missing = {c: [""] for c, (kind, nullable, _) in table.columns.items() if kind != "str" or nullable}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=empty_is_missing)


def _stage_that_writes(table: Table) -> str:
    """"stage NAME", from dvc.yaml."""
    import yaml

    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    wanted = str(table.path("${key}").relative_to(ROOT))
    return next((f"stage {name}" for name, stage in stages.items() if any(wanted in out for out in stage["do"]["outs"])), "no stage")


def read_all(tier: str, *names: str) -> list[pd.DataFrame]:
    """Several tables of one tier, in the order asked."""
    return [read(name, tier) for name in names]


def write_all(tier: str, **frames: pd.DataFrame) -> None:
    """Several tables of one tier by name."""
    for name, frame in frames.items():
        write(frame, name, tier)
