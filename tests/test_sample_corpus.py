"""The sample corpus: whole, consistent with itself, nobody's text but ours, and neither too easy nor too hard."""
import gzip
import itertools
import re
from collections import Counter, defaultdict
from functools import cache

import pytest

from lib import sample, tables
from lib.passages import QUESTION_TYPES
from lib.sample import POOL_SIZE, own_pools, read_lines
from lib.survival import answer_in_context
from lib.tables import ROOT

DOCUMENTS, QUESTIONS = read_lines("documents.jsonl"), read_lines("questions.jsonl")
BY_ID = {d["doc_id"]: d for d in DOCUMENTS}
NO_SPAN = ("paraphrased", "free_form", "comparison_yesno")
PUBLIC = ROOT.parent / "shared" / "datasets"
N = 8  # words in a row that two texts may not share by chance


@cache
def norm(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


def has(short: str, text: str) -> bool:
    return f" {norm(short)} " in f" {norm(text)} "


def body(doc_id: str) -> str:
    return " ".join(BY_ID[doc_id]["sentences"])


def whole(doc_id: str) -> str:
    return f"{BY_ID[doc_id]['title']} . {body(doc_id)}"


def of_types(*types: str) -> list[dict]:
    return [q for q in QUESTIONS if q["question_type"] in types]


CHAINED = of_types("bridge", "compositional")
each_question = pytest.mark.parametrize("q", QUESTIONS, ids=lambda q: q["qid"])
each_chain = pytest.mark.parametrize("q", CHAINED, ids=lambda q: q["qid"])


# ---- size and shape


def test_it_is_large_enough_for_its_claims():
    assert len(DOCUMENTS) >= 300 and len(QUESTIONS) >= 200


def test_ids_are_unique_and_of_one_form():
    for key, records, form in (("doc_id", DOCUMENTS, r"[a-z]{2}-\d{3}"), ("qid", QUESTIONS, r"[a-z]{2}-q\d{2}")):
        ids = [r[key] for r in records]
        assert len(set(ids)) == len(ids) and all(re.fullmatch(form, i) for i in ids)


def test_every_kind_of_question_is_there_in_number():
    kinds = Counter(q["question_type"] for q in QUESTIONS)
    assert set(kinds) <= set(QUESTION_TYPES)
    least = {"bridge": 50, "single": 30, "compositional": 25, "comparison_yesno": 20, "comparison_choice": 20, "paraphrased": 12, "free_form": 12}
    assert {kind: kinds[kind] for kind in least if kinds[kind] < least[kind]} == {}
    assert set(Counter(len(q["gold"]) for q in of_types("compositional"))) == {3, 4} and {len(q["gold"]) for q in of_types("bridge")} == {2}


def test_yes_and_no_are_both_common():
    answers = Counter(q["answers"][0] for q in of_types("comparison_yesno"))
    assert set(answers) == {"yes", "no"} and min(answers.values()) >= 0.3 * sum(answers.values())


def test_no_question_is_asked_twice():
    assert len({norm(q["question"]) for q in QUESTIONS}) == len(QUESTIONS)


def test_documents_are_short_passages():
    assert all(d["title"] and all(s.strip() == s and s for s in d["sentences"]) and 3 <= len(d["sentences"]) <= 6 for d in DOCUMENTS)
    words = [len(body(i).split()) for i in BY_ID]
    assert min(words) >= 40 and max(words) <= 100 and len({body(i) for i in BY_ID}) == len(BY_ID)


def test_some_titles_are_shared_within_and_across_provinces():
    shared = {title: n for title, n in Counter(d["title"] for d in DOCUMENTS).items() if n > 1}
    provinces = {title: {d["doc_id"][:2] for d in DOCUMENTS if d["title"] == title} for title in shared}
    assert sum(len(p) >= 3 for p in provinces.values()) >= 5, "a title alone does not find the passage"


# ---- each question


@each_question
def test_gold_and_anchor(q):
    assert q["gold"] and set(q["gold"]) <= set(BY_ID) and len(set(q["gold"])) == len(q["gold"])
    assert has(q["anchor"], q["question"]), "the question names where the chain begins"
    assert has(q["anchor"], whole(q["gold"][0])), "and the first gold passage knows that name"


@each_question
def test_the_pool_is_gold_and_distractors_ten_in_all(q):
    assert len(q["pool"]) == len(set(q["pool"])) == POOL_SIZE and set(q["gold"]) < set(q["pool"]) <= set(BY_ID)


@pytest.mark.parametrize("q", [q for q in QUESTIONS if q["question_type"] not in NO_SPAN], ids=lambda q: q["qid"])
def test_a_span_answer_stands_in_a_gold_passage(q):
    last = q["gold"] if q["question_type"].startswith("comparison") else q["gold"][-1:]
    assert any(has(q["answers"][0], whole(g)) for g in last)
    assert q["question_type"] == "comparison_choice" or not has(q["answers"][0], q["question"]), "and not in the question"


@pytest.mark.parametrize("q", of_types("bridge", "compositional", "single"), ids=lambda q: q["qid"])
def test_the_measurement_finds_the_answer_in_the_gold_text(q):
    """Not in a title only: a packer packs sentences."""
    assert answer_in_context(q["answers"], BY_ID[q["gold"][-1]]["sentences"], q["question_type"]) == (1, True, "")


@pytest.mark.parametrize("q", of_types("paraphrased"), ids=lambda q: q["qid"])
def test_a_paraphrased_answer_has_its_evidence_in_gold_and_no_verbatim_copy_there(q):
    assert any(has(q["evidence"], whole(g)) for g in q["gold"])
    assert not any(has(q["answers"][0], whole(g)) for g in q["gold"])


@pytest.mark.parametrize("q", of_types("free_form"), ids=lambda q: q["qid"])
def test_a_free_form_answer_is_one_long_sentence(q):
    assert len(q["answers"]) == 1 and 18 <= len(q["answers"][0].split()) <= 50


@each_question
def test_answers_are_distinct_and_spans_are_short(q):
    assert q["answers"] and all(a == a.strip() and norm(a) for a in q["answers"]) and len(set(q["answers"])) == len(q["answers"])
    assert q["question_type"] == "free_form" or all(len(a.split()) <= 8 for a in q["answers"])


@pytest.mark.parametrize("q", [q for q in QUESTIONS if q["question_type"] not in ("paraphrased", "free_form")], ids=lambda q: q["qid"])
def test_each_step_of_a_chain_stands_in_its_passage(q):
    assert len(q["chain"]) == len(q["gold"])
    assert [has(step, whole(g)) for step, g in zip(q["chain"], q["gold"])] == [True] * len(q["gold"])


@each_chain
def test_hops_link_and_the_question_does_not_name_the_bridge(q):
    for step, following in zip(q["chain"], q["gold"][1:]):
        assert has(step, whole(following)), "what one hop yields leads to the next"
        assert not has(step, q["question"])
    assert q["chain"][-1] == q["answers"][0]


@each_chain
def test_no_single_document_holds_anchor_and_answer(q):
    """In the whole corpus: otherwise the question has one hop."""
    assert [(i, a) for i in BY_ID for a in q["answers"] if has(a, whole(i)) and has(q["anchor"], whole(i))] == []


@pytest.mark.parametrize("q", of_types("comparison_choice"), ids=lambda q: q["qid"])
def test_a_choice_is_between_the_two_things_compared(q):
    assert len(q["gold"]) == 2 and sum(has(q["answers"][0], BY_ID[g]["title"]) for g in q["gold"]) == 1


def test_pools_are_what_lib_sample_makes_of_the_corpus():
    expected = dict(zip((q["qid"] for q in QUESTIONS), own_pools(QUESTIONS, DOCUMENTS)))
    assert {q["qid"]: q["pool"] for q in QUESTIONS} == expected, "run: python -m lib.sample"


def test_a_pool_never_grows_beyond_its_size_even_with_much_gold():
    gold = [d["doc_id"] for d in DOCUMENTS[:12]]
    (pool,) = own_pools([{**QUESTIONS[0], "gold": gold}], DOCUMENTS)
    assert pool == gold


def test_the_order_of_a_pool_tells_nothing_of_gold():
    places = [q["pool"].index(g) for q in QUESTIONS for g in q["gold"]]
    assert 3.5 <= sum(places) / len(places) <= 5.5, "gold stands in the middle on average, 4.5 of 0 to 9"


def test_line_separators_in_a_text_do_not_break_the_reading(tmp_path, monkeypatch):
    (tmp_path / "x.jsonl").write_text('{"a": "one\u2028two"}\n{"a": "b"}\n', encoding="utf-8")
    monkeypatch.setattr(sample, "FOLDER", tmp_path)
    assert [r["a"] for r in read_lines("x.jsonl")] == ["one\u2028two", "b"]


# ---- rules and their versions

RULES = [d for d in DOCUMENTS if d.get("source_type") == "ordinance"]
REPLACED = [d for d in RULES if d["superseded_by"]]


def test_rules_have_every_field_that_filters_read():
    assert len(RULES) >= 20 and len(REPLACED) >= 10
    fields = {"authority", "jurisdiction", "effective_from", "effective_to", "superseded_by", "entitlement"}
    assert all(fields <= set(d) and d["authority"] and d["jurisdiction"] and d["entitlement"] for d in RULES)


@pytest.mark.parametrize("rule", REPLACED, ids=lambda d: d["doc_id"])
def test_a_replaced_version_ends_the_day_before_the_next_begins(rule):
    from datetime import date, timedelta

    following = BY_ID[rule["superseded_by"]]
    assert date.fromisoformat(rule["effective_from"]) < date.fromisoformat(rule["effective_to"])
    assert date.fromisoformat(rule["effective_to"]) + timedelta(days=1) == date.fromisoformat(following["effective_from"])
    assert following["jurisdiction"] == rule["jurisdiction"] and re.sub(r" \(\d{4}\)", "", following["title"]) == re.sub(r" \(\d{4}\)", "", rule["title"])
    assert rule["effective_from"][:4] in body(rule["doc_id"]), "the text gives the year its fields give"


def test_the_version_in_force_has_no_end_and_each_is_replaced_once():
    assert all(bool(d["effective_to"]) == bool(d["superseded_by"]) for d in RULES)
    replacing = [d["superseded_by"] for d in REPLACED]
    assert len(set(replacing)) == len(replacing) and set(replacing) <= {d["doc_id"] for d in RULES}


# ---- nobody's text but ours, and no text twice


def grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i:i + N]) for i in range(len(words) - N + 1)}


