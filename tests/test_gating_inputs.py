"""What the gate is given, as it may come in: ids of two kinds, missing titles, rows given twice, seeds and grids that are none; right, or one clear error."""
import numpy as np
import pandas as pd
import pytest

from lib import gating_cells, gating_checks, gating_cost, gating_curves, gating_harm, gating_lasthop, keys, whole
from lib.gating_choose import RULES, Rule
from lib.gating_conformal_check import known_scores, promises_table
from lib.gating_conformal_gates import conformal_gates
from lib.gating_features import NAMES, feature_table, features_of
from lib.gating_inputs import permuted, question_sets, target_ranks
from lib.gating_models import Grid, fit
from lib.gating_nested import nested, outer_folds
from lib.gating_optimism import optimism_table
from lib.gating_outcomes import outcomes, policies
from lib.gating_rivals import feature, one_threshold, rivals
from lib.gating_rivals_table import fixed, rivals_table
from lib.gating_select import select
from lib.gating_serving import final_gate
from lib.gating_simulated import beside_truth, simulated

LR = Grid(("lr",), (0,))
WORLD = simulated(40, seed=3)
SETS = question_sets(*WORLD[:5])[0]


@pytest.fixture(scope="module")
def run():
    return nested(SETS, ks=(5,), rules=RULES[:1], grid=LR)


def numbered(values=(7, 8, 9)):
    """Questions whose qids are numbers; the target is first in H, second in V and nowhere in R."""
    places = {"H": ("gold", "x"), "V": ("x", "gold"), "R": ("x", "y")}
    rows = [("s", q, name, rank, doc, f"T{doc}", 1.0 / rank) for q in values for name, docs in places.items() for rank, doc in enumerate(docs, 1)]
    lists = pd.DataFrame(rows, columns=["dataset", "qid", "list", "rank", "doc_id", "title", "score"])
    targets = pd.DataFrame({"dataset": "s", "qid": list(values), "doc_id": "gold", "title": "Tgold"})
    return lists, targets, pd.DataFrame({"dataset": "s", "qid": list(values), "question": "Who?"})


# --- ids ------------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [(), (0,), (1,), (2,), (0, 1, 2)])
def test_a_qid_of_7_is_that_of_the_text_7(text):
    tables = [t.assign(qid=t["qid"].astype(str)) if i in text else t for i, t in enumerate(numbered())]
    (data,), left = question_sets(*tables)
    assert data.qids.tolist() == ["7", "8", "9"] and left.empty
    assert {name: ranks.tolist() for name, ranks in data.ranks.items()} == {"H": [1.0] * 3, "V": [2.0] * 3, "R": [np.inf] * 3}


def test_documents_of_either_kind_match_too():
    found = pd.DataFrame({"qid": [7, 7, 8], "rank": [1, 2, 1], "doc_id": [10, 11, 12]})
    assert target_ranks(found, pd.Series({"7": "11", "8": "11"}), ["7", "8"]).tolist() == [2, np.inf]
    assert target_ranks(found, pd.Series({7: 11, 8: 12}), [7, 8]).tolist() == [2, 1]


def test_ids_that_could_be_two_things_are_refused():
    lists, targets, questions = numbered()
    with pytest.raises(ValueError, match=r"targets: qid 7.0 is neither text nor a whole number"):
        question_sets(lists, targets.assign(qid=[7.0, 8.0, 9.0]), questions)
    with pytest.raises(ValueError, match="questions: qid is missing in row 1 of 3"):
        question_sets(lists, targets, questions.assign(qid=[7, None, 9]))
    with pytest.raises(ValueError, match="'qid': '7'} is given twice"):
        question_sets(lists, targets, pd.concat([questions, questions.head(1).assign(qid="7")]))
    assert keys.as_text(pd.Series(["a", 3, None]), "x").tolist()[:2] == ["a", "3"]


