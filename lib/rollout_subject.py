"""Which reranker a tier's release is about, as a versioned unit, and what stands beside it (document 001, "Release gates")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lib.cross_encoder import cross_encoder_group
from lib.rollout_story import fusion_unit, unit_of_card
from lib.rollout_units import Unit, reading
from lib.viability_sets import FUSION, voters


def unit_of(again: str, spec: Mapping[str, Any] | None, rankings: pd.DataFrame, scope: str = "pooled") -> Unit:
    """The triple behind the list ``again`` ("first + reranker"): a trained cross-encoder by its card, another model by its specification, else fusion.

    >>> unit_of("dense + fusion", None, pd.DataFrame({"scope": ["pooled"], "ranker": ["dense"]})).preprocessing
    {'lists': ['dense']}
    """
    if spec is None or again.endswith(f" + {FUSION}"):
        return fusion_unit(voters(rankings, scope))
    if spec["method"] == "cross_encoder":
        return unit_of_card(again, cross_encoder_group({"model": spec["model"]}))
    read = {k: v for k, v in spec.items() if k in ("max_length", "precision")}
    return Unit(again, {k: v for k, v in spec.items() if k not in read}, {**read, "pair": "question, then title and text"}, reading())


def beside(again: str, firsts: Sequence[str], rankings: pd.DataFrame, scope: str = "pooled") -> tuple[str, str]:
    """(the other first stage, its list by the same reranker), where ``firsts`` names one and the list is there; else the fusion of it; else the same again.

    >>> lists = pd.DataFrame({"scope": "pooled", "ranker": ["hybrid", "hybrid + ce", "dense", "dense + fusion"]})
    >>> beside("hybrid + ce", ["hybrid", "dense"], lists), beside("hybrid + ce", ["hybrid"], lists)
    (('dense', 'dense + fusion'), ('hybrid', 'hybrid + ce'))
    """
    first, _, reranker = again.partition(" + ")
    there = set(rankings.loc[rankings["scope"] == scope, "ranker"])
    wanted = [(other, f"{other} + {name}") for name in (reranker, FUSION) for other in firsts if other != first]
    return next((pair for pair in wanted if set(pair) <= there), (first, again))
