"""The gate file and the gates: each fault one error, each verdict from its bound, decisions by brute force over all verdicts."""

import copy
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import yaml

from lib import rollout_gates as gates_of
from lib import rollout_residual, tables
from lib.declarations_rollout import ROLLOUT
from lib.rollout_gates import BOTH, FAIL, OFF, OPEN, PASS, RELEASE, REPAIR, UNKNOWN
from lib.rollout_parameters import GATES, GATES_FILE, parameters_of, read_parameters
from lib.rollout_rows import ROWS, question_rows

FILE = yaml.safe_load(GATES_FILE.read_text(encoding="utf-8"))


def checked(df, name, monkeypatch):
    monkeypatch.setitem(tables.TABLES, name, tables._declared(name, ROLLOUT[name]))
    return tables.check(df, name)


def rows_of(n, absent=0, room=0.3, gain=0.2, broken=0, slice="identifier", dataset="d"):
    """n questions of known counts, in the slice and in all."""
    flags = np.arange(n)
    rows = pd.DataFrame({"dataset": dataset, "qid": [f"{slice}{i:04}" for i in flags], "in_pool": (flags >= absent).astype(float),
                         "shown_before": 1.0, "shown_after": (flags >= broken).astype(float), "broken": (flags < broken).astype(float), "repaired": 0.0,
                         "base": 1 - room, "reranked": 1 - room + gain, "ceiling": 1.0, "ordering_headroom": room, "realised_gain": gain})
    return pd.concat([rows.assign(slice=slice), rows.assign(slice="all")], ignore_index=True)[ROWS]


def downstream_of(rows, change):
    keys = rows[["dataset", "qid"]].drop_duplicates()
    return keys.assign(metric="answer_in_context", baseline=0.4, reranked=0.4 + change)


FAST = pd.DataFrame({"seconds": np.linspace(0.5, 1.5, 100)})


def broken_file(*path, value=None, drop=False):
    told = copy.deepcopy(FILE)
    block = told
    for key in path[:-1]:
        block = block[key]
    if drop:
        del block[path[-1]]
    else:
        block[path[-1]] = value
    return told


@pytest.mark.parametrize(("told", "named"), [
    (broken_file("alpha", drop=True), "is missing alpha"),
    (broken_file("alhpa", value=0.05), "unknown alhpa"),
    (broken_file("alpha", value=0.7), "alpha must be a number in"),
    (broken_file("alpha", value="0.05"), "alpha must be a number in"),
    (broken_file("version", value=2), "version must be 1"),
    (broken_file("family", value="all"), "family must be one of"),
    (broken_file("places", value=4.0), "places must be a whole number"),
    (broken_file("consequences", "assisted", "capture", drop=True), "consequences: assisted is missing capture"),
    (broken_file("consequences", "assisted", "sufficiency", value=1.0), r"sufficiency must be a number in \(0, 1\)"),
    (broken_file("consequences", "assisted", "latency_p95", value=True), "latency_p95 must be a number"),
    (broken_file("slices", "*", drop=True), 'slices must hold "\\*"'),
    (broken_file("slices", "identifier", "consequence", value="mild"), "consequence must be one of"),
    (broken_file("slices", "identifier", "requirement", value="some"), "a requirement is"),
    (broken_file("slices", "identifier", "volume", value=-1), "volume must be a whole number"),
    (broken_file("canary", "share", value=0), r"share must be a number in \(0, 1\]"),
    (broken_file("canary", value=3), "canary must be a block"),
    (broken_file("metric", value="answer_in_contxt"), "metric must be one of ndcg, .*gold_coverage.* em, f1"),
    (broken_file("metric", value="n_tokens"), "metric must be one of"),
    (broken_file("slices", "all", value=FILE["slices"]["*"]), 'all is the name of all questions together, whose block is "\\*"'),
    (broken_file("consequences", "assisted", "latency_p95", value=2000), r"latency_p95 must be a number in \(0, 600\), got 2000; it is in seconds, not milli"),
    (broken_file("slices", "identifier", "requirement", value="bundle@0.9"), "identifier: requirement takes no share, got 'bundle@0.9'.*sufficiency"),
    ([], "must be a block"),
])
def test_each_fault_of_the_gate_file_is_one_clear_error(told, named):
    with pytest.raises(ValueError, match=named):
        parameters_of(told, "gates.yaml")


