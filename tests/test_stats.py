"""Statistics: METRIC_CASES as they stand, the bootstrap against brute force and theory, and what an interval must never do."""

import math
import time

import numpy as np
import pytest
from scipy import stats as distributions
from statsmodels.stats.multitest import multipletests

from lib.bootstrap import cluster_codes
from lib.stats import (
    bootstrap_means,
    cluster_correlation,
    equivalence,
    holm,
    mean_interval,
    minimum_detectable_effect,
    paired_cluster_bootstrap,
    paired_cluster_bootstraps,
    ratio_interval,
    sign_test,
)


def questions(n, rows=1):
    return [f"q{number}" for number in range(n) for _ in range(rows)]


def normal(n, seed, mean=0.0, sd=1.0):
    return np.random.default_rng(seed).normal(mean, sd, n)


@pytest.mark.parametrize(("wins", "losses", "p"), [(221, 50, 7.99e-27), (125, 69, 7.06e-05), (42, 21, 0.0111), (13, 0, 2.44e-04)])
def test_metric_cases_sign_test(wins, losses, p):
    assert sign_test(wins, losses) == pytest.approx(p, rel=5e-3)
    assert sign_test(losses, wins) == sign_test(wins, losses)


def test_sign_test_sums_the_binomial_tail():
    for wins, losses in [(0, 0), (1, 0), (3, 3), (7, 2)]:
        n, tail = wins + losses, min(wins, losses)
        assert sign_test(wins, losses) == pytest.approx(min(1, 2 * sum(math.comb(n, k) for k in range(tail + 1)) / 2**n))
    with pytest.raises(ValueError, match="negative"):
        sign_test(-1, 3)


@pytest.mark.parametrize(("beneficial", "harmful", "n", "delta_pp"), [(36, 48, 491, -2.44), (50, 59, 514, -1.75)])
def test_metric_cases_delta_is_beneficial_minus_harmful(beneficial, harmful, n, delta_pp):
    delta_rows = [1.0] * beneficial + [-1.0] * harmful + [0.0] * (n - beneficial - harmful)
    interval = paired_cluster_bootstrap(delta_rows, questions(n), resamples=200)
    assert 100 * interval.estimate == pytest.approx(delta_pp, abs=5e-3)
    assert (interval.n, interval.clusters) == (n, n)


def test_metric_case_a_policy_against_itself():
    scores = np.random.default_rng(1).random(300)
    interval = paired_cluster_bootstrap(scores - scores, questions(100, rows=3))
    assert interval == (0, 0, 0, 1, 300, 100)


def test_metric_case_all_rows_of_a_drawn_question_come_along():
    """Two rows that cancel within each question: the questions do not differ, so neither do the resamples."""
    interval = paired_cluster_bootstrap([1.0, -1.0] * 50, questions(50, rows=2))
    assert interval[:4] == (0, 0, 0, 1)
    assert paired_cluster_bootstrap([1.0, -1.0] * 50, range(100)).low < 0  # as independent rows they would


def test_repeating_every_row_changes_no_interval():
    """Seven policies per question are not seven times the evidence."""
    delta = normal(60, seed=2, mean=0.1)
    once, seven = (
        paired_cluster_bootstrap(delta, questions(60)),
        paired_cluster_bootstrap(np.repeat(delta, 7), questions(60, rows=7)),
    )
    assert seven[:4] == pytest.approx(once[:4])
    assert (seven.n, seven.clusters) == (420, 60)


def test_bootstrap_equals_drawing_the_questions_one_by_one():
    values, names = normal(9, seed=3), ["a", "a", "b", "c", "c", "c", "d", "e", "e"]
    drawn = np.random.default_rng(4).integers(5, size=(50, 5))
    rows_of = [[row for row, name in enumerate(names) if name == question] for question in "abcde"]
    by_hand = [values[[row for question in draw for row in rows_of[question]]].mean() for draw in drawn]
    assert bootstrap_means(values, names, resamples=50, seed=4)[:, 0] == pytest.approx(by_hand)


def test_shuffling_rows_changes_nothing_and_the_seed_changes_little():
    delta, names, order = (
        normal(200, seed=5, mean=0.1),
        np.array(questions(100, rows=2)),
        np.random.default_rng(6).permutation(200),
    )
    interval = paired_cluster_bootstrap(delta, names)
    assert paired_cluster_bootstrap(delta[order], names[order]) == pytest.approx(interval)
    assert paired_cluster_bootstrap(delta, names, seed=9)[:3] == pytest.approx(interval[:3], abs=0.02)
    assert paired_cluster_bootstrap(delta, names, seed=9) != interval


