"""Scores of answers to public data sets: hash and score are committed, the text is not (SPEC 5).

A prompt that is neither recorded nor cached, but whose score is here, runs no model: its row in the answers table has scores and no text.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lib.tables import ROOT, TableError, six_digits, write_atomically

FOLDER = ROOT / "data" / "results" / "scores"
KEY = ["dataset", "qid", "prompt_hash"]
COUNTS = {"n_prompt_tokens": "Int64", "n_new_tokens": "Int64"}  # missing where an endpoint did not tell them
VALUES = ["em", "f1", "em_raw", "f1_raw", *COUNTS]


def nothing() -> pd.DataFrame:
    """No scores at all, in the form of ``committed``."""
    return pd.DataFrame(columns=[*KEY, *VALUES]).set_index(KEY)


def committed(folder: Path = FOLDER) -> pd.DataFrame:
    """All committed scores, indexed by dataset, qid and prompt_hash; TableError for a file that is cut short or repeats a key."""
    parts = []
    for path in sorted(folder.glob("*.csv")):
        try:
            part = pd.read_csv(path, dtype={**{c: "string" for c in (*KEY, "reader", "precision")}, **COUNTS})
        except ValueError as error:  # pandas' own errors are kinds of it
            raise TableError(f"{path.name}: cannot be read ({error}); it may be cut short. Restore it with git checkout") from error
        whole = path.read_bytes().endswith(b"\n")  # a count may be missing, so a cut one shows only here
        if not whole or list(part) != [*KEY, "reader", "precision", *VALUES] or part[[*KEY, *VALUES[:4]]].isna().any(axis=None):
            raise TableError(f"{path.name}: columns or values are missing; it may be cut short. Restore it with git checkout")
        parts.append(part)
    rows = pd.concat(parts) if parts else pd.DataFrame(columns=[*KEY, "reader", "precision", *VALUES])
    if rows.duplicated(KEY).any():
        raise TableError(f"data/results/scores: the key {tuple(rows[rows.duplicated(KEY)].iloc[0][KEY])} stands twice; keep one row")
    return rows.set_index(KEY)[VALUES]


def export(answers: pd.DataFrame, tier: str, folder: Path = FOLDER) -> list[Path]:
    """Write the scores of an answers table, one file a reader and tier; the same rows give the same bytes."""
    written = []
    for (reader, precision), part in answers.groupby(["reader", "precision"]):
        rows = part[[*KEY, "reader", "precision", *VALUES]].drop_duplicates(KEY).sort_values(KEY).astype(COUNTS)
        path = folder / f"{tier}-{reader}-{precision}.csv"
        written.append(write_atomically(path, lambda p: six_digits(rows).to_csv(p, index=False, lineterminator="\n")))
    return written


def rows_for(dataset: Sequence[str], qid: Sequence[str], prompt_hash: Sequence[str], known: pd.DataFrame) -> pd.DataFrame:
    """The committed scores of these answers, NaN where there are none, in order."""
    return known.reindex(pd.MultiIndex.from_arrays([dataset, qid, prompt_hash], names=KEY)).reset_index(drop=True)
