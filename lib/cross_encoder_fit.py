"""Train a cross-encoder: seeded, one thread, fp32, resumable after a kill, saved whole or not at all (SPEC 5, 11).

The order of the batches and the random numbers of dropout follow from the seed and the number of the step alone, so that a run that was
killed and resumed ends in the weights of one that was not. Another machine's arithmetic may end in other bits: the card tells which ones.
"""
from __future__ import annotations

import hashlib
import logging
import math
import platform
import random
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lib.cross_encoder_model import START, encode_pairs, load_tokenizer, padded, sha256_of, start_model, usable
from lib.cross_encoder_saved import finished, keep, resumed, save
from lib.recorded import canonical
from lib.store import disk_errors

log = logging.getLogger(__name__)
AHEAD = 16              # batches whose pairs are sorted by length together: less padding, and still well mixed


@dataclass(frozen=True)
class Fit:
    """How to train: AdamW with linear warm-up (a share of all steps) and decay; lengths in tokens of the model."""

    seed: int = 0
    epochs: int = 1
    batch_size: int = 16
    learning_rate: float = 5e-5
    warm_up: float = 0.1
    weight_decay: float = 0.01
    max_length: int = 192
    checkpoint_steps: int = 50


class Trained(NamedTuple):
    """A trained folder, what its training.json tells, and the CPU seconds this call spent (0: it was there already)."""

    folder: Path
    told: dict[str, Any]
    cpu_seconds: float


