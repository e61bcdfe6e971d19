"""Rerankers order what they are given and add nothing; lists keep their tail; cross-encoders score each pair once ever."""
import math
import random

import numpy as np
import pandas as pd
import pytest

from lib import grades, ranking, tables
from lib.cross_encoder import CrossEncoderError
from lib.declarations_rerankers import RERANKERS
from lib.rerankers import Pointwise, Reranked, Unchanged, ask, by_score, check_window, checked
from lib.rerankers_cross import HubScorer, cross_encoder, hub_cross_encoder, read_tokens, stored_scores
from lib.rerankers_lists import falling, rerank_all, rerank_lists
from lib.rerankers_open import open_reranker
from lib.retrieval import passage
from lib.store import Store
from lib.weights import WeightsError, WeightsMissing
from tests.rerank_world import DOCS, Mills, world
from tests.tiny_bert import taught_in, tiny_base

RIVER = ["the river is slow", "bees keeps the mill good", "eels in the sea", "good good town"]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def counted(scores=len):
    """A pointwise reranker by a function of the passage, with what it was asked."""
    asked = []

    def score(pairs):
        asked.append(list(pairs))
        return [float(scores(p)) for _, p in pairs]

    return Pointwise("counted", score, lambda pairs: [len(p.split()) for _, p in pairs]), asked


# --- one list

@pytest.mark.parametrize("order, said", [([0, 1], "missing [2]"), ([0, 1, 1], "repeated [1]"), ([0, 1, 3], "not among them [3]"), ([], "missing [0, 1, 2]")])
def test_anything_but_a_permutation_is_refused_with_what_is_wrong(order, said):
    with pytest.raises(ValueError, match="each of 3 candidates once") as error:
        checked(Reranked(order, [0.0] * 3, 1, 1, 0), 3)
    assert said in str(error.value)


def test_scores_and_counts_are_checked_too():
    with pytest.raises(ValueError, match="score .*for each of 2 candidates, got 1"):
        checked(Reranked([0, 1], [0.0], 1, 1, 0), 2)
    with pytest.raises(ValueError, match="count from 0, got -1"):
        checked(Reranked([0, 1], [0.0, 0.0], -1, 1, 0), 2)


def test_ties_keep_the_first_stage_order_as_the_measures_take_it():
    chance = random.Random(0)
    for _ in range(50):
        scores = [chance.choice([0.0, 0.5, 1.0, -2.0]) for _ in range(9)]
        assert by_score(scores) == grades.order_by_score(scores, range(1, 10))
    assert by_score([math.nan, -3.0, math.nan, -1.0]) == [3, 1, 0, 2], "below every score, also a negative one"
    with pytest.raises(ValueError, match="score 1 of 2 is infinite"):
        by_score([0.0, math.inf])


def test_shuffling_the_input_changes_a_pointwise_order_only_among_exact_ties():
    chance, texts = random.Random(1), ["a" * n for n in (3, 9, 1, 7, 3, 5)]
    reranker, _ = counted()
    best = [texts[i] for i in reranker.rerank("Who?", texts).order]
    for _ in range(20):
        turned = chance.sample(texts, len(texts))
        assert [turned[i] for i in reranker.rerank("Who?", turned).order] == best


def test_a_passage_that_stands_twice_is_asked_and_counted_once_and_a_blank_one_never():
    reranker, asked = counted()
    made = reranker.rerank("Who?", ["bb c", "", "bb c", None, "d"])
    assert asked == [[("Who?", "bb c"), ("Who?", "d")]] and made.order == [0, 2, 4, 1, 3]
    assert (made.calls, made.tokens, made.repaired) == (2, 3, 0)
    assert made.scores[0] == made.scores[2] == 4.0 and all(math.isnan(made.scores[i]) for i in (1, 3))


def test_no_passage_one_passage_and_only_blank_ones_are_defined():
    reranker, asked = counted()
    assert ask(reranker, "Who?", []) == Reranked([], [], 0, 0, 0)
    assert ask(reranker, "Who?", ["", " "])[0] == [0, 1] and asked == []
    assert ask(reranker, "Who?", ["eel"]).order == [0]
    assert ask(Unchanged(), "Who?", ["a", "b"]).order == [0, 1]


