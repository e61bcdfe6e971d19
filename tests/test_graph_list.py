"""The graph list: PageRank by hand and by power iteration, a bridge that no dense list finds, and what happens where nothing is to be found."""
import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from lib import (
    graph_list,
    graph_list_index,
    graph_list_kept,
    graph_list_parse,
    graph_list_phrases,
    graph_list_seeds,
    iterative,
    retrieval,
    weights,
)
from lib.graph_list_choices import Choices, checked
from lib.graph_list_kept import Index
from lib.store import Store, StoreError

TEXTS = {"bridge": ("Old Bridge", "The Old Bridge of Tollwick was drawn by Isott Vane in a flood year."),
         "vane": ("Isott Vane", "Isott Vane came from Gedney Hythe."),
         "mill": ("New Mill", "In which village was the engineer of the mill born? Nobody says where the engineer was born."),
         "bees": ("Bees", "Bees sleep in winter.")}
QUESTION = "In which village was the engineer of the Old Bridge born?"


class Words:
    """A text as the hashed bag of its words, unit length: cosine 1 for the same words, near 0 for others."""

    name = "words"

    def encode(self, texts):
        rows = np.zeros((len(texts), 512), np.float32)
        for row, told in zip(rows, texts):
            for word in re.findall(r"\w+", told.lower()):
                row[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 512] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


class Capitals:
    """Names are runs of capitalised words, and the first of a text has to do with each of the others; counts what it parses."""

    name = "capitals"

    def __init__(self):
        self.parsed = 0

    def parse(self, told):
        self.parsed += 1
        spans = [[m.start(), m.end()] for name in iterative.names(told) for m in [re.search(re.escape(name), told)]]
        return {"phrases": sorted(spans), "triples": [[*spans[0], "and", *other] for other in spans[1:]]}


def tables(asked=(QUESTION,), texts=TEXTS):
    documents = pd.DataFrame([("d", i, t, body) for i, (t, body) in texts.items()], columns=["dataset", "doc_id", "title", "text"])
    return pd.DataFrame({"dataset": "d", "qid": [f"q{i}" for i in range(len(asked))], "question": list(asked)}), documents


def ranked(questions, documents, tmp_path=None, **more):
    store = Store(recorded=(tmp_path or graph_list_parse.CACHE) / "none", cache=tmp_path / "store") if tmp_path else Nowhere()
    return graph_list.rank_all(questions, documents, Words(), 50, None, 512, **{"parser": Capitals(), "linker": Words(), "graphs": None, "store": store} | more)


class Nowhere:
    """A store that keeps nothing."""

    def get_sound(self, group, keys, sound):
        return {}

    def put_many(self, group, values):
        pass

    def close(self):
        pass


def tiny(n_passages, contains, relations=(), synonyms=(), n_phrases=1) -> Index:
    pairs = [np.array(p, int).reshape(-1, 2) for p in (contains, relations, synonyms)]
    return Index(np.arange(n_passages), np.array([f"p{i}" for i in range(n_phrases)]), np.ones(n_phrases, bool), pairs[0], pairs[1], np.ones(len(pairs[1])),
                 pairs[2], np.full(len(pairs[2]), 0.9), np.zeros((0, 2), int), np.array([], str))


def test_pagerank_by_hand():
    # passage 0 - phrase - passage 1, started at passage 0, damping 1/2: x0 = 1/2 + f/4, f = (x0 + x1)/2, x1 = f/4, so f = 1/3
    graph = graph_list.linked(tiny(2, [(0, 0), (1, 0)]))
    assert graph_list.visited(graph, np.array([1.0, 0, 0]), 0.5, 2) == pytest.approx([7 / 12, 1 / 12], abs=1e-9)


