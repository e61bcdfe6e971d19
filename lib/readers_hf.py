"""Causal language models of transformers as readers: fp32, bf16, fp16, NF4; CPU or CUDA (SPEC 5).

The fixed beginning of the prompts (instruction and two shots) is the same for all of them, so its key-value cache is
computed once and repeated over each batch; a batch then costs only contexts and questions. That is done only where
tokenising beginning and rest apart gives the tokens of the whole, and where attention is not windowed.
"""
from __future__ import annotations

import copy
import gc
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lib import teacher_forcing
from lib.reader_spec import Generation, ReaderError, full_spec, prompt_prefixes
from lib.teacher_forcing import pad_left
from lib.weights import REGISTRY, locate

log = logging.getLogger(__name__)
_open: list[HuggingFaceReader] = []  # at most one: two models together run out of memory


class HuggingFaceReader:
    """A loaded model with its tokenizer; `generate` is greedy and stops at the first token with a newline."""

    def __init__(self, model: Any, tokenizer: Any, max_new_tokens: int = 16, prefixes: Sequence[str] = ()) -> None:
        self.model, self.tokenizer, self.max_new_tokens = model, tokenizer, max_new_tokens
        windowed = any("full" not in kind for kind in getattr(model.config, "layer_types", None) or [])
        self.prefixes = {text: tokenizer(text)["input_ids"] for text in prefixes if text and not windowed}
        self.stops = stop_ids(model, tokenizer)
        self._caches: dict[tuple[int, ...], Any] = {}

    def generate(self, prompts: Sequence[str]) -> list[Generation]:
        """One Generation a prompt, all in one batch for each beginning; `text` keeps the stopping token."""
        import torch

        if self.model is None:
            raise ReaderError("this reader was closed (opening another one frees the first); open it again")
        tokens = [self.tokenizer(prompt)["input_ids"] for prompt in prompts]
        starts = [tuple(ids[:self._shared(prompt, ids)]) for prompt, ids in zip(prompts, tokens)]
        new: dict[int, list[int]] = {}
        with torch.inference_mode():
            for start in sorted(set(starts)):
                rows = [row for row, other in enumerate(starts) if other == start]
                new.update(zip(rows, self._continue([tokens[row] for row in rows], len(start))))
        texts = self.tokenizer.batch_decode([new[row] for row in range(len(prompts))], skip_special_tokens=True)
        return [Generation(text, len(tokens[row]), len(new[row])) for row, text in enumerate(texts)]

    def log_probabilities(self, prompts: Sequence[str], continuations: Sequence[str]) -> list[tuple[float, int]]:
        """(sum of log p, number of tokens) of each continuation after its prompt, read and not generated; natural logs."""
        if self.model is None:
            raise ReaderError("this reader was closed (opening another one frees the first); open it again")
        return teacher_forcing.log_probabilities(self, prompts, continuations)

    def _shared(self, prompt: str, ids: list[int]) -> int:
        """Number of leading tokens to take from a shared beginning, 0 where none fits."""
        for text, prefix in self.prefixes.items():
            if prompt.startswith(text):
                rest = self.tokenizer(prompt[len(text):], add_special_tokens=False)["input_ids"]
                return len(prefix) if prefix + rest == ids else 0
        return 0

    def _continue(self, batch: list[list[int]], shared: int) -> list[list[int]]:
        """New tokens of each row; rows that have stopped leave the batch."""
        import torch

        ids, mask = pad_left([row[shared:] for row in batch], self.model.device)
        mask = torch.cat([mask.new_ones(len(batch), shared), mask], dim=1)
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, shared:]
        cache = self._prefix_cache(batch[0][:shared], len(batch))
        alive, out = list(range(len(batch))), [[] for _ in batch]
        for step in range(self.max_new_tokens):
            result = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True,
                                logits_to_keep=1)  # logits of all places would be gigabytes
            best = result.logits[:, -1].argmax(-1)
            chosen = best.tolist()
            for row, token in zip(alive, chosen):
                out[row].append(token)
            keep = [i for i, token in enumerate(chosen) if token not in self.stops]
            if not keep or step + 1 == self.max_new_tokens:
                break
            if len(keep) < len(alive):
                index = torch.tensor(keep, device=mask.device)
                cache.batch_select_indices(index)
                best, mask, positions, alive = best[index], mask[index], positions[index], [alive[i] for i in keep]
            ids, positions = best[:, None], positions[:, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(keep), 1)], dim=1)
        return out

    def _prefix_cache(self, prefix: list[int], rows: int) -> Any:
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self.model.config)
        if not prefix:
            return cache
        if (key := tuple(prefix)) not in self._caches:
            self.model(input_ids=torch.tensor([prefix], device=self.model.device), cache=cache, use_cache=True, logits_to_keep=1)
            self._caches[key] = cache  # only now: a call that failed must not leave an empty one
        cache = copy.deepcopy(self._caches[key])
        cache.batch_repeat_interleave(rows)
        return cache

    def close(self) -> None:
        """Free the model's memory."""
        import torch

        self.model = None
        self._caches.clear()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def stop_ids(model: Any, tokenizer: Any) -> set[int]:
    """Ids that end an answer: the model's ends, special tokens (no text), every token whose text holds a newline."""
    ends = [end if isinstance(end, list) else [end] for end in (model.generation_config.eos_token_id, model.config.eos_token_id)]
    special = {id_ for id_, token in tokenizer.added_tokens_decoder.items() if token.special}
    texts = tokenizer.batch_decode([[id_] for id_ in range(len(tokenizer))])
    return {id_ for end in ends for id_ in end if id_ is not None} | special | {i for i, text in enumerate(texts) if "\n" in text}


