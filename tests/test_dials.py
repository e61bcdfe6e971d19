"""The table of the dials: shares add up, trends are found where planted, the ends are asked and scored, and the plan is what the code turns."""
import numpy as np
import pandas as pd
import pytest
from test_dials_stream import POLICIES, Words

from lib import claims, dials, dials_ends, dials_plan, dials_table, dials_words, stats, tables

PLAN = claims.plan()["worlds"]
FEW = {**PLAN, "seed": 5, "questions": 60, "documents": 120, "dials": {"surfacing": [0.0, 1.0], "position": ["early", "middle", "late"]}}


pytestmark = pytest.mark.usefixtures("counting_words")


# the table

def test_the_sweep_gives_the_declared_table_whose_shares_add_up():
    table = dials_table.sweep(FEW, "sample", resamples=200, questions=40, encoder=Words())
    tables.check(table, "dials")
    assert not table.duplicated(dials_table.KEY).any() and set(table["dial"]) == set(FEW["dials"])
    wide = table[table["control"] == "none"].pivot_table(index=["dial", "value"], columns=["treatment", "measure"], values="estimate")
    for policy in POLICIES:
        np.testing.assert_allclose(wide["pool", "lost_in_retrieval"] + wide[policy, "lost_in_packing"] + wide[policy, "answer_in_context_defined"], 1)
        np.testing.assert_allclose(wide[policy, "answer_kept"] * wide["pool", "answer_in_pool"], wide[policy, "answer_in_context_defined"])
    change = dials_table.moved(table).set_index("dial")
    assert change.loc["surfacing", "surfaced"] == 1 and change.loc["position", "answer_place"] > 0.3 and (change["n_hops"] == 0).all()
    rest = table[table["at_rest"] & (table["control"] != "none")]
    assert set(rest["value"]) == {"drawn", "0.5"} and rest["place"].isna().all()  # no dial of FEW has a point at rest, so it stands beside each


def known(found, deltas, metric="answer_in_context_defined"):
    """A table of one contrast: deltas, dataset -> one a question."""
    frame = pd.DataFrame({(d, "submod", "focused", metric): v for d, v in deltas.items()}).rename_axis(columns=dials_table.COLUMN)
    return frame.set_axis([f"q{i:04d}" for i in range(len(frame))])


def along(values, n=1_500, seed=0, noise=0.3):
    """The table of a dial whose contrast has the given mean at each point, and its rows of deltas."""
    plan = {**PLAN, "dials": {"surfacing": [k / (len(values) - 1) for k in range(len(values))]}}
    found, rng = dials.points(plan), np.random.default_rng(seed)
    base = rng.choice([-1, 0, 1], size=n, p=[noise / 2, 1 - noise, noise / 2])
    deltas = {d: base - base.mean() + v for d, v in zip(found["dataset"], values)}
    return found, known(found, deltas), deltas


@pytest.mark.parametrize("values, verdict", [
    ([0.0, 0.05, 0.1], "rises"), ([0.1, 0.05, 0.0], "falls"), ([0.05, 0.05, 0.05], "flat"), ([-0.1, 0.0, 0.1], "rises, reversing"),
    ([0.0, 0.03, 0.012], "flat")])
def test_a_planted_trend_is_found_and_named(values, verdict):
    found, wide, _ = along(values)
    table = dials_table.tabled(found, wide, "answer_in_context_defined", "sample", 0.02, 500)
    trend = table[table["value"] == "trend"].iloc[0]
    assert trend["verdict"] == verdict
    np.testing.assert_allclose(trend["estimate"], np.polyfit([0, 0.5, 1], values, 1)[0], atol=1e-9)


def test_a_noisy_change_of_nothing_is_undecided_and_the_slope_is_that_of_least_squares():
    found, wide, _ = along([0.0, 0.0, 0.0], n=80)
    rng = np.random.default_rng(3)
    wide = wide + rng.normal(0, 0.5, wide.shape)
    table = dials_table.tabled(found, wide, "answer_in_context_defined", "sample", 0.02, 500)
    trend = table[table["value"] == "trend"].iloc[0]
    slopes = [np.polyfit([0, 0.5, 1], row, 1)[0] for row in wide.to_numpy()]
    np.testing.assert_allclose(trend["estimate"], np.mean(slopes))
    assert trend["verdict"] == "undecided" and trend["ci_low"] < 0 < trend["ci_high"]


