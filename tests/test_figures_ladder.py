"""The ladder's figures: intervals drawn, published marks pale and apart, titles that say what the table says."""
import json

import pandas as pd
import pytest
from ladder_world import RUNGS, rows

from lib import charts, figures, ladder, ladder_partners, tables
from lib.figures_ladder import finding, reader_ladder, size_name
from lib.figures_ladder_rows import answer_forms, form_finding, rung_scores


@pytest.fixture(scope="module")
def table():
    return figures.known(tables.check(ladder.ladder(rows({RUNGS[0]: 0.1}, n=60), "sample", resamples=100), "ladder"))


@pytest.fixture(scope="module")
def edges(table):
    return table[(table["kind"] == "contrast") & (table["quantity"] == "f1")]


def spec(chart):
    return json.dumps(charts.spec_of(chart, "x"), ensure_ascii=False)


def values(chart):
    return [row for data in charts.spec_of(chart, "x")["datasets"].values() for row in data]


def test_every_rung_and_every_published_rung_has_its_mark_and_interval(edges):
    drawn = values(reader_ladder(edges, ladder_partners.published_ladder(), margin=0.02))
    marks = {(round(v["x"], 3), v["precision"], round(v["estimate"], 6)) for v in drawn if "precision" in v}
    assert len(marks) == 2 * len(RUNGS) + 7
    whole = {(round(v["ci_low"], 4), round(v["ci_high"], 4)) for v in drawn if v.get("ci_low") is not None}
    shown = edges[(edges["policy"] == "submod")]
    printed = {(0.002, 0.041), (-0.035, 0.015), (-0.032, 0.017), (-0.052, -0.006), (0.03, 0.072)}
    assert {(round(a, 4), round(b, 4)) for a, b in zip(shown["ci_low"], shown["ci_high"])} | printed == whole


def test_number_formats_of_one_size_stand_apart_and_sizes_in_order(edges):
    drawn = pd.DataFrame([v for v in values(reader_ladder(edges)) if "precision" in v])
    same = drawn[(drawn["x"] - -0.30103).abs() < 0.1].groupby("precision")["x"].first()
    assert same["nf4"] - same["fp32"] > 0.03 and drawn["x"].max() == pytest.approx(0.176, abs=0.01)
    assert [size_name(s) for s in (0.135, 0.27, 0.5, 1.5, 14)] == ["135M", "270M", "0.5B", "1.5B", "14B"]


def test_filled_means_decided_and_pale_is_never_filled(edges):
    drawn = [v for v in values(reader_ladder(edges, ladder_partners.published_ladder())) if "fill" in v and "x" in v and "estimate" in v]
    pale = [v for v in drawn if v["colour"] == "#A9B7C6"]
    assert pale and all(v["fill"] == charts.PAPER for v in pale)
    for v in (v for v in drawn if v["colour"] != "#A9B7C6"):
        assert (v["fill"] != charts.PAPER) == (v["ci_low"] > 0 or v["ci_high"] < 0)


def test_titles_for_wins_losses_undecided_and_one_rung(edges):
    def said(*intervals):
        made = pd.DataFrame({"policy": "submod", "control": "focused", "reader": [f"a-{i}b" for i in range(len(intervals))], "precision": "fp32",
                             "ci_low": [a for a, _ in intervals], "ci_high": [b for _, b in intervals]})
        return finding(made, ("submod", "focused"))

    up, down, none = (0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)
    assert said(none, none) == "On none of 2 rungs does F1 tell submod from focused: every rung's interval holds 0"
    assert said(up, down, none) == "submod against focused on F1: better on 1 of 3 rungs (a-0b fp32), worse on 1 (a-1b fp32), undecided on 1"
    assert said(up) == "On the one rung read, a-0b fp32, submod is better than focused on F1"
    assert said(none) == "On the one rung read, a-0b fp32, submod cannot be told apart from focused on F1"
    assert "better on 1 of 4 rungs (smol-135m fp32)" in " ".join(reader_ladder(edges).to_dict()["title"]["text"])


