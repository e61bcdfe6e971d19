"""What the policy assistant's tables say, in sentences built from them (notebook 07)."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pandas as pd

from lib.chart_words import GAP, listed, percent, signed, verdict
from lib.policy_arms import STEPS
from lib.policy_slices import SLICES
from lib.policy_study import REPAIR, SWITCH
from lib.policy_tables import EVERY, NONE

STEP = {"windows": "windows", "sections": "+ section boundaries", "lineage": "+ lineage", "kept place": "+ a place kept", "second query": "+ second query"}
SHORT = {SWITCH: "one reranker switch on the unrepaired search", REPAIR: "the repaired search everywhere"}
NOTHING = "No question of the policy corpus has a bundle of evidence, so nothing can be measured."


def kind(name: str) -> str:
    """A slice in words.

    >>> kind("multi_evidence"), kind("all")
    ('multi-evidence', 'all questions')
    """
    return "all questions" if name == EVERY else name.replace("_", "-")


def in_order(names: Iterable[str]) -> list[str]:
    """Slices in document 001's order, unknown ones behind them, ``all`` last."""
    there = set(names)
    return [s for s in SLICES if s in there] + sorted(there - {*SLICES, EVERY}) + [EVERY] * (EVERY in there)


def said(row: pd.Series) -> str:
    """wins, loses or undecided, where a slice also passes Holm's correction."""
    return "undecided" if row["p_holm"] >= 0.05 else verdict(row["ci_low"], row["ci_high"])


def routed(table: pd.DataFrame, measure: str = "complete", treatment: str = "routed", control: str = SWITCH) -> str:
    """The title of the figure of routes: over all questions, and the kinds on which it is decided."""
    rows = table[(table["name"] == treatment) & (table["minus"] == control) & (table["measure"] == measure)].dropna(subset=["estimate", "ci_low"])
    if rows.empty:
        return NOTHING
    whole, kinds = rows[rows["slice"] == EVERY], rows[rows["slice"] != EVERY].set_index("slice")
    verbs = {"wins": "beats", "loses": "loses to", "undecided": "cannot be told from"}
    start = "Routing by kind"
    if len(whole):
        start += f" {verbs[said(whole.iloc[0])]} {SHORT[control]} ({signed(100 * whole['estimate'].iloc[0], 0)}{GAP}points)"
    found: dict[str, list[str]] = {}
    for name in in_order(kinds.index):
        found.setdefault(said(kinds.loc[name]), []).append(kind(name))
    parts = [f"{verb} on {listed(found[v])}" for v, verb in (("wins", "ahead"), ("loses", "behind")) if v in found]
    if not parts:
        return f"{start}; no single kind decides it"
    rest = found.get("undecided", [])
    return f"{start}: {', '.join(parts)}" + (f", undecided on {'the other ' + str(len(rest)) if len(rest) > 1 else rest[0]}" if rest else "")


def beside(table: pd.DataFrame, measure: str = "complete", treatment: str = "routed", control: str = REPAIR) -> str:
    """The other half of the finding: the routes against the repaired search for every question; empty where it was not measured."""
    at = (table["name"] == treatment) & (table["minus"] == control) & (table["measure"] == measure) & (table["slice"] == EVERY)
    rows = table[at].dropna(subset=["estimate", "ci_low"])
    if rows.empty:
        return ""
    verbs = {"wins": "beats", "loses": "loses to", "undecided": "cannot be told from"}
    return f"Overall routing {verbs[said(rows.iloc[0])]} {SHORT[control]}: {_points(rows.iloc[0])}"


def repaired(table: pd.DataFrame, slice: str = "exclusion", depth: int | None = None) -> str:
    """The title of the figure of repairs: complete evidence before and after, whether that is a gain, and the step that gave most."""
    depth = int(table["depth"].max()) if depth is None and len(table) else depth
    rows = table[(table["slice"] == slice) & (table["depth"] == depth) & (table["measure"] == "complete")].dropna(subset=["estimate", "ci_low"])
    levels, first, last = rows[rows["minus"] == NONE].set_index("name")["estimate"], STEPS[0], STEPS[-1]
    gain = rows[(rows["name"] == last) & (rows["minus"] == first)]
    if gain.empty or first not in levels or last not in levels:
        return NOTHING
    verb = {"wins": "lift", "loses": "lower", "undecided": "move"}[verdict(gain["ci_low"].iloc[0], gain["ci_high"].iloc[0])]
    start = f"Repairs of retrieval {verb} complete evidence on {kind(slice)} questions from {percent(levels[first])} to {percent(levels[last])}"
    if verb == "move":
        return f"{start}: undecided"
    moved = [(float(levels[b] - levels[a]), b) for a, b in pairwise(STEPS) if a in levels and b in levels]
    most = (max if verb == "lift" else min)(moved)
    return f"{start}; the step that moves most: {STEP[most[1]].removeprefix('+ ')}"


def stale(table: pd.DataFrame) -> str:
    """What filters and a reranker do to versions that are not in force, in two sentences."""
    rows = table[(table["slice"] == EVERY) & (table["measure"] == "shown")].set_index(["name", "minus"])
    bare, kept = (("hybrid, filters off", NONE), ("hybrid, filters on", NONE))
    if not {bare, kept} <= set(rows.index):
        return NOTHING
    without, within = percent(rows.loc[bare, "estimate"]), percent(rows.loc[kept, "estimate"])
    out = [f"Without filters {without} of {int(rows.loc[bare, 'n'])} questions are shown a version that is not in force, with them {within}."]
    again = ("reranked, filters off", "hybrid, filters off")
    if again in rows.index:
        row = rows.loc[again]
        verb = {"wins": "raises", "loses": "lowers", "undecided": "does not clearly change"}[verdict(row["ci_low"], row["ci_high"])]
        out.append(f"The reranker {verb} that share: {_points(row)}.")
    return " ".join(out)


def luck(table: pd.DataFrame) -> str:
    """How much of the in-sample routes is luck, and what a router's errors cost, in points of complete evidence over all questions."""
    rows = table[(table["slice"] == EVERY) & (table["measure"] == "complete") & (table["minus"] == "routed")].dropna(subset=["estimate"]).set_index("name")
    told = {"routed, in sample": ("Choosing and judging on the same questions flatters the routes by", 1),
            "routed, told slices": ("Guessing the kind from the words costs", -1)}
    parts = [f"{text} {_points(rows.loc[name], sign).lstrip('+')}." for name, (text, sign) in told.items() if name in rows.index]
    return " ".join(parts) or NOTHING


def _points(row: pd.Series, sign: int = 1) -> str:
    """A difference with its interval, in points; ``sign`` -1 turns a loss into a cost."""
    ends = sorted(100 * sign * row[c] for c in ("ci_low", "ci_high")) if pd.notna(row["ci_low"]) else []
    between = f" [{signed(ends[0], 1)}, {signed(ends[1], 1)}]" if ends else ""
    return f"{signed(100 * sign * row['estimate'], 1)}{GAP}points{between}"


def answer(steps: pd.DataFrame, routes: pd.DataFrame) -> str:
    """The section's bold answer: the repair, then the routes."""
    if not len(steps) or not len(routes):
        return NOTHING
    return " ".join(f"{text}." for text in (repaired(steps), routed(routes), beside(routes)) if text).replace("..", ".")
