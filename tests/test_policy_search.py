"""The policy assistant's search: chunks that hold judged spans, filters that nothing gets past, the hybrid pool, the second query, the recorded pairs."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_search_world import Told, Words, corpus

from lib import (
    policy_arms,
    policy_chunks,
    policy_corpus,
    policy_filters,
    policy_search,
    policy_superseded,
    record_policy,
    retrieval,
)
from lib.policy_arms import Search
from lib.rerankers import Pointwise

CORPUS = corpus()
INDEXES = policy_arms.indexes(CORPUS, Words(), None)
DOCS = CORPUS.documents.set_index("doc_id")


def sentences():
    return {(d.doc_id, s["section_id"], i): text for d in CORPUS.documents.itertuples() for s in d.sections for i, text in enumerate(s["sentences"])}


# ---- chunks


@pytest.mark.parametrize("words, overlap", [(7, 0), (7, 3), (12, 2), (200, 10)])
def test_windows_are_the_flat_text_in_order(words, overlap):
    cut = policy_chunks.chunks(CORPUS.documents, "windows", words, overlap)
    for d in CORPUS.documents.to_dict("records"):
        told, parts = [w for w, _ in policy_chunks.flat(d)], [t.split() for t in cut.loc[cut["doc_id"] == d["doc_id"], "text"]]
        assert parts[0] + [w for p in parts[1:] for w in p[overlap:]] == told
        assert max(map(len, parts)) <= words


@pytest.mark.parametrize("how, words", [("windows", 9), ("windows", 25), ("sections", 9), ("lineage", 9)])
def test_a_chunk_holds_a_sentence_when_its_whole_text_stands_in_it(how, words):
    cut = policy_chunks.chunks(CORPUS.documents, how, words, 2)
    for (doc, section, i), text in sentences().items():
        whole = {c.chunk_id for c in cut[cut["doc_id"] == doc].itertuples() if text in c.text}
        assert whole == {c.chunk_id for c in cut[cut["doc_id"] == doc].itertuples() if (section, i) in c.holds}


def test_every_sentence_lies_in_exactly_one_section_chunk_and_long_sections_part_between_sentences():
    for longest in (1, 12, 120):
        cut = policy_chunks.chunks(CORPUS.documents, "sections", longest=longest)
        held = [(c.doc_id, *at) for c in cut.itertuples() for at in c.holds]
        assert sorted(held) == sorted(sentences())
    told = policy_chunks.chunks(CORPUS.documents, "lineage")["text"][2]
    assert told.startswith("Leave of absence (LV-1) > Appendix > Appendix A. Lamp keepers, in force from 2020-01-01. Those who tend")


def test_a_span_is_held_only_whole():
    wide, narrow = (policy_chunks.holders(CORPUS.judgements, policy_chunks.chunks(CORPUS.documents, "sections", longest=n)) for n in (120, 1))
    two = CORPUS.judgements["sentences"].map(lambda span: span[0] < span[1])
    assert wide["holders"].map(len).eq(1).all()
    assert narrow.loc[two, "holders"].map(len).eq(0).all() and narrow.loc[~two, "holders"].map(len).eq(1).all()


@pytest.mark.parametrize("settings_, said", [({"how": "pages"}, "cut into"), ({"words": 5, "overlap": 5, "how": "windows"}, "overlap"),
                                             ({"longest": 0}, "longest")])
def test_a_cut_that_is_none(settings_, said):
    with pytest.raises(ValueError, match=said):
        policy_chunks.chunks(CORPUS.documents, **settings_)


# ---- filters


def asked(**fields):
    return {**CORPUS.questions.iloc[0].to_dict(), **fields}


@pytest.mark.parametrize("rule, refused", [
    ("source_type", {"faq-lv", "min-3"}), ("authority", {"faq-lv", "min-3"}), ("effective_time", {"lv-1-v1"}), ("jurisdiction", {"lv-1-north"}),
    ("entitlement", {"lv-9"}), ("superseded", {"lv-1-v1"}), ("archived", {"min-3"})])
def test_each_rule_refuses_what_it_should(rule, refused):
    assert set(DOCS.index) - policy_filters.admissible(CORPUS.documents, asked(), [rule], least_authority=2) == refused


def test_an_old_version_is_the_operative_one_before_its_successor_begins():
    then = policy_filters.admissible(CORPUS.documents, asked(asked_on="2023-12-31"))
    assert "lv-1-v1" in then and "lv-1-v2" not in then
    assert {"lv-1-north", "lv-9"} <= policy_filters.admissible(CORPUS.documents, asked(jurisdiction="North", entitlement=["staff", "council"]))


def test_counts_add_up_by_brute_force():
    table = policy_filters.counted(CORPUS.documents, CORPUS.questions)
    for q in CORPUS.questions.to_dict("records"):
        mine = table[table["qid"] == q["qid"]].set_index("rule")
        alone = {r: set(DOCS.index) - policy_filters.admissible(CORPUS.documents, q, [r]) for r in policy_filters.RULES}
        every = set().union(*alone.values())
        assert mine.loc["any", "refused"] == len(every)
        for rule, refused in alone.items():
            others = set().union(*(docs for r, docs in alone.items() if r != rule))
            assert tuple(mine.loc[rule, ["refused", "alone"]]) == (len(refused), len(refused - others))


@settings(max_examples=15, deadline=None)
@given(rules=st.sets(st.sampled_from(policy_filters.RULES)), least=st.integers(0, 3), seed=st.integers(0, 10**6), places=st.integers(1, 12))
def test_nothing_that_a_filter_refuses_is_ever_shown(rules, least, seed, places):
    """Random orders and random scores, over the pool, the second query, the reranked list and the bare corpus."""
    draw = np.random.default_rng(seed)
    how = Search(tuple(sorted(rules)), least, depth=40, places=places, read=int(draw.integers(1, 40)))
    worth = {t: float(s) for t, s in zip(INDEXES["lineage"].chunks["text"], draw.permutation(len(INDEXES["lineage"].chunks)))}
    scored = Pointwise("any", lambda pairs: [worth.get(t, draw.normal()) for _, t in pairs], lambda pairs: [1] * len(pairs))
    steps = policy_arms.first_stage(CORPUS, INDEXES, how)
    lists = steps | policy_arms.reranked(CORPUS, steps, scored, how)
    for q in CORPUS.questions.to_dict("records"):
        refused = set(DOCS.index) - policy_filters.admissible(CORPUS.documents, q, how.rules, least)
        for name, arm in lists.items():
            of = arm.index.document_of
            assert not {of[c] for c in arm.found[q["qid"]]} & refused, name
            any_order = draw.permutation(list(of)).tolist()
            assert not {of[c] for c in policy_filters.shown(any_order, of, set(DOCS.index) - refused, places)} & refused


def test_what_is_no_filter():
    with pytest.raises(ValueError, match="filters are a list"):
        policy_filters.admissible(CORPUS.documents, asked(), ["superceded"])
    with pytest.raises(ValueError, match="least_authority"):
        policy_filters.admissible(CORPUS.documents, asked(), least_authority=-1)


# ---- the committed corpus


def test_the_evidence_of_the_sample_is_admissible_for_those_who_ask():
    """Else a filter would make a question impossible, and the fault would look like one of retrieval."""
    if not policy_corpus.FOLDER.is_dir():
        pytest.skip("data/sample/policy is not there")
    documents, _, questions, judgements = policy_corpus.read()
    judged = judgements[judgements["label"] == "bundle"].groupby("qid")["doc_id"].agg(set)
    for q in questions.to_dict("records"):
        assert judged[q["qid"]] <= policy_filters.admissible(documents, q), q["qid"]


# ---- search


def test_the_hybrid_list_is_the_librarys_own(monkeypatch):
    """A peer: ``retrieval.rank`` over the same chunks, the admissible ones as the question's own paragraphs."""
    here = INDEXES["sections"]
    monkeypatch.setattr(retrieval, "passage", lambda title, text: text)
    documents = pd.DataFrame({"dataset": "p", "doc_id": here.chunks["chunk_id"], "title": "", "text": here.chunks["text"]})
    own = [{"dataset": "p", "qid": q["qid"], "doc_id": c.chunk_id} for q in CORPUS.questions.to_dict("records") for c in here.chunks.itertuples()
           if c.doc_id in policy_filters.admissible(CORPUS.documents, q)]
    peer = retrieval.rank(CORPUS.questions.assign(dataset="p"), documents, pd.DataFrame(own), Words(), ("own",), 5, None)
    peer = peer[peer["ranker"] == "hybrid"].groupby("qid")["doc_id"].agg(list).to_dict()
    assert policy_search.pools(here, CORPUS.questions, depth=5) == peer


