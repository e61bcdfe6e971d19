"""Sentences on the gate say what its tables say, whichever way the numbers fall, and no more than the intervals allow."""

import numpy as np
import pandas as pd
import pytest

from lib import gating_words as words
from lib import gating_words_more as more
from lib import gating_words_promises as promises
from lib.gating_bound import lower_bound
from lib.gating_checks import CLAIMED, HELD_OUT, HONEST, SAME

EVERY = [
    words.always_words,
    words.coverage_words,
    lambda t: words.answer(t, t, t),
    lambda t: promises.promise_words(t, t),
    lambda t: promises.rivals_words(t, t),
    promises.lossless_words,
    promises.leaks_words,
    more.lasthop_words,
    more.replayed_words,
    more.pools_words,
    more.conformal_words,
    more.cost_words,
    more.optimism_words,
]


def plain(text):
    return text.replace("\u00a0", " ")


def always(*rows):
    """(dataset, k, delta, low, high, p_holm)"""
    made = pd.DataFrame(rows, columns=["dataset", "k", "delta", "ci_low", "ci_high", "p_holm"])
    return made.assign(h=0.5, rerank=0.5 + made["delta"] / 100, d=np.nan, wins=9, losses=2, sign_p=0.065, n=400)


def cells(*rows, n=400):
    """(dataset, k, rule, skip, delta, low, high, bound); counts follow from delta alone."""
    made = pd.DataFrame(rows, columns=["dataset", "k", "rule", "skip", "delta", "ci_low", "ci_high", "bound"])
    harm = (-made["delta"] * n / 100).round().clip(lower=0).astype(int)
    return made.assign(
        models="lr/lr/lr/lr/lr", fallbacks="H", harmful=harm, beneficial=0, within=made["delta"] >= -1, surely_within=made["bound"] >= -1, inner_delta=-0.5, refused=0, n=n
    )


def rules(skip=0.4, delta=-0.5, within=1, surely=0, cells=1):
    return pd.DataFrame(
        [("coverage", skip, delta, delta - 1, delta + 1, cells, within, surely)],
        columns=["rule", "skip", "delta", "ci_low", "ci_high", "cells", "cells_within", "cells_surely_within"],
    )


@pytest.mark.parametrize("say", EVERY)
def test_an_empty_table_has_nothing_to_tell(say):
    assert plain(say(pd.DataFrame())).startswith("There is nothing to tell: ")


def test_a_change_shows_its_interval_or_says_that_there_is_none():
    row = pd.Series({"delta": -1.25, "ci_low": -3.0, "ci_high": 0.5})
    assert plain(words.change(row)) == "−1.2 pp [−3.0, +0.5]"
    assert plain(words.change(row.replace({-3.0: np.nan}))) == "−1.2 pp (no interval)"
    assert words.change(row.replace({-1.25: np.nan})) == "unknown"


def test_one_text_is_a_paragraph_and_several_are_points():
    assert words.paragraphs(["a", "", "b"]) == "- a\n- b" and words.paragraphs(["a"]) == "a" and words.paragraphs([]) == ""


def test_the_nearest_k_is_told_of_each_data_set():
    table = pd.DataFrame({"dataset": ["a", "a", "a", "b", "b"], "k": [1, 5, 10, 3, 7]})
    assert words.near(table, 5)[["dataset", "k"]].values.tolist() == [["a", 5], ["b", 3]]


def test_places_are_named_up_to_four():
    table = pd.DataFrame([(d, k) for d in ("musique", "2wiki") for k in (1, 5, 10)], columns=["dataset", "k"])
    assert words.places(table) == "MuSiQue at K 1, 5 and 10, 2WikiMultiHopQA at K 1 and 2 more"
    assert words.places(table[:2]) == "MuSiQue at K 1 and 5" and words.places(table[:0]) == "nowhere"


