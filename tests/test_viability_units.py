"""Units of evidence and omission causes: METRIC_CASES' bundles, brute force, what must travel together, near-duplicates, alpha-nDCG, each cause's rule."""

import itertools
import math

import pandas as pd
import pyndeval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.grades import bundle_coverage
from lib.viability_cause_shares import cause_shares
from lib.viability_causes import CAUSES, Case, causes_of, omission_causes
from lib.viability_diversity import alpha_dcg, alpha_gains, alpha_ndcg, greedy_ideal
from lib.viability_slices import no_slices
from lib.viability_unit_table import relations, unit_rows, unit_table
from lib.viability_units import best_coverage, bundle_pieces, bundle_score, covered, unit_alternatives
from tests.test_viability import judged, lists

PASSAGES = "abcdefg"
SETS = st.sets(st.sampled_from(PASSAGES), min_size=1, max_size=3)


@pytest.mark.parametrize(("pool", "expected"), [("ac", (2 / 3, 1, True)), ("a", (1 / 3, 1 / 2, False)), ("c", (1 / 3, 1, True))])
def test_metric_cases_bundles(pool, expected):
    score = bundle_score([{"a", "b"}, {"c"}], set(pool), places=4)
    assert (score.union, score.best, score.complete) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(bundles=st.lists(SETS, min_size=1, max_size=4), pool=st.sets(st.sampled_from(PASSAGES)), places=st.integers(1, 5))
def test_bundle_completion_is_brute_force_over_choices(bundles, pool, places):
    score = bundle_score(bundles, pool, places)
    choices = [set(c) for n in range(places + 1) for c in itertools.combinations(sorted(pool), n)]
    assert score.complete == any(b <= pool for b in bundles)
    assert score.complete_within == any(b <= shown for b in bundles for shown in choices)
    assert score.best_within == pytest.approx(max(len(b & shown) / len(b) for b in bundles for shown in choices))


@settings(max_examples=100, deadline=None)
@given(pieces=st.lists(st.lists(SETS, min_size=1, max_size=2), min_size=1, max_size=5), pool=st.sets(st.sampled_from(PASSAGES)), places=st.integers(1, 6))
def test_the_ceiling_of_a_unit_is_brute_force_over_choices(pieces, pool, places):
    named = {f"p{i}": [frozenset(w) for w in ways] for i, ways in enumerate(pieces)}
    choices = [c for n in range(places + 1) for c in itertools.combinations(sorted(pool), n)]
    assert best_coverage(named, pool, places).coverage == pytest.approx(max(covered(named, c).coverage for c in choices))


def test_the_same_list_has_another_ceiling_in_each_unit():
    """Rule and fact lie in two documents; the rule's footnote is detached and was not retrieved."""
    about = {"document_of": {"rule": "policy", "footnote": "policy", "talk": "policy", "fact": "case"}, "travels": {"rule": ["footnote"]}}
    pool = ["talk", "rule", "fact"]
    found = {
        u: covered(unit_alternatives(["rule", "fact"], u, **about, corpus=pool if u == "document" else ()), pool)
        for u in ("document", "passage", "proposition")
    }
    assert {u: c.coverage for u, c in found.items()} == {"document": 1.0, "passage": 1.0, "proposition": 0.5}
    assert covered(unit_alternatives(["rule"], "document", **about, corpus=["talk"]), ["talk"]).complete  # any fragment of the document will do
    assert not covered(unit_alternatives(["rule"], "passage"), ["talk"]).complete


@pytest.mark.parametrize("kind", ["heading", "footnote", "table label", "effective date"])
def test_what_must_travel_with_a_passage_completes_it(kind):
    pieces = unit_alternatives(["rule"], "proposition", travels={"rule": [kind]})
    assert not covered(pieces, ["rule"]).complete and covered(pieces, ["rule", kind]).complete
    assert best_coverage(pieces, ["rule", kind], places=1).coverage == 0  # one place cannot show two parts
    assert bundle_pieces([["rule", "fact"]], {"rule": [kind]}) == [frozenset({"rule", "fact", kind})]


