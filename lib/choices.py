"""Which unstated choice moves what: every packing setting tried, beside the published columns and beside the main setting (SPEC 4)."""
from __future__ import annotations

import numpy as np
import pandas as pd

from lib import claims, packing, stats

TABLE = "document 000, Table 6"  # HotpotQA, seed 42, 500 questions, budget 160
SHARES = ("answer_in_context", "gold_coverage", "all_gold_in_context")
MEASURES = (*SHARES, "answer_in_context_defined", "n_tokens")
POLICIES = ("naive", "focused", "mmr", "submod")
ALIKE = ["answer_in_context", "gold_coverage", "n_tokens"]  # packs that agree in these on every question are called the same


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


def shifts(survived: pd.DataFrame, settings: list[dict], main: dict, budget: int, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """What each changed setting does to the answers kept, changed - main, paired by question: a row a data set, change and packer, single changes first.

    ``survived``: survival rows of the main and the changed packs. Changes that pack the same for every question of a data set stand in one row ("depth = 10;
    depth = 20": a pool of ten passages is no deeper). Columns: dataset, changes (how many choices at once), change, policy, delta, ci_low, ci_high, p_value,
    p_holm (Holm over a data set's rows), n. Questions whose answer has no defined survival are left out.
    """
    told = {packing.pack_id(s): {k: f"{k} = {s[k]}" for k in s if s[k] != main[k]} for s in settings}
    rows = survived[(survived["budget"] == budget) & survived["policy"].isin(POLICIES) & survived["pack_id"].isin([*told, packing.pack_id(main)])]
    rows = rows.assign(kept=rows["answer_in_context"].astype(float).where(rows["answer_defined"].astype(bool)))
    made = [row for dataset, part in rows.groupby("dataset") for row in _shifted(part, told, packing.pack_id(main), dataset, resamples, seed)]
    out = pd.DataFrame(made, columns=["dataset", "changes", "change", "policy", "delta", "ci_low", "ci_high", "p_value", "n"])
    out["p_holm"] = np.nan
    for _, family in out.groupby("dataset"):
        out.loc[family.index, "p_holm"] = stats.holm(family["p_value"].to_numpy(float))
    return out.sort_values(["dataset", "changes"], kind="stable", ignore_index=True)


def _shifted(part: pd.DataFrame, told: dict[str, dict], main: str, dataset: str, resamples: int, seed: int) -> list[tuple]:
    """The rows of one data set, changes that pack alike put together."""
    alike: dict[tuple, list[str]] = {}
    for pack in (p for p in told if (part["pack_id"] == p).any()):
        same = part[part["pack_id"] == pack].sort_values(["policy", "qid"])
        alike.setdefault(tuple(same[["policy", "qid", *ALIKE]].itertuples(index=False, name=None)), []).append(pack)
    wide = part.pivot(index="qid", columns=["pack_id", "policy"], values="kept").astype(float).sort_index()
    pairs = [(packs, p) for packs in alike.values() for p in POLICIES if (main, p) in wide and (packs[0], p) in wide]
    if not pairs:
        return []
    deltas = np.column_stack([wide[packs[0], p] - wide[main, p] for packs, p in pairs])
    found = stats.paired_cluster_bootstraps(deltas, wide.index, resamples=resamples, seed=seed)
    named = {tuple(packs): "; ".join(", ".join(told[p].values()) for p in packs) for packs, _ in pairs}
    return [(dataset, min(len(told[p]) for p in packs), named[tuple(packs)], policy, i.estimate, i.low, i.high, i.p_value, i.n)
            for (packs, policy), i in zip(pairs, found)]
