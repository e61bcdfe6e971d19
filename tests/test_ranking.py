"""Ranking: METRIC_CASES as they stand, list against table, and both against pytrec_eval and ir_measures where they agree."""

import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from ir_measures import RR, Judged, R, nDCG

from lib.grades import (
    all_gold_at,
    bundle_coverage,
    condense,
    gain,
    headroom,
    judged_at,
    last_hop_at,
    ndcg_at,
    order_by_score,
    recall_at,
    reciprocal_rank,
    tie_bounds,
)
from lib.ranking import condensed_rankings, mean_measures, ranking_measures, retied_rankings


def list_of(*doc_ids, qid="q1", scores=None, ranker="dense"):
    scores = scores or range(len(doc_ids), 0, -1)
    rows = [
        ("set", qid, "own", ranker, rank, doc, float(score))
        for rank, (doc, score) in enumerate(zip(doc_ids, scores, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def gold_of(qid="q1", last_hop=None, **grades):
    rows = [("set", qid, doc, grade, None, None if last_hop is None else doc == last_hop) for doc, grade in grades.items()]
    return pd.DataFrame(rows, columns=["dataset", "qid", "doc_id", "grade", "hop", "is_last_hop"])


@pytest.mark.parametrize(
    ("grades", "corpus", "k", "exponential", "linear"),
    [
        ([0, 0, 2, 0, 3], [3, 2], 3, 0.1687, 0.2346),
        ([1, 0, 3], [3, 2, 1], 3, 0.4791, 0.5250),
        ([2, 0], [3, 2], 2, 0.3374, 0.4693),  # ideal over the corpus, not the pool
        ([None, 1], [1], 2, 0.6309, 0.6309),
        ([-1, 1], [1, -1], 2, 0.6309, 0.6309),  # negative grades count as 0
    ],
)
def test_metric_cases_ndcg(grades, corpus, k, exponential, linear):
    assert ndcg_at(grades, corpus, k) == pytest.approx(exponential, abs=5e-5)
    assert ndcg_at(grades, corpus, k, "linear") == pytest.approx(linear, abs=5e-5)


def test_metric_case_unjudged_then_relevant():
    grades = [None, 1]
    assert ndcg_at(condense(grades), [1], 2) == 1.0
    assert judged_at(grades, 2) == 0.5
    rankings, gold = list_of("new", "a"), gold_of(a=1)
    table = ranking_measures(rankings, gold, ks=[2]).iloc[0]
    assert (table["ndcg_at_2"], table["judged_at_2"]) == (pytest.approx(0.6309, abs=5e-5), 0.5)
    assert ranking_measures(condensed_rankings(rankings, gold), gold, ks=[2])["ndcg_at_2"].tolist() == [1.0]


def test_metric_case_ties_go_to_the_first_stage_whatever_the_documents_are_called():
    scores, first_stage = [0.5, 0.9, 0.5], [2, 3, 1]
    assert order_by_score(scores, first_stage) == [1, 2, 0]
    order = order_by_score(scores[::-1], first_stage[::-1])
    assert [["a", "b", "c"][::-1][at] for at in order] == ["b", "c", "a"]  # the same documents, given in another order
    named = ranking_measures(list_of("a", "b", "c", scores=[3, 2, 2]), gold_of(b=1), ks=[2])
    renamed = ranking_measures(list_of("a", "z", "c", scores=[3, 2, 2]), gold_of(z=1), ks=[2])
    pd.testing.assert_frame_equal(named, renamed)


def test_metric_case_ties_leave_bounds():
    grades, scores = [0, 1, 0, 2], [0.9, 0.5, 0.5, 0.5]
    worst, best = tie_bounds(grades, scores, lambda order: ndcg_at(order, [2, 1], 3))
    assert worst == pytest.approx(ndcg_at([0, 0, 1], [2, 1], 3))
    assert best == pytest.approx(ndcg_at([0, 2, 1], [2, 1], 3))
    assert worst < ndcg_at(grades, [2, 1], 3) < best
    rankings, gold = list_of("a", "b", "c", "d", scores=scores), gold_of(b=1, d=2)
    bounds = [ranking_measures(retied_rankings(rankings, gold, best), gold, ks=[3])["ndcg_at_3"].item() for best in (False, True)]
    assert bounds == pytest.approx([worst, best])


def test_without_ties_the_bounds_meet():
    assert tie_bounds([0, 1], [2.0, 1.0], lambda order: reciprocal_rank(order, 1)) == (0.5, 0.5)


def test_metric_case_negative_grades_are_counted_in_the_report():
    table = ranking_measures(list_of("a", "b"), gold_of(a=-1, b=1), ks=[2])
    assert table["ndcg_at_2"].item() == pytest.approx(0.6309, abs=5e-5)
    assert (table["n_negative"].item(), table["n_gold"].item(), table["judged_at_2"].item()) == (1, 1, 1)
    assert mean_measures(table)["n_negative"].item() == 1


def test_metric_case_a_judged_question_without_a_list_stays_in_the_mean():
    gold = pd.concat([gold_of("q1", a=1, last_hop="a"), gold_of("q2", b=1, last_hop="b")])
    table = ranking_measures(list_of("a", qid="q1"), gold, ks=[5])
    means = mean_measures(table).iloc[0]
    for measure in ["ndcg_at_5", "recall_at_5", "all_gold_at_5", "mrr", "last_hop_hit_at_5"]:
        assert table.set_index("qid").loc["q2", measure] == 0
        assert means[measure] == 0.5
    assert (means["n"], means["n_missing"], means["n_no_gold"]) == (2, 1, 0)


def test_metric_case_a_repeated_document_is_an_error():
    with pytest.raises(ValueError, match="'a' is repeated.*q1"):
        ranking_measures(list_of("a", "b", "a"), gold_of(a=1))


def test_metric_case_last_hop_by_title_and_by_passage():
    documents = pd.DataFrame({"dataset": "set", "doc_id": ["oss-1", "oss-2"], "title": "Oss"})
    rankings, gold = list_of("oss-1"), gold_of(**{"oss-2": 1}, last_hop="oss-2")
    row = ranking_measures(rankings, gold, ks=[1], documents=documents).iloc[0]
    assert (row["title_last_hop_hit_at_1"], row["last_hop_hit_at_1"]) == (1, 0)
    assert (row["title_recall_at_1"], row["recall_at_1"]) == (1, 0)
    assert (last_hop_at(["Oss"], "Oss", 1), last_hop_at(["oss-1"], "oss-2", 1)) == (1, 0)


def test_passages_of_one_title_are_one_title():
    """Oss has two gold passages, the second is the last hop; a passage without a title stands for itself."""
    documents = pd.DataFrame({"dataset": "set", "doc_id": ["oss-1", "oss-2", "hall", "x"], "title": ["Oss", "Oss", "Hall", ""]})
    gold = gold_of(**{"oss-1": 1, "oss-2": 1, "hall": 1, "x": 1}, last_hop="oss-2")
    row = ranking_measures(list_of("oss-1", "y", "x"), gold, ks=[1, 3], documents=documents).iloc[0]
    assert (row["title_recall_at_1"], row["recall_at_1"]) == (pytest.approx(1 / 3), 0.25)
    assert (row["title_recall_at_3"], row["recall_at_3"]) == (pytest.approx(2 / 3), 0.5)
    assert (row["title_last_hop_hit_at_1"], row["last_hop_hit_at_3"]) == (1, 0)


@pytest.mark.parametrize(
    ("pool", "union", "best", "complete"), [({"a", "c"}, 2 / 3, 1, True), ({"a"}, 1 / 3, 1 / 2, False), ({"c"}, 1 / 3, 1, True)]
)
def test_metric_cases_bundles(pool, union, best, complete):
    assert bundle_coverage([{"a", "b"}, {"c"}], pool) == pytest.approx((union, best, complete))


def test_bundles_must_hold_something():
    with pytest.raises(ValueError, match="none empty"):
        bundle_coverage([set()], {"a"})


def test_metric_case_the_best_passage_removed():
    parts = headroom([0, 0, 2], [3, 2], 3)
    assert parts == pytest.approx((0.1687, 0.3374, 0.1687, 0.6626), abs=5e-5)


# base, ceiling, ordering headroom, omission gap as document 001's audit prints them (reference/rerank_audit_cases.csv)
@pytest.mark.parametrize(
    ("grades", "corpus", "expected"),
    [([0, 0, 2, 0, 3], [3, 2], (0.168676, 1, 0.831324, 0)), ([0, 0, 0], [3], (0, 0, 0, 1)), ([3, 2, 0], [3, 2], (1, 1, 0, 0))],
)
def test_the_audit_cases_of_document_001(grades, corpus, expected):
    assert headroom(grades, corpus, 3) == pytest.approx(expected, abs=5e-7)


def random_lists(seed, n=60):
    generator = np.random.default_rng(seed)
    for _ in range(n):
        corpus = generator.choice([-1, 0, 1, 2, 3], size=generator.integers(1, 12))
        kept = generator.permutation(len(corpus))[: generator.integers(0, len(corpus) + 1)]
        yield corpus.tolist(), corpus[kept].tolist(), int(generator.integers(1, 8))


def test_metric_case_base_headroom_and_omission_add_up_to_one():
    for corpus, grades, k in random_lists(1):
        for form in ("exponential", "linear"):
            parts = headroom(grades, corpus, k, form)
            if max(corpus) <= 0:
                assert all(math.isnan(part) for part in parts)  # 001's script would say total omission
                continue
            assert parts.base + parts.ordering_headroom + parts.omission_gap == pytest.approx(1)
            assert 0 <= parts.base <= parts.ceiling + 1e-12 and parts.ceiling <= 1 + 1e-12


def test_no_reranking_of_a_pool_beats_its_ceiling():
    generator = np.random.default_rng(2)
    for corpus, grades, k in random_lists(3):
        if max(corpus) > 0:
            shuffled = generator.permutation(grades).tolist()
            assert ndcg_at(shuffled, corpus, k) <= headroom(grades, corpus, k).ceiling + 1e-12


def test_measures_grow_with_k_and_recall_divides_by_gold():
    for corpus, grades, k in random_lists(4):
        n_gold = sum(grade > 0 for grade in corpus)
        if n_gold:
            assert recall_at(grades, n_gold, k) <= recall_at(grades, n_gold, k + 1)
            assert all_gold_at(grades, n_gold, k) == (recall_at(grades, n_gold, k) == 1)
    assert recall_at([1, 1], n_gold=4, k=1) == 0.25


def test_without_gold_every_measure_is_missing_and_counted():
    assert all(
        math.isnan(value)
        for value in (ndcg_at([0], [0], 3), recall_at([0], 0, 3), all_gold_at([0], 0, 3), reciprocal_rank([0], 0))
    )
    assert math.isnan(last_hop_at(["a"], None, 1)) and math.isnan(judged_at([], 3))
    rankings = pd.concat([list_of("a", qid="q1"), list_of("b", qid="q2")])
    table = ranking_measures(rankings, gold_of("q1", a=1), ks=[1]).set_index("qid")
    assert table.loc["q2", ["recall_at_1", "all_gold_at_1", "ndcg_at_1", "mrr", "last_hop_hit_at_1"]].isna().all()
    means = mean_measures(table.reset_index()).iloc[0]
    assert (means["n_no_gold"], means["n_no_last_hop"], means["recall_at_1"]) == (1, 2, 1)


@pytest.fixture(scope="module")
def corpus_of_lists():
    """Two rankers, 40 questions, grades with zeros and negatives, unjudged documents, lists shorter than some cutoffs."""
    generator = np.random.default_rng(5)
    gold = pd.concat(
        gold_of(f"q{q:02}", **{f"d{d}": int(generator.choice([-1, 0, 1, 2, 3])) for d in range(10)}) for q in range(40)
    )
    lists = []
    for ranker in ("dense", "bm25"):
        for q in range(39):  # the last question has no list
            documents = [f"d{d}" for d in generator.permutation(16)[: generator.integers(3, 14)]]
            lists.append(list_of(*documents, qid=f"q{q:02}", ranker=ranker))
    gold = gold.sample(frac=1, random_state=1)  # the order of rows must not matter
    return pd.concat(lists).sample(frac=1, random_state=2), gold.assign(
        is_last_hop=gold["grade"].eq(3) & ~gold.duplicated(["qid", "grade"])
    )


@pytest.mark.parametrize("form", ["exponential", "linear"])
def test_the_table_equals_the_lists(corpus_of_lists, form):
    rankings, gold = corpus_of_lists
    table = ranking_measures(rankings, gold, ks=[1, 3, 10], form=form).set_index(["ranker", "qid"])
    grade = gold.set_index(["qid", "doc_id"])["grade"].to_dict()
    last_hop = gold[gold["is_last_hop"]].set_index("qid")["doc_id"].to_dict()
    assert len(table) == 80
    for (ranker, qid), row in table.iterrows():
        listed = rankings[(rankings["ranker"] == ranker) & (rankings["qid"] == qid)].sort_values("rank")["doc_id"].tolist()
        grades, corpus = [grade.get((qid, doc)) for doc in listed], [value for (q, _), value in grade.items() if q == qid]
        n_gold = sum(value > 0 for value in corpus)
        expected = {"n_gold": n_gold, "in_rankings": bool(listed), "mrr": reciprocal_rank(grades, n_gold)}
        for k in (1, 3, 10):
            expected |= {
                f"recall_at_{k}": recall_at(grades, n_gold, k),
                f"all_gold_at_{k}": all_gold_at(grades, n_gold, k),
                f"ndcg_at_{k}": ndcg_at(grades, corpus, k, form),
                f"last_hop_hit_at_{k}": last_hop_at(listed, last_hop.get(qid), k),
                f"judged_at_{k}": judged_at(grades, k),
            }
        assert row[list(expected)].to_dict() == pytest.approx(expected, abs=1e-12, nan_ok=True), (ranker, qid)


def test_agrees_with_pytrec_eval_and_ir_measures(corpus_of_lists):
    """Linear gain is trec_eval's; our exponential one is its linear gain of 2**g - 1. It knows no question without a list."""
    rankings, gold = corpus_of_lists
    rankings = rankings[rankings["ranker"] == "dense"]
    run = {qid: dict(zip(part["doc_id"], -part["rank"].astype(float), strict=True)) for qid, part in rankings.groupby("qid")}
    qrels = {qid: dict(zip(part["doc_id"], part["grade"].astype(int), strict=True)) for qid, part in gold.groupby("qid")}
    powers = {qid: {doc: int(gain([grade])[0]) for doc, grade in grades.items()} for qid, grades in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut", "recall", "recip_rank"}).evaluate(run)
    theirs_exponential = pytrec_eval.RelevanceEvaluator(powers, {"ndcg_cut"}).evaluate(run)
    linear = ranking_measures(rankings, gold, ks=[5, 10], form="linear").set_index("qid")
    exponential = ranking_measures(rankings, gold, ks=[5, 10]).set_index("qid")
    compared = 0
    for qid in run:
        if linear.loc[qid, "n_gold"] == 0:
            continue
        compared += 1
        for k in (5, 10):
            assert linear.loc[qid, f"ndcg_at_{k}"] == pytest.approx(theirs[qid][f"ndcg_cut_{k}"], abs=1e-9)
            assert exponential.loc[qid, f"ndcg_at_{k}"] == pytest.approx(theirs_exponential[qid][f"ndcg_cut_{k}"], abs=1e-9)
            assert linear.loc[qid, f"recall_at_{k}"] == pytest.approx(theirs[qid][f"recall_{k}"], abs=1e-9)
        assert linear.loc[qid, "mrr"] == pytest.approx(theirs[qid]["recip_rank"], abs=1e-9)
    assert compared > 30
    column = {nDCG @ 5: "ndcg_at_5", R @ 5: "recall_at_5", RR: "mrr", Judged @ 5: "judged_at_5"}
    for metric in ir_measures.iter_calc(list(column), qrels, run):
        ours = linear.loc[metric.query_id, column[metric.measure]]
        assert math.isnan(ours) or ours == pytest.approx(metric.value, abs=1e-9), metric


@pytest.mark.parametrize(
    ("rankings", "gold", "says"),
    [
        (list_of("a", "b").assign(rank=[0, 1]), gold_of(a=1), "rank 0"),
        (list_of("a", "b").assign(rank=[1, 3]), gold_of(a=1), "rank 3"),
        (list_of("a"), pd.concat([gold_of(a=1), gold_of(a=2)]), "given twice"),
        (list_of("a"), gold_of(a=1, b=1).assign(is_last_hop=True), "given twice"),
        (list_of("a"), gold_of(a=1).drop(columns="grade"), r"\['grade'\] are missing"),
    ],
)
def test_tables_that_cannot_be_measured_are_refused(rankings, gold, says):
    with pytest.raises(ValueError, match=says):
        ranking_measures(rankings, gold)


def test_a_question_id_may_equal_a_document_id_and_data_sets_do_not_mix():
    rankings = pd.concat([list_of("q1", "b", qid="q1"), list_of("b", "q1", qid="q1").assign(dataset="other")])
    gold = pd.concat([gold_of(q1=1), gold_of(b=1).assign(dataset="other")])
    assert ranking_measures(rankings, gold, ks=[1])["recall_at_1"].tolist() == [1, 1]


def test_finding_nothing_is_zero():
    row = ranking_measures(list_of("x", "y"), gold_of(a=1, last_hop="a"), ks=[2]).iloc[0]
    assert row[["recall_at_2", "all_gold_at_2", "ndcg_at_2", "last_hop_hit_at_2", "judged_at_2", "mrr"]].tolist() == [0] * 6


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="cutoff"):
        recall_at([1], 1, 0)
    with pytest.raises(ValueError, match="unknown gain"):
        ndcg_at([1], [1], 1, "cubic")
    with pytest.raises(ValueError, match="score 1 is NaN"):
        order_by_score([1.0, math.nan], [1, 2])
    with pytest.raises(ValueError, match="distinct first-stage ranks"):
        order_by_score([1.0, 1.0], [1, 1])
