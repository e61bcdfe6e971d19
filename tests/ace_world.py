"""Passages with the traps of merging and of naming, and a parser of a few lines in spaCy's place: what the tests of ACE share."""
import re

import pandas as pd

from lib import ace_claims, ace_parse, text

TEXTS = {  # doc_id: title, text
    "vane": ("Isott Vane", "The engineer Isott Vane was born in Gedney Hythe in 1702. She drew the Old Bridge of Tollwick. Nobody paid her. Vane died poor."),
    "bridge": ("Old Bridge", "The Old Bridge of Tollwick was drawn by Isott Vane; it stands on five arches. It closed in 1983."),
    "other": ("Old Bridge", "The Old Bridge of Dravitsa is made of larch. It closed in 1983."),
    "hythe": ("Gedney Hythe", ("Gedney Hythe is a village. The engineer Isott Vane was born in Gedney Hythe in 1702. "
                               "The engineer Isott Vane was not born in Gedney Hythe in 1702.")),
    "elmer": ("Elmer Vane", "Elmer Vane keeps bees. Isott Vane was born in Gedney Hythe in 1703.Nobody else was."),
    "empty": ("Nothing", ""),
}
WORDS = {"she": "person", "he": "person", "it": "thing", "that": "that", "nobody": "other"}


class Rules:
    """Sentences, cut at semicolons, are claims; runs of capitalised words are names; the first word or the first run is the subject."""

    name = "rules"

    def __init__(self):
        self.asked = []

    def parse(self, body, sentences):
        self.asked.append(body)
        runs = re.finditer(r"(?!The |She |It |He |Nobody)[A-Z]\w+(?: (?:of )?[A-Z]\w+)*", body)
        names = [[m.start(), m.end(), "PERSON" if "Vane" in m[0] else ""] for m in runs]
        claims = []
        for a, b in sentences:
            for m in re.finditer(r"[^;]+", body[a:b]):
                start = a + m.start() + len(m[0]) - len(m[0].lstrip())
                claims.append([start, a + m.end(), *self._subject(body, start, names)])
        return {"claims": claims, "names": names}

    def _subject(self, body, start, names):
        first = re.match(r"\w+", body[start:])[0]
        if kind := WORDS.get(first.lower()):
            return [kind, start, start + len(first)]
        run = next(([a, b] for a, b, _ in names if start <= a <= start + 13), None)
        return ["name", start, run[1]] if run else ["definite" if first == "The" else "other", start, start + len(first)]


def documents(texts=TEXTS, dataset="ondrell"):
    return pd.DataFrame([(dataset, d, t, body, [list(s) for s in text.split_sentences(body)]) for d, (t, body) in texts.items()],
                        columns=["dataset", "doc_id", "title", "text", "sentences"])


def passages(texts=TEXTS, **settings):
    rows = documents(texts)
    return ace_claims.passages(rows, ace_parse.parses(rows, Rules(), None), **settings)
