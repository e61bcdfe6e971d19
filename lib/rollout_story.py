"""A worked release: one reranker from frozen candidates through the gates to a canary, and back by rollback (document 001, "Release gates")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lib import rollout_canary, rollout_fates, rollout_gates, rollout_residual, rollout_split
from lib.bootstrap import RESAMPLES
from lib.judgements_tables import typed
from lib.rollout_files import differing, sealed
from lib.rollout_parameters import Parameters
from lib.rollout_replay import Replay, replays
from lib.rollout_rows import no_rows, question_rows
from lib.rollout_units import PARTS, Registry, Unit, mixture, opened, reading, released, rolled_back
from lib.viability_lists import KEY, reranked_within

NONE = "none"  # the reranked list of a run that has none
NO_GOLD, NO_LIST = "you gave no gold", "no list is reranked"
FIRST = Unit("first stage", {"name": "none"}, {"texts": "none"}, reading("first_stage"))


class Side(NamedTuple):
    """One first stage's candidates: its list, the reranker's scores of the same passages, and what both say to the gates (no row: ``why``)."""

    first: pd.DataFrame
    scored: pd.DataFrame
    rows: pd.DataFrame
    why: str = ""  # why there are no rows, in words


def side(rankings: pd.DataFrame, first: str, again: str, judgements: pd.DataFrame, membership: pd.DataFrame, parameters: Parameters,
         scope: str = "pooled", depth: int | None = None) -> Side:
    """The two lists of a rankings table and their `question_rows`; raises ValueError where either is not there.

    ``again`` = ``NONE`` (no list is reranked, or there is no gold that one could cover): the first stage's own list stands for both, and no question has a
    row: there is nothing to release.
    """
    here = rankings[rankings["scope"] == scope]
    asked = judgements.merge(here.loc[here["ranker"] == first, KEY].drop_duplicates(), on=KEY)
    why = NO_GOLD if asked.empty else NO_LIST if again == NONE else ""
    again = first if again == NONE else again
    if lost := [r for r in (first, again) if r not in set(here["ranker"])]:
        raise ValueError(f"scope {scope!r} has no list {lost[0]!r} to release; there are {', '.join(sorted(set(here['ranker'])))}")
    lists = [here[here["ranker"] == r] for r in (first, again)]
    if depth is not None:  # the reranked list is cut to the same candidates, not by its own ranks
        cut = lists[0][lists[0]["rank"] <= depth]
        lists = [cut, reranked_within(lists[1], cut, lists[0])]
    return Side(*lists, no_rows() if why else question_rows(*lists, judgements, membership, parameters), why)


def unit_of_card(name: str, group: Mapping[str, Any], how: Mapping[str, Any] | None = None) -> Unit:
    """The triple of a trained cross-encoder, from what its scores are stored under (`cross_encoder.cross_encoder_group`)."""
    model = {k: group[k] for k in ("kind", "model", "revision", "precision")}
    return Unit(name, model, {**group["decoding"], "pair": "question, then title and text"}, how or reading())


def recorded(given: Side, unit: Unit, places: int, questions: pd.DataFrame, **representation: Any) -> tuple[list[Replay], list[Replay]]:
    """(the first stage's records, the unit's) over the same frozen candidates."""
    before = replays(given.first, FIRST, places, None, questions, **representation)
    return before, replays(given.first, unit, places, _scores(unit, given.scored), questions, **representation)


def _scores(unit: Unit, scored: pd.DataFrame) -> pd.DataFrame | None:
    return None if unit.reading["source"] == "first_stage" else scored


class Decided(NamedTuple):
    """The gates' tables; see `declarations_rollout`."""

    gates: pd.DataFrame
    decisions: pd.DataFrame
    residual: pd.DataFrame
    gains: pd.DataFrame


def decided(rows: pd.DataFrame, parameters: Parameters, tier: str, latency: pd.DataFrame | None = None, downstream: pd.DataFrame | None = None,
            resamples: int = RESAMPLES, seed: int = 0) -> Decided:
    """Gates, decisions, residual omission, and both gains, with the tier."""
    gates = rollout_gates.release_gates(rows, parameters, latency, downstream, resamples, seed)
    made = (gates, rollout_gates.decisions(gates), rollout_residual.residual(rows, parameters), rollout_split.gains(rows, resamples, seed))
    return Decided(*(typed(t.assign(tier=tier), f"release_{name}") for name, t in zip(Decided._fields, made)))