GOOD = ("a", 5, 10.0, 4.0, 16.0, 0.001)
ADVICE = [
    (("a", 5, -6.0, -9.0, -3.0, 0.001), [("a", 5, "coverage", 0.4, 0.0, -1.0, 1.0, -0.5)], "H", "never rerank, H alone is better"),
    (("a", 5, 2.0, -1.0, 5.0, 0.2), [("a", 5, "coverage", 0.4, 0.0, -1.0, 1.0, -0.5)], "H", "undecided, since 400 questions do not tell"),
    (("a", 5, 4.0, 0.5, 8.0, 0.06), [("a", 5, "coverage", 0.4, 0.0, -1.0, 1.0, -0.5)], "H", "undecided, since"),  # Holm undoes it
    (
        GOOD,
        [("a", 5, "coverage", 0.4, 0.0, -0.5, 0.5, -0.9), ("a", 5, "budget 1", 0.6, 0.0, -0.5, 0.5, -0.9)],
        "H",
        "gate by the 1 pp budget, which surely loses",
    ),
    (GOOD, [("a", 5, "coverage", 1.0, 0.0, -0.5, 0.5, -0.9)], "D", "never rerank, D alone surely loses at most 1 pp"),
    (GOOD, [("a", 5, "coverage", 1.0, 0.0, -0.5, 0.5, -0.9)], "D/H", "gate by the coverage rule"),
    (GOOD, [("a", 5, "coverage", 0.0, 0.0, 0.0, 0.0, -0.9)], "none", "always rerank, the gate finds nothing to skip"),
    (GOOD, [("a", 5, "coverage", 0.5, -5.0, -7.0, -2.0, -8.0)], "H", "always rerank, every gate surely loses more than 1 pp"),
    (GOOD, [("a", 5, "coverage", 0.5, -5.0, -7.0, -2.0, -8.0), ("a", 5, "budget 1", 0.2, -0.5, -2.0, 1.0, -2.1)], "H", "always rerank until more is known"),
    (GOOD, [], "H", "always rerank, no gate was run here"),
]


@pytest.mark.parametrize("one, gates, fallback, said", ADVICE)
def test_the_advice_is_what_the_intervals_allow(one, gates, fallback, said):
    made = cells(*gates).assign(fallbacks=fallback)
    assert plain(words.advice(always(one).iloc[0], made)).startswith(said)


def test_the_answer_tells_each_data_set_and_then_all_cells():
    table = always(GOOD, ("a", 1, 20.0, 10.0, 30.0, 0.001), ("musique", 5, 1.0, -1.0, 3.0, 0.3))
    made = cells(
        ("a", 5, "coverage", 1.0, -2.0, -4.0, 0.0, -4.2), ("a", 5, "budget 1", 0.25, -0.25, -1.0, 0.5, -1.2), ("a", 5, "budget 2", 0.9, -9.0, -9.5, -8.5, -9.9)
    )
    said = plain(words.answer(table, made, rules()))
    assert said == (
        "On a (400 questions) the reranker has the last hop among the first 5 for 60 %, the graph list H for 50 % (+10.0 pp [+4.0, +16.0]). An honest gate "
        "skips 25 % of the calls at −0.2 pp [−1.0, +0.5] (1 pp budget) or every call, handing on H, at −2.0 pp [−4.0, 0.0] (coverage rule), against always "
        "reranking. Advice: always rerank until more is known, since whether the gate costs more than 1 pp is undecided. "
        "On MuSiQue (400 questions) the reranker has the last hop among the first 5 for 51 %, the graph list H for 50 % (+1.0 pp [−1.0, +3.0]). "
        "Advice: undecided, since 400 questions do not tell whether the reranker improves on H at all. Over the one cell (data set and K) the coverage rule "
        "skips 40 % at −0.5 pp [−1.5, +0.5]: 1 of 1 loses at most 1 pp as measured, none surely."
    )


def test_where_h_alone_is_better_the_answer_tells_of_no_gate():
    made = cells(("a", 5, "coverage", 0.5, 2.0, 1.0, 3.0, 0.8))
    worse = plain(words.answer(always(("a", 5, -6.0, -9.0, -3.0, 0.001)), made, rules()[:0]))
    assert "gate" not in worse and worse.endswith("Advice: never rerank, H alone is better.")
    assert "An honest gate skips 50 % of the calls at +2.0 pp" in plain(words.answer(always(("a", 5, -1.0, -3.0, 1.0, 0.5)), made, rules()[:0]))


def test_the_answer_without_rules_still_answers():
    assert plain(words.answer(always(GOOD), cells(("a", 5, "coverage", 0.1, 0.0, 0.0, 0.0, -0.9)), rules()[:0])).endswith("surely loses at most 1 pp.")
    assert "all 9 cells" in words.answer(always(GOOD), cells(("a", 5, "coverage", 0.1, 0.0, 0.0, 0.0, -0.9)), rules(cells=9))


def test_always_reranking_is_told_at_every_k_with_its_verdict():
    table = always(("a", 10, 5.0, 1.0, 9.0, 0.04), ("a", 1, -5.0, -9.0, -1.0, 0.04), ("a", 5, 5.0, 1.0, 9.0, 0.06))
    assert plain(words.always_words(table)) == (
        "Always reranking against H on a (400 questions): K 1 worse (−5.0 pp [−9.0, −1.0]), K 5 undecided after Holm (+5.0 pp [+1.0, +9.0]), "
        "K 10 better (+5.0 pp [+1.0, +9.0])."
    )
    told = plain(words.always_words(pd.concat([always(("a", 1, 0.0, -1.0, 1.0, 0.9)), always(GOOD).assign(dataset="b", n=3000)])))
    assert told == (
        "- Always reranking against H on a (400 questions): K 1 undecided (0.0 pp [−1.0, +1.0]).\n"
        "- Always reranking against H on b (3,000 questions): K 5 better (+10.0 pp [+4.0, +16.0])."
    )


