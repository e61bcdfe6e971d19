"""A tier's lists through packers and reader, and the tables that tell of it: what notebook 07 calls (document 001, viability test 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lib import downstream, downstream_gains, downstream_packs, downstream_reading, downstream_signs, retrieval, scores
from lib.declarations_downstream import DOWNSTREAM
from lib.encoders import Encoder
from lib.store import Store
from lib.vectors import CACHE
from lib.viability_sets import membership


class Made(NamedTuple):
    """``outcomes`` and ``contexts``: the tables downstream_outcomes and downstream_contexts (what a reader is asked about); ``texts``: every packed context;
    ``left_out``: {packer: reason}."""

    outcomes: pd.DataFrame
    contexts: pd.DataFrame
    texts: pd.DataFrame
    left_out: dict[str, str]


def made(
    lists: pd.DataFrame,
    gold: pd.DataFrame,
    questions: pd.DataFrame,
    documents: pd.DataFrame,
    firsts: Sequence[str],
    scope: str,
    block: Mapping[str, Any],
    encoder: Encoder | None = None,
    store: Store | None = None,
    cache: Path | None = CACHE,
) -> Made:
    """Pack the first passages of every list and read what the block ``downstream`` of the parameters names (``downstream.check``).

    ``lists``: the rankings table with the reranked lists; a list that is not there has no row. Raises ValueError for a block that cannot be.
    """
    block = downstream.check(block)
    names, left = downstream.packers_there(block["packers"])
    heads = downstream.heads(lists, gold, documents, firsts, scope, block["depths"])
    found = downstream_packs.packed(
        heads, questions, gold, documents, encoder or retrieval.encoder(block["encoder"]), names, block["budget"], block["setting"], cache
    )
    wanted = downstream_reading.chosen(found.outcomes, questions, block["read"], block["depths"][0])
    known = scores.committed() if wanted.any() else None
    outcomes = downstream_reading.answered(found.outcomes, found.contexts, wanted, questions, block["read"].get("reader"), store or Store(), known)
    return Made(outcomes, downstream_reading.to_read(found.outcomes, found.contexts, wanted), found.contexts, left)


def told(
    outcomes: pd.DataFrame, audit: pd.DataFrame, questions: pd.DataFrame, depth: int, tier: str, resamples: int = 10_000, seed: int = 0
) -> dict[str, pd.DataFrame]:
    """The tables downstream, downstream_contrasts, downstream_signs and downstream_agreement; without a row where nothing was packed.

    ``audit``: the table of that name, whose ``met`` says where the pool held the evidence asked for. Slices, signs and agreement are of ``depth`` alone.
    """
    if outcomes.empty:
        return {name: pd.DataFrame(columns=list(DOWNSTREAM[name]["columns"])) for name in DOWNSTREAM if DOWNSTREAM[name]["format"] == "csv"}
    slices, main = membership(questions), outcomes[outcomes["depth"] == depth]
    draws = {"tier": tier, "resamples": resamples, "seed": seed}
    return {
        "downstream": downstream_gains.means(outcomes, slices, depth, **draws),
        "downstream_contrasts": downstream_gains.contrasts(outcomes, downstream.evidence(audit), slices, depth, **draws),
        "downstream_signs": downstream_signs.signs(main, **draws),
        "downstream_agreement": downstream_signs.agreement(main, **draws),
    }
