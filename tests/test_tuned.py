"""The learned packer: its features see no answer and no order, its forest is what was learned, its card fails loudly, its picks keep the budget."""
import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lib import packers, tuned, tuned_features, tuned_fit, tuned_training, tuned_words
from lib.train_tuned import learned, write_card

QUESTION = "In which sea ends the river beside which Edda Sorrel was born?"
TEXTS = [("Edda Sorrel", "Edda Sorrel painted eels all her life.", 1, 0), ("Edda Sorrel", "She was born beside the Marl on 3 May 1804.", 1, 1),
         ("Marl (river)", "The Marl is a river in Harrowfen.", 2, 0), ("Marl (river)", "It ends in the Sea of Aumes.", 2, 1),
         ("Elmer", "Elmer keeps seven bees near Tollwick.", 3, 0)]


def rows_of(texts=TEXTS):
    table = pd.DataFrame(texts, columns=["title", "text", "doc_rank", "position"])
    return table.assign(doc_id="d" + table["doc_rank"].astype(str), n_tokens=[10 + 3 * k for k in range(len(table))])


def vectors_of(n=5, seed=1):
    made = np.random.default_rng(seed).normal(size=(n + 1, 8))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made[:n], made[n]


def features(question=QUESTION, rows=None, vectors=None):
    rows = rows_of() if rows is None else rows
    unit, asked = vectors or vectors_of(len(rows))
    return pd.DataFrame(tuned_features.matrix(question, rows, unit, asked), columns=tuned_features.NAMES)


def candidates(n=8, seed=0, **changes):
    rng = np.random.default_rng(seed)
    unit = rng.normal(size=(n, 6))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    made = packers.Candidates("q", tuple(f"s{i}" for i in range(n)), rng.random(n), rng.integers(15, 60, n).astype(float), rng.random((n, 4)) < 0.4,
                              np.clip(unit @ unit.T, 0, 1), np.arange(n) // 2, np.arange(n) // 2 + 1, np.arange(n) % 2, chance=rng.random(n))
    return dataclasses.replace(made, **changes)


@pytest.mark.parametrize(("question", "kind"), [
    ("When did Edda Sorrel die?", "date"), ("What is the date of birth of Edda Sorrel?", "date"), ("How many bees has Elmer?", "number"),
    ("Who painted eels?", "person"),
    ("Where was she born?", "place"), ("What is the place of death of Elmer?", "place"), ("Which river is longer, Marl or Ostia?", "choice"),
    ("What is her instrument?", "other"), ("Wo liegt Harrowfen?", "other"), ("", "other"), ("?!", "other")])
def test_what_a_question_asks_for(question, kind):
    assert tuned_words.kind_of(question) == kind
    assert features(question)[f"asks_{kind}"].eq(1).all() and features(question).filter(like="asks_").sum(axis=1).eq(1).all()


def test_features_tell_the_bridge_from_the_bystander():
    f = features()
    assert f["title_asked"].tolist() == [1, 1, 0, 0, 0]
    assert f["named_by"][2] > 0 and f["named_by"][4] == 0                        # a page that names the Marl stands among the candidates
    assert f["named_by_asked"].tolist() == [0, 0, 1, 1, 0]
    assert f["names_unasked"].tolist() == [0, 1, 0, 0, 0]
    assert f["dates"].tolist() == [0, 1, 0, 0, 0] and f["numbers"][4] == 1       # seven
    assert f["shared_names"][2] > 0 == f["shared_names"][4]
    assert f["relations"][1] > 0                                                 # born
    assert f["last"].tolist() == [0, 1, 0, 1, 1]
    assert features("Where ends the Sea of Aumes?")["new_share"][3] == 0 < f["new_share"][3]


def test_features_depend_neither_on_order_nor_on_ids():
    unit, asked = vectors_of()
    base, order = features(vectors=(unit, asked)), [3, 0, 4, 2, 1]
    moved = features(rows=rows_of().iloc[order], vectors=(unit[order], asked))
    pd.testing.assert_frame_equal(moved, base.iloc[order].reset_index(drop=True))
    renamed = rows_of().assign(doc_id=lambda t: t["doc_id"].map({"d1": "zz", "d2": "aa", "d3": "mm"}))
    pd.testing.assert_frame_equal(features(rows=renamed, vectors=(unit, asked)), base)


@pytest.mark.parametrize("texts", [TEXTS[:1], [(None, "", 1, 0)], [("Мышь", "Мышь живёт в поле, 1804.", 1, 0),
                                                                             (float("nan"), "田中さんは東京に住む。", 2, 0)],
                                   [("A", "the of and", 1, 0), ("A", "the of and", 1, 1)]])
@pytest.mark.parametrize("question", [QUESTION, "", "где живёт мышь", "the of"])
def test_features_are_finite_for_any_text(texts, question):
    f = features(question, rows_of(texts))
    assert np.isfinite(f.to_numpy()).all() and f.shape == (len(texts), len(tuned_features.NAMES))


def test_no_candidate_no_feature():
    assert tuned_features.matrix(QUESTION, rows_of().iloc[:0], np.zeros((0, 8)), np.ones(8)).shape == (0, len(tuned_features.NAMES))
    assert tuned.chances(QUESTION, rows_of().iloc[:0], np.zeros((0, 8)), np.ones(8)).shape == (0,)


def test_features_do_not_change_with_the_hash_seed():
    code = ("import sys; sys.path.insert(0, 'tests'); import test_tuned as t, hashlib;"
            "print(hashlib.sha256(t.features().to_numpy().tobytes()).hexdigest())")
    found = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": s}, capture_output=True, text=True, check=True).stdout
             for s in "12"}
    assert len(found) == 1


