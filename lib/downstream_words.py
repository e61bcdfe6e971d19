"""What the lists left in the context, in sentences built from the tables, and one question whose ranking rose and whose answer was lost (notebook 07)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lib.chart_words import signed, verdict
from lib.downstream import BEST, OWN, kind
from lib.downstream_gains import TINY, told
from lib.downstream_reading import left_unread
from lib.downstream_sets import Made
from lib.ranking import QUESTION
from lib.rerankers_compare import CROSS, NO_MODEL
from lib.viability_verdict import LEVEL
from lib.wording import named, percent, points

SHOWN = ["ranker", "ndcg", "answer_in_list", "answer_in_context", "gold_coverage", "context"]
NOTHING = "No list was packed, so nothing can be said of what survives."
FINDINGS = {  # (nDCG, answers in the context) -> what the list does
    ("wins", "wins"): "{} ranks better, and more answers reach the context",
    ("wins", "undecided"): "{} ranks better; whether more answers reach the context is undecided",
    ("wins", "loses"): "{} ranks better and loses answers on the way",
    ("undecided", "wins"): "{} shows no gain in nDCG, yet more answers reach the context",
    ("undecided", "undecided"): "what {} does to ranking and answers is undecided",
    ("undecided", "loses"): "{} shows no loss in nDCG, yet fewer answers reach the context",
    ("loses", "wins"): "{} ranks worse, yet more answers reach the context",
    ("loses", "undecided"): "{} ranks worse; whether fewer answers reach the context is undecided",
    ("loses", "loses"): "{} ranks worse, and fewer answers reach the context",
}


def decided(row: pd.Series) -> str:
    """wins, loses or undecided: the interval lies on one side of 0, and p after Holm is below 0.05.

    >>> decided(pd.Series({"ci_low": 0.01, "ci_high": 0.05, "p_holm": 0.2}))
    'undecided'
    """
    return verdict(row["ci_low"], row["ci_high"]) if row["p_holm"] < LEVEL else "undecided"


def main_list(contrasts: pd.DataFrame, dataset: str, first: str) -> str | None:
    """The list that stands for a first stage's rerankers: a model's, else the fusion, else none."""
    there = contrasts.loc[(contrasts["dataset"] == dataset) & (contrasts["first_stage"] == first), "ranker"].unique()
    return next((r for wanted in (CROSS, NO_MODEL) for r in sorted(there) if kind(r) == wanted), None)


def finding(contrasts: pd.DataFrame, ranker: str, packer: str, depth: int) -> str:
    """One clause on one list of one data set: its ranking and its answers; empty where one of the two is not known."""
    rows = told(contrasts[contrasts["ranker"] == ranker], ("ndcg", "answer_in_context"), (packer,), depth).set_index("measure")
    if not {"ndcg", "answer_in_context"} <= set(rows.index) or rows["ci_low"].isna().any():
        return ""
    return FINDINGS[tuple(decided(rows.loc[m]) for m in ("ndcg", "answer_in_context"))].format(ranker)


def answer(contrasts: pd.DataFrame, firsts: Sequence[str], packer: str, depth: int) -> str:
    """A sentence a data set and first stage: its main list against it in nDCG, answers in the context and F1, and what its best order would give."""
    out = []
    for dataset in dict.fromkeys(contrasts["dataset"]):
        mine = contrasts[contrasts["dataset"] == dataset]
        for first in firsts:
            ranker = main_list(mine, dataset, first)
            if said := finding(mine, ranker, packer, depth) if ranker else "":
                out.append(
                    f"On {named(dataset)} {said}: {_values(mine, ranker, packer, depth)}; the best order of its pool would give "
                    f"{_values(mine, f'{first} + {BEST}', packer, depth)}."
                )
    return " ".join(out) or NOTHING


def _values(contrasts: pd.DataFrame, ranker: str, packer: str, depth: int) -> str:
    """nDCG −0.044 [−0.070, −0.018], answers −2.4 points [...], n = 165."""
    said = []
    for measure, called in (("ndcg", "nDCG"), ("answer_in_context", f"answers after {packer}"), ("f1", f"F1 after {packer}")):
        for _, r in told(contrasts[contrasts["ranker"] == ranker], (measure,), (packer,), depth).dropna(subset=["ci_low"]).iterrows():
            shown = points if measure == "answer_in_context" else signed
            ends = [shown(r[c]).removesuffix(" points") for c in ("ci_low", "ci_high")]
            said.append(f"{called} {shown(r['delta'])} [{', '.join(ends)}], n = {r['n']}")
    return ", ".join(said)


def signs_table(signs: pd.DataFrame, ranker: str, packer: str, measure: str = "answer_in_context") -> pd.DataFrame:
    """The nine cells of one list as a table: rows the sign of nDCG, columns that of the measure, questions in it."""
    rows = signs[(signs["ranker"] == ranker) & (signs["packer"] == packer) & (signs["measure"] == measure)]
    order = {"rose": 0, "same": 1, "fell": 2}
    grid = rows.pivot(index=["dataset", "ranking"], columns="outcome", values="questions").reindex(columns=list(order))
    grid = grid.sort_index(level="ranking", key=lambda names: names.map(order), sort_remaining=False).rename_axis(columns=None).reset_index()
    return grid.rename(columns={"ranking": "nDCG", **{sign: f"{measure} {sign}" for sign in order}})


def lost(agreement: pd.DataFrame, ranker: str, packer: str, measure: str = "answer_in_context") -> str:
    """A sentence a data set: of the questions whose nDCG rose, how many lost, kept and won; and the rank correlation."""
    rows, out = agreement[(agreement["ranker"] == ranker) & (agreement["packer"] == packer) & (agreement["measure"] == measure)], []
    for dataset, part in rows.groupby("dataset", sort=False):
        one = part.set_index("quantity")
        if not one.loc["rose_lost", "n"]:
            out.append(f"On {named(dataset)} nDCG rose on no question under {ranker}.")
            continue
        shares = [
            f"{percent(one.loc[q, 'estimate'])} {what}" for q, what in (("rose_rose", "gained"), ("rose_same", "stayed as they were"), ("rose_lost", "lost"))
        ]
        full = f" ({percent(one.loc['rose_full', 'estimate'])} had nothing left to gain)"
        r = one.loc["rank_correlation"]
        tied = (
            f" Rank correlation of the two gains: {signed(r['estimate'], 2)} [{signed(r['ci_low'], 2)}, {signed(r['ci_high'], 2)}], n = {r['n']}."
            if pd.notna(r["ci_low"])
            else ""
        )
        out.append(
            f"On {named(dataset)} nDCG rose on {one.loc['rose_lost', 'n']} questions under {ranker}; on {measure} after {packer} "
            f"{', '.join(shares)}{full}.{tied}"
        )
    return " ".join(out) or f"Of {ranker} nothing is known on {measure} after {packer}."


def example(outcomes: pd.DataFrame, texts: pd.DataFrame, questions: pd.DataFrame, firsts: Sequence[str], packer: str, depth: int) -> tuple[str, pd.DataFrame]:
    """(one sentence, the two packs) of the first question whose nDCG rose and whose answer was lost; else of the first whose nDCG rose.

    Data sets in their order, in each the main list of each first stage, in that questions by id.
    """
    rows = outcomes[(outcomes["packer"] == packer) & (outcomes["depth"] == depth) & (outcomes["order"] == OWN)]
    pairs = [(d, first, main_list(rows, d, first)) for d in dict.fromkeys(rows["dataset"]) for first in firsts]
    rose = [found for pair in pairs if pair[2] and len(found := _rose(rows, *pair))]
    fell = [part for found in rose if len(part := found[found["answer_in_context_after"] < found["answer_in_context"]])]
    if not rose:
        return "On no question does a list raise nDCG over its first stage.", pd.DataFrame(columns=SHOWN)
    one = (fell or rose)[0].iloc[0]
    q = questions[(questions[QUESTION] == one[QUESTION]).all(axis=1)].iloc[0]
    said = "and its answer was lost" if fell else "(no answer was lost by a better ranking here)"
    pack = rows[(rows[QUESTION] == one[QUESTION]).all(axis=1) & rows["ranker"].isin([one["ranker"], one["ranker_after"]])]
    shown = pack.merge(texts, on=[*QUESTION, "context_hash"], how="left").sort_values("ranker", key=lambda names: names != one["ranker"])
    return f"{q['question']} ({' / '.join(q['answers'])}): under {one['ranker_after']} its ranking rose {said}.", shown[SHOWN].reset_index(drop=True)


def _rose(rows: pd.DataFrame, dataset: str, first: str, ranker: str) -> pd.DataFrame:
    """The questions whose nDCG rose, by id: the first stage's row, and the list's with ``_after``."""
    mine = rows[rows["dataset"] == dataset]
    both = mine[mine["ranker"] == first].merge(mine[mine["ranker"] == ranker], on=QUESTION, suffixes=("", "_after")).sort_values("qid")
    return both[both["ndcg_after"] > both["ndcg"] + TINY]


def unread(made: Made, depth: int) -> str:
    """What the reader was asked and what was left, and the packers that could not run, with their reasons."""
    read = made.outcomes["reader"] != "none" if len(made.outcomes) else pd.Series(dtype=bool)
    said = (
        [left_unread(made.outcomes, read, depth)]
        if read.any()
        else ["No reader was asked: what follows stops at the context."]
        if len(made.outcomes)
        else [NOTHING]
    )
    return " ".join([*said, *(f"{name} is left out: {why}." for name, why in made.left_out.items())])
