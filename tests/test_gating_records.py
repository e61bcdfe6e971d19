"""Recorded question sets: what is written comes back as what was live, down to the decisions; files missing, cut short, edited or mixed are refused."""
import gzip
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from lib import gating_lists, gating_recorded, gating_records, graph_list, rerankers_sample, worlds
from lib.gating_features import NAMES
from lib.gating_models import Grid
from lib.gating_nested import nested
from lib.gating_records import QUESTIONS, VECTOR, corpus_tables, file_names, main, recorded, world_tables, write
from lib.gating_sets import lists_of, sets_of
from lib.records import DataError
from lib.weights import WeightsError, WeightsMissing
from tests import gating_world
from tests.gating_world import Said
from tests.test_graph_list import Capitals, Nowhere, Words

VECTORS = [f"v{i + 1}" for i in range(VECTOR)]


@pytest.fixture
def fakes(monkeypatch):
    fake(monkeypatch)


def fake(monkeypatch):
    """An encoder by words, a parser by capitals, a reranker by words: nothing is loaded."""
    rank = graph_list.rank_sets
    monkeypatch.setattr(gating_records.retrieval, "encoder", lambda name: Words())
    monkeypatch.setattr(gating_records.graph_list, "rank_sets", partial(rank, parser=Capitals(), linker=Words(), graphs=None, store=Nowhere()))
    monkeypatch.setattr(rerankers_sample, "open_reranker", lambda *a, **b: Said())


def made(n=12, given=None):
    given = given or gating_world.tables(n)
    return *recorded(given, None, None, False), given


def read(folder, dataset="d"):
    return gating_recorded.read(folder / file_names(dataset)[0])


def edited(folder, which, change, dataset="d"):
    """Change one of the two files in place: the frame, read as texts, or its bytes."""
    path = folder / file_names(dataset)[["questions", "candidates"].index(which)]
    if callable(change):
        rows = change(pd.read_csv(path, dtype=str, keep_default_na=False))
        path.write_bytes(gzip.compress(rows.to_csv(index=False).encode()))
    return path


def test_the_tables_that_are_written(fakes, tmp_path):
    questions, candidates, given = made()
    assert list(questions) == QUESTIONS and list(candidates) == gating_lists.CANDIDATES and len(questions) == 12
    assert questions["target"].tolist() == [f"d{2 * i + 1:03d}" for i in range(12)] and questions["half"].tolist() == [0, 1] * 6
    assert questions["pairs"].tolist() == candidates.groupby("qid").size().tolist() and (questions["tokens"] > 20).all()
    vectors = questions[VECTORS].to_numpy()
    told = Words().encode(given["questions"]["question"])[:, :320]
    told = told / np.linalg.norm(told, axis=1, keepdims=True)
    apart = np.linalg.norm(told[:, None] - told[None], axis=2)
    assert np.linalg.norm(vectors[:, None] - vectors[None], axis=2) == pytest.approx(apart, abs=1e-6), "12 points keep their distances in 11 directions"
    one, two = (p.read_bytes() for p in write(questions, candidates, tmp_path / "new" / "folder"))
    again, other, _ = made(given={t: d[::-1] for t, d in given.items()})
    assert [p.read_bytes() for p in write(again, other, tmp_path)] == [one, two], "the order of rows changes no byte"
    kept = gzip.decompress(one) + gzip.decompress(two)
    assert not any(t.encode() in kept for t in [*given["documents"]["title"], *given["questions"]["question"]]), "no text is quoted"


