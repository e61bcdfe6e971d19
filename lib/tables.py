"""The tables that notebooks hand to each other: declared once, checked when written and when read.

A stage never invents a column: it reads tables by name and tier, and writes tables by name and tier. Between stages a table is
Parquet under ``data/derived/<tier>/``; a result is CSV (six significant digits) under ``data/results/<tier>/``.

>>> sorted(TABLES["gold"].columns)[:2]
['dataset', 'doc_id']
"""
from __future__ import annotations

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
    columns = {}
    for column, (kind, meaning) in spec["columns"].items():
        columns[column] = (kind.rstrip("?"), kind.endswith("?"), meaning)
    return Table(name, spec["meaning"], tuple(spec["key"]), columns, spec["format"])


TABLES: dict[str, Table] = {name: _declared(name, spec) for name, spec in DECLARATIONS.items()}


def _table(name: str) -> Table:
    if name not in TABLES:
        raise TableError(f"no table is called {name!r}; the declared ones are {', '.join(TABLES)}")
    return TABLES[name]


def _schema(table: Table) -> pa.DataFrameSchema:
    is_list = pa.Check(lambda v: isinstance(v, list), element_wise=True, name="a list")
    finite = pa.Check(lambda v: not np.isinf(v), element_wise=True, name="a finite number")
    checks = {"list": is_list, "float": finite}
    columns = {c: pa.Column(DTYPES[kind], checks=checks.get(kind), nullable=nullable)
               for c, (kind, nullable, _) in table.columns.items()}
    return pa.DataFrameSchema(columns, coerce=True)


def _offence(df: pd.DataFrame, failure: pd.Series, table: Table) -> str:
    at = int(failure["index"])
    keys = ", ".join(f"{k}={df[k].iloc[at]!r}" for k in table.key)
    rule = {"not_nullable": "a value is missing"}.get(failure["check"], f"expected {failure['check']}, got {failure['failure_case']!r}")
    return f"table {table.name}, column {failure['column']}: {rule} in row {at} ({keys}); mend the row before the table is written"


def check(df: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return ``df`` with declared columns, types and order, sorted by key; raise TableError at the first thing that does not fit."""
    table = _table(name)
    missing = [c for c in table.columns if c not in df]
    extra = [c for c in df if c not in table.columns]
    if missing or extra:
        raise TableError(f"table {name}: missing columns {missing}, undeclared columns {extra}; found {list(df)}; "
                         f"declared in lib/declarations.py are {list(table.columns)}")
    df = df[list(table.columns)].reset_index(drop=True)
    for column in (c for c, (kind, _, _) in table.columns.items() if kind == "list"):
        df[column] = df[column].map(lambda v: list(v) if isinstance(v, (np.ndarray, tuple)) else v).astype(object)
    try:
        out = _schema(table).validate(df, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases = error.failure_cases.dropna(subset=["index"])
        raise TableError(_offence(df, cases.iloc[0], table)) from error
    twice = out.duplicated(list(table.key))
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        keys = ", ".join(f"{k}={out[k].iloc[at]!r}" for k in table.key)
        raise TableError(f"table {name}: the key repeats in row {at} ({keys}); keep one row a key")
    return out.sort_values(list(table.key), kind="stable").reset_index(drop=True)


def write_atomically(path: Path, save: Callable[[str], None]) -> Path:
    """Call ``save(temporary name)`` and move the file to ``path`` in one step: a kill or a full disk leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    try:
        save(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, f"could not write {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}: {error.strerror}; "
                                   "nothing was changed. Free some space and run again") from error
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return path


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
        raise FileNotFoundError(f"table {name} of tier {tier!r} is not there ({shown}); run 'dvc repro' (or 'make repro') first")
    try:
        df = pd.read_parquet(path) if table.format == "parquet" else pd.read_csv(path, keep_default_na=True, dtype=_csv_types(table))
    except (OSError, ValueError) as error:  # pyarrow's and the CSV parser's errors are kinds of ValueError
        raise TableError(f"table {name}: {shown} cannot be read ({type(error).__name__}: {error}); it may be cut short. "
                         "Delete it and run 'dvc repro'") from error
    return check(df, name)


def _csv_types(table: Table) -> dict[str, str]:
    return {c: "string" for c, (kind, _, _) in table.columns.items() if kind == "str"}


def read_all(tier: str, *names: str) -> list[pd.DataFrame]:
    """Several tables of one tier, in the order asked."""
    return [read(name, tier) for name in names]
