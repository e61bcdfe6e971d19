"""What survives of a better order, on outcomes whose truth is known: steps that add up, Holm, signs, capture, sentences and figure."""

import numpy as np
import pandas as pd
import pytest

from lib import downstream_gains, downstream_sets, downstream_signs, figures_downstream, stats, tables
from lib import downstream_words as words
from lib.charts import NothingToDraw
from lib.downstream import BEST, CEILING, KEPT, OWN
from lib.downstream_gains import GIVEN, MET, ORDER, SELECTION, WHOLE
from lib.viability_slices import no_slices

N, DRAWS = 60, 300
LISTS = {"dense": (OWN,), "dense + good": (OWN, KEPT), "dense + fusion": (OWN, KEPT), f"dense + {BEST}": (OWN, KEPT), f"dense + {CEILING}": (OWN, KEPT)}


def outcomes(
    gain=lambda rng, ranker, order: rng.normal(0, 0.1),
    kept=lambda rng, base, gain: rng.random() < 0.5,
    n=N,
    datasets=("set",),
    seed=0,
    packers=("naive", "submod"),
):
    """``n`` questions of each data set, all LISTS: nDCG 0.5 plus ``gain``, and whether the answer is packed as ``kept`` says."""
    rng, rows = np.random.default_rng(seed), []
    for dataset in datasets:
        for q in range(n):
            for ranker, orders in LISTS.items():
                for order in orders:
                    up = 0.0 if ranker == "dense" else gain(rng, ranker, order)
                    for packer in packers:
                        held = float(kept(rng, ranker == "dense", up))
                        rows.append(
                            (
                                dataset,
                                f"q{q:03}",
                                "dense",
                                ranker,
                                order,
                                5,
                                packer,
                                160,
                                f"h{q}{ranker}{order}{packer}",
                                0.5 + up,
                                0.5,
                                float(q % 2),
                                held,
                                0.5,
                                0.0,
                                150,
                                4,
                                "small" if packer == "naive" else "none",
                                "fp32" if packer == "naive" else "none",
                                *([held] * 2 if packer == "naive" else [np.nan] * 2),
                            )
                        )
    return pd.DataFrame(rows, columns=list(tables.TABLES["downstream_outcomes"].columns))


def questions(n=N, datasets=("set",)):
    return pd.DataFrame(
        [(d, f"q{q:03}", f"Question {q}?", ["yes", "no"][: q % 2 + 1], "bridge" if q % 3 else "single") for d in datasets for q in range(n)],
        columns=["dataset", "qid", "question", "answers", "question_type"],
    )


def audit(every=2, datasets=("set",)):
    return pd.DataFrame(
        [(d, f"q{q:03}", "dense", "none", float(q % every == 0)) for d in datasets for q in range(N)],
        columns=["dataset", "qid", "first_stage", "reranker", "met"],
    )


def told(rows, asked=None, met=None, seed=0):
    return downstream_sets.told(rows, audit() if met is None else met, questions() if asked is None else asked, 5, "sample", DRAWS, seed)


def contrasts(rows):
    return downstream_gains.contrasts(rows, audit(), no_slices(), 5, "sample", DRAWS)


def agreement(rows):
    return downstream_signs.agreement(rows[rows["ranker"].isin(["dense", "dense + good", f"dense + {BEST}"])], "sample", DRAWS)


@pytest.fixture(scope="module")
def random_case():
    rows = outcomes()
    return rows, told(rows)


def test_every_table_is_as_declared(random_case):
    rows, made = random_case
    assert len(tables.check(rows, "downstream_outcomes")) == len(rows)
    assert all(len(tables.check(t, n)) for n, t in made.items())


def test_selection_and_order_add_up_to_the_whole(random_case):
    rows = random_case[1]["downstream_contrasts"].query("slice == 'all'")
    wide = rows[rows["given"] == GIVEN].pivot(index=downstream_gains.CELL, columns="effect", values="delta")
    assert len(wide) > 50 and (wide[SELECTION] + wide[ORDER] - wide[WHOLE]).abs().max() < 1e-12