def test_a_recorded_set_is_the_live_one(fakes, tmp_path):
    """Features to six digits; the same ranks, the same lists D, and the same nested decisions."""
    questions, candidates, given = made(45)
    # the questions of the small world differ by a word: directions of equal spread could be turned by the seventh digit, as those of real questions cannot
    questions[VECTORS] = np.random.default_rng(0).normal(size=(45, VECTOR)) * 0.9 ** np.arange(VECTOR)
    write(questions, candidates, tmp_path)
    found = read(tmp_path)
    (live,), _ = sets_of(candidates, given["gold"], given["documents"], given["questions"], questions[VECTORS].to_numpy())
    assert found.data.dataset == live.dataset and found.data.qids.tolist() == live.qids.tolist()
    assert found.data.features == pytest.approx(live.features, rel=1e-5, abs=1e-9) and found.data.vectors == pytest.approx(live.vectors, rel=1e-5, abs=1e-9)
    assert (live.features[:, NAMES.index("q_chars")] > 0).all()
    assert all(found.data.ranks[name].tolist() == live.ranks[name].tolist() for name in "HVR")
    pd.testing.assert_frame_equal(found.lists, lists_of(candidates), rtol=1e-6, check_dtype=False)
    places = np.arange(45)
    assert found.data.distil(places[::2], places[1::2]).tolist() == live.distil(places[::2], places[1::2]).tolist()
    hard = live.features[:, NAMES.index("v_score_1")] + live.vectors[:, 0] / 10  # planted: where reranking helps can be seen
    planted = {"H": np.where(hard > np.median(hard), np.inf, 1.0), "V": np.ones(45), "R": np.where(np.arange(45) % 7, 1.0, np.inf)}
    for change in ({}, {"ranks": planted}):
        grid = Grid(models=("lr",), pcas=(0, 8))
        one, two = (nested([data._replace(**change)], ks=(1,), grid=grid, outer=3) for data in (live, found.data))
        assert not change or 0 < one.decisions["skip"].mean() < 1, "there is something to decide"
        same = [c for c in one.decisions if not c.startswith("p_")]
        pd.testing.assert_frame_equal(one.decisions[same], two.decisions[same])
        pd.testing.assert_frame_equal(one.choices, two.choices, rtol=1e-3, atol=1e-4)
    assert found.questions[["half", "n_hops"]].values.tolist() == given["questions"][["half", "n_hops"]].values.tolist()
    assert found.usage["pairs"].tolist() == questions["pairs"].tolist() and found.usage["tokens"].tolist() == questions["tokens"].tolist()


@pytest.mark.parametrize("names", [["NA", "null", "nan", "None"], ["é, ü", 'say "so"', "two\nlines", "a\rb"], ["日本", " x ", "1", "01"],
                                   ["1e5", "-", "'", "#"]])
def test_ids_and_names_come_back_letter_by_letter(fakes, tmp_path, names):
    given = gating_world.tables(4, "NA")
    call = dict(zip(given["questions"]["qid"], names))
    passages = dict(zip(given["documents"]["doc_id"], [*names, *"wxyz"]))
    for table in given.values():
        for column, new in (("qid", call), ("doc_id", passages)):
            if column in table:
                table[column] = table[column].map(new)
    questions, candidates, _ = made(given=given)
    write(questions, candidates, tmp_path)
    found = read(tmp_path, "NA")
    assert found.data.dataset == "NA" and found.data.qids.tolist() == sorted(names) and found.data.ranks["R"].min() >= 1
    assert np.isfinite(found.data.ranks["R"]).all(), "every target is found under its name"


def test_small_worlds(fakes, tmp_path):
    for n in (1, 2):
        questions, candidates, given = made(n)
        write(questions, candidates, tmp_path)
        found = read(tmp_path)
        assert len(found.data.qids) == n and found.data.features.shape == (n, 27) and np.isfinite(found.data.vectors).all()
    only = {t: (d[d["qid"] == "q000"] if "qid" in d else d[d["doc_id"] == "d001"]) for t, d in given.items()}  # one passage is the whole corpus
    questions, candidates, _ = made(given=only | {"gold": only["gold"][only["gold"]["is_last_hop"]]})
    write(questions, candidates, tmp_path)
    assert [read(tmp_path).data.ranks[name].tolist() for name in "HVR"] == [[1.0]] * 3