@pytest.mark.parametrize("question", [math.nan, None, "", "  "])
def test_a_question_that_says_nothing_is_one_clear_error(question):
    with pytest.raises(ValueError, match="needs a question that says something"):
        ask(Mills(), question, ["a"])


def test_a_single_text_in_place_of_a_list_is_refused():
    with pytest.raises(ValueError, match="must be a list of texts, got str"):
        ask(Mills(), "Who?", "a mill")


@pytest.mark.parametrize("window, stride", [(1, 1), (0, 1), (10, 11), (10, 0), (3.0, 1), (True, 1)])
def test_windows_that_order_nothing_or_leave_gaps_are_refused(window, stride):
    with pytest.raises(ValueError, match="window|stride"):
        check_window(window, stride)


# --- lists

def test_the_head_is_reordered_and_the_tail_stays_behind_in_first_stage_order():
    rankings, questions, documents = world()
    rows = rerank_lists(rankings, questions, documents, Mills(), depth=4)
    q1 = rows[rows["qid"] == "q1"]
    assert q1["doc_id"].tolist() == ["d3", "d1", "d0", "d2", "d4", "d5", "d6", "d7"], "d4 says mill, too, but lies too deep"
    assert set(rows["ranker"]) == {"mills"} and q1["rank"].tolist() == list(range(1, 9))
    tables.check(rows, "rankings")
    other = rerank_lists(rankings, questions, documents, Mills(), depth=4, first="dense", name="dense + mills")
    assert other[other["qid"] == "q1"]["doc_id"].tolist() == ["d4", "d7", "d6", "d5", "d3", "d2", "d1", "d0"] and set(other["ranker"]) == {"dense + mills"}
    deep = rerank_lists(rankings, questions, documents, Mills(), depth=50)
    assert deep[deep["qid"] == "q1"]["doc_id"].tolist()[:3] == ["d3", "d1", "d4"]


def test_scores_fall_along_every_list_so_that_an_order_by_score_is_the_list():
    rankings, questions, documents = world()
    for reranker in (Mills(), Unchanged()):
        rows = rerank_lists(rankings, questions, documents, reranker, depth=4)
        for _, part in rows.groupby("qid"):
            assert grades.order_by_score(part["score"].tolist(), part["rank"].tolist()) == list(range(8))
    chance = random.Random(2)
    for _ in range(50):
        given = [chance.choice([1.0, 0.0, math.nan, 5.0]) for _ in range(6)]
        made = falling(given, 9)
        assert len(made) == 9 and made == sorted(made, reverse=True) and np.isfinite(made).all()


def test_the_pool_and_so_its_recall_never_change():
    rankings, questions, documents = world()
    gold = pd.DataFrame({"dataset": "w", "qid": ["q1", "q2"], "doc_id": ["d1", "d6"], "grade": 1})
    both = pd.concat([rankings[rankings["ranker"] == "hybrid"], rerank_lists(rankings, questions, documents, Mills(), 5)])
    wide = ranking.ranking_measures(both, gold, ks=(1, 5, 8)).set_index(["qid", "ranker"])
    for qid in ("q1", "q2"):
        assert wide.loc[(qid, "hybrid"), "recall_at_5"] == wide.loc[(qid, "mills"), "recall_at_5"]
        assert wide.loc[(qid, "hybrid"), "recall_at_8"] == wide.loc[(qid, "mills"), "recall_at_8"]


def test_costs_are_told_for_each_list_and_rows_in_any_order_give_the_same(monkeypatch):
    rankings, questions, documents = world()
    rows, cost = rerank_all(rankings, questions, documents, Mills(), depth=4, first="dense")
    monkeypatch.setattr(tables, "TABLES", tables.TABLES | {name: tables._declared(name, spec) for name, spec in RERANKERS.items()})
    tables.check(cost.assign(tier="sample"), "rerank_costs")
    assert cost["candidates"].tolist() == [4, 4, 4] and cost["calls"].tolist() == [4, 4, 4] and set(cost["first"]) == {"dense"}
    turned = rerank_all(rankings.sample(frac=1, random_state=0), questions[::-1], documents.sample(frac=1, random_state=1), Mills(), depth=4, first="dense")
    pd.testing.assert_frame_equal(rows, turned[0])
    pd.testing.assert_frame_equal(cost, turned[1])