def test_pools_do_not_depend_on_the_order_of_documents_or_questions():
    turned = CORPUS._replace(documents=CORPUS.documents.iloc[::-1], questions=CORPUS.questions.iloc[::-1])
    steps, again = (policy_arms.first_stage(c, policy_arms.indexes(c, Words(), None)) for c in (CORPUS, turned))
    assert {k: v.found for k, v in steps.items()} == {k: v.found for k, v in again.items()}


def test_the_second_query_looks_beside_the_body_and_names_what_was_found():
    here = INDEXES["lineage"]
    first = policy_search.pools(here, CORPUS.questions)
    assert policy_search.operative(first["q3"], here) == "lv-1-v2"
    second = policy_search.second_lists(here, CORPUS.questions, first)
    kinds = dict(zip(here.chunks["chunk_id"], here.chunks["kind"]))
    assert second["q3"][0] == "lv-1-v2#s3.0" and all(kinds[c] in policy_search.BESIDE for found in second.values() for c in found)
    assert not any(policy_search.second_lists(INDEXES["windows"], CORPUS.questions, first | policy_search.pools(INDEXES["windows"], CORPUS.questions)).values())


def test_the_kept_place_changes_one_passage_at_most():
    for kept in (0, 1, 2):
        steps = policy_arms.first_stage(CORPUS, INDEXES, Search(kept=kept))
        for q, both in steps["second query"].found.items():
            first = steps["lineage"].found[q]
            assert len(set(both[:4]) - set(first[:4])) <= kept and len(set(both)) == len(both) and set(first) <= set(both)


