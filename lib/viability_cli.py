"""The command line of the audit: ``python -m lib.viability``. Exit status 0: written; 1: written, and --gate does not pass; 2: wrong input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lib import viability_inputs as inputs
from lib.bootstrap import RESAMPLES
from lib.checks import LEAST_RESAMPLES
from lib.viability_assembly import Inputs, assemble, named
from lib.viability_requirement import parse_all
from lib.viability_run import Report, audit_report, check_folder, write_report
from lib.viability_verdict import FEWEST, REFUSE, REPAIR, UNDEFINED
from lib.whole import check_whole

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
    made.add_argument("--queries", metavar="FILE", help="qid, text (entitlements, indexed_at): for omission causes, with --corpus")
    made.add_argument(
        "--corpus",
        metavar="FILE",
        help="for omission causes, with --queries: doc_id, text (title, document, entitlement, effective_from, superseded_by, travels_with, copy_of)",
    )
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
    made.add_argument("--resamples", type=int, default=RESAMPLES, help=f"of the bootstrap, at least {LEAST_RESAMPLES} (default: %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: %(default)s)")
    made.add_argument(
        "--gate",
        action="store_true",
        help="exit with 1 where a slice must be repaired or the reranker rejected, or where the verdict over all queries, or over a slice of "
        f"{FEWEST} or more, is undefined; undecided alone passes",
    )
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
        given = [args.run, args.qrels, args.reranked, args.slices, args.queries, args.corpus]
        given += inputs.beir_files(args.beir, args.split).values() if args.beir else []
        check_folder(args.out, given)
        check_whole("--resamples", args.resamples, LEAST_RESAMPLES, mend="; 10,000 are enough, fewer draws have no 95 % interval worth the name")
        requirements = parse_all(args.requirement)
        report = audit_report(read_inputs(args), requirements, args.k, args.depth, indexed_at=args.indexed_at, resamples=args.resamples, seed=args.seed)
        written = write_report(report, args.out, given)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(summary(report))
    if said := half_given(args):
        print(said)
    print(f"written: {', '.join(path.name for path in written)} in {args.out}")
    stopped = stops(report) if args.gate else []
    if stopped:
        print(f"gate: not passed; {'; '.join(stopped)}", file=sys.stderr)
    return int(bool(stopped))


def summary(report: Report) -> str:
    """A line a slice: both verdicts and why."""
    rows = report.verdicts[report.verdicts["gain"] == "exponential"]
    counted = report.counts[(report.counts["n"] > 0) & (report.counts["what"] != "judged queries")]
    lines = [f"{r.slice}: {r.verdict} (document 001: {r.document_verdict}); {r.why}" for r in rows.itertuples()]
    return "\n".join(lines + [f"counted: {r.n:,} {r.what} ({r.meaning})" for r in counted.itertuples()])


def half_given(args: argparse.Namespace) -> str:
    """A line where only one of the two files that omission causes need was given, else nothing."""
    given = [name for name in ("queries", "corpus") if getattr(args, name)]
    if args.beir or len(given) != 1:
        return ""
    return f"note: only --{given[0]} was given; why evidence is missing is told from --queries and --corpus together, both are needed"


def stops(report: Report) -> list[str]:
    """Why a gate does not pass, a reason a slice, exponential gain: a repair, a rejected reranker, or nothing known of all or of `FEWEST` queries."""
    out = []
    for r in report.verdicts[report.verdicts["gain"] == "exponential"].itertuples():
        if any(word in r.verdict for word in (REPAIR, REFUSE)):
            out.append(f"{r.slice}: {r.verdict.partition('; ')[0]}")
        elif r.verdict == UNDEFINED and (r.slice == "all" or r.n + r.undefined >= FEWEST):
            out.append(f"{r.slice}: undefined, since {_unknown(r)}")
    return out


def _unknown(row) -> str:
    if not row.n:
        return "no query has a relevant passage in the judgements, so nothing can be judged"
    return "the judgements of no query hold the evidence that the requirement asks for"
