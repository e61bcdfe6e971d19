"""Files and options that cannot be meant: one clear error before anything is written, or a count; two spellings of one id are one."""

import json

import pandas as pd
import pytest

from lib.records import DataError
from lib.viability_assembly import assemble, named
from lib.viability_cli import main
from lib.viability_inputs import read_judgements, read_run, read_slices, read_texts
from lib.viability_requirement import evidence, parse_all
from lib.viability_run import audit_report, check_folder, write_report
from lib.viability_unit_table import relations, unit_rows
from tests.test_viability_inputs import put  # noqa: F401 - a fixture

RUN = "q1 Q0 a 1 2 bm25\nq1 Q0 b 2 1 bm25\nq2 Q0 a 1 1 bm25\n"
NFC, NFD = "caf\u00e9", "cafe\u0301"
QID, DOC = ("qid",), ("doc_id",)


def test_one_id_in_two_spellings_of_unicode_is_one_across_files_and_an_error_within_one(put):  # noqa: F811
    run = read_run(put("run.trec", f"q1 Q0 {NFC} 1 2 x\n"))
    assert run["doc_id"].tolist() == read_judgements(put("q.txt", f"q1 0 {NFD} 1\n"))["doc_id"].tolist() == [NFC]
    with pytest.raises(DataError, match="lines 1, 2: different ids become 'caf\u00e9'.*Unicode"):
        read_run(put("both.trec", f"q1 Q0 {NFC} 1 2 x\nq1 Q0 {NFD} 2 1 x\n"))
    assert read_texts(put("c.csv", f"doc_id,text,copy_of\nx,eel,{NFD}\n"), DOC, "doc_id")["copy_of"].tolist() == [NFC]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("list.jsonl", '{"qid":["q1"],"doc_id":"a","score":1}\n', "line 1, field qid: list"),
        ("object.jsonl", '{"qid":"q1","ranked":[{"doc_id":"a"}]}\n', "line 1, field doc_id: dict"),
        ("truth.jsonl", '{"qid":"q1","doc_id":true,"score":1}\n', "field doc_id: bool"),
        ("endless.jsonl", '{"qid":1e999,"doc_id":"a","score":1}\n', "field qid: float 'inf'"),
        ("half.jsonl", '{"qid":"q1","doc_id":"\\ud800","score":1}\n', "half of a sign"),
        ("large.json", json.dumps({"q1": {"a": 10**400}}), "no finite number"),
        ("under.trec", "q1 Q0 a 1 9_5 x\n", "line 1: score '9_5' is no finite number"),
        ("twice.json", '{"q1": {"a": 1, "a": 2}}', "'a' comes twice in one JSON object"),
        ("again.json", '{"q1": {"a": 1},\n "q1": {"b": 2}}', "'q1' comes twice in one JSON object"),
        ("two.csv", "qid,doc_id,score,ranker\nq1,a,2,dense\nq1,b,1,bm25\n", "line 3: query 'q1' has rows of two systems, 'dense' and 'bm25'"),
        ("two.trec", RUN.replace("bm25", "dense", 1), "line 2: query 'q1' has rows of two systems"),
        ("six.tsv", RUN.replace(" ", "\t"), "line 1: expected column names.*call a TREC file .trec"),
        ("same.tsv", "qid\tqid\tdoc_id\tscore\nq1\tq2\ta\t1\n", "line 1: expected column names, each once"),
    ],
)
def test_a_run_that_cannot_be_meant(put, name, content, said):  # noqa: F811
    with pytest.raises(DataError, match=said):
        read_run(put(name, content))


