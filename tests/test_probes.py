"""Probes: an honest reranker passes, planted liars are each caught by their probe, cycles are counted as closed forms say; drift, calibration, abstention."""
import math
import random
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from lib.cross_encoder_quality import platt
from lib import probes_scores, tables
from lib.declarations_depth import DEPTH
from lib.probes import PROBES, THRESHOLDS, Asked, Case, Instruction, probe
from lib.probes_abstention import abstention, risk_coverage, top_scores, under_risk_coverage, without_relevant
from lib.probes_calibration import calibration, reliability
from lib.probes_inputs import best_order, changed_pairs, changed_top
from lib.probes_preferences import cyclic_share, most_cycles, three_cycles


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in DEPTH.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


class Reranked(NamedTuple):
    order: list
    scores: list
    calls: int
    tokens: int = 0
    repaired: int = 0


class Honest:
    """Scores each passage by the words it shares with the question; ties by text, so that no order of the input shows."""

    name = "honest"

    def score(self, question, passage, place, passages):
        return len(set(question.split()) & set(passage.split())) + random.Random(passage).random() / 10

    def rerank(self, question, passages):
        scores = [self.score(question, p, i, passages) for i, p in enumerate(passages)]
        return Reranked(sorted(range(len(passages)), key=lambda i: (-scores[i], passages[i])), scores, len(passages))


class Pairwise(Honest):
    name = "pairwise"

    def prefers(self, question, a, b):
        return self.score(question, a, 0, [a, b]) > self.score(question, b, 1, [a, b])


class FirstFirst(Honest):
    """Believes what comes first."""
    name = "position"

    def score(self, question, passage, place, passages):
        return super().score(question, passage, place, passages) - 0.8 * place


class Popular(Honest):
    """Believes what is said often."""
    name = "popular"

    def score(self, question, passage, place, passages):
        return super().score(question, passage, place, passages) + 3.0 * (passages.count(passage) - 1)


class Circular(Pairwise):
    """Prefers by three kinds of passage, as stone, scissors and paper."""
    name = "circular"

    def prefers(self, question, a, b):
        kinds = [sum(map(ord, p)) % 3 for p in (a, b)]
        return (kinds[0] - kinds[1]) % 3 == 1 if kinds[0] != kinds[1] else a < b


class FirstNamed(Pairwise):
    """Prefers what is named first."""
    name = "first named"

    def prefers(self, question, a, b):
        return True


class Restless(Honest):
    """Answers by the time of day."""
    name = "restless"

    def __init__(self):
        self.draw = random.Random(0)

    def score(self, question, passage, place, passages):
        return self.draw.random()


class Constant(Honest):
    """Orders well and gives every list the same scores: it cannot abstain."""
    name = "order alone"

    def rerank(self, question, passages):
        return super().rerank(question, passages)._replace(scores=[1.0] * len(passages))


class Sure(Honest):
    """Scores well, and adds that something is always right."""
    name = "sure"

    def rerank(self, question, passages):
        found = super().rerank(question, passages)
        return found._replace(scores=[s + 10 * (i == found.order[0]) - max(found.scores) + len(question) % 3 for i, s in enumerate(found.scores)])


class Fooled(Honest):
    """Thinks that what is off the subject is deep."""
    name = "fooled"

    def score(self, question, passage, place, passages):
        return -super().score(question, passage, place, passages)


def cases(n=24, passages=10, seed=0):
    """Questions of five words of their own; a relevant passage holds four, the others one or none; other words keep them, an instruction names one more."""
    rng = random.Random(seed)
    made = []
    for k in range(n):
        words = [f"w{k}x{j}" for j in range(5)]
        grades = [0.0] * passages
        for place in rng.sample(range(passages), 2):
            grades[place] = 1.0
        texts = [" ".join([*(words[:4] if g else words[4:] if i % 2 else []), f"p{k}n{i}", *([f"role{k}n{i}"] * 1)]) for i, g in enumerate(grades)]
        relevant = [i for i, g in enumerate(grades) if g]
        before = sorted(relevant, key=lambda i: -Honest().score(" ".join(words), texts[i], 0, texts))
        made.append(Case(f"q{k:02d}", " ".join(words), texts, grades, reworded=" ".join(["please", *reversed(words)]),
                         instruction=Instruction(" ".join([*words, f"role{k}n{before[1]}"]), up=before[1], down=before[0])))
    return made


