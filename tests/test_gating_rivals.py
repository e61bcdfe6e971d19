"""Rival gates: the protocol holds for them too, thresholds are those of their statistic, fixed policies, the random gate, and Table 5 (document 002)."""
import numpy as np
import pandas as pd
import pytest

from lib import gating_curves, gating_rivals, tables
from lib.declarations_gating_more import GATING_MORE
from lib.gate import random_gate_delta
from lib.gating_choose import RULES, Rule
from lib.gating_features import NAMES
from lib.gating_harm import harm_table, reliability
from lib.gating_inputs import permuted, question_sets
from lib.gating_models import Grid
from lib.gating_nested import CHOICES, DECISIONS, nested, outer_folds
from lib.gating_outcomes import outcomes
from lib.gating_rivals import SIX, certainty, commitment, feature, one_threshold, rivals, statistics
from lib.gating_rivals_table import WIDE, baselines, fixed, matched_random, oracle_skips, rivals_table
from lib.gating_simulated import simulated

REFERENCE = tables.ROOT.parent / "shared" / "reference"
WORLD = simulated(120, seed=5)
SETS = question_sets(*WORLD[:5])[0]
GAP = feature("h_gap_1_2")


@pytest.fixture(scope="module")
def runs():
    made = {"learned": nested(SETS, grid=Grid(("lr",), (0,))), **rivals(SETS, statistics(WORLD.lists))}
    decisions = {name: run.decisions for name, run in made.items()}
    return decisions | fixed(decisions["learned"]), made


@pytest.fixture
def declared(monkeypatch):
    for name, spec in GATING_MORE.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


# --- one threshold ------------------------------------------------------------------------------------------------------------------------

def test_a_statistic_skips_where_it_is_at_least_some_threshold_of_its_fold():
    run = one_threshold(SETS, GAP)
    told = pd.Series(GAP(SETS[0]), SETS[0].qids)
    for _, part in run.decisions.groupby(["k", "rule", "fold"]):
        skip, value = part["skip"].to_numpy(), told[part["qid"]].to_numpy()
        assert not skip.any() or skip.all() or value[skip].min() > value[~skip].max()
    assert run.decisions["skip"].any() and list(run.decisions) == DECISIONS and list(run.choices) == CHOICES


def test_the_threshold_skips_most_of_the_training_fold_within_the_rule():
    rule = Rule("c", "coverage", 2.0)
    told, ranks = GAP(SETS[0]), SETS[0].ranks
    h_only = question_sets(*WORLD[:4])[0]
    log = one_threshold(h_only, GAP, (5,), [rule]).choices.set_index("fold")
    for fold, train, _ in outer_folds(SETS[0]):
        change = (ranks["H"][train] <= 5).astype(int) - (ranks["R"][train] <= 5)
        best = max((told[train] >= t).mean() for t in [*told[train], np.inf] if 100 * change[told[train] >= t].sum() / len(train) >= -2)
        assert log.loc[fold, "inner_skip"] == pytest.approx(best)


def test_a_statistic_that_runs_backwards_is_given_one_chance_and_no_order():
    run = one_threshold(question_sets(*WORLD[:4])[0], lambda data: -GAP(data), (5,), RULES[:1])
    assert run.decisions.groupby("fold")["p_harm"].nunique().max() == 1 and not run.decisions["skip"].any()


def test_exchanged_held_out_labels_move_no_rival():
    data = SETS[0]
    for fold, _, test in outer_folds(data)[:2]:
        other = permuted(data, test)
        for name, statistic in statistics(WORLD.lists).items():
            before, after = (one_threshold([d], statistic, (5,), RULES[:2]).decisions for d in (data, other))
            before, after = (made[made["fold"] == fold] for made in (before, after))
            assert (before["rerank_hit"].to_numpy() != after["rerank_hit"].to_numpy()).any()
            assert (before[["skip", "fallback", "p_harm"]].to_numpy() == after[["skip", "fallback", "p_harm"]].to_numpy()).all(), name


def test_degenerate_sets_and_statistics():
    few = question_sets(*simulated(2, seed=1)[:5])[0]
    assert len(one_threshold(few, GAP).decisions) == 2 * 3 * 4 and one_threshold([], GAP).decisions.empty
    flat = one_threshold(SETS, lambda data: np.zeros(len(data.qids)), (5,), RULES[:1])
    assert not flat.decisions["skip"].any()
    with pytest.raises(ValueError, match="finite"):
        one_threshold(SETS, lambda data: np.full(len(data.qids), np.nan))
    with pytest.raises(ValueError, match="a feature is one of"):
        feature("h_gap")


