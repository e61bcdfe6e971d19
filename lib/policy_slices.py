"""What kind of question is it? Told from its words alone, by rules that anyone can read: the router that a service really has (document 001, Part III).

Slices of an evaluation are labels that people gave. A service sees the question only, so routing is worth what it is worth with these guesses.
"""
from __future__ import annotations

import re

import pandas as pd

SLICES = ("identifier", "paraphrase", "exclusion", "temporal", "multi_evidence")
IDENTIFIER = re.compile(r"\b[A-Z]{1,4}(?:-[A-Z]{1,4})*-\d+\b|§\s*\d+")
EXCLUSION = re.compile(r"\b(except\w*|exempt\w*|exclud\w*|exclusion\w*|unless|waive\w*|derogat\w*|other than|apart from|does(?: not|n't) apply|"
                       r"not apply|still (?:have to|need|required)|regardless|even if)\b", re.IGNORECASE)
TEMPORAL = re.compile(r"\b(1[0-9]{3}|2[0-9]{3}|before|after|since|until|currently|at present|now|in force|effective|no longer|used to|formerly|"
                      r"changed?|latest|today|on \d{1,2} \w+|as of)\b", re.IGNORECASE)
SEVERAL = re.compile(r"\b(both|as well as|together with|which (?:documents|steps|rules)|what (?:steps|approvals|documents)|"
                     r"and (?:who|how|what|which|when|where))\b", re.IGNORECASE)
RULES = (("identifier", IDENTIFIER), ("exclusion", EXCLUSION), ("temporal", TEMPORAL), ("multi_evidence", SEVERAL))


def told(question: str) -> str:
    """The slice that the first rule to fit gives; a question that none fits is a paraphrase.

    >>> told("What does HR-12 say on leave?"), told("Who need not wear a badge, apart from visitors?"), told("How many days off do I get?")
    ('identifier', 'exclusion', 'paraphrase')
    """
    return next((name for name, rule in RULES if rule.search(question)), "paraphrase")


def confusion(questions: pd.DataFrame) -> pd.DataFrame:
    """How often each true slice is told as which: slice, told, questions, share of the slice; pairs that do not occur are rows of 0."""
    counts = questions.assign(told=questions["question"].map(told)).groupby(["slice", "told"]).size()
    names = list(dict.fromkeys([*SLICES, *questions["slice"]]))
    true = [s for s in names if s in set(questions["slice"])]
    rows = [(s, t, int(counts.get((s, t), 0))) for s in true for t in names]
    table = pd.DataFrame(rows, columns=["slice", "told", "questions"])
    return table.assign(share=table["questions"] / table.groupby("slice")["questions"].transform("sum"))
