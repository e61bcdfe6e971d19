"""A cascade equals its ends at its ends; identifiers ask no model; signals and thresholds are judged on questions they have not seen."""
import math
import random

import numpy as np
import pandas as pd
import pytest

from lib import tables
from lib.declarations_rerankers import RERANKERS
from lib.grades import ndcg_at
from lib.rerankers import Pointwise, Reranked, Unchanged, ask
from lib.rerankers_cascade import Cascade, by_identifier
from lib.rerankers_signals import (
    SIGNALS,
    Read,
    ceiling_gap,
    closeness,
    disagreement,
    expected_gap,
    holds,
    identifiers,
    missing_roles,
)
from lib.rerankers_validation import auc_interval, cascade_rows, choose_threshold, validate_cascade
from tests.rerank_world import Mills, world

TEXTS = ["a mill", "the ferry", "a mill, a mill", "bees", "mill mill mill", "sea", "eel mill"]
SHORT = Pointwise("short", lambda pairs: [-float(len(p)) for _, p in pairs], lambda pairs: [len(p) for _, p in pairs])


# --- the cascade

def test_never_escalating_is_the_small_one_and_always_the_large_one():
    small, large = ask(Mills(), "Who?", TEXTS), ask(SHORT, "Who?", TEXTS)
    for signal in SIGNALS:
        never, always = (ask(Cascade(Mills(), SHORT, signal, t), "Who?", TEXTS) for t in (math.inf, -math.inf))
        assert never == small
        assert (always.order, always.scores) == (large.order, large.scores)
        assert (always.calls, always.tokens) == (small.calls + large.calls, small.tokens + large.tokens), "the small one was asked first"


def test_a_threshold_splits_and_an_undefined_signal_escalates():
    high, low, unknown = (Cascade(Mills(), SHORT, lambda read, v=v: v, 0.5) for v in (0.5, 0.49, math.nan))
    assert ask(high, "Who?", TEXTS).order == ask(unknown, "Who?", TEXTS).order == ask(SHORT, "Who?", TEXTS).order
    assert ask(low, "Who?", TEXTS) == ask(Mills(), "Who?", TEXTS)


def test_only_the_head_is_ordered_anew_and_the_rest_follows_as_the_small_one_left_it():
    small = ask(Mills(), "Who?", TEXTS)
    made = ask(Cascade(Mills(), SHORT, threshold=-math.inf, head=3), "Who?", TEXTS)
    assert sorted(made.order[:3]) == sorted(small.order[:3]) and made.order[3:] == small.order[3:] and made.order[:3] == [0, 2, 4]
    assert made.calls == small.calls + 3 and sum(map(math.isnan, made.scores)) == 4


def test_an_identifier_goes_to_exact_match_and_asks_no_model():
    class Never:
        name = "never"

        def rerank(self, question, passages):
            raise AssertionError("asked")

    texts = ["POL-10 is old.", "The ferry.", "See POL-104, and POL-104 again.", "POL-104-B differs."]
    made = ask(Cascade(Never(), Never()), "What does POL-104 bind?", texts)
    assert (made.order, made.calls, made.tokens) == ([2, 0, 1, 3], 0, 0)
    assert by_identifier("What does POL-9 bind?", texts) is None and by_identifier("Who?", texts) is None
    with pytest.raises(AssertionError, match="asked"):
        ask(Cascade(Never(), Never(), bypass=False), "What does POL-104 bind?", texts)
    assert ask(Cascade(Unchanged(), Never(), threshold=math.inf), "What does POL-9 bind?", texts).order == [0, 1, 2, 3]


@pytest.mark.parametrize("question, codes", [
    ("What does POL-104 say about ISO9001 since 1934?", ["POL-104", "ISO9001"]), ("Rule 12/7 or 2024-17-B?", ["12/7", "2024-17-B"]),
    ("In 1934, 200 of them?", []),
    ("Who was Harrow?", []), ("Is v2.1 out?", []), ("What is HR.4?", ["HR.4"]), ("", [])])
def test_what_counts_as_an_identifier(question, codes):
    assert identifiers(question) == codes


def test_an_identifier_must_stand_alone():
    assert holds("POL-10", "By POL-10.") and not holds("POL-10", "By POL-104.") and not holds("POL-10", "XPOL-10") and not holds("A+", None)


