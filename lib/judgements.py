"""Judgement records as tables and as TREC qrels (document 001, "Evaluation labels are part of the system").

usage: python -m lib.judgements records.jsonl --out folder [--assessor name]

checks the records (JSON lines: one line a record) and writes

- judgements.csv, for the audit: what `lib.viability` reads as --qrels, roles and bundles included;
- judgements.qrels, for TREC's tools: the same grades and no more. What is uncertain, a role, a bundle, a span, who judged and when is lost there;
- slices.csv, the audit's --slices, where a record names a slice;
- records.jsonl, the records that they were made from, which is also the audit's --queries.

A passage's id is `doc#section` (`doc` where the whole document was judged), so the run to be audited must call it so. Topical is no evidence: it has grade
0 in both files, whatever grade the record keeps.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pandas as pd

from lib import judgements_records as form
from lib.judgements_records import EVIDENCE, LABELS, Candidate, Judgement
from lib.ranking import QUESTION
from lib.viability_run import check_folder, write_together

ABOUT = "Check judgement records; write them for the audit (judgements.csv) and for TREC's tools (judgements.qrels), with the same grades."
EPILOG = (
    "For the audit: python -m lib.viability --run your.run --qrels judgements.csv --slices slices.csv --queries records.jsonl --corpus your.corpus "
    "--out report (--queries and --corpus together find causes). "
    "Passages are called doc#section there, so the run must call them so, too; topical passages have grade 0 in both files. "
    "slices.csv is written where a record names a slice."
)
FILES = ("judgements.csv", "judgements.qrels", "records.jsonl", "slices.csv")
UNCERTAIN, BETWEEN = "uncertain", form.BETWEEN
COLUMNS = [*QUESTION, "doc_id", "assessor", "label", "grade", "role", "bundles", "spans", "date"]


def table(made: Iterable[Judgement], dataset: str) -> pd.DataFrame:
    """The `judgements` table: a row a question, passage and assessor; grade missing where uncertain, bundles and spans lists.

    A passage with several judged spans is as good as its best one; where none is evidence and one is uncertain, so is the passage. It plays every role of its
    evidence ("; " between), and belongs to the bundles of its evidence, not to those that a topical or contradictory span names. A bundle that an uncertain
    span of such a passage names is left out for the whole question: whether it is ever whole is not known.

    >>> doubt = Candidate("p", "s1", None, "uncertain", None, None, (), "a", "2026-01-31", None)
    >>> table([Judgement("q", "May I?", "One may.", {"policy": 1}, (), None, (), (), (doubt,))], "policy")[["doc_id", "label", "grade"]].values.tolist()
    [['p#s1', 'uncertain', <NA>]]
    """
    rows = []
    for one in made:
        by: dict[tuple[str, str], list[Candidate]] = {}
        for c in one.candidates:
            by.setdefault((c.passage, c.assessor), []).append(c)
        doubted = {(who, b) for (_, who), spans in by.items() if _evidence(spans) for c in spans if c.label == UNCERTAIN for b in c.bundles}
        rows += [(dataset, one.qid, *key, *_as_one(spans, {b for who, b in doubted if who == key[1]})) for key, spans in by.items()]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"grade": "Int64"}).sort_values([*QUESTION, "doc_id", "assessor"], ignore_index=True)


def _evidence(spans: Sequence[Candidate]) -> list[Candidate]:
    return [c for c in spans if c.label in EVIDENCE]


def _as_one(spans: Sequence[Candidate], unsure: Collection[str] = ()) -> tuple:
    """A passage's label, grade, roles, bundles (without the ``unsure``), spans and day: no evidence and one span uncertain: uncertain."""
    counted = _evidence(spans) or [c for c in spans if c.label == UNCERTAIN]
    best = max(counted or spans, key=lambda c: (-1 if c.grade is None else c.grade, -LABELS.index(c.label)))
    roles = sorted({c.role for c in counted or [best] if c.role is not None})
    bundles = sorted({b for c in counted for b in c.bundles} - set(unsure))
    return best.label, best.grade, BETWEEN.join(roles) or None, bundles, [list(c.span) for c in spans if c.span is not None], max(c.date for c in spans)