def test_a_reranker_orders_what_it_reads_and_leaves_the_rest():
    steps = policy_arms.first_stage(CORPUS, INDEXES)
    arms = policy_arms.reranked(CORPUS, steps, Told(), Search(read=3))
    for q, pool in steps["windows"].found.items():
        found = arms["windows + reranker"].found[q]
        assert sorted(found[:3]) == sorted(pool[:3]) and found[3:] == pool[3:] and arms["windows + reranker"].scored[q] == min(3, len(pool))
        length = dict(zip(INDEXES["windows"].chunks["chunk_id"], INDEXES["windows"].chunks["text"].str.len()))
        assert [length[c] for c in found[:3]] == sorted((length[c] for c in pool[:3]), reverse=True)


def test_what_is_recorded_is_what_is_asked():
    told, how = Told(), Search(read=4)
    steps = policy_arms.first_stage(CORPUS, INDEXES, how)
    policy_arms.reranked(CORPUS, steps, told, how)
    policy_superseded.lists(CORPUS, INDEXES["windows"], told, how)
    assert record_policy.pairs(CORPUS, Words(), how._replace(read=4 - record_policy.MARGIN), None) == sorted(told.pairs)
    assert set(record_policy.pairs(CORPUS, Words(), how, None)) > told.pairs


# ---- versions not in force


def test_versions_not_in_force_are_seen_without_filters_and_never_with_them():
    here = INDEXES["windows"]
    made = policy_superseded.lists(CORPUS, here, Told())
    rows = policy_superseded.rows(CORPUS, here, made).set_index(["qid", "filters", "order"])
    assert rows.xs("on", level="filters")["shown"].eq(0).all() and rows.xs("on", level="filters")["above"].isna().all()
    of, pool = here.document_of, made["off", "hybrid"]["q1"]
    old, new = ([i for i, c in enumerate(pool) if of[c] == d] for d in ("lv-1-v1", "lv-1-v2"))
    assert rows.loc[("q1", "off", "hybrid"), "above"] == float(min(old) < min(new))
    assert policy_superseded.stale(CORPUS.documents, asked(asked_on="2021-01-01")) >= {"lv-1-v2"}
