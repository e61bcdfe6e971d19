"""Document 000's contrasts, policy tables and ladder beside this run's rungs (its sections 5 and 6.5, Tables 5, 6, 8 and 9; data/published/claims.csv).

A published figure of a reader is judged only by that reader in that number format. Where it was not run, the nearest of our rungs stands beside it, unjudged:
the largest NF4 rung for NF4, else the largest rung that is not NF4. What holds before any reader (coverage, answer-in-context) is judged on every tier.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import claims, diagnostics, ladder_rungs, summaries
from lib.counterparts import NotRun, Run, data_set, resolve
from lib.tables import TABLES

MEASURES = ("f1", "em", "answer_in_context", "answer_in_context_defined", "gold_coverage", "all_gold_in_context", "n_tokens")
OWN = "3b_|7b_|14b_|seed42_"  # claims of Tables 5, 6, 8 and 9 and of section 5's contrasts
RANGE = {"submod_minus_naive_every_rung_low": min, "submod_minus_naive_every_rung_high": max}
GIGABYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "nf4": 0.6}  # a thousand million parameters, weights alone
STALE = "reader ladder: "  # how the register's pointer to this notebook begins
Rung = tuple[str, str]


def claimed() -> pd.DataFrame:
    """The rows of claims.csv that the ladder answers: every figure of the two published files on contrasts and policies, and the range over rungs."""
    facts = claims.published()
    return facts[facts["claim"].str.match(OWN) | facts["claim"].isin(RANGE)].reset_index(drop=True)


def frames(rows: pd.DataFrame, packing: pd.DataFrame, tier: str, policies: Sequence[str], pairs: Sequence[tuple[str, str]], resamples: int = 10_000,
           seed: int = 0) -> dict[str, pd.DataFrame]:
    """The tables in which ours are looked up: outcomes of the rungs (the oracle among them), their means and contrasts, and notebook 02's packing table."""
    outcomes = pd.concat([rows, diagnostics.oracle(rows, list(policies))], ignore_index=True)
    return {"outcomes": outcomes, "packing": packing, "policies": summaries.means(outcomes, MEASURES, tier, resamples, seed),
            "contrasts": summaries.contrasts(rows, pairs, ("f1", "em"), tier, resamples, seed)}


def partners(tables: Mapping[str, pd.DataFrame], ladder: pd.DataFrame, tier: str) -> pd.DataFrame:
    """The table ``ladder_partners``: a row a published figure, ours beside it, and the verdict or why there is none.

    ``tables`` from ``frames``, ``ladder`` from `lib.ladder`. Verdicts: reproduced, differs, inconclusive (`claims.verdict`), other reader, not run.
    """
    outcomes = tables["outcomes"]
    rungs = ladder_rungs.ordered([*map(tuple, outcomes[["reader", "precision"]].drop_duplicates().to_numpy())])
    pack = outcomes.loc[outcomes["policy"] != "closed_book", "pack_id"].iloc[0]
    named = {name: table.rename(columns=claims.ESTIMATES.get(name, {})) for name, table in tables.items()}
    fixed = claims.plan()
    made = [_row(c, tier, {r: Run(named, *r, pack, fixed) for r in rungs}, ladder) for c in claimed().itertuples()]
    return pd.DataFrame(made, columns=list(TABLES["ladder_partners"].columns))


def _row(c, tier: str, runs: Mapping[Rung, Run], ladder: pd.DataFrame) -> dict:
    blank = {"claim": c.claim, "tier": tier, "label": c.label, "source": c.source, "published": c.published, "published_low": c.published_low,
             "published_high": c.published_high, "reader_needed": c.reader_needed or pd.NA, "compared_with": pd.NA, "reader": pd.NA, "ours": np.nan,
             "ci_low": np.nan, "ci_high": np.nan, "n": pd.NA, "verdict": "not run"}
    notes = [n for n in c.note.removeprefix("one end of a range: ").split("; ") if n and not n.startswith(STALE)]
    rung = _rung(c.reader_needed, list(runs))
    run = runs[rung]
    try:
        dataset = data_set(c.dataset, run)
        stand_in = [] if dataset == c.dataset else [f"compared with {dataset}, a stand-in for {c.dataset}: other questions"]
        if c.claim in RANGE:
            told = "; ".join([*stand_in, *notes, "this run's rungs, not the published ones"])
            return blank | _end(c, dataset, ladder) | {"compared_with": dataset, "note": told}
        if c.table == "none":
            raise NotRun("graph evidence is not read on this ladder" if "ace" in c.claim else "no counterpart")
        where = dict(c.where) | ({"reader": rung[0], "precision": rung[1]} if "reader" in c.where else {})
        found = resolve(c.table, where, dataset, c.claim, run)
    except NotRun as reason:
        why = [str(reason), needs(c.reader_needed)] if c.reader_needed and not _same(rung, c.reader_needed) else [str(reason)]
        return blank | {"note": "; ".join([*why, *[n for n in notes if "later part" not in n]])}
    same = not c.reader_needed or _same(rung, c.reader_needed)
    notes = [*([] if same else [needs(c.reader_needed)]), *stand_in, *notes]
    told = claims.verdict(c.published, found["ci_low"], found["ci_high"], c.effect) if same else "other reader"
    return blank | {"compared_with": dataset, "reader": " ".join(rung) if c.reader_needed else pd.NA, "ours": found["estimate"], "ci_low": found["ci_low"],
                    "ci_high": found["ci_high"], "n": int(found["n"]), "verdict": told, "note": "; ".join(notes) or pd.NA}


