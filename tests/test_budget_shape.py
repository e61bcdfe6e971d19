"""Gaps over the budget and their shape, contexts in three orders, the table of advice, the graph's twin: by hand, planted effects, sound nothing."""
import hashlib

import numpy as np
import pandas as pd
import pytest
from scope_world import MAIN, one, outcomes, questions, settings, survived

from lib import budget_shape, context_order, evidence, factorial, scope, scope_conditions, scope_graph, scope_partners, scope_reads, tables, when

BUDGETS = (96, 128, 160, 224)
PAIR = [("submod", "focused")]


def swept(gains, n=400, seed=0, policies=("focused", "submod")):
    """submod keeps ``gains[budget]`` more answers than focused."""
    asked = questions(n)
    return scope.arms(survived(asked, lambda q, p, b, _: 0.4 + (gains[b] if p == "submod" else 0), tuple(gains), policies=policies, seed=seed), asked)


def shape_of(gains, **given):
    return budget_shape.budget_shape(swept(gains, **given), PAIR, ["answer_in_context_defined"], "t", resamples=400).set_index("quantity")


def test_a_planted_inverted_u_is_found_and_a_flat_or_monotone_gain_is_none():
    top = shape_of({96: 0.0, 128: 0.1, 160: 0.25, 224: 0.0})
    assert top.loc["bump", "verdict"] == "above 0" and top.loc["curve", "verdict"] == "below 0"
    flat = shape_of(dict.fromkeys(BUDGETS, 0.1))
    assert flat.loc["bump", "delta"] == 0 and flat.loc["curve", "delta"] == pytest.approx(0, abs=1e-9) and flat.loc["gap_96", "verdict"] == "wins"
    falling = shape_of({96: 0.3, 128: 0.2, 160: 0.1, 224: 0.0})
    assert falling.loc["trend", "verdict"] == "below 0" and falling.loc["bump", "verdict"] != "above 0"


def test_the_contrasts_are_what_they_say_of_the_gaps():
    table = shape_of({96: 0.1, 128: 0.0, 160: 0.2, 224: 0.05}, seed=3)
    gap = {b: table.loc[f"gap_{b}", "delta"] for b in BUDGETS}
    assert table.loc["bump", "delta"] == pytest.approx(gap[160] - (gap[96] + gap[224]) / 2)
    fit = np.polyfit(np.log2(BUDGETS), list(gap.values()), 2)
    assert table.loc["curve", "delta"] == pytest.approx(fit[0])
    assert table.loc["trend", "delta"] == pytest.approx(np.polyfit(np.log2(BUDGETS), list(gap.values()), 1)[0])
    assert table.loc["gap_160", "n"] == 400


def test_a_shape_needs_its_budgets():
    two = shape_of({96: 0.0, 160: 0.1})
    assert set(two.index) == {"gap_96", "gap_160", "trend"}
    assert set(shape_of({160: 0.1}).index) == {"gap_160"}
    assert budget_shape.budget_shape(swept({160: 0.1}), [("tuned", "focused")], ["answer_in_context_defined"], "t").empty


def test_the_shape_goes_into_the_scope_table():
    rows = scope_conditions.budgets(shape_of({b: 0.0 for b in BUDGETS}, n=40).reset_index())
    assert len(tables.check(rows, "scope")) == 7
    assert one(rows, setting="budget 160")["expected"] == "helps" and one(rows, setting="budget 224")["budget"] == 224 and one(rows,
                                                                                                                               setting="bump")["budget"] == 0


def test_same_quality_is_earned_by_equivalence_and_tokens_are_a_contrast():
    rows = swept({160: 0.0, 224: 0.0}, n=1_200)
    rows.loc[rows["budget"] == 224, "n_tokens"] += 60
    table = budget_shape.same_quality(rows, "t", ["answer_in_context_defined", "n_tokens"], resamples=300)
    assert one(table, metric="answer_in_context_defined")["verdict"] == "equivalent"
    tokens = one(table, metric="n_tokens")
    assert tokens["verdict"] == "fewer" and tokens["delta"] == pytest.approx(-61) and np.isnan(tokens["eq_p"]) and np.isnan(tokens["margin"])
    small = budget_shape.same_quality(rows[rows["qid"] < "q040"], "t", ["answer_in_context_defined"], resamples=300)
    assert one(small, metric="answer_in_context_defined")["verdict"] == "undecided", "forty equal questions are no proof"
    assert len(tables.check(pd.concat([table, small.assign(dataset="e")]), "budget_shape")) == 3
    assert budget_shape.same_quality(rows, "t", ["f1"] if "f1" in rows else ["n_tokens"], control=("focused", 999)).empty


