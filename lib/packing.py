"""Pack every question with every policy at every budget, under one setting: the one call behind notebook 02 (SPEC 3 and 4)."""
from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection

import numpy as np
import pandas as pd

from lib import ace, ace_claims, ace_parse, diagnostics, evidence, packers, retrieval, rivals_relevance, submodular_best, survival, tuned_candidates
from lib.settings import CHOICES, SETTING, TOLD, check_budgets, check_policies, pack_id, pool_id, reachable, setting, variations
from lib.store import Store

__all__ = ["CHOICES", "SETTING", "Bench", "benches", "check_budgets", "check_policies", "pack_all", "pack_id", "pack_sets", "pool_id", "reachable", "relevance", "setting",
           "settings_rows", "variations"]

PACK_TYPES = {"budget": "int64", "position": "int64", "n_tokens": "int64", "marginal_gain": "float64"}  # for a table without a row


def relevance(question: str, rows: pd.DataFrame, s: dict, idf: dict, asked: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Relevance of each snippet of ``rows`` in [0, 1], by the setting's rule. Shape (n,)."""
    if s["relevance"] == "dense":
        return np.clip(retrieval.dense_scores(vectors, asked), 0, 1)
    texts = (rows["title"] + ". " + rows["text"]).tolist() if s["relevance"] == "title" else rows["text"].tolist()
    return evidence.lexical_relevance(question, texts, idf if s["relevance"] == "idf" else {})


class Bench:
    """One data set laid out for packing: snippets and vectors are made once a pool and used by every setting on it."""

    def __init__(self, questions, gold, documents, pools, rankings, encoder, cache=retrieval.ROOT / "data" / "cache" / "vectors", parser=None):
        self.questions, self.gold, self.documents, self.pools, self.rankings = questions, gold, documents, pools, rankings
        self.encoder, self.cache, self._cut = encoder, cache, {}
        self.parser, self.passages, self.sources = parser or ace_parse.SpacyParser(), {}, {}  # for representation ace
        self.idf = evidence.document_idf(documents["text"].tolist())
        # gold without a hop (comparisons) is ordered by what it says: renaming a document must change nothing
        told = [retrieval.passage(d.title, d.text) for d in documents.itertuples()]
        self.tie = dict(zip(documents["doc_id"], retrieval.tie_breaks(told)))
        self.asked = dict(zip(questions["qid"], retrieval.truncate(retrieval.embed(questions["question"].tolist(), encoder, cache))))

    def cut(self, s: dict) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Snippets of every document that the setting's lists and the gold arm reach, with their vectors by snippet_id."""
        key = (s["representation"], s["tokenizer"], s["min_tokens"], s["rest"], pool_id(s))
        if key not in self._cut:
            used = self.documents[self.documents["doc_id"].isin({*self.listed(s)["doc_id"], *self.gold["doc_id"]})]
            cut = self._pieces(used, s).merge(used[["doc_id", "title"]], on="doc_id")
            vectors = retrieval.truncate(retrieval.embed(cut["text"].tolist(), self.encoder, self.cache))
            self._cut[key] = cut, dict(zip(cut["snippet_id"], vectors))
        return self._cut[key]

    def only(self, qids: Collection[str]) -> Bench:
        """The same data set with these questions alone; what was cut is shared."""
        made = copy.copy(self)
        for name in ("questions", "gold", "pools", "rankings"):
            setattr(made, name, getattr(self, name)[getattr(self, name)["qid"].isin(qids)])
        return made

    def _pieces(self, used: pd.DataFrame, s: dict) -> pd.DataFrame:
        """Snippets of the documents ``used`` in the setting's representation; ``passages`` keeps the claims of those cut as ace."""
        count = evidence.budget_tokenizer(s["tokenizer"])
        if s["representation"] == "chunk":
            return evidence.chunk(used, count, s["min_tokens"], s["rest"])
        parsed = ace_parse.parses(used, self.parser, self.cache and self.cache.parent / "parses", Store().recorded_rows())
        made = ace_claims.passages(used, parsed)
        self.passages |= made
        return ace.cut(made, count)

    def listed(self, s: dict) -> pd.DataFrame:
        """The rankings rows that make up the setting's pools; raises ValueError where there is no such list."""
        r = self.rankings
        rows = r[(r["scope"] == s["scope"]) & (r["ranker"] == s["ranker"]) & (r["rank"] <= s["depth"])]
        if rows.empty:
            there = sorted(set(zip(r["scope"], r["ranker"])))
            raise ValueError(f"table rankings holds no list of scope {s['scope']!r} by ranker {s['ranker']!r}; there are {there}")
        return rows

    def snippets(self, s: dict) -> pd.DataFrame:
        """The snippets table for a setting: the pool's candidates, and the gold passages' under pool_id ``gold``."""
        cut, vectors = self.cut(s)
        pool = self.listed(s)[["dataset", "qid", "doc_id", "rank"]].rename(columns={"rank": "doc_rank"}).assign(pool_id=pool_id(s))
        chain = self.gold.assign(tie=self.gold["doc_id"].map(self.tie)).sort_values(["qid", "hop", "tie"]).assign(doc_rank=lambda t: t.groupby("qid").cumcount() + 1, pool_id="gold")
        rows = pd.concat([pool, chain[pool.columns]]).merge(cut.drop(columns="dataset"), on="doc_id")
        if s["representation"] == "ace":
            rows, self.sources[pack_id(s)] = ace.merge(rows, self.passages)
        question = dict(zip(self.questions["qid"], self.questions["question"]))
        scored = [part.assign(relevance=relevance(question[q], part, s, self.idf, self.asked[q], np.stack([vectors[i] for i in part["snippet_id"]])))
                  for (q, _), part in rows.groupby(["qid", "pool_id"], sort=False)]
        made = pd.concat(scored).assign(representation=s["representation"]).reset_index(drop=True)
        if s["relevance"] == "cross_encoder":  # of the pool alone: the gold arm looks at none
            pool = made["pool_id"] != "gold"
            asked = made.loc[pool, "qid"].map(question)
            made.loc[pool, "relevance"] = rivals_relevance.cross_encoder_relevance(asked, made.loc[pool, "title"], made.loc[pool, "text"])
        return made.drop(columns="title")


def _picks(c: packers.Candidates, policy: str, budget: int, s: dict) -> packers.Picks:
    """What the rule picks under the setting, in the order picked."""
    return packers.picked(c, policy, budget, **{k: s[k] for k in TOLD.get(policy, ())})


def _certificate(c: packers.Candidates, picked: packers.Picks, budget: int, s: dict) -> float:
    """The pack's F is at least this share of the best pack's under the budget alone. Bounds come from every prefix of the picks, in their own order."""
    return submodular_best.certificate(packers.objective(c, s["weights"], s["alpha"]), c.costs, budget, [i for i, _ in picked])["share"]


def pack_all(bench: Bench, s: dict, policies: list[str], budgets: list[int]) -> dict[str, pd.DataFrame]:
    """Tables snippets, packs, contexts and survival of one data set under one setting; every question x policy x budget has its row.

    Raises ValueError when the joined text of any pack does not cost exactly the sum of its snippets in the budget tokenizer.
    """
    snippets, (_, vectors), name = bench.snippets(s), bench.cut(s), pack_id(s)
    titles = dict(zip(bench.documents["doc_id"], bench.documents["title"]))
    surprise = tuned_candidates.surprise_of(policies, snippets[snippets["pool_id"] != "gold"], bench.documents)
    empty = snippets.iloc[:0]
    groups = {k: v for k, v in snippets.groupby(["qid", "pool_id"], sort=False)}
    packs, contexts = [], []
    for q in bench.questions.itertuples():
        made = {}
        for kind in (pool_id(s), "gold"):
            rows = groups.get((q.qid, kind), empty)
            holds = np.array([survival.answer_in_context(q.answers, [t], q.question_type).value for t in rows["text"]], bool)
            unit = np.stack([vectors[i] for i in rows["snippet_id"]]) if len(rows) else np.zeros((0, 1))
            c = evidence.candidates(q.question, rows, unit, holds)
            learned = policies if kind != "gold" else ()  # the gold arm looks at none of that
            made[kind] = (tuned_candidates.filled(c, learned, q.question, rows, unit, bench.asked[q.qid], titles, surprise),
                          dict(zip(rows["snippet_id"], zip(rows["text"], rows["doc_id"]))))
        for policy in policies:
            c, look = made["gold" if policy == "gold" else pool_id(s)]
            for budget in budgets:
                picked = _picks(c, policy, budget, s)
                picks = [picked[k] for k in packers.reading_order(c, picked, s["order"])]
                key = (q.dataset, q.qid, name, policy, budget)
                packs += [(*key, k, c.ids[i], look[c.ids[i]][1], int(c.costs[i]), gain) for k, (i, gain) in enumerate(picks)]
                text = evidence.joined([look[c.ids[i]][0] for i, _ in picks])
                certificate = _certificate(c, picked, budget, s) if policy == "submod" and s["cap"] is None and c.ids else np.nan
                contexts.append((*key, text, hashlib.sha256(text.encode()).hexdigest(), sum(int(c.costs[i]) for i, _ in picks), len(picks), certificate))
    packs = pd.DataFrame(packs, columns=[*diagnostics.PACK_KEY, "position", "snippet_id", "doc_id", "n_tokens", "marginal_gain"]).astype(PACK_TYPES)
    contexts = pd.DataFrame(contexts, columns=[*diagnostics.PACK_KEY, "context", "context_hash", "n_tokens", "n_snippets", "certificate"])
    contexts = _ledger(contexts, packs, snippets, s)
    survived = _survive(bench, s, snippets, packs, contexts)
    return {"snippets": snippets, "packs": packs, "contexts": contexts, "survival": survived}


def _ledger(contexts: pd.DataFrame, packs: pd.DataFrame, snippets: pd.DataFrame, s: dict) -> pd.DataFrame:
    """Check every joined text against its budget, and add what the snippets cost alone."""
    count = evidence.budget_tokenizer(s["tokenizer"])
    joined = np.array(count([t + evidence.SEPARATOR if t else "" for t in contexts["context"]]))
    wrong = np.flatnonzero(joined != contexts["n_tokens"].to_numpy())
    if len(wrong):
        row = contexts.iloc[wrong[0]]
        raise ValueError(f"tokenizer {s['tokenizer']!r} is refused: the snippets of question {row.qid} cost {row.n_tokens} tokens one by one but "
                         f"{joined[wrong[0]]} joined; choose one that never merges across a line break (SmolLM2, Qwen2.5)")
    unique = snippets.drop_duplicates("snippet_id")
    alone = dict(zip(unique["snippet_id"], count(unique["text"].tolist())))
    sums = packs.assign(alone=packs["snippet_id"].map(alone)).groupby(diagnostics.PACK_KEY)["alone"].sum().rename("n_tokens_alone").reset_index()
    out = contexts.merge(sums, on=diagnostics.PACK_KEY, how="left")
    return out.assign(n_tokens_alone=out["n_tokens_alone"].fillna(0).astype(int))


def _survive(bench: Bench, s: dict, snippets: pd.DataFrame, packs: pd.DataFrame, contexts: pd.DataFrame) -> pd.DataFrame:
    texts = bench.documents.set_index("doc_id")["text"]
    if s["scope"] == "pooled":
        everything = texts.tolist()
        scope = {k: everything for k in zip(bench.questions["dataset"], bench.questions["qid"])}
    else:
        scope = {k: texts.loc[v].tolist() for k, v in bench.pools.groupby(["dataset", "qid"])["doc_id"]}
    pool = snippets[snippets["pool_id"] == pool_id(s)].groupby(["dataset", "qid"])["text"].agg(list).to_dict()
    in_corpus, in_pool = diagnostics.answers_within(bench.questions, scope), diagnostics.answers_within(bench.questions, pool)
    # "...of Rome.Next came": the passage reads "romenext" to the normaliser, its first snippet "rome"; what a snippet holds, the corpus holds
    in_corpus = np.maximum(in_corpus, in_pool)
    return diagnostics.survive(bench.questions, bench.gold, diagnostics.snippet_lists(packs, snippets, contexts), in_pool, in_corpus)


def settings_rows(settings: list[dict]) -> pd.DataFrame:
    """The settings table: what each pool_id and pack_id stands for, as JSON."""
    pools = {pool_id(s): {k: s[k] for k in ("scope", "ranker", "depth")} for s in settings} | {"gold": {"scope": "gold passages"}}
    rows = [(k, "pool", json.dumps(v, sort_keys=True)) for k, v in pools.items()]
    rows += [(pack_id(s), "pack", json.dumps(s, sort_keys=True)) for s in settings]
    return pd.DataFrame(rows, columns=["id", "kind", "settings"]).drop_duplicates("id")


def benches(questions, gold, documents, pools, rankings, encoder) -> dict[str, Bench]:
    """One Bench a data set."""
    frames = (questions, gold, documents, pools, rankings)
    return {d: Bench(*(t[t["dataset"] == d] for t in frames), encoder) for d in questions["dataset"].unique()}


def pack_sets(by_set: dict[str, Bench], settings: list[dict], policies: list[str], budgets: list[int]) -> dict[str, pd.DataFrame]:
    """``pack_all`` for every data set and setting: tables snippets, packs, contexts, survival.

    Without a setting all four are empty.
    """
    made = [pack_all(bench, s, policies, budgets) for s in settings for bench in by_set.values()]
    return {k: pd.concat([m[k] for m in made], ignore_index=True) if made else pd.DataFrame() for k in ("snippets", "packs", "contexts", "survival")}
