"""Mediation: least squares by another road, statsmodels' mediation, planted truths, coverage, and a confounder that no estimate on these rows can see."""
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats as distributions
from statsmodels.stats.mediation import Mediation

from lib import bootstrap, summaries, tables
from lib.mediation import QUANTITIES, differences, mediation, moments, paths
from lib.planted import planted

DRAWS = 300
LARGE = pd.DataFrame({"dataset": "d", "qid": [f"q{i:05d}" for i in range(20_000)]})


def asked(n):
    return LARGE.head(n)


def effects(rows, pairs=(("new", "old"),), mediators=("answer_in_context",), resamples=DRAWS, **more):
    found = mediation(rows, pairs, "t", mediators, ("f1",), resamples, **more)
    assert len(tables.check(found, "mediation")) == len(found)
    return found.set_index("quantity")


def test_least_squares_by_statsmodels_on_the_same_differences():
    rows, _ = planted(asked(300), interaction=0.1, worth=0.3, seed=3)
    change, middle, delta = differences(rows, "new", "old", "f1", "answer_in_context")
    fit = sm.OLS(delta, np.column_stack([np.ones(300), change, middle - middle.mean()])).fit()
    found = effects(rows)["estimate"]
    assert found[["direct", "b", "interaction"]].tolist() == pytest.approx(fit.params.tolist())
    assert found["a"] == pytest.approx(change.mean()) and found["indirect"] == pytest.approx(change.mean() * fit.params[1])


def test_agrees_with_the_causal_mediation_of_statsmodels_with_a_term_for_each_question():
    """Imai, Keele and Tingley: mean of the two indirect effects, exactly from the fitted models and up to its error from their simulation."""
    rows, _ = planted(asked(40), moved=0.4, lost=0.1, interaction=0.1, worth=0.3, seed=0)
    data = rows.assign(x=(rows["policy"] == "new").astype(int), m=rows["answer_in_context"], y=rows["f1"], who=rows["qid"].astype("object"))
    outcome, mediator = sm.OLS.from_formula("y ~ x * m + C(who)", data), sm.OLS.from_formula("m ~ x + C(who)", data)
    found, fitted, a = effects(rows)["estimate"], outcome.fit().params, mediator.fit().params["x"]
    assert found["indirect"] == pytest.approx(a * (fitted["m"] + fitted["x:m"] / 2)) and found["interaction"] == pytest.approx(fitted["x:m"])
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = Mediation(outcome, mediator, "x", "m").fit(n_rep=20).summary()["Estimate"]
    assert found["indirect"] > 0.1 and summary["ACME (average)"] == pytest.approx(found["indirect"], abs=0.04)
    assert summary["ADE (average)"] == pytest.approx(found["direct"], abs=0.05)


@pytest.mark.parametrize("world", [{}, {"interaction": 0.15, "worth": 0.3}, {"worth": 0.0, "direct": 0.05}, {"moved": 0.0}, {"direct": -0.03, "worth": 0.3}])
def test_what_was_planted_is_found(world):
    rows, truth = planted(LARGE, seed=11, **world)
    found = effects(rows)
    error = (found["ci_high"] - found["ci_low"]) / 3.92
    for quantity, value in truth.items():
        assert abs(found.loc[quantity, "estimate"] - value) < 3.5 * error[quantity] + 1e-9, quantity
    assert abs(found.loc["misfit", "estimate"]) < 3.5 * error["misfit"]
    if truth["total"] > 0.04:
        assert found.loc["share", "estimate"] == pytest.approx(truth["indirect"] / truth["total"], abs=0.15)


def test_comparing_questions_misleads_where_comparing_within_questions_does_not():
    rows, truth = planted(LARGE, seed=2)
    gap = rows.groupby("answer_in_context")["f1"].mean().diff().iloc[-1]
    assert gap > truth["b"] + 0.05 and effects(rows)["estimate"]["b"] == pytest.approx(truth["b"], abs=0.03)


def test_a_confounder_within_the_question_biases_by_what_it_adds_and_shows_in_no_check():
    """The bridge passage comes along with the answer half the time: b is too high by half of what the bridge adds, and misfit stays 0."""
    rows, truth = planted(LARGE, bridge=0.2, worth=0.3, seed=4)
    found = effects(rows)
    assert found.loc["b", "estimate"] == pytest.approx(truth["b"] + 0.5 * 0.2, abs=0.02) and found.loc["b", "ci_low"] > truth["b"]
    assert found.loc["indirect", "ci_low"] > truth["indirect"] and found.loc["direct", "estimate"] < truth["direct"]
    assert found.loc["total", "ci_low"] < truth["total"] < found.loc["total", "ci_high"]
    assert found.loc["misfit", "ci_low"] < 0 < found.loc["misfit", "ci_high"]


def test_95_per_cent_intervals_cover_about_95_per_cent():
    """200 worlds of 200 questions; the bounds are what a binomial of 200 at 95 % leaves in 999 of 1,000 cases."""
    hits = dict.fromkeys(("indirect", "direct", "total"), 0)
    for seed in range(200):
        rows, truth = planted(asked(200), seed=1_000 + seed)
        made = moments(*differences(rows, "new", "old", "f1", "answer_in_context"))
        drawn = paths(bootstrap.resample_totals(made, np.arange(200), 300, seed)[1])
        for quantity in hits:
            low, high = np.quantile(drawn[quantity], [0.025, 0.975])
            hits[quantity] += low <= truth[quantity] <= high
    low, high = distributions.binom.interval(0.999, 200, 0.95)
    assert all(low <= n <= high for n in hits.values()), hits


