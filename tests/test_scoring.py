"""Answer scoring: METRIC_CASES as they stand, then what must hold for any pair of answers."""

import math
import random

import numpy as np
import pandas as pd
import pytest

from lib.scoring import (
    RULES,
    Scores,
    rule_for,
    score_2wiki_official,
    score_answer,
    score_jointly,
    score_supporting_facts,
    scoring_report,
)

# prediction, gold, EM, F1 by HotpotQA, F1 by MuSiQue
METRIC_CASES = [
    ("The Beatles", "Beatles", 1, 1, 1),
    ("Yes.", "yes", 1, 1, 1),
    ("yes", "Yes, it is", 0, 0, 0.5),
    ("Yes, both are American", "yes", 0, 0, 0.4),
    ("A", "A", 1, 0, 1),
    ("Vitamin A", "Vitamin", 1, 1, 1),
    ("1,000", "1000", 1, 1, 1),
    ("U.S.", "US", 1, 1, 1),
    ("Jay-Z", "Jay Z", 0, 0, 0),
    ("1967–1970", "1967-1970", 0, 0, 0),
    ("café", "cafe", 0, 0, 0),
    ("Barack Obama", "Obama", 0, 0.6667, 0.6667),
    ("Chief of Protocol", "the Chief of Protocol of the United States", 0, 0.6667, 0.6667),
    ("to be or not to be", "to be", 0, 0.5, 0.5),
    ("no answer", "noanswer", 0, 0, 0),
    ("", "", 1, 0, 1),
]


@pytest.mark.parametrize(("prediction", "gold", "em", "f1_hotpotqa", "f1_musique"), METRIC_CASES)
def test_metric_cases(prediction, gold, em, f1_hotpotqa, f1_musique):
    for rule in ("hotpotqa", "2wiki", "ondrell"):
        assert score_answer(prediction, [gold], rule) == pytest.approx((em, f1_hotpotqa), abs=5e-5)
    for rule in ("musique", "squad2"):
        assert score_answer(prediction, [gold], rule) == pytest.approx((em, f1_musique), abs=5e-5)


@pytest.mark.parametrize(
    ("rule", "zeroed"), [("hotpotqa", True), ("2wiki", True), ("musique", False), ("squad1", False), ("squad2", False)]
)
@pytest.mark.parametrize("closed", ["yes", "no", "noanswer"])
def test_a_mismatch_on_a_closed_answer_earns_nothing(rule, zeroed, closed):
    wordy = f"{closed} it is"
    assert (score_answer(wordy, [closed], rule)[1] == 0) is zeroed
    assert (score_answer(closed, [wordy], rule)[1] == 0) is zeroed


@pytest.mark.parametrize(
    ("rule", "f1"), [("hotpotqa", 0), ("2wiki", 0), ("musique", 1), ("squad1", 0), ("squad2", 1), ("ondrell", 0)]
)
def test_both_sides_empty_after_normalising(rule, f1):
    assert score_answer("The", ["a"], rule) == (1, f1)


def test_a_missing_prediction():
    for rule in ("hotpotqa", "2wiki", "squad1", "ondrell"):
        assert score_answer(None, ["Rome"], rule) == score_answer(float("nan"), ["Rome"], rule) == (0, 0)
    assert all(math.isnan(score) for score in score_answer(None, ["Rome"], "squad2"))  # left out: no mean may count it
    with pytest.raises(ValueError, match="every question"):
        score_answer(None, ["Rome"], "musique")


@pytest.mark.parametrize("rule", ["2wiki", "musique", "squad1", "squad2", "ondrell"])
def test_em_and_f1_are_maximised_over_golds(rule):
    assert score_answer("Ada Lovelace", ["Countess Ada", "Ada Lovelace"], rule) == (1, 1)
    assert score_answer("Ada King", np.array(["Countess", "Ada"], dtype=object), rule) == pytest.approx((0, 2 / 3))


def test_an_alias_can_rescue_a_closed_answer():
    assert score_answer("no", ["yes", "No"], "ondrell") == (1, 1)


def test_squad2_drops_golds_that_normalise_to_nothing():
    assert score_answer("", ["Rome", "the"], "squad2") == (0, 0)  # squad1 would call this an exact match
    assert score_answer("", ["Rome", "the"], "squad1") == (1, 0)
    assert score_answer("", [], "squad2") == (1, 1)
    assert score_answer("Rome", [], "squad2") == (0, 0)


@pytest.mark.parametrize(
    ("golds", "rule", "says"),
    [
        ("Rome", "squad1", "wrap one answer"),
        (None, "squad1", "wrap one answer"),
        ([], "ondrell", "at least one gold"),
        (["Rome", "Roma"], "hotpotqa", "knows one gold"),
        ([1985], "ondrell", "cast answers once"),
        ([None], "squad1", "cast answers once"),
        (["Rome"], "squad", "unknown scoring rule"),
    ],
)
def test_what_cannot_be_scored_is_refused(golds, rule, says):
    with pytest.raises(ValueError, match=says):
        score_answer("Rome", golds, rule)


