"""The packing engine: kept gains against gains made anew, laziness, the better of two, exact optima, bounds, sparse neighbours."""
import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from test_submodular import SEARCH, names, problems, random_problem, subsets

from lib import submodular, submodular_exact, submodular_sparse
from lib.submodular import State, exact, fast_greedy, gains, greedy, lazy_greedy, objective, upper_bound, value
from lib.submodular_best import PROVED, best_of_two, certificate, guarantee
from lib.submodular_sparse import method, neighbours, similarities, whole_value

FEWER = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def anew(f, chosen):
    """Every gain from the set alone, in one pass and with nothing kept: how the published packs were made."""
    chosen = list(chosen)
    mass = np.zeros(f.document.max(initial=-1) + 1)
    np.add.at(mass, f.document[chosen], f.relevance[chosen])
    held, before = f.similarity[:, chosen].sum(axis=1), mass[f.document]
    cover = np.minimum(held[:, None] + f.similarity, f.saturation[:, None]) - np.minimum(held, f.saturation)[:, None]
    terms = f.terms[:, ~f.terms[chosen].any(axis=0)].sum(axis=1)
    raw = np.stack([f.relevance, terms, cover.sum(axis=0), np.sqrt(before + f.relevance) - np.sqrt(before)])
    out = f.weights @ np.divide(raw, f.scales[:, None], out=np.zeros_like(raw), where=f.scales[:, None] > 0)
    out[chosen] = 0.0
    return out


def plain(f, costs, budget, exponent, cap):
    """The greedy with the singleton fallback, every gain made anew at each step."""
    chosen, picks, left, first = [], [], budget, anew(f, [])
    near = submodular.TIE * first[costs <= budget].max(initial=0.0)
    while cap is None or len(chosen) < cap:
        gain = anew(f, chosen)
        ratio, slack = np.where(costs <= left, gain / costs**exponent, -np.inf), near / costs**exponent
        ratio[chosen] = -np.inf
        if len(costs) == 0 or ratio.max() < 0:
            break
        best = int(np.flatnonzero(ratio + slack >= ratio.max() - slack[ratio.argmax()])[0])
        chosen.append(best)
        picks.append((best, float(gain[best])))
        left -= costs[best]
    single = np.where(costs <= budget, anew(f, []), -1.0)
    if len(single) and single.max() - near > value(f, chosen):
        best = int(np.flatnonzero(single >= single.max() - near)[0])
        return [(best, float(single[best]))]
    return picks


