"""Words: the normaliser is the official one, terms mean something, sentence offsets lose nothing."""

import random
import re
import string
from itertools import pairwise

import pytest

from lib.text import STOP_WORDS, answer_tokens, content_terms, is_yes_no, normalise_answer, normalise_spaced, split_sentences


def official_normalise(text):
    """The rule spelt out step by step, as METRIC_CASES states it: the brute-force twin of the fast one."""
    text = text.lower()
    text = "".join(mark for mark in text if mark not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def random_texts(n, seed):
    draw = random.Random(seed)
    alphabet = [
        "a",
        "an",
        "the",
        "The",
        "A",
        "yes",
        "x",
        "É",
        "ß",
        "İ",
        "1",
        ",",
        ".",
        "-",
        "–",
        "—",
        "'",
        "’",
        " ",
        "  ",
        "\t",
        "\u00a0",
        "_",
    ]
    return ["".join(draw.choices(alphabet, k=draw.randint(0, 12))) for _ in range(n)]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Beatles", "beatles"),
        ("A", ""),
        ("1,000", "1000"),
        ("U.S.", "us"),
        ("Jay-Z", "jayz"),
        ("1967–1970", "1967–1970"),
        ("café", "café"),
        ("a.n apple", "apple"),  # punctuation goes before articles
        ("theatre", "theatre"),
        ("  two\t words\n", "two words"),
        ("", ""),
    ],
)
def test_normalises_by_the_squad_rule(text, normal):
    assert normalise_answer(text) == normal


def test_fast_normaliser_equals_the_rule_spelt_out():
    for text in random_texts(3000, seed=1):
        assert normalise_answer(text) == official_normalise(text), repr(text)


def test_tokens_are_the_words_of_the_normal_form():
    assert answer_tokens("Chief of the Protocol") == ["chief", "of", "protocol"]
    assert all(answer_tokens(text) == normalise_answer(text).split() for text in random_texts(200, seed=2))


@pytest.mark.parametrize("not_text", [None, 1985, ["Rome"], float("nan")])
def test_only_text_is_normalised(not_text):
    with pytest.raises(ValueError, match="cast answers once"):
        normalise_answer(not_text)


def test_the_variant_reads_punctuation_as_space():
    assert normalise_spaced("Paris—the capital") == "paris capital"
    assert normalise_spaced("Jay-Z") == normalise_spaced("Jay Z") == "jay z"
    assert normalise_spaced("“a $5 bill”") == "5 bill"
    assert normalise_spaced("café") == "café"


@pytest.mark.parametrize(
    ("answer", "expected"), [("yes", True), ("No.", True), ("The yes", True), ("Norway", False), ("Yes, it is", False)]
)
def test_yes_no_after_normalising(answer, expected):
    assert is_yes_no(answer) is expected


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Who is the director of the film?", ["director", "film"]),
        ("Jay-Z's brother-in-law", ["jay", "z", "brother", "law"]),
        ("O'Brien and O’Brien", ["obrien", "obrien"]),  # duplicates kept, both apostrophes alike
        ("the director's cut", ["director", "cut"]),
        ("the U.S. and J.R.R. Tolkien", ["us", "jrr", "tolkien"]),
        ("1,000 people, 3.5 percent, 1967–1970", ["1000", "people", "3.5", "percent", "1967", "1970"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("İstanbul istanbul", ["istanbul", "istanbul"]),
        ("Who is it that they don't?", []),
        ("", []),
    ],
)
def test_content_terms(text, terms):
    assert content_terms(text) == terms


def test_terms_ignore_case_and_the_punctuation_around_words():
    plain = "river Oss flows north past Hallin mill"
    assert content_terms(plain) == content_terms(plain.upper()) == content_terms("(" + plain.replace(" ", ", ") + ")!")


def test_no_stop_word_survives_and_all_stop_words_are_in_term_form():
    assert content_terms(" ".join(sorted(STOP_WORDS))) == []
    assert all(word == word.casefold() and "'" not in word for word in STOP_WORDS)


def test_sentences_are_found_and_trimmed():
    text = "  Dr. Hall came home.  She was late!\t Why? "
    assert [text[start:end] for start, end in split_sentences(text)] == ["Dr. Hall came home.", "She was late!", "Why?"]


@pytest.mark.parametrize("text", ["", "   ", "\n\t "])
def test_blank_text_has_no_sentence(text):
    assert split_sentences(text) == []


def test_offsets_cover_every_character_that_is_not_space():
    draw = random.Random(3)
    for _ in range(60):
        text = "".join(draw.choices(["Oss", "Hall ", ". ", "! ", "?", "  ", "\n", "é", "…", '" ', "No. 5 "], k=30))
        spans = split_sentences(text)
        covered = {place for start, end in spans for place in range(start, end)}
        assert {place for place, mark in enumerate(text) if not mark.isspace()} <= covered
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
        assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
