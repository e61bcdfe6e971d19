"""Packing rules: what each one prefers, and what none of them may do."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import candidates

from lib import diagnostics, evidence, packers, submodular, tables, weights
from lib.packers import PACKERS, focused, mmr, naive, pack, reading_order, submod, topk
from lib.settings import pack_id, setting

SEARCH = settings(max_examples=150, deadline=None, derandomize=True, database=None)
POLICIES = sorted(PACKERS)


@st.composite
def any_candidates(draw):
    """Up to nine snippets with many ties, some dearer than any budget."""
    n = draw(st.integers(0, 9))
    column = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    relevance, costs, document = (np.array(draw(column), int) for _ in range(3))
    terms = np.array(draw(st.lists(st.booleans(), min_size=3 * n, max_size=3 * n)), bool).reshape(n, 3)
    cosine = np.random.default_rng(draw(st.integers(0, 99))).uniform(-1, 1, (n, n))
    similarity = (cosine + cosine.T) / 2
    return candidates(relevance / 4, 7 * costs + 1, np.sort(document), terms, similarity, holds_answer=relevance > 2)


def names(picks):
    return [i for i, _ in picks]


@pytest.mark.parametrize("policy", POLICIES)
def test_metric_case_no_candidate_fits(policy):
    c = candidates([0.5, 0.9], [12, 11], holds_answer=[True, False])
    assert pack(c, policy, 10) == [] == pack(c, policy, 0)
    assert pack(candidates([], [], holds_answer=[]), policy, 10) == []


@pytest.mark.parametrize("cost", [0, -3, np.nan])
def test_metric_case_a_costless_snippet_is_an_error_before_any_packer_sees_it(cost):
    with pytest.raises(ValueError, match="at least one token, but candidate 1 costs"):
        candidates([0.5, 0.9], [12, cost])


@pytest.mark.parametrize("policy", ["naive", "mmr", "focused", "submod", "topk"])
def test_metric_case_equals_go_to_the_better_first_stage_rank(policy):
    assert names(pack(candidates([0.5] * 4, [5] * 4), policy, 10)) == [0, 1]


def test_metric_case_a_question_without_content_terms_has_query_coverage_0():
    c = candidates([0.0, 0.0], [5, 5])
    assert submodular.terms_of(packers.objective(c), [0, 1])[:2].tolist() == [0, 0]
    assert names(submod(c, 10)) == names(focused(c, 10)) == [0, 1]


@SEARCH
@given(any_candidates(), st.integers(0, 40))
def test_metric_case_mmr_with_lambda_1_is_the_relevance_order(c, budget):
    assert names(mmr(c, budget, lam=1.0)) == names(naive(c, budget))


@SEARCH
@given(any_candidates(), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_metric_case_mmr_picks_the_most_relevant_first(c, lam):
    if c.ids:
        assert mmr(c, c.costs.sum(), lam)[0][0] == np.argmax(c.relevance)


@SEARCH
@given(any_candidates(), st.integers(0, 60), st.sampled_from(POLICIES))
def test_no_packer_goes_over_its_budget_or_packs_twice(c, budget, policy):
    picks = names(pack(c, policy, budget))
    assert len(set(picks)) == len(picks)
    assert c.costs[picks].sum() <= budget


@SEARCH
@given(any_candidates(), st.integers(0, 60), st.sampled_from(["naive", "focused", "mmr", "submod", "random", "gold"]))
def test_what_is_left_out_does_not_fit_any_more(c, budget, policy):
    picks = names(pack(c, policy, budget))
    fallback = policy == "submod" and len(picks) == 1  # one snippet instead of what the greedy chose
    left = [i for i in range(len(c.ids)) if i not in picks]
    assert fallback or all(c.costs[picks].sum() + c.costs[i] > budget for i in left)


@SEARCH
@given(any_candidates(), st.integers(1, 60), st.sampled_from(["naive", "mmr", "submod"]))
def test_similarities_below_0_count_as_0(c, budget, policy):
    clipped = candidates(c.relevance, c.costs, c.document, c.terms, np.clip(c.similarity, 0, 1))
    assert pack(c, policy, budget) == pack(clipped, policy, budget)


def test_mmr_leaves_out_a_copy_and_more_so_with_less_lambda():
    similarity = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    c = candidates([0.9, 0.9, 0.6], [5, 5, 5], similarity=similarity)
    assert names(mmr(c, 10, lam=1.0)) == [0, 1]
    assert names(mmr(c, 10)) == [0, 2]  # 0.7 x 0.9 - 0.3 < 0.7 x 0.6: lambda is neither ignored nor inverted
    assert names(mmr(c, 10, lam=0.9)) == [0, 1]
    assert dict(mmr(c, 15)) == pytest.approx({0: 0.63, 2: 0.42, 1: 0.33})


@pytest.mark.parametrize("lam", [-0.1, 1.1, 70, float("nan")])
def test_mmr_refuses_a_lambda_that_is_none(lam):
    with pytest.raises(ValueError, match=r"lambda must lie in \[0, 1\]"):
        mmr(candidates([0.5], [1]), 5, lam=lam)


def test_focused_prefers_new_terms_then_new_documents_then_relevance():
    terms = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    c = candidates([0.2, 0.9, 0.1, 0.8, 0.3], [5] * 5, [0, 0, 0, 0, 1], terms)
    assert names(focused(c, 25)) == [1, 2, 4, 3, 0]
    assert [gain for _, gain in focused(c, 25)] == [2, 1, 0, 0, 0]


def test_focused_ignores_length_and_checks_the_budget_after_the_pick():
    c = candidates([0.1, 0.1], [9, 2], terms=[[1, 1], [1, 0]])
    assert names(focused(c, 10)) == [0]       # the longer one is better, and it fits
    assert names(focused(c, 8)) == [1]        # it does not fit: passed over
    assert names(focused(c, 8, stop=True)) == []


def test_naive_passes_over_what_does_not_fit_or_stops_there():
    c = candidates([0.9, 0.5, 0.7], [4, 3, 8])
    assert naive(c, 8) == [(0, 0.9), (1, 0.5)]
    assert naive(c, 8, stop=True) == [(0, 0.9)]


def test_submod_divides_by_length_unless_told_not_to():
    c = candidates([0.5, 0.3, 0.3], [10, 4, 4])
    weights = (1, 0, 0, 0)
    assert names(submod(c, 10, weights=weights)) == [1, 2]
    assert names(submod(c, 10, exponent=0.0, weights=weights)) == [0]
    assert names(submod(c, 18, cap=1, weights=weights)) == [0]  # one per-token pick, beaten by the better single snippet


def test_topk_reads_documents_in_rank_order_and_is_cut_at_the_first_that_does_not_fit():
    c = candidates([0.1, 0.9, 0.9], [4, 9, 1], [0, 0, 1])
    assert names(topk(c, 14)) == [0, 1, 2]
    assert names(topk(c, 12)) == [0]  # the third would fit, but the text was cut


def test_gold_packs_what_holds_the_answer_first():
    c = candidates([0.9, 0.1, 0.1], [5, 5, 5], [0, 0, 1], holds_answer=[False, False, True])
    assert names(packers.gold(c, 10)) == [2, 0]
    assert names(pack(c, "gold", 10)) == [0, 2]
    with pytest.raises(ValueError, match="holds_answer"):
        packers.gold(candidates([0.9], [5]), 10)


def test_random_hangs_on_seed_and_question_alone():
    c, other = (candidates(np.zeros(9), [1] * 9, qid=q) for q in ("q1", "q2"))
    assert packers.random(c, 9) == packers.random(c, 9)
    orders = [names(packers.random(*a)) for a in ((c, 9), (c, 9, 1), (other, 9))]
    assert len({tuple(order) for order in orders}) == 3 and all(sorted(order) == list(range(9)) for order in orders)


def test_the_reading_order_is_the_first_stage_order_or_the_order_picked():
    c = candidates([0.1, 0.5, 0.9], [5, 5, 5], [0, 1, 1])
    picks = naive(c, 15)
    assert names(picks) == [2, 1, 0]
    assert names(pack(c, "naive", 15)) == [0, 1, 2] and names(pack(c, "naive", 15, order="picked")) == [2, 1, 0]
    with pytest.raises(ValueError, match="'rank' or 'picked', got 'reverse'"):
        reading_order(c, picks, "reverse")


def test_errors_name_what_was_got():
    with pytest.raises(ValueError, match="no packer is called 'greedy'; there are naive"):
        pack(candidates([0.5], [1]), "greedy", 5)
    with pytest.raises(ValueError, match="not NaN or infinite, got nan for question 'q'"):
        candidates([0.5, np.nan], [1, 1])
    with pytest.raises(ValueError, match="has 2 candidates, but {'costs': 3} entries"):
        candidates([0.5, 0.5], [1, 1, 1])


def one_by_one(c, budget, stop, key, told):
    """Look at all that is left, take the best by ``key``, drop it if it does not fit: the rule as it is written down, nothing kept."""
    left, rest, picks = budget, list(range(len(c.ids))), []
    while rest:
        best = max(rest, key=lambda i: (*key(i, picks), -i))
        rest.remove(best)
        if c.costs[best] > left:
            if stop:
                break
            continue
        picks.append((best, told(best, picks)))
        left -= c.costs[best]
    return picks


@SEARCH
@given(any_candidates(), st.integers(0, 60), st.booleans())
def test_focused_is_its_rule_taken_literally(c, budget, stop):
    def new(i, picks):
        return (c.terms[i] & ~c.terms[names(picks)].any(axis=0)).sum()

    def key(i, picks):
        return new(i, picks), c.document[i] not in c.document[names(picks)], c.relevance[i]

    assert focused(c, budget, stop) == one_by_one(c, budget, stop, key, lambda i, picks: float(new(i, picks)))


@SEARCH
@given(any_candidates(), st.integers(0, 60), st.booleans(), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_mmr_is_its_rule_taken_literally(c, budget, stop, lam):
    def score(i, picks):
        return lam * c.relevance[i] - (1 - lam) * np.clip(c.similarity[i, names(picks)], 0, 1).max(initial=0)

    def key(i, picks):
        return score(i, picks), 0 if picks else c.relevance[i]

    assert mmr(c, budget, lam, stop) == one_by_one(c, budget, stop, key, lambda i, picks: float(score(i, picks)))


@SEARCH
@given(any_candidates(), st.integers(0, 60))
def test_submod_can_take_the_better_of_two_greedies(c, budget):
    f = packers.objective(c)
    ratio, both = (names(submod(c, budget, greedy=g)) for g in ("ratio", "both"))
    assert submodular.value(f, both) >= submodular.value(f, ratio) - 1e-12


def test_submod_refuses_a_greedy_that_is_none():
    with pytest.raises(ValueError, match="greedy must be one of ratio, both, got 'lazy'"):
        submod(candidates([0.5], [1]), 5, greedy="lazy")


@pytest.mark.parametrize("policy", ["naive", "focused", "mmr", "submod"])
def test_the_order_of_candidates_moves_ties_alone(policy):
    """Distinct relevances, so nothing is tied: whoever lists the candidates otherwise packs the same snippets."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        relevance, costs, terms, document = draw.permutation(9) / 9, draw.integers(3, 30, 9), draw.random((9, 3)) < 0.4, draw.integers(0, 4, 9)
        cosine = draw.uniform(0, 1, (9, 9))
        similarity, order = (cosine + cosine.T) / 2, draw.permutation(9)
        c = candidates(relevance, costs, document, terms, similarity)
        other = candidates(relevance[order], costs[order], document[order], terms[order], similarity[np.ix_(order, order)])
        assert names(PACKERS[policy](c, 60)) == [order[i] for i in names(PACKERS[policy](other, 60))]


