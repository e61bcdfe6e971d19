"""One system that scores passages: model, preprocessing and score reading, hashed together (document 001, "Release gates").

A raw score means nothing by itself: how the texts were cut decides what the model read, and how its score is read decides what 0.5 means. Two units that
differ in any of the three are two systems, so a unit's name is a hash of all three.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lib.whole import is_number

PARTS = ("model", "preprocessing", "reading")
READING = ("source", "activation", "digits", "threshold")
MOST_DIGITS = 17  # a float holds no more
SOURCES, ACTIVATIONS = ("first_stage", "reranker"), ("none", "sigmoid")


class Unit(NamedTuple):
    """One system: which ``model`` (name, sha256), what it was given (``preprocessing``), and how its score is read (``reading``: see `reading`)."""

    name: str
    model: Mapping[str, Any]
    preprocessing: Mapping[str, Any]
    reading: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The first 16 hex digits of the sha256 of the three parts: any change of any of them is another unit."""
        return digest({part: getattr(self, part) for part in PARTS})[:16]

    @property
    def scorer(self) -> str:
        """The same of model and preprocessing alone: units with equal ones have the same raw scores."""
        return digest({part: getattr(self, part) for part in PARTS[:2]})[:16]


def digest(value: Any) -> str:
    """sha256 of a value as JSON, keys sorted; raises ValueError for NaN, infinity and what JSON cannot hold.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    try:
        told = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:  # ValueError: also half of a sign (a surrogate), which no file can hold
        raise ValueError(f"only sound texts, finite numbers, truth values, lists and blocks of them can be kept and hashed: {error}") from error
    return hashlib.sha256(told).hexdigest()


def json_once(text: str) -> Any:
    """A JSON text as plain data; ValueError for no JSON, for nesting without end, and for a key that stands twice in a block: one of the two would be lost.

    >>> json_once('{"places": 4}')
    {'places': 4}
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} stands twice in one block; keep one")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError as error:
        raise ValueError("its lists or blocks are nested too deeply") from error


def reading(source: str = "reranker", activation: str = "none", digits: int | None = None, threshold: float | None = None) -> dict[str, Any]:
    """How a score is read: whose (``source``), squashed or not, to how many decimals, and from what value on a passage may be shown (None: any).

    >>> reading(threshold=0.5)
    {'source': 'reranker', 'activation': 'none', 'digits': None, 'threshold': 0.5}
    """
    if source not in SOURCES or activation not in ACTIVATIONS:
        raise ValueError(f"a reading has a source of {', '.join(SOURCES)} and an activation of {', '.join(ACTIVATIONS)}, got {source!r} and {activation!r}")
    whole = isinstance(digits, int) and not isinstance(digits, bool) and 0 <= digits <= MOST_DIGITS
    if digits is not None and not whole or threshold is not None and not is_number(threshold):
        raise ValueError(f"digits is None or a whole number from 0 to {MOST_DIGITS}, threshold None or a finite number, got {digits!r} and {threshold!r}")
    return {"source": source, "activation": activation, "digits": digits, "threshold": threshold}


def read(raw: Sequence[float], how: Mapping[str, Any]) -> list[float]:
    """Raw scores as the reading has them.

    >>> read([0.0, 20.0, 30.0], reading(activation="sigmoid", digits=6))
    [0.5, 1.0, 1.0]
    """
    values = [1 / (1 + math.exp(-min(max(s, -700.0), 700.0))) for s in raw] if how["activation"] == "sigmoid" else [float(s) for s in raw]
    return values if how["digits"] is None else [round(v, how["digits"]) for v in values]


def unit_of(told: Any, where: str) -> Unit:
    """A unit from plain data; raises ValueError for a part that is missing or a reading that is none."""
    if not isinstance(told, dict) or set(told) != {"name", *PARTS} or not all(isinstance(told[p], dict) for p in PARTS):
        raise ValueError(f"{where}: a unit holds name, {', '.join(PARTS)}, got {sorted(told) if isinstance(told, dict) else told!r}")
    if set(told["reading"]) != set(READING):
        raise ValueError(f"{where}: a reading holds {', '.join(READING)}, got {sorted(told['reading'])}")
    return Unit(str(told["name"]), told["model"], told["preprocessing"], reading(**told["reading"]))
