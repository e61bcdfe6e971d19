"""The one join: what was packed, what survived, what the reader made of it (SPEC 7; document 000, section 3)."""
from __future__ import annotations

import json

import pandas as pd

from lib import pack_ids, ranking, survival

PACK_KEY = ["dataset", "qid", "pack_id", "policy", "budget"]
NO_READER = {"reader": "none", "precision": "none"}
CLOSED_BOOK = {"pack_id": "none", "policy": "closed_book", "budget": 0}


def snippet_lists(packs: pd.DataFrame, snippets: pd.DataFrame, contexts: pd.DataFrame) -> pd.DataFrame:
    """The contexts table with the lists of packed texts, doc_ids and tokens of each row, in reading order (empty lists where empty).

    Raises ValueError where a pack names an unknown snippet, or where its texts joined are not the context that a reader sees.
    """
    text = snippets.drop_duplicates(["dataset", "snippet_id"])[["dataset", "snippet_id", "text"]]
    rows = packs.merge(text, on=["dataset", "snippet_id"], how="left", validate="many_to_one").sort_values([*PACK_KEY, "position"])
    if rows["text"].isna().any():
        lost = rows[rows["text"].isna()].iloc[0]
        raise ValueError(f"table packs names snippet {lost.snippet_id!r} ({lost.dataset}, {lost.qid}) that is not in table snippets; rerun 02")
    lists = rows.groupby(PACK_KEY, sort=False).agg(texts=("text", list), doc_ids=("doc_id", list), tokens=("n_tokens", list)).reset_index()
    out = contexts[[*PACK_KEY, "context", "n_tokens", "n_snippets"]].merge(lists, on=PACK_KEY, how="left", validate="one_to_one")
    for column in ("texts", "doc_ids", "tokens"):
        out[column] = out[column].map(lambda v: v if isinstance(v, list) else [])
    other = out[out["texts"].map("\n".join) != out["context"]]
    if len(other):
        row = other.iloc[0]
        raise ValueError(f"question {row.qid} ({row.dataset}), policy {row.policy}, budget {row.budget}: the text in table contexts is not what table "
                         "packs names, joined, so the metric would be computed on another text than the reader saw; rerun 02")
    return out.drop(columns="context")


def answers_within(questions: pd.DataFrame, texts_by_question: dict, spaced: bool = False) -> pd.Series:
    """Whether an answer stands in any text of each question's list; indexed by (dataset, qid)."""
    rows = questions[["dataset", "qid"]].apply(tuple, axis=1)
    found = survival.answers_in_contexts(questions["answers"], [texts_by_question.get(k, []) for k in rows], questions["question_type"], spaced)
    return pd.Series(found["answer_in_context"].to_numpy(), index=pd.MultiIndex.from_tuples(rows, names=["dataset", "qid"]))


def survive(questions: pd.DataFrame, gold: pd.DataFrame, packed: pd.DataFrame, in_pool: pd.Series, in_corpus: pd.Series) -> pd.DataFrame:
    """The survival table: one row a packed context of ``packed`` (from ``snippet_lists``, one pool).

    ``in_pool`` and ``in_corpus`` say, by (dataset, qid), whether the answer stands in the candidates and in the scope's passages.
    Gold figures are missing where a question has no gold.
    """
    ask = questions.set_index(["dataset", "qid"])
    key = pd.MultiIndex.from_frame(packed[["dataset", "qid"]])
    asked = ask.loc[key]
    plain = survival.answers_in_contexts(asked["answers"], packed["texts"], asked["question_type"])
    spaced = survival.answers_in_contexts(asked["answers"], packed["texts"], asked["question_type"], punctuation_as_space=True)
    gold_of = gold.groupby(["dataset", "qid"])["doc_id"].agg(set).to_dict()
    wanted = [gold_of.get(k, set()) for k in key]
    out = packed[PACK_KEY].reset_index(drop=True).join(plain)
    return out.assign(
        answer_in_context_spaced=spaced["answer_in_context"], answer_in_pool=in_pool.loc[key].to_numpy(), answer_in_corpus=in_corpus.loc[key].to_numpy(),
        gold_coverage=[survival.gold_coverage(g, d) for g, d in zip(wanted, packed["doc_ids"])],
        all_gold_in_context=[survival.all_gold_in_context(g, d) for g, d in zip(wanted, packed["doc_ids"])],
        gold_density=[survival.gold_density(g, d, t) for g, d, t in zip(wanted, packed["doc_ids"], packed["tokens"])],
        n_tokens=packed["n_tokens"].to_numpy(), n_snippets=packed["n_snippets"].to_numpy())


def closed_book_rows(questions: pd.DataFrame) -> pd.DataFrame:
    """Survival rows for the arm without a context: nothing packed, nothing survives."""
    empty = questions[["dataset", "qid"]].assign(**CLOSED_BOOK, n_tokens=0, n_snippets=0, texts=[[] for _ in range(len(questions))])
    empty = empty.assign(doc_ids=empty["texts"], tokens=empty["texts"])
    nothing = pd.Series(0, index=pd.MultiIndex.from_frame(questions[["dataset", "qid"]]))
    none = pd.DataFrame(columns=["dataset", "qid", "doc_id"])
    return survive(questions, none, empty, nothing, nothing)


