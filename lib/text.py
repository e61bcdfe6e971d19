"""Words: the answer normaliser, content terms and sentence offsets that every other module counts with."""

import re
import string
import sys
import unicodedata
from functools import lru_cache

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_YES_NO = frozenset({"yes", "no"})

# 1,000 and 3.5 | U.S. and J.R.R. | words with inner apostrophes. A hyphen or a dash separates: Jay-Z is jay, z.
_TERM = re.compile(r"\d+(?:[.,]\d+)+|(?:\b[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")

_STOP_WORDS = """
    a about after all also am an and any are arent as at be because been before being between both but by can cannot cant
    could couldnt did didnt do does doesnt doing dont during each either for from further had hadnt has hasnt have havent
    having he her here hers him his how i if in into is isnt it its just let me more most my nor not of off on once only or
    other our out over own s same she should so some such t than that the their theirs them then there these they this those
    through to too under until up very was wasnt we were werent what when where which while who whom whose why will with
    wont would you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def encoded(told: str) -> bytes:
    """``told`` in UTF-8; raises ValueError for half a character (a lone surrogate), which nothing can hash, store or read.

    >>> encoded("eel")
    b'eel'
    """
    try:
        return told.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"broken Unicode, a lone surrogate at character {error.start} of {told[:60]!a}; write the character itself, in UTF-8") from error


def normalise_answer(text: str) -> str:
    """Normalise an answer by the rule shared by SQuAD, HotpotQA, MuSiQue and 2Wiki (METRIC_CASES, "Answer scoring").

    Lower-case, delete ASCII punctuation (its neighbours join), replace a, an, the by a space, squeeze white space. There is no
    Unicode folding: a dash or an accent stays. Raises ValueError when `text` is not a string.

    >>> normalise_answer("The U.S.")
    'us'
    """
    # The order is part of the rule: punctuation goes first, so "a.n" becomes the article "an" and then nothing.
    return _squeeze(_lowered(text).translate(_DELETE_PUNCTUATION))


def normalise_spaced(text: str) -> str:
    """Normalise like `normalise_answer`, but with every ASCII or Unicode punctuation mark read as a space (SPEC 7, the variant).

    >>> normalise_spaced("Paris—the capital"), normalise_spaced("1,000")
    ('paris capital', '1 000')
    """
    return _squeeze(_lowered(text).translate(_punctuation_to_space()))


@lru_cache(maxsize=1)
def _punctuation_to_space() -> dict[int, int]:
    marks = (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("P"))
    # ASCII counts $ + < = > ^ ` | ~ as punctuation, Unicode does not.
    return dict.fromkeys([*marks, *map(ord, string.punctuation)], 32)


def _lowered(text: str) -> str:
    if isinstance(text, str):
        return text.lower()
    raise ValueError(f"an answer must be text, got {type(text).__name__} {text!r}: cast answers once, at loading")


def _squeeze(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text).split())


def answer_tokens(text: str) -> list[str]:
    """Split a normalised answer into the tokens that F1 counts.

    >>> answer_tokens("Chief of the Protocol")
    ['chief', 'of', 'protocol']
    """
    return normalise_answer(text).split()


def is_yes_no(answer: str) -> bool:
    """Tell whether an answer is yes or no after normalising: a span test means nothing there.

    >>> is_yes_no("Yes."), is_yes_no("Norway")
    (True, False)
    """
    return normalise_answer(answer) in _YES_NO


def content_terms(text: str) -> list[str]:
    """List the case-folded words of `text` without stop words, in order, duplicates kept (document 000, section 4).

    Hyphens and dashes separate, apostrophes join, a possessive 's is dropped, dotted initials and digit groups are closed up.
    Text without content words gives an empty list.

    >>> content_terms("Who is the U.S. director of O'Brien's Jay-Z film?")
    ['us', 'director', 'obrien', 'jay', 'z', 'film']
    """
    folded = unicodedata.normalize("NFC", text.casefold())
    # A mark that no letter absorbs (the dot of a folded "İ") would split its word.
    folded = "".join(mark for mark in folded if not unicodedata.combining(mark))
    terms = (_close_up(match.group()) for match in _TERM.finditer(folded))
    return [term for term in terms if term not in STOP_WORDS]


def _close_up(token: str) -> str:
    token = _POSSESSIVE.sub("", token).replace("'", "").replace("’", "").replace(",", "")
    return token if token[0].isdigit() else token.replace(".", "")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Find sentences by spaCy's rule-based splitter: (start, end) character offsets, end exclusive.

    The spans are trimmed, ordered and disjoint, and cover every character that is not white space (SPEC 3).

    >>> split_sentences("One here. Two there.")
    [(0, 9), (10, 20)]
    """
    spans = []
    for sentence in _sentence_splitter()(text).sents:
        start, end = sentence.start_char, sentence.end_char
        body = text[start:end]
        start, end = start + len(body) - len(body.lstrip()), end - len(body) + len(body.rstrip())
        if start < end:
            spans.append((start, end))
    return spans


@lru_cache(maxsize=1)
def _sentence_splitter():
    import spacy  # heavy: only whoever splits sentences pays for it

    splitter = spacy.blank("en")
    splitter.add_pipe("sentencizer")
    splitter.max_length = 100_000_000  # the limit protects parsers; a rule needs none
    return splitter
