"""What notebook 07 learns from, replays and serves: sets as the tables tell them, a reader of the right passages, a saved gate that decides alike."""
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from small_world import words

from lib import (
    evidence,
    gating_lists,
    gating_records,
    gating_replay,
    gating_serving_study,
    gating_study,
    rerankers_sample,
    scores,
)
from lib.gating_features import NAMES
from lib.gating_lasthop import replayed
from lib.gating_models import Grid
from lib.gating_nested import nested
from lib.gating_sets import lists_of, sets_of
from lib.latency_times import Times
from lib.store import Store
from tests import gating_world
from tests.gating_world import Said
from tests.test_graph_list import Words

GATE = {"grid": "small", "jobs": 1, "files": "", "encoder": "minilm", "prices": {"tokens": 0.3}, "replay": {}}
REPLAY = {"reader": {"model": "smollm2-135m", "precision": "fp32"}, "k": 3, "packer": "naive", "budget": 60, "setting": {"tokenizer": "words"}, "questions": 0}
SPEC = {"method": "cross_encoder", "model": "reranker"}
QUICK = Grid(("lr",), (0,))


@pytest.fixture
def light(monkeypatch):
    """An encoder by words, a reranker by words, a quick grid: nothing is loaded."""
    monkeypatch.setattr(gating_study.retrieval, "encoder", lambda name: Words())
    monkeypatch.setattr(gating_study, "embed", lambda texts, encoder: encoder.encode(texts))
    monkeypatch.setattr(rerankers_sample, "open_reranker", lambda *a, **b: Said())
    monkeypatch.setattr(gating_serving_study, "grid_of", lambda name: QUICK)


def made(n=20, dataset="own", seed=0):
    """(candidates, usage, gold, documents, questions) of n questions."""
    given = gating_world.tables(n, dataset, seed)
    found = gating_lists.made(gating_world.rankings(given, seed=seed), given["questions"], given["documents"], SPEC)
    return found.candidates, found.usage, given["gold"], given["documents"], given["questions"]


def opened(tables, tier="sample", **block):
    return gating_study.opened(*tables, {**GATE, **block}, tier)


# what a gate learns from

@pytest.mark.parametrize("changed, said", [
    ({"grid": "tiny"}, "full or small"), ({"grid": ["small"]}, "full or small"), ({"jobs": 0}, "jobs"), ({"jobs": True}, "jobs"),
    ({"files": None}, "files must be a pattern"), ({"files": "/etc/*"}, "files must be a pattern"), ({"files": "."}, "files must be a pattern"),
    ({"files": "a" * 300}, "files must be a pattern"), ({"files": "a/***/b"}, "files must be a pattern"), ({"files": "a\0"}, "files must be a pattern"),
    ({"encoder": None}, "encoder must be the name"), ({"encoder": ""}, "encoder must be the name"), ({"encoder": "smollm2-135m"}, "makes no vectors"),
    ({"prices": {}}, "prices are of tokens, pairs"), ({"prices": {"tokens": -1}}, "prices"), ({"prices": {"words": 1}}, "prices"),
    ({"prices": {"tokens": np.nan}}, "prices"), ({"replay": None}, "replay must be a block"), ({"replay": {"k": 5}}, "replay must be a block"),
    ({"more": 1}, "gate must be a block of grid, jobs")])
def test_blocks_that_cannot_be_are_refused_before_any_work(changed, said):
    with pytest.raises(ValueError, match=said) as error:
        gating_study.check({**GATE, **changed})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("changed, said", [
    ({"k": 0}, "replay's k"), ({"budget": 1.5}, "replay's budget"), ({"questions": -1}, "replay's questions"),
    ({"packer": ["submod"]}, "replay names the packer"), ({"packer": "gold"}, "replay names the packer"), ({"reader": {}}, "a reader needs a model"),
    ({"setting": None}, "replay's setting"),
    ({"setting": {"representation": "triple"}}, "replay's setting|representation"), ({"setting": {"size": 1}}, "unknown packing settings")])
def test_replays_that_cannot_be(changed, said):
    with pytest.raises(ValueError, match=said):
        gating_study.check({**GATE, "replay": {**REPLAY, **changed}})
    assert gating_study.check({**GATE, "replay": REPLAY})["replay"] == REPLAY


