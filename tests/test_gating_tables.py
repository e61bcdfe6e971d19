"""The tables of the gate: golden cells by hand, the identity, bounds with known truth, peers on the same rows, and document 002's own arithmetic."""
import itertools

import numpy as np
import pandas as pd
import pytest

from lib import cross_encoder_quality, gating_checks, gating_optimism, stats, tables
from lib.declarations_gating import GATING
from lib.gate import skip_delta, within
from lib.gating_bound import auc_interval, lower_bound
from lib.gating_cells import always_table, cells
from lib.gating_choose import RULES
from lib.gating_cost import cost_table
from lib.gating_harm import ece_many, harm_table, reliability, rule_table
from lib.gating_inputs import question_sets
from lib.gating_models import Grid
from lib.gating_nested import nested
from lib.gating_outcomes import outcomes
from lib.gating_simulated import simulated

REFERENCE = tables.ROOT.parent / "shared" / "reference"
LR = Grid(("lr",), (0,))


@pytest.fixture
def declared(monkeypatch):
    for name, spec in GATING.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


@pytest.fixture(scope="module")
def sets():
    parts = [simulated(n, seed=i, dataset=f"set {i}") for i, n in enumerate((80, 60))]
    return [question_sets(s.lists, s.targets, s.questions, s.vectors, s.fit_distilled)[0][0] for s in parts]


@pytest.fixture(scope="module")
def run(sets):
    return nested(sets, grid=LR)


def by_hand():
    """Four questions of one cell: kept, harmful skip, beneficial skip, skip without consequence; two folds, with fallbacks H and D."""
    rows = [("q1", 0, 0.9, 0.8, False, "H", True, False, 0.0), ("q2", 0, 0.2, 0.3, True, "H", True, False, 1.0),
            ("q3", 1, 0.1, 0.1, True, "D", False, False, 1.0), ("q4", 1, 0.1, 0.2, True, "D", True, False, 1.0)]
    made = pd.DataFrame(rows, columns=["qid", "fold", "p_harm", "p_raw", "skip", "fallback", "rerank_hit", "h_hit", "d_hit"])
    choices = pd.DataFrame({"dataset": "s", "k": 5, "rule": "budget 1", "fold": [1, 0], "model": ["lr", "rf"], "label": ["rerank_helps", "fallback_has_gold"],
                            "inner_skip": [0.5, 0.7], "inner_delta": [-1.0, 0.0]})
    return made.assign(dataset="s", k=5, rule="budget 1"), choices


def test_a_cell_by_hand():
    row = cells(*by_hand(), "sample", resamples=200).iloc[0]
    assert (row["harmful"], row["beneficial"], row["delta"], row["skip"], row["n"]) == (1, 1, 0.0, 0.75, 4)
    assert (row["rerank"], row["gated"], row["fallbacks"], row["models"], row["labels"]) == (0.75, 0.75, "D/H", "rf/lr", "g/h")
    assert row["inner_skip"] == pytest.approx(0.6) and row["gap"] == pytest.approx(0.15) and (row["inner_low"], row["inner_high"]) == (0.5, 0.7)
    assert row["within"] and not row["surely_within"] and row["bound"] < 0


def test_harm_by_hand():
    row = harm_table(by_hand()[0], RULES, "sample", resamples=200).iloc[0]
    assert row["expected"] == pytest.approx(100 * (0.2 + 0.1 + 0.1) / 4) and row["realised"] == 25 and row["excess"] == pytest.approx(15)
    assert row["in_budget"] == False and row["harms"] == 2  # noqa: E712 - a missing value is no False
    assert row["auc_pooled"] == 1.0 and np.isnan(row["auc"])  # each fold has one kind alone
    assert row["ece"] == pytest.approx((abs(0.9 - 1) + abs(0.2 - 1) + abs(0.2 - 0)) / 4)


