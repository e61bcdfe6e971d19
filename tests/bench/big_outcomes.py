"""A world of 1,500 questions and 7 packers (10,500 packed rows and as many answers) to time notebook 04 on; its numbers mean nothing.

Questions, passages and what is retrieved are drawn; packing, survival, holders and the join are the library's own, so that the tables
fit each other. usage: python -m tests.bench.big_outcomes FOLDER  (writes every table there)
"""
from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

from lib import diagnostics, packers, tables, wording
from lib.diagnostics import PACK_KEY
from lib.holders import holders as holders_of

POLICIES = ("naive", "focused", "mmr", "submod", "topk", "random", "gold")
PACK, POOL, BUDGET = "own-dense-5.chunk", "own-dense-5", 160
TYPES, SHARES = ["bridge", "compositional", "comparison_choice", "comparison_yesno"], [0.6, 0.15, 0.15, 0.1]
SETTING = {"scope": "own", "ranker": "dense", "depth": 5}


def world(n: int = 1_500, seed: int = 0, dataset: str = "hotpotqa", readers: tuple[str, ...] = ("smollm2-135m",), policies: tuple[str, ...] = POLICIES,
          budgets: tuple[int, ...] = (BUDGET,)) -> dict[str, pd.DataFrame]:
    """Every table that notebook 04 reads or makes, by name, checked; contexts at 160 tokens (or the first of ``budgets``) are read.

    ``outcomes`` holds a row a question, policy and reader, closed book and the per-question oracle beside the policies.
    """
    rng = np.random.default_rng(seed)
    questions = _questions(n, dataset, rng)
    passages = _passages(questions, rng)
    snippets = _snippets(passages, rng)
    rankings, gold, pools, documents = _retrieved(passages)
    packs, contexts = _packed(questions, snippets, policies, budgets, rng)
    survival = _survived(questions, gold, documents, pools, snippets, packs, contexts)
    at = BUDGET if BUDGET in budgets else budgets[0]
    closed = questions[["dataset", "qid"]].assign(**diagnostics.CLOSED_BOOK, context_hash="closed_book")
    readings = pd.concat([contexts[contexts["budget"] == at][[*PACK_KEY, "context_hash"]], closed], ignore_index=True)
    answers = pd.concat([_answers(readings, survival, reader, rng) for reader in readers], ignore_index=True)
    measured = diagnostics.retrieved_measures(rankings, gold, {PACK: ("own", "dense")})
    everything = pd.concat([survival, diagnostics.closed_book_rows(questions)], ignore_index=True)
    outcomes = diagnostics.join(questions, everything, readings, answers, measured)
    outcomes = pd.concat([outcomes, diagnostics.oracle(outcomes, wording.compared(list(policies)))])
    settings = pd.DataFrame([(PACK, "pack", json.dumps(SETTING)), (POOL, "pool", json.dumps(SETTING))], columns=["id", "kind", "settings"])
    holders = holders_of(questions, gold, documents, rankings, **SETTING)
    made = {"questions": questions, "gold": gold, "documents": documents, "pools": pools, "rankings": rankings, "packs": packs, "contexts": contexts,
            "snippets": snippets.drop(columns=["terms"]), "survival": survival, "readings": readings, "answers": answers, "outcomes": outcomes,
            "settings": settings, "holders": holders}
    return {name: tables.check(table, name) for name, table in made.items()}


def _questions(n: int, dataset: str, rng: np.random.Generator) -> pd.DataFrame:
    kinds = rng.choice(TYPES, n, p=SHARES)
    rows = pd.DataFrame({"dataset": dataset, "qid": [f"q{i:05}" for i in range(n)], "question": [f"Which thing is thing {i}?" for i in range(n)]})
    answers = [["yes"] if kind == "comparison_yesno" else [f"thing{i} of zed"] for i, kind in enumerate(kinds)]
    return rows.assign(answers=answers, question_type=kinds, slice=f"{dataset}_dev", n_hops=2, half=rng.integers(0, 2, n), seeds=[[] for _ in range(n)])


