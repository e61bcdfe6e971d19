"""What a packing run is told, checked before anything is packed."""
import pandas as pd
import pytest

from lib.settings import check_budgets, check_policies, pack_id, reachable, setting, variations


def lists(*where):
    return pd.DataFrame(where, columns=["dataset", "scope", "ranker"])


BOTH = lists(("a", "own", "dense"), ("a", "pooled", "dense"), ("b", "own", "dense"), ("b", "pooled", "dense"))
HALF = lists(("a", "own", "dense"), ("a", "pooled", "dense"), ("b", "pooled", "dense"))


@pytest.mark.parametrize("budgets", [[], 160, [0, 160], [160, 160], ["160"], [160.5], [True], None])
def test_budgets_are_distinct_whole_numbers(budgets):
    with pytest.raises(ValueError, match="budgets must be a list of distinct whole numbers of 1 or more, got .*main_budget 160"):
        check_budgets(budgets, 160)


def test_the_main_budget_is_one_of_the_budgets_and_the_error_names_both():
    check_budgets([32, 48, 64], 64)
    with pytest.raises(ValueError, match=r"main_budget 160 is not one of budgets \[32, 48, 64\]"):
        check_budgets([32, 48, 64], 160)


@pytest.mark.parametrize("policies", [[], "naive", ["naive", "naive"], ["knapsack"], [["naive"]]])
def test_policies_are_distinct_packing_rules(policies):
    check_policies(["naive", "gold"])
    with pytest.raises(ValueError, match="policies must be a list of distinct packing rules out of naive, focused"):
        check_policies(policies)


def test_a_set_without_own_lists_is_packed_from_all_passages_and_that_is_said(capsys):
    assert reachable(setting(), BOTH) == setting() and capsys.readouterr().out == ""
    assert reachable(setting(), HALF) == setting(scope="pooled")
    assert capsys.readouterr().out.startswith("no pools in b: every data set is packed from the lists over all passages")


def test_variations_leave_out_what_changes_nothing_and_what_no_list_serves():
    others = [{"scope": "pooled"}, {"depth": 10}, {"depth": 10}, {"ranker": "bm25"}]
    assert [pack_id(s) for s in variations(setting(scope="pooled"), others, BOTH)] == ["pooled-dense-10.chunk"]
    assert variations(setting(), [], BOTH) == []
    with pytest.raises(ValueError, match="others must be a list of changes"):
        variations(setting(), {"depth": 10}, BOTH)
