"""Do answers rest on the context? On readers whose honesty is known: one that reads, one that remembers, one that tosses a coin."""
import numpy as np
import pandas as pd
import pytest

from lib import ablations, faithfulness, reading, tables
from lib.faithfulness import paired, quantities, rests

DRAWS = 200
KEY = ["dataset", "qid", "pack_id", "policy", "budget"]


def world(n=24, honest=1.0, readers=("r",), texts=True, log_p=True, seed=0, policies=("naive", "submod")):
    """outcomes, answers, ablations, support: every context holds the answer; a question is read (right with it, wrong without) or remembered.

    ``honest``: the share of questions that are read. The control changes nothing. Every fourth context is all answer: empty without it, no control.
    """
    rng = np.random.default_rng(seed)
    rows, cut, said, judged = [], [], [], []
    for i in range(n):
        reads = i < honest * n
        for policy in policies:
            whole, left, other = f"w{i}{policy}", reading.EMPTY if i % 4 == 0 else f"l{i}{policy}", None if i % 4 == 0 else f"o{i}{policy}"
            rows.append(("d", f"q{i}", "p", policy, 100, whole))
            cut.append(("d", f"q{i}", "p", policy, 100, "answer", whole, left, 1, 2))
            arms = {whole: 1.0, left: float(not reads), "closed_book": float(not reads)} | ({other: 1.0} if other else {})
            if other:
                cut.append(("d", f"q{i}", "p", policy, 100, "other", whole, other, 1, 2))
            for reader in readers:
                said += [("d", f"q{i}", h, reader, "fp32", "right" if v else f"wrong {i}", v, v) for h, v in arms.items()]
                if log_p:
                    lift = {h: (2.0 * reads if v else 0.0) + 0.01 * rng.random() for h, v in arms.items() if h not in ("closed_book", reading.EMPTY)}
                    judged += [("d", f"q{i}", h, f"{reader} fp32 log-probability, with the context", v) for h, v in lift.items()]
    answers = pd.DataFrame(said, columns=["dataset", "qid", "context_hash", "reader", "precision", "prediction", "em", "f1"]).drop_duplicates(["qid", "context_hash", "reader"])
    answers["prediction"] = answers["prediction"].astype("string") if texts else pd.array([pd.NA] * len(answers), dtype="string")
    support = pd.DataFrame(judged, columns=["dataset", "qid", "context_hash", "scorer", "score"]).drop_duplicates(["qid", "context_hash", "scorer"])
    outcomes = pd.DataFrame(rows, columns=[*KEY, "context_hash"]).assign(answer_in_context=1, answer_defined=True).merge(answers, on=["dataset", "qid", "context_hash"])
    return outcomes.drop(columns="context_hash"), answers, pd.DataFrame(cut, columns=ablations.TABLE), support


def of(table, quantity, policy="pooled", reader="r"):
    rows = table[(table["quantity"] == quantity) & (table["policy"] == policy) & (table["reader"] == reader)]
    assert len(rows) == 1, (quantity, policy)
    return rows.iloc[0]


def made(*frames, **settings):
    return faithfulness.faithfulness(*frames, "sample", resamples=DRAWS, **settings)


def test_the_table_is_the_declared_one_with_a_row_a_policy_and_pooled():
    table = tables.check(made(*world()), "faithfulness")
    assert set(table["policy"]) == {"naive", "submod", "pooled"} and not table["quantity"].str.contains("faithful_other").any()
    pooled, each = of(table, "f1_with"), [of(table, "f1_with", p) for p in ("naive", "submod")]
    assert pooled["n"] == sum(e["n"] for e in each) == 48 and pooled["clusters"] == 24


@pytest.mark.parametrize("honest", [0.0, 0.25, 1.0])
def test_the_share_that_reads_is_found(honest):
    table = made(*world(honest=honest))
    assert of(table, "f1_with")["estimate"] == 1.0
    for quantity in ("turns_wrong", "f1_falls", "em_falls", "rests", "changes"):
        assert of(table, quantity)["estimate"] == pytest.approx(honest, abs=0.03 if quantity == "rests" else 1e-9), quantity  # rests: not of the emptied
    assert of(table, "f1_closed")["estimate"] == of(table, "f1_without")["estimate"] == of(table, "stays_right")["estimate"] == pytest.approx(1 - honest)
    for quantity in ("f1_falls_other", "turns_wrong_other", "changes_other"):
        assert of(table, quantity)["estimate"] == 0.0, quantity
    if honest < 1:
        assert of(table, "stays_right_closed")["estimate"] == 1.0


