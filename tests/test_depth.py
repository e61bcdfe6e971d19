"""Depth: golden lists by hand, lib.grades as a peer, what can never happen, planted worlds whose truth is known, and lists that are no good."""
import math

import numpy as np
import pandas as pd
import pytest
from depth_world import planted

from lib import depth_choice, depth_cost, depth_table, grades, tables
from lib.declarations_depth import DEPTH
from lib.depth import DEPTHS, checked_depths, depth_rows, entered, graded, reordered

DRAWS = 400
NAMES = ("sample", "bm25", "planted")


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in DEPTH.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


def one(grade, score, gold, **more):
    """(lists, gold, questions) of one question; ``grade`` None: nobody judged it."""
    n = len(grade)
    lists = pd.DataFrame({"dataset": "d", "qid": "q", "rank": range(1, n + 1), "score": np.array(score, float),
            "grade": [math.nan if g is None else g for g in grade], **more})
    questions = pd.DataFrame([{"dataset": "d", "qid": "q", "slice": "s", "half": 0}])
    return lists, pd.DataFrame({"dataset": "d", "qid": "q", "grade": [float(g) for g in gold]}), questions


def brute(lists, gold, questions, d, m, form="exponential"):
    """Realised and ceiling nDCG@m by sorting lists in plain Python."""
    out = {}
    for q in questions["qid"]:
        rows = lists[lists["qid"] == q].sort_values("rank")
        grade, ideal = list(rows["grade"].fillna(0)), list(gold.loc[gold["qid"] == q, "grade"])
        order = sorted(range(min(d, len(grade))), key=lambda i: (math.isnan(rows["score"].iloc[i]), -np.nan_to_num(rows["score"].iloc[i]), i))
        best = sorted(grade[:d], reverse=True) + grade[d:]
        out[q] = (grades.ndcg_at([grade[i] for i in order] + grade[d:], ideal, m, form), grades.ndcg_at(best, ideal, m, form))
    return out


# --- by hand

def test_the_documents_buried_case_at_every_depth():
    made = depth_rows(*one([0, 0, 2, 0, 3], [0.10, 0.08, 0.91, 0.12, 0.98], [3, 2]), depths=(2, 3, 5), m=3).set_index("depth")
    assert made["base"].tolist() == pytest.approx([0.168676] * 3, abs=1e-6)  # METRIC_CASES, and document 001's audit
    assert made["ceiling"].tolist() == pytest.approx([0.168676, 3 / (7 + 3 / math.log2(3)), 1.0], abs=1e-6)
    assert made["realised"].tolist() == pytest.approx(made["ceiling"].tolist())
    assert made["coverage"].tolist() == [0.0, 0.5, 1.0] and made["complete"].tolist() == [0, 0, 1] and made["met"].tolist() == [0, 0, 1]


def test_the_grade_three_passage_removed():
    made = depth_rows(*one([0, 0, 2], [0.1, 0.2, 0.9], [3, 2]), depths=(3,), m=3).iloc[0]
    assert (made["base"], made["ceiling"], made["realised"]) == pytest.approx((0.168676, 0.337353, 0.337353), abs=1e-5)


def test_linear_gain_and_unjudged_and_negative_grades():
    made = depth_rows(*one([None, -1, 2, 0, 3], [5, 4, 3, 2, 1], [3, 2]), depths=(5,), m=3, form="linear").iloc[0]
    assert made["realised"] == pytest.approx(0.2346, abs=1e-4) and made["judged"] == pytest.approx(2 / 3)


def test_a_regression_shows_as_a_loss_and_newcomers_are_counted():
    lists, gold, questions = one([3, 2, 0, 0], [0.1, 0.2, 0.9, 0.3], [3, 2])
    made = depth_rows(lists, gold, questions, depths=(2, 4), m=2).set_index("depth")
    assert made["base"].tolist() == [1, 1] and made.loc[4, "realised"] == 0 and made.loc[4, "newcomers"] == 1 and made.loc[2, "newcomers"] == 0
    shares = entered(lists, questions, depths=(2, 4), m=2).set_index(["depth", "beyond"])["share"]
    assert shares.to_dict() == {(2, 0): 0.0, (4, 0): 1.0, (4, 2): 1.0}


