"""Document 002's figures: as the reference tables have them, consistent with one another, judged by our bound, and beside ours in every row."""

import numpy as np
import pandas as pd
import pytest

from lib import gating_published, stats, tables
from lib.declarations_gating_published import GATING_PUBLISHED
from lib.gate import skip_delta, within
from lib.gating_bound import lower_bound
from lib.gating_counterparts import PARTS, counterparts
from lib.gating_features import NAMES

REFERENCE = tables.ROOT.parent / "shared" / "reference"
PRINTED = gating_published.read()
SETS = {"2Wiki": "2wiki", "MuSiQue": "musique", "HotpotQA": "hotpotqa"}
CELLS = PRINTED.cells.merge(PRINTED.always, on=["dataset", "k"], suffixes=("", "_always"))


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in GATING_PUBLISHED.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


def plain(text):
    return text.replace("\u00a0", " ")


# --- the figures --------------------------------------------------------------------------------------------------------------------------

PARALLEL = {  # reference table -> (ours, its rule, {reference column: our column})
    "always_rerank": ("always", None, {"hipporag2": "h", "always_rerank": "rerank", "delta_pp": "delta", "wins": "wins", "losses": "losses", "p": "p"}),
    "eval_sets": ("always", None, {"n": "n", "records": "records", "titles": "titles"}),
    "coverage_rule": (
        "cells",
        "coverage",
        {
            "fallback": "fallback",
            "skip_pct": "skip",
            "gated": "gated",
            "delta_pp": "delta",
            "harmful": "harmful",
            "beneficial": "beneficial",
            "within_1pp": "within",
            "score_gap_skip": "gap_skip",
            "score_gap_delta": "gap_delta",
            "random_delta": "random_delta",
        },
    ),
    "inner_vs_heldout": (
        "cells",
        "coverage",
        {
            "inner": "inner_skip",
            "held_out": "skip",
            "gap": "inner_gap",
            "range_low": "inner_low",
            "range_high": "inner_high",
            "models": "models",
            "labels": "labels",
        },
    ),
    "loss_budget_cells": (
        "cells",
        "budget 1",
        {
            "fallback": "fallback",
            "skip_pct": "skip",
            "delta_pp": "delta",
            "harmful": "harmful",
            "beneficial": "beneficial",
            "expected_harm": "expected",
            "realised_harm": "realised",
            "ece_calibrated": "ece",
            "ece_raw": "ece_raw",
            "within_1pp": "within",
        },
    ),
    "cost": ("cells", "coverage", {"gated_per_1k": "gated_per_1k", "cost_saved_pct": "saved", "skip_pct": "skip"}),
}


def reference(name):
    path = REFERENCE / f"gating_{name}.csv"
    if not path.exists():
        pytest.skip("the reference tables (../shared/reference) are not on this machine; data/published/gating_*.csv hold their figures")
    return pd.read_csv(path, comment="#")


@pytest.mark.parametrize("name", PARALLEL)
def test_every_reference_figure_is_here(name):
    table, rule, columns = PARALLEL[name]
    theirs, ours = reference(name), getattr(PRINTED, table)
    assert len(theirs) >= 3
    for _, row in theirs.iterrows():
        mine = ours[(ours["dataset"] == SETS[row["dataset"]]) & (ours["k"] == row["k"] if "k" in row else True) & (ours["rule"] == rule if rule else True)]
        assert len(mine) == (1 if "k" in row else 3)
        for theirs_, column in columns.items():
            want, got = row[theirs_], mine[column].iloc[0]
            assert got == want or (pd.isna(got) and pd.isna(want)), (name, column, got, want)


def test_table_8_and_table_12_are_here():
    theirs, ours = reference("loss_budget"), PRINTED.rules
    for mine, column in (
        ("skip", "skip_pct"),
        ("delta", "delta_pp"),
        ("harmful", "harmful"),
        ("beneficial", "beneficial"),
        ("cells_within", "cells_within_1pp"),
        ("worst", "worst_pp"),
    ):
        assert ours[mine].tolist() == theirs[column].tolist()
    depth = PRINTED.lasthop.set_index(["dataset", "pipeline", "k"])["coverage"]
    for _, row in reference("coverage_vs_k").iterrows():
        for k in (1, 3, 5, 7, 10):
            assert depth[SETS[row["dataset"]], "gated" if row["pipeline"].startswith("gated") else "rerank", k] == row[f"k{k}"]


