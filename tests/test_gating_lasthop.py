"""LastHop@K curves, smallest K, larger pools and replayed F1: against the decisions themselves, by hand, and against document 002's own numbers."""
import numpy as np
import pandas as pd
import pytest

from lib import stats, tables
from lib.declarations_gating_more import GATING_MORE
from lib.gating_choose import RULES
from lib.gating_inputs import question_sets
from lib.gating_lasthop import gated_ranks, lasthop_curves, pool_expansion, replayed, smallest_k
from lib.gating_models import Grid
from lib.gating_nested import nested
from lib.gating_outcomes import outcomes
from lib.gating_simulated import simulated

REFERENCE = tables.ROOT.parent / "shared" / "reference"


@pytest.fixture
def declared(monkeypatch):
    for name, spec in GATING_MORE.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


@pytest.fixture(scope="module")
def world():
    sets = question_sets(*simulated(120, seed=6)[:5])[0]
    return sets, nested(sets, rules=RULES[:1], grid=Grid(("lr",), (0,)), seed=3).decisions


def reference(name):
    path = REFERENCE / f"gating_{name}.csv"
    if not path.exists():
        pytest.skip("the reference tables (../shared/reference) are not on this machine")
    return pd.read_csv(path, comment="#")


@pytest.mark.parametrize("k", [1, 5, 10])
def test_at_its_own_k_the_gated_curve_is_the_cell(world, declared, k):
    sets, decisions = world
    ranks = gated_ranks(sets, decisions, k, "coverage", seed=3)
    curves = lasthop_curves(ranks, "sample", resamples=50)
    tables.check(curves, "gating_lasthop")
    at = curves[curves["k"] == k].set_index("pipeline")["coverage"]
    found = outcomes(decisions[decisions["k"] == k])
    assert at.pop("V") == pytest.approx(np.mean(np.concatenate([d.ranks["V"] for d in sets]) <= k))
    assert at.to_dict() == pytest.approx({"gated": found["gated_hit"].mean(), "H": found["h_hit"].mean(), "rerank": found["rerank_hit"].mean()})
    assert (found.loc[found["skip"], "fallback"] == "D").any() or k == 1  # D learned again gives the same ranks
    assert all((np.diff(part["coverage"]) >= 0).all() for _, part in curves.groupby("pipeline"))


def test_other_folds_or_absent_decisions_are_refused(world):
    sets, decisions = world
    with pytest.raises(ValueError, match="other folds"):
        gated_ranks(sets, decisions, 5, "coverage", seed=4)
    with pytest.raises(ValueError, match="0 decisions"):
        gated_ranks(sets, decisions, 5, "budget 1", seed=3)
    assert gated_ranks([], decisions, 5, "coverage").empty


def test_the_smallest_k_of_published_curves_is_the_published_one(declared):
    for r in reference("coverage_vs_k").itertuples():
        rows = [("x", r.dataset, r.pipeline, k, getattr(r, f"k{k}"), np.nan, np.nan, 500) for k in (1, 3, 5, 7, 10)]
        curve = pd.DataFrame(rows, columns=["tier", "dataset", "pipeline", "k", "coverage", "ci_low", "ci_high", "n"])
        got = tables.check(smallest_k(curve), "gating_levels").set_index("alpha")["k"]
        for alpha, name in ((0.25, "alpha25"), (0.2, "alpha20"), (0.1, "alpha10"), (0.05, "alpha05")):
            told = getattr(r, name)
            if np.isnan(told):
                assert pd.isna(got[alpha])
            else:  # published at every k, printed at five of them: ours is the next printed one
                assert got[alpha] == min(k for k in (1, 3, 5, 7, 10) if k >= told)


def test_the_sure_k_is_never_the_smaller_one(world):
    curves = lasthop_curves(gated_ranks(world[0], world[1], 5, "coverage", seed=3), "sample", resamples=200)
    levels = smallest_k(curves, (0.5, 0.3, 0.2, 0.0)).dropna()
    assert len(levels) and (levels["k_sure"] >= levels["k"]).all() and (levels["k_sure"] > levels["k"]).any()


