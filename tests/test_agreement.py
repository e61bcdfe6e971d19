"""A score against a judgement: thresholds by brute force, agreement against scikit-learn, areas against pairs counted one by one."""
import itertools

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from lib.agreement import agreements, auc, exact_share, shares, youden


def world(seed=0, n=60, clusters=20):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    return (labels + rng.normal(size=n)).round(1), labels, np.array([f"q{i % clusters}" for i in range(n)])


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_the_best_of_all_and_the_highest_of_equal_ones(seed):
    scores, labels, _ = world(seed)

    def j(t):
        return (scores[labels == 1] >= t).mean() - (scores[labels == 0] >= t).mean()

    cuts = sorted(set(scores))
    every = [*cuts, *((a + b) / 2 for a, b in itertools.pairwise(cuts)), -99, 99]
    found = youden(scores, labels)
    lowest_kept = min(t for t in cuts if t >= found)
    assert j(found) == pytest.approx(max(map(j, every))) and all(j(t) < j(found) - 1e-12 for t in cuts if t > lowest_kept)
    order = np.random.default_rng(1).permutation(len(scores))
    assert youden(scores[order], labels[order]) == found


def test_a_threshold_needs_both_kinds_and_passes_over_the_unknown():
    assert np.isnan(youden([1.0, 2.0], [1, 1])) and np.isnan(youden([np.nan, 2.0], [1, 0])) and np.isnan(youden([], []))
    assert youden([1.0, 2.0, np.nan, 9.0], [0, 1, 0, np.nan]) == 1.5


def test_agreement_is_what_scikit_learn_says_of_the_known_rows():
    scores, labels, clusters = world()
    said = np.column_stack([scores > 0.5, np.where(np.arange(60) % 7 == 0, np.nan, scores > 1), labels]).astype(float)
    found = agreements(said, labels, clusters, 200)
    for column, measures in zip(said.T, found):
        known = ~np.isnan(column)
        truth, claim = labels[known], column[known]
        assert measures["agreement"].estimate == pytest.approx((truth == claim).mean()) and measures["agreement"].n == known.sum()
        assert measures["kappa"].estimate == pytest.approx(cohen_kappa_score(truth, claim))
        assert measures["sensitivity"].estimate == pytest.approx(claim[truth == 1].mean()) and measures["sensitivity"].n == (truth == 1).sum()
        assert measures["specificity"].estimate == pytest.approx(1 - claim[truth == 0].mean())
        assert all(i.low <= i.estimate <= i.high for i in measures.values())
    assert found[2]["kappa"][:3] == (1.0, 1.0, 1.0), "the labels agree with themselves"


def test_kappa_is_undefined_where_both_say_one_thing_alone():
    assert np.isnan(agreements(np.ones((4, 1)), np.ones(4), list("abcd"), 50)[0]["kappa"].estimate)


@pytest.mark.parametrize("seed", range(3))
def test_the_area_is_the_share_of_pairs_in_order(seed):
    scores, labels, clusters = world(seed)
    found = auc(scores, labels, clusters, 300)
    assert found.estimate == pytest.approx(roc_auc_score(labels, scores)) and found.low < found.estimate < found.high
    order = np.random.default_rng(2).permutation(len(scores))
    assert auc(scores[order], labels[order], clusters[order], 300) == pytest.approx(found, nan_ok=True)
    assert auc(-scores, labels, clusters, 300).estimate == pytest.approx(1 - found.estimate)


def test_the_areas_interval_is_that_of_a_bootstrap_done_by_hand():
    scores, labels, clusters = world(3)
    rng, draws = np.random.default_rng(0), []
    names = np.unique(clusters)
    for _ in range(600):
        rows = np.concatenate([np.flatnonzero(clusters == c) for c in rng.choice(names, len(names))])
        if 0 < labels[rows].mean() < 1:
            draws.append(roc_auc_score(labels[rows], scores[rows]))
    found = auc(scores, labels, clusters, 4000)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.02)


def test_an_area_without_one_kind_is_undefined_and_of_one_question_has_no_interval():
    assert np.isnan(auc([1.0, 2.0], [1, 1], ["a", "b"], 50).estimate)
    one = auc([1.0, 2.0], [0, 1], ["a", "a"], 50)
    assert one.estimate == 1.0 and np.isnan(one.low)


def test_the_95_percent_interval_of_an_area_covers_the_truth():
    rng, truth, hit = np.random.default_rng(7), 0.760, 0  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2)
    for _ in range(200):
        labels = np.repeat([0, 1], 40)
        i = auc(labels + rng.normal(size=80), labels, np.arange(80), 300)
        hit += i.low <= truth <= i.high
    assert 0.90 <= hit / 200 <= 0.99


def test_an_exact_share_is_clopper_and_pearsons_when_each_case_is_its_own_cluster():
    for wrong, n in ((0, 12), (3, 12), (12, 12)):
        found = exact_share([1] * wrong + [0] * (n - wrong), range(n))
        peer = binomtest(wrong, n).proportion_ci(0.95, method="exact")
        assert (found.estimate, found.low, found.high) == pytest.approx((wrong / n, peer.low, peer.high))
    twice = exact_share([0, 0, 1, 1, 0, 0], ["a", "a", "b", "b", "c", "c"])
    assert (twice.n, twice.clusters) == (6, 3) and twice[1:3] == exact_share([0, 1, 0], "abc")[1:3], "cases that come twice tell no more"
    assert exact_share([np.nan], ["a"]).n == 0


def test_shares_leave_the_unknown_out():
    found = shares(np.array([[1.0, np.nan], [0.0, 1.0], [1.0, np.nan]]), ["a", "b", "c"], 100)
    assert [(round(i.estimate, 3), i.n, i.clusters) for i in found] == [(0.667, 3, 3), (1.0, 1, 1)]