TREE = {"feature": [0, -1, 1, -1, -1], "threshold": [0.5, 0, 2.0, 0, 0], "left": [1, -1, 3, -1, -1], "right": [2, -1, 4, -1, -1],
        "value": [0, -1.0, 0, 0.5, 2.0]}
STUMP = {"feature": [-1], "threshold": [0], "left": [-1], "right": [-1], "value": [0.25]}


def test_forest_of_two_trees_by_hand():
    forest = tuned.forest_of({"trees": [TREE, STUMP], "prior": -1.0})
    x = np.array([[0.5, 9.0], [0.6, 2.0], [0.6, 2.1]])
    assert tuned.forest_chances(forest, x).round(6).tolist() == (1 / (1 + np.exp([1.75, 0.25, -1.25]))).round(6).tolist()


def invented(n=120, seed=0, pool="own-dense-5", noise=0.0):
    """Examples in which the snippet with the largest second feature holds the answer."""
    rng, made = np.random.default_rng(seed), []
    for k in range(n):
        x = np.zeros((6, len(tuned_features.NAMES)))
        x[:, :4] = rng.random((6, 4)).round(4)
        holds = np.arange(6) == (x[:, 1] + noise * rng.random(6)).argmax()
        c = dataclasses.replace(candidates(6, seed=k), costs=np.full(6, 40.0), chance=None)
        made.append(tuned_training.Example("one" if k % 3 else "two", f"q{k}", pool, x, holds, c, tuple("aabbcc"), frozenset("ab")))
    return made


SMALL = tuned_fit.FOREST | {"n_estimators": 20, "min_samples_leaf": 10, "max_features": None}


def test_forest_equals_the_library_that_learned_it():
    from sklearn.ensemble import GradientBoostingClassifier

    made = invented(60, noise=0.5)
    x, y = np.vstack([e.features for e in made]), np.concatenate([e.holds for e in made])
    peer = GradientBoostingClassifier(**SMALL, random_state=3).fit(x, y, sample_weight=tuned_fit.weights_of(made, "own-dense-5"))
    ours = tuned.forest_chances(tuned.forest_of(tuned_fit.fit(made, "own-dense-5", 3, SMALL)), x)
    # a value that lies on a threshold goes by the last bit there, by the rounded number here
    assert np.mean(np.abs(ours - peer.predict_proba(x)[:, 1]) > 1e-4) < 0.01


