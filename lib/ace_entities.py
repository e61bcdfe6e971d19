"""Entities of a passage: the things its names stand for, and which short names are safe to resolve (SPEC 10)."""
from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_EDGES = re.compile(r"^[^\w]+|[^\w]+$")
_POSSESSIVE = re.compile(r"['’]s?$")


class Mention(NamedTuple):
    """A phrase [start, end) of the passage, the normalised name it spells, and the recogniser's label ("" without one)."""

    start: int
    end: int
    name: str
    label: str


def normalised(surface: str) -> str:
    """A name as entities are keyed by it: case-folded, without leading articles, possessive endings and outer punctuation.

    >>> normalised("The Llawen's"), normalised("Marl (river)"), normalised("the")
    ('llawen', 'marl', '')
    """
    words = unicodedata.normalize("NFC", re.sub(r"\s*\([^()]*\)\s*$", "", surface).casefold()).split()
    words = [_EDGES.sub("", _POSSESSIVE.sub("", word)) for word in words]
    while words and words[0] in ("the", "a", "an"):
        words = words[1:]
    return " ".join(w for w in words if w)


def mentions(text: str, names: Iterable[Sequence], titles: Iterable[str]) -> list[Mention]:
    """What ``text`` names, in order and without overlap: where two phrases overlap, a title of the graph's documents wins, then the longer.

    ``names`` are the parse's [start, end, label]; a title counts where it stands letter for letter, between word boundaries.

    >>> [m.name for m in mentions("The Marl ends in Aumes.", [[17, 22, "GPE"]], ["Marl (river)"])]
    ['marl', 'aumes']
    """
    labels = {(a, b): label for a, b, label in names}
    found = [(0, a - b, a, b, labels.get((a, b)) or "TITLE") for title in titles for a, b in _occurrences(text, title)]
    found += [(1, a - b, a, b, label) for (a, b), label in labels.items()]
    kept: list[Mention] = []
    for _, _, a, b, label in sorted(found):
        name = normalised(text[a:b])
        if len(name) > 1 and all(b <= m.start or m.end <= a for m in kept):
            kept.append(Mention(a, b, name, label))
    return sorted(kept)


def _occurrences(text: str, title: str) -> list[tuple[int, int]]:
    plain = re.sub(r"\s*\([^()]*\)\s*$", "", title).strip()
    if len(plain) < 2 or plain not in text:
        return []
    return [m.span() for m in re.finditer(rf"(?<!\w){re.escape(plain)}(?!\w)", text)]


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Short names to the one longer name among ``names`` that ends in them: a last name, a title without its first word.

    Two longer names leave the short one alone. First words are not resolved: Brenness Light is not Brenness.

    >>> aliases(["gorran pellwyn", "pellwyn", "brenness light", "brenness"])
    {'pellwyn': 'gorran pellwyn'}
    >>> aliases(["gorran pellwyn", "edda pellwyn", "pellwyn"])
    {}
    """
    by_last, out = defaultdict(set), {}
    for name in set(names):
        by_last[name.rpartition(" ")[2]].add(name)
    for alike in by_last.values():
        for short in alike:
            longer = {n for n in alike if n.endswith(f" {short}")}
            longest = {n for n in longer if not any(o.endswith(f" {n}") for o in longer)}
            if len(longest) == 1:
                out[short] = min(longest)
    return out
