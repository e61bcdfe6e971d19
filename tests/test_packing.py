"""A whole data set packed: every row there, no context over its budget, and the metric computed on exactly what the reader sees."""
import hashlib

import numpy as np
import pandas as pd
import pytest
from small_world import TEXTS, Letters, merging, words, world

from lib import diagnostics, evidence, survival, tables
from lib.packing import Bench, pack_all, pack_id, pack_sets, pool_id, setting, settings_rows
from lib.worked import example_rows, telling_question

POLICIES = ["naive", "focused", "mmr", "submod", "gold", "topk", "random"]
BUDGETS = [1, 20, 40, 400]
SETTINGS = {"published": {}, "pooled": {"scope": "pooled"}, "bm25": {"ranker": "bm25", "depth": 2}, "whole sentences": {"min_tokens": 1},
            "capped": {"cap": 1, "exponent": 0.0}, "stopped": {"stop": True, "order": "picked"}, "dense": {"relevance": "dense"},
            "idf": {"relevance": "idf", "rest": "merged"}, "title": {"relevance": "title", "weights": [1, 0, 0, 0]}}


@pytest.fixture(autouse=True)
def count_words(monkeypatch):
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: {"words": words, "merging": merging}[name])


def bench(encoder=None, **other):
    return Bench(*world(**other), encoder or Letters(), cache=None)


def settled(**changes):
    return setting(**{"tokenizer": "words", "min_tokens": 12, **changes})


