"""One's own files in JSON lines or CSV, and the repository's sample corpus, which has the same form."""
import gzip
import json

import pytest
from invented import write

from lib.datasets import SAMPLE_FOLDER, load
from lib.records import DataError

DOCUMENTS = [{"doc_id": "d1", "title": "Marl", "sentences": ["The Marl is a river.", "It ends in the Sea of Aumes."]},
             {"doc_id": "d2", "title": "Edda Sorrel", "text": "Edda Sorrel was born beside the Marl. She painted\neels."},
             {"doc_id": "d3", "title": "Marl", "text": "Marl is also a soil."}]
QUESTIONS = [{"qid": "q1", "question": "In which sea ends the river of Edda Sorrel's birth?", "answers": ["Sea of Aumes", "Aumes"],
              "question_type": "bridge", "gold": ["d2", "d1"], "pool": ["d1", "d2", "d3"]},
             {"qid": "q2", "question": "Is the Marl a soil?", "answers": ["yes"], "question_type": "comparison_yesno", "gold": ["d1", "d3"]}]
RULE = {"source_type": "ordinance", "authority": "council", "jurisdiction": "Harrowfen", "effective_from": "1990-01-01", "effective_to": None,
        "superseded_by": None, "entitlement": "public"}


def own(folder, questions=QUESTIONS, documents=DOCUMENTS, **kinds):
    write(folder / "questions.jsonl", *questions)
    write(folder / "documents.jsonl", *documents)
    for kind, records in kinds.items():
        write(folder / f"{kind}.jsonl", *records)
    return load("mine", {"path": folder})


def changed(records, **changes):
    """The records with the first one changed."""
    return [{**records[0], **changes}, *records[1:]]


def test_own_files_give_the_tables(tmp_path):
    tables = own(tmp_path)
    assert set(tables) == {"questions", "gold", "documents", "pools", "report"}
    assert tables["questions"].question_type.tolist() == ["bridge", "comparison_yesno"] and set(tables["questions"].slice) == {"mine"}
    assert tables["gold"].set_index(["qid", "doc_id"]).hop.loc["q1"].to_dict() == {"d2": 1, "d1": 2}
    assert tables["gold"].set_index(["qid", "doc_id"]).is_last_hop.loc["q1"].to_dict() == {"d2": False, "d1": True}
    assert tables["gold"][tables["gold"].qid == "q2"][["hop", "is_last_hop"]].isna().all(axis=None)
    assert tables["report"]["last_hop_none_comparison"] == 1 and tables["report"]["documents_with_line_breaks"] == 1


def test_sentences_are_the_authors_or_spacys(tmp_path):
    documents = own(tmp_path)["documents"].set_index("doc_id")
    assert documents.split_by.to_dict() == {"d1": "author", "d2": "spacy", "d3": "spacy"}
    assert documents.text["d1"] == "The Marl is a river. It ends in the Sea of Aumes." and documents.sentences["d1"] == [[0, 20], [21, 49]]
    assert documents.text["d2"].endswith("She painted eels.")


def test_csv_and_gzip_say_the_same_as_json_lines(tmp_path):
    for folder in ("json", "csv"):
        (tmp_path / folder).mkdir()
    plain = own(tmp_path / "json", documents=DOCUMENTS[1:], questions=[{**QUESTIONS[0], "gold": ["d2", "d3"], "pool": ["d2"]}])
    questions = 'qid,question,answers,question_type,gold,pool\nq1,In which sea ends the river of Edda Sorrel\'s birth?,"[""Sea of Aumes"", ""Aumes""]",bridge,d2|d3,d2\n'
    documents = 'doc_id,title,text\nd2,Edda Sorrel,"Edda Sorrel was born beside the Marl. She painted\neels."\nd3,Marl,Marl is also a soil.\n'
    (tmp_path / "csv" / "questions.csv").write_text(questions)
    (tmp_path / "csv" / "documents.csv.gz").write_bytes(gzip.compress(documents.encode()))
    other = load("mine", {"path": tmp_path / "csv"})
    assert all(plain[name].equals(other[name]) for name in ("questions", "gold", "documents", "pools"))


def test_files_by_kind_and_parts_of_one_kind(tmp_path):
    paths = {"questions": write(tmp_path / "a.jsonl", *QUESTIONS),
             "documents": [write(tmp_path / "b.jsonl", *DOCUMENTS[:2]), write(tmp_path / "c.jsonl", DOCUMENTS[2])]}
    assert len(load("mine", paths)["documents"]) == 3


