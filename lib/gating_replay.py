"""What a reader makes of H's and of the reranked list's first passages, so that a gate's answers can be replayed (document 002, Tables 10 and 11).

Each question's first ``k`` passages of either list are packed into the reading budget by one packer and read once; what the gate hands on is then one of the
two texts. A skip to D has no text here, as in the document, and drops out of the covered questions.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lib import downstream_packs, downstream_reading, packers, reading, scores, settings
from lib.downstream import HEAD, OWN
from lib.encoders import Encoder
from lib.gating_sets import PLACES
from lib.ranking import QUESTION
from lib.reader_spec import full_spec
from lib.store import Store
from lib.vectors import CACHE
from lib.whole import check_whole

FIRST, RERANKED = "H", "R"
COLUMNS = [*QUESTION, "h", "rerank"]
MEASURES = ("f1", "em", "answer_in_context")
UNFIT = ("gold", "selective")  # they read the gold, or ask a model of every snippet
OPTIONS = ("reader", "k", "packer", "budget", "setting", "questions")


class Replay(NamedTuple):
    """``outcomes``: a row a question and list with f1, em, answer_in_context and reader; ``contexts``: what the reader is asked about."""

    outcomes: pd.DataFrame
    contexts: pd.DataFrame

    def values(self, measure: str = "f1") -> pd.DataFrame:
        """COLUMNS of one of MEASURES, for ``gating_lasthop.replayed``; raises ValueError for another."""
        if measure not in MEASURES:
            raise ValueError(f"a measure is one of {', '.join(MEASURES)}, got {measure!r}")
        wide = self.outcomes.pivot(index=QUESTION, columns="ranker", values=measure).reindex(columns=[FIRST, RERANKED])
        return wide.rename(columns={FIRST: "h", RERANKED: "rerank"}).astype(float).reset_index()[COLUMNS]


def check(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block ``replay`` of the parameters; {} stands for nobody reads. Raises ValueError for what cannot be."""
    if not isinstance(block, Mapping) or (block and set(block) != set(OPTIONS)):
        raise ValueError(f"replay must be a block of {', '.join(OPTIONS)}, or {{}} for no reader, got {block!r}")
    if block:
        check_whole("replay's k", block["k"], 1)
        check_whole("replay's budget", block["budget"], 1)
        check_whole("replay's questions", block["questions"], 0, mend=" (0: all)")
        if not isinstance(block["packer"], str) or block["packer"] not in packers.PACKERS or block["packer"] in UNFIT:
            raise ValueError(f"replay names the packer {block['packer']!r}; there are {', '.join(sorted(set(packers.PACKERS) - set(UNFIT)))}")
        if not isinstance(block["setting"], Mapping) or settings.setting(**block["setting"])["representation"] != "chunk":
            raise ValueError(f"replay's setting must be a block of packing settings with plain snippets (representation chunk), got {block['setting']!r}")
        full_spec(block["reader"])
    return dict(block)


def heads(candidates: pd.DataFrame, k: int) -> pd.DataFrame:
    """The first ``k`` of H and of R of each question, as ``downstream_packs.packed`` takes them."""
    parts = []
    for name in (FIRST, RERANKED):
        rows = candidates[candidates[PLACES[name][0]].astype(float).le(k)].sort_values([*QUESTION, PLACES[name][0]])
        found = rows.groupby(QUESTION)["doc_id"].agg(tuple).rename("docs").reset_index()
        parts.append(found.assign(first_stage=FIRST, ranker=name, order=OWN, depth=k)[[*HEAD, "docs"]])
    return pd.concat(parts, ignore_index=True)


def read(candidates: pd.DataFrame, questions: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, block: Mapping[str, Any], encoder: Encoder,
         store: Store | None = None, cache: Path | None = CACHE) -> Replay:
    """Pack and read both lists of the first ``questions`` of each data set; no rows for a block {} and without a reranked list."""
    block = check(block)
    if not block or candidates["rank_r"].isna().all():
        return Replay(pd.DataFrame(columns=[*HEAD, *MEASURES, "reader", "precision"]), pd.DataFrame(columns=[*QUESTION, "context_hash", "context"]))
    asked = reading.first(questions, block["questions"], "replay's questions")
    mine = candidates.merge(asked[QUESTION], on=QUESTION)
    made = downstream_packs.packed(heads(mine, block["k"]), asked, gold, documents, encoder, [block["packer"]], block["budget"], block["setting"], cache)
    wanted = pd.Series(True, made.outcomes.index)
    outcomes = downstream_reading.answered(made.outcomes, made.contexts, wanted, asked, block["reader"], store or Store(), scores.committed())
    return Replay(outcomes, downstream_reading.to_read(made.outcomes, made.contexts, wanted))
