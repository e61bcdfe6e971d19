"""``tuned``: the four-term packer whose relevance is learned: the chance that a snippet holds the answer (SPEC 4, beyond document 000).

A forest of small trees, learned on training questions alone (``python -m lib.train_tuned``), gives each candidate its chance; it stands
committed as plain numbers in data/results/models/tuned.json. The packer is document 000's cost-scaled greedy with that chance as modular
term, the other three terms weighted as the card's rule says, and what gains hardly anything left out at the end.
"""
from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lib import submodular, tuned_features
from lib.tuned_card import CARD, TunedError, forest_of, read_card  # noqa: F401 - one name, lib.tuned, for the whole subject
from lib.whole import is_number

if TYPE_CHECKING:
    from lib.candidates import Candidates, Picks

COLUMNS = ("title", "text", "doc_id", "doc_rank", "position", "n_tokens")


def forest_chances(forest: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """The chance of each row of features, in (0, 1): the logistic of the prior and one leaf a tree. Shape (n,)."""
    node = np.broadcast_to(forest["roots"], (len(x), len(forest["roots"])))
    rows = np.arange(len(x))[:, None]
    for _ in range(forest["depth"]):
        goes_left = x[rows, forest["feature"][node]] <= forest["threshold"][node]
        node = np.where(goes_left, forest["left"][node], forest["right"][node])
    return 1 / (1 + np.exp(-(forest["prior"] + forest["value"][node].sum(axis=1))))


def chances(question: str, rows: pd.DataFrame, vectors: np.ndarray, asked: np.ndarray, card: Path = CARD) -> np.ndarray:
    """The chance that each snippet of ``rows`` holds the question's answer, (n,) in (0, 1), order of ``rows`` kept.

    ``rows``: one question's candidates with title, text, doc_id, doc_rank, position and n_tokens; ``vectors`` (n, d) and ``asked`` (d,) unit
    vectors. Raises TunedError for the card, ValueError for a question or snippet that is no text, missing columns or numbers, and vectors that do not fit.
    """
    if not isinstance(question, str):
        raise ValueError(f"a question must be text, got {type(question).__name__} {question!r}; mend the questions table")
    lacking = [c for c in COLUMNS if c not in rows]
    if lacking:
        raise ValueError(f"chances need the candidates' columns {', '.join(COLUMNS)}; {', '.join(lacking)} not there (titles come from table documents)")
    _check_rows(rows)
    if np.shape(vectors)[:1] != (len(rows),) or (len(rows) and np.shape(asked) != np.shape(vectors)[1:]):
        raise ValueError(f"{len(rows)} snippets need as many vectors and one of the question, of equal length; got {np.shape(vectors)} and {np.shape(asked)}")
    if len(rows) and not (np.isfinite(vectors).all() and np.isfinite(asked).all()):
        raise ValueError("a vector holds NaN or infinity; delete data/cache/vectors and encode again")
    forest, found = read_card(card)["forest"], np.zeros(len(rows))
    order = np.lexsort((rows["text"].to_numpy(str), rows["position"], rows["doc_rank"]))  # equal values are broken by place: in one order
    found[order] = forest_chances(forest, tuned_features.matrix(question, rows.iloc[order], np.asarray(vectors)[order], asked))
    return found


def _check_rows(rows: pd.DataFrame) -> None:
    """Raise ValueError for the first candidate without text, document, rank, position or length; a title may be missing."""
    sound = {"text": [isinstance(t, str) for t in rows["text"]], "doc_id": rows["doc_id"].notna()}
    sound |= {c: [is_number(x, 0) for x in rows[c]] for c in ("doc_rank", "position", "n_tokens")}
    for column, right in sound.items():
        if not (right := np.asarray(right, bool)).all():
            at = int(np.flatnonzero(~right)[0])
            raise ValueError(f"candidate {at} of {len(rows)} has {rows[column].iloc[at]!r} for {column}; mend the snippets table (run notebook 02 again)")


def tuned(c: Candidates, budget: float, weights: tuple[float, ...] | None = None, exponent: float | None = None, floor: float | None = None) -> Picks:
    """Cost-scaled greedy on the four-term objective with the learned chance as relevance; picks that gain less than ``floor`` times the best pick are left out.

    What is not given is the card's rule, chosen by cross-validation on training questions. Raises ValueError where ``c.chance`` is None or no chance.
    """
    if c.chance is None:
        raise ValueError(f"packer 'tuned' needs the learned chance of each candidate, and question {c.qid!r} has none: "
                         "fill Candidates.chance with lib.tuned.chances(...)")
    chance = np.asarray(c.chance, float)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError(f"chances must lie in [0, 1] and not be NaN, got {chance.min()} to {chance.max()} for question {c.qid!r}")
    rule = {"weights": weights, "exponent": exponent, "floor": floor}
    if None in rule.values():
        rule = read_card()["rule"] | {k: v for k, v in rule.items() if v is not None}
    if not (math.isfinite(rule["floor"]) and 0 <= rule["floor"] <= 1):
        raise ValueError(f"floor must lie in [0, 1] (0: every pick stays), got {rule['floor']}")
    f = submodular.objective(chance, c.terms, c.similarity, c.document, tuple(rule["weights"]))
    return worthwhile(submodular.fast_greedy(f, c.costs, budget, rule["exponent"]), rule["floor"])


def worthwhile(picks: Picks, floor: float) -> Picks:
    """Picks whose marginal gain is at least ``floor`` times the largest: what adds hardly anything is left out, and its tokens are saved.

    >>> worthwhile([(3, 0.5), (1, 0.2), (7, 0.01)], 0.1)
    [(3, 0.5), (1, 0.2)]
    """
    best = max((gain for _, gain in picks), default=0.0)
    return [(i, gain) for i, gain in picks if gain >= floor * best]
