"""What can be asked of a generated world: chains of passages, and the passages that are easily taken for theirs."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lib.worlds_graph import INTO, KIND_NAMES, World, stream

MOST_HOPS = 4
WAYS = 2 ** (MOST_HOPS - 1)  # ways to walk three links back from a passage: two links lead into each


@dataclass(frozen=True)
class Chains:
    """things (m, hops), from the one a question names to the one whose passage holds the answer; links (m, hops - 1), places in LINKS; leaf (m,),
    which of the last thing's two answers is asked for."""

    things: np.ndarray
    links: np.ndarray
    leaf: np.ndarray

    def first(self, n: int) -> Chains:
        return Chains(self.things[:n], self.links[:n], self.leaf[:n])


def chains(world: World, hops: int) -> Chains:
    """Every chain of ``hops`` passages, in the order asked: question i has the same answer at every number of hops.

    Drawn backwards from the answers, all answers once before any comes again by another way. Left out, at every number of hops alike, are
    chains of which a later passage shares a stem with an earlier thing or tells a link to its namesake: there the question would name what is veiled.
    """
    draws, n_answers, rounds = stream(world.seed, "chains"), 2 * world.size, 2 ** (hops - 1)
    answers, start = draws.permutation(n_answers), draws.integers(WAYS, size=n_answers)
    asked = np.tile(answers, rounds)
    way = (start[asked] + np.repeat(np.arange(rounds), n_answers)) % WAYS  # its lowest bits say which way to walk, one a step
    back, links, into = [asked // 2], [], np.array([INTO[k] for k in KIND_NAMES])
    for step in range(MOST_HOPS - 1):
        turn, here = (way >> step) & 1, back[-1]
        links.append(into[here // world.n, turn])
        back.append(world.source[here, turn])
    clean = np.ones(len(asked), bool)
    for early in range(1, MOST_HOPS):
        for late in range(early):
            said = np.column_stack([back[late], world.target[back[late]]])
            clean &= (world.group[said] != world.group[back[early]][:, None]).all(axis=1)
    things = np.column_stack(back[:hops][::-1])
    return Chains(things[clean], np.array(links[:hops - 1][::-1], int).reshape(hops - 1, len(asked)).T[clean], (asked % 2)[clean])


def own_pools(world: World, found: Chains, size: int) -> list[list[int]]:
    """``size`` passages a question: its chain, then what is easily taken for it. Told by the graph alone, so no dial and no ranker has a say.

    First, at every number of hops, the namesakes of the thing named and things of the answer's kind, with its noun, its trait or neither; then, as far as
    there is room, what resembles the bridge, where other links lead, the rest by chance.
    """
    first, last, bridge = found.things[:, 0], found.things[:, -1], found.things[:, min(1, found.things.shape[1] - 1)]
    kind = np.arange(world.size) // world.n
    noun, trait, same = _alike(kind * 100 + world.noun), _alike(kind * 100 + world.trait), _alike(kind)
    u = stream(world.seed, "pools").random((len(first), 24))
    always = [noun(last, u[:, 0]), *world.mates[first].T, trait(last, u[:, 1]), same(last, u[:, 2]), world.target[first, 0]]  # 6, for chains of up to 4
    often = [noun(bridge, u[:, 3]), world.target[last, 0], trait(bridge, u[:, 4]), same(last, u[:, 5]), world.target[first, 1], world.mates[last, 0]]
    near = [*always, *often, *(u[:, 6:] * world.size).astype(int).T]
    rows = np.column_stack([found.things, *near]).tolist()
    return [list(dict.fromkeys(row + [(row[0] + i) % world.size for i in range(2 * size)]))[:size] for row in rows]


def _alike(key: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function that draws, for things (m,) and uniforms (m,), a thing with the same key."""
    order = np.argsort(key, kind="stable")
    _, place, count = np.unique(key, return_inverse=True, return_counts=True)
    start = np.cumsum(count) - count
    return lambda things, u: order[start[place[things]] + (u * count[place[things]]).astype(int)]
