"""Each release's schema, hop order and what a release may legitimately lack."""
import json

import pytest
from invented import ELMERS, MARL, SORREL, hotpot, ircot, musique, ragbench, twowiki, write

from lib.datasets import load
from lib.passages import passage_id
from lib.records import DataError

MARL_ID = passage_id("Marl", "The Marl is a river in Harrowfen. It ends in the Sea of Aumes.")
SORREL_ID = passage_id("Edda Sorrel", "Edda Sorrel painted eels. She was born beside the Marl.")


def loaded(tmp_path, dataset, *records, **source):
    return load(dataset, {"path": write(tmp_path / "release.jsonl", *records), **source})


def chain(tables) -> dict[str, tuple]:
    """doc_id -> (hop, is_last_hop), with None where missing."""
    gold = tables["gold"].astype(object).where(tables["gold"].notna(), None)
    return {row.doc_id: (row.hop, row.is_last_hop) for row in gold.itertuples()}


# HotpotQA ---------------------------------------------------------------------------------------------------------------------------------

def test_hotpotqa_gives_all_four_tables(tmp_path):
    tables = loaded(tmp_path, "hotpotqa", hotpot())
    row = tables["questions"].iloc[0]
    assert (row.qid, row.answers, row.question_type, row.n_hops, row.seeds) == ("h1", ["the Sea of Aumes"], "bridge", 2, [])
    assert len(tables["documents"]) == len(tables["pools"]) == 10
    assert set(tables["pools"].doc_id) == set(tables["documents"].doc_id) > {MARL_ID, SORREL_ID}


def test_last_hop_is_the_one_passage_that_holds_the_answer(tmp_path):
    assert chain(loaded(tmp_path, "hotpotqa", hotpot())) == {SORREL_ID: (1, False), MARL_ID: (2, True)}


@pytest.mark.parametrize(("changes", "reason"), [
    ({"type": "comparison", "answer": "Marl"}, "last_hop_none_comparison"),
    ({"type": "bridge", "answer": "no"}, "last_hop_none_yes_no"),
    ({"answer": "the Marl"}, "last_hop_answer_in_several_gold"),
    ({"answer": "Lake Ysha"}, "last_hop_answer_in_no_gold"),
    ({"answer": "Edda Sorrel Edda Sorrel painted"}, "last_hop_answer_in_no_gold"),  # never across title and text
])
def test_an_undefined_last_hop_is_missing_and_counted(tmp_path, changes, reason):
    tables = loaded(tmp_path, "hotpotqa", hotpot(**changes))
    assert set(chain(tables).values()) == {(None, None)}
    assert tables["report"][reason] == 1 and "last_hop_defined" not in tables["report"]


@pytest.mark.parametrize(("answer", "kind"), [("Yes", "comparison_yesno"), ("no", "comparison_yesno"), ("Marl", "comparison_choice")])
def test_comparisons_are_told_apart_by_their_answer(tmp_path, answer, kind):
    assert loaded(tmp_path, "hotpotqa", hotpot(type="comparison", answer=answer))["questions"].question_type[0] == kind


def test_the_releases_sentences_become_offsets(tmp_path):
    documents = loaded(tmp_path, "hotpotqa", hotpot())["documents"].set_index("doc_id")
    text, spans = documents.loc[MARL_ID, ["text", "sentences"]]
    assert [text[a:b] for a, b in spans] == ["The Marl is a river in Harrowfen.", "It ends in the Sea of Aumes."]
    assert set(documents.split_by) == {"release"}


def test_line_breaks_become_spaces_and_are_counted(tmp_path):
    marl = ["Marl", ["The Marl is a\nriver in Harrowfen.", "\n", "It ends in the Sea of Aumes."]]
    tables = loaded(tmp_path, "hotpotqa", hotpot(context=[marl, SORREL]))
    assert MARL_ID in set(tables["documents"].doc_id) and tables["report"]["documents_with_line_breaks"] == 1
    assert len(tables["documents"].set_index("doc_id").loc[MARL_ID, "sentences"]) == 2


