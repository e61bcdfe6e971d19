"""The graph list H of document 002, in the manner of HippoRAG 2: passages ranked by a walk over a graph of phrases and passages (SPEC 10, 12).

The walk starts at phrases that the question names or asks about, and at passages like the question; at every step it goes on along an edge or starts again.
How often it visits a passage is the passage's score: its personalised PageRank. So a passage is found that shares no word with the question, if what the
question names leads there: "Who drew the Old Bridge?" starts at *old bridge*, whose passage holds *edda vane*, whose own passage tells where she was born.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import graph_list_index, graph_list_parse, graph_list_seeds, retrieval
from lib.encoders import Encoder
from lib.encoders import encoder as encoder_of
from lib.graph_list_choices import CHOSEN, Choices, checked
from lib.graph_list_kept import Index
from lib.keys import check_ids, check_once, told_texts
from lib.ranking import QUESTION
from lib.store import Store
from lib.vectors import CACHE, DIMENSIONS, embed, truncate

RANKER, SCOPE = "graph", "pooled"
COLUMNS = ["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"]
STARTED = ["dataset", "qid", "names", "linked", "lost", "triples", "seeds", "fell_back"]
DIGITS = 12  # decimals of a score: its last bits must not decide between passages; the solver itself is right to some 3e-7


def rank(questions: pd.DataFrame, documents: pd.DataFrame, encoder: Encoder, depth: int = 50, cache: Path | None = CACHE, dimensions: int = DIMENSIONS,
         **more) -> pd.DataFrame:
    """The rankings rows of one data set, ranker ``graph``, scope ``pooled``; ``depth`` documents at most. ``more``: see ``rank_all``."""
    return rank_all(questions, documents, encoder, depth, cache, dimensions, **more)[0]


def rank_all(questions: pd.DataFrame, documents: pd.DataFrame, encoder: Encoder, depth: int = 50, cache: Path | None = CACHE, dimensions: int = DIMENSIONS,
             *, choices: Choices = CHOSEN, parser: graph_list_parse.Parser | None = None, store: Store | None = None, linker: Encoder | None = None,
             graphs: Path | None = graph_list_index.CACHE, name: str = RANKER) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows for the rankings table, where each question's walk started: STARTED), of one data set.

    ``encoder`` gives the passage seeds, ``linker`` (a static model where None) says which names and triples are near; parses are kept in ``store``, graphs in
    ``graphs``. A question without a phrase in the graph starts at passages alone (fell_back). Score: PageRank of the passage, sum over all nodes 1. No rows
    without documents. A missing question, title or text is an empty one; passages of one text stand by doc_id. Raises ValueError for choices that cannot be,
    a question or document given twice, several data sets, and what ``retrieval.check_ranking`` refuses.
    """
    checked(choices)
    retrieval.check_ranking((SCOPE,), depth, dimensions)
    if not len(documents) or not len(questions):
        return pd.DataFrame(columns=COLUMNS), pd.DataFrame(columns=STARTED)
    check_ids(questions, "questions", QUESTION)
    check_once(questions, QUESTION, "questions", "ask each question once")
    if questions["dataset"].nunique() > 1:
        raise ValueError(f"questions of the data sets {sorted(questions['dataset'].unique(), key=str)}; rank one at a time, or use rank_sets")
    questions, documents = told_texts(questions, ["question"], "questions"), told_texts(documents, ["title", "text"], "documents")
    parser, linker = parser or graph_list_parse.SpacyParser(), linker or encoder_of(graph_list_index.LINKER)
    made = graph_list_index.index(documents, choices, parser, store, linker, graphs)
    asked = questions["question"].tolist()
    found = graph_list_seeds.seeds(asked, graph_list_parse.parsed(asked, parser, store), made, linker, choices)
    passages = [retrieval.passage(d.title, d.text) for d in documents.iloc[made.order].itertuples()]
    cosines = retrieval.dense_scores(truncate(embed(asked, encoder, cache), dimensions), truncate(embed(passages, encoder, cache), dimensions))
    graph, ids = linked(made, choices), documents["doc_id"].to_numpy()[made.order]
    rows, started = [], []
    for i, (dataset, qid) in enumerate(zip(questions["dataset"], questions["qid"])):
        start, fell_back = graph_list_seeds.starts(found[i], cosines[i], len(made.phrases), choices)
        scores = visited(graph, start, choices.damping, len(ids))
        best = retrieval.ordered(scores, np.arange(len(ids)), depth)  # passages stand in the order of tie_breaks
        rows.append((dataset, qid, best, scores[best]))
        s = found[i]
        started.append((dataset, qid, s.names, s.linked, s.lost, s.triples, len(s.phrases), fell_back))
    return _table(rows, ids, name), pd.DataFrame(started, columns=STARTED)


def linked(index: Index, choices: Choices = CHOSEN):
    """The weighted igraph graph of an index: passages first, then phrases; parallel edges add up."""
    import igraph

    n = len(index.order)
    kinds = [(index.contains + [0, n], np.ones(len(index.contains))), (index.relations + n, choices.relation * index.said), (index.synonyms + n, index.cosines)]
    edges, weights = (np.concatenate(part) for part in zip(*kinds))
    kept = weights > 0
    return igraph.Graph(n=n + len(index.phrases), edges=edges[kept], edge_attrs={"weight": weights[kept]})


def visited(graph, start: np.ndarray, damping: float, n_passages: int) -> np.ndarray:
    """Personalised PageRank of the first ``n_passages`` nodes for a walk that starts again by ``start``; zeros where it has nowhere to start."""
    if not start.sum() > 0:
        return np.zeros(n_passages)
    found = graph.personalized_pagerank(vertices=range(n_passages), directed=False, damping=damping, reset=start.tolist(), weights="weight")
    return np.round(found, DIGITS)


def _table(rows: Sequence[tuple], ids: np.ndarray, name: str) -> pd.DataFrame:
    lengths = [len(best) for _, _, best, _ in rows]
    made = [np.repeat(np.array([r[0] for r in rows], object), lengths), np.repeat(np.array([r[1] for r in rows], object), lengths), SCOPE, name,
            np.concatenate([np.arange(1, n + 1) for n in lengths]), ids[np.concatenate([r[2] for r in rows])], np.concatenate([r[3] for r in rows])]
    return pd.DataFrame(dict(zip(COLUMNS, made)))


def rank_sets(questions: pd.DataFrame, documents: pd.DataFrame, encoder: Encoder, depth: int = 50, dimensions: int = DIMENSIONS, cache: Path | None = CACHE,
              **more) -> pd.DataFrame:
    """``rank`` for every data set: rows to add to the rankings table."""
    parts = [rank(asked, documents[documents["dataset"] == name], encoder, depth, cache, dimensions, **more) for name, asked in questions.groupby("dataset")]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
