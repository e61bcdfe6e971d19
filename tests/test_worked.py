"""Which question a notebook shows, whatever the data lack."""
import pandas as pd
import pytest

from lib import worked


@pytest.mark.parametrize(("hops", "shown"), [([1, 2, 3], "q1"), ([None, 1, 1], "q1"), ([None, None, None], "q0")])
def test_the_question_shown_is_the_richest_there_is(hops, shown):
    questions = pd.DataFrame({"dataset": "own_x", "qid": ["q0", "q1", "q2"], "n_hops": pd.array(hops, dtype="Int64")})
    assert worked.chain_question(questions)["qid"] == shown
    undefined = pd.DataFrame({"dataset": "own_x", "qid": ["q0"], "pack_id": "p", "policy": "topk", "budget": 2, "answer_defined": [False], "answer_in_context": [0]})
    assert worked.telling_question(questions, undefined, "p", 2)["qid"] == shown
    assert worked.alone(undefined, ["topk"], 2).empty


def test_before_any_packer_the_sample_shows_the_question_on_which_its_packers_part():
    questions = pd.DataFrame({"dataset": ["own_x", "ondrell"], "qid": ["q0", worked.SHOWN["ondrell"]], "n_hops": pd.array([3, 2], dtype="Int64")})
    assert worked.shown_question(questions)["qid"] == worked.SHOWN["ondrell"]
    assert worked.shown_question(questions.iloc[:1])["qid"] == "q0"


def test_the_question_named_is_the_one_that_notebook_02_finds():
    from lib import packing, tables

    try:
        questions, survived = tables.read_all("sample", "questions", "survival")
    except ValueError as reason:
        pytest.skip(str(reason))
    chosen = worked.telling_question(questions, survived[survived["policy"] != "tuned"], packing.pack_id(packing.setting(tokenizer="smollm2-135m")), 160)
    assert worked.SHOWN[chosen["dataset"]] == chosen["qid"], "the packers part on another question now: name it in lib.worked.SHOWN"


def test_without_a_question_there_is_none_to_show():
    none = pd.DataFrame({"dataset": [], "qid": [], "n_hops": []})
    for shown in (worked.chain_question, worked.shown_question):
        with pytest.raises(ValueError, match="no question to show: table questions holds no row"):
            shown(none)
