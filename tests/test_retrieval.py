"""First-stage rankings: unit vectors, a cache that survives a kill, BM25 and fusion by hand, and no document favoured for its name."""
import errno
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from small_world import TEXTS, Letters, world

from lib import iterative, ranking, retrieval
from lib.retrieval import bm25_scores, dense_scores, embed, ordered, rank, reciprocal_rank_fusion, tie_breaks, truncate
from lib.recorded import GROUP, entry_key
from lib.store import StoreError
from lib.text import content_terms

MANY = [f"text number {i} {'long ' * (i % 7)}" for i in range(20)]


def test_truncated_vectors_are_unit():
    vectors = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    short = truncate(vectors, 320)
    assert short.shape == (50, 320) and np.linalg.norm(short, axis=1) == pytest.approx(np.ones(50), abs=1e-6)
    assert short == pytest.approx(vectors[:, :320] / np.linalg.norm(vectors[:, :320], axis=1, keepdims=True), abs=1e-6)
    assert truncate(short, 320) == pytest.approx(short, abs=1e-6) and truncate(vectors[:, :8]).shape == (50, 8)
    assert not truncate(np.zeros((1, 4))).any()  # a text that says nothing has no direction


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vector_that_is_no_number_is_an_error(bad):
    with pytest.raises(ValueError, match="vector 1 of 2 holds NaN or infinity"):
        truncate([[1, 2], [bad, 1]])


def test_embed_encodes_each_distinct_text_once_ever(tmp_path):
    encoder = Letters()
    first = embed([*MANY, *MANY[::-1]], encoder, tmp_path, batch=8)
    assert sorted(t for b in encoder.batches for t in b) == sorted(MANY)
    assert (first[:20] == first[20:][::-1]).all() and (first[:20] == Letters().encode(MANY)).all()
    assert (embed(MANY[5:8], encoder, tmp_path) == first[5:8]).all() and len(encoder.batches) == 3
    assert embed([], encoder, tmp_path).shape[0] == 0


def test_a_killed_run_resumes_where_it_stopped_with_the_same_batches(tmp_path):
    whole = Letters()
    expected = embed(MANY, whole, None, batch=6)
    killed, resumed = Letters(fail_at=2), Letters()
    with pytest.raises(KeyboardInterrupt):
        embed(MANY, killed, tmp_path, batch=6)
    assert (embed(MANY, resumed, tmp_path, batch=6) == expected).all()
    assert killed.batches + resumed.batches == whole.batches


def test_a_batch_killed_while_it_is_stored_is_stored_wholly_or_not_at_all(tmp_path, monkeypatch):
    import diskcache

    written, store = [], diskcache.Cache.__setitem__

    def stop_at_the_ninth(self, key, value):
        written.append(key)
        if len(written) == 9:
            raise KeyboardInterrupt
        store(self, key, value)

    monkeypatch.setattr(diskcache.Cache, "__setitem__", stop_at_the_ninth)
    with pytest.raises(KeyboardInterrupt):
        embed(MANY, Letters(), tmp_path, batch=6)
    monkeypatch.undo()
    resumed, whole = Letters(), Letters()
    assert (embed(MANY, resumed, tmp_path, batch=6) == embed(MANY, whole, None, batch=6)).all()
    assert resumed.batches == whole.batches[1:]


def test_batches_do_not_depend_on_the_order_of_the_texts():
    one, two = Letters(), Letters()
    assert (embed(MANY, one, None, batch=6) == embed(MANY[::-1], two, None, batch=6)[::-1]).all()
    assert one.batches == two.batches


def test_another_encoder_has_other_vectors(tmp_path):
    class Lengths(Letters):
        name = "lengths"

        def encode(self, texts):
            return np.array([[len(t)] for t in texts])

    assert embed(MANY, Letters(), tmp_path).shape[1] == 26
    assert embed(MANY, Lengths(), tmp_path).shape[1] == 1


def test_an_encoder_that_loses_a_text_is_an_error():
    class Loser(Letters):
        def encode(self, texts):
            return super().encode(texts)[:-1]

    with pytest.raises(ValueError, match="shorter"):
        embed(MANY, Loser(), None)


