"""The lists handed on to packers and reader: which they are, that they are packed as the library packs, and what a reader is asked."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from small_world import Letters, words, world

from lib import downstream, downstream_packs, downstream_reading, downstream_record, downstream_sets, evidence, readers, tables
from lib.downstream import BEST, CEILING, KEPT, OWN, gold_first, heads
from lib.packing import Bench, pack_all, setting
from lib.store import Store

PACKERS = ["naive", "focused", "submod", "topk", "random"]
BLOCK = {"packers": ["naive", "topk"], "depths": [2, 3], "budget": 20, "encoder": "letters", "setting": {"tokenizer": "words", "min_tokens": 12}, "read": {}}


@pytest.fixture(autouse=True)
def count_words(monkeypatch):
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: words)


def given():
    """The small world with a reranked list (the dense one turned round) and a fusion of three questions."""
    questions, gold, documents, pools, rankings = world()
    dense = rankings[(rankings["scope"] == "pooled") & (rankings["ranker"] == "dense")]
    turned = dense.assign(ranker="dense + turned", rank=dense.groupby("qid")["rank"].transform("max") + 1 - dense["rank"], score=-dense["score"])
    some = dense[dense["qid"].isin(["q1", "q3", "q6"])].assign(ranker="dense + fusion")
    return questions, gold, documents, pools, pd.concat([rankings, turned, some], ignore_index=True)


def packed(names=PACKERS, budget=20, depths=(2, 3), changes=None, tables_=None):
    questions, gold, documents, _, lists = tables_ or given()
    made = heads(lists, gold, documents, ["dense", "hybrid"], "pooled", depths)
    return downstream_packs.packed(
        made, questions, gold, documents, Letters(), names, budget, {"tokenizer": "words", "min_tokens": 12, **(changes or {})}, None
    )


def of(outcomes, **values):
    return outcomes[np.logical_and.reduce([outcomes[c] == v for c, v in values.items()])]


@pytest.mark.parametrize("changes", [{}, {"order": "picked"}, {"relevance": "dense"}, {"exponent": 0.0, "cap": 1}])
@pytest.mark.parametrize(("ranker", "depth", "budget"), [("dense", 2, 20), ("dense + turned", 3, 20), ("hybrid", 3, 45)])
def test_a_list_is_packed_as_the_library_packs_it(ranker, depth, budget, changes):
    questions, gold, documents, pools, lists = given()
    s = setting(tokenizer="words", min_tokens=12, scope="pooled", ranker=ranker, depth=depth, **changes)
    theirs = pack_all(Bench(questions, gold, documents, pools, lists, Letters(), cache=None), s, PACKERS, [budget])
    ours = of(packed(budget=budget, depths=(depth,), changes=changes).outcomes, ranker=ranker, order=OWN)
    both = ours.merge(theirs["contexts"], left_on=["qid", "packer"], right_on=["qid", "policy"], suffixes=("", "_theirs"))
    both = both.merge(theirs["survival"], on=["qid", "policy"], suffixes=("", "_survived"))
    assert len(both) == len(questions) * len(PACKERS)
    assert (both["context_hash"] == both["context_hash_theirs"]).all() and (both["n_tokens"] == both["n_tokens_theirs"]).all()
    known = both["answer_defined"]
    assert (both["answer_in_context"][known] == both["answer_in_context_survived"][known]).all() and both["answer_in_context"][~known].isna().all()
    assert (both["answer_in_list"][known] == both["answer_in_pool"][known]).all() and (both["n_snippets"] == both["n_snippets_survived"]).all()
    for column in ("gold_coverage", "all_gold_in_context"):
        pd.testing.assert_series_equal(both[column], both[f"{column}_survived"], check_names=False)


def test_the_two_bounds_and_the_two_orders():
    made = heads(*[given()[i] for i in (4, 1, 2)], ["dense"], "pooled", [6])
    gold = given()[1].groupby("qid")["doc_id"].agg(list).to_dict()
    lists = {(r.qid, r.ranker, r.order): r.docs for r in made.itertuples()}
    for qid, wanted in gold.items():
        best, first = lists[qid, f"dense + {BEST}", OWN], lists[qid, "dense", OWN]
        assert set(best[: len(wanted)]) == set(wanted) and set(best) == set(first)
        assert lists[qid, "dense + turned", KEPT] == first and lists[qid, "dense + turned", OWN] == first[::-1]
        assert sorted(lists[qid, f"dense + {CEILING}", OWN]) == sorted(first)  # the pool holds all six passages
    assert {q for q, r, _ in lists if r == "dense + fusion"} == {"q1", "q3", "q6"}  # a question without a list has no row
    assert gold_first(["a", "b"], ["z", "b"]) == ["b", "z", "a"] and gold_first([], ["z"]) == ["z"]


def test_what_no_pool_holds_only_the_ceiling_hands_on():
    questions, gold, documents, pools, lists = given()
    lists = lists[(lists["doc_id"] != "marl") & (lists["scope"] == "pooled") & lists["ranker"].isin(["dense"])]
    lists = lists.assign(rank=lists.groupby("qid")["rank"].rank().astype(int))
    out = of(packed(["naive"], depths=(2,), tables_=(questions, gold, documents, pools, lists)).outcomes, qid="q1", order=OWN).set_index("ranker")
    assert out.loc[f"dense + {BEST}", "gold_in_list"] == 0.5 and out.loc[f"dense + {CEILING}", "gold_in_list"] == 1.0
    assert out.loc[f"dense + {CEILING}", "ndcg"] == 1.0 > out.loc[f"dense + {BEST}", "ndcg"]


def test_order_of_the_same_passages_moves_topk_and_nothing_that_ignores_it():
    out = packed(["topk", "random"], depths=(6,)).outcomes
    turned = out[out["ranker"] == "dense + turned"]
    wide = turned.pivot(index=["packer", "qid"], columns="order", values=["gold_in_list", "answer_in_list", "gold_coverage"])
    assert wide["gold_in_list"][OWN].equals(wide["gold_in_list"][KEPT]) and wide["answer_in_list"][OWN].equals(wide["answer_in_list"][KEPT])
    assert not wide.loc["topk", "gold_coverage"][OWN].equals(wide.loc["topk", "gold_coverage"][KEPT])  # it reads ranks
    kept, first = of(out, ranker="dense + turned", order=KEPT), of(out, ranker="dense", order=OWN)
    assert kept["context_hash"].tolist() == first["context_hash"].tolist()  # all six passages in the first stage's order are the first stage


def test_other_ids_and_another_order_of_rows_change_nothing():
    one = packed().outcomes
    shuffled = [t.sample(frac=1, random_state=1) for t in given()]
    again = packed(tables_=shuffled).outcomes
    pd.testing.assert_frame_equal(*(t.sort_values([*downstream.HEAD, "packer"], ignore_index=True) for t in (one, again)))


def test_an_empty_run_and_lists_that_are_not_there_give_no_rows():
    questions, gold, documents, _, lists = given()
    for rows, named in ((lists[:0], ["dense"]), (lists, ["nobody"])):
        made = downstream_sets.made(rows, gold, questions, documents, named, "pooled", BLOCK, Letters(), cache=None)
        assert not len(made.outcomes) and not len(made.contexts)
        told = downstream_sets.told(made.outcomes, pd.DataFrame(), questions, 2, "sample", 100)
        assert {n: len(tables.check(t, n)) for n, t in told.items()} == dict.fromkeys(told, 0)
    bare = packed(["naive"], tables_=(questions, gold[:0], documents, None, lists)).outcomes
    assert bare["ndcg"].isna().all() and bare["gold_coverage"].isna().all() and bare["answer_in_context"].notna().any()


ANSWERS = dict(zip(world()[0]["question"], world()[0]["answers"]))


class Parrot:
    """Says the first answer where it stands in the passages shown, else "unknown"."""

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [readers.Generation(self.said(*p.rsplit("Passages:\n", 1)[-1].rsplit("\nQuestion: ", 1)), 9, 1) for p in prompts]

    @staticmethod
    def said(shown, question):
        first = ANSWERS[question.split("\n")[0]][0]
        return first if first.lower() in shown.lower() else "unknown"


@pytest.fixture
def parrot(monkeypatch):
    reader = Parrot()
    monkeypatch.setattr(readers, "open_reader", lambda spec: nullcontext(reader))
    return reader


READ = {"reader": {"model": "smollm2-135m", "precision": "fp32"}, "firsts": ["dense"], "packers": ["naive"], "questions": 4}


def test_a_reader_is_asked_what_is_named_once_and_the_rest_stays_unread(parrot, tmp_path, monkeypatch):
    questions, gold, documents, _, lists = given()
    store, block = Store(tmp_path / "recorded", tmp_path / "store"), {**BLOCK, "read": READ}
    run = lambda: downstream_sets.made(lists, gold, questions, documents, ["dense", "hybrid"], "pooled", block, Letters(), store, None)
    made = run()
    asked = made.outcomes.dropna(subset=["f1"])
    assert set(asked["packer"]) == {"naive"} and set(asked["depth"]) == {2} and set(asked["first_stage"]) == {"dense"} and asked["qid"].nunique() == 4
    assert set(zip(asked["ranker"], asked["order"])) == {("dense", OWN), (f"dense + {BEST}", OWN), ("dense + turned", OWN), ("dense + turned", KEPT)}
    assert made.outcomes.loc[made.outcomes["reader"] == "none", ["em", "f1"]].isna().all(axis=None)
    assert len(parrot.prompts) == len(set(parrot.prompts)) == len(tables.check(made.contexts, "downstream_contexts"))
    tables.check(made.outcomes, "downstream_outcomes")
    before = len(parrot.prompts)
    pd.testing.assert_frame_equal(run().outcomes, made.outcomes)
    assert len(parrot.prompts) == before  # the second run finds every answer
    monkeypatch.setattr(downstream_record.tables, "read", lambda name, tier: {"downstream_contexts": made.contexts, "questions": questions}[name])
    ((reader, wanted),) = downstream_record.asks({"downstream": block}, questions)
    assert reader == READ["reader"] and wanted == set(parrot.prompts)
    monkeypatch.setattr(downstream_record.yaml, "safe_load", lambda text: {"sample": {"gating": {"downstream": block}}})
    assert str(len(wanted)) in downstream_record.record(store)[0] and len(parrot.prompts) == before
    bare = Store(tmp_path / "recorded", tmp_path / "elsewhere")
    assert len(bare.get_many(readers.entry_key(readers.answer_group(reader), p) for p in wanted)) == len(wanted)  # replayed from the file alone


def test_scores_are_those_of_the_contexts_own_question(parrot, tmp_path):
    questions, gold, documents, _, lists = given()
    read = {**READ, "questions": 0}
    made = downstream_sets.made(
        lists, gold, questions, documents, ["dense"], "pooled", {**BLOCK, "read": read}, Letters(), Store(tmp_path / "recorded", tmp_path / "store"), None
    )
    told = made.outcomes.dropna(subset=["f1"]).merge(made.texts, on=["dataset", "qid", "context_hash"]).merge(questions[["qid", "answers"]], on="qid")
    right = [float(answers[0].lower() in context.lower()) for context, answers in zip(told["context"], told["answers"])]
    assert told["em"].tolist() == right and told["f1"].tolist() == right and 0 < sum(right) < len(right)


@pytest.mark.parametrize(
    "wrong",
    [
        {"packers": ["gold"]},
        {"packers": []},
        {"depths": []},
        {"depths": [5, 5]},
        {"depths": [0]},
        {"budget": 0},
        {"setting": {"representation": "ace"}},
        {"setting": {"colour": 1}},
        {"read": {"reader": {}}},
        {"read": {**READ, "packers": ["submod"]}},
        {"read": {**READ, "questions": -1}},
        {"read": {**READ, "firsts": "dense"}},
        {"more": 1},
    ],
)
def test_a_block_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError):
        downstream.check({**BLOCK, **wrong})


def test_the_learned_packer_is_left_out_with_its_reason_where_its_card_is_not_there(monkeypatch):
    assert downstream.packers_there(["naive", "tuned"])[0][0] == "naive"

    def gone():
        raise downstream.TunedError("tuned.json is not there")

    monkeypatch.setattr(downstream, "read_card", gone)
    assert downstream.packers_there(["naive", "tuned"]) == (["naive"], {"tuned": "tuned.json is not there"})


def test_a_sentence_says_what_was_read_and_what_was_not():
    out = packed(["naive"]).outcomes
    wanted = downstream_reading.chosen(out, given()[0], READ, 2)
    said = downstream_reading.left_unread(out, wanted, 2)
    read = out.loc[wanted, ["qid", "context_hash"]].drop_duplicates()
    every = of(out, depth=2)[["qid", "context_hash"]].drop_duplicates()
    assert said.startswith(f"{len(read)} of {len(every)} ") and "4 questions" in said
