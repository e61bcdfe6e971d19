"""Tables: what does not fit is one error that says where and how to mend it; the same rows are the same bytes; a kill leaves the old file."""
import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from lib import tables
from lib.tables import TABLES, TableError, check, read, six_digits, write, write_atomically

GOLD = pd.DataFrame({"dataset": "inv", "qid": ["q1", "q2", "q3"], "doc_id": ["d1", "d2", "d3"], "grade": 1, "hop": [1, 2, None],
                     "is_last_hop": [False, True, None]})
QUESTIONS = pd.DataFrame({"dataset": ["inv"], "qid": ["q1"], "question": ["Which sea?"], "answers": [["Aumes", "Sea of Aumes"]], "question_type": "bridge",
                          "slice": "inv", "n_hops": 2, "half": 0, "seeds": [[]]})
DOCUMENTS = pd.DataFrame({"dataset": ["inv"], "doc_id": ["d1"], "title": ["Marl"], "text": ["It floods. It ends."], "sentences": [[[0, 10], [11, 19]]],
                          "split_by": "author", "source_type": None, "authority": None, "effective_from": None, "effective_to": None,
                          "jurisdiction": None, "entitlement": None, "superseded_by": None})
RANKINGS = pd.DataFrame({"dataset": "inv", "qid": "q1", "scope": "own", "ranker": "bm25", "rank": [1, 2], "doc_id": ["d1", "d2"], "score": [2.5, 1.0]})
RETRIEVAL = pd.DataFrame({"tier": "t", "dataset": "inv", "scope": "own", "ranker": "bm25", "measure": ["recall_at_1", "recall_at_5"],
                          "estimate": [1 / 3, None], "ci_low": [0.2, None], "ci_high": [0.4, None], "n": [30, 0], "clusters": [30, 0], "undefined": [0, 30]})