def open_transformers(spec: Mapping[str, Any]) -> HuggingFaceReader:
    """Load a reader's model, freeing the one loaded before; raises WeightsMissing or ReaderError."""
    import torch
    from transformers import AutoModelForCausalLM

    full = full_spec(spec)
    while _open:
        _open.pop().close()
    if full["threads"]:
        torch.set_num_threads(full["threads"])
    settings = precision_settings(full["precision"], full["device"])
    where, revision = source_of(full)
    tokenizer = open_tokenizer(full)
    model = _loading(full, lambda: AutoModelForCausalLM.from_pretrained(where, revision=revision, **settings))
    model = model if full["precision"] == "nf4" else model.to(full["device"])
    log.info("reader %s %s loaded, revision %s", full["model"], full["precision"],
             full["revision"] or getattr(model.config, "_commit_hash", None) or "not known")
    _open.append(HuggingFaceReader(model.eval(), tokenizer, full["max_new_tokens"], prompt_prefixes()))
    return _open[0]


def open_tokenizer(spec: Mapping[str, Any]) -> Any:
    """A reader's own tokenizer without its model; raises WeightsMissing or ReaderError."""
    from transformers import AutoTokenizer

    full = full_spec(spec)
    where, revision = source_of(full)
    return _loading(full, lambda: AutoTokenizer.from_pretrained(where, revision=revision))


def source_of(full: Mapping[str, Any]) -> tuple[str, str | None]:
    """Folder or hub id to load from, and the hub's revision (None for a folder)."""
    if full["model"] in REGISTRY:
        return str(locate(full["model"])), None
    return full["model"], None if Path(full["model"]).is_dir() else full["revision"]


def precision_settings(precision: str, device: str) -> dict[str, Any]:
    """Keyword arguments of from_pretrained for a precision; raises ReaderError where NF4 cannot run."""
    import torch

    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ReaderError(f"device {device!r} was asked for, but torch finds no CUDA device; use device: cpu")
    if precision != "nf4":
        return {"dtype": {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]}
    try:
        import bitsandbytes  # noqa: F401  (transformers' own message asks for CUDA even where the package is what is missing)
    except (ImportError, OSError, RuntimeError) as error:
        raise ReaderError(f"precision nf4 needs a working bitsandbytes ({type(error).__name__}: {error}); "
                          "install it from environment.yml, or choose precision bf16") from error
    from transformers import BitsAndBytesConfig

    quantised = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    return {"dtype": torch.bfloat16, "quantization_config": quantised, "device_map": device}


def _loading(full: Mapping[str, Any], load: Any) -> Any:
    from safetensors import SafetensorError
    from transformers.utils import logging as bars

    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # a bar in a log or an executed notebook is noise
    try:
        return load()
    except (OSError, ValueError, SafetensorError) as error:  # the last: a cut or damaged weights file
        first = next(iter(str(error).splitlines()), "")
        raise ReaderError(f"reader model {full['model']!r} could not be loaded: {first}\nNames of lib.weights: {', '.join(REGISTRY)}; "
                          "a hub id must lie in the hub cache or be reachable (HF_HUB_OFFLINE unset)") from error
    finally:
        if shown:
            bars.enable_progress_bar()
