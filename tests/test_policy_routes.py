"""Bundles and their ceiling by brute force, routes that are judged where they were not chosen, told slices, the tables, the figures and their titles."""
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from policy_search_world import Told, Words, corpus

from lib import (
    charts,
    figures_policy,
    policy_arms,
    policy_bundles,
    policy_routes,
    policy_slices,
    policy_study,
    policy_tables,
    policy_tray,
    stats,
    tables,
    wording_policy,
)
from lib.declarations_policy_search import POLICY_SEARCH
from lib.latency_times import Times

NAN = float("nan")


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name, spec in POLICY_SEARCH.items():
        monkeypatch.setitem(tables.TABLES, name, tables._declared(name, spec))


# ---- bundles


def test_bundles_of_the_metric_cases():
    bundles = {"1": {"a": frozenset("a"), "b": frozenset("b")}, "2": {"c": frozenset("c")}}
    assert policy_bundles.seen(bundles, ["a", "c"]) == (1.0, 1.0, pytest.approx(2 / 3))
    assert policy_bundles.seen(bundles, ["a"]) == (0.0, 0.5, pytest.approx(1 / 3))
    assert policy_bundles.seen(bundles, ["c"]) == (1.0, 1.0, pytest.approx(1 / 3))
    assert all(np.isnan(policy_bundles.seen({}, ["a"]))) and all(np.isnan(policy_bundles.ceiling({}, ["a"], 4)))


@pytest.mark.parametrize("seed", range(60))
def test_the_ceiling_is_that_of_brute_force(seed):
    """Every choice of four chunks; a chunk may hold several spans, a span may have several chunks or none."""
    draw = np.random.default_rng(seed)
    pool, places = [f"c{i}" for i in range(9)], int(draw.integers(1, 5))
    bundles = {f"b{k}": {f"s{k}{i}": frozenset(draw.choice(pool, draw.integers(0, 4), replace=False)) for i in range(draw.integers(1, 7))}
               for k in range(draw.integers(1, 4))}
    best = [policy_bundles.seen(bundles, chosen) for n in range(places + 1) for chosen in itertools.combinations(pool, n)]
    found = policy_bundles.ceiling(bundles, pool, places)
    assert found.complete == max(s.complete for s in best) and found.best == pytest.approx(max(s.best for s in best))
    whole = policy_bundles.seen(bundles, pool)
    assert found.complete <= whole.complete and whole.best <= 1 and policy_bundles.ceiling(bundles, pool[:5], places).best <= found.best + 1e-12


def test_copies_of_one_span_complete_nothing():
    bundles = {"b": {"rule": frozenset({"r1", "r2", "r3", "r4"}), "exception": frozenset({"x"})}}
    assert policy_bundles.seen(bundles, ["r1", "r2", "r3", "r4"]) == (0.0, 0.5, 0.5)


def test_uncertain_topical_and_contradictory_spans_are_no_evidence():
    world = corpus()
    judged = world.judgements.assign(span="s", holders=[frozenset({"c"})] * len(world.judgements))
    assert policy_bundles.bundles_of(judged[judged["qid"] == "q7"]) == {}
    assert np.isnan(policy_bundles.role_held(judged[judged["qid"] == "q1"], "exception", ["c"]))
    assert policy_bundles.role_held(judged[judged["qid"] == "q3"], "exception", ["c"]) == 1


def test_the_parts_of_completion_add_up_in_every_arm():
    world = corpus()
    found = policy_arms.outcomes(world, policy_arms.first_stage(world, policy_arms.indexes(world, Words(), None)))
    known = found.dropna(subset=["complete"])
    assert (known[["complete", "headroom", "omission_gap"]].sum(axis=1) == 1).all() and (known["complete"] <= known["ceiling"]).all()
    assert (known["coverage"] <= known["ceiling_coverage"] + 1e-12).all() and (known["ceiling"] <= known["pool_complete"]).all()
    assert set(found.loc[found["complete"].isna(), "qid"]) == {"q7"}
    sections = found[found["arm"] == "sections"].set_index("qid")
    assert sections.loc["q5", "pool_complete"] == 1 and sections.loc["q3", "exception_in_pool"] == 1


def test_window_sizes_are_arms_of_their_own():
    world = corpus()
    found = policy_arms.window_sizes(world, Words(), (8, 400), cache=None)
    by = found.groupby("arm")["pool_complete"].mean()
    assert by["windows of 400"] == 1 > by["windows of 8"]


