"""One audit from inputs to tables and files: what the command line and a notebook both call, so that they cannot differ."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lib import viability
from lib.bootstrap import RESAMPLES
from lib.declarations import DECLARATIONS
from lib.tables import six_digits
from lib.viability_assembly import Inputs
from lib.viability_cause_shares import cause_shares
from lib.viability_causes import omission_causes
from lib.viability_controls import controls
from lib.viability_ids import day
from lib.viability_lists import KEY, reranked_within
from lib.viability_requirement import Requirement, evidence, parse_all
from lib.viability_slices import slice_table, sliced
from lib.viability_unit_table import relations, unit_rows, unit_table
from lib.viability_verdict import PUBLISHED, Thresholds
from lib.viability_verdict_table import verdict_table
from lib.whole import check_whole

MOST_RESAMPLES = 1_000_000  # the totals of each are held in memory


class Report(NamedTuple):
    """An audit's tables, and the settings they were made with."""

    queries: pd.DataFrame  # a row a query and gain
    slices: pd.DataFrame  # every measure of every slice, long
    verdicts: pd.DataFrame  # a row a slice and gain
    causes: pd.DataFrame  # a row a missing passage
    cause_shares: pd.DataFrame
    units: pd.DataFrame  # document to bundle, long
    controls: pd.DataFrame
    counts: pd.DataFrame  # what a reader of the numbers should know about the files
    settings: dict


