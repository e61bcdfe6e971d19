"""Figures of the scope map: titles say what the tables say whichever way they fall, intervals are drawn, nothing is drawn from nothing; partners of
published figures."""
import json

import numpy as np
import pandas as pd
import pytest
from scope_world import MAIN, outcomes, questions, survived

from lib import charts, claims, context_order, figures_scope, figures_scope_lines, figures_scope_sets, scope, scope_conditions, scope_map
from lib import scope_partners, tables, unlock


@pytest.fixture(autouse=True)
def theme():
    charts.use()


def titled(chart):
    text = chart.to_dict()["title"]["text"]
    return " ".join(text) if isinstance(text, list) else text


def values(chart):
    return [row for rows in charts.spec_of(chart, "test")["datasets"].values() for row in rows]


def scope_table(gain=0.4):
    asked = questions(90)
    rows = survived(asked, lambda q, p, *_: 0.3 + (gain if p == "submod" and q.n_hops == 2 else 0))
    read = outcomes(rows, asked, [("small", "fp32"), ("large", "fp32")])
    main = scope.main_rows(rows, read, asked, MAIN, 160)
    return pd.concat([scope_conditions.structure(main, asked, "t", resamples=1_000),
                      scope_conditions.readers(read, MAIN, 160, ["small fp32"], "t", resamples=1_000)])


def test_the_map_draws_every_interval_and_published_marks_and_says_what_holds():
    table = scope_table()
    chart = figures_scope.drawn(table, "t", "small", "small")
    assert titled(chart).startswith("submod gains on focused in") and "structure borne out" in titled(chart)
    assert "retrieval and budget without the difference that decides them" in titled(chart)
    rows = values(chart)
    assert {r["source"] for r in rows if "source" in r} == {"ours", "published"}
    assert any(r.get("difference") and r.get("setting") == "multi-hop − single-pass" for r in rows)
    assert sum("ci_high" in r for r in rows) >= 8


def test_a_map_of_losses_says_so():
    text = titled(figures_scope.drawn(scope_table(gain=-0.3), "t", "small", "small"))
    assert "gains on focused in 0 and loses in" in text and "structure reversed" in text


def test_no_contrast_draws_a_note():
    with pytest.raises(charts.NothingToDraw):
        figures_scope.drawn(scope_table()[:0], "t", "small", "small")
    assert "not drawn" in json.dumps(figures_scope_sets.conditions(scope_table()[:0], "t", "small", "small").to_dict())


@pytest.mark.parametrize("low, high, said", [(0.05, 0.2, "more often (+12 points own)"), (-0.2, -0.05, "less often (−12 points own)"),
                                             (-0.1, 0.1, "no clear change to the top 5 (0 points own)")])
def test_the_unlock_title_follows_the_paired_difference(low, high, said):
    rows = [("t", "d", "all", "own", r, d, "none", "all_gold", "none", 0.5, 0.4, 0.6, np.nan, 50, 50, 0) for r in ("dense", "iterative") for d in (5, 10)]
    rows.append(("t", "d", "all", "own", "iterative", 5, "none", "all_gold", "dense", (low + high) / 2, low, high, 0.01, 50, 50, 0))
    table = pd.DataFrame(rows, columns=unlock.COLUMNS)
    assert said in titled(figures_scope_lines.unlock_lines(table, "t")).replace("\u00a0", " ").replace("+13", "+12").replace("−13", "−12")
    with pytest.raises(charts.NothingToDraw):
        figures_scope_lines.unlock_lines(table[(table["ranker"] == "dense") & (table["depth"] == 5)], "t")
    assert "not drawn" in json.dumps(figures_scope_sets.unlock(table[:0], "t").to_dict())


@pytest.mark.parametrize("low, high, said", [(0.01, 0.1, "has its top at 160 tokens"), (-0.1, -0.01, "dips at 160 tokens"), (-0.1, 0.1, "shows no clear inverted U")])
def test_the_budget_title_follows_the_bump(low, high, said):
    base = {"dataset": "d", "pack_id": MAIN, "reader": "none", "precision": "none", "tier": "t", "treatment": "submod", "metric": "answer_in_context_defined",
            "n": 50}
    rows = [base | {"control": c, "quantity": q, "delta": 0.02, "ci_low": -0.01, "ci_high": 0.05} for c in ("focused", "naive")
            for q in ("gap_96", "gap_160", "gap_224")]
    rows.append(base | {"control": "focused", "quantity": "bump", "delta": (low + high) / 2, "ci_low": low, "ci_high": high})
    chart = figures_scope_sets.budget_gap(pd.DataFrame(rows), "t")
    assert said in titled(chart) and sum("ci_high" in r for r in values(chart)) >= 6
    assert "not drawn" in json.dumps(figures_scope_sets.budget_gap(pd.DataFrame(rows)[:0], "t").to_dict())


@pytest.mark.parametrize("middle, said", [
    (0.2, "Lost in the middle: an answer there is read worse than at either end, in 2 of 2 comparisons"),
    (0.9, "An answer put first is read worse than in the middle; put last it is read worse than in the middle"),
    (0.5, "An answer put first is read like one in the middle, within the margin; put last it")])
