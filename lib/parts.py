"""The parts of a slice that every result is told for: all of it, its halves, and the seeds that drew it (SPEC 1 and 8)."""
from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

QUESTION = ["dataset", "qid"]
INSTANCES = "instances"


def halves(outcomes: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """("all", every row), ("0", the half where settings are chosen), ("1", the half that confirms).

    >>> [(name, len(rows)) for name, rows in halves(pd.DataFrame({"half": [0, 1, 1]}))]
    [('all', 3), ('0', 1), ('1', 2)]
    """
    yield "all", outcomes
    for half in (0, 1):
        yield str(half), outcomes[outcomes["half"] == half]


def seeds(outcomes: pd.DataFrame, questions: pd.DataFrame | None) -> Iterator[tuple[str, pd.DataFrame]]:
    """("seed 42", the rows of the questions that it draws) and so on, where two or more seeds draw from ``questions`` (list column seeds)."""
    for seed, drawn in _drawn(questions):
        yield f"seed {seed}", outcomes.merge(drawn, on=QUESTION)


def instances(outcomes: pd.DataFrame, questions: pd.DataFrame | None) -> Iterator[tuple[str, pd.DataFrame]]:
    """("instances", every row once a seed that draws its question), the published pooling; nothing where fewer than two seeds draw.

    A drawn question counts as a new one with each seed: its qid becomes "42:qid". Source: document 000, section 3.3 ("1,500 questions").
    """
    parts = [outcomes.merge(drawn, on=QUESTION).assign(qid=lambda t, seed=seed: f"{seed}:" + t["qid"]) for seed, drawn in _drawn(questions)]
    if parts:
        yield INSTANCES, pd.concat(parts, ignore_index=True)


def parts(outcomes: pd.DataFrame, questions: pd.DataFrame | None = None) -> Iterator[tuple[str, pd.DataFrame]]:
    """Halves, then seeds, then instances; only halves without ``questions`` or where no two seeds draw."""
    yield from halves(outcomes)
    yield from seeds(outcomes, questions)
    yield from instances(outcomes, questions)


def _drawn(questions: pd.DataFrame | None) -> list[tuple[int, pd.DataFrame]]:
    """(seed, the questions it draws), by seed; empty where fewer than two seeds draw."""
    if questions is None or "seeds" not in questions:
        return []
    rows = questions[[*QUESTION, "seeds"]].explode("seeds").dropna(subset=["seeds"]).drop_duplicates()
    found = [(int(seed), part[QUESTION]) for seed, part in rows.groupby("seeds")]
    return found if len(found) > 1 else []
