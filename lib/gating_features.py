"""The 27 features a gate may look at before a reranker is called (document 002, Table 1): one function for research and for serving.

What the document leaves open is a constant below, and all of them enter ``SCHEMA``: an artefact learned from other features than those it is served is
refused by one comparison. Features of one question equal its row of the table bit for bit: both come from ``_features``, where every sum runs left to right.
"""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Hashable, Sequence
from numbers import Real

import numpy as np
import pandas as pd

from lib.keys import check_once, keyed

DEPTH = 10           # places of a list that are looked at
DDOF = 0             # of the standard deviation: the document states none, numpy divides by n
RANK_BASE = 0        # of H's first title in V: then the stated 10 for "absent" is one past the last place, 9
ABSENT = 10.0        # stated
CHARACTERS, WORDS = 200, 30  # stated divisors
WH_WORDS = ("what", "when", "where", "which", "who", "whom", "whose", "why", "how")
COMPARISON = (r"\b(both|same|or|than|between|older|younger|earlier|later|larger|bigger|smaller|longer|shorter|taller|higher|lower|came first|come first)\b")
AGGREGATION = r"\b(how many|how much|number of|total|sum|average|count|most|least|all of)\b"
MISSING = 0.0        # stated: a list shorter than i, a missing score, two empty title sets
DUPLICATES = (("h_max", "h_score_1"), ("v_max", "v_score_1"))  # equal for sorted lists; kept, since 27 are published
NAMES = ("h_score_1", "h_score_2", "h_score_3", "h_score_5", "h_gap_1_2", "h_gap_1_5", "h_max", "h_mean", "h_std",
         "v_score_1", "v_score_2", "v_score_5", "v_gap_1_2", "v_max", "v_mean", "v_std",
         "jaccard_1", "jaccard_3", "jaccard_5", "jaccard_10", "h1_rank_in_v",
         "q_chars", "q_words", "q_wh", "q_comparison", "q_aggregation", "q_unique_titles")
OPEN = {"depth": DEPTH, "ddof": DDOF, "rank_base": RANK_BASE, "absent": ABSENT, "characters": CHARACTERS, "words": WORDS, "wh_words": WH_WORDS,
        "comparison": COMPARISON, "aggregation": AGGREGATION, "missing": MISSING, "mean_over": "places that are there", "titles": "compared as given"}
SCHEMA = hashlib.sha256(json.dumps([NAMES, OPEN]).encode()).hexdigest()[:16]
_WORD = re.compile(r"[^\W\d_]+")
_COMPARISON, _AGGREGATION = (re.compile(p, re.IGNORECASE) for p in (COMPARISON, AGGREGATION))


def features_of(question: str, h: Sequence[tuple[str, float]], v: Sequence[tuple[str, float]]) -> np.ndarray:
    """The features of one question, (27,), from the (title, score) of lists H and V, best first. Raises ValueError for a score that is not finite.

    >>> dict(zip(NAMES, features_of("Who?", [("A", 2.0), ("B", 1.0)], [("B", 0.5)]).tolist()))["h_gap_1_2"]
    1.0
    """
    arrays, codes = [], {}
    for name, found in (("H", h), ("V", v)):
        _check_pairs(name, found)
        scores, titles = _empty(1)
        for place, (title, score) in enumerate(found[:DEPTH]):
            known = title if title != "" and (isinstance(title, str) or not pd.isna(title)) else (len(arrays), place)  # a missing title equals no other
            scores[0, place], titles[0, place] = np.nan if score is None else score, codes.setdefault(known, len(codes))
        arrays += [scores, titles]
    return _finite(_features(*arrays, [question]), lambda row: "this question")[0]


