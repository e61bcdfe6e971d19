"""The nested protocol: what it may see, fixed policies, refusals, thresholds against brute force, and the planted leaks (SPEC 12)."""
import numpy as np
import pandas as pd
import pytest

from lib import gating_checks, gating_nested
from lib.gating_choose import RULES, Rule, cut, everywhere
from lib.gating_inputs import permuted, question_sets, target_ranks
from lib.gating_models import Grid, fit, grid_of
from lib.gating_nested import decide, nested, outer_folds
from lib.gating_select import select
from lib.gating_simulated import Simulated, beside_truth, simulated

LR = Grid(("lr",), (0, 4))


def sets_of(s: Simulated, fit=True, **changed):
    s = s._replace(**changed)
    return question_sets(s.lists, s.targets, s.questions, s.vectors, s.fit_distilled if fit else None)[0]


WORLD = simulated(120, seed=5)


@pytest.fixture(scope="module")
def run():
    return nested(sets_of(WORLD), grid=LR)


# --- thresholds ---------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", [Rule("c", "coverage", 4.0), Rule("c", "coverage", 0.0), Rule("b", "budget", 5.0)])
def test_the_threshold_skips_most_among_all_that_keep_the_rule(seed, rule):
    rng = np.random.default_rng(seed)
    p, fallback, rerank = rng.integers(0, 9, 40) / 10, rng.random(40) < 0.5, rng.random(40) < 0.6
    best = 0.0
    for t in np.unique(p):
        skip = p <= t
        lost = 100 * ((rerank & ~fallback & skip).sum() - (fallback & ~rerank & skip).sum()) / 40 if rule.kind == "coverage" else 100 * p[skip].sum() / 40
        best = max(best, skip.mean() if lost <= rule.points + 1e-9 else 0.0)
    found = cut(p, fallback, rerank, rule)
    assert found.skip == pytest.approx(best) and (p <= found.threshold).mean() == found.skip


def test_exactly_one_point_is_allowed_and_one_question_more_is_not():
    p, rerank = np.arange(400) / 1000, np.ones(400, bool)
    harmed = np.zeros(400, bool)
    harmed[:5] = True  # the five surest questions are harmed: 4 of 400 is one point
    assert cut(p, ~harmed, rerank, Rule("c", "coverage", 1.0)).harmful == 4
    assert everywhere(~harmed, rerank, Rule("c", "coverage", 1.25)).skip == 1 and everywhere(~harmed, rerank, Rule("c", "coverage", 1.2499)).skip == 0


def test_equal_chances_are_skipped_together_or_not_at_all():
    fallback, rerank = np.array([True, True, True, False]), np.array([True, True, True, True])
    assert cut(np.full(4, 0.2), fallback, rerank, Rule("c", "coverage", 1.0)).skip == 0
    assert cut(np.array([0.2, 0.2, 0.2, 0.3]), fallback, rerank, Rule("c", "coverage", 1.0)).skip == 0.75


# --- what every run must keep -----------------------------------------------------------------------------------------------------------------

def test_every_choice_keeps_its_rule_in_the_training_fold_and_is_the_best_of_those_tried(run):
    points = {r.name: r for r in RULES}
    for c in run.choices.itertuples():
        rule = points[c.rule]
        assert (c.inner_delta if rule.kind == "coverage" else -c.inner_expected) >= -rule.points - 1e-9
    tried = run.tried[run.tried["available"]].groupby(["dataset", "k", "rule", "fold"])["inner_skip"].max()
    assert tried.to_numpy() == pytest.approx(run.choices.set_index(["dataset", "k", "rule", "fold"]).loc[tried.index, "inner_skip"].to_numpy())