def test_passages_without_titles_and_questions_of_one_text(fakes, tmp_path):
    given = gating_world.tables(6)
    given["documents"]["title"] = None
    given["questions"]["question"] = "Where was the engineer born?"
    questions, candidates, _ = made(given=given)
    write(questions, candidates, tmp_path)
    found = read(tmp_path)
    assert found.data.features[:, NAMES.index("q_unique_titles")].tolist() == [1.0] * 6 and (found.data.features == found.data.features[0]).all()
    assert not found.data.vectors.any()


def test_generated_worlds_are_one_corpus(monkeypatch):
    given = world_tables(3, 90, dataset="w")
    assert given["questions"].groupby("n_hops").size().to_dict() == {1: 3, 2: 3, 3: 3} and given["questions"]["qid"].is_unique
    assert set(given["gold"]["doc_id"]) <= set(given["documents"]["doc_id"]) and given["gold"]["is_last_hop"].sum() == 9
    assert set(worlds.world(3, hops=3, seed=7, documents=90, dataset="w")["documents"]["text"]) == set(given["documents"]["text"])
    assert len(world_tables(1, 60)["questions"]) == 3


def test_questions_without_a_last_hop_are_left_out_and_none_is_an_error(fakes):
    given = gating_world.tables(5)
    gold = given["gold"]
    questions, candidates, _ = made(given=given | {"gold": gold[gold["qid"] != "q002"]})
    assert set(questions["qid"]) == set(candidates["qid"]) == {"q000", "q001", "q003", "q004"}
    for none in (gold[:0], gold.assign(is_last_hop=False)):
        with pytest.raises(ValueError, match="none of 5 questions has a text and a last hop"):
            made(given=given | {"gold": none})
    with pytest.raises(ValueError, match="last hops: .* is given twice; a chain ends"):
        made(given=given | {"gold": gold.assign(is_last_hop=True)})


def test_questions_and_passages_that_say_nothing(fakes, tmp_path):
    given = gating_world.tables(6)
    given["questions"]["question"] = given["questions"]["question"].astype(object)
    given["questions"].loc[[1, 2], "question"] = [None, " "]
    given["documents"].loc[0, "text"] = None
    questions, candidates, _ = made(given=given)
    assert set(questions["qid"]) == {"q000", "q003", "q004", "q005"} and questions[["pairs", "tokens"]].notna().all().all()
    write(questions, candidates, tmp_path)
    assert len(read(tmp_path).data.qids) == 4
    for nothing in (given["documents"].assign(text=None), given["documents"][:0]):
        with pytest.raises(ValueError, match="of 4 of 4 questions no candidate could be read"):
            made(given=given | {"documents": nothing})
    with pytest.raises(ValueError, match="none of 6 questions has a text and a last hop"):
        made(given=given | {"questions": given["questions"].assign(question=None)})


@pytest.mark.parametrize("table, change, said", [
    ("questions", lambda t: pd.concat([t, t[:1]]), "questions: .*'q000'.* is given twice"), ("questions", lambda t: t.assign(half=None), "half is missing"),
    ("documents", lambda t: pd.concat([t, t[:1]]), "documents: .*'d000'.* is given twice"), ("questions", lambda t: t.drop(columns="half"), "are missing"),
    ("questions", lambda t: pd.concat([t, t.assign(dataset="e")]), "record one at a time"), ("questions", lambda t: t.assign(qid=None), "qid is missing"),
    ("questions", lambda t: t.assign(question=7), "a question is 7, expected text"), ("gold", lambda t: t.assign(qid=0.5), "neither text nor a whole number")])
def test_tables_that_cannot_be_recorded(fakes, table, change, said):
    given = gating_world.tables(3)
    with pytest.raises(ValueError, match=said):
        made(given=given | {table: change(given[table])})


