"""Controls that an audit must pass before its numbers are believed, and document 001's worked examples as functions.

Oracle order: a perfect reranker captures all headroom. Already-correct order: nothing is left to gain, so whatever a reranker changes is a loss.
Omitted answer: without a relevant passage in the pool nothing may be credited, however plausible the order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from lib.viability import audit
from lib.viability_assembly import RANKINGS
from lib.viability_lists import KEY, oracle_order

TOLERANCE = 1e-9
CONTROL_COLUMNS = ["control", "measure", "expected", "found", "n", "passed"]


def whole_oracle(first: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """Each pool in its best order, unjudged and irrelevant passages behind in first-stage order."""
    pools = first[RANKINGS]
    best = oracle_order(pools.assign(scope="pool"), judgements.dropna(subset=["grade"]).drop_duplicates([*KEY, "doc_id"]))[[*KEY, "doc_id", "rank"]]
    rows = pools.merge(best.rename(columns={"rank": "best"}), on=[*KEY, "doc_id"], how="left").sort_values([*KEY, "best", "rank"], ignore_index=True)
    rows["rank"] = rows.groupby(KEY).cumcount() + 1
    return rows.assign(score=-rows["rank"].astype(float))[RANKINGS]


def without_answers(rankings: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """The lists without their relevant passages, ranks closed; a list that held nothing else is gone."""
    relevant = pd.MultiIndex.from_frame(judgements.loc[judgements["grade"] > 0, [*KEY, "doc_id"]])
    kept = rankings[~pd.MultiIndex.from_frame(rankings[[*KEY, "doc_id"]]).isin(relevant)].sort_values([*KEY, "rank"], ignore_index=True)
    return kept.assign(rank=kept.groupby(KEY).cumcount() + 1)


def controls(first: pd.DataFrame, judgements: pd.DataFrame, reranked: pd.DataFrame | None = None, cutoff: int = 10) -> pd.DataFrame:
    """The three controls on these lists: ``CONTROL_COLUMNS``; found is the worst query, n the queries; expected (and passed) missing: a number to read.

    "already correct" sends the candidate oracle's order through as first stage: its loss is what this reranker does to a correct order.
    """
    best, rows, quick = whole_oracle(first, judgements), [], {"gains": ["exponential"], "bounds": False}

    def add(control: str, measure: str, expected: float, found: pd.Series) -> None:
        known, open_ = found.dropna(), math.isnan(expected)
        if len(known):
            shown = known.mean() if open_ else known[(known - expected).abs().idxmax()]
            rows.append((control, measure, expected, float(shown), len(known), None if open_ else bool(abs(shown - expected) <= TOLERANCE)))

    perfect = audit(first, judgements, best.assign(ranker="oracle"), cutoff, **quick)
    add("oracle order", "headroom_capture", 1.0, perfect["headroom_capture"])
    add("oracle order", "regression", 0.0, perfect["regression"])
    correct = audit(best.assign(ranker="already correct"), judgements, None if reranked is None else reranked[RANKINGS], cutoff, **quick)
    add("already correct", "ordering_headroom", 0.0, correct["ordering_headroom"])
    if reranked is not None:
        add("already correct", "most gain", 0.0, correct["realised_gain"].clip(lower=0))
        add("already correct", "mean regression", math.nan, correct["regression"])
    bare = without_answers(first, judgements)
    if len(bare):
        again = None if reranked is None else without_answers(reranked, judgements)
        omitted = audit(bare, judgements, again if again is not None and len(again) else None, cutoff, **quick)
        add("omitted answer", "ceiling", 0.0, omitted["ceiling"])
        add("omitted answer", "omission_gap", 1.0, omitted["omission_gap"])
        add("omitted answer", "realised_gain", 0.0, omitted["realised_gain"])
    return pd.DataFrame(rows, columns=CONTROL_COLUMNS).astype({"passed": "boolean"})


class Case(NamedTuple):
    """One query: its pool as (doc_id, first-stage score, reranker score), and the corpus's grades by doc_id."""

    name: str
    pool: tuple[tuple[str, float, float], ...]
    grades: dict[str, int]


