"""What a better order gains on its way to the reader: in nDCG, handed on, packed, answered; each list against its first stage (SPEC 8, 11).

A list's effect is told whole and in two steps over the same passages: *selection* (its passages in the first stage's order, minus the first stage) and *order*
(its own order, minus the first stage's order of the same passages). The steps add up. A gain is told of every question, and of those whose pool held the
evidence asked for: the second is the mechanism, and overstates what the system gains (document 001, "Metrics that preserve the diagnosis").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.downstream import HEAD, KEPT, OWN
from lib.downstream_packs import LIST
from lib.ranking import QUESTION
from lib.viability_requirement import EVERY

NO_PACKER = "none"  # of what is measured before any packer
MEASURES = [*LIST, "answer_in_context", "gold_coverage", "all_gold_in_context", "n_tokens", "em", "f1"]
SLICED = ("ndcg", "answer_in_context", "f1")
WHOLE, SELECTION, ORDER = "whole", "selection", "order"
GIVEN, MET = "every question", "evidence in the pool"
CELL = ["first_stage", "ranker", "depth", "packer", "measure"]
MEANS = ["tier", "dataset", "slice", *CELL, "reader", "estimate", "ci_low", "ci_high", "n", "undefined"]
CONTRASTS = ["tier", "dataset", "slice", *CELL, "reader", "effect", "given", "delta", "ci_low", "ci_high", "p_value", "p_holm", "wins", "losses", "n"]
TINY = 1e-12  # below this a difference is none
BLOCK = 256  # columns that share a draw


def wide(outcomes: pd.DataFrame) -> pd.DataFrame:
    """One data set's outcomes, a row a question, a column (*CELL, order); measures of a list stand once, under NO_PACKER."""
    before = outcomes.drop_duplicates(HEAD).assign(packer=NO_PACKER)
    long = [
        t.melt([*HEAD, "packer"], [m for m in of if m in t], "measure", "value")
        for t, of in ((before, LIST), (outcomes, [m for m in MEASURES if m not in LIST]))
    ]
    rows = pd.concat(long).astype({"value": float})
    return rows.pivot(index="qid", columns=[*CELL, "order"], values="value").sort_index(axis=1).sort_index()


