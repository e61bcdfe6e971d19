"""What two arms alone look at, filled in where they are asked for: the learned chance (``tuned``) and the self-information (``selective``)."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import rivals_surprise, tuned
from lib.packers import Candidates
from lib.store import Store


def filled(c: Candidates, policies: Sequence[str], question: str, rows: pd.DataFrame, vectors: np.ndarray, asked: np.ndarray,
           titles: Mapping[str, str], surprise: Mapping[str, float]) -> Candidates:
    """``c`` with ``chance`` where ``tuned`` is among ``policies`` and ``surprise`` where ``selective`` is; else ``c`` as it is.

    ``rows`` (the snippets table) and ``vectors`` in one order, any; ``titles`` by doc_id; ``surprise`` by snippet_id. Raises what ``tuned.chances`` raises.
    """
    found = {}
    if "tuned" in policies:
        told = tuned.chances(question, rows.assign(title=rows["doc_id"].map(titles)), vectors, asked)
        chance = dict(zip(rows["snippet_id"], told))
        found["chance"] = np.array([chance[i] for i in c.ids], float)
    if "selective" in policies:
        found["surprise"] = np.array([surprise.get(i, np.nan) for i in c.ids], float)
    return dataclasses.replace(c, **found) if found else c


def surprise_of(policies: Sequence[str], snippets: pd.DataFrame, documents: pd.DataFrame, store: Store | None = None) -> dict[str, float]:
    """snippet_id -> mean self-information, for the packer ``selective``; nothing is read where it is not among ``policies``."""
    if "selective" not in policies or snippets.empty:
        return {}
    once = snippets.drop_duplicates("snippet_id")
    return dict(zip(once["snippet_id"], rivals_surprise.surprises(once, documents, store or Store())))
