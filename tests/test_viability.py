"""The viability audit: document 001's cases and worked values, identities on random runs, brute force, and TREC's tools on the same rows."""

import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import nDCG

from lib import viability
from lib.tables import ROOT
from lib.viability import SCORES, audit
from lib.viability_controls import controls, equal_futures, passage_removed, synthetic_cases, without_answers
from lib.viability_verdict import document_verdict

COLUMNS = ["dataset", "qid", "ranker", "rank", "doc_id", "score"]
# The case, then document 001's figures for it (its executable audit, nDCG@3, gain 2**grade - 1).
PUBLISHED = """answer present but buried,1.0,0.168676,1.0,1.0,0.0,0.831324,0.831324,1.0,viable
authoritative exception absent,0.0,0.0,0.0,0.0,1.0,0.0,0.0,,fix retrieval
first stage already correct,1.0,1.0,0.730929,1.0,0.0,0.0,-0.269071,,skip or reduce"""
QUANTITIES = ["candidate_recall", "base", "reranked", "ceiling", "omission_gap", "ordering_headroom", "realised_gain", "headroom_capture"]


def lists(ranker="first", **by_query):
    """Rankings from lists of ids, or of (id, score)."""
    rows = []
    for qid, ids in by_query.items():
        pairs = [(i, -float(at)) if isinstance(i, str) else i for at, i in enumerate(ids)]
        rows += [("set", qid, ranker, rank, doc, score) for rank, (doc, score) in enumerate(pairs, 1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def judged(**by_query):
    return pd.DataFrame(
        [("set", q, doc, float(g)) for q, grades in by_query.items() for doc, g in grades.items()], columns=["dataset", "qid", "doc_id", "grade"]
    )


def one(rows, gain="exponential"):
    (row,) = rows[rows["gain"] == gain].to_dict("records")
    return row


def random_run(seed, queries=20, depth=12, names=lambda d: f"d{d}"):
    """(first, reranked, judgements) with a relevant passage outside some pools and negative grades."""
    rng, first, again, grades = np.random.default_rng(seed), {}, {}, {}
    for q in range(queries):
        pool = [names(d) for d in rng.permutation(30)[:depth]]
        first[f"q{q}"], again[f"q{q}"] = pool, [pool[i] for i in rng.permutation(depth)]
        grades[f"q{q}"] = {names(d): g for d, g in zip(rng.permutation(30)[:8], rng.choice([-1, 0, 1, 2, 3], 8))}
    return lists(**first), lists("reranker", **again), judged(**grades)


# ---- golden values


@pytest.mark.parametrize("line", PUBLISHED.split("\n"), ids=lambda line: line.split(",")[0])
def test_the_three_cases_of_document_001(line):
    name, *numbers, verdict = line.split(",")
    row = one(synthetic_cases().query("qid == @name"))
    for quantity, number in zip(QUANTITIES, numbers):
        assert row[quantity] == pytest.approx(float(number or "nan"), abs=5e-7, nan_ok=True), quantity
    assert document_verdict(*(row[m] for m in ("candidate_recall", "omission_gap", "ordering_headroom", "realised_gain"))) == verdict
    assert row["regression"] == pytest.approx(max(0.0, -row["realised_gain"]))


def test_the_published_cases_are_those_of_the_reference_file():
    reference = ROOT.parent / "shared" / "reference" / "rerank_audit_cases.csv"
    if not reference.exists():
        pytest.skip("the published figures lie beside the repository, not in it")
    rows = [line for line in reference.read_text().splitlines() if line and line[0] != "#"][1:]
    assert [",".join(r.split(",")[:9]) for r in rows] == [",".join(r.split(",")[:9]) for r in PUBLISHED.split("\n")]


@pytest.mark.parametrize(("gain", "base", "ceiling"), [("exponential", 0.1687, 0.3374), ("linear", 0.2346, 0.4693)])
def test_the_grade_3_passage_removed(gain, base, ceiling):
    whole, less = passage_removed().query("gain == @gain").to_dict("records")
    assert (whole["base"], whole["ceiling"]) == (pytest.approx(base, abs=5e-5), 1.0)
    assert (less["base"], less["ceiling"]) == (pytest.approx(base, abs=5e-5), pytest.approx(ceiling, abs=5e-5))
    assert less["ordering_headroom"] == pytest.approx(ceiling - base, abs=1e-4) and less["omission_gap"] == pytest.approx(1 - ceiling, abs=5e-5)


def test_systems_x_and_y_have_equal_scores_and_unequal_futures():
    x, y = equal_futures().query("gain == 'linear'").to_dict("records")
    assert x["base"] == y["base"] > 0
    assert (x["candidate_recall"], y["candidate_recall"]) == (1.0, 0.5)
    assert x["ordering_headroom"] > 0.3 and y["ordering_headroom"] == 0 == x["omission_gap"] and y["omission_gap"] > 0.3


def test_both_gain_conventions_of_metric_cases():
    rows = audit(lists(q=["x", "y", "b", "z", "a"]), judged(q={"a": 3, "b": 2}), cutoff=3)
    assert {r["gain"]: round(r["base"], 4) for r in rows.to_dict("records")} == {"exponential": 0.1687, "linear": 0.2346}
    rows = audit(lists(q=["b", "z"]), judged(q={"a": 3, "b": 2}), cutoff=2)  # the ideal is the corpus's, not the pool's
    assert {r["gain"]: round(r["base"], 4) for r in rows.to_dict("records")} == {"exponential": 0.3374, "linear": 0.4693}


# ---- what is missing, unjudged, negative, tied


def test_a_judged_query_that_the_run_lacks_scores_0_and_stays():
    rows = audit(lists(a=["x"]), judged(a={"x": 1}, b={"y": 1}), lists("re", a=["x"])).query("gain == 'linear'").set_index("qid")
    assert rows["base"].mean() == 0.5 and rows.loc["b", "omission_gap"] == 1 and not rows.loc["b", "in_first"]
    assert rows.loc["b", "reranked"] == 0 and rows.loc["b", "candidate_recall"] == 0


def test_a_query_that_only_the_reranker_lacks_scores_0_there():
    rows = audit(lists(a=["x"], b=["y"]), judged(a={"x": 1}, b={"y": 1}), lists("re", a=["x"])).query("gain == 'linear'").set_index("qid")
    assert (rows.loc["b", "base"], rows.loc["b", "reranked"], rows.loc["b", "regression"]) == (1, 0, 1) and not rows.loc["b", "in_reranked"]


def test_no_relevant_passage_is_undefined_and_says_why():
    rows = audit(lists(a=["x"], b=["y"], c=["z"]), judged(a={"x": 0}, b={"y": 1})).query("gain == 'linear'").set_index("qid")
    assert rows["undefined"].to_dict() == {"a": viability.NO_RELEVANT, "b": "", "c": viability.NO_JUDGEMENT}
    assert (
        rows.loc[["a", "c"], ["base", "ceiling", "omission_gap", "ordering_headroom", "candidate_recall", "graded_coverage", "mrr_first"]]
        .isna()
        .all(axis=None)
    )


def test_negative_grades_count_as_0_and_are_counted():
    row = one(audit(lists(q=["bad", "a"]), judged(q={"bad": -1, "a": 1})))
    assert (row["n_negative"], row["n_relevant"]) == (1, 1) and row["base"] == pytest.approx(1 / math.log2(3))


def test_unjudged_passages_are_no_zero_where_they_are_removed():
    row = one(audit(lists(q=["new", "a"]), judged(q={"a": 1}), cutoff=2))
    assert (row["judged_first"], row["base_condensed"]) == (0.5, 1.0) and row["base"] == pytest.approx(0.6309, abs=5e-5)


def test_uncertain_grades_are_unjudged():
    rows = judged(q={"a": 1, "b": float("nan")})
    row = one(audit(lists(q=["b", "a"]), rows, cutoff=2))
    assert (row["judged_first"], row["base_condensed"]) == (0.5, 1.0)


def test_ties_leave_bounds_around_the_score():
    row = one(audit(lists(q=[("x", 1.0), ("a", 1.0), ("y", 1.0)]), judged(q={"a": 1}), cutoff=3))
    assert (row["base_worst"], row["base"], row["base_best"]) == (pytest.approx(0.5), pytest.approx(1 / math.log2(3)), 1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f, r: (f, pd.concat([r, lists("re", q=["new"]).assign(rank=9)])), "'new'.*did not retrieve.*pure reranker"),
        (lambda f, r: (pd.concat([f, f.assign(rank=f["rank"] + 2)]), r), "repeated"),
        (lambda f, r: (pd.concat([f, f.assign(ranker="other")]), r), "one ranker at a time"),
        (lambda f, r: (f.iloc[:0], r), "lists that hold something"),
    ],
)
def test_what_cannot_be_audited_is_one_clear_error(change, said):
    first, again = change(lists(q=["a", "b"]), lists("re", q=["b", "a"]))
    with pytest.raises(ValueError, match=said):
        audit(first, judged(q={"a": 1}), again)


