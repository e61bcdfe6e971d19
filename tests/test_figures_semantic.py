"""Figures of support and faithfulness: titles say what the tables say, every shape of table is drawn, nothing is cut or undefined."""
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from test_semantic import judgements, world

from lib import charts, hand_checked
from lib.charts import ChartError
from lib.figures_semantic import faithful, hand_checked_errors, support_scores
from lib.scored_contexts import SPAN, spread
from lib.semantic import variants

DRAWS = 100


def svg_of(chart) -> str:
    import vl_convert
    return vl_convert.vegalite_to_svg(charts.spec_of(chart, "test"))


def said(chart) -> str:
    return " ".join(chart.to_dict()["title"]["text"]).replace("\u00a0", " ")


def labels(chart) -> set[str]:
    return {text.replace("\u00a0", " ") for text in re.findall(r">([^<>]+)</text>", svg_of(chart))}


def scores(**settings):
    frames = world(120, **settings)
    return spread(*frames), variants(*frames, "sample", resamples=DRAWS)


def checked():
    """Variants of a world whose naive contexts were all judged: half of them supported."""
    outcomes, readings, support = world(48, noise=0.1)
    naive = readings[readings["policy"] == "naive"]["qid"]
    told = judgements(readings, **{q: hand_checked.JUDGEMENTS[i % 3] for i, q in enumerate(naive)})
    table = variants(outcomes, readings, support, "sample", checked=told, resamples=DRAWS)
    return table[table["rows"] == "hand-checked"]


def rested(policies=("naive", "submod", "pooled"), readers=("r",), datasets=("d",), **means):
    """A faithfulness table by hand; ``means``: f1_with, f1_other, f1_without, f1_closed, f1_falls_more."""
    made = {"f1_with": 0.6, "f1_other": 0.55, "f1_without": 0.2, "f1_closed": 0.05, "f1_falls_more": 0.35} | means
    made["f1_falls"] = made["f1_with"] - made["f1_without"]
    rows = [(d, r, "fp32", p, q, v, v - 0.04, v + 0.04) for d in datasets for r in readers for p in policies for q, v in made.items() if v is not None]
    return pd.DataFrame(rows, columns=["dataset", "reader", "precision", "policy", "quantity", "estimate", "ci_low", "ci_high"]).assign(tier="sample", n=90, clusters=90)


FIGURES = {"scores": lambda: support_scores(*scores()), "errors": lambda: hand_checked_errors(checked()), "faithful": lambda: faithful(rested()),
           "faithful_one": lambda: faithful(rested(["pooled"])), "faithful_readers": lambda: faithful(rested(["pooled"], ["r", "s"])),
           "faithful_sets": lambda: faithful(rested(datasets=["2wiki", "hotpotqa", "musique"]))}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_fits_a_readme_has_no_legend_and_states_n_and_tier(name):
    chart = FIGURES[name]()
    drawn = svg_of(chart)
    assert 300 < float(ET.fromstring(drawn).get("width")) <= 765
    assert "role-legend" not in drawn and not re.search(r"NaN|undefined|null", drawn)
    notes = " ".join(chart.to_dict()["title"]["subtitle"])
    assert "n = " in notes and "interval" in notes and "sample tier" in notes


def test_the_scorer_that_agrees_best_comes_first_and_into_the_title():
    table, found = scores(noise=0.05)
    chart = support_scores(table, found)
    assert said(chart).startswith("good agrees with the span variant best (kappa 1.00") and "of the free-form contexts it calls" in said(chart)
    heads = [panel["title"]["text"] for panel in chart.to_dict()["vconcat"]]
    assert [h.split(" · ")[0] for h in heads] == ["good", "coin"] and "kappa 1.00 [1.00, 1.00]" in heads[0]
    share = table[(table["scorer"] == "good") & (table["group"] == "free-form")].iloc[0]
    assert f"{100 * share.share_supported:.0f} % · {share.n}" in labels(chart)


