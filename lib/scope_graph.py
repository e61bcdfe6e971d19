"""Graph evidence in the scope map: the factorial of this run's chunks and claims, where both were packed (document 000, sections 4.3 and 5.0.0.3; SPEC 10)."""
from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd

from lib import factorial, wording
from lib.settings import SETTING


def packs(settings: pd.DataFrame, main: str) -> dict[str, str]:
    """{"chunk": main, "ace": its twin}: the pack that differs from ``main`` in nothing but the representation; empty where there is none."""
    made = {r.id: SETTING | json.loads(r.settings) for r in settings.itertuples() if r.kind == "pack"}
    base = made.get(main, SETTING)
    twins = [name for name, s in made.items() if s["representation"] == "ace" and all(s[k] == base[k] for k in base if k != "representation")]
    return {"chunk": main, "ace": twins[0]} if twins else {}


def table(questions: pd.DataFrame, survived: pd.DataFrame, outcomes: pd.DataFrame, twins: Mapping[str, str], budget: int, tier: str, resamples: int = 10_000,
          seed: int = 0) -> pd.DataFrame:
    """The factorial table at ``budget``: what survives packing (reader none), and F1 and EM for each reader that read both representations.

    No row where graph evidence was not packed.
    """
    at = survived[survived["budget"] == budget]
    if not twins or not set(twins.values()) <= set(at["pack_id"]):
        return pd.DataFrame(columns=factorial.FACTORIAL)
    made = [factorial.survival_factorial(questions, at, twins, tier, resamples=resamples, seed=seed)]
    read = outcomes[outcomes["em"].notna() & (outcomes["budget"] == budget) & outcomes["pack_id"].isin(list(twins.values())) & (outcomes["policy"] != "oracle")]
    for _, part in read.groupby(["reader", "precision"]):
        if set(twins.values()) <= set(part["pack_id"]):
            made.append(factorial.factorial(part, twins, ["f1", "em"], tier, resamples=resamples, seed=seed))
    return pd.concat(made, ignore_index=True)


def substitutes(rows: pd.DataFrame, treatment: str = "submod", control: str = "focused") -> str:
    """Whether packing and graph compression replace each other, a sentence a measure: the interaction over all data sets, with its interval."""
    here = rows[(rows["kind"] == "interaction") & (rows["half"] == "all") & (rows["control"] == f"{treatment} - {control}")]
    here = here[here["dataset"] == ("all" if (here["dataset"] == "all").any() else next(iter(here["dataset"]), ""))]
    said = {"loses": "they substitute each other", "wins": "they complement each other", "is undecided": "neither is shown"}
    parts = []
    for r in here.dropna(subset=["ci_low"]).itertuples():
        if r.metric in ("answer_in_context_defined", "f1"):
            who, found = "" if r.reader == "none" else f" ({r.reader})", said[wording.verdict(r.ci_low, r.ci_high)]
            parts.append(f"{r.metric}{who}: {wording.points(r.delta)} [{100 * r.ci_low:+.1f}, {100 * r.ci_high:+.1f}], {found}")
    return "; ".join(parts) or "graph evidence was not packed in this run"


def headroom(survived: pd.DataFrame, twins: Mapping[str, str], budget: int) -> pd.DataFrame:
    """Share of span questions whose answer each arm keeps, the two oracles (six and seven arms) last; a row a data set, empty without graph packs."""
    at = survived[(survived["budget"] == budget) & survived["answer_defined"].astype(bool)].assign(reader="none", precision="none")
    if not twins or not set(twins.values()) <= set(at["pack_id"]):
        return pd.DataFrame(columns=["dataset"])
    rows = factorial.arms(at, twins)
    rows = pd.concat([rows, factorial.oracles(rows)], ignore_index=True)
    wide = rows.pivot_table(index="dataset", columns="policy", values="answer_in_context", aggfunc="mean", sort=False)
    return wide[[p for p in (*factorial.SEVEN, *factorial.ORACLES) if p in wide]].reset_index()
