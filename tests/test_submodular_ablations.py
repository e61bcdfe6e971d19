"""The objective taken apart: the same packs as the packing tables, differences that are known, and verdicts that follow from them."""
import json

import numpy as np
import pandas as pd
import pytest
from small_world import Letters, words, world

from lib import ablation_table, charts, evidence, figures, packers, packing, submodular, tables
from lib.ablation_table import MEASURES, confirmed, full_alone
from lib.submodular_ablations import CHANGES, COLUMNS, FAMILIES, PUBLISHED, laid_out, pack_changes, policy_of
from lib.submodular_optimal import COLUMNS as POOLS
from lib.submodular_optimal import against_optimum, optimality, over_sets

MAIN = packing.setting(tokenizer="words", min_tokens=1)
SOME = {"without relevance": {"weights": [0, 0.5, 0.4, 0.3]}, "cap 1": {"cap": 1}, "exponent 0.0": {"exponent": 0.0},
        "alpha 1.0": {"alpha": 1.0}, "lambda 0.3": {"lam": 0.3}}


@pytest.fixture(autouse=True)
def count_words(monkeypatch):
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: words)


def bench(**other):
    return packing.Bench(*world(**other), Letters(), cache=None)


def made_up(effects, n=60, dataset="d", seed=0, base=0.5):
    """Rows as ``pack_changes`` makes them; each change turns the answer's fate in a known share of questions: name -> (rule, gained, or lost where below 0)."""
    draw = np.random.default_rng(seed)
    kept, rows = draw.random(n) < base, []
    for name, (policy, share) in effects.items():
        value = kept.copy()
        pool = np.flatnonzero(~kept if share > 0 else kept)
        value[pool[:round(abs(share) * n)]] = share > 0
        rows += [(dataset, f"q{i:03}", i % 2, policy, name, int(value[i]), True, 0.5, 0.0, 100) for i in range(n)]
    return pd.DataFrame(rows, columns=COLUMNS)


