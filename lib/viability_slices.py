"""The audit per slice: means with paired bootstrap intervals by query, headroom capture as a ratio of sums, Holm across slices (SPEC 8, 11)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lib.bootstrap import RESAMPLES, Interval, cluster_codes, divide, percentile_interval, resample_totals
from lib.stats import holm
from lib.viability import BOUNDS, ROUNDING, SCORES, SETUP
from lib.viability_lists import KEY
from lib.viability_requirement import EVERY

MEASURES = (
    "candidate_recall",
    "graded_coverage",
    "mrr_first",
    "mrr_reranked",
    *SCORES,
    "regressed",
    "conditional_gain",
    "requirement_met",
    "judged_first",
    "judged_reranked",
    *BOUNDS,
)
CAPTURE = "headroom_capture"
# Shares that decide a verdict: where all queries agree, see `widened`.
DECISIVE = ("candidate_recall", "graded_coverage", "ceiling", "omission_gap", "ordering_headroom", "requirement_met")
GROUP = ["dataset", "slice", *SETUP]
COLUMNS = ["tier", *GROUP, "measure", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "n", "undefined"]


def no_slices() -> pd.DataFrame:
    """The membership table of queries that belong to no slice: every query is in ``all`` alone."""
    return pd.DataFrame({c: pd.Series(dtype="str") for c in (*KEY, "slice")})


def sliced(audited: pd.DataFrame, evidence: pd.DataFrame, membership: pd.DataFrame) -> pd.DataFrame:
    """The audit's rows once per slice and once as ``all``, with needed, found, requirement_met (of that slice), regressed, conditional_gain.

    conditional_gain is the gain where the requirement is met by the pool: the mechanism. realised_gain, over all queries, is the system (document 001).
    """
    everywhere = audited[KEY].drop_duplicates().assign(slice=EVERY)
    rows = audited.merge(pd.concat([everywhere, membership[[*KEY, "slice"]].drop_duplicates()]), on=KEY)
    rows = rows.merge(evidence, on=[*KEY, "slice"], how="left").rename(columns={"met": "requirement_met"})
    known = rows["realised_gain"].notna()
    return rows.assign(
        requirement_met=rows["requirement_met"].where(rows["undefined"] == ""),
        regressed=(rows["regression"] > 0).astype(float).where(known),
        conditional_gain=rows["realised_gain"].where(rows["requirement_met"] == 1),
    )


def slice_table(rows: pd.DataFrame, tier: str = "own", resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """Every measure of every slice, long: ``COLUMNS``; ``rows`` from `sliced`.

    The intervals of ``DECISIVE`` shares are `widened`. headroom_capture is the sum of gains over the sum of headrooms over queries with
    headroom. p tests realised_gain against 0; Holm runs over the slices of one data set and set-up, ``all`` apart. A measure that no
    query has is a row with n 0. Raises ValueError as `bootstrap.resample_totals` does.
    """
    out = []
    for (dataset, name), part in rows.groupby(["dataset", "slice"]):
        out += _one_slice(part, (tier, dataset, name), resamples, seed)
    table = pd.DataFrame(out, columns=[c for c in COLUMNS if c != "p_holm"])
    family = (table["measure"] == "realised_gain") & (table["slice"] != EVERY)
    adjusted = table[family].groupby(["dataset", *SETUP])["p_value"].transform(lambda p: holm(p.to_numpy()))
    return table.assign(p_holm=adjusted.reindex(table.index).astype(float))[COLUMNS]


def _one_slice(part: pd.DataFrame, name: tuple, resamples: int, seed: int) -> list[tuple]:
    """One draw of the slice's queries serves every measure and set-up."""
    blocks = {setup: block.set_index("qid").sort_index() for setup, block in part.groupby(SETUP)}
    qids = sorted(set(part["qid"]))
    values = np.hstack([block.reindex(qids)[list(MEASURES)].to_numpy(float) for block in blocks.values()])
    fractions = [block.reindex(qids)[["realised_gain", "ordering_headroom"]].to_numpy(float) for block in blocks.values()]
    fractions = np.hstack([np.where(((f[:, 1] > 0) & ~np.isnan(f[:, 0]))[:, None], f, np.nan) for f in fractions])
    codes, known = cluster_codes(qids, len(qids)), ~np.isnan(values)
    totals = resample_totals(np.hstack([np.nan_to_num(values), known, np.nan_to_num(fractions)]), codes, resamples, seed)
    m, width = values.shape[1], len(MEASURES)
    means, ratios = ([divide(t[:, :m], t[:, m : 2 * m]) for t in totals], [divide(t[:, 2 * m :: 2], t[:, 2 * m + 1 :: 2]) for t in totals])
    out = []
    for at, setup in enumerate(blocks):
        for column, measure in enumerate(MEASURES, at * width):
            tested = measure == "realised_gain"
            interval = percentile_interval(means[0][0, column], means[1][:, column], codes[known[:, column]], tested=tested)
            out.append((measure, widened(interval) if measure in DECISIVE else interval, setup))
        with_headroom = ~np.isnan(fractions[:, 2 * at])
        out.append((CAPTURE, percentile_interval(ratios[0][0, at], ratios[1][:, at], codes[with_headroom], tested=False), setup))
    return [(*name, *setup, measure, i.estimate, i.low, i.high, i.p_value, i.n, len(qids) - i.n) for measure, i, setup in out]


def widened(interval: Interval) -> Interval:
    """The interval of a share where all n queries agree: as wide as n queries leave it, 1 - 0.025 ** (1 / n) to each side; else as it is.

    A bootstrap of equal values has no width, however few they are.

    >>> [round(end, 3) for end in widened(Interval(1.0, 1.0, 1.0, float("nan"), 12, 12))[1:3]]
    [0.735, 1.0]
    """
    if not interval.high - interval.low < ROUNDING:
        return interval
    unseen = 1 - 0.025 ** (1 / interval.clusters)
    return interval._replace(low=max(0.0, interval.estimate - unseen), high=min(1.0, interval.estimate + unseen))