def test_what_decides_is_learned_and_what_does_not_is_not():
    made = invented()
    forest = tuned.forest_of(tuned_fit.fit(made[:80], "own-dense-5", 0, SMALL))
    right = np.mean([tuned.forest_chances(forest, e.features).argmax() == e.holds.argmax() for e in made[80:]])
    rng = np.random.default_rng(5)
    shuffled = [dataclasses.replace(e, holds=rng.permutation(e.holds)) for e in made]
    null = tuned.forest_of(tuned_fit.fit(shuffled[:80], "own-dense-5", 0, SMALL))
    wrong = np.mean([tuned.forest_chances(null, e.features).argmax() == e.holds.argmax() for e in shuffled[80:]])
    assert right > 0.75 and wrong < 0.45


def test_other_pools_weigh_less_and_sets_are_halfway_to_equal():
    made = [*invented(9), *invented(9, pool="own-bm25-5")]
    w = tuned_fit.weights_of(made, "own-dense-5").reshape(18, 6)
    assert w.mean() == pytest.approx(1) and w[9, 0] == pytest.approx(0.5 * w[0, 0])
    assert w[0, 0] / w[1, 0] == pytest.approx((6 / 3) ** 0.5)                    # q0 is of the set with 3 questions, q1 of that with 6


def test_nothing_to_learn_is_said():
    made = [dataclasses.replace(e, holds=np.zeros(6, bool)) for e in invented(4)]
    with pytest.raises(ValueError, match="0 of 24 training snippets"):
        tuned_fit.fit(made, "own-dense-5")


def tried(*cells):
    base = [(np.nan, np.nan, np.nan, 160, 0.4, 0.6, 148.0)]
    return pd.DataFrame(base + [(*c[:3], 160, *c[3:]) for c in cells], columns=["scale", "exponent", "floor", "budget", "answer", "gold", "tokens"])


def test_the_rule_is_the_best_that_saves_tokens_and_near_ties_go_to_gold():
    rows = tried((1, 1, 0, 0.60, 0.5, 149.0), (1, 1, 0.1, 0.55, 0.5, 146.0), (0.5, 1, 0.1, 0.545, 0.7, 146.5), (0.25, 1, 0.1, 0.50, 0.9, 140.0))
    assert tuned_fit.choose(rows) == {"scale": 0.5, "exponent": 1.0, "floor": 0.1}
    with pytest.raises(ValueError, match="1.0 tokens below submod"):
        tuned_fit.choose(tried((1, 1, 0, 0.60, 0.5, 147.5)))


def test_the_card_is_the_same_twice_and_packs(tmp_path, monkeypatch):
    monkeypatch.setattr(tuned_fit, "FOREST", SMALL)
    monkeypatch.setattr(tuned_fit, "SPARE", -50.0)
    monkeypatch.setattr(tuned_fit.choose, "__defaults__", (-50.0, 0.01))
    monkeypatch.setattr(tuned_fit.fit, "__defaults__", (0, SMALL))
    made = invented(40)
    first, second = (write_card(made, {"files": {}}, tmp_path / name).read_bytes() for name in ("a.json", "b.json"))
    assert first == second
    card = json.loads(first)
    assert card["schema"] == tuned_features.schema() and max(card["looks_at"], key=card["looks_at"].get) == tuned_features.NAMES[1]
    assert {r["policy"] for r in card["quality"]["packed"]} == {"submod", "tuned"} and card["quality"]["auc_within"] > 0.8
    unit, asked = vectors_of()
    told = tuned.chances(QUESTION, rows_of(), unit, asked, tmp_path / "a.json")
    assert ((0 < told) & (told < 1)).all()
    assert learned(made)["rule"]["exponent"] in tuned_fit.GRID["exponent"]


