"""How probable a reader finds a given answer after a prompt: stored like answers, so that a hit loads no model (SPEC 5 and 7)."""
from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from lib import readers
from lib.reader_spec import ReaderError, full_spec
from lib.store import Store, entry_key
from lib.whole import is_number, is_whole

log = logging.getLogger(__name__)
NEAR = 0.005  # nats a token


class Likelihood(NamedTuple):
    """Sum of the log-probabilities (natural logs) of an answer's tokens, and how many they are."""

    log_p: float
    n_tokens: int


def likelihood_group(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The store's group of a reader's log-probabilities: everything but prompt and answer that decides them."""
    full = full_spec(spec)
    return {"kind": "log_probability", "decoding": {"strategy": "teacher_forced", "answer": "after one space"},
            **{field: full[field] for field in ("model", "revision", "precision")}}


def likelihoods(pairs: Sequence[tuple[str, str]], spec: Mapping[str, Any], store: Store, batch_size: int = 16, reader: Any = None) -> list[Likelihood]:
    """The likelihood of each (prompt, answer), in order: stored ones first, the rest computed in batches of similar length and stored.

    Six significant digits are kept. ``reader`` is an open reader to use instead of opening one. Raises ReaderError for a backend that tells no
    log-probabilities, and what ``readers.open_reader`` raises.
    """
    group = likelihood_group(spec)
    keys = {pair: entry_key(group, list(pair)) for pair in map(tuple, pairs)}
    values = store.get_sound(group, keys.values(), _sound)
    missing = [pair for pair, key in keys.items() if key not in values]
    log.info("%s %s: %d answers to weigh, %d distinct, %d to run", group["model"], group["precision"], len(pairs), len(keys), len(missing))
    if missing:
        backend = full_spec(spec)["backend"]
        if reader is None and backend != "transformers":
            raise ReaderError(f"{group['model']}: {len(missing)} log-probabilities are not in the store, and backend {backend!r} tells none; "
                              "use backend transformers, or leave this reader out of the parameter 'scorers'")
        with nullcontext(reader) if reader is not None else readers.open_reader(spec) as ready:
            for batch in batches(missing, batch_size):
                found = ready.log_probabilities([p for p, _ in batch], [f" {a}" for _, a in batch])
                new = {keys[pair]: [float(f"{total:.6g}"), n] for pair, (total, n) in zip(batch, found, strict=True)}
                store.put_many(group, new)
                values.update(new)
    return [Likelihood(*values[keys[pair]]) for pair in map(tuple, pairs)]


def regenerate(pairs: Sequence[tuple[str, str]], spec: Mapping[str, Any], store: Store, n: int = 10, seed: int = 0, reader: Any = None) -> dict[str, Any]:
    """Compute a random sample of stored likelihoods live and compare: {n, same, agreement in [0, 1], differing}, as ``readers.regenerate`` does.

    The same: within ``NEAR`` nats a token, since a sum of thousands of products differs in its last digits between processors. Nothing is stored.
    Raises ReaderError where no pair is stored.
    """
    group = likelihood_group(spec)
    keys = {pair: entry_key(group, list(pair)) for pair in map(tuple, pairs)}
    stored = store.get_sound(group, keys.values(), _sound)
    known = sorted(pair for pair, key in keys.items() if key in stored)
    if not known:
        raise ReaderError(f"{group['model']} {group['precision']}: none of {len(keys)} answers has a stored log-probability to compare with")
    sample, live = random.Random(seed).sample(known, min(n, len(known))), {}
    with nullcontext(reader) if reader is not None else readers.open_reader({**spec, "backend": "transformers"}) as ready:
        for batch in batches(sample, 16):
            live.update(zip(batch, ready.log_probabilities([p for p, _ in batch], [f" {a}" for _, a in batch]), strict=True))
    differing = [(pair, stored[keys[pair]], list(live[pair])) for pair in sample
                 if abs(stored[keys[pair]][0] - live[pair][0]) > NEAR * live[pair][1] or stored[keys[pair]][1] != live[pair][1]]
    same = len(sample) - len(differing)
    return {"n": len(sample), "same": same, "agreement": same / len(sample), "differing": differing}


def _sound(_: str, found: object) -> bool:
    """Whether a stored value is [log-probability, number of tokens]."""
    return isinstance(found, list) and len(found) == 2 and is_number(found[0]) and is_whole(found[1], 0)


def batches(pairs: Sequence[tuple[str, str]], batch_size: int) -> list[list[tuple[str, str]]]:
    """Pairs of up to ``batch_size`` distinct prompts of similar length, longest first; what comes with one prompt stays together.

    >>> batches([("a", "x"), ("bb", "x"), ("a", "y")], 1)
    [[('bb', 'x')], [('a', 'x'), ('a', 'y')]]
    """
    by_prompt: dict[str, list[tuple[str, str]]] = {}
    for pair in sorted(set(pairs)):
        by_prompt.setdefault(pair[0], []).append(pair)
    ordered = sorted(by_prompt, key=lambda prompt: (-len(prompt), prompt))  # equal lengths by text: batches do not depend on the order given
    return [[pair for prompt in ordered[start:start + batch_size] for pair in by_prompt[prompt]] for start in range(0, len(ordered), batch_size)]
