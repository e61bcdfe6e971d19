"""Cross-encoder scoring: length-sorted batches over all questions against loops over questions and over pairs; needs a finished 'make repro' and the model.

usage: python -m tests.bench.rerankers [QUESTIONS]
"""
from __future__ import annotations

import sys
import time

from lib import rerankers_sample, tables
from lib.cross_encoder import open_cross_encoder
from lib.cross_encoder_model import encode_pairs, padded
from lib.weights import WeightsError

DEPTH = 20


def cpu(call) -> tuple[float, list[float]]:
    """(seconds of this process's CPU, result)."""
    start = time.process_time()
    made = call()
    return time.process_time() - start, made


def in_order(model, pairs: list[tuple[str, str]], batch_size: int) -> list[float]:
    """Logits of batches in the order given: what a loop over questions computes, each batch padded to its longest pair."""
    import torch

    scores: list[float] = []
    with torch.inference_mode():
        for start in range(0, len(pairs), batch_size):
            batch = padded(encode_pairs(model.tokenizer, pairs[start:start + batch_size], model.max_length))
            scores += model.model(**batch).logits[:, 0].tolist()
    return scores


def bench_rerankers(questions: int = 20) -> str:
    """The first 20 of the hybrid lists of some sample questions, fp32, one process."""
    rankings, asked, documents = tables.read_all("sample", "rankings", "questions", "documents")
    try:
        model = open_cross_encoder("reranker")
    except WeightsError as error:
        return f"cross-encoder scoring: not measured ({str(error).splitlines()[0]})"
    lists = [rerankers_sample.union_pairs(rankings, asked[asked["qid"] == q], documents, ("hybrid",), DEPTH) for q in asked["qid"][:questions]]
    pairs = [pair for own in lists for pair in own]
    model.score(pairs[:8])
    best, sorted_ = cpu(lambda: model.score(pairs, 32))
    loop, looped = cpu(lambda: [s for own in lists for s in in_order(model, own, len(own))])
    single, alone = cpu(lambda: in_order(model, pairs, 1))
    apart = max(abs(a - b) for a, b in zip(sorted_, alone))
    return (f"cross-encoder scoring, {len(lists)} questions x {DEPTH} passages: {1000 * best / len(pairs):.1f} CPU-ms a pair in length-sorted batches of 32; "
            f"one batch a question {loop / best:.2f} times that, one pair at a time {single / best:.2f} times; largest difference of a logit {apart:.1e}, "
            f"{max(abs(a - b) for a, b in zip(looped, alone)):.1e}")


if __name__ == "__main__":
    print(bench_rerankers(*map(int, sys.argv[1:])))
