"""Does a gate keep its promise of harm, and does it know more than chance? In sentences built from its tables (notebook 07; document 002; SPEC 12)."""
from __future__ import annotations

import pandas as pd

from lib.chart_words import GAP, apart, listed, percent, signed
from lib.gating_checks import CLAIMED, HELD_OUT, HONEST, SAME
from lib.gating_harm import FEW
from lib.gating_rivals_table import LEARNED
from lib.gating_words import BUDGET, COVERAGE, NO_GATE, RULE_WORDS, change, many, near, none, paragraphs, places
from lib.gating_words_idle import refused_everywhere
from lib.wording import named

WAYS = {HELD_OUT: "on held-out questions, still with the oracle,", SAME.format("H"): "the same skips with H", SAME.format("D"): "with D"}


def promise_words(harms: pd.DataFrame, bins: pd.DataFrame) -> str:
    """Expected against realised harm, calibration, and whether the chances tell questions apart (gating_harm, gating_reliability)."""
    budgets = harms.dropna(subset=["budget"]) if len(harms) else harms
    if budgets.empty:
        return "There is nothing to tell: no budget of harm was promised here."
    out = []
    unspent = (budgets["expected"] == 0) & (budgets["realised"] == 0)  # a chance of harm is never 0, so what promised none skipped none
    if unspent.all():
        out.append("Nothing was skipped under any budget, so none was spent.")
    for budget, rows in () if unspent.all() else budgets.groupby("budget"):
        if unspent[rows.index].all():
            out.append(f"Under the {budget:g}{GAP}pp budget nothing was skipped, so none of it was spent.")
            continue
        over, surely = int((rows["realised"] > rows["expected"]).sum()), int((rows["excess_low"] > 0).sum())
        broken = f"more than promised in {over} of {many(len(rows))}, {none(surely)} surely" if over else f"more than promised in none of {many(len(rows))}"
        kept = int(rows["in_budget"].eq(True).sum())
        out.append(f"The {budget:g}{GAP}pp budget promised {rows['expected'].mean():.2f}{GAP}pp of harm on average, and {rows['realised'].mean():.2f} came: "
                   f"{broken}; within the budget in {none(kept)}.{_added_up(rows)}")
    one = budgets[budgets["rule"] == BUDGET] if (budgets["rule"] == BUDGET).any() else budgets
    return paragraphs([*out, _calibrated(one, bins), _discriminates(one)])


def _added_up(rows: pd.DataFrame) -> str:
    """Promised and realised harm of several cells together, in questions: what no cell shows surely, all may."""
    if len(rows) < 2:
        return ""
    promised, came = (float((rows[c] * rows["n"]).sum() / 100) for c in ("expected", "realised"))
    return f" Added up, {promised:.1f} harmed questions were promised and {came:.0f} came (the K of a data set share questions)."


def _calibrated(harms: pd.DataFrame, bins: pd.DataFrame) -> str:
    known = harms.dropna(subset=["ece", "ece_raw"])
    error = f"Platt scaling takes the calibration error from {_range(known['ece_raw'])} to {_range(known['ece'])}" if len(known) else ""
    error = error and f"{error} (much of the first is that the model may have learned *the fallback has it*, whose chance bounds harm from above)."
    rows = bins if bins.empty else bins[(bins["rule"] == harms["rule"].iloc[0]) & (bins["form"] == "calibrated")]
    mine = rows if rows.empty else rows[rows["questions"] >= FEW].dropna(subset=["p_harm", "ci_low", "ci_high"])
    if mine.empty:
        return f"{error} No bin of chances holds enough questions to be checked.".strip()
    kept = sum(holds(r) for _, r in mine.iterrows())
    word = "no bin speaks against the chances" if kept == len(mine) else "not all chances can be trusted"
    return f"{error} In {none(kept)} of {many(len(mine), 'bin')} of {FEW} questions or more the interval holds the promise: {word}.".strip()


def holds(row: pd.Series) -> bool:
    """Whether a bin's interval holds its promise.

    >>> holds(pd.Series({"p_harm": 0.2, "ci_low": 0.0, "ci_high": 0.41}))
    True
    """
    return bool(row["ci_low"] <= row["p_harm"] <= row["ci_high"])


