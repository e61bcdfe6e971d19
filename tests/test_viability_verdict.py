"""Requirements, slices and both verdicts: published rules, compound and undecided verdicts, intervals as lib.stats gives them, a simulation."""

import math

import numpy as np
import pandas as pd
import pytest

from lib import stats
from lib.viability import audit
from lib.viability_controls import CASES, tables_of
from lib.viability_requirement import REST, evidence, parse, parse_all
from lib.viability_slices import no_slices, slice_table, sliced
from lib.viability_verdict import Findings, Seen, document_verdict, findings, side
from lib.viability_verdict_table import verdict_table
from tests.test_viability import judged, lists, random_run

NAN = math.nan


def verdicts(first, gold, reranked=None, requirement="all", slices=None, cutoff=10, resamples=500):
    membership = no_slices() if slices is None else pd.DataFrame([("set", q, s) for q, s in slices.items()], columns=["dataset", "qid", "slice"])
    asked = parse_all(requirement)
    met = evidence(first, gold, membership, asked, cutoff)
    table = slice_table(sliced(audit(first, gold, reranked, cutoff), met, membership), resamples=resamples)
    return verdict_table(table, asked).query("gain == 'exponential'").set_index("slice")


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0.94, 0.0, 0.5, 0.3), "fix retrieval"),
        ((0.95, 0.05, 0.5, 0.3), "viable"),
        ((1, 0.051, 0.5, 0.3), "fix retrieval"),
        ((1, 0, 0.019, 0.3), "skip or reduce"),
        ((1, 0, 0.02, 0.0), "reject"),
        ((1, 0, 0.02, NAN), "undefined"),
        ((NAN, NAN, NAN, NAN), "undefined"),
        ((1, 0, 0.0, NAN), "skip or reduce"),
    ],
)
def test_the_documents_rule_at_its_thresholds(numbers, said):
    assert document_verdict(*numbers) == said


def test_nine_of_ten_found_and_three_needed_is_no_omission():
    first, gold, again = {}, {}, {}
    for q in range(80):
        pool = [f"n{i}" for i in range(5)] + [f"r{i}" for i in range(9)]
        first[f"q{q}"], again[f"q{q}"], gold[f"q{q}"] = pool, pool[::-1], {f"r{i}": 1 for i in range(10)}
    tables = lists(**first), judged(**gold), lists("re", **again)
    ours = verdicts(*tables, requirement="3").loc["all"]
    assert (ours["document_verdict"], ours["retrieval"], ours["verdict"]) == ("fix retrieval", "sufficient", "rerank") and ours["absent"] == 0
    strict = verdicts(*tables, requirement="all").loc["all"]
    assert strict["retrieval"] == "repair" and strict["verdict"] == "repair retrieval and rerank" and strict["absent"] == 80


def test_a_verdict_can_be_compound():
    """Half of the pools lack the evidence, and the reranker spoils the others' correct order: both are said."""
    first = {f"q{q}": ["n", "r" if q % 2 else "m", "o"] for q in range(60)}
    first |= {f"q{q}": ["r", "n", "o"] for q in range(1, 60, 4)}
    again = {q: [d for d in ids if d != "r"] + (["r"] if "r" in ids else []) for q, ids in first.items()}
    row = verdicts(lists(**first), judged(**{q: {"r": 1} for q in first}), lists("re", **again), cutoff=3).loc["all"]
    assert row["document_verdict"] == "fix retrieval" and row["verdict"] == "repair retrieval and reject this reranker"
    assert row["regressed"] == 30 and "lowers 30 of 60" in row["why"]


def case_verdicts(copies):
    """Document 001's cases as slices A, B and C, ``copies`` queries each."""
    many = tuple(c._replace(name=f"{c.name} {i}") for c in CASES for i in range(copies))
    first, again, gold = tables_of(many)
    slices = pd.DataFrame({"dataset": "cases", "qid": [c.name for c in many], "slice": [s for s in "ABC" for _ in range(copies)]})
    met = evidence(first, gold, slices, parse_all("all"), 3)
    table = verdict_table(slice_table(sliced(audit(first, gold, again, 3), met, slices), resamples=100), parse_all("all"))
    return table.query("gain == 'exponential'").set_index("slice").loc[["A", "B", "C"]]


