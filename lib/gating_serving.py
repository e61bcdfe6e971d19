"""The gate as a file: plain JSON with everything a decision needs, checked when it is read (document 002, section 3; SPEC 12).

No pickle: nothing in the file can run. A checksum over its content finds a truncated or edited file, the hash of the feature schema one that was learned from
other features, and the version one of another form. ``lib.gating_serving_decide`` reads it.
"""
from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lib.gating_choose import RULES, Rule
from lib.gating_features import NAMES, SCHEMA
from lib.gating_inputs import QuestionSet
from lib.gating_models import FULL, Grid, design
from lib.gating_select import Gate, select
from lib.gating_serving_models import checked, checked_summary, exported
from lib.gating_serving_parts import norm_of, student_in, taught
from lib.graph_list_distilled import Student
from lib.tables import write_atomically
from lib.whole import is_number, is_whole

VERSION = 2
BINS = 10  # of the training summary, by deciles
CONSTANT = ("always", "never", "refused")
FIELDS = ("version", "schema", "features", "dataset", "k", "rule", "model", "label", "fallback", "threshold", "slope", "intercept", "base_rate",
          "numbers", "centre", "directions", "encoder", "norm", "student", "inputs", "training")
MEND = "save the gate again with lib.gating_serving.save"


class ArtefactError(ValueError):
    """A file that is no gate this library can serve; the message names the file, what was found, what was expected and the mend."""


class Served(NamedTuple):
    """A gate read back: ``model`` lr, rf, gbm or one of CONSTANT; ``numbers`` the model's; ``inputs`` the training summary of every column it sees.

    ``encoder``: who makes the question's vector ("": not told), ``norm``: the length that all training vectors had, NaN where they differed; ``student``: of the
    list D (``graph_list_distilled``), None where the gate does not fall back on it or it was not given.
    """

    dataset: str
    k: int
    rule: str
    model: str
    label: str
    fallback: str
    threshold: float
    slope: float
    intercept: float
    base_rate: float
    numbers: dict[str, Any]
    centre: np.ndarray
    directions: np.ndarray
    encoder: str
    norm: float
    student: Student | None
    inputs: dict[str, dict[str, Any]]
    training: dict[str, Any]


def final_gate(data: QuestionSet, k: int, rule: Rule = RULES[2], grid: Grid = FULL, seed: int = 0) -> Gate:
    """The gate to deploy: chosen as in each outer fold, from all questions. What it is worth, the nested run has told."""
    return select(data, np.arange(len(data.qids)), (k,), (rule,), grid, seed)[0][0]


def content_of(gate: Gate, data: QuestionSet, encoder: str = "", student: Student | None = None) -> dict:
    """The artefact of ``gate``, learned from the questions ``data``, as plain values. Raises ValueError for a model that cannot be served.

    ``encoder``: the name of who made the vectors; ``student``: of list D, fitted on these questions, kept where the gate falls back on it.
    """
    c, scorer = gate.choice, gate.scorer
    x = data.features if scorer is None else design(data.features, data.vectors, scorer.basis)
    names = [*NAMES, *(f"pca_{i + 1}" for i in range(x.shape[1] - len(NAMES)))]
    if len(names) != x.shape[1] or data.features.shape[1] != len(NAMES):
        raise ValueError(f"a gate of {data.features.shape[1]} features cannot be served: the features of serving are the {len(NAMES)} of lib.gating_features")
    numbers = {} if scorer is None else {n: np.asarray(v).tolist() for n, v in exported(scorer.model, c.model).items()}
    return {"version": VERSION, "schema": SCHEMA, "features": list(NAMES), "dataset": c.dataset, "k": int(c.k), "rule": c.rule,
            "model": c.model, "label": c.label, "fallback": c.fallback, "threshold": _plain(c.cut.threshold), "slope": _plain(c.slope),
            "intercept": _plain(c.intercept), "base_rate": _plain(c.base_rate), "numbers": numbers,
            "centre": [] if scorer is None else scorer.basis.centre.tolist(),
            "directions": [] if scorer is None else scorer.basis.directions.T.tolist(),
            "encoder": encoder, "norm": norm_of(data.vectors), "student": taught(student) if c.fallback == "D" else None,
            "inputs": [{"name": name, **summary(column)} for name, column in zip(names, x.T)],
            "training": {"n": int(c.n), "positives": int(c.positives), "skip": float(c.cut.skip), "delta": float(c.cut.delta),
                         "expected": float(c.cut.expected), "harmful": int(c.cut.harmful), "beneficial": int(c.cut.beneficial)}}


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def summary(column: np.ndarray) -> dict:
    """Range, inner bin edges at the training deciles (those that differ) and the training share of each bin, for the drift check.

    >>> summary(np.array([0.0, 0.0, 1.0, 1.0]))["shares"]
    [0.5, 0.5]
    """
    edges = np.unique(np.quantile(column, np.arange(1, BINS) / BINS, method="lower"))
    edges = edges[edges < column.max()]
    return {"low": float(column.min()), "high": float(column.max()), "edges": edges.tolist(), "shares": shares(column, edges).tolist()}