def fated(before: Sequence[Replay], after: Sequence[Replay], judgements: pd.DataFrame, membership: pd.DataFrame, tier: str,
          resamples: int = RESAMPLES, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(release_fates, release_moves): shares of gold passages by fate before and after, and which fate became which."""
    old, new = (rollout_fates.fates(records, judgements) for records in (before, after))
    shares = [rollout_fates.shares(t, membership, when, resamples, seed) for t, when in ((old, "before"), (new, "after"))]
    moves = rollout_fates.transitions(old, new, membership)
    return typed(pd.concat(shares, ignore_index=True).assign(tier=tier), "release_fates"), typed(moves.assign(tier=tier), "release_moves")


def canaries(rows: pd.DataFrame, membership: pd.DataFrame, parameters: Parameters, tier: str, shares: Sequence[float], measure: str = "ndcg") -> pd.DataFrame:
    """release_canary: the looks at each share of the questions; every canary question is its own control, by replay."""
    how, asked = parameters.canary, rows[["dataset", "qid"]].drop_duplicates()
    made = []
    for share in shares:
        arrived = rollout_split.changes(rows, rollout_canary.assigned(asked, share, how.seed), measure)
        made.append(rollout_canary.watched(arrived, membership, how).assign(share=share, tier=tier))
    return typed(pd.concat(made, ignore_index=True), "release_canary")


class Rollback(NamedTuple):
    """``back``: the registry after it; ``same``: its records are those of before, bit for bit; ``thirds``: what a part of a rollback would have made."""

    back: Registry
    same: bool
    seal: str
    thirds: pd.DataFrame


def fusion_unit(lists: Sequence[str], threshold: float | None = None) -> Unit:
    """The free rival as a unit: the candidates by the reciprocal ranks that ``lists`` give them; no model is called."""
    return Unit("fusion", {"name": "reciprocal rank fusion"}, {"lists": list(lists)}, reading(threshold=threshold))


def rollback(first: pd.DataFrame, old: Unit, new: Unit, scores: Mapping[str, pd.DataFrame], places: int, questions: pd.DataFrame,
             **representation: Any) -> Rollback:
    """Release ``new`` over ``old`` on frozen candidates and roll back. ``scores``: unit.scorer -> the raw scores that its model and preprocessing gave; where
    those of ``old`` have no row (no list could be fused), the first stage itself was in force before.

    thirds: restored (the parts taken back), unit, registered, scored (False: no such model ever read such texts, so nobody knows what it would do),
    questions, and in how many the order, and the passages shown, are not the old unit's, and nothing is shown at all (missing where nothing was scored).
    """
    scores = {scorer: rows for scorer, rows in scores.items() if len(rows)}
    registry = released(opened(old if old.scorer in scores or old.reading["source"] == "first_stage" else FIRST), new)
    records = lambda unit: replays(first, unit, places, _scores(unit, scores.get(unit.scorer)), questions, **representation)
    before, rows = records(registry.units[registry.history[0]]), []
    back = rolled_back(registry)
    again = records(back.active)
    for parts in [[p] for p in PARTS] + [[p for p in PARTS if p != left] for left in PARTS] + [list(PARTS)]:
        third = mixture(registry, parts)
        known = third.reading["source"] == "first_stage" or third.scorer in scores
        made = records(third) if known else []
        changed = [sum(a[what] != b[what] for a, b in zip(made, before)) if known else pd.NA for what in ("order", "shown")]
        changed.append(sum(not a["shown"] for a in made) if known else pd.NA)
        rows.append((" + ".join(parts), third.id, third.id in registry.units, known, len(before), *changed))
    columns = ["restored", "unit", "registered", "scored", "questions", "other_order", "other_shown", "nothing_shown"]
    thirds = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[-3:], "Int64"))
    return Rollback(back, differing(before, again) == [], sealed(again)["digest"], thirds)
