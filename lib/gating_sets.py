"""Question sets for a gate from the table gate_candidates: its lists H, V and R, the student D, the targets (document 002, sections 2 to 4).

A target is the passage that a question's chain ends in; a question without one is left out and counted.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import graph_list_distilled as distilled
from lib.gating_inputs import COLUMNS, FitDistilled, QuestionSet, question_sets
from lib.gating_lists import title_key
from lib.keys import check_once, keyed
from lib.ranking import QUESTION

PLACES = {"H": ("rank_h", "score_h"), "V": ("rank_v", "score_v"), "R": ("rank_r", "score_r")}
SHOWN = 10  # places of H and V that a gate looks at: deeper ones are in the candidates only where the other list holds them
LEFT_OUT = ["tier", "dataset", "reason", "questions"]


def lists_of(candidates: pd.DataFrame) -> pd.DataFrame:
    """The lists H, V (ten places each) and R as ``gating_inputs`` takes them: COLUMNS; ``title`` is the title's key. A list that nobody made has no row.

    Raises ValueError for a candidate given twice and a list that leaves a place out.
    """
    check_once(candidates, [*QUESTION, "doc_id"], "candidates", "name each passage of a question once")
    parts = []
    for name, (rank, score) in PLACES.items():
        rows = candidates[candidates[rank].notna() & (candidates[rank].astype(float).fillna(np.inf) <= (np.inf if name == "R" else SHOWN))]
        parts.append(rows[QUESTION].assign(list=name, rank=rows[rank].astype(int), doc_id=rows["doc_id"], title=rows["title_key"],
                                           score=rows[score].astype(float)))
    lists = pd.concat(parts, ignore_index=True)[COLUMNS].sort_values([*QUESTION, "list", "rank"], ignore_index=True)
    if (holed := lists["rank"] != lists.groupby([*QUESTION, "list"]).cumcount() + 1).any():
        raise ValueError(f"candidates: the ranks of {lists.loc[holed, [*QUESTION, 'list']].iloc[0].to_dict()} do not count 1, 2, 3, ... (found "
                         f"{lists.loc[holed, 'rank'].iloc[0]}), so the table was changed after it was made")
    return lists


def targets_of(gold: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """The last hop of each question that has one: dataset, qid, doc_id, title (its key)."""
    last = gold[gold["is_last_hop"].eq(True).fillna(False).astype(bool)]
    titles = documents[["dataset", "doc_id", "title"]]
    rows = last[[*QUESTION, "doc_id"]].merge(titles, on=["dataset", "doc_id"], how="left", validate="many_to_one")
    return rows.assign(title=[title_key(t, d) for t, d in zip(rows["title"], rows["doc_id"])])


def distiller(candidates: pd.DataFrame) -> FitDistilled:
    """``fit(dataset, train, ahead)``: the lists D of the questions ``ahead`` by a student of the reranker's orders of the questions ``train`` alone."""
    candidates = keyed(candidates, "candidates")  # the folds ask for qids as text
    check_once(candidates, [*QUESTION, "doc_id"], "candidates", "give new questions qids of their own")
    rows = distilled.place_features(candidates)
    titles = candidates[[*QUESTION, "doc_id", "title_key"]].rename(columns={"title_key": "title"})
    teacher = candidates.loc[candidates["rank_r"].notna(), [*QUESTION, "doc_id", "rank_r"]].rename(columns={"rank_r": "rank"})
    rows = rows.merge(titles, on=[*QUESTION, "doc_id"], validate="one_to_one").sort_values([*QUESTION, "rank"], ignore_index=True)
    taught = distilled.sums(rows, teacher)
    parts = dict(list(rows.groupby("dataset")))

    def fit(dataset: str, train: Sequence[str], ahead: Sequence[str]) -> pd.DataFrame:
        student = distilled.fit(taught, [(dataset, q) for q in train])
        mine = parts[dataset][parts[dataset]["qid"].isin(list(ahead))]
        made = mine[["qid", "doc_id", "title", "rank"]].assign(score=distilled.scores(student, mine))
        made = made.sort_values(["qid", "score", "rank"], ascending=[True, False, True], ignore_index=True)
        return made.assign(rank=made.groupby("qid").cumcount() + 1)[["qid", "rank", "doc_id", "title"]]

    return fit


def student_of(candidates: pd.DataFrame, data: QuestionSet) -> distilled.Student | None:
    """The student of D fitted on all questions of ``data``, to be saved with a gate; None where the reranker ordered none of them."""
    mine = keyed(candidates, "candidates").query("dataset == @data.dataset")
    teacher = mine.loc[mine["rank_r"].notna(), [*QUESTION, "doc_id", "rank_r"]].rename(columns={"rank_r": "rank"})
    if teacher.empty:
        return None
    return distilled.fit(distilled.sums(distilled.place_features(mine), teacher), [(data.dataset, q) for q in data.qids])


def sets_of(candidates: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, questions: pd.DataFrame, vectors: np.ndarray | None = None,
            tier: str = "sample") -> tuple[list[QuestionSet], pd.DataFrame]:
    """(question sets by name, LEFT_OUT: questions that no gate can be learned from, with the reason). ``vectors`` (n, d): a row a row of ``questions``."""
    lists = lists_of(candidates)
    fit = distiller(candidates) if (lists["list"] == "R").any() else None
    sets, left = question_sets(lists, targets_of(gold, documents), questions[[*QUESTION, "question"]], vectors, fit)
    return sets, left.assign(tier=tier)[LEFT_OUT]