def test_ties_keep_the_first_stage_and_their_bounds_are_told():
    made = depth_rows(*one([0, 1, 0], [0.5, 0.5, 0.5], [1]), depths=(3,), m=3).iloc[0]
    assert made["realised"] == made["base"] == pytest.approx(0.63093, abs=1e-5)
    assert (made["realised_worst"], made["realised_best"]) == pytest.approx((0.5, 1.0))


def test_what_has_no_score_stands_behind_what_has_one_and_is_counted():
    made = depth_rows(*one([1, 0, 0], [math.nan, -3.0, -2.0], [1]), depths=(1, 3), m=1).set_index("depth")
    assert made["realised"].tolist() == [1.0, 0.0] and made["unscored"].tolist() == [1, 1]
    assert reordered(np.array([[math.nan, 1.0, math.nan, 9.0]]), 3).tolist() == [[1, 0, 2, 3]]


def test_the_requirement_is_a_number_a_slice_or_all():
    given = one([1, 1, 0, 0], [4, 3, 2, 1], [1, 1, 1])
    assert [depth_rows(*given, depths=(4,), m=2, required=r)["met"].iat[0] for r in (None, 2, 1, 9, {"s": 2}, {"other": 1})] == [0, 1, 1, 0, 1, 0]


def test_no_gold_is_undefined_and_no_list_is_zero():
    lists, gold, questions = one([1, 0], [1, 2], [1])
    more = pd.concat([questions, questions.assign(qid="empty"), questions.assign(qid="unjudged")])
    gold = pd.concat([gold, gold.assign(qid="empty")])
    made = depth_rows(lists, gold, more, depths=(2,), m=2).set_index("qid")
    assert made.loc["empty", ["coverage", "base", "realised", "met", "pool", "exhausted"]].tolist() == [0, 0, 0, 0, 0, True]
    assert made.loc["unjudged", ["coverage", "complete", "base", "ceiling", "realised", "met"]].isna().all() and math.isnan(made.loc["empty", "newcomers"])


# --- what always holds

@pytest.mark.parametrize(("fooled", "seed"), [(0.0, 1), (0.5, 2), (2.0, 3)])
@pytest.mark.parametrize("m", [1, 5, 10])
def test_invariants(fooled, seed, m):
    lists, gold, questions = planted(n=30, noise=1.5, fooled=fooled, seed=seed)
    made = depth_rows(lists, gold, questions, depths=(3, 5, 10, 50, 200), m=m)
    for column in ("coverage", "ceiling", "complete", "pairs", "tokens"):
        assert (made.groupby("qid")[column].diff().fillna(0) >= -1e-12).all(), column
    assert (made["realised"] <= made["ceiling"] + 1e-12).all() and (made["base"] <= made["ceiling"] + 1e-12).all()
    assert (made["realised_worst"] <= made["realised"] + 1e-12).all() and (made["realised"] <= made["realised_best"] + 1e-12).all()
    for d in (3, 10, 200):
        expected = brute(lists, gold, questions, d, m)
        rows = made[made["depth"] == d].set_index("qid")
        assert np.allclose([expected[q] for q in rows.index], rows[["realised", "ceiling"]])


def test_headroom_of_lib_grades_at_depths_that_fill_the_cutoff():
    lists, gold, questions = planted(n=20, seed=4)
    made = depth_rows(lists, gold, questions, depths=(10, 50), m=10)
    for row in made.itertuples():
        pool = lists[(lists["qid"] == row.qid) & (lists["rank"] <= row.depth)].sort_values("rank")["grade"].tolist()
        peer = grades.headroom(pool, [1, 1], 10)
        assert (row.base, row.ceiling) == pytest.approx((peer.base, peer.ceiling))


def test_depth_of_the_pool_is_the_full_rerank_and_row_order_and_names_change_nothing():
    lists, gold, questions = planted(n=12, length=40, seed=5)
    made = depth_rows(lists, gold, questions, depths=(40, 400), m=10)
    assert made.loc[made["depth"] == 400, "realised"].tolist() == made.loc[made["depth"] == 40, "realised"].tolist()
    assert made.loc[made["depth"] == 400, "exhausted"].all() and not made.loc[made["depth"] == 40, "exhausted"].any()
    mixed = depth_rows(*(t.sample(frac=1, random_state=1) for t in (lists, gold, questions)), depths=(40, 400), m=10)
    pd.testing.assert_frame_equal(made, mixed)


