"""An iterative retriever: retrieve, take the bridge, retrieve again (SPEC 9, "beyond"; document 000, section 6.3, asks for one that is qualitatively
different).

Multi-hop evidence is like the question only in its first hop; what the second hop is about stands in the first passage. So the passage that is most like the
question is taken as the *bridge*, the names in it that the question does not mention are added to the question, and the same encoder retrieves again. No
language model, nothing trained, no randomness. The final list holds the first ``keep`` of the first retrieval, then the second retrieval's order.

How it was chosen: mean all-gold@5 over HotpotQA, 2Wiki and MuSiQue in both scopes, on half 0 of each slice; half 1 confirms (table unlock). Tried there:
dense alone 0.455; bridge as a vector added to the question's (27 settings of weight, beam and share) at best 0.493; question + the bridge's best sentence, at
best 0.536; question + the whole passage, at best 0.534; question + new names, keep 1, 2, 3, 4: 0.581, 0.596, 0.591, 0.589; the two best passages as bridges
0.563, 0.581, 0.589, 0.575; fused by reciprocal ranks (k 1, 5, 20) 0.576 and less, by added cosines (weights 0.5, 1, 2) 0.563 and less, by the best path 0.581;
a third retrieval from the second bridge 0.583 and less. What was kept: new names, one bridge, keep 2, one step.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import retrieval, text
from lib.rankers import ITERATIVE as RANKER
from lib.tables import ROOT
from lib.whole import is_whole

KEEP, MOST_NAMES = 2, 8
COLUMNS = ["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"]
CACHE = ROOT / "data" / "cache" / "vectors"
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_JOINS = {"of", "the", "and", "de", "la", "von", "van"}


def names(told: str) -> list[str]:
    """Runs of capitalised words in ``told``, in order, each once; "of", "the" and the like may join two of them.

    >>> names("The Duke of Harrow met Isott Vane. He left Harrow in May.")
    ['The Duke of Harrow', 'Isott Vane', 'He', 'Harrow', 'May']
    """
    runs: list[list[re.Match]] = []
    waiting: list[re.Match] = []  # lower-case joints that count only if a capital follows
    end = -1
    for word in _WORD.finditer(told):
        beside = end >= 0 and told[end:word.start()].isspace()
        if word[0][0].isupper() and beside and runs:
            runs[-1] += [*waiting, word]
        elif word[0][0].isupper():
            runs.append([word])
        if word[0][0].isupper() or (beside and word[0] in _JOINS and len(waiting) < 2):
            waiting = [] if word[0][0].isupper() else [*waiting, word]
            end = word.end()
        else:
            waiting, end = [], -1
    return list(dict.fromkeys(told[run[0].start():run[-1].end()] for run in runs))


def new_names(question: str, told: str, most: int = MOST_NAMES) -> list[str]:
    """The names in ``told`` with a content word that ``question`` lacks, at most ``most`` of them, in order.

    >>> new_names("Who drew the Old Bridge of Tollwick?", "Old Bridge. The Old Bridge of Tollwick was drawn by Isott Vane in May.")
    ['Isott Vane', 'May']
    """
    known = set(text.content_terms(question))
    return [name for name in names(told) if set(text.content_terms(name)) - known][:most]


def second_question(question: str, title: str, body: str) -> str:
    """The question with what is new in its bridge; the question itself where the bridge names nothing new."""
    return " ".join([question, *new_names(question, retrieval.passage(title, body))])


def fused(first: np.ndarray, second: np.ndarray, ties: np.ndarray, bridge: int, keep: int) -> np.ndarray:
    """Scores whose order is the first ``keep`` of ``first``, then ``second`` (cosines; shapes (n,)); the bridge, found already, is not found again.

    >>> fused(np.array([0.9, 0.5, 0.4]), np.array([0.8, 0.1, 0.6]), np.arange(3), 0, keep=1).round(1).tolist()
    [2.9, 0.1, 0.6]
    """
    kept = retrieval.ordered(first, ties, keep)
    scores = second.copy()
    scores[bridge] = -1.0
    scores[kept] = 2.0 + first[kept]
    return scores


def rank(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: retrieval.Encoder, scopes: Sequence[str] = ("own", "pooled"),
         depth: int = 50,
         cache: Path | None = CACHE, dimensions: int = retrieval.DIMENSIONS, keep: int = KEEP) -> pd.DataFrame:
    """The rankings rows of one data set, ranker ``iterative``, in the form of ``retrieval.rank``; ``depth`` documents at most.

    Raises ValueError for a pool that names an unknown document, what ``retrieval.check_ranking`` refuses, and for ``keep`` below 1.
    """
    if not is_whole(keep, 1):
        raise ValueError(f"keep must be a whole number of 1 or more, since the bridge stays in the list; got {keep!r}")
    retrieval.check_ranking(scopes, depth, dimensions)
    passages = [retrieval.passage(d.title, d.text) for d in documents.itertuples()]
    vectors = retrieval.truncate(retrieval.embed(passages, encoder, cache), dimensions)
    asked = retrieval.truncate(retrieval.embed(questions["question"].tolist(), encoder, cache), dimensions)
    first, ties = retrieval.dense_scores(asked, vectors), retrieval.tie_breaks(passages)
    inside = _inside(questions, documents, pools, scopes)
    bridges = {key: there[retrieval.ordered(first[key[0]][there], ties[there], 1)[0]] for key, there in inside.items() if len(there)}
    doc, told = documents.reset_index(drop=True), questions["question"].tolist()
    again = {pair: second_question(told[pair[0]], doc["title"].iat[pair[1]], doc["text"].iat[pair[1]]) for pair in {(i, b) for (i, _), b in bridges.items()}}
    found = retrieval.truncate(retrieval.embed(list(again.values()), encoder, cache), dimensions)
    second = dict(zip(again, retrieval.dense_scores(found, vectors))) if again else {}
    rows = []
    for (i, scope), bridge in bridges.items():
        there = inside[i, scope]
        scores = fused(first[i][there], second[i, bridge][there], ties[there], int(np.flatnonzero(there == bridge)[0]), keep)
        best = retrieval.ordered(scores, ties[there], depth)
        rows += [(questions["dataset"].iat[i], questions["qid"].iat[i], scope, RANKER, r, doc["doc_id"].iat[there[j]], float(scores[j])) for r,
                 j in enumerate(best, 1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _inside(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, scopes: Sequence[str]) -> dict[tuple[int, str], np.ndarray]:
    """(row of questions, scope) -> rows of ``documents`` that may be found; empty where a question has no pool."""
    place = {d: i for i, d in enumerate(documents["doc_id"])}
    if len(lost := pools[~pools["doc_id"].isin(list(place))]):
        raise ValueError(f"the pool of question {lost['qid'].iat[0]!r} names document {lost['doc_id'].iat[0]!r}, which is not in table documents")
    own = {q: np.array([place[d] for d in group]) for q, group in pools.groupby("qid")["doc_id"]}
    everything = np.arange(len(place))
    return {(i, scope): everything if scope == "pooled" else own.get(q, everything[:0]) for scope in scopes for i, q in enumerate(questions["qid"])}


def rank_sets(questions: pd.DataFrame, documents: pd.DataFrame, pools: pd.DataFrame, encoder: retrieval.Encoder, depth: int = 50,
              dimensions: int = retrieval.DIMENSIONS, cache: Path | None = CACHE, keep: int = KEEP) -> pd.DataFrame:
    """``rank`` for every data set: rows to add to the rankings table."""
    parts = [rank(asked, documents[documents["dataset"] == name], pools[pools["dataset"] == name], encoder, depth=depth, dimensions=dimensions, cache=cache,
                  keep=keep)
             for name, asked in questions.groupby("dataset")]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
