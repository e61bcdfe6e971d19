"""Speed and memory of what a user waits for, on the sample tier's tables; needs a finished 'make repro'.

usage: python -m tests.bench [engine worlds packing survival prompts contrasts viability rerankers gating serving notebook]
"""
from __future__ import annotations

import resource
import sys
import time


from lib import packing, reading, retrieval, survival, tables
from tests.bench.engine import bench_engine
from tests.bench.gating import bench_gating
from tests.bench.gating_serving import bench_gating_serving
from tests.bench.notebook_04 import bench_notebook
from tests.bench.rerankers import bench_rerankers
from tests.bench.statistics import bench_contrasts
from tests.bench.viability import bench_viability
from tests.bench.worlds import bench_worlds

TIER = "sample"


def timed(call, *args):
    """(seconds of this process's CPU, result)."""
    start = time.process_time()
    result = call(*args)
    return time.process_time() - start, result


def bench_packing() -> str:
    """All seven policies at four budgets, scaled to 1,000 questions; vectors come from the cache."""
    questions, gold, documents, pools, rankings = tables.read_all(TIER, "questions", "gold", "documents", "pools", "rankings")
    bench = packing.Bench(questions, gold, documents, pools, rankings, retrieval.SentenceEncoder("minilm"))
    bench.cut(packing.setting())
    policies = ["naive", "focused", "mmr", "submod", "topk", "random", "gold"]
    seconds, _ = timed(packing.pack_all, bench, packing.setting(), policies, [160])
    return f"packing, 7 policies, 1 budget, tables written out: {1000 * seconds / len(questions):.1f} CPU-s per 1,000 questions"


def bench_survival() -> str:
    """Answer-in-context for 100,000 contexts, each with snippets of its own."""
    snippets = tables.read("snippets", TIER)["text"].tolist()
    golds = [["Caerlyn", "the capital"]] * 100_000
    contexts = [[f"{snippets[(i + k) % len(snippets)]} {i}" for k in range(4)] for i in range(100_000)]
    seconds, _ = timed(survival.answers_in_contexts, golds, contexts)
    return f"answer-in-context: {seconds:.1f} CPU-s for 100,000 contexts of 4 snippets"


def bench_prompts(n: int = 32) -> str:
    """Batches with a shared prefix against one question at a time, SmolLM2-135M, fp32, the same prompts, one process."""
    from lib.readers import open_reader

    questions, contexts = tables.read_all(TIER, "questions", "contexts")
    prompts = reading.to_read(questions, contexts, ["submod"], 160)["prompt"].tolist()[:n]
    with open_reader({"model": "smollm2-135m", "precision": "fp32"}) as reader:
        reader.generate(prompts[:1])
        batched, together = timed(reader.generate, prompts)
        single, alone = timed(lambda: [reader.generate([p])[0] for p in prompts])
        plain, _ = timed(lambda: [one_at_a_time(reader, p) for p in prompts])
    same = sum(a.text == b.text for a, b in zip(together, alone))
    return (f"generation, {n} prompts: {batched / n:.2f} CPU-s a prompt in batches; one at a time with the shared prefix {single / batched:.1f} times that, "
            f"plain transformers generate one at a time {plain / batched:.1f} times; {same} of {n} answers equal")


def one_at_a_time(reader, prompt: str) -> str:
    """The usual loop: model.generate on one prompt, no shared prefix."""
    encoded = reader.tokenizer([prompt], return_tensors="pt")
    out = reader.model.generate(**encoded, max_new_tokens=16, do_sample=False, pad_token_id=reader.tokenizer.eos_token_id)
    return reader.tokenizer.decode(out[0, encoded["input_ids"].shape[1]:])


BENCHES = {"engine": bench_engine, "worlds": bench_worlds, "packing": bench_packing, "survival": bench_survival, "prompts": bench_prompts,
           "contrasts": bench_contrasts, "viability": bench_viability, "rerankers": bench_rerankers, "gating": bench_gating, "serving": bench_gating_serving,
           "notebook": bench_notebook}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHES:
        print(BENCHES[name](), flush=True)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")
