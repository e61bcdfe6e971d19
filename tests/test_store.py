"""The store: equal values give equal bytes, damage is said, nothing is half-written."""
import errno
import json
import signal
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pandas as pd
import pytest

from lib import cross_encoder, likelihood, readers, rivals_surprise
from lib.recorded import canonical, group_name, read_recorded, write_recorded
from lib.store import Store, StoreError, entry_key

GROUP = {"kind": "answer", "model": "toy/reader", "revision": None, "precision": "fp32", "decoding": {"max_new_tokens": 16}}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def filled(store: Store, prompts: list[str], group: dict = GROUP) -> dict[str, dict]:
    values = {entry_key(group, prompt): {"raw_text": f" answer to {prompt} é\n"} for prompt in prompts}
    store.put_many(group, values)
    return values


def test_what_was_put_is_got_and_what_was_not_is_absent(store):
    values = filled(store, ["a", "b"])
    assert store.get_many([*values, "0" * 64]) == values
    assert store.get("0" * 64) is None


def test_a_read_creates_no_folder(store):
    assert store.get("0" * 64) is None and store.groups() == []
    assert not store.cache.exists() and not store.recorded.exists()


def test_a_key_does_not_depend_on_the_order_of_fields_and_depends_on_every_field():
    assert entry_key(GROUP, "a") == entry_key(dict(reversed(GROUP.items())), "a")
    others = [{**GROUP, field: "other"} for field in GROUP]
    assert len({entry_key(group, "a") for group in [GROUP, *others]} | {entry_key(GROUP, "b")}) == len(GROUP) + 2


def test_the_key_is_the_documented_sha256():
    import hashlib

    text = ('{"decoding":{"max_new_tokens":16},"kind":"answer","model":"toy/reader","precision":"fp32","prompt":"né",'
            '"revision":null}')
    assert entry_key(GROUP, "né") == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("group", [{}, {**GROUP, "seed": 1}, {k: v for k, v in GROUP.items() if k != "revision"}])
def test_a_group_with_other_fields_is_refused(group):
    with pytest.raises(ValueError, match="has the fields"):
        entry_key(group, "a")


def test_not_a_number_is_refused():
    with pytest.raises(ValueError):
        canonical({"score": float("nan")})


def test_an_export_is_read_without_the_cache(store, tmp_path):
    values = filled(store, ["a", "b", "c"])
    store.export(GROUP)
    clone = Store(tmp_path / "recorded", tmp_path / "no cache")
    assert clone.get_many(values) == values and not (tmp_path / "no cache").exists()


def test_equal_values_give_equal_bytes_in_any_order_and_again(store, tmp_path):
    filled(store, ["a", "b", "c"])
    other = Store(tmp_path / "recorded2", tmp_path / "store2")
    for prompt in ["c", "b", "a"]:
        filled(other, [prompt])
    first = store.export(GROUP).read_bytes()
    assert other.export(GROUP).read_bytes() == first == store.export(GROUP).read_bytes()
    lines = first.decode().splitlines()
    assert json.loads(lines[0]) == {"group": GROUP, "rows": 3}
    keys = [json.loads(line)["key"] for line in lines[1:]]
    assert keys == sorted(keys) and "é" in lines[1]


def test_an_export_of_some_keys_holds_these_and_no_others(store):
    values = filled(store, ["a", "b", "c"])
    wanted = sorted(values)[:2]
    assert set(read_recorded(store.export(GROUP, wanted))[1]) == set(wanted)
    with pytest.raises(StoreError, match="1 of 3 values to record are in no layer"):
        store.export(GROUP, [*wanted, "f" * 64])


def test_groups_do_not_mix(store):
    other = {**GROUP, "precision": "nf4"}
    filled(store, ["a"]), filled(store, ["a", "b"], other)
    assert sorted(group["precision"] for group in store.groups()) == ["fp32", "nf4"]
    assert len(read_recorded(store.export(GROUP))[1]) == 1 and len(read_recorded(store.export(other))[1]) == 2
    assert len(list(store.recorded.iterdir())) == 2


