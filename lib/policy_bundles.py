"""Alternative bundles of evidence: is one of them whole among the passages shown, and could any order have made it so (document 001; SPEC 11)?

Evidence is a *span* of sentences that a reviewer judged; a chunk shows it only if it holds it whole. A *bundle* is one admissible set of spans (a policy
and its exception, say); a question may have several. It is *complete* where one of its bundles is whole, so four copies of one rule complete nothing.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pandas as pd

from lib.grades import bundle_coverage
from lib.viability_units import best_coverage

EVIDENCE = ("supportive", "bundle")  # labels that count; topical, contradictory and uncertain ones do not
NOTHING = float("nan")


class Shown(NamedTuple):
    """What a set of chunks shows of a question's evidence: ``best`` bundle's share, share of the ``union`` of bundles, 1.0 if one is ``complete``."""

    complete: float
    best: float
    union: float


def bundles_of(judged: pd.DataFrame) -> dict[str, dict[str, frozenset[str]]]:
    """One question's bundles: name -> {span: the chunks that hold it whole}; ``judged``: rows of ``policy_chunks.holders``."""
    made: dict[str, dict[str, frozenset[str]]] = {}
    for row in judged[judged["label"].isin(EVIDENCE)].itertuples():
        for name in row.bundles:
            made.setdefault(name, {})[row.span] = row.holders
    return made


def seen(bundles: dict[str, dict[str, frozenset[str]]], chunks: Collection[str]) -> Shown:
    """What ``chunks`` (a pool, or the places shown) hold of the bundles; all missing without a bundle.

    >>> seen({"long": {"rule": frozenset({"a"}), "note": frozenset({"b"})}, "short": {"faq": frozenset({"c"})}}, ["a", "c"])
    Shown(complete=1.0, best=1.0, union=0.6666666666666666)
    """
    if not bundles:
        return Shown(NOTHING, NOTHING, NOTHING)
    held = {span for ways in bundles.values() for span, holders in ways.items() if holders & set(chunks)}
    found = bundle_coverage([set(ways) for ways in bundles.values()], held)
    return Shown(float(found.complete), found.best, found.union)


def ceiling(bundles: dict[str, dict[str, frozenset[str]]], pool: Collection[str], places: int) -> Shown:
    """The candidate oracle: what the best ``places`` of the pool can show of one bundle; ``union`` is missing, it is another optimum.

    One chunk may hold several spans, and several chunks one span, so this is a search (`viability_units.best_coverage`), bundle by bundle.

    >>> ceiling({"b": {"rule": frozenset({"a", "both"}), "note": frozenset({"both"})}}, ["a", "both"], places=1)
    Shown(complete=1.0, best=1.0, union=nan)
    """
    if not bundles:
        return Shown(NOTHING, NOTHING, NOTHING)
    ways = [{span: [frozenset({chunk}) for chunk in sorted(holders)] for span, holders in spans.items()} for spans in bundles.values()]
    found = [best_coverage(pieces, pool, places) for pieces in ways]
    return Shown(float(max(f.complete for f in found)), max(f.coverage for f in found), NOTHING)


def role_held(judged: pd.DataFrame, role: str, chunks: Collection[str]) -> float:
    """Share of a question's spans of one role that ``chunks`` hold; missing where it has none."""
    spans = judged[judged["label"].isin(EVIDENCE) & (judged["role"] == role)].drop_duplicates("span")
    return float(spans["holders"].map(lambda holders: bool(holders & set(chunks))).mean()) if len(spans) else NOTHING


def measured(judged: pd.DataFrame, pool: Sequence[str], shown: Sequence[str], places: int, role: str = "exception") -> dict[str, float]:
    """One question's row: complete, coverage (best bundle), union, pool_complete, ceiling, ceiling_coverage, ``role``_in_pool, ``role``_shown.

    Of completion, ceiling - complete is ordering headroom and 1 - ceiling the omission gap: complete + headroom + gap = 1.
    """
    bundles = bundles_of(judged)
    now, whole, best = seen(bundles, shown), seen(bundles, pool), ceiling(bundles, pool, places)
    return {"complete": now.complete, "coverage": now.best, "union": now.union, "pool_complete": whole.complete, "ceiling": best.complete,
            "ceiling_coverage": best.best, "headroom": best.complete - now.complete, "omission_gap": 1 - best.complete,
            f"{role}_in_pool": role_held(judged, role, pool), f"{role}_shown": role_held(judged, role, shown)}