def test_two_documents_share_next_to_nothing_unless_they_are_rules():
    holders = defaultdict(set)
    for i in BY_ID:
        for gram in grams(body(i)):
            holders[gram].add(i)
    shared = Counter(pair for ids in holders.values() if len(ids) > 1 for pair in itertools.combinations(sorted(ids), 2))
    rules = {d["doc_id"]: (d["jurisdiction"], re.sub(r" \(\d{4}\)", "", d["title"])) for d in RULES}
    for (a, b), n in shared.items():
        assert a in rules and b in rules, f"{a} and {b} share {n} runs of {N} words"
        assert rules[a] == rules[b] or n <= 8, f"{a} and {b} are different rules and share {n} runs of {N} words"


def test_versions_of_a_rule_are_near_copies_but_not_copies():
    for rule in REPLACED:
        a, b = grams(body(rule["doc_id"])), grams(body(rule["superseded_by"]))
        assert 0.1 <= len(a & b) / min(len(a), len(b)) <= 0.95


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public data sets are not beside this repository")
def test_no_run_of_eight_words_is_a_public_data_sets():
    ours = set().union(*(grams(body(i)) for i in BY_ID), *(grams(q["question"]) for q in QUESTIONS))
    vocabulary = {word for gram in ours for word in gram}
    found, read = set(), 0
    for path in sorted(PUBLIC.glob("*.gz")):
        words = re.findall(r"\w+", gzip.open(path, "rt", encoding="utf-8").read().lower())
        read += len(words)
        run = 0
        for i, word in enumerate(words):
            run = run + 1 if word in vocabulary else 0
            if run >= N and (gram := tuple(words[i - N + 1:i + 1])) in ours:
                found.add(" ".join(gram))
    assert read > 1_000_000 and found == set()