def test_picked_is_the_order_picked_and_pack_the_reading_order():
    c = candidates([0.1, 0.5, 0.9], [5, 5, 5], [0, 1, 1])
    assert names(packers.picked(c, "naive", 15)) == [2, 1, 0] and names(pack(c, "naive", 15)) == [0, 1, 2]


def test_settings_at_their_published_values_name_no_pack_of_their_own():
    assert pack_id(setting(alpha=0.3, lam=0.7, greedy="ratio")) == pack_id(setting()) == "own-dense-5.chunk"
    assert pack_id(setting(alpha=1)) == pack_id(setting(alpha=1.0)) == "own-dense-5.chunk.alpha=1.0"
    assert pack_id(setting(lam=0.5, greedy="both")) == "own-dense-5.chunk.lambda=0.5.greedy=both"


@pytest.mark.parametrize(("change", "message"), [
    ({"alpha": -0.1}, "alpha must be a number of 0 or more"), ({"alpha": "0.3"}, "alpha must be a number"),
    ({"lam": 1.1}, r"lam, MMR's lambda, must lie in \[0, 1\]"),
    ({"lam": None}, "lam must be a number"), ({"greedy": "lazy"}, "greedy must be one of ratio, both, got 'lazy'"),
])
def test_settings_that_no_packer_takes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        setting(**change)


