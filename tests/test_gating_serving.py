"""The served gate: the research code's chances and decisions to 1e-12, files that must be refused, and drift of the inputs."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import gating_serving, gating_serving_decide, gating_serving_models, graph_list_distilled
from lib.gating_choose import RULES, Rule
from lib.gating_features import NAMES
from lib.gating_inputs import question_sets
from lib.gating_models import Grid, fit
from lib.gating_select import chances, select, skips
from lib.gating_serving import ArtefactError, final_gate, load, save
from lib.gating_serving_decide import decide, drift_table, inputs_of, served_table, server
from lib.gating_simulated import simulated

WORLD, FRESH = simulated(150, seed=1), simulated(120, seed=2)
DATA, NEW = (question_sets(*s[:5])[0][0] for s in (WORLD, FRESH))


def gate_of(model, pca=8, label="rerank_helps", **grid):
    return final_gate(DATA, 5, RULES[0], Grid((model,), (pca,), (label,), **{"constants": (), "fallbacks": ("H",)} | grid))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save(gate_of("lr"), DATA, tmp_path_factory.mktemp("gate") / "gate.json")


@pytest.mark.parametrize("model", ["lr", "rf", "gbm"])
@pytest.mark.parametrize("pca, label", [(0, "rerank_helps"), (8, "fallback_has_gold")])
def test_served_decisions_are_those_of_research(tmp_path, model, pca, label):
    gate = gate_of(model, pca, label)
    served = load(save(gate, DATA, tmp_path / "gate.json"))
    assert served.model == model and served.directions.shape[1] == pca
    made, inputs = served_table(served, FRESH.questions, FRESH.lists, FRESH.vectors if pca else None)
    made = made.set_index("qid").loc[NEW.qids]
    p, _ = chances(gate, NEW.features, NEW.vectors)
    assert np.abs(made["p_harm"].to_numpy() - p).max() < 1e-12
    assert ((made["action"] == "skip").to_numpy() == skips(gate, p)).all() and made["action"].nunique() == 2 and set(made["fallback"]) == {"H"}
    order = FRESH.questions.set_index("qid").index.get_indexer(NEW.qids)
    assert (inputs[order][:, :27] == NEW.features).all()  # the features of serving are those of research, bit for bit


@pytest.mark.parametrize("kind", ["rf", "gbm"])
def test_exported_trees_equal_scikit_learn_on_any_input(kind):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(150, 6)).round(1)  # ties at thresholds
    model = fit(kind, x, x[:, 0] + x[:, 1] * x[:, 2] > 0.2, seed=0)
    numbers = gating_serving_models.checked({n: np.asarray(v).tolist() for n, v in gating_serving_models.exported(model, kind).items()}, kind, 6)
    fresh = np.vstack([x, 3 * rng.normal(size=(150, 6)), np.zeros((1, 6))])
    got = [gating_serving_models.chance(numbers, kind, row) for row in fresh]
    assert np.abs(got - model.predict_proba(fresh)[:, 1]).max() < 1e-12


@pytest.mark.parametrize("constants, model, action", [(("always",), "always", "skip"), (("never",), "never", "rerank")])
def test_gates_without_a_model_are_served_too(tmp_path, constants, model, action):
    gate = select(DATA, np.arange(150), (5,), [Rule("any", "coverage", 100.0)], Grid((), (), constants=constants))[0][0]
    served = load(save(gate, DATA, tmp_path / "gate.json"))
    made = decide(served, "Who?", {"H": [("A", 1.0)], "V": []})
    assert served.model == model and made.action == action and made.p_harm == gate.choice.base_rate


def test_a_gate_that_refused_reranks_and_knows_no_chance(tmp_path):
    same = pd.concat([WORLD.lists[WORLD.lists["list"] != "R"], WORLD.lists[WORLD.lists["list"] == "H"].assign(list="R")])
    data = question_sets(same, *WORLD[1:4])[0][0]
    served = load(save(final_gate(data, 5, RULES[0], Grid(("lr",), (0,))), data, tmp_path / "gate.json"))
    made = decide(served, "Who?", {"H": [], "V": []})
    assert served.model == "refused" and made.action == "rerank" and np.isnan(made.p_harm) and made.fallback == "none"


def test_a_gate_learned_without_vectors_asks_for_none(tmp_path):
    data = question_sets(*WORLD[:3])[0][0]
    gate = final_gate(data, 5, RULES[0], Grid(("lr",), (0,), constants=()))
    made = served_table(load(save(gate, data, tmp_path / "gate.json")), FRESH.questions, FRESH.lists)[0].set_index("qid").loc[NEW.qids]
    assert np.abs(made["p_harm"].to_numpy() - chances(gate, NEW.features, np.zeros((120, 0)))[0]).max() < 1e-12


def test_the_file_is_plain_json_and_the_same_bytes_each_time(path, tmp_path):
    assert save(gate_of("lr"), DATA, tmp_path / "again.json").read_bytes() == path.read_bytes()
    content = json.loads(path.read_text())["gate"]
    assert content["features"] == list(NAMES) and content["training"]["n"] == 150


# --- files that must be refused ---------------------------------------------------------------------------------------------------------------

def changed(path, tmp_path, resum=True, **fields):
    found = json.loads(path.read_text())
    found["gate"] |= fields
    if resum:  # as one who knows the format would
        found["checksum"] = gating_serving._sum(gating_serving._text(found["gate"]))
    other = tmp_path / "gate.json"
    other.write_text(json.dumps(found))
    return other


@pytest.mark.parametrize("fields, said", [
    (dict(version=1), "version 1, expected 2"), (dict(version=None), "version None"), (dict(schema="0123"), "feature schema '0123', this library"),
    (dict(model="svm"), "a model that can be served is lr, rf, gbm, got 'svm'"), (dict(fallback="oracle"), "fallback 'oracle'"),
    (dict(threshold=None), "needs threshold"), (dict(numbers={"mean": [0]}), "missing or too many"), (dict(extra=1), "extra"), (dict(inputs=[]), "summary"),
    (dict(numbers=None), "gate artefact"), (dict(directions=[[1.0]]), "gate artefact")])
def test_what_is_no_gate_of_ours_is_one_clear_error(path, tmp_path, fields, said):
    with pytest.raises(ArtefactError, match=said) as error:
        load(changed(path, tmp_path, **fields))
    assert "gate.json" in str(error.value) and "save the gate again" in str(error.value)


def test_an_edited_threshold_is_found_by_the_checksum(path, tmp_path):
    with pytest.raises(ArtefactError, match="changed after it was written"):
        load(changed(path, tmp_path, resum=False, threshold=0.99))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\x80\x04\x95pickle", b'{"gate": 3}', b'{"gate": {}}'])
def test_what_is_no_artefact_at_all(tmp_path, content):
    (tmp_path / "gate.json").write_bytes(content)
    with pytest.raises(ArtefactError):
        load(tmp_path / "gate.json")
    with pytest.raises(ArtefactError, match="cannot be read"):
        load(tmp_path / "absent.json")


def test_a_file_cut_short_anywhere_is_refused(path, tmp_path):
    whole = path.read_bytes()
    for end in range(0, len(whole), len(whole) // 40):
        (tmp_path / "gate.json").write_bytes(whole[:end])
        with pytest.raises(ArtefactError):
            load(tmp_path / "gate.json")


@pytest.mark.parametrize("change", [dict(feature=[99]), dict(left=[7]), dict(roots=[-1]), dict(threshold=[0.0, 1.0]), dict(value=[float("nan")])])
def test_trees_that_lead_nowhere_are_refused(change):
    stump = {"roots": [0], "feature": [0], "threshold": [0.0], "left": [0], "right": [0], "value": [0.5], "depth": 0}
    assert gating_serving_models.chance(gating_serving_models.checked(stump, "rf", 3), "rf", np.zeros(3)) == 0.5
    with pytest.raises(ValueError, match="do not fit"):
        gating_serving_models.checked(stump | change, "rf", 3)


def test_other_features_and_other_models_cannot_be_saved(tmp_path):
    from lib.gating_rivals import six_features

    six = six_features(DATA)
    with pytest.raises(ValueError, match="6 features cannot be served"):
        save(final_gate(six, 5, RULES[0], Grid(("lr",), (0,), constants=())), six, tmp_path / "gate.json")
    with pytest.raises(ValueError, match="lr, rf, gbm, got 'svm'"):
        gating_serving_models.exported(None, "svm")


# --- one question, and drift ------------------------------------------------------------------------------------------------------------------

def test_what_a_question_must_bring(path):
    served = load(path)
    with pytest.raises(ValueError, match="vector of 16 numbers, got 0"):
        decide(served, "Who?", {"H": [], "V": []})
    with pytest.raises(ValueError, match="'V'"):
        decide(served, "Who?", {"H": []}, np.zeros(16))
    calls = []
    ask = server(served, lambda question: calls.append(question) or np.ones(16))
    lists = {"H": [("A", 1.0), ("B", 0.5)], "V": [("B", 0.4)]}
    assert ask("Who?", lists) == decide(served, "Who?", lists, np.ones(16)) and calls == ["Who?"]
    strange = decide(served, "Who?" * 200, {"H": [("A", 99.0)], "V": []}, np.zeros(16))
    assert {"h_score_1", "q_chars"} <= set(strange.drift) and 0 <= strange.p_harm <= 1


def test_the_index_by_hand_and_its_size_by_chance():
    inputs = {"x": gating_serving.summary(np.arange(100.0))}
    assert inputs["x"]["shares"] == pytest.approx([0.1] * 10) and inputs["x"]["high"] == 99
    gate = gating_serving.Served("s", 5, "coverage", "never", "none", "none", *[np.nan] * 4, {}, np.zeros(0), np.zeros((0, 0)), "", np.nan, None, inputs,
                                 {"n": 100})
    row = drift_table(gate, np.arange(50.0)[:, None]).iloc[0]  # only the lower half: 0.2 and 0.001 against 0.1
    assert row["index"] == pytest.approx(5 * 0.1 * np.log(2) + 5 * (0.001 - 0.1) * np.log(0.01)) and row["moved"] and row["outside"] == 0
    assert drift_table(gate, np.arange(50.0)[:, None], limit=9.0)["moved"].tolist() == [False]
    rng = np.random.default_rng(0)
    still = [drift_table(gate, rng.integers(0, 100, size=(200, 1))).iloc[0] for _ in range(200)]
    # nothing moved: the training quantiles are known exactly here, so that only 1/n is left of the chance
    assert np.mean([r["index"] for r in still]) == pytest.approx(9 / 200, rel=0.2) and not any(r["moved"] for r in still)
    assert drift_table(gate, np.zeros((0, 1)))["moved"].isna().all()


def test_drift_names_the_input_that_moved_and_no_other(path):
    served = load(path)
    inputs = served_table(served, FRESH.questions, FRESH.lists, FRESH.vectors)[1]
    assert not drift_table(served, inputs)["moved"].any()
    inputs[:, NAMES.index("h_gap_1_2")] += 0.5
    told = drift_table(served, inputs)
    assert told.loc[told["moved"], "input"].tolist() == ["h_gap_1_2"] and told.loc[0, "input"] == "h_gap_1_2"
    assert gating_serving_decide.LIMIT == 0.2 and inputs_of(served, "Who?", {"H": [], "V": []}, np.zeros(16)).shape == (35,)


# --- what may come in -------------------------------------------------------------------------------------------------------------------------

def test_two_data_sets_with_one_qid_are_served_each_their_own_lists(path):
    served = load(path)
    qids = FRESH.questions["qid"].to_numpy()
    other = FRESH._replace(questions=FRESH.questions.iloc[::-1].assign(dataset="other", qid=qids),
                           lists=FRESH.lists.assign(dataset="other", qid=FRESH.lists["qid"].map(dict(zip(qids, qids[::-1])))))
    both = served_table(served, pd.concat([FRESH.questions, other.questions]), pd.concat([FRESH.lists, other.lists]),
                        np.vstack([FRESH.vectors, FRESH.vectors[::-1]]))[0]
    alone = served_table(served, FRESH.questions, FRESH.lists, FRESH.vectors)[0]
    assert list(both) == gating_serving_decide.SERVED and both["dataset"].value_counts().to_dict() == {"simulated": 120, "other": 120}
    pd.testing.assert_frame_equal(both.head(120), alone)
    assert both.tail(120)["p_harm"].tolist() == alone["p_harm"].tolist()[::-1]


def test_served_tables_that_cannot_be(path):
    served = load(path)
    for questions, lists, vectors, said in ((pd.concat([FRESH.questions] * 2), FRESH.lists, None, "questions: .*given twice"),
                                            (FRESH.questions, pd.concat([FRESH.lists] * 2), None, "lists: .*given twice"),
                                            (FRESH.questions, FRESH.lists[FRESH.lists["rank"] != 3], None, "leave a place out"),
                                            (FRESH.questions, FRESH.lists, FRESH.vectors[:3], "got 3 vectors for 120 questions")):
        with pytest.raises(ValueError, match=said):
            served_table(served, questions, lists, vectors)
    for lists, said in ((None, "lists H and V"), ({"H": None, "V": []}, "list H is a NoneType"), ({"H": [], "V": "AB"}, "list V is a str"),
                        ({"H": ["A"], "V": []}, "holds 'A'"), ({"H": [("A", "x")], "V": []}, "expected .title, score."),
                        ({"H": [(["A"], 1.0)], "V": []}, "holds")):
        with pytest.raises(ValueError, match=said):
            decide(served, "Who?", lists, np.zeros(16))
    with pytest.raises(ValueError, match="vector holds a NaN"):
        decide(served, "Who?", {"H": [], "V": []}, np.full(16, np.nan))
    with pytest.raises(ValueError, match="feature h_score_1 of this question is inf"):
        decide(served, "Who?", {"H": [("A", np.inf)], "V": []}, np.zeros(16))


@pytest.mark.parametrize("inputs, said", [
    (np.zeros((2, 34)), r"shape \(2, 34\), expected \(questions, 35\)"), (np.zeros((35, 34)), "expected"), (np.zeros(35), "expected"),
    (np.zeros((5, 0)), "expected"), (np.zeros((1, 35, 1)), "expected"), (np.full((2, 35), np.nan), "row 0 holds nan for h_score_1")])
def test_drift_of_other_columns_is_refused(path, inputs, said):
    with pytest.raises(ValueError, match=said):
        drift_table(load(path), inputs)
    assert drift_table(load(path), [])["n"].tolist() == [0] * 35


@pytest.mark.parametrize("text", ["[" * 100_000, '{"gate": ' * 900 + "1" + "}" * 900, '{"gate": {"version": NaN}}', '{"gate": {"version": 1, "k": Infinity}}',
                                  '{"gate": {"version": 1e999}}', '{"gate": {"version": 1%s}}' % ("0" * 5000), '{"gate": {"version": -Infinity}}'])
def test_json_that_breaks_readers_is_no_artefact(tmp_path, text):
    (tmp_path / "gate.json").write_text(text)
    with pytest.raises(ArtefactError, match="save the gate again"):
        load(tmp_path / "gate.json")


def drop(content, *names):
    return {n: v for n, v in content.items() if n not in names}


@pytest.mark.parametrize("name, change, said", [
    *(("inputs", lambda rows, n=n: [drop(rows[0], n), *rows[1:]], f"row 1 lacks {n}") for n in ("name", "low", "high", "edges", "shares")),
    ("inputs", lambda rows: [{**rows[0], "edges": rows[0]["edges"][:-1]}, *rows[1:]], "8 edges and 10 shares"),
    ("inputs", lambda rows: [{**rows[0], "shares": [0.2] * 10}, *rows[1:]], "add up to 1"), ("inputs", lambda rows: rows + rows[:1], "names 35 inputs"),
    ("inputs", lambda rows: [{**rows[0], "low": 9.0, "high": 1.0}, *rows[1:]], "range 9.0 to 1.0"), ("inputs", lambda rows: {"a": 1}, "names 0 inputs"),
    ("inputs", lambda rows: [None, *rows[1:]], "lacks everything"), ("inputs", lambda rows: [{**rows[0], "low": None}, *rows[1:]], "range None"),
    ("k", lambda k: 5.5, "k is 5.5"), ("k", lambda k: 10**30, "k is 10"), ("k", lambda k: True, "k is True"), ("dataset", lambda d: 3, "dataset is 3"),
    ("threshold", lambda t: 10**400, "threshold is 1"), ("threshold", lambda t: True, "threshold is True"), ("base_rate", lambda b: 1.5, "expected a share"),
    ("fallback", lambda f: "none", "has no fallback"), ("training", lambda t: [], "gate artefact"), ("training", lambda t: {**t, "n": -1}, "training.n is -1"),
    ("centre", lambda c: [None, *c[1:]], "no number"), ("centre", lambda c: [10**400, *c[1:]], "gate artefact"), ("features", lambda f: f[::-1], "features"),
    ("numbers", lambda m: {**m, "scale": [0.0] * 35}, "do not fit"), ("numbers", lambda m: {**m, "mean": [m["mean"]]}, "no flat lists"),
    ("numbers", lambda m: {**m, "intercept": 10**400}, "gate artefact")])
def test_an_artefact_whose_parts_cannot_be(path, tmp_path, name, change, said):
    with pytest.raises(ArtefactError, match=said):
        load(changed(path, tmp_path, **{name: change(json.loads(path.read_text())["gate"][name])}))


def test_trees_without_a_root_or_with_half_a_node_are_refused():
    stump = {"roots": [0], "feature": [0], "threshold": [0.0], "left": [0], "right": [0], "value": [0.5], "depth": 0}
    for change in (dict(roots=[]), dict(left=[0.5]), dict(roots=[2**70]), dict(depth=0.5)):
        with pytest.raises(ValueError, match="rf model's arrays"):
            gating_serving_models.checked(stump | change, "rf", 3)


def unit_set(n: int = 150):
    """DATA's questions with vectors of length one, as an encoder gives them."""
    vectors = DATA.vectors / np.linalg.norm(DATA.vectors, axis=1, keepdims=True)
    return DATA._replace(vectors=vectors)


