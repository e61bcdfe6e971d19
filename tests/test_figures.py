"""Figures by name: each is drawn from the rows that can be drawn, and a note stands where there are none."""
import json
import re

import pandas as pd
import pytest
import vl_convert

from lib import charts, figures
from lib import figures_stages as figure

NAN = float("nan")


def curve(**values):
    rows = [("own_x", p, b, "all", m, 0.5, 0.4, 0.6, 10, "t") for p in ("naive", "submod", "topk") for b in (64, 160) for m in ("answer_in_pool", "answer_in_context_defined")]
    return pd.DataFrame(rows, columns=["dataset", "policy", "budget", "half", "measure", "estimate", "ci_low", "ci_high", "n", "tier"]).assign(**values)


AGAINST = pd.DataFrame(columns=["dataset", "half", "budget", "treatment", "control", "delta", "ci_low", "ci_high"])


def text_of(chart):
    return json.dumps(chart.to_dict())


def test_where_no_answer_is_defined_a_note_stands_for_the_curve():
    assert "not drawn" in text_of(figures.survival_curves(curve(estimate=NAN, ci_low=NAN, ci_high=NAN), AGAINST, 160, "t"))


@pytest.mark.parametrize(("policies", "said"), [(["naive", "topk"], "With 160 tokens, naive carries"), (["topk"], "With 160 tokens, topk carries"), (["naive", "submod"], "submod carries")])
def test_the_curve_copes_with_absent_packers(policies, said):
    table = curve()
    assert said in text_of(figures.survival_curves(table[table["policy"].isin(policies)], AGAINST, 160, "t"))


def test_one_question_has_no_interval_and_no_figure():
    table = curve(ci_low=NAN, ci_high=NAN)
    assert "not drawn" in text_of(figures.drawn(figures.dot_rows, table, measure="answer_in_pool", tier="t"))
    assert "not drawn" in text_of(figures.each_set(figures.waterfall, table.iloc[:0], tier="t"))
    deltas = pd.DataFrame({"metric": ["f1"], "delta": [0.1], "ci_low": [NAN], "ci_high": [NAN]})
    assert "not drawn" in text_of(figures.forests(deltas, ["f1"], 0.02, "t"))


def test_conditional_means_keep_rows_with_both_sides():
    table = pd.DataFrame({"dataset": ["a", "a", "b"], "reader": "r", "precision": "fp32", "measure": "f1", "holds": [0, 1, 1], "estimate": 0.5, "ci_low": 0.4, "ci_high": 0.6})
    assert figures.both_sides(table)["dataset"].tolist() == ["a", "a"]


def test_a_budget_that_holds_no_snippet_gives_a_note_for_the_example():
    none = pd.DataFrame(columns=["policy", "snippet_id"])
    assert "no packer keeps a snippet within 2 tokens" in text_of(figures.example("Who?", "she", pd.DataFrame({"snippet_id": ["a"]}), none, budget=2, tier="t"))


# ---- the waterfall and its slices

ARM = {"tier": "sample", "dataset": "d", "slice": "all", "pack_id": "p", "policy": "submod", "budget": 160, "reader": "r", "precision": "fp32",
       "outcome": "em", "n": 180}


def chains(shares=(0.96, 0.88, 0.67, 0.36), half=0.01, **columns):
    """One chain of the table waterfall: ``half`` is half the width of every interval."""
    rows = pd.DataFrame({"stage": ["corpus", "pool", "context", "read"][:len(shares)], "order": range(1, len(shares) + 1), "share": shares})
    rows["lost"] = rows["share"].shift(fill_value=1.0) - rows["share"]
    ends = {f"{name}{end}": rows[of] + sign * half for of, name in (("share", "ci_"), ("lost", "lost_")) for end, sign in (("low", -1), ("high", 1))}
    return rows.assign(**ends).assign(**ARM | {"undefined": 20} | columns)


def beside(order=0.3, without=0.05, **columns):
    rows = pd.DataFrame({"mark": ["first_stage_order", "right_without_answer"], "estimate": [order, without]}).dropna()
    return rows.assign(ci_low=rows["estimate"] - 0.02, ci_high=rows["estimate"] + 0.02, **ARM | columns)