def test_a_question_and_a_document_may_share_an_id(tmp_path):
    tables = own(tmp_path, changed(QUESTIONS, qid="d1"))
    assert (tables["gold"].qid == "d1").sum() == 2 and "d1" in set(tables["documents"].doc_id)


def test_gold_pools_and_rankings_may_come_in_their_own_files(tmp_path):
    bare = [{k: v for k, v in q.items() if k not in ("gold", "pool")} for q in QUESTIONS]
    gold = [{"qid": "q1", "doc_id": "d2", "hop": 1, "grade": 2}, {"qid": "q1", "doc_id": "d1", "hop": 2}, {"qid": "q1", "doc_id": "d3", "grade": 0}]
    rankings = [{"qid": "q1", "ranker": "mine", "doc_id": "d3", "score": 0.5}, {"qid": "q1", "ranker": "mine", "doc_id": "d1", "score": 0.9},
                {"qid": "q1", "ranker": "mine", "doc_id": "d2", "score": 0.5}, {"qid": "q2", "ranker": "mine", "scope": "own", "doc_id": "d2", "rank": 1}]
    tables = own(tmp_path, bare, gold=gold, pools=[{"qid": "q1", "doc_id": "d1"}], rankings=rankings)
    assert tables["gold"].set_index("doc_id")[["grade", "is_last_hop"]].to_dict("index") == {
        "d1": {"grade": 1, "is_last_hop": True}, "d2": {"grade": 2, "is_last_hop": False}}
    assert tables["rankings"].query("qid == 'q1'").doc_id.tolist() == ["d1", "d3", "d2"]  # equal scores keep the file's order
    assert tables["questions"].n_hops.isna().tolist() == [False, True] and tables["questions"].n_hops[0] == 2
    report = tables["report"]
    assert (report["gold_grades_of_0_or_less"], report["questions_without_gold"], report["ranking_scores_made_from_ranks"]) == (1, 1, 1)


def test_labels_of_001s_filters_pass_through(tmp_path):
    old = {**DOCUMENTS[0], **RULE, "effective_to": "1999-12-31", "superseded_by": "d3"}
    documents = own(tmp_path, documents=[old, DOCUMENTS[1], {**DOCUMENTS[2], **RULE}])["documents"].set_index("doc_id")
    assert documents.superseded_by["d1"] == "d3" and documents.effective_to["d1"] == "1999-12-31"
    assert documents.loc["d2", list(RULE)].isna().all() and documents.effective_to.isna()["d3"]


@pytest.mark.parametrize(("value", "cast"), [(7, ["7"]), ("Aumes|Sea of Aumes", ["Aumes", "Sea of Aumes"]), (None, [""]), (["Aumes", 7], ["Aumes", "7"])])
def test_own_answers_are_cast_once(tmp_path, value, cast):
    assert own(tmp_path, changed(QUESTIONS, answers=value))["questions"].answers[0] == cast


QUESTION_FAULTS = [({"qid": "q2"}, "line 2, field qid: 'q2' stands already"), ({"qid": " "}, "line 1, field qid: got ' '"), ({"qid": "NaN"}, "line 1, field qid"),
                   ({"qid": float("nan")}, "line 1, field qid: expected text, got NaN"), ({"question": ""}, "line 1, field question: is empty"),
                   ({"answers": []}, "line 1, field answers: holds an empty answer"), ({"answers": [""]}, "line 1, field answers"),
                   ({"question_type": "brige"}, "line 1, field question_type: got 'brige'"), ({"gold": ["d9"]}, "line 1, field gold: 'd9' is no document"),
                   ({"gold": ["d1", "d1"]}, "line 1, field gold: 'd1' is listed twice"), ({"pool": ["Marl"]}, "line 1, field pool: 'Marl' is no document"),
                   ({"gold": {"d1": 1}}, "line 1, field gold: expected a list")]


@pytest.mark.parametrize(("changes", "problem"), QUESTION_FAULTS)
def test_a_faulty_question_is_one_clear_error(tmp_path, changes, problem):
    with pytest.raises(DataError, match=f"questions.jsonl, {problem}"):
        own(tmp_path, changed(QUESTIONS, **changes))


