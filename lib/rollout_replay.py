"""The replay record: what a question's answer was made of, kept so that the order can be made again, bit for bit (document 001, "Release gates").

Recording only the final context makes it impossible to tell whether a missing passage was never retrieved, was filtered, or was retrieved and demoted. So a
record keeps the candidates with both scores, what the filters dropped, the unit (model, preprocessing, score reading), the order and the evidence shown.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from lib.grades import order_by_score
from lib.records import DataError
from lib.rollout_units import Unit, digest, read, unit_of
from lib.viability_lists import KEY
from lib.whole import check_whole, is_number

SCHEMA = 1
FIELDS = ("schema", "dataset", "qid", "query", "first_stage", "filters", "candidate_set", "candidates", "unit", "places", "order", "shown", "digest")
Replay = dict[str, Any]


def candidate_set(ids: Sequence[str]) -> str:
    """The identifier of a candidate set: sha256 of its sorted ids, so that two orders of one set share it.

    >>> candidate_set(["b", "a"]) == candidate_set(["a", "b"])
    True
    """
    return digest(sorted(ids))


def query_told(text: str, keep_text: bool = False, **representation: Any) -> dict[str, Any]:
    """A question as a record keeps it: the sha256 of its text (and the text where it may be kept), and how it was put to the first stage.

    >>> sorted(query_told("Who?", encoder="minilm"))
    ['encoder', 'sha256']
    """
    try:
        sealed = hashlib.sha256(text.encode()).hexdigest()
    except (AttributeError, UnicodeEncodeError) as error:
        raise ValueError(f"a question is a text without half signs (surrogates), got {text!a:.60}; mend the question") from error
    return {"sha256": sealed, **({"text": text} if keep_text else {}), **representation}


def replay(key: tuple[str, str], query: Mapping[str, Any], candidates: Sequence[tuple[str, float]], scores: Sequence[float] | None, unit: Unit,
           places: int = 4, first_stage: str = "hybrid", dropped: Mapping[str, str] | None = None, rules: Sequence[str] = ()) -> Replay:
    """The record of one question. ``candidates``: (id, first-stage score) in first-stage order; ``scores``: the reranker's, raw, in the same order (None where
    the unit reads the first stage); ``rules``: the filters in force; ``dropped``: id -> the one that refused it.

    Raises ValueError for NaN, infinite or missing scores, ids that are no sound text, repeated candidates, a candidate that a filter dropped, and, where the
    unit reads the first stage, candidates that are not in the order of their scores.

    >>> from lib.rollout_units import reading
    >>> unit = Unit("ce", {"name": "ce"}, {"max_length": 192}, reading())
    >>> replay(("d", "q"), {}, [("a", 0.9), ("b", 0.5)], [0.1, 0.7], unit, places=1)["shown"]
    ['b']
    """
    check_whole("places", places, 1)
    if scores is not None and len(scores) != len(candidates):
        raise ValueError(f"question {key[1]!r}: {len(candidates)} candidates and {len(scores)} scores; give each candidate one")
    rows = [[doc, _plain(first), score] for (doc, first), score in zip(candidates, [None] * len(candidates) if scores is None else map(_plain, scores))]
    told = {"schema": SCHEMA, "dataset": key[0], "qid": key[1], "query": dict(query), "first_stage": first_stage,
            "filters": {"rules": list(rules), "dropped": dict(sorted((dropped or {}).items()))}, "candidate_set": "", "candidates": rows,
            "unit": unit._asdict(), "places": int(places)}
    _check_candidates(told, f"question {key[1]!r}", scores is not None)
    told["candidate_set"] = candidate_set([r[0] for r in rows])
    order = reproduced(told)
    told |= {"order": order, "shown": selected(told, order)}
    return told | {"digest": digest(told)}


def reproduced(record: Mapping[str, Any], unit: Unit | None = None) -> list[str]:
    """The order that the record's candidates and scores give under its own unit's reading, or another's: by score, ties by first-stage rank."""
    rows, how = record["candidates"], (record["unit"]["reading"] if unit is None else unit.reading)
    raw = [r[1 if how["source"] == "first_stage" else 2] for r in rows]
    if None in raw:
        raise ValueError(f"question {record['qid']!r}: the record holds no reranker scores, and the reading asks for them; score the candidates first")
    if how["source"] == "first_stage":
        return [r[0] for r in rows]  # its order is the candidates' own: ties were broken when it was made
    return [rows[i][0] for i in order_by_score(read(raw, how), range(len(rows)))]


def selected(record: Mapping[str, Any], order: Sequence[str], unit: Unit | None = None) -> list[str]:
    """The evidence shown: the first places of the order whose read score reaches the threshold, if there is one."""
    how = record["unit"]["reading"] if unit is None else unit.reading
    if how["threshold"] is None:
        return list(order[: record["places"]])
    column = 1 if how["source"] == "first_stage" else 2
    worth = dict(zip((r[0] for r in record["candidates"]), read([r[column] for r in record["candidates"]], how)))
    return [doc for doc in order[: record["places"]] if worth[doc] >= how["threshold"]]