# ---- routes


def outcomes(n=40, seed=0, **means):
    """Known truth: the chance that an arm completes a question of a slice."""
    draw, rows = np.random.default_rng(seed), []
    for name, chances in means.items():
        for i in range(n):
            rows += [{"qid": f"{name}{i}", "slice": name, "arm": arm, "complete": float(draw.random() < p)} for arm, p in chances.items()]
    return pd.DataFrame(rows)


def both(found, **options):
    values, slices = policy_routes.table_of(found, "complete", list(dict.fromkeys(found["arm"]))), policy_tables.slices_of(found)
    ways, _ = policy_routes.routed(values, slices, **options)
    sample = policy_routes.in_sample(values, slices)
    return values, slices, policy_routes.along(ways, values).mean(), policy_routes.along(sample, values).mean()


def test_noise_flatters_the_in_sample_choice_and_not_the_routed_one():
    """No arm is better than another: in sample the best of four looks better; across halves the mean over worlds is the truth, 0.5."""
    arms = dict.fromkeys("abcd", 0.5)
    found = [both(outcomes(12, seed, x=arms, y=arms, z=arms), splits=8)[2:] for seed in range(40)]
    routed, sample = np.mean(found, axis=0)
    assert abs(routed - 0.5) < 0.025 and sample > 0.58


def test_a_real_difference_is_found_and_each_slice_goes_its_way():
    found = outcomes(40, 1, x={"a": 0.1, "b": 0.9}, y={"a": 0.9, "b": 0.1})
    values, slices, routed, sample = both(found, splits=10)
    assert routed == sample > 0.8 and policy_routes.choose(values, slices) == {"x": "b", "y": "a"}
    wrong = slices.map({"x": "y", "y": "x"})
    ways, _ = policy_routes.routed(values, slices, wrong, splits=10)
    assert policy_routes.along(ways, values).mean() < 0.2
    same, _ = policy_routes.routed(values, slices, slices, splits=10)
    assert same.equals(policy_routes.routed(values, slices, None, splits=10)[0])


def test_what_is_undefined_on_a_way_stays_so_and_is_counted():
    """Golden: b has no exception in any arm; c goes only the arm that has a value; the mean is over those that have one."""
    ways = pd.DataFrame({"plain": [0.25, 0.5, 1.0], "rerank": [0.75, 0.5, 0.0]}, index=list("abc"))
    values = pd.DataFrame({"rerank": [1.0, np.nan, np.nan], "plain": [0.0, np.nan, 1.0]}, index=list("abc"))
    got = policy_routes.along(ways, values)
    assert got.drop("b").to_dict() == {"a": 0.75, "c": 1.0} and np.isnan(got["b"]) and got.mean() == 0.875
    assert policy_routes.along(ways, values.loc[["a"]]).notna().tolist() == [True, False, False]  # a question without a row has no value


def test_routes_are_undefined_where_their_arms_are():
    """A measure that only every other question has, and no recorded times: n and undefined of every route are those of an arm."""
    found = outcomes(10, 3, identifier={"windows": 0.4, "lineage": 0.6}, exclusion={"windows": 0.2, "lineage": 0.9})
    found = found.assign(coverage=found["complete"], scored=0, exception_shown=found["complete"].where(found["slice"] == "exclusion"))
    asked = pd.DataFrame({"qid": found["qid"].unique(), "question": "What now?"})
    table, _ = policy_study.routes(found, asked, None, splits=4, resamples=50)
    whole = table[(table["slice"] == "all") & (table["minus"] == "none")].set_index(["name", "measure"])
    for name in ("windows", "routed", "routed, in sample", "document 001's routes"):
        assert whole.loc[(name, "exception_shown"), ["n", "undefined"]].tolist() == [10, 10]
        assert whole.loc[(name, "milliseconds"), ["n", "undefined"]].tolist() == [0, 20]
    best = found[(found["slice"] == "exclusion") & (found["arm"] == "lineage")]["complete"].mean()
    assert whole.at[("routed, in sample", "exception_shown"), "estimate"] == pytest.approx(best)