def verdicts(reranker, given=None, **options):
    made = probe(reranker, cases() if given is None else given, resamples=200, **options)
    assert len(tables.check(made, "probes")) == len(PROBES)
    return made.set_index("probe")


# --- the honest pass, and each liar is caught

def test_an_honest_reranker_passes_everything_that_applies():
    found = verdicts(Pairwise())
    assert set(found["verdict"]) == {"pass"} and (found["value"] <= found["threshold"]).all()
    assert found.loc[["shuffle", "duplicates", "control_order", "repeat", "reworded", "preference_cycles", "preference_order"], "value"].tolist() == [0] * 7
    assert set(verdicts(Honest()).loc[["preference_cycles", "preference_order"], "verdict"]) == {"not applicable"}


@pytest.mark.parametrize(("liar", "caught"), [
    (FirstFirst, {"shuffle"}), (Popular, {"duplicates"}), (Circular, {"preference_cycles"}), (FirstNamed, {"preference_order"}),
    (Restless, {"repeat", "shuffle", "control_order", "irrelevant_control"}), (Sure, {"omitted_answer"}), (Fooled, {"irrelevant_control", "already_correct",
    "oracle_order"})])
def test_a_planted_liar_is_caught_by_its_probe(liar, caught):
    found = verdicts(liar())
    assert caught <= set(found.index[found["verdict"] == "fail"])


def test_each_single_fault_is_caught_by_little_else():
    assert set(verdicts(Popular()).query("verdict == 'fail'").index) == {"duplicates"}
    assert set(verdicts(Circular()).query("verdict == 'fail'").index) == {"preference_cycles"}
    assert set(verdicts(Sure()).query("verdict == 'fail'").index) == {"omitted_answer"}


def test_a_reranker_that_only_orders_cannot_abstain():
    found = verdicts(Constant())
    assert found.loc["omitted_answer", "verdict"] == "not applicable" and found.loc["omitted_answer", "n"] == 0


def test_an_instruction_that_is_ignored_fails_and_one_that_is_followed_passes():
    class Deaf(Honest):
        name = "deaf"

        def score(self, question, passage, place, passages):
            return super().score(" ".join(question.split()[:5]), passage, place, passages)

    assert verdicts(Deaf()).loc["instruction", ["value", "verdict"]].tolist() == [0.5, "fail"]
    assert verdicts(Honest()).loc["instruction", "value"] == 0


def test_what_does_not_apply_is_said():
    bare = [Case(c.qid, c.question, c.passages, c.grades) for c in cases(6)]
    found = verdicts(Honest(), bare)
    assert set(found.index[found["verdict"] == "not applicable"]) == {"reworded", "instruction", "preference_cycles", "preference_order"}
    assert set(verdicts(Honest(), [])["verdict"]) == {"not applicable"}
    alone = verdicts(Honest(), [Case("q", "w", ["w one"], [1.0])])
    assert set(alone["verdict"]) == {"not applicable"}
    nothing = verdicts(Honest(), [Case(f"q{i}", "a b", [f"a {i}", f"b {i}", "c"], [0.0] * 3) for i in range(3)], m=2)
    assert nothing.loc["already_correct", "verdict"] == nothing.loc["omitted_answer", "verdict"] == "not applicable" and nothing.loc["shuffle",
            "verdict"] == "pass"


