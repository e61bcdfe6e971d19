"""Which sentences of a gold passage hold the support: where the releases say it, and how it is inferred where they do not (SPEC 11).

HotpotQA and 2WikiMultiHopQA name supporting sentences. MuSiQue names a paragraph and what each step yields: there the sentences that hold it are
taken. The sample corpus says what each hop yields, too. A passage in which no sentence is found is undefined: it is left out and counted.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lib import datasets, sample
from lib.passages import Question, passage_id
from lib.records import read_records
from lib.training_answers import holds

FACTS = ["dataset", "qid", "doc_id", "at", "words"]  # at: character offset where a supporting sentence begins; words: what it has to hold
EVIDENCE = ["dataset", "qid", "doc_id", "sentence"]


def facts(dataset: str, paths: Sequence[Path]) -> pd.DataFrame:
    """What a release says of its support, a row a fact: ``at`` of a named sentence, or ``words`` that a step yields.

    No rows for records without sentence labels (IRCoT's form). Raises ValueError for a data set whose support is not known, DataError for a bad file.
    """
    made = {"hotpotqa": _named, "2wiki": _named, "musique": _yielded}
    if dataset not in made:
        raise ValueError(f"support is known of {', '.join(made)}, got the data set {dataset!r}; take it out of the recipe")
    questions = datasets.RELEASES[dataset]([record for path in paths for record in read_records(path)])
    return _frame((dataset, q.qid, *row) for q in questions for row in made[dataset](q))


def sample_facts(questions: Iterable[Mapping[str, Any]] | None = None) -> pd.DataFrame:
    """The same of the sample corpus: each hop's ``chain`` words in the passage of that hop; free-form questions have none."""
    asked = sample.read_lines("questions.jsonl") if questions is None else questions
    known = [q for q in asked if len(q["gold"]) == len(q["chain"])]
    return _frame(("ondrell", q["qid"], doc_id, None, words) for q in known for doc_id, words in zip(q["gold"], q["chain"]))


def evidence(told: pd.DataFrame, documents: pd.DataFrame) -> pd.DataFrame:
    """Rows (dataset, qid, doc_id, sentence): the numbers of the supporting sentences, once each; facts that no sentence bears give no row."""
    known = {(d.dataset, d.doc_id): d for d in documents.itertuples(index=False)}
    rows = [(f.dataset, f.qid, f.doc_id, i) for f in told.itertuples() if (f.dataset, f.doc_id) in known for i in _borne(f, known[f.dataset, f.doc_id])]
    return pd.DataFrame(rows, columns=EVIDENCE).drop_duplicates().sort_values(EVIDENCE, ignore_index=True)


def _borne(fact: Any, document: Any) -> list[int]:
    if pd.notna(fact.at):
        return [i for i, (start, end) in enumerate(document.sentences) if start <= fact.at < end]
    return [i for i, (start, end) in enumerate(document.sentences) if holds(fact.words, document.text[start:end])]


def _named(question: Question) -> list[tuple[str, int, None]]:
    """(doc_id, offset, None) of each supporting sentence; numbers that point nowhere or at an empty sentence are left out."""
    fields, rows = question.record.fields, []
    own: dict[str, Any] = {}
    for p in question.passages:
        own.setdefault(p.title, p)  # of two paragraphs of one title the release's reader takes the first, too
    raw: dict[str, list[str]] = {}
    for title, sentences in fields.get("context") or []:
        raw.setdefault(" ".join(title.split()), [" ".join(s.split()) for s in sentences])
    for title, number in fields.get("supporting_facts") or []:
        title = " ".join(title.split())
        said = raw.get(title, [])
        if title in own and 0 <= number < len(said) and said[number]:
            rows.append((own[title].doc_id, own[title].sentences[sum(map(bool, said[:number]))][0], None))
    return rows


def _yielded(question: Question) -> list[tuple[str, None, str]]:
    """(doc_id, None, words) of each step: its answer, and every accepted answer for the last one."""
    fields = question.record.fields
    ids = {p["idx"]: passage_id(*(" ".join(p[k].split()) for k in ("title", "paragraph_text"))) for p in fields["paragraphs"] or []}
    steps = [(ids[s["paragraph_support_idx"]], s["answer"]) for s in fields["question_decomposition"] or [] if s["paragraph_support_idx"] in ids]
    last = [(doc_id, words) for doc_id, _ in steps[-1:] for words in question.answers]
    return list(dict.fromkeys((doc_id, None, str(words)) for doc_id, words in steps + last))


def _frame(rows: Iterable[tuple]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=FACTS).astype({"at": "Int64"})
