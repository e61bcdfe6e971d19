"""Rows as they may come in: ids as text, so that 7 and "7" are one question, no key that stands twice, texts that may be missing."""
from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.ranking import QUESTION
from lib.whole import is_whole


def as_text(values: pd.Series, name: str) -> pd.Series:
    """Ids as text; what is missing stays missing. Raises ValueError for a value that is neither text nor a whole number: 7.0 may have been 7 or 7.0.

    >>> as_text(pd.Series([7, 8]), "qid").tolist()
    ['7', '8']
    """
    values = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("string", "empty"):
        return values
    if kind != "integer" or values.isna().any():
        wrong = [v for v in values[values.notna()] if not isinstance(v, str) and not is_whole(v)]
        if wrong:
            raise ValueError(f"{name} {wrong[0]!r} is neither text nor a whole number; write ids as text")
    return values.astype(object).where(values.isna(), values.map(str, na_action="ignore").astype(object))


def check_ids(frame: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    """Raise ValueError for a column or an id that is missing, ``name`` saying of which table."""
    if missing := [c for c in columns if c not in frame]:
        raise ValueError(f"{name}: columns {missing} are missing, found {list(frame)}")
    for column in columns:
        if frame[column].isna().any():
            raise ValueError(f"{name}: {column} is missing in row {int(frame[column].isna().to_numpy().argmax())} of {len(frame)}; give every row its {column}")


def keyed(frame: pd.DataFrame, name: str, columns: Sequence[str] = tuple(QUESTION)) -> pd.DataFrame:
    """``frame`` with the ids of ``columns`` as text; raises ValueError for a column or an id that is missing, or could be two things."""
    check_ids(frame, name, columns)
    return frame.assign(**{column: as_text(frame[column], f"{name}: {column}") for column in columns})


def check_once(frame: pd.DataFrame, key: Sequence[str], name: str, mend: str = "keep one row") -> None:
    """Raise ValueError where two rows of ``frame``, the table ``name``, share their ``key``, or a column of it is missing.

    >>> check_once(pd.DataFrame({"qid": ["a", "b"]}), ["qid"], "answers")
    """
    if missing := [c for c in key if c not in frame]:
        raise ValueError(f"{name}: columns {missing} are missing, found {list(frame)}")
    if (twice := frame.duplicated(list(key))).any():
        raise ValueError(f"{name}: {frame.loc[twice, list(key)].iloc[0].to_dict()} is given twice; {mend}")


def told_texts(frame: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """``frame`` with the texts of ``columns``, "" where one is missing: None is no word "none". Raises ValueError for a text that is none.

    >>> told_texts(pd.DataFrame({"title": ["Marl", None]}), ["title"], "documents")["title"].tolist()
    ['Marl', '']
    """
    if missing := [c for c in columns if c not in frame]:
        raise ValueError(f"{name}: columns {missing} are missing, found {list(frame)}")
    made = {}
    for column in columns:
        there = frame[column].notna()
        if wrong := [v for v in frame.loc[there, column] if not isinstance(v, str)]:
            raise ValueError(f"{name}: a {column} is {wrong[0]!r}, expected text; write it as text")
        made[column] = frame[column].astype(object).where(there, "")
    return frame.assign(**made)
