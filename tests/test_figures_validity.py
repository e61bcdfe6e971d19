"""Figures of the diagnostic's validity: titles say what the table says, numbers add up, names do not overlap, and every shape of table is drawn."""
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from diagnosed import outcomes
from test_retrieval_perfect import random_holders

from lib import charts, figures_kept, figures_validity
from lib.charts import ChartError
from lib.correlations import correlations
from lib.figures_kept import drawable, kept_or_dropped
from lib.figures_validity import correlation_rows, ladder
from lib.retrieval_perfect import FATES, retrieval_perfect
from lib.validity import validity

DRAWS = 100


def svg_of(chart) -> str:
    import vl_convert
    return vl_convert.vegalite_to_svg(charts.spec_of(chart, "test"))


def said(chart) -> str:
    title = chart.to_dict()["title"]
    return " ".join(title["text"]).replace("\u00a0", " ")


def labels(chart) -> set[str]:
    return {text.replace("\u00a0", " ") for text in re.findall(r">([^<>]+)</text>", svg_of(chart))}


def sets(n):
    return pd.concat([outcomes(k, n=40, dataset=name) for k, name in enumerate(["2wiki", "hotpotqa", "musique"][:n])])


def of(table, **where):
    return table[np.logical_and.reduce([table[k] == v for k, v in where.items()])]


def correlated(n=1):
    table = correlations(sets(n), "sample", resamples=DRAWS)
    return table[(table["pooling"] == "policies") & (table["dataset"] != "all")]


def laddered(n=1):
    table = validity(sets(n), "sample", resamples=DRAWS, permutations=49)
    return table[(table["pooling"] == "policies") & (table["dataset"] != "all")]


def perfect(**changes):
    """Retrieval-perfect rows of one data set by hand: both kinds of rows; ``changes``: quantity = estimate, or (estimate, low, high)."""
    made = dict(zip(FATES, (0.5, 0.1, 0.2, 0.05, 0.1, 0.05))) | {
        "f1_kept": 0.6, "f1_dropped": 0.2, "f1_gap": 0.4, "f1_ratio": 3.0, "em_kept": 0.5, "em_dropped": 0.1, "em_gap": 0.4, "em_ratio": 5.0} | changes
    rows = [(kind, q, *(v if isinstance(v, tuple) else (v, v - 0.05, v + 0.05))) for kind in ("defined", "all") for q, v in made.items()]
    return pd.DataFrame(rows, columns=["rows", "quantity", "estimate", "ci_low", "ci_high"]).assign(
        dataset="d", reader="r", n=100, clusters=40, tier="sample", policy="pooled")


FIGURES = {"correlation_rows": lambda: correlation_rows(correlated()), "correlation_rows_3": lambda: correlation_rows(correlated(3)),
           "ladder": lambda: ladder(laddered()), "ladder_3": lambda: ladder(of(laddered(3), rows="all")), "kept_or_dropped": lambda: kept_or_dropped(perfect()),
           "kept_or_dropped_one": lambda: kept_or_dropped(of(perfect(), rows="defined"))}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_fits_a_readme_has_no_legend_and_states_n_and_tier(name):
    chart = FIGURES[name]()
    drawn = svg_of(chart)
    assert 300 < float(ET.fromstring(drawn).get("width")) <= 765
    assert "role-legend" not in drawn and not re.search(r"NaN|undefined|null", drawn)
    notes = " ".join(chart.to_dict()["title"]["subtitle"])
    assert "n = " in notes and "interval" in notes and "sample tier" in notes


# Correlations


def pair(estimate, low, high, minus="recall_at_5", dataset="d"):
    """A table of two diagnostics and the difference of their correlations."""
    rows = [("answer_in_context", "none", 0.5, 0.4, 0.6), (minus, "none", 0.5 - estimate, 0.3, 0.7), ("answer_in_context", minus, estimate, low, high)]
    table = pd.DataFrame(rows, columns=["predictor", "minus", "estimate", "ci_low", "ci_high"])
    return table.assign(outcome="f1", dataset=dataset, n=100, clusters=40, tier="sample")


