"""The interventional test: differences by hand, one draw for all, verdicts, and the pattern that is read off them."""
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import ttost_paired

from lib import dissociation, intervention, stats, summaries, tables
from lib.bootstrap import Interval
from tests.bench import big_outcomes

DRAWS = 300
N = 160


def outcomes(n=N, seed=0, readers=("r",), packs=("p",), **columns):
    """Two packers over n questions, read by ``readers``; every fourth question has no span. ``columns`` overwrites."""
    rng, parts = np.random.default_rng(seed), []
    for pack in packs:
        for policy in ("focused", "submod"):
            context = pd.DataFrame({"qid": [f"q{i:04}" for i in range(n)], "dataset": "d", "pack_id": pack, "policy": policy, "budget": 100})
            context["half"], context["answer_defined"] = np.arange(n) % 2, np.arange(n) % 4 != 3
            context["answer_in_context"] = rng.integers(0, 2, n) * context["answer_defined"]
            context["gold_coverage"] = rng.integers(0, 3, n) / 2
            context["all_gold_in_context"] = (context["gold_coverage"] == 1).astype(float)
            for reader in readers:
                em = rng.integers(0, 2, n).astype(float) if reader != "none" else np.nan
                f1 = np.maximum(em, rng.integers(0, 5, n) / 4) if reader != "none" else np.nan
                parts.append(context.assign(reader=reader, precision="fp32" if reader != "none" else "none", em=em, f1=f1))
    return pd.concat(parts, ignore_index=True).assign(**columns)


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1, where
    return rows.iloc[0]


def test_differences_by_hand_and_the_reader_free_ones_once():
    rows = outcomes(readers=("r", "s"))
    table = intervention.intervention(rows, "t", resamples=DRAWS)
    assert len(tables.check(table, "intervention")) == len(table) == 3 * (5 + 2 * 2)
    assert set(table[table["reader"] == "none"]["metric"]) == set(intervention.METRICS) - {"f1", "em"}
    for reader in ("r", "s"):
        wide = rows[rows["reader"] == reader].pivot(index="qid", columns="policy", values="f1")
        row = one(table, half="all", reader=reader, metric="f1")
        assert row["delta"] == pytest.approx((wide["submod"] - wide["focused"]).mean()) and row["n"] == row["clusters"] == N
    wide = rows[(rows["reader"] == "r") & rows["answer_defined"]].pivot(index="qid", columns="policy", values=["answer_in_context", "gold_coverage"])
    answer, cover = (wide[m]["submod"] - wide[m]["focused"] for m in ("answer_in_context", "gold_coverage"))
    row = one(table, half="all", metric="answer_in_context_defined")
    assert row["delta"] == pytest.approx(answer.mean()) and row["n"] == 120
    row = one(table, half="all", metric="coverage_minus_answer")
    assert row["delta"] == pytest.approx((cover - answer).mean()) and row["n"] == 120
    assert row["mde"] == pytest.approx(stats.minimum_detectable_effect((cover - answer).std(), 120))


def test_it_is_what_contrasts_and_equivalence_say_on_the_same_rows():
    """One draw serves all metrics, and is the draw each of them would have had alone."""
    rows = outcomes()
    table = intervention.intervention(rows, "t", resamples=DRAWS, margin=0.05)
    metrics = ["gold_coverage", "answer_in_context_defined", "f1"]
    told = summaries.contrasts(rows, [("submod", "focused")], metrics, "t", DRAWS)
    for half in ("all", "0", "1"):
        for metric in metrics:
            ours, theirs = one(table, half=half, metric=metric), one(told, half=half, metric=metric)
            assert ours[["delta", "ci_low", "ci_high", "p_value", "mde", "n"]].tolist() == pytest.approx(
                theirs[["delta", "ci_low", "ci_high", "p_value", "mde", "n"]].tolist())
    wide = rows.pivot(index="qid", columns="policy", values="gold_coverage")
    alone = stats.equivalence(wide["submod"] - wide["focused"], wide.index, 0.05, resamples=DRAWS)
    row = one(table, half="all", metric="gold_coverage")
    assert row[["delta", "eq_low", "eq_high", "eq_p", "margin"]].tolist() == pytest.approx([*alone[1:6]])


def test_the_two_one_sided_tests_agree_with_statsmodels():
    n = 2000
    rows = outcomes(n, seed=3)
    table = intervention.intervention(rows, "t", margin=0.04, resamples=4000)
    for metric in ("gold_coverage", "f1"):
        wide = rows.pivot(index="qid", columns="policy", values=metric).sort_index()
        p, lower, upper = ttost_paired(wide["submod"].to_numpy(), wide["focused"].to_numpy(), -0.04, 0.04)
        assert one(table, half="all", metric=metric)["eq_p"] == pytest.approx(p, abs=0.02)


