"""Log-probabilities of answers: stored once, never computed again, and checked live. No model is loaded here."""
from itertools import chain

import pytest

from lib import reading
from lib.likelihood import Likelihood, batches, likelihood_group, likelihoods, regenerate
from lib.reader_spec import ReaderError, answer_group
from lib.store import Store

SPEC = {"model": "smollm2-135m"}
PAIRS = [("Where was Mina Holt born?", "Ostley"), ("How old is the bridge, by its builder's own account?", "very old"), ("Where was Mina Holt born?", "in Ostley")]


class Weigher:
    """Gives each answer minus its length and its words; remembers what it was asked; stops at batch ``fail_at``."""

    def __init__(self, fail_at=None, shift=0.0):
        self.asked, self.fail_at, self.shift = [], fail_at, shift

    def log_probabilities(self, prompts, continuations):
        if len(self.asked) == self.fail_at:
            raise KeyboardInterrupt
        self.asked.append(list(zip(prompts, continuations)))
        return [(-len(c) - len(p) / 7 - self.shift, len(c.split())) for p, c in zip(prompts, continuations)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def test_each_pair_is_computed_once_and_comes_back_in_order(store):
    reader = Weigher()
    found = likelihoods([*PAIRS, PAIRS[0]], SPEC, store, reader=reader)
    assert found[0] == found[3] == Likelihood(float(f"{-7 - 25 / 7:.6g}"), 1) and [n for _, n in found] == [1, 2, 2, 1]
    assert sorted(chain(*reader.asked)) == sorted((p, f" {a}") for p, a in PAIRS), "an answer follows its prompt after one space"
    again = likelihoods(PAIRS[::-1], SPEC, store, reader=None)  # no reader: nothing is opened
    assert again == found[2::-1] and len(reader.asked) == 1


def test_six_digits_are_kept_so_that_a_record_has_the_same_bytes_each_time(store):
    likelihoods(PAIRS, SPEC, store, reader=Weigher(shift=1e-9))
    group = likelihood_group(SPEC)
    first = store.export(group).read_bytes()
    other = Store(store.recorded.parent / "r2", store.cache.parent / "s2")
    likelihoods(PAIRS, SPEC, other, reader=Weigher())
    assert other.export(group).read_bytes() == first and len(first.splitlines()) == 1 + len(PAIRS)


def test_a_killed_run_resumes(store):
    reader = Weigher(fail_at=1)
    with pytest.raises(KeyboardInterrupt):
        likelihoods(PAIRS, SPEC, store, batch_size=1, reader=reader)
    rest = Weigher()
    likelihoods(PAIRS, SPEC, store, batch_size=1, reader=rest)
    assert len(reader.asked) == 1 and sorted(chain(*reader.asked, *rest.asked)) == sorted((p, f" {a}") for p, a in PAIRS)


def test_model_and_number_format_decide_the_key_and_the_length_of_a_generation_does_not():
    group = likelihood_group(SPEC)
    assert group != likelihood_group({**SPEC, "precision": "bf16"}) and group != likelihood_group({"model": "qwen2.5-coder-0.5b"})
    assert group == likelihood_group({**SPEC, "max_new_tokens": 4}) and group["kind"] != answer_group(SPEC)["kind"]


def test_an_endpoint_tells_no_log_probabilities_and_says_what_to_do(store):
    spec = {"backend": "endpoint", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(ReaderError, match=r"3 log-probabilities are not in the store, and backend 'endpoint' tells none; .*parameter 'scorers'"):
        likelihoods(PAIRS, spec, store)
    assert likelihoods([], spec, store) == []


@pytest.mark.parametrize("size", [1, 2, 5])
def test_what_belongs_to_one_prompt_stays_in_one_batch(size):
    made = batches([*PAIRS, *PAIRS], size)
    assert sorted(chain(*made)) == sorted(PAIRS) and made == batches(PAIRS[::-1], size)
    of_prompt = [[i for i, b in enumerate(made) if any(p == prompt for p, _ in b)] for prompt, _ in PAIRS]
    assert all(len(places) == 1 for places in of_prompt) and all(len({p for p, _ in b}) <= size for b in made)
    lengths = [max(len(p) for p, _ in b) for b in made]
    assert lengths == sorted(lengths, reverse=True)


def test_a_live_check_tells_equal_from_changed(store, tmp_path, monkeypatch):
    likelihoods(PAIRS, SPEC, store, reader=Weigher())
    assert regenerate(PAIRS, SPEC, store, n=9, reader=Weigher(shift=0.004))["agreement"] == 1.0  # last digits differ between processors
    found = regenerate(PAIRS, SPEC, store, n=9, reader=Weigher(shift=0.1))
    assert (found["n"], found["same"]) == (3, 0) and found["differing"][0][2][0] == pytest.approx(found["differing"][0][1][0] - 0.1, abs=1e-4)
    with pytest.raises(ReaderError, match="none of 1 answers has a stored log-probability"):
        regenerate([("another prompt", "x")], SPEC, store, reader=Weigher())


def test_the_check_of_the_chain_passes_once_and_fails_when_values_changed(store, tmp_path, monkeypatch):
    from contextlib import nullcontext

    from lib import readers

    likelihoods(PAIRS, SPEC, store, reader=Weigher())
    reader = Weigher()
    monkeypatch.setattr(readers, "open_reader", lambda spec: nullcontext(reader))
    for _ in range(2):
        reading.check_likelihoods(PAIRS, SPEC, store, n=3, passed=tmp_path / "live")
    assert len(reader.asked) == 1, "the second was noted"
    reader.shift = 1.0
    with pytest.raises(RuntimeError, match="smollm2-135m: only 0 of 2 log-probabilities computed live equal the recorded ones"):
        reading.check_likelihoods(PAIRS, SPEC, store, n=2, passed=tmp_path / "live")