def for_audit(judged: pd.DataFrame, assessor: str | None = None) -> pd.DataFrame:
    """Judgements as `lib.viability` takes them: dataset, qid, doc_id, grade (missing: uncertain), role, bundle; a passage of two bundles, or in two roles,
    has two rows.

    The audit calls every grade above 0 relevant, so a topical passage counts 0 here: what looks related establishes nothing.
    It belongs to no bundle either, nor does a contradictory one. A bundle with an uncertain passage is neither whole nor broken: only that passage keeps its
    name, so that the audit counts the question's other bundles, or calls completion undefined where there are none.
    ValueError where several assessors judged and none is named: their labels may differ, and which one counts is a decision.
    """
    names = sorted(judged["assessor"].unique())
    if assessor is None and len(names) > 1:
        raise ValueError(f"{len(names)} assessors judged ({', '.join(names)}); name one, or adjudicate first")
    if assessor is not None and assessor not in names:
        raise ValueError(f"no judgement is by {assessor!r}; there are {', '.join(names) or 'none'}")
    mine = judged if assessor is None else judged[judged["assessor"] == assessor]
    graded = mine["grade"].astype(float)
    mine = mine.assign(grade=graded.mask(mine["label"] == "topical", 0.0))
    keys = [tuple(key) for key in mine[QUESTION].itertuples(index=False)]
    doubted = {(*key, b) for key, label, names in zip(keys, mine["label"], mine["bundles"]) if label == UNCERTAIN for b in names}
    kept = [
        [b for b in names if label == UNCERTAIN or label in EVIDENCE and (*key, b) not in doubted]
        for key, label, names in zip(keys, mine["label"], mine["bundles"])
    ]
    roles = [r.split(BETWEEN) if isinstance(r, str) else [r] for r in mine["role"]]
    mine = mine.assign(bundles=pd.Series(kept, index=mine.index, dtype=object), role=pd.Series(roles, index=mine.index, dtype=object))
    rows = mine.explode("bundles").explode("role").rename(columns={"bundles": "bundle"})
    return rows[[*QUESTION, "doc_id", "grade", "role", "bundle"]].reset_index(drop=True)


def slices_of(made: Iterable[Judgement], dataset: str) -> pd.DataFrame:
    """Which slices each question belongs to: dataset, qid, slice."""
    return pd.DataFrame([(dataset, one.qid, name) for one in made for name in one.slices], columns=[*QUESTION, "slice"])


def qrels(judged: pd.DataFrame) -> str:
    """TREC's four columns, one assessor's, with the grades of `for_audit`; uncertain passages are left out (unjudged), never written as 0. ValueError for an
    id with white space."""
    rows = for_audit(judged)[["qid", "doc_id", "grade"]].dropna().drop_duplicates().sort_values(["qid", "doc_id"])
    spaced = [i for i in [*rows["qid"], *rows["doc_id"]] if len(i.split()) != 1]
    if spaced:
        raise ValueError(f"id {spaced[0]!r} holds white space, at which TREC files are cut; rename it, or use judgements.csv")
    return "".join(f"{qid} 0 {doc} {int(grade)}\n" for qid, doc, grade in rows.itertuples(index=False))


def shown(one: Judgement, candidates: int = 3) -> str:
    """A record to read, as a Markdown block of JSON: a line a field, a line a candidate, a few of them, evidence first."""
    fields = form.as_json(one)
    given = sorted(fields.pop("candidates"), key=lambda c: c["label"] not in EVIDENCE)
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


def unsure(made: Iterable[Judgement]) -> int:
    """How many bundles an uncertain candidate belongs to: whether they are whole is not known."""
    return len({(one.qid, c.assessor, b) for one in made for c in one.candidates if c.label == UNCERTAIN for b in c.bundles})


def export(made: Sequence[Judgement], folder: str | Path, assessor: str | None = None, source: str | Path | None = None) -> list[Path]:
    """Write judgements.csv, judgements.qrels, records.jsonl and, where a record names a slice, slices.csv of one assessor into ``folder``: all of them or none.

    ``source``: the file that the records were read from, which is never overwritten: it may hold other assessors. ValueError as `for_audit`, OSError as
    `viability_run.check_folder`. A slices.csv of an earlier export does not outlive records without slices.
    """
    check_folder(folder, [source], FILES, "judgements")
    mine = of_assessor(made, assessor)
    judged = table(mine, "own")
    if judged.empty:
        raise ValueError(f"the records hold no candidate{'' if assessor is None else f' by {assessor!r}'}; there is nothing to write")
    files = {
        "judgements.csv": for_audit(judged).drop(columns="dataset").astype({"grade": "Int64"}).to_csv(index=False, lineterminator="\n"),
        "judgements.qrels": qrels(judged),
        "records.jsonl": form.as_lines(mine),
    }
    member = slices_of(mine, "own").drop(columns="dataset")
    if len(member):
        files["slices.csv"] = member.to_csv(index=False, lineterminator="\n")
    written = write_together(files, folder, "judgements")
    if "slices.csv" not in files:
        (Path(folder) / "slices.csv").unlink(missing_ok=True)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: 0 when written, 2 where the records are faulty."""
    parser = argparse.ArgumentParser(prog="python -m lib.judgements", description=ABOUT, epilog=EPILOG)
    parser.add_argument("records", help="JSON lines: one line a record, one record a question")
    parser.add_argument("--out", required=True, help="folder to write into; files of an earlier export there are replaced")
    parser.add_argument("--assessor", help="whose labels to write, where several assessors judged")
    told = parser.parse_args(arguments)
    try:
        made = form.read(told.records)
        written = export(made, told.out, told.assessor, told.records)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(counts(table(made, "own")).to_string(index=False))
    if doubted := unsure(of_assessor(made, told.assessor)):
        print(f"bundles with an uncertain passage: {doubted} (whether they are whole is not known; the audit leaves them out)")
    print(f"{len(made)} records; wrote {', '.join(p.name for p in written)} into {told.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
