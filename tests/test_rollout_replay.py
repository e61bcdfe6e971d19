"""Replay records, their files, fates, and the rollback of the triple: every order comes out again bit for bit, and damage is refused."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from lib import rollout_fates as fates_of
from lib import rollout_files as files
from lib import rollout_replay as replay_of
from lib import rollout_units as units
from lib.records import DataError
from lib.rollout_fates import DEMOTED, FATES, FILTERED, LOW, NEVER, PROMOTED, SHOWN

OLD = units.Unit("first stage", {"name": "none"}, {"texts": "none"}, units.reading("first_stage"))
NEW = units.Unit("cross-encoder", {"name": "reranker", "sha256": "ab"}, {"max_length": 192, "passage": "title and text"}, units.reading())


def made(n=30, candidates=12, seed=0, unit=NEW, places=4):
    """Random records: scores with many ties, some gold passages dropped by a filter."""
    rng, out = np.random.default_rng(seed), []
    for i in range(n):
        ids = [f"p{j}" for j in rng.permutation(40)[:candidates]]
        dropped = {f"p{j}": "entitlement" for j in range(40, 44)}
        scores = rng.integers(-3, 4, candidates) / 7
        pairs = list(zip(ids, np.sort(rng.random(candidates))[::-1]))
        out.append(replay_of.replay(("d", f"q{i:02}"), replay_of.query_told(f"question {i}", encoder="minilm"), pairs, scores, unit, places, "hybrid", dropped,
                                    ("entitlement",)))
    return out


def test_every_record_reproduces_its_order_after_a_round_trip_bit_for_bit(tmp_path):
    records = made()
    path = files.write_replays(records, tmp_path / "replay.jsonl")
    again = files.read_replays(path)
    assert again == records and files.differing(again, records) == []
    for record in again:
        by_hand = sorted(range(len(record["candidates"])), key=lambda i: (-record["candidates"][i][2], i))
        assert replay_of.reproduced(record) == record["order"] == [record["candidates"][i][0] for i in by_hand]
    first = path.read_bytes()
    assert files.write_replays(again, tmp_path / "again.jsonl").read_bytes() == first


def test_scores_that_differ_in_the_last_bit_are_kept_apart():
    low, high = 0.1, np.nextafter(0.1, 1)
    record = replay_of.replay(("d", "q"), {}, [("a", 1.0), ("b", 0.9)], [low, high], NEW)
    back = json.loads(json.dumps(record))
    assert replay_of.check_record(back)["order"] == ["b", "a"] and back["candidates"][1][2] == high != low


def test_equal_scores_go_by_first_stage_rank_and_never_by_name():
    for ids in ("zyx", "xyz"):
        record = replay_of.replay(("d", "q"), {}, [(i, 1.0) for i in ids], [0.5, 0.5, 0.5], NEW, places=2)
        assert record["order"] == list(ids)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_without_a_place_are_refused(bad):
    with pytest.raises(ValueError, match="no place in an order"):
        replay_of.replay(("d", "q"), {}, [("a", 1.0), ("b", 0.5)], [0.1, bad], NEW)
    with pytest.raises(ValueError, match="no place in an order"):
        replay_of.replay(("d", "q"), {}, [("a", bad), ("b", 0.5)], [0.1, 0.2], NEW)


def test_what_cannot_be_a_record_is_refused():
    with pytest.raises(ValueError, match="stands twice"):
        replay_of.replay(("d", "q"), {}, [("a", 1.0), ("a", 0.5)], [0.1, 0.2], NEW)
    with pytest.raises(ValueError, match="dropped by filter 'entitlement' and is a candidate"):
        replay_of.replay(("d", "q"), {}, [("a", 1.0)], [0.1], NEW, dropped={"a": "entitlement"})
    with pytest.raises(ValueError, match="holds no reranker scores"):
        replay_of.replay(("d", "q"), {}, [("a", 1.0)], None, NEW)
    with pytest.raises(ValueError, match="finite numbers"):
        replay_of.replay(("d", "q"), {"vector": math.nan}, [("a", 1.0)], [0.1], NEW)
    first = pd.DataFrame({"dataset": "d", "qid": "q", "ranker": "r", "rank": [1, 2], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    with pytest.raises(ValueError, match="have no score"):
        replay_of.replays(first, NEW, 4, first.head(1))


def test_the_candidate_set_is_the_sets_not_the_orders():
    assert replay_of.candidate_set(["a", "b"]) == replay_of.candidate_set(["b", "a"]) != replay_of.candidate_set(["a", "b", "c"])


def spoil(path, how):
    lines = path.read_text(encoding="utf-8").split("\n")
    record = json.loads(lines[3])
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
        return
    if how == "line lost":
        del lines[5]
    elif how == "line twice":
        lines[5] = lines[4]
    elif how == "no header":
        lines = lines[1:]
    elif how == "not JSON":
        lines[3] = lines[3][:-5]
    elif how == "other schema":
        lines[3] = json.dumps(record | {"schema": 9})
    elif how == "field lost":
        lines[3] = json.dumps({k: v for k, v in record.items() if k != "shown"})
    elif how == "score changed":
        record["candidates"][0][2] += 1e-12
        lines[3] = json.dumps(record)
    elif how == "order forged":
        record["order"] = record["order"][::-1]
        record["digest"] = units.digest({k: v for k, v in record.items() if k != "digest"})
        lines[3] = json.dumps(record)
    elif how == "a NaN":
        record["candidates"][0][2] = math.nan
        lines[3] = json.dumps(record)
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(("how", "said"), [
    ("cut", "cut short"), ("line lost", "the header promises 30 records, 29"), ("line twice", "not the records that the header"), ("no header", "no header"),
    ("not JSON", "line 4: no valid JSON"), ("other schema", "line 4: no replay record of schema 1"), ("field lost", r"fields \['shown'\] are missing"),
    ("score changed", "line 4: the digest does not fit"), ("order forged", "do not follow from the candidates"), ("a NaN", "line 4"),
])
def test_a_damaged_file_is_refused_with_its_place(tmp_path, how, said):
    path = files.write_replays(made(), tmp_path / "replay.jsonl")
    spoil(path, how)
    with pytest.raises(DataError, match=said):
        files.read_replays(path)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = files.write_replays(made(3), tmp_path / "replay.jsonl")
    before = path.read_bytes()
    with pytest.raises(DataError, match="has two records"):
        files.write_replays([*made(3), *made(3)], path)
    with pytest.raises(DataError):
        files.write_replays([made(1)[0] | {"order": []}], path)
    assert path.read_bytes() == before


def gold_of(records):
    rng = np.random.default_rng(4)
    rows = [("d", r["qid"], f"p{j}", 1.0) for r in records for j in rng.permutation(48)[:10]]
    return pd.DataFrame(rows, columns=["dataset", "qid", "doc_id", "grade"])


def test_fates_equal_brute_force_and_every_gold_passage_has_exactly_one():
    records = made(60)
    gold = gold_of(records)
    found = fates_of.fates(records, gold)
    assert len(found) == len(gold) and set(found["fate"]) == set(FATES)
    by = {r["qid"]: r for r in records}
    for row in found.itertuples():
        r = by[row.qid]
        ids = [c[0] for c in r["candidates"]]
        early, late = row.doc_id in ids[:4], row.doc_id in r["order"][:4]
        wanted = {(True, True): SHOWN, (False, True): PROMOTED, (True, False): DEMOTED, (False, False): LOW}[early, late]
        if row.doc_id not in ids:
            wanted = FILTERED if row.doc_id in r["filters"]["dropped"] else NEVER
        assert row.fate == wanted
        assert (row.doc_id in r["shown"]) == (row.fate in (SHOWN, PROMOTED))


def test_the_first_stages_own_records_promote_and_demote_nothing():
    before = [replay_of.replay((r["dataset"], r["qid"]), r["query"], [c[:2] for c in r["candidates"]], None, OLD, 4) for r in made()]
    assert not set(fates_of.fates(before, gold_of(before))["fate"]) & {PROMOTED, DEMOTED}


def test_transitions_add_up_and_only_the_order_moves_passages():
    after = made(40)
    before = [replay_of.replay((r["dataset"], r["qid"]), r["query"], [c[:2] for c in r["candidates"]], None, OLD, 4, dropped=r["filters"]["dropped"])
              for r in after]
    gold = gold_of(after)
    member = pd.DataFrame({"dataset": "d", "qid": [r["qid"] for r in after], "slice": ["odd" if i % 2 else "even" for i in range(40)]})
    moves = fates_of.transitions(fates_of.fates(before, gold), fates_of.fates(after, gold), member)
    by = moves.groupby("slice")["passages"].sum()
    assert by["all"] == len(gold) == by["odd"] + by["even"] and (moves["of"] == moves["slice"].map(by)).all()
    allowed = {(NEVER, NEVER), (FILTERED, FILTERED), (LOW, LOW), (LOW, PROMOTED), (SHOWN, SHOWN), (SHOWN, DEMOTED)}
    assert set(zip(moves["before"], moves["after"])) <= allowed
    shares = fates_of.shares(fates_of.fates(after, gold), member, "after", resamples=200)
    whole = shares[shares["slice"] == "all"].set_index("fate")
    assert whole.loc[list(FATES), "estimate"].sum() == pytest.approx(1) and whole.loc[list(FATES), "passages"].sum() == len(gold)
    assert whole.at["seen", "passages"] == whole.loc[[SHOWN, PROMOTED], "passages"].sum()
    with pytest.raises(ValueError, match="same questions and passages"):
        fates_of.transitions(fates_of.fates(before, gold), fates_of.fates(after[1:], gold), member)


def test_a_threshold_hides_what_the_order_has_in_front():
    strict = NEW._replace(reading=units.reading(threshold=0.5))
    record = replay_of.replay(("d", "q"), {}, [("a", 1.0), ("b", 0.9), ("c", 0.8)], [0.1, 0.9, 0.4], strict, places=2)
    assert record["order"][:2] == ["b", "c"] and record["shown"] == ["b"]
    gold = pd.DataFrame({"dataset": "d", "qid": "q", "doc_id": ["a", "b", "c"], "grade": 1.0})
    assert fates_of.fates([record], gold).set_index("doc_id")["fate"].to_dict() == {"a": DEMOTED, "b": SHOWN, "c": LOW}


# the triple


def test_any_of_the_three_parts_makes_another_unit():
    others = [NEW._replace(model={"name": "reranker", "sha256": "cd"}), NEW._replace(preprocessing={**NEW.preprocessing, "max_length": 128}),
              NEW._replace(reading=units.reading(activation="sigmoid"))]
    assert len({NEW.id, *(u.id for u in others)}) == 4 and NEW._replace(name="other name").id == NEW.id


@pytest.mark.parametrize("parts", [["model"], ["reading"], ["preprocessing", "reading"], []])
def test_rolling_back_less_than_the_whole_is_refused_and_the_third_system_named(parts):
    registry = units.released(units.opened(OLD), NEW)
    with pytest.raises(ValueError, match="together") as error:
        units.rolled_back(registry, parts)
    if parts:
        third = units.mixture(registry, parts)
        assert third.id in str(error.value) and third.id not in registry.units


def test_a_rollback_restores_the_earlier_records_exactly_and_part_of_one_does_not(tmp_path):
    previous = NEW._replace(name="previous", model={"name": "previous", "sha256": "cd"}, reading=units.reading(activation="sigmoid", digits=1, threshold=0.5))
    registry = units.released(units.opened(previous), NEW)
    before = made(unit=previous)
    seal = files.sealed(before)
    path = units.write_registry(registry, tmp_path / "registry.json")
    back = units.rolled_back(units.read_registry(path))
    assert back.active == previous and len(back.history) == 3
    assert files.sealed(made(unit=back.active)) == seal and files.differing(made(unit=back.active), before) == []
    third = made(unit=units.mixture(registry, ["model", "preprocessing"]))  # the old model, its raw scores read the new way
    assert len(files.differing(third, before)) == len(before)
    assert any(a["shown"] != b["shown"] for a, b in zip(third, before)) and any(a["order"] != b["order"] for a, b in zip(third, before))


def test_a_sigmoids_threshold_on_raw_scores_is_another_system():
    raw = [0.2, -0.3, 0.9, 0.6]
    right, wrong = units.reading(activation="sigmoid", threshold=0.5), units.reading(threshold=0.5)
    records = [replay_of.replay(("d", "q"), {}, list(zip("abcd", (4.0, 3.0, 2.0, 1.0))), raw, NEW._replace(reading=r)) for r in (right, wrong)]
    assert [r["shown"] for r in records] == [["c", "d", "a"], ["c", "d"]] and records[0]["order"] == records[1]["order"]


def test_a_damaged_registry_is_refused(tmp_path):
    path = units.write_registry(units.released(units.opened(OLD), NEW), tmp_path / "registry.json")
    whole = path.read_text(encoding="utf-8")
    assert units.read_registry(path).active == NEW
    for spoiled, said in ((whole[:-9], "damaged"), (whole.replace("192", "256"), "was changed after it was registered"),
                          (whole.replace(f'"{OLD.id}"', '"feed"', 1), "not there|was changed"), (whole.replace('"schema": 1', '"schema": 7'), "schema 1")):
        path.write_text(spoiled, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            units.read_registry(path)
    with pytest.raises(ValueError, match="is not there"):
        units.read_registry(tmp_path / "none.json")
    with pytest.raises(ValueError, match="no unit before"):
        units.rolled_back(units.opened(OLD))
