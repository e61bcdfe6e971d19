"""Judgement records as tables and as TREC qrels (document 001, "Evaluation labels are part of the system").

usage: python -m lib.judgements records.jsonl --out folder [--assessor name]

checks the records and writes judgements.csv (what `lib.viability` reads as --qrels, roles and bundles included), slices.csv and judgements.qrels,
and beside them the records that they were made from, records.jsonl. TREC qrels hold a grade and no more: what is uncertain, a role, a bundle, a span,
who judged and when would be lost, and with them the claim that was to be established.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from lib import judgements_records as form
from lib import tables
from lib.judgements_records import EVIDENCE, LABELS, Candidate, Judgement
from lib.ranking import QUESTION

COLUMNS = [*QUESTION, "doc_id", "assessor", "label", "grade", "role", "bundles", "spans", "date"]


def table(made: Iterable[Judgement], dataset: str) -> pd.DataFrame:
    """The `judgements` table: a row a question, passage and assessor; grade missing where uncertain, bundles and spans lists.

    A passage with several judged spans is as good as its best one; where none is evidence and one is uncertain, so is the passage.

    >>> doubt = Candidate("p", "s1", None, "uncertain", None, None, (), "a", "2026-01-31", None)
    >>> table([Judgement("q", "May I?", "One may.", {"policy": 1}, (), None, (), (), (doubt,))], "policy")[["doc_id", "label", "grade"]].values.tolist()
    [['p#s1', 'uncertain', <NA>]]
    """
    rows = []
    for one in made:
        by: dict[tuple[str, str], list[Candidate]] = {}
        for c in one.candidates:
            by.setdefault((c.passage, c.assessor), []).append(c)
        rows += [(dataset, one.qid, *key, *_as_one(spans)) for key, spans in by.items()]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"grade": "Int64"}).sort_values([*QUESTION, "doc_id", "assessor"], ignore_index=True)


def _as_one(spans: Sequence[Candidate]) -> tuple:
    """A passage's label, grade, role, bundles, spans and day: those of its best span; no evidence and one span uncertain: uncertain."""
    evidence, doubt = [c for c in spans if c.label in EVIDENCE], [c for c in spans if c.label == "uncertain"]
    best = max(evidence or doubt or spans, key=lambda c: (-1 if c.grade is None else c.grade, -LABELS.index(c.label)))
    bundles = sorted({b for c in spans for b in c.bundles})
    return best.label, best.grade, best.role, bundles, [list(c.span) for c in spans if c.span is not None], max(c.date for c in spans)


def for_audit(judged: pd.DataFrame, assessor: str | None = None, topical_counts: bool = False) -> pd.DataFrame:
    """Judgements as `lib.viability` takes them: dataset, qid, doc_id, grade (missing: uncertain), role, bundle; a passage of two bundles has two rows.

    The audit calls every grade above 0 relevant, so a topical passage counts 0 here unless ``topical_counts``: what looks related establishes nothing.
    ValueError where several assessors judged and none is named: their labels may differ, and which one counts is a decision.
    """
    names = sorted(judged["assessor"].unique())
    if assessor is None and len(names) > 1:
        raise ValueError(f"{len(names)} assessors judged ({', '.join(names)}); name one, or adjudicate first")
    if assessor is not None and assessor not in names:
        raise ValueError(f"no judgement is by {assessor!r}; there are {', '.join(names) or 'none'}")
    mine = judged if assessor is None else judged[judged["assessor"] == assessor]
    graded = mine["grade"].astype(float)
    mine = mine.assign(grade=graded if topical_counts else graded.mask(mine["label"] == "topical", 0.0))
    rows = mine.explode("bundles").rename(columns={"bundles": "bundle"})
    return rows[[*QUESTION, "doc_id", "grade", "role", "bundle"]].reset_index(drop=True)