def test_the_order_of_rows_changes_nothing_and_swapping_the_pair_the_sign():
    rows = outcomes(packs=("p", "q"))
    table = intervention.intervention(rows, "t", resamples=DRAWS)
    pd.testing.assert_frame_equal(table, intervention.intervention(rows.sample(frac=1, random_state=1), "t", resamples=DRAWS))
    back = intervention.intervention(rows, "t", pair=("focused", "submod"), resamples=DRAWS)
    assert back["delta"].tolist() == pytest.approx((-table["delta"]).tolist()) and back["ci_low"].tolist() == pytest.approx((-table["ci_high"]).tolist())
    assert back["eq_p"].tolist() == table["eq_p"].tolist()


@pytest.mark.parametrize(("n", "said"), [(298, "equivalent"), (296, "inconclusive")])
def test_a_packer_against_itself_is_exactly_nothing_and_equivalent_where_there_are_enough_questions(n, said):
    """149 questions show that fewer than one in fifty changed, so 298 do on each half."""
    table = intervention.intervention(outcomes(n, answer_defined=True), "t", pair=("submod", "submod"), resamples=DRAWS)
    assert not table[["delta", "ci_low", "ci_high", "eq_low", "eq_high"]].any(axis=None) and (table["p_value"] == 1).all() and table["mde"].isna().all()
    assert set(table[table["half"] == "all"]["verdict"]) == {"equivalent"} and set(table[table["half"] == "0"]["verdict"]) == {said}


def test_packs_that_nobody_read_have_their_context_rows():
    rows = pd.concat([outcomes(), outcomes(packs=("q",), readers=("none",))])
    table = intervention.intervention(rows, "t", resamples=DRAWS)
    assert set(table[table["pack_id"] == "q"]["reader"]) == {"none"} and set(table[table["pack_id"] == "p"]["reader"]) == {"none", "r"}
    few = rows[(rows["reader"] == "none") | (rows["qid"] < "q0040")]
    few = intervention.intervention(pd.concat([few, rows[(rows["reader"] == "r") & (rows["qid"] >= "q0040")].assign(reader="none", em=np.nan, f1=np.nan)]), "t",
                                    resamples=DRAWS)
    assert one(few, pack_id="p", half="all", metric="f1")["n"] == 40 and one(few, pack_id="p", half="all", metric="gold_coverage")["n"] == N


@pytest.mark.parametrize(("change", "metric"), [({"gold_coverage": np.nan, "all_gold_in_context": np.nan}, "gold_coverage"),
                                                ({"answer_defined": False}, "answer_in_context_defined")])
def test_what_no_question_has_is_a_row_that_says_so(change, metric):
    table = tables.check(intervention.intervention(outcomes(**change), "t", resamples=DRAWS), "intervention")
    row = one(table, half="all", metric=metric)
    assert np.isnan(row["delta"]) and row["n"] == 0 and row["verdict"] == "undefined"
    assert np.isfinite(one(table, half="all", metric="f1")["delta"])


def test_little_input_makes_no_crash_and_wrong_input_one_clear_error():
    assert len(intervention.intervention(outcomes().query("policy == 'submod'"), "t", resamples=DRAWS)) == 0
    single = intervention.intervention(outcomes(1), "t", resamples=DRAWS)
    assert set(single["verdict"]) <= {"inconclusive", "undefined"} and single["ci_low"].isna().all() and set(single["half"]) == {"all", "0"}
    assert "nan" not in dissociation.pattern(single, "r")["said"].iloc[0]
    rows = outcomes()
    for wrong, said in (({"pair": ("oracle", "submod")}, "oracle"), ({"metrics": ["recall"]}, "recall"), ({"margin": 0}, "margin")):
        with pytest.raises(ValueError, match=said):
            intervention.intervention(rows, "t", resamples=DRAWS, **wrong)
    with pytest.raises(ValueError, match="duplicate"):
        intervention.intervention(pd.concat([rows, rows.iloc[:1]]), "t", resamples=DRAWS)


@pytest.mark.parametrize(("low", "high", "said", "verdict"), [
    (0.01, 0.05, "inconclusive", "moved up"), (-0.05, -0.01, "different", "moved down"), (-0.03, 0.01, "inconclusive", "inconclusive"),
    (-0.01, 0.01, "equivalent", "equivalent"), (0.001, 0.015, "equivalent", "slightly up"), (-0.015, -0.001, "equivalent", "slightly down")])
def test_verdicts(low, high, said, verdict):
    middle = (low + high) / 2
    assert intervention.verdict(Interval(middle, low, high, 0.5, 900, 900), stats.Equivalence(said, middle, low, high, 0.1, 0.02, 900, 900)) == verdict