SETTINGS = pd.DataFrame({"id": ["own-bm25-5"], "kind": ["pool"], "settings": ['{"scope": "own", "note": "a, b"}']})


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository of its own, so that no test writes into data/."""
    (tmp_path / "dvc.yaml").write_text((tables.ROOT / "dvc.yaml").read_text())
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    return tmp_path


def spoilt(df: pd.DataFrame, column: str, value, row: int = 1) -> pd.DataFrame:
    df = df.astype(object)
    df.at[row, column] = value
    return df


# ---- the declaration


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_is_declared_whole(name):
    table = TABLES[name]
    assert table.format in ("parquet", "csv") and table.meaning
    assert set(table.key) <= set(table.columns)
    assert not any(table.columns[k][1] for k in table.key), "a key column may not be missing"
    assert all(kind in tables.DTYPES and meaning for kind, _, meaning in table.columns.values())
    assert table.format == "parquet" or "list" not in {kind for kind, _, _ in table.columns.values()}, "a CSV holds no lists"


def test_an_unknown_table_is_named_with_the_known_ones():
    with pytest.raises(TableError, match="'golden'.*questions, gold, documents"):
        check(GOLD, "golden")


def test_a_missing_column_is_named_with_what_was_found():
    with pytest.raises(TableError, match=r"table gold: missing columns \['grade'\].*found \['dataset', 'qid', 'doc_id', 'hop', 'is_last_hop'\]"):
        check(GOLD.drop(columns="grade"), "gold")


def test_an_undeclared_column_is_refused():
    with pytest.raises(TableError, match=r"undeclared columns \['score'\].*lib/declarations.py"):
        check(GOLD.assign(score=1.0), "gold")


def test_a_column_that_stands_twice_is_refused():
    with pytest.raises(TableError, match=r"'qid \(again\)'"):
        check(pd.concat([GOLD, GOLD[["qid"]]], axis=1), "gold")


@pytest.mark.parametrize("df, name, column, value, expected", [
    (GOLD, "gold", "grade", "high", "a whole number"), (GOLD, "gold", "grade", "3", "a whole number"), (GOLD, "gold", "grade", 1.5, "a whole number"),
    (GOLD, "gold", "grade", float("inf"), "a whole number"), (GOLD, "gold", "hop", [1], "a whole number"), (GOLD, "gold", "is_last_hop", "yes", "True or False"),
    (GOLD, "gold", "qid", 12.0, "text"), (GOLD, "gold", "qid", ["q2"], "text"), (RANKINGS, "rankings", "score", "2.5", "a number"),
    (RANKINGS, "rankings", "score", float("inf"), "a finite number"), (RANKINGS, "rankings", "score", -np.inf, "a finite number")])
def test_a_wrong_value_is_named_with_column_row_and_key(df, name, column, value, expected):
    with pytest.raises(TableError, match=f"table {name}, column {column}: expected {expected}, got .* in row 1 .*qid=.*; mend"):
        check(spoilt(df, column, value), name)


@pytest.mark.parametrize("df, name, column", [(GOLD, "gold", "grade"), (GOLD, "gold", "qid"), (RANKINGS, "rankings", "score"), (RANKINGS, "rankings", "rank")])
@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_a_missing_value_is_refused_where_the_column_must_have_one(df, name, column, nothing):
    with pytest.raises(TableError, match=f"table {name}, column {column}: a value is missing in row 1"):
        check(spoilt(df, column, nothing), name)


def test_a_missing_value_stays_missing_where_it_may():
    out = check(GOLD, "gold")
    assert out["hop"].isna().tolist() == [False, False, True] and out["is_last_hop"].isna().tolist() == [False, False, True]
    assert np.isnan(check(spoilt(RETRIEVAL, "estimate", pd.NA), "retrieval")["estimate"][1])


def test_the_row_that_is_named_is_counted_by_place_not_by_index():
    df = spoilt(GOLD, "grade", "x").set_index(pd.Index([7, 7, 7]))
    with pytest.raises(TableError, match=r"in row 1 \(dataset='inv', qid='q2', doc_id='d2'\)"):
        check(df, "gold")


def test_a_repeated_key_is_named():
    with pytest.raises(TableError, match=r"table gold: the key repeats in row 3 \(dataset='inv', qid='q1', doc_id='d1'\)"):
        check(pd.concat([GOLD, GOLD[:1]]), "gold")


@pytest.mark.parametrize("value", ["Aumes", None, 3, {"Aumes": 1}])
def test_what_is_no_list_is_refused(value):
    with pytest.raises(TableError, match="column answers: (expected a list|a value is missing)"):
        check(QUESTIONS.assign(answers=pd.Series([value], dtype=object)), "questions")


@pytest.mark.parametrize("value", [("Aumes",), np.array(["Aumes"]), ["Aumes"]])
def test_tuples_and_arrays_become_lists(value):
    answers = check(QUESTIONS.assign(answers=pd.Series([value], dtype=object)), "questions")["answers"].iloc[0]
    assert answers == ["Aumes"] and type(answers) is list and type(answers[0]) is str


def test_an_empty_table_keeps_its_types():
    out = check(GOLD[:0], "gold")
    assert out.empty and out.dtypes.astype(str).to_dict() == check(GOLD, "gold").dtypes.astype(str).to_dict()


def test_checking_changes_nothing_in_the_table_it_is_given():
    df = spoilt(DOCUMENTS, "sentences", [(0, 10)], row=0)
    before = df.copy(deep=True)
    check(df, "documents")
    pd.testing.assert_frame_equal(df, before)


# ---- the same rows, the same bytes; what is written is what is read


@pytest.mark.parametrize("df, name", [(GOLD, "gold"), (QUESTIONS, "questions"), (DOCUMENTS, "documents"), (RANKINGS, "rankings"), (SETTINGS, "settings")])
def test_what_is_written_is_what_is_read(root, df, name):
    write(df, name, "t")
    pd.testing.assert_frame_equal(read(name, "t"), check(df, name))


def test_lists_within_lists_come_back_as_lists(root):
    write(DOCUMENTS, "documents", "t")
    assert read("documents", "t")["sentences"].iloc[0] == [[0, 10], [11, 19]]


@pytest.mark.parametrize("df, name", [(GOLD, "gold"), (RETRIEVAL, "retrieval")])
def test_the_same_rows_give_the_same_bytes_in_any_order_index_or_type(root, df, name):
    labelled = df.copy()
    labelled.attrs = {"made": "today"}
    variants = [df, df.iloc[::-1], df[df.columns[::-1]], df.set_index(pd.Index(range(5, 5 + len(df)))), df.astype(object), labelled]
    assert len({write(v, name, f"t{i}").read_bytes() for i, v in enumerate(variants)}) == 1


def test_a_changed_value_changes_the_bytes(root):
    assert write(GOLD, "gold", "a").read_bytes() != write(GOLD.assign(grade=2), "gold", "b").read_bytes()


def test_six_significant_digits():
    df = pd.DataFrame({"x": [1 / 3, 123456.789, 1.23456789e-7, np.nan, 0.0], "n": [10_000_001] * 5, "t": ["0.123456789"] * 5})
    rounded = six_digits(df)
    assert rounded["x"].tolist()[:3] == [0.333333, 123457.0, 1.23457e-7] and np.isnan(rounded["x"][3])
    assert rounded["n"].equals(df["n"]) and rounded["t"].equals(df["t"]), "whole numbers and text stay"


def test_a_csv_does_not_change_with_the_last_bits_of_a_sum(root):
    nearly = RETRIEVAL.assign(estimate=[np.nextafter(1 / 3, 1), None])
    assert write(RETRIEVAL, "retrieval", "a").read_bytes() == write(nearly, "retrieval", "b").read_bytes()
    assert b"0.333333," in write(RETRIEVAL, "retrieval", "a").read_bytes()


@pytest.mark.parametrize("text", ["NA", "None", "nan", "null", "", " 1.0", "a,\"b\"\nc"])
def test_text_in_a_csv_stays_text(root, text):
    write(SETTINGS.assign(settings=text), "settings", "t")
    assert read("settings", "t")["settings"].tolist() == [text]


# ---- damage: one error that names the stage


@pytest.mark.parametrize("name, stage", [("gold", "retrieve"), ("packing", "pack"), ("answers", "read"), ("claims", "diagnose")])
@pytest.mark.parametrize("tier, command", [("sample", "make repro"), ("real", "make real")])
def test_a_missing_file_names_the_stage_and_the_command(root, name, stage, tier, command):
    with pytest.raises(FileNotFoundError, match=f"table {name} of tier '{tier}' is not there .*; stage {stage} writes it: run '{command}'"):
        read(name, tier)


def test_every_table_is_written_by_some_stage():
    assert {n for n, t in TABLES.items() if tables._stage_that_writes(t) == "no stage"} == set()


@pytest.mark.parametrize("df, name", [(GOLD, "gold"), (RETRIEVAL, "retrieval")])
def test_a_file_cut_short_anywhere_is_one_error(root, df, name):
    path = write(df, name, "t")
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:length])
        with pytest.raises(TableError, match=f"table {name}"):
            read(name, "t")


def test_a_cut_file_says_which_and_what_to_do(root):
    path = write(GOLD, "gold", "t")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TableError, match=r"data/derived/t/gold.parquet cannot be read .*cut short. Delete it and run 'make t'; stage retrieve writes it"):
        read("gold", "t")


# ---- a kill or a full disk leaves the old file


@pytest.fixture
def old(tmp_path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("old\n")
    return path


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def half_then(error: Exception):
    def save(name: str) -> None:
        Path(name).write_text("half")
        raise error
    return save


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), MemoryError()])
def test_a_save_that_fails_leaves_the_old_file_and_no_other(old, error):
    with pytest.raises(type(error)):
        write_atomically(old, half_then(error))
    assert old.read_text() == "old\n" and files(old.parent) == ["table.csv"]


def test_a_full_disk_is_said_in_words(old):
    with pytest.raises(OSError, match="could not write .*table.csv: No space left on device; nothing was changed. Free some space") as caught:
        write_atomically(old, half_then(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    assert caught.value.errno == errno.ENOSPC and old.read_text() == "old\n" and files(old.parent) == ["table.csv"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("where", ["save", "mkstemp"])
def test_a_folder_that_may_not_be_written_is_not_called_full(old, monkeypatch, number, where):
    error = OSError(number, os.strerror(number))
    if where == "mkstemp":
        def refused(**options):
            raise error
        monkeypatch.setattr(tables.tempfile, "mkstemp", refused)
    with pytest.raises(OSError, match="could not write .*table.csv: .*nothing was changed. Make the folder writable and run again$"):
        write_atomically(old, half_then(error))
    assert old.read_text() == "old\n" and files(old.parent) == ["table.csv"]


def test_an_error_without_a_number_keeps_its_words(old):
    with pytest.raises(OSError, match="could not write .*: the disk went away;"):
        write_atomically(old, half_then(OSError("the disk went away")))


def in_child(code: str, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_a_file_that_really_outgrows_the_disk_leaves_the_old_one(root):
    path = write(RANKINGS, "rankings", "t")
    before = path.read_bytes()
    done = in_child("""
        import resource, sys
        from pathlib import Path
        import numpy as np, pandas as pd
        from lib import tables
        tables.ROOT = Path(sys.argv[1])
        df = pd.read_parquet(sys.argv[2]).loc[[0] * 5000].assign(rank=range(1, 5001), score=np.random.default_rng(0).normal(size=5000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))     # the system refuses to write past 4 KiB
        try:
            tables.write(df, "rankings", "t")
        except OSError as error:
            print(error)
        """, root, path)
    assert "could not write data/derived/t/rankings.parquet" in done.stdout and "nothing was changed" in done.stdout, done.stderr
    assert path.read_bytes() == before and files(path.parent) == ["rankings.parquet"]


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(old):
    done = in_child("""
        import os, signal, sys
        from pathlib import Path
        from lib.tables import write_atomically
        def save(name):
            Path(name).write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
        write_atomically(Path(sys.argv[1]), save)
        """, old)
    assert done.returncode == -signal.SIGKILL and old.read_text() == "old\n"
    write_atomically(old, lambda p: Path(p).write_text("new\n"))
    assert old.read_text() == "new\n", "the next run is not disturbed by what the killed one left"


def test_a_written_file_can_be_read_by_others(old):
    assert write_atomically(old, lambda p: Path(p).write_text("new\n")).stat().st_mode & 0o777 == 0o644


def test_no_declared_name_is_written_by_two_stages():
    stages = yaml.safe_load((tables.ROOT / "dvc.yaml").read_text())["stages"]
    outs = [o if isinstance(o, str) else next(iter(o)) for s in stages.values() for o in s["do"]["outs"]]
    assert len(outs) == len(set(outs))