SAID_OF_THE_CASES = ["rerank", "repair retrieval", "keep the first stage and reject this reranker"]


def test_the_three_cases_show_what_the_documents_verdict_hides():
    """Enough copies of a case that its headroom of 0 is under 0.02 for certain: 1 - 0.025 ** (1 / 200) = 0.018."""
    rows = case_verdicts(200)
    assert rows["document_verdict"].tolist() == ["viable", "fix retrieval", "skip or reduce"]
    assert rows["verdict"].tolist() == SAID_OF_THE_CASES
    assert rows.loc["C", "regression"] == pytest.approx(0.269071, abs=5e-7)


def test_one_query_of_each_case_decides_nothing_of_ours_and_the_documents_rule_stays():
    rows = case_verdicts(1)
    assert rows["document_verdict"].tolist() == ["viable", "fix retrieval", "skip or reduce"] and rows["leaning"].tolist() == SAID_OF_THE_CASES
    assert set(rows["verdict"]) == {"undecided: retrieval, ordering, reranking"}
    assert rows.loc["C", "regression"] == pytest.approx(0.269071, abs=5e-7) and "fewer than 6 queries" in rows.loc["C", "why"]


CHANGES = {"gains": (["n", "r"], ["r", "n"]), "loses": (["r", "n"], ["n", "r"]), "no gain": (["n", "r"], ["n", "r"])}


@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("change", CHANGES)
def test_fewer_than_six_queries_decide_nothing_on_order_or_reranker(change, n):
    """All of n queries change alike. The two-sided sign test, 2 * 0.5 ** n, passes 0.05 from six on."""
    before, after = CHANGES[change]
    first = {f"q{q}": before for q in range(n)}
    row = verdicts(lists(**first), judged(**{q: {"r": 1} for q in first}), lists("re", **{q: after for q in first}), resamples=100).loc["all"]
    few = 2 * 0.5**n >= 0.05
    assert row["reranking"] == ("undecided" if few else change) and ("fewer than 6 queries" in row["why"]) == few
    if change != "loses":  # a headroom of 0.37 in every query
        assert row["ordering"] == ("undecided" if few or row["headroom_low"] < 0.02 else "headroom")
    assert row["verdict"].startswith("undecided") or not few
    assert row["leaning"] == {"gains": "rerank", "loses": "keep the first stage and reject this reranker", "no gain": "reject this reranker"}[change]


@pytest.mark.parametrize(("n", "said"), [(1, "undecided"), (2, "repair"), (5, "repair")])
def test_a_repair_rests_on_the_exact_interval_which_one_pool_does_not_have(n, said):
    first = {f"q{q}": ["n", "m"] for q in range(n)}
    row = verdicts(lists(**first), judged(**{q: {"r": 1} for q in first})).loc["all"]
    assert row["retrieval"] == said and row["leaning"] == "repair retrieval" and row["document_verdict"] == "fix retrieval"
    assert n == 1 or row["met_high"] == pytest.approx(1 - 0.025 ** (1 / n))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Seen(0.0, 0.0, 0.0, 5), "undecided"),
        (Seen(0.0, 0.0, 0.0, 6), "no gain"),
        (Seen(0.3, 0.2, 0.4, 5), "undecided"),
        (Seen(-0.3, -0.4, -0.2, 6), "loses"),
        (Seen(0.3, NAN, NAN, 40), "undecided"),
        (Seen(NAN, NAN, NAN, 0), "none"),
    ],
)
def test_a_gain_needs_an_interval_and_six_queries(seen, said):
    assert findings(Seen(1, 1, 1, 80), Seen(0.5, 0.4, 0.6, 80), seen, 0.95).reranking == said


