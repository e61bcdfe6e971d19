"""Every packer and rival against one control, from the survival tables: shares kept, tokens, paired differences, a pooled row (SPEC 4 and 8)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import diagnostics, settings, stats, survival

QUESTION = ["dataset", "qid"]
MEASURES = ("answer_in_context_defined", "answer_in_context", "gold_coverage", "all_gold_in_context", "n_tokens")
POOLED = "all"
CONTROL = "submod"
BOUNDS = ("best_possible", "pool")  # no packers: what any could reach
COLUMNS = ["tier", "dataset", "budget", "policy", "measure", "estimate", "ci_low", "ci_high", "delta", "delta_low", "delta_high", "p_value", "p_holm",
           "wins", "losses", "n", "clusters", "undefined", "part"]
CHANGES = {  # arms that are another setting of a published packer, or another relevance for a rival
    "submod_unit_cost": ("submod", {"exponent": 0.0}), "submod_both": ("submod", {"greedy": "both"}), "submod_dense": ("submod", {"relevance": "dense"}),
    "adagres_dense": ("adagres", {"relevance": "dense"}),
    "submod_cross_encoder": ("submod", {"relevance": "cross_encoder"}), "naive_cross_encoder": ("naive", {"relevance": "cross_encoder"}),
}
PLAIN = ("tuned", "submod", "focused", "mmr", "naive", "adagres", "selective", "topk", "random", "gold")


def arms_of(main: dict, packed: Iterable[str], policies: Sequence[str] = PLAIN,
            changes: Mapping[str, tuple[str, dict]] = CHANGES) -> dict[str, tuple[str, str]]:
    """Arm -> (pack_id, policy) for the packers of the main setting and each change of it; changes whose pack is not in ``packed`` are left out.

    >>> arms_of(settings.setting(), ["own-dense-5.chunk", "own-dense-5.chunk.r=0.0"], ["submod"])
    {'submod': ('own-dense-5.chunk', 'submod'), 'submod_unit_cost': ('own-dense-5.chunk.r=0.0', 'submod')}
    """
    name, there = settings.pack_id(main), set(packed)
    arms = {p: (name, p) for p in policies}
    for arm, (policy, change) in changes.items():
        try:
            other = settings.pack_id(settings.setting(**{**main, **change}))
        except ValueError:
            continue  # a setting that this library's packing does not offer
        if other in there:
            arms[arm] = (other, policy)
    return arms


def named(survived: pd.DataFrame, arms: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """The rows of ``survived`` that belong to an arm, with the arm's name as policy and one pack_id ``contest``; arms without rows are left out."""
    parts = [survived[(survived["pack_id"] == pack) & (survived["policy"] == policy)].assign(policy=arm, pack_id="contest")
             for arm, (pack, policy) in arms.items()]
    return pd.concat(parts, ignore_index=True) if parts else survived.iloc[:0]


def bounds(questions: pd.DataFrame, snippets: pd.DataFrame, pool_id: str, budgets: Sequence[int]) -> pd.DataFrame:
    """Two rows a question and budget that no packer can beat: ``pool`` (the answer stands in some candidate), ``best_possible`` (in one that fits the budget).

    Columns: dataset, qid, pack_id, policy, budget, answer_in_context, answer_defined, n_tokens (of the cheapest such candidate, missing where there is none).
    """
    rows = snippets[snippets["pool_id"] == pool_id][[*QUESTION, "text", "n_tokens"]].merge(questions[[*QUESTION, "answers", "question_type"]], on=QUESTION)
    holds = survival.answers_in_contexts(rows["answers"], [[t] for t in rows["text"]], rows["question_type"])["answer_in_context"].to_numpy(bool)
    cheapest = rows[holds].groupby(QUESTION)["n_tokens"].min()
    cost = cheapest.reindex(pd.MultiIndex.from_frame(questions[QUESTION])).to_numpy(float)
    defined = [survival.answer_in_context(a, [], t).defined for a, t in zip(questions["answers"], questions["question_type"])]
    made = []
    for budget in budgets:
        for policy, fits in (("pool", ~np.isnan(cost)), ("best_possible", cost <= budget)):
            made.append(questions[QUESTION].assign(pack_id="contest", policy=policy, budget=budget, answer_in_context=fits.astype(int), answer_defined=defined,
                                                   n_tokens=np.where(fits, cost, np.nan)))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=[*diagnostics.PACK_KEY, "answer_in_context", "answer_defined", "n_tokens"])


