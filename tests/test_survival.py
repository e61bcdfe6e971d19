"""Survival: METRIC_CASES as they stand, the span test against brute force, and its speed."""

import math
import random
import time

import numpy as np
import pytest

from lib.survival import Survival, all_gold_in_context, answer_in_context, answers_in_contexts, gold_coverage, gold_density
from lib.text import answer_tokens, normalise_answer

# gold, context, value, reason, value of the punctuation-as-space variant, what a substring test on normalised text would say
METRIC_CASES = [
    ("no", "I know nothing", 0, "yes/no", 0, 1),
    ("Rome", "Jerome lived", 0, "", 0, 1),
    ("The", "any text", 0, "empty", 0, 1),
    ("New York City", "New York is big. City limits", 0, "", 0, 0),
    ("the United States", "in United States of America", 1, "", 1, 1),
    ("1,000", "about 1000 people", 1, "", 0, 1),
    ("June 5, 1985", "born 5 June 1985", 0, "", 0, 0),
    ("Jay-Z", "rapper Jay Z", 0, "", 1, 0),
    ("Paris", "Paris—the capital", 0, "", 1, 1),
]


@pytest.mark.parametrize(("gold", "context", "value", "reason", "variant", "substring"), METRIC_CASES)
def test_metric_cases(gold, context, value, reason, variant, substring):
    assert answer_in_context([gold], [context]) == Survival(value, reason == "", reason)
    assert answer_in_context([gold], [context], punctuation_as_space=True) == Survival(variant, reason == "", reason)
    assert (normalise_answer(gold) in normalise_answer(context)) == substring  # why a substring test will not do


def test_metric_case_no_run_across_snippets():
    snippets = ["He lives in New", "York is far"]
    assert answer_in_context(["New York"], snippets).value == 0
    assert answer_in_context(["New York"], [" ".join(snippets)]).value == 1


def test_metric_case_gold_documents():
    gold, packed, tokens = {"D1", "D2"}, ["D1", "D1", "D3"], [30, 20, 50]
    assert gold_coverage(gold, packed) == 0.5
    assert all_gold_in_context(gold, packed) == 0
    assert gold_density(gold, packed, tokens) == 0.5


@pytest.mark.parametrize(
    ("golds", "question_type", "expected"),
    [
        (["Rome"], "free_form", Survival(0, False, "free-form")),
        (["Rome"], "comparison_yesno", Survival(0, False, "yes/no")),
        (["Rome"], "comparison_choice", Survival(1, True, "")),
        (["Rome"], "paraphrased", Survival(1, True, "")),
        (["Yes", "Rome"], None, Survival(0, False, "yes/no")),
        (["The", "Rome"], None, Survival(1, True, "")),  # an empty alias is passed over
        (["Norway", "NO"], None, Survival(0, True, "")),  # a yes/no alias is no evidence
        (["Oslo", "Rome"], None, Survival(1, True, "")),
        ([], None, Survival(0, False, "empty")),
        (["a", "..."], None, Survival(0, False, "empty")),
    ],
)
def test_what_is_defined(golds, question_type, expected):
    assert answer_in_context(golds, ["There is no way from Rome, the city"], question_type) == expected


def test_an_empty_context_keeps_the_question_defined():
    assert answer_in_context(["Rome"], []) == answer_in_context(["Rome"], [""]) == Survival(0, True, "")


@pytest.mark.parametrize(("golds", "snippets"), [("Rome", ["Rome"]), (["Rome"], "Rome"), (None, ["Rome"]), ([3], ["Rome"])])
def test_one_text_is_not_a_list_of_texts(golds, snippets):
    with pytest.raises(ValueError, match="got"):
        answer_in_context(golds, snippets)


def contiguous_run(gold, snippet):
    gold, snippet = answer_tokens(gold), answer_tokens(snippet)
    return any(snippet[start : start + len(gold)] == gold for start in range(len(snippet) - len(gold) + 1))


