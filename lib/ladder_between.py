"""Rungs compared with rungs: number formats at one size, sizes in one number format, and what became of the edge (document 000, section 6.5).

All comparisons are paired by question: a question's contrast on one rung minus its contrast on another. A model's size and its family change together where
the families differ; the reader's names in a row tell.
"""
from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import ladder_rungs
from lib.ladder_cells import ALL, METRICS, Drawn, difference_cell, mean_cell, row

CHANGES = ("f1", "em", "words", "answer_precision", "answer_recall")
EDGE = ("submod", "focused")  # the contrast whose absorption and reversal document 000 reports
Rung = tuple[str, str]


def finer_pairs(rungs: Sequence[Rung]) -> list[tuple[Rung, Rung]]:
    """(rung, the same model in a finer number format), every pair.

    >>> finer_pairs([("a-1b", "fp32"), ("a-1b", "nf4"), ("b-2b", "nf4")])
    [(('a-1b', 'nf4'), ('a-1b', 'fp32'))]
    """
    return [(b, a) for a, b in itertools.combinations(ladder_rungs.ordered(rungs), 2) if a[0] == b[0]]


def size_pairs(rungs: Sequence[Rung]) -> list[tuple[Rung, Rung]]:
    """(rung, the next smaller model), in the finest number format that both were read in (else as `ladder_rungs.climb` has them); then largest and smallest.

    >>> size_pairs([("a-1b", "bf16"), ("a-0.5b", "fp32"), ("a-0.5b", "bf16"), ("b-135m", "fp32")])[:2]
    [(('a-0.5b', 'fp32'), ('b-135m', 'fp32')), (('a-1b', 'bf16'), ('a-0.5b', 'bf16'))]
    """
    steps = ladder_rungs.climb(rungs)
    formats = {reader: [p for r, p in ladder_rungs.ordered(rungs) if r == reader] for reader, _ in steps}
    out = []
    for small, large in itertools.pairwise(steps):
        shared = [p for p in formats[small[0]] if p in formats[large[0]]]
        out.append(((large[0], shared[0]), (small[0], shared[0])) if shared else (large, small))
    ends = [(steps[-1], steps[0])] if len(steps) > 2 else []
    return out + [e for e in ends if e not in out]


def columns(per_question: Mapping[tuple, np.ndarray], rungs: Sequence[Rung], policies: Sequence[str],
            pairs: Sequence[tuple[str, str]]) -> dict[tuple, np.ndarray]:
    """Every comparison of rungs as values a question, by (kind, quantity, rung, other rung, policy, control)."""
    v, out = per_question, {}
    for kind, compared in (("precision", finer_pairs(rungs)), ("scale", size_pairs(rungs))):
        for one, other in compared:
            for m, (t, c) in itertools.product(METRICS, pairs):
                out[kind, m, one, other, t, c] = v[m, *one, t, c] - v[m, *other, t, c]
            for m in CHANGES:
                out[kind, m, one, other, "pooled", "none"] = _mean([v[m, *one, p] - v[m, *other, p] for p in policies])
            out[kind, "same_answer", one, other, "pooled", "none"] = _mean([_equal(v["said", *one, p], v["said", *other, p]) for p in policies])
    steps = ladder_rungs.climb(rungs)
    for m, (t, c) in itertools.product(METRICS if len({ladder_rungs.billions(r) for r, _ in steps}) > 1 else (), pairs):
        slope = _slopes([ladder_rungs.billions(r) for r, _ in steps])
        out["trend", m, "", "", t, c] = sum(w * v[m, *rung, t, c] for w, rung in zip(slope, steps))
    if len(steps) > 1 and EDGE in pairs:
        out["claim", "f1", steps[-1], steps[0], *EDGE] = v["f1", *steps[-1], *EDGE] - v["f1", *steps[0], *EDGE]
    return out


def _slopes(sizes: Sequence[float]) -> np.ndarray:
    """Weights whose sum over rungs is the least-squares slope over log2 of the parameters: the change a doubling. Shape (rungs,)."""
    x = np.log2(np.asarray(sizes, dtype=float))
    return (x - x.mean()) / ((x - x.mean()) ** 2).sum()


