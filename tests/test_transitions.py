"""Transitions: the kinds partition the questions, contributions add up to the contrast, a gross share is not a net one, and nothing of nothing is no share."""
import numpy as np
import pandas as pd
import pytest

from lib import pooled, summaries, tables, transitions
from lib.transitions import FIGURES, KINDS, SPLIT, parts, transition

DRAWS = 300
KEY = {"dataset": "d", "pack_id": "p", "budget": 160, "reader": "r", "precision": "fp32"}


def rows(f1, held, defined=None, **columns):
    """Outcome rows from {policy: F1 a question} and {policy: answer-in-context a question}."""
    n = len(next(iter(f1.values())))
    out = pd.concat([pd.DataFrame({"qid": [f"q{i:04d}" for i in range(n)], "policy": p, "f1": f1[p], "answer_in_context": held[p]}) for p in f1], ignore_index=True)
    defined = [True] * n if defined is None else defined
    number = out["qid"].str[1:].astype(int)
    return out.assign(**KEY, em=(out["f1"] == 1).astype(float), half=number % 2, answer_defined=number.map(dict(enumerate(defined))), **columns)


def random(seed=0, n=60):
    rng = np.random.default_rng(seed)
    f1 = {p: rng.integers(0, 5, n) / 4 for p in ("old", "new", "third")}
    return rows(f1, {p: rng.integers(0, 2, n) for p in f1}, rng.random(n) < 0.8)


def declared(df):
    return df.astype({"answer_in_context": "Int64", "half": "Int64", "answer_defined": "boolean", "f1": "Float64", "qid": "string", "policy": "string"})


def table(df, pairs=(("new", "old"),), **more):
    return transitions.transitions(df, pairs, "t", resamples=DRAWS, **more)


def of(found, **where):
    where = {"half": "all", "outcome": "f1"} | where
    return found.loc[np.logical_and.reduce([found[k] == v for k, v in where.items()])].set_index("transition")


@pytest.mark.parametrize("kind", [lambda df: df, declared])
def test_six_questions_by_hand(kind):
    df = rows({"new": [1, 0.5, 0, 1, 0.5, 1], "old": [0, 0, 1, 0.5, 0.5, 0]}, {"new": [1, 1, 0, 1, 0, 0], "old": [0, 0, 1, 1, 0, 0]}, [True] * 5 + [False])
    found = of(table(kind(df)))
    assert found["questions"].to_dict() == {"gained": 2, "lost": 1, "kept": 1, "absent": 1, "undefined": 1, "net": 3, "all": 6}
    assert found["contribution"].tolist() == pytest.approx([1.5 / 6, -1 / 6, 0.5 / 6, 0, 1 / 6, 0.5 / 6, 2 / 6])
    assert found["mean_delta"].tolist() == pytest.approx([0.75, -1, 0.5, 0, 1, 0.5 / 3, 2 / 6]) and found["share"]["gained"] == pytest.approx(2 / 6)
    assert set(found["n"]) == set(found["clusters"]) == {6}


def test_an_answer_in_the_context_of_an_undefined_question_is_no_transition():
    assert transition([1, 0], [0, 1], [False, False]).tolist() == ["undefined"] * 2


def test_published_arithmetic_81_per_cent_gross_is_less_net():
    """Document 000, 5.0.0.4 and Table 6: 37 questions of 500 gained at +0.39, 28 lost (9 net), +0.0356 in all."""
    kind = np.repeat(["gained", "lost", "kept"], [37, 28, 435])
    delta = np.select([kind == "gained", kind == "lost"], [0.39, -0.25], (0.0356 * 500 - 37 * 0.39 + 28 * 0.25) / 435)
    df = rows({"new": 0.3 + delta, "old": np.full(500, 0.3)}, {"new": kind != "lost", "old": kind != "gained"})
    found = of(table(df))
    assert found["contribution"]["all"] == pytest.approx(0.0356) and found["questions"][["gained", "net"]].tolist() == [37, 65]
    assert found["share_of_delta"]["gained"] == pytest.approx(0.81, abs=0.001)
    assert found["share_of_delta"]["net"] == pytest.approx((37 * 0.39 - 28 * 0.25) / (0.0356 * 500)) and found["share_of_delta"]["net"] < 0.5
    assert found["share_low"]["gained"] < 0.81 < found["share_high"]["gained"]


@pytest.mark.parametrize("seed", range(3))
def test_parts_add_up_and_all_is_the_contrast(seed):
    df = random(seed)
    found, contrast = table(df), summaries.contrasts(df, [("new", "old")], ["f1", "em"], "t", DRAWS)
    for half in ("all", "0", "1"):
        for outcome in ("f1", "em"):
            here, row = of(found, half=half, outcome=outcome), contrast[(contrast["half"] == half) & (contrast["metric"] == outcome)].iloc[0]
            assert here.loc[list(KINDS), "contribution"].sum() == pytest.approx(row["delta"], abs=1e-12) and here.loc[list(KINDS), "questions"].sum() == row["n"]
            assert here["contribution"]["net"] == pytest.approx(here["contribution"]["gained"] + here["contribution"]["lost"], abs=1e-12)
            assert here.loc["all", ["contribution", "ci_low", "ci_high"]].tolist() == pytest.approx(row[["delta", "ci_low", "ci_high"]].tolist())  # one draw
    assert len(tables.check(found, "transitions")) == len(found) == 3 * 2 * len(SPLIT)