def test_a_growing_function_of_the_score_changes_nothing():
    lists, gold, questions = planted(n=20, seed=6)
    made, again = (depth_rows(lists.assign(score=s), gold, questions) for s in (lists["score"], np.exp(lists["score"]) * 3))
    pd.testing.assert_frame_equal(made, again)


def test_the_types_of_tables_read_from_disk_change_nothing():
    lists, gold, questions = planted(n=12, length=20, seed=12)
    given = {"rank": "Int64", "score": "Float64", "grade": "Int64", "tokens": "Int64", "qid": "string", "dataset": "string", "half": "Int64", "slice": "string"}
    typed = [t.astype({c: k for c, k in given.items() if c in t}) for t in (lists, gold, questions)]
    typed[0]["grade"] = typed[0]["grade"].mask(typed[0]["grade"] == 0)  # missing: nobody judged it
    made, again = depth_rows(lists, gold, questions), depth_rows(*typed)
    pd.testing.assert_frame_equal(made.drop(columns="judged"), again.drop(columns="judged"), check_dtype=False)
    for found in (depth_choice.falls(again, *NAMES, resamples=50), depth_choice.sufficient(again, *NAMES, resamples=50)):
        assert len(found)


def test_graded_keeps_every_candidate():
    lists = pd.DataFrame({"dataset": "d", "qid": "q", "rank": [1, 2], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    gold = pd.DataFrame({"dataset": ["d", "d"], "qid": ["q", "q"], "doc_id": ["b", "c"], "grade": [1, 1]})
    assert graded(lists, gold)["grade"].fillna(-9).tolist() == [-9, 1]


@pytest.mark.parametrize(("change", "message"), [
    (lambda t: t.assign(score=np.inf), "infinite"), (lambda t: pd.concat([t, t.head(1)]), "breaks the sequence"), (lambda t: t.assign(rank=t["rank"] + 1),
    "breaks the sequence"),
    (lambda t: t.drop(columns="grade"), "columns .'grade'. are missing"), (lambda t: t.assign(qid="other"), "is not among the questions")])
def test_bad_lists_are_one_error(change, message):
    lists, gold, questions = one([1, 0], [1, 2], [1])
    with pytest.raises(ValueError, match=message):
        depth_rows(change(lists), gold, questions, depths=(2,), m=2)


@pytest.mark.parametrize("depths", [[], [0], [5, 5], [2.5]])
def test_bad_depths_are_refused(depths):
    with pytest.raises(ValueError, match="distinct whole numbers"):
        checked_depths(depths)


# --- tables

def test_the_table_is_whole_and_its_means_are_means():
    given = planted(n=40, seed=7)
    rows = depth_rows(*given)
    made = tables.check(depth_table.depth_table(rows, *NAMES, resamples=DRAWS), "depth")
    assert set(made["slice"]) == {"all", "easy", "hard"} and set(made["depth"]) == set(DEPTHS)
    at = made.set_index(["slice", "depth", "measure"])
    for measure in ("coverage", "realised", "tokens"):
        expected = rows[(rows["slice"] == "hard") & (rows["depth"] == 50)][measure].mean()
        assert at.loc[("hard", 50, measure), "estimate"] == pytest.approx(expected)
    gains = rows[rows["depth"] == 100]
    there = gains[gains["ceiling"] - gains["base"] > 1e-12]
    capture = (there["realised"] - there["base"]).sum() / (there["ceiling"] - there["base"]).sum()
    assert at.loc[("all", 100, "capture"), "estimate"] == pytest.approx(capture) and at.loc[("all", 100, "gain"), "p_value"] < 0.05
    made = tables.check(depth_table.entered_table(entered(*given[::2]), *NAMES, resamples=DRAWS), "depth_entered")
    assert (made.groupby(["slice", "depth"])["share"].diff().fillna(0) <= 1e-12).all(), "fewer come from farther"


def test_a_slice_without_a_judgement_has_rows_that_count_it():
    lists, gold, questions = planted(n=20, seed=8)
    gold = gold[~gold["qid"].isin(questions.loc[questions["slice"] == "hard", "qid"])]
    rows = depth_rows(lists, gold, questions, depths=(10, 20))
    made = depth_table.depth_table(rows, *NAMES, resamples=DRAWS)
    at = made[(made["slice"] == "hard") & (made["measure"] == "realised")]
    assert len(at) == 2 and at["estimate"].isna().all() and (at["undefined"] == 10).all()
    enough = tables.check(depth_choice.sufficient(rows, *NAMES, resamples=DRAWS), "depth_sufficient")
    fall = tables.check(depth_choice.falls(rows, *NAMES, resamples=DRAWS), "depth_falls")
    assert set(enough.loc[enough["slice"] == "hard", "verdict"]) == {"undefined"} and fall.set_index("slice").loc["hard", "verdict"] == "undefined"
    tables.check(depth_cost.cost_table(rows, *NAMES, prices={"pairs": 1.0}, resamples=DRAWS), "depth_cost")


# --- the smallest sufficient depth

def known(curve, n=200, spread=0.0, seed=0):
    """Rows whose realised mean at each depth is ``curve`` exactly, with the same noise of a question at all depths, and its own of ``spread``."""
    rng = np.random.default_rng(seed)
    base, own = rng.normal(0, 0.1, n), rng.normal(0, spread, (n, len(curve)))
    base, own = base - base.mean(), own - own.mean(0)
    return pd.concat([pd.DataFrame({"dataset": "d", "qid": [f"q{i:04d}" for i in range(n)], "slice": "s", "half": np.arange(n) % 2, "depth": d,
            "exhausted": False,
                                    "realised": value + base + own[:, k]}) for k, (d, value) in enumerate(curve.items())], ignore_index=True)


def smallest(rows, **options):
    return depth_choice.sufficient(rows, *NAMES, measures=("realised",), resamples=DRAWS, **options).iloc[0]


def test_the_smallest_depth_within_the_tolerance_is_found():
    curve = {5: 0.5, 10: 0.7, 20: 0.79, 50: 0.80}
    assert smallest(known(curve))[["depth", "depth_low", "depth_high", "best", "verdict"]].tolist() == [20, 20, 20, 50, "decided"]
    assert smallest(known(curve), tolerance=0.15)["depth"] == 10
    assert smallest(known({5: 0.5, 10: 0.7}))["verdict"] == "decided, still rising"


def test_a_depth_that_loses_to_not_reranking_says_so():
    rows = known({5: 0.5, 10: 0.7, 20: 0.7})
    assert smallest(rows.assign(base=0.9))["verdict"] == "decided, worse than the first stage" and smallest(rows.assign(base=0.4))["verdict"] == "decided"


def test_too_much_noise_or_too_few_questions_are_not_decided():
    curve = {5: 0.5, 10: 0.775, 20: 0.79, 50: 0.80}
    noisy = smallest(known(curve, n=60, spread=0.2))
    assert noisy["verdict"] == "not decided" and noisy["depth_low"] < noisy["depth_high"]
    assert smallest(known({5: 0.5, 10: 0.8, 20: 0.8}, n=100))["verdict"] == "not decided", "0.98 ** 100 is 13 %"
    assert smallest(known({5: 0.5, 10: 0.8, 20: 0.8}, n=149))["verdict"] == "decided"


def test_a_tolerance_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="tolerance"):
        smallest(known({5: 0.5, 10: 0.7}), tolerance=0)


def test_decided_depths_are_seldom_wrong():
    """Curves with one truly sufficient depth, seen through noise: among the decided, at most one in twenty is another one."""
    wrong = decided = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = np.array([0.5, 0.77, 0.79, 0.80])  # 20 suffices at 0.02, 10 does not
        rows = known(dict(zip((5, 10, 20, 50), truth + rng.normal(0, 0.008, 4))), n=160, spread=0.1, seed=seed)
        found = smallest(rows)
        decided += found["verdict"].startswith("decided")
        wrong += found["verdict"].startswith("decided") and found["depth"] != 20
    assert wrong <= 3


# --- quality that falls

def test_a_planted_fall_is_found_and_its_peak_is_the_right_one():
    found = tables.check(depth_choice.falls(depth_rows(*planted(n=160, fooled=0.3, seed=9)), *NAMES, resamples=DRAWS), "depth_falls").set_index("slice")
    assert set(found["verdict"]) == {"falls"} and found.loc["easy", "peak"] <= 20 and (found["depth"] == 200).all() and (found["ci_high"] < 0).all()


def test_a_monotone_world_has_no_fall():
    """With a perfect reranker realised equals ceiling, which cannot fall; with a good one it does not."""
    perfect = planted(n=100, noise=0.0, seed=10)
    assert set(depth_choice.falls(depth_rows(*perfect), *NAMES, resamples=DRAWS)["verdict"]) == {"no fall found"}
    rows = known({5: 0.5, 10: 0.6, 20: 0.7, 50: 0.72}, spread=0.1)
    assert set(depth_choice.falls(rows, *NAMES, resamples=DRAWS)["verdict"]) == {"no fall found"}


def test_chance_finds_a_fall_seldom():
    """A flat curve with noise, the hardest monotone one: choosing and testing on different halves keeps false alarms near half of 5 %, one-sided."""
    flat = [depth_choice.falls(known(dict.fromkeys((5, 10, 20, 50, 100, 200), 0.7), n=100, spread=0.2, seed=s), *NAMES,
            resamples=200)["verdict"].iat[0] for s in range(200)]
    assert 0 <= flat.count("falls") <= 13  # binomial, 5 %: 97.5 % quantile 16; nominal one-sided 2.5 %: mean 5


def test_choosing_and_testing_on_the_same_questions_would_alarm_more_often():
    alarms = 0
    for s in range(60):
        rows = known(dict.fromkeys((5, 10, 20, 50, 100, 200), 0.7), n=100, spread=0.2, seed=s)
        rng = np.random.default_rng(1000 + s)
        rows["realised"] += rng.normal(0, 0.02, 6)[np.searchsorted((5, 10, 20, 50, 100, 200), rows["depth"])]  # the sample's means scatter as they do
        peak, depth, _ = depth_choice.deepest_fall(depth_table.pivoted(rows, "realised").mean())
        wide = depth_table.pivoted(rows, "realised")
        alarms += (wide[depth] - wide[peak]).mean() < -1.96 * (wide[depth] - wide[peak]).std() / 10
    assert alarms > 9


# --- cost

def test_cost_by_hand():
    lists, gold, questions = planted(n=30, seed=11)
    rows = depth_rows(lists, gold, questions, depths=(10, 50), m=10)
    made = depth_cost.cost_table(rows, *NAMES, prices={"pairs": 2.0}, resamples=DRAWS).set_index(["slice", "depth", "against"])
    deep = rows[rows["depth"] == 50]
    gained, lost = int((deep["met"] > deep["met_base"]).sum()), int((deep["met"] < deep["met_base"]).sum())
    row = made.loc[("all", 50, "first stage")]
    assert (row["cost"], row["gained"], row["lost"]) == (100.0, gained, lost) and row["additional"] == pytest.approx((gained - lost) / 30)
    assert row["cost_per_success"] == pytest.approx(100 * 30 / (gained - lost)) and row["cost_low"] < row["cost_per_success"] < row["cost_high"]
    step = made.loc[("all", 50, "10")]
    assert step["cost"] == 80.0 and step["additional"] == pytest.approx(row["additional"] - made.loc[("all", 10, "first stage"), "additional"])


def test_no_additional_success_has_no_price_and_an_open_end_is_missing():
    zero = depth_cost.price_of(pd.Series([1.0, -1.0, 0.0]), pd.Series([1.0] * 3), list("abc"), DRAWS)
    assert zero[3] == 0 and all(math.isnan(v) for v in zero[9:12])
    unsure = depth_cost.price_of(pd.Series([1.0] + [0.0] * 9), pd.Series([1.0] * 10), list("abcdefghij"), DRAWS)
    assert unsure[9] == pytest.approx(10) and unsure[10] > 0 and math.isnan(unsure[11])
    assert depth_cost.price_of(pd.Series([math.nan]), pd.Series([1.0]), ["a"])[-1] == 0


@pytest.mark.parametrize("prices", [{}, {"pairs": 0}, {"pairs": -1.0}, {"minutes": 1.0}])
def test_bad_prices_are_refused(prices):
    with pytest.raises(ValueError, match="prices"):
        depth_cost.priced(pd.DataFrame({"pairs": [1]}), prices)