def _doublings(steps: Sequence[Rung]) -> float:
    """How often the parameters double from the smallest rung to the largest."""
    sizes = [ladder_rungs.billions(reader) for reader, _ in steps]
    return float(np.log2(max(sizes) / min(sizes)))


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 where two readers said the same, 0 where not, NaN where either is unknown."""
    return np.where(np.isnan(a) | np.isnan(b), np.nan, a == b)


def _mean(values: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over policies of each question; missing where any is."""
    return np.mean(values, axis=0)


def rows(drawn: Drawn, rungs: Sequence[Rung], policies: Sequence[str], pairs: Sequence[tuple[str, str]], margin: float) -> list[dict]:
    """The rows of kind precision, scale, trend and claim."""
    out = []
    for name in (n for n in drawn.names if n[0] in ("precision", "scale")):
        kind, quantity, one, other, policy, control = name
        within = margin if quantity != "words" else None
        cell = mean_cell(drawn, name) if quantity == "same_answer" else difference_cell(drawn, name, within)
        out.append(row(one, kind, policy, quantity, cell, " ".join(other), control))
    steps = ladder_rungs.climb(rungs)
    formats = " ".join(p for _, p in steps)
    for name in (n for n in drawn.names if n[0] == "trend"):
        within = margin / _doublings(steps)  # so that the whole ladder stays within the margin, not each doubling
        out.append(row((ALL, formats), "trend", name[4], name[1], difference_cell(drawn, name, within), control=name[5]))
    if len(steps) > 1 and EDGE in pairs:
        out += claims(drawn, steps[0], steps[-1], margin)
    return out


def claims(drawn: Drawn, small: Rung, large: Rung, margin: float) -> list[dict]:
    """Absorption and reversal of the edge in F1 from the smallest rung to the largest."""
    low, high = (difference_cell(drawn, ("f1", *rung, *EDGE), margin) for rung in (small, large))
    change = difference_cell(drawn, ("claim", "f1", large, small, *EDGE), margin)
    return [row(large, "claim", EDGE[0], q, change | {"verdict": said}, " ".join(small), EDGE[1])
            for q, said in (("absorption", absorption(low, high, change)), ("reversal", reversal(low, high)))]


def absorption(small: Mapping, large: Mapping, change: Mapping) -> str:
    """Whether an edge of the smallest rung is gone at the largest: absorbed, kept, no edge to absorb, or undecided.

    absorbed: above 0 at the smallest, decidedly smaller at the largest and not above 0 there. kept: above 0 at both. no edge to absorb: at the smallest
    it is below 0, or equivalent to 0.

    >>> cell = lambda low, high, verdict: {"ci_low": low, "ci_high": high, "verdict": verdict}
    >>> absorption(cell(0.01, 0.05, "moved up"), cell(-0.02, 0.02, "inconclusive"), cell(-0.06, -0.01, "moved down"))
    'absorbed'
    """
    if small["verdict"] == "moved down" or small["verdict"] in ("equivalent", "slightly up", "slightly down"):
        return "no edge to absorb"
    if small["verdict"] == "moved up" and large["verdict"] == "moved up":
        return "kept"
    if small["verdict"] == "moved up" and change["verdict"] in ("moved down", "slightly down"):
        return "absorbed"
    return "undecided"


def reversal(small: Mapping, large: Mapping) -> str:
    """Whether the edge changed sides: reversed (above 0 at the smallest, below at the largest), reversed the other way, not reversed, or undecided."""
    ways = {"moved up": 1, "slightly up": 1, "moved down": -1, "slightly down": -1, "equivalent": 0}
    first, last = ways.get(small["verdict"]), ways.get(large["verdict"])
    if first is None or last is None:
        return "undecided"
    if first * last == -1:
        return "reversed" if first > 0 else "reversed the other way"
    return "not reversed"


def tax(table: pd.DataFrame) -> pd.DataFrame:
    """The quantisation tax from the table ``ladder``: a row a pair of number formats and number, such as the change in F1 and the share of equal answers."""
    part = table[table["kind"] == "precision"]
    names = [f"{p} − {c}" if c != "none" else q for p, c, q in zip(part["policy"], part["control"], part["quantity"])]
    part = part.assign(what=names)[(part["quantity"] != "em") | (part["control"] != "none")]
    return part[["dataset", "reader", "precision", "against", "what", "quantity", "estimate", "ci_low", "ci_high", "p_holm", "verdict", "n"]].astype({"what": str}).reset_index(drop=True)
