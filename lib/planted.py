"""Rows with a planted mediation: a lesson and a check, clearly a simulation and no reader (SPEC 8: on worlds where the truth is known)."""
from __future__ import annotations

import numpy as np
import pandas as pd


def planted(questions: pd.DataFrame, moved: float = 0.10, lost: float = 0.05, worth: float = 0.45, direct: float = 0.02, interaction: float = 0.0,
            bridge: float = 0.0, seed: int = 0) -> tuple[pd.DataFrame, dict[str, float]]:
    """Outcome rows of two made-up packers, ``new`` and ``old``, on the given questions (dataset, qid), and the true effects.

    ``moved``: how many more answers, as a share of questions, new places in the context (lost on ``lost`` of the questions, gained on moved + lost).
    ``worth``: points of F1 that an answer in the context is worth. ``direct``: what new adds whatever becomes of the answer.
    ``interaction``: how much more the answer is worth in new's contexts. ``bridge``: what another passage adds that tends to come along with the answer,
    and that the rows do not show: with it the estimate must be wrong. Easy questions have both more answers in the context and more right answers, so that
    comparing questions misleads. F1 is 0 or 1. Raises ValueError where a chance would leave [0, 1].

    >>> rows, truth = planted(pd.DataFrame({"dataset": "d", "qid": ["q1", "q2"]}))
    >>> len(rows), round(truth["indirect"], 4), truth["direct"]
    (4, 0.045, 0.02)
    """
    gained, highest = moved + lost, 0.4 + max(worth, worth + interaction) + max(direct, 0) + max(bridge, 0)
    if min(gained, lost) < 0 or gained + lost > 1 or highest > 1 or min(worth, worth + interaction) + min(direct, 0) + min(bridge, 0) < -0.05:
        raise ValueError(f"chances must stay in [0, 1]: got gained {gained}, lost {lost}, highest chance of a right answer {highest:.2f}; take smaller effects")
    rng, n = np.random.default_rng(seed), len(questions)
    asked = questions[["dataset", "qid"]].sort_values(["dataset", "qid"], ignore_index=True)
    ease, kind = rng.random(n), rng.random(n)
    kept = rng.random(n) < 0.25 + 0.7 * ease
    old = np.where(kind < gained, False, np.where(kind < gained + lost, True, kept))
    new = np.where(kind < gained, True, np.where(kind < gained + lost, False, kept))
    luck, parts = rng.random(n), []
    for policy, there, extra in (("old", old, 0.0), ("new", new, interaction)):
        along = np.where(rng.random(n) < 0.5, there, rng.random(n) < 0.5)  # the bridge passage: half the time it goes with the answer
        chance = 0.05 + 0.35 * ease + (worth + extra) * there + direct * (policy == "new") + bridge * along
        drawn = np.where(rng.random(n) < 0.7, luck, rng.random(n))  # most of a reader's luck is the question's
        parts.append(asked.assign(policy=policy, answer_in_context=there.astype(int), gold_coverage=(there + along) / 2, f1=(drawn < chance).astype(float)))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.assign(pack_id="planted", budget=160, reader="planted", precision="none", answer_defined=True, em=rows["f1"], half=0)
    middle = moved / 2 + lost + (1 - gained - lost) * 0.6  # mean of the two shares of answers in the context
    through, besides = moved * (worth + interaction / 2), direct + interaction * middle + bridge * moved / 2
    return rows, {"a": moved, "b": worth + interaction / 2, "interaction": interaction, "indirect": through, "direct": besides, "total": through + besides}
