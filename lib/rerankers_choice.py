"""Which of two words a causal language model would write next: the question behind yes/no and A/B reranking (document 001, Part II; SPEC 11).

A model in bf16 gives logits in steps of an eighth at their usual size, and half of a list would be ties. So the last hidden state, which has its error in
each of hundreds of numbers, is multiplied with the two words' rows of the output matrix in fp32; the answer is the difference of the two logits.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from lib.reader_spec import ReaderError
from lib.teacher_forcing import pad_left


class Choice(NamedTuple):
    """Log of the odds of the first word against the second (nats); the two words' probability together, [0, 1]; tokens of the prompt."""

    log_odds: float
    mass: float
    n_tokens: int


def choices(reader: Any, prompts: Sequence[str], words: tuple[str, str]) -> list[Choice]:
    """One Choice a prompt, in order, one batch for each beginning that ``reader`` (a ``readers_hf.HuggingFaceReader``) shares.

    Raises ReaderError for a closed reader, and ValueError where a word is more than one token: odds of first pieces would compare other things.
    """
    import torch

    if reader.model is None:
        raise ReaderError("this reader was closed (opening another one frees the first); open it again")
    pair = [reader.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    if [len(ids) for ids in pair] != [1, 1] or pair[0] == pair[1]:
        raise ValueError(f"{words} are {[len(ids) for ids in pair]} tokens of this model; choose two words of one token each")
    tokens = [reader.tokenizer(prompt)["input_ids"] for prompt in prompts]
    starts = [tuple(ids[:reader._shared(prompt, ids)]) for prompt, ids in zip(prompts, tokens)]
    found: dict[int, Choice] = {}
    with torch.inference_mode():
        for start in sorted(set(starts)):
            rows = [row for row, other in enumerate(starts) if other == start]
            found.update(zip(rows, _chosen(reader, [tokens[row] for row in rows], len(start), pair[0] + pair[1])))
    return [found[row] for row in range(len(prompts))]


def _chosen(reader: Any, batch: list[list[int]], shared: int, pair: list[int]) -> list[Choice]:
    import torch

    ids, mask = pad_left([row[shared:] for row in batch], reader.model.device)
    mask = torch.cat([mask.new_ones(len(batch), shared), mask], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, shared:]
    cache, head, last = reader._prefix_cache(batch[0][:shared], len(batch)), reader.model.get_output_embeddings(), []
    hook = head.register_forward_pre_hook(lambda _, given: last.append(given[0]))
    try:
        logits = reader.model(input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1].float()
    finally:
        hook.remove()
    hidden = last[-1][:, -1].float()
    exact = hidden @ head.weight[pair].float().T
    if head.bias is not None:
        exact = exact + head.bias[pair].float()
    odds = (exact[:, 0] - exact[:, 1]).tolist()
    mass = (torch.logsumexp(logits[:, pair], 1) - torch.logsumexp(logits, 1)).exp().tolist()
    if not all(map(math.isfinite, odds)):
        raise ReaderError("the model gave a logit that is no finite number: its precision is too low, or its weights are damaged")
    return [Choice(float(f"{o:.6g}"), float(f"{m:.3g}"), len(row)) for o, m, row in zip(odds, mass, batch, strict=True)]