def test_the_study_is_what_the_tables_tell(light):
    tables = made()
    study = opened(tables)
    sets, missing = sets_of(tables[0], tables[2], tables[3], tables[4], Words().encode(tables[4]["question"])[:, :320])
    assert study.own == 1 and study.missing.empty and missing.empty and study.sets[0].qids.tolist() == tables[4]["qid"].tolist()
    assert (study.sets[0].features == sets[0].features).all() and {n: r.tolist() for n, r in study.sets[0].ranks.items()} == {
        n: r.tolist() for n, r in sets[0].ranks.items()}
    pd.testing.assert_frame_equal(study.lists, lists_of(tables[0]))
    assert study.usage["pairs"].sum() == len(tables[0]) and study.vectors.shape == (20, 320)
    assert np.allclose(np.linalg.norm(study.vectors, axis=1), 1) and study.asked["qid"].tolist() == tables[4]["qid"].tolist()


def test_the_order_of_rows_changes_nothing(light):
    tables = made()
    one, other = opened(tables), opened([t.sample(frac=1, random_state=3) for t in tables])
    pd.testing.assert_frame_equal(gating_study.feature_rows(one.sets), gating_study.feature_rows(other.sets))
    assert (one.sets[0].vectors == other.sets[0].vectors).all()  # a vector stays with its question


def test_questions_that_nobody_can_learn_from_are_counted_by_reason(light):
    candidates, usage, gold, documents, questions = made()
    gold = gold.assign(is_last_hop=gold["is_last_hop"] & ~gold["qid"].isin(["q000", "q001", "q002"]))
    candidates = candidates.assign(rank_r=candidates["rank_r"].mask(candidates["qid"].isin(["q002", "q003"])))
    study = opened((candidates, usage, gold, documents, questions))
    assert study.missing.values.tolist() == [["sample", "own", "no last hop", 3], ["sample", "own", "no list by the reranker", 1]] and len(study.sets[0].qids) == 16
    assert len(study.asked) == 20  # all are asked when the gate is served


def test_without_candidates_there_is_nothing_and_no_encoder_is_asked(light, monkeypatch):
    monkeypatch.setattr(gating_study, "embed", lambda *a: pytest.fail("nothing to encode"))
    candidates, usage, gold, documents, questions = made()
    study = opened((candidates.iloc[:0], usage.iloc[:0], gold, documents, questions))
    assert study.sets == [] and study.own == 0 and study.vectors.shape[0] == 0 and study.missing.empty
    features = gating_study.feature_rows(study.sets)
    assert features.empty and list(features) == ["dataset", "qid", *NAMES] and gating_study.one_question(features).empty
    kept = gating_serving_study.kept(study, 5, tables_path := "nowhere/gate.json")
    assert kept.gate is None and kept.same and kept.served.empty and kept.drift.empty and kept.path == tables_path
    assert "no gate to save" in gating_serving_study.words(kept)


def test_recorded_sets_follow_the_tiers_own_and_none_stands_twice(light, monkeypatch):
    own, other = made(), made(12, "other", seed=1)
    records = sets_of(other[0], other[2], other[3], other[4])[0]

    def files(pattern):
        return [gating_study.gating_recorded.Recorded(records[0], other[4], other[1], lists_of(other[0]))] if pattern else []

    monkeypatch.setattr(gating_study.gating_recorded, "of_files", files)
    study = opened(own, files="x*")
    assert [s.dataset for s in study.sets] == ["own", "other"] and study.own == 1 and len(study.asked) == 20 and len(study.usage) == 32
    assert set(study.lists["dataset"]) == {"own", "other"}
    with pytest.raises(ValueError, match="data set 'other' is among this tier's own and on record in x\\*"):
        opened(other, files="x*")


def test_candidates_that_were_changed_are_refused(light):
    tables = made()
    for changed in (tables[0].assign(rank_h=tables[0]["rank_h"] * 2), tables[0].assign(rank_r=tables[0]["rank_r"].clip(upper=2))):
        with pytest.raises(ValueError, match="do not count 1, 2, 3"):
            opened((changed, *tables[1:]))
    with pytest.raises(ValueError, match="candidates: .* is given twice"):
        opened((pd.concat([tables[0], tables[0].iloc[[0]]]), *tables[1:]))