def test_a_title_that_is_missing_matches_nothing():
    lists, targets, questions = numbered()
    lists.loc[lists["rank"] == 1, "title"] = None
    (data,), left = question_sets(lists, targets.assign(title=["Tgold", None, np.nan]), questions, unit="title")
    assert data.qids.tolist() == ["7"] and left.to_numpy().tolist() == [["s", "no last hop", 2]]
    assert data.ranks["V"].tolist() == [2] and data.ranks["H"].tolist() == [np.inf]  # gold stands first in H, under no title
    goal = pd.Series({"a": None}, dtype=object)
    assert target_ranks(pd.DataFrame({"qid": ["a"], "rank": [1], "title": [None]}), goal, ["a"], "title").tolist() == [np.inf]


def test_a_missing_title_is_a_passage_of_its_own_in_research_and_serving():
    rows = pd.DataFrame([("s", "q", name, r, f"d{r}", None if r < 3 else "T", 1.0 / r) for name in "HV" for r in (1, 2, 3)],
                        columns=["dataset", "qid", "list", "rank", "doc_id", "title", "score"])
    questions = pd.DataFrame({"dataset": ["s"], "qid": ["q"], "question": ["Who?"]})
    row = feature_table(rows, questions)[list(NAMES)].to_numpy()[0]
    alone = features_of("Who?", *([(None, 1.0), (np.nan, 1 / 2), ("T", 1 / 3)] for _ in "HV"))
    assert np.array_equal(row, alone)
    told = dict(zip(NAMES, alone))
    assert (told["h_score_1"], told["jaccard_1"], told["jaccard_3"], told["q_unique_titles"], told["h1_rank_in_v"]) == (1.0, 0.0, 0.2, 0.3, 10.0)


def test_a_data_set_without_targets_or_lists_is_counted():
    lists, targets, questions = numbered()
    other = questions.assign(dataset="t")
    asked, aims = pd.concat([questions, other]), pd.concat([targets, targets.assign(dataset="t")])
    for tables, reason in (((lists, targets, asked), "no last hop"), ((lists, aims, asked), "no list H"),
                           ((pd.concat([lists, lists[lists["list"] == "H"].assign(dataset="t")]), aims, asked), "no list V"),
                           ((pd.concat([lists, lists[lists["list"] != "R"].assign(dataset="t")]), aims, asked), "no list by the reranker")):
        sets, left = question_sets(*tables)
        assert [s.dataset for s in sets] == ["s"] and left.to_numpy().tolist() == [["t", reason, 3]]
    assert question_sets(lists, targets.head(0), questions)[1].to_numpy().tolist() == [["s", "no last hop", 3]]


def test_lists_d_that_lack_a_question_are_refused():
    lists, targets, questions = numbered()

    def by_number(dataset, train, ahead):  # knows its questions by number and is asked by text
        return pd.DataFrame({"qid": [7, 8, 9], "rank": 1, "doc_id": "gold", "title": "Tgold"}).query("qid in @ahead")

    data = question_sets(lists, targets, questions, fit_distilled=by_number)[0][0]
    with pytest.raises(ValueError, match="lists D of s lack 1 of 1 questions, '9' first"):
        data.distil(np.array([0, 1]), np.array([2]))


# --- numbers that are none ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_and_scores_that_are_not_finite_name_their_question(value):
    vectors, lists = WORLD.vectors.copy(), WORLD.lists.copy()
    vectors[7, 2] = value
    with pytest.raises(ValueError, match="question 'simulated-00007' of simulated"):
        question_sets(*WORLD[:3], vectors)
    with pytest.raises(ValueError, match="shape"):
        question_sets(*WORLD[:3], vectors[:, 0])
    lists.loc[(lists["qid"] == "simulated-00004") & (lists["list"] == "V") & (lists["rank"] == 3), "score"] = value
    if np.isnan(value):  # document 002 states 0 for a missing score
        assert question_sets(lists, *WORLD[1:3])[0][0].features[4, NAMES.index("v_std")] > 0
        return
    with pytest.raises(ValueError, match="feature v_.* of 'simulated-00004' of 'simulated' is"):
        question_sets(lists, *WORLD[1:3])
    with pytest.raises(ValueError, match="this question"):
        features_of("Who?", [("A", value)], [])


