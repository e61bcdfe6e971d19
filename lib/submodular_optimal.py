"""How far the greedies are from the best pack there is: exactly on small pools, by the certificate on all (SPEC 4)."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lib import packers, packing, stats, submodular
from lib.submodular_ablations import laid_out
from lib.submodular_best import best_of_two, certificate
from lib.submodular_exact import MOST, exact

RULES = {"ratio": submodular.fast_greedy, "unit cost": lambda f, costs, budget: submodular.fast_greedy(f, costs, budget, exponent=0.0), "both": best_of_two}
EQUAL = 1e-9  # F nearer than this to the optimum, relative to it, is optimal
COLUMNS = ["dataset", "qid", "candidates", "rule", "F", "optimum", "certificate"]


def against_optimum(bench: packing.Bench, s: dict, budget: int) -> pd.DataFrame:
    """One data set, a row a question with candidates and rule (ratio: published; unit cost; both): F, the optimum, the certificate.

    COLUMNS; the optimum is missing above MOST candidates; the objective is the setting's, without its cap.
    """
    rows = []
    for q, c, _ in laid_out(bench, s):
        if c.ids:
            f = packers.objective(c, s["weights"], s["alpha"])
            best = exact(f, c.costs, budget)[1] if len(c.ids) <= MOST else np.nan
            for rule, solve in RULES.items():
                picked = [i for i, _ in solve(f, c.costs, budget)]
                sure = certificate(f, c.costs, budget, picked)
                rows.append((q.dataset, q.qid, len(c.ids), rule, sure["F"], best, sure["share"]))
    return pd.DataFrame(rows, columns=COLUMNS)


def optimality(rows: pd.DataFrame, tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The optimality table: a row a data set, rule and quantity: optimal (share of small pools where no pack has a higher F), of_optimum (F over it, there),
    least_of_optimum (no interval), certified (F over the bound, all pools), with a 95 % interval over questions."""
    out = []
    for (dataset, rule), part in rows.groupby(["dataset", "rule"]):
        small = part[part["optimum"].notna()]
        share = np.where(small["optimum"] > 0, small["F"] / small["optimum"].where(small["optimum"] > 0), 1.0)
        optimal = (share >= 1 - EQUAL).astype(float)
        looked = (("optimal", optimal, small["qid"]), ("of_optimum", share, small["qid"]), ("certified", part["certificate"], part["qid"]))
        for quantity, values, qids in looked:
            if len(values):
                i = stats.mean_interval(values, qids, resamples=resamples, seed=seed)
                out.append((tier, dataset, rule, quantity, i.estimate, i.low, i.high, i.n, i.clusters, len(part) - i.n))
        if len(small):
            counts = len(small), small["qid"].nunique(), len(part) - len(small)
            out.append((tier, dataset, rule, "least_of_optimum", float(share.min()), np.nan, np.nan, *counts))
    return pd.DataFrame(out, columns=["tier", "dataset", "rule", "quantity", "estimate", "ci_low", "ci_high", "n", "clusters", "undefined"])


def over_sets(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The rows of several data sets, and, where there are two or more, all of them again as data set ``all``; no row without a data set."""
    parts = list(parts)
    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    together = rows.assign(qid=rows["dataset"] + ":" + rows["qid"], dataset="all")
    return pd.concat([rows, together], ignore_index=True) if rows["dataset"].nunique() > 1 else rows