def test_near_duplicates_earn_nothing_twice():
    pieces = unit_alternatives(["rule", "copy", "fact"], "passage", copies={"copy": "rule"})
    assert covered(pieces, ["rule", "copy"]).coverage == covered(pieces, ["copy"]).coverage == 0.5
    assert bundle_score([{"rule", "fact"}], {"copy", "rule"}, 4, copies={"copy": "rule"}).best == 0.5
    assert bundle_score([{"rule", "fact"}], {"copy", "fact"}, 4, copies={"copy": "rule"}).complete


def test_the_table_of_units_reads_a_corpus_and_bundles():
    corpus = pd.DataFrame(
        {"doc_id": ["rule", "footnote", "fact", "talk"], "document": ["policy", "policy", "case", "policy"], "travels_with": ["footnote", None, None, None]}
    )
    gold = judged(q={"rule": 2, "fact": 1}).assign(bundle="one")
    rows = unit_rows(lists(q=["talk", "fact", "rule"]), gold, lists("re", q=["rule", "fact", "talk"]), cutoff=2, related=relations(corpus)).set_index("unit")
    assert rows.index.tolist() == ["document", "passage", "proposition", "bundle"]
    assert (
        rows["pool_complete"].tolist() == [1, 1, 0, 0]
        and rows["first_complete"].tolist() == [1, 0, 0, 0]
        and rows["reranked_complete"].tolist() == [1, 1, 0, 0]
    )
    assert rows["ceiling"].tolist() == pytest.approx([1, 1, 0.5, 2 / 3])
    table = unit_table(rows.reset_index(), no_slices(), resamples=100)
    assert set(table["unit"]) == {"document", "passage", "proposition", "bundle"} and table["n"].max() == 1


def test_without_a_corpus_only_passages_are_known():
    assert unit_rows(lists(q=["a"]), judged(q={"a": 1}))["unit"].tolist() == ["passage"]


def test_too_many_pieces_are_refused_and_single_passages_never_are():
    ids = [f"d{i}" for i in range(30)]
    assert best_coverage(unit_alternatives(ids, "passage"), ids, 10).coverage == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="30 pieces"):
        best_coverage({i: [frozenset({i, "shared"})] for i in ids}, [*ids, "shared"], 10)


def test_places_and_units_are_checked():
    with pytest.raises(ValueError, match="places must be 1"):
        best_coverage({"a": [frozenset("a")]}, "a", 0)
    with pytest.raises(ValueError, match="unit must be one of"):
        unit_alternatives(["a"], "bundle")


# ---- alpha-nDCG

# Worked by hand from the definition of Clarke et al. (SIGIR 2008), alpha 1/2: eight documents over five nuggets.
NUGGETS = [{2, 4}, {4}, {4}, set(), {1, 6}, {1}, {3}, {1}]


def test_alpha_gains_and_dcg_worked_by_hand():
    assert alpha_gains(NUGGETS) == [2, 0.5, 0.25, 0, 2, 0.5, 1, 0.25]
    assert [round(alpha_dcg(NUGGETS, k), 3) for k in range(1, 9)] == [2, 2.315, 2.44, 2.44, 3.214, 3.392, 3.726, 3.804]


def test_copies_of_one_rule_lose_to_rule_exception_and_procedure():
    corpus = [{"rule"}] * 4 + [{"exception"}, {"procedure"}]
    copies, bundle = [{"rule"}] * 4, [{"rule"}, {"exception"}, {"procedure"}]
    assert alpha_ndcg(bundle, corpus, 3) == 1 > alpha_ndcg(copies, corpus, 3) > 0
    assert alpha_ndcg(copies, corpus, 3, alpha=1) == pytest.approx(1 / sum(alpha_gains(bundle)[r] / d for r, d in enumerate([1, 1.584963, 2])), abs=1e-6)
    assert alpha_ndcg(copies, corpus, 3, alpha=0) == pytest.approx(1)  # nothing is forgiven: plain nDCG
    assert pd.isna(alpha_ndcg([set()], [set()], 3))