def test_qids_that_are_numbers_are_written_as_text(fakes, tmp_path):
    given = gating_world.tables(4)
    for name in ("questions", "gold"):
        given[name]["qid"] = given[name]["qid"].str[1:].astype(int)
    write(*made(given=given)[:2], tmp_path)
    assert read(tmp_path).data.qids.tolist() == list("0123")


def test_without_the_reranker_nothing_is_recorded(fakes, monkeypatch):
    def none(*args, **more):
        raise WeightsMissing("cross-encoder 'reranker' is not trained here")

    monkeypatch.setattr(rerankers_sample, "open_reranker", none)
    with pytest.raises(WeightsError, match=r"H \+ V \+ reranker: cross-encoder 'reranker' is not trained here"):
        made(3)


# --- the command

def release(folder, n=4, **changed):
    """The three files of a release: two hops a question, the last one a comparison."""
    given = gating_world.tables(n)
    corpus = [{"title": t, "text": x} for t, x in zip(given["documents"]["title"], given["documents"]["text"])]
    rows = [{"_id": f"id-{i}", "question": q, "type": "comparison" if i == n - 1 else "bridge", "answer": a[0],
             "supporting_facts": [[f"{place} {thing} {i}", 0], [f"Vane {i}", 0]]} | changed
            for i, (q, a, (place, thing)) in enumerate(zip(given["questions"]["question"], given["questions"]["answers"], gating_world.PLACES))]
    for name, content in (("corpus", corpus), ("questions", rows), ("supporting", rows)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return [folder / f"{name}.json" for name in ("corpus", "questions", "supporting")]


def arguments(files, out, *more):
    return [*(x for name, path in zip(("--corpus", "--questions", "--supporting"), files) for x in (name, str(path))), "--out", str(out), *more]


def test_last_hops_of_a_release(tmp_path):
    given = corpus_tables(*release(tmp_path), "c")
    # the place that is the answer stands in both passages of a question: which is the last hop is not known; the comparison has none
    assert given["questions"]["n_hops"].tolist() == [2] * 4 and not given["gold"]["is_last_hop"].eq(True).any()
    for answer in ("it is said", ["it is said", "nowhere"]):
        given = corpus_tables(*release(tmp_path, answer=answer), "c")
        last, titles = given["gold"][given["gold"]["is_last_hop"].eq(True)], given["documents"].set_index("doc_id")["title"]
        assert last["qid"].tolist() == ["id-0", "id-1", "id-2"] and [titles[d] for d in last["doc_id"]] == ["Vane 0", "Vane 1", "Vane 2"]


@pytest.mark.parametrize("answer", [None, 7, [], [None], {"a": 1}])
def test_answers_that_are_none(tmp_path, answer):
    with pytest.raises(DataError, match="field answer"):
        corpus_tables(*release(tmp_path, answer=answer), "c")


def test_a_supporting_file_without_answers_is_named(tmp_path, capsys):
    files = release(tmp_path)
    rows = json.loads(files[2].read_text())
    files[2].write_text(json.dumps([{k: v for k, v in r.items() if k != "answer"} for r in rows]))
    assert main(arguments(files, tmp_path / "out")) == 1 and "supporting.json" in capsys.readouterr().err


def test_ids_are_read_as_the_corpus_reads_them(tmp_path):
    files = release(tmp_path, answer="it is said")
    rows = json.loads(files[1].read_text())
    for path in files[1:]:
        path.write_text(json.dumps([r | {"id": r["_id"] + " twice named"} for r in rows]))
    assert corpus_tables(*files, "c")["gold"]["qid"].nunique() == 4


def test_the_command_writes_what_the_reader_reads(fakes, tmp_path, capsys):
    files = release(tmp_path, answer="it is said")
    assert main(arguments(files, tmp_path / "out", "--dataset", "a b")) == 0
    assert "3 questions" in capsys.readouterr().out and sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(file_names("a b"))
    found, = gating_recorded.of_files("out/*", tmp_path)
    assert found.data.dataset == "a b" and found.data.qids.tolist() == ["id-0", "id-1", "id-2"]
    assert main(["--world", "1", "--documents", "60", "--out", str(tmp_path / "out")]) == 0
    assert [f.data.dataset for f in gating_recorded.of_files("out/*.gz", tmp_path)] == ["a b", "world"]
    assert len(gating_recorded.of_files("out/world-*", tmp_path)[0].data.qids) == 3


@pytest.mark.parametrize("more, said", [([], "name a corpus by"), (["--world", "0"], "name a corpus by"), (["--world", "-1"], "--world must be"),
                                        (["--world", "1", "--documents", "0"], "--documents must be"),
                                        (["--world", "900", "--documents", "60"], "questions of"),
                                        (["--world", "1", "--corpus", "x"], "name a corpus by"), (["--corpus", "x"], "name a corpus by"),
                                        (["--world", "1", "--dataset", "a/b"], "without slashes"),
                                        (["--world", "1", "--dataset", ""], "without slashes"),
                                        (["--world", "1", "--dataset", ".."], "without slashes")])
def test_commands_that_cannot_be(tmp_path, capsys, more, said, fakes):
    assert main([*more, "--out", str(tmp_path / "out")]) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists() and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_refused_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gating_records, "recorded", lambda *a, **b: pytest.fail("hours of work for nothing"))
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "below", ""):
        assert main(["--world", "1", "--documents", "60", "--out", str(out)]) == 1
        assert "cannot go into" in (said := capsys.readouterr().err) or "no folder" in said
    (tmp_path / "out" / "world-questions.csv.gz").mkdir(parents=True)
    assert main(["--world", "1", "--documents", "60", "--out", str(tmp_path / "out")]) == 1 and "is a folder there" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", ".hidden", "a\\b", "a\nb", "a\0b", "x" * 300])