def panel(coverage, answer, f1, reader="r"):
    """An intervention table of one panel with the verdicts given (f1 None: nobody read)."""
    rows = [(m, v, "none") for m, v in (("gold_coverage", coverage), ("answer_in_context_defined", answer), ("coverage_minus_answer", "moved up"))]
    rows += [("f1", f1, reader)] if f1 else []
    table = pd.DataFrame(rows, columns=["metric", "verdict", "reader"])
    return table.assign(dataset="2wiki", pack_id="p", budget=160, half="all", treatment="submod", control="focused", precision="fp16", delta=0.05,
                        ci_low=0.03, ci_high=0.07)


@pytest.mark.parametrize(("coverage", "answer", "f1", "pattern", "said"), [
    ("moved up", "equivalent", "equivalent", "dissociation", "Dissociation: coverage moved"),
    ("moved down", "slightly up", "slightly down", "dissociation", "less than the margin"),
    ("moved up", "equivalent", "inconclusive", "dissociation, F1 undecided", "F1 moved is undecided"),
    ("moved up", "equivalent", None, "dissociation, F1 undecided", "F1 was not read"),
    ("moved up", "equivalent", "moved up", "against the diagnostic", "against answer-in-context"),
    ("moved up", "moved up", "moved up", "together", "No dissociation"),
    ("moved down", "moved down", "moved up", "against both", "against both"),
    ("moved up", "moved down", "moved down", "opposed", "F1 went with answer-in-context"),
    ("moved up", "moved down", "moved up", "opposed", "F1 went with coverage"),
    ("moved up", "inconclusive", "equivalent", "inconclusive", "did part on the same questions"),
    ("equivalent", "moved up", "moved up", "no move", "no intervention"),
    ("slightly up", "equivalent", "equivalent", "no move", "no intervention"),
    ("inconclusive", "equivalent", "equivalent", "coverage undecided", "undecided"),
    ("undefined", "equivalent", "equivalent", "no gold", "no question has gold"),
    ("moved up", "undefined", "equivalent", "no span", "no question has an answer to look for")])
def test_the_pattern_is_read_off_whichever_way_it_falls(coverage, answer, f1, pattern, said):
    row, = dissociation.pattern(panel(coverage, answer, f1), "r").itertuples()
    assert row.pattern == pattern and said.lower() in row.said.lower() and row.pattern in dissociation.MEANING
    assert row.said.startswith("On 2WikiMultiHopQA, submodular packing against the focused heuristic: coverage")


def test_a_reader_that_read_nothing_leaves_the_contexts():
    found = dissociation.pattern(intervention.intervention(outcomes(packs=("p", "q")), "t", resamples=DRAWS), "nobody")
    assert len(found) == 6 and set(found["f1"]) == {"not read"}
    only_f1 = panel("moved up", "equivalent", "equivalent").query("metric == 'f1'")
    assert dissociation.pattern(only_f1, "r")["pattern"].tolist() == ["no gold"]
    assert dissociation.pattern(only_f1.iloc[:0], "r").empty
    with pytest.raises(ValueError, match="recall"):
        dissociation.pattern(only_f1, "r", "recall")


def test_the_published_convention_may_be_asked_for():
    table = panel("moved up", "equivalent", "equivalent").replace({"metric": {"answer_in_context_defined": "answer_in_context"}})
    assert dissociation.pattern(table, "r", "answer_in_context")["pattern"].tolist() == ["dissociation"]


def test_the_world_of_the_benchmark_fits_its_declarations_and_itself():
    """``world`` checks every table it makes; here that the indicators are nested and the answers follow the context."""
    made = big_outcomes.world(40, seed=1)
    rows = made["outcomes"][made["outcomes"]["policy"].isin(["naive", "focused", "mmr", "submod"])]
    assert (rows["answer_in_context"] <= rows["answer_in_pool"]).all() and (rows["answer_in_pool"] <= rows["answer_in_corpus"]).all()
    assert len(made["outcomes"]) == 40 * 9 and made["outcomes"]["em"].notna().all()
    assert (made["contexts"]["n_tokens"] <= 160).all() and rows.groupby("answer_in_context")["f1"].mean().is_monotonic_increasing


def test_five_changed_questions_move_nothing():
    up = Interval(0.05, 0.01, 0.09, 0.01, 100, 100)
    same = stats.Equivalence("inconclusive", 0.05, 0.02, 0.08, 0.9, 0.02, 100, 100)
    assert intervention.verdict(up, same, changed=6) == "moved up" and intervention.verdict(up, same, changed=5) == "inconclusive"
