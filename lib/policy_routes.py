"""A way for each kind of question against one switch for all: chosen on one half, judged on the other (document 001, "Worked production example"; SPEC 11).

A route that is chosen on the questions it is judged on looks better than it is: with a dozen questions a slice, luck chooses. So each slice's arm is chosen
on half of its questions and judged on the other half, both ways round, over many splits; the in-sample choice stands beside it as the lesson.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.whole import check_whole

SPLITS = 200


def table_of(outcomes: pd.DataFrame, measure: str, arms: Sequence[str]) -> pd.DataFrame:
    """One measure laid out: a row a question (index qid), a column an arm; questions without it are left out. Raises ValueError for an arm without rows."""
    if lost := [a for a in arms if a not in set(outcomes["arm"])]:
        raise ValueError(f"there is no outcome of arm {lost[0]!r}; there are {', '.join(sorted(set(outcomes['arm'])))}")
    return outcomes.pivot(index="qid", columns="arm", values=measure)[list(arms)].dropna().sort_index()


def choose(values: pd.DataFrame, slices: pd.Series) -> dict[str, str]:
    """Slice -> the arm with the best mean there; equal means go to the earlier column, the cheaper arm.

    >>> choose(pd.DataFrame({"plain": [1.0, 0.0], "rerank": [1.0, 1.0]}, index=["a", "b"]), pd.Series({"a": "x", "b": "y"}))
    {'x': 'plain', 'y': 'rerank'}
    """
    means = values.groupby(slices.reindex(values.index)).mean()
    return {name: means.columns[int(np.argmax(row.round(12)))] for name, row in zip(means.index, means.to_numpy())}


def halves(slices: pd.Series, seed: int) -> pd.Series:
    """0 or 1 for each question, as even as can be within each slice; depends on the seed and the names, not on the order of rows."""
    slices = slices.sort_index()
    drawn = pd.Series(np.random.default_rng(seed).random(len(slices)), index=slices.index)
    return (drawn.groupby(slices).rank(method="first").astype(int) + (seed % 2)) % 2  # the larger half of an odd slice changes sides


def routed(values: pd.DataFrame, slices: pd.Series, told: pd.Series | None = None, splits: int = SPLITS, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(share of the splits in which each question goes each arm, the same a slice): routes chosen on the other half of its slice.

    ``values`` from `table_of`; ``slices`` the true ones, by which arms are chosen; ``told``: those by which a question is sent (default: the true ones).
    A slice that the other half does not hold goes by the first arm.
    """
    check_whole("splits", splits, 1)
    slices, sent = slices.reindex(values.index), (slices if told is None else told).reindex(values.index)
    shares = np.zeros(values.shape)
    place = {arm: i for i, arm in enumerate(values.columns)}
    for split in range(splits):
        half = halves(slices, seed + split).reindex(values.index)
        for side in (0, 1):
            arm_of = choose(values[half != side], slices)
            mine = np.flatnonzero(half == side)
            shares[mine, [place[arm_of.get(name, values.columns[0])] for name in sent.iloc[mine]]] += 1
    ways = pd.DataFrame(shares / splits, index=values.index, columns=values.columns)
    return ways, ways.groupby(sent).mean()


def in_sample(values: pd.DataFrame, slices: pd.Series) -> pd.DataFrame:
    """The same share table (1 for one arm a question) with routes chosen on the very questions they are judged on: too good to be true."""
    arm_of, slices = choose(values, slices), slices.reindex(values.index)
    return pd.DataFrame({arm: (slices.map(arm_of) == arm).astype(float) for arm in values.columns}, index=values.index)


def along(ways: pd.DataFrame, values: pd.DataFrame) -> pd.Series:
    """What each question gets on its ways: the mean of its arms' ``values``, weighted by the share of splits in which it goes them.

    Missing where an arm that it goes has no value: what is undefined is no 0. An arm that it never goes does not matter.

    >>> goes = pd.DataFrame({"plain": [0.5, 1.0], "rerank": [0.5, 0.0]}, index=["a", "b"])
    >>> along(goes, pd.DataFrame({"plain": [1.0, 1.0], "rerank": [float("nan")] * 2}, index=["a", "b"])).tolist()
    [nan, 1.0]
    """
    parts = ways * values.reindex(ways.index)[list(ways.columns)]
    return parts.where(ways > 0, 0.0).sum(axis=1, skipna=False)
