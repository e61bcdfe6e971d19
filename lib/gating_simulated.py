"""Lists whose chance of harm is known: a stand-in world to teach the gate's promises on, and to test them with (document 002, section 6).

Each question has an *ease* in [0, 1]. Given the ease, the places of its target in H and in the reranked list R are drawn independently, so the chance that
a skip harms is a product that can be written down. The gate never sees the ease, only its noisy traces: gaps between scores, agreement of the lists, one
direction of the vectors. Given the ease, nothing that it sees depends on where the target stands, else the chance that can be written down would not be the
chance of the questions that it picks: passages are told apart by ids, and titles say nothing of the target.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib.gating_inputs import COLUMNS, FitDistilled
from lib.keys import check_once
from lib.whole import check_seed, check_whole, is_number

PLACES = 10
VECTOR = 16
WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)  # of V against H in the distilled list
WORDS = ("Who keeps the lighthouse at {}?", "Which river is longer, the {} or the Marl?", "How many ships left {}?", "Where was the founder of {} born?")


class Simulated(NamedTuple):
    """Inputs as ``question_sets`` takes them, and ``truth``: dataset, qid, k, p_harm, p_beneficial, given the ease, for the fallback H."""

    lists: pd.DataFrame
    targets: pd.DataFrame
    questions: pd.DataFrame
    vectors: np.ndarray
    fit_distilled: FitDistilled
    truth: pd.DataFrame


def chance_of_hit(ease: np.ndarray, k: int, which: str) -> np.ndarray:
    """Chance that the target is among the first ``k`` of H, V or R: a truncated geometric place, times the chance to be there at all."""
    there, rate = {"H": (0.5 + 0.5 * ease, 0.1 + 0.88 * ease), "V": (0.5 + 0.4 * ease, 0.1 + 0.6 * ease), "R": (0.8 + 0.2 * ease, 0.5 + 0.48 * ease)}[which]
    return there * (1 - (1 - rate) ** np.minimum(k, PLACES)) / (1 - (1 - rate) ** PLACES)


def simulated(n: int, seed: int = 0, dataset: str = "simulated", signal: float = 1.0, ks: Sequence[int] = (1, 5, 10)) -> Simulated:
    """``n`` questions; ``signal`` 0: nothing that the gate sees tells easy from hard. Raises ValueError for n < 1, a seed, K or signal that is none."""
    check_whole("n", n, 1)
    check_seed(seed)
    for k in ks:
        check_whole("k", k, 1)
    if not is_number(signal):
        raise ValueError(f"signal must be a number, got {signal!r}")
    rng = np.random.default_rng(seed)
    ease = rng.beta(0.4, 0.4, size=n)  # most questions are clearly easy or clearly hard
    qids = np.array([f"{dataset}-{i:05d}" for i in range(n)])
    place = {name: _place(ease, name, rng) for name in ("H", "V", "R")}
    seen = signal * ease + 0.25 * rng.normal(size=(3, n))  # three traces, each with noise of its own
    docs = {"H": np.tile(np.arange(PLACES), (n, 1)), "R": rng.permuted(np.tile(np.arange(PLACES), (n, 1)), axis=1)}
    docs["V"] = np.where(rng.random((n, PLACES)) < 0.2 + 0.6 * np.clip(seen[2], 0, 1)[:, None], docs["H"], docs["H"] + 2 * PLACES)
    lists = pd.concat([_list(dataset, qids, name, docs[name], place[name], seen[i], rng) for i, name in enumerate(("H", "V", "R"))], ignore_index=True)
    targets = pd.DataFrame({"dataset": dataset, "qid": qids, "doc_id": [f"{q} target" for q in qids], "title": [f"Target of {q}" for q in qids]})
    asked = [WORDS[i % len(WORDS)].format(f"place {i}") for i in range(n)]
    vectors = rng.normal(size=(n, VECTOR)) + np.outer(2 * signal * (ease - 0.5), np.eye(VECTOR)[0])
    chance = {(name, k): chance_of_hit(ease, k, name) for name in ("H", "R") for k in ks}
    truth = pd.concat([pd.DataFrame({"dataset": dataset, "qid": qids, "k": k, "p_harm": chance["R", k] * (1 - chance["H", k]),
                                     "p_beneficial": (1 - chance["R", k]) * chance["H", k]}) for k in ks], ignore_index=True)
    return Simulated(lists, targets, pd.DataFrame({"dataset": dataset, "qid": qids, "question": asked}), vectors, _distiller(lists), truth)


def _place(ease: np.ndarray, which: str, rng: np.random.Generator) -> np.ndarray:
    """Place of the target, from 0; PLACES where it is not in the list."""
    u = rng.random(len(ease))
    upto = np.column_stack([chance_of_hit(ease, k, which) for k in range(1, PLACES + 1)])
    return (u[:, None] >= upto).sum(axis=1)


def _list(dataset: str, qids: np.ndarray, name: str, docs: np.ndarray, place: np.ndarray, seen: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    n = len(qids)
    steps = rng.exponential(0.05, size=(n, PLACES))
    steps[:, 0] += np.maximum(0, seen) * 0.4  # easy questions: a clear first place
    scores = (0.3 + steps[:, ::-1].cumsum(axis=1)[:, ::-1]).round(6)
    target = np.arange(PLACES) == place[:, None]
    question = np.repeat(qids, PLACES)
    ids = np.where(target.ravel(), [f"{q} target" for q in question], [f"{q} d{d}" for q, d in zip(question, docs.ravel())])
    titles = np.array([f"Title {d} of {q}" for q, d in zip(question, docs.ravel())])  # not of the target: where it stands must not show in the lists' agreement
    return pd.DataFrame({"dataset": dataset, "qid": question, "list": name, "rank": np.tile(np.arange(1, PLACES + 1), n), "doc_id": ids, "title": titles,
                         "score": scores.ravel()})[COLUMNS]


def _distiller(lists: pd.DataFrame) -> FitDistilled:
    """D: H and V fused by reciprocal rank; the weight between them is the one whose first place agrees most often with R's on the training questions."""
    wide = lists[lists["list"] != "R"].pivot_table(index=["qid", "doc_id"], columns="list", values="rank")
    shares = (1 / (1 + wide)).fillna(0)
    fused = {w: _ranked(((1 - w) * shares["H"] + w * shares["V"])) for w in WEIGHTS}
    first = lists[(lists["list"] == "R") & (lists["rank"] == 1)].set_index("qid")["doc_id"]
    agrees = pd.DataFrame({w: d[d["rank"] == 1].set_index("qid")["doc_id"].eq(first) for w, d in fused.items()})

    def fit(dataset: str, train: Sequence[str], ahead: Sequence[str]) -> pd.DataFrame:
        best = agrees.loc[list(train)].mean().idxmax()
        return fused[best][fused[best]["qid"].isin(ahead)]

    return fit