def test_scorers_no_better_than_chance_are_not_praised():
    table, found = scores()
    coin = table[table["scorer"] == "coin"]
    chance = found[found["scorer"] == "coin"].assign(ci_low=lambda t: t["ci_low"] - 1)
    assert said(support_scores(coin, chance)) == "No scorer agrees with the span variant beyond chance"
    assert said(support_scores(coin, found.iloc[:0], tier="sample")) == "No scorer can be compared with the span variant here"


def test_a_near_rival_is_named():
    table, found = scores(noise=0.4)
    twin = table.assign(scorer=table["scorer"].replace({"coin": "twin"}))
    rival = found.assign(scorer=found["scorer"].replace({"coin": "twin"}))
    rival.loc[rival["quantity"].eq("kappa") & rival["scorer"].eq("twin"), ["estimate", "ci_low", "ci_high"]] = [0.3, 0.1, 0.99]
    assert "not clear of twin" in said(support_scores(twin, rival))


def test_errors_are_counted_on_the_marks_and_the_least_comes_first():
    table = checked()
    chart = hand_checked_errors(table)
    row = table[(table["scorer"] == "good") & (table["quantity"] == "wrongly_denied")].iloc[0]
    assert f"{round(row.estimate * row.n)} of {row.n}" in labels(chart) and "span (answer_in_context)" in labels(chart)
    wide = table[table["quantity"].isin(["wrongly_supported", "wrongly_denied"]) & (table["scorer"] != SPAN)].pivot(index="scorer", columns="quantity", values="estimate")
    best = wide.mean(axis=1).idxmin()
    told = {(r.scorer, r.quantity): f"{round(r.estimate * r.n)} of {r.n}" for r in table.itertuples() if r.quantity.startswith("wrongly")}
    assert said(chart).startswith(f"Against a careful reading the span variant calls {told[SPAN, 'wrongly_supported']} supported wrongly and misses {told[SPAN, 'wrongly_denied']}")
    assert said(chart).endswith(f"{best} {told[best, 'wrongly_supported']} and {told[best, 'wrongly_denied']}")
    only = table[table["scorer"] == SPAN]
    assert said(hand_checked_errors(only)).startswith("Against a careful reading span (answer_in_context) calls")


@pytest.mark.parametrize(("means", "told"), [
    ({}, "F1 falls from 0.60 to 0.20 without the answer's snippets; without as many others it is 0.55: in every row more than the control"),
    ({"f1_falls_more": 0.0}, "without as many others it is 0.55: in no row clearly more than the control"),
    ({"f1_without": 0.8, "f1_falls_more": -0.1}, "F1 rises without the answer's snippets (0.60 with, 0.80 without); without as many others it is 0.55: in 3 of 3 rows less than the control"),
    ({"f1_without": 0.59, "f1_falls_more": 0.0}, "Whether F1 falls without the answer's snippets is undecided (0.60 with, 0.59 without)"),
    ({"f1_other": None, "f1_falls_more": None}, "F1 falls from 0.60 to 0.20 without the answer's snippets")])
def test_the_title_says_which_way_it_fell(means, told):
    assert said(faithful(rested(**means))).endswith(told) or told in said(faithful(rested(**means)))


def test_all_packers_come_first_and_rows_are_named_by_what_differs():
    rows = faithful(rested()).to_dict()["layer"][0]["encoding"]["y"]["sort"]
    assert rows == ["all packers", "naive", "submod"]
    assert {"r", "s"} <= labels(faithful(rested(["pooled"], ["r", "s"]))) and "hotpotqa · naive" in labels(faithful(rested(datasets=["hotpotqa", "musique"])))


@pytest.mark.parametrize("draw", [
    lambda: support_scores(scores()[0].iloc[:0], scores()[1]), lambda: support_scores(pd.concat([scores()[0], scores()[0].assign(dataset="e")]), scores()[1]),
    lambda: hand_checked_errors(checked().iloc[:0]), lambda: faithful(rested().iloc[:0]), lambda: faithful(pd.concat([rested(), rested()])),
    lambda: hand_checked_errors(checked().assign(estimate=np.nan))])
def test_what_cannot_be_drawn_is_one_clear_error(draw):
    with pytest.raises(ChartError, match="support_scores|hand_checked_errors|faithful"):
        draw()
