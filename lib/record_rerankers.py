"""What the rerankers said of the sample's candidates, recorded: notebooks 01 and 07 then run none of their models (SPEC 5, 11).

usage: python -m lib.record_rerankers                 asks what is in no layer (a killed run resumes) and writes data/sample/recorded/
       python -m lib.record_rerankers --force         the same without looking at what is recorded (the cache still resumes a killed run)
       python -m lib.record_rerankers --live N        asks N recorded prompts of each language model live and prints the agreement; writes nothing
options: --only METHOD[:MODEL] ... (cross_encoder, yes_no, listwise, pairwise; several), --questions N (the first N only: to time a plan; writes nothing)
"""
from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lib import (
    gating_lists,
    graph_list,
    pool_union,
    reading,
    record_cross_encoder,
    record_policy,
    record_rivals,
    rerankers_sample,
    retrieval,
    tables,
)
from lib.cross_encoder import cross_encoder_group, pair_keys, score_pairs
from lib.reader_spec import ReaderError
from lib.rerankers_judge import Judge, regenerate
from lib.rerankers_lists import rerank_all
from lib.rerankers_open import open_reranker, reader_of
from lib.rerankers_sample import PLAN as LISTED
from lib.rerankers_sample import Task
from lib.store import Store, StoreError
from lib.weights import WeightsError
from lib.whole import check_whole

TIER = "sample"
PLAN = (*LISTED, gating_lists.LANGUAGE)
LANGUAGE = ("yes_no", "listwise", "pairwise")
Given = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]  # rankings, questions, documents


def given(tier: str = TIER) -> Given:
    """The tables that the rerankers are asked about; the unions that a gate's reranker reads stand among the rankings."""
    rankings, questions, documents = tables.read_all(tier, "rankings", "questions", "documents")
    rankings = pd.concat([rankings, graph_list.rank_sets(questions, documents, retrieval.encoder("minilm"))], ignore_index=True)
    main = pool_union.as_rankings(pool_union.pool(rankings), gating_lists.POOL)
    return pd.concat([rankings, main, gating_lists.unions(rankings)], ignore_index=True), questions, documents


def chosen(only: Sequence[str], plan: Sequence[Task] = PLAN) -> list[Task]:
    """The tasks of the plan that ``only`` names, as METHOD or METHOD:MODEL; all where it names none. Raises ValueError for what fits none."""
    def fits(task: Task, word: str) -> bool:
        return word in (task.spec["method"], f"{task.spec['method']}:{task.spec['model']}")

    if lost := [word for word in only if not any(fits(t, word) for t in plan)]:
        raise ValueError(f"the plan has no {', '.join(lost)}; it has " + ", ".join(dict.fromkeys(f"{t.spec['method']}:{t.spec['model']}" for t in plan)))
    return [t for t in plan if not only or any(fits(t, word) for word in only)]


def cross_encoder_pairs(tables_: Given) -> list[tuple[str, str]]:
    """All pairs that the sample asks of the trained cross-encoder, for whatever purpose: one recorded file holds them."""
    rankings, questions, documents = tables_
    return list(dict.fromkeys([*record_cross_encoder.asked(TIER), *record_policy.asked(), *record_rivals.snippet_pairs(record_rivals.pool()),
                               *rerankers_sample.union_pairs(rankings, questions, documents),
                               *rerankers_sample.union_pairs(rankings, questions, documents, (gating_lists.POOL, *gating_lists.POOLS))]))


def record_cross_encoders(tables_: Given, store: Store, model: str = "reranker") -> str:
    """Score all pairs and export exactly these; the name of the file."""
    spec, pairs = {"model": model}, cross_encoder_pairs(tables_)
    score_pairs(pairs, spec, store)
    return store.export(cross_encoder_group(spec), pair_keys(pairs, spec)).name


def run_task(task: Task, tables_: Given, judge: Judge, questions: int = 0) -> dict[str, Any]:
    """Rerank what the task asks for: the reranker's name, questions, CPU seconds and means of calls, tokens and repairs a question."""
    rankings, every, documents = tables_
    asked = reading.first(every, questions or task.questions)
    reranker = open_reranker(task.spec, judge.store, judge)
    started = time.process_time()
    _, cost = rerank_all(rankings, asked, documents, reranker, task.depth, task.first)
    spent = time.process_time() - started
    means = {c: round(float(cost[c].mean()), 1) if len(cost) else None for c in ("calls", "tokens", "repaired")}
    return {"reranker": reranker.name, "depth": task.depth, "questions": len(cost), "cpu_s": round(spent),
            "cpu_s_a_question": round(spent / max(1, len(cost)), 1), **means}