def test_the_features_stand_under_what_they_look_at():
    found = gating_study.one_question(pd.DataFrame([np.arange(27.0)], columns=list(NAMES)))
    first = {"the graph list": "h_", "the dense list": "v_", "how far both agree": ("jaccard", "h1_rank"), "the question": "q_"}
    shown = {a: n.split(", ") for a, n in zip(found["about"], found["numbers"])}
    assert all(name.startswith(first[about]) for about, names in shown.items() for name in names)
    assert [n for names in shown.values() for n in names] == [f"{name} {i}" for i, name in enumerate(NAMES)]


def test_seconds_are_those_of_one_request_at_a_time():
    rows = pd.DataFrame({"queries": [1, 1, 4], "seconds": [0.2, 0.4, 100.0], "pairs": [2, 4, 5]})
    usage = pd.DataFrame({"dataset": "d", "qid": ["a", "b"], "pairs": [10, 0]})
    assert gating_study.timed(usage, Times(rows, {}))["seconds"].tolist() == pytest.approx([1.0, 0.0])


# what a reader made of it

def candidates(*told):
    return pd.DataFrame(told, columns=["dataset", "qid", "doc_id", "rank_h", "rank_r"]).astype({"rank_h": "Int64", "rank_r": "Int64"})


def test_heads_by_hand():
    rows = candidates(("d", "q", "c", 3, 1), ("d", "q", "a", 1, 3), ("d", "q", "b", 2, 4), ("d", "q", "x", None, 2), ("d", "p", "a", 1, None),
                      ("e", "q", "z", 1, 1))
    found = gating_replay.heads(rows, 2)
    assert {(r.dataset, r.qid, r.ranker): r.docs for r in found.itertuples()} == {
        ("d", "q", "H"): ("a", "b"), ("d", "q", "R"): ("c", "x"), ("d", "p", "H"): ("a",), ("e", "q", "H"): ("z",), ("e", "q", "R"): ("z",)}
    assert set(found["depth"]) == {2} and set(found["first_stage"]) == {"H"} and gating_replay.heads(rows.iloc[:0], 2).empty


@pytest.mark.parametrize("k", [1, 5, 100])
def test_heads_equal_brute_force(light, k):
    rows = made()[0]
    found = gating_replay.heads(rows.sample(frac=1, random_state=1), k)
    for head in found.itertuples():
        mine = rows[rows["qid"] == head.qid].dropna(subset=["rank_h" if head.ranker == "H" else "rank_r"])
        place = mine["rank_h" if head.ranker == "H" else "rank_r"].astype(int)
        assert head.docs == tuple(d for _, d in sorted((p, d) for p, d in zip(place, mine["doc_id"]) if p <= k))
    assert len(found) == 40


def test_values_of_a_measure():
    rows = pd.DataFrame({"dataset": "d", "qid": ["a", "a", "b"], "ranker": ["H", "R", "R"], "f1": [0.5, 1.0, 0.25], "em": [0, 1, 0], "answer_in_context": 1.0})
    found = gating_replay.Replay(rows, pd.DataFrame()).values("f1")
    assert found.loc[0].tolist() == ["d", "a", 0.5, 1.0] and np.isnan(found.loc[1, "h"]) and found.loc[1, "rerank"] == 0.25
    with pytest.raises(ValueError, match="a measure is one of f1, em"):
        gating_replay.Replay(rows, pd.DataFrame()).values("bleu")


class Parrot:
    """Says the answer of the world's questions where it stands in the passages shown."""

    def __init__(self, questions):
        self.answers, self.prompts = dict(zip(questions["question"], questions["answers"])), []

    def generate(self, prompts):
        from lib.readers import Generation

        self.prompts += prompts
        return [Generation(self.said(*p.rsplit("Passages:\n", 1)[-1].rsplit("\nQuestion: ", 1)), 9, 1) for p in prompts]

    def said(self, shown, question):
        first = self.answers[question.split("\n")[0]][0]
        return first if first in shown else "unknown"


def as_h(candidates):
    """The candidates with a reranker that leaves the union in the order of H."""
    place = candidates["rank_h"].astype(float).fillna(100 + candidates["rank"]).groupby(candidates["qid"]).rank(method="first")
    return candidates.assign(rank_r=place.astype("Int64"), score_r=-place)