def _rung(needed: str, rungs: Sequence[Rung]) -> Rung:
    """The rung that answers a claim: the reader it needs, else the largest of its kind of number format, else the largest."""
    same = [r for r in rungs if needed and _same(r, needed)]
    sized = [r for r in rungs if ladder_rungs.billions(r[0]) == ladder_rungs.billions(r[0])] or list(rungs)
    alike = [r for r in sized if (r[1] == ladder_rungs.FOUR_BIT) == needed.endswith(ladder_rungs.FOUR_BIT)] or sized
    biggest = max(ladder_rungs.billions(r[0]) for r in alike) if len(alike) > 1 else None
    return (same or [r for r in alike if biggest is None or ladder_rungs.billions(r[0]) == biggest] or alike)[0]


def _same(rung: Rung, needed: str) -> bool:
    wanted, precision = needed.split()
    return rung[1] == precision and rung[0].lower().startswith(f"{wanted.lower()}-instruct")


def _end(c, dataset: str, ladder: pd.DataFrame) -> dict:
    """The lowest or highest submod - naive of our rungs on F1; NotRun where that contrast was not read."""
    part = ladder[(ladder["dataset"] == dataset) & (ladder["kind"] == "contrast") & (ladder["policy"] == "submod") & (ladder["control"] == "naive")
                  & (ladder["quantity"] == "f1")].dropna(subset=["estimate", "ci_low"])
    if part.empty:
        raise NotRun("submod and naive were not both read")
    value = RANGE[c.claim](part["estimate"])
    at = part[part["estimate"] == value].iloc[0]
    return {"reader": f"{at['reader']} {at['precision']}", "ours": at["estimate"], "ci_low": at["ci_low"], "ci_high": at["ci_high"], "n": int(at["n"]),
            "verdict": "other reader"}


def needs(reader: str) -> str:
    """What it takes to run a published reader, in words.

    >>> needs("Qwen2.5-7B fp16")
    'needs Qwen2.5-7B fp16, a GPU (14 GB for the weights alone) and the hub: make paper'
    """
    model, precision = reader.split()
    return f"needs {reader}, a GPU ({round(ladder_rungs.billions(model) * GIGABYTES[precision])} GB for the weights alone) and the hub: make paper"


def published_ladder() -> pd.DataFrame:
    """Document 000's rungs: reader, precision, billions, policy, control, estimate, ci_low, ci_high (F1; missing where not printed).

    submod - focused is Table 5; submod - naive of 3B is printed with an interval (section 5), of 7B and 14B it is a difference of means of Tables 8 and 9.
    """
    facts = claims.published().set_index("claim")
    rows = []
    for name, claim in (("3B fp16", "3b"), ("7B fp16", "7b"), ("7B nf4", "7b_nf4"), ("14B nf4", "14b")):
        one = facts.loc[f"{claim}_submod_minus_focused_f1"]
        size, precision = name.split()
        rows.append((f"Qwen2.5-{size}", precision, float(size[:-1]), "submod", "focused", one["published"], one["published_low"], one["published_high"]))
    three = facts.loc["3b_submod_minus_naive_f1"]
    rows.append(("Qwen2.5-3B", "fp16", 3.0, "submod", "naive", three["published"], three["published_low"], three["published_high"]))
    for size, precision in (("7b", "fp16"), ("14b", "nf4")):
        delta = facts.loc[f"{size}_submod_f1", "published"] - facts.loc[f"{size}_naive_f1", "published"]
        rows.append((f"Qwen2.5-{size.upper()}", precision, float(size[:-1]), "submod", "naive", delta, np.nan, np.nan))
    return pd.DataFrame(rows, columns=["reader", "precision", "billions", "policy", "control", "estimate", "ci_low", "ci_high"]).astype({"estimate": float})
