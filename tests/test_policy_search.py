"""The policy assistant's search: chunks that hold judged spans, filters that nothing gets past, the hybrid pool, the second query, the recorded pairs."""
import io
from datetime import date, datetime

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


def test_two_chunks_of_one_id_are_refused_before_anything_is_searched():
    """Document a, section b#c, and document a#b, section c: their chunks would share an id, and with it the texts."""
    plain = {"title": "Leave", "identifier": "L", "effective_from": "2020-01-01"}
    parts = {"heading": "Days", "kind": "body", "sentences": ["Ten days."]}
    alike = pd.DataFrame([{"doc_id": doc, **plain, "sections": [{"section_id": part, **parts}]} for doc, part in (("a", "b#c"), ("a#b", "c"))])
    with pytest.raises(ValueError, match="chunk 'a#b#c.0' comes of the documents 'a', 'a#b': .*; give each"):
        policy_chunks.chunks(alike)
    for how in policy_chunks.STEPS:
        with pytest.raises(ValueError, match="chunk id may come once"):
            policy_chunks.chunks(pd.concat([CORPUS.documents, CORPUS.documents.iloc[:1]]), how)
    cut = policy_chunks.chunks(CORPUS.documents)
    with pytest.raises(ValueError, match="chunk id may come once"):
        policy_search.index(pd.concat([cut, cut.iloc[3:4]]), CORPUS.documents, Words(), None)


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


class Wild:
    """A random corpus with its plain truth (names: a set or None, days: a date or None), and the same as a table in which each value wears a random form."""

    NAMES = (list, tuple, set, frozenset, np.array, pd.Series, pd.Index, pd.array, lambda names: names[0] if len(names) == 1 else names)
    DAYS = (date.isoformat, lambda d: d, pd.Timestamp, np.datetime64, lambda d: datetime(d.year, d.month, d.day, 13, 30))
    MISSING = (None, float("nan"), pd.NA, pd.NaT, "", " ")

    def __init__(self, seed, stored):
        self.draw, self.stored = np.random.default_rng(seed), stored
        days = [date(2020, 1, 1), date(2020, 12, 31), date(2021, 1, 1), date(2022, 6, 30)]
        n = int(self.draw.integers(1, 7))
        self.documents = [{"doc_id": f"d{i}", "source_type": self.one(["policy"] * 6 + ["faq", None]), "authority": self.one([0, 1, 2, 3, 3, 3, None]),
                           "effective_from": self.one([days[0]] * 5 + [*days, None]), "effective_to": self.one([*days, *[None] * 6]),
                           "jurisdiction": self.some("all", "north", "south"), "entitlement": self.some("all", "staff", "board"),
                           "superseded_by": self.one([None] * 9 + [f"d{j}" for j in range(n + 1)]), "archived": self.one([False] * 8 + [True, None])}
                          for i in range(n)]
        self.questions = [{"qid": f"q{i}", "asked_on": self.one(days), "jurisdiction": self.some("north", "south", "all"),
                           "entitlement": self.some("staff", "board"), "acceptable_sources": self.some("policy", "faq") or {"policy"}} for i in range(3)]
        told = [[{"section_id": f"s{j}", "heading": f"Rest{i}", "kind": kind, "sentences": [f"Clerk{i} rests{i}.", f"May{i} ends{i}."]}
                 for j, kind in enumerate(("body", "footnote"))] for i in range(n)]
        more = [{"identifier": f"L{i}", "title": f"Leave{i}", "sections": parts} for i, parts in enumerate(told)]
        self.table, self.asked = self.worn(self.documents, more), self.worn(self.questions, [{"question": f"May clerk{i} rest?"} for i in range(3)])

    def one(self, values):
        return values[self.draw.integers(len(values))]

    def some(self, *names):
        return {n for n in names if self.draw.random() < 0.6} or None

    def wears(self, value):
        if value is None:
            return None if self.stored else self.one(self.MISSING)
        if isinstance(value, set):
            return sorted(value) if self.stored else self.one(self.NAMES)(sorted(value))
        return value if self.stored or not isinstance(value, date) else self.one(self.DAYS)(value)

    def worn(self, rows, more):
        made = pd.DataFrame([{c: self.wears(v) for c, v in row.items()} | also for row, also in zip(rows, more)])
        if self.stored:
            made.to_parquet(file := io.BytesIO())
            made = pd.read_parquet(file)
        return made

    def plainly(self, q, least):
        """The rules once more, each a sentence: what may be shown, by the plain truth alone."""
        starts, day = {None: date.max} | {d["doc_id"]: d["effective_from"] for d in self.documents}, q["asked_on"]
        return {d["doc_id"] for d in self.documents
                if d["source_type"] in q["acceptable_sources"] and d["authority"] is not None and d["authority"] >= least
                and d["effective_from"] is not None and d["effective_from"] <= day and (d["effective_to"] is None or day <= d["effective_to"])
                and all(d[f] is not None and ("all" in d[f] or d[f] & (q[f] or set())) for f in ("jurisdiction", "entitlement"))
                and (starts.get(d["superseded_by"]) or date.min) > day and d["archived"] is False}


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "after parquet"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), least=st.integers(0, 3), how=st.sampled_from(policy_chunks.STEPS))
def test_however_a_table_keeps_its_values_what_a_plain_rule_refuses_gets_nowhere(stored, seed, least, how):
    wild = Wild(seed, stored)
    here = policy_search.index(policy_chunks.chunks(wild.table, how, 5, 2), wild.table, Words(), None)
    first = policy_search.pools(here, wild.asked, least_authority=least)
    second = policy_search.second_lists(here, wild.asked, first, least_authority=least)
    both = {q: policy_search.reserved(first[q], second[q]) for q in first}
    read = policy_search.texts(both, wild.asked, here)
    shuffled = Pointwise("any", lambda pairs: wild.draw.normal(size=len(pairs)).tolist(), lambda pairs: [1] * len(pairs))
    after = policy_search.reranked(both, wild.asked, here, shuffled)
    for truth, q in zip(wild.questions, wild.asked.to_dict("records")):
        allowed, qid = wild.plainly(truth, least), q["qid"]
        assert policy_filters.admissible(wild.table, q, least_authority=least) == allowed
        inside = here.chunks[here.chunks["doc_id"].isin(allowed)]
        assert set(first[qid]) == set(inside["chunk_id"]) >= set(both[qid]) == set(after[qid])
        assert sorted(read[qid][1]) == sorted(inside["text"])
        order = wild.draw.permutation(here.chunks["chunk_id"]).tolist()
        assert policy_filters.shown(order, here.document_of, policy_filters.admissible(wild.table, q, least_authority=least), 99) == [
            c for c in order if here.document_of[c] in allowed]


