"""Parses: each distinct passage once ever, from the cache afterwards, whatever its neighbours; and, with spaCy's model, what the rules make of sentences."""
from itertools import pairwise

import pandas as pd
import pytest
from ace_world import TEXTS, Rules, documents
from diskcache import Cache, JSONDisk

from lib import ace_claims, ace_parse, text, weights
from lib.store import StoreError


def test_each_distinct_passage_is_parsed_once_ever(tmp_path):
    rows, first, second = documents(), Rules(), Rules()
    twice = pd.concat([rows, rows.assign(doc_id="again-" + rows["doc_id"])])
    made = ace_parse.parses(twice, first, tmp_path)
    assert sorted(first.asked) == sorted({t for _, t in TEXTS.values()})
    assert made[:len(rows)] == made[len(rows):]
    assert ace_parse.parses(rows.iloc[::-1], second, tmp_path) == made[:len(rows)][::-1] and second.asked == []
    assert ace_parse.parses(rows, Rules(), None) == made[:len(rows)]  # without a cache the same


def test_another_parser_and_other_sentences_are_parsed_anew(tmp_path):
    rows, other = documents(), Rules()
    ace_parse.parses(rows, Rules(), tmp_path)
    other.name = "other rules"
    ace_parse.parses(rows.iloc[:1], other, tmp_path)
    again = Rules()
    ace_parse.parses(rows.iloc[:1].assign(sentences=[[[0, 20]]]), again, tmp_path)
    assert other.asked == again.asked == [TEXTS["vane"][1]]


def test_a_killed_run_resumes_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(ace_parse, "BATCH", 2)

    class Stops(Rules):
        def parse(self, body, sentences):
            if len(self.asked) == 3:
                raise KeyboardInterrupt
            return super().parse(body, sentences)

    with pytest.raises(KeyboardInterrupt):
        ace_parse.parses(documents(), Stops(), tmp_path)
    rest = Rules()
    ace_parse.parses(documents(), rest, tmp_path)
    assert len(rest.asked) == len(TEXTS) - 2  # the first batch was kept, the second was not


