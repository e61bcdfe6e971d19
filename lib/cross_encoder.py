"""A cross-encoder: one BERT that reads two texts together and gives a logit; its scores are kept in the store (SPEC 5, 11).

The models are trained here, from MiniLM (``python -m lib.train_cross_encoder``); they are no published "ms-marco MiniLM". A score is a logit,
not a probability: 0 is no threshold, and scores of two questions are comparable only as far as the model card's calibration says.
"""
from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from lib.recorded import entry_key
from lib.store import Store
from lib.tables import ROOT
from lib.weights import MANIFEST, WeightsError, WeightsMissing, damage, loading

log = logging.getLogger(__name__)
CARDS = ROOT / "data" / "results" / "models"
TRAINED = ROOT / "data" / "cache" / "trained"
LEAST_PASSAGE = 16  # tokens of the second text that stay beside a long first one
LONGEST = 512       # places that BERT has
DIGITS = 6          # significant digits of a stored score: the last bits depend on the batch
Pair = tuple[str, str]


class CrossEncoderError(WeightsMissing):
    """A trained cross-encoder, or its card, is not there or not the one that the card tells of."""


class Scorer(Protocol):
    """Gives each pair of texts a score, higher is more relevant."""

    def score(self, pairs: Sequence[Pair]) -> list[float]: ...


def mend(name: str) -> str:
    """What to run where the model ``name`` is missing."""
    return f"run `python -m lib.train_cross_encoder {name}` (training files in data/raw/train, see data/raw/README.md)"


def read_card(name: str, cards: Path = CARDS) -> dict[str, Any]:
    """The committed model card of a trained cross-encoder; raises CrossEncoderError where it is missing or damaged."""
    path = cards / f"{name}.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))["model"]
        _ = card["sha256"], card["recipe"]["training"]["max_length"]  # what a store key needs
    except FileNotFoundError as error:
        there = ", ".join(sorted(p.stem for p in cards.glob("*.json"))) or "none"
        raise CrossEncoderError(f"cross-encoder {name!r} has no card in data/results/models (there: {there}); {mend(name)}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CrossEncoderError(f"{path.name} is no model card ({error!r}); restore it with `git checkout -- data/results/models/{path.name}`, "
                                f"or {mend(name)}") from error
    return card


def cross_encoder_group(spec: Mapping[str, Any], cards: Path = CARDS) -> dict[str, Any]:
    """The store's group of a specification {"model": name}: the revision is the sha256 of the weights that the card tells.

    Raises ValueError for a wrong specification, CrossEncoderError without a card.
    """
    unknown = set(spec) - {"model", "precision"}
    if unknown or not isinstance(spec.get("model"), str) or spec.get("precision", "fp32") != "fp32":
        raise ValueError(f"a cross-encoder is named as {{'model': 'reranker'}} and runs in fp32, got {dict(spec)}")
    card = read_card(spec["model"], cards)
    return {"kind": "cross_encoder", "model": spec["model"], "revision": f"sha256:{card['sha256']}", "precision": "fp32",
            "decoding": {"max_length": card["recipe"]["training"]["max_length"]}}


def usable(pair: Pair) -> bool:
    """Whether both texts of a pair say something; a missing text is no text.

    >>> usable(("eels?", " ")), usable(("eels?", None)), usable(("eels?", "Eels."))
    (False, False, True)
    """
    return all(isinstance(text, str) and text.strip() for text in pair)


def pair_keys(pairs: Sequence[Pair], spec: Mapping[str, Any], cards: Path = CARDS) -> list[str]:
    """The store's keys of the pairs that can be scored, without repeats: what ``Store.export`` is handed."""
    group = cross_encoder_group(spec, cards)
    return list(dict.fromkeys(entry_key(group, list(pair)) for pair in pairs if usable(pair)))


