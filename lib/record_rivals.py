"""What the rivals' models said of the sample's candidates, recorded: notebook 02 then runs neither of them (SPEC 4, 5).

usage: python -m lib.record_rivals     scores what is in no layer and writes data/sample/recorded/ (self-information; the reranker's scores of snippets)
"""
from __future__ import annotations

import pandas as pd

from lib import record_cross_encoder, rivals_relevance, rivals_surprise, settings, tables
from lib.cross_encoder import cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_model import Pair
from lib.store import Store

TIER = "sample"


def pool(tier: str = TIER) -> pd.DataFrame:
    """The candidates of the published setting: the snippets table's rows of its pool, chunks alone, with title and question."""
    snippets, questions, documents = tables.read_all(tier, "snippets", "questions", "documents")
    mine = snippets[(snippets["pool_id"] == settings.pool_id(settings.setting())) & (snippets["representation"] == "chunk")]
    return mine.merge(documents[["dataset", "doc_id", "title"]], on=["dataset", "doc_id"]).merge(questions[["dataset", "qid", "question"]], on=["dataset", "qid"])


def snippet_pairs(rows: pd.DataFrame) -> list[Pair]:
    """(question, snippet under its title) of every row of ``pool``."""
    return rivals_relevance.snippet_pairs(rows["question"], rows["title"], rows["text"])


def record(store: Store | None = None) -> list[str]:
    """Export self-information of every candidate passage, and the reranker's scores of snippets beside whatever else it scored; the files' names.

    Raises CrossEncoderError or ReaderError where a model is needed and not here.
    """
    store, rows = store or Store(), pool()
    documents = tables.read("documents", TIER)
    rivals_surprise.surprises(rows, documents, store)
    keys = rivals_surprise.surprise_keys(rivals_surprise.units(rows, documents))
    spec, pairs = {"model": rivals_relevance.MODEL}, [*record_cross_encoder.asked(TIER), *snippet_pairs(rows)]
    score_pairs(pairs, spec, store)
    return [store.export(rivals_surprise.surprise_group(), keys).name, store.export(cross_encoder_group(spec), pair_keys(pairs, spec), keep=True).name]


if __name__ == "__main__":
    print("\n".join(record()))