@pytest.mark.parametrize("rank", [0, -1, 1.5, np.nan])
def test_a_rank_that_is_none_is_refused(rank):
    lists, targets, questions = numbered()
    lists = lists.astype({"rank": float})
    lists.loc[0, "rank"] = rank
    with pytest.raises(ValueError, match="ranks count from 1"):
        question_sets(lists, targets, questions)
    assert rank != rank or pytest.raises(ValueError, feature_table, lists, questions)


# --- seeds ----------------------------------------------------------------------------------------------------------------------------------

SEEDED = {
    "nested": lambda seed, d: nested(SETS, (5,), RULES[:1], LR, seed), "no set": lambda seed, d: nested([], seed=seed),
    "folds": lambda seed, d: outer_folds(SETS[0], 5, seed), "permuted": lambda seed, d: permuted(SETS[0], np.arange(3), seed),
    "final gate": lambda seed, d: final_gate(SETS[0], 5, seed=seed), "select": lambda seed, d: select(SETS[0], np.arange(20), (5,), RULES[:1], LR, seed),
    "conformal": lambda seed, d: conformal_gates(SETS, seed=seed), "promises": lambda seed, d: promises_table(np.zeros(3), np.zeros(3), seed=seed),
    "known": lambda seed, d: known_scores(4, 40, seed=seed), "rivals": lambda seed, d: rivals(SETS, {}, seed=seed),
    "threshold": lambda seed, d: one_threshold(SETS, feature("h_std"), seed=seed), "simulated": lambda seed, d: simulated(3, seed),
    "optimism": lambda seed, d: optimism_table((9,), (1,), 2, seed=seed), "protocol": lambda seed, d: gating_checks.protocol(seed=seed),
    "leaks": lambda seed, d: gating_checks.leak_table(SETS, {"none": None}, "sample", seed=seed),
    "lossless": lambda seed, d: gating_checks.lossless_table(SETS, "sample", seed=seed), "fit": lambda seed, d: fit("rf", np.eye(2), np.arange(2) > 0, seed),
    "always": lambda seed, d: gating_cells.always_table(d, "sample", 9, seed), "cells": lambda seed, d: gating_cells.cells(d, d, "sample", 9, seed),
    "cost": lambda seed, d: gating_cost.cost_table(d, d, {}, "sample", seed=seed), "harm": lambda seed, d: gating_harm.harm_table(d, RULES, "sample", 9, seed),
    "reliability": lambda seed, d: gating_harm.reliability(d, "sample", 9, seed), "rules": lambda seed, d: gating_harm.rule_table(d, d, d, "sample", 9, seed),
    "curves": lambda seed, d: gating_curves.decision_curves({}, "sample", 5, "coverage", seed=seed),
    "areas": lambda seed, d: gating_curves.areas({}, "sample", 5, "coverage", 9, seed), "rivals table": lambda seed, d: rivals_table({}, "sample", 9, seed),
    "lasthop": lambda seed, d: gating_lasthop.lasthop_curves(d, "sample", seed=seed), "replayed": lambda seed, d: gating_lasthop.replayed(d, d, "s", seed=seed),
    "ranks": lambda seed, d: gating_lasthop.gated_ranks(SETS, d, 5, "coverage", seed),
    "pools": lambda seed, d: gating_lasthop.pool_expansion({}, d, "s", seed=seed)}


@pytest.mark.parametrize("seed", [-1, 2**40, 1.5, None, True, "0", np.nan])
def test_a_seed_that_is_none_is_refused_everywhere(seed, run):
    for name, call in SEEDED.items():
        with pytest.raises(ValueError, match="seed must be a whole number from 0 to 4294967295"):
            call(seed, run.decisions)
            pytest.fail(f"{name} took seed {seed!r}")