def read(tables, tmp_path, monkeypatch, **changed):
    from lib import readers

    candidates, _, gold, documents, questions = tables
    parrot = Parrot(questions)
    monkeypatch.setattr(readers, "open_reader", lambda spec: nullcontext(parrot))
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: words)
    monkeypatch.setattr(scores, "committed", lambda: None)
    documents = documents.assign(sentences=[[(0, len(t))] for t in documents["text"]])
    made = gating_replay.read(candidates, questions.assign(question_type="bridge"), gold, documents, {**REPLAY, **changed}, Words(),
                              Store(recorded=tmp_path / "none", cache=tmp_path / "store"), None)
    return made, parrot


def test_both_lists_are_read_once_and_the_answers_are_those_of_the_passages(light, tmp_path, monkeypatch):
    tables = made()
    made_, parrot = read(tables, tmp_path, monkeypatch, k=1, budget=1000)
    text, answers = tables[3].set_index("doc_id")["text"], tables[4].set_index("qid")["answers"]
    heads = gating_replay.heads(tables[0], 1).set_index(["qid", "ranker"])["docs"]
    for r in made_.outcomes.itertuples():  # one passage, packed whole: the parrot knows the answer exactly where it stands there
        told = float(answers[r.qid][0] in text[heads[r.qid, r.ranker][0]])
        assert (r.f1, r.em, r.answer_in_context) == (told, told, told)
    assert len(made_.outcomes) == 40 and 0 < made_.outcomes["f1"].mean() < 1 and len(parrot.prompts) == len(set(parrot.prompts)) == len(made_.contexts)


def test_a_list_that_hands_on_the_same_is_answered_the_same(light, tmp_path, monkeypatch):
    tables = made(8)
    rows = as_h(tables[0])
    made_, parrot = read((rows, *tables[1:]), tmp_path, monkeypatch)
    found = made_.values("f1")
    assert (found["h"] == found["rerank"]).all() and len(found) == 8 and len(made_.contexts) == 8 == len(parrot.prompts)
    decided = nested(opened((rows, *tables[1:])).sets, grid=QUICK, ks=(5,)).decisions
    told = replayed(decided, found, "sample", resamples=50)
    assert (told["delta"] == 0).all() and (told["covered"] <= told["n"]).all()


def test_nobody_reads_without_a_reader_or_a_reranked_list(light, tmp_path, monkeypatch):
    tables = made(4)
    for block, rows in (({}, tables[0]), (REPLAY, tables[0].assign(rank_r=pd.NA)), (REPLAY, tables[0].iloc[:0])):
        found = gating_replay.read(rows, tables[4], tables[2], tables[3], block, Words())
        assert found.outcomes.empty and found.contexts.empty and list(found.values("f1")) == gating_replay.COLUMNS
    some, _ = read(tables, tmp_path, monkeypatch, questions=3)
    assert some.outcomes["qid"].nunique() == 3


# a gate taken home

def test_a_saved_gate_decides_as_research_does(light, tmp_path):
    tables = list(made(40))
    tables[2] = tables[2].assign(is_last_hop=tables[2]["is_last_hop"] & (tables[2]["qid"] != "q001"))
    study = opened(tables)
    kept = gating_serving_study.kept(study, 5, tmp_path / "gate.json")
    assert kept.same and kept.served["qid"].tolist() == study.asked["qid"].tolist() and kept.served["taught"].sum() == 39
    assert kept.served.loc[~kept.served["taught"], "qid"].tolist() == ["q001"] and kept.gate.training["n"] == 39
    assert kept.drift["n"].eq(1).all() and len(kept.drift) == len(kept.gate.inputs)
    said = gating_serving_study.words(kept)
    assert "every decision equals the research code's" in said and "39 training questions" in said and "from 1 question without" in said


def test_decisions_that_differ_are_noticed(light, tmp_path, monkeypatch):
    skips = gating_serving_study.skips
    monkeypatch.setattr(gating_serving_study, "skips", lambda gate, p: ~skips(gate, p))
    kept = gating_serving_study.kept(opened(made(12)), 5, tmp_path / "gate.json")
    assert not kept.same and "**some decisions differ" in gating_serving_study.words(kept)


