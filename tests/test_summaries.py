"""Tables of results: means by hand, contrasts that are paired, losses that add up, and missing values that are counted and harm nothing."""
import numpy as np
import pandas as pd
import pytest

from lib import stats, summaries, tables
from lib.parts import halves
from lib.summaries import (
    conditional_means,
    contrasts,
    means,
    ranking_means,
    reading_means,
    survival_contrasts,
    survival_means,
)

N_QUESTIONS, DRAWS = 12, 200
POLICIES = ["naive", "mmr", "submod"]


def outcomes(seed=0, **columns):
    """Random rows of three packers over twelve questions: three undefined, everything nested; ``columns`` overwrites."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame([(f"q{i}", p) for p in POLICIES for i in range(N_QUESTIONS)], columns=["qid", "policy"])
    rows = rows.assign(dataset="d", pack_id="p", budget=100, reader="r", precision="fp32", half=[i % 2 for i in range(N_QUESTIONS)] * 3)
    number = rows["qid"].str[1:].astype(int)
    rows["answer_defined"] = number % 4 != 3
    rows["answer_in_corpus"] = (rows["answer_defined"] & (number != 0)).astype(int)
    rows["answer_in_pool"] = rows["answer_in_corpus"] * (number != 1)
    rows["answer_in_context"] = rows["answer_in_pool"] * rng.integers(0, 2, len(rows))
    rows["em"] = rng.integers(0, 2, len(rows)).astype(float)
    rows["f1"] = np.maximum(rows["em"], rng.integers(0, 5, len(rows)) / 4)
    rows["gold_coverage"], rows["n_tokens"] = rng.integers(0, 3, len(rows)) / 2, rng.integers(80, 101, len(rows))
    return rows.assign(**columns)


def declared(rows):
    """The same with the types that a table has once it is read (missing values included)."""
    return rows.astype({c: "Int64" for c in rows if rows[c].dtype.kind == "i"} | {"answer_defined": "boolean"})


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1
    return rows.iloc[0]


def test_wins_losses_and_their_sign_test_stand_beside_the_mean():
    rows = outcomes()
    table = contrasts(rows, [("submod", "naive"), ("naive", "submod"), ("mmr", "mmr")], ["f1"], "t", DRAWS).query("half == 'all'").set_index(["treatment", "control"])
    f1 = rows.pivot(index="qid", columns="policy", values="f1")
    up, down = int((f1["submod"] > f1["naive"]).sum()), int((f1["submod"] < f1["naive"]).sum())
    assert table.loc[("submod", "naive"), ["wins", "losses"]].tolist() == [up, down] == table.loc[("naive", "submod"), ["losses", "wins"]].tolist()
    assert table.loc[("submod", "naive"), "sign_p"] == pytest.approx(stats.sign_test(up, down))
    assert table.loc[("mmr", "mmr"), ["wins", "losses", "sign_p"]].tolist() == [0, 0, 1]


def test_halves_partition_the_questions():
    rows = outcomes()
    parts = dict(halves(rows))
    assert list(parts) == ["all", "0", "1"] and len(parts["all"]) == len(rows)
    assert set(parts["0"]["qid"]).isdisjoint(parts["1"]["qid"]) and len(parts["0"]) + len(parts["1"]) == len(rows)
    table = means(rows, ["f1"], "t", DRAWS)
    n = table.pivot(index="policy", columns="half", values="n")
    weighted = table.assign(total=table["estimate"] * table["n"]).pivot(index="policy", columns="half", values="total")
    assert (n["0"] + n["1"] == n["all"]).all() and (weighted["0"] + weighted["1"]).tolist() == pytest.approx(weighted["all"].tolist())


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_means_are_means_over_questions(kind):
    rows = kind(outcomes())
    table = means(rows, ["f1", "em", "answer_in_context", "answer_in_context_defined", "n_tokens"], "t", DRAWS)
    for policy, group in rows.groupby("policy"):
        for measure in ("f1", "em", "answer_in_context", "n_tokens"):
            row = one(table, policy=policy, measure=measure, half="all")
            assert row["estimate"] == pytest.approx(group[measure].astype(float).mean()) and row["ci_low"] <= row["estimate"] <= row["ci_high"]
            assert (row["n"], row["clusters"], row["undefined"]) == (12, 12, 0)
        row = one(table, policy=policy, measure="answer_in_context_defined", half="all")
        assert row["estimate"] == pytest.approx(group[group["answer_defined"].astype(bool)]["answer_in_context"].astype(float).mean())
        assert (row["n"], row["undefined"]) == (9, 3)
    assert len(tables.check(table, "policies")) == len(table) == 3 * 5 * 3


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_one_missing_value_destroys_no_mean_and_is_counted(kind):
    rows = outcomes()
    rows.loc[(rows["qid"] == "q2") & (rows["policy"] == "mmr"), ["gold_coverage", "f1"]] = np.nan
    table = means(kind(rows), ["gold_coverage", "f1"], "t", DRAWS)
    for measure in ("gold_coverage", "f1"):
        row = one(table, policy="mmr", measure=measure, half="0")
        assert row["estimate"] == pytest.approx(rows[(rows["policy"] == "mmr") & (rows["half"] == 0)][measure].mean())
        assert (row["n"], row["undefined"]) == (5, 1) and np.isfinite([row["ci_low"], row["ci_high"]]).all()
        assert one(table, policy="naive", measure=measure, half="0")["undefined"] == 0
    delta = one(contrasts(kind(rows), [("submod", "mmr")], ["f1"], "t", DRAWS), half="all")
    wide = rows.pivot(index="qid", columns="policy", values="f1")
    assert delta["delta"] == pytest.approx((wide["submod"] - wide["mmr"]).mean()) and delta["n"] == 11


def test_the_order_of_the_rows_changes_nothing():
    rows = outcomes()
    shuffled = rows.sample(frac=1, random_state=1)
    for make in (lambda r: means(r, ["f1"], "t", DRAWS), lambda r: contrasts(r, [("submod", "naive")], ["f1"], "t", DRAWS)):
        pd.testing.assert_frame_equal(make(rows), make(shuffled))


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_metric_case_a_policy_against_itself_is_exactly_nothing(kind):
    table = contrasts(kind(outcomes()), [(p, p) for p in POLICIES], ["f1", "answer_in_context", "answer_in_context_defined", "n_tokens"], "t", DRAWS)
    assert len(table) == 3 * 4 * 3 and not table[["delta", "ci_low", "ci_high"]].any(axis=None)
    assert (table["p_value"] == 1).all() and (table["p_holm"] == 1).all() and table["mde"].isna().all()
    assert len(tables.check(table, "contrasts")) == len(table)


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_delta_is_treatment_minus_control_over_the_same_questions(kind):
    rows = outcomes()
    pairs = [("submod", "naive"), ("naive", "submod"), ("submod", "gold")]  # no gold here: no row
    table = contrasts(kind(rows), pairs, ["f1", "answer_in_context_defined"], "t", DRAWS)
    there, back = (one(table, treatment=t, control=c, metric="f1", half="all") for t, c in pairs[:2])
    wide = rows.pivot(index="qid", columns="policy", values="f1")
    assert there["delta"] == pytest.approx((wide["submod"] - wide["naive"]).mean()) == -back["delta"]
    assert (there["ci_low"], there["ci_high"]) == pytest.approx((-back["ci_high"], -back["ci_low"]))
    assert set(table["control"]) == {"naive", "submod"} and len(table) == 2 * 2 * 3
    assert one(table, treatment="submod", metric="answer_in_context_defined", half="all")["n"] == 9
    assert (table["p_holm"] >= table["p_value"]).all() and (table["p_value"] >= 1 / (DRAWS + 1)).all()


def test_a_pair_packed_twice_for_a_question_is_an_error():
    rows = outcomes()
    with pytest.raises(ValueError, match="duplicate"):
        contrasts(pd.concat([rows, rows.iloc[:1]]), [("submod", "naive")], ["f1"], "t", DRAWS)


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_conditional_means_by_hand(kind):
    rows = outcomes()
    rows.loc[0, "f1"] = np.nan
    table = conditional_means(kind(rows), "answer_in_context", ["f1", "em"], "t", DRAWS)
    for holds in (0, 1):
        part = rows[rows["answer_in_context"] == holds]
        row = one(table, holds=holds, measure="f1")
        assert row["estimate"] == pytest.approx(part["f1"].mean()) and row["n"] == part["f1"].notna().sum() and row["clusters"] == part.dropna(subset=["f1"])["qid"].nunique()
    assert len(tables.check(table, "conditional")) == 4


def test_ranking_means_count_what_is_undefined():
    measured = pd.DataFrame({"dataset": "d", "qid": ["q1", "q2", "q3"], "scope": "own", "ranker": "dense", "n_gold": [2, 2, 0], "n_negative": 0, "in_rankings": [True, False, True],
                             "recall_at_5": [1.0, 0.0, np.nan], "mrr": [0.5, 0.0, np.nan]})
    table = ranking_means(measured, "t", DRAWS)
    assert set(table["measure"]) == {"recall_at_5", "mrr"}
    row = one(table, measure="recall_at_5")
    assert (row["estimate"], row["n"], row["clusters"], row["undefined"]) == (0.5, 2, 2, 1)
    assert len(tables.check(table, "retrieval")) == 2


def survived(rows):
    return rows.drop(columns=["half", "em", "f1", "reader", "precision"]).assign(answer_in_context_spaced=rows["answer_in_context"], all_gold_in_context=0.0, gold_density=0.5)


QUESTIONS = pd.DataFrame({"dataset": "d", "qid": [f"q{i}" for i in range(N_QUESTIONS)], "half": [i % 2 for i in range(N_QUESTIONS)]})


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_survival_means_need_no_reader(kind):
    rows = outcomes()
    table = survival_means(QUESTIONS, kind(survived(rows)), "t", DRAWS)
    pool = one(table, policy="naive", measure="answer_in_pool", half="all")
    assert pool["estimate"] == pytest.approx(7 / 9) and (pool["n"], pool["undefined"]) == (9, 3)  # the ceiling: over defined answers
    context = one(table, policy="naive", measure="answer_in_context", half="all")
    assert context["estimate"] == pytest.approx(rows[rows["policy"] == "naive"]["answer_in_context"].mean()) and context["undefined"] == 0
    assert len(tables.check(table, "packing")) == len(table) == len(summaries.SURVIVAL_MEASURES) * 3 * 3


@pytest.mark.parametrize("kind", [lambda rows: rows, declared])
def test_survival_contrasts_are_those_of_the_defined_answers(kind):
    rows = outcomes()
    pairs = [("submod", "naive"), ("naive", "naive")]
    table = survival_contrasts(QUESTIONS, kind(survived(rows)), "t", pairs, ["answer_in_context_defined"], DRAWS)
    wide = rows[rows["answer_defined"]].pivot(index="qid", columns="policy", values="answer_in_context")
    row = one(table, treatment="submod", half="all")
    assert row["delta"] == pytest.approx((wide["submod"] - wide["naive"]).mean()) and row["n"] == 9
    assert not table[table["treatment"] == "naive"][["delta", "ci_low", "ci_high"]].any(axis=None)


def test_reading_means_share_the_answer_of_a_shared_context():
    asked = pd.DataFrame([("d", f"q{i}", policy, f"h{i}") for i in range(4) for policy in ("naive", "mmr")], columns=["dataset", "qid", "policy", "context_hash"])
    answers = pd.DataFrame({"dataset": "d", "qid": [f"q{i}" for i in range(4)], "context_hash": [f"h{i}" for i in range(4)], "reader": "r", "precision": "fp32",
                            "em": [1.0, 0, 0, 0], "f1": [1.0, 0.5, 0.5, 0]})
    table = reading_means(asked, answers, "t", DRAWS)
    assert table.groupby("policy")["estimate"].apply(list).to_dict() == {"naive": [0.25, 0.5], "mmr": [0.25, 0.5]} and (table["n"] == 4).all()


def test_within_questions_compares_a_question_with_itself():
    rows = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "a", "b", "b", "c"], "kept": [1, 0, 0, 1, 0, 1], "f1": [1.0, 0.0, 0.5, 0.5, 0.5, 1.0]})
    found = summaries.within_questions(rows, "kept", "f1").iloc[0]
    assert found.tolist() == ["d", 3, 2, pytest.approx(0.375), pytest.approx(0.75), 1, 1, 0]  # c never parts
    assert summaries.within_questions(rows.assign(kept=1), "kept", "f1")["parted"].tolist() == [0]


def ranked(**found):
    """Twenty questions, all gold found or not, by ``ranker_scope=``; each value a list of 0 and 1."""
    return pd.concat([pd.DataFrame({"dataset": "d", "qid": [f"q{i:02}" for i in range(len(v))], "scope": name.split("_")[1], "ranker": name.split("_")[0],
                                    "all_gold_at_5": np.asarray(v, float)}) for name, v in found.items()], ignore_index=True)


def test_scopes_are_compared_question_by_question_and_holm_runs_over_the_rankers():
    half = [0, 1] * 10
    table = summaries.scope_contrasts(ranked(dense_own=[1] * 20, dense_pooled=half, bm25_own=half, bm25_pooled=half, alone_own=half).sample(frac=1, random_state=1),
                                      "all_gold_at_5", "t", 500).set_index("ranker")
    assert set(table.index) == {"dense", "bm25"}, "a ranker of one scope has no difference"
    assert (table.loc["dense", ["own", "pooled", "delta"]] == [1.0, 0.5, -0.5]).all() and table.loc["dense", "ci_high"] < 0
    assert (table.loc["bm25", ["delta", "ci_low", "ci_high"]] == 0).all() and (table["p_holm"] >= table["p_value"]).all()
    assert table.loc["dense", "p_holm"] == pytest.approx(2 * table.loc["dense", "p_value"])
    assert summaries.scope_contrasts(ranked(dense_own=half), "all_gold_at_5", "t").empty
    assert summaries.scope_contrasts(ranked(dense_own=[np.nan] * 4, dense_pooled=[np.nan] * 4), "all_gold_at_5", "t", 100)["delta"].isna().all()


def test_holm_of_rankers_runs_over_the_pairs_of_one_scope():
    half = [0, 1] * 10
    table = summaries.ranker_contrasts(ranked(a_own=half, b_own=[1] * 20, c_own=half, a_pooled=half, b_pooled=half), "all_gold_at_5", "t", 500)
    own = table[table["scope"] == "own"]
    assert own["p_holm"].tolist() == stats.holm(own["p_value"]).tolist() and len(own) == 3 and len(table) == 4
