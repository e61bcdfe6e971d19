"""Service times of a cross-encoder on this machine, one thread: a recorded input that the study of latency reads (SPEC 11).

usage: python -m lib.record_times [--model reranker] [--depths 5 10 20 50 100 200] [--together 2 8] [--calls 40] [--pairs 300] [--out FILE]

Each call scores the first ``depth`` passages (of BM25 over the sample corpus) of one question, or of several at once. At each depth and number of
questions as many calls are timed as make ``--pairs`` pairs, 5 at least and ``--calls`` at most; several at once are timed at depths of at most 20.
Seconds are processor time, so that other work on the machine does not count; the time that passed on the wall is kept beside it.
"""
from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lib import retrieval, tables
from lib.cross_encoder import CrossEncoderError, open_cross_encoder, read_card
from lib.cross_encoder_model import CrossEncoder, Pair, encode_pairs
from lib.depth import DEPTHS, checked_depths
from lib.latency_times import COLUMNS, TIMES, Times, summary, write_times
from lib.whole import check_whole

TOGETHER_DEPTH = 20  # deepest at which several questions are timed in one call


def lists_of(questions: pd.DataFrame, documents: pd.DataFrame, depth: int, seed: int = 0) -> list[list[Pair]]:
    """For each question, in a seeded order, its pairs with the first ``depth`` passages of BM25 over all documents."""
    asked = questions.sort_values(["dataset", "qid"]).sample(frac=1, random_state=seed)["question"].tolist()
    passages = [retrieval.passage(d.title, d.text) for d in documents.sort_values(["dataset", "doc_id"]).itertuples()]
    scores, ties = retrieval.bm25_scores(asked, passages), retrieval.tie_breaks(passages)
    return [[(question, passages[i]) for i in retrieval.ordered(row, ties, depth)] for question, row in zip(asked, scores)]


def measure(scorer: CrossEncoder, lists: Sequence[list[Pair]], depths: Sequence[int], together: Sequence[int] = (), calls: int = 40,
            pairs: int = 300) -> pd.DataFrame:
    """The rows of ``lib.latency_times``, shallow to deep; one call before the first is not timed.

    Raises ValueError where the lists are fewer than the largest number of questions in one call, or shorter than the deepest depth.
    """
    depths = checked_depths(depths)
    for name, value in (*(("together", b) for b in together), ("calls", calls), ("pairs", pairs)):
        check_whole(name, value, 1)
    if len(lists) < max([1, *together]) or min(map(len, lists)) < depths[-1]:
        shortest = min(map(len, lists), default=0)
        raise ValueError(f"got {len(lists)} lists of at least {shortest} passages: {max([1, *together])} lists of {depths[-1]} are needed")
    scorer.score(lists[0][:4])
    made = []
    for depth in depths:
        for queries in (1, *(b for b in sorted(together) if depth <= TOGETHER_DEPTH)):
            for repeat in range(max(5, min(calls, pairs // (depth * queries)))):
                asked = [lists[(repeat * queries + k) % len(lists)][:depth] for k in range(queries)]
                made.append((depth, queries, repeat, *timed(scorer, [pair for one in asked for pair in one])))
    return pd.DataFrame(made, columns=list(COLUMNS))


def timed(scorer: CrossEncoder, pairs: list[Pair]) -> tuple[float, float, int, int, float]:
    """(processor seconds, wall seconds, pairs, tokens, peak memory so far in MB) of one call."""
    wall, spent = time.perf_counter(), time.process_time()
    scorer.score(pairs)
    spent, wall = time.process_time() - spent, time.perf_counter() - wall
    tokens = sum(len(ids) for ids, _ in encode_pairs(scorer.tokenizer, pairs, scorer.max_length))
    return spent, wall, len(pairs), tokens, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> str:
    """The machine in general words: kind of processor, its widest arithmetic, threads used, system."""
    flags = Path("/proc/cpuinfo")
    text = flags.read_text(encoding="utf-8") if flags.exists() else ""
    known = (("avx512_bf16", "AVX-512 with BF16"), ("avx512f", "AVX-512"), ("avx2", "AVX2"))
    widest = next((name for flag, name in known if flag in text), "unknown vector width")
    return f"{platform.machine()} server processor, {widest}; {os.cpu_count()} cores, of which one thread was used; {platform.system()}; no accelerator"


def record(name: str, depths: Sequence[int], together: Sequence[int], calls: int, pairs: int, path: Path, tier: str = "sample") -> Times:
    """Time the model ``name`` on the tier's questions and passages, and write the file; raises CrossEncoderError, ValueError."""
    import torch

    torch.set_num_threads(1)
    scorer, card = open_cross_encoder(name), read_card(name)
    questions, documents = tables.read_all(tier, "questions", "documents")
    rows = measure(scorer, lists_of(questions, documents, max(depths)), depths, together, calls, pairs)
    about = {"model": name, "sha256": card["sha256"], "precision": "fp32", "threads": 1, "batch_size": 32, "max_length": scorer.max_length,
             "machine": machine(), "torch": torch.__version__, "parameters": sum(p.numel() for p in scorer.model.parameters()),
             "texts": f"{tier} questions, BM25 over the {tier} corpus"}
    write_times(times := Times(rows, about), path)
    return times


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.record_times", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="reranker", help="a trained cross-encoder")
    parser.add_argument("--depths", type=int, nargs="+", default=list(DEPTHS), help="passages a question")
    parser.add_argument("--together", type=int, nargs="*", default=[2, 8], help="questions in one call, beside one")
    parser.add_argument("--calls", type=int, default=40, help="most calls timed at one depth and number of questions")
    parser.add_argument("--pairs", type=int, default=300, help="pairs to time there, unless 5 calls are more")
    parser.add_argument("--out", type=Path, default=TIMES, help="file to write")
    given = parser.parse_args(arguments)
    try:
        print(summary(record(given.model, given.depths, given.together, given.calls, given.pairs, given.out)).round(4).to_string(index=False))
    except (ValueError, OSError, CrossEncoderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
