"""Reading prompts: each distinct one once, stored answers first, resumed after a stop. No model is loaded here."""
import pytest

from lib.reader_spec import PROMPTS, prompt_prefixes, read_template
from lib.readers import (
    Generation,
    ReaderError,
    answer_group,
    build_prompt,
    extract_answer,
    full_spec,
    open_reader,
    read_prompts,
    reader_id,
    regenerate,
)
from lib.store import Store, entry_key

SPEC = {"model": "smollm2-135m"}
NOWHERE = {"model": "no/such-model"}  # opening it would fail, so a pass proves that no model was opened


class Echo:
    """Answers with the prompt's last word, and remembers its batches."""

    def __init__(self, fail_at: int | None = None):
        self.batches, self.fail_at = [], fail_at

    def generate(self, prompts):
        if len(self.batches) == self.fail_at:
            raise ReaderError("stopped")
        self.batches.append(list(prompts))
        return [Generation(f" {prompt.split()[-1]}\nmore", len(prompt.split()), 2) for prompt in prompts]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def test_rows_come_in_the_order_of_the_prompts_and_repeated_ones_run_once(store):
    reader = Echo()
    rows = read_prompts(["x one", "a longer two", "x one", "three"], SPEC, store, reader=reader)
    assert [row["prediction"] for row in rows] == ["one", "two", "one", "three"]
    assert rows[0] == rows[2] == {"prompt_hash": entry_key(answer_group(SPEC), "x one"), "reader_id": reader_id(SPEC), "prediction": "one",
                                  "raw_text": " one\nmore", "n_prompt_tokens": 2, "n_new_tokens": 2}
    assert sum(map(len, reader.batches)) == 3


def test_a_stored_answer_opens_no_model(store):
    read_prompts(["a", "b"], NOWHERE, store, reader=Echo())
    rows = read_prompts(["b", "a"], NOWHERE, store)
    assert [row["prediction"] for row in rows] == ["b", "a"]


def test_a_recorded_answer_opens_no_model_and_needs_no_cache(store, tmp_path):
    read_prompts(["a", "b"], NOWHERE, store, reader=Echo())
    store.export(answer_group(NOWHERE))
    rows = read_prompts(["b"], {**NOWHERE, "backend": "replay"}, Store(tmp_path / "recorded", tmp_path / "none"))
    assert rows[0]["prediction"] == "b"


def test_only_what_is_missing_runs(store):
    read_prompts(["a", "b"], SPEC, store, reader=Echo())
    reader = Echo()
    read_prompts(["a", "b", "c"], SPEC, store, reader=reader)
    assert reader.batches == [["c"]]


@pytest.mark.parametrize("change", [{"precision": "bf16"}, {"max_new_tokens": 8}, {"revision": "main"}, {"model": "qwen2.5-coder-0.5b"}])
def test_a_changed_parameter_misses(store, change):
    read_prompts(["a"], SPEC, store, reader=Echo())
    reader = Echo()
    read_prompts(["a"], {**SPEC, **change}, store, reader=reader)
    assert reader.batches == [["a"]] and reader_id({**SPEC, **change}) != reader_id(SPEC)


@pytest.mark.parametrize("change", [{"threads": 1}, {"device": "cuda"}, {"backend": "replay"}])
def test_what_decides_no_answer_is_not_in_the_key(change):
    assert answer_group({**SPEC, **change}) == answer_group(SPEC)


def test_batches_hold_similar_lengths_and_do_not_depend_on_the_order_given(store, tmp_path):
    prompts = [f"{'word ' * (n * 7 % 10)}{n}" for n in range(10)]
    first, second = Echo(), Echo()
    read_prompts(prompts, SPEC, store, batch_size=4, reader=first)
    read_prompts(prompts[::-1], SPEC, Store(tmp_path / "r2", tmp_path / "s2"), batch_size=4, reader=second)
    lengths = [len(prompt) for batch in first.batches for prompt in batch]
    assert lengths == sorted(lengths, reverse=True) and list(map(len, first.batches)) == [4, 4, 2]
    assert first.batches == second.batches


def test_a_stop_in_the_third_batch_keeps_two(store):
    prompts = [f"p {n:02d}" for n in range(10)]
    with pytest.raises(ReaderError, match="stopped"):
        read_prompts(prompts, SPEC, store, batch_size=3, reader=Echo(fail_at=2))
    again = Echo()
    rows = read_prompts(prompts, SPEC, store, batch_size=3, reader=again)
    assert sum(map(len, again.batches)) == 4 and len(rows) == 10


def test_a_reader_that_loses_a_row_is_an_error(store):
    class Short:
        def generate(self, prompts):
            return [Generation("x", 1, 1)] * (len(prompts) - 1)

    with pytest.raises(ValueError):
        read_prompts(["a", "b"], SPEC, store, reader=Short())
    assert store.get(entry_key(answer_group(SPEC), "a")) is None


def test_no_prompts_no_model(store):
    assert read_prompts([], NOWHERE, store) == []


def test_a_replay_miss_says_what_to_run(store):
    with pytest.raises(ReaderError, match=r"smollm2-135m fp32: .*python -m lib.weights smollm2-135m.*make live.*make record"):
        read_prompts(["new"], {**SPEC, "backend": "replay"}, store)


def test_regenerating_with_the_same_reader_agrees(store):
    prompts = [f"p {n}" for n in range(60)]
    read_prompts(prompts, SPEC, store, reader=Echo())
    report = regenerate(prompts, SPEC, store, n=40, seed=1, reader=Echo())
    assert (report["n"], report["same"], report["agreement"], report["differing"]) == (40, 40, 1.0, [])


