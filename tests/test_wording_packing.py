"""The summary of notebook 02: every point has its number from the table, and a table without rows has no point."""
import pandas as pd

from lib import wording_packing
from lib.ablation_table import KEY, VALUES
from lib.contest import COLUMNS

CURVE = pd.DataFrame([("own_x", p, "answer_in_context_defined", e, e - 0.05, e + 0.05, 40) for p, e in (("naive", 0.5), ("submod", 0.6), ("topk", 0.2), ("gold", 0.9))],
                     columns=["dataset", "policy", "measure", "estimate", "ci_low", "ci_high", "n"])
CROSSED = pd.DataFrame([("own_x", "interaction", "ace_submod - ace_focused", "submod - focused", -0.02, -0.05, 0.01, 40)],
                       columns=["dataset", "kind", "treatment", "control", "delta", "ci_low", "ci_high", "n"])
SHIFTED = pd.DataFrame([("own_x", 1, "depth = 10", "submod", 0.1, 0.05, 0.15, 0.01), ("own_x", 1, "ranker = bm25", "submod", 0.0, -0.1, 0.1, 1.0),
                        ("own_x", 2, "depth = 10, scope = pooled", "submod", 0.2, 0.1, 0.3, 0.01)],
                       columns=["dataset", "changes", "change", "policy", "delta", "ci_low", "ci_high", "p_holm"])
ABLATED = pd.DataFrame([("t", "own_x", "all", "submod", "without relevance", "published", "answer_in_context_defined", 0.4, -0.2, -0.3, -0.1, 0.001, 0.001, 1, 9, 40, 40, 0)],
                       columns=[*KEY, *VALUES])
BEST = pd.DataFrame([("own_x", "ratio", "optimal", 0.5, 0.4, 0.6, 30), ("own_x", "ratio", "of_optimum", 0.98, 0.97, 0.99, 30)],
                    columns=["dataset", "rule", "quantity", "estimate", "ci_low", "ci_high", "n"])


def contest(**deltas):
    rows = [{"dataset": "own_x", "budget": 160, "policy": p, "measure": "answer_in_context_defined", "delta": d, "delta_low": d - 0.05, "delta_high": d + 0.05,
             "p_holm": 0.001 if abs(d) > 0.05 else 1.0} for p, d in deltas.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_every_point_has_its_number():
    said = wording_packing.summary(CURVE, CROSSED, SHIFTED, ABLATED, BEST, contest(tuned=0.1, naive=-0.1, mmr=0.01, pool=0.3), 160)
    for part in ("naive 50 % [45, 55], submod 60 % [55, 65], topk 20 % [15, 25]", "-2.0 points [-5.0, +1.0], n = 40", "Of 2 single changes 1 move", "depth = 10 +10.0 points",
                 "1 keeps fewer answers (no relevance)", "for 50 % [40, 60] of 30 small pools and 98.0 %", "1 of 3 other packers keep more answers after Holm, 1 fewer",
                 "tuned +10.0 points [+5.0, +15.0]"):
        assert part in said, part
    assert len(said.splitlines()) == 6 and "gold" not in said


def test_tables_without_rows_have_no_point():
    nothing = [t.iloc[:0] for t in (CURVE, CROSSED, SHIFTED, ABLATED, BEST, contest(tuned=0.1))]
    assert wording_packing.summary(*nothing, 160) == ""
    undefined = CURVE.assign(estimate=float("nan"), ci_low=float("nan"))
    assert wording_packing.summary(undefined, *nothing[1:], 160) == ""
