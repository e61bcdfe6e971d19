"""The scope map's contrasts: against lib.stats on the same columns, differences of slices, planted effects, and gaps that count nothing."""
import numpy as np
import pandas as pd
import pytest
from scope_world import MAIN, one, outcomes, questions, settings, survived

from lib import scope, scope_conditions, scope_map, stats, tables

DRAWS = 400


def rows_of(asked, **given):
    return scope.arms(survived(asked, **given), asked)


def test_judged_equals_the_statistics_it_gathers():
    rng = np.random.default_rng(0)
    deltas = pd.DataFrame({"a": rng.normal(0.1, 0.3, 80), "b": rng.choice([-1.0, 0.0, 1.0, np.nan], 80)}, index=[f"q{i}" for i in range(80)])
    made = scope.judged(deltas, 0.05, DRAWS)
    peers = stats.paired_cluster_bootstraps(deltas.to_numpy(), deltas.index, DRAWS)
    for name, peer in zip("ab", peers):
        same = stats.equivalence(deltas[name], deltas.index, 0.05, resamples=DRAWS)
        assert made.loc[name, ["delta", "ci_low", "ci_high", "p_value", "eq_low", "eq_high", "eq_p", "n"]].tolist() == pytest.approx(
            [*peer[:4], same.low, same.high, same.p_value, peer.n])
        assert made.loc[name, "mde"] == pytest.approx(stats.minimum_detectable_effect(deltas[name].std(), peer.n))
    assert made["p_holm"].tolist() == pytest.approx(stats.holm([p.p_value for p in peers]).tolist())


def test_rows_in_another_order_change_nothing():
    deltas = pd.DataFrame({"a": np.random.default_rng(1).normal(0, 1, 30)}, index=[f"q{i}" for i in range(30)])
    assert scope.judged(deltas, 0.1, DRAWS).equals(scope.judged(deltas.sample(frac=1, random_state=3), 0.1, DRAWS))


def test_a_difference_of_disjoint_slices_is_that_of_their_means_and_as_wide_as_both():
    rng = np.random.default_rng(2)
    values = pd.Series(rng.normal(0, 1, 4_000), index=[f"q{i}" for i in range(4_000)])
    parts = pd.DataFrame({"left": values.where(np.arange(4_000) < 1_000), "right": values.where(np.arange(4_000) >= 1_000)})
    made = scope.judged(parts, 0.05, 2_000, minus={"left − right": ("left", "right")}).loc["left − right"]
    assert made["delta"] == pytest.approx(parts["left"].mean() - parts["right"].mean()) and made["n"] == 4_000
    assert (made["ci_high"] - made["ci_low"]) / 3.92 == pytest.approx((1 / 1_000 + 1 / 3_000) ** 0.5, rel=0.08)
    assert made["mde"] == pytest.approx(2.8016 * (1 / 1_000 + 1 / 3_000) ** 0.5, rel=0.05)


def test_a_difference_of_shared_questions_is_paired():
    base = pd.Series(np.random.default_rng(3).normal(0, 1, 50), index=[f"q{i}" for i in range(50)])
    made = scope.judged(pd.DataFrame({"a": base + 0.1, "b": base}), 0.5, DRAWS, minus={"a − b": ("a", "b")}).loc["a − b"]
    assert made["delta"] == pytest.approx(0.1) and made["ci_high"] - made["ci_low"] < 1e-9 and made["n"] == 50


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_questions_have_no_interval_and_no_verdict(n):
    deltas = pd.DataFrame({"a": [0.5] * n}, index=[f"q{i}" for i in range(n)])
    made = scope.judged(deltas, 0.02, 50)
    assert len(made) == n and made["ci_low"].isna().all() and set(made["verdict"]) <= {"undefined"}


def test_a_margin_must_be_positive():
    with pytest.raises(ValueError, match="margin must be positive, got 0"):
        scope.judged(pd.DataFrame({"a": [0.0, 1.0]}), 0)


