"""A trained cross-encoder is measured, described and recorded as it is; the recipe, the cards and the recorded scores agree."""
import json
import math
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from lib import cross_encoder, cross_encoder_quality, cross_encoder_recipe, train_cross_encoder
from lib.cross_encoder import cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_fit import fit_of
from lib.record_cross_encoder import candidates, record
from lib.recorded import canonical, read_recorded
from lib.store import Store
from tests import invented
from tests.small_world import Letters
from tests.tiny_bert import taught_in, tiny_base


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def taught(base, tmp_path_factory):
    return taught_in(tmp_path_factory.mktemp("trained"), base)


# --- quality

def test_auc_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    chance = np.random.default_rng(0)
    for _ in range(20):
        scores, positive = chance.integers(0, 6, 30).astype(float), chance.random(30) < 0.4
        assert cross_encoder_quality.pairwise_auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    assert math.isnan(cross_encoder_quality.pairwise_auc(np.ones(3), np.ones(3, bool)))


def test_calibration_error_equals_a_loop_and_is_small_where_probabilities_are_true():
    chance = np.random.default_rng(1)
    p = chance.random(4000)
    y, clusters = chance.random(4000) < p, [f"q{i // 10}" for i in range(4000)]
    def by_hand(p, y):
        bins = [[i for i in range(len(p)) if min(int(p[i] * 10), 9) == b] for b in range(10)]
        return sum(len(b) / len(p) * abs(np.mean(p[b]) - np.mean(y[b])) for b in bins if b)

    found = cross_encoder_quality.ece(p, y, clusters, resamples=200)
    assert found.estimate == pytest.approx(by_hand(p, y), abs=1e-12) and found.estimate < 0.03
    assert cross_encoder_quality.ece(p ** 3, y, clusters, resamples=200).low > 0.1
    assert cross_encoder_quality.ece(np.array([1.0, 0.0]), np.array([1, 0]), ["a", "b"], resamples=9).estimate == 0


def lists(values):
    """A rankings table of two questions with four paragraphs each; ``values``: scores by ranker."""
    rows = [("d", q, "own", r, 0, f"{q}{j}", s) for r, scores in values.items() for q in ("p", "q") for j, s in enumerate(scores)]
    table = pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    table = table.sort_values(["ranker", "qid", "score"], ascending=[True, True, False])
    return table.assign(rank=table.groupby(["ranker", "qid"]).cumcount() + 1)


def test_a_perfect_order_scores_one_and_a_ranker_against_itself_is_exactly_zero():
    gold = pd.DataFrame({"dataset": "d", "qid": ["p", "q"], "doc_id": ["p0", "q0"], "grade": 1})
    found = cross_encoder_quality.order_table(lists({"cross_encoder": [9, 1, 2, 3], "dense": [9, 1, 2, 3], "bm25": [1, 2, 3, 4]}), gold)["all"]
    assert found["n"] == 2 and all(m["cross_encoder"] == [1.0, 1.0, 1.0] for m in found["measures"].values())
    assert all(d["cross_encoder - dense"] == [0.0, 0.0, 0.0, 1.0] for d in found["differences"].values())
    assert found["measures"]["auc"]["bm25"][0] == 0.0 and found["measures"]["mrr"]["bm25"][0] == 0.25
    assert found["differences"]["mrr"]["cross_encoder - bm25"][0] == 0.75


def test_calibration_without_both_kinds_in_each_half_has_no_fit():
    gold = pd.DataFrame({"dataset": "d", "qid": ["p"], "doc_id": ["p0"]})
    found = cross_encoder_quality.calibration(lists({"cross_encoder": [0.0, 0.0, 0.0, 0.0]}), gold[:0])
    assert found["n"] == 8 and found["base_rate"] == 0 and found["mean_sigmoid"] == 0.5 and "platt" not in found


def test_reading_counts_right_answers_above_wrong_ones():
    pairs = pd.DataFrame([("d", "q1", "who marl", "marl is brown", 1, "gold"), ("d", "q1", "who elmer", "marl is brown", 0, "wrong_answer"),
                          ("d", "q1", "who brown", "marl is brown", 0, "in_passage"), ("d", "q2", "eels", "eels swim", 1, "gold"),
                          ("d", "q2", "mill", "eels swim", 0, "wrong_answer")], columns=["dataset", "qid", "text_a", "text_b", "label", "kind"])

    class Right:
        def score(self, pairs):
            return [float(a in ("who marl", "mill")) for a, _ in pairs]

    found = cross_encoder_quality.reading_table(pairs, Right(), Letters())
    assert (found["wrong_answer"]["n"], found["wrong_answer"]["cross_encoder"][0], found["wrong_answer"]["verbatim"][0]) == (2, 0.5, 1.0)
    assert (found["in_passage"]["n"], found["in_passage"]["cross_encoder"][0], found["in_passage"]["verbatim"][0]) == (1, 1.0, 0.5)


