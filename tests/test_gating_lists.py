"""What a gate chooses between: golden rows of the union, its words and its reranked order; larger pools; what is left out and why."""
import numpy as np
import pandas as pd
import pytest

from lib import gating_lists, pool_union, rerankers_sample, tables
from lib.gating_lists import CANDIDATES, LANGUAGE, LISTED, POOL, USAGE, check, made, title_key, union, unions
from lib.weights import WeightsMissing
from tests import gating_world
from tests.gating_world import Said

SPEC = {"method": "cross_encoder", "model": "reranker"}
FIVE = ("graph", "dense", "bm25", "wordllama", "splade-tiny")


@pytest.fixture
def said(monkeypatch):
    """Every reranker is the one of the small world, under the name that its specification gives it; a judge is never opened."""
    opened = []

    def open_it(spec, store=None, judge=None, progress=False):
        opened.append(Said(spec.get("name") or (f"{spec['model']} yes/no" if spec["method"] == "yes_no" else spec["model"])))
        return opened[-1]

    monkeypatch.setattr(rerankers_sample, "open_reranker", open_it)
    return opened


@pytest.fixture
def unsaid(monkeypatch):
    def none(spec, store=None, judge=None, progress=False):
        raise WeightsMissing("weights of reranker are not in data/cache/weights; fetch them")

    monkeypatch.setattr(rerankers_sample, "open_reranker", none)


def lists(*orders, dataset="d", qid="q"):
    rows = [(dataset, qid, "pooled", name, rank, doc, 1.0 / rank) for name, docs in orders for rank, doc in enumerate(docs, 1)]
    return pd.DataFrame(rows, columns=["dataset", "qid", "scope", "ranker", "rank", "doc_id", "score"])


def told(ids, title=None):
    return pd.DataFrame({"dataset": "d", "doc_id": list(ids), "title": [title or i for i in ids], "text": [f"Text {i}." for i in ids]}, dtype=object)


def asked(*texts):
    return pd.DataFrame({"dataset": "d", "qid": [f"q{i or ''}" for i in range(len(texts))], "question": list(texts)}, dtype=object)


def test_golden_rows(said):
    documents = pd.DataFrame([("d", "a", "Old Mill", "The mill burned."), ("d", "b", None, "Bees sleep."), ("d", "c", "Old Mill", "Nobody knows.")],
                             columns=["dataset", "doc_id", "title", "text"])
    found = made(lists(("graph", "ab"), ("dense", "ca")), asked("Who burned the old mill?"), documents, SPEC)
    rows = found.candidates.set_index("doc_id")
    # fused: a 1/61 + 1/62, c 1/61, b 1/62; a holds burned, old, mill, c old and mill
    assert found.candidates["doc_id"].tolist() == ["a", "c", "b"] and rows["rank"].tolist() == [1, 2, 3] and rows["rank_r"].tolist() == [1, 2, 3]
    assert rows.loc["a", ["rank_h", "score_h", "rank_v", "score_v"]].tolist() == [1, 1.0, 2, 0.5] and pd.isna(rows.loc["c", "rank_h"])
    assert rows["overlap"].tolist() == [1, pytest.approx(2 / 3), 0] and rows["title_named"].tolist() == [1, 1, 0]
    assert rows.loc["b", "length"] == np.log(1 + len("Bees sleep."))
    assert rows.loc["a", "title_key"] == rows.loc["c", "title_key"] != rows.loc["b", "title_key"] == title_key(None, "b")
    assert rows["score_r"].tolist() == sorted(rows["score_r"], reverse=True)
    assert found.usage.to_dict("records") == [{"dataset": "d", "qid": "q", "reranker": "reranker", "pairs": 3, "tokens": 12.0}]
    assert found.pools.drop(columns=["dataset", "qid"]).values.tolist() == [[POOL, "reranker", 1, "a"], [POOL, "reranker", 2, "c"], [POOL, "reranker", 3, "b"]]
    assert found.left_out == {} and len(said) == 1
    assert (list(found.candidates), list(found.usage), list(found.pools)) == (CANDIDATES, USAGE, LISTED)


def test_the_tables_are_the_declared_ones_and_hold_no_text(said):
    given = gating_world.tables(6)
    found = made(gating_world.rankings(given, FIVE), given["questions"], given["documents"], SPEC, language_models=True, expand=["d"])
    for table, rows in (("gate_candidates", found.candidates), ("gate_usage", found.usage), ("gate_pools", found.pools)):
        if table in tables.TABLES:
            tables.check(rows, table)
    kept = {v for rows in found[:3] for column in rows.select_dtypes("object") for v in rows[column]}
    assert not kept & {*given["documents"]["title"], *given["documents"]["text"], *given["questions"]["question"]}