@pytest.mark.parametrize("skipped, p", [(26, 0.0237), (60, 0.01)])
def test_that_no_skip_did_harm_does_not_say_that_harm_is_surely_below_the_promise(skipped, p):
    # 0.62 and 0.60 harms are promised; if the promise is true, none comes in more than half of all runs, and no resample of these questions has one
    n = 151
    made = pd.DataFrame({"dataset": "s", "qid": [f"q{i:03d}" for i in range(n)], "k": 5, "rule": "budget 0.5", "fold": np.arange(n) % 5, "p_harm": p,
                         "p_raw": p, "skip": np.arange(n) < skipped, "fallback": "H", "rerank_hit": np.arange(n) >= n - 9, "h_hit": False, "d_hit": np.nan})
    row = harm_table(made, RULES, "sample", resamples=200).iloc[0]
    assert row["realised"] == 0 and row["excess"] == pytest.approx(-row["expected"])
    assert row["excess_low"] <= row["excess"] and row["excess_high"] == pytest.approx(100 * (1 - 0.025 ** (1 / n)) - row["expected"], abs=0.05)


def test_always_by_hand():
    row = always_table(by_hand()[0], "sample", resamples=200).iloc[0]
    assert (row["wins"], row["losses"], row["h"], row["d"], row["rerank"], row["delta"]) == (3, 0, 0, 0.75, 0.75, 75) and row["sign_p"] == 0.25


def test_reliability_by_hand():
    rows = reliability(by_hand()[0], "sample", resamples=50).query("form == 'calibrated'").set_index("bin")
    assert rows["count"].to_dict() == {b: {1: 2, 2: 1, 9: 1}.get(b, 0) for b in range(10)}
    assert rows.loc[[1, 2, 9], "harm"].tolist() == [0, 1, 1] and rows.loc[0, ["p_harm", "harm"]].isna().all()


@pytest.mark.parametrize("change, said", [(dict(fallback="oracle"), "cannot be run"), (dict(fallback=["H", "D", "D", "D"]), "changes within fold"),
                                          (dict(fallback="none"), "without a list"), (dict(d_hit=np.nan), "without a list")])
def test_a_fallback_that_cannot_be_run_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        outcomes(by_hand()[0].assign(**change))


def test_the_oracle_fallback_is_let_through_as_a_lesson_alone():
    made = outcomes(by_hand()[0].assign(fallback="oracle"), lesson=True)
    assert made["harmful"].sum() == 0 and made["beneficial"].sum() == 1


def test_delta_is_the_identity_and_the_difference_of_hit_rates_in_every_cell(run):
    found = cells(run.decisions, run.choices, "sample", resamples=100)
    assert len(found) == 2 * 3 * 4
    for r in found.itertuples():
        assert r.delta == skip_delta(r.beneficial, r.harmful, r.n) == pytest.approx(100 * (r.gated - r.rerank))
        assert r.within == within(r.delta) and r.bound <= r.delta and (not r.surely_within or r.within) and r.ci_low <= r.delta <= r.ci_high


def test_every_table_fits_its_declaration(run, sets, declared):
    c, h = cells(run.decisions, run.choices, "sample", 50), harm_table(run.decisions, RULES, "sample", 50)
    usage = pd.concat([pd.DataFrame({"dataset": s.dataset, "qid": s.qids, "tokens": 100, "seconds": 0.5}) for s in sets])
    found = {"decisions": run.decisions, "choices": run.choices.assign(tier="sample"), "tried": run.tried.assign(tier="sample"), "cells": c, "harm": h,
             "always": always_table(run.decisions, "sample", 50), "reliability": reliability(run.decisions, "sample", 50),
             "rules": rule_table(run.decisions, c, h, "sample", 50), "cost": cost_table(run.decisions, usage, {"tokens": 1.0}, "sample", resamples=50),
             "leaks": gating_checks.leak_table(sets[:1], {"never": lambda d, a, b: run.decisions.head(3)}, "sample", 1),
             "lossless": gating_checks.lossless_table(sets[:1], "sample", (5,), LR, resamples=50),
             "optimism": gating_optimism.optimism_table((50,), (1, 2), 3)}
    assert {f"gating_{name}" for name in found} == set(GATING)
    for name, table in found.items():
        assert len(tables.check(table, f"gating_{name}")) == len(table) > 0
    one = run.decisions["qid"] == run.decisions["qid"].iloc[0]
    tables.check(cells(run.decisions[one], run.choices, "sample", 50), "gating_cells")
    tables.check(harm_table(run.decisions[one], RULES, "sample", 50), "gating_harm")


