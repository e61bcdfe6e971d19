"""Comparing runs: bytes, then numbers within rounding, then intervals; whatever is gone or new is said."""
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from lib import compare
from lib.compare import beyond_intervals, close, folder_of, main, rebuilt, table_differences
from lib.tables import TABLES

ROW = {"tier": "sample", "dataset": "inv", "scope": "own", "ranker": "bm25", "measure": "recall_at_5", "estimate": 0.5, "ci_low": 0.4, "ci_high": 0.6, "n": 100,
       "clusters": 100, "undefined": 0}


def table(folder: Path, *rows: dict, name: str = "retrieval") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    pd.DataFrame([{**ROW, **r} for r in rows]).to_csv(path, index=False)
    return path


# ---- texts and numbers


@pytest.mark.parametrize("a, b", [("0.5", "0.5"), ("0.500", "0.501"), ("0.01", "0.029"), ("1000", "1019"), ("p = 0.03, n 210", "p = 0.04, n 210"), ("-0.0", "0.0"),
                                  ("1e-9", "3e-9"), ("", "")])
def test_texts_that_differ_by_rounding_are_close(a, b):
    assert close(a, b) and close(b, a)


@pytest.mark.parametrize("a, b", [("0.50", "0.53"), ("1000", "1021"), ("submod wins by 0.5", "naive wins by 0.5"), ("0.5", "nan"), ("1 2", "1"), ("0.02", "-0.02"),
                                  ("0.5 wins", "0.5")])
def test_texts_that_differ_by_more_are_not(a, b):
    assert not close(a, b) and not close(b, a)


def test_equal_tables_have_no_differences(tmp_path):
    assert table_differences(table(tmp_path / "a", {}), table(tmp_path / "b", {})) == []


def test_a_value_within_rounding_is_no_difference_and_one_beyond_is_named(tmp_path):
    old = table(tmp_path / "a", {})
    assert table_differences(old, table(tmp_path / "b", {"estimate": 0.51})) == []
    (said,) = table_differences(old, table(tmp_path / "c", {"estimate": 0.56}))
    assert said == "retrieval: estimate of ('sample', 'inv', 'own', 'bm25', 'recall_at_5') was 0.5, is 0.56"


def test_the_order_of_rows_is_no_difference(tmp_path):
    rows = [{"measure": "mrr"}, {"measure": "recall_at_1", "estimate": 0.1}]
    assert table_differences(table(tmp_path / "a", *rows), table(tmp_path / "b", *reversed(rows))) == []


def test_a_key_that_is_gone_and_one_that_is_new_are_said(tmp_path):
    said = table_differences(table(tmp_path / "a", {}, {"measure": "mrr"}), table(tmp_path / "b", {}, {"measure": "ndcg_at_5"}))
    assert len(said) == 2 and any("'mrr') only before" in s for s in said) and any("'ndcg_at_5') only after" in s for s in said)


def test_a_column_that_is_gone_is_said(tmp_path):
    new = table(tmp_path / "b", {})
    pd.read_csv(new).drop(columns="undefined").to_csv(new, index=False)
    assert table_differences(table(tmp_path / "a", {}), new) == ["retrieval: column undefined only before"]


def test_a_missing_value_equals_a_missing_value_only(tmp_path):
    gone = table(tmp_path / "a", {"estimate": None})
    assert table_differences(gone, table(tmp_path / "b", {"estimate": None})) == []
    assert len(table_differences(gone, table(tmp_path / "c", {}))) == 1


def test_a_file_without_its_key_columns_is_said(tmp_path):
    path = table(tmp_path / "a", {})
    pd.read_csv(path).drop(columns="ranker").to_csv(path, index=False)
    with pytest.raises(SystemExit, match=r"key columns \['ranker'\] are missing"):
        table_differences(path, path)


# ---- two runs and their intervals


def test_intervals_that_overlap_or_touch_say_nothing(tmp_path):
    table(tmp_path / "a", {})
    table(tmp_path / "b", {"estimate": 0.7, "ci_low": 0.6, "ci_high": 0.8})
    assert beyond_intervals(tmp_path / "a", tmp_path / "b") == []


@pytest.mark.parametrize("low, high", [(0.61, 0.8), (0.1, 0.39)])
def test_intervals_apart_are_named_with_both(tmp_path, low, high):
    table(tmp_path / "a", {}, {"measure": "mrr"})
    table(tmp_path / "b", {"ci_low": low, "ci_high": high}, {"measure": "mrr"})
    (said,) = beyond_intervals(tmp_path / "a", tmp_path / "b")
    assert "recall_at_5" in said and f"[0.4, 0.6] and [{low:.3g}, {high:.3g}]" in said


