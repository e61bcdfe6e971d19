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
