"""From decisions to outcomes: what each question gets, whether a skip harmed or helped, and whether its fallback could have been run (document 002)."""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib.gating_nested import CELL, DECISIONS
from lib.keys import check_once

FALLBACKS = ("H", "D", "none")
LESSON = "oracle"  # the better of H and D by the label


def outcomes(decisions: pd.DataFrame, lesson: bool = False) -> pd.DataFrame:
    """``decisions`` with fallback_hit, gated_hit, harm (a skip would harm), harmful and beneficial (a skip did), all bool.

    A fallback must be H, D or none and the same for all questions of a cell and fold: who chooses it question by question may have seen labels. Raises
    ValueError otherwise, and for a skip without a fallback; ``lesson``: the oracle fallback of the retracted figure is let through. Where the gate has no
    fallback, harm is against H.
    """
    check(decisions, lesson)
    h, d, r = (decisions[c].to_numpy() for c in ("h_hit", "d_hit", "rerank_hit"))
    h, r, d = h.astype(bool), r.astype(bool), np.nan_to_num(np.asarray(d, float)).astype(bool)
    names, skip = decisions["fallback"].to_numpy(str), decisions["skip"].to_numpy(bool)
    fallback = np.where(names == "D", d, np.where(names == LESSON, h | d, h))
    return decisions.assign(fallback_hit=fallback, gated_hit=np.where(skip, fallback, r), harm=r & ~fallback, harmful=skip & r & ~fallback,
                            beneficial=skip & fallback & ~r)


def check(decisions: pd.DataFrame, lesson: bool = False) -> None:
    """Raise ValueError for a table that no gate can have made, or that gives a question two decisions in one cell."""
    if missing := [c for c in DECISIONS if c not in decisions]:
        raise ValueError(f"decisions: columns {missing} are missing, found {list(decisions)}")
    _check_values(decisions)
    check_decided_once(decisions)
    allowed = {*FALLBACKS, LESSON} if lesson else {*FALLBACKS}
    if other := set(decisions["fallback"]) - allowed:
        raise ValueError(f"decisions: fallback {sorted(other)} cannot be run; it must be one of {FALLBACKS}, chosen in the training fold")
    kinds = decisions.groupby([*CELL, "fold"])["fallback"].nunique()
    if (kinds > 1).any():
        raise ValueError(f"decisions: the fallback changes within fold {kinds[kinds > 1].index[0]}; choose it once a fold, from training questions alone")
    skipped = decisions[decisions["skip"].astype(bool)]
    if (skipped["fallback"] == "none").any() or ((skipped["fallback"] == "D") & skipped["d_hit"].isna()).any():
        raise ValueError("decisions: a question is skipped without a list to fall back on")


def _check_values(decisions: pd.DataFrame) -> None:
    """Raise ValueError for what is missing and may not be, and for skips and hits that are neither true nor false."""
    for column in [c for c in DECISIONS if c not in ("p_harm", "p_raw", "d_hit", "fallback")]:
        if (missing := decisions[column].isna()).any():
            raise ValueError(f"decisions: {column} is missing in row {int(missing.to_numpy().argmax())} of {len(decisions)}; decide every question")
    for column in ("skip", "rerank_hit", "h_hit", "d_hit"):
        if (wrong := ~decisions[column].isin([0, 1]) & decisions[column].notna()).any():
            raise ValueError(f"decisions: {column} is {decisions.loc[wrong, column].iloc[0]!r}, expected true or false")


def check_decided_once(decisions: pd.DataFrame) -> None:
    """Raise ValueError where a question has two decisions for one K and rule (if rules are told apart): it would count twice."""
    check_once(decisions, ["dataset", "qid", "k", *(["rule"] if "rule" in decisions else [])], "decisions", "keep those of one run and one gate")


def policies(decisions: pd.DataFrame) -> pd.DataFrame:
    """One row a question and K, whatever the rules: dataset, qid, k, rerank_hit, h_hit, d_hit. Raises ValueError where the rules tell different hits."""
    check_decided_once(decisions)
    found = decisions[["dataset", "qid", "k", "rerank_hit", "h_hit", "d_hit"]].drop_duplicates()
    check_once(found, ["dataset", "qid", "k"], "decisions: hits that differ between rules", "keep the decisions of one run")
    return found.reset_index(drop=True)
