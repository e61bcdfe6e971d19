"""ACE evidence: snippets from a source-linked claim/entity graph, in place of windows of sentences (representation ``ace``; SPEC 10).

A snippet is one claim, after the claim that introduces its subject where it begins from a pronoun or a bare alias. Near-duplicate claims
of a question's pool are merged: one of them is shown, word for word, and the others are kept as its sources in a side table.
Document 000 (section 4.3) names such a graph but leaves its construction open; this one is ours.
"""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lib import ace_merge, evidence
from lib.ace_claims import Passage, parts, snippet

CUT = ["dataset", "doc_id", "snippet_id", "position", "start", "end", "text"]
PARTS = ["dataset", "snippet_id", "part", "role", "doc_id", "start", "end", "n_tokens"]
SOURCES = ["dataset", "qid", "pool_id", "snippet_id", "source_id", "doc_id", "start", "end"]
COMPRESSION = ["dataset", "qid", "pool_id", "n_documents", "n_claims", "n_merged", "tokens_claims", "tokens_merged", "tokens_shown"]


def snippet_id(doc_id: str, place: int) -> str:
    """Names a claim's snippet; a chunk's has # in place of @."""
    return f"{doc_id}@{place}"


def cut(passages: Mapping[str, Passage], count: evidence.Count) -> pd.DataFrame:
    """All claims of all passages as snippets, columns as from ``evidence.chunk``; start and end are the ends of all that is shown.

    Where an introduction does not stand right before its claim, the text between is left out: table ``parts`` has the spans.
    """
    rows = []
    for p in passages.values():
        for place in range(len(p.claims)):
            shown = parts(p, place)
            body = snippet(p, place)
            rows.append((p.dataset, p.doc_id, snippet_id(p.doc_id, place), place, shown[0].start, shown[-1].end, body))
    out = pd.DataFrame(rows, columns=CUT)
    return out.assign(n_tokens=pd.Series(evidence.costs(out["text"].tolist(), count), dtype="int64"))


def spans(passages: Mapping[str, Passage], count: evidence.Count) -> pd.DataFrame:
    """Where every character of every snippet comes from: PARTS, the spans of its document that make its text in order; n_tokens of each alone."""
    rows = [(p.dataset, snippet_id(p.doc_id, place), k, part.role, p.doc_id, part.start, part.end, p.text[part.start:part.end].strip())
            for p in passages.values() for place in range(len(p.claims)) for k, part in enumerate(parts(p, place))]
    out = pd.DataFrame(rows, columns=[*PARTS[:-1], "text"])
    return out.assign(n_tokens=pd.Series(evidence.costs(out["text"].tolist(), count), dtype="int64"))[PARTS]


def merge(rows: pd.DataFrame, passages: Mapping[str, Passage], contained: float = ace_merge.CONTAINED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows that are shown, SOURCES): near-duplicates merged within each qid and pool_id of ``rows`` (doc_id, doc_rank, position, snippet_id, qid, pool_id).

    A source is a claim that another one stands for; gold coverage counts the document of what is shown, as the reader sees only that.
    """
    keep, sources = [], []
    for (qid, pool), part in rows.groupby(["qid", "pool_id"], sort=False):
        part = part.sort_values(["doc_rank", "position"])
        pool_passages = [passages[d] for d in part["doc_id"].drop_duplicates()]
        said = ace_merge.contents(pool_passages)
        stands = ace_merge.merged([said[d, i] for d, i in zip(part["doc_id"], part["position"])], contained)
        ids = part["snippet_id"].tolist()
        keep += [part.index[i] for i, j in enumerate(stands) if i == j]
        for i, j in enumerate(stands):
            if i != j:
                p, place = passages[part["doc_id"].iat[i]], int(part["position"].iat[i])
                sources.append((p.dataset, qid, pool, ids[j], ids[i], p.doc_id, p.claims[place].start, p.claims[place].end))
    return rows.loc[sorted(keep)], pd.DataFrame(sources, columns=SOURCES)


def compression(rows: pd.DataFrame, sources: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """COMPRESSION, a row a question and pool: claims, how many were merged away, and tokens of all claims, of those kept, and as shown.

    ``rows`` is what ``merge`` was given with dataset and n_tokens. tokens_shown is more than tokens_merged where introductions are repeated.
    """
    own = parts[parts["role"] == "claim"].set_index(["dataset", "snippet_id"])["n_tokens"]
    key = ["dataset", "qid", "pool_id"]
    gone = pd.MultiIndex.from_frame(sources[[*key, "source_id"]])
    kept = ~pd.MultiIndex.from_frame(rows[[*key, "snippet_id"]]).isin(gone)
    tokens = own.reindex(pd.MultiIndex.from_frame(rows[["dataset", "snippet_id"]])).to_numpy()
    told = rows.assign(tokens_claims=tokens, tokens_merged=tokens * kept, tokens_shown=rows["n_tokens"].to_numpy() * kept, n_claims=1, n_merged=(~kept).astype(int))
    counts = told.groupby(key)[["n_claims", "n_merged", "tokens_claims", "tokens_merged", "tokens_shown"]].sum()
    return counts.join(told.groupby(key)["doc_id"].nunique().rename("n_documents")).reset_index()[COMPRESSION].astype({c: "int64" for c in COMPRESSION[3:]})


def repeated(packs: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Characters each packed context shows, and how many of them twice or more (an introduction stands in several snippets): one row a context."""
    key = ["dataset", "qid", "pack_id", "policy", "budget"]
    rows = packs[[*key, "snippet_id"]].merge(parts, on=["dataset", "snippet_id"])
    out = []
    for group, part in rows.groupby(key, sort=False):
        shown = int((part["end"] - part["start"]).sum())
        once = sum(len({c for a, b in zip(spans["start"], spans["end"]) for c in range(a, b)}) for _, spans in part.groupby("doc_id"))
        out.append((*group, shown, shown - once))
    return pd.DataFrame(out, columns=[*key, "characters", "repeated"])
