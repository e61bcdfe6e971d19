"""Redundancy of a generated world: distractors of a pool that give way to retellings of its other distractors."""
from __future__ import annotations

import numpy as np

from lib.worlds_graph import World, stream


def retold(world: World, pools: np.ndarray, hops: int, redundancy: float) -> np.ndarray:
    """Which telling of its passage stands in each place: things and versions, (m, size, 2), of pools (m, size) whose first ``hops`` are gold.

    Version 0 is the passage itself, 1 or more a retelling. Of a pool's d distractors round(``redundancy`` * (d - 1)) give way, in an order drawn
    once a question, each to a retelling of one that stays, in turn: at 1 a single distractor is told d times. Gold is never retold, so that in its
    pool an answer stands in one passage at any setting, and those that stay are a random part, so that they are no harder to tell from gold.

    >>> from lib.worlds_graph import build
    >>> retold(build(0, 60), np.arange(10)[None], 2, 1.0)[0, 2:, 0].tolist().count(2) in (0, 8)
    True
    """
    out = np.stack([pools, np.zeros_like(pools)], axis=2)
    rivals = pools.shape[1] - hops
    given = int(redundancy * (rivals - 1) + 0.5)
    if not given:
        return out
    turn = hops + stream(world.seed, "repeats").random((len(pools), pools.shape[1]))[:, hops:].argsort(axis=1, kind="stable")
    stay, go, row = turn[:, :rivals - given], turn[:, rivals - given:], np.arange(len(pools))[:, None]
    model = np.arange(given) % stay.shape[1]
    out[row, go, 0] = pools[row, stay[:, model]]
    out[row, go, 1] = 1 + np.arange(given) // stay.shape[1]
    return out


def shown(ids: np.ndarray, tellings: np.ndarray) -> np.ndarray:
    """Document ids of things and versions (..., 2): a retelling's is its passage's with r and a number.

    >>> shown(np.array(["d000007"], object), np.array([[0, 0], [0, 2]])).tolist()
    ['d000007', 'd000007r2']
    """
    flat = tellings.reshape(-1, 2).tolist()
    return np.array([f"{ids[t]}r{v}" if v else ids[t] for t, v in flat], object).reshape(tellings.shape[:-1])
