"""One question past every rung, and document 000's own tables laid out as its text reads them: what notebook 06 shows before any aggregate."""
from __future__ import annotations

import pandas as pd

from lib import claims, ladder_rungs

PUBLISHED = {"3B fp16": "seed42", "7B fp16": "7b", "14B nf4": "14b"}
MEASURES = ("f1", "answer_in_context", "coverage")


def telling(rows: pd.DataFrame, pair: tuple[str, str] = ("submod", "focused")) -> pd.DataFrame:
    """One question (the first by id) that the rungs answer differently from two different contexts, where there is one; a row a rung and policy.

    ``rows`` from `ladder.joined`. Columns: dataset, qid, policy, rung, answer_in_context (missing where undefined), prediction (missing where only
    scores are kept), f1. Where one of ``pair`` was not read, the first two policies stand in; preferred is a question whose answer only one context holds.
    """
    packed = rows[rows["policy"] != "closed_book"]
    there = list(dict.fromkeys(packed["policy"]))
    used = packed[packed["policy"].isin(pair if set(pair) <= set(there) else there[:2])]
    by = used.groupby(["dataset", "qid"])
    torn = by["f1"].nunique().gt(1).astype(int) + by["context_hash"].nunique().gt(1).astype(int) + by["holds"].nunique().gt(1).astype(int)
    dataset, qid = torn.sort_index().sort_values(ascending=False, kind="stable").index[0]
    one = used[(used["dataset"] == dataset) & (used["qid"] == qid)]
    rungs = ladder_rungs.ordered([*map(tuple, one[["reader", "precision"]].drop_duplicates().to_numpy())])
    place = {r: i for i, r in enumerate(rungs)}
    one = one.assign(rung=one["reader"] + " " + one["precision"], answer_in_context=one["holds"],
                     place=[place[r] for r in zip(one["reader"], one["precision"])])
    return one.sort_values(["place", "policy"])[["dataset", "qid", "policy", "rung", "answer_in_context", "prediction", "f1"]].reset_index(drop=True)


def published_means() -> pd.DataFrame:
    """Document 000's Tables 6, 8 and 9 for naive, focused and submod, a row a rung and policy: rung, policy, f1, answer_in_context, coverage.

    >>> published_means().shape
    (9, 5)
    """
    value = claims.published().set_index("claim")["published"]
    made = [(rung, p, *(float(value[f"{name}_{p}_{m}"]) for m in MEASURES)) for rung, name in PUBLISHED.items() for p in ("naive", "focused", "submod")]
    return pd.DataFrame(made, columns=["rung", "policy", *MEASURES])
