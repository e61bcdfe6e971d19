"""Contexts judged by reading: does this text support this answer to this question? (SPEC 7; the sample corpus only)

``supported``: a careful reader who has the context alone can conclude the answer; ``partly``: the words of the answer are there but a link that the
question needs is missing, one of two things to compare is missing, or about a third or more of a long answer's facts are there; else ``not supported``.
Contexts ``drawn`` were taken in the order of a hash, whatever any scorer said: two for each free-form question, one for each paraphrased one, ten for yes/no
questions and thirty for the rest, so the kinds are not in their natural shares. Those chosen ``by score`` were taken to have span and similarity agree and
disagree equally often; they show who is right then, and would flatter the other scorers in a mean, so errors are counted on them apart. All were judged
before any verdict on them was looked at, by one reader.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lib import agreement
from lib.bootstrap import Interval
from lib.tables import ROOT, TableError

FILE = ROOT / "data" / "sample" / "hand_checked.csv"
COLUMNS = ["qid", "policy", "context_hash", "judgement", "selection", "reason"]
JUDGEMENTS = ("supported", "partly", "not supported")
SELECTIONS = ("drawn", "by score")
# quantity, among contexts judged so, the verdict that is counted
ERRORS = (("wrongly_supported", "not supported", 1), ("wrongly_denied", "supported", 0), ("partly_supported", "partly", 1))


def read(path: Path = FILE) -> pd.DataFrame:
    """The judgements; raises TableError for another column, an unknown judgement, a missing value or a context judged twice."""
    try:
        rows = pd.read_csv(path, dtype="string", keep_default_na=False)
    except (OSError, ValueError) as error:  # the CSV parser's errors are kinds of ValueError
        raise TableError(f"{path.name}: cannot be read ({type(error).__name__}: {error}); restore it with git checkout") from error
    if list(rows) != COLUMNS:
        raise TableError(f"{path.name}: has the columns {list(rows)}, expected {COLUMNS}")
    wrong = rows[~rows["judgement"].isin(JUDGEMENTS) | ~rows["selection"].isin(SELECTIONS) | (rows == "").any(axis=1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise TableError(f"{path.name}: question {row.qid}, policy {row.policy}: judgement {row.judgement!r} is none of {', '.join(JUDGEMENTS)}, "
                         f"selection {row.selection!r} is none of {', '.join(SELECTIONS)}, or a value is missing")
    twice = rows[rows.duplicated(["qid", "context_hash"])]
    if len(twice):
        raise TableError(f"{path.name}: question {twice.iloc[0].qid}, policy {twice.iloc[0].policy}: this context is judged twice; keep one row")
    return rows


def here(readings: pd.DataFrame, path: Path = FILE) -> pd.DataFrame | None:
    """The judgements where this run read exactly the contexts that were judged, else None with a printed line; None in silence for other corpora."""
    rows = read(path)
    if not rows["qid"].isin(readings["qid"]).any():
        return None
    left = int((~rows["context_hash"].isin(readings["context_hash"])).sum())
    if left:
        print(f"{left} of {len(rows)} judged contexts were not read here (another budget, setting or number of questions): judgements are left out")
        return None
    return rows


def matched(checked: pd.DataFrame, packed: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``packed`` (a question and policy each, with context_hash) that were judged, with judgement and reason.

    Questions and policies that this run did not read are passed over. Raises ValueError where a question's context by that policy is now
    another text than the one judged.
    """
    both = packed.merge(checked.rename(columns={"context_hash": "judged_hash"}), on=["qid", "policy"])
    stale = both[both["context_hash"] != both["judged_hash"]]
    if len(stale):
        row = stale.iloc[0]
        raise ValueError(f"{len(stale)} of {len(both)} hand-checked contexts have changed since they were judged, first question {row.qid}, policy "
                         f"{row.policy}: its context is now {str(row.context_hash)[:12]}, judged was {row.judged_hash[:12]}; read the new text and judge it again "
                         "in data/sample/hand_checked.csv, or pass checked=None")
    return both.drop(columns="judged_hash").sort_values(["qid", "policy"], ignore_index=True)


def errors(rows: pd.DataFrame, said: np.ndarray) -> dict[str, Interval]:
    """The shares of ``ERRORS`` of one judge: ``said`` is 1 (supported), 0 or NaN (no verdict, left out) for each of ``rows`` (``matched``).

    >>> rows = pd.DataFrame({"qid": ["a", "b"], "judgement": ["supported", "not supported"]})
    >>> errors(rows, np.array([0.0, 0.0]))["wrongly_denied"].estimate
    1.0
    """
    out = {}
    for quantity, judgement, counted in ERRORS:
        among = (rows["judgement"] == judgement).to_numpy(bool) & ~np.isnan(said)
        out[quantity] = agreement.exact_share(np.where(among, said == counted, np.nan), rows["qid"])
    return out
