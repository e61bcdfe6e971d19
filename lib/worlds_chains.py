"""What can be asked of a generated world: chains of passages, and the passages that are easily taken for theirs."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lib.worlds_graph import INTO, KIND_NAMES, World, stream
from lib.worlds_relations import LINKS

MOST_HOPS = 4
CODES = np.arange(2 ** (MOST_HOPS - 1))  # ways to walk three links back from a passage: a bit a step says by which of the two links into it
ROUNDS = {1: 1, 2: 2, 3: 2, 4: 4}        # how many chains of so many passages are asked for one answer


def _walk(kind: str, code: int) -> list[str]:
    kinds = [kind]
    for step in range(MOST_HOPS - 1):
        kinds.append(LINKS[INTO[kinds[-1]][(code >> step) & 1]].source)
    return kinds


# four of the eight walks from any kind meet no kind twice; among them are both last steps
VALID = np.array([[len(set(_walk(kind, code))) == MOST_HOPS for code in CODES.tolist()] for kind in KIND_NAMES])


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

    Drawn backwards from the answers, all answers once before any comes again by another way. No chain meets a kind twice: else a longer question
    would use more words of the answer's passage. Left out, at every number of hops alike, are chains of which a later passage shares a stem with
    an earlier thing or tells a link to its namesake: there the question would name what is veiled.
    """
    answers, ways = _drawn(world)
    asked, way = np.tile(answers, ROUNDS[hops]), ways[:, :ROUNDS[hops]].T.ravel()
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


def _drawn(world: World) -> tuple[np.ndarray, np.ndarray]:
    """All answers in the order asked, thing times two plus place, (2N,); and the codes of each one's four ways, (2N, 4), the second by another last link."""
    draws = stream(world.seed, "chains")
    answers = draws.permutation(2 * world.size)
    keys = np.where(VALID[answers // 2 // world.n], draws.random((2 * world.size, len(CODES))), np.inf)
    first = keys.argmin(axis=1)
    keys += CODES % 2 == first[:, None] % 2
    keys[np.arange(len(first)), first] = -1
    return answers, CODES[keys.argsort(axis=1)[:, :ROUNDS[MOST_HOPS]]]


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