def test_equal_arms_go_the_cheaper_way_and_order_of_rows_means_nothing():
    found = outcomes(9, 2, x={"a": 0.5, "b": 0.5})
    found.loc[found["arm"] == "b", "complete"] = found.loc[found["arm"] == "a", "complete"].to_numpy()
    values, slices = policy_routes.table_of(found, "complete", ["a", "b"]), policy_tables.slices_of(found)
    ways, share = policy_routes.routed(values, slices, splits=5)
    assert (ways["a"] == 1).all() and share.loc["x", "a"] == 1
    noise = outcomes(9, 3, x={"a": 0.5, "b": 0.5}, y={"a": 0.4, "b": 0.6})
    turned = noise.sample(frac=1, random_state=1)
    made = [policy_routes.routed(policy_routes.table_of(t, "complete", ["a", "b"]), policy_tables.slices_of(t), splits=7)[0] for t in (noise, turned)]
    pd.testing.assert_frame_equal(*made)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_halves_are_even_within_each_slice_and_the_odd_one_changes_sides(n):
    slices = pd.Series({f"{s}{i}": s for s in "xyz" for i in range(n)})
    sizes = [policy_routes.halves(slices, seed).groupby(slices).sum() for seed in (0, 1)]
    assert all((abs(2 * s - n) <= n % 2).all() for s in sizes) and (n % 2 == 0 or (sizes[0] != sizes[1]).all())


def test_an_arm_without_rows():
    with pytest.raises(ValueError, match="no outcome of arm"):
        policy_routes.table_of(outcomes(2, x={"a": 1.0}), "complete", ["a", "rerank"])


@pytest.mark.parametrize("asked, slice", [
    ("What does HR-14 say?", "identifier"), ("Who hands in form W-7?", "identifier"), ("Is anyone exempt from the fee?", "exclusion"),
    ("What was the limit in 2022?", "temporal"), ("Which form is it, and who signs it?", "multi_evidence"), ("How long may I sleep in?", "paraphrase")])
def test_rules_of_the_router(asked, slice):
    assert policy_slices.told(asked) == slice


def test_the_confusion_table_counts_every_question_once():
    table = policy_slices.confusion(corpus().questions)
    assert table["questions"].sum() == 7 and table.groupby("slice")["share"].sum().round(9).eq(1).all() and len(table) == 5 * 5


# ---- tables


def test_differences_are_paired_and_a_peer_gives_the_same_interval():
    draw = np.random.default_rng(0)
    slices = pd.Series({f"q{i:02}": "x" if i % 2 else "y" for i in range(30)})
    a, b = (pd.Series(draw.integers(0, 2, 30).astype(float), slices.index) for _ in range(2))
    b.iloc[3] = NAN
    made = policy_tables.compared({("a", "m"): a, ("b", "m"): b}, slices, [("a", "b")], 500).set_index(["slice", "name", "minus"])
    row, peer = made.loc[("all", "a", "b")], stats.paired_cluster_bootstrap((a - b).sort_index(), sorted(slices.index), 500)
    assert (row["estimate"], row["ci_low"], row["ci_high"], row["p_value"], row["n"]) == (*peer[:4], 29) and row["undefined"] == 1
    holm = stats.holm(made.loc[[("x", "a", "b"), ("y", "a", "b")], "p_value"])
    assert made.loc[[("x", "a", "b"), ("y", "a", "b")], "p_holm"].tolist() == holm.tolist() and np.isnan(row["p_holm"])
    turned = policy_tables.compared({("a", "m"): a[::-1], ("b", "m"): b[::-1]}, slices[::-1], [("a", "b")], 500)
    pd.testing.assert_frame_equal(turned.set_index(["slice", "name", "minus"]), made)


def test_the_interval_of_questions_that_all_agree_has_the_exact_width():
    slices = pd.Series({f"q{i:02}": "x" for i in range(12)})
    ones = pd.Series(1.0, slices.index)
    made = policy_tables.compared({("a", "m"): ones, ("b", "m"): ones}, slices, [("a", "b")], 200)
    level, delta = made[(made["slice"] == "x") & (made["name"] == "a")].to_dict("records")
    cost = policy_tables.compared({("a", "scored"): 0 * ones}, slices, (), 200).iloc[0]
    assert (cost["ci_low"], cost["ci_high"]) == (0, 0)
    assert (1 - 0.025 ** (1 / 12)) == pytest.approx(1 - level["ci_low"]) == pytest.approx(delta["ci_high"]) and level["ci_high"] == 1


@pytest.fixture(scope="module")
def study():
    one = {"depth": 20, "queries": 1, "repeat": 1, "seconds": 0.4, "wall": 0.4, "pairs": 20, "tokens": 900, "peak_mb": 1.0}
    times = Times(pd.DataFrame([one]), {})
    return policy_study.study(corpus(), Words(), Told(), times=times, resamples=200, splits=10, cache=None)


