"""Questions of a world packed in a stream: the same contexts as the tables', each dial moves its own condition, and dealt answers leave nothing."""
import numpy as np
import pandas as pd
import pytest
from small_world import merging
from test_worlds import Words

from lib import dials_checks, dials_passages, dials_stream, evidence, packing, retrieval, stats, worlds
from lib.text import normalise_answer

POLICIES = ["submod", "focused", "naive", "topk"]


pytestmark = pytest.mark.usefixtures("counting_words")


def packed(n=60, seed=5, documents=120, policies=POLICIES, budget=120, **more):
    return pd.concat(dials_stream.packed(n, policies, budget, seed, documents, Words(), **more), ignore_index=True)


# the stream

@pytest.mark.parametrize("turned", [{}, {"redundancy": 0.75}, {"hops": 4, "position": "late"}, {"surfacing": 1, "paraphrase": 1.0}])
def test_the_stream_packs_what_the_tables_pack(turned):
    made = worlds.world(40, seed=5, documents=120, dataset="world", **turned)
    rankings = retrieval.rank(made["questions"], made["documents"], made["pools"], Words(), scopes=("own",), cache=None)
    bench = packing.Bench(made["questions"], made["gold"], made["documents"], made["pools"], rankings, Words(), cache=None)
    tabled = packing.pack_all(bench, packing.setting(), POLICIES, [120])
    ours = packed(40, **turned).set_index(["qid", "policy"]).sort_index()
    contexts, survived = (tabled[k].set_index(["qid", "policy"]).sort_index() for k in ("contexts", "survival"))
    assert ours["context"].tolist() == contexts["context"].tolist()
    for column in ("answer_in_context", "answer_in_pool", "gold_coverage", "n_tokens"):
        assert ours[column].tolist() == survived[column].tolist(), column
    assert (ours["n_tokens"] <= 120).all() and ours["answer_in_context"].sum() > 5


def test_chunks_shelves_and_more_questions_change_nothing(monkeypatch):
    whole = packed()
    pd.testing.assert_frame_equal(whole, packed(chunk=7))
    pd.testing.assert_frame_equal(whole[whole["qid"] <= "q000020"], packed(20))
    monkeypatch.setattr(dials_passages.Shelf.__init__, "__defaults__", (15,))
    dials_stream._laid.cache_clear()
    pd.testing.assert_frame_equal(whole, packed(chunk=7))


def test_a_shelf_holds_no_more_than_it_may():
    held = {(i, 0): i for i in range(10)}
    assert dials_passages._missing(held, [(8, 0), (20, 0), (3, 0), (21, 1)], kept=10) == [(20, 0), (21, 1)]
    assert len(held) == 8 and {(8, 0), (3, 0)} <= held.keys()


