"""Answers read at the two ends of each dial: what a reader is shown, and the F1 that came of it (SPEC 9)."""
from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pandas as pd

from lib import packing, readers
from lib.dials import ENDS, point, points
from lib.dials_plan import check_ends, check_trial
from lib.dials_table import COLUMN, COLUMNS, tabled

ASKED = ["dataset", "qid", "pack_id", "policy", "budget", "question", "answers", "context", "context_hash", "prompt"]


def ends(plan: Mapping, questions: int | None = None, encoder: object = None) -> pd.DataFrame:
    """What a reader is asked at the ends of the dials: a row an end, question and packer, in the form of ``reading.to_read``.

    ``dataset`` names the point (``dials.points`` says of which dial it is the end). The questions are the first of the sweep's, the same at every
    end; 0 asks none. Columns: dataset, qid, pack_id, policy, budget, question, answers, context, context_hash, prompt.
    """
    check_trial(questions)
    check_ends(plan)
    if questions == 0:
        return pd.DataFrame(columns=ASKED)
    found = points(plan)
    distinct, parts = found[found["end"].isin(ENDS)].drop_duplicates("dataset"), []
    for name, settings in zip(distinct["dataset"], distinct["settings"]):
        rows = point(plan, settings, questions=questions or plan["ends"]["questions"], encoder=encoder, policies=plan["ends"]["policies"])
        rows = rows.assign(dataset=name, pack_id=packing.pack_id(packing.setting(depth=plan["pool"]["depth"])), budget=plan["budget"],
                           answers=[[a] for a in rows["answer"]], context_hash=[hashlib.sha256(c.encode()).hexdigest() for c in rows["context"]],
                           prompt=[readers.build_prompt(c, q) for c, q in zip(rows["context"], rows["question"])])
        parts.append(rows[ASKED])
    return pd.concat(parts, ignore_index=True)


def f1(asked: pd.DataFrame, answers: pd.DataFrame, plan: Mapping, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Rows for the table ``dials``: F1 of each packer at the ends, the first planned contrast there, and its change from end to end, by reader.

    ``answers``: ``reading.read_all`` of ``asked``. An answer that is not there is missing and counted. Holm over the ends and over the dials of a reader.
    """
    check_ends(plan)
    found = points(plan)
    found = found[found["end"].isin(ENDS)]
    treatment, control = plan["contrasts"][0]
    measure, parts = plan["ends"]["metric"], []
    for (reader, precision), said in answers.groupby(["reader", "precision"]):
        rows = asked.merge(said[["dataset", "qid", "context_hash", measure]], on=["dataset", "qid", "context_hash"], how="left", validate="many_to_one")
        scores = rows.pivot(index="qid", columns=["dataset", "policy"], values=measure).astype(float)
        made = {(d, p, "none", measure): scores[d, p] for d, p in scores}
        made |= {(d, treatment, control, measure): scores[d, treatment] - scores[d, control] for d in scores.columns.unique("dataset")}
        known = pd.DataFrame(made).rename_axis(columns=COLUMN)
        parts.append(tabled(found, known, measure, tier, plan["margin"], resamples, seed, (reader, precision)))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
