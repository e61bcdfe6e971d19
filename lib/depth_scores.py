"""Scores of a cross-encoder over deep lists, made once and kept without any text: what the study of depth reads (SPEC 11).

usage: python -m lib.depth_scores --corpus F --questions F --supporting F --dataset 2wiki-corpus [--first 100]
                                 [--ranker hybrid] [--depth 200] [--model reranker] --out F
       python -m lib.depth_scores --world 60 --documents 3000 [...] --out F       60 questions at each of 1, 2 and 3 hops

About 23 ms a pair on one core. Each batch is stored as soon as it is scored, so a killed run resumes; --count tells how many pairs are still to score.
The file has a row a candidate: dataset, qid, slice, half, rank, score, grade, tokens, n_gold. It quotes no text and names no document, and may be committed.
"""
from __future__ import annotations

import argparse
import gzip
import logging
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from lib import depth_corpus, retrieval
from lib.cross_encoder import TRAINED, CrossEncoderError, cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_model import encode_pairs, load_tokenizer
from lib.depth import KEY, graded
from lib.records import DataError
from lib.store import Store, StoreError
from lib.tables import write_atomically
from lib.weights import WeightsError
from lib.whole import check_whole

MEND = "write it anew with `python -m lib.depth_scores`"
MOST_RANK = 10**9
MOST_GOLD = 10_000  # relevant documents of one question: no collection judges so many, and each becomes a row of gold
COLUMNS = [*KEY, "slice", "half", "rank", "score", "grade", "tokens", "n_gold"]


