"""Files of other people's tools: every form reads alike, what cannot be read is one clear error, what should be known is counted."""

import gzip
import json

import pandas as pd
import pytest

from lib.records import DataError
from lib.viability_assembly import assemble, from_tables, ordered
from lib.viability_inputs import beir_files, read_judgements, read_run, read_slices, read_texts

RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\nq2 Q0 d9 1 0.5 bm25\n"
QRELS = "q1 0 d2 3\nq1 0 d7 -1\nq2 0 d8 1\n"


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.trec", RUN),
        ("crlf.trec", RUN.replace("\n", "\r\n")),
        ("bom.trec", "\ufeff" + RUN),
        ("run.trec.gz", gzip.compress(RUN.encode())),
        ("tabs.run", RUN.replace(" ", "\t")),
        ("noend.trec", RUN.rstrip("\n")),
        ("run.csv", "qid,doc_id,score\nq1,d1,2.5\nq1,d2,1.5\nq2,d9,0.5\n"),
        ("run.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2.5\nq1\td2\t1.5\nq2\td9\t0.5\n"),
        ("run.jsonl", '{"qid":"q1","docid":"d1","score":2.5}\n{"qid":"q1","docid":"d2","score":1.5}\n{"qid":"q2","docid":"d9","score":0.5}\n'),
        ("run.json", json.dumps({"q1": {"d1": 2.5, "d2": 1.5}, "q2": {"d9": 0.5}})),
        ("lists.jsonl", '{"qid":"q1","ranked":["d1","d2"]}\n{"qid":"q2","ranked":["d9"]}\n'),
        ("ranks.csv", "qid,doc_id,rank\nq1,d2,2\nq1,d1,1\nq2,d9,1\n"),
        ("spaces.csv", "qid,doc_id,score\n q1 , d1,2.5\nq1 ,d2 ,1.5\nq2,d9,0.5\n".replace(" q1 ", "q1").replace("q1 ,", "q1,")),
    ],
)
def test_every_form_of_a_run_gives_the_same_order(put, name, content):
    table = ordered(read_run(put(name, content)), "set", "bm25")
    assert table[["qid", "rank", "doc_id"]].values.tolist() == [["q1", 1, "d1"], ["q1", 2, "d2"], ["q2", 1, "d9"]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels.txt", QRELS),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td2\t3\nq1\td7\t-1\nq2\td8\t1\n"),
        ("q.csv", "qid,doc_id,grade\nq1,d2,3\nq1,d7,-1\nq2,d8,1\n"),
        ("q.json", json.dumps({"q1": {"d2": 3, "d7": -1}, "q2": {"d8": 1}})),
        ("qrels.txt.gz", gzip.compress(QRELS.encode())),
    ],
)
def test_every_form_of_judgements_reads_alike(put, name, content):
    assert read_judgements(put(name, content))[["qid", "doc_id", "grade"]].values.tolist() == [["q1", "d2", 3.0], ["q1", "d7", -1.0], ["q2", "d8", 1.0]]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.trec", "", "holds no run"),
        ("blank.trec", "\n\n", "holds no run"),
        ("cut.trec", RUN + "q2 Q0 d7 2", "line 4: 4 columns.*6.*cut short"),
        ("tag.trec", RUN + "q2 Q0 d7 2 0.4 bm", "tag 'bm' is the beginning of 'bm25'"),
        ("nan.trec", RUN.replace("1.5", "nan"), "line 2: score 'nan'"),
        ("inf.trec", RUN.replace("0.5", "-inf"), "line 3: score '-inf'"),
        ("word.trec", RUN.replace("1.5", "high"), "line 2: score 'high'"),
        ("twice.trec", RUN.replace("d2", "d1"), "lines 1, 2: passage 'd1' is repeated for query 'q1'"),
        ("collide.csv", 'qid,doc_id,score\nq1,d1,2\nq1,"d1 ",1\n', "different ids become 'd1'"),
        ("qcollide.csv", 'qid,doc_id,score\nq1,d1,2\n"q1 ",d2,1\n', "different ids become 'q1'"),
        ("number.jsonl", '{"qid":1,"doc_id":"a","score":1}\n{"qid":"1","doc_id":"b","score":1}\n', "different ids become '1'"),
        ("noid.csv", "qid,doc_id,score\nq1,,2\n", "field doc_id: is missing"),
        ("noscore.csv", "qid,doc_id\nq1,d1\n", "score: is missing, and so is rank"),
        ("cut.trec.gz", gzip.compress(RUN.encode())[:-9], "gzip stream is cut short"),
        ("latin.trec", RUN.encode().replace(b"d9", b"d\xe9"), "line 3: broken Unicode"),
        ("cut.tsv", "qid\tdoc_id\tscore\nq1\td1\t2\nq1\td2", "line 3: not as many cells"),
    ],
)
def test_a_run_that_cannot_be_meant_is_one_clear_error(put, name, content, said):
    with pytest.raises(DataError, match=said):
        read_run(put(name, content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("q1 0 d1 1\nq1 0 d2\n", "line 2: 3 columns.*4"),
        ("q1 0 d1 1\nq1 0 d1 2\n", "lines 1, 2: passage 'd1'.*different grades"),
        ("q1 0 d1 good\n", "grade 'good'"),
        ("q1 0 d1 99\n", "above 60"),
        ("", "holds no judgement"),
    ],
)
def test_judgements_that_cannot_be_meant_are_one_clear_error(put, content, said):
    with pytest.raises(DataError, match=said):
        read_judgements(put("qrels.txt", content))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DataError, match="no.trec: is not there"):
        read_run(tmp_path / "no.trec")
    with pytest.raises(DataError, match="is a folder"):
        read_run(tmp_path)


