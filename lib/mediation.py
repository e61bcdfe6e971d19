"""Mediation within questions: which part of a contrast between two packers runs through a mediator (document 000 calls answer-in-context the mediator; SPEC 8).

Each question is packed both ways, so everything that stays the same within a question (how hard it is, what the reader remembers) drops out of its differences.
Per question, with treatment T and control C, mediator M and outcome Y (Judd, Kenny and McClelland, 2001, Psychological Methods 6, in the path form of Montoya
and Hayes, 2017, Psychological Methods 22, doi 10.1037/met0000086):

    M_T - M_C = a + error
    Y_T - Y_C = direct + b (M_T - M_C) + d ((M_T + M_C) / 2 - its mean) + error
    total = mean of Y_T - Y_C = a b + direct, exactly

``b`` is the mean of what the mediator is worth under T and under C, ``d`` (interaction) the difference of the two; so ``a b`` is the mean of the two natural
indirect effects of Imai, Keele and Tingley (2010, Psychological Methods 15). The names indirect and direct are earned only if
1. nothing else that the packer changes goes along with the mediator and moves the outcome (no confounding within the question): a bridge passage that
   arrives together with the answer is counted as the answer's doing. No test on these rows can tell;
2. the mediator is worth the same, on average, where the packers part and where they do not (Kenny, Korchmaros and Bolger, 2003, Psychological Methods 8);
3. effects add up along straight lines. With a mediator of 0 and 1 this can be seen: ``misfit`` should be 0.
That both packers met every question is by design. On worlds where the truth is known this is an estimate, on real data a description.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import bootstrap
from lib.bootstrap import divide
from lib.summaries import PANEL
from lib.transitions import require

MEDIATORS = ("answer_in_context", "gold_coverage")
QUANTITIES = ("a", "b", "interaction", "total", "indirect", "direct", "share", "misfit")
COLUMNS = ["tier", *PANEL, "treatment", "control", "outcome", "mediator", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters", "undefined"]


def mediation(outcomes: pd.DataFrame, pairs: Iterable[tuple[str, str]], tier: str, mediators: Sequence[str] = MEDIATORS, measures: Sequence[str] = ("f1", "em"),
              resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The mediation table, each quantity with its interval over questions; one draw a panel.

    Questions whose mediator is undefined (no span, no gold) are left out and counted, so ``total`` is the contrast over the others. A quantity that cannot be
    told is missing: b where the mediator never differs, share where the interval of the total holds 0. Raises ValueError for a name
    that is no column.
    """
    pairs, rows = list(pairs), []
    require(outcomes, (*mediators, *measures))
    for panel, group in outcomes[outcomes["reader"] != "none"].groupby(PANEL):
        cells = [(t, c, m, by) for t, c in pairs if {t, c} <= set(group["policy"]) for m in measures for by in mediators]
        made = [moments(*differences(group, *cell)) for cell in cells]
        if not made:
            continue
        sample, drawn = bootstrap.resample_totals(np.hstack(made), np.arange(len(made[0])), resamples, seed)
        for k, (cell, own) in enumerate(zip(cells, made)):
            here, codes = slice(k * own.shape[1], (k + 1) * own.shape[1]), np.flatnonzero(own[:, 0])
            for quantity, i in _intervals(paths(sample[:, here]), paths(drawn[:, here]), codes):
                rows.append((tier, *panel, *cell, quantity, i.estimate, i.low, i.high, i.n, i.clusters, len(own) - len(codes)))
    return pd.DataFrame(rows, columns=COLUMNS)


def differences(group: pd.DataFrame, treatment: str, control: str, measure: str, mediator: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each question, by qid: the mediator's difference, its mean over both packers, the outcome's difference; NaN where one is unknown or undefined."""
    by = group[mediator].astype(float)
    rows = group.assign(_by=by.where(group["answer_defined"].astype(bool)) if mediator.startswith("answer_in_context") else by)
    wide = rows.pivot(index="qid", columns="policy", values=["_by", measure]).astype(float)
    with_, without = wide["_by", treatment].to_numpy(), wide["_by", control].to_numpy()
    return with_ - without, (with_ + without) / 2, (wide[measure, treatment] - wide[measure, control]).to_numpy()


def moments(change: np.ndarray, middle: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """What ``paths`` needs of each question, (questions, 17): count, first and second moments, and counts and differences by corner of a 0-1 mediator."""
    columns = np.column_stack([change, middle, delta])
    known = ~np.isnan(columns).any(axis=1)
    x, s, y = np.where(known[:, None], columns, 0).T
    corners = [known & (x == a) & (s == m) for a, m in ((1, 0.5), (-1, 0.5), (0, 1), (0, 0))]  # gained, lost, kept, absent
    return np.column_stack([known, x, s, y, x * x, x * s, s * s, x * y, s * y, *corners, *(c * y for c in corners)]).astype(float)


def paths(totals: np.ndarray) -> dict[str, np.ndarray]:
    """Every quantity from totals of ``moments``, (rows, 17): least squares of the two equations above, a row at a time.

    Where the mediator never differs nothing runs through it: indirect is 0 and b unknown. Where it is constant under one packer (always there, or never),
    only the other's slope can be told, and b is that slope.

    >>> x, s, y = np.array([1, -1, 0, 0.0]), np.array([0.5, 0.5, 1, 0]), np.array([0.5, -0.5, 0, 0])
    >>> {k: float(v[0]) for k, v in paths(moments(x, s, y).sum(axis=0, keepdims=True)).items() if k in ("a", "b", "total", "misfit")}
    {'a': 0.0, 'b': 0.5, 'total': 0.0, 'misfit': 0.0}
    """
    n = totals[:, :1]
    (x, s, y), (xx, xs, ss, xy, sy) = divide(totals[:, 1:4], n).T, divide(totals[:, 4:9], n).T
    xx, xs, ss, xy, sy = xx - x * x, xs - x * s, ss - s * s, xy - x * y, sy - s * y
    xx, ss = np.where(xx > 1e-12, xx, 0), np.where(ss > 1e-12, ss, 0)
    rank_two = np.where(xx * ss - xs * xs > 1e-9 * xx * ss, xx * ss - xs * xs, 0)
    both = rank_two > 0
    b = np.where(both, divide(xy * ss - sy * xs, rank_two), divide(xy, xx))
    interaction = np.where(both, divide(sy * xx - xy * xs, rank_two), np.where(xx == 0, divide(sy, ss), np.nan))
    indirect = np.where((xx == 0) & (np.abs(x) < 1e-12), 0 * y, x * b)
    corners = divide(totals[:, 13:], totals[:, 9:13])
    return {"a": x, "b": b, "interaction": interaction, "total": y, "indirect": indirect, "direct": y - indirect, "share": divide(indirect, y),
            "misfit": corners @ np.array([1, 1, -1, -1])}


def _intervals(sample: Mapping, drawn: Mapping, codes: np.ndarray) -> Iterator[tuple[str, bootstrap.Interval]]:
    found = {q: bootstrap.percentile_interval(float(sample[q][0]), drawn[q], codes, tested=False) for q in QUANTITIES}
    if not (found["total"].low > 0 or found["total"].high < 0):
        found["share"] = found["share"]._replace(estimate=np.nan, low=np.nan, high=np.nan)
    yield from found.items()