def test_all_pairs_are_prepared_in_one_call_and_a_missing_question_keeps_its_order():
    rankings, questions, documents = world()
    reranker, asked = counted()
    rerank_lists(rankings, questions.assign(question=[questions["question"][0], None, questions["question"][2]]), documents, reranker, depth=4)
    assert len(asked[0]) == 8 and len(asked) == 3, "one call for two questions of four passages, then one look-up each"
    rows = rerank_lists(rankings, questions.assign(question=None), documents, reranker, depth=4)
    assert rows[rows["qid"] == "q1"]["doc_id"].tolist() == [d for d, *_ in DOCS]


def test_what_cannot_be_reranked_is_one_clear_error_and_nothing_is_no_row():
    rankings, questions, documents = world()
    with pytest.raises(ValueError, match="no list by 'splade' in scope 'pooled'.*pooled dense, pooled hybrid"):
        rerank_lists(rankings, questions, documents, Mills(), 4, first="splade")
    with pytest.raises(ValueError, match="document 'd7' of 'w', which is not in table documents"):
        rerank_lists(rankings, questions, documents[:7], Mills(), 4)
    with pytest.raises(ValueError, match="ranks must be 1, 2, 3"):
        rerank_lists(rankings[rankings["rank"] != 2], questions, documents, Mills(), 4)
    with pytest.raises(ValueError, match="depth must be a whole number of 1 or more"):
        rerank_lists(rankings, questions, documents, Mills(), 0)
    assert len(rerank_lists(rankings, questions[:0], documents, Mills(), 4)) == 0
    assert len(rerank_lists(rankings[:0], questions, documents, Mills(), 4)) == 0


def test_a_reranker_that_drops_a_candidate_is_caught_in_a_list():
    class Drops:
        name = "drops"

        def rerank(self, question, passages):
            return Reranked([0], [0.0] * len(passages), 1, 1, 0)

    with pytest.raises(ValueError, match="each of 4 candidates once"):
        rerank_lists(*world(), Drops(), 4)


# --- cross-encoders

@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    base = tiny_base(tmp_path_factory.mktemp("base"))
    return taught_in(tmp_path_factory.mktemp("trained"), base)[1]


def test_one_trained_here_orders_by_what_it_was_taught_and_is_asked_once_ever(taught, store, tmp_path):
    reranker = cross_encoder("taught", store, cards=taught / "cards", trained=taught)
    made = ask(reranker, "who keeps eels", RIVER)
    assert set(made.order[:2]) == {1, 3}, "the rule is the word good"
    words = [len(p.split()) for p in RIVER]
    assert (made.calls, made.tokens) == (4, sum(words) + 4 * (3 + 3))
    closed = cross_encoder("taught", store, cards=taught / "cards", trained=tmp_path / "none")
    with pytest.raises(CrossEncoderError, match="not trained here"):
        closed.score([("who", "another pair")])
    assert closed.score([("who keeps eels", p) for p in RIVER]) == made.scores


def test_tokens_are_those_of_the_encoded_pairs():
    from lib.cross_encoder_model import encode_pairs

    class Words:
        def token_to_id(self, token):
            return 0

        def encode_batch(self, texts, add_special_tokens):
            return [type("E", (), {"ids": [1] * len(t.split())})() for t in texts]

    pairs = [("q " * a, "p " * b) for a in (1, 20, 180) for b in (0, 5, 300)]
    for (a, b), (ids, _) in zip(pairs, encode_pairs(Words(), pairs, 192)):
        assert read_tokens(len(a.split()), len(b.split()), 192) == len(ids)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A folder as the hub has it: a random BERT with one label, and its fast tokenizer."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    folder = tiny_base(tmp_path_factory.mktemp("hub"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(fast), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        initializer_range=0.4)
    for labels, name in ((1, "one"), (3, "three")):
        config.num_labels = labels
        BertForSequenceClassification(config).save_pretrained(folder / name)
        fast.save_pretrained(folder / name)
    return folder