def counts_of(made):
    return made.counts.set_index("what")["n"].to_dict()


def test_what_a_reader_should_know_is_counted(put):
    run = read_run(put("run.trec", RUN + "q2 Q0 d3 2 0.5 bm25\nq5 Q0 d1 1 1 bm25\nq6 Q0 d1 1 1 bm25\nq6 Q0 d2 2 9 bm25\n"))
    gold = read_judgements(put("q.csv", "qid,doc_id,grade\nq1,d2,3\nq1,d2,3\nq1,d7,-1\nq2,d8,1\nq3,d1,1\nq4,d1,0\nq6,d1,uncertain\nq6,d2,1\n"))
    n = counts_of(assemble(run, gold))
    assert n["judged queries"] == 5 and n["queries missing from the run"] == 1 and n["queries without any judgement"] == 1
    assert n["queries without a relevant passage"] == 1 and n["negative grades"] == 1 and n["uncertain grades"] == 1 and n["repeated judgements"] == 1
    assert n["queries whose rank column contradicts their scores"] == 1 and n["queries with tied first-stage scores"] == 1


def test_ties_go_by_first_stage_rank_in_the_reranked_run_too(put):
    run = read_run(put("run.trec", "q Q0 z 1 3 a\nq Q0 m 2 2 a\nq Q0 a 3 1 a\n"))
    again = read_run(put("re.trec", "q Q0 a 1 0.5 b\nq Q0 m 2 0.5 b\nq Q0 z 3 0.5 b\n"))
    made = assemble(run, read_judgements(put("qrels.txt", "q 0 a 1\n")), again)
    assert made.reranked["doc_id"].tolist() == ["z", "m", "a"] and counts_of(made)["queries with tied reranked scores"] == 1


def test_rows_outside_the_pool_are_an_error_or_counted(put):
    run, gold = read_run(put("run.trec", RUN)), read_judgements(put("qrels.txt", QRELS))
    again = read_run(put("re.trec", "q1 Q0 d2 1 9 re\nq1 Q0 new 2 8 re\n"))
    with pytest.raises(DataError, match="'new'.*--outside drop"):
        assemble(run, gold, again)
    made = assemble(run, gold, again, outside="drop")
    n = counts_of(made)
    assert made.reranked["doc_id"].tolist() == ["d2"] and n["reranked rows outside the pool"] == 1
    assert n["queries missing from the reranked run"] == 1 and n["candidates that the reranked run left out"] == 1