def test_files_are_matched_by_name_wherever_they_lie(tmp_path, capsys):
    table(tmp_path / "a", {})
    table(tmp_path / "b" / "data" / "results" / "sample", {"ci_low": 0.7, "ci_high": 0.9})
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "differ beyond their intervals in 1 of 1 results" in capsys.readouterr().out


def test_other_tiers_rows_are_other_results(tmp_path):
    table(tmp_path / "a", {})
    table(tmp_path / "b", {"tier": "real", "ci_low": 0.7, "ci_high": 0.9})
    assert beyond_intervals(tmp_path / "a", tmp_path / "b") == []


def test_runs_with_nothing_in_common_are_not_called_equal(tmp_path):
    table(tmp_path / "a", {})
    (tmp_path / "b").mkdir()
    with pytest.raises(SystemExit, match="no result in common: nothing was compared"):
        main([str(tmp_path / "a"), str(tmp_path / "b")])


def test_missing_intervals_and_tables_without_intervals_say_nothing(tmp_path):
    for name, value in (("a", 1), ("b", 2)):
        table(tmp_path / name, {"ci_low": None, "ci_high": None, "estimate": value})
        pd.DataFrame({"id": ["x"], "kind": ["pool"], "settings": [str(value)]}).to_csv(tmp_path / name / "settings.csv", index=False)
    assert beyond_intervals(tmp_path / "a", tmp_path / "b") == []


def test_bad_arguments_show_the_usage(capsys):
    assert main(["only one"]) == 2 and "usage" in capsys.readouterr().out


# ---- a rebuild against a revision


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository with one of each kind of built file, committed; compare works in it."""
    built = {"data/results/sample": None, "figures/sample": ("a.svg", "<svg>0.50</svg>"), "notebooks/executed": ("01_a.ipynb", '{"cells": []}')}
    table(tmp_path / "data/results/sample", {})
    for folder, file in built.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        if file:
            (tmp_path / folder / file[0]).write_text(file[1])
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@invalid", "-c", "commit.gpgsign=false", "commit", "-qm", "built"]):
        subprocess.run(["git", "-c", "core.hooksPath=/dev/null", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    return tmp_path


def test_an_unchanged_rebuild_leaves_no_difference(repository, capsys):
    assert main(["--rebuilt"]) == 0 and "3 files, 0 differ in bytes, 0 beyond rounding" in capsys.readouterr().out


def test_a_rebuild_within_rounding_passes_and_is_counted(repository, capsys):
    table(repository / "data/results/sample", {"estimate": 0.505})
    (repository / "figures/sample/a.svg").write_text("<svg>0.505</svg>")
    assert main(["--rebuilt", "HEAD"]) == 0 and "2 differ in bytes, 0 beyond rounding" in capsys.readouterr().out


def test_a_rebuild_beyond_rounding_fails_and_says_where(repository, capsys):
    table(repository / "data/results/sample", {"estimate": 0.6})
    (repository / "figures/sample/a.svg").write_text("<svg>other words</svg>")
    assert main(["--rebuilt"]) == 1
    said = capsys.readouterr().out
    assert "was 0.5, is 0.6" in said and "figures/sample/a.svg says something else than in HEAD" in said


def test_files_gone_and_files_new_are_said(repository):
    (repository / "figures/sample/a.svg").unlink()
    (repository / "figures/sample/b.svg").write_text("<svg/>")
    assert rebuilt("HEAD") == ["figures/sample/a.svg is only in HEAD", "figures/sample/b.svg is only in the rebuild"]


def test_leftovers_of_a_killed_run_and_ignored_files_are_no_difference(repository):
    (repository / "data/results/sample/.retrieval.csv.x1.csv").write_text("ha")
    (repository / "notebooks/executed/02_b.partial.ipynb").write_text("{")
    (repository / "figures/sample/a.png").write_bytes(b"\x89PNG")
    assert rebuilt("HEAD") == []


def test_a_csv_that_is_no_declared_table_is_compared_as_text(repository):
    for text, expected in (("a\n1\n", 0), ("a\nother\n", 1)):
        path = repository / "data/results/sample/mine.csv"
        if not path.exists():
            path.write_text("a\n1\n")
            subprocess.run(["git", "add", "."], cwd=repository, check=True)
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@invalid", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "mine"], cwd=repository, check=True)
        path.write_text(text)
        assert len(rebuilt("HEAD")) == expected


def test_what_is_neither_folder_nor_revision_is_said(repository):
    with pytest.raises(SystemExit, match="'no-such-rev' is neither a folder nor a git revision"):
        folder_of("no-such-rev")


def test_every_csv_table_with_an_estimate_has_an_interval():
    assert {n for n, t in TABLES.items() if t.format == "csv" and "ci_low" in t.columns and "ci_high" not in t.columns} == set()
