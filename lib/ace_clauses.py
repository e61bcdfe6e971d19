"""Rules on spaCy's tokens: sentences into clauses, the subject of a clause, phrases that may name something (SPEC 10).

Tokens are spaCy's, with tags, dependencies and recognised entities; what comes out are character offsets in the passage.
"""
from __future__ import annotations

SHORTEST = 4  # words: a shorter clause stays with its neighbour
PRONOUNS = {"person": {"he", "she", "his", "her"}, "thing": {"it", "its", "they", "their"}, "that": {"this", "these", "that", "those"}}
JOINTS = {"of", "the", "de", "da", "di", "du", "la", "le", "van", "von", "der", "den", "al", "&", "'s", "’s", "-"}  # inside a name
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "expl")
CALENDAR = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april", "june", "july",
            "august", "september", "october", "november", "december"}
VALUES = {"DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"}  # labels of what is no name


def clauses(tokens: list, start: int, end: int) -> list[list]:
    """The clauses of the sentence [start, end) that stand on their own feet, each with its subject; the joints between them go."""
    tokens = [t for t in tokens if not t.is_space]
    if not tokens:
        return [[start, end, "none", start, start]]
    heads = {t.i for t in tokens if any(c.dep_ in SUBJECTS for c in t.children)}
    cuts = sorted({c for c in map(_new_clause, tokens) if c is not None})
    pieces = [[t for t in tokens if a <= t.i < b] for a, b in zip([tokens[0].i, *cuts], [*cuts, tokens[-1].i + 1])]
    if not all(_stands(piece, heads) for piece in pieces):
        pieces = [tokens]
    out = []
    for k, piece in enumerate(pieces):
        while k > 0 and len(piece) > 1 and _joins(piece[0]):
            piece = piece[1:]
        while k < len(pieces) - 1 and len(piece) > 1 and _joins(piece[-1]):
            piece = piece[:-1]
        out.append([start if k == 0 else piece[0].idx, end if k == len(pieces) - 1 else piece[-1].idx + len(piece[-1]), *_subject(piece, heads)])
    return out


def _joins(token) -> bool:
    return token.dep_ == "cc" or token.text in (",", ";")


def _new_clause(token) -> int | None:
    """Where a new clause begins: at a semicolon, or after "and", "but" before a main verb that has a subject of its own."""
    if token.text == ";":
        return token.i
    chain = token
    while chain.dep_ == "conj":
        chain = chain.head
    first, own = token.left_edge, any(c.dep_ in SUBJECTS for c in token.children)
    main = token.dep_ == "conj" and own and chain.dep_ == "ROOT" and first.i > token.head.i
    return first.i if main and first.nbor(-1).dep_ == "cc" else None


def _stands(piece: list, heads: set[int]) -> bool:
    """Whether a piece has a verb with a subject, words enough, and closes the brackets and quotes that it opens."""
    words, marks = sum(t.is_alpha or t.like_num for t in piece), "".join(t.text for t in piece)
    closed = marks.count("(") == marks.count(")") and marks.count("“") == marks.count("”") and marks.count('"') % 2 == 0
    return closed and words >= SHORTEST and any(t.i in heads for t in piece)


def _subject(piece: list, heads: set[int]) -> list:
    """[kind, start, end] of the subject of the highest verb in ``piece``: its noun phrase up to the noun."""
    verbs = sorted((t for t in piece if t.i in heads), key=lambda t: (sum(1 for _ in t.ancestors), t.i))
    nouns = [c for t in verbs[:1] for c in t.children if c.dep_ in SUBJECTS[:2] and c in piece]
    phrase = [t for t in piece if nouns and nouns[0].left_edge.i <= t.i <= nouns[0].i]
    if not phrase:
        return ["none", piece[0].idx, piece[0].idx]
    return [_kind(phrase[0].lower_, nouns[0].pos_), phrase[0].idx, phrase[-1].idx + len(phrase[-1])]


def _kind(first: str, noun: str) -> str:
    """What a subject is, from the first word of its phrase and the part of speech of its noun.

    >>> _kind("its", "NOUN"), _kind("the", "PROPN"), _kind("the", "NOUN"), _kind("many", "NOUN")
    ('thing', 'name', 'definite', 'other')
    """
    pronoun = next((kind for kind, words in PRONOUNS.items() if first in words), None)
    return pronoun or ("name" if noun == "PROPN" else "definite" if first == "the" else "other")


def names(doc) -> list[list]:
    """Phrases that may name something: runs of capitalised words (invented names, too), and works of art as the model found them."""
    labels = {t.i: e.label_ for e in doc.ents if e.label_ not in VALUES for t in e}
    whole = [[e.start_char, e.end_char, e.label_] for e in doc.ents if e.label_ == "WORK_OF_ART" and any(t.text[0].isupper() for t in e)]
    found, run = list(whole), []
    for token in [*doc, None]:
        if token is not None and (_capital(token, labels) or run and _joint(token, run[-1])):
            run.append(token)
            continue
        while run and run[-1].lower_ in JOINTS:
            run.pop()
        if run and not any(a < run[-1].idx + len(run[-1]) and run[0].idx < b for a, b, _ in whole):
            found.append([run[0].idx, run[-1].idx + len(run[-1]), next((labels[t.i] for t in run if t.i in labels), "")])
        run = []
    return sorted(found)


def _joint(token, before) -> bool:
    """Whether a small word or a hyphen holds a name together; a dash between spaces does not."""
    return token.lower_ in JOINTS and not token.is_sent_start and (token.text != "-" or not before.whitespace_)


def _capital(token, recognised: dict[int, str]) -> bool:
    """Whether a token looks like part of a name; the first word of a sentence has its capital anyway."""
    if not token.text[0].isupper() or token.is_stop or token.lower_ in CALENDAR:
        return False
    return token.pos_ == "PROPN" or token.i in recognised or not token.is_sent_start
