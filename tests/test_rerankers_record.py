"""The plan of rerankers, the lists it makes for notebook 01, what is recorded of it, and how a live run compares."""
import pandas as pd
import pytest

from lib import gating_lists, record_rerankers, rerankers_sample, tables
from lib.cross_encoder import pair_keys
from lib.reader_spec import ReaderError
from lib.record_rerankers import PLAN, agreement, chosen, judges_of, live, record_language_models
from lib.rerankers_judge import Judge
from lib.rerankers_model import YES_NO
from lib.rerankers_open import check_spec
from lib.rerankers_sample import Task, reranked, union_pairs
from lib.retrieval import passage
from lib.store import Store
from lib.weights import WeightsMissing
from tests.rerank_world import Counter, world

SPEC = {"model": "smollm2-135m", "precision": "bf16"}
TINY = (Task({"method": "yes_no", **SPEC}, 2, 4), Task({"method": "listwise", **SPEC, "window": 3, "stride": 2}, 1, 4))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def valued():
    """The small world with a number in every text."""
    rankings, questions, documents = world()
    return rankings, questions, documents.assign(text=[f"This is worth {i} now." for i in range(len(documents))])


@pytest.fixture
def read_by_counter(monkeypatch):
    """Every judge reads by the numbers in the texts, and loads nothing."""
    reader = Counter()
    monkeypatch.setattr(Judge, "_reader", lambda self: reader)
    return reader


def test_the_plan_is_sound_and_keeps_language_models_at_depth_20():
    assert PLAN == (*rerankers_sample.PLAN, gating_lists.LANGUAGE)
    for task in PLAN:
        method = check_spec(task.spec)
        assert task.first in (*rerankers_sample.FIRSTS, gating_lists.POOL) and (method == "cross_encoder" or (task.depth <= 20 and task.questions > 0))
    assert [t.spec["method"] for t in chosen(["yes_no"])] == ["yes_no"] * 4 and chosen([]) == list(PLAN)
    assert len(chosen(["yes_no:smollm2-135m", "pairwise"])) == 2
    with pytest.raises(ValueError, match="the plan has no essay; it has cross_encoder:reranker"):
        chosen(["essay"])


def test_each_model_of_the_plan_is_loaded_once(store):
    judges = judges_of(PLAN, store)
    asked = [t for t in PLAN if t.spec["method"] != "cross_encoder"]
    assert sorted(map(str, asked)) == sorted(str(t) for _, own in judges.values() for t in own), "every task has one judge"
    assert len(judges) == len({(t.spec["model"], t.spec["precision"]) for t in asked}) == len({id(judge) for judge, _ in judges.values()}) == 3


def test_union_pairs_are_the_candidates_of_both_lists_once():
    rankings, questions, documents = world()
    pairs = union_pairs(rankings, questions[:1], documents, depth=3)
    assert len(pairs) == 6 and set(pairs) == {("Who built the mill?", passage(*d)) for d in documents.set_index("doc_id").loc[
        ["d0", "d1", "d2", "d5", "d6", "d7"], ["title", "text"]].itertuples(index=False)}
    assert pairs == union_pairs(rankings.sample(frac=1, random_state=0), questions[:1], documents, depth=3)
    assert union_pairs(rankings, questions[:0], documents) == []


def test_lists_costs_and_what_was_left_out_with_its_reason(store, read_by_counter):
    absent = Task({"method": "cross_encoder", "model": "nobody"}, 0, 4)
    rows, costs, skipped = reranked(*valued(), [*TINY, absent], store, live=True)
    tables.check(rows, "rankings")
    assert set(rows["ranker"]) == {"hybrid + smollm2-135m yes/no", "hybrid + smollm2-135m listwise"}
    assert rows.groupby("ranker")["qid"].nunique().tolist() == [1, 2] and len(costs) == 3 and costs["depth"].eq(4).all()
    assert list(skipped) == ["hybrid + nobody"] and "has no card" in skipped["hybrid + nobody"]
    assert reranked(*valued(), [], store)[0].empty and reranked(*valued(), [absent], store)[0].empty
    smaller = set(rows.loc[rows["ranker"].str.endswith("listwise"), "qid"])
    assert smaller <= set(rows.loc[rows["ranker"].str.endswith("yes/no"), "qid"]), "a smaller subset lies in a larger one"


def test_what_is_recorded_is_exactly_what_the_plan_asks_and_replays_without_a_model(store, read_by_counter, monkeypatch):
    told = record_language_models(TINY, valued(), store)
    assert len(told) == 2 and told[0].startswith("8 values in rerank_choice-smollm2_135m-bf16-") and told[1].startswith("2 values in answer-smollm2_135m-bf16-")
    first = {p.name: p.read_bytes() for p in store.recorded.glob("*.jsonl")}
    clone = Store(store.recorded, store.cache.parent / "empty")
    lists, _, skipped = reranked(*valued(), TINY, store)
    assert len(lists) == 24 and not skipped
    monkeypatch.setattr(Judge, "_reader", lambda self: pytest.fail("a model was asked"))
    pd.testing.assert_frame_equal(reranked(*valued(), TINY, clone)[0], lists)
    record_language_models(TINY, valued(), clone)
    assert {p.name: p.read_bytes() for p in store.recorded.glob("*.jsonl")} == first