def test_names_that_no_file_can_bear(name):
    with pytest.raises(ValueError, match="the data set is called"):
        file_names(name)


def test_one_data_set_a_pair(fakes, tmp_path):
    questions, candidates, _ = made(3)
    for wrong in (questions[:0], pd.concat([questions, questions.assign(dataset="e")])):
        with pytest.raises(ValueError, match="a pair of files holds one data set, got"):
            write(wrong, candidates[:0] if wrong.empty else candidates, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_killed_write_leaves_no_half(fakes, tmp_path, monkeypatch):
    questions, candidates, _ = made(6)
    real, calls = gating_records.write_atomically, []

    def dies(path, save):
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(path, save)

    monkeypatch.setattr(gating_records, "write_atomically", dies)
    with pytest.raises(KeyboardInterrupt):
        write(questions, candidates, tmp_path)
    assert gating_recorded.of_files("*", tmp_path) == [], "no pair is found before it is whole"
    monkeypatch.setattr(gating_records, "write_atomically", real)
    write(questions, candidates, tmp_path)
    assert len(gating_recorded.of_files("*", tmp_path)) == 1
    calls.clear()
    monkeypatch.setattr(gating_records, "write_atomically", dies)
    other = candidates.assign(score_h=candidates["score_h"] / 2)
    with pytest.raises(KeyboardInterrupt):
        write(questions, other, tmp_path)
    with pytest.raises(ValueError, match="the two files do not belong together; write it anew"):
        read(tmp_path)


# --- files that cannot be

@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The two files of five questions, as bytes by name."""
    patch = pytest.MonkeyPatch()
    fake(patch)
    folder = tmp_path_factory.mktemp("pair")
    try:
        questions, candidates, _ = made(5)
        return {p.name: p.read_bytes() for p in write(questions, candidates, folder)}
    finally:
        patch.undo()


@pytest.fixture
def folder(pair, tmp_path):
    for name, content in pair.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def cell(row, column, value):
    def change(rows):
        rows.loc[row, column] = value
        return rows

    return change


@pytest.mark.parametrize("which", ["questions", "candidates"])
def test_missing_truncated_and_other_files(folder, which):
    path = edited(folder, which, None)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-4], b"", b"no gzip", whole[:40] + b"\0\0\0" + whole[43:], gzip.compress(b""),
                    gzip.compress(b"\xff\xfe,a\n")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"d-{which}.csv.gz.*python -m lib.gating_records"):
            read(folder)
    path.unlink()
    with pytest.raises(ValueError, match=f"d-{which}.csv.gz is not there"):
        read(folder)
    path.mkdir()
    with pytest.raises(ValueError, match=f"d-{which}.csv.gz cannot be read"):
        read(folder)


@pytest.mark.parametrize("which, change, said", [
    ("questions", cell(1, "schema", "0123456789abcdef"), "feature schema .'0123456789abcdef'.*this library computes"),
    ("questions", cell(1, "h_mean", ""), "d-questions.csv.gz, row 2: .* cannot be"),
    ("questions", cell(1, "h_mean", "NaN"), "row 2"), ("questions", cell(1, "v3", "inf"), "row 2"), ("questions", cell(2, "v_std", "much"), "row 3"),
    ("questions", cell(1, "qid", ""), "row 2"), ("questions", cell(1, "qid", "q000"), "row 2"), ("questions", cell(0, "target", ""), "row 1"),
    ("questions", cell(0, "half", ""), "row 1"), ("questions", cell(0, "half", "2"), "row 1"),
    ("questions", cell(4, "pairs", ""), "row 5"), ("questions", cell(4, "tokens", "many"), "row 5"),
    ("questions", cell(4, "tokens", "-inf"), "row 5"), ("questions", cell(0, "n_hops", "two"), "row 1"), ("questions", cell(0, "reranker", ""), "row 1"),
    ("questions", cell(0, "pairs", "3"), "'q000' has 10 candidates, ranks to 10, where 3 were reranked"),
    ("questions", cell(0, "dataset", "e"), "one data set a file"), ("questions", lambda r: r.assign(dataset="e"), "stand in one of the two files alone"),
    ("questions", lambda r: r[1:], "1 questions stand in one of the two files alone, 'q000' first"),
    ("questions", lambda r: r[:0], "d-questions.csv.gz holds no questions"),
    ("questions", lambda r: r.drop(columns="h_max"), "columns .'h_max'. are missing"),
    ("questions", cell(2, "h_score_1", "0.9"), "feature h_score_1 of question 'q002' is 0.9, and its lists say"),
    ("questions", cell(2, "jaccard_5", "0.123"), "feature jaccard_5 of question 'q002' is 0.123"),
    ("candidates", lambda r: r[:-1], "'q004' has 9 candidates"), ("candidates", lambda r: r[1:], "'q000' has 9 candidates, ranks to 10"),
    ("candidates", lambda r: r[r["qid"] != "q003"], "1 questions stand in one of the two files alone, 'q003' first"),
    ("candidates", lambda r: r[:0], "d-candidates.csv.gz holds no candidates"), ("candidates", lambda r: pd.concat([r, r[:1]]), "row 51"),
    ("candidates", lambda r: r.drop(columns="title_key"), "columns .'title_key'. are missing"),
    ("candidates", cell(0, "rank_h", "0"), "row 1"), ("candidates", cell(0, "rank_h", "1.5"), "row 1"), ("candidates", cell(0, "rank_v", "first"), "row 1"),
    ("candidates", cell(0, "rank_r", "-1"), "row 1"), ("candidates", cell(0, "rank", ""), "row 1"), ("candidates", cell(0, "rank_h", "1e300"), "row 1"),
    ("candidates", cell(0, "rank_h", "inf"), "row 1"), ("candidates", cell(0, "rank_r", "NaN"), "row 1"),
    ("candidates", cell(0, "score_h", "inf"), "row 1"), ("candidates", cell(0, "score_v", "high"), "row 1"), ("candidates", cell(0, "score_h", ""), "row 1"),
    ("candidates", cell(0, "score_r", "NaN"), "row 1"), ("candidates", cell(0, "overlap", ""), "row 1"), ("candidates", cell(0, "title_key", ""), "row 1"),
    ("candidates", cell(3, "doc_id", ""), "row 4"), ("candidates", cell(0, "rank_r", "2"), "candidates: the ranks of .*do not count 1, 2, 3"),
    ("candidates", lambda r: r.assign(rank_r="", score_r=""), "d-questions.csv.gz: .*no list by the reranker"),
    ("candidates", lambda r: r.assign(score_h=r["score_h"].astype(float) * 3), "do not belong together"),
    ("candidates", lambda r: r.assign(title_key="same"), "do not belong together"),
])
def test_edited_files(folder, which, change, said):
    edited(folder, which, change)
    with pytest.raises(ValueError, match=said) as told:
        read(folder)
    assert "python -m lib.gating_records" in str(told.value)


def test_the_order_of_lines_and_further_columns_change_nothing(folder):
    one = read(folder)
    edited(folder, "questions", lambda r: r[::-1].assign(more="x"))
    edited(folder, "candidates", lambda r: r.sample(frac=1, random_state=0).assign(more=""))
    two = read(folder)
    assert (one.data.features == two.data.features).all() and (one.data.vectors == two.data.vectors).all() and one.usage.equals(two.usage)
    places = np.arange(5)
    assert one.data.distil(places[:3], places[3:]).tolist() == two.data.distil(places[:3], places[3:]).tolist()


def test_tokens_that_nobody_counted_are_missing(folder):
    edited(folder, "questions", lambda r: r.assign(tokens=""))
    assert read(folder).usage["tokens"].isna().all()


@pytest.mark.parametrize("pattern", [None, 3, ["*"], "/tmp/*", "../*", "a/../../*", ".", "./", "***", "a/**b", "a" * 256, "a/" * 300, "a\0", "a\n"])
def test_patterns_that_are_none(pattern, tmp_path):
    with pytest.raises(ValueError, match="files must be a pattern of file names below the repository"):
        gating_recorded.of_files(pattern, tmp_path)


def test_patterns(folder):
    for pattern in ("", " ", "nothing/*", "*-candidates.csv.gz"):
        assert gating_recorded.of_files(pattern, folder) == []
    assert [r.data.dataset for r in gating_recorded.of_files("**/*", folder)] == ["d"] and len(gating_recorded.of_files("d-questions.csv.gz", folder)) == 1
    (folder / "copy").mkdir()
    for path in list(folder.glob("*.gz")):
        (folder / "copy" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match="holds the data set 'd', and so does"):
        gating_recorded.of_files("**/*.gz", folder)


def test_a_set_is_read_by_its_questions_whatever_it_is_called(folder):
    with pytest.raises(ValueError, match="is read by its file of questions"):
        gating_recorded.read(folder / "d-candidates.csv.gz")
    for path in list(folder.glob("*.gz")):
        path.rename(folder / path.name.replace("d-", "my-questions.csv.gz-and-candidates-"))
    found, = gating_recorded.of_files("my*", folder)
    assert found.data.dataset == "d"


def test_files_that_are_there_are_not_written_over_unasked(tmp_path):
    (tmp_path / "world-questions.csv.gz").write_bytes(b"kept")
    for command in (gating_records.main,):
        assert command(["--world", "2", "--documents", "60", "--out", str(tmp_path)]) == 1
    assert (tmp_path / "world-questions.csv.gz").read_bytes() == b"kept"
    with pytest.raises(ValueError, match="world-questions.csv.gz is there already.*--dataset.*--replace"):
        gating_records.check_absent(tmp_path, ["world-questions.csv.gz"], False)
    gating_records.check_absent(tmp_path, ["world-questions.csv.gz"], True)
    gating_records.check_absent(tmp_path, ["mine-questions.csv.gz"], False)
