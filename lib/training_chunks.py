"""Pairs of a question and a short chunk of a passage: what a label and a choice of negatives tell a cross-encoder to prefer (document 001, SPEC 11).

Document 001, "What the scoring target makes visible": where every passage of an answer-bearing document is called right, a model can learn topic
rather than evidential support. Our documents are paragraphs, so each is cut into chunks, title before each, and two labels are possible:

document   every chunk of a gold passage is right
support    only the chunks that hold the support are (lib.training_evidence); their siblings, the gold passage's other chunks, are wrong

and three choices of the wrong ones: ``easy`` (passages of other questions), ``near`` (siblings, and the question's other passages), ``mixed``.
All variants show as many chunks of each question; under ``mixed`` and ``near`` the two labels even show the same chunks, under other labels.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lib.retrieval import passage
from lib.training_pairs import Tables, check_counts, corpora, digest, draw, pairs_frame, unrelated

LABELS = ("document", "support")
NEGATIVES = ("mixed", "near", "easy")
SIBLINGS = 3  # about one wrong chunk in three is a sibling, so that mixed has a third of each kind
KEY = ["dataset", "qid"]
CASES = [*KEY, "question", "kind", "doc_id", "chunk", "first", "text"]


class Chunk(NamedTuple):
    """A few sentences of a passage: its id, its place there from 0, its first sentence's number, and what a model reads."""

    doc_id: str
    place: int
    first: int
    text: str


class Roles(NamedTuple):
    """The chunks around one question: those that hold support, their siblings, and those of its other passages."""

    support: list[Chunk]
    sibling: list[Chunk]
    near: list[Chunk]


def chunks_of(documents: pd.DataFrame, sentences: int = 1) -> dict[tuple[str, str], list[Chunk]]:
    """Each passage as runs of ``sentences`` sentences, each after the title; blank runs are left out.

    >>> row = {"dataset": "d", "doc_id": "m", "title": "Marl", "text": "A river. It floods.", "sentences": [[0, 8], [9, 19]]}
    >>> [c.text for c in chunks_of(pd.DataFrame([row]))["d", "m"]]
    ['Marl. A river.', 'Marl. It floods.']
    """
    check_counts(sentences=sentences)
    if not sentences:
        raise ValueError("a chunk needs 1 sentence or more, got sentences = 0")
    made = {}
    for d in documents.itertuples(index=False):
        runs = [(i, d.text[d.sentences[i][0]:d.sentences[min(i + sentences, len(d.sentences)) - 1][1]].strip())
                for i in range(0, len(d.sentences), sentences)]
        made[d.dataset, d.doc_id] = [Chunk(d.doc_id, place, i, passage(d.title, text)) for place, (i, text) in enumerate((i, t) for i, t in runs if t)]
    return made


def roles_of(tables: Tables, chunks: Mapping[tuple[str, str], list[Chunk]], sentences: int = 1) -> dict[tuple[str, str], Roles]:
    """The roles of each question with support at hand, by id; ``tables`` holds ``evidence`` beside those of lib.datasets.

    A gold passage in which no sentence is known to support is of no role: neither right nor wrong. A text has one role, the first that it fits.
    """
    if "evidence" not in tables:
        raise ValueError("chunk pairs need the table evidence (which sentences support); make it with lib.training_evidence.evidence")
    bears = {key: set(part["sentence"]) for key, part in tables["evidence"].groupby([*KEY, "doc_id"])}
    own, gold = (tables[k].groupby(KEY)["doc_id"].agg(lambda ids: sorted(set(ids))).to_dict() for k in ("pools", "gold"))
    made = {}
    for q in tables["questions"].sort_values(KEY).itertuples():
        key, seen = (q.dataset, q.qid), set()
        known = [d for d in gold.get(key, []) if (*key, d) in bears and (q.dataset, d) in chunks]
        cut = [(c, bool(bears[*key, d] & set(range(c.first, c.first + sentences)))) for d in known for c in chunks[q.dataset, d]]
        others = [c for d in own.get(key, []) if d not in gold.get(key, []) for c in chunks.get((q.dataset, d), [])]
        kinds = [_once(part, seen) for part in ([c for c, bearing in cut if bearing], [c for c, bearing in cut if not bearing], others)]
        if kinds[0]:
            made[key] = Roles(*kinds)
    return made


