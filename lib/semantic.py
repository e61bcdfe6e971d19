"""Answer-in-context without a span: how each scorer of table support agrees with the span variant and predicts answers (SPEC 7; 000, limitations).

A scorer says "supported" from a threshold on, chosen on half 0 against the span variant and confirmed on half 1. Rows are contexts of the
compared packers, grouped by what a span can say about the question (column ``rows``):
``verbatim``      an accepted answer stands somewhere in the passages searched: here both variants exist, and thresholds are chosen here
``not verbatim``  the question has a span, but no passage holds it (paraphrases): the span variant is 0 whatever is packed
``free-form``, ``yes/no``, ``empty``   no span to look for
``answer removed``, ``other removed``   table ablations: the same context without the answer's snippets, or without as many others
``hand-checked`` and ``hand-checked, <rows>``   contexts judged by reading (``lib.hand_checked``), drawn whatever the scorers say
``hand-checked, by score``   judged contexts that were chosen by span and similarity: for who is right where these part, no rate of anything

Quantities. No reader involved (reader none; each distinct context counts once): ``threshold``, chosen on half 0; ``agreement``, ``kappa`` (Cohen),
``sensitivity``, ``specificity`` against the span variant; ``auc`` of the score against it; ``share_supported``. Of the removals: ``share_falls``, how often the
score falls; ``still_supported``, of the contexts supported before. By reader, over policy x question rows that have score, span variant and F1: ``r_score_f1``,
``r_supported_f1`` and ``r_span_f1``, Pearson correlations with F1; ``r_supported_minus_span``, from the same resamples.
Hand-checked: ``wrongly_supported``, of those judged not supported; ``wrongly_denied``, of those judged supported; ``partly_supported``, how many of those
judged partly supported it calls supported; ``auc`` of the score, partly left out. The span variant is a scorer there, too; undefined counts 0.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import agreement, hand_checked, moments, scorers
from lib.bootstrap import Interval, cluster_codes, percentile_interval
from lib.scored_contexts import CONTEXT, SPAN, packed_contexts, scored, supported, thresholds
from lib.summaries import halves

NONE = ("none", "none")
COLUMNS = ["tier", "dataset", "reader", "precision", "scorer", "half", "rows", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters"]
BLANK = Interval(*[float("nan")] * 4, 0, 0)


def variants(outcomes: pd.DataFrame, readings: pd.DataFrame, support: pd.DataFrame, tier: str, ablations: pd.DataFrame | None = None,
             checked: pd.DataFrame | None = None, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The variants table. ``checked``: the rows of ``hand_checked.read``; where the run has none of their questions they are left out.

    No row where nothing was scored. Raises ValueError for a hand-checked context that has changed.
    """
    names = sorted(support["scorer"].unique())
    packed = scored(outcomes, readings, support)
    if packed.empty or not names:
        return pd.DataFrame(columns=COLUMNS)
    made = []
    for dataset, rows in packed.groupby("dataset"):
        cuts = thresholds(rows, names)
        parts = [_against_span(rows, names, cuts, resamples, seed), _with_f1(rows, names, cuts, resamples, seed)]
        if ablations is not None and len(ablations):
            parts.append(_removed(ablations[ablations["dataset"] == dataset], support, rows, names, cuts, resamples, seed))
        if checked is not None:
            parts.append(_judged(hand_checked.matched(checked, packed_contexts(outcomes, readings, support, dataset)), names, cuts, resamples, seed))
        made += [(tier, dataset, *key, i.estimate, i.low, i.high, i.n, i.clusters) for part in parts for key, i in part.items() if i.n]
    return pd.DataFrame(made, columns=COLUMNS)


def _against_span(rows: pd.DataFrame, names: Sequence[str], cuts: dict[str, float], resamples: int, seed: int) -> dict:
    found = {}
    one = rows.drop_duplicates(CONTEXT).sort_values(CONTEXT)
    for half, part in halves(one):
        for kind, group in part.groupby("rows"):
            said = supported(group, cuts)
            shares = agreement.shares(said, group["qid"], resamples, seed)
            found |= {(*NONE, name, half, kind, "share_supported"): share for name, share in zip(names, shares)}
            if kind == "verbatim":
                for name, measures in zip(names, agreement.agreements(said, group[SPAN].astype(float), group["qid"], resamples, seed)):
                    found |= {(*NONE, name, half, kind, m): i for m, i in measures.items()}
                    found[*NONE, name, half, kind, "auc"] = agreement.auc(group[name], group[SPAN].astype(float), group["qid"], resamples, seed)
                    if half == "0":
                        seen = group[group[name].notna()]
                        found[*NONE, name, half, kind, "threshold"] = BLANK._replace(estimate=cuts[name], n=len(seen), clusters=seen["qid"].nunique())
    return found


