"""What turns texts into unit vectors: a transformer that reads each text whole, or a table of word-piece vectors (SPEC 2)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from lib import weights

STATIC = "static"  # the kind of registered weights that are a table of vectors and a tokenizer
VECTORS = (STATIC, "sentence-transformers")


class Encoder(Protocol):
    """Turns texts into vectors; ``name`` keys the cache."""

    name: str

    def encode(self, texts: Sequence[str]) -> np.ndarray: ...


class SentenceEncoder:
    """A sentence-transformers bi-encoder (weights registry name, folder or hub id), loaded at the first text it has to encode (fp32)."""

    def __init__(self, name: str, batch_size: int = 32):
        self.name, self.batch_size, self._model = name, batch_size, None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (n, d) float32; raises WeightsError when the model cannot be had."""
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            where = weights.source(self.name)
            with weights.loading(self.name):
                self._model = SentenceTransformer(str(where))
        return self._model.encode(list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False)


class StaticEncoder:
    """One fixed vector a word piece, a text is their mean: no context, no order of words, and hundreds of times cheaper than a transformer."""

    def __init__(self, name: str):
        self.name, self._table, self._tokenizer = name, None, None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (n, d) float32, zeros for a text without a word piece; raises WeightsError when the weights cannot be had."""
        if self._table is None:
            self._load()
        pieces = [e.ids for e in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        return mean_rows(self._table, pieces)

    def _load(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = weights.locate(self.name)
        (table,), (tokenizer,) = folder.glob("*.safetensors"), folder.glob("*tokenizer*.json")
        with weights.loading(self.name):
            self._table = load_file(table)["embedding.weight"].astype(np.float32)
            self._tokenizer = Tokenizer.from_file(str(tokenizer))


def mean_rows(table: np.ndarray, pieces: Sequence[Sequence[int]]) -> np.ndarray:
    """Unit vectors (n, d) float32 of the mean of each text's rows of ``table`` (pieces, d); a text without pieces gets zeros.

    >>> mean_rows(np.array([[3.0, 0.0], [0.0, 4.0]]), [[0, 0, 1], [], [1]]).tolist()
    [[0.8320503234863281, 0.5547001957893372], [0.0, 0.0], [0.0, 1.0]]
    """
    means = np.array([table[list(p)].mean(axis=0) if len(p) else np.zeros(table.shape[1]) for p in pieces], np.float32).reshape(len(pieces), table.shape[1])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def encoder(name: str) -> Encoder:
    """The encoder of a registered name, a folder or a hub id, not loaded yet; raises ValueError for registered weights that are none.

    >>> type(encoder("wordllama")).__name__, type(encoder("minilm")).__name__
    ('StaticEncoder', 'SentenceEncoder')
    """
    entry = weights.REGISTRY.get(name)
    if entry and entry.kind not in VECTORS:
        able = ", ".join(n for n, e in weights.REGISTRY.items() if e.kind in VECTORS)
        raise ValueError(f"{name} ({entry.kind}) makes no vectors of a text; encoders are {able}")
    return StaticEncoder(name) if entry and entry.kind == STATIC else SentenceEncoder(name)
