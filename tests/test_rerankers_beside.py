"""Rerankers beside each other: lists against their own first stage, what is asked of a tier, escalation, depth, probes."""

import math

import numpy as np
import pandas as pd
import pytest

from lib import depth_sets, probes_sets, rerankers_asked, rerankers_compare, rerankers_escalation, tables, viability_sets
from lib.cross_encoder import CrossEncoderError
from lib.depth_scores import write_scores
from lib.grades import ndcg_at
from lib.rerankers_lists import COST
from lib.weights import WeightsMissing
from tests.test_viability_sets import ranked, world

SPEC = {"method": "cross_encoder", "model": "reranker"}


def compared(given, costs=None, **more):
    costs = pd.DataFrame(columns=COST) if costs is None else costs
    return rerankers_compare.compare(given["rankings"], given["gold"], costs, "sample", cutoff=2, depth=4, resamples=200, **more)


def test_a_list_is_held_against_its_first_stage_on_its_own_questions():
    given = world()
    table = tables.check(compared(given), "rerankers").set_index(["ranker", "measure"])
    few = table.loc[("dense + few", "ndcg")]
    assert few["n"] == 1 and few["first"] == pytest.approx(0) and few["estimate"] == pytest.approx(1), (
        "q2 and q3 were not asked, so their first stage does not count"
    )
    good = table.loc[("dense + good", "ndcg")]
    by_hand = np.mean([ndcg_at([1, 1], [1, 1], 2) - 0, 0, 0])
    assert good["n"] == 3 and good["delta"] == pytest.approx(by_hand)
    assert (table.loc[(slice(None), "pool_recall"), "delta"] == 0).all(), "no reranker changes what is in its pool"


def test_a_second_retrieval_stands_apart_and_can_lift_the_pool():
    given = world()
    given["rankings"] = pd.concat([given["rankings"], ranked("rocchio", {"q1": "adef", "q2": "befa", "q3": "cefa"})])
    table = compared(given)
    row = table[(table["ranker"] == "rocchio") & (table["measure"] == "pool_recall")].iloc[0]
    assert row["kind"] == rerankers_compare.AGAIN and row["first_stage"] == "dense" and row["delta"] == pytest.approx(1 / 3)
    assert rerankers_compare.told(table)["kind"].tolist()[-1] == rerankers_compare.AGAIN


def test_costs_are_means_of_the_questions_counted_and_missing_where_untold():
    given = world()
    costs = pd.DataFrame([("set", q, "pooled", "dense + good", "dense", 4, 4, 4, t, 1) for q, t in (("q1", 10), ("q2", 20), ("q3", 60))], columns=COST)
    table = compared(given, costs).query("measure == 'ndcg'").set_index("ranker")
    assert table.loc["dense + good", ["calls", "tokens", "repaired", "repaired_calls"]].tolist() == [4, 30, 3, 12]
    assert table.loc["dense + few", ["calls", "tokens"]].isna().all()


def test_degenerate_input_gives_no_rows():
    given = world()
    assert compared(given | {"gold": given["gold"].head(0)}).empty
    assert compared(given | {"rankings": given["rankings"][given["rankings"]["ranker"] == "dense"]}).empty
    with pytest.raises(ValueError, match="first stage"):
        rerankers_compare.first_of("dense")


def test_a_cards_home_is_the_sets_it_was_trained_on():
    home = rerankers_compare.at_home(SPEC).set_index("dataset")
    assert set(home.index) == {"hotpotqa", "2wiki", "musique"}
    assert (home["delta"] - (home["estimate"] - home["first"])).abs().max() < 1e-3 and (home["ci_low"] <= home["delta"]).all() and (home["pairs"] > 0).all()
    assert rerankers_compare.at_home(None).empty and rerankers_compare.at_home({"method": "hub", "model": "x"}).empty


# ---- what a tier asks


def test_without_weights_each_list_is_left_out_with_its_reason(monkeypatch, tmp_path):
    given = world()

    def missing(*_, **__):
        raise CrossEncoderError("the weights are not here. Train them")

    monkeypatch.setattr("lib.cross_encoder.open_cross_encoder", missing)
    monkeypatch.setattr("lib.retrieval.encoder", lambda name: (_ for _ in ()).throw(WeightsMissing(f"{name} is not here")))
    from lib.store import Store

    store = Store(tmp_path)
    tasks, spec = rerankers_asked.tasks_of(SPEC | {"questions": 0}, ["dense"], 4)
    made = rerankers_asked.asked(
        given["rankings"], given["questions"], given["documents"], tasks, ["dense"], {"rocchio": "minilm", "rm3": "bm25"}, depth=4, store=store
    )
    assert set(made.left_out) == {"dense + reranker", "rocchio"} and {"dense + fusion", "rm3"} <= set(made.reranked["ranker"]) and made.costs.empty
    table, skipped = rerankers_escalation.cascades(
        given["rankings"], given["questions"], given["documents"], given["gold"], "sample", spec, tasks, "dense", 4, 2, store=store
    )
    assert table.empty and set(skipped) == {"dense, then reranker"}
    cases = probes_sets.cases(given["rankings"], given["gold"], given["questions"], given["documents"], 3, "dense")
    probed, why = probes_sets.probed(cases, spec, "sample", store=store)
    assert probed.empty and "not here" in why


def test_no_reranker_is_no_task_and_a_wrong_one_is_refused():
    assert rerankers_asked.tasks_of({}, ["dense"], 50) == ([], None)
    assert len(rerankers_asked.tasks_of({}, ["hybrid"], 50, language_models=True)[0]) == 5
    with pytest.raises(ValueError, match="method"):
        rerankers_asked.tasks_of({"method": "magic", "model": "x"}, ["dense"], 50)


