"""Rules on spaCy's tokens: the phrases of a passage, and who does what to whom as triples (document 002, list H; SPEC 10).

A triple is a subject, the words of the path from it, and an object: "The Marl was bridged by Edda Vane" gives (Marl, was bridged by, Edda Vane). Found by
the dependency parse alone, so an invented verb or name is no obstacle. What comes out are character offsets in the text.
"""
from __future__ import annotations

from collections.abc import Iterator

from lib import ace_clauses

SUBJECTS = ("nsubj", "nsubjpass")
STEPS = ("dobj", "attr", "oprd", "dative", "prep", "agent", "pobj", "xcomp", "appos", "conj", "acl")  # ways from a verb to what it says of its subject
DEEPEST = 4    # steps from the verb to an object: "was the son of the founder of X" needs four
NOMINAL = ("NOUN", "PROPN", "NUM", "PRON")
RELATIVE = ("who", "which", "that", "whom", "whose")


def spans(doc) -> list[list[int]]:
    """[start, end] of the phrases of ``doc``: what may name something (``ace_clauses.names``) and noun phrases, in order, each once."""
    chunks = [[c.start_char, c.end_char] for c in doc.noun_chunks if c.root.pos_ != "PRON"]
    return sorted(map(list, {(a, b) for a, b, *_ in [*ace_clauses.names(doc), *chunks]}))


def triples(doc) -> list[list]:
    """[subject start, subject end, relation, object start, object end] of every triple, in order; a subject may be a pronoun."""
    phrase = _phrases(doc)
    found: dict[tuple, str] = {}
    for verb in doc:
        for subject in _subjects(verb):
            for object_, path in _objects(verb, 0, (verb,)):
                if object_.pos_ != "PRON" and phrase[object_.i] != phrase[subject.i]:
                    found.setdefault((phrase[subject.i], phrase[object_.i]), " ".join(t.text for t in path))  # the first path is the shortest
    return [[*s, relation, *o] for (s, o), relation in found.items()]


def _phrases(doc) -> dict[int, tuple[int, int]]:
    """token -> the phrase it stands in: a name where one covers it, else its noun phrase, else itself."""
    out = {t.i: (t.idx, t.idx + len(t)) for t in doc}
    for chunk in doc.noun_chunks:
        out |= {t.i: (chunk.start_char, chunk.end_char) for t in chunk}
    for a, b, _ in ace_clauses.names(doc):
        out |= {t.i: (a, b) for t in doc if a <= t.idx < b}
    return out


def _subjects(verb) -> list:
    """Who a verb is said of: its own subjects (and those joined to them), or the noun that it modifies, or the subjects of the verb it is joined to."""
    own = [c for c in verb.children if c.dep_ in SUBJECTS and c.lower_ not in RELATIVE]
    if verb.dep_ in ("acl", "relcl") and not own:
        return [verb.head] if verb.head.pos_ in NOMINAL else []
    if verb.dep_ == "conj" and verb.pos_ in ("VERB", "AUX") and not own and verb.head is not verb:
        return _subjects(verb.head)
    return own + [c for subject in own for c in subject.children if c.dep_ == "conj"]


def _objects(token, depth: int, path: tuple) -> Iterator[tuple]:
    """What is reached from a verb, each with the tokens of its path; a verb that has a subject of its own, or is joined to this one, speaks for itself."""
    for child in token.children if depth < DEEPEST else ():
        if child.dep_ not in STEPS or child.pos_ in ("VERB", "AUX") and child.dep_ in ("conj", "acl"):
            continue
        if child.pos_ in NOMINAL and child.dep_ != "prep":
            yield child, path
        joined = child.dep_ in ("conj", "appos")  # a second object has the relation of the first
        yield from _objects(child, depth + (not joined), path if joined else (*path, child))
