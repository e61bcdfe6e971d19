"""A contrast split by what became of the answer, gross and net (document 000, section 5.0.0.4; SPEC 8).

Between two packers each question falls into one kind: the answer is ``gained`` (only the treatment's context holds it), ``lost`` (only the
control's), ``kept`` (both), ``absent`` (neither), or ``undefined`` (there is no span to look for). ``net`` is gained and lost together: who counts
the gained ones alone states a gross share.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import bootstrap, stats
from lib.bootstrap import Interval
from lib.parts import parts
from lib.summaries import PANEL

KINDS = ("gained", "lost", "kept", "absent", "undefined")
SPLIT = {**{kind: (kind,) for kind in KINDS}, "net": ("gained", "lost"), "all": KINDS}
COLUMNS = ["tier", *PANEL, "half", "treatment", "control", "outcome", "transition", "questions", "share", "mean_delta", "contribution", "ci_low", "ci_high",
           "share_of_delta", "share_low", "share_high", "n", "clusters"]


def transition(treatment: Sequence, control: Sequence, defined: Sequence) -> np.ndarray:
    """The kind of each question, from answer-in-context (0 or 1) under both packers and whether the question has a span.

    >>> transition([1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [True, True, True, True, False]).tolist()
    ['gained', 'lost', 'kept', 'absent', 'undefined']
    """
    with_, without, defined = (np.asarray(v, dtype=float) == 1 for v in (treatment, control, defined))
    return np.select([~defined, with_ & ~without, ~with_ & without, with_], ["undefined", "gained", "lost", "kept"], "absent")


def transitions(outcomes: pd.DataFrame, pairs: Iterable[tuple[str, str]], tier: str, questions: pd.DataFrame | None = None,
                measures: Sequence[str] = ("f1", "em"), resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The transitions table: for each contrast, half (and seed) and kind its questions and what they contribute to the difference.

    contribution = sum of the kind's differences over all questions, so that the kinds add up to the contrast; all intervals of a panel come from one
    draw of questions. ``share_of_delta`` is missing where the interval of the whole difference holds 0: a share of nothing is noise. Raises ValueError for a
    measure that is no column.
    """
    pairs, rows = list(pairs), []
    require(outcomes, measures)
    read = outcomes[outcomes["reader"] != "none"]
    for half, part in parts(read, questions):
        for panel, group in part.groupby(PANEL):
            rows += [(tier, *panel, half, *row) for row in _panel(group, pairs, measures, resamples, seed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def require(outcomes: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ValueError where outcomes lack one of the columns asked for."""
    absent = [c for c in columns if c not in outcomes]
    if absent:
        raise ValueError(f"outcomes have no column {absent[0]!r}; they have {', '.join(outcomes)}")


def _panel(group: pd.DataFrame, pairs: list[tuple[str, str]], measures: Sequence[str], resamples: int, seed: int) -> list[tuple]:
    split = [(t, c, m, *found) for t, c in pairs for m in measures if (found := _differences(group, t, c, m)) is not None]
    if not split:
        return []
    columns = [_only(delta, kind, SPLIT[name]) for *_, delta, kind in split for name in SPLIT]
    sample, drawn = bootstrap.column_means(np.column_stack(columns), sorted(set(group["qid"])), resamples, seed)
    rows = []
    for k, (*names, delta, kind) in enumerate(split):
        here = slice(k * len(SPLIT), (k + 1) * len(SPLIT))
        rows += [(*names, *row) for row in _kinds(delta, kind, sample[0, here], drawn[:, here])]
    return rows


def _differences(group: pd.DataFrame, treatment: str, control: str, measure: str) -> tuple[np.ndarray, np.ndarray] | None:
    """(differences, kinds), both by sorted qid; None where no question has both packers' values."""
    if not {treatment, control} <= set(group["policy"]):
        return None
    wide = group.pivot(index="qid", columns="policy", values=[measure, "answer_in_context"]).astype(float)
    delta = (wide[measure, treatment] - wide[measure, control]).to_numpy()
    if np.isnan(delta).all():
        return None
    defined = group.groupby("qid")["answer_defined"].first().reindex(wide.index)
    return delta, transition(wide["answer_in_context", treatment], wide["answer_in_context", control], defined)


def _only(delta: np.ndarray, kind: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """The differences of these kinds, 0 for the others; unknown stays unknown, since it is in no total."""
    return np.where(np.isnan(delta) | np.isin(kind, kinds), delta, 0.0)


def _kinds(delta: np.ndarray, kind: np.ndarray, sample: np.ndarray, drawn: np.ndarray) -> Iterator[tuple]:
    codes = np.flatnonzero(~np.isnan(delta))
    whole = bootstrap.percentile_interval(sample[-1], drawn[:, -1], codes, tested=False)
    decided = whole.low > 0 or whole.high < 0
    for k, (name, kinds) in enumerate(SPLIT.items()):
        inside = np.isin(kind[codes], kinds)
        i = bootstrap.percentile_interval(sample[k], drawn[:, k], codes, tested=False)
        shares = bootstrap.divide(drawn[:, k], drawn[:, -1])
        of = bootstrap.percentile_interval(sample[k] / sample[-1], shares, codes, tested=False)[:3] if decided else [np.nan] * 3
        mean = delta[codes][inside].mean() if inside.any() else np.nan
        yield (name, int(inside.sum()), inside.mean(), mean, i.estimate, i.low, i.high, *of, i.n, i.clusters)


def share_of_gain(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Part of the difference treatment - control in ``measure`` that the questions of ``transition`` bring: published 0.81 (5.0.0.4), a gross share."""
    delta, kind = _known(rows, w)
    whole = stats.mean_interval(delta, range(len(delta)), resamples, seed)
    if not (whole.low > 0 or whole.high < 0):
        raise LookupError(f"the whole difference is undecided ({whole.estimate:+.3f} [{whole.low:+.3f}, {whole.high:+.3f}]), and a share of nothing is noise")
    return stats.ratio_interval(_only(delta, kind, SPLIT[w["transition"]]), delta, range(len(delta)), resamples, seed)


def questions_in(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Questions of ``transition`` among ``per`` questions: published 37 gained among 500 (5.0.0.4)."""
    _, kind = _known(rows, w)
    return stats.mean_interval(w.get("per", 1) * np.isin(kind, SPLIT[w["transition"]]), range(len(kind)), resamples, seed)


def gain_per_question(rows: pd.DataFrame, w: Mapping, resamples: int, seed: int) -> Interval:
    """Mean difference in ``measure`` inside ``transition``: published 0.39 a newly placed answer (5.0.0.4)."""
    delta, kind = _known(rows, w)
    inside = np.isin(kind, SPLIT[w["transition"]])
    return stats.ratio_interval(np.where(inside, delta, 0), inside, range(len(delta)), resamples, seed)


def _known(rows: pd.DataFrame, w: Mapping) -> tuple[np.ndarray, np.ndarray]:
    found = _differences(rows, w["treatment"], w["control"], w["measure"])
    if found is None:
        raise LookupError(f"no question has {w['measure']} under both {w['treatment']} and {w['control']}")
    known = ~np.isnan(found[0])
    return found[0][known], found[1][known]


FIGURES = {f.__name__: f for f in (share_of_gain, questions_in, gain_per_question)}  # for the claims register, in the form of lib.pooled
