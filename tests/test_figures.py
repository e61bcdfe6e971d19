"""Figures by name: each is drawn from the rows that can be drawn, and a note stands where there are none."""
import json

import pandas as pd
import pytest

from lib import figures

NAN = float("nan")


def curve(**values):
    rows = [("own_x", p, b, "all", m, 0.5, 0.4, 0.6, 10, "t") for p in ("naive", "submod", "topk") for b in (64, 160) for m in ("answer_in_pool", "answer_in_context_defined")]
    return pd.DataFrame(rows, columns=["dataset", "policy", "budget", "half", "measure", "estimate", "ci_low", "ci_high", "n", "tier"]).assign(**values)


AGAINST = pd.DataFrame(columns=["dataset", "half", "budget", "treatment", "control", "delta", "ci_low", "ci_high"])


def text_of(chart):
    return json.dumps(chart.to_dict())


def test_where_no_answer_is_defined_a_note_stands_for_the_curve():
    assert "not drawn" in text_of(figures.survival_curves(curve(estimate=NAN, ci_low=NAN, ci_high=NAN), AGAINST, 160, "t"))


@pytest.mark.parametrize(("policies", "said"), [(["naive", "topk"], "With 160 tokens, naive carries"), (["topk"], "With 160 tokens, topk carries"), (["naive", "submod"], "submod carries")])
def test_the_curve_copes_with_absent_packers(policies, said):
    table = curve()
    assert said in text_of(figures.survival_curves(table[table["policy"].isin(policies)], AGAINST, 160, "t"))


def test_one_question_has_no_interval_and_no_figure():
    table = curve(ci_low=NAN, ci_high=NAN)
    assert "not drawn" in text_of(figures.drawn(figures.dot_rows, table, measure="answer_in_pool", tier="t"))
    assert "not drawn" in text_of(figures.each_set(figures.waterfall, table.iloc[:0], tier="t"))
    deltas = pd.DataFrame({"metric": ["f1"], "delta": [0.1], "ci_low": [NAN], "ci_high": [NAN]})
    assert "not drawn" in text_of(figures.forests(deltas, ["f1"], 0.02, "t"))


def test_conditional_means_keep_rows_with_both_sides():
    table = pd.DataFrame({"dataset": ["a", "a", "b"], "reader": "r", "precision": "fp32", "measure": "f1", "holds": [0, 1, 1], "estimate": 0.5, "ci_low": 0.4, "ci_high": 0.6})
    assert figures.both_sides(table)["dataset"].tolist() == ["a", "a"]


def test_a_budget_that_holds_no_snippet_gives_a_note_for_the_example():
    none = pd.DataFrame(columns=["policy", "snippet_id"])
    assert "no packer keeps a snippet within 2 tokens" in text_of(figures.example("Who?", "she", pd.DataFrame({"snippet_id": ["a"]}), none, budget=2, tier="t"))