def test_regenerating_counts_what_differs_and_stores_nothing(store):
    class Other(Echo):
        def generate(self, prompts):
            return [Generation("seven" if prompt == "p 7" else answer.text, 1, 1)
                    for prompt, answer in zip(prompts, super().generate(prompts))]

    prompts = [f"p {n}" for n in range(10)]
    read_prompts(prompts, SPEC, store, reader=Echo())
    report = regenerate([*prompts, "never stored"], SPEC, store, n=40, reader=Other())
    assert (report["n"], report["same"], report["agreement"]) == (10, 9, 0.9)
    assert report["differing"] == [("p 7", "7", "seven")]
    assert read_prompts(["p 7"], SPEC, store)[0]["prediction"] == "7"


def test_the_regenerated_sample_depends_on_the_seed_alone(store):
    prompts = [f"p {n}" for n in range(60)]
    read_prompts(prompts, SPEC, store, reader=Echo())
    samples = []
    for seed, order in [(1, prompts), (1, prompts[::-1]), (2, prompts)]:
        reader = Echo()
        regenerate(order, SPEC, store, n=16, seed=seed, reader=reader)
        samples.append(reader.batches)
    assert samples[0] == samples[1] != samples[2]


def test_nothing_to_regenerate_is_an_error(store):
    with pytest.raises(ReaderError, match="none of 1 prompts has a stored answer"):
        regenerate(["a"], SPEC, store, reader=Echo())


@pytest.mark.parametrize("raw, answer", [(" Colby\n\nPassages:", "Colby"), ("Colby", "Colby"), ("\nColby", ""), ("", ""),
                                         ("  1874 \r\nx", "1874"), ("yes.\n", "yes.")])
def test_extraction_is_the_first_line_stripped(raw, answer):
    assert extract_answer(raw) == answer


def test_a_prompt_ends_where_the_answer_starts_and_keeps_the_context_as_it_is():
    prompt = build_prompt("A {question} in {braces}.\nB \\1.", "Who {context}?")
    assert prompt.endswith("Passages:\nA {question} in {braces}.\nB \\1.\nQuestion: Who {context}?\nAnswer:")


def test_the_closed_book_prompt_refuses_a_context():
    with pytest.raises(ValueError, match="shows no context"):
        build_prompt("something", "Who?", "closed_book")


def test_an_unknown_prompt_names_the_known_ones():
    with pytest.raises(ValueError, match="closed_book.*two_shot"):
        build_prompt("", "Who?", "three_shot")


@pytest.mark.parametrize("template", ["two_shot", "closed_book"])
def test_every_prompt_has_two_shots_and_a_prefix_that_all_its_prompts_share(template):
    text = read_template(template)
    assert text.count("Answer:") == 3 and text.count("{question}") == 1
    assert any(build_prompt("", "Who?", template).startswith(prefix) for prefix in prompt_prefixes())


def test_each_template_has_its_own_prefix():
    assert len(prompt_prefixes()) == len(list(PROMPTS.glob("*.txt")))


@pytest.mark.parametrize("spec, message", [
    ({}, "needs a model"),
    ({"model": "m", "temprature": 0}, "no field .'temprature'"),
    ({"model": "m", "backend": "vllm"}, "backend 'vllm' is none of"),
    ({"model": "m", "precision": "int8"}, "precision 'int8' does not go"),
    ({"model": "m", "precision": "served"}, "precision 'served' does not go with backend 'transformers'"),
    ({"model": "m", "backend": "endpoint", "precision": "fp32"}, "does not go with backend 'endpoint'"),
    ({"model": "m", "api": "responses"}, "api 'responses' is none of"),
    ("smollm2-135m", "a reader is a mapping such as .*got 'smollm2-135m'"),
    ({"model": ["m"]}, "needs a model"),
    *[({"model": "m", "max_new_tokens": n}, "max_new_tokens has to be a whole number of at least 1") for n in (0, -1, 1.5, "16", None, True)],
    *[({"model": "m", "threads": n}, "threads has to be a whole number of at least 1") for n in (0, "2", 1.0)],
    ({"model": "m", "concurrency": 0}, "concurrency has to be a whole number of at least 1"),
    ({"model": "m", "retries": -1}, "retries has to be a whole number of at least 0"),
    *[({"model": "m", "device": d}, "device .* is none of 'cpu'") for d in ("gpu", "cuda:x", 0, None)],
    ({"model": "m", "backend": "endpoint", "base_url": "localhost:8000/v1"}, "base_url 'localhost:8000/v1' is no address"),
])
def test_a_wrong_specification_is_said_early(spec, message):
    with pytest.raises(ValueError, match=message):
        full_spec(spec)


def test_an_endpoint_without_an_address_is_said_early():
    with pytest.raises(ReaderError, match="needs base_url"):
        open_reader({"model": "m", "backend": "endpoint"})


@pytest.mark.parametrize("backend", ["endpoint", "replay"])
def test_a_served_reader_is_identified_by_its_server_unless_a_revision_is_given(backend):
    def key(base_url, **more):
        return answer_group({"model": "m", "backend": backend, "precision": "served", "base_url": base_url, **more})["revision"]

    assert key("http://Me:secret@Host:8000/v1/") == key("https://host:8000/v1") == "host:8000/v1"
    assert len({key("http://host:8000/v1"), key("http://host:8001/v1"), key("http://other:8000/v1"), key("http://host:8000/v2")}) == 4
    assert key("http://host:8000/v1", revision="abc") == "abc"


def test_a_registered_reader_is_identified_by_its_bytes():
    assert answer_group(SPEC)["revision"].startswith("sha256:b179c952")
    assert answer_group({"model": "some/hub-id"})["revision"] is None
