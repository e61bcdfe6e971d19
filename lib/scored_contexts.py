"""Packed contexts with what the scorers of table support say of them: one join, thresholds, and how the scores lie (SPEC 7)."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import agreement, diagnostics, wording

SPAN = "answer_in_context"
CONTEXT = ["dataset", "qid", "context_hash"]
SPREAD = ("answer in it", "answer elsewhere", "never verbatim", "free-form", "yes/no")


def scored(outcomes: pd.DataFrame, readings: pd.DataFrame, support: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``outcomes`` that a reader read in the contexts of the compared packers, with ``rows``, context_hash and a column a scorer."""
    read = outcomes[outcomes["em"].notna() & ~outcomes["policy"].isin(["closed_book", "oracle"])]
    if read.empty:
        return read.assign(context_hash="", rows="")
    read = read[read["policy"].isin(wording.compared(list(read["policy"].unique())))]
    return _joined(read, readings, support)


def packed_contexts(outcomes: pd.DataFrame, readings: pd.DataFrame, support: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """One row a question and policy of any arm that was read, with its scores: what hand-checked contexts are found among."""
    read = outcomes[outcomes["em"].notna() & (outcomes["dataset"] == dataset) & ~outcomes["policy"].isin(["closed_book", "oracle"])]
    return _joined(read.drop_duplicates(diagnostics.PACK_KEY), readings, support)


def _joined(read: pd.DataFrame, readings: pd.DataFrame, support: pd.DataFrame) -> pd.DataFrame:
    wide = support.pivot(index=CONTEXT, columns="scorer", values="score").astype("float64").reset_index()
    rows = read.merge(readings[[*diagnostics.PACK_KEY, "context_hash"]], on=diagnostics.PACK_KEY).merge(wide, on=CONTEXT, how="left")
    verbatim = np.where(rows["answer_in_corpus"] == 1, "verbatim", "not verbatim")
    return rows.assign(rows=np.where(rows["answer_defined"].astype(bool), verbatim, rows["undefined_reason"].astype(str)))


def thresholds(rows: pd.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """Each scorer's threshold, from the distinct contexts of half 0 that both variants judge; NaN where these are all alike."""
    one = rows[(rows["half"] == 0) & (rows["rows"] == "verbatim")].drop_duplicates(CONTEXT)
    return {name: agreement.youden(one[name], one[SPAN]) for name in names}


def supported(scores: pd.DataFrame, cuts: dict[str, float]) -> np.ndarray:
    """1 where a score reaches its scorer's threshold, 0 where not, NaN where either is missing. Shape (rows, scorers)."""
    values, limits = scores[list(cuts)].to_numpy(float), np.array(list(cuts.values()), float)
    return np.where(np.isnan(values) | np.isnan(limits), np.nan, values >= limits)


def spread(outcomes: pd.DataFrame, readings: pd.DataFrame, support: pd.DataFrame) -> pd.DataFrame:
    """How each scorer's scores lie in each group of contexts: what the figure of scores draws. Each distinct context counts once.

    Columns: dataset, scorer, threshold, group (``SPREAD``), q10, q25, q50, q75, q90, share_supported, n. Groups without a score, and scorers
    without a threshold, are left out.
    """
    names, made = sorted(support["scorer"].unique()), []
    packed = scored(outcomes, readings, support)
    for dataset, rows in packed.groupby("dataset") if names else ():
        cuts, one = thresholds(rows, names), rows.drop_duplicates(CONTEXT)
        held = one[SPAN].map({1: "answer in it", 0: "answer elsewhere"})
        group = one["rows"].replace({"not verbatim": "never verbatim"}).mask(one["rows"] == "verbatim", held)
        for name in (n for n in names if not np.isnan(cuts[n])):
            for kind in SPREAD:
                values = one.loc[group == kind, name].dropna()
                if len(values):
                    share = float((values >= cuts[name]).mean())
                    made.append((dataset, name, cuts[name], kind, *values.quantile([0.1, 0.25, 0.5, 0.75, 0.9]), share, len(values)))
    return pd.DataFrame(made, columns=["dataset", "scorer", "threshold", "group", "q10", "q25", "q50", "q75", "q90", "share_supported", "n"])
