"""Ids, names and days as files spell them: one text each, alike however it was typed, or an error that says what is wrong (SPEC 1).

Two spellings of one text are one: white space at the ends is gone, and letters are composed (Unicode NFC: an e with an accent is one sign, not two).
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date

import pandas as pd

from lib.records import DataError

_DAY = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
EVERYONE = ("all", "*")  # stand for every query, so that no slice may be called so


def plain(text: str) -> str:
    """A text in its one spelling.

    >>> plain(" cafe\\u0301 ") == "caf\\u00e9"
    True
    """
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def one_text(value: object, place: str, mend: str = "give one text or number") -> str | None:
    """A text or number as text; None where it is missing or blank. Raises DataError for a list, an object, a truth value, infinity or half a sign.

    >>> one_text(7.0, "field qid"), one_text(" ", "field qid")
    ('7', None)
    """
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value in (float("inf"), float("-inf")):
        raise DataError(f"{place}: {type(value).__name__} {str(value)[:40]!r} is no text; {mend}")
    text = plain(str(int(value) if isinstance(value, float) and value.is_integer() else value))
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DataError(f"{place}: {text[:40]!a} holds half of a sign (a surrogate), which no file can hold; {mend}")
    return text or None


def identifier(value: object, place: str) -> str:
    """An id as text; DataError where there is none."""
    text = one_text(value, place, "give every row one id")
    if text is None:
        raise DataError(f"{place}: is missing or empty; give every row its id")
    return text


def several(value: object, place: str) -> str | list[str] | None:
    """Texts as a list, or as one text with ';' between; None where it is missing. Raises DataError for what is neither."""
    if isinstance(value, (list, tuple)):
        return [identifier(held, place) for held in value]
    return plain(value) if isinstance(value, str) and not plain(value) else one_text(value, place, "give a list of texts, or one text with ';' between")


def slice_name(value: object, place: str) -> str | None:
    """A slice's name, None where it is missing; DataError for a name that stands for every query."""
    name = one_text(value, place, "give one name a row")
    if name in EVERYONE:
        raise DataError(f"{place}: is {name!r}; name the query's slice; all and * stand for every query")
    return name


def day(value: object, place: str) -> str | None:
    """An ISO day (or year, month, time) as text, None where it is missing: days are compared letter by letter. Raises DataError for another form.

    >>> day("2026-01-31", "indexed_at"), day(2026, "indexed_at")
    ('2026-01-31', '2026')
    """
    text = None if value is None or pd.isna(value) else str(value).strip()
    if not text:
        return None
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        date.fromisoformat(text[:10] if len(text) > 7 else f"{text}-01-01"[:10])
    except ValueError:
        raise DataError(f"{place}: {text[:40]!r} is no day; write it as 2026-01-31") from None
    return text