def test_pools_by_hand(declared):
    def pool(ranks):
        return pd.DataFrame([("s", f"q{i}", r, "gold" if r == at else f"d{r}") for i, at in enumerate(ranks) for r in (1, 2, 3)],
                            columns=["dataset", "qid", "rank", "doc_id"])

    targets = pd.DataFrame({"dataset": "s", "qid": [f"q{i}" for i in range(6)], "doc_id": "gold"})
    pools = {"2 lists": pool([1, 2, 3, 0, 0]), "3 lists": pool([1, 1, 1, 1, 0, 1])}  # q5 lacks a list in the first pool
    made = pool_expansion(pools, targets, "sample", (1, 3), resamples=50).set_index(["pool", "k"])
    tables.check(made.reset_index(), "gating_pools")
    assert made.loc[("2 lists", 1), "coverage"] == 0.2 and pd.isna(made.loc[("2 lists", 1), "delta"])
    row = made.loc[("3 lists", 1)]
    assert (row["coverage"], row["delta"], row["wins"], row["losses"], row["n"]) == (0.8, pytest.approx(60), 3, 0, 5) and row["sign_p"] == stats.sign_test(3, 0)
    assert made.loc[("3 lists", 3), "delta"] == pytest.approx(20) and row["p_holm"] == 0.5
    assert pool_expansion(pools, targets.head(1).assign(qid="other"), "sample").empty


def test_published_pools_are_within_the_sign_tests_reach():
    table = reference("pool_expansion").set_index("pool")
    deltas = table[[f"k{k}" for k in (1, 3, 5, 7, 10)]] - table.loc["2-way", [f"k{k}" for k in (1, 3, 5, 7, 10)]]
    assert 100 * deltas.min().min() == pytest.approx(-0.6, abs=0.05) and 100 * deltas.max().max() == pytest.approx(2.4, abs=0.05)
    assert round(100 * 12 / 491, 1) == 2.4  # 12 questions net: significant only with few changes the other way
    assert stats.sign_test(12, 0) < 0.001 and stats.sign_test(36, 24) > 0.12


def decided():
    rows = [("a", False, "D", 0), ("b", True, "D", 0), ("c", True, "H", 1), ("d", False, "H", 1)]
    made = pd.DataFrame(rows, columns=["qid", "skip", "fallback", "fold"])
    return made.assign(dataset="s", k=5, rule="coverage", p_harm=0.1, p_raw=0.1, rerank_hit=True, h_hit=True, d_hit=1.0)


F1 = pd.DataFrame({"dataset": "s", "qid": list("abcd"), "h": [0.0, 0.1, 0.2, 0.3], "rerank": [1.0, 0.9, 0.8, 0.7]})


def test_replayed_f1_by_hand(declared):
    row = tables.check(replayed(decided(), F1, "sample", resamples=50), "gating_replayed").iloc[0]
    assert (row["covered"], row["n"]) == (3, 4)  # b falls back on D, which nobody read
    assert [row["h"], row["rerank"], row["gated"]] == pytest.approx([0.5 / 3, 2.5 / 3, 1.9 / 3]) and row["delta"] == pytest.approx(-0.2)
    assert [row["h_all"], row["rerank_all"]] == pytest.approx([0.15, 0.85])
    with_d = replayed(decided(), F1.assign(d=0.5), "sample", resamples=50).iloc[0]
    assert with_d["covered"] == 4 and with_d["gated"] == pytest.approx((1.0 + 0.5 + 0.2 + 0.7) / 4)


def test_replayed_f1_without_answers():
    none = replayed(decided().assign(skip=True, fallback="D"), F1, "sample", resamples=50).iloc[0]
    assert none["covered"] == 0 and np.isnan(none["gated"]) and none["rerank_all"] == pytest.approx(0.85)
    assert replayed(decided(), F1.head(1).assign(qid="z"), "sample").empty and replayed(decided().assign(k=1), F1, "sample").empty
    with pytest.raises(ValueError, match="rerank"):
        replayed(decided(), F1.drop(columns="rerank"), "sample")
