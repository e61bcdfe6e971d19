"""The reader ladder: known edges are found, nulls are not, and comparisons of rungs are paired, linear and blind to order."""
import numpy as np
import pandas as pd
import pytest
from ladder_world import POLICIES, RUNGS, rows

from lib import ladder, ladder_between, ladder_cells, ladder_example, stats, tables, wording_ladder
from lib.ladder_partners import published_ladder

SMALL, LARGE = RUNGS[0], RUNGS[-1]


def made(data, resamples=300, **more):
    return tables.check(ladder.ladder(data, "sample", resamples=resamples, **more), "ladder")


def cell(table, kind, quantity="f1", policy="submod", control="focused", rung=None):
    part = table[(table["kind"] == kind) & (table["quantity"] == quantity) & (table["policy"] == policy) & (table["control"] == control)]
    if rung:
        part = part[(part["reader"] == rung[0]) & (part["precision"] == rung[1])]
    return part.iloc[0]


@pytest.fixture(scope="module")
def reversing():
    """An edge of +10 points at the smallest rung, none in the middle, -10 at the largest."""
    data = rows({SMALL: 0.1, LARGE: -0.1}, n=300)
    return data, made(data)


# ---- known truth


def test_known_edges_are_found_with_their_sign(reversing):
    _, table = reversing
    for rung, edge in ((SMALL, 0.1), (RUNGS[1], 0.0), (LARGE, -0.1)):
        row = cell(table, "contrast", rung=rung)
        assert abs(row["estimate"] - edge) < 3 * row["mde"] / 2.8016 < 0.02  # three standard errors
    assert [cell(table, "contrast", rung=r)["verdict"] for r in (SMALL, LARGE)] == ["moved up", "moved down"]
    assert cell(table, "contrast", rung=RUNGS[1])["verdict"] in ("equivalent", "slightly up", "slightly down")  # 300 questions can show a null here


def test_a_true_reversal_is_called_absorbed_and_reversed_and_the_trend_falls(reversing):
    _, table = reversing
    said = table[table["kind"] == "claim"].set_index("quantity")["verdict"]
    assert said.to_dict() == {"absorption": "absorbed", "reversal": "reversed"}
    trend = cell(table, "trend")
    assert trend["verdict"] == "moved down" and trend["reader"] == "all rungs" and trend["precision"] == "fp32 fp32 fp32"


def test_few_questions_leave_the_same_truth_undecided():
    table = made(rows({SMALL: 0.03, LARGE: -0.03}, n=12, noise=0.6))
    assert set(table[table["kind"] == "claim"]["verdict"]) == {"undecided"}


def test_without_any_edge_there_is_none_to_absorb():
    said = made(rows())[lambda t: t["kind"] == "claim"].set_index("quantity")["verdict"]
    assert said.to_dict() == {"absorption": "no edge to absorb", "reversal": "not reversed"}


def test_a_null_is_called_moved_about_as_often_as_its_level():
    hits = 0
    for seed in range(20):
        data = rows(n=60, rungs=RUNGS[:2], policies=("focused", "submod", "closed_book"), seed=seed)
        row = cell(ladder.ladder(data, "sample", pairs=[("submod", "focused")], resamples=100), "scale")
        hits += row["ci_low"] > 0 or row["ci_high"] < 0
    assert hits <= 5  # 5 % of 20 is 1; six or more would happen once in 3,000


# ---- numbers by hand


def test_an_edge_is_the_difference_of_two_means_and_equals_the_paired_bootstrap(reversing):
    data, table = reversing
    part = data[(data["reader"] == SMALL[0])].pivot(index="qid", columns="policy", values="f1").sort_index()
    delta = part["submod"] - part["focused"]
    peer = stats.paired_cluster_bootstrap(delta, part.index, resamples=300)
    row = cell(table, "contrast", rung=SMALL)
    assert row[["estimate", "ci_low", "ci_high", "p_value"]].tolist() == pytest.approx(list(peer[:4]))
    assert row["mde"] == pytest.approx(stats.minimum_detectable_effect(delta.std(), len(delta)))


