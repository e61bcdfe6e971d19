"""The reranker's scores of the policy corpus, written to the recorded layer: notebook 07 then needs no trained model for them (SPEC 5, 11).

usage: python -m lib.record_policy            scores what is in no layer (a killed run resumes) and adds it to data/sample/recorded/
       python -m lib.record_policy --force    the same without looking at what is recorded (the cache still resumes a killed run)
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lib import policy_arms, policy_corpus, policy_search
from lib.cross_encoder import cross_encoder_group, pair_keys, score_pairs
from lib.cross_encoder_model import Pair
from lib.encoders import encoder
from lib.policy_arms import USUAL, Search
from lib.policy_corpus import PolicyCorpus
from lib.retrieval import Encoder
from lib.store import Store, StoreError
from lib.vectors import CACHE
from lib.weights import WeightsError

SPEC, ENCODER = {"model": "reranker"}, "minilm"
MARGIN = 5  # further candidates of each list: another processor's last bits may swap neighbours at its edge


def pairs(corpus: PolicyCorpus, encoder: Encoder, how: Search = USUAL, cache: Path | None = CACHE) -> list[Pair]:
    """(question, chunk) of all that a reranker reads, each once, sorted: windows, lineage without and with the second query, windows without a filter.

    Of each list ``MARGIN`` candidates more than ``how.read``.
    """
    steps = policy_arms.first_stage(corpus, policy_arms.indexes(corpus, encoder, cache), how)
    bare = policy_search.pools(steps["windows"].index, corpus.questions, (), how.least_authority, how.depth)
    lists = [(steps[name].found, steps[name].index) for name in policy_arms.ROUTED] + [(bare, steps["windows"].index)]
    told = [policy_search.texts(found, corpus.questions, here, how.read + MARGIN) for found, here in lists]
    return sorted({(question, chunk) for by in told for question, chunks in by.values() for chunk in chunks})


def asked() -> list[Pair]:
    """The pairs of the committed policy corpus."""
    return pairs(policy_corpus.read(), encoder(ENCODER))


def record(told: list[Pair] | None = None, store: Store | None = None) -> str:
    """Score the pairs and add them to the reranker's recorded file, where others stand, too; the file's name."""
    told = asked() if told is None else told
    store = store or Store()
    score_pairs(told, SPEC, store)
    return store.export(cross_encoder_group(SPEC), pair_keys(told, SPEC), keep=True).name


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.record_policy", description=__doc__.split("\n")[0])
    parser.add_argument("--force", action="store_true", help="do not look at what is recorded")
    options = parser.parse_args(arguments)
    try:
        print(f"scores of the policy corpus in {record(store=Store(ignore_recorded=options.force))}")
    except (ValueError, OSError, WeightsError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