def test_every_seed_that_is_one_is_taken():
    for seed in (0, 2**32 - 1, np.int64(3)):
        whole.check_seed(seed)
        assert len(outer_folds(SETS[0], 5, seed)) == 5 and len(simulated(2, seed).questions) == 2


# --- rows given twice -----------------------------------------------------------------------------------------------------------------------

def test_a_decision_given_twice_is_refused_wherever_decisions_are_taken(run):
    twice = pd.concat([run.decisions, run.decisions.tail(1)], ignore_index=True)
    usage, prices = run.decisions[["dataset", "qid"]].assign(tokens=100.0), {"tokens": 1.0}
    f1 = run.decisions[["dataset", "qid"]].assign(h=0.5, rerank=1.0)
    calls = [lambda d: outcomes(d), lambda d: policies(d), lambda d: fixed(d), lambda d: gating_cells.always_table(d, "sample", 9),
             lambda d: gating_cells.cells(d, run.choices, "sample", 9), lambda d: gating_cost.cost_table(d, usage, prices, "sample", resamples=9),
             lambda d: rivals_table({"a": d}, "sample", 9), lambda d: gating_lasthop.replayed(d, f1, "sample", resamples=9),
             lambda d: beside_truth(d.assign(fallback="H"), WORLD.truth), lambda d: gating_harm.harm_table(d, RULES, "sample", 9)]
    for call in calls:
        call(run.decisions)
        with pytest.raises(ValueError, match="decisions: .*given twice"):
            call(twice)


def test_what_stands_beside_decisions_is_given_once(run):
    d, one = run.decisions, run.decisions[["dataset", "qid"]]
    doubled = pd.concat([one, one.head(1)], ignore_index=True)
    with pytest.raises(ValueError, match="f1: .*given twice"):
        gating_lasthop.replayed(d, doubled.assign(h=0.5, rerank=1.0), "sample")
    with pytest.raises(ValueError, match="usage: .*given twice"):
        gating_cost.cost_table(d, doubled.assign(tokens=1.0), {"tokens": 1.0}, "sample")
    with pytest.raises(ValueError, match="usage: tokens of .* cannot be"):
        gating_cost.cost_table(d, one.assign(tokens=-1.0), {"tokens": 1.0}, "sample")
    with pytest.raises(ValueError, match="truth: .*given twice"):
        beside_truth(d.assign(fallback="H"), pd.concat([WORLD.truth, WORLD.truth.head(1)]))
    with pytest.raises(ValueError, match="choices: .*given twice"):
        gating_cells.cells(d, pd.concat([run.choices, run.choices]), "sample")
    with pytest.raises(ValueError, match="choices: no fold of cell"):
        gating_cells.cells(d, run.choices.head(0), "sample")
    made = gating_cells.cells(d, run.choices, "sample", 9)
    with pytest.raises(ValueError, match="do not belong together"):
        gating_harm.rule_table(d, made, gating_harm.harm_table(d, RULES, "sample", 9).head(0), "sample")
    targets = pd.DataFrame({"dataset": "s", "qid": ["a", "a"], "doc_id": ["x", "y"]})
    with pytest.raises(ValueError, match="targets: .*given twice"):
        gating_lasthop.pool_expansion({}, targets, "sample")


def test_hits_that_differ_between_rules_are_refused(run):
    other = run.decisions.assign(rule="other", h_hit=~run.decisions["h_hit"].astype(bool))
    with pytest.raises(ValueError, match="differ between rules"):
        policies(pd.concat([run.decisions, other]))


@pytest.mark.parametrize("column", ["dataset", "qid", "k", "rule", "fold", "skip", "rerank_hit", "h_hit"])
def test_what_a_decision_may_not_lack(run, column):
    holed = run.decisions.assign(**{column: run.decisions[column].astype(object).where(np.arange(40) != 3, np.nan)})  # NaN would count as a skip
    with pytest.raises(ValueError, match=f"{column} is missing in row 3 of 40"):
        outcomes(holed)
    with pytest.raises(ValueError, match="expected true or false"):
        outcomes(run.decisions.assign(rerank_hit=2))


