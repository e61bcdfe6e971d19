"""What a gate is learned from: lists, targets, questions and vectors of each data set, brought into arrays once (document 002, sections 3 and 4).

Everything that looks at a target goes through ``QuestionSet.ranks`` and ``QuestionSet.distil``, so that ``permuted`` can give held-out questions other labels
and a test can ask whether any decision moves.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.gating_features import NAMES, feature_table

LISTS = ("H", "V", "R")  # graph retrieval, dense retrieval, the reranked list
COLUMNS = ["dataset", "qid", "list", "rank", "doc_id", "title", "score"]
LEFT_OUT = ["dataset", "reason", "questions"]
Distil = Callable[[np.ndarray, np.ndarray], np.ndarray]
FitDistilled = Callable[[str, Sequence[str], Sequence[str]], pd.DataFrame]


class QuestionSet(NamedTuple):
    """One data set: ``features`` (n, 27), ``vectors`` (n, d), ``ranks`` of the target in H, V and R (n,) from 1, infinite where it is absent.

    ``distil(train, ahead)``: ranks of the targets of the questions ``ahead`` in lists D learned from the questions ``train`` (positions); None without D.
    """

    dataset: str
    qids: np.ndarray
    features: np.ndarray
    vectors: np.ndarray
    ranks: Mapping[str, np.ndarray]
    distil: Distil | None


def question_sets(lists: pd.DataFrame, targets: pd.DataFrame, questions: pd.DataFrame, vectors: np.ndarray | None = None,
                  fit_distilled: FitDistilled | None = None, unit: str = "doc_id") -> tuple[list[QuestionSet], pd.DataFrame]:
    """The question sets by name, and what was left out (dataset, reason, questions).

    ``lists``: COLUMNS, list in LISTS; ``targets``: dataset, qid, doc_id, title of the last hop; ``vectors`` (n, d): a row a row of ``questions`` (dataset, qid,
    question). ``fit_distilled(dataset, train qids, ahead qids)`` gives qid, rank, doc_id, title. ``unit``: title counts any passage of the target's title (as
    the document does). Raises ValueError for missing columns, other lists, a target or place given twice, or vectors of another length.
    """
    _check(lists, targets, questions, vectors, unit)
    questions = questions.assign(position=range(len(questions))).sort_values(["dataset", "qid"], ignore_index=True)
    sets, left = [], []
    for dataset, asked in questions.groupby("dataset"):
        mine = lists[lists["dataset"] == dataset]
        goal = targets[targets["dataset"] == dataset].set_index("qid")[unit]
        ready, reasons = asked["qid"].isin(goal.index), {"no last hop": int((~asked["qid"].isin(goal.index)).sum())}
        for name in LISTS:
            has = asked["qid"].isin(mine.loc[mine["list"] == name, "qid"])
            reasons[f"no list {name}"], ready = int((ready & ~has).sum()), ready & has
        left += [(dataset, reason, n) for reason, n in reasons.items() if n]
        asked = asked[ready]
        if len(asked):
            sets.append(_set(str(dataset), asked, mine, goal, vectors, fit_distilled, unit))
    return sets, pd.DataFrame(left, columns=LEFT_OUT)


def _check(lists: pd.DataFrame, targets: pd.DataFrame, questions: pd.DataFrame, vectors: np.ndarray | None, unit: str) -> None:
    needed = ((lists, COLUMNS, "lists"), (targets, ["dataset", "qid", "doc_id", "title"], "targets"), (questions, ["dataset", "qid", "question"], "questions"))
    for frame, columns, name in needed:
        if missing := [c for c in columns if c not in frame]:
            raise ValueError(f"{name}: columns {missing} are missing, found {list(frame)}")
    if unit not in ("doc_id", "title"):
        raise ValueError(f"unit must be doc_id or title, got {unit!r}")
    if len(lists) and not lists["rank"].ge(1).all():
        raise ValueError(f"lists: ranks count from 1, got {lists['rank'].min()}")
    if other := set(lists["list"]) - set(LISTS):
        raise ValueError(f"lists: names must be {', '.join(LISTS)} (D is learned inside the folds), got {sorted(other)}")
    for frame, key, name in ((lists, ["dataset", "qid", "list", "rank"], "lists"), (targets, ["dataset", "qid"], "targets"),
                             (questions, ["dataset", "qid"], "questions")):
        if frame.duplicated(key).any():
            raise ValueError(f"{name}: {frame.loc[frame.duplicated(key), key].iloc[0].to_dict()} is given twice")
    if vectors is not None and len(vectors) != len(questions):
        raise ValueError(f"got {len(vectors)} vectors for {len(questions)} questions; give one a row, in the order of questions")


def _set(dataset: str, asked: pd.DataFrame, lists: pd.DataFrame, goal: pd.Series, vectors: np.ndarray | None, fit: FitDistilled | None,
         unit: str) -> QuestionSet:
    qids = asked["qid"].to_numpy(str)
    features = feature_table(lists, asked)[list(NAMES)].to_numpy(float)
    own = np.zeros((len(asked), 0)) if vectors is None else np.asarray(vectors, float)[asked["position"].to_numpy()]
    ranks = {name: target_ranks(lists[lists["list"] == name], goal, qids, unit) for name in LISTS}
    distil = None if fit is None else lambda train, ahead: target_ranks(fit(dataset, qids[train].tolist(), qids[ahead].tolist()), goal, qids[ahead], unit)
    return QuestionSet(dataset, qids, features, own, ranks, distil)


def target_ranks(found: pd.DataFrame, goal: pd.Series, qids: Sequence[str], unit: str = "doc_id") -> np.ndarray:
    """The best rank of each question's target in a list (qid, rank, ``unit``), infinite where it is absent; ``goal``: the targets, by qid.

    >>> target_ranks(pd.DataFrame({"qid": ["a", "a"], "rank": [1, 2], "doc_id": ["x", "y"]}), pd.Series({"a": "y", "b": "y"}), ["a", "b"]).tolist()
    [2.0, inf]
    """
    hits = found[found[unit].to_numpy() == found["qid"].map(goal).to_numpy()]
    return hits.groupby("qid")["rank"].min().reindex(qids).astype(float).fillna(np.inf).to_numpy()


def permuted(data: QuestionSet, test: np.ndarray, seed: int = 0) -> QuestionSet:
    """``data`` with the labels (ranks in every list, D's too) of the questions ``test`` exchanged among them; features and vectors stay."""
    order = np.arange(len(data.qids))
    order[test] = np.random.default_rng(seed).permutation(test)
    old = data.distil
    distil = None if old is None else lambda train, ahead: old(train, order[ahead])
    return data._replace(ranks={name: ranks[order] for name, ranks in data.ranks.items()}, distil=distil)
