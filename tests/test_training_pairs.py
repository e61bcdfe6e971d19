"""Training pairs say what they claim to: positives, negatives, wrong answers, no leak, and the same for the same seed."""
import pandas as pd
import pytest

from lib import training_pairs
from lib.retrieval import passage
from lib.text import normalise_answer
from lib.training_answers import forms, holds, kind_of, rival_spans, wrong_answers
from lib.training_pairs import asked_of, held_out, refuse_leaks, rerank_pairs, select, support_pairs, support_query

N = 24
TOWNS = ("Harrowfen", "Tollwick", "Ostley", "Brenmouth", "Caddel", "Ulvere")


def document(dataset, doc_id, title, *sentences):
    spans, start = [], 0
    for s in sentences:
        spans.append([start, start + len(s)])
        start += len(s) + 1
    return {"dataset": dataset, "doc_id": doc_id, "title": title, "text": " ".join(sentences), "sentences": spans}


def world(n=N, datasets=("own_a", "own_b")):
    """n questions a data set: a gold passage that holds the answer, a bridge that does not, four other paragraphs; every sixth is yes/no."""
    questions, gold, documents, pools = [], [], [], []
    for dataset in datasets:
        for i in range(n):
            q, name, town = f"{dataset}-{i}", f"{dataset[-1].upper()}{i}", f"{TOWNS[i % 6]}{dataset[-1]}{'aeiou'[i // 6]}"
            closed = i % 6 == 5
            answers = ["yes"] if closed else [town, f"the town of {town}"]
            asked = f"Is painter {name} older than the mill?" if closed else f"Where was the painter of picture {name} born?"
            questions.append((dataset, q, asked, answers, "comparison_yesno" if closed else "bridge"))
            hung = "It hung for many years in the hall of the mill, where the miller and his many daughters saw it on each and every day of their lives."
            documents += [document(dataset, f"{q}-person", f"Painter {name}", f"Painter {name} grew up beside the sea and painted eels, herons and boats until "
                                   "the age of eighty, in all the colours that could then be had.", f"The birth took place in {town}, as the books of "
                                   "Sorrelham and Lower Marl say, in a house that was sold and pulled down long ago."),
                          document(dataset, f"{q}-picture", f"Picture {name}", f"Picture {name} was painted by Painter {name}.", hung)]
            documents += [document(dataset, f"{q}-other{j}", f"Thing {name} {j}", f"Thing {name} {j} is a mill near Vane {j}.", hung) for j in range(4)]
            gold += [(dataset, q, f"{q}-person"), (dataset, q, f"{q}-picture")]
            pools += [(dataset, q, f"{q}-{d}") for d in ("person", "picture", "other0", "other1", "other2", "other3")]
    key = ["dataset", "qid"]
    return {"questions": pd.DataFrame(questions, columns=[*key, "question", "answers", "question_type"]), "gold": pd.DataFrame(gold, columns=[*key, "doc_id"]),
            "documents": pd.DataFrame(documents), "pools": pd.DataFrame(pools, columns=[*key, "doc_id"])}


@pytest.fixture(scope="module")
def tables():
    return world()


def shuffled(tables):
    return {k: t.sample(frac=1, random_state=3).reset_index(drop=True) for k, t in tables.items()}


def text_of(tables, doc_id):
    row = tables["documents"].set_index("doc_id").loc[doc_id]
    return passage(row.title, row.text)


def test_a_support_query_is_question_space_answer_and_empty_where_either_is():
    assert support_query(" Who?\n", "Edda  Sorrel") == "Who? Edda Sorrel"
    assert {support_query(q, a) for q, a in (("", "x"), ("x", " "), (None, "x"), ("x", float("nan")))} == {""}


def test_passage_labels_take_all_gold_with_two_near_and_one_easy_negative_each(tables):
    pairs = rerank_pairs(tables)
    counts = pairs.groupby(["qid", "kind"]).size().unstack()
    assert (counts[["gold", "own", "easy"]] == [2, 4, 2]).all(axis=None) and len(counts) == 2 * N
    assert (pairs["label"] == (pairs["kind"] == "gold")).all() and not pairs.duplicated(["text_a", "text_b"]).any()
    for qid, part in pairs.groupby("qid"):
        own = {text_of(tables, d) for d in tables["pools"].query("qid == @qid")["doc_id"]}
        gold = {text_of(tables, f"{qid}-{d}") for d in ("person", "picture")}
        assert set(part.query("kind == 'gold'")["text_b"]) == gold
        assert set(part.query("kind == 'own'")["text_b"]) <= own - gold
        assert own.isdisjoint(part.query("kind == 'easy'")["text_b"])


def test_easy_negatives_come_from_the_same_data_set(tables):
    easy = rerank_pairs(tables).query("kind == 'easy'")
    of = {text_of(tables, d.doc_id) + d.dataset for d in tables["documents"].itertuples()}
    assert {t + d for t, d in zip(easy["text_b"], easy["dataset"])} <= of


