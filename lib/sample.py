"""The sample corpus: where each question's own ten paragraphs come from.

usage: python -m lib.sample          rewrites the ``pool`` field of data/sample/corpus/questions.jsonl

As in HotpotQA's distractor setting, a question's pool is its gold passages plus the passages that a lexical retriever confuses with
them: the best BM25 matches that are not gold. The order is that of the documents file and tells nothing.
"""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from lib import retrieval
from lib.tables import ROOT, write_atomically

FOLDER = ROOT / "data" / "sample" / "corpus"
POOL_SIZE = 10


def read_lines(name: str) -> list[dict]:
    """One of the corpus files as a list of records."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").split("\n") if line]


def own_pools(questions: list[dict], documents: list[dict], size: int = POOL_SIZE) -> list[list[str]]:
    """The ids of each question's ``size`` paragraphs: gold, then the nearest BM25 distractors; in documents-file order."""
    passages = [retrieval.passage(d["title"], " ".join(d["sentences"])) for d in documents]
    ids, ties = [d["doc_id"] for d in documents], retrieval.tie_breaks(passages)
    scores = retrieval.bm25_scores([q["question"] for q in questions], passages)
    pools = []
    for q, row in zip(questions, scores):
        near = [ids[i] for i in retrieval.ordered(np.asarray(row), ties, len(ids)) if ids[i] not in q["gold"]]
        chosen = {*q["gold"], *near[:max(0, size - len(q["gold"]))]}
        pools.append([i for i in ids if i in chosen])
    return pools


def main() -> None:
    questions, documents = read_lines("questions.jsonl"), read_lines("documents.jsonl")
    for q, pool in zip(questions, own_pools(questions, documents)):
        q["pool"] = pool
    lines = "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in questions)
    write_atomically(FOLDER / "questions.jsonl", lambda p: Path(p).write_text(lines, encoding="utf-8"))


if __name__ == "__main__":
    main()
