"""Two simulated assessors whose disagreement is known, because their confusion is a parameter (document 001: "record assessor disagreement").

An assessor is a matrix: for each true label (row) the chance of each label given (column), in the order of `judgements_records.LABELS`. The truth is the
recorded judgement. A draw depends on seed, assessor, question and passage alone, so that no other row and no order changes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import judgements_agreement as agree
from lib import stats
from lib.judgements_records import EVIDENCE, LABELS
from lib.ranking import QUESTION

ADJUDICATED = "adjudicated"
GRADE = {"supportive": 2, "bundle": 2, "topical": 1, "contradictory": 0}  # of a label that is not the recorded one
CAREFUL = (
    (0.90, 0.05, 0.03, 0.00, 0.02),
    (0.05, 0.88, 0.04, 0.00, 0.03),
    (0.03, 0.02, 0.91, 0.02, 0.02),
    (0.01, 0.00, 0.03, 0.94, 0.02),
    (0.10, 0.10, 0.10, 0.10, 0.60),
)
HASTY = (  # judges by "looks related": misses what qualifies, takes the superseded for the rule
    (0.80, 0.05, 0.13, 0.01, 0.01),
    (0.17, 0.62, 0.18, 0.01, 0.02),
    (0.16, 0.03, 0.78, 0.01, 0.02),
    (0.14, 0.02, 0.22, 0.60, 0.02),
    (0.25, 0.10, 0.40, 0.05, 0.20),
)
ASSESSORS = {"careful": CAREFUL, "hasty": HASTY}


def confusion(rows: Sequence[Sequence[float]], name: str = "assessor") -> np.ndarray:
    """A confusion matrix, checked: a row a true label, each a distribution over the labels; ValueError says which is none."""
    matrix = np.asarray(rows, float)
    if matrix.shape != (len(LABELS), len(LABELS)):
        raise ValueError(f"{name}: a confusion matrix has {len(LABELS)} rows and columns ({', '.join(LABELS)}), got shape {matrix.shape}")
    for label, row in zip(LABELS, matrix):
        if not ((row >= 0).all() and abs(row.sum() - 1) < 1e-9):
            raise ValueError(f"{name}: the row of true label {label!r} must hold chances that sum to 1, got {row.tolist()}")
    return matrix


def given(judged: pd.DataFrame, matrix: Sequence[Sequence[float]], name: str, seed: int = 0) -> pd.Series:
    """The label that one assessor gives to each row of ``judged`` (dataset, qid, doc_id, label: the truth)."""
    limits = np.cumsum(confusion(matrix, name), axis=1)
    keys = zip(*(judged[c].astype(str) for c in (*QUESTION, "doc_id")))
    drawn = [int.from_bytes(hashlib.blake2b("\0".join((str(seed), name, *key)).encode(), digest_size=7).digest(), "big") / 2**56 for key in keys]
    truth = judged["label"].map({label: at for at, label in enumerate(LABELS)}).to_numpy()
    return pd.Series(
        [LABELS[min(int(np.searchsorted(limits[t], u, side="right")), len(LABELS) - 1)] for t, u in zip(truth, drawn)], judged.index, dtype=object
    )


def adjudicated(truth: pd.Series, one: pd.Series, other: pd.Series) -> pd.Series:
    """Labels after adjudication: where both agree, theirs, right or wrong; else the truth, for the adjudicator is taken to be right (or as uncertain)."""
    return one.where(one == other, truth)


def relabelled(judged: pd.DataFrame, labels: pd.Series, assessor: str) -> pd.DataFrame:
    """``judged`` as another assessor would have it: a label that is the recorded one keeps its grade, role and bundles.

    Another label gets its usual grade (``GRADE``); what was taken for no evidence loses role and bundles, and what was taken for evidence has none to gain.
    """
    same = (labels == judged["label"]).to_numpy()
    evidence = labels.isin(EVIDENCE).to_numpy()
    grades = judged["grade"].astype("Int64").where(same, labels.map(GRADE).astype("Int64"))
    kept = [list(b) if e or label == "uncertain" else [] for b, e, label in zip(judged["bundles"], evidence, labels)]
    return judged.assign(label=labels, grade=grades.mask(labels == "uncertain"), role=judged["role"].where(evidence), bundles=kept, assessor=assessor)


def assessed(judged: pd.DataFrame, assessors: Mapping[str, Sequence[Sequence[float]]] = ASSESSORS, seed: int = 0) -> pd.DataFrame:
    """The judgements of two simulated assessors and of their adjudication beside the recorded ones, long, in the form of the judgements table.

    ``judged``: one recorded assessor's. ValueError unless there are two assessors, or where one is called as a recorded one is.
    """
    if len(assessors) != 2 or set(assessors) & {ADJUDICATED, *judged["assessor"]}:
        raise ValueError(f"two assessors with names of their own are needed, got {list(assessors)} beside {sorted(set(judged['assessor']))}")
    said = {name: given(judged, matrix, name, seed) for name, matrix in assessors.items()}
    said[ADJUDICATED] = adjudicated(judged["label"], *said.values())
    return pd.concat([judged, *(relabelled(judged, labels, name) for name, labels in said.items())], ignore_index=True)


def agreement_table(
    every: pd.DataFrame, recorded: str, assessors: Mapping[str, Sequence[Sequence[float]]], tier: str, resamples: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """The table judgement_agreement: agreement as found, with intervals over questions, beside the value that the confusion matrices make us expect.

    ``both_wrong``: both give the same wrong label. ``alpha_without_uncertain`` leaves out passages that one of them called uncertain, and ``left_out``
    counts them.
    """
    rows = []
    matrices = [confusion(matrix, name) for name, matrix in assessors.items()]
    for dataset, part in every.groupby("dataset"):
        wide = part.pivot(index=["qid", "doc_id"], columns="assessor", values="label").reset_index()
        one, other, truth = (list(wide[name]) for name in (*assessors, recorded))
        shares = np.array([truth.count(label) for label in LABELS]) / len(truth)
        expected = agree.expected_pairs(shares, *matrices)
        found = agree.agreement_intervals(one, other, wide["qid"], LABELS, resamples, seed)
        hoped = agree.agreement(expected, len(truth))
        rows += [(dataset, name, getattr(hoped, name), *found[name][:3], found[name].n, found[name].clusters, 0) for name in agree.Agreement._fields]
        known = [at for at in range(len(wide)) if "uncertain" not in (one[at], other[at])]
        if known:
            least = agree.agreement_intervals([one[at] for at in known], [other[at] for at in known], wide["qid"].iloc[known], LABELS[:4], resamples, seed)[
                "alpha"
            ]
            rows.append(
                (
                    dataset,
                    "alpha_without_uncertain",
                    agree.agreement(expected[:4, :4], len(known)).alpha,
                    *least[:3],
                    least.n,
                    least.clusters,
                    len(wide) - len(known),
                )
            )
        wrong = stats.mean_interval([float(a == b != t) for a, b, t in zip(one, other, truth)], wide["qid"], resamples, seed)
        rows.append((dataset, "both_wrong", agree.expected_wrong(shares, *matrices), *wrong[:3], wrong.n, wrong.clusters, 0))
    columns = ["dataset", "measure", "expected", "estimate", "ci_low", "ci_high", "n", "clusters", "left_out"]
    return pd.DataFrame(rows, columns=columns).assign(tier=tier, first=list(assessors)[0], second=list(assessors)[1])
