"""The form of answers: precision and recall that make up F1, length, abstention; kept without text and without loss."""
import random

import pandas as pd
import pytest

from lib import ladder_forms, scores
from lib.scoring import RULES, score_answer
from lib.tables import TableError

WORDS = ["Edda", "Sorrel", "the", "river", "Marl", "yes", "no", "1,204", "eels", "unknown", ""]


def test_golden_forms():
    form = ladder_forms.form
    assert form("Edda Sorrel", ["Edda Sorrel"], "hotpotqa") == (2, 1.0, 1.0, 0)
    assert form("It was Edda Sorrel, who painted eels", ["Edda Sorrel"], "hotpotqa") == (7, 2 / 7, 1.0, 0)  # a sentence: precision is lost, recall is not
    assert form("Sorrel", ["Edda Sorrel"], "hotpotqa") == (1, 1.0, 0.5, 0)
    assert form("yes, it is", ["yes"], "hotpotqa") == (3, 0.0, 0.0, 0)  # a closed answer is right or wrong
    assert form("", ["Edda"], "hotpotqa") == (0, 0.0, 0.0, 1) and form("the", ["Edda"], "hotpotqa") == (0, 0.0, 0.0, 1)
    assert form("Marl", ["Sorrel", "the Marl"], "ondrell") == (1, 1.0, 1.0, 0)


@pytest.mark.parametrize("rule", RULES)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(rule):
    rng = random.Random(7)
    for _ in range(300):
        golds = [" ".join(rng.choices(WORDS[:9], k=rng.randint(1, 4))) for _ in range(1 if rule == "hotpotqa" else rng.randint(1, 3))]
        said = " ".join(rng.choices(WORDS, k=rng.randint(0, 5)))
        made, (_, f1) = ladder_forms.form(said, golds, rule), score_answer(said, golds, rule)
        p, r = made.answer_precision, made.answer_recall
        assert (2 * p * r / (p + r) if p + r else 0.0) == pytest.approx(f1), (said, golds, made)


def test_abstention_is_declining_and_not_a_right_or_wrong_answer():
    yes = ["", "  ", "unknown", "Unknown.", "None", "N/A", "I don't know", "Not mentioned", "not specified in the passages", "The passage does not say.",
           "It is not mentioned in the context", "cannot be determined from the text", "No answer"]
    no = ["no", "yes", "nobody", "Unknown Pleasures", "Northumberland", "0", "not Edda", "noon"]
    assert [ladder_forms.abstains(t) for t in yes] == [True] * len(yes) and [ladder_forms.abstains(t) for t in no] == [False] * len(no)
    assert ladder_forms.form("unknown", ["unknown"], "hotpotqa").abstains == 0  # it may be the answer


def answers(texts=("Edda Sorrel", "unknown", None), reader="r", precision="fp32"):
    rows = pd.DataFrame({"dataset": "hotpotqa", "qid": ["a", "b", "c"], "prompt_hash": ["h1", "h2", "h3"], "prediction": texts})
    return rows.assign(reader=reader, precision=precision)


QUESTIONS = pd.DataFrame({"dataset": "hotpotqa", "qid": ["a", "b", "c"], "answers": [["Sorrel"], ["Marl"], ["eels"]]})


def test_text_gives_a_form_and_no_text_gives_a_committed_one_or_none():
    made = ladder_forms.with_forms(answers(), QUESTIONS)
    assert made["words"].tolist()[:2] == [2, 1] and made["abstains"].tolist()[:2] == [0, 1] and made.loc[2, ladder_forms.COLUMNS].isna().all()
    known = pd.DataFrame([("hotpotqa", "c", "h3", 4, 0.25, 1.0, 0, "0a")], columns=[*scores.KEY, *ladder_forms.COLUMNS]).set_index(scores.KEY)
    again = ladder_forms.with_forms(answers(), QUESTIONS, known)
    assert again.loc[2, ladder_forms.COLUMNS].tolist() == [4, 0.25, 1.0, 0, "0a"] and again.loc[0, "words"] == 2


