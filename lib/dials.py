"""The dials of the generated worlds turned one at a time: what is packed at each point, and what came of it (SPEC 9; the plan is frozen)."""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lib.dials_plan import KEYS, check_keys  # noqa: F401 - the keys are a plan's as dials turn it
from lib.dials_stream import TOLD, Chance, packed
from lib.worlds_dials import check_whole, dials, world_name

SETTLED = ["qid", "policy", "answer_in_context", "answer_in_pool", "gold_coverage", "gold_in_pool", "n_tokens", *TOLD]
ENDS = ("low", "high")


def points(plan: Mapping) -> pd.DataFrame:
    """The points of every dial in order: dial, value (text), place [0, 1] along the dial, end (low, high or none), at_rest, dataset, settings.

    ``plan`` is the block ``worlds`` of the plan (``dials_plan``). The point at rest stands once on each dial; where a dial's value at rest is none of its
    points (position: drawn), it has no place on it. Raises ValueError for a plan that lacks a key or has an unknown one, an unknown dial, a value out of range.

    >>> from lib.worlds_dials import REST
    >>> found = points({**dict.fromkeys(KEYS), "rest": REST, "dials": {"redundancy": [0.0, 1.0]}})
    >>> found[["value", "end", "at_rest", "dataset"]].values.tolist()
    [['0', 'low', True, 'world_h2_s50'], ['1', 'high', False, 'world_h2_s50_r100']]
    """
    check_keys(plan)
    rest, rows = dials(**plan["rest"]), []
    for dial, values in plan["dials"].items():
        if not isinstance(values, list) or len(values) < 2:
            raise ValueError(f"the plan turns dial {dial!r} over {values!r}; give a list of two points or more")
        for k, value in enumerate(values):
            at = dials(**{**rest, dial: value})
            rows.append((dial, shown(value), k / (len(values) - 1), {0: "low", len(values) - 1: "high"}.get(k, "none"), at == rest, world_name(**at), at))
        if rest[dial] not in values:
            rows.append((dial, shown(rest[dial]), float("nan"), "none", True, world_name(**rest), rest))
    return pd.DataFrame(rows, columns=["dial", "value", "place", "end", "at_rest", "dataset", "settings"])


def shown(value: object) -> str:
    """A dial's value as tables have it.

    >>> shown(0.50), shown(2), shown("late")
    ('0.5', '2', 'late')
    """
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def measured(plan: Mapping, workers: int = 1, chance: Chance | None = None, questions: int | None = None, encoder: object = None) -> pd.DataFrame:
    """Every question packed at every distinct point: dataset (the point) and the numeric columns of ``dials_stream.packed``.

    ``questions`` (the first so many) and ``encoder`` change the plan for a trial. With ``chance`` the packer that joins is packed too.
    """
    check_whole("workers", workers, 1)
    distinct = points(plan).drop_duplicates("dataset")
    todo = list(zip(distinct["dataset"], distinct["settings"]))
    if workers == 1:
        parts = [point(plan, settings, chance, questions, encoder) for _, settings in todo]
    else:
        from joblib import Parallel, delayed

        parts = Parallel(n_jobs=workers)(delayed(point)(plan, settings, chance, questions, encoder) for _, settings in todo)
    return pd.concat([p[SETTLED].assign(dataset=name) for (name, _), p in zip(todo, parts)], ignore_index=True)


def point(plan: Mapping, settings: Mapping, chance: Chance | None = None, questions: int | None = None, encoder: object = None,
          policies: list[str] | None = None) -> pd.DataFrame:
    """The rows of ``dials_stream.packed`` at one setting of the dials."""
    names = policies or [*plan["policies"], *([plan["joins"]["policy"]] if chance is not None else [])]
    return pd.concat(packed(questions or plan["questions"], names, plan["budget"], plan["seed"], plan["documents"], encoder or plan["encoder"],
                            depth=plan["pool"]["depth"], chance=chance, **settings), ignore_index=True)