def test_folds_keep_a_question_together():
    assert {tuned_fit.fold_of(f"q{i}") for i in range(60)} == set(range(tuned_fit.FOLDS)) and tuned_fit.fold_of("a") == tuned_fit.fold_of("a")


@pytest.fixture
def card():
    return json.loads(tuned.CARD.read_text(encoding="utf-8"))


def refused(tmp_path, text):
    path = tmp_path / "tuned.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tuned.TunedError, match="train_tuned") as error:
        tuned.read_card(path)
    return str(error.value)


def test_a_card_that_is_missing_damaged_or_old_is_refused(tmp_path, card):
    with pytest.raises(tuned.TunedError, match=r"not there.*git checkout.*train_tuned"):
        tuned.read_card(tmp_path / "none.json")
    for text in ("", "{", "[]", "{}", json.dumps(card | {"trees": []}), json.dumps(card | {"trees": [{"feature": [1]}]})):
        assert "no card" in refused(tmp_path, text)
        tuned.read_card.cache_clear()
    assert "schema old" in refused(tmp_path, json.dumps(card | {"schema": "old"}))
    tuned.read_card.cache_clear()
    loop = {**TREE, "left": [1, -1, 0, -1, -1]}
    assert "circles" in refused(tmp_path, json.dumps(card | {"trees": [loop]}))
    tuned.read_card.cache_clear()


NAN = float("nan")


@pytest.mark.parametrize(("change", "said"), [
    ({"prior": NAN}, "prior is a number, got nan"), ({"prior": None}, "prior is a number"), ({"prior": 10**400}, "prior is a number"),
    ({"trees": [{**TREE, "threshold": [NAN, 0, 2.0, 0, 0]}]}, "threshold of tree 0 holds what is no number"),
    ({"trees": [{**TREE, "value": [0, -1.0, 0, float("inf"), 2.0]}]}, "value of tree 0 holds what is no number"),
    ({"trees": [STUMP, {**TREE, "feature": [0, -1, 1.5, -1, -1]}]}, "feature of tree 1 holds what is no whole number"),
    ({"trees": [{**TREE, "feature": [0, -1, len(tuned_features.NAMES), -1, -1]}]}, "a tree asks for feature"),
    ({"trees": [{**TREE, "feature": [-1, -1, 1, -1, -1]}]}, "splits without two children and a feature"),
    ({"trees": [{**TREE, "right": [2, -1, -1, -1, -1]}]}, "splits without two children"),
    ({"trees": [{**TREE, "right": [2, -1, 5, -1, -1]}]}, "children of tree 0 lie outside it"),
    ({"trees": [{**TREE, "left": [2, -1, 3, -1, -1]}]}, "have two parents"),
    ({"trees": [{**TREE, "left": [1, -1, 1, -1, -1]}]}, "have two parents"),
    ({"trees": [{**STUMP, "left": [0], "right": [0], "feature": [0]}]}, "circles"),
    ({"trees": [{**TREE, "feature": [0, -1, 1, -1, -1, 0, 0], "threshold": [0.5] * 7, "left": [1, -1, 3, -1, -1, 6, 5], "right": [2, -1, 4, -1, -1, 6, 5],
                 "value": [0.0] * 7}]}, "circles"),
    ({"trees": [{**TREE, "value": [0, -1.0]}]}, "tree 0 has lists of"),
    ({"rule": {"weights": [1, 1, 1, 1], "exponent": 1, "floor": 0.1, "cap": 3}}, "its rule has weights, exponent, floor, cap"),
    ({"rule": {"weights": [1, 1, 1], "exponent": 1, "floor": 0.1}}, "four numbers"), ({"rule": "ratio"}, "its rule has"),
    ({"rule": {"weights": [1, 1, 1, NAN], "exponent": 1, "floor": 0.1}}, "four numbers"),
    ({"rule": {"weights": [1, 1, 1, 1], "exponent": -1, "floor": 0.1}}, "exponent"), ({"rule": {"weights": [1, 1, 1, 1], "exponent": 1, "floor": 2}}, "floor"),
    ({"trees": [STUMP, TREE], "forest": {"n_estimators": 150}}, "it holds 2 trees and says 150")])