def test_the_recorded_layer_is_asked_first_and_can_be_ignored(store, tmp_path):
    key = entry_key(GROUP, "a")
    store.put(GROUP, key, "recorded")
    store.export(GROUP)
    store.put(GROUP, key, "live")
    assert store.get(key) == "recorded"
    live = Store(tmp_path / "recorded", tmp_path / "store", ignore_recorded=True)
    assert live.get(key) == "live"
    assert Store(tmp_path / "recorded", tmp_path / "none", ignore_recorded=True).get(key) is None


def test_a_new_record_replaces_the_old_one_only_when_the_old_is_ignored(store, tmp_path):
    key = entry_key(GROUP, "a")
    store.put(GROUP, key, "old")
    store.export(GROUP)
    store.put(GROUP, key, "new")
    assert read_recorded(store.export(GROUP))[1] == {key: "old"}
    live = Store(tmp_path / "recorded", tmp_path / "store", ignore_recorded=True)
    assert read_recorded(live.export(GROUP))[1] == {key: "new"}


def test_a_recorded_file_cut_at_any_byte_is_one_clear_error(store, tmp_path):
    filled(store, ["a", "b"])
    path = store.export(GROUP)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size].decode(errors="ignore").encode())
        with pytest.raises(StoreError, match=rf"{path.name}.*make record"):
            Store(tmp_path / "recorded", tmp_path / "store").get("0" * 64)


def test_a_damaged_line_is_named(store, tmp_path):
    filled(store, ["a", "b"])
    path = store.export(GROUP)
    path.write_text(path.read_text().replace('"key"', '"kex"', 2))
    with pytest.raises(StoreError, match=r"line 2: not a row"):
        Store(tmp_path / "recorded", tmp_path / "store").get("0" * 64)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), sqlite3.OperationalError("database or disk is full")])
def test_a_full_disk_is_one_clear_error_and_keeps_what_was_stored(store, monkeypatch, error):
    import diskcache

    before = filled(store, ["a"])

    def full(*args, **options):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(diskcache.JSONDisk, "store", full)
        with pytest.raises(StoreError, match="disk is full"):
            filled(store, ["b", "c"])
    assert store.get_many([*before, entry_key(GROUP, "b")]) == before


def test_a_full_disk_in_an_export_keeps_the_old_file(store, monkeypatch):
    filled(store, ["a"])
    old = store.export(GROUP).read_bytes()
    filled(store, ["b"])

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(StoreError, match="disk is full"):
            store.export(GROUP)
    assert [path.read_bytes() for path in store.recorded.iterdir()] == [old]


def test_a_damaged_cache_names_the_folder_to_delete(store):
    store.cache.mkdir()
    (store.cache / "cache.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="delete data/cache/store"):
        store.get("0" * 64)


def test_a_killed_writer_loses_its_batch_at_most(store, tmp_path):
    script = (
        "import itertools, sys; from pathlib import Path; from lib.store import Store, entry_key\n"
        f"group, store = {GROUP!r}, Store(Path({str(tmp_path / 'recorded')!r}), Path({str(tmp_path / 'store')!r}))\n"
        "for batch in itertools.count():\n"
        "    store.put_many(group, {entry_key(group, f'{batch}-{i}'): [batch, i] for i in range(8)})\n"
        "    print(batch, flush=True)\n")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]) as process:
        while (line := process.stdout.readline()) and int(line) < 5:
            pass
        process.send_signal(signal.SIGKILL)
        last = [int(line), *map(int, process.stdout.read().split())][-1]
    batches = [store.get_many(entry_key(GROUP, f"{batch}-{i}") for i in range(8)) for batch in range(last + 3)]
    assert all(len(found) == 8 for found in batches[:last + 1])
    assert all(len(found) in (0, 8) for found in batches), "a batch is kept whole or not at all"
    filled(store, ["after the kill"])


def test_file_names_are_plain_and_tell_revisions_apart():
    names = {group_name(GROUP), group_name({**GROUP, "revision": "main"}), group_name({**GROUP, "decoding": {}})}
    assert len(names) == 3 and all(name.startswith("answer-reader-fp32-") for name in names)


def test_a_recorded_file_goes_through_and_back(tmp_path):
    path = tmp_path / "deep" / "x.jsonl"
    write_recorded(path, GROUP, {"b": 1, "a": None})
    assert read_recorded(path) == (GROUP, {"a": None, "b": 1})