def test_few_queries_leave_it_undecided_and_say_where_it_leans():
    first = {f"q{q}": ["n", "r"] for q in range(12)}
    row = verdicts(lists(**first), judged(**{q: {"r": 1} for q in first}), lists("re", **{q: ["r", "n"] for q in first})).loc["all"]
    assert row["retrieval"] == "undecided" and row["verdict"] == "rerank; undecided: retrieval" and row["leaning"] == "rerank"
    assert (row["met_low"], row["met_high"]) == (pytest.approx(0.025 ** (1 / 12)), 1.0)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Seen(0.9, 0.8, 0.949, 40), "below"),
        (Seen(0.96, 0.95, 1, 40), "above"),
        (Seen(0.96, 0.9, 1, 40), "undecided"),
        (Seen(0.9, 0.8, 0.949, 5), "undecided"),
        (Seen(0.9, NAN, NAN, 40), "undecided"),
        (Seen(NAN, NAN, NAN, 0), "undefined"),
    ],
)
def test_an_interval_that_straddles_a_threshold_is_undecided(seen, said):
    assert side(seen, 0.95) == said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Findings("sufficient", "headroom", "none"), "try a reranker"),
        (Findings("sufficient", "little", "gains"), "keep the first stage"),
        (Findings("sufficient", "headroom", "no gain"), "reject this reranker"),
        (Findings("repair", "little", "none"), "repair retrieval"),
        (Findings("repair", "little", "loses"), "repair retrieval and reject this reranker"),
        (Findings("sufficient", "headroom", "undecided"), "undecided: reranking"),
        (Findings("undecided", "undecided", "undecided"), "undecided: retrieval, ordering, reranking"),
        (Findings("undefined", "undefined", "none"), "undefined"),
    ],
)
def test_findings_in_words(made, said):
    assert made.verdict() == said


def test_holm_can_take_a_gain_back():
    plenty = Seen(1, 1, 1, 80), Seen(0.5, 0.4, 0.6, 80), Seen(0.1, 0.01, 0.2, 80)
    assert findings(*plenty, 0.95, p_holm=0.04).reranking == "gains"
    assert findings(*plenty, 0.95, p_holm=0.06).reranking == "undecided"


def test_nothing_relevant_anywhere_is_undefined_not_a_crash():
    row = verdicts(lists(a=["x"], b=["y"]), judged(a={"x": 0}, b={"y": 0}), lists("re", a=["x"], b=["y"])).loc["all"]
    assert (row["verdict"], row["document_verdict"], row["n"], row["undefined"]) == ("undefined", "undefined", 0, 2)


# ---- slices


def test_slice_intervals_are_those_of_lib_stats():
    first, again, gold = random_run(3, queries=40)
    rows = sliced(audit(first, gold, again, 5), evidence(first, gold, no_slices(), parse_all("all"), 5), no_slices())
    table = slice_table(rows, resamples=400, seed=5).query("gain == 'linear'").set_index("measure")
    part = rows[rows["gain"] == "linear"]
    gain = stats.paired_cluster_bootstrap(part["realised_gain"], part["qid"], 400, 5)
    assert table.loc["realised_gain", ["estimate", "ci_low", "ci_high", "p_value"]].tolist() == pytest.approx(list(gain[:4]))
    room = part[part["ordering_headroom"] > 0]
    assert table.loc["headroom_capture", "estimate"] == pytest.approx(room["realised_gain"].sum() / room["ordering_headroom"].sum())
    assert table.loc["headroom_capture", "n"] == len(room)
    whole = part.assign(g=part["realised_gain"].where(part["ordering_headroom"] > 0), h=part["ordering_headroom"].where(part["ordering_headroom"] > 0))
    ratio = stats.ratio_interval(whole["g"], whole["h"], part["qid"], 400, 5)
    assert table.loc["headroom_capture", ["estimate", "ci_low", "ci_high"]].tolist() == pytest.approx(list(ratio[:3]))
    assert table.loc["regression", "estimate"] == pytest.approx(np.maximum(0, -part["realised_gain"]).mean())


