"""The open choices of the graph list H, each with its value and what it means (document 002; SPEC 10, 12).

Document 002 takes its list H from HippoRAG 2 as it is: open triples by a large language model, filtered by it, over an encoder of seven thousand million
parameters. Here spaCy makes the triples, nothing filters them, and the encoders are small; what that leaves open is chosen below.

How it was chosen: mean of recall@5 and LastHop@5 over 2Wiki (2,285 passages) and MuSiQue (2,883) on half 0 of each; half 1 confirms (graph_ablations).
Damping 0.3, 0.5, 0.7, 0.85 (0.93 is slower and was tried on 2Wiki alone), seeds of three kinds, synonyms from 0.7, 0.8, 0.9 or none, relations weighted 0,
0.3, 1, topics on and off, specificity on and off, a passage share of 0 to 0.5, 10, 50 or all passages, 5 or 10 triples, titles that the parser cut put back
(no gain: left out). What moved the measure: damping, the kind of seeds, the passage share. Synonyms, topics and specificity moved it by little and stayed as
HippoRAG 2 has them. So did the relations, which SPEC 10 asks for, though without them the measure is higher on half 0 (relation 0 in graph_ablations):
triples without a filter draw edges that lead astray.
"""
from __future__ import annotations

from typing import NamedTuple

from lib.whole import is_number, is_whole

SEEDS = ("names", "triples", "both")


class Choices(NamedTuple):
    """One setting of the graph list; the defaults are the list that is called ``graph``."""

    damping: float = 0.85           # chance to walk on along an edge; 1 - damping: to start again at a seed (HippoRAG 2: 0.5)
    synonym: float = 0.8            # two names are synonyms from this cosine on (HippoRAG 2: 0.8); above 1: no synonym edge
    synonyms_each: int = 10         # most synonyms of a name
    relation: float = 1.0           # weight of an edge a triple draws between its two phrases; 0: none
    topic: bool = True              # "it", "she" and "the mill" as subjects stand for the passage's title
    seeds: str = "names"            # phrases the walk starts from: names of the question (HippoRAG 1), phrases of the triples nearest to it (2), both
    triples: int = 5                # triples nearest to the question (HippoRAG 2: 5)
    link: float = 0.8               # a name of the question that the graph lacks stands for its nearest name from this cosine on
    specific: bool = True           # a seed's weight is divided by the number of passages that hold it (HippoRAG 2 does)
    passage_share: float = 0.2      # share of the walk's starts that lie on passages near the question, in [0, 1]
    passages: int = 50              # how many of them, weighted by their cosine above that of the next (HippoRAG 2: all)


CHOSEN = Choices()


def checked(choices: Choices) -> Choices:
    """``choices``; raises ValueError for the first that cannot be.

    >>> checked(Choices()).damping
    0.85
    """
    shares = {"damping": (0, 0.999), "passage_share": (0, 1), "synonym": (0, 2), "link": (0, 2), "relation": (0, 1000)}
    for name, (low, high) in shares.items():
        value = getattr(choices, name)
        if not is_number(value, low) or value > high:
            raise ValueError(f"{name} must be a number from {low} to {high}, got {value!r}; see lib.graph_list_choices")
    for name in ("synonyms_each", "triples", "passages"):
        if not is_whole(getattr(choices, name), 1):
            raise ValueError(f"{name} must be a whole number of 1 or more, got {getattr(choices, name)!r}; see lib.graph_list_choices")
    if choices.seeds not in SEEDS:
        raise ValueError(f"seeds must be one of {', '.join(SEEDS)}, got {choices.seeds!r}; see lib.graph_list_choices")
    return choices
