"""Question sets from the table gate_candidates: the lists come back as they were, the target is the last hop, and the student D never sees a question ahead."""
import numpy as np
import pandas as pd
import pytest

from lib import gating_lists, gating_sets, rerankers_sample
from lib.gating_inputs import COLUMNS
from lib.gating_lists import title_key
from lib.gating_sets import LEFT_OUT, distiller, lists_of, sets_of, targets_of
from tests import gating_world
from tests.gating_world import Said

SPEC = {"method": "cross_encoder", "model": "reranker"}


def world(monkeypatch, n=20, said=None, spec=SPEC):
    """(candidates, tables, rankings) of n questions, reranked by ``said``."""
    monkeypatch.setattr(rerankers_sample, "open_reranker", lambda *a, **b: said or Said())
    given = gating_world.tables(n)
    rankings = gating_world.rankings(given)
    return gating_lists.made(rankings, given["questions"], given["documents"], spec).candidates, given, rankings


def sets(candidates, given, **more):
    return sets_of(candidates, given["gold"], given["documents"], given["questions"], **more)


def rows(*told):
    """Candidates by hand: qid, doc_id, rank_h, rank_v, rank_r; scores 1 / rank, titles by doc_id."""
    made = pd.DataFrame(told, columns=["qid", "doc_id", "rank_h", "rank_v", "rank_r"]).astype(dict.fromkeys(["rank_h", "rank_v", "rank_r"], "Int64"))
    words = {"overlap": 0.5, "overlap_title": 0.0, "title_named": 0.0, "length": 1.0}
    made = made.assign(dataset="d", title_key=made["doc_id"], rank=made.groupby("qid").cumcount() + 1, **words)
    return made.assign(**{f"score_{s}": 1 / made[f"rank_{s}"].astype(float) for s in "hvr"})[gating_lists.CANDIDATES]


def test_lists_by_hand():
    found = lists_of(rows(("q", "a", 1, 12, 2), ("q", "b", None, 1, 1), ("q", "c", 11, 2, 3)))
    assert list(found) == COLUMNS
    assert found[["list", "rank", "doc_id"]].values.tolist() == [["H", 1, "a"], ["R", 1, "b"], ["R", 2, "a"], ["R", 3, "c"], ["V", 1, "b"], ["V", 2, "c"]]
    assert found["score"].tolist() == [1, 1, 0.5, pytest.approx(1 / 3), 1, 0.5]


@pytest.mark.parametrize("told", [(("q", "a", 1, 1, 1), ("q", "b", 3, 2, 2)), (("q", "a", 1, 1, 1), ("q", "b", 2, 2, 1)),
                                  (("q", "a", None, 2, 1), ("q", "b", 1, None, 2))])
def test_lists_with_a_place_left_out_or_taken_twice_are_refused(told):
    with pytest.raises(ValueError, match="candidates: the ranks of .* do not count 1, 2, 3"):
        lists_of(rows(*told))


def test_a_candidate_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="candidates: .*'a'.* is given twice"):
        lists_of(rows(("q", "a", 1, 1, 1), ("q", "a", 2, 2, 2)))


def test_lists_come_back_as_they_were(monkeypatch):
    candidates, given, rankings = world(monkeypatch)
    found = lists_of(candidates.sample(frac=1, random_state=0))
    for name, ranker in (("H", "graph"), ("V", "dense")):
        mine = found[found["list"] == name].reset_index(drop=True)
        ten = rankings[(rankings["ranker"] == ranker) & (rankings["rank"] <= 10)].sort_values(["qid", "rank"], ignore_index=True)
        assert mine[["qid", "rank", "doc_id", "score"]].values.tolist() == ten[["qid", "rank", "doc_id", "score"]].values.tolist()
    reranked = found[found["list"] == "R"]
    assert reranked.groupby("qid").size().to_dict() == candidates.groupby("qid").size().to_dict()
    titles = dict(zip(given["documents"]["doc_id"], given["documents"]["title"]))
    assert (found["title"] == [title_key(titles[d], d) for d in found["doc_id"]]).all()


def test_targets_are_last_hops_alone():
    gold = pd.DataFrame([("d", "q0", "a", True), ("d", "q0", "b", False), ("d", "q1", "b", None), ("d", "q2", "gone", True)],
                        columns=["dataset", "qid", "doc_id", "is_last_hop"])
    documents = pd.DataFrame({"dataset": "d", "doc_id": ["a", "b"], "title": ["A", None], "text": "x"})
    found = targets_of(gold, documents)
    assert found[["qid", "doc_id", "title"]].values.tolist() == [["q0", "a", title_key("A", "a")], ["q2", "gone", title_key(None, "gone")]]
    as_nullable = targets_of(gold.assign(is_last_hop=gold["is_last_hop"].astype("boolean")), documents)
    assert as_nullable.values.tolist() == found.values.tolist() and targets_of(gold[:0], documents).empty
    assert targets_of(gold.assign(is_last_hop=False), documents).empty


