"""What disagreement does to an audit: the difference of two lists and the verdict per slice, by each assessor and after adjudication (document 001)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import judgements_assessors as assessors
from lib import ranking, stats, viability
from lib.judgements import for_audit
from lib.ranking import QUESTION
from lib.viability_requirement import evidence, parse_all
from lib.viability_slices import slice_table, sliced
from lib.viability_verdict_table import verdict_table

EFFECT = [
    "judged_by",
    "slice",
    "treatment",
    "control",
    "cutoff",
    "delta",
    "ci_low",
    "ci_high",
    "p_value",
    "p_holm",
    "n",
    "undefined",
    "relevant",
    "uncertain",
    "document_verdict",
    "verdict",
]
EVERY = "all"


def differences(rankings: pd.DataFrame, judged: pd.DataFrame, treatment: str, control: str, cutoff: int) -> pd.DataFrame:
    """nDCG@cutoff of ``treatment`` minus ``control`` for every question of ``judged`` (one assessor's, as `for_audit` gives them): QUESTION, delta.

    Missing where this assessor found nothing relevant; a judged question that a list lacks scores 0 there.
    """
    known = judged.dropna(subset=["grade"]).drop_duplicates([*QUESTION, "doc_id"])
    shown = rankings[rankings["ranker"].isin([treatment, control]) & (rankings["rank"] <= cutoff)]
    pair = shown.merge(judged[QUESTION].drop_duplicates(), on=QUESTION)
    measured = ranking.ranking_measures(pair, known[[*QUESTION, "doc_id", "grade"]], [cutoff])
    wide = measured.pivot(index=QUESTION, columns="ranker", values=f"ndcg_at_{cutoff}").reindex(columns=[treatment, control])
    return (wide[treatment] - wide[control]).rename("delta").reset_index()


def effect_table(
    rankings: pd.DataFrame,
    every: pd.DataFrame,
    membership: pd.DataFrame,
    treatment: str,
    control: str,
    tier: str,
    cutoff: int = 4,
    requirement: str = "all",
    scope: str = "pooled",
    resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """The table judgement_effect: per assessor and slice the difference of two lists with its interval, and both verdicts on ``treatment`` as a first stage.

    ``every``: the judgements table with several assessors (`judgements_assessors.assessed`). Holm over an assessor's slices, ``all`` apart. ``relevant``
    and ``uncertain`` count passages: an uncertain one is unjudged and never 0. Questions in which an assessor found nothing relevant are ``undefined``.
    """
    rows = []
    everywhere = every[QUESTION].drop_duplicates()
    for name, mine in every.groupby("assessor"):
        judged = for_audit(mine)
        deltas = everywhere.merge(differences(rankings, judged, treatment, control, cutoff), on=QUESTION, how="left")
        verdicts = _verdicts(rankings, judged, membership, treatment, tier, cutoff, requirement, scope, resamples, seed)
        counts = judged.drop_duplicates([*QUESTION, "doc_id"])
        counts = (
            counts.assign(relevant=counts["grade"] > 0, uncertain=counts["grade"].isna()).groupby(QUESTION)[["relevant", "uncertain"]].sum().reset_index()
        )
        slices = pd.concat([everywhere.assign(slice=EVERY), membership[[*QUESTION, "slice"]]])
        for (dataset, part_of), part in slices.merge(deltas, on=QUESTION).merge(counts, on=QUESTION, how="left").groupby(["dataset", "slice"]):
            i = stats.paired_cluster_bootstrap(part["delta"], part["qid"], resamples, seed)
            told = (int(part["relevant"].sum()), int(part["uncertain"].sum()), *verdicts.get((dataset, part_of), ("undefined", "undefined")))
            rows.append((dataset, name, part_of, treatment, control, cutoff, *i[:4], i.n, len(part) - i.n, *told))
    table = pd.DataFrame(rows, columns=["dataset", *(c for c in EFFECT if c != "p_holm")])
    family = table["slice"] != EVERY
    adjusted = table[family].groupby(["dataset", "judged_by"])["p_value"].transform(lambda p: stats.holm(p.to_numpy()))
    return table.assign(tier=tier, p_holm=adjusted.reindex(table.index).astype(float))[["tier", "dataset", *EFFECT]]


def _verdicts(rankings, judged, membership, first, tier, cutoff, requirement, scope, resamples, seed) -> dict[tuple[str, str], tuple[str, str]]:
    """(dataset, slice) -> (document 001's verdict, ours) on one first stage; nothing where nothing is relevant."""
    if not (judged["grade"] > 0).any():
        return {}
    pools, asked = rankings[(rankings["scope"] == scope) & (rankings["ranker"] == first)], parse_all(requirement)
    audited = viability.audit(pools, judged, cutoff=cutoff, gains=["exponential"], bounds=False)
    made = verdict_table(slice_table(sliced(audited, evidence(pools, judged, membership, asked, cutoff), membership), tier, resamples, seed), asked)
    return {(d, s): (one, ours) for d, s, one, ours in made[["dataset", "slice", "document_verdict", "verdict"]].itertuples(index=False)}


def over_draws(
    rankings: pd.DataFrame,
    judged: pd.DataFrame,
    treatment: str,
    control: str,
    matrices: Mapping[str, Sequence[Sequence[float]]],
    cutoff: int = 4,
    draws: int = 100,
    seed: int = 0,
) -> pd.DataFrame:
    """The mean difference of two lists when the same assessors judge again and again: a row a judge (each, and adjudicated) and draw.

    The spread over draws comes from the assessors alone: questions and lists stay the same. Columns: judged_by, draw, delta, n (questions with a value).
    """
    rows = []
    for at in range(draws):
        every = assessors.assessed(judged, matrices, seed + at)
        for name, mine in every[every["assessor"] != judged["assessor"].iloc[0]].groupby("assessor"):
            deltas = differences(rankings, for_audit(mine), treatment, control, cutoff)["delta"]
            rows.append((name, at, float(deltas.mean()), int(deltas.notna().sum())))
    return pd.DataFrame(rows, columns=["judged_by", "draw", "delta", "n"])


def spread(drawn: pd.DataFrame, truth: float) -> pd.DataFrame:
    """`over_draws` in one row a judge: mean, middle 95 %, and the share of draws whose difference has another sign than ``truth``."""
    by = drawn.groupby("judged_by")["delta"]
    ends = by.quantile([0.025, 0.975]).unstack()
    turned = drawn.assign(turned=np.sign(drawn["delta"]) == -np.sign(truth)).groupby("judged_by")["turned"].mean()
    return pd.DataFrame({"mean": by.mean(), "low": ends[0.025], "high": ends[0.975], "turned": turned, "draws": by.size()}).reset_index()
