import numpy as np
import pandas as pd
import pytest

from lib import policy_table

PACKS = {"chunk": "own-dense-5.chunk", "ace": "own-dense-5.ace"}


def outcomes(sets=("a", "b"), n=6) -> pd.DataFrame:
    rows = []
    for dataset in sets:
        for i in range(n):
            for pack, policies in ((PACKS["chunk"], ("submod", "focused", "oracle")), (PACKS["ace"], ("submod", "focused", "oracle")), ("none", ("closed_book",))):
                for policy in policies:
                    read = i < n - 1  # the last question is not read
                    f1 = {"submod": 0.5, "focused": 0.25}.get(policy, 0.1) + (pack == PACKS["ace"]) * 0.2
                    rows.append({"dataset": dataset, "qid": f"q{i}", "pack_id": pack, "policy": policy, "budget": 0 if pack == "none" else 160,
                                 "reader": "mine" if read else "none", "precision": "fp32" if read else "none", "em": f1 if read else np.nan,
                                 "f1": f1 if read else np.nan, "answer_in_context": int(policy == "submod"), "answer_defined": i > 0,
                                 "gold_coverage": 1.0, "all_gold_in_context": 1.0, "n_tokens": 150 if policy == "submod" else 152})
    return pd.DataFrame(rows)


def arms(**settings):
    return policy_table.arms(outcomes(**settings), PACKS, 160, "mine")


def test_a_question_counts_once_whoever_read_it():
    twice = pd.concat([outcomes(), outcomes().assign(reader="other", em=0.9, f1=0.9)])
    pd.testing.assert_frame_equal(policy_table.arms(twice, PACKS, 160, "mine").reset_index(drop=True), arms().reset_index(drop=True))
    assert not arms().duplicated(["dataset", "qid", "policy"]).any()
    assert set(arms()["policy"]) == {"submod", "focused", "oracle", "ace_submod", "ace_focused", "closed_book"}


def test_means_are_those_over_the_questions_that_have_a_value():
    table = policy_table.policy_table(arms(), "sample", resamples=100).set_index(["dataset", "policy", "measure"])
    assert table.loc[("a", "submod", "f1"), ["estimate", "n", "undefined"]].tolist() == [0.5, 5, 1]
    assert table.loc[("all", "ace_focused", "f1"), ["estimate", "n"]].tolist() == [pytest.approx(0.45), 10]
    assert table.loc[("all", "submod", "answer_in_context_defined"), ["estimate", "n", "undefined"]].tolist() == [1.0, 10, 2]
    assert table.loc[("all", "submod", "n_tokens"), "n"] == 12  # what needs no reader is known of every question


def test_one_data_set_is_not_pooled_with_itself():
    assert set(policy_table.policy_table(arms(sets=("a",)), "sample", resamples=100)["dataset"]) == {"a"}


def test_pooled_contrasts_weigh_questions_not_sets():
    rows = policy_table.arms(pd.concat([outcomes(("a",), 11), outcomes(("b",), 2).assign(f1=0.5)]), PACKS, 160, "mine")
    found = policy_table.policy_contrasts(rows, [("submod", "focused")], "real", resamples=200).set_index(["dataset", "treatment", "control", "metric"])
    assert found.loc[("all", "submod", "focused", "f1"), "n"] == 11
    assert found.loc[("all", "submod", "focused", "f1"), "delta"] == pytest.approx(0.25 * 10 / 11)
    assert found.loc[("all", "submod", "focused", "n_tokens"), "delta"] == -2
    assert ("all", "ace_submod", "ace_focused", "f1") in found.index and ("all", "tuned", "submod", "f1") not in found.index


def test_an_arm_against_itself_is_zero():
    found = policy_table.policy_contrasts(arms(), [("submod", "submod")], "real", resamples=100)
    same = found[found["control"] == found["treatment"]]
    assert len(same) and not same[["delta", "ci_low", "ci_high"]].to_numpy().any()


def test_wide_puts_the_best_reading_first_and_keeps_the_published_columns():
    made = policy_table.wide(policy_table.policy_table(arms(), "sample", resamples=100), "all")
    assert made.index[0] == "ace_submod" and list(made) == list(policy_table.MEASURES)


def test_a_budget_that_was_not_packed_is_named():
    with pytest.raises(ValueError, match=r"at budget 96; there are budgets \[0, 160\]"):
        policy_table.arms(outcomes(), PACKS, 96, "mine")
