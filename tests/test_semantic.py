"""Scorers against the span variant, against answers and against people: on worlds where the truth is known."""
import numpy as np
import pandas as pd
import pytest

from lib import hand_checked, semantic, tables
from lib.scored_contexts import SPAN, SPREAD, scored, spread, supported, thresholds
from lib.semantic import chosen, variants

DRAWS = 200
POLICIES = ["naive", "submod"]
KINDS = {0: "bridge", 1: "bridge", 2: "bridge", 3: "paraphrased", 4: "free_form", 5: "comparison_yesno"}
REASONS = {"free_form": "free-form", "comparison_yesno": "yes/no"}


def world(n=60, seed=0, noise=0.3, dataset="d"):
    """outcomes, readings, support: six kinds of question in turn, one reader; ``good`` follows the truth, ``coin`` nothing.

    The truth (does the context support the answer?) is the span where there is one; F1 follows it. naive and submod pack the same text for every third question.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        kind = KINDS[i % 6]
        truths = rng.integers(0, 2, 2)
        for p, policy in enumerate(POLICIES):
            truth = truths[0] if i % 3 == 0 else truths[p]
            rows.append((f"q{i}", policy, kind, int(truth), f"{dataset}-q{i}-{truth}-{policy if i % 3 else 'both'}", (i // 6) % 2))
    rows = pd.DataFrame(rows, columns=["qid", "policy", "question_type", "truth", "context_hash", "half"])
    defined = ~rows["question_type"].isin(list(REASONS))
    verbatim = rows["question_type"] == "bridge"
    rows = rows.assign(dataset=dataset, pack_id="p", budget=100, reader="r", precision="fp32", answer_defined=defined, undefined_reason=rows["question_type"].map(REASONS).fillna(""),
                       answer_in_corpus=verbatim.astype(int), answer_in_context=(rows["truth"] * verbatim).astype(int), chosen=None)
    rows["f1"] = (0.6 * rows["truth"] + 0.4 * rng.random(len(rows))).round(3)
    rows["em"] = (rows["f1"] > 0.8).astype(float)
    one = rows.drop_duplicates("context_hash")
    good = one[["dataset", "qid", "context_hash"]].assign(scorer="good", score=one["truth"] + noise * rng.normal(size=len(one)))
    coin = good.assign(scorer="coin", score=rng.normal(size=len(good)))
    readings = rows[["dataset", "qid", "pack_id", "policy", "budget", "context_hash"]]
    return rows.drop(columns=["context_hash", "truth"]), readings, pd.concat([good, coin], ignore_index=True)


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1
    return rows.iloc[0]


def estimates(table):
    return table.set_index([c for c in semantic.COLUMNS if c not in ("estimate", "ci_low", "ci_high", "n", "clusters")])["estimate"].sort_index()


def test_the_table_is_the_declared_one_and_every_kind_of_row_is_there():
    table = tables.check(variants(*world(), "sample", resamples=DRAWS), "variants")
    assert set(table["rows"]) == {"verbatim", "not verbatim", "free-form", "yes/no"} and set(table["half"]) == {"0", "1", "all"}
    assert set(table[table["rows"] == "free-form"]["quantity"]) == {"share_supported", "r_score_f1", "r_supported_f1", "r_span_f1", "r_supported_minus_span"}
    assert (table["ci_low"].dropna() <= table["ci_high"].dropna()).all()


def test_a_scorer_that_follows_the_truth_agrees_and_a_coin_does_not():
    table = variants(*world(240, noise=0.05), "sample", resamples=DRAWS)
    for half in ("0", "1", "all"):
        good, coin = (one(table, scorer=s, half=half, rows="verbatim", quantity="kappa") for s in ("good", "coin"))
        assert good["estimate"] == 1.0 and abs(coin["estimate"]) < 0.35
        assert one(table, scorer="good", half=half, rows="verbatim", quantity="auc")["estimate"] == 1.0
    cut = one(table, scorer="good", half="0", rows="verbatim", quantity="threshold")
    assert 0.1 < cut["estimate"] < 0.9 and np.isnan(cut["ci_low"])


def test_each_context_counts_once_however_many_policies_packed_it():
    outcomes, readings, support = world()
    table = variants(outcomes, readings, support, "sample", resamples=DRAWS)
    packed = scored(outcomes, readings, support)
    distinct = packed[packed["rows"] == "verbatim"].drop_duplicates(["qid", "context_hash"])
    row = one(table, scorer="good", half="all", rows="verbatim", quantity="agreement")
    assert row["n"] == len(distinct) < (packed["rows"] == "verbatim").sum() and row["clusters"] == distinct["qid"].nunique()
    assert one(table, scorer="good", half="all", rows="verbatim", quantity="r_score_f1")["n"] == (packed["rows"] == "verbatim").sum()


def test_the_threshold_looks_at_half_0_and_at_verbatim_answers_alone():
    outcomes, readings, support = world()
    packed = scored(outcomes, readings, support)
    before = thresholds(packed, ["good", "coin"])
    elsewhere = (packed["half"] == 1) | (packed["rows"] != "verbatim")
    other = packed.assign(good=packed["good"].where(~elsewhere, -packed["good"]), answer_in_context=packed[SPAN].where(~elsewhere, 1 - packed[SPAN]))
    assert thresholds(other, ["good", "coin"]) == before
    assert thresholds(packed.assign(answer_in_context=1), ["good"])["good"] != before["good"], "the check above can fail"


def test_free_form_questions_are_degenerate_for_the_span_and_not_for_a_scorer():
    table = variants(*world(300), "sample", resamples=DRAWS)
    of = {q: one(table, scorer="good", half="all", rows="free-form", quantity=q) for q in ("r_score_f1", "r_supported_f1", "r_span_f1", "r_supported_minus_span")}
    assert of["r_score_f1"]["ci_low"] > 0.5 and of["r_supported_f1"]["ci_low"] > 0.5
    assert np.isnan(of["r_span_f1"]["estimate"]) and np.isnan(of["r_supported_minus_span"]["estimate"]) and of["r_span_f1"]["n"] == 100


def test_correlations_are_numpys_and_the_span_is_taken_on_the_scorers_own_rows():
    outcomes, readings, support = world()
    gone = support["context_hash"].isin(support["context_hash"].unique()[::5]) & (support["scorer"] == "good")
    support.loc[gone, "score"] = np.nan
    table = variants(outcomes, readings, support, "sample", resamples=DRAWS)
    rows = scored(outcomes, readings, support).query("rows == 'verbatim'").dropna(subset=["good"])
    where = {"scorer": "good", "half": "all", "rows": "verbatim"}
    assert one(table, **where, quantity="r_score_f1")["estimate"] == pytest.approx(np.corrcoef(rows["good"], rows["f1"])[0, 1])
    assert one(table, **where, quantity="r_span_f1")["estimate"] == pytest.approx(np.corrcoef(rows[SPAN], rows["f1"])[0, 1])
    assert one(table, **where, quantity="r_span_f1")["n"] == len(rows)


def test_a_monotone_change_of_scale_changes_no_verdict():
    outcomes, readings, support = world()
    a, b = (variants(outcomes, readings, s, "sample", resamples=DRAWS) for s in (support, support.assign(score=3 * support["score"] + 40)))
    same = ~a["quantity"].isin(["threshold"])
    pd.testing.assert_frame_equal(a[same], b[same], rtol=1e-6, atol=1e-9)


def test_the_order_of_the_rows_changes_nothing():
    outcomes, readings, support = world()
    shuffled = [t.sample(frac=1, random_state=i) for i, t in enumerate((outcomes, readings, support))]
    a, b = (variants(*tables_, "sample", resamples=DRAWS) for tables_ in ((outcomes, readings, support), shuffled))
    key = semantic.COLUMNS[:8]
    pd.testing.assert_frame_equal(a.sort_values(key, ignore_index=True), b.sort_values(key, ignore_index=True))


def test_removing_the_answer_lowers_a_good_score_and_removing_others_does_not():
    outcomes, readings, support = world(120, noise=0.05)
    whole = scored(outcomes, readings, support).query("answer_in_context == 1")
    cut = pd.concat([whole[["dataset", "qid", "pack_id", "policy", "budget", "context_hash"]].assign(removed=r, ablated_hash=whole["context_hash"] + r, n_removed=1, n_left=2)
                     for r in ("answer", "other")])
    of = cut.drop_duplicates(["qid", "ablated_hash"])
    extra = pd.concat([pd.DataFrame({"dataset": "d", "qid": of["qid"], "context_hash": of["ablated_hash"], "scorer": s, "score": np.where(of["removed"] == "answer", -1.0, 2.0)})
                       for s in ("good", "coin")])
    table = variants(outcomes, readings, pd.concat([support, extra]), "sample", cut, resamples=DRAWS)
    fall = {r: one(table, scorer="good", rows=f"{r} removed", quantity="share_falls")["estimate"] for r in ("answer", "other")}
    still = {r: one(table, scorer="good", rows=f"{r} removed", quantity="still_supported")["estimate"] for r in ("answer", "other")}
    assert fall == {"answer": 1.0, "other": 0.0} and still == {"answer": 0.0, "other": 1.0}
    assert one(table, scorer="good", rows="answer removed", quantity="share_falls")["n"] == len(of) / 2


def judgements(readings, **verdicts):
    """``verdicts``: judgement by question, for its naive context."""
    rows = readings[readings["policy"] == "naive"].set_index("qid")
    return pd.DataFrame([(q, "naive", rows.loc[q, "context_hash"], j, "drawn", "why") for q, j in verdicts.items()], columns=hand_checked.COLUMNS)


def test_errors_on_hand_checked_contexts_are_counted_by_hand():
    outcomes, readings, support = world(12, noise=0)
    truth = support[support["scorer"] == "good"].set_index("context_hash")["score"]
    naive = readings[readings["policy"] == "naive"].set_index("qid")["context_hash"]
    said = {q: truth[h] == 1 for q, h in naive.items()}
    verdicts = {q: ("supported" if said[q] else "not supported") for q in naive.index}
    wrong = next(q for q in naive.index if said[q])
    verdicts[wrong] = "not supported"  # the scorer errs here
    table = variants(outcomes, readings, support, "sample", checked=judgements(readings, **verdicts), resamples=DRAWS)
    row = one(table, scorer="good", rows="hand-checked", quantity="wrongly_supported")
    assert row["estimate"] == pytest.approx(1 / sum(v == "not supported" for v in verdicts.values())) and row["ci_high"] > row["estimate"]
    assert one(table, scorer="good", rows="hand-checked", quantity="wrongly_denied")["estimate"] == 0
    span = one(table, scorer=SPAN, rows="hand-checked", quantity="wrongly_denied")
    right = [q for q, v in verdicts.items() if v == "supported"]
    found = scored(outcomes, readings, support).query("policy == 'naive'").set_index("qid")[SPAN]
    by_score = variants(outcomes, readings, support, "sample", checked=judgements(readings, **verdicts).assign(selection="by score"), resamples=DRAWS)
    assert set(by_score[by_score["rows"].str.startswith("hand")]["rows"]) == {"hand-checked, by score"}, "counted apart"
    assert span["n"] == len(right) and span["estimate"] == pytest.approx(np.mean([found[q] == 0 for q in right])), "undefined counts 0"


def test_a_judged_context_that_has_changed_is_refused_and_one_that_was_not_read_is_passed_over():
    outcomes, readings, support = world(12)
    checked = judgements(readings, q0="supported", q4="partly")
    stale = checked.assign(context_hash=["0" * 64, checked["context_hash"].iloc[1]])
    with pytest.raises(ValueError, match=r"1 of 2 hand-checked contexts have changed since they were judged, first question q0, policy naive: .*judge it again"):
        variants(outcomes, readings, support, "sample", checked=stale, resamples=DRAWS)
    other = variants(outcomes, readings, support, "real", checked=checked.assign(qid=["x", "y"]), resamples=DRAWS)
    assert not other["rows"].str.startswith("hand-checked").any()


def test_two_data_sets_have_thresholds_of_their_own_and_do_not_touch_each_other():
    a, b = world(60, dataset="d"), world(60, seed=1, dataset="e")
    b[2]["score"] += 100
    both = variants(*(pd.concat(pair, ignore_index=True) for pair in zip(a, b)), "real", resamples=DRAWS)
    alone = variants(*a, "real", resamples=DRAWS)
    pd.testing.assert_series_equal(estimates(both[both["dataset"] == "d"]), estimates(alone))


@pytest.mark.parametrize("few", ["no support", "one question", "all undefined", "all alike", "all missing"])
def test_degenerate_tables_give_missing_values_or_no_rows(few):
    outcomes, readings, support = world(12)
    if few == "no support":
        support = support.iloc[:0]
    elif few == "one question":
        outcomes, readings, support = (t[t["qid"] == "q0"] for t in (outcomes, readings, support))
    elif few == "all undefined":
        outcomes = outcomes.assign(answer_defined=False, undefined_reason="free-form", answer_in_context=0, answer_in_corpus=0)
    elif few == "all alike":
        support = support.assign(score=1.0)
    else:
        support = support.assign(score=np.nan)
    table = tables.check(variants(outcomes, readings, support, "own", resamples=DRAWS), "variants")
    assert len(table) == 0 or set(table["scorer"]) <= {"good", "coin"}
    assert few != "all undefined" or table[table["quantity"] == "share_supported"].empty, "without a threshold nothing is called supported"


def test_what_is_missing_is_neither_supported_nor_not():
    values = pd.DataFrame({"a": [1.0, 0.0, np.nan], "b": [1.0, 0.0, 0.5]})
    np.testing.assert_array_equal(supported(values, {"a": 0.5, "b": float("nan")}), [[1, np.nan], [0, np.nan], [np.nan, np.nan]])


def test_of_each_family_the_form_that_is_best_on_half_0_is_chosen():
    rows = [("d", n, h, auc) for n, aucs in {"a, x": (0.7, 0.9), "a, y": (0.8, 0.5), "b": (0.95, 0.1), "c, z": (float("nan"), 1.0), "a, any answer": (1.0, 1.0)}.items() for h, auc in zip("01", aucs)]
    table = pd.DataFrame(rows, columns=["dataset", "scorer", "half", "estimate"]).assign(quantity="auc", rows="verbatim")
    assert chosen(table) == ["b", "a, y"]
    second = table.assign(dataset="e", estimate=lambda t: t["estimate"].mask(t["scorer"] == "a, x", 1.0))
    assert chosen(pd.concat([table, second])) == ["b", "a, x"], "the mean over data sets"
    assert chosen(table.iloc[:0]) == []


def test_the_spread_is_pandas_quantiles_of_each_group_and_counts_each_context_once():
    frames = world(120)
    table, rows = spread(*frames), scored(*frames).drop_duplicates("context_hash")
    assert set(table["group"]) == set(SPREAD) and table["n"].groupby(table["scorer"]).sum().to_dict() == {"coin": len(rows), "good": len(rows)}
    held = rows[(rows["rows"] == "verbatim") & (rows[SPAN] == 1)]["good"]
    row = one(table, scorer="good", group="answer in it")
    assert [row.q10, row.q25, row.q50, row.q75, row.q90] == pytest.approx(list(held.quantile([0.1, 0.25, 0.5, 0.75, 0.9])))
    assert row.share_supported == pytest.approx((held >= row.threshold).mean()) and row.threshold == thresholds(scored(*frames), ["good"])["good"]
    assert spread(frames[0].assign(answer_in_context=1), *frames[1:]).empty, "without a threshold there is nothing to show"
    assert spread(*frames[:2], frames[2].iloc[:0]).empty
