"""The block ``worlds`` of the frozen plan, checked before a world is made: its keys, its packers, its pool (data/published/plan.yaml)."""
from __future__ import annotations

from collections.abc import Mapping

from lib.whole import check_whole

KEYS = ("seed", "questions", "documents", "encoder", "budget", "policies", "contrasts", "margin", "rest", "dials", "pool")
ALSO = ("metric", "joins", "ends")             # what the table, the packer that joins and the ends of the dials look at
SAID = ("trend", "families", "verdicts")       # words for readers of the plan; nothing is computed from them
METRICS = ("answer_in_context_defined", "answer_kept", "n_tokens")  # what contrasts are measured in
POOL = {"scope": "own", "passages": 10, "ranker": "dense"}  # of these a world knows one value; its depth is free
WHERE = "; mend the block worlds of data/published/plan.yaml"


def check_keys(plan: Mapping) -> None:
    """Raise ValueError for a plan that lacks a key, or has one that nothing looks at.

    >>> check_keys(dict.fromkeys(KEYS))
    """
    if missing := [k for k in KEYS if k not in plan]:
        raise ValueError(f"the plan of the worlds lacks {', '.join(missing)}; it is the block worlds of data/published/plan.yaml")
    if unknown := sorted(map(str, set(plan) - {*KEYS, *ALSO, *SAID})):
        raise ValueError(f"the plan of the worlds has {', '.join(unknown)}, which nothing looks at; there are {', '.join([*KEYS, *ALSO, *SAID])}{WHERE}")


def check_plan(plan: Mapping, joined: bool = False) -> None:
    """Raise ValueError unless the plan names what can be packed, set beside each other and measured; ``joined``: with the packer that joins."""
    check_keys(plan)
    if (metric := plan.get("metric")) not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}{WHERE}")
    _check_pool(plan["pool"])
    _check_arms("contrasts", plan["contrasts"], plan["policies"])
    if joined:
        joins = _block(plan, "joins", ("policy", "contrast"))
        _check_arms("contrast of joins", [joins["contrast"]], [*plan["policies"], joins["policy"]])


def check_ends(plan: Mapping) -> None:
    """Raise ValueError unless the block ``ends`` of the plan reads both arms of the first contrast."""
    check_keys(plan)
    ends = _block(plan, "ends", ("questions", "policies", "readers", "metric"))
    if ends["metric"] not in ("f1", "em"):
        raise ValueError(f"metric of ends must be f1 or em, got {ends['metric']!r}{WHERE}")
    check_whole("questions of ends", ends["questions"], 1, mend=WHERE)
    _check_arms("contrasts", plan["contrasts"][:1], ends["policies"], "policies of ends")


def check_trial(questions: object, workers: object = 1) -> None:
    """Raise ValueError unless a trial's ``world_questions`` is a whole number (0: no worlds) or None, and ``world_workers`` one of 1 or more."""
    mend = "; mend it in params.yaml or in the parameters cell"
    if questions is not None:
        check_whole("world_questions", questions, 0, mend=f" (0: no worlds){mend}")
    check_whole("world_workers", workers, 1, mend=mend)


def _block(plan: Mapping, name: str, keys: tuple[str, ...]) -> Mapping:
    block = plan.get(name)
    if not isinstance(block, Mapping) or set(block) != set(keys):
        raise ValueError(f"{name} must be a block of {', '.join(keys)}, got {block!r}{WHERE}")
    return block


def _check_pool(pool: object) -> None:
    if not isinstance(pool, Mapping) or set(pool) != {*POOL, "depth"} or any(pool[k] != v for k, v in POOL.items()):
        told = ", ".join(f"{k}: {v}" for k, v in POOL.items())
        raise ValueError(f"pool must be a block of {told} (a world knows no other) and a depth, got {pool!r}{WHERE}")
    check_whole("depth of pool", pool["depth"], 1, POOL["passages"], mend=WHERE)


def _check_arms(name: str, pairs: object, packed: object, packers: str = "policies") -> None:
    """Raise ValueError unless ``pairs`` are (treatment, control), both ``packed``."""
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"{name} must be pairs of two packers, treatment and control, got {pair!r}{WHERE}")
        if lost := [p for p in pair if p not in packed]:
            raise ValueError(f"{name} names {lost[0]!r}, which is not packed: {packers} are {', '.join(packed)}{WHERE}")