def feature_table(lists: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The features of every row of ``questions`` (dataset, qid, question): dataset, qid, then NAMES, in the order of ``questions``.

    ``lists``: dataset, qid, list (H and V are read), rank from 1, title, score. A question without a list has the features of an empty one. Raises ValueError
    for two rows of one place, a rank that is none, and a score that is not finite (missing: MISSING).
    """
    questions, lists = keyed(questions, "questions"), keyed(lists, "lists")
    where = pd.MultiIndex.from_frame(questions[["dataset", "qid"]])
    rows = lists[lists["list"].isin(["H", "V"]) & (lists["rank"] <= DEPTH)]
    check_once(rows, ["dataset", "qid", "list", "rank"], "lists", "rank each list 1, 2, 3, ...")
    if not ((rows["rank"] >= 1) & (rows["rank"] % 1 == 0)).all():
        raise ValueError("lists: ranks are whole numbers from 1; rank each list 1, 2, 3, ...")
    codes, known = pd.factorize(rows["title"].where(rows["title"].ne("")))
    rows = rows.assign(code=np.where(codes >= 0, codes, len(known) + np.arange(len(rows))))  # a missing title equals no other
    arrays = []
    for name in ("H", "V"):
        scores, titles = _empty(len(questions))
        part = rows[rows["list"] == name]
        at = where.get_indexer(pd.MultiIndex.from_frame(part[["dataset", "qid"]]))
        kept, place = at >= 0, part["rank"].to_numpy(int) - 1
        scores[at[kept], place[kept]], titles[at[kept], place[kept]] = part["score"].to_numpy(float)[kept], part["code"].to_numpy(int)[kept]
        arrays += [scores, titles]
    known = _finite(_features(*arrays, questions["question"].tolist()), lambda row: " of ".join(map(repr, where[row][::-1])))
    made = pd.DataFrame(known, columns=list(NAMES))
    return pd.concat([questions[["dataset", "qid"]].reset_index(drop=True), made], axis=1)


def _check_pairs(name: str, found: Sequence[tuple[str, float]]) -> None:
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise ValueError(f"list {name} is a {type(found).__name__}, expected a sequence of (title, score), best first")
    for pair in found[:DEPTH]:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], Hashable) or not isinstance(pair[1], (Real, type(None))):
            raise ValueError(f"list {name} holds {pair!r}, expected (title, score)")


def _finite(features: np.ndarray, who: Callable[[int], str]) -> np.ndarray:
    """``features`` (n, 27); raises ValueError where one is not finite, and ``who`` says whose."""
    if (wrong := ~np.isfinite(features)).any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(f"feature {NAMES[column]} of {who(int(row))} is {features[row, column]}: a score of its lists H or V is infinite or endlessly large; "
                         "give finite scores, or leave a missing one out")
    return features


def _empty(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n, DEPTH), np.nan), np.full((n, DEPTH), -1)


@np.errstate(invalid="ignore", over="ignore")  # what comes out infinite is refused by name
def _features(h_scores: np.ndarray, h_titles: np.ndarray, v_scores: np.ndarray, v_titles: np.ndarray, questions: Sequence[str]) -> np.ndarray:
    """(n, 27) from scores (n, DEPTH) and title codes (n, DEPTH; -1: no such place)."""
    h, v = _scores(h_scores, h_titles >= 0), _scores(v_scores, v_titles >= 0)
    same = (h_titles[:, :, None] == v_titles[:, None, :]) & (h_titles >= 0)[:, :, None]
    h_first, v_first = _first(h_titles), _first(v_titles)
    first_in_v = np.where(same[:, 0].any(axis=1), same[:, 0].argmax(axis=1) + RANK_BASE, ABSENT)
    asked = np.array([_question(q) for q in questions], float).reshape(-1, 5)
    columns = [h["at"][:, [0, 1, 2, 4]], h["at"][:, [0]] - h["at"][:, [1]], h["at"][:, [0]] - h["at"][:, [4]], h["moments"],
               v["at"][:, [0, 1, 4]], v["at"][:, [0]] - v["at"][:, [1]], v["moments"],
               *(_jaccard(same, h_first, v_first, k)[:, None] for k in (1, 3, 5, 10)), first_in_v[:, None], asked, h_first.sum(axis=1)[:, None] / DEPTH]
    return np.hstack(columns)


def _scores(scores: np.ndarray, there: np.ndarray) -> dict[str, np.ndarray]:
    """``at``: scores with MISSING where there is none; ``moments``: max, mean and std over the places that are there."""
    at = np.where(there & ~np.isnan(scores), scores, MISSING)
    n = there.sum(axis=1)
    mean = _total(np.where(there, at, 0)) / np.maximum(n, 1)
    std = np.sqrt(_total(np.where(there, (at - mean[:, None]) ** 2, 0)) / np.maximum(n - DDOF, 1))
    top = np.where(there, at, -np.inf).max(axis=1)
    return {"at": at, "moments": np.where((n > 0)[:, None], np.column_stack([top, mean, std]), MISSING)}


def _total(columns: np.ndarray) -> np.ndarray:
    """Row sums, left to right: numpy's own sum may add in another order for one row than for many."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total = total + column
    return total


def _first(titles: np.ndarray) -> np.ndarray:
    """Whether a place is there and its title stands at no earlier one."""
    earlier = np.tril(np.ones((DEPTH, DEPTH), bool), -1)
    return (titles >= 0) & ~((titles[:, :, None] == titles[:, None, :]) & earlier).any(axis=2)


def _jaccard(same: np.ndarray, h_first: np.ndarray, v_first: np.ndarray, k: int) -> np.ndarray:
    both = (same[:, :k, :k].any(axis=2) & h_first[:, :k]).sum(axis=1)
    union = h_first[:, :k].sum(axis=1) + v_first[:, :k].sum(axis=1) - both
    return np.where(union > 0, both / np.maximum(union, 1), MISSING)


def _question(question: str) -> tuple[float, ...]:
    said = question if isinstance(question, str) else ""
    words = [w.lower() for w in _WORD.findall(said)]
    flags = bool(_COMPARISON.search(said)), bool(_AGGREGATION.search(said))
    return (len(said) / CHARACTERS, len(said.split()) / WORDS, sum(w in WH_WORDS for w in words), *flags)
