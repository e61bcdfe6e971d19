"""Ways in (files, merges, hub), errors of files, seeds, halves, and the real files where they lie."""
import gzip
import hashlib
import json
import types

import pandas as pd
import pytest
from invented import hotpot, ircot, musique, twowiki, write

from lib import tables as declared
from lib.datasets import SEEDS, load, sample_questions
from lib.records import DataError

SHARED = declared.ROOT.parent / "shared" / "datasets"


# Files ------------------------------------------------------------------------------------------------------------------------------------

def test_plain_gzip_array_and_parquet_files_agree(tmp_path):
    records = [musique(), musique(id="2hop__9_9")]
    (tmp_path / "a.json").write_text(json.dumps(records))
    pd.DataFrame(records).to_parquet(tmp_path / "a.parquet")
    first = load("musique", {"path": write(tmp_path / "a.jsonl", *records)})
    for path in (write(tmp_path / "a.jsonl.gz", *records), tmp_path / "a.json", tmp_path / "a.parquet"):
        other = load("musique", {"path": str(path)})
        assert all(first[name].equals(other[name]) for name in ("questions", "gold", "documents", "pools")), path.name


def test_a_gzip_file_cut_short_is_one_clear_error(tmp_path):
    whole = gzip.compress(json.dumps(musique()).encode())
    for cut in (len(whole) // 2, len(whole) - 3):
        (tmp_path / "cut.jsonl.gz").write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"cut.jsonl.gz: the gzip stream is cut short or damaged"):
            load("musique", {"path": tmp_path / "cut.jsonl.gz"})


@pytest.mark.parametrize(("content", "problem"), [
    (b"", "line 1: the file holds no record"), (b"\n\n", "line 1: the file holds no record"), (b'{"id": \n', "line 1: no valid JSON"),
    (b'{"id": 1, "id": 2}\n', "line 1: the key 'id' stands twice"),
    (b'{"id": ' + b"9" * 5000 + b"}\n", "line 1: no valid JSON"),
    (b'\n[1]\n', "line 1: expected a JSON object, got int"), (b'{}\n"text"\n', "line 2: expected a JSON object, got str"),
    (b'{"a": 1}\n{"a": "\xff"}\n', "line 2: broken Unicode, byte 0xff is not UTF-8")])
def test_a_damaged_file_names_its_line(tmp_path, content, problem):
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=f"bad.jsonl, {problem}"):
        load("musique", {"path": tmp_path / "bad.jsonl"})


def test_a_missing_file_a_folder_and_a_damaged_parquet_are_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 cut")
    for path, problem in ((tmp_path / "none.jsonl", "is not there"), (tmp_path, "is a folder"), (tmp_path / "x.parquet", "no readable Parquet")):
        with pytest.raises(DataError, match=problem):
            load("musique", {"path": path})


def test_a_lone_surrogate_is_broken_unicode(tmp_path):
    path = write(tmp_path / "s.jsonl", json.dumps(musique(question="who \ud800?")))
    with pytest.raises(DataError, match="line 1, field question: broken Unicode, a lone surrogate at character 4"):
        load("musique", {"path": path})


def test_a_line_separator_inside_a_string_does_not_end_the_line(tmp_path):
    path = write(tmp_path / "u.jsonl", musique(question="Where\u2028to?"), musique(id="b"))
    assert load("musique", {"path": path})["questions"].question.tolist() == ["Where to?", musique()["question"]]


# Answers ----------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("answer", "cast"), [(1912, ["1912"]), (["Aumes", 7, None], ["Aumes", "7"]), (None, [""]), (True, ["yes"]), (" the\nSea ", ["the Sea"])])
def test_answers_are_cast_once(tmp_path, answer, cast):
    tables = load("hotpotqa", {"path": write(tmp_path / "h.jsonl", hotpot(answer=answer))})
    assert tables["questions"].answers[0] == cast
    assert tables["report"]["questions_without_answer"] == (answer is None)


@pytest.mark.parametrize("answer", ["", " ", [], [None], ["Aumes", ""], float("nan"), {"text": "Aumes"}])
def test_an_empty_answer_or_one_of_no_kind_is_an_error(tmp_path, answer):
    with pytest.raises(DataError, match="h.jsonl, line 1, field answer"):
        load("hotpotqa", {"path": write(tmp_path / "h.jsonl", hotpot(answer=answer))})


# Merges -----------------------------------------------------------------------------------------------------------------------------------

