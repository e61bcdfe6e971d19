"""The card of ``tuned``: reading it, and refusing one that is missing, damaged, or made for other features (data/results/models/tuned.json)."""
from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lib import tuned_features
from lib.tables import ROOT
from lib.whole import is_number, is_whole

CARD = ROOT / "data" / "results" / "models" / "tuned.json"
MEND = ("restore it with `git checkout -- data/results/models/tuned.json`, or run `python -m lib.train_tuned` (training files in data/raw/train, "
        "see data/raw/README.md)")
NODES = ("feature", "threshold", "left", "right", "value")
PLACES = ("feature", "left", "right")  # of the NODES, those that are whole numbers
RULE = ("weights", "exponent", "floor")


class TunedError(ValueError):
    """The card of ``tuned`` is missing, damaged, or made for other features; the message names the mend."""


@lru_cache(maxsize=4)
def read_card(path: Path = CARD) -> dict[str, Any]:
    """The card with its trees as arrays; raises TunedError where it is missing, damaged or made for other features."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        made_for, rule, forest = card["schema"], rule_of(card["rule"]), forest_of(card)
        if len(card["trees"]) != (said := card["forest"]["n_estimators"]):
            raise ValueError(f"it holds {len(card['trees'])} trees and says {said}")
    except FileNotFoundError as error:
        raise TunedError(f"{path.name}, the card of the learned packer, is not there; {MEND}") from error
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise TunedError(f"{path.name} is no card of the learned packer ({error!r}); {MEND}") from error
    if made_for != tuned_features.schema():
        raise TunedError(f"{path.name} was learned on other features (schema {made_for}, the library's is {tuned_features.schema()}); {MEND}")
    if forest["feature"].max() >= len(tuned_features.NAMES):
        asked = f"a tree asks for feature {forest['feature'].max()} of {len(tuned_features.NAMES)}"
        raise TunedError(f"{path.name} is no card of the learned packer ({asked}); {MEND}")
    return {**card, "forest": forest, "rule": rule}


def rule_of(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The packing rule of a card; raises ValueError for what is none.

    >>> rule_of({"weights": [1, 0.5, 0.4, 0.3], "exponent": 1.0, "floor": 0.1})["floor"]
    0.1
    """
    if set(rule) != set(RULE):
        raise ValueError(f"its rule has {', '.join(map(str, rule))} and should have {', '.join(RULE)}")
    weights = rule["weights"]
    if not isinstance(weights, list) or len(weights) != 4 or not all(is_number(w, 0) for w in weights):
        raise ValueError(f"the rule's weights are four numbers of 0 or more, got {weights!r}")
    if not is_number(rule["exponent"], 0) or not is_number(rule["floor"], 0) or rule["floor"] > 1:
        raise ValueError(f"the rule's exponent is a number of 0 or more and its floor one of [0, 1], got {rule['exponent']!r} and {rule['floor']!r}")
    return {k: rule[k] for k in RULE}


def forest_of(card: Mapping[str, Any]) -> dict[str, Any]:
    """All trees of a card as one array of nodes, with the roots, the greatest depth and the prior; a leaf points at itself.

    Raises ValueError for a prior, threshold or leaf that is no number, and for nodes that make no tree.
    """
    if not is_number(card["prior"]):
        raise ValueError(f"the prior is a number, got {card['prior']!r}")
    trees, depth = [tree_of(tree, k) for k, tree in enumerate(card["trees"])], 0
    roots = np.cumsum([0, *(len(t["value"]) for t in trees)])[:-1]
    joined = {k: np.concatenate([t[k] for t in trees]) for k in NODES}
    own = np.arange(len(joined["value"]))
    start = np.repeat(roots, [len(t["value"]) for t in trees])
    for side in ("left", "right"):
        joined[side] = np.where(joined[side] < 0, own, joined[side] + start)
    joined["feature"], reached = np.maximum(joined["feature"], 0), roots
    while (joined["left"][reached] != reached).any():  # ends: children come after their parents
        reached, depth = np.unique(np.concatenate([joined["left"][reached], joined["right"][reached]])), depth + 1
    return joined | {"roots": roots, "depth": depth, "prior": float(card["prior"])}


def tree_of(tree: Mapping[str, Any], number: int) -> dict[str, np.ndarray]:
    """One tree's nodes as arrays (nodes,); raises ValueError unless each node but the first is the child of one before it: no circle, no way out."""
    listed = {k: list(tree[k]) for k in NODES}
    n = len(listed["feature"])
    if n == 0 or any(len(v) != n for v in listed.values()):
        raise ValueError(f"tree {number} has lists of {sorted({len(v) for v in listed.values()})} nodes")
    for k, v in listed.items():
        if not all(is_whole(x) if k in PLACES else is_number(x) for x in v):
            raise ValueError(f"{k} of tree {number} holds what is no {'whole ' if k in PLACES else ''}number")
    made = {k: np.asarray(v, int if k in PLACES else float) for k, v in listed.items()}
    leaf, sides = made["left"] < 0, (made["left"], made["right"])
    if (leaf != (made["right"] < 0)).any() or (made["feature"][~leaf] < 0).any():
        raise ValueError(f"a node of tree {number} splits without two children and a feature")
    children = np.concatenate([side[~leaf] for side in sides])
    if sorted(children.tolist()) != list(range(1, n)):
        raise ValueError(f"the children of tree {number} lie outside it, point in circles, or have two parents")
    if any((side[~leaf] <= np.flatnonzero(~leaf)).any() for side in sides):
        raise ValueError(f"the children of tree {number} point in circles")
    return made
