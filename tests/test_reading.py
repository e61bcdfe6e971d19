"""Contexts past readers: every row asked, each distinct prompt run once, scored by its data set's rule. No model is loaded here."""
import hashlib
from contextlib import nullcontext

import pandas as pd
import pytest

from lib import reading, readers, tables
from lib.reading import EMPTY, check_live, of_hash, read_all, short_name, to_read
from lib.store import Store

SPEC = {"model": "smollm2-135m"}
QUESTIONS = pd.DataFrame([(d, f"{d}{i}", f"Which word is it, {d}{i}?", [f"word{i}"]) for d in ("musique", "ondrell") for i in range(8)],
                         columns=["dataset", "qid", "question", "answers"])


def contexts(policies=("naive", "mmr"), budgets=(100, 160), pack_id="main", empty="musique3"):
    """Both policies pack the same text for even questions; one question's contexts are empty."""
    rows = []
    for q in QUESTIONS.itertuples():
        for policy in policies:
            text = "" if q.qid == empty else f"{q.answers[0]}" if int(q.qid[-1]) % 2 == 0 else f"{q.answers[0]} by {policy}"
            rows += [(q.dataset, q.qid, pack_id, policy, b, text, hashlib.sha256(text.encode()).hexdigest()) for b in budgets]
    return pd.DataFrame(rows, columns=["dataset", "qid", "pack_id", "policy", "budget", "context", "context_hash"])


class Parrot:
    """Answers with the first line of the last passages it is shown, or as ``says``; remembers every prompt."""

    def __init__(self, says=None):
        self.prompts, self.says = [], says

    def generate(self, prompts):
        self.prompts += prompts
        return [readers.Generation(self.says or prompt.rsplit("Passages:\n", 1)[-1].split("\n")[0], len(prompt.split()), 1) for prompt in prompts]


@pytest.fixture
def parrot(monkeypatch):
    reader = Parrot()
    monkeypatch.setattr(readers, "open_reader", lambda spec: nullcontext(reader))
    return reader


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def test_every_question_is_asked_with_every_policy_and_closed_book():
    asked = to_read(QUESTIONS, contexts(), ["naive", "mmr"], 160)
    assert set(zip(asked["qid"], asked["policy"])) == {(q, p) for q in QUESTIONS["qid"] for p in ("naive", "mmr", "closed_book")}
    assert len(asked) == 3 * len(QUESTIONS) and len(tables.check(asked[list(tables.TABLES["readings"].columns)], "readings")) == len(asked)
    for row in asked.itertuples():
        assert row.prompt.endswith(f"Question: {row.question}\nAnswer:")
        assert row.prompt == readers.build_prompt(row.context, row.question, "closed_book" if row.policy == "closed_book" else "two_shot")
        assert row.context_hash == ("closed_book" if row.policy == "closed_book" else hashlib.sha256(row.context.encode()).hexdigest())


def test_metric_case_a_question_with_an_empty_context_is_still_asked():
    rows = to_read(QUESTIONS, contexts(), ["naive", "mmr"], 160).query("qid == 'musique3'").set_index("policy")
    assert rows.loc["naive", "context_hash"] == EMPTY and rows.loc["naive", "context"] == ""
    assert "Passages:\n\nQuestion: Which word is it, musique3?" in rows.loc["naive", "prompt"]
    assert rows.loc["closed_book", "prompt"] != rows.loc["naive", "prompt"]  # an empty context is not the closed book


def test_closed_book_shows_no_context():
    closed = to_read(QUESTIONS, contexts(), ["naive"], 160).query("policy == 'closed_book'")
    assert not closed["prompt"].str.contains("Passages").any() and (closed["context"] == "").all() and (closed["budget"] == 0).all()