def test_rules_add_up_their_cells(run):
    c, h = cells(run.decisions, run.choices, "sample", 50), harm_table(run.decisions, RULES, "sample", 50)
    made = rule_table(run.decisions, c, h, "sample", 500).set_index("rule")
    for rule, part in c.groupby("rule"):
        row = made.loc[rule]
        assert row["skip"] == pytest.approx(part["skip"].mean()) and row["delta"] == pytest.approx(part["delta"].mean()) and row["worst"] == part["delta"].min()
        assert row["skip_low"] <= row["skip"] <= row["skip_high"] and row["n"] == 140 and row["cells"] == 6
    assert made.loc["coverage", ["budget", "cells_in_budget"]].isna().all()


def test_the_lossless_figure_is_lossless_only_where_it_was_chosen_and_with_the_oracle(sets):
    found = gating_checks.lossless_table(sets, "sample", (1, 5), LR, resamples=50).set_index(["dataset", "k", "how"])
    for key in {i[:2] for i in found.index}:
        cell = found.loc[key]
        claimed, same = cell.loc[gating_checks.HELD_OUT], [cell.loc[gating_checks.SAME.format(f)] for f in "HD"]
        assert cell.loc[gating_checks.CLAIMED, "delta"] >= 0  # lossless by construction
        assert all(claimed["skip"] == s["skip"] and claimed["delta"] >= s["delta"] and claimed["harmful"] <= s["harmful"] for s in same)
    worst = found["delta"].groupby("how").mean()
    assert worst[gating_checks.CLAIMED] >= 0 > worst[gating_checks.HELD_OUT] > worst[gating_checks.SAME.format("H")]


# --- bounds and errors with known truth, and peers ------------------------------------------------------------------------------------------

def test_without_any_change_the_bound_is_the_exact_binomial_one():
    assert lower_bound(0, 0, 300) == pytest.approx(-100 * (1 - 0.05 ** (1 / 300)))


@pytest.mark.parametrize("benefit, harm, n", [(0.0, 0.01, 400), (0.02, 0.03, 400), (0.1, 0.12, 200), (0.0, 0.002, 500)])
def test_the_bound_lies_below_the_truth_in_95_of_100_samples(benefit, harm, n):
    draws = np.random.default_rng(0).multinomial(n, [benefit, harm, 1 - benefit - harm], 400)
    kept = np.mean([lower_bound(int(b), int(h), n) <= 100 * (benefit - harm) for b, h, _ in draws])
    assert kept >= 0.95 - 2.5 * (0.05 * 0.95 / 400) ** 0.5


def test_the_bound_falls_with_harm_and_rises_with_benefit_and_n():
    assert all(lower_bound(b, h, 50) > lower_bound(b, h + 1, 50) for b, h in itertools.product((0, 5), (0, 1, 9)))
    assert all(lower_bound(b + 1, h, 50) > lower_bound(b, h, 50) for b, h in itertools.product((0, 5), (1, 9)))
    assert lower_bound(4, 8, 400) > lower_bound(2, 4, 200) and lower_bound(0, 7, 7) == -100
    with pytest.raises(ValueError, match="level"):
        lower_bound(0, 0, 10, level=1.0)


def test_auc_equals_the_pairwise_share_and_its_interval_holds_the_truth():
    rng, inside = np.random.default_rng(1), 0
    for _ in range(200):
        happened = rng.random(120) < 0.3
        chance = rng.normal(size=120) + happened
        estimate, low, high = auc_interval(chance, happened)
        assert estimate == pytest.approx(cross_encoder_quality.pairwise_auc(chance, happened), abs=1e-12)
        inside += low <= 0.7602 <= high  # Phi(1 / sqrt 2)
    assert inside >= 180
    assert np.isnan(auc_interval(np.array([0.5, 0.6]), np.array([True, True]))).all()


def test_pooled_over_folds_a_constant_looks_worse_than_chance_and_within_folds_it_is_chance():
    rng = np.random.default_rng(4)
    harm, folds = rng.random(500) < 0.03, np.arange(500) % 5
    rate = np.array([harm[folds != f].mean() for f in range(5)])[folds]  # what a gate that learned nothing says
    assert auc_interval(rate, harm)[0] < 0.4 and auc_interval(rate, harm, folds)[0] == 0.5


