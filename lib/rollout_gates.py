"""Release gates per slice: pass, fail or cannot tell, each from a one-sided bound, and the decision that follows (document 001, "Release gates").

A slice is released only if every gate passes, each at level alpha: then a wrong release is as rare as alpha, without a correction for six gates (an
intersection of tests). Six chances to fail by luck make a wrong "keep off" likelier than alpha: the gates err on the side that changes nothing. A gate that
fails names its repair; a gate that cannot tell names how many questions could.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats as distributions

from lib import rollout_bounds as bounds
from lib.bootstrap import RESAMPLES
from lib.rollout_bounds import Bounds
from lib.rollout_parameters import GATES, Parameters, Slice
from lib.rollout_rows import of_slice
from lib.viability_requirement import EVERY

PASS, FAIL, OPEN = "pass", "fail", "cannot tell"
COLUMNS = ["dataset", "slice", "gate", "consequence", "threshold", "estimate", "low", "high", "verdict", "events", "n", "undefined", "least", "needed"]
DECISIONS = ["dataset", "slice", "consequence", "decision", "failed", "open", "needed", "n"]
RELEASE, OFF, REPAIR, BOTH, UNKNOWN = "release", "keep off", "repair retrieval", "repair both", "not enough evidence"
QUANTILE = 0.95


def release_gates(rows: pd.DataFrame, parameters: Parameters, latency: pd.DataFrame | None = None, downstream: pd.DataFrame | None = None,
                  resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """``COLUMNS``: a row a slice and gate; ``rows`` from `rollout_rows.question_rows`.

    ``latency``: seconds, one row a measured request (with a column slice where slices differ); ``downstream``: dataset, qid, metric, baseline, reranked
    (shares in [0, 1]). Without them those gates cannot tell. A request without a time (a timeout, a failure) counts as late.

    low and high: one-sided bounds, each of level alpha. events: questions (requests) that count against the gate, where it is a share. least: fewest
    questions that could pass, if none of them did; needed: with which the gate would be told in 8 of 10 cases, if the truth were what was seen (missing where
    it is told, or where no number would do). Raises ValueError for a question that stands twice in a slice or with two outcomes (it would count twice), a
    metric that ``downstream`` lacks, and seconds that are no time.
    """
    if (twice := rows.duplicated(["dataset", "qid", "slice"])).any():
        raise ValueError(f"question {rows.loc[twice, 'qid'].iloc[0]!r} stands twice in a slice ({int(twice.sum())} such rows in all): it would count twice; "
                         "give each question one row a slice")
    effects, latency = _effects(downstream, parameters.metric), _seconds(latency)
    counted = max(1, rows.loc[rows["slice"] != EVERY, ["dataset", "slice"]].drop_duplicates().shape[0])
    alpha = parameters.alpha / (counted if parameters.family == "release" else 1)
    out = []
    for (dataset, name), part in of_slice(rows):
        asked = parameters.of(name)
        changes = part[["dataset", "qid"]].merge(effects, on=["dataset", "qid"], how="left")
        made = _of_slice(part, asked, alpha, _latency(latency, name), changes, parameters.least_questions, resamples, seed)
        out += [(dataset, name, gate, asked.consequence, asked.thresholds[gate], *made[gate]) for gate in GATES]
    return pd.DataFrame(out, columns=COLUMNS)


def _of_slice(part: pd.DataFrame, asked: Slice, alpha: float, seconds: np.ndarray, effects: pd.DataFrame, least: int, resamples: int, seed: int) -> dict:
    """gate -> estimate, low, high, verdict, events, n, undefined, least, needed."""
    limit, names = asked.thresholds, part["qid"].tolist()

    def mean(values: np.ndarray, clusters: list, threshold: float, how: Callable[..., Bounds]) -> tuple:
        found, known = how(values, clusters, alpha, resamples, seed), int((~np.isnan(values)).sum())
        found = found if known >= least else found._replace(low=math.nan, high=math.nan)
        said = _above(found, threshold)
        needed = bounds.questions_for_mean(values, threshold, alpha) if known > 1 else math.inf
        return *found, said, math.nan, known, len(values) - known, math.nan, _needed(said, max(needed, least), known)

    missing = 1 - part["in_pool"].to_numpy(float)
    gain, room = part["realised_gain"].to_numpy(float), part["ordering_headroom"].to_numpy(float)
    return {
        "sufficiency": _share(missing, 1 - limit["sufficiency"], alpha, turned=True),
        "headroom": mean(room, names, limit["headroom"], bounds.share_bounds),
        "capture": _capture(gain, room, names, limit["capture"], alpha, least, resamples, seed),
        "regressions": _share(part["broken"].to_numpy(float), limit["regressions"], alpha),
        "latency_p95": _slowest(seconds, limit["latency_p95"], alpha),
        "downstream": mean(effects["change"].to_numpy(float), effects["qid"].tolist(), limit["downstream"], bounds.mean_bounds),
    }


def _share(flags: np.ndarray, limit: float, alpha: float, turned: bool = False) -> tuple:
    """A share of questions that may be at most ``limit``; ``turned``: told as the share of the others, at least 1 - limit."""
    known = flags[~np.isnan(flags)]
    events, n = int(known.sum()), len(known)
    found = bounds.rate_bounds(events, n, alpha)
    said = OPEN if not n else PASS if found.high <= limit + 1e-12 else FAIL if found.low > limit else OPEN
    needed = _needed(said, bounds.questions_for_rate(events / n, limit, alpha) if n else math.inf, n)
    told = Bounds(1 - found.estimate, 1 - found.high, 1 - found.low) if turned else found
    return *told, said, events, n, len(flags) - n, bounds.least_questions(limit, alpha), needed


def _capture(gain: np.ndarray, room: np.ndarray, names: list, threshold: float, alpha: float, least: int, resamples: int, seed: int) -> tuple:
    """Gain over headroom where there is headroom; a linear quantity, gain - threshold x headroom, says how many questions it needs."""
    found = bounds.ratio_bounds(gain, room, names, alpha, resamples, seed)
    here = (room > 0) & ~np.isnan(gain)
    known = int(here.sum())
    found = found if known >= least else found._replace(low=math.nan, high=math.nan)
    said = _above(found, threshold)
    needed = bounds.questions_for_mean(gain[here] - threshold * room[here], 0.0, alpha) if known > 1 else math.inf
    return *found, said, math.nan, known, len(gain) - known, math.nan, _needed(said, max(needed, least), known)


def _slowest(seconds: np.ndarray, budget: float, alpha: float) -> tuple:
    """The 95 % quantile of seconds with its exact bounds (order statistics); as a gate: at most 5 % of requests later than ``budget``."""
    n, late = len(seconds), int((seconds > budget).sum())
    _, _, _, said, *_, least, needed = _share((seconds > budget).astype(float), 1 - QUANTILE, alpha)
    if not n:
        return math.nan, math.nan, math.nan, OPEN, math.nan, 0, 0, least, math.nan
    at = np.sort(seconds)
    high, low = int(distributions.binom.ppf(1 - alpha, n, QUANTILE)), int(distributions.binom.ppf(alpha, n, QUANTILE)) - 1
    told = (float(np.quantile(at, QUANTILE, method="higher")), *(float(at[i]) if 0 <= i < n else math.nan for i in (low, high)))
    told = tuple(math.nan if math.isinf(t) else t for t in told)  # a request that never ended has no seconds to show; as late it is counted
    return *told, said, late, n, 0, least, needed


def _above(found: Bounds, threshold: float) -> str:
    return PASS if found.low >= threshold else FAIL if found.high < threshold else OPEN


def _needed(said: str, questions: float, n: int) -> float:
    return math.nan if said != OPEN or math.isinf(questions) else max(questions, n + 1)


def _seconds(latency: pd.DataFrame | None) -> pd.DataFrame | None:
    """The requests with their seconds as numbers, a missing one as endless: who got no answer in time waited longer than any budget."""
    if latency is None:
        return None
    if "seconds" not in latency:
        raise ValueError(f"the latency table needs a column seconds, it has {', '.join(map(str, latency)) or 'none'}")
    try:
        seconds = latency["seconds"].astype(float).fillna(math.inf)
    except (TypeError, ValueError) as error:
        raise ValueError(f"seconds of requests must be numbers, or missing where no answer came: {error}") from error
    if (seconds < 0).any():
        raise ValueError(f"seconds of a request are 0 or more, got {seconds.min():g}; leave them missing where no answer came")
    return latency.assign(seconds=seconds)


def _latency(latency: pd.DataFrame | None, name: str) -> np.ndarray:
    if latency is None:
        return np.array([])
    rows = latency[latency["slice"] == name] if "slice" in latency and name != EVERY else latency
    return rows["seconds"].to_numpy(float)


def _effects(table: pd.DataFrame | None, metric: str) -> pd.DataFrame:
    """dataset, qid, change of the metric: one row a question; no row where nothing was measured."""
    needed = ["dataset", "qid", "metric", "baseline", "reranked"]
    if table is None or table.empty:
        return pd.DataFrame({"dataset": pd.Series(dtype=str), "qid": pd.Series(dtype=str), "change": pd.Series(dtype=float)})
    if lost := [c for c in needed if c not in table]:
        raise ValueError(f"the downstream table has no column {lost[0]!r}; it needs {', '.join(needed)} and has {', '.join(map(str, table))}")
    rows = table[table["metric"] == metric]
    if rows.empty:
        there = ", ".join(sorted(map(str, set(table["metric"]))))
        raise ValueError(f"the downstream table has no metric {metric!r}, which the gate file asks for; it has {there}")
    if (twice := rows.duplicated(["dataset", "qid"])).any():
        raise ValueError(f"question {rows.loc[twice, 'qid'].iloc[0]!r} has several outcomes of {metric!r} ({int(twice.sum())} rows too many): which one counts "
                         "is a decision; keep one row a question")
    return rows.assign(change=rows["reranked"].astype(float) - rows["baseline"].astype(float))[["dataset", "qid", "change"]]


def decisions(gates: pd.DataFrame) -> pd.DataFrame:
    """``DECISIONS``: a row a slice, with the gates that failed and that are open, and the questions that the open ones need at
    least (missing: no number known)."""
    out = []
    for (dataset, name), part in gates.groupby(["dataset", "slice"], sort=False):
        said = part.set_index("gate")["verdict"]
        failed, open_ = ([g for g in GATES if said[g] == what] for what in (FAIL, OPEN))
        wanted = part.loc[part["verdict"] == OPEN, "needed"]
        n = int(part.loc[part["gate"] == "sufficiency", ["n", "undefined"]].sum(axis=1).iloc[0])
        out.append((dataset, name, part["consequence"].iloc[0], decision(said.to_dict()), ", ".join(failed), ", ".join(open_), wanted.max(), n))
    return pd.DataFrame(out, columns=DECISIONS)


def decision(said: dict[str, str]) -> str:
    """What follows from the verdicts of one slice. Whatever is not released stays off.

    >>> decision(dict.fromkeys(GATES, PASS)), decision(dict.fromkeys(GATES, PASS) | {"sufficiency": FAIL})
    ('release', 'repair both')
    >>> decision(dict.fromkeys(GATES, OPEN) | {"headroom": FAIL}), decision(dict.fromkeys(GATES, OPEN))
    ('keep off', 'not enough evidence')
    """
    if said["sufficiency"] == FAIL:
        return BOTH if said["headroom"] == PASS else REPAIR
    if FAIL in said.values():
        return OFF
    return RELEASE if set(said.values()) == {PASS} else UNKNOWN
