"""The study of depth over several lists: the reranked lists of a tier, and files of scores over deeper ones (document 001, Part III; SPEC 11)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib import depth_choice, depth_cost, depth_table, probes_calibration, probes_scores
from lib.depth import DEPTHS, KEY, depth_rows, entered, graded
from lib.depth_corpus import RANKERS
from lib.depth_scores import read_scores
from lib.latency_table import fallback_table
from lib.rerankers_compare import CROSS, first_of, kind_of, made_from
from lib.tables import ROOT
from lib.viability_sets import nothing
from lib.whole import is_whole


class Study(NamedTuple):
    """One first stage and reranker: what ``depth.depth_rows`` reads."""

    ranker: str
    reranker: str
    lists: pd.DataFrame  # dataset, qid, rank of the first stage, the reranker's score, grade, tokens where counted
    gold: pd.DataFrame
    questions: pd.DataFrame  # dataset, qid, slice, half


def of_lists(
    rankings: pd.DataFrame,
    gold: pd.DataFrame,
    questions: pd.DataFrame,
    pairs: Iterable[tuple[str, str]],
    scope: str = "pooled",
    costs: pd.DataFrame | None = None,
) -> list[Study]:
    """A study for each (first stage, list "first + reranker") of the rankings table; questions without a list or a relevant passage are left out.

    The slice is the question's type. Exact for pointwise scores alone: their order of the first d is the list's order with the others left out.
    ``costs`` (ranker, depth) tells how far a reranker read: what lies deeper has no score of its own and is no candidate here.
    """
    read = {} if costs is None else costs.groupby("ranker")["depth"].max().to_dict()
    gold = gold[gold["grade"] > 0]
    asked = questions.assign(slice=questions["question_type"].fillna("all"))[[*KEY, "slice", "half"]].merge(gold[KEY].drop_duplicates(), on=KEY)
    here, made = rankings[rankings["scope"] == scope], []
    for first, again in pairs:
        mine = here.loc[(here["ranker"] == first) & (here["rank"] <= read.get(again, math.inf)), [*KEY, "rank", "doc_id"]]
        lists = mine.merge(here.loc[here["ranker"] == again, [*KEY, "doc_id", "score"]], on=[*KEY, "doc_id"]).merge(asked[KEY], on=KEY)
        held = asked.merge(lists[KEY].drop_duplicates(), on=KEY)
        if len(lists):
            made.append(Study(first, again.rpartition(" + ")[2], graded(lists, gold).astype({"rank": int, "score": float}), gold, held))
    return made


def scored_pairs(rankings: pd.DataFrame, first: str, scope: str = "pooled") -> list[tuple[str, str]]:
    """(first stage, list) of each list that a cross-encoder made of ``first``'s: its scores do not depend on how deep the list is cut."""
    return [(first, r) for r in made_from(rankings, scope) if kind_of(r) == CROSS and first_of(r) == first]


def left_out(of_lists: Sequence[Study], of_files: Sequence[Study]) -> dict[str, str]:
    """What the study of depth lacks, with its reason."""
    reasons = {} if of_lists else {"depth over the lists of this tier": "no list of a pointwise reranker is at hand"}
    return reasons | ({} if of_files else {"depth beyond these lists": "no file of deep scores is at hand; python -m lib.depth_scores writes them"})


def of_files(pattern: str, root: Path = ROOT) -> list[Study]:
    """A study for each file of deep scores (``python -m lib.depth_scores``) that the pattern finds below ``root``, by name; none is no error.

    The file's name tells its first stage where a part of it is one (depth-world-bm25.csv.gz); else it is called "first stage".
    """
    made = []
    if not isinstance(pattern, str) or Path(pattern).is_absolute():
        raise ValueError(f"deep_scores must be a pattern of file names below the repository, such as data/results/deep/depth-*.csv*, got {pattern!r}")
    for path in sorted(root.glob(pattern)) if pattern else []:
        named = [part for part in path.name.split(".")[0].split("-") if part in RANKERS]
        made.append(Study(named[0] if named else "first stage", "reranker", *read_scores(path)))
    return made


def studied(studies: Sequence[Study], tier: str, depths: Sequence[int] = DEPTHS, cutoff: int = 5, resamples: int = 10_000) -> dict[str, pd.DataFrame]:
    """The tables depth, depth_entered, depth_sufficient and depth_falls of all studies; a depth beyond every list of a study is left out there."""
    made: dict[str, list[pd.DataFrame]] = {name: [] for name in ("depth", "depth_entered", "depth_sufficient", "depth_falls")}
    for study in studies:
        rows, told = rows_of(study, depths, cutoff), (tier, study.ranker, study.reranker)
        if rows.empty:
            continue
        made["depth"].append(depth_table.depth_table(rows, *told, resamples=resamples))
        deep = entered(study.lists, study.questions, reached(study, depths), cutoff)
        made["depth_entered"].append(depth_table.entered_table(deep, *told, resamples=resamples))
        made["depth_sufficient"].append(depth_choice.sufficient(rows, *told, resamples=resamples))
        made["depth_falls"].append(depth_choice.falls(rows, *told, resamples=resamples))
    return _joined(made)


def reached(study: Study, depths: Sequence[int]) -> list[int]:
    """The depths that some list of the study has."""
    if isinstance(depths, str) or not isinstance(depths, Iterable) or not depths or not all(is_whole(d, 1) for d in depths):
        raise ValueError(f"depths must be whole numbers of at least 1 in a list, got {depths!r}")
    longest = int(study.lists["rank"].max()) if len(study.lists) else 0
    return [d for d in depths if d <= longest]


def rows_of(study: Study, depths: Sequence[int], cutoff: int) -> pd.DataFrame:
    """``depth.depth_rows`` at the depths reached; empty where there are none."""
    there = reached(study, depths)
    return depth_rows(study.lists, study.gold, study.questions, there, cutoff) if there else pd.DataFrame()


def priced(
    studies: Sequence[Study], latency: pd.DataFrame, tier: str, depths: Sequence[int], cutoff: int, prices: dict[str, float], resamples: int = 10_000
) -> dict[str, pd.DataFrame]:
    """The tables depth_cost and fallback: what an additional successful question costs, and what quality is left under load at the depths timed,
    for studies of the reranker whose service times these are."""
    costs, left = [], []
    for study in studies:
        rows, told = rows_of(study, depths, cutoff), (tier, study.ranker, study.reranker)
        if rows.empty:
            continue
        costs.append(depth_cost.cost_table(rows, *told, prices, resamples=resamples))
        timed = rows[rows["depth"].isin(set(latency.loc[latency["reranker"] == study.reranker, "depth"]))]
        if len(timed):
            left.append(fallback_table(timed, latency, *told, resamples=resamples))
    return _joined({"depth_cost": costs, "fallback": left})


def scales(studies: Sequence[Study], tier: str, resamples: int = 10_000) -> dict[str, pd.DataFrame]:
    """The tables score_scale and reliability: drift, calibration and abstention of each study's scores."""
    scale, bins = [], []
    for study in studies:
        scores = study.lists.merge(study.questions, on=KEY)
        told = {"tier": tier, "ranker": study.ranker, "reranker": study.reranker}
        scale.append(probes_scores.table_of(scores, **told, resamples=resamples))
        bins.append(probes_calibration.reliability(scores).assign(**told))
    return _joined({"score_scale": scale, "reliability": bins})


def _joined(made: dict[str, list[pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    return {name: pd.concat(parts, ignore_index=True) if parts else nothing(name) for name, parts in made.items()}
