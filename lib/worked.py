"""One question from beginning to end: which to show, what was retrieved, how the submodular packer proceeds (notebook 02)."""
from __future__ import annotations

import pandas as pd

from lib import evidence, packers, retrieval, submodular, survival, wording

SHOWN = {"ondrell": "cl-q03"}  # the sample corpus's question of all notebooks: the one on which the packers of notebook 02 part


def shown_question(questions: pd.DataFrame) -> pd.Series:
    """The question that a notebook follows before any packer has run: the one of ``SHOWN``, else that of ``chain_question``."""
    named = [qid == SHOWN.get(dataset) for dataset, qid in zip(questions["dataset"], questions["qid"])]
    return questions[named].iloc[0] if any(named) else chain_question(questions)


def chain_question(questions: pd.DataFrame) -> pd.Series:
    """The first question of two or more hops; where there is none the first with gold, else the first. Raises ValueError without a question."""
    if questions.empty:
        raise ValueError("there is no question to show: table questions holds no row; mend sources and run notebook 01 again")
    hops = questions["n_hops"].astype("Float64").fillna(0)
    best = next(kept for kept in (questions[hops >= 2], questions[hops >= 1], questions) if len(kept))
    return best.iloc[0]


def telling_question(questions: pd.DataFrame, survived: pd.DataFrame, name: str, budget: int) -> pd.Series:
    """The first question of two or more hops, by id, on which the packers compared disagree about the answer; else the first of two or more hops, or the first."""
    shown = wording.compared(sorted(set(survived["policy"])))
    rows = survived[(survived["pack_id"] == name) & (survived["budget"] == budget) & survived["policy"].isin(shown)]
    split = rows[rows["answer_defined"].astype(bool)].groupby(["dataset", "qid"])["answer_in_context"].nunique()
    torn = pd.MultiIndex.from_frame(questions[["dataset", "qid"]]).isin(split[split == 2].index.tolist())
    return chain_question(questions[torn] if (torn & questions["n_hops"].ge(2).fillna(False).to_numpy(bool)).any() else questions)


def example_rows(question: pd.Series, candidates: pd.DataFrame, documents: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """One question's candidates with title, is_gold and holds_answer, in first-stage order: what the worked example draws."""
    mine = gold[(gold["dataset"] == question["dataset"]) & (gold["qid"] == question["qid"])]["doc_id"]
    rows = candidates.merge(documents[["dataset", "doc_id", "title"]], on=["dataset", "doc_id"]).sort_values(["doc_rank", "position"])
    holds = [bool(survival.answer_in_context(question["answers"], [t], question["question_type"]).value) for t in rows["text"]]
    return rows.assign(is_gold=rows["doc_id"].isin(mine), holds_answer=holds).reset_index(drop=True)


def steps(c: packers.Candidates, picks: packers.Picks) -> pd.DataFrame:
    """The submodular packer at work: after each pick its gain, the tokens spent, the four terms and F."""
    f, chosen = packers.objective(c), [i for i, _ in picks]
    names = ["relevance", "query coverage", "saturated coverage", "document diversity"]
    rows = [{"picked": c.ids[i], "costs": int(c.costs[i]), "tokens so far": int(c.costs[chosen[:k]].sum()),
             "gain per 100 tokens": 100 * picks[k - 1][1] / c.costs[i], **dict(zip(names, submodular.terms_of(f, chosen[:k]))),
             "F": submodular.value(f, chosen[:k])} for k, i in enumerate(chosen, 1)]
    return pd.DataFrame(rows, columns=["picked", "costs", "tokens so far", "gain per 100 tokens", *names, "F"])


def alone(survived: pd.DataFrame, policies: list[str], budget: int) -> pd.DataFrame:
    """How often each policy is the only one of ``policies`` to keep the answer, or the only one to lose it; a row a data set and policy."""
    rows = survived[(survived["budget"] == budget) & survived["policy"].isin(policies) & survived["answer_defined"].astype(bool)]
    if rows.empty:
        return pd.DataFrame(columns=["alone keeps it", "alone loses it", "questions on which they disagree"])
    wide = rows.pivot(index=["dataset", "qid"], columns="policy", values="answer_in_context")[policies].astype(int)
    kept = wide.sum(axis=1)
    out = pd.DataFrame({"alone keeps it": wide[kept == 1].groupby("dataset").sum().stack(),
                        "alone loses it": (1 - wide[kept == len(policies) - 1]).groupby("dataset").sum().stack()})
    torn = ((kept > 0) & (kept < len(policies))).groupby("dataset").sum()
    out = out.reindex(pd.MultiIndex.from_product([sorted(wide.index.unique("dataset")), policies], names=["dataset", "policy"])).fillna(0).astype(int)
    return out.assign(**{"questions on which they disagree": torn.reindex(out.index.get_level_values("dataset")).to_numpy()})


def one_question(question: str, documents: dict[str, list[str]], tokenizer: str = "smollm2-135m", encoder: str = "minilm") -> packers.Candidates:
    """Candidates for one question by hand: doc_id -> its snippets, documents in first-stage order.

    Costs in tokens of ``tokenizer`` (line break included), relevance by word overlap, similarity by ``encoder``; both must have been fetched.
    """
    rows = pd.DataFrame([(d, f"{d}#{k}", k, text, rank) for rank, (d, texts) in enumerate(documents.items(), 1) for k, text in enumerate(texts)],
                        columns=["doc_id", "snippet_id", "position", "text", "doc_rank"]).assign(qid="by hand")
    rows["n_tokens"] = evidence.costs(rows["text"].tolist(), evidence.budget_tokenizer(tokenizer))
    rows["relevance"] = evidence.lexical_relevance(question, rows["text"].tolist(), {})
    vectors = retrieval.truncate(retrieval.embed(rows["text"].tolist(), retrieval.SentenceEncoder(encoder)))
    return evidence.candidates(question, rows, vectors)
