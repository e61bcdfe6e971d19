"""Term weights: the restated formula against the published one, packed rows, and dot products by hand."""
import numpy as np
import pandas as pd
import pytest
from small_world import Letters, world
from tiny_bert import tiny_base

from lib import retrieval, splade, weights
from lib.store import StoreError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "eel", "sea", "bee", "##s", "river", "brown", "."]
TEXTS = ["eels sea.", "brown river river", "", "bee " * 40, "zeppelin"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a random two-layer BERT over twelve words."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    sizes = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 32, "initializer_range": 0.5}
    model = BertForMaskedLM(BertConfig(**sizes))
    torch.nn.init.normal_(model.cls.predictions.decoder.bias)
    model.save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def published(folder, texts, length) -> np.ndarray:
    """max over places of log(1 + relu(logit)), the padded places left out, all texts in one batch."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(texts, padding=True, truncation=True, max_length=length, return_tensors="pt")
    with torch.inference_mode():
        logits = torch.log1p(torch.relu(model(**tokens).logits)) * tokens["attention_mask"][..., None]
    return logits.amax(1).numpy()


@pytest.mark.parametrize("at_once", [5, 12, 2048])
def test_term_weights_are_those_of_the_published_formula(tiny, monkeypatch, at_once):
    monkeypatch.setattr(splade, "LENGTH", 30)
    monkeypatch.setattr(splade, "WORDS_AT_ONCE", at_once)
    found = splade.unpacked(splade.SparseEncoder(str(tiny)).encode(TEXTS), len(WORDS)).toarray()
    expected = published(tiny, TEXTS, 30)
    assert 0 < (expected == 0).sum() < expected.size, "some words have weight, some none"
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_text_does_not_depend_on_its_neighbours(tiny, monkeypatch):
    monkeypatch.setattr(splade, "LENGTH", 30)
    encoder = splade.SparseEncoder(str(tiny))
    together, alone = encoder.encode(TEXTS), [encoder.encode([t])[0] for t in TEXTS]
    assert all((a == b).all() for a, b in zip(together, alone))
    named = dict(encoder.words(TEXTS[0]))
    assert list(named.values()) == sorted(named.values(), reverse=True) and set(named) <= set(WORDS)
    weights_of = splade.unpacked(together[:1], len(WORDS)).toarray()[0]
    assert {WORDS.index(w): v for w, v in named.items()} == pytest.approx({i: v for i, v in enumerate(weights_of) if v})


def test_packed_rows_come_back_and_a_damaged_one_is_an_error():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((6, 50)) < 0.2, rng.random((6, 50)), 0).astype(np.float32)
    dense[2] = 0
    packed = [splade.packed(row) for row in dense]
    assert (splade.unpacked(packed, 50).toarray() == dense).all() and splade.unpacked([]).shape == (0, 0)
    with pytest.raises(StoreError, match="term weights are damaged; delete the cache"):
        splade.unpacked([packed[0], packed[1][:-1]])


def test_scores_are_dot_products_over_one_vocabulary(tmp_path):
    class Counts:
        name = "counts"

        def encode(self, texts):
            seen.extend(texts)
            return [splade.packed(np.array([t.count(letter) for letter in "abcdef"], np.float32)) for t in texts]

    seen, asked, told = [], ["ab", "f", ""], ["aab", "fed", "b", "ab"]
    for _ in range(2):
        questions, passages = splade.term_weights(asked, told, Counts(), tmp_path)
        assert splade.sparse_scores(questions, passages).tolist() == [[3, 0, 1, 2], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert sorted(seen) == sorted({*asked, *told}), "each text is encoded once ever"


def test_a_sparse_ranker_stands_beside_the_others(monkeypatch):
    class Words:
        """Every word counts once, and a sea is a river too."""

        def __init__(self, name):
            self.name = name

        def encode(self, texts):
            return [splade.packed(np.array(["river" in t.lower() or "sea" in t.lower(), "brown" in t.lower()], np.float32)) for t in texts]

    monkeypatch.setattr(splade, "SparseEncoder", Words)
    questions, _, documents, pools, before = world()
    found = retrieval.rank(questions, documents, pools, Letters(), cache=None, more=["splade-tiny"])
    pd.testing.assert_frame_equal(found[found["ranker"] != "splade-tiny"].reset_index(drop=True), before)
    q6 = found.query("qid == 'q6' and scope == 'pooled' and ranker == 'splade-tiny'").set_index("doc_id")["score"]  # Which river is brown?
    assert q6.to_dict() == {"marl": 2, "sorrel": 1, "elmer": 1, "eel": 0, "bridge": 0, "bees": 0}


@pytest.mark.live
def test_the_real_model_finds_words_that_are_not_there_and_agrees_with_the_published_formula():
    try:
        folder = weights.locate("splade-tiny")
    except weights.WeightsMissing as error:
        pytest.skip(str(error))
    encoder, texts = splade.SparseEncoder("splade-tiny"), ["Which river flows through the capital of Portugal?", "Eels are long fish. " * 80]
    found = splade.unpacked(encoder.encode(texts), 30522).toarray()
    assert found == pytest.approx(published(folder, texts, splade.LENGTH), abs=1e-5)
    words = dict(encoder.words(texts[0]))
    assert words["portugal"] > words["portuguese"] > 0 and "portuguese" not in texts[0].lower()


def test_a_model_without_a_masked_language_head_is_one_clear_error_and_not_a_head_drawn_at_random(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    tiny_base(tmp_path)
    encoder = splade.SparseEncoder(str(tmp_path))
    for _ in range(2):  # a second try must not find a model half loaded
        with pytest.raises(weights.WeightsError, match="could not be loaded: no BERT with a masked-language head"):
            encoder.encode(["eels"])