def random_case(draw):
    words = ["oss", "Hall", "the", "New", "York", "1,000", "U.S.", "yes", "–"]
    golds = [" ".join(draw.choices(words, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 2))]
    return golds, [" ".join(draw.choices(words, k=draw.randint(0, 8))) for _ in range(draw.randint(0, 4))]


def test_span_test_equals_brute_force_over_tokens():
    draw = random.Random(5)
    found = 0
    for _ in range(3000):
        golds, snippets = random_case(draw)
        survival = answer_in_context(golds, snippets)
        spans = [gold for gold in golds if normalise_answer(gold) not in ("", "yes")]
        assert survival.value == int(survival.defined and any(contiguous_run(gold, text) for gold in spans for text in snippets))
        found += survival.value
    assert 300 < found < 2700  # the cases must show both outcomes


def test_snippet_order_and_repeats_change_nothing_and_more_text_never_loses_the_answer():
    draw = random.Random(6)
    for _ in range(300):
        golds, snippets = random_case(draw)
        survival = answer_in_context(golds, snippets)
        assert answer_in_context(golds, snippets[::-1] + snippets) == survival
        assert answer_in_context(golds, [*snippets, "and more"]).value >= survival.value


def test_many_contexts_equal_one_at_a_time():
    draw = random.Random(7)
    cases = [random_case(draw) for _ in range(300)]
    types = [draw.choice([None, "bridge", "free_form", "comparison_yesno"]) for _ in cases]
    for variant in (False, True):
        table = answers_in_contexts([golds for golds, _ in cases], [texts for _, texts in cases], types, variant)
        single = [answer_in_context(*case, question_type, variant) for case, question_type in zip(cases, types, strict=True)]
        assert list(table.itertuples(index=False, name=None)) == [tuple(survival) for survival in single]
    assert table.columns.tolist() == ["answer_in_context", "answer_defined", "undefined_reason"]


def test_many_contexts_edges():
    assert len(answers_in_contexts([], [])) == 0
    with pytest.raises(ValueError, match="2 gold lists, 1 contexts"):
        answers_in_contexts([["a"], ["b"]], [["c"]])


def test_hundred_thousand_contexts_within_thirty_seconds():
    """10,000 of them, none repeated, within a tenth of the time (of this process): the cache must not be what saves us."""
    sentence = "The mill at Hallin, built in 1804 by the Oss—a river of the north—burnt down twice. "
    contexts = [[f"{number} {place} {sentence * 2}" for place in range(4)] for number in range(10_000)]
    began = time.process_time()
    table = answers_in_contexts([["Hallin Mill", "the mill at Hallin"]] * len(contexts), contexts)
    assert time.process_time() - began < 3
    assert table["answer_in_context"].all()


def test_without_gold_every_ratio_is_missing():
    assert math.isnan(gold_coverage([], ["D1"]))
    assert math.isnan(all_gold_in_context([], []))
    assert math.isnan(gold_density([], ["D1"], [3]))


def test_ratios_at_their_limits():
    gold = np.array(["D1", "D2"], dtype=object)
    assert (gold_coverage(gold, []), all_gold_in_context(gold, []), gold_density(gold, [], [])) == (0, 0, 0)
    assert (gold_coverage(gold, ["D2", "D1"]), all_gold_in_context(gold, ["D2", "D1"]), gold_density(gold, ["D2"], [7])) == (
        1,
        1,
        1,
    )


@pytest.mark.parametrize(("packed", "tokens", "says"), [(["D1"], [1, 2], "argument 2"), (["D1"], [-1], "negative")])
def test_density_refuses_counts_that_do_not_fit(packed, tokens, says):
    with pytest.raises(ValueError, match=says):
        gold_density({"D1"}, packed, tokens)


def test_gold_ids_must_be_a_collection_of_ids():
    with pytest.raises(ValueError, match="gold_ids"):
        gold_coverage("D1", ["D1"])
