"""The first passages of each list packed into the reading budget, by the library's own packers: what of the answer and of the gold still arrives (SPEC 4, 7).

All lists of a question share one table of snippets, costs and relevance; a list decides which documents are candidates and which place each has. Two lists
that hand on the same documents in the same order are packed once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import evidence, packers, packing, ranking, survival, tuned_candidates
from lib.candidates import Candidates
from lib.downstream import HEAD
from lib.encoders import Encoder
from lib.ranking import QUESTION
from lib.settings import TOLD, pool_id
from lib.vectors import CACHE

UNION = "all lists"  # the ranker under which a question's documents of every list are cut and weighed
LIST = ["ndcg", "gold_in_list", "answer_in_list"]  # of what is handed on, before any packer
CONTEXT = ["answer_in_context", "gold_coverage", "all_gold_in_context", "n_tokens", "n_snippets"]
PACKED = [*HEAD, "packer", "budget", "context_hash", "gold_in_list", "answer_in_list", *CONTEXT]
COLUMNS = [*HEAD, "packer", "budget", "context_hash", *LIST, *CONTEXT]
CHECKED = 200  # contexts whose tokens are counted joined, too


class Packed(NamedTuple):
    """``outcomes``: a row a list and packer, COLUMNS; ``contexts``: dataset, qid, context_hash, context, each text of a question once."""

    outcomes: pd.DataFrame
    contexts: pd.DataFrame


def packed(
    heads: pd.DataFrame,
    questions: pd.DataFrame,
    gold: pd.DataFrame,
    documents: pd.DataFrame,
    encoder: Encoder,
    names: Sequence[str],
    budget: int = 160,
    setting: Mapping[str, Any] | None = None,
    cache: Path | None = CACHE,
) -> Packed:
    """Pack what ``downstream.heads`` made with each packer of ``names``.

    answer_in_context and answer_in_list are missing where the question has no span to look for, gold figures and ndcg (at the list's depth) where it has no
    gold. Raises ValueError where a budget tokenizer does not add up.
    """
    parts = []
    for dataset, rows in heads.groupby("dataset"):
        own = [t[t["dataset"] == dataset] for t in (questions, gold[gold["grade"] > 0], documents)]
        parts.append(_one_set(rows, *own, encoder, names, budget, packing.setting(**(setting or {})), cache))
    outcomes = pd.concat([p.outcomes for p in parts], ignore_index=True) if parts else pd.DataFrame(columns=PACKED)
    texts = pd.concat([p.contexts for p in parts], ignore_index=True) if parts else pd.DataFrame(columns=[*QUESTION, "context_hash", "context"])
    return Packed(outcomes.merge(order_quality(heads, gold), on=HEAD, how="left")[COLUMNS], texts)


def _one_set(
    heads: pd.DataFrame,
    questions: pd.DataFrame,
    gold: pd.DataFrame,
    documents: pd.DataFrame,
    encoder: Encoder,
    names: Sequence[str],
    budget: int,
    s: dict,
    cache: Path | None,
) -> Packed:
    bench, s = _bench(heads, questions, gold, documents, encoder, s, cache)
    snippets, (_, vectors) = bench.snippets(s), bench.cut(s)
    by_question = dict(list(snippets[snippets["pool_id"] == pool_id(s)].groupby("qid")))
    gold_of, titles = gold.groupby("qid")["doc_id"].agg(set).to_dict(), dict(zip(documents["doc_id"], documents["title"]))
    asked, made, texts = questions.set_index("qid"), [], {}
    for qid, lists in heads.groupby("qid"):
        q, rows, done = asked.loc[qid], by_question.get(qid, snippets.iloc[:0]).sort_values(["doc_rank", "position"]), {}
        rows = rows.assign(holds=[bool(survival.answer_in_context(q["answers"], [t], q["question_type"]).value) for t in rows["text"]])
        unit = np.stack([vectors[i] for i in rows["snippet_id"]]) if len(rows) else np.zeros((0, 1))
        every = evidence.candidates(q["question"], rows, unit)
        defined = survival.answer_in_context(q["answers"], [], q["question_type"]).defined
        for head in lists.itertuples(index=False):
            if head.docs not in done:
                done[head.docs] = _contexts(rows, every, head.docs, q["question"], unit, bench.asked[qid], titles, names, budget, s)
            wanted, (in_list, by_packer) = gold_of.get(qid, set()), done[head.docs]
            for name, (text, held, docs, tokens) in by_packer.items():
                digest = hashlib.sha256(text.encode()).hexdigest()
                texts[head.dataset, qid, digest] = text
                made.append(
                    (
                        *head[:-1],
                        name,
                        budget,
                        digest,
                        survival.gold_coverage(wanted, head.docs),
                        float(in_list) if defined else np.nan,
                        float(held) if defined else np.nan,
                        survival.gold_coverage(wanted, docs),
                        survival.all_gold_in_context(wanted, docs),
                        tokens,
                        len(docs),
                    )
                )
    few = [t.split(evidence.SEPARATOR) if t else [] for t in sorted(texts.values())[:CHECKED]]
    evidence.check_additive(evidence.budget_tokenizer(s["tokenizer"]), few, s["tokenizer"])
    table = pd.DataFrame(made, columns=PACKED)
    return Packed(table, pd.DataFrame([(*k, t) for k, t in texts.items()], columns=[*QUESTION, "context_hash", "context"]))


def _bench(
    heads: pd.DataFrame, questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, encoder: Encoder, s: dict, cache: Path | None
) -> tuple[packing.Bench, dict]:
    """A bench whose one list of a question holds the documents of all its lists, and the setting that names it."""
    every = heads[[*QUESTION, "docs"]].drop_duplicates().explode("docs").drop_duplicates().rename(columns={"docs": "doc_id"}).sort_values([*QUESTION, "doc_id"])
    every = every.dropna(subset=["doc_id"]).assign(scope="pooled", ranker=UNION, score=0.0)
    every["rank"] = every.groupby(QUESTION).cumcount() + 1
    s = s | {"scope": "pooled", "ranker": UNION, "depth": int(every["rank"].max())}
    asked = questions[questions["qid"].isin(set(heads["qid"]))]
    return packing.Bench(asked, gold[gold["qid"].isin(set(asked["qid"]))], documents, gold.iloc[:0], every, encoder, cache), s


def _contexts(
    rows: pd.DataFrame,
    every: Candidates,
    docs: tuple[str, ...],
    question: str,
    unit: np.ndarray,
    asked: np.ndarray,
    titles: Mapping[str, str],
    names: Sequence[str],
    budget: int,
    s: dict,
) -> tuple[bool, dict[str, tuple[str, bool, list[str], int]]]:
    """(whether the answer stands in the documents, packer -> (context, whether it holds the answer, doc_id of each snippet, tokens))."""
    c, at = handed_on(every, rows["doc_id"].to_numpy(), docs)
    if "tuned" in names:
        mine = rows.iloc[at].assign(doc_rank=c.doc_rank)
        c = tuned_candidates.filled(c, names, question, mine, unit[at], asked, titles, {})
    text, holds, doc, tokens = (rows[k].to_numpy()[at] for k in ("text", "holds", "doc_id", "n_tokens"))
    out = {}
    for name in names:
        kept = [i for i, _ in packers.pack(c, name, budget, s["order"], **{k: s[k] for k in TOLD.get(name, ())})]
        out[name] = (evidence.joined(text[kept]), bool(holds[kept].any()), doc[kept].tolist(), int(tokens[kept].sum()))
    return bool(holds.any()), out


def handed_on(every: Candidates, document: np.ndarray, docs: Sequence[str]) -> tuple[Candidates, np.ndarray]:
    """The candidates of the documents ``docs``, ranked as they stand there, out of those of all lists; and their places among these.

    ``document``: doc_id of each of ``every``. The same as ``evidence.candidates`` of these documents alone, but terms and similarities are not made again.
    """
    place = {d: i for i, d in enumerate(docs, 1)}
    rank = np.array([place.get(d, 0) for d in document], int)
    order = np.lexsort((np.unique(np.array(every.ids, str), return_inverse=True)[1], every.position, rank)) if len(rank) else rank
    at = order[rank[order] > 0]
    return Candidates(
        qid=every.qid if len(at) else "",
        ids=tuple(every.ids[i] for i in at),
        relevance=every.relevance[at],
        costs=every.costs[at],
        terms=every.terms[at],
        similarity=every.similarity[np.ix_(at, at)],
        document=pd.factorize(document[at])[0],
        doc_rank=rank[at],
        position=every.position[at],
    ), at


def order_quality(heads: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """HEAD and ndcg at the list's depth, of the order in which the passages are handed on; missing without a relevant passage."""
    made = []
    for depth, rows in heads.groupby("depth"):
        told = rows.assign(scope=rows["order"], ranker=rows["first_stage"] + "\n" + rows["ranker"]).explode("docs").rename(columns={"docs": "doc_id"})
        told["rank"] = told.groupby([*QUESTION, "scope", "ranker"]).cumcount() + 1
        found = ranking.ranking_measures(told, gold[gold["dataset"].isin(set(rows["dataset"]))], [int(depth)]).query("in_rankings")
        names = found["ranker"].str.split("\n", n=1, expand=True)
        made.append(found[QUESTION].assign(first_stage=names[0], ranker=names[1], order=found["scope"], depth=depth, ndcg=found[f"ndcg_at_{depth}"]))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=[*HEAD, "ndcg"])
