"""Questions of a generated world packed in a stream, against the path that writes tables; needs the weights wordllama and smollm2-135m, and no tables."""
from __future__ import annotations

import resource
import time

from lib import dials_stream, packing, retrieval, worlds

QUESTIONS, DOCUMENTS, FEW = 50_000, 15_000, 600
CORES = 2


def bench_worlds(n: int = QUESTIONS) -> str:
    """``n`` questions packed by submod at 160 tokens on two cores, and a question's cost beside ``packing.pack_all``'s, submod alone, with its rankings."""
    start, before = time.perf_counter(), spent()
    rows = kept = 0
    for part in dials_stream.packed(n, ["submod"], seed=1, documents=DOCUMENTS, workers=CORES):
        rows, kept = rows + len(part), kept + int(part["answer_in_context"].sum())
    shut()
    wall, cpu = time.perf_counter() - start, spent() - before
    peak = sum(resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ours, tables = few_streamed(), few_tabled()
    return (f"{rows:,} world questions packed in {wall:.0f} s on {CORES} cores, {cpu:.0f} CPU-s ({rows / cpu:,.0f} questions a CPU-s; a new world of "
            f"{DOCUMENTS:,} passages told, cut and embedded included; {kept / rows:.3f} kept), at most {peak:.1f} GB in the first and the larger of the "
            f"other processes; with tables ({FEW} questions of {FEW} passages) a question costs {tables / ours:.1f} times what it costs in the stream")


def few_streamed() -> float:
    """CPU-seconds of ``FEW`` questions in the stream, encoder and tokenizer loaded."""
    list(dials_stream.packed(10, ["submod"], seed=2, documents=60))
    start = time.process_time()
    list(dials_stream.packed(FEW, ["submod"], seed=1, documents=FEW))
    return time.process_time() - start


def few_tabled() -> float:
    """CPU-seconds of the same questions as tables: world, rankings of the own pools, Bench, pack_all."""
    encoder = retrieval.encoder("wordllama")
    encoder.encode(["loaded"])
    start = time.process_time()
    made = worlds.world(FEW, seed=1, documents=FEW)
    frames = [made[k] for k in ("questions", "gold", "documents", "pools")]
    rankings = retrieval.rank(frames[0], frames[2], frames[3], encoder, scopes=("own",), cache=None)
    packing.pack_all(packing.Bench(*frames, rankings, encoder, cache=None), packing.setting(), ["submod"], [160])
    return time.process_time() - start


def spent() -> float:
    """CPU-seconds of this process and of those that have ended."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def shut() -> None:
    """End the other processes, so that what they used is counted."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)


if __name__ == "__main__":
    print(bench_worlds())
