"""Does a gate look at what it is judged by? Exchange the labels of held-out questions and see whether any decision moves (document 002, section 6).

The published gate once saved "73 % without loss". Its fallback was the better of H and D *for each question*, which takes the label to know. Here such a
figure is made again, beside what the same skips are worth with a fallback that can be run. (The other fault of that figure, a wrong target, is not repeated.)
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from lib.gating_cells import cells
from lib.gating_choose import RULES, Rule
from lib.gating_inputs import QuestionSet, permuted
from lib.gating_models import SMALL, Grid
from lib.gating_nested import CELL, KS, OUTER, check_sets, decide, nested, outer_folds
from lib.gating_select import check_asked, select
from lib.whole import check_draws, check_whole

Decider = Callable[[QuestionSet, np.ndarray, np.ndarray], pd.DataFrame]  # (data, train, test) -> decisions of test
LEAKS = ["tier", "decider", "dataset", "fold", "labels_moved", "decisions", "skip_moved", "fallback_moved", "p_harm_moved", "caught", "n"]
LESSON = ["tier", "dataset", "k", "how", "skip", "skip_low", "skip_high", "delta", "ci_low", "ci_high", "bound", "harmful", "beneficial", "n"]
LOSSLESS = Rule("lossless", "coverage", 0.0)
CLAIMED, HELD_OUT = "oracle fallback, measured where it was chosen", "oracle fallback, held out"
SAME, HONEST = "the same skips, fallback {}", "chosen and run inside the folds"


def protocol(ks: Sequence[int] = KS, rules: Sequence[Rule] = RULES, grid: Grid = SMALL, seed: int = 0) -> Decider:
    """The nested protocol as one function of (data, train, test). Raises ValueError for a K, rule, grid or seed that is none."""
    check_asked(ks, rules, grid, seed)
    return lambda data, train, test: decide(data, select(data, train, ks, rules, grid, seed)[0], train, test)


def oracle_fallback(decider: Decider) -> Decider:
    """A planted leak: the same gate, whose fallback is, question by question, whichever of H and D has the target. Without D there is nothing to leak."""

    def leaky(data: QuestionSet, train: np.ndarray, test: np.ndarray) -> pd.DataFrame:
        made = decider(data, train, test)
        better = ~made["h_hit"].astype(bool) & (made["d_hit"] == 1)
        return made.assign(fallback=np.where(better, "D", made["fallback"]))

    return leaky


def leak_table(sets: Sequence[QuestionSet], deciders: dict[str, Decider], tier: str, folds: int = 2, outer: int = OUTER, seed: int = 0) -> pd.DataFrame:
    """For the first ``folds`` outer folds of each data set: held-out questions exchange their labels, everything else stays; how many decisions move?

    Any that does has seen a label (``caught``). ``labels_moved``: questions whose own labels really changed; 0 makes the check empty, and ``caught`` missing.
    """
    check_sets(sets)
    check_whole("folds", folds, 1)
    rows = []
    for name, decider in deciders.items():
        for data in sets:
            for fold, train, test in outer_folds(data, outer, seed)[:folds]:
                other = permuted(data, test, seed)
                before, after = (decider(d, train, test).sort_values(["k", "rule", "qid"], ignore_index=True) for d in (data, other))
                labels = int(np.any([data.ranks[r][test] != other.ranks[r][test] for r in ("H", "R")], axis=0).sum())
                moved = [int((before[c].to_numpy() != after[c].to_numpy()).sum()) for c in ("skip", "fallback")]
                p = int((~np.isclose(before["p_harm"], after["p_harm"], rtol=0, atol=0, equal_nan=True)).sum())
                rows.append((tier, name, data.dataset, fold, labels, len(before), *moved, p, bool(sum(moved) + p) if labels else None, len(test)))
    return pd.DataFrame(rows, columns=LEAKS)


def lossless_table(sets: Sequence[QuestionSet], tier: str, ks: Sequence[int] = KS, grid: Grid = SMALL, seed: int = 0, outer: int = OUTER, jobs: int = 1,
                   resamples: int = 10_000) -> pd.DataFrame:
    """Skip rate and delta of a "lossless" gate (delta of 0 or more where it was chosen), five ways to measure it; only the last could be deployed as measured.

    Two faults are taken away one after the other. As claimed: oracle fallback, measured on the questions that its threshold was chosen on (n counts them once
    a fold; no interval, since it is lossless by construction). Then the same on held-out questions; then the same skips with a fallback that can be run.
    """
    check_draws(resamples, seed)
    claimed = nested(sets, ks, [LOSSLESS], grid._replace(fallbacks=("oracle",)), seed, outer, jobs)
    honest = nested(sets, ks, [LOSSLESS], grid, seed, outer, jobs)
    if claimed.decisions.empty:
        return pd.DataFrame(columns=LESSON)
    ways = {HELD_OUT: claimed.decisions}
    for fallback in ("H", "D"):
        run = claimed.decisions.assign(fallback=claimed.decisions["fallback"].replace("oracle", fallback))
        ways[SAME.format(fallback)] = run if fallback == "H" else run[run["d_hit"].notna()]
    parts = [cells(run, claimed.choices, tier, resamples, seed, lesson=how == HELD_OUT).assign(how=how) for how, run in ways.items() if len(run)]
    parts.append(cells(honest.decisions, honest.choices, tier, resamples, seed).assign(how=HONEST))
    return pd.concat([_where_chosen(claimed.choices, tier), *parts], ignore_index=True)[LESSON].sort_values(CELL[:2], kind="stable", ignore_index=True)


def _where_chosen(choices: pd.DataFrame, tier: str) -> pd.DataFrame:
    """Skip rate and delta on the training folds, where the thresholds were chosen."""
    weighted = choices.assign(skipped=choices["inner_skip"] * choices["n_train"])
    sums = weighted.groupby(CELL[:2])[["skipped", "inner_harmful", "inner_beneficial", "n_train"]].sum().reset_index()
    made = sums.rename(columns={"inner_harmful": "harmful", "inner_beneficial": "beneficial", "n_train": "n"})
    made["skip"], made["delta"] = made["skipped"] / made["n"].clip(lower=1), 100 * (made["beneficial"] - made["harmful"]) / made["n"].clip(lower=1)
    return made.assign(tier=tier, how=CLAIMED).reindex(columns=LESSON)
