"""Vectors of texts, each text encoded once ever: a cache that survives a kill, and the cut to fewer dimensions (SPEC 2)."""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lib.encoders import Encoder
from lib.store import StoreError, disk_errors
from lib.tables import ROOT
from lib.text import encoded
from lib.whole import check_whole

DIMENSIONS = 320  # document 000, section 5: vectors truncated to 320 dimensions
CACHE = ROOT / "data" / "cache" / "vectors"


def truncate(vectors: np.ndarray, dimensions: int = DIMENSIONS) -> np.ndarray:
    """The first ``dimensions`` coordinates, renormalised to length 1; raises ValueError for a vector with NaN or infinity, and for no whole number."""
    check_whole("dimensions", dimensions, 1)
    short = np.asarray(vectors, np.float32)[:, :dimensions]
    if not np.isfinite(short).all():
        at = int(np.flatnonzero(~np.isfinite(short).all(axis=1))[0])
        raise ValueError(f"vector {at} of {len(short)} holds NaN or infinity; delete data/cache/vectors and encode again")
    return short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-12)


def embed(texts: Sequence[str], encoder: Encoder, cache: Path | None = CACHE, batch: int = 256) -> np.ndarray:
    """Vectors of ``texts`` (n, d) float32, as ``remembered`` keeps them; raises StoreError where they are not all of one length."""
    rows = remembered(texts, encoder, cache, batch)
    if len(lengths := {len(v) for v in rows}) > 1:
        raise StoreError(f"vectors of {encoder.name} have {sorted(lengths)} numbers; {mend(cache)}")
    return np.stack(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)


def remembered(texts: Sequence[str], encoder: Any, cache: Path | None = CACHE, batch: int = 256) -> list[np.ndarray]:
    """What ``encoder`` makes of each text (1-d float32), each distinct text encoded once ever: saved after every batch, so a killed run resumes.

    Raises StoreError for a full disk or a damaged ``cache``, ValueError for half a character. Batches depend neither on the order of ``texts`` nor on when
    a run was killed, since an encoder's last bits follow its batch.
    """
    from diskcache import Cache
    from tqdm.auto import tqdm

    keys = [hashlib.sha256(encoded(f"{encoder.name}\n{t}")).hexdigest() for t in texts]
    known: dict[str, np.ndarray] = {}
    guard = _cache_errors(cache)
    with guard():
        # diskcache would start to forget at 1 GB
        store = Cache(str(cache), eviction_policy="none", size_limit=1 << 50) if cache else {}
        for k in dict.fromkeys(keys):
            if k in store:
                known[k] = _vector(store[k], cache)
    todo = [(k, t) for k, t in dict(zip(keys, texts)).items() if k not in known]
    todo.sort(key=lambda pair: (len(pair[1]), pair[1]))
    for i in tqdm(range(0, len(todo), batch), desc=f"embedding with {encoder.name}", disable=None if todo else True):
        part = todo[i:i + batch]
        made = {k: np.asarray(v, np.float32) for (k, _), v in zip(part, encoder.encode([t for _, t in part]), strict=True)}
        known.update(made)
        with guard(), store.transact() if cache else nullcontext():  # all of a batch or none
            for k, v in made.items():
                store[k] = v.tobytes()
    if cache:
        store.close()
    return [known[k] for k in keys]


def mend(cache: Path | None) -> str:
    """What to do about a damaged cache, for an error message."""
    shown = cache.relative_to(ROOT) if cache and cache.is_relative_to(ROOT) else cache
    return f"delete {shown} and run again: texts are encoded anew"


def _cache_errors(cache: Path | None) -> Callable:
    return partial(disk_errors, cache, mend(cache)) if cache else nullcontext


def _vector(value: object, cache: Path | None) -> np.ndarray:
    """A cached vector; raises StoreError where it is none."""
    if cache and not (isinstance(value, bytes) and value and len(value) % 4 == 0):
        raise StoreError(f"{cache.name}: a stored vector is damaged; {mend(cache)}")
    return np.frombuffer(value, np.float32)
