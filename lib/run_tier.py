"""Run the chain for one tier: swap the tiers line of params.yaml, 'dvc repro', put the line back.

usage: python -m lib.run_tier real [dvc repro options]
"""
from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from lib.tables import ROOT, write_atomically

LINES = {
    "sample": "tiers: {sample: {executed: notebooks/executed, input: data/sample/corpus}}",
    "real": "tiers: {real: {executed: data/derived/real/executed, input: data/raw}}",
    "own": "tiers: {own: {executed: data/derived/own/executed, input: data/raw/own}}",
    "paper": "tiers: {paper: {executed: data/derived/paper/executed, input: data/raw}}",
}


def set_tier(tier: str, path: Path = ROOT / "params.yaml") -> None:
    """Put the line of ``tier`` into params.yaml, whatever tier a killed run left there."""
    if tier not in LINES:
        raise ValueError(f"no tier is called {tier!r}; there are {', '.join(LINES)}")
    text, found = re.subn(r"(?m)^tiers: .*$", LINES[tier], path.read_text(encoding="utf-8"))
    if found != 1:
        raise ValueError(f"{path.name} needs exactly one line that starts with 'tiers:', found {found}")
    write_atomically(path, lambda p: Path(p).write_text(text, encoding="utf-8"))


def absent_inputs(tier: str, path: Path = ROOT / "params.yaml") -> list[str]:
    """Reasons why no data set of ``tier`` can be read; empty when at least one can."""
    from lib.inputs import missing_files

    sources = yaml.safe_load(path.read_text(encoding="utf-8"))[tier]["retrieve"]["sources"]
    absent = {name: missing_files(source) for name, source in sources.items()}
    return [] if any(not files for files in absent.values()) else [f"{n}: {', '.join(f)} is not there" for n, f in absent.items()]


def main(arguments: list[str]) -> int:
    tier = arguments[0] if arguments else "sample"
    if tier not in LINES:
        print(f"no tier is called {tier!r}; there are {', '.join(LINES)}", file=sys.stderr)
        return 2
    try:
        return _run(tier, arguments[1:])
    except OSError as error:  # params.yaml may not be read or written, the disk is full
        print(f"tier {tier}: {error}", file=sys.stderr)
        return 1


def _run(tier: str, options: list[str]) -> int:
    reasons = absent_inputs(tier)
    if reasons:
        print(f"tier {tier} skipped, no data set is at hand:\n  " + "\n  ".join(reasons) + "\nsee data/raw/README.md for where to put the files")
        return 0
    for stop in (signal.SIGTERM, signal.SIGHUP):  # without this a closed terminal would leave the line of this tier in place
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    try:
        set_tier(tier)
        return subprocess.call([sys.executable, "-m", "dvc", "repro", *options], cwd=ROOT)
    finally:
        set_tier("sample")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
