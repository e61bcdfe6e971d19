"""What a packing run is told: the published setting and changes of it, budgets and policies, each checked early (SPEC 3 and 4)."""
from __future__ import annotations

from typing import Any

import pandas as pd

from lib import packers, rankers, submodular
from lib.whole import is_number, is_whole

SETTING = {"scope": "own", "ranker": "dense", "depth": 5, "representation": "chunk", "min_tokens": 32, "rest": "alone",
           "relevance": "overlap", "tokenizer": "smollm2-135m", "order": "rank", "cap": None, "exponent": 1.0, "stop": False,
           "weights": list(submodular.PUBLISHED_WEIGHTS), "alpha": submodular.PUBLISHED_ALPHA, "lam": packers.PUBLISHED_LAMBDA, "greedy": "ratio"}
CHOICES = {"scope": ("own", "pooled"), "representation": ("chunk", "ace"), "rest": ("alone", "merged"),
           "relevance": ("overlap", "idf", "title", "dense", "cross_encoder"), "order": ("rank", "picked"), "greedy": tuple(packers.GREEDIES)}
NUMBERS = {"depth": (int, 1), "min_tokens": (int, 1), "cap": (int, 1), "exponent": ((int, float), 0), "alpha": ((int, float), 0),
           "lam": ((int, float), 0)}  # type, least value; cap may be None
TOLD = {"submod": ("exponent", "cap", "weights", "alpha", "greedy"), "mmr": ("lam", "stop"), "naive": ("stop",), "focused": ("stop",)}  # what a rule is told


def setting(**changes: Any) -> dict:
    """The published setting with ``changes``; raises ValueError for an unknown name or value.

    >>> setting(depth=10)["depth"]
    10
    """
    unknown = set(changes) - set(SETTING)
    if unknown:
        raise ValueError(f"unknown packing settings {sorted(unknown)}; there are {sorted(SETTING)}")
    made = SETTING | changes
    _check_types(made)
    for name, allowed in CHOICES.items():
        if made[name] not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {made[name]!r}")
    whole = {k: int(made[k]) for k in ("depth", "min_tokens", "cap") if made[k] is not None}
    # 1 and 1.0, 0.0 and -0.0 are one setting
    return made | whole | {"weights": [float(w) + 0.0 for w in made["weights"]]} | {k: float(made[k]) + 0.0 for k in ("exponent", "alpha", "lam")}


def _is(value: Any, kind: Any, least: float) -> bool:
    return is_whole(value, least) if kind is int else is_number(value, least)


def _check_types(s: dict) -> None:
    """Raise ValueError for the first setting whose value has another type or lies too low."""
    for name, (kind, least) in NUMBERS.items():
        if not _is(s[name], kind, least) and not (name == "cap" and s[name] is None):
            told = f"{'whole ' if kind is int else ''}number of {least} or more{' (or None)' if name == 'cap' else ''}"
            raise ValueError(f"{name} must be a {told}, got {s[name]!r}")
    if s["lam"] > 1:
        raise ValueError(f"lam, MMR's lambda, must lie in [0, 1] (1: relevance alone), got {s['lam']!r}")
    weights = s["weights"]
    if not isinstance(weights, (list, tuple)) or len(weights) != 4 or not all(_is(w, (int, float), 0) for w in weights):
        raise ValueError(f"weights must be four numbers of 0 or more (relevance, query coverage, saturated coverage, diversity), got {weights!r}")
    for name, kind, said in (("stop", bool, "True or False"), ("tokenizer", str, "a name"), ("ranker", str, "a name")):
        if not isinstance(s[name], kind) or s[name] == "":
            raise ValueError(f"{name} must be {said}, got {s[name]!r}")
        if kind is str and "=" in s[name]:  # pack_id writes name=value: two settings could have one id
            raise ValueError(f"{name} must be a name without '=', got {s[name]!r}; name the folder or hub id otherwise")


