"""The unlock at the widened depth, the iterative retriever and the ranked claims: by hand on small worlds, invariants on all lists."""
import numpy as np
import pandas as pd
import pytest
from scope_world import MAIN, one, questions, settings, survived
from small_world import Letters, world

from lib import iterative, ranking, retrieval, tables, unlock, unlock_claims


@pytest.fixture(scope="module")
def tables_of():
    asked, gold, documents, pools, rankings = world()
    step = iterative.rank(asked, documents, pools, Letters(), cache=None)
    return asked, gold, documents, pools, pd.concat([rankings, step], ignore_index=True)


def measured(tables_of, depths=(1, 2, 5)):
    asked, gold, documents, _, rankings = tables_of
    return unlock.listed(asked, gold, documents, rankings[rankings["ranker"].isin(unlock.RANKERS)], depths)


def test_deeper_lists_lose_nothing(tables_of):
    wide = measured(tables_of).pivot(index=["dataset", "qid", "scope", "ranker", "measure"], columns="depth", values="value")
    steps = wide.diff(axis=1).dropna(axis=1, how="all")
    assert (steps.fillna(0) >= 0).all(axis=None) and (steps > 0).any(axis=None)


def test_listed_equals_the_ranking_measures_and_a_search_of_the_texts(tables_of):
    asked, gold, documents, _, rankings = tables_of
    values = measured(tables_of)
    peer = ranking.ranking_measures(rankings, gold, ks=(2,)).set_index(["qid", "scope", "ranker"])
    for r in values[(values["depth"] == 2) & values["measure"].isin(["recall", "all_gold"])].dropna().itertuples():
        assert r.value == peer.loc[(r.qid, r.scope, r.ranker), f"{r.measure}_at_2"]
    q1 = rankings[(rankings["qid"] == "q1") & (rankings["scope"] == "own") & (rankings["ranker"] == "dense")].sort_values("rank").merge(documents, on="doc_id")
    held = [any("Sea of Aumes" in t for t in q1["text"].iloc[:d]) for d in (1, 2, 5)]
    mine = values[(values["qid"] == "q1") & (values["scope"] == "own") & (values["ranker"] == "dense")
                  & (values["measure"] == "answer_in_list")].sort_values("depth")
    assert mine["value"].astype(bool).tolist() == held


def test_questions_without_a_span_are_missing_not_zero(tables_of):
    values = measured(tables_of)
    rows = values[(values["measure"] == "answer_in_list") & values["qid"].isin(["q2", "q5"])]  # yes/no and free-form
    assert len(rows) and rows["value"].isna().all()


def test_a_span_that_no_passage_holds_counts_zero(tables_of):
    asked, gold, documents, _, rankings = tables_of
    lost = asked.assign(answers=[["Nowhere at all"]] * len(asked))
    values = unlock.listed(lost, gold, documents, rankings[rankings["ranker"] == "dense"], (5,))
    assert values.loc[(values["measure"] == "answer_in_list") & (values["qid"] == "q1"), "value"].eq(0).all()


def test_table_4_is_equal_whatever_the_depth(tables_of):
    rng = np.random.default_rng(0)
    gold, rankings = tables_of[1], tables_of[4]
    shuffled = rankings[(rankings["ranker"] == "dense")
                        & (rankings["scope"] == "pooled")].assign(doc_id=lambda t: t.groupby("qid")["doc_id"].transform(lambda d: rng.permutation(d)))
    same = unlock.same_five(gold, shuffled, (5, 6, 50))
    assert same.groupby("scope")[["recall_at_5", "all_gold_at_5"]].nunique().eq(1).all(axis=None)


