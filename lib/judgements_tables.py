"""Tables without a row that keep their declared types: joined to a table with rows they change nothing (a run without gold)."""

from __future__ import annotations

import pandas as pd

from lib.declarations import DECLARATIONS

TYPES = {"str": "str", "int": "int64", "float": "float64"}


def typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """``table`` as it is where it has rows; else its columns in the types that table ``name`` declares (columns that are not declared stay).

    A column of an empty table has no type of its own, and pandas makes texts of numbers where the two are joined.

    >>> nothing = typed(pd.DataFrame(columns=["slice", "estimate", "n"]), "release_gains")
    >>> [str(t) for t in pd.concat([pd.DataFrame({"slice": ["all"], "estimate": [0.5], "n": [2]}), nothing]).dtypes][1:]
    ['float64', 'int64']
    """
    if len(table):
        return table
    kinds = {c: told[0].removesuffix("?") for c, told in DECLARATIONS[name]["columns"].items() if c in table}
    return table.astype({c: TYPES[kind] for c, kind in kinds.items() if kind in TYPES and str(table[c].dtype) == "object"})