def instance(seed):
    """0 to 39 candidates, every tenth time up to 300: ties, asymmetric similarities, documents named by words, any weights, any alpha."""
    draw = np.random.default_rng(seed)
    n, t = int(draw.integers(0, 40)) if seed % 10 else int(draw.integers(60, 300)), int(draw.integers(0, 6))
    relevance = draw.integers(0, 5, n) / 4 if seed % 2 else draw.random(n)
    vectors = draw.integers(-1, 3, (n, 3)) / np.sqrt(12)
    similarity = vectors @ vectors.T if seed % 3 else draw.uniform(-0.5, 1, (n, n))
    document = draw.integers(0, max(1, n // 3), n)
    weights = [(1, 0.5, 0.4, 0.3), (1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 1, 0, 0), (0, 0, 0, 0)][seed % 6]
    costs = draw.integers(1, 9, n) / (7 if seed % 11 == 0 else 1)
    names_of, alpha = document if seed % 4 else document.astype(str), [0.3, 0.1, 1.0, 2.0, 0.0][seed % 5]
    f = objective(relevance, draw.random((n, t)) < 0.3, similarity, names_of, weights, alpha)
    return f, costs, int(draw.integers(0, 40))


@pytest.mark.parametrize("block", range(6))
def test_kept_gains_are_those_made_anew_to_the_last_bit_lazy_or_not(block):
    for seed in range(100 * block, 100 * block + 100):
        f, costs, budget = instance(seed)
        for exponent, cap in itertools.product((0.0, 0.5, 1.0), (None, 2)):
            wanted = plain(f, costs, budget, exponent, cap)
            assert greedy(f, costs, budget, exponent, cap) == wanted, seed
            assert lazy_greedy(f, costs, budget, exponent, cap) == wanted, seed
        chosen = [i for i, _ in wanted]
        assert gains(f, chosen).tolist() == anew(f, chosen).tolist()


def scaled(f, by):
    """The same objective with all weights times ``by``."""
    return dataclasses.replace(f, weights=f.weights * by)


@pytest.mark.parametrize("by", [1e-9, 1e9, 1 / 3])
def test_picks_depend_on_the_unit_of_neither_weights_nor_costs(by):
    for seed in range(1, 41):
        f, costs, budget = instance(seed)
        small = [i for i in range(min(len(costs), 8))]
        part = objective(f.relevance[small], f.terms[small], f.similarity[np.ix_(small, small)], f.document[small], f.weights)
        for solve in (greedy, lazy_greedy, best_of_two):
            for exponent in (0.0, 0.5, 1.0, 3.0):
                wanted = [i for i, _ in solve(f, costs, budget, exponent)]
                assert [i for i, _ in solve(scaled(f, by), costs, budget, exponent)] == wanted, (seed, solve)
                unit = 2.0**-20  # a power of two: what fits is decided by sums that end in the same bits
                assert [i for i, _ in solve(scaled(f, by), costs * unit, budget * unit, exponent)] == wanted, (seed, solve)
        assert exact(scaled(part, by), costs[small], budget)[0] == exact(part, costs[small], budget)[0]


@pytest.mark.parametrize("solve", [greedy, lazy_greedy, best_of_two])
def test_small_gains_that_differ_are_no_tie(solve):
    f = objective([1, 2, 3], np.zeros((3, 0)), np.eye(3), range(3), (1e-12, 0, 0, 0))
    assert [i for i, _ in solve(f, np.full(3, 10.0), 20)] == [2, 1]                    # ratios of 1e-14
    f = objective([5, 2, 3], np.zeros((3, 0)), np.eye(3), range(3), (1, 0, 0, 0))
    assert [i for i, _ in solve(f, np.array([1, 1e6, 1e6]), 1e6 + 1, 3.0)] == [0, 2]   # one costs so little that the others' ratios are 1e-18 beside it
    assert exact(objective([1, 2, 3], np.zeros((3, 0)), np.eye(3), range(3), (1e-12, 0, 0, 0)), [10.0] * 3, 10)[0] == [2]


@pytest.mark.parametrize("budget", [float("nan"), -1, -0.5, None, "160", True])
def test_a_budget_that_is_none_is_one_clear_error(budget):
    f = objective([1, 2], np.zeros((2, 0)), np.eye(2), range(2))
    for solve in (greedy, lazy_greedy, best_of_two, exact):
        with pytest.raises(ValueError, match="a token budget must be a number of 0 or more"):
            solve(f, [10, 10], budget)
    for bound in (upper_bound, certificate):
        with pytest.raises(ValueError, match="a token budget must be a number of 0 or more"):
            bound(f, [10, 10], budget, [0])


def test_everything_fits_an_endless_budget_and_nothing_one_of_0():
    f, endless = objective([1, 2], np.zeros((2, 0)), np.eye(2), range(2)), float("inf")
    for solve in (greedy, lazy_greedy, best_of_two):
        assert sorted(i for i, _ in solve(f, [10, 10], endless)) == [0, 1] and solve(f, [10, 10], 0) == []
    assert exact(f, [10, 10], endless)[0] == [0, 1] and exact(f, [10, 10], 0)[0] == []
    sure = certificate(f, [10, 10], endless, [1, 0])
    assert sure["share"] == pytest.approx(1) and sure["bound"] == pytest.approx(value(f, [0, 1]))
    assert certificate(f, [10, 10], 0, [])["share"] == 1.0


@pytest.mark.parametrize("n", [181, 182, 400])
def test_blocks_of_rows_add_up_in_the_order_of_the_rows(n):
    """From 182 candidates on the first look goes block by block."""
    given, _, _ = random_problem(n, n)
    f = objective(*given)
    assert gains(f, [3, 1, 7]).tolist() == anew(f, [3, 1, 7]).tolist()


@FEWER
@given(problems(most=12), st.randoms(use_true_random=False))
def test_a_memory_that_grew_says_what_the_set_says_and_old_gains_bound_new_ones(problem, random):
    f, _, _ = problem
    n = len(f.relevance)
    state = State(f).renew()
    for i in random.sample(range(n), random.randint(0, n)):
        old, left = state.gains(), [j for j in range(n) if j not in state.chosen]
        state.add(i)
        bound = state.gains()
        assert not state.fresh.any()
        some = random.sample(left, random.randint(1, len(left)))
        part = state.copy().renew(np.array(some)).gains()
        now = state.renew().gains()
        assert part[some].tolist() == now[some].tolist()  # some alone, or all at once: the same bits
        rest = [j for j in left if j != i]
        assert (now[rest] <= bound[rest] + 1e-12).all() and (bound[rest] <= old[rest] + 1e-12).all()


def test_a_copy_goes_its_own_way():
    f, _, _ = instance(7)
    first = State(f).renew()
    second = first.copy()
    second.add(0)
    assert first.chosen == [] and first.gains().tolist() == State(f).renew().gains().tolist()


def test_similarities_without_negatives_are_not_copied_and_others_are_left_alone():
    sound, torn = np.eye(3), np.array([[1.0, -0.5], [-0.5, 1.0]])
    assert objective([1, 1, 1], np.zeros((3, 0)), sound, [0, 1, 2]).similarity is sound
    assert objective([1, 1], np.zeros((2, 0)), torn, [0, 1]).similarity.min() == 0 and torn.min() == -0.5


# The better of two

def test_each_greedy_has_its_trap_and_the_better_of_two_falls_into_neither():
    """A dear snippet hides many cheap ones from the unit-cost greedy; a cheap one per token hides two good ones from the cost-scaled."""
    alone = (1, 0, 0, 0)
    many = objective([10, *[9] * 9], np.zeros((10, 0)), np.eye(10), range(10), alone)
    assert names(greedy(many, [9, *[1] * 9], 9, exponent=0.0)) == [0] and len(best_of_two(many, [9, *[1] * 9], 9)) == 9
    # costs 1, 5, 5, budget 10: per token the first comes first, and then only one of the two good ones fits
    small = objective([3, 10, 10], np.zeros((3, 0)), np.eye(3), range(3), alone)
    assert names(greedy(small, [1, 5, 5], 10)) == [0, 1] and names(best_of_two(small, [1, 5, 5], 10)) == [1, 2]


@SEARCH
@given(problems(), st.sampled_from([None, 1, 2]))
def test_the_better_of_two_is_the_better_of_two(problem, cap):
    f, costs, budget = problem
    scaled, unit = greedy(f, costs, budget, 1.0, cap), greedy(f, costs, budget, 0.0, cap)
    both = best_of_two(f, costs, budget, cap=cap)
    assert both in (scaled, unit) and value(f, names(both)) >= max(value(f, names(p)) for p in (scaled, unit)) - 1e-12
    if value(f, names(unit)) <= value(f, names(scaled)):
        assert both == scaled  # equal F: the published rule's


@SEARCH
@given(problems(most=7))
def test_what_is_proved_holds(problem):
    f, costs, budget = problem
    optimum = exact(f, costs, budget)[1]
    assert value(f, names(best_of_two(f, costs, budget))) >= value(f, names(greedy(f, costs, budget))) - 1e-12 >= PROVED * optimum - 1e-9
    assert guarantee() == PROVED and np.isnan(guarantee(0.0)) and np.isnan(guarantee(1.0, cap=3))


# Optimum and bounds

@SEARCH
@given(problems(most=8))
def test_the_optimum_is_the_best_of_all_sets_the_smallest_of_equals(problem):
    f, costs, budget = problem
    every = [(list(s), value(f, s)) for s in subsets(len(costs)) if costs[list(s)].sum() <= budget]
    assert exact(f, costs, budget) == max(every, key=lambda pair: pair[1])


def test_fifteen_candidates_that_all_fit_are_32768_sets():
    given, costs, _ = random_problem(4, 15)
    f = objective(*given)
    sizes = [len(chosen) for chosen, _ in submodular_exact._levels(f, np.asarray(costs, float), costs.sum())]
    assert sum(sizes) + 1 == 2**15 and exact(f, costs, costs.sum())[1] == pytest.approx(value(f, range(15)))


@SEARCH
@given(problems(most=7), st.randoms(use_true_random=False))
def test_whole_snippets_bound_closer_than_parts_and_both_bound_the_optimum_in_any_order(problem, random):
    f, costs, budget = problem
    picked = names(greedy(f, costs, budget))
    random.shuffle(picked)
    parts, whole = (upper_bound(f, costs, budget, picked, whole=w) for w in (False, True))
    assert exact(f, costs, budget)[1] - 1e-12 <= whole <= parts + 1e-12


def test_costs_that_are_no_whole_numbers_are_bound_by_parts():
    given, costs, budget = random_problem(2, 10)
    f, picked = objective(*given), [3, 1]
    assert upper_bound(f, costs + 0.5, budget, picked, whole=True) == upper_bound(f, costs + 0.5, budget, picked)
    assert upper_bound(f, costs, budget, picked, whole=True) < upper_bound(f, costs, budget, picked)


@FEWER
@given(problems(most=7))
def test_a_certificate_is_a_share_of_the_optimum_that_the_pack_reaches(problem):
    f, costs, budget = problem
    picked = names(best_of_two(f, costs, budget))
    sure, optimum = certificate(f, costs, budget, picked), exact(f, costs, budget)[1]
    terms = [sure[k] for k in ("relevance", "query_coverage", "saturated_coverage", "document_diversity")]
    assert sure["F"] == pytest.approx(f.weights @ terms) and sure["singleton"] <= sure["F"] + 1e-12
    assert 0 <= sure["share"] <= 1 and sure["F"] >= sure["share"] * optimum - 1e-12 and sure["bound"] >= optimum - 1e-12


def test_a_certificate_where_nothing_is_worth_anything_or_nothing_fits():
    f = objective([0.0, 0.0], np.zeros((2, 0)), np.zeros((2, 2)), [0, 1])
    assert certificate(f, [1, 1], 2, [0, 1])["share"] == 1 == certificate(f, [5, 5], 4, [])["share"]


# Sparse neighbours

@pytest.mark.parametrize("seed", range(5))
def test_with_every_neighbour_kept_sparse_is_dense(seed):
    draw = np.random.default_rng(seed)
    unit = draw.normal(size=(40, 6))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    given, costs = (draw.random(40), draw.random((40, 4)) < 0.3), draw.integers(5, 60, 40).astype(float)
    document = draw.integers(0, 9, 40)
    dense, near = (objective(*given, s, document) for s in (np.clip(unit @ unit.T, 0, 1), neighbours(unit, 40)))
    for exponent in (0.0, 1.0):
        wanted = names(greedy(dense, costs, 200, exponent))
        assert names(greedy(near, costs, 200, exponent)) == wanted == names(lazy_greedy(near, costs, 200, exponent))
    assert value(near, wanted) == pytest.approx(value(dense, wanted), abs=1e-6)
    assert whole_value(unit, *given, document, wanted, block=7) == pytest.approx(value(dense, wanted), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_on_sparse_columns_lazy_equals_plain_and_the_gains_are_differences(seed):
    draw = np.random.default_rng(seed)
    near = neighbours(draw.normal(size=(60, 8)) / 3, 7)
    f = objective(draw.random(60), draw.random((60, 4)) < 0.3, near, draw.integers(0, 20, 60), alpha=[0.3, 1.0][seed % 2])
    costs = draw.integers(5, 60, 60).astype(float)
    picks = greedy(f, costs, 300)
    assert names(picks) == names(lazy_greedy(f, costs, 300)) and len(picks) > 5
    chosen = names(picks)[:3]
    assert gains(f, chosen) == pytest.approx([value(f, {*chosen, i}) - value(f, chosen) for i in range(60)], abs=1e-12)


def test_neighbours_are_the_nearest_on_either_side_and_nothing_is_below_0():
    unit = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [-1, 0]])
    kept = neighbours(unit, 2, block=3).toarray()
    assert kept == pytest.approx(np.array([[1, 0.8, 0, 0], [0.8, 1, 0.96, 0], [0, 0.96, 1, 0], [0, 0, 0, 1]]), abs=1e-6)
    assert neighbours(np.zeros((0, 2)), 3).shape == (0, 0)
    with pytest.raises(ValueError, match="at least one neighbour, itself, got k = 0"):
        neighbours(unit, 0)


def test_sparse_columns_are_checked_like_arrays():
    torn = sparse.csc_array(np.array([[1.0, -0.5], [-0.5, 1.0]]))
    assert objective([1, 1], np.zeros((2, 0)), torn, [0, 1]).similarity.toarray().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="1 NaN"):
        objective([1, 1], np.zeros((2, 0)), sparse.csc_array(np.array([[1.0, np.nan], [0.0, 1.0]])), [0, 1])


