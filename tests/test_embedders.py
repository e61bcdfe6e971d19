"""Rankers compared by question: golden values, invariants, and that equivalence is never read off an interval that covers 0."""
import numpy as np
import pandas as pd
import pytest

from lib import embedders, settings, tables
from lib.embedders import KEPT, NONE, dependence
from lib.embedders import embedders as made

MAIN = settings.setting()
RANKERS = ("dense", "other")


def world(n=40, sets=("a",), rankers=RANKERS, seed=0, keep=None):
    """n questions a set: two gold documents of four, lists by each ranker, packs of three policies. ``keep``: (ranker, policy) -> chance of an answer."""
    rng = np.random.default_rng(seed)
    keep = keep or (lambda ranker, policy: 0.5)
    q = pd.DataFrame([(d, f"q{i}", i % 2) for d in sets for i in range(n)], columns=["dataset", "qid", "half"])
    gold = pd.DataFrame([(d, f"q{i}", x, 1, None, False) for d in sets for i in range(n) for x in "AB"],
                        columns=["dataset", "qid", "doc_id", "grade", "hop", "is_last_hop"])
    lists = [(d, f"q{i}", "own", r, k, x, -float(k)) for d in sets for i in range(n) for r in rankers
             for k, x in enumerate(rng.permutation(list("ABCDEFGHIJ")), 1)]
    rankings = pd.DataFrame(lists, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    packs = [(d, f"q{i}", settings.pack_id(MAIN | {"ranker": r}), p, 160, int(rng.random() < keep(r, p)), i % 8 > 0, int(i % 5 > 0))
             for d in sets for i in range(n) for r in rankers for p in ("naive", "focused", "submod")]
    survived = pd.DataFrame(packs, columns=["dataset", "qid", "pack_id", "policy", "budget", "answer_in_context", "answer_defined", "answer_in_pool"])
    return q, gold, rankings, survived


def told(table, **where):
    return table[np.logical_and.reduce([table[k] == v for k, v in where.items()])]


def test_every_row_is_the_mean_of_what_it_names():
    q, gold, rankings, survived = world(sets=("a", "b"))
    table = tables.check(made(q, gold, rankings, survived, MAIN, "sample", resamples=200), "embedders")
    defined = survived[survived["answer_defined"]]
    kept = defined.assign(ranker=defined["pack_id"].str.split("-").str[1])
    kept = kept.pivot(index=["dataset", "qid"], columns=["ranker", "policy"], values="answer_in_context").astype(float)
    for dataset, part in [("a", kept.loc[["a"]]), ("b", kept.loc[["b"]]), ("all", kept)]:
        for r in RANKERS:
            here = {"dataset": dataset, "ranker": r, "minus": NONE, "measure": KEPT}
            assert told(table, treatment="focused", control=NONE, **here)["estimate"].item() == pytest.approx(part[r]["focused"].mean())
            row = told(table, treatment="submod", control="focused", **here)
            assert row["estimate"].item() == pytest.approx((part[r]["submod"] - part[r]["focused"]).mean())
            assert (row["n"].item(), row["undefined"].item()) == (len(part), len(part) // 7)
        double = (part["other"]["submod"] - part["other"]["focused"]) - (part["dense"]["submod"] - part["dense"]["focused"])
        row = told(table, dataset=dataset, ranker="other", minus="dense", treatment="submod", control="focused")
        assert row["estimate"].item() == pytest.approx(double.mean()) and row["ci_low"].item() < double.mean() < row["ci_high"].item()
    top = rankings[(rankings["rank"] <= 5) & rankings["doc_id"].isin(["A", "B"])].groupby(["dataset", "qid", "ranker"]).size().unstack(fill_value=0)
    assert told(table, dataset="all", ranker="other", minus=NONE, measure="recall_at_5")["estimate"].item() == pytest.approx(top["other"].sum() / 160)
    whole = told(table, dataset="all", ranker="other", minus="dense", measure="all_gold_at_5")
    assert whole["estimate"].item() == pytest.approx(((top["other"] == 2).sum() - (top["dense"] == 2).sum()) / 80)
    assert table["p_value"].isna().eq((table["minus"] == NONE) & (table["control"] == NONE)).all(), "levels are not tested"
    assert (table["p_holm"].dropna() >= table["p_value"].dropna() - 1e-12).all()


def test_nothing_depends_on_the_order_of_rows():
    frames = world(sets=("a", "b"))
    table = made(*frames, MAIN, "sample", resamples=100)
    shuffled = [t.sample(frac=1, random_state=1) for t in frames]
    pd.testing.assert_frame_equal(made(*shuffled, MAIN, "sample", resamples=100), table)


def test_a_ranker_with_the_same_lists_and_packs_is_the_same():
    q, gold, rankings, survived = world(n=300)
    one = rankings[rankings["ranker"] == "dense"]
    packs = survived[survived["pack_id"].str.contains("dense")]
    both = pd.concat([packs, packs.assign(pack_id=packs["pack_id"].str.replace("dense", "twin"))])
    table = made(q, gold, pd.concat([one, one.assign(ranker="twin")]), both, MAIN, "sample", resamples=300)
    differs = told(table, minus="dense")
    assert (differs["estimate"] == 0).all() and (differs["p_value"] == 1).all() and set(differs["verdict"]) == {"equivalent"}
    assert set(dependence(table)["answer"]) == {"same"}


@pytest.mark.parametrize("n, keep, answer", [
    (400, lambda r, p: 0.9 if (r, p) == ("other", "submod") else 0.4, "depends"),   # a lead with one ranker alone
    (30, lambda r, p: 0.5, "undecided"),                                             # nothing there, but too few to say so
])
def test_dependence_says_what_the_data_can_say(n, keep, answer):
    found = dependence(made(*world(n=n, keep=keep), MAIN, "sample", resamples=500))
    assert set(found["answer"]) == {answer} and set(found["widest"]) == {"other"} and (found["rankers"] == 2).all()
    if answer == "depends":
        assert (found["ahead"] == 1).all() and (found["highest"] > 0.35).all() and found["difference"].gt(0.3).all()


def test_false_alarms_are_as_rare_as_said():
    """No ranker changes anything: over 60 sets the uncorrected p falls below 5 % about as often as it should."""
    table = made(*world(n=40, sets=[f"set {s}" for s in range(60)]), MAIN, "sample", pairs=[("submod", "focused")], resamples=200)
    low = told(table[table["dataset"] != "all"], minus="dense", treatment="submod", control="focused")["p_value"]
    assert len(low) == 60 and (low < 0.05).mean() <= 0.15 and 0.3 < (low < 0.5).mean() < 0.7


def test_a_ranker_that_was_not_packed_has_its_retrieval_alone():
    q, gold, rankings, survived = world()
    table = made(q, gold, rankings, survived[survived["pack_id"].str.contains("dense")], MAIN, "sample", resamples=50)
    for there in ({"ranker": "other"}, {"minus": "dense"}):
        assert set(told(table, **there)["measure"]) == {"recall_at_5", "all_gold_at_5"}
    assert dependence(table).empty


def test_poor_tables_give_rows_without_a_number_or_no_row():
    q, gold, rankings, survived = world(n=6)
    undefined = made(q, gold.iloc[:0], rankings, survived.assign(answer_defined=False), MAIN, "sample", resamples=50)
    assert undefined["estimate"].isna().all() and (undefined["n"] == 0).all() and (undefined["undefined"] == 6).all()
    assert dependence(undefined).empty and len(tables.check(undefined, "embedders"))
    one = made(q.iloc[:1], gold, rankings, survived, MAIN, "sample", resamples=50)
    assert one["ci_low"].isna().all() and len(tables.check(one, "embedders"))
    lone = made(*world(rankers=("mine",)), MAIN, "sample", resamples=50)
    assert set(lone["minus"]) == {NONE} and len(lone), "without the main ranker nothing is subtracted"
    for empty in (made(q, gold, rankings.iloc[:0], survived, MAIN, "sample"), made(q, gold, rankings, survived, MAIN | {"scope": "pooled"}, "sample")):
        assert empty.empty and tables.check(empty, "embedders").empty
    assert set(embedders.per_question(q, gold, rankings, survived, MAIN, budget=96)["measure"]) == {"recall_at_5", "all_gold_at_5"}
