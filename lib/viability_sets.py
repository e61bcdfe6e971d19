"""The audit over several lists of one tier: which list reranks which, the reports, and what of them a table shows (SPEC 11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from lib import depth_cost
from lib.checks import LEAST_RESAMPLES, MEND
from lib.declarations import DECLARATIONS
from lib.ranking import QUESTION
from lib.rerankers_feedback import SECOND_RETRIEVALS
from lib.rerankers_fusion import fuse_lists
from lib.rerankers_lists import COLUMNS
from lib.rerankers_sample import list_name
from lib.viability_assembly import from_tables
from lib.viability_requirement import parse_all
from lib.viability_run import DECLARED, Report, audit_report, declared
from lib.whole import check_whole

FUSION = "fusion"
SERVICE = ("depths", "loads", "timeout")
MIXED = ("hybrid",)  # lists that are a fusion already: they lend no vote of their own


def membership(questions: pd.DataFrame) -> pd.DataFrame:
    """Slices of the audit: dataset, qid, slice = the question's type; no rows for a data set that has one type alone.

    >>> asked = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "question_type": ["bridge", "single"]})
    >>> membership(asked)["slice"].tolist(), len(membership(asked.head(1)))
    (['bridge', 'single'], 0)
    """
    typed = questions[questions["question_type"].fillna("") != ""]
    several = typed.groupby("dataset")["question_type"].transform("nunique") > 1
    return typed.loc[several, [*QUESTION, "question_type"]].rename(columns={"question_type": "slice"}).reset_index(drop=True)


def judgements(gold: pd.DataFrame) -> pd.DataFrame:
    """``gold`` with a column bundle: the passages of a question that needs several are one bundle, since no part of them supports the answer."""
    several = gold.groupby(QUESTION)["doc_id"].transform("size") > 1 if len(gold) else pd.Series(dtype=bool)
    return gold.assign(bundle=pd.Series("all gold", gold.index).where(several))


def voters(rankings: pd.DataFrame, scope: str) -> list[str]:
    """First-stage rankers whose lists can be fused: neither a fusion themselves, nor reranked, nor a second retrieval."""
    there = rankings.loc[rankings["scope"] == scope, "ranker"].unique()
    return sorted(r for r in there if r not in (*MIXED, *SECOND_RETRIEVALS) and " + " not in r)


def fused(rankings: pd.DataFrame, firsts: Iterable[str], scope: str = "pooled", depth: int = 50) -> pd.DataFrame:
    """Rows for the rankings table: each first stage's own candidates, reordered by the reciprocal ranks that all `voters` give them; no model is called."""
    lists = voters(rankings, scope)
    made = [fuse_lists(rankings, lists, depth, first, scope, name=list_name(first, FUSION)) for first in firsts] if len(lists) > 1 else []
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=COLUMNS)


def audits(
    rankings: pd.DataFrame,
    gold: pd.DataFrame,
    questions: pd.DataFrame,
    documents: pd.DataFrame,
    firsts: Sequence[str],
    scope: str = "pooled",
    requirement: str = "all",
    cutoff: int = 5,
    depth: int = 50,
    tier: str = "own",
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Report]:
    """A report for each list named "first + reranker" that covers every judged question of its first stage; for the first stage alone where there is none.

    No report without a relevant passage: there is nothing to audit. Raises ValueError as ``viability_run.audit_report`` does.
    """
    gold = judgements(gold[gold["grade"] > 0])
    here = rankings[(rankings["scope"] == scope) & rankings["dataset"].isin(set(gold["dataset"]))]
    made, member = [], membership(questions)
    for first in [f for f in firsts if len(gold) and f in set(here["ranker"])]:
        for again in whole_lists(here, gold, first) or [None]:
            given = from_tables(here, gold, scope, first, again, member)._replace(queries=questions, corpus=documents)
            made.append(audit_report(given, parse_all(requirement), cutoff, depth, tier, resamples=resamples, seed=seed))
    return made


def whole_lists(rankings: pd.DataFrame, gold: pd.DataFrame, first: str) -> list[str]:
    """Rankers "first + ..." with a list for every judged question that ``first`` has one for: the audit counts a missing list as a score of 0."""
    judged = pd.MultiIndex.from_frame(gold.loc[gold["grade"] > 0, QUESTION].drop_duplicates())
    asked = {r: set(pd.MultiIndex.from_frame(part[QUESTION].drop_duplicates()).intersection(judged)) for r, part in rankings.groupby("ranker")}
    return [r for r in sorted(asked) if r.startswith(f"{first} + ") and asked[r] == asked.get(first)]


def main_list(rankings: pd.DataFrame, gold: pd.DataFrame, first: str, scope: str = "pooled") -> str:
    """The list that stands for a first stage's rerankers where one is shown: a model's, else the fusion, else none; always a whole one."""
    found = whole_lists(rankings[rankings["scope"] == scope], gold, first) if len(gold) else []
    by_model = [r for r in found if not r.endswith(f" + {FUSION}")]
    return [*by_model, *found, "none"][0]


def written(reports: Sequence[Report]) -> dict[str, pd.DataFrame]:
    """The reports as declared tables; tables without a row where there is none."""
    return declared(reports) if reports else {name: nothing(name) for name in DECLARED}


def nothing(name: str) -> pd.DataFrame:
    """A declared table without a row.

    >>> len(nothing("audit")), nothing("probes").columns[0]
    (0, 'tier')
    """
    return pd.DataFrame(columns=list(DECLARATIONS[name]["columns"]))


def rows_of(table: pd.DataFrame, first: str, reranker: str, gain: str = "exponential") -> pd.DataFrame:
    """The rows of one set-up of an audit table."""
    mine = (table["first_stage"] == first) & (table["reranker"] == reranker)
    return table[mine & (table["gain"] == gain)] if "gain" in table else table[mine]


def check(rankings: pd.DataFrame, firsts: Sequence[str], scope: str, requirement: str, cutoff: int, resamples: int) -> None:
    """Raise ValueError for a first stage that the scope does not have, a requirement that cannot be read, or numbers that are none."""
    there = sorted(set(rankings.loc[rankings["scope"] == scope, "ranker"]))
    if isinstance(firsts, str) or not firsts or set(firsts) - set(there):
        raise ValueError(f"firsts must name rankers of scope {scope!r}, there are {', '.join(there) or 'none'}; got {firsts!r}; {MEND}")
    parse_all(requirement)
    check_whole("cutoff", cutoff, 1, mend=f"; {MEND}")
    check_whole("resamples", resamples, LEAST_RESAMPLES, mend=f"; {MEND}")


def check_price(service: Mapping[str, Any], prices: Mapping[str, float], probe_questions: int) -> None:
    """Raise ValueError for a block ``service`` with other keys than depths, loads and timeout, prices that are none, or a number of probes that is none."""
    if not isinstance(service, Mapping) or set(service) != set(SERVICE):
        raise ValueError(f"service must name {', '.join(SERVICE)} and nothing else, got {sorted(service) if isinstance(service, Mapping) else service!r}; {MEND}")
    depth_cost.priced(pd.DataFrame({"pairs": [], "tokens": []}), prices)
    check_whole("probe_questions", probe_questions, 0, mend=f"; {MEND}")