def test_the_printed_figures_agree_with_one_another():
    """The identity delta = (beneficial - harmful) / n, the bare rule, gated hit rates, wins and losses, Table 12 at the K of Table 3."""
    for _, r in CELLS.iterrows():
        assert skip_delta(int(r["beneficial"]), int(r["harmful"]), int(r["n"])) == pytest.approx(r["delta"], abs=0.006)
        assert within(skip_delta(int(r["beneficial"]), int(r["harmful"]), int(r["n"]))) == (r["within"] == "yes")
        assert np.isnan(r["gated"]) or 100 * (r["gated"] - r["rerank"]) == pytest.approx(r["delta"], abs=0.012)
        assert np.isnan(r["realised"]) or 100 * r["harmful"] / r["n"] == pytest.approx(r["realised"], abs=0.006)
    known = PRINTED.always.dropna(subset=["h"])
    assert len(known) == 6
    np.testing.assert_allclose(100 * (known["wins"] - known["losses"]) / known["n"], known["delta"], atol=0.06)
    depth = PRINTED.lasthop.set_index(["dataset", "pipeline", "k"])["coverage"]
    assert all(abs(depth[r["dataset"], "rerank", r["k"]] - r["rerank"]) < 6e-4 for _, r in known.iterrows())


def test_a_file_that_is_damaged_is_refused(tmp_path):
    for name, table in zip(gating_published.KEYS, PRINTED):
        table.to_csv(tmp_path / f"gating_{name}.csv", index=False)
    assert len(gating_published.read(tmp_path).cells) == 12
    pd.concat([PRINTED.rules, PRINTED.rules[:1]]).to_csv(tmp_path / "gating_rules.csv", index=False)
    with pytest.raises(ValueError, match="stands twice"):
        gating_published.read(tmp_path)
    PRINTED.rules.drop(columns="rule").to_csv(tmp_path / "gating_rules.csv", index=False)
    with pytest.raises(ValueError, match=r"columns \['rule'\] are missing"):
        gating_published.read(tmp_path)
    (tmp_path / "gating_rules.csv").unlink()
    with pytest.raises(ValueError, match="is not in"):
        gating_published.read(tmp_path)


# --- beside ours --------------------------------------------------------------------------------------------------------------------------


def run(*datasets, ks=(1, 5, 10)):
    """A run's always, cells and harms: nothing harmed among 400, delta 0."""
    rows = [(d, k, rule) for d in datasets for k in ks for rule in ("coverage", "budget 1")]
    cells = pd.DataFrame(rows, columns=["dataset", "k", "rule"]).assign(
        skip=0.25, delta=0.0, ci_low=-1.0, ci_high=1.0, bound=lower_bound(0, 0, 400), harmful=0, beneficial=0, within=True, surely_within=True, n=400
    )
    always = cells.drop_duplicates(["dataset", "k"])[["dataset", "k"]].assign(delta=10.0, n=400)
    return always, cells, cells[["dataset", "k", "rule"]].assign(expected=0.5, realised=0.0)


def test_a_tier_without_the_published_sets_says_so_in_every_row():
    table = gating_published.beside(*run("ondrell"), "sample")
    tables.check(table, "gating_published")
    assert len(table) == 18 and (table["compared_with"] == "none").all() and table["n"].isna().all()
    assert table["why"].str.contains("not run here: .* is no part of this run$").all()
    said = plain(gating_published.published_words(table))
    assert said.startswith(
        "- Of 6 printed cells under the coverage rule, 2 keep 1 pp as measured and 1 surely, by the bound that their own counts give (−5.6 to −0.6 pp).\n"
    )
    assert "Of 6 printed cells under the 1 pp budget, 3 keep 1 pp as measured and none surely" in said and "so nothing is compared" in said
    assert said.endswith("the published ones cost −3.9 pp on 2WikiMultiHopQA and −3.9 pp on MuSiQue (from hit rates of three digits).")


def test_ours_stands_beside_each_published_cell_and_hotpotqa_says_what_was_not_printed():
    table = tables.check(gating_published.beside(*run("2wiki", "2wiki-corpus", "hotpotqa", ks=(1, 5)), "real"), "gating_published").set_index(
        ["dataset", "k", "rule", "compared_with"]
    )
    assert len(table) == 24  # two sets of ours beside each of the six 2Wiki cells
    both = table.loc[("2wiki", 1, "coverage", "2wiki")]
    assert (both["published_harmful"], both["published_beneficial"], both["published_n"], both["n"]) == (48, 36, 491, 400) and pd.isna(both["why"])
    assert both["published_bound"] == pytest.approx(-5.5587, abs=1e-3) and not both["published_surely"] and both["surely"] and both["always"] == 10.0
    assert both["published_skip"] == 0.369 and both["published_always"] == 34.8 and both["published_realised"] == pytest.approx(9.776, abs=1e-3)
    other = table.loc[("hotpotqa", 5, "budget 1", "hotpotqa")]
    assert other["why"] == gating_published.NOT_PRINTED and other["n"] == 400 and pd.isna(other["published_delta"]) and other["expected"] == 0.5
    assert table.loc[("2wiki", 10, "coverage", "2wiki"), "why"] == "not run here: no cell of 2WikiMultiHopQA at K 10 under the coverage rule"
    assert "MuSiQue is no part of this run" in table.loc[("musique", 1, "coverage", "none"), "why"]


