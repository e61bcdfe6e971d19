"""Which unstated choice moves what: every packing setting tried, beside the published columns and beside the main setting (SPEC 4)."""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib import claims, packing

TABLE = "document 000, Table 6"  # HotpotQA, seed 42, 500 questions, budget 160
SHARES = ("answer_in_context", "gold_coverage", "all_gold_in_context")
MEASURES = (*SHARES, "answer_in_context_defined", "n_tokens")
POLICIES = ("naive", "focused", "mmr", "submod")


def published_columns() -> dict[tuple[str, str, str], float]:
    """(dataset, policy, measure) -> published mean. Both conventions of answer-in-context stand beside the one published column."""
    facts = claims.published()
    rows = facts[(facts["source"] == TABLE) & (facts["table"] == "packing")]
    values = {(r.dataset, r.where["policy"], r.where["measure"]): r.published for r in rows.itertuples() if "representation" not in r.where}
    return values | {(d, p, "answer_in_context_defined"): v for (d, p, m), v in values.items() if m == "answer_in_context"}


def choices(packing: pd.DataFrame, main: str, budget: int) -> pd.DataFrame:
    """The choices table from the packing table: for each setting, half, policy and measure what it gives (``ours``), how far that is from
    the published value (``difference``) and from the main setting (``moved``)."""
    rows = packing[(packing["budget"] == budget) & packing["policy"].isin(POLICIES) & packing["measure"].isin(MEASURES)]
    key = ["tier", "dataset", "half", "policy", "measure"]
    base = rows[rows["pack_id"] == main][[*key, "estimate"]].rename(columns={"estimate": "base"})
    out = rows.merge(base, on=key, validate="many_to_one").rename(columns={"estimate": "ours"})
    known = published_columns()
    out["published"] = [known.get(k, np.nan) for k in zip(out["dataset"], out["policy"], out["measure"])]
    out = out.assign(difference=out["ours"] - out["published"], moved=out["ours"] - out["base"])
    return out[["tier", "dataset", "pack_id", "half", "policy", "measure", "ours", "ci_low", "ci_high", "published", "difference", "moved", "n"]]


def distances(table: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute difference from the published shares (answer-in-context, coverage, all gold) over the four packers, a row a setting, a
    column a half: choose on half 0, look at half 1. Empty where nothing published belongs to the data."""
    rows = table[table["measure"].isin(SHARES)].dropna(subset=["difference"])
    if rows.empty:
        return pd.DataFrame(columns=["0", "1", "all"])
    return rows.assign(distance=rows["difference"].abs()).pivot_table(index=["dataset", "pack_id"], columns="half", values="distance").sort_values("0")


def moves(table: pd.DataFrame, settings: list[dict], main: dict, measure: str) -> pd.DataFrame:
    """How far each changed setting moves a measure from the main one, in points: a row a change, a column a packer (all questions)."""
    rows = table[(table["half"] == "all") & (table["measure"] == measure)]
    told = {packing.pack_id(s): ", ".join(f"{k} = {s[k]}" for k in s if s[k] != main[k]) for s in settings}
    if not rows["pack_id"].isin(told).any():
        return pd.DataFrame(columns=list(POLICIES))
    wide = rows[rows["pack_id"].isin(told)].assign(change=rows["pack_id"].map(told), points=100 * rows["moved"])
    made = wide.pivot_table(index=["dataset", "change"], columns="policy", values="points", sort=False)
    return made[[p for p in POLICIES if p in made]].round(1)
