"""Retrieval-perfect rows: six fates by hand that add up, means and ratios on the same rows, the published convention, and what must not crash."""
import numpy as np
import pandas as pd
import pytest
from diagnosed import one, outcomes

from lib import stats, tables
from lib.bootstrap import Interval
from lib.retrieval_perfect import FATES, fates_of, retrieval_perfect, turned

DRAWS = 300
# question: stands in a gold passage, in another passage of the pool, span defined, all gold in the top 5
QUESTIONS = {"both": (1, 1, True, 1.0), "gold": (1, 0, True, 1.0), "other": (0, 1, True, 1.0), "none": (0, 0, True, 1.0), "yesno": (0, 0, False, 1.0),
             "missed": (1, 0, True, 0.0), "no_gold": (0, 1, True, np.nan)}
ROWS = [  # question, policy, answer in context, F1, EM
    ("both", "naive", 1, 1.0, 1), ("both", "submod", 1, 0.5, 0), ("gold", "naive", 0, 0.25, 0), ("gold", "submod", 1, 1.0, 1), ("other", "naive", 1, 0.5, 0),
    ("other", "submod", 0, 0.0, 0), ("none", "naive", 0, 0.25, 0), ("none", "submod", 0, 0.5, 0), ("yesno", "naive", 0, 1.0, 1), ("yesno", "submod", 0, 1.0, 1),
    ("missed", "naive", 1, 1.0, 1), ("missed", "submod", 1, 1.0, 1), ("no_gold", "naive", 1, 1.0, 1), ("no_gold", "submod", 1, 1.0, 1),
    ("both", "oracle", 1, 1.0, 1), ("none", "closed_book", 0, 0.0, 0)]


def hand():
    """(outcomes, holders) of the questions above."""
    rows = pd.DataFrame(ROWS, columns=["qid", "policy", "answer_in_context", "f1", "em"]).assign(dataset="d", reader="r", precision="fp32")
    rows["answer_defined"] = rows["qid"].map(lambda q: QUESTIONS[q][2]).astype("boolean")
    rows["all_gold_at_5"] = rows["qid"].map(lambda q: QUESTIONS[q][3])
    held = [("d", q, f"{q}{i}", gold, value) for q, (a, b, *_) in QUESTIONS.items()
            for i, (gold, value) in enumerate([(True, a), (True, 0), (False, b)]) if not (gold and q == "no_gold")]
    return rows.astype({"answer_in_context": "Int64"}), pd.DataFrame(held, columns=["dataset", "qid", "doc_id", "is_gold", "holds_answer"])


def random_holders(rows, seed=0):
    rng = np.random.default_rng(seed)
    questions = rows[["dataset", "qid"]].drop_duplicates()
    return pd.concat([questions.assign(doc_id=k, is_gold=k < 2, holds_answer=rng.integers(0, 2, len(questions))) for k in range(4)])


def made(rows, holders, **changes):
    return retrieval_perfect(rows, holders, "t", **{"resamples": DRAWS} | changes)


def test_the_six_fates_by_hand():
    rows, holders = hand()
    perfect = rows[(rows["all_gold_at_5"] == 1) & rows["policy"].isin(["naive", "submod"])]
    found = {(r.qid, r.policy): FATES[f] for r, f in zip(perfect.itertuples(), fates_of(perfect, holders))}
    assert found == {("both", "naive"): "share_kept_in_gold", ("both", "submod"): "share_kept_in_gold", ("gold", "naive"): "share_dropped_by_packing",
                     ("gold", "submod"): "share_kept_in_gold", ("other", "naive"): "share_kept_elsewhere", ("other", "submod"): "share_dropped_elsewhere",
                     ("none", "naive"): "share_dropped_never_verbatim", ("none", "submod"): "share_dropped_never_verbatim",
                     ("yesno", "naive"): "share_undefined", ("yesno", "submod"): "share_undefined"}


