"""Slices that an overall gain can hide damage to, told from the texts: identifiers, long documents, rare entities, instructions (document 001).

Rules and no judgement: each says only that a question looks like one of its kind. Slices that people have labelled go first.
"""

from __future__ import annotations

import re

import pandas as pd

from lib.iterative import names
from lib.rerankers_signals import identifiers
from lib.text import content_terms
from lib.viability_lists import KEY

LONGEST = 0.25  # share of a data set's documents that count as long
RARE = 2  # documents that may hold a rare name
_INSTRUCTED = re.compile(r"\b(except|excluding|exclud\w+|other than|apart from|not including|only|without|unless|ignor\w+|rather than)\b", re.IGNORECASE)


def told_slices(questions: pd.DataFrame, documents: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """dataset, qid, slice: identifier (a code in the question), instructions (words that exclude or restrict), rare_entities (a name of the question whose
    words stand together in 1 to ``RARE`` documents), long_documents (a gold document among the longest quarter). A question may have several or none.
    """
    out = []
    for dataset, asked in questions.groupby("dataset"):
        here = documents[documents["dataset"] == dataset]
        words = {d: set(content_terms(f"{title} {body}")) for d, title, body in zip(here["doc_id"], here["title"].fillna(""), here["text"].fillna(""))}
        length = dict(zip(here["doc_id"], here["text"].fillna("").str.split().str.len()))
        bound = pd.Series(length, dtype=float).quantile(1 - LONGEST)
        of = gold[(gold["dataset"] == dataset) & (gold["grade"] > 0)].groupby("qid")["doc_id"].agg(list)
        holds: dict[str, set[str]] = {}
        for doc, terms in words.items():
            for term in terms:
                holds.setdefault(term, set()).add(doc)
        for q in asked.itertuples():
            kinds = {
                "identifier": bool(identifiers(q.question)),
                "instructions": instructed(q.question),
                "rare_entities": any(1 <= n <= RARE for n in (_together(name, holds) for name in names(q.question))),
                "long_documents": any(length.get(d, 0) >= bound for d in of.get(q.qid, [])),
            }
            out += [(dataset, q.qid, kind) for kind, holding in kinds.items() if holding]
    return pd.DataFrame(out, columns=[*KEY, "slice"])


def instructed(question: str) -> bool:
    """Whether a question excludes or restricts.

    >>> instructed("Which rule applies, excluding contractors?"), instructed("Which rule applies?")
    (True, False)
    """
    return isinstance(question, str) and _INSTRUCTED.search(question) is not None


def _together(name: str, holds: dict[str, set[str]]) -> int:
    """Documents that hold every content word of a name; 0 for a name without one."""
    terms = content_terms(name)
    return len(set.intersection(*(holds.get(t, set()) for t in terms))) if terms else 0
