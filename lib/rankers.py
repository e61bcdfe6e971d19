"""Names of rankers: which there are, which a run may add, and what is wrong with a name that is none (SPEC 2)."""
from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from lib import encoders, weights

OURS = ("dense", "bm25", "hybrid")  # lists that every run makes
ITERATIVE = "iterative"             # notebook 01 adds it (lib.iterative)
SPARSE = "masked-lm"                # the kind of registered weights that give term weights
RANKS = (*encoders.VECTORS, SPARSE)


def registered() -> list[str]:
    """Registered weights that can rank: encoders and learned sparse rankers.

    >>> "wordllama" in registered(), "smollm2-135m" in registered()
    (True, False)
    """
    return [name for name, entry in weights.REGISTRY.items() if entry.kind in RANKS]


def known(name: str) -> bool:
    """Whether ``name`` can be a ranker's: ours, iterative, registered weights that rank, a folder, or what has the form of a hub id (owner/name).

    >>> known("hybrid"), known("wordlama"), known("BAAI/bge-small-en-v1.5")
    (True, False, True)
    """
    return name in (*OURS, ITERATIVE, *registered()) or (name not in weights.REGISTRY and _elsewhere(name))


def _elsewhere(name: str) -> bool:
    """A folder of one's own, or the form of a hub id."""
    return bool(name) and (Path(name).is_dir() or re.fullmatch(r"\w[\w.-]*/[\w.-]+", name) is not None)


def check_named(name: str, there: Collection[str], where: str) -> None:
    """Raise ValueError for a ranker that neither made a list of this run (``there``) nor is known; ``where`` says who names it."""
    if name not in there and not known(name):
        every = sorted({*there, *OURS, ITERATIVE, *registered()})
        near = difflib.get_close_matches(name, every, 1)
        raise ValueError(f"{where} names ranker {name!r}, and there is none of that name{f' (did you mean {near[0]}?)' if near else ''}; "
                         f"rankers are {', '.join(every)}, a folder or a hub id; mend it in params.yaml or in the parameters cell")


def check_more(more: Sequence[str]) -> None:
    """Raise ValueError unless ``more`` is a list of distinct names of models that can rank, none of them a list that is made anyway.

    >>> check_more(["wordllama"])
    """
    listed = isinstance(more, (list, tuple)) and all(isinstance(name, str) and name for name in more)
    if not listed or len(set(more)) < len(more) or set(more) & {*OURS, ITERATIVE}:
        raise ValueError(f"more_rankers must be a list of distinct names of encoders (such as wordllama, splade-tiny) beside {', '.join(OURS)} and "
                         f"{ITERATIVE}, which are made anyway, got {more!r}; {able()}")
    for name in more:
        if name in weights.REGISTRY and name not in registered():
            raise ValueError(f"more_rankers names {name} ({weights.REGISTRY[name].kind}), which makes no vectors of a text and cannot rank; {able()}")
        if not known(name):
            raise ValueError(f"more_rankers names {name!r}, which is not registered, no folder and no hub id (owner/name); {able()}")


def able() -> str:
    """What can rank, for an error message."""
    return f"{', '.join(registered())} can, or a folder or hub id of an encoder"