def join(questions: pd.DataFrame, survived: pd.DataFrame, readings: pd.DataFrame, answers: pd.DataFrame, retrieved: pd.DataFrame) -> pd.DataFrame:
    """The outcomes table: survival x readings x answers x retrieval measures of the pool's own ranking.

    A context that was not put before a reader keeps one row with reader ``none`` and missing EM and F1, also where the same text was
    read in another arm: a mean over the few that coincide would be a mean over chosen questions. ``retrieved``: dataset, qid, pack_id,
    recall_at_5, all_gold_at_5. Raises ValueError for a reading that was not packed, or that some reader did not answer.
    """
    unpacked = readings.merge(survived[PACK_KEY], on=PACK_KEY, how="left", indicator=True).query("_merge == 'left_only'")
    if len(unpacked):
        row = unpacked.iloc[0]
        raise ValueError(f"question {row.qid} ({row.dataset}), policy {row.policy}, budget {row.budget}: read, but not in table survival; rerun notebook 03 "
                         "(closed book: add closed_book_rows)")
    hashed = survived.merge(readings, on=PACK_KEY, how="left", validate="one_to_one")
    read = answers[["dataset", "qid", "context_hash", "reader", "precision", "em", "f1", "f1_raw"]]
    out = hashed.merge(read, on=["dataset", "qid", "context_hash"], how="left")
    silent = out["context_hash"].notna() & out["reader"].isna()
    if silent.any():
        row = out[silent].iloc[0]
        raise ValueError(f"question {row.qid} ({row.dataset}), policy {row.policy}: its context was put before the readers but table answers has no "
                         f"answer ({int(silent.sum())} such rows); rerun notebook 03")
    answered, n = out.groupby(["reader", "precision"]).size(), int(hashed["context_hash"].notna().sum())
    if (answered < n).any():
        raise ValueError(f"reader {answered.idxmin()} answered {answered.min()} of the {n} contexts put before the readers; rerun notebook 03")
    out = out.fillna({"reader": NO_READER["reader"], "precision": NO_READER["precision"]}).drop(columns="context_hash")
    out = out.merge(questions[["dataset", "qid", "slice", "half", "question_type"]], on=["dataset", "qid"], validate="many_to_one")
    out = out.merge(retrieved, on=["dataset", "qid", "pack_id"], how="left", validate="many_to_one")
    return out.assign(chosen=pd.Series(pd.NA, index=out.index, dtype="string"))


def retrieved_measures(rankings: pd.DataFrame, gold: pd.DataFrame, rankers: dict[str, tuple[str, str]]) -> pd.DataFrame:
    """recall_at_5 and all_gold_at_5 of the ranking behind each pack_id; ``rankers`` maps pack_id to (scope, ranker)."""
    wanted = pd.MultiIndex.from_tuples(set(rankers.values()))
    used = rankings[pd.MultiIndex.from_frame(rankings[["scope", "ranker"]]).isin(wanted)]
    measured = ranking.ranking_measures(used, gold, ks=(5,))
    parts = [measured[(measured["scope"] == s) & (measured["ranker"] == r)][["dataset", "qid", "recall_at_5", "all_gold_at_5"]].assign(pack_id=p)
             for p, (s, r) in rankers.items()]
    return pd.concat(parts, ignore_index=True)


def oracle(outcomes: pd.DataFrame, policies: list[str], measure: str = "f1") -> pd.DataFrame:
    """Per question the best of ``policies`` by ``measure`` (ties: the policy named first): headroom, not a method. Source: document 000, 5.0.0.5."""
    rows = outcomes[outcomes["policy"].isin(policies) & outcomes[measure].notna()]
    place = rows["policy"].map({p: i for i, p in enumerate(policies)})
    best = rows.assign(_place=place).sort_values([measure, "_place"], ascending=[False, True], kind="stable")
    key = ["dataset", "qid", "pack_id", "budget", "reader", "precision"]
    best = best.drop_duplicates(key).drop(columns="_place")
    return best.assign(chosen=best["policy"], policy="oracle")


def rankers_of(settings: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """pack_id -> (scope, ranker), from the settings table."""
    made = {r.id: json.loads(r.settings) for r in settings.itertuples() if r.kind == "pack"}
    return {name: (s["scope"], s["ranker"]) for name, s in made.items()}


def on_graph(rows: pd.DataFrame, settings: pd.DataFrame) -> pd.Series:
    """Which rows were packed from graph snippets (``pack_ids``). Raises ValueError where the settings table says otherwise of a pack."""
    packs = settings[settings["kind"] == "pack"]
    told = packs["settings"].map(lambda s: json.loads(s)["representation"] == "ace").astype(bool)
    if (differs := told != pack_ids.on_graph(packs["id"])).any():
        raise ValueError(f"pack {packs['id'][differs].iloc[0]!r} is named for another representation than table settings has; run notebook 02 again")
    return pack_ids.on_graph(rows["pack_id"])


def torn_question(read: pd.DataFrame, policies: list[str]) -> pd.DataFrame:
    """Rows of the first question (by id) on which the policies differ both in answer-in-context and in F1, if possible with equal gold coverage.

    Raises ValueError where none of the policies was read.
    """
    rows = read[read["policy"].isin(policies)]
    if rows.empty:
        raise ValueError(f"no question was read under any of {', '.join(policies)}; policies of these rows are {sorted(set(read['policy']))}")
    spread = rows.groupby(["dataset", "qid"])[["answer_in_context", "f1", "gold_coverage"]].nunique()
    torn = (spread[["answer_in_context", "f1"]] > 1).all(axis=1)
    even = torn & (spread["gold_coverage"] == 1)
    chosen = spread.index[even] if even.any() else spread.index[torn] if torn.any() else spread.index
    return rows[(rows["dataset"] == chosen[0][0]) & (rows["qid"] == chosen[0][1])]
