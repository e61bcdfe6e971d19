"""What notebook 07 learns its gates from: a tier's own question sets and the recorded ones, with their lists and costs (document 002)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import gating_recorded, gating_replay, retrieval
from lib.gating_cost import UNITS
from lib.gating_features import NAMES
from lib.gating_files import check_pattern
from lib.gating_inputs import QuestionSet
from lib.gating_lists import USAGE
from lib.gating_models import grid_of
from lib.gating_records import ENDS
from lib.gating_sets import lists_of, sets_of
from lib.latency_times import Times
from lib.ranking import QUESTION
from lib.vectors import DIMENSIONS, embed, truncate
from lib.whole import check_whole, is_number

OPTIONS = ("grid", "jobs", "files", "encoder", "prices", "replay")
BLOCKS = {"the graph list": 9, "the dense list": 7, "how far both agree": 5, "the question": 6}  # the 27 features, in their order


class Study(NamedTuple):
    """``sets``: every question set; ``own``: how many of them are the tier's; ``lists`` and ``usage`` of all; ``missing``: questions left out, with the reason;
    ``vectors`` (n, d) of ``asked``, the tier's questions."""

    sets: list[QuestionSet]
    own: int
    lists: pd.DataFrame
    usage: pd.DataFrame
    missing: pd.DataFrame
    asked: pd.DataFrame
    vectors: np.ndarray


def check(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block ``gate`` of the parameters; raises ValueError for what cannot be."""
    if not isinstance(block, Mapping) or set(block) != set(OPTIONS):
        raise ValueError(f"gate must be a block of {', '.join(OPTIONS)}, got {block!r}")
    grid_of(block["grid"])
    check_whole("gate's jobs", block["jobs"], 1)
    check_pattern(block["files"], ENDS["questions"])
    if not isinstance(block["encoder"], str) or not block["encoder"].strip():
        raise ValueError(f"gate's encoder must be the name of one, such as minilm, got {block['encoder']!r}")
    retrieval.encoder(block["encoder"])
    prices = block["prices"]
    if not isinstance(prices, Mapping) or not prices or not all(u in UNITS and is_number(p) and p >= 0 for u, p in prices.items()):
        raise ValueError(f"gate's prices are of {', '.join(UNITS)}, numbers from 0 on, got {prices!r}")
    gating_replay.check(block["replay"])
    return dict(block)


def opened(candidates: pd.DataFrame, usage: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, questions: pd.DataFrame, block: Mapping[str, Any],
           tier: str) -> Study:
    """The question sets of the tables gate_candidates and gate_usage, and of the files that ``block`` names.

    Raises ValueError for a block that cannot be, files that ``gating_recorded`` refuses, and a data set that is on record and in the tables.
    """
    block = check(block)
    asked = questions.merge(candidates[QUESTION].drop_duplicates(), on=QUESTION).reset_index(drop=True)
    texts = asked["question"].tolist()
    vectors = truncate(embed(texts, retrieval.encoder(block["encoder"])), DIMENSIONS) if texts else np.zeros((0, DIMENSIONS))
    own, missing = sets_of(candidates, gold, documents, asked, vectors, tier)
    files = gating_recorded.of_files(block["files"])
    if twice := sorted({f.data.dataset for f in files} & {*candidates["dataset"], *usage["dataset"]}):
        raise ValueError(f"the data set {twice[0]!r} is among this tier's own and on record in {block['files']}; narrow gate's files, or call one of "
                         "them otherwise")
    if block["files"] and not files:
        unseen = pd.DataFrame([(tier, block["files"], "no question set on record is called so", 0)], columns=list(missing))
        missing = pd.concat([missing, unseen], ignore_index=True)
    return Study([*own, *(f.data for f in files)], len(own), pd.concat([lists_of(candidates), *(f.lists for f in files)], ignore_index=True),
                 pd.concat([usage[USAGE], *(f.usage for f in files)], ignore_index=True), missing, asked, vectors)


def feature_rows(sets: Sequence[QuestionSet]) -> pd.DataFrame:
    """The table gate_features: dataset, qid and the 27 features of every question that a gate is learned from."""
    parts = [pd.DataFrame(s.features, columns=list(NAMES)).assign(dataset=s.dataset, qid=s.qids) for s in sets]
    return (pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*QUESTION, *NAMES]))[[*QUESTION, *NAMES]]


def one_question(features: pd.DataFrame) -> pd.DataFrame:
    """The first question's features by what they look at: about, numbers; no row without a question.

    >>> one_question(pd.DataFrame([[0.5] * 27], columns=list(NAMES)))["about"].tolist()
    ['the graph list', 'the dense list', 'how far both agree', 'the question']
    """
    rows, at = [], 0
    for about, width in BLOCKS.items() if len(features) else ():
        rows.append((about, ", ".join(f"{n} {features[n].iloc[0]:.3g}" for n in NAMES[at:at + width])))
        at += width
    return pd.DataFrame(rows, columns=["about", "numbers"])


def timed(usage: pd.DataFrame, times: Times) -> pd.DataFrame:
    """``usage`` with the seconds that reading so many passages takes, one request at a time, by the recorded service times."""
    alone = times.rows[times.rows["queries"] == times.rows["queries"].min()]
    return usage.assign(seconds=usage["pairs"].astype(float) * float(alone["seconds"].sum() / alone["pairs"].sum()))