def test_the_order_title_follows_the_paired_tests(middle, said):
    rng, rows = np.random.default_rng(0), []
    for i in range(150):
        ease = rng.random()
        rows += [("d", f"q{i}", MAIN, "submod", 160, p, "r", "fp32", 0.0, float(ease < {"middle": middle}.get(p, 0.55))) for p in context_order.PLACES]
    frame = pd.DataFrame(rows, columns=["dataset", "qid", "pack_id", "policy", "budget", "place", "reader", "precision", "em", "f1"])
    frame.loc[frame["place"] == "middle", "f1"] = frame.loc[frame["place"] == "middle", "f1"] if middle != 0.5 else frame.loc[frame["place"] == "first",
                                                                                                                              "f1"].to_numpy()
    chart = figures_scope_sets.order(context_order.means(frame, "t", 100), context_order.order(frame, "t", resamples=200), "t")
    assert said in titled(chart)
    assert "not drawn" in json.dumps(figures_scope_sets.order(context_order.means(frame[:0], "t"), context_order.order(frame[:0], "t"), "t").to_dict())


# ---- partners


def register(**changes):
    facts = claims.published()
    blank = pd.DataFrame({"claim": facts["claim"], "verdict": "not run", "note": "no counterpart", "compared_with": pd.NA, "reader": pd.NA, "ours": np.nan,
                          "ci_low": np.nan,
                          "ci_high": np.nan, "n": pd.NA})
    for claim, row in changes.items():
        blank.loc[blank["claim"] == claim, list(row)] = list(row.values())
    return blank


def frames(**given):
    empty = {"levels": scope_partners.levels(pd.DataFrame(columns=["dataset", "reader", "precision", "policy", "budget", "qid", "f1", "em"]), "t"),
             "budget_shape": pd.DataFrame(columns=list(tables.TABLES["budget_shape"].columns)), "unlock": pd.DataFrame(columns=unlock.COLUMNS),
             "scope": pd.DataFrame(columns=scope_conditions.COLUMNS), "outcomes": pd.DataFrame({"dataset": ["hotpotqa", "musique"]})}
    return empty | given


def test_every_figure_of_the_sweep_and_the_unlock_has_a_row_with_a_partner_or_a_reason():
    made = scope_partners.partners(register(), frames(), "t").set_index("claim")
    assert len(tables.check(made.reset_index(), "scope_partners")) == len(made)
    sweep = {f"budget{b}_{what}_f1" for b in (96, 128, 160, 224) for what in ("submod", "focused", "submod_minus_focused")}
    unlocks = {f"unlock_{what}_{end}" for what in ("chunk_recall_at_5", "chunk_all_gold_at_5", "ace_all_gold_at_5") for end in ("baseline", "wide")}
    assert sweep | unlocks <= set(made.index)
    assert made["verdict"].eq("not run").all() and made["note"].str.len().gt(0).all()


def test_what_the_register_answered_stands_and_the_rest_is_looked_up():
    reg = register(musique_recall_at_5={"verdict": "reproduced", "ours": 0.5, "ci_low": 0.45, "ci_high": 0.55, "n": 173, "compared_with": "musique",
                                        "note": "as said"})
    rows = [("t", "musique", "all", "own", r, d, "none", "all_gold", "none", v, v - 0.05, v + 0.05, np.nan, 173, 173, 0)
            for r, d, v in (("dense", 5, 0.2), ("dense", 20, 1.0), ("claims", 5, 0.15))]
    shape = pd.DataFrame([{"tier": "t", "dataset": "hotpotqa", "pack_id": MAIN, "reader": "small", "precision": "fp32", "treatment": "submod",
                           "control": "focused", "metric": "f1",
                           "quantity": "gap_96", "delta": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 100, "margin": 0.02, "verdict": "wins"}])
    made = scope_partners.partners(reg, frames(unlock=pd.DataFrame(rows, columns=unlock.COLUMNS), budget_shape=shape), "t").set_index("claim")
    assert made.loc["musique_recall_at_5", "ours"] == 0.5 and made.loc["musique_recall_at_5", "note"] == "as said"
    wide = made.loc["unlock_chunk_all_gold_at_5_wide"]
    assert wide["ours"] == 0.2 and "by construction" in wide["note"] and "depth of 20 it is 1.000" in wide["note"]
    assert made.loc["unlock_ace_all_gold_at_5_baseline", "verdict"] == "inconclusive" and made.loc["musique_ace_all_gold_at_5", "ours"] == 0.15
    gap = made.loc["budget96_submod_minus_focused_f1"]
    assert gap["verdict"] == "differs" and "other reader (small fp32 for Qwen2.5-3B fp16)" in gap["note"]


def test_a_widened_pool_without_answers_says_what_is_known_of_it():
    row = dict.fromkeys(scope_conditions.COLUMNS) | {"condition": "pool", "dataset": "musique", "setting": "own dense 20", "control": "focused",
                                                     "treatment": "submod",
                                                     "metric": "answer_in_context_defined", "delta": -0.04, "ci_low": -0.1, "ci_high": 0.02}
    made = scope_partners.partners(register(), frames(scope=pd.DataFrame([row])), "t").set_index("claim")
    assert "-0.040 [-0.100, +0.020] (own dense 20)" in made.loc["musique_wide_submod_minus_focused_f1", "note"]


def test_the_answer_tells_each_condition_and_the_advice():
    table = scope_table()
    advised = pd.DataFrame([{"dataset": "d", "group": "all", "advice": "Use MMR: it beats naive."}])
    said = scope_map.answer(table, advised)
    assert "structure (multi-hop − single-pass:" in said and "borne out" in said and "not tested here: retrieval, budget" in said and "use MMR" in said
    assert scope_map.answer(table[:0], advised[:0]).startswith("None of the four conditions")