@pytest.mark.parametrize("tier", ["sample", "real", "own", "paper"])
def test_no_joined_context_of_a_tier_costs_more_than_its_budget(tier):
    """The 2,000 of the lowest hash counted again from the text, in the budget tokenizer; the rest by what their snippets cost, which adds up to the same."""
    if not tables.TABLES["contexts"].path(tier).exists():
        pytest.skip(f"the {tier} tier has not been packed here")
    contexts, packs = tables.read_all(tier, "contexts", "packs")
    tokenizers = contexts["pack_id"].str.extract(r"tokens=([^.]+)")[0].fillna(setting()["tokenizer"])
    for tokenizer, rows in contexts.groupby(tokenizers):
        rows = rows[rows["context_hash"].isin(sorted(set(rows["context_hash"]))[:2_000])]
        texts = rows.drop_duplicates("context_hash")
        try:
            count = evidence.budget_tokenizer(tokenizer)
        except weights.WeightsError:
            pytest.skip(f"{tokenizer} is not here to count with")
        joined = dict(zip(texts["context_hash"], count([t + evidence.SEPARATOR if t else "" for t in texts["context"]])))
        tokens = rows["context_hash"].map(joined)
        assert (tokens <= rows["budget"]).all() and (tokens == rows["n_tokens"]).all()
    assert (contexts["n_tokens"] <= contexts["budget"]).all()
    sums = packs.groupby(diagnostics.PACK_KEY)["n_tokens"].sum().reset_index()
    told = sums.merge(contexts, on=diagnostics.PACK_KEY, how="left", suffixes=("", "_told"), validate="one_to_one")
    assert (told["n_tokens"] == told["n_tokens_told"]).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("budget", [np.nan, -1, -np.inf, None, "160", True])
