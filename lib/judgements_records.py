"""The judgement record: what a decision needs, and how each candidate was judged for it (document 001, "Build judgement from the decision backwards").

One JSON object a question, JSON lines. It names the operative claim, the evidence roles required, the sources that may be used, the day on which the
evidence must be in force, and the source states that disqualify; then each candidate with label, grade, role, bundles, span, assessor and day. A field
that is not known here is an error: a misspelt one would be lost in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from lib import records, tables
from lib.records import DataError, Record
from lib.viability_ids import day, identifier, one_text
from lib.whole import is_whole

SCHEMA = "judgement-record/1"
LABELS = ("supportive", "bundle", "topical", "contradictory", "uncertain")
EVIDENCE = ("supportive", "bundle")  # labels of passages that help to establish the claim: alone, or only together with others
BETWEEN = "; "  # between the roles of one passage, in tables
HIGHEST = 3  # grades run from 0 to this
GRADES = {"supportive": (1, HIGHEST), "bundle": (1, HIGHEST), "topical": (0, 1), "contradictory": (0, 0)}  # a neighbouring topic is no evidence


class Candidate(NamedTuple):
    """One assessor's judgement of one passage: a document's section (None: the whole document) and its sentences ``span`` (first, last, from 0; None: all).

    It names no chunk, so it outlives another chunking. ``grade`` is None where the label is uncertain; ``note``: why, in words.
    """

    doc_id: str
    section: str | None
    span: tuple[int, int] | None
    label: str
    grade: int | None
    role: str | None
    bundles: tuple[str, ...]
    assessor: str
    date: str
    note: str | None

    @property
    def passage(self) -> str:
        """The passage's name in tables and qrels: document#section."""
        return self.doc_id if self.section is None else f"{self.doc_id}#{self.section}"


class Judgement(NamedTuple):
    """What one question asks to be established, and the candidates judged for it; ``roles``: evidence role -> passages needed."""

    qid: str
    question: str
    operative_claim: str
    roles: Mapping[str, int]
    acceptable_sources: tuple[str, ...]
    effective_on: str | None
    disqualifying: tuple[str, ...]
    slices: tuple[str, ...]
    candidates: tuple[Candidate, ...]


def read(path: str | Path) -> list[Judgement]:
    """All records of a file (.jsonl or .json, plain or .gz); DataError names file, line, field and mend."""
    try:
        given = records.read_records(path)
    except DataError as error:
        if "no valid JSON" not in str(error):
            raise
        raise DataError(f"{error}. A record file holds one line a record: a record that is spread over lines, or shares one, cannot be read") from error
    made = [judgement(record) for record in given]
    seen: dict[str, int] = {}
    for line, one in enumerate(made, 1):
        if one.qid in seen:
            raise DataError(f"{path}: question {one.qid!r} stands in records {seen[one.qid]} and {line}; keep all its candidates in one")
        seen[one.qid] = line
    return made


def judgement(record: Record) -> Judgement:
    """One record, checked."""
    fields = record.fields
    if fields.get("schema") != SCHEMA:
        raise record.error("schema", f"is {fields.get('schema')!r}", f"this reader knows {SCHEMA!r} alone; convert the file, or correct the field")
    _known(record, fields, ("schema", *Judgement._fields), "")
    roles = fields.get("roles")
    if not isinstance(roles, dict) or not all(is_whole(n) and n > 0 for n in roles.values()):
        raise record.error("roles", f"is {str(roles)[:60]}", 'give an object of roles and counts, such as {"policy": 1, "exception": 1}')
    asked = {_role(identifier(role, f"{_at(record)} roles"), record, "roles"): int(n) for role, n in roles.items()}
    if len(asked) < len(roles):
        raise record.error("roles", f"{list(roles)} names one role twice", "name each once; white space at the ends does not tell two apart")
    given = fields.get("candidates")
    if not isinstance(given, list):
        raise record.error("candidates", f"is {type(given).__name__}", "give a list, empty where nothing was judged")
    candidates = tuple(_candidate(record, n, each, asked) for n, each in enumerate(given))
    pairs = [(c.passage, c.span, c.assessor) for c in candidates]
    if twice := next((p for at, p in enumerate(pairs) if p in pairs[:at]), None):
        raise record.error("candidates", f"{twice[2]!r} judges the same span of {twice[0]!r} twice", "keep one judgement an assessor and span")
    return Judgement(
        *(identifier(fields.get(name), f"{_at(record)} {name}") for name in ("qid", "question", "operative_claim")),
        asked,
        _texts(record, "acceptable_sources"),
        day(fields.get("effective_on"), f"{_at(record)} effective_on"),
        _texts(record, "disqualifying"),
        _texts(record, "slices"),
        candidates,
    )


def _at(record: Record) -> str:
    return f"{record.file}, line {record.line}, field"


