"""The table of policies: every column of the published tables, data set by data set and over all questions, and its paired contrasts (SPEC 8, 9).

Arms are the packers on plain snippets, those on graph snippets (``ace_``), closed book and the oracle. The three data sets of the real tier are
pooled question by question, so a larger slice weighs more; a question counts once.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from lib import stats, summaries
from lib.factorial import PREFIX

MEASURES = ("f1", "em", "answer_in_context", "answer_in_context_defined", "gold_coverage", "all_gold_in_context", "n_tokens")
BEYOND = (("tuned", "submod"), ("tuned", "focused"), ("ace_submod", "ace_focused"), ("submod", "ace_submod"))  # beside the frozen plan's pairs
READ = ("f1", "em")
TABLE = ["tier", "dataset", "policy", "measure", "estimate", "ci_low", "ci_high", "n", "undefined"]


def arms(outcomes: pd.DataFrame, packs: Mapping[str, str], budget: int, reader: str) -> pd.DataFrame:
    """One row a question and arm at ``budget``: ``packs`` maps chunk (and ace) to pack_ids; em and f1 of ``reader``, missing where it did not read.

    Raises ValueError where the chunk pack has no row at this budget.
    """
    named = {pack: PREFIX[r] for r, pack in packs.items()} | {"none": ""}
    rows = outcomes[outcomes["pack_id"].isin(named) & outcomes["budget"].isin([budget, 0])]
    if not (rows["pack_id"] == packs["chunk"]).any():
        raise ValueError(f"outcomes hold no row of pack {packs['chunk']!r} at budget {budget}; there are budgets {sorted(set(outcomes['budget']))}")
    mine = rows["reader"] == reader
    rows = rows.assign(policy=rows["pack_id"].map(named) + rows["policy"], order=~mine, **{m: rows[m].where(mine) for m in READ})
    rows = rows.sort_values("order", kind="stable").drop_duplicates(["dataset", "qid", "policy"])  # the reader's row where there is one
    rows = rows[rows["policy"] != "ace_oracle"].assign(pack_id="policies", budget=budget, reader=reader, precision="as read")
    return rows.assign(answer_in_context_defined=rows["answer_in_context"].where(rows["answer_defined"].astype(bool))).drop(columns="order")


def with_all(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows once by data set and, with more than one set, once more as data set "all", questions told apart by their set."""
    if rows["dataset"].nunique() < 2:
        return rows
    return pd.concat([rows, rows.assign(qid=rows["dataset"] + ":" + rows["qid"].astype(str), dataset="all")], ignore_index=True)


def policy_table(rows: pd.DataFrame, tier: str, measures: Sequence[str] = MEASURES, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """TABLE from ``arms``: the mean of each measure over the questions that have it, with a 95 % interval; the others are counted as undefined."""
    out = []
    for dataset, part in with_all(rows).groupby("dataset", sort=False):
        for policy, arm in part.groupby("policy"):
            known = [m for m in measures if arm[m].notna().any()]
            found = stats.paired_cluster_bootstraps(arm[known].to_numpy(float), arm["qid"], resamples=resamples, seed=seed) if known else []
            out += [[tier, dataset, policy, m, i.estimate, i.low, i.high, i.n, len(arm) - i.n] for m, i in zip(known, found)]
    return pd.DataFrame(out, columns=TABLE)


def policy_contrasts(rows: pd.DataFrame, pairs: Iterable[tuple[str, str]], tier: str, metrics: Sequence[str] = MEASURES, resamples: int = 10_000,
                     seed: int = 0) -> pd.DataFrame:
    """Paired contrasts of ``arms``, tokens among them, for each data set and over all: the form of ``summaries.contrasts``, half "all" only.

    ``pairs`` come first, then those of BEYOND whose arms are there; Holm runs over the pairs and metrics of one data set.
    """
    wanted = list(dict.fromkeys([*map(tuple, pairs), *BEYOND]))
    found = summaries.contrasts(with_all(rows).assign(half=0), wanted, metrics, tier, resamples, seed)
    return found[found["half"] == "all"].drop(columns=["pack_id", "precision", "half"]).reset_index(drop=True)


def wide(table: pd.DataFrame, dataset: str, measures: Sequence[str] = MEASURES) -> pd.DataFrame:
    """One data set's table as the published ones lie: a row a policy, a column a measure, best F1 (or, unread, best answer-in-context) first."""
    made = table[table["dataset"] == dataset].pivot(index="policy", columns="measure", values="estimate")
    made = made[[m for m in measures if m in made]]
    by = [c for c in ("f1", "answer_in_context_defined", "n_tokens") if c in made]
    return made.sort_values(by, ascending=False, na_position="last") if by else made
