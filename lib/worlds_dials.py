"""The dials of the generated worlds: their ranges, their values at rest, and how a setting is called."""
from __future__ import annotations

from numbers import Real

from lib.whole import check_whole
from lib.worlds_chains import MOST_HOPS
from lib.worlds_kinds import KINDS
from lib.worlds_text import PARAPHRASED, POSITIONS

LEAST = 60  # documents; fewer hold hardly a chain of four passages
REST = {"hops": 2, "surfacing": 0.5, "redundancy": 0.0, "position": "drawn", "paraphrase": PARAPHRASED}
SHARES = {"surfacing": "the probability that a passage calls its subject what questions call it", "redundancy": "a share of a pool's distractors",
          "paraphrase": "the share of facts told in words that no question uses"}


def dials(**changes: object) -> dict:
    """All five dials, those in ``changes`` turned from their values at rest. Raises ValueError for an unknown dial or a value out of range.

    >>> dials(redundancy=1)["redundancy"], dials()["position"]
    (1, 'drawn')
    """
    if unknown := set(changes) - set(REST):
        raise ValueError(f"no dial is called {min(unknown)!r}; there are {', '.join(REST)}")
    made = REST | changes
    check_whole("hops", made["hops"], 1, MOST_HOPS)
    for name, meaning in SHARES.items():
        value = made[name]
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}; it is {meaning}")
    if made["position"] not in ("drawn", *POSITIONS):
        raise ValueError(f"position must be drawn, {', '.join(POSITIONS)}, got {made['position']!r}; it is where a passage tells its answers")
    return made


def check_size(n_questions: object, seed: object, documents: object) -> None:
    """Raise ValueError for the first of the three that no world can have."""
    check_whole("n_questions", n_questions, 1)
    check_whole("seed", seed, 0)
    check_whole("documents", documents, LEAST)
    if documents % len(KINDS):
        raise ValueError(f"documents must be a multiple of {len(KINDS)}, as many of each kind, got {documents}; take {documents + -documents % len(KINDS)}")


def world_name(hops: int, surfacing: float, redundancy: float = 0.0, position: str = "drawn", paraphrase: float = PARAPHRASED) -> str:
    """The data set's name at one setting of the dials; the three after surfacing are named where they are turned.

    >>> world_name(2, 0.5), world_name(2, 0.5, 0.25, "late")
    ('world_h2_s50', 'world_h2_s50_r25_late')
    """
    told = {f"r{100 * redundancy:g}": redundancy > 0, position: position != "drawn", f"p{100 * paraphrase:g}": paraphrase != PARAPHRASED}
    return "_".join([f"world_h{hops}_s{100 * surfacing:g}", *(name for name, turned in told.items() if turned)])
