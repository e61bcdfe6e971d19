"""Two lists over graded passages of which only some are judged, and the check of a table by its declaration: what tests of judgements share."""

import numpy as np
import pandas as pd

from lib import tables
from lib.declarations_judgements import JUDGEMENTS

KEY = ["dataset", "qid"]


def checked(df, name):
    """`tables.check` under this module's own declaration, whether or not the compendium's list has it yet."""
    tables.TABLES.setdefault(name, tables._declared(name, JUDGEMENTS[name]))
    return tables.check(df, name)


def world(seed=0, queries=30, judged=0.5, docs=14):
    rng = np.random.default_rng(seed)
    rankings, rows = [], []
    for q in range(queries):
        grades = rng.choice([0, 0, 0, 1, 2, 3], docs)
        rows += [("w", f"{q}", f"d{d}", float(g)) for d, g in enumerate(grades) if rng.random() < judged]
        for ranker, noise in (("old", 1.0), ("new", 1.5)):
            order = np.argsort(-(grades + rng.normal(0, noise, docs)))[:10]
            rankings += [("w", f"{q}", "pooled", ranker, r, f"d{d}", 20.0 - r) for r, d in enumerate(order, 1)]
    return pd.DataFrame(rankings, columns=[*KEY, "scope", "ranker", "rank", "doc_id", "score"]), pd.DataFrame(rows, columns=[*KEY, "doc_id", "grade"])