def test_scale_is_the_difference_of_two_edges_and_the_trend_is_the_straight_line(reversing):
    _, table = reversing
    edge = {r: cell(table, "contrast", rung=r)["estimate"] for r in RUNGS}
    step = table[(table["kind"] == "scale") & (table["against"] == " ".join(SMALL)) & (table["reader"] == LARGE[0]) & (table["control"] == "focused")
                 & (table["quantity"] == "f1")].iloc[0]
    assert step["estimate"] == pytest.approx(edge[LARGE] - edge[SMALL])
    line = np.polyfit(np.log2([0.135, 0.5, 1.5]), [edge[SMALL], edge[RUNGS[1]], edge[LARGE]], 1)[0]
    assert cell(table, "trend")["estimate"] == pytest.approx(line)


def test_with_and_without_the_answer_are_plain_means_and_undefined_rows_are_counted(reversing):
    data, table = reversing
    part = data[(data["reader"] == SMALL[0]) & (data["policy"] != "closed_book")]
    pooled = table[(table["reader"] == SMALL[0]) & (table["policy"] == "pooled")].set_index("quantity")
    with_, without = (part.loc[part["holds"] == h, "f1"].mean() for h in (1, 0))
    assert pooled.loc[["f1_with", "f1_without", "f1_gap"], "estimate"].tolist() == pytest.approx([with_, without, with_ - without])
    assert set(pooled.loc[["f1_with", "f1_without", "f1_gap"], "undefined"]) == {int(part["holds"].isna().sum())} == {180}


def test_holm_is_over_the_contrasts_of_one_rung_and_over_comparisons_of_one_kind(reversing):
    _, table = reversing
    one = table[(table["kind"] == "contrast") & (table["reader"] == SMALL[0])]
    assert len(one) == 6 and one["p_holm"].tolist() == pytest.approx(stats.holm(one["p_value"].to_numpy(float)).tolist())
    scale = table[(table["kind"] == "scale") & (table["control"] != "none")]
    assert scale["p_holm"].tolist() == pytest.approx(stats.holm(scale["p_value"].to_numpy(float)).tolist())


def test_the_lead_of_the_best_policy_pays_for_having_been_chosen(reversing):
    _, table = reversing
    lead = table[(table["kind"] == "best") & (table["quantity"] == "lead")].set_index(["reader", "precision"])
    assert lead.loc[SMALL, "chosen"] == "submod" and lead.loc[LARGE, "chosen"] == "focused"
    assert (lead["p_holm"] == np.minimum(1, 3 * lead["p_value"])).all() and (lead["estimate"] >= 0).all()
    assert ((lead["verdict"] == "separated") == (lead["p_holm"] < 0.05)).all() and lead.loc[SMALL, "verdict"] == "separated"
    assert cell(table, "best", "best_share", "submod", "none", SMALL)["estimate"] == 1.0


# ---- invariants


def test_the_order_of_the_rows_changes_nothing(reversing):
    data, table = reversing
    pd.testing.assert_frame_equal(made(data.sample(frac=1, random_state=1)), table)


def test_a_rung_against_its_twin_differs_by_exactly_nothing_and_says_the_same():
    data = rows({SMALL: 0.1}, n=40, rungs=RUNGS[:1])
    table = made(pd.concat([data, data.assign(precision="nf4")]))
    part = table[table["kind"] == "precision"]
    assert (part.loc[part["quantity"] != "same_answer", ["estimate", "ci_low", "ci_high"]] == 0).all(axis=None)
    assert part.loc[part["quantity"] == "same_answer", "estimate"].tolist() == [1.0]


def test_what_the_readers_were_given_does_not_depend_on_who_reads(reversing):
    data, table = reversing
    alone = made(data[data["reader"] == SMALL[0]])
    columns = ["policy", "control", "quantity", "estimate", "ci_low", "ci_high", "n", "undefined"]
    first, second = (t.loc[t["kind"] == "context", columns].reset_index(drop=True) for t in (table, alone))
    pd.testing.assert_frame_equal(first, second)


def test_adding_a_constant_to_every_answer_of_a_rung_moves_no_edge(reversing):
    data, table = reversing
    lifted = data.assign(f1=data["f1"] + 0.1 * (data["reader"] == LARGE[0]))
    for kind in ("contrast", "scale", "trend", "claim"):
        part = [t[(t["kind"] == kind) & (t["control"] != "none")]["estimate"].astype(float).tolist() for t in (table, made(lifted))]
        assert part[0] == pytest.approx(part[1])