def test_the_bare_rule_stands_beside_the_bound():
    table = cells(
        ("a", 1, "coverage", 0.4, -0.75, -2.0, 0.5, -2.4), ("a", 5, "coverage", 0.6, -2.0, -4.0, 0.0, -4.1), ("a", 5, "budget 1", 0.2, -0.25, -1.0, 0.5, -0.9)
    )
    said = plain(words.coverage_words(table))
    assert said.startswith(
        "- The coverage rule skips 50 % of the calls (40 % to 60 %). As measured 1 of 2 cells loses at most 1 pp, none surely. Skips did harm in 2 of 2 "
        "cells: 11 harmful, 0 beneficial.\n- The 1 pp budget skips 20 % of the calls. As measured 1 of 1 cell loses at most 1 pp, 1 surely (a at K 5)."
    )
    assert "promised −0.5 pp on average, held-out questions give −1.4: less, as is to be expected of a threshold that was searched for" in said
    assert "D" not in said.replace("and", "") and "fewer than" not in said and "refused" not in said


def test_where_nothing_is_flattered_and_all_is_sure_the_words_say_so():
    table = cells(("a", 1, "coverage", 0.4, 0.0, -0.5, 0.5, -0.9)).assign(inner_delta=-0.5, refused=2, n=298)
    said = plain(words.coverage_words(table))
    assert "no less, this time" in said and "Skips did harm in none of 1 cell" in said and "On a 2 of 5 folds at K 1 refused to skip: their training" in said
    assert "With fewer than 299 questions" in said and lower_bound(0, 0, 299) >= -1 > lower_bound(0, 0, 298)
    assert "With fewer than" not in words.coverage_words(table.assign(n=299))
    only = cells(("a", 1, "budget 1", 0.4, 0.0, -0.5, 0.5, -0.9))
    assert plain(words.coverage_words(only)).startswith("- The 1 pp budget skips 40 % of the calls.")


def test_the_student_alone_is_judged_by_its_bound():
    gone = cells(("a", 1, "coverage", 1.0, 0.0, -0.5, 0.5, -0.9), ("a", 5, "coverage", 0.5, -2.0, -4.0, -1.5, -4.1)).assign(fallbacks="D")
    said = plain(words.coverage_words(gone))
    assert "In 1 of 2 cells every call is skipped and D handed on: no gate is left." in said
    assert "against always reranking: 0.0 pp [−0.5, +0.5] on a at K 1; the cheap student already does it, surely." in said
    rivals = pd.concat([gone.assign(gate="always D", rule="fixed"), gone.assign(gate="learned")])
    assert "surely within 1 pp in 1 of 2, surely worse in 1." in plain(words.coverage_words(gone, rivals))
    many = pd.concat([gone.assign(gate="always D", dataset=d) for d in "abc"]).assign(surely_within=False, ci_high=0.0)
    assert "against always reranking: −2.0 to 0.0 pp; surely within 1 pp in none of 6, surely worse in none, else undecided." in plain(
        words.coverage_words(gone, many)
    )


IDLE = ("a", 1, "coverage", 0.0, 0.0, 0.0, 0.0, -2.0)


def test_a_gate_that_skips_nothing_can_lose_nothing():
    made = cells(IDLE, ("a", 5, *IDLE[2:]), ("a", 5, "budget 1", *IDLE[3:]))
    assert words.coverage_words(made) == "The gate skipped nothing, so nothing could be lost."
    every = cells(*[("a", k, rule, *IDLE[3:]) for k in (1, 5, 10) for rule in ("coverage", "budget 0.5", "budget 1", "budget 2")]).assign(refused=5)
    refusal = "On a all 5 folds, for each of 3 K and 4 rules, refused to skip: their training questions held no harm to learn from."
    assert words.coverage_words(every).splitlines()[1:] == [f"- {refusal}"]
    said = plain(words.answer(always(GOOD), made, rules(skip=0.0, delta=0.0)))
    assert " An honest gate skips nothing. Advice: always rerank, the gate finds nothing to skip." in said
    assert said.endswith("Over the one cell (data set and K) the coverage rule skipped nothing, so nothing could be lost.")


