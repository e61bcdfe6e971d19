"""Planted lists for the tests of depth: relevant documents at known ranks, a reranker whose noise is a dial, and one that deep irrelevant documents fool."""
import numpy as np
import pandas as pd


def planted(n=120, length=200, noise=0.7, fooled=0.0, seed=0, slices=("easy", "hard"), relevant=2, dataset="d"):
    """(lists, gold, questions). ``fooled``: how far irrelevant documents rise with depth; a question of slice ``hard`` has its relevant ones deeper."""
    rng = np.random.default_rng(seed)
    qids = [f"q{i:04d}" for i in range(n)]
    questions = pd.DataFrame({"dataset": dataset, "qid": qids, "slice": [slices[i % len(slices)] for i in range(n)],
            "half": [i // len(slices) % 2 for i in range(n)]})
    lists = []
    for i, qid in enumerate(qids):
        reach = 12 if questions["slice"][i] == slices[0] else 90
        grade = np.zeros(length)
        grade[rng.choice(min(reach, length), relevant, replace=False)] = 1
        rank = np.arange(1, length + 1)
        score = 2.0 * grade + noise * rng.standard_normal(length) + np.where(grade > 0, 0.0, fooled * np.log2(rank) * rng.random(length)) - 0.5
        lists.append(pd.DataFrame({"dataset": dataset, "qid": qid, "rank": rank, "score": score, "grade": grade, "tokens": rng.integers(40, 128, length)}))
    gold = pd.DataFrame({"dataset": dataset, "qid": np.repeat(qids, relevant), "grade": 1.0})
    return pd.concat(lists, ignore_index=True), gold, questions
