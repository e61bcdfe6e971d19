"""The cross-encoder itself: tokens of two texts in, one logit out (SPEC 11).

A BERT reads [CLS] first [SEP] second [SEP], so that each word of one text attends to the other. On top stands BERT's usual classifier of the
first token and, added to it, a linear layer of two features of the read tokens: how near each token of the first text is to its best token of
the second (mean of the highest cosines), and how near the two mean vectors are. The classifier alone, the usual cross-encoder, was tried and
learnt nothing from 4,800 pairs (its loss stayed that of the base rate): MiniLM became a sentence encoder by comparing means, and what its first
token should say it would have to learn from nothing.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from lib.weights import loading

LEAST_PASSAGE = 16  # tokens of the second text that stay beside a long first one
LONGEST = 512       # places that BERT has
START = (10.0, 5.0, -12.35)  # weights of the two features and their constant before training: MiniLM's means 0.70 and 0.83 give a logit of -1.2
Pair = tuple[str, str]


@cache
def matcher() -> type:
    """The model's class (made here, so that importing this module does not import torch)."""
    import torch
    from transformers import BertForSequenceClassification
    from transformers.modeling_outputs import SequenceClassifierOutput

    class PairMatcher(BertForSequenceClassification):
        """BERT's classifier plus a linear layer on how well the tokens of the two texts match."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.match = torch.nn.Linear(2, 1)
            self.post_init()

        def forward(self, input_ids: Any, token_type_ids: Any, attention_mask: Any) -> SequenceClassifierOutput:
            read = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            first, second = (1 - token_type_ids) * attention_mask, token_type_ids * attention_mask
            logits = self.classifier(self.dropout(read.pooler_output)) + self.match(features(read.last_hidden_state, first, second))
            return SequenceClassifierOutput(logits=logits)

    return PairMatcher


def features(tokens: Any, first: Any, second: Any) -> Any:
    """(pairs, 2): mean over first-text tokens of their highest cosine with a second-text token; cosine of the two texts' mean vectors.

    ``tokens`` is (pairs, places, numbers), ``first`` and ``second`` are masks (pairs, places) of 0 and 1.
    """
    import torch

    unit = torch.nn.functional.normalize(tokens, dim=-1)
    cosines = (unit @ unit.transpose(1, 2)).masked_fill(second[:, None, :] == 0, -2.0)
    best = (cosines.amax(dim=2) * first).sum(dim=1) / first.sum(dim=1)
    means = [(tokens * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True) for mask in (first, second)]
    return torch.stack([best, torch.nn.functional.cosine_similarity(*means)], dim=1)


def usable(pair: Pair) -> bool:
    """Whether both texts of a pair say something; a missing text is no text.

    >>> usable(("eels?", " ")), usable(("eels?", None)), usable(("eels?", "Eels."))
    (False, False, True)
    """
    return all(isinstance(text, str) and text.strip() for text in pair)


class CrossEncoder:
    """A loaded model with its tokenizer (of the library ``tokenizers``)."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model, self.tokenizer, self.max_length = model.eval(), tokenizer, max_length

    def score(self, pairs: Sequence[Pair], batch_size: int = 32) -> list[float]:
        """Logits in the order given; batches are made of pairs of similar length, NaN for a pair without a text."""
        import torch

        places = [i for i, pair in enumerate(pairs) if usable(pair)]
        encoded = encode_pairs(self.tokenizer, [pairs[i] for i in places], self.max_length)
        order = sorted(range(len(places)), key=lambda i: (-len(encoded[i][0]), encoded[i]))
        scores = [math.nan] * len(pairs)
        with torch.inference_mode():
            for start in range(0, len(order), batch_size):
                batch = order[start:start + batch_size]
                logits = self.model(**padded([encoded[i] for i in batch])).logits[:, 0]
                for i, logit in zip(batch, logits.tolist()):
                    scores[places[i]] = logit
        return scores


def encode_pairs(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> list[tuple[list[int], int]]:
    """[CLS] first [SEP] second [SEP] as token ids, and how many of them belong to the first text.

    Only the second text is cut; where the first leaves it fewer than 16 tokens of ``max_length``, the pair grows beyond. Raises ValueError
    for a first text that BERT's 512 places cannot hold.
    """
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first, second = ([e.ids for e in tokenizer.encode_batch([pair[i] for pair in pairs], add_special_tokens=False)] for i in (0, 1))
    made = []
    for (text, _), a, b in zip(pairs, first, second, strict=True):
        room = max(max_length - 3 - len(a), LEAST_PASSAGE)
        if len(a) + room + 3 > LONGEST:
            raise ValueError(f"a question has {len(a)} tokens, at most {LONGEST - LEAST_PASSAGE - 3} fit beside a passage: {text[:60]!r}...; shorten it")
        made.append(([cls, *a, sep, *b[:room], sep], len(a) + 2))
    return made


def padded(batch: Sequence[tuple[Sequence[int], int]]) -> dict[str, Any]:
    """A batch of ``encode_pairs`` as the model's tensors, padded to its longest pair: input_ids, token_type_ids, attention_mask."""
    import torch

    longest = max(len(ids) for ids, _ in batch)
    rows = [([*ids, *[0] * (longest - len(ids))], [0] * n + [1] * (len(ids) - n) + [0] * (longest - len(ids)), [1] * len(ids) + [0] * (longest - len(ids)))
            for ids, n in batch]
    return {name: torch.tensor([row[i] for row in rows]) for i, name in enumerate(("input_ids", "token_type_ids", "attention_mask"))}


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer.json of a folder, neither cutting nor padding."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def load_model(folder: Path) -> Any:
    """The matcher of a trained folder, in fp32; raises WeightsError where it cannot be loaded."""
    import torch

    with loading(folder.name), quiet():
        return matcher().from_pretrained(str(folder), num_labels=1, dtype=torch.float32)


def start_model(folder: Path) -> Any:
    """A matcher on the BERT in ``folder``, before training: its score is that of the two features, the classifier adds nothing yet."""
    import torch

    model = load_model(folder)
    with torch.no_grad():
        model.match.weight.copy_(torch.tensor([START[:2]]))
        model.match.bias.copy_(torch.tensor(START[2:]))
        model.classifier.weight.zero_()
        model.classifier.bias.zero_()
    return model


@contextmanager
def quiet():
    """Transformers reports at length that the output layer is new, which is the point."""
    from transformers.utils import logging as noise

    before, bars = noise.get_verbosity(), noise.is_progress_bar_enabled()
    noise.set_verbosity_error()
    noise.disable_progress_bar()
    try:
        yield
    finally:
        noise.set_verbosity(before)
        if bars:
            noise.enable_progress_bar()


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
