"""Does packing help, does the representation help, and does the one depend on the other: {chunk, ace} x packers (SPEC 10; document 000, section 4.3)."""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from lib import diagnostics, stats
from lib.parts import halves

PREFIX = {"chunk": "", "ace": "ace_"}  # document 000's names of its policies
PACKERS = ("focused", "mmr", "submod")
SEVEN = ("naive", "focused", "mmr", "submod", "ace_focused", "ace_mmr", "ace_submod")
ORACLES = {"oracle": tuple(p for p in SEVEN if p != "ace_mmr"), "oracle_of_seven": SEVEN}  # 000 does not say whether ace_mmr was in its oracle
FACTORIAL = ["tier", "dataset", "budget", "reader", "precision", "half", "kind", "treatment", "control", "metric", "delta", "ci_low", "ci_high", "p_value",
             "p_holm", "mde", "n", "clusters"]


def arms(outcomes: pd.DataFrame, packs: Mapping[str, str]) -> pd.DataFrame:
    """Rows of both representations as arms of one pack "factorial": policies submod, ace_submod and so on.

    ``packs`` maps chunk and ace to their pack_id. Raises ValueError where a representation or its rows are missing.
    """
    if set(packs) != set(PREFIX):
        raise ValueError(f"packs must name a pack_id for each of {', '.join(PREFIX)}, got {dict(packs)}")
    parts = [outcomes[outcomes["pack_id"] == packs[r]].assign(policy=lambda t, p=prefix: p + t["policy"]) for r, prefix in PREFIX.items()]
    if lacking := [packs[r] for r, part in zip(PREFIX, parts) if part.empty]:
        raise ValueError(f"outcomes hold no row of pack_id {', '.join(lacking)}; there are {', '.join(sorted(set(outcomes['pack_id'])))}")
    return pd.concat(parts, ignore_index=True).assign(pack_id="factorial")


def oracles(arms: pd.DataFrame, measure: str = "answer_in_context") -> pd.DataFrame:
    """Per question the best arm by ``measure``, over the published six policies and with ace_mmr (ORACLES): headroom, not a method."""
    made = [diagnostics.oracle(arms, list(names), measure).assign(policy=oracle) for oracle, names in ORACLES.items()]
    return pd.concat(made, ignore_index=True)


def deltas(wide: pd.DataFrame, packers: Sequence[str] = PACKERS) -> dict[tuple[str, str, str], pd.Series]:
    """(kind, treatment, control) -> difference per question, from one metric as a table questions x arms; contrasts whose arms are absent are left out.

    Kinds: packer (within a representation), representation (within a packer), anchor (against naive on chunks), interaction: how much more the
    treatment packer gains over the control packer on ace than on chunks. Below zero, packing and the graph substitute each other.

    >>> one = pd.DataFrame([[0.0, 1.0, 0.5, 0.5]], columns=["focused", "submod", "ace_focused", "ace_submod"])
    >>> deltas(one)["interaction", "ace_submod - ace_focused", "submod - focused"].tolist()
    [-1.0]
    """
    found: dict[tuple[str, str, str], pd.Series] = {}
    for control, treatment in itertools.combinations([p for p in packers if {p, f"ace_{p}"} & set(wide)], 2):
        steps = {prefix: (prefix + treatment, prefix + control) for prefix in PREFIX.values() if {prefix + treatment, prefix + control} <= set(wide)}
        found |= {("packer", t, c): wide[t] - wide[c] for t, c in steps.values()}
        if len(steps) == 2:
            (t, c), (ace_t, ace_c) = steps.values()
            found["interaction", f"{ace_t} - {ace_c}", f"{t} - {c}"] = (wide[ace_t] - wide[ace_c]) - (wide[t] - wide[c])
    found |= {("representation", f"ace_{p}", p): wide[f"ace_{p}"] - wide[p] for p in ("naive", *packers) if {p, f"ace_{p}"} <= set(wide)}
    found |= {("anchor", arm, "naive"): wide[arm] - wide["naive"] for arm in wide if arm != "naive" and arm.removeprefix("ace_") in packers and "naive" in wide}
    return found


def factorial(outcomes: pd.DataFrame, packs: Mapping[str, str], metrics: Sequence[str], tier: str, packers: Sequence[str] = PACKERS,
              resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Every contrast of the factorial (FACTORIAL), paired by question, on every half; with several data sets also over all their questions.

    One draw of the questions serves a whole panel (data set, budget, reader, half); Holm over its contrasts and metrics. ``outcomes`` needs dataset,
    qid, pack_id, policy, budget, reader, precision, half, answer_defined; a question counts where every arm of a contrast has a value.
    """
    rows = arms(outcomes, packs)
    rows = rows.assign(answer_in_context_defined=rows["answer_in_context"].where(rows["answer_defined"].astype(bool)))
    out = []
    for half, part in halves(rows):
        for dataset, group in _sets(part):
            for panel, cell in group.groupby(["budget", "reader", "precision"]):
                out += [[tier, dataset, *panel, half, *row] for row in _panel(cell, metrics, packers, resamples, seed)]
    return pd.DataFrame(out, columns=FACTORIAL)


def _sets(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield from rows.groupby("dataset")
    if rows["dataset"].nunique() > 1:
        yield "all", rows


def _panel(cell: pd.DataFrame, metrics: Sequence[str], packers: Sequence[str], resamples: int, seed: int) -> list[list]:
    found = {}
    for metric in metrics:
        wide = cell.pivot(index=["dataset", "qid"], columns="policy", values=metric).astype("float64")
        found |= {(*key, metric): d for key, d in deltas(wide, packers).items() if d.notna().any()}
    if not found:
        return []
    matrix = pd.DataFrame(found)
    intervals = stats.paired_cluster_bootstraps(matrix.to_numpy(), matrix.index, resamples=resamples, seed=seed)
    adjusted = stats.holm([i.p_value for i in intervals])
    return [[*key, i.estimate, i.low, i.high, i.p_value, holm, _detectable(matrix[key]), i.n, i.clusters] for key, i, holm in zip(found, intervals, adjusted)]


def _detectable(delta: pd.Series) -> float:
    known = delta.dropna()
    return stats.minimum_detectable_effect(known.std(), len(known)) if len(known) > 1 and known.std() else np.nan


def survival_factorial(questions: pd.DataFrame, survived: pd.DataFrame, packs: Mapping[str, str], tier: str,
                       metrics: Sequence[str] = ("answer_in_context", "answer_in_context_defined", "gold_coverage", "n_tokens"), **settings) -> pd.DataFrame:
    """``factorial`` of what survives packing, before any reader (reader ``none``)."""
    rows = survived.merge(questions[["dataset", "qid", "half"]], on=["dataset", "qid"]).assign(reader="none", precision="none")
    return factorial(rows, packs, metrics, tier, **settings)
