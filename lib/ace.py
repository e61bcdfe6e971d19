"""ACE evidence: snippets from a source-linked claim/entity graph, in place of windows of sentences (representation ``ace``; SPEC 10).

A snippet is one claim, after the claim that introduces its subject where it begins from a pronoun or a bare alias. Near-duplicate claims
of a question's pool are merged: one of them is shown, word for word, and the others are kept as its sources in a side table.
Document 000 (section 4.3) names such a graph but leaves its construction open; this one is ours.
"""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lib import ace_graph, ace_merge, evidence, survival
from lib.ace_claims import Passage, parts, snippet

CUT = ["dataset", "doc_id", "snippet_id", "position", "start", "end", "text"]
PARTS = ["dataset", "snippet_id", "part", "role", "doc_id", "start", "end", "n_tokens"]
SOURCES = ["dataset", "qid", "pool_id", "snippet_id", "source_id", "doc_id", "start", "end"]
COMPRESSION = ["dataset", "qid", "pool_id", "n_documents", "n_claims", "n_merged", "tokens_claims", "tokens_merged", "tokens_shown"]


def snippet_id(doc_id: str, place: int) -> str:
    """Names a claim's snippet; a chunk's has # in place of @."""
    return f"{doc_id}@{place}"


def cut(passages: Mapping[str, Passage], count: evidence.Count) -> pd.DataFrame:
    """All claims of all passages as snippets, columns as from ``evidence.chunk``; start and end enclose all that is shown.

    Where other claims stand between an introduction and its claim, they are left out of the text: ``spans`` says what stands where.
    """
    rows = []
    for p in passages.values():
        for place in range(len(p.claims)):
            shown = parts(p, place)
            rows.append((p.dataset, p.doc_id, snippet_id(p.doc_id, place), place, shown[0].start, shown[-1].end, snippet(p, place)))
    out = pd.DataFrame(rows, columns=CUT)
    return out.assign(n_tokens=pd.Series(evidence.costs(out["text"].tolist(), count), dtype="int64"))


def spans(passages: Mapping[str, Passage], count: evidence.Count) -> pd.DataFrame:
    """Where every character of every snippet comes from: PARTS, the spans of its document that make its text in order; n_tokens of each alone."""
    rows = [(p.dataset, snippet_id(p.doc_id, place), k, part.role, p.doc_id, part.start, part.end, p.text[part.start:part.end].strip())
            for p in passages.values() for place in range(len(p.claims)) for k, part in enumerate(parts(p, place))]
    out = pd.DataFrame(rows, columns=[*PARTS[:-1], "text"])
    return out.assign(n_tokens=pd.Series(evidence.costs(out["text"].tolist(), count), dtype="int64"))[PARTS]