def test_a_cell_without_a_skip_is_counted_apart():
    made = cells(IDLE, ("a", 5, "coverage", 0.4, -0.5, -1.0, 0.0, -0.9), ("a", 10, "coverage", 0.2, -2.0, -4.0, 0.0, -4.1), ("a", 5, "budget 1", *IDLE[3:]))
    said = plain(words.coverage_words(made))
    assert said.startswith(
        "- The coverage rule skips 20 % of the calls (0 % to 40 %). In 1 of 3 cells it skipped nothing, so nothing could be lost there. As measured 1 of 2 "
        "other cells loses at most 1 pp, 1 surely (a at K 5). Skips did harm in 2 of 2 cells: 10 harmful, 0 beneficial.\n"
        "- The 1 pp budget skipped nothing, so nothing could be lost.\n- The inner folds promised"
    )
    swapped = made.assign(rule=made["rule"].map({"coverage": "budget 1", "budget 1": "coverage"}))
    assert "inner folds" not in words.coverage_words(swapped)  # the coverage rule skipped nothing, so it has no promise to keep
    told = plain(words.answer(always(GOOD), made, rules(skip=0.2, delta=-0.75, within=2, surely=1, cells=3)))
    assert told.endswith("skips 20 % at −0.8 pp [−1.8, +0.2]: 1 of 3 skips nothing, 1 of 2 other loses at most 1 pp as measured, 1 surely.")
    assert "An honest gate skips nothing (1 pp budget) or 40 % of the calls at −0.5 pp [−1.0, 0.0] (coverage rule), against always" in told


def test_where_no_question_changed_the_bound_speaks_and_not_an_interval_of_no_width():
    same = always(("a", 5, 0.0, 0.0, 0.0, 1.0)).assign(wins=0, losses=0, n=50)
    told = "no question changed (the one-sided 95 % bound still allows a loss of 5.8 pp)"
    assert plain(words.always_words(same)) == f"Always reranking against H on a (50 questions): K 5 {told}."
    assert f"the graph list H for 50 %: {told}. " in plain(words.answer(same, cells(("a", 5, *IDLE[2:])), rules()[:0]))
    assert "[0.0, 0.0]" in plain(words.always_words(same.assign(wins=1, losses=1))) and "(1 question)" in words.always_words(same.assign(n=1))


# --- promises and rivals ------------------------------------------------------------------------------------------------------------------


def harms(*rows):
    """(rule, budget, expected, realised, excess_low, auc, auc_low, auc_high, auc_pooled)"""
    made = pd.DataFrame(rows, columns=["rule", "budget", "expected", "realised", "excess_low", "auc", "auc_low", "auc_high", "auc_pooled"])
    return made.assign(
        n=200,
        dataset="a", k=range(len(made)), ece=0.02, ece_raw=[0.1 + 0.05 * i for i in range(len(made))], in_budget=made["realised"] <= made["budget"]
    )


def bins(*rows):
    made = pd.DataFrame(rows, columns=["p_harm", "harm", "ci_low", "ci_high", "questions"])
    return made.assign(rule="budget 1", form="calibrated", dataset="a")


def test_promised_and_realised_harm():
    table = harms(
        ("budget 1", 1.0, 0.9, 1.5, 0.1, 0.7, 0.6, 0.8, 0.65),
        ("budget 1", 1.0, 1.0, 0.5, -1.0, 0.45, 0.3, 0.6, 0.16),
        ("coverage", np.nan, 2, 2, 0, 0.5, 0.5, 0.5, 0.3),
    )
    said = plain(promises.promise_words(table, bins((0.1, 0.1, 0.05, 0.2, 90), (0.5, 0.9, 0.8, 1.0, 20))))
    assert said == (
        "- The 1 pp budget promised 0.95 pp of harm on average, and 1.00 came: more than promised in 1 of 2 cells, 1 surely; within the budget in 1. Added up, 3.8 harmed "
        "questions were promised and 4 came (the K of a data set share questions).\n"
        "- Platt scaling takes the calibration error from 0.10–0.15 to 0.02 (much of the first is that the model may have learned *the fallback has it*, whose "
        "chance bounds harm from above). In 1 of 2 bins of 10 questions or more the interval holds the promise: not all "
        "chances can be trusted.\n"
        "- To be calibrated is not to know: the chances order harmed questions surely better than a coin in 1 of 2 cells (AUC 0.45–0.70; the intervals span "
        "0.30 to 0.80). With pairs across folds it would be 0.16–0.65."
    )


def test_promises_without_bins_chances_or_budgets():
    one = harms(("budget 2", 2.0, 0.9, 0.5, -1, 0.3, 0.2, 0.4, np.nan))
    said = plain(promises.promise_words(one, bins()[:0]))
    assert (
        "more than promised in none of 1 cell" in said
        and "No bin of chances" in said
        and "in none of 1 cell, surely worse in 1" in said
        and "pairs" not in said
    )
    blind = one.assign(ece=np.nan, auc_low=np.nan)
    assert "there are too few of a kind" in promises.promise_words(blind, bins()) and "Platt" not in promises.promise_words(blind, bins())
    assert "no budget of harm was promised" in promises.promise_words(one.assign(budget=np.nan), bins())
    kept = plain(promises.promise_words(harms(("budget 1", 1.0, 1, 1, 0, 0.5, 0.4, 0.6, 0.5)), bins((0.1, 0.1, 0.05, 0.2, 90))))
    assert "no bin speaks against" in kept and "1.00 came: more than promised in none of 1 cell; within the budget in 1." in kept


