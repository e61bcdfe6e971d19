"""The gate file: thresholds set from consequence, read and checked (document 001, "Release gates"; SPEC 11)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lib.declarations_downstream import MEASURES
from lib.rollout_yaml import read_once
from lib.tables import ROOT
from lib.viability_requirement import EVERY, REST, Requirement, parse
from lib.whole import check_whole, is_number

GATES_FILE = ROOT / "lib" / "recipes" / "release_gates.yaml"
VERSION = 1
GATES = ("sufficiency", "headroom", "capture", "regressions", "latency_p95", "downstream")
LIMITS = {  # each threshold's range, ends left out where nothing could be shown there
    "sufficiency": (0.0, 1.0, False),
    "headroom": (0.0, 1.0, True),
    "capture": (-1.0, 1.0, True),
    "regressions": (0.0, 1.0, False),
    "latency_p95": (0.0, 600.0, False),
    "downstream": (-1.0, 1.0, True),
}
UNITS = {"latency_p95": "; it is in seconds, not milliseconds"}
TOP = ("version", "alpha", "family", "places", "least_questions", "metric", "consequences", "slices", "canary")
SLICE = ("consequence", "requirement", "evidence", "volume")
CANARY = ("share", "seed", "alpha", "harm", "look_every")
FAMILIES = ("slice", "release")
METRICS = tuple(name for name in MEASURES if name != "n_tokens")  # what is a share, 0 to 1 a question


class Slice(NamedTuple):
    """What one slice's decision asks: its thresholds by gate, the evidence required (and in words), questions a year (0: unknown)."""

    consequence: str
    thresholds: Mapping[str, float]
    requirement: Requirement
    evidence: str
    volume: int


class Canary(NamedTuple):
    """How a canary is drawn and watched; see the gate file."""

    share: float
    seed: int
    alpha: float
    harm: float
    look_every: int


class Parameters(NamedTuple):
    """The gate file as read; ``slices`` always holds ``*``."""

    alpha: float
    family: str
    places: int
    least_questions: int
    metric: str
    slices: Mapping[str, Slice]
    canary: Canary

    def of(self, name: str) -> Slice:
        """A slice's block; that of ``*`` where it has none."""
        return self.slices.get(name, self.slices[REST])


def read_parameters(path: Path = GATES_FILE) -> Parameters:
    """The gate file; raises ValueError, with the place to mend, for what is missing, unknown, repeated, of a wrong type or out of range."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"the gate file {path.name} is not there; copy lib/recipes/{GATES_FILE.name} and set your own thresholds") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is no YAML file that can be read: {error}") from error
    try:
        return parameters_of(read_once(text, path.name), path.name)
    except RecursionError as error:  # a message that shows a value nested without end
        raise ValueError(f"{path.name}: a value is nested too deeply; give each key the plain value it takes") from error


def parameters_of(told: Any, name: str = "gate file") -> Parameters:
    """`Parameters` from a mapping in the file's form; raises ValueError as `read_parameters`."""
    block = _block(told, TOP, name)
    if block["version"] != VERSION or isinstance(block["version"], bool):
        raise ValueError(f"{name}: version must be {VERSION}, got {block['version']!r}; another form needs another reader")
    if block["family"] not in FAMILIES:
        raise ValueError(f"{name}: family must be one of {', '.join(FAMILIES)}, got {block['family']!r}")
    check_whole(f"{name}: places", block["places"], 1)
    check_whole(f"{name}: least_questions", block["least_questions"], 2)
    consequences = {key: _thresholds(value, f"{name}: consequences: {key}") for key, value in _named(block["consequences"], f"{name}: consequences").items()}
    slices = {key: _slice(value, consequences, f"{name}: slices: {key}") for key, value in _named(block["slices"], f"{name}: slices").items()}
    if EVERY in slices:
        raise ValueError(f'{name}: slices: {EVERY} is the name of all questions together, whose block is "{REST}"; call the slice otherwise')
    if REST not in slices:
        raise ValueError(f'{name}: slices must hold "{REST}", which stands for every slice that is not named; got {", ".join(slices)}')
    watched = _block(block["canary"], CANARY, f"{name}: canary")
    share = _number(watched["share"], 0, 1, False, f"{name}: canary: share", closed=True)
    harm = _number(watched["harm"], 0, 1, False, f"{name}: canary: harm")
    check_whole(f"{name}: canary: seed", watched["seed"], 0)
    check_whole(f"{name}: canary: look_every", watched["look_every"], 1)
    canary = Canary(share, watched["seed"], _number(watched["alpha"], 0, 0.5, False, f"{name}: canary: alpha"), harm, watched["look_every"])
    alpha = _number(block["alpha"], 0, 0.5, False, f"{name}: alpha")
    if block["metric"] not in METRICS:
        raise ValueError(f"{name}: metric must be one of {', '.join(METRICS)} (columns of the downstream table), got {block['metric']!r}")
    return Parameters(alpha, block["family"], block["places"], block["least_questions"], block["metric"], slices, canary)


def _slice(told: Any, consequences: Mapping[str, Mapping[str, float]], where: str) -> Slice:
    block = _block(told, SLICE, where)
    if not isinstance(block["consequence"], str) or block["consequence"] not in consequences:
        raise ValueError(f"{where}: consequence must be one of {', '.join(consequences)}, got {block['consequence']!r}")
    check_whole(f"{where}: volume", block["volume"], 0, mend=" (questions a year; 0: unknown)")
    if "@" in str(block["requirement"]):
        raise ValueError(f"{where}: requirement takes no share, got {block['requirement']!r}: the share of questions that must have the evidence is the "
                         "sufficiency of the consequence; write it there")
    try:
        requirement = parse(str(block["requirement"]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    return Slice(block["consequence"], consequences[block["consequence"]], requirement, _text(block["evidence"], f"{where}: evidence"), block["volume"])


def _thresholds(told: Any, where: str) -> dict[str, float]:
    block = _block(told, GATES, where)
    return {gate: _number(block[gate], *LIMITS[gate], f"{where}: {gate}", mend=UNITS.get(gate, "")) for gate in GATES}


def _named(told: Any, where: str) -> dict[str, Any]:
    if not isinstance(told, dict) or not told or not all(isinstance(key, str) and key.strip() for key in told):
        raise ValueError(f"{where} must be a block of names, each with its own block, got {told!r}")
    return told


def _block(told: Any, keys: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise ValueError(f"{where} must be a block with {', '.join(keys)}, got {told!r}")  # noqa: TRY004
    lost, strange = [k for k in keys if k not in told], [k for k in told if k not in keys]
    if lost or strange:
        said = [f"{what} {', '.join(map(str, names))}" for what, names in (("is missing", lost), ("has the unknown", strange)) if names]
        raise ValueError(f"{where} {' and '.join(said)}; it takes {', '.join(keys)}")
    return told


def _number(value: Any, low: float, high: float, ends: bool, where: str, closed: bool = False, mend: str = "") -> float:
    """A number between the limits: both ends included (``ends``), the upper alone (``closed``), or neither."""
    inside = is_number(value) and (low <= value <= high if ends else low < value <= high if closed else low < value < high)
    if not inside:
        left, right = "[" if ends else "(", "]" if ends or closed else ")"
        raise ValueError(f"{where} must be a number in {left}{low:g}, {high:g}{right}, got {value!r}{mend}")
    return float(value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where} must be a text, got {value!r}")
    return value.strip()