def contest(arms: pd.DataFrame, tier: str, control: str = CONTROL, measures: Sequence[str] = MEASURES, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The packer_contest table from ``named`` survival rows (and ``bounds``): a row a data set (and all), budget, arm and measure.

    estimate: mean over the arm's questions; delta: mean of arm - control over the questions that both packed, with the paired interval over questions;
    Holm over the arms of one data set, budget and measure. An arm that packed a part of the questions says so in ``part``. No rows where submod, the
    usual control, was not packed; raises ValueError for another control that was not, and where an arm has two rows for one question.
    """
    if arms.empty or (control == CONTROL and control not in set(arms["policy"])):
        return pd.DataFrame(columns=COLUMNS)  # nothing to compare with: a run may pack other arms alone
    if control not in set(arms["policy"]):
        raise ValueError(f"control {control!r} is no arm; there are {', '.join(sorted(set(arms['policy'])))}")
    if arms.duplicated([*QUESTION, "policy", "budget"]).any():
        at = arms[arms.duplicated([*QUESTION, "policy", "budget"])].iloc[0]
        raise ValueError(f"arm {at.policy!r} has several packs for question {at.qid!r} ({at.dataset}) at {at.budget} tokens; name one pack_id an arm")
    rows = arms.assign(answer_in_context_defined=arms["answer_in_context"].where(arms["answer_defined"].astype(bool)))
    made = []
    for name in [*sorted(rows["dataset"].unique()), *([POOLED] if rows["dataset"].nunique() > 1 else [])]:
        part = rows if name == POOLED else rows[rows["dataset"] == name]
        for budget, group in part.groupby("budget"):
            for measure in (m for m in measures if m in group):
                made += [[tier, name, int(budget), *cell] for cell in _cells(group, measure, control, resamples, seed)]
    return pd.DataFrame(made, columns=COLUMNS)


def _cells(group: pd.DataFrame, measure: str, control: str, resamples: int, seed: int) -> list[list]:
    """policy, measure and numbers of every arm at one budget."""
    wide = group.assign(value=group[measure].astype("float64")).pivot(index=QUESTION, columns="policy", values="value").sort_index()
    packed = group.groupby("policy").size()
    names, asked = list(wide.columns), int(packed.max())
    clusters = [f"{d}\n{q}" for d, q in wide.index]
    base = wide[control] if control in wide else pd.Series(np.nan, index=wide.index)
    deltas = wide.sub(base, axis=0).drop(columns=[control], errors="ignore")
    level = stats.paired_cluster_bootstraps(wide.to_numpy(float), clusters, resamples=resamples, seed=seed)
    found = stats.paired_cluster_bootstraps(deltas.to_numpy(float), clusters, resamples=resamples, seed=seed) if len(deltas.columns) else []
    against = dict(zip(deltas.columns, found))
    tested = [p for p in against if p not in BOUNDS]
    adjusted = dict(zip(tested, stats.holm([against[p].p_value for p in tested])))
    out = []
    for policy, i in zip(names, level):
        d, told = against.get(policy), "all" if packed[policy] == asked else f"{packed[policy]} of {asked} questions"
        pair = [d.estimate, d.low, d.high, d.p_value if policy in tested else np.nan, adjusted.get(policy, np.nan)] if d and d.n else [np.nan] * 5
        change = deltas[policy].dropna() if d else pd.Series(dtype=float)
        signs = [int((change > 0).sum()), int((change < 0).sum())]
        out.append([policy, measure, i.estimate, i.low, i.high, *pair, *signs, i.n, i.clusters, int(packed[policy] - i.n), told])
    return out
