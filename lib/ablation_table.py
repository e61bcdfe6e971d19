"""Which parts of the four-term objective keep the answer: every change beside the published setting, beside the heuristics, and the verdict (SPEC 4).

A change of submod is compared with submod as published and with each heuristic; a change of mmr with mmr as published. All differences are
change - control, paired by question; Holm runs over the changes of one data set, half, control and measure.
"""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib import stats
from lib.submodular_ablations import FAMILIES, PUBLISHED
from lib.parts import halves

MEASURES = ("answer_in_context_defined", "gold_coverage", "all_gold_in_context", "n_tokens")
KEY = ["tier", "dataset", "half", "policy", "change", "control", "measure"]
VALUES = ["mean", "delta", "ci_low", "ci_high", "p_value", "p_holm", "wins", "losses", "n", "clusters", "undefined"]
LEFT_OUT = tuple(FAMILIES["leave one out"])


def ablation_table(packed: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The objective_ablations table from the rows of ``submodular_ablations.pack_changes`` of all data sets.

    ``mean`` is the changed setting's. Two and more data sets are also pooled under ``all``, every question once. Measures beside answer-in-context are compared
    with the published setting only. Rows do not depend on the order of ``packed``; nothing packed gives no rows.
    """
    packed = packed.assign(answer_in_context_defined=packed["answer_in_context"].astype(float).where(packed["answer_defined"]))
    sets = [(d, part) for d, part in packed.groupby("dataset")]
    sets += [("all", packed.assign(qid=packed["dataset"] + ":" + packed["qid"]))] if len(sets) > 1 else []
    rows = [row for dataset, part in sets for half, some in halves(part) if len(some) for row in _rows(some, (tier, dataset, half), resamples, seed)]
    return pd.DataFrame(rows, columns=[*KEY, *VALUES])


def _rows(packed: pd.DataFrame, at: tuple, resamples: int, seed: int) -> list[tuple]:
    wide = {m: packed.pivot(index="qid", columns=["policy", "change"], values=m).astype(float).sort_index() for m in MEASURES}
    pairs = list(_pairs(wide[MEASURES[0]].columns))
    deltas = np.column_stack([wide[m][t] - wide[m][c] for t, c, m in pairs]) if pairs else np.zeros((len(packed), 0))
    found = stats.paired_cluster_bootstraps(deltas, wide[MEASURES[0]].index, resamples=resamples, seed=seed) if pairs else []
    made = pd.DataFrame([(*at, *t, c[0] if c[1] == PUBLISHED and c[0] != t[0] else PUBLISHED, m, wide[m][t].mean(), i.estimate, i.low, i.high, i.p_value,
                          np.nan, int((d > 0).sum()), int((d < 0).sum()), i.n, i.clusters, len(d) - i.n)
                         for (t, c, m), i, d in zip(pairs, found, deltas.T)], columns=[*KEY, *VALUES])
    changed = made["change"] != PUBLISHED
    for _, family in made[changed].groupby(["policy", "control", "measure"]):
        made.loc[family.index, "p_holm"] = stats.holm(family["p_value"])
    return list(made.itertuples(index=False, name=None))


def _pairs(arms) -> list[tuple]:
    """(treatment, control, measure): every change against its rule as published, and every submod arm against every heuristic as published."""
    arms = sorted(arms)
    for policy, change in arms:
        if change != PUBLISHED:
            yield from (((policy, change), (policy, PUBLISHED), m) for m in MEASURES)
        if policy == "submod":
            yield from (((policy, change), other, MEASURES[0]) for other in arms if other[1] == PUBLISHED and other[0] != "submod")


def full_alone(table: pd.DataFrame) -> pd.DataFrame:
    """Does only the full objective win? A row a data set (all questions) and heuristic: delta and interval of the full objective, how many of the
    objectives with one term left out beat the heuristic too (interval above 0), how many fall below the full one (Holm 0.05), and the verdict."""
    rows = table[(table["half"] == "all") & (table["measure"] == MEASURES[0]) & (table["policy"] == "submod")]
    less = rows[rows["change"].isin(LEFT_OUT)]
    out = []
    for full in rows[(rows["change"] == PUBLISHED)].itertuples():
        here = less[less["dataset"] == full.dataset]
        beat = here[(here["control"] == full.control) & (here["ci_low"] > 0)]["change"].tolist()
        worse = here[(here["control"] == PUBLISHED) & (here["delta"] < 0) & (here["p_holm"] < 0.05)]["change"].tolist()
        out.append((full.tier, full.dataset, full.control, full.delta, full.ci_low, full.ci_high, len(beat), len(worse), here["change"].nunique(),
                    verdict(full.ci_low, len(beat)), full.n))
    return pd.DataFrame(out, columns=["tier", "dataset", "control", "delta", "ci_low", "ci_high", "others_win", "fall_below", "left_out", "verdict", "n"])


SHOWN = [name for family in ("leave one out", "one term", "exponent", "greedy", "two at once") for name in FAMILIES[family]]


def to_draw(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that ``figures.forest`` draws: changes of submod against submod as published, on answers kept, all questions of every set (or the only one)."""
    rows = table[(table["policy"] == "submod") & (table["control"] == PUBLISHED) & (table["measure"] == MEASURES[0]) & (table["half"] == "all")]
    whole = "all" if (rows["dataset"] == "all").any() else rows["dataset"].min()
    rows = rows[(rows["dataset"] == whole) & rows["change"].isin(SHOWN)]
    order = rows["change"].map({name: place for place, name in enumerate(SHOWN)})
    label = rows["change"].str.replace("without ", "no ").str.replace(r"\.0$", "", regex=True)
    rows = rows.assign(treatment="changed", control="as published", label=label, metric="answers kept", place=order)
    return rows.sort_values("place").drop(columns=["place", "measure", "half", "change", "policy"])


def finding(drawn: pd.DataFrame) -> str:
    """The title over ``to_draw``'s rows: how many changes keep fewer or more answers than the published objective after Holm, and which.

    >>> finding(pd.DataFrame({"label": ["no a", "no b"], "delta": [-0.1, 0.01], "p_holm": [0.01, 0.9]}))
    'Of 2 changes to the objective 1 keeps fewer answers (no a); for 1 no change is shown'
    """
    clear = drawn["p_holm"].astype(float) < 0.05
    sides = [(word, drawn.loc[clear & side, "label"].tolist()) for word, side in (("fewer", drawn["delta"] < 0), ("more", drawn["delta"] > 0))]
    parts = [f"{len(names)} keep{'s' if len(names) == 1 else ''} {word} answers ({'; '.join(names[:3])}{' ...' if len(names) > 3 else ''})"
             for word, names in sides if names]
    rest = int((~clear).sum())
    if not parts:
        return f"None of {len(drawn)} changes to the objective is shown to keep more or fewer answers"
    return f"Of {len(drawn)} changes to the objective {' and '.join(parts)}" + (f"; for {rest} no change is shown" if rest else "")


def verdict(low: float, others: int) -> str:
    """In words: does the full objective win, and do objectives without a term?

    >>> verdict(0.01, 0), verdict(0.01, 2), verdict(-0.01, 0), verdict(float("nan"), 0)
    ('only the full objective wins', 'others win too', 'the full objective does not win', 'undefined')
    """
    if np.isnan(low):
        return "undefined"
    return "the full objective does not win" if low <= 0 else "others win too" if others else "only the full objective wins"


def confirmed(table: pd.DataFrame) -> pd.DataFrame:
    """The change that gains most on half 0, and what it gains on half 1 (one test, so no Holm): a row a data set and rule, ties to the first name."""
    rows = table[(table["control"] == PUBLISHED) & (table["measure"] == MEASURES[0]) & (table["change"] != PUBLISHED)].dropna(subset=["delta"])
    chosen = rows[rows["half"] == "0"].sort_values(["delta", "change"], ascending=[False, True]).drop_duplicates(["dataset", "policy"])
    out = chosen.merge(rows[rows["half"] == "1"], on=["tier", "dataset", "policy", "change"], suffixes=("_chosen", ""))
    columns = ["tier", "dataset", "policy", "change", "delta_chosen", "delta", "ci_low", "ci_high", "p_value", "n"]
    return out[columns].sort_values(["policy", "dataset"], ignore_index=True)