# --- runs that cannot be --------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("changed, said", [
    (dict(ks=(5, 5)), "each K once"), (dict(ks=5), "ks and rules are lists"), (dict(rules=RULES[0]), "ks and rules are lists"), (dict(ks=()), "at least one K"),
    (dict(ks=(True,)), "k must be a whole number"), (dict(rules=["coverage"]), "a rule is of kind"), (dict(rules=[Rule("x", "budget", np.nan)]), "points >= 0"),
    (dict(outer=1), "outer must"), (dict(jobs=0), "jobs must"),
    *((dict(grid=LR._replace(**grid)), said) for grid, said in (
        (dict(pcas=(-1,)), "grid.pcas must"), (dict(pcas=(1.5,)), "grid.pcas must"), (dict(pcas=(8, 8)), "each once"), (dict(pcas=()), "needs pcas"),
        (dict(inner=1), "grid.inner must"), (dict(inner=None), "grid.inner must"), (dict(models=("lr", "lr")), "each at most once"),
        (dict(models="lr"), "a tuple of"),
        (dict(labels=("gold",)), "the grid holds labels"), (dict(fallbacks=("V",)), "the grid holds fallbacks"), (dict(constants=("maybe",)), "constants")))])
def test_a_run_that_cannot_be_is_one_clear_error(changed, said):
    with pytest.raises(ValueError, match=said):
        nested(SETS, **dict(grid=LR) | changed)
    if "grid" in changed:  # whoever chooses a single gate is told as well
        with pytest.raises(ValueError, match=said):
            final_gate(SETS[0], 5, **changed)


def test_two_data_sets_of_one_name_or_two_questions_of_one_qid_are_refused(run):
    for call in (lambda sets: nested(sets, grid=LR), lambda sets: one_threshold(sets, feature("h_std")), lambda sets: conformal_gates(sets),
                 lambda sets: gating_checks.leak_table(sets, {}, "sample"), lambda sets: gating_lasthop.gated_ranks(sets, run.decisions, 5, "coverage")):
        with pytest.raises(ValueError, match="a name of its own"):
            call([SETS[0], SETS[0]])
        with pytest.raises(ValueError, match="40 questions have 1 qids"):
            call([SETS[0]._replace(qids=np.full(40, "q"))])


def test_one_class_alone_teaches_nothing():
    with pytest.raises(ValueError, match="both classes are needed"):
        fit("lr", np.eye(3), np.ones(3, bool), 0)


# --- worlds without anything to choose ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("hit", [("H", "V", "R"), (), ("R",), ("H", "V")])
def test_all_hits_and_none(hit):
    lists = WORLD.lists
    named = np.where((lists["rank"] == 1) & lists["list"].isin(hit), lists["qid"] + " target", lists["qid"] + lists["rank"].astype(str))
    sets = question_sets(lists.assign(doc_id=named), *WORLD[1:4])[0]
    made = nested(sets, (5,), RULES[:1], LR)
    cell = gating_cells.cells(made.decisions, made.choices, "sample", 9).iloc[0]
    assert cell["n"] == 40 and cell["delta"] == (0.0 if hit != ("H", "V") or not cell["skip"] else 100 * cell["skip"])
    assert (made.choices["model"] == ("never" if hit == ("R",) else "refused")).all() and not made.decisions["skip"].any()


def test_features_that_are_all_alike_decide_alike():
    same = WORLD.lists.assign(score=1.0, title="T")
    sets = question_sets(same, WORLD.targets, WORLD.questions.assign(question="Who?"), np.ones((40, 3)))[0]
    made = nested(sets, (5,), RULES[:1], Grid(("lr", "gbm"), (0, 2))).decisions
    assert made.groupby("fold")["p_harm"].nunique().max() <= 1 and made.groupby("fold")["skip"].nunique().max() == 1