def check_budgets(budgets: list[int], main_budget: int) -> None:
    """Raise ValueError unless ``budgets`` are distinct whole numbers of 1 or more, with ``main_budget`` among them."""
    listed = isinstance(budgets, (list, tuple)) and len(budgets) > 0
    if not listed or not all(_is(b, int, 1) for b in budgets) or len(set(budgets)) < len(budgets):
        raise ValueError(f"budgets must be a list of distinct whole numbers of 1 or more, got {budgets!r} (main_budget {main_budget!r})")
    if not _is(main_budget, int, 1) or main_budget not in budgets:
        raise ValueError(f"main_budget {main_budget!r} is not one of budgets {list(budgets)}; set main_budget to one of them, or add it")


def check_policies(policies: list[str]) -> None:
    """Raise ValueError unless ``policies`` is a list of distinct packing rules, one at least."""
    listed = isinstance(policies, (list, tuple)) and len(policies) > 0
    if not listed or not all(isinstance(p, str) and p in packers.PACKERS for p in policies) or len(set(policies)) < len(policies):
        raise ValueError(f"policies must be a list of distinct packing rules out of {', '.join(packers.PACKERS)}, got {policies!r}")


def reachable(s: dict, rankings: pd.DataFrame) -> dict:
    """``s``, or, where some data set has no lists of its own pools, ``s`` over all passages (said in print).

    Raises ValueError for a ranker that there is not, or that made no list in this run.
    """
    there = sorted(set(rankings["ranker"]))
    rankers.check_named(s["ranker"], there, "setting")
    if s["ranker"] not in there:
        raise ValueError(f"setting names ranker {s['ranker']!r}, which made no list in this run; rankers of this run are {', '.join(there) or 'none'}; "
                         "add it to more_rankers of block retrieve and run notebook 01, or name another")
    lacking = _lacking(s, rankings)
    if not lacking or s["scope"] != "own":
        return s
    print(f"no pools in {', '.join(lacking)}: every data set is packed from the lists over all passages (scope pooled)")
    return s | {"scope": "pooled"}


def _lacking(s: dict, rankings: pd.DataFrame) -> list[str]:
    """Data sets without a list by the setting's ranker in its scope."""
    there = rankings[(rankings["scope"] == s["scope"]) & (rankings["ranker"] == s["ranker"])]
    return sorted(set(rankings["dataset"]) - set(there["dataset"]))


def variations(main: dict, others: list[dict], rankings: pd.DataFrame) -> list[dict]:
    """``main`` with each change of ``others``; left out where that changes nothing, or, said in print, where a data set lacks the list it needs.

    Raises ValueError where ``others`` is no list of changes, and for a ranker that there is not.
    """
    if not isinstance(others, (list, tuple)) or not all(isinstance(change, dict) for change in others):
        raise ValueError(f"others must be a list of changes such as {{depth: 10}}, got {others!r}")
    made = {pack_id(s): s for s in (setting(**{**main, **change}) for change in others)}
    for s in made.values():
        rankers.check_named(s["ranker"], set(rankings["ranker"]), "others")
    lost = {name: lacking for name, s in made.items() if (lacking := _lacking(s, rankings)) and name != pack_id(main)}
    if lost:
        told = "; ".join(f"{name} (no list in {', '.join(sets)})" for name, sets in lost.items())
        print(f"{len(lost)} of {len(made)} changed settings are left out, since this run made no list for them: {told}")
    return [s for name, s in made.items() if name != pack_id(main) and name not in lost]


def pool_id(s: dict) -> str:
    """Names scope, ranker and depth."""
    return f"{s['scope']}-{s['ranker']}-{s['depth']}"


def pack_id(s: dict) -> str:
    """Names a pool and what differs from the published setting; the settings table resolves it."""
    short = {"min_tokens": "window", "rest": "rest", "relevance": "relevance", "tokenizer": "tokens", "order": "order", "cap": "cap", "exponent": "r",
             "stop": "stop", "weights": "weights", "alpha": "alpha", "lam": "lambda", "greedy": "greedy"}
    changed = [f"{short[k]}={str(s[k]).replace(', ', '/').strip('[]')}" for k in short if s[k] != SETTING[k]]
    return ".".join([pool_id(s), s["representation"], *changed])
