"""The cross-encoder learns, resumes, scores the same in any batch, and is never mistaken for another one."""
import json
import math
import random
import shutil
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest

from lib import cross_encoder, cross_encoder_fit, cross_encoder_quality, cross_encoder_saved
from lib.cross_encoder import CrossEncoderError, cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_fit import Fit, batches, fit_of, learning_rate, train
from lib.cross_encoder_model import CrossEncoder, encode_pairs, features, load_tokenizer, padded, start_model
from lib.store import Store, StoreError
from lib.weights import WeightsError
from tests.tiny_bert import QUICK, planted, scorer_of, taught_in, tiny_base


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def taught(base, tmp_path_factory):
    return taught_in(tmp_path_factory.mktemp("trained"), base)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


class Lengths:
    """Scores a pair by the length of its passage, and counts what it was asked."""

    def __init__(self):
        self.asked = []

    def score(self, pairs):
        self.asked += pairs
        return [len(b) / 3 for _, b in pairs]


# --- training

def test_the_planted_rule_is_learnt_and_the_loss_falls(taught):
    made, _ = taught
    fresh = planted(100, seed=9)
    scores = np.array(scorer_of(made).score(list(zip(fresh["text_a"], fresh["text_b"]))))
    assert made.told["loss"]["last_tenth"] < 0.3 and made.told["loss"]["first_tenth"] > 0.6
    assert cross_encoder_quality.pairwise_auc(scores, fresh["label"].to_numpy(bool)) > 0.95


def test_what_is_told_is_whole(taught, base):
    made, folder = taught
    told = json.loads((made.folder / "training.json").read_text())
    assert told == made.told and told["pairs"] == 240 and told["training"]["seed"] == 0
    assert set(told["versions"]) == {"python", "tokenizers", "torch", "transformers"}
    assert told["sha256"] == cross_encoder.sha256_of(made.folder / "model.safetensors") and told["loss"]["steps"] == 90
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == [], "checkpoint and partial folder are gone"


def test_the_same_again_is_found_and_another_seed_or_pair_is_trained(taught, base, monkeypatch):
    made, _ = taught
    def never(*a):
        raise AssertionError("trained again")

    monkeypatch.setattr(cross_encoder_fit, "_run", never)
    facts = {"name": "taught", "recipe": {"target": "rerank"}, "base": "sha256:toy", "files": {}}
    again = train(planted(), base, made.folder, QUICK, facts)
    assert again.told == made.told and again.cpu_seconds == 0.0
    for pairs, fit, told in ((planted(), replace(QUICK, seed=1), facts), (planted(seed=1), QUICK, facts), (planted(), QUICK, {**facts, "files": {"a": "b"}})):
        with pytest.raises(AssertionError, match="trained again"):
            train(pairs, base, made.folder, fit, told)


def test_a_killed_run_resumes_to_the_weights_of_one_that_was_not(base, tmp_path, monkeypatch, caplog):
    fit, step, done = replace(QUICK, epochs=1), cross_encoder_fit._step, []
    whole = train(planted(80), base, tmp_path / "whole" / "m", fit)

    def dies(*given):
        if len(done) == 6:  # after the checkpoint of step 4
            raise KeyboardInterrupt
        done.append(1)
        return step(*given)

    monkeypatch.setattr(cross_encoder_fit, "_step", dies)
    with pytest.raises(KeyboardInterrupt):
        train(planted(80), base, tmp_path / "killed" / "m", fit)
    assert not (tmp_path / "killed" / "m").exists() and (tmp_path / "killed" / ".m.checkpoint.safetensors").exists()
    taken = []
    monkeypatch.setattr(cross_encoder_fit, "_step", lambda *given: taken.append(1) or step(*given))
    with caplog.at_level("INFO"):
        resumed = train(planted(80), base, tmp_path / "killed" / "m", fit)
    assert "resumed after step 4" in caplog.text and len(taken) == 6
    assert resumed.told == whole.told and resumed.told["sha256"] == cross_encoder.sha256_of(whole.folder / "model.safetensors")
    assert resumed.told["loss"] == whole.told["loss"]


