"""Generated worlds: the truth they tell is true of their texts, one dial moves one thing, and the dials do what they say."""
import hashlib
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from small_world import words

from lib import evidence, inputs, retrieval, scoring, survival, tables
from lib.packing import Bench, pack_all, setting
from lib.text import content_terms, normalise_answer
from lib.worlds import POOL_SIZE, load_world, world, world_name
from lib.worlds_chains import MOST_HOPS, ROUNDS, VALID, chains
from lib.worlds_graph import ASKED, INTO, OUT, build, stems
from lib.worlds_kinds import GIVEN, KINDS, TAKEN, VOUCHED
from lib.worlds_relations import LEAVES, LINKS
from lib.worlds_text import called, is_open

SMALL = {"seed": 3, "documents": 300}
HOPS = tuple(ROUNDS)
# what people, places and things are really called: the commonest, and those that two syllables like ours could hit
COMMON = """
james mary robert patricia john jennifer michael linda david elizabeth william barbara richard susan joseph jessica thomas karen christopher sarah
charles lisa daniel nancy matthew betty anthony sandra mark margaret donald ashley steven kimberly andrew emily paul donna joshua michelle kenneth carol
kevin amanda brian melissa edward deborah ronald stephanie timothy laura jason rebecca jeffrey sharon ryan cynthia jacob kathleen gary amy nicholas
hans olga ivan pedro maria ahmed fatima wei ravi kumar smith johnson williams brown jones garcia miller davis martinez lopez wilson anderson taylor moore
jackson martin lee thompson white harris clark lewis robinson walker young king wright scott green baker adams nelson hall campbell mitchell
london paris berlin madrid rome vienna prague warsaw lisbon dublin oslo stockholm helsinki moscow tokyo beijing delhi cairo nairobi sydney toronto boston
chicago denver dallas houston seattle portland melbourne england france germany spain italy poland russia china india japan brazil mexico canada kenya
thames seine rhine danube volga nile amazon ganges mississippi calvin melvin kelvin galvin elvin hendrick meldrum waldron mildred hebron silvan malvern
mordor gondor hogwarts"""
REAL = set(COMMON.split())


def content(*texts):
    return {t for text in texts for t in content_terms(re.sub(r"\{\w+\}", " ", text))}


@pytest.fixture(scope="module")
def made():
    """hops -> a world of 200 questions at surfacing 0.5."""
    return {h: world(200, h, 0.5, **SMALL) for h in HOPS}


# words are kept apart

NOUNS_AND_TRAITS = content(*(n for k in KINDS.values() for n in k.nouns), *(trait for k in KINDS.values() for trait, _ in k.traits))
VEILED = content(*(x for k in KINDS.values() for x in (k.generic, *(said for _, said in k.traits), *k.settings)))
WORDINGS = content(*(x for r in LINKS + LEAVES for x in r.asked + r.plain + r.other + r.tails))
ELSEWHERE = VEILED | WORDINGS | content(*VOUCHED, *(x for k in KINDS.values() for x in k.asides))


def test_what_questions_call_a_thing_occurs_nowhere_else():
    assert not NOUNS_AND_TRAITS & ELSEWHERE
    assert not NOUNS_AND_TRAITS & content(*(n for k in KINDS.values() for n in k.names), *(v for r in LEAVES for v in r.values))
    assert not VEILED & content(*(x for r in LINKS + LEAVES for x in r.asked))


@pytest.mark.parametrize("relation", LINKS + LEAVES, ids=lambda r: r.asked[0])
def test_plain_wordings_share_a_word_with_the_question_and_others_do_not(relation):
    assert all(content(asked) & content(plain) for asked, plain in itertools.product(relation.asked, relation.plain))
    assert not content(*relation.asked) & content(*relation.other, *relation.tails)
    assert all(w.count("{v}") == 1 and w.endswith("{v}") for w in relation.plain + relation.other)  # so every tail follows the value


def test_two_links_lead_out_of_and_into_each_kind_and_two_answers_stand_in_it():
    assert all(len(m[k]) == 2 for m in (OUT, INTO, ASKED) for k in KINDS)
    w = build(1, 120)
    pairs = {(a, b) for a in range(w.size) for b in w.target[a]}
    assert pairs == {(a, b) for b in range(w.size) for a in w.source[b]} and len(pairs) == 2 * w.size