def test_thresholds_are_parameters_and_cases_in_any_order_give_the_same():
    strict, lax = verdicts(FirstFirst(), thresholds={"shuffle": 0.0}), verdicts(FirstFirst(), thresholds={"shuffle": 1.0})
    assert strict.loc["shuffle", "verdict"] == "fail" and lax.loc["shuffle", "verdict"] == "pass" and strict.loc["shuffle", "value"] == lax.loc["shuffle",
            "value"]
    given = cases()
    a, b = (probe(FirstFirst(), c, resamples=100).drop(columns="calls") for c in (given, given[::-1]))
    pd.testing.assert_frame_equal(a, b)
    assert probe(FirstFirst(), given, resamples=100, seed=1).set_index("probe").loc["shuffle", "value"] != a.set_index("probe").loc["shuffle", "value"]


@pytest.mark.parametrize("options", [{"thresholds": {"weather": 0.1}}, {"thresholds": {"shuffle": 2}}, {"m": 0}])
def test_bad_settings_are_refused(options):
    with pytest.raises(ValueError):
        probe(Honest(), cases(3), **options)
    with pytest.raises(ValueError, match="an id of its own"):
        probe(Honest(), [*cases(3), *cases(3)])


def test_an_order_that_is_no_permutation_is_one_error():
    class Loses(Honest):
        def rerank(self, question, passages):
            return super().rerank(question, passages)._replace(order=[0] * len(passages))

    with pytest.raises(ValueError, match="must name each place once"):
        probe(Loses(), cases(3))


def test_a_mean_of_both_orders_is_understood_and_probes_can_be_chosen():
    class Both(Pairwise):
        name, prefers = "both", None

        def prefer(self, question, a, b):
            return type("P", (), {"margin": self.score(question, a, 0, [a, b]) - self.score(question, b, 0, [a, b]), "contradicts": a[-1] == b[-1]})

    made = probe(Both(), cases(6), only=("preference_cycles", "preference_order"), resamples=50, compared=4).set_index("probe")
    assert len(made) == 2 and made.loc["preference_cycles", "value"] == 0 and made["calls"].tolist() == [6 * 6 * 2, 0]
    with pytest.raises(ValueError, match="unknown probe"):
        probe(Both(), cases(2), only=("weather",))


def test_calls_are_counted_and_the_same_is_asked_once():
    asked = Asked(Honest(), 5, 0)
    case = cases(1)[0]
    asked.order(case.question, case.passages), asked.order(case.question, case.passages), asked.top_score(case.question, case.passages)
    assert asked.calls == 10
    asked.order(case.question, case.passages, again=True)
    assert asked.calls == 20


def test_helpers_by_hand():
    assert best_order([0, -1, 2, 1, 2]) == [2, 4, 3, 0, 1] and changed_pairs([0, 1, 2], [2, 1, 0]) == 1 and math.isnan(changed_pairs([0], [0]))
    assert changed_top([0, 1, 2], [1, 0, 2], 2) == 0 and math.isnan(changed_top([0, 1], [1, 0], 2)) and THRESHOLDS.keys() == PROBES.keys()


# --- circles

