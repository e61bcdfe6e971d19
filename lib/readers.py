"""Read packed contexts: prompts in, predictions out, each distinct prompt run once (SPEC 5).

A reader is a specification, a dict such as {"model": "smollm2-135m"} or {"backend": "endpoint", "model": ..., "base_url": ...}.
What the store holds is not run again and loads no model; a kill loses one batch at most.
"""
from __future__ import annotations

import logging
import random
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from lib.reader_spec import (
    Generation,
    Reader,
    ReaderError,
    answer_group,
    build_prompt,
    extract_answer,
    full_spec,
    prompt_prefixes,
    reader_id,
)
from lib.store import Store, entry_key
from lib.whole import is_whole

__all__ = ["Generation", "Reader", "ReaderError", "answer_group", "build_prompt", "count_prompt_tokens", "extract_answer",
           "full_spec", "open_reader", "prompt_prefixes", "read_prompts", "reader_id", "regenerate"]
log = logging.getLogger(__name__)


def open_reader(spec: Mapping[str, Any]) -> Any:
    """The reader of a specification, to be used in a `with`; opening a local model frees the one before.

    Raises ValueError for a wrong specification, WeightsMissing or ReaderError where it cannot be opened.
    """
    backend = full_spec(spec)["backend"]
    if backend == "transformers":
        from lib.readers_hf import open_transformers

        return open_transformers(spec)
    from lib.readers_api import EndpointReader, ReplayReader

    return EndpointReader(spec) if backend == "endpoint" else ReplayReader(spec)


def read_prompts(prompts: Sequence[str], spec: Mapping[str, Any], store: Store, batch_size: int = 16, progress: bool = True,
                 reader: Reader | None = None) -> list[dict[str, Any]]:
    """Answers to prompts, in order: stored ones first, the rest generated in batches of similar length and stored.

    Each row: prompt_hash (the store's key), reader_id, prediction, raw_text, n_prompt_tokens, n_new_tokens. `reader` is an open
    reader to use instead of opening one from `spec`. Raises what `open_reader` and the reader raise.
    """
    group, id_ = answer_group(spec), reader_id(spec)
    keys = {prompt: entry_key(group, prompt) for prompt in prompts}
    values = store.get_sound(group, keys.values(), _sound)
    missing = [prompt for prompt, key in keys.items() if key not in values]
    log.info("%s %s: %d prompts, %d distinct, %d to run", group["model"], group["precision"], len(prompts), len(keys), len(missing))
    if missing:
        with _opened(spec, reader) as ready:
            for batch in _batches(missing, batch_size, progress):
                new = {keys[prompt]: _value(answer) for prompt, answer in zip(batch, ready.generate(batch), strict=True)}
                store.put_many(group, new)
                values.update(new)
    rows = [_row(keys[prompt], id_, values[keys[prompt]]) for prompt in prompts]
    log.info("extraction shortened %d of %d raw texts", sum(row["prediction"] != row["raw_text"].strip() for row in rows), len(rows))
    return rows


def regenerate(prompts: Sequence[str], spec: Mapping[str, Any], store: Store, n: int = 40, seed: int = 0, batch_size: int = 16,
               reader: Reader | None = None) -> dict[str, Any]:
    """Run a random sample of stored prompts live and compare: {n, same, agreement in [0, 1], differing}.

    `differing` lists (prompt, stored prediction, live prediction). Nothing is stored. Raises ReaderError where no prompt is stored.
    """
    group = answer_group(spec)
    stored = store.get_sound(group, [entry_key(group, prompt) for prompt in set(prompts)], _sound)
    known = sorted(prompt for prompt in set(prompts) if entry_key(group, prompt) in stored)
    if not known:
        raise ReaderError(f"{group['model']} {group['precision']}: none of {len(prompts)} prompts has a stored answer to compare with")
    sample = random.Random(seed).sample(known, min(n, len(known)))
    live = {}
    with _opened({**spec, "backend": _live_backend(spec)}, reader) as ready:
        for batch in _batches(sample, batch_size, progress=False):
            live.update(zip(batch, ready.generate(batch), strict=True))
    pairs = [(prompt, extract_answer(stored[entry_key(group, prompt)]["raw_text"]), extract_answer(live[prompt].text)) for prompt in sample]
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    same = len(pairs) - len(differing)
    return {"n": len(pairs), "same": same, "agreement": same / len(pairs), "differing": differing}


def count_prompt_tokens(prompts: Sequence[str], spec: Mapping[str, Any]) -> list[int]:
    """Tokens of each prompt in the reader's own tokenizer, special ones included; loads no model."""
    from lib.readers_hf import open_tokenizer

    tokenizer = open_tokenizer(spec)
    return [len(tokenizer(prompt)["input_ids"]) for prompt in prompts]


def _opened(spec: Mapping[str, Any], reader: Reader | None) -> AbstractContextManager[Any]:
    return nullcontext(reader) if reader is not None else open_reader(spec)  # a reader that was handed in stays open


def _live_backend(spec: Mapping[str, Any]) -> str:
    return "endpoint" if full_spec(spec)["precision"] == "served" else "transformers"


def _batches(prompts: Sequence[str], batch_size: int, progress: bool):
    from tqdm import tqdm

    # longest first: memory runs out at once or never; equal lengths by text, so that batches do not depend on the order given
    ordered = sorted(prompts, key=lambda prompt: (-len(prompt), prompt))
    starts = range(0, len(ordered), batch_size)
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(ordered), unit="prompt", disable=quiet) as bar:
        for start in starts:
            batch = ordered[start:start + batch_size]
            yield batch
            bar.update(len(batch))
            if quiet and progress and (start // batch_size) % 20 == 19:
                log.info("%d of %d prompts read", start + len(batch), len(ordered))


def _value(answer: Generation) -> dict[str, Any]:
    value = asdict(answer)
    return {"raw_text": value.pop("text"), **value}


def _sound(_: str, value: object) -> bool:
    """Whether a stored value is an answer; an endpoint may not have told its counts."""
    counts = ("n_prompt_tokens", "n_new_tokens")
    return isinstance(value, dict) and isinstance(value.get("raw_text"), str) and all(value.get(c) is None or is_whole(value[c], 0) for c in counts)


def _row(key: str, id_: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"prompt_hash": key, "reader_id": id_, "prediction": extract_answer(value["raw_text"]), **value}