@pytest.mark.parametrize(("lead", "expected"), [
    ((0.2, 0.1, 0.3), "answer_in_context goes with F1 more closely than any other measure on the same rows, ahead of recall_at_5 by +0.20 [+0.10, +0.30]"),
    ((0.02, -0.1, 0.1), "answer_in_context and recall_at_5 cannot be told apart as predictors of F1: +0.02 [−0.10, +0.10]"),
    ((-0.2, -0.3, -0.1), "answer_in_context does not go with F1 best: recall_at_5 is ahead by +0.20 [+0.10, +0.30]")])
def test_the_title_rests_on_the_paired_difference(lead, expected):
    assert said(correlation_rows(pair(*lead))) == expected


def test_one_diagnostic_that_is_not_told_apart_keeps_the_title_undecided():
    other = pair(0.3, -0.05, 0.6, minus="gold_density").iloc[1:]
    assert "answer_in_context and gold_density cannot be told apart" in said(correlation_rows(pd.concat([pair(0.2, 0.1, 0.3), other])))


def test_data_sets_are_counted_in_the_title_and_sorted_rows_in_the_figure():
    several = pd.concat([pair(0.2, 0.1, 0.3, dataset="a"), pair(0.0, -0.1, 0.1, dataset="b"), pair(0.2, 0.1, 0.3, dataset="c")])
    assert said(correlation_rows(several)) == ("answer_in_context, as a predictor of F1, is ahead of every other diagnostic on a and c; "
                                               "not told from the best other on b")
    assert said(correlation_rows(several[several["dataset"] != "b"])).endswith("on all 2 sets")
    order = correlation_rows(pair(-0.2, -0.3, -0.1)).to_dict()["layer"][1]["encoding"]["y"]["sort"]
    assert order == ["recall_at_5", "answer_in_context"]
    assert "goes with F1" in said(correlation_rows(pair(0.2, 0.1, 0.3).iloc[:2]))  # no difference: no verdict


def test_correlations_that_cannot_be_drawn_are_refused():
    table = correlated()
    with pytest.raises(ChartError, match="several rows"):
        correlation_rows(pd.concat([table, table]))
    with pytest.raises(ChartError, match="only differences"):
        correlation_rows(table[table["minus"] != "none"])
    with pytest.raises(ChartError, match="missing"):
        correlation_rows(table.assign(estimate=np.nan))


# The ladder


def rungs(recall, step, high, p=0.001, **columns):
    rows = [("r2_recall", recall, np.nan, np.nan), ("r2_both", recall + step, np.nan, np.nan), ("delta_r2", step, p, high)]
    table = pd.DataFrame(rows, columns=["quantity", "estimate", "p_value", "null_high"])
    given = {"ci_low": table["estimate"] - 0.01, "ci_high": table["estimate"] + 0.02, "outcome": "f1", "dataset": "d", "rows": "all", "n": 100, "tier": "t"}
    return table.assign(**given | columns)


@pytest.mark.parametrize(("high", "expected"), [
    (0.01, "recall_at_5 explains 9 % of the variance of F1; answer_in_context adds 17 points, more than chance does"),
    (0.2, "answer_in_context adds no more to recall_at_5 in explaining F1 than chance would")])
def test_the_ladder_says_whether_the_step_is_more_than_chance(high, expected):
    chart = ladder(rungs(0.086, 0.171, high))
    assert said(chart) == expected and {"0.086 + 0.171  [0.161, 0.191]", "p = 0.001", "recall_at_5"} <= labels(chart)
    mixed = pd.concat([rungs(0.08, 0.17, 0.01), rungs(0.12, 0.02, 0.05, p=0.2, outcome="em")])
    assert said(ladder(mixed)) == ("recall_at_5 explains 8 to 12 % of the variance of answer quality; answer_in_context adds 17 points "
                                   "in 1 of 2 rows, more than chance does")


