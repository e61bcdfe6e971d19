"""What the name of a pack tells without the settings table: whether it was packed from graph snippets. Names are made by ``settings.pack_id``."""
from __future__ import annotations

import re

import pandas as pd

_REPRESENTATION = re.compile(r"-\d+\.(chunk|ace)(?:\.\w+=.*)?$")  # scope-ranker-depth.representation, then what differs from the published setting


def representation(pack_id: str) -> str:
    """``chunk`` or ``ace``; ``none`` for what is no pack's name (closed book).

    >>> representation("own-dense-5.ace.tokens=a/b.ace"), representation("own-my.ace-5.chunk"), representation("none")
    ('ace', 'chunk', 'none')
    """
    found = _REPRESENTATION.search(str(pack_id))
    return found[1] if found else "none"


def on_graph(pack_ids: pd.Series) -> pd.Series:
    """Which of ``pack_ids`` are of graph snippets (representation ``ace``). Boolean, index kept."""
    graph = {p: representation(p) == "ace" for p in pack_ids.unique()}
    return pack_ids.map(graph).astype(bool)
