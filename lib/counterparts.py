"""Where the counterpart of a published figure stands in a run: one row of a result table, or a figure over pooled outcomes."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib import pooled
from lib.declarations_results import RESULTS

READING = ("f1", "em")


class NotRun(LookupError):
    """A claim has no counterpart in this run; the message is the reason."""


@dataclass(frozen=True)
class Run:
    """What claims are compared with: result tables by name (their value is ``estimate``), the main reader with its number format, the
    pack_id of the published arm, the plan."""

    frames: Mapping[str, pd.DataFrame]
    reader: str
    precision: str
    pack_id: str
    plan: Mapping
    resamples: int = 10_000
    seed: int = 0


def data_set(published: str, run: Run) -> str:
    """The data set of this run to compare with: the published one, or the plan's stand-in where a run holds none of those it stands for.

    Raises NotRun where there is neither.
    """
    present = set(run.frames["outcomes"]["dataset"])
    if published in present:
        return published
    for own, stands_for in run.plan["stand_in"].items():
        if own in present and published in stands_for and not present & set(stands_for):
            return own
    raise NotRun(f"data set {published} is not part of this run ({', '.join(sorted(present))})")


def resolve(table: str, where: Mapping, dataset: str, claim: str, run: Run) -> dict:
    """estimate, ci_low, ci_high and n of the one row (or figure) that ``where`` describes.

    Raises NotRun with the reason where this run lacks it, ValueError where claims.csv does not fit the table.
    """
    if table == "outcomes":
        found = _from_outcomes(where, dataset, claim, run)
    elif table in run.frames:
        found = _from_table(table, where, dataset, claim, run)
    else:
        if table not in RESULTS:
            raise ValueError(f"claims.csv, claim {claim}: no table {table!r}; there are {', '.join(RESULTS)}, outcomes and none")
        raise NotRun(f"table {table} is not part of this run")
    if not np.isfinite([found["estimate"], found["ci_low"], found["ci_high"]]).all():
        raise NotRun("undefined in this run: a constant, or fewer than two questions")
    return found


def filters(where: Mapping, dataset: str, columns: list[str], run: Run) -> dict:
    """``where`` in full: the data set, the main reader by name, and the published arm's pack (or its graph twin) where the table has packs.

    The reader comes early, so that a claim about a reader that was not run says just that.
    """
    full = {"dataset": dataset} | ({"reader": where["reader"]} if "reader" in where else {}) | dict(where)
    if full.get("reader") == "main":
        full |= {"reader": run.reader, "precision": run.precision}
    graph = full.pop("representation", "chunk") == "ace"  # the same pool and settings, packed from the graph of claims
    return full | ({"pack_id": run.pack_id.replace(".chunk", ".ace") if graph else run.pack_id} if "pack_id" in columns else {})


def _from_table(table: str, where: Mapping, dataset: str, claim: str, run: Run) -> dict:
    left = run.frames[table]
    full = filters(where, dataset, list(left), run)
    for column, value in full.items():
        if column not in left:
            raise ValueError(f"claims.csv, claim {claim}: table {table} has no column {column!r}; it has {', '.join(left)}")
        left = left[left[column] == value]
        if left.empty:
            raise NotRun(f"no {column} {value} in this run's {table}")
    if len(left) > 1:
        open_keys = [c for c in left if c not in full and left[c].nunique() > 1 and left[c].dtype != float]
        raise ValueError(f"claims.csv, claim {claim}: {where} fits {len(left)} rows of {table}; name {', '.join(open_keys)}")
    row = left.iloc[0]
    if {"reader", "budget"} <= set(full) and full.get("measure", full.get("metric")) in READING:
        _wholly_read(int(row["clusters"]), full, run)
    return {k: row[k] for k in ("estimate", "ci_low", "ci_high", "n")}


def _wholly_read(n: int, full: Mapping, run: Run) -> None:
    """A context that equals one read at another budget inherits its answer; a cell of only such questions is a selected subset."""
    o = run.frames["outcomes"]
    asked = o[(o["dataset"] == full["dataset"]) & (o["reader"] == full["reader"]) & (o["precision"] == full["precision"])]["qid"].nunique()
    if n < asked:
        raise NotRun(f"{full['reader']} read {n} of its {asked} questions at budget {full.get('budget')}, those whose context was read anyway")


def _from_outcomes(where: Mapping, dataset: str, claim: str, run: Run) -> dict:
    rows = run.frames["outcomes"]
    for column, value in filters({k: where[k] for k in ("reader",) if k in where}, dataset, list(rows), run).items():
        rows = rows[rows[column] == value]
    if "reader" not in where:
        rows = rows.drop_duplicates(["qid", "policy", "budget"])
    try:
        i = pooled.figure(rows, where, run.plan["published_arm"]["policies"], run.resamples, run.seed)
    except KeyError as error:
        raise ValueError(f"claims.csv, claim {claim}: where lacks, or outcomes have no column, {error}; mend its where") from error
    except LookupError as error:
        raise NotRun(str(error)) from error
    return {"estimate": i.estimate, "ci_low": i.low, "ci_high": i.high, "n": i.n}