def test_interval_agrees_with_theory():
    delta = normal(500, seed=7, mean=0.05)
    interval = paired_cluster_bootstrap(delta, questions(500))
    half = 1.96 * delta.std() / math.sqrt(500)
    assert (interval.low, interval.high) == pytest.approx((delta.mean() - half, delta.mean() + half), abs=0.005)
    assert interval.p_value == pytest.approx(distributions.ttest_1samp(delta, 0).pvalue, abs=0.02)


def test_delta_changes_sign_with_its_direction():
    delta = normal(80, seed=8, mean=0.2)
    there, back = paired_cluster_bootstrap(delta, questions(80)), paired_cluster_bootstrap(-delta, questions(80))
    assert (back.estimate, back.low, back.high) == pytest.approx((-there.estimate, -there.high, -there.low))
    assert back.p_value == there.p_value


def test_p_is_never_zero_and_agrees_with_its_interval():
    assert paired_cluster_bootstrap([1.0] * 30, questions(30), resamples=999).p_value == 1 / 1000
    for seed in range(20):
        interval = paired_cluster_bootstrap(normal(40, seed, mean=0.3), questions(40), resamples=2000)
        if abs(interval.p_value - 0.05) > 0.002:
            assert (interval.p_value < 0.05) == (interval.low > 0 or interval.high < 0)


def test_many_contrasts_share_one_draw():
    matrix = np.column_stack([normal(60, 9), normal(60, 10)])
    together = paired_cluster_bootstraps(matrix, questions(60))
    assert together == [paired_cluster_bootstrap(column, questions(60)) for column in matrix.T]


def test_missing_values_are_left_out_and_counted():
    values, names = np.array([1.0, np.nan, 0.0, 1.0]), ["q1", "q2", "q3", "q3"]
    interval = mean_interval(values, names)
    assert interval.estimate == pytest.approx(2 / 3)
    assert (interval.n, interval.clusters) == (3, 2)
    assert math.isnan(interval.p_value)
    nothing = mean_interval([math.nan, math.nan], ["q1", "q2"])
    assert math.isnan(nothing.estimate) and math.isnan(nothing.low) and nothing.n == 0


def test_one_question_has_no_interval():
    interval = paired_cluster_bootstrap([0.2, 0.4], ["q1", "q1"])
    assert interval.estimate == pytest.approx(0.3)
    assert all(math.isnan(number) for number in interval[1:4])


