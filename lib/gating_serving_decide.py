"""Serving a gate: one decision a question in well under two milliseconds, and whether the questions still look like those it learned from (document 002)."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import graph_list_distilled as distilled
from lib.gating_features import features_of
from lib.gating_models import CLIP, raw_harm
from lib.gating_serving import Served, shares
from lib.gating_serving_models import chance
from lib.gating_serving_parts import NORM
from lib.keys import check_once, keyed
from lib.ranking import QUESTION
from lib.whole import is_number

Lists = Mapping[str, Sequence[tuple[str, float]]]  # H and V as (title, score), best first
LIMIT = 0.2   # of the stability index; above it a distribution is commonly said to have moved
FLOOR = 1e-3  # of a bin's share: an empty bin would make the index infinite
SERVED = [*QUESTION, "action", "fallback", "p_harm", "drift"]
DRIFT = ["input", "index", "chance", "outside", "moved", "n"]


class Decision(NamedTuple):
    """``action``: skip or rerank; ``fallback``: the list to hand on after a skip (H, D; none: never skips); ``p_harm``: chance that a skip harms, NaN where the
    gate refused; ``drift``: inputs outside the range seen in training."""

    action: str
    fallback: str
    p_harm: float
    drift: tuple[str, ...]


def inputs_of(gate: Served, question: str, lists: Lists, vector: Sequence[float] | None = None) -> np.ndarray:
    """What the model sees of one question: the 27 features, then its vector's directions.

    Raises ValueError without H, V, or a vector that is needed, and for a score or a number of the vector that is not finite.
    """
    if not isinstance(lists, Mapping):
        raise ValueError(f"lists H and V of (title, score) are needed by name, got a {type(lists).__name__}")
    if absent := [name for name in ("H", "V") if name not in lists]:
        raise ValueError(f"lists H and V of (title, score) are needed, best first; {absent} is missing, found {sorted(lists)}")
    features = features_of(question, lists["H"], lists["V"])
    if not gate.directions.shape[1]:
        return features
    vector = np.zeros(0) if vector is None else np.asarray(vector, float)
    if vector.shape != gate.centre.shape:
        raise ValueError(f"this gate reads the question's vector of {len(gate.centre)} numbers, got {vector.size}; {_mend(gate)}")
    if not np.isfinite(vector).all():
        raise ValueError("the question's vector holds a NaN or an infinite number; encode the question again")
    if abs(float(np.linalg.norm(vector)) - gate.norm) > NORM:  # never where the norm is not known
        raise ValueError(f"the question's vector has length {np.linalg.norm(vector):.3f}, those that the gate learned from {gate.norm:.3f}; {_mend(gate)}")
    return np.concatenate([features, (vector - gate.centre) @ gate.directions])


def _mend(gate: Served) -> str:
    return f"give that of the encoder it was learned with{f' ({gate.encoder})' if gate.encoder else ''}, made as lib.vectors.truncate(embed(...)) makes it"


def distilled_list(gate: Served, candidates: pd.DataFrame) -> pd.DataFrame:
    """The lists D of ``candidates`` (``gating_lists.candidates``) by the student in the artefact: dataset, qid, rank, doc_id.

    Raises ValueError for a gate that holds none.
    """
    if gate.student is None:
        raise ValueError(f"this gate holds no student: it falls back on {gate.fallback}; save it with the student of its training questions")
    rows = distilled.place_features(candidates)
    return distilled.ordered(rows, distilled.scores(gate.student, rows))[[*QUESTION, "rank", "doc_id"]]


def decide(gate: Served, question: str, lists: Lists, vector: Sequence[float] | None = None) -> Decision:
    """Skip or rerank one question. ``lists``: H and V as (title, score), best first; ``vector``: needed where the gate uses a PCA.

    The chance of harm equals the research code's to 1e-12, and so does the decision. An empty list is served as the features say: all zero.
    """
    x = inputs_of(gate, question, lists, vector)
    drift = tuple(name for name, value in zip(gate.inputs, x) if not gate.inputs[name]["low"] <= value <= gate.inputs[name]["high"])
    if not gate.numbers:
        p, skip = gate.base_rate, gate.model == "always"
    else:
        raw = min(max(float(raw_harm(chance(gate.numbers, gate.model, x), gate.label)), CLIP), 1 - CLIP)
        p = float(1 / (1 + np.exp(-(gate.slope * np.log(raw / (1 - raw)) + gate.intercept))))
        skip = p <= gate.threshold
    return Decision("skip" if skip else "rerank", gate.fallback, p, drift)


def server(gate: Served, encode: Callable[[str], Sequence[float]] | None = None) -> Callable[[str, Lists], Decision]:
    """``decide(question, lists)`` of one gate; ``encode`` gives the question's vector and is called only where the gate reads one.
    """
    reads = encode is not None and gate.directions.shape[1] > 0
    return lambda question, lists: decide(gate, question, lists, encode(question) if reads else None)


def drift_table(gate: Served, inputs: np.ndarray, limit: float = LIMIT) -> pd.DataFrame:
    """Have the inputs of served questions (n, inputs), from ``inputs_of``, moved away from training? A row an input, most moved first.

    ``index``: population stability index over the training deciles, sum of (share - training share) * log(share / training share); ``chance``: what it is
    on average when nothing has moved, about (bins - 1) * (1/n + 1/training n); ``outside``: share beyond the training range; ``moved``: index above
    limit + chance, missing without a question. A small n looks like drift: hence ``chance``. Raises ValueError for another number of columns, a value that
    is not finite, or a limit below 0.
    """
    inputs = np.asarray(inputs, float)
    inputs = np.zeros((0, len(gate.inputs))) if inputs.shape == (0,) else inputs
    if inputs.ndim != 2 or inputs.shape[1] != len(gate.inputs):
        raise ValueError(f"inputs: shape {inputs.shape}, expected (questions, {len(gate.inputs)}); stack what inputs_of gives for each question of this gate")
    if not np.isfinite(inputs).all():
        row, column = np.argwhere(~np.isfinite(inputs))[0]
        raise ValueError(f"inputs: row {row} holds {inputs[row, column]} for {list(gate.inputs)[column]}; leave the question out or compute it again")
    if not is_number(limit, 0):
        raise ValueError(f"limit must be a number of 0 or more, got {limit!r}")
    n, rows = len(inputs), []
    for (name, told), column in zip(gate.inputs.items(), inputs.T):
        if not n:
            rows.append((name, np.nan, np.nan, np.nan, None, 0))
            continue
        now, then = (np.maximum(s, FLOOR) for s in (shares(column, told["edges"]), told["shares"]))
        index = float(((now - then) * np.log(now / then)).sum())
        by_chance = (len(then) - 1) * (1 / n + 1 / max(gate.training["n"], 1))
        outside = float(((column < told["low"]) | (column > told["high"])).mean())
        rows.append((name, index, by_chance, outside, index > limit + by_chance, n))
    return pd.DataFrame(rows, columns=DRIFT).sort_values("index", ascending=False, kind="stable", ignore_index=True)


def served_table(gate: Served, questions: pd.DataFrame, lists: pd.DataFrame, vectors: np.ndarray | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Decisions one by one for every row of ``questions`` (dataset, qid, question), and their inputs: SERVED, drift being how many inputs.

    ``lists``: as ``lib.gating_inputs`` takes them. A question without a list is served with an empty one. Raises ValueError for a question or a place of a list
    that is given twice, and vectors of another length.
    """
    questions, lists = keyed(questions, "questions"), keyed(lists, "lists")
    check_once(questions, QUESTION, "questions")
    check_once(lists, [*QUESTION, "list", "rank"], "lists", "rank each list 1, 2, 3, ...")
    places = lists[lists["list"].isin(["H", "V"])].groupby([*QUESTION, "list"])["rank"].agg(["min", "max", "size"])
    if (holed := (places["min"] != 1) | (places["max"] != places["size"])).any():
        raise ValueError(f"lists: the ranks of {holed.idxmax()} leave a place out; rank each list 1, 2, 3, ...")
    if vectors is not None and len(vectors) != len(questions):
        raise ValueError(f"got {len(vectors)} vectors for {len(questions)} questions; give one a row, in the order of questions")
    pairs = {key: list(zip(g["title"], g["score"])) for key, g in lists.sort_values("rank").groupby(["list", *QUESTION])}
    rows, seen = [], []
    for i, q in enumerate(questions.itertuples()):
        mine = {name: pairs.get((name, q.dataset, q.qid), []) for name in ("H", "V")}
        vector = None if vectors is None else vectors[i]
        made = decide(gate, q.question, mine, vector)
        seen.append(inputs_of(gate, q.question, mine, vector))
        rows.append((q.dataset, q.qid, *made[:3], len(made.drift)))
    return pd.DataFrame(rows, columns=SERVED), np.array(seen).reshape(len(rows), len(gate.inputs))