def test_a_question_is_skipped_where_its_chance_is_at_most_the_threshold_of_its_fold(run):
    rows = run.decisions.merge(run.choices[["k", "rule", "fold", "threshold", "model"]], on=["k", "rule", "fold"])
    learned = rows[rows["model"] == "lr"]
    assert len(learned) > 300 and (learned["skip"] == (learned["p_harm"] <= learned["threshold"])).all()
    assert (rows["skip"].groupby([rows["k"], rows["rule"]]).sum() > 0).any()


def test_hits_are_those_of_the_lists(run):
    first = WORLD.lists.merge(WORLD.targets[["qid", "doc_id"]].rename(columns={"doc_id": "target"}), on="qid").query("doc_id == target")
    for k, part in run.decisions[run.decisions["rule"] == "coverage"].groupby("k"):
        for name, column in (("H", "h_hit"), ("R", "rerank_hit")):
            covered = set(first.loc[(first["list"] == name) & (first["rank"] <= k), "qid"])
            assert (part[column].to_numpy() == part["qid"].isin(covered).to_numpy()).all()


def test_each_question_is_held_out_once_and_folds_differ_by_one_at_most(run):
    counts = run.decisions.groupby(["k", "rule"])["qid"]
    assert (counts.nunique() == 120).all() and (counts.size() == 120).all()
    assert run.choices.groupby("fold")["n_test"].first().tolist() == [24] * 5


def test_neither_row_order_nor_workers_change_a_number(run):
    order = np.random.default_rng(1).permutation(120)
    mixed = WORLD._replace(lists=WORLD.lists.sample(frac=1, random_state=2), questions=WORLD.questions.iloc[order], vectors=WORLD.vectors[order])
    again = nested(sets_of(mixed), ks=(5,), grid=LR, jobs=2)
    for one, other in zip(run, again):  # nor do the other K
        pd.testing.assert_frame_equal(one[one["k"] == 5].reset_index(drop=True), other)


# --- no label of a held-out question is seen --------------------------------------------------------------------------------------------------

def train_on_all(data, train, test):
    """A planted leak: the gate is learned from the held-out questions too."""
    return decide(data, select(data, np.arange(len(data.qids)), (5,), RULES[:1], LR)[0], train, test)


def test_exchanged_held_out_labels_move_no_decision_and_planted_leaks_are_caught():
    honest = gating_checks.protocol((1, 5), RULES[:2], LR._replace(pcas=(4,)))
    deciders = {"protocol": honest, "oracle fallback": gating_checks.oracle_fallback(honest), "trained on all": train_on_all}
    found = gating_checks.leak_table(sets_of(WORLD), deciders, "sample", folds=2)
    assert (found["labels_moved"] > 5).all()
    caught = found.groupby("decider")["caught"].agg(lambda rows: (rows.all(), rows.any())).to_dict()
    assert caught == {"protocol": (False, False), "oracle fallback": (True, True), "trained on all": (True, True)}
    assert (found.loc[found["decider"] == "oracle fallback", "fallback_moved"] > 0).all()


def test_permuted_changes_the_labels_of_held_out_questions_alone():
    data = sets_of(WORLD)[0]
    test = outer_folds(data)[0][2]
    other, rest = permuted(data, test), np.setdiff1d(np.arange(120), test)
    assert (other.ranks["R"][rest] == data.ranks["R"][rest]).all() and sorted(other.ranks["R"][test]) == sorted(data.ranks["R"][test])
    assert (other.ranks["R"][test] != data.ranks["R"][test]).any() and other.features is data.features


def test_the_list_d_is_never_learned_from_the_questions_it_ranks():
    calls = []

    def fit(dataset, train, ahead):
        calls.append((set(train), set(ahead)))
        return WORLD.fit_distilled(dataset, train, ahead)

    sets = sets_of(WORLD, fit_distilled=fit)
    nested(sets, ks=(5,), rules=RULES[:1], grid=Grid((), ()))
    held_out = [set(sets[0].qids[test]) for _, _, test in outer_folds(sets[0])]
    assert len(calls) == 5 * (3 + 1) and not any(train & ahead for train, ahead in calls)
    for i, test in enumerate(held_out):  # the calls of one outer fold come together
        assert not any(train & test for train, _ in calls[4 * i : 4 * i + 4])


