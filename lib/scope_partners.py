"""Document 000's figures on the scope of its win beside ours: budget sweep (Table 7), unlock (Table 4), sections 3.4, 6.1 to 6.4 (data/published/claims.csv).

What notebook 04's register answered stands as it stands there; what it left open is looked up in the scope map's own tables. A figure that this run cannot
have says why.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from lib import claims, stats
from lib.counterparts import NotRun, Run, data_set
from lib.tables import TABLES

OWN = re.compile(r"budget\d+_|unlock_|submod160_|2wiki_|musique_|covidqa|expertqa|submod_minus_naive_every_budget|r_(2wiki|musique|ragbench)")
EFFECTS = {"unlock_ace": 0.042, "musique_ace": 0.042, "unlock_chunk": 0.322, "submod160_minus": 0.02}  # where claims.csv has none: distance from the chunk
# figure (0.184 - 0.142), of all-gold from recall (0.506 - 0.184), the margin; for the ends of a range, their size
NOT_READ = "F1 is not read from the widened pool; answer-in-context there, over defined answers: {:+.3f} [{:+.3f}, {:+.3f}]"


def claimed() -> pd.DataFrame:
    """The rows of claims.csv that belong to the scope map, each published figure of Tables 4 and 7 among them."""
    facts = claims.published()
    return facts[facts["claim"].map(lambda name: bool(OWN.match(name)))].reset_index(drop=True)


def levels(rows: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Mean F1 and EM of each policy at each budget that a reader read: tier, dataset, reader, precision, policy, budget, measure, estimate, ci_low, ci_high,
    n."""
    made = []
    for key, group in rows.groupby(["dataset", "reader", "precision", "policy", "budget"]):
        for measure in ("f1", "em"):
            i = stats.mean_interval(group[measure].astype(float), group["qid"], resamples, seed)
            made.append((tier, *key, measure, i.estimate, i.low, i.high, i.n))
    return pd.DataFrame(made, columns=["tier", "dataset", "reader", "precision", "policy", "budget", "measure", "estimate", "ci_low", "ci_high", "n"])


def partners(register: pd.DataFrame, frames: Mapping[str, pd.DataFrame], tier: str) -> pd.DataFrame:
    """The scope_partners table. ``register``: table claims; ``frames``: outcomes, levels, budget_shape, unlock, scope."""
    fixed, known = claims.plan(), register.set_index("claim")
    run = Run(frames, "", "", "", fixed)
    rows = [_row(c, known, run, frames, tier) for c in claimed().itertuples()]
    return pd.DataFrame(rows, columns=list(TABLES["scope_partners"].columns))


def _row(c, known: pd.DataFrame, run: Run, frames: Mapping[str, pd.DataFrame], tier: str) -> dict:
    blank = {"claim": c.claim, "tier": tier, "label": c.label, "source": c.source, "published": c.published, "published_low": c.published_low,
             "published_high": c.published_high, "reader_needed": c.reader_needed or pd.NA, "compared_with": pd.NA, "reader": pd.NA, "ours": np.nan,
             "ci_low": np.nan,
             "ci_high": np.nan, "n": pd.NA, "verdict": "not run", "note": c.note or pd.NA}
    if c.claim in known.index and known.loc[c.claim, "verdict"] != "not run":
        had = known.loc[c.claim]
        return blank | {k: had[k] for k in ("compared_with", "reader", "ours", "ci_low", "ci_high", "n", "verdict", "note")}
    lookup = next((f for pattern, f in LOOKUPS.items() if re.match(pattern, c.claim)), None)
    try:
        if lookup is None:
            raise NotRun(_said(c, known))
        dataset = data_set(c.dataset, run)
        found = lookup(c, dataset, frames)
        if not np.isfinite([found["ours"], found["ci_low"], found["ci_high"]]).all():
            raise NotRun("undefined in this run: fewer than two questions")
    except NotRun as reason:
        return blank | {"note": str(reason)}
    effect = c.effect if np.isfinite(c.effect) else next((e for start, e in EFFECTS.items() if c.claim.startswith(start)), abs(c.published))
    notes = [*([f"compared with {dataset}, a stand-in for {c.dataset}: other questions"] if dataset != c.dataset else []),
             *([f"other reader ({found['reader']} for {c.reader_needed})"] if c.reader_needed else []), found.pop("note", "")]
    return blank | found | {"compared_with": dataset, "verdict": claims.verdict(c.published, found["ci_low"], found["ci_high"], effect),
                            "note": "; ".join(n for n in notes if n) or pd.NA}