DOCUMENT_FAULTS = [({"doc_id": "d2"}, "line 2, field doc_id: 'd2' stands already"), ({"sentences": []}, "line 1, field text or sentences: is empty"),
                   ({"sentences": [[0, 5]]}, "line 1, field sentences: expected a list of strings"), ({"title": 7}, "line 1, field title: expected text"),
                   ({"effective_from": "1 May 1990"}, "line 1, field effective_from: got '1 May 1990'"),
                   ({"effective_from": "1990-01-01", "effective_to": "1980-01-01"}, "line 1, field effective_to: 1980-01-01 lies before"),
                   ({"superseded_by": "d9"}, "line 1, field superseded_by: 'd9' is no other document"), ({"superseded_by": "d1"}, "line 1, field superseded_by"),
                   ({"sentences": None}, "line 1, field text: is missing")]


@pytest.mark.parametrize(("changes", "problem"), DOCUMENT_FAULTS)
def test_a_faulty_document_is_one_clear_error(tmp_path, changes, problem):
    with pytest.raises(DataError, match=f"documents.jsonl, {problem}"):
        own(tmp_path, documents=changed(DOCUMENTS, **changes))


LIST_FAULTS = [("gold", {"qid": "q9", "doc_id": "d1"}, "field qid: 'q9' is no question"), ("gold", {"qid": "q1", "doc_id": "d9"}, "field doc_id: 'd9' is no document"),
               ("gold", {"qid": "q1", "doc_id": "d1", "grade": float("nan")}, "field grade: expected a whole number, got NaN"),
               ("gold", {"qid": "q1", "doc_id": "d1", "hop": 0}, "field hop: got 0"), ("gold", {"qid": "q1", "doc_id": "d1", "is_last_hop": "maybe"}, "field is_last_hop"),
               ("pools", {"qid": "q1"}, "field doc_id: is missing"), ("rankings", {"qid": "q1", "ranker": "r", "doc_id": "d1"}, "field score.*: is missing"),
               ("rankings", {"qid": "q1", "ranker": "r", "doc_id": "d1", "rank": 2}, "field rank: got 2 where 1 comes next"),
               ("rankings", {"qid": "q1", "ranker": "r", "doc_id": "d1", "score": float("nan")}, "field score: expected a number, got NaN"),
               ("rankings", {"qid": "q1", "ranker": "r", "doc_id": "d1", "rank": 1, "scope": "all"}, "field scope: got 'all'")]


@pytest.mark.parametrize(("kind", "row", "problem"), LIST_FAULTS)
def test_a_row_that_points_nowhere_or_does_not_fit_is_one_clear_error(tmp_path, kind, row, problem):
    bare = [{k: v for k, v in q.items() if k not in ("gold", "pool")} for q in QUESTIONS]
    with pytest.raises(DataError, match=f"{kind}.jsonl, line 1, {problem}"):
        own(tmp_path, bare, **{kind: [row]})


@pytest.mark.parametrize("kind", ["gold", "pools"])
def test_a_repeated_row_or_a_second_place_for_gold_is_an_error(tmp_path, kind):
    bare = [{k: v for k, v in q.items() if k not in ("gold", "pool")} for q in QUESTIONS]
    with pytest.raises(DataError, match=rf"{kind}.jsonl, line 2, field doc_id: 'd1' is (judged|listed) twice for question 'q1'"):
        own(tmp_path, bare, **{kind: [{"qid": "q1", "doc_id": "d1"}] * 2})
    with pytest.raises(DataError, match=f"the questions file carries {kind} already"):
        own(tmp_path, QUESTIONS, **{kind: [{"qid": "q1", "doc_id": "d1"}]})


def test_a_document_twice_in_one_list_is_an_error(tmp_path):
    rows = [{"qid": "q1", "ranker": "r", "doc_id": "d1", "rank": 1}, {"qid": "q1", "ranker": "r", "doc_id": "d1", "rank": 2}]
    with pytest.raises(DataError, match="rankings.jsonl, line 2, field doc_id: 'd1' stands twice in one list"):
        own(tmp_path, rankings=rows)


def test_missing_kinds_and_nameless_files_are_refused(tmp_path):
    write(tmp_path / "questions.jsonl", *QUESTIONS)
    with pytest.raises(DataError, match="no file of documents in the source"):
        load("mine", {"path": tmp_path})
    with pytest.raises(DataError, match="its name tells no kind"):
        load("mine", {"path": [write(tmp_path / "stuff.jsonl", *DOCUMENTS)]})


@pytest.mark.parametrize(("content", "problem"), [
    ("qid,question,answer\nq1,Who\n", "line 2: 2 cells under 3 column names"), ("qid,qid\na,b\n", "line 1: a column name repeats"),
    ('qid,question\nq1,"open\n', "line 3: no valid CSV|line 2: no valid CSV"), ("qid,question,answers\nq1,Who?,\n", "line 2, field answers or answer: is missing")])
