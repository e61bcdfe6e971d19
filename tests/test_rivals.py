"""Rivals: AdaGReS against its objective recomputed, Selective Context against a model whose probabilities are known, the cross-encoder's relevance."""
import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lib import packers, rivals, rivals_relevance, rivals_surprise
from lib.store import Store
from test_tuned import candidates


def test_beta_is_the_authors_formula():
    relevance, costs = np.array([0.2, 0.4, 0.6]), np.array([30.0, 40.0, 50.0])
    similarity = np.array([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]])
    assert rivals.adaptive_beta(relevance, similarity, costs, 160) == pytest.approx(0.4 / (3 / 2 * 0.2))  # k = 160 // 40 = 4
    assert rivals.adaptive_beta(relevance, similarity, costs, 79) == rivals.LEAST_BETA                     # k = 1
    assert rivals.adaptive_beta(relevance, np.eye(3), costs, 160) == rivals.LEAST_BETA
    assert rivals.adaptive_beta(relevance[:0], similarity[:0, :0], costs[:0], 160) == rivals.LEAST_BETA


def value(c, chosen, beta):
    pairs = [(i, j) for a, i in enumerate(chosen) for j in chosen[a + 1:]]
    return c.relevance[chosen].sum() - beta * sum(c.similarity[i, j] for i, j in pairs)


@pytest.mark.parametrize("budget", [60, 120, 200])
def test_adagres_takes_the_largest_gain_of_its_objective_at_every_step(budget):
    for seed in range(12):
        c = candidates(seed=seed)
        beta, chosen, room = rivals.adaptive_beta(c.relevance, c.similarity, c.costs, budget), [], budget
        picks = rivals.adagres(c, budget)
        for i, gain in picks:
            left = [j for j in range(8) if j not in chosen and c.costs[j] <= room]
            gains = {j: value(c, [*chosen, j], beta) - value(c, chosen, beta) for j in left}
            assert gains[i] == pytest.approx(max(gains.values())) and gain == pytest.approx(gains[i])
            chosen.append(i)
            room -= c.costs[i]
        assert not [j for j in range(8) if j not in chosen and c.costs[j] <= room]
        assert rivals.adagres(c, budget, stop=True) == [p for k, p in enumerate(picks) if all(g > 0 for _, g in picks[:k + 1])]


def test_without_redundancy_adagres_is_naive_and_a_copy_is_avoided():
    c = candidates(seed=3)
    assert [i for i, _ in rivals.adagres(c, 160, beta=0.0)] == [i for i, _ in packers.naive(c, 160)]
    twins = candidates(n=4, relevance=np.array([0.9, 0.9, 0.5, 0.1]), costs=np.full(4, 40.0), chance=None, ids=tuple("abcd"), terms=np.ones((4, 1), bool),
                       document=np.arange(4), doc_rank=np.arange(4) + 1, position=np.zeros(4, int),
                       similarity=np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]))
    assert [i for i, _ in rivals.adagres(twins, 80, beta=1.0)] == [0, 2] and [i for i, _ in packers.naive(twins, 80)] == [0, 1]


@pytest.mark.parametrize("beta", [-0.1, float("nan")])
def test_a_wrong_beta_is_refused(beta):
    with pytest.raises(ValueError, match="weight of redundancy"):
        rivals.adagres(candidates(), 160, beta=beta)


def test_selective_drops_what_is_predictable():
    c = candidates(n=4, ids=tuple("abcd"), costs=np.array([50.0, 60, 40, 30]), surprise=np.array([3.0, 4.0, 1.0, 2.0]), relevance=np.ones(4), chance=None,
                   terms=np.ones((4, 1), bool), document=np.arange(4), doc_rank=np.arange(4) + 1, position=np.zeros(4, int), similarity=np.eye(4))
    assert rivals.selective(c, 100) == [(1, 4.0), (3, 2.0)]                       # 50 does not fit and is passed over
    assert rivals.selective(c, 100, stop=True) == [(1, 4.0)]
    assert rivals.selective(c, 1000) == [(1, 4.0), (0, 3.0), (3, 2.0), (2, 1.0)]


@pytest.mark.parametrize("surprise", [None, np.array([1.0] * 7 + [np.nan])])
def test_selective_needs_self_information(surprise):
    with pytest.raises(ValueError, match=r"self-information.*rivals_surprise"):
        rivals.selective(candidates(surprise=surprise), 160)


class Words:
    """A tokenizer of words, and a model that gives the next word probability 1 / (4 + its number)."""

    def __init__(self):
        self.known, self.calls = {}, 0
        self.model = self._model
        self._model.__func__.device = "cpu"

    def tokenizer(self, text, add_special_tokens=False, return_offsets_mapping=True):
        ids, offsets, at = [], [], 0
        for word in text.split(" "):
            ids.append(self.known.setdefault(word, len(self.known)))
            offsets.append((max(0, at - 1), at + len(word)))                      # like SmolLM2, a token owns the space before it
            at += len(word) + 1
        return {"input_ids": ids, "offset_mapping": offsets}

    def _model(self, input_ids, attention_mask, use_cache):
        import torch

        self.calls += 1
        size = 50
        p = torch.tensor([1 / (4 + k) for k in range(size)], dtype=torch.float64)
        return SimpleNamespace(logits=p.log().expand(*input_ids.shape, size))