def test_ranks_of_the_target_in_every_list(monkeypatch):
    candidates, given, rankings = world(monkeypatch, 12)
    (data,), left = sets(candidates, given)
    assert left.empty and list(left) == LEFT_OUT and data.qids.tolist() == given["questions"]["qid"].tolist()
    goal = given["gold"][given["gold"]["is_last_hop"]].set_index("qid")["doc_id"]
    for name, ranker in (("H", "graph"), ("V", "dense")):
        place = rankings[rankings["ranker"] == ranker].set_index(["qid", "doc_id"])["rank"]
        wanted = [place.get((q, goal[q]), 99) for q in data.qids]
        assert data.ranks[name].tolist() == [w if w <= 10 else np.inf for w in wanted]
    own = candidates.set_index(["qid", "doc_id"])["rank_r"]
    assert data.ranks["R"].tolist() == [own.get((q, goal[q]), np.inf) for q in data.qids]


def test_the_student_never_sees_a_question_ahead(monkeypatch):
    """The reranker's orders of the questions ahead are turned round: no list D of them changes, and those of a student that may see them do."""
    candidates, given, _ = world(monkeypatch)
    ahead = [f"q{i:03d}" for i in range(10, 20)]
    numbers = {t: q for t, q in zip(given["questions"]["question"], given["questions"]["qid"])}
    turned, *_ = world(monkeypatch, said=Said(turn=-1, turned=lambda question: numbers[question] in ahead))
    changed = (candidates["rank_r"] != turned["rank_r"]).groupby(candidates["qid"]).any()
    assert changed[ahead].all() and not changed.drop(ahead).any()
    train = [q for q in numbers.values() if q not in ahead]
    one, two = distiller(candidates)("d", train, ahead), distiller(turned)("d", train, ahead)
    pd.testing.assert_frame_equal(one, two)
    assert not distiller(candidates)("d", ahead, ahead).equals(distiller(turned)("d", ahead, ahead))
    (mine,), (other,) = sets(candidates, given)[0], sets(turned, given)[0]
    places = np.arange(20)
    assert mine.distil(places[:10], places[10:]).tolist() == other.distil(places[:10], places[10:]).tolist()
    assert (mine.features == other.features).all()


def test_lists_of_the_student_hold_the_candidates_once_and_break_ties_by_the_union(monkeypatch):
    candidates, _, _ = world(monkeypatch, 6)
    made = distiller(candidates)("d", ["q000", "q001", "q002"], ["q004", "q005"])
    assert set(zip(made["qid"], made["doc_id"])) == set(map(tuple, candidates.loc[candidates["qid"] > "q003", ["qid", "doc_id"]].values))
    assert made.groupby("qid")["rank"].apply(lambda r: r.tolist() == list(range(1, len(r) + 1))).all()
    told = rows(*[("q1", d, 1, 1, r) for d, r in zip("abc", (2, 1, 3))], *[("q2", d, 1, 1, None) for d in "abc"])  # nothing tells a from b or c
    assert distiller(told[::-1])("d", ["q1"], ["q2"])["doc_id"].tolist() == list("abc")


def test_the_student_follows_a_teacher_it_can_follow(monkeypatch):
    """A reranker that copies V teaches D to order by V."""
    candidates, _, _ = world(monkeypatch, 30)
    place = candidates["rank_v"].astype(float).fillna(99)
    candidates["rank_r"] = (place + candidates["rank"] / 100).groupby(candidates["qid"]).rank().astype("Int64")
    qids = sorted(set(candidates["qid"]))
    made = distiller(candidates)("d", qids[:20], qids[20:]).merge(candidates[["qid", "doc_id", "rank_v"]], on=["qid", "doc_id"])
    assert (made.loc[made["rank"] == 1, "rank_v"] == 1).mean() >= 0.9


def test_row_order_does_not_matter(monkeypatch):
    candidates, given, _ = world(monkeypatch)
    vectors = np.random.default_rng(0).normal(size=(20, 4))
    (one,), _ = sets(candidates, given, vectors=vectors)
    order = np.random.default_rng(1).permutation(20)
    turned = given | {"questions": given["questions"].iloc[order], "gold": given["gold"][::-1], "documents": given["documents"][::-1]}
    (two,), _ = sets(candidates.sample(frac=1, random_state=3), turned, vectors=vectors[order])
    assert one.qids.tolist() == two.qids.tolist() and (one.features == two.features).all() and (one.vectors == two.vectors).all()
    assert all((one.ranks[name] == two.ranks[name]).all() for name in "HVR")
    places = np.arange(20)
    assert one.distil(places[:9], places[9:]).tolist() == two.distil(places[:9], places[9:]).tolist()


