"""From documents to candidates: windows, token costs that add up, relevance, and an order that nothing but the first stage decides."""
import dataclasses
import math
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import TEXTS, Letters, merging, words, world

from lib import evidence, packers, retrieval, weights
from lib.evidence import candidates, check_additive, chunk, costs, document_idf, joined, lexical_relevance, term_matrix, windows

SEARCH = settings(max_examples=150, deadline=None, derandomize=True, database=None)
CONTEXTS = [[], ["One."], ["One two.", "Three"], ["a", "b", "c, d"], ["3", "4"]]


def test_costs_count_the_line_break_and_add_up_to_the_joined_text():
    check_additive(words, CONTEXTS)
    assert costs(["One two.", "Three"], words) == [4, 2]
    assert joined(["One two.", "Three"]) == "One two.\nThree"
    assert sum(costs(["One two.", "Three"], words)) == words([joined(["One two.", "Three"]) + "\n"])[0]


def test_a_tokenizer_that_merges_across_line_breaks_is_refused():
    with pytest.raises(ValueError, match="gpt is refused: 2 snippets cost 6 tokens one by one but 5 joined"):
        check_additive(merging, CONTEXTS, "gpt")


@pytest.mark.live
def test_the_budget_tokenizer_of_the_sample_adds_up():
    try:
        count = evidence.budget_tokenizer("smollm2-135m")
    except weights.WeightsMissing as missing:
        pytest.skip(f"no SmolLM2 tokenizer here: {missing}")
    snippets = [*chunk(world()[2], count)["text"], "1,000", "two  spaces", "(bracket", "ends in a dash —", "日本", "’s"]
    draw = random.Random(0)
    check_additive(count, [draw.sample(snippets, draw.randint(1, 6)) for _ in range(500)])
    with pytest.raises(ValueError, match="is refused"):
        check_additive(count, [["one", "  two"]])  # spaces merge with the line break before them: why `chunk` trims


def test_windows_by_hand():
    sentences, lengths = [[0, 9], [10, 19], [20, 25], [26, 40]], [20, 20, 5, 40]
    assert windows(sentences, lengths) == [(0, 19), (20, 40)]
    assert windows(sentences, lengths, min_tokens=1) == [(0, 9), (10, 19), (20, 25), (26, 40)]
    assert windows(sentences, lengths, min_tokens=46) == [(0, 40)]
    assert windows(sentences, lengths, min_tokens=44, rest="alone") == [(0, 25), (26, 40)]
    assert windows(sentences, lengths, min_tokens=44, rest="merged") == [(0, 40)]
    assert windows(sentences, lengths, min_tokens=99, rest="merged") == [(0, 40)]  # nothing to merge it into
    assert windows([], []) == []


@SEARCH
@given(st.lists(st.integers(1, 40), max_size=12), st.integers(1, 60), st.sampled_from(["alone", "merged"]))
def test_windows_hold_every_sentence_once_and_enough_tokens(lengths, least, rest):
    sentences = [(10 * i, 10 * i + 9) for i in range(len(lengths))]
    spans = windows(sentences, lengths, least, rest)
    inside = [[i for i, (a, b) in enumerate(sentences) if start <= a and b <= end] for start, end in spans]
    assert [i for group in inside for i in group] == list(range(len(lengths)))
    held = [sum(lengths[i] for i in group) for group in inside]
    assert all(n >= least for n in held[:-1])
    assert rest == "alone" or len(held) < 2 or held[-1] >= least


def test_windows_refuse_what_does_not_fit_together():
    with pytest.raises(ValueError, match="'alone' or 'merged', got 'dropped'"):
        windows([[0, 1]], [1], rest="dropped")
    with pytest.raises(ValueError):
        windows([[0, 1], [2, 3]], [1])


@pytest.mark.parametrize("least", [1, 12, 1000])
def test_snippets_are_spans_of_their_documents_with_their_cost(least):
    documents = world()[2]
    made = chunk(documents, words, least)
    text = dict(zip(documents["doc_id"], documents["text"]))
    assert all(text[s.doc_id][s.start:s.end] == s.text for s in made.itertuples())
    assert made["n_tokens"].tolist() == costs(made["text"].tolist(), words) and (made["n_tokens"] > 0).all()
    assert made["snippet_id"].is_unique and set(made["doc_id"]) == set(TEXTS)
    assert made.groupby("doc_id")["position"].apply(list).map(lambda p: p == list(range(len(p)))).all()
    for doc_id, group in made.groupby("doc_id"):  # no word is lost
        assert "".join(group["text"]).replace(" ", "") == text[doc_id].replace(" ", "")


def test_snippets_neither_begin_nor_end_with_space():
    documents = pd.DataFrame({"dataset": "d", "doc_id": ["a"], "title": "t", "text": ["  One.  Two. "], "sentences": [[[0, 6], [6, 13]]]})
    made = chunk(documents, words, 1)
    assert made["text"].tolist() == ["One.", "Two."] and made[["start", "end"]].to_numpy().tolist() == [[2, 6], [8, 12]]


def test_a_document_without_text_gives_no_snippet():
    documents = pd.DataFrame({"dataset": "d", "doc_id": ["a", "b"], "title": "t", "text": ["", "   "], "sentences": [[], [[0, 3]]]})
    made = chunk(documents, words)
    assert len(made) == 0 and list(made) == ["dataset", "doc_id", "snippet_id", "position", "start", "end", "text", "n_tokens"]


