"""Assembly: counts of questions with all gold in the context and the density of gold, paired, with questions without gold counted."""
import numpy as np
import pandas as pd
import pytest

from lib.assembly import COLUMNS, assembly

N = 20
QUESTIONS = pd.DataFrame({"dataset": "d", "qid": [f"q{i}" for i in range(N)], "half": [i % 2 for i in range(N)]})


def survived(seed=0, without_gold=()):
    rng = np.random.default_rng(seed)
    rows = pd.concat([QUESTIONS[["dataset", "qid"]].assign(pack_id="p", policy=p, budget=b, all_gold_in_context=rng.integers(0, 2, N).astype(float),
                                                           gold_density=rng.random(N)) for p in ("submod", "focused") for b in (96, 160)], ignore_index=True)
    rows.loc[rows["qid"].isin(without_gold), ["all_gold_in_context", "gold_density"]] = np.nan
    return rows.assign(answer_defined=True, answer_in_context=1)


@pytest.mark.parametrize("types", [{}, {"all_gold_in_context": "Float64", "gold_density": "Float64", "qid": "string", "policy": "string"}])
def test_counts_and_differences_by_hand(types):
    rows = survived(without_gold=("q3", "q8"))
    found = assembly(QUESTIONS, rows.astype(types), [("submod", "focused")], "t", 200)
    assert list(found) == COLUMNS and len(found) == 2 * 2 * 3
    for r in found.itertuples():
        here = rows[rows["budget"] == r.budget].merge(QUESTIONS)
        wide = here[(r.half == "all") | (here["half"].astype(str) == r.half)].pivot(index="qid", columns="policy", values=r.measure).dropna()
        assert (r.mean_treatment, r.mean_control, r.delta) == pytest.approx((wide["submod"].mean(), wide["focused"].mean(), (wide["submod"] - wide["focused"]).mean()))
        assert (r.n, r.undefined) == (len(wide), (N if r.half == "all" else N // 2) - len(wide)) and r.undefined == {"all": 2, "0": 1, "1": 1}[r.half]
        if r.measure == "all_gold_in_context":
            assert (r.questions_treatment, r.questions_control) == (wide["submod"].sum(), wide["focused"].sum())
    assert found.loc[found["measure"] == "gold_density", ["questions_treatment", "questions_control"]].isna().all(axis=None)


def test_a_packer_against_itself_and_no_gold_at_all():
    same = assembly(QUESTIONS, survived(), [("submod", "submod")], "t", 200)
    assert not same[["delta", "ci_low", "ci_high"]].any(axis=None) and (same["questions_treatment"].dropna() == same["questions_control"].dropna()).all()
    assert assembly(QUESTIONS, survived(without_gold=set(QUESTIONS["qid"])), [("submod", "focused")], "t", 200).empty
    assert assembly(QUESTIONS, survived(), [("submod", "nobody")], "t", 200).empty


def test_the_order_of_the_rows_changes_nothing():
    rows = survived()
    pd.testing.assert_frame_equal(*(assembly(QUESTIONS, r, [("submod", "focused")], "t", 200) for r in (rows, rows.sample(frac=1, random_state=2))))
