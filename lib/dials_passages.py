"""The passages of a generated world as ranking and packing need them, made when first asked for, a bounded number of them held."""
from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import evidence, retrieval, worlds_text
from lib.worlds_graph import World

KEPT = 50_000  # passages held: some 300 MB with their snippets
Key = tuple[int, int]  # thing, version


class Whole(NamedTuple):
    """A passage before it is cut: its paragraph, what settles ties (a digest of what it says), its unit vector (d,)."""

    told: worlds_text.Paragraph
    tie: bytes
    vector: np.ndarray


class Cut(NamedTuple):
    """A passage cut: the texts of its snippets (s), their costs (s,) in tokens, their unit vectors (s, d)."""

    texts: list[str]
    costs: np.ndarray
    vectors: np.ndarray


class Shelf:
    """Passages of one world by thing and version: ``wholes`` and ``cuts``, filled by the methods of nearly the same names."""

    def __init__(self, made: World, wording: dict, encoder: retrieval.Encoder, count: evidence.Count, kept: int = KEPT):
        self.made, self.wording, self.encoder, self.count, self.kept = made, wording, encoder, count, kept
        self.wholes: dict[Key, Whole] = {}
        self.cuts: dict[Key, Cut] = {}

    def whole(self, keys: Iterable[Key]) -> None:
        """Tell and embed the passages of ``keys`` that are not held."""
        todo = _missing(self.wholes, keys, self.kept)
        told: dict[Key, worlds_text.Paragraph] = {}
        for version in sorted({v for _, v in todo}):
            things = [t for t, v in todo if v == version]
            told |= dict(zip(((t, version) for t in things), worlds_text.paragraphs(self.made, **self.wording, version=version, things=things)))
        passages = [retrieval.passage(told[k].title, told[k].text) for k in todo]
        vectors = retrieval.truncate(self.encoder.encode(passages)) if todo else ()
        self.wholes |= {k: Whole(told[k], hashlib.sha256(p.encode()).digest(), v) for k, p, v in zip(todo, passages, vectors)}

    def cut(self, keys: Iterable[Key]) -> None:
        """Cut, count and embed the passages of ``keys`` that are not held; they must be among ``wholes``."""
        todo = _missing(self.cuts, keys, self.kept)
        if not todo:
            return
        told = [self.wholes[k].told for k in todo]
        rows = pd.DataFrame({"dataset": "world", "doc_id": range(len(todo)), "text": [p.text for p in told], "sentences": [p.sentences for p in told]})
        found = evidence.chunk(rows, self.count)
        texts, costs, vectors = found["text"].tolist(), found["n_tokens"].to_numpy(float), retrieval.truncate(self.encoder.encode(found["text"].tolist()))
        ends = np.searchsorted(found["doc_id"].to_numpy(), range(len(todo) + 1))
        self.cuts |= {k: Cut(texts[a:b], costs[a:b], vectors[a:b]) for k, a, b in zip(todo, ends, ends[1:])}


def _missing(held: dict[Key, object], keys: Iterable[Key], kept: int) -> list[Key]:
    """The ``keys`` not held, in order; the oldest of ``held`` that are not asked for give way where there would be more than ``kept``."""
    wanted = set(keys)
    todo = sorted(wanted - held.keys())
    surplus = len(held) + len(todo) - kept
    if surplus > 0:
        for old in [k for k in held if k not in wanted][:surplus]:
            del held[old]
    return todo