def _said(c, known: pd.DataFrame) -> str:
    """Why a claim has no partner, as notebook 04's register says it."""
    told = known.loc[c.claim, "note"] if c.claim in known.index else c.note
    return str(told) if isinstance(told, str) and told else "no counterpart"


def _only(table: pd.DataFrame, why: str, **where) -> pd.Series:
    for column, value in where.items():
        table = table[table[column] == value] if column in table else table[:0]
    if table.empty:
        raise NotRun(why)
    return table.iloc[0]


def _found(row: pd.Series, value: str, **more) -> dict:
    reader = row.get("reader", "none")
    return {"ours": float(row[value]), "ci_low": float(row["ci_low"]), "ci_high": float(row["ci_high"]), "n": int(row["n"]),
            "reader": pd.NA if reader == "none" else f"{reader} {row['precision']}", **more}


def _level(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    budget, policy = re.match(r"budget(\d+)_(\w+)_f1", c.claim).groups()
    return _found(_only(frames["levels"], f"no answers at {budget} tokens in this run", dataset=dataset, budget=int(budget), policy=policy, measure="f1"),
                  "estimate")


def _gap(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    budget = re.match(r"budget(\d+)_", c.claim)[1]
    return _found(_only(frames["budget_shape"], f"no answers at {budget} tokens in this run", dataset=dataset, quantity=f"gap_{budget}", treatment="submod",
                        control="focused",
                        metric="f1"), "delta")


def _end(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    """The lowest or highest gap to naive over the published budgets that were read."""
    table = frames["budget_shape"]
    rows = table[(table["dataset"] == dataset) & (table["control"] == "naive") & (table["treatment"] == "submod") & (table["metric"] == "f1")
                 & table["quantity"].isin(["gap_96", "gap_128", "gap_160", "gap_224"])]
    if rows.empty:
        raise NotRun("submod and naive were not read at other budgets in this run")
    at = rows.loc[rows["delta"].idxmin() if c.claim.endswith("low") else rows["delta"].idxmax()]
    return _found(at, "delta", note=f"at {at['quantity'].removeprefix('gap_')} tokens; an extreme of several gaps is flattered by chance")


def _unlocked(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    graph, wide = "ace" in c.claim, c.claim.endswith("wide")
    measure = "recall" if "recall" in c.claim else "all_gold"
    table = frames["unlock"]
    here = table[(table["half"] == "all") & (table["against"] == "none") & (table["policy"] == "none") & (table["scope"] == "own")]
    row = _only(here, "claims of the graph were not ranked on this data set: name it in claims_of" if graph else "no own pools in this run", dataset=dataset,
                measure=measure,
                ranker="claims" if graph else "dense", depth=5)
    notes = ["our graph of claims, ranked by similarity: documents of the first five claims"] if graph else []
    if wide and not graph:
        deepest = here[(here["dataset"] == dataset) & (here["ranker"] == "dense") & (here["measure"] == measure)].sort_values("depth").iloc[-1]
        notes.append(f"equal to the baseline by construction; at the widened depth of {deepest['depth']} it is {deepest['estimate']:.3f}")
    return _found(row, "estimate", **({"note": "; ".join(notes)} if notes else {}))


def _same_f1(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    row = _only(frames["budget_shape"], "F1 is not read at 224 tokens in this run", dataset=dataset, quantity="same_quality", metric="f1")
    return _found(row, "delta", note=f"within ±{row['margin']:g}: {row['verdict']}; a p of 0.80 is no proof of equal quality")


def _wide(c, dataset: str, frames: Mapping[str, pd.DataFrame]) -> dict:
    rows = frames["scope"]
    here = rows[(rows["condition"] == "pool") & (rows["dataset"] == dataset) & (rows["control"] == "focused") & (rows["metric"] == "answer_in_context_defined")
                & rows["setting"].str.fullmatch(r"own dense (?!5$)\d+")]
    if here.empty:
        raise NotRun("no widened pool was packed in this run")
    deepest = here.loc[here["setting"].str.extract(r"(\d+)$")[0].astype(int).idxmax()]
    raise NotRun(NOT_READ.format(deepest["delta"], deepest["ci_low"], deepest["ci_high"]) + f" ({deepest['setting']})")


LOOKUPS: dict[str, Callable] = {r"budget\d+_submod_minus": _gap, r"budget\d+_": _level, r"submod_minus_naive_every_budget": _end,
                                r"unlock_|musique_ace": _unlocked,
                                r"submod160_minus": _same_f1, r"musique_wide": _wide}
