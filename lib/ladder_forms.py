"""The form of an answer: its length, its token precision and recall apart, whether it abstains (SPEC 9; document 000, Tables 6, 8 and 9).

F1 alone cannot tell a reader that knows less from one that says more: the first loses recall, the second precision. Of answers to public data sets only
these numbers are committed (data/results/scores/forms/), with eight digits of a hash, so that two rungs' answers can be found equal without their text.
"""
from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import scores
from lib.scoring import rule_for, score_answer
from lib.tables import TableError, six_digits, write_atomically
from lib.text import normalise_answer

FOLDER = scores.FOLDER / "forms"
NUMBERS = ["words", "answer_precision", "answer_recall", "abstains"]
COLUMNS = [*NUMBERS, "said"]
TYPES = {**dict.fromkeys(scores.KEY, "string"), **dict.fromkeys(NUMBERS, "float64"), "said": "string"}  # of a committed file
# After normalising; an answer that begins with one of the longer ones abstains too ("not mentioned in the text").
SILENT = frozenset({"", "unknown", "none", "na", "noanswer", "no answer", "unanswerable", "nothing", "i dont know", "unclear", "not sure"})
BEGINNINGS = ("not mentioned", "not specified", "not stated", "not provided", "not given", "not available", "not known", "not applicable", "not enough",
              "no information", "i dont know", "i do not know", "cannot be determined", "cannot determine", "cannot answer", "insufficient information",
              "there is no information", "it is not mentioned", "it is unknown", "context does not", "passages do not", "passage does not", "text does not",
              "information is not")


class Form(NamedTuple):
    """words (tokens after normalising, as F1 counts them), precision and recall in [0, 1] against the gold with the best F1, abstains (0 or 1)."""

    words: int
    answer_precision: float
    answer_recall: float
    abstains: int


def abstains(prediction: str) -> bool:
    """Whether an answer declines to answer: empty, or in words such as "unknown" and "not mentioned".

    >>> abstains("Not mentioned in the passages."), abstains("None"), abstains("Unknown Pleasures"), abstains("no")
    (True, True, False, False)
    """
    said = normalise_answer(prediction)
    return said in SILENT or any(said == b or said.startswith(f"{b} ") for b in BEGINNINGS)


def form(prediction: str, golds: Sequence[str], rule: str) -> Form:
    """The form of one answer. A closed answer (yes, no) that is wrong has precision and recall 0, as its F1; an answer that is exactly right never abstains.

    >>> form("the painter Edda Sorrel", ["Edda Sorrel"], "hotpotqa")
    Form(words=3, answer_precision=0.6666666666666666, answer_recall=1.0, abstains=0)
    """
    said, golds = normalise_answer(prediction).split(), list(golds)
    em, best = score_answer(prediction, golds, rule)
    gold = max(golds or [""], key=lambda g: score_answer(prediction, [g], rule)[1])  # the first of equals
    wanted = normalise_answer(gold).split()
    if best == 0 or not said or not wanted:  # both empty agree under some rules
        return Form(len(said), best, best, int(abstains(prediction) and em < 1))
    shared = (Counter(said) & Counter(wanted)).total()
    return Form(len(said), shared / len(said), shared / len(wanted), int(abstains(prediction) and em < 1))


def digest(dataset: str, qid: str, prediction: str) -> str:
    """Eight digits of a hash of question and normalised answer: equal for equal answers to one question, and of no use beyond it."""
    return hashlib.sha256(f"{dataset}\n{qid}\n{normalise_answer(prediction)}".encode()).hexdigest()[:8]


def with_forms(answers: pd.DataFrame, questions: pd.DataFrame, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """The answers table with ``words``, ``answer_precision``, ``answer_recall``, ``abstains`` and ``said``.

    Missing where neither text nor a committed form is there. ``questions`` gives the accepted answers; ``known`` comes from ``committed()``. Raises
    ValueError for an answer to a question that is not there, stands twice, or has no accepted answer where its data set's rule needs one.
    """
    if len(twice := questions[questions.duplicated(["dataset", "qid"])]):
        raise ValueError(f"question {twice['qid'].iat[0]!r} of {twice['dataset'].iat[0]} stands twice in table questions; keep one row (run notebook 01 again)")
    golds = dict(zip(zip(questions["dataset"], questions["qid"]), questions["answers"]))
    key = pd.MultiIndex.from_frame(answers[scores.KEY])
    had = (known if known is not None else nothing()).reindex(key)
    rows = []
    for i, a in enumerate(answers.itertuples()):
        if isinstance(a.prediction, str):
            rows.append((*_form(a.prediction, golds, a.dataset, a.qid), digest(a.dataset, a.qid, a.prediction)))
        else:
            rows.append(tuple(had[c].iloc[i] for c in COLUMNS))
    made = pd.DataFrame(rows, columns=COLUMNS, index=answers.index)
    return answers.join(made.astype(dict.fromkeys(NUMBERS, "float64") | {"said": object}))


def _form(prediction: str, golds: Mapping, dataset: str, qid: str) -> Form:
    """``form`` of an answer to one question; what is wrong with its golds is told with the question's name."""
    if (dataset, qid) not in golds:
        raise ValueError(f"there is an answer to question {qid!r} of {dataset}, which is not in table questions; run notebook 01 and what follows again")
    try:
        return form(prediction, golds[dataset, qid], rule_for(dataset))
    except (ValueError, TypeError) as error:
        raise ValueError(f"question {qid!r} of {dataset}: {error}; mend answers in table questions (run notebook 01 again)") from error


def nothing() -> pd.DataFrame:
    """No forms at all, in the form of ``committed``."""
    return pd.DataFrame(columns=[*scores.KEY, *COLUMNS]).set_index(scores.KEY)


def committed(folder: Path = FOLDER) -> pd.DataFrame:
    """All committed forms, indexed by dataset, qid and prompt_hash; TableError for a file that is damaged or a key that stands twice."""
    parts = [scores.read_file(path, TYPES, list(TYPES)) for path in sorted(folder.glob("*.csv"))]
    if not parts:
        return nothing()
    rows = pd.concat(parts)
    if rows.duplicated(scores.KEY).any():
        raise TableError(f"data/results/scores/forms: the key {tuple(rows[rows.duplicated(scores.KEY)].iloc[0][scores.KEY])} stands twice; keep one row")
    return rows.set_index(scores.KEY)


def export(rows: pd.DataFrame, tier: str, folder: Path = FOLDER) -> list[Path]:
    """Write the forms of answers (from ``with_forms``), one file a reader, precision and tier; rows of the file that are not among them stay."""
    written = []
    for (reader, precision), part in rows.dropna(subset=COLUMNS).groupby(["reader", "precision"]):
        path = folder / f"{tier}-{reader}-{precision}.csv"
        new = part[[*scores.KEY, *COLUMNS]].drop_duplicates(scores.KEY)
        old = scores.read_file(path, TYPES, list(TYPES)) if path.exists() else new[:0]
        kept = pd.concat([new, old]).drop_duplicates(scores.KEY).sort_values(scores.KEY)
        whole = kept.astype({"words": "int64", "abstains": "int64"} | dict.fromkeys(NUMBERS[1:3], np.float64))
        written.append(write_atomically(path, lambda p, whole=whole: six_digits(whole).to_csv(p, index=False, lineterminator="\n")))
    return written