# ---- difficulty, from the tables that the chain wrote


def result(name: str, **where) -> float:
    rows = tables.read(name, "sample")
    for column, value in where.items():
        rows = rows[rows[column] == value]
    (estimate,) = rows["estimate"]
    return estimate


def test_a_dense_ranker_over_all_passages_finds_all_gold_for_about_six_questions_in_ten():
    assert 0.45 <= result("retrieval", dataset="ondrell", scope="pooled", ranker="dense", measure="all_gold_at_5") <= 0.75


@pytest.mark.parametrize("measure", ["answer_in_context", "answer_in_context_defined"], ids=["undefined counts 0", "defined only"])
def test_naive_packing_keeps_about_half_of_the_answers_in_both_conventions(measure):
    assert 0.45 <= result("packing", dataset="ondrell", pack_id="own-dense-5.chunk", policy="naive", budget=160, half="all", measure=measure) <= 0.65


def test_the_default_reader_knows_next_to_nothing_by_heart():
    rows = tables.read("policies", "sample")
    by_heart = rows[(rows["policy"] == "closed_book") & (rows["half"] == "all") & (rows["measure"] == "em") & (rows["reader"] == "qwen2.5-coder-0.5b")]
    assert len(by_heart) == 1 and (by_heart["estimate"] < 0.1).all()


def test_what_cannot_be_guessed_is_not_known_by_any_reader():
    outcomes = tables.read("outcomes", "sample")
    closed = outcomes[(outcomes["policy"] == "closed_book") & ~outcomes["question_type"].str.startswith("comparison")]
    assert closed["reader"].nunique() >= 2 and (closed.groupby("reader")["em"].mean() <= 0.01).all()