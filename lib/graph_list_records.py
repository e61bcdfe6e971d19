"""The graph list measured over a corpus or world too large for a notebook, once: levels and differences alone, no text (document 002).

usage: python -m lib.graph_list_records --world 1000 --documents 3000 --out FOLDER        1,000 questions at each of 1, 2 and 3 hops
       python -m lib.graph_list_records --corpus F --questions F --supporting F --dataset 2wiki-corpus --out FOLDER

FOLDER gets <dataset>-lists.csv.gz, rows of lib.graph_list_table.compared without a tier: graph, dense, bm25 and hybrid over all passages.
"""
from __future__ import annotations

import gzip
import logging
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from lib import gating_files, graph_list, graph_list_table, retrieval
from lib.gating_records import ENDS, asked_of, file_names, parser_of
from lib.records import DataError
from lib.store import StoreError
from lib.tables import ROOT, write_atomically
from lib.vectors import CACHE, DIMENSIONS
from lib.weights import WeightsError

END = "-lists.csv.gz"
COLUMNS = graph_list_table.COLUMNS[1:]
KEY, HALVES = ["dataset", "half", "n_hops", "ranker", "minus", "measure"], ("all", "0", "1")
NUMBERS = ["n_hops", "estimate", "ci_low", "ci_high", "p_value", "p_holm", "wins", "losses", "n", "undefined"]
MEND = "write it anew with `python -m lib.graph_list_records`"
RESAMPLES = 10_000
MOST = 2**31  # no count is larger


def measured(tables: dict[str, pd.DataFrame], cache: Path | None = CACHE, resamples: int = RESAMPLES) -> pd.DataFrame:
    """COLUMNS: graph, dense, bm25 and hybrid over all passages of ``tables`` (questions with half and n_hops, gold with the last hop, documents).

    Raises ValueError where no question has gold.
    """
    questions, documents, encoder = tables["questions"], tables["documents"], retrieval.encoder("minilm")
    none = pd.DataFrame({c: pd.Series(dtype=object) for c in ("dataset", "qid", "doc_id")})
    graph = graph_list.rank_sets(questions, documents, encoder, 10, DIMENSIONS, cache)
    others = retrieval.rank(questions, documents, none, encoder, scopes=("pooled",), depth=10, cache=cache)
    rows = graph_list_table.per_question(pd.concat([graph, others], ignore_index=True), tables["gold"], questions, documents)
    if not rows[list(graph_list_table.MEASURES)].notna().any(axis=None):
        raise ValueError(f"none of {len(questions)} questions has gold passages, so there is nothing to measure; give questions whose evidence is known")
    return graph_list_table.compared(rows, "", resamples=resamples)[COLUMNS]


def write(rows: pd.DataFrame, dataset: str, folder: Path) -> Path:
    """Write the rows as gzipped CSV, the same bytes for the same rows; raises ValueError for a name that no file can bear."""
    path = Path(folder) / (file_names(dataset)[0].removesuffix(ENDS["questions"]) + END)
    content = gzip.compress(rows.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode(), mtime=0)
    return write_atomically(path, lambda p: Path(p).write_bytes(content))


def of_files(pattern: str, tier: str, root: Path = ROOT) -> pd.DataFrame:
    """The rows of every file that the pattern finds below ``root``, as ``graph_list_table.compared`` gives them; none is no error.

    Raises ValueError for a pattern that is none, for a file that is cut short or tells what cannot be, and for a data set that two files hold.
    """
    parts: dict[str, tuple[Path, pd.DataFrame]] = {}
    for path in gating_files.found(pattern, END, root):
        rows = _read(path)
        for dataset in rows["dataset"].unique():
            if other := parts.get(dataset):
                raise ValueError(f"{path.name} in {path.parent.name} holds the data set {dataset!r}, and so does {other[0].name} in {other[0].parent.name}; "
                                 "keep one of them, or narrow the pattern")
            parts[dataset] = path, rows[rows["dataset"] == dataset]
    joined = pd.concat([rows for _, rows in parts.values()], ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    return joined.assign(tier=tier)[graph_list_table.COLUMNS]


def _read(path: Path) -> pd.DataFrame:
    try:
        rows = pd.read_csv(path, dtype={"dataset": str, "half": str, "ranker": str, "minus": str, "measure": str}, keep_default_na=False, na_values=[""])
    except (ValueError, EOFError, OSError, zlib.error) as error:  # OSError: a folder, no gzip
        raise ValueError(f"{path.name} cannot be read, it may be cut short ({error}); {MEND}") from error
    if list(rows) != COLUMNS:
        raise ValueError(f"{path.name}: columns {list(rows)[:12]}, expected {COLUMNS}; {MEND}")
    if rows.empty:
        raise ValueError(f"{path.name} holds no row; {MEND}")
    if (wrong := _wrong(rows)).any():
        raise ValueError(f"{path.name}, row {int(wrong.argmax()) + 1}: {rows[wrong].iloc[0].to_dict()} cannot be: it stands twice, lacks its key, or "
                         f"holds what is no number of its kind; {MEND}")
    return rows.astype({"n_hops": int, "n": int, "undefined": int, "wins": "Int64", "losses": "Int64"})


def _wrong(rows: pd.DataFrame) -> np.ndarray:
    """Which rows (n,) cannot be."""
    number = rows[NUMBERS].apply(pd.to_numeric, errors="coerce").astype(float)
    wrong = rows.duplicated(KEY) | rows[KEY].isna().any(axis=1) | (rows[NUMBERS].notna() & ~np.isfinite(number)).any(axis=1)
    counts = number[["n_hops", "n", "undefined", "wins", "losses"]]
    wrong |= ((counts < 0) | (counts > MOST) | (counts % 1 != 0) & counts.notna()).any(axis=1) | counts[["n_hops", "n", "undefined"]].isna().any(axis=1)
    wrong |= ~rows["half"].isin(HALVES) | ~rows["measure"].isin(graph_list_table.MEASURES) | (number["ci_low"] > number["ci_high"])
    return (wrong | ((number[["p_value", "p_holm"]] < 0) | (number[["p_value", "p_holm"]] > 1)).any(axis=1)).to_numpy(bool)


def main(arguments: list[str]) -> int:
    given = parser_of("lib.graph_list_records", __doc__.split("\n")[0], "folder of the file").parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        name, tables = asked_of(given, lambda named: [file_names(named)[0].removesuffix(ENDS["questions"]) + END], "measure")  # before an hour of parsing
        rows = measured(tables(), given.vectors)
        print(f"{len(rows)} rows in {write(rows, name, given.out).name}")
    except (ValueError, OSError, DataError, WeightsError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