def test_the_committed_file_is_read_and_unnamed_slices_get_the_rest(tmp_path):
    asked = read_parameters()
    assert set(asked.slices) >= {"*", "identifier", "paraphrase", "exclusion", "temporal", "multi_evidence", "long_documents", "rare_entities", "instructions"}
    assert asked.of("never heard of") == asked.of("*") and asked.of("exclusion").thresholds["sufficiency"] > asked.of("*").thresholds["sufficiency"]
    with pytest.raises(ValueError, match="is not there"):
        read_parameters(tmp_path / "no.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1", encoding="utf-8")
    with pytest.raises(ValueError, match="no YAML file"):
        read_parameters(tmp_path / "bad.yaml")


def test_a_clean_slice_is_released_and_a_slice_too_small_is_not(monkeypatch):
    asked, rows = read_parameters(), rows_of(200)
    gates = checked(gates_of.release_gates(rows, asked, FAST, downstream_of(rows, 0.1), resamples=300).assign(tier="t"), "release_gates", monkeypatch)
    assert set(gates["verdict"]) == {PASS}
    said = gates_of.decisions(gates)
    assert said["decision"].tolist() == [RELEASE, RELEASE] and said["n"].tolist() == [200, 200]
    small = rows_of(25)
    few = gates_of.release_gates(small, asked, FAST, downstream_of(small, 0.1), resamples=300)
    one = few[few["slice"] == "identifier"].set_index("gate")
    assert one.at["sufficiency", "verdict"] == OPEN and one.at["sufficiency", "needed"] == 29 and one.at["regressions", "needed"] == 59
    assert gates_of.decisions(few)["decision"].tolist() == [UNKNOWN, UNKNOWN]


def test_what_was_not_measured_cannot_tell_and_is_no_pass():
    gates = gates_of.release_gates(rows_of(200), read_parameters(), resamples=100).set_index(["slice", "gate"])
    for gate in ("latency_p95", "downstream"):
        assert gates.loc[("identifier", gate), "verdict"] == OPEN and math.isnan(gates.loc[("identifier", gate), "estimate"])


@pytest.mark.parametrize(("change", "gate"), [
    ({"absent": 60}, "sufficiency"), ({"room": 0.001, "gain": 0.0}, "headroom"), ({"gain": 0.01}, "capture"), ({"broken": 40}, "regressions"),
])
def test_each_gate_fails_alone_and_is_named(change, gate):
    rows = rows_of(300, **change)
    gates = gates_of.release_gates(rows, read_parameters(), FAST, downstream_of(rows, 0.1), resamples=300)
    said = gates[gates["slice"] == "identifier"].set_index("gate")["verdict"]
    assert said[gate] == FAIL
    assert gate in gates_of.decisions(gates)["failed"].iloc[0]


@pytest.mark.parametrize("late", [0, 1, 2, 6, 12, 100])
def test_the_latency_gate_reads_the_quantile_bound_as_the_exact_share(late):
    seconds = np.r_[np.full(100 - late, 1.0), np.full(late, 9.0)]
    rows = rows_of(30)
    gates = gates_of.release_gates(rows, read_parameters(), pd.DataFrame({"seconds": seconds}), resamples=50)
    row = gates[(gates["slice"] == "identifier") & (gates["gate"] == "latency_p95")].iloc[0]
    told = PASS if row["high"] <= row["threshold"] else FAIL if row["low"] > row["threshold"] else OPEN
    assert row["verdict"] == told and row["events"] == late
    assert row["verdict"] == {0: PASS, 1: PASS, 2: OPEN, 6: OPEN, 12: FAIL, 100: FAIL}[late]


def test_decisions_over_all_verdicts_release_only_where_all_pass():
    for said in itertools.product((PASS, FAIL, OPEN), repeat=len(GATES)):
        verdicts = dict(zip(GATES, said))
        found = gates_of.decision(verdicts)
        assert (found == RELEASE) == (set(said) == {PASS})
        assert (found in (REPAIR, BOTH)) == (verdicts["sufficiency"] == FAIL)
        assert (found == OFF) == (verdicts["sufficiency"] != FAIL and FAIL in said)


def test_a_release_family_asks_more_of_each_slice():
    told = broken_file("family", value="release")
    rows = pd.concat([rows_of(60, broken=0, slice=name) for name in ("identifier", "paraphrase", "other")], ignore_index=True)
    rows = rows.drop_duplicates(["dataset", "qid", "slice"])
    one, whole = (gates_of.release_gates(rows, parameters_of(t), resamples=50) for t in (FILE, told))
    pick = lambda g: g[(g["gate"] == "regressions") & (g["slice"] == "identifier")].iloc[0]
    assert pick(one)["verdict"] == PASS and pick(whole)["verdict"] == OPEN and pick(whole)["high"] > pick(one)["high"]


