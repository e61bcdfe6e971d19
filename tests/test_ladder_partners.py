"""Published beside ours: every figure has its row, a reader's figure is judged by that reader alone, and what is missing says what it takes."""
import numpy as np
import pandas as pd
import pytest
from ladder_world import RUNGS, rows

from lib import claims, ladder, ladder_partners, summaries, tables, wording_ladder

POLICIES = ["naive", "focused", "submod"]
PAPER = (("Qwen2.5-3B-Instruct", "fp16"), ("Qwen2.5-7B-Instruct", "fp16"), ("Qwen2.5-7B-Instruct", "nf4"), ("Qwen2.5-14B-Instruct", "nf4"))


def partners(rungs, dataset="hotpotqa", n=60, edges=None):
    data = rows(edges, n=n, rungs=rungs, dataset=dataset)
    table = ladder.ladder(data, "real", resamples=100)
    packed = data[data["policy"] != "closed_book"].drop_duplicates(["qid", "policy"]).assign(reader="none", precision="none")
    packing = summaries.means(packed, ladder_partners.MEASURES[2:], "real", 100).drop(columns=["reader", "precision"])
    made = ladder_partners.frames(data, packing, "real", POLICIES, ladder.PAIRS, 100)
    return tables.check(ladder_partners.partners(made, table, "real"), "ladder_partners").set_index("claim"), table


def edges(table, control):
    """submod - control on F1, a row a rung."""
    return table[(table["kind"] == "contrast") & (table["quantity"] == "f1") & (table["policy"] == "submod") & (table["control"] == control)]


@pytest.fixture(scope="module")
def small():
    return partners(RUNGS)


@pytest.fixture(scope="module")
def paper():
    return partners(PAPER)


def test_every_published_figure_of_contrasts_and_policy_tables_has_its_row(small):
    table, _ = small
    facts = claims.published()
    for source, least in (("document 000, Table 5", 3), ("document 000, Table 6", 42), ("document 000, Table 8", 35), ("document 000, Table 9", 35)):
        named = facts.loc[facts["source"] == source, "claim"]
        assert len(named) >= least and set(named) <= set(table.index), source
    assert {"3b_submod_minus_focused_f1", "3b_submod_minus_naive_em", "submod_minus_naive_every_rung_low"} <= set(table.index)
    assert set(table["verdict"]) <= {"reproduced", "differs", "inconclusive", "other reader", "not run"}
    assert table.loc[table["verdict"].isin(["not run"]), "note"].notna().all() and table.loc[table["verdict"] != "not run", "ours"].notna().all()


def test_another_reader_stands_beside_and_is_not_judged(small):
    table, ladder_table = small
    row = table.loc["14b_submod_minus_focused_f1"]
    assert row["verdict"] == "other reader" and row["reader"] == "coder-0.5b nf4" and "needs Qwen2.5-14B nf4, a GPU" in row["note"]
    mine = edges(ladder_table, "focused")
    assert row["ours"] == pytest.approx(mine.loc[mine["precision"] == "nf4", "estimate"].iloc[0])
    assert table.loc["7b_submod_f1", "reader"] == "coder-1.5b fp32"  # the largest that is not NF4


def test_the_published_reader_is_judged_by_the_rule_of_the_register(paper):
    table, _ = paper
    judged = table[table["reader_needed"].notna() & table.index.str.contains("submod_minus_focused|_naive_f1|_submod_em")]
    assert set(judged["reader"].dropna()) == {" ".join(r) for r in PAPER} and "other reader" not in set(judged["verdict"])
    row, effect = table.loc["14b_submod_minus_focused_f1"], claims.published().set_index("claim").loc["14b_submod_minus_focused_f1", "effect"]
    assert row["verdict"] == claims.verdict(row["published"], row["ci_low"], row["ci_high"], effect)


def test_what_needs_no_reader_is_judged_with_any_reader(small):
    row = small[0].loc["14b_focused_coverage"]
    assert row["verdict"] in ("reproduced", "differs", "inconclusive") and pd.isna(row["reader"]) and row["n"] == 54  # six of sixty have no gold


def test_a_policy_that_the_ladder_does_not_read_says_so_and_what_else_it_takes(small):
    row = small[0].loc["7b_mmr_f1"]
    assert row["verdict"] == "not run" and "mmr" in row["note"] and "make paper" in row["note"] and np.isnan(row["ours"])


def test_the_range_over_rungs_is_the_lowest_and_the_highest(small):
    table, ladder_table = small
    found = edges(ladder_table, "naive")
    assert table.loc["submod_minus_naive_every_rung_low", "ours"] == pytest.approx(found["estimate"].min())
    assert table.loc["submod_minus_naive_every_rung_high", "ours"] == pytest.approx(found["estimate"].max())


def test_a_run_without_the_data_set_has_no_partner_and_the_sample_says_it_stands_in():
    own, _ = partners(RUNGS[:1], dataset="own_questions", n=10)
    assert set(own["verdict"]) == {"not run"} and own["note"].str.contains("data set hotpotqa is not part of this run").all()
    sample, _ = partners(RUNGS[:1], dataset="ondrell", n=10)
    assert "compared with ondrell, a stand-in for hotpotqa" in sample.loc["14b_focused_coverage", "note"]


def test_the_published_ladder_is_what_is_printed():
    made = ladder_partners.published_ladder().set_index(["reader", "precision", "control"])["estimate"]
    assert made.xs("focused", level="control").tolist() == [0.022, -0.010, -0.008, -0.029]
    assert made["Qwen2.5-7B", "fp16", "naive"] == pytest.approx(0.054) and made["Qwen2.5-14B", "nf4", "naive"] == pytest.approx(0.045)
    assert ladder_partners.needs("Qwen2.5-14B nf4").startswith("needs Qwen2.5-14B nf4, a GPU (8 GB")


def test_what_may_be_read_into_the_verdicts_depends_on_the_data_set(small):
    table, _ = small
    said = wording_ladder.partners_told(table.reset_index())
    judged = table[table["verdict"].isin(["reproduced", "differs", "inconclusive"])]
    assert f"- {len(judged)} figures" in said and "on the published data set" in said and "stands in" not in said
    assert f"{(table['verdict'] == 'other reader').sum()} figures need a reader that was not run" in said
    signs = table[table.index.str.contains("minus")].dropna(subset=["ours", "ci_low"])
    assert f"Of {len(signs)} published differences" in said and f"the same sign for {(signs['ours'] * signs['published'] > 0).sum()}" in said
    invented, _ = partners(RUNGS, dataset="ondrell", n=30)
    other = wording_ladder.partners_told(invented.reset_index())
    assert "on a corpus that stands in for it" in other and "not that a figure failed to reproduce" in other and "on the published data set" not in other
    assert wording_ladder.partners_told(table.reset_index().iloc[:0]) == ""