@settings(max_examples=40, deadline=None)
@given(corpus=st.lists(st.sets(st.integers(0, 3), max_size=3), min_size=1, max_size=5), k=st.integers(1, 4))
def test_the_greedy_ideal_starts_with_the_richest_and_is_nearly_optimal(corpus, k):
    best = max(alpha_dcg(list(order), k) for order in itertools.permutations(corpus))
    greedy = alpha_dcg(greedy_ideal(corpus, k), k)
    assert greedy <= best + 1e-12 and greedy >= (1 - 1 / 2.718281829) * best - 1e-12


@settings(max_examples=60, deadline=None)
@given(corpus=st.lists(st.sets(st.sampled_from("wxyz"), max_size=3), min_size=1, max_size=8), seed=st.randoms(use_true_random=False), k=st.integers(1, 10))
def test_alpha_ndcg_of_a_list_is_that_of_trecs_ndeval(corpus, seed, k):
    """A passage that states a fact is one way to show it; ndeval takes the last id where two passages of the ideal gain alike."""
    facts = {f"d{i}": stated for i, stated in enumerate(corpus)}
    listed = list(facts)
    seed.shuffle(listed)
    qrels = [pyndeval.SubtopicQrel("q", fact, doc, 1) for doc, stated in facts.items() for fact in stated]
    if not qrels:
        return
    run = [pyndeval.ScoredDoc("q", doc, -rank) for rank, doc in enumerate(listed)]
    theirs = pyndeval.ndeval(qrels, run, measures=[f"alpha-nDCG@{k}"])["q"][f"alpha-nDCG@{k}"]
    ours = alpha_ndcg([facts[d] for d in listed], [facts[d] for d in sorted(facts, reverse=True)], k)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_the_units_count_a_copy_at_half():
    """Two copies of one rule and an exception: of three places the second copy earns half, and nothing where a passage cannot stand alone."""
    first, gold = lists(q=["rule", "copy", "exception"]), judged(q={"rule": 1, "copy": 1, "exception": 1})
    again = lists(q=["rule", "exception", "copy"])
    related = {"document_of": {}, "travels": {}, "copies": {"copy": "rule"}}
    row = unit_rows(first, gold, again, 3, related=related).set_index("unit").loc["passage"]
    best = 1 + 1 / math.log2(3) + 0.5 / 2
    assert row["first_alpha_ndcg"] == pytest.approx((1 + 0.5 / math.log2(3) + 1 / 2) / best) and row["reranked_alpha_ndcg"] == pytest.approx(1)
    together = unit_rows(first, gold, again, 3, related=related | {"travels": {"rule": ["exception"]}}).set_index("unit")
    assert pd.isna(together.loc["proposition", "first_alpha_ndcg"]) and together.loc["passage", "first_alpha_ndcg"] == row["first_alpha_ndcg"]


# ---- causes


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case(1, 1, 99, 10, entitled=False, fresh=False), ["access filter", "freshness", "underspecified query"]),
        (Case(0.5, 0.5, 0, 10, fresh=False), ["freshness"]),
        (Case(0.2, 0.8, 0, 10), ["chunking"]),
        (Case(0.2, 0.2, 0, 10), ["vocabulary"]),
        (Case(1, 1, 10, 10), ["underspecified query"]),
        (Case(1, 1, 9, 10), ["unknown"]),
        (Case(0.5, 0.6, 50, 10), ["unknown"]),
        (Case(None, None, 0, 10), ["unknown"]),
    ],
)
def test_each_rule_of_a_cause(case, said):
    assert causes_of(case) == said


