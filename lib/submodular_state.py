"""What the four-term objective remembers of a set that grows: mass a document, terms covered, similarity held, and the gains of every candidate.

Relevance, query coverage and document diversity are brought up to date for all candidates at each pick, which costs little. The saturated coverage is
what costs: n numbers for each candidate. It is brought up to date only where asked, and until then an old gain bounds the new one from above,
because gains only fall (Minoux 1978). Sums run in the order of the candidates whichever way they are made, so that a gain has the same bits in all of them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lib.submodular import Objective

AT_ONCE = 32_768  # numbers of a block that the processor keeps at hand


class State:
    """F's memory of ``chosen``, candidates (indices) in the order added. ``raw`` (4, n): gains of the four terms, unscaled; the third may be old
    where ``fresh`` (n,) is False.

    >>> from lib.submodular import objective
    >>> state = State(objective([.5, .5], np.ones((2, 1), bool), np.eye(2), [0, 1]))
    >>> state.add(0)
    >>> state.renew().gains().round(6).tolist()[1]
    0.85
    """

    def __init__(self, f: Objective):
        n = len(f.relevance)
        self.f, self.chosen, self.held = f, [], np.zeros(n)
        self.mass, self.covered = np.zeros(f.document.max(initial=-1) + 1), np.zeros(f.terms.shape[1], bool)
        self.fresh = np.zeros(n, bool)
        self.raw = np.empty((4, n))
        self.raw[0], self.raw[1], self.raw[2] = f.relevance, np.count_nonzero(f.terms, axis=1), np.inf
        np.sqrt(f.relevance, out=self.raw[3])
        self.divide = np.where(f.scales > 0, f.scales, np.inf)[:, None]  # 0/0 = 0

    def copy(self) -> State:
        """A second memory of the same set, to be continued in another way."""
        other = object.__new__(State)
        vars(other).update(vars(self), chosen=self.chosen.copy(), held=self.held.copy(), mass=self.mass.copy(), covered=self.covered.copy(),
                           fresh=self.fresh.copy(), raw=self.raw.copy())
        return other

    def add(self, i: int) -> None:
        """Take candidate ``i``; the gains of the saturated coverage are old from now on."""
        f, d = self.f, self.f.document[i]
        self.chosen.append(i)
        new = f.terms[i] & ~self.covered
        if new.any():
            self.raw[1] -= np.count_nonzero(f.terms[:, new], axis=1)
            self.covered |= new
        self.mass[d] += f.relevance[i]
        same = np.flatnonzero(f.document == d)
        self.raw[3, same] = np.sqrt(self.mass[d] + f.relevance[same]) - np.sqrt(self.mass[d])
        _hold(f.similarity, self.held, i)
        self.fresh[:] = False

    def renew(self, some: np.ndarray | None = None) -> State:
        """Bring the saturated coverage of the candidates ``some`` (indices; None: all) up to date."""
        self.raw[2, slice(None) if some is None else some] = coverage(self.f, self.held, some)
        self.fresh[slice(None) if some is None else some] = True
        return self

    def gains(self) -> np.ndarray:
        """Weighted, scaled gain of every candidate; a bound from above where not fresh; of those chosen meaningless. Shape (n,)."""
        return self.f.weights @ (self.raw / self.divide)


def _hold(similarity, held: np.ndarray, i: int) -> None:
    if isinstance(similarity, np.ndarray):
        held += similarity[:, i]
    else:
        span = slice(similarity.indptr[i], similarity.indptr[i + 1])
        held[similarity.indices[span]] += similarity.data[span]


def coverage(f: Objective, held: np.ndarray, some: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
    """What each candidate (None: all, else those with the indices ``some``) would add to the saturated coverage. Shape (n,) or (len(some),).

    Similarities are an array (n, n) or sparse columns (n, n), where only what is stored is looked at.
    """
    if not isinstance(f.similarity, np.ndarray):
        return _sparse_coverage(f, held, some)
    base = np.minimum(held, f.saturation)
    if some is None:
        return _whole(f.similarity, held, f.saturation, base)
    return np.array([_column(f.similarity[:, j], held, f.saturation, base) for j in some])


def _column(near: np.ndarray, held: np.ndarray, saturation: np.ndarray, base: np.ndarray) -> float:
    new = np.minimum(held + near, saturation)
    new -= base
    return np.add.accumulate(new)[-1]  # one after the other, as down the columns of a block


def _whole(similarity: np.ndarray, held: np.ndarray, saturation: np.ndarray, base: np.ndarray) -> np.ndarray:
    """All columns, a block of rows at a time; the sum so far is the first row of the next block, so the order of the sum is that of the rows."""
    n = len(held)
    rows = max(1, AT_ONCE // max(n, 1))
    if rows >= n:
        new = held[:, None] + similarity
        np.minimum(new, saturation[:, None], out=new)
        new -= base[:, None]
        return new.sum(axis=0)
    block = np.zeros((rows + 1, n))
    for at in range(0, n, rows):
        span = slice(at, min(at + rows, n))
        new = block[1:span.stop - at + 1]
        np.add(held[span, None], similarity[span], out=new)
        np.minimum(new, saturation[span, None], out=new)
        new -= base[span, None]
        block[0] = block[:span.stop - at + 1].sum(axis=0)
    return block[0].copy()


def _sparse_coverage(f: Objective, held: np.ndarray, some) -> np.ndarray:
    s = f.similarity
    if some is None:
        at, new = s.indices, s.data
        new = np.minimum(held[at] + new, f.saturation[at]) - np.minimum(held[at], f.saturation[at])
        return np.bincount(np.repeat(np.arange(s.shape[1]), np.diff(s.indptr)), new, s.shape[1])
    spans = [slice(s.indptr[j], s.indptr[j + 1]) for j in some]
    at, new = np.concatenate([s.indices[x] for x in spans]), np.concatenate([s.data[x] for x in spans])
    new = np.minimum(held[at] + new, f.saturation[at]) - np.minimum(held[at], f.saturation[at])
    return np.bincount(np.repeat(np.arange(len(spans)), [x.stop - x.start for x in spans]), new, len(spans))
