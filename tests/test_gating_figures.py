"""The gate's figures: titles say what the tables say, one and three data sets draw, and a table without intervals draws nothing."""
import pandas as pd
import pytest

from lib import gating_figures, gating_figures_optimism
from lib.charts import NothingToDraw, spec_of


def cells(*rows):
    columns = ["dataset", "k", "skip", "delta", "bound", "within", "surely_within", "harmful", "beneficial"]
    made = pd.DataFrame(rows, columns=columns).assign(rule="coverage", inner_skip=0.5, n=200, tier="sample")
    return made.assign(skip_low=made["skip"] - 0.05, skip_high=made["skip"] + 0.05, ci_low=made["delta"] - 1, ci_high=made["delta"] + 1)


def bins(*rows):
    made = pd.DataFrame(rows, columns=["dataset", "p_harm", "harm", "count"]).assign(rule="budget 1", form="calibrated", questions=10, tier="sample")
    return made.assign(ci_low=made["harm"] - 0.05, ci_high=made["harm"] + 0.05)


def optimism(passes):
    rows = [("coverage", n, grid, q, v) for n in (250, 500) for grid, up in ((1, 0.5), (8, 1.5)) for q, v in (("optimism", up), ("held_out_passes", passes))]
    made = pd.DataFrame(rows, columns=["rule", "n", "grid", "quantity", "estimate"])
    return made.assign(ci_low=made["estimate"] - 0.1, ci_high=made["estimate"] + 0.1, runs=100)


@pytest.mark.parametrize("rows, said", [
    ([("a", 1, 0.4, -2.0, -4.0, False, False, 5, 1), ("a", 5, 0.6, -1.0, -2.0, True, False, 2, 0)],
     "50 % at −1.5 pp: 1 of 2 cells loses at most 1 pp, none of them surely; skips do harm in 2"),
    ([("a", 1, 0.5, 0.0, -0.9, True, True, 0, 0)], "50 % at 0.0 pp: 1 of 1 cell loses at most 1 pp, 1 surely; skips do harm in 0"),
    ([("a", 1, 0.0, 0.0, -2.0, True, False, 0, 0)], "The gate skipped nothing, so nothing could be lost"),
    ([("a", 1, 0.0, 0.0, -2.0, True, False, 0, 0), ("a", 5, 0.5, -0.5, -0.9, True, True, 2, 1)],
     "25 % at −0.2 pp: it skips nothing in 1 of 2, 1 of 1 other cell loses at most 1 pp, 1 surely"),
    ([("a", 1, 0.5, -3.0, -4.0, False, False, 6, 0)], "0 of 1 cell lose at most 1 pp, and so none surely")])
def test_the_title_counts_the_cells(rows, said):
    spec = spec_of(gating_figures.held_out(cells(*rows), "coverage"), "held_out")
    assert said in " ".join(spec["title"]["text"]).replace("\u00a0", " ")


def test_a_cell_without_a_skip_is_neither_sure_nor_unsure_and_has_no_bound():
    idle, busy = ("a", 1, 0.0, 0.0, -2.0, True, False, 0, 0), ("a", 5, 0.5, -0.5, -2.9, True, False, 2, 1)
    for rows, looks, bounds in (((busy,), 3, [-2.9]), ((idle, busy), 4, [-2.9]), ((idle,), 4, [])):
        chart = gating_figures.held_out(cells(*rows), "coverage")
        ticks = [layer.data for layer in chart.hconcat[1].layer if layer.encoding.to_dict().get("x", {}).get("field") == "bound"]
        assert ticks[0]["bound"].tolist() == bounds
        assert chart.hconcat[0].data["verdict"].tolist() == ["nothing skipped" if r is idle else "within 1 pp, not surely" for r in rows]
        assert len(chart.hconcat[0].layer[0].encoding.color.to_dict()["scale"]["domain"]) == looks


def test_bins_that_break_their_promise_are_counted():
    table = bins(("a", 0.1, 0.11, 90), ("a", 0.5, 0.9, 10), ("b", 0.2, 0.2, 50), ("c", 0.3, 0.3, 5))
    for drawn, said in ((table, "3 of 4 bins"), (table[table["dataset"] == "a"], "1 of 2 bins")):
        title = " ".join(spec_of(gating_figures.reliable(drawn, "budget 1"), "reliable")["title"]["text"]).replace("\u00a0", " ")
        assert said in title and "promises 10 % and brings 11 %" in title


def test_the_title_of_the_simulation_tells_the_widest_and_the_narrowest_search():
    title = " ".join(spec_of(gating_figures_optimism.optimism(optimism(0.52)), "optimism")["title"]["text"]).replace("\u00a0", " ")
    assert "On 250 questions the best of 8 candidates promises 1.5 pp more than it keeps, one alone +0.5" in title and "52 % of runs" in title


def test_a_table_without_an_interval_draws_nothing():
    with pytest.raises(NothingToDraw):
        gating_figures.held_out(cells(("a", 1, 0.5, 0.0, -0.9, True, True, 0, 0)).assign(ci_low=None), "coverage")
    with pytest.raises(NothingToDraw):
        gating_figures.reliable(bins(("a", 0.1, 0.1, 9)), "another rule")
    with pytest.raises(NothingToDraw):
        gating_figures_optimism.optimism(optimism(0.5).query("grid == 1"))
