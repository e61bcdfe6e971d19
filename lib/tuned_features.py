"""The features by which ``tuned`` guesses where an answer stands: one function for training and for packing (SPEC 4)."""
from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.tuned_words import KINDS, bare_title, read_question, read_text

NAMES = (
    "dense", "dense_gap", "dense_rank", "overlap", "overlap_gap", "titled_overlap", "doc_rank", "position", "last", "tokens", "doc_tokens",
    "title_asked", "title_share", "title_in_text", "named_by", "named_by_asked", "names_others", "names_unasked", "shared_names",
    "hop", "bridge", "bridge_dense", "relations", "rest", "rest_rare", "rest_relations", "doc_dense", "doc_overlap",
    "new_share", "new_names", "dates", "years", "numbers", "places", "fits", "fits_rank",
    *(f"asks_{kind}" for kind in KINDS), "asked_titles", "centrality",
)


def schema() -> str:
    """Hash of the feature names in order: a card made for other features is refused."""
    return hashlib.sha256("\n".join(NAMES).encode()).hexdigest()[:16]


def matrix(question: str, rows: pd.DataFrame, vectors: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Features of one question's snippets, (n, len(NAMES)); order of ``rows`` kept.

    ``rows``: title, text, doc_id, doc_rank, position, n_tokens; ``vectors`` (n, d) and ``asked`` (d,) unit vectors. No feature looks at an answer.
    """
    n = len(rows)
    if n == 0:
        return np.zeros((0, len(NAMES)))
    q, texts = read_question(question), [read_text(t) for t in rows["text"].tolist()]
    named = [t if isinstance(t, str) else "" for t in rows["title"].tolist()]  # own data may have none
    titles, unit, about = [bare_title(t) for t in named], np.asarray(vectors, float), np.asarray(asked, float)
    number = {d: k for k, d in enumerate(dict.fromkeys(rows["doc_id"].tolist()))}
    document = np.array([number[d] for d in rows["doc_id"].tolist()])
    f = _similar(unit, about, document) | _lexical(q, texts, [read_text(t) for t in named], document) | _places(rows, document)
    f |= _links(q, texts, titles, document, f)
    f |= _offers(q, texts, titles, f)
    f |= _hops(unit, about, document, f)
    f |= {f"asks_{kind}": float(q.kind == kind) for kind in KINDS} | {"asked_titles": len({t for t, a in zip(titles, f["title_asked"]) if a})}
    made = np.empty((n, len(NAMES)))
    for k, name in enumerate(NAMES):
        made[:, k] = f[name]
    return np.round(made, 4)


def _rank(values: np.ndarray) -> np.ndarray:
    """How many values are larger, as a share of n. Shape (n,), 0 for the best."""
    return (values[None, :] > values[:, None] + 1e-9).mean(axis=1)


def _by_document(values: np.ndarray, document: np.ndarray) -> np.ndarray:
    """The best value of each snippet's document."""
    best = np.full(document.max() + 1, -np.inf)
    np.maximum.at(best, document, values)
    return best[document]


def _similar(vectors, asked, document) -> dict:
    dense = np.clip(vectors @ asked, -1, 1)
    others = (vectors @ vectors.T).clip(0, 1)
    return {"dense": dense, "dense_gap": dense - dense.max(), "dense_rank": _rank(dense), "doc_dense": _by_document(dense, document),
            "centrality": (others.sum(axis=1) - 1) / max(len(dense) - 1, 1)}


def _idf(wanted: Sequence[str], documents: Sequence[frozenset[str]]) -> dict[str, float]:
    """log(1 + N / df) of those of ``wanted`` that any of the N ``documents`` holds."""
    df = {t: sum(t in terms for terms in documents) for t in wanted}
    return {t: math.log(1 + len(documents) / n) for t, n in df.items() if n}


def _share(wanted: Sequence[str], have: frozenset[str], idf: dict[str, float]) -> float:
    """Share of ``wanted``, weighted by rarity among the candidates, that ``have`` holds; a term that no candidate holds weighs nothing."""
    total = sum(idf[t] for t in wanted if t in idf)
    return sum(idf[t] for t in wanted if t in idf and t in have) / total if total else 0.0


def _lexical(q, texts, titles, document) -> dict:
    whole = [frozenset().union(*(t.terms | h.terms for t, h, d in zip(texts, titles, document) if d == k)) for k in range(document.max() + 1)]
    asked, relations = sorted(q.terms), sorted(q.relations)  # a fixed order: float sums over a set change with the hash seed
    idf, told, rare = _idf(asked, whole), _idf(asked, [t.terms for t in texts]), _idf(relations, [t.meanings for t in texts])
    overlap = np.array([_share(asked, t.terms, idf) for t in texts])
    rest = [[t for t in asked if t not in h.terms] for h in titles]
    by_document = np.array([_share(asked, terms, idf) for terms in whole])
    return {"overlap": overlap, "overlap_gap": overlap - overlap.max(),
            "titled_overlap": np.array([_share(asked, t.terms | h.terms, idf) for t, h in zip(texts, titles)]),
            "doc_overlap": by_document[document], "title_share": [len(h.terms & q.terms) / len(h.terms) if h.terms else 0.0 for h in titles],
            "relations": [_share(relations, t.meanings, rare) for t in texts], "rest": [_share(r, t.terms, idf) for r, t in zip(rest, texts)],
            "rest_rare": [_share(r, t.terms, told) for r, t in zip(rest, texts)],
            "rest_relations": [len((q.relations - h.meanings) & t.meanings) for h, t in zip(titles, texts)]}


def _places(rows: pd.DataFrame, document: np.ndarray) -> dict:
    position, tokens = rows["position"].to_numpy(float), rows["n_tokens"].to_numpy(float)
    return {"doc_rank": rows["doc_rank"].to_numpy(float), "position": np.minimum(position, 5), "last": position == _by_document(position, document),
            "tokens": tokens, "doc_tokens": np.bincount(document, tokens)[document]}


def _links(q, texts, titles, document, f) -> dict:
    """Titles as links between documents: a page that names another page's title points at it."""
    asked = np.array([t != " " and t in q.run for t in titles])
    inside = np.array([[h != " " and h in t.run for h in titles] for t in texts])  # snippet i names the title of snippet j's document
    other = document[:, None] != document[None, :]
    names = inside & other
    weight = np.asarray(f["titled_overlap"])[:, None]
    first = np.unique(document, return_index=True)[1]  # one snippet a document
    to = names[:, first]
    unasked = to & ~asked[first][None, :]
    new = [t.names - q.terms for t in texts]
    shared = [[len(a & b) for b in new] for a in new]
    shared = (np.minimum(shared, 3) * other * np.asarray(f["titled_overlap"])[None, :]).max(axis=1)
    return {"shared_names": shared, "title_asked": asked, "title_in_text": np.diag(inside), "named_by": (names * weight).max(axis=0),
            "named_by_asked": (names & asked[:, None]).any(axis=0), "names_others": np.minimum(to.sum(axis=1), 3),
            "names_unasked": np.minimum(unasked.sum(axis=1), 3)}


def _offers(q, texts, titles, f) -> dict:
    """What is new in a snippet: neither in the question nor in its title, and of the kind that is asked for."""
    known = [q.terms | frozenset(h.split()) for h in titles]
    new = [t.terms - k for t, k in zip(texts, known)]
    persons = [sum(1 for r in t.runs if " " in r and not set(r.lower().split()) & k) for t, k in zip(texts, known)]
    names = [len({r for r in t.runs if not set(r.lower().split()) & k}) for t, k in zip(texts, known)]
    years = [len(t.years - q.terms) for t in texts]
    numbers = [len(t.numbers - q.terms) - y for t, y in zip(texts, years)]
    places = [len(t.places - k) for t, k in zip(texts, known)]
    dates = [t.dates for t in texts]
    fits = {"date": [2 * min(d, 2) + min(y, 2) for d, y in zip(dates, years)], "number": [max(0, min(n, 3)) for n in numbers],
            "person": [min(p, 4) for p in persons], "place": [min(p, 4) for p in places],
            "choice": [4.0 * a for a in f["title_asked"]], "other": [min(n, 4) for n in names]}[q.kind]
    return {"new_share": [len(n) / max(len(t.terms), 1) for n, t in zip(new, texts)], "new_names": np.minimum(names, 8),
            "dates": np.minimum(dates, 3), "years": np.minimum(years, 4),
            "numbers": np.clip(numbers, 0, 4), "places": np.minimum(places, 6), "fits": fits, "fits_rank": _rank(np.asarray(fits, float))}


def _hops(vectors, asked, document, f) -> dict:
    """The second hop: how near a snippet is to what the best snippet of another document adds to the question."""
    n = len(vectors)
    other = document[:, None] != document[None, :]
    strength = np.where(other, np.asarray(f["titled_overlap"]) + 0.5 * np.asarray(f["dense"])[None, :], -np.inf)
    if not other.any():
        return {"hop": np.zeros(n), "bridge": np.zeros(n), "bridge_dense": np.zeros(n)}
    best = strength.argmax(axis=1)
    bridge = vectors[best]
    added = bridge - (bridge @ asked)[:, None] * asked
    added = added / np.maximum(np.linalg.norm(added, axis=1, keepdims=True), 1e-9)
    both = bridge + asked
    both = both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)
    return {"hop": (vectors * added).sum(axis=1), "bridge": (vectors * bridge).sum(axis=1), "bridge_dense": (vectors * both).sum(axis=1)}
