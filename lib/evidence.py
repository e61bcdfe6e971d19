"""From retrieved documents to packing candidates: snippets, their token costs, their relevance to the question (SPEC 3)."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from lib import packers, text

Count = Callable[[Sequence[str]], list[int]]
SEPARATOR = "\n"


@lru_cache(maxsize=4)
def budget_tokenizer(name: str) -> Count:
    """A function that counts tokens of many texts with the named tokenizer (weights registry name, folder or hub id).

    Raises WeightsError when it is not to be had. Whether its counts add up is for ``check_additive`` to say, on real joins.
    """
    from tokenizers import Tokenizer

    from lib import weights

    where = weights.source(name)
    with weights.loading(name):
        tokenizer = Tokenizer.from_pretrained(where) if isinstance(where, str) else Tokenizer.from_file(str(where / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def count(texts: Sequence[str]) -> list[int]:
        return [len(e.ids) for e in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    return count


def costs(texts: Sequence[str], count: Count) -> list[int]:
    """Budget tokens of each snippet with the line break that follows it: cost = tokens(snippet + newline)."""
    return count([t + SEPARATOR for t in texts])


def joined(texts: Sequence[str]) -> str:
    """The packed context: snippets joined by line breaks."""
    return SEPARATOR.join(texts)


def check_additive(count: Count, contexts: Iterable[Sequence[str]], name: str = "the budget tokenizer") -> None:
    """Raise ValueError unless the sum of snippet costs equals the joined count for every context (pain: parts fit, the whole does not)."""
    for snippets in contexts:
        parts, whole = sum(costs(snippets, count)), count([joined(snippets) + SEPARATOR if snippets else ""])[0]
        if parts != whole:
            raise ValueError(f"{name} is refused: {len(snippets)} snippets cost {parts} tokens one by one but {whole} joined; "
                             "choose a tokenizer that never merges across a line break (SmolLM2, Qwen2.5)")


def windows(sentences: Sequence[Sequence[int]], lengths: Sequence[int], min_tokens: int = 32, rest: str = "alone") -> list[tuple[int, int]]:
    """Character spans of consecutive sentences merged until they hold at least ``min_tokens``.

    What is left at the end stands ``alone`` (and may be short) or is ``merged`` into the last window.

    >>> windows([[0, 9], [10, 19], [20, 25]], [20, 20, 5]), windows([[0, 9], [10, 19], [20, 25]], [20, 20, 5], rest="merged")
    ([(0, 19), (20, 25)], [(0, 25)])
    """
    if rest not in ("alone", "merged"):
        raise ValueError(f"rest must be 'alone' or 'merged', got {rest!r}")
    spans, start, held = [], None, 0
    for (a, b), n in zip(sentences, lengths, strict=True):
        start, held = (a if start is None else start), held + n
        if held >= min_tokens:
            spans.append((start, b))
            start, held = None, 0
    if start is not None and rest == "merged" and spans:
        spans[-1] = (spans[-1][0], sentences[-1][1])
    elif start is not None:
        spans.append((start, sentences[-1][1]))
    return spans


def chunk(documents: pd.DataFrame, count: Count, min_tokens: int = 32, rest: str = "alone") -> pd.DataFrame:
    """All snippets of all documents: dataset, doc_id, snippet_id, position, start, end, text, n_tokens (representation ``chunk``)."""
    rows = []
    sentences = [[d.text[a:b] for a, b in d.sentences] for d in documents.itertuples()]
    flat = iter(count([s for group in sentences for s in group]))
    for d, group in zip(documents.itertuples(), sentences):
        lengths = [next(flat) for _ in group]
        for position, (a, b) in enumerate(windows(d.sentences, lengths, min_tokens, rest)):
            body = d.text[a:b].strip()  # a leading space would merge with the line break before it
            a += len(d.text[a:b]) - len(d.text[a:b].lstrip())
            rows.append((d.dataset, d.doc_id, f"{d.doc_id}#{position}", position, a, a + len(body), body))
    out = pd.DataFrame(rows, columns=["dataset", "doc_id", "snippet_id", "position", "start", "end", "text"])
    return out[out["text"] != ""].assign(n_tokens=lambda t: costs(t["text"].tolist(), count)).reset_index(drop=True)


@lru_cache(maxsize=300_000)
def _terms(passage: str) -> frozenset[str]:
    return frozenset(text.content_terms(passage))


def lexical_relevance(question: str, snippets: Sequence[str], idf: dict[str, float]) -> np.ndarray:
    """Share of the question's distinct content terms, weighted by ``idf`` (1 where absent), that each snippet
    holds. Shape (n,), [0, 1]; 0 for a question without content terms."""
    terms = list(dict.fromkeys(text.content_terms(question)))  # a fixed order: float sums over a set change with the hash seed
    total = sum(idf.get(t, 1.0) for t in terms)
    if not total:
        return np.zeros(len(snippets))
    have = [_terms(s) for s in snippets]
    return np.array([sum(idf.get(t, 1.0) for t in terms if t in h) / total for h in have], float)


def document_idf(texts: Sequence[str]) -> dict[str, float]:
    """log(1 + N / df) of every content term over ``texts``; an empty dict instead of this gives plain overlap."""
    df = Counter(t for s in texts for t in set(text.content_terms(s)))
    return {t: math.log(1 + len(texts) / n) for t, n in df.items()}


def term_matrix(question: str, snippets: Sequence[str]) -> np.ndarray:
    """Which distinct content terms of the question stand in which snippet. Shape (n, t), bool; t = 0 without content terms."""
    terms = list(dict.fromkeys(text.content_terms(question)))
    have = [_terms(s) for s in snippets]
    return np.array([[t in h for t in terms] for h in have], bool).reshape(len(snippets), len(terms))


def candidates(question: str, snippets: pd.DataFrame, vectors: np.ndarray, holds_answer: np.ndarray | None = None) -> packers.Candidates:
    """One question's rows of the snippets table, in first-stage order, as arrays for the packers; vectors (n, d) are unit rows.

    Raises ValueError unless there is one vector a row. First-stage order: document rank, place in the document, id.
    """
    if len(vectors) != len(snippets):
        raise ValueError(f"{len(snippets)} snippets need as many vectors, got {len(vectors)}")
    names = np.unique(snippets["snippet_id"].to_numpy(str), return_inverse=True)[1]
    order = np.lexsort((names, snippets["position"], snippets["doc_rank"]))
    rows = snippets.iloc[order]
    unit = np.asarray(vectors, float)[order]
    similarity = np.clip(np.round(unit @ unit.T, 12), 0, 1)  # rounded: the last bits depend on a row's place in the matrix
    return packers.Candidates(
        qid=str(rows["qid"].iloc[0]) if len(rows) else "", ids=tuple(rows["snippet_id"]), relevance=rows["relevance"].to_numpy(float),
        costs=rows["n_tokens"].to_numpy(float), terms=term_matrix(question, rows["text"].tolist()), similarity=similarity,
        document=pd.factorize(rows["doc_id"])[0], doc_rank=rows["doc_rank"].to_numpy(int), position=rows["position"].to_numpy(int),
        holds_answer=None if holds_answer is None else np.asarray(holds_answer, bool)[order])