def check_record(record: Any, where: str = "record") -> Replay:
    """The record as it is; DataError unless it is whole, undamaged, and its order and shown evidence come out again, exactly."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        got = record.get("schema") if isinstance(record, dict) else type(record).__name__
        raise DataError(f"{where}: no replay record of schema {SCHEMA}, got {got!r}; read it with the version that wrote it")
    lost, strange = [f for f in FIELDS if f not in record], [f for f in record if f not in FIELDS]
    if lost or strange:
        raise DataError(f"{where}: fields {lost} are missing, {strange} unknown; the record was cut or edited, take it from the last good copy")
    try:
        if digest({k: v for k, v in record.items() if k != "digest"}) != record["digest"]:
            raise ValueError("the digest does not fit the content; the record was changed after it was written, take it from the last good copy")
        check_whole("places", record["places"], 1)
        unit_of(record["unit"], "unit")
        _check_candidates(record, "candidates", any(r[2] is not None for r in record["candidates"]))
        order = reproduced(record)
        fits = order == record["order"] and selected(record, order) == record["shown"] and candidate_set(order) == record["candidate_set"]
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # the last three: a block of another form than a record has
        raise DataError(f"{where}: {error}") from error
    if not fits:
        raise DataError(f"{where}: order, evidence shown or candidate set do not follow from the candidates; the code that wrote it had a fault")
    return record


def _plain(score: Any) -> Any:
    return float(score) if is_number(score) else score


def _check_candidates(record: Mapping[str, Any], where: str, scored: bool) -> None:
    rows, dropped, seen = record["candidates"], record["filters"]["dropped"], set()
    for text in (record["dataset"], record["qid"], *(r[0] for r in rows)):
        if not isinstance(text, str) or not text or any("\ud800" <= sign <= "\udfff" for sign in text):
            raise ValueError(f"{where}: the id {text!a:.60} is no text, or holds half of a sign (a surrogate), which no file can hold; name it by a text")
    for doc, *scores in rows:
        if doc in seen:
            raise ValueError(f"{where}: candidate {doc!r} stands twice; keep one")
        seen.add(doc)
        wrong = [s for s in scores[: 1 + scored] if not is_number(s)]
        if wrong or len(scores) != 2:
            raise ValueError(f"{where}: candidate {doc!r} has the score {(wrong or [scores])[0]!r}, which has no place in an order; "
                             "leave the candidate out, or give it a finite score")
    if record["unit"]["reading"]["source"] == "first_stage" and (up := [a[0] for b, a in pairwise(rows) if a[1] > b[1]]):
        raise ValueError(f"{where}: {up[0]!r} has a higher first-stage score than the candidate before it, and the unit reads that score; "
                         "give candidates in the order of their scores")
    if not isinstance(dropped, dict):
        raise ValueError(f"{where}: what the filters dropped is a block of passages and filters, got {dropped!r:.60}")  # noqa: TRY004
    if inside := sorted(seen & set(dropped)):
        raise ValueError(f"{where}: {inside[0]!r} was dropped by filter {dropped[inside[0]]!r} and is a candidate all the same")


def replays(first: pd.DataFrame, unit: Unit, places: int, scores: pd.DataFrame | None = None, questions: pd.DataFrame | None = None,
            dropped: Mapping[tuple[str, str], Mapping[str, str]] | None = None, rules: Sequence[str] = (), **representation: Any) -> list[Replay]:
    """A record a question of ``first`` (one ranker: dataset, qid, ranker, rank, doc_id, score), by data set and question.

    ``scores``: dataset, qid, doc_id, score of a reranker, every candidate of ``first`` among them. Raises ValueError where a score is missing or given twice,
    and for a first stage whose order is not certain: ranks that repeat or are no whole numbers, several rankers, rows without a question.
    """
    _check_lists(first, scores)
    rows = first[[*KEY, "ranker", "rank", "doc_id", "score"]]
    if scores is not None:
        rows = rows.merge(scores[[*KEY, "doc_id", "score"]].rename(columns={"score": "again"}), on=[*KEY, "doc_id"], how="left", validate="one_to_one")
    text = {} if questions is None else {(q.dataset, q.qid): q.question for q in questions.itertuples()}
    made = []
    for key, part in rows.sort_values([*KEY, "rank"]).groupby(KEY):
        again = None if scores is None else part["again"].astype(float).tolist()
        if lost := sum(map(math.isnan, again or [])):
            raise ValueError(f"question {key[1]!r}: {lost} of {len(again)} candidates have no score; score every candidate, or cut the pool")
        query = query_told(text[key], **representation) if key in text else dict(representation)
        pairs = list(zip(part["doc_id"], part["score"].astype(float)))
        made.append(replay(key, query, pairs, again, unit, places, part["ranker"].iloc[0], (dropped or {}).get(key), rules))
    return made


def _check_lists(first: pd.DataFrame, scores: pd.DataFrame | None) -> None:
    for table in (first,) if scores is None else (first, scores):
        named = table[[*KEY, "doc_id"]]
        if named.isna().any(axis=None):
            raise ValueError(f"{int(named.isna().any(axis=1).sum())} rows have no data set, question or passage; name them, or leave them out")
        if (twice := named.duplicated()).any():
            row = named[twice].iloc[0]
            raise ValueError(f"question {row['qid']!r}: passage {row['doc_id']!r} stands twice; keep one row a passage")
    if first["ranker"].nunique(dropna=False) > 1:
        raise ValueError(f"the candidates are of one first stage, got {', '.join(sorted(map(str, set(first['ranker']))))}; keep the rows of one")
    if wrong := [r for r in first["rank"].tolist() if not is_number(r, 1) or r != int(r)]:
        raise ValueError(f"ranks are whole numbers from 1, got {wrong[0]!r}; number the candidates of each question")
    if (twice := first.duplicated([*KEY, "rank"])).any():
        row = first[twice].iloc[0]
        raise ValueError(f"question {row['qid']!r}: rank {row['rank']} stands twice, so the order is not certain; number the candidates anew")
