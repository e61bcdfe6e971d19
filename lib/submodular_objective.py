"""The four-term objective of document 000, section 4.1, over one question's candidates.

F(S) = w_rel Rel(S) + w_qry QueryCov(S) + w_cov Repr(S) + w_div Div(S), each term divided by its value on the whole candidate
set (0/0 = 0), so every term and, for weights that sum to w, F lies in [0, w].
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

PUBLISHED_WEIGHTS = (1.0, 0.5, 0.4, 0.3)  # relevance, query coverage, saturated coverage, document diversity
PUBLISHED_ALPHA = 0.3


@dataclass(frozen=True)
class Objective:
    """Arrays over n candidates: relevance (n,), terms (n, t) bool, similarity (n, n) in [0, 1] (array or sparse columns), document (n,) int,
    saturation (n,), weights (4,), scales (4,)."""

    relevance: np.ndarray
    terms: np.ndarray
    similarity: np.ndarray
    document: np.ndarray
    saturation: np.ndarray
    weights: np.ndarray
    scales: np.ndarray


def objective(relevance, terms, similarity, document, weights=PUBLISHED_WEIGHTS, alpha: float = PUBLISHED_ALPHA) -> Objective:
    """Build F over n candidates; raises ValueError for what would break monotonicity: negative or NaN relevance, weights, alpha.

    Similarities are clipped at 0: a negative cosine would break monotonicity. They are an array or sparse columns (``submodular_sparse``), and are not
    copied where nothing is to be clipped. Source: document 000, section 4.1; SPEC 4.

    >>> f = objective([.5, .5], np.ones((2, 1), bool), np.eye(2), [0, 1])
    >>> round(value(f, [0, 1]), 6)
    2.2
    """
    relevance = np.asarray(relevance, float)
    if not ((relevance >= 0) & (relevance < np.inf)).all():
        raise ValueError(f"relevance must be 0 or more, got {relevance.min()} (or NaN, or infinity); mend it in the snippets table")
    similarity, n = _clipped(similarity), len(relevance)
    degree = np.asarray(similarity.sum(axis=1))
    if similarity.shape != (n, n) or not np.isfinite(degree).all() or len(terms) != n or len(document) != n:
        raise ValueError(f"{n} candidates need {n} term rows, {n} documents and {n} x {n} similarities without NaN, got {len(terms)}, "
                         f"{len(document)} and {similarity.shape} with {_missing(similarity)} NaN")
    if len(weights) != 4 or not all(0 <= w < np.inf for w in [*weights, alpha]):
        raise ValueError(f"F needs four weights and an alpha of 0 or more (else it is not monotone), got {list(weights)} and {alpha}")
    terms, document, saturation = np.asarray(terms, bool), _numbered(np.asarray(document)), alpha * degree
    raw = Objective(relevance, terms, similarity, document, saturation, np.asarray(weights, float), np.ones(4))
    # all candidates together hold every similarity there is, so below alpha 1 every row is saturated
    covered = saturation.sum() if alpha < 0.99 else terms_of(raw, range(n))[2]
    whole = [relevance.sum(), terms.any(axis=0).sum(), covered, np.sqrt(np.bincount(document, relevance)).sum()]
    return replace(raw, scales=np.array(whole, float))


def _clipped(similarity):
    """Similarities of 0 and more, as floats; NaN stays."""
    if not sparse.issparse(similarity):
        similarity = np.asarray(similarity, float)
        return similarity if similarity.min(initial=0) >= 0 else np.clip(similarity, 0.0, None)
    return sparse.csc_array(similarity, dtype=float).maximum(0) if similarity.data.min(initial=0) < 0 else sparse.csc_array(similarity, dtype=float)


def _missing(similarity) -> int:
    return int(np.isnan(similarity.data if sparse.issparse(similarity) else similarity).sum())


def _numbered(document: np.ndarray) -> np.ndarray:
    """Documents as 0, 1, 2 ... in the order of their names; numbers that are so already stay."""
    if document.dtype.kind in "iu" and len(document) and document.min() >= 0 and document.max() < len(document) and np.bincount(document).all():
        return document
    return np.unique(document, return_inverse=True)[1]


def terms_of(f: Objective, chosen) -> np.ndarray:
    """The four terms of the set ``chosen`` (indices), divided by ``f.scales``; 0 where the scale is 0. Shape (4,)."""
    chosen = list(chosen)
    masses = np.bincount(f.document[chosen], f.relevance[chosen]) if chosen else np.zeros(1)
    covered = np.minimum(f.similarity[:, chosen].sum(axis=1), f.saturation).sum()
    raw = np.array([f.relevance[chosen].sum(), f.terms[chosen].any(axis=0).sum(), covered, np.sqrt(masses).sum()], float)
    return np.divide(raw, f.scales, out=np.zeros(4), where=f.scales > 0)


def value(f: Objective, chosen) -> float:
    """F of the set ``chosen``."""
    return float(f.weights @ terms_of(f, chosen))


def check_costs(costs) -> np.ndarray:
    """Costs as floats; raises ValueError naming the first candidate that costs nothing, or no number of tokens."""
    costs = np.asarray(costs, float)
    if not ((costs > 0) & (costs < np.inf)).all():
        at = int(np.flatnonzero(~((costs > 0) & (costs < np.inf)))[0])
        raise ValueError(f"every snippet must cost at least one token, but candidate {at} costs {costs[at]}; drop empty snippets first")
    return costs
