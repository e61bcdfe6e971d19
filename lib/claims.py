"""The claims register: every published figure beside ours, with a mechanical verdict (SPEC 8; data/published/README.md)."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lib import tables
from lib.counterparts import NotRun, Run, data_set, resolve

FOLDER = tables.ROOT / "data" / "published"
FACTS = ("claim", "kind", "label", "source", "dataset", "published", "published_low", "published_high", "published_p", "effect", "table", "where", "beside",
         "lifts", "reader_needed", "headline", "note")
ESTIMATES = {"contrasts": {"delta": "estimate"}, "intervention": {"delta": "estimate"}, "transitions": {"contribution": "estimate"}}
KINDS = ("score", "difference", "count", "limitation")  # score: also shares, correlations, tokens
FEWEST = 15  # rows that lift a limitation; a handful of questions of one's own lift none
LIFTS = ("lifted", "partly lifted", "")
TEXT = [c for c in FACTS if c not in ("published", "published_low", "published_high", "effect", "headline")]


def plan(path: Path = FOLDER / "plan.yaml") -> dict:
    """The frozen plan; ``contrasts`` as a list of (treatment, control)."""
    import yaml

    made = yaml.safe_load(path.read_text(encoding="utf-8"))
    return made | {"contrasts": [tuple(pair) for pair in made["contrasts"]]}


def published(path: Path = FOLDER / "claims.csv") -> pd.DataFrame:
    """The committed facts, a row a figure; ``where`` and ``beside`` as dicts ({} where empty). Raises ValueError for a malformed file."""
    facts = pd.read_csv(path, dtype={c: str for c in TEXT}).fillna({c: "" for c in TEXT})
    if list(facts) != list(FACTS):
        raise ValueError(f"{path.name}: columns must be {list(FACTS)}, got {list(facts)}")
    if facts["claim"].duplicated().any():
        raise ValueError(f"{path.name}: claim {facts.loc[facts['claim'].duplicated(), 'claim'].iloc[0]!r} stands twice; give each row its own name")
    for column, known in (("kind", KINDS), ("lifts", LIFTS)):
        if not facts[column].isin(known).all():
            raise ValueError(f"{path.name}: {column} must be one of {known}, got {facts.loc[~facts[column].isin(known), column].iloc[0]!r}")
    for column in ("where", "beside"):
        facts[column] = [_json(text, claim, column, path.name) for text, claim in zip(facts[column], facts["claim"])]
    return facts


def _json(text: str, claim: str, column: str, file: str) -> dict:
    try:
        return json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}, claim {claim}, column {column}: {text!r} is no JSON ({error})") from error


def verdict(value: float, low: float, high: float, effect: float) -> str:
    """The rule of SPEC 8; the ends of the interval count as inside, and so does a half-width that equals the effect.

    Raises ValueError for a missing number, an interval upside down or an effect that is not positive.

    >>> verdict(0.022, 0.01, 0.03, effect=0.022), verdict(0.022, -0.02, 0.06, effect=0.022), verdict(0.022, 0.03, 0.09, effect=0.022)
    ('reproduced', 'inconclusive', 'differs')
    """
    if not (low <= high and effect > 0 and np.isfinite([value, low, high, effect]).all()):
        raise ValueError(f"a verdict needs numbers, low <= high and an effect above 0; got value {value}, interval [{low}, {high}], effect {effect}")
    rounding = 1e-9  # printed decimals and sums of floats meet at the ends
    if value < low - rounding or value > high + rounding:
        return "differs"
    return "reproduced" if (high - low) / 2 <= effect + rounding else "inconclusive"


def register(tier: str, frames: Mapping[str, pd.DataFrame], main_reader: str, precision: str | None = None, pack_id: str | None = None,
             resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The table ``claims``: a row a published figure, ours beside it, and the verdict; then a row a limitation, and whether this run lifts it.

    ``frames``: outcomes, and the result tables that claims.csv names; a table that is not there leaves its claims "not run". ``precision`` and
    ``pack_id`` default to the only ones that ``main_reader`` read (of packs, the planned one). Raises ValueError when these are not settled,
    or when a row of claims.csv does not fit the tables.
    """
    reader, outcomes = main_reader.rstrip("/").split("/")[-1], frames["outcomes"]
    read = outcomes[(outcomes["reader"] == reader) & outcomes["em"].notna()]
    if read.empty:
        raise ValueError(f"main_reader {main_reader!r} has read nothing; the readers of outcomes are {sorted(set(outcomes['reader']) - {'none'})}")
    precision = precision or _only(sorted(set(read["precision"])), "precision", main_reader)
    fixed = plan()
    packs = sorted(set(read["pack_id"]) - {"none"})
    pack_id = pack_id or _only([p for p in packs if planned(p, fixed)] or packs, "pack_id", main_reader)
    named = {name: table.rename(columns=ESTIMATES.get(name, {})) for name, table in frames.items()}
    run = Run(named, reader, precision, pack_id, fixed, resamples, seed)
    rows = [_limit(claim, tier, run) if claim.kind == "limitation" else _row(claim, tier, run) for claim in published().itertuples()]
    return pd.DataFrame(rows, columns=list(tables.TABLES["claims"].columns))


