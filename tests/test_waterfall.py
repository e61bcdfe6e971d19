"""The waterfall: shares by hand, losses that add up, slices that recombine, marks beside the chain, and sentences on all of them."""
import numpy as np
import pandas as pd
import pytest

from lib import stats, tables, waterfall, wording_stages
from lib.waterfall import STAGES, marks, nested, slices, without_reader

N, DRAWS = 16, 200
PACKERS = ["naive", "mmr", "submod", "topk"]
KINDS = [lambda rows: rows, lambda rows: rows.astype({c: "Int64" for c in rows if rows[c].dtype.kind == "i"} | {"answer_defined": "boolean"})]  # as tables read


def outcomes(seed=0, **columns):
    """Random rows of four packers over sixteen questions, a quarter undefined, everything nested; ``columns`` overwrites."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame([(f"q{i}", p) for p in PACKERS for i in range(N)], columns=["qid", "policy"])
    number = rows["qid"].str[1:].astype(int)
    rows = rows.assign(dataset="d", pack_id="p", budget=100, reader="r", precision="fp32", half=number % 2,
                       question_type=np.where(number < 6, "bridge", "single"))
    rows["answer_defined"] = number % 4 != 3
    rows["answer_in_corpus"] = (rows["answer_defined"] & (number != 0)).astype(int)
    rows["answer_in_pool"] = rows["answer_in_corpus"] * (number != 1)
    rows["answer_in_context"] = rows["answer_in_pool"] * rng.integers(0, 2, len(rows))
    rows["em"] = rng.integers(0, 2, len(rows)).astype(float)
    rows["f1"] = np.maximum(rows["em"], rng.integers(0, 5, len(rows)) / 4)
    return rows.assign(**columns)


def fall(rows, by=("question_type",), make=waterfall.waterfall):
    return make(rows, "t", by, DRAWS)


def chain(table, policy="naive", outcome="em", part="all"):
    return table[(table["policy"] == policy) & (table["outcome"] == outcome) & (table["slice"] == part)].set_index("stage")


def mark(table, name, policy="naive", outcome="em", part="all"):
    rows = table[(table["policy"] == policy) & (table["outcome"] == outcome) & (table["slice"] == part) & (table["mark"] == name)]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.mark.parametrize("kind", KINDS)
def test_five_questions_by_hand(kind):
    five = pd.DataFrame([  # defined, corpus, pool, context, em, f1
        (True, 1, 1, 1, 1.0, 1.0), (True, 1, 1, 1, 0.0, 0.5), (True, 1, 1, 0, 1.0, 1.0), (True, 0, 0, 0, 0.0, 0.25), (False, 0, 0, 0, 1.0, 1.0)],
        columns=["answer_defined", "answer_in_corpus", "answer_in_pool", "answer_in_context", "em", "f1"])
    rows = kind(five.assign(qid=list("abcde"), dataset="d", pack_id="p", policy="naive", budget=100, reader="r", precision="fp32"))
    table, beside = fall(rows, ()), fall(rows, (), marks)
    assert chain(table)["share"].tolist() == [0.75, 0.75, 0.5, 0.25] and chain(table)["lost"].tolist() == [0.25, 0.0, 0.25, 0.25]
    assert chain(table, outcome="f1")["share"].tolist() == [0.75, 0.75, 0.5, 0.375] and chain(table, outcome="f1")["lost"]["read"] == 0.125
    assert set(table["n"]) == {4} and set(table["undefined"]) == {1}
    assert mark(beside, "right_without_answer")["estimate"] == 0.25 and mark(beside, "right_without_answer", outcome="f1")["estimate"] == 0.3125
    assert np.isnan(mark(beside, "first_stage_order")["estimate"]) and mark(beside, "first_stage_order")["n"] == 0  # topk was not packed


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_losses_add_up_shares_never_rise_and_right_answers_are_all_accounted_for(kind, seed):
    rows = outcomes(seed)
    table, beside = fall(kind(rows), ("question_type", "half")), fall(kind(rows), ("question_type", "half"), marks)
    tables.check(table, "waterfall")
    tables.check(beside, "waterfall_marks")
    for (policy, outcome, part), stages in table.groupby(["policy", "outcome", "slice"]):
        assert stages["stage"].tolist() == list(STAGES) and stages["order"].tolist() == [1, 2, 3, 4]
        assert stages["lost"].sum() == pytest.approx(1 - stages["share"].iloc[-1]) and (stages["lost"] >= 0).all()
        assert (stages["ci_low"] <= stages["share"]).all() and (stages["share"] <= stages["ci_high"]).all()
        assert (stages["lost_low"] <= stages["lost"]).all() and (stages["lost"] <= stages["lost_high"]).all()
        column, _, value = part.partition("=")
        mine = rows[(rows["policy"] == policy) & rows["answer_defined"] & (True if part == "all" else rows.get(column, rows["half"]).astype(str) == value)]
        assert (stages["n"] == len(mine)).all()
        without = mark(beside, "right_without_answer", policy, outcome, part)
        assert stages["share"].iloc[-1] + without["estimate"] == pytest.approx(mine[outcome].mean())  # the policy's mean over defined questions
        assert without["n"] == len(mine)


@pytest.mark.parametrize("column", ["question_type", "half"])
def test_slices_weighted_by_their_questions_recombine_to_all(column):
    table, beside = fall(outcomes(3), (column,)), fall(outcomes(3), (column,), marks)
    for values, key in ((table, ["policy", "outcome", "stage"]), (beside, ["policy", "outcome", "mark"])):
        for quantity in ("share", "lost") if "share" in values else ("estimate",):
            parts = values.assign(total=values[quantity] * values["n"], whole=values["slice"] == "all")
            sums = parts.groupby([*key, "whole"])[["total", "n", "undefined"]].sum().unstack()
            for of in ("total", "n", "undefined"):
                assert sums[of][True].tolist() == pytest.approx(sums[of][False].tolist())


def test_intervals_are_those_of_the_bootstrap_on_the_same_rows():
    rows, columns = outcomes(1), nested(outcomes(1))
    mine = columns[columns["policy"] == "submod"]
    stages = chain(fall(rows), "submod")
    before = pd.Series(1.0, index=mine.index)
    for stage, column in zip(STAGES, ("corpus", "pool", "context", "read_em")):
        share = stats.mean_interval(mine[column], mine["qid"].tolist(), DRAWS)
        lost = stats.mean_interval(before - mine[column], mine["qid"].tolist(), DRAWS)
        assert stages.loc[stage, ["share", "ci_low", "ci_high"]].tolist() == pytest.approx([share.estimate, share.low, share.high])
        assert stages.loc[stage, ["lost", "lost_low", "lost_high"]].tolist() == pytest.approx([lost.estimate, lost.low, lost.high])
        before = mine[column]


def test_the_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, hits, runs, n = np.random.default_rng(0), np.zeros(2), 200, 80
    base = pd.DataFrame({"qid": [f"q{i}" for i in range(n)], "dataset": "d", "pack_id": "p", "policy": "naive", "budget": 1, "reader": "r",
                         "precision": "fp32", "answer_defined": True, "answer_in_corpus": 1, "answer_in_pool": 1, "f1": 0.0})
    for seed in range(runs):
        held = rng.random(n) < 0.6
        seen = base.assign(answer_in_context=held.astype(int), em=(held & (rng.random(n) < 0.5)).astype(float))
        context, read = chain(waterfall.waterfall(seen, "t", (), 300, seed)).loc[["context", "read"]].itertuples()
        hits += [context.lost_low <= 0.4 <= context.lost_high, read.ci_low <= 0.3 <= read.ci_high]
    assert ((0.89 < hits / runs) & (hits / runs < 0.99)).all()


def test_the_chain_never_rises_even_if_the_indicators_do():
    alive = nested(outcomes(answer_in_corpus=0))[["corpus", "pool", "context", "read_em", "read_f1"]]  # found in the pool and not in the corpus: cannot be
    assert not alive.any(axis=None)


def test_the_order_of_the_rows_changes_nothing():
    rows = outcomes(2)
    for make in (waterfall.waterfall, marks):
        pd.testing.assert_frame_equal(fall(rows, make=make), fall(rows.sample(frac=1, random_state=1), make=make))


def test_rank_order_is_the_share_of_the_arm_that_packs_documents_in_rank_order():
    rows = outcomes(4)
    rows.loc[rows["policy"] == "topk", "answer_in_context"] = rows["answer_in_pool"]  # it may keep more than the packer: the mark is not nested in the chain
    table, beside = fall(rows), fall(rows, make=marks)
    for part in ("all", "question_type=bridge", "question_type=single"):
        kept = chain(table, "topk", part=part).loc["context"]
        for policy in PACKERS:
            found = mark(beside, "first_stage_order", policy, part=part)
            assert found[["estimate", "ci_low", "ci_high", "n"]].tolist() == kept[["share", "ci_low", "ci_high", "n"]].tolist()
    assert kept["share"] > chain(table, "naive", part=part).loc["context", "share"]


def test_rank_order_is_taken_at_the_same_budget_and_counts_the_questions_it_was_packed_for():
    rows = pd.concat([outcomes(), outcomes(answer_in_context=0, budget=50)])
    beside = fall(rows, (), marks)
    assert set(beside[(beside["mark"] == "first_stage_order") & (beside["budget"] == 50)]["estimate"]) == {0.0}
    fewer = rows[~((rows["policy"] == "topk") & (rows["qid"] == "q2"))]
    found = mark(fall(fewer[fewer["budget"] == 100], (), marks), "first_stage_order")
    assert found["n"] == 11 and mark(beside[beside["budget"] == 100], "first_stage_order")["n"] == 12


def test_rank_order_need_not_have_been_read():
    rows = outcomes()
    unread = rows["policy"] == "topk"
    rows.loc[unread, ["em", "f1"]] = np.nan
    rows.loc[unread, ["reader", "precision"]] = "none"
    beside = fall(rows, (), marks)
    assert set(beside["policy"]) == {"naive", "mmr", "submod"} and mark(beside, "first_stage_order")["n"] == 12


def test_what_was_never_read_has_no_waterfall_and_arms_that_do_not_pack_the_pool_have_none():
    for table in (fall(outcomes(em=np.nan)), fall(outcomes(em=np.nan), make=marks)):
        assert table.empty
    assert tables.check(fall(outcomes(em=np.nan)), "waterfall").empty
    both = pd.concat([outcomes(policy=p).drop_duplicates("qid") for p in ("closed_book", "gold", "naive")])
    assert set(fall(both)["policy"]) == set(fall(both, make=without_reader)["policy"]) == {"naive"}


def test_undefined_slices_keep_their_rows_and_small_ones_have_no_interval():
    rows = outcomes(question_type="free_form", answer_defined=False)
    table = tables.check(fall(rows), "waterfall")
    assert set(table["slice"]) == {"all", "question_type=free_form"} and table["share"].isna().all()
    assert set(table["undefined"]) == {N} and set(table["n"]) == {0}
    assert tables.check(fall(rows, make=marks), "waterfall_marks")["estimate"].isna().all()
    rows = outcomes()
    rows.loc[rows["qid"] == "q0", "question_type"] = "odd"
    rows.loc[rows["qid"] == "q3", "question_type"] = "free_form"
    table = tables.check(fall(rows), "waterfall")
    odd, free = (chain(table, part=f"question_type={t}") for t in ("odd", "free_form"))
    assert odd["share"].notna().all() and odd[["ci_low", "ci_high", "lost_low"]].isna().all(axis=None) and set(odd["n"]) == {1}
    assert free["share"].isna().all() and set(free["undefined"]) == {1} and set(free["n"]) == {0}


def test_slices_name_whole_numbers_plainly_and_keep_what_has_no_group():
    rows = outcomes().assign(n_hops=[2.0, 3.0, np.nan, 2.0] * N)
    found = slices(rows, ["n_hops", "half"])
    assert list(found) == ["all", "n_hops=2", "n_hops=3", "n_hops=missing", "half=0", "half=1"]
    assert sum(v.sum() for k, v in found.items() if k.startswith("n_hops")) == len(rows)
    assert list(slices(rows.astype({"n_hops": "Int64"}), ["n_hops"])) == ["all", "n_hops=2", "n_hops=3", "n_hops=missing"]


@pytest.mark.parametrize(("by", "said"), [("question_type", r"write \['question_type'\]"), (["kind"], "'kind' is none of")])
def test_a_column_that_does_not_group_is_refused(by, said):
    for make in (waterfall.waterfall, marks, without_reader):
        with pytest.raises(ValueError, match=said):
            make(outcomes(), "t", by, DRAWS)


def test_without_a_reader_every_question_counts_once():
    rows = outcomes(5)
    half, rest = rows[rows["half"] == 0], rows[rows["half"] == 1].assign(reader="none", precision="none", em=np.nan, f1=np.nan)
    part_read = pd.concat([half, half.assign(reader="s"), rest, rows[rows["policy"] == "mmr"].assign(policy="oracle")])
    table = tables.check(fall(part_read, ("half",), without_reader), "waterfall")
    assert set(table["policy"]) == set(PACKERS) and set(table["stage"]) == set(STAGES[:3]) and set(table["outcome"]) == set(table["reader"]) == {"none"}
    whole = fall(rows, ("half",))
    for policy in PACKERS:
        for name in ("all", "half=0", "half=1"):
            ours, read = chain(table, policy, "none", name), chain(whole, policy, "em", name)
            columns = ["share", "lost", "ci_low", "ci_high", "n", "undefined"]
            pd.testing.assert_frame_equal(ours.loc[list(STAGES[:3]), columns], read.loc[list(STAGES[:3]), columns], check_dtype=False)


# ---- sentences

SPLIT = pd.DataFrame({"dataset": "d", "reader": "r", "measure": "f1", "holds": [1, 0], "estimate": [0.6, 0.1]})


def test_sentences_take_all_questions_of_the_leading_packer_and_add_up():
    table, beside = fall(outcomes()), fall(outcomes(), make=marks)
    said = wording_stages.loss_answer(table, SPLIT, "some/r")
    gone = wording_stages.losses(chain(table, "submod").reset_index())
    assert sum(gone.values()) == 100 and gone["right"] == round(100 * chain(table, "submod")["share"]["read"])
    assert f"{gone['corpus']} never stand" in said and f"{gone['context']} in packing" in said and "0.60 where" in said and said.count("On d") == 1
    f1 = chain(table, "submod", "f1")["share"]["read"]
    assert f"{100 * f1:.0f} % come out" in wording_stages.partly_right(table, "r")
    told = wording_stages.beside_answer(table, beside, "r")
    assert f"keep {100 * mark(beside, 'first_stage_order')['estimate']:.0f} %" in told and "their intervals meet" in told


def test_sentences_hold_where_there_is_nothing_to_say():
    table, beside = fall(outcomes(answer_defined=False)), fall(outcomes(answer_defined=False), make=marks)
    assert "no chain of losses" in wording_stages.loss_answer(table, SPLIT, "r")
    assert wording_stages.partly_right(table, "r") == wording_stages.beside_answer(table, beside, "r") == ""
    rows = outcomes()
    alone = rows[rows["policy"] == "submod"]
    told = wording_stages.beside_answer(fall(alone), fall(alone, make=marks), "r")
    assert "rank order" not in told and "come out right although" in told


def test_a_sentence_needs_one_chain_a_data_set():
    table = fall(pd.concat([outcomes(), outcomes(budget=50)]))
    with pytest.raises(ValueError, match="several chains on one data set"):
        wording_stages.loss_answer(table, SPLIT, "r")
