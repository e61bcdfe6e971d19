"""The whole study of the labels in one call: records, what the unjudged hide, the audit rehearsed, two assessors, three splits (document 001; SPEC 11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib import (
    judgements,
    judgements_assessors,
    judgements_effect,
    judgements_hidden,
    judgements_policy,
    judgements_pooling,
    judgements_sample_table,
    judgements_splits,
)
from lib.bootstrap import RESAMPLES
from lib.judgements_assessors import ASSESSORS
from lib.judgements_policy import DATASET, RECORDED
from lib.judgements_records import Judgement
from lib.judgements_tables import typed
from lib.policy_corpus import PolicyCorpus
from lib.ranking import QUESTION
from lib.retrieval import Encoder
from lib.vectors import CACHE

OLD, NEW = "bm25", "dense"  # the list whose top was judged, and the one that comes new
WRITTEN = "2026-11-30"  # the day on which the corpus's labels were given


class Read(NamedTuple):
    """Which judgements the assessors made: the first ``depth`` passages of ``ranker``; ``cutoff`` places are scored, pools go down to ``pool``."""

    ranker: str = OLD
    depth: int = 5
    cutoff: int = 4
    pool: int = 50


class Study(NamedTuple):
    """The policy corpus's records, its sections' lists, and every table by name."""

    records: list[Judgement]
    rankings: pd.DataFrame
    tables: dict[str, pd.DataFrame]


def hiding(
    rankings: pd.DataFrame,
    judged: pd.DataFrame,
    tier: str,
    read: Read = Read(),
    new: str = NEW,
    depths: Sequence[int] = (5, 10, 20),
    membership: pd.DataFrame | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Judge the top of an old list only, audit a new one, of any judged lists: judgement_unjudged, _pooling, _reversals and _audit.

    ``rankings`` of one scope hold ``read.ranker`` and ``new``; ``judged``: dataset, qid, doc_id, grade; ``depths``: how deep the old list was read. Without gold the tables have
    no row.
    """
    judged = judged.drop_duplicates([*QUESTION, "doc_id"])
    pair = rankings[rankings["ranker"].isin([read.ranker, new])]
    both = judgements_pooling.both_audits(pair, judged, read.ranker, sorted({*depths, read.depth}), read.cutoff, read.pool)
    seen = [
        judgements_hidden.hidden_rows(pair, judged, read.ranker, read.depth, read.cutoff, read.pool),
        judgements_hidden.hidden_rows(pair, judged, cutoff=read.cutoff, depth=read.pool),
    ]
    made = {
        "judgement_unjudged": judgements_hidden.hidden_table(seen, tier, membership, resamples, seed),
        "judgement_pooling": judgements_pooling.bias(both, tier, resamples, seed),
        "judgement_reversals": judgements_pooling.reversals(both, new, read.ranker, tier, resamples, seed),
        "judgement_audit": judgements_sample_table.audit_table(pair, judged, read.ranker, read.depth, tier, membership=membership, seed=seed),
    }
    return {name: typed(table, name) for name, table in made.items()}


def study(
    corpus: PolicyCorpus,
    encoder: Encoder,
    tier: str = "sample",
    read: Read = Read(),
    assessors: Mapping[str, Sequence[Sequence[float]]] = ASSESSORS,
    day: str = "2026-01-01",
    held_out: Collection[str] = ("procedure", "faq", "notice", "minutes"),
    draws: int = 20,
    resamples: int = RESAMPLES,
    seed: int = 0,
    cache: Path | None = CACHE,
) -> Study:
    """The policy corpus's labels: every table of ``lib.declarations_judgements``, by name.

    ``day`` parts the temporal split, ``held_out`` names the sources of the source-held-out one; the assessors judge again ``draws`` times.
    """
    records = judgements_policy.records_of(corpus.questions, corpus.judgements, WRITTEN)
    sections = judgements_policy.passages(corpus.documents)
    rankings = judgements_policy.lists(corpus.questions, sections, encoder, read.pool, cache)
    recorded, membership = judgements.table(records, DATASET), judgements.slices_of(records, DATASET)
    judged, every = judgements.for_audit(recorded), judgements_assessors.assessed(recorded, assessors, seed)
    told = judgements_effect.effect_table(rankings, every, membership, NEW, read.ranker, tier, read.cutoff, resamples=resamples, seed=seed)
    drawn = judgements_effect.over_draws(rankings, recorded, NEW, read.ranker, assessors, read.cutoff, draws, seed)
    truth = float(told.loc[(told["judged_by"] == RECORDED) & (told["slice"] == "all"), "delta"].iloc[0])
    made = hiding(rankings, judged, tier, read, membership=membership, resamples=resamples, seed=seed)
    made |= {
        "judgements": every,
        "judgement_agreement": judgements_assessors.agreement_table(every, RECORDED, assessors, tier, resamples, seed),
        "judgement_effect": told,
        "judgement_draws": judgements_effect.spread(drawn, truth).assign(tier=tier, dataset=DATASET, treatment=NEW, control=read.ranker, recorded=truth),
        "judgement_splits": splits_of(corpus, sections, judged, tier, day, held_out, seed),
    }
    return Study(records, rankings, made)


def splits_of(
    corpus: PolicyCorpus, sections: pd.DataFrame, judged: pd.DataFrame, tier: str, day: str, held_out: Collection[str], seed: int = 0
) -> pd.DataFrame:
    """The random split and the three that document 001 asks for, each with what it leaks: the table judgement_splits."""
    asked = corpus.questions.assign(dataset=DATASET)
    evidence = judged.loc[judged["grade"] > 0, [*QUESTION, "doc_id"]].drop_duplicates()
    family, source = (dict(zip(sections["doc_id"], sections[c])) for c in ("family", "source_type"))
    pairs = judgements_splits.near_duplicates(dict(zip(sections["doc_id"], sections["text"])))
    made = [
        judgements_splits.random_split(asked, seed=seed),
        judgements_splits.temporal_split(asked, day),
        judgements_splits.source_split(asked, evidence, source, held_out),
        judgements_splits.family_split(asked, evidence, judgements_splits.groups(family, pairs), seed=seed),
    ]
    return judgements_splits.split_table(made, evidence, family, pairs, tier)