@pytest.mark.parametrize("spoil", ["cut", "other run"])
def test_a_checkpoint_that_is_cut_or_of_another_run_is_not_used(base, tmp_path, monkeypatch, caplog, spoil):
    fit, step = replace(QUICK, epochs=1), cross_encoder_fit._step
    done = []

    def dies(*given):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(1)
        return step(*given)

    with monkeypatch.context() as patch:
        patch.setattr(cross_encoder_fit, "_step", dies)
        with pytest.raises(KeyboardInterrupt):
            train(planted(80, seed=2 if spoil == "other run" else 0), base, tmp_path / "m", fit)
    checkpoint = tmp_path / ".m.checkpoint.safetensors"
    if spoil == "cut":
        checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    with caplog.at_level("INFO"):
        made = train(planted(80), base, tmp_path / "m", fit)
    assert "training starts anew" in caplog.text
    assert made.told["sha256"] == train(planted(80), base, tmp_path / "clean" / "m", fit).told["sha256"] and not checkpoint.exists()


def test_training_leaves_random_numbers_and_threads_as_they_were(base, tmp_path):
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    before = torch.get_num_threads()
    train(planted(20), base, tmp_path / "m", replace(QUICK, epochs=1))
    assert torch.equal(torch.rand(3), expected) and torch.get_num_threads() == before


def test_each_epoch_takes_every_pair_once_in_another_order():
    fit, lengths = Fit(epochs=2, batch_size=4, seed=3), [i % 7 + 3 for i in range(150)]
    plan = batches(lengths, fit)
    first, second = plan[:len(plan) // 2], plan[len(plan) // 2:]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(150)) and first != second
    assert batches(lengths, fit) == plan != batches(lengths, Fit(epochs=2, batch_size=4, seed=4))
    spread = [max(lengths[i] for i in b) - min(lengths[i] for i in b) for b in plan]
    assert sum(spread) / len(spread) < 1.5, "pairs of one batch are of similar length"


def test_the_rate_rises_to_its_peak_and_falls_to_nearly_nothing():
    rates = [learning_rate(s, 100, Fit(learning_rate=1.0, warm_up=0.1)) for s in range(100)]
    assert rates[:10] == pytest.approx([0.1 * i for i in range(1, 11)]) and max(rates) == 1.0
    assert all(a >= b for a, b in pairwise(rates[9:])) and 0 < rates[-1] < 0.02
    assert 0 < learning_rate(0, 1, Fit()) <= Fit().learning_rate


@pytest.mark.parametrize("settings, said", [
    ({"epoch": 2}, r"unknown training settings \['epoch'\]"), ({"epochs": 0}, "epochs must be a whole number of 1 or more, got 0"),
    ({"batch_size": True}, "batch_size must be a whole number"), ({"learning_rate": "5e-5"}, "learning_rate must lie in .* write 0.00005"),
    ({"learning_rate": 0}, "learning_rate must lie"), ({"warm_up": 1.0}, "warm_up must lie"), ({"max_length": 8}, "max_length must be a whole number of 32")])
def test_wrong_training_settings_are_said(settings, said):
    with pytest.raises(ValueError, match=said):
        fit_of(settings)


@pytest.mark.parametrize("spoil, said", [
    (lambda p: p.drop(columns="label"), r"\['label'\] are missing"), (lambda p: p.assign(label=1), r"need both labels, 0 and 1, got \[1\] in 20 pairs"),
    (lambda p: p.assign(label=2 * p["label"]), "need both labels"), (lambda p: p[:0], r"need both labels, 0 and 1, got \[\] in 0 pairs"),
    (lambda p: p.assign(text_b=p["text_b"].where(p.index > 2)), "3 of 20 training pairs have a missing or blank text")])
def test_pairs_that_cannot_teach_are_refused_before_any_work(base, tmp_path, spoil, said):
    with pytest.raises(ValueError, match=said):
        train(spoil(planted(20)), base, tmp_path / "m", QUICK)
    assert not any(tmp_path.iterdir())


def test_a_loss_that_explodes_is_said(base, tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(torch.nn.functional, "binary_cross_entropy_with_logits", lambda *a: torch.tensor(float("nan"), requires_grad=True))
    with pytest.raises(ValueError, match="training loss became nan: lower learning_rate"):
        train(planted(20), base, tmp_path / "m", QUICK)
    assert not (tmp_path / "m").exists()


# --- the model

def test_the_features_are_those_of_a_loop(base):
    import torch

    chance = torch.Generator().manual_seed(0)
    tokens = torch.randn(3, 6, 4, generator=chance)
    first, second = torch.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]]), torch.tensor([[0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]])
    found = features(tokens, first, second).numpy()

    def cosine(a, b):
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    for row, x in enumerate(tokens.numpy().astype(float)):
        a, b = x[first[row].numpy() == 1], x[second[row].numpy() == 1]
        assert found[row, 0] == pytest.approx(np.mean([max(cosine(u, v) for v in b) for u in a]), abs=1e-6)
        assert found[row, 1] == pytest.approx(cosine(a.mean(axis=0), b.mean(axis=0)), abs=1e-6)


