"""A notebook's answer where it has several parts: each under its question, a point a data set, so that it can be read at a glance."""
from __future__ import annotations

import re
from collections.abc import Mapping

NEXT = re.compile(r"(?<=[.)]) (?=(?:On|Over all) )")  # where the next data set's sentences begin


def answered(parts: Mapping[str, str], tier: str) -> str:
    """Markdown of question -> answer, bold questions first; an answer that speaks of several data sets becomes a list. Empty answers are left out.

    >>> print(answered({"Is it?": "On A yes. It is. On B no.", "Why?": ""}, "sample"))
    **Is it?**
    <BLANKLINE>
    - On A yes. It is.
    - On B no.
    <BLANKLINE>
    *(tier: sample)*
    """
    told = []
    for question, answer in parts.items():
        points = [p for p in NEXT.split(answer.strip()) if p]
        if points:
            told.append(f"**{question}**" + (f" {points[0]}" if len(points) == 1 else "\n\n" + "\n".join(f"- {p}" for p in points)))
    return "\n\n".join([*told, f"*(tier: {tier})*"])
