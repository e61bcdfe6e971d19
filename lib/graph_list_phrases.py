"""What a passage says as phrases and relations between them: the nodes and edges of the graph list H (document 002; SPEC 10)."""
from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from lib import ace_entities
from lib import text as words_of
from lib.ace_clauses import PRONOUNS

LONGEST = 12  # words of a phrase: a longer noun phrase is a clause that the parser swallowed
_PRONOUN = {word for words in PRONOUNS.values() for word in words} | {"who", "which", "i", "we", "you", "him", "them"}


class Said(NamedTuple):
    """A passage's phrases (normalised), which of them are names, and its triples (subject, relation, object)."""

    phrases: frozenset[str]
    names: frozenset[str]
    triples: tuple[tuple[str, str, str], ...]


def forms(title: str) -> list[str]:
    """How a title is keyed: without and with what stands in brackets.

    >>> forms("The Ride (1994 film)"), forms("Marl")
    (['ride', 'ride 1994 film'], ['marl'])
    """
    whole = ace_entities.normalised(re.sub(r"[()]", " ", title))
    return [f for f in dict.fromkeys([ace_entities.normalised(title), whole]) if f]


def said(title: str, text: str, parse: Mapping, topic: bool = True) -> Said:
    """Phrases and triples of a passage from its parse (``graph_list_parse``).

    A short name stands for the one longer name of its passage that ends in it. With ``topic``, a pronoun or "the" with a common noun as a subject stands
    for the title.

    >>> said("Marl", "It ends in Aumes.", {"phrases": [[11, 16]], "triples": [[0, 2, "ends in", 11, 16]]}).triples
    (('marl', 'ends in', 'aumes'),)
    """
    about = forms(title)
    surfaces = {(a, b): text[a:b] for a, b in [*parse["phrases"], *(half for t in parse["triples"] for half in (t[:2], t[3:]))]}
    plain = {span: ace_entities.normalised(s) for span, s in surfaces.items()}
    named = {plain[span] for span, s in surfaces.items() if is_name(s)}
    long = ace_entities.aliases([*named, *about[:1]])
    key = {span: long.get(p, p) if p in named else p for span, p in plain.items()}
    subject = {span: about[0] if topic and about and stands_for_topic(s) else key[span] for span, s in surfaces.items()}
    triples = [(subject[a, b], relation, key[c, d]) for a, b, relation, c, d in parse["triples"]]
    triples = [t for t in triples if t[0] != t[2] and is_phrase(t[0]) and is_phrase(t[2])]
    phrases = {*about, *(key[a, b] for a, b in parse["phrases"]), *(end for t in triples for end in (t[0], t[2]))}
    return Said(frozenset(filter(is_phrase, phrases)), frozenset([*about, *(long.get(n, n) for n in named if is_phrase(n))]), tuple(dict.fromkeys(triples)))


def is_name(surface: str) -> bool:
    """Whether a phrase begins, its article aside, with a capital.

    >>> is_name("The Marl"), is_name("the river"), is_name("the art director Edda Vane")
    (True, False, False)
    """
    words = [w for w in re.findall(r"\w+", surface) if w.lower() not in ("the", "a", "an")]
    return bool(words) and words[0][0].isupper()


def stands_for_topic(surface: str) -> bool:
    """Whether a subject says nothing but "the one this passage is about": a pronoun, or "the" and common nouns.

    >>> stands_for_topic("It"), stands_for_topic("The old mill"), stands_for_topic("The Marl"), stands_for_topic("a clerk")
    (True, True, False, False)
    """
    words = surface.split()
    return surface.lower() in _PRONOUN or len(words) > 1 and words[0].lower() == "the" and surface[4:] == surface[4:].lower()


def is_phrase(key: str) -> bool:
    """Whether a normalised phrase can be a node: letters or digits, at least two characters, no bare pronoun, not endless.

    >>> is_phrase("marl"), is_phrase("it"), is_phrase("x")
    (True, False, False)
    """
    return len(key) > 1 and key not in _PRONOUN and len(key.split()) <= LONGEST and any(c.isalnum() for c in key)


def asked(question: str, parse: Mapping, known: Collection[str]) -> tuple[list[str], list[str]]:
    """(names of the question that are among the ``known`` names of the graph, names that are not), each in order, without repeats.

    The longest run of the question's words that is known wins: "The Ride (1994 film)" is that film and no other ride.
    """
    words = re.findall(r"\S+", re.sub(r"[()]", " ", question))
    capital = [_first(w).isupper() or _first(w).isdigit() for w in words]
    found, at = [], 0
    while at < len(words):
        runs = ((n, ace_entities.normalised(" ".join(words[at:at + n]))) for n in range(min(LONGEST, len(words) - at), 0, -1) if any(capital[at:at + n]))
        n, name = next(((n, key) for n, key in runs if key in known and words_of.content_terms(key)), (1, None))
        found += [name] if name else []
        at += n
    spelt = [ace_entities.normalised(question[a:b]) for a, b in parse["phrases"] if is_name(question[a:b])]
    inside = f" {' '.join(found)} "
    return list(dict.fromkeys(found)), [s for s in dict.fromkeys(spelt) if is_phrase(s) and s not in known and f" {s} " not in inside]


def _first(word: str) -> str:
    """The first letter or digit of a word."""
    return next((c for c in word if c.isalnum()), "")
