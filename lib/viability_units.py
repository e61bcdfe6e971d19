"""What counts as one piece of evidence: document, passage, proposition or bundle, and how much of it one ranked list can show (document 001).

The same list has another ceiling at each unit. A *proposition* is a passage with what must travel with it (its heading, footnote, table labels,
effective date): a part without the others supports nothing. A *bundle* is one admissible set of propositions; alternatives are several.
Near-duplicates are one piece: the second earns nothing. `unit_alternatives` turns all four into one form: of each piece, the sets of passages
that show it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from lib.grades import bundle_coverage

UNITS = ("document", "passage", "proposition", "bundle")
KINDS = ("heading", "footnote", "table label", "effective date", "cross-reference")  # what may have to travel with a passage
MOST_PIECES = 20  # an exact ceiling is searched for up to this many

Pieces = dict[str, list[frozenset[str]]]


class Coverage(NamedTuple):
    """Pieces shown: ``coverage`` their share, ``complete`` whether all are; of the whole pool, or of the first places of an order."""

    coverage: float
    complete: bool


def unit_alternatives(
    gold: Collection[str],
    unit: str,
    document_of: Mapping[str, str] | None = None,
    travels: Mapping[str, Collection[str]] | None = None,
    copies: Mapping[str, str] | None = None,
    corpus: Collection[str] = (),
) -> Pieces:
    """The pieces of evidence of one query: name -> sets of passages, any one of which shows the piece.

    ``gold``: relevant passages; ``document_of``: passage -> document; ``travels``: passage -> passages that must be shown with it; ``copies``:
    passage -> name of its group of near-duplicates. A document is shown by any of its passages in ``corpus`` and gold.

    >>> unit_alternatives(["rule"], "proposition", travels={"rule": ["footnote"]})["rule"] == [frozenset({"rule", "footnote"})]
    True
    """
    if unit not in UNITS[:3]:
        raise ValueError(f"unit must be one of {', '.join(UNITS[:3])} here (bundles: `bundle_pieces`), got {unit!r}")
    document_of, travels, copies = document_of or {}, travels or {}, copies or {}
    pieces: Pieces = {}
    for passage in dict.fromkeys(gold):
        if unit == "document":
            name = document_of.get(passage, passage)
            pieces[name] = [frozenset({p}) for p in dict.fromkeys([*gold, *corpus]) if document_of.get(p, p) == name]
        else:
            shown = frozenset({passage, *(travels.get(passage, ()) if unit == "proposition" else ())})
            pieces.setdefault(copies.get(passage, passage), []).append(shown)
    return pieces


def covered(pieces: Pieces, shown: Collection[str]) -> Coverage:
    """Which share of the pieces a set of passages shows; NaN without a piece.

    >>> covered({"rule": [frozenset({"r", "note"})], "fact": [frozenset({"f"}), frozenset({"copy of f"})]}, ["r", "f", "copy of f"])
    Coverage(coverage=0.5, complete=False)
    """
    if not pieces:
        return Coverage(float("nan"), False)
    shown = set(shown)
    hit = sum(any(way <= shown for way in ways) for ways in pieces.values())
    return Coverage(hit / len(pieces), hit == len(pieces))


def best_coverage(pieces: Pieces, pool: Collection[str], places: int) -> Coverage:
    """The ceiling at this unit: the most pieces that ``places`` passages of the pool can show, by exhaustive search.

    Raises ValueError for over ``MOST_PIECES`` pieces that the pool can show (see ``searchable``).

    >>> best_coverage({"rule": [frozenset({"r", "note"})], "fact": [frozenset({"f"})]}, ["r", "note", "f"], places=2).coverage
    0.5
    """
    if places < 1:
        raise ValueError(f"places must be 1 or more, got {places}")
    if not pieces:
        return Coverage(float("nan"), False)
    open_ = _open(pieces, pool, places)
    if _simple(open_):
        hit = min(len(open_), places)  # each piece takes one place of its own
    elif not searchable(pieces, pool, places):
        raise ValueError(f"{len(open_)} pieces in one pool are too many to search ({MOST_PIECES} at most); judge larger units, or fewer")
    else:
        hit = _most(open_, frozenset(), places, 0, 0)
    return Coverage(hit / len(pieces), hit == len(pieces))


def searchable(pieces: Pieces, pool: Collection[str], places: int) -> bool:
    """Whether the ceiling can be had: pieces that share or need several passages are searched for, up to ``MOST_PIECES`` of them."""
    open_ = _open(pieces, pool, places)
    return len(open_) <= MOST_PIECES or _simple(open_)


def _open(pieces: Pieces, pool: Collection[str], places: int) -> list[list[frozenset[str]]]:
    """The ways of each piece that the pool holds and the places can show, pieces with fewest ways first; pieces without a way are left out."""
    held = set(pool)
    ways_of = [[way for way in ways if way <= held and len(way) <= places] for ways in pieces.values()]
    return sorted((ways for ways in ways_of if ways), key=len)


def _simple(ways: Sequence[Sequence[frozenset[str]]]) -> bool:
    return all(len(way) == 1 for alternatives in ways for way in alternatives) and _disjoint(ways)


def _disjoint(ways: Sequence[Sequence[frozenset[str]]]) -> bool:
    sets = [frozenset().union(*alternatives) for alternatives in ways]
    return len(frozenset().union(*sets)) == sum(map(len, sets)) if sets else True


def _most(ways: list[list[frozenset[str]]], chosen: frozenset[str], places: int, hit: int, best: int) -> int:
    """Depth-first: take a piece in one of its ways, or leave it; a branch that cannot beat ``best`` is cut."""
    if hit + len(ways) <= best or not ways:
        return max(best, hit)
    for way in sorted(ways[0], key=lambda w: len(w - chosen)):
        if len(chosen | way) <= places:
            best = _most(ways[1:], chosen | way, places, hit + 1, best)
    return _most(ways[1:], chosen, places, hit, best)


class BundleScore(NamedTuple):
    """A pool against alternative bundles: coverage of their union, of the best bundle, completion; ``within`` places: best bundle and completion."""

    union: float
    best: float
    complete: bool
    best_within: float
    complete_within: bool


def bundle_pieces(bundles: Sequence[Collection[str]], travels: Mapping[str, Collection[str]] | None = None) -> list[frozenset[str]]:
    """Bundles with what must travel with each of their passages.

    >>> [sorted(bundle) for bundle in bundle_pieces([["rule"]], {"rule": ["footnote"]})]
    [['footnote', 'rule']]
    """
    travels = travels or {}
    return [frozenset(bundle).union(*(travels.get(passage, ()) for passage in bundle)) for bundle in bundles]


def bundle_score(bundles: Sequence[Collection[str]], pool: Collection[str], places: int, copies: Mapping[str, str] | None = None) -> BundleScore:
    """Score a pool (or the first places of an order) against alternative bundles; a near-duplicate (``copies``) stands in for its original.

    Document 001, the unit of omission; raises ValueError without a bundle or for an empty one, as `grades.bundle_coverage` does.

    >>> bundle_score([{"a", "b"}, {"c"}], {"a", "c"}, places=4)
    BundleScore(union=0.6666666666666666, best=1.0, complete=True, best_within=1.0, complete_within=True)
    """
    copies = copies or {}
    bundles = [{copies.get(p, p) for p in bundle} for bundle in bundles]
    pool = {copies.get(p, p) for p in pool}
    whole = bundle_coverage(bundles, pool)
    within = max(min(len(bundle & pool), places) / len(bundle) for bundle in bundles)
    return BundleScore(*whole, within, within == 1)
