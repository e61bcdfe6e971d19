"""The same ranked lists read in four units of evidence, per query and per slice: what the pool holds, what each order shows, the ceiling (document 001)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib.bootstrap import RESAMPLES
from lib.stats import paired_cluster_bootstraps
from lib.viability_diversity import alpha_ndcg
from lib.viability_requirement import EVERY
from lib.viability_units import UNITS, Pieces, best_coverage, bundle_pieces, bundle_score, covered, searchable, unit_alternatives

KEY = ["dataset", "qid"]
UNIT_MEASURES = (
    "pool_coverage",
    "pool_complete",
    "first_coverage",
    "first_complete",
    "reranked_coverage",
    "reranked_complete",
    "ceiling",
    "ceiling_complete",
    "union_coverage",
    "first_alpha_ndcg",
    "reranked_alpha_ndcg",
)
UNIT_COLUMNS = ["tier", "dataset", "slice", "unit", "measure", "estimate", "ci_low", "ci_high", "n", "undefined"]


def relations(corpus: pd.DataFrame | None) -> dict[str, dict]:
    """What a corpus says of its passages: document_of (column document, else title), travels (travels_with, a list or ids with ';'), copies (copy_of).

    >>> relations(pd.DataFrame({"doc_id": ["rule"], "travels_with": ["heading; footnote"]}))["travels"]
    {'rule': ['heading', 'footnote']}
    """
    if corpus is None:
        return {"document_of": {}, "travels": {}, "copies": {}}
    source = next((c for c in ("document", "title") if c in corpus), None)
    known = {c: corpus.dropna(subset=[c]).set_index("doc_id")[c].to_dict() if c in corpus else {} for c in ("travels_with", "copy_of")}
    named = corpus[corpus[source].fillna("") != ""].set_index("doc_id")[source].to_dict() if source else {}
    listed = {doc: [p.strip() for p in held.split(";") if p.strip()] if isinstance(held, str) else list(held) for doc, held in known["travels_with"].items()}
    return {"document_of": named, "travels": {doc: ids for doc, ids in listed.items() if ids}, "copies": {doc: c for doc, c in known["copy_of"].items() if c}}


def unit_rows(
    first: pd.DataFrame,
    judgements: pd.DataFrame,
    reranked: pd.DataFrame | None = None,
    cutoff: int = 10,
    depth: int | None = None,
    related: Mapping[str, Mapping] | None = None,
) -> pd.DataFrame:
    """One row a judged query and unit: dataset, qid, unit, pieces, and ``UNIT_MEASURES`` (shares in [0, 1]; missing without evidence of that unit).

    ``pool_``: of the whole pool; ``first_``, ``reranked_``: of the first ``cutoff`` places; ``ceiling``: the most that any order could show there
    (missing where it is too much to search, `viability_units.searchable`).
    Units without information are left out: documents without ``document_of``, propositions without ``travels``, bundles without the column ``bundle``.
    ``union_coverage`` is of bundles alone: the union of all alternatives, beside the best one. ``_alpha_ndcg`` is of units that one passage can show:
    the second copy of a piece earns half, the third a quarter (`viability_diversity`).
    """
    related = related or relations(None)
    first = first if depth is None else first[first["rank"] <= depth]
    lists = [_lists(first), {} if reranked is None else _lists(reranked)]
    bundled = "bundle" in judgements and judgements["bundle"].notna().any()
    units = [u for u, there in zip(UNITS, (related["document_of"], True, related["travels"], bundled)) if there]
    rows = []
    for key, judged in judgements[judgements["grade"] > 0].groupby(KEY):
        held = set(lists[0].get(key, []))
        orders = [lists[0].get(key, []), None if reranked is None else [d for d in lists[1].get(key, []) if d in held]]
        for unit in units:
            scored = _bundles(judged, orders, cutoff, related) if unit == "bundle" else _pieces(list(judged["doc_id"]), unit, orders, cutoff, related)
            if scored is not None:
                rows.append((*key, unit, *scored))
    return pd.DataFrame(rows, columns=[*KEY, "unit", "pieces", *UNIT_MEASURES]).astype({m: float for m in UNIT_MEASURES})


def _lists(rankings: pd.DataFrame) -> dict[tuple, list[str]]:
    return {key: list(ids) for key, ids in rankings.sort_values([*KEY, "rank"]).groupby(KEY)["doc_id"]}


def _pieces(gold: list[str], unit: str, orders: list, cutoff: int, related: Mapping[str, Mapping]) -> tuple:
    pool, again = orders
    pieces = unit_alternatives(gold, unit, **related, corpus=pool if unit == "document" else ())
    seen = [covered(pieces, pool), covered(pieces, pool[:cutoff]), (np.nan, np.nan) if again is None else covered(pieces, again[:cutoff])]
    best = best_coverage(pieces, pool, cutoff) if searchable(pieces, pool, cutoff) else (np.nan, np.nan)  # counted as undefined
    return len(pieces), *(float(x) for pair in (*seen, best) for x in pair), np.nan, *(_alpha(pieces, order, cutoff) for order in orders)


def _alpha(pieces: Pieces, order: list[str] | None, cutoff: int) -> float:
    """Alpha-nDCG of an order, the pieces being the facts; missing where a piece takes more than one passage. Ties of the ideal as in TREC's ndeval."""
    if order is None or not pieces or any(len(way) > 1 for ways in pieces.values() for way in ways):
        return np.nan
    facts: dict[str, set[str]] = {}
    for name, ways in pieces.items():
        for passage in frozenset().union(*ways):
            facts.setdefault(passage, set()).add(name)
    return alpha_ndcg([facts.get(p, ()) for p in order], [facts[p] for p in sorted(facts, reverse=True)], cutoff)


def _bundles(judged: pd.DataFrame, orders: list, cutoff: int, related: Mapping[str, Mapping]) -> tuple | None:
    bundles = bundle_pieces([list(ids) for _, ids in judged.dropna(subset=["bundle"]).groupby("bundle")["doc_id"]], related["travels"])
    if not bundles:
        return None
    scores = [
        None if order is None else bundle_score(bundles, order, cutoff, related["copies"])
        for order in (orders[0], orders[0][:cutoff], orders[1] and orders[1][:cutoff])
    ]
    seen = [(np.nan, np.nan) if s is None else (s.best, s.complete) for s in scores]
    whole = scores[0]
    return len(bundles), *(float(x) for pair in (*seen, (whole.best_within, whole.complete_within)) for x in pair), whole.union, np.nan, np.nan


def unit_table(rows: pd.DataFrame, membership: pd.DataFrame, tier: str = "own", resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """Means per slice and unit with intervals over queries, long: ``UNIT_COLUMNS``."""
    everywhere = rows[KEY].drop_duplicates().assign(slice=EVERY)
    joined, out = rows.merge(pd.concat([everywhere, membership[[*KEY, "slice"]].drop_duplicates()]), on=KEY), []
    for (dataset, name, unit), part in joined.groupby(["dataset", "slice", "unit"]):
        for measure, i in zip(UNIT_MEASURES, paired_cluster_bootstraps(part[list(UNIT_MEASURES)].to_numpy(float), part["qid"], resamples, seed)):
            out.append((tier, dataset, name, unit, measure, i.estimate, i.low, i.high, i.n, len(part) - i.n))
    return pd.DataFrame(out, columns=UNIT_COLUMNS)