def test_reciprocal_rank_fusion_by_hand():
    fused = reciprocal_rank_fusion([np.array([0, 2, 1]), np.array([2, 1])], n=4)
    assert fused == pytest.approx([1 / 61, 1 / 63 + 1 / 62, 1 / 62 + 1 / 61, 0])
    assert ordered(fused, np.arange(4), 4).tolist() == [2, 1, 0, 3]
    assert reciprocal_rank_fusion([np.array([1, 0])], n=2, k=0) == pytest.approx([0.5, 1])


def lucene_bm25(question, passages, k1=1.5, b=0.75):
    terms = [content_terms(p) for p in passages]
    n, mean = len(passages), np.mean([len(t) for t in terms])
    idf = {w: math.log(1 + (n - df + 0.5) / (df + 0.5)) for w in {w for t in terms for w in t} if (df := sum(w in t for t in terms))}
    return [sum(idf[w] * t.count(w) / (t.count(w) + k1 * (1 - b + b * len(t) / mean)) for w in content_terms(question) if w in idf) for t in terms]


def test_bm25_by_hand_unknown_words_included():
    passages = [f"{title}. {body}" for title, body in TEXTS.values()]
    asked = ["Which brown river is the Marl?", "brown zeppelin river river", "zeppelin", "Who is it?", ""]
    found = bm25_scores(asked, passages)
    assert found.shape == (5, 6) and found == pytest.approx(np.array([lucene_bm25(q, passages) for q in asked]), rel=1e-4)
    assert found[:2].any(axis=1).all() and not found[2:].any()


def test_bm25_of_nothing():
    assert bm25_scores([], ["a brown eel"]).shape == (0, 1)
    assert bm25_scores(["eel"], []).shape == (1, 0)
    assert bm25_scores(["eel"], ["the of", ""]).tolist() == [[0, 0]]


@pytest.mark.parametrize("seed", range(3))
def test_no_score_depends_on_a_documents_place(seed):
    rng = np.random.default_rng(seed)
    vectors, asked = (truncate(rng.normal(size=(n, 320))) for n in (331, 37))
    order = rng.permutation(331)
    assert (dense_scores(asked, vectors)[:, order] == dense_scores(asked, vectors[order])).all()
    assert (dense_scores(asked[:1], vectors) == dense_scores(asked, vectors)[:1]).all()
    assert dense_scores(asked, vectors) == pytest.approx(asked @ vectors.T, abs=1e-6)
    passages = [" ".join(rng.choice(["eel", "bee", "river", "sea"], 5)) for _ in range(331)]
    assert (bm25_scores(["eel bee", "sea"], passages)[:, order] == bm25_scores(["eel bee", "sea"], [passages[i] for i in order])).all()


def test_equal_scores_are_ordered_by_what_a_passage_says():
    passages = ["an eel", "a bee", "the sea"]
    by_place = [passages[i] for i in ordered(np.ones(3), tie_breaks(passages), 3)]
    turned = passages[::-1]
    assert [turned[i] for i in ordered(np.ones(3), tie_breaks(turned), 3)] == by_place
    assert ordered(np.array([0.5, 0.9, 0.7]), tie_breaks(passages), 2).tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_few_are_the_first_of_all_in_order(seed):
    rng = np.random.default_rng(seed)
    scores, ties = rng.integers(0, 4, 60).astype(rng.choice(["float32", "float64"])), rng.permutation(60)
    whole = sorted(range(60), key=lambda i: (-scores[i], ties[i]))
    assert all(ordered(scores, ties, depth).tolist() == whole[:depth] for depth in (0, 1, 7, 59, 60, 99))


def test_every_question_has_every_list_of_its_scope():
    questions, _, documents, pools, rankings = world()
    size = rankings.groupby(["qid", "scope", "ranker"]).size()
    for q in questions["qid"]:
        own = set(pools[pools["qid"] == q]["doc_id"])
        for ranker in ("dense", "bm25", "hybrid"):
            assert size[q, "pooled", ranker] == len(documents)
            assert size.get((q, "own", ranker), 0) == len(own)
            assert set(rankings.query("qid == @q and scope == 'own' and ranker == @ranker")["doc_id"]) == own
    for _, rows in rankings.groupby(["qid", "scope", "ranker"]):
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1)) and rows["score"].is_monotonic_decreasing and rows["doc_id"].is_unique