def test_golden_values_by_hand():
    table = made(*hand())

    def values(kind, policy="pooled"):
        part = table[(table["rows"] == kind) & (table["policy"] == policy)].set_index("quantity")
        return part["estimate"].to_dict(), part["n"].to_dict()

    defined, n = values("defined")
    assert defined == pytest.approx({
        "share_kept_in_gold": 3 / 8, "share_kept_elsewhere": 1 / 8, "share_dropped_by_packing": 1 / 8, "share_dropped_elsewhere": 1 / 8,
        "share_dropped_never_verbatim": 2 / 8, "share_dropped": 4 / 8, "share_never_verbatim": 4 / 8,
        "f1_kept": 0.75, "f1_dropped": 0.25, "f1_gap": 0.5, "f1_ratio": 3.0, "em_kept": 0.5, "em_dropped": 0.0, "em_gap": 0.5, "em_ratio": np.nan}, nan_ok=True)
    assert (n["share_dropped"], n["f1_kept"], n["f1_dropped"], n["f1_ratio"]) == (8, 4, 4, 8)
    published, n = values("all")
    assert published["share_dropped"] == 0.6 and published["share_undefined"] == 0.2 and published["share_dropped_by_packing"] == 0.1
    assert (published["f1_kept"], published["f1_dropped"], published["em_dropped"], published["em_ratio"]) == pytest.approx((0.75, 0.5, 1 / 3, 1.5))
    submod, n = values("defined", "submod")
    assert submod["share_kept_in_gold"] == 0.5 and submod["share_dropped_by_packing"] == 0 and n["f1_gap"] == 4
    assert set(table["policy"]) == {"pooled", "naive", "submod"} and len(tables.check(table, "retrieval_perfect")) == len(table) == 3 * (15 + 16)


@pytest.mark.parametrize("seed", range(3))
def test_the_fates_add_up_and_so_do_their_sums(seed):
    rows = outcomes(seed, n=40)
    table = made(rows, random_holders(rows, seed))
    for _, part in table.groupby(["policy", "rows"]):
        share = part.set_index("quantity")["estimate"]
        fates = share[[f for f in FATES if f in share]]
        assert fates.sum() == pytest.approx(1) and fates.between(0, 1).all()
        assert share["share_dropped"] == pytest.approx(1 - share["share_kept_in_gold"] - share["share_kept_elsewhere"])
        assert share["share_never_verbatim"] == pytest.approx(share[["share_kept_elsewhere", "share_dropped_elsewhere", "share_dropped_never_verbatim"]].sum())
        known = part.dropna(subset=["ci_low", "ci_high"])
        assert ((known["ci_low"] <= known["estimate"] + 1e-9) & (known["estimate"] <= known["ci_high"] + 1e-9)).all()
    kept = table[table["quantity"] == "f1_kept"].pivot(index="policy", columns="rows", values="estimate")
    assert kept["all"].tolist() == pytest.approx(kept["defined"].tolist())  # undefined rows are all among the dropped


def test_means_and_shares_are_those_of_stats_on_the_same_rows():
    rows = outcomes(n=40)
    holders = random_holders(rows)
    table = made(rows, holders, seed=2)
    perfect = rows[rows["policy"].isin(["naive", "mmr", "submod"]) & (rows["all_gold_at_5"] == 1)].reset_index(drop=True)
    kept = perfect["answer_in_context"].astype(float)
    for quantity, values in (("f1_kept", perfect["f1"].where(kept == 1)), ("f1_dropped", perfect["f1"].where(kept == 0)), ("share_dropped", 1 - kept)):
        wanted = stats.mean_interval(values, perfect["qid"], resamples=DRAWS, seed=2)
        found = one(table, policy="pooled", rows="all", quantity=quantity)
        assert (found["estimate"], found["ci_low"], found["ci_high"]) == pytest.approx(wanted[:3], abs=1e-9)
        assert (found["n"], found["clusters"]) == (wanted.n, wanted.clusters)
    defined = perfect[perfect["answer_defined"].astype(bool)]
    held = holders[holders["is_gold"]].groupby("qid")["holds_answer"].max()
    by_packing = ((defined["answer_in_context"] == 0) & (defined["qid"].map(held) == 1)).mean()
    assert one(table, policy="pooled", rows="defined", quantity="share_dropped_by_packing")["estimate"] == pytest.approx(by_packing)