def test_what_stays_right_and_what_turns_wrong_add_up_and_the_arms_differences_do():
    table = made(*world(honest=0.5))
    assert of(table, "turns_wrong")["estimate"] + of(table, "stays_right")["estimate"] == pytest.approx(1)
    assert of(table, "f1_with")["estimate"] - of(table, "f1_without")["estimate"] == pytest.approx(of(table, "f1_falls")["estimate"])
    rows = paired(*world(honest=0.5)[1:])
    has = rows["other"].notna()
    assert of(table, "f1_falls_more")["estimate"] == pytest.approx((rows["f1_other"] - rows["f1_without"])[has].mean()) and of(table, "f1_falls_more")["n"] == has.sum()


def test_a_context_left_empty_has_no_log_probability_and_no_control():
    rows = paired(*world()[1:])
    empty = rows["without"] == reading.EMPTY
    assert empty.any() and rows.loc[empty, ["log_p_without", "em_other", "f1_other"]].isna().all(axis=None) and rows.loc[empty, ["em_without", "f1_without"]].notna().all(axis=None)
    assert np.isnan(rests(rows)[empty]).all() and (rests(rows)[~empty] == 1).all()
    table = made(*world())
    assert of(table, "f1_falls")["n"] == 48 and of(table, "rests")["n"] == of(table, "log_p_falls")["n"] == 36
    unknown = paired(*world(log_p=False)[1:3], world()[3].iloc[:0])
    assert np.isnan(rests(unknown)).all(), "without log-probabilities nothing is known"


def test_resting_is_judged_against_the_control():
    rows = pd.DataFrame({"log_p_with": [2.0, 2.0, 2.0, 2.0, np.nan], "log_p_without": [0.0, 1.0, 1.0, 1.4, 0.0], "log_p_other": [0.7, 0.5, np.nan, np.nan, 1.0],
                         "other": ["o", "o", "o", None, "o"]})
    np.testing.assert_array_equal(rests(rows), [1, 0, np.nan, 0, np.nan])  # 0.70 is more than log 2 = 0.693; 0.6 is less
    np.testing.assert_array_equal(rests(rows.assign(log_p_without=lambda t: t["log_p_without"] + 0.01)), [0, 0, np.nan, 0, np.nan])


def test_the_faithful_variant_predicts_what_the_plain_one_cannot():
    """All contexts hold the answer, so plain answer-in-context is constant; a reader right only where it reads is told by its log-probabilities."""
    outcomes, answers, cut, support = world(honest=0.5)
    gone = outcomes["qid"].isin([f"q{i}" for i in range(12, 24)])  # remembered questions: let memory fail, so that only reading is right
    outcomes = outcomes.assign(f1=outcomes["f1"].where(~gone, 0.0))
    table = made(outcomes, answers, cut, support)
    assert np.isnan(of(table, "r_aic")["estimate"]) and of(table, "r_faithful")["estimate"] > 0.6


def test_correlations_are_numpys_over_the_policies_that_were_ablated():
    outcomes, answers, cut, support = world(honest=0.6)
    rng = np.random.default_rng(3)
    outcomes = outcomes.assign(answer_in_context=rng.integers(0, 2, len(outcomes)), f1=rng.random(len(outcomes)).round(2))
    elsewhere = outcomes.assign(policy="gold", f1=1.0)
    table = made(pd.concat([outcomes, elsewhere]), answers, cut, support)
    own = outcomes.merge(paired(answers, cut, support)[KEY].assign(rests=rests(paired(answers, cut, support))), on=KEY)
    own["faithful"] = np.where(own["answer_in_context"] == 1, own["rests"], 0)
    known = own[own["faithful"].notna()]
    assert of(table, "r_aic")["n"] == len(known) < len(own)
    assert of(table, "r_aic")["estimate"] == pytest.approx(np.corrcoef(known["answer_in_context"], known["f1"])[0, 1])
    assert of(table, "r_faithful")["estimate"] == pytest.approx(np.corrcoef(known["faithful"], known["f1"])[0, 1])
    assert of(table, "r_faithful_minus_aic")["estimate"] == pytest.approx(of(table, "r_faithful")["estimate"] - of(table, "r_aic")["estimate"])