def test_any_pair_scores_in_range_and_exact_match_implies_full_f1():
    draw = random.Random(4)
    words = ["the", "a", "yes", "no", "Oss", "Hall", "1,000", "U.S.", "–", "of"]
    for _ in range(2000):
        prediction, gold = (" ".join(draw.choices(words, k=draw.randint(0, 4))) for _ in range(2))
        for rule in RULES:
            em, f1 = score_answer(prediction, [gold], rule)
            assert em in (0, 1) and 0 <= f1 <= 1
            assert f1 == 1 or not em or score_answer(prediction, [""], "squad1")[0] == 1
            assert (em, f1) == score_answer(gold, [prediction], rule) or rule == "squad2"  # F1 is symmetric
            assert rule == "hotpotqa" or score_answer(prediction, [gold, gold], rule) == (em, f1)


def test_2wiki_maximises_each_number_apart():
    scores = score_2wiki_official("Ada King", ["Ada", "Ada King of York City"])
    assert scores == pytest.approx((0, 2 / 3, 1, 1))
    assert scores.f1 < 2 * scores.precision * scores.recall / (scores.precision + scores.recall)
    assert score_2wiki_official(None, ["Ada"]) == Scores(0, 0, 0, 0)
    assert score_2wiki_official("Ada", ["Ada"])[:2] == score_answer("Ada", ["Ada"], "2wiki")


def test_supporting_facts_metric_case():
    facts = score_supporting_facts([("A", 0), ("A", 1)], [("A", 0), ("B", 2)])
    assert facts == Scores(em=0, f1=0.5, precision=0.5, recall=0.5)


def test_joint_metric_case():
    answer = Scores(em=0, f1=2 / 3, precision=0.5, recall=1.0)
    joint = score_jointly(answer, Scores(em=0, f1=0.5, precision=0.5, recall=0.5))
    assert joint == pytest.approx(Scores(em=0, f1=0.3333, precision=0.25, recall=0.5), abs=5e-5)


def test_supporting_facts_by_each_script():
    assert score_supporting_facts([["The Oss", 0]], [("the oss", 0)], "2wiki") == Scores(1, 1, 1, 1)
    assert score_supporting_facts([["The Oss", 0]], [("the oss", 0)], "hotpotqa").f1 == 0
    assert score_supporting_facts([3, 5, 3], [5, 3], "musique") == Scores(1, 1, 1, 1)
    assert score_supporting_facts([], [], "musique")[:2] == (1, 1)
    assert score_supporting_facts([], [], "hotpotqa")[:2] == (1, 0)
    with pytest.raises(ValueError, match="supporting-fact rule"):
        score_supporting_facts([], [], "squad1")


def test_joint_needs_two_parts_and_zeroes_with_any():
    with pytest.raises(ValueError, match="at least two"):
        score_jointly(Scores(1, 1, 1, 1))
    assert score_jointly(Scores(1, 1, 1, 1), Scores(1, 1, 1, 1), Scores(0, 0, 0, 0)) == Scores(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("dataset", "rule"),
    [
        ("hotpotqa", "hotpotqa"),
        ("hotpotqa_fullwiki", "hotpotqa"),
        ("2wikimultihopqa", "2wiki"),
        ("musique_ans", "musique"),
        ("squad", "squad1"),
        ("squad_v2", "squad2"),
        ("ragbench_covidqa", "squad1"),
        ("ondrell", "ondrell"),
        ("world_7", "ondrell"),
    ],
)
def test_every_set_has_its_rule(dataset, rule):
    assert rule_for(dataset) == rule


def test_an_unknown_set_has_no_rule():
    with pytest.raises(ValueError, match="trivia"):
        rule_for("trivia")


def test_report_counts_what_another_script_would_change():
    answers = pd.DataFrame(
        [
            ("hotpotqa", "yes", ["Yes, it is"]),  # F1 0 here, 0.5 elsewhere
            ("hotpotqa", "A", ["A"]),  # both empty
            ("hotpotqa", "Rome", ["Rome"]),
            ("hotpotqa", None, ["Rome"]),
            ("musique", "Roma", ["Rome", "Roma"]),  # an alias that HotpotQA's script never sees
        ],
        columns=["dataset", "prediction", "answers"],
    )
    report = scoring_report(answers).set_index(["dataset", "other_rule"])
    assert len(report) == 2 * (len(RULES) - 1)
    assert report.loc[("hotpotqa", "musique"), ["n", "n_missing", "n_em_changed", "n_f1_changed"]].tolist() == [3, 1, 0, 2]
    assert report.loc[("hotpotqa", "ondrell"), "n_f1_changed"] == 0
    assert report.loc[("hotpotqa", "musique"), "mean_f1_other"] == pytest.approx(2.5 / 3)
    assert report.loc[("musique", "hotpotqa"), ["n_em_changed", "n_f1_changed"]].tolist() == [1, 1]
    with pytest.raises(ValueError, match="prediction"):
        scoring_report(answers.drop(columns="prediction"))