def test_the_auc_within_folds_counts_the_pairs_of_a_fold_alone():
    rng = np.random.default_rng(5)
    chance, happened, folds = rng.integers(0, 9, 80) / 9, rng.random(80) < 0.3, np.arange(80) % 4
    pairs = [(a > b) + 0.5 * (a == b) for f in range(4) for a in chance[happened & (folds == f)] for b in chance[~happened & (folds == f)]]
    assert auc_interval(chance, happened, folds)[0] == pytest.approx(np.mean(pairs))
    inside = 0
    for _ in range(200):
        happened = rng.random(120) < 0.3
        _, low, high = auc_interval(rng.normal(size=120) + happened, happened, np.arange(120) % 5)
        inside += low <= 0.7602 <= high
    assert inside >= 180


def test_calibration_errors_equal_the_existing_one_with_its_interval():
    rng = np.random.default_rng(2)
    names, p = [f"q{i}" for i in rng.permutation(50)], rng.random((2, 50))
    happened = rng.random((2, 50)) < p
    together = ece_many(list(zip(p, happened)), [names, names], resamples=300)
    for mine, a, b in zip(together, p, happened):
        assert np.array(mine) == pytest.approx(np.array(cross_encoder_quality.ece(a, b, names, resamples=300)), nan_ok=True)
    holed = np.where(np.arange(50) < 10, np.nan, p[0])
    part = ece_many([(holed, happened[0])], [names], resamples=9)[0]
    assert part.n == 40 and part.estimate == pytest.approx(cross_encoder_quality.ece(p[0][10:], happened[0][10:], names[10:], resamples=9).estimate)


# --- cost ---------------------------------------------------------------------------------------------------------------------------------------

def test_averages_save_the_skip_rate_and_measured_counts_what_was_skipped():
    decisions, price = by_hand()[0], {"tokens": 2.0}
    even = cost_table(decisions, pd.DataFrame({"dataset": "s", "qid": ["x"], "tokens": [500.0]}), price, "sample", resamples=50).iloc[0]
    assert (even["counts"], even["measured"], even["saved"], even["skip"]) == ("per-call average", 0, 0.75, 0.75) and even["always_per_1k"] == 1.0
    counted = pd.DataFrame({"dataset": "s", "qid": ["q1", "q2", "q3", "q4"], "tokens": [700.0, 100.0, 100.0, 100.0], "seconds": [4.0, 1.0, 1.0, 1.0]})
    told = cost_table(decisions, counted, price, "sample", decision_seconds=0.5, resamples=50).iloc[0]
    assert told["saved"] == pytest.approx(0.3) and told["gated_per_1k"] == pytest.approx(0.35) and told["counts"] == "measured"
    assert (told["always_seconds"], told["gated_seconds"]) == (1.75, 1.5)
    with pytest.raises(ValueError, match="prices"):
        cost_table(decisions, counted, {"pairs": 1.0}, "sample")


# --- selection optimism ---------------------------------------------------------------------------------------------------------------------------

def test_platt_scaling_of_many_scores_equals_that_of_each():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 400))
    y = rng.random(400) < 1 / (1 + np.exp(2 - x[0]))
    for mine, scores in zip(gating_optimism.platt_many(x, y), x):
        assert mine == pytest.approx(cross_encoder_quality.platt(scores, y, scores)[0], abs=2e-4)
    assert (gating_optimism.platt_many(x, np.zeros(400, bool)) == 0).all()


def test_optimism_grows_with_the_grid_and_shrinks_with_n_and_the_bare_rule_is_a_coin_toss():
    found = gating_optimism.optimism_table((250, 1500), (1, 32), runs=60)
    got = found.set_index(["rule", "n", "grid", "quantity"])["estimate"]
    for rule in ("coverage", "budget 1"):
        assert got[rule, 250, 32, "optimism"] > got[rule, 250, 1, "optimism"] + 0.2
        assert got[rule, 250, 32, "optimism"] > got[rule, 1500, 32, "optimism"] + 0.2
    for n in (250, 1500):
        assert 0.25 < got["coverage", n, 1, "held_out_passes"] < 0.75 and got["coverage", n, 32, "held_out_passes"] < got["coverage", n, 1, "held_out_passes"]
        assert got["coverage", n, 1, "bound_passes"] < 0.25
        assert got["coverage", n, 1, "promised"] >= -1
    pd.testing.assert_frame_equal(found[found["n"] == 250].reset_index(drop=True), gating_optimism.optimism_table((250,), (1, 32), runs=60))