def test_what_is_not_recorded_is_left_out_with_its_reason_unless_it_is_asked_live(store):
    rows, costs, skipped = reranked(*valued(), TINY, store)
    assert rows.empty and costs.empty and list(skipped) == ["hybrid + smollm2-135m yes/no", "hybrid + smollm2-135m listwise"]
    assert "python -m lib.record_rerankers" in skipped["hybrid + smollm2-135m yes/no"]


def test_timing_a_plan_writes_nothing(store, read_by_counter, capsys):
    assert record_language_models(TINY, valued(), store, questions=1, write=False) == [] and not store.recorded.exists()
    assert "cpu_s_a_question" in capsys.readouterr().out and len(read_by_counter.asked) == 3


def test_a_model_without_weights_is_left_out_with_its_reason(store, monkeypatch):
    def nothing(self):
        raise WeightsMissing("weights of smollm2-135m are not in data/cache/weights; fetch them")

    monkeypatch.setattr(Judge, "_reader", nothing)
    said, = record_language_models(TINY, valued(), store)
    assert said == "smollm2-135m bf16: what is recorded stays as it is (weights of smollm2-135m are not in data/cache/weights; fetch them)"


def test_live_values_are_compared_and_an_unfinished_record_is_refused(store, read_by_counter, monkeypatch):
    monkeypatch.setattr(record_rerankers, "Store", lambda: store)
    with pytest.raises(ReaderError):
        live(TINY, valued(), 3)
    record_language_models(TINY, valued(), store)
    said = live(TINY, valued(), 3)
    assert said[0] == "smollm2-135m bf16 rerank_choice: 3 of 3 live log-odds equal the recorded ones (100.0%), largest difference 0.000 nats"
    assert said[1] == "smollm2-135m bf16 answer: 2 of 2 live orders equal the recorded ones (100.0%)"
    read_by_counter._order = lambda prompt: " 1\n"
    assert live(TINY[1:], valued(), 3)[0].startswith("smollm2-135m bf16 answer: 0 of 2")


# --- the real record and the recipe of the variants

@pytest.fixture(scope="module")
def sample():
    """The sample's tables with the lists that a gate's rerankers read."""
    try:
        return record_rerankers.given()
    except (FileNotFoundError, WeightsMissing) as error:
        pytest.skip(str(error).splitlines()[0])


def test_recorded_choices_of_a_small_model_come_out_the_same_live(tmp_path, sample):
    """A live subset: six recorded prompts asked anew."""
    (judge, tasks), = judges_of(chosen(["yes_no:smollm2-135m"]), Store(cache=tmp_path / "cache"), backend="replay").values()
    try:
        record_rerankers.run_task(tasks[0], sample, judge, questions=2)
        there = Judge({**judge.spec, "backend": "transformers"}, judge.store)
        (group, prompts), = judge.asked.values()
        said = agreement(there, group, list(prompts.values())[:6], 6)
        there.close()
    except (FileNotFoundError, ReaderError, WeightsMissing) as error:
        pytest.skip(f"not recorded here, or no weights: {str(error).splitlines()[0]}")
    assert said.startswith("6 of 6") and group["decoding"]["words"] == list(YES_NO)


def covered(firsts, tables_):
    keys = pair_keys(union_pairs(*tables_, firsts), {"model": "reranker"})
    rows = Store().recorded_rows()
    if missing := sum(key not in rows for key in keys):
        pytest.skip(f"{missing} of {len(keys)} scores of the reranker are not recorded yet: python -m lib.record_rerankers --only cross_encoder")
    return keys


def test_the_recorded_scores_of_the_reranker_cover_both_first_stages(sample):
    assert len(covered(rerankers_sample.FIRSTS, sample)) > len(sample[1])


def test_what_the_gates_rerankers_read_stands_among_the_rankings_once(sample):
    rankings, questions, _ = sample
    assert not rankings.duplicated(["dataset", "qid", "scope", "ranker", "doc_id"]).any()
    for name in (gating_lists.POOL, *gating_lists.POOLS):
        mine = rankings[rankings["ranker"] == name]
        lists = gating_lists.POOLS.get(name, ("graph", "dense"))
        near = rankings[rankings["ranker"].isin(lists) & (rankings["scope"] == "pooled") & (rankings["rank"] <= 10)]
        assert set(zip(mine["dataset"], mine["qid"], mine["doc_id"])) == set(zip(near["dataset"], near["qid"], near["doc_id"]))
        assert mine["rank"].max() <= 10 * len(lists) and mine[["dataset", "qid"]].drop_duplicates().shape[0] == len(questions)


def test_the_recorded_scores_of_the_reranker_cover_the_unions(sample):
    keys = covered((gating_lists.POOL, *gating_lists.POOLS), sample)
    assert len(keys) > len(covered(rerankers_sample.FIRSTS, sample)) / 10


def test_the_recorded_choices_cover_the_language_models_union(sample, tmp_path):
    rows, costs, skipped = reranked(*sample, [gating_lists.LANGUAGE], Store(cache=tmp_path / "none"))
    if skipped:
        pytest.skip(f"not recorded yet: {skipped}")
    assert costs.groupby("dataset").size().max() <= gating_lists.LANGUAGE.questions and set(rows["ranker"]) == {"H + V + qwen2.5-coder-0.5b yes/no"}
    depths = sample[0][sample[0]["ranker"] == gating_lists.POOL].groupby(["dataset", "qid"]).size()
    assert (costs.set_index(["dataset", "qid"])["candidates"] == depths.reindex(pd.MultiIndex.from_frame(costs[["dataset", "qid"]])).to_numpy()).all()
