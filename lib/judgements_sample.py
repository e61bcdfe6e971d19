"""An audit sample of unjudged passages at high ranks: drawn with known probabilities, so that what is missing can be estimated (document 001).

"Audit a sample of unjudged high-ranked candidates." The sample is stratified by slice and rank band; each passage's chance to be drawn is known, and the
Horvitz-Thompson estimate, every relevant find divided by its chance, is right on average whatever the truth is. The population is finite and chance comes
from the draw alone, so the interval is the design's, not a bootstrap over questions: it speaks of these lists, not of questions to come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import beta, norm

from lib.ranking import QUESTION

BANDS = (1, 4, 11, 21)  # first ranks of the bands: 1-3, 4-10, 11-20, 21 and below
LEAST = 2  # passages drawn from each stratum at least: one alone says nothing of its spread
KEY = [*QUESTION, "doc_id"]


class Missing(NamedTuple):
    """Relevant passages among the unjudged: estimate and interval in passages; ``population``: all unjudged, then those audited, found, left uncertain."""

    estimate: float
    low: float
    high: float
    population: int
    audited: int
    found: int
    uncertain: int


def frame(rankings: pd.DataFrame, judgements: pd.DataFrame, depth: int, membership: pd.DataFrame | None = None, bands: Sequence[int] = BANDS) -> pd.DataFrame:
    """Every unjudged passage in the first ``depth`` of any of the lists, once, at its best rank: KEY, rank, slice, band, stratum.

    ``judgements``: a passage without a row, or of missing grade, is unjudged. ``membership``: dataset, qid, slice; a question of several slices is a
    slice of its own.
    """
    known = judgements.dropna(subset=["grade"])[KEY].drop_duplicates()
    shown = rankings[rankings["rank"] <= depth].groupby(KEY)["rank"].min().reset_index()
    left = shown.merge(known, on=KEY, how="left", indicator=True).query("_merge == 'left_only'").drop(columns="_merge")
    if membership is None or membership.empty:
        left = left.assign(slice="all")
    else:
        names = membership.sort_values("slice").groupby(QUESTION)["slice"].agg("; ".join).reset_index()
        left = left.merge(names, on=QUESTION, how="left").fillna({"slice": "no slice"})
    edges = [*bands, depth + 1]
    spans = [f"ranks {a} to {min(b - 1, depth)}" for a, b in zip(edges, edges[1:])]
    left["band"] = [spans[np.searchsorted(bands, r, side="right") - 1] for r in left["rank"]]
    left["stratum"] = [f"{name} · {band}" for name, band in zip(left["slice"], left["band"])]
    return left.sort_values(KEY, ignore_index=True)


def allocation(sizes: Mapping[str, int], n: int, least: int = LEAST) -> dict[str, int]:
    """How many to draw of each stratum: in proportion, but ``least`` of each (or all of a smaller one); n in all where that is possible.

    >>> allocation({"top": 10, "deep": 90}, 20)
    {'deep': 18, 'top': 2}
    """
    if n < 1:
        raise ValueError(f"a sample has 1 passage or more, got {n}")
    taken = {name: min(sizes[name], least) for name in sorted(sizes)}
    total = sum(sizes.values())
    for _ in range(min(n, total) - sum(taken.values())):
        open_ = [name for name in taken if taken[name] < sizes[name]]
        most = max(open_, key=lambda name: (sizes[name] / total * n - taken[name], name))
        taken[most] += 1
    return taken


def draw(frame: pd.DataFrame, n: int, seed: int = 0, least: int = LEAST) -> pd.DataFrame:
    """The passages to audit, with ``stratum_size`` and their inclusion ``probability``; simple random sampling within each stratum.

    Equal frames give equal samples, whatever the order of their rows. A sample is larger than ``n`` where ``least`` of every stratum are more.
    """
    if frame.empty:
        return frame.assign(stratum_size=pd.Series(dtype=int), probability=pd.Series(dtype=float))
    parts = {name: part.sort_values(KEY) for name, part in frame.groupby("stratum")}
    taken, generator = allocation({name: len(part) for name, part in parts.items()}, n, least), np.random.default_rng(seed)
    drawn = []
    for name, part in parts.items():
        at = np.sort(generator.choice(len(part), taken[name], replace=False))
        drawn.append(part.iloc[at].assign(stratum_size=len(part), probability=taken[name] / len(part)))
    return pd.concat(drawn).sort_values(KEY, ignore_index=True)


def missing_relevant(sample: pd.DataFrame, relevant: Sequence[float], level: float = 0.95) -> Missing:
    """Horvitz-Thompson estimate of the relevant passages in the frame that ``sample`` was drawn from.

    ``relevant``: 1, 0 or NaN (uncertain) for each row of the sample. Uncertain ones stay so: the estimate is over the others (as if they were as often
    relevant), the lower end counts them as irrelevant, the upper end as relevant. Interval: Clopper and Pearson's for a share, on as many cases as a
    simple random sample of the same variance would need (Korn and Graubard 1998, with the finite population's correction), widened to whole
    passages and within what was seen.
    """
    if len(sample) != len(relevant):
        raise ValueError(f"got {len(sample)} passages and {len(relevant)} labels; give one a passage")
    if not len(sample):
        return Missing(0.0, 0.0, 0.0, 0, 0, 0, 0)
    labels = np.asarray(relevant, float)
    known, strata, sizes = ~np.isnan(labels), sample["stratum"].to_numpy(), sample["stratum_size"].to_numpy(float)
    population = int(sample.drop_duplicates("stratum")["stratum_size"].sum())
    answered = sample.assign(known=known).groupby("stratum")["known"].transform("sum").to_numpy(float)
    by_stratum = known.any() and (answered > 0).all()
    weights = sizes / answered if by_stratum else np.full(len(sample), population / max(known.sum(), 1))
    estimate = float((weights * np.nan_to_num(labels))[known].sum()) if known.any() else math.nan
    low = _ends(np.where(known, labels, 0.0), strata, sizes, level)[0]
    high = _ends(np.where(known, labels, 1.0), strata, sizes, level)[1]
    return Missing(estimate, low, high, population, len(sample), int(np.nansum(labels)), int((~known).sum()))


def _ends(labels: np.ndarray, strata: np.ndarray, sizes: np.ndarray, level: float) -> tuple[float, float]:
    """The interval's ends in passages for labels of 0 and 1."""
    parts = [(labels[strata == name], sizes[strata == name][0]) for name in np.unique(strata)]
    population, n = sum(size for _, size in parts), len(labels)
    total = sum(size * part.mean() for part, size in parts)
    if n >= population:
        return float(total), float(total)
    share, spread = total / population, labels.mean() * (1 - labels.mean())
    variance = sum(
        size**2 * (1 - len(part) / size) * (part.mean() * (1 - part.mean()) / (len(part) - 1) if len(part) > 1 else spread)
        for part, size in parts
        if len(part) < size
    )
    most = n * (population - 1) / (population - n)  # cases of a simple random sample with this finite population
    cases = min(share * (1 - share) * population**2 / variance, most) if variance > 0 else most
    hits, tail = share * cases, (1 - level) / 2
    low = float(beta.ppf(tail, hits, cases - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, cases - hits)) if hits < cases else 1.0
    ends = math.floor(low * population + 1e-9), math.ceil(high * population - 1e-9)  # the truth is a whole number
    return max(float(ends[0]), float(labels.sum())), min(float(ends[1]), float(population - (n - labels.sum())))


def needed(population: int, share: float, half_width: float, level: float = 0.95) -> int:
    """How many of ``population`` unjudged passages to audit so that the estimate is within ``half_width`` passages, if ``share`` of them are relevant.

    Normal approximation with the finite population's correction; a share of 0.5 is the cautious guess. Few finds (under five) make the interval wider.

    >>> needed(1000, 0.05, 20), needed(1000, 0.05, 10)
    (314, 647)
    """
    if population < 1 or not 0 < share < 1 or not half_width > 0:
        raise ValueError(f"need a population of 1 or more, a share between 0 and 1 and a width above 0, got {population}, {share}, {half_width}")
    variance = share * (1 - share)
    cases = (norm.ppf((1 + level) / 2) * population / half_width) ** 2 * variance
    return min(population, math.ceil(cases / (1 + (cases - 1) / population)))