def title(chart):
    said = chart.to_dict()["title"]
    return " ".join(said["text"]), " ".join(said["subtitle"])


def labels(chart):
    return [t.replace("\u00a0", " ") for t in re.findall(r">([^<>]+)</t(?:ext|span)>", vl_convert.vegalite_to_svg(charts.spec_of(chart, "test")))]


def test_the_waterfall_shows_the_marks_of_its_own_chain_and_counts_what_is_undefined():
    marks = pd.concat([beside(), beside(0.9, 0.8, outcome="f1"), beside(0.7, 0.6, policy="naive"), beside(0.5, 0.4, slice="half=0")])
    chart = figure.waterfall(chains(), marks)
    found, (finding, notes) = labels(chart), title(chart)
    assert {"rank", "order:", "30 %", "+ 5 %", "right without"} <= set(found)
    assert finding == "Of 100 answers 31 are lost in reading, the largest of 4 losses; 36 come out right"
    assert "n = 180 questions with a defined answer (and 20 without, left out)" in notes and "submod at 160 tokens" in notes and "rank order" in notes


@pytest.mark.parametrize(("last", "without"), [(0.364, 0.054), (0.356, 0.049), (0.0, 0.004), (0.5, 0.5)])
def test_the_printed_bar_apart_and_the_printed_last_share_add_up_to_the_printed_mean(last, without):
    found = labels(figure.waterfall(chains((1.0, 1.0, 0.67, last)), beside(without=without)))
    apart = next(int(t[1:-1]) for t in found if t.startswith("+"))
    assert apart + round(100 * last) == round(100 * (last + without)) and apart >= 0


def test_the_waterfall_without_marks_or_with_one_of_them():
    assert not any(t.startswith("+") or t == "rank" for t in labels(figure.waterfall(chains())))
    assert not any(t.startswith("+") or t == "rank" for t in labels(figure.waterfall(chains(), beside(policy="naive"))))
    only = labels(figure.waterfall(chains(), beside(order=NAN)))
    assert "+ 5 %" in only and "rank" not in only


@pytest.mark.parametrize(("columns", "end", "label"), [({"outcome": "f1"}, "36 come out, counted by F1", "its F1"),
                                                       ({}, "36 come out right", "answered exactly")])
def test_the_waterfall_of_either_score(columns, end, label):
    chart = figure.waterfall(chains(**columns), beside(**columns))
    assert title(chart)[0].endswith(end) and label in labels(chart)


def test_the_waterfall_without_a_reader_ends_at_the_context():
    chart = figure.waterfall(chains((0.96, 0.88, 0.5), outcome="none", reader="none", precision="none"))
    assert title(chart)[0] == "Of 100 answers 38 are lost in packing, the largest of 3 losses; 50 reach the context" and "none" not in title(chart)[1]


@pytest.mark.parametrize(("half", "said"), [
    (0.2, "31 are lost in reading, 21 in packing, 8 in retrieval and 4 for lack of their words in the corpus, too close to rank"),
    (0.06, "31 are lost in reading and 21 in packing, too close to rank"), (0.04, "31 are lost in reading, the largest of 4 losses")])
def test_the_largest_loss_is_named_only_where_the_intervals_tell(half, said):
    assert said in title(figure.waterfall(chains(half=half)))[0]


def test_a_waterfall_in_which_nothing_is_lost_or_nothing_left():
    assert title(figure.waterfall(chains((1.0, 1.0, 1.0, 1.0), half=0)))[0] == "No stage loses an answer"
    nothing = figure.waterfall(chains((0.0, 0.0, 0.0, 0.0), half=0), beside(order=0.0, without=0.0))
    assert title(nothing)[0] == "Of 100 answers 100 never stand in the corpus, the largest of 4 losses; 0 come out right" and labels(nothing).count("0 %") >= 4


def test_marks_that_do_not_name_their_chain_are_refused():
    two = pd.concat([beside(), beside(0.4)]).drop(columns=["policy", "slice"])
    with pytest.raises(charts.ChartError, match="mark 'first_stage_order' repeats"):
        figure.waterfall(chains(), two)


def test_one_waterfall_a_data_set_takes_one_table_of_marks():
    both = pd.concat([chains(dataset=d) for d in ("a", "b")])
    drawn = figures.each_set(figure.waterfall, both, marks=pd.concat([beside(0.3, dataset="a"), beside(0.4, dataset="b")]), tier="t")
    assert {"30 %", "40 %"} <= set(labels(drawn))


