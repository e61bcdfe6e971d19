"""Right and wrong answers beside a text: what the ``support`` target of a cross-encoder tells apart (SPEC 11)."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import pandas as pd

from lib.evidence import windows
from lib.retrieval import passage
from lib.text import content_terms, is_yes_no, normalise_answer

MIN_WORDS = 25  # of a cut text: about the 32 tokens of a packer's snippet (document 000, section 3.2)
SPANS = {
    "date": re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}"),
    "number": re.compile(r"\d[\d,.]*\d|\d"),
    "name": re.compile(r"[A-Z][\w'’-]*\w(?: (?:(?:of|the|de|van) )?[A-Z][\w'’-]*\w)*"),
}
MONTHS = frozenset("january february march april may june july august september october november december".split())
_normalised = lru_cache(maxsize=100_000)(normalise_answer)  # a passage is searched for hundreds of answers


def holds(answer: str, text: str) -> bool:
    """Whether the normalised answer is a run of words in the normalised text; never for an answer that normalises to nothing.

    >>> holds("Rome", "Jerome left."), holds("the Rome", "In Rome.")
    (False, True)
    """
    run = _normalised(answer)
    return bool(run) and f" {run} " in f" {_normalised(text)} "


def kind_of(answer: str) -> str:
    """date, number or name: what an answer looks like.

    >>> kind_of("May 3, 1804"), kind_of("1804"), kind_of("eels")
    ('date', 'number', 'name')
    """
    return next(kind for kind, pattern in SPANS.items() if kind == "name" or pattern.search(answer))


def wrong_answers(answers: Sequence[str], others: Iterable[str], text: str) -> list[str]:
    """Those of ``others`` that are no accepted answer, no yes/no, and do not stand in ``text``; of the right answer's kind, if any are.

    >>> wrong_answers(["Rome"], ["1804", "Ostia", "rome", "no", "Marl"], "The Marl ends here.")
    ['Ostia']
    """
    right = {_normalised(a) for a in answers}
    fit = sorted({o for o in others if _normalised(o) and _normalised(o) not in right and not is_yes_no(o) and not holds(o, text)})
    return [o for o in fit if kind_of(o) == kind_of(answers[0])] or fit


def rival_spans(question: str, answers: Sequence[str], text: str) -> list[str]:
    """Other dates, numbers or names in ``text``, of the first answer's kind: none overlaps an accepted answer, names not the question either.

    >>> rival_spans("Where was Edda Sorrel born?", ["Harrowfen"], "Edda Sorrel was born in Harrowfen and died in Tollwick in May 1804.")
    ['Tollwick']
    """
    kind = kind_of(answers[0])
    # the first word of a text is capitalised whatever it is
    spans = sorted({m.group() for m in SPANS[kind].finditer(text) if m.start() > 0 or kind != "name"})
    if kind == "date":  # two days of one month are rivals, too
        return [s for s in spans if not any(holds(s, a) or holds(a, s) for a in answers)]
    taken = {w for told in [question, *answers] for w in _normalised(told).split()}
    return [s for s in spans if _normalised(s) and taken.isdisjoint(_normalised(s).split()) and (kind == "number" or _is_name(s))]


def _is_name(span: str) -> bool:
    terms = content_terms(span)
    return bool(terms) and not MONTHS.issuperset(terms)


def forms(document: pd.Series, answers: Sequence[str]) -> tuple[str, list[str]]:
    """A document whole with its title, and the runs of a few sentences without it that hold an answer (all runs, where none is given).

    ``document`` has title, text and sentences (offsets); a run has at least MIN_WORDS words where the document does.
    """
    lengths = [len(document.text[a:b].split()) for a, b in document.sentences]
    runs = [document.text[a:b].strip() for a, b in windows(document.sentences, lengths, MIN_WORDS)]
    return passage(document.title, document.text), [r for r in runs if r and (not len(answers) or any(holds(a, r) for a in answers))]