def test_differences_are_paired_and_over_all_sets_only_what_all_have():
    asked = pd.concat([questions(20), questions(20, "e")], ignore_index=True)
    rng, rows = np.random.default_rng(1), []
    for q in asked.itertuples():
        for ranker in ("dense", "iterative"):
            for depth in (5, 10, 20) if q.dataset == "e" else (5, 10):
                rows.append((q.dataset, q.qid, "own", ranker, depth, "none", "all_gold", float(rng.random() < 0.5)))
    values = pd.DataFrame(rows, columns=["dataset", "qid", *unlock.CELL, "value"])
    table = unlock.unlock(asked, values, "t", resamples=100)
    assert len(tables.check(table, "unlock")) == len(table)
    deep = table[(table["depth"] == 20) & (table["half"] == "all")]
    assert set(deep["dataset"]) == {"e"}
    here = dict(dataset="d", half="all", depth=10, ranker="iterative")
    less = one(table, **here, against="dense")["estimate"]
    assert less == pytest.approx(one(table, **here, against="none")["estimate"] - one(table, **(here | {"ranker": "dense"}), against="none")["estimate"])
    assert one(table, **here, against="dense 5")["n"] == 20


def test_packed_takes_the_pools_that_differ_in_nothing_else():
    asked = questions(30)
    told = settings({"depth": 20}, {"ranker": "iterative"}, {"depth": 20, "min_tokens": 48})
    rows = survived(asked, packs=tuple(told["id"]))
    values = unlock.packed(asked, rows, told, MAIN, 160, ["submod", "focused"])
    assert set(map(tuple, values[["scope", "ranker", "depth"]].drop_duplicates().to_numpy())) == {("own", "dense", 5), ("own", "dense", 20),
                                                                                                  ("own", "iterative", 5)}
    gap = values[(values["policy"] == "submod - focused") & (values["measure"] == "answer_in_context_defined")
                 & (values["depth"] == 20)].set_index("qid")["value"]
    wide = rows[rows["pack_id"] == "own-dense-20.chunk"].pivot(index="qid", columns="policy", values="answer_in_context")
    assert (gap == (wide["submod"] - wide["focused"])).all()


# ---- the iterative retriever


class Names:
    """Encodes a text as the names it holds: the first hop is like the question, the second like the bridge."""

    name = "names"
    known = ("Sorrel", "Marl", "Aumes", "Tollwick", "Vane", "Elmer")

    def encode(self, texts):
        return np.array([[0.1, *(3.0 * (n in t) for n in self.known)] for t in texts], np.float32)


def test_the_second_hop_is_found_by_what_the_bridge_names():
    documents = pd.DataFrame([("d", "a", "Edda Sorrel", "Edda Sorrel was born in Marl."), ("d", "b", "Marl", "Marl lies in Harrowfen."),
                              ("d", "c", "Elmer", "Elmer keeps bees.")],
                             columns=["dataset", "doc_id", "title", "text"])
    asked = pd.DataFrame([("d", "q", "Where lies the birthplace of Edda Sorrel?")], columns=["dataset", "qid", "question"])
    pools = pd.DataFrame([("d", "q", d) for d in "cba"], columns=["dataset", "qid", "doc_id"])
    found = iterative.rank(asked, documents, pools, Names(), ("own",), cache=None, keep=1).sort_values("rank")
    assert found["doc_id"].tolist()[:2] == ["a", "b"] and found["score"].is_monotonic_decreasing
    assert iterative.second_question(asked["question"].iloc[0], "Edda Sorrel", "Edda Sorrel was born in Marl.").endswith("? Marl")


def test_lists_are_whole_each_passage_once_and_the_dense_head_is_kept(tables_of):
    asked, _, documents, pools, rankings = tables_of
    step, dense = (rankings[rankings["ranker"] == r] for r in ("iterative", "dense"))
    key = ["qid", "scope"]
    assert not step.duplicated([*key, "doc_id"]).any()
    assert step.groupby(key)["doc_id"].agg(frozenset).equals(dense.groupby(key)["doc_id"].agg(frozenset)), "the same passages in another order"
    head = [t[t["rank"] <= iterative.KEEP].sort_values([*key, "rank"])[[*key, "doc_id"]].reset_index(drop=True) for t in (step, dense)]
    assert head[0].equals(head[1])
    assert (step.groupby(key)["score"].diff().dropna() <= 1e-9).all()


