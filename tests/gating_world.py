"""A small corpus of chains with two lists a question, and a reranker of one rule: what tests of a gate's lists and records share."""
import numpy as np
import pandas as pd

from lib.rerankers import Reranked, by_score

PLACES = [("Marl", "mill"), ("Tollwick", "bridge"), ("Aumes", "ferry"), ("Gedney", "chapel"), ("Hythe", "school"), ("Brel", "market")]


def tables(n=30, dataset="d", seed=0):
    """questions, gold, documents of n questions of two hops over 2 n passages."""
    rng = np.random.default_rng(seed)
    docs, asked, gold = [], [], []
    for i in range(n):
        place, thing = PLACES[i % len(PLACES)]
        docs += [(dataset, f"d{2 * i:03d}", f"{place} {thing} {i}", f"The {thing} {i} of {place} was drawn by Vane {i}." + " It stood." * int(rng.integers(3))),
                 (dataset, f"d{2 * i + 1:03d}", f"Vane {i}", f"Vane {i} was born in {place}, it is said." + " Bees sleep." * int(rng.integers(3)))]
        asked.append((dataset, f"q{i:03d}", f"Where was the engineer of the {thing} {i} of {place} born?", [place], i % 2, 2))
        gold += [(dataset, f"q{i:03d}", f"d{2 * i:03d}", 1, 1, False), (dataset, f"q{i:03d}", f"d{2 * i + 1:03d}", 1, 2, True)]
    return {"questions": pd.DataFrame(asked, columns=["dataset", "qid", "question", "answers", "half", "n_hops"]),
            "gold": pd.DataFrame(gold, columns=["dataset", "qid", "doc_id", "grade", "hop", "is_last_hop"]),
            "documents": pd.DataFrame(docs, columns=["dataset", "doc_id", "title", "text"])}


def rankings(given, names=("graph", "dense"), seed=0, depth=15):
    """Lists of ``depth`` passages in random order for each ranker: the gold passages early, if not always."""
    rng, rows, ids = np.random.default_rng(seed), [], given["documents"]["doc_id"].tolist()
    for dataset, qid in zip(given["questions"]["dataset"], given["questions"]["qid"]):
        gold = given["gold"].loc[given["gold"]["qid"] == qid, "doc_id"].tolist()
        for name in names:
            own = rng.permutation([i for i in ids if i not in gold])[:depth].tolist()
            for passage in gold:
                own.insert(int(rng.integers(14)), passage)
            scores = np.sort(rng.uniform(size=depth))[::-1]
            rows += [(dataset, qid, "pooled", name, r, i, s) for r, (i, s) in enumerate(zip(own[:depth], scores), 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


class Said:
    """A reranker by words: so many of the question's, less the passage's length; ``turn`` -1 turns the order of ``turned`` questions round."""

    def __init__(self, name="reranker", turn=1, turned=None):
        self.name, self.turn, self.turned, self.asked = name, turn, turned, []

    def rerank(self, question, passages):
        self.asked.append((question, list(passages)))
        words, turn = set(question.lower().split()), self.turn if self.turned is None or self.turned(question) else 1
        scores = [turn * (len(words & set(p.lower().split())) - len(p) / 1000) for p in passages]
        return Reranked(by_score(scores), scores, len(passages), sum(len(p.split()) for p in passages), 0)
