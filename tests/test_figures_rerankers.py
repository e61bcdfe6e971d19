"""Rerankers beside each other as a figure, and the notes that stand where a data set has nothing to draw."""

import pandas as pd
import pytest

from lib import figures_rerankers, figures_viability_sets, rerankers_compare, viability_sets


def rows(*lists: tuple[str, float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "tier": "sample",
                "dataset": "set",
                "ranker": name,
                "first_stage": "dense",
                "kind": rerankers_compare.kind_of(name),
                "measure": "ndcg",
                "depth": 50,
                "cutoff": 5,
                "first": 0.8,
                "estimate": 0.8 + d,
                "delta": d,
                "ci_low": a,
                "ci_high": b,
                "p_value": 0.5,
                "p_holm": 0.001,
                "calls": 50.0,
                "tokens": 6000.0,
                "repaired": 0.0,
                "repaired_calls": 50.0,
                "n": 200,
            }
            for name, d, a, b in lists
        ]
    )


@pytest.mark.parametrize(("ends", "said"), [((0.02, 0.01, 0.03), "gains over"), ((-0.02, -0.03, -0.01), "loses to"), ((0.0, -0.02, 0.02), "is undecided")])
def test_the_title_is_the_finding(ends, said):
    chart = figures_rerankers.rerankers_beside(rows(("dense + reranker", *ends), ("rocchio", 0.5, 0.4, 0.6)))
    title = " ".join(chart.title.text)
    assert said in title and "rocchio" not in title


def test_marks_are_filled_only_where_the_interval_excludes_zero():
    chart = figures_rerankers.rerankers_beside(rows(("dense + reranker", 0.0, -0.1, 0.1), ("dense + fusion", 0.2, 0.1, 0.3)))
    drawn = (
        pd.concat([layer.data for layer in chart.layer if hasattr(layer.data, "columns") and "fill" in layer.data]).drop_duplicates("name").set_index("name")
    )
    assert (
        drawn.loc["dense + fusion", "fill"] == drawn.loc["dense + fusion", "colour"]
        and drawn.loc["dense + reranker", "fill"] != drawn.loc["dense + reranker", "colour"]
    )
    assert drawn.loc["dense + fusion", "cost"] == "no model" and "6,000 tokens" in drawn.loc["dense + reranker", "cost"]


def test_where_nothing_can_be_drawn_a_note_stands():
    for chart in (
        figures_viability_sets.beside(rows().reindex(columns=rerankers_compare.COLUMNS), "own"),
        figures_viability_sets.curves({"depth": viability_sets.nothing("depth")}, "own", 5),
        figures_viability_sets.planes(viability_sets.nothing("audit_slices"), viability_sets.nothing("audit_verdicts"), "dense", "none", "own"),
        figures_viability_sets.tails(viability_sets.nothing("latency"), 2.0, 20, "own"),
    ):
        assert "not drawn" in str(chart.to_dict())
    with pytest.raises(figures_rerankers.ChartError, match="several"):
        figures_rerankers.rerankers_beside(pd.concat([rows(("rm3", 0.1, 0.0, 0.2)), rows(("rm3", 0.1, 0.0, 0.2))]))