@pytest.mark.parametrize("n", [1, 3, 8, 100])
def test_the_questions_kept_per_set_are_fixed_and_nested(n):
    def kept(questions, per_set):
        return set(to_read(questions, contexts(), ["naive"], 160, per_set)["qid"])

    some = kept(QUESTIONS, n)
    assert some == kept(QUESTIONS.sample(frac=1, random_state=n), n) and some <= kept(QUESTIONS, n + 1) <= kept(QUESTIONS, 0) == set(QUESTIONS["qid"])
    for name, group in QUESTIONS.groupby("dataset"):
        assert some & set(group["qid"]) == set(sorted(group["qid"], key=of_hash)[:n])  # whatever the other set holds


def test_the_main_pack_is_the_one_with_every_budget_or_has_to_be_named():
    other = contexts(budgets=(160,), pack_id="bm25").assign(context="other", context_hash="other")
    asked = to_read(QUESTIONS, pd.concat([other, contexts()]), ["naive"], 160)
    assert set(asked["pack_id"]) == {"main", "none"} and "other" not in set(asked["context"])
    assert "other" in set(to_read(QUESTIONS, pd.concat([other, contexts()]), ["naive"], 160, pack_id="bm25")["context"])
    with pytest.raises(ValueError, match=r"packs \['bm25', 'main'\] hold as many budgets each; name the one to read"):
        to_read(QUESTIONS, pd.concat([other, contexts(budgets=(160,))]), ["naive"], 160)


def test_what_is_not_there_is_an_error_and_no_gap():
    with pytest.raises(ValueError, match=r"no contexts at budget 96 for \['naive'\]; notebook 02 packed \['mmr', 'naive'\] at \[100, 160\]"):
        to_read(QUESTIONS, contexts(), ["naive"], 96)
    with pytest.raises(ValueError, match=r"no contexts at budget 160 for \['submod'\]"):
        to_read(QUESTIONS, contexts(), ["naive", "submod"], 160)
    short = contexts().query("not (qid == 'ondrell2' and policy == 'mmr')")
    with pytest.raises(ValueError, match=r"1 of 32 contexts at budget 160 are not in pack 'main', first \('ondrell', 'ondrell2', 'mmr'\)"):
        to_read(QUESTIONS, short, ["naive", "mmr"], 160)


def test_identical_prompts_run_once_and_a_second_time_not_at_all(parrot, store):
    asked = to_read(QUESTIONS, contexts(), ["naive", "mmr"], 160)
    answers = read_all(asked, [SPEC], store)
    assert len(parrot.prompts) == len(set(parrot.prompts)) == asked["prompt"].nunique() < len(asked)
    assert len(answers) == len(asked.drop_duplicates(["dataset", "qid", "context_hash"])) == len(tables.check(answers, "answers"))
    again = read_all(asked.sample(frac=1, random_state=1), [SPEC], store)
    assert len(parrot.prompts) == asked["prompt"].nunique()
    key = ["dataset", "qid", "context_hash"]
    pd.testing.assert_frame_equal(answers.sort_values(key, ignore_index=True), again.sort_values(key, ignore_index=True))


def test_every_context_meets_its_own_answer(parrot, store):
    asked = to_read(QUESTIONS, contexts(), ["naive", "mmr"], 160)
    rows = asked.merge(read_all(asked, [SPEC], store), on=["dataset", "qid", "context_hash"], validate="many_to_one")
    assert len(rows) == len(asked)
    shown = rows[rows["policy"] != "closed_book"]
    assert shown["prediction"].tolist() == shown["context"].tolist()


