"""The training questions of ``tuned``: each seen through several candidate pools, with its features and where the answer stands."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lib import evidence, packers, packing, retrieval, settings, survival, tuned_features

POOLS = ({}, {"depth": 8}, {"ranker": "bm25"}, {"ranker": "hybrid"})  # the first is the published one, on which a rule is judged
TABLES = ("questions", "gold", "documents", "pools", "rankings")


@dataclass(frozen=True)
class Example:
    """One question with one pool: features (n, f), whether each snippet holds the answer (n,) bool, the candidates, the documents and the gold ones."""

    dataset: str
    qid: str
    pool: str
    features: np.ndarray
    holds: np.ndarray
    candidates: packers.Candidates
    documents: tuple[str, ...]
    gold: frozenset[str]


def rankings(tables: Mapping[str, pd.DataFrame], encoder: retrieval.Encoder, cache: Path | None, depth: int = 10) -> pd.DataFrame:
    """First-stage lists over each training question's own paragraphs."""
    parts = []
    for name, asked in tables["questions"].groupby("dataset"):
        documents, pools = (tables[k][tables[k]["dataset"] == name] for k in ("documents", "pools"))
        parts.append(retrieval.rank(asked, documents, pools, encoder, scopes=("own",), depth=depth, cache=cache))
    return pd.concat(parts, ignore_index=True)


def examples(tables: Mapping[str, pd.DataFrame], encoder: retrieval.Encoder, cache: Path | None, pools: Sequence[Mapping] = POOLS) -> list[Example]:
    """One Example a question with a span to look for and a pool, sorted by pool (in the order given), data set and id; ``tables`` with ``rankings``."""
    made = []
    for name in sorted(tables["questions"]["dataset"].unique()):
        bench = packing.Bench(*(tables[k][tables[k]["dataset"] == name] for k in TABLES), encoder, cache)
        for changes in pools:
            made += _through(bench, settings.setting(**changes))
    order = [settings.pool_id(settings.setting(**p)) for p in pools]
    return sorted(made, key=lambda e: (order.index(e.pool), e.dataset, e.qid))


def _through(bench: packing.Bench, s: dict) -> list[Example]:
    """The questions of one data set through one pool."""
    snippets, (_, vectors), pool = bench.snippets(s), bench.cut(s)[:2], settings.pool_id(s)
    groups = dict(list(titled(snippets[snippets["pool_id"] == pool], bench.documents).groupby("qid")))
    gold = bench.gold.groupby("qid")["doc_id"].agg(frozenset).to_dict()
    made = []
    for q in bench.questions.itertuples():
        defined = survival.answer_in_context(q.answers, [], q.question_type).defined
        if not defined or q.qid not in groups:
            continue
        rows = groups[q.qid].sort_values(["doc_rank", "position"], kind="stable")
        unit = np.stack([vectors[i] for i in rows["snippet_id"]])
        holds = np.array([survival.answer_in_context(q.answers, [t], q.question_type).value for t in rows["text"]], bool)
        features = tuned_features.matrix(q.question, rows, unit, bench.asked[q.qid])
        made.append(Example(q.dataset, q.qid, pool, features, holds, evidence.candidates(q.question, rows, unit), tuple(rows["doc_id"]),
                            gold.get(q.qid, frozenset())))
    return made


def titled(snippets: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """Snippets with their documents' titles."""
    return snippets.merge(documents[["dataset", "doc_id", "title"]], on=["dataset", "doc_id"], how="left", validate="many_to_one")