def shares(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Share of values in each bin: up to the first edge, above it up to the second, ..., above the last."""
    return np.bincount(np.searchsorted(edges, column, side="left"), minlength=len(edges) + 1) / max(len(column), 1)


def save(gate: Gate, data: QuestionSet, path: Path | str, encoder: str = "", student: Student | None = None) -> Path:
    """Write the artefact (``content_of``); the same bytes for the same gate. Returns the path."""
    body = _text(content_of(gate, data, encoder, student))
    text = _text({"checksum": _sum(body), "gate": json.loads(body)})
    write_atomically(Path(path), lambda p: Path(p).write_text(text, encoding="utf-8"))
    return Path(path)


def _text(content: dict) -> str:
    return json.dumps(content, sort_keys=True, allow_nan=False)


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def load(path: Path | str) -> Served:
    """Read an artefact. Raises ArtefactError for a file that is absent, truncated, edited, of another version or schema, or whose model is none.

    All of it is checked once, here, so that a decision checks nothing but its own question.
    """
    path = Path(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number, parse_float=_finite)
    except OSError as error:
        raise ArtefactError(f"gate artefact {path.name}: cannot be read ({error.strerror}); {MEND}") from error
    except (ValueError, RecursionError) as error:  # JSON and UTF-8, and what is nested without end
        raise ArtefactError(f"gate artefact {path.name}: no whole JSON ({error}), expected the text that save wrote; {MEND}") from error
    content = found.get("gate") if isinstance(found, dict) else None
    if not isinstance(content, dict) or content.get("version") != VERSION:
        got = content.get("version") if isinstance(content, dict) else "no gate"
        raise ArtefactError(f"gate artefact {path.name}: version {got!r}, expected {VERSION}; {MEND}")
    if content.get("schema") != SCHEMA:
        raise ArtefactError(f"gate artefact {path.name}: feature schema {content.get('schema')!r}, this library computes {SCHEMA!r}; "
                            f"learn the gate again and {MEND}")
    try:
        whole = _sum(_text(content)) == found.get("checksum")
        served = _served(content) if whole else None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ArtefactError(f"gate artefact {path.name}: {error}; {MEND}") from error
    if served is None:
        raise ArtefactError(f"gate artefact {path.name}: its content does not give its checksum, so it was changed after it was written; {MEND}")
    return served


def _no_number(literal: str) -> float:
    raise ValueError(f"the number {literal} is none of JSON")


def _finite(literal: str) -> float:
    if not np.isfinite(value := float(literal)):
        raise ValueError(f"the number {literal} is beyond every float")
    return value


def _served(content: dict) -> Served:
    if wrong := sorted(set(FIELDS) ^ set(content)):
        raise ValueError(f"fields {wrong} are missing or too many")
    for name in ("dataset", "rule", "model", "label", "fallback", "encoder"):
        if not isinstance(content[name], str):
            raise ValueError(f"{name} is {content[name]!r}, expected text")
    if not is_whole(content["k"], 1) or content["features"] != list(NAMES):
        raise ValueError(f"k is {content['k']!r}, expected a whole number of 1 or more, and the features those of lib.gating_features")
    constant = content["model"] in CONSTANT
    centre = np.array(content["centre"], float)
    directions = np.array(content["directions"], float).reshape(len(content["directions"]), len(centre)).T
    if not np.isfinite(centre).all() or not np.isfinite(directions).all():
        raise ValueError("centre or directions hold what is no number")
    numbers = {} if constant else checked(content["numbers"], content["model"], len(NAMES) + directions.shape[1])
    if content["fallback"] not in ("H", "D", "none") or (content["label"] not in ("rerank_helps", "fallback_has_gold") and not constant):
        raise ValueError(f"fallback {content['fallback']!r} or label {content['label']!r} is none")
    if content["fallback"] == "none" and content["model"] not in ("never", "refused"):
        raise ValueError(f"a gate of model {content['model']} may skip, but has no fallback")
    values = {n: _number(n, content[n]) for n in ("threshold", "slope", "intercept", "base_rate", "norm")}
    if values["norm"] < 0:
        raise ValueError(f"norm is {values['norm']}, expected the length of a vector")
    if not np.isnan(values["base_rate"]) and not 0 <= values["base_rate"] <= 1:
        raise ValueError(f"base_rate is {values['base_rate']}, expected a share")
    if not constant and any(np.isnan(values[n]) for n in ("threshold", "slope", "intercept")):
        raise ValueError(f"a model of kind {content['model']} needs threshold, slope and intercept")
    inputs = checked_summary(content["inputs"], NAMES, len(NAMES) + directions.shape[1])
    if not is_whole(content["training"]["n"], 0):
        raise ValueError(f"training.n is {content['training']['n']!r}, expected how many questions the gate was learned from")
    rest = {n: content[n] for n in ("dataset", "rule", "model", "label", "fallback", "encoder", "training")}
    return Served(k=int(content["k"]), **rest, **values, student=student_in(content["student"]), numbers=numbers, centre=centre, directions=directions, inputs=inputs)


def _number(name: str, value: object) -> float:
    if value is not None and not is_number(value):
        raise ValueError(f"{name} is {value!r}, expected a number or null")
    return np.nan if value is None else float(value)
