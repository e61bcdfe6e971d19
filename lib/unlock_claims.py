"""The graph's counterpart of all-gold@5: rank claims in place of passages, and take the documents of the first five (document 000, Table 4, "ACE all-gold@5").

Document 000 does not say how its graph ranks. Here a claim, shown with the claim that introduces it (``lib.ace``), is ranked by the cosine of its vector and
the
question's, over the question's own passages. Several claims of one passage may stand among the first five, so five claims reach five documents at most.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lib import ace, ace_claims, ace_parse, retrieval, scope, stats
from lib.iterative import CACHE

FIRST = 5
COLUMNS = ["tier", "dataset", "half", "scope", "ranker", "depth", "policy", "measure", "against", "estimate", "ci_low", "ci_high", "p_value", "n", "clusters",
           "undefined"]


def claims(documents: pd.DataFrame, parser: ace_parse.Parser, cache: Path | None = CACHE, recorded: Mapping[str, dict] | None = None) -> pd.DataFrame:
    """The claims of one data set's ``documents`` with their introductions: dataset, doc_id, snippet_id, text. Parsing takes some 20 ms a passage, once."""
    parsed = ace_parse.parses(documents, parser, cache and cache.parent / "parses", recorded)
    cut = ace.cut(ace_claims.passages(documents, parsed), lambda texts: [0] * len(texts))
    return cut[["dataset", "doc_id", "snippet_id", "text"]]


def reached(scores: np.ndarray, doc_ids: np.ndarray, first: int = FIRST) -> list[str]:
    """The documents of the ``first`` best claims, best first, each once; equal scores by place.

    >>> reached(np.array([0.9, 0.8, 0.1]), np.array(["a", "a", "b"]), first=2)
    ['a']
    """
    best = np.argsort(-scores, kind="stable")[:first]
    return list(dict.fromkeys(doc_ids[best].tolist()))


def gold_reached(questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: retrieval.Encoder,
                 parser: ace_parse.Parser,
                 cache: Path | None = CACHE, recorded: Mapping[str, dict] | None = None, first: int = FIRST) -> pd.DataFrame:
    """One row a question with gold and a pool: dataset, qid, half, all_gold, recall, documents (how many the first claims reach). Scope own."""
    made = []
    for dataset, asked in questions.groupby("dataset"):
        pool = pools[pools["dataset"] == dataset]
        told = claims(documents[(documents["dataset"] == dataset) & documents["doc_id"].isin(pool["doc_id"])], parser, cache, recorded)
        vectors = retrieval.truncate(retrieval.embed(told["text"].tolist(), encoder, cache))
        asking = retrieval.truncate(retrieval.embed(asked["question"].tolist(), encoder, cache))
        own, wanted = pool.groupby("qid")["doc_id"].agg(set), gold[gold["dataset"] == dataset].groupby("qid")["doc_id"].agg(set)
        doc = told["doc_id"].to_numpy()
        for q, vector in zip(asked.itertuples(), asking):
            if q.qid in own.index and q.qid in wanted.index:
                there = np.flatnonzero(told["doc_id"].isin(own[q.qid]).to_numpy())
                found = reached(retrieval.dense_scores(vector[None], vectors[there])[0], doc[there], first)
                hit = len(wanted[q.qid] & set(found)) / len(wanted[q.qid])
                made.append((dataset, q.qid, q.half, float(hit == 1), hit, len(found)))
    return pd.DataFrame(made, columns=["dataset", "qid", "half", "all_gold", "recall", "documents"])


def unlock_rows(reached: pd.DataFrame, tier: str, depth: int = FIRST, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """``gold_reached`` as rows of the unlock table (ranker claims, depth in claims): means of all_gold, recall and documents, over all questions."""
    made = []
    for dataset, group in scope.sets(reached):
        measures = ["all_gold", "recall", "documents"]
        index = pd.MultiIndex.from_frame(group[["dataset", "qid"]])
        for measure, i in zip(measures, stats.paired_cluster_bootstraps(group[measures].to_numpy(float), index, resamples=resamples, seed=seed)):
            made.append((tier, dataset, "all", "own", "claims", depth, "none", measure, "none", i.estimate, i.low, i.high, np.nan, i.n, i.clusters, 0))
    return pd.DataFrame(made, columns=COLUMNS)