def test_depth_cuts_the_list_and_changes_nothing_above():
    questions, _, documents, pools, rankings = world()
    cut = rank(questions, documents, pools, Letters(), depth=2, cache=None)
    pd.testing.assert_frame_equal(cut, rankings[rankings["rank"] <= 2].reset_index(drop=True))


def test_renaming_documents_changes_no_score_and_no_order():
    other = dict(zip(TEXTS, ["z", "c", "y", "a", "k", "b"]))
    key = ["qid", "scope", "ranker", "rank"]
    before = world()[4].sort_values(key).reset_index(drop=True)
    after = world(rename=other.get, reverse=True)[4].sort_values(key).reset_index(drop=True)
    pd.testing.assert_frame_equal(before.assign(doc_id=before["doc_id"].map(other)), after)
    assert ((before["score"] == 0) & (before["ranker"] == "bm25")).sum() > 10  # ties are among them


def test_the_hybrid_list_is_the_fusion_of_the_other_two():
    _, _, _, _, rankings = world()
    for _, rows in rankings[rankings["qid"].isin(["q1", "q4"])].groupby(["qid", "scope"]):
        place = rows.pivot(index="doc_id", columns="ranker", values="rank")
        hybrid = rows[rows["ranker"] == "hybrid"].set_index("doc_id")["score"]
        assert hybrid.to_dict() == pytest.approx((1 / (60 + place["dense"]) + 1 / (60 + place["bm25"])).to_dict())


def test_the_rankings_fit_the_ranking_measures():
    _, gold, _, _, rankings = world()
    measured = ranking.ranking_measures(rankings, gold).set_index(["qid", "scope", "ranker"])
    assert measured.loc[("q1", "pooled", "bm25"), "recall_at_10"] == 1
    assert measured.loc[("q6", "own", "dense"), "recall_at_5"] == 0  # an empty pool: nothing found, still in the mean
    assert math.isnan(measured.loc[("q4", "own", "dense"), "recall_at_5"])  # no gold: undefined


def test_a_pool_that_names_an_unknown_document_is_an_error():
    questions, _, documents, pools, _ = world()
    with pytest.raises(ValueError, match="pool of question 'q1' names document 'bees', which is not in table documents"):
        rank(questions, documents[documents["doc_id"] != "bees"], pools, Letters(), cache=None)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), sqlite3.OperationalError("database or disk is full")])
def test_a_full_disk_is_one_clear_error_and_keeps_what_was_stored(tmp_path, monkeypatch, error):
    import diskcache

    embed(MANY[:3], Letters(), tmp_path)

    def full(*args, **options):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(diskcache.Cache, "__setitem__", full)
        with pytest.raises(StoreError, match=f"{tmp_path.name}: the disk is full"):
            embed(MANY, Letters(), tmp_path)
    again = Letters()
    embed(MANY[:3], again, tmp_path)
    assert again.batches == []