# ---- degenerate runs


def test_one_rung_has_no_comparison_of_rungs():
    table = made(rows(n=20, rungs=RUNGS[:1]))
    assert set(table["kind"]) == {"score", "contrast", "best", "context"}
    assert "nothing is said about scale" in wording_ladder.ladder_answer(table) and "no larger reader" in wording_ladder.suspicion(table)


def test_two_models_of_one_size_have_no_trend():
    table = made(rows(n=20, rungs=[("first-1b", "fp32"), ("second-1b", "fp32")]))
    assert "trend" not in set(table["kind"])


def test_a_trend_is_equivalent_only_if_the_whole_ladder_stays_within_the_margin():
    doublings = ladder_between._doublings([("a-1b", "fp32"), ("b-8b", "fp32")])
    assert doublings == 3  # so each doubling has a third of the margin


def test_one_question_has_no_interval_and_no_crash():
    table = made(rows(n=1))
    assert table.loc[table["kind"] == "contrast", ["ci_low", "ci_high", "p_value"]].isna().all(axis=None) and table["p_holm"].isna().all()
    assert wording_ladder.power(table, published_ladder())["needed"].isna().all()


def test_answers_all_undefined_and_no_gold_give_missing_values():
    data = rows(n=20).assign(holds=np.nan, answer_defined=False, answer_in_context=0, gold_coverage=np.nan)
    table = made(data)
    part = table[table["quantity"].isin(["f1_with", "f1_without", "f1_gap", "answer_in_context", "gold_coverage"])]
    assert len(part) and part["estimate"].isna().all() and (part["n"] == 0).all()


def test_scores_without_text_leave_the_form_missing_and_counted():
    data = rows(n=20).assign(words=np.nan, answer_precision=np.nan, answer_recall=np.nan, abstains=np.nan, said=None)
    table = made(data)
    part = table[table["quantity"].isin(["words", "answer_precision", "same_answer"]) & (table["kind"] == "score")]
    assert part["estimate"].isna().all() and (part["undefined"] > 0).all()
    assert table.loc[table["quantity"] == "same_answer", "estimate"].isna().all() and (table.loc[table["quantity"] == "f1", "n"] > 0).all()


def test_policies_that_were_not_read_have_no_contrast():
    table = made(rows(n=20, policies=("submod", "closed_book")))
    assert "contrast" not in set(table["kind"]) and "best" not in set(table["kind"]) and "was not read" in wording_ladder.ladder_answer(table)


def test_several_data_sets_are_separate():
    both = made(pd.concat([rows({SMALL: 0.1}, n=60), rows({SMALL: -0.1}, n=60, dataset="2wiki")]))
    assert [cell(both[both["dataset"] == d], "contrast", rung=SMALL)["verdict"] for d in ("hotpotqa", "2wiki")] == ["moved up", "moved down"]


# ---- verdicts


def told(verdict):
    return {"verdict": verdict}


def test_verdicts_of_absorption_and_reversal():
    cases = [("moved up", "inconclusive", "moved down", "absorbed", "undecided"), ("moved up", "moved down", "moved down", "absorbed", "reversed"),
             ("moved up", "moved up", "moved down", "kept", "not reversed"), ("moved up", "inconclusive", "inconclusive", "undecided", "undecided"),
             ("inconclusive", "moved down", "moved down", "undecided", "undecided"),
             ("moved down", "moved up", "moved up", "no edge to absorb", "reversed the other way"),
             ("equivalent", "equivalent", "equivalent", "no edge to absorb", "not reversed"), ("undefined", "undefined", "undefined", "undecided", "undecided")]
    for small, large, change, absorbed, turned in cases:
        assert ladder_between.absorption(told(small), told(large), told(change)) == absorbed
        assert ladder_between.reversal(told(small), told(large)) == turned


def test_size_pairs_keep_one_number_format_where_they_can():
    assert ladder_between.size_pairs([("a-3b", "fp16"), ("a-7b", "fp16"), ("a-7b", "nf4"), ("a-14b", "nf4")]) == [
        (("a-7b", "fp16"), ("a-3b", "fp16")), (("a-14b", "nf4"), ("a-7b", "nf4")), (("a-14b", "nf4"), ("a-3b", "fp16"))]
    assert ladder_between.size_pairs([("a-3b", "fp16")]) == [] and ladder_between.finer_pairs([("a-3b", "fp16")]) == []


