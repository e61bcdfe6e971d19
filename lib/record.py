"""The recorded layer of the sample tier: write it, or run it live and say how far the two agree.

usage: python -m lib.record            reads every prompt of the sample tier and writes data/sample/recorded/ (resumes); parses and rivals' scores, too
       python -m lib.record --scores T writes the scores (no text) of tier T's answers, ladder and contexts to data/results/scores/ (``record_scores``)
       python -m lib.record --live N   ignores what is recorded, computes N answers a reader and N log-probabilities (0: all) and prints the agreement
"""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import yaml

from lib import ablations, claims, dials_ends, downstream_record, ladder_rungs, likelihood, reading, record_parses, record_rivals, scope_reads, support, tables
from lib.cross_encoder import CrossEncoderError, cross_encoder_group, pair_keys, score_pairs
from lib.reader_spec import ReaderError, answer_group
from lib.readers import read_prompts, regenerate
from lib.recorded import entry_key
from lib.scorers import every_form, family, kind, reader_of, scorer_name
from lib.store import Store
from lib.tables import ROOT
from lib.weights import WeightsError, WeightsMissing


class Reads(NamedTuple):
    """One reader with its own prompts. ``rung``: the ladder alone asks it, so that its weights, which few fetch, may be missing."""

    spec: Mapping[str, Any]
    prompts: list[str]
    rung: bool = False


class Asked(NamedTuple):
    """What notebooks 03 and 06 ask of their models in one tier: readers with their prompts, contexts to judge, their scorers."""

    reads: Sequence[Reads]
    judged: pd.DataFrame
    scorers: Sequence[Mapping[str, Any]]

    def of_kind(self, which: str) -> list[Mapping[str, Any]]:
        """The scorers of one kind, those that differ in form alone once."""
        return list({family(scorer_name(s)): s for s in self.scorers if kind(s) == which}.values())


def asked(tier: str = "sample") -> Asked:
    """What a tier asks, from its tables and params.yaml."""
    blocks = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[tier]
    given, questions, contexts, packs, snippets = blocks["read"], *tables.read_all(tier, "questions", "contexts", "packs", "snippets")
    rows = reading.to_read(questions, contexts, given["policies"], given["budget"], given["questions_per_set"])
    graph = reading.graph_to_read(questions, contexts, given.get("graph_policies", []), given["budget"], given["questions_per_set"])
    every = pd.concat([rows, ablations.to_read(ablations.ablate(rows, questions, packs, snippets, given.get("ablate", [])))])
    prompts = set(every["prompt"]) | set(graph["prompt"])
    climbed = blocks.get("reader_ladder") or {}
    rungs = climbed.get("rungs", [])
    steps = set(climbed_rows(climbed, questions, contexts)["prompt"]) if rungs else set()
    reads = reads_of(given["readers"], prompts, rungs, steps)
    for spec, more in [*scope_asks(blocks.get("scope_map") or {}, rows, questions, packs, snippets, contexts),
                       *downstream_record.asks(blocks.get("gating") or {}, questions, tier)]:
        reads = joined(reads, spec, more)
    return Asked(reads, support.judged(every, questions), every_form(given.get("scorers", [])))


def scope_asks(block: Mapping[str, Any], rows: pd.DataFrame, questions: pd.DataFrame, packs: pd.DataFrame, snippets: pd.DataFrame,
               contexts: pd.DataFrame) -> list[tuple[Mapping[str, Any], set[str]]]:
    """(reader, prompts) that notebook 05 asks beyond 03: other budgets, other orders, and the ends of the worlds' dials."""
    if not block or rows.empty:
        return []
    main = rows.loc[rows["pack_id"] != "none", "pack_id"].iloc[0]
    told = scope_reads.to_read(questions, packs, snippets, contexts, main, block["sweep_budgets"], block["order_budgets"], block["sweep_questions"])
    out = [(block["sweep_reader"], set(scope_reads.together(*told)["prompt"]))]
    if block["world_questions"]:
        plan = claims.plan()["worlds"]
        ends = dials_ends.ends(plan, questions=min(block["world_questions"], plan["ends"]["questions"]))
        out.append(({"model": "smollm2-135m", "precision": "fp32"}, set(ends["prompt"])))
    return out


def joined(reads: Sequence[Reads], spec: Mapping[str, Any], prompts: set[str]) -> list[Reads]:
    """``reads`` with more prompts for one reader, which joins them where it is new.

    >>> joined([Reads({"model": "smollm2-135m"}, ["b"])], {"model": "smollm2-135m"}, {"a"})[0].prompts
    ['a', 'b']
    """
    same = [answer_group(r.spec) == answer_group(spec) for r in reads]
    out = [Reads(r.spec, sorted({*r.prompts, *prompts}), r.rung) if hit else r for r, hit in zip(reads, same)]
    return out if any(same) else [*out, Reads(spec, sorted(prompts))]


def climbed_rows(block: Mapping[str, Any], questions: pd.DataFrame, contexts: pd.DataFrame) -> pd.DataFrame:
    """The rows that the block ``reader_ladder`` of params.yaml asks of every rung."""
    return ladder_rungs.asked(questions, contexts, block["policies"], block["budget"], block.get("questions_per_set", 0), block.get("datasets", []))


