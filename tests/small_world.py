"""A world of six passages and six questions, a three-line encoder and a tokenizer that counts words: what packing tests share."""
import re

import numpy as np
import pandas as pd

from lib import packers, retrieval, text

TEXTS = {  # doc_id: title, text
    "sorrel": ("Edda Sorrel", "Edda Sorrel painted eels and herons all her life. She was born beside the river Marl. Nobody bought her pictures."),
    "marl": ("Marl", "The Marl is a brown and slow river in Harrowfen. It ends in the Sea of Aumes after two hundred miles."),
    "elmer": ("Elmer", "Elmer keeps bees near a river. His honey is dark. The Sea of Aumes is far from his garden."),
    "eel": ("Eel", "An eel is a long fish. Eels were painted in Tollwick.Nobody knows by whom they were ordered there."),
    "bridge": ("Old Bridge", "The Old Bridge of Tollwick was drawn by Isott Vane in the year of the flood."),
    "bees": ("Bees", "Bees sleep in winter."),
}
ASKED = [  # qid, question, answers, question_type, gold in hop order, pool
    ("q1", "In which sea ends the river beside which Edda Sorrel was born?", ["Sea of Aumes", "the Aumes"], "bridge", ["sorrel", "marl"], list(TEXTS)),
    ("q2", "Is the Marl a river?", ["yes"], "comparison_yesno", ["marl"], ["marl", "elmer", "bees"]),
    ("q3", "Who is it?", ["Isott Vane"], "single", ["bridge"], ["bees", "bridge", "eel"]),
    ("q4", "Where were eels painted?", ["Tollwick"], "single", [], ["eel", "sorrel"]),
    ("q5", "What do bees do in winter?", ["They sleep in their hive."], "free_form", ["bees"], ["bees", "elmer"]),
    ("q6", "Which river is brown?", ["Marl"], "single", ["marl"], []),
]


def words(texts):
    """Counts words, marks and line breaks: adds up over joins."""
    return [len(re.findall(r"\w+|[^\w\s]|\n", t)) for t in texts]


def merging(texts):
    """Counts a line break and the word after it as one token: does not add up."""
    return [len(re.findall(r"\n?\w+|[^\w\s]|\n", t)) for t in texts]


class Letters:
    """Encodes a text as its letter counts, and remembers what it was asked; stops at batch ``fail_at``."""

    name = "letters"

    def __init__(self, fail_at=None):
        self.batches, self.fail_at = [], fail_at

    def encode(self, texts):
        if len(self.batches) == self.fail_at:
            raise KeyboardInterrupt
        self.batches.append(list(texts))
        return np.array([[t.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32)


def world(rename=lambda doc_id: doc_id, reverse=False):
    """The tables questions, gold, documents, pools and rankings; ``rename`` gives documents other ids, ``reverse`` another order."""
    documents = pd.DataFrame([("ondrell", rename(d), t, body, [list(s) for s in text.split_sentences(body)]) for d, (t, body) in TEXTS.items()],
                             columns=["dataset", "doc_id", "title", "text", "sentences"])
    questions = pd.DataFrame([("ondrell", q, asked, answers, kind, len(chain) or None, i % 2) for i, (q, asked, answers, kind, chain, _) in enumerate(ASKED)],
                             columns=["dataset", "qid", "question", "answers", "question_type", "n_hops", "half"]).assign(slice="ondrell")
    gold = pd.DataFrame([("ondrell", q, rename(d), 1, hop, hop == len(chain)) for q, _, _, _, chain, _ in ASKED for hop, d in enumerate(chain, 1)],
                        columns=["dataset", "qid", "doc_id", "grade", "hop", "is_last_hop"])
    pools = pd.DataFrame([("ondrell", q, rename(d)) for q, _, _, _, _, pool in ASKED for d in pool], columns=["dataset", "qid", "doc_id"])
    if reverse:
        documents, gold, pools = (t.iloc[::-1].reset_index(drop=True) for t in (documents, gold, pools))
    rankings = retrieval.rank(questions, documents, pools, Letters(), cache=None)
    return questions, gold, documents, pools, rankings


def candidates(relevance, costs, document=None, terms=None, similarity=None, holds_answer=None, qid="q"):
    """Candidates in first-stage order, a document each unless ``document`` says otherwise."""
    n, guess = len(relevance), np.clip(np.asarray(relevance, float), 0, 1)
    document = np.arange(n) if document is None else np.asarray(document)
    position = np.array([int((document[:i] == document[i]).sum()) for i in range(n)], int)
    return packers.Candidates(
        qid=qid, ids=tuple(f"s{i}" for i in range(n)), relevance=np.asarray(relevance, float), costs=np.asarray(costs, float),
        terms=np.zeros((n, 0), bool) if terms is None else np.asarray(terms, bool), similarity=np.eye(n) if similarity is None else np.asarray(similarity, float),
        document=document, doc_rank=document + 1, position=position, holds_answer=None if holds_answer is None else np.asarray(holds_answer, bool),
        chance=guess, surprise=guess)  # in a model's place
