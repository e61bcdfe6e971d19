"""What a packing run is told, checked before anything is packed."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import pack_ids
from lib.settings import CHOICES, check_budgets, check_policies, pack_id, reachable, setting, variations


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


def test_variations_leave_out_what_changes_nothing_and_what_no_list_serves(capsys):
    others = [{"scope": "pooled"}, {"depth": 10}, {"depth": 10}, {"ranker": "bm25"}]
    assert [pack_id(s) for s in variations(setting(scope="pooled"), others, BOTH)] == ["pooled-dense-10.chunk"]
    assert capsys.readouterr().out == ("1 of 3 changed settings are left out, since this run made no list for them: pooled-bm25-5.chunk (no list in a, b)\n")
    assert variations(setting(), [], BOTH) == []
    with pytest.raises(ValueError, match="others must be a list of changes"):
        variations(setting(), {"depth": 10}, BOTH)


@pytest.mark.parametrize("there", [BOTH, HALF, BOTH[:0]])
def test_a_ranker_that_there_is_not_is_an_error_and_one_that_did_not_rank_a_line(there, capsys):
    with pytest.raises(ValueError, match=r"others names ranker 'hybird', .*did you mean hybrid\?\); rankers are bm25, dense, hybrid, iterative, .*wordllama"):
        variations(setting(), [{"depth": 10}, {"ranker": "hybird"}], there)
    variations(setting(), [{"ranker": "wordllama"}, {"ranker": "iterative"}, {"ranker": "BAAI/bge-small-en-v1.5"}], BOTH)
    said = capsys.readouterr().out
    assert said.startswith("3 of 3 changed settings are left out, since this run made no list for them: own-wordllama-5.chunk (no list in a, b);")


def test_a_list_that_was_brought_is_a_ranker_of_this_run():
    mine = pd.concat([BOTH, BOTH.assign(ranker="mine")])
    assert [s["ranker"] for s in variations(setting(), [{"ranker": "mine"}], mine)] == ["mine"]
    assert reachable(setting(ranker="mine"), mine)["ranker"] == "mine"


def test_the_main_ranker_must_have_ranked():
    with pytest.raises(ValueError, match="setting names ranker 'dens', and there is none of that name .did you mean dense"):
        reachable(setting(ranker="dens"), BOTH)
    with pytest.raises(ValueError, match="setting names ranker 'bm25', which made no list in this run; rankers of this run are dense"):
        reachable(setting(ranker="bm25"), BOTH)


def test_zero_has_one_name_and_numpy_numbers_are_numbers():
    assert pack_id(setting(exponent=-0.0)) == pack_id(setting(exponent=0)) == "own-dense-5.chunk.r=0.0"
    assert pack_id(setting(weights=[1, -0.0, 0.4, 0.3])) == pack_id(setting(weights=[1, 0, 0.4, 0.3]))
    made = setting(depth=np.int64(10), cap=np.int32(3), alpha=np.float32(0.5))
    assert made == setting(depth=10, cap=3, alpha=0.5) and json.dumps(made)
    check_budgets([np.int64(64), 160], np.int64(64))


@pytest.mark.parametrize("change", [{"depth": 10**400}, {"alpha": 10**400}, {"depth": np.float64(5)}, {"depth": np.bool_(True)}, {"cap": float("nan")},
                                    {"exponent": float("inf")}, {"weights": [10**400, 0, 0, 0]}])
def test_a_number_that_no_table_holds_is_one_clear_error(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        setting(**change)


@pytest.mark.parametrize("name", ["tokenizer", "ranker"])
def test_no_name_can_pass_for_another_setting(name):
    with pytest.raises(ValueError, match=f"{name} must be a name without '='"):
        setting(**{name: "x.order=picked"})
    assert pack_id(setting(tokenizer="Qwen/Qwen2.5-3B-Instruct")).endswith(".tokens=Qwen/Qwen2.5-3B-Instruct")


@pytest.mark.parametrize("change", [{}, {"ranker": "my.ace"}, {"ranker": "x-5.ace.b"}, {"ranker": "a-5.ace-9"}, {"tokenizer": "Qwen/Qwen2.5-3B.ace"},
                                    {"scope": "pooled", "depth": 20, "cap": 3}, {"exponent": 0.0, "weights": [0, 1, 0, 0]}, {"ranker": "own/folder.v2-5.chunk"}])
@pytest.mark.parametrize("kind", CHOICES["representation"])
def test_the_name_of_a_pack_tells_its_representation(change, kind):
    name = pack_id(setting(representation=kind, **change))
    assert pack_ids.representation(name) == kind and pack_ids.on_graph(pd.Series([name, "none"])).tolist() == [kind == "ace", False]