@pytest.mark.parametrize("spoil", [b"", b"{", b"\xff\xfe", b'{"gate": 1}'])
def test_a_damaged_file_of_before_is_written_anew(light, tmp_path, spoil):
    path = tmp_path / "gate.json"
    path.write_bytes(spoil)
    assert gating_serving_study.kept(opened(made(12)), 5, path).same and path.stat().st_size > 1000


@pytest.mark.parametrize("place", ["first", "nowhere", "as H"])
def test_worlds_where_nothing_can_be_gained(light, tmp_path, place):
    """All hit, none hits, or the reranker changes nothing: no question is harmed, so there is nothing to learn harm from, and the gate refuses and reranks."""
    candidates, usage, gold, documents, questions = made(20)
    last = gold[gold["is_last_hop"]].set_index("qid")["doc_id"]
    if place == "nowhere":
        candidates = candidates[candidates["doc_id"] != candidates["qid"].map(last)]
        for name in ("rank_h", "rank_r"):
            candidates = candidates.assign(**{name: candidates.groupby("qid")[name].rank().astype("Int64")})
        candidates = candidates.assign(rank_v=candidates.groupby("qid")["rank_v"].rank().astype("Int64"))
    elif place == "as H":
        candidates = as_h(candidates)
    else:
        for name in ("rank_h", "rank_r", "rank_v"):  # the last hop first, the others behind it in their order
            key = candidates[name].astype(float).fillna(99).where(candidates["doc_id"] != candidates["qid"].map(last), 0)
            candidates = candidates.assign(**{name: key.groupby(candidates["qid"]).rank(method="first").astype("Int64")})
        candidates = candidates.assign(score_h=1 / candidates["rank_h"].astype(float), score_v=1 / candidates["rank_v"].astype(float))
    study = opened((candidates, usage, gold, documents, questions))
    decided = nested(study.sets, grid=QUICK, ks=(5,)).decisions
    ranks = study.sets[0].ranks
    assert ((ranks["H"] <= 5) == (ranks["R"] <= 5)).all()
    kept = gating_serving_study.kept(study, 5, tmp_path / "gate.json")
    assert kept.same and kept.gate.model == "refused" and kept.served["action"].eq("rerank").all() and kept.served["p_harm"].isna().all()
    assert len(decided) and not decided["skip"].astype(bool).any() and "is a refusal" in gating_serving_study.words(kept)


def test_the_end_of_a_recorded_set_is_its_own():
    assert gating_study.ENDS["questions"] == gating_records.ENDS["questions"] == "-questions.csv.gz"


def test_the_saved_student_orders_as_the_one_that_learned_from_the_same_questions(light, tmp_path, monkeypatch):
    """A student kept in the file and one fitted anew from all questions of the set make the same lists D."""
    from lib import gating_serving_decide, gating_sets
    from lib.gating_serving import load

    tables = made(40)
    study = opened(tables)
    monkeypatch.setattr(gating_serving_study, "grid_of", lambda name: Grid(("lr",), (0,), fallbacks=("D",), constants=()))
    kept = gating_serving_study.kept(study, 1, tmp_path / "gate.json", "small", tables[0], "words")
    assert kept.gate.encoder == "words" and (kept.gate.student is None) == (kept.gate.fallback != "D")
    student = gating_sets.student_of(tables[0], study.sets[0])
    gate = kept.gate._replace(student=student)
    mine = gating_serving_decide.distilled_list(gate, tables[0]).sort_values(["qid", "rank"])
    again = gating_sets.distiller(tables[0])("own", study.sets[0].qids, tables[0]["qid"].unique()).sort_values(["qid", "rank"])
    assert mine[["qid", "rank", "doc_id"]].values.tolist() == again[["qid", "rank", "doc_id"]].values.tolist() and student.questions == 40
    assert load(tmp_path / "gate.json").fallback == kept.gate.fallback
    assert gating_sets.student_of(tables[0].assign(rank_r=pd.NA), study.sets[0]) is None


def test_a_pattern_that_finds_nothing_is_told(light):
    study = opened(made(8), files="data/results/gating/absent-*.csv.gz")
    assert study.missing[["dataset", "reason", "questions"]].values.tolist() == [["data/results/gating/absent-*.csv.gz", "no question set on record is called so", 0]]
