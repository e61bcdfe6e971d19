"""Pointwise cross-encoders as rerankers: those trained here, and any of the hub through sentence-transformers (document 001, Part II; SPEC 11).

Both are ``Pointwise``: scores come from the store where they are known, the rest is scored in batches of similar length. A score is a logit: comparable
within one question, no probability, and 0 is no threshold.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lib import weights
from lib.cross_encoder import CARDS, TRAINED, Scorer, read_card, score_pairs
from lib.cross_encoder_model import LEAST_PASSAGE, load_tokenizer
from lib.recorded import entry_key
from lib.rerankers import Pair, Pointwise, told
from lib.store import Store
from lib.whole import check_whole, is_number

HUB = "hub_cross_encoder"


def cross_encoder(model: str = "reranker", store: Store | None = None, scorer: Scorer | None = None, cards: Path = CARDS, trained: Path = TRAINED,
                  batch_size: int = 32, progress: bool = False) -> Pointwise:
    """A cross-encoder trained here, by the name of its card; recorded scores need no weights, only the base's tokenizer to count tokens.

    Raises CrossEncoderError without a card, and where a score is not recorded and the model is not trained.
    """
    spec, kept = {"model": model}, store or Store()
    longest = read_card(model, cards)["recipe"]["training"]["max_length"]
    return Pointwise(model, lambda pairs: score_pairs(pairs, spec, kept, batch_size, progress, scorer, cards, trained),
                     lambda pairs: [read_tokens(a, b, longest) for a, b in zip(*_counts(model, pairs, cards, trained), strict=True)])


def read_tokens(question: int, passage: int, longest: int) -> int:
    """Tokens that the model reads of texts of so many tokens, [CLS] and two [SEP] among them: only the passage is cut, to 16 tokens at least.

    >>> read_tokens(20, 100, 192), read_tokens(20, 500, 192), read_tokens(190, 500, 192)
    (123, 192, 209)
    """
    return question + min(passage, max(longest - 3 - question, LEAST_PASSAGE)) + 3


def _counts(model: str, pairs: Sequence[Pair], cards: Path, trained: Path) -> tuple[list[int], list[int]]:
    """Tokens of the first and of the second texts; each distinct text is counted once a process."""
    folder = trained / model
    if not (folder / "tokenizer.json").exists():  # the recorded scores are at hand without it; training left the base's tokenizer as it was
        folder = weights.locate(read_card(model, cards)["recipe"]["base"])
    count = _counter(str(folder))
    return [count(a) for a, _ in pairs], [count(b) for _, b in pairs]


@lru_cache(maxsize=4)
def _counter(folder: str) -> Any:
    tokenizer = load_tokenizer(Path(folder))
    return lru_cache(maxsize=200_000)(lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))


class HubScorer:
    """A cross-encoder that sentence-transformers can load: a hub id or a folder, loaded at the first pair that has to be scored; fp32."""

    def __init__(self, model: str, revision: str | None = None, max_length: int = 512, device: str = "cpu", batch_size: int = 32) -> None:
        check_whole("max_length", max_length, 8)
        check_whole("batch_size", batch_size, 1)
        self.source = weights.source(model)
        self.model, self.max_length, self.device, self.batch_size, self._loaded, self._words = model, max_length, device, batch_size, None, None
        self.revision = None if isinstance(self.source, Path) else revision

    def group(self) -> dict[str, Any]:
        """The store's group: model, revision and length decide a score; a folder is known by the sha256 of its weights."""
        revision = self.revision if not isinstance(self.source, Path) else _folder_identity(str(self.source))
        name = self.model.rstrip("/").split("/")[-1] if isinstance(self.source, Path) else self.model
        return {"kind": HUB, "model": name, "revision": revision, "precision": "fp32", "decoding": {"max_length": self.max_length, "activation": "none"}}

    def opened(self) -> Any:
        """The loaded CrossEncoder; raises WeightsError where it cannot be had, ValueError for a model with several labels."""
        if self._loaded is None:
            from sentence_transformers import CrossEncoder
            from torch.nn import Identity

            with weights.loading(self.model):
                # logits as they are: by default one label is squashed by a sigmoid, and differences near 0 and 1 are lost to rounding
                model = CrossEncoder(str(self.source), revision=self.revision, device=self.device, max_length=self.max_length, activation_fn=Identity())
            if model.num_labels != 1:
                raise ValueError(f"{self.model} has {model.num_labels} labels; a reranker gives one score, choose a model with num_labels 1")
            self._loaded = model
        return self._loaded

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Logits in the order given."""
        found = self.opened().predict(list(pairs), batch_size=self.batch_size, show_progress_bar=False)
        return [float(value) for value in found]

    def tokens(self, pairs: Sequence[Pair]) -> list[int]:
        """Tokens read of each pair, special ones included, cut at ``max_length``."""
        if not pairs:
            return []
        made = self._tokenizer()([a for a, _ in pairs], [b for _, b in pairs], truncation=True, max_length=self.max_length)
        return [len(ids) for ids in made["input_ids"]]


    def _tokenizer(self) -> Any:
        """The tokenizer alone: stored scores load no model."""
        if self._words is None:
            from transformers import AutoTokenizer

            with weights.loading(self.model):
                self._words = AutoTokenizer.from_pretrained(str(self.source), revision=self.revision)
        return self._words


@lru_cache(maxsize=8)
def _folder_identity(folder: str) -> str:
    from lib.cross_encoder_model import sha256_of

    files = sorted(Path(folder).glob("*.safetensors")) or sorted(Path(folder).glob("*.bin"))
    if not files:
        raise weights.WeightsMissing(f"{Path(folder).name} holds no weights (*.safetensors); name a folder that save_pretrained wrote, or a hub id")
    return "sha256:" + "+".join(sha256_of(f)[:16] for f in files)


def hub_cross_encoder(model: str, store: Store | None = None, revision: str | None = None, max_length: int = 512, device: str = "cpu",
                      batch_size: int = 32, scorer: Any = None) -> Pointwise:
    """A cross-encoder of the hub (or a folder in its form) as a reranker; raises ValueError for what can be no model, WeightsError at the first use."""
    ready, kept = scorer or HubScorer(model, revision, max_length, device, batch_size), store or Store()
    return Pointwise(model.rstrip("/").split("/")[-1], lambda pairs: stored_scores(pairs, ready, kept, batch_size), ready.tokens)


def stored_scores(pairs: Sequence[Pair], scorer: Any, store: Store, batch_size: int = 32) -> list[float]:
    """The score of each pair to six digits, NaN for a blank text: stored ones first, the rest scored longest first and stored batch by batch."""
    group = scorer.group()
    keys = {pair: entry_key(group, list(pair)) for pair in map(tuple, pairs) if told(pair[0]) and told(pair[1])}
    values = store.get_sound(group, keys.values(), lambda _, value: is_number(value))
    missing = sorted((p for p, k in keys.items() if k not in values), key=lambda p: (-len(p[0]) - len(p[1]), p))
    for start in range(0, len(missing), batch_size):
        batch = missing[start:start + batch_size]
        new = {keys[p]: _finite(s, group) for p, s in zip(batch, scorer.score(batch), strict=True)}
        store.put_many(group, new)
        values.update(new)
    return [values[keys[tuple(pair)]] if tuple(pair) in keys else math.nan for pair in pairs]


def _finite(score: float, group: Mapping[str, Any]) -> float:
    if not math.isfinite(score):
        raise weights.WeightsError(f"{group['model']} gave {score}: its weights are damaged, or its precision is too low for its scores")
    return float(f"{score:.6g}")

