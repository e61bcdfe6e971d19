"""Figures of the dials: the title says what the table says, whichever way it falls; small and empty tables are drawn or refused in words."""
import numpy as np
import pandas as pd
import pytest

from lib import chart_words, charts, claims, dials, dials_table, dials_words
from lib.figures_dials import dial_contrasts, dial_levels

PLAN = claims.plan()["worlds"]


def table(submod, focused, naive, dial="surfacing", n=1_200):
    """A sweep of one dial with the given shares kept at its points, and nothing lost in retrieval."""
    plan = {**PLAN, "dials": {dial: PLAN["dials"][dial][:len(submod)]}}
    found, made, luck = dials.points(plan), [], np.random.default_rng(0).random(n)
    for k, dataset in enumerate(found["dataset"].drop_duplicates()):
        for policy, shares in (("submod", submod), ("focused", focused), ("naive", naive)):
            share = shares[min(k, len(shares) - 1)]
            made.append(pd.DataFrame({"dataset": dataset, "qid": [f"q{i}" for i in range(n)], "policy": policy, "answer_in_context": (luck < share).astype(int),
                                      "answer_in_pool": 1, "gold_coverage": 0.5, "gold_in_pool": 1.0, "n_tokens": 150, "hops": 2, "surfaced": 1,
                                      "repeated": 0.0, "place": 0.5, "shared": 0.1}))
    wide = dials_table.wide(pd.concat(made), [tuple(p) for p in PLAN["contrasts"]])
    return dials_table.tabled(found, wide, PLAN["metric"], "sample", 0.02, 300)


def title(chart):
    spec = charts.spec_of(chart, "dials")
    return " ".join(spec["title"]["text"]), " ".join(spec["title"]["subtitle"])


RISING = table([0.3, 0.4, 0.5], [0.3, 0.3, 0.3], [0.29, 0.39, 0.49])
FALLING = table([0.5, 0.4, 0.25], [0.3, 0.3, 0.3], [0.2, 0.3, 0.4])


def test_the_title_says_which_way_the_first_contrast_goes_and_the_subtitle_the_rest():
    head, below = title(dial_contrasts(RISING, 0.02))
    assert head == "The lead of submod over focused grows with surfacing"
    for said in ("Over naive: holds along surfacing.", "Within the margin at surfacing 0", "n = 1,200 questions", "sample tier"):
        assert said in below
    head, below = title(dial_contrasts(FALLING, 0.02))
    assert head == "The lead of submod over focused shrinks with surfacing"
    assert "Behind at surfacing 0.5 (over focused)" not in below and "Behind at" in below and "within ±2 points" in below


def test_an_answers_metric_is_named():
    rows = RISING[RISING["measure"] == PLAN["metric"]].assign(measure="f1")
    assert title(dial_contrasts(rows, 0.02, metric="f1"))[0] == "On F1, the lead of submod over focused grows with surfacing"


def test_each_dial_has_a_panel_and_each_line_its_band():
    both = pd.concat([RISING, RISING.assign(dial="paraphrase")], ignore_index=True)
    spec = charts.spec_of(dial_contrasts(both, 0.02), "dials")
    assert [p["title"]["text"] for p in spec["concat"] if "title" in p] == ["surfacing", "paraphrase"]
    marks = [layer["mark"]["type"] for layer in spec["concat"][0]["layer"]]
    assert marks.count("area") == marks.count("line") == 2
    levels = charts.spec_of(dial_levels(both), "levels")
    assert [layer["mark"]["type"] for layer in levels["concat"][0]["layer"]].count("area") == 4  # three packers and the pool


def test_a_rest_that_is_no_point_of_its_dial_stands_beside_the_line():
    rows = table([0.3, 0.4, 0.5, 0.6], [0.3] * 4, [0.2] * 4, dial="position")
    spec = charts.spec_of(dial_contrasts(rows, 0.02), "dials")
    lines = [layer for layer in spec["concat"][0]["layer"] if layer["mark"]["type"] == "line"]
    joined = [[r["value"] for r in spec["datasets"][layer["data"]["name"]]] for layer in lines]
    assert joined == [["early", "middle", "late"]] * 2 and lines[0]["encoding"]["x"]["sort"] == ["early", "middle", "late", "drawn"]


def test_twins_are_refused_and_a_table_without_an_interval_has_nothing_to_draw():
    with pytest.raises(charts.ChartError, match="keep one tier and one reader"):
        dial_contrasts(pd.concat([RISING, RISING.assign(reader="other")]))
    for draw in (dial_contrasts, dial_levels):
        with pytest.raises(charts.NothingToDraw):
            draw(table([0.5, 0.5], [0.5, 0.5], [0.5, 0.5], n=1))
        with pytest.raises(charts.NothingToDraw):
            draw(RISING.iloc[:0])


def test_levels_say_where_retrieval_moves():
    assert title(dial_levels(RISING))[0].startswith("Retrieval moves most along surfacing")


def test_the_table_of_turns_says_what_the_sentences_say():
    rows = dials_words.turned(RISING)
    assert len(rows) == len(dials_words.said(RISING)) and set(rows["dial"]) == {"surfacing"}
    one = rows[(rows["treatment"] == "submod") & (rows["control"] == "focused")].iloc[0]
    ends = RISING[(RISING["treatment"] == "submod") & (RISING["control"] == "focused") & (RISING["measure"] == PLAN["metric"])].set_index("end")
    assert one["low"] == pytest.approx(100 * ends.loc["low", "estimate"]) and one["high"] == pytest.approx(100 * ends.loc["high", "estimate"])
    assert one["ci_low"] <= one["change"] <= one["ci_high"] and dials_words.turned(RISING.iloc[:0]).empty


def test_another_packers_contrasts_do_not_speak_for_the_first():
    other = RISING[RISING["control"] == "naive"].assign(treatment="tuned", control="submod")
    head, below = title(dial_contrasts(pd.concat([RISING, other], ignore_index=True), 0.02))
    assert head == title(dial_contrasts(RISING, 0.02))[0] and "over submod" not in below


def test_the_levels_title_has_its_numbers():
    kept = RISING[(RISING["treatment"] == "submod") & (RISING["control"] == "none") & (RISING["measure"] == PLAN["metric"])].set_index("end")["estimate"]
    said = title(dial_levels(RISING))[0].replace(chart_words.GAP, " ")
    assert "Retrieval moves most along surfacing (100 % to 100 %)" in said
    assert f"submod moves most along surfacing ({100 * kept['low']:.0f} % to {100 * kept['high']:.0f} %)" in said
