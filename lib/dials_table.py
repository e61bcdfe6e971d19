"""The table ``dials``: levels, contrasts and trends along each dial, with intervals, Holm and equivalence, in one draw of questions (SPEC 8, 9)."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import bootstrap, intervention, stats
from lib.dials import ENDS, measured, points
from lib.dials_plan import check_plan, check_trial
from lib.dials_stream import Chance

MOVED = {"n_hops": "hops", "surfaced": "surfaced", "repeated": "repeated", "answer_place": "place", "shared_words": "shared"}  # measure -> column
KEY = ["tier", "dial", "value", "treatment", "control", "measure", "reader", "precision"]
FOUND = ["estimate", "ci_low", "ci_high", "p_value", "eq_low", "eq_high", "eq_p", "verdict", "n", "undefined"]
COLUMNS = [*KEY[:3], "place", "end", "at_rest", *KEY[3:], *FOUND[:4], "p_holm", *FOUND[4:]]
COLUMN = ["dataset", "treatment", "control", "measure"]
TREND = "trend"


def sweep(plan: Mapping, tier: str, workers: int = 1, resamples: int = 10_000, seed: int = 0, chance: Chance | None = None, questions: int | None = None,
          encoder: object = None) -> pd.DataFrame:
    """The table ``dials`` of the block ``worlds`` of the frozen plan: one curve a dial and contrast while the other dials stand still.

    Rows: what the dials move (treatment ``world``), what retrieval finds (``pool``), what each packer keeps, its contrasts, and their ``trend`` along each
    dial. ``chance`` (``lib.tuned.chances``) lets the packer join that the plan names; ``questions`` (0: no row at all) and ``encoder`` change the plan for
    a trial. Raises ValueError for a plan
    that ``dials_plan`` refuses or that turns a dial out of its range.
    """
    check_trial(questions, workers)
    check_plan(plan, chance is not None)
    if questions == 0:
        return pd.DataFrame(columns=COLUMNS)
    rows = measured(plan, workers, chance, questions, encoder)
    pairs = [tuple(pair) for pair in plan["contrasts"]]
    table = tabled(points(plan), wide(rows, pairs), plan["metric"], tier, plan["margin"], resamples, seed)
    if chance is None:
        return table
    joined = tabled(points(plan), wide(rows, [tuple(plan["joins"]["contrast"])]), plan["metric"], tier, plan["margin"], resamples, seed)
    return pd.concat([table, joined[joined["control"] != "none"]], ignore_index=True)


def wide(rows: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """What is known of each question (a row), a column (dataset, treatment, control, measure), from ``dials.measured``.

    answer_in_context_defined = 1 - lost_in_retrieval - lost_in_packing; answer_kept is answer_in_context where the answer is in the pool.
    """
    made = {}
    for dataset, part in rows.groupby("dataset", sort=False):
        held = part.pivot(index="qid", columns="policy", values="answer_in_context").astype(float)
        tokens = part.pivot(index="qid", columns="policy", values="n_tokens").astype(float)
        once = part.drop_duplicates("qid").set_index("qid").loc[held.index]
        pool = once["answer_in_pool"].astype(float)
        made |= {(dataset, "world", "none", m): once[c].astype(float) for m, c in MOVED.items()}
        found = {"answer_in_pool": pool, "lost_in_retrieval": 1 - pool, "gold_in_pool": once["gold_in_pool"]}
        made |= {(dataset, "pool", "none", m): v for m, v in found.items()}
        for policy in held:
            made |= {(dataset, policy, "none", m): v for m, v in (("answer_in_context_defined", held[policy]), ("lost_in_packing", pool - held[policy]),
                                                                  ("answer_kept", held[policy].where(pool == 1)), ("n_tokens", tokens[policy]))}
        for treatment, control in pairs:
            delta = held[treatment] - held[control]
            made |= {(dataset, treatment, control, m): v for m, v in (("answer_in_context_defined", delta), ("answer_kept", delta.where(pool == 1)),
                                                                      ("n_tokens", tokens[treatment] - tokens[control]))}
    return pd.DataFrame(made).rename_axis(columns=COLUMN)


def tabled(found: pd.DataFrame, known: pd.DataFrame, metric: str, tier: str, margin: float, resamples: int = 10_000, seed: int = 0,
           reader: tuple[str, str] = ("none", "none")) -> pd.DataFrame:
    """The rows of the points ``found`` (``dials.points``) from the columns of ``known`` (``wide``); trends, Holm and verdicts for contrasts of ``metric``."""
    known = known.join(_slopes(found, known, metric)) if len(known) else known
    if known.empty:
        return pd.DataFrame(columns=COLUMNS)
    matrix = known.to_numpy(float)
    sample, drawn = bootstrap.column_means(matrix, known.index, resamples, seed)
    rows = [_row(column, mean, draws, values, margin) for column, mean, draws, values in zip(known.columns, sample[0], drawn.T, matrix.T)]
    rows = pd.DataFrame(rows, columns=[*COLUMN, *FOUND])
    tested = (rows["control"] != "none") & (rows["measure"] == metric)
    trend = rows["dataset"].str.startswith(f"{TREND} ")
    rows["p_holm"] = np.nan
    for family in (tested & ~trend, tested & trend):
        rows.loc[family, "p_holm"] = stats.holm(rows.loc[family, "p_value"])
    rows.loc[trend, "verdict"] = [_trend_verdict(r) for r in rows[trend].itertuples()]
    rows.loc[tested & trend, "verdict"] += [_reversing(r, rows, found) for r in rows[tested & trend].itertuples()]
    at = pd.concat([found, _trend_points(found)], ignore_index=True)
    out = at.merge(rows, on="dataset").assign(tier=tier, reader=reader[0], precision=reader[1])
    return out[COLUMNS]


def _slopes(found: pd.DataFrame, known: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Each question's least-squares slope of each contrast of ``metric`` over the places of each dial."""
    made = {}
    for dial, part in found.dropna(subset=["place"]).groupby("dial", sort=False):
        x = part["place"].to_numpy() - part["place"].mean()
        for _, treatment, control, measure in (c for c in known.columns if c[0] == part["dataset"].iloc[0] and c[2] != "none" and c[3] == metric):
            values = np.column_stack([known[d, treatment, control, measure] for d in part["dataset"]])
            made[f"{TREND} {dial}", treatment, control, measure] = values @ x / (x @ x)
    return pd.DataFrame(made, index=known.index).rename_axis(columns=COLUMN)


