"""Halves, seeds and the published pooling of (seed, question) instances."""
import pandas as pd
import pytest

from lib import parts, summaries

ROWS = pd.DataFrame({"dataset": "d", "qid": ["a", "b", "c"], "half": [0, 1, 1], "f1": [1.0, 0.0, 0.5]})
DRAWN = ROWS[["dataset", "qid"]].assign(seeds=[[42, 13], [42], []])


def test_a_question_drawn_by_no_seed_is_in_the_halves_only():
    found = {name: sorted(rows["qid"]) for name, rows in parts.parts(ROWS, DRAWN)}
    assert found == {"all": ["a", "b", "c"], "0": ["a"], "1": ["b", "c"], "seed 13": ["a"], "seed 42": ["a", "b"], "instances": ["13:a", "42:a", "42:b"]}


@pytest.mark.parametrize("questions", [None, DRAWN.drop(columns="seeds"), DRAWN.assign(seeds=[[], [], []]), DRAWN.assign(seeds=[[42], [42], []])])
def test_without_two_seeds_there_is_nothing_beside_the_halves(questions):
    assert [name for name, _ in parts.parts(ROWS, questions)] == ["all", "0", "1"]


def test_data_sets_that_share_a_qid_stay_apart():
    two = pd.concat([ROWS, ROWS.assign(dataset="e")])
    found = dict(parts.parts(two, DRAWN))
    assert set(found["seed 42"]["dataset"]) == {"d"} and len(found["all"]) == 6


def test_contrasts_by_seed_and_by_instance_are_those_of_the_repeated_rows():
    rows = pd.concat([ROWS.assign(policy="x"), ROWS.assign(policy="y", f1=[0.0, 0.0, 1.0])])
    rows = rows.assign(pack_id="p", budget=9, reader="r", precision="fp32", answer_in_context=1, answer_defined=True)
    table = summaries.contrasts(rows, [("x", "y")], ["f1"], "t", 200, questions=DRAWN).set_index("half")
    assert table["delta"].to_dict() == pytest.approx({"all": 0.5 / 3, "0": 1.0, "1": -0.25, "seed 13": 1.0, "seed 42": 0.5, "instances": 2 / 3})
    assert table.loc["instances", ["n", "clusters", "wins", "losses"]].tolist() == [3, 3, 2, 0]
