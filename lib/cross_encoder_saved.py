"""A cross-encoder's training on disk: the checkpoint of a run, and the finished folder, whole or not there (SPEC 5)."""
from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.cross_encoder_model import quiet, sha256_of
from lib.tables import write_atomically
from lib.weights import MANIFEST, damage, write_manifest

log = logging.getLogger(__name__)
TOLD = "training.json"  # in the trained folder: recipe, data, versions, loss


def finished(folder: Path) -> dict[str, Any] | None:
    """What training.json of a whole, undamaged folder tells; None where there is none."""
    if not (folder / MANIFEST).exists() or damage(folder):
        return None
    try:
        told = json.loads((folder / TOLD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and "run" in told else None


def keep(checkpoint: Path, run: str, model: Any, optimizer: Any, losses: Sequence[float], spent: float) -> None:
    """Everything a resumed run needs, in one file that nothing has to unpickle."""
    import torch
    from safetensors.torch import save_file

    tensors = {f"model.{name}": t.contiguous() for name, t in model.state_dict().items()}
    tensors |= {f"optimizer.{i}.{name}": t.contiguous() for i, state in optimizer.state_dict()["state"].items() for name, t in state.items()}
    tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
    write_atomically(checkpoint, lambda p: save_file(tensors, p, {"run": run, "spent": str(spent)}))


def resumed(checkpoint: Path, run: str, model: Any, optimizer: Any) -> tuple[list[float], float]:
    """Load a checkpoint of the same run into model and optimizer: losses so far and CPU seconds; ([], 0) where there is none."""
    from safetensors import SafetensorError, safe_open

    if not checkpoint.exists():
        return [], 0.0
    try:
        with safe_open(checkpoint, "pt") as file:
            about, tensors = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}
    except SafetensorError as error:
        log.info("%s cannot be read (%s): training starts anew", checkpoint.name, error)
        return [], 0.0
    if about.get("run") != run:
        log.info("%s is of another recipe, other data or versions: training starts anew", checkpoint.name)
        return [], 0.0
    model.load_state_dict({name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")})
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, place, key = name.split(".")
            state.setdefault(int(place), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    losses = tensors["losses"].tolist()
    log.info("resumed after step %d", len(losses))
    return losses, float(about["spent"])


def save(model: Any, base: Path, folder: Path, told: dict[str, Any]) -> None:
    """Write model, tokenizer, training.json and manifest beside ``folder`` and move them there in one step."""
    partial = folder.parent / f".{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with quiet():
            model.save_pretrained(partial)
        shutil.copy(base / "tokenizer.json", partial / "tokenizer.json")
        told["sha256"] = sha256_of(partial / "model.safetensors")
        (partial / TOLD).write_text(json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        write_manifest(partial)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
