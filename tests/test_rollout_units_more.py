"""Faults that a release must not hide: rollbacks that go forward, times and rows that vanish or count twice, files that say two things, bundles in doubt."""

import errno
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lib import judgements as study
from lib import judgements_records as form
from lib import rollout_files as files
from lib import rollout_gates as gates_of
from lib import rollout_replay as replay_of
from lib import rollout_units as units
from lib.judgements_records import Candidate, Judgement
from lib.records import DataError
from lib.rollout_gates import FAIL, OPEN, PASS
from lib.rollout_parameters import GATES_FILE, read_parameters
from lib.rollout_rows import ROWS, question_rows
from lib.rollout_yaml import read_once
from lib.viability_inputs import read_judgements
from lib.viability_requirement import evidence, parse_all
from lib.viability_run import check_folder

A, B, C = (units.Unit(name, {"name": name}, {"max_length": 192}, units.reading()) for name in "abc")
FIRST = units.Unit("first stage", {"name": "none"}, {"texts": "none"}, units.reading("first_stage"))
PARAMETERS = read_parameters()


# ---- registry


def by_hand(steps):
    """Names in force after each step: a stack that releases put on and rollbacks take off; None where a rollback has nowhere to go."""
    stack, seen = [], []
    for step in steps:
        if step != "back":
            stack.append(step)
        elif len(stack) > 1:
            stack.pop()
        else:
            return [*seen, None]
        seen.append(stack[-1])
    return seen


def test_rollbacks_walk_back_past_what_was_rolled_back_and_stop_at_the_first(tmp_path):
    registry = units.released(units.released(units.opened(A), B), C)
    once = units.rolled_back(registry)
    twice = units.rolled_back(once)
    assert (once.active, twice.active, twice.history) == (B, A, (A.id, B.id, C.id, B.id, A.id))
    with pytest.raises(ValueError, match="nothing earlier is left"):
        units.rolled_back(twice)
    again = units.rolled_back(units.released(twice, C))  # a later release goes back to what stood, never to what was taken away
    assert again.active == A
    path = units.write_registry(again, tmp_path / "registry.json")
    assert units.read_registry(path) == again
    with pytest.raises(ValueError, match="nothing earlier"):
        units.rolled_back(units.read_registry(path))


def test_every_course_of_releases_and_rollbacks_is_a_stack(tmp_path):
    rng, of = np.random.default_rng(4), dict(zip("abc", (A, B, C)))
    for _ in range(40):
        steps, registry, seen = ["a"], units.opened(A), ["a"]
        for _ in range(8):
            step = rng.choice([name for name in "abc" if of[name] != registry.active] + ["back"] * 2)
            steps.append(str(step))
            try:
                registry = units.rolled_back(registry) if step == "back" else units.released(registry, of[step])
            except ValueError:
                seen.append(None)
                break
            seen.append(registry.active.name)
        assert seen == by_hand(steps)
        assert units.read_registry(units.write_registry(registry, tmp_path / "r.json")) == registry


def test_the_unit_in_force_cannot_be_released_and_a_mixture_is_with_what_a_rollback_would_restore():
    registry = units.released(units.opened(A), B)
    with pytest.raises(ValueError, match="in force already"):
        units.released(registry, B._replace(name="another name"))
    back = units.rolled_back(units.released(registry, C))
    assert units.mixture(back, ["model"]).model == A.model  # not that of the unit just rolled back
    with pytest.raises(ValueError, match="mixture"):
        units.mixture(units.rolled_back(registry), ["model"])


@pytest.mark.parametrize(("change", "said"), [
    (lambda d: d.update(history=5), "list of unit"), (lambda d: d.update(history="ab"), "list of unit"), (lambda d: d.update(history=[["x"]]), "list of unit"),
    (lambda d: d.update(rollbacks=[True]), "places in it"), (lambda d: d.update(rollbacks=[9]), "places in it"), (lambda d: d.pop("rollbacks"), "places in it"),
    (lambda d: d.update(history=d["history"][:1] * 2), "release of what was in force"), (lambda d: d.update(rollbacks=[1]), "no rollback to the unit before"),
    (lambda d: next(iter(d["units"].values()))["model"].update(name=math.nan), "finite numbers"),
    (lambda d: next(iter(d["units"].values()))["model"].update(name="\ud800"), "sound texts"),
])
def test_a_history_that_cannot_have_happened_is_refused(tmp_path, change, said):
    path = units.write_registry(units.released(units.opened(A), B), tmp_path / "registry.json")
    told = json.loads(path.read_text(encoding="utf-8"))
    change(told)
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(ValueError, match=said) as error:
        units.read_registry(path)
    assert "registry.json" in str(error.value)


