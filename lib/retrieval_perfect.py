"""Where retrieval has done its part, all gold in the top 5: what packing drops, and what that costs (document 000, section 3.3 (b), Figure 2).

Each row has one of six fates, so their shares add up to 1:

    share_kept_in_gold           answer in the context, and a gold passage holds it (the kept copy may be another passage's)
    share_kept_elsewhere         answer in the context, brought by another passage: no gold passage holds it
    share_dropped_by_packing     not in the context, though a gold passage holds it and was retrieved: packing's own part, exactly
    share_dropped_elsewhere      not in the context; only passages that are not gold hold it, a chance mention perhaps
    share_dropped_never_verbatim not in the context, in no gold and no retrieved passage: nothing that packing could have kept
    share_undefined              no span to look for (yes/no, free form); only among rows ``all``, where the published convention drops them

share_dropped is the sum of the last four, share_never_verbatim (in no gold passage) of kept_elsewhere and the two before share_undefined. 000
prints share_dropped as 27 % and says that "a minority" of it is paraphrase; share_undefined is what its convention adds. "Holds" means the
passage's text: an answer cut in two where a passage is split into snippets counts as dropped by packing.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from lib import poolings
from lib.bootstrap import Interval, cluster_codes, divide, percentile_interval, resample_totals

FATES = ("share_kept_in_gold", "share_kept_elsewhere", "share_dropped_by_packing", "share_dropped_elsewhere", "share_dropped_never_verbatim",
         "share_undefined")
SUMS = {"share_dropped": [2, 3, 4, 5], "share_never_verbatim": [1, 3, 4]}  # places in FATES
SCORES = ("f1", "em")
COLUMNS = ["tier", *poolings.GROUP, "policy", "rows", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters"]


def retrieval_perfect(outcomes: pd.DataFrame, holders: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The retrieval_perfect table: shares of the fates; F1 and EM kept and dropped, their gap and ratio (kept over dropped).

    Per data set (and ``all``) and reader; per compared packer and ``pooled``; rows ``defined`` and ``all``. One draw serves a data set and
    reader. A ratio is missing where the dropped score nothing, its upper end where more than 2.5 % of the resamples have them score nothing.
    ``outcomes`` of one pack and budget. Raises ValueError as ``poolings.groups`` does, or where ``holders`` lacks a question's gold passages.
    """
    rows = []
    for key, group in poolings.groups(outcomes):
        perfect = group[(group["all_gold_at_5"] == 1).fillna(False).astype(bool) & (group["policy"] != "oracle")]
        if perfect.empty:
            continue
        fates, parts = fates_of(perfect, holders), list(_parts(perfect))
        columns = [_columns(perfect, fates, kept) for *_, kept in parts]
        codes = cluster_codes(perfect["cluster"], len(perfect))
        totals = resample_totals(np.hstack(columns), codes, resamples, seed)
        split = [np.split(total, len(parts), axis=1) for total in totals]
        for (policy, kind, _), made, *both in zip(parts, columns, *split):
            rows += [(tier, *key, policy, kind, quantity, i.estimate, i.low, i.high, i.n, i.clusters)
                     for quantity, i in _quantities(made, both, codes) if kind == "all" or quantity != "share_undefined"]
    return pd.DataFrame(rows, columns=COLUMNS)


def fates_of(rows: pd.DataFrame, holders: pd.DataFrame) -> np.ndarray:
    """Which of FATES each of ``rows`` (all gold retrieved) has, as its place there, (rows,).

    >>> row = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "answer_in_context": [0], "answer_defined": [True]})
    >>> held = pd.DataFrame({"dataset": "d", "qid": "q", "is_gold": [True, False], "holds_answer": [1, 0]})
    >>> [FATES[f] for f in fates_of(row, held)]
    ['share_dropped_by_packing']
    """
    held = [_held(rows, part) for part in (holders[holders["is_gold"].astype(bool)], holders)]
    if np.isnan(held[0]).any():
        lost = rows.iloc[int(np.isnan(held[0]).argmax())]
        raise ValueError(f"table holders has no gold passage of question {lost.qid} ({lost.dataset}), though outcomes say that all its gold was retrieved; "
                         "make both from the same tables")
    kept, defined = rows["answer_in_context"].to_numpy(float) == 1, rows["answer_defined"].astype(bool).to_numpy()
    in_gold, anywhere = (h == 1 for h in held)
    return np.select([~defined, kept & in_gold, kept, in_gold, anywhere], [5, 0, 1, 2, 3], default=4)