def test_equal_answers_to_one_question_have_one_digest_whoever_gave_them():
    digest = ladder_forms.digest
    assert digest("d", "q", "The Marl.") == digest("d", "q", "marl") != digest("d", "q", "sorrel") and digest("d", "q", "marl") != digest("d", "p", "marl")
    assert len(digest("d", "q", "marl")) == 8


def test_committed_forms_come_back_and_hold_no_text(tmp_path):
    made = ladder_forms.with_forms(answers(), QUESTIONS)
    (path,) = ladder_forms.export(made, "real", tmp_path)
    assert path.name == "real-r-fp32.csv" and "Sorrel" not in path.read_text() and "unknown" not in path.read_text()
    silent = ladder_forms.with_forms(answers((None, None, None)), QUESTIONS, ladder_forms.committed(tmp_path))
    pd.testing.assert_frame_equal(silent[ladder_forms.NUMBERS], made[ladder_forms.NUMBERS], atol=1e-5)
    assert silent["said"][:2].tolist() == made["said"][:2].tolist()


def test_a_second_export_loses_no_row_and_the_same_rows_give_the_same_bytes(tmp_path):
    made = ladder_forms.with_forms(answers(), QUESTIONS)
    first, second = made.iloc[:1], made.iloc[1:]
    ladder_forms.export(first, "real", tmp_path)
    (path,) = ladder_forms.export(second, "real", tmp_path)
    whole = path.read_bytes()
    assert len(ladder_forms.committed(tmp_path)) == 2
    ladder_forms.export(made, "real", tmp_path)
    assert path.read_bytes() == whole


def test_a_file_cut_short_and_a_key_twice_are_refused(tmp_path):
    made = ladder_forms.with_forms(answers(), QUESTIONS)
    (path,) = ladder_forms.export(made, "real", tmp_path)
    ladder_forms.export(made, "sample", tmp_path)
    with pytest.raises(TableError, match="stands twice"):
        ladder_forms.committed(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError, match="cut short"):
        ladder_forms.committed(tmp_path)
    assert ladder_forms.committed(tmp_path / "none").empty


@pytest.mark.parametrize(("old", "new"), [("1.0", "much"), ("1.0", "7.5"), ("1.0", "-0.5"), ("1.0", "inf"), ("1.0", ""), ("dataset,", "set,"),
                                          (None, b"\xff\xfe\x00"), (None, b""), (None, b'"open')])
def test_a_damaged_file_is_one_error_that_names_it_and_is_not_written_over(tmp_path, old, new):
    made = ladder_forms.with_forms(answers(), QUESTIONS)
    (path,) = ladder_forms.export(made, "real", tmp_path)
    path.write_bytes(new if old is None else path.read_bytes().replace(old.encode(), new.encode(), 1))
    damaged = path.read_bytes()
    with pytest.raises(TableError, match="real-r-fp32.csv: .*git checkout"):
        ladder_forms.committed(tmp_path)
    with pytest.raises(TableError, match="real-r-fp32.csv: .*git checkout"):
        ladder_forms.export(made, "real", tmp_path)
    assert path.read_bytes() == damaged


def test_no_accepted_answer_is_an_error_that_names_the_question_and_an_unanswerable_one_has_a_form():
    with pytest.raises(ValueError, match="question 'b' of hotpotqa: rule 'hotpotqa' needs at least one gold answer, got none; mend answers"):
        ladder_forms.with_forms(answers(), QUESTIONS.assign(answers=[["Sorrel"], [], ["eels"]]))
    with pytest.raises(ValueError, match="answer to question 'b' of hotpotqa, which is not in table questions"):
        ladder_forms.with_forms(answers(), QUESTIONS[QUESTIONS["qid"] != "b"])
    with pytest.raises(ValueError, match="question 'a' of hotpotqa stands twice"):
        ladder_forms.with_forms(answers(), pd.concat([QUESTIONS, QUESTIONS[:1]]))
    assert ladder_forms.form("Marl", [], "squad2") == (1, 0.0, 0.0, 0) and ladder_forms.form("", [], "squad2") == (0, 1.0, 1.0, 0)


def test_no_answers_have_no_forms():
    made = ladder_forms.with_forms(answers()[:0], QUESTIONS)
    assert made.empty and list(made)[-5:] == ladder_forms.COLUMNS
