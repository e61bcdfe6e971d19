"""Controls and probes of a reranker: each a number that is better when low, and a threshold it must not pass (document 001, "Three negative controls").

A reranker is anything with ``name`` and ``rerank(question, passages)`` whose answer has ``order`` (places of the passages, best first), ``scores`` and
``calls``. For the probes of preferences it also has ``prefer(question, a, b)``, asked in both orders, with ``margin`` (above 0: a stands above b) and
``contradicts``; or ``prefers(question, a, b)``, asked in one order: True where a should stand above b.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lib import probes_inputs as inputs
from lib import probes_preferences as preferences
from lib import stats
from lib.probes_asked import Asked, Case, Instruction, check_case  # noqa: F401 - one name, lib.probes, for the whole subject
from lib.whole import check_whole, is_number, is_whole

COLUMNS = ["tier", "reranker", "probe", "value", "ci_low", "ci_high", "threshold", "verdict", "sure", "n", "calls", "meaning"]


class Probe(NamedTuple):
    """What is measured: a value a case (NaN: the case does not fit), the most it may be on average, and the number in words."""

    measure: Callable[[Asked, Sequence[Case]], list[float]]
    threshold: float
    meaning: str


PROBES: dict[str, Probe] = {
    "oracle_order": Probe(inputs.below_oracle, 0.5, "nDCG of the best order of the same passages less the reranker's, where the order given is not the best"),
    "already_correct": Probe(inputs.lost_when_correct, 0.05, "nDCG lost when the passages come in the best order already"),
    "omitted_answer": Probe(inputs.accepted_without_answer, 0.5,
                            "share of pools without a relevant passage whose top score would pass: the bar passes nine in ten complete pools"),
    "repeat": Probe(inputs.changed_on_repeat, 0.0, "share of cases whose order changes when the same is asked again"),
    "shuffle": Probe(inputs.changed_by_shuffle, 0.1, "share of the first m that changes when the passages come in another order"),
    "duplicates": Probe(inputs.changed_by_duplicates, 0.05, "share of pairs of passages whose order changes when an irrelevant one comes three times"),
    "irrelevant_control": Probe(inputs.beaten_by_control, 0.1, "share of relevant passages ranked below a passage of another question"),
    "control_order": Probe(inputs.changed_by_control, 0.05, "share of pairs of passages whose order changes when a passage of another question comes in"),
    "reworded": Probe(inputs.changed_by_rewording, 0.3, "share of the first m that changes when the question is put in other words"),
    "instruction": Probe(inputs.against_instruction, 0.4,
                         "pairs that an instruction should turn: 0 turned or kept as told, 0.5 unmoved by it, 1 moved against it"),
    "preference_cycles": Probe(preferences.cycles, 0.05, "share of triples of passages whose pairwise preferences go round in a circle"),
    "preference_order": Probe(preferences.contradictions, 0.1, "share of pairs whose preference changes with the place in which they are named"),
}
THRESHOLDS = {name: probe.threshold for name, probe in PROBES.items()}


def probe(reranker: Any, cases: Sequence[Case], thresholds: Mapping[str, float] | None = None, m: int = 5, seed: int = 0, resamples: int = 10_000,
          tier: str = "sample", only: Sequence[str] = tuple(PROBES), compared: int = 12) -> pd.DataFrame:
    """The probes table of a reranker: a row a probe with its mean over cases, 95 % interval, threshold and verdict.

    ``verdict``: pass (mean at most the threshold), fail, not applicable (no case fits, or the reranker has no such ability); ``sure``: the interval lies on
    that side of the threshold as a whole. ``thresholds`` replace some of THRESHOLDS. ``n``: cases with a value; ``calls``: model calls that
    the probe took beyond those before it. ``only``: the probes to run, for a reranker whose calls are dear; ``compared``: passages of a case that are
    compared in pairs, each pair in both orders. Raises ValueError for an unknown probe, a threshold outside [0, 1], cases that
    repeat an id, or an order that is no permutation.
    """
    limits = {**THRESHOLDS, **(thresholds or {})}
    if set(limits) - set(PROBES) or any(not is_number(v, 0) or v > 1 for v in limits.values()):
        raise ValueError(f"thresholds are shares in [0, 1] of the probes {', '.join(PROBES)}, got {dict(thresholds or {})}")
    if unknown := set(only) - set(PROBES):
        raise ValueError(f"unknown probe {min(unknown)!r}, there are {', '.join(PROBES)}")
    check_whole("compared", compared, 2)
    for case in cases:
        check_case(case)
    if not is_whole(m, 1) or len({c.qid for c in cases}) < len(cases):
        raise ValueError(f"m is at least 1 and every case has an id of its own, got m {m} and {len(cases)} cases with {len({c.qid for c in cases})} ids")
    asked, made = Asked(reranker, m, seed, compared), []
    cases = sorted(cases, key=lambda case: case.qid)
    for name, what in ((n, p) for n, p in PROBES.items() if n in only):
        before = asked.calls
        values = what.measure(asked, cases)
        known = [(v, c.qid) for v, c in zip(values, cases, strict=True) if not math.isnan(v)] if values else []
        made.append((tier, reranker.name, name, *_judged(known, limits[name], resamples, seed), len(known), asked.calls - before, what.meaning))
    return pd.DataFrame(made, columns=COLUMNS).astype({"sure": "boolean"})


def _judged(known: list[tuple[float, str]], limit: float, resamples: int, seed: int) -> tuple:
    """(value, low, high, threshold, verdict, sure)."""
    if not known:
        return math.nan, math.nan, math.nan, limit, "not applicable", pd.NA
    i = stats.mean_interval([v for v, _ in known], [q for _, q in known], resamples, seed)
    passed = i.estimate <= limit + 1e-12
    sure = pd.NA if math.isnan(i.low) else bool(i.high <= limit + 1e-12 if passed else i.low > limit)
    return i.estimate, i.low, i.high, limit, "pass" if passed else "fail", sure