def reads_of(readers: Sequence[Mapping], prompts: set[str], rungs: Sequence[Mapping], steps: set[str]) -> list[Reads]:
    """Each reader once, with the prompts that notebook 03 asks of it, the ladder, or both.

    >>> two = [{"model": "smollm2-135m"}, {"model": "gemma-3-270m"}]
    >>> [(r.spec["model"], r.prompts, r.rung) for r in reads_of(two[:1], {"a"}, two, {"b"})]
    [('smollm2-135m', ['a', 'b'], False), ('gemma-3-270m', ['b'], True)]
    """
    climbing = [answer_group(s) for s in rungs]
    both = [Reads(s, sorted(prompts | steps if answer_group(s) in climbing else prompts)) for s in readers]
    had = [answer_group(s) for s in readers]
    return both + [Reads(s, sorted(steps), rung=True) for s in rungs if answer_group(s) not in had]


def record() -> None:
    """Answer and weigh everything without looking at what is recorded, and export exactly that: what is not asked for any more is dropped."""
    want, store = asked(), Store(ignore_recorded=True)
    for read in want.reads:
        try:
            read_prompts(read.prompts, read.spec, store)
        except WeightsMissing as error:
            _without(read, error, "the recorded answers stay as they are")
            continue
        _export(store, ladder_rungs.rung_name(read.spec), answer_group(read.spec), read.prompts, "answers")
    pairs = support.likelihood_pairs(want.judged) if want.of_kind("reader") else []
    for spec in map(reader_of, want.of_kind("reader")):
        likelihood.likelihoods(pairs, spec, store)
        _export(store, ladder_rungs.rung_name(spec), likelihood.likelihood_group(spec), map(list, pairs), "log-probabilities")
    for name in (s["cross_encoder"] for s in want.of_kind("cross_encoder")):
        told, spec = support.entailment_pairs(want.judged), {"model": name}
        try:
            score_pairs(told, spec, store)
        except CrossEncoderError as error:  # its training takes files that few have; what is recorded was made with the weights that the card tells of
            print(f"cross-encoder {name}: the recorded scores stay as they are ({error})")
            continue
        path = store.export(cross_encoder_group(spec), pair_keys(told, spec))
        print(f"cross-encoder {name}: {len(told)} scores in {path.relative_to(ROOT)}")


def record_beside() -> None:
    """Record what notebook 02 asks of models, too: the parses of passages, and the rivals' scores of snippets; a model that is not here is said."""
    for what, module in (("parses", record_parses), ("rivals' scores", record_rivals)):
        try:
            print(f"{what}: {module.record()}")
        except (CrossEncoderError, ReaderError, WeightsError) as error:
            print(f"{what}: what is recorded stays as it is ({str(error).splitlines()[0]})")


def _without(read: Reads, error: WeightsMissing, what: str) -> None:
    """Say that a rung's weights are not here; raise where notebook 03 needs them."""
    if not read.rung:
        raise error
    print(f"rung {ladder_rungs.rung_name(read.spec)}: {what} ({error})")


def _export(store: Store, reader: str, group: Mapping[str, Any], asked_for: Any, what: str) -> None:
    keys = [entry_key(group, a) for a in asked_for]
    print(f"{reader}: {len(keys)} {what} in {store.export(group, keys).relative_to(ROOT)}")


def live(n: int) -> int:
    """Compute afresh and print, for each reader, how many answers and log-probabilities equal the recorded ones, and the first that differ."""
    want = asked()
    for read in want.reads:
        try:
            found = regenerate(read.prompts, read.spec, Store(), n=n or len(read.prompts))
        except WeightsMissing as error:
            _without(read, error, "not computed")
            continue
        print(f"{ladder_rungs.rung_name(read.spec)}: {found['same']} of {found['n']} live answers equal the recorded ones ({found['agreement']:.1%})")
        for prompt, stored, now in found["differing"][:5]:
            print(f"  {_question(prompt)}\n    recorded: {stored}\n    live:     {now}")
    pairs = support.likelihood_pairs(want.judged) if want.of_kind("reader") else []
    for spec in map(reader_of, want.of_kind("reader")):
        found = likelihood.regenerate(pairs, spec, Store(), n=n or len(pairs))
        print(f"{ladder_rungs.rung_name(spec)}: {found['same']} of {found['n']} live log-probabilities equal the recorded ones ({found['agreement']:.1%})")
        for (prompt, answer), stored, now in found["differing"][:5]:
            print(f"  {_question(prompt)} {answer}\n    recorded: {stored}\n    live:     {now}")
    return 0


def _question(prompt: str) -> str:
    return prompt.rsplit("Question: ", 1)[1].splitlines()[0]


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--scores"] and len(arguments) == 2:
        from lib.record_scores import export_scores

        for path in export_scores(arguments[1]):
            print(f"scores in {path}")
        return 0
    if arguments[:1] == ["--live"]:
        return live(int(arguments[1]) if len(arguments) > 1 else 0)
    record()
    record_beside()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
