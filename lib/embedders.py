"""Does it matter which encoder ranks? What each ranker retrieves, what packers keep of it, and whether their contrasts depend on the ranker (SPEC 2, 9).

Each question has one list a ranker, so two rankers are compared within questions: a difference between their contrasts has an interval of its own,
and "the packers' order does not depend on the encoder" is an equivalence within the margin, never a p above 5 %.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import bootstrap, intervention, parts, ranking, settings, stats

NONE, ALL = "none", "all"
WITHIN = ("equivalent", "slightly up", "slightly down")  # verdicts of a difference that lies within the margin
KEPT = "answer_in_context_defined"
PAIRS = (("submod", "focused"), ("submod", "naive"))
RETRIEVED = ("all_gold_at_5", "recall_at_5")
CELL = ["ranker", "treatment", "control", "measure"]
COLUMNS = ["tier", "dataset", "scope", "ranker", "minus", "treatment", "control", "measure", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "verdict",
           "n", "clusters", "undefined"]


def embedders(questions: pd.DataFrame, gold: pd.DataFrame, rankings: pd.DataFrame, survived: pd.DataFrame, main: dict, tier: str,
              pairs: Sequence[tuple[str, str]] = PAIRS, budget: int = 160, margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The embedders table: levels and packers' contrasts of each ranker, and what each differs by from the main setting's ranker, paired by question.

    ``main``: the setting whose ranker alone is changed; what a ranker's packs keep is told where ``survived`` holds the pack of that setting. Where
    there are several data sets, ``all`` pools their questions. No row where nothing is ranked in the setting's scope.
    """
    long = per_question(questions, gold, rankings, survived, main, pairs, budget)
    rows = []
    for dataset, group in [*long.groupby("dataset"), *([(ALL, long)] if long["dataset"].nunique() > 1 else [])]:
        wide = group.pivot(index=parts.QUESTION, columns=CELL, values="value").sort_index(axis=1)
        rows += _rows((tier, dataset, main["scope"]), wide, main["ranker"], margin, resamples, seed)
    table = pd.DataFrame(rows, columns=COLUMNS)
    family = ["dataset", table["minus"].eq(NONE), table["control"].eq(NONE), "measure"]
    return table.assign(p_holm=table.groupby(family)["p_value"].transform(lambda p: stats.holm(p)) if len(table) else table["p_value"])


def per_question(questions: pd.DataFrame, gold: pd.DataFrame, rankings: pd.DataFrame, survived: pd.DataFrame, main: dict,
                 pairs: Sequence[tuple[str, str]] = PAIRS, budget: int = 160) -> pd.DataFrame:
    """Long: dataset, qid, ranker, treatment, control, measure, value; one row a question even where the value is undefined."""
    listed = rankings[(rankings["scope"] == main["scope"]) & (rankings["rank"] <= 5)]
    if listed.empty:
        return pd.DataFrame(columns=[*parts.QUESTION, *CELL, "value"])
    measured = ranking.ranking_measures(listed, gold, ks=(5,))
    made = [_long(measured.assign(value=measured[m]), m) for m in RETRIEVED]
    for ranker in sorted(set(listed["ranker"])):
        here = survived[(survived["pack_id"] == settings.pack_id({**main, "ranker": ranker})) & (survived["budget"] == budget)]
        made += _kept(here.assign(ranker=ranker), pairs) if len(here) else []
    return pd.concat(made, ignore_index=True).merge(questions[parts.QUESTION], on=parts.QUESTION)


def _kept(here: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[pd.DataFrame]:
    """answer_in_pool, and answer_in_context by policy and by pair, of one ranker's packs; NaN where the answer is undefined."""
    defined = here["answer_defined"].astype(bool)
    here = here.assign(value=here["answer_in_context"].astype(float).where(defined), pool=here["answer_in_pool"].astype(float).where(defined))
    once = here.drop_duplicates(parts.QUESTION)
    by = {p: rows.set_index([*parts.QUESTION, "ranker"])["value"] for p, rows in here.groupby("policy")}
    named = list(dict.fromkeys(p for pair in pairs for p in pair if p in by))
    return [_long(once.assign(value=once["pool"]), "answer_in_pool"), *(_long(by[p].reset_index(), KEPT, p) for p in named),
            *(_long((by[t] - by[c]).reset_index(), KEPT, t, c) for t, c in pairs if t in by and c in by)]


def _long(rows: pd.DataFrame, measure: str, treatment: str = NONE, control: str = NONE) -> pd.DataFrame:
    return rows[[*parts.QUESTION, "ranker", "value"]].assign(treatment=treatment, control=control, measure=measure)


def _rows(head: tuple, wide: pd.DataFrame, reference: str, margin: float, resamples: int, seed: int) -> list[tuple]:
    """Every cell's own row and, beside another ranker's cell, its difference from ``reference``'s; all from one draw of questions."""
    cells = [(c, NONE, wide[c]) for c in wide.columns]
    cells += [(c, reference, wide[c] - wide[(reference, *c[1:])]) for c in wide.columns if c[0] != reference and (reference, *c[1:]) in wide]
    matrix = np.column_stack([values for _, _, values in cells]).astype(float)
    means, drawn = bootstrap.column_means(matrix, list(wide.index), resamples, seed)
    rows = []
    for ((ranker, *arm), minus, _), mean, draws, values in zip(cells, means[0], drawn.T, matrix.T):
        compared = minus != NONE or arm[1] != NONE
        rows.append((*head, ranker, minus, *arm, *_row(mean, draws, values, compared, margin), int(np.isnan(values).sum())))
    return rows


def _row(mean: float, draws: np.ndarray, values: np.ndarray, compared: bool, margin: float) -> tuple:
    """estimate, ci_low, ci_high, p_value, p_holm (filled later), verdict, n, clusters; p and verdict of comparisons alone."""
    known = np.flatnonzero(~np.isnan(values))
    found = bootstrap.percentile_interval(mean, draws, known, tested=compared)
    said = None
    if compared:
        same = stats.equivalence_of_draws(values, np.arange(len(values)), draws, margin)
        said = intervention.verdict(found, same, int(np.count_nonzero(values[known])))
    return *found[:4], math.nan, said, found.n, found.clusters


def dependence(table: pd.DataFrame) -> pd.DataFrame:
    """One row a data set and contrast of packers, from the embedders table: what it is on the lists of each ranker, and whether the ranker changes it.

    Columns: dataset, treatment, control, rankers, lowest and highest contrast, ahead and behind (rankers whose interval lies above or below 0), widest (the
    ranker farthest from the main one, its difference and interval), answer: "depends" (a difference has a Holm p below 5 %), "same" (every difference lies
    within the margin), "undecided".
    """
    rows, kept = [], table[table["control"] != NONE].dropna(subset=["ci_low"])
    for key, group in kept.groupby(["dataset", "treatment", "control"]):
        own, differs = group[group["minus"] == NONE], group[group["minus"] != NONE]
        if differs.empty:
            continue
        far = differs.loc[differs["estimate"].abs().idxmax()]
        answer = "depends" if (differs["p_holm"] < 0.05).any() else "same" if differs["verdict"].isin(WITHIN).all() else "undecided"
        rows.append((*key, len(own), own["estimate"].min(), own["estimate"].max(), int((own["ci_low"] > 0).sum()), int((own["ci_high"] < 0).sum()),
                     far["ranker"], far["estimate"], far["ci_low"], far["ci_high"], answer))
    return pd.DataFrame(rows, columns=["dataset", "treatment", "control", "rankers", "lowest", "highest", "ahead", "behind", "widest", "difference", "ci_low",
                                       "ci_high", "answer"])
