"""The command line of the audit: ``python -m lib.viability``. Exit status 0: written; 1: written, and --gate found a slice to mend; 2: wrong input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lib import viability_inputs as inputs
from lib.bootstrap import RESAMPLES
from lib.viability_assembly import Inputs, assemble, named
from lib.viability_requirement import parse_all
from lib.viability_run import Report, audit_report, check_folder, write_report
from lib.viability_verdict import REFUSE, REPAIR

DESCRIPTION = "Is reranking viable? Report what the candidate pools omit, what their order could still gain, and what a reranker made of it."


def parser() -> argparse.ArgumentParser:
    """Every option with its default."""
    made = argparse.ArgumentParser(
        prog="python -m lib.viability", description=DESCRIPTION, epilog="Files may be TREC, CSV, TSV, JSON or JSON lines, also as .gz."
    )
    made.add_argument("--run", required=True, metavar="FILE", help="first-stage run: the pools")
    made.add_argument("--qrels", metavar="FILE", help="judgements (from --beir if that is given)")
    made.add_argument("--reranked", metavar="FILE", help="the same pools in a reranker's order")
    made.add_argument("--beir", metavar="FOLDER", help="a BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv")
    made.add_argument("--split", default="test", help="the BEIR split (default: %(default)s)")
    made.add_argument("--slices", metavar="FILE", help="qid, slice: which queries belong together (several rows a query are fine)")
    made.add_argument("--queries", metavar="FILE", help="qid, text (entitlements, indexed_at): for omission causes")
    made.add_argument("--corpus", metavar="FILE", help="doc_id, text (title, document, entitlement, effective_from, superseded_by, travels_with, copy_of)")
    made.add_argument(
        "--requirement",
        default="all",
        help="evidence a decision needs: 'all', '3', 'policy:1,exception:1', 'bundle', per slice with "
        "'identifiers=1; exceptions=policy:1,exception:1; *=all' (default: %(default)s)",
    )
    made.add_argument("--k", type=int, default=10, help="final cutoff (default: %(default)s)")
    made.add_argument("--depth", type=int, help="cut the pools at this rank (default: as they are)")
    made.add_argument("--indexed-at", metavar="DAY", help="when the index was built, as 2026-01-31: later passages are missing for freshness")
    made.add_argument(
        "--outside", choices=("error", "drop"), default="error", help="what to do with reranked passages that the first stage lacks (default: %(default)s)"
    )
    made.add_argument("--resamples", type=int, default=RESAMPLES, help="of the bootstrap (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: %(default)s)")
    made.add_argument("--gate", action="store_true", help="exit with 1 where a slice must be repaired or the reranker rejected")
    made.add_argument("--out", required=True, metavar="FOLDER", help="where report.html and the CSV tables go")
    return made


def read_inputs(args: argparse.Namespace) -> Inputs:
    """The files of the command line as tables; DataError says what is wrong with which."""
    beir = inputs.beir_files(args.beir, args.split) if args.beir else {}
    files = beir | {name: given for name in ("qrels", "queries", "corpus") if (given := getattr(args, name))}
    if "qrels" not in files:
        raise ValueError("judgements are needed: give --qrels, or --beir")
    return assemble(
        inputs.read_run(args.run),
        inputs.read_judgements(files["qrels"]),
        inputs.read_run(args.reranked) if args.reranked else None,
        inputs.read_slices(args.slices) if args.slices else None,
        inputs.read_texts(files["queries"], inputs.QID, "qid") if "queries" in files else None,
        inputs.read_texts(files["corpus"], inputs.DOC, "doc_id") if "corpus" in files else None,
        (named(args.run), named(args.reranked) if args.reranked else "none"),
        outside=args.outside,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Audit, write, print the verdicts; returns the exit status."""
    args = parser().parse_args(argv)
    try:
        check_folder(args.out)
        requirements = parse_all(args.requirement)
        report = audit_report(read_inputs(args), requirements, args.k, args.depth, indexed_at=args.indexed_at, resamples=args.resamples, seed=args.seed)
        written = write_report(report, args.out)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(summary(report))
    print(f"written: {', '.join(path.name for path in written)} in {args.out}")
    return int(args.gate and must_mend(report))


def summary(report: Report) -> str:
    """A line a slice: both verdicts and why."""
    rows = report.verdicts[report.verdicts["gain"] == "exponential"]
    counted = report.counts[(report.counts["n"] > 0) & (report.counts["what"] != "judged queries")]
    lines = [f"{r.slice}: {r.verdict} (document 001: {r.document_verdict}); {r.why}" for r in rows.itertuples()]
    return "\n".join(lines + [f"counted: {r.n:,} {r.what} ({r.meaning})" for r in counted.itertuples()])


def must_mend(report: Report) -> bool:
    """Whether our verdict orders a repair or rejects the reranker in any slice, exponential gain."""
    said = report.verdicts.loc[report.verdicts["gain"] == "exponential", "verdict"]
    return any(word in verdict for verdict in said for word in (REPAIR, REFUSE))