def test_scores_show_every_policy_closed_book_and_the_floor_on_every_rung(table):
    drawn = pd.DataFrame([v for v in values(rung_scores(table[table["kind"] == "score"])) if "rung" in v]).drop_duplicates(["rung", "name"])
    assert set(drawn["name"]) == {"submod", "focused", "naive", "closed_book", "without the answer"} and len(drawn) == 5 * len(RUNGS)
    assert list(dict.fromkeys(drawn["rung"])) and drawn[["ci_low", "ci_high"]].notna().all(axis=None)


def test_the_title_of_the_scores_rests_on_paired_differences_and_is_silent_without_them(table):
    def said(part):
        return " ".join(rung_scores(part).to_dict()["title"]["text"])

    edges = table[(table["kind"] == "contrast") & (table["quantity"] == "f1")]
    clear = ((edges["ci_low"] > 0) | (edges["ci_high"] < 0)).sum()
    assert f"the packers lie within {100 * edges['estimate'].abs().max():.1f} points of each other ({clear} of {len(edges)} differences decided" in said(table)
    grown = table[(table["kind"] == "scale") & (table["policy"] == "pooled") & (table["quantity"] == "f1")]
    assert any(word in said(table) for word in ("F1 rises from", "F1 falls from", "F1 does not clearly move from")) and len(grown)
    alone = said(table[table["kind"] == "score"])
    assert alone.startswith("F1 runs from") and "apart" not in alone and "decided" not in alone


def test_closed_book_and_the_floor_say_how_many_rows_each_is_the_mean_of(table):
    text = spec(rung_scores(table))
    floor = table[(table["kind"] == "score") & (table["quantity"] == "f1_without")]["n"].max()
    assert "closed book (60 questions)" in text and f"context without the answer ({floor} contexts)" in text and "other questions than closed book" in text


def test_forms_show_precision_and_recall_apart_and_leave_out_what_is_unknown(table):
    scores = table[table["kind"] == "score"]
    text = spec(answer_forms(scores))
    assert "answer_precision" in text and "answer_recall" in text and "cut off" in text
    known = scores[~scores["quantity"].isin(["words", "abstains", "answer_precision", "answer_recall"])]
    assert "token precision" not in spec(answer_forms(known)) and "cut off" in spec(answer_forms(known))


def test_the_form_title_says_which_way_precision_and_recall_part():
    def said(p, r):
        made = [(rung, q, v) for rung, a, b in (("a", 0.5, 0.5), ("b", p, r)) for q, v in (("words", 2.0), ("answer_precision", a), ("answer_recall", b))]
        return form_finding(pd.DataFrame(made, columns=["rung", "quantity", "estimate"]))

    assert "recall exceeds precision most on b (+30 points)" in said(0.3, 0.6) and "precision exceeds recall most on b (+30 points)" in said(0.6, 0.3)
    assert "part by no more than 5 points on any rung" in said(0.5, 0.52)


@pytest.mark.parametrize(("draw", "kind"), [(reader_ladder, "contrast"), (rung_scores, "score"), (answer_forms, "score")])
def test_nothing_to_draw_and_twins_are_told_apart(table, draw, kind):
    part = table[(table["kind"] == kind) & ((table["quantity"] == "f1") | (kind == "score"))]
    with pytest.raises(charts.NothingToDraw):
        draw(part[:0])
    with pytest.raises(charts.ChartError, match="several rows"):
        draw(pd.concat([part, part]))
    assert draw(part[part["reader"] == RUNGS[0][0]]) is not None  # one rung


def test_readers_whose_name_tells_no_size_are_not_on_the_axis(edges):
    with pytest.raises(charts.NothingToDraw, match="tells its size"):
        reader_ladder(edges.assign(billions=float("nan")))


def test_several_data_sets_stand_one_below_the_other(edges):
    both = pd.concat([edges, edges.assign(dataset="2wiki")])
    text = spec(figures.each_set(reader_ladder, both, margin=0.02))
    assert "2wiki" in text and "hotpotqa" in text
