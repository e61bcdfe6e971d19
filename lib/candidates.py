"""What every packing rule is handed: one question's candidate snippets, checked once (SPEC 4)."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from lib.submodular import check_costs

Picks = list[tuple[int, float]]


@dataclass(frozen=True)
class Candidates:
    """One question's snippets: ids (n), relevance (n,) [0, 1], costs (n,) tokens, terms (n, t) bool, similarity (n, n), document (n,),
    document rank (n,) from 1, position in the document (n,) from 0. Some arms alone look at the rest: ``holds_answer`` (n,) the gold arm,
    ``chance`` (n,) [0, 1], a learned guess that the answer stands there, the tuned one, ``surprise`` (n,) mean self-information of a token, nats,
    the compressing one."""

    qid: str
    ids: tuple[str, ...]
    relevance: np.ndarray
    costs: np.ndarray
    terms: np.ndarray
    similarity: np.ndarray
    document: np.ndarray
    doc_rank: np.ndarray
    position: np.ndarray
    holds_answer: np.ndarray | None = None
    chance: np.ndarray | None = None
    surprise: np.ndarray | None = None

    def __post_init__(self):
        n = len(self.ids)
        wrong = {k: len(v) for k, v in vars(self).items() if k not in ("qid", "ids") and v is not None and len(v) != n}
        if wrong:
            raise ValueError(f"question {self.qid!r} has {n} candidates, but {wrong} entries; give one a candidate")
        check_costs(self.costs)
        relevance, near = np.asarray(self.relevance, float), self.similarity if sparse.issparse(self.similarity) else np.asarray(self.similarity, float)
        sound = (relevance >= 0) & (relevance < np.inf)
        if not sound.all():
            raise ValueError(f"relevance must be 0 or more and not NaN or infinite, got {relevance[~sound][0]} for question {self.qid!r}; "
                             "mend the snippets table")
        if n and (near.shape != (n, n) or not np.isfinite(near.data if sparse.issparse(near) else near).all()):
            raise ValueError(f"question {self.qid!r} needs {n} x {n} similarities without NaN or infinity, got {near.shape}; delete data/cache/vectors "
                             "and run again")