def test_answer_labels_take_gold_that_holds_the_answer_and_let_bridges_be_negatives(tables):
    pairs = rerank_pairs(tables, label="answer", own=5)
    gold = pairs.query("kind == 'gold'")
    assert set(gold["text_b"]) == {text_of(tables, f"{q}-person") for q in gold["qid"]} and len(gold) == 2 * N * 5 // 6
    assert not set(pairs["qid"]) & {f"own_a-{i}" for i in range(5, N, 6)}, "yes/no questions have no passage that holds the answer"
    near = pairs.query("kind == 'own'")
    assert all(text_of(tables, f"{q}-picture") in set(part["text_b"]) for q, part in near.groupby("qid"))
    assert near.groupby("qid").size().eq(5).all()


def test_fewer_own_paragraphs_than_asked_give_fewer_pairs_and_none_give_none(tables):
    few = {**tables, "pools": tables["pools"][~tables["pools"]["doc_id"].str.contains("other[123]")]}
    assert rerank_pairs(few, own=3).query("kind == 'own'").groupby("qid").size().eq(1).all()
    assert set(rerank_pairs(tables, own=0, easy=0)["kind"]) == {"gold"}
    assert rerank_pairs({**tables, "gold": tables["gold"][:0]}).empty and support_pairs({**tables, "gold": tables["gold"][:0]}).empty


def test_a_single_question_has_no_easy_negatives():
    assert set(rerank_pairs(world(1, ("own_a",)))["kind"]) == {"gold", "own"}


def test_gold_without_a_passage_is_left_out(tables):
    lost = {**tables, "documents": tables["documents"][tables["documents"]["doc_id"] != "own_a-0-person"],
            "pools": tables["pools"][tables["pools"]["doc_id"] != "own_a-0-person"]}
    assert len(rerank_pairs(lost).query("qid == 'own_a-0' and kind == 'gold'")) == 1
    assert support_pairs(lost).query("qid == 'own_a-0'").empty


@pytest.mark.parametrize("make", [rerank_pairs, support_pairs])
def test_pairs_follow_the_seed_and_not_the_order_of_rows(tables, make):
    first = make(tables)
    pd.testing.assert_frame_equal(first, make(shuffled(tables)))
    other = make(tables, seed=1)
    assert set(map(tuple, first.query("label == 0")[["text_a", "text_b"]].values)) != set(map(tuple, other.query("label == 0")[["text_a", "text_b"]].values))
    if make is rerank_pairs:
        assert set(first.query("label == 1")["text_b"]) == set(other.query("label == 1")["text_b"]), "a seed chooses negatives, positives are all there"


def test_another_question_changes_no_near_negative(tables):
    fewer = select(tables, tables["questions"]["qid"] != "own_a-7")
    near = rerank_pairs(tables).query("kind == 'own' and qid != 'own_a-7'").reset_index(drop=True)
    pd.testing.assert_frame_equal(near, rerank_pairs(fewer).query("kind == 'own'").reset_index(drop=True))


def test_support_pairs_are_balanced_as_told(tables):
    counts = support_pairs(tables).groupby(["qid", "kind"]).size().unstack()
    assert (counts[["gold", "own", "wrong_answer", "in_passage"]] == [2, 4, 2, 2]).all(axis=None) and len(counts) == 2 * N * 5 // 6
    counts = support_pairs(tables, own=1, wrong_answer=3, in_passage=0).groupby(["qid", "kind"]).size().unstack()
    assert (counts[["gold", "own", "wrong_answer"]] == [2, 1, 6]).all(axis=None)


def test_a_wrong_answer_is_wrong_and_the_text_is_the_same(tables):
    pairs, questions = support_pairs(tables), tables["questions"].set_index("qid")
    texts = {(p.qid, p.text_b) for p in pairs.itertuples() if p.kind == "gold"}
    elsewhere = {normalise_answer(a[0]) for a in questions["answers"]}
    for p in pairs[pairs["kind"].isin(["wrong_answer", "in_passage"])].itertuples():
        q = questions.loc[p.qid]
        said = p.text_a.removeprefix(q.question + " ")
        assert normalise_answer(said) not in {normalise_answer(a) for a in q.answers} and p.label == 0
        assert (p.qid, p.text_b) in texts
        assert holds(said, p.text_b) == (p.kind == "in_passage")
        assert p.kind == "in_passage" or normalise_answer(said) in elsewhere


def test_a_positive_holds_the_answer_whole_or_cut_and_other_paragraphs_are_never_holders(tables):
    pairs, questions, documents = support_pairs(tables), tables["questions"].set_index("qid"), tables["documents"].set_index("doc_id")
    whole = 0
    for p in pairs[pairs["kind"] == "gold"].itertuples():
        row = documents.loc[f"{p.qid}-person"]
        assert any(p.text_a == support_query(questions.loc[p.qid].question, a) and holds(a, p.text_b) for a in questions.loc[p.qid].answers)
        assert p.text_b == passage(row.title, row.text) or p.text_b in row.text
        whole += p.text_b.startswith(row.title + ". ")
    assert whole == (pairs["kind"] == "gold").sum() / 2
    own = pairs[pairs["kind"] == "own"]
    assert not own["text_b"].str.contains("The birth took place").any()
    assert 0 < own["text_b"].str.match(r"(Thing|Picture) [AB]\d+( \d)?\. ").sum() < len(own), "own paragraphs come in both forms"


