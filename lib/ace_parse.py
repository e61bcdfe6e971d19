"""Claims and names of a passage: its sentences cut into clauses, their subjects, and the phrases that may name something (SPEC 10).

A parse is plain JSON: ``claims`` [[start, end, subject kind, subject start, subject end]] and ``names`` [[start, end, label]], all
character offsets in the passage. The kind of a subject tells whether a claim can stand alone: name, person (he, her ...), thing (it,
their ...), that (this, those ...), definite ("the" with a common noun), other, none. Each distinct passage is parsed once ever, on its own, so a
parse depends neither on its neighbours nor on their order.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol

import pandas as pd

from lib import ace_clauses
from lib.recorded import damaged
from lib.store import StoreError, disk_errors
from lib.tables import ROOT
from lib.whole import is_whole

CACHE = ROOT / "data" / "cache" / "parses"
MEND = "delete data/cache/parses and run again: passages are parsed anew"
SUBJECTS = ("name", "person", "thing", "that", "definite", "other", "none")
BATCH = 256  # passages between two savings


class Parser(Protocol):
    """Parses one passage whose sentences are known; ``name`` keys the cache."""

    name: str

    def parse(self, text: str, sentences: Sequence[Sequence[int]]) -> dict: ...


class SpacyParser:
    """spaCy's small English model (weights registry name), loaded at the first passage it has to parse; about 15 ms a passage."""

    def __init__(self, name: str = "en_core_web_sm"):
        from importlib.metadata import version

        from lib import weights

        self.weights, self._nlp = name, None
        self.name = f"{weights.identity(name)} spacy {version('spacy')} rules 1"

    def parse(self, text: str, sentences: Sequence[Sequence[int]]) -> dict:
        """The parse of ``text``; raises WeightsError when the model cannot be had."""
        if self._nlp is None:
            import spacy

            from lib import weights

            self._nlp = spacy.load(weights.locate(self.weights), exclude=["lemmatizer"])
        with self._nlp.memory_zone():  # else the vocabulary grows with every new word
            doc = self._nlp.make_doc(text)
            starts = {next((t.i for t in doc if t.idx + len(t) > a), 0) for a, _ in sentences}
            for token in doc:  # the passage's own sentences, which chunk snippets follow, too
                token.is_sent_start = token.i in starts
            for _, pipe in self._nlp.pipeline:
                doc = pipe(doc)
            claims = [claim for a, b in sentences for claim in ace_clauses.clauses([t for t in doc if a <= t.idx < b], a, b)]
            return {"claims": claims, "names": ace_clauses.names(doc)}


def keys(documents: pd.DataFrame, parser: Parser) -> list[str]:
    """sha256 of parser, text and sentences, one a row."""
    return [hashlib.sha256(json.dumps([parser.name, *row]).encode()).hexdigest() for row in _rows(documents)]


def _rows(documents: pd.DataFrame) -> list[tuple[str, list]]:
    return [(d.text, [[int(a), int(b)] for a, b in d.sentences]) for d in documents.itertuples()]


def group(parser: Parser) -> dict:
    """The store's group of a parser: its name tells weights, spaCy's version and our rules.

    >>> class Any: name = "rules 1"
    >>> group(Any())["revision"]
    'rules 1'
    """
    return {"kind": "parse", "model": "en_core_web_sm", "revision": parser.name, "precision": "fp32", "decoding": {}}


def sound(found: object, text: str) -> bool:
    """Whether ``found`` is a parse of ``text``: claims and names with offsets that lie in it.

    >>> sound({"claims": [[0, 4, "name", 0, 3]], "names": [[0, 3, "ORG"]]}, "Marl"), sound({"claims": [[0, 9, "name", 0, 3]], "names": []}, "Marl")
    (True, False)
    """
    if not isinstance(found, Mapping) or set(found) != {"claims", "names"} or not all(isinstance(rows, list) for rows in found.values()):
        return False
    claims = all(_row(c, 5) and c[2] in SUBJECTS and _span(*c[:2], text) and _span(*c[3:], text) for c in found["claims"])
    return claims and all(_row(n, 3) and isinstance(n[2], str) and _span(*n[:2], text) for n in found["names"])


def _row(row: object, length: int) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == length


def _span(start: object, end: object, text: str) -> bool:
    return is_whole(start, 0) and is_whole(end, start) and end <= len(text)


def parses(documents: pd.DataFrame, parser: Parser, cache: Path | None = CACHE, recorded: Mapping[str, dict] | None = None) -> list[dict]:
    """The parse of each row of ``documents`` (text, sentences): recorded, from the cache, or made and saved after every batch.

    ``recorded`` maps ``keys`` to parses and is asked first, so that the sample's snippets are the same on every machine. Raises StoreError
    for a full disk, a damaged cache, and what is recorded or cached and no parse of its passage.
    """
    from diskcache import Cache, JSONDisk
    from tqdm.auto import tqdm

    every = keys(documents, parser)
    wanted = dict(zip(every, _rows(documents)))
    known = {k: recorded[k] for k in wanted if k in recorded} if recorded else {}
    if wrong := [k for k, found in known.items() if not sound(found, wanted[k][0])]:
        raise StoreError(damaged(group(parser), wrong, len(known)))
    guard = partial(disk_errors, cache, MEND) if cache else nullcontext
    with guard():
        store = Cache(str(cache), disk=JSONDisk, eviction_policy="none", size_limit=1 << 50) if cache else {}
        known |= {k: store[k] for k in wanted if k not in known and k in store}
    if wrong := [k for k, found in known.items() if not sound(found, wanted[k][0])]:
        raise StoreError(f"{cache.name if cache else 'parses'}: {len(wrong)} of {len(known)} stored parses are damaged, first {wrong[0][:12]}; {MEND}")
    todo = [(k, row) for k, row in wanted.items() if k not in known]
    for i in tqdm(range(0, len(todo), BATCH), desc="parsing passages", disable=None if todo else True):
        made = {k: parser.parse(*row) for k, row in todo[i:i + BATCH]}
        known.update(made)
        with guard(), store.transact() if cache else nullcontext():  # all of a batch or none
            for k, v in made.items():
                store[k] = v
    if cache:
        store.close()
    return [known[k] for k in every]
