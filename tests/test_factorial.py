"""The factorial: contrasts as lib.summaries computes them, interactions by hand and on simulated effects, and gaps that count nothing."""
import numpy as np
import pandas as pd
import pytest

from lib import factorial, stats, summaries

PACKS = {"chunk": "own.chunk", "ace": "own.ace"}
POLICIES = ["naive", "focused", "mmr", "submod"]
DRAWS = 300


def outcomes(n=40, seed=0, effects=None, datasets=("d",), **columns):
    """One row a question, representation and packer; keep = chance by ``effects[pack_id, policy]`` (0.5) around a question's own ease."""
    rng, rows = np.random.default_rng(seed), []
    for dataset in datasets:
        for q in range(n):
            ease = rng.normal(0, 0.1)
            for pack in PACKS.values():
                rows += [(dataset, f"q{q}", pack, p, rng.random() < (effects or {}).get((pack, p), 0.5) + ease) for p in POLICIES]
    made = pd.DataFrame(rows, columns=["dataset", "qid", "pack_id", "policy", "answer_in_context"]).astype({"answer_in_context": int})
    made = made.assign(budget=160, reader="none", precision="none", answer_defined=True, n_tokens=rng.integers(100, 160, len(made)))
    return made.assign(half=made["qid"].str[1:].astype(int) % 2, **columns) if "half" not in columns else made.assign(**columns)


def interactions(rows, packs=None):
    table = factorial.factorial(rows, packs or PACKS, ["answer_in_context"], "t", resamples=DRAWS)
    return table[(table["half"] == "all") & (table["kind"] == "interaction")]


def wide(rows, metric="answer_in_context"):
    return factorial.arms(rows, PACKS).pivot(index=["dataset", "qid"], columns="policy", values=metric).astype(float)


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1
    return rows.iloc[0]


def test_arms_are_named_as_document_000_names_them():
    rows = outcomes()
    arms = factorial.arms(rows, PACKS)
    assert set(arms["policy"]) == {*POLICIES, *(f"ace_{p}" for p in POLICIES)} and set(arms["pack_id"]) == {"factorial"} and len(arms) == len(rows)
    own = rows[(rows["pack_id"] == "own.ace") & (rows["policy"] == "mmr")]["answer_in_context"].tolist()
    assert arms[arms["policy"] == "ace_mmr"]["answer_in_context"].tolist() == own


def test_every_contrast_is_a_mean_of_paired_differences():
    rows = outcomes()
    w, table = wide(rows), factorial.factorial(rows, PACKS, ["answer_in_context"], "t", resamples=DRAWS).query("half == 'all'")
    assert table.groupby("kind").size().to_dict() == {"packer": 6, "representation": 4, "interaction": 3, "anchor": 6}
    for r in table[table["kind"] != "interaction"].itertuples():
        assert r.delta == pytest.approx((w[r.treatment] - w[r.control]).mean())
    r = one(table, kind="interaction", treatment="ace_submod - ace_focused")
    by_hand = (w["ace_submod"].mean() - w["ace_focused"].mean()) - (w["submod"].mean() - w["focused"].mean())
    assert r["control"] == "submod - focused" and r["delta"] == pytest.approx(by_hand) and r["n"] == r["clusters"] == 40


def test_contrasts_within_chunks_equal_those_of_summaries():
    rows = outcomes()
    pairs = [("mmr", "focused"), ("submod", "focused"), ("submod", "mmr")]
    peer = summaries.contrasts(rows[rows["pack_id"] == PACKS["chunk"]], pairs, ["answer_in_context"], "t", DRAWS)
    ours = factorial.factorial(rows, PACKS, ["answer_in_context"], "t", resamples=DRAWS)
    for r in peer.itertuples():
        mine = one(ours, kind="packer", treatment=r.treatment, control=r.control, half=r.half)
        same = ["delta", "ci_low", "ci_high", "p_value", "mde", "n"]
        assert mine[same].tolist() == pytest.approx([getattr(r, c) for c in same], nan_ok=True)


def test_an_interaction_is_the_difference_of_two_representation_effects():
    table = factorial.factorial(outcomes(), PACKS, ["answer_in_context"], "t", resamples=DRAWS).query("half == 'all'")
    effect = table[table["kind"] == "representation"].set_index("control")["delta"]
    for r in table[table["kind"] == "interaction"].itertuples():
        t, c = r.control.split(" - ")
        assert r.delta == pytest.approx(effect[t] - effect[c])


def test_swapping_the_representations_turns_the_sign_of_the_interaction():
    rows = outcomes()
    a, b = interactions(rows), interactions(rows, {"chunk": PACKS["ace"], "ace": PACKS["chunk"]})
    assert a["delta"].to_numpy() == pytest.approx(-b["delta"].to_numpy()) and a["ci_low"].to_numpy() == pytest.approx(-b["ci_high"].to_numpy())
    assert a["p_value"].to_numpy() == pytest.approx(b["p_value"].to_numpy())