def test_the_union_holds_exactly_the_first_ten_of_both(said):
    given = gating_world.tables(8)
    rankings = gating_world.rankings(given)
    found = made(rankings, given["questions"], given["documents"], SPEC)
    near = rankings[rankings["rank"] <= 10]
    assert set(zip(found.candidates["qid"], found.candidates["doc_id"])) == set(zip(near["qid"], near["doc_id"]))
    assert not found.candidates.duplicated(["qid", "doc_id"]).any()
    sizes = found.candidates.groupby("qid").size()
    assert sizes.between(10, 20).all() and found.usage.set_index("qid")["pairs"].to_dict() == sizes.to_dict()
    assert (found.candidates.groupby("qid")["rank_r"].agg(["min", "max", "nunique"]).to_numpy() == np.column_stack([np.ones(8), sizes, sizes])).all()


def test_row_order_changes_nothing(said):
    given = gating_world.tables(5)
    rankings = gating_world.rankings(given, FIVE)
    straight = made(rankings, given["questions"], given["documents"], SPEC, True, ["d"])
    turned = made(rankings[::-1], given["questions"][::-1], given["documents"].sample(frac=1, random_state=0), SPEC, True, ["d"])
    for one, other in zip(straight[:3], turned[:3]):
        pd.testing.assert_frame_equal(one, other)


def test_equal_questions_and_equal_passages_stay_apart(said):
    rankings = pd.concat([lists(("graph", "ab"), ("dense", "b"), qid=q) for q in ("q", "q1")])
    found = made(rankings, asked("Who?", "Who?"), told("ab", "Twin").assign(text="Eels sleep."), SPEC)
    assert len(found.candidates) == 4 and found.candidates["title_key"].nunique() == 1
    assert found.candidates.groupby("qid")["rank_r"].apply(list).tolist() == [[1, 2]] * 2


def test_without_a_reranker_there_is_no_order_and_nothing_is_opened(said):
    given = gating_world.tables(3)
    found = made(gating_world.rankings(given), given["questions"], given["documents"], None, language_models=True, expand=["d"])
    assert found.candidates["rank_r"].isna().all() and found.candidates["score_r"].isna().all() and len(found.candidates) and not said
    assert found.usage.empty and found.pools.empty and found.left_out == {} and (list(found.usage), list(found.pools)) == (USAGE, LISTED)


def test_a_reranker_that_is_not_there_is_left_out_with_its_reason(unsaid):
    given = gating_world.tables(3)
    found = made(gating_world.rankings(given, FIVE), given["questions"], given["documents"], SPEC, language_models=True, expand=["d"])
    assert found.candidates["rank_r"].isna().all() and found.usage.empty and found.pools.empty
    assert found.left_out == dict.fromkeys(("H + V + reranker", f"H + V + {LANGUAGE.spec['model']}", "H + V + BM25 + reranker", "all five + reranker"),
                                           "weights of reranker are not in data/cache/weights; fetch them")


def test_the_language_model_reads_its_subset_and_never_stands_for_the_reranker(said, monkeypatch):
    given = gating_world.tables(50)
    found = made(gating_world.rankings(given), given["questions"], given["documents"], SPEC, language_models=True)
    model = f"{LANGUAGE.spec['model']} yes/no"
    assert found.pools.groupby("reranker")["qid"].nunique().to_dict() == {model: LANGUAGE.questions, "reranker": 50} and set(found.pools["pool"]) == {POOL}
    assert found.usage["reranker"].unique().tolist() == ["reranker"] and len(found.usage) == 50
    only = rerankers_sample.open_reranker

    def trained_is_absent(spec, *more):
        if spec["method"] == "cross_encoder":
            raise WeightsMissing("no weights")
        return only(spec, *more)

    monkeypatch.setattr(rerankers_sample, "open_reranker", trained_is_absent)
    found = made(gating_world.rankings(given), given["questions"], given["documents"], SPEC, language_models=True)
    assert found.candidates["rank_r"].isna().all() and found.usage.empty and set(found.pools["reranker"]) == {model}
    assert list(found.left_out) == ["H + V + reranker"]


@pytest.mark.parametrize("spec, name", [(LANGUAGE.spec, f"{LANGUAGE.spec['model']} yes/no"), (SPEC | {"name": "mine + yours"}, "mine + yours"),
                                        (SPEC | {"name": "always yes/no"}, "always yes/no")])
