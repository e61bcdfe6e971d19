"""The reranker's scores of the sample tier's candidates, written to the recorded layer (SPEC 5, 11)."""
from __future__ import annotations

import pandas as pd

from lib import rerankers_sample, tables
from lib.cross_encoder import cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_model import Pair
from lib.retrieval import passage
from lib.store import Store
from lib.tables import ROOT

DEPTH = 20  # of the list over all passages
SPEC = {"model": "reranker"}


def candidates(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, rankings: pd.DataFrame, ranker: str = "dense",
               depth: int = DEPTH) -> pd.DataFrame:
    """What a reranker is asked: a row a (dataset, qid, doc_id) of the first ``depth`` of the pooled list and of the question's own paragraphs.

    Columns dataset, qid, doc_id, text_a (the question), text_b (title and text); sorted, without repeats.
    """
    key = ["dataset", "qid", "doc_id"]
    pooled = rankings[(rankings["scope"] == "pooled") & (rankings["ranker"] == ranker) & (rankings["rank"] <= depth)]
    rows = pd.concat([pooled[key], pools[key]]).drop_duplicates().sort_values(key, ignore_index=True)
    rows = rows.merge(questions[["dataset", "qid", "question"]], on=["dataset", "qid"], validate="many_to_one")
    rows = rows.merge(documents[["dataset", "doc_id", "title", "text"]], on=["dataset", "doc_id"], validate="many_to_one")
    texts = [passage(title, text) for title, text in zip(rows["title"], rows["text"])]
    return rows[key].assign(text_a=rows["question"], text_b=texts)


def asked(tier: str = "sample") -> list[Pair]:
    """The (question, passage) pairs of a tier's candidates and of its reranked lists, each once."""
    questions, documents, pools, rankings = tables.read_all(tier, "questions", "documents", "pools", "rankings")
    rows = candidates(questions, documents, pools, rankings)
    return list(dict.fromkeys([*zip(rows["text_a"], rows["text_b"]), *rerankers_sample.union_pairs(rankings, questions, documents)]))


def record(pairs: list[Pair] | None = None, spec: dict = SPEC, store: Store | None = None) -> str:
    """Score the pairs without looking at what is recorded, and export these; the file written, relative to the root.

    What stands in the file for another purpose (``record_rivals``: snippets) stays.

    Raises CrossEncoderError where the model is needed and not trained.
    """
    pairs, store = asked() if pairs is None else pairs, store or Store(ignore_recorded=True)
    score_pairs(pairs, spec, store)
    path = store.export(cross_encoder_group(spec), pair_keys(pairs, spec), keep=True)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