def test_a_ratio_is_drawn_question_by_question():
    rows = outcomes(n=30)
    table = made(rows, random_holders(rows), seed=5)
    perfect = rows[rows["policy"].isin(["naive", "mmr", "submod"]) & (rows["all_gold_at_5"] == 1)]
    names, ratios = sorted(perfect["qid"].unique()), []
    parts = {q: part for q, part in perfect.groupby("qid")}
    for chosen in np.random.default_rng(5).integers(len(names), size=(DRAWS, len(names))):
        drawn = pd.concat([parts[names[k]] for k in chosen])
        means = drawn.groupby(drawn["answer_in_context"].astype(int))["f1"].mean()
        ratios.append(means[0] / means[1])
    found = one(table, policy="pooled", rows="all", quantity="f1_ratio")
    assert (1 / found["ci_high"], 1 / found["ci_low"]) == pytest.approx(tuple(np.quantile(ratios, [0.025, 0.975])))


def test_a_ratio_over_next_to_nothing_has_no_upper_end():
    assert turned(Interval(0.5, 0.25, 0.8, np.nan, 9, 3))[:3] == (2.0, 1.25, 4.0)
    assert turned(Interval(0.5, 0.0, 0.8, np.nan, 9, 3))[:2] == (2.0, 1.25) and np.isnan(turned(Interval(0.5, 0.0, 0.8, np.nan, 9, 3)).high)
    assert np.isnan(turned(Interval(0.0, 0.0, 0.1, np.nan, 9, 3))[:3]).all() and np.isnan(turned(Interval(np.nan, np.nan, np.nan, np.nan, 9, 3))[:3]).all()
    rows = outcomes(n=40)
    kept = rows["answer_in_context"].astype(float)
    first = rows.index[(rows["policy"] == "naive") & (rows["all_gold_at_5"] == 1) & (kept == 0) & rows["answer_defined"].astype(bool)][0]
    rows["em"] = np.where(rows.index == first, 1.0, kept)  # one question alone is right without its answer: many resamples lack it
    found = one(made(rows, random_holders(rows)), policy="pooled", rows="defined", quantity="em_ratio")
    assert found["estimate"] > 5 and 1 < found["ci_low"] < found["estimate"] and np.isnan(found["ci_high"])


def test_scaling_a_score_scales_means_and_gap_and_leaves_ratio_and_shares():
    rows = outcomes(n=40)
    holders = random_holders(rows)
    table, large = made(rows, holders), made(rows.assign(f1=10 * rows["f1"]), holders)
    times = np.where(table["quantity"].isin(["f1_kept", "f1_dropped", "f1_gap"]), 10, 1)
    for column in ("estimate", "ci_low", "ci_high"):
        assert large[column].to_numpy() == pytest.approx(times * table[column].to_numpy(), nan_ok=True)


def test_the_order_of_the_rows_and_other_arms_change_nothing():
    rows = pd.concat([outcomes(), outcomes(1, dataset="e")])
    holders = random_holders(rows)
    table = made(rows, holders)
    assert set(table["dataset"]) == {"d", "e", "all"} and not {"oracle", "gold", "closed_book"} & set(table["policy"])
    pd.testing.assert_frame_equal(table, made(rows.sample(frac=1, random_state=1), holders.sample(frac=1, random_state=2)), rtol=1e-9)
    pd.testing.assert_frame_equal(table, made(rows[~rows["policy"].isin(["oracle", "gold", "closed_book"])], holders))


def test_degenerate_tables_give_missing_values_or_no_rows():
    rows = outcomes()
    holders = random_holders(rows)
    undefined = tables.check(made(rows.assign(answer_defined=False, answer_in_context=0), holders), "retrieval_perfect")
    assert one(undefined, policy="pooled", rows="all", quantity="share_undefined")["estimate"] == 1
    empty = undefined[undefined["rows"] == "defined"]
    assert empty[["estimate", "ci_low"]].isna().all(axis=None) and (empty["n"] == 0).all()
    assert undefined.loc[undefined["quantity"].isin(["f1_kept", "f1_gap"]), "estimate"].isna().all()
    single = tables.check(made(rows[rows["qid"] == rows.loc[rows["all_gold_at_5"] == 1, "qid"].iloc[0]], holders), "retrieval_perfect")
    assert single["ci_low"].isna().all() and single["estimate"].notna().any()
    for nothing in (rows.iloc[:0], rows.assign(em=np.nan), rows.assign(all_gold_at_5=0.0), rows.assign(all_gold_at_5=np.nan)):
        assert tables.check(made(nothing, holders), "retrieval_perfect").empty
    with pytest.raises(ValueError, match="holders has no gold passage of question"):
        made(rows, holders[~holders["is_gold"]])
    with pytest.raises(ValueError, match="resamples"):
        made(rows, holders, resamples=0)
