"""What the scope map has to have read beyond notebook 03: contexts at other budgets, and contexts in another order (SPEC 9)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lib import budget_shape, context_order, reading
from lib.whole import is_whole

POLICIES = ("focused", "submod", "naive")


def chosen(questions: pd.DataFrame, sweep_questions: int | Mapping[str, int]) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """The questions of the data sets that are swept, and how many of each (0: all): a mapping sweeps only the sets it names, a number every set.

    Raises ValueError where ``sweep_questions`` is neither, or names what is no data set.
    """
    if not isinstance(sweep_questions, Mapping) and not is_whole(sweep_questions):
        raise ValueError("sweep_questions must be a number of questions (0: all) or a block such as {hotpotqa: 100}, "
                         f"got {sweep_questions!r}; mend it in params.yaml")
    reading.first(questions, sweep_questions, "sweep_questions")
    per_set = sweep_questions if isinstance(sweep_questions, Mapping) else dict.fromkeys(questions["dataset"].unique(), sweep_questions)
    return questions[questions["dataset"].isin(list(per_set))], dict(per_set)


def to_read(questions: pd.DataFrame, packs: pd.DataFrame, snippets: pd.DataFrame, contexts: pd.DataFrame, pack_id: str, sweep_budgets: Sequence[int],
            order_budgets: Sequence[int], sweep_questions: int | Mapping[str, int] = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(contexts at other budgets, contexts in three orders) of the main pack, in the form of ``reading.to_read``; empty where no budget or packer is there.

    Only the packers out of focused, submod and naive that were packed are read; orders are those of submod, or of the first of them.
    """
    asked, per_set = chosen(questions, sweep_questions)
    rows = contexts[contexts["pack_id"] == pack_id]
    policies = [p for p in POLICIES if p in set(rows["policy"])]
    budgets = [b for b in sweep_budgets if b in set(rows["budget"])]
    if asked.empty or not policies:
        return (budget_shape.sweep_to_read(asked, rows, [], []), context_order.ordered(asked, packs, snippets, rows[:0], "submod", [], pack_id))
    sweep = budget_shape.sweep_to_read(asked, rows, policies, budgets, per_set, pack_id)
    asked = asked.merge(sweep[["dataset", "qid"]].drop_duplicates()) if len(sweep) else asked
    leader = "submod" if "submod" in policies else policies[0]
    return sweep, context_order.ordered(asked, packs, snippets, rows, leader, order_budgets, pack_id)


def together(*frames: pd.DataFrame) -> pd.DataFrame:
    """All that is to be read, each prompt once."""
    return context_order.to_read(*frames)


def check(questions: pd.DataFrame, contexts: pd.DataFrame, outcomes: pd.DataFrame, main_reader: object, sweep_budgets: object, order_budgets: object,
          sweep_questions: object, claims_of: object) -> None:
    """Raise ValueError for a parameter of notebook 05 that is no list of the right things, or names what this run does not hold."""
    packed, sets = {int(b) for b in contexts["budget"]}, set(questions["dataset"])
    for name, asked, there in (("sweep_budgets", sweep_budgets, packed), ("order_budgets", order_budgets, packed), ("claims_of", claims_of, sets)):
        if not isinstance(asked, (list, tuple)) or not set(asked) <= there or len(set(asked)) < len(asked):
            raise ValueError(f"{name} must be a list of distinct values out of {sorted(there)}, got {asked!r}; mend it in params.yaml")
    if isinstance(sweep_questions, Mapping) and not set(sweep_questions) <= sets:
        raise ValueError(f"sweep_questions names {sorted(set(sweep_questions) - sets)}; this run has {sorted(sets)}; mend it in params.yaml")
    if main_reader not in set(outcomes["reader"]):
        raise ValueError(f"main_reader {main_reader!r} has read nothing; readers of this run are {sorted(set(outcomes['reader']) - {'none'})}; mend it in params.yaml")
