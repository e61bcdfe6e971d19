"""Which reranker a tier's release is about, as a versioned unit, and what stands beside it (document 001, "Release gates")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lib.cross_encoder import cross_encoder_group
from lib.latency_times import Times, single
from lib.rollout_story import FIRST, NONE, fusion_unit, unit_of_card
from lib.rollout_units import Unit, reading
from lib.viability_sets import FUSION, voters


def unit_of(again: str, spec: Mapping[str, Any] | None, rankings: pd.DataFrame, scope: str = "pooled") -> Unit:
    """The triple behind the list ``again`` ("first + reranker"): a trained cross-encoder by its card, another model by its specification, else fusion;
    of ``none`` the first stage itself.

    >>> unit_of("dense + fusion", None, pd.DataFrame({"scope": ["pooled"], "ranker": ["dense"]})).preprocessing
    {'lists': ['dense']}
    """
    if again == NONE:
        return FIRST
    if spec is None or again.endswith(f" + {FUSION}"):
        return fusion_unit(voters(rankings, scope))
    if spec["method"] == "cross_encoder":
        return unit_of_card(again, cross_encoder_group({"model": spec["model"]}))
    read = {k: v for k, v in spec.items() if k in ("max_length", "precision")}
    return Unit(again, {k: v for k, v in spec.items() if k not in read}, {**read, "pair": "question, then title and text"}, reading())


def seconds_of(unit: Unit, times: Times, depth: int) -> pd.DataFrame | None:
    """seconds: the single queries recorded at ``depth``, where it is this unit's model that was timed; None (not measured) for every other: a fusion asks no
    model, and another model's seconds are not its own. Raises ValueError as `latency_times.single`.

    >>> seconds_of(fusion_unit(["bm25", "dense"]), Times(pd.DataFrame(), {"model": "reranker"}), 50) is None
    True
    """
    timed = times.about.get("sha256")
    same = unit.model.get("model") == times.about["model"] and (timed is None or unit.model.get("revision") == f"sha256:{timed}")
    return pd.DataFrame({"seconds": single(times, depth)}) if same else None


def beside(again: str, firsts: Sequence[str], rankings: pd.DataFrame, scope: str = "pooled") -> tuple[str, str]:
    """(the other first stage, its list by the same reranker), where ``firsts`` names one and the list is there; else the fusion of it; else the same again.

    Of ``none``: the other first stage (or the only one), and none.

    >>> lists = pd.DataFrame({"scope": "pooled", "ranker": ["hybrid", "hybrid + ce", "dense", "dense + fusion"]})
    >>> beside("hybrid + ce", ["hybrid", "dense"], lists), beside("hybrid + ce", ["hybrid"], lists)
    (('dense', 'dense + fusion'), ('hybrid', 'hybrid + ce'))
    """
    if again == NONE:
        return next((f for f in firsts[1:]), firsts[0]), NONE
    first, _, reranker = again.partition(" + ")
    there = set(rankings.loc[rankings["scope"] == scope, "ranker"])
    wanted = [(other, f"{other} + {name}") for name in (reranker, FUSION) for other in firsts if other != first]
    return next((pair for pair in wanted if set(pair) <= there), (first, again))
