"""Correlations: by hand, against SciPy and lib.stats to the last digits, one draw for all cells, differences that are paired, and degenerate tables."""
import numpy as np
import pandas as pd
import pytest
from diagnosed import POLICIES, one, outcomes
from scipy import stats as distributions

from lib import moments, poolings, stats, tables
from lib.correlations import DIAGNOSTICS, correlations

DRAWS = 300


def numbers(rows, predictor):
    if predictor == "answer_in_context_defined":
        return rows["answer_in_context"].where(rows["answer_defined"].astype(bool)).astype(float)
    return rows[predictor].astype(float)


def test_every_cell_is_the_cluster_correlation_of_its_rows():
    rows = outcomes()
    table = correlations(rows, "t", resamples=DRAWS, seed=3)
    for pooling, policies in (("policies", POLICIES), ("with_oracle", [*POLICIES, "oracle"])):
        part = rows[rows["policy"].isin(policies)]
        for predictor in DIAGNOSTICS:
            for outcome in ("f1", "em"):
                wanted = stats.cluster_correlation(numbers(part, predictor), part[outcome], part["qid"], resamples=DRAWS, seed=3)
                found = one(table, pooling=pooling, predictor=predictor, outcome=outcome, minus="none")
                assert (found["estimate"], found["ci_low"], found["ci_high"]) == pytest.approx(wanted[:3], abs=1e-9)
                assert (found["n"], found["clusters"]) == (wanted.n, wanted.clusters)
    known = rows[rows["policy"].isin(POLICIES)].dropna(subset=["gold_coverage"])
    found = one(table, pooling="policies", predictor="gold_coverage", outcome="f1", minus="none")
    assert found["estimate"] == pytest.approx(distributions.pearsonr(known["gold_coverage"], known["f1"]).statistic) and found["n"] == len(known) == 81
    assert len(tables.check(table, "correlations")) == len(table) == 2 * 2 * (6 + 4)


def test_differences_come_from_the_draws_of_the_two_correlations():
    rows = outcomes()
    rows["gold_density"] = rows["answer_in_context"].astype(float)  # the same column (but for questions without gold) correlates the same
    rows["gold_coverage"] = -rows["f1"]
    table = correlations(rows.dropna(subset=["recall_at_5"]), "t", resamples=DRAWS)
    same = one(table, pooling="policies", minus="gold_density", outcome="f1")
    assert (same["estimate"], same["ci_low"], same["ci_high"]) == (0, 0, 0)
    parts = [one(table, pooling="policies", predictor=p, minus="none", outcome="f1")["estimate"] for p in ("answer_in_context", "recall_at_5")]
    assert one(table, pooling="policies", minus="recall_at_5", outcome="f1")["estimate"] == pytest.approx(parts[0] - parts[1])
    widest = one(table, pooling="policies", minus="gold_coverage", outcome="f1")
    assert widest["estimate"] == pytest.approx(parts[0] + 1) and widest["ci_low"] > 1
    assert set(table.loc[table["minus"] != "none", "predictor"]) == {"answer_in_context"} and "answer_in_context_defined" not in set(table["minus"])
    assert (correlations(rows, "t", ["recall_at_5"], resamples=DRAWS)["minus"] == "none").all()


def test_a_paired_difference_is_surer_than_two_intervals():
    rng, n = np.random.default_rng(1), 300
    rows = outcomes(n=n, policies=["naive"]).assign(answer_defined=True)
    x = rng.normal(size=n)
    rows["f1"], rows["answer_in_context"], rows["gold_coverage"] = x + rng.normal(size=n), x, x + 0.4 * rng.normal(size=n)
    table = correlations(rows, "t", ["answer_in_context", "gold_coverage"], ["f1"], resamples=2000)
    first, second = (one(table, predictor=p, minus="none") for p in ("answer_in_context", "gold_coverage"))
    difference = one(table, minus="gold_coverage")
    assert first["ci_low"] < second["ci_high"] and difference["ci_low"] > 0  # they overlap, and yet the order is certain


def test_data_sets_are_pooled_with_questions_kept_apart_and_readers_are_not():
    two = pd.concat([outcomes(), outcomes(1, dataset="e"), outcomes(2).assign(reader="s")])
    table = correlations(two, "t", resamples=DRAWS)
    assert set(table["dataset"]) == {"d", "e", "all"} and set(table["reader"]) == {"r", "s"}
    row = one(table, dataset="all", reader="r", pooling="policies", predictor="answer_in_context", outcome="em", minus="none")
    assert (row["n"], row["clusters"]) == (180, 60)  # q1 of d is not q1 of e
    pooled = two[(two["reader"] == "r") & two["policy"].isin(POLICIES)]
    assert row["estimate"] == pytest.approx(np.corrcoef(pooled["answer_in_context"].astype(float), pooled["em"])[0, 1])
    assert set(correlations(outcomes(), "t", resamples=DRAWS)["dataset"]) == {"d"}


