"""The bare bones of a generated world: which things there are, how they are named, and which things their relations lead to.

Every part draws from its own stream of the seed, one row a thing or a question, so that more questions or another dial move nothing else.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lib.worlds_kinds import ENDINGS, GIVEN, KINDS, MIDDLES, ONSETS, TAKEN, THIRD, VOWELS
from lib.worlds_relations import LEAVES, LINKS, Relation

PARTS = ("stems", "groups", "links", "traits", "veils", "names", "ids", "wording", "chains", "asked", "pools", "repeats", "retold")
# append only: a part's place is its stream
KIND_NAMES = tuple(KINDS)
OUT = {k: [i for i, r in enumerate(LINKS) if r.source == k] for k in KINDS}     # two links lead out of each kind
INTO = {k: [i for i, r in enumerate(LINKS) if r.target == k] for k in KINDS}    # and two into it
ASKED = {k: [i for i, r in enumerate(LEAVES) if r.source == k] for k in KINDS}  # two answers a thing
NAMESAKES = 3  # things that share a stem: Orsa Brelvax, Brelvax Hall, the Brelvax


@dataclass(frozen=True)
class World:
    """``n`` things of each kind, N in all, told by number: first all people, then all towns, and so on.

    group (N,) of namesakes, mates (N, 2) the others in it; noun, trait (N,) places in the kind's lists; veil (N,) [0, 1) above which surfacing
    opens its passage; she (N,) bool; target (N, 2) and source (N, 2) things that its links lead to and come from; names as sentences have
    them; leaves, the two answers only its passage holds; ids of its passage, which tell nothing.
    """

    seed: int
    n: int
    group: np.ndarray
    mates: np.ndarray
    noun: np.ndarray
    trait: np.ndarray
    veil: np.ndarray
    she: np.ndarray
    target: np.ndarray
    source: np.ndarray
    names: list[str]
    leaves: list[tuple[str, str]]
    ids: np.ndarray

    @property
    def size(self) -> int:
        return len(self.names)

    def kind(self, thing: int) -> str:
        return KIND_NAMES[thing // self.n]


def stream(seed: int, part: str, *version: int) -> np.random.Generator:
    """The random stream of one part of a world, or of one version of it."""
    return np.random.default_rng(np.random.SeedSequence(entropy=int(seed), spawn_key=(PARTS.index(part), *version)))


def stems(seed: int, n: int) -> list[str]:
    """``n`` distinct invented names: of two syllables, and where these run out the same with a third; raises ValueError for more than there are.

    >>> len(set(stems(0, 1000))), stems(0, 120_000)[:3] == stems(0, 3)
    (1000, True)
    """
    parts = (ONSETS, VOWELS, MIDDLES, VOWELS, ENDINGS)
    sizes = tuple(map(len, parts))
    drawn = np.unravel_index(stream(seed, "stems").permutation(math.prod(sizes))[:n + len(TAKEN)], sizes)
    made = ("".join(part[i] for part, i in zip(parts, row)) for row in zip(*drawn))
    free = [name.capitalize() for name in made if name not in TAKEN]
    most = (math.prod(sizes) - len(TAKEN)) * (1 + len(THIRD))
    if n > most:
        raise ValueError(f"a world of that size needs {n} distinct names and there are {most}; ask for fewer documents")
    return [free[i % len(free)] + ("" if i < len(free) else THIRD[i // len(free) - 1]) for i in range(n)]


def build(seed: int, documents: int) -> World:
    """The world of one seed and size, the same for every dial and every number of questions."""
    n, members = documents // len(KINDS), stream(seed, "groups").permutation(documents).reshape(-1, NAMESAKES)
    group, mates = np.empty(documents, int), np.empty((documents, NAMESAKES - 1), int)
    for place in range(NAMESAKES):
        group[members[:, place]] = np.arange(len(members))
        mates[members[:, place]] = np.delete(members, place, axis=1)
    choices = np.repeat([[len(k.nouns), len(k.traits), 2] for k in KINDS.values()], n, axis=0)
    noun, trait, she = (stream(seed, "traits").random((documents, 3)) * choices).astype(int).T
    names, leaves = _named(seed, n, members)
    target, source = _linked(seed, n)
    ids = np.array([f"d{i:06d}" for i in stream(seed, "ids").permutation(documents)], object)
    return World(seed, n, group, mates, noun, trait, stream(seed, "veils").random(documents), she == 1, target, source, names, leaves, ids)


def _named(seed: int, n: int, members: np.ndarray) -> tuple[list[str], list[tuple[str, str]]]:
    """Names of all things (namesakes share a stem and differ in form), and of the two answers each holds (a stem of its own each)."""
    documents = members.size
    pool = stems(seed, len(members) + 2 * documents)
    shared, own = pool[:len(members)], pool[len(members):]
    drawn, names = stream(seed, "names").integers(2**31, size=(documents, 5)).tolist(), [""] * documents
    for stem, things in zip(shared, members.tolist()):
        for place, thing in enumerate(things):
            forms, at = KINDS[KIND_NAMES[thing // n]].names, drawn[things[0]][0] + place
            names[thing] = forms[at % len(forms)].format(g=GIVEN[at % len(GIVEN)], s=stem)
    leaves = []
    for thing, (_, *form) in enumerate(drawn):
        first, second = (LEAVES[i] for i in ASKED[KIND_NAMES[thing // n]])
        leaves.append((_value(first, own[2 * thing], *form[:2]), _value(second, own[2 * thing + 1], *form[2:])))
    return names, leaves


def _value(relation: Relation, stem: str, form: int, given: int) -> str:
    return relation.values[form % len(relation.values)].format(g=GIVEN[given % len(GIVEN)], s=stem)


def _linked(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the two links of each thing lead and whence the two into it come, (N, 2) each: every relation pairs off all of two kinds."""
    target, source, draws = np.empty((len(KINDS) * n, 2), int), np.empty((len(KINDS) * n, 2), int), stream(seed, "links")
    start, every = {k: i * n for i, k in enumerate(KIND_NAMES)}, np.arange(n)
    for i, r in enumerate(LINKS):
        to = draws.permutation(n)
        target[start[r.source] + every, OUT[r.source].index(i)] = start[r.target] + to
        source[start[r.target] + to, INTO[r.target].index(i)] = start[r.source] + every
    return target, source