def test_the_wild_corpora_have_both_what_may_be_shown_and_what_may_not():
    """Else the test above could not fail: half of a hundred corpora have an admissible document, and each rule is the only one to refuse somewhere."""
    told = [Wild(seed, False) for seed in range(100)]
    assert np.mean([any(w.plainly(q, 0) for q in w.questions) for w in told]) > 0.5
    alone = pd.concat([policy_filters.counted(w.table, w.asked, least_authority=2) for w in told]).groupby("rule")["alone"].sum()
    assert (alone > 0).all()


UNREAD = {"entitlement": [7, True, {"staff": 1}, b"staff", ["staff", None], ["staff", ""], np.array([["staff"]])], "jurisdiction": [3.5, [1]],
          "effective_from": ["1/1/2999", "2026-9-1", "20260901", 20260901, "2026-02-30"], "effective_to": ["31/12/2020", "2020-12-31 00:00", True],
          "authority": ["3", True, float("inf"), [3]], "archived": ["false", "yes", 0, 1.0], "superseded_by": [4, ["lv-1-v2"]], "source_type": [1, ["policy"]],
          "doc_id": [None, float("nan"), " ", 7]}
UNASKED = {"asked_on": [None, float("nan"), pd.NaT, "", "01/31/2026", "2026-9-1", 2026], "entitlement": [7, ["staff", 1]], "jurisdiction": [{"North": 1}],
           "acceptable_sources": [None, [], "", 1, np.array([]), [None]]}


def values_of(fields):
    return [pytest.param(field, value, id=f"{field} {value!r}") for field, values in fields.items() for value in values]


@pytest.mark.parametrize("field, value", values_of(UNREAD))
def test_a_document_that_cannot_be_read_is_one_clear_error_under_every_rule(field, value):
    rows = CORPUS.documents.astype(object).to_dict("records")
    rows[1][field] = value
    whose = "document in row 1" if field == "doc_id" else "document 'lv-1-v2'"
    for rules in (policy_filters.RULES, (), ["archived"]):
        with pytest.raises(ValueError) as error:
            policy_filters.admissible(pd.DataFrame(rows), asked(), rules)
        assert str(error.value).startswith(f"{whose}, field {field}: got ") and "expected" in str(error.value) and "; mend" in str(error.value)


