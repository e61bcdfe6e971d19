"""The objective and its greedies: METRIC_CASES as they stand, random search for a counterexample, brute force on ten snippets."""
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import submodular
from lib.submodular import exact, gains, greedy, lazy_greedy, objective, terms_of, upper_bound, value

SEARCH = settings(max_examples=200, deadline=None, derandomize=True, database=None)
HALF_OF_ONE_LESS_1_OVER_E = (1 - 1 / np.e) / 2  # Khuller, Moss and Naor (1999); Leskovec et al. (2007)


@st.composite
def problems(draw, most=8, steps=4):
    """An objective over coarse numbers, so that ties are the rule; integer costs; a budget."""
    n, t = draw(st.integers(1, most)), draw(st.integers(0, 4))
    numbers = draw(st.lists(st.integers(0, steps), min_size=n * (n + 3), max_size=n * (n + 3)))
    relevance, costs, document, *rest = np.array(numbers).reshape(n + 3, n)
    terms = np.array(draw(st.lists(st.booleans(), min_size=n * t, max_size=n * t)), bool).reshape(n, t)
    half = np.array(rest) / steps * 2 - 1  # [-1, 1]: half of the cosines are negative
    similarity = (half + half.T) / 2
    np.fill_diagonal(similarity, 1)
    weights = draw(st.sampled_from([submodular.PUBLISHED_WEIGHTS, (1, 1, 1, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]))
    f = objective(relevance / steps, terms, similarity, document, weights, draw(st.sampled_from([0.1, 0.3, 1.0, 2.0])))
    return f, costs + 1, draw(st.integers(0, 4 * steps))


def random_problem(seed, n):
    """One with real numbers, so without ties."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    given = (rng.random(n), rng.random((n, 3)) < 0.4, vectors @ vectors.T, rng.integers(0, 4, n))
    return given, rng.integers(5, 60, n), 90


def subsets(n):
    return (s for k in range(n + 1) for s in itertools.combinations(range(n), k))


def names(picks):
    return [i for i, _ in picks]


@pytest.mark.parametrize("solve", [greedy, lazy_greedy])
def test_metric_case_ratio_greedy_needs_its_fallback(solve):
    f = objective([1, 9], np.zeros((2, 0)), np.eye(2), [0, 1], weights=(1, 0, 0, 0))
    assert names(solve(f, [1, 10], 10)) == [1]
    assert value(replace(f, scales=np.ones(4)), [1]) == 9
    assert names(solve(f, [1, 10], 11)) == [0, 1]


def test_metric_case_negative_cosine_is_clipped():
    similarity = np.array([[1, -0.8, 0.2], [-0.8, 1, 0.0], [0.2, 0.0, 1]])
    f, clipped = (objective([1, 1, 1], np.zeros((3, 0)), s, [0, 1, 2]) for s in (similarity, np.clip(similarity, 0, 1)))
    assert all(value(f, s) == value(clipped, s) for s in subsets(3))
    assert terms_of(f, [0, 1])[2] >= terms_of(f, [0])[2]  # unclipped, the second would take away from the first


@pytest.mark.parametrize(("document", "mass"), [([0, 0], 1.0), ([0, 1], 1.4142)])
def test_metric_case_document_diversity_before_scaling(document, mass):
    f = replace(objective([0.5, 0.5], np.zeros((2, 0)), np.eye(2), document), scales=np.ones(4))
    assert terms_of(f, [0, 1])[3] == pytest.approx(mass, abs=5e-5)


def test_metric_case_nothing_over_nothing_is_nothing():
    f = objective([0, 0], np.zeros((2, 3)), np.zeros((2, 2)), [0, 1])
    assert terms_of(f, [0, 1]).tolist() == gains(f, []).tolist() + [0, 0] == [0, 0, 0, 0]
    assert names(greedy(f, [1, 1], 2)) == names(lazy_greedy(f, [1, 1], 2)) == [0, 1]  # worth nothing, and in first-stage order


def test_metric_case_no_content_terms_is_query_coverage_0():
    f = objective([0.2, 0.4], np.zeros((2, 0)), np.eye(2), [0, 1])
    assert terms_of(f, [0, 1]).tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("solve", [greedy, lazy_greedy])
def test_metric_case_equal_ratios_go_to_the_better_first_stage_rank(solve):
    f = objective([0.2, 0.1, 0.1], np.zeros((3, 0)), np.eye(3), [0, 1, 2], weights=(1, 0, 0, 0))
    assert names(solve(f, [2, 1, 1], 2)) == [0]
    assert names(solve(f, [2, 1, 1], 3)) == [0, 1]


@pytest.mark.parametrize("solve", [greedy, lazy_greedy, exact, lambda *a: upper_bound(*a, [])])
@pytest.mark.parametrize("cost", [0, -1, np.nan])
def test_metric_case_a_costless_snippet_is_an_error(solve, cost):
    f = objective([1, 1], np.zeros((2, 0)), np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="candidate 1 costs"):
        solve(f, [3, cost], 10)


@SEARCH
@given(problems(), st.randoms(use_true_random=False))
def test_every_term_is_monotone_with_diminishing_returns(problem, random):
    f, _, _ = problem
    n = len(f.relevance)
    large = random.sample(range(n), random.randint(0, n))
    small, rest = random.sample(large, random.randint(0, len(large))), sorted(set(range(n)) - set(large))
    for new in rest:
        early, late = terms_of(f, [*small, new]) - terms_of(f, small), terms_of(f, [*large, new]) - terms_of(f, large)
        assert (late >= -1e-12).all() and (early >= late - 1e-12).all()
        assert f.weights @ early >= f.weights @ late - 1e-12 >= -2e-12  # the sum


@SEARCH
@given(problems())
def test_terms_lie_between_0_and_1_and_the_gains_are_differences_of_values(problem):
    f, _, _ = problem
    n = len(f.relevance)
    assert np.isin(terms_of(f, range(n)).round(12), [0, 1]).all()  # of the whole set: 1, or 0 for a term worth nothing
    for chosen in itertools.islice(subsets(n), 20):
        assert ((terms_of(f, chosen) >= 0) & (terms_of(f, chosen) <= 1 + 1e-12)).all()
        assert gains(f, chosen) == pytest.approx([value(f, {*chosen, i}) - value(f, chosen) for i in range(n)], abs=1e-12)


@SEARCH
@given(problems(), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([None, 1, 2]))
def test_lazy_equals_plain_greedy_ties_included(problem, exponent, cap):
    f, costs, budget = problem
    plain, lazy = greedy(f, costs, budget, exponent, cap), lazy_greedy(f, costs, budget, exponent, cap)
    assert names(plain) == names(lazy)
    assert [g for _, g in plain] == pytest.approx([g for _, g in lazy], abs=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_lazy_equals_plain_greedy_where_sums_end_in_other_bits(exponent):
    """Equal ratios that were added up in another order differ in the last bit; the better rank must win in both."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        vectors = rng.integers(0, 3, (12, 3)) / np.sqrt(14)
        f = objective(rng.integers(1, 4, 12) / 10, rng.random((12, 3)) < 0.4, vectors @ vectors.T, rng.integers(0, 3, 12))
        costs = rng.integers(1, 4, 12) * 3
        assert names(greedy(f, costs, 30, exponent)) == names(lazy_greedy(f, costs, 30, exponent)), seed


def test_lazy_looks_at_fewer_candidates(monkeypatch):
    given, costs, _ = random_problem(5, 80)
    looked, renew = [], submodular.State.renew

    def counted(state, some=None):
        looked.append(80 if some is None else len(some))
        return renew(state, some)

    monkeypatch.setattr(submodular.State, "renew", counted)
    picks = lazy_greedy(objective(*given), costs, 400)
    assert len(picks) >= 5 and looked[0] == 80 and sum(looked[1:]) < 0.2 * len(picks) * 80


@SEARCH
@given(problems(), st.sampled_from([0.0, 1.0]))
def test_what_is_picked_fits_never_repeats_and_beats_every_single_snippet(problem, exponent):
    f, costs, budget = problem
    picks = names(greedy(f, costs, budget, exponent))
    assert len(set(picks)) == len(picks) and costs[picks].sum() <= budget
    assert value(f, picks) >= max([value(f, [i]) for i in range(len(costs)) if costs[i] <= budget], default=0) - 1e-12
    assert bool(picks) == bool((costs <= budget).any())


@SEARCH
@given(problems(), st.integers(1, 3))
def test_the_cap_limits_the_picks(problem, cap):
    f, costs, budget = problem
    assert len(greedy(f, costs, budget, cap=cap)) <= cap


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_on_ten_snippets_bounds_the_greedy_and_the_bound_bounds_it(seed):
    given, costs, budget = random_problem(seed, 10)
    f = objective(*given)
    best = max(value(f, s) for s in subsets(10) if costs[list(s)].sum() <= budget)
    chosen, optimum = exact(f, costs, budget)
    assert optimum == best == value(f, chosen) and costs[chosen].sum() <= budget
    for exponent in (0.0, 1.0):
        picks = names(greedy(f, costs, budget, exponent))
        assert value(f, picks) <= best + 1e-12
        assert best <= upper_bound(f, costs, budget, picks) + 1e-12
    assert max(value(f, names(greedy(f, costs, budget, r))) for r in (0, 1)) >= HALF_OF_ONE_LESS_1_OVER_E * best


@SEARCH
@given(problems(most=6))
def test_the_certificate_bounds_the_optimum_of_any_small_problem(problem):
    f, costs, budget = problem
    picks = names(greedy(f, costs, budget))
    optimum = exact(f, costs, budget)[1]
    assert value(f, picks) - 1e-12 <= optimum <= upper_bound(f, costs, budget, picks) + 1e-12
    assert optimum <= upper_bound(f, costs, budget, []) + 1e-12  # whatever was chosen


def test_the_certificate_is_tight_where_everything_fits():
    given, costs, _ = random_problem(3, 8)
    f = objective(*given)
    assert upper_bound(f, costs, costs.sum(), names(greedy(f, costs, costs.sum()))) == pytest.approx(value(f, range(8)))


def test_naming_documents_otherwise_changes_nothing():
    (relevance, terms, similarity, document), costs, budget = random_problem(1, 12)
    other = np.array(["zebra", "ant", "mole", "bat"])[document]
    assert greedy(objective(relevance, terms, similarity, document), costs, budget) == greedy(objective(relevance, terms, similarity, other), costs, budget)


def test_a_copy_adds_relevance_and_nothing_else():
    f = objective([1, 1, 1], [[1, 0], [1, 0], [0, 1]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]], [0, 0, 1], alpha=0.5)
    copy = terms_of(f, [0, 1]) - terms_of(f, [0])
    fresh = terms_of(f, [0, 2]) - terms_of(f, [0])
    assert copy[:3] == pytest.approx([1 / 3, 0, 0])
    assert (fresh[1:] > copy[1:]).all() and fresh[0] == pytest.approx(copy[0])


