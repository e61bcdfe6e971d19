"""Headroom: by hand, against the oracle of the outcomes table, and with the choice of the best fixed packer made on the other half."""
import numpy as np
import pandas as pd
import pytest

from lib import diagnostics, pooled, summaries, tables
from lib.headroom import headroom

DRAWS = 300
PANEL = {"dataset": "d", "pack_id": "p", "budget": 160, "reader": "r", "precision": "fp32"}
POLICIES = ("naive", "focused", "submod")


def rows(f1, **columns):
    """Outcome rows from {policy: F1 a question}; even questions in half 0."""
    n = len(next(iter(f1.values())))
    out = pd.concat([pd.DataFrame({"qid": [f"q{i:03d}" for i in range(n)], "policy": p, "f1": np.asarray(v, float)}) for p, v in f1.items()], ignore_index=True)
    return out.assign(**PANEL, half=out["qid"].str[1:].astype(int) % 2, em=(out["f1"] == 1).astype(float), **columns)


def random(seed=0, n=40, policies=POLICIES):
    rng = np.random.default_rng(seed)
    return rows({p: rng.integers(0, 3, n) / 2 for p in policies})


def values(df, half="all", outcome="f1", picks=None):
    found = headroom(df, "t", picks, resamples=DRAWS)
    assert len(tables.check(found, "headroom")) == len(found)
    return found[(found["half"] == half) & (found["outcome"] == outcome)].set_index(["policy", "quantity"])


def test_four_questions_by_hand():
    found = values(rows({"naive": [1, 0, 0.5, 0], "focused": [1, 0.5, 0, 0], "submod": [0.5, 1, 0, 0]}))
    assert found["estimate"].to_dict() == {
        ("naive", "mean"): 0.375, ("naive", "best_or_tied"): 0.75, ("naive", "strictly_best"): 0.25,
        ("focused", "mean"): 0.375, ("focused", "best_or_tied"): 0.5, ("focused", "strictly_best"): 0,
        ("submod", "mean"): 0.375, ("submod", "best_or_tied"): 0.5, ("submod", "strictly_best"): 0.25,
        ("best_fixed", "mean"): 0.375, ("oracle", "mean"): 0.625, ("oracle", "minus_best_fixed"): 0.25}
    assert found.loc[("best_fixed", "mean"), "chosen"] == "naive"  # a tie: the one named first


@pytest.mark.parametrize("types", [{}, {"f1": "Float64", "em": "Float64", "half": "Int64", "qid": "string", "policy": "string"}])
def test_agrees_with_the_tables_beside_it(types):
    df = random().astype(types)
    found, where = values(df), {"measure": "f1", "policy": "submod"}
    best = diagnostics.oracle(df, list(POLICIES))
    assert found.loc[("oracle", "mean"), "estimate"] == pytest.approx(best["f1"].astype(float).mean())
    share = pooled.best_or_tied(df, where, DRAWS, 0)
    assert found.loc[("submod", "best_or_tied"), ["estimate", "ci_low", "ci_high", "n"]].tolist() == pytest.approx([share.estimate, share.low, share.high, share.n])
    means = summaries.means(df.assign(answer_defined=True, answer_in_context=1), ["f1"], "t", DRAWS)
    for policy in POLICIES:
        row = means[(means["policy"] == policy) & (means["half"] == "all")].iloc[0]
        assert found.loc[(policy, "mean"), ["estimate", "ci_low", "ci_high"]].tolist() == pytest.approx(row[["estimate", "ci_low", "ci_high"]].tolist())


@pytest.mark.parametrize("seed", range(3))
def test_what_always_holds(seed):
    for half in ("all", "0", "1"):
        found = values(random(seed), half)["estimate"]
        assert found["oracle", "mean"] >= found["best_fixed", "mean"] == max(found[p, "mean"] for p in POLICIES)
        assert found["oracle", "minus_best_fixed"] == pytest.approx(found["oracle", "mean"] - found["best_fixed", "mean"])
        assert all(found[p, "strictly_best"] <= found[p, "best_or_tied"] for p in POLICIES)
        assert sum(found[p, "strictly_best"] for p in POLICIES) <= 1 <= sum(found[p, "best_or_tied"] for p in POLICIES)