def test_stored_tables_with_nullable_numbers_read_alike():
    first, again, gold = random_run(9)
    stored = first.convert_dtypes(), gold.convert_dtypes(), again.convert_dtypes()
    pd.testing.assert_frame_equal(audit(first, gold, again, 5), audit(*stored, 5), check_dtype=False)
    alone = audit(*stored[:2], cutoff=5)
    assert alone[["reranked", "realised_gain", "regression", "mrr_reranked", "reranked_best"]].isna().all(axis=None) and set(alone["reranker"]) == {"none"}


def test_a_smaller_depth_cuts_both_lists_alike():
    first, again = lists(q=list("abcdef")), lists("re", q=list("fedcba"))
    row = one(audit(first, judged(q={"c": 1, "f": 1}), again, cutoff=2, depth=3))
    assert row["depth"] == 3 and row["candidate_recall"] == 0.5 and row["n_candidates"] == 3
    assert row["reranked"] == pytest.approx(1 / (1 + 1 / math.log2(3)))  # c, now first of c, b, a


# ---- invariants on random runs


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), cutoff=st.integers(1, 15))
def test_the_parts_add_up_and_no_order_beats_the_ceiling(seed, cutoff):
    rows = audit(*(random_run(seed, queries=6)[i] for i in (0, 2, 1)), cutoff=cutoff)
    known = rows[rows["undefined"] == ""]
    assert np.allclose(known["base"] + known["ordering_headroom"] + known["omission_gap"], 1, atol=1e-12)
    assert (known["reranked"] <= known["ceiling"] + 1e-12).all() and (known["ceiling"] <= 1 + 1e-12).all()
    assert np.allclose(known["reranked"] - known["base"], known["realised_gain"], atol=1e-11)
    assert ((known["base_worst"] <= known["base"] + 1e-12) & (known["base"] <= known["base_best"] + 1e-12)).all()


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_renaming_documents_and_shuffling_rows_change_nothing(seed):
    plain, renamed = random_run(seed), random_run(seed, names=lambda d: f"z{(d * 17) % 31}")
    rows = [audit(f, j, r, 5) for f, r, j in (plain, renamed)]
    pd.testing.assert_frame_equal(*rows)
    f, r, j = (t.sample(frac=1, random_state=seed) for t in plain)
    pd.testing.assert_frame_equal(rows[0], audit(f, j, r, 5))


