"""Near-duplicate claims: when one claim may stand for another, and which claims of a question's pool are shown (SPEC 10).

Merging must not change what is asserted. One claim stands for another only if it holds most of its content words, the same numbers, all
its entities and the same words that turn a meaning (not, before ...); claims that do not name their subject ("It closed in 1983")
are compared within their own passage alone.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lib import text
from lib.ace_claims import Passage
from lib.ace_graph import edges

CONTAINED = 0.8  # near-duplicate: this share of a claim's content words stands in another one
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
    thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half first second third fourth fifth"""
_TURNS = "not no never nor neither without none before after until since only except but unless cannot more less fewer"
NUMBERS, TURNS = frozenset(_NUMBERS.split()), frozenset(_TURNS.split())


class Content(NamedTuple):
    """What a claim says, as far as merging looks: content words, those that are numbers, words that turn the meaning, entities."""

    terms: frozenset[str]
    numbers: frozenset[str]
    turns: frozenset[str]
    entities: frozenset[str]


@lru_cache(maxsize=100_000)
def _said(claim: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    terms = frozenset(text.content_terms(claim))
    words = {w.strip(".,;:()\"'") for w in claim.casefold().replace("n't", " not").replace("n’t", " not").split()}
    return terms, frozenset(t for t in terms if t in NUMBERS or any(ch.isdigit() for ch in t)), TURNS & words


def contents(passages: Sequence[Passage]) -> dict[tuple[str, int], Content]:
    """(doc_id, claim) -> what it says, for the passages of one question in first-stage order."""
    about: dict[tuple[str, int], set[str]] = {(p.doc_id, k): set() for p in passages for k in range(len(p.claims))}
    for e in edges(passages):
        about[e.doc_id, e.claim].add(e.entity)
    for at, p in enumerate(passages):
        for k, claim in enumerate(p.claims):
            if claim.kind not in ("name", "alias"):
                about[p.doc_id, k].add(f"[passage {at}]")  # no entity's name: it tells the claims of this passage from all others
    return {(p.doc_id, k): Content(*_said(p.text[c.start:c.end]), frozenset(about[p.doc_id, k])) for p in passages for k, c in enumerate(p.claims)}


def says(a: Content, b: Content, contained: float = CONTAINED) -> bool:
    """Whether ``a`` may stand for ``b``: enough of b's content words, all its entities, the same numbers and turning words.

    >>> born = Content(frozenset({"vane", "born", "1702"}), frozenset({"1702"}), frozenset(), frozenset({"vane"}))
    >>> says(born, born), says(born, born._replace(numbers=frozenset({"1703"}))), says(born, born._replace(turns=frozenset({"not"})))
    (True, False, False)
    """
    if not b.terms or a.turns != b.turns or a.numbers != b.numbers or not b.entities <= a.entities:
        return False
    return len(a.terms & b.terms) >= contained * len(b.terms)


def merged(said: Sequence[Content], contained: float = CONTAINED) -> list[int]:
    """For each claim, in first-stage order, the place of the claim shown for it (its own where it is not merged).

    The claim with more content words is shown, the earlier one among equals. Raises ValueError unless ``contained`` lies in (0, 1].
    """
    if not 0 < contained <= 1:
        raise ValueError(f"contained must be a share in (0, 1], got {contained}")
    shown: list[int] = []
    stands = list(range(len(said)))
    for i in sorted(range(len(said)), key=lambda i: (-len(said[i].terms), i)):
        stands[i] = next((j for j in shown if says(said[j], said[i], contained)), i)
        if stands[i] == i:
            shown.append(i)
    return stands
