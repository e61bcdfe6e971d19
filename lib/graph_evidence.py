"""What notebook 02 shows of the graph evidence: one question's claims and entities, and what merging them saves (SPEC 10; document 000, section 4.3)."""
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib import ace, evidence, stats
from lib.packing import Bench
from lib.settings import pack_id, pool_id

QUANTITIES = {"claims": "claims a question's pool holds", "claims_merged": "share of them that another claim stands for",
              "tokens_saved": "share of the claims' tokens that merging saves", "tokens_shown": "tokens of the snippets shown over those of the chunks, with their introductions"}


def example(bench: Bench, s: dict, question: pd.Series, gold: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(claims, entities, edges) of one question's retrieved passages in first-stage order, for ``figures_ace.claim_graph``; cut first (``bench.cut``)."""
    listed = bench.listed(s)
    ids = listed[listed["qid"] == question["qid"]].sort_values("rank")["doc_id"]
    mine = set(gold[(gold["dataset"] == question["dataset"]) & (gold["qid"] == question["qid"])]["doc_id"])
    return ace.example(question, [bench.passages[d] for d in ids], mine)


def spans(benches: Mapping[str, Bench], s: dict) -> pd.DataFrame:
    """Table ``ace_spans``: the spans of its passage that make up each snippet of the setting's pools, in order."""
    count, parts = evidence.budget_tokenizer(s["tokenizer"]), []
    for bench in benches.values():
        used = set(bench.cut(s)[0]["doc_id"])
        parts.append(ace.spans({d: p for d, p in bench.passages.items() if d in used}, count))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ace.PARTS)


def sources(benches: Mapping[str, Bench], s: dict) -> pd.DataFrame:
    """Table ``ace_sources``: the claims that another one stands for, question by question; pack with the setting first."""
    found = [bench.sources[pack_id(s)] for bench in benches.values()]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=ace.SOURCES)


def by_question(bench: Bench, s: dict, parts: pd.DataFrame, chunks: pd.DataFrame) -> pd.DataFrame:
    """``ace.compression`` of each question's pool, with ``tokens_chunks``, the tokens of its chunk candidates (``chunks``: the snippets table)."""
    pool = pool_id(s)
    ranked = bench.listed(s)[["qid", "doc_id", "rank"]].rename(columns={"rank": "doc_rank"}).assign(pool_id=pool)
    rows = ranked.merge(bench.cut(s)[0], on="doc_id")
    gone = bench.sources[pack_id(s)]
    squeezed = ace.compression(rows, gone[gone["pool_id"] == pool], parts)
    flat = chunks[(chunks["pool_id"] == pool) & (chunks["representation"] == "chunk")].groupby(["dataset", "qid"])["n_tokens"].sum()
    return squeezed.merge(flat.rename("tokens_chunks").reset_index(), on=["dataset", "qid"], how="left")


def compression(benches: Mapping[str, Bench], s: dict, parts: pd.DataFrame, chunks: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Table ``compression``: QUANTITIES a data set with intervals over questions; shares are ratios of sums."""
    out = []
    for name, bench in benches.items():
        t = by_question(bench, s, parts, chunks)
        one = np.ones(len(t))
        pairs = {"claims": (t["n_claims"], one), "claims_merged": (t["n_merged"], t["n_claims"]),
                 "tokens_saved": (t["tokens_claims"] - t["tokens_merged"], t["tokens_claims"]), "tokens_shown": (t["tokens_shown"], t["tokens_chunks"])}
        for quantity, (above, below) in pairs.items():
            i = stats.ratio_interval(np.asarray(above, float), np.asarray(below, float), t["qid"].to_numpy(), resamples=resamples, seed=seed)
            out.append([tier, name, pack_id(s), quantity, i.estimate, i.low, i.high, i.n, i.clusters])
    return pd.DataFrame(out, columns=["tier", "dataset", "pack_id", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters"])