def planned(pack_id: str, fixed: Mapping) -> bool:
    """Whether ``pack_id`` is the plan's published arm, with whatever budget tokenizer."""
    base = fixed["published_arm"]["pack_id"]
    return pack_id == base or pack_id in {f"{base}.tokens={t}" for t in fixed["tokenizers"].values()}


def _only(found: list[str], what: str, reader: str) -> str:
    if len(found) != 1:
        raise ValueError(f"main_reader {reader!r} has read {len(found)} values of {what} ({', '.join(found)}); say {what}= which one the claims are about")
    return found[0]


def _blank(c, tier: str) -> dict:
    """A row of the register before anything was compared."""
    return {"claim": c.claim, "kind": c.kind, "label": c.label or c.claim, "tier": tier, "source": c.source, "dataset": c.dataset,
            "reader_needed": c.reader_needed or pd.NA, "headline": bool(c.headline), "published": c.published, "published_low": c.published_low,
            "published_high": c.published_high, "published_p": c.published_p or pd.NA, "effect": c.effect, "compared_with": pd.NA, "reader": pd.NA, "ours": np.nan,
            "ci_low": np.nan, "ci_high": np.nan, "difference": np.nan, "n": pd.NA, "verdict": "not run", "note": c.note}


def _limit(c, tier: str, run: Run) -> dict:
    """A limitation: lifted (or partly) where this run holds the evidence that ``where`` names, on any of its data sets; else it stands."""
    row, reasons = _blank(c, tier) | {"verdict": "stands"}, []
    if c.table == "none":
        return row
    for dataset in sorted(set(run.frames["outcomes"]["dataset"])):
        try:
            found = resolve(c.table, c.where, dataset, c.claim, run)
        except NotRun as reason:
            reasons.append(str(reason))
            continue
        if found["n"] < FEWEST:
            reasons.append(f"{dataset}: only {int(found['n'])} rows, too few to show it")
            continue
        return row | {"compared_with": dataset, "ours": found["estimate"], "ci_low": found["ci_low"], "ci_high": found["ci_high"], "n": int(found["n"]),
                      "verdict": c.lifts}
    return row | {"note": "; ".join(n for n in (reasons[0], c.note) if n)}


def _row(c, tier: str, run: Run) -> dict:
    """One row of the register: facts, ours, verdict, and a note that says what differs."""
    row = _blank(c, tier)
    if c.table == "none":
        return row
    try:
        dataset = data_set(c.dataset, run)
        found = resolve(c.table, c.where, dataset, c.claim, run)
    except NotRun as reason:
        return row | {"note": "; ".join(n for n in (str(reason), c.note) if n)}
    reader, needed = f"{run.reader} {run.precision}" if c.where.get("reader") == "main" else c.reader_needed, c.reader_needed
    notes = [_set_up(c.dataset, dataset, reader, needed), c.note, _beside(c, dataset, run)]
    if not planned(run.pack_id, run.plan) and c.table != "retrieval":
        notes.insert(0, f"settings are not the planned ones: {run.pack_id}")
    return row | {"compared_with": dataset, "reader": reader if needed else pd.NA, "ours": found["estimate"], "ci_low": found["ci_low"],
                  "ci_high": found["ci_high"], "difference": found["estimate"] - c.published, "n": int(found["n"]),
                  "verdict": verdict(c.published, found["ci_low"], found["ci_high"], c.effect), "note": "; ".join(n for n in notes if n)}


def _set_up(claimed: str, dataset: str, reader: str, needed: str) -> str:
    """What differs from the published set-up, in words; empty where nothing does."""
    notes = [] if claimed == dataset else [f"compared with {dataset}, a stand-in for {claimed}: other questions"]
    if needed and not _same_reader(reader, needed):
        notes.append(f"other reader ({reader} for {needed})")
    return ", ".join(notes)


def _same_reader(reader: str, needed: str) -> bool:
    (name, precision), (wanted, wanted_precision) = reader.split(), needed.split()
    return precision == wanted_precision and name.lower().startswith(f"{wanted.lower()}-instruct")


def _beside(c, dataset: str, run: Run) -> str:
    """The second figure of a claim, such as answer-in-context over defined answers only; empty where this run lacks it."""
    if not c.beside:
        return ""
    try:
        found = resolve(c.beside.get("table", c.table), c.beside["where"], dataset, c.claim, run)
    except NotRun:
        return ""
    return f"{c.beside['says']}: {found['estimate']:.3f}"
