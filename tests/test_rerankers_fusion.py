"""The free baseline and the second retrieval: fusion equals values worked by hand, feedback is no permutation and says so."""
import math
import random

import numpy as np
import pandas as pd
import pytest

from lib import ranking, retrieval, tables
from lib.rerankers_feedback import METHODS, SECOND_RETRIEVALS, Retrieved, feedback_lists, rm3, rocchio
from lib.rerankers_fusion import fuse_lists, fused, normalised
from tests.rerank_world import world
from tests.small_world import Letters

ONE, TWO = {"a": 0.9, "b": 0.6, "c": 0.3}, {"b": 12.0, "d": 8.0}


# --- fusion

def test_reciprocal_ranks_by_hand_and_as_retrieval_adds_them():
    made = fused([ONE, TWO])
    assert made == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 63, "d": 1 / 62})
    whole = retrieval.reciprocal_rank_fusion([np.array([0, 1, 2]), np.array([1, 3])], 4)
    assert [made[d] for d in "abcd"] == pytest.approx(whole.tolist())
    assert fused([ONE, TWO], k=0, weights=[2.0, 1.0])["b"] == pytest.approx(2 / 2 + 1)


def test_score_fusion_by_hand_under_each_normalisation():
    assert fused([ONE, TWO], "sum") == pytest.approx({"a": 1.0 + 0.0, "b": 0.5 + 1.0, "c": 0.0, "d": 0.0})
    assert fused([ONE, TWO], "mnz") == pytest.approx({"a": 1.0, "b": 3.0, "c": 0.0, "d": 0.0})
    root = math.sqrt(1.5)  # (0.9 - 0.6) / sqrt(0.06)
    assert fused([ONE, TWO], "sum", "z") == pytest.approx({"a": root - 1, "b": 0 + 1, "c": -root - 1, "d": -root - 1})
    assert fused([ONE, TWO], "sum", "none")["d"] == pytest.approx(0.3 + 8)
    assert fused([ONE, TWO], "sum", weights=[1.0, 0.0]) == pytest.approx({"a": 1.0, "b": 0.5, "c": 0.0, "d": 0.0})


@pytest.mark.parametrize("normalise", ["min_max", "z", "none"])
def test_a_list_gives_what_it_lacks_as_much_as_its_worst(normalise):
    other = {"d": 8.0}
    own = float(normalised([8.0], normalise)[0])
    made = fused([ONE, other], "sum", normalise)
    assert made["d"] - own == pytest.approx(made["c"] - own) == pytest.approx(fused([ONE], "sum", normalise)["c"])
    assert fused([ONE, other])["d"] == pytest.approx(1 / 61), "reciprocal ranks give nothing"


def test_scores_of_another_scale_fuse_the_same_after_normalising():
    chance = random.Random(0)
    for _ in range(20):
        lists = [dict(sorted(((d, chance.random()) for d in chance.sample("abcdefg", 5)), key=lambda x: -x[1])) for _ in range(3)]
        scaled = [{d: 100 * s - 7 for d, s in lists[0].items()}, *lists[1:]]
        for normalise in ("min_max", "z"):
            assert fused(lists, "sum", normalise) == pytest.approx(fused(scaled, "sum", normalise))
        assert fused(lists) == fused(scaled)


def test_degenerate_lists_and_wrong_names():
    assert normalised([]).tolist() == [] and normalised([2.0], "z").tolist() == [0.0] and fused([]) == {} and fused([{}, TWO], "sum") == {"b": 1.0, "d": 0.0}
    for call, said in ((lambda: normalised([1.0, math.nan]), "score 1 of 2 is NaN"), (lambda: normalised([1.0], "softmax"), "normalise must be one of"),
                       (lambda: fused([ONE], "best"), "how must be one of"), (lambda: fused([ONE], weights=[1, 2]), "weights must be 1 numbers"),
                       (lambda: fused([ONE], weights=[-1]), "weights must be"), (lambda: fused([ONE], k=-1), "k must be")):
        with pytest.raises(ValueError, match=said):
            call()


def test_fusing_dense_and_bm25_is_the_hybrid_list_of_retrieval():
    questions = pd.DataFrame({"dataset": "w", "qid": ["q1", "q2"], "question": ["Who built the mill?", "What sleeps?"]})
    _, _, documents = world()
    pools = pd.DataFrame(columns=["dataset", "qid", "doc_id"])
    lists = retrieval.rank(questions, documents, pools, Letters(), scopes=("pooled",), cache=None)
    made = fuse_lists(lists, ["dense", "bm25"], name="hybrid")
    hybrid = lists[lists["ranker"] == "hybrid"].sort_values(["qid", "rank"], ignore_index=True)
    pd.testing.assert_frame_equal(made[["qid", "rank", "score"]], hybrid[["qid", "rank", "score"]])