def test_qids_that_are_numbers_are_taught_too(monkeypatch):
    candidates, given, _ = world(monkeypatch, 8)
    number = {q: int(q[1:]) for q in given["questions"]["qid"]}
    (wanted,), (found,) = sets(candidates, given)[0], sets(candidates.assign(qid=candidates["qid"].map(number)),
                                                            {t: d.assign(qid=d["qid"].map(number)) if "qid" in d else d for t, d in given.items()})[0]
    places = np.arange(8)
    assert found.distil(places[:5], places[5:]).tolist() == wanted.distil(places[:5], places[5:]).tolist() and (found.ranks["R"] == wanted.ranks["R"]).all()


def test_questions_left_out_are_counted(monkeypatch):
    candidates, given, _ = world(monkeypatch, 10)
    gold = given["gold"][given["gold"]["qid"] != "q003"]
    (data,), left = sets(candidates[candidates["qid"] != "q007"], given | {"gold": gold})
    assert len(data.qids) == 8 and left.values.tolist() == [["sample", "d", "no last hop", 1], ["sample", "d", "no list H", 1]]
    candidates.loc[candidates["qid"] == "q004", "rank_r"] = pd.NA
    assert sets(candidates, given, tier="real")[1].values.tolist() == [["real", "d", "no list by the reranker", 1]]


def test_no_gold_no_reranker_no_candidates_leave_every_question_out(monkeypatch):
    candidates, given, _ = world(monkeypatch, 5)
    found, left = sets(candidates, given | {"gold": given["gold"][:0]})
    assert found == [] and left[["reason", "questions"]].values.tolist() == [["no last hop", 5]]
    candidates, given, _ = world(monkeypatch, 5, spec=None)
    found, left = sets(candidates, given)
    assert found == [] and left[["reason", "questions"]].values.tolist() == [["no list by the reranker", 5]]
    found, left = sets(gating_lists.nothing().candidates, given)
    assert found == [] and left[["reason", "questions"]].values.tolist() == [["no list H", 5]]
    found, left = sets(gating_lists.nothing().candidates, {t: d[:0] for t, d in given.items()})
    assert found == [] and left.empty and list(left) == LEFT_OUT


def test_one_question_alone_makes_a_set(monkeypatch):
    candidates, given, _ = world(monkeypatch, 6)
    one = {t: d[d["qid"] == "q002"] if "qid" in d else d for t, d in given.items()}
    (data,), left = sets(candidates[candidates["qid"] == "q002"], one)
    assert data.features.shape == (1, 27) and left.empty and len(data.distil(np.array([0]), np.array([0]))) == 1


def test_several_data_sets_teach_apart(monkeypatch):
    candidates, given, _ = world(monkeypatch, 6)
    turned = candidates["rank_r"].groupby(candidates["qid"]).transform("max") + 1 - candidates["rank_r"]
    both = pd.concat([candidates, candidates.assign(dataset="e", rank_r=turned)])
    twice = {t: pd.concat([d, d.assign(dataset="e")]) for t, d in given.items()}
    found, _ = sets(both, twice)
    alone, = sets(candidates, given)[0]
    places = np.arange(6)
    assert [s.dataset for s in found] == ["d", "e"] and found[0].distil(places[:4], places[4:]).tolist() == alone.distil(places[:4], places[4:]).tolist()
    assert distiller(both)("d", ["q000"], ["q001"])["doc_id"].tolist() != distiller(both)("e", ["q000"], ["q001"])["doc_id"].tolist()


def test_what_cannot_be_is_refused(monkeypatch):
    candidates, given, _ = world(monkeypatch, 4)
    with pytest.raises(ValueError, match="twice|one-to-one|unique"):
        sets(pd.concat([candidates, candidates[:1]]), given)
    with pytest.raises(ValueError, match="given twice"):
        sets(candidates, given | {"gold": given["gold"].assign(is_last_hop=True)})
    with pytest.raises(ValueError, match="infinite"):
        sets(candidates.assign(score_h=candidates["score_h"].where(candidates["rank_h"] != 1, np.inf)), given)
    with pytest.raises(ValueError, match="none of 1 training questions was ordered"):
        distiller(candidates)("d", ["nobody"], ["q001"])
    with pytest.raises(ValueError, match="vectors"):
        sets(candidates, given, vectors=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="candidates: qid is missing"):
        distiller(candidates.assign(qid=None))
    assert gating_sets.SHOWN == 10
