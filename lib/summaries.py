"""From outcomes to the tables of results: means, paired contrasts, conditional means; all with clustered intervals (SPEC 8)."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lib import stats
from lib.parts import halves, parts

ARM = ["dataset", "pack_id", "policy", "budget", "reader", "precision"]
PANEL = ["dataset", "pack_id", "budget", "reader", "precision"]
READ = ("em", "f1", "f1_raw")  # missing where no reader was asked: no row; missing elsewhere means undefined: a row that counts it


def means(outcomes: pd.DataFrame, measures: Sequence[str], tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The policies table: mean of each measure in each arm and half, with a 95 % interval over questions; missing values are counted.

    ``answer_in_context_defined`` is answer_in_context over the questions where it is defined; so is ``answer_in_pool``. A measure that no question of an arm has is
    a row with n 0.
    """
    defined = outcomes["answer_defined"].astype(bool)
    outcomes = outcomes.assign(answer_in_context_defined=outcomes["answer_in_context"].where(defined))
    if "answer_in_pool" in outcomes:
        outcomes["answer_in_pool"] = outcomes["answer_in_pool"].where(defined)
    rows = []
    for half, part in halves(outcomes):
        for dataset, group in part.groupby("dataset"):
            cells = group.melt(["qid", *ARM], list(measures), "measure").dropna(subset=["value"])
            wide = cells.pivot_table(index="qid", columns=[*ARM, "measure"], values="value", observed=True)
            asked = group.groupby(ARM)["qid"].nunique()
            found = stats.paired_cluster_bootstraps(wide.to_numpy(float), wide.index, resamples=resamples, seed=seed) if len(wide) else []
            for column, i in zip(wide.columns, found):
                rows.append((tier, *column[:-1], half, column[-1], i.estimate, i.low, i.high, i.n, i.clusters, int(asked[column[:-1]] - i.n)))
            undefined = {(*arm, m) for arm in asked.index for m in measures if m not in READ} - set(wide.columns)
            rows += [(tier, *cell[:-1], half, cell[-1], np.nan, np.nan, np.nan, 0, 0, int(asked[cell[:-1]])) for cell in sorted(undefined)]
    return pd.DataFrame(rows, columns=["tier", *ARM, "half", "measure", "estimate", "ci_low", "ci_high", "n", "clusters", "undefined"])


def contrasts(outcomes: pd.DataFrame, pairs: Iterable[tuple[str, str]], metrics: Sequence[str], tier: str, resamples: int = 10_000,
              seed: int = 0, questions: pd.DataFrame | None = None) -> pd.DataFrame:
    """The contrasts table: delta = treatment - control, paired by question, on every half; Holm over the pairs and metrics of one panel.

    Wins and losses count questions, ties neither; sign_p is their exact sign test. With ``questions`` also a part a seed, and the published
    pooling of (seed, question) instances, where seeds draw (``lib.parts``).
    """
    pairs, rows = list(pairs), []
    outcomes = outcomes.assign(answer_in_context_defined=outcomes["answer_in_context"].where(outcomes["answer_defined"]))
    for half, part in parts(outcomes, questions):
        deltas = {panel: _deltas(group, pairs, metrics) for panel, group in part.groupby(PANEL)}
        for panel, found in _intervals(deltas, resamples, seed).items():
            adjusted = stats.holm([i.p_value for i in found])
            for (key, d), i, p in zip(deltas[panel].items(), found, adjusted):
                rows.append([tier, *panel, half, *key, i.estimate, i.low, i.high, i.p_value, p, *_signs(d), _detectable(d), i.n, i.clusters])
    return pd.DataFrame(rows, columns=["tier", *PANEL, "half", "treatment", "control", "metric", "delta", "ci_low", "ci_high", "p_value",
                                       "p_holm", "wins", "losses", "sign_p", "mde", "n", "clusters"])


def _deltas(group: pd.DataFrame, pairs: list[tuple[str, str]], metrics: Sequence[str]) -> pd.DataFrame:
    """Differences of one panel, a row a question, a column (treatment, control, metric); pairs that are not there have none."""
    wide = {m: group.pivot(index="qid", columns="policy", values=m).astype("float64") for m in metrics}
    made = {(t, c, m): w[t] - w[c] for m, w in wide.items() for t, c in pairs if t in w and c in w and (w[t] - w[c]).notna().any()}
    return pd.DataFrame(made)


