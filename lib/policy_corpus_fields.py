"""The fields of the policy corpus's three files, each with what it may hold; what it may not is one error with file, line, field and mend (SPEC 1)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date

from lib.records import Record
from lib.viability_ids import one_text

SOURCES = ("policy", "procedure", "faq", "notice", "minutes")
KINDS = ("body", "appendix", "footnote", "table")
SLICES = ("identifier", "paraphrase", "exclusion", "temporal", "multi_evidence")
LABELS = ("topical", "supportive", "contradictory", "bundle", "uncertain")
ROLES = ("operative", "procedure", "exception")
STATES = ("superseded", "not_yet_effective", "expired", "archived", "not_permitted", "wrong_region")  # that disqualify a source
HIGHEST = 3  # of grades and of authority
Check = Callable[[object], str | None]  # what is wrong with a value, or None


def text(value: object) -> str | None:
    """
    >>> text("ebb"), text(" "), text(float("nan"))
    (None, 'is empty', 'is float nan')
    """
    if not isinstance(value, str):
        return f"is {type(value).__name__} {str(value)[:40]}"
    return None if one_text(value, "text") else "is empty"


def identifier(value: object) -> str | None:
    """An id of a document or section: a text without ``#``, which parts the two where they stand together, and without white space at its ends.

    >>> identifier("hr-14-v1"), identifier("a#b"), identifier(" a")
    (None, "is 'a#b', an id with '#'", "is ' a', an id with white space at an end")
    """
    if said := text(value):
        return said
    wrong = "'#'" if "#" in value else "white space at an end" if value != value.strip() else None
    return f"is {value[:40]!r}, an id with {wrong}" if wrong else None


def day(value: object) -> str | None:
    """
    >>> day("2026-02-30")
    "is '2026-02-30', no day"
    """
    try:
        whole = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        whole = False
    return None if whole else f"is {str(value)[:40]!r}, no day"


def one_of(names: Sequence[str]) -> Check:
    """A check for one of several names."""
    return lambda value: None if isinstance(value, str) and value in names else f"is {str(value)[:40]!r}, not one of {', '.join(names)}"


def optional(check: Check) -> Check:
    """The same check, but null may stand, too."""
    return lambda value: None if value is None else check(value)


def listed(check: Check, least: int = 1) -> Check:
    """A list of at least ``least`` different values that all pass the check."""

    def found(value: object) -> str | None:
        if not isinstance(value, list) or len(value) < least:
            return f"is {str(value)[:40]!r}, no list of {least} or more"
        wrong = next((f"holds one that {said}" for v in value if (said := check(v))), None)
        return wrong or ("names one twice" if len({str(v) for v in value}) < len(value) else None)

    return found


def whole(value: object) -> str | None:
    """A whole number from 0 to ``HIGHEST``."""
    return None if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST else f"is {value!r}, no whole number from 0 to {HIGHEST}"


def truth(value: object) -> str | None:
    return None if isinstance(value, bool) else f"is {value!r}, neither true nor false"


def span(value: object) -> str | None:
    """First and last sentence, from 0, inclusive."""
    numbers = isinstance(value, list) and len(value) == 2 and all(isinstance(v, int) and not isinstance(v, bool) for v in value)
    return None if numbers and 0 <= value[0] <= value[1] else f"is {str(value)[:40]!r}, not [first, last] with 0 <= first <= last"


def section(value: object) -> str | None:
    """One section: its four fields, all good."""
    if not isinstance(value, dict) or set(value) != set(SECTION):
        return f"is no object of {', '.join(SECTION)}"
    return next((f"has a {name} that {said}" for name, check in SECTION.items() if (said := check(value[name]))), None)


def sections(value: object) -> str | None:
    """A list of sections with different ids."""
    if said := listed(section)(value):
        return said
    ids = [s["section_id"] for s in value]
    return f"holds section_id {max(ids, key=ids.count)!r} twice" if len(set(ids)) < len(ids) else None


SECTION: dict[str, Check] = {"section_id": identifier, "heading": text, "kind": one_of(KINDS), "sentences": listed(text)}
DOCUMENT: dict[str, Check] = {
    "doc_id": identifier, "family": text, "identifier": text, "title": text, "source_type": one_of(SOURCES), "authority": whole, "effective_from": day,
    "effective_to": optional(day), "jurisdiction": text, "entitlement": text, "superseded_by": optional(text), "archived": truth, "sections": sections}
QUESTION: dict[str, Check] = {
    "qid": text, "question": text, "slice": one_of(SLICES), "asked_on": day, "jurisdiction": text, "entitlement": text, "answers": listed(text),
    "question_type": one_of(("span", "yesno")), "operative_claim": text, "roles": listed(one_of(ROLES)), "acceptable_sources": listed(one_of(SOURCES)),
    "effective": text, "disqualifying": listed(one_of(STATES), 0), "instruction": optional(text)}
JUDGEMENT: dict[str, Check] = {
    "qid": text, "doc_id": text, "section_id": text, "sentences": span, "label": one_of(LABELS), "role": optional(one_of(ROLES)),
    "bundles": listed(text, 0), "grade": optional(whole), "note": text}


def checked(record: Record, fields: Mapping[str, Check]) -> Record:
    """The record as it is; raises DataError for a field that is missing, unknown or holds what it may not."""
    if unknown := sorted(set(record.fields) - set(fields)):
        raise record.error(unknown[0], "is unknown", f"name the fields {', '.join(fields)}")
    for name, check in fields.items():
        if name not in record.fields:
            raise record.error(name, "is missing", "write null where a field has no value")
        try:
            said = check(record.fields[name])
        except ValueError as error:  # half a sign: no text that a file can hold
            raise record.error(name, str(error), "write whole characters") from None
        if said:
            raise record.error(name, said, "mend it as the data card says")
    return record


def no_repeat(found: Sequence[Record], key: Sequence[str]) -> None:
    """Raises DataError where two records share a key."""
    seen: dict[tuple, int] = {}
    for record in found:
        name = tuple(record.fields[k] for k in key)
        if name in seen:
            raise record.error(key[-1], f"{' '.join(name)!r} stands in line {seen[name]} already", "give each its own, or drop one")
        seen[name] = record.line
