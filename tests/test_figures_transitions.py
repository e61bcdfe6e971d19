"""Figures of section 5: titles say what the table says (gross beside net, decided or not), parts add up on paper, long names fit, odd tables are refused."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import charts, figures
from lib.charts import ChartError
from lib.figures_headroom import headroom_dots
from lib.figures_mediation import mediation_effects
from lib.figures_transitions import FILL, transition_bars

PANEL = {"dataset": "d", "reader": "r", "precision": "fp32", "half": "all", "outcome": "f1", "tier": "sample", "n": 200, "clusters": 200}


def split(contribution, questions=(57, 16, 39, 53, 35), half=0.03, pair=("submod", "topk"), **columns):
    """A contrast from the five contributions: gained, lost, kept, absent, undefined."""
    parts = dict(zip(FILL, contribution))
    parts |= {"net": parts["gained"] + parts["lost"], "all": sum(contribution)}
    counts = dict(zip(FILL, questions)) | {"net": sum(questions[:2]), "all": sum(questions)}
    return pd.DataFrame([{"treatment": pair[0], "control": pair[1], "transition": k, "questions": counts[k], "contribution": v, "ci_low": v - half, "ci_high": v + half,
                          "share": counts[k] / sum(questions)} for k, v in parts.items()]).assign(**PANEL | columns)


GAIN = split((0.16, -0.04, 0.01, 0.0, -0.01))
LEVEL = split((0.01, -0.015, -0.002, 0.004, 0.0), (5, 5, 91, 64, 35), pair=("submod", "focused"))


def title(chart):
    found = chart.to_dict()["title"]
    return " ".join([found["text"]] if isinstance(found["text"], str) else found["text"]).replace("\u00a0", " ")


def notes(chart):
    return " ".join(chart.to_dict()["title"]["subtitle"]).replace("\u00a0", " ")


def data(chart, column):
    """The rows drawn, from the first data set that has ``column``."""
    return next(pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values() if column in rows[0])


@pytest.mark.parametrize(("table", "said"), [
    (GAIN, "submod − topk: newly placed answers make up 133 % of the gain in F1, 100 % net of those lost"),
    (pd.concat([LEVEL, GAIN]), "submod − topk: newly placed answers make up 133 % of the gain in F1, 100 % net of those lost"),
    (split((0.02, -0.1, 0, 0, 0)), "submod − topk: answers no longer there make up 125 % of the loss in F1, 100 % net of those gained"),
    (LEVEL, "submod − focused: 5 answers gained, 5 lost; the difference in F1 is undecided, so no share is stated"),
    (pd.concat([LEVEL, LEVEL.assign(control="mmr")]), "submod − focused: 5 answers gained, 5 lost; no difference in F1 is decided, so no share is stated")])
def test_the_title_of_transitions_is_gross_beside_net_or_no_share(table, said):
    chart = transition_bars(table)
    assert title(chart) == said and "n = 200 questions · sample tier" in notes(chart)


def test_bars_are_stacked_to_both_sides_and_end_where_they_should():
    parts = data(transition_bars(GAIN), "high")
    right, left = parts[parts["contribution"] > 0], parts[parts["contribution"] < 0]
    assert right["high"].max() == pytest.approx(0.17) and left["high"].min() == pytest.approx(-0.05)
    assert right["high"].max() + left["high"].min() == pytest.approx(0.12)  # the whole difference
    assert parts.set_index("transition")["low"][["gained", "lost"]].tolist() == pytest.approx([0, 0], abs=1e-9)


def test_counts_stand_in_words_beside_every_contrast():
    text = json.dumps(transition_bars(pd.concat([LEVEL, GAIN])).to_dict(), ensure_ascii=False)
    assert "57 gained, 16 lost, 39 kept, 53 in neither context, 35 without a span" in text and "5 gained, 5 lost, 91 kept" in text
    assert "net +0.120  [+0.090, +0.150]" in text and "all −0.003  [−0.033, +0.027]" in text


def won(oracle=(0.04, 0.10), selector=(-0.01, 0.02), eager=(-0.02, 0.03), sets=("d",)):
    rows = []
    for name in sets:
        for policy, value in (("naive", 0.37), ("focused", 0.39), ("submod", 0.38)):
            rows += [(name, policy, "mean", value, value - 0.06, value + 0.06), (name, policy, "best_or_tied", 0.8, 0.75, 0.85)]
            rows += [(name, policy, "strictly_best", 0.03, 0.01, 0.05)]
        rows += [(name, "best_fixed", "mean", 0.39, 0.33, 0.45), (name, "oracle", "mean", 0.46, 0.4, 0.52)]
        rows += [(name, "oracle", "minus_best_fixed", sum(oracle) / 2, *oracle)]
        for who, ends in (("selector", selector), ("selector_eager", eager)):
            if ends is not None:
                rows += [(name, who, "mean", 0.38, 0.32, 0.44), (name, who, "minus_best_fixed", sum(ends) / 2, *ends), (name, who, "as_best_fixed", 0.86, 0.8, 0.9)]
        rows += [] if selector is None else [(name, "best_fixed", "mean_chosen_in_training", 0.375, 0.31, 0.43)]
    return pd.DataFrame(rows, columns=["dataset", "policy", "quantity", "estimate", "ci_low", "ci_high"]).assign(**{k: v for k, v in PANEL.items() if k != "dataset"})


@pytest.mark.parametrize(("table", "said"), [
    (won(), "Whoever knew the outcome would win +0.070 F1 by choosing per question; what a selector wins cannot be told from nothing"),
    (won(selector=(0.01, 0.05)), "Whoever knew the outcome would win +0.070 F1 by choosing per question; the careful selector wins +0.030 of it"),
    (won(eager=(0.02, 0.04)), "Whoever knew the outcome would win +0.070 F1 by choosing per question; the eager selector wins +0.030 of it"),
    (won(eager=(-0.05, -0.01)), "Whoever knew the outcome would win +0.070 F1 by choosing per question; the eager selector loses 0.030"),
    (won(selector=None, eager=None), "Whoever knew the outcome would win +0.070 F1 by choosing per question; no selector was trained")])
def test_the_title_of_headroom_says_whether_a_selector_wins_any(table, said):
    chart = headroom_dots(table)
    assert title(chart) == said and ("A selector is compared with what was best in its training" in notes(chart)) == ("trained" not in said)
    rows = data(chart, "remark")
    assert rows.set_index("policy")["remark"]["focused"].replace("\u00a0", " ") == "best or tied on 80 %, alone best on 3 %"
    assert len(rows) == (7 if "trained" not in said else 4)


def through(total, indirect, half=0.05, share=0.87, pair=("submod", "topk"), mediator="answer_in_context", **columns):
    rows = {"a": 0.25, "b": indirect / 0.25, "total": total, "indirect": indirect, "direct": total - indirect, "share": share, "interaction": np.nan, "misfit": np.nan}
    return pd.DataFrame([{"treatment": pair[0], "control": pair[1], "mediator": mediator, "quantity": q, "estimate": v, "ci_low": v - half, "ci_high": v + half}
                         for q, v in rows.items()]).assign(**PANEL | {"undefined": 35} | columns)


@pytest.mark.parametrize(("table", "said"), [
    (through(0.16, 0.14), "submod − topk: 87 % of the gain in F1 goes with answer_in_context [82 % to 92 %]"),
    (through(-0.16, -0.14), "submod − topk: 87 % of the loss in F1 goes with answer_in_context [82 % to 92 %]"),
    (through(0.16, 0.01), "submod − topk: no part of the gain in F1 can be shown to run through answer_in_context"),
    (through(0.01, 0.0), "submod − topk: the difference in F1 is undecided, so there is nothing to divide"),
    (pd.concat([through(0.01, 0.0), through(0.02, 0.0, pair=("submod", "mmr"))]), "None of 2 contrasts in F1 is decided, so there is nothing to divide"),
    (pd.concat([through(0.01, 0.0), through(0.16, 0.14, pair=("submod", "mmr"))]), "submod − mmr: 87 % of the gain in F1 goes with answer_in_context [82 % to 92 %]")])
def test_the_title_of_mediation_divides_only_what_is_decided(table, said):
    chart = mediation_effects(table)
    assert title(chart) == said and "35 undefined left out" in notes(chart)
    lanes = data(chart, "numbers").set_index(["pair", "quantity"])["estimate"].unstack()
    assert np.allclose(lanes["indirect"] + lanes["direct"], lanes["total"])


def test_missing_quantities_of_a_contrast_are_no_crash_and_say_nothing_of_b():
    unknown = through(0.16, 0.14)
    unknown.loc[unknown["quantity"] == "b", ["estimate", "ci_low", "ci_high"]] = np.nan
    text = json.dumps(mediation_effects(unknown).to_dict(), ensure_ascii=False)
    assert "answer_in_context moves by +0.250" in text and "a step of 1" not in text


@pytest.mark.parametrize(("draw", "table"), [(transition_bars, GAIN), (headroom_dots, won()), (mediation_effects, through(0.16, 0.14))])
def test_figures_refuse_two_panels_at_once_and_an_outcome_that_is_not_there(draw, table):
    with pytest.raises(ChartError, match="keep one data set"):
        draw(pd.concat([table, table.assign(dataset="e")]))
    with pytest.raises(ChartError, match="no rows"):
        draw(table, outcome="em")
    with pytest.raises(ChartError, match="missing"):
        draw(table.drop(columns="outcome"))


@pytest.mark.parametrize(("draw", "table"), [(transition_bars, pd.concat([GAIN, LEVEL.assign(treatment="ace_submod", control="ace_focused")])), (headroom_dots, won()),
                                             (mediation_effects, through(0.16, 0.14, pair=("ace_submod", "ace_focused")))])
def test_three_data_sets_are_drawn_one_below_the_other_at_page_width(draw, table):
    import vl_convert

    chart = figures.each_set(draw, pd.concat([table.assign(dataset=d) for d in ("hotpotqa", "2wiki", "musique")]))
    svg = vl_convert.vegalite_to_svg(charts.spec_of(chart, "x"))
    width = float(svg.split('width="')[1].split('"')[0])
    assert 500 < width < 860 and all(svg.count(f"{d} ·") for d in ("hotpotqa", "2wiki", "musique"))


def test_a_single_question_has_no_interval_and_no_figure():
    for draw, table in ((transition_bars, GAIN), (headroom_dots, won()), (mediation_effects, through(0.16, 0.14))):
        assert "not drawn" in json.dumps(figures.each_set(draw, table.assign(ci_low=np.nan, ci_high=np.nan)).to_dict())