def test_a_byte_that_is_no_text_is_named_with_file_and_line(store, tmp_path):
    filled(store, ["a", "b"])
    path = store.export(GROUP)
    path.write_bytes(path.read_bytes().replace(b"answer to b", b"answer to \xff"))
    line = next(n for n, text in enumerate(path.read_bytes().split(b"\n"), start=1) if b"\xff" in text)
    with pytest.raises(StoreError, match=rf"{path.name} line {line}: byte 0xff is no UTF-8; .*make record"):
        Store(tmp_path / "recorded", tmp_path / "store").get("0" * 64)


def values_of(kind):
    """(what is asked of the store, the group, the keys it looks at, a sound value) of one kind of stored values; no model is opened."""
    documents = pd.DataFrame({"dataset": "d", "doc_id": ["x"], "title": ["Marl"], "text": ["It ends here."]})
    snippets = pd.DataFrame({"dataset": "d", "doc_id": ["x"], "start": [0], "end": [13]})
    spec = {"model": "smollm2-135m"}
    if kind == "answer":
        value = {"raw_text": "x", "n_prompt_tokens": 1, "n_new_tokens": 1}
        return lambda s: readers.read_prompts(["a prompt"], spec, s), readers.answer_group(spec), "a prompt", value
    if kind == "log_probability":
        return lambda s: likelihood.likelihoods([("p", "a")], spec, s), likelihood.likelihood_group(spec), ["p", "a"], [-1.5, 2]
    if kind == "cross_encoder":
        name = {"model": "support"}
        return lambda s: cross_encoder.score_pairs([("q", "t")], name, s), cross_encoder.cross_encoder_group(name), ["q", "t"], 0.25
    unit = next(iter(rivals_surprise.units(snippets, documents).values()))
    return (lambda s: rivals_surprise.surprises(snippets, documents, s), rivals_surprise.surprise_group(), [unit[0], [list(p) for p in unit[1]]], [[2.5, 5]])


@pytest.mark.parametrize("kind", ["answer", "log_probability", "cross_encoder", "self_information"])
@pytest.mark.parametrize("wrong", [None, "much", {}, [], [[2.5]], {"raw_text": None}, {"raw_text": "x", "n_new_tokens": -3}, [[2.5, 5], [1, 1]], [["2.5", 5]],
                                   ["-1.5", 2], [-1.5], [-1.5, 0.5], float("nan"), True])
def test_a_stored_value_that_is_none_of_its_kind_is_one_error_with_the_file_and_the_mend(store, kind, wrong):
    ask, group, prompt, right = values_of(kind)
    key = entry_key(group, prompt)
    store.put(group, key, right)
    ask(store)
    store.put(group, key, wrong)
    mend = f"restore data/sample/recorded/{kind}-.*jsonl .*else delete data/cache/store"
    with pytest.raises(StoreError, match=f"{kind}-.*1 of 1 stored values are damaged.*{mend}"):
        ask(store)
    store.put(group, key, right)
    path = store.export(group)
    path.write_text(path.read_text().replace(canonical(right), "[7]"))
    with pytest.raises(StoreError, match=f"{kind}-.*stored values are damaged"):
        ask(Store(store.recorded, store.cache.parent / "none"))


@pytest.mark.parametrize("blob", [b"no zip", b"", zlib.compress(b"no json"), zlib.compress(b"[1]"), zlib.compress(b'{"in": "x"}'), zlib.compress(b"\xff")])
def test_a_damaged_value_of_the_cache_names_the_folder_to_delete(store, blob):
    (key,) = filled(store, ["a"])
    store.close()
    with sqlite3.connect(store.cache / "cache.db") as disk:
        assert disk.execute("UPDATE Cache SET value = ? WHERE key = ?", (blob, zlib.compress(json.dumps(key).encode(), 1))).rowcount == 1
    with pytest.raises(StoreError, match="delete data/cache/store"):
        store.get(key)


def test_a_folder_in_a_recorded_files_place_is_said(tmp_path):
    (tmp_path / "answer.jsonl").mkdir()
    with pytest.raises(StoreError, match="answer.jsonl: cannot be read .*make record"):
        Store(tmp_path, tmp_path / "cache").recorded_rows()
