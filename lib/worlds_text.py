"""A generated world in English: one paragraph a thing, one question a chain."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lib.worlds_chains import Chains
from lib.worlds_graph import ASKED, OUT, World, stream
from lib.worlds_kinds import KINDS, VOUCHED
from lib.worlds_relations import LEAVES, LINKS, Relation

PARAPHRASED = 0.5  # share of facts told in words that no question uses, where no dial says otherwise
POSITIONS = ("early", "middle", "late")  # a passage's two answers before its two links, between them, after them; "drawn": as it comes
PAIRED = 0.4       # share of passages whose four facts make two sentences instead of three
NAMED = 0.5        # share of sentences about the subject that say its name
PERSON = {True: ("she", "her", "her"), False: ("he", "his", "him")}


class Paragraph(NamedTuple):
    """Title and text of one passage, with the [start, end] of each sentence."""

    title: str
    text: str
    sentences: list[list[int]]


def bare(name: str) -> str:
    """A name as a title or an answer: without its article.

    >>> bare("the House of Brelvax"), bare("The Road to Brelvax")
    ('House of Brelvax', 'The Road to Brelvax')
    """
    return name.removeprefix("the ")


def with_article(noun: str) -> str:
    """A noun with a or an; no noun or trait here begins with a silent h or a u that sounds like y.

    >>> with_article("octagonal granary")
    'an octagonal granary'
    """
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def called(world: World, thing: int) -> str:
    """What a question calls a thing that it does not name: trait and noun."""
    kind = KINDS[world.kind(thing)]
    return f"{kind.traits[world.trait[thing]][0]} {kind.nouns[world.noun[thing]]}"


def is_open(world: World, surfacing: float) -> np.ndarray:
    """Which passages call their subject what questions call it, (N,) bool; a higher ``surfacing`` opens more and closes none."""
    return world.veil < surfacing


def paragraphs(world: World, surfacing: float, position: str = "drawn", paraphrase: float = PARAPHRASED, version: int = 0,
               things: Sequence[int] | None = None) -> list[Paragraph]:
    """One paragraph a thing (all, or those of ``things``), of 4 or 5 sentences: what it is, two links, two answers, an aside.

    ``surfacing`` is known to the first sentence alone, ``position`` to the order of the facts, ``paraphrase`` to the choice of words. A ``version``
    of 1 or more tells the same facts anew: other words, order, tails and aside, the same name and kind of first sentence.
    """
    part = ("retold", version) if version else ("wording",)
    u, opened, out = stream(world.seed, *part).random((world.size, 32)), is_open(world, surfacing), []
    for thing in range(world.size) if things is None else things:
        row, kind = u[thing], world.kind(thing)
        facts = [(LINKS[i], world.names[t]) for i, t in zip(OUT[kind], world.target[thing])]
        facts += [(LEAVES[i], value) for i, value in zip(ASKED[kind], world.leaves[thing])]
        body = []
        for group in _groups(_order(row[1:5], position), row[5]):
            clauses = [_fact(world, thing, *facts[k], row[8 + 4 * k:12 + 4 * k], first=k == group[0], paraphrase=paraphrase) for k in group]
            body.append(_upper_first("; ".join(clauses)) + ".")
        body.insert(int(row[6] * (len(body) + 1)), _upper_first(_about(world, thing, _pick(KINDS[kind].asides, row[7]), row[24], first=True)))
        sentences = [_opening(world, thing, bool(opened[thing]), row[0], row[25]), *body]
        ends = np.cumsum([len(s) + 1 for s in sentences]) - 1
        spans = [[int(end) - len(s), int(end)] for s, end in zip(sentences, ends)]
        out.append(Paragraph(_upper_first(bare(world.names[thing])), " ".join(sentences), spans))
    return out


def questions(world: World, found: Chains) -> list[str]:
    """One question a chain; a link's phrase is drawn by its distance from the answer, so that more hops reword nothing near it."""
    u, out = stream(world.seed, "asked").random((len(found.leaf), 4)), []
    for things, links, leaf, row in zip(found.things.tolist(), found.links.tolist(), found.leaf.tolist(), u):
        phrase = world.names[things[0]]
        for step, (thing, link) in enumerate(zip(things[1:], links)):
            phrase = f"the {called(world, thing)} {_pick(LINKS[link].asked, row[len(links) - step]).format(x=phrase)}"
        out.append(_pick(LEAVES[ASKED[world.kind(things[-1])][leaf]].asked, row[0]).format(x=phrase))
    return out


def _opening(world: World, thing: int, opened: bool, u: float, v: float) -> str:
    """The first sentence. Describing takes some four tokens more than naming, so naming is vouched for: the dial should not move snippet borders."""
    kind = KINDS[world.kind(thing)]
    named, described = f"{_pick(VOUCHED, v)} {with_article(called(world, thing))}", f"{with_article(kind.generic)} {kind.traits[world.trait[thing]][1]}"
    return f"{_upper_first(world.names[thing])} {kind.be} {named if opened else described}{_pick(kind.settings, u)}."


def _order(u: np.ndarray, position: str) -> list[int]:
    """The four facts (links 0 and 1, answers 2 and 3) in the order drawn, or with the answers moved to a ``position`` among the links."""
    drawn = np.argsort(u, kind="stable").tolist()
    links, answers = [k for k in drawn if k < 2], [k for k in drawn if k >= 2]
    return {"early": answers + links, "middle": [links[0], *answers, links[1]], "late": links + answers}.get(position, drawn)


def _groups(order: list[int], u: float) -> list[list[int]]:
    """Four facts as sentences: two of two, or one of two at a place drawn and two of one."""
    if u < PAIRED:
        return [order[:2], order[2:]]
    at = int(3 * (u - PAIRED) / (1 - PAIRED))
    return [[k] for k in order[:at]] + [order[at:at + 2]] + [[k] for k in order[at + 2:]]


def _fact(world: World, thing: int, relation: Relation, value: str, u: np.ndarray, first: bool, paraphrase: float) -> str:
    """One fact of ``thing``, in the question's words or in others, with a tail."""
    wording = _pick(relation.other if u[0] < paraphrase else relation.plain, u[1]) + _pick(relation.tails, u[2])
    return _about(world, thing, wording, u[3], first, value)


def _about(world: World, thing: int, clause: str, u: float, first: bool, value: str = "") -> str:
    """``clause`` about ``thing``, which is called by its name, its kind or a pronoun; in a sentence's second half never by its name."""
    kind, name = world.kind(thing), world.names[thing]
    it, its, them = PERSON[bool(world.she[thing])] if kind == "person" else ("it", "its", "it")
    subject, owner = it, its
    if first and u < NAMED:
        subject, owner = name, name + ("'" if name.endswith("s") else "'s")
    elif kind != "person" and u < 0.8:
        subject, owner = f"the {KINDS[kind].generic}", f"the {KINDS[kind].generic}'s"
    return clause.format(It=subject, Its=owner, it=it, its=its, them=them, v=value)


def _pick(options: Sequence[str], u: float) -> str:
    return options[int(u * len(options))]


def _upper_first(clause: str) -> str:
    return clause[0].upper() + clause[1:]