def test_slices_are_what_the_questions_need():
    made = scope_conditions.slices(questions(9))
    assert [len(made[k]) for k in ("single-pass", "multi-hop", "chain", "comparison")] == [3, 6, 3, 3]
    assert set(made["single-pass"]).isdisjoint(made["multi-hop"])
    unknown = questions(9).assign(n_hops=pd.array([pd.NA] * 9, dtype="Int64"))
    assert scope_conditions.slices(unknown) == {}


def test_structure_finds_a_planted_effect_only_where_it_was_planted():
    asked = questions(300)
    chance = lambda q, policy, budget, pack: 0.9 if policy == "submod" and q.n_hops == 2 else 0.4  # noqa: E731
    table = scope_conditions.structure(rows_of(asked, chance=chance), asked, "t", [("submod", "focused")], ["answer_in_context_defined"], resamples=DRAWS)
    assert one(table, setting="multi-hop")["verdict"] == "wins" and one(table, setting="single-pass")["delta"] == 0
    difference = one(table, setting="multi-hop − single-pass")
    assert difference["verdict"] == "wins" and difference["delta"] == pytest.approx(one(table, setting="multi-hop")["delta"])
    assert one(table, setting="chain − comparison")["verdict"] == "undecided"


def test_a_packer_against_itself_gains_nothing_in_any_slice():
    asked = questions(30)
    table = scope_conditions.structure(rows_of(asked), asked, "t", [("naive", "naive")], ["answer_in_context"], resamples=50)
    assert len(table) and not table[["delta", "ci_low", "ci_high"]].any(axis=None)


