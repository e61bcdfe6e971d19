"""Why each stage would run: what changed since the lock, in words.

usage: python -m lib.why [tier]
"""
from __future__ import annotations

import json
import subprocess
import sys

from lib import run_tier
from lib.tables import ROOT

SHOWN = 6  # on a fresh clone everything is new: a list of forty files explains nothing
WORDS = {"modified": "changed", "deleted": "is gone", "new": "is new"}


def reasons(status: dict) -> list[str]:
    """One line a stage with what changed, from the JSON of ``dvc status``."""
    lines = []
    for name, changes in status.items():
        parts = []
        for change in changes:
            if not isinstance(change, dict):
                parts.append(str(change))
                continue
            for kind, files in change.items():
                told = [f"{file} {_said(what)}" for file, what in files.items()]
                told = told if len(told) <= SHOWN else [*told[:SHOWN], f"and {len(told) - SHOWN} more"]
                parts.append(f"{kind.removeprefix('changed ')}: {', '.join(told)}")
        lines.append(f"{name} would run: " + "; ".join(parts))
    return lines


def _said(what) -> str:
    if isinstance(what, dict):  # parameters are nested: {name: modified}
        return ", ".join(f"{k} {_said(v)}" for k, v in what.items())
    return WORDS.get(what, what)


def main(tier: str = "sample") -> int:
    """Print the reasons of one tier; another than the sample's is put into params.yaml while DVC looks, and taken out again."""
    if tier not in run_tier.LINES:
        print(f"no tier is called {tier!r}; there are {', '.join(run_tier.LINES)}", file=sys.stderr)
        return 2
    if tier != "sample":  # the sample's line is there already: nothing that runs meanwhile is disturbed
        run_tier.set_tier(tier)
    try:
        asked = subprocess.run([sys.executable, "-m", "dvc", "status", "--json"], cwd=ROOT, capture_output=True, text=True)
    finally:
        if tier != "sample":
            run_tier.set_tier("sample")
    if asked.returncode:
        print(asked.stderr.strip(), file=sys.stderr)
        return asked.returncode
    found = reasons(json.loads(asked.stdout))
    print("\n".join(found) if found else "nothing would run: no input, parameter, notebook or module changed since the last run")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
