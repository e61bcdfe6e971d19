"""Scores of answers to public data sets, and of how far contexts support them: hash and score are committed, the text is not (SPEC 5).

A prompt that is neither recorded nor cached, but whose score is here, runs no model: its row in the answers table has scores and no text. Support
scores lie in a folder below, with a hash of all that decides them (``support.keys``).
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib.tables import ROOT, TableError, six_digits, write_atomically

FOLDER = ROOT / "data" / "results" / "scores"
KEY = ["dataset", "qid", "prompt_hash"]
COUNTS = {"n_prompt_tokens": "Int64", "n_new_tokens": "Int64"}  # missing where an endpoint did not tell them
SUPPORT = ["dataset", "qid", "support_hash"]
VALUES = ["em", "f1", "em_raw", "f1_raw", *COUNTS]
TYPES = {**dict.fromkeys([*KEY, "reader", "precision"], "string"), **dict.fromkeys(VALUES[:4], "float64"), **COUNTS}  # of a committed file
SHARES = ("em", "f1", "em_raw", "f1_raw", "answer_precision", "answer_recall", "abstains")  # numbers of [0, 1]


def nothing() -> pd.DataFrame:
    """No scores at all, in the form of ``committed``."""
    return pd.DataFrame(columns=[*KEY, *VALUES]).set_index(KEY)


def committed(folder: Path = FOLDER) -> pd.DataFrame:
    """All committed scores, indexed by dataset, qid and prompt_hash; TableError for a file that is cut short or repeats a key."""
    return _files(folder, KEY, TYPES, [*KEY, *VALUES[:4]])[VALUES]


def _files(folder: Path, key: list[str], types: dict[str, str], needed: list[str]) -> pd.DataFrame:
    """All files of ``folder``, indexed by ``key``; TableError for one that is cut short, and for a key that stands twice."""
    parts = [read_file(path, types, needed) for path in sorted(folder.glob("*.csv"))]
    rows = pd.concat(parts) if parts else pd.DataFrame(columns=list(types))
    if rows.duplicated(key).any():
        raise TableError(f"data/results/scores: the key {tuple(rows[rows.duplicated(key)].iloc[0][key])} stands twice; keep one row")
    return rows.set_index(key)


def read_file(path: Path, types: Mapping[str, str], needed: Sequence[str]) -> pd.DataFrame:
    """One committed file with the columns ``types``; TableError where it is cut short, or a value is missing, no number or none of its kind.

    Numbers of [0, 1] are those of SHARES.
    """
    try:
        part = pd.read_csv(path, dtype={c: t for c, t in types.items() if t != "float64"})
        whole = path.read_bytes().endswith(b"\n")  # a count may be missing, so a cut one shows only here
    except (ValueError, OSError) as error:  # pandas' own errors are kinds of the first
        raise TableError(f"{path.name}: cannot be read ({error}); it may be cut short. Restore it with git checkout") from error
    if not whole or list(part) != list(types) or part[list(needed)].isna().any(axis=None):
        raise TableError(f"{path.name}: columns or values are missing; it may be cut short. Restore it with git checkout")
    for column in (c for c, t in types.items() if t == "float64" and len(part)):
        values = pd.to_numeric(part[column], errors="coerce")
        most = 1 if column in SHARES else np.inf
        if not (np.isfinite(values) & (values <= most) & ((values >= 0) | (most > 1))).all():
            raise TableError(f"{path.name}: {column} holds what is no {'share' if most == 1 else 'number'}; it is damaged. Restore it with git checkout")
    return part


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


def no_support() -> pd.DataFrame:
    """No support scores at all, in the form of ``committed_support``."""
    return pd.DataFrame(columns=[*SUPPORT, "score"]).set_index(SUPPORT)


def committed_support(folder: Path = FOLDER / "support") -> pd.DataFrame:
    """All committed support scores, indexed by dataset, qid and support_hash; TableError as ``committed``."""
    return _files(folder, SUPPORT, {**dict.fromkeys([*SUPPORT, "scorer"], "string"), "score": "float64"}, [*SUPPORT, "score"])[["score"]]


def export_support(rows: pd.DataFrame, tier: str, folder: Path = FOLDER / "support") -> list[Path]:
    """Write support scores (dataset, qid, support_hash, scorer, score), one file a scorer and tier; a missing score is no row."""
    written = []
    for scorer, part in rows.dropna(subset=["score"]).groupby("scorer"):
        kept = part[[*SUPPORT, "scorer", "score"]].drop_duplicates(SUPPORT).sort_values(SUPPORT)
        path = folder / f"{tier}-{re.sub(r'[^A-Za-z0-9.]+', '-', scorer)}.csv"
        written.append(write_atomically(path, lambda p: six_digits(kept).to_csv(p, index=False, lineterminator="\n")))
    return written


def support_for(dataset: Sequence[str], qid: Sequence[str], support_hash: Sequence[str], known: pd.DataFrame) -> np.ndarray:
    """The committed support scores of these contexts, NaN where there are none, in order. Shape (n,)."""
    return known.reindex(pd.MultiIndex.from_arrays([dataset, qid, support_hash], names=SUPPORT))["score"].to_numpy(dtype=float, copy=True)