def _trend_points(found: pd.DataFrame) -> pd.DataFrame:
    names = found["dial"].drop_duplicates()
    return pd.DataFrame({"dial": names, "value": TREND, "place": np.nan, "end": "none", "at_rest": False, "dataset": f"{TREND} " + names})


def _row(column: tuple, mean: float, draws: np.ndarray, values: np.ndarray, margin: float) -> tuple:
    known = np.flatnonzero(~np.isnan(values))
    contrast = column[2] != "none"
    i = bootstrap.percentile_interval(mean, draws, known, tested=contrast)
    undefined = len(values) - len(known)
    if not contrast or column[3] == "n_tokens":  # a margin in points means nothing of tokens
        return (*column, *i[:4], np.nan, np.nan, np.nan, None, i.n, undefined)
    same = stats.equivalence_of_draws(values, np.arange(len(values)), draws, margin)
    return (*column, *i[:4], same.low, same.high, same.p_value, intervention.verdict(i, same, int(np.count_nonzero(values[known]))), i.n, undefined)


def _trend_verdict(row) -> str:
    """rises, falls, flat, undecided (as the plan fixed them) or undefined."""
    if np.isnan(row.estimate):
        return "undefined"
    if row.verdict in ("equivalent", "slightly up", "slightly down"):
        return "flat"
    decided = row.p_holm < 0.05
    return ("rises" if row.estimate > 0 else "falls") if decided else "undecided"


def _reversing(trend, rows: pd.DataFrame, found: pd.DataFrame) -> str:
    """", reversing" where the two ends of the dial differ from 0 in opposite directions, each by Holm."""
    dial = trend.dataset.removeprefix(f"{TREND} ")
    ends = found.loc[(found["dial"] == dial) & found["end"].isin(ENDS), "dataset"]
    same = (rows[["treatment", "control", "measure"]] == [trend.treatment, trend.control, trend.measure]).all(axis=1)
    at = rows[same & rows["dataset"].isin(ends)]
    return ", reversing" if (at["p_holm"] < 0.05).sum() == 2 and np.sign(at["estimate"]).sum() == 0 else ""


def moved(table: pd.DataFrame) -> pd.DataFrame:
    """What each dial moved: a row a dial, a column a condition, its mean at the high end minus that at the low end. Empty for a table without a row."""
    ends = table[(table["treatment"] == "world") & (table["end"].isin(ENDS))]
    wide = ends.pivot(index=["dial", "measure"], columns="end", values="estimate").reindex(columns=ENDS).astype(float)
    change = (wide["high"] - wide["low"]).unstack("measure")
    return change.reindex(index=ends["dial"].drop_duplicates(), columns=list(MOVED)).round(3).reset_index()