def score_pairs(pairs: Sequence[Pair], spec: Mapping[str, Any], store: Store, batch_size: int = 32, progress: bool = True,
                scorer: Scorer | None = None, cards: Path = CARDS, trained: Path = TRAINED) -> list[float]:
    """The logit of each pair, in order, to six significant digits; NaN where a text is missing or blank (nothing is stored for it).

    Stored scores load no model. The rest are scored in batches of similar length and stored batch by batch, so that a killed run resumes.
    ``scorer`` is an open model to use instead of loading ``spec``'s. Raises CrossEncoderError where the model is needed and not there.
    """
    group = cross_encoder_group(spec, cards)
    keys = {tuple(pair): entry_key(group, list(pair)) for pair in pairs if usable(pair)}
    values = store.get_many(keys.values())
    missing = sorted((pair for pair, key in keys.items() if key not in values), key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
    log.info("%s: %d pairs, %d distinct, %d to score", group["model"], len(pairs), len(keys), len(missing))
    if missing:
        ready = scorer or open_cross_encoder(spec["model"], cards, trained)
        for batch in _batches(missing, batch_size, progress):
            new = {keys[pair]: _stored(score) for pair, score in zip(batch, ready.score(batch), strict=True)}
            store.put_many(group, new)
            values.update(new)
    return [values[keys[tuple(pair)]] if usable(pair) else math.nan for pair in pairs]


def _stored(score: float) -> float:
    if not math.isfinite(score):
        raise CrossEncoderError(f"the cross-encoder gave {score}: its weights are damaged; delete its folder in data/cache/trained and train it again")
    return float(f"{score:.{DIGITS}g}")


def _batches(pairs: Sequence[Pair], batch_size: int, progress: bool):
    from tqdm import tqdm

    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(pairs), unit="pair", disable=quiet) as bar:
        for start in range(0, len(pairs), batch_size):
            batch = pairs[start:start + batch_size]
            yield batch
            bar.update(len(batch))
            if quiet and progress and (start // batch_size) % 20 == 19:
                log.info("%d of %d pairs scored", start + len(batch), len(pairs))


class CrossEncoder:
    """A loaded model with its tokenizer (of the library ``tokenizers``)."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model, self.tokenizer, self.max_length = model.eval(), tokenizer, max_length

    def score(self, pairs: Sequence[Pair], batch_size: int = 32) -> list[float]:
        """Logits in the order given; batches are made of pairs of similar length, NaN for a pair without a text."""
        import torch

        places = [i for i, pair in enumerate(pairs) if usable(pair)]
        encoded = encode_pairs(self.tokenizer, [pairs[i] for i in places], self.max_length)
        order = sorted(range(len(places)), key=lambda i: (-len(encoded[i][0]), encoded[i]))
        scores = [math.nan] * len(pairs)
        with torch.inference_mode():
            for start in range(0, len(order), batch_size):
                batch = order[start:start + batch_size]
                logits = self.model(**padded([encoded[i] for i in batch])).logits[:, 0]
                for i, logit in zip(batch, logits.tolist()):
                    scores[places[i]] = logit
        return scores


def encode_pairs(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> list[tuple[list[int], int]]:
    """[CLS] first [SEP] second [SEP] as token ids, and how many of them belong to the first text.

    Only the second text is cut; where the first leaves it fewer than 16 tokens of ``max_length``, the pair grows beyond. Raises ValueError
    for a first text that BERT's 512 places cannot hold.
    """
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first, second = ([e.ids for e in tokenizer.encode_batch([pair[i] for pair in pairs], add_special_tokens=False)] for i in (0, 1))
    made = []
    for (text, _), a, b in zip(pairs, first, second, strict=True):
        room = max(max_length - 3 - len(a), LEAST_PASSAGE)
        if len(a) + room + 3 > LONGEST:
            raise ValueError(f"a question has {len(a)} tokens, at most {LONGEST - LEAST_PASSAGE - 3} fit beside a passage: {text[:60]!r}...; shorten it")
        made.append(([cls, *a, sep, *b[:room], sep], len(a) + 2))
    return made


def padded(batch: Sequence[tuple[Sequence[int], int]]) -> dict[str, Any]:
    """A batch of ``encode_pairs`` as the model's tensors, padded to its longest pair: input_ids, token_type_ids, attention_mask."""
    import torch

    longest = max(len(ids) for ids, _ in batch)
    rows = [([*ids, *[0] * (longest - len(ids))], [0] * n + [1] * (len(ids) - n) + [0] * (longest - len(ids)), [1] * len(ids) + [0] * (longest - len(ids)))
            for ids, n in batch]
    return {name: torch.tensor([row[i] for row in rows]) for i, name in enumerate(("input_ids", "token_type_ids", "attention_mask"))}


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer.json of a folder, neither cutting nor padding."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def load_model(folder: Path) -> Any:
    """BERT with one output from a folder, in fp32; raises WeightsError where it cannot be loaded."""
    import torch
    from transformers import BertForSequenceClassification

    with loading(folder.name), quiet():
        return BertForSequenceClassification.from_pretrained(str(folder), num_labels=1, dtype=torch.float32)


@contextmanager
def quiet():
    """Transformers reports at length that the output layer is new, which is the point."""
    from transformers.utils import logging as noise

    before, bars = noise.get_verbosity(), noise.is_progress_bar_enabled()
    noise.set_verbosity_error()
    noise.disable_progress_bar()
    try:
        yield
    finally:
        noise.set_verbosity(before)
        if bars:
            noise.enable_progress_bar()


def open_cross_encoder(name: str, cards: Path = CARDS, trained: Path = TRAINED) -> CrossEncoder:
    """The trained model that the card tells of; raises CrossEncoderError where it is missing or another, WeightsError where it is damaged."""
    card, folder = read_card(name, cards), trained / name
    if not folder.is_dir():
        raise CrossEncoderError(f"cross-encoder {name!r} is not trained here, and some pairs are not in the recorded scores; {mend(name)}")
    wrong = damage(folder) if (folder / MANIFEST).exists() else f"{MANIFEST} is not there"
    if wrong:
        raise WeightsError(f"cross-encoder {name!r} is damaged: {wrong}; delete data/cache/trained/{name} and {mend(name)}")
    here = sha256_of(folder / "model.safetensors")
    if here != card["sha256"]:
        raise CrossEncoderError(f"cross-encoder {name!r}: the card tells of weights {card['sha256'][:12]}, data/cache/trained holds {here[:12]} "
                                f"(another machine's arithmetic trains other bits); to score with these, let the card be written anew: {mend(name)}")
    return CrossEncoder(load_model(folder), load_tokenizer(folder), card["recipe"]["training"]["max_length"])


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
