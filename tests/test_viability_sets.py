"""The audit over a tier's lists: which list reranks which, the tray, tables without a row, sentences built from tables."""

import altair as alt
import pandas as pd
import pytest

from lib import figures_viability_sets, tables, viability_sets, viability_tray
from lib import wording_viability as wording
from lib.declarations import DECLARATIONS
from lib.viability_run import DECLARED


def ranked(ranker: str, lists: dict[str, str], scope: str = "pooled") -> pd.DataFrame:
    rows = [("set", qid, scope, ranker, rank, doc, -float(rank)) for qid, docs in lists.items() for rank, doc in enumerate(docs, 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def world() -> dict[str, pd.DataFrame]:
    """Three questions over one-letter passages; gold of q1: a and d, of q2: b (not in any dense list), of q3: c."""
    questions = pd.DataFrame(
        {
            "dataset": "set",
            "qid": ["q1", "q2", "q3"],
            "question": ["First?", "Second?", "Third?"],
            "question_type": ["bridge", "single", "single"],
            "half": [0, 1, 0],
        }
    )
    gold = pd.DataFrame(
        [("set", "q1", "a", 1), ("set", "q1", "d", 1), ("set", "q2", "b", 1), ("set", "q3", "c", 1)], columns=["dataset", "qid", "doc_id", "grade"]
    )
    documents = pd.DataFrame({"dataset": "set", "doc_id": list("abcdef"), "title": list("ABCDEF"), "text": [f"text of {d}" for d in "abcdef"]})
    rankings = pd.concat(
        [
            ranked("dense", {"q1": "efad", "q2": "efac", "q3": "cefa"}),
            ranked("bm25", {"q1": "adef", "q2": "efca", "q3": "caef"}),
            ranked("dense + good", {"q1": "adef", "q2": "efac", "q3": "cefa"}),
            ranked("dense + few", {"q1": "adef"}),
        ],
        ignore_index=True,
    )
    return {"rankings": rankings, "gold": gold, "questions": questions, "documents": documents}


def audits(given: dict[str, pd.DataFrame], **more):
    return viability_sets.audits(
        given["rankings"], given["gold"], given["questions"], given["documents"], ["dense"], cutoff=2, depth=4, tier="sample", resamples=200, **more
    )


def test_a_list_that_lacks_judged_questions_is_no_row_of_the_audit():
    given = world()
    assert viability_sets.whole_lists(given["rankings"], given["gold"], "dense") == ["dense + good"]
    tables_ = viability_sets.written(audits(given))
    assert set(tables_["audit"]["reranker"]) == {"dense + good"}
    for name, table in tables_.items():
        tables.check(table, name)


def test_a_first_stage_without_a_reranker_is_audited_alone():
    given = world()
    given["rankings"] = given["rankings"][given["rankings"]["ranker"] == "dense"]
    (report,) = audits(given)
    assert set(report.verdicts["reranker"]) == {"none"} and report.queries["realised_gain"].isna().all()
    assert viability_sets.main_list(given["rankings"], given["gold"], "dense") == "none"


def test_the_three_parts_of_a_hand_made_list():
    rows = viability_sets.written(audits(world()))["audit"].query("gain == 'exponential'").set_index("qid")
    assert rows.loc["q1", ["base", "ordering_headroom", "omission_gap", "realised_gain"]].tolist() == pytest.approx([0, 1, 0, 1])
    assert rows.loc["q2", ["base", "ceiling", "omission_gap"]].tolist() == pytest.approx([0, 0, 1])
    assert rows.loc["q3", ["base", "regression"]].tolist() == pytest.approx([1, 0])


def test_without_gold_there_is_no_report_and_every_table_has_no_row():
    given = world()
    assert audits(given | {"gold": given["gold"].head(0)}) == []
    for name, table in viability_sets.written([]).items():
        assert len(tables.check(table, name)) == 0 and name in DECLARED
    for name in DECLARATIONS:
        assert len(tables.check(viability_sets.nothing(name), name)) == 0
    assert viability_sets.main_list(given["rankings"], given["gold"].head(0), "dense") == "none"


def test_fusion_reorders_each_pool_and_adds_nothing():
    given = world()
    assert viability_sets.voters(given["rankings"], "pooled") == ["bm25", "dense"]
    made = viability_sets.fused(given["rankings"], ["dense"], depth=4)
    assert set(made["ranker"]) == {"dense + fusion"}
    dense = given["rankings"][given["rankings"]["ranker"] == "dense"]
    for qid, part in made.groupby("qid"):
        assert set(part["doc_id"]) == set(dense.loc[dense["qid"] == qid, "doc_id"])
    assert made[made["qid"] == "q1"].sort_values("rank")["doc_id"].tolist() != list("efad")
    assert viability_sets.fused(given["rankings"][given["rankings"]["ranker"] == "dense"], ["dense"]).empty


def test_a_bundle_is_all_the_gold_of_a_question_that_needs_several():
    made = viability_sets.judgements(world()["gold"])
    assert made.loc[made["bundle"].notna(), "qid"].unique().tolist() == ["q1"]
    assert viability_sets.judgements(world()["gold"].head(0)).empty


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"firsts": ["dnse"]}, "firsts"),
        ({"firsts": "dense"}, "firsts"),
        ({"firsts": []}, "firsts"),
        ({"requirement": "some"}, "requirement"),
        ({"cutoff": 0}, "cutoff"),
        ({"resamples": 5}, "resamples"),
    ],
)
def test_a_wrong_parameter_is_refused(change, said):
    right = {"rankings": world()["rankings"], "firsts": ["dense"], "scope": "pooled", "requirement": "all", "cutoff": 5, "resamples": 200}
    viability_sets.check(**right)
    with pytest.raises(ValueError, match=said):
        viability_sets.check(**(right | change))


