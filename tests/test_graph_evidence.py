"""Graph snippets packed like any others: every row there, every character traceable, merging counted (representation ace)."""
import numpy as np
import pandas as pd
import pytest
from ace_world import TEXTS, Rules, documents

from lib import ace_parse, evidence, graph_evidence, packing, record_parses, tables
from lib.recorded import read_recorded

POLICIES = ["naive", "focused", "mmr", "submod"]
LISTS = {"q1": ["vane", "hythe", "bridge"], "q2": ["bridge", "hythe", "elmer"], "q3": ["empty"]}


class Letters:
    """Vectors of letter counts."""

    name = "letters"

    def encode(self, texts):
        made = np.array([[t.lower().count(c) + 0.01 for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture(scope="module", autouse=True)
def count_words():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "budget_tokenizer", lambda name: lambda texts: [len(t.split()) + t.count("\n") for t in texts])
        yield


@pytest.fixture(scope="module")
def bench():
    questions = pd.DataFrame([("ondrell", "q1", "Where was the drawer of the Old Bridge of Tollwick born?", ["Gedney Hythe"], "bridge", 2),
                              ("ondrell", "q2", "When was Isott Vane born?", ["1702"], "single", 1), ("ondrell", "q3", "What?", ["Nothing"], "single", 1)],
                             columns=["dataset", "qid", "question", "answers", "question_type", "n_hops"]).assign(slice="s", half=0)
    questions["seeds"] = [[]] * 3
    gold = pd.DataFrame([("ondrell", "q1", "bridge", 1, 1, False), ("ondrell", "q1", "vane", 1, 2, True), ("ondrell", "q2", "hythe", 1, 1, True)],
                        columns=["dataset", "qid", "doc_id", "grade", "hop", "is_last_hop"])
    pools = pd.DataFrame([("ondrell", q, d) for q, ids in LISTS.items() for d in ids], columns=["dataset", "qid", "doc_id"])
    rankings = pools.assign(scope="own", ranker="dense", rank=pools.groupby("qid").cumcount() + 1, score=1.0)
    return packing.Bench(questions, gold, documents(TEXTS), pools, rankings, Letters(), cache=None, parser=Rules())


@pytest.fixture(scope="module")
def made(bench):
    return packing.pack_all(bench, packing.setting(representation="ace"), POLICIES, [8, 20])


def test_every_question_policy_and_budget_has_its_row_within_its_budget(made):
    assert len(made["contexts"]) == len(made["survival"]) == 3 * len(POLICIES) * 2
    assert (made["contexts"]["n_tokens"] <= made["contexts"]["budget"]).all()
    assert set(made["snippets"]["representation"]) == {"ace"} and set(made["contexts"]["pack_id"]) == {"own-dense-5.ace"}


def test_every_character_of_every_snippet_is_at_the_place_the_spans_name(bench, made):
    spans = tables.check(graph_evidence.spans({"ondrell": bench}, packing.setting(representation="ace")), "ace_spans")
    text = {d: t for d, (_, t) in TEXTS.items()}
    told = spans.sort_values("part").groupby("snippet_id")[["doc_id", "start", "end"]].apply(lambda p: "".join(text[d][a:b] for d, a, b in p.itertuples(index=False)))
    shown = made["snippets"].drop_duplicates("snippet_id").set_index("snippet_id")["text"]
    assert len(shown) > 5 and (told.loc[shown.index] == shown).all()


def test_what_is_merged_is_counted_and_named_as_a_source(bench, made):
    graph = packing.setting(representation="ace")
    sources = tables.check(graph_evidence.sources({"ondrell": bench}, graph), "ace_sources")
    packed = made["snippets"]
    for row in sources.itertuples():  # a source is not shown, what stands for it is
        mine = packed[(packed["qid"] == row.qid) & (packed["pool_id"] == row.pool_id)]["snippet_id"]
        assert row.source_id not in set(mine) and row.snippet_id in set(mine)
    spans = graph_evidence.spans({"ondrell": bench}, graph)
    chunks = packing.pack_all(bench, packing.setting(), ["naive"], [20])["snippets"]
    found = tables.check(graph_evidence.compression({"ondrell": bench}, graph, spans, chunks, "sample", resamples=100), "compression")
    share = found.set_index("quantity")["estimate"]
    pool = sources[sources["pool_id"] == packing.pool_id(graph)]
    shown = packed[packed["pool_id"] == packing.pool_id(graph)]
    assert len(pool) > 0 and share["claims_merged"] == pytest.approx(len(pool) / (len(pool) + len(shown)))
    assert set(found["quantity"]) == set(graph_evidence.QUANTITIES)


def test_chunks_and_claims_of_one_pool_do_not_mix(bench):
    both = packing.pack_sets({"ondrell": bench}, [packing.setting(), packing.setting(representation="ace")], ["submod"], [20])
    tables.check(both["snippets"], "snippets"), tables.check(both["packs"], "packs")
    kinds = both["packs"].groupby("pack_id")["snippet_id"].agg(lambda ids: {"@" in i for i in ids})
    assert kinds["own-dense-5.chunk"] == {False} and kinds["own-dense-5.ace"] == {True}


def test_recorded_parses_are_taken_before_any_parser_is_asked(tmp_path):
    rows = documents(TEXTS)
    path = record_parses.record(Rules(), tmp_path, rows)
    group, values = read_recorded(path)
    assert group["kind"] == "parse" and len(values) == len(rows)
    silent = Rules()
    assert ace_parse.parses(rows, silent, None, values) == ace_parse.parses(rows, Rules(), None) and silent.asked == []
    assert record_parses.record(Rules(), tmp_path, rows.iloc[::-1]).read_bytes() == path.read_bytes()


@pytest.mark.live
def test_the_recorded_parses_of_the_sample_can_be_had_again():
    recorded = next(record_parses.FOLDER.glob("parse-*.jsonl"))
    _, values = read_recorded(recorded)
    rows = tables.read("documents", "sample").sample(12, random_state=0)
    parser = ace_parse.SpacyParser()
    live = dict(zip(ace_parse.keys(rows, parser), ace_parse.parses(rows, parser, None)))
    assert sum(values[k] == v for k, v in live.items()) >= 11  # another processor may turn one
