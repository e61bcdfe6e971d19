"""Reads the question sets that ``python -m lib.gating_records`` wrote: corpora and worlds that a notebook does not rank again (document 002; SPEC 12)."""
from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import gating_files
from lib.gating_features import NAMES, SCHEMA
from lib.gating_inputs import QuestionSet, question_sets
from lib.gating_lists import CANDIDATES, USAGE
from lib.gating_records import ENDS, QUESTIONS, VECTOR
from lib.gating_sets import distiller, lists_of
from lib.ranking import QUESTION
from lib.tables import ROOT

MEND = "write it anew with `python -m lib.gating_records`"
VECTORS = [f"v{i + 1}" for i in range(VECTOR)]
NUMBERS = {"questions": ["n_hops", "pairs", *NAMES, *VECTORS], "candidates": ["rank", "overlap", "overlap_title", "title_named", "length"]}
TEXTS = {"questions": [*QUESTION, "target", "reranker", "schema"], "candidates": [*QUESTION, "doc_id", "title_key"]}
PLACES = {"rank_h": "score_h", "rank_v": "score_v", "rank_r": "score_r"}
MOST = 2**31  # no list is longer


class Recorded(NamedTuple):
    """``data``: the question set; ``questions``: dataset, qid, half, n_hops; ``usage``: gating_lists.USAGE; ``lists``: H, V and R, gating_inputs.COLUMNS."""

    data: QuestionSet
    questions: pd.DataFrame
    usage: pd.DataFrame
    lists: pd.DataFrame


def of_files(pattern: str, root: Path = ROOT) -> list[Recorded]:
    """What the pattern finds below ``root``, by path; none is no error. A pair of files needs to be found by its questions alone.

    Raises ValueError for a pattern that is none, a data set that two pairs hold, and what ``read`` refuses.
    """
    found = {}
    for path in gating_files.found(pattern, ENDS["questions"], root):
        made = read(path)
        if other := found.get(made.data.dataset):
            raise ValueError(f"{path.name} in {path.parent.name} holds the data set {made.data.dataset!r}, and so does {other[0].name} in "
                             f"{other[0].parent.name}; keep one of them, or narrow the pattern")
        found[made.data.dataset] = path, made
    return [made for _, made in found.values()]


def read(path: Path) -> Recorded:
    """One question set from its two files; raises ValueError for files that are missing, cut short, of another feature schema, or tell what cannot be."""
    if not path.name.endswith(ENDS["questions"]):
        raise ValueError(f"{path.name}: a question set is read by its file of questions, *{ENDS['questions']}")
    questions = _rows(path, QUESTIONS, "questions")
    candidates = _rows(path.with_name(path.name.removesuffix(ENDS["questions"]) + ENDS["candidates"]), CANDIDATES, "candidates")
    try:
        return _joined(questions.sort_values(QUESTION, ignore_index=True), candidates.astype({c: "Int64" for c in [*PLACES, "rank"]}))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}; {MEND}") from error


def _joined(questions: pd.DataFrame, candidates: pd.DataFrame) -> Recorded:
    if other := sorted(set(questions["schema"]) - {SCHEMA}):
        raise ValueError(f"feature schema {other}, this library computes {SCHEMA!r}")
    if questions["dataset"].nunique() != 1:
        raise ValueError(f"one data set a file, got {sorted(set(questions['dataset']))}")
    if strange := set(zip(candidates["dataset"], candidates["qid"])) ^ set(zip(questions["dataset"], questions["qid"])):
        raise ValueError(f"{len(strange)} questions stand in one of the two files alone, {min(strange)[1]!r} first")
    told, last = questions.set_index("qid")["pairs"], candidates.groupby("qid")["rank"].agg(["size", "nunique", "max"])
    if (wrong := ~last.eq(told.reindex(last.index), axis=0).all(axis=1)).any():
        raise ValueError(f"question {last.index[wrong][0]!r} has {last['size'][wrong].iloc[0]} candidates, ranks to {last['max'][wrong].iloc[0]}, where "
                         f"{told[last.index[wrong][0]]} were reranked")
    targets = questions[[*QUESTION, "target"]].rename(columns={"target": "doc_id"}).assign(title=lambda t: t["doc_id"])
    lists = lists_of(candidates)
    sets, left = question_sets(lists, targets, questions.assign(question="")[[*QUESTION, "question"]], questions[VECTORS].to_numpy(float),
                               distiller(candidates))
    if len(left) or len(sets) != 1:
        raise ValueError(f"{left[['reason', 'questions']].to_dict('records')}: every recorded question has three lists and a target")
    features = questions.set_index("qid").loc[sets[0].qids, list(NAMES)].to_numpy(float)
    _check_features(sets[0], features)
    return Recorded(sets[0]._replace(features=features), questions[[*QUESTION, "half", "n_hops"]], questions[USAGE], lists)