def test_holm_counts_the_point_at_rest_once_and_trends_apart():
    plan = {**PLAN, "dials": {"surfacing": [0.0, 0.5], "paraphrase": [0.0, 0.5]}}
    found, rng = dials.points(plan), np.random.default_rng(0)
    assert len(found) == 4 and found["dataset"].nunique() == 3 and found["at_rest"].sum() == 2
    wide = known(found, {d: rng.choice([-1, 0, 1], size=300, p=[0.1, 0.75, 0.15]) for d in found["dataset"].unique()})
    table = dials_table.tabled(found, wide, "answer_in_context_defined", "sample", 0.02, 500)
    again = (table["dial"] == "paraphrase") & table["at_rest"]
    points, trends = table[(table["value"] != "trend") & ~again], table[table["value"] == "trend"]
    for family in (points, trends):
        np.testing.assert_allclose(sorted(family["p_holm"]), sorted(stats.holm(family["p_value"])))
    assert len(points) == 3 and len(trends) == 2


def test_one_question_has_no_interval_and_the_order_of_rows_none_of_its_own():
    one = dials_table.sweep(FEW, "sample", resamples=50, questions=1, encoder=Words())
    assert one["ci_low"].isna().all() and set(one.loc[one["value"] == "trend", "verdict"]) <= {"undecided", "undefined"}
    rows = dials.measured({**FEW, "questions": 30}, encoder=Words())
    pairs = [tuple(p) for p in FEW["contrasts"]]
    made = [dials_table.tabled(dials.points(FEW), dials_table.wide(r, pairs), FEW["metric"], "sample", 0.02, 100)
            for r in (rows, rows.sample(frac=1, random_state=1))]
    key = dials_table.KEY
    pd.testing.assert_frame_equal(*(t.sort_values(key, ignore_index=True) for t in made))


def by_rank(question, rows, vectors, asked):
    """The earlier, the likelier; checks that what a learned chance looks at is there."""
    assert len(rows) == len(vectors) and vectors.shape[1:] == asked.shape and list(rows) == ["title", "text", "doc_id", "doc_rank", "position", "n_tokens"]
    assert rows["doc_id"].nunique() == rows["doc_rank"].nunique() == 5 and (rows["n_tokens"] > 0).all() and question.endswith("?")
    return np.linspace(1, 0, len(rows))


def test_a_chance_lets_the_packer_join(monkeypatch):
    from lib import packers

    monkeypatch.setitem(packers.PACKERS, "tuned", lambda c, budget: packers.fill(np.argsort(-c.chance, kind="stable"), c.costs, budget))
    table = dials_table.sweep(FEW, "sample", resamples=50, questions=12, encoder=Words(), chance=by_rank)
    joined = table[table["treatment"] == "tuned"]
    assert set(joined["control"]) == {"none", "submod"} and set(joined["value"]) >= {"trend", "early"}
    assert not table.duplicated(dials_table.KEY).any()


@pytest.mark.parametrize("change, said", [
    ({"dials": {"surfacing": [0.5]}}, "give a list of two points or more"), ({"dials": {"tilt": [0, 1]}}, "no dial is called 'tilt'"),
    ({"rest": {"hops": 9}}, "hops must be"),
    ({"dials": {"surfacing": [0, 2]}}, "surfacing must be a number from 0 to 1")])
def test_a_plan_that_no_world_can_have_is_one_clear_error(change, said):
    with pytest.raises(ValueError, match=said):
        dials_table.sweep({**FEW, **change}, "sample", questions=5, encoder=Words())
    with pytest.raises(ValueError, match="lacks seed"):
        dials.points({k: v for k, v in PLAN.items() if k != "seed"})


BLOCK = {"policy": "tuned", "contrast": ["tuned", "submod"]}


@pytest.mark.parametrize("change, said", [
    ({"metrik": "f1"}, "has metrik, which nothing looks at; there are seed, questions"), ({"metric": "f1"}, "metric must be one of answer_in_context_defined"),
    ({"contrasts": [["submod", "mmr"]]}, "contrasts names 'mmr', which is not packed: policies are submod, focused, naive, topk"),
    ({"contrasts": [["submod"]]}, "contrasts must be pairs of two packers"), ({"contrasts": [["submod", "submod"]]}, "contrasts must be pairs"),
    ({"pool": {**PLAN["pool"], "ranker": "bm25"}}, "a world knows no other"), ({"pool": {**PLAN["pool"], "rank": 3}}, "pool must be a block of"),
    ({"pool": {**PLAN["pool"], "depth": 0}}, "depth of pool must be a whole number"),
    ({"joins": {**BLOCK, "contrast": ["tuned", "mmr"]}}, "contrast of joins names 'mmr', which is not packed"),
    ({"joins": {"policy": "tuned"}}, "joins must be a block of policy, contrast")])
def test_a_plan_that_names_what_is_not_packed_or_looked_at_is_one_clear_error(change, said):
    with pytest.raises(ValueError, match=f"{said}.*data/published/plan.yaml" if "data" not in said else said):
        dials_table.sweep({**FEW, **change}, "sample", questions=5, encoder=Words(), chance=lambda *a: np.zeros(len(a[1])))