def test_an_indented_json_object_reads_as_a_flat_one(put):  # noqa: F811
    scores = {"q1": {"a": 2.0, "b": 1.0}}
    flat, tall = (read_run(put(f"{indent}.json", json.dumps(scores, indent=indent))) for indent in (None, 2))
    pd.testing.assert_frame_equal(flat, tall)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"qid":"q1","gold":[["a"]]}\n', "field doc_id: list"),
        ('{"qid":"q1","doc_id":"a","grade":1,"role":["rule"]}\n', "field role: list"),
        ('{"qid":"q1","doc_id":"a","grade":1,"bundle":{"x":1}}\n', "field bundle: dict"),
        ('{"qid":"q1","doc_id":"a"}\n', "no row has a grade"),
        ('{"qid":"q1","doc_id":"a","grade":true}\n', "grade 'True' is no finite number, such as 0 to 3"),
    ],
)
def test_judgements_that_cannot_be_meant(put, content, said):  # noqa: F811
    with pytest.raises(DataError, match=said):
        read_judgements(put("q.jsonl", content))


def test_roles_and_bundles_are_names_however_they_are_typed(put):  # noqa: F811
    told = read_judgements(put("q.jsonl", '{"qid":"q","doc_id":"a","grade":1,"role":" rule ","bundle":1}\n{"qid":"q","doc_id":"b","grade":1,"bundle":"1"}\n'))
    assert told["bundle"].tolist() == ["1", "1"] and told["role"].dropna().tolist() == ["rule"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("text", ["eel"], "field text: list"),
        ("title", ["T"], "field title: list"),
        ("document", {"a": 1}, "field document: dict"),
        ("copy_of", ["x"], "field copy_of: list"),
        ("entitlement", ["legal", "board"], "field entitlement: list"),
        ("travels_with", {"x": 1}, "field travels_with: dict"),
        ("travels_with", [["x"]], "field travels_with: list"),
        ("travels_with", ["x", None], "field travels_with: is missing"),
        ("entitlements", {"x": 1}, "field entitlements: dict"),
        ("effective_from", "soon", "line 1, field effective_from: 'soon' is no day; write it as 2026-01-31"),
        ("effective_from", "1/2/2026", "is no day"),
        ("indexed_at", 20260131, "is no day"),
        ("effective_from", "2026-02-30", "is no day"),
        ("slice", "all", "'all'; name the query's slice"),
        ("slice", ["a"], "field slice: list"),
    ],
)
def test_a_field_of_a_text_of_another_kind_is_named(put, field, value, said):  # noqa: F811
    with pytest.raises(DataError, match=said):
        read_texts(put("c.jsonl", json.dumps({"doc_id": "a", "text": "eel", field: value})), DOC, "doc_id")


def test_numbers_that_name_passages_are_their_ids(put):  # noqa: F811
    corpus = read_texts(put("c.jsonl", '{"doc_id":7,"text":"eel","travels_with":[8, 9.0],"copy_of":6}\n'), DOC, "doc_id")
    assert relations(corpus) == {"document_of": {}, "travels": {"7": ["8", "9"]}, "copies": {"7": "6"}}


@pytest.mark.parametrize("value", ["null", '["a"]', '"*"', '" "'])
def test_a_slice_without_a_name_of_its_own_is_refused(put, value):  # noqa: F811
    with pytest.raises(DataError, match="line 1, field slice"):
        read_slices(put("s.jsonl", f'{{"qid":"q1","slice":{value}}}\n'))


def given(put):  # noqa: F811
    return read_run(put("run.trec", RUN)), read_judgements(put("qrels.txt", "q1 0 b 1\nq2 0 c 1\n"))


def test_slices_in_the_queries_are_read_by_the_same_rules(put):  # noqa: F811
    run, gold = given(put)
    queries = pd.DataFrame({"qid": ["q1", "q2"], "text": "eel", "slice": ["a ", None]})
    assert assemble(run, gold, queries=queries).membership["slice"].tolist() == ["a"]
    with pytest.raises(DataError, match="slice of query 'q1'.*'all'"):
        assemble(run, gold, queries=queries.assign(slice="all"))