def fit_of(settings: Mapping[str, Any]) -> Fit:
    """The training settings of a recipe; raises ValueError for an unknown name or a value that cannot be.

    >>> fit_of({"epochs": 2}).epochs
    2
    """
    known = {f.name: f for f in fields(Fit)}
    if unknown := set(settings) - set(known):
        raise ValueError(f"unknown training settings {sorted(unknown)}; there are {sorted(known)}")
    made = Fit(**settings)
    for name, least in (("seed", 0), ("epochs", 1), ("batch_size", 1), ("max_length", 32), ("checkpoint_steps", 1)):
        value = getattr(made, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be a whole number of {least} or more, got {value!r}")
    for name, low, high in (("learning_rate", 0, 1), ("warm_up", 0, 1), ("weight_decay", 0, 1)):
        value = getattr(made, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < high or name == "learning_rate" and value == 0:
            raise ValueError(f"{name} must lie in [{low}, {high}), got {value!r}; YAML reads 5e-5 as text, write 0.00005 or 5.0e-5")
    return made


def train(pairs: pd.DataFrame, base: Path, folder: Path, fit: Fit, facts: Mapping[str, Any] | None = None, progress: bool = True) -> Trained:
    """Train on pairs (text_a, text_b, label) from the model in ``base`` and save it to ``folder``; what is there already is not made again.

    ``facts`` (JSON) is told in training.json beside settings, versions and loss, and decides with them and the pairs what "the same" is.
    Raises ValueError for pairs that cannot teach, WeightsError for a base that cannot be loaded, StoreError for a full disk.
    """
    rows = _checked(pairs)
    told = {**(facts or {}), "training": asdict(fit), "start": list(START), "pairs": len(rows), "versions": versions()}
    told["run"] = hashlib.sha256(canonical([told, rows, sha256_of(base / "model.safetensors")]).encode()).hexdigest()
    if (known := finished(folder)) and known["run"] == told["run"]:
        return Trained(folder, known, 0.0)
    started, checkpoint = time.process_time(), folder.parent / f".{folder.name}.checkpoint.safetensors"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(folder.parent, f"delete {checkpoint.name} there"), _one_thread():
        model, losses, spent = _run(rows, base, fit, told["run"], checkpoint, progress)
        tenth = max(1, len(losses) // 10)
        told["loss"] = {"steps": len(losses), "first_tenth": _mean(losses[:tenth]), "last_tenth": _mean(losses[-tenth:])}
        save(model, base, folder, told)
        checkpoint.unlink(missing_ok=True)
    return Trained(folder, told, spent + time.process_time() - started)


def versions() -> dict[str, str]:
    """The versions that decide the last bits of trained weights."""
    import tokenizers
    import torch
    import transformers

    return {"python": platform.python_version(), "tokenizers": tokenizers.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


def batches(lengths: Sequence[int], fit: Fit) -> list[list[int]]:
    """The plan of a run: places of the pairs of each step; each epoch takes every pair once, neighbours in length together.

    >>> sorted(map(len, batches([5, 9, 7], Fit(batch_size=2))))
    [1, 2]
    """
    plan: list[list[int]] = []
    for epoch in range(fit.epochs):
        chance = random.Random(f"{fit.seed}:{epoch}")
        order = chance.sample(range(len(lengths)), len(lengths))
        reach, made = fit.batch_size * AHEAD, []
        for start in range(0, len(order), reach):
            near = sorted(order[start:start + reach], key=lambda i: (lengths[i], i))
            made += [near[i:i + fit.batch_size] for i in range(0, len(near), fit.batch_size)]
        chance.shuffle(made)
        plan += made
    return plan


def learning_rate(step: int, steps: int, fit: Fit) -> float:
    """Of step ``step`` (from 0): up from near 0 over the warm-up, down to near 0 at the end."""
    warm = max(1, round(fit.warm_up * steps))
    return fit.learning_rate * min((step + 1) / warm, (steps - step) / max(1, steps - warm + 1), 1.0)


def _checked(pairs: pd.DataFrame) -> list[tuple[str, str, int]]:
    if missing := {"text_a", "text_b", "label"} - set(pairs.columns):
        raise ValueError(f"training pairs need the columns text_a, text_b and label; {sorted(missing)} are missing, found {list(pairs.columns)}")
    rows = [(a, b, int(label)) for a, b, label in zip(pairs["text_a"], pairs["text_b"], pairs["label"])]
    if blank := sum(not usable(row[:2]) for row in rows):
        raise ValueError(f"{blank} of {len(rows)} training pairs have a missing or blank text; take them out")
    if {label for *_, label in rows} != {0, 1}:
        raise ValueError(f"training pairs need both labels, 0 and 1, got {sorted({label for *_, label in rows})} in {len(rows)} pairs")
    return rows


def _run(rows: Sequence[tuple[str, str, int]], base: Path, fit: Fit, run: str, checkpoint: Path, progress: bool) -> tuple[Any, list[float], float]:
    """The model after all steps, the loss of each, and the CPU seconds spent before a kill."""
    import torch
    from tqdm import tqdm

    encoded = encode_pairs(load_tokenizer(base), [row[:2] for row in rows], fit.max_length)
    plan, labels = batches([len(ids) for ids, _ in encoded], fit), torch.tensor([float(label) for *_, label in rows])
    quiet, started = not (progress and sys.stderr.isatty()), time.process_time()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(fit.seed)  # the new output layer
        model = start_model(base).train()
        optimizer = _optimizer(model, fit)
        losses, spent = resumed(checkpoint, run, model, optimizer)
        for step in tqdm(range(len(losses), len(plan)), initial=len(losses), total=len(plan), unit="step", disable=quiet):
            torch.manual_seed(fit.seed * 1_000_003 + step + 1)
            losses.append(_step(model, optimizer, [encoded[i] for i in plan[step]], labels[plan[step]], learning_rate(step, len(plan), fit)))
            if (step + 1) % fit.checkpoint_steps == 0 and step + 1 < len(plan):
                keep(checkpoint, run, model, optimizer, losses, spent + time.process_time() - started)
                if quiet and progress:
                    log.info("step %d of %d, mean loss of the last %d: %.3f", step + 1, len(plan), fit.checkpoint_steps, _mean(losses[-fit.checkpoint_steps:]))
    return model.eval(), losses, spent


def _step(model: Any, optimizer: Any, batch: Sequence[tuple[list[int], int]], labels: Any, rate: float) -> float:
    import torch

    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(**padded(batch)).logits[:, 0], labels)
    if not math.isfinite(loss.item()):
        raise ValueError(f"the training loss became {loss.item()}: lower learning_rate")
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return loss.item()


def _optimizer(model: Any, fit: Fit) -> Any:
    import torch

    matrices, rest = [p for p in model.parameters() if p.ndim > 1], [p for p in model.parameters() if p.ndim == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": fit.weight_decay}, {"params": rest, "weight_decay": 0.0}], lr=fit.learning_rate)


@contextmanager
def _one_thread():
    """Sums over several threads end in other bits on another machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _mean(values: Sequence[float]) -> float:
    return float(f"{sum(values) / len(values):.4g}")