def test_our_share_is_told_beside_theirs():
    said = plain(gating_published.published_words(gating_published.beside(*run("2wiki"), "real")))
    assert "Of 3 here that stand beside them, 3 keep 1 pp as measured and 3 surely; in 1 of 3 our interval holds the printed delta.\n" in said
    assert "; in 2 of 3 our interval" in said and "nothing is compared" not in said
    only = plain(gating_published.published_words(gating_published.beside(*run("hotpotqa", ks=(1,)), "real")))
    assert "Of 1 here that stand beside them, 1 keeps 1 pp as measured and 1 surely; none has a printed delta.\n" in only
    blank = PRINTED._replace(cells=PRINTED.cells[:0], lasthop=PRINTED.lasthop[:0])
    assert (
        gating_published.published_words(gating_published.beside(*run("ondrell"), "sample", blank), blank)
        == "No data set of this run stands beside the published ones, so nothing is compared."
    )


def test_an_empty_run_is_no_error():
    table = gating_published.beside(*(t[:0] for t in run("a")), "sample")
    assert len(tables.check(table, "gating_published")) == 18 and table["why"].str.contains("is no part of this run").all()


# --- the document's slips -----------------------------------------------------------------------------------------------------------------


def test_what_is_not_printed_follows_from_the_averages():
    left = gating_published.rest(PRINTED, "coverage")
    assert {k: round(float(v), 2) for k, v in left.items()} == {"cells": 3, "skip": 218.6, "harmful": 55, "beneficial": 38, "delta": -3.26}
    assert round(gating_published.rest(PRINTED, "budget 1")["harmful"]) == 14


def test_slips_are_told_with_their_numbers():
    said = plain(gating_published.faults())
    head, _, points = said.partition("\n\n")
    assert head.endswith(":") and points.count("\n") == 5 and all(line.startswith("- ") for line in points.splitlines())
    assert (
        "3 cells 218.6 points of skips, 55 harmful and 38 beneficial ones, and deltas that add up to −3.26 pp; one of them must be Table 8's "
        "worst, −3.26 pp, so those of the others add up to 0.00."
        in said
    )
    assert "prints p = 0.000 for MuSiQue at K 10; the exact sign test of 13 wins and 0 losses gives 2.4e-04." in said and stats.sign_test(13, 0) == 2 / 2**13
    assert (
        "Table 5 has no row of MuSiQue at K 10." in said
        and f"Of the {len(NAMES)} features" in said
        and "of 2WikiMultiHopQA at K 1 rises from 0.067 to 0.080" in said
    )


def test_a_printed_p_that_is_exact_is_no_slip():
    mended = PRINTED._replace(always=PRINTED.always.assign(p=PRINTED.always["p"].replace(0.0, 0.000244)), rules=PRINTED.rules.assign(worst=-2.44))
    said = gating_published.faults(mended)
    assert "sign test" not in said and "one of them must" not in said


# --- counterparts -------------------------------------------------------------------------------------------------------------------------


def made(*datasets):
    """All tables of a run, whole: nine cells, four rules."""
    always, cells, harms = run(*datasets)
    pools = pd.DataFrame([(d, p, k, 400) for d in datasets for p in ("H + V", "all five") for k in (1, 3, 5, 7, 10)], columns=["dataset", "pool", "k", "n"])
    replayed = cells[cells["k"] == 5][["dataset", "k", "rule", "n"]].assign(covered=400)
    rules = pd.DataFrame({"rule": ["coverage", "budget 0.5", "budget 1", "budget 2"], "cells": 9, "n": 1200})
    usage = pd.DataFrame([(d, f"q{i}", "reranker") for d in datasets for i in range(4)], columns=["dataset", "qid", "reranker"])
    return {
        "gating_always": always,
        "gating_cells": cells,
        "gating_harm": harms.assign(n=400),
        "gating_baselines": cells.assign(always_d_delta=-1.0),
        "gating_rules": rules,
        "gating_pools": pools,
        "gating_replayed": replayed,
        "gating_lasthop": pools.drop(columns="pool"),
        "gating_cost": cells.assign(measured=400, always_seconds=0.5),
        "gating_reliability": pd.DataFrame(
            [(d, "budget 1", "calibrated", c, c) for d in datasets for c in (9, 0)], columns=["dataset", "rule", "form", "count", "questions"]
        ),
        "documents": pd.DataFrame({"dataset": datasets}),
        "gate_usage": usage,
    }