def test_files_of_one_release_merge_by_question_id(tmp_path):
    both = [write(tmp_path / "ircot.jsonl", ircot(question_id="h2"), ircot()), write(tmp_path / "full.jsonl", hotpot(), hotpot(_id="h3"))]
    for paths in (both, both[::-1]):
        tables = load("hotpotqa", {"path": paths})
        assert tables["questions"].qid.tolist() == ["h1", "h2", "h3"]
        assert tables["report"]["merged_questions"] == 1 and tables["report"]["type_inferred"] == 1  # h1 keeps its stated type
        assert len(tables["documents"]) == 10 and set(tables["documents"].split_by) == {"release"}


def test_records_that_differ_are_counted_or_refused(tmp_path):
    first = write(tmp_path / "a.jsonl", hotpot())
    tables = load("hotpotqa", {"path": [first, write(tmp_path / "b.jsonl", hotpot(answer="Aumes", context=hotpot()["context"][1:]))]})
    report = tables["report"]
    assert (report["merged_with_other_answers"], report["merged_with_other_paragraphs"]) == (1, 1)
    assert tables["questions"].answers[0] == ["the Sea of Aumes"] and len(tables["pools"]) == 10
    with pytest.raises(DataError, match="c.jsonl, line 1, field question: the id 'h1' asks something else in .*a.jsonl, line 1"):
        load("hotpotqa", {"path": [first, write(tmp_path / "c.jsonl", hotpot(question="What else?"))]})


def test_an_id_that_repeats_within_a_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="a.jsonl, line 3, field id: the question id 'h1' stands already in line 1"):
        load("hotpotqa", {"path": write(tmp_path / "a.jsonl", hotpot(), hotpot(_id="h2"), hotpot())})


def test_order_of_records_and_files_changes_no_table(tmp_path):
    records = [twowiki(_id=f"w{i}") for i in range(6)]
    straight = load("2wiki", {"path": write(tmp_path / "a.jsonl", *records)})
    halves = [write(tmp_path / "b.jsonl", *records[:2:-1]), write(tmp_path / "c.jsonl", *records[2::-1])]
    other = load("2wiki", {"path": halves})
    assert all(straight[name].equals(other[name]) for name in ("questions", "gold", "documents", "pools"))


@pytest.mark.parametrize("source", [{}, {"path": "a", "hub": "b"}, {"file": "a"}])
def test_a_source_names_one_way_in(source):
    with pytest.raises(DataError, match="pass exactly one of"):
        load("musique", source)


def test_a_misspelt_release_and_a_stray_alias_file_are_refused(tmp_path):
    path = write(tmp_path / "m.jsonl", musique())
    with pytest.raises(DataError, match="'musiqe' is no release known here; the releases are hotpotqa"):
        load("musiqe", {"path": path})
    with pytest.raises(DataError, match="only 2wiki has an alias file"):
        load("musique", {"path": path, "aliases": path})


# Hub --------------------------------------------------------------------------------------------------------------------------------------

class Split(list):
    """What `datasets.load_dataset` gives, as far as it is used."""

    def __init__(self, rows, builder="parquet", sha="0" * 40):
        super().__init__(rows)
        self.info = types.SimpleNamespace(builder_name=builder, download_checksums={f"hf://datasets/some/set@{sha}/a.parquet": {}})


def fake_hub(monkeypatch, answer):
    import datasets
    calls = []

    def load_dataset(*args, **kwargs):
        calls.append((args, kwargs))
        if isinstance(answer, Exception):
            raise answer
        return answer
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_the_hub_gives_the_files_tables(monkeypatch, tmp_path):
    calls = fake_hub(monkeypatch, Split([musique()]))
    tables = load("musique", {"hub": "some/set", "config": "default", "split": "validation", "revision": "abc123", "slice": "musique"})
    assert calls == [(("some/set", "default"), {"split": "validation", "revision": "abc123"})]
    local = load("musique", {"path": write(tmp_path / "m.jsonl", musique()), "slice": "musique"})
    assert all(tables[name].equals(local[name]) for name in ("questions", "gold", "documents", "pools"))
    assert tables["report"]["hub_revision"] == "abc123"


def test_an_unpinned_revision_is_passed_as_none_and_what_it_resolved_to_is_logged(monkeypatch, caplog):
    calls = fake_hub(monkeypatch, Split([musique()], sha="f" * 40))
    tables = load("musique", {"hub": "some/set", "split": "validation"})
    assert calls[0][1]["revision"] is None and tables["report"]["hub_revision"] == "f" * 40 and "f" * 40 in caplog.text
    assert set(tables["questions"].slice) == {"musique validation"}


@pytest.mark.parametrize("error", [ConnectionError("Couldn't reach 'some/set' on the Hub"), FileNotFoundError("doesn't exist"),
                                   RuntimeError("Dataset scripts are no longer supported"), ValueError("Unknown split")])