def test_wrong_settings_are_refused_and_nothing_is_nothing():
    for more, said in (({"signal": "doubt"}, "signal must be"), ({"threshold": math.nan}, "threshold must be"), ({"head": 0}, "head must be")):
        with pytest.raises(ValueError, match=said):
            Cascade(Mills(), SHORT, **more)
    assert ask(Cascade(Mills(), SHORT), "Who?", []).order == [] and ask(Cascade(Mills(), SHORT), "Who?", ["", ""]).order == [0, 1]


# --- signals

def read(scores, question="Who built the mill?", texts=None):
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return Read(question, texts or ["a mill"] * len(scores), Reranked(order, scores, len(scores), 0, 0))


def test_signals_by_hand():
    assert closeness(read([9.0, 8.0, 7.0, 6.0, 5.0, 4.5])) == -0.5 and math.isnan(closeness(read([1.0] * 5)))
    assert SIGNALS["closeness_at_1"](read([1.0, 4.0])) == -3.0 and math.isnan(SIGNALS["closeness_at_1"](read([1.0])))
    assert disagreement(read([1, 2, 3, 4, 5, 6.0])) == 0.2 and disagreement(read([6, 5, 4.0])) == 0.0
    told = read([2.0, 1.0], "Did Isott Vane know Edda Sorrel?", ["Isott Vane drew.", "It rained."])
    assert missing_roles(told) == 0.5 and math.isnan(missing_roles(read([1.0], "who?")))


def test_the_estimated_ceiling_equals_brute_force_over_all_outcomes():
    chance = random.Random(0)
    for _ in range(30):
        p = np.array([chance.choice([0, 1, chance.random()]) for _ in range(7)])
        brute = 0.0
        for world_ in range(2 ** 7):
            grades = [(world_ >> i) & 1 for i in range(7)]
            weight = np.prod([x if g else 1 - x for x, g in zip(p, grades)])
            best, given = (sum(g / np.log2(i + 2) for i, g in enumerate(order[:5])) for order in (sorted(grades, reverse=True), grades))
            brute += weight * (best - given)
        assert expected_gap(p) == pytest.approx(brute, abs=1e-9)
    assert expected_gap(np.array([])) == 0.0 and math.isnan(ceiling_gap()(read([])))
    sure, torn = (ceiling_gap(2.0, 0.0)(read(s)) for s in ([9.0, -9.0, -9.0], [0.1, 0.0, -0.1]))
    assert sure < 0.01 < torn


# --- validation

@pytest.fixture(autouse=True)
def declared(monkeypatch):
    """The tables of rerankers, whether or not they are joined to the others yet."""
    monkeypatch.setattr(tables, "TABLES", tables.TABLES | {name: tables._declared(name, spec) for name, spec in RERANKERS.items()})


def rows(n=400, seed=0, informative=True):
    """Questions on which the large one mends a third of the small one's errors; ``disagreement`` tells them or is noise, ``closeness`` is noise."""
    draw = np.random.default_rng(seed)
    error = draw.random(n) < 0.3
    small = np.where(error, 0.2, 0.9)
    large = np.where(error, 0.8, 0.85)
    told = np.where(error, 0.7, 0.3) + draw.normal(0, 0.1, n) if informative else draw.random(n)
    return pd.DataFrame({"dataset": "w", "qid": [f"q{i}" for i in range(n)], "half": np.arange(n) % 2, "small": small, "large": large,
                         "small_tokens": 100, "large_tokens": 1000, "disagreement": told, "closeness": draw.random(n)})


def validated(known, *more, **named):
    """The table, checked against its declaration."""
    made = validate_cascade(known, "sample", "small", "large", *more, **named)
    tables.check(made, "cascade")
    return made


def value(table, signal, quantity, half=1):
    return table[(table["signal"] == signal) & (table["quantity"] == quantity) & (table["half"] == half)].iloc[0]