def audit_report(
    inputs: Inputs,
    requirements: Mapping[str, Requirement] | None = None,
    cutoff: int = 10,
    depth: int | None = None,
    tier: str = "own",
    thresholds: Thresholds = PUBLISHED,
    indexed_at: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Report:
    """Audit one first stage and at most one reranker. Raises ValueError as `viability.audit` and `viability_requirement.evidence` do."""
    if resamples > MOST_RESAMPLES:
        raise ValueError(f"resamples must be at most {MOST_RESAMPLES:,}, got {resamples:,}; 10,000 are enough")
    check_whole("seed", seed, 0)
    indexed_at = day(indexed_at, "indexed_at")
    asked = requirements or parse_all("all")
    first = inputs.first if depth is None else inputs.first[inputs.first["rank"] <= depth]
    audited = viability.audit(inputs.first, inputs.judgements, inputs.reranked, cutoff, depth)
    reranked = None if inputs.reranked is None else reranked_within(inputs.reranked, first, inputs.first)
    if reranked is not None and reranked.empty:
        raise ValueError(f"the reranked run holds none of the first {depth} passages of any pool; audit it at a larger depth")
    met = evidence(first, inputs.judgements, inputs.membership, asked, cutoff)
    slices = slice_table(sliced(audited, met, inputs.membership), tier, resamples, seed)
    causes, by_query = _texts_read(inputs, first, reranked, cutoff, depth, indexed_at)
    whole = met.loc[met["slice"] == "all", ["dataset", "qid", "needed", "found", "met"]]
    queries = audited.merge(whole, on=KEY, how="left").merge(_slice_names(inputs.membership), on=KEY, how="left")
    shares = cause_shares(causes, inputs.membership, tier, resamples, seed)
    units = unit_table(by_query, inputs.membership, tier, resamples, seed)
    setup = dict(tier=tier, **audited.iloc[0][["first_stage", "reranker", "depth", "cutoff"]])
    pool = {name: setup[name] for name in ("tier", "first_stage", "depth")}
    return Report(
        queries.assign(tier=tier, undefined=queries["undefined"].replace("", pd.NA)),
        slices,
        verdict_table(slices, asked, thresholds),
        causes.assign(**pool, also=causes["also"].replace("", pd.NA)),
        shares.assign(**pool),
        units.assign(**setup),
        controls(first, inputs.judgements, reranked, cutoff).assign(**setup),
        inputs.counts,
        setup | {"requirement": _said(asked), "thresholds": thresholds._asdict(), "resamples": resamples, "seed": seed},
    )


def _texts_read(inputs: Inputs, first: pd.DataFrame, reranked: pd.DataFrame | None, cutoff: int, depth: int | None, indexed_at: str | None):
    """Omission causes and units of every query, a data set at a time: ids of queries and passages are unique within one alone."""
    causes, units = [], []
    for dataset in sorted(set(first["dataset"])):
        pools, gold, again, queries, corpus = (_within(t, dataset) for t in (first, inputs.judgements, reranked, inputs.queries, inputs.corpus))
        causes.append(omission_causes(pools, gold, queries, corpus, indexed_at, depth=depth))
        units.append(unit_rows(pools, gold, again, cutoff, related=relations(corpus)))
    return pd.concat(causes, ignore_index=True), pd.concat(units, ignore_index=True)


def _within(table: pd.DataFrame | None, dataset: str) -> pd.DataFrame | None:
    return table if table is None or "dataset" not in table else table[table["dataset"] == dataset]


DECLARED = {
    "audit": "queries",
    "audit_slices": "slices",
    "audit_verdicts": "verdicts",
    "audit_missing": "causes",
    "audit_causes": "cause_shares",
    "audit_units": "units",
    "audit_controls": "controls",
}  # tables of the compendium: fields of a Report


def declared(reports: Sequence[Report]) -> dict[str, pd.DataFrame]:
    """The reports of several rankers or depths as the declared tables, ready for `tables.write_all`; what reports share is kept once."""
    keys = {name: DECLARATIONS[name]["key"] for name in DECLARED}
    return {name: pd.concat([getattr(r, field) for r in reports]).drop_duplicates(keys[name], ignore_index=True) for name, field in DECLARED.items()}


def _said(asked: Mapping[str, Requirement]) -> str:
    if set(asked) == {"*"}:
        return asked["*"].said()
    return "; ".join(f"{'other slices' if name == '*' else name}: {asked[name].said()}" for name in sorted(asked, key=lambda n: n == "*"))


def _slice_names(membership: pd.DataFrame) -> pd.DataFrame:
    if membership.empty:
        return membership.assign(slices=membership["slice"])[[*KEY, "slices"]]
    return membership.sort_values("slice").groupby(KEY)["slice"].agg("; ".join).rename("slices").reset_index()


def write_report(report: Report, folder: str | Path, inputs: Iterable[str | Path | None] = ()) -> list[Path]:
    """Write report.html and a CSV a table into ``folder``, as `write_together` does; ``inputs``: its input files. Raises OSError as `check_folder` does."""
    from lib.viability_report import page

    check_folder(folder, inputs)
    files = {"report.html": page(report)}
    files |= {
        f"{name}.csv": six_digits(table).to_csv(index=False, lineterminator="\n")
        for name, table in report._asdict().items()
        if isinstance(table, pd.DataFrame)
    }
    return write_together(files, folder)


def write_together(files: Mapping[str, str], folder: str | Path, what: str = "report") -> list[Path]:
    """Write texts by file name: all of them beside their places first, then each moved there in one step, so a kill or a full disk leaves the old ones."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".report-") as beside:
            for name, text in files.items():
                (Path(beside) / name).write_text(text, encoding="utf-8", newline="\n")
            for name in files:
                os.replace(Path(beside) / name, Path(folder) / name)
    except OSError as error:
        raise OSError(f"could not write the {what} into {folder}: {error.strerror or error}; make the folder writable, or free some space, and run again") from error
    return [Path(folder) / name for name in files]


FILES = ("report.html", *(f"{name}.csv" for name in Report._fields))  # what a report may write


def check_folder(folder: str | Path, inputs: Iterable[str | Path | None] = (), names: Sequence[str] = FILES, what: str = "report") -> None:
    """Raise OSError where files ``names`` cannot go: a path that is empty or leads through a file, or a folder or one of ``inputs`` in the place of one."""
    whole = Path(os.path.abspath(folder))
    if not str(folder).strip() or "\0" in str(folder):
        raise OSError(f"{str(folder)!r} is no folder to write the {what} into; name one")
    if file := next((p for p in (whole, *whole.parents) if os.path.lexists(p) and not p.is_dir()), None):
        raise OSError(f"the {what} cannot go into {folder}: {file.name} is a file, not a folder; name another folder")
    if taken := next((name for name in names if (whole / name).is_dir()), None):
        raise OSError(f"the {what} cannot go into {folder}: {taken} is a folder there; move it away, or name another folder")
    given, there = [path for path in inputs if path is not None and os.path.exists(path)], [name for name in names if (whole / name).exists()]
    if lost := next((name for name in there if any(os.path.samefile(whole / name, path) for path in given)), None):
        raise OSError(f"the {what} cannot go into {folder}: {lost} there is an input, and would be overwritten; name another folder")