def rival(*rows):
    """(gate, k, rule, over_random, low, high)"""
    return pd.DataFrame(rows, columns=["gate", "k", "rule", "over_random", "over_low", "over_high"]).assign(dataset="a", skip=0.5)


def areas(*rows):
    return pd.DataFrame(rows, columns=["gate", "knows", "ci_low", "ci_high"]).assign(dataset="a", k=5, rule="budget 1")


def test_the_learned_gate_against_chance():
    table = rival(
        ("learned", 1, "coverage", 2.0, 0.5, 3.0),
        ("learned", 5, "coverage", -3.0, -5.0, -1.0),
        ("learned", 1, "budget 1", 0.5, -1.0, 2.0),
        ("score gap", 1, "coverage", 9, 8, 10),
    )
    said = plain(promises.rivals_words(table, areas()))
    assert said == (
        "- Against as many skips at random, the coverage rule is surely better in 1 (a at K 1) and surely worse in 1 (a at K 5) of 2 cells; the largest "
        "difference is −3.0 pp [−5.0, −1.0] (a at K 5).\n"
        "- Against as many skips at random, the 1 pp budget is surely better in none of 1 cell; the largest difference is "
        "+0.5 pp [−1.0, +2.0] (a at K 1)."
    )


@pytest.mark.parametrize(
    "rows, said",
    [
        (
            [("learned", 0.5, 0.4, 0.6), ("score gap", 0.1, 0.0, 0.2), ("six features", 0.55, 0.45, 0.65)],
            "of what an oracle knows; surely less: score gap. Surely more than chance: learned and six features.",
        ),
        (
            [("learned", 0.1, 0.0, 0.2), ("six features", 0.5, 0.4, 0.6)],
            "of what an oracle knows; surely more: six features. Surely more than chance: six features.",
        ),
        ([("learned", 0.1, 0.0, 0.2), ("uncertainty", 0.2, 0.0, 0.3)], "; none of 1 rival surely more or less. Surely more than chance: no gate."),
        ([("learned", 0.3, 0.1, 0.4)], "of what an oracle knows. Surely more than chance: learned."),
    ],
)
def test_what_gates_know_is_told_apart_only_where_intervals_lie_apart(rows, said):
    told = plain(promises.rivals_words(rival(("learned", 1, "coverage", 2.0, 0.5, 3.0)), areas(*rows)))
    assert said in told and f"the learned gate knows {100 * rows[0][1]:+.0f} % [" in told
    assert "oracle" not in promises.rivals_words(rival(("learned", 1, "coverage", 2.0, 0.5, 3.0)), areas(("score gap", 0.1, 0.0, 0.2)))


def lossless(h, d, skip=0.8):
    """Intervals of the same skips with H and with D."""
    rows = [
        (CLAIMED, skip, 4.0, np.nan, np.nan),
        (HELD_OUT, 0.8, 3.0, 1.0, 5.0),
        (SAME.format("H"), 0.8, np.mean(h), *h),
        (SAME.format("D"), 0.8, np.mean(d), *d),
        (HONEST, 0.3, -1.0, -3.0, 1.0),
    ]
    return pd.DataFrame(rows, columns=["how", "skip", "delta", "ci_low", "ci_high"]).assign(dataset="a", k=5)


@pytest.mark.parametrize(
    "h, d, said",
    [
        ((-9, -1), (-3, 3), "What looked free: with H it surely costs; with D it is undecided."),
        ((-9, -1), (-3, -1), "D −2.0 pp [−3.0, −1.0]. What looked free: with H and D it surely costs."),
        ((-9, 1), (-3, 3), "What looked free: with H and D it is undecided."),
        ((20, 30), (-3, 3), "What looked free: with H it surely gains, so the list alone beats the reranker; with D it is undecided."),
        ((np.nan, np.nan), (np.nan, np.nan), "What the skips cost without the oracle is unknown."),
    ],
)
def test_the_lossless_figure_is_made_and_unmade(h, d, said):
    told = plain(promises.lossless_words(lossless(h, d)))
    assert "the old recipe claims 80 % of the calls saved at +4.0 pp. On held-out" in told and "with the oracle, +3.0 pp [+1.0, +5.0]" in told and said in told
    assert told.endswith("Chosen and run honestly, a lossless rule skips 30 % at −1.0 pp [−3.0, +1.0].")