def test_a_contrast_is_the_paired_bootstrap_of_its_own_differences(random_case):
    rows, made = random_case
    at = rows[(rows["packer"] == "naive")].pivot(index="qid", columns=["ranker", "order"], values="answer_in_context")
    table = made["downstream_contrasts"].query("slice == 'all' and packer == 'naive' and measure == 'answer_in_context' and ranker == 'dense + good'")
    met = pd.Index([f"q{q:03}" for q in range(0, N, 2)])
    for effect, given, d in (
        (WHOLE, GIVEN, at["dense + good", OWN] - at["dense", OWN]),
        (SELECTION, GIVEN, at["dense + good", KEPT] - at["dense", OWN]),
        (ORDER, GIVEN, at["dense + good", OWN] - at["dense + good", KEPT]),
    ):
        row = table[(table["effect"] == effect) & (table["given"] == given)].iloc[0]
        i = stats.paired_cluster_bootstrap(d.to_numpy(), d.index, DRAWS, 0)
        assert (row["delta"], row["ci_low"], row["ci_high"], row["p_value"]) == i[:4]
        assert (row["wins"], row["losses"], row["n"]) == ((d > 0).sum(), (d < 0).sum(), N)
    inside = table[table["given"] == MET].iloc[0]
    d = (at["dense + good", OWN] - at["dense", OWN]).loc[met]
    assert inside["n"] == N // 2 and inside["delta"] == pytest.approx(d.mean())


def test_where_every_pool_holds_the_evidence_both_gains_are_one():
    rows = downstream_gains.contrasts(outcomes(), audit(every=1), no_slices(), 5, "sample", DRAWS).query("effect == 'whole'")
    wide = rows.pivot(index=downstream_gains.CELL, columns="given", values=["delta", "ci_low"])
    assert len(wide) and wide["delta"][GIVEN].equals(wide["delta"][MET]) and wide["ci_low"][GIVEN].equals(wide["ci_low"][MET])


def test_holm_runs_over_lists_and_packers_and_in_slices_over_slices(random_case):
    table = random_case[1]["downstream_contrasts"]
    every = table.query(f"slice == 'all' and measure == 'answer_in_context' and effect == '{WHOLE}' and given == '{GIVEN}'")
    assert len(every) == 8 and every["p_holm"].tolist() == stats.holm(every["p_value"]).tolist()
    part = table.query("slice != 'all' and measure == 'answer_in_context' and packer == 'naive' and ranker == 'dense + good'")
    assert set(part["slice"]) == {"bridge", "single"} and part["p_holm"].tolist() == stats.holm(part["p_value"]).tolist()


def test_a_list_of_few_questions_is_held_against_its_first_stage_on_these():
    rows = outcomes()
    few = rows[(rows["ranker"] != "dense + good") | (rows["qid"] < "q010")]
    row = contrasts(few).query("slice == 'all' and measure == 'ndcg' and ranker == 'dense + good' and effect == 'whole' and given == 'every question'").iloc[0]
    own = few[(few["ranker"] == "dense + good") & (few["order"] == OWN) & (few["packer"] == "naive")]
    assert row["n"] == 10 and row["delta"] == pytest.approx((own["ndcg"] - 0.5).mean())


def test_rows_in_another_order_change_nothing_and_a_seed_changes_only_intervals(random_case):
    rows, made = random_case
    again = told(rows.sample(frac=1, random_state=3))
    for name, table in made.items():
        pd.testing.assert_frame_equal(*(tables.check(t, name) for t in (table, again[name])))
    key = [*downstream_gains.CELL, "effect", "given"]
    first, other = (downstream_gains.contrasts(rows, audit(), no_slices(), 5, "sample", DRAWS, seed).sort_values(key, ignore_index=True) for seed in (0, 1))
    assert other["delta"].equals(first["delta"]) and not other["ci_low"].equals(first["ci_low"])