def _held(rows: pd.DataFrame, passages: pd.DataFrame) -> np.ndarray:
    """Whether one of ``passages`` holds the answer to each row's question; NaN where the question has none of them."""
    key = ["dataset", "qid"]
    held = passages.groupby(key)["holds_answer"].max().astype("float64").rename("held").reset_index()
    return rows[key].merge(held, on=key, how="left", validate="many_to_one")["held"].to_numpy()


def _parts(rows: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """(policy or ``pooled``, kind of rows, which rows)."""
    defined = rows["answer_defined"].astype(bool).to_numpy()
    for policy in ["pooled", *sorted(rows["policy"].unique())]:
        own = np.ones(len(rows), bool) if policy == "pooled" else rows["policy"].eq(policy).to_numpy(bool)
        yield policy, "defined", own & defined
        yield policy, "all", own


def _columns(rows: pd.DataFrame, fates: np.ndarray, part: np.ndarray) -> np.ndarray:
    """What is added up over rows: each fate; then for each score: kept, its score, dropped, its score. (rows, 14)"""
    chosen, kept = fates[:, None] == np.arange(len(FATES)), fates < 2
    columns = [*(chosen & part[:, None]).T.astype(float)]
    for score in SCORES:
        y = rows[score].to_numpy(float)
        for side in (kept, ~kept):
            known = side & part & ~np.isnan(y)
            columns += [known.astype(float), np.where(known, y, 0)]
    return np.column_stack(columns)


def _quantities(columns: np.ndarray, totals: Sequence[np.ndarray], codes: np.ndarray) -> Iterator[tuple[str, Interval]]:
    """(quantity, interval) from the totals of the sample, (1, 14), and of the resamples, (resamples, 14)."""
    n = len(FATES)

    def interval(values: Sequence[np.ndarray], used: np.ndarray) -> Interval:
        return percentile_interval(values[0][0], values[1], codes[used], tested=False)

    for name, places in ({fate: [k] for k, fate in enumerate(FATES)} | SUMS).items():
        yield name, interval([divide(t[:, places].sum(axis=1), t[:, :n].sum(axis=1)) for t in totals], columns[:, :n].any(axis=1))
    for k, score in enumerate(SCORES):
        first = n + 4 * k
        rows_kept, rows_dropped = columns[:, first] > 0, columns[:, first + 2] > 0
        kept, dropped = ([divide(t[:, c + 1], t[:, c]) for t in totals] for c in (first, first + 2))
        yield f"{score}_kept", interval(kept, rows_kept)
        yield f"{score}_dropped", interval(dropped, rows_dropped)
        yield f"{score}_gap", interval([a - b for a, b in zip(kept, dropped)], rows_kept | rows_dropped)
        yield f"{score}_ratio", turned(interval([divide(b, a) for a, b in zip(kept, dropped)], rows_kept | rows_dropped))


def turned(inverse: Interval) -> Interval:
    """The interval of a ratio from that of its inverse, which stays finite where the denominator is 0; an infinite end is missing.

    >>> turned(Interval(0.5, 0.0, 0.8, np.nan, 9, 3))[:3]
    (2.0, 1.25, nan)
    """
    if not inverse.estimate:
        return inverse._replace(estimate=np.nan, low=np.nan, high=np.nan)
    low, high = (1 / end if end else np.nan for end in (inverse.high, inverse.low))
    return inverse._replace(estimate=1 / inverse.estimate, low=low, high=high)