def chunk_pairs(tables: Tables, label: str = "support", negatives: str = "mixed", each: int = 2, sentences: int = 1, questions: int = 0,
                seed: int = 0) -> pd.DataFrame:
    """Pairs (question, chunk): text_a, text_b, label (1 or 0), dataset, qid, kind (support, sibling, near, easy).

    For each supporting chunk ``each`` others (fewer where a question has not as many near ones), about a third of them siblings at most. The siblings
    are shown under every label and choice, but for support with easy negatives, whose wrong chunks are all unrelated. ``questions``: at most so
    many of a data set, by the hash of their ids (0: all). Raises ValueError for unknown names, counts below 0, or tables without evidence.
    """
    for name, value, known in (("label", label, LABELS), ("negatives", negatives, NEGATIVES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    check_counts(each=each, questions=questions)
    chunks, corpus, rows = chunks_of(tables["documents"], sentences), corpora(tables), []
    asked = tables["questions"].set_index(KEY)["question"]
    out = _about(tables)
    known = roles_of(tables, chunks, sentences)
    for key in _taken(list(known), questions, seed):
        roles = known[key]
        n, siblings = shares(each * len(roles.support), len(roles.sibling), len(roles.near))
        strange = _strange(chunks, corpus[key[0]], key, out[key], roles, n, seed)
        n = min(n, len(strange))
        siblings = min(siblings, (n + 1) // SIBLINGS)
        shown = 0 if (label, negatives) == ("support", "easy") else siblings
        near = {"mixed": (n - siblings + int(digest(seed, "odd", key[1]), 16) % 2) // 2, "near": n - siblings, "easy": 0}[negatives]
        parts = {"support": roles.support, "sibling": _drawn(roles.sibling, shown, seed, "sibling", key[1]),
                 "near": _drawn(roles.near, near, seed, "near", key[1]), "easy": strange[:n - shown - near]}
        right = {"support", "sibling"} if label == "document" else {"support"}
        rows += [(asked[key], c.text, int(kind in right), *key, kind) for kind, part in parts.items() for c in part]
    return pairs_frame(rows)


def shares(wanted: int, siblings: int, near: int) -> tuple[int, int]:
    """(wrong chunks of a question, siblings among them): as many as wanted while near ones last, a third of them siblings where there are so many.

    >>> shares(6, 1, 10), shares(6, 5, 10), shares(6, 5, 2), shares(6, 0, 0)
    ((6, 1), (6, 2), (3, 1), (0, 0))
    """
    n = next(n for n in range(wanted, -1, -1) if n - min(siblings, (n + 1) // SIBLINGS) <= near)
    return n, min(siblings, (n + 1) // SIBLINGS)


def cases(tables: Tables, siblings: int = 3, near: int = 3, easy: int = 3, sentences: int = 1, seed: int = 0) -> pd.DataFrame:
    """What is scored of each question: its supporting chunks, ``siblings`` of them in each gold passage, ``near`` and ``easy`` others; columns ``CASES``."""
    check_counts(siblings=siblings, near=near, easy=easy)
    chunks, corpus, rows = chunks_of(tables["documents"], sentences), corpora(tables), []
    asked = tables["questions"].set_index(KEY)["question"]
    out = _about(tables)
    for key, roles in roles_of(tables, chunks, sentences).items():
        strange = _strange(chunks, corpus[key[0]], key, out[key], roles, easy, seed)
        passages = sorted({c.doc_id for c in roles.sibling})
        beside = [c for d in passages for c in _drawn([c for c in roles.sibling if c.doc_id == d], siblings, seed, "sibling", key[1])]
        parts = {"support": roles.support, "sibling": beside, "near": _drawn(roles.near, near, seed, "near", key[1]), "easy": strange}
        rows += [(*key, asked[key], kind, c.doc_id, c.place, c.first, c.text) for kind, part in parts.items() for c in part]
    return pd.DataFrame(rows, columns=CASES)


def _about(tables: Tables) -> dict[tuple[str, str], set[str]]:
    """Each question's own and gold passages: none of them is unrelated."""
    return pd.concat([tables[k][[*KEY, "doc_id"]] for k in ("pools", "gold")]).groupby(KEY)["doc_id"].agg(set).to_dict()


def _taken(keys: list[tuple[str, str]], most: int, seed: int) -> list[tuple[str, str]]:
    """At most ``most`` questions of each data set (0: all), in order of their ids."""
    if not most:
        return keys
    kept = {(d, q) for d in {d for d, _ in keys} for q in draw([q for of, q in keys if of == d], most, seed, "questions", d)}
    return [key for key in keys if key in kept]


def _once(part: list[Chunk], seen: set[str]) -> list[Chunk]:
    kept = [c for c in {c.text: c for c in reversed(part)}.values() if c.text not in seen]
    seen |= {c.text for c in kept}
    return kept[::-1]


def _drawn(part: list[Chunk], n: int, *words: object) -> list[Chunk]:
    at = {f"{c.doc_id}:{c.place}": c for c in part}
    return [at[name] for name in draw(list(at), n, *words)]


def _strange(chunks: Mapping[tuple[str, str], list[Chunk]], ids: list[str], key: tuple[str, str], out: set[str], roles: Roles, n: int,
             seed: int) -> list[Chunk]:
    """Up to n chunks of passages that are not ``out``, one a passage, none of a text that has a role."""
    taken, made = {c.text for part in roles for c in part}, {}
    for doc_id in unrelated(ids, out, 2 * n, seed, key[1]):
        if part := [c for c in chunks.get((key[0], doc_id), []) if c.text not in taken]:
            c = part[int(digest(seed, "chunk", key[1], doc_id), 16) % len(part)]
            made.setdefault(c.text, c)
    return list(made.values())[:n]