def test_two_processes_pack_what_one_packs(monkeypatch):
    monkeypatch.undo()  # the other processes count real tokens
    settings = {"policies": ["submod", "topk"], "seed": 5, "documents": 60, "tokenizer": "smollm2-135m", "chunk": 10}
    from lib import weights
    try:
        [weights.locate(name) for name in ("wordllama", "smollm2-135m")]
    except weights.WeightsError:
        pytest.skip("weights wordllama and smollm2-135m are not here")
    one, two = (pd.concat(dials_stream.packed(20, workers=w, **settings)) for w in (1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert len(one) == 40 and one["n_tokens"].max() <= 160


@pytest.mark.parametrize("change, said", [
    ({"workers": 2}, "with 2 workers encoder must be a name"), ({"workers": 0}, "workers must be a whole number of 1 or more"),
    ({"policies": ["gold"]}, "no packer of retrieved passages is called 'gold'"), ({"policies": ["best"]}, "is called 'best'"),
    ({"budget": 0}, "budget must be"),
    ({"turn": 1}, "no dial is called 'turn'"), ({"redundancy": 1.5}, "redundancy must be a number from 0 to 1, got 1.5"),
    ({"position": "top"}, "position must be drawn, early"),
    ({"paraphrase": None}, "paraphrase must be a number"), ({"documents": 61}, "multiple of 6"), ({"n": 100_000}, "ask for fewer questions or more documents"),
])
def test_what_cannot_be_packed_is_one_clear_error(change, said):
    with pytest.raises(ValueError, match=said):
        packed(**change)


def test_a_budget_that_holds_no_snippet_gives_empty_contexts():
    rows = packed(5, budget=1)
    assert (rows["context"] == "").all() and (rows[["answer_in_context", "n_tokens", "gold_coverage"]] == 0).all(axis=None) and rows["gold_in_pool"].sum() > 0


def test_a_tokenizer_whose_counts_do_not_add_up_is_refused(monkeypatch):
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: merging)
    with pytest.raises(ValueError, match="one by one but"):
        packed()


# each dial moves its own condition

@pytest.mark.parametrize("dial, low, high, moves, least", [
    ("hops", 2, 4, "hops", 1.9), ("surfacing", 0.0, 1.0, "surfaced", 0.99), ("redundancy", 0.0, 1.0, "repeated", 0.69),
    ("position", "early", "late", "place", 0.3), ("paraphrase", 1.0, 0.0, "shared", 0.12)])
def test_a_dial_moves_its_own_condition_and_no_other(dial, low, high, moves, least):
    ends = [packed(300, documents=300, policies=["naive"], **{dial: v})[dials_stream.TOLD] for v in (low, high)]
    change = (ends[1] - ends[0]).mean()
    assert change[moves] > least
    # hops dilute the question's words, moved or reworded sentences move an answer's place a little: no condition moves by a tenth of its own dial's way
    own = {"hops": 3, "surfaced": 1.0, "repeated": 0.7, "place": 0.37, "shared": 0.19}
    spared = {"hops": ["shared"]}.get(dial, [])
    assert all(abs(change[m]) < 0.06 * own[m] for m in own if m not in (moves, *spared)), change.to_dict()


def test_retrieval_stands_still_while_redundancy_position_and_paraphrase_turn():
    found = {k: packed(250, documents=300, policies=["naive"], **t).loc[:, "answer_in_pool"].mean()
             for k, t in {"rest": {}, "redundancy": {"redundancy": 1.0}, "early": {"position": "early"}, "late": {"position": "late"}}.items()}
    assert max(abs(v - found["rest"]) for v in found.values()) < 0.1, found  # of two standard errors; surfacing moves it by some 30 points


def test_points_of_a_dial_ask_the_same_questions_for_the_same_answers():
    rest = packed(30)
    for turned in ({"surfacing": 1.0}, {"redundancy": 1.0}, {"position": "late"}, {"paraphrase": 0.0}):
        assert packed(30, **turned)[["qid", "question", "answer"]].equals(rest[["qid", "question", "answer"]])
    assert packed(30, hops=4)[["qid", "answer"]].equals(rest[["qid", "answer"]])


# the null

def test_dealt_answers_leave_no_contrast_and_the_level_of_chance():
    rows = dials_checks.dealt(packed(180, documents=120, policies=["submod", "focused"]), seed=1)
    held = rows.pivot(index="qid", columns="policy", values="answer_in_context").astype(float)
    found = stats.paired_cluster_bootstrap(held["submod"] - held["focused"], held.index, 2_000)
    assert found.low <= 0 <= found.high
    level = stats.mean_interval(rows["answer_in_context"].astype(float), rows["qid"], 2_000)
    assert level.low <= rows["chance"].mean() <= level.high and 0.005 < rows["chance"].mean() < 0.1
    chances = rows.pivot(index="qid", columns="policy", values="chance")  # over all ways to deal, so a sharper look at the same null
    exact = stats.paired_cluster_bootstrap(chances["submod"] - chances["focused"], chances.index, 2_000)
    assert -0.005 < exact.low and exact.high < 0.005
    true = packed(180, documents=120, policies=["submod", "focused"])["answer_in_context"].mean()
    assert true > 5 * level.high  # so the deal did take something away


def test_chance_is_the_share_of_other_answers_in_the_context():
    rows = packed(50, documents=60, policies=["naive"])
    answers = rows["answer"].tolist()
    brute = [sum(normalise_answer(a) in normalise_answer(c) for j, a in enumerate(answers) if j != i) / 49 for i, c in enumerate(rows["context"])]
    np.testing.assert_allclose(dials_checks.dealt(rows)["chance"], brute)
    with pytest.raises(ValueError, match="two questions or more, got 1"):
        dials_checks.dealt(rows.head(1))