def test_surfaced_splits_questions_by_their_gold_in_the_pool():
    asked = questions(4)
    gold = pd.DataFrame([("d", q, doc) for q, docs in (("q000", ["a"]), ("q001", ["a", "b"]), ("q002", ["c"])) for doc in docs],
                        columns=["dataset", "qid", "doc_id"])
    rankings = pd.DataFrame([("d", q, "own", "dense", r, doc) for q, docs in (("q000", ["a"]), ("q001", ["a", "x", "b"]), ("q002", ["x"]), ("q003", ["x"]))
                             for r, doc in enumerate(docs, 1)], columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id"])
    assert scope_conditions.surfaced(asked, gold, rankings, ("own", "dense", 2)) == {"surfaced": [("d", "q000")],
                                                                                     "not surfaced": [("d", "q001"), ("d", "q002")]}
    assert scope_conditions.surfaced(asked, gold, rankings, ("own", "dense", 3))["surfaced"] == [("d", "q000"), ("d", "q001")]
    assert scope_conditions.surfaced(asked, gold[:0], rankings, ("own", "dense", 3)) == {}


def test_pools_are_paired_with_the_main_one_and_named_by_where_they_come_from():
    asked, deeper = questions(80), "own-dense-10.chunk"
    chance = lambda q, policy, budget, pack: 0.8 if policy == "submod" and pack == deeper else 0.5  # noqa: E731
    told = settings({"depth": 10}, {"exponent": 0.0})
    table = scope_conditions.pools(survived(asked, chance, packs=(MAIN, deeper, "own-dense-5.chunk.r=0.0")), asked, told, MAIN, 160, "t",
                                   [("submod", "focused")],
                                   ["answer_in_context_defined"], resamples=DRAWS)
    assert set(table["setting"]) == {"own dense 5", "own dense 10", "own dense 10 − own dense 5"}, "another exponent is no other pool"
    delta = table.set_index("setting")["delta"]
    assert delta["own dense 10 − own dense 5"] == pytest.approx(delta["own dense 10"] - delta["own dense 5"])


def test_readers_are_compared_on_the_questions_they_share():
    asked = questions(60)
    rows = survived(asked, lambda q, policy, *_: 0.9 if policy == "submod" else 0.2)
    worth = {"small": 0.8, "large": 0.1}
    read = outcomes(rows, asked, [("small", "fp32"), ("large", "fp32")], lambda row, reader: worth[reader] * row.answer_in_context)
    read = read[(read["reader"] == "small") | (read["qid"] < "q050")]
    table = scope_conditions.readers(read, MAIN, 160, ["small fp32"], "t", [("submod", "focused")], ["f1"], resamples=DRAWS)
    difference = one(table, setting="small fp32 − large fp32")
    assert difference["n"] == 50 and difference["verdict"] == "wins" and difference["reader"] == "several"
    assert one(table, setting="small fp32")["expected"] == "helps" and one(table, setting="large fp32")["expected"] == "fails"


def test_all_sets_pool_their_questions():
    asked = pd.concat([questions(20), questions(40, "e")], ignore_index=True)
    table = scope_conditions.structure(rows_of(asked), asked, "t", [("submod", "naive")], ["answer_in_context"], resamples=50)
    pooled, parts = one(table, dataset="all", setting="multi-hop"), table[table["setting"] == "multi-hop"].set_index("dataset")
    assert pooled["n"] == parts.loc["d", "n"] + parts.loc["e", "n"]
    assert pooled["delta"] * pooled["n"] == pytest.approx(parts.loc["d", "delta"] * parts.loc["d", "n"] + parts.loc["e", "delta"] * parts.loc["e", "n"])


def test_the_table_fits_its_declaration_and_the_map_takes_its_rows():
    asked = questions(40)
    rows = survived(asked)
    read = outcomes(rows, asked)
    main = scope.main_rows(rows, read, asked, MAIN, 160)
    table = pd.concat([scope_conditions.structure(main, asked, "t", resamples=50), scope_conditions.readers(read, MAIN, 160, [], "t", resamples=50)])
    assert len(tables.check(table, "scope")) == len(table)
    drawn = scope_map.rows(table, "small", "small")
    ours = drawn[drawn["source"] == "ours"]
    assert {"structure", "reader"} == set(ours["condition"]) and set(ours["column"]) == {"answer in context", "F1"}
    assert set(drawn.loc[drawn["source"] == "published", "column"]) == {"F1"}
    found = scope_map.verdicts(table).set_index("condition")["verdict"]
    assert found["budget"] == found["retrieval"] == "not tested" and found["structure"] in ("not seen", "borne out", "reversed")


def test_no_defined_answer_leaves_rows_without_a_verdict_and_nothing_crashes():
    asked = questions(30)
    rows = survived(asked).assign(answer_defined=False)
    made = scope_conditions.structure(scope.arms(rows, asked), asked, "t", [("submod", "focused")], ["answer_in_context_defined"], resamples=50)
    assert made.empty and scope_map.verdicts(made)["verdict"].eq("not tested").all()
    assert scope_map.rows(made, "small", "small").empty


def test_the_main_arm_is_the_pack_that_was_read_most():
    asked = questions(4)
    read = outcomes(survived(asked, packs=(MAIN, "own-dense-5.ace")), asked)
    assert scope.main_arm(read[(read["pack_id"] == "own-dense-5.ace") | (read["qid"] < "q002")]) == (MAIN, 160)
    with pytest.raises(ValueError, match="no context was read in this run"):
        scope.main_arm(read.assign(em=np.nan))


def test_a_question_to_show_needs_a_pack_at_that_budget():
    asked = questions(6)
    assert scope.parting(rows_of(asked), "submod", "focused", 160)[0] == asked["dataset"].iat[0]
    with pytest.raises(ValueError, match=r"no pack of 17 tokens .* budgets of these rows are \[160\]"):
        scope.parting(rows_of(asked), "submod", "focused", 17)
    with pytest.raises(ValueError, match="no pack of 160 tokens"):
        scope.parting(rows_of(asked)[:0], "submod", "focused", 160)
