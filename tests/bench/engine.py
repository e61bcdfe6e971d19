"""The packing engine: questions a second, peers on the same candidates, how cost grows with the candidates. Vectors are made up: nothing has to be read."""
from __future__ import annotations

import functools
import importlib
import time

import numpy as np

from lib import submodular, submodular_sparse

BUDGET = 160  # tokens
PICKS = 11  # on which the peers are compared


def cloud(n: int, seed: int = 0, dimensions: int = 320) -> np.ndarray:
    """Unit rows in topics of some fifteen, mean cosine 0.07: about that of real snippets (0.06). Shape (n, dimensions)."""
    draw = np.random.default_rng(seed)
    topics = 0.35 * draw.normal(size=dimensions) + 0.8 * draw.normal(size=(max(4, n // 15), dimensions))
    rows = topics[draw.integers(len(topics), size=n)] + draw.normal(size=(n, dimensions))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def question(n: int, seed: int = 0) -> tuple[tuple, np.ndarray]:
    """(relevance, terms, document), costs: eight question terms, three snippets a document, 20 to 59 tokens each."""
    draw = np.random.default_rng(seed)
    terms = draw.random((n, 8)) < 0.2
    return (terms.mean(axis=1), terms, np.arange(n) // 3), draw.integers(20, 60, n).astype(float)


def cpu(call, *args, **named):
    """(least CPU-seconds of three calls, result)."""
    took = []
    for _ in range(3):
        start = time.process_time()
        result = call(*args, **named)
        took.append(time.process_time() - start)
    return min(took), result


def small(n: int = 60, questions: int = 300) -> str:
    """The four-term objective on ``n`` candidates, building it included and not."""
    given = [(question(n, q), np.clip(np.round(v @ v.T, 12), 0, 1)) for q in range(questions) for v in [cloud(n, q)]]
    built, made = cpu(lambda: [submodular.objective(r, t, s, d) for ((r, t, d), _), s in given])
    packed, picks = cpu(lambda: [submodular.fast_greedy(f, costs, BUDGET) for f, ((_, costs), _) in zip(made, given)])
    return (f"{n} candidates, four terms, {BUDGET} tokens, {np.mean([len(p) for p in picks]):.1f} picks: "
            f"{questions / (built + packed):,.0f} questions a second a core, {questions / packed:,.0f} without building the objective")


def ours(similarity: np.ndarray) -> list[int]:
    """``PICKS`` by the four-term lazy greedy, the objective built anew, every cost 1."""
    relevance, terms, document = question(len(similarity))[0]
    f = submodular.objective(relevance, terms, similarity, document)
    return [i for i, _ in submodular.lazy_greedy(f, np.ones(len(similarity)), PICKS)]


def apricots(similarity: np.ndarray) -> dict:
    """apricot's lazy greedies on one term; its facility location compiles at every fit, so the compiled function is kept between fits."""
    module = importlib.import_module("apricot.functions.facilityLocation")
    for name in ("calculate_gains", "calculate_gains_sieve"):
        setattr(module, name, functools.lru_cache(getattr(module, name)))
    apricot = importlib.import_module("apricot")
    kinds = {"facility location": apricot.FacilityLocationSelection, "saturated coverage": apricot.SaturatedCoverageSelection}
    return {f"apricot {name}": lambda kind=kind: kind(PICKS, metric="precomputed", optimizer="lazy").fit(similarity).ranking for name, kind in kinds.items()}


def submodlibs(similarity: np.ndarray) -> dict:
    """submodlib's lazy greedy on facility location, its kernel built anew (it has no saturated coverage)."""
    submodlib = importlib.import_module("submodlib")

    def facility():
        f = submodlib.FacilityLocationFunction(n=len(similarity), mode="dense", sijs=similarity, separate_rep=False)
        return f.maximize(budget=PICKS, optimizer="LazyGreedy", stopIfZeroGain=False, stopIfNegativeGain=False, verbose=False, show_progress=False)

    return {"submodlib facility location": facility}


def peers(n: int = 2_000) -> list[str]:
    """Our four terms over a peer's one, the same candidates and number of picks, compiled before the clock starts; peers that are not installed are named."""
    unit = cloud(n)
    similarity = np.clip(np.round(unit @ unit.T, 12), 0, 1)
    mine, picks = cpu(ours, similarity)
    out = [f"{n:,} candidates, {len(picks)} picks: four terms {1000 * mine:.1f} CPU-ms"]
    for name, make in (("apricot", apricots), ("submodlib", submodlibs)):
        try:
            calls = make(similarity)
        except ImportError:
            out.append(f"  {name} is not installed: no ratio (pip install --target FOLDER apricot-select submodlib-py, then PYTHONPATH=FOLDER)")
            continue
        for what, call in calls.items():
            call()
            theirs, chosen = cpu(call)
            out.append(f"  ratio to {what}: {mine / theirs:.2f} ({1000 * theirs:.1f} CPU-ms, {len(chosen)} picks)")
    return out


def growth(sizes: tuple[int, ...] = (20, 60, 200, 600, 2_000, 6_000, 20_000)) -> list[str]:
    """CPU of similarities and of packing by number of candidates, each by the method that ``submodular_sparse`` chooses, and the exponent between two sizes."""
    out, before = [], None
    for n in sizes:
        ((relevance, terms, document), costs), unit = question(n), cloud(n)
        start = time.process_time()
        similarity = submodular_sparse.similarities(unit)
        near = time.process_time() - start
        took, _ = cpu(lambda: submodular.fast_greedy(submodular.objective(relevance, terms, similarity, document), costs, BUDGET))
        power = "" if before is None else f", exponent {np.log(took / before[1]) / np.log(n / before[0]):.2f}"
        out.append(f"{n:>6,} candidates ({submodular_sparse.method(n)}): similarities {1000 * near:,.1f} CPU-ms, packing {1000 * took:,.2f}{power}")
        before = n, took
    return out


def losses(n: int = 2_000, nearest: tuple[int, ...] = (16, 64, 256)) -> list[str]:
    """F of what is packed among the k nearest over F of what all pairs give, both judged on all pairs: four terms, and saturated coverage alone."""
    unit, ((relevance, terms, document), costs) = cloud(n), question(n)
    every, kept, out = np.clip(unit @ unit.T, 0, 1), {k: submodular_sparse.neighbours(unit, k) for k in nearest}, []
    for told, weights in (("four terms", submodular.PUBLISHED_WEIGHTS), ("saturated coverage alone", (0, 0, 1, 0))):
        made = {k: submodular.objective(relevance, terms, s, document, weights) for k, s in {"all": every, **kept}.items()}
        worth = {k: submodular.value(made["all"], [i for i, _ in submodular.lazy_greedy(f, costs, 5 * BUDGET)]) for k, f in made.items()}
        lost = ", ".join(f"{k} nearest {100 * (1 - worth[k] / worth['all']):.2f} %" for k in nearest)
        out.append(f"{n:,} candidates, {5 * BUDGET} tokens, {told}: F lost with {lost}")
    return out


def bench_engine() -> str:
    """All of it, a line a figure."""
    return "\n".join([small(), *peers(), *growth(), *losses()])
