"""Which passages hold the answer: what the retriever ranked and what the judgements call gold, passage by passage (SPEC 7, 9)."""
from __future__ import annotations

import pandas as pd

from lib import survival

KEY = ["dataset", "qid", "doc_id"]


def holders(questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, rankings: pd.DataFrame, scope: str, ranker: str, depth: int) -> pd.DataFrame:
    """The holders table: every passage in the pool (the first ``depth`` of one ranking) and every gold passage, a row each.

    Columns: dataset, qid, doc_id, rank (1 first; missing beyond the pool), is_gold, holds_answer (1: an accepted answer stands verbatim in the
    passage's text; 0 also where the question has no span to look for). Titles are not text. Raises ValueError where the ranking is not there.

    >>> q = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "answers": [["Rome"]], "question_type": ["single"]})
    >>> docs = pd.DataFrame({"dataset": "d", "doc_id": ["a", "b"], "text": ["Jerome lived here.", "Rome burns."]})
    >>> g = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "doc_id": ["b"]})
    >>> r = pd.DataFrame({"dataset": ["d"], "qid": ["q"], "doc_id": ["a"], "scope": ["own"], "ranker": ["dense"], "rank": [1]})
    >>> holders(q, g, docs, r, "own", "dense", 5)[["doc_id", "is_gold", "holds_answer"]].values.tolist()
    [['a', False, 0], ['b', True, 1]]
    """
    listed = rankings[(rankings["scope"] == scope) & (rankings["ranker"] == ranker) & (rankings["rank"] <= depth)]
    if listed.empty:
        raise ValueError(f"table rankings holds no list of scope {scope!r} and ranker {ranker!r}; rerun 01 or change the setting of 02")
    rows = listed[[*KEY, "rank"]].merge(gold[KEY].drop_duplicates().assign(is_gold=True), on=KEY, how="outer", validate="one_to_one")
    rows["is_gold"] = rows["is_gold"].eq(True).fillna(False).astype(bool)
    asked = rows.merge(questions[["dataset", "qid", "answers", "question_type"]], on=["dataset", "qid"], how="left", validate="many_to_one")
    told = asked.merge(documents[["dataset", "doc_id", "text"]], on=["dataset", "doc_id"], how="left", validate="many_to_one")
    if told[["answers", "text"]].isna().any(axis=None):
        lost = told[told["answers"].isna() | told["text"].isna()].iloc[0]
        raise ValueError(f"passage {lost.doc_id!r} of question {lost.qid!r} ({lost.dataset}) is in no table documents, or its question in no table questions; rerun 01")
    found = survival.answers_in_contexts(told["answers"], [[t] for t in told["text"]], told["question_type"])
    return rows.assign(holds_answer=found["answer_in_context"].to_numpy())