@pytest.mark.parametrize("field, value", values_of(UNASKED))
def test_a_question_that_cannot_be_read_is_one_clear_error(field, value):
    with pytest.raises(ValueError, match=rf"^question 'q1', field {field}: got .*, expected .*; mend"):
        policy_filters.admissible(CORPUS.documents, asked(**{field: value}))
    with pytest.raises(ValueError, match=rf"^question 'q1', field {field}: is missing; "):
        policy_filters.counted(CORPUS.documents, CORPUS.questions.drop(columns=field))


def test_documents_without_a_column_twice_the_same_or_none_at_all():
    for column in policy_filters.DOCUMENT:
        with pytest.raises(ValueError, match=f"must have one column {column}, got .*; add it"):
            policy_filters.admissible(CORPUS.documents.drop(columns=column), asked(), ())
    with pytest.raises(ValueError, match="document 'min-3' comes 2 times; give each"):
        policy_filters.admissible(pd.concat([CORPUS.documents, CORPUS.documents.assign(archived=False).iloc[[4]]]), asked())
    assert policy_filters.admissible(CORPUS.documents.iloc[:0], asked()) == set()
    assert policy_filters.counted(CORPUS.documents.iloc[:0], CORPUS.questions)["documents"].eq(0).all()
    assert policy_filters.counted(CORPUS.documents, CORPUS.questions.iloc[:0]).empty


def test_days_at_the_edge_hold():
    """The first and the last day count, however the day is kept."""
    for day in ("2023-12-31", date(2023, 12, 31), pd.Timestamp("2023-12-31 23:59"), pd.Timestamp("2023-12-31", tz="Asia/Tokyo"), np.datetime64("2023-12-31")):
        found = policy_filters.admissible(CORPUS.documents, asked(asked_on=day))
        assert "lv-1-v1" in found and "lv-1-v2" not in found
    assert "lv-1-v2" in policy_filters.admissible(CORPUS.documents, asked(asked_on=pd.Timestamp("2024-01-01")))


def test_rules_may_be_any_list_and_count_once():
    told = policy_filters.counted(CORPUS.documents, CORPUS.questions, ["archived"])
    pd.testing.assert_frame_equal(policy_filters.counted(CORPUS.documents, CORPUS.questions, ["archived", "archived"]), told)
    every = policy_filters.admissible(CORPUS.documents, asked())
    assert policy_filters.admissible(CORPUS.documents, asked(), (r for r in policy_filters.RULES)) == every < set(DOCS.index)
    for rules in (None, 7, "archived", [None], [["archived"]]):
        with pytest.raises(ValueError, match="filters are a list"):
            policy_filters.admissible(CORPUS.documents, asked(), rules)


def test_the_last_gate_takes_ids_and_nothing_that_only_looks_like_them():
    for allowed in ("abc", pd.Series([False], index=["a"]), {"a": False}, None):
        with pytest.raises(ValueError, match="allowed is a set or list of doc_id, got"):
            policy_filters.shown(["a#1"], {"a#1": "a"}, allowed)
    assert policy_filters.shown(["b#1"], {"a#1": "a"}, {"a", None}) == []


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


def test_questions_and_lists_that_do_not_fit_are_one_clear_error():
    here, twice = INDEXES["lineage"], pd.concat([CORPUS.questions, CORPUS.questions.iloc[2:3].assign(entitlement="council")])
    for call in (lambda: policy_search.pools(here, twice), lambda: policy_search.second_lists(here, twice, {}), lambda: policy_search.texts({}, twice, here)):
        with pytest.raises(ValueError, match="qid 'q3' comes twice, .*; give each question its own"):
            call()
    with pytest.raises(ValueError, match="must have the column question, got"):
        policy_search.pools(here, CORPUS.questions.drop(columns="question"))
    with pytest.raises(ValueError, match="question 'q1' has no first list"):
        policy_search.second_lists(here, CORPUS.questions, {})
    for lists in ({"q99": []}, {"q1": ["q99"]}):
        with pytest.raises(ValueError, match="'q99' is neither a question nor a chunk here"):
            policy_search.reranked(lists, CORPUS.questions, here, Told())


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