def test_an_oracle_that_skips_nothing_is_told():
    table = lossless((-1, 1), (-1, 1), skip=0.0)
    refused, partly = (cells(("a", 5, "coverage", 0.0, 0.0, 0.0, 0.0, -0.9)).assign(refused=n) for n in (5, 4))
    assert promises.lossless_words(table, refused) == "On a (K 5) no training question was harmed, so every fold refused and the old recipe claims nothing."
    for other in (None, partly, refused.assign(k=1), refused.assign(dataset="b")):  # here the table cannot tell which of the two it was
        assert promises.lossless_words(table, other).endswith("harmed no training question, and such a fold refuses, or no threshold was lossless.")


def test_where_nothing_was_skipped_nothing_was_spent_and_no_rival_is_beaten():
    row = ("budget 1", 1.0, 0.0, 0.0, 0.0, 0.5, 0.4, 0.6, 0.5)
    idle, spent = harms(row, ("budget 2", 2.0, *row[2:])), harms(row, ("budget 2", 2.0, 1.5, 1.0, -1.0, *row[5:]))
    said = plain(promises.promise_words(idle, bins()))
    assert said.startswith("- Nothing was skipped under any budget, so none was spent.\n- Platt") and "promised" not in said
    said = plain(promises.promise_words(spent, bins()))
    assert said.startswith("- Under the 1 pp budget nothing was skipped, so none of it was spent.\n- The 2 pp budget promised 1.50 pp of harm")
    table = rival(("learned", 1, "coverage", 0.0, 0.0, 0.0), ("learned", 1, "budget 1", 2.0, 1.0, 3.0))
    assert promises.rivals_words(table.assign(skip=0.0), areas()) == "Nothing was skipped, so no rival is beaten."
    said = promises.rivals_words(table.assign(skip=[0.0, 0.4]), areas())
    assert said.startswith("- The coverage rule skipped nothing, so it beats no rival.\n- Against as many skips at random, the 1 pp budget is surely better in 1")


def leaks(*rows):
    made = pd.DataFrame(rows, columns=["decider", "labels_moved", "fallback_moved", "caught"])
    return made.assign(skip_moved=0, p_harm_moved=0, decisions=100)


@pytest.mark.parametrize(
    "rows, said",
    [
        (
            [("protocol", 20, 0, False)],
            "20 held-out questions exchanged labels, and the protocol (100 decisions) moved no skip, no fallback and no chance: it has not looked.",
        ),
        ([("protocol", 20, 3, True)], "moved 3 values: it **has seen labels**."),
        ([("protocol", 0, 0, None)], "No label of a held-out question changed, so the protocol was not tested."),
        (
            [("oracle fallback", 20, 7, True), ("oracle fallback", 20, 5, True)],
            "The planted leak (oracle fallback) was caught in 2 of 2 folds (12 of its values moved), so the check sees what it should.",
        ),
        (
            [("oracle fallback", 20, 7, True), ("oracle fallback", 20, 0, False)],
            "caught in 1 of 2 folds (7 of its values moved), so the check is partly blind.",
        ),
        ([("oracle fallback", 20, 0, False)], "caught in none of 1 fold (0 of its values moved), so the check is blind here."),
    ],
)
def test_leaks_are_named(rows, said):
    assert promises.leaks_words(leaks(*rows)).endswith(said)


# --- more ---------------------------------------------------------------------------------------------------------------------------------


def test_how_deep_to_read():
    rows = [
        ("a", "H", 0.2, 8, np.nan),
        ("a", "gated", 0.2, np.nan, np.nan),
        ("a", "rerank", 0.2, 4, 6),
        ("a", "H", 0.1, np.nan, np.nan),
        ("a", "H", 0.05, 9, 9),
    ]
    table = pd.DataFrame(rows, columns=["dataset", "pipeline", "alpha", "k", "k_sure"]).assign(n=150)
    assert plain(more.lasthop_words(table)).endswith(
        "on a (150 questions): 80 % H 8, rerank 4 (surely 6), out of reach for gated; 90 % out of reach."
    )
    assert "nothing to tell" in more.lasthop_words(table[table["alpha"] == 0.05])