def test_renaming_and_reordering_documents_changes_no_list():
    asked, _, documents, pools, _ = world()
    renamed, _, other, their_pools, _ = world(rename=lambda d: f"x{d}", reverse=True)
    mine = iterative.rank(asked, documents, pools, Letters(), cache=None)
    theirs = iterative.rank(renamed, other, their_pools, Letters(), cache=None)
    merged = mine.merge(theirs, on=["qid", "scope", "rank"])
    assert len(merged) == len(mine) and ("x" + merged["doc_id_x"] == merged["doc_id_y"]).all()


def test_a_bridge_that_names_nothing_new_leaves_the_dense_order():
    documents = pd.DataFrame([("d", c, c, f"{c * 3} eel heron {c}") for c in "abcd"], columns=["dataset", "doc_id", "title", "text"])
    asked = pd.DataFrame([("d", "q", "which eel was a heron?")], columns=["dataset", "qid", "question"])
    pools = pd.DataFrame([("d", "q", d) for d in "abcd"], columns=["dataset", "qid", "doc_id"])
    dense = retrieval.rank(asked, documents, pools, Letters(), cache=None)
    dense = dense[dense["ranker"] == "dense"].sort_values(["scope", "rank"])["doc_id"].tolist()
    assert iterative.rank(asked, documents, pools, Letters(), cache=None).sort_values(["scope", "rank"])["doc_id"].tolist() == dense


@pytest.mark.parametrize("told, found", [("", []), ("no capital here", []),
                                         ("In May at the Old Bridge of Tollwick. Vane saw it", ["In May", "Old Bridge of Tollwick", "Vane"]),
                                         ("Ürs von Bern; Ürs von Bern", ["Ürs von Bern"]), ("of the Sea, and Aumes", ["Sea", "Aumes"])])
def test_names_are_runs_of_capitals(told, found):
    assert iterative.names(told) == found


def test_keep_and_unknown_documents_are_refused():
    asked, _, documents, pools, _ = world()
    with pytest.raises(ValueError, match="keep must be a whole number of 1 or more"):
        iterative.rank(asked, documents, pools, Letters(), cache=None, keep=0)
    with pytest.raises(ValueError, match="names document 'gone'"):
        iterative.rank(asked, documents, pools.assign(doc_id="gone"), Letters(), cache=None)


# ---- claims of the graph


class OneClaim:
    """A parser that takes each sentence for a claim about a name."""

    name = "one claim a sentence"

    def parse(self, text, sentences):
        return {"claims": [[int(a), int(b), "name", int(a), int(a) + 3] for a, b in sentences], "names": []}


def test_claims_reach_the_documents_of_the_best_ones(tables_of):
    asked, gold, documents, pools, _ = tables_of
    made = unlock_claims.gold_reached(asked, gold, documents, pools, Letters(), OneClaim(), cache=None, first=3)
    assert set(made["qid"]) == {"q1", "q2", "q3", "q5"}, "q4 has no gold, q6 no pool"
    everything = unlock_claims.gold_reached(asked, gold, documents, pools, Letters(), OneClaim(), cache=None, first=99)
    assert (everything["recall"] >= made["recall"]).all() and (made["documents"] <= 3).all()
    inside = everything.set_index("qid")["all_gold"]
    assert inside["q1"] == 1 and inside["q2"] == 1
    assert len(tables.check(unlock_claims.unlock_rows(made, "t", resamples=50), "unlock")) == 3


def test_no_data_set_named_ranks_no_claim(tables_of):
    asked, gold, documents, pools, _ = tables_of
    assert unlock_claims.unlock_rows(unlock_claims.gold_reached(asked[:0], gold, documents, pools, Letters(), OneClaim(), cache=None), "t").empty