def _with_f1(rows: pd.DataFrame, names: Sequence[str], cuts: dict[str, float], resamples: int, seed: int) -> dict:
    found = {}
    for reader, by_reader in rows.sort_values(["qid", "policy"]).groupby(["reader", "precision"]):
        for half, part in halves(by_reader):
            for kind, group in part.groupby("rows"):
                columns = np.column_stack([group[names].to_numpy(float), supported(group, cuts), group[[SPAN, "f1"]].to_numpy(float)])
                related = _correlations(moments.scaled(columns), names, group["qid"], resamples, seed)
                found |= {(*reader, name, half, kind, q): i for (name, q), i in related.items()}
    return found


def _correlations(columns: np.ndarray, names: Sequence[str], clusters: Sequence, resamples: int, seed: int) -> dict:
    """``columns``: a score a scorer, supported a scorer, span, F1. One draw of questions serves all; each scorer on its own rows."""
    k, codes, found = len(names), cluster_codes(clusters, len(columns)), {}
    blocks = [columns[:, [i, k + i, 2 * k, 2 * k + 1]] for i in range(k)]
    for name, block, both in zip(names, blocks, moments.covariances(blocks, clusters, resamples, seed)):
        r = [[moments.correlation(c, i, 3) for c in both] for i in range(3)]
        r.append([a - b for a, b in zip(r[1], r[2])])
        known = codes[~np.isnan(block).any(axis=1)]
        found |= {(name, q): percentile_interval(float(one[0]), many, known, tested=False)
                  for q, (one, many) in zip(("r_score_f1", "r_supported_f1", "r_span_f1", "r_supported_minus_span"), r)}
    return found


def _removed(ablations: pd.DataFrame, support: pd.DataFrame, rows: pd.DataFrame, names: Sequence[str], cuts: dict[str, float], resamples: int,
             seed: int) -> dict:
    """Does a score fall when the answer's snippets, or as many others, are taken out? Each distinct pair of contexts once."""
    wide = support.pivot(index=CONTEXT, columns="scorer", values="score").astype("float64")[list(names)].reset_index()
    pairs = ablations[ablations["policy"].isin(rows["policy"])].drop_duplicates([*CONTEXT, "ablated_hash", "removed"])
    later = wide.rename(columns={"context_hash": "ablated_hash"})
    pairs = pairs.merge(wide, on=CONTEXT).merge(later, on=["dataset", "qid", "ablated_hash"], suffixes=("", " after"))
    found = {}
    for removed, group in pairs.sort_values([*CONTEXT, "ablated_hash"]).groupby("removed"):
        before, after = group[list(names)].to_numpy(float), group[[f"{n} after" for n in names]].to_numpy(float)
        falls = np.where(np.isnan(before) | np.isnan(after), np.nan, after < before)
        was, still = supported(group, cuts), supported(group[[f"{n} after" for n in names]].set_axis(list(names), axis=1), cuts)
        for quantity, values in (("share_falls", falls), ("still_supported", np.where(was == 1, still, np.nan))):
            for name, share in zip(names, agreement.shares(values, group["qid"], resamples, seed)):
                found[*NONE, name, "all", f"{removed} removed", quantity] = share
    return found


def _judged(rows: pd.DataFrame, names: Sequence[str], cuts: dict[str, float], resamples: int, seed: int) -> dict:
    """Errors of every scorer, and of the span variant, on the contexts that were judged by reading."""
    found = {}
    drawn = rows[rows["selection"] == "drawn"]
    groups = [("hand-checked", drawn), *((f"hand-checked, {kind}", part) for kind, part in drawn.groupby("rows")),
              ("hand-checked, by score", rows[rows["selection"] != "drawn"])]
    groups = [(kind, part) for kind, part in groups if len(part)]
    for kind, group in groups:
        said = dict(zip([*names, SPAN], np.column_stack([supported(group, cuts), group[SPAN].astype(float)]).T))
        found |= {(*NONE, name, "all", kind, q): i for name, values in said.items() for q, i in hand_checked.errors(group, values).items()}
        truth = group["judgement"].map({"supported": 1.0, "not supported": 0.0})
        found |= {(*NONE, name, "all", kind, "auc"): agreement.auc(group[name], truth, group["qid"], resamples, seed) for name in names}
    return found


def chosen(table: pd.DataFrame) -> list[str]:
    """Of each family of scorers (``scorers.family``) the form whose score best tells verbatim answers on half 0 (``auc``, mean over data sets), best first.

    All forms stay in ``table`` (the variants table), since each was tried; forms bound to the answer's length are never chosen. Of equal ones the
    first by name.
    """
    rows = table[(table["quantity"] == "auc") & (table["half"] == "0") & (table["rows"] == "verbatim")]
    mean = rows.groupby("scorer")["estimate"].mean().dropna().sort_index().sort_values(ascending=False, kind="stable")
    best: dict[str, str] = {}
    for name in (n for n in mean.index if not n.endswith(scorers.LENGTH_BOUND)):
        best.setdefault(scorers.family(name), name)
    return list(best.values())
