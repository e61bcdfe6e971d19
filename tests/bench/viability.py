"""The viability audit of 1,000 queries x 200 candidates, both gains, five slices, against a loop over queries and against pytrec_eval."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from lib import grades, viability
from lib.viability_assembly import RANKINGS, Inputs
from lib.viability_requirement import evidence, parse_all
from lib.viability_run import audit_report
from lib.viability_slices import MEASURES, slice_table, sliced
from lib.viability_verdict_table import verdict_table

QUERIES, CANDIDATES, JUDGED, CORPUS = 1_000, 200, 20, 2_000


def big_run(tied: bool = False, seed: int = 0) -> Inputs:
    """A first stage, a reranker that shuffles it, graded judgements (half of them in the pool) and five slices; ``tied``: scores repeat in fives."""
    rng = np.random.default_rng(seed)
    pools = np.array([rng.permutation(CORPUS)[:CANDIDATES] for _ in range(QUERIES)])
    judged = np.hstack([pools[:, rng.permutation(CANDIDATES)[: JUDGED // 2]], rng.integers(CORPUS, 2 * CORPUS, (QUERIES, JUDGED // 2))])
    names = [f"q{i}" for i in range(QUERIES)]

    def frame(ids: np.ndarray, ranker: str) -> pd.DataFrame:
        rank = np.tile(np.arange(1, ids.shape[1] + 1), len(ids))
        score = -(rank // 5 if tied else rank).astype(float)
        made = dict(dataset="bench", qid=np.repeat(names, ids.shape[1]), ranker=ranker, rank=rank, doc_id=[f"d{d}" for d in ids.ravel()], score=score)
        return pd.DataFrame(made)[RANKINGS]

    shuffled = np.array([row[np.argsort(np.arange(CANDIDATES) + rng.normal(0, 30, CANDIDATES))] for row in pools])
    gold = frame(judged, "gold")[["dataset", "qid", "doc_id"]].assign(grade=rng.integers(-1, 4, judged.size)).drop_duplicates(["qid", "doc_id"])
    slices = pd.DataFrame({"dataset": "bench", "qid": names, "slice": [f"slice {i % 5}" for i in range(QUERIES)]})
    return Inputs(frame(pools, "first"), frame(shuffled, "reranked"), gold, slices, pd.DataFrame(columns=["what", "n", "meaning"]))


def audited(run: Inputs) -> pd.DataFrame:
    """From tables to verdicts with intervals of 10,000 resamples."""
    asked = parse_all("3")
    rows = viability.audit(run.first, run.judgements, run.reranked)
    met = evidence(run.first, run.judgements, run.membership, asked)
    return verdict_table(slice_table(sliced(rows, met, run.membership)), asked)


def looped(run: Inputs) -> pd.DataFrame:
    """The usual loop, a query at a time: both gains, parts, bounds of ties, unjudged removed."""
    known, out = {key: dict(zip(p["doc_id"], p["grade"])) for key, p in run.judgements.groupby("qid")}, []
    lists = [{q: (p["doc_id"].tolist(), p["score"].tolist()) for q, p in r.groupby("qid")} for r in (run.first, run.reranked)]
    for qid, held in known.items():
        corpus, graded = list(held.values()), [([held.get(d) for d in ranked[qid][0]], ranked[qid][1]) for ranked in lists]
        for form in grades.GAINS:

            def score(listed: list, form: str = form, corpus: list = corpus) -> float:
                return grades.ndcg_at(listed, corpus, 10, form)

            bounds = [
                x
                for listed, scores in graded
                for x in (*grades.tie_bounds(listed, scores, score), score(grades.condense(listed)), grades.judged_at(listed, 10))
            ]
            out.append((qid, *grades.headroom(graded[0][0], corpus, 10, form), score(graded[1][0]), *bounds))
    return pd.DataFrame(out)


def resampled(rows: pd.DataFrame) -> float:
    """CPU-seconds of scipy.stats.bootstrap on one measure of one gain, all queries and five slices, 10,000 resamples."""
    from scipy.stats import bootstrap

    values = rows[4].to_numpy(float)[::2]
    parts = [values, *np.array_split(values, 5)]
    return _seconds(
        lambda: [bootstrap((part,), np.mean, n_resamples=10_000, method="percentile", batch=100, rng=np.random.default_rng(0)) for part in parts], 1
    )


def trec_evaluated(run: Inputs) -> list[dict]:
    """pytrec_eval on the same rows: nDCG@10 (linear), recall and reciprocal rank of both lists; no ceiling, slices or intervals."""
    import pytrec_eval

    qrels = {q: dict(zip(p["doc_id"], p["grade"].astype(int))) for q, p in run.judgements.groupby("qid")}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recip_rank", "recall.200"})
    return [evaluator.evaluate({q: dict(zip(p["doc_id"], p["score"])) for q, p in r.groupby("qid")}) for r in (run.first, run.reranked)]


def bench_viability() -> str:
    """CPU-seconds of this process; the fastest of three."""
    run, tied = big_run(), big_run(tied=True)
    ours, bound, trec, whole = (
        _seconds(call) for call in (lambda: audited(run), lambda: audited(tied), lambda: trec_evaluated(run), lambda: audit_report(run))
    )
    loop, one = _seconds(lambda: looped(run), 1), resampled(looped(run))
    means = 2 * (len(MEASURES) + 1)
    return (
        f"viability audit, {QUERIES:,} queries x {CANDIDATES} candidates, reranked, two gains, six slices, {means} means with 10,000 resamples each: "
        f"{ours:.1f} CPU-s ({bound:.1f} where every query has ties to bound; {whole:.1f} with controls, units and causes); a loop over queries for the "
        f"same scores takes {loop:.1f}, and scipy.stats.bootstrap a mean and slice {means * one:.0f} (measured on one mean): "
        f"{(loop + means * one) / ours:.0f} times ours in all; pytrec_eval for three of the scores alone: {trec / ours:.1f} times"
    )


def _seconds(call, repeats: int = 3) -> float:
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return min(spent)


if __name__ == "__main__":
    print(bench_viability())