def test_the_method_hangs_on_the_number_of_candidates_alone():
    assert [method(n) for n in (0, submodular.LAZY_FROM - 1, submodular.LAZY_FROM, submodular_sparse.DENSE_TO, submodular_sparse.DENSE_TO + 1)] == [
        "plain", "plain", "lazy", "lazy", "neighbours"]
    unit = np.random.default_rng(0).normal(size=(150, 4))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    given = objective(np.ones(150), np.zeros((150, 0)), similarities(unit), range(150))
    assert fast_greedy(given, np.ones(150), 9) == greedy(given, np.ones(150), 9)


def test_neighbours_lose_little_and_never_gain_on_the_best():
    """Snippets in topics: what is packed among 16 neighbours is worth at least 90 % of what all pairs give."""
    draw = np.random.default_rng(1)
    unit = draw.normal(size=(40, 32))[draw.integers(40, size=600)] + 0.8 * draw.normal(size=(600, 32))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    relevance, terms, document, costs = draw.integers(0, 9, 600) / 8, draw.random((600, 8)) < 0.2, np.arange(600) // 3, draw.integers(20, 60, 600)
    dense, near = (objective(relevance, terms, s, document) for s in (np.clip(unit @ unit.T, 0, 1), neighbours(unit, 16)))
    all_pairs, few = (names(lazy_greedy(f, costs, 160)) for f in (dense, near))
    assert value(dense, few) >= 0.9 * value(dense, all_pairs)
    assert value(dense, few) <= upper_bound(dense, costs, 160, all_pairs)