def record_language_models(tasks: Sequence[Task], tables_: Given, store: Store, questions: int = 0, write: bool = True) -> list[str]:
    """Run the tasks, each model loaded once, and export exactly what they asked; lines to print. A model without weights is left out with its reason."""
    said, judges = [], judges_of(tasks, store)
    for key, (judge, own) in judges.items():
        try:
            for task in own:
                print(" ".join(f"{k} {v}" for k, v in run_task(task, tables_, judge, questions).items()), flush=True)
        except WeightsError as error:
            said.append(f"{key}: what is recorded stays as it is ({str(error).splitlines()[0]})")
            continue
        finally:
            judge.close()
        said += [f"{len(prompts)} values in {store.export(group, prompts).name}" for group, prompts in judge.asked.values()] if write else []
    return said


def judges_of(tasks: Sequence[Task], store: Store, **more: Any) -> dict[str, tuple[Judge, list[Task]]]:
    """Model and precision -> (its judge, its tasks); ``more`` joins each reader's specification."""
    made: dict[str, tuple[Judge, list[Task]]] = {}
    for task in tasks:
        if task.spec["method"] in LANGUAGE:
            spec = {**reader_of(task.spec), **more}
            made.setdefault(f"{spec['model']} {spec.get('precision', 'fp32')}", (Judge(spec, store, progress=True), []))[1].append(task)
    return made


def live(tasks: Sequence[Task], tables_: Given, n: int) -> list[str]:
    """Ask ``n`` recorded prompts of each model and kind anew; a line each on how far they agree. Nothing is stored.

    Raises ReaderError where a task is not wholly recorded.
    """
    said, store = [], Store()
    for key, (replay, own) in judges_of(tasks, store, backend="replay").items():
        for task in own:
            run_task(task, tables_, replay)  # it tells which prompts there are, and asks no model
        judge = Judge({**replay.spec, "backend": "transformers"}, store)
        for group, prompts in replay.asked.values():
            said.append(f"{key} {group['kind']}: {agreement(judge, group, list(prompts.values()), n)}")
        judge.close()
    return said


def agreement(judge: Judge, group: Mapping[str, Any], prompts: Sequence[str], n: int) -> str:
    """How many of ``n`` stored values of a group come out the same when they are asked again."""
    if group["kind"] == "rerank_choice":
        found = regenerate(judge, tuple(group["decoding"]["words"]), prompts, n)
        return (f"{found['same']} of {found['n']} live log-odds equal the recorded ones ({found['agreement']:.1%}), "
                f"largest difference {found['largest']:.3f} nats")
    from lib.readers import regenerate as again

    reader = judge._reader()
    reader.max_new_tokens = group["decoding"]["max_new_tokens"]
    found = again(prompts, {**judge.spec, "max_new_tokens": reader.max_new_tokens}, judge.store, n, reader=reader)
    return f"{found['same']} of {found['n']} live orders equal the recorded ones ({found['agreement']:.1%})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lib.record_rerankers", description=__doc__.split("\n")[0])
    parser.add_argument("--force", action="store_true", help="do not look at what is recorded")
    parser.add_argument("--live", type=int, metavar="N", help="compare N recorded values of each kind with live ones")
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD[:MODEL]")
    parser.add_argument("--questions", type=int, default=0, metavar="N", help="the first N questions only; writes nothing")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        check_whole("--questions", options.questions, 0, mend=" (0: as many as planned)")
        if options.live is not None:
            check_whole("--live", options.live, 1)
        tasks, tables_ = chosen(options.only), given()
        if options.live is not None:
            print("\n".join(live(tasks, tables_, options.live)))
            return 0
        store = Store(ignore_recorded=options.force)
        if any(t.spec["method"] == "cross_encoder" for t in tasks) and not options.questions:
            print(f"reranker scores in {record_cross_encoders(tables_, store)}")
        for line in record_language_models(tasks, tables_, store, options.questions, write=not options.questions):
            print(line)
    except (ValueError, OSError, WeightsError, ReaderError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