def rows_of(tier, given):
    table = tables.check(counterparts(tier, given), "gating_counterparts")
    return table.set_index("source")


def test_every_table_and_figure_of_the_document_has_a_row():
    table = rows_of("real", made("2wiki", "musique", "hotpotqa"))
    assert set(table.index) == {*(f"Table {i}" for i in range(1, 14)), "Figure 1", "Figure 2"} and len(table) == len(PARTS) + 1
    whole = [f"Table {i}" for i in (1, 2, 4, 5, 6, 7, 8, 12, 13)] + ["Figure 1", "Figure 2"]
    assert table.loc[whole, "not_run"].isna().all() and table.drop(whole)["not_run"].notna().all()
    assert table.loc["Table 4", ["rows", "datasets", "questions"]].tolist() == [9, "2wiki, musique, hotpotqa", 400]
    assert table.loc["Figure 1", "rows"] == 3 and table.loc["Table 1", "rows"] == len(NAMES)
    assert "Llama-3.3-70B" in table.loc["Table 10", "not_run"] and "PhaseGraph" in table.loc["Table 10", "not_run"]
    assert (
        "NV-Embed-v2, PhaseGraph, BGE-large, Qwen3-8B and e5-mistral" in table.loc["Table 9", "not_run"]
        and "H + V, all five" in table.loc["Table 9", "not_run"]
    )
    assert 'here "reranker" orders 12 questions, no language model' in table.loc["Table 3", "not_run"]


def test_a_run_without_tables_says_so_in_every_row():
    table = rows_of("sample", {})
    assert (table.drop("Table 1")["rows"] == 0).all() and table.drop("Table 1")["not_run"].str.contains("was not made in this run").all()
    some = made("2wiki")
    table = rows_of("real", {"gating_always": some["gating_always"][:0], "gating_harm": some["gating_harm"].assign(rule="budget 2")})
    assert "gating_always has no row in this run" in table.loc["Table 3", "not_run"] and "no row of the rule" in table.loc["Table 7", "not_run"]


def test_what_a_run_lacks_is_read_from_its_tables():
    given = made("ondrell") | {"gating_rules": pd.DataFrame({"rule": ["coverage", "budget 1"], "cells": 3, "n": 151})}
    given["gating_cells"] = given["gating_cells"][given["gating_cells"]["k"] < 10]
    given["gating_replayed"] = given["gating_replayed"].assign(covered=[380, 400])
    given["gating_cost"] = given["gating_cost"].assign(measured=[0, 0, 400, 400, 400, 400], always_seconds=np.nan)
    given["gating_baselines"] = given["gating_baselines"].assign(always_d_delta=np.nan)
    del given["documents"]
    table = rows_of("sample", given)["not_run"]
    assert table["Table 4"] == "2WikiMultiHopQA, MuSiQue and HotpotQA: this run has others; K 10"
    assert table["Table 8"] == "the rules budget 0.5 and budget 2; 3 cells instead of 9"
    assert "the gated list was not read for all questions in 1 of 2 rows (at worst for 380 of 400)" in table["Table 11"]
    assert "token counts of each question in 1 of 3 rows; seconds in 3 of 3 rows" in table["Table 13"]
    assert "the student D in 3 of 3 cells" in table["Table 5"] and "passages and titles" in table["Table 2"]


def test_who_reranked_is_read_from_the_lists():
    given, judge = made("2wiki", "musique", "hotpotqa"), "qwen2.5-coder-0.5b yes/no"
    pools = pd.DataFrame({"dataset": "2wiki", "qid": ["q0", "q0", "q1"], "reranker": [judge, judge, "reranker"], "pool": "H + V"})
    assert "a language model ordered the pools of 1 of 12" in rows_of("real", given | {"gate_pools": pools}).loc["Table 3", "not_run"]
    assert pd.isna(rows_of("real", given | {"gate_usage": given["gate_usage"].assign(reranker=judge)}).loc["Table 3", "not_run"])
    del given["gate_usage"]
    assert "no table gate_usage" in rows_of("real", given).loc["Table 3", "not_run"]