def test_pagerank_equals_power_iteration():
    rng = np.random.default_rng(3)
    n, f = 40, 90
    index = Index(np.arange(n), np.arange(f).astype(str), np.ones(f, bool), np.column_stack([rng.integers(0, n - 2, 150), rng.integers(0, f, 150)]),
                  rng.integers(0, f, (60, 2)), rng.integers(1, 4, 60).astype(float), rng.integers(0, f, (20, 2)), rng.uniform(0.8, 1, 20),
                  np.zeros((0, 2), int), np.array([], str))
    choices = Choices(relation=0.7)
    edges = np.concatenate([index.contains + [0, n], index.relations + n, index.synonyms + n])
    values = np.concatenate([np.ones(150), 0.7 * index.said, index.cosines])
    one_way = sparse.coo_array((values, edges.T), (n + f, n + f)).tocsr()
    both = (one_way + one_way.T).tocsr()
    out = both.sum(0)
    start = rng.random(n + f) * (rng.random(n + f) < 0.2)
    start[n - 1] = 0.5  # nothing leads on from the last passage: the walk starts again
    start /= start.sum()
    for damping in (0.5, 0.85):
        x = start.copy()
        for _ in range(400):
            x = damping * (both @ (x / np.where(out > 0, out, 1)) + start * x[out == 0].sum()) + (1 - damping) * start
        assert np.abs(graph_list.visited(graph_list.linked(index, choices), start, damping, n) - x[:n]).max() < 1e-8


def test_a_bridge_that_dense_cannot_find():
    questions, documents = tables()
    found = ranked(questions, documents)[0]
    assert found["doc_id"].tolist()[:2] == ["bridge", "vane"]
    vectors = Words().encode([retrieval.passage(d.title, d.text) for d in documents.itertuples()])
    cosines = dict(zip(documents["doc_id"], Words().encode([QUESTION])[0] @ vectors.T))
    assert cosines["vane"] == min(cosines["vane"], cosines["bridge"], cosines["mill"]) and cosines["mill"] == max(cosines.values())


def test_scores_are_a_share_and_fall():
    found = ranked(*tables())[0]
    assert found["score"].is_monotonic_decreasing and 0 < found["score"].sum() < 1 and found["rank"].tolist() == [1, 2, 3, 4]
    assert set(found["ranker"]) == {"graph"} and set(found["scope"]) == {"pooled"}


def test_order_and_names_of_rows_change_nothing():
    questions, documents = tables((QUESTION, "Who was Isott Vane?", "What do Bees do?"))
    straight = ranked(questions, documents)[0]
    shuffled = ranked(questions.sample(frac=1, random_state=1), documents.sample(frac=1, random_state=2).assign(doc_id=lambda d: "x" + d["doc_id"]))[0]
    key = ["qid", "rank"]
    again = shuffled.assign(doc_id=shuffled["doc_id"].str[1:]).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(straight.sort_values(key, ignore_index=True), again)


def test_more_questions_change_no_list():
    many = ranked(*tables((QUESTION, "Who was Isott Vane?")))[0]
    alone = ranked(*tables())[0]
    pd.testing.assert_frame_equal(many[many["qid"] == "q0"].reset_index(drop=True), alone)


def test_empty_corpus_and_no_question_have_no_rows():
    questions, documents = tables()
    for found in (ranked(questions, documents[:0]), ranked(questions[:0], documents)):
        assert len(found[0]) == len(found[1]) == 0 and list(found[0].columns) == graph_list.COLUMNS


def test_without_entities_the_passages_alone_are_seeds():
    questions, documents = tables(("what sleeps in winter",), {"a": ("", "bees sleep in winter"), "b": ("", "eels swim")})
    found, started = ranked(questions, documents)
    assert started["fell_back"].tolist() == [True] and started["seeds"].tolist() == [0] and found["doc_id"].tolist() == ["a", "b"]


def test_a_question_without_seeds_falls_back_and_is_counted():
    found, started = ranked(*tables((QUESTION, "what sleeps in winter")))
    assert started["fell_back"].tolist() == [False, True] and found[found["qid"] == "q1"]["doc_id"].iat[0] == "bees"


def test_the_index_is_kept_by_content(tmp_path):
    questions, documents = tables()
    parser = Capitals()
    first = ranked(questions, documents, tmp_path, parser=parser, graphs=tmp_path)[0]
    assert parser.parsed == 5 and len(list(tmp_path.glob("index-*.npz"))) == 1
    (tmp_path / "store").rename(tmp_path / "gone")
    again = ranked(questions, documents.sample(frac=1, random_state=0), tmp_path, parser=parser, graphs=tmp_path)[0]
    assert parser.parsed == 6  # the question alone: the graph was kept
    pd.testing.assert_frame_equal(first, again)
    changed = documents.assign(text=documents["text"].replace(TEXTS["bees"][1], "Bees met Isott Vane."))
    ranked(questions, changed, tmp_path, parser=parser, graphs=tmp_path)
    assert len(list(tmp_path.glob("index-*.npz"))) == 2
    assert not list(tmp_path.glob("*.partial"))