def test_a_planted_substitution_is_found_and_its_absence_is_not():
    effects = {("own.chunk", "submod"): 0.8, ("own.ace", "submod"): 0.5}
    r = one(interactions(outcomes(400, 1, effects)), treatment="ace_submod - ace_focused")
    assert r["ci_high"] < 0 and r["ci_low"] < -0.3 < r["ci_high"]
    covered = []
    for seed in range(30):
        null = interactions(outcomes(60, seed)).iloc[0]
        covered.append(null["ci_low"] <= 0 <= null["ci_high"])
    assert np.mean(covered) >= 0.85  # 95 % interval, 30 runs: below 0.85 with chance 0.02


def test_rows_of_other_packs_policies_and_order_change_nothing():
    rows = outcomes()
    base = factorial.factorial(rows, PACKS, ["answer_in_context"], "t", resamples=DRAWS)
    other = pd.concat([rows.assign(pack_id="pooled"), rows.assign(policy="gold").drop_duplicates(["qid", "pack_id"]), rows]).sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(base, factorial.factorial(other, PACKS, ["answer_in_context"], "t", resamples=DRAWS))


def test_several_data_sets_are_also_taken_together():
    rows = outcomes(datasets=("d", "e"))
    table = interactions(rows)
    assert table.groupby("dataset")["n"].first().to_dict() == {"all": 80, "d": 40, "e": 40}
    first = table.groupby("dataset")["delta"].first()
    assert first["all"] == pytest.approx((first["d"] + first["e"]) / 2)


def test_a_question_without_one_arm_counts_in_no_contrast_of_that_arm():
    rows = outcomes(half=0)
    gap = rows.drop(rows[(rows["qid"] == "q0") & (rows["pack_id"] == "own.ace") & (rows["policy"] == "submod")].index)
    table = factorial.factorial(gap, PACKS, ["answer_in_context"], "t", resamples=DRAWS).query("half == 'all'")
    touched = table["treatment"].str.contains("ace_submod")
    assert set(table[touched]["n"]) == {39} and set(table[~touched]["n"]) == {40}


def test_undefined_answers_are_left_out_of_the_defined_metric():
    rows = outcomes()
    rows["answer_defined"] = rows["qid"].str[1:].astype(int) >= 10
    table = factorial.factorial(rows, PACKS, ["answer_in_context", "answer_in_context_defined"], "t", resamples=DRAWS).query("half == 'all'")
    assert table.groupby("metric")["n"].first().to_dict() == {"answer_in_context": 40, "answer_in_context_defined": 30}
    w = wide(rows[rows["answer_defined"]])
    known = one(table, metric="answer_in_context_defined", kind="packer", treatment="submod", control="focused")
    assert known["delta"] == pytest.approx((w["submod"] - w["focused"]).mean())


def test_holm_runs_over_all_contrasts_and_metrics_of_a_panel():
    table = factorial.factorial(outcomes(), PACKS, ["answer_in_context", "n_tokens"], "t", resamples=DRAWS).query("half == '0'")
    assert table["p_holm"].tolist() == pytest.approx(stats.holm(table["p_value"]).tolist())


def test_oracles_with_and_without_ace_mmr():
    rows = outcomes()
    arms = factorial.arms(rows, PACKS)
    best, w = factorial.oracles(arms), wide(rows)
    six = [p for p in factorial.SEVEN if p != "ace_mmr"]
    assert best[best["policy"] == "oracle"]["answer_in_context"].mean() == pytest.approx(w[six].max(axis=1).mean())
    assert best[best["policy"] == "oracle_of_seven"]["answer_in_context"].mean() == pytest.approx(w[list(factorial.SEVEN)].max(axis=1).mean())
    assert "ace_mmr" not in set(best[best["policy"] == "oracle"]["chosen"])
    assert best.groupby("policy").size().to_dict() == {"oracle": 40, "oracle_of_seven": 40}


def test_survival_rows_need_no_reader():
    rows = outcomes()
    questions = rows.drop_duplicates("qid")[["dataset", "qid", "half"]]
    bare = rows.drop(columns=["half", "reader", "precision"])
    got = factorial.survival_factorial(questions, bare, PACKS, "t", ("answer_in_context",), resamples=DRAWS)
    pd.testing.assert_frame_equal(got, factorial.factorial(rows, PACKS, ["answer_in_context"], "t", resamples=DRAWS))


def test_little_or_wrong_input():
    rows = outcomes(1)
    table = factorial.factorial(rows, PACKS, ["answer_in_context"], "t", resamples=DRAWS)
    assert table["ci_low"].isna().all() and set(table["n"]) == {1}
    unread = factorial.factorial(outcomes(f1=np.nan), PACKS, ["f1"], "t", resamples=DRAWS)
    assert unread.empty and list(unread) == factorial.FACTORIAL
    only = rows[rows["policy"] == "submod"]
    assert set(factorial.factorial(only, PACKS, ["answer_in_context"], "t", resamples=DRAWS)["kind"]) == {"representation"}
    with pytest.raises(ValueError, match="a pack_id for each of chunk, ace"):
        factorial.arms(rows, {"chunk": "own.chunk"})
    with pytest.raises(ValueError, match="no row of pack_id elsewhere; there are own.ace, own.chunk"):
        factorial.arms(rows, {"chunk": "own.chunk", "ace": "elsewhere"})
