"""The index of a corpus as a file: written whole, and read only where it is whole and sound; what is damaged counts as absent, for it can be built anew."""
from __future__ import annotations

import hashlib
import logging
import os
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Index(NamedTuple):
    """``phrases`` (f,) and which are ``names`` (f,) bool; ``contains`` (c, 2) passage and phrase; ``relations`` (r, 2) phrases and how many triples say so
    (r,); ``synonyms`` (s, 2) and their ``cosines`` (s,); ``facts`` (t, 2) phrases and ``told`` (t,) texts of distinct triples; ``order`` (n,): passage ->
    row of the documents."""

    order: np.ndarray
    phrases: np.ndarray
    names: np.ndarray
    contains: np.ndarray
    relations: np.ndarray
    said: np.ndarray
    synonyms: np.ndarray
    cosines: np.ndarray
    facts: np.ndarray
    told: np.ndarray


def write(path: Path, made: Index) -> None:
    """Write an index, its order aside, with a checksum; a killed writer leaves the old file. What cannot be written is logged: it can be built anew."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "wb") as file:
            np.savez_compressed(file, checksum=np.array(_sum(made)), **{name: value for name, value in made._asdict().items() if name != "order"})
        os.replace(partial, path)
    except OSError as error:
        logging.getLogger(__name__).warning("the graph %s cannot be kept (%s)", path.name, error)
    finally:
        if partial.exists():
            partial.unlink()


def read(path: Path, order: np.ndarray) -> Index | None:
    """The index kept in ``path`` for passages in ``order``; None where there is none, or none that is whole, which is logged."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            found = Index(order, **{name: kept[name] for name in Index._fields[1:]})
            told = str(kept["checksum"]) if "checksum" in kept else None  # files of old have none
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        logging.getLogger(__name__).warning("the kept graph %s cannot be read (%s) and is built anew", path.name, error)
        return None
    if not sound(found) or told not in (None, _sum(found)):
        logging.getLogger(__name__).warning("the kept graph %s was changed after it was written and is built anew", path.name)
        return None
    return found


def _sum(index: Index) -> str:
    """Over names, kinds, shapes and bytes of all arrays but the order."""
    told = hashlib.sha256()
    for name, value in index._asdict().items():
        if name != "order":
            told.update(f"{name} {value.dtype.kind} {value.shape}".encode())
            told.update("\n".join(value.tolist()).encode("utf-8", "surrogatepass") if value.dtype.kind == "U" else np.ascontiguousarray(value).tobytes())
    return told.hexdigest()


def sound(index: Index) -> bool:
    """Whether kinds, shapes and numbers of the arrays make a graph: every edge leads to a node, every weight is finite and not below 0."""
    n, f = len(index.order), len(index.phrases) if index.phrases.ndim == 1 else -1
    kinds = {"phrases": "U", "names": "b", "told": "U", "said": "f", "cosines": "f", "contains": "i", "relations": "i", "synonyms": "i", "facts": "i"}
    if any(getattr(index, name).dtype.kind != kind for name, kind in kinds.items()):
        return False
    pairs = {"contains": (n, f), "relations": (f, f), "synonyms": (f, f), "facts": (f, f)}
    if any((edges := getattr(index, name)).ndim != 2 or edges.shape[1] != 2 or ((edges < 0) | (edges >= most)).any() for name, most in pairs.items()):
        return False
    beside = ((index.names, index.phrases), (index.said, index.relations), (index.cosines, index.synonyms), (index.told, index.facts))
    weights = all(bool((np.isfinite(w) & (w >= 0)).all()) for w in (index.said, index.cosines))
    return weights and all(a.shape == (len(b),) for a, b in beside) and len(set(index.phrases.tolist())) == f