def test_any_reranker_may_be_the_expensive_one(said, spec, name):
    given = gating_world.tables(3)
    found = made(gating_world.rankings(given, FIVE), given["questions"], given["documents"], spec, language_models=True, expand=["d"])
    assert found.candidates["rank_r"].notna().all() and set(found.usage["reranker"]) == {name}
    assert not found.pools.duplicated(["dataset", "qid", "pool", "reranker", "rank"]).any()
    assert set(found.pools.loc[found.pools["reranker"] == name, "pool"]) == {POOL, *gating_lists.POOLS}
    with pytest.raises(ValueError, match="a reranker is a block"):
        made(gating_world.rankings(given), given["questions"], given["documents"], {"method": "essay", "model": "x"})


# --- larger pools

def test_union_by_hand():
    rankings = lists(("x", "abc"), ("y", "cd"), ("z", "e"))
    found = union(rankings, ("x", "y"), "both", first=2)
    # c 1/63 + 1/61 although x has it third; then a 1/61, then b and d, 1/62 each, by doc_id
    assert found["doc_id"].tolist() == ["c", "a", "b", "d"] and found["rank"].tolist() == [1, 2, 3, 4] and found["score"].tolist() == [-1, -2, -3, -4]
    assert set(found["ranker"]) == {"both"} and list(found) == list(rankings)
    pd.testing.assert_frame_equal(found, union(rankings[::-1], ("y", "x"), "both", first=2))
    assert union(rankings, ("x", "y"), "both", scope="own").empty and union(rankings[:0], ("x", "y"), "both").empty


def test_two_lists_joined_are_the_pool():
    given = gating_world.tables(6)
    rankings = gating_world.rankings(given)
    mine = union(rankings, (pool_union.H, pool_union.V), POOL).sort_values(["qid", "doc_id"])
    other = pool_union.pool(rankings).sort_values(["qid", "doc_id"])
    assert mine["doc_id"].tolist() == other["doc_id"].tolist() and np.mean(mine["rank"].to_numpy() == other["rank"].to_numpy()) > 0.5  # ties differ


def test_expanded_pools_hold_the_first_ten_of_their_lists(said):
    given = gating_world.tables(20)
    rankings = gating_world.rankings(given, FIVE)
    found = made(rankings, given["questions"], given["documents"], SPEC, expand=["d"])
    assert found.pools.groupby("pool")["rank"].max().to_dict() == {POOL: 10, "H + V + BM25": 10, "all five": 10} and not found.left_out
    near = rankings[rankings["rank"] <= 10]
    read = {(q, tuple(p)) for s in said for q, p in s.asked}
    largest = max(len(p) for _, p in read)
    assert largest == near.groupby("qid")["doc_id"].nunique().max() and largest > 20
    assert made(rankings, given["questions"], given["documents"], SPEC, expand=["elsewhere"]).pools["pool"].unique().tolist() == [POOL]


def test_a_pool_is_never_made_from_fewer_lists_than_it_is_named_after(said):
    given = gating_world.tables(4)
    whole = gating_world.rankings(given, FIVE)
    rankings = whole[(whole["qid"] != "q001") | (whole["ranker"] != "bm25")]  # one question has no list by BM25
    found = made(rankings, given["questions"], given["documents"], SPEC, expand=["d"])
    assert found.pools.groupby("pool")["qid"].nunique().to_dict() == {POOL: 4, "H + V + BM25": 3, "all five": 3}
    assert found.left_out == dict.fromkeys(("H + V + BM25 + reranker", "all five + reranker"), "a list of this pool is not there for 1 of 4 questions")
    other = gating_world.tables(2, "e")
    both = pd.concat([whole, gating_world.rankings(other, FIVE[:3])])  # and a whole data set has three lists alone
    found = made(both, *(pd.concat([given[t], other[t]]) for t in ("questions", "documents")), SPEC, expand=["d", "e"])
    assert found.pools[found.pools["pool"] == "all five"]["dataset"].unique().tolist() == ["d"]
    assert found.left_out == {"all five + reranker": "a list of this pool is not there for 2 of 6 questions"}
    assert set(unions(both)["dataset"]) == {"d", "e"} and unions(both[both["ranker"] == "graph"]).empty


# --- what there is not

def test_no_question_no_document_one_document(said):
    none = lists()
    for spec in (None, SPEC):
        found = made(none, asked(), told(""), spec, True, ["d"])
        assert [len(t) for t in found[:3]] == [0, 0, 0] and [list(t) for t in found[:3]] == [CANDIDATES, USAGE, LISTED]
        assert [len(t) for t in made(none, asked("Who?"), told(""), spec)[:3]] == [0, 0, 0]
    one = made(lists(("graph", "a"), ("dense", "a")), asked("Who?"), told("a"), SPEC)
    assert one.candidates[["rank_h", "rank_v", "rank", "rank_r"]].values.tolist() == [[1, 1, 1, 1]] and one.usage["pairs"].tolist() == [1]
    assert [list(t) for t in gating_lists.nothing()[:3]] == [CANDIDATES, USAGE, LISTED]
    short = made(lists(("graph", "abc"), ("dense", "dc")), asked("Who?"), told("abcd"), SPEC)  # lists of fewer than ten
    assert sorted(short.candidates["doc_id"]) == list("abcd")