def test_the_order_of_the_rows_changes_nothing_and_neither_do_arms_that_are_not_compared():
    rows = outcomes()
    table = correlations(rows, "t", resamples=DRAWS)
    pd.testing.assert_frame_equal(table, correlations(rows.sample(frac=1, random_state=1), "t", resamples=DRAWS), rtol=1e-12)
    other = rows.assign(f1=rows["f1"].where(~rows["policy"].isin(["gold", "closed_book"]), 0.0))
    pd.testing.assert_frame_equal(table, correlations(other, "t", resamples=DRAWS))
    no_oracle = correlations(rows[rows["policy"] != "oracle"], "t", resamples=DRAWS)
    pd.testing.assert_frame_equal(no_oracle, table[table["pooling"] == "policies"].reset_index(drop=True))


def test_units_do_not_matter():
    rows = outcomes()
    table = correlations(rows, "t", resamples=DRAWS)
    turned = correlations(rows.assign(f1=1e6 - 3 * rows["f1"], recall_at_5=100 * rows["recall_at_5"]), "t", resamples=DRAWS)
    f1 = table["outcome"] == "f1"
    assert turned.loc[f1, "estimate"].to_numpy() == pytest.approx(-table.loc[f1, "estimate"].to_numpy(), abs=1e-6)
    assert turned.loc[f1, "ci_low"].to_numpy() == pytest.approx(-table.loc[f1, "ci_high"].to_numpy(), abs=1e-6)
    assert turned[~f1]["estimate"].tolist() == pytest.approx(table[~f1]["estimate"].tolist())


def test_degenerate_tables_give_missing_values_or_no_rows():
    rows = outcomes()
    constant = correlations(rows.assign(gold_coverage=1.0), "t", resamples=DRAWS)
    assert constant.loc[constant["predictor"] == "gold_coverage", "estimate"].isna().all() and constant["estimate"].notna().any()
    assert constant.loc[constant["minus"] == "gold_coverage", "estimate"].isna().all()
    undefined = correlations(rows.assign(answer_defined=False, answer_in_context=0, recall_at_5=np.nan), "t", resamples=DRAWS)
    lost = undefined[undefined["predictor"].isin(["answer_in_context", "answer_in_context_defined", "recall_at_5"])]
    assert lost["estimate"].isna().all() and set(undefined.loc[undefined["predictor"] == "recall_at_5", "n"]) == {0}
    tables.check(undefined, "correlations")
    single = correlations(rows[rows["qid"] == "q1"], "t", resamples=DRAWS)
    assert single["ci_low"].isna().all() and (single["clusters"] == 1).any()
    for nothing in (rows.iloc[:0], rows.assign(em=np.nan), rows[rows["policy"] == "closed_book"], rows[rows["policy"] == "oracle"]):
        assert tables.check(correlations(nothing, "t", resamples=DRAWS), "correlations").empty


def test_two_packs_or_budgets_at_once_are_refused():
    rows = outcomes()
    with pytest.raises(ValueError, match="one pack_id and one budget"):
        correlations(pd.concat([rows.assign(budget=96), rows.assign(budget=160)]), "t", resamples=DRAWS)
    with pytest.raises(ValueError, match="resamples"):
        correlations(rows, "t", resamples=0)


def test_other_packers_are_pooled_where_no_published_one_was_read():
    rows = outcomes(policies=["topk", "random", "closed_book"])
    [(key, group)] = poolings.groups(rows)
    assert key == ("d", "r", "fp32") and set(group["policy"]) == {"topk", "random"} and list(poolings.masks(group)) == ["policies"]


def test_covariances_of_blocks_equal_numpy_on_the_drawn_rows():
    rng = np.random.default_rng(5)
    block, names = rng.normal(size=(9, 3)), np.array(list("aabcccdee"))
    block[4, 1] = np.nan
    (one_block, drawn), (alone, _) = moments.covariances([block, block[:, :1]], names, 20, seed=7)
    known = block[~np.isnan(block).any(axis=1)]
    assert one_block[0] == pytest.approx(np.cov(known.T, ddof=0)) and alone[0, 0, 0] == pytest.approx(block[:, 0].var())
    for found, chosen in zip(drawn, np.random.default_rng(7).integers(5, size=(20, 5))):
        rows = np.vstack([block[names == "abcde"[k]] for k in chosen])
        assert found == pytest.approx(np.cov(rows[~np.isnan(rows).any(axis=1)].T, ddof=0))