def test_a_budget_that_is_none_is_one_clear_error_from_every_packer(policy, budget):
    c = candidates([0.5, 0.9], [12, 11], holds_answer=[True, False])
    for run in (lambda: PACKERS[policy](c, budget), lambda: pack(c, policy, budget), lambda: pack(candidates([], [], holds_answer=[]), policy, budget)):
        with pytest.raises(ValueError, match="a token budget must be a number of 0 or more"):
            run()


@pytest.mark.parametrize("policy", POLICIES)
def test_an_endless_budget_takes_all_that_a_large_one_takes(policy):
    c = candidates([0.5, 0.9, 0.3], [12, 11, 7], holds_answer=[True, False, True])
    assert sorted(names(pack(c, policy, np.inf))) == sorted(names(pack(c, policy, 10**6))) == [0, 1, 2]
    assert names(pack(c, policy, np.int64(23))) == names(pack(c, policy, 23.0))


@pytest.mark.parametrize(("wrong", "message"), [
    ({"similarity": [[1, np.nan], [np.nan, 1]]}, "needs 2 x 2 similarities without NaN"), ({"similarity": [[1, np.inf], [0, 1]]}, "without NaN or infinity"),
    ({"similarity": np.eye(3)[:2]}, r"needs 2 x 2 similarities .*got \(2, 3\)"),
    ({"relevance": [0.5, np.inf]}, "relevance must be 0 or more and not NaN or infinite"), ({"relevance": [0.9, -0.5]}, "relevance must be .* got -0.5"),
    ({"relevance": [0.5, np.nan]}, "relevance must be"), ({"costs": [5, np.inf]}, "candidate 1 costs inf")])
def test_no_candidate_is_handed_to_a_packer_with_what_is_no_number(wrong, message):
    with pytest.raises(ValueError, match=message):
        candidates(**{"relevance": [0.5, 0.9], "costs": [12, 11]} | wrong)