def test_rows_keep_their_data_sets_together_and_what_is_undefined_is_left_out():
    several = pd.concat([rungs(0.1, 0.2, 0.01, dataset=d, outcome=o) for o in ("em", "f1") for d in ("b", "a")])
    shown = ladder(several).to_dict()["layer"][0]["encoding"]["y"]["sort"]
    assert shown == ["a, F1", "a, EM", "b, F1", "b, EM"]
    some = pd.concat([rungs(0.1, 0.2, 0.01), rungs(0.1, np.nan, np.nan, outcome="em")])
    assert ladder(some).to_dict()["layer"][0]["encoding"]["y"]["sort"] == ["F1"]
    with pytest.raises(ChartError, match="no row has an R2"):
        ladder(rungs(0.1, np.nan, np.nan))
    with pytest.raises(ChartError, match="several rows"):
        ladder(pd.concat([several, several]))


# Kept or dropped


@pytest.mark.parametrize(("gap", "expected"), [((0.4, 0.3, 0.5), "F1 is 0.60 with the answer in the context, 0.20 without (3.0 times)"),
                                               ((0.4, -0.1, 0.5), "0.20 without: too close to call"), ((-0.4, -0.5, -0.3), "0.20 without: lower")])
def test_the_title_says_what_packing_drops_and_what_it_costs(gap, expected):
    chart = kept_or_dropped(perfect(f1_gap=gap))
    assert said(chart).startswith("All gold retrieved, packing drops 20 % of the answers; F1 is") and said(chart).endswith(expected)


def test_ratios_are_printed_with_their_interval_or_say_that_an_end_is_missing():
    shown = labels(kept_or_dropped(of(perfect(f1_ratio=(3.0, 2.4, 3.96), em_ratio=(34.0, 12.3, np.nan)), rows="defined")))
    assert {"3.0 ×  [2.4, 4.0]", "34 ×  [12, no upper end]"} <= shown
    bare = perfect(em_ratio=(np.nan, np.nan, np.nan)).dropna()
    assert "no ratio" in labels(kept_or_dropped(bare))


def test_the_stacked_bar_holds_every_fate_and_its_numbers_make_100():
    pieces = figures_kept._pieces(perfect().set_index(["rows", "quantity"]), "all")
    assert [p["name"] for p in pieces] == ["kept", "dropped by packing", "dropped, not in gold", "never verbatim", "no span"]
    assert pieces[0]["low"] == 0 and pieces[-1]["high"] == pytest.approx(1) and all(a["high"] == b["low"] for a, b in zip(pieces, pieces[1:]))
    rng = np.random.default_rng(0)
    for _ in range(50):
        table = perfect(**dict(zip(FATES, rng.dirichlet(np.ones(6))))).set_index(["rows", "quantity"])
        numbers = [p["number"] for p in figures_kept._pieces(table, "all")]
        printed = sum(int(re.match(r"\d+", n).group()) for n in numbers if n)
        assert 100 - 3 * numbers.count("") <= printed <= 100


def test_names_below_the_bar_never_overlap_and_stay_where_there_is_room():
    assert figures_kept._apart([50.0, 200.0, 300.0], [20, 20, 20]) == pytest.approx([50, 200, 300])
    rng = np.random.default_rng(1)
    for _ in range(50):
        half = rng.uniform(15, 60, 5)
        places = figures_kept._apart(sorted(rng.uniform(0, 400, 5)), list(half))
        assert (np.diff(places) >= half[:-1] + half[1:] - 1e-6).all()


def test_real_tables_are_drawn_and_those_without_both_sides_are_refused():
    rows = sets(1)
    table = retrieval_perfect(rows, random_holders(rows), "sample", resamples=DRAWS)
    pooled = of(table, policy="pooled")
    assert drawable(pooled) and "All gold retrieved" in said(kept_or_dropped(pooled))
    with pytest.raises(ChartError, match="several rows"):
        kept_or_dropped(table)
    none = retrieval_perfect(rows.assign(answer_in_context=0), random_holders(rows), "sample", resamples=DRAWS)
    assert not drawable(of(none, policy="pooled"))
    with pytest.raises(ChartError, match="both where the answer was kept"):
        kept_or_dropped(of(none, policy="pooled"))
    assert figures_validity.KINDS.keys() == figures_kept.KINDS.keys()