def _known(record: Record, fields: Mapping, names: tuple[str, ...], where: str) -> None:
    strange, lost = [f for f in fields if f not in names], [n for n in names if n not in fields and n != "slices"]
    if strange or lost:
        said = f"is not a field of {SCHEMA}" if strange else "is missing"
        raise record.error(f"{where}{(strange or lost)[0]}", said, f"the fields are {', '.join(names)}; write null or [] where there is nothing to say")


def _role(role: str | None, record: Record, field: str) -> str | None:
    if role is not None and BETWEEN.strip() in role:
        raise record.error(field, f"holds the role {role!r}", f"name it without {BETWEEN.strip()!r}, which stands between the roles of one passage")
    return role


def _texts(record: Record, name: str) -> tuple[str, ...]:
    value = record.fields.get(name, [])
    if not isinstance(value, list):
        raise record.error(name, f"is {type(value).__name__}", "give a list of texts")
    return tuple(identifier(one, f"{_at(record)} {name}") for one in value)


def _candidate(record: Record, n: int, given: object, roles: Mapping[str, int]) -> Candidate:
    where = f"candidates[{n}]."
    if not isinstance(given, dict):
        raise record.error(where[:-1], f"is {type(given).__name__}", "give one object a candidate")
    _known(record, given, Candidate._fields, where)
    place = f"{_at(record)} {where}"
    label, grade, role, bundles, span = (given[name] for name in ("label", "grade", "role", "bundles", "span"))
    if label not in LABELS:
        raise record.error(f"{where}label", f"is {label!r}", f"use one of {', '.join(LABELS)}")
    if (label == "uncertain") != (grade is None):
        mend = "an uncertain label has grade null and never 0: it would become a judgement" if label == "uncertain" else "give a grade, or label it uncertain"
        raise record.error(f"{where}grade", f"is {grade!r} under label {label!r}", mend)
    if grade is not None and not (is_whole(grade) and 0 <= grade <= HIGHEST):
        raise record.error(f"{where}grade", f"is {grade!r}", f"use a whole number from 0 to {HIGHEST}, or null")
    if grade is not None and not GRADES[label][0] <= grade <= GRADES[label][1]:
        raise record.error(f"{where}grade", f"is {grade} under label {label!r}", f"{label} has a grade from {GRADES[label][0]} to {GRADES[label][1]}")
    if not isinstance(bundles, list) or (label == "bundle") and not bundles:
        raise record.error(
            f"{where}bundles", f"is {bundles!r} under label {label!r}", "give a list of bundle names; a passage labelled bundle belongs to one at least"
        )
    role = _role(one_text(role, f"{place}role"), record, f"{where}role")
    if label in EVIDENCE and role is not None and role not in roles:
        raise record.error(f"{where}role", f"is {role!r}", f"the record asks for {', '.join(roles) or 'no role'}; name one of these, or add it to roles")
    if span is not None and not (isinstance(span, list) and len(span) == 2 and all(map(is_whole, span)) and 0 <= span[0] <= span[1]):
        raise record.error(f"{where}span", f"is {span!r}", "give [first, last] sentence, from 0, or null for the whole passage")
    dated = day(given["date"], f"{place}date")
    if dated is None:
        raise record.error(f"{where}date", "is missing", "say on which day it was judged: labels age")
    return Candidate(
        identifier(given["doc_id"], f"{place}doc_id"),
        one_text(given["section"], f"{place}section"),
        None if span is None else (int(span[0]), int(span[1])),
        label,
        None if grade is None else int(grade),
        role,
        tuple(identifier(b, f"{place}bundles") for b in bundles),
        identifier(given["assessor"], f"{place}assessor"),
        dated,
        one_text(given["note"], f"{place}note"),
    )


def as_json(one: Judgement) -> dict:
    """A record as its JSON object, fields in their fixed order."""
    return {"schema": SCHEMA} | one._asdict() | {"roles": dict(one.roles), "candidates": [c._asdict() for c in one.candidates]}


def as_lines(made: Iterable[Judgement], path: str | Path = "records") -> str:
    """Records as JSON lines, by qid, candidates as given; each is checked as ``read`` would, so that what is written can be read."""
    lines = [json.dumps(as_json(one), ensure_ascii=False) for one in sorted(made, key=lambda one: one.qid)]
    for n, line in enumerate(lines, 1):
        judgement(Record(str(path), n, json.loads(line)))
    return "".join(f"{line}\n" for line in lines)


def write(path: str | Path, made: Iterable[Judgement]) -> Path:
    """Write records in one step; raises DataError as ``read`` does."""
    text = as_lines(made, path)
    return tables.write_atomically(Path(path), lambda p: Path(p).write_text(text, encoding="utf-8", newline="\n"))