def test_swapping_the_packers_swaps_gained_and_lost():
    df = random()
    one, other = of(table(df)), of(table(df, [("old", "new")]))
    other = other.rename(index={"gained": "lost", "lost": "gained"}).loc[one.index]
    assert one["questions"].tolist() == other["questions"].tolist() and one["contribution"].tolist() == pytest.approx((-other["contribution"]).tolist())


@pytest.mark.parametrize("kind", [lambda df: df, declared])
def test_a_policy_against_itself_moves_nothing_and_has_no_share(kind):
    found = table(kind(random()), [("new", "new")])
    assert not found[["contribution", "ci_low", "ci_high"]].any(axis=None) and not found.loc[found["transition"].isin(("gained", "lost", "net")), "questions"].any()
    assert found["share_of_delta"].isna().all() and not found["mean_delta"].fillna(0).any()


def test_a_share_is_stated_only_of_a_decided_difference():
    found = table(pd.concat([random(s).assign(dataset=f"d{s}") for s in range(6)]))
    whole = found[found["transition"] == "all"]
    decided = (whole["ci_low"] > 0) | (whole["ci_high"] < 0)
    assert whole["share_of_delta"].notna().tolist() == decided.tolist() and 0 < decided.sum() < len(decided)
    assert (whole.loc[decided, ["share_of_delta", "share_low", "share_high"]] == 1).all(axis=None)


def test_order_and_other_rows_change_nothing():
    df = random()
    pd.testing.assert_frame_equal(table(df), table(df.sample(frac=1, random_state=1)))
    unread = df.assign(reader="none", f1=np.nan, em=np.nan)
    pd.testing.assert_frame_equal(table(df), table(pd.concat([df, unread])))


def test_one_missing_score_leaves_one_question_out():
    df = random()
    df.loc[(df["policy"] == "new") & (df["qid"] == "q0003"), "f1"] = np.nan
    found = of(table(df))
    assert set(found["n"]) == {59} and found.loc[list(KINDS), "questions"].sum() == 59 and set(of(table(df), outcome="em")["n"]) == {60}
    assert found.loc[list(KINDS), "contribution"].sum() == pytest.approx(found["contribution"]["all"], abs=1e-12)


def test_seeds_are_slices_where_several_draw_questions():
    df = random()
    questions = pd.DataFrame({"dataset": "d", "qid": [f"q{i:04d}" for i in range(60)], "seeds": [[42], [42, 13], []] * 20})
    found = table(df, questions=questions)
    assert list(dict.fromkeys(found["half"])) == ["all", "0", "1", "seed 13", "seed 42", "instances"]
    assert set(of(found, half="seed 42")["n"]) == {40} and set(of(found, half="seed 13")["n"]) == {20}
    one_seed = questions.assign(seeds=[[42]] * 60)
    assert set(table(df, questions=one_seed)["half"]) == set(table(df, questions=questions.assign(seeds=[[]] * 60))["half"]) == {"all", "0", "1"}
    assert dict(parts(df, questions))["seed 13"]["qid"].nunique() == 20


def test_degenerate_input_gives_missing_numbers_or_no_rows():
    df = random()
    assert table(df.iloc[:0]).empty and table(df, []).empty and table(df, [("new", "nobody")]).empty
    assert list(table(df.iloc[:0])) == list(tables.TABLES["transitions"].columns)
    with pytest.raises(ValueError, match="no column 'f2'"):
        table(df, measures=("f2",))
    one = of(table(df[df["qid"] == "q0000"]))
    assert one["ci_low"].isna().all() and one["questions"]["all"] == 1 and one["share_of_delta"].isna().all()
    none = of(table(df.assign(answer_defined=False)))
    assert none["questions"].drop(["undefined", "all"]).sum() == 0 and none["contribution"]["undefined"] == pytest.approx(none["contribution"]["all"])


def test_figures_for_the_register_are_the_table_s_numbers():
    undecided = random(4)
    df = undecided.assign(f1=undecided["f1"] + (undecided["policy"] == "new"))  # one more for all: a difference that is decided
    found, where = of(table(df)), {"treatment": "new", "control": "old", "measure": "f1", "budget": 160, "policies": ["new", "old"]}
    for kind in SPLIT:
        share, count, gain = (FIGURES[f](df, where | {"transition": kind, "per": 500}, DRAWS, 0) for f in ("share_of_gain", "questions_in", "gain_per_question"))
        assert share.estimate == pytest.approx(found["contribution"][kind] / found["contribution"]["all"])
        assert count.estimate == pytest.approx(500 * found["share"][kind]) and gain.estimate == pytest.approx(found["mean_delta"][kind], nan_ok=True)
        assert share.n == count.n == 60 and (count.low <= count.estimate <= count.high)
    assert not set(FIGURES) & set(pooled.FIGURES) or all(pooled.FIGURES[f] is FIGURES[f] for f in FIGURES)
    with pytest.raises(LookupError, match="the whole difference is undecided .* a share of nothing is noise"):
        FIGURES["share_of_gain"](undecided, where | {"transition": "gained"}, DRAWS, 0)
    with pytest.raises(LookupError, match="no question has f1 under both new and nobody"):
        FIGURES["share_of_gain"](df, where | {"control": "nobody", "transition": "gained"}, DRAWS, 0)