def sliced():
    kinds = {"bridge": ((1.0, 0.9, 0.8, 0.2), 90), "single": ((1.0, 0.9, 0.4, 0.3), 60), "odd": ((1.0, 0.8, 0.6, 0.4), 30)}
    return pd.concat([chains(), *[chains(shares, slice=f"question_type={kind}", n=n) for kind, (shares, n) in kinds.items()]])


def test_slices_are_sorted_named_counted_and_their_parts_add_up():
    chart = figure.waterfall_slices(sliced())
    found = labels(chart)
    names = [t for t in found if t in ("all questions", "bridge", "single", "odd")]
    assert names == ["all questions", "odd", "single", "bridge"] and {"n = 180", "n = 90", "n = 60", "n = 30"} <= set(found)
    assert sum(int(t) for t in found if t.isdigit()) == 400  # each bar's printed parts; none is too narrow here
    assert {"right", "lost in reading", "in packing", "in retrieval", "not in the corpus"} <= set(found)
    finding, notes = title(chart)
    assert finding == "bridge loses most in reading; single loses most in packing; odd is too close to tell"
    assert "n = 30 to 180 questions with a defined answer (and 20 without)" in notes and "intervals" in notes


def test_slices_without_an_answer_to_look_for_are_named_and_not_drawn():
    lacking = chains((NAN,) * 4, slice="question_type=free_form", n=0)
    alone = chains((1.0, 1.0, 1.0, 1.0), slice="question_type=one", n=1).assign(ci_low=NAN, ci_high=NAN)
    chart = figure.waterfall_slices(pd.concat([sliced(), lacking, alone]))
    assert "free_form" not in labels(chart) and title(chart)[1].endswith("Not drawn, too few with a defined answer: free_form and one")
    with pytest.raises(charts.ChartError, match="no rows"):
        figure.waterfall_slices(lacking)


@pytest.mark.parametrize(("row", "values", "said"), [
    ("policy", ["naive", "topk"], "naive and topk lose most in reading"), ("budget", [96, 160], "160 tokens and 96 tokens lose most in reading"),
    ("dataset", ["hotpotqa", "musique", "2wiki"], "2wiki, hotpotqa and musique lose most in reading")])
def test_rows_may_be_packers_data_sets_or_budgets(row, values, said):
    table = pd.concat([chains(**{row: v}) for v in values])
    assert title(figure.waterfall_slices(table, row))[0] == said
    shuffled = table.sample(frac=1, random_state=0)
    assert charts.spec_of(figure.waterfall_slices(shuffled, row), "a") == charts.spec_of(figure.waterfall_slices(table, row), "a")


@pytest.mark.parametrize(("table", "said"), [
    (chains(half=0.3), "Which stage loses most is too close to tell for all questions"), (chains((1.0,) * 4, half=0), "all questions lose nothing"),
    (chains((0.4, 0.4, 0.4, 0.4), slice="kind=x"), "x loses most for lack of their words in the corpus")])
def test_what_slices_say_at_their_limits(table, said):
    assert title(figure.waterfall_slices(table))[0] == said


def test_slices_of_several_chains_are_refused():
    with pytest.raises(charts.ChartError, match="policy 'submod' has several chains"):
        figure.waterfall_slices(pd.concat([chains(), chains(budget=96)]), "policy")
    with pytest.raises(charts.ChartError, match="lost is not the fall in share"):
        figure.waterfall_slices(chains().assign(lost=0.1))


def test_waterfalls_fit_a_readme_have_no_legend_and_no_missing_number():
    long = sliced().replace("question_type=bridge", "question_type=comparison_choice_with_more")
    for chart in (figure.waterfall(chains(), beside()), figure.waterfall_slices(long)):
        drawn = vl_convert.vegalite_to_svg(charts.spec_of(chart, "test"))
        assert 300 < float(re.search(r'width="([\d.]+)"', drawn).group(1)) <= 765
        assert "role-legend" not in drawn and not re.search(r"NaN|undefined|null", drawn)
        assert set(re.findall(r'font-family="([^"]*)"', drawn)) == {charts.FONT}
