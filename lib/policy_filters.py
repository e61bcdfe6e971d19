"""Hard filters: what may not be shown is taken away before anything is scored (document 001, "Interaction is not authority"; SPEC 11).

A score says how well a passage fits a question, not whether it is in force, permitted or of the right kind. So each rule below is a yes or a no, and what
it refuses is in no pool: no order and no score can bring it back.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lib.whole import check_whole

RULES = ("source_type", "authority", "effective_time", "jurisdiction", "entitlement", "superseded", "archived")
EVERYWHERE, EVERYONE = "all", "all"
COLUMNS = ["qid", "rule", "documents", "refused", "alone"]


def check(rules: Sequence[str], least_authority: int = 1) -> tuple[str, ...]:
    """The rules as they are; raises ValueError for one that there is not."""
    check_whole("least_authority", least_authority, 0)
    if isinstance(rules, str) or (unknown := [r for r in rules if r not in RULES]):
        raise ValueError(f"filters are a list out of {', '.join(RULES)}, got {rules if isinstance(rules, str) else unknown[0]!r}")
    return tuple(rules)


def refusals(documents: pd.DataFrame, question: Mapping, least_authority: int = 1) -> pd.DataFrame:
    """Which rule refuses which document for a question: a row a document (index doc_id), a column of True and False for each of ``RULES``.

    A document without a jurisdiction or entitlement is open to all; one without a date holds without an end. A superseded version is refused when its
    successor is in force on the day asked about; before that day it is the operative one.
    """
    d, day = documents.set_index("doc_id"), str(question["asked_on"])
    starts = d["effective_from"].fillna("").astype(str)
    ends = d["effective_to"].where(d["effective_to"].notna() & (d["effective_to"] != ""), "9999").astype(str)
    began = d["superseded_by"].map(starts)  # of the successor; missing where there is none
    wanted = _listed(question.get("acceptable_sources"))
    return pd.DataFrame({
        "source_type": ~d["source_type"].isin(wanted) if wanted else False,
        "authority": d["authority"] < least_authority,
        "effective_time": (starts > day) | (ends < day),
        "jurisdiction": ~_open(d["jurisdiction"], question["jurisdiction"], EVERYWHERE),
        "entitlement": ~_open(d["entitlement"], question["entitlement"], EVERYONE),
        "superseded": d["superseded_by"].notna() & (d["superseded_by"] != "") & (began.fillna("") <= day),
        "archived": d["archived"].fillna(False).astype(bool),
    }, index=d.index)


def _listed(value: object) -> list[str]:
    """
    >>> _listed("policy"), _listed(["policy", "faq"]), _listed(None)
    (['policy'], ['policy', 'faq'], [])
    """
    return [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else []


def _open(asked_of: pd.Series, given: object, everyone: str) -> pd.Series:
    """Whether each document is open: it names nobody, everybody, or one that the question has."""
    have = set(_listed(given))
    return asked_of.map(lambda names: not _listed(names) or everyone in _listed(names) or bool(have & set(_listed(names))))


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


def shown(order: Sequence[str], document_of: Mapping[str, str], allowed: set[str], places: int = 4) -> list[str]:
    """The first ``places`` of an order of chunks whose document is ``allowed``: the last gate, whatever came before it.

    >>> shown(["old#1", "new#1", "new#2"], {"old#1": "old", "new#1": "new", "new#2": "new"}, {"new"}, places=1)
    ['new#1']
    """
    check_whole("places", places, 1)
    return [chunk for chunk in order if document_of.get(chunk) in allowed][:places]