def test_an_unreachable_hub_says_how_to_pass_a_local_file(monkeypatch, error):
    fake_hub(monkeypatch, error)
    with pytest.raises(DataError, match=r"hub data set some/set .*could not be read.*pass it as \{\"path\": ") as caught:
        load("musique", {"hub": "some/set", "split": "test"})
    assert str(error) in str(caught.value) and caught.value.__cause__ is error


def test_other_formats_than_parquet_and_a_missing_split_are_refused(monkeypatch):
    fake_hub(monkeypatch, Split([musique()], builder="json"))
    with pytest.raises(DataError, match="its files are json, not Parquet"):
        load("musique", {"hub": "some/set", "split": "test"})
    with pytest.raises(DataError, match="field split: is missing"):
        load("musique", {"hub": "some/set"})


# Seeds and halves -------------------------------------------------------------------------------------------------------------------------

def many(n: int, slice_name: str = "dev", dataset: str = "d") -> pd.DataFrame:
    return pd.DataFrame({"dataset": dataset, "qid": [f"q{i}" for i in range(n)], "slice": slice_name})


def test_each_seed_draws_500_of_a_slice_of_1000():
    drawn = sample_questions(many(1_000))
    assert {seed: sum(seed in s for s in drawn.seeds) for seed in SEEDS} == dict.fromkeys(SEEDS, 500)
    assert {len(s) for s in drawn.seeds} == {0, 1, 2, 3}  # the three draws differ and overlap


def test_a_slice_of_999_is_used_once_whatever_else_is_there():
    frame = pd.concat([many(999, "small"), many(1_200, "large", "e")], ignore_index=True)
    drawn = sample_questions(frame)
    assert all(s == [] for s in drawn.seeds[frame.slice == "small"]) and sum(map(len, drawn.seeds)) == 1_500


def test_the_draw_ignores_the_order_of_rows_and_leaves_its_input_alone():
    frame = many(1_100)
    there, back = sample_questions(frame), sample_questions(frame[::-1])
    assert dict(zip(there.qid, there.seeds)) == dict(zip(back.qid, back.seeds)) and "seeds" not in frame
    assert sample_questions(frame, n=10, seeds=[1]).seeds.map(len).sum() == 10


def test_more_than_the_slice_holds_cannot_be_drawn():
    with pytest.raises(ValueError, match="holds 1000 questions, 1001 were to be drawn"):
        sample_questions(many(1_000), n=1_001)


def test_half_is_the_stated_hash(tmp_path):
    tables = load("hotpotqa", {"path": write(tmp_path / "h.jsonl", *(hotpot(_id=f"h{i}") for i in range(40)))})
    stated = [int(hashlib.sha256(f"half:{q}".encode()).hexdigest(), 16) % 2 for q in tables["questions"].qid]
    assert tables["questions"].half.tolist() == stated and set(stated) == {0, 1}


# Real files -------------------------------------------------------------------------------------------------------------------------------

def real(dataset: str, *names: str) -> dict:
    paths = [SHARED / f"{name}.jsonl.gz" for name in names]
    if missing := [p.name for p in paths if not p.exists()]:
        pytest.skip(f"the collected copies are not beside the repository: {', '.join(missing)}")
    return load(dataset, {"path": paths})


@pytest.mark.parametrize(("dataset", "names", "questions", "documents", "last_hops"), [
    ("hotpotqa", ["hotpotqa_distractor_dev", "hotpotqa_distractor_dev_ircot500"], 758, 7343, 315),
    ("hotpotqa_fullwiki", ["hotpotqa_fullwiki_dev"], 499, 4915, 68),
    ("2wiki", ["2wikimultihopqa_dev"], 335, 2285, 218),
    ("musique", ["musique_ans_dev"], 173, 2883, 173),
])
def test_real_files_load_whole(dataset, names, questions, documents, last_hops):
    tables = real(dataset, *names)
    assert (len(tables["questions"]), len(tables["documents"]), int(tables["gold"].is_last_hop.sum())) == (questions, documents, last_hops)
    assert not tables["documents"].text.str.contains("\n").any() and set(tables["pools"].doc_id) <= set(tables["documents"].doc_id)
    for text, spans in zip(tables["documents"].text, tables["documents"].sentences):
        assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")
    if dataset != "hotpotqa_fullwiki":  # retrieved contexts miss gold, the others hold all of it
        assert set(tables["gold"].doc_id) <= set(tables["documents"].doc_id)


def test_the_shared_questions_of_the_two_hotpotqa_files_are_merged():
    report = real("hotpotqa", "hotpotqa_distractor_dev", "hotpotqa_distractor_dev_ircot500")["report"]
    assert (report["records"], report["merged_questions"], report["merged_with_other_paragraphs"], report["merged_with_other_answers"]) == (855, 97, 0, 0)
