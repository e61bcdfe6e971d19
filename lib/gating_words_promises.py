"""Does a gate keep its promise of harm, and does it know more than chance? In sentences built from its tables (notebook 07; document 002; SPEC 12)."""
from __future__ import annotations

import pandas as pd

from lib.chart_words import GAP, apart, listed, signed
from lib.gating_checks import CLAIMED, HELD_OUT, HONEST, SAME
from lib.gating_rivals_table import LEARNED
from lib.gating_words import BUDGET, COVERAGE, NO_GATE, RULE_WORDS, change, near, none, paragraphs, places
from lib.wording import named, percent


def promise_words(harms: pd.DataFrame, bins: pd.DataFrame) -> str:
    """Expected against realised harm, calibration, and whether the chances tell questions apart (gating_harm, gating_reliability)."""
    budgets = harms.dropna(subset=["budget"])
    if budgets.empty:
        return "There is nothing to tell: no budget of harm was promised here."
    out = []
    for budget, rows in budgets.groupby("budget"):
        over, surely = int((rows["realised"] > rows["expected"]).sum()), int((rows["excess_low"] > 0).sum())
        broken = f"above the promise in {over} of {len(rows)} cells, {none(surely)} surely" if over else f"above the promise in none of {len(rows)} cells"
        out.append(f"Of a {budget:g}{GAP}pp budget {rows['expected'].mean():.2f}{GAP}pp of harm were promised and {rows['realised'].mean():.2f} came ({broken}).")
    one = budgets[budgets["rule"] == BUDGET] if (budgets["rule"] == BUDGET).any() else budgets
    return " ".join([*out, _calibrated(one, bins), _discriminates(one)]).strip()


def _calibrated(harms: pd.DataFrame, bins: pd.DataFrame) -> str:
    known = harms.dropna(subset=["ece", "ece_raw"])
    error = f"Platt scaling takes the calibration error from {_range(known['ece_raw'])} to {_range(known['ece'])}." if len(known) else ""
    mine = bins[(bins["rule"] == harms["rule"].iloc[0]) & (bins["form"] == "calibrated")].dropna(subset=["ci_low", "ci_high"])
    if mine.empty:
        return f"{error} No bin of chances holds enough questions to be checked.".strip()
    kept = int(((mine["ci_low"] <= mine["p_harm"]) & (mine["p_harm"] <= mine["ci_high"])).sum())
    word = "nothing speaks against the chances" if kept == len(mine) else "not all chances can be trusted"
    return f"{error} {kept} of {len(mine)} bins of chances hold their promise within the interval: {word}.".strip()


def _range(values: pd.Series) -> str:
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low} to {high}"


def _discriminates(harms: pd.DataFrame) -> str:
    known = harms.dropna(subset=["auc", "auc_low", "auc_high"]).query("auc_low < auc_high")
    if known.empty:
        return "Whether the chances tell harmed questions from others is unknown: there are too few of a kind."
    above, below = int((known["auc_low"] > 0.5).sum()), int((known["auc_high"] < 0.5).sum())
    said = f"surely better than a coin in {none(above)} of {len(known)} cells" + (f", surely worse in {below}" if below else "")
    spread = f"AUC {_range(known['auc'])}; widest interval [{known['auc_low'].min():.2f}, {known['auc_high'].max():.2f}]"
    pooled = known.dropna(subset=["auc_pooled"])
    mixed = (f" Pairs across folds, each with its own model, would give {_range(pooled['auc_pooled'])}; such a share can fall far below a half though no gate "
             "is worse than a coin.") if len(pooled) else ""
    return f"To be calibrated is not to know: within folds the chances order harmed questions {said} ({spread}).{mixed}"


def rivals_words(rivals: pd.DataFrame, areas: pd.DataFrame) -> str:
    """Is the learned gate better than as many skips at random, the score gap and the six features? Intervals decide (gating_rivals, gating_areas)."""
    mine = rivals[(rivals["gate"] == LEARNED) & rivals["rule"].isin([COVERAGE, BUDGET])]
    if mine.empty:
        return NO_GATE
    out = []
    for rule, rows in mine.groupby("rule", sort=False):
        better, worse = rows[rows["over_low"] > 0], rows[rows["over_high"] < 0]
        said = [f"surely better in {len(better)} ({places(better)})"] * bool(len(better)) + [f"surely worse in {len(worse)} ({places(worse)})"] * bool(len(worse))
        most = rows.loc[rows["over_random"].abs().idxmax()]
        out.append(f"Against as many skips at random, {RULE_WORDS[rule]} is {listed(said) if said else 'not surely better anywhere'} of {len(rows)} cells; the largest "
                   f"difference is {change(most, 'over_random', ('over_low', 'over_high'))} ({places(most.to_frame().T)}).")
    return " ".join([*out, _knowledge(areas)]).strip()


def _knowledge(areas: pd.DataFrame) -> str:
    """What the learned gate knows of what an oracle knows, and whether a rival's interval lies apart from its own."""
    out = []
    for dataset, part in areas.dropna(subset=["knows", "ci_low"]).groupby("dataset", sort=False):
        gates = near(part).drop_duplicates("gate").set_index("gate")
        if LEARNED not in gates.index:
            continue
        row, rest = gates.loc[LEARNED], gates.drop(index=LEARNED)
        beaten = [g for g, r in rest.iterrows() if apart(_estimate(row), _estimate(r)) == "wins"]
        ahead = [g for g, r in rest.iterrows() if apart(_estimate(row), _estimate(r)) == "loses"]
        against = [f"surely more than {listed(beaten)}"] * bool(beaten) + [f"surely less than {listed(ahead)}"] * bool(ahead)
        out.append(f"On {named(dataset)} (K {row['k']}) it has {_share(row)} of an oracle's knowledge, where 0 is chance and 100{GAP}% all"
                   f"{'; ' + listed(against) if against else f'; none of {len(rest)} rivals is surely above or below it' if len(rest) else ''}"
                   f"{_others(rest)}.")
    return " ".join(out)


def _estimate(row: pd.Series) -> pd.Series:
    return row.rename({"knows": "estimate"})


def _share(row: pd.Series) -> str:
    return f"{signed(100 * row['knows'], 0)}{GAP}% [{signed(100 * row['ci_low'], 0)}, {signed(100 * row['ci_high'], 0)}]"


def _others(rest: pd.DataFrame) -> str:
    told = [f"{g} {_share(rest.loc[g])}" for g in ("score gap", "six features") if g in rest.index]
    return f" ({', '.join(told)})" if told else ""