@pytest.fixture(scope="module")
def made():
    """Every setting packed once: name -> (setting, tables)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "budget_tokenizer", lambda name: words)
        laid_out = bench()
        return {name: (s := settled(**changes), pack_all(laid_out, s, POLICIES, BUDGETS)) for name, changes in SETTINGS.items()}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_question_policy_and_budget_has_its_row(made, name):
    s, out = made[name]
    questions = world()[0]["qid"]
    for table in ("contexts", "survival"):
        assert set(zip(out[table]["qid"], out[table]["policy"], out[table]["budget"])) == {(q, p, b) for q in questions for p in POLICIES for b in BUDGETS}
        assert len(out[table]) == len(questions) * len(POLICIES) * len(BUDGETS) and set(out[table]["pack_id"]) == {pack_id(s)}
    for table in ("snippets", "packs", "contexts", "survival"):
        assert len(tables.check(out[table], table)) == len(out[table])


@pytest.mark.parametrize("name", SETTINGS)
def test_no_context_exceeds_its_budget_and_the_sum_is_the_joined_text(made, name):
    contexts, packs = made[name][1]["contexts"], made[name][1]["packs"]
    assert (contexts["n_tokens"] <= contexts["budget"]).all() and (contexts["n_tokens"] > 0).any()
    assert contexts["n_tokens"].tolist() == words([c + "\n" if c else "" for c in contexts["context"]])
    assert contexts["n_tokens"].sum() == packs["n_tokens"].sum() and contexts["n_snippets"].sum() == len(packs)
    assert contexts["n_tokens_alone"].tolist() == (contexts["n_tokens"] - contexts["n_snippets"]).tolist()  # a line break is a token here
    assert contexts["context_hash"].tolist() == [hashlib.sha256(c.encode()).hexdigest() for c in contexts["context"]]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_metric_is_computed_on_exactly_the_text_the_reader_sees(made, name):
    """Recomputed from the context alone: documents hold no line break, so its lines are the packed snippets."""
    _, out = made[name]
    asked = world()[0].set_index("qid")
    rows = out["contexts"].merge(out["survival"], on=diagnostics.PACK_KEY, validate="one_to_one")
    for r in rows.itertuples():
        question = asked.loc[r.qid]
        seen = survival.answer_in_context(question["answers"], r.context.split("\n"), question["question_type"])
        assert (r.answer_in_context, r.answer_defined, r.undefined_reason) == seen
        assert (r.n_tokens_x, r.n_snippets_x) == (r.n_tokens_y, r.n_snippets_y)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_answer_in_the_context_is_in_the_pool_and_in_the_corpus(made, name):
    rows = made[name][1]["survival"].query("policy != 'gold'")
    assert (rows["answer_in_context"] <= rows["answer_in_pool"]).all() and (rows["answer_in_pool"] <= rows["answer_in_corpus"]).all()
    assert rows.groupby("qid")[["answer_in_pool", "answer_in_corpus"]].nunique().eq(1).all(axis=None)  # no packer moves them


def test_nested_even_where_sentences_touch(made):
    """The passage has "Tollwick.Nobody", one token to the normaliser; its sentence ends in the answer all the same."""
    out = made["whole sentences"][1]
    row = out["survival"].query("qid == 'q4' and policy == 'naive' and budget == 400").iloc[0]
    assert survival.answer_in_context(["Tollwick"], [TEXTS["eel"][1]]).value == 0
    assert (row["answer_in_context"], row["answer_in_pool"], row["answer_in_corpus"]) == (1, 1, 1)


def test_metric_case_no_candidate_fits(made):
    for _, out in made.values():
        rows = out["contexts"].query("budget == 1").merge(out["survival"], on=diagnostics.PACK_KEY)
        assert (rows["context"] == "").all() and not rows[["n_tokens_x", "n_snippets_x", "n_tokens_alone", "answer_in_context", "answer_in_context_spaced"]].any(axis=None)
        assert set(rows["context_hash"]) == {hashlib.sha256(b"").hexdigest()}
        assert rows.loc[rows["qid"] == "q1", "answer_defined"].all()  # lost, and not undefined


def test_metric_case_no_candidate_fits_anywhere_in_the_data_set():
    out = pack_all(bench(), settled(), POLICIES, [1])
    assert len(out["packs"]) == 0 and len(out["contexts"]) == len(out["survival"]) == 6 * len(POLICIES)
    assert all(len(tables.check(out[t], t)) == len(out[t]) for t in ("packs", "contexts", "survival"))


def test_a_question_that_retrieved_nothing_keeps_its_rows(made):
    rows = made["published"][1]["contexts"].query("qid == 'q6' and budget == 400").set_index("policy")
    assert (rows.drop("gold")["context"] == "").all()
    assert "Marl" in rows.loc["gold", "context"]  # the gold arm does not depend on the retriever


def test_where_everything_fits_packers_differ_in_nothing(made):
    out = made["published"][1]
    rows = out["contexts"].query("budget == 400 and policy not in ['gold']")
    assert (rows.groupby("qid")["context_hash"].nunique() == 1).all()
    assert out["survival"].query("budget == 400 and policy != 'gold'").eval("answer_in_context == answer_in_pool").all()


def test_the_gold_arm_packs_gold_passages_and_all_of_them_where_they_fit(made):
    rows = made["published"][1]["survival"].query("policy == 'gold' and budget == 400").set_index("qid")
    judged = rows.drop("q4")
    assert (judged[["gold_coverage", "all_gold_in_context", "gold_density"]] == 1).all(axis=None)
    assert rows.loc["q4", ["gold_coverage", "all_gold_in_context", "gold_density"]].isna().all() and rows.loc["q4", "n_tokens"] == 0


def test_the_certificate_is_a_share_of_what_is_possible_and_submods_alone(made):
    contexts = made["published"][1]["contexts"]
    of_submod = contexts[contexts["policy"] == "submod"]
    assert contexts[contexts["policy"] != "submod"]["certificate"].isna().all()
    known = of_submod["certificate"].dropna()
    assert ((known >= 0) & (known <= 1 + 1e-9)).all() and set(of_submod[of_submod["certificate"].isna()]["qid"]) == {"q6"}
    assert of_submod.query("budget == 400")["certificate"].dropna().to_numpy() == pytest.approx(1)
    assert made["capped"][1]["contexts"]["certificate"].isna().all()  # the bound knows no cap


@pytest.mark.parametrize("changes", [{}, {"scope": "pooled", "relevance": "dense"}, {"relevance": "idf", "min_tokens": 1}])
def test_renaming_documents_changes_no_context_and_no_score(changes):
    other = dict(zip(TEXTS, ["z", "c", "y", "a", "k", "b"]))
    before, after = (pack_all(bench(**how), settled(**changes), POLICIES, BUDGETS) for how in ({}, {"rename": other.get, "reverse": True}))
    pd.testing.assert_frame_equal(before["contexts"], after["contexts"])
    pd.testing.assert_frame_equal(before["survival"], after["survival"])
    key = ["qid", "pool_id", "doc_rank", "position"]
    one, two = (t["snippets"].sort_values(key)["relevance"].to_numpy() for t in (before, after))
    assert (one == two).all()


def test_packing_twice_gives_the_same_tables(made):
    s, first = made["published"]
    second = pack_all(bench(), s, POLICIES, BUDGETS)
    for name in first:
        pd.testing.assert_frame_equal(first[name], second[name])


def test_a_tokenizer_that_merges_across_line_breaks_is_refused():
    with pytest.raises(ValueError, match="tokenizer 'merging' is refused: the snippets of question 'q1' cost|tokenizer 'merging' is refused"):
        pack_all(bench(), settled(tokenizer="merging", min_tokens=1), ["naive"], [400])


def test_relevance_lies_between_0_and_1_under_every_rule(made):
    for name in ("published", "dense", "idf", "title"):
        assert made[name][1]["snippets"]["relevance"].between(0, 1).all()
    values = {name: made[name][1]["snippets"].sort_values(["qid", "pool_id", "snippet_id"])["relevance"].tolist() for name in ("published", "dense", "title")}
    assert values["published"] != values["dense"] and values["published"] != values["title"]


def test_snippets_and_vectors_are_made_once_a_pool():
    encoder = Letters()
    laid_out = bench(encoder)
    pack_all(laid_out, settled(), ["naive"], [45])
    asked = len(encoder.batches)
    pack_all(laid_out, settled(cap=1, exponent=0.0), POLICIES, BUDGETS)
    assert len(encoder.batches) == asked
    pack_all(laid_out, settled(min_tokens=1), ["naive"], [45])
    assert len(encoder.batches) > asked


@pytest.mark.parametrize(("changes", "message"), [
    ({"dept": 5}, r"unknown packing settings \['dept'\]"), ({"relevance": "bm25"}, "relevance must be one of overlap, idf, title, dense, cross_encoder, got 'bm25'"),
    ({"scope": "poled"}, "scope must be one of own, pooled"), ({"representation": "graph"}, "representation must be one of chunk, ace"),
    ({"order": "reverse"}, "order must be one of"), ({"rest": "dropped"}, "rest must be one of"), ({"depth": 0}, "depth must be a whole number of 1 or more, got 0"),
    ({"cap": 0}, "cap .*None.* got 0"), ({"min_tokens": 0}, "min_tokens .* got 0"), ({"exponent": -1}, "exponent must be a number of 0 or more, got -1"),
    ({"depth": "5"}, "depth .* got '5'"), ({"depth": True}, "depth .* got True"), ({"exponent": None}, "exponent .* got None"), ({"weights": 1}, "weights must be four numbers"),
    ({"weights": [1, 0.5, 0.4]}, "weights must be four numbers"), ({"weights": "1234"}, "weights must be four"), ({"stop": "no"}, "stop must be True or False, got 'no'"),
    ({"tokenizer": 3}, "tokenizer must be a name, got 3"), ({"exponent": float("nan")}, "exponent .* got nan"),
])
def test_a_misspelt_setting_is_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        setting(**changes)


def test_a_ranker_that_made_no_list_is_an_error_and_not_an_empty_context():
    with pytest.raises(ValueError, match=r"no list of scope 'own' by ranker 'splade'; there are \[\('own', 'bm25'\)"):
        pack_all(bench(), settled(ranker="splade"), ["naive"], [45])


def test_ids_name_what_differs_from_the_published_setting_and_the_table_resolves_them():
    assert (pool_id(setting()), pack_id(setting())) == ("own-dense-5", "own-dense-5.chunk")
    assert pack_id(setting(depth=10, cap=3, exponent=0)) == "own-dense-10.chunk.cap=3.r=0.0"
    assert pack_id(setting(weights=(1, 0.5, 0.4, 0.3), exponent=1)) == pack_id(setting())  # 1 and 1.0 are one setting
    settings = [setting(**c) for c in SETTINGS.values()]
    ids = [pack_id(s) for s in settings]
    assert len(set(ids)) == len(ids)
    rows = tables.check(settings_rows([*settings, settings[0]]), "settings").set_index("id")
    assert set(ids) | {pool_id(s) for s in settings} | {"gold"} == set(rows.index)


def test_the_worked_example_is_one_on_which_packers_disagree(made):
    s, out = made["published"]
    questions, gold, documents, _, _ = world()
    torn = telling_question(questions, out["survival"], pack_id(s), 40)
    rows = out["survival"].query("qid == @torn.qid and budget == 40 and policy in ['naive', 'focused', 'mmr', 'submod']")
    assert torn["n_hops"] >= 2 and rows["answer_in_context"].nunique() == 2
    assert telling_question(questions, out["survival"], pack_id(s), 400)["qid"] == "q1"  # no disagreement: the first question
    snippets = out["snippets"].query("qid == @torn.qid and pool_id == @pool_id(@s)")
    example = example_rows(torn, snippets, documents, gold)
    assert len(example) == len(snippets) and list(zip(example["doc_rank"], example["position"])) == sorted(zip(example["doc_rank"], example["position"]))
    assert set(example[example["is_gold"]]["doc_id"]) == {"sorrel", "marl"}
    assert example["holds_answer"].tolist() == [("Sea of Aumes" in t) for t in example["text"]] and np.any(example["holds_answer"])


def test_a_run_without_settings_is_empty():
    assert all(table.empty for table in pack_sets({}, [], ["naive"], [45]).values())
