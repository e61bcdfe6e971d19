"""Invented outcomes of one pack and budget, as the diagnosis reads them: what its tests share."""
import numpy as np
import pandas as pd

POLICIES = ["naive", "mmr", "submod"]


def outcomes(seed=0, n=30, policies=(*POLICIES, "oracle", "gold", "closed_book"), dataset="d"):
    """Random rows: question-wise recall, one question in five without a span, one in ten without gold; as a table is once it is read."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame([(f"q{i}", p) for p in policies for i in range(n)], columns=["qid", "policy"]).assign(dataset=dataset, reader="r", precision="fp32")
    number = rows["qid"].str[1:].astype(int)
    rows["answer_defined"] = (number % 5 != 4).astype("boolean")
    rows["answer_in_context"] = (rng.integers(0, 2, len(rows)) * rows["answer_defined"]).astype("Int64")
    rows["f1"] = np.clip(0.4 * rows["answer_in_context"].astype(float) + 0.6 * rng.random(len(rows)) + rng.normal(0, 0.1, n)[number], 0, 1)
    rows["em"] = (rows["f1"] > 0.6).astype(float)
    rows["recall_at_5"] = rng.choice([0.5, 1.0], n)[number]
    rows["all_gold_at_5"] = (rows["recall_at_5"] == 1).astype(float)
    rows["gold_coverage"], rows["gold_density"] = rng.integers(0, 3, len(rows)) / 2, rng.random(len(rows))
    rows.loc[number % 10 == 9, ["recall_at_5", "all_gold_at_5", "gold_coverage", "gold_density"]] = np.nan
    return rows


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    assert len(rows) == 1, where
    return rows.iloc[0]
