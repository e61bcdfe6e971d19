"""Two ways to cut a policy into chunks, and which chunk holds which judged span (document 001, "The unit of omission", "Worked production example").

A *window* is so many words of the flat text, wherever they begin: a default splitter tears headings, footnotes and appendices off what they speak of.
A *section* chunk ends where its section ends; with its *lineage* it also says whose section it is and since when it holds.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from lib.whole import check_whole

STEPS = ("windows", "sections", "lineage")
WORDS, OVERLAP = 60, 10   # of a window; a section longer than LONGEST is parted between sentences
LONGEST = 120
COLUMNS = ["chunk_id", "doc_id", "kind", "text", "holds"]
PARTS = {"body": "", "appendix": "Appendix", "footnote": "Footnote", "table": "Table"}


def chunks(documents: pd.DataFrame, how: str = "lineage", words: int = WORDS, overlap: int = OVERLAP, longest: int = LONGEST) -> pd.DataFrame:
    """One row a chunk: ``COLUMNS``; ``kind`` is that of its section (``window`` where it has none), ``holds`` the sentences that stand in it whole.

    ``documents``: doc_id, identifier, title, effective_from, sections (list of section_id, heading, kind, sentences). ``words`` and ``overlap`` are of
    windows, ``longest`` (words) of sections. A sentence is named (section_id, place from 0). Raises ValueError for an unknown ``how``, for windows that do
    not move on, and where two chunks would share an id.
    """
    if how not in STEPS:
        raise ValueError(f"a policy is cut into {', '.join(STEPS)}, got {how!r}")
    check_whole("words", words, 1)
    check_whole("overlap", overlap, 0, words - 1, mend=": a window has to move on")
    check_whole("longest", longest, 1)
    made = (_windows(d, words, overlap) if how == "windows" else _sections(d, how == "lineage", longest) for d in documents.to_dict("records"))
    return once(pd.DataFrame([row for rows in made for row in rows], columns=COLUMNS))


def once(cut: pd.DataFrame) -> pd.DataFrame:
    """The chunks as they are. Raises ValueError where two share an id: then a search that lets one pass would hand out the other's text.

    >>> len(once(pd.DataFrame({"chunk_id": ["a#s1.0", "a#s2.0"], "doc_id": ["a", "a"]})))
    2
    """
    if (twice := cut["chunk_id"].duplicated(keep=False)).any():
        chunk = cut.loc[twice, "chunk_id"].iloc[0]
        docs = ", ".join(map(repr, cut.loc[cut["chunk_id"] == chunk, "doc_id"]))
        raise ValueError(f"chunk {chunk!r} comes of the documents {docs}: a chunk id may come once; give each document a doc_id and each of its sections a "
                         "section_id of its own, without '#'")
    return cut


def flat(document: Mapping) -> list[tuple[str, tuple[str, int] | None]]:
    """The text as a splitter gets it: (word, its sentence) in order; words of the title and of headings belong to no sentence.

    >>> flat({"title": "Leave", "sections": [{"section_id": "s", "heading": "Days", "sentences": ["Ten days."]}]})
    [('Leave', None), ('Days', None), ('Ten', ('s', 0)), ('days.', ('s', 0))]
    """
    told = [(word, None) for word in document["title"].split()]
    for section in document["sections"]:
        told += [(word, None) for word in str(section.get("heading") or "").split()]
        told += [(word, (section["section_id"], i)) for i, sentence in enumerate(section["sentences"]) for word in sentence.split()]
    return told


def _windows(document: Mapping, words: int, overlap: int) -> Iterator[tuple]:
    told, step = flat(document), words - overlap
    whole = pd.Series([at for _, at in told if at]).value_counts().to_dict()
    for n, start in enumerate(range(0, max(1, len(told) - overlap), step)):
        part = told[start : start + words]
        here = pd.Series([at for _, at in part if at], dtype=object).value_counts().to_dict()
        holds = [at for at in here if here[at] == whole[at]]
        yield f"{document['doc_id']}#w{n}", document["doc_id"], "window", " ".join(word for word, _ in part), sorted(holds)


def lineage(document: Mapping, section: Mapping) -> str:
    """Whose section it is: title and identifier, the part where it is no body, the heading, and since when it holds.

    >>> rule = {"title": "Leave", "identifier": "HR-1", "effective_from": "1203-01-01"}
    >>> lineage(rule, {"heading": "Night staff", "kind": "appendix"})
    'Leave (HR-1) > Appendix > Night staff, in force from 1203-01-01'
    """
    named = f"{document['title']} ({document['identifier']})" if _said(document.get("identifier")) else document["title"]
    parts = [named, PARTS.get(section["kind"], section["kind"].capitalize()), str(section.get("heading") or "")]
    since = f", in force from {document['effective_from']}" if _said(document.get("effective_from")) else ""
    return " > ".join(part for part in parts if part) + since


def _said(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _sections(document: Mapping, with_lineage: bool, longest: int) -> Iterator[tuple]:
    for section in document["sections"]:
        head = lineage(document, section) if with_lineage else str(section.get("heading") or "")
        for n, part in enumerate(_parted(section["sentences"], longest)):
            text = " ".join(section["sentences"][i] for i in part)
            holds = [(section["section_id"], i) for i in part]
            yield f"{document['doc_id']}#{section['section_id']}.{n}", document["doc_id"], section["kind"], f"{head}. {text}" if head else text, holds


def _parted(sentences: Sequence[str], longest: int) -> Iterator[range]:
    """Places of consecutive sentences of at most ``longest`` words together; a longer sentence stands alone."""
    start, words = 0, 0
    for i, sentence in enumerate(sentences):
        n = len(sentence.split())
        if i > start and words + n > longest:
            yield range(start, i)
            start, words = i, 0
        words += n
    if start < len(sentences):
        yield range(start, len(sentences))


def holders(judgements: pd.DataFrame, cut: pd.DataFrame) -> pd.DataFrame:
    """The judgements with ``span`` (its name) and ``holders``: the chunks of ``cut`` that hold the whole span; none where every cut goes through it.

    ``judgements``: qid, doc_id, section_id, sentences ([first, last], from 0).
    """
    at: dict[tuple, set[str]] = {}
    for row in cut.itertuples():
        for section, i in row.holds:
            at.setdefault((row.doc_id, section, i), set()).add(row.chunk_id)
    spans, found = [], []
    for row in judgements.itertuples():
        first, last = row.sentences
        spans.append(f"{row.doc_id}/{row.section_id}:{first}-{last}")
        found.append(frozenset.intersection(*(frozenset(at.get((row.doc_id, row.section_id, i), ())) for i in range(first, last + 1))))
    return judgements.assign(span=spans, holders=pd.Series(found, index=judgements.index, dtype=object))
