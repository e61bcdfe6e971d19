"""The recorded layer of the sample tier: write it, or run it live and say how far the two agree.

usage: python -m lib.record            reads every prompt of the sample tier and writes data/sample/recorded/ (resumes)
       python -m lib.record --scores T writes the scores (no text) of tier T's answers to data/results/scores/
       python -m lib.record --live N   ignores what is recorded, generates N prompts a reader (0: all) and prints the agreement
"""
from __future__ import annotations

import sys

import yaml

from lib import reading, scores, tables
from lib.reader_spec import answer_group
from lib.readers import read_prompts, regenerate
from lib.recorded import entry_key
from lib.store import Store
from lib.tables import ROOT


def asked(tier: str = "sample"):
    """(prompts to read, reader specifications) of a tier, from its tables and params.yaml."""
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[tier]["read"]
    questions, contexts = tables.read_all(tier, "questions", "contexts")
    rows = reading.to_read(questions, contexts, given["policies"], given["budget"], given["questions_per_set"])
    return sorted(set(rows["prompt"])), given["readers"]


def record() -> None:
    """Answer every prompt without looking at what is recorded, and export exactly those answers: what no prompt asks for any more is dropped."""
    prompts, specs = asked()
    for spec in specs:
        store = Store(ignore_recorded=True)
        read_prompts(prompts, spec, store)
        group = answer_group(spec)
        path = store.export(group, [entry_key(group, p) for p in prompts])
        print(f"{spec['model']}: {len(prompts)} answers in {path.relative_to(ROOT)}")


def live(n: int) -> int:
    """Generate afresh and print, for each reader, how many answers equal the recorded ones and the first that differ."""
    prompts, specs = asked()
    for spec in specs:
        found = regenerate(prompts, spec, Store(), n=n or len(prompts))
        print(f"{spec['model']} {spec['precision']}: {found['same']} of {found['n']} live answers equal the recorded ones ({found['agreement']:.1%})")
        for prompt, stored, now in found["differing"][:5]:
            print(f"  {prompt.rsplit('Question: ', 1)[1].splitlines()[0]}\n    recorded: {stored}\n    live:     {now}")
    return 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--scores"] and len(arguments) == 2:
        for path in scores.export(tables.read("answers", arguments[1]), arguments[1]):
            print(f"scores in {path.relative_to(ROOT)}")
        return 0
    if arguments[:1] == ["--live"]:
        return live(int(arguments[1]) if len(arguments) > 1 else 0)
    record()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