@pytest.mark.parametrize(
    "ends, said", [((0.01, 0.03), "answers get better"), ((-0.03, -0.01), "answers get worse"), ((-0.01, 0.03), "whether answers change is undecided")]
)
def test_answers_are_told_with_the_questions_that_they_cover(ends, said):
    row = {
        "dataset": "a",
        "k": 5,
        "rule": "coverage",
        "covered": 80,
        "n": 100,
        "h": 0.5,
        "rerank": 0.6,
        "gated": 0.61,
        "delta": 0.01,
        "ci_low": ends[0],
        "ci_high": ends[1],
    }
    told = plain(more.replayed_words(pd.DataFrame([row, row | {"rule": "budget 2"}])))
    assert told == (
        f"On a (K 5) under the coverage rule F1 is 0.50 from H, 0.60 reranked and 0.61 gated; against always reranking +0.010 [{'−' if ends[0] < 0 else '+'}"
        f"{abs(ends[0]):.3f}, {'−' if ends[1] < 0 else '+'}{abs(ends[1]):.3f}] on 80 of 100 questions: {said}; of the other 20 nothing is known."
    )
    assert "nothing is known" not in more.replayed_words(pd.DataFrame([row | {"n": 80}]))
    assert "was read for none of 100 questions" in more.replayed_words(pd.DataFrame([row | {"covered": 0}]))
    assert "under the 2 pp budget" in more.replayed_words(pd.DataFrame([row | {"rule": "budget 2"}]))
    same = row | {"delta": 0.0, "ci_low": 0.0, "ci_high": 0.0}
    assert "on 80 of 100 questions: the gate changes no answer's F1; of the other 20" in more.replayed_words(pd.DataFrame([same]))


@pytest.mark.parametrize(
    "low, high, p, said", [(0.5, 3.0, 0.01, "better)."), (-3.0, -0.5, 0.01, "worse)."), (0.5, 3.0, 0.2, "undecided). To see no difference is no proof")]
)
def test_larger_pools(low, high, p, said):
    rows = [("H + V", 0.5, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan), ("all five", 0.52, 2.0, low, high, 5, 2, p)]
    table = pd.DataFrame(rows, columns=["pool", "coverage", "delta", "ci_low", "ci_high", "wins", "losses", "p_holm"]).assign(dataset="a", k=5, n=100)
    told = plain(more.pools_words(table))
    assert "the reranker finds 50 % in the pool H + V; against that, all five +2.0 pp [" in told and "(" + said in told
    assert "no larger pool was reranked" in more.pools_words(table[:1])


def test_a_model_that_read_fewer_questions_is_told_of_these_alone():
    rows = [("H + V", 0.5, np.nan, 100), ("all five", 0.52, 2.0, 100), ("H + V, reranker (questions of some-model)", 0.8, np.nan, 25),
            ("H + V, some-model", 0.7, -10.0, 25)]
    table = pd.DataFrame(rows, columns=["pool", "coverage", "delta", "n"]).assign(dataset="a", k=5, ci_low=-20.0, ci_high=20.0, p_holm=1.0)
    told = plain(more.pools_words(table))
    first, second = told.splitlines()
    assert first.startswith("- On a (100 questions, K 5) the reranker finds 50 % in the pool H + V; against that, all five +2.0 pp [−20.0, +20.0] (undecided).")
    assert second.startswith("- On a (25 questions, K 5) the reranker finds 80 % in the pool H + V; against that, `some-model` in its place −10.0 pp [−20.0, ")
    assert plain(more.pools_words(table.sample(frac=1, random_state=3))) == told


def test_promised_thresholds_and_the_sizes_that_they_need():
    rows = [
        ("conformal", 1, "budget 1", 0.0, 0),
        ("conformal", 5, "budget 1", 0.4, 2),
        ("conformal", 1, "budget 0.5", 0.0, 0),
        ("high probability", 1, "budget 1", 0.0, 0),
    ]
    table = pd.DataFrame(rows, columns=["gate", "k", "rule", "skip", "harmful"]).assign(dataset="a", n=200)
    told = plain(more.conformal_words(table, pd.DataFrame({"n_calibration": [60, 61]})))
    assert told == (
        "- Of the calls, by budget, the conformal gates skip nothing at 0.5 pp, 20 % at 1 pp (in 1 of 2 cells; 0.50 pp of harm came).\n"
        "- Of the calls, by budget, the high probability gates skip nothing at 1 pp.\n"
        "- Calibration questions needed before anything is granted, even if none is harmed (conformal / high probability): 199 / 460 for 0.5 pp, 99 / 230 for "
        "1 pp. Here a fold has 60 to 61."
    )
    assert plain(more.conformal_words(table)).endswith("for 1 pp.") and more.conformal_words(table, pd.DataFrame({"n_calibration": [60]})).endswith(
        "Here a fold has 60."
    )