def test_texts_of_another_set_are_an_error_and_missing_ones_are_counted(put):  # noqa: F811
    run, gold = given(put)
    corpus = pd.DataFrame({"doc_id": ["a", "z"], "text": "eel", "dataset": "elsewhere"})
    made = assemble(run, gold, queries=pd.DataFrame({"qid": ["q1"], "text": "eel"}), corpus=corpus)
    n = made.counts.set_index("what")["n"]
    assert n["judged queries that the queries file lacks"] == 1 and n["passages of the run that the corpus file lacks"] == 1
    assert set(made.corpus["dataset"]) == set(made.first["dataset"])  # the corpus' own column hides no passage from the audit
    with pytest.raises(DataError, match="the corpus file holds none of the passages of the run.*'a', 'b'.*'z'"):
        assemble(run, gold, corpus=corpus[corpus["doc_id"] == "z"])


def test_a_role_that_no_judgement_has_is_refused(put):  # noqa: F811
    run, _ = given(put)
    made = assemble(run, read_judgements(put("q.csv", "qid,doc_id,grade,role\nq1,a,1,rule\n")))
    with pytest.raises(ValueError, match=r"\['ruel'\], but no judgement has that role; roles are \['rule'\]"):
        evidence(made.first, made.judgements, made.membership, parse_all("ruel:1"))


def test_a_ceiling_too_large_to_search_is_missing_and_the_rest_stays():
    gold = pd.DataFrame({"dataset": "d", "qid": "q", "doc_id": [f"g{i}" for i in range(30)], "grade": 1.0})
    first = pd.DataFrame({"dataset": "d", "qid": "q", "doc_id": [f"{p}{i}" for i in range(30) for p in "gh"], "rank": range(1, 61)})
    related = relations(pd.DataFrame({"doc_id": gold["doc_id"], "travels_with": [f"h{i}" for i in range(30)]}))
    row = unit_rows(first, gold, cutoff=10, related=related).set_index("unit").loc["proposition"]
    assert row["pool_coverage"] == 1 and row["first_coverage"] == 5 / 30 and pd.isna(row["ceiling"])


def test_a_name_never_reads_as_no_reranker():
    assert [named(p) for p in ("none.trec", ".trec", "a/bm25.trec.gz")] == ["none.trec", ".trec", "bm25"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resamples": 10**12}, "resamples must be at most 1,000,000"),
        ({"resamples": 0}, "resamples must be at least 1"),
        ({"seed": -1}, "seed must be a whole number of 0 or more, got -1"),
        ({"indexed_at": "yesterday"}, "indexed_at: 'yesterday' is no day"),
        ({"depth": 1}, "none of the first 1 passages"),
    ],
)
def test_options_that_cannot_be_meant(put, options, said):  # noqa: F811
    inputs = assemble(*given(put), read_run(put("re.trec", "q1 Q0 b 1 1 re\n")))
    with pytest.raises(ValueError, match=said):
        audit_report(inputs, **options)


@pytest.mark.parametrize(("out", "said"), [("run.trec", "run.trec is a file"), ("run.trec/below", "run.trec is a file"), (" ", "is no folder")])
def test_a_folder_that_cannot_be_one_is_told_before_the_audit(put, out, said, capsys, monkeypatch):  # noqa: F811
    path = put("run.trec", RUN)
    monkeypatch.chdir(path.parent)
    assert main(["--run", "run.trec", "--qrels", "not there", "--out", out]) == 2
    assert said in capsys.readouterr().err and path.read_text() == RUN


def test_a_report_is_written_whole_or_not_at_all(put, monkeypatch):  # noqa: F811
    report = audit_report(assemble(*given(put)), resamples=20)
    out = put("old/report.html", "old").parent
    (out / "slices.csv").mkdir()
    with pytest.raises(OSError, match="slices.csv is a folder there"):
        write_report(report, out)
    (out / "slices.csv").rmdir()
    wrote = type(out).write_text

    def full(path, text, **how):
        if path.name == "counts.csv":
            raise OSError(28, "No space left on device")
        return wrote(path, text, **how)

    monkeypatch.setattr(type(out), "write_text", full)
    with pytest.raises(OSError, match="could not write the report.*No space left"):
        write_report(report, out)
    assert [p.name for p in out.iterdir()] == ["report.html"] and (out / "report.html").read_text() == "old"
    monkeypatch.undo()
    assert {p.name for p in write_report(report, out)} == {p.name for p in out.iterdir()}
    check_folder(out)
