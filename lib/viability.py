"""Is reranking viable: what each query's pool omits, what its order could still gain, and what a reranker made of it (document 001; SPEC 11).

usage: python -m lib.viability --run first.trec --qrels qrels.txt --reranked reranked.trec --out folder      (--help lists everything)

A *pool* is what the first stage retrieved for a query. Its *ceiling* is the score of its best order under the judgements. The score lost
before any reranker starts is the *omission gap*, 1 - ceiling; what order alone could add is the *ordering headroom*, ceiling - base.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import grades, ranking
from lib.viability_lists import KEY, listed, oracle_order, pools_of, reranked_within, variants

SETUP = ["first_stage", "reranker", "depth", "cutoff", "gain"]
SCORES = ("base", "reranked", "ceiling", "omission_gap", "ordering_headroom", "realised_gain", "regression")
BOUNDS = ("base_worst", "base_best", "reranked_worst", "reranked_best", "base_condensed", "reranked_condensed")
LISTS = {"base": "first", "reranked": "reranked"}  # a score and the list it is of
ROUNDING = 1e-12  # below this a difference of two sums of the same gains is no difference (document 001's script uses it, too)
NO_JUDGEMENT, NO_RELEVANT = "not judged", "no relevant passage"


def audit(
    first: pd.DataFrame,
    judgements: pd.DataFrame,
    reranked: pd.DataFrame | None = None,
    cutoff: int = 10,
    depth: int | None = None,
    gains: Sequence[str] = grades.GAINS,
    bounds: bool = True,
) -> pd.DataFrame:
    """Audit every query: one row per (dataset, qid, gain), all scores nDCG@cutoff in [0, 1] (SPEC 11).

    ``first`` and ``reranked`` hold one ranker each in the form of the rankings table (dataset, qid, ranker, rank, doc_id, score);
    ``judgements`` dataset, qid, doc_id, grade (missing: uncertain, treated as unjudged). ``depth`` cuts the pool. Columns: ``SETUP``; undefined
    (why, empty where defined); n_relevant, n_negative, n_candidates, in_first, in_reranked, judged_first, judged_reranked (judged share of the first
    ``cutoff``); candidate_recall, graded_coverage, mrr_first, mrr_reranked; ``SCORES`` and headroom_capture (missing without headroom);
    ``BOUNDS``: the scores if ties fell as badly or as well as can be, and without the unjudged passages (the scores themselves
    where ``bounds`` is False). A judged query that a run
    lacks scores 0 and stays. Raises ValueError for repeated documents, several rankers, or a reranked list with passages that the first
    stage did not retrieve: that is a second retrieval and has no ceiling here.
    """
    if cutoff < 1 or first.empty or (reranked is not None and reranked.empty):
        raise ValueError(
            f"a cutoff of at least 1 and lists that hold something are needed, got cutoff {cutoff}, {len(first):,} retrieved rows and "
            f"{'no' if reranked is None else f'{len(reranked):,}'} reranked ones"
        )
    known = judgements.dropna(subset=["grade"])[[*KEY, "doc_id", "grade"]].astype({"grade": float}).drop_duplicates()
    pools = pools_of(first, depth)
    lists = {"first": pools} | ({} if reranked is None else {"reranked": listed(reranked_within(reranked, pools, first))})
    lists |= {"oracle": oracle_order(pools, known)} | (variants(lists, known) if bounds else {})
    setup = {
        "first_stage": _name(first),
        "reranker": "none" if reranked is None else _name(reranked),
        "depth": depth or int(pools["rank"].max()),
        "cutoff": cutoff,
    }
    rows = [_audited(lists, known, cutoff, form).assign(**setup, gain=form) for form in gains]
    return checked(pd.concat(rows)[[*KEY, *SETUP, *rows[0].columns.difference([*KEY, *SETUP], sort=False)]].reset_index(drop=True))


def _name(rankings: pd.DataFrame) -> str:
    names = sorted(rankings["ranker"].unique()) if "ranker" in rankings else []
    if len(names) > 1:
        raise ValueError(f"one ranker at a time is audited, got {names}; keep the rows of one")
    return names[0] if names else "run"


def _audited(lists: dict[str, pd.DataFrame], judgements: pd.DataFrame, cutoff: int, form: str) -> pd.DataFrame:
    every = pd.concat([rows.assign(ranker=name) for name, rows in lists.items()], ignore_index=True)
    measured = ranking.ranking_measures(every, judgements, [cutoff], form)
    wide = {name: part.set_index(KEY) for name, part in measured.groupby("ranker")}
    first, nothing = wide["first"], wide["first"]["mrr"] * np.nan
    relevant, counts = first["n_gold"] > 0, judgements.groupby(KEY).size().reindex(first.index).fillna(0)

    def of(name: str, column: str, missing: float = 0.0) -> pd.Series:
        """A column of one list; ``missing`` where it has nothing for a query that could be scored."""
        if name not in lists:
            return nothing
        return wide[name][column].reindex(first.index).fillna(missing).where(relevant) if name in wide else nothing.fillna(missing).where(relevant)

    worth = judgements.assign(worth=grades.gain(judgements["grade"], form), one=(judgements["grade"] > 0).astype(float))
    held = worth.merge(lists["first"][[*KEY, "doc_id"]], on=[*KEY, "doc_id"]).groupby(KEY)[["one", "worth"]].sum().reindex(first.index).fillna(0)
    shares = (held / worth.groupby(KEY)[["one", "worth"]].sum().reindex(first.index)).where(relevant)
    ndcg, judged = f"ndcg_at_{cutoff}", f"judged_at_{cutoff}"
    again = wide.get("reranked")
    rows = pd.DataFrame(
        {
            "undefined": np.select([counts == 0, ~relevant], [NO_JUDGEMENT, NO_RELEVANT], ""),
            "n_relevant": first["n_gold"],
            "n_negative": first["n_negative"],
            "n_candidates": lists["first"].groupby(KEY).size().reindex(first.index).fillna(0).astype(int),
            "in_first": first["in_rankings"],
            "in_reranked": False if again is None else again["in_rankings"].reindex(first.index).eq(True),
            "judged_first": first[judged],
            "judged_reranked": nothing if again is None else again[judged],
            "candidate_recall": shares["one"],
            "graded_coverage": shares["worth"],
            "mrr_first": first["mrr"],
            "mrr_reranked": of("reranked", "mrr"),
        },
        index=first.index,
    )
    rows = rows.join(split(first[ndcg], of("oracle", ndcg), of("reranked", ndcg)))
    for bound in BOUNDS:
        name, _, end = bound.partition("_")
        changed = wide.get(f"{LISTS[name]}_{end}")
        rows[bound] = rows[name] if changed is None else changed[ndcg].where(changed["in_rankings"]).reindex(rows.index).fillna(rows[name])
    return rows.reset_index()


def split(base: pd.Series, ceiling: pd.Series, reranked: pd.Series) -> pd.DataFrame:
    """``SCORES`` and headroom_capture from three scores of the same queries; base + ordering_headroom + omission_gap = 1 (document 001).

    >>> one = lambda x: pd.Series([x])
    >>> split(one(1.0), one(1.0), one(0.7)).round(3).iloc[0].to_dict()  # doctest: +NORMALIZE_WHITESPACE
    {'base': 1.0, 'reranked': 0.7, 'ceiling': 1.0, 'omission_gap': 0.0, 'ordering_headroom': 0.0, 'realised_gain': -0.3, 'regression': 0.3,
     'headroom_capture': nan}
    """

    def plain(x: pd.Series) -> pd.Series:
        return x.mask(x.abs() < ROUNDING, 0.0)

    headroom, gained = plain(ceiling - base), plain(reranked - base)
    return pd.DataFrame(
        {
            "base": base,
            "reranked": reranked,
            "ceiling": ceiling,
            "omission_gap": plain(1 - ceiling),
            "ordering_headroom": headroom,
            "realised_gain": gained,
            "regression": gained.clip(upper=0).abs(),
            "headroom_capture": gained / headroom.where(headroom > 0),
        }
    )


def checked(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` as they are; ValueError where base + headroom + omission is not 1 or a reranked list beats its ceiling: a fault in here."""
    whole = rows["base"] + rows["ordering_headroom"] + rows["omission_gap"]
    wrong = ((whole - 1).abs() > 1e-9) | (rows["reranked"] > rows["ceiling"] + 1e-9) | (rows["ordering_headroom"] < 0)
    if wrong.any():
        row = rows[wrong].iloc[0]
        raise ValueError(
            f"query {row['qid']!r}: base {row['base']}, reranked {row['reranked']}, ceiling {row['ceiling']} break base + headroom + omission = 1 "
            "or reranked <= ceiling"
        )
    return rows


if __name__ == "__main__":
    from lib.viability_cli import main

    raise SystemExit(main())
