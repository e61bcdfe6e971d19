"""The claim/entity graph of the passages retrieved for one question: which claim names which entity, across documents (SPEC 10).

Passages come in first-stage order. An entity is keyed by its normalised name; whatever is resolved is resolved by a stated rule, and
a name that no rule resolves stays what it is.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from lib import ace_entities
from lib.ace_claims import Passage
from lib.ace_entities import Mention

ENTITIES = ["entity", "name", "label", "n_mentions", "n_claims", "n_documents"]


class Edge(NamedTuple):
    """Claim number ``claim`` of a document is about ``entity``: named in full at [start, end), by an ``alias``, or through its ``introduction``."""

    doc_id: str
    claim: int
    entity: str
    start: int
    end: int
    how: str
    label: str


def edges(passages: Sequence[Passage]) -> list[Edge]:
    """Every link of a claim to an entity, by document, claim and place."""
    titles = [p.title for p in passages]
    named = [ace_entities.mentions(p.text, p.names, titles) for p in passages]
    out = []
    for p, found, long in zip(passages, named, _resolved(passages, named)):
        topic = ace_entities.normalised(p.title)
        for place, claim in enumerate(p.claims):
            here = _inside(found, claim)
            for m in here:
                out.append(Edge(p.doc_id, place, long.get(m.name, m.name), m.start, m.end, "alias" if m.name in long and m.name != topic else "name", m.label))
            subject = None if claim.introduced_by is None else _subject(p, claim, found)
            if subject and (entity := long.get(subject.name, subject.name)) not in {long.get(m.name, m.name) for m in here}:
                out.append(Edge(p.doc_id, place, entity, *claim.subject, "introduction", subject.label))
    return out


def _inside(found: list[Mention], claim) -> list[Mention]:
    return [m for m in found if claim.start <= m.start < claim.end]


def _subject(p: Passage, claim, found: list[Mention]) -> Mention | None:
    """Whom the introduction of ``claim`` introduces: after "he" or a bare name its subject, else the topic of the passage, else what it names first."""
    intro, topic = p.claims[claim.introduced_by], ace_entities.normalised(p.title)
    here = _inside(found, intro)
    subject, about = [m for m in here if intro.subject[0] <= m.start < intro.subject[1]], [m for m in here if m.name == topic]
    ranked = [*subject, *about, *here] if claim.kind in ("person", "alias") else [*about, *subject, *here]
    return ranked[0] if ranked else None


def _resolved(passages: Sequence[Passage], named: list[list[Mention]]) -> list[dict[str, str]]:
    """For each passage, what its names stand for where that is another key.

    A short name is the one longer name of its own passage (or its title) that ends in it. A last name without such a one is the one person
    of the graph who bears it, unless it is a title. A title that two passages share is another thing in each.
    """
    topics = [ace_entities.normalised(p.title) for p in passages]
    shared = {t for t, n in Counter(topics).items() if n > 1}
    people = {m.name for found in named for m in found if m.label == "PERSON" and " " in m.name}
    bearers = defaultdict(set)
    for name in people:
        bearers[name.split()[-1]].add(name)
    out = []
    for k, (found, topic) in enumerate(zip(named, topics), 1):
        mine = {m.name for m in found}
        long = {s: min(bearers[s]) for s in mine if len(bearers.get(s, ())) == 1 and s not in topics and s not in people}
        long |= ace_entities.aliases(mine | {topic})
        if topic in shared:
            own = f"{topic} [{k}]"
            long = {s: own if n == topic else n for s, n in long.items()} | {topic: own}
        out.append(long)
    return out


def tables(passages: Sequence[Passage]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(entities, edges): ENTITIES with each entity's longest spelling, the recogniser's commonest label for it, and how often it is met; and all edges."""
    found = edges(passages)
    texts, groups = {p.doc_id: p.text for p in passages}, defaultdict(list)
    for e in found:
        groups[e.entity].append(e)
    rows = []
    for entity, group in sorted(groups.items()):
        spelt = [e for e in group if e.how != "introduction"] or group
        surfaces = {texts[e.doc_id][e.start:e.end] for e in spelt}
        kinds = Counter(e.label for e in spelt if e.label)
        rows.append((entity, max(surfaces, key=lambda s: (len(s), s)), max(kinds, key=lambda k: (kinds[k], k), default=""),
                     sum(e.how != "introduction" for e in group), len({e[:2] for e in group}), len({e.doc_id for e in group})))
    return pd.DataFrame(rows, columns=ENTITIES), pd.DataFrame(found, columns=Edge._fields)