def test_a_faulty_csv_names_its_line(tmp_path, content, problem):
    (tmp_path / "questions.csv").write_text(content)
    write(tmp_path / "documents.jsonl", *DOCUMENTS)
    with pytest.raises(DataError, match=problem):
        load("mine", {"path": tmp_path})


def test_the_sample_corpus_loads_by_its_name():
    if not (SAMPLE_FOLDER / "questions.jsonl").exists():
        pytest.skip("the sample corpus is not written yet")
    tables = load("ondrell", {})
    assert len(tables["documents"]) >= 300 and len(tables["questions"]) >= 200 and set(tables["documents"].split_by) == {"author"}
    assert tables["pools"].groupby("qid").size().eq(10).all()
    inside = tables["gold"].merge(tables["pools"], on=["dataset", "qid", "doc_id"], how="left", indicator=True)
    assert (inside._merge == "both").all()  # a question's own paragraphs hold its gold
    comparisons = tables["questions"][tables["questions"].question_type.str.startswith("comparison")].qid
    assert tables["gold"][tables["gold"].qid.isin(comparisons)].is_last_hop.isna().all()
    chains = tables["gold"][tables["gold"].is_last_hop.fillna(False)]
    assert (chains.hop == chains.qid.map(tables["questions"].set_index("qid").n_hops)).all()


@pytest.mark.parametrize(("n", "whole"), [(50, True), (51, False)])
def test_without_a_pool_all_documents_are_the_pool_where_they_are_few(tmp_path, n, whole):
    write(tmp_path / "documents.jsonl", *({"doc_id": f"d{i}", "text": f"Town {i}."} for i in range(n)))
    write(tmp_path / "questions.jsonl", {"qid": "q1", "question": "Who?", "answers": ["x"], "pool": ["d1"]}, {"qid": "q2", "question": "Where?", "answers": ["x"]})
    loaded = load("mine", {"path": tmp_path})
    assert loaded["pools"].groupby("qid").size().to_dict() == {"q1": 1} | ({"q2": n} if whole else {})
    assert (loaded["report"]["pools_of_all_documents"], loaded["report"]["questions_without_pool"]) == ((1, 0) if whole else (0, 1))


@pytest.mark.parametrize("ranker", ["dense", "bm25", "hybrid", "iterative", "graph"])
def test_a_ranker_named_like_one_of_ours_is_refused_by_name(tmp_path, ranker):
    write(tmp_path / "documents.jsonl", {"doc_id": "d1", "text": "Town."})
    write(tmp_path / "questions.jsonl", {"qid": "q1", "question": "Who?", "answers": ["x"]})
    write(tmp_path / "rankings.jsonl", {"qid": "q1", "ranker": ranker, "doc_id": "d1", "rank": 1})
    with pytest.raises(DataError, match=f"field ranker: '{ranker}' is the name of a list .*'my_{ranker}'"):
        load("mine", {"path": tmp_path})


def places(value, path=()):
    """The path of every text in a value of dicts and lists."""
    if isinstance(value, str):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def broken(value, path):
    """A copy of ``value`` with half a character behind the text at ``path``."""
    if not path:
        return value + "\ud800"
    copy = value.copy()
    copy[path[0]] = broken(value[path[0]], path[1:])
    return copy


WHOLE = {"questions": QUESTIONS, "documents": [DOCUMENTS[0] | {k: v for k, v in RULE.items() if v}, *DOCUMENTS[1:]],
         "rankings": [{"qid": "q1", "ranker": "mine", "doc_id": "d1", "rank": 1, "scope": "own"}]}


@pytest.mark.parametrize("path", list(places(WHOLE)), ids=lambda p: "-".join(map(str, p)))
def test_half_a_character_in_any_text_is_one_error_that_names_file_line_and_field(tmp_path, path):
    for kind, records in broken(WHOLE, path).items():
        (tmp_path / f"{kind}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    where = rf"{path[0]}.jsonl, line {path[1] + 1}, field "
    with pytest.raises(DataError, match=where + ".*broken Unicode, a lone surrogate at character .*; write the character itself"):
        load("mine", {"path": tmp_path})


def test_half_a_character_in_a_list_of_a_csv_cell_is_the_same_error(tmp_path):
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(r) + "\n" for r in DOCUMENTS))
    (tmp_path / "questions.csv").write_text('qid,question,answers\nq1,Who?,"[""a\\ud800""]"\n')
    with pytest.raises(DataError, match="questions.csv, line 2, field answers: broken Unicode"):
        load("mine", {"path": tmp_path})