def test_the_frozen_plan_is_accepted_whole_and_each_of_its_keys_is_known():
    dials_plan.check_plan(PLAN, joined=True)
    dials_plan.check_ends(PLAN)
    assert set(PLAN) == {*dials_plan.KEYS, *dials_plan.ALSO, *dials_plan.SAID}
    dials_plan.check_plan({k: v for k, v in PLAN.items() if k not in ("joins", "ends", "trend")})


@pytest.mark.parametrize("ends, said", [({"policies": ["submod"]}, "contrasts names 'focused', which is not packed: policies of ends are submod"),
                                        ({"metric": "f2"}, "metric of ends must be f1 or em"), ({"questions": -3}, "questions of ends must be a whole number")])
def test_the_ends_read_both_arms_of_the_first_contrast(ends, said):
    with pytest.raises(ValueError, match=said):
        dials_ends.ends({**FEW, "ends": {**PLAN["ends"], **ends}}, questions=5, encoder=Words())


@pytest.mark.parametrize("wrong, said", [({"questions": -1}, "world_questions must be a whole number of 0 or more"), ({"questions": 2.0}, "world_questions"),
                                         ({"questions": True}, "world_questions"), ({"questions": 5, "workers": 0}, "world_workers must be"),
                                         ({"questions": 0, "workers": "2"}, "world_workers must be a whole number of 1 or more")])
def test_an_error_names_the_parameter_that_is_wrong(wrong, said):
    with pytest.raises(ValueError, match=f"{said}.*params.yaml"):
        dials_table.sweep(FEW, "sample", encoder=Words(), **wrong)
    if "workers" not in wrong:
        with pytest.raises(ValueError, match=said):
            dials_ends.ends(FEW, **wrong)


def test_no_question_gives_the_tables_without_a_row():
    table = dials_table.sweep(FEW, "sample", questions=0)
    assert table.empty and list(tables.check(table, "dials")) == dials_table.COLUMNS and dials_ends.ends(FEW, questions=0).empty
    assert dials_words.said(table) == [] and "no dial is judged" in dials_words.in_short(table)
    assert dials_table.moved(table).empty


def test_sentences_say_what_the_table_has():
    found, wide, _ = along([-0.1, 0.0, 0.1], noise=0.08)
    table = dials_table.tabled(found, wide, "answer_in_context_defined", "sample", 0.02, 500)
    assert dials_words.said(table) == [(
        "surfacing: submodular packing against the focused heuristic goes from -10.0 points at 0 to +10.0 points at 1 and rises (+20.0 points [+20.0, +20.0] "
        "from end to end, n = 1,500); within the margin at 0.5; it changes sides from one end to the other.")]
    assert dials_words.in_short(table) == (
        "In generated worlds, one dial turned at a time, the lead of submod over focused grows with surfacing; it is gone at surfacing 0.5 (over focused); "
        "it is reversed at surfacing 0 (over focused).")


# the ends

def test_the_ends_are_asked_as_any_reading_and_their_f1_comes_back_as_planted():
    asked = dials_ends.ends(FEW, questions=30, encoder=Words())
    assert list(asked) == dials_ends.ASKED and len(asked) == 4 * 30 * 2 and asked["dataset"].nunique() == 4
    assert not asked.duplicated(["dataset", "qid", "policy"]).any()
    assert all(q in p and c in p for q, c, p in zip(asked["question"], asked["context"], asked["prompt"]))
    said = asked.drop_duplicates(["dataset", "qid", "context_hash"])[["dataset", "qid", "context_hash"]].assign(reader="made-up", precision="none")
    shown = said.merge(asked.drop_duplicates(["dataset", "qid", "context_hash"]), on=["dataset", "qid", "context_hash"])
    said["f1"] = [float(a[0] in c) for a, c in zip(shown["answers"], shown["context"])]
    rows = dials_ends.f1(asked, said, FEW, "sample", resamples=200)
    tables.check(rows, "dials")
    held = asked.assign(held=[float(a[0] in c) for a, c in zip(asked["answers"], asked["context"])]).groupby(["dataset", "policy"])["held"].mean()
    levels = rows[rows["control"] == "none"].merge(dials.points(FEW)[["dial", "value", "dataset"]], on=["dial", "value"])
    np.testing.assert_allclose(levels["estimate"], held.loc[list(zip(levels["dataset"], levels["treatment"]))])
    contrast = rows[rows["control"] != "none"].set_index(["dial", "value"])["estimate"]
    np.testing.assert_allclose(contrast["surfacing", "trend"], contrast["surfacing", "1"] - contrast["surfacing", "0"])
    fewer = dials_ends.f1(asked, said.iloc[5:], FEW, "sample", resamples=50)
    assert fewer["undefined"].sum() > 0 and len(dials_ends.f1(asked, said.iloc[:0], FEW, "sample")) == 0