CORPUS = pd.DataFrame(
    [
        dict(doc_id="open", title="Visitors", text="visitors sign the register at the gate"),
        dict(doc_id="closed", title="Board", text="the board keeps the register of visitors", entitlement="board"),
        dict(doc_id="new", title="Gate 2026", text="visitors sign at the north gate", effective_from="2026-06-01"),
        dict(doc_id="old", title="Parking 2024", text="parking permits cost five", superseded_by="now"),
        dict(doc_id="now", title="Parking 2025", text="parking permits cost six"),
        dict(doc_id="head", title="", document="leave", text="annual leave for contractors"),
        dict(doc_id="body", title="", document="leave", text="it is ten days each year"),
        dict(doc_id="other", title="Menu", text="soup on Mondays"),
        *(dict(doc_id=f"same{i}", title="Reset", text="password reset policy") for i in range(4)),
    ]
)
QUERIES = pd.DataFrame(
    [
        dict(qid="access", text="who keeps the register of visitors", entitlements=["staff"]),
        dict(qid="fresh", text="at which gate do visitors sign"),
        dict(qid="replaced", text="parking permits cost"),
        dict(qid="chunk", text="annual leave for contractors"),
        dict(qid="vague", text="password reset policy"),
        dict(qid="words", text="what is served for lunch"),
    ]
)
MISSING = {"access": "closed", "fresh": "new", "replaced": "now", "chunk": "body", "vague": "same0", "words": "other"}
EXPECTED = {
    "access": "access filter",
    "fresh": "freshness",
    "replaced": "freshness",
    "chunk": "chunking",
    "vague": "underspecified query",
    "words": "vocabulary",
}


def labelled(queries=QUERIES, corpus=CORPUS):
    pools = lists(access=["open"], fresh=["open"], replaced=["old"], chunk=["open"], vague=["same1"], words=["open"])
    gold = judged(**{q: {d: 1, "open": 0} for q, d in MISSING.items()})
    return omission_causes(pools, gold, queries, corpus, indexed_at="2026-01-31", depth=3)


def test_a_corpus_with_one_example_of_each_cause():
    assert labelled().set_index("qid")["cause"].to_dict() == EXPECTED


def test_a_cause_goes_when_its_ground_goes():
    assert labelled(QUERIES.assign(entitlements=[["board"]] * 6)).set_index("qid").loc["access", "cause"] == "unknown"
    assert labelled(corpus=CORPUS.assign(effective_from="2025-01-01")).set_index("qid").loc["fresh", "cause"] == "unknown"
    assert labelled(corpus=CORPUS.assign(document=None)).set_index("qid").loc["chunk", "cause"] == "vocabulary"
    assert labelled(corpus=CORPUS[CORPUS["doc_id"] != "same3"]).set_index("qid").loc["vague", "cause"] == "unknown"


def test_without_texts_causes_are_unknown_and_a_passage_the_index_lacks_is_freshness():
    assert set(labelled(None, None)["cause"]) == {"unknown"}
    assert labelled(corpus=CORPUS[CORPUS["doc_id"] != "other"]).set_index("qid").loc["words", "cause"] == "freshness"


def test_shares_add_up_in_every_slice():
    slices = pd.DataFrame([("set", q, "policy" if q in ("access", "fresh") else "other") for q in MISSING], columns=["dataset", "qid", "slice"])
    shares = cause_shares(labelled(), slices, resamples=200)
    assert shares.groupby("slice")["estimate"].sum().tolist() == pytest.approx([1, 1, 1]) and set(shares["cause"]) == set(CAUSES)
    assert shares.query("slice == 'policy' and cause == 'freshness'")["passages"].tolist() == [1]
    assert cause_shares(labelled().iloc[:0], slices).empty


def test_bundle_coverage_has_one_formula():
    assert bundle_score([{"a"}], {"a"}, 1)[:3] == tuple(bundle_coverage([{"a"}], {"a"}))