def means(outcomes: pd.DataFrame, membership: pd.DataFrame, depth: int, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The table downstream: the mean of each measure of each list, packer and depth; ``membership`` (dataset, qid, slice) adds slices at ``depth``.

    A measure that no question has is no row; ``undefined`` counts the questions of the list that lack it.
    """
    made = []
    for dataset, name, part in _slices(outcomes, membership, depth):
        table = wide(part[part["order"] == OWN]).droplevel("order", axis=1)
        table = table[[c for c in table if table[c].notna().any() and (name == EVERY or c[-1] in SLICED)]]
        asked = part.drop_duplicates([*QUESTION, "ranker"]).groupby("ranker").size()
        for cell, i in zip(table.columns, _intervals(table, resamples, seed)):
            made.append((tier, dataset, name, *cell, reader_of(outcomes, cell[-1]), i.estimate, i.low, i.high, i.n, int(asked[cell[1]] - i.n)))
    return pd.DataFrame(made, columns=MEANS)


def contrasts(
    outcomes: pd.DataFrame, met: pd.DataFrame, membership: pd.DataFrame, depth: int, tier: str, resamples: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """The table downstream_contrasts: list minus its own first stage, paired by question; ``met`` as ``downstream.evidence`` gives it.

    Holm runs over the lists and packers of one data set, depth, effect, given and measure; in slices over the slices of one list, packer and measure.
    """
    made = []
    for dataset, name, part in _slices(outcomes, membership, depth):
        deltas = dict(_deltas(wide(part), _met(part, met), name))
        if not deltas:
            continue
        table = pd.DataFrame(deltas)
        for cell, i in zip(table.columns, _intervals(table, resamples, seed)):
            d = table[cell].to_numpy()
            signs = int((d > TINY).sum()), int((d < -TINY).sum())
            made.append((tier, dataset, name, *cell[:-2], reader_of(outcomes, cell[-3]), *cell[-2:], *i[:4], np.nan, *signs, i.n))
    return _holm(pd.DataFrame(made, columns=CONTRASTS))


def reader_of(outcomes: pd.DataFrame, measure: str) -> str:
    """Who gave the answers that ``measure`` scores; "none" for what no reader decides."""
    names = sorted(set(outcomes["reader"]) - {"none"}) if measure in ("em", "f1") else []
    return ", ".join(names) or "none"


def _slices(outcomes: pd.DataFrame, membership: pd.DataFrame, depth: int) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(data set, slice, its rows): every question first; slices at ``depth`` alone."""
    for dataset, rows in outcomes.groupby("dataset"):
        yield dataset, EVERY, rows
        main = rows[rows["depth"] == depth]
        for name, own in membership[membership["dataset"] == dataset].groupby("slice"):
            part = main[main["qid"].isin(set(own["qid"]))]
            if len(part):
                yield dataset, name, part


def _met(outcomes: pd.DataFrame, met: pd.DataFrame) -> dict[str, set[str]]:
    """first stage -> qids of this data set whose pool held the evidence."""
    rows = met[(met["dataset"] == outcomes["dataset"].iloc[0]) & (met["met"] == 1)] if len(met) else met
    return rows.groupby("first_stage")["qid"].agg(set).to_dict() if len(rows) else {}


def _deltas(table: pd.DataFrame, met: dict[str, set[str]], name: str) -> Iterator[tuple[tuple, pd.Series]]:
    """(*CELL, effect, given) -> a difference a question; in slices the whole effect of every question alone."""
    cells = dict.fromkeys(c[:-1] for c in table.columns if c[1] != c[0])
    for cell in cells:
        if name != EVERY and cell[-1] not in SLICED:
            continue
        first, own, kept = (table.get(c) for c in ((cell[0], cell[0], *cell[2:], OWN), (*cell, OWN), (*cell, KEPT)))
        if first is None or own is None:
            continue
        whole = own - first
        parts = {(WHOLE, GIVEN): whole}
        if name == EVERY:
            parts |= {(WHOLE, MET): whole.where(whole.index.isin(met.get(cell[0], set()))), (SELECTION, GIVEN): kept - first, (ORDER, GIVEN): own - kept}
        yield from (((*cell, *key), d) for key, d in parts.items() if d.notna().any())


def _intervals(table: pd.DataFrame, resamples: int, seed: int) -> list[stats.Interval]:
    """The interval of each column; blocks of columns share a draw, which changes no number: a draw is made by seed and questions."""
    columns = table.to_numpy(float)
    blocks = [columns[:, at : at + BLOCK] for at in range(0, columns.shape[1], BLOCK)]
    return [i for block in blocks for i in stats.paired_cluster_bootstraps(block, table.index, resamples, seed)]


def _holm(table: pd.DataFrame) -> pd.DataFrame:
    every = table["slice"] == EVERY
    families = ((every, ["dataset", "depth", "measure", "effect", "given"]), (~every, ["dataset", *CELL, "effect", "given"]))
    for rows, family in families:
        if rows.any():
            table.loc[rows, "p_holm"] = table[rows].groupby(family)["p_value"].transform(lambda p: stats.holm(p.to_numpy(float)))
    return table


def told(
    table: pd.DataFrame, measures: Sequence[str], packers: Sequence[str], depth: int, effects: Sequence[str] = (WHOLE,), given: Sequence[str] = (GIVEN,)
) -> pd.DataFrame:
    """The rows of downstream_contrasts that a cell shows: whole data sets, one depth; measures before any packer are always among them where named."""
    rows = table[(table["slice"] == EVERY) & (table["depth"] == depth) & table["measure"].isin(list(measures)) & table["packer"].isin([NO_PACKER, *packers])]
    rows = rows[rows["effect"].isin(list(effects)) & rows["given"].isin(list(given))]
    place = {name: i for names in (measures, effects, given) for i, name in enumerate(names)}
    order = ["dataset", "first_stage", "ranker", "packer", "measure", "effect", "given"]
    return rows.sort_values(order, key=lambda c: c.map(place) if c.name in order[4:] else c, kind="stable", ignore_index=True)