def test_vectors_of_another_length_are_refused_by_a_gate_of_unit_vectors(tmp_path):
    data = unit_set()
    gate = load(save(final_gate(data, 5, RULES[0], Grid(("lr",), (8,), constants=())), data, tmp_path / "gate.json", "minilm"))
    assert (gate.encoder, gate.norm) == ("minilm", pytest.approx(1))
    lists = {"H": [("a", 1.0)], "V": [("b", 0.5)]}
    assert decide(gate, "Who?", lists, data.vectors[0]).action in ("skip", "rerank")
    for wrong in (data.vectors[0] * 0.9, np.zeros(data.vectors.shape[1]), data.vectors[0] * 10):
        with pytest.raises(ValueError, match=r"has length .* those that the gate learned from 1.000; give that of the encoder .*\(minilm\)"):
            decide(gate, "Who?", lists, wrong)
    with pytest.raises(ValueError, match=r"numbers, got 3; give that of the encoder it was learned with \(minilm\)"):
        decide(gate, "Who?", lists, [1.0, 0.0, 0.0])


def test_a_gate_of_vectors_of_all_lengths_takes_any(tmp_path):
    gate = load(save(final_gate(DATA, 5, RULES[0], Grid(("lr",), (8,), constants=())), DATA, tmp_path / "gate.json"))
    assert np.isnan(gate.norm) and gate.encoder == ""
    decide(gate, "Who?", {"H": [("a", 1.0)], "V": [("b", 0.5)]}, 100 * DATA.vectors[0])


def test_the_student_travels_with_a_gate_that_falls_back_on_it_alone(tmp_path):
    n = len(graph_list_distilled.FEATURES)
    student = graph_list_distilled.Student(np.arange(1.0, n + 1), np.ones(n), 7)
    on_d, on_h = gate_of("lr", fallbacks=("D",)), gate_of("lr")
    read = load(save(on_d, DATA, tmp_path / "d.json", student=student))
    assert read.student.weights.tolist() == student.weights.tolist() and read.student.questions == 7 and read.fallback == "D"
    for gate in (load(save(on_h, DATA, tmp_path / "h.json", student=student)), load(save(on_d, DATA, tmp_path / "bare.json"))):
        assert gate.student is None
        with pytest.raises(ValueError, match="this gate holds no student: it falls back on"):
            gating_serving_decide.distilled_list(gate, pd.DataFrame())


@pytest.mark.parametrize("student", [{}, [], {"features": [], "questions": 3, "weights": [], "scale": []}, "student"])
def test_a_student_of_other_features_is_refused(student):
    from lib.gating_serving_parts import student_in

    with pytest.raises(ValueError, match="student: "):
        student_in(student)
