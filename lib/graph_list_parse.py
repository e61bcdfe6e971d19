"""Phrases and triples of texts by spaCy, each distinct text parsed once ever (document 002, list H).

A parse is plain JSON, character offsets in the text: ``phrases`` [[start, end]] and ``triples`` [[subject start, subject end, relation, object start,
object end]]. A text is parsed on its own, so a parse depends neither on its neighbours nor on their order.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lib.recorded import DATA, entry_key
from lib.store import Store
from lib.whole import is_whole

CACHE = DATA / "cache" / "graph"
BATCH = 256  # texts between two savings


class Parser(Protocol):
    """Parses one text; ``name`` keys the store."""

    name: str

    def parse(self, text: str) -> dict: ...


class SpacyParser:
    """spaCy's small English model, loaded at the first text it has to parse; about 9 ms a passage, 16 with the recogniser of entities.

    ``entities`` False leaves the recogniser out: names are runs of capitalised words then (``ace_clauses.names``), noun phrases come from the parse.
    """

    def __init__(self, entities: bool = False, weights_name: str = "en_core_web_sm"):
        from importlib.metadata import version

        from lib import weights

        self.weights, self._nlp, self._without = weights_name, None, ["lemmatizer", *([] if entities else ["ner"])]
        self.name = f"{weights.identity(weights_name)} spacy {version('spacy')} triples 1{' entities' if entities else ''}"

    def parse(self, text: str) -> dict:
        """Phrases and triples of ``text``; raises WeightsError when the model cannot be had."""
        from lib import graph_list_triples

        if self._nlp is None:
            import spacy

            from lib import weights

            self._nlp = spacy.load(weights.locate(self.weights), exclude=self._without)
        with self._nlp.memory_zone():  # else the vocabulary grows with every new word
            doc = self._nlp(text)
            return {"phrases": graph_list_triples.spans(doc), "triples": graph_list_triples.triples(doc)}


def group(parser: Parser) -> dict:
    """The store's group of a parser."""
    return {"kind": "graph_parse", "model": "en_core_web_sm", "revision": parser.name, "precision": "fp32", "decoding": {}}


def sound(found: object, length: int) -> bool:
    """Whether ``found`` is a parse of a text of ``length`` characters.

    >>> sound({"phrases": [[0, 4]], "triples": [[0, 4, "ends in", 13, 18]]}, 19), sound({"phrases": [[0, 40]], "triples": []}, 19)
    (True, False)
    """
    if not isinstance(found, Mapping) or set(found) != {"phrases", "triples"} or not all(isinstance(rows, list) for rows in found.values()):
        return False
    rows = [row for row in found["phrases"] if _row(row, 2)]
    rows += [half for row in found["triples"] if _row(row, 5) and isinstance(row[2], str) for half in (row[:2], row[3:])]
    whole = len(rows) == len(found["phrases"]) + 2 * len(found["triples"])
    return whole and all(is_whole(a, 0) and is_whole(b, a) and b <= length for a, b in rows)


def _row(row: object, length: int) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == length


def _parse(parser: Parser, text: str) -> dict:
    made = parser.parse(text)
    if not sound(made, len(text)):
        raise ValueError(f"parser {parser.name!r} gave no parse of a text of {len(text)} characters, {text[:60]!a}: expected phrases [[start, end]] and "
                         "triples inside the text; mend the parser")
    return made


def parsed(texts: Sequence[str], parser: Parser | None = None, store: Store | None = None) -> list[dict]:
    """The parse of each text: recorded, from the cache, or made and saved after every batch.

    Raises StoreError for what is stored and no parse, ValueError for a text that is none and a parser that gives no parse, of which nothing is stored.
    """
    from tqdm.auto import tqdm

    if wrong := [t for t in texts if not isinstance(t, str)]:
        raise ValueError(f"a text to parse is {wrong[0]!r}; give text, \"\" where it is missing")
    parser, kept = parser or SpacyParser(), store or Store(cache=CACHE)
    told = group(parser)
    keys = {text: entry_key(told, text) for text in texts}
    length = {key: len(text) for text, key in keys.items()}
    known = kept.get_sound(told, length, lambda key, value: sound(value, length[key]))
    todo = sorted(text for text, key in keys.items() if key not in known)
    for i in tqdm(range(0, len(todo), BATCH), desc="parsing for the graph", disable=None if todo else True):
        made = {keys[text]: _parse(parser, text) for text in todo[i:i + BATCH]}
        kept.put_many(told, made)
        known |= made
    kept.close()
    return [known[keys[text]] for text in texts]
