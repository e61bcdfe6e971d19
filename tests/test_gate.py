"""METRIC_CASES, "Statistics and gate": the identity, the one-point rule on unrounded values, and the random gate's closed form."""
import numpy as np
import pytest

from lib.gate import random_gate_delta, skip_delta, within


@pytest.mark.parametrize("beneficial, harmful, n, points", [(36, 48, 491, -2.44), (50, 59, 514, -1.75)])
def test_delta_is_beneficial_minus_harmful_over_n(beneficial, harmful, n, points):
    assert round(skip_delta(beneficial, harmful, n), 2) == points


@pytest.mark.parametrize("delta, holds", [(-0.9999, True), (-1.0001, False), (-1.0, True), (0.3, True)])
def test_the_rule_looks_at_unrounded_values(delta, holds):
    assert within(delta) is holds


def test_the_random_gate_equals_its_simulation_with_each_folds_own_fallback_and_rate():
    rng = np.random.default_rng(0)
    folds = [(0.3, rng.integers(0, 2, 50), rng.integers(0, 2, 50)), (0.7, rng.integers(0, 2, 80), rng.integers(0, 2, 80))]
    closed = random_gate_delta([r for r, _, _ in folds], [f.mean() for _, f, _ in folds], [c.mean() for _, _, c in folds], [50, 80])
    drawn = sum(((rng.random((100_000, len(f))) < r) * (f - c)).sum(axis=1).mean() for r, f, c in folds) / 130
    assert closed == pytest.approx(drawn, abs=1e-3)


def test_impossible_counts_and_unequal_folds_are_errors():
    with pytest.raises(ValueError, match="beneficial"):
        skip_delta(3, 4, 6)
    with pytest.raises(ValueError, match="a fold"):
        random_gate_delta([0.1], [0.5, 0.5], [0.5], [10])
