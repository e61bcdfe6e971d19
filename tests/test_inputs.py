"""The data sets of a tier: paths from the root, absent ones skipped with a reason, tables joined."""
import json

import pytest
from invented import musique, write

from lib import inputs
from lib.inputs import check_whole, load_all, missing_files, resolved, told
from lib.tables import ROOT, check


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def own(root):
    """One's own folder with one question over two documents; gives its source."""
    folder = root / "mine"
    folder.mkdir()
    write(folder / "documents.jsonl", {"doc_id": "d1", "title": "Marl", "text": "The Marl ends in Aumes."}, {"doc_id": "d2", "title": "Eel", "text": "Eels."})
    write(folder / "questions.jsonl", {"qid": "q1", "question": "Where ends the Marl?", "answers": ["Aumes"], "gold": ["d1"], "pool": ["d1", "d2"]})
    return {"path": "mine"}


def test_relative_paths_start_at_the_root_wherever_the_notebook_runs(root, monkeypatch):
    monkeypatch.chdir("/")
    given = {"path": ["a.jsonl", "b.jsonl"], "aliases": "c.jsonl", "slice": "dev", "hub": "owner/set", "rankings": None}
    assert resolved(given) == {"path": [f"{root}/a.jsonl", f"{root}/b.jsonl"], "aliases": f"{root}/c.jsonl", "slice": "dev", "hub": "owner/set", "rankings": None}


def test_absolute_paths_stay(root, tmp_path):
    assert resolved({"path": "/elsewhere/x.jsonl"}) == {"path": "/elsewhere/x.jsonl"}


def test_missing_files_are_named_relative_to_the_root(root):
    (root / "here.jsonl").touch()
    assert missing_files({"path": ["here.jsonl", "gone.jsonl"]}) == ["gone.jsonl"]
    assert missing_files({"path": "here.jsonl"}) == [] and missing_files({"hub": "owner/set"}) == []


def test_files_named_by_kind_are_looked_for_too(root):
    assert missing_files({"questions": "q.jsonl", "documents": ["d.jsonl"], "slice": "dev"}) == ["q.jsonl", "d.jsonl"]
    assert missing_files({"path": root / "gone"}) == [str(root / "gone")], "a path object is a path"


def test_an_absent_set_is_skipped_with_its_reason_and_the_rest_is_loaded(root, own):
    tables, skipped, reports = load_all({"own_mine": own, "musique": {"path": "data/raw/musique/dev.jsonl.gz"}})
    assert skipped == {"musique": "not there: data/raw/musique/dev.jsonl.gz (see data/raw/README.md)"}
    assert set(reports) == {"own_mine"} and reports["own_mine"]["questions"] == 1 and set(tables) == {"questions", "gold", "documents", "pools"}


def test_no_set_at_all_is_an_error_that_names_each(root):
    with pytest.raises(FileNotFoundError, match="no data set of this tier is at hand: a: not there: x .*; b: not there: y "):
        load_all({"a": {"path": "x"}, "b": {"path": "y"}})


def test_sets_are_joined_and_stay_apart_by_name(root, own):
    write(root / "dev.jsonl.gz", musique())
    tables, _, _ = load_all({"own_mine": own, "musique": {"path": "dev.jsonl.gz"}})
    assert tables["questions"].groupby("dataset").size().to_dict() == {"own_mine": 1, "musique": 1}
    for name, table in tables.items():
        assert len(check(table, name)) == len(table)


def test_rankings_that_somebody_brought_are_kept(root, own):
    write(root / "mine" / "rankings.jsonl", {"qid": "q1", "ranker": "ours", "doc_id": "d2", "rank": 1}, {"qid": "q1", "ranker": "ours", "doc_id": "d1", "rank": 2})
    tables, _, _ = load_all({"own_mine": own})
    assert check(tables["rankings"], "rankings")[["ranker", "doc_id"]].values.tolist() == [["ours", "d2"], ["ours", "d1"]]


def test_the_sample_tiers_source_is_the_committed_corpus():
    import yaml

    sources = yaml.safe_load((ROOT / "params.yaml").read_text())["sample"]["retrieve"]["sources"]
    assert all(missing_files(source) == [] for source in sources.values())
    tables, skipped, _ = load_all(sources)
    lines = (ROOT / "data" / "sample" / "corpus" / "questions.jsonl").read_text().splitlines()
    assert not skipped and tables["questions"]["qid"].tolist() == sorted(json.loads(line)["qid"] for line in lines)


def test_a_set_without_a_scoring_rule_fails_at_loading_and_is_told_its_name(root, own):
    with pytest.raises(ValueError, match="data set 'mine' has no scoring rule; .* as in 'own_mine'"):
        load_all({"mine": own})


@pytest.mark.parametrize("sources", [None, [], {}, "data/raw/own", {"own_x": "data/raw/own"}, {"own_x": {"path": 3}}, {"own_x": {"path": ["a", None]}}])
def test_sources_of_another_type_are_an_error_that_says_where_to_mend(sources):
    with pytest.raises(ValueError, match="sources in params.yaml|mend it in params.yaml"):
        load_all(sources)


@pytest.mark.parametrize("value", [0, -3, 2.5, "50", True, None])
def test_depth_and_dimensions_are_whole_numbers_of_1_or_more(value):
    check_whole(depth=1)
    with pytest.raises(ValueError, match="depth must be a whole number of 1 or more, got"):
        check_whole(dimensions=320, depth=value)


def test_a_report_is_told_without_sizes_and_zeros():
    assert told({"questions": 4, "gold": 0, "questions_without_gold": 4, "merged_questions": 0}) == "questions without gold 4"
    assert told({"questions": 4}) == "nothing out of the ordinary"
