"""Hard filters: what may not be shown is taken away before anything is scored (document 001, "Interaction is not authority"; SPEC 11).

A score says how well a passage fits a question, not whether it is in force, permitted or of the right kind. So each rule below is a yes or a no, and what
it refuses is in no pool: no order and no score can bring it back. What is unknown is closed: a document that names no group of readers is for none, and a
value that cannot be read is an error, never a yes.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date

import numpy as np
import pandas as pd

from lib.whole import check_whole, is_number

RULES = ("source_type", "authority", "effective_time", "jurisdiction", "entitlement", "superseded", "archived")
EVERYWHERE, EVERYONE = "all", "all"
COLUMNS = ["qid", "rule", "documents", "refused", "alone"]
SEVERAL = (list, tuple, set, frozenset, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)  # a list of names, however a table keeps it


def check(rules: Iterable[str], least_authority: int = 1) -> tuple[str, ...]:
    """The rules as they are, each once; raises ValueError for one that there is not."""
    check_whole("least_authority", least_authority, 0)
    told = tuple(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else None
    if told is None or (unknown := [r for r in told if not isinstance(r, str) or r not in RULES]):
        raise ValueError(f"filters are a list out of {', '.join(RULES)}, got {rules if told is None else unknown[0]!r}")
    return tuple(dict.fromkeys(told))


def refusals(documents: pd.DataFrame, question: Mapping, least_authority: int = 1) -> pd.DataFrame:
    """Which rule refuses which document for a question: a row a document (index doc_id), a column of True and False for each of ``RULES``.

    ``jurisdiction``, ``entitlement``, ``acceptable_sources``: one name or several (list, tuple, set, array, Series); days: text YYYY-MM-DD, date or
    Timestamp. No ``effective_to`` means no end, no ``superseded_by`` no successor. Any other field that a document leaves empty refuses it; an asker
    without jurisdiction or entitlement gets what is open to all. A superseded version is refused when its successor is in force on the day asked about
    (or unknown); before that day it is the operative one. Raises ValueError that names document or question, field, value and mend for what cannot be
    read, for a missing column and for a doc_id that comes twice.
    """
    check_whole("least_authority", least_authority, 0)
    asked, told = _question(question), _documents(documents)
    starts = {d["doc_id"]: d["effective_from"] for d in told}
    index = pd.Index(documents["doc_id"], name="doc_id")
    return pd.DataFrame([_refused(d, asked, starts, least_authority) for d in told], index=index, columns=list(RULES), dtype=bool)


def _refused(d: Mapping, asked: Mapping, starts: Mapping[str, str | None], least_authority: int) -> tuple[bool, ...]:
    """One document: a truth value for each of ``RULES``, in their order; both sides as read."""
    day = asked["asked_on"]
    return (
        d["source_type"] not in asked["acceptable_sources"],
        d["authority"] is None or d["authority"] < least_authority,
        d["effective_from"] is None or d["effective_from"] > day or (d["effective_to"] is not None and d["effective_to"] < day),
        not d["jurisdiction"] & (asked["jurisdiction"] | {EVERYWHERE}),
        not d["entitlement"] & (asked["entitlement"] | {EVERYONE}),
        d["superseded_by"] is not None and (starts.get(d["superseded_by"]) or "") <= day,
        d["archived"] is not False,
    )


def _missing(value: object) -> bool:
    return not value.strip() if isinstance(value, str) else pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _names(value: object) -> frozenset[str]:
    """
    >>> sorted(_names("policy")), sorted(_names(np.array(["policy", "faq"]))), sorted(_names(None))
    (['policy'], ['faq', 'policy'], [])
    """
    if isinstance(value, str) or _missing(value):
        return frozenset() if _missing(value) else frozenset({value})
    if not isinstance(value, SEVERAL) or (isinstance(value, np.ndarray) and value.ndim != 1) or any(not isinstance(v, str) or _missing(v) for v in value):
        raise ValueError("one name or a list of names")
    return frozenset(map(str, value))


def _day(value: object) -> str | None:
    """
    >>> _day("1203-02-01"), _day(pd.Timestamp("1999-02-01 10:00")), _day(float("nan"))
    ('1203-02-01', '1999-02-01', None)
    """
    if _missing(value):
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, date):  # a Timestamp is one, too
        return date(value.year, value.month, value.day).isoformat()
    try:
        if isinstance(value, str) and date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ValueError("a day written YYYY-MM-DD, or a date")


def _number(value: object) -> float | None:
    if not _missing(value) and not is_number(value):
        raise ValueError("a number")
    return None if _missing(value) else value


def _truth(value: object) -> bool | None:
    if not _missing(value) and not isinstance(value, (bool, np.bool_)):
        raise ValueError("true or false")
    return None if _missing(value) else bool(value)


def _text(value: object) -> str | None:
    if not _missing(value) and not isinstance(value, str):
        raise ValueError("one text")
    return None if _missing(value) else value


def _needed(read: Callable[[object], object]) -> Callable[[object], object]:
    """The same reader for a field without which nothing can be decided."""

    def found(value: object) -> object:
        if not (told := read(value)):
            raise ValueError("a value: without it nothing can be decided")
        return told

    return found


DOCUMENT = {"doc_id": _needed(_text), "source_type": _text, "authority": _number, "effective_from": _day, "effective_to": _day, "jurisdiction": _names,
            "entitlement": _names, "superseded_by": _text, "archived": _truth}
QUESTION = {"asked_on": _needed(_day), "jurisdiction": _names, "entitlement": _names, "acceptable_sources": _needed(_names)}


def _read(whose: str, name: str, read: Callable[[object], object], value: object) -> object:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{whose}, field {name}: got {type(value).__name__} {str(value)[:40]!r}, expected {error}; mend the value in its table") from None


def _documents(documents: pd.DataFrame) -> list[dict]:
    """The documents, each field read; raises ValueError."""
    if lacking := [c for c in DOCUMENT if list(documents.columns).count(c) != 1]:
        raise ValueError(f"documents must have one column {lacking[0]}, got {', '.join(map(str, documents.columns))}; add it: every filter needs its own")
    rows = [dict(zip(DOCUMENT, values)) for values in zip(*(documents[c].tolist() for c in DOCUMENT))]
    whose = [f"document {i!r}" if isinstance(i, str) and not _missing(i) else f"document in row {n}" for n, i in enumerate(documents["doc_id"])]
    read = [{c: _read(who, c, DOCUMENT[c], value) for c, value in d.items()} for who, d in zip(whose, rows)]
    if len(ids := [d["doc_id"] for d in read]) > len(set(ids)):
        raise ValueError(f"document {max(ids, key=ids.count)!r} comes {ids.count(max(ids, key=ids.count))} times; give each version a doc_id of its own")
    return read


def _question(question: Mapping) -> dict:
    """The fields of a question that the rules read; raises ValueError."""
    whose = f"question {question.get('qid')!r}"
    if lacking := [c for c in QUESTION if c not in question]:
        raise ValueError(f"{whose}, field {lacking[0]}: is missing; give it, or nobody knows what may be shown")
    return {c: _read(whose, c, read, question[c]) for c, read in QUESTION.items()}


def admissible(documents: pd.DataFrame, question: Mapping, rules: Sequence[str] = RULES, least_authority: int = 1) -> set[str]:
    """The documents that no rule refuses; ``rules``: those in force."""
    refused = refusals(documents, question, least_authority)[list(check(rules, least_authority))].any(axis=1)
    return set(refused.index[~refused])


def counted(documents: pd.DataFrame, questions: pd.DataFrame, rules: Sequence[str] = RULES, least_authority: int = 1) -> pd.DataFrame:
    """``COLUMNS``: of each question and rule how many of the ``documents`` it refuses, and how many no other rule would; rule ``any``: all together."""
    rules, rows = check(rules, least_authority), []
    for question in questions.to_dict("records"):
        refused = refusals(documents, question, least_authority)[list(rules)]
        several = refused.sum(axis=1)
        rows += [(question["qid"], r, len(refused), int(refused[r].sum()), int((refused[r] & (several == 1)).sum())) for r in rules]
        rows.append((question["qid"], "any", len(refused), int((several > 0).sum()), int((several == 1).sum())))
    return pd.DataFrame(rows, columns=COLUMNS)


def shown(order: Sequence[str], document_of: Mapping[str, str], allowed: Collection[str], places: int = 4) -> list[str]:
    """The first ``places`` of an order of chunks whose document is ``allowed`` (set or list of doc_id): the last gate, whatever came before it.

    >>> shown(["old#1", "new#1", "new#2"], {"old#1": "old", "new#1": "new", "new#2": "new"}, {"new"}, places=1)
    ['new#1']
    """
    check_whole("places", places, 1)
    told = isinstance(allowed, (AbstractSet, list, tuple))  # in a text every part of it is found, in a Series its index
    if not told:
        raise ValueError(f"allowed is a set or list of doc_id, got {type(allowed).__name__}; give what admissible() gave")
    return [chunk for chunk in order if chunk in document_of and document_of[chunk] in allowed][:places]