@pytest.mark.parametrize(("change", "message"), [
    ({"relevance": [0.1, -0.1]}, "relevance must be 0 or more"), ({"relevance": [0.1, np.nan]}, "relevance must be 0 or more"),
    ({"similarity": [[1, np.nan], [np.nan, 1]]}, "2 NaN"), ({"similarity": np.eye(3)}, "2 x 2 similarities"), ({"terms": np.ones((3, 1))}, "2 term rows"),
    ({"document": [0]}, "2 documents"), ({"weights": (1, -1, 0, 0)}, "four weights"), ({"weights": (1, 1, 1)}, "four weights"), ({"alpha": -1}, "alpha"),
])
def test_what_would_break_the_objective_is_refused(change, message):
    sound = {"relevance": [0.1, 0.2], "terms": np.ones((2, 1)), "similarity": np.eye(2), "document": [0, 1]}
    with pytest.raises(ValueError, match=message):
        objective(**sound | change)


def test_limits_of_the_solvers():
    f = objective(np.ones(16), np.zeros((16, 0)), np.eye(16), range(16))
    with pytest.raises(ValueError, match="at most 15 candidates, got 16"):
        exact(f, np.ones(16), 3)
    for solve in (greedy, lazy_greedy):
        with pytest.raises(ValueError, match="cap must be a whole number of 1 or more"):
            solve(f, np.ones(16), 3, cap=0)
        assert solve(f, np.full(16, 5), 4) == []
    assert exact(objective([1.0], np.zeros((1, 0)), np.eye(1), [0]), [5], 4) == ([], 0.0)
    nobody = objective([], np.zeros((0, 2)), np.zeros((0, 0)), [])
    assert greedy(nobody, [], 9) == lazy_greedy(nobody, [], 9) == []
