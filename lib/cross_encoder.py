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
from pathlib import Path
from typing import Any, Protocol

from lib.cross_encoder_model import CrossEncoder, Pair, load_model, load_tokenizer, sha256_of, usable
from lib.recorded import entry_key
from lib.store import Store
from lib.tables import ROOT
from lib.weights import MANIFEST, WeightsError, WeightsMissing, damage
from lib.whole import is_number

log = logging.getLogger(__name__)
CARDS = ROOT / "data" / "results" / "models"
TRAINED = ROOT / "data" / "cache" / "trained"
DIGITS = 6  # significant digits of a stored score: the last bits depend on the batch


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
    except (OSError, ValueError, KeyError, TypeError) as error:
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
    values = store.get_sound(group, keys.values(), lambda _, score: is_number(score))
    missing = sorted((pair for pair, key in keys.items() if key not in values), key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
    if missing:
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
