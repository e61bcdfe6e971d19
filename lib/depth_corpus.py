"""Pools deep enough for a study of depth: the questions of a whole corpus, and a first-stage list over all its passages (SPEC 11).

A question's own ten paragraphs cannot show what happens at depth 100. A corpus can: the 2WikiMultiHopQA corpus that HippoRAG was measured on has 6,119 passages
for 1,000 questions. It tells no supporting facts; a second file of the release does, for some of the questions. A generated world is as deep as it is large.
"""
from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from lib import retrieval, worlds
from lib.depth import KEY
from lib.encoders import Encoder
from lib.passages import half, passage_id
from lib.records import DataError, Record, read_records
from lib.vectors import CACHE

RANKERS = ("bm25", "dense", "hybrid")


def read_corpus(corpus: str | Path, questions: str | Path, supporting: str | Path, dataset: str) -> dict[str, pd.DataFrame]:
    """The tables questions (with slice: the release's type), gold and documents of a corpus whose questions are judged in a second file.

    ``corpus``: title, text. ``questions``: id or _id, question. ``supporting``: _id, type, supporting_facts. Gold are the passages whose title a supporting
    fact names, grade 1. Questions that are not judged there, or whose title the corpus lacks, are left out: no list can be scored against them.
    Raises DataError for a repeated title, and where no question is left.
    """
    for r in (corpus_rows := _with(corpus, "title", "text")):
        for field in ("title", "text"):
            if not isinstance(r.fields[field], str):
                raise r.error(field, f"is {str(r.fields[field])[:40]!r}", "give a text")
    passages = [(r, r.fields["title"], r.fields["text"]) for r in corpus_rows]
    documents = pd.DataFrame([(dataset, passage_id(title, text), title, text) for _, title, text in passages], columns=["dataset", "doc_id", "title", "text"])
    if (twice := documents["title"].duplicated()).any():
        record = passages[twice.to_numpy().argmax()][0]
        raise record.error("title", "is the title of an earlier passage", "titles must tell passages apart, as supporting facts name them")
    place = dict(zip(documents["title"], documents["doc_id"]))
    judged = {_id(r): (r.fields["type"], _titles(r)) for r in _with(supporting, "_id", "type", "supporting_facts")}
    asked, gold, seen = [], [], set()
    for record in _with(questions, "question"):
        qid = _id(record)
        if qid in seen:
            raise record.error("id", f"{qid!r} comes twice", "give every question an id of its own")
        seen.add(qid)
        titles = judged[qid][1] if qid in judged else {}
        if titles and all(t in place for t in titles):
            asked.append((dataset, qid, record.fields["question"], judged[qid][0], half(qid)))
            gold += [(dataset, qid, place[t], 1) for t in titles]
    if not asked:
        raise DataError(f"{Path(questions).name}: none of its questions is judged in {Path(supporting).name} by titles of {Path(corpus).name}; "
                        "check that the three belong together")
    return {"questions": pd.DataFrame(asked, columns=[*KEY, "question", "slice", "half"]), "gold": pd.DataFrame(gold, columns=[*KEY, "doc_id", "grade"]),
            "documents": documents}


def _id(record: Record) -> str:
    found = record.fields.get("id", record.fields.get("_id"))
    if not isinstance(found, str) or not found:
        raise record.error("_id", f"is {str(found)[:40]!r}", "give every question its id, a text")
    return found


def _titles(record: Record) -> dict[str, None]:
    """The distinct titles of a question's supporting facts."""
    facts = record.fields["supporting_facts"]
    if not isinstance(facts, (list, tuple)) or not all(isinstance(f, (list, tuple)) and len(f) == 2 and isinstance(f[0], str) for f in facts):
        raise record.error("supporting_facts", f"is {str(facts)[:60]!r}", "give a list of [title, number of the sentence]")
    return dict.fromkeys(title for title, _ in facts)


def _with(path: str | Path, *fields: str) -> list:
    """The records of a file; raises DataError for the first that lacks one of the fields."""
    records = read_records(path)
    for record in records:
        if missing := [f for f in fields if f not in record.fields]:
            raise record.error(missing[0], "is missing", "check that this is the file meant")
    return records


def read_worlds(n_questions: int, documents: int, hops: tuple[int, ...] = (1, 2, 3), surfacing: float = 0.5, seed: int = 7,
                dataset: str = "worlds") -> dict[str, pd.DataFrame]:
    """The same tables of a generated world, its slices by number of hops; the documents are shared, as all worlds of one seed and size hold the same."""
    made = {h: worlds.world(n_questions, hops=h, surfacing=surfacing, seed=seed, documents=documents, dataset=dataset) for h in hops}
    asked = [t["questions"].assign(qid=f"h{h}-" + t["questions"]["qid"], slice=f"{h} hop{'s' * (h > 1)}") for h, t in made.items()]
    gold = pd.concat([t["gold"].assign(qid=f"h{h}-" + t["gold"]["qid"]) for h, t in made.items()], ignore_index=True)
    told = pd.concat([t["documents"] for t in made.values()], ignore_index=True).drop_duplicates("doc_id", ignore_index=True)
    return {"questions": pd.concat(asked, ignore_index=True)[[*KEY, "question", "slice", "half"]], "gold": gold[[*KEY, "doc_id", "grade"]],
            "documents": told[["dataset", "doc_id", "title", "text"]]}


def first_of(tables: dict[str, pd.DataFrame], n: int) -> dict[str, pd.DataFrame]:
    """The tables with the first n questions in the order of their hashed ids (0: all); documents stay, since depth is what is studied."""
    asked = tables["questions"]
    place = pd.Series([hashlib.sha256(q.encode()).hexdigest() for q in asked["qid"]], asked.index).rank()
    kept = asked[place <= n].reset_index(drop=True) if n else asked
    return {**tables, "questions": kept, "gold": tables["gold"].merge(kept[KEY], on=KEY)}


def first_stage(tables: dict[str, pd.DataFrame], ranker: str, depth: int, encoder: Encoder | None = None, cache: Path | None = CACHE) -> pd.DataFrame:
    """The first ``depth`` of all passages for each question: dataset, qid, rank, doc_id. bm25 needs no encoder; dense and hybrid do. Raises ValueError."""
    if ranker not in RANKERS or (ranker != "bm25" and encoder is None):
        without = " without one" if encoder is None else ""
        raise ValueError(f"a first stage is one of {', '.join(RANKERS)}, and dense and hybrid need an encoder; got {ranker!r}{without}")
    questions, documents = tables["questions"], tables["documents"]
    if ranker != "bm25":
        pools = pd.DataFrame({"dataset": [], "qid": [], "doc_id": []}, dtype=object)
        ranked = retrieval.rank(questions, documents, pools, encoder, scopes=("pooled",), depth=depth, cache=cache)
        return ranked.loc[ranked["ranker"] == ranker, [*KEY, "rank", "doc_id"]].reset_index(drop=True)
    passages = [retrieval.passage(d.title, d.text) for d in documents.itertuples()]
    scores, ties = retrieval.bm25_scores(questions["question"].tolist(), passages), retrieval.tie_breaks(passages)
    found = [retrieval.ordered(row, ties, depth) for row in scores]
    made = [questions[KEY].iloc[[i] * len(at)].assign(rank=range(1, len(at) + 1), doc_id=documents["doc_id"].to_numpy()[at]) for i, at in enumerate(found)]
    return pd.concat(made, ignore_index=True)
