"""The recorded layer of the sample tier: write it, or run it live and say how far the two agree.

usage: python -m lib.record            reads every prompt of the sample tier and writes data/sample/recorded/ (resumes)
       python -m lib.record --scores T writes the scores (no text) of tier T's answers and contexts to data/results/scores/
       python -m lib.record --live N   ignores what is recorded, computes N answers a reader and N log-probabilities (0: all) and prints the agreement
"""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import yaml

from lib import ablations, likelihood, reading, scores, support, tables
from lib.cross_encoder import CrossEncoderError, cross_encoder_group, pair_keys, score_pairs
from lib.reader_spec import answer_group, full_spec
from lib.readers import read_prompts, regenerate
from lib.recorded import entry_key
from lib.scorers import every_form, family, kind, reader_of, scorer_name
from lib.store import Store
from lib.tables import ROOT


class Asked(NamedTuple):
    """What notebook 03 asks of its models in one tier: prompts to answer, their readers, contexts to judge, their scorers."""

    prompts: list[str]
    readers: Sequence[Mapping[str, Any]]
    judged: pd.DataFrame
    scorers: Sequence[Mapping[str, Any]]

    def of_kind(self, which: str) -> list[Mapping[str, Any]]:
        """The scorers of one kind, those that differ in form alone once."""
        return list({family(scorer_name(s)): s for s in self.scorers if kind(s) == which}.values())


def asked(tier: str = "sample") -> Asked:
    """What a tier asks, from its tables and params.yaml."""
    given = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[tier]["read"]
    questions, contexts, packs, snippets = tables.read_all(tier, "questions", "contexts", "packs", "snippets")
    rows = reading.to_read(questions, contexts, given["policies"], given["budget"], given["questions_per_set"])
    every = pd.concat([rows, ablations.to_read(ablations.ablate(rows, questions, packs, snippets, given.get("ablate", [])))])
    return Asked(sorted(set(every["prompt"])), given["readers"], support.judged(every, questions), every_form(given.get("scorers", [])))


def record() -> None:
    """Answer and weigh everything without looking at what is recorded, and export exactly that: what is not asked for any more is dropped."""
    want, store = asked(), Store(ignore_recorded=True)
    for spec in want.readers:
        read_prompts(want.prompts, spec, store)
        _export(store, spec["model"], answer_group(spec), want.prompts, "answers")
    pairs = support.likelihood_pairs(want.judged) if want.of_kind("reader") else []
    for spec in map(reader_of, want.of_kind("reader")):
        likelihood.likelihoods(pairs, spec, store)
        _export(store, spec["model"], likelihood.likelihood_group(spec), map(list, pairs), "log-probabilities")
    for name in (s["cross_encoder"] for s in want.of_kind("cross_encoder")):
        told, spec = support.entailment_pairs(want.judged), {"model": name}
        try:
            score_pairs(told, spec, store)
        except CrossEncoderError as error:  # its training takes files that few have; what is recorded was made with the weights that the card tells of
            print(f"cross-encoder {name}: the recorded scores stay as they are ({error})")
            continue
        path = store.export(cross_encoder_group(spec), pair_keys(told, spec))
        print(f"cross-encoder {name}: {len(told)} scores in {path.relative_to(ROOT)}")


def _export(store: Store, model: str, group: Mapping[str, Any], asked_for: Any, what: str) -> None:
    keys = [entry_key(group, a) for a in asked_for]
    print(f"{model}: {len(keys)} {what} in {store.export(group, keys).relative_to(ROOT)}")


def live(n: int) -> int:
    """Compute afresh and print, for each reader, how many answers and log-probabilities equal the recorded ones, and the first that differ."""
    want = asked()
    for spec in want.readers:
        found = regenerate(want.prompts, spec, Store(), n=n or len(want.prompts))
        named = f"{spec['model']} {full_spec(spec)['precision']}"
        print(f"{named}: {found['same']} of {found['n']} live answers equal the recorded ones ({found['agreement']:.1%})")
        for prompt, stored, now in found["differing"][:5]:
            print(f"  {_question(prompt)}\n    recorded: {stored}\n    live:     {now}")
    pairs = support.likelihood_pairs(want.judged) if want.of_kind("reader") else []
    for spec in map(reader_of, want.of_kind("reader")):
        found = likelihood.regenerate(pairs, spec, Store(), n=n or len(pairs))
        named = f"{spec['model']} {full_spec(spec)['precision']}"
        print(f"{named}: {found['same']} of {found['n']} live log-probabilities equal the recorded ones ({found['agreement']:.1%})")
        for (prompt, answer), stored, now in found["differing"][:5]:
            print(f"  {_question(prompt)} {answer}\n    recorded: {stored}\n    live:     {now}")
    return 0


def _question(prompt: str) -> str:
    return prompt.rsplit("Question: ", 1)[1].splitlines()[0]


def export_scores(tier: str) -> list[str]:
    """Write the scores of a tier's answers and contexts; the files, relative to the root."""
    answers, judged, want = tables.read("answers", tier), tables.read("support", tier), asked(tier)
    hashes = [want.judged[support.KEY].assign(scorer=scorer_name(s), support_hash=support.keys(want.judged, s)) for s in want.scorers]
    rows = judged.merge(pd.concat(hashes), on=[*support.KEY, "scorer"], validate="one_to_one") if hashes else judged.assign(support_hash="")
    return [str(path.relative_to(ROOT)) for path in (*scores.export(answers, tier), *scores.export_support(rows, tier))]


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--scores"] and len(arguments) == 2:
        for path in export_scores(arguments[1]):
            print(f"scores in {path}")
        return 0
    if arguments[:1] == ["--live"]:
        return live(int(arguments[1]) if len(arguments) > 1 else 0)
    record()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