def merge(rows: pd.DataFrame, passages: Mapping[str, Passage], contained: float = ace_merge.CONTAINED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows that are shown, SOURCES): near-duplicates merged within each qid and pool_id; ``rows`` are ``cut`` rows with qid, pool_id, doc_rank.

    A source is a claim that another one stands for. What is shown keeps its own document and rank, since the reader sees only that: gold
    coverage does not count the documents of its sources. Raises ValueError for a document that is not among ``passages``.
    """
    if lost := sorted(set(rows["doc_id"]) - set(passages)):
        raise ValueError(f"{len(lost)} documents of the candidates were not parsed, first {lost[0]!r}; hand merge the passages that were cut")
    rows, keep, sources = rows.reset_index(drop=True), [], []
    for (qid, pool), part in rows.groupby(["qid", "pool_id"], sort=False):
        part = part.sort_values(["doc_rank", "position"])
        said = ace_merge.contents([passages[d] for d in part["doc_id"].drop_duplicates()])
        stands = ace_merge.merged([said[claim] for claim in zip(part["doc_id"], part["position"])], contained)
        ids = part["snippet_id"].tolist()
        keep += [part.index[i] for i, j in enumerate(stands) if i == j]
        for i in (i for i, j in enumerate(stands) if i != j):
            p, place = passages[part["doc_id"].iat[i]], int(part["position"].iat[i])
            sources.append((p.dataset, qid, pool, ids[stands[i]], ids[i], p.doc_id, p.claims[place].start, p.claims[place].end))
    return rows.loc[sorted(keep)].reset_index(drop=True), pd.DataFrame(sources, columns=SOURCES)


def compression(rows: pd.DataFrame, sources: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """COMPRESSION, a row a question and pool: claims and how many were merged away; tokens of all claims, of those kept, of the snippets shown.

    ``rows`` went into ``merge``, ``parts`` came out of ``spans``. Introductions make tokens_shown larger than tokens_merged.
    """
    key = ["dataset", "qid", "pool_id"]
    own = parts[parts["role"] == "claim"].set_index(["dataset", "snippet_id"])["n_tokens"]
    gone = pd.MultiIndex.from_frame(sources[[*key, "source_id"]])
    kept = ~pd.MultiIndex.from_frame(rows[[*key, "snippet_id"]]).isin(gone)
    tokens = own.reindex(pd.MultiIndex.from_frame(rows[["dataset", "snippet_id"]])).to_numpy()
    told = rows[[*key, "doc_id"]].assign(n_claims=1, n_merged=~kept, tokens_claims=tokens, tokens_merged=tokens * kept,
                                         tokens_shown=rows["n_tokens"].to_numpy() * kept)
    by_pool = told.groupby(key)
    out = by_pool[["n_claims", "n_merged", "tokens_claims", "tokens_merged", "tokens_shown"]].sum().join(by_pool["doc_id"].nunique().rename("n_documents"))
    return out.reset_index()[COMPRESSION].astype({c: "int64" for c in COMPRESSION[3:]})


def repeated(packs: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Characters that each packed context shows, and how many of them it shows again (an introduction may stand in several snippets)."""
    key, out = ["dataset", "qid", "pack_id", "policy", "budget"], []
    for group, part in packs[[*key, "snippet_id"]].merge(parts, on=["dataset", "snippet_id"]).groupby(key, sort=False):
        shown = [(d, c) for d, a, b in zip(part["doc_id"], part["start"], part["end"]) for c in range(a, b)]
        out.append((*group, len(shown), len(shown) - len(set(shown))))
    return pd.DataFrame(out, columns=[*key, "characters", "repeated"])


def across_seams(rows: pd.DataFrame, questions: pd.DataFrame, passages: Mapping[str, Passage]) -> pd.DataFrame:
    """The rows whose text holds an accepted answer only across the seam between an introduction and a claim that do not touch in the source.

    Answer-in-context would count these, though no source says so; there should be none.
    """
    asked = questions.set_index("qid")
    found = []
    for r in rows.itertuples():
        p, q = passages[r.doc_id], asked.loc[r.qid]
        pieces = parts(p, r.position)
        if len(pieces) == 2 and pieces[0].end != pieces[1].start:
            whole, *alone = [survival.answer_in_context(q["answers"], [t], q["question_type"]).value for t in (r.text, *(p.text[a:b] for _, a, b in pieces))]
            found += [r.Index] if whole and not any(alone) else []
    return rows.loc[found]


def example(question: pd.Series, passages: list[Passage], gold: set[str]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(claims, entities, edges) of one question's passages in first-stage order: what ``figures_ace.claim_graph`` draws."""
    rows = []
    for rank, p in enumerate(passages, 1):
        for place, claim in enumerate(p.claims):
            said = p.text[claim.start:claim.end]
            holds = survival.answer_in_context(question["answers"], [said], question["question_type"]).value
            rows.append((p.doc_id, rank, p.title, place, said, claim.introduced_by, p.doc_id in gold, bool(holds)))
    claims = pd.DataFrame(rows, columns=["doc_id", "doc_rank", "title", "claim", "text", "introduced_by", "is_gold", "holds_answer"])
    return claims.astype({"introduced_by": "Int64"}), *ace_graph.tables(passages)