def test_circles_are_those_of_kendall_and_babington_smith():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 7
        beats = np.triu(rng.random((n, n)) < 0.5, 1)
        beats |= np.tril(~beats.T, -1)
        wins = beats.sum(1)
        assert three_cycles(beats) == math.comb(n, 3) - sum(math.comb(int(w), 2) for w in wins)
        counted = sum(beats[a, b] and beats[b, c] and beats[c, a] for a in range(n) for b in range(n) for c in range(n)) // 3
        assert three_cycles(beats) == counted <= most_cycles(n)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_the_roundest_tournament_has_the_most_circles_and_an_order_none(n):
    ring = np.array([[0 < (b - a) % n <= n // 2 for b in range(n)] for a in range(n)])
    assert three_cycles(ring) == most_cycles(n) and cyclic_share(np.triu(np.ones((n, n), bool), 1)) == 0 and math.isnan(cyclic_share(np.zeros((2, 2), bool)))


# --- scores across queries

def scores(n=80, shift=0.0, informed=2.0, moved=0.0, seed=0, dataset="d"):
    """Ten candidates a query, one relevant in three of four queries; ``shift``: queries' own levels; ``moved``: how much higher the second slice scores."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        grade = np.zeros(10)
        grade[rng.integers(10)] = i % 4 != 0
        level = shift * rng.standard_normal() + moved * (i % 8 >= 4)
        rows.append(pd.DataFrame({"dataset": dataset, "qid": f"q{i:03d}", "slice": "b" if i % 8 >= 4 else "a", "half": i // 8 % 2,
                "score": level - 2 + informed * grade + rng.standard_normal(10), "grade": grade}))
    return pd.concat(rows, ignore_index=True)


def test_variance_between_queries_is_seen():
    still, moving = (probes_scores.between_queries(scores(shift=s, informed=0.0), 200) for s in (0.0, 3.0))
    assert still.estimate < 0.2 and moving.estimate > 0.8 and moving.low > still.high
    rows = scores(shift=1.0, seed=3)
    means = rows.groupby("qid")["score"].transform("mean")
    assert probes_scores.between_queries(rows, 50).estimate == pytest.approx(means.var(ddof=0) / rows["score"].var(ddof=0))
    assert math.isnan(probes_scores.between_queries(rows.assign(score=1.0), 50).estimate)


def test_a_planted_drift_between_slices_is_found_and_none_between_halves():
    made = probes_scores.drift(scores(n=160, moved=3.0), 200).set_index(["comparison", "quantity"])
    assert made.loc[("b − others", "ks"), "p_value"] < 0.001 and made.loc[("b − others", "psi"), "p_value"] < 0.01 and made.loc[("b − others", "psi"),
            "estimate"] > 0.25
    assert made.loc[("half 0 − half 1", "ks"), "p_value"] > 0.05


def test_psi_and_ks_seldom_alarm_without_a_drift():
    found = pd.concat([probes_scores.drift(scores(n=40, seed=s), 60) for s in range(40)])
    alarms = found[found["comparison"] == "half 0 − half 1"].groupby("quantity")["p_value"].apply(lambda p: (p < 0.05).sum())
    assert alarms["ks"] <= 6 and alarms["psi"] <= 6  # binomial, 40 draws of 5 %: 99th percentile 6


def test_psi_of_a_hand_count():
    assert probes_scores.psi(np.array([0.0] * 4), np.array([0.0, 0.0, 1.0, 1.0]),
            bins=2) == pytest.approx((4.5 / 5 - 2.5 / 5) * math.log(4.5 / 2.5) + (0.5 / 5 - 2.5 / 5) * math.log(0.5 / 2.5))


def test_calibration_by_hand_and_platt_mends_what_is_stretched():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1.5, 4_000)
    rows = pd.DataFrame({"dataset": "d", "qid": [f"q{i // 10}" for i in range(4_000)], "slice": "s", "half": [i // 10 % 2 for i in range(4_000)],
                         "score": 4 * logits + 2, "grade": (rng.random(4_000) < 1 / (1 + np.exp(-logits))).astype(float)})
    made = calibration(rows, 200).set_index("form")
    assert made.loc["platt", "ece"] < 0.03 and made.loc["sigmoid", "ci_low"] > 0.1
    bins = reliability(rows)
    assert bins.groupby("form")["count"].sum().tolist() == [2_000, 2_000]
    one = bins[(bins["form"] == "sigmoid") & (bins["bin"] == 9)].iloc[0]
    here = rows[(rows["half"] == 1) & (1 / (1 + np.exp(-rows["score"])) >= 0.9)]
    assert one["count"] == len(here) and one["relevant"] == pytest.approx(here["grade"].mean())
    weighted = (bins[bins["form"] == "sigmoid"].eval("count * abs(probability - relevant)").sum()) / 2_000
    assert made.loc["sigmoid", "ece"] == pytest.approx(weighted)


def test_the_top_score_knows_an_empty_pool_only_where_it_is_informed():
    keen, blind = (abstention(scores(n=120, informed=i, seed=4), 200).iloc[0] for i in (4.0, 0.0))
    assert keen["auc"] > 0.85 and keen["auc_low"] > 0.7 and keen["n_without"] == 30 and keen["auc_removed"] > 0.85
    assert blind["auc_low"] < 0.5 < blind["auc_high"] and 0.45 < blind["auc_removed"] < 0.65  # one candidate fewer: its maximum is a little lower


def test_auc_is_that_of_every_pair_and_good_order_does_not_imply_it():
    rows = scores(n=60, seed=5)
    tops = top_scores(rows)
    expected = np.mean([(a > b) + 0.5 * (a == b) for a in tops.loc[tops["relevant"], "top"] for b in tops.loc[~tops["relevant"], "top"]])
    assert abstention(rows, 50)["auc"].iat[0] == pytest.approx(expected)
    within = rows.assign(score=rows["score"] - rows.groupby("qid")["score"].transform("max"))  # the order within a query stays, its level goes
    assert abstention(within, 50)["auc"].iat[0] == 0.5 and top_scores(within)["relevant_top"].tolist() == tops["relevant_top"].tolist()


def test_risk_rises_to_that_of_answering_all():
    rows = scores(n=100, informed=4.0, seed=6)
    curve = risk_coverage(rows)
    assert curve["coverage"].is_monotonic_increasing and curve["coverage"].iat[-1] == 1 and curve["risk_empty"].iat[-1] == pytest.approx(0.25)
    assert curve.loc[curve["coverage"] <= 0.5, "risk_empty"].mean() < 0.1 and under_risk_coverage(curve)["d"] < curve["risk_top"].iat[-1]
    assert (curve["risk_top"] >= curve["risk_empty"] - 1e-12).all(), "an empty pool has no right top"
    assert without_relevant(rows)["grade"].max() == 0


def test_the_long_table_is_whole_and_odd_scores_do_not_break_it():
    rows = pd.concat([scores(n=40, seed=7), scores(n=24, seed=8, dataset="e")])
    made = tables.check(probes_scores.table_of(rows, "sample", "bm25", "planted", 100), "score_scale")
    assert set(made["dataset"]) == {"d", "e"} and (made["n"] > 0).all()
    tables.check(reliability(rows).assign(tier="sample", ranker="bm25", reranker="planted"), "reliability")
    for odd in (rows.assign(score=1.0), rows.assign(grade=0.0), rows.assign(half=0), rows.assign(score=rows["score"].where(rows.index % 3 > 0)),
            rows.head(10), rows.assign(slice="one")):
        tables.check(probes_scores.table_of(odd, "sample", "bm25", "planted", 20), "score_scale")
    typed = rows.astype({"grade": "Int64", "half": "Int64", "score": "Float64", "qid": "string", "slice": "string"})
    typed["grade"] = typed["grade"].mask(typed["grade"] == 0)  # as tables are read: missing where nobody judged
    again = tables.check(probes_scores.table_of(typed, "sample", "bm25", "planted", 100), "score_scale")
    assert again["estimate"].round(9).tolist() == pytest.approx(made["estimate"].round(9).tolist(), nan_ok=True)
    with pytest.raises(ValueError, match="infinite"):
        probes_scores.table_of(rows.assign(score=np.inf), "s", "r", "m")
    with pytest.raises(ValueError, match="columns"):
        probes_scores.table_of(rows.drop(columns="half"), "s", "r", "m")


def test_platt_stops_where_the_likelihood_is_flat():
    """Both score equations hold: the fitted probabilities sum to the positives, and so do they weighted by the logit (Newton's end point)."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=400)
    is_gold = (rng.random(400) < 1 / (1 + np.exp(1.8 - 1.4 * logits))).astype(int)
    fitted, (slope, intercept) = platt(logits, is_gold, logits)
    assert abs((fitted - is_gold).sum()) < 1e-4 and abs(((fitted - is_gold) * logits).sum()) < 1e-4
    beta = np.zeros(2)
    x = np.column_stack([logits, np.ones(400)])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (is_gold - p))
    assert (slope, intercept) == pytest.approx(tuple(beta), abs=1e-5)