def _passages(questions: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Ten passages a question, two of them gold: row a sentence, with where it stands and whether it holds the answer."""
    rows = []
    for q in questions.itertuples():
        score = rng.normal(size=10) + np.r_[1.2, 1.6, np.zeros(8)]
        rank = np.argsort(np.argsort(-score)) + 1
        for d in range(10):
            holds = d == 1 and rng.random() < 0.92 or d == 0 and rng.random() < 0.3 or d > 1 and rng.random() < 0.02
            place = rng.integers(0, 3)
            for s in range(3):
                answer = f" {q.answers[0]}" if holds and s == place else ""
                rows.append((q.dataset, q.qid, f"{q.qid}.{d}", d < 2, int(rank[d]), float(score[d]), s, f"Sentence {s} of passage {d} tells{answer} more."))
    return pd.DataFrame(rows, columns=["dataset", "qid", "doc_id", "is_gold", "rank", "score", "position", "text"])


def _snippets(passages: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A snippet a sentence: of the five first passages, and of the gold ones (pool ``gold``); ``terms`` are its query terms."""
    made = []
    for pool, rows in ((POOL, passages[passages["rank"] <= 5]), ("gold", passages[passages["is_gold"]])):
        terms = rng.random((len(rows), 8)) < np.where(rows["is_gold"], 0.4, 0.22)[:, None]
        made.append(rows.assign(pool_id=pool, representation="chunk", snippet_id=rows["doc_id"] + "#" + rows["position"].astype(str), doc_rank=rows["rank"],
                                start=0, end=rows["text"].str.len(), n_tokens=rng.integers(20, 65, len(rows)), relevance=terms.mean(axis=1), terms=list(terms)))
    out = pd.concat(made).sort_values(["dataset", "qid", "pool_id", "doc_rank", "position"])
    return out.drop(columns=["is_gold", "rank", "score"])


def _retrieved(passages: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """rankings, gold, pools and documents of the passages."""
    whole = passages.drop_duplicates(["dataset", "doc_id"]).drop(columns="text")
    texts = passages.groupby(["dataset", "doc_id"])["text"].agg(" ".join).reset_index()
    bounds = [[[0, len(t)]] for t in texts["text"]]
    rankings = whole[["dataset", "qid", "rank", "doc_id", "score"]].assign(scope="own", ranker="dense")
    gold = whole[whole["is_gold"]][["dataset", "qid", "doc_id"]].assign(grade=1)
    gold = gold.assign(hop=gold.groupby("qid").cumcount() + 1, is_last_hop=gold.groupby("qid").cumcount() == 1)
    none = dict.fromkeys(("source_type", "authority", "effective_from", "effective_to", "jurisdiction", "entitlement", "superseded_by"), pd.NA)
    return rankings, gold, whole[["dataset", "qid", "doc_id"]], texts.assign(title=texts["doc_id"], sentences=bounds, split_by="bench", **none)


def _packed(questions: pd.DataFrame, snippets: pd.DataFrame, policies: tuple[str, ...], budgets: tuple[int, ...],
            rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Packs and contexts by the library's packers over drawn features."""
    packs, contexts, groups = [], [], dict(list(snippets.groupby(["qid", "pool_id"])))
    empty = snippets.iloc[:0]
    for q in questions.itertuples():
        for policy in policies:
            rows = groups.get((q.qid, "gold" if policy == "gold" else POOL), empty)
            near = np.where(rows["doc_id"].to_numpy()[:, None] == rows["doc_id"].to_numpy(), 0.6, 0.2) + 0.4 * np.eye(len(rows))
            holds = rows["text"].str.contains(q.answers[0]).to_numpy() if policy == "gold" else None
            features = [rows[k].to_numpy() for k in ("doc_id", "doc_rank", "position")]
            terms, costs = np.stack(list(rows["terms"])), rows["n_tokens"].to_numpy()
            c = packers.Candidates(q.qid, tuple(rows["snippet_id"]), rows["relevance"].to_numpy(), costs, terms, near, *features, holds)
            for budget in budgets:
                picks, key = packers.pack(c, policy, budget), (q.dataset, q.qid, PACK, policy, budget)
                chosen = rows.iloc[[i for i, _ in picks]]
                packs += [(*key, k, r.snippet_id, r.doc_id, r.n_tokens, gain) for k, (r, (_, gain)) in enumerate(zip(chosen.itertuples(), picks))]
                text, spent = "\n".join(chosen["text"]), int(chosen["n_tokens"].sum())
                contexts.append((*key, text, hashlib.sha256(text.encode()).hexdigest(), spent, spent, len(picks), 0.9 if policy == "submod" else np.nan))
    return (pd.DataFrame(packs, columns=[*PACK_KEY, "position", "snippet_id", "doc_id", "n_tokens", "marginal_gain"]),
            pd.DataFrame(contexts, columns=[*PACK_KEY, "context", "context_hash", "n_tokens", "n_tokens_alone", "n_snippets", "certificate"]))


def _survived(questions, gold, documents, pools, snippets, packs, contexts) -> pd.DataFrame:
    scope = pools.merge(documents, on=["dataset", "doc_id"]).groupby(["dataset", "qid"])["text"].agg(list).to_dict()
    pool = snippets[snippets["pool_id"] == POOL].groupby(["dataset", "qid"])["text"].agg(list).to_dict()
    return diagnostics.survive(questions, gold, diagnostics.snippet_lists(packs, snippets, contexts), diagnostics.answers_within(questions, pool),
                               diagnostics.answers_within(questions, scope))


def _answers(readings: pd.DataFrame, survival: pd.DataFrame, reader: str, rng: np.random.Generator) -> pd.DataFrame:
    """One answer a context: right more often where the answer stands in it, alike over the contexts of a question, F1 in part where wrong."""
    seen = readings.merge(survival[[*PACK_KEY, "answer_in_context", "gold_coverage"]], on=PACK_KEY, how="left")
    seen = seen.drop_duplicates(["dataset", "qid", "context_hash"])
    ease = seen["qid"].map(dict(zip(seen["qid"].unique(), rng.normal(size=seen["qid"].nunique()))))
    luck = ndtr(-0.8 * ease + 0.6 * rng.normal(size=len(seen)))  # uniform, and alike within a question
    holds, covers = (seen[c].astype(float).fillna(0) for c in ("answer_in_context", "gold_coverage"))
    em = (luck < 0.08 + 0.4 * holds + 0.05 * covers).astype(float)
    f1 = np.where(em == 1, 1.0, np.where(rng.random(len(seen)) < 0.35, rng.choice([0.29, 0.4, 0.5, 0.67], len(seen)), 0.0))
    return seen[["dataset", "qid", "context_hash"]].assign(
        reader=reader, precision="fp32", reader_id="bench", prompt_hash=seen["context_hash"], prediction="thing", raw_text="thing", em=em, f1=f1, em_raw=em,
        f1_raw=f1, n_prompt_tokens=200, n_new_tokens=3)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in world().items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
        print(f"{name}: {len(table):,} rows")
