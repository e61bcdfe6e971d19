"""Claims of a passage and what introduces them: a claim that starts from "he" or a bare last name is shown after the claim that says who (SPEC 10).

A claim is a sentence or a clause, an exact span of its passage. Its introduction is an earlier claim of the same passage, so a
snippet depends on its passage alone and has the same text for every question.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from lib import ace_entities
from lib.ace_entities import Mention

INTRODUCED = ("person", "thing", "that", "alias")  # kinds of subject that are shown after their introduction


class Claim(NamedTuple):
    """[start, end) of the passage; the kind of subject and where it stands; the place of the claim that introduces it, or None."""

    start: int
    end: int
    kind: str
    subject: tuple[int, int]
    introduced_by: int | None


class Passage(NamedTuple):
    """One document as claims, with the phrases of its text that may name something ([start, end, label])."""

    dataset: str
    doc_id: str
    title: str
    text: str
    claims: tuple[Claim, ...]
    names: list


class Part(NamedTuple):
    """A span [start, end) of a passage as it stands in a snippet; role ``introduction`` or ``claim``."""

    role: str
    start: int
    end: int


def passages(documents: pd.DataFrame, parsed: Sequence[dict], introduced: Sequence[str] = INTRODUCED) -> dict[str, Passage]:
    """doc_id -> its claims; ``parsed`` is from ``ace_parse.parses``, ``introduced`` says which kinds of subject are shown with an introduction.

    Raises ValueError for a kind there is not, a doc_id that repeats, or unless there is one parse a document.
    """
    if unknown := set(introduced) - {*INTRODUCED, "definite"}:
        raise ValueError(f"introduced must be kinds of subject out of person, thing, that, alias, definite, got {sorted(unknown)}")
    if len(parsed) != len(documents):
        raise ValueError(f"{len(documents)} documents need as many parses, got {len(parsed)}")
    if documents["doc_id"].duplicated().any():
        raise ValueError(f"doc_id {documents['doc_id'][documents['doc_id'].duplicated()].iat[0]!r} names two documents; take one data set at a time")
    return {d.doc_id: _passage(d, p, introduced) for d, p in zip(documents.itertuples(), parsed)}


def _passage(d, parse: dict, introduced: Sequence[str]) -> Passage:
    named = ace_entities.mentions(d.text, parse["names"], [d.title])
    topic = ace_entities.normalised(d.title)
    long = ace_entities.aliases([*(m.name for m in named), topic])
    claims: list[Claim] = []
    for start, end, kind, a, b in parse["claims"]:
        inside = {m.name for m in named if start <= m.start < end}
        bare = next((m.name for m in named if kind == "name" and a <= m.start < b and m.name in long and long[m.name] not in inside), None)
        kind = "alias" if bare else kind
        by = _introduction(claims, kind, long.get(bare or "", topic), inside, named) if kind in introduced else None
        claims.append(Claim(start, end, kind, (a, b), by))
    return Passage(d.dataset, d.doc_id, d.title, d.text, tuple(claims), parse["names"])


def _introduction(before: list[Claim], kind: str, about: str, inside: set[str], named: list[Mention]) -> int | None:
    """Which of the claims ``before`` introduces a subject of this kind; None where there is none, or the claim itself says who.

    he, she: the nearest earlier claim with a named subject (or what introduced that one); this, that, these, those: the claim before; it,
    they, "the" and a noun: the first claim that names the passage's topic, else its first claim; a bare alias: the first with the full name.
    """
    if not before or about in inside:
        return None
    if kind == "that":
        return len(before) - 1
    first = next((j for j, c in enumerate(before) if any(m.name == about and c.start <= m.start < c.end for m in named)), 0)
    if kind != "person":
        return first
    for j in range(len(before) - 1, -1, -1):
        if before[j].kind in ("person", "alias"):
            return j if before[j].introduced_by is None else before[j].introduced_by
        if before[j].kind == "name":
            return j
    return first


def parts(passage: Passage, place: int) -> list[Part]:
    """The spans whose texts, one after the other, are the snippet of claim ``place``: every character is the source's.

    The introduction brings the joint that follows it in the source (a space, or ", and "), so neighbours are one run of text. A claim stands
    alone where that joint has no white space ("Rome.Next") and some text would be left out.
    """
    claim, text = passage.claims[place], passage.text
    alone = [Part("claim", claim.start, claim.end)]
    if claim.introduced_by is None:
        return alone
    start, end = passage.claims[claim.introduced_by].start, passage.claims[claim.introduced_by + 1].start
    return [Part("introduction", start, end), *alone] if text[end - 1].isspace() or end == claim.start else alone


def snippet(passage: Passage, place: int) -> str:
    """The text of a claim with its introduction."""
    return "".join(passage.text[p.start:p.end] for p in parts(passage, place))
