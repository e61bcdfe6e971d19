"""The figures of depth and latency: what is drawn is in the table, titles say what the table says, one slice and many, nothing to draw."""
import json
import math

import pandas as pd
import pytest
from depth_world import planted

from lib import charts, depth, depth_choice, depth_table, figures_depth, latency_table, latency_times
from lib.figures_depth import depth_curves, finding
from lib.figures_depth_latency import finding as latency_finding
from lib.figures_depth_latency import latency_tails

NAMES = ("sample", "bm25", "planted")


def made(**options):
    rows = depth.depth_rows(*planted(**options))
    return depth_table.depth_table(rows, *NAMES, resamples=100), depth_choice.sufficient(rows, *NAMES, resamples=100), depth_choice.falls(rows, *NAMES,
            resamples=100)


@pytest.fixture(scope="module")
def tables():
    return made(n=60, fooled=0.3)


@pytest.fixture(scope="module")
def chart(tables):
    return depth_curves(*tables)


def values(chart):
    return [row for data in charts.spec_of(chart, "x")["datasets"].values() for row in data]


def text(chart):
    spec = charts.spec_of(chart, "x")
    title = spec["title"]
    return " ".join(title["text"]) + " | " + " ".join(title["subtitle"]) + " | " + json.dumps(spec, ensure_ascii=False)


def test_every_mean_and_interval_of_the_four_curves_is_drawn(tables, chart):
    table, rows = tables[0], [v for v in values(chart) if "measure" in v and "slice" in v]
    drawn = {(v["slice"], v["measure"], v["depth"], f"{v['estimate']:.6g}") for v in rows}
    shown = table[table["measure"].isin(["coverage", "ceiling", "realised", "base"])]
    assert {(r.slice, r.measure, r.depth, f"{r.estimate:.6g}") for r in shown.itertuples()} <= drawn
    ends = {f"{v['ci_low']:.6g}" for v in rows if v["measure"] == "realised"}
    assert ends == {f"{v:.6g}" for v in table.loc[table["measure"] == "realised", "ci_low"]}


def test_the_sufficient_depth_is_marked_and_said(tables, chart):
    enough = tables[1].query("measure == 'realised'").set_index("slice")
    marks = {(v["depth"], round(v["low"] * 1.08), round(v["high"] / 1.08)) for v in values(chart) if "low" in v and "high" in v}
    assert marks == {(float(r.depth), r.depth_low, r.depth_high) for r in enough.itertuples()}
    assert "easy" in text(chart) and "smallest sufficient depth" in text(chart)
    one = tables[0][tables[0]["slice"] == "easy"]
    assert "smallest sufficient depth" not in text(depth_curves(one))


def test_titles_say_what_the_table_says():
    curve = pd.DataFrame({"measure": "realised", "depth": [5, 50], "estimate": [0.5, 0.7]})
    enough = pd.Series({"depth": 20, "depth_low": 20, "depth_high": 20, "verdict": "decided", "tolerance": 0.02, "n": 300})
    fall = pd.Series({"verdict": "falls", "peak": 50, "depth": 200, "delta": -0.068})
    assert finding(enough, fall, curve) == "Deeper is worse: 200 candidates instead of 50 change nDCG@10 by −0.068, chosen and confirmed on different questions"
    none = fall.replace({"falls": "no fall found"})
    assert finding(enough, none, curve, m=5) == "Reranking 20 candidates is enough: nDCG@5 is within 0.02 of the best depth"
    assert "deeper lists were not tried" in finding(pd.Series({**enough, "verdict": "decided, still rising"}), None, curve)
    assert finding(pd.Series({**enough, "verdict": "not decided", "depth_high": 50}), None,
            curve).startswith("How deep to rerank is not decided: 20 to 50 candidates may do")
    assert "look enough on 300 questions" in finding(pd.Series({**enough, "verdict": "not decided"}), None, curve)
    gains = pd.DataFrame({"depth": [5, 50], "estimate": [-0.03, -0.11], "ci_low": [-0.05, -0.13], "ci_high": [-0.01, -0.09]})
    assert finding(enough, fall, curve, gains) == "Reranking loses to the first stage at every depth tried: nDCG@10 changes by −0.030 at depth 5 to −0.110 at 50"
    assert finding(enough, fall, curve, gains.assign(ci_high=[0.01, -0.09])).startswith("Deeper is worse")
    assert finding(None, None, curve) == "From depth 5 to 50, nDCG@10 goes from 0.50 to 0.70"