def test_with_a_first_stage_it_is_a_permutation_of_its_head_without_one_the_union():
    rankings, *_ = world()
    tables.check(made := fuse_lists(rankings, ["dense"], depth=3, first="hybrid"), "rankings")
    head = rankings[(rankings["ranker"] == "hybrid") & (rankings["rank"] <= 3)]
    for qid, part in made.groupby("qid"):
        assert sorted(part["doc_id"]) == sorted(head.loc[head["qid"] == qid, "doc_id"])
    union = fuse_lists(rankings, ["hybrid", "dense"], depth=3)
    assert union[union["qid"] == "q1"]["doc_id"].tolist() == ["d0", "d7", "d1", "d6", "d2", "d5"], "equal sums: the first ranker's document first"
    pd.testing.assert_frame_equal(union, fuse_lists(rankings.sample(frac=1, random_state=3), ["hybrid", "dense"], depth=3))
    with pytest.raises(ValueError, match="no list by splade in scope 'pooled'"):
        fuse_lists(rankings, ["dense", "splade"])
    assert len(fuse_lists(rankings[rankings["qid"] == "q1"], ["dense"], depth=2)) == 2


# --- feedback

def test_rocchio_by_hand_and_its_limits():
    documents = np.array([[0.0, 1.0], [0.6, 0.8]])
    assert rocchio(np.array([1.0, 0.0]), documents, [0, 1], 0.5) == pytest.approx(np.array([1.15, 0.45]) / math.hypot(1.15, 0.45))
    for first, weight in (([], 0.75), ([0], 0)):
        assert rocchio(np.array([1.0, 0.0]), documents, first, weight) == pytest.approx([1.0, 0.0])
    with pytest.raises(ValueError, match="weight must be"):
        rocchio(np.array([1.0]), documents, [0], -1)


def test_rm3_by_hand():
    made = rm3(["mill"], [["mill", "burned", "mill"], ["bees"]], [3.0, 1.0], terms=2, original=0.5)
    # relevance model: mill 3/4 x 2/3 = 0.5, burned 3/4 x 1/3 = 0.25, bees 1/4: burned and bees tie, the alphabet takes bees
    assert made == pytest.approx({"mill": 0.5 + 0.5 * 0.5 / 0.75, "bees": 0.5 * 0.25 / 0.75}) and sum(made.values()) == pytest.approx(1)
    assert rm3(["mill"], [["bees"]], [1.0], original=1.0) == {"mill": 1.0} and rm3(["mill"], [["bees"]], [1.0], original=0.0) == {"bees": 1.0}
    assert rm3([], [["bees"]], [0.0]) == {"bees": 1.0} and rm3([], [], []) == {}
    assert rm3(["mill", "mill", "eel"], [], []) == pytest.approx({"mill": 2 / 3, "eel": 1 / 3})
    with pytest.raises(ValueError, match="original must lie in"):
        rm3(["a"], [["b"]], [1.0], original=1.5)


@pytest.mark.parametrize("method", METHODS)
def test_feedback_ranks_the_corpus_and_can_find_what_the_first_list_lacks(method):
    rankings, questions, documents = world()
    short = rankings[(rankings["ranker"] == "dense") & (rankings["rank"] <= 2)]
    made = feedback_lists(short, questions, documents, method, Letters(), first="dense", depth=6, cache=None)
    tables.check(made, "rankings")
    assert set(made["ranker"]) == {method} <= set(SECOND_RETRIEVALS) and made.groupby("qid").size().tolist() == [6, 6, 6]
    found = {q: set(g["doc_id"]) for q, g in made.groupby("qid")}
    known = {q: set(g["doc_id"]) for q, g in short.groupby("qid")}
    assert all(found[q] - known[q] for q in found), "no permutation of the first list: it is measured as retrieval"
    ranking.ranking_measures(made, pd.DataFrame({"dataset": "w", "qid": ["q1"], "doc_id": ["d1"], "grade": 1}), ks=(5,))


def test_feedback_of_weight_nothing_is_the_first_retrieval():
    _, questions, documents = world()
    first = retrieval.rank(questions, documents, pd.DataFrame(columns=["dataset", "qid", "doc_id"]), Letters(), scopes=("pooled",), cache=None)
    for method, began, more in (("rocchio", "dense", {"weight": 0.0}), ("rm3", "bm25", {"original": 1.0})):
        made = feedback_lists(first, questions, documents, method, Letters(), cache=None, **more)
        same = first[first["ranker"] == began].sort_values(["qid", "rank"])
        assert made["doc_id"].tolist() == same["doc_id"].tolist(), method


def test_what_feedback_cannot_do_is_one_clear_error():
    rankings, questions, documents = world()
    for more, said in (({"method": "refit"}, "method must be one of"), ({"method": "rm3"}, "no pooled list by 'bm25'"),
                       ({"method": "rocchio"}, "needs an encoder"), ({"method": "rocchio", "encoder": Letters(), "feedback": 0}, "feedback must be")):
        with pytest.raises(ValueError, match=said):
            feedback_lists(rankings, questions, documents, cache=None, **more)
    with pytest.raises(ValueError, match="document 'd7', which is not in table documents"):
        feedback_lists(rankings, questions, documents[:7], "rocchio", Letters(), cache=None)
    assert len(feedback_lists(rankings, questions[:0], documents, "rm3")) == 0
    assert Retrieved([0], [1.0]).found == [0]
