"""A tiny policy corpus in the form of data/sample/policy, an encoder that counts words, and a reranker that prefers long texts; for tests alone."""
import hashlib

import numpy as np
import pandas as pd

from lib.policy_corpus import PolicyCorpus, sections
from lib.rerankers import Pointwise


def section(section_id, heading, kind, *sentences):
    return {"section_id": section_id, "heading": heading, "kind": kind, "sentences": list(sentences)}


def document(doc_id, sections, **fields):
    plain = {"family": doc_id.rsplit("-v", 1)[0], "identifier": "LV-1", "title": "Leave of absence", "source_type": "policy", "authority": 3,
             "effective_from": "2024-01-01", "effective_to": None, "jurisdiction": "all", "entitlement": "all", "superseded_by": None, "archived": False}
    return {"doc_id": doc_id, **plain, **fields, "sections": sections}


def leave(days, share):
    return [section("s1", "Days granted", "body", f"Every clerk is granted {days} days of rest in a year.", "The days are taken in whole weeks."),
            section("s2", "Carrying over", "body", "Days that are left lapse on the last of March.", "Nobody may sell them."),
            section("s3", "Appendix A. Lamp keepers", "appendix", f"Those who tend a beacon take {share} of it as coin.", "Section 2 leaves them alone.")]


DOCUMENTS = [
    document("lv-1-v1", leave("twenty", "half"), effective_from="2020-01-01", effective_to="2023-12-31", superseded_by="lv-1-v2"),
    document("lv-1-v2", leave("twenty-four", "a third")),
    document("pr-lv-1", [section("s1", "How to ask", "body", "Hand form L-2 to the head clerk.", "The head clerk enters the days of rest in the book."),
                         section("s2", "Codes", "table", "Code K: lamp keepers, reckoned by the pay desk.")],
             identifier="PR-LV-1", title="Asking for leave", source_type="procedure", authority=2),
    document("faq-lv", [section("s1", "How many days do I get?", "body", "A clerk is granted twenty days of rest in a year.", "Ask your head clerk.")],
             identifier="FAQ-LV", title="Questions on leave", source_type="faq", authority=1),
    document("min-3", [section("s1", "Leave", "body", "It was suggested to grant thirty days of rest.", "Nothing was decided.")],
             identifier="MIN-3", title="Notes of a meeting", source_type="minutes", authority=1, archived=True),
    document("lv-1-north", [section("s1", "Days granted", "body", "In the north every clerk is granted thirty days of rest in a year.")],
             identifier="LV-1-N", jurisdiction="North"),
    document("lv-9", [section("s1", "Days of the council", "body", "A councillor is granted forty days of rest in a year.")],
             identifier="LV-9", title="Leave of the council", entitlement="council"),
]


def question(qid, slice, text, asked_on="2025-05-01", **fields):
    plain = {"jurisdiction": "South", "entitlement": "staff", "acceptable_sources": ["policy", "procedure"]}
    return {"qid": qid, "question": text, "slice": slice, "asked_on": asked_on, **plain, **fields}


QUESTIONS = [
    question("q1", "identifier", "How many days does LV-1 grant a clerk?"),
    question("q2", "paraphrase", "How long may I stay away from the desk in twelve months?"),
    question("q3", "exclusion", "What do lamp keepers get for days they did not take?"),
    question("q4", "temporal", "How many days of rest was a clerk granted in 2021?", asked_on="2021-05-01"),
    question("q5", "multi_evidence", "How many days may a clerk take, and to whom does the form go?"),
    question("q6", "exclusion", "Do the days of those at the beacon lapse?"),
    question("q7", "paraphrase", "Who painted the harbour wall?"),
]


def judged(qid, doc_id, section_id, first, last, label="bundle", role="operative", bundles=("A",), grade=3):
    return {"qid": qid, "doc_id": doc_id, "section_id": section_id, "sentences": [first, last], "label": label, "role": role,
            "bundles": list(bundles), "grade": grade}


JUDGEMENTS = [
    judged("q1", "lv-1-v2", "s1", 0, 0), judged("q1", "lv-1-v1", "s1", 0, 0, "contradictory", None, (), 0),
    judged("q1", "faq-lv", "s1", 0, 0, "topical", None, (), 1),
    judged("q2", "lv-1-v2", "s1", 0, 1),
    judged("q3", "lv-1-v2", "s2", 0, 0), judged("q3", "lv-1-v2", "s3", 0, 1, role="exception"),
    judged("q3", "lv-1-v1", "s3", 0, 1, "contradictory", None, (), 0),
    judged("q4", "lv-1-v1", "s1", 0, 0),
    judged("q5", "lv-1-v2", "s1", 0, 0, bundles=("A", "B")), judged("q5", "pr-lv-1", "s1", 0, 0, role="procedure"),
    judged("q5", "pr-lv-1", "s1", 0, 1, role="procedure", bundles=("B",)),
    judged("q6", "lv-1-v2", "s2", 0, 0), judged("q6", "lv-1-v2", "s3", 1, 1, role="exception"),
    judged("q7", "faq-lv", "s1", 1, 1, "uncertain", None, (), None),
]


def corpus():
    documents, questions, judgements = (pd.DataFrame(rows) for rows in (DOCUMENTS, QUESTIONS, JUDGEMENTS))
    return PolicyCorpus(documents, sections(documents), questions, judgements)


class Words:
    """Vectors of hashed words: no model, and texts that share words lie near each other."""

    name = "words"

    def encode(self, texts):
        vectors = np.zeros((len(texts), 320), np.float32)
        for row, text in zip(vectors, texts):
            for word in text.lower().split():
                row[int(hashlib.sha256(word.encode()).hexdigest()[:8], 16) % 320] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class Told(Pointwise):
    """Scores by length of the text and keeps what it was asked."""

    def __init__(self):
        self.pairs = set()
        super().__init__("long", self._score, lambda pairs: [1] * len(pairs))

    def _score(self, pairs):
        self.pairs |= {tuple(p) for p in pairs}
        return [float(len(text)) for _, text in pairs]
