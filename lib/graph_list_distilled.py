"""The list D of document 002: a cheap student that orders the pool of H and V as the expensive reranker would (SPEC 10, 12).

The student is a ridge regression, a weight a feature, on what the two lists already know of a candidate. Its target is the teacher's order within the
question, worth 1 / log2(1 + rank): the top of the list counts most. Everything is centred within the question, since only the order there matters.
Normal equations add up over questions, so fitting on any set of training questions is a sum of small matrices: refitting in every fold of a nested
cross-validation costs next to nothing, and no question outside the set that is given leaves a trace in the weights.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import text
from lib.keys import check_once, told_texts
from lib.pool_union import COLUMNS as POOLED
from lib.ranking import QUESTION
from lib.retrieval import passage
from lib.whole import is_number

RIDGE = 1.0    # added to the diagonal, in candidates: features are scaled to spread 1 over the training candidates
RANKER = "distilled"
UNSEEN = 51    # rank of a passage that a list of 50 does not hold
WORDS = ("overlap", "overlap_title", "title_named", "length")
FEATURES = ("rr_h", "rr_v", "log_rank_h", "log_rank_v", "top_h", "top_v", "in_both", "score_h", "score_v", "gap_h", "gap_v", *WORDS)


class Student(NamedTuple):
    """A weight a feature (f,), on features divided by ``scale`` (f,); ``questions``: how many it was fitted on."""

    weights: np.ndarray
    scale: np.ndarray
    questions: int


class Sums(NamedTuple):
    """Of every question: its key (q,), its candidates' features and targets as sums (q, f, f) and (q, f), and their number (q,)."""

    key: pd.MultiIndex
    gram: np.ndarray
    cross: np.ndarray
    size: np.ndarray


