"""A learned sparse ranker: a small language model says which words a text is about, how much, and which it could also have used (SPLADE).

A text becomes weights on the words of a vocabulary, w = log(1 + max(0, highest logit of the word over the text's places)); two texts are as
near as the dot product of their weights. Formal and others (2021), "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking".
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from lib import vectors, weights
from lib.rankers import SPARSE
from lib.store import StoreError

KIND = SPARSE       # of registered weights
LENGTH = 256        # word pieces a text is cut to, as the dense encoder does
WORDS_AT_ONCE = 2048  # the logits of so many words and one text fit a core's cache: four times as fast as all at once, the same bits


class SparseEncoder:
    """Turns texts into term weights; registered weights, a folder or a hub id of a BERT with its masked-language head."""

    def __init__(self, name: str):
        self.name, self._source, self._model = f"{name} term weights, {LENGTH} pieces", name, None

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Packed term weights of each text (``packed``); a text at a time, so that none depends on its neighbours. Raises WeightsError."""
        import torch

        if self._model is None:
            self._load()
        with torch.inference_mode():
            return [packed(self._weights(text)) for text in texts]

    def words(self, text: str) -> list[tuple[str, float]]:
        """The words (or pieces of words, ``##`` before them) that a text is about, with their weights, heaviest first."""
        (row,) = self.encode([text])
        n = int(row[0])
        named = self._tokenizer.convert_ids_to_tokens(row[1:1 + n].astype(int).tolist())
        return sorted(zip(named, row[1 + n:].tolist()), key=lambda pair: (-pair[1], pair[0]))

    def _load(self) -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer
        from transformers.utils import logging as bars

        where, shown = str(weights.source(self._source)), bars.is_progress_bar_enabled()
        bars.disable_progress_bar()  # a bar in a log or an executed notebook is noise
        try:
            with weights.loading(self._source):
                model, told = AutoModelForMaskedLM.from_pretrained(where, output_loading_info=True)
                if not hasattr(model, "cls") or told["missing_keys"] or told["mismatched_keys"]:  # what is missing would be drawn at random
                    raise ValueError("no BERT with a masked-language head; a learned sparse ranker is one (an encoder of dense vectors has no such head)")
                self._model, self._tokenizer = model.eval(), AutoTokenizer.from_pretrained(where)
        finally:
            if shown:
                bars.enable_progress_bar()

    def _weights(self, text: str) -> np.ndarray:
        """Weight of every word of the vocabulary. log1p and relu grow with their argument, so they wait until the highest logit is known."""
        import torch

        tokens = self._tokenizer(text, truncation=True, max_length=LENGTH, return_tensors="pt")
        head = self._model.cls.predictions
        states = head.transform(self._model.base_model(**tokens).last_hidden_state[0])
        words, bias = head.decoder.weight, head.decoder.bias
        top = [(states @ words[s:s + WORDS_AT_ONCE].T).amax(0) for s in range(0, len(words), WORDS_AT_ONCE)]
        return torch.log1p(torch.relu(torch.cat(top) + bias)).numpy()


def packed(term_weights: np.ndarray) -> np.ndarray:
    """Their number, the words' places and their weights, of the weights that are not 0; float32, shape (1 + 2 k,).

    >>> packed(np.array([0.0, 0.5, 0.0, 2.0])).tolist()
    [2.0, 1.0, 3.0, 0.5, 2.0]
    """
    at = np.flatnonzero(term_weights)  # places are whole numbers below 2**24: float32 holds them exactly
    return np.concatenate([[len(at)], at, term_weights[at]]).astype(np.float32)


def unpacked(rows: Sequence[np.ndarray], words: int | None = None) -> sparse.csr_array:
    """Term weights (n, words) float64 of packed rows; ``words`` defaults to the last word in use. Raises StoreError for a damaged row."""
    for row in rows:
        if len(row) != 1 + 2 * row[0]:
            raise StoreError("stored term weights are damaged; delete the cache of vectors and run again: texts are encoded anew")
    counts = np.array([int(row[0]) for row in rows], int)
    places = np.concatenate([row[1:1 + n] for row, n in zip(rows, counts)] or [[]]).astype(np.int64)
    values = np.concatenate([row[1 + n:] for row, n in zip(rows, counts)] or [[]]).astype(float)
    width = int(places.max(initial=-1)) + 1 if words is None else words
    return sparse.csr_array((values, places, np.concatenate([[0], counts.cumsum()])), shape=(len(rows), width))


def term_weights(questions: Sequence[str], passages: Sequence[str], encoder: SparseEncoder, cache: Path | None = vectors.CACHE):
    """Term weights of the questions (n, words) and of the passages (m, words), over one vocabulary."""
    both = unpacked(vectors.remembered([*questions, *passages], encoder, cache))
    return both[:len(questions)], both[len(questions):]


def sparse_scores(asked: sparse.csr_array, told: sparse.csr_array) -> np.ndarray:
    """Dot product of each question's term weights with each passage's. Shape (questions, passages)."""
    return (asked @ told.T).toarray()
