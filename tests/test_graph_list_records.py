"""Recorded measures of the graph list: what is written is what is read, and a file that cannot be is named."""
import gzip

import pandas as pd
import pytest

from lib import graph_list_records, graph_list_table, tables
from lib.graph_list_records import END, MEND, of_files, write


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


@pytest.mark.parametrize("pattern", [None, 3, "/etc/*", "../*.gz"])
def test_a_pattern_that_is_none(pattern, tmp_path):
    with pytest.raises(ValueError, match="pattern of file names below the repository"):
        of_files(pattern, "sample", tmp_path)


@pytest.mark.parametrize("spoil, said", [(lambda b: b[:-20], "cut short"), (lambda b: b"no gzip", "cut short"),
                                         (lambda b: gzip.compress(gzip.decompress(b).replace(b"n_hops", b"hops", 1)), "expected"),
                                         (lambda b: gzip.compress(gzip.decompress(b) + gzip.decompress(b).splitlines()[1] + b"\n"), "stands twice"),
                                         (lambda b: gzip.compress(gzip.decompress(b).replace(b",none,", b",,", 1)), "lacks its key")])
def test_a_file_that_cannot_be_is_named(tmp_path, spoil, said):
    path = write(rows(), "d", tmp_path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=said) as error:
        of_files(f"*{END}", "sample", tmp_path)
    assert path.name in str(error.value) and MEND in str(error.value)


@pytest.mark.parametrize("arguments", [["--world", "0"], ["--world", "-1"], ["--world", "3", "--dataset", "a/b"], ["--corpus", "x.jsonl"],
                                       ["--world", "3", "--corpus", "x.jsonl"], ["--world", "3", "--documents", "0"]])
def test_arguments_that_cannot_be_end_in_one_line(arguments, tmp_path, capsys):
    assert graph_list_records.main([*arguments, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1 and not list(tmp_path.iterdir())
