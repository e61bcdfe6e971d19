"""What the words of a question ask for and what the words of a snippet offer: the reading behind the features of ``tuned`` (SPEC 4).

Rules and short lists of English words only, no model: a question in another language finds few of its words here, every count is then 0,
and the features that need no list (similarity, rank, overlap) decide.
"""
from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from lib.text import STOP_WORDS, content_terms, normalise_answer

KINDS = ("choice", "date", "number", "person", "place", "other")
_WHO = ("actor|actress|singer|person|player|author|writer|director|president|king|queen|politician|artist|musician|composer|character|man|woman|leader|"
        "founder|poet|coach")
_WHERE = ("city|country|state|county|town|village|continent|nation|region|province|district|place|river|island|location|nationality|neighborhood|area|"
          "borough")
_SIZE = "number|population|percentage|amount|age|size|length|height|distance"
_ASKS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in {  # the first that matches decides
    "choice": (r"^(?:which|who|what|whose|between|of|are|is|was|did|does|do|among|in)\b.*\bor\b|"
               r"\b(?:older|younger|earlier|later|first|more|longer|higher|larger|bigger)\b.*\bor\b"),
    "date": r"^when\b|\b(?:what|which|whose|the)\s+(?:\w+ )?(?:year|date|day|month|decade|century)\b|\bdate of\b|\bbirthday\b",
    "number": rf"\bhow (?:many|much|long|old|far|tall|large|big|high|deep)\b|\b(?:what|which) (?:\w+ )?(?:{_SIZE})\b",
    "person": rf"^who\b|\bwho(?:m|se)?\b.{{0,40}}\?|\b(?:what|which) (?:\w+ ){{0,2}}(?:{_WHO})\b",
    "place": rf"^where\b|\bplace of\b|\b(?:what|which) (?:\w+ ){{0,2}}(?:{_WHERE})\b|\bwhere\b",
}.items()}
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(rf"\b\d{{1,2}} ?{_MONTH},? ?\d{{4}}|\b{_MONTH} ?\d{{1,2}},? ?\d{{4}}|\b{_MONTH} \d{{4}}")
_YEAR = re.compile(r"\b1[0-9]\d\d\b|\b20\d\d\b")
_NUMBER = re.compile(r"\b\d[\d,.]*\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million|billion)\b")
_NAME = re.compile(r"[A-ZÀ-Þ][\w'’.-]*(?: (?:(?:of|the|de|van|von|and|da|di|la|le) )?[A-ZÀ-Þ][\w'’.-]*)*")
_PLACE = re.compile(r"\b(?:in|at|from|near|of|to)(?: the)? ([A-ZÀ-Þ][\w'’-]+)|, ([A-ZÀ-Þ][\w'’-]+)")
_PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*$")
_MEANING = {word: name for name, words in {  # words that ask for a thing and words that tell it, under one name
    "born": "born birth birthplace birthdate native",
    "die": "died die dies death dead deceased killed",
    "married": "married wife husband spouse marriage wed widow",
    "family": "father mother son daughter child children parent parents brother sister sibling siblings grandfather grandmother "
              "grandson uncle aunt nephew niece",
    "direct": "director directed directs directing directors filmmaker",
    "perform": "performer performed performs singer sang song single recorded sung musician band",
    "write": "author wrote written writer writes writing novel book novelist",
    "compose": "composer composed music soundtrack score",
    "found": "founded founder founders established formed founding creator created cofounded",
    "locate": "located location situated lies where",
    "nation": "country nationality nation citizen citizenship american british french german italian indian canadian "
              "australian spanish english japanese chinese russian",
    "study": "studied attended educated graduated university college school education alma",
    "base": "headquarters headquartered based",
    "people": "population inhabitants census residents",
    "win": "award awarded won prize winner winning medal received",
    "play": "played starred starring stars actor actress cast role portrayed plays",
    "lead": "president leader minister king queen ruler chairman ceo head governor mayor emperor",
    "release": "released release published came debuted premiered",
    "bury": "buried burial cemetery tomb interred",
    "work": "worked works employer company occupation job profession career",
    "produce": "produced producer production studio",
    "team": "team club league football basketball baseball player",
    "own": "owned owner owns parent subsidiary acquired",
    "area": "county district province region state borders border",
}.items() for word in words.split()}


class Asked(NamedTuple):
    """A question's kind, its content terms, those written small (what is asked of whom), and its words as one fenced run."""

    kind: str
    terms: frozenset[str]
    relations: frozenset[str]
    run: str


class Offered(NamedTuple):
    """A text's content terms and meanings, its names with a capital (folded terms), and how many dates, years, numbers, names and places it has."""

    terms: frozenset[str]
    meanings: frozenset[str]
    names: frozenset[str]
    runs: tuple[str, ...]
    dates: int
    years: frozenset[str]
    numbers: frozenset[str]
    places: frozenset[str]
    run: str


def kind_of(question: str) -> str:
    """What sort of answer is asked for, one of KINDS.

    >>> kind_of("When did Edda Sorrel die?"), kind_of("Which is older, Marl or Ostia?"), kind_of("What is her instrument?")
    ('date', 'choice', 'other')
    """
    return next((kind for kind, pattern in _ASKS.items() if pattern.search(question)), "other")


def meaning(term: str) -> str:
    """One name for words of one meaning, else the first five letters.

    >>> meaning("birthplace"), meaning("born"), meaning("instruments")
    ('born', 'born', 'instr')
    """
    return _MEANING.get(term, term[:5])


def fenced(text: str) -> str:
    """The normalised words between spaces, so that a run of words is a substring.

    >>> fenced("The Marl (river)") , fenced("")
    (' marl river ', ' ')
    """
    run = normalise_answer(text)
    return f" {run} " if run else " "


@lru_cache(maxsize=20_000)
def read_question(question: str) -> Asked:
    """The question's kind, terms and relations (content terms that stand in small letters)."""
    small = {t for w in question.split() if not w[:1].isupper() for t in content_terms(w)}
    return Asked(kind_of(question), frozenset(content_terms(question)), frozenset(meaning(t) for t in small), fenced(question))


@lru_cache(maxsize=100_000)
def read_text(text: str) -> Offered:
    """What a snippet offers; see ``Offered``."""
    terms = content_terms(text)
    runs = [r for r in (m.group().strip(" .'’-") for m in _NAME.finditer(text)) if r and r.lower() not in STOP_WORDS]
    places = content_terms(" ; ".join(a or b for a, b in _PLACE.findall(text)))
    return Offered(frozenset(terms), frozenset(meaning(t) for t in terms), frozenset(content_terms(" ; ".join(runs))), tuple(runs), len(_DATE.findall(text)),
                   frozenset(_YEAR.findall(text)), frozenset(_NUMBER.findall(text)), frozenset(places), fenced(text))


@lru_cache(maxsize=50_000)
def bare_title(title: str) -> str:
    """A title as a fenced run, without what stands in parentheses at its end; one space for a title of fewer than three letters.

    >>> bare_title("Marl (river)"), bare_title("It")
    (' marl ', ' ')
    """
    run = fenced(_PARENTHESIS.sub("", title))
    return run if len(run) > 4 else " "