def test_the_hubs_columns_and_a_json_array_give_the_same_tables(tmp_path):
    record = hotpot()
    columns = {"id": record["_id"], **{k: record[k] for k in ("question", "answer", "type", "level")},
               "supporting_facts": {"title": ["Edda Sorrel", "Marl"], "sent_id": [1, 1]},
               "context": {"title": [t for t, _ in record["context"]], "sentences": [s for _, s in record["context"]]}}
    plain = loaded(tmp_path, "hotpotqa", record)
    (tmp_path / "array.json").write_text(json.dumps([columns], indent=1))
    strings = hotpot(context=json.dumps(record["context"]), supporting_facts=json.dumps(record["supporting_facts"]))
    for other in (load("hotpotqa", {"path": tmp_path / "array.json"}), loaded(tmp_path, "hotpotqa", strings)):
        for name in ("questions", "gold", "documents", "pools"):
            assert plain[name].equals(other[name]), name


def test_what_the_release_legitimately_lacks_is_counted(tmp_path):
    tables = loaded(tmp_path, "hotpotqa", hotpot(context=[MARL, SORREL, MARL, ["Empty", []]], supporting_facts=[["Edda Sorrel", 1], ["Marl", 9]]),
                    hotpot(_id="h2", supporting_facts=[]))
    report = tables["report"]
    assert (report["sentence_index_out_of_range"], report["repeated_paragraph"], report["empty_paragraph"]) == (1, 1, 1)
    assert report["questions_with_fewer_than_10_paragraphs"] == 1 and report["questions_without_gold"] == 1
    assert (tables["pools"].qid == "h1").sum() == 2 and not (tables["gold"].qid == "h2").any()
    assert tables["questions"].n_hops.isna().tolist() == [False, True]


def test_a_gold_title_that_does_not_resolve_is_an_error_in_the_closed_setting(tmp_path):
    with pytest.raises(DataError, match=r"release.jsonl, line 2, field supporting_facts: the gold title 'Marle' .*hotpotqa_fullwiki"):
        loaded(tmp_path, "hotpotqa", hotpot(), hotpot(_id="h2", supporting_facts=[["Marle", 0]]))


def test_fullwiki_keeps_gold_that_was_not_retrieved(tmp_path):
    """The denominator of recall is |gold|: a missed passage must not leave it."""
    tables = loaded(tmp_path, "hotpotqa_fullwiki", hotpot(context=[MARL, *ELMERS]), hotpot(_id="h2", context=[]))
    assert tables["gold"].groupby("qid").size().to_dict() == {"h1": 2, "h2": 2}
    nowhere = passage_id("Edda Sorrel", "")
    assert set(tables["gold"].doc_id) == {MARL_ID, nowhere} and nowhere not in set(tables["documents"].doc_id)
    report = tables["report"]
    assert (report["gold_without_passage"], report["gold_found_with_another_question"], report["questions_without_paragraphs"]) == (2, 1, 1)
    assert report["last_hop_unknown_gold_text_missing"] == 2


def test_fullwiki_does_not_guess_between_two_passages_of_one_title(tmp_path):
    other = ["Edda Sorrel", ["Edda Sorrel is a boat."]]
    records = [hotpot(context=[MARL, *ELMERS]), hotpot(_id="h2", context=[MARL, SORREL]), hotpot(_id="h3", context=[MARL, other])]
    gold = loaded(tmp_path, "hotpotqa_fullwiki", *records)["gold"]
    assert set(gold[gold.qid == "h1"].doc_id) == {MARL_ID, passage_id("Edda Sorrel", "")}


# IRCoT's form -----------------------------------------------------------------------------------------------------------------------------

def test_ircot_passages_are_the_distractor_passages(tmp_path):
    plain, other = loaded(tmp_path, "hotpotqa", hotpot()), loaded(tmp_path, "hotpotqa", ircot())
    assert plain["documents"][["doc_id", "title", "text"]].equals(other["documents"][["doc_id", "title", "text"]])
    assert plain["gold"].equals(other["gold"]) and set(other["documents"].split_by) == {"spacy"}
    assert other["questions"].question_type[0] == "bridge" and other["report"]["type_inferred"] == 1


