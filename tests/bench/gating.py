"""The nested protocol on 3 data sets x 3 K x 500 questions, four rules, both grids, and 1,000 single questions' features; simulated lists."""

from __future__ import annotations

import os
import resource
import time

import pandas as pd

from lib import gating_simulated
from lib.gating_features import feature_table, features_of
from lib.gating_inputs import QuestionSet, question_sets
from lib.gating_models import grid_of
from lib.gating_nested import nested

SETS, QUESTIONS, JOBS = 3, 500, 2


def big_sets() -> list[QuestionSet]:
    """Three simulated data sets with their own list D."""
    made = []
    for i in range(SETS):
        s = gating_simulated.simulated(QUESTIONS, seed=i, dataset=f"set {i}")
        made += question_sets(s.lists, s.targets, s.questions, s.vectors, s.fit_distilled)[0]
    return made


def bench_gating(grids: tuple[str, ...] = ("small", "full")) -> str:
    """Wall and CPU seconds of both grids with two workers; configurations fitted."""
    sets, said = big_sets(), []
    for name in grids:
        wall, cpu = time.perf_counter(), _cpu()
        run = nested(sets, grid=grid_of(name), jobs=JOBS)
        said.append(f"{name} grid {time.perf_counter() - wall:.0f} s, {_cpu() - cpu:.0f} CPU-s, {len(run.tried):,} rows tried")
    return f"nested gate, {SETS} x {QUESTIONS} questions, K 1, 5, 10, four rules, {JOBS} workers on {os.cpu_count()} cores: {'; '.join(said)}; {_features()}"


def _cpu() -> float:
    """CPU-seconds of this process and of the workers that have ended."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def _features(n: int = 1000) -> str:
    s = gating_simulated.simulated(n)
    lists = {key: list(zip(g["title"], g["score"])) for key, g in s.lists.groupby(["list", "qid"])}
    single, together = _timed(lambda: [features_of(q.question, lists["H", q.qid], lists["V", q.qid]) for q in s.questions.itertuples()], lambda: _table(s))
    return f"features of {n:,} questions {1000 * single / n:.2f} ms each one by one, {together:.2f} s in one table"


def _table(s: gating_simulated.Simulated) -> pd.DataFrame:
    return feature_table(s.lists, s.questions)


def _timed(*calls) -> list[float]:
    spent = []
    for call in calls:
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return spent


if __name__ == "__main__":
    print(bench_gating())
