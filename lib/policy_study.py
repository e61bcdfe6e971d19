"""The whole study of the policy assistant in one call: repair, routing, router error, versions not in force, filters (document 001; SPEC 11)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import policy_arms as arms
from lib import policy_filters, policy_routes, policy_slices, policy_superseded
from lib import policy_tables as tables_of
from lib.bootstrap import RESAMPLES
from lib.latency_times import Times, summary
from lib.policy_arms import AGAIN, ARMS, USUAL, Search
from lib.policy_corpus import PolicyCorpus
from lib.rerankers import Reranker
from lib.retrieval import Encoder
from lib.vectors import CACHE

BASE, SWITCH, REPAIR = "windows", "windows" + AGAIN, "second query"
ROUTES = ("routed", "routed, in sample", "routed, told slices", "document 001's routes")
WORKED = {"identifier": BASE, "paraphrase": SWITCH, "exclusion": REPAIR}  # document 001, "Worked production example"; it leaves the others open
COST = ("scored", "milliseconds")


def opened(encoder: str, reranker: str = "") -> tuple[Encoder, Reranker | None]:
    """The encoder and the cross-encoder of these names; no reranker without a name. Recorded scores load no model."""
    from lib.encoders import encoder as open_encoder
    from lib.rerankers_cross import cross_encoder

    return open_encoder(encoder), cross_encoder(reranker) if reranker else None


def study(corpus: PolicyCorpus, encoder: Encoder, reranker: Reranker | None = None, how: Search = USUAL, narrow: int = 20, sizes: Sequence[int] = (40, 120),
          times: Times | None = None, tier: str = "sample", splits: int = policy_routes.SPLITS, resamples: int = RESAMPLES, seed: int = 0,
          cache: Path | None = CACHE) -> dict[str, pd.DataFrame]:
    """Every table of ``lib.declarations_policy_search``, by name; without a ``reranker`` the reranked arms are left out.

    ``narrow``: a second, smaller depth at which the steps are measured, too, since a pool of 100 is a large part of so small a corpus.
    ``sizes``: windows of so many words, beside those of the first step.
    """
    by_cut = arms.indexes(corpus, encoder, cache)
    steps = arms.first_stage(corpus, by_cut, how)
    lists = steps | (arms.reranked(corpus, steps, reranker, how) if reranker is not None else {})
    found = arms.outcomes(corpus, lists, how)
    small = how._replace(depth=narrow)
    shallow = arms.outcomes(corpus, arms.first_stage(corpus, by_cut, small), small)
    stepped = [tables_of.step_table(rows, resamples, seed).assign(depth=depth) for rows, depth in ((found, how.depth), (shallow, narrow))]
    again = [tables_of.reranked_table(found, resamples, seed).assign(depth=how.depth)] if reranker is not None else []
    wide = [tables_of.window_table(arms.window_sizes(corpus, encoder, sizes, how, cache), resamples, seed).assign(depth=how.depth)] if sizes else []
    routed, choices = routes(found, corpus.questions, times, splits, resamples, seed)
    old = policy_superseded.rows(corpus, by_cut["windows"], policy_superseded.lists(corpus, by_cut["windows"], reranker, how), how)
    made = {
        "policy_outcomes": pd.concat([found.assign(depth=how.depth), shallow.assign(depth=narrow)]),
        "policy_steps": pd.concat([*stepped, *again, *wide]),
        "policy_routes": routed,
        "policy_choices": choices,
        "policy_router": policy_slices.confusion(corpus.questions),
        "policy_stale": tables_of.stale_table(old, resamples, seed),
        "policy_filters": policy_filters.counted(corpus.documents, corpus.questions, how.rules, how.least_authority),
    }
    return {name: table.assign(tier=tier).reset_index(drop=True) for name, table in made.items()}


def routes(found: pd.DataFrame, questions: pd.DataFrame, times: Times | None = None, splits: int = policy_routes.SPLITS, resamples: int = RESAMPLES,
           seed: int = 0, measure: str = "complete") -> tuple[pd.DataFrame, pd.DataFrame]:
    """(``policy_tables.COLUMNS`` of every arm and of ``ROUTES``, minus the baseline and minus the global switch; the choices a slice).

    Routes are chosen by ``measure``. Questions without it (no bundle) are left out and counted. Intervals are over questions, the splits given: they do not
    hold what another sample of questions would have chosen.
    """
    there = [a for a in ARMS if a in set(found["arm"])]
    values, slices = policy_routes.table_of(found, measure, there), tables_of.slices_of(found)
    told = questions.set_index("qid")["question"].map(policy_slices.told)
    ways, share = policy_routes.routed(values, slices, None, splits, seed)
    guessed, _ = policy_routes.routed(values, slices, told, splits, seed)
    best = policy_routes.in_sample(values, slices)
    taken = dict(zip(ROUTES, (ways, best, guessed, fixed(slices.reindex(values.index), there))))
    cost = found.assign(milliseconds=found["scored"] * seconds_a_pair(times) * 1000)
    measured = tables_of.laid_out(cost[cost["arm"].isin(there)], ("complete", "coverage", "exception_shown", *COST))
    wide = {m: pd.DataFrame({a: measured[a, m] for a in there}) for m in dict.fromkeys(m for _, m in measured)}
    measured |= {(name, m): policy_routes.along(taken[name], table) for name in taken for m, table in wide.items()}
    against = [a for a in (BASE, SWITCH, REPAIR) if a in there]
    pairs = [(name, a) for name in ROUTES for a in against] + [(a, BASE) for a in there if a != BASE]
    pairs += [("routed, in sample", "routed"), ("routed, told slices", "routed")]
    chosen = share.rename_axis("slice").reset_index().melt("slice", var_name="arm", value_name="share")
    means = values.groupby(slices.reindex(values.index)).mean().stack()
    sample = best.groupby(slices.reindex(values.index)).mean().stack()
    at = pd.MultiIndex.from_frame(chosen[["slice", "arm"]])
    chosen = chosen.assign(in_sample=sample.reindex(at).to_numpy() == 1, mean=means.reindex(at).to_numpy())
    return tables_of.compared(measured, slices, pairs, resamples, seed), chosen


def fixed(slices: pd.Series, there: Sequence[str], route: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The share table of routes that nobody chose here: document 001's worked example; slices that it leaves open, and arms not at hand, go the first."""
    route = WORKED if route is None else route
    arm_of = slices.map(lambda name: route.get(name, there[0])).map(lambda arm: arm if arm in there else there[0])
    return pd.DataFrame({a: (arm_of == a).astype(float) for a in there}, index=slices.index)


def seconds_a_pair(times: Times | None) -> float:
    """Recorded seconds of one pair when single queries are served at the largest depth timed; missing without times."""
    if times is None:
        return float("nan")
    rows = summary(times)
    rows = rows[rows["queries"] == 1]
    return float(rows.sort_values("depth")["seconds_a_pair"].iloc[-1]) if len(rows) else float(np.nan)
