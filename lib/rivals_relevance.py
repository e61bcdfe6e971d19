"""A cross-encoder's opinion as the relevance of every snippet: setting relevance ``cross_encoder`` (SPEC 4)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib import cross_encoder
from lib.cross_encoder import Scorer
from lib.retrieval import passage
from lib.store import Store

MODEL = "reranker"  # trained on the training questions of lib/recipes/cross_encoders.yaml


def snippet_pairs(questions: Sequence[str], titles: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
    """What the cross-encoder reads: question, and the snippet under its document's title, as it was taught on passages."""
    return [(q, passage(t, b) if isinstance(t, str) and t else b) for q, t, b in zip(questions, titles, texts, strict=True)]


def cross_encoder_relevance(questions: Sequence[str], titles: Sequence[str], texts: Sequence[str], store: Store | None = None, model: str = MODEL,
                            scorer: Scorer | None = None) -> np.ndarray:
    """Relevance in [0, 1] of each snippet to its question: the logistic of the cross-encoder's logit. Shape (n,).

    All rows of a data set in one call: stored scores load no model, the rest are scored in batches and stored. Raises CrossEncoderError where the
    model is needed and not there, ValueError for a blank text.
    """
    logits = np.asarray(cross_encoder.score_pairs(snippet_pairs(questions, titles, texts), {"model": model}, store or Store(), scorer=scorer), float)
    if np.isnan(logits).any():
        raise ValueError(f"{int(np.isnan(logits).sum())} snippets cannot be scored by the cross-encoder: question or text is blank; mend the tables")
    return np.round(1 / (1 + np.exp(-logits)), 6)
