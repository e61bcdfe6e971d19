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
from lib.keys import as_text, check_once, keyed
from lib.whole import check_seed

LISTS = ("H", "V", "R")  # graph retrieval, dense retrieval, the reranked list
NO_LIST = {"H": "no list H", "V": "no list V", "R": "no list by the reranker"}
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
    the document does). Ids are compared as text: a qid of 7 is that of "7". A target whose ``unit`` is missing is none. Raises ValueError for missing columns
    or ids, other lists, a target or place given twice, vectors of another length, and a vector or feature that is not finite.
    """
    lists, targets, questions = _checked(lists, targets, questions, vectors, unit)
    questions = questions.assign(position=range(len(questions))).sort_values(["dataset", "qid"], ignore_index=True)
    sets, left = [], []
    for dataset, asked in questions.groupby("dataset"):
        mine = lists[lists["dataset"] == dataset]
        goal = targets[targets["dataset"] == dataset].dropna(subset=[unit]).set_index("qid")[unit]
        ready, reasons = asked["qid"].isin(goal.index), {"no last hop": int((~asked["qid"].isin(goal.index)).sum())}
        for name in LISTS:
            has = asked["qid"].isin(mine.loc[mine["list"] == name, "qid"])
            reasons[NO_LIST[name]], ready = int((ready & ~has).sum()), ready & has
        left += [(dataset, reason, n) for reason, n in reasons.items() if n]
        asked = asked[ready]
        if len(asked):
            sets.append(_set(str(dataset), asked, mine, goal, vectors, fit_distilled, unit))
    return sets, pd.DataFrame(left, columns=LEFT_OUT)


def _checked(lists: pd.DataFrame, targets: pd.DataFrame, questions: pd.DataFrame, vectors: np.ndarray | None, unit: str) -> list[pd.DataFrame]:
    """Lists, targets and questions with their ids as text."""
    needed = ((lists, COLUMNS, "lists"), (targets, ["dataset", "qid", "doc_id", "title"], "targets"), (questions, ["dataset", "qid", "question"], "questions"))
    for frame, columns, name in needed:
        if missing := [c for c in columns if c not in frame]:
            raise ValueError(f"{name}: columns {missing} are missing, found {list(frame)}")
    if unit not in ("doc_id", "title"):
        raise ValueError(f"unit must be doc_id or title, got {unit!r}")
    if other := set(lists["list"]) - set(LISTS):
        raise ValueError(f"lists: names must be {', '.join(LISTS)} (D is learned inside the folds), got {sorted(other)}")
    check_ranks(lists, "lists")
    made = [keyed(frame, name) for frame, _, name in needed]
    for frame, name, more in zip(made, ("lists", "targets", "questions"), (["list", "rank"], [], [])):
        check_once(frame, ["dataset", "qid", *more], name)
    if vectors is not None and (np.ndim(vectors) != 2 or len(vectors) != len(questions)):
        raise ValueError(f"got {len(vectors)} vectors of shape {np.shape(vectors)} for {len(questions)} questions; give one a row, in the order of questions")
    return made


def check_ranks(found: pd.DataFrame, name: str) -> None:
    """Raise ValueError unless every rank is a whole number of 1 or more."""
    ranks = pd.to_numeric(found["rank"], errors="coerce").astype(float)
    if (wrong := ~((ranks >= 1) & (ranks % 1 == 0))).any():
        raise ValueError(f"{name}: ranks count from 1, got {found['rank'][wrong].iloc[0]!r}; rank each list 1, 2, 3, ...")


def _set(dataset: str, asked: pd.DataFrame, lists: pd.DataFrame, goal: pd.Series, vectors: np.ndarray | None, fit: FitDistilled | None,
         unit: str) -> QuestionSet:
    qids = asked["qid"].to_numpy(str)
    features = feature_table(lists, asked)[list(NAMES)].to_numpy(float)
    own = np.zeros((len(asked), 0)) if vectors is None else np.asarray(vectors, float)[asked["position"].to_numpy()]
    if len(wrong := qids[~np.isfinite(own).all(axis=1)]):
        raise ValueError(f"vectors: that of question {str(wrong[0])!r} of {dataset} holds a NaN or an infinite number; encode the question again")
    ranks = {name: target_ranks(lists[lists["list"] == name], goal, qids, unit) for name in LISTS}
    return QuestionSet(dataset, qids, features, own, ranks, None if fit is None else _distiller(fit, dataset, qids, goal, unit))


def _distiller(fit: FitDistilled, dataset: str, qids: np.ndarray, goal: pd.Series, unit: str) -> Distil:
    """Ranks of the targets in the lists D that ``fit`` makes; it raises ValueError where a question has none, as where its qid comes back in another form."""

    def distil(train: np.ndarray, ahead: np.ndarray) -> np.ndarray:
        made = fit(dataset, qids[train].tolist(), qids[ahead].tolist())
        check_ranks(made, f"the lists D of {dataset}")
        if len(absent := np.setdiff1d(qids[ahead], as_text(made["qid"], "qid").to_numpy(str))):
            raise ValueError(f"the lists D of {dataset} lack {len(absent)} of {len(ahead)} questions, {str(absent[0])!r} first; fit_distilled is asked for "
                             "qids as text and gives rows for each")
        return target_ranks(made, goal, qids[ahead], unit)

    return distil


def target_ranks(found: pd.DataFrame, goal: pd.Series, qids: Sequence[str], unit: str = "doc_id") -> np.ndarray:
    """The best rank of each question's target in a list (qid, rank, ``unit``), infinite where it is absent; ``goal``: the targets, by qid, each once.

    Ids are compared as text; what is missing matches nothing.

    >>> target_ranks(pd.DataFrame({"qid": ["a", "a"], "rank": [1, 2], "doc_id": ["x", "y"]}), pd.Series({"a": "y", "b": "y"}), ["a", "b"]).tolist()
    [2.0, inf]
    """
    goal = as_text(goal, unit).set_axis(as_text(goal.index.to_series(), "qid").to_numpy())
    asked, told = as_text(found["qid"], "qid"), as_text(found[unit], unit)
    wanted = asked.map(goal)
    hits = told.notna().to_numpy() & wanted.notna().to_numpy() & told.eq(wanted).fillna(False).to_numpy(bool)
    best = found["rank"][hits].astype(float).groupby(asked[hits]).min()
    return best.reindex([str(q) for q in qids]).fillna(np.inf).to_numpy()


def permuted(data: QuestionSet, test: np.ndarray, seed: int = 0) -> QuestionSet:
    """``data`` with the labels (ranks in every list, D's too) of the questions ``test`` exchanged among them; features and vectors stay."""
    check_seed(seed)
    order = np.arange(len(data.qids))
    order[test] = np.random.default_rng(seed).permutation(test)
    old = data.distil
    distil = None if old is None else lambda train, ahead: old(train, order[ahead])
    return data._replace(ranks={name: ranks[order] for name, ranks in data.ranks.items()}, distil=distil)