def test_cost_and_the_tail_that_stays():
    row = {
        "dataset": "a",
        "k": 5,
        "rule": "coverage",
        "always_per_1k": 0.4,
        "gated_per_1k": 0.3,
        "saved": 0.25,
        "saved_low": 0.2,
        "saved_high": 0.3,
        "skip": 0.26,
        "always_seconds": 0.5,
        "gated_seconds": 0.4,
        "always_p95": 0.9,
        "gated_p95": 0.91,
        "counts": "measured",
        "measured": 90,
        "n": 90,
    }
    assert plain(more.cost_words(pd.DataFrame([row]))) == (
        "On a (K 5) reranking 1,000 questions costs 0.40; gated 0.30 under the coverage rule (25 % [20, 30] saved, 26 % skipped). Seconds added (mean / p95): "
        "0.5 / 0.9 always, 0.4 / 0.91 under the coverage rule. A gate that still reranks one question in twenty leaves the slowest ones as slow."
    )
    partly = plain(more.cost_words(pd.DataFrame([row | {"counts": "per-call average", "measured": 80}])))
    assert "skipped). Counts: per-call average, 80 of 90 questions. Seconds" in partly
    assert "0.00 under the coverage rule (every call skipped)." in plain(more.cost_words(pd.DataFrame([row | {"gated_per_1k": 0.0, "skip": 1.0}])))
    assert "slowest" not in more.cost_words(pd.DataFrame([row | {"gated_p95": 0.1}]))
    assert "Seconds" not in more.cost_words(pd.DataFrame([row | {"always_seconds": np.nan}]))
    assert "a saving unknown" in more.cost_words(pd.DataFrame([row | {"saved": np.nan}])) and "25 % saved" in plain(
        more.cost_words(pd.DataFrame([row | {"saved_low": np.nan}]))
    )
    assert "under the 2 pp budget" in more.cost_words(pd.DataFrame([row | {"rule": "budget 2"}]))


def test_simulated_optimism():
    rows = [(n, g, "optimism", 2 / g if n == 250 else 0.5) for n in (250, 2000) for g in (1, 64)] + [
        (n, g, q, v) for n in (250, 2000) for g in (1, 64) for q, v in (("held_out_passes", 0.48), ("bound_passes", 0.05))
    ]
    table = pd.DataFrame(rows, columns=["n", "grid", "quantity", "estimate"]).assign(rule="coverage", runs=100)
    table = table.assign(ci_low=table["estimate"] - 0.5, ci_high=table["estimate"] + 0.5)
    assert plain(more.optimism_words(table)) == (
        "Simulated, the coverage rule: the truth is worse than the promise by +0.03 pp [−0.47, +0.53] (the best of 64, 250 questions), +0.50 pp [0.00, +1.00] "
        "(the best of 64, 2,000 questions) and +2.00 pp [+1.50, +2.50] (the only candidate, 250 questions). A gate without any search on 2,000 questions then "
        "keeps its rule on as many held-out ones in 48 % of 100 runs, and surely, by the bound, in 5 %."
    )
    searched = plain(more.optimism_words(table[table["grid"] == 64]))
    assert "only candidate" not in searched and "The best of 64 on 2,000 questions then keeps" in searched


def compared_rows(*rows):
    return pd.DataFrame([dict(dataset="a", measure=m, ranker=r, kind=k, delta=d, n=n) for r, k, d, n, m in rows], columns=["dataset", "measure", "ranker", "kind", "delta", "n"])


@pytest.mark.parametrize("rows, said", [
    ([("h + cross", "cross-encoder", -0.02, 100, "ndcg"), ("d + cross", "cross-encoder", 0.0, 100, "ndcg"), ("h + llm", "language model", -0.3, 40, "ndcg"),
      ("h + fusion", "no model", 0.1, 100, "ndcg"), ("h + llm", "language model", 0.9, 40, "pool_recall")],
     "it has −0.010 nDCG against its own first stage, on average over 200 pairs of question and list; none that reads did better (next: `llm`, −0.300 on 40)."),
    ([("h + cross", "cross-encoder", -0.02, 100, "ndcg"), ("h + llm", "language model", 0.1, 40, "ndcg")], "`llm` did better (+0.100 on 40), on fewer questions."),
    ([("h + cross", "cross-encoder", -0.02, 100, "ndcg"), ("h + big", "cross-encoder", 0.1, 100, "ndcg")], "`big` did better (+0.100 on 100): rerank with that one"),
    ([("h + cross", "cross-encoder", -0.02, 100, "ndcg")], "It is the only one that reads that the audit asked (−0.020"),
    ([("h + llm", "language model", 0.1, 40, "ndcg")], "The audit did not compare it with a first stage."),
])
def test_the_reranker_is_named_and_stands_among_the_others(rows, said):
    usage = pd.DataFrame({"dataset": "a", "qid": ["q1", "q2"], "reranker": "cross", "pairs": [10, 15], "tokens": 1.0})
    told = plain(more.reranker_words(compared_rows(*rows), usage))
    assert told.startswith("The expensive reranker here is `cross`: it reads 12 passages a question") and said in told
    assert "nobody reranked the union" in more.reranker_words(compared_rows(*rows), usage.head(0))


def test_a_reranker_that_no_audit_compared_is_named_alone():
    """A run without gold compares none."""
    usage = pd.DataFrame({"dataset": "a", "qid": ["q1"], "reranker": "cross", "pairs": [10], "tokens": 1.0})
    assert plain(more.reranker_words(compared_rows(), usage)).endswith("The audit did not compare it with a first stage.")
