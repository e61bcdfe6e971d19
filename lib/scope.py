"""When does principled packing help (document 000, section 6): what all contrasts of the scope map share, from one draw to one verdict.

A contrast is a column of paired differences (treatment - control), a row a question. Slices of questions are not paired with each other: their columns
know different questions, and one draw of all questions gives the interval of their difference.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import pack_ids, stats
from lib.bootstrap import cluster_codes, column_means, percentile_interval

QUESTION = ["dataset", "qid"]
JUDGED = ["delta", "ci_low", "ci_high", "p_value", "p_holm", "margin", "eq_low", "eq_high", "eq_p", "verdict", "mde", "n", "clusters"]


def judged(deltas: pd.DataFrame, margin: float, resamples: int = 10_000, seed: int = 0, minus: Mapping[object, tuple] | None = None) -> pd.DataFrame:
    """JUDGED for each column of ``deltas`` (a row a question, missing where undefined), indexed by column; Holm over all of them.

    ``minus`` names further rows: the mean of one column less the mean of another, from the same draws, whether or not they share questions (its n is
    the sum where they share none, else the number of shared questions). Raises ValueError for a margin that is not positive.

    >>> judged(pd.DataFrame({"a": [0.0] * 200}), margin=0.02)["verdict"].tolist()
    ['equivalent']
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    if deltas.empty:
        return pd.DataFrame(columns=JUDGED)
    matrix, codes = deltas.to_numpy(float), cluster_codes(deltas.index, len(deltas))
    sample, draws = column_means(matrix, deltas.index, resamples, seed)
    rows = {c: _column(matrix[:, k], codes, sample[0, k], draws[:, k], margin) for k, c in enumerate(deltas)}
    place = {c: k for k, c in enumerate(deltas)}
    for name, (left, right) in (minus or {}).items():
        a, b = place[left], place[right]
        rows[name] = _difference(matrix[:, [a, b]], codes, sample[0, a] - sample[0, b], draws[:, a] - draws[:, b], margin)
    out = pd.DataFrame(rows.values(), columns=[c for c in JUDGED if c != "p_holm"], index=pd.Index(list(rows), tupleize_cols=False))
    return out.assign(p_holm=stats.holm(out["p_value"]))[JUDGED]


def _column(values: np.ndarray, codes: np.ndarray, mean: float, draws: np.ndarray, margin: float) -> tuple:
    known = values[~np.isnan(values)]
    interval = percentile_interval(mean, draws, codes[~np.isnan(values)], tested=True)
    return _row(interval, stats.equivalence_of_draws(values, codes, draws, margin),
                detectable(known.std(ddof=1) ** 2 / len(known) if len(known) > 1 else np.nan), margin)


def _difference(pair: np.ndarray, codes: np.ndarray, mean: float, draws: np.ndarray, margin: float) -> tuple:
    """Of two columns. Paired where they share all their questions; else their variances add, and equivalence rests on the draws alone."""
    known = ~np.isnan(pair)
    if (known[:, 0] == known[:, 1]).all():
        return _column(pair[:, 0] - pair[:, 1], codes, mean, draws, margin)
    interval = percentile_interval(mean, draws, codes[known.any(axis=1)], tested=True)
    if (known.sum(axis=0) < 2).any():
        interval = interval._replace(low=np.nan, high=np.nan, p_value=np.nan)
    inner, drawn = percentile_interval(mean, draws, codes[known.any(axis=1)], tested=False, level=0.9), draws[~np.isnan(draws)]
    p = (1 + max((drawn <= -margin).sum(), (drawn >= margin).sum())) / (len(drawn) + 1)
    same = "equivalent" if -margin < inner.low and inner.high < margin and p < 0.05 else "inconclusive"
    variance = sum(pair[k, j].var(ddof=1) / k.sum() if k.sum() > 1 else np.nan for j, k in enumerate(known.T))
    return _row(interval, stats.Equivalence(same, mean, inner.low, inner.high, p, margin, interval.n, interval.clusters), detectable(variance), margin)


def _row(i: stats.Interval, same: stats.Equivalence, mde: float, margin: float) -> tuple:
    return i.estimate, i.low, i.high, i.p_value, margin, same.low, same.high, same.p_value, verdict(i, same), mde, i.n, i.clusters


def verdict(interval: stats.Interval, same: stats.Equivalence) -> str:
    """wins, loses, equivalent (two one-sided tests within the margin), undecided; undefined without an interval. A clear difference stays a win or a loss
    even where it lies within the margin."""
    if np.isnan(interval.low):
        return "undefined"
    if interval.low > 0 or interval.high < 0:
        return "wins" if interval.low > 0 else "loses"
    return same.verdict if same.verdict == "equivalent" else "undecided"


