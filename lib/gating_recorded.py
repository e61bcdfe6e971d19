"""Reads the question sets that ``python -m lib.gating_records`` wrote: corpora and worlds that a notebook does not rank again (document 002; SPEC 12)."""
from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.gating_features import NAMES, SCHEMA
from lib.gating_inputs import QuestionSet, question_sets
from lib.gating_lists import CANDIDATES, USAGE
from lib.gating_records import QUESTIONS, VECTOR
from lib.gating_sets import distiller, lists_of
from lib.ranking import QUESTION
from lib.tables import ROOT

MEND = "write it anew with `python -m lib.gating_records`"
NUMBERS = {"questions": [*NAMES, *(f"v{i + 1}" for i in range(VECTOR))], "candidates": ["rank", "overlap", "overlap_title", "title_named", "length"]}
PLACES = ["rank_h", "rank_v", "rank", "rank_r"]


class Recorded(NamedTuple):
    """``data``: the question set; ``questions``: dataset, qid, half, n_hops; ``usage``: gating_lists.USAGE."""

    data: QuestionSet
    questions: pd.DataFrame
    usage: pd.DataFrame


def of_files(pattern: str, root: Path = ROOT) -> list[Recorded]:
    """What the pattern finds below ``root``, by name; none is no error. A pair of files needs to be found by its questions alone.

    Raises ValueError for a pattern that is none, a file without its other half, and what ``read`` refuses.
    """
    if not isinstance(pattern, str) or Path(pattern).is_absolute():
        raise ValueError(f"files must be a pattern of file names below the repository, such as data/results/gating/*-questions.csv.gz, got {pattern!r}")
    return [read(path) for path in sorted(root.glob(pattern)) if path.name.endswith("-questions.csv.gz")] if pattern else []


def read(path: Path) -> Recorded:
    """One question set from its two files; raises ValueError for files that are missing, cut short, of another feature schema, or tell what cannot be."""
    questions = _rows(path, QUESTIONS, "questions")
    candidates = _rows(path.with_name(path.name.replace("-questions.", "-candidates.")), CANDIDATES, "candidates")
    if set(questions["schema"]) != {SCHEMA}:
        raise ValueError(f"{path.name}: feature schema {sorted(set(questions['schema']))}, this library computes {SCHEMA!r}; {MEND}")
    if strange := set(zip(candidates["dataset"], candidates["qid"])) ^ set(zip(questions["dataset"], questions["qid"])):
        raise ValueError(f"{path.name}: {len(strange)} questions stand in one of the two files alone, {sorted(strange)[0][1]!r} first; {MEND}")
    if questions["dataset"].nunique() != 1:
        raise ValueError(f"{path.name}: one data set a file, got {sorted(set(questions['dataset']))}; {MEND}")
    questions = questions.sort_values(QUESTION, ignore_index=True)
    targets = questions[[*QUESTION, "target"]].rename(columns={"target": "doc_id"}).assign(title=lambda t: t["doc_id"])
    vectors = questions[[f"v{i + 1}" for i in range(VECTOR)]].to_numpy(float)
    sets, left = question_sets(lists_of(candidates), targets, questions.assign(question="")[[*QUESTION, "question"]], vectors, distiller(candidates))
    if len(left) or len(sets) != 1:
        raise ValueError(f"{path.name}: {left.to_dict('records')} questions lack a list or a target; {MEND}")
    features = questions.set_index("qid").loc[sets[0].qids, list(NAMES)].to_numpy(float)
    return Recorded(sets[0]._replace(features=features), questions[[*QUESTION, "half", "n_hops"]], questions[USAGE])


def _rows(path: Path, columns: Sequence[str], name: str) -> pd.DataFrame:
    if not path.exists():
        raise ValueError(f"{path.name} is not there; {MEND}")
    texts = dict.fromkeys((*QUESTION, "doc_id", "target", "title_key", "reranker", "schema"), str)
    try:
        rows = pd.read_csv(path, dtype={c: t for c, t in texts.items() if c in columns})
    except (ValueError, EOFError, OSError, zlib.error) as error:  # OSError: a folder, no gzip
        raise ValueError(f"{path.name} cannot be read, it may be cut short ({error}); {MEND}") from error
    if missing := [c for c in columns if c not in rows]:
        raise ValueError(f"{path.name}: columns {missing} are missing, found {list(rows)[:12]}...; {MEND}")
    if (line := _first_wrong(rows, name)) is not None:
        raise ValueError(f"{path.name}, line {line + 2}: {rows.iloc[line][list(columns)[:9]].to_dict()} cannot be: ids, numbers and ranks from 1 on are "
                         f"needed, each {name.rstrip('s')} once; {MEND}")
    return rows[list(columns)].astype({c: "Int64" for c in PLACES if c in columns})


def _first_wrong(rows: pd.DataFrame, name: str) -> int | None:
    """Place of the first row that cannot be, None where all can."""
    key = [*QUESTION, *(["doc_id"] if name == "candidates" else [])]
    ids = [*key, *(["title_key"] if name == "candidates" else ["target", "half"])]
    numbers = rows[NUMBERS[name]].apply(pd.to_numeric, errors="coerce")
    places = rows[[c for c in PLACES if c in rows]].apply(pd.to_numeric, errors="coerce")
    wrong = rows[ids].isna().any(axis=1) | rows.duplicated(key) | ~np.isfinite(numbers).all(axis=1)
    wrong |= ((places < 1) | (places % 1 != 0) & places.notna()).any(axis=1) | (places.isna() & rows[places.columns].notna()).any(axis=1)
    return int(wrong.to_numpy().argmax()) if wrong.any() else None