def test_a_wrong_release_is_as_rare_as_alpha():
    """200 slices at 60 questions whose true rate of lost evidence lies just over the limit: at most about one in twenty passes that gate."""
    rng, asked, passed = np.random.default_rng(2), read_parameters(), 0
    for i in range(200):
        flags = (rng.random(80) < 0.051).sum()
        passed += gates_of._share(np.r_[np.ones(flags), np.zeros(80 - flags)], asked.of("*").thresholds["regressions"], 0.05)[3] == PASS
    assert passed <= 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_rows_tell_pool_shown_and_broken(monkeypatch):
    """Three questions by hand: evidence promoted, demoted, never retrieved."""
    order = {"up": "xyzwg", "down": "gxyzw", "absent": "xyzwv"}
    first = pd.DataFrame([("d", q, "first", r, doc, -float(r)) for q, docs in order.items() for r, doc in enumerate(docs, 1)],
                         columns=["dataset", "qid", "ranker", "rank", "doc_id", "score"])
    again = {"up": "gxyzw", "down": "xyzwg", "absent": "vwxyz"}
    reranked = pd.DataFrame([("d", q, "again", r, doc, -float(r)) for q, docs in again.items() for r, doc in enumerate(docs, 1)], columns=first.columns)
    gold = pd.DataFrame([("d", q, "g", 1.0) for q in order], columns=["dataset", "qid", "doc_id", "grade"])
    member = pd.DataFrame({"dataset": "d", "qid": list(order), "slice": "other"})
    rows = question_rows(first, reranked, gold, member, read_parameters())
    seen = rows[rows["slice"] == "other"].set_index("qid")[["in_pool", "shown_before", "shown_after", "broken", "repaired"]].astype(int)
    assert seen.loc["up"].tolist() == [1, 0, 1, 0, 1] and seen.loc["down"].tolist() == [1, 1, 0, 1, 0] and seen.loc["absent"].tolist() == [0, 0, 0, 0, 0]
    left = checked(rollout_residual.residual(rows, read_parameters()).assign(tier="t"), "release_residual", monkeypatch)
    assert left.set_index(["slice", "where"]).loc[("all", "pool"), ["absent", "n"]].tolist() == [1, 3]


def test_a_requirement_that_no_judgement_can_tell_leaves_its_slice_undefined():
    """Two questions, each with one gold passage and so without a bundle; the slice identifier asks for one: undefined there and in all, and no error."""
    first = pd.DataFrame([("d", q, "first", r, doc, -float(r)) for q in "ab" for r, doc in enumerate("xg", 1)],
                         columns=["dataset", "qid", "ranker", "rank", "doc_id", "score"])
    gold = pd.DataFrame({"dataset": "d", "qid": list("ab"), "doc_id": "g", "grade": 1.0, "bundle": pd.NA})
    member = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "slice": ["identifier", "long_documents"]})
    rows = question_rows(first, first.assign(ranker="again"), gold, member, read_parameters()).set_index(["slice", "qid"])
    assert rows["in_pool"].isna().to_dict() == {("identifier", "a"): True, ("all", "a"): True, ("all", "b"): False, ("long_documents", "b"): False}
    assert rows.at[("all", "b"), "shown_before"] == 1 and rows["base"].notna().all()


def test_the_residual_speaks_in_the_units_of_the_decision():
    rows = rows_of(200, absent=6, slice="exclusion")
    left = rollout_residual.residual(rows, read_parameters())
    row = left[(left["slice"] == "exclusion") & (left["where"] == "pool")].iloc[0]
    assert (row["absent"], row["n"], round(row["ci_low"], 4), round(row["ci_high"], 4), row["a_year"]) == (6, 200, 0.0111, 0.0642, 45.0)
    said = rollout_residual.told(row)
    assert "the operative exception with its rule was absent from the pool in 6 of 200 questions of binding consequence" in said
    assert said.endswith("; if 1,500 such questions come a year (a number of the gate file), 45 [17, 96] of them")
    unknown = left[(left["slice"] == "all") & (left["where"] == "pool")].iloc[0]  # volume 0: no yearly number
    assert "year" not in rollout_residual.told(unknown) and "year" not in rollout_residual.told({**row, "volume": -1})


def test_a_slice_without_judgements_gives_open_gates_and_no_crash():
    rows = rows_of(3)
    rows[["in_pool", "shown_before", "shown_after", "broken", "realised_gain", "ordering_headroom"]] = np.nan
    gates = gates_of.release_gates(rows, read_parameters(), resamples=50)
    assert set(gates["verdict"]) == {OPEN} and gates_of.decisions(gates)["decision"].tolist() == [UNKNOWN, UNKNOWN]
    assert rollout_residual.told(rollout_residual.residual(rows, read_parameters()).iloc[0]).endswith("no question could tell")