def cell(table, **where):
    rows = table[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("budget", [8, 30])
def test_what_survives_is_what_the_packing_tables_say(budget):
    laid_out = bench()
    rows = pack_changes(laid_out, MAIN, SOME, budget).set_index(["change", "policy"]).sort_index()
    seen = 0
    for name, change in {PUBLISHED: {}, **{k: v for k, v in SOME.items() if "alpha" not in v and "lam" not in v}}.items():
        told = packing.pack_all(laid_out, packing.setting(**{**MAIN, **change}), ["naive", "focused", "mmr", "submod"], [budget])["survival"]
        for policy in (("submod", "naive", "focused", "mmr") if name == PUBLISHED else ("submod",)):
            mine, theirs = rows.loc[(name, policy)].set_index("qid").sort_index(), told[told["policy"] == policy].set_index("qid").sort_index()
            for column in ("answer_in_context", "answer_defined", "gold_coverage", "all_gold_in_context", "n_tokens"):
                np.testing.assert_array_equal(mine[column].astype(float), theirs[column].astype(float))
                seen += 1
    assert seen == 35 and rows["n_tokens"].gt(0).any() and rows["gold_coverage"].isna().any()


def test_alpha_lambda_and_greedy_reach_the_packers():
    c = next(c for q, c, _ in laid_out(bench(), MAIN) if q.qid == "q1")
    rows = pack_changes(bench(), MAIN, {"lambda 0.0": {"lam": 0.0}, "both greedies": {"greedy": "both"}}, 30)
    for name, policy, told in (("lambda 0.0", "mmr", {"lam": 0.0}), ("both greedies", "submod", {"greedy": "both"})):
        tokens = rows[(rows["change"] == name) & (rows["qid"] == "q1")]["n_tokens"].item()
        assert tokens == sum(int(c.costs[i]) for i, _ in packers.picked(c, policy, 30, **told))


def test_every_change_on_offer_is_a_setting_of_one_rule():
    assert len(CHANGES) == sum(len(f) for f in FAMILIES.values()) >= 30
    for change in CHANGES.values():
        assert policy_of(change) in ("submod", "mmr") and packing.pack_id(packing.setting(**change)) != packing.pack_id(packing.setting())
    for wrong in ({"depth": 3}, {}, {"lam": 0.5, "cap": 2}):
        with pytest.raises(ValueError, match="settings of one rule"):
            policy_of(wrong)


def test_a_known_effect_is_found_with_its_sign_and_a_change_of_nothing_is_0():
    packed = made_up({PUBLISHED: ("submod", 0), "cap 2": ("submod", -0.2), "alpha 0.5": ("submod", 0), "both greedies": ("submod", 0.1)}, 200)
    table = tables.check(ablation_table.ablation_table(packed, "sample", 2000), "objective_ablations")
    at = {"dataset": "d", "half": "all", "measure": MEASURES[0], "control": PUBLISHED}
    worse, same, better = (cell(table, change=c, **at) for c in ("cap 2", "alpha 0.5", "both greedies"))
    assert worse["delta"] == pytest.approx(-0.2) and worse["ci_high"] < 0 and (worse["wins"], worse["losses"]) == (0, 40) and worse["p_holm"] < 0.05
    assert better["delta"] == pytest.approx(0.1) and better["ci_low"] > 0
    assert (same["delta"], same["ci_low"], same["ci_high"], same["p_value"]) == (0, 0, 0, 1)
    family = table[(table["half"] == "all") & (table["measure"] == MEASURES[0])]
    assert (family["p_holm"] >= family["p_value"]).all() and len(family) == 3
    assert worse["p_holm"] == pytest.approx(3 * worse["p_value"])  # the smallest of three


def test_data_sets_are_pooled_with_every_question_once_and_a_single_one_is_not():
    effects = {PUBLISHED: ("submod", 0), "cap 2": ("submod", -0.1)}
    two = pd.concat([made_up(effects, 60, "a"), made_up(effects, 20, "b", seed=1)])
    table = ablation_table.ablation_table(two, "real", 500)
    n = table[(table["half"] == "all") & (table["measure"] == MEASURES[0])].set_index("dataset")["n"].to_dict()
    assert n == {"a": 60, "b": 20, "all": 80}
    assert cell(table, dataset="all", half="all", measure=MEASURES[0])["delta"] == pytest.approx(-8 / 80)
    assert set(ablation_table.ablation_table(made_up(effects), "real", 500)["dataset"]) == {"d"}
    shuffled = ablation_table.ablation_table(two.sample(frac=1, random_state=3), "real", 500)
    pd.testing.assert_frame_equal(shuffled, table)


def test_submod_is_set_beside_heuristics_and_mmr_beside_itself():
    packed = made_up({PUBLISHED: ("submod", 0), "cap 2": ("submod", -0.1)})
    packed = pd.concat([packed, made_up({PUBLISHED: ("focused", 0.1)}), made_up({PUBLISHED: ("mmr", 0), "lambda 0.5": ("mmr", -0.05)})])
    table = ablation_table.ablation_table(packed, "real", 500)
    pairs = set(table[table["measure"] == MEASURES[0]][["policy", "change", "control"]].itertuples(index=False, name=None))
    assert pairs == {("submod", "cap 2", PUBLISHED), ("submod", "cap 2", "focused"), ("submod", "cap 2", "mmr"), ("submod", PUBLISHED, "focused"),
                     ("submod", PUBLISHED, "mmr"), ("mmr", "lambda 0.5", PUBLISHED)}
    assert cell(table, half="all", change="cap 2", control="focused", measure=MEASURES[0])["delta"] == pytest.approx(-0.2)


@pytest.mark.parametrize(("left_out", "words_of_it", "others"), [(-0.3, "only the full objective wins", 0), (0.0, "others win too", 4)])
def test_does_only_the_full_objective_win(left_out, words_of_it, others):
    effects = {PUBLISHED: ("submod", 0)} | {name: ("submod", left_out) for name in FAMILIES["leave one out"]}
    packed = pd.concat([made_up(effects, 120), made_up({PUBLISHED: ("focused", -0.2)}, 120)])
    row = cell(full_alone(ablation_table.ablation_table(packed, "real", 1000)), control="focused")
    assert (row["verdict"], row["others_win"], row["left_out"]) == (words_of_it, others, 4) and row["fall_below"] == (4 if left_out else 0)
    beaten = pd.concat([made_up(effects, 120), made_up({PUBLISHED: ("focused", 0.2)}, 120)])
    assert cell(full_alone(ablation_table.ablation_table(beaten, "real", 1000)), control="focused")["verdict"] == "the full objective does not win"


def test_a_change_is_chosen_on_one_half_and_judged_on_the_other():
    packed = made_up({PUBLISHED: ("submod", 0), "cap 2": ("submod", 0), "cap 3": ("submod", 0)}, 100)
    lucky = (packed["change"] == "cap 2") & (packed["half"] == 0)
    real = (packed["change"] == "cap 3") & (packed["half"] == 1)
    packed.loc[lucky, "answer_in_context"] = 1
    packed.loc[real, "answer_in_context"] = 1
    row = confirmed(ablation_table.ablation_table(packed, "real", 500)).iloc[0]
    assert row["change"] == "cap 2" and row["delta_chosen"] > 0 and row["delta"] == 0 and row["n"] == 50


def test_nothing_to_look_at_gives_rows_of_nothing_or_no_rows():
    packed = made_up({PUBLISHED: ("submod", 0), "cap 2": ("submod", -0.1)}, 6)
    nothing = packed.assign(answer_defined=False, gold_coverage=np.nan, all_gold_in_context=np.nan)
    table = tables.check(ablation_table.ablation_table(nothing, "own", 100), "objective_ablations")
    none = table[table["measure"] != "n_tokens"]
    assert none["delta"].isna().all() and (none["n"] == 0).all() and set(none[none["half"] == "all"]["undefined"]) == {6}
    assert confirmed(table).empty and full_alone(table).empty
    one = ablation_table.ablation_table(packed[packed["qid"] == "q000"], "own", 100)
    assert set(one["half"]) == {"all", "0"} and one["ci_low"].isna().all()
    empty = ablation_table.ablation_table(packed.iloc[:0], "own", 100)
    assert empty.empty and full_alone(empty).empty and confirmed(empty).empty
    alone = ablation_table.ablation_table(packed[packed["change"] == PUBLISHED], "own", 100)
    assert alone.empty and tables.check(alone, "objective_ablations") is not None


def test_own_data_without_gold_keeps_its_questions():
    questions, gold, documents, pools, rankings = world()
    rows = pack_changes(packing.Bench(questions, gold.iloc[:0], documents, pools, rankings, Letters(), cache=None), MAIN, SOME, 30)
    assert rows["gold_coverage"].isna().all() and set(rows["qid"]) == set(questions["qid"])
    tables.check(ablation_table.ablation_table(rows, "own", 100), "objective_ablations")


def test_the_optimum_of_small_pools_and_the_certificate_of_all():
    rows = against_optimum(bench(), MAIN, 30)
    assert set(rows["qid"]) == {"q1", "q2", "q3", "q4", "q5"}  # the sixth has no pool
    small = rows[rows["optimum"].notna()]
    assert len(small) and (small["F"] <= small["optimum"] + 1e-12).all() and rows["certificate"].between(0, 1).all()
    wide = rows.pivot(index="qid", columns="rule", values="F")
    assert (wide["both"] >= wide[["ratio", "unit cost"]].max(axis=1) - 1e-12).all()
    table = tables.check(optimality(over_sets([rows, rows.assign(dataset="other")]), "sample", 200), "optimality").set_index(["dataset", "rule", "quantity"])
    assert table.loc[("all", "ratio", "certified"), "n"] == 10 and set(table.index.unique("dataset")) == {"ondrell", "other", "all"}
    assert table.loc[("ondrell", "both", "optimal"), "estimate"] >= table.loc[("ondrell", "ratio", "optimal"), "estimate"]
    assert table.loc[("ondrell", "ratio", "certified"), "estimate"] == pytest.approx(rows[rows["rule"] == "ratio"]["certificate"].mean())


def test_optimality_of_pools_that_are_all_large_or_worth_nothing():
    rows = pd.DataFrame([("d", f"q{i}", 20, "ratio", 1.0, np.nan, 0.8) for i in range(4)], columns=POOLS)
    assert optimality(rows, "own", 100)["quantity"].tolist() == ["certified"]
    worthless = rows.assign(F=0.0, optimum=0.0, certificate=1.0)
    assert optimality(worthless, "own", 100).set_index("quantity").loc[["optimal", "of_optimum", "least_of_optimum"], "estimate"].tolist() == [1, 1, 1]
    assert optimality(rows.iloc[:0], "own", 100).empty


def test_the_published_packs_did_not_move():
    """The engine is new, the published arm frozen: relevance per token, the bonus of new terms and documents, worked by hand."""
    f = submodular.objective([0.5, 0.25, 0.25], [[1, 0], [0, 1], [1, 0]], np.eye(3), [0, 0, 1])
    first = [0.5 + 0.25 + 0.4 / 3 + 0.3 * np.sqrt(0.5) / (np.sqrt(0.75) + 0.5), 0.25 + 0.25 + 0.4 / 3 + 0.3 * 0.5 / (np.sqrt(0.75) + 0.5)]
    assert submodular.gains(f, [])[:2] == pytest.approx(first)
    assert submodular.gains(f, [0])[1] == pytest.approx(0.25 + 0.25 + 0.4 / 3 + 0.3 * (np.sqrt(0.75) - np.sqrt(0.5)) / (np.sqrt(0.75) + 0.5))
    assert [i for i, _ in submodular.greedy(f, [10, 4, 4], 14)] == [1, 2] and [i for i, _ in submodular.greedy(f, [10, 9, 9], 19)] == [0, 1]


def test_no_data_set_has_no_optimum():
    assert list(over_sets([])) == POOLS and over_sets([]).empty
    assert tables.check(optimality(over_sets([]), "sample", 200), "optimality").empty


def test_the_figure_names_the_change_and_its_title_counts_what_holm_leaves():
    effects = {PUBLISHED: ("submod", 0), "without relevance": ("submod", -0.4), "exponent 0.0": ("submod", 0)}
    drawn = ablation_table.to_draw(ablation_table.ablation_table(made_up(effects, 120), "real", 1000))
    assert drawn["label"].tolist() == ["no relevance", "exponent 0"] and set(drawn["treatment"]) == {"changed"}
    assert ablation_table.finding(drawn) == "Of 2 changes to the objective 1 keeps fewer answers (no relevance); for 1 no change is shown"
    chart = figures.forest(drawn, tier="real", finding=ablation_table.finding(drawn), holm=True).to_dict()
    text = json.dumps(chart, ensure_ascii=False)
    assert "− as published\"" in text and "no relevance − as published" not in text and "filled where p after Holm" in text
    filled = {v["label"]: v["fill"] != charts.PAPER for rows in chart["datasets"].values() for v in rows if "label" in v}
    assert filled == {"no relevance": True, "exponent 0": False}
    assert ablation_table.finding(drawn.assign(p_holm=0.2)) == "None of 2 changes to the objective is shown to keep more or fewer answers"
    nothing = ablation_table.to_draw(ablation_table.ablation_table(made_up(effects, 120).iloc[:0], "real", 100))
    assert nothing.empty and "not drawn" in json.dumps(figures.drawn(figures.forest, nothing, tier="real").to_dict())
