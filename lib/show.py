"""Tables as a reader sees them in a notebook: text to the left, numbers to the right, marks for true, no index."""
from __future__ import annotations

import hashlib

import pandas as pd
from pandas.io.formats.style import Styler


def rows(table: pd.DataFrame, precision: int = 2) -> Styler:
    """A small table for display: ``precision`` decimals, text left, true as a mark and false as nothing, long text with room to wrap."""
    text = [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]
    truth = [c for c in table if pd.api.types.is_bool_dtype(table[c])]
    shown = table.to_csv(index=False, float_format=f"%.{precision}f")  # what is shown, not its last bits: these differ between processors
    told = hashlib.sha256(shown.encode()).hexdigest()[:8]              # pandas would draw a new random id on each run
    style = table.style.set_uuid(told).hide(axis="index").format(precision=precision, na_rep="")
    counts = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and c not in truth and _counts(table[c])]
    style = style.format(lambda v: "" if pd.isna(v) else f"{int(v):,}", subset=counts)
    style = style.format(lambda v: "●" if not pd.isna(v) and v else "", subset=truth)
    style = style.set_properties(subset=text, **{"text-align": "left"}).set_properties(subset=truth, **{"text-align": "center"})
    return style.set_table_styles([{"selector": "th", "props": "text-align: left"}, {"selector": "td", "props": "vertical-align: top"}])


def measures(table: pd.DataFrame, index: list[str], column: str, value: str = "estimate", precision: int = 3) -> pd.DataFrame:
    """A long table of results laid out wide, in the order in which its rows come."""
    return table.pivot_table(index=index, columns=column, values=value, sort=False).round(precision)


def _counts(column: pd.Series) -> bool:
    """Whether a column holds whole numbers beyond 1 only: counts, which need no decimals."""
    known = column.dropna().astype(float)
    return len(known) > 0 and bool((known % 1 == 0).all() and known.abs().max() > 1)