def test_a_key_that_stands_twice_and_nesting_without_end_are_refused(tmp_path):
    path = units.write_registry(units.opened(A), tmp_path / "registry.json")
    whole = path.read_text(encoding="utf-8")
    for spoiled, said in ((whole.replace('"schema": 1', '"schema": 2, "schema": 1'), "'schema' stands twice"), ("[" * 100_000, "nested too deeply")):
        path.write_text(spoiled, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            units.read_registry(path)


# ---- gates


def rows_of(n=200):
    rows = pd.DataFrame({"dataset": "d", "qid": [f"q{i:03}" for i in range(n)], "slice": "all", "in_pool": 1.0, "shown_before": 1.0, "shown_after": 1.0,
                         "broken": 0.0, "repaired": 0.0, "base": 0.7, "reranked": 0.9, "ceiling": 1.0, "ordering_headroom": 0.3, "realised_gain": 0.2})
    return rows[ROWS]


def gate(name, seconds=None, downstream=None, rows=None):
    latency = None if seconds is None else pd.DataFrame({"seconds": seconds})
    gates = gates_of.release_gates(rows_of() if rows is None else rows, PARAMETERS, latency, downstream, resamples=50)
    return gates.set_index("gate").loc[name]


def outcomes(change=0.1, metric=PARAMETERS.metric):
    return rows_of()[["dataset", "qid"]].assign(metric=metric, baseline=0.4, reranked=0.4 + change)


def test_a_request_without_an_answer_is_late_and_no_request_is_left_out():
    fast, timeouts = np.full(60, 0.5), np.full(40, math.nan)
    alone, both = gate("latency_p95", fast), gate("latency_p95", np.r_[fast, timeouts])
    assert alone["verdict"] == PASS and (alone["events"], alone["n"]) == (0, 60)
    assert both["verdict"] == FAIL and (both["events"], both["n"], both["undefined"]) == (40, 100, 0) and math.isnan(both["estimate"])
    one = gate("latency_p95", np.r_[np.full(99, 0.5), math.nan])  # the 95 % quantile is there still, its upper end too
    assert (one["verdict"], one["events"], one["estimate"], one["high"]) == (PASS, 1, 0.5, 0.5)
    assert gate("latency_p95", np.r_[fast, timeouts]).drop("estimate").equals(gate("latency_p95", np.r_[fast, np.full(40, math.inf)]).drop("estimate"))


@pytest.mark.parametrize(("seconds", "said"), [([-0.1, 1.0], "0 or more"), (["fast", 1.0], "must be numbers")])
def test_seconds_that_are_none_are_refused(seconds, said):
    with pytest.raises(ValueError, match=said):
        gate("latency_p95", seconds)
    with pytest.raises(ValueError, match="column seconds"):
        gates_of.release_gates(rows_of(), PARAMETERS, pd.DataFrame({"ms": [1]}), resamples=50)


def test_the_downstream_gate_refuses_two_outcomes_of_a_question_in_whatever_order():
    good, bad = outcomes(0.1), outcomes(-0.1)
    assert gate("downstream", downstream=good)["verdict"] == PASS and gate("downstream", downstream=bad)["verdict"] == FAIL
    for both in (pd.concat([good, bad]), pd.concat([bad, good])):
        with pytest.raises(ValueError, match="several outcomes"):
            gate("downstream", downstream=both)
    with pytest.raises(ValueError, match=f"no metric '{PARAMETERS.metric}'.*it has other"):
        gate("downstream", downstream=outcomes(metric="other"))
    with pytest.raises(ValueError, match="no column 'metric'"):
        gate("downstream", downstream=good.drop(columns="metric"))
    half = gate("downstream", downstream=good.head(120))
    assert (half["n"], half["undefined"]) == (120, 80)
    for nothing in (None, good.iloc[:0]):
        assert gate("downstream", downstream=nothing)["verdict"] == OPEN


def test_the_same_questions_twice_are_no_more_evidence():
    few = rows_of(25)
    assert gate("regressions", rows=few)["verdict"] == OPEN
    with pytest.raises(ValueError, match="stands twice in a slice"):
        gate("regressions", rows=pd.concat([few] * 20))


def test_a_smaller_pool_cuts_both_lists():
    lists = [("d", q, r, f"p{r}", 1 / r) for q in ("q0", "q1") for r in range(1, 7)]
    first = pd.DataFrame(lists, columns=["dataset", "qid", "rank", "doc_id", "score"]).assign(ranker="h")
    again = first.assign(ranker="h + ce", rank=7 - first["rank"], score=-first["score"])  # p6 first
    gold = pd.DataFrame({"dataset": "d", "qid": ["q0", "q1"], "doc_id": ["p6", "p3"], "grade": 1})
    member = pd.DataFrame({"dataset": [], "qid": [], "slice": []}, dtype=str)
    one = PARAMETERS._replace(places=1)
    rows = question_rows(first, again, gold, member, one, depth=3).set_index("qid")
    assert rows.loc["q0", ["in_pool", "shown_before", "shown_after"]].tolist() == [0, 0, 0]
    assert rows.loc["q1", ["in_pool", "shown_before", "shown_after"]].tolist() == [1, 0, 1]  # p3 leads what is left of the list
    assert (rows["shown_after"] <= rows["in_pool"]).all() and (rows["reranked"] <= rows["ceiling"]).all()
    whole = question_rows(first, again, gold, member, one).set_index("qid")
    assert whole.loc["q0", ["in_pool", "shown_after"]].tolist() == [1, 1] and whole.loc["q1", "shown_after"] == 0


# ---- gate file


def refused(tmp_path, text):
    path = tmp_path / "own_gates.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as error:
        read_parameters(path)
    assert "own_gates.yaml" in str(error.value)
    return str(error.value)


def test_a_key_of_the_gate_file_stands_once(tmp_path):
    good = GATES_FILE.read_text(encoding="utf-8")
    weak = "{sufficiency: 0.01, headroom: 0.0, capture: -1.0, regressions: 0.99, latency_p95: 99.0, downstream: -1.0}"
    last = good.count("\n") + 1
    said = refused(tmp_path, good + "alpha: 0.49\n")
    assert "'alpha' stands twice" in said and f"line {last}:" in said
    assert "'binding' stands twice" in refused(tmp_path, good.replace("\nslices:", f"\n  binding: {weak}\n\nslices:", 1))
    assert "'regressions' stands twice" in refused(tmp_path, good.replace(", regressions: ", ', "regressions": 0.9, regressions: ', 1))
    assert read_once("a: &base {x: 1, y: 2}\nb: {<<: *base, y: 3}", "f") == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}  # a merge may be set anew


