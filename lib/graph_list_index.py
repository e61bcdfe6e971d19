"""The graph of a corpus: passages and phrases as nodes; containment, relations and synonyms as edges (document 002, list H; SPEC 10).

Nodes stand in an order of their own (passages by what they say, phrases by the alphabet), so the graph, and with it every PageRank, is the same whatever
the order of the documents. Built once for a corpus and its choices, then kept by content.
"""
from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import graph_list_kept, graph_list_parse, graph_list_phrases, retrieval
from lib.encoders import Encoder, encoder
from lib.graph_list_choices import CHOSEN, Choices
from lib.graph_list_kept import Index
from lib.keys import check_ids, check_once, told_texts
from lib.recorded import DATA
from lib.store import Store
from lib.text import encoded

CACHE = DATA / "cache" / "graph"
LINKER = "wordllama"  # registered weights that tell how near two names, or a question and a triple, are
BLOCK = 2048          # names compared with all others at once
RULES = "index 1"   # of this module and graph_list_phrases: a new number when they change


def index(documents: pd.DataFrame, choices: Choices = CHOSEN, parser: graph_list_parse.Parser | None = None, store: Store | None = None,
          linker: Encoder | None = None, cache: Path | None = CACHE) -> Index:
    """The index of ``documents`` (doc_id, title, text), from ``cache`` where it was built before; ``cache`` None builds it anew.

    A kept file that is damaged is built anew. Passages of one text stand by doc_id. Raises ValueError for a doc_id given twice and a text that is none.
    """
    check_ids(documents, "documents", ["doc_id"])
    check_once(documents, ["doc_id"], "documents", "give the documents of one data set, each once")
    documents = told_texts(documents, ["title", "text"], "documents")
    parser, linker = parser or graph_list_parse.SpacyParser(), linker or encoder(LINKER)
    passages = [retrieval.passage(d.title, d.text) for d in documents.itertuples()]
    by_id = np.argsort(documents["doc_id"].to_numpy(str), kind="stable")
    order = by_id[np.argsort(retrieval.tie_breaks([passages[i] for i in by_id]), kind="stable")]
    used = [choices.topic, choices.synonym, choices.synonyms_each]
    told = hashlib.sha256(json.dumps([RULES, parser.name, linker.name, used]).encode())
    for i in order:
        told.update(hashlib.sha256(encoded(passages[i])).digest())
    path = cache / f"index-{told.hexdigest()[:24]}.npz" if cache else None
    if path and (kept := graph_list_kept.read(path, order)) is not None:
        return kept
    in_order = documents.iloc[order]
    made = build(in_order, graph_list_parse.parsed(in_order["text"].tolist(), parser, store), linker, choices)._replace(order=order)
    if path:
        graph_list_kept.write(path, made)
    return made


def build(documents: pd.DataFrame, parses: Sequence[dict], linker: Encoder, choices: Choices = CHOSEN) -> Index:
    """The index of ``documents`` in the order given, one parse a document; a corpus without a phrase has no phrase nodes."""
    told = [graph_list_phrases.said(d.title, d.text, p, choices.topic) for d, p in zip(documents.itertuples(), parses, strict=True)]
    phrases = sorted({p for s in told for p in s.phrases})
    at = {p: i for i, p in enumerate(phrases)}
    named = {n for s in told for n in s.names}
    contains = [(i, at[p]) for i, s in enumerate(told) for p in sorted(s.phrases)]
    pairs = Counter(tuple(sorted((at[a], at[b]))) for s in told for a, _, b in s.triples)
    facts = sorted({(a, relation, b) for s in told for a, relation, b in s.triples})
    names = np.array([p in named for p in phrases], bool)
    synonyms, cosines = near(phrases, names, linker, choices.synonym, choices.synonyms_each)
    relations = sorted(pairs)
    return Index(np.arange(len(told)), np.array(phrases, dtype=str), names, _pairs(contains), _pairs(relations), np.array([pairs[p] for p in relations], float),
                 synonyms, cosines, _pairs([(at[a], at[b]) for a, _, b in facts]), np.array([" ".join(f) for f in facts], dtype=str))


def _pairs(rows: Sequence[tuple[int, int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, 2)


def linked_vectors(linker: Encoder, texts: Sequence[str]) -> np.ndarray:
    """Vectors (n, d) of names, triples or questions by the encoder that links them; raises ValueError for one that is not finite: it would be near nothing."""
    vectors = np.asarray(linker.encode(list(texts)), np.float32)
    if (wrong := ~np.isfinite(vectors).all(axis=1)).any():
        raise ValueError(f"encoder {linker.name!r} gives a vector with NaN or infinity for {texts[int(wrong.argmax())][:60]!a}; fetch its weights again")
    return vectors


def near(phrases: Sequence[str], names: np.ndarray, linker: Encoder, least: float, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (s, 2) of names whose vectors have a cosine of ``least`` or more, first < second, and the cosines; at most ``each`` sought from either."""
    who = np.flatnonzero(names)
    if least > 1 or len(who) < 2:
        return _pairs([]), np.zeros(0)
    vectors = linked_vectors(linker, [phrases[i] for i in who])
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(who), BLOCK):
        cosines = vectors[start:start + BLOCK] @ vectors.T
        rows, columns = np.nonzero(cosines >= least)
        values = np.round(cosines[rows, columns], 6)
        keep = rows + start != columns
        rows, columns, values = rows[keep] + start, columns[keep], values[keep]
        order = np.lexsort((columns, -values, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        first = np.concatenate([[0], np.flatnonzero(np.diff(rows)) + 1]) if len(rows) else np.zeros(0, int)
        rank = np.arange(len(rows)) - np.repeat(first, np.diff([*first, len(rows)]))
        for a, b, v in zip(rows[rank < each], columns[rank < each], values[rank < each]):
            found[int(min(who[a], who[b])), int(max(who[a], who[b]))] = float(v)
    pairs = sorted(found)
    return _pairs(pairs), np.array([found[p] for p in pairs])
