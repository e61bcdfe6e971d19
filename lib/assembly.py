"""Complementary assembly: does a packer bring more gold documents together, or is its context only denser (document 000, section 5.0.0.4)?"""
from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from lib import summaries

MEASURES = ("all_gold_in_context", "gold_density")
KEY = ["dataset", "pack_id", "budget", "half", "measure"]
COLUMNS = ["tier", "dataset", "pack_id", "budget", "half", "treatment", "control", "measure", "questions_treatment", "questions_control", "mean_treatment",
           "mean_control", "delta", "ci_low", "ci_high", "p_value", "n", "clusters", "undefined"]


def assembly(questions: pd.DataFrame, survived: pd.DataFrame, pairs: Iterable[tuple[str, str]], tier: str, resamples: int = 10_000,
             seed: int = 0) -> pd.DataFrame:
    """Two measures a contrast, no reader involved: on how many questions all gold documents reach the context, and what share of tokens is theirs.

    Columns: tier, dataset, pack_id, budget, half, treatment, control, measure; questions_treatment, questions_control (counts; missing for the density);
    mean_treatment, mean_control; delta, ci_low, ci_high, p_value (paired); n, clusters; undefined (questions left out, for want of gold).
    """
    rows = survived.merge(questions[["dataset", "qid", "half"]], on=["dataset", "qid"]).assign(reader="none", precision="none")
    found = summaries.contrasts(rows, pairs, MEASURES, tier, resamples, seed).rename(columns={"metric": "measure"})
    arms = _arms(rows)
    for side in ("treatment", "control"):
        found = found.merge(arms.rename(columns={c: f"{c}_{side}" for c in ("questions", "mean", "asked")} | {"policy": side}), on=[*KEY, side], how="left")
    return found.assign(undefined=found["asked_treatment"].astype("Int64") - found["n"])[COLUMNS]


def _arms(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each packer in each half: questions with all gold in the context, mean, and questions packed, a row a measure."""
    found = []
    for half, part in summaries.halves(rows):
        long = part.melt(["dataset", "pack_id", "budget", "policy"], list(MEASURES), "measure").assign(half=half, value=lambda t: t["value"].astype(float))
        found.append(long.groupby([*KEY, "policy"])["value"].agg(questions="sum", mean="mean", asked="size").reset_index())
    arms = pd.concat(found, ignore_index=True)
    return arms.assign(questions=arms["questions"].where(arms["measure"] == "all_gold_in_context").round().astype("Int64"))