def test_the_whole_study_fits_its_declarations(study):
    assert set(study) == set(POLICY_SEARCH)
    for name, table in study.items():
        tables.check(table, name)
    routes = study["policy_routes"].set_index(["slice", "name", "minus", "measure"])["estimate"]
    assert routes["all", "windows", "none", "milliseconds"] == 0
    assert routes["all", "windows + reranker", "none", "milliseconds"] == pytest.approx(20 * routes["all", "windows + reranker", "none", "scored"])
    worked = study["policy_outcomes"].query("depth == 100").set_index(["arm", "qid"])["complete"]
    assert routes["exclusion", "document 001's routes", "none", "complete"] == worked["second query"][["q3", "q6"]].mean()
    assert routes["all", "routed, in sample", "none", "complete"] >= max(routes["all", a, "none", "complete"] for a in policy_arms.ARMS)
    assert study["policy_choices"].groupby("slice")["share"].sum().round(9).eq(1).all()
    stale = study["policy_stale"].set_index(["slice", "name", "minus", "measure"])["estimate"]
    assert stale["all", "hybrid, filters on", "none", "shown"] == 0 < stale["all", "hybrid, filters off", "none", "shown"]


@pytest.mark.parametrize("kept", [["q1"], ["q1", "q2"], ["q7"]])
def test_few_questions_or_none_with_evidence(kept):
    world = corpus()
    few = world._replace(questions=world.questions[world.questions["qid"].isin(kept)])
    made = policy_study.study(few, Words(), None, resamples=100, splits=2, cache=None)
    for name, table in made.items():
        tables.check(table, name)
    assert set(made["policy_routes"]["name"]) <= {*policy_arms.ROUTED, *policy_study.ROUTES}


# ---- figures


def told(rows, **changes):
    plain = {"tier": "sample", "minus": "none", "measure": "complete", "ci_low": 0.3, "ci_high": 0.7, "p_value": NAN, "p_holm": NAN, "n": 20, "undefined": 0}
    return pd.DataFrame([{**plain, **changes, **row} for row in rows])


def route_rows(whole, kind):
    """Levels of four arms, and the difference over all questions and on one kind: (estimate, low, high)."""
    levels = [{"slice": s, "name": a, "estimate": 0.5} for s in ("all", "exclusion", "temporal") for a in figures_policy.LOOKS]
    deltas = [{"slice": s, "name": "routed", "minus": policy_study.SWITCH, "estimate": e, "ci_low": a, "ci_high": b, "p_holm": NAN if s == "all" else 0.01}
              for s, (e, a, b) in {"all": whole, "exclusion": kind, "temporal": (0.0, -0.1, 0.1)}.items()]
    return told(levels + deltas)


@pytest.mark.parametrize("whole, kind, said", [
    ((0.2, 0.1, 0.3), (0.6, 0.4, 0.8), "beats one reranker switch on the unrepaired search (+20 points): ahead on exclusion, undecided on temporal"),
    ((-0.2, -0.3, -0.1), (-0.6, -0.8, -0.4), "loses to one reranker switch on the unrepaired search (−20 points): behind on exclusion, undecided on temporal"),
    ((0.0, -0.1, 0.1), (0.1, -0.1, 0.3), "cannot be told from one reranker switch on the unrepaired search (0 points); no single kind decides it")])
def test_the_title_of_routes_says_what_the_table_says(whole, kind, said):
    table = route_rows(whole, kind)
    assert wording_policy.routed(table).replace("\u00a0", " ") == f"Routing by kind {said}"
    spec = charts.spec_of(figures_policy.routes(table), "routes")
    assert " ".join(spec["title"]["text"]).replace("\u00a0", " ") == f"Routing by kind {said}"
    assert sum(len(rows) for rows in spec["datasets"].values()) < 100 and '"yOffset"' in json.dumps(spec)


def step_rows(last, low, high):
    levels = [{"slice": "exclusion", "name": s, "measure": m, "estimate": e} for m in figures_policy.PANELS
              for s, e in zip(policy_arms.STEPS, (0.2, 0.2, 0.2, 0.2, last))]
    gain = {"slice": "exclusion", "name": "second query", "minus": "windows", "estimate": last - 0.2, "ci_low": low, "ci_high": high}
    return told([*levels, gain]).assign(depth=100)


