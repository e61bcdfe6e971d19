"""Tables as a reader sees them in a notebook: text to the left, numbers to the right, marks for true, no index."""
from __future__ import annotations

import hashlib

import pandas as pd
from pandas.io.formats.style import Styler

P_VALUES = ("p_value", "p_holm", "eq_p", "sign_p")


def rows(table: pd.DataFrame, precision: int = 2) -> Styler:
    """A small table for display: ``precision`` decimals, text left, true as a mark and false as nothing, long text with room to wrap."""
    text = [c for c in table if not pd.api.types.is_numeric_dtype(table[c])]
    truth = [c for c in table if pd.api.types.is_bool_dtype(table[c])]
    shown = table.to_csv(index=False, float_format=f"%.{precision}f")  # what is shown, not its last bits: these differ between processors
    told = hashlib.sha256(shown.encode()).hexdigest()[:8]              # pandas would draw a new random id on each run
    style = table.style.set_uuid(told).hide(axis="index").format(precision=precision, na_rep="")
    shares = [c for c in table if pd.api.types.is_float_dtype(table[c])]
    style = style.format(lambda v: number(v, precision), subset=shares)
    style = style.format(p_value, subset=[c for c in table if c in P_VALUES])
    counts = [c for c in table if pd.api.types.is_numeric_dtype(table[c]) and c not in truth and _counts(table[c])]
    style = style.format(lambda v: "" if pd.isna(v) else f"{int(v):,}", subset=counts)
    style = style.format(lambda v: "●" if not pd.isna(v) and v else "", subset=truth)
    style = style.set_properties(subset=text, **{"text-align": "left"}).set_properties(subset=truth, **{"text-align": "center"})
    return style.set_table_styles([{"selector": "th", "props": "text-align: left"}, {"selector": "td", "props": "vertical-align: top"}])


def measures(table: pd.DataFrame, index: list[str], column: str, value: str = "estimate", precision: int = 3) -> pd.DataFrame:
    """A long table of results laid out wide, in the order in which its rows come."""
    return table.pivot_table(index=index, columns=column, values=value, sort=False).round(precision)


def intervals(table: pd.DataFrame, index: list[str], column: str, value: str = "estimate", ends: tuple[str, str] = ("ci_low", "ci_high"),
              precision: int = 2, scale: float = 1, signed: bool = False, holm: str | None = None) -> pd.DataFrame:
    """A long table laid out wide with its intervals: a cell reads ``0.58 [0.51, 0.66]``, in the order in which the rows come; empty where undefined.

    ``scale`` multiplies (100: points), ``signed`` is for differences, and a star marks cells whose ``holm`` column is below 0.05.

    >>> intervals(pd.DataFrame({"a": ["x"], "m": ["f1"], "estimate": [0.5], "ci_low": [0.4], "ci_high": [0.6]}), ["a"], "m").iloc[0].tolist()
    ['x', '0.50 [0.40, 0.60]']
    """
    starred = [False] * len(table) if holm is None else (table[holm].astype(float) < 0.05).tolist()
    told = [_cell(*(scale * float(v) if pd.notna(v) else float("nan") for v in cell), precision, signed) + (" *" if star else "")
            for cell, star in zip(zip(table[value], *(table[e] for e in ends)), starred)]
    wide = table.assign(cell=told).pivot(index=index, columns=column, values="cell")
    wide = wide.reindex(index=pd.MultiIndex.from_frame(table[index].drop_duplicates()) if len(index) > 1 else list(dict.fromkeys(table[index[0]])))
    return wide[list(dict.fromkeys(table[column]))].fillna("").rename_axis(index=index, columns=None).reset_index()


def _cell(value: float, low: float, high: float, precision: int, signed: bool) -> str:
    told = ["" if pd.isna(v) else number(v, precision, signed) for v in (value, low, high)]
    return f"{told[0]} [{told[1]}, {told[2]}]" if all(told) else told[0]


def number(value: float, precision: int = 2, signed: bool = False) -> str:
    """A number as tables print it: no minus before zero, nothing where it is undefined.

    >>> number(-0.0004, 3), number(0.5, 1, signed=True), number(float("nan"))
    ('0.000', '+0.5', '')
    """
    if pd.isna(value):
        return ""
    text = f"{value:{'+' if signed else ''}.{precision}f}"
    return text.lstrip("+-") if float(text) == 0 else text


def p_value(value: float) -> str:
    """A p value: three decimals, and below them what is known (a bootstrap shows no zero).

    >>> p_value(0.0), p_value(0.0312), p_value(1.0), p_value(float("nan"))
    ('<0.001', '0.031', '1.000', '')
    """
    return "" if pd.isna(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _counts(column: pd.Series) -> bool:
    """Whether a column holds whole numbers beyond 1 only: counts, which need no decimals."""
    known = column.dropna().astype(float)
    return len(known) > 0 and bool((known % 1 == 0).all() and known.abs().max() > 1)
