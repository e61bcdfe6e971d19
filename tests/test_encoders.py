"""Static vectors by hand, and which encoder a name stands for."""
import numpy as np
import pytest
from safetensors.numpy import save_file

from lib import encoders, retrieval, weights
from lib.weights import REGISTRY, Weights, WeightsMissing

TABLE = np.array([[0, 0], [3, 0], [0, 4], [1, 1]], np.float16)
VOCABULARY = {"?": 0, "eel": 1, "sea": 2, "bee": 3}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A registered static model of four words in two dimensions, told by a tokenizer that pads and cuts as it should not."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder = tmp_path / "weights" / "toy"
    folder.mkdir(parents=True)
    save_file({"embedding.weight": TABLE}, folder / "toy.safetensors")
    words = Tokenizer(WordLevel(VOCABULARY, unk_token="?"))
    words.pre_tokenizer = Whitespace()
    words.save(str(folder / "toy_tokenizer_config.json"))
    monkeypatch.setitem(REGISTRY, "toy", Weights("toy/hub", None, (), "", "0" * 64, "static", "MIT", 0.0))
    monkeypatch.setattr(weights, "locate", lambda name, cache=None: folder)
    return encoders.encoder("toy")


def test_a_static_vector_is_the_unit_mean_of_its_pieces(toy):
    found = toy.encode(["eel sea", "eel eel sea", "bee", ""])
    expected = [np.array([1.5, 2]) / 2.5, np.array([6, 4]) / np.hypot(6, 4), np.array([1, 1]) / np.sqrt(2), [0, 0]]
    assert found.dtype == np.float32 and found == pytest.approx(np.array(expected), abs=1e-6)


def test_a_static_vector_knows_no_order_and_no_neighbours(toy):
    texts = ["eel sea bee", "bee sea eel", "sea", "eel " * 400 + "sea"]
    together = toy.encode(texts)
    assert (together[0] == together[1]).all()
    assert all((toy.encode([t])[0] == v).all() for t, v in zip(texts, together)), "no text depends on the batch it came in"
    assert together[3] == pytest.approx(np.array([1200, 4]) / np.hypot(1200, 4), abs=1e-6), "long texts are not cut"


def test_a_static_encoder_ranks_like_any_other(toy):
    vectors = retrieval.truncate(retrieval.embed(["eel", "", "sea eel"], toy, None))
    scores = retrieval.dense_scores(vectors[:1], vectors)
    assert scores[0] == pytest.approx([1, 0, 0.6]), "a text that says nothing is like no other"
    assert encoders.mean_rows(TABLE, []).shape[0] == 0


@pytest.mark.parametrize("name, kind", [("wordllama", "StaticEncoder"), ("minilm", "SentenceEncoder"), ("me/encoder", "SentenceEncoder")])
def test_a_name_stands_for_one_kind_of_encoder(name, kind):
    made = retrieval.encoder(name)
    assert type(made).__name__ == kind and made.name == name


@pytest.mark.parametrize("name", ["splade-tiny", "smollm2-135m", "en_core_web_sm"])
def test_registered_weights_that_are_no_encoder_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} .*makes no vectors of a text; encoders are minilm, wordllama"):
        retrieval.encoder(name)


@pytest.mark.live
def test_the_real_static_vectors_mean_something():
    try:
        near, same, far = encoders.encoder("wordllama").encode(["A river in Wales.", "The longest Welsh stream", "He was paid for the goal"])
    except WeightsMissing as error:
        pytest.skip(str(error))
    assert near.shape == (256,) and np.linalg.norm(near) == pytest.approx(1, abs=1e-5)
    assert near @ same > near @ far + 0.2
