"""Data sets in, tables out: releases by local file or hub, the sample corpus, a user's own files (SPEC 1).

>>> from lib.datasets import load
>>> load("musique", {"path": "data/raw/musique/dev.jsonl.gz"})["report"]["questions"]  # doctest: +SKIP
173
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from lib import own, passages, releases, tables
from lib.hub import read_hub
from lib.passages import Question
from lib.records import DataError, Record, read_records
from lib.releases_musique import read_musique
from lib.releases_ragbench import read_ragbench

SEEDS = (42, 13, 7)  # document 000, section 5
DRAWN = 500  # questions a seed draws
SMALLEST_SLICE = 1_000  # below this all questions are used once (SPEC 1)
SAMPLE_FOLDER = tables.ROOT / "data" / "sample" / "corpus"

RELEASES: dict[str, Callable[[Sequence[Record]], list[Question]]] = {
    "hotpotqa": releases.read_hotpotqa,
    "hotpotqa_fullwiki": partial(releases.read_hotpotqa, open_world=True),
    "2wiki": releases.read_2wiki,
    "musique": read_musique,
    "ragbench_covidqa": read_ragbench,
    "ragbench_expertqa": read_ragbench,
}


def load(dataset: str, source: dict) -> dict[str, pd.DataFrame | dict]:
    """The tables questions, gold, documents, pools (rankings where brought) of one data set, and "report": a dict of counts.

    `source` is {"path": file or list of files} or {"hub": repo id, "config":, "split":, "revision":} for a release, with "aliases": file
    for 2Wiki and "slice": name where wanted; a folder or named files for own files (lib/own.py); {} for the sample corpus, "ondrell";
    {"world": {"n_questions": 3000, "hops": 2, "surfacing": 0.5, "seed": 7}} for a generated world (lib/worlds.py).
    Several files of one release are merged by question id. Raises DataError with file, line, field and mend.
    """
    if "world" in source:
        if set(source) != {"world"}:
            raise DataError(f"data set {dataset!r}: a world is made, not read; take {sorted(set(source) - {'world'})} out of the source")
        from lib.worlds import load_world

        return load_world(dataset, source["world"])  # no seed draws from it: its size is a parameter
    if dataset == "ondrell" and not {"path", *own.KINDS} & source.keys():
        source = {**source, "path": SAMPLE_FOLDER}
    if dataset not in RELEASES:
        _refuse_misspelt(dataset, source)
        loaded = own.load_own(dataset, source)
    else:
        loaded = _load_release(dataset, source)
    loaded["questions"] = sample_questions(loaded["questions"])
    return loaded


def _refuse_misspelt(dataset: str, source: dict) -> None:
    path = source.get("path")
    if "hub" in source or isinstance(path, (str, Path)) and Path(path).is_file():
        raise DataError(
            f"data set {dataset!r} is no release known here; the releases are {', '.join(RELEASES)}, and own files come as a folder "
            f"or by name ({', '.join(own.KINDS)})"
        )


def _load_release(dataset: str, source: dict) -> dict[str, pd.DataFrame | dict]:
    if ("path" in source) == ("hub" in source):
        raise DataError(
            f'data set {dataset!r}: got a source with the keys {sorted(source)}; pass exactly one of {{"path": file or files}} and '
            '{"hub": repo id, "config":, "split":, "revision":}'
        )
    extra: dict[str, int | str] = {}
    if "hub" in source:
        records, extra["hub_revision"] = read_hub(source)
    else:
        paths = source["path"] if isinstance(source["path"], (list, tuple)) else [source["path"]]
        records = [record for path in paths for record in read_records(path)]
    reader = RELEASES[dataset]
    if source.get("aliases") is not None:
        if dataset != "2wiki":
            raise DataError(f'data set {dataset!r}: only 2wiki has an alias file; take "aliases" out of the source')
        reader = partial(reader, aliases=releases.read_alias_file(read_records(source["aliases"])))
    questions, merged = merge(reader(records))
    made = passages.tables_of(questions, dataset, source.get("slice") or " ".join(filter(None, [dataset, source.get("split")])))
    return {**made, "report": {**passages.report_of(questions, made), "records": len(records), **merged, **extra}}


def merge(questions: Sequence[Question]) -> tuple[list[Question], dict[str, int]]:
    """Questions without repeats across files, and counts of what fell together.

    Of two records with one id the one whose type is stated is kept, else the first. Raises DataError for an id that repeats within a file, or
    that asks something else in another file.
    """
    kept: dict[str, Question] = {}
    seen: dict[tuple[str, str], int] = {}
    counts = Counter(merged_questions=0, merged_with_other_answers=0, merged_with_other_paragraphs=0)
    for question in questions:
        record = question.record
        if (record.file, question.qid) in seen:
            raise record.error(
                "id",
                f"the question id {question.qid!r} stands already in line {seen[record.file, question.qid]}",
                "keep one record a question",
            )
        seen[record.file, question.qid] = record.line
        first = kept.setdefault(question.qid, question)
        if first is question:
            continue
        if first.question.casefold() != question.question.casefold():
            raise record.error(
                "question",
                f"the id {question.qid!r} asks something else in {first.record.file}, line {first.record.line}",
                "load the two files as two data sets",
            )
        counts["merged_questions"] += 1
        counts["merged_with_other_answers"] += set(first.answers) != set(question.answers)
        counts["merged_with_other_paragraphs"] += {p.doc_id for p in first.passages} != {p.doc_id for p in question.passages}
        if "type_inferred" in first.notes and "type_inferred" not in question.notes:
            kept[question.qid] = question
    return list(kept.values()), dict(counts)


def sample_questions(questions: pd.DataFrame, n: int = DRAWN, seeds: Sequence[int] = SEEDS) -> pd.DataFrame:
    """The questions table with its `seeds` column drawn: which seeds take each question (SPEC 1).

    Each seed takes n questions of every slice that holds at least 1,000; in a smaller slice the list stays empty: all questions are
    used once. The draw is by sha256(seed, qid), so it depends on no library and not on the order of rows. ValueError where n exceeds a slice.
    """
    drawn = {key: [] for key in zip(questions["dataset"], questions["qid"])}
    for (dataset, slice_name), group in questions.groupby(["dataset", "slice"], sort=True):
        if len(group) < SMALLEST_SLICE:
            continue
        if n > len(group):
            raise ValueError(f"slice {slice_name!r} of {dataset} holds {len(group)} questions, {n} were to be drawn; draw fewer")
        for seed in seeds:
            for qid in sorted(group["qid"], key=lambda q: (hashlib.sha256(f"{seed}:{q}".encode()).hexdigest(), q))[:n]:
                drawn[dataset, qid].append(seed)
    return questions.assign(seeds=pd.Series(list(drawn.values()), index=questions.index, dtype=object))