# --- document 002's own arithmetic ----------------------------------------------------------------------------------------------------------------

def reference(name):
    path = REFERENCE / f"gating_{name}.csv"
    if not path.exists():
        pytest.skip("the reference tables (../shared/reference) are not on this machine")
    return pd.read_csv(path, comment="#")


SIZES = {"2Wiki": 491, "MuSiQue": 514, "HotpotQA": 521}


@pytest.mark.parametrize("name", ["coverage_rule", "loss_budget_cells"])
def test_published_deltas_are_beneficial_minus_harmful_over_n(name):
    for r in reference(name).itertuples():
        delta = skip_delta(r.beneficial, r.harmful, SIZES[r.dataset])
        assert round(delta, 2) == pytest.approx(r.delta_pp) and within(delta) == (r.within_1pp == "yes")
        if name == "loss_budget_cells":
            assert round(100 * r.harmful / SIZES[r.dataset], 2) == pytest.approx(r.realised_harm)
        else:
            assert 100 * (r.gated - r.always_rerank) == pytest.approx(r.delta_pp, abs=0.011)


def test_published_wins_and_losses_give_deltas_and_sign_tests():
    for r in reference("always_rerank").itertuples():
        assert round(100 * (r.wins - r.losses) / SIZES[r.dataset], 1) == r.delta_pp
        p = stats.sign_test(r.wins, r.losses)
        assert p == pytest.approx(r.p, rel=0.02) if r.p else p == pytest.approx(2.44e-4, rel=1e-3)  # printed as 0.000


def test_published_gaps_are_held_out_minus_inner_to_rounding():
    for r in reference("inner_vs_heldout").itertuples():
        assert r.gap == pytest.approx(r.held_out - r.inner, abs=0.11) and r.range_low <= r.inner <= r.range_high


def test_published_costs_save_the_skip_rate_only_where_averages_stand_in():
    for r in reference("cost").itertuples():
        assert r.gated_per_1k == pytest.approx(r.always_per_1k * (1 - r.cost_saved_pct / 100), abs=0.0011)
        assert (r.cost_saved_pct == r.skip_pct) == (r.tokens == "per-call average")


def test_the_missing_hotpotqa_cells_follow_from_the_averages():
    cells_, rule = reference("coverage_rule"), reference("loss_budget").query("rule == 'coverage rule'").iloc[0]
    assert (rule["harmful"] - cells_["harmful"].sum(), rule["beneficial"] - cells_["beneficial"].sum()) == (55, 38)
    assert 9 * rule["skip_pct"] - cells_["skip_pct"].sum() == pytest.approx(218.6)
    assert 9 * rule["delta_pp"] - cells_["delta_pp"].sum() == pytest.approx(skip_delta(38, 55, 521), abs=9 * 0.005 + 0.04)


@pytest.mark.parametrize("harmed, n, low, high", [(0, 7, 0.0, 0.4096), (0, 70, 0.0, 0.0513), (3, 3, 0.2924, 1.0)])
def test_a_bin_without_a_single_harm_is_not_surely_harmless(harmed, n, low, high):
    """No resample of nothing differs: the exact (Clopper-Pearson) interval stands in."""
    rows = pd.DataFrame({"dataset": "a", "qid": [f"q{i}" for i in range(n)], "k": 5, "rule": "budget 1", "fold": 0, "p_harm": 0.24, "p_raw": 0.24, "skip": False,
                         "fallback": "H", "rerank_hit": True, "h_hit": harmed == 0, "d_hit": np.nan})
    found = reliability(rows, "sample", resamples=50).query("form == 'calibrated' and count > 0").iloc[0]
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((low, high), abs=1e-4) and found["questions"] == n
