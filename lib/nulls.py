"""The increment of R2 that chance gives: each question gets the answer-in-context of another one (SPEC 8)."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lib import moments

_BLOCK = 2_000_000  # values permuted at once, 16 MB


def increments(group: pd.DataFrame, values: np.ndarray, n_predictors: int = 2, permutations: int = 2_000, seed: int = 0) -> dict[str, np.ndarray]:
    """R2 increments of the permuted first column of ``values`` over the second, (permutations, scores), under two nulls.

    ``values`` (rows, 2 + scores): answer_in_context, recall_at_5, scores; no value missing. ``group``: dataset, policy and cluster of each
    row. A question gives all its rows' answer-in-context together, policy by policy, to a question of the same data set with the same
    policies, so that how policies go together within a question stays as it is. ``any``: whichever such question. ``equal_recall``: one with
    the same recall as well, so that what answer-in-context owes to recall (by a straight line or not) stays in the null.
    """
    questions, at = np.unique(group["cluster"].to_numpy(str), return_inverse=True)
    policies, column = np.unique(group["policy"].to_numpy(str), return_inverse=True)
    z = moments.scaled(values)
    table = np.zeros((values.shape[1], len(questions), len(policies)))
    table[:, at, column] = z.T
    present = np.zeros(table.shape[1:])
    present[at, column] = 1
    recall = np.zeros(present.shape)
    recall[at, column] = values[:, 1]
    dataset = np.zeros(len(questions))
    dataset[at] = np.unique(group["dataset"].to_numpy(str), return_inverse=True)[1]
    alike = np.column_stack([dataset, present])
    strata = {"any": alike, "equal_recall": np.column_stack([alike, recall])}
    return {name: _increments(table, _codes(kinds), len(values), permutations, seed) for name, kinds in strata.items()}


def _codes(kinds: np.ndarray) -> np.ndarray:
    return np.unique(kinds, axis=0, return_inverse=True)[1].ravel()


def _increments(table: np.ndarray, strata: np.ndarray, n_rows: int, permutations: int, seed: int) -> np.ndarray:
    """The increments from ``table`` (variables, questions, policies) of scaled values, 0 where there is no row."""
    others = table[1:].reshape(len(table) - 1, -1)
    r_recall = others[1:] @ others[0] / n_rows  # of each score with recall
    found = []
    for order in _orders(strata, permutations, seed, _BLOCK // max(table[0].size, 1)):
        r = table[0][order].reshape(len(order), -1) @ others.T / n_rows  # with recall, then with each score
        own = 1 - r[:, :1] ** 2
        found.append((r[:, 1:] - r_recall * r[:, :1]) ** 2 / np.where(own > moments.CONSTANT, own, np.nan))
    return np.vstack(found)


def _orders(strata: np.ndarray, permutations: int, seed: int, block: int) -> Iterator[np.ndarray]:
    """Blocks of permutations of the questions, (block, questions), that leave each within its stratum."""
    generator, block = np.random.default_rng(seed), max(block, 1)
    members = [np.flatnonzero(strata == s) for s in np.unique(strata)]
    for start in range(0, permutations, block):
        order = np.empty((min(block, permutations - start), len(strata)), int)
        for chosen in members:
            order[:, chosen] = generator.permuted(np.tile(chosen, (len(order), 1)), axis=1)
        yield order