def test_before_training_the_score_is_that_of_the_features_alone(base):
    import torch

    model = start_model(base).eval()
    batch = padded(encode_pairs(load_tokenizer(base), [("who keeps bees", "the old mill"), ("river", "river river")], 40))
    with torch.inference_mode():
        read = model.bert(**batch).last_hidden_state
        mask = batch["token_type_ids"] * batch["attention_mask"]
        best, means = features(read, batch["attention_mask"] - mask, mask).T
        assert model(**batch).logits[:, 0].tolist() == pytest.approx((10 * best + 5 * means - 12.35).tolist(), abs=1e-5)


# --- scoring

def test_a_batch_gives_the_scores_of_one_by_one(taught):
    scorer, pairs = scorer_of(taught[0]), [tuple(p) for p in planted(40, seed=4)[["text_a", "text_b"]].values]
    alone = [scorer.score([pair])[0] for pair in pairs]
    for size in (1, 7, 64):
        assert scorer.score(pairs, size) == pytest.approx(alone, abs=1e-5)
    order = random.Random(0).sample(range(40), 40)
    assert [scorer.score([pairs[i] for i in order])[order.index(i)] for i in range(40)] == pytest.approx(alone, abs=1e-5)
    assert np.std(alone) > 0.1


def test_a_logit_is_no_probability(taught):
    scores = scorer_of(taught[0]).score([tuple(p) for p in planted(60, seed=5)[["text_a", "text_b"]].values])
    assert min(scores) < 0 and max(scores) > 1


def test_only_the_passage_is_cut(base):
    tokenizer = load_tokenizer(base)
    size = {n: len(encode_pairs(tokenizer, [("river " * n, "mill " * 900)], 40)[0][0]) for n in (5, 20, 30, 400)}
    assert size == {5: 40, 20: 40, 30: 49, 400: 419}
    ids, first = encode_pairs(tokenizer, [("river " * 30, "mill")], 40)[0]
    river, mill, sep = (tokenizer.token_to_id(w) for w in ("river", "mill", "[SEP]"))
    assert ids.count(river) == 30 and ids[first - 1] == sep and ids[first:] == [mill, sep]
    with pytest.raises(ValueError, match="a question has 500 tokens, at most 493 fit beside a passage: 'river"):
        encode_pairs(tokenizer, [("river " * 500, "mill")], 40)


def test_padding_is_masked_and_the_second_text_marked(base):
    tokenizer = load_tokenizer(base)
    made = padded(encode_pairs(tokenizer, [("river", "mill bees"), ("who", "eels")], 40))
    assert made["attention_mask"].tolist() == [[1] * 6, [1] * 5 + [0]]
    assert made["token_type_ids"].tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]] and made["input_ids"][1, -1] == 0


def test_encoding_is_that_of_the_transformers_tokenizer(base):
    from transformers import BertTokenizerFast

    peer = BertTokenizerFast(tokenizer_object=load_tokenizer(base))
    ours, first = encode_pairs(load_tokenizer(base), [("who keeps bees", "the old mill " * 20)], 40)[0]
    theirs = peer("who keeps bees", "the old mill " * 20, truncation="only_second", max_length=40)
    # its own post-processor comes from a full BERT tokenizer file; the words and the cut are what must agree
    inner = [i for i in theirs["input_ids"] if i > 3]
    assert [i for i in ours if i > 3][:len(inner)] == inner[:len(ours) - 3] and first == 5