def test_no_chain_meets_a_kind_twice_and_each_answer_can_be_asked_by_either_link_into_its_passage():
    assert (VALID.sum(axis=1) == ROUNDS[MOST_HOPS]).all() and VALID[:, 0::2].any(axis=1).all() and VALID[:, 1::2].any(axis=1).all()
    w = build(2, 1_200)
    for hops in HOPS:
        found = chains(w, hops)
        assert all(len(set(row)) == hops for row in (found.things // w.n).tolist())
        assert len({(*things, leaf) for things, leaf in zip(found.things.tolist(), found.leaf.tolist())}) == len(found.leaf)
        assert 0.95 * 2 * w.size * ROUNDS[hops] < len(found.leaf) <= 2 * w.size * ROUNDS[hops]
        assert all(LINKS[link].source == w.kind(a) and LINKS[link].target == w.kind(b) and b in w.target[a]
                   for row, links in zip(found.things.tolist(), found.links.tolist()) for a, b, link in zip(row, row[1:], links))


def test_names_are_invented_and_distinct():
    every = {s.lower() for s in stems(0, 115_000)}
    assert len(every) == 115_000 and not every & (REAL | TAKEN) and not {g.lower() for g in GIVEN} & REAL
    w = build(0, 1_200)
    assert len(set(w.names)) == w.size and len({name for pair in w.leaves for name in pair}) == 2 * w.size
    forms = content(*(n for k in KINDS.values() for n in k.names))  # "Hall" is a surname, too
    assert not {t for name in itertools.chain(w.names, *w.leaves) for t in name.lower().split()} & REAL - forms


# the same seed, other seeds, dials

def test_the_same_seed_gives_the_same_world():
    first, again = world(40, 3, 0.3, **SMALL), world(40, 3, 0.3, **SMALL)
    for name, table in first.items():
        pd.testing.assert_frame_equal(table, again[name])
    # golden: 'from lib.worlds import world; w = world(40, 3, 0.3, seed=3, documents=300)'; a change of wording or of a stream changes every world
    assert first["questions"]["question"][0] == ("Who received the dedication of the cheap operetta that is kept in the haunted hospital "
                                                 "used by the council of Mordrish Hythe?")
    assert hashlib.sha256("\n".join(first["documents"]["text"]).encode()).hexdigest().startswith("52be31ac8954")


def test_another_seed_gives_other_names():
    one, other = (set(world(1, 1, 0.5, seed=s, documents=300)["documents"]["title"]) for s in (3, 4))
    assert len(one & other) < 3


def test_more_questions_leave_those_before_and_all_documents_as_they_are(made):
    few = world(50, 2, 0.5, **SMALL)
    for name, table in few.items():
        longer = made[2][name]
        kept = longer if name in ("documents", "retold") else longer[longer["qid"].isin(few["questions"]["qid"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(table, kept)


def test_surfacing_changes_first_sentences_only_and_never_closes_a_passage():
    lower, higher = (world(100, 3, s, dataset="world", **SMALL) for s in (0.2, 0.8))
    for name in ("questions", "gold", "pools"):
        pd.testing.assert_frame_equal(lower[name], higher[name])
    a, b = lower["documents"], higher["documents"]
    assert a["title"].equals(b["title"])
    rest = [[[text[x:y] for x, y in spans[1:]] for text, spans in zip(d["text"], d["sentences"])] for d in (a, b)]
    assert rest[0] == rest[1]
    w = build(SMALL["seed"], SMALL["documents"])
    opened = {w.ids[i] for i in np.flatnonzero(is_open(w, 0.8) & ~is_open(w, 0.2))}
    assert set(a["doc_id"][a["text"] != b["text"]]) == opened and 150 < len(opened) < 210
    assert (lower["truth"]["surfaced"] <= higher["truth"]["surfaced"]).all() and lower["truth"]["surfaced"].sum() < higher["truth"]["surfaced"].sum()


def test_hops_change_neither_documents_nor_answers_nor_the_passages_near_the_answer(made):
    for h in HOPS[1:]:
        a, b = made[h - 1], made[h]
        pd.testing.assert_frame_equal(a["documents"].drop(columns="dataset"), b["documents"].drop(columns="dataset"))
        assert a["questions"]["answers"].equals(b["questions"]["answers"]) and a["questions"]["half"].equals(b["questions"]["half"])
        shorter = b["truth"][b["truth"]["hop"] > 1]
        assert shorter["doc_id"].tolist() == a["truth"]["doc_id"].tolist()


# the truth

@pytest.mark.parametrize("hops", HOPS)
def test_tables_are_as_declared_and_the_name_has_a_scoring_rule(made, hops):
    for name in ("questions", "gold", "documents", "pools"):
        pd.testing.assert_frame_equal(tables.check(made[hops][name], name), made[hops][name])
    dataset = made[hops]["questions"]["dataset"][0]
    assert dataset == world_name(hops, 0.5) and scoring.rule_for(dataset) == "ondrell"
    inputs.check_rule(dataset)
    assert made[hops]["questions"]["question"].is_unique and (made[hops]["documents"]["split_by"] == "worlds").all()


@pytest.mark.parametrize("hops", HOPS)
def test_gold_is_a_chain_in_which_each_passage_names_the_next(made, hops):
    titles, texts = (dict(zip(made[hops]["documents"]["doc_id"], made[hops]["documents"][c])) for c in ("title", "text"))
    truth = made[hops]["truth"]
    assert set(truth[["qid", "doc_id", "hop"]].itertuples(index=False)) == set(made[hops]["gold"][["qid", "doc_id", "hop"]].itertuples(index=False))
    assert (made[hops]["gold"]["is_last_hop"] == (made[hops]["gold"]["hop"] == hops)).all()
    for q in made[hops]["questions"].itertuples():
        chain = truth.loc[truth["qid"] == q.qid, "doc_id"].tolist()
        assert len(chain) == len(set(chain)) == hops
        assert titles[chain[0]] in q.question  # the question names the first and no other
        assert not any(titles[later] in q.question for later in chain[1:])
        assert all(titles[b] in texts[a] for a, b in itertools.pairwise(chain))
        assert not any(titles[chain[0]] in texts[later] for later in chain[1:])


@pytest.mark.parametrize("hops", HOPS)
def test_the_span_is_the_answer_and_no_other_passage_holds_it(made, hops):
    documents = made[hops]["documents"]
    texts = dict(zip(documents["doc_id"], documents["text"]))
    fenced = {d.doc_id: f" {normalise_answer(d.title)} | {normalise_answer(d.text)} " for d in documents.itertuples()}
    answers = dict(zip(made[hops]["questions"]["qid"], made[hops]["questions"]["answers"]))
    last = made[hops]["truth"].query("holds_answer")
    assert len(last) == len(answers) and (last["hop"] == hops).all() and made[hops]["truth"].query("not holds_answer")["answer_start"].isna().all()
    for r in last.itertuples():
        assert [texts[r.doc_id][r.answer_start:r.answer_end]] == answers[r.qid]
        assert [d for d, text in fenced.items() if f" {normalise_answer(answers[r.qid][0])} " in text] == [r.doc_id]


@pytest.mark.parametrize("hops", HOPS)
def test_a_veiled_passage_opens_without_a_word_of_the_question_and_a_surfaced_one_as_the_question_calls_it(made, hops):
    w = build(SMALL["seed"], SMALL["documents"])
    thing, documents = {d: i for i, d in enumerate(w.ids)}, made[hops]["documents"].set_index("doc_id")
    asked = dict(zip(made[hops]["questions"]["qid"], made[hops]["questions"]["question"]))
    for r in made[hops]["truth"].itertuples():
        opening = documents["text"][r.doc_id][:documents["sentences"][r.doc_id][0][1]]
        if r.hop == 1:
            assert r.surfaced and documents["title"][r.doc_id] in opening
        else:
            name = called(w, thing[r.doc_id])
            assert name in asked[r.qid] and (name in opening) == r.surfaced
            assert bool(content(opening) & content(asked[r.qid])) == r.surfaced


@pytest.mark.parametrize("hops", HOPS)
def test_pools_hold_ten_passages_gold_among_them(made, hops):
    pools, gold = (made[hops][k].groupby("qid")["doc_id"].agg(set) for k in ("pools", "gold"))
    assert (pools.map(len) == POOL_SIZE).all() and all(gold[q] <= pools[q] for q in pools.index)
    assert set(made[hops]["pools"]["doc_id"]) <= set(made[hops]["documents"]["doc_id"])


def test_a_pool_holds_namesakes_of_what_is_named_and_others_of_the_answers_kind(made):
    w = build(SMALL["seed"], SMALL["documents"])
    thing = {d: i for i, d in enumerate(w.ids)}
    pools = made[2]["pools"].groupby("qid")["doc_id"].agg(lambda ids: [thing[d] for d in ids])
    gold = made[2]["truth"].groupby("qid")["doc_id"].agg(lambda ids: [thing[d] for d in ids])
    assert all(set(w.mates[gold[q][0]]) & set(pools[q]) for q in pools.index)
    assert np.mean([sum(w.kind(t) == w.kind(gold[q][1]) for t in pools[q]) for q in pools.index]) > 3


# texts

@pytest.mark.parametrize("surfacing", [0, 1])
def test_paragraphs_are_four_or_five_sentences_of_sound_english_marks(surfacing):
    documents = world(1, 1, surfacing, seed=11, documents=600)["documents"]
    for d in documents.itertuples():
        parts = [d.text[a:b] for a, b in d.sentences]
        assert " ".join(parts) == d.text and 4 <= len(parts) <= 5 and 60 <= len(d.text.split()) <= 110
        assert all(p[0].isupper() and p.endswith(".") and not p.endswith("..") for p in parts)
        assert not re.search(r"[{}]|  | ,| ;|,,|\ba [aeio]|\ban [^aeiou]|\bThe the\b|\bthe the\b|\bhe's\b|\bit's\b", d.text), d.text
    assert documents["text"].is_unique


@pytest.mark.parametrize("hops", HOPS)
def test_questions_call_the_last_passage_first_and_name_the_first_passage_last(made, hops):
    w = build(SMALL["seed"], SMALL["documents"])
    chain = made[hops]["truth"].groupby("qid")["doc_id"].agg(list)
    thing = {d: i for i, d in enumerate(w.ids)}
    for q in made[hops]["questions"].itertuples():
        assert q.question.endswith("?") and q.question.count("?") == 1 and not re.search(r"[{}]|  |\bthe the\b", q.question)
        phrases = [f"the {called(w, thing[d])} " for d in chain[q.qid][:0:-1]] + [w.names[thing[chain[q.qid][0]]] + "?"]
        assert re.search(".*".join(map(re.escape, phrases)), q.question)


def test_half_of_the_facts_are_told_in_the_words_of_the_question():
    texts = world(1, 1, 0.5, seed=0, documents=1_200)["documents"]["text"]
    plain, other = texts.str.contains("was founded by|been founded by").sum(), texts.str.contains("was set up by|owed its existence").sum()
    assert plain + other == 200 and 70 < plain < 130


# what the dials do

def top_five(made):
    """all_gold_at_5 of BM25 over each question's own pool, a question."""
    q, d = made["questions"], made["documents"]
    passages = [retrieval.passage(t, x) for t, x in zip(d["title"], d["text"])]
    scores, place = retrieval.bm25_scores(q["question"].tolist(), passages), {i: k for k, i in enumerate(d["doc_id"])}
    pools, gold = (made[k].groupby("qid")["doc_id"].agg(list) for k in ("pools", "gold"))
    top = [{pools[i][k] for k in np.argsort(-row[[place[x] for x in pools[i]]], kind="stable")[:5]} for i, row in zip(q["qid"], scores)]
    return np.array([set(gold[i]) <= t for i, t in zip(q["qid"], top)])


def test_all_gold_at_5_rises_with_surfacing_and_falls_with_hops():
    measured = {(h, s): top_five(world(200, h, s, **SMALL)).mean() for h in HOPS for s in (0, 0.5, 1)}
    for h in HOPS[1:]:
        assert measured[h, 0] + 0.05 < measured[h, 0.5] and measured[h, 0.5] + 0.1 < measured[h, 1]
    for s in (0, 0.5, 1):
        assert all(measured[h, s] > measured[h + 1, s] for h in HOPS[:-1])
    assert {measured[1, s] for s in (0, 0.5, 1)} == {1.0} and measured[2, 0] < 0.45 and measured[2, 1] > 0.85


class Words:
    """Encodes a text as its hashed words."""

    name = "words"

    def encode(self, texts):
        out = np.full((len(texts), 64), 1e-6, np.float32)
        for row, text in zip(out, texts):
            for term in content_terms(text):
                row[int(hashlib.md5(term.encode()).hexdigest(), 16) % 64] += 1
        return out


def test_dealing_the_answers_to_other_questions_leaves_nothing_of_answer_in_context(monkeypatch):
    """Whatever packs: the words of an answer must not make a context look right by themselves."""
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: words)
    made, policies = world(120, 2, 1.0, seed=5, documents=600), ["naive", "focused", "submod"]
    q = made["questions"]
    dealt = q.assign(answers=np.roll(q["answers"].to_numpy(), 1))
    share = {}
    for name, asked in (("true", q), ("dealt", dealt)):
        rankings = retrieval.rank(asked, made["documents"], made["pools"], Words(), scopes=("own",), cache=None)
        bench = Bench(asked, made["gold"], made["documents"], made["pools"], rankings, Words(), cache=None)
        survived = pack_all(bench, setting(tokenizer="words", ranker="bm25"), policies, [120])["survival"]
        share[name] = survived.groupby("policy")["answer_in_context"].mean()
    assert (share["true"] > 0.2).all() and (share["dealt"] <= 0.02).all()  # by accident at most 2 of 120


def test_answers_are_told_one_by_one_and_always_defined(made):
    q = made[2]["questions"]
    undefined = [survival.answer_in_context(a, [""], t).reason for a, t in zip(q["answers"], q["question_type"])]
    assert set(undefined) == {""} and q["answers"].map(len).eq(1).all()
    lengths = {len(a[0].split()) for a in q["answers"]}
    assert lengths >= {1, 2, 3}


# parameters

@pytest.mark.parametrize("change, said", [
    ({"hops": 0}, "hops must be a whole number from 1 to 4, got 0"), ({"hops": 5}, "from 1 to 4, got 5"), ({"hops": 2.0}, "got 2.0"),
    ({"hops": True}, "got True"),
    ({"surfacing": -0.1}, "surfacing must be a number from 0 to 1, got -0.1"), ({"surfacing": 1.01}, "got 1.01"), ({"surfacing": float("nan")}, "got nan"),
    ({"surfacing": "half"}, "got 'half'"), ({"n_questions": 0}, "n_questions must be a whole number of 1 or more, got 0"), ({"n_questions": None}, "got None"),
    ({"seed": -1}, "seed must be a whole number of 0 or more, got -1"), ({"documents": 54}, "documents must be a whole number of 60 or more, got 54"),
    ({"documents": 3_001}, "documents must be a multiple of 6, as many of each kind, got 3001; take 3006"),
    ({"documents": 60, "n_questions": 5_000}, r"60 documents has \d+ questions of 2 hops, got n_questions 5000; ask for fewer questions or more documents"),
    ({"documents": 600_000}, "needs 1400000 distinct names"),
])
def test_what_no_world_can_be_is_one_clear_error(change, said):
    with pytest.raises(ValueError, match=said):
        world(**{"n_questions": 10, "hops": 2, "surfacing": 0.5, "documents": 60, **change})


@pytest.mark.parametrize("hops", HOPS)
def test_there_are_exactly_as_many_questions_as_the_error_says(hops):
    w = build(0, 60)
    n = len(chains(w, hops).leaf)
    assert world(n, hops, documents=60)["questions"]["question"].is_unique
    with pytest.raises(ValueError, match=f"has {n} questions"):
        world(n + 1, hops, documents=60)


def test_a_world_is_loaded_like_a_data_set():
    loaded = load_world("world_easy", {"n_questions": 30, "surfacing": 1, "documents": 60})
    assert set(loaded) == {"questions", "gold", "documents", "pools", "report"} and loaded["report"]["gold_passages_veiled"] == 0
    assert set(loaded["questions"]["dataset"]) == {"world_easy"} and loaded["report"]["questions"] == 30 and loaded["questions"]["seeds"].map(len).eq(0).all()
    for wrong in ({"hops": 2}, {"n_questions": 3, "hop": 2}, "world", None):
        with pytest.raises(ValueError, match="a world is a block of n_questions, hops"):
            load_world("world_wrong", wrong)


def test_a_world_comes_in_as_a_source_like_any_data_set():
    from lib import inputs

    source = {"world_h2_s50": {"world": {"n_questions": 40, "hops": 2, "surfacing": 0.5, "seed": 7, "documents": 60}}}
    data, skipped, reports = inputs.load_all(source)
    assert len(data["questions"]) == 40 and not skipped and set(reports) == {"world_h2_s50"}
    with pytest.raises(ValueError, match="a world is made, not read"):
        inputs.load_all({"world_h2_s50": {**source["world_h2_s50"], "slice": "dev"}})