def _check_features(data: QuestionSet, features: np.ndarray) -> None:
    """Raise ValueError where features (n, 27) of the lists are not those of the candidates: the two files are of two runs, or one was edited."""
    of_lists = [i for i, name in enumerate(NAMES) if not name.startswith("q_") or name == "q_unique_titles"]  # the others need the question's text
    apart = ~np.isclose(features[:, of_lists], data.features[:, of_lists], rtol=1e-5, atol=1e-6)
    if apart.any():
        row, column = np.argwhere(apart)[0]
        name, told, found = NAMES[of_lists[column]], features[row, of_lists[column]], data.features[row, of_lists[column]]
        raise ValueError(f"feature {name} of question {str(data.qids[row])!r} is {told:.6g}, and its lists say {found:.6g}: the two files do not belong "
                         "together")


def _rows(path: Path, columns: Sequence[str], name: str) -> pd.DataFrame:
    if not path.exists():
        raise ValueError(f"{path.name} is not there; {MEND}")
    try:  # text stays text: a question may be called "NA"; lines end as they were written, an id may hold a carriage return
        rows = pd.read_csv(path, dtype=dict.fromkeys(TEXTS[name], str), keep_default_na=False, lineterminator="\n",
                           na_values={c: [""] for c in columns if c not in TEXTS[name]})
    except (ValueError, EOFError, OSError, zlib.error) as error:  # OSError: a folder, no gzip
        raise ValueError(f"{path.name} cannot be read, it may be cut short ({error}); {MEND}") from error
    if missing := [c for c in columns if c not in rows]:
        raise ValueError(f"{path.name}: columns {missing} are missing, found {list(rows)[:12]}...; {MEND}")
    if rows.empty:
        raise ValueError(f"{path.name} holds no {name}; {MEND}")
    if (line := _first_wrong(rows, name)) is not None:
        raise ValueError(f"{path.name}, row {line + 1}: {rows.iloc[line][list(columns)[:9]].to_dict()} cannot be: ids, numbers and ranks from 1 on are "
                         f"needed, each {name.removesuffix('s')} once; {MEND}")
    return rows[list(columns)]


def _first_wrong(rows: pd.DataFrame, name: str) -> int | None:
    """Place of the first row that cannot be, None where all can."""
    def number(columns: Sequence[str]) -> pd.DataFrame:
        return rows[list(columns)].apply(pd.to_numeric, errors="coerce").astype(float)

    wrong = rows[TEXTS[name]].isna().any(axis=1) | rows[TEXTS[name]].eq("").any(axis=1) | ~np.isfinite(number(NUMBERS[name])).all(axis=1)
    wrong |= rows.duplicated([*QUESTION, *(["doc_id"] if name == "candidates" else [])])
    if name == "questions":
        return _first(wrong | ~number(["half"])["half"].isin([0, 1]) | rows["tokens"].notna() & ~np.isfinite(number(["tokens"])["tokens"]))
    places, scores = number([*PLACES, "rank"]), number(PLACES.values())
    there = rows[list(PLACES)].notna()
    wrong |= ((places < 1) | (places > MOST) | (places % 1 != 0) & rows[places.columns].notna()).any(axis=1)
    return _first(wrong | (there & ~np.isfinite(scores).set_axis(list(PLACES), axis=1)).any(axis=1))


def _first(wrong: pd.Series) -> int | None:
    return int(wrong.to_numpy().argmax()) if wrong.any() else None