@settings(max_examples=6, deadline=None)
@given(grades=st.lists(st.integers(-1, 3), min_size=1, max_size=5), outside=st.lists(st.integers(1, 3), min_size=1, max_size=3), cutoff=st.integers(1, 6))
def test_the_ceiling_is_the_best_of_all_orders(grades, outside, cutoff):
    names = [f"d{i}" for i in range(len(grades))]
    gold = judged(q=dict(zip(names, grades)) | {f"out{i}": g for i, g in enumerate(outside)})
    ceiling = one(audit(lists(q=names), gold, cutoff=cutoff))["ceiling"]
    orders = lists(**{f"q{n}": order for n, order in enumerate(itertools.permutations(names))})
    everywhere = pd.concat([gold.assign(qid=q) for q in orders["qid"].unique()])
    assert audit(orders, everywhere, cutoff=cutoff, gains=["exponential"])["base"].max() == pytest.approx(ceiling)


# ---- peers on the same rows


def trec(first, gold):
    run = {q: dict(zip(part["doc_id"], part["score"].astype(float))) for q, part in first.groupby("qid")}
    qrels = {q: dict(zip(part["doc_id"], part["grade"].astype(int))) for q, part in gold.groupby("qid")}
    return run, qrels


@pytest.mark.parametrize("seed", range(3))
def test_pytrec_eval_agrees_to_1e_9(seed):
    first, again, gold = random_run(seed, queries=40)
    rows = audit(first, gold, again, cutoff=10).query("gain == 'linear' and undefined == ''").set_index("qid")
    for ranked, score, mrr in ((first, "base", "mrr_first"), (again, "reranked", "mrr_reranked")):
        run, qrels = trec(ranked, gold)
        theirs = pd.DataFrame(pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recip_rank", "recall.12"}).evaluate(run)).T.loc[rows.index]
        assert np.abs(theirs["ndcg_cut_10"] - rows[score]).max() < 1e-9 and np.abs(theirs["recip_rank"] - rows[mrr]).max() < 1e-9
        assert np.abs(theirs["recall_12"] - rows["candidate_recall"]).max() < 1e-9


def test_ir_measures_agrees_on_both_gains():
    first, _, gold = random_run(7, queries=30)
    run, qrels = trec(first, gold)
    rows = audit(first, gold, cutoff=5)
    for form, measure in (("exponential", nDCG(dcg="exp-log2") @ 5), ("linear", nDCG @ 5)):
        ours = rows[(rows["gain"] == form) & (rows["undefined"] == "")].set_index("qid")["base"]
        # The Perl script under the exponential one wants whole numbers as query ids and prints five digits.
        clipped = {q[1:]: {d: max(0, g) for d, g in grades.items()} for q, grades in qrels.items()}
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([measure], clipped, {q[1:]: ranked for q, ranked in run.items()})}
        assert max(abs(theirs[q[1:]] - v) for q, v in ours.items()) < (1e-9 if form == "linear" else 6e-6)