def test_the_best_fixed_packer_is_also_chosen_on_half_0_and_judged_on_half_1():
    df = rows({"naive": [1, 0] * 20, "submod": [0.5, 0.5] * 20})  # naive leads on half 0, submod on half 1
    found = headroom(df, "t", resamples=DRAWS).query("outcome == 'f1'")
    fixed = found[found["policy"] == "best_fixed"].set_index(["half", "quantity"])
    assert fixed.loc[("1", "mean"), ["chosen", "estimate"]].tolist() == ["submod", 0.5]
    assert fixed.loc[("1", "mean_chosen_on_half_0"), ["chosen", "estimate"]].tolist() == ["naive", 0.0]
    assert set(fixed.index) == {("all", "mean"), ("0", "mean"), ("1", "mean"), ("1", "mean_chosen_on_half_0")}


def test_policies_that_are_one_leave_no_headroom():
    same = random()[lambda d: d["policy"] == "naive"]
    found = values(pd.concat([same, same.assign(policy="submod")]))
    assert not found.loc[("oracle", "minus_best_fixed"), ["estimate", "ci_low", "ci_high"]].any()
    assert (found.xs("best_or_tied", level="quantity")["estimate"] == 1).all() and not found.xs("strictly_best", level="quantity")["estimate"].any()


def test_only_questions_that_all_packers_answered_and_no_reference_arm():
    df = random()
    df.loc[(df["policy"] == "naive") & (df["qid"] == "q005"), ["f1", "em"]] = np.nan
    arms = [random(5).assign(policy=p, **more).drop_duplicates("qid") for p, more in (("gold", {}), ("oracle", {}), ("topk", {}), ("closed_book", {"pack_id": "none", "budget": 0}))]
    found = values(pd.concat([df, *arms]))
    assert set(found["n"]) == {39} and set(found.index.get_level_values("policy")) == {*POLICIES, "best_fixed", "oracle"}


def picks(df, pick, fixed, selector="selector"):
    qids = sorted(set(df["qid"]))
    return pd.DataFrame({"qid": qids, "pick": pick, "fixed": fixed}).assign(**PANEL, outcome="f1", selector=selector)


def test_a_selector_is_measured_against_what_was_best_where_it_was_trained():
    df = rows({"naive": [1, 0] * 20, "submod": [0.4, 0.4] * 20})
    knows = picks(df, ["naive", "submod"] * 20, ["naive"] * 20 + ["submod"] * 20)
    found = values(df, picks=pd.concat([knows, picks(df, "submod", "submod", "selector_eager")]))["estimate"]
    assert found["selector", "mean"] == pytest.approx(found["oracle", "mean"]) == pytest.approx(0.7)
    assert found["best_fixed", "mean_chosen_in_training"] == pytest.approx(0.45) == pytest.approx(found["selector", "mean"] - found["selector", "minus_best_fixed"])
    assert (found["selector", "as_best_fixed"], found["selector", "picks_naive"]) == (0.5, 0.5)
    assert (found["selector_eager", "minus_best_fixed"], found["selector_eager", "as_best_fixed"]) == (0, 1)
    assert ("selector", "mean") not in values(df, outcome="em", picks=knows).index  # picks for f1 say nothing of em


def test_order_changes_nothing_and_degenerate_input_is_no_crash():
    df = random()
    pd.testing.assert_frame_equal(*(headroom(d, "t", resamples=DRAWS) for d in (df, df.sample(frac=1, random_state=3))))
    assert headroom(df.iloc[:0], "t").empty and headroom(df.assign(reader="none"), "t").empty and headroom(df.assign(f1=np.nan, em=np.nan), "t").empty
    assert values(df[df["qid"] == "q000"])["ci_low"].isna().all()
    alone = values(df[df["policy"] == "naive"])["estimate"]
    assert alone["oracle", "minus_best_fixed"] == 0 and alone["naive", "best_or_tied"] == 1
