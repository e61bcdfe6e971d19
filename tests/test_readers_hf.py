"""The transformers reader on a tiny random model made here, then on the real weights where they are at hand."""
import shutil
import sys

import pytest
from tiny_reader import save_tiny_reader

from lib.reader_spec import ReaderError, build_prompt, extract_answer, prompt_prefixes, read_template
from lib.readers import count_prompt_tokens, open_reader, read_prompts, regenerate
from lib.store import Store
from lib.weights import WeightsMissing, locate

torch = pytest.importorskip("torch")
CONTEXTS = ["Mina Holt was born in Ostley.\nThe mill stands on the river.", "The bridge is old.", "The north mill burned in 1921.\n" * 4, ""]
QUESTIONS = ["Where was Mina Holt born?", "How old is the bridge?", "When did the north mill burn, and who built it anew?", "Who?"]
PROMPTS = [build_prompt(context, question) for context, question in zip(CONTEXTS, QUESTIONS)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder of a random two-layer Qwen2 with a byte-level tokenizer, as a hub repository looks."""
    return save_tiny_reader(tmp_path_factory.mktemp("tiny"), [read_template("two_shot")] * 2 + CONTEXTS, 400)


def texts(reader, prompts):
    return [answer.text for answer in reader.generate(prompts)]


def reference(reader, prompt: str) -> str:
    """What transformers' own greedy generation gives for one prompt alone, with the same stops."""
    ids = torch.tensor([reader.tokenizer(prompt)["input_ids"]])
    with torch.inference_mode():
        out = reader.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=reader.max_new_tokens, do_sample=False,
                                    eos_token_id=sorted(reader.stops), pad_token_id=0)
    return reader.tokenizer.decode(out[0, ids.shape[1]:], skip_special_tokens=True)