@pytest.mark.parametrize(
    ("rows", "clusters", "says"),
    [
        ([], [], "0 rows"),
        ([1.0], ["q1", "q2"], "1 rows and 2 clusters"),
        ([1.0, math.inf], ["q1", "q2"], "row 1 holds an infinite"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused(rows, clusters, says):
    with pytest.raises(ValueError, match=says):
        paired_cluster_bootstrap(rows, clusters)
    with pytest.raises(ValueError, match="resamples"):
        paired_cluster_bootstrap([1.0], ["q1"], resamples=0)


def test_seed_and_question_pairs_may_be_clusters():
    assert cluster_codes([(42, "q1"), (7, "q1"), (42, "q1")], 3).tolist() == [0, 1, 0]


def test_ratio_is_sum_over_sum():
    gains, headrooms = [0.2, 0.0, 0.4, math.nan], [0.4, 0.1, 0.5, 0.3]
    interval = ratio_interval(gains, headrooms, questions(4))
    assert interval.estimate == pytest.approx(0.6 / 1.0)
    assert interval.low <= interval.estimate <= interval.high
    assert (interval.n, interval.clusters) == (3, 3)
    assert ratio_interval(headrooms, headrooms, questions(4))[:3] == (1, 1, 1)
    assert math.isnan(ratio_interval([0.0, 1.0], [0.0, 0.0], questions(2)).estimate)
    with pytest.raises(ValueError, match="rows"):
        ratio_interval([1.0], [1.0, 2.0], questions(2))


def test_correlation_equals_pearson_and_survives_units():
    x = normal(200, 11)
    y = 0.5 * x + normal(200, 12)
    interval = cluster_correlation(x, y, questions(100, rows=2))
    assert interval.estimate == pytest.approx(distributions.pearsonr(x, y).statistic)
    assert interval.low < interval.estimate < interval.high
    assert cluster_correlation(1e6 + 1e-3 * x, -7 * y, questions(100, rows=2)).estimate == pytest.approx(
        -interval.estimate, abs=1e-6
    )


def test_partial_correlation_is_that_of_the_residuals():
    z = normal(300, 13)
    x, y = z + normal(300, 14), z + normal(300, 15)
    residuals = [values - np.polyval(np.polyfit(z, values, 1), z) for values in (x, y)]
    interval = cluster_correlation(x, y, questions(300), given=z)
    assert interval.estimate == pytest.approx(distributions.pearsonr(*residuals).statistic)
    assert interval.low < 0 < interval.high and interval.p_value > 0.05  # z is all they share
    assert cluster_correlation(x, y, questions(300)).low > 0.3


def test_correlation_without_variation_is_missing():
    assert math.isnan(cluster_correlation([1, 1, 1], [1, 2, 3], questions(3)).estimate)
    assert math.isnan(cluster_correlation([math.nan] * 3, [1, 2, 3], questions(3)).estimate)
    with_gap = cluster_correlation([1, 2, 3, math.nan], [2, 4, 6, 0], questions(4))
    assert with_gap.estimate == pytest.approx(1) and with_gap.n == 3


def test_equivalence_verdicts():
    names = questions(400)
    assert equivalence(normal(400, 16, sd=0.05), names).verdict == "equivalent"
    assert equivalence(normal(400, 17, mean=0.1, sd=0.05), names).verdict == "different"
    assert equivalence(normal(400, 18, sd=0.5), names).verdict == "inconclusive"
    assert equivalence(normal(400, 18, sd=0.5), names, margin=0.5).verdict == "equivalent"


def test_equivalence_rests_on_its_ninety_percent_interval():
    delta = normal(400, 19, mean=0.01, sd=0.1)
    result, half = equivalence(delta, questions(400)), 1.645 * delta.std() / 20
    assert (result.low, result.high) == pytest.approx((delta.mean() - half, delta.mean() + half), abs=0.002)
    assert (result.verdict == "equivalent") == (result.p_value < 0.05)
    assert (result.estimate, result.margin, result.n, result.clusters) == (pytest.approx(delta.mean()), 0.02, 400, 400)


def test_too_few_questions_show_no_equivalence():
    """100 questions without one change still allow a loss in one of 50."""
    assert equivalence([0.0] * 148, questions(148)).verdict == "inconclusive"
    assert equivalence([0.0] * 149, questions(149)).verdict == "equivalent"
    assert equivalence([0.0], ["q1"]).verdict == "inconclusive"
    with pytest.raises(ValueError, match="margin"):
        equivalence([0.0], ["q1"], margin=0)


def test_holm_equals_statsmodels_and_keeps_order():
    p_values = np.random.default_rng(20).random(12) ** 3
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert (holm(p_values) >= p_values).all()
    assert holm([]).tolist() == []


def test_holm_leaves_missing_contrasts_out_of_the_family():
    adjusted = holm([0.02, math.nan, 0.9])
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.9])
    assert math.isnan(adjusted[1])
    with pytest.raises(ValueError, match="1.2"):
        holm([0.1, 1.2])


@pytest.mark.parametrize(("n", "sd", "points"), [(200, 0.36, 7.1), (200, 0.3, 5.9), (1266, 0.29, 2.3), (1266, 0.36, 2.8)])
def test_minimum_detectable_effect_matches_what_the_specification_expects(n, sd, points):
    assert 100 * minimum_detectable_effect(sd, n) == pytest.approx(points, abs=0.05)


def test_the_minimum_detectable_effect_is_detected_at_its_power():
    n, sd, generator = 100, 0.3, np.random.default_rng(21)
    samples = generator.normal(minimum_detectable_effect(sd, n), sd, (4000, n))
    assert (np.abs(samples.mean(axis=1)) > 1.96 * sd / math.sqrt(n)).mean() == pytest.approx(0.8, abs=0.02)
    with pytest.raises(ValueError, match="n >= 1"):
        minimum_detectable_effect(0.3, 0)


def test_intervals_cover_the_truth_as_often_as_they_say():
    """Questions with three correlated rows each; independent rows would cover far too seldom."""
    covered = 0
    for seed in range(200):
        generator = np.random.default_rng(1000 + seed)
        rows = np.repeat(generator.normal(0, 1, 60), 3) + generator.normal(0, 0.3, 180)
        interval = mean_interval(rows, questions(60, rows=3), resamples=500)
        covered += interval.low <= 0 <= interval.high
    assert 178 <= covered <= 199


def test_ten_thousand_resamples_of_three_thousand_questions_are_quick():
    began = time.process_time()
    paired_cluster_bootstraps(np.zeros((9000, 5)), questions(3000, rows=3))
    assert time.process_time() - began < 5