def pairs_of(lists: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> list[tuple[str, str]]:
    """(question, passage) of each row of ``lists``."""
    asked = tables["questions"].set_index("qid")["question"]
    told = {d.doc_id: retrieval.passage(d.title, d.text) for d in tables["documents"].itertuples()}
    return list(zip(asked[lists["qid"]], lists["doc_id"].map(told)))


def scored(lists: pd.DataFrame, tables: dict[str, pd.DataFrame], spec: dict, store: Store, trained: Path = TRAINED) -> pd.DataFrame:
    """``lists`` (dataset, qid, rank, doc_id) with score, grade, tokens as the model reads them, slice, half and n_gold; resumes from the store."""
    pairs = pairs_of(lists, tables)
    scores = score_pairs(pairs, spec, store, trained=trained)
    limit = cross_encoder_group(spec)["decoding"]["max_length"]
    tokens = [len(ids) for ids, _ in encode_pairs(load_tokenizer(trained / spec["model"]), pairs, limit)]
    gold = tables["gold"]
    n_gold = gold[gold["grade"] > 0].groupby(KEY).size().rename("n_gold").reset_index()
    rows = graded(lists.assign(score=scores, tokens=tokens), gold).merge(tables["questions"].drop(columns="question"), on=KEY).merge(n_gold, on=KEY, how="left")
    return rows.fillna({"n_gold": 0}).astype({"n_gold": int})[COLUMNS].sort_values([*KEY, "rank"], ignore_index=True)


def write_scores(rows: pd.DataFrame, path: Path) -> Path:
    """Write scored lists as CSV, .gz where the name says so, the same bytes for the same rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = rows[COLUMNS].to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    content = gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
    return write_atomically(path, lambda p: Path(p).write_bytes(content))


def _first_wrong(rows: pd.DataFrame) -> int | None:
    """Place of the first row that cannot be, None where all can."""
    numbers = rows[["rank", "half", "n_gold", "score", "grade", "tokens"]].apply(pd.to_numeric, errors="coerce")
    wrong = rows[[*KEY, "slice"]].isna().any(axis=1) | (numbers.isna() & rows[numbers.columns].notna()).any(axis=1) | np.isinf(numbers).any(axis=1)
    whole = numbers[["rank", "half", "n_gold"]]
    wrong |= whole.isna().any(axis=1) | (whole % 1 != 0).any(axis=1) | (whole < [1, 0, 0]).any(axis=1) | (numbers["tokens"] < 0)
    wrong |= (whole > [MOST_RANK, 1, MOST_GOLD]).any(axis=1)
    by = rows.assign(found=numbers["grade"] > 0).groupby(KEY, dropna=False)
    wrong |= rows.assign(rank=numbers["rank"]).duplicated([*KEY, "rank"]) | (by[["slice", "half", "n_gold"]].transform("nunique") > 1).any(axis=1)
    wrong |= (by["found"].transform("sum") > numbers["n_gold"])
    return int(wrong.to_numpy().argmax()) if wrong.any() else None


def read_scores(path: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(lists, gold, questions) as ``lib.depth.depth_rows`` takes them; raises ValueError for a file that is missing, damaged, or tells what cannot be.

    Gold holds a grade of 1 for every relevant document of a question, in the list or not: in these files relevance has no degrees.
    """
    if not Path(path).exists():
        raise ValueError(f"{Path(path).name} is not there; write it with `python -m lib.depth_scores`")
    try:
        rows = pd.read_csv(path, dtype={"dataset": str, "qid": str, "slice": str})
    except (ValueError, EOFError, OSError, zlib.error) as error:  # OSError: a folder, no gzip
        raise ValueError(f"{Path(path).name} cannot be read, it may be cut short ({error}); {MEND}") from error
    if missing := set(COLUMNS) - set(rows):
        raise ValueError(f"{Path(path).name}: columns {sorted(missing)} are missing, found {list(rows)}; {MEND}")
    if ((grades := pd.to_numeric(rows["grade"], errors="coerce")) > 1).any():
        raise ValueError(f"{Path(path).name}: a grade of {grades.max():g}; these files hold grades of 0 and 1 alone")
    if (line := _first_wrong(rows)) is not None:
        raise ValueError(f"{Path(path).name}, line {line + 2}: {rows.iloc[line][COLUMNS].to_dict()} cannot be: rank, half and n_gold are whole, score and "
                         f"tokens numbers or missing, each rank of a question stands once, slice and half are its own, and n_gold counts its relevant, "
                         f"{MOST_GOLD:,} at most; {MEND}")
    rows = rows.assign(**{c: pd.to_numeric(rows[c]).astype(int) for c in ("rank", "half", "n_gold")})
    questions = rows.drop_duplicates(KEY)[[*KEY, "slice", "half", "n_gold"]].reset_index(drop=True)
    gold = questions.loc[questions.index.repeat(questions["n_gold"]), KEY].assign(grade=1.0).reset_index(drop=True)
    return rows[[*KEY, "rank", "score", "grade", "tokens"]], gold, questions.drop(columns="n_gold")


def run(given: argparse.Namespace) -> str:
    """Read, rank, score, write; what was done, in a sentence."""
    for name, least in (("first", 0), ("depth", 1), ("world", 0), ("documents", 1)):
        check_whole(f"--{name}", getattr(given, name), least)
    if given.world:
        tables = depth_corpus.read_worlds(given.world, given.documents, dataset=given.dataset or "worlds")
    elif given.corpus and given.questions and given.supporting:
        tables = depth_corpus.read_corpus(given.corpus, given.questions, given.supporting, given.dataset or "corpus")
    else:
        raise ValueError("name a corpus by --corpus, --questions and --supporting, or ask for a generated one by --world N")
    tables = depth_corpus.first_of(tables, given.first)
    encoder = None if given.ranker == "bm25" else retrieval.encoder(given.encoder)
    lists = depth_corpus.first_stage(tables, given.ranker, given.depth, encoder, given.vectors)
    spec, store = {"model": given.model}, Store()
    if given.count:
        keys = pair_keys(pairs_of(lists, tables), spec)
        return f"{len(lists)} pairs of {len(tables['questions'])} questions, {len(keys) - len(store.get_many(keys))} still to score"
    rows = scored(lists, tables, spec, store)
    return f"{len(rows)} scores of {len(tables['questions'])} questions in {write_scores(rows, given.out).name}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.depth_scores", description=__doc__.split("\n")[0])
    for name in ("corpus", "questions", "supporting"):
        parser.add_argument(f"--{name}", type=Path, help="file of the release")
    for name, kind, default in (("dataset", str, None), ("ranker", str, "hybrid"), ("encoder", str, "minilm"), ("model", str, "reranker"), ("first", int, 0),
                                ("depth", int, 200), ("world", int, 0), ("documents", int, 3000), ("vectors", Path, depth_corpus.CACHE), ("out", Path, None)):
        parser.add_argument(f"--{name}", type=kind, default=default)
    parser.add_argument("--count", action="store_true", help="score nothing, tell how much there is to score")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if not given.count and given.out is None:
            raise ValueError("--out FILE is needed (or --count)")
        print(run(given))
    except (ValueError, OSError, DataError, WeightsError, StoreError, CrossEncoderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
