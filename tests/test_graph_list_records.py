"""Recorded measures of the graph list: what is written is what is read, and a file that cannot be is named."""
import gzip
import io

import pandas as pd
import pytest

from lib import graph_list_records, graph_list_table, tables
from lib.graph_list_records import END, MEND, of_files, write
from tests import gating_world
from tests.test_graph_list import Words


def rows(dataset: str = "d", n: int = 12) -> pd.DataFrame:
    found = pd.DataFrame({"dataset": dataset, "qid": [f"q{i}" for i in range(n)] * 2, "ranker": ["graph"] * n + ["dense"] * n, "half": [0, 1] * n, "n_hops": 2,
                          **{m: [float(i % 3 > 0) for i in range(n)] + [float(i % 3 > 1) for i in range(n)] for m in graph_list_table.MEASURES}})
    return graph_list_table.compared(found, "", resamples=50)[graph_list_records.COLUMNS]


def test_what_is_written_comes_back_with_the_tier_that_reads_it(tmp_path):
    path = write(rows(), "d", tmp_path)
    back = of_files(f"*{END}", "sample", tmp_path)
    assert path.name == f"d{END}" and path.read_bytes() == write(rows(), "d", tmp_path).read_bytes()
    tables.check(back, "graph_lists")
    pd.testing.assert_frame_equal(back[graph_list_records.COLUMNS], rows(), check_dtype=False, atol=1e-5)
    assert set(back["tier"]) == {"sample"} and set(back["half"]) == {"all", "0", "1"} and set(back["minus"]) == {"none", "dense"}


def test_several_files_are_read_by_name_and_none_is_no_error(tmp_path):
    for name in ("b", "a"):
        write(rows(name), name, tmp_path)
    assert of_files(f"*{END}", "real", tmp_path)["dataset"].unique().tolist() == ["a", "b"]
    assert of_files("", "real", tmp_path).empty and of_files("other*", "real", tmp_path).empty


@pytest.mark.parametrize("pattern", [None, 3, "/etc/*", "../*.gz", ".", "***", "a" * 256, "a\0"])
def test_a_pattern_that_is_none(pattern, tmp_path):
    with pytest.raises(ValueError, match="pattern of file names below the repository"):
        of_files(pattern, "sample", tmp_path)


@pytest.mark.parametrize("spoil, said", [(lambda b: b[:-20], "cut short"), (lambda b: b"no gzip", "cut short"),
                                         (lambda b: gzip.compress(gzip.decompress(b).replace(b"n_hops", b"hops", 1)), "expected"),
                                         (lambda b: gzip.compress(gzip.decompress(b) + gzip.decompress(b).splitlines()[1] + b"\n"), "stands twice"),
                                         (lambda b: gzip.compress(gzip.decompress(b).replace(b",none,", b",,", 1)), "row 1: .*lacks its key")])
def test_a_file_that_cannot_be_is_named(tmp_path, spoil, said):
    path = write(rows(), "d", tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=said) as error:
        of_files(f"*{END}", "sample", tmp_path)
    assert path.name in str(error.value) and MEND in str(error.value)


def changed(column, value):
    """The bytes of a file whose last row holds another ``value``."""
    def spoil(content):
        table = pd.read_csv(io.BytesIO(gzip.decompress(content)), dtype=str, keep_default_na=False)
        table.loc[table.index[-1], column] = value
        return gzip.compress(table.to_csv(index=False).encode())

    return spoil


@pytest.mark.parametrize("column, value", [("wins", "1.5"), ("wins", "x"), ("losses", "-3"), ("n", "-1"), ("n", "1.5"), ("n", ""), ("n_hops", "1.5"),
                                           ("n_hops", "-2"),
                                           ("undefined", ""), ("undefined", "x"), ("estimate", "inf"), ("estimate", "x"), ("p_value", "7"), ("ci_low", "9"),
                                           ("half", "9"), ("measure", "recall_at_6"), ("wins", "1e300"), ("ranker", "")])
def test_a_row_that_cannot_be_is_named(tmp_path, column, value):
    path = write(rows(), "d", tmp_path)
    path.write_bytes(changed(column, value)(path.read_bytes()))
    with pytest.raises(ValueError, match=f"row {len(rows())}: .* cannot be: .*{MEND}"):
        of_files(f"*{END}", "sample", tmp_path)


def test_counts_come_back_as_whole_numbers_where_some_are_missing(tmp_path):
    write(rows(), "d", tmp_path)
    back = of_files(f"*{END}", "sample", tmp_path)
    level, paired = back["minus"] == "none", back["minus"] == "dense"
    assert back.loc[level, "wins"].isna().all() and back.loc[paired, "wins"].notna().all() and pd.api.types.is_integer_dtype(back["n"])
    write(rows("other").query("minus == 'none'"), "other", tmp_path)  # no difference at all
    tables.check(of_files(f"*{END}", "sample", tmp_path), "graph_lists")


def test_a_data_set_that_two_files_hold(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(rows(), "d", tmp_path / folder)
    with pytest.raises(ValueError, match="d-lists.csv.gz in b holds the data set 'd', and so does d-lists.csv.gz in a; keep one"):
        of_files(f"*/*{END}", "sample", tmp_path)
    assert len(of_files(f"a/*{END}", "sample", tmp_path)) == len(rows())


def test_a_file_without_rows(tmp_path):
    write(rows().iloc[:0], "d", tmp_path)
    with pytest.raises(ValueError, match=f"holds no row; {MEND}"):
        of_files(f"*{END}", "sample", tmp_path)


def test_without_gold_there_is_nothing_to_measure(monkeypatch):
    given = gating_world.tables(4)
    monkeypatch.setattr(graph_list_records.retrieval, "encoder", lambda name: Words())
    monkeypatch.setattr(graph_list_records.graph_list, "rank_sets", lambda questions, *a: gating_world.rankings(given, ["graph"], depth=5))
    with pytest.raises(ValueError, match="none of 4 questions has gold passages"):
        graph_list_records.measured(given | {"gold": given["gold"].iloc[:0]}, None, 20)
    assert set(graph_list_records.measured(given, None, 20)["ranker"]) == {"graph", "dense", "bm25", "hybrid"}


def test_a_folder_that_cannot_be_is_refused_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(graph_list_records, "measured", lambda *a: pytest.fail("the folder comes first"))
    (tmp_path / "file").write_text("x")
    (tmp_path / f"world{END}").mkdir()
    for out, said in ((tmp_path / "file", "is a file, not a folder"), (tmp_path, "is a folder there"), ("", "is no folder")):
        assert graph_list_records.main(["--world", "3", "--out", str(out)]) == 1
        assert said in (error := capsys.readouterr().err) and error.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--world", "0"], ["--world", "-1"], ["--world", "3", "--dataset", "a/b"], ["--corpus", "x.jsonl"],
                                       ["--world", "3", "--corpus", "x.jsonl"], ["--world", "3", "--documents", "0"]])
def test_arguments_that_cannot_be_end_in_one_line(arguments, tmp_path, capsys):
    assert graph_list_records.main([*arguments, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1 and not list(tmp_path.iterdir())