def _range(values: pd.Series) -> str:
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low}–{high}"


def _discriminates(harms: pd.DataFrame) -> str:
    known = harms.dropna(subset=["auc", "auc_low", "auc_high"]).query("auc_low < auc_high")
    if known.empty:
        return "Whether the chances tell harmed questions from others is unknown: there are too few of a kind."
    above, below = int((known["auc_low"] > 0.5).sum()), int((known["auc_high"] < 0.5).sum())
    said = f"surely better than a coin in {none(above)} of {many(len(known))}" + (f", surely worse in {below}" if below else "")
    spread = f"AUC {_range(known['auc'])}; the intervals span {known['auc_low'].min():.2f} to {known['auc_high'].max():.2f}"
    pooled = known.dropna(subset=["auc_pooled"])
    mixed = f" With pairs across folds it would be {_range(pooled['auc_pooled'])}." if len(pooled) else ""
    return f"To be calibrated is not to know: the chances order harmed questions {said} ({spread}).{mixed}"


def rivals_words(rivals: pd.DataFrame, areas: pd.DataFrame) -> str:
    """Is the learned gate better than as many skips at random, the score gap and the six features? Intervals decide (gating_rivals, gating_areas)."""
    mine = rivals if rivals.empty else rivals[(rivals["gate"] == LEARNED) & rivals["rule"].isin([COVERAGE, BUDGET])]
    if mine.empty:
        return NO_GATE
    if not (mine["skip"] > 0).any():
        return paragraphs(["Nothing was skipped, so no rival is beaten.", *_knowledge(areas)])
    out = []
    for rule, rows in mine.groupby("rule", sort=False):
        if not (rows["skip"] > 0).any():
            out.append(f"{_upper(RULE_WORDS[rule])} skipped nothing, so it beats no rival.")
            continue
        better, worse = rows[rows["over_low"] > 0], rows[rows["over_high"] < 0]
        said = [f"surely {word} in {len(cells)} ({places(cells)})" for word, cells in (("better", better), ("worse", worse)) if len(cells)]
        most = rows.iloc[int(rows["over_random"].abs().fillna(0).argmax())]
        out.append(f"Against as many skips at random, {RULE_WORDS[rule]} is {listed(said or ['surely better in none'])} of {many(len(rows))}; the largest "
                   f"difference is {change(most, 'over_random', ('over_low', 'over_high'))} ({places(most.to_frame().T)}).")
    return paragraphs([*out, *_knowledge(areas)])


def _knowledge(areas: pd.DataFrame) -> list[str]:
    """What the learned gate knows of what an oracle knows, which rivals surely know something, and whose interval lies apart from its own; a data set each."""
    out = []
    for dataset, part in areas.dropna(subset=["knows", "ci_low"]).groupby("dataset", sort=False) if len(areas) else ():
        mine = near(part[part["rule"] == BUDGET] if (part["rule"] == BUDGET).any() else part)
        gates = mine.drop_duplicates("gate").set_index("gate")
        if LEARNED not in gates.index:
            continue
        row, rest = gates.loc[LEARNED], gates.drop(index=LEARNED)
        beaten = [g for g, r in rest.iterrows() if apart(_estimate(row), _estimate(r)) == "wins"]
        ahead = [g for g, r in rest.iterrows() if apart(_estimate(row), _estimate(r)) == "loses"]
        told = [f"surely {word}: {listed(names)}" for word, names in (("less", beaten), ("more", ahead)) if names]
        told = told or ([f"none of {many(len(rest), 'rival')} surely more or less"] if len(rest) else [])
        some = [g for g, r in gates.iterrows() if r["ci_low"] > 0]
        out.append(f"On {named(dataset)} (K {row['k']}) the learned gate knows {_share(row)} of what an oracle knows"
                   f"{''.join(f'; {part}' for part in told)}. Surely more than chance: {listed(some) if some else 'no gate'}.")
    return out


def _estimate(row: pd.Series) -> pd.Series:
    return row.rename({"knows": "estimate"})


