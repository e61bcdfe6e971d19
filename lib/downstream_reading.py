"""What a reader makes of the packed lists: EM and F1 of the contexts that it is asked about, the others stay unread (SPEC 5, 6, 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lib import readers, reading
from lib.downstream import BEST, FIRST, OWN, kind
from lib.ranking import QUESTION
from lib.rerankers_compare import CROSS
from lib.store import Store

READER = ["reader", "precision", "em", "f1"]
TEXTS = [*QUESTION, "context_hash", "context"]


def chosen(outcomes: pd.DataFrame, questions: pd.DataFrame, read: Mapping[str, Any], depth: int) -> pd.Series:
    """Which rows of ``outcomes`` a reader is asked about: those of the first ``questions`` (0: all) of each data set, of the packers and first stages named, at
    ``depth``: the first stage, its cross-encoders in both orders, and the best order. None where ``read`` is {}.
    """
    if not read or outcomes.empty:
        return pd.Series(False, outcomes.index)
    asked = pd.MultiIndex.from_frame(reading.first(questions, read["questions"], "downstream's questions")[QUESTION])
    mine = outcomes["packer"].isin(read["packers"]) & outcomes["first_stage"].isin(read["firsts"]) & (outcomes["depth"] == depth)
    return mine & pd.MultiIndex.from_frame(outcomes[QUESTION]).isin(asked) & _read_list(outcomes)


def _read_list(outcomes: pd.DataFrame) -> pd.Series:
    """The lists worth a reader's time: their number decides the cost."""
    kinds = outcomes["ranker"].map({r: kind(r) for r in outcomes["ranker"].unique()})
    return (kinds.isin([FIRST, BEST]) & (outcomes["order"] == OWN)) | (kinds == CROSS)


def to_read(outcomes: pd.DataFrame, contexts: pd.DataFrame, wanted: pd.Series) -> pd.DataFrame:
    """dataset, qid, context_hash, context of the rows ``wanted``, each text of a question once: the table downstream_contexts."""
    rows = outcomes.loc[wanted, TEXTS[:3]].drop_duplicates()
    return rows.merge(contexts, on=TEXTS[:3], validate="one_to_one")[TEXTS].sort_values(TEXTS[:3], ignore_index=True)


def asked(contexts: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """``contexts`` (table downstream_contexts) in the form of ``reading.read_all``: with question, answers and the reader's prompt."""
    rows = contexts.merge(questions[[*QUESTION, "question", "answers"]], on=QUESTION, validate="many_to_one")
    return rows.assign(prompt=[readers.build_prompt(c, q) for c, q in zip(rows["context"], rows["question"])])


def prompts(contexts: pd.DataFrame, questions: pd.DataFrame) -> list[str]:
    """The distinct prompts of table downstream_contexts, for the record of answers."""
    return sorted(set(asked(contexts, questions)["prompt"]))


def answered(
    outcomes: pd.DataFrame,
    contexts: pd.DataFrame,
    wanted: pd.Series,
    questions: pd.DataFrame,
    reader: Mapping[str, Any] | None,
    store: Store,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """``outcomes`` with reader, precision, em and f1: what is on record (``known``: scores without text, too) is not read again.

    A row that was not asked stays missing, also where the same text was read in another row: a mean over those that coincide would be one
    over chosen questions.
    """
    nothing = outcomes.assign(reader="none", precision="none", em=np.nan, f1=np.nan)
    if not wanted.any():
        return nothing
    answers = reading.read_all(asked(to_read(outcomes, contexts, wanted), questions), [reader], store, known=known)
    found = outcomes[TEXTS[:3]].merge(answers[[*TEXTS[:3], *READER]], on=TEXTS[:3], how="left", validate="many_to_one").set_index(outcomes.index)
    return nothing.assign(**{c: found[c].where(wanted, nothing[c]) for c in READER}).astype({"em": float, "f1": float})


def left_unread(outcomes: pd.DataFrame, wanted: pd.Series, depth: int) -> str:
    """One sentence: how many of the distinct contexts of ``depth`` were read, of how many questions."""
    every, read = (outcomes.loc[rows, TEXTS[:3]].drop_duplicates() for rows in (outcomes["depth"] == depth, wanted))
    return (
        f"{len(read):,} of {len(every):,} distinct contexts of {depth} passages were read (all lists, packers and orders), those of "
        f"{len(read[QUESTION].drop_duplicates()):,} questions."
    )
