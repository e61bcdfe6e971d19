"""Deep lists: read from a corpus and a world, ranked, scored through the store (resuming), written without text, read back as they were."""
import gzip
import json

import pandas as pd
import pytest

from lib import cross_encoder, depth, depth_corpus, depth_scores
from lib.depth_corpus import first_of, first_stage, read_corpus, read_worlds
from lib.records import DataError
from lib.store import Store

WORDS = ("eels swim in rivers", "towns sleep at night", "rivers feed eels", "halls cost money", "a town by a river", "money sleeps")


class Hashed:
    """An encoder of word counts."""
    name, dimensions = "hashed", 32

    def encode(self, texts):
        import numpy as np
        out = np.zeros((len(texts), 32), np.float32)
        for row, t in zip(out, texts):
            for w in t.lower().replace(".", "").split():
                row[sum(map(ord, w)) % 32] += 1
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def lines(path, rows):
    with gzip.open(path, "wt") as f:
        f.write("\n".join(json.dumps(r) for r in rows) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    corpus = lines(tmp_path / "corpus.jsonl.gz", [{"title": f"T{i}", "text": w} for i, w in enumerate(WORDS)])
    questions = lines(tmp_path / "questions.jsonl.gz", [{"id": f"q{i}", "question": q} for i, q in enumerate(("Where do eels swim?", "What does a hall cost?",
            "Who sleeps?"))])
    supporting = lines(tmp_path / "supporting.jsonl.gz", [{"_id": "q0", "type": "comparison", "supporting_facts": [["T0", 0], ["T2", 0], ["T0", 1]]},
                                                          {"_id": "q1", "type": "inference", "supporting_facts": [["T3", 0], ["missing", 0]]},
                                                          {"_id": "q2", "type": "inference", "supporting_facts": [["T1", 0]]}])
    return corpus, questions, supporting


@pytest.fixture
def made(files):
    return read_corpus(*files, "deep")


def test_a_corpus_is_read_with_the_questions_that_can_be_judged(made):
    assert made["questions"][["qid", "slice"]].values.tolist() == [["q0", "comparison"], ["q2", "inference"]], "q1 names a passage that is not there"
    assert len(made["documents"]) == 6 and made["gold"].groupby("qid").size().to_dict() == {"q0": 2, "q2": 1}
    assert set(made["gold"]["doc_id"]) <= set(made["documents"]["doc_id"])


def test_what_is_wrong_with_a_corpus_is_one_error(files, tmp_path):
    corpus, questions, supporting = files
    twice = lines(tmp_path / "twice.jsonl.gz", [{"title": "T", "text": "a"}, {"title": "T", "text": "b"}])
    with pytest.raises(DataError, match="line 2, field title"):
        read_corpus(twice, questions, supporting, "d")
    other = lines(tmp_path / "other.jsonl.gz", [{"_id": "z", "type": "t", "supporting_facts": [["T0", 0]]}])
    with pytest.raises(DataError, match="belong together"):
        read_corpus(corpus, questions, other, "d")
    with pytest.raises(DataError, match="field supporting_facts: is missing"):
        read_corpus(corpus, questions, lines(tmp_path / "bare.jsonl.gz", [{"_id": "q0", "type": "t"}]), "d")


def test_first_stages_rank_all_passages(made):
    for ranker in depth_corpus.RANKERS:
        lists = first_stage(made, ranker, 4, Hashed(), None)
        assert lists.groupby("qid")["rank"].agg(list).tolist() == [[1, 2, 3, 4]] * 2 and not lists.duplicated(["qid", "doc_id"]).any()
    top = first_stage(made, "bm25", 4).query("qid == 'q0' and rank == 1")["doc_id"].iat[0]
    assert made["documents"].set_index("doc_id").loc[top, "title"] in ("T0", "T2")
    assert len(first_stage(made, "bm25", 99)) == 12, "no deeper than the corpus"
    for wrong in (("splade", Hashed()), ("dense", None)):
        with pytest.raises(ValueError, match="a first stage is one of"):
            first_stage(made, wrong[0], 4, wrong[1])


def test_bm25_is_that_of_the_tables(made):
    from lib import retrieval
    pools = pd.DataFrame({"dataset": [], "qid": [], "doc_id": []}, dtype=object)
    peer = retrieval.rank(made["questions"], made["documents"], pools, Hashed(), scopes=("pooled",), depth=5, cache=None)
    peer = peer[peer["ranker"] == "bm25"].sort_values(["qid", "rank"])
    assert first_stage(made, "bm25", 5).sort_values(["qid", "rank"])["doc_id"].tolist() == peer["doc_id"].tolist()


def test_a_world_has_slices_by_hops_and_one_corpus():
    made = read_worlds(4, 120, hops=(1, 2))
    assert made["questions"]["slice"].value_counts().to_dict() == {"1 hop": 4, "2 hops": 4} and len(made["documents"]) == 120
    assert made["gold"].groupby("qid").size().value_counts().to_dict() == {1: 4, 2: 4} and set(made["gold"]["doc_id"]) <= set(made["documents"]["doc_id"])
    kept = first_of(made, 3)
    assert len(kept["questions"]) == 3 and set(kept["gold"]["qid"]) == set(kept["questions"]["qid"]) and len(kept["documents"]) == 120
    assert set(first_of(made, 2)["questions"]["qid"]) < set(kept["questions"]["qid"]) and len(first_of(made, 0)["questions"]) == 8


class Overlap:
    """Shared words, counted; it remembers what it was asked."""

    def __init__(self):
        self.asked = 0

    def score(self, pairs):
        self.asked += len(pairs)
        return [float(len(set(a.lower().split()) & set(b.lower().split()))) + len(b) / 7 for a, b in pairs]


class Letters:
    """A tokenizer of words."""

    def token_to_id(self, token):
        return 0

    def encode_batch(self, texts, add_special_tokens):
        return [type("E", (), {"ids": t.split()}) for t in texts]


@pytest.fixture
def fake(monkeypatch):
    scorer = Overlap()
    monkeypatch.setattr(cross_encoder, "open_cross_encoder", lambda *a: scorer)
    monkeypatch.setattr(depth_scores, "load_tokenizer", lambda folder: Letters())
    group = {"kind": "cross_encoder", "model": "m", "revision": "r", "precision": "fp32", "decoding": {"max_length": 32}}
    monkeypatch.setattr(cross_encoder, "cross_encoder_group", lambda spec, cards=None: group)
    monkeypatch.setattr(depth_scores, "cross_encoder_group", lambda spec: group)
    return scorer


def test_scores_resume_are_written_without_text_and_read_back(made, fake, tmp_path):
    store, lists = Store(tmp_path / "recorded", tmp_path / "store"), first_stage(made, "bm25", 4)
    rows = depth_scores.scored(lists, made, {"model": "m"}, store)
    assert fake.asked == 8 and depth_scores.scored(lists, made, {"model": "m"}, store).equals(rows) and fake.asked == 8
    assert rows["tokens"].min() > 6 and rows["n_gold"].tolist() == [2] * 4 + [1] * 4
    for name in ("scores.csv", "scores.csv.gz"):
        path = depth_scores.write_scores(rows, tmp_path / "out" / name)
        text = (gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()).decode()
        assert not any(w in text for w in ("eels", "T0", made["documents"]["doc_id"].iat[0]))
        before = path.read_bytes()
        assert depth_scores.write_scores(rows, path).read_bytes() == before
        read, gold, questions = depth_scores.read_scores(path)
        direct = depth.depth_rows(depth.graded(lists.assign(score=rows["score"].to_numpy()), made["gold"]), made["gold"], made["questions"], depths=(2, 4), m=3)
        again = depth.depth_rows(read, gold, questions, depths=(2, 4), m=3)
        pd.testing.assert_frame_equal(again.drop(columns="tokens"), direct.drop(columns="tokens"), check_dtype=False)


def test_files_that_are_no_scores_are_one_error(tmp_path):
    with pytest.raises(ValueError, match="is not there"):
        depth_scores.read_scores(tmp_path / "none.csv")
    (tmp_path / "x.csv").write_text("qid,rank\nq,1\n")
    with pytest.raises(ValueError, match="columns"):
        depth_scores.read_scores(tmp_path / "x.csv")
    pd.DataFrame([dict.fromkeys(depth_scores.COLUMNS, 2)]).to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match="grade of 2"):
        depth_scores.read_scores(tmp_path / "y.csv")