def features(pooled: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """``pooled`` (``lib.pool_union.pool``) with the columns FEATURES: all from the two lists and the words, none from gold or teacher."""
    return place_features(word_features(pooled, questions, documents))


def word_features(pooled: pd.DataFrame, questions: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """``pooled`` with the columns WORDS, which need the texts: shares of the question's words, is the title named, log of the length in characters.

    A missing question, title or text has no words. Raises ValueError for a question or document that ``pooled`` names and that is not given, or given twice.
    """
    check_once(questions, QUESTION, "questions")
    check_once(documents, ["dataset", "doc_id"], "documents")
    questions, documents = told_texts(questions, ["question"], "questions"), told_texts(documents, ["title", "text"], "documents")
    asked = {k: frozenset(text.content_terms(q)) for k, q in zip(zip(questions["dataset"], questions["qid"]), questions["question"])}
    told = {(d.dataset, d.doc_id): (frozenset(text.content_terms(d.title)), frozenset(text.content_terms(passage(d.title, d.text))), len(d.text))
            for d in documents.itertuples()}
    for key, known, name in ((QUESTION, asked, "questions"), (["dataset", "doc_id"], told, "documents")):
        if absent := sorted(set(zip(*(pooled[c] for c in key))) - set(known), key=str):
            raise ValueError(f"{name}: {dict(zip(key, absent[0]))} of the pool is not there ({len(absent)} such); give the tables the lists were made from")
    words = [(asked[d, q], *told[d, i]) for d, q, i in zip(pooled["dataset"], pooled["qid"], pooled["doc_id"])]
    return pooled[POOLED].assign(
        overlap=[len(q & body) / max(len(q), 1) for q, _, body, _ in words], overlap_title=[len(q & title) / max(len(q), 1) for q, title, _, _ in words],
        title_named=[float(bool(title) and title <= q) for q, title, _, _ in words], length=[np.log(1 + n) for *_, n in words])


def place_features(worded: pd.DataFrame) -> pd.DataFrame:
    """``worded`` (from ``word_features``) with all columns FEATURES: places and scores in the two lists need no text."""
    rank = {s: worded[f"rank_{s}"].astype(float).fillna(UNSEEN) for s in "hv"}
    made = {f"rr_{s}": 1 / rank[s] for s in "hv"} | {f"log_rank_{s}": np.log(rank[s]) for s in "hv"} | {f"top_{s}": (rank[s] == 1).astype(float) for s in "hv"}
    made["in_both"] = (worded["rank_h"].notna() & worded["rank_v"].notna()).astype(float)
    for s in "hv":
        score, by = worded[f"score_{s}"].astype(float), [worded[k] for k in QUESTION]
        low, high = score.groupby(by).transform("min"), score.groupby(by).transform("max")
        made[f"score_{s}"] = ((score - low) / (high - low).where(high > low)).fillna(0.0)
        made[f"gap_{s}"] = (score / high.where(high > 0)).fillna(0.0)
    return worded[[*POOLED, *WORDS]].assign(**made)


def sums(candidates: pd.DataFrame, teacher: pd.DataFrame) -> Sums:
    """What fitting needs, a question at a time. ``candidates``: from ``features``; ``teacher``: dataset, qid, doc_id, rank by the expensive reranker.

    A question that the teacher did not order is left out; candidates it did not rank stand behind those it did. Raises ValueError for a row given
    twice, a rank below 1, and a feature that is not finite.
    """
    key = [*QUESTION, "doc_id"]
    check_once(teacher, key, "the teacher's list", "give one list of the reranker alone")
    check_once(candidates, key, "candidates", "give the pool of one pair of lists")
    if (wrong := teacher["rank"].astype(float) < 1).any():
        raise ValueError(f"the teacher's list: {teacher.loc[wrong, [*key, 'rank']].iloc[0].to_dict()} cannot be; ranks count from 1")
    if (wrong := ~np.isfinite(candidates[list(FEATURES)].to_numpy(float))).any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(f"candidates: {FEATURES[column]} of {candidates.iloc[row][key].to_dict()} is not finite; compute the features again")
    rows = candidates.merge(teacher[[*key, "rank"]].rename(columns={"rank": "taught"}), on=key, how="left", validate="one_to_one")
    taught = rows["taught"].astype(float)
    rows = rows.assign(target=(1 / np.log2(1 + taught)).fillna(0.0))[taught.groupby([rows[k] for k in QUESTION]).transform("count") > 0]
    rows = rows.sort_values(key, ignore_index=True)
    names, places = [*FEATURES, "target"], rows.groupby(QUESTION)
    centred = (rows[names] - places[names].transform("mean")).to_numpy(float)
    index, sizes = places.ngroup().to_numpy(), places.size()
    gram = np.zeros((len(sizes), len(names), len(names)))
    np.add.at(gram, index, centred[:, :, None] * centred[:, None, :])
    return Sums(pd.MultiIndex.from_tuples(list(sizes.index), names=QUESTION), gram[:, :-1, :-1], gram[:, :-1, -1], sizes.to_numpy())


def fit(of: Sums, train: Collection[tuple[str, str]], ridge: float = RIDGE) -> Student:
    """The student of the questions in ``train`` (dataset, qid) alone; raises ValueError where none of them was ordered by the teacher, and for a ridge that is
    no number above 0: some features are sums of others, and without a ridge no weights are better than all others."""
    if not is_number(ridge, 0) or ridge == 0:
        raise ValueError(f"ridge must be a number above 0, got {ridge!r}; the list D is made with {RIDGE}")
    chosen = of.key.isin(list(train))
    if not chosen.any():
        raise ValueError(f"none of {len(train)} training questions was ordered by the teacher; rerank the pools of the training questions first")
    gram, cross, n = of.gram[chosen].sum(0), of.cross[chosen].sum(0), of.size[chosen].sum()
    spread = np.sqrt(np.diagonal(gram) / n)
    scale = np.where(spread > 1e-9, spread, 1.0)
    scaled = gram / np.outer(scale, scale) + ridge * np.eye(len(scale))
    return Student(np.linalg.solve(scaled, cross / scale), scale, int(chosen.sum()))


def scores(student: Student, candidates: pd.DataFrame) -> np.ndarray:
    """The student's score of each row of ``candidates``; comparable within a question only. Shape (rows,)."""
    return np.round(candidates[list(FEATURES)].to_numpy(float) @ (student.weights / student.scale), 9)


def ordered(candidates: pd.DataFrame, scored: np.ndarray, name: str = RANKER, scope: str = "pooled") -> pd.DataFrame:
    """Rows of the rankings table: each pool by ``scored``; ties go to the pool's own rank."""
    rows = candidates[[*QUESTION, "doc_id", "rank"]].assign(score=scored).sort_values([*QUESTION, "score", "rank"], ascending=[True, True, False, True],
                                                                                       ignore_index=True)
    return rows[QUESTION].assign(scope=scope, ranker=name, rank=rows.groupby(QUESTION).cumcount() + 1, doc_id=rows["doc_id"], score=rows["score"])