@pytest.mark.parametrize("change", [
    lambda t: t + "x: 2026-02-30\n", lambda t: t + "x: !!int abc\n", lambda t: t + "x: !!bool maybe\n", lambda t: t + "x: !!timestamp soon\n",
    lambda t: "[" * 5000 + "]" * 5000, lambda t: "alpha: " + "[" * 300 + "]" * 300, lambda t: "&a {version: *a}", lambda t: "? [a]\n: 1",
    lambda t: t[: len(t) // 2], lambda t: "",
    lambda t: t.replace("consequence: ", "consequence: [x] #"), lambda t: t.replace("consequence: ", "consequence: {} #"),
    lambda t: t.replace("family: ", "family: [slice] #"),
])
def test_whatever_is_odd_in_the_gate_file_is_one_error_that_names_it(tmp_path, change):
    good = GATES_FILE.read_text(encoding="utf-8")
    assert change(good) != good
    refused(tmp_path, change(good))


# ---- replay


LIST = pd.DataFrame([("d", "q", "h", r, f"p{r}", 1 / r) for r in (1, 2, 3)], columns=["dataset", "qid", "ranker", "rank", "doc_id", "score"])


@pytest.mark.parametrize(("change", "said"), [
    ({"rank": 1}, "rank 1 stands twice"), ({"rank": [1, math.nan, math.nan]}, "whole numbers from 1, got nan"), ({"rank": ["9", "10", "11"]}, "got '9'"),
    ({"rank": [0, 1, 2]}, "got 0"), ({"ranker": ["h", "h", "v"]}, "of one first stage, got h, v"), ({"qid": ["q", None, None]}, "2 rows have no"),
    ({"doc_id": ["a", "a", "b"]}, "'a' stands twice"), ({"score": [1.0, math.nan, 0.5]}, "no place in an order"),
    ({"score": [0.1, 0.2, 0.3]}, "higher first-stage score"),
])
def test_a_first_stage_whose_order_is_not_certain_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replay_of.replays(LIST.assign(**change), FIRST, 2)


def test_row_order_and_whole_ranks_in_floats_change_nothing_and_scores_given_twice_are_refused():
    made = replay_of.replays(LIST, FIRST, 2)
    assert made[0]["order"] == ["p1", "p2", "p3"] and made == replay_of.replays(LIST.iloc[::-1].astype({"rank": float}), FIRST, 2)
    with pytest.raises(ValueError, match="stands twice"):
        replay_of.replays(LIST, A, 2, pd.concat([LIST, LIST]))
    with pytest.raises(ValueError, match="1 of 3 candidates have no score"):
        replay_of.replays(LIST, A, 2, LIST.assign(score=pd.array([1.0, None, 2.0], dtype="Float64")))


@pytest.mark.parametrize(("candidates", "scores", "said"), [
    ([("a", 1.0), (None, 0.5)], [1, 2], "the id None is no text"), ([("a\ud800", 1.0)], [1], "half of a sign"), ([(7, 1.0)], [1], "the id 7"),
    ([("a", None)], [1], "score None"), ([("a", 1.0), ("b", 0.5)], [1, None], "score None"), ([("a", "x")], [1], "score 'x'"),
    ([("a", 1.0)], [1, 2], "1 candidates and 2 scores"),
])
def test_ids_and_scores_that_are_none_are_one_clear_error(candidates, scores, said):
    with pytest.raises(ValueError, match=said):
        replay_of.replay(("d", "q"), {}, candidates, scores, A)


def test_questions_that_no_file_can_hold_are_refused():
    for text in (None, "a\ud800"):
        with pytest.raises(ValueError, match="a question is a text"):
            replay_of.query_told(text)
    with pytest.raises(ValueError, match="the id"):
        replay_of.replay(("d", "q\ud800"), {}, [("a", 1.0)], [1], A)


def forged(change, unit=A):
    scores = None if unit is FIRST else [0.1, 0.3, 0.2]
    record = json.loads(json.dumps(replay_of.replay(("d", "q"), {}, [("a", 0.9), ("b", 0.5), ("c", 0.5)], scores, unit, 2)))
    assert replay_of.check_record(json.loads(json.dumps(record))) == record
    change(record)
    record["digest"] = units.digest({k: v for k, v in record.items() if k != "digest"})
    return record


def swapped(record):
    record["candidates"] = record["candidates"][1:] + record["candidates"][:1]
    record["order"] = [row[0] for row in record["candidates"]]
    record["shown"] = record["order"][:2]


@pytest.mark.parametrize(("change", "unit"), [
    (lambda r: r.update(places=-1, shown=r["order"][:-1]), A), (lambda r: r.update(places=0, shown=[]), A),
    (lambda r: r.update(places=True, shown=r["order"][:1]), A), (lambda r: r.update(places=2.0), A), (swapped, FIRST),
    (lambda r: r["candidates"][0].append(1.0), A), (lambda r: r["candidates"][0].pop(), A), (lambda r: r["filters"].update(dropped=["z"]), A),
    (lambda r: r["candidates"][1].__setitem__(2, None), A), (lambda r: r.update(filters=None), A), (lambda r: r.update(candidates=None), A),
    (lambda r: r.update(qid=7), A), (lambda r: r["unit"]["reading"].update(digits=10**12), A),
])
def test_a_sealed_record_that_makes_no_sense_is_refused(change, unit):
    with pytest.raises(DataError):
        replay_of.check_record(forged(change, unit))


def test_a_record_line_with_a_key_twice_is_refused(tmp_path):
    path = files.write_replays(replay_of.replays(LIST, FIRST, 2), tmp_path / "replay.jsonl")
    whole = path.read_text(encoding="utf-8")
    for spoiled in (whole.replace('"places": 2', '"places": 1, "places": 2'), whole.replace('"records": 1', '"records": 9, "records": 1')):
        assert spoiled != whole
        path.write_text(spoiled, encoding="utf-8")
        with pytest.raises(DataError, match="stands twice"):
            files.read_replays(path)


# ---- judgements


def candidate(doc="rule", span=(0, 1), label="bundle", grade=3, role="policy", bundles=("A",), assessor="ann"):
    return Candidate(doc, "s1", span, label, grade, role, bundles, assessor, "2026-03-01", None)


def record(*candidates, qid="q1"):
    return Judgement(qid, "May I?", "One may.", {"policy": 1, "exception": 1}, (), None, (), ("s",), candidates)


def doubt(doc, *bundles, span=(0, 1)):
    return candidate(doc, span, "uncertain", None, "exception", bundles)


def met(requirement, pool, *records):
    """(needed, found, met) of q1 under a requirement, with ``pool`` retrieved; by way of the audit's own table."""
    judged = study.for_audit(study.table(records, "d"))
    pools = pd.DataFrame({"dataset": "d", "qid": "q1", "doc_id": [f"{doc}#s1" for doc in pool]})
    member = pd.DataFrame({"dataset": "d", "qid": ["q1"], "slice": ["s"]})
    found = evidence(pools, judged, member, parse_all(requirement))
    return found.loc[(found["slice"] == "all") & (found["qid"] == "q1"), ["needed", "found", "met"]].iloc[0].tolist()


def same(a, b):
    return all((math.isnan(x) and math.isnan(y)) or x == y for x, y in zip(a, b, strict=True))


UNKNOWN = [math.nan] * 3


@pytest.mark.parametrize(("candidates", "pool", "told"), [
    ([candidate(), candidate("note", bundles=("A",))], ["rule"], [2, 1, 0]),  # a whole bundle takes both
    ([candidate(), doubt("note", "A")], ["rule"], UNKNOWN),  # not easier for the doubt
    ([candidate(), doubt("note", "A")], ["rule", "note"], UNKNOWN),
    ([candidate(bundles=("A", "B")), doubt("note", "A"), candidate("other", bundles=("B",))], ["rule"], [2, 1, 0]),  # B alone can tell
    ([candidate(bundles=("A", "B")), doubt("note", "A"), candidate("other", bundles=("B",))], ["rule", "other"], [2, 2, 1]),
    ([candidate(), candidate("note", label="contradictory", grade=0, role=None, bundles=("A",))], ["rule"], [1, 1, 1]),  # no part of it, so none is missing
    ([candidate(), candidate("note"), candidate(span=(5, 6), label="contradictory", grade=0, role=None, bundles=("B",))], ["rule"], [2, 1, 0]),
    ([candidate(), candidate("note"), candidate(span=(5, 6), label="topical", grade=1, role=None, bundles=("B",))], ["rule"], [2, 1, 0]),
    ([candidate(), candidate("note"), doubt("rule", "B", span=(5, 6))], ["rule"], [2, 1, 0]),  # B hangs on a span in doubt of a passage that is evidence
    ([candidate(), candidate("note", bundles=("A",)), doubt("note", "A", span=(5, 6))], ["rule", "note"], UNKNOWN),
])
def test_a_bundle_is_whole_only_where_all_of_it_is_evidence(candidates, pool, told):
    sure = record(candidate(), qid="q2")  # another question tells that bundles were judged
    for order in (candidates, candidates[::-1]):
        assert same(met("bundle", pool, record(*order), sure), told)


def test_doubt_stays_in_its_question_and_its_assessor():
    made = [record(candidate(), candidate("note"), doubt("note", "A", span=(5, 6)), candidate(assessor="bob"), candidate("note", assessor="bob")),
            record(candidate(), candidate("note"), qid="q2")]
    judged = study.table(made, "d")
    assert judged.set_index(["qid", "doc_id", "assessor"])["bundles"].to_dict() == {
        ("q1", "note#s1", "ann"): [], ("q1", "note#s1", "bob"): ["A"], ("q1", "rule#s1", "ann"): [], ("q1", "rule#s1", "bob"): ["A"],
        ("q2", "note#s1", "ann"): ["A"], ("q2", "rule#s1", "ann"): ["A"]}
    assert study.for_audit(judged, "bob")["bundle"].tolist() == ["A", "A"] and study.unsure(made) == 1


def test_a_passage_in_two_roles_plays_both_whichever_span_comes_first(tmp_path):
    spans = [candidate(label="supportive", grade=2, bundles=()), candidate(span=(3, 4), label="supportive", grade=3, role="exception", bundles=())]
    for order in (spans, spans[::-1]):
        assert study.table([record(*order)], "d")["role"].tolist() == ["exception; policy"]
        assert same(met("policy:1,exception:1", ["rule"], record(*order)), [2, 2, 1])
        assert same(met("policy:1,exception:1", [], record(*order)), [2, 0, 0])
    one = met("policy:1,exception:1", ["rule"], record(spans[0]), record(spans[1], qid="q2"))
    assert math.isnan(one[2])  # without the second span there is no exception to find
    study.export([record(*spans)], tmp_path)
    read = read_judgements(tmp_path / "judgements.csv")
    assert sorted(read["role"]) == ["exception", "policy"] and set(read["grade"]) == {3}
    assert (tmp_path / "judgements.qrels").read_text() == "q1 0 rule#s1 3\n"
    assert study.for_audit(study.table([], "d")).empty


@pytest.mark.parametrize(("roles", "said"), [({"policy; exception": 1}, "stands between"), ({"policy": 1, "policy ": 2}, "names one role twice")])
def test_roles_that_a_table_cannot_tell_apart_are_refused(tmp_path, roles, said):
    told = form.as_json(record()) | {"roles": roles}
    (tmp_path / "r.jsonl").write_text(json.dumps(told) + "\n")
    with pytest.raises(DataError, match=said):
        form.read(tmp_path / "r.jsonl")


def exported(tmp_path, records, out, *more):
    path = tmp_path / "given.jsonl"
    form.write(path, records)
    return study.main([str(path), "--out", str(out), *more])


def test_an_export_never_overwrites_the_records_it_was_made_from(tmp_path, capsys):
    both = [record(candidate(), candidate(assessor="bob"))]
    path = form.write(tmp_path / "records.jsonl", both)
    before = path.read_bytes()
    for out in (tmp_path, tmp_path / "x" / ".."):
        (tmp_path / "x").mkdir(exist_ok=True)
        assert study.main([str(path), "--out", str(out), "--assessor", "ann"]) == 2
        assert "records.jsonl there is an input" in capsys.readouterr().err and path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["records.jsonl", "x"]
    for out in ("", " "):
        assert study.main([str(path), "--out", out, "--assessor", "ann"]) == 2 and "is no folder" in capsys.readouterr().err
    assert study.main([str(path), "--out", str(tmp_path / "out"), "--assessor", "ann"]) == 0 and len(form.read(path)[0].candidates) == 2


def test_an_export_that_fails_leaves_all_of_the_old_one(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    assert exported(tmp_path, [record(candidate(grade=1))], out) == 0
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    assert set(before) == set(study.FILES)
    write = Path.write_text

    def full(self, text, **how):
        if self.name == "records.jsonl" and ".report-" in str(self):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    assert exported(tmp_path, [record(candidate(grade=2))], out) == 2 and "could not write the judgements" in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    monkeypatch.undo()
    (tmp_path / "taken" / "slices.csv").mkdir(parents=True)
    assert exported(tmp_path, [record(candidate())], tmp_path / "taken") == 2 and "slices.csv is a folder there" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "taken").iterdir()] == ["slices.csv"]
    assert exported(tmp_path, [record(candidate(), doubt("note", "A"))._replace(slices=())], out) == 0 and not (out / "slices.csv").exists()
    assert "bundles with an uncertain passage: 1" in capsys.readouterr().out


def test_a_report_never_goes_over_one_of_its_inputs(tmp_path):
    for name in ("slices.csv", "judgements.csv"):
        (tmp_path / name).write_text("x")
    check_folder(tmp_path)
    check_folder(tmp_path, [tmp_path / "judgements.csv", None, tmp_path / "nowhere.csv"])  # no name of the report's
    (tmp_path / "link").symlink_to(tmp_path)
    for given in (tmp_path / "slices.csv", str(tmp_path / "link" / "slices.csv")):
        with pytest.raises(OSError, match="slices.csv there is an input"):
            check_folder(tmp_path, [given])
    check_folder(tmp_path / "out", [tmp_path / "slices.csv"])