CASES = (  # document 001's three synthetic cases, scores as printed there
    Case(
        "answer present but buried",
        (("distractor-a", 0.99, 0.10), ("distractor-b", 0.96, 0.08), ("guide", 0.72, 0.91), ("distractor-c", 0.68, 0.12), ("operative-policy", 0.64, 0.98)),
        {"operative-policy": 3, "guide": 2},
    ),
    Case("authoritative exception absent", (("topical-faq", 0.97, 0.99), ("archived-note", 0.84, 0.73), ("meeting-summary", 0.78, 0.65)), {"exception": 3}),
    Case(
        "first stage already correct",
        (("operative-policy", 0.99, 0.70), ("guide", 0.95, 0.98), ("distractor-a", 0.60, 0.96)),
        {"operative-policy": 3, "guide": 2},
    ),
)


def tables_of(cases: tuple[Case, ...]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Cases as (first, reranked, judgements): one query each, named by the case."""
    pools = pd.DataFrame([("cases", c.name, *row) for c in cases for row in c.pool], columns=[*KEY, "doc_id", "first", "again"])
    judged = pd.DataFrame([("cases", c.name, doc, grade) for c in cases for doc, grade in c.grades.items()], columns=[*KEY, "doc_id", "grade"])
    lists = []
    for column, ranker in (("first", "first stage"), ("again", "reranker")):
        ordered = pools.sort_values(["qid", column], ascending=[True, False], ignore_index=True)
        lists.append(ordered.assign(ranker=ranker, rank=ordered.groupby("qid").cumcount() + 1, score=ordered[column])[RANKINGS])
    return lists[0], lists[1], judged


def synthetic_cases(cutoff: int = 3, cases: tuple[Case, ...] = CASES) -> pd.DataFrame:
    """Document 001's executable audit: a row a case and gain.

    >>> synthetic_cases().query("gain == 'exponential'").set_index("qid")["base"].round(4).to_dict()["answer present but buried"]
    0.1687
    """
    first, reranked, judged = tables_of(cases)
    return audit(first, judged, reranked, cutoff)


def passage_removed(doc_id: str = "operative-policy", case: Case = CASES[0], cutoff: int = 3) -> pd.DataFrame:
    """Document 001's worked example: a case, and the same with one passage taken out of the pool (0.1687 to ceiling 0.3374, headroom 0.1687).

    >>> passage_removed().query("gain == 'exponential'")["ceiling"].round(4).tolist()
    [1.0, 0.3374]
    """
    pool = tuple(row for row in case.pool if row[0] != doc_id)
    if len(pool) == len(case.pool):
        raise ValueError(f"the pool of {case.name!r} holds no {doc_id!r}; it has {[row[0] for row in case.pool]}")
    return synthetic_cases(cutoff, (case._replace(name="as retrieved"), case._replace(name=f"without {doc_id}", pool=pool)))


def equal_futures(relevant: int = 10, depth: int = 100, cutoff: int = 10) -> pd.DataFrame:
    """Systems X and Y with the same nDCG and unequal futures (document 001, second thought experiment): a row a system and gain.

    Both show half of the relevant passages first. X retrieved all, the others far down its ``depth``; Y retrieved only that half.

    >>> equal_futures().query("gain == 'linear'")[["base", "ceiling"]].round(3).values.tolist()
    [[0.649, 1.0], [0.649, 0.649]]
    """
    half = relevant // 2
    if not 2 <= relevant <= cutoff or depth < cutoff + relevant:
        raise ValueError(f"need 2 <= relevant <= cutoff and depth >= cutoff + relevant, got {relevant}, {cutoff}, {depth}")
    judged = {f"relevant-{i}": 1 for i in range(relevant)}
    found = list(judged)

    def system(name: str, end: list[str]) -> Case:
        ids = found[:half] + [f"other-{i}" for i in range(depth - half - len(end))] + end
        return Case(name, tuple((doc, float(-at), float(-at)) for at, doc in enumerate(ids)), judged)

    first, _, judgements = tables_of((system("X", found[half:]), system("Y", [])))
    return audit(first, judgements, cutoff=cutoff)