def slices_of(made: Iterable[Judgement], dataset: str) -> pd.DataFrame:
    """Which slices each question belongs to: dataset, qid, slice."""
    return pd.DataFrame([(dataset, one.qid, name) for one in made for name in one.slices], columns=[*QUESTION, "slice"])


def qrels(judged: pd.DataFrame) -> str:
    """TREC's four columns, one assessor's; uncertain passages are left out (unjudged), never written as 0. ValueError for an id with white space."""
    rows = for_audit(judged, topical_counts=True)[["qid", "doc_id", "grade"]].dropna().drop_duplicates().sort_values(["qid", "doc_id"])
    spaced = [i for i in [*rows["qid"], *rows["doc_id"]] if len(i.split()) != 1]
    if spaced:
        raise ValueError(f"id {spaced[0]!r} holds white space, at which TREC files are cut; rename it, or use judgements.csv")
    return "".join(f"{qid} 0 {doc} {int(grade)}\n" for qid, doc, grade in rows.itertuples(index=False))


def shown(one: Judgement, candidates: int = 3) -> str:
    """A record to read, as a Markdown block of JSON: a line a field, a line a candidate, the first few of them."""
    fields = form.as_json(one)
    given = fields.pop("candidates")
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in fields.items()]
    told = [f"  {json.dumps(c, ensure_ascii=False)}" for c in given[:candidates]]
    more = [f"  ... {len(given) - candidates} more"] * (len(given) > candidates)
    return "\n".join(["```json", "{", *lines, ' "candidates": [', ",\n".join(told + more), " ]", "}", "```"])


def of_assessor(made: Iterable[Judgement], assessor: str | None) -> list[Judgement]:
    """The records with one assessor's candidates alone; all of them for None."""
    kept = (one._replace(candidates=tuple(c for c in one.candidates if assessor in (None, c.assessor))) for one in made)
    return list(kept)


def counts(judged: pd.DataFrame) -> pd.DataFrame:
    """How many passages of how many questions have each label: label, passages, questions; labels that nobody gave count 0."""
    by = judged.groupby("label").agg(passages=("doc_id", "size"), questions=("qid", "nunique"))
    return by.reindex(LABELS, fill_value=0).rename_axis("label").reset_index()


def export(made: Sequence[Judgement], folder: str | Path, assessor: str | None = None) -> list[Path]:
    """Write judgements.csv, slices.csv, judgements.qrels and records.jsonl of one assessor into ``folder``; ValueError as `for_audit`."""
    mine = of_assessor(made, assessor)
    judged = table(mine, "own")
    if judged.empty:
        raise ValueError(f"the records hold no candidate{'' if assessor is None else f' by {assessor!r}'}; there is nothing to write")
    files = {
        "judgements.csv": for_audit(judged).drop(columns="dataset").astype({"grade": "Int64"}).to_csv(index=False, lineterminator="\n"),
        "slices.csv": slices_of(mine, "own").drop(columns="dataset").to_csv(index=False, lineterminator="\n"),
        "judgements.qrels": qrels(judged),
        "records.jsonl": form.as_lines(mine),
    }
    return [
        tables.write_atomically(Path(folder) / name, lambda p, t=text: Path(p).write_text(t, encoding="utf-8", newline="\n")) for name, text in files.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: 0 when written, 2 where the records are faulty."""
    parser = argparse.ArgumentParser(prog="python -m lib.judgements", description="Check judgement records; write them as qrels and as the audit's own CSV.")
    parser.add_argument("records", help="JSON lines, one judgement record a question")
    parser.add_argument("--out", required=True, help="folder to write into")
    parser.add_argument("--assessor", help="whose labels to write, where several assessors judged")
    told = parser.parse_args(arguments)
    try:
        made = form.read(told.records)
        written = export(made, told.out, told.assessor)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(counts(table(made, "own")).to_string(index=False))
    print(f"{len(made)} records; wrote {', '.join(p.name for p in written)} into {told.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
