"""Promises of harm: thresholds by brute force, sizes by hand, and mean and chance kept on the known risk of 200 draws (SPEC 12)."""
import numpy as np
import pytest
from scipy.stats import binom

from lib import tables
from lib.declarations_gating_more import GATING_MORE
from lib.gating_conformal import METHODS, questions_needed, sizes_table, threshold_of, upper_harm
from lib.gating_conformal_check import known_scores, promises_table
from lib.gating_conformal_gates import conformal_gates
from lib.gating_inputs import permuted, question_sets
from lib.gating_nested import DECISIONS, outer_folds
from lib.gating_rivals_table import rivals_table
from lib.gating_simulated import simulated


@pytest.fixture
def declared(monkeypatch):
    for name, spec in GATING_MORE.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", METHODS)
def test_thresholds_by_brute_force(seed, method):
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 12, 90) / 12
    harm = rng.random(90) < 0.3 * p
    best = -np.inf
    for t in np.unique(p):  # fixed sequence: the first failure ends it
        harms = int(harm[p <= t].sum())
        passes = {"as seen": harms / 90 <= 0.06, "conformal": 90 / 91 * harms / 90 + 1 / 91 <= 0.06,
                  "high probability": binom.cdf(harms, 90, 0.06) <= 0.1}[method]
        if not passes:
            break
        best = t
    assert threshold_of(p, harm, 6.0, method) == best


def test_the_exact_test_is_clopper_and_pearsons_bound():
    for n in (50, 230, 400):
        for harms in range(6):
            assert (binom.cdf(harms, n, 0.02) <= 0.1) == (upper_harm(harms, n) <= 2.0 + 1e-9)
    assert upper_harm(5, 5) == 100.0


def test_one_point_needs_some_230_questions_without_a_harm(declared):
    assert 0.99**230 <= 0.1 < 0.99**229
    assert questions_needed(1.0, "high probability") == 230 and questions_needed(1.0, "conformal") == 99
    table = tables.check(sizes_table(), "gating_calibration_sizes")
    for r in table.itertuples():  # granted at that number, not one earlier
        outcome = np.arange(r.questions) < r.harms
        assert np.isfinite(threshold_of(np.zeros(r.questions), outcome, r.budget, r.method, r.delta))
        assert r.questions - 1 <= r.harms or not np.isfinite(threshold_of(np.zeros(r.questions - 1), outcome[: r.questions - 1], r.budget, r.method, r.delta))
    p, fewer = np.arange(229) / 229, np.zeros(229, bool)
    assert threshold_of(p, fewer, 1.0, "high probability") == -np.inf and threshold_of(p, fewer, 1.0, "conformal") == p[-1]


def test_what_no_rule_can_use_is_refused():
    for wrong in (("luck", 1.0, 0.1), ("conformal", -1.0, 0.1), ("conformal", 1.0, 0.0)):
        with pytest.raises(ValueError, match="method must be"):
            threshold_of(np.zeros(3), np.zeros(3, bool), wrong[1], wrong[0], wrong[2])
    assert threshold_of(np.zeros(0), np.zeros(0, bool), 1.0, "conformal") == -np.inf
    with pytest.raises(ValueError, match="budget"):
        questions_needed(0.0, "conformal")


def test_promises_are_kept_on_the_true_risk_of_200_draws(declared):
    made = tables.check(promises_table(*known_scores(2000, 300), (1.0, 2.0), (150, 300, 600), runs=200), "gating_promises")
    got = made.set_index(["method", "budget", "n"])
    assert got.loc["conformal", "kept"].all() and got.loc["high probability", "kept"].all() and got.loc["as seen", "kept"].isna().all()
    assert (got.loc["high probability", "violations"] <= 0.1 + 2.5 * (0.1 * 0.9 / 200) ** 0.5).all()
    # without a remedy the mean is broken, and conformal, which promises the mean alone, breaks its budget in many single draws
    assert (got.loc["as seen", "ci_low"] > got.loc["as seen"].index.get_level_values("budget")).sum() >= 4
    assert got.loc[("conformal", 2.0), "violations"].min() > 0.2
    assert got.loc[("high probability", 1.0, 150), "nothing"] == 1.0 and got.loc[("high probability", 1.0, 600), "nothing"] < 0.1
    # more certainty costs skips
    skips = made.pivot(index=["budget", "n"], columns="method", values="skip")
    assert (skips["as seen"] >= skips["conformal"]).all() and (skips["conformal"] > skips["high probability"]).all()


def test_a_planted_rule_that_looks_at_the_mean_alone_is_found_to_break_its_promise():
    made = promises_table(*known_scores(1500, 300), (2.0,), (150,), runs=200).set_index("method")
    assert made.loc["as seen", "violations_low"] > 0.1 > made.loc["high probability", "violations_low"]


@pytest.mark.parametrize("method", METHODS)
def test_conformal_gates_are_rivals_and_see_no_held_out_label(method, declared):
    data = question_sets(*simulated(200, seed=8)[:5])[0]
    decisions, log = conformal_gates(data, (2.0, 10.0), method, ks=(5,))
    tables.check(log.assign(tier="sample", method=method), "gating_conformal")
    assert list(decisions) == DECISIONS and len(decisions) == 400 and (log["n_learn"] + log["n_calibration"] == 160).all()
    table = rivals_table({method: decisions}, "sample", resamples=50).set_index("rule")
    assert table.loc["budget 10", "skip"] >= table.loc["budget 2", "skip"] and table.loc["budget 10", "skip"] > 0
    if method == "high probability":
        assert table.loc["budget 2", "skip"] == 0  # 80 calibration questions, 114 needed
    for fold, _, test in outer_folds(data[0])[:1]:
        other = conformal_gates([permuted(data[0], test)], (2.0, 10.0), method, ks=(5,))[0]
        before, after = (d[d["fold"] == fold] for d in (decisions, other))
        assert (before[["skip", "fallback", "p_harm"]].to_numpy() == after[["skip", "fallback", "p_harm"]].to_numpy()).all()


def test_conformal_gates_on_a_handful_or_without_harm():
    few = question_sets(*simulated(3, seed=1)[:5])[0]
    assert len(conformal_gates(few)[0]) == 3 * 3 * 3 and conformal_gates([])[0].empty
    with pytest.raises(ValueError, match="method"):
        conformal_gates([], method="luck")