def test_lexical_relevance_by_hand():
    question = "Which river, which brown river is in Harrowfen?"  # river, brown, harrowfen
    snippets = ["The brown river.", "Rivers are brown.", "Harrowfen, Harrowfen!", "nothing"]
    assert lexical_relevance(question, snippets, {}) == pytest.approx([2 / 3, 1 / 3, 1 / 3, 0])
    assert lexical_relevance(question, snippets, {"river": 1, "brown": 2, "harrowfen": 5}) == pytest.approx([3 / 8, 2 / 8, 5 / 8, 0])
    assert lexical_relevance(question, [], {}).shape == (0,)


def test_a_question_without_content_terms_finds_nothing_relevant():
    assert lexical_relevance("Who is it?", ["It is she.", ""], {}).tolist() == [0, 0]
    assert term_matrix("Who is it?", ["It is she.", ""]).shape == (2, 0)
    assert term_matrix("Which river?", []).shape == (0, 1)


def test_the_term_matrix_says_which_term_stands_where():
    assert term_matrix("river brown river", ["a brown eel", "brown river"]).tolist() == [[False, True], [True, True]]


def test_equal_words_are_equally_relevant_to_the_last_bit():
    vocabulary = [f"word{i}" for i in range(30)]
    draw = random.Random(1)
    idf = {w: draw.uniform(0.1, 9) for w in vocabulary}
    for _ in range(200):
        asked = draw.sample(vocabulary, 9)
        held, chaff = draw.sample(asked, 6), [f"chaff{i}" for i in range(draw.randint(0, 300))]
        first, second = [*held, *chaff], [*chaff, *held[::-1]]
        one, two = lexical_relevance(" ".join(asked), [" ".join(first), " ".join(second)], idf)
        in_order = [w for w in asked if w in held]
        assert one == two == sum(idf[w] for w in in_order) / sum(idf[w] for w in asked)  # no sum over a set, whose order a hash seed decides


def test_document_idf():
    assert document_idf(["a brown eel", "brown, brown"]) == {"brown": math.log(2), "eel": math.log(3)}
    assert document_idf([]) == {}


def rows_of(question="q1", least=12):
    """One question's rows of the snippets table, and a vector for each."""
    questions, _, documents, _, rankings = world()
    asked = questions.set_index("qid").loc[question, "question"]
    listed = rankings.query("qid == @question and scope == 'own' and ranker == 'dense'")[["qid", "doc_id", "rank"]].rename(columns={"rank": "doc_rank"})
    rows = listed.merge(chunk(documents, words, least), on="doc_id")
    rows["relevance"] = lexical_relevance(asked, rows["text"].tolist(), {})
    return asked, rows, retrieval.truncate(Letters().encode(rows["text"].tolist()))


def packed(asked, rows, vectors):
    c = candidates(asked, rows, vectors, rows["text"].str.contains("Aumes"))
    c = dataclasses.replace(c, chance=c.relevance, surprise=c.relevance)  # what models would say
    return {(policy, budget): [(c.ids[i], round(gain, 9)) for i, gain in packers.pack(c, policy, budget)] for policy in packers.PACKERS for budget in (20, 45, 80)}


@pytest.mark.parametrize("seed", range(5))
def test_permuting_the_rows_changes_no_pack(seed):
    asked, rows, vectors = rows_of()
    order = np.random.default_rng(seed).permutation(len(rows))
    assert packed(asked, rows, vectors) == packed(asked, rows.iloc[order], vectors[order])


def test_renaming_documents_and_snippets_changes_no_pack():
    asked, rows, vectors = rows_of()
    other = dict(zip(TEXTS, ["z", "c", "y", "a", "k", "b"]))
    renamed = rows.assign(doc_id=rows["doc_id"].map(other), snippet_id=[f"{other[d]}#{p}" for d, p in zip(rows["doc_id"], rows["position"])])
    back = {f"{new}#{p}": f"{old}#{p}" for old, new in other.items() for p in range(9)}
    for key, picks in packed(asked, renamed, vectors).items():
        assert [(back[i], gain) for i, gain in picks] == packed(asked, rows, vectors)[key]


def test_candidates_stand_in_first_stage_order_and_negative_cosines_are_clipped():
    asked, rows, _ = rows_of()
    vectors = np.random.default_rng(0).normal(size=(len(rows), 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    c = candidates(asked, rows.iloc[::-1], vectors)
    assert list(zip(c.doc_rank, c.position)) == sorted(zip(rows["doc_rank"], rows["position"]))
    assert (vectors @ vectors.T).min() < 0 == c.similarity.min() and c.similarity.max() <= 1
    assert c.costs.tolist() == [dict(zip(rows["snippet_id"], rows["n_tokens"]))[i] for i in c.ids] and c.qid == "q1"


def test_candidates_without_rows_and_with_too_few_vectors():
    asked, rows, vectors = rows_of()
    assert candidates(asked, rows.iloc[:0], vectors[:0]).ids == ()
    with pytest.raises(ValueError, match=f"{len(rows)} snippets need as many vectors, got 1"):
        candidates(asked, rows, vectors[:1])