def test_a_damaged_cache_of_vectors_names_the_folder_to_delete(tmp_path):
    (tmp_path / "cache.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=f"cannot be used .*delete {tmp_path} and run again"):
        embed(MANY, Letters(), tmp_path)


@pytest.mark.parametrize("damage", [lambda v: v[:-1], lambda v: v[:-4], lambda v: b"", lambda v: "text", lambda v: None])
def test_a_damaged_vector_names_the_folder_to_delete(tmp_path, damage):
    import diskcache

    embed(MANY, Letters(), tmp_path)
    with diskcache.Cache(str(tmp_path)) as cache:
        key = next(iter(cache))
        cache[key] = damage(cache[key])
    with pytest.raises(StoreError, match=f"delete {tmp_path} and run again"):
        embed(MANY, Letters(), tmp_path)


def test_the_errors_of_an_encoder_are_not_taken_for_those_of_the_disk(tmp_path):
    class Broken(Letters):
        def encode(self, texts):
            raise OSError("the model is gone")

    with pytest.raises(OSError, match="^the model is gone$"):
        embed(MANY, Broken(), tmp_path)


def all_at_once(questions, documents, pools, encoder, scopes):
    """The lists by the definition: every score of every question and document held at once."""
    passages = [f"{d.title}. {d.text}" for d in documents.itertuples()]
    asked = questions["question"].tolist()
    scored = {"dense": dense_scores(truncate(encoder.encode(asked)), truncate(encoder.encode(passages))), "bm25": bm25_scores(asked, passages)}
    ties, place, out = tie_breaks(passages), {d: i for i, d in enumerate(documents["doc_id"])}, {}
    for scope in scopes:
        for i, q in enumerate(questions.itertuples()):
            inside = [place[d] for d in (documents if scope == "pooled" else pools[pools["qid"] == q.qid])["doc_id"]]
            lists = {name: sorted(inside, key=lambda j, s=s, i=i: (-s[i][j], ties[j])) for name, s in scored.items()}
            fused = {j: sum(1 / (61 + ranking.index(j)) for ranking in lists.values()) for j in inside}
            lists["hybrid"] = sorted(inside, key=lambda j, fused=fused: (-fused[j], ties[j]))
            out |= {(q.qid, scope, name): documents["doc_id"].iloc[ranking].tolist() for name, ranking in lists.items() if ranking}
    return out


@pytest.mark.parametrize("scopes", [("own",), ("pooled",), ("own", "pooled"), ("pooled", "own")])
@pytest.mark.parametrize("cells", [1, 13, 4_000_000])
def test_lists_do_not_depend_on_how_many_questions_are_scored_together(monkeypatch, scopes, cells):
    questions, _, documents, pools, _ = world()
    monkeypatch.setattr(retrieval, "CELLS", cells)
    found = rank(questions, documents, pools, Letters(), scopes=scopes, cache=None)
    lists = {key: rows["doc_id"].tolist() for key, rows in found.groupby(["qid", "scope", "ranker"])}
    assert lists == all_at_once(questions, documents, pools, Letters(), scopes)
    assert list(dict.fromkeys(found["scope"])) == list(scopes)
    asked = [q for q in questions["qid"] if q != "q6" or scopes[0] == "pooled"]  # q6 has no pool of its own
    assert list(dict.fromkeys(found.loc[found["scope"] == scopes[0], "qid"])) == asked


def test_no_more_scores_are_held_at_once_than_said(monkeypatch):
    questions, _, documents, pools, _ = world()
    many = pd.concat([questions.assign(qid=questions["qid"] + str(k)) for k in range(40)], ignore_index=True)
    own = pd.concat([pools.assign(qid=pools["qid"] + str(k)) for k in range(40)], ignore_index=True)
    held = []
    monkeypatch.setattr(retrieval, "dense_scores", lambda a, b: held.append((len(a), len(b))) or dense_scores(a, b))
    monkeypatch.setattr(retrieval, "CELLS", 60)
    rank(many, documents, own, Letters(), cache=None)
    assert max(a * b for a, b in held) == 60 and sum(a for a, _ in held) == 240
    held.clear()
    stranger = documents.assign(doc_id="x" + documents["doc_id"], title="x" + documents["title"])
    rank(many, pd.concat([documents, stranger], ignore_index=True), own, Letters(), scopes=("own",), cache=None)
    assert max(b for _, b in held) == 6, "where only own pools are ranked, what is in none of them is not scored"


def test_a_further_encoder_adds_its_lists_and_changes_no_other(monkeypatch):
    class Lengths(Letters):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def encode(self, texts):
            return np.array([[len(t), 1] for t in texts], np.float32)

    monkeypatch.setattr(retrieval, "encoder", Lengths)
    questions, _, documents, pools, before = world()
    found = rank(questions, documents, pools, Letters(), cache=None, more=["own/lengths", "own/again"])
    ours = found["ranker"].isin(retrieval.OURS)
    pd.testing.assert_frame_equal(found[ours].reset_index(drop=True), before)
    two = [found[found["ranker"] == name].drop(columns="ranker").reset_index(drop=True) for name in ("own/lengths", "own/again")]
    pd.testing.assert_frame_equal(*two)
    assert len(two[0]) == len(before) / 3
    sets = retrieval.rank_sets(pd.concat([questions, questions.assign(dataset="other")]), pd.concat([documents, documents.assign(dataset="other")]),
                               pd.concat([pools, pools.assign(dataset="other")]), Letters(), more=["own/lengths"], cache=None)
    assert (sets.groupby(["dataset", "ranker"]).size() == len(two[0])).all()


@pytest.mark.parametrize("more", ["wordllama", ["dense"], ["wordllama", "wordllama"], [1], [""], None])
def test_what_names_no_further_rankers_is_one_clear_error(more):
    questions, _, documents, pools, _ = world()
    with pytest.raises(ValueError, match="more_rankers must be a list of distinct names of encoders"):
        rank(questions, documents, pools, Letters(), cache=None, more=more)


@pytest.mark.parametrize(("name", "said"), [("smollm2-135m", "smollm2-135m .*makes no vectors"), ("en_core_web_sm", "cannot rank"),
                                            ("iterative", "made anyway"), ("bm25", "made anyway"), ("wordlama", "not registered, no folder and no hub id")])
def test_what_cannot_rank_is_refused_with_the_list_of_what_can(name, said):
    with pytest.raises(ValueError, match=f"{said}.*minilm, wordllama, splade-tiny can, or a folder"):
        retrieval.check_more([name])
    retrieval.check_more(["wordllama", "splade-tiny", "minilm", "BAAI/bge-small-en-v1.5"])


@pytest.mark.parametrize("ranked", [retrieval.rank, iterative.rank])
@pytest.mark.parametrize(("wrong", "said"), [
    *(({"depth": d}, "depth must be a whole number of 1 or more") for d in (0, -1, 2.0, True, None, "5")),
    *(({"dimensions": d}, "dimensions must be a whole number of 1 or more") for d in (0, -3, 1.5, False)),
    *(({"scopes": s}, "scopes must be a list of distinct names out of own, pooled") for s in ("own", (), ["own", "own"], ["all"], [1]))])
def test_a_ranking_is_told_sound_numbers_and_scopes(ranked, wrong, said):
    questions, _, documents, pools, _ = world()
    with pytest.raises(ValueError, match=said):
        ranked(questions, documents, pools, Letters(), cache=None, **wrong)


@pytest.mark.parametrize("ranked", [retrieval, iterative])
def test_no_question_makes_no_row_in_any_number_of_sets(ranked):
    questions, _, documents, pools, rankings = world()
    for made in (ranked.rank(questions.iloc[:0], documents, pools.iloc[:0], Letters(), cache=None),
                 ranked.rank_sets(questions.iloc[:0], documents, pools.iloc[:0], Letters(), cache=None)):
        assert made.empty and list(made) == list(rankings)
    assert ranked.rank(questions, documents.iloc[:0], pools.iloc[:0], Letters(), cache=None).empty


@pytest.mark.parametrize("dimensions", [0, -5, 2.0, True])
def test_vectors_are_cut_to_a_whole_number_of_dimensions(dimensions):
    with pytest.raises(ValueError, match="dimensions must be a whole number of 1 or more"):
        truncate(np.ones((2, 9)), dimensions)
    assert truncate(np.ones((2, 9)), np.int64(4)).shape == (2, 4)


def test_no_question_makes_an_empty_table():
    questions, _, documents, pools, rankings = world()
    assert list(rank(questions.iloc[:0], documents, pools.iloc[:0], Letters(), cache=None)) == list(rankings)


@pytest.mark.parametrize("ask", [lambda t: embed([t], Letters(), cache=None), lambda t: tie_breaks([t]), lambda t: entry_key(dict.fromkeys(GROUP), t)])
def test_half_a_character_is_one_clear_error_before_it_is_hashed(ask):
    ask("Müller \U0001f41f")
    with pytest.raises(ValueError, match="broken Unicode, a lone surrogate at character .* write the character itself, in UTF-8"):
        ask("an eel \ud83d swims")
