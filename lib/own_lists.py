"""A user's own gold, pools and rankings: rows that point at questions and documents, each checked to resolve (SPEC 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from lib.fields import identifier, number_field, optional_text, require
from lib.records import Record

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_SCOPES = ("own", "pooled")
_TAKEN = ("dense", "bm25", "hybrid", "wordllama", "splade-tiny", "iterative", "graph")  # made by notebook 01


def _pair(record: Record, asked: set[str], known: set[str]) -> tuple[str, str]:
    qid, doc_id = identifier(record, "qid"), identifier(record, "doc_id")
    if qid not in asked:
        raise record.error("qid", f"{qid!r} is no question", "use an id of the questions file or take the row out")
    if doc_id not in known:
        raise record.error("doc_id", f"{doc_id!r} is no document", "use an id of the documents file or take the row out")
    return qid, doc_id


def gold_rows(dataset: str, records: Sequence[Record], asked: set[str], known: set[str], notes: Counter) -> list[dict]:
    """Rows of the gold table. Grades of 0 or less are judgements of irrelevance: left out and counted. Without is_last_hop, the highest hop is it."""
    rows: dict[tuple[str, str], dict] = {}
    for record in records:
        qid, doc_id = _pair(record, asked, known)
        if (qid, doc_id) in rows:
            raise record.error("doc_id", f"{doc_id!r} is judged twice for question {qid!r}", "keep one judgement")
        grade = number_field(record, "grade", whole=True, default=1)
        hop = number_field(record, "hop", whole=True)
        if hop is not None and hop < 1:
            raise record.error("hop", f"got {hop}", "count hops from 1")
        rows[qid, doc_id] = {
            "dataset": dataset,
            "qid": qid,
            "doc_id": doc_id,
            "grade": grade,
            "hop": hop,
            "is_last_hop": _truth(record, "is_last_hop"),
        }
    notes["gold_grades_of_0_or_less"] += sum(row["grade"] < 1 for row in rows.values())
    by_question: dict[str, list[dict]] = defaultdict(list)
    for row in rows.values():
        if row["grade"] >= 1:
            by_question[row["qid"]].append(row)
    lines = {identifier(r, "qid"): r for r in records}
    for qid, group in by_question.items():
        _mark_last_hop(group, lines[qid])
    return [row for group in by_question.values() for row in group]


def _truth(record: Record, name: str) -> bool | None:
    value = record.fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    if str(value).strip().lower() not in _TRUTH:
        raise record.error(name, f"got {value!r}", "write true or false, or leave it out")
    return _TRUTH[str(value).strip().lower()]


def _mark_last_hop(group: list[dict], record: Record) -> None:
    if sum(row["is_last_hop"] is True for row in group) > 1:
        raise record.error(
            "is_last_hop", f"question {group[0]['qid']!r} has several last hops", "mark at most one passage a question"
        )
    hops = [row["hop"] for row in group]
    if all(row["is_last_hop"] is None for row in group) and None not in hops and hops.count(max(hops)) == 1:
        for row in group:
            row["is_last_hop"] = row["hop"] == max(hops)


def pool_rows(dataset: str, records: Sequence[Record], asked: set[str], known: set[str]) -> list[dict]:
    """Rows of the pools table; a pair given twice is an error."""
    seen: set[tuple[str, str]] = set()
    for record in records:
        pair = _pair(record, asked, known)
        if pair in seen:
            raise record.error("doc_id", f"{pair[1]!r} is listed twice for question {pair[0]!r}", "list each document once")
        seen.add(pair)
    return [{"dataset": dataset, "qid": qid, "doc_id": doc_id} for qid, doc_id in sorted(seen)]


def ranking_rows(dataset: str, records: Sequence[Record], asked: set[str], known: set[str], notes: Counter) -> list[dict]:
    """Rows of the rankings table. Without ranks, score decides and equal scores keep the file's order; without scores, 1/rank stands in, counted.

    Raises DataError for a document that repeats in a list, a ranker named like one that notebook 01 makes (dense, graph, ...), and for ranks that are not
    1, 2, 3, ...
    """
    lists: dict[tuple[str, str, str], list[tuple[Record, str]]] = defaultdict(list)
    for record in records:
        qid, doc_id = _pair(record, asked, known)
        scope = optional_text(record, "scope") or "pooled"
        if scope not in _SCOPES:
            raise record.error("scope", f"got {scope!r}", "write own or pooled, or leave it out")
        ranker = identifier(record, "ranker")
        if ranker in _TAKEN:
            raise record.error("ranker", f"{ranker!r} is the name of a list that notebook 01 makes", f"give yours another name, such as 'my_{ranker}'")
        lists[qid, scope, ranker].append((record, doc_id))
    rows = []
    for (qid, scope, ranker), entries in lists.items():
        for rank, (record, doc_id) in enumerate(_ordered(entries), 1):
            score = number_field(record, "score")
            notes["ranking_scores_made_from_ranks"] += score is None
            rows.append(
                {
                    "dataset": dataset,
                    "qid": qid,
                    "scope": scope,
                    "ranker": ranker,
                    "rank": rank,
                    "doc_id": doc_id,
                    "score": 1 / rank if score is None else float(score),
                }
            )
    return rows


def _ordered(entries: list[tuple[Record, str]]) -> list[tuple[Record, str]]:
    seen: set[str] = set()
    for record, doc_id in entries:
        if doc_id in seen:
            raise record.error("doc_id", f"{doc_id!r} stands twice in one list", "keep each document's best place")
        seen.add(doc_id)
    if all(record.fields.get("rank") is None for record, _ in entries):
        for record, _ in entries:
            require(record, "score", "rank")
        return sorted(entries, key=lambda entry: -number_field(entry[0], "score"))
    ordered = sorted(entries, key=lambda entry: number_field(entry[0], "rank", whole=True, required=True))
    for place, (record, _) in enumerate(ordered, 1):
        if number_field(record, "rank", whole=True) != place:
            raise record.error(
                "rank",
                f"got {record.fields['rank']} where {place} comes next",
                "number each list 1, 2, 3, ... without gaps or ties",
            )
    return ordered