@pytest.mark.parametrize(("question", "answer", "kind"), [
    ("Do the Marl and Edda Sorrel share a name?", "no", "comparison_yesno"), ("Which is older, Marl or Edda Sorrel?", "Marl", "comparison_choice")])
def test_ircot_comparisons_are_inferred(tmp_path, question, answer, kind):
    record = ircot(question_text=question, answers_objects=[{"spans": [answer]}])
    assert loaded(tmp_path, "hotpotqa", record)["questions"].question_type[0] == kind


# 2WikiMultiHopQA --------------------------------------------------------------------------------------------------------------------------

def test_2wiki_aliases_come_by_answer_id(tmp_path):
    aliases = write(tmp_path / "id_aliases.json", {"Q_id": "Q7", "aliases": ["Aumes"], "demonyms": ["Aumesian"]})
    bare = {k: v for k, v in twowiki(_id="w2").items() if k not in ("answer_id", "evidences_id", "entity_ids")}
    tables = loaded(tmp_path, "2wiki", twowiki(), bare, aliases=aliases)
    assert tables["questions"].answers.tolist() == [["the Sea of Aumes", "Aumes", "Aumesian"], ["the Sea of Aumes"]]
    assert tables["report"]["answer_id_missing"] == 1


def test_2wiki_sentences_without_leading_space_are_joined_by_one(tmp_path):
    glued = ["Marl", ["The Marl is a river in Harrowfen.", "It ends in the Sea of Aumes."]]
    assert chain(loaded(tmp_path, "2wiki", twowiki(context=[glued, SORREL])))[MARL_ID] == (2, True)


def test_bridge_comparison_has_a_last_hop_but_no_full_order(tmp_path):
    facts = [["Edda Sorrel", 0], ["Marl", 0], ["Elmer 1", 0], ["Elmer 2", 0]]
    tables = loaded(tmp_path, "2wiki", twowiki(type="bridge_comparison", supporting_facts=facts))
    assert chain(tables)[MARL_ID] == (4, True) and sorted(map(str, chain(tables).values())).count("(None, False)") == 3


# MuSiQue ----------------------------------------------------------------------------------------------------------------------------------

def test_musique_order_is_the_decompositions_and_gold_is_a_passage_not_a_title(tmp_path):
    tables = loaded(tmp_path, "musique", musique())
    old_bridge, vane, psalter = (passage_id(p["title"], p["paragraph_text"]) for i in (0, 2, 4) for p in [musique()["paragraphs"][i]])
    assert chain(tables) == {psalter: (1, False), old_bridge: (2, False), vane: (3, True)}
    assert tables["questions"].answers[0] == ["Gedney Hythe", "Hythe"] and tables["questions"].n_hops[0] == 3
    assert (tables["documents"].title == "Old Bridge").sum() == 2


def test_musique_paragraphs_are_named_by_idx_not_by_place(tmp_path):
    shuffled = musique(paragraphs=musique()["paragraphs"][::-1])
    assert chain(loaded(tmp_path, "musique", shuffled)) == chain(loaded(tmp_path, "musique", musique()))


def test_musique_full_without_support_is_tolerated(tmp_path):
    steps = musique()["question_decomposition"]
    steps[2]["paragraph_support_idx"] = None
    paragraphs = [p | {"is_supporting": p["idx"] in (0, 4)} for p in musique()["paragraphs"]]
    tables = loaded(tmp_path, "musique", musique(question_decomposition=steps, answerable=False, paragraphs=paragraphs))
    assert {last for _, last in chain(tables).values()} == {None}
    assert tables["report"]["questions_without_full_support"] == tables["report"]["last_hop_unknown_support_missing"] == 1


def test_musique_support_outside_the_paragraphs_is_an_error(tmp_path):
    steps = musique()["question_decomposition"]
    steps[1]["paragraph_support_idx"] = 17
    with pytest.raises(DataError, match="field question_decomposition: step 2 points at paragraph 17"):
        loaded(tmp_path, "musique", musique(question_decomposition=steps))