def test_a_card_whose_numbers_make_no_forest_is_refused(tmp_path, card, change, said):
    trees = len(change["trees"]) if "trees" in change else len(card["trees"])
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps(card | {"forest": {"n_estimators": trees}} | change), encoding="utf-8")
    with pytest.raises(tuned.TunedError, match=f"tuned.json is no card of the learned packer .*{said}.*git checkout.*train_tuned"):
        tuned.read_card(path)


def test_a_folder_and_a_card_cut_short_are_refused(tmp_path):
    with pytest.raises(tuned.TunedError, match="is no card of the learned packer .*train_tuned"):
        tuned.read_card(tmp_path)
    whole = tuned.CARD.read_bytes()
    for n in (1, len(whole) // 2, len(whole) - 3):
        path = tmp_path / f"{n}.json"
        path.write_bytes(whole[:n])
        with pytest.raises(tuned.TunedError, match="is no card of the learned packer"):
            tuned.read_card(path)


@pytest.mark.parametrize(("column", "value"), [("text", NAN), ("text", None), ("text", 7), ("doc_id", None), ("doc_rank", NAN), ("position", float("inf")),
                                               ("n_tokens", NAN), ("n_tokens", -1)])
def test_a_candidate_without_text_or_place_is_one_clear_error(column, value):
    unit, asked = vectors_of()
    rows = rows_of().astype({column: object})
    rows.loc[3, column] = value
    with pytest.raises(ValueError, match=f"candidate 3 of 5 has .* for {column}; mend the snippets table"):
        tuned.chances(QUESTION, rows, unit, asked)


def test_the_committed_card_fits_the_library_and_tells_its_gain(card):
    assert tuned.read_card()["rule"] == card["rule"] and card["features"] == list(tuned_features.NAMES)
    assert set(card["files"]) == {"train/hotpotqa_train.jsonl.gz", "train/musique_ans_train.jsonl.gz", "train/2wikimultihopqa_train.jsonl.gz"}
    rows = pd.DataFrame(card["quality"]["packed"]).groupby(["budget", "policy"])[["answer", "tokens"]].mean().unstack()
    assert (rows["answer"]["tuned"] - rows["answer"]["submod"] > 0.05).all() and (rows["tokens"]["tuned"] < rows["tokens"]["submod"]).all()


def test_chances_lie_between_0_and_1_in_the_order_of_the_rows():
    unit, asked = vectors_of()
    base, order = tuned.chances(QUESTION, rows_of(), unit, asked), [3, 0, 4, 2, 1]
    assert ((0 < base) & (base < 1)).all() and len(set(base)) > 1
    np.testing.assert_array_equal(tuned.chances(QUESTION, rows_of().iloc[order], unit[order], asked), base[order])


@pytest.mark.parametrize(("change", "said"), [
    ({"question": None}, "must be text, got NoneType"), ({"rows": rows_of().drop(columns="title")}, "title not there"),
    ({"vectors": np.ones((4, 8))}, "5 snippets need"),
    ({"asked": np.ones(7)}, "equal length"), ({"vectors": np.full((5, 8), np.nan)}, "NaN")])
def test_bad_input_is_one_clear_error(change, said):
    unit, asked = vectors_of()
    with pytest.raises(ValueError, match=said):
        tuned.chances(**{"question": QUESTION, "rows": rows_of(), "vectors": unit, "asked": asked} | change)


def test_with_the_published_rule_and_relevance_as_chance_it_is_submod():
    for seed in range(20):
        c = candidates(seed=seed)
        c = dataclasses.replace(c, chance=c.relevance)
        assert tuned.tuned(c, 120, packers.submodular.PUBLISHED_WEIGHTS, 1.0, 0.0) == packers.submod(c, 120)


@pytest.mark.parametrize("budget", [10, 40, 96, 160, 1000])
def test_budget_floor_and_order(budget):
    for seed in range(10):
        c = candidates(seed=seed)
        whole, kept, least = (tuned.tuned(c, budget, floor=f) for f in (0.0, None, 1.0))
        assert sum(c.costs[i] for i, _ in whole) <= budget and set(kept) <= set(whole) and set(least) <= set(kept)
        assert bool(whole) == bool(least) == bool((c.costs <= budget).any())     # never packs nothing where something fits
        order = np.random.default_rng(seed).permutation(len(c.ids))
        part = {f: getattr(c, f)[order] for f in ("relevance", "costs", "terms", "document", "doc_rank", "position", "chance")}
        moved = dataclasses.replace(c, ids=tuple(c.ids[i] for i in order), similarity=c.similarity[np.ix_(order, order)], **part)
        assert {moved.ids[i] for i, _ in tuned.tuned(moved, budget)} == {c.ids[i] for i, _ in kept}


def test_a_likely_snippet_is_taken_whatever_its_words():
    c = candidates(relevance=np.zeros(8), chance=np.array([.01] * 7 + [.9]), costs=np.full(8, 40.0))
    assert tuned.tuned(c, 40)[0][0] == 7 and packers.submod(c, 40) != tuned.tuned(c, 40)


@pytest.mark.parametrize(("chance", "said"), [(None, "has none.*lib.tuned.chances"), (np.full(8, np.nan), "not be NaN"), (np.full(8, 1.5), r"lie in \[0, 1\]")])
def test_chances_that_are_none_are_refused(chance, said):
    with pytest.raises(ValueError, match=said):
        tuned.tuned(candidates(chance=chance), 160)


def test_a_wrong_floor_is_refused_and_no_candidate_gives_no_pick():
    with pytest.raises(ValueError, match="floor must lie"):
        tuned.tuned(candidates(), 160, floor=2.0)
    empty = packers.Candidates("q", (), *(np.zeros(0) for _ in range(2)), np.zeros((0, 3), bool), np.zeros((0, 0)), *(np.zeros(0, int) for _ in range(3)),
                               chance=np.zeros(0))
    assert tuned.tuned(empty, 160) == []


def test_candidates_get_their_chance_by_id_and_only_where_asked():
    from lib import evidence
    from lib.tuned_candidates import filled, surprise_of

    unit, asked = vectors_of()
    rows = rows_of().assign(qid="q", snippet_id=lambda t: [f"{d}#{p}" for d, p in zip(t["doc_id"], t["position"])], relevance=0.5)
    titles = {d: t for t, d in zip(rows["title"], rows["doc_id"])}
    order = [3, 0, 4, 2, 1]
    mixed, turned = rows.iloc[order].drop(columns="title"), unit[order]
    c = evidence.candidates(QUESTION, mixed, turned)
    got = filled(c, ["naive", "tuned", "selective"], QUESTION, mixed, turned, asked, titles, {"d1#0": 2.5})
    np.testing.assert_array_equal(got.chance, tuned.chances(QUESTION, rows, unit, asked))
    assert got.ids == tuple(rows["snippet_id"]) and got.surprise[0] == 2.5 and np.isnan(got.surprise[1:]).all()
    assert filled(c, ["naive"], QUESTION, mixed, turned, asked, titles, {}) is c
    assert surprise_of(["naive"], mixed, rows) == surprise_of(["selective"], mixed.iloc[:0], rows) == {}