def test_the_main_budget_joins_the_sweep_for_its_questions_alone():
    asked = questions(30)
    read = outcomes(survived(asked), asked)
    sweep = read[read["qid"] < "q010"].assign(budget=96)[["dataset", "qid", "pack_id", "policy", "budget", "reader", "precision", "em", "f1"]]
    sweep = sweep[sweep["policy"] == "submod"]
    made = budget_shape.with_main(sweep, read, MAIN, 160)
    assert made.groupby("budget")["qid"].nunique().to_dict() == {96: 10, 160: 10} and set(made["policy"]) == {"submod"}
    assert budget_shape.with_main(sweep[:0], read, MAIN, 160).empty


# ---- order


TEXTS = ["Eels swim.", "Bees sleep.", "The answer is Marl.", "Herons wait."]


def packed(texts, qid="q", answers=("Marl",), kind="single"):
    """Tables of one question with ``texts`` packed in this order."""
    asked = pd.DataFrame([("d", qid, "What?", list(answers), kind, 0)], columns=["dataset", "qid", "question", "answers", "question_type", "half"])
    key = ("d", qid, MAIN, "submod", 160)
    columns = ["dataset", "qid", "pack_id", "policy", "budget"]
    packs = pd.DataFrame([(*key, i, f"{qid}#{i}", "doc", 3) for i in range(len(texts))], columns=[*columns, "position", "snippet_id", "doc_id", "n_tokens"])
    snippets = pd.DataFrame([("d", f"{qid}#{i}", t) for i, t in enumerate(texts)], columns=["dataset", "snippet_id", "text"])
    contexts = pd.DataFrame([(*key, evidence.joined(texts), hashlib.sha256(evidence.joined(texts).encode()).hexdigest(), 3 * len(texts), len(texts))],
                            columns=[*columns, "context", "context_hash", "n_tokens", "n_snippets"])
    return asked, packs, snippets, contexts


def test_orders_keep_every_snippet_and_move_only_the_answers():
    made = context_order.ordered(*packed(TEXTS), "submod", [160], MAIN).set_index("place")
    for place, at in (("first", 0), ("middle", 2), ("last", 3)):
        lines = made.loc[place, "context"].split("\n")
        assert sorted(lines) == sorted(TEXTS) and lines.index("The answer is Marl.") == at
        assert [t for t in lines if "Marl" not in t] == [t for t in TEXTS if "Marl" not in t] and made.loc[place, "context"] in made.loc[place, "prompt"]
    assert made["context_hash"].nunique() == 3 and made.loc["middle", "context"] == evidence.joined(TEXTS)


@pytest.mark.parametrize("texts, answers, kind", [(TEXTS[:2] + TEXTS[2:3] * 2, ("Marl",), "single"), (TEXTS[1:3], ("Marl",), "single"),
                                                  (TEXTS, ("yes",), "comparison_yesno"),
                                                  (TEXTS, ("Nothing here",), "single")])
def test_contexts_with_two_holders_too_few_snippets_or_no_answer_are_left_out(texts, answers, kind):
    made = context_order.ordered(*packed(texts, answers=answers, kind=kind), "submod", [160], MAIN)
    assert made.empty and context_order.order(context_order.scored(made, pd.DataFrame(columns=list(tables.TABLES["answers"].columns))), "t").empty