@pytest.mark.parametrize(("slices", "most"), [(("a",), 8), (("a", "b", "c"), 2)])
def test_one_slice_and_more_than_there_is_room_for(slices, most, monkeypatch):
    monkeypatch.setattr(figures_depth, "MOST", most)
    said = text(depth_curves(*made(n=4 * len(slices), slices=slices)))
    assert "n = " in said and ("Not shown: b and c" in said) == (len(slices) > 1)


def test_without_tokens_pairs_are_the_cost_and_what_cannot_be_drawn_is_said(chart):
    lists, gold, questions = planted(n=12, slices=("a",))
    rows = depth.depth_rows(lists.drop(columns="tokens"), gold, questions)
    table = depth_table.depth_table(rows, *NAMES, resamples=50)
    assert "pairs scored" in text(depth_curves(table)) and "tokens read" in text(chart)
    unjudged = depth_table.depth_table(depth.depth_rows(lists, gold.head(0), questions), *NAMES, resamples=50)
    with pytest.raises(charts.NothingToDraw):
        depth_curves(unjudged)
    with pytest.raises(charts.ChartError, match="several data sets"):
        depth_curves(pd.concat([table, table.assign(reranker="other")]))


# --- latency

@pytest.fixture(scope="module")
def tails():
    rows = [(d, b, k, 0.02 * d * b * (1 + k % 5 / 10), 1.0, d * b, d, 1.0) for d in (5, 20) for b in (1, 8) for k in range(10)]
    times = latency_times.Times(pd.DataFrame(rows, columns=list(latency_times.COLUMNS)), {})
    return latency_table.latency_table(times, "sample", "planted", [5, 20], loads=(0.3, 0.7, 0.9), timeout=2.0, requests=400, runs=4)


def test_every_quantile_is_drawn_at_the_deepest_depth_or_the_one_asked(tails):
    for asked, shown in ((None, 20), (5, 5)):
        drawn = {(v["arrangement"], v["load"], v["quantity"], round(v["estimate"], 4)) for v in values(latency_tails(tails, 2.0,
                depth=asked)) if "arrangement" in v}
        rows = tails[(tails["depth"] == shown) & tails["quantity"].isin(["p50", "p95", "p99"])]
        assert drawn >= {(r.arrangement, r.load, r.quantity, round(float(f"{r.estimate:.6g}"), 4)) for r in rows.itertuples()}


def test_the_timeout_is_drawn_and_the_title_has_the_tails_at_a_planned_load(tails):
    chart = latency_tails(tails, 2.0)
    assert "the timeout of 2 s" in text(chart) and "the timeout" not in text(latency_tails(tails))
    at = tails[(tails["depth"] == 20) & (tails["load"] == 0.7)].set_index(["arrangement", "quantity"])["estimate"]
    said = text(chart).split(" | ")[0]
    assert said.startswith("At load 0.7") and f"{at['single', 'p99'] / at['single', 'p50']:.0f} times the median (single" in said and "bursty" in said
    assert f"{100 * at['bursty', 'timed_out']:.0f}" in said


def test_one_arrangement_and_nothing_to_draw(tails):
    one = tails[tails["arrangement"] == "single"]
    assert "single" in text(latency_tails(one, 2.0)) and "and" not in text(latency_tails(one)).split(" | ")[0]
    few = tails[(tails["depth"] == 20) & (tails["quantity"] == "p95")]
    assert latency_finding(few, few.head(0)).startswith("The slowest answers take up to")
    with pytest.raises(charts.NothingToDraw):
        latency_tails(tails, depth=7)
    with pytest.raises(charts.NothingToDraw):
        latency_tails(tails.assign(ci_low=math.nan))
    with pytest.raises(charts.ChartError, match="filter to one"):
        latency_tails(pd.concat([tails, tails.assign(reranker="other")]))
