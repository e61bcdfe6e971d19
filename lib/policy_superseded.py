"""Versions that are not in force among the passages shown: with and without filters, and what a reranker does to them (document 001, "Interaction is not
authority").

A superseded version reads like the one in force: a model that compares words has no reason to put it lower.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lib import policy_chunks
from lib import policy_filters as filters
from lib import policy_search as search
from lib.policy_arms import USUAL, Search
from lib.policy_bundles import EVIDENCE, bundles_of, seen
from lib.policy_corpus import PolicyCorpus
from lib.rerankers import Reranker

STALE = ("effective_time", "superseded")  # the rules whose business it is
MEASURES = ("shown", "above", "refused", "complete")
COLUMNS = ["qid", "slice", "filters", "order", *MEASURES]


def stale(documents: pd.DataFrame, question: Mapping) -> set[str]:
    """Documents that are not in force on the day asked about: superseded by then, past their last day, or not yet begun."""
    refused = filters.refusals(documents, question)[list(STALE)].any(axis=1)
    return set(refused.index[refused])


def lists(corpus: PolicyCorpus, here: search.Index, reranker: Reranker | None = None, how: Search = USUAL) -> dict[tuple[str, str], dict[str, list[str]]]:
    """(filters on or off, order hybrid or reranked) -> a list a question, all from one index."""
    made = {}
    for told, rules in (("on", how.rules), ("off", ())):
        pool = search.pools(here, corpus.questions, rules, how.least_authority, how.depth)
        made[told, "hybrid"] = pool
        if reranker is not None:
            made[told, "reranked"] = search.reranked(pool, corpus.questions, here, reranker, how.read)
    return made


def rows(corpus: PolicyCorpus, here: search.Index, made: Mapping[tuple[str, str], Mapping[str, Sequence[str]]], how: Search = USUAL) -> pd.DataFrame:
    """``COLUMNS``: a row a question, filters and order. ``shown``: 1 if a version not in force is among the passages shown.

    ``above``: 1 if, in the families that the evidence belongs to, a version not in force stands above every version in force; missing where the list does
    not hold both. ``refused``: share of the passages shown that some rule of ``how`` refuses. ``complete``: 1 if a bundle is whole among them.
    """
    family, of = dict(zip(corpus.documents["doc_id"], corpus.documents["family"])), here.document_of
    judged = corpus.judgements[corpus.judgements["label"].isin(EVIDENCE) & (corpus.judgements["grade"] > 0)]
    needed = judged.groupby("qid")["doc_id"].agg(lambda docs: {family[d] for d in docs}).to_dict()
    by_question, out = dict(iter(policy_chunks.holders(corpus.judgements, here.chunks).groupby("qid"))), []
    for question in corpus.questions.to_dict("records"):
        qid, old = question["qid"], stale(corpus.documents, question)
        allowed = filters.admissible(corpus.documents, question, how.rules, how.least_authority)
        bundles = bundles_of(by_question[qid]) if qid in by_question else {}
        for (told, order), by in made.items():
            docs = [of[chunk] for chunk in by[qid]]
            kin = [d in old for d in docs if family[d] in needed.get(qid, set())]
            above = float(kin[0]) if len(set(kin)) == 2 else float("nan")
            shown = docs[: how.places]
            wrong = sum(d not in allowed for d in shown) / len(shown) if shown else float("nan")
            whole = seen(bundles, by[qid][: how.places]).complete
            out.append((qid, question["slice"], told, order, float(any(d in old for d in shown)), above, wrong, whole))
    return pd.DataFrame(out, columns=COLUMNS)