def test_a_question_that_names_its_answer_teaches_no_support(tables):
    questions = tables["questions"].copy()
    questions.loc[0, "question"] = f"Which is older, {questions.loc[0, 'answers'][0]} or Ostley?"
    assert questions.loc[0, "qid"] not in set(support_pairs({**tables, "questions": questions})["qid"])


def test_rivals_are_of_the_answers_kind_and_share_nothing_with_it():
    text = "Edda Sorrel was born on 3 May 1804 in Harrowfen; on 9 May 1804 she was named by Isott Vane, and died in Harrowfen Lower in April 1870."
    assert rival_spans("When was Edda Sorrel born?", ["3 May 1804"], text) == ["9 May 1804"]
    assert rival_spans("Where was Edda Sorrel born?", ["Harrowfen"], text) == ["Isott Vane"]
    assert rival_spans("In which year did she die?", ["1870"], text) == ["1804", "3", "9"]
    assert rival_spans("Where?", ["Harrowfen"], "") == []


def test_wrong_answers_are_of_the_right_kind_while_there_are_any():
    others = ["1804", "The Rome", "ROME!", "yes", "", "Ostley", "Marl"]
    assert wrong_answers(["Rome"], others, "The Marl ends in Rome.") == ["Ostley"]
    assert wrong_answers(["Rome"], ["1804", "rome"], "text") == ["1804"]
    assert wrong_answers(["Rome"], [], "text") == [] and kind_of("4 March 1900") == "date"


def test_forms_without_sentences_or_without_the_answer_in_one_run_are_whole():
    row = pd.Series({"title": "Marl", "text": "", "sentences": []})
    assert forms(row, ["x"]) == ("Marl. ", [])
    row = pd.Series(document("d", "1", "Marl", "The Marl is brown and slow and " + "very " * 30 + "long, in New", "York it ends."))
    assert forms(row, ["New York"])[1] == []


def test_one_question_in_four_is_held_out_by_its_id_alone(tables):
    many = pd.DataFrame({"qid": [f"q{i}" for i in range(4000)], "question": [f"What is {i}?" for i in range(4000)]})
    kept = held_out(many)
    assert 0.22 < kept.mean() < 0.28
    part = many[1000:1200].sample(frac=1, random_state=0)
    assert held_out(part).equals(kept.loc[part.index])
    assert 0.45 < held_out(many, 2).mean() < 0.55


def test_rows_that_ask_the_same_are_never_divided():
    asked = [f"WHAT  IS {i}?" for i in range(200)] + [f"what is {i}?" for i in range(200)]
    twice = pd.DataFrame({"qid": [f"q{i}" for i in range(400)], "question": asked})
    kept = held_out(twice)
    assert (kept[:200].to_numpy() == kept[200:].to_numpy()).all() and 0 < kept.sum() < 400


def test_the_two_parts_share_no_question_and_no_pair(tables):
    kept = held_out(tables["questions"])
    learn, rest = select(tables, ~kept), select(tables, kept)
    assert len(learn["questions"]) + len(rest["questions"]) == 2 * N and len(learn["gold"]) + len(rest["gold"]) == len(tables["gold"])
    for make in (rerank_pairs, support_pairs):
        assert not set(make(learn)["qid"]) & set(make(rest)["qid"])


def test_a_leak_is_refused_by_id_and_by_words(tables):
    asked = tables["questions"]
    apart = asked.assign(qid="new-" + asked["qid"], question="Why " + asked["question"])
    refuse_leaks(asked, apart)
    with pytest.raises(ValueError, match="2 training questions are evaluation questions by qid, first 'own_a-3' of own_a"):
        refuse_leaks(asked, pd.concat([apart, apart[3:5].assign(qid=asked["qid"][3:5])]))
    with pytest.raises(ValueError, match="1 training questions .* by question, first 'new-own_b-2'"):
        refuse_leaks(asked, pd.concat([apart, apart[N + 2:N + 3].assign(question="  " + asked["question"].iat[N + 2].upper())]))


def test_asked_of_tells_holders(tables):
    made = {a.qid: a for a in asked_of(tables)}
    assert made["own_a-0"].holders == ["own_a-0-person"] and made["own_a-5"].holders == [] and len(made["own_a-5"].gold) == 2


@pytest.mark.parametrize("call, said", [
    (lambda t: rerank_pairs(t, label="gold"), "label must be one of passage, answer, got 'gold'"),
    (lambda t: rerank_pairs(t, own=-1), "own must be a whole number of 0 or more, got -1"),
    (lambda t: rerank_pairs(t, easy=1.5), "easy must be a whole number"),
    (lambda t: support_pairs(t, wrong_answer=True), "wrong_answer must be a whole number")])
def test_wrong_settings_are_said(tables, call, said):
    with pytest.raises(ValueError, match=said):
        call(tables)


def test_targets_are_the_two_of_the_recipe():
    assert set(training_pairs.TARGETS) == {"rerank", "support"}