# ---- the tray


def test_the_tray_tells_buried_from_absent():
    given = world()
    found = viability_tray.places(given["rankings"], given["gold"], "dense", "pooled", 4)
    assert viability_tray.buried(found, 2) == ("set", "q1") and viability_tray.absent(found) == ("set", "q2")
    said, rows = viability_tray.told(
        ("set", "q1"), given["questions"], given["gold"], given["documents"], given["rankings"], "dense", "dense + good", cutoff=2, depth=4
    )
    assert said.startswith("First?") and rows["title"].tolist() == ["E", "F", "A", "D"] and rows["reranked"].tolist() == [3, 4, 1, 2]
    _, rows = viability_tray.told(("set", "q2"), given["questions"], given["gold"], given["documents"], given["rankings"], "dense", None, cutoff=2, depth=4)
    assert rows.iloc[-1][["gold", "title"]].tolist() == [True, "B"] and rows.iloc[-1][["rank", "reranked"]].isna().all()


def test_a_tier_without_such_questions_shows_an_empty_tray():
    given = world()
    found = viability_tray.places(given["rankings"], given["gold"].head(0), "dense", "pooled", 4)
    assert viability_tray.buried(found, 2) is None and viability_tray.absent(found) is None
    said, rows = viability_tray.told(None, *(given[n] for n in ("questions", "gold", "documents", "rankings")), "dense")
    assert said and rows.empty and list(rows) == viability_tray.COLUMNS


# ---- sentences


def slices(gain: float, low: float, high: float) -> pd.DataFrame:
    rows = [("base", 0.8, 0.7, 0.9), ("ordering_headroom", 0.1, 0.05, 0.15), ("requirement_met", 0.9, 0.8, 1.0), ("realised_gain", gain, low, high)]
    return pd.DataFrame(
        [
            {
                "dataset": "set",
                "slice": "all",
                "first_stage": "dense",
                "reranker": "dense + good",
                "gain": "exponential",
                "cutoff": 5,
                "measure": m,
                "estimate": e,
                "ci_low": a,
                "ci_high": b,
                "n": 40,
            }
            for m, e, a, b in rows
        ]
    )


@pytest.mark.parametrize(("ends", "verb"), [((0.01, 0.02, 0.03), "gains"), ((-0.02, -0.03, -0.01), "loses"), ((0.0, -0.01, 0.01), "is undecided at")])
def test_the_answer_has_wordings_for_gains_loses_and_undecided(ends, verb):
    verdicts = pd.DataFrame(
        [{"dataset": "set", "slice": "all", "first_stage": "dense", "reranker": "dense + good", "gain": "exponential", "verdict": "rerank"}]
    )
    said = wording.viability_answer(slices(ends[0], *ends[1:]), verdicts, ["dense", "hybrid"])
    assert f"the cross-encoder {verb} " in said and "verdict: rerank" in said and said.count("40 questions") == 1
    assert wording.viability_answer(slices(0, 0, 0).head(0), verdicts, ["dense"]) == wording.NOTHING


def test_reasons_are_told_once():
    reasons = {"x": "16 choices are in no layer of the store, and more", "y": "a prompt is in no layer of the store (a key)"}
    assert wording.left_out(reasons).count("left out") == 1 and wording.left_out(reasons).endswith("x, y") and wording.left_out({}, {}) == ""


def test_depth_is_told_with_its_verdict_or_as_undefined():
    row = {
        "dataset": "set",
        "ranker": "bm25",
        "slice": "all",
        "measure": "realised",
        "n": 97,
        "peak": 5,
        "depth": 50,
        "delta": -0.03,
        "ci_low": -0.05,
        "ci_high": -0.01,
        "p_holm": 0.004,
        "verdict": "falls",
    }
    said = wording.deepest(pd.DataFrame([row]))
    assert "50 candidates instead of 5" in said and "97 questions" in said and "falls" in said
    assert "too few" in wording.deepest(pd.DataFrame([row | {"verdict": "undefined"}]))


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"service": {"depth": [5], "loads": [0.5], "timeout": 2}}, "depths, loads, timeout"),
        ({"service": None}, "got None"),
        ({"prices": {"pears": 1}}, "prices must give"),
        ({"probe_questions": None}, "probe_questions"),
        ({"probe_questions": -1}, "probe_questions"),
    ],
)
def test_what_the_price_and_the_probes_need_is_checked_before_anything_runs(changed, said):
    sound = {"service": {"depths": [5], "loads": [0.5], "timeout": 2}, "prices": {"pairs": 0.1}, "probe_questions": 0}
    viability_sets.check_price(**sound)
    with pytest.raises(ValueError, match=said):
        viability_sets.check_price(**sound | changed)


def test_figures_with_settings_of_their_own_stand_below_one_another():
    """Every figure of the study of depth sets its frame; two studies are one figure."""
    bare = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
    both = figures_viability_sets.stacked([bare.configure_view(stroke=None), bare], "depth curves").to_dict()
    assert len(both["vconcat"]) == 2 and both["config"]["view"]["stroke"] is None and all("config" not in part for part in both["vconcat"])
    assert "vconcat" not in figures_viability_sets.stacked([bare], "depth curves").to_dict()