def test_holm_runs_over_the_slices_and_a_query_may_be_in_two():
    first, again, gold = random_run(4, queries=30)
    names = pd.DataFrame([("set", f"q{q}", s) for q in range(30) for s in (("a",) if q % 3 else ("a", "b", "c"))], columns=["dataset", "qid", "slice"])
    table = slice_table(sliced(audit(first, gold, again, 5), evidence(first, gold, names, parse_all("all"), 5), names), resamples=300)
    gains = table[(table["measure"] == "realised_gain") & (table["gain"] == "linear")].set_index("slice")
    assert gains.loc[["a", "b", "c"], "p_holm"].tolist() == pytest.approx(stats.holm(gains.loc[["a", "b", "c"], "p_value"]).tolist())
    assert math.isnan(gains.loc["all", "p_holm"]) and gains.loc["b", "n"] + gains.loc["b", "undefined"] == 10


def test_a_reranker_without_any_skill_or_harm_is_seldom_called_either():
    """Random swaps of two equal ranks: the true mean change is 0; at most a tenth of 40 runs may say gains or loses."""
    rng, wrong = np.random.default_rng(0), 0
    values = rng.choice([-0.37, 0.0, 0.37], size=(40, 60), p=[0.25, 0.5, 0.25])
    for run in values:
        i = stats.paired_cluster_bootstrap(run, range(60), 400)
        wrong += findings(Seen(1, 1, 1, 60), Seen(0.3, 0.2, 0.4, 60), Seen(*i[:3], 60), 0.95, p_holm=i.p_value).reranking != "undecided"
    assert wrong <= 4


# ---- requirements


GOLD = judged(q={"p": 2, "x": 1, "n": 1}).assign(role=["policy", "exception", "notice"], bundle=["one", "one", "two"])


@pytest.mark.parametrize(
    ("asked", "pool", "expected"),
    [
        ("all", "pxn", (3, 3, 1)),
        ("all", "px", (3, 2, 0)),
        ("2", "px", (2, 2, 1)),
        ("policy:1,exception:1", "px", (2, 2, 1)),
        ("policy:1,exception:1", "pn", (2, 1, 0)),
        ("policy:2", "pxn", (2, 1, NAN)),
        ("5", "pxn", (5, 3, NAN)),
        ("bundle", "n", (1, 1, 1)),
        ("bundle", "p", (2, 1, 0)),
        ("bundle", "pn", (1, 1, 1)),
    ],
)
def test_each_kind_of_requirement(asked, pool, expected):
    row = evidence(lists(q=list(pool)), GOLD, no_slices(), {REST: parse(asked)}).iloc[0]
    assert row[["needed", "found", "met"]].tolist() == pytest.approx(list(expected), nan_ok=True)


def test_slices_have_requirements_of_their_own_and_all_asks_for_each():
    slices = pd.DataFrame([("set", "q", "easy"), ("set", "q", "hard")], columns=["dataset", "qid", "slice"])
    rows = evidence(lists(q=["p"]), GOLD, slices, parse_all("easy=1; hard=policy:1,exception:1")).set_index("slice")["met"]
    assert rows.to_dict() == {"easy": 1.0, "hard": 0.0, "all": 0.0}


@pytest.mark.parametrize("text", ["0", "-1", "some", "policy:0", "policy:1,policy:2", ":1", "3@0", "3@2", "1.5", "a=1; a=2"])
def test_a_requirement_that_cannot_be_meant_is_refused(text):
    with pytest.raises(ValueError, match="requirement"):
        parse_all(text)


def test_a_requirement_for_what_the_data_do_not_hold_is_refused():
    with pytest.raises(ValueError, match="'nobody'.*no query belongs to"):
        evidence(lists(q=["p"]), GOLD, no_slices(), parse_all("nobody=1"))
    with pytest.raises(ValueError, match="role.*no such column"):
        evidence(lists(q=["p"]), judged(q={"p": 1}), no_slices(), parse_all("policy:1"))