def test_answers_are_scored_by_the_rule_of_their_data_set(parrot, store):
    parrot.says = "word2 and more\nword9"
    answers = read_all(to_read(QUESTIONS, contexts(), ["naive"], 160), [SPEC], store).set_index("qid")
    assert set(answers["prediction"]) == {"word2 and more"} and set(answers["raw_text"]) == {"word2 and more\nword9"}
    assert answers.loc["musique2", "f1"].unique() == pytest.approx([0.5]) and answers.loc["musique2", "f1_raw"].unique() == pytest.approx([0.4])
    assert not answers.loc["musique4", ["em", "f1"]].any(axis=None)
    yes = QUESTIONS.head(9).assign(answers=[["yes"]] * 9).iloc[[0, 8]]
    parrot.says = "yes it is"
    asked = to_read(yes, contexts(), ["naive"], 160)
    fresh = Store(store.recorded.parent / "other", store.cache.parent / "other store")
    scores = read_all(asked, [SPEC], fresh).groupby("dataset")["f1"].first()
    assert scores.to_dict() == {"musique": pytest.approx(0.5), "ondrell": 0}  # HotpotQA's rule: another text than yes earns nothing


def test_nothing_to_read_is_an_empty_table_that_joins_others(store):
    none = to_read(QUESTIONS, contexts(), ["naive"], 160).iloc[:0]
    assert len(tables.check(read_all(none, [SPEC], store), "answers")) == 0


def test_readers_and_number_formats_are_rows(parrot, store):
    answers = read_all(to_read(QUESTIONS, contexts(), ["naive"], 160), [SPEC, {**SPEC, "precision": "bf16"}], store)
    assert answers.groupby(["reader", "precision"]).size().to_dict() == {("smollm2-135m", "bf16"): 32, ("smollm2-135m", "fp32"): 32}
    assert answers["reader_id"].nunique() == 2 and len(tables.check(answers, "answers")) == 64
    assert short_name("Qwen/Qwen2.5-3B-Instruct") == short_name("models/Qwen2.5-3B-Instruct/") == "Qwen2.5-3B-Instruct"


def test_the_live_check_passes_once_and_fails_when_answers_changed(parrot, store, tmp_path):
    asked = to_read(QUESTIONS, contexts(), ["naive"], 160)
    read_all(asked, [SPEC], store)
    run = len(parrot.prompts)
    for _ in range(2):
        check_live(asked, SPEC, store, n=10, passed=tmp_path / "live")
    assert len(parrot.prompts) == run + 10  # the second was noted
    parrot.says = "something else"
    with pytest.raises(RuntimeError, match="smollm2-135m: only 0 of 12 answers generated live equal the recorded ones"):
        check_live(asked, SPEC, store, n=12, passed=tmp_path / "live")
    assert len(list((tmp_path / "live").iterdir())) == 1


def test_how_many_questions_are_read_may_differ_from_set_to_set():
    asked = pd.DataFrame({"dataset": ["a"] * 5 + ["b"] * 5 + ["c"] * 2, "qid": [f"q{i}" for i in range(12)]})
    counts = lambda per_set: reading.first(asked, per_set).groupby("dataset").size().to_dict()  # noqa: E731
    assert counts(0) == {"a": 5, "b": 5, "c": 2} and counts(3) == {"a": 3, "b": 3, "c": 2}
    assert counts({"a": 2, "b": 0}) == {"a": 2, "b": 5, "c": 2}, "0, or not named, is all"
    few, more = (set(reading.first(asked, {"a": n})["qid"]) for n in (2, 3))
    assert few < more, "a larger number keeps the questions of a smaller one"
    for wrong in (-1, {"a": -1}, {"a": 1.5}, True):
        for parameter in ("rival_questions", "questions_per_set"):
            with pytest.raises(ValueError, match=f"{parameter} must be a whole number of 0 or more, got .* .0: all"):
                reading.first(asked, wrong, parameter)
        with pytest.raises(ValueError, match="the number of questions of a data set must be a whole number"):
            reading.first(asked[:0], wrong)
    with pytest.raises(ValueError, match=r"questions_per_set names \['hotptqa'\], and there is no data set of that name; this run has \['a', 'b', 'c'\]"):
        reading.first(asked, {"a": 2, "hotptqa": 100}, "questions_per_set")
    assert counts({"a": 2, "hotpotqa": 100}) == {"a": 2, "b": 5, "c": 2}, "a set whose files are not here is none misspelt"
