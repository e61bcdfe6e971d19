"""Self-information of snippets: how little a small language model expected each token, its passage read from the start (Selective Context).

Each passage is read once, whole, and what was found is kept in the store by the passage and its snippets' spans (SPEC 5).
"""
from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pandas as pd

from lib import readers
from lib.reader_spec import full_spec
from lib.retrieval import passage
from lib.store import Store, entry_key
from lib.whole import is_number, is_whole

log = logging.getLogger(__name__)
READER = {"model": "smollm2-135m", "precision": "fp32"}
BATCH = 8

Unit = tuple[str, tuple[tuple[int, int], ...]]  # a passage with its title, and the spans of its snippets in it


def surprise_group(spec: Mapping[str, Any] = READER) -> dict[str, Any]:
    """The store's group of self-information: everything but passage and spans that decides it."""
    full = full_spec(spec)
    return {"kind": "self_information", "decoding": {"strategy": "teacher_forced", "context": "the passage from its title on"},
            **{field: full[field] for field in ("model", "revision", "precision")}}


def units(snippets: pd.DataFrame, documents: pd.DataFrame) -> dict[tuple[str, str], Unit]:
    """(dataset, doc_id) -> the passage and its snippets' spans in order; ``snippets``: dataset, doc_id, start, end; repeats count once."""
    told = {(d.dataset, d.doc_id): (d.title if isinstance(d.title, str) else "", d.text) for d in documents.itertuples()}
    made = {}
    for key, rows in snippets.groupby(["dataset", "doc_id"]):
        title, text = told[key]
        ahead = len(passage(title, ""))
        spans = sorted({(int(a) + ahead, int(b) + ahead) for a, b in zip(rows["start"], rows["end"])})
        made[key] = (passage(title, text), tuple(spans))
    return made


def surprise_keys(wanted: Mapping[Any, Unit], spec: Mapping[str, Any] = READER) -> list[str]:
    """The store's keys, without repeats: what ``Store.export`` is handed."""
    group = surprise_group(spec)
    return list(dict.fromkeys(entry_key(group, _told(unit)) for unit in wanted.values()))


def _told(unit: Unit) -> list:
    return [unit[0], [list(span) for span in unit[1]]]


def surprises(snippets: pd.DataFrame, documents: pd.DataFrame, store: Store, spec: Mapping[str, Any] = READER, reader: Any = None) -> pd.Series:
    """Mean self-information of a token (nats) of each row of ``snippets`` (dataset, doc_id, start, end), index kept.

    ``reader`` is an open reader to use instead of opening ``spec``'s; stored passages load none. 0 for a snippet without a token of its own. Raises
    StoreError for what is stored and no self-information.
    """
    group, wanted = surprise_group(spec), units(snippets, documents)
    keys = {unit: entry_key(group, _told(unit)) for unit in wanted.values()}
    spans = {key: len(unit[1]) for unit, key in keys.items()}
    values = store.get_sound(group, keys.values(), lambda key, found: _sound(found, spans[key]))
    missing = sorted((u for u, k in keys.items() if k not in values), key=lambda u: (-len(u[0]), u))
    log.info("%s: %d passages, %d to read", group["model"], len(keys), len(missing))
    if missing:
        with nullcontext(reader) if reader is not None else readers.open_reader(spec) as ready:
            for start in range(0, len(missing), BATCH):
                batch = missing[start:start + BATCH]
                new = {keys[u]: found for u, found in zip(batch, self_information(ready, batch), strict=True)}
                store.put_many(group, new)
                values.update(new)
    mean = {}
    for key, (unit, title) in _titled(wanted, documents).items():
        ahead = len(passage(title, ""))
        for (a, b), (total, n) in zip(unit[1], values[keys[unit]], strict=True):
            mean[*key, a - ahead, b - ahead] = total / n if n else 0.0
    places = zip(snippets["dataset"], snippets["doc_id"], snippets["start"], snippets["end"])
    return pd.Series([mean[d, i, int(a), int(b)] for d, i, a, b in places], index=snippets.index, dtype=float)


def _sound(found: Any, spans: int) -> bool:
    """Whether a stored value is [nats, number of tokens] of each of so many spans."""
    listed = isinstance(found, list) and len(found) == spans and all(isinstance(pair, list) and len(pair) == 2 for pair in found)
    return listed and all(is_number(nats) and is_whole(n, 0) for nats, n in found)


def _titled(wanted: Mapping[tuple[str, str], Unit], documents: pd.DataFrame) -> dict[tuple[str, str], tuple[Unit, str]]:
    titles = {(d.dataset, d.doc_id): d.title if isinstance(d.title, str) else "" for d in documents.itertuples()}
    return {key: (unit, titles[key]) for key, unit in wanted.items()}


def self_information(reader: Any, batch: Sequence[Unit]) -> list[list[list[float]]]:
    """For each passage and span: [sum of -log p (nats, six digits) of the span's tokens, their number]; the first token of all has no prediction.

    A token belongs to the span in which it ends. ``reader``: a ``readers_hf.HuggingFaceReader``.
    """
    import torch

    read = [reader.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True) for text, _ in batch]
    longest = max(len(r["input_ids"]) for r in read)
    ids = torch.tensor([r["input_ids"] + [0] * (longest - len(r["input_ids"])) for r in read], device=reader.model.device)
    mask = torch.tensor([[1] * len(r["input_ids"]) + [0] * (longest - len(r["input_ids"])) for r in read], device=reader.model.device)
    with torch.inference_mode():
        logits = reader.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        found = []
        for row, (r, (_, spans)) in enumerate(zip(read, batch)):
            n = len(r["input_ids"])
            told = logits[row, :n - 1].float()
            nats = (told.logsumexp(1) - told.gather(1, ids[row, 1:n, None])[:, 0]).double().tolist()
            ends = [b for _, b in r["offset_mapping"]][1:]
            inside = [[v for v, e in zip(nats, ends) if a < e <= b] for a, b in spans]
            found.append([[float(f"{sum(v):.6g}"), len(v)] for v in inside])
    return found