def told(tmp_path, **changed):
    rows = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "b", "b"], "slice": "s", "half": [0, 0, 1, 1], "rank": [1, 2, 1, 2], "score": [0.5, 0.25, None, 0.1],
                         "grade": [1, 0, 0, 1], "tokens": 9, "n_gold": [2, 2, 1, 1]})
    rows.assign(**changed).to_csv(tmp_path / "s.csv", index=False)
    return tmp_path / "s.csv"


def test_gold_is_counted_and_whole_numbers_may_be_written_with_a_point(tmp_path):
    lists, gold, questions = depth_scores.read_scores(told(tmp_path, n_gold=[2.0, 2.0, 1.0, 1.0], rank=[1.0, 2.0, 1.0, 2.0], half=[0.0, 0.0, 1.0, 1.0]))
    assert gold.groupby("qid").size().to_dict() == {"a": 2, "b": 1} and lists["rank"].tolist() == [1, 2, 1, 2] and questions["half"].tolist() == [0, 1]
    assert lists["rank"].dtype.kind == questions["half"].dtype.kind == "i"
    many = depth_scores.read_scores(told(tmp_path, n_gold=[depth_scores.MOST_GOLD] * 4))[1]
    assert len(many) == 2 * depth_scores.MOST_GOLD


@pytest.mark.parametrize("changed, line", [
    (dict(n_gold=[2, 2, 10**12, 10**12]), 4), (dict(n_gold=[10_001] * 4), 2), (dict(n_gold=[1e300] * 4), 2), (dict(n_gold=[2, 3, 1, 1]), 2),
    (dict(n_gold=[1.5] * 4), 2),
    (dict(rank=[1, 1, 1, 2]), 3), (dict(rank=[1, 2, 1, 1e12]), 5), (dict(half=[0, 1, 1, 1]), 2), (dict(half=[0, 0, 1, 1e300]), 4),
    (dict(slice=["s", "s", "s", "t"]), 4)])
def test_a_row_that_cannot_be_is_named_before_anything_is_made_of_it(tmp_path, changed, line):
    with pytest.raises(ValueError, match=f"s.csv, line {line}: .*cannot be.*10,000 at most"):
        depth_scores.read_scores(told(tmp_path, **changed))


def test_the_command_says_what_is_missing(capsys, tmp_path):
    assert depth_scores.main(["--out", str(tmp_path / "a.csv")]) == 1 and "name a corpus" in capsys.readouterr().err
    assert depth_scores.main(["--world", "3"]) == 1 and "--out FILE" in capsys.readouterr().err
    assert depth_scores.main(["--corpus", "no", "--questions", "no", "--supporting", "no", "--out", "x"]) == 1 and "is not there" in capsys.readouterr().err
