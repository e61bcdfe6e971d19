"""The pool of two lists and the student that orders it: golden rows, planted orders, and no trace of what was held out."""
import numpy as np
import pandas as pd
import pytest

from lib import graph_list_distilled as distilled
from lib import graph_list_table, pool_union, tables
from lib.declarations_graph import GRAPH


def lists(n_questions=1, orders=(("graph", "abcd"), ("dense", "cxya"))):
    rows = [("d", f"q{q}", "pooled", name, rank, doc, 1.0 / rank) for q in range(n_questions) for name, docs in orders for rank, doc in enumerate(docs, 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def test_pool_by_hand():
    found = pool_union.pool(lists(), 2)
    # fused 1/(60 + rank): c 1/63 + 1/61, a 1/61 + 1/64, b and x 1/62 alone
    assert found["doc_id"].tolist() == ["c", "a", "b", "x"] and found["rank"].tolist() == [1, 2, 3, 4]
    assert found["rank_h"].tolist()[:3] == [3, 1, 2] and found["rank_v"].tolist()[:2] == [1, 4]
    assert found["rank_h"].isna().tolist() == [False, False, False, True]


def test_pool_ignores_the_order_of_rows_and_says_what_is_missing():
    straight, shuffled = pool_union.pool(lists(3), 2), pool_union.pool(lists(3).sample(frac=1, random_state=0), 2)
    pd.testing.assert_frame_equal(straight, shuffled)
    assert pool_union.as_rankings(straight)["ranker"].unique().tolist() == ["union"]
    with pytest.raises(ValueError, match="no list by 'graph'"):
        pool_union.pool(lists(orders=(("dense", "ab"),)))
    with pytest.raises(ValueError, match="first"):
        pool_union.pool(lists(), 0)
    assert len(pool_union.pool(lists()[:0])) == 0


def planted(n=60, seed=0):
    """Candidates of n questions with made-up features, and a teacher that orders them by a known sum of two."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"dataset": "d", "qid": np.repeat([f"q{i:03d}" for i in range(n)], 8), "doc_id": np.tile(list("abcdefgh"), n),
                         "rank": np.tile(np.arange(1, 9), n)})
    made = rows.assign(**{f: rng.normal(size=len(rows)) for f in distilled.FEATURES})
    truth = 2 * made["overlap"] - made["log_rank_v"]
    teacher = rows[["dataset", "qid", "doc_id"]].assign(rank=truth.groupby(rows["qid"]).rank(ascending=False).astype(int))
    return made, teacher


def test_the_student_learns_a_planted_order_and_ranks_held_out_questions():
    candidates, teacher = planted()
    keys = sorted(set(zip(candidates["dataset"], candidates["qid"])))
    student = distilled.fit(distilled.sums(candidates, teacher), keys[:40])
    assert student.questions == 40
    held = candidates[candidates["qid"] >= "q040"]
    found = distilled.ordered(held, distilled.scores(student, held)).merge(teacher, on=["dataset", "qid", "doc_id"], suffixes=("", "_taught"))
    assert found.groupby("qid")[["rank", "rank_taught"]].apply(lambda g: g["rank"].corr(g["rank_taught"])).mean() > 0.9


def test_fit_is_the_ridge_regression_on_centred_rows():
    candidates, teacher = planted(12)
    keys = sorted(set(zip(candidates["dataset"], candidates["qid"])))
    student = distilled.fit(distilled.sums(candidates, teacher), keys, ridge=2.0)
    rows = candidates.merge(teacher, on=["dataset", "qid", "doc_id"], suffixes=("", "_taught")).assign(y=lambda d: 1 / np.log2(1 + d["rank_taught"]))
    names = list(distilled.FEATURES)
    centred = rows[[*names, "y"]] - rows.groupby("qid")[[*names, "y"]].transform("mean")
    x = (centred[names] / np.sqrt((centred[names] ** 2).mean())).to_numpy()
    stacked = np.vstack([x, np.sqrt(2.0) * np.eye(len(names))])
    expected = np.linalg.lstsq(stacked, np.concatenate([centred["y"], np.zeros(len(names))]), rcond=None)[0]
    assert student.weights == pytest.approx(expected, abs=1e-9)


def test_held_out_orders_leave_no_trace():
    candidates, teacher = planted()
    keys = sorted(set(zip(candidates["dataset"], candidates["qid"])))
    other = teacher.assign(rank=np.where(teacher["qid"] >= "q030", 9 - teacher["rank"], teacher["rank"]))
    one, two = (distilled.fit(distilled.sums(candidates, t), keys[:30]) for t in (teacher, other))
    assert one.weights.tolist() == two.weights.tolist()
    assert distilled.fit(distilled.sums(candidates, other), keys).weights.tolist() != one.weights.tolist()


def test_rows_in_any_order_and_questions_without_a_teacher():
    candidates, teacher = planted(10)
    keys = sorted(set(zip(candidates["dataset"], candidates["qid"])))
    straight = distilled.fit(distilled.sums(candidates, teacher), keys)
    shuffled = distilled.fit(distilled.sums(candidates.sample(frac=1, random_state=0), teacher.sample(frac=1, random_state=1)), keys[::-1])
    assert straight.weights.tolist() == shuffled.weights.tolist()
    some = distilled.sums(candidates, teacher[teacher["qid"] < "q004"])
    assert len(some.key) == 4 and distilled.fit(some, keys).questions == 4
    with pytest.raises(ValueError, match="none of 1 training questions"):
        distilled.fit(some, keys[5:6])
    with pytest.raises(ValueError, match="twice"):
        distilled.sums(candidates, pd.concat([teacher, teacher[:1]]))


def test_features_are_finite_and_see_neither_gold_nor_teacher():
    pooled = pool_union.pool(lists(), 3)
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("abcdxy"), "title": ["Marl", *"bcdx", ""],
                              "text": ["The Marl ends in Aumes.", *["Bees sleep."] * 5]})
    questions = pd.DataFrame({"dataset": ["d"], "qid": ["q0"], "question": ["Where ends the Marl?"]})
    made = distilled.features(pooled, questions, documents)
    assert np.isfinite(made[list(distilled.FEATURES)].to_numpy()).all()
    first = made.set_index("doc_id")
    assert first.loc["a", "title_named"] == 1 and first.loc["a", "overlap"] == 1 and first.loc["y", "overlap"] == 0 and first.loc["x", "rr_h"] == 1 / 51
    assert first.loc["c", "in_both"] == 1 and first.loc["b", "in_both"] == 0 and first.loc["c", "score_v"] == 1


def small():
    gold = pd.DataFrame([("d", q, doc, 1, last) for q in ("q0", "q1", "q2") for doc, last in (("a", False), ("b", True))],
                        columns=["dataset", "qid", "doc_id", "grade", "is_last_hop"])
    questions = pd.DataFrame({"dataset": "d", "qid": ["q0", "q1", "q2"], "question": "Where?", "n_hops": [2, 2, 3], "half": [0, 1, 1]})
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("abcdxy"), "title": ["A", "B", "C", "D", "B", "Y"], "text": "None."})
    return lists(3), gold, questions, documents


def test_levels_and_differences_by_hand(monkeypatch):
    rankings, gold, questions, documents = small()
    made = graph_list_table.compared(graph_list_table.per_question(rankings, gold, questions, documents), "sample", resamples=50)
    row = made.set_index(["half", "n_hops", "ranker", "minus", "measure"]).sort_index()
    assert row.loc[("all", 0, "graph", "none", "recall_at_5"), "estimate"] == 1 and row.loc[("all", 0, "dense", "none", "recall_at_5"), "estimate"] == 0.5
    lost = row.loc[("all", 0, "graph", "dense", "last_hop_hit_at_5")]
    assert (lost["estimate"], lost["wins"], lost["losses"], lost["n"]) == (1.0, 3, 0, 3)
    # dense shows x, which bears the title of the last hop: right by title, wrong by passage (METRIC_CASES, Ranking)
    assert row.loc[("all", 0, "dense", "none", "title_last_hop_hit_at_5"), "estimate"] == 1
    assert row.loc[("all", 3, "graph", "none", "recall_at_5"), "n"] == 1 and np.isnan(row.loc[("all", 3, "graph", "none", "recall_at_5"), "ci_low"])
    same = graph_list_table.compared(graph_list_table.per_question(rankings.assign(ranker=rankings["ranker"].replace("graph", "other")), gold, questions,
                                                                   documents, ["dense"]), "sample", resamples=50)
    assert set(same["minus"]) == {"none"}
    monkeypatch.setitem(tables.TABLES, "graph_lists", tables._declared("graph_lists", GRAPH["graph_lists"]))
    tables.check(made, "graph_lists")


def test_no_gold_is_missing_and_counted():
    rankings, gold, questions, documents = small()
    made = graph_list_table.compared(graph_list_table.per_question(rankings, gold[:0], questions, documents), "sample", resamples=50)
    assert made["estimate"].isna().all() and (made["n"] == 0).all() and (made["undefined"] > 0).all()


def test_one_choice_at_a_time(monkeypatch):
    from test_graph_list import Capitals, Nowhere, Words
    from test_graph_list import tables as corpus

    questions, documents = corpus()
    gold = pd.DataFrame([("d", "q0", "bridge", 1, False), ("d", "q0", "vane", 1, True)], columns=["dataset", "qid", "doc_id", "grade", "is_last_hop"])
    made = graph_list_table.ablated(questions.assign(n_hops=2, half=1), gold, documents, Words(), ({}, {"passage_share": 1.0}), parser=Capitals(),
                                    linker=Words(),
                                    graphs=None, store=Nowhere(), cache=None, dimensions=512)
    assert made["choice"].unique().tolist() == ["as chosen", "passage_share 1.0"] and set(made["half"]) == {"all", "0", "1"}
    assert made[(made["half"] == "all") & (made["choice"] == "as chosen")]["all_gold_at_5"].iat[0] == 1
    monkeypatch.setitem(tables.TABLES, "graph_ablations", tables._declared("graph_ablations", GRAPH["graph_ablations"]))
    tables.check(made.assign(tier="sample")[list(GRAPH["graph_ablations"]["columns"])], "graph_ablations")


@pytest.mark.parametrize("ridge", [0, 0.0, -1.0, np.nan, np.inf, None, True, "1"])
def test_a_ridge_that_is_none(ridge):
    candidates, teacher = planted(4)
    taught = distilled.sums(candidates, teacher)
    with pytest.raises(ValueError, match="ridge must be a number above 0"):
        distilled.fit(taught, list(taught.key), ridge=ridge)
    assert np.isfinite(distilled.fit(taught, list(taught.key), ridge=1e-6).weights).all()


def test_rows_given_twice_are_named():
    rows = lists()
    for twice in (rows.iloc[[2]], rows.iloc[[2]].assign(rank=9)):  # c of the graph list, at its own place and at another
        with pytest.raises(ValueError, match="list 'graph': {'dataset': 'd', 'qid': 'q0', 'doc_id': 'c'} is given twice"):
            pool_union.pool(pd.concat([rows, twice]))
    candidates, teacher = planted(3)
    with pytest.raises(ValueError, match="candidates: {'dataset': 'd', 'qid': 'q001', 'doc_id': 'b'} is given twice"):
        distilled.sums(pd.concat([candidates, candidates.iloc[[9]]]), teacher)
    with pytest.raises(ValueError, match="the teacher's list: {'dataset': 'd', 'qid': 'q000', 'doc_id': 'a'} is given twice"):
        distilled.sums(candidates, pd.concat([teacher, teacher[:1]]))


@pytest.mark.parametrize("changed", [dict(rank=0), dict(rank=1.5), dict(rank=np.nan), dict(doc_id=None), dict(score=-np.inf)])
def test_places_that_cannot_be(changed):
    rows = lists().astype({"rank": float}).iloc[:4]
    with pytest.raises(ValueError, match="list 'graph'.*cannot be"):
        pool_union.pool(pd.concat([rows.iloc[:3], rows.iloc[[3]].assign(**changed), lists().iloc[4:]]))


@pytest.mark.parametrize("names", ["graph", ("graph",), ("graph", "graph"), ("graph", "dense", "bm25")])
def test_a_pool_is_of_two_lists(names):
    with pytest.raises(ValueError, match="lists must name two lists"):
        pool_union.pool(lists(), lists=names)


def test_features_and_teachers_that_cannot_be():
    candidates, teacher = planted(3)
    with pytest.raises(ValueError, match="gap_v of {'dataset': 'd', 'qid': 'q000', 'doc_id': 'c'} is not finite"):
        distilled.sums(candidates.assign(gap_v=candidates["gap_v"].where(candidates.index != 2, np.inf)), teacher)
    with pytest.raises(ValueError, match="ranks count from 1"):
        distilled.sums(candidates, teacher.assign(rank=0))


def test_words_of_missing_texts_and_absent_rows():
    pooled = pool_union.pool(lists(), 3)
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("abcdxy"), "title": None, "text": [None, *["Nan met none."] * 5]})
    questions = pd.DataFrame({"dataset": ["d"], "qid": ["q0"], "question": ["Who is none of nan?"]})
    made = distilled.word_features(pooled, questions, documents).set_index("doc_id")
    assert made.loc["a", "overlap"] == made.loc["a", "length"] == made["title_named"].sum() == made["overlap_title"].sum() == 0 and made.loc["b", "overlap"] > 0
    assert (distilled.word_features(pooled, questions.assign(question=None), documents)["overlap"] == 0).all()
    with pytest.raises(ValueError, match="documents: {'dataset': 'd', 'doc_id': 'c'} of the pool is not there"):
        distilled.word_features(pooled, questions, documents[documents["doc_id"] != "c"])
    with pytest.raises(ValueError, match="questions: {'dataset': 'd', 'qid': 'q0'} of the pool"):
        distilled.word_features(pooled, questions[:0], documents)