# --- recipe, command, recorded scores

@pytest.fixture
def house(tmp_path, base, monkeypatch):
    """Training and evaluation files of invented questions, a recipe for them, and the tiny model in MiniLM's place."""
    raw = tmp_path / "raw"
    def question(i, asked=None, name="h"):
        context = [[f"Painter {i}", [f"Painter {i} painted eels.", f" The town was Ostley{'abcdefgh'[i % 8]} for good."]],
                   [f"Mill {i}", [f"The mill {i} is bad and old."]], *[[f"Elmer {i} {j}", [f"Elmer {i} keeps bees near the river {j}."]] for j in range(4)]]
        return invented.hotpot(_id=f"{name}{i}", question=asked or f"Which town had the painter of mill {i}?", answer=f"Ostley{'abcdefgh'[i % 8]}",
                               supporting_facts=[[f"Painter {i}", 1], [f"Mill {i}", 0]], context=context)

    for folder in ("train", "hotpotqa"):
        (raw / folder).mkdir(parents=True)
    invented.write(raw / "train" / "h.jsonl.gz", *[question(i) for i in range(40)])
    invented.write(raw / "hotpotqa" / "dev.jsonl.gz", *[question(i, f"What is {i}?", "dev") for i in range(3)])
    models = {"reranker": {"target": "rerank", "base": "minilm", "pairs": {"own": 1, "easy": 1}, "training": {"epochs": 1, "max_length": 48}},
              "support": {"target": "support", "base": "minilm", "pairs": {"own": 1}, "training": {"epochs": 1, "max_length": 48}}}
    recipe = {"held_out": 4, "training": {"hotpotqa": "train/h.jsonl.gz"}, "models": models,
              "evaluation": {"hotpotqa": ["hotpotqa/dev.jsonl.gz"], "musique": "musique/dev.jsonl.gz"}}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    monkeypatch.setattr(train_cross_encoder.weights, "locate", lambda name: base)
    monkeypatch.setattr(cross_encoder_quality.retrieval, "SentenceEncoder", lambda name: Letters())
    monkeypatch.setattr(cross_encoder_quality.retrieval.embed, "__defaults__", (None, 256))
    monkeypatch.setattr(cross_encoder_quality.retrieval.rank, "__defaults__", (("own",), 50, None, 320))
    for function in (train_cross_encoder.trained, train_cross_encoder.write_card):
        monkeypatch.setattr(function, "__defaults__", (tmp_path / ("trained" if function is train_cross_encoder.trained else "cards"),))
    return tmp_path, question


def command(folder, *words):
    return train_cross_encoder.main([*words, "--raw", str(folder / "raw"), "--recipe", str(folder / "recipe.yaml")])


def test_the_command_trains_measures_and_writes_cards(house, capsys):
    folder, _ = house
    assert command(folder) == 0
    said = capsys.readouterr().out
    cards = {name: json.loads((folder / "cards" / f"{name}.json").read_text()) for name in ("reranker", "support")}
    for name, card in cards.items():
        model = card["model"]
        assert card["model_sha256"] == sha256(canonical(model).encode()).hexdigest() and card["cost"]["cpu_seconds"] >= 0
        assert model["leak_check"] == {"hotpotqa": 3, "musique": 0}
        assert set(model["files"]) == {"train/h.jsonl.gz"} and len(model["files"]["train/h.jsonl.gz"]) == 64
        counted = model["counts"]["questions"]["hotpotqa"]
        assert counted["trained_on"] + counted["held_out"] == 40
        assert sum(model["counts"]["pairs"]["hotpotqa"].values()) == json.loads((folder / "trained" / name / "training.json").read_text())["pairs"]
        assert model["held_out"]["order"]["all"]["n"] == counted["held_out"] and "/" not in "".join(model["recipe"])
        assert f"{name}: " in said
    assert "reading" in cards["support"]["model"]["held_out"] and "reading" not in cards["reranker"]["model"]["held_out"]
    before = {name: (folder / "cards" / f"{name}.json").read_bytes() for name in cards}
    assert command(folder, "support") == 0, "found trained: the same card, its cost kept"
    assert {name: (folder / "cards" / f"{name}.json").read_bytes() for name in cards} == before


def test_the_command_refuses_a_leak_before_it_trains(house, capsys):
    folder, question = house
    invented.write(folder / "raw" / "hotpotqa" / "dev.jsonl.gz", question(99, "which town had the painter of MILL 7?", "dev"))
    assert command(folder) == 1
    assert "1 training questions are evaluation questions by question, first 'dev99' of hotpotqa" in capsys.readouterr().err
    assert not (folder / "trained").exists() and not (folder / "cards").exists()


