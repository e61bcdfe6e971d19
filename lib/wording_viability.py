"""What the viability audit says, in sentences built from its tables (notebook 07)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pandas as pd

from lib.chart_words import listed, signed
from lib.rerankers_compare import CROSS, LANGUAGE, NO_MODEL, kind_of
from lib.viability_verdict import FEWEST
from lib.wording import named, percent

NOTHING = "No question has a relevant passage named, so nothing can be audited: what a reranker is worth cannot be known without judgements."
UNRECORDED = "the model's outputs are not wholly on record (`python -m lib.record_rerankers` writes them)"
VERBS = {True: "gains", False: "loses"}


def viability_answer(slices: pd.DataFrame, verdicts: pd.DataFrame, firsts: Sequence[str]) -> str:
    """The bold answer, a sentence a data set and first stage: evidence in the pool, headroom, what each reranker makes of it, and the verdicts."""
    out, told = [], set()
    plain = slices[(slices["slice"] == "all") & (slices["gain"] == "exponential")]
    for (dataset, first), mine in (
        (key, plain[(plain["dataset"] == key[0]) & (plain["first_stage"] == key[1])]) for key in product(dict.fromkeys(plain["dataset"]), firsts)
    ):
        if len(mine):
            said = verdicts[(verdicts["dataset"] == dataset) & (verdicts["first_stage"] == first) & (verdicts["slice"] == "all")]
            out.append(_first_stage(dataset, first, mine, said, dataset not in told))
            told.add(dataset)
    return " ".join(out) or NOTHING


def _first_stage(dataset: str, first: str, rows: pd.DataFrame, verdicts: pd.DataFrame, told: bool) -> str:
    one = rows.drop_duplicates("measure").set_index("measure")
    met, room = one.loc["requirement_met"], one.loc["ordering_headroom"]
    head = f"On {named(dataset)} ({one.loc['base', 'n']} questions) a" if told else "A"
    share = f"{percent(met['estimate'])} of the pools hold the evidence asked for" if met["n"] else "no pool could hold the evidence asked for"
    said = f"{head} perfect order of the {first} list would add {_value(room)} nDCG@{rows['cutoff'].iloc[0]}, and {share}"
    gains = rows[(rows["measure"] == "realised_gain") & rows["estimate"].notna()].set_index("reranker")
    parts = [
        f"{_called(name)} {_verb(gains.loc[name])} {_value(gains.loc[name])} (verdict: {_verdict(verdicts, name)})"
        for name in sorted(gains.index, key=_model_first)
    ]
    return f"{said}. There {listed(parts)}." if parts else f"{said} (verdict: {_verdict(verdicts, 'none')})."


def _model_first(ranker: str) -> tuple[bool, str]:
    return kind_of(ranker) == NO_MODEL, ranker


def _called(ranker: str) -> str:
    return {NO_MODEL: "free fusion", CROSS: "the cross-encoder"}.get(kind_of(ranker), ranker.rpartition(" + ")[2])


def _verdict(verdicts: pd.DataFrame, reranker: str) -> str:
    return verdicts.loc[(verdicts["reranker"] == reranker) & (verdicts["gain"] == "exponential"), "verdict"].iloc[0]


def _verb(row: pd.Series) -> str:
    if pd.isna(row["ci_low"]) or row["ci_low"] <= 0 <= row["ci_high"] or row["n"] < FEWEST:
        return "is undecided at"
    return VERBS[row["ci_low"] > 0]


def _value(row: pd.Series) -> str:
    known = pd.notna(row["ci_low"])
    return signed(row["estimate"]) + (f" [{signed(row['ci_low'])}, {signed(row['ci_high'])}]" if known else "")


def left_out(*reasons: Mapping[str, str]) -> str:
    """A line for each reason why something could not be measured here, with what it leaves out; empty where nothing was left out.

    >>> left_out({"hybrid + reranker": "its weights are not here. Train it"}, {"rm3": "its weights are not here"})
    '- left out, since its weights are not here: hybrid + reranker, rm3'
    """
    by: dict[str, list[str]] = {}
    for name, why in ((n, w) for given in reasons for n, w in given.items()):
        by.setdefault(UNRECORDED if "in no layer of the store" in why else why.split(". ")[0].split("; ")[0], []).append(name)
    return "\n".join(f"- left out, since {why}: {', '.join(names)}" for why, names in by.items())


def repairs(table: pd.DataFrame) -> str:
    """What language models said that could not be used as it stood: malformed lists, contradictory preferences; or that none was asked."""
    rows = table[(table["kind"] == LANGUAGE) & (table["measure"] == "ndcg") & table["repaired"].notna()]
    said = [f"{r.ranker}: {int(r.repaired):,} of {int(r.repaired_calls):,} calls" for r in rows.itertuples()]
    if not said:
        return "No language model was read here, so no output had to be repaired."
    return f"Malformed or contradictory outputs that had to be repaired: {'; '.join(said)}."


def deepest(falls: pd.DataFrame) -> str:
    """Whether quality falls with depth, a sentence a data set and first stage."""
    out = []
    for r in falls[(falls["slice"] == "all") & (falls["measure"] == "realised")].itertuples():
        if r.verdict == "undefined" or pd.isna(r.delta):
            out.append(f"On {named(r.dataset)}, {r.ranker}: too few questions to ask whether deeper is worse.")
            continue
        change = f"{r.depth} candidates instead of {r.peak} change nDCG by {signed(r.delta)} [{signed(r.ci_low)}, {signed(r.ci_high)}] on half 1"
        corrected = f"{int(r.n)} questions, p {r.p_holm:.3f} after Holm's correction over the slices"
        out.append(f"On {named(r.dataset)}, {r.ranker}: {change} ({corrected}: {r.verdict}).")
    return " ".join(out)


def of_tray(rows: pd.DataFrame, cutoff: int, depth: int) -> str:
    """What a question's tray says, in a sentence.

    >>> of_tray(pd.DataFrame({"gold": [True, True], "rank": [2, None], "reranked": [1, None]}), 5, 50)
    '1 of 2 gold passages among the first 50; 1 of them is shown (the first 5).'
    """
    gold = rows[rows["gold"].astype(bool)]
    held, shown = int(gold["rank"].notna().sum()), int((gold["rank"].fillna(depth + 1) <= cutoff).sum())
    return f"{held} of {len(gold)} gold passages among the first {depth}; {shown or 'none'} of them {'is' if shown < 2 else 'are'} shown (the first {cutoff})."