def test_with_two_readers_the_stricter_test_uses_the_others_log_probabilities():
    outcomes, answers, cut, support = world(honest=0.5, readers=("r", "s"))
    flipped = support["scorer"].str.startswith("s") & ~support["context_hash"].str.startswith("w")
    support = support.assign(score=np.where(flipped, 9.0, support["score"]))  # by s no answer rests on its context
    number = outcomes["qid"].str[1:].astype(int)
    outcomes = outcomes.assign(answer_in_context=(number % 3 > 0).astype(int), f1=(number % 5) / 4)
    table, rows = made(outcomes, answers, cut, support), paired(answers, cut, support)
    for reader, other in (("r", "s"), ("s", "r")):
        mine, judge = outcomes[outcomes["reader"] == reader], rows[rows["reader"] == other]
        both = mine.merge(judge[KEY].assign(rests=rests(judge)), on=KEY)
        both["faithful"] = np.where(both["answer_in_context"] == 1, both["rests"], 0)
        known = both[both["faithful"].notna()]
        expected = np.corrcoef(known["faithful"], known["f1"])[0, 1] if known["faithful"].nunique() > 1 else float("nan")
        assert of(table, "r_faithful_other", reader=reader)["estimate"] == pytest.approx(expected, nan_ok=True) and (reader == "r" or abs(expected) < 1)
        assert of(table, "r_faithful", reader=other)["estimate"] == pytest.approx(expected, nan_ok=True), "F1 is the same for both here"


def test_a_reader_without_log_probabilities_of_its_own_is_judged_by_the_other_alone():
    outcomes, answers, cut, support = world(honest=0.5, readers=("r", "s"))
    outcomes = outcomes.assign(answer_in_context=(outcomes["qid"].str[1:].astype(int) % 3 > 0).astype(int))
    table = made(outcomes, answers, cut, support[support["scorer"].str.startswith("s")])
    mine = set(table[(table["reader"] == "r") & table["quantity"].str.startswith("r_")]["quantity"])
    assert mine == {"r_aic", "r_faithful_other", "r_faithful_other_minus_aic"} and of(table, "r_aic", reader="r")["n"] > 0
    assert "r_faithful_other" not in set(table[table["reader"] == "s"]["quantity"]) and not table["quantity"].eq("log_p_falls")[table["reader"] == "r"].any()
    assert not made(outcomes, answers, cut, support.iloc[:0])["quantity"].str.startswith("r_").any()


def test_where_only_scores_are_kept_changes_are_missing_and_the_rest_is_not():
    table = made(*world(texts=False))
    assert not table["quantity"].isin(["changes", "changes_other"]).any() and of(table, "turns_wrong")["estimate"] == 1.0


def test_case_and_articles_are_no_change_of_an_answer():
    outcomes, answers, cut, support = world(honest=0.0)
    left = answers["context_hash"].str.startswith("l")
    table = made(outcomes, answers.assign(prediction=answers["prediction"].mask(left, "The Right!")), cut, support)
    assert of(table, "changes")["estimate"] == 0.0


def test_an_ablated_context_that_was_not_read_is_an_error():
    outcomes, answers, cut, support = world()
    with pytest.raises(ValueError, match=r"question q1 \(d\), policy naive: reader r has no answer for the context 'without' \(l1naive\); rerun notebook 03"):
        made(outcomes, answers[answers["context_hash"] != "l1naive"], cut, support)


def test_the_order_of_the_rows_changes_nothing():
    frames = world(honest=0.5, readers=("r", "s"))
    shuffled = [t.sample(frac=1, random_state=i) for i, t in enumerate(frames)]
    pd.testing.assert_frame_equal(made(*frames), made(*shuffled))


def test_nothing_ablated_gives_no_row_and_one_question_gives_no_interval():
    outcomes, answers, cut, support = world()
    assert len(tables.check(made(outcomes, answers, cut.iloc[:0], support), "faithfulness")) == 0
    table = tables.check(made(*(t[t["qid"] == "q1"] for t in (outcomes, answers, cut, support))), "faithfulness")
    assert of(table, "f1_with")["n"] == 2 and np.isnan(of(table, "f1_with")["ci_low"])


def test_intervals_resample_questions_with_all_their_rows():
    rows = paired(*world(honest=0.5)[1:])
    narrow = quantities(pd.concat([rows, rows.assign(policy="again")]), DRAWS)["f1_falls"]
    plain = quantities(rows, DRAWS)["f1_falls"]
    assert (narrow.low, narrow.high) == (plain.low, plain.high), "the same questions twice tell no more"


def test_nothing_ablated_is_a_table_without_rows_whatever_its_types():
    empty = {n: pd.DataFrame(columns=list(tables.TABLES[n].columns)) for n in ("ablations", "support", "answers", "outcomes")}
    for checked in (empty, {n: tables.check(t, n) for n, t in empty.items()}):
        found = faithfulness.faithfulness(checked["outcomes"], checked["answers"], checked["ablations"], checked["support"], "t", 50)
        assert found.empty and tables.check(found, "faithfulness").empty