@pytest.mark.parametrize("change, words, said", [
    (lambda r: r, ["other"], "no cross-encoder is called 'other'; the recipe knows reranker, support"),
    (lambda r: r | {"training": {"hotpotqa": "train/no.jsonl.gz"}}, [], "training files are not there: data/raw/train/no.jsonl.gz; see data/raw/README.md"),
    (lambda r: {k: v for k, v in r.items() if k != "held_out"}, [], "needs the blocks held_out, training, evaluation, models"),
    (lambda r: r | {"held_out": 1}, [], "held_out must be a whole number of 2 or more, got 1"),
    (lambda r: r | {"models": {"a": {"target": "rank"}}}, [], "model 'a' needs base, pairs, target, training"),
    (lambda r: r | {"models": {"a": r["models"]["reranker"] | {"pairs": {"wrong": 1}}}}, [], "pairs of target 'rerank': .*wrong.*mend pairs in the recipe"),
    (lambda r: r | {"models": {"a": r["models"]["reranker"] | {"training": {"epochs": 0}}}}, [], "epochs must be a whole number")])
def test_a_recipe_that_cannot_be_is_one_clear_line(house, capsys, change, words, said):
    folder, _ = house
    recipe = change(yaml.safe_load((folder / "recipe.yaml").read_text()))
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    assert command(folder, *words) == 1
    error = capsys.readouterr().err
    assert re.search(f"^error: .*{said}", error) and error.count("\n") == 1 and not (folder / "trained").exists()


def test_candidates_are_the_pooled_top_and_the_own_paragraphs_once():
    questions = pd.DataFrame({"dataset": "d", "qid": ["q"], "question": ["Who?"]})
    documents = pd.DataFrame({"dataset": "d", "doc_id": list("abcd"), "title": list("ABCD"), "text": "x"})
    pools = pd.DataFrame({"dataset": "d", "qid": "q", "doc_id": list("ad")})
    listed = (("pooled", "dense", "abc"), ("own", "dense", "da"), ("pooled", "bm25", "cba"))
    rankings = pd.DataFrame([("d", "q", scope, ranker, r, doc) for scope, ranker, docs in listed for r, doc in enumerate(docs, 1)],
                            columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id"])
    rows = candidates(questions, documents, pools, rankings, depth=2)
    assert list(rows["doc_id"]) == ["a", "b", "d"] and list(rows["text_b"]) == ["A. x", "B. x", "D. x"] and set(rows["text_a"]) == {"Who?"}


def test_a_record_holds_exactly_the_pairs_asked(taught, tmp_path, monkeypatch):
    _, folder = taught
    for function in (cross_encoder_group, pair_keys, score_pairs):
        defaults = tuple(folder / "cards" if d == cross_encoder.CARDS else folder if d == cross_encoder.TRAINED else d for d in function.__defaults__)
        monkeypatch.setattr(function, "__defaults__", defaults)
    store = Store(tmp_path / "recorded", tmp_path / "store", ignore_recorded=True)
    score_pairs([("what", "mill")], {"model": "taught"}, store)
    name = record([("who", "bees"), ("who", "eels"), ("who", "")], {"model": "taught"}, store)
    assert name.startswith("cross_encoder-taught-fp32-") and len(read_recorded(tmp_path / "recorded" / name)[1]) == 2


# --- what is committed

def test_the_committed_cards_are_of_the_committed_recipe():
    recipe = cross_encoder_recipe.read_recipe()
    for name, wanted in recipe["models"].items():
        card = json.loads((cross_encoder.CARDS / f"{name}.json").read_text())
        model = card["model"]
        assert card["model_sha256"] == sha256(canonical(model).encode()).hexdigest(), "a card is written by the command, not by hand"
        assert {k: model["recipe"][k] for k in ("target", "base", "pairs")} == {k: wanted[k] for k in ("target", "base", "pairs")}
        assert fit_of(wanted["training"]) == fit_of(model["recipe"]["training"]) and model["recipe"]["held_out"] == recipe["held_out"]
        assert all(n > 0 for n in model["leak_check"].values()), "train the committed models where the evaluation files are at hand"
        assert "/work" not in json.dumps(card) and not Path(next(iter(model["files"]))).is_absolute()


def test_the_recorded_scores_are_of_the_committed_weights():
    group = cross_encoder_group({"model": "reranker"})
    files = sorted((Path(cross_encoder.ROOT) / "data" / "sample" / "recorded").glob("cross_encoder-reranker-*.jsonl"))
    assert len(files) == 1 and read_recorded(files[0])[0] == group