# --- fixed policies and refusals --------------------------------------------------------------------------------------------------------------

ANY = [Rule("anything goes", "coverage", 100.0), Rule("any budget", "budget", 100.0)]


@pytest.mark.parametrize("fallback", ["H", "D"])
def test_always_is_the_fallback_and_never_is_the_reranker(fallback):
    always = nested(sets_of(WORLD), rules=ANY, grid=Grid((), (), fallbacks=(fallback,), constants=("always",))).decisions
    never = nested(sets_of(WORLD), rules=ANY, grid=Grid((), (), constants=("never",)))
    assert always["skip"].all() and (always["fallback"] == fallback).all()
    assert not never.decisions["skip"].any() and (never.choices["model"] == "never").all()
    rate = (always["rerank_hit"] & (always["h_hit" if fallback == "H" else "d_hit"] != 1)).groupby(always["k"]).mean()
    assert always.groupby("k")["p_harm"].mean().to_numpy() == pytest.approx(rate.to_numpy(), abs=0.01)  # the training folds' rates of harm


def test_a_fold_without_a_harmful_question_refuses_to_skip():
    same = pd.concat([WORLD.lists[WORLD.lists["list"] != "R"], WORLD.lists[WORLD.lists["list"] == "H"].assign(list="R")])
    run = nested(sets_of(WORLD, fit=False, lists=same), grid=LR)
    assert (run.choices["model"] == "refused").all() and not run.decisions["skip"].any()
    assert run.decisions["p_harm"].isna().all() and (run.decisions["fallback"] == "none").all()
    assert not run.tried.loc[run.tried["model"] != "never", "available"].any()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_a_handful_of_questions_is_no_crash(n):
    run = nested(sets_of(simulated(n, seed=1)), grid=LR)
    assert len(run.decisions) == n * 3 * 4 and run.choices["n_train"].max() <= max(0, n - 1)


def test_without_d_or_vectors_h_is_the_only_fallback():
    s = simulated(60, seed=1)
    run = nested(question_sets(s.lists, s.targets, s.questions)[0], ks=(5,), grid=LR)
    assert set(run.decisions["fallback"]) <= {"H", "none"} and run.decisions["d_hit"].isna().all() and set(run.tried["pca"]) == {0}


def test_no_questions_give_empty_tables():
    run = nested([], grid=LR)
    assert [list(t) for t in run] == [gating_nested.DECISIONS, gating_nested.CHOICES, gating_nested.TRIED] and not any(map(len, run))


@pytest.mark.parametrize("changed", [dict(ks=(0,)), dict(rules=[]), dict(rules=[RULES[0], RULES[0]]), dict(rules=[Rule("x", "luck", 1.0)]), dict(outer=1),
                                     dict(grid=LR._replace(models=("svm",))), dict(rules=[Rule("x", "budget", -1.0)])])
def test_what_no_run_can_use_is_refused_before_anything_is_fitted(changed):
    with pytest.raises(ValueError):
        nested([], **dict(grid=LR) | changed)


def test_a_grid_by_another_name_is_an_error():
    assert grid_of("small").models == ("lr", "gbm")
    with pytest.raises(ValueError, match="full or small"):
        grid_of("huge")


@pytest.mark.parametrize("model", ["lr", "rf", "gbm"])
def test_every_model_of_the_grid_learns_what_can_be_learned_and_is_seeded(model):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x[:, 0] > 0
    one, other = (fit(model, x, y, seed=1).predict_proba(x)[:, 1] for _ in range(2))
    assert (one == other).all() and one[y].mean() > 0.8 > 0.2 > one[~y].mean()


# --- inputs ---------------------------------------------------------------------------------------------------------------------------------

