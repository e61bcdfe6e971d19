"""What a reader sees: tables that render the same bytes each time, sentences that say what the numbers say."""
import pandas as pd
import pytest

from lib import show, wording, wording_stages


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
    said = wording.survival_answer(packing_table(0.2, 0.1), 160)
    assert ("10 % of the questions still have it after submodular packing into 160 tokens (12 % of those retrieved) and 20 % after naive packing "
            "(25 % of those retrieved) (most after the focused heuristic, 30 %).") in said
    assert "most after" not in wording.survival_answer(packing_table(0.6, 0.4), 160), "one of the two named already is the best"


def test_arms_that_were_not_run_are_not_missed():
    assert wording.compared(["gold", "mmr", "naive"]) == ["naive", "mmr"] and wording.lead(["gold", "mmr", "naive"]) == "naive"
    assert wording.compared(["closed_book", "topk", "gold"]) == ["topk"] and wording.compared(["gold"]) == ["gold"]
    with pytest.raises(ValueError, match="at least one packing rule"):
        wording.compared(["closed_book"])


def test_the_survival_sentence_copes_with_fewer_packers_and_with_no_defined_answer():
    table = packing_table(0.6, 0.4)
    assert "60 % of the questions still have it after naive packing into 160 tokens (75 % of those retrieved)" in wording.survival_answer(table[table["policy"] == "naive"], 160)
    assert "no question has an answer whose survival is defined" in wording.survival_answer(table.assign(estimate=float("nan")), 160)
    assert "no answer was retrieved" in wording.survival_answer(table.assign(estimate=0.0), 160)


def test_the_reading_sentence_names_the_arms_that_were_read():
    table = pd.DataFrame({"dataset": "own_x", "reader": "r", "measure": "f1", "policy": ["closed_book", "topk"], "estimate": [0.1, 0.2]})
    assert wording.reading_answer(table, "r") == "On own_x r scores F1 0.10 closed book, and 0.20 on contexts of top-k documents."


def test_the_loss_sentence_copes_with_one_side_and_with_none():
    stages = pd.DataFrame({"dataset": "own_x", "slice": "all", "outcome": "em", "pack_id": "p", "budget": 160, "reader": "r", "precision": "fp32", "policy": "mmr",
                           "stage": ["corpus", "pool", "context", "read"], "order": [1, 2, 3, 4], "share": [1, 1, 0.5, 0]})
    split = pd.DataFrame({"dataset": "own_x", "reader": "r", "measure": "f1", "holds": [1], "estimate": [0.25]})
    assert wording_stages.loss_answer(stages, split, "r").endswith("0 are answered exactly from the context. Over the packers compared, mean F1 is 0.25 where the answer stands in the context.")
    assert "no chain of losses" in wording_stages.loss_answer(stages.iloc[:0], split, "r")


def test_the_retrieval_sentence_copes_with_one_scope_and_without_gold():
    table = pd.DataFrame({"dataset": "own_x", "ranker": "dense", "scope": ["pooled"], "estimate": [0.5], "n": [4]})
    assert wording.retrieval_answer(table) == "On own_x a dense top 5 holds every gold passage for 50 % of 4 questions when it searches all passages."
    assert "no question has gold passages" in wording.retrieval_answer(table.assign(estimate=float("nan")))


def test_counts_have_no_decimals_and_shares_keep_theirs():
    html = show.rows(pd.DataFrame({"n": [1092.0, None], "share": [1.0, 0.0], "f1": [0.5, 1.0]}), 3).to_html()
    assert ">1,092<" in html and ">1.000<" in html and ">0.500<" in html and "1092.000" not in html


def test_the_survival_sentence_has_its_counts_intervals_and_the_paired_difference():
    table = packing_table(0.2, 0.1).assign(n=165, ci_low=lambda t: t["estimate"] - 0.05, ci_high=lambda t: t["estimate"] + 0.05)
    versus = pd.DataFrame([("ondrell", 160, "all", "answer_in_context_defined", "submod", "naive", -0.1, -0.15, -0.05)],
                          columns=["dataset", "budget", "half", "metric", "treatment", "control", "delta", "ci_low", "ci_high"])
    said = wording.survival_answer(table, 160, versus)
    assert "(165 span questions) the answer was retrieved for 80 % [75, 85]" in said and "20 % [15, 25] after naive packing" in said
    assert said.endswith("submodular packing is -10.0 points [-15.0, -5.0] from naive packing and is behind.")
    assert "cannot be told from it" in wording.survival_answer(table, 160, versus.assign(ci_high=0.1))
    assert "Question by question" not in wording.survival_answer(table, 96, versus)


def test_the_retrieval_sentence_has_the_paired_difference_of_the_scopes():
    table = pd.DataFrame({"dataset": "own_x", "ranker": "dense", "scope": ["own", "pooled"], "estimate": [0.8, 0.7], "ci_low": [0.75, 0.6], "ci_high": [0.85, 0.8], "n": 200})
    between = pd.DataFrame([("own_x", "dense", -0.1, -0.15, -0.05)], columns=["dataset", "ranker", "delta", "ci_low", "ci_high"])
    said = wording.retrieval_answer(table, between)
    assert "for 80 % [75, 85] of 200 questions" in said and "70 % [60, 80] when" in said and "difference -10.0 points [-15.0, -5.0], question by question" in said


def test_small_p_values_and_minus_zero_are_told_as_they_are_known():
    html = show.rows(pd.DataFrame({"delta": [-0.0001, 0.25], "p_holm": [0.00005, 1.0]}), 3).to_html()
    assert "&lt;0.001" in html or "<0.001" in html
    assert ">0.000<" in html and "-0.000" not in html and ">1.000<" in html and ">0.250<" in html


def test_a_wide_table_keeps_its_intervals_and_stars_what_holms_p_decides():
    table = pd.DataFrame({"policy": ["b", "b", "a"], "measure": ["x", "y", "x"], "delta": [0.02, -0.1, None], "ci_low": [0.01, -0.2, None], "ci_high": [0.03, 0.0, None],
                          "p_holm": [0.01, 0.2, None]})
    wide = show.intervals(table, ["policy"], "measure", "delta", scale=100, precision=1, signed=True, holm="p_holm")
    assert wide.to_dict("list") == {"policy": ["b", "a"], "x": ["+2.0 [+1.0, +3.0] *", ""], "y": ["-10.0 [-20.0, 0.0]", ""]}
