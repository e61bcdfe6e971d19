"""Sentences on the table ``dials``: trends, nulls and reversals said as the table has them, whichever way they fall."""
from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.wording import NAMES, points

METRIC = "answer_in_context_defined"
NULL = ("equivalent", "slightly up", "slightly down")
WAYS = {"rises": "rises", "falls": "falls", "flat": "stays within the margin", "undecided": "has no decided trend", "undefined": "is undefined"}
# what each dial is to move
OWN = {"hops": "n_hops", "surfacing": "surfaced", "redundancy": "repeated", "position": "answer_place", "paraphrase": "shared_words"}
TURNED = {"rises": "grows with", "falls": "shrinks with", "flat": "holds along"}


def said(table: pd.DataFrame, metric: str = METRIC) -> list[str]:
    """One sentence a dial and contrast: where it starts and ends, its trend with interval, what is null and what changes sides.

    Rows without an interval are passed over; an empty list where none is left.
    """
    rows = _contrasts(table, metric)
    kept = [g for g in rows.groupby(["dial", "treatment", "control"], sort=False) if (g[1]["value"] == "trend").any()]
    return [_sentence(dial, pair, part) for (dial, *pair), part in kept]


def in_short(table: pd.DataFrame, metric: str = METRIC) -> str:
    """One sentence for an answer on top: along which dials the first contrast grows, shrinks or holds, and where any is gone or reversed."""
    rows = _contrasts(table, metric)
    trends, at = rows[rows["value"] == "trend"], rows[rows["value"] != "trend"]
    if trends.empty:
        return "No generated world was asked enough questions for an interval, so no dial is judged."
    treatment, control = trends[["treatment", "control"]].iloc[0]
    mine = trends[(trends["treatment"] == treatment) & (trends["control"] == control)]
    kinds = mine["verdict"].str.split(",").str[0]
    parts = [f"{way} {_listed(list(mine.loc[kinds == kind, 'dial']))}" for kind, way in TURNED.items() if (kinds == kind).any()]
    same = at[at["treatment"] == treatment]
    gone, turned = same[same["verdict"].isin(NULL)], same[same["verdict"] == "moved down"]
    places = [f"{what} {_places(found)}" for what, found in (("gone at", gone), ("reversed at", turned)) if len(found)]
    return (f"In generated worlds, one dial turned at a time, the lead of {treatment} over {control} {', '.join(parts) or 'shows no decided trend'}"
            + "".join(f"; it is {p}" for p in places) + ".")


def turned(table: pd.DataFrame, metric: str = METRIC) -> pd.DataFrame:
    """The sentences of ``said`` as a table, in points: a row a dial and contrast with the difference at its low and high end, and the change with its interval.

    Columns: dial, treatment, control, low, high, change, ci_low, ci_high, p_holm, verdict, n. A dial without a trend has no row.
    """
    rows, out = _contrasts(table, metric), []
    for (dial, treatment, control), part in rows.groupby(["dial", "treatment", "control"], sort=False):
        trend, ends = part[part["value"] == "trend"], part[part["end"].isin(["low", "high"])].set_index("end")
        if len(trend) and set(ends.index) == {"low", "high"}:
            t = trend.iloc[0]
            levels = [100 * v for v in (ends.loc["low", "estimate"], ends.loc["high", "estimate"], t["estimate"], t["ci_low"], t["ci_high"])]
            out.append((dial, treatment, control, *levels, t["p_holm"], t["verdict"], t["n"]))
    return pd.DataFrame(out, columns=["dial", "treatment", "control", "low", "high", "change", "ci_low", "ci_high", "p_holm", "verdict", "n"])


def aside(moved: pd.DataFrame, trace: float = 0.05) -> list[str]:
    """What each dial moves besides its own condition by more than ``trace``, a sentence a dial that does; ``moved`` as ``dials_table.moved``.

    >>> aside(pd.DataFrame({"dial": ["hops", "position"], "n_hops": [3, 0], "answer_place": [0.0, 0.4], "shared_words": [-0.28, 0.01]}))
    ['hops also moves shared_words by -0.28']
    """
    out = []
    for row in moved.set_index("dial").astype(float).iterrows():
        beside = [f"{name} by {change:+.2f}" for name, change in row[1].items() if name != OWN.get(row[0]) and abs(change) > trace]
        out += [f"{row[0]} also moves {_listed(beside)}"] if beside else []
    return out


def _contrasts(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    return table[(table["measure"] == metric) & (table["control"] != "none")].dropna(subset=["ci_low", "ci_high"])


def _sentence(dial: str, pair: Sequence[str], part: pd.DataFrame) -> str:
    trend, ends = part[part["value"] == "trend"].iloc[0], part[part["end"] != "none"].sort_values("place")
    first, last, null = ends.iloc[0], ends.iloc[-1], part.loc[part["verdict"].isin(NULL) & (part["value"] != "trend"), "value"]
    notes = [f"; within the margin at {_listed(list(null))}"] if len(null) else []
    notes += ["; it changes sides from one end to the other"] if "reversing" in trend["verdict"] else []
    return (f"{dial}: {NAMES.get(pair[0], pair[0])} against {NAMES.get(pair[1], pair[1])} goes from {points(first['estimate'])} at {first['value']} to "
            f"{points(last['estimate'])} at {last['value']} and {WAYS[trend['verdict'].split(',')[0]]} ({points(trend['estimate'])} "
            f"[{100 * trend['ci_low']:+.1f}, {100 * trend['ci_high']:+.1f}] from end to end, n = {trend['n']:,}){''.join(notes)}.")


def _places(found: pd.DataFrame) -> str:
    """redundancy 1 (over focused and naive), and so on."""
    return _listed([f"{d} {v} (over {_listed(list(c))})" for (d, v), c in found.groupby(["dial", "value"], sort=False)["control"]])


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
