"""The placebo of answer-in-context: partial correlations by least squares, a world where only the question matters, one where only the context does."""
import numpy as np
import pandas as pd
import pytest
from diagnosed import POLICIES, outcomes

from lib import tables
from lib.validity_closed_book import QUANTITIES, closed_book


def residuals(y, *x):
    x = np.column_stack([np.ones(len(y)), *x])
    return y - x @ np.linalg.lstsq(x, y, rcond=None)[0]


def world(n=400, easy=0.0, context=0.0, seed=3):
    """Questions that differ in ease: it decides what is kept, and (``easy``) what is answered without a context; ``context``: what a kept answer gives."""
    rng, rows = np.random.default_rng(seed), []
    ease = rng.uniform(size=n)
    for q in range(n):
        alone = easy * ease[q] + 0.1 * rng.uniform()
        base = dict(dataset="d", qid=f"q{q}", reader="r", precision="fp32", answer_defined=True, recall_at_5=float(rng.uniform() < 0.6))
        rows.append(base | dict(policy="closed_book", answer_in_context=0.0, f1=alone, em=float(alone > 0.5)))
        for policy in ("naive", "submod"):
            kept = float(rng.uniform() < ease[q])
            score = np.clip(alone + context * kept + 0.1 * rng.uniform(), 0, 1)
            rows.append(base | dict(policy=policy, answer_in_context=kept, f1=score, em=float(score > 0.5)))
    return pd.DataFrame(rows)


def found(rows, quantity, **where):
    table = closed_book(rows, "t", resamples=400)
    for column, value in {"rows": "defined", "outcome": "f1", "dataset": "d", **where}.items():
        table = table[table[column] == value]
    return table[table["quantity"] == quantity].iloc[0]


def test_the_quantities_are_those_of_least_squares_on_the_same_rows():
    rows = outcomes()
    table = closed_book(rows, "t", resamples=50)
    dataset = table["dataset"].iloc[0]
    alone = rows[rows["policy"] == "closed_book"].set_index(["dataset", "qid", "reader", "precision"])["f1"].rename("alone")
    same = rows[rows["policy"].isin(POLICIES) & (rows["dataset"] == dataset)].join(alone, on=["dataset", "qid", "reader", "precision"])
    same = same.dropna(subset=["recall_at_5", "alone", "f1"])
    reader = table["reader"].iloc[0]
    same = same[same["reader"] == reader]
    a, recall, known, y = (same[c].astype(float).to_numpy() for c in ("answer_in_context", "recall_at_5", "alone", "f1"))
    one = table[(table["dataset"] == dataset) & (table["reader"] == reader) & (table["rows"] == "all") & (table["outcome"] == "f1")].set_index("quantity")
    before, after = residuals(y, recall, known), residuals(y, recall, known, a)
    assert set(one.index) == set(QUANTITIES) and one["n"].iloc[0] == len(y)
    assert one.loc["r_closed_book", "estimate"] == pytest.approx(np.corrcoef(a, known)[0, 1])
    assert one.loc["r2_recall_closed_book", "estimate"] == pytest.approx(1 - before.var() / y.var())
    assert one.loc["delta_r2_closed_book", "estimate"] == pytest.approx((before.var() - after.var()) / y.var())
    assert one.loc["partial_r_closed_book", "estimate"] == pytest.approx(np.corrcoef(residuals(a, recall, known), before)[0, 1])


def test_where_only_the_question_matters_the_placebo_shows_it_and_nothing_is_left_beside_it():
    rows = world(easy=0.8)
    placebo, left = found(rows, "r_closed_book"), found(rows, "partial_r_closed_book")
    assert placebo["ci_low"] > 0.3 and left["ci_low"] < 0 < left["ci_high"] and abs(left["estimate"]) < 0.1


def test_where_only_the_context_matters_the_placebo_is_silent_and_the_increment_stays():
    rows = world(context=0.5)
    placebo = found(rows, "r_closed_book")
    assert placebo["ci_low"] < 0 < placebo["ci_high"] and found(rows, "delta_r2_closed_book")["ci_low"] > 0.5


def test_without_closed_book_answers_there_is_no_row_and_the_rows_fit_the_table():
    rows = world(n=40, easy=0.5)
    assert closed_book(rows[rows["policy"] != "closed_book"], "t").empty
    assert closed_book(world(n=40).assign(f1=0.5), "t", resamples=20).query("outcome == 'f1'")["estimate"].isna().all()
    tables.check(closed_book(rows, "sample", resamples=20), "validity")


def test_shuffled_rows_change_nothing():
    rows = world(n=60, easy=0.5)
    pd.testing.assert_frame_equal(closed_book(rows, "t", resamples=50), closed_book(rows.sample(frac=1, random_state=1), "t", resamples=50))
