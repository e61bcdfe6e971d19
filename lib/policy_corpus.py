"""The policy assistant's corpus, data/sample/policy: read and checked as a whole (document 001, "Worked production example"; DESIGN, "The sample corpus").

A *document* is one version of a policy, procedure, FAQ, notice or set of minutes; a *passage* is one of its sections. A question's evidence is a span of
sentences with a label and a role; a *bundle* is a set of such spans that together support the decision. Form and fields: data/sample/policy/README.md.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib.policy_corpus_checks import check_judgements, check_questions, check_versions
from lib.policy_corpus_fields import DOCUMENT, JUDGEMENT, QUESTION, checked, no_repeat
from lib.records import Record, decoded, read_bytes, read_records
from lib.tables import ROOT

FOLDER = ROOT / "data" / "sample" / "policy"
FILES = {"documents.jsonl": (DOCUMENT, ("doc_id",)), "questions.jsonl": (QUESTION, ("qid",)),
         "judgements.jsonl": (JUDGEMENT, ("qid", "doc_id", "section_id"))}  # fields, and what may not come twice
CARD = "README.md"  # the data card; its table of counts tells a file that lost whole lines from a smaller one
CARD_ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (\d+) \|\r?$", re.MULTILINE)
COUNTED = ["what", "value", "n"]


class PolicyCorpus(NamedTuple):
    """Four tables: documents (a version each, with its ``sections``), sections (a passage each), questions, judgements (a question and passage each)."""

    documents: pd.DataFrame
    sections: pd.DataFrame
    questions: pd.DataFrame
    judgements: pd.DataFrame


def read(folder: str | Path = FOLDER) -> PolicyCorpus:
    """The corpus of a folder. Raises ValueError (`lib.records.DataError`) that names file, line, field and mend for whatever cannot be meant.

    Judgements keep ``sentences`` (first and last, from 0) and ``bundles`` as lists; the grade of an uncertain one is missing, never 0. Where the folder
    has a data card (README.md) with a table of counts, the files must hold as much as it says.
    """
    lines = {name: _lines(Path(folder) / name, *form) for name, form in FILES.items()}
    documents, questions, judgements = lines.values()
    check_versions(documents)
    check_judgements(judgements, documents, questions)
    check_questions(questions, judgements, documents)
    tables = [pd.DataFrame([line.fields for line in part]) for part in lines.values()]
    tables[2]["grade"] = tables[2]["grade"].astype(float)
    corpus = PolicyCorpus(tables[0], sections(tables[0]), *tables[1:])
    _check_card(Path(folder) / CARD, corpus, judgements[-1])
    return corpus


def _check_card(path: Path, corpus: PolicyCorpus, last: Record) -> None:
    """The files hold as much as their data card says, where there is one: without a line or two they may still fit together."""
    if not path.is_file():
        return
    found = {(what, value): n for what, value, n in counts(corpus).itertuples(index=False)}
    text = decoded(read_bytes(path), path)
    for row in CARD_ROW.finditer(text):
        if (n := found.get((row[1], row[2]), 0)) != int(row[3]):
            raise Record(str(path), text.count("\n", 0, row.start()) + 1, {}).error(
                row[1], f"{row[2]}: the card counts {row[3]}, the files hold {n}",
                f"copy the files again ({last.file} ends in line {last.line} with {last.fields['qid']!r}), or count anew with policy_corpus.counts")


def _lines(path: Path, fields: Mapping, key: tuple[str, ...]) -> list[Record]:
    found = [checked(record, fields) for record in read_records(path)]
    no_repeat(found, key)
    return found


def sections(documents: pd.DataFrame) -> pd.DataFrame:
    """A row a passage: passage (document#section), doc_id, section_id, place (from 0), heading, kind, sentences, text, words (split at white space)."""
    rows = [{"passage": f"{d.doc_id}#{s['section_id']}", "doc_id": d.doc_id, "section_id": s["section_id"], "place": i, "heading": s["heading"],
             "kind": s["kind"], "sentences": s["sentences"], "text": (text := " ".join(s["sentences"])), "words": len(text.split())}
            for d in documents.itertuples() for i, s in enumerate(d.sections)]
    return pd.DataFrame(rows)


def judged(corpus: PolicyCorpus, qid: str) -> pd.DataFrame:
    """What was judged for one question, with the words: label, role, bundles, grade, passage, kind, heading, words of the span, note; raises ValueError."""
    rows = corpus.judgements[corpus.judgements["qid"] == qid]
    if rows.empty:
        raise ValueError(f"qid {qid!r} has no judgement; qids look like {', '.join(corpus.questions['qid'].head(2))}")
    told = rows.merge(corpus.sections.drop(columns="words"), on=["doc_id", "section_id"], suffixes=("", "_all"))
    spans = [" ".join(s[first:last + 1]) for s, (first, last) in zip(told["sentences_all"], told["sentences"])]
    return told.assign(words=spans)[["label", "role", "bundles", "grade", "passage", "kind", "heading", "words", "note"]]


def counts(corpus: PolicyCorpus) -> pd.DataFrame:
    """How much of what the corpus holds, long: what, value, n; the numbers of its data card."""
    d, s, q, j = corpus
    alternatives = j[j["label"] == "bundle"].explode("bundles").groupby("qid")["bundles"].nunique()
    plain = [("documents", "all", len(d)), ("families", "all", d["family"].nunique()), ("passages", "all", len(s)), ("words", "all", int(s["words"].sum())),
             ("questions", "all", len(q)), ("judgements", "all", len(j)), ("superseded versions", "all", int(d["superseded_by"].notna().sum())),
             ("archived", "all", int(d["archived"].sum()))]
    parts = [("source_type", d["source_type"]), ("jurisdiction", d["jurisdiction"]), ("entitlement", d["entitlement"]), ("kind", s["kind"]),
             ("slice", q["slice"]), ("question_type", q["question_type"]), ("label", j["label"]), ("bundles a question", alternatives)]
    rows = plain + [(what, str(value), int(n)) for what, column in parts for value, n in column.value_counts().sort_index().items()]
    return pd.DataFrame(rows, columns=COUNTED)