def test_the_nine_cells_hold_every_question_and_the_shares_come_from_them(random_case):
    cells, agreed = random_case[1]["downstream_signs"], random_case[1]["downstream_agreement"]
    assert (cells.groupby(downstream_signs.SETUP)["questions"].sum() == N).all() and (cells.groupby(downstream_signs.SETUP).size() == 9).all()
    for setup, part in cells.groupby(downstream_signs.SETUP):
        grid = part.set_index(["ranking", "outcome"])["questions"]
        mine = agreed[(agreed[downstream_signs.SETUP] == list(setup)).all(axis=1)].set_index("quantity")
        assert mine.loc["lost_though_rose", "estimate"] == pytest.approx(grid["rose", "fell"] / N)
        assert mine.loc["rose_lost", "n"] == grid["rose"].sum() and mine.loc["rose_lost", "estimate"] == pytest.approx(
            grid["rose", "fell"] / grid["rose"].sum()
        )
        assert mine.loc[["rose_lost", "rose_same", "rose_rose"], "estimate"].sum() == pytest.approx(1)


def test_known_truth_a_gain_that_survives_and_one_that_has_nothing_to_do_with_the_answer():
    up = lambda rng, ranker, order: 0.4 if rng.random() < 0.5 else 0.0
    bound = agreement(outcomes(up, lambda rng, base, gain: gain > 0)).set_index(["ranker", "packer", "measure", "quantity"])["estimate"]
    assert bound["dense + good", "naive", "answer_in_context", "rank_correlation"] == pytest.approx(1)
    assert bound["dense + good", "naive", "answer_in_context", "rose_rose"] == 1 and bound["dense + good", "naive", "f1", "lost_though_rose"] == 0
    covered = 0
    for seed in range(10):
        free = (
            agreement(outcomes(up, seed=seed, packers=("submod",)))
            .query("ranker == 'dense + good' and packer == 'submod' and quantity == 'rank_correlation'")
            .iloc[0]
        )
        covered += free["ci_low"] <= 0 <= free["ci_high"]
    assert covered >= 8


def test_capture_is_gains_over_what_the_best_order_gains():
    half = lambda rng, ranker, order: 0.2 if ranker == "dense + good" else 0.4
    made = agreement(outcomes(half, lambda rng, base, gain: 0.0 if base else gain))
    row = made.query("ranker == 'dense + good' and packer == 'naive' and measure == 'answer_in_context'").set_index("quantity")["estimate"]
    assert row["capture"] == pytest.approx(0.5) and row["ndcg_capture"] == pytest.approx(0.5)
    flat = agreement(outcomes(lambda *_: 0.0, lambda *_: 1.0)).set_index("quantity")
    assert flat.loc["capture", "estimate"].isna().all() and flat.loc["rank_correlation", "estimate"].isna().all() and (flat.loc["rose_lost", "n"] == 0).all()


@pytest.mark.parametrize("n", [1, 2])
def test_a_run_of_one_or_two_questions_is_told_without_a_crash(n):
    rows = outcomes(n=n)
    made = told(rows, questions(n))
    assert {name: len(tables.check(t, name)) > 0 for name, t in made.items()} == dict.fromkeys(made, True)
    if n == 1:
        assert made["downstream_contrasts"]["ci_low"].isna().all()
        with pytest.raises(NothingToDraw):
            figures_downstream.gains_on_the_way(made["downstream_contrasts"], ["dense"], 5, "naive")
        assert words.answer(made["downstream_contrasts"], ["dense"], "naive", 5) == words.NOTHING
    assert figures_downstream.survives(made["downstream_contrasts"], ["dense"], 5, "naive", "sample").to_dict()


RANK, ANSWERS = {"wins": 0.3, "loses": -0.3, "undecided": 0.0}, {"wins": 1.0, "loses": 0.0, "undecided": 0.5}