def test_what_the_reranker_did_not_read_has_no_order(said):
    """A question or passages without a text come back from the rerankers as they went in, at no cost: that is no order by the reranker."""
    given = gating_world.tables(20)
    given["questions"]["question"] = given["questions"]["question"].astype(object).mask(given["questions"]["qid"].isin(["q001", "q002"]), None)
    given["questions"].loc[2, "question"] = " "
    found = made(gating_world.rankings(given, FIVE), given["questions"], given["documents"], SPEC, language_models=True, expand=["d"])
    unread = found.candidates["qid"].isin(["q001", "q002"])
    assert found.candidates["rank_r"].isna().eq(unread).all() and unread.any() and not {"q001", "q002"} & {*found.usage["qid"], *found.pools["qid"]}
    found = made(gating_world.rankings(given), given["questions"], given["documents"].assign(text=" "), SPEC)
    assert found.candidates["rank_r"].isna().all() and found.usage.empty and found.pools.empty


def test_what_is_wrong_is_said(said):
    rankings = lists(("graph", "ab"), ("dense", "b"))
    with pytest.raises(ValueError, match="no list by 'dense'"):
        made(lists(("graph", "ab")), asked("Who?"), told("ab"), SPEC)
    with pytest.raises(ValueError, match="no list by 'graph' in scope 'own'"):
        made(rankings, asked("Who?"), told("ab"), SPEC, scope="own")
    with pytest.raises(ValueError, match="given twice"):
        made(pd.concat([rankings, rankings]), asked("Who?"), told("ab"), SPEC)
    with pytest.raises(ValueError, match="names document 'b'"):
        made(rankings, asked("Who?"), told("a"), SPEC)
    with pytest.raises(ValueError, match="twice"):
        made(rankings, asked("Who?"), told("aab"), SPEC)
    with pytest.raises(ValueError, match="ranks count 1"):
        made(rankings.assign(rank=rankings["rank"].where(rankings.index != 1).astype(float)), asked("Who?"), told("ab"), SPEC)


def test_questions_that_nobody_asks_are_left_out_of_everything(said):
    rankings = pd.concat([lists(("graph", "ab"), ("dense", "b"), qid=q) for q in ("q", "other")])
    assert set(made(rankings, asked("Who?"), told("ab"), SPEC).candidates["qid"]) == {"q"}


@pytest.mark.parametrize("one, other, same", [("Edda", "Edda", True), ("Edda", "edda", False), ("", "", False), (None, None, False), (np.nan, "", False),
                                              ("passage d1", None, False), ("Ü\ud800", "Ü\ud800", True)])
def test_title_keys(one, other, same):
    assert (title_key(one, "d1") == title_key(other, "d2")) == same
    assert len(title_key(one, "d1")) == 12 and title_key(one, "d1") == title_key(one, "d1")


def test_a_missing_title_is_no_title_called_after_the_passage():
    assert title_key(None, "d1") != title_key("d1", "d2") and title_key("passage d1", "d2") != title_key(None, "d1")


@pytest.mark.parametrize("block, wanted", [({}, {}), ({"expand": []}, {"expand": [], "ablate": [], "files": ""}),
                                           ({"ablate": ["b", "a", "b"]}, {"expand": [], "ablate": ["b", "a"], "files": ""})])
def test_the_block_graph(block, wanted):
    assert check(block, ["a", "b"]) == wanted


@pytest.mark.parametrize("block, said", [(None, "graph must be a block"), ([], "graph must be a block"), ({"expand": "a"}, "lists of data sets"),
                                         ("a", "graph must"), ({"expand": None}, "lists of data sets"), ({"other": []}, "graph must be a block"),
                                         ({1: []}, "graph must be a block"),
                                         ({"expand": ["c"]}, "graph names 'c'.*there are a, b"), ({"ablate": [["a"]]}, r"graph names \['a'\]"),
                                         ({"ablate": [None]}, "graph names None"), ({"files": 5}, "files must be a pattern"),
                                         ({"files": "../x"}, "files must be a pattern"), ({"files": None}, "files must be a pattern")])
def test_blocks_that_are_none(block, said):
    for datasets in (["b", "a"], np.array(["b", "a"], object)):
        with pytest.raises(ValueError, match=said):
            check(block, datasets)