def test_a_hub_model_gives_raw_logits_in_any_batch_and_stores_them(hub, store):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    reranker = hub_cross_encoder(str(hub / "one"), store, batch_size=2)
    made = ask(reranker, "who keeps eels", RIVER)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(hub / "one").eval(), AutoTokenizer.from_pretrained(hub / "one")
    with torch.inference_mode():
        alone = [model(**tokenizer("who keeps eels", p, return_tensors="pt")).logits.item() for p in RIVER]
    assert made.scores == pytest.approx(alone, rel=1e-4, abs=1e-5) and made.order == by_score(made.scores)
    assert made.tokens == sum(len(tokenizer("who keeps eels", p)["input_ids"]) for p in RIVER)
    assert min(made.scores) < 0 or max(made.scores) > 1, "no sigmoid was taken"

    class Never(HubScorer):
        def score(self, pairs):
            raise AssertionError("asked again")

    assert stored_scores([("who keeps eels", p) for p in RIVER], Never(str(hub / "one")), store) == made.scores


def test_a_model_with_several_labels_and_one_that_is_not_there_are_clear_errors(hub, store, tmp_path):
    with pytest.raises(ValueError, match="has 3 labels; a reranker gives one score"):
        ask(hub_cross_encoder(str(hub / "three"), store), "who", RIVER)
    with pytest.raises(ValueError, match="not registered, no folder, and no hub id"):
        hub_cross_encoder("no such model", store)
    with pytest.raises(WeightsMissing, match="holds no weights"):
        ask(hub_cross_encoder(str(tmp_path), store), "who", RIVER)
    with pytest.raises(WeightsError, match="could not be loaded"):
        ask(hub_cross_encoder("nobody/has-this", store), "who", RIVER)


def test_two_folders_and_two_lengths_never_share_a_score(hub):
    groups = [HubScorer(str(hub / n), max_length=m).group() for n in ("one", "three") for m in (64, 128)]
    assert len({str(g) for g in groups}) == 4 and all(g["revision"].startswith("sha256:") for g in groups)


# --- the real one, where its scores are recorded

def test_the_recorded_reranker_orders_the_sample_without_its_weights(tmp_path):
    try:
        rankings, questions, documents = tables.read_all("sample", "rankings", "questions", "documents")
        reranker = cross_encoder("reranker", Store(cache=tmp_path / "cache"), trained=tmp_path / "none")
        reranker.tokens([("a", "b")])
    except (FileNotFoundError, WeightsMissing) as error:
        pytest.skip(str(error))
    rows = rerank_lists(rankings, questions[:20], documents, reranker, depth=20, first="dense", progress=False)
    tables.check(rows, "rankings")
    text = {d.doc_id: passage(d.title, d.text) for d in documents.itertuples()}
    first = rows[rows["qid"] == rows["qid"].iat[0]].sort_values("rank")
    asked = questions.set_index("qid").loc[first["qid"].iat[0], "question"]
    again = reranker.score([(asked, text[d]) for d in first["doc_id"][:20]])
    assert first["score"].tolist()[:20] == again == sorted(again, reverse=True)


@pytest.mark.parametrize("spec, said", [
    ({"method": "guess", "model": "reranker"}, "method one of"), ({"method": "yes_no"}, "a reranker is a block"), ("reranker", "a reranker is a block"),
    ({"method": "cross_encoder", "model": "reranker", "window": 3}, "has no option"),
    ({"method": "yes_no", "model": "smollm2-135m", "precision": "int3"}, "precision"),
    ({"method": "listwise", "model": "smollm2-135m", "window": 1}, "window"),
    ({"method": "pairwise", "model": "smollm2-135m", "sort": "quick"}, "sort must be one of"),
    ({"method": "pairwise", "model": "smollm2-135m", "top": 0}, "top must be"), ({"method": "cross_encoder", "model": "nobody"}, "has no card")])
def test_a_wrong_specification_is_one_clear_error(spec, said, store):
    with pytest.raises((ValueError, WeightsMissing), match=said):
        open_reranker(spec, store)


def test_a_specification_may_name_its_ranker(store):
    assert open_reranker({"method": "cross_encoder", "model": "reranker", "name": "ours"}, store).name == "ours"
    assert open_reranker({"method": "listwise", "model": "smollm2-135m"}, store).name == "smollm2-135m listwise"