def _intervals(deltas: dict[tuple, pd.DataFrame], resamples: int, seed: int) -> dict[tuple, list[stats.Interval]]:
    """The intervals of every panel. Panels over the same questions share a draw, which changes no number: a draw is made by seed and questions."""
    together, out = {}, {}
    for panel, table in deltas.items():
        if len(table.columns):
            together.setdefault(tuple(table.index), []).append(panel)
    for asked, panels in together.items():
        found = stats.paired_cluster_bootstraps(np.hstack([deltas[p].to_numpy() for p in panels]), asked, resamples=resamples, seed=seed)
        for panel in panels:
            out[panel], found = found[:deltas[panel].shape[1]], found[deltas[panel].shape[1]:]
    return {panel: out[panel] for panel in deltas if panel in out}


def _signs(delta: pd.Series) -> tuple[int, int, float]:
    wins, losses = int((delta > 0).sum()), int((delta < 0).sum())
    return wins, losses, stats.sign_test(wins, losses)


def _detectable(delta: pd.Series) -> float:
    known = delta.dropna()
    return stats.minimum_detectable_effect(known.std(), len(known)) if len(known) > 1 and known.std() else np.nan


def conditional_means(outcomes: pd.DataFrame, by: str, measures: Sequence[str], tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Mean of each measure where the indicator ``by`` is 1 and where it is 0, per data set and reader, rows of all policies pooled.

    Columns: tier, dataset, reader, precision, condition (column), holds (0 or 1), measure, estimate, ci_low, ci_high, n, clusters.
    """
    rows = []
    for (dataset, reader, precision), group in outcomes[outcomes["em"].notna()].groupby(["dataset", "reader", "precision"]):
        for holds, part in group.groupby(by):
            for measure in measures:
                known = part.dropna(subset=[measure])
                if len(known):
                    i = stats.mean_interval(known[measure].astype(float), known["qid"], resamples=resamples, seed=seed)
                    rows.append((tier, dataset, reader, precision, by, int(holds), measure, i.estimate, i.low, i.high, i.n, i.clusters))
    return pd.DataFrame(rows, columns=["tier", "dataset", "reader", "precision", "condition", "holds", "measure", "estimate", "ci_low",
                                       "ci_high", "n", "clusters"])


def within_questions(outcomes: pd.DataFrame, by: str, measure: str) -> pd.DataFrame:
    """The questions on which the packers part in the indicator ``by``: mean of ``measure`` without and with it, and in how many it is higher, equal or lower.

    One row a data set: dataset, questions (all), parted, without, with, higher, equal, lower. A question's rows on one side are averaged.
    """
    rows = []
    for dataset, group in outcomes.dropna(subset=[measure]).groupby("dataset"):
        sides = group.groupby(["qid", by])[measure].mean().unstack(by).reindex(columns=[0, 1]).dropna().astype(float)
        up, down = int((sides[1] > sides[0]).sum()), int((sides[1] < sides[0]).sum())
        rows.append((dataset, group["qid"].nunique(), len(sides), sides[0].mean(), sides[1].mean(), up, len(sides) - up - down, down))
    return pd.DataFrame(rows, columns=["dataset", "questions", "parted", "without", "with", "higher", "equal", "lower"])


def ranking_means(measured: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The retrieval table: mean of each ranking measure per data set, scope and ranker; undefined questions counted."""
    key = ["dataset", "scope", "ranker"]
    measures = [c for c in measured if c not in ("qid", "n_gold", "n_negative", "in_rankings", *key)]
    rows = []
    for group_key, group in measured.groupby(key):
        matrix = group[measures].to_numpy(float)
        for measure, i in zip(measures, stats.paired_cluster_bootstraps(matrix, group["qid"], resamples=resamples, seed=seed)):
            rows.append((tier, *group_key, measure, i.estimate, i.low, i.high, i.n, i.clusters, len(group) - i.n))
    return pd.DataFrame(rows, columns=["tier", *key, "measure", "estimate", "ci_low", "ci_high", "n", "clusters", "undefined"])


SURVIVAL_MEASURES = ("answer_in_context", "answer_in_context_defined", "answer_in_context_spaced", "answer_in_pool", "gold_coverage",
                     "all_gold_in_context", "gold_density", "n_tokens")


def survival_means(questions: pd.DataFrame, survived: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The packing table: what survives, mean over questions, for every pack, policy, budget and half (no reader involved)."""
    rows = survived.merge(questions[["dataset", "qid", "half"]], on=["dataset", "qid"]).assign(reader="none", precision="none")
    return means(rows, SURVIVAL_MEASURES, tier, resamples, seed).drop(columns=["reader", "precision"])


def reading_means(asked: pd.DataFrame, answers: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Mean EM and F1 of each policy and reader: dataset, reader, precision, policy, measure, estimate, ci_low, ci_high, n, clusters."""
    rows, out = asked[["dataset", "qid", "policy", "context_hash"]].merge(answers, on=["dataset", "qid", "context_hash"]), []
    for key, group in rows.groupby(["dataset", "reader", "precision", "policy"]):
        for measure, i in zip(("em", "f1"), stats.paired_cluster_bootstraps(group[["em", "f1"]].to_numpy(float), group["qid"], resamples=resamples, seed=seed)):
            out.append((tier, *key, measure, i.estimate, i.low, i.high, i.n, i.clusters))
    return pd.DataFrame(out, columns=["tier", "dataset", "reader", "precision", "policy", "measure", "estimate", "ci_low", "ci_high", "n", "clusters"])


READER_FREE = ("answer_in_context", "answer_in_context_defined", "gold_coverage", "n_tokens")


def survival_contrasts(questions: pd.DataFrame, survived: pd.DataFrame, tier: str, pairs: Iterable[tuple[str, str]] = (("submod", "naive"),),
                       metrics: Sequence[str] = READER_FREE, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Contrasts between packers of what survives, before any reader (reader ``none``), at every budget: arms that no reader reads included."""
    rows = survived.merge(questions[["dataset", "qid", "half"]], on=["dataset", "qid"]).assign(reader="none", precision="none")
    return contrasts(rows, pairs, metrics, tier, resamples, seed, questions)


def ranker_contrasts(measured: pd.DataFrame, measure: str, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Paired differences of one ranking measure between rankers (treatment - control), per data set and scope.

    Columns: tier, dataset, scope, treatment, control, measure, delta, ci_low, ci_high, p_value, p_holm (Holm over the pairs of one scope), n.
    """
    rows = []
    for (dataset, scope), group in measured.groupby(["dataset", "scope"]):
        wide = group.pivot(index="qid", columns="ranker", values=measure)
        pairs = list(itertools.combinations(sorted(wide.columns), 2))
        deltas = np.column_stack([wide[a] - wide[b] for a, b in pairs])
        found = stats.paired_cluster_bootstraps(deltas, wide.index, resamples=resamples, seed=seed)
        for (a, b), i, p in zip(pairs, found, stats.holm([i.p_value for i in found])):
            rows.append((tier, dataset, scope, a, b, measure, i.estimate, i.low, i.high, i.p_value, p, i.n))
    return pd.DataFrame(rows, columns=["tier", "dataset", "scope", "treatment", "control", "measure", "delta", "ci_low", "ci_high", "p_value", "p_holm", "n"])


def scope_contrasts(measured: pd.DataFrame, measure: str, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Paired differences of one ranking measure between the scopes, pooled - own, a row a data set and ranker; none where one scope was ranked.

    Columns: tier, dataset, ranker, measure, own, pooled (means), delta, ci_low, ci_high, p_value, p_holm (Holm over a data set's rankers), n.
    """
    rows = []
    for dataset, group in measured.groupby("dataset"):
        wide = group.pivot(index="qid", columns=["ranker", "scope"], values=measure).astype(float)
        rankers = [r for r in dict.fromkeys(wide.columns.get_level_values(0)) if {(r, "own"), (r, "pooled")} <= set(wide.columns)]
        if not rankers:
            continue
        deltas = np.column_stack([wide[r, "pooled"] - wide[r, "own"] for r in rankers])
        found = stats.paired_cluster_bootstraps(deltas, wide.index, resamples=resamples, seed=seed)
        for r, i, p in zip(rankers, found, stats.holm([i.p_value for i in found])):
            rows.append((tier, dataset, r, measure, wide[r, "own"].mean(), wide[r, "pooled"].mean(), i.estimate, i.low, i.high, i.p_value, p, i.n))
    return pd.DataFrame(rows, columns=["tier", "dataset", "ranker", "measure", "own", "pooled", "delta", "ci_low", "ci_high", "p_value", "p_holm", "n"])