@pytest.mark.parametrize(("ranking", "answers"), list(words.FINDINGS))
def test_title_and_answer_say_what_the_table_says(ranking, answers):
    gain = lambda rng, ranker, order: RANK[ranking] + rng.normal(0, 0.05)
    made = contrasts(outcomes(gain, lambda rng, base, up: rng.random() < (0.5 if base else ANSWERS[answers])))
    rows = made.query(
        "ranker == 'dense + good' and effect == 'whole' and given == 'every question' and slice == 'all' and packer in ('none', 'submod')"
    ).set_index("measure")
    said = words.finding(made, "dense + good", "submod", 5)
    assert said == words.FINDINGS[words.decided(rows.loc["ndcg"]), words.decided(rows.loc["answer_in_context"])].format("dense + good")
    if "undecided" not in (ranking, answers):
        assert said == words.FINDINGS[ranking, answers].format("dense + good")
    assert said in words.answer(made, ["dense"], "submod", 5) and "n = 60" in words.answer(made, ["dense"], "submod", 5)
    title = figures_downstream.gains_on_the_way(made, ["dense"], 5, "submod", "sample").to_dict()["title"]["text"]
    assert " ".join(title).replace("\u00a0", " ") == said[:1].upper() + said[1:]


def test_the_figure_stands_for_each_data_set_and_draws_what_the_table_holds():
    sets = ("hotpotqa", "2wiki", "musique")
    made = contrasts(outcomes(n=20, datasets=sets))
    assert len(figures_downstream.survives(made, ["dense"], 5, "submod", "real").to_dict()["vconcat"]) == 3
    one = made[made["dataset"] == "2wiki"]
    drawn = figures_downstream.marks(one, ["dense", "nobody"], 5)
    assert set(drawn["list"]) == {"dense + good"} and len(drawn) == 2 * (3 + 2 + 1)  # the list and the best order: three stages before, two packers, one read
    row = drawn[(drawn["stage"] == "answer packed, naive") & ~drawn["best"]].iloc[0]
    told_ = one.query(
        "ranker == 'dense + good' and packer == 'naive' and measure == 'answer_in_context' and effect == 'whole' "
        "and given == 'every question' and slice == 'all'"
    )
    assert row["delta"] == told_["delta"].iloc[0]


def test_sentences_and_the_example_come_from_the_rows():
    rows = outcomes()
    made = told(rows)
    grid = words.signs_table(made["downstream_signs"], "dense + good", "naive")
    assert grid["nDCG"].tolist() == ["rose", "same", "fell"] and grid.filter(like="answer_in_context").to_numpy().sum() == N
    texts = rows[["dataset", "qid", "context_hash"]].drop_duplicates().assign(context="text")
    said, two = words.example(rows, texts, questions(), ["nobody", "dense"], "naive", 5)
    assert "its answer was lost" in said and two["ndcg"].iloc[1] > two["ndcg"].iloc[0] and two["answer_in_context"].tolist() == [1.0, 0.0]
    assert "nDCG rose on" in words.lost(made["downstream_agreement"], "dense + good", "naive")
    flat = outcomes(lambda *_: 0.0)
    assert "On no question" in words.example(flat, texts, questions(), ["dense"], "naive", 5)[0]
    assert "rose on no question" in words.lost(agreement(flat), "dense + good", "naive")
    assert words.lost(made["downstream_agreement"], "dense + none", "naive").startswith("Of dense + none nothing is known")
    made = downstream_sets.Made(rows, texts, texts, {"tuned": "no card"})
    assert words.unread(made, 5).endswith("tuned is left out: no card.") and f"{N} questions" in words.unread(made, 5)
    assert words.unread(downstream_sets.Made(rows.assign(reader="none"), texts, texts, {}), 5).startswith("No reader")
    assert words.unread(downstream_sets.Made(rows[:0], texts, texts, {}), 5) == words.NOTHING