def detectable(variance_of_mean: float) -> float:
    """Minimum detectable effect (80 % power, two-sided 5 %) of a mean with this variance; NaN where there is no spread.

    >>> round(detectable(0.3 ** 2 / 200), 3)
    0.059
    """
    return stats.minimum_detectable_effect(float(np.sqrt(variance_of_mean)), 1) if variance_of_mean > 0 else np.nan


def arms(survived: pd.DataFrame, questions: pd.DataFrame, pack_id: str | None = None, budget: int | None = None) -> pd.DataFrame:
    """Survival rows with what is known of their question (half, question_type, n_hops), ``answer_in_context_defined``, and no reader."""
    rows = survived if pack_id is None else survived[survived["pack_id"] == pack_id]
    rows = rows if budget is None else rows[rows["budget"] == budget]
    rows = rows.merge(questions[[*QUESTION, "half", "question_type", "n_hops"]], on=QUESTION).assign(reader="none", precision="none")
    return defined(rows)


def defined(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` with answer_in_context_defined: answer-in-context where the question has a span, missing elsewhere."""
    return rows.assign(answer_in_context_defined=rows["answer_in_context"].astype(float).where(rows["answer_defined"].astype(bool)))


def paired(rows: pd.DataFrame, treatment: str, control: str, metric: str) -> pd.Series:
    """treatment - control of ``metric`` by (dataset, qid); empty where an arm is absent. ``rows`` hold one row a question and policy."""
    wide = rows[rows["policy"].isin({treatment, control})].pivot(index=QUESTION, columns="policy", values=metric).astype(float)
    return wide[treatment] - wide[control] if {treatment, control} <= set(wide) else pd.Series(dtype=float, index=wide.index[:0])


def sets(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Each data set, then "all" of them where there are several."""
    parts = list(rows.groupby("dataset"))
    return [*parts, ("all", rows)] if len(parts) > 1 else parts


def sliced(deltas: pd.Series, groups: Mapping[str, Sequence]) -> pd.DataFrame:
    """One column a slice: ``deltas`` where the question belongs to it, missing elsewhere. ``groups`` maps a slice to its (dataset, qid) pairs."""
    return pd.DataFrame({name: deltas.where(deltas.index.isin(list(members))) for name, members in groups.items()}, index=deltas.index)


def stacked(*frames: pd.DataFrame) -> pd.DataFrame:
    """The frames one below the other; an empty one among them changes no column's type."""
    return pd.concat([f for f in frames if len(f)] or [frames[0]], ignore_index=True)


def main_arm(outcomes: pd.DataFrame) -> tuple[str, int]:
    """(pack_id, budget) that most contexts were read from, graph evidence and closed book aside; ties by name. Raises ValueError where nothing was read.

    >>> main_arm(pd.DataFrame({"em": [1.0, 0.0, None], "pack_id": ["own-a-5.chunk", "own-a-5.chunk", "own-b-5.chunk"], "budget": [160, 160, 96]}))
    ('own-a-5.chunk', 160)
    """
    read = outcomes[outcomes["em"].notna() & (outcomes["pack_id"] != "none") & ~pack_ids.on_graph(outcomes["pack_id"])]
    if read.empty:
        raise ValueError("no context was read in this run: the scope map needs the packs that notebook 03 reads; run it with at least one policy and reader")
    pack_id, budget = read.groupby(["pack_id", "budget"]).size().idxmax()
    return str(pack_id), int(budget)


def main_rows(survived: pd.DataFrame, outcomes: pd.DataFrame, questions: pd.DataFrame, pack_id: str, budget: int) -> pd.DataFrame:
    """One row a question, policy and reader of the main arm: what survived (reader none), and below it F1 and EM for each reader that read it."""
    read = outcomes[outcomes["em"].notna() & (outcomes["pack_id"] == pack_id) & (outcomes["budget"] == budget)]
    return pd.concat([arms(survived, questions, pack_id, budget), read[[*QUESTION, "pack_id", "policy", "budget", "reader", "precision", "f1", "em"]]],
                     ignore_index=True)


def parting(rows: pd.DataFrame, treatment: str, control: str, budget: int) -> tuple[str, str]:
    """The first question (by id) whose answer only one of two packers keeps at ``budget``; the first of all where none does.

    Raises ValueError where nothing was packed at ``budget``.
    """
    at = rows[(rows["budget"] == budget) & (rows["reader"] == "none")]
    if at.empty:
        raise ValueError(f"no pack of {budget} tokens is there to show a question of; budgets of these rows are {sorted(set(rows['budget']))}; "
                         "run notebook 02 with that budget, or name another")
    gap = paired(at, treatment, control, "answer_in_context")
    apart = sorted(gap.index[gap != 0]) or sorted(map(tuple, at[QUESTION].drop_duplicates().to_numpy()))
    return apart[0]
