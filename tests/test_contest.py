"""The contest of packers: its numbers against ones made by hand, its bounds, what is left out, and what its figure says."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import charts, contest, settings, stats, tables
from lib.charts import ChartError, NothingToDraw
from lib.figures_contest import contest_figure

MAIN = settings.setting()
NAME = settings.pack_id(MAIN)


def packed(policy, answers, tokens, dataset="hotpotqa", budget=160, pack=NAME, defined=True, first=0):
    n = len(answers)
    return pd.DataFrame({"dataset": dataset, "qid": [f"q{first + i:03d}" for i in range(n)], "pack_id": pack, "policy": policy, "budget": budget,
                         "answer_in_context": answers, "answer_defined": defined, "gold_coverage": np.asarray(answers, float),
                         "all_gold_in_context": np.asarray(answers, float),
                         "n_tokens": tokens})


def survived(n=60, dataset="hotpotqa", better=0.3, seed=0, tokens=140):
    rng = np.random.default_rng(seed)
    base = (rng.random(n) < 0.5).astype(int)
    lifted = np.maximum(base, rng.random(n) < better).astype(int)
    return pd.concat([packed("submod", base, 148, dataset), packed("tuned", lifted, tokens, dataset),
                      packed("random", (rng.random(n) < 0.1).astype(int), 149, dataset),
                      packed("submod", base, 150, dataset, pack=settings.pack_id(settings.setting(exponent=0.0)))])


def table_of(*parts, **changes):
    rows = pd.concat(parts)
    return contest.contest(contest.named(rows, contest.arms_of(MAIN, rows["pack_id"].unique())), "t", resamples=500, **changes)


def cell(table, policy, measure="answer_in_context_defined", dataset="hotpotqa", budget=160):
    return table[(table["policy"] == policy) & (table["measure"] == measure) & (table["dataset"] == dataset) & (table["budget"] == budget)].iloc[0]


def test_numbers_by_hand():
    a = pd.concat([packed("submod", [0, 0, 1, 1], [140, 150, 160, 150]), packed("tuned", [1, 0, 1, 1], [140, 140, 140, 140])])
    table = table_of(a)
    t = cell(table, "tuned")
    assert (t["estimate"], t["delta"], t["wins"], t["losses"], t["n"], t["undefined"], t["part"]) == (0.75, 0.25, 1, 0, 4, 0, "all")
    assert cell(table, "tuned", "n_tokens")["delta"] == -10 and np.isnan(cell(table, "submod")["delta"])
    assert set(table["dataset"]) == {"hotpotqa"}                                  # one set: no pooled rows
    tables.check(table, "packer_contest")


def test_the_interval_is_that_of_the_paired_bootstrap_and_pools_over_questions():
    a, b = survived(), survived(30, "musique", seed=4)
    table = table_of(a, b)
    wide = pd.concat([a, b]).query("pack_id == @NAME").pivot(index=["dataset", "qid"], columns="policy", values="answer_in_context").sort_index()
    peer = stats.paired_cluster_bootstrap((wide["tuned"] - wide["submod"]).astype(float), [f"{d}\n{q}" for d, q in wide.index], resamples=500)
    got = cell(table, "tuned", dataset="all")
    assert (got["delta"], got["delta_low"], got["delta_high"], got["p_value"]) == pytest.approx(peer[:4])
    assert got["n"] == got["clusters"] == 90                                      # the same qid in two sets is two questions
    assert got["delta"] == pytest.approx((60 * cell(table, "tuned")["delta"] + 30 * cell(table, "tuned", dataset="musique")["delta"]) / 90)
    here = table[(table["dataset"] == "all") & (table["measure"] == "n_tokens")].dropna(subset=["p_value"])
    np.testing.assert_allclose(here["p_holm"], stats.holm(here["p_value"]))
    tables.check(table, "packer_contest")


def test_order_of_rows_changes_nothing():
    rows = survived()
    pd.testing.assert_frame_equal(table_of(rows), table_of(rows.sample(frac=1, random_state=1)))


def test_an_arm_on_a_part_is_compared_on_that_part():
    rows = survived()
    part = packed("selective", [1] * 20, 150, first=10)
    t = cell(table_of(rows, part), "selective")
    base = rows[(rows["policy"] == "submod") & (rows["pack_id"] == NAME)]["answer_in_context"].to_numpy()[10:30]
    assert t["part"] == "20 of 60 questions" and t["n"] == 20 and t["delta"] == pytest.approx(1 - base.mean())


def test_arms_are_settings_that_were_packed():
    arms = contest.arms_of(MAIN, [NAME, settings.pack_id(settings.setting(exponent=0.0)), settings.pack_id(settings.setting(relevance="dense"))])
    assert arms["submod_unit_cost"] == ("own-dense-5.chunk.r=0.0", "submod") and arms["adagres_dense"][1] == "adagres"
    assert "submod_both" not in arms and arms["tuned"] == (NAME, "tuned")
    got = contest.named(survived(), arms)
    assert set(got["policy"]) == {"submod", "tuned", "random", "submod_unit_cost"} and set(got["pack_id"]) == {"contest"}
    assert contest.named(survived(), {}).empty


def questions():
    return pd.DataFrame({"dataset": "d", "qid": ["a", "b", "c", "y"], "answers": [["Marl"], ["Rome"], ["Ostia"], ["yes"]],
                         "question_type": ["bridge"] * 3 + ["comparison_yesno"]})


def test_bounds_know_the_answer():
    snippets = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "b", "b", "c", "y"], "pool_id": ["p", "p", "p", "gold", "p", "p"],
                             "n_tokens": [90, 40, 120, 10, 30, 30],
                             "text": ["The Marl floods.", "It is the Marl.", "In Rome.", "Rome.", "Elsewhere.", "Yes."]})
    got = contest.bounds(questions(), snippets, "p", [96, 160]).set_index(["policy", "budget", "qid"]).sort_index()
    assert got.loc[("pool", 96), "answer_in_context"].tolist() == [1, 1, 0, 0]
    assert got.loc[("best_possible", 96), "answer_in_context"].tolist() == [1, 0, 0, 0]
    assert got.loc[("best_possible", 160), "answer_in_context"].tolist() == [1, 1, 0, 0]
    assert got.loc[("pool", 96), "n_tokens"].tolist()[:2] == [40, 120] and np.isnan(got.loc[("pool", 96, "c"), "n_tokens"])
    assert got["answer_defined"].groupby("qid").all().to_dict() == {"a": True, "b": True, "c": True, "y": False}
    rows = contest.contest(pd.concat([contest.bounds(questions(), snippets, "p", [160]), packed("submod", [0, 0, 0, 0], 99, "d").assign(
        qid=["a", "b", "c", "y"], answer_defined=[True, True, True, False], pack_id="contest")]), "t", resamples=200)
    pool = cell(rows, "pool", dataset="d")
    assert pool["delta"] == pytest.approx(2 / 3) and np.isnan(pool["p_value"]) and pool["undefined"] == 1
    tables.check(rows, "packer_contest")


def test_no_gold_no_answer_and_one_question_are_missing_and_not_zero():
    rows = pd.concat([packed(p, [0, 0], 100, defined=False).assign(gold_coverage=np.nan, all_gold_in_context=np.nan) for p in ("submod", "tuned")])
    table = table_of(rows)
    assert np.isnan(cell(table, "tuned")["estimate"]) and cell(table, "tuned")["undefined"] == 2 and np.isnan(cell(table, "tuned", "gold_coverage")["delta"])
    tables.check(table, "packer_contest")
    one = table_of(packed("submod", [0], 100), packed("tuned", [1], 100))
    assert cell(one, "tuned")["delta"] == 1 and np.isnan(cell(one, "tuned")["delta_low"])
    with pytest.raises(NothingToDraw):
        contest_figure(table)
    with pytest.raises(NothingToDraw):
        contest_figure(one)


def test_wrong_calls_are_one_clear_error():
    assert contest.contest(survived().iloc[:0], "t").empty
    with pytest.raises(ValueError, match="control 'oracle' is no arm"):
        table_of(survived(), control="oracle")
    with pytest.raises(ValueError, match="'submod' has several packs"):
        contest.contest(survived(), "t")


def drawn(table, **changes):
    spec = charts.spec_of(contest_figure(table, **changes), "packer_contest")
    return " ".join(spec["title"]["text"]), json.dumps(spec, ensure_ascii=False)


def test_the_title_is_the_finding():
    title, text = drawn(table_of(survived(200), survived(60, "musique", seed=2)))
    assert title.startswith("tuned keeps")
    assert "points more answers than submod at 160 tokens, with fewer tokens; the next is submod, unit cost with 0.0" in title
    assert "all data sets, n = 260" in text and "HotpotQA, n = 200" in text and "MuSiQue, n = 60" in text and "t tier" in text
    lost = survived(200)
    swap = lost["policy"].map(lambda p: {"submod": "tuned", "tuned": "submod"}.get(p, p)).where(lost["pack_id"] == NAME, lost["policy"])
    title, _ = drawn(table_of(lost.assign(policy=swap)))
    assert title.startswith("On HotpotQA, tuned keeps") and "points fewer answers than submod at 160 tokens, with more tokens" in title
    title, _ = drawn(table_of(survived(60, better=0.0, tokens=148)))
    assert "tuned cannot be told from submod at 160 tokens (0.0 points), with as many tokens" in title


def test_the_figure_leaves_out_who_knows_the_answer_and_marks_parts():
    rows = pd.concat([survived(), packed("gold", [1] * 60, 120), packed("selective", [1, 0] * 10, 150)])
    _, text = drawn(table_of(rows))
    assert "selective*" in text and "packed a part" in text and '"gold"' not in text
    with pytest.raises(NothingToDraw, match="999 tokens"):
        contest_figure(table_of(rows), budget=999)
    with pytest.raises(ChartError, match="n_tokens"):
        contest_figure(table_of(rows, measures=["answer_in_context_defined"]))


def test_a_run_that_packed_no_submod_has_no_contest_and_no_crash():
    rows = survived()
    assert table_of(rows[rows["policy"] != "submod"]).empty