@pytest.mark.parametrize("last, low, high, said", [
    (0.8, 0.4, 0.8, "lift complete evidence on exclusion questions from 20 % to 80 %; the step that moves most: second query"),
    (0.0, -0.3, -0.1, "lower complete evidence on exclusion questions from 20 % to 0 %; the step that moves most: second query"),
    (0.3, -0.1, 0.3, "move complete evidence on exclusion questions from 20 % to 30 %: undecided")])
def test_the_title_of_steps_says_what_the_table_says(last, low, high, said):
    spec = charts.spec_of(figures_policy.steps(step_rows(last, low, high)), "steps")
    assert " ".join(spec["title"]["text"]).replace("\u00a0", " ") == f"Repairs of retrieval {said}"


def test_nothing_to_draw(study):
    with pytest.raises(charts.NothingToDraw):
        figures_policy.routes(study["policy_routes"][study["policy_routes"]["minus"] == "none"])
    with pytest.raises(charts.NothingToDraw):
        figures_policy.steps(study["policy_steps"], slice="identifier", depth=7)
    assert wording_policy.answer(study["policy_steps"].iloc[:0], study["policy_routes"]) == wording_policy.NOTHING


# ---- one question


def test_the_tray_shows_what_holds_the_evidence():
    world = corpus()
    steps = policy_arms.first_stage(world, policy_arms.indexes(world, Words(), None))
    rows = policy_tray.tray(world, steps, "q3", ["sections", "second query"])
    found = policy_arms.outcomes(world, steps).set_index(["arm", "qid"])
    for arm in ("sections", "second query"):
        mine = rows[rows["arm"] == arm]
        assert mine["place"].tolist() == [1, 2, 3, 4]
        assert ("exception" in set(mine["holds"])) == (found.loc[(arm, "q3"), "exception_shown"] == 1)
    assert policy_tray.tray(world, steps, None, ["sections"]).empty and "lamp keepers" in policy_tray.asked(world, "q3")


def test_the_question_that_a_repair_changed():
    rows = [("q1", "a", 0.0), ("q1", "b", 1.0), ("q0", "a", 1.0), ("q0", "b", 1.0)]
    found = pd.DataFrame(rows, columns=["qid", "arm", "complete"]).assign(slice="exclusion")
    assert policy_tray.changed(found, "a", "b") == "q1" and policy_tray.changed(found, "b", "a") is None and policy_tray.changed(found, "a", "z") is None


# ---- sentences


def test_the_routes_beside_the_repaired_search():
    table = told([{"slice": "all", "name": "routed", "minus": policy_study.REPAIR, "estimate": -0.03, "ci_low": -0.09, "ci_high": 0.02}])
    text = wording_policy.beside(table).replace("\u00a0", " ")
    assert text == "Overall routing cannot be told from the repaired search everywhere: −3.0 points [−9.0, +2.0]"
    assert wording_policy.beside(table.iloc[:0]) == ""


@pytest.mark.parametrize("low, high, said", [(0.01, 0.2, "raises"), (-0.2, -0.01, "lowers"), (-0.1, 0.1, "does not clearly change")])
def test_the_sentence_on_versions_not_in_force(low, high, said):
    rows = [{"name": "hybrid, filters off", "estimate": 0.8}, {"name": "hybrid, filters on", "estimate": 0.0},
            {"name": "reranked, filters off", "minus": "hybrid, filters off", "estimate": 0.1, "ci_low": low, "ci_high": high}]
    table = told([{"slice": "all", **row} for row in rows], measure="shown")
    text = wording_policy.stale(table).replace("\u00a0", " ")
    assert "80 % of 20 questions" in text and "with them 0 %" in text and f"The reranker {said} that share: +10.0 points" in text
    assert wording_policy.stale(table.iloc[:0]) == wording_policy.NOTHING


def test_the_sentence_on_luck_and_the_routers_errors():
    rows = [{"name": "routed, in sample", "estimate": 0.05}, {"name": "routed, told slices", "estimate": -0.1, "ci_low": -0.2, "ci_high": -0.05}]
    text = wording_policy.luck(told([{"slice": "all", **row} for row in rows], minus="routed")).replace("\u00a0", " ")
    assert "by 5.0 points [+30.0, +70.0]" in text and "costs 10.0 points [+5.0, +20.0]" in text
    assert wording_policy.luck(told([{"slice": "x", "name": "y", "estimate": 0.1}])) == wording_policy.NOTHING
