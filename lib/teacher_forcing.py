"""How probable a model of transformers finds given continuations: one pass over the prompts, one over what follows them (SPEC 7)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def log_probabilities(reader: Any, prompts: Sequence[str], continuations: Sequence[str]) -> list[tuple[float, int]]:
    """(sum of log p, number of tokens) of each continuation after its prompt; natural logs. ``reader``: a ``readers_hf.HuggingFaceReader``.

    A prompt that comes with several continuations is read once, and a beginning that the reader shares between prompts is not read again.
    Raises ValueError for unequal lengths or a continuation without a token.
    """
    import torch

    wanted = [reader.tokenizer(text, add_special_tokens=False)["input_ids"] for text in continuations]
    if len(prompts) != len(wanted) or not all(wanted):
        raise ValueError(f"got {len(prompts)} prompts and {len(wanted)} continuations: each prompt needs one, of one token at least")
    distinct = list(dict.fromkeys(prompts))
    tokens = {prompt: reader.tokenizer(prompt)["input_ids"] for prompt in distinct}
    starts = {prompt: tuple(tokens[prompt][:reader._shared(prompt, tokens[prompt])]) for prompt in distinct}
    sums: dict[int, float] = {}
    with torch.inference_mode():
        for start in sorted(set(starts.values())):
            group = [prompt for prompt in distinct if starts[prompt] == start]
            rows = [row for row, prompt in enumerate(prompts) if starts[prompt] == start]
            of = [group.index(prompts[row]) for row in rows]
            sums.update(zip(rows, _weigh(reader, [tokens[prompt] for prompt in group], len(start), of, [wanted[row] for row in rows])))
    return [(sums[row], len(ids)) for row, ids in enumerate(wanted)]


def _weigh(reader: Any, batch: list[list[int]], shared: int, of: list[int], wanted: list[list[int]]) -> list[float]:
    """Sum of log p of each of ``wanted`` after the row of ``batch`` that ``of`` names."""
    import torch

    ids, mask = pad_left([row[shared:] for row in batch], reader.model.device)
    mask = torch.cat([mask.new_ones(len(batch), shared), mask], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache = reader._prefix_cache(batch[0][:shared], len(batch))
    first = reader.model(input_ids=ids, attention_mask=mask, position_ids=positions[:, shared:], cache=cache, use_cache=True, logits_to_keep=1).logits
    index = torch.tensor(of, device=mask.device)
    found = _log_p(first[index], [row[:1] for row in wanted])
    longest = max(map(len, wanted)) - 1  # the last token of a continuation predicts nothing that is asked for
    if longest:
        cache.batch_select_indices(index)
        inputs = [row[:-1] + [0] * (longest - len(row) + 1) for row in wanted]
        real = torch.tensor([[1] * (len(row) - 1) + [0] * (longest - len(row) + 1) for row in wanted], device=mask.device)
        after = positions[index, -1:] + torch.arange(1, longest + 1, device=mask.device)
        rest = reader.model(input_ids=torch.tensor(inputs, device=mask.device), attention_mask=torch.cat([mask[index], real], dim=1),
                            position_ids=after, cache=cache, use_cache=True).logits
        found = [a + b for a, b in zip(found, _log_p(rest, [row[1:] for row in wanted]))]
    return found


def _log_p(logits: Any, tokens: list[list[int]]) -> list[float]:
    """Sum over a row's tokens of their log-probability; ``logits`` is (rows, places, vocabulary), places beyond a row's tokens are not looked at."""
    import torch

    # one row at a time: a softmax over all rows would hold the vocabulary twice more
    rows = [row[:len(ids)].float() for row, ids in zip(logits, tokens)]
    return [float((row.gather(1, torch.tensor([[i] for i in ids], device=row.device))[:, 0] - row.logsumexp(1)).double().sum()) if ids else 0.0
            for row, ids in zip(rows, tokens)]


def pad_left(rows: list[list[int]], device: Any) -> tuple[Any, Any]:
    """Token and mask tensors, padded on the left; masked places hold id 0, which nothing reads."""
    import torch

    pads = [[0] * (max(map(len, rows)) - len(row)) for row in rows]
    ids, mask = zip(*((pad + row, pad + [1] * len(row)) for pad, row in zip(pads, rows)))
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