def _ranked(scores: pd.Series) -> pd.DataFrame:
    rows = scores.rename("score").reset_index().sort_values(["qid", "score", "doc_id"], ascending=[True, False, True], ignore_index=True)
    return rows.assign(rank=rows.groupby("qid").cumcount() + 1, title=rows["doc_id"])


def beside_truth(decisions: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """What a gate promised, what came out, and what its skips cost in truth.

    Columns: dataset, k, rule, skip (share), expected, realised and true harm (pp), delta and true_delta (pp), n.
    ``truth``: as ``simulated`` gives it, for the fallback H; raises ValueError where a question falls back on D, whose chances nobody has written down,
    and for a question given twice.
    """
    check_once(decisions, ["dataset", "qid", "k", "rule"], "decisions")
    check_once(truth, ["dataset", "qid", "k"], "truth")
    if (decisions["fallback"] == "D").any():
        raise ValueError("decisions: the truth is known for the fallback H alone; run the protocol without a distilled list")
    rows, hits = decisions.merge(truth, on=["dataset", "qid", "k"], suffixes=("", "_true")), ("rerank_hit", "h_hit")
    rerank, h = (rows[c].to_numpy(float) for c in hits)
    changes = {"expected": rows["p_harm"].fillna(0), "realised": rerank * (1 - h), "true": rows["p_harm_true"], "delta": h - rerank,
               "true_delta": rows["p_beneficial"] - rows["p_harm_true"]}
    made = pd.DataFrame({name: 100 * values * rows["skip"].astype(float) for name, values in changes.items()})
    key = ["dataset", "k", "rule"]
    table = rows[key].join(made).assign(skip=rows["skip"].astype(float), n=1).groupby(key)
    return table[["skip", *changes]].mean().join(table["n"].sum()).reset_index()