def test_near_names_equal_brute_force(monkeypatch):
    monkeypatch.setattr(graph_list_index, "BLOCK", 7)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    phrases, names = [f"n{i}" for i in range(30)], rng.random(30) < 0.8

    class Given:
        name = "given"

        def encode(self, texts):
            return np.array([vectors[int(t[1:])] for t in texts])

    pairs, cosines = graph_list_index.near(phrases, names, Given(), 0.7, 30)
    truth = {(i, j): vectors[i] @ vectors[j] for i in range(30) for j in range(i + 1, 30) if names[i] and names[j] and vectors[i] @ vectors[j] >= 0.7}
    assert set(map(tuple, pairs.tolist())) == set(truth)
    assert cosines == pytest.approx([truth[tuple(p)] for p in pairs.tolist()], abs=1e-5)
    one = graph_list_index.near(phrases, names, Given(), 0.7, 1)[0]
    nearest = {tuple(sorted((i, max((j for j in range(30) if names[j] and j != i), key=lambda j: vectors[i] @ vectors[j])))) for i in range(30) if names[i]}
    assert set(map(tuple, one.tolist())) == nearest & set(truth)
    assert not len(graph_list_index.near(phrases, names, Given(), 1.1, 30)[0])


@pytest.mark.parametrize("choices", [Choices(), Choices(seeds="triples", synonym=1.1)])
def test_a_linker_whose_vectors_are_no_numbers_is_refused(choices):
    class Broken(Words):
        name = "broken"

        def encode(self, texts):
            found = super().encode(texts)
            found[0, 0] = np.nan
            return found

    with pytest.raises(ValueError, match="encoder 'broken' gives a vector with NaN or infinity for"):
        ranked(*tables(), linker=Broken(), choices=choices)


def test_specific_seeds_weigh_less_where_many_passages_hold_them():
    index = tiny(3, [(0, 0), (1, 0), (2, 1)], n_phrases=2)
    for specific, weights_ in ((True, [0.5, 1.0]), (False, [1.0, 1.0])):
        (found,) = graph_list_seeds.seeds(["P0 and P1"], [{"phrases": [], "triples": []}], index, Words(), Choices(specific=specific, seeds="names"))
        assert found.weights.tolist() == weights_ and found.names == 2


def test_the_longest_name_of_the_question_wins():
    parse = {"phrases": [[16, 24], [45, 49]], "triples": []}
    assert graph_list_phrases.asked("Who is in film The Ride (1994 film) with Mr. Nobo?", parse, {"ride", "ride 1994 film", "who"})[0] == ["ride 1994 film"]
    assert graph_list_phrases.asked("Where is Xan Dole?", {"phrases": [[9, 17]], "triples": []}, {"xan"}) == (["xan"], ["xan dole"])


def test_start_weights_add_up():
    seeds = graph_list_seeds.Seeds(np.array([1]), np.array([0.25]), 1, 0, 0, 0)
    start, fell_back = graph_list_seeds.starts(seeds, np.array([0.9, 0.5, 0.1]), 2, Choices(passage_share=0.2, passages=1))
    assert start.tolist() == pytest.approx([0.2, 0, 0, 0, 0.8]) and not fell_back
    nothing = graph_list_seeds.Seeds(np.array([], int), np.array([]), 0, 0, 0, 0)
    assert graph_list_seeds.starts(nothing, np.array([0.9, 0.5, 0.1]), 2, Choices(passages=1)) [1]
    assert graph_list_seeds.starts(nothing, np.array([0.2, 0.2]), 2, Choices())[0].sum() == 0


@pytest.mark.parametrize("wrong", [{"damping": 1.0}, {"damping": "0.5"}, {"passage_share": 1.5}, {"seeds": "all"}, {"passages": 0}, {"triples": 2.0}])
def test_choices_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        checked(Choices(**wrong))