def test_a_batch_with_a_shared_beginning_gives_what_generation_alone_gives(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        assert all(reader._shared(prompt, reader.tokenizer(prompt)["input_ids"]) > 100 for prompt in PROMPTS)
        assert texts(reader, PROMPTS) == [reference(reader, prompt) for prompt in PROMPTS]


def test_without_the_shared_beginning_the_answers_are_the_same(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        shared = texts(reader, PROMPTS)
        reader.prefixes = {}
        assert texts(reader, PROMPTS) == shared


def test_a_beginning_that_ends_inside_a_token_is_not_shared(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        whole = reader.tokenizer(PROMPTS[0])["input_ids"]
        for cut in range(1, 60):
            first, rest = reader.tokenizer(PROMPTS[0][:cut])["input_ids"], reader.tokenizer(PROMPTS[0][cut:])["input_ids"]
            reader.prefixes = {PROMPTS[0][:cut]: first}
            assert reader._shared(PROMPTS[0], whole) == (len(first) if first + rest == whole else 0)
        reader.prefixes = {"Answ": reader.tokenizer("Answ")["input_ids"]}
        assert reader._shared(PROMPTS[0], whole) == 0, "'Answer' is one token here"
        assert texts(reader, PROMPTS[:1]) == [reference(reader, PROMPTS[0])]


def test_beginnings_of_equal_length_are_not_mixed_up(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        prompts = [f"Question: Who {verb} the bridge?\nAnswer:" for verb in ("built", "saw")]
        reader._shared = lambda prompt, row: 5  # as if five tokens were a known beginning of each
        prompts += [f"Passages: {prompt}" for prompt in prompts]
        assert len({tuple(reader.tokenizer(prompt)["input_ids"][:5]) for prompt in prompts}) > 1
        assert texts(reader, prompts) == [reference(reader, prompt) for prompt in prompts]


def test_a_beginning_that_could_not_be_computed_is_computed_again(tiny, monkeypatch):
    with open_reader({"model": str(tiny)}) as reader:
        expected = texts(reader, PROMPTS)
        reader._caches.clear()
        with monkeypatch.context() as patch:
            patch.setattr(reader.model, "forward", lambda **inputs: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                reader.generate(PROMPTS)
        assert texts(reader, PROMPTS) == expected


def test_answers_depend_on_the_shared_beginning_and_on_the_context(tiny):
    """The two tests above could pass on a model that ignores what it reads; this one says it does not."""
    with open_reader({"model": str(tiny)}) as reader:
        bare = [prompt.removeprefix(prompt_prefixes()[0]) for prompt in PROMPTS[:3]]
        answers = texts(reader, PROMPTS[:3])
        assert len(set(answers)) == 3 and set(answers).isdisjoint(texts(reader, bare))


def test_a_stopped_row_leaves_the_batch_and_the_others_go_on(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        whole = reader.generate(PROMPTS)
        first = reader.tokenizer(PROMPTS[0])["input_ids"]
        with torch.inference_mode():
            token = int(reader.model(torch.tensor([first])).logits[0, -1].argmax())
        reader.stops = {token}  # the first row stops at once
        again = reader.generate(PROMPTS)
        assert again[0].n_new_tokens == 1 < whole[0].n_new_tokens
        assert [answer.text for answer in again] == [reference(reader, prompt) for prompt in PROMPTS]


def test_every_token_with_a_newline_stops_and_the_end_token_too(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        newline = set(reader.tokenizer("\n")["input_ids"]) | {0}
        assert newline <= reader.stops
        others = set(range(len(reader.tokenizer))) - reader.stops
        assert others and not any("\n" in reader.tokenizer.decode([token]) for token in others)


@pytest.mark.parametrize("limit", [1, 5])
def test_no_answer_is_longer_than_asked(tiny, limit):
    with open_reader({"model": str(tiny), "max_new_tokens": limit}) as reader:
        answers = reader.generate(PROMPTS)
    assert max(answer.n_new_tokens for answer in answers) == limit


@pytest.mark.parametrize("precision, dtype", [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_each_precision_loads_from_a_folder_and_answers(tiny, precision, dtype):
    with open_reader({"model": str(tiny), "precision": precision}) as reader:
        assert {weight.dtype for weight in reader.model.parameters()} == {dtype}
        assert all(answer.n_new_tokens > 0 for answer in reader.generate(PROMPTS))


@pytest.mark.filterwarnings("ignore")
def test_nf4_quantises_the_layers_and_answers(tiny):
    bitsandbytes = pytest.importorskip("bitsandbytes")
    with open_reader({"model": str(tiny), "precision": "nf4"}) as reader:
        layers = [module for module in reader.model.modules() if isinstance(module, bitsandbytes.nn.Linear4bit)]
        assert len(layers) == 14 and {layer.weight.quant_type for layer in layers} == {"nf4"}
        assert all(answer.n_new_tokens > 0 for answer in reader.generate(PROMPTS))


def test_nf4_without_bitsandbytes_is_one_clear_error(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(ReaderError, match="nf4 needs a working bitsandbytes .* or choose precision bf16"):
        open_reader({"model": str(tiny), "precision": "nf4"})


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_without_a_device_is_one_clear_error(tiny):
    with pytest.raises(ReaderError, match="finds no CUDA device; use device: cpu"):
        open_reader({"model": str(tiny), "device": "cuda"})


def test_a_hub_id_loads_from_the_hub_cache_at_its_revision(tiny, tmp_path, monkeypatch):
    commit = "1" * 40
    repository = tmp_path / "models--tiny--qwen2"
    shutil.copytree(tiny, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with open_reader({"model": "tiny/qwen2", "revision": commit}) as reader, open_reader({"model": str(tiny)}) as local:
        assert reader.model is None, "opening a second reader frees the first"
        expected = texts(local, PROMPTS)
    with open_reader({"model": "tiny/qwen2", "revision": commit}) as reader:
        assert texts(reader, PROMPTS) == expected


def test_a_model_that_is_nowhere_is_one_clear_error(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ReaderError, match=r"'no/such-model' could not be loaded(.|\n)*smollm2-135m(.|\n)*HF_HUB_OFFLINE"):
        open_reader({"model": "no/such-model"})


def test_a_second_reader_frees_the_first_which_then_says_so(tiny):
    first = open_reader({"model": str(tiny)})
    with open_reader({"model": str(tiny)}), pytest.raises(ReaderError, match="was closed"):
        first.generate(PROMPTS)


def test_prompt_tokens_are_the_readers_own(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        assert count_prompt_tokens(PROMPTS, {"model": str(tiny)}) == [answer.n_prompt_tokens for answer in reader.generate(PROMPTS)]


def test_a_windowed_model_shares_no_beginning(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        reader.model.config.layer_types = ["full_attention", "sliding_attention"]
        assert type(reader)(reader.model, reader.tokenizer, 16, prompt_prefixes()).prefixes == {}


def test_reading_and_regenerating_agree(tiny, tmp_path):
    store, spec = Store(tmp_path / "recorded", tmp_path / "store"), {"model": str(tiny)}
    rows = read_prompts(PROMPTS * 2, spec, store, batch_size=2)
    assert rows[:4] == rows[4:]
    assert regenerate(PROMPTS, {**spec, "backend": "replay"}, store, n=3)["agreement"] == 1.0


@pytest.mark.live
@pytest.mark.parametrize("name, born", [("smollm2-135m", None), ("qwen2.5-coder-0.5b", "Ostley")])
def test_real_weights_read_a_context_and_share_the_beginning(name, born):
    try:
        locate(name)
    except WeightsMissing as error:
        pytest.skip(str(error))
    with open_reader({"model": name}) as reader:
        shared = texts(reader, PROMPTS[:3])
        reader.prefixes, fast = {}, reader.prefixes
        assert len(fast) == len(prompt_prefixes())
        assert texts(reader, PROMPTS[:3]) == shared
    assert all(extract_answer(text) for text in shared)
    assert born is None or extract_answer(shared[0]) == born


def test_a_cut_weights_file_is_one_clear_error(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "cut")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ReaderError, match="could not be loaded: .*(incomplete|invalid|deserializing)"):
        open_reader({"model": str(folder)})


CONTINUATIONS = [" Ostley", " very old and wide", " 1921", " no"]


def plain_log_p(reader, prompt: str, continuation: str) -> tuple[float, int]:
    """One forward pass over prompt and continuation, alone and without any cache."""
    first, then = reader.tokenizer(prompt)["input_ids"], reader.tokenizer(continuation, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        logits = reader.model(torch.tensor([first + then]), use_cache=False).logits[0].log_softmax(-1)
    return sum(float(logits[len(first) - 1 + i, token]) for i, token in enumerate(then)), len(then)


def test_log_probabilities_are_those_of_a_plain_forward_pass(tiny):
    prompts = [*PROMPTS, build_prompt("", QUESTIONS[0], "closed_book"), PROMPTS[0], PROMPTS[0]]  # two beginnings; one prompt with three continuations
    continuations = [*CONTINUATIONS, " Ostley", " Ostley by the river", " x"]
    with open_reader({"model": str(tiny)}) as reader:
        found = reader.log_probabilities(prompts, continuations)
        for (total, n), prompt, continuation in zip(found, prompts, continuations):
            expected, tokens = plain_log_p(reader, prompt, continuation)
            assert total == pytest.approx(expected, rel=1e-4) and n == tokens and total < 0
        one = [len(reader.tokenizer(c, add_special_tokens=False)["input_ids"]) for c in continuations]
        assert min(one) < max(one), "continuations of several lengths stand in one batch"
        reader.prefixes = {}
        assert [total for total, _ in reader.log_probabilities(prompts, continuations)] == pytest.approx([total for total, _ in found], rel=1e-4)


def test_the_probabilities_of_all_next_tokens_add_up_to_one(tiny):
    with open_reader({"model": str(tiny)}) as reader:
        pieces = {i: reader.tokenizer.decode([i]) for i in range(reader.model.config.vocab_size)}
        single = [text for i, text in pieces.items() if reader.tokenizer(text, add_special_tokens=False)["input_ids"] == [i]]
        found = reader.log_probabilities([PROMPTS[0]] * len(single), single)
        total = sum(2.718281828459045 ** log_p for log_p, _ in found)
        assert len(single) > 0.5 * len(pieces) and 0.3 < total <= 1 + 1e-5


def test_what_a_reader_generates_is_what_it_finds_most_probable(tiny):
    with open_reader({"model": str(tiny), "max_new_tokens": 1}) as reader:
        said = reader.generate(PROMPTS[:1])[0].text
        others = [f" {word}" for word in ("Ostley", "mill", "1921", "north") if f" {word}" != said]
        one = [c for c in others if len(reader.tokenizer(c, add_special_tokens=False)["input_ids"]) == 1]
        if said and len(reader.tokenizer(said, add_special_tokens=False)["input_ids"]) == 1:
            found = reader.log_probabilities([PROMPTS[0]] * (1 + len(one)), [said, *one])
            assert found[0] == max(found)


def test_a_continuation_without_a_token_is_refused(tiny):
    with open_reader({"model": str(tiny)}) as reader, pytest.raises(ValueError, match="of one token at least"):
        reader.log_probabilities(PROMPTS[:1], [""])
    with open_reader({"model": str(tiny)}) as reader, pytest.raises(ValueError, match="got 2 prompts and 1 continuations"):
        reader.log_probabilities(PROMPTS[:2], [" a"])
    with pytest.raises(ReaderError, match="was closed"):
        reader.log_probabilities(PROMPTS[:1], [" a"])