def test_two_files_of_different_sets_are_an_error(put):
    with pytest.raises(DataError, match="share no query.*'q1', 'q2'.*'x'"):
        assemble(read_run(put("run.trec", RUN)), read_judgements(put("qrels.txt", "x 0 d1 1\n")))


def test_judged_passages_that_no_list_holds_are_counted(put):
    """d7 and d8 are in no list; d9 is in the list of another query than that which it is judged for, so its name is sound."""
    made = assemble(read_run(put("run.trec", RUN)), read_judgements(put("qrels.txt", QRELS + "q1 0 d9 1\n")))
    assert counts_of(made)["judged passages whose id no list holds"] == 2


def test_passages_named_by_two_schemes_are_one_clear_error(put):
    run, gold = read_run(put("run.trec", "q1 Q0 d1#0 1 2 x\nq1 Q0 d2#4 2 1 x\n")), read_judgements(put("qrels.txt", "q1 0 d1 3\nq1 0 d2 0\n"))
    with pytest.raises(DataError, match="share no passage: the run has 'd1#0', 'd2#4', the judgements 'd1', 'd2'; name each passage alike.*'doc#section'"):
        assemble(run, gold)
    none_relevant = assemble(run, gold.assign(grade=0.0))  # judgements that name nothing relevant are undefined, no error
    assert counts_of(none_relevant)["judged passages whose id no list holds"] == 2


def test_a_corpus_shows_that_ids_which_no_list_holds_are_sound(put):
    run, gold = read_run(put("run.trec", "q1 Q0 a 1 2 x\n")), read_judgements(put("qrels.txt", "q1 0 b 3\n"))
    with pytest.raises(DataError, match="give the corpus, too"):
        assemble(run, gold)
    made = assemble(run, gold, corpus=pd.DataFrame({"doc_id": ["a", "b"], "text": "eel"}))
    assert counts_of(made)["judged passages whose id no list holds"] == 1


def test_slices_may_overlap_and_unknown_queries_are_counted(put):
    slices = read_slices(put("s.csv", "qid,slice\nq1,temporal\nq1,exclusions\nq9,temporal\n"))
    made = assemble(read_run(put("run.trec", RUN)), read_judgements(put("qrels.txt", QRELS)), slices=slices)
    assert made.membership["slice"].tolist() == ["temporal", "exclusions"] and counts_of(made)["rows of slices for unknown queries"] == 1
    with pytest.raises(DataError, match="field slice: is 'all'"):
        read_slices(put("bad.csv", "qid,slice\nq1,all\n"))


def test_a_beir_folder_is_read_whole(put, tmp_path):
    put("set/corpus.jsonl", '{"_id":"d1","title":"T","text":"one"}\n')
    put("set/queries.jsonl", '{"_id":"q1","text":"what"}\n')
    put("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    files = beir_files(tmp_path / "set")
    assert read_judgements(files["qrels"])[["qid", "doc_id", "grade"]].values.tolist() == [["q1", "d1", 1.0]]
    assert read_texts(files["queries"], ("_id",), "qid")[["qid", "text"]].values.tolist() == [["q1", "what"]]
    with pytest.raises(DataError, match="dev.tsv: is not there"):
        beir_files(tmp_path / "set", "dev")


def test_our_own_tables_need_no_file():
    rows = [("set", "q", "own", ranker, rank, doc, 1.0) for ranker in ("dense", "rerank") for rank, doc in enumerate("ab", 1)]
    rankings = pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])
    gold = pd.DataFrame([("set", "q", "a", 1), ("other", "q", "a", 1)], columns=["dataset", "qid", "doc_id", "grade"])
    made = from_tables(rankings, gold, "own", "dense", "rerank")
    assert len(made.first) == len(made.reranked) == 2 and made.judgements["dataset"].tolist() == ["set"]
    with pytest.raises(ValueError, match="no ranker bm25"):
        from_tables(rankings, gold, "own", "bm25")