def test_title_and_passage_targets_part_and_what_lacks_a_list_is_counted():
    lists = pd.DataFrame([("s", q, name, r, f"{q}{r}", "T" if r == 1 else "U", 1.0 / r) for q in "ab" for name in "HVR" for r in (1, 2)],
                         columns=["dataset", "qid", "list", "rank", "doc_id", "title", "score"])
    targets = pd.DataFrame({"dataset": "s", "qid": ["a", "c"], "doc_id": ["a2", "c9"], "title": ["T", "T"]})
    questions = pd.DataFrame({"dataset": "s", "qid": list("abc"), "question": "Who?"})
    by_passage, left = question_sets(lists, targets, questions)
    by_title, _ = question_sets(lists, targets, questions, unit="title")
    assert by_passage[0].ranks["H"].tolist() == [2] and by_title[0].ranks["H"].tolist() == [1]
    assert left.to_numpy().tolist() == [["s", "no last hop", 1], ["s", "no list H", 1]]
    with pytest.raises(ValueError, match="learned inside"):
        question_sets(lists.assign(list="D"), targets, questions)
    with pytest.raises(ValueError, match="vectors"):
        question_sets(lists, targets, questions, np.zeros((2, 4)))


def test_a_target_that_is_nowhere_has_an_infinite_rank():
    assert target_ranks(WORLD.lists.head(0), WORLD.targets.set_index("qid")["doc_id"], WORLD.questions["qid"]).tolist() == [np.inf] * 120


def test_simulated_harm_comes_true():
    s = simulated(1500, seed=9)
    ranks = sets_of(s, fit=False)[0].ranks
    for k, truth in s.truth.groupby("k"):
        harm, gain = (ranks["R"] <= k) & (ranks["H"] > k), (ranks["R"] > k) & (ranks["H"] <= k)
        for seen, told in ((harm, truth["p_harm"]), (gain, truth["p_beneficial"])):
            assert seen.mean() == pytest.approx(told.mean(), abs=4 * (told * (1 - told)).mean() ** 0.5 / 1500**0.5)


def test_the_truth_is_that_of_the_questions_a_learned_gate_picks():
    """Nothing a gate sees may tell more of the target than the ease does: the harm of its skips is then the harm written down for them."""
    s = simulated(3000, seed=4)
    found = beside_truth(nested(sets_of(s, fit=False), grid=LR).decisions, s.truth)
    skipped = found[found["skip"] > 0]
    assert len(skipped) > 8
    for realised, true in ((skipped["realised"], skipped["true"]), (skipped["delta"] + skipped["realised"], skipped["true_delta"] + skipped["true"])):
        spread = 100 * (true.clip(lower=0.05) / 100 / skipped["n"]) ** 0.5
        assert ((realised - true).abs() < 4 * spread).all(), (realised - true) / spread


def test_known_truth_lies_beside_promise_and_outcome():
    s = simulated(4000, seed=2)
    ranks = sets_of(s, fit=False)[0].ranks
    decisions = pd.concat([pd.DataFrame({"dataset": "simulated", "qid": s.questions["qid"], "k": k, "rule": "half", "p_harm": 0.1, "fallback": "H",
                                         "skip": np.arange(4000) % 2 == 0, "rerank_hit": ranks["R"] <= k, "h_hit": ranks["H"] <= k}) for k in (1, 5)])
    found = beside_truth(decisions, s.truth).set_index("k")
    assert found["skip"].tolist() == [0.5, 0.5] and found["expected"].tolist() == pytest.approx([5, 5]) and found["n"].tolist() == [4000, 4000]
    assert found["realised"].to_numpy() == pytest.approx(found["true"].to_numpy(), abs=2)
    assert found["delta"].to_numpy() == pytest.approx(found["true_delta"].to_numpy(), abs=2)
    with pytest.raises(ValueError, match="fallback H alone"):
        beside_truth(decisions.assign(fallback="D"), s.truth)
