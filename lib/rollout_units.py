"""Model, preprocessing and score reading as one versioned unit, and a registry that rolls back the whole of it or nothing (document 001, "Release gates").

A raw score means nothing by itself: how the texts were cut decides what the model read, and how its score is read decides what 0.5 means. Two units that
differ in any of the three are two systems, so a unit's name is a hash of all three.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib.tables import write_atomically
from lib.whole import is_number

SCHEMA = 1
PARTS = ("model", "preprocessing", "reading")
READING = ("source", "activation", "digits", "threshold")
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


class Registry(NamedTuple):
    """Known units by id, and which was in force when, the last one now; plain data that `write_registry` keeps as JSON."""

    units: Mapping[str, Unit]
    history: tuple[str, ...]

    @property
    def active(self) -> Unit:
        """The unit in force."""
        return self.units[self.history[-1]]


def digest(value: Any) -> str:
    """sha256 of a value as JSON, keys sorted; raises ValueError for NaN, infinity and what JSON cannot hold.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"only texts, finite numbers, truth values, lists and blocks of them can be kept and hashed: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()


def reading(source: str = "reranker", activation: str = "none", digits: int | None = None, threshold: float | None = None) -> dict[str, Any]:
    """How a score is read: whose (``source``), squashed or not, to how many decimals, and from what value on a passage may be shown (None: any).

    >>> reading(threshold=0.5)
    {'source': 'reranker', 'activation': 'none', 'digits': None, 'threshold': 0.5}
    """
    if source not in SOURCES or activation not in ACTIVATIONS:
        raise ValueError(f"a reading has a source of {', '.join(SOURCES)} and an activation of {', '.join(ACTIVATIONS)}, got {source!r} and {activation!r}")
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int) or digits < 0) or threshold is not None and not is_number(threshold):
        raise ValueError(f"digits is None or a whole number of 0 or more, threshold None or a finite number, got {digits!r} and {threshold!r}")
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


def opened(unit: Unit) -> Registry:
    """A registry whose first unit is in force."""
    return Registry({unit.id: unit}, (unit.id,))


def released(registry: Registry, unit: Unit) -> Registry:
    """The registry with ``unit`` in force."""
    return Registry({**registry.units, unit.id: unit}, (*registry.history, unit.id))


def rolled_back(registry: Registry, parts: Sequence[str] = PARTS) -> Registry:
    """The registry with the unit before in force, whole. Raises ValueError where there is none before, and for fewer than all three parts.

    >>> old, new = (Unit(n, {"name": n}, {"max_length": 192}, reading()) for n in "ab")
    >>> rolled_back(released(opened(old), new)).active.name
    'a'
    """
    if set(parts) != set(PARTS):
        mixed = mixture(registry, parts).id if set(parts) < set(PARTS) and len(registry.history) > 1 else "none"
        raise ValueError(f"a rollback restores {', '.join(PARTS)} together, got {', '.join(parts) or 'nothing'}: that would be a third system "
                         f"({mixed}), which no gate has seen; release it as a unit of its own, or roll back all three")
    if len(registry.history) < 2:
        raise ValueError(f"there is no unit before {registry.active.name!r} to roll back to")
    return registry._replace(history=(*registry.history, registry.history[-2]))


def mixture(registry: Registry, parts: Sequence[str]) -> Unit:
    """The system that a rollback of only these ``parts`` would make: what nobody tested. For showing, never for release by `rolled_back`."""
    if len(registry.history) < 2 or not set(parts) <= set(PARTS):
        raise ValueError(f"a mixture takes parts of {', '.join(PARTS)} from the unit before, got {', '.join(parts)} and {len(registry.history)} units so far")
    before, now = registry.units[registry.history[-2]], registry.active
    return now._replace(name=f"{now.name} with the {' and '.join(parts)} of {before.name}", **{part: getattr(before, part) for part in parts})


def write_registry(registry: Registry, path: Path) -> Path:
    """The registry as JSON, in one step."""
    told = {"schema": SCHEMA, "units": {key: unit._asdict() for key, unit in registry.units.items()}, "history": list(registry.history)}
    text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return write_atomically(Path(path), lambda p: Path(p).write_text(text, encoding="utf-8"))


def read_registry(path: Path) -> Registry:
    """The registry of a file; raises ValueError where it is missing, damaged, or a unit's content does not give its id."""
    path = Path(path)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"the registry {path.name} is not there; write_registry makes one") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"the registry {path.name} is damaged ({error}); restore it from the last good copy") from error
    if not isinstance(told, dict) or told.get("schema") != SCHEMA or not isinstance(told.get("units"), dict) or not told.get("history"):
        raise ValueError(f"the registry {path.name} must hold schema {SCHEMA}, units and a history; restore it from the last good copy")
    units = {key: unit_of(unit, f"{path.name}, unit {key}") for key, unit in told["units"].items()}
    changed = [key for key, unit in units.items() if unit.id != key]
    if lost := [h for h in told["history"] if h not in units] or changed:
        raise ValueError(f"the registry {path.name}: {'the content of' if changed else 'the history names'} unit {lost[0]} "
                         f"{'was changed after it was registered' if changed else 'that is not there'}; restore it from the last good copy")
    return Registry(units, tuple(told["history"]))
