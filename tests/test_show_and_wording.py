"""What a reader sees: tables that render the same bytes each time, sentences that say what the numbers say."""
import pandas as pd
import pytest

from lib import show, wording


def test_a_table_renders_the_same_bytes_twice_and_marks_truth():
    table = pd.DataFrame({"text": ["a", "b"], "share": [0.123, None], "gold": [True, False]})
    first, second = (show.rows(table).to_html() for _ in range(2))
    assert first == second and first.count("●") == 1 and "0.12" in first and "nan" not in first.lower()


def test_an_undefined_truth_value_is_left_empty():
    table = pd.DataFrame({"last": pd.array([True, pd.NA, False], dtype="boolean")})
    assert show.rows(table).to_html().count("●") == 1


def test_other_content_gets_another_id_so_that_styles_do_not_leak():
    one, two = (show.rows(pd.DataFrame({"x": [v]})).to_html() for v in (1.0, 2.0))
    assert one.split('id="T_')[1][:8] != two.split('id="T_')[1][:8]


@pytest.mark.parametrize("low, high, said", [(0.01, 0.05, "wins"), (-0.05, -0.01, "loses"), (-0.01, 0.02, "is undecided"), (0.0, 0.1, "is undecided")])
def test_a_verdict_follows_the_interval_not_the_point(low, high, said):
    assert wording.verdict(low, high) == said


def test_percent_and_points():
    assert wording.percent(0.456) == "46 %" and wording.points(-0.0123) == "-1.2 points"


def packing_table(naive: float, submod: float) -> pd.DataFrame:
    rows = [("ondrell", p, "answer_in_context_defined", v) for p, v in {"naive": naive, "focused": 0.3, "mmr": 0.3, "submod": submod}.items()]
    return pd.DataFrame([*rows, ("ondrell", "naive", "answer_in_pool", 0.8)], columns=["dataset", "policy", "measure", "estimate"])


def test_the_survival_sentence_names_whichever_packer_kept_most():
    assert "best kept: naive packing, 75 %" in wording.survival_answer(packing_table(0.6, 0.4), 160)
    assert "best kept: submodular packing, 75 %" in wording.survival_answer(packing_table(0.4, 0.6), 160)