def test_blank_and_missing_texts_are_nan_and_stored_nowhere(taught, store):
    made, folder = taught
    pairs = [("who", "bees"), ("", "bees"), ("who", "  "), ("who", None), (float("nan"), "bees"), ("who", "bees")]
    scorer = Lengths()
    scores = score_pairs(pairs, {"model": "taught"}, store, scorer=scorer, cards=folder / "cards")
    assert scores[0] == scores[5] == 1.33333 and all(math.isnan(s) for s in scores[1:5]) and scorer.asked == [("who", "bees")]
    assert len(pair_keys(pairs, {"model": "taught"}, folder / "cards")) == 1
    assert score_pairs([], {"model": "taught"}, store, cards=folder / "cards") == []
    straight = scorer_of(made).score(pairs)
    assert [math.isnan(s) for s in straight] == [False, True, True, True, True, False] and scorer_of(made).score([]) == []


def test_scores_come_in_the_order_asked_rounded_and_stored_once(taught, store):
    _, folder = taught
    pairs = [("a", "x" * n) for n in (5, 1, 9, 1, 7)]
    scorer = Lengths()
    expected = [float(f"{n / 3:.6g}") for n in (5, 1, 9, 1, 7)]
    assert score_pairs(pairs, {"model": "taught"}, store, batch_size=2, scorer=scorer, cards=folder / "cards") == expected
    assert len(scorer.asked) == 4 and [len(b) for _, b in scorer.asked] == [9, 7, 5, 1], "longest first, each once"
    assert score_pairs(pairs, {"model": "taught", "precision": "fp32"}, store, scorer=scorer, cards=folder / "cards") == expected and len(scorer.asked) == 4


def test_stored_scores_load_no_model(taught, tmp_path, monkeypatch):
    _, folder = taught
    pairs, spec, cards = [("who", "bees"), ("who", "eels")], {"model": "taught"}, folder / "cards"
    live = Store(tmp_path / "recorded", tmp_path / "store")
    scores = score_pairs(pairs, spec, live, cards=cards, trained=folder)
    live.export(cross_encoder_group(spec, cards), pair_keys(pairs, spec, cards))

    def never(*a):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(cross_encoder, "open_cross_encoder", never)
    clone = Store(tmp_path / "recorded", tmp_path / "no cache")
    assert score_pairs(pairs, spec, clone, cards=cards, trained=tmp_path / "nothing") == scores
    with pytest.raises(AssertionError, match="a model was loaded"):
        score_pairs([*pairs, ("who", "mill")], spec, clone, cards=cards)


def test_a_killed_scoring_keeps_its_batches(taught, store):
    _, folder = taught

    class Dies(Lengths):
        def score(self, pairs):
            if len(self.asked) >= 4:
                raise KeyboardInterrupt
            return super().score(pairs)

    pairs, cards = [("a", "x" * n) for n in range(1, 9)], folder / "cards"
    with pytest.raises(KeyboardInterrupt):
        score_pairs(pairs, {"model": "taught"}, store, batch_size=2, scorer=Dies(), cards=cards)
    scorer = Lengths()
    score_pairs(pairs, {"model": "taught"}, store, batch_size=2, scorer=scorer, cards=cards)
    assert len(scorer.asked) == 4


def test_a_score_that_is_no_number_is_refused(taught, store):
    class Broken:
        def score(self, pairs):
            return [float("inf")] * len(pairs)

    with pytest.raises(CrossEncoderError, match="gave inf: its weights are damaged"):
        score_pairs([("a", "b")], {"model": "taught"}, store, scorer=Broken(), cards=taught[1] / "cards")


@pytest.mark.parametrize("spec", [{}, {"model": 3}, {"model": "taught", "precision": "bf16"}, {"model": "taught", "seed": 1}])
def test_a_wrong_specification_is_refused(taught, spec):
    with pytest.raises(ValueError, match="a cross-encoder is named as"):
        cross_encoder_group(spec, taught[1] / "cards")


def test_the_key_follows_weights_and_length(taught, tmp_path):
    made, folder = taught
    group = cross_encoder_group({"model": "taught"}, folder / "cards")
    assert group == {"kind": "cross_encoder", "model": "taught", "revision": f"sha256:{made.told['sha256']}", "precision": "fp32",
                     "decoding": {"max_length": 40}}
    card = json.loads((folder / "cards" / "taught.json").read_text())
    card["model"]["sha256"] = "0" * 64
    (tmp_path / "taught.json").write_text(json.dumps(card))
    assert set(pair_keys([("a", "b")], {"model": "taught"}, tmp_path)).isdisjoint(pair_keys([("a", "b")], {"model": "taught"}, folder / "cards"))