# Order

@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_candidates_changes_nothing_in_any_solver(seed):
    (relevance, terms, similarity, document), costs, budget = random_problem(seed, 14)
    order = np.random.default_rng(seed).permutation(14)
    f, g = objective(relevance, terms, similarity, document), objective(relevance[order], terms[order], similarity[np.ix_(order, order)], document[order])
    for solve in (greedy, lazy_greedy, fast_greedy, best_of_two):
        picked = names(solve(f, costs, budget))
        assert picked == [order[i] for i in names(solve(g, costs[order], budget))]
    mine, theirs = certificate(f, costs, budget, picked), certificate(g, costs[order], budget, [int(np.flatnonzero(order == i)[0]) for i in picked])
    assert mine == pytest.approx(theirs)
    (mine, worth), (theirs, same) = exact(f, costs, budget), exact(g, costs[order], budget)
    assert sorted(mine) == sorted(order[i] for i in theirs) and worth == pytest.approx(same)


@pytest.mark.parametrize("changes, message", [({"exponent": float("nan")}, "exponent of the costs must be a number of 0 or more"),
                                              ({"exponent": -1.0}, "exponent of the costs"), ({"cap": 2.5}, "whole number of 1 or more")])
def test_a_rule_that_is_no_number_is_refused(changes, message):
    f = submodular.objective([0.5, 0.4], np.zeros((2, 0), bool), np.eye(2), [0, 1])
    with pytest.raises(ValueError, match=message):
        submodular.greedy(f, [3, 4], 10, **changes)


def test_infinity_and_a_wrong_number_of_costs_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        submodular.objective([np.inf, 0.4], np.zeros((2, 0), bool), np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="four weights"):
        submodular.objective([0.5, 0.4], np.zeros((2, 0), bool), np.eye(2), [0, 1], weights=(1, np.inf, 0, 0))
    with pytest.raises(ValueError, match="as many costs"):
        submodular.greedy(submodular.objective([0.5, 0.4], np.zeros((2, 0), bool), np.eye(2), [0, 1]), [3, 4, 5], 10)