# ---- escalation


class Turned:
    """The passages the other way round; tells no more than that."""

    name = "turned"

    def rerank(self, question, passages):
        from lib.rerankers import Reranked

        n = len(passages)
        return Reranked(list(range(n))[::-1], [float(i) for i in range(n)], n, 10 * n, 0)


def test_the_first_stage_as_retrieved_changes_nothing_and_keeps_its_scores(monkeypatch):
    given = world()
    kept = rerankers_escalation.as_retrieved(given["rankings"], given["questions"], given["documents"], "dense", 3)
    texts = next(iter(kept.scores))[1]
    made = kept.rerank("First?", texts)
    assert made.order == [0, 1, 2] and made.scores == [-1.0, -2.0, -3.0] and made.calls == made.tokens == 0
    monkeypatch.setattr("lib.rerankers_escalation.open_reranker", lambda *_: Turned())
    table, skipped = rerankers_escalation.cascades(
        given["rankings"], given["questions"], given["documents"], given["gold"], "sample", SPEC, [], "dense", 4, 2, resamples=100
    )
    assert not skipped and set(table["small"]) == {"dense"} and set(table["large"]) == {"turned"}
    tables.check(table, "cascade")
    large = table[(table["quantity"] == "large_tokens") & (table["half"] == 1)]
    assert (large["estimate"] == 40).all()


def test_quality_is_the_ndcg_of_the_list_and_undefined_without_gold():
    quality = rerankers_escalation.quality_of(world()["gold"], 2)
    assert quality("set", "q1", list("da")) == 1 and quality("set", "q2", list("ef")) == 0 and math.isnan(quality("set", "q9", ["a"]))


def test_without_a_reranker_or_gold_there_is_no_cascade():
    given = world()
    for spec, gold in ((None, given["gold"]), (SPEC, given["gold"].head(0))):
        assert rerankers_escalation.cascades(given["rankings"], given["questions"], given["documents"], gold, "sample", spec)[0].empty


# ---- depth and probes over a tier's lists


def test_depth_of_a_tiers_lists_and_of_files(tmp_path):
    given = world()
    pairs = depth_sets.scored_pairs(given["rankings"], "dense")
    assert set(pairs) == {("dense", "dense + good"), ("dense", "dense + few")}
    here = depth_sets.of_lists(given["rankings"], given["gold"], given["questions"], [("dense", "dense + good")])
    rows = depth_sets.rows_of(here[0], [1, 4, 50], 2)
    assert sorted(set(rows["depth"])) == [1, 4], "a depth that no list reaches is left out"
    assert rows.query("qid == 'q1'").set_index("depth")["realised"].tolist() == pytest.approx([0, 1])
    scores = here[0].lists.merge(here[0].questions, on=["dataset", "qid"]).assign(tokens=5, n_gold=2, grade=lambda d: d["grade"].fillna(0).clip(upper=1))
    write_scores(scores, tmp_path / "depth-world-bm25.csv.gz")
    (file,) = depth_sets.of_files("depth-*.csv*", tmp_path)
    assert (file.ranker, file.reranker) == ("bm25", "reranker") and depth_sets.of_files("") == []
    made = depth_sets.studied([*here, file], "sample", [1, 4], 2, 100)
    assert set(made["depth"]["ranker"]) == {"dense", "bm25"} and not depth_sets.left_out(here, [file]) and len(depth_sets.left_out([], [])) == 2
    latency = pd.DataFrame(
        {"tier": "sample", "reranker": "good", "depth": 4, "arrangement": "single", "load": 0.5, "quantity": "timed_out", "estimate": [0.25]}
    )
    priced = depth_sets.priced([*here, file], latency, "sample", [1, 4], 2, {"pairs": 1.0}, 100)
    assert set(priced["fallback"]["reranker"]) == {"good"}, "service times of one reranker say nothing of another"
    for name, table in {**made, **priced, **depth_sets.scales(here, "sample", 100)}.items():
        tables.check(table, name)


def test_without_a_study_every_table_of_depth_has_no_row():
    latency = viability_sets.nothing("latency")
    made = {**depth_sets.studied([], "own"), **depth_sets.priced([], latency, "own", [5], 5, {"pairs": 1.0}), **depth_sets.scales([], "own")}
    assert set(made) == {"depth", "depth_entered", "depth_sufficient", "depth_falls", "depth_cost", "fallback", "score_scale", "reliability"}
    assert all(tables.check(t, n).empty for n, t in made.items())


def test_the_stranger_of_a_case_is_another_questions_gold_from_far_down_its_own_list():
    given = world()
    letters = [f"p{i:02d}" for i in range(30)]
    documents = pd.DataFrame({"dataset": "set", "doc_id": letters, "title": letters, "text": [f"text {d}" for d in letters]})
    gold = pd.DataFrame(
        [("set", "q1", "p00", 1), ("set", "q1", "p25", 1), ("set", "q2", "p26", 1), ("set", "q3", "p05", 1)], columns=["dataset", "qid", "doc_id", "grade"]
    )
    rankings = ranked("hybrid", {q: letters for q in ("q1", "q2", "q3")})
    made = {c.qid: c for c in probes_sets.cases(rankings, gold, given["questions"], documents, 3)}
    assert made["set q1"].stranger.endswith("text p26") and made["set q2"].stranger.endswith("text p25")
    assert len(made["set q1"].passages) == 10 and made["set q1"].grades[0] == 1 and sum(made["set q2"].grades) == 0
    assert probes_sets.cases(rankings, gold, given["questions"], documents, 0) == []
    assert probes_sets.probed([], SPEC, "own")[1] and probes_sets.probed(list(made.values()), None, "own")[1]
