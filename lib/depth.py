"""How deep to rerank: what a candidate list holds, could give and does give at each depth, one row a question and depth (document 001, Part III).

At depth d the reranker sees the first d candidates and orders them by its score; whatever stands behind keeps its first-stage place. So a depth
below the cutoff m still fills m places, every curve compares the same m places, and the ceiling at d is the best order of the first d with the
rest behind. Ties of the score go to the better first-stage rank. A candidate without a score (NaN: the model failed) stands behind the scored ones of
its depth.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lib.grades import gain
from lib.whole import is_number, is_whole

KEY = ["dataset", "qid"]
DEEPEST = 100_000  # places of a list that are looked at
DEPTHS = (5, 10, 20, 50, 100, 200)
LISTED = ["dataset", "qid", "rank", "score", "grade"]
COLUMNS = [*KEY, "slice", "half", "depth", "n_gold", "pool", "exhausted", "unscored", "coverage", "complete", "base", "ceiling", "realised", "realised_worst",
           "realised_best", "met_base", "met", "newcomers", "judged", "pairs", "tokens"]


def graded(lists: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """``lists`` (dataset, qid, doc_id, ...) with the column grade from ``gold``; NaN where nobody judged the candidate."""
    return lists.merge(gold[[*KEY, "doc_id", "grade"]], on=[*KEY, "doc_id"], how="left", validate="many_to_one").astype({"grade": float})


def depth_rows(lists: pd.DataFrame, gold: pd.DataFrame, questions: pd.DataFrame, depths: Sequence[int] = DEPTHS, m: int = 10,
               required: Mapping[str, int] | int | None = None, form: str = "exponential") -> pd.DataFrame:
    """One row a question and depth: coverage, ceiling, base and realised nDCG@m, evidence met, newcomers and cost.

    ``lists``: dataset, qid, rank (first stage, from 1), score (the reranker's), grade (see ``graded``), tokens where they were counted. ``gold``: dataset,
    qid, grade. ``questions``: dataset, qid, slice, half. Shares in [0, 1]:
    coverage, complete: share of the relevant documents among the first ``depth``, and whether it is all; base, ceiling, realised: nDCG@m of the first
    stage, of the best order, of the reranker (realised_worst and _best: over the orders of tied scores); met, met_base: the first m places hold as
    many relevant documents as ``required`` says (a number, or one a slice; None: all; never more than there are); newcomers: share of the first m
    that is not relevant and that the first stage had ranked beyond m; judged: share of the first m that has a grade.
    Counts: pairs scored, tokens read, unscored; pool: candidates within the depth; exhausted: the list is shorter than the depth.
    A question without a relevant document has NaN in all of these shares but newcomers and judged; one without a list scores 0 and stays.
    Raises ValueError for depths or m that are not whole and positive, an infinite score, ranks that are not 1, 2, 3, ... and a repeated question.
    """
    depths = checked_depths(depths, m)
    asked, at = _checked(lists, questions)
    if "doc_id" in gold and (twice := gold.duplicated([*KEY, "doc_id"])).any():
        raise ValueError(f"gold: {gold[twice].iloc[0][[*KEY, 'doc_id']].to_dict()} is judged twice; keep one grade")
    shape = (len(asked), max([m, *lists["rank"]]))  # a depth beyond every list is the longest list
    place = (at, lists["rank"].to_numpy(int) - 1)
    scores, grades = (_matrix(lists[c].to_numpy(float), place, shape) for c in ("score", "grade"))
    tokens = _matrix(lists["tokens"].to_numpy(float), place, shape, 0.0) if "tokens" in lists else np.full(shape, np.nan)
    lengths = np.bincount(at, minlength=len(asked))
    worth = np.nan_to_num(grades).clip(0)
    gains, relevant, known = gain(worth.ravel(), form).reshape(shape), worth > 0, ~np.isnan(grades)
    n_gold, ideal = _ideal(gold, asked, m, form)
    discount, defined = 1 / np.log2(np.arange(2, m + 2)), np.where(n_gold > 0, 1.0, np.nan)
    needed = np.minimum(_required(required, asked["slice"]), np.maximum(n_gold, 1))
    own, filled = np.arange(shape[1])[None, :].repeat(len(asked), 0), np.minimum(m, lengths)

    def ndcg(order: np.ndarray) -> np.ndarray:
        return np.take_along_axis(gains, order[:, :m], 1) @ discount / np.where(ideal > 0, ideal, np.nan)

    def share(what: np.ndarray, order: np.ndarray) -> np.ndarray:
        return np.take_along_axis(what, order[:, :m], 1).sum(1) / np.where(filled > 0, filled, np.nan)

    def met(order: np.ndarray) -> np.ndarray:
        return (np.take_along_axis(relevant, order[:, :m], 1).sum(1) >= needed) * defined

    base, made = {"base": ndcg(own), "met_base": met(own)}, []
    for d in depths:
        order, pool = reordered(scores, d), np.minimum(lengths, d)
        found = relevant[:, :d].sum(1)
        bounds = {f"realised_{name}": ndcg(reordered(scores, d, sign * worth)) for name, sign in (("worst", 1), ("best", -1))}
        made.append(asked.assign(
            depth=d, n_gold=n_gold, pool=pool, exhausted=lengths < d, unscored=pool - (~np.isnan(scores[:, :d])).sum(1), **base, **bounds,
            coverage=found / np.where(n_gold > 0, n_gold, np.nan), complete=(found == n_gold) * defined,
            ceiling=ndcg(reordered(worth, d)), realised=ndcg(order), met=met(order),
            newcomers=share(~relevant & (own >= m) & (own < lengths[:, None]), order), judged=share(known, order), pairs=pool, tokens=tokens[:, :d].sum(1)))
    return pd.concat(made, ignore_index=True)[COLUMNS].sort_values([*KEY, "depth"], ignore_index=True)


def reordered(scores: np.ndarray, depth: int, tie: np.ndarray | None = None) -> np.ndarray:
    """Places of each row's candidates after the first ``depth`` were ordered by score; equal scores by ``tie``, low first, then by place.

    >>> reordered(np.array([[0.1, 0.9, 0.5, 0.7]]), 3).tolist()
    [[1, 2, 0, 3]]
    """
    beyond = np.broadcast_to(np.arange(scores.shape[1]) >= depth, scores.shape)
    last = np.isnan(scores) & ~beyond
    key = np.where(beyond | last, 0.0, -scores)
    second = np.zeros_like(key) if tie is None else np.where(beyond | last, 0.0, tie)
    return np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), second, key, last, beyond), axis=1)


def entered(lists: pd.DataFrame, questions: pd.DataFrame, depths: Sequence[int] = DEPTHS, m: int = 10) -> pd.DataFrame:
    """Where the irrelevant documents in the first m come from: a row a question, depth and smaller depth ``beyond`` (0: all of them).

    ``share``: part of the first m places, in [0, 1], filled by documents that are not relevant and whose first-stage rank lies beyond ``beyond``.
    Documents nobody judged count as not relevant. NaN for a question without a list.
    """
    depths = checked_depths(depths, m)
    asked, at = _checked(lists, questions)
    shape = (len(asked), max([m, *lists["rank"]]))
    place = (at, lists["rank"].to_numpy(int) - 1)
    scores = _matrix(lists["score"].to_numpy(float), place, shape)
    irrelevant = _matrix((~(lists["grade"].to_numpy(float) > 0)).astype(float), place, shape, 0.0) > 0
    filled, made = np.minimum(m, np.bincount(at, minlength=len(asked))), []
    for d in depths:
        top = reordered(scores, d)[:, :m]
        held = np.take_along_axis(irrelevant, top, 1)
        made += [asked.assign(depth=d, beyond=b, share=(held & (top >= b)).sum(1) / np.where(filled > 0, filled, np.nan)) for b in (0, *depths) if b < d]
    return pd.concat(made, ignore_index=True)


def checked_depths(depths: Sequence[int], m: int = 1) -> list[int]:
    """The depths, ascending; raises ValueError unless they and m are distinct whole numbers of at least 1."""
    whole = [] if isinstance(depths, str) or not isinstance(depths, Iterable) else [int(d) for d in depths if is_number(d, 1) and d == int(d)]
    if not whole or len(whole) < len(list(depths)) or len(set(whole)) < len(whole) or not is_whole(m, 1) or m > DEEPEST:
        raise ValueError(f"depths must be distinct whole numbers of at least 1 and the cutoff one from 1 to {DEEPEST:,}, got depths {depths!r} and m {m!r}")
    return sorted(whole)


def _checked(lists: pd.DataFrame, questions: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The questions sorted by key, and each candidate's question by place; raises ValueError."""
    if missing := set(LISTED) - set(lists):
        raise ValueError(f"lists: columns {sorted(missing)} are missing, found {list(lists)}; add the grades with lib.depth.graded")
    asked = questions[[*KEY, "slice", "half"]].sort_values(KEY, ignore_index=True)
    if asked.duplicated(KEY).any():
        raise ValueError(f"questions: {asked[asked.duplicated(KEY)].iloc[0][KEY].to_dict()} is given twice; give every question once")
    if np.isinf(lists["score"].to_numpy(float)).any():
        raise ValueError("lists: a score is infinite; a candidate that the model could not score must be NaN")
    ordered = lists.sort_values("rank", kind="stable")
    wrong = ordered.groupby(KEY).cumcount() + 1 != ordered["rank"]
    if wrong.any():
        first = ordered[wrong].iloc[0]
        raise ValueError(f"lists: rank {first['rank']} of {first[KEY].to_dict()} breaks the sequence 1, 2, 3, ...; rank each candidate once")
    at = pd.MultiIndex.from_frame(asked[KEY]).get_indexer(pd.MultiIndex.from_frame(lists[KEY]))
    if (at < 0).any():
        raise ValueError(f"lists: {lists[at < 0].iloc[0][KEY].to_dict()} is not among the questions; give its slice and half there")
    return asked, at


def _matrix(values: np.ndarray, place: tuple[np.ndarray, np.ndarray], shape: tuple[int, int], fill: float = np.nan) -> np.ndarray:
    out = np.full(shape, fill)
    out[place] = values
    return out


def _ideal(gold: pd.DataFrame, asked: pd.DataFrame, m: int, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Relevant documents of the corpus and DCG@m of their best order, by question."""
    rows = gold[gold["grade"] > 0].assign(at=pd.MultiIndex.from_frame(asked[KEY]).get_indexer(pd.MultiIndex.from_frame(gold.loc[gold["grade"] > 0, KEY])))
    rows = rows[rows["at"] >= 0].sort_values(["at", "grade"], ascending=[True, False])
    place = rows.groupby("at").cumcount().to_numpy()
    gained = np.where(place < m, gain(rows["grade"], form) / np.log2(place + 2), 0.0)
    at = rows["at"].to_numpy(int)
    return np.bincount(at, minlength=len(asked)), np.bincount(at, gained, minlength=len(asked))


def _required(required: Mapping[str, int] | int | None, slices: pd.Series) -> np.ndarray:
    """How many relevant documents each question needs; a slice that is not named needs all."""
    whole = np.iinfo(int).max
    told = required if isinstance(required, Mapping) else dict.fromkeys(slices.unique(), whole if required is None else required)
    if wrong := [v for v in told.values() if not is_number(v, 1)]:
        raise ValueError(f"required: at least 1 relevant document must be needed, got {wrong[0]!r}")
    return np.array([told.get(s, whole) for s in slices], dtype=int)