def read_in_order(worth, n=120):
    rng, rows = np.random.default_rng(0), []
    for i in range(n):
        ease = rng.random()
        rows += [("d", f"q{i}", MAIN, "submod", 160, place, "r", "fp32", 0.0, float(ease < worth[place])) for place in context_order.PLACES]
    return pd.DataFrame(rows, columns=["dataset", "qid", "pack_id", "policy", "budget", "place", "reader", "precision", "em", "f1"])


def test_a_planted_loss_in_the_middle_is_found():
    table = context_order.order(read_in_order({"first": 0.8, "middle": 0.5, "last": 0.8}), "t", resamples=300)
    assert len(tables.check(table, "order")) == 6
    assert one(table, treatment="first", control="middle", metric="f1")["verdict"] == "wins"
    assert one(table, treatment="first", control="last", metric="f1")["delta"] == 0
    level = context_order.means(read_in_order({"first": 1.0, "middle": 1.0, "last": 0.0}), "t", 50)
    assert level[level["measure"] == "f1"].set_index("place")["estimate"].to_dict() == {"first": 1, "last": 0, "middle": 1}


# ---- what is read


@pytest.mark.parametrize("wrong", ["all", None, True, 1.5])
def test_sweep_questions_is_a_number_or_a_block(wrong):
    with pytest.raises(ValueError, match="sweep_questions must be a number"):
        scope_reads.chosen(questions(3), wrong)


def test_a_block_sweeps_only_the_sets_it_names():
    asked = pd.concat([questions(3), questions(3, "e")])
    assert set(scope_reads.chosen(asked, {"e": 2})[0]["dataset"]) == {"e"} and set(scope_reads.chosen(asked, 0)[0]["dataset"]) == {"d", "e"}


def test_nothing_to_sweep_gives_empty_tables_that_flow_on():
    asked, packs, snippets, contexts = packed(TEXTS)
    sweep, orders = scope_reads.to_read(asked, packs, snippets, contexts, MAIN, [999], [], {"hotpotqa": 0})
    assert sweep.empty and orders.empty and scope_reads.together(sweep, orders).empty
    rows = budget_shape.read_rows(sweep, pd.DataFrame(columns=list(tables.TABLES["answers"].columns)))
    assert budget_shape.budget_shape(rows, PAIR, ["f1"], "t").empty and scope_partners.levels(rows, "t").empty
    sweep, orders = scope_reads.to_read(asked, packs, snippets, contexts, MAIN, [160], [160], 0)
    assert sweep["policy"].tolist() == ["submod"] and len(orders) == 3 and len(scope_reads.together(sweep,
                                                                                                    orders)) == 3, "one of the orders is the context as packed"


# ---- advice


def advised(chance, n=120, **more):
    asked = questions(n)
    rows = scope.arms(survived(asked, chance), asked)
    return when.judge(rows.assign(**more), "answer_in_context_defined", resamples=300)


def test_a_clear_winner_stands_alone_and_gold_is_no_choice():
    found = advised(lambda q, p, *_: {"submod": 0.8, "gold": 1.0}.get(p, 0.3))
    assert found["best"] == found["tied"] == "submod" and found["steady"]
    assert found["over_topk"] == pytest.approx(found["over_naive"]) and found["over_topk_low"] > 0


def test_equal_packers_are_tied_and_the_one_with_fewer_tokens_is_named():
    found = advised(lambda q, p, *_: 0.5)
    assert set(found["tied"].split(", ")) == {"naive", "focused", "submod", "topk"}
    assert found["best"] == found["cheapest"] == "topk" and found["over_topk"] == 0 and np.isnan(found["over_topk_low"]), "ties go to fewer tokens"


def test_advice_is_in_words_for_winners_ties_and_thrift():
    row = dict(metric="f1", best="focused", tied="focused", mean=0.5, tokens=150.0, cheapest="focused", cheapest_tokens=150.0, over_topk=0.05,
               over_topk_low=0.01,
               over_topk_high=0.09, packed=["naive", "topk"], over_naive=0.0, over_naive_low=-0.02, over_naive_high=0.02)
    said = when.advice(pd.Series(row))
    assert said.startswith("Use the focused heuristic: it beats naive and topk")
    assert "5.0 points of F1 over topk [1.0, 9.0]" in said and "no clear gain over naive" in said
    tied = when.advice(pd.Series(row | {"tied": "focused, topk", "cheapest": "topk", "cheapest_tokens": 120.0}))
    assert "topk cannot be told from it" in tied and "take topk (120 tokens against 150)" in tied