# --- what is missing or damaged

def copied(taught, tmp_path):
    shutil.copytree(taught[1], tmp_path / "t")
    return tmp_path / "t"


def asks(folder):
    score_pairs([("who", "bees")], {"model": "taught"}, Store(folder / "recorded", folder / "store"), cards=folder / "cards", trained=folder)


def test_a_missing_model_names_the_command(taught, tmp_path):
    folder = copied(taught, tmp_path)
    (folder / "taught").rename(folder / "elsewhere")
    with pytest.raises(CrossEncoderError, match=r"'taught' is not trained here.*run `python -m lib.train_cross_encoder taught`"):
        asks(folder)
    with pytest.raises(CrossEncoderError, match=r"'other' has no card in data/results/models \(there: taught\)"):
        cross_encoder_group({"model": "other"}, folder / "cards")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": {}}', '{"model": {"sha256": "0"}}'])
def test_a_damaged_card_is_one_clear_error(taught, tmp_path, text):
    folder = copied(taught, tmp_path)
    (folder / "cards" / "taught.json").write_text(text)
    with pytest.raises(CrossEncoderError, match="taught.json is no model card .*git checkout"):
        asks(folder)


@pytest.mark.parametrize("spoil, said", [
    (lambda m: (m / "manifest.json").write_text("{"), "manifest.json cannot be read"),
    (lambda m: (m / "manifest.json").unlink(), "manifest.json is not there"),
    (lambda m: (m / "tokenizer.json").unlink(), "tokenizer.json is not there"),
    (lambda m: (m / "config.json").write_text("{}"), "config.json has 2 bytes"),
    (lambda m: (m / "model.safetensors").write_bytes((m / "model.safetensors").read_bytes()[:-1] + b"\x01"), "sha256 of model.safetensors")])
def test_a_damaged_folder_is_refused_and_trained_again(taught, base, tmp_path, spoil, said):
    folder = copied(taught, tmp_path)
    spoil(folder / "taught")
    with pytest.raises(WeightsError, match=f"'taught' is damaged: .*{said}.*delete data/cache/trained/taught and run"):
        asks(folder)
    assert cross_encoder_saved.finished(folder / "taught") is None


def test_weights_of_another_machine_are_not_taken_for_those_of_the_card(taught, base, tmp_path):
    folder = copied(taught, tmp_path)
    train(planted(40, seed=8), base, folder / "taught", replace(QUICK, epochs=1))
    with pytest.raises(CrossEncoderError, match=f"the card tells of weights {taught[0].told['sha256'][:12]}, data/cache/trained holds"):
        asks(folder)


def test_an_old_folder_stays_until_the_new_one_is_whole(taught, base, tmp_path, monkeypatch):
    folder = copied(taught, tmp_path)

    def full(*a, **k):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cross_encoder_saved, "write_manifest", full)
    with pytest.raises(StoreError, match="the disk is full"):
        train(planted(40), base, folder / "taught", replace(QUICK, epochs=1))
    assert cross_encoder_saved.finished(folder / "taught")["sha256"] == taught[0].told["sha256"]
    assert not (folder / ".taught.partial").exists()


@pytest.mark.live
def test_minilm_becomes_a_cross_encoder():
    from lib import weights

    folder = weights.locate("minilm")
    scorer = CrossEncoder(start_model(folder), load_tokenizer(folder), 64)
    pairs = [("Where was Edda Sorrel born?", "Edda Sorrel was born beside the Marl. " * n) for n in (1, 3, 40)]
    assert scorer.score(pairs) == pytest.approx([scorer.score([p])[0] for p in pairs], abs=1e-4)
    ids, first = encode_pairs(scorer.tokenizer, pairs, 64)[2]
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(folder))(*pairs[2], truncation="only_second", max_length=64)
    assert ids == theirs["input_ids"] and [0] * first + [1] * (len(ids) - first) == theirs["token_type_ids"]
