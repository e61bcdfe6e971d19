"""Sentences on the waterfall, built from the tables ``waterfall`` and ``waterfall_marks`` (SPEC 7)."""
from __future__ import annotations

import pandas as pd

from lib.wording import NAMES, lead, named, percent, verdict


def chains(table: pd.DataFrame, reader: str, outcome: str = "em", part: str = "all") -> pd.DataFrame:
    """The chain (or its marks) of the leading packer that ``reader`` read, one a data set, over ``part`` of the questions; none where nothing is defined.

    Raises ValueError where a data set has several, which no sentence could tell apart.
    """
    rows = table[(table["reader"] == reader.split("/")[-1]) & (table["outcome"] == outcome) & (table["slice"] == part)]
    rows = rows.dropna(subset=["share" if "share" in rows else "estimate"])
    rows = rows[rows["policy"] == lead(list(rows["policy"].unique()))] if len(rows) else rows
    arms = rows.drop_duplicates(["dataset", "pack_id", "budget", "precision"])
    if arms["dataset"].duplicated().any():
        raise ValueError(f"{reader} has several chains on one data set: {arms[['dataset', 'pack_id', 'budget', 'precision']].to_dict('records')}; keep one")
    return rows


def losses(stages: pd.DataFrame) -> dict[str, int]:
    """Points lost at each stage of one chain, as differences of the rounded shares, so that they add up to what is printed.

    >>> losses(pd.DataFrame({"stage": ["pool", "context"], "order": [2, 3], "share": [0.804, 0.5]}))
    {'pool': 20, 'context': 30, 'right': 50}
    """
    alive = (100 * stages.sort_values("order").set_index("stage")["share"]).round().astype(int)
    return {stage: int(points) for stage, points in (alive.shift(fill_value=100) - alive).items()} | {"right": int(alive.iloc[-1])}


def loss_answer(waterfall: pd.DataFrame, conditional: pd.DataFrame, reader: str) -> str:
    """Where one arm (submodular where it was read) loses its answers, and what answer-in-context separates, a sentence a data set."""
    out, short = [], reader.split("/")[-1]
    for dataset, part in chains(waterfall, reader).groupby("dataset"):
        gone = losses(part)
        here = (conditional["dataset"] == dataset) & (conditional["reader"] == short) & (conditional["measure"] == "f1")
        split = conditional[here].set_index("holds")["estimate"]
        absent = "it does not" if 1 in split else "the answer does not stand in the context"
        sides = [f"{split[h]:.2f} where {said}" for h, said in ((1, "the answer stands in the context"), (0, absent)) if h in split]
        packer = f"with {NAMES.get(part['policy'].iloc[0], part['policy'].iloc[0])} at {part['budget'].iloc[0]} tokens"
        out.append(f"On {named(dataset)}, {packer}, of 100 answers to span questions {gone['corpus']} never stand verbatim in the passages, "
                   f"{gone['pool']} are lost in retrieval, {gone['context']} in packing and {gone['read']} in reading; {gone['right']} are answered exactly from the context."
                   + (f" Over the packers compared, mean F1 is {' and '.join(sides)}." if sides else ""))
    return " ".join(out) or "No question has an answer whose survival is defined: there is no chain of losses to show."


def partly_right(waterfall: pd.DataFrame, reader: str) -> str:
    """What the loss in reading holds: the second waterfall counts answers that share words with the gold one by their F1, a sentence a data set."""
    out, by_f1 = [], chains(waterfall, reader, "f1").set_index(["dataset", "stage"])["share"]
    for dataset, part in chains(waterfall, reader).groupby("dataset"):
        share, packer = part.set_index("stage")["share"], part["policy"].iloc[0]
        out.append(f"On {named(dataset)} {percent(share['context'])} of the answers stand in the context ({NAMES.get(packer, packer)}): "
                   f"{percent(share['read'])} are given exactly, and counted by F1, which pays for shared words, {percent(by_f1[dataset, 'read'])} come out.")
    return " ".join(out)


def beside_answer(waterfall: pd.DataFrame, marks: pd.DataFrame, reader: str) -> str:
    """The marks beside the chain, a sentence a data set: rank order against packing, and what was right without the answer."""
    out, beside = [], chains(marks, reader).set_index(["dataset", "mark"])
    for dataset, part in chains(waterfall, reader).groupby("dataset"):
        context, packer = part.set_index("stage").loc["context"], part["policy"].iloc[0]
        said = []
        if (dataset, "first_stage_order") in beside.index:
            ranked = beside.loc[(dataset, "first_stage_order")]
            # from separate intervals, which is stricter than a paired one
            meet = verdict(context["ci_low"] - ranked["ci_high"], context["ci_high"] - ranked["ci_low"]) == "is undecided"
            said.append(f"{NAMES.get(packer, packer)} keeps {percent(context['share'])} of the answers where documents in rank order, cut at the same "
                        f"{part['budget'].iloc[0]} tokens, keep {percent(ranked['estimate'])} (their intervals {'meet' if meet else 'lie apart'})")
        without = beside.loc[(dataset, "right_without_answer")]
        said.append(f"{percent(without['estimate'])} come out right although the answer does not stand in the context")
        out.append(f"On {named(dataset)} {'; '.join(said)}.")
    return " ".join(out)
