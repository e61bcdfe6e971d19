"""A registry of units that rolls back the whole of one or nothing (document 001, "Release gates"): what a unit is, says `lib.rollout_reading`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib.rollout_reading import PARTS, Unit, digest, json_once, read, reading, unit_of
from lib.tables import write_atomically
from lib.whole import is_whole

__all__ = ["PARTS", "Registry", "Unit", "digest", "json_once", "mixture", "opened", "read", "read_registry", "reading", "released", "rolled_back", "unit_of",
           "write_registry"]
SCHEMA = 1


class Registry(NamedTuple):
    """Known units by id, which was in force when, the last one now, and the places in that history that are rollbacks; `write_registry` keeps it as JSON."""

    units: Mapping[str, Unit]
    history: tuple[str, ...]
    rollbacks: tuple[int, ...] = ()

    @property
    def active(self) -> Unit:
        """The unit in force."""
        return self.units[self.history[-1]]

    @property
    def standing(self) -> tuple[str, ...]:
        """The releases that no rollback took back, the last in force: what a rollback walks down, so that none puts a unit back that another took away."""
        return _standing(self.history, self.rollbacks)


def _standing(history: Sequence[str], rollbacks: Sequence[int]) -> tuple[str, ...]:
    """The standing releases after each step; ValueError for a step that is neither the release of another unit nor a rollback to the one before."""
    stack: list[str] = []
    for at, key in enumerate(history):
        if at in rollbacks:
            stack.pop()
        if (stack[-1:] == [key]) != (at in rollbacks):
            raise ValueError(f"step {at} of the history is {'no rollback to the unit before' if at in rollbacks else 'a release of what was in force'}")
        if at not in rollbacks:
            stack.append(key)
    return tuple(stack)


def opened(unit: Unit) -> Registry:
    """A registry whose first unit is in force."""
    return Registry({unit.id: unit}, (unit.id,))


def released(registry: Registry, unit: Unit) -> Registry:
    """The registry with ``unit`` in force; ValueError where it is already: a rollback would then go back to what was to be left."""
    if unit.id == registry.history[-1]:
        raise ValueError(f"unit {unit.name!r} ({unit.id}) is in force already; release another one, or nothing")
    return registry._replace(units={**registry.units, unit.id: unit}, history=(*registry.history, unit.id))


def rolled_back(registry: Registry, parts: Sequence[str] = PARTS) -> Registry:
    """The registry with the unit before in force, whole; again: the one before that. Raises ValueError where none is left, and for fewer than all three parts.

    >>> old, new, newest = (Unit(n, {"name": n}, {"max_length": 192}, reading()) for n in "abc")
    >>> once = rolled_back(released(released(opened(old), new), newest))
    >>> once.active.name, rolled_back(once).active.name
    ('b', 'a')
    """
    standing = registry.standing
    if set(parts) != set(PARTS):
        mixed = mixture(registry, parts).id if set(parts) < set(PARTS) and len(standing) > 1 else "none"
        raise ValueError(f"a rollback restores {', '.join(PARTS)} together, got {', '.join(parts) or 'nothing'}: that would be a third system "
                         f"({mixed}), which no gate has seen; release it as a unit of its own, or roll back all three")
    if len(standing) < 2:
        raise ValueError(f"there is no unit before {registry.active.name!r} to roll back to: nothing earlier is left; release a unit instead")
    return registry._replace(history=(*registry.history, standing[-2]), rollbacks=(*registry.rollbacks, len(registry.history)))


def mixture(registry: Registry, parts: Sequence[str]) -> Unit:
    """The system that a rollback of only these ``parts`` would make: what nobody tested. For showing, never for release by `rolled_back`."""
    standing = registry.standing
    if len(standing) < 2 or not set(parts) <= set(PARTS):
        raise ValueError(f"a mixture takes parts of {', '.join(PARTS)} from the unit before, got {', '.join(parts)} and {len(standing)} units to go back over")
    before, now = registry.units[standing[-2]], registry.active
    return now._replace(name=f"{now.name} with the {' and '.join(parts)} of {before.name}", **{part: getattr(before, part) for part in parts})


def write_registry(registry: Registry, path: Path) -> Path:
    """The registry as JSON, in one step."""
    units = {key: unit._asdict() for key, unit in registry.units.items()}
    told = {"schema": SCHEMA, "units": units, "history": list(registry.history), "rollbacks": list(registry.rollbacks)}
    text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    return write_atomically(Path(path), lambda p: Path(p).write_text(text, encoding="utf-8"))


def read_registry(path: Path) -> Registry:
    """The registry of a file; raises ValueError where it is missing, damaged, a unit's content does not give its id, or the history cannot have happened."""
    path, mend = Path(path), "restore it from the last good copy"
    try:
        told = json_once(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"the registry {path.name} is not there; write_registry makes one") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"the registry {path.name} is damaged ({error}); {mend}") from error
    if not isinstance(told, dict) or told.get("schema") != SCHEMA or not isinstance(told.get("units"), dict):
        raise ValueError(f"the registry {path.name} must hold schema {SCHEMA}, units, history and rollbacks; {mend}")
    history, rollbacks = told.get("history"), told.get("rollbacks")
    if not _list_of(history, lambda h: isinstance(h, str)) or not history or not _list_of(rollbacks, lambda at: is_whole(at, 1) and at < len(history)):
        raise ValueError(f"the registry {path.name}: history must be a list of unit ids and rollbacks one of places in it, got {history!r:.60} and "
                         f"{rollbacks!r:.60}; {mend}")
    try:
        units = {key: unit_of(unit, f"unit {key}") for key, unit in told["units"].items()}
        changed = [key for key, unit in units.items() if unit.id != key]
        _standing(history, rollbacks)
    except ValueError as error:
        raise ValueError(f"the registry {path.name}: {error}; {mend}") from error
    if lost := changed or [h for h in history if h not in units]:
        raise ValueError(f"the registry {path.name}: {'the content of' if changed else 'the history names'} unit {lost[0]} "
                         f"{'was changed after it was registered' if changed else 'that is not there'}; {mend}")
    return Registry(units, tuple(history), tuple(rollbacks))


def _list_of(value: object, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))
