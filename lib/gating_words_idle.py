"""What is to be said where nothing happened: no question changed, the gate skipped nothing, every fold refused (notebook 07)."""
from __future__ import annotations

import pandas as pd

from lib.chart_words import GAP, listed
from lib.gating_bound import lower_bound
from lib.wording import named

NOTHING = "skipped nothing, so nothing could be lost"


def many(count: int, noun: str = "cell") -> str:
    """'1 cell', '3,000 cells'."""
    return f"{int(count):,} {noun}{'' if count == 1 else 's'}"


def none(some: int) -> str:
    return str(int(some)) if some else "none"


def unchanged(n: int) -> str:
    """No question in ``n`` changed: an interval of no width is no proof, so the bound says what loss is still possible.

    >>> unchanged(50).replace(GAP, " ")
    'no question changed (the one-sided 95 % bound still allows a loss of 5.8 pp)'
    """
    return f"no question changed (the one-sided 95{GAP}% bound still allows a loss of {-lower_bound(0, 0, int(n)):.1f}{GAP}pp)"


def counts(rows: pd.DataFrame) -> tuple[int, int, int]:
    """(cells in which something was skipped, those of them within 1 pp, those surely) of gating_cells: a cell without a skip keeps no promise."""
    active = rows[rows["skip"] > 0]
    return len(active), int(active["within"].sum()), int(active["surely_within"].sum())


def refused_words(cells: pd.DataFrame) -> str:
    """Which folds refused to skip, a data set at a time; a fold refuses at one K whatever the rule (gating_cells)."""
    folds = cells["models"].str.count("/") + 1
    by = cells.assign(folds=folds).groupby(["dataset", "k"], as_index=False)
    table = by.agg(refused=("refused", "max"), folds=("folds", "max"), rules=("rule", "nunique"))
    said = [f"on {named(dataset)} {_folds(part)}" for dataset, part in table.groupby("dataset", sort=False) if part["refused"].sum()]
    told = "; ".join(said)
    return f"{told[:1].upper()}{told[1:]} refused to skip: their training questions held no harm to learn from." if said else ""


def refused_everywhere(cells: pd.DataFrame | None, dataset: str, k: int) -> bool:
    """Whether every fold of a data set at one K refused: then no list to fall back on harmed a training question, and an oracle's choice of them neither."""
    mine = cells if cells is None else cells[(cells["dataset"] == dataset) & (cells["k"] == k)]
    return mine is not None and len(mine) > 0 and bool((mine["refused"] == mine["models"].str.count("/") + 1).all())


def _folds(part: pd.DataFrame) -> str:
    """'all 5 folds, for each of 3 K and 4 rules', or '2 of 5 folds at K 1'."""
    if len(part) > 1 and (part["refused"] == part["folds"]).all() and part["folds"].nunique() == 1:
        rules = int(part["rules"].max())
        return f"all {part['folds'].iloc[0]} folds, for each of {len(part)} K{f' and {rules} rules' if rules > 1 else ''},"
    return listed([f"{r['refused']} of {many(r['folds'], 'fold')} at K {r['k']}" for _, r in part[part["refused"] > 0].iterrows()])
