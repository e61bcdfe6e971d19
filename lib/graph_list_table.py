"""What the graph list H finds beside the other first stages, and what each of its choices does (document 002; SPEC 2, 12)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import graph_list, stats
from lib.encoders import Encoder
from lib.graph_list_choices import CHOSEN, Choices
from lib.parts import halves
from lib.pool_union import H, V
from lib.ranking import QUESTION, ranking_measures
from lib.whole import check_draws

MEASURES = ("recall_at_5", "all_gold_at_5", "last_hop_hit_at_1", "last_hop_hit_at_5", "last_hop_hit_at_10", "title_last_hop_hit_at_1",
            "title_last_hop_hit_at_5", "title_last_hop_hit_at_10")
CHOSEN_BY = ("recall_at_5", "last_hop_hit_at_5")  # the mean of both, over data sets, on half 0, chose the list's choices
ALL_HOPS = 0
COLUMNS = ["tier", "dataset", "half", "n_hops", "ranker", "minus", "measure", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "wins", "losses", "n",
           "undefined"]
VARIANTS: tuple[dict, ...] = (  # one choice at a time
    {}, {"damping": 0.5}, {"damping": 0.7}, {"synonym": 1.1}, {"synonym": 0.7}, {"relation": 0.0}, {"topic": False}, {"seeds": "triples"}, {"seeds": "both"},
    {"specific": False}, {"link": 1.1}, *({"passage_share": s} for s in (0.0, 0.1, 0.3, 0.5, 1.0)), {"passages": 10}, {"passages": 1000})


def per_question(rankings: pd.DataFrame, gold: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame, rankers: Sequence[str] | None = None,
                 scope: str = "pooled") -> pd.DataFrame:
    """MEASURES of every question and ranker, wide, with n_hops (missing: not known) and half; title columns: any passage of the title counts."""
    mine = rankings[(rankings["scope"] == scope) & (rankings["ranker"].isin(rankers) if rankers is not None else True)]
    ks = sorted({int(m.rpartition("_")[2]) for m in MEASURES})
    found = ranking_measures(mine, gold.merge(questions[QUESTION], on=QUESTION), ks, documents=documents)
    return found[[*QUESTION, "ranker", *MEASURES]].merge(questions.reindex(columns=[*QUESTION, "n_hops", "half"]), on=QUESTION)


def compared(measured: pd.DataFrame, tier: str, control: str | None = V, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Levels of every ranker (``minus`` none) and differences to ``control``, paired by question, for all questions and each number of hops; COLUMNS.

    Intervals: cluster bootstrap over questions, 95 %. p_holm: Holm over the differences of one data set, half and number of hops. A number of hops with
    fewer than two defined questions has NaN.
    """
    check_draws(resamples, seed)
    rows = []
    for half, part in halves(measured):
        for dataset, group in part.groupby("dataset"):
            strata = [(ALL_HOPS, group), *((int(h), g) for h, g in group.groupby("n_hops"))]
            for hops, stratum in strata if len(strata) != 2 else strata[:1]:  # one number of hops alone is all of them
                wide = stratum.pivot(index="qid", columns="ranker", values=list(MEASURES)).astype(float).sort_index()
                rows += [[tier, dataset, half, hops, *row] for row in _differences(wide, control, resamples, seed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _differences(wide: pd.DataFrame, control: str | None, resamples: int, seed: int) -> list[list]:
    """[ranker, minus, measure, estimate, low, high, p, p_holm, wins, losses, n, undefined] of each level and difference, from one draw of questions."""
    minus = {(m, r): wide[m, r] - wide[m, control] for m, r in wide.columns if control in wide[m] and r != control}
    columns = [*((m, r, "none", wide[m, r]) for m, r in wide.columns), *((m, r, control, d) for (m, r), d in minus.items())]
    found = stats.paired_cluster_bootstraps(np.column_stack([c[-1] for c in columns]), wide.index, resamples, seed) if len(wide) else []
    p = np.array([np.nan if c[2] == "none" else i.p_value for c, i in zip(columns, found)])
    out = []
    for (measure, ranker, less, values), i, raw, adjusted in zip(columns, found, p, stats.holm(p) if len(p) else p):
        signs = [pd.NA, pd.NA] if less == "none" else [int((values > 0).sum()), int((values < 0).sum())]
        out.append([ranker, less, measure, i.estimate, i.low, i.high, raw, adjusted, *signs, i.n, int(values.isna().sum())])
    return out


def ablated(questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, encoder: Encoder, variants: Iterable[Mapping] = VARIANTS,
            base: Choices = CHOSEN, **more) -> pd.DataFrame:
    """The graph list with one choice changed at a time: a row a data set, half and variant; the means of MEASURES, n, fell_back (questions without a phrase).

    ``choice`` names what differs from ``base`` ("as chosen": nothing); ``chosen_by`` is the mean of CHOSEN_BY. ``more`` goes to ``graph_list.rank_all``.
    """
    rows = []
    for changed in variants:
        for dataset, asked in questions.groupby("dataset"):
            told = documents[documents["dataset"] == dataset]
            made, started = graph_list.rank_all(asked, told, encoder, 10, choices=base._replace(**changed), **more)
            if len(made):
                found = per_question(made, gold, asked, told, [H]).merge(started, on=QUESTION)
                for half, part in halves(found):
                    means = part[list(MEASURES)].mean()
                    name = ", ".join(f"{k} {v}" for k, v in changed.items()) or "as chosen"
                    rows.append({"dataset": dataset, "half": half, "choice": name, "chosen_by": means[list(CHOSEN_BY)].mean(), **means, "n": len(part),
                                 "fell_back": int(part["fell_back"].sum())})
    return pd.DataFrame(rows, columns=["dataset", "half", "choice", "chosen_by", *MEASURES, "n", "fell_back"])