def test_damaged_parse_is_said(tmp_path):
    store, parser = Store(recorded=tmp_path / "none", cache=tmp_path / "store"), Capitals()
    graph_list_parse.parsed(["Marl"], parser, store)
    told = graph_list_parse.group(parser)
    store.put_many(told, {graph_list_parse.entry_key(told, "Marl"): {"phrases": [[0, 99]], "triples": []}})
    with pytest.raises(StoreError, match="damaged"):
        graph_list_parse.parsed(["Marl"], parser, store)


def test_triples_of_a_real_parse():
    told = "The Marl, a brown river, was bridged by Edda Vane and ends in Aumes. It feeds the Sorrel."
    try:
        parse = graph_list_parse.SpacyParser().parse(told)
    except weights.WeightsError as missing:
        pytest.skip(str(missing))
    said = graph_list_phrases.said("Marl", told, parse)
    pairs = {(a, b) for a, _, b in said.triples}
    assert {("marl", "edda vane"), ("marl", "aumes"), ("marl", "sorrel")} <= pairs and "edda vane" in said.names
    without = graph_list_phrases.said("Marl", told, parse, topic=False)
    assert graph_list_parse.sound(parse, len(told)) and ("marl", "sorrel") not in {(a, b) for a, _, b in without.triples}


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_text_is_an_empty_one_and_no_word(missing):
    texts = {**TEXTS, "bare": ("None", "Nan is a river."), "gone": ("", ""), "title": ("", "Eels met Xan Dole."), "text": ("Xan Dole", "")}
    asked = (QUESTION, "Who is Xan Dole?", "")
    straight, (questions, documents) = ranked(*tables(asked, texts))[0], tables(asked, texts)
    holed = documents.assign(title=documents["title"].where(documents["title"] != "", missing), text=documents["text"].where(documents["text"] != "", missing))
    found, started = ranked(questions.assign(question=questions["question"].where(questions["question"] != "", missing)), holed)
    pd.testing.assert_frame_equal(found, straight)
    assert started["fell_back"].tolist() == [False, False, True] and started["names"].tolist() == [1, 1, 0]  # the missing question names neither None nor nan
    made = graph_list_index.index(holed, Choices(), Capitals(), Nowhere(), Words(), None)
    assert (made.phrases == "none").sum() == 1 and made.contains[:, 1].tolist().count(made.phrases.tolist().index("none")) == 1


@pytest.mark.parametrize("wrong, said", [(dict(text=3), "a text is 3, expected text"), (dict(title=1984), "a title is 1984"),
                                         (dict(doc_id="same"), "given twice")])
def test_documents_that_cannot_be(wrong, said):
    questions, documents = tables()
    with pytest.raises(ValueError, match=said):
        ranked(questions, documents.assign(**wrong))
    with pytest.raises(ValueError, match="given twice"):
        ranked(pd.concat([questions, questions]), documents)
    for changed, told in ((dict(doc_id=[None, *"abc"]), "doc_id is missing in row 0"), (dict(doc_id=np.nan), "doc_id is missing")):
        with pytest.raises(ValueError, match=told):
            ranked(questions, documents.assign(**changed))
    for asked, told in ((questions.assign(qid=None), "qid is missing in row 0"), (questions.drop(columns="dataset"), "columns .'dataset'. are missing")):
        with pytest.raises(ValueError, match=told):
            ranked(asked, documents)
    with pytest.raises(ValueError, match="one at a time"):
        ranked(pd.concat([questions, questions.assign(dataset="e")]), documents)


def test_passages_of_one_text_stand_by_doc_id_whatever_the_order_of_rows():
    questions, documents = tables((QUESTION, "what sleeps in winter"))
    documents = pd.concat([documents, *(documents.assign(doc_id=documents["doc_id"] + s) for s in ("-b", "-c"))], ignore_index=True)
    straight = ranked(questions, documents)[0]
    for seed in range(4):
        pd.testing.assert_frame_equal(ranked(questions, documents.sample(frac=1, random_state=seed))[0], straight)
    for _, part in straight.groupby(["qid", "score"]):
        same = part["doc_id"].str.partition("-")
        assert all(mine.is_monotonic_increasing for _, mine in same[2].groupby(same[0]))
    assert straight["doc_id"].tolist()[:3] == ["bridge", "bridge-b", "bridge-c"]