def test_certainty_by_hand_and_whatever_the_unit():
    rows = [("s", q, "H", r + 1, s) for q, scores in (("flat", (1.0, 1.0)), ("two", (3.0, 1.0)), ("one", (5.0,))) for r, s in enumerate(scores)]
    lists = pd.DataFrame(rows, columns=["dataset", "qid", "list", "rank", "score"])
    data = SETS[0]._replace(dataset="s", qids=np.array(["flat", "two", "one", "none"]))
    share = np.e / (np.e + 1 / np.e)
    two = 1 + (share * np.log(share) + (1 - share) * np.log(1 - share)) / np.log(2)
    assert certainty(lists)(data) == pytest.approx([0, two, 0, 0])
    assert certainty(lists.assign(score=10 * lists["score"] - 3))(data) == pytest.approx([0, two, 0, 0])


def test_commitment_and_the_six():
    data = SETS[0]
    assert commitment(data) == pytest.approx(data.features[:, NAMES.index("h_std")] / data.features[:, NAMES.index("h_mean")])
    assert commitment(data._replace(features=np.zeros((2, 27)))).tolist() == [0, 0]
    assert len(set(SIX)) == 6 and gating_rivals.six_features(data).features.shape == (120, 6)


# --- fixed, random, oracle ------------------------------------------------------------------------------------------------------------------

def test_the_random_gate_in_closed_form_equals_a_hundred_thousand_draws(runs):
    found = outcomes(runs[0]["learned"])
    part = found[(found["k"] == 5) & (found["rule"] == "coverage")]
    rng, total = np.random.default_rng(0), np.zeros(100_000)
    for _, fold in part.groupby("fold"):  # as many as the fold skipped, drawn at random
        change = fold["fallback_hit"].astype(int).to_numpy() - fold["rerank_hit"].astype(int).to_numpy()
        up, down, n = int((change > 0).sum()), int((change < 0).sum()), len(change)
        drawn = rng.multivariate_hypergeometric([up, down, n - up - down], int(fold["skip"].sum()), size=100_000)
        total += drawn[:, 0] - drawn[:, 1]
    values = 100 * total / len(part)
    closed = matched_random(part)
    assert closed < -1 and abs(values.mean() - closed) < 4 * values.std() / 100_000**0.5 + 1e-9
    # and the definition, fold by fold
    parts = [(f["skip"].mean(), f["fallback_hit"].mean(), f["rerank_hit"].mean(), len(f)) for _, f in part.groupby("fold")]
    assert closed == pytest.approx(100 * random_gate_delta(*map(list, zip(*parts))))


def test_fixed_policies_are_the_lists_themselves(runs):
    table = rivals_table(runs[0], "sample", resamples=50).set_index(["gate", "k"])
    ranks = SETS[0].ranks
    for k in (1, 5, 10):
        h, r = (ranks["H"] <= k).mean(), (ranks["R"] <= k).mean()
        assert table.loc[("always H", k), "gated"].item() == h and table.loc[("always H", k), "over_random"].item() == pytest.approx(0)
        assert table.loc[("always rerank", k), ["gated", "delta", "skip"]].to_numpy(float).tolist() == [r, 0, 0]
    best = table.loc["best fixed"]
    assert set(best["skip"]) <= {0.0} and len(table.loc["always D"]) == 3


def test_oracle_skips_by_hand_and_missing_d():
    rows = [("s", q, 5, r, h, d) for q, r, h, d in (("a", True, True, 0.0), ("b", True, False, 1.0), ("c", False, True, 0.0), ("d", True, False, 0.0))]
    made = pd.DataFrame(rows, columns=["dataset", "qid", "k", "rerank_hit", "h_hit", "d_hit"])
    got = oracle_skips(made).iloc[0]
    assert got[["oracle_skip_h", "oracle_skip_d", "always_h_delta", "always_d_delta"]].tolist() == [0.5, 0.5, -25, -50]
    assert oracle_skips(made.assign(d_hit=np.nan))[["oracle_skip_d", "always_d_delta"]].isna().all(axis=None)
    decisions = made.assign(rule="r", fold=0, p_harm=0.1, p_raw=0.1, skip=False, fallback="H")
    assert set(fixed(decisions.assign(d_hit=np.nan))) == {"always H", "always rerank"}


