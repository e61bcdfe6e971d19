"""``tuned``: the four-term packer whose relevance is learned: the chance that a snippet holds the answer (SPEC 4, beyond document 000).

A forest of small trees, learned on training questions alone (``python -m lib.train_tuned``), gives each candidate its chance; it stands
committed as plain numbers in data/results/models/tuned.json. The packer is document 000's cost-scaled greedy with that chance as modular
term, the other three terms weighted as the card's rule says, and what gains hardly anything left out at the end.
"""
from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lib import submodular, tuned_features
from lib.tables import ROOT

if TYPE_CHECKING:
    from lib.packers import Candidates, Picks

CARD = ROOT / "data" / "results" / "models" / "tuned.json"
MEND = ("restore it with `git checkout -- data/results/models/tuned.json`, or run `python -m lib.train_tuned` (training files in data/raw/train, "
        "see data/raw/README.md)")
NODES = ("feature", "threshold", "left", "right", "value")
COLUMNS = ("title", "text", "doc_id", "doc_rank", "position", "n_tokens")


class TunedError(ValueError):
    """The card of ``tuned`` is missing, damaged, or made for other features; the message names the mend."""


@lru_cache(maxsize=4)
def read_card(path: Path = CARD) -> dict[str, Any]:
    """The card with its trees as arrays; raises TunedError where it is missing, damaged or made for other features."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        made_for, rule = card["schema"], {k: card["rule"][k] for k in ("weights", "exponent", "floor")}
        forest = forest_of(card)
    except FileNotFoundError as error:
        raise TunedError(f"{path.name}, the card of the learned packer, is not there; {MEND}") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TunedError(f"{path.name} is no card of the learned packer ({error!r}); {MEND}") from error
    if made_for != tuned_features.schema():
        raise TunedError(f"{path.name} was learned on other features (schema {made_for}, the library's is {tuned_features.schema()}); {MEND}")
    return {**card, "forest": forest, "rule": rule}


def forest_of(card: dict[str, Any]) -> dict[str, Any]:
    """All trees of a card as one array of nodes, with the roots, the greatest depth and the prior; a leaf points at itself."""
    trees = [{k: np.asarray(tree[k], int if k in ("feature", "left", "right") else float) for k in NODES} for tree in card["trees"]]
    roots = np.cumsum([0, *(len(t["value"]) for t in trees)])[:-1]
    joined = {k: np.concatenate([t[k] for t in trees]) for k in NODES}
    own = np.arange(len(joined["value"]))
    start = np.repeat(roots, [len(t["value"]) for t in trees])
    for side in ("left", "right"):
        joined[side] = np.where(joined[side] < 0, own, joined[side] + start)
    joined["feature"] = np.maximum(joined["feature"], 0)
    depth, reached = 0, np.unique(roots)
    while (joined["left"][reached] != reached).any():  # a damaged card could point in circles
        reached, depth = np.unique(np.concatenate([joined["left"][reached], joined["right"][reached]])), depth + 1
        if depth > 64:
            raise ValueError("a tree of the card points in circles")
    return joined | {"roots": roots, "depth": depth, "prior": float(card["prior"])}


def forest_chances(forest: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """The chance of each row of features, in (0, 1): the logistic of the prior and one leaf a tree. Shape (n,)."""
    node = np.broadcast_to(forest["roots"], (len(x), len(forest["roots"])))
    rows = np.arange(len(x))[:, None]
    for _ in range(forest["depth"]):
        goes_left = x[rows, forest["feature"][node]] <= forest["threshold"][node]
        node = np.where(goes_left, forest["left"][node], forest["right"][node])
    return 1 / (1 + np.exp(-(forest["prior"] + forest["value"][node].sum(axis=1))))


def chances(question: str, rows: pd.DataFrame, vectors: np.ndarray, asked: np.ndarray, card: Path = CARD) -> np.ndarray:
    """The chance that each snippet of ``rows`` holds the question's answer, (n,) in (0, 1), order of ``rows`` kept.

    ``rows``: one question's candidates with title, text, doc_id, doc_rank, position and n_tokens; ``vectors`` (n, d) and ``asked`` (d,) unit
    vectors. Raises TunedError for the card, ValueError for a question that is no text, missing columns, and vectors that do not fit.
    """
    spoken = isinstance(question, str)
    if not spoken:
        raise ValueError(f"a question must be text, got {type(question).__name__} {question!r}; mend the questions table")
    lacking = [c for c in COLUMNS if c not in rows]
    if lacking:
        raise ValueError(f"chances need the candidates' columns {', '.join(COLUMNS)}; {', '.join(lacking)} not there (titles come from table documents)")
    if np.shape(vectors)[:1] != (len(rows),) or (len(rows) and np.shape(asked) != np.shape(vectors)[1:]):
        raise ValueError(f"{len(rows)} snippets need as many vectors and one of the question, of equal length; got {np.shape(vectors)} and {np.shape(asked)}")
    if len(rows) and not (np.isfinite(vectors).all() and np.isfinite(asked).all()):
        raise ValueError("a vector holds NaN or infinity; delete data/cache/vectors and encode again")
    forest, found = read_card(card)["forest"], np.zeros(len(rows))
    order = np.lexsort((rows["text"].to_numpy(str), rows["position"], rows["doc_rank"]))  # equal values are broken by place: in one order
    found[order] = forest_chances(forest, tuned_features.matrix(question, rows.iloc[order], np.asarray(vectors)[order], asked))
    return found


def tuned(c: Candidates, budget: float, weights: tuple[float, ...] | None = None, exponent: float | None = None, floor: float | None = None) -> Picks:
    """Cost-scaled greedy on the four-term objective with the learned chance as relevance; picks that gain less than ``floor`` times the best pick are left out.

    What is not given is the card's rule, chosen by cross-validation on training questions. Raises ValueError where ``c.chance`` is None or no chance.
    """
    if c.chance is None:
        raise ValueError(f"packer 'tuned' needs the learned chance of each candidate, and question {c.qid!r} has none: "
                         "fill Candidates.chance with lib.tuned.chances(...)")
    chance = np.asarray(c.chance, float)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError(f"chances must lie in [0, 1] and not be NaN, got {chance.min()} to {chance.max()} for question {c.qid!r}")
    rule = {"weights": weights, "exponent": exponent, "floor": floor}
    if None in rule.values():
        rule = read_card()["rule"] | {k: v for k, v in rule.items() if v is not None}
    if not (math.isfinite(rule["floor"]) and 0 <= rule["floor"] <= 1):
        raise ValueError(f"floor must lie in [0, 1] (0: every pick stays), got {rule['floor']}")
    f = submodular.objective(chance, c.terms, c.similarity, c.document, tuple(rule["weights"]))
    return worthwhile(submodular.fast_greedy(f, c.costs, budget, rule["exponent"]), rule["floor"])


def worthwhile(picks: Picks, floor: float) -> Picks:
    """Picks whose marginal gain is at least ``floor`` times the largest: what adds hardly anything is left out, and its tokens are saved.

    >>> worthwhile([(3, 0.5), (1, 0.2), (7, 0.01)], 0.1)
    [(3, 0.5), (1, 0.2)]
    """
    best = max((gain for _, gain in picks), default=0.0)
    return [(i, gain) for i, gain in picks if gain >= floor * best]