def passages():
    documents = pd.DataFrame({"dataset": "d", "doc_id": ["x", "y"], "title": ["Marl", None], "text": ["It ends here. Eels live there.", "Bees sleep."]})
    snippets = pd.DataFrame({"dataset": "d", "doc_id": ["x", "y", "x", "x"], "start": [14, 0, 0, 14], "end": [30, 11, 13, 30]}, index=[7, 3, 5, 9])
    return snippets, documents


def test_self_information_of_each_snippet_is_that_of_its_own_tokens(tmp_path):
    snippets, documents = passages()
    reader, store = Words(), Store(tmp_path / "recorded", tmp_path / "cache")
    found = rivals_surprise.surprises(snippets, documents, store, reader=reader)
    total = math.log(sum(1 / (4 + k) for k in range(50)))

    def mean(words):
        return np.mean([math.log(4 + reader.known[w]) + total for w in words.split()])

    assert list(found.index) == [7, 3, 5, 9]
    assert found[5] == pytest.approx(mean("It ends here."), rel=1e-4) and found[7] == found[9] == pytest.approx(mean("Eels live there."), rel=1e-4)
    assert found[3] == pytest.approx(mean("Bees sleep."), rel=1e-4)               # ". " of the missing title has no prediction and no snippet
    before = reader.calls
    again = rivals_surprise.surprises(snippets, documents, store, reader=None)     # stored: no model is opened
    pd.testing.assert_series_equal(again, found)
    assert reader.calls == before == 1
    keys = rivals_surprise.surprise_keys(rivals_surprise.units(snippets, documents))
    assert len(keys) == 2 and set(store.get_many(keys)) == set(keys)


def test_snippets_that_begin_together_keep_what_is_their_own(tmp_path):
    snippets, documents = passages()
    both = snippets.iloc[[2, 2]].assign(end=[13, 30], start=0).reset_index(drop=True)  # a claim, and a claim after its introduction
    found = rivals_surprise.surprises(both, documents, Store(tmp_path / "recorded", tmp_path / "cache"), reader=Words())
    alone = [rivals_surprise.surprises(both.iloc[[i]], documents, Store(tmp_path / f"r{i}", tmp_path / f"c{i}"), reader=Words()).iloc[0] for i in (0, 1)]
    assert found[0] != found[1] and found.tolist() == pytest.approx(alone)


def test_no_snippet_no_model(tmp_path):
    snippets, documents = passages()
    assert rivals_surprise.surprises(snippets.iloc[:0], documents, Store(tmp_path / "r", tmp_path / "c")).empty


class Length:
    def score(self, pairs):
        self.seen = pairs
        return [len(b) - 10.0 for _, b in pairs]


def test_cross_encoder_relevance_is_a_share_in_order_and_stored(tmp_path):
    store, scorer = Store(tmp_path / "recorded", tmp_path / "cache"), Length()
    asked = (["who?", "who?", "when?"], ["Marl", None, "Elmer"], ["An eel.", "Bees.", "It was so."])
    found = rivals_relevance.cross_encoder_relevance(*asked, store=store, scorer=scorer)
    assert ("who?", "Marl. An eel.") in scorer.seen and ("who?", "Bees.") in scorer.seen
    assert found.tolist() == [round(1 / (1 + math.exp(-(n - 10))), 6) for n in (13, 5, 17)]
    np.testing.assert_array_equal(rivals_relevance.cross_encoder_relevance(*asked, store=store), found)
    with pytest.raises(ValueError, match="1 snippets cannot be scored"):
        rivals_relevance.cross_encoder_relevance(["who?", " "], ["A", "B"], ["x", "y"], store=store, scorer=scorer)


def test_rivals_keep_the_budget_and_take_nothing_from_nothing():
    for seed in range(10):
        c = candidates(seed=seed, surprise=np.random.default_rng(seed).random(8))
        for rule in (rivals.adagres, rivals.selective):
            picks = rule(c, 96)
            assert sum(c.costs[i] for i, _ in picks) <= 96 and len({i for i, _ in picks}) == len(picks)
    none = dict.fromkeys(("relevance", "costs", "chance", "surprise"), np.zeros(0)) | dict.fromkeys(("document", "doc_rank", "position"), np.zeros(0, int))
    empty = dataclasses.replace(candidates(), ids=(), terms=np.zeros((0, 2), bool), similarity=np.zeros((0, 0)), **none)
    assert rivals.adagres(empty, 160) == rivals.selective(empty, 160) == []