def test_a_difference_of_words_has_no_margin():
    drawn = ladder_cells.draw({"words": np.zeros(200)}, range(200), resamples=50)
    assert ladder_cells.difference_cell(drawn, "words")["verdict"] == "inconclusive" and np.isnan(ladder_cells.difference_cell(drawn, "words")["eq_low"])


# ---- the example and the sentences


def test_the_example_is_a_question_whose_contexts_and_answers_part(reversing):
    data, _ = reversing
    one = ladder_example.telling(data)
    assert one["qid"].nunique() == 1 and len(one) == 2 * len(RUNGS) and one["f1"].nunique() > 1 and set(one["answer_in_context"]) == {0.0, 1.0}
    assert list(dict.fromkeys(one["rung"])) == [" ".join(r) for r in RUNGS]
    assert set(ladder_example.telling(data[data["policy"] != "submod"])["policy"]) == {"naive", "focused"}


def test_the_answer_says_what_the_table_says(reversing):
    _, table = reversing
    said = wording_ladder.ladder_answer(table)
    found = table[(table["kind"] == "contrast") & (table["quantity"] == "f1") & (table["control"] == "focused") & (table["policy"] == "submod")]["verdict"]
    ahead, behind = found.isin(["moved up", "slightly up"]).sum(), found.isin(["moved down", "slightly down"]).sum()
    assert f"submod against focused is ahead on {ahead}, behind on {behind}" in said and "of 4 rungs (F1)" in said
    assert "shrinks with size" in said and "absorption: absorbed, reversal: reversed" in said and "NF4 changes nothing beyond the margin in F1 of coder-0.5b fp32" in said


def test_power_asks_for_as_many_questions_as_the_largest_published_edge_takes(reversing):
    _, table = reversing
    power = wording_ladder.power(table, published_ladder()).set_index(["reader", "precision", "policy", "control"])
    row = power.loc[(*SMALL, "submod", "focused")]
    assert row["published"] == -0.029 and row["needed"] == pytest.approx((2.8016 * row["sd"] / 0.029) ** 2, abs=1.5)


def test_joined_refuses_a_rung_that_did_not_answer_everything():
    asked = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "pack_id": "p", "policy": "submod", "budget": 160, "context_hash": ["x", "y"]})
    questions = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "half": 0, "question_type": "single", "answers": [["x"], ["y"]]})
    kept = asked[["dataset", "qid", "pack_id", "policy", "budget"]].assign(answer_in_context=1, answer_defined=True, gold_coverage=1.0)
    answers = pd.DataFrame({"dataset": "d", "qid": ["a"], "context_hash": ["x"], "reader": "r", "precision": "fp32", "reader_id": "i", "n_new_tokens": 16})
    with pytest.raises(ValueError, match="r fp32 answered 1 of 2 contexts"):
        ladder.joined(questions, asked, answers, kept)
    with pytest.raises(ValueError, match="no rung answered any of 2 contexts"):
        ladder.joined(questions, asked, answers[:0], kept)
    both = pd.concat([answers, answers.assign(qid="b", context_hash="y", n_new_tokens=pd.NA)])
    with pytest.raises(ValueError, match="rung silent nf4 answered 0 of 2 contexts"):
        ladder.joined(questions, asked, pd.concat([both, both.assign(reader="silent", precision="nf4", context_hash="other")]), kept)
    with pytest.raises(ValueError, match="rung r fp32 has 3 answers to 2 contexts"):
        ladder.joined(questions, asked, pd.concat([both, answers]), kept)
    assert ladder.joined(questions, asked[:0], both[:0], kept).empty
    out = ladder.joined(questions, asked, both, kept).set_index("qid")
    assert out["cut_off"].tolist()[0] == 1 and np.isnan(out["cut_off"].tolist()[1]) and len(POLICIES) == 4


def test_one_rung_has_no_tax_and_its_empty_table_can_still_be_asked_for_names():
    data = rows()
    first = data[["reader", "precision"]].drop_duplicates().head(1)
    alone = ladder_between.tax(made(data.merge(first)))
    assert alone.empty and not alone["what"].str.startswith("submod").any()