# RAGBench ---------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dataset", ["ragbench_covidqa", "ragbench_expertqa"])
def test_ragbench_gold_follows_the_sentence_keys(tmp_path, dataset):
    tables = loaded(tmp_path, dataset, ragbench())
    documents = tables["documents"].set_index("doc_id")
    gold = documents.loc[tables["gold"].doc_id]
    assert sorted(gold.text) == ["Title: Marsh fever Marsh fever is caught near still water. It lasts nine days.", "Willow bark lowers the fever."]
    assert sorted(gold.title) == ["", "Marsh fever"] and set(chain(tables).values()) == {(None, None)}
    row = tables["questions"].iloc[0]
    assert (row.question_type, row.answers, row.dataset) == ("free_form", [ragbench()["response"]], dataset)
    assert set(documents.split_by) == {"release"} and tables["report"]["last_hop_none_free_form"] == 1


def test_ragbench_oddities_are_counted(tmp_path):
    sentences = [*ragbench()["documents_sentences"][:2], [["2a", "Another text altogether."]]]
    tables = loaded(tmp_path, "ragbench_covidqa", ragbench(all_relevant_sentence_keys=["0b", "9z"], documents_sentences=sentences),
                    ragbench(id=408, all_relevant_sentence_keys=None))
    report = tables["report"]
    assert (report["relevant_key_without_sentence"], report["sentences_do_not_spell_the_document"], report["questions_without_gold"]) == (1, 1, 1)
    assert set(tables["questions"].qid) == {"407", "408"}


# Wrong schemas ----------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("dataset", "record"), [
    ("hotpotqa", musique()), ("hotpotqa", ragbench()), ("2wiki", musique()), ("musique", hotpot()), ("musique", ragbench()),
    ("ragbench_covidqa", hotpot()), ("ragbench_expertqa", musique()), ("2wiki", ircot())])
def test_a_record_of_another_release_is_refused(tmp_path, dataset, record):
    with pytest.raises(DataError, match=r"release.jsonl, line 1, field \w+"):
        loaded(tmp_path, dataset, record)


REQUIRED = [("hotpotqa", hotpot, ("_id", "question", "answer", "type", "supporting_facts", "context")),
            ("hotpotqa", ircot, ("question_text", "answers_objects", "contexts")),
            ("2wiki", twowiki, ("_id", "question", "answer", "type", "supporting_facts", "context")),
            ("musique", musique, ("id", "question", "answer", "paragraphs", "question_decomposition")),
            ("ragbench_covidqa", ragbench, ("id", "question", "documents", "documents_sentences", "response", "all_relevant_sentence_keys"))]


@pytest.mark.parametrize(("dataset", "make", "name"), [(d, m, n) for d, m, names in REQUIRED for n in names])
def test_each_required_field_is_missed_by_name(tmp_path, dataset, make, name):
    record = make()
    del record[name]
    with pytest.raises(DataError, match=f"line 1, field {name}.*: is missing"):
        loaded(tmp_path, dataset, record)


@pytest.mark.parametrize(("changes", "problem"), [
    ({"context": "no list"}, "field context: expected pairs"), ({"context": [["Marl"]]}, "field context: expected pairs"),
    ({"context": [["Marl", "text"]]}, "field context: expected a list of sentences"), ({"context": [["Marl", [None]]]}, "field context: expected text"),
    ({"type": "brigde"}, "field type: got 'brigde'"), ({"supporting_facts": [["Marl", "one"]]}, "field supporting_facts: expected a sentence number"),
    ({"question": "  "}, "field question: is empty"), ({"_id": ""}, "field _id: got ''"), ({"_id": float("nan")}, "field _id: expected text, got NaN")])
def test_a_field_of_the_wrong_kind_is_named(tmp_path, changes, problem):
    with pytest.raises(DataError, match=problem):
        loaded(tmp_path, "hotpotqa", hotpot(**changes))