def test_a_signal_that_tells_errors_beats_the_coin_and_noise_does_not():
    made = validated(rows(), resamples=500)
    good, noise = value(made, "disagreement", "delta_coin"), value(made, "closeness", "delta_coin")
    assert good["ci_low"] > 0.05 and noise["ci_low"] <= 0 <= noise["ci_high"] and good["p_holm"] >= good["p_value"]
    told, nothing = value(made, "disagreement", "auc"), value(made, "closeness", "auc")
    assert told["estimate"] > 0.95 and nothing["ci_low"] < 0.5 < nothing["ci_high"]
    share = value(made, "disagreement", "share_escalated")["estimate"]
    assert 0.2 < share < 0.45 and value(made, "disagreement", "tokens")["estimate"] == pytest.approx(100 + 1000 * share)
    assert value(made, "disagreement", "delta_large")["ci_low"] > 0, "where it should not, the large one does harm"


def test_the_threshold_comes_from_half_0_alone():
    known = rows()
    spoiled = known.assign(small=np.where(known["half"] == 1, 0.0, known["small"]), disagreement=np.where(known["half"] == 1, -9.0, known["disagreement"]))
    a, b = (validated(t, ["disagreement"], resamples=50) for t in (known, spoiled))
    assert a["threshold"].iat[0] == b["threshold"].iat[0] and value(b, "disagreement", "share_escalated")["estimate"] == 0


def decided(signal, threshold):
    """What a cascade itself does at this threshold."""
    return [Cascade(Mills(), SHORT, lambda _, s=s: s, threshold).escalates(None) for s in signal]


def test_the_chosen_threshold_is_the_cheapest_of_the_best_by_brute_force():
    draw = np.random.default_rng(1)
    for _ in range(20):
        signal, small, large = draw.integers(0, 8, 30) / 7, draw.random(30), draw.random(30)
        signal[draw.random(30) < 0.1] = np.nan
        found = choose_threshold(signal, small, large, tolerance=0.02)
        means = {t: np.mean([b if up else a for a, b, up in zip(small, large, decided(signal, t))]) for t in [math.inf, *np.unique(signal[~np.isnan(signal)])]}
        assert means[found] >= max(means.values()) - 0.02 and all(m < max(means.values()) - 0.02 for t, m in means.items() if t > found)


def test_rows_in_any_order_and_a_table_of_few_or_undefined_questions():
    known = rows(60)
    pd.testing.assert_frame_equal(validated(known, resamples=50), validated(known.sample(frac=1, random_state=1), resamples=50))
    assert len(validated(known[:0])) == 0 and len(validated(known[known["half"] == 1])) == 0
    one = validated(known[:1], resamples=50)
    assert set(one["half"]) == {0} and one["ci_low"].isna().all()
    undefined = validated(known.assign(small=np.nan), resamples=50)
    assert len(undefined) == 0
    never = validated(known.assign(large=0.0), ["closeness"], resamples=50)
    assert never["threshold"].isna().all() and value(never, "closeness", "delta_small")["estimate"] == 0
    with pytest.raises(ValueError, match="rows have no signal doubt"):
        validated(known, ["doubt"])
    with pytest.raises(ValueError, match="tolerance must be"):
        validated(known, tolerance=-1)


def test_the_interval_of_the_auc_holds_its_estimate_and_is_undefined_without_both_kinds():
    draw = np.random.default_rng(2)
    signal = draw.normal(size=80)
    made = auc_interval(signal, signal + draw.normal(size=80) > 0, resamples=300)
    assert made.low < made.estimate < made.high and made.estimate > 0.7
    assert math.isnan(auc_interval(signal, np.zeros(80, bool)).estimate)


def test_rows_of_a_real_cascade_hold_quality_cost_and_every_signal():
    rankings, questions, documents = world()
    grade = {"q1": {"d1": 1}, "q2": {"d6": 1}}

    def quality(dataset, qid, docs):
        return ndcg_at([grade.get(qid, {}).get(d, 0) for d in docs], list(grade.get(qid, {}).values()), 5)

    made = cascade_rows(rankings, questions, documents, Unchanged(), Mills(), quality, depth=8)
    assert len(made) == 3 and made["qid"].tolist() == ["q1", "q2", "q3"] and set(SIGNALS) <= set(made.columns)
    assert made["small"].isna().tolist() == [False, False, True], "no gold: undefined, and left out of the validation"
    assert made["small_tokens"].tolist() == [0, 0, 0] and (made["large_tokens"] > 0).all() and made["half"].tolist() == [0, 1, 1]
    validated(made, resamples=50)
