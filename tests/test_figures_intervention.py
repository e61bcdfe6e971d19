"""The figure of the interventional test: what it says, what it leaves out, and what it refuses."""
import json

import numpy as np
import pandas as pd
import pytest

from lib import charts
from lib.charts import ChartError
from lib.figures_intervention import FEWEST, dissociation_figure

NAN = float("nan")


def moves(dataset="2wiki", coverage="moved up", answer="equivalent", f1="equivalent", **columns):
    rows = [("gold_coverage", coverage, "none", 0.054), ("answer_in_context_defined", answer, "none", -0.007), ("f1", f1, "r", -0.008)]
    table = pd.DataFrame(rows, columns=["metric", "verdict", "reader", "delta"]).assign(
        dataset=dataset, tier="t", pack_id="p", budget=160, half="all", treatment="submod", control="focused", precision="fp16", margin=0.02, n=1500)
    return table.assign(ci_low=table["delta"] - 0.01, ci_high=table["delta"] + 0.01, eq_low=table["delta"] - 0.008, eq_high=table["delta"] + 0.008, **columns)


def why(dataset="2wiki", **columns):
    quantities = ["answer_ranked_first", "answer_first_pick", "added_bridging", "open_bridging", "dropped_answer", "control_answer", "gold_added"]
    return pd.DataFrame({"quantity": quantities}).assign(dataset=dataset, treatment="submod", control="focused", question_type="all", estimate=0.7, ci_low=0.6,
                                                         ci_high=0.8, n=300, clusters=280).assign(**columns)


def drawn(*args, **kwargs):
    """(title on one line, all text of the specification)."""
    spec = charts.spec_of(dissociation_figure(*args, **kwargs), "dissociation")
    return " ".join(spec["title"]["text"]), json.dumps(spec, ensure_ascii=False)


@pytest.mark.parametrize(("table", "said"), [
    (moves(), "coverage rose, answers in context and F1 stayed"), (moves(coverage="moved down"), "coverage fell, answers in context and F1 stayed"),
    (moves(answer="inconclusive"), "coverage rose, whether answers in context moved is undecided"),
    (moves(answer="moved up"), "answers in context rose with coverage"),
    (moves(f1="inconclusive"), "coverage rose, answers in context stayed, F1 is undecided"),
    (moves(coverage="slightly up"), "coverage stayed within the margin")])
def test_the_title_says_what_the_table_says(table, said):
    title, text = drawn(table, why(), "r")
    assert title == f"On 2WikiMultiHopQA, {said}"
    assert "moved up" in text or "moved down" in text or "slightly up" in text
    assert "+5.4 [+4.4, +6.4]" in text and "n = 1,500" in text and "±2 points" in text and "t tier" in text


def test_three_data_sets_are_named_by_what_they_show():
    tables = [moves("2wiki"), moves("hotpotqa"), moves("musique", answer="moved up")]
    title, text = drawn(pd.concat(tables), pd.concat([why(d) for d in ("2wiki", "hotpotqa", "musique")]), "r")
    assert title.count("coverage rose") == 1 and "MuSiQue, answers in context rose with coverage" in title and "Why: HotpotQA" in text


def test_shares_of_too_few_and_missing_rows_are_left_out():
    _, text = drawn(moves(), why(n=[300, 300, FEWEST - 1, 300, 300, 300, 300]), "r")
    assert "gold submod drops, with the answer" in text and "gold submod adds" not in text and "focused picks it first" in text
    for nothing in (why().iloc[:0], why(estimate=NAN), why(n=1)):
        _, text = drawn(moves(), nothing, "r")
        assert "Why" not in text and "diamonds" not in text
    gone = moves()
    gone.loc[gone["metric"] == "f1", ["delta", "ci_low", "ci_high", "eq_low", "eq_high"]] = NAN
    text = drawn(gone, why(), "r")[1]
    assert '"F1"' not in text and "F1 of" not in text and "F1 of r" in drawn(moves(), why(), "r")[1]
    assert drawn(moves().query("metric == 'f1'"), why(), "r")[0] == "On 2WikiMultiHopQA, there is no gold to cover"


def test_the_base_share_stands_beside_what_was_added():
    table = why()
    table.loc[table["quantity"] == "open_bridging", "estimate"] = 0.314
    assert '"base": 0.314' in drawn(moves(), table, "r")[1]


def test_what_cannot_be_drawn_is_refused_with_the_mend():
    with pytest.raises(ChartError, match="no rows"):
        dissociation_figure(moves(delta=np.nan), why(), "r")
    with pytest.raises(ChartError, match="keep one pack"):
        dissociation_figure(pd.concat([moves(), moves(pack_id="q")]), why(), "r")
    with pytest.raises(ChartError, match="keep one pack"):
        dissociation_figure(moves(), pd.concat([why(), why(half="0")]), "r")
