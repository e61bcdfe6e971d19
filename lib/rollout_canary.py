"""A canary: who meets the new reranker first, that only the order differs, and a stopping rule that keeps its level however often one looks.

Document 001: canary against frozen candidate sets before retrieval is changed, then end to end; monitor by slice. The rule is a test by betting (Waudby-Smith
and Ramdas, "Estimating means of bounded random variables by betting", 2024): start with a capital of 1 and bet, question by question, against the claim that
the reranker is harmless. Under that claim no betting wins in the long run: the capital ever reaches 1 / alpha with chance alpha at most (Ville's inequality),
so one may look after every question and stop at will.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib.rollout_parameters import Canary
from lib.rollout_replay import Replay
from lib.viability_lists import KEY
from lib.viability_requirement import EVERY

LOOKS = ["dataset", "slice", "looked", "n", "mean", "harm_capital", "gain_capital", "needed_capital", "verdict"]
STOP, PROMOTE, ON = "stop and roll back", "promote", "go on"
BOLDEST = 0.5  # share of the capital that one bet may lose


def lot(dataset: str, qid: str, seed: int) -> float:
    """A number in [0, 1) that a question always draws: from the sha256 of seed and ids, so the same question meets the same system.

    >>> lot("d", "q", 1) == lot("d", "q", 1), lot("d", "q", 1) == lot("d", "q", 2)
    (True, False)
    """
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{dataset}\x1f{qid}".encode()).digest()[:6], "big") / 256**6


def assigned(questions: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """dataset, qid, lot of the canary: the questions whose lot is under ``share``, in the order of their lots; a larger share holds a smaller one."""
    if not 0 < share <= 1:
        raise ValueError(f"a share of the questions lies in (0, 1], got {share!r}")
    keys = questions[KEY].drop_duplicates()
    drawn = keys.assign(lot=[lot(d, q, seed) for d, q in keys.itertuples(index=False)])
    return drawn[drawn["lot"] < share].sort_values(["lot", *KEY], ignore_index=True)


def frozen(before: Sequence[Replay], after: Sequence[Replay]) -> int:
    """How many questions differ in their order alone; ValueError where a question, a candidate, a first-stage score or a filter differs."""
    left, right = ({(r["dataset"], r["qid"]): r for r in side} for side in (before, after))
    if left.keys() != right.keys():
        raise ValueError(f"question {min(left.keys() ^ right.keys())} is on one side alone; a frozen canary asks the same questions twice")
    for key in left:
        a, b = left[key], right[key]
        pairs = {"candidate_set": (a["candidate_set"], b["candidate_set"]), "filters": (a["filters"], b["filters"]), "query": (a["query"], b["query"]),
                 "first-stage scores": ([r[:2] for r in a["candidates"]], [r[:2] for r in b["candidates"]]), "places": (a["places"], b["places"])}
        if changed := [name for name, (x, y) in pairs.items() if x != y]:
            raise ValueError(f"question {key}: {changed[0]} differs, so more than the order was changed; freeze the candidates first")
    return sum(left[key]["order"] != right[key]["order"] for key in left)


def capital(losses: Sequence[float], claim: float) -> np.ndarray:
    """The capital after each question of a bet against "the mean of ``losses`` (in [0, 1]) is at most ``claim``"; bets adapt to the mean and variance so far.

    >>> capital([1.0, 1.0], 0.5).round(3).tolist(), capital([0.0], 0.5).tolist()
    ([1.0, 1.5], [1.0])
    """
    values = np.asarray(losses, float)
    if len(values) and not (0 <= values.min() and values.max() <= 1) or not 0 < claim < 1:
        raise ValueError(f"losses in [0, 1] and a claim in (0, 1) are needed, got {values.min()} to {values.max()} and {claim}")
    made, money, total, squares = [], 1.0, 0.5, 0.25  # one question's worth of not knowing
    for n, value in enumerate(values, 1):
        mean, variance = total / n, squares / n
        lead = mean - claim
        bet = min(max(lead / (variance + lead**2), 0.0), BOLDEST / claim)  # Kelly's bet, roughly; made before the question is seen
        money *= 1 + bet * (value - claim)
        made.append(money)
        total += value
        squares += (value - total / (n + 1)) ** 2
    return np.array(made)


def watched(changes: pd.DataFrame, membership: pd.DataFrame, how: Canary) -> pd.DataFrame:
    """``LOOKS``: the canary after every ``look_every`` questions (and the last), a slice at a time and ``all``.

    ``changes``: dataset, qid, change (new - old of the measure, in [-1, 1]) in order of arrival; missing values are left out. Stops when the capital bet
    against "the mean loss is ``harm`` at most" reaches what is needed, promotes when the one against "there is no mean gain" does; stopping comes first, and
    what a slice has once said it keeps. ``all`` has a whole ``alpha``, and a second one is shared out over the data set's slices: a harmless reranker (a mean
    loss of at most ``harm``, in all and in each slice) is stopped anywhere with chance 2 alpha at most (Ville's inequality and the union bound).
    """
    rows = changes.dropna(subset=["change"]).reset_index(drop=True)
    member = membership[[*KEY, "slice"]].drop_duplicates()
    parts = [((d, EVERY), part) for d, part in rows.groupby("dataset", sort=False)]
    by = rows.reset_index().merge(member, on=KEY).sort_values("index")
    slices = list(by.groupby(["dataset", "slice"]))
    out = []
    for (dataset, name), part in [*slices, *parts]:
        needed = (len([1 for (d, _), _ in slices if d == dataset]) if name != EVERY else 1) / how.alpha
        values = part["change"].to_numpy(float)
        harm, gain = capital((1 - values) / 2, (1 + how.harm) / 2), capital((1 + values) / 2, 0.5)
        said = ON
        for n in dict.fromkeys([*range(how.look_every, len(values), how.look_every), len(values)]):
            if said == ON:
                said = STOP if harm[n - 1] >= needed else PROMOTE if gain[n - 1] >= needed else ON
            out.append((dataset, name, -(-n // how.look_every), n, values[:n].mean(), harm[n - 1], gain[n - 1], needed, said))
    return pd.DataFrame(out, columns=LOOKS)


def last_looks(looks: pd.DataFrame) -> pd.DataFrame:
    """The look at which each slice was decided, else its last."""
    decided = looks.sort_values("n").assign(open=looks["verdict"] == ON)
    first = decided[~decided["open"]].drop_duplicates(["dataset", "slice"])
    rest = decided[decided["open"]].drop_duplicates(["dataset", "slice"], keep="last").merge(first[["dataset", "slice"]], how="left", indicator=True)
    return pd.concat([first, rest[rest["_merge"] == "left_only"]])[LOOKS].sort_values(["dataset", "slice"], ignore_index=True)