def test_every_table_of_the_learned_gate_takes_a_rival(runs, declared):
    rivals_ = runs[1]["score gap"].decisions
    harms = harm_table(rivals_, RULES, "sample", resamples=50)
    assert (harms["realised"] >= 0).all() and len(reliability(rivals_, "sample", resamples=50)) == 80
    table = rivals_table(runs[0], "sample", resamples=50)
    wide = baselines(table, runs[0]["learned"])
    tables.check(table, "gating_rivals"), tables.check(wide, "gating_baselines")
    assert list(wide) == WIDE and len(wide) == 12 and (wide["fixed_delta"] == 0).all()
    key = (wide["k"] == 5) & (wide["rule"] == "coverage")
    gap = table[(table["gate"] == "score gap") & (table["k"] == 5) & (table["rule"] == "coverage")]
    assert wide.loc[key, "gap_delta"].tolist() == gap["delta"].tolist()
    with pytest.raises(ValueError, match="best fixed"):
        baselines(table[table["gate"] != "best fixed"], runs[0]["learned"])


def test_published_baselines_agree_with_each_other():
    path = REFERENCE / "gating_coverage_rule.csv"
    if not path.exists():
        pytest.skip("the reference tables (../shared/reference) are not on this machine")
    always = pd.read_csv(REFERENCE / "gating_always_rerank.csv", comment="#").set_index(["dataset", "k"])
    sizes = {"2Wiki": 491, "MuSiQue": 514}
    for r in pd.read_csv(path, comment="#").dropna(subset=["oracle_skip_h"]).itertuples():
        a = always.loc[(r.dataset, r.k)]
        assert 100 * (1 - a["wins"] / sizes[r.dataset]) == pytest.approx(r.oracle_skip_h, abs=0.51) and r.always_h_delta == -a["delta_pp"]
        fallbacks = [getattr(r, f"always_{f.lower()}_delta") for f in r.fallback.split("/")]
        low, high = sorted(r.skip_pct * f / 100 for f in (min(fallbacks), max(fallbacks)))
        # between its fallbacks, and a little beyond: a fold that skips more with the worse fallback weighs more
        assert low - 0.6 <= r.random_delta <= high + 0.6


# --- decision curves -------------------------------------------------------------------------------------------------------------------------

def test_curves_start_at_nothing_and_end_at_the_fallback_between_random_and_oracle(runs, declared):
    mine = {name: runs[0][name] for name in ("learned", "score gap", "six features")}
    curves = gating_curves.decision_curves(mine, "sample", 5, "coverage", resamples=50)
    tables.check(curves, "gating_curves")
    wide = curves.pivot(index="skip", columns="gate", values="delta")
    assert (wide.loc[0] == 0).all() and wide.loc[1, ["learned", "random"]].tolist() == pytest.approx([wide.loc[1, "oracle"]] * 2)
    assert np.diff(wide["random"], 2) == pytest.approx(0, abs=1e-9)
    assert (wide["oracle"] >= wide["learned"] - 1e-9).all() and (np.diff(wide["oracle"], 2) <= 1e-9).all()


def test_a_curve_by_brute_force_and_a_gate_that_knows_nothing():
    rng = np.random.default_rng(3)
    found = pd.DataFrame({"fold": 0, "fallback_hit": rng.random(20) < 0.5, "rerank_hit": rng.random(20) < 0.7})
    order = rng.permutation(20).astype(float)
    change = found["fallback_hit"].to_numpy(int) - found["rerank_hit"].to_numpy(int)
    made = gating_curves.skipped_changes(found, order, (0.0, 0.25, 1.0)).sum(axis=0)
    assert made.tolist() == pytest.approx([0, 100 * change[np.argsort(order)][:5].sum(), 100 * change.sum()])
    for nothing in (np.full(20, 0.3), np.full(20, np.nan)):
        assert gating_curves.skipped_changes(found, nothing, (0.25,)).sum() == pytest.approx(25 * change.sum())


def test_the_areas_of_oracle_and_coin_are_one_and_zero(runs, declared):
    known = runs[0]["learned"].query("k == 5 and rule == 'coverage'")
    truth = outcomes(known)
    best = known.assign(p_harm=(truth["rerank_hit"].astype(float) - truth["fallback_hit"].astype(float) + 1) / 2)
    areas = gating_curves.areas({"best": best, "worst": best.assign(p_harm=1 - best["p_harm"]), "coin": known.assign(p_harm=0.1), "learned": known},
                                "sample", 5, "coverage", resamples=50)
    tables.check(areas, "gating_areas")
    got = areas.set_index("gate")["knows"]
    assert (got["best"], got["coin"]) == (pytest.approx(1), pytest.approx(0)) and got["worst"] < -0.3 < got["learned"] < 1