def test_where_trec_eval_differs_it_differs_as_the_report_says():
    evaluate = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}, "lost": {"x": 1}, "none": {"y": 0}}, {"ndcg_cut.10"}).evaluate
    tied = {"q": {"b": 1.0, "a": 1.0}, "none": {"y": 1.0}}
    theirs = {q: v["ndcg_cut_10"] for q, v in evaluate(tied).items()}
    ours = audit(lists(q=[("a", 1.0), ("b", 1.0)], none=["y"]), judged(q={"a": 1}, lost={"x": 1}, none={"y": 0}), gains=["linear"]).set_index("qid")["base"]
    assert theirs["q"] == pytest.approx(1 / math.log2(3)) and ours["q"] == 1  # ties: by name there, by first-stage rank here
    assert "lost" not in theirs and ours["lost"] == 0
    assert theirs["none"] == 0 and math.isnan(ours["none"])


# ---- controls


@pytest.mark.parametrize("seed", range(3))
def test_the_controls_pass_on_any_run(seed):
    first, again, gold = random_run(seed)
    table = controls(first, gold, again, cutoff=5)
    assert table["passed"].dropna().all() and set(table["control"]) == {"oracle order", "already correct", "omitted answer"}
    assert table.set_index("measure").loc["mean regression", "found"] > 0  # a random order spoils a correct one


def test_the_omitted_answer_is_credited_nothing():
    first, again, gold = random_run(1)
    rows = audit(without_answers(first, gold), gold, without_answers(again, gold)).query("undefined == ''")
    assert rows[["base", "ceiling", "reranked", "realised_gain", "candidate_recall"]].eq(0).all(axis=None) and rows["omission_gap"].eq(1).all()
    assert rows["headroom_capture"].isna().all()


def test_a_control_that_fails_is_seen(monkeypatch):
    first, again, gold = random_run(2)
    monkeypatch.setattr("lib.viability_controls.whole_oracle", lambda first, judgements: first[COLUMNS])  # no oracle at all
    assert not controls(first, gold, again, cutoff=5)["passed"].dropna().all()


def test_every_score_is_declared_in_the_report():
    from lib.viability_report_tables import QUANTITIES as shown
    from lib.viability_slices import MEASURES

    assert set(shown) == {*MEASURES, "headroom_capture"} and set(SCORES) <= set(shown)
