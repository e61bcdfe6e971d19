"""Eight passages, three questions and two first-stage lists; a reader of one rule: what tests of rerankers share."""
import re

import pandas as pd

from lib.reader_spec import Generation
from lib.rerankers_choice import Choice

DOCS = [("d0", "Ferry", "The ferry crosses the lake."), ("d1", "Mill", "The mill burned, the mill was built anew."), ("d2", "Eel", "Eels sleep."),
        ("d3", "Mill", "A mill, a mill, a mill."), ("d4", "Bees", "Bees keep a mill of their own."), ("d5", "Rule", "POL-104 binds the ferry."),
        ("d6", "Twin", "Eels sleep."), ("d7", "Sea", "The sea is far.")]


def world():
    """(rankings, questions, documents) of one data set: hybrid and dense, pooled, all eight documents."""
    documents = pd.DataFrame(DOCS, columns=["doc_id", "title", "text"]).assign(dataset="w")
    asked = [("q1", "Who built the mill?", 0), ("q2", "What sleeps?", 1), ("q3", "What does POL-104 bind?", 1)]
    questions = pd.DataFrame(asked, columns=["qid", "question", "half"]).assign(dataset="w")
    rows = []
    for n, qid in enumerate(questions["qid"]):
        for ranker, turn in (("hybrid", 1), ("dense", -1)):
            ids = [d for d, *_ in DOCS][::turn]
            rows += [("w", qid, "pooled", ranker, r, d, 9.0 - r + n) for r, d in enumerate(ids, 1)]
    rankings = pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    return rankings, questions, documents


class Mills:
    """A three-line fake: the more often a passage says mill, the better."""

    name = "mills"

    def rerank(self, question, passages):
        from lib.rerankers import Reranked, by_score

        scores = [float(len(re.findall("mill", p.lower()))) for p in passages]
        return Reranked(by_score(scores), scores, len(passages), sum(len(p.split()) for p in passages), 0)


class Counter:
    """A reader that judges by a number standing in the passage ("worth 7"), remembers what it was asked, and dies at batch ``fail_at``."""

    max_new_tokens = 16

    def __init__(self, fail_at=None, favours_first=0.0, says=None):
        self.asked, self.fail_at, self.favours_first, self.says = [], fail_at, favours_first, says

    def choose(self, prompts, words):
        if self.fail_at is not None and len(self.asked) == self.fail_at:
            raise KeyboardInterrupt
        self.asked.append(list(prompts))
        return [Choice(self._odds(p, words), 1.0, len(p.split())) for p in prompts]

    def _odds(self, prompt, words):
        last = prompt.split("\n\n")[-1]
        worth = [float(w) for w in re.findall(r"worth (-?[0-9.]+[0-9]|-?[0-9]+)", last)]
        return worth[0] - worth[1] + self.favours_first if words == (" A", " B") else worth[0] - 5

    def generate(self, prompts):
        self.asked.append(list(prompts))
        return [Generation(self.says(p) if callable(self.says) else self._order(p), len(p.split()), 9) for p in prompts]

    def _order(self, prompt):
        worth = [float(w) for w in re.findall(r"worth ([0-9]+)", prompt.split("\n\n")[-1])]
        return " " + " > ".join(str(i + 1) for i in sorted(range(len(worth)), key=lambda i: -worth[i])) + "\n"


def worths(values):
    """Passages that are worth so much."""
    return [f"This one is worth {v} of it." for v in values]