def test_a_damaged_cache_says_what_to_do(tmp_path):
    (tmp_path / "cache.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="delete data/cache/parses and run again"):
        ace_parse.parses(documents(), Rules(), tmp_path)


def test_no_documents():
    assert ace_parse.parses(documents().iloc[:0], Rules(), None) == []


@pytest.fixture(scope="module")
def spacy_parser():
    try:
        weights.locate("en_core_web_sm")
    except weights.WeightsMissing as missing:
        pytest.skip(f"no spaCy model here: {missing}")
    return ace_parse.SpacyParser()


def claims_of(parser, body):
    made = parser.parse(body, text.split_sentences(body))
    return [(kind, body[s:e], body[a:b]) for a, b, kind, s, e in made["claims"]], [body[a:b] for a, b, _ in made["names"]]


@pytest.mark.live
def test_clauses_with_a_subject_of_their_own_are_claims(spacy_parser):
    said = "Crates of slate were floated down the river on goatskins; the last raftmaster, Jory Vennock, gave up the trade in 1843."
    claims, names = claims_of(spacy_parser, said)
    assert [c[2] for c in claims] == said.split("; ") and names == ["Jory Vennock"]
    one = "Born in 1702 on a barge, she went about in a coat and hired herself out to estates."
    assert claims_of(spacy_parser, one)[0] == [("person", "she", one)]  # one subject, one claim
    both = "Edda Sorrel painted eels in Tollwick, but her brother kept the bees of the whole town."
    assert [c[2] for c in claims_of(spacy_parser, both)[0]] == ["Edda Sorrel painted eels in Tollwick", "her brother kept the bees of the whole town."]
    whole = ["She sang and he danced.",  # too short to part
             "The bridge (it was drawn by Isott Vane; she never saw the river) fell in 1702.",  # a bracket stays whole
             "It received its charter in 1566 and counted 18,900 people in 2011, of whom one in nine worked with ink."]  # no "and" before "one"
    assert all([c[2] for c in claims_of(spacy_parser, said)[0]] == [said] for said in whole)


@pytest.mark.live
@pytest.mark.parametrize("body, kind, subject", [
    ("She painted eels.", "person", "She"), ("His honey was dark and sweet.", "person", "His honey"), ("It ends in the sea.", "thing", "It"),
    ("Its three arches were built in 1671.", "thing", "Its three arches"), ("That chimney was the tallest.", "that", "That chimney"),
    ("The town climbs the left bank.", "definite", "The town"), ("Edda Sorrel painted eels.", "name", "Edda Sorrel"),
    ("A judge ended the quarrel.", "other", "A judge"), ("There were two bridges.", "none", "")])
def test_kinds_of_subjects(spacy_parser, body, kind, subject):
    assert [c[:2] for c in claims_of(spacy_parser, body)[0]] == [(kind, subject)]


@pytest.mark.live
def test_claims_are_trimmed_disjoint_and_follow_the_passages_own_sentences(spacy_parser):
    awkward = ["Rome fell.Next came Ravenna; nobody minded it much.", "  Two  spaces ; and a bracket (open; shut) here.  ", "x",
               "“Well; then”, she said; and the tide turned at once.", ""]
    for body in [*awkward, *(t for _, t in TEXTS.values())]:
        sentences = text.split_sentences(body)
        made = spacy_parser.parse(body, sentences)
        spans = [(a, b) for a, b, *_ in made["claims"]]
        assert all(body[a:b] == body[a:b].strip() != "" for a, b in spans) and all(b <= c for (_, b), (c, _) in pairwise(spans))
        assert {a for a, _ in sentences} <= {a for a, _ in spans} and {b for _, b in sentences} <= {b for _, b in spans}
        assert all(any(a <= c and d <= b for a, b in sentences) for c, d in spans)
        left = list(body)
        for a, b in spans:
            left[a:b] = " " * (b - a)
        assert set("".join(left).split()) <= {";", ",", ",;", "and", "but"}


@pytest.mark.live
def test_a_parse_does_not_depend_on_what_was_parsed_before(spacy_parser):
    rows = documents()
    one = ace_parse.parses(rows, spacy_parser, None)
    assert ace_parse.parses(rows.iloc[::-1], ace_parse.SpacyParser(), None) == one[::-1]
    world = ace_claims.passages(rows, one)
    assert ace_claims.snippet(world["vane"], 1).endswith("in 1702. She drew the Old Bridge of Tollwick.")
    assert world["vane"].claims[3].kind == "alias" and world["vane"].claims[3].introduced_by == 0


@pytest.mark.parametrize("wrong", [None, [], {"claims": []}, {"claims": [], "names": [[0, 10**6, "ORG"]]}, {"claims": [[0, 4, "verb", 0, 3]], "names": []},
                                   {"claims": [[5, 4, "name", 0, 3]], "names": []}, {"claims": [[0, 4, "name"]], "names": []},
                                   {"claims": [[0, 4, "name", 0, 1.5]], "names": []}, {"claims": "none", "names": []}, {"claims": [], "names": [[0, 3, None]]}])
def test_a_stored_parse_that_is_none_of_its_passage_is_one_error_with_the_mend(tmp_path, wrong):
    rows = documents()
    keys = ace_parse.keys(rows, Rules())
    with pytest.raises(StoreError, match=r"parse-en_core_web_sm-.*1 of 1 stored values are damaged.*restore data/sample/recorded/parse-.*jsonl"):
        ace_parse.parses(rows, Rules(), None, {keys[0]: wrong})
    ace_parse.parses(rows, Rules(), tmp_path)
    with Cache(str(tmp_path), disk=JSONDisk) as cache:
        cache[keys[1]] = wrong
    with pytest.raises(StoreError, match="stored parses are damaged.*delete data/cache/parses"):
        ace_parse.parses(rows, Rules(), tmp_path)