@pytest.mark.parametrize("seed", range(3))
def test_total_is_indirect_and_direct_in_every_resample(seed):
    rows, _ = planted(asked(80), seed=seed)
    for mediator in ("answer_in_context", "gold_coverage"):
        made = moments(*differences(rows, "new", "old", "f1", mediator))
        drawn = paths(bootstrap.resample_totals(made, np.arange(80), 50, 0)[1])
        assert drawn["indirect"] + drawn["direct"] == pytest.approx(drawn["total"], abs=1e-12)


def test_total_is_the_contrast_over_questions_with_a_defined_mediator():
    rows, _ = planted(asked(90), seed=6)
    rows["answer_defined"] = ~rows["qid"].isin([f"q{i:05d}" for i in range(0, 90, 9)])
    rows.loc[rows["qid"] == "q00001", "gold_coverage"] = np.nan
    found = mediation(rows, [("new", "old")], "t", resamples=DRAWS).query("outcome == 'f1' and quantity == 'total'").set_index("mediator")
    assert found["undefined"].to_dict() == {"answer_in_context": 10, "gold_coverage": 1} and found["n"].to_dict() == {"answer_in_context": 80, "gold_coverage": 89}
    contrast = summaries.contrasts(rows[rows["answer_defined"]], [("new", "old")], ["f1"], "t", DRAWS).query("half == 'all'")
    assert found.loc["answer_in_context", "estimate"] == pytest.approx(contrast["delta"].iloc[0])


@pytest.mark.parametrize("types", [{}, {"answer_in_context": "Int64", "answer_defined": "boolean", "f1": "Float64", "qid": "string", "policy": "string"}])
def test_a_policy_against_itself_is_exactly_zero(types):
    rows, _ = planted(asked(50))
    found = effects(rows.astype(types), [("new", "new")])
    assert not found.loc[["a", "total", "indirect", "direct"], ["estimate", "ci_low", "ci_high"]].any(axis=None)
    assert found.loc[["b", "share", "misfit"], "estimate"].isna().all()


def test_a_mediator_constant_under_one_packer_leaves_the_other_s_slope():
    rows, _ = planted(asked(200), seed=8)
    rows.loc[rows["policy"] == "old", "answer_in_context"] = 0  # like closed book: nothing is ever in its context
    found, new = effects(rows)["estimate"], rows[rows["policy"] == "new"].sort_values("qid")
    delta = new["f1"].to_numpy() - rows[rows["policy"] == "old"].sort_values("qid")["f1"].to_numpy()
    there = new["answer_in_context"].to_numpy() == 1
    assert found["b"] == pytest.approx(delta[there].mean() - delta[~there].mean()) and np.isnan(found["interaction"])
    always = rows.assign(answer_in_context=(rows["policy"] == "new").astype(int))  # gained everywhere: its worth cannot be told from the packer's own
    assert effects(always).loc[["b", "indirect", "direct"], "estimate"].isna().all() and effects(always)["estimate"]["a"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_thirds_that_are_constant_up_to_rounding_blow_nothing_up(seed):
    rng = np.random.default_rng(seed)
    new, old, delta = rng.integers(0, 4, 70) / 3, 1 / 3, rng.random(70)
    made = moments(new - old, (new + old) / 2, delta)
    drawn = paths(bootstrap.resample_totals(made, np.arange(70), 200, seed)[1])
    assert paths(made.sum(axis=0, keepdims=True))["b"][0] == pytest.approx(np.polyfit(new, delta, 1)[0]) and np.abs(drawn["b"]).max() < 2
    assert np.isnan(drawn["interaction"]).all()


def test_misfit_is_the_corners_by_hand():
    corner = {"gained": (1, 0, 1.0), "lost": (0, 1, -0.25), "kept": (1, 1, 0.5), "absent": (0, 0, 0.0)}
    change, middle, delta = np.array([(t - c, (t + c) / 2, d) for t, c, d in corner.values() for _ in range(5)]).T
    assert paths(moments(change, middle, delta).sum(axis=0, keepdims=True))["misfit"][0] == pytest.approx(1 - 0.25 - 0.5 - 0)


def test_a_share_needs_a_decided_total_and_order_changes_nothing():
    rows, _ = planted(asked(60), worth=0.0, direct=0.0, seed=1)
    assert np.isnan(effects(rows).loc["share", "estimate"])
    rows, _ = planted(asked(400), moved=0.3, seed=1)
    assert 0 < effects(rows).loc["share", "ci_low"] < effects(rows).loc["share", "estimate"]
    pd.testing.assert_frame_equal(effects(rows), effects(rows.sample(frac=1, random_state=9)))


def test_degenerate_input_gives_missing_numbers_or_no_rows():
    rows, _ = planted(asked(30))
    assert effects(rows.assign(reader="none")).empty and effects(rows, [("new", "nobody")]).empty and effects(rows.iloc[:0]).empty
    none = effects(rows.assign(answer_defined=False))
    assert none["estimate"].isna().all() and (none["n"] == 0).all() and (none["undefined"] == 30).all() and list(none.index) == list(QUANTITIES)
    assert effects(rows[rows["qid"] == "q00000"])["ci_low"].isna().all()


def test_planted_rows_are_the_same_for_the_same_seed_and_refuse_impossible_chances():
    one, other = planted(asked(40), seed=7)[0], planted(asked(40).sample(frac=1, random_state=1), seed=7)[0]
    pd.testing.assert_frame_equal(one, other)
    assert set(one["f1"]) == {0.0, 1.0} and not one.equals(planted(asked(40), seed=8)[0])
    for wrong in ({"worth": 0.7}, {"moved": -0.1}, {"lost": 0.6}, {"direct": -0.4, "worth": 0.1}, {"interaction": -0.6}):
        with pytest.raises(ValueError, match="take smaller effects"):
            planted(asked(5), **wrong)
