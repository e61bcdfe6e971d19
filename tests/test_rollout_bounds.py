"""Bounds of the release gates: golden values, brute force, a peer, and their level by simulation with known truth."""

import math

import numpy as np
import pytest
from scipy import stats as distributions
from statsmodels.stats.proportion import proportion_confint

from lib import rollout_bounds as bounds


@pytest.mark.parametrize(("events", "n"), [(0, 10), (6, 200), (10, 10), (1, 59)])
def test_rate_bounds_equal_a_peers_exact_interval(events, n):
    low, high = proportion_confint(events, n, alpha=0.10, method="beta")
    found = bounds.rate_bounds(events, n, 0.05)
    assert found.low == pytest.approx(0 if events == 0 else low, abs=1e-12)
    assert found.high == pytest.approx(1 if events == n else high, abs=1e-12)


def test_six_of_two_hundred_has_the_exact_interval_of_the_document():
    found = bounds.rate_bounds(6, 200, 0.025)
    assert (round(found.estimate, 4), round(found.low, 4), round(found.high, 4)) == (0.03, 0.0111, 0.0642)


@pytest.mark.parametrize("limit", [0.01, 0.02, 0.05, 0.1, 0.2])
def test_least_questions_is_the_first_n_whose_clean_record_passes_and_the_rule_of_three_is_near(limit):
    n = bounds.least_questions(limit)
    assert bounds.rate_bounds(0, n).high <= limit < bounds.rate_bounds(0, n - 1).high
    assert 0 <= 3 / limit - n <= 2


@pytest.mark.parametrize(("rate", "limit"), [(0.0, 0.05), (0.01, 0.05), (0.2, 0.05), (0.3, 0.1), (0.01, 0.02)])
def test_questions_for_rate_is_the_first_n_with_power_by_brute_force(rate, limit):
    def told(n):
        held = [bounds.rate_bounds(k, n) for k in range(n + 1)]
        good = [(b.high <= limit) if rate < limit else (b.low > limit) for b in held]
        return sum(distributions.binom.pmf(k, n, rate) for k in range(n + 1) if good[k])

    found = int(bounds.questions_for_rate(rate, limit))
    if found > 400:
        assert told(found) >= 0.8 - 1e-9  # the scan below would take long
        return
    assert next(n for n in range(1, 401) if told(n) >= 0.8 - 1e-12) == found


def test_a_truth_at_the_limit_can_never_be_told():
    assert math.isinf(bounds.questions_for_rate(0.05, 0.05)) and math.isinf(bounds.questions_for_mean([0.1] * 4, 0.1))


@pytest.mark.parametrize(("n", "rate"), [(30, 0.02), (60, 0.10), (150, 0.005)])
def test_a_mean_of_rare_losses_is_above_its_lower_bound_as_often_as_said(n, rate):
    """A bootstrap alone misses rare losses: at 30 questions and 2 % losses it would be wrong in half of all samples."""
    rng, wrong, alone = np.random.default_rng(5), 0, 0
    for i in range(300):
        lost = -(rng.random(n) < rate).astype(float)
        found = bounds.mean_bounds(lost, range(n), 0.05, resamples=200, seed=i)
        wrong += found.low > -rate
        alone += lost.mean() == 0  # there the bootstrap's own lower bound is 0
    assert wrong / 300 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert alone / 300 > 0.05 or rate >= 0.10


def test_bounds_of_a_mean_do_not_depend_on_the_order_of_rows_and_skip_what_is_missing():
    values = np.array([0.1, -0.2, np.nan, 0.4, 0.0, 0.3])
    names, turned = list("abcdef"), [5, 3, 1, 0, 2, 4]
    a = bounds.mean_bounds(values, names, resamples=500)
    b = bounds.mean_bounds(values[turned], [names[i] for i in turned], resamples=500)
    assert a == pytest.approx(b) and a.estimate == pytest.approx(np.nanmean(values)) and a.low < a.estimate < a.high


def test_a_headroom_of_zero_everywhere_still_has_a_width():
    found = bounds.share_bounds([0.0] * 59, range(59), resamples=100)
    assert found.low == 0 and found.high == pytest.approx(0.05, abs=1e-3)


def test_ratio_bounds_are_the_sums_ratio_and_shrink_with_n():
    rng = np.random.default_rng(1)
    room = rng.random(400)
    gain = 0.5 * room + rng.normal(0, 0.1, 400)
    few, many = (bounds.ratio_bounds(gain[:n], room[:n], range(n), resamples=500) for n in (40, 400))
    assert many.estimate == pytest.approx(gain.sum() / room.sum())
    assert many.high - many.low < few.high - few.low and many.low < 0.5 < many.high
    assert math.isnan(bounds.ratio_bounds([0.1], [0.0], ["q"]).estimate)


@pytest.mark.parametrize("call", [
    lambda: bounds.rate_bounds(3, 2), lambda: bounds.rate_bounds(-1, 2), lambda: bounds.rate_bounds(0, 5, alpha=0.7), lambda: bounds.least_questions(0.0),
    lambda: bounds.mean_bounds([5.0, 1.0], "ab"),
])
def test_impossible_input_is_one_error(call):
    with pytest.raises(ValueError, match="got"):
        call()


def test_bounds_that_release_are_wrong_about_as_rarely_as_said():
    """Headroom and capture with a known truth, most questions without headroom: the lower bounds, on which a pass rests, at 60 questions."""
    rng, wrong, runs = np.random.default_rng(7), np.zeros(2), 300
    for i in range(runs):
        room = np.where(rng.random(60) < 0.4, rng.beta(2, 4, 60), 0.0)
        gain = room * rng.choice([-1, 0, 1], 60, p=[0.2, 0.5, 0.3])
        wrong += [bounds.share_bounds(room, range(60), 0.05, 200, i).low > 0.4 / 3, bounds.ratio_bounds(gain, room, range(60), 0.05, 200, i).low > 0.1]
    assert (wrong / runs < 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / runs)).all()
