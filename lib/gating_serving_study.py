"""A gate saved, read back and asked: do its decisions equal the research code's, and does it notice questions of another kind (document 002; SPEC 12)?"""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.chart_words import percent
from lib.gating_models import grid_of
from lib.gating_select import chances, skips
from lib.gating_serving import Served, final_gate, load, save
from lib.gating_serving_decide import DRIFT, SERVED, drift_table, served_table
from lib.gating_sets import student_of
from lib.gating_study import Study
from lib.gating_words import many
from lib.wording import named

TAUGHT = "taught"  # whether the gate learned from a question


class Kept(NamedTuple):
    """``gate``: read back from ``path``, None where there is nothing to learn from; ``served``: a decision a question, SERVED with ``taught`` (the gate learned
    from it); ``drift``: DRIFT of the questions that it did not learn from; ``same``: whether every decision on a taught question is the research code's."""

    gate: Served | None
    path: Path
    served: pd.DataFrame
    drift: pd.DataFrame
    same: bool


def kept(study: Study, k: int, path: Path, grid: str = "small", candidates: pd.DataFrame | None = None, encoder: str = "", seed: int = 0) -> Kept:
    """Learn a gate from the tier's first question set, save and load it, and let it decide all questions of that data set one by one.

    ``grid``: the one whose worth the nested run has told; ``candidates``: the table gate_candidates, from which the student of D is saved with the gate.
    """
    nothing = Kept(None, path, pd.DataFrame(columns=[*SERVED, TAUGHT]), pd.DataFrame(columns=DRIFT), True)
    if not study.own:
        return nothing
    data = study.sets[0]
    gate = final_gate(data, k, grid=grid_of(grid), seed=seed)
    student = None if candidates is None or gate.choice.fallback != "D" else student_of(candidates, data)
    served = load(save(gate, data, path, encoder, student))
    mine = (study.asked["dataset"] == data.dataset).to_numpy()
    asked, lists = study.asked[mine].reset_index(drop=True), study.lists[study.lists["dataset"] == data.dataset]
    table, inputs = served_table(served, asked, lists, study.vectors[mine])
    taught = asked["qid"].isin(set(data.qids)).to_numpy()
    research = pd.Series(skips(gate, chances(gate, data.features, data.vectors)[0]), index=data.qids)
    same = bool((table.loc[taught, "action"].eq("skip").to_numpy() == research.reindex(table.loc[taught, "qid"]).to_numpy()).all())
    return Kept(served, path, table.assign(**{TAUGHT: taught}), drift_table(served, np.asarray(inputs)[~taught]), same)


def words(made: Kept) -> str:
    """What the saved gate is, how it decides, whether it agrees with the research code, and whether questions that it was not taught on look different."""
    if made.gate is None:
        return "There is no gate to save: no data set of this tier has a list by the reranker and a last hop to learn from."
    gate, served = made.gate, made.served
    taught, strange = served[served[TAUGHT]], served[~served[TAUGHT]]
    kind = {"lr": "a logistic regression", "rf": "a forest", "gbm": "boosted trees", "never": "the constant *never skip*",
            "always": "the constant *always skip*", "refused": "a refusal (nothing to learn from)"}[gate.model]
    said = (f"The gate of {named(gate.dataset)} at K {gate.k} is {kind}, falls back on {gate.fallback}, and fills a file of "
            f"{made.path.stat().st_size / 1000:,.0f} kB. Of its {many(len(taught), 'training question')} it would skip "
            f"{percent(taught['action'].eq('skip').mean())}; ")
    said += "every decision equals the research code's." if made.same else "**some decisions differ from the research code's.**"
    if strange.empty:
        return said
    moved = made.drift[made.drift["moved"].eq(True).fillna(False).astype(bool)]
    most = f", most of all `{moved['input'].iloc[0]}`" if len(moved) else ""
    return said + (f" It learned nothing from {many(len(strange), 'question')} without a last hop or a reranked list, and they are another kind: "
                   f"{len(moved)} of {len(made.drift)} inputs have moved{most}. A service that gets such questions should not trust this "
                   "gate." if len(moved) else
                   f" It learned nothing from {many(len(strange), 'question')} without a last hop or a reranked list; no input has moved there.")