def test_the_table_holds_every_situation_with_enough_questions():
    asked = questions(90)
    rows = survived(asked, budgets=(96, 160))
    read = outcomes(rows[rows["budget"] == 160], asked)
    places = when.situations(rows, read, asked, MAIN, 160, {"structure": scope_conditions.slices(asked)}, {}, {})
    table = when.when(places, "t", resamples=50)
    assert len(tables.check(table, "when")) == len(table)
    assert set(table["situation"]) == {"all questions", "single-pass", "multi-hop", "chain", "comparison", "budget 96", "read by small fp32"}
    assert when.when(when.situations(rows[rows["qid"] < "q005"], read[:0], asked, MAIN, 160, {}, {}, {}), "t", 50).empty, "five questions advise nobody"


# ---- the graph


def test_the_twin_differs_in_the_representation_alone():
    assert scope_graph.packs(settings({"representation": "ace"}, {"representation": "ace", "depth": 10}), MAIN) == {"chunk": MAIN, "ace": "own-dense-5.ace"}
    assert scope_graph.packs(settings({"depth": 10}), MAIN) == {}


def test_the_factorial_of_a_run_and_of_one_without_a_graph():
    asked, packs = questions(40), {"chunk": MAIN, "ace": "own-dense-5.ace"}
    rows = survived(asked, lambda q, p, b, pack: 0.8 if p == "submod" and pack == MAIN else 0.3, packs=tuple(packs.values()),
                    policies=("naive", "focused", "submod"))
    table = scope_graph.table(asked, rows, outcomes(rows, asked), packs, 160, "t", 100)
    assert len(tables.check(table, "factorial")) == len(table) and {"none", "small"} == set(table["reader"])
    assert "they substitute each other" in scope_graph.substitutes(table)
    none = scope_graph.table(asked, rows, outcomes(rows, asked), {}, 160, "t")
    assert none.empty and list(none) == factorial.FACTORIAL and scope_graph.substitutes(none) == "graph evidence was not packed in this run"
    assert scope_graph.headroom(rows, {}, 160).empty and scope_graph.headroom(rows, packs, 160)["oracle"].iloc[0] >= 0.3


@pytest.mark.parametrize("lost", [["last"], ["first", "middle"], ["middle"]])
def test_a_place_that_was_not_read_gives_rows_of_nothing_and_leaves_the_others(lost):
    rows = read_in_order({"first": 0.8, "middle": 0.5, "last": 0.8})
    whole, part = (context_order.order(r, "t", resamples=100) for r in (rows, rows[~rows["place"].isin(lost)]))
    touched = part["treatment"].isin(lost) | part["control"].isin(lost)
    assert len(part) == len(whole) == 6 and part.loc[touched, ["delta", "ci_low", "p_value"]].isna().all(axis=None)
    pd.testing.assert_frame_equal(part[~touched].drop(columns="p_holm"), whole[~touched].drop(columns="p_holm"))
    level, there = (context_order.means(r, "t", 100) for r in (rows[~rows["place"].isin(lost)], rows))
    assert level.loc[level["place"].isin(lost), "estimate"].isna().all() and (level.loc[level["place"].isin(lost), "n"] == 0).all()
    pd.testing.assert_frame_equal(level[~level["place"].isin(lost)], there[~there["place"].isin(lost)])


@pytest.mark.parametrize("wrong", [-1, {"d": -1}, {"d": 1.5}, 2.5, True, "all"])
def test_a_wrong_number_of_swept_questions_is_called_by_its_name(wrong):
    with pytest.raises(ValueError, match="^sweep_questions must be"):
        scope_reads.chosen(questions(3), wrong)
    with pytest.raises(ValueError, match="sweep_questions names .'hotptqa'., and there is no data set of that name"):
        scope_reads.chosen(questions(3), {"hotptqa": 10})