def _share(row: pd.Series) -> str:
    return f"{signed(100 * row['knows'], 0)}{GAP}% [{signed(100 * row['ci_low'], 0)}, {signed(100 * row['ci_high'], 0)}]"


def lossless_words(lossless: pd.DataFrame, cells: pd.DataFrame | None = None, k: int = 5) -> str:
    """The retracted figure made again, beside what the same skips cost with a fallback that can be run, a point a data set (gating_lossless).

    ``cells`` (gating_cells) tells folds that refused, since no training question was harmed, from an oracle that found no lossless threshold.
    """
    out = []
    for dataset, part in near(lossless, k).groupby("dataset", sort=False) if len(lossless) else ():
        rows = part.set_index("how")
        if CLAIMED not in rows.index or not rows.loc[CLAIMED, "skip"] > 0:
            out.append(f"On {named(dataset)} (K {part['k'].iloc[0]}) {_nothing(refused_everywhere(cells, dataset, part['k'].iloc[0]))}")
            continue
        told = [f"{said} {change(rows.loc[how])}" for how, said in WAYS.items() if how in rows.index]
        honest = [f" Chosen and run honestly, a lossless rule skips {percent(r['skip'])} at {change(r)}." for h, r in rows.iterrows() if h == HONEST]
        out.append(f"On {named(dataset)} (K {part['k'].iloc[0]}) the old recipe claims {percent(rows.loc[CLAIMED, 'skip'])} of the calls saved at "
                   f"{signed(rows.loc[CLAIMED, 'delta'], 1)}{GAP}pp. {_upper('; '.join(told))}. {_lost(rows)}{''.join(honest)}")
    return paragraphs(out) or NO_GATE


def _nothing(refused: bool) -> str:
    if refused:
        return "no training question was harmed, so every fold refused and the old recipe claims nothing."
    return "the old recipe claims nothing: the oracle's choice of fallback harmed no training question, and such a fold refuses, or no threshold was lossless."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lost(rows: pd.DataFrame) -> str:
    """What is left without the oracle, by the intervals of the same skips with H and with D."""
    run = rows.reindex([SAME.format("H"), SAME.format("D")]).dropna(subset=["ci_low", "ci_high"])
    ends = {"it surely costs": run["ci_high"] < 0, "it surely gains, so the list alone beats the reranker": run["ci_low"] > 0,
            "it is undecided": (run["ci_low"] <= 0) & (run["ci_high"] >= 0)}
    told = [f"with {listed([how[-1] for how in run.index[here]])} {said}" for said, here in ends.items() if here.any()]
    return f"What looked free: {'; '.join(told)}." if told else "What the skips cost without the oracle is unknown."


def leaks_words(leaks: pd.DataFrame) -> str:
    """Did a decision move when held-out questions exchanged their labels, and was the planted leak seen? (gating_leaks)"""
    if leaks.empty:
        return "There is nothing to tell: no gate was asked twice."
    out = []
    for decider, rows in leaks.groupby("decider", sort=False):
        asked, planted = rows.dropna(subset=["caught"]), decider != "protocol"
        moved = int((rows["skip_moved"] + rows["fallback_moved"] + rows["p_harm_moved"]).sum())
        name = f"the planted leak ({decider})" if planted else "the protocol"
        if asked.empty:
            out.append(f"No label of a held-out question changed, so {name} was not tested.")
        elif planted:
            caught = int(asked["caught"].astype(bool).sum())
            seen = "so the check sees what it should" if caught == len(asked) else "so the check is partly blind" if caught else "so the check is blind here"
            out.append(f"{_upper(name)} was caught in {none(caught)} of {many(len(asked), 'fold')} ({moved:,} of its values moved), {seen}.")
        else:
            verdict = f"moved {many(moved, 'value')}: it **has seen labels**" if moved else "moved no skip, no fallback and no chance: it has not looked"
            out.append(f"{many(asked['labels_moved'].sum(), 'held-out question')} exchanged labels, and {name} "
                       f"({many(asked['decisions'].sum(), 'decision')}) {verdict}.")
    return " ".join(out)
