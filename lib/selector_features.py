"""What is known of a question before anything is read: the features of the policy selector (document 000, section 5.0.0.5; SPEC 8)."""
from __future__ import annotations

import itertools
import json

import pandas as pd

from lib.settings import pool_id
from lib.text import content_terms
from lib.wording import compared

KEY = ["dataset", "qid"]
MEANING = {  # a name that ends in _ stands for one column a packer (or a pair of packers)
    "question_words": "words of the question", "question_terms": "its distinct content terms",
    "top_score": "first-stage score of the first document", "score_gap": "its lead over the second", "score_drop": "its lead over the last of the pool",
    "score_sd": "spread of the pool's scores",
    "n_candidates": "candidate snippets", "n_documents": "documents they come from", "pressure": "tokens of all candidates over the budget",
    "top_relevance": "relevance of the most relevant candidate", "relevance_gap": "its lead over the second",
    "relevance_sd": "spread of the candidates' relevance",
    "fill_": "tokens packed over the budget", "snippets_": "snippets packed", "documents_": "documents packed",
    "packed_relevance_": "relevance packed over that of all candidates", "overlap_": "snippets in both packs over snippets in either"}


def features(questions: pd.DataFrame, rankings: pd.DataFrame, snippets: pd.DataFrame, packs: pd.DataFrame, settings: pd.DataFrame, pack_id: str,
             budget: int) -> pd.DataFrame:
    """A row a question: dataset, pack_id, budget, qid and the columns of ``MEANING``, for one pack and budget.

    Gold, answers and outcomes are not looked at. What does not exist (the gap of a pool of one document) is missing. Raises ValueError for a
    ``pack_id`` that table settings does not know.
    """
    known = settings.loc[settings["kind"] == "pack"].set_index("id")["settings"]
    if pack_id not in known:
        raise ValueError(f"pack_id {pack_id!r} is not in table settings; it has {', '.join(known.index)}")
    s = json.loads(known[pack_id])
    listed = rankings[(rankings["scope"] == s["scope"]) & (rankings["ranker"] == s["ranker"]) & (rankings["rank"] <= s["depth"])]
    pool = snippets[(snippets["pool_id"] == pool_id(s)) & (snippets["representation"] == s["representation"])]
    packed = packs[(packs["pack_id"] == pack_id) & (packs["budget"] == budget)]
    out = questions[KEY].assign(pack_id=pack_id, budget=budget, question_words=questions["question"].str.split().map(len),
                                question_terms=[len(set(content_terms(q))) for q in questions["question"]])
    for made in (_scores(listed), _candidates(pool, budget), _packed(packed, pool, budget), _overlaps(packed)):
        out = out.merge(made.reset_index(), on=KEY, how="left", validate="one_to_one")
    nothing = {c: 0 for c in out if c.startswith(("n_", "pressure", "fill_", "snippets_", "documents_"))}
    return out.fillna(nothing).sort_values(KEY, ignore_index=True)


def _lead(rows: pd.DataFrame, value: str, place: str) -> pd.DataFrame:
    """First, second and last of ``value`` and its spread, by question, in the order of the column ``place``."""
    ordered = rows.sort_values([*KEY, place], kind="stable").astype({value: float})
    of = ordered.groupby(KEY)[value]
    second = ordered[of.cumcount() == 1].set_index(KEY)[value]
    return pd.DataFrame({"first": of.first(), "second": second.reindex(of.first().index), "last": of.last(), "sd": of.std(ddof=0)})


def _scores(listed: pd.DataFrame) -> pd.DataFrame:
    of = _lead(listed, "score", "rank")
    return pd.DataFrame({"top_score": of["first"], "score_gap": of["first"] - of["second"], "score_drop": of["first"] - of["last"], "score_sd": of["sd"]})


def _candidates(pool: pd.DataFrame, budget: int) -> pd.DataFrame:
    of, by = _lead(pool.assign(down=-pool["relevance"]), "relevance", "down"), pool.groupby(KEY)
    return pd.DataFrame({"n_candidates": by.size(), "n_documents": by["doc_id"].nunique(), "pressure": by["n_tokens"].sum() / budget,
                         "top_relevance": of["first"], "relevance_gap": of["first"] - of["second"], "relevance_sd": of["sd"]}).astype(float)


def _packed(packed: pd.DataFrame, pool: pd.DataFrame, budget: int) -> pd.DataFrame:
    """Of each compared packer: fill, snippets, documents and the share of the candidates' relevance that it packed."""
    if packed.empty:
        return pd.DataFrame(index=pd.MultiIndex.from_arrays([[], []], names=KEY))
    scored = packed[[*KEY, "policy", "snippet_id", "doc_id", "n_tokens"]].merge(pool[[*KEY, "snippet_id", "relevance"]], on=[*KEY, "snippet_id"], how="left")
    total, columns = pool.groupby(KEY)["relevance"].sum(), {}
    for policy in compared(list(packed["policy"].unique())):
        by = scored[scored["policy"] == policy].groupby(KEY)
        columns |= {f"fill_{policy}": by["n_tokens"].sum() / budget, f"snippets_{policy}": by.size(), f"documents_{policy}": by["doc_id"].nunique(),
                    f"packed_relevance_{policy}": by["relevance"].sum() / total.where(total > 0)}
    return pd.DataFrame(columns).astype(float)


def _overlaps(packed: pd.DataFrame) -> pd.DataFrame:
    """Of each pair of packers: the share of snippets that both packed (1 where both packed nothing)."""
    if packed.empty:
        return pd.DataFrame(index=pd.MultiIndex.from_arrays([[], []], names=KEY))
    sets = packed.groupby([*KEY, "policy"])["snippet_id"].agg(frozenset).unstack("policy")
    pairs = itertools.combinations(compared(list(sets.columns)), 2)
    taken = sets.map(lambda v: v if isinstance(v, frozenset) else frozenset())
    return pd.DataFrame({f"overlap_{a}_{b}": [_jaccard(x, y) for x, y in zip(taken[a], taken[b])] for a, b in pairs}, index=sets.index)


def _jaccard(one: frozenset, other: frozenset) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