def damaged(path, how):
    whole = path.read_bytes()
    if how == "short":
        path.write_bytes(whole[:len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "bits":
        path.write_bytes(whole[:200] + bytes(255 - b for b in whole[200:260]) + whole[260:])
    elif how == "no zip":
        path.write_bytes(b"\x80\x04pickle")
    else:
        with np.load(path) as kept:
            arrays = dict(kept)
        name, value = how
        arrays.pop(name) if value is None else arrays.update({name: value(arrays[name])})
        np.savez_compressed(path, **arrays)


@pytest.mark.parametrize("how", ["short", "empty", "bits", "no zip", ("phrases", None), ("contains", lambda a: a + 1000), ("contains", lambda a: a.ravel()),
                                 ("relations", lambda a: -a - 1), ("said", lambda a: a * np.nan), ("names", lambda a: a[:-1]),
                                 ("told", lambda a: a.astype(object)),
                                 ("facts", lambda a: a.astype(float)), ("phrases", lambda a: a[::-1]), ("said", lambda a: 2 * a)], ids=str)
def test_a_damaged_graph_is_built_anew(tmp_path, how):
    questions, documents = tables()
    first = ranked(questions, documents, tmp_path, graphs=tmp_path)[0]
    (path,) = tmp_path.glob("index-*.npz")
    before = path.read_bytes()
    damaged(path, how)
    pd.testing.assert_frame_equal(ranked(questions, documents, tmp_path, graphs=tmp_path)[0], first)
    assert graph_list_kept.read(path, np.arange(4)) is not None and len(path.read_bytes()) == len(before)


def test_a_kept_graph_of_old_has_no_checksum_and_is_read(tmp_path):
    questions, documents = tables()
    ranked(questions, documents, tmp_path, graphs=tmp_path)
    (path,) = tmp_path.glob("index-*.npz")
    damaged(path, ("checksum", None))
    assert graph_list_kept.read(path, np.arange(4)) is not None and graph_list_kept.read(tmp_path / "none.npz", np.arange(4)) is None


@pytest.mark.parametrize("parse", [None, {}, {"phrases": [[0, 99]], "triples": []}, {"phrases": [[3, 1]], "triples": []}, {"phrases": [[0, 1]]},
                                   {"phrases": [[0, 1]], "triples": [[0, 1, None, 2, 3]]}, {"phrases": [[0.0, 1.0]], "triples": []}])
def test_a_parser_that_gives_no_parse_stores_nothing(tmp_path, parse):
    store, bad = Store(recorded=tmp_path / "none", cache=tmp_path / "store"), Capitals()
    bad.parse = lambda told: parse
    with pytest.raises(ValueError, match="gave no parse of a text of 4 characters, 'Marl'"):
        graph_list_parse.parsed(["Marl"], bad, store)
    told = graph_list_parse.group(bad)
    assert store.get_many([graph_list_parse.entry_key(told, "Marl")]) == {}
    assert graph_list_parse.parsed(["Marl"], Capitals(), store) == [{"phrases": [[0, 4]], "triples": []}]
    with pytest.raises(ValueError, match="a text to parse is None"):
        graph_list_parse.parsed([None], Capitals(), store)


def test_a_parse_cache_cut_short_is_said(tmp_path):
    store = Store(recorded=tmp_path / "none", cache=tmp_path / "store")
    graph_list_parse.parsed(["Marl"], Capitals(), store)
    file = tmp_path / "store" / "cache.db"
    file.write_bytes(file.read_bytes()[:3000])
    for rest in (tmp_path / "store").glob("cache.db-*"):
        rest.unlink()
    with pytest.raises(StoreError):
        graph_list_parse.parsed(["Marl", "Aumes"], Capitals(), Store(recorded=tmp_path / "none", cache=tmp_path / "store"))


def test_a_graph_that_cannot_be_kept_is_no_reason_to_stop(tmp_path, caplog):
    questions, documents = tables()
    (tmp_path / "file").write_text("")
    found = ranked(questions, documents, tmp_path, graphs=tmp_path / "file")[0]
    pd.testing.assert_frame_equal(found, ranked(questions, documents)[0])
    assert "cannot be kept" in caplog.text
