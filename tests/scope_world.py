"""Invented survival and outcomes for the scope map: effects by slice, pool, budget and reader that the tests plant."""
import json

import numpy as np
import pandas as pd

from lib.settings import setting

MAIN = "own-dense-5.chunk"
POLICIES = ("naive", "focused", "submod", "topk", "gold")


def questions(n=60, dataset="d"):
    """Every third question single-pass, the rest multi-hop, chains and comparisons in turn."""
    kinds = ["single", "bridge", "comparison_choice"]
    return pd.DataFrame([(dataset, f"q{i:03d}", f"Who is {i}?", [f"Answer {i}"], kinds[i % 3], 1 if i % 3 == 0 else 2, i % 2) for i in range(n)],
                        columns=["dataset", "qid", "question", "answers", "question_type", "n_hops", "half"]).astype({"n_hops": "Int64"})


def survived(asked, chance=lambda q, policy, budget, pack: 0.5, budgets=(160,), packs=(MAIN,), policies=POLICIES, seed=0):
    """One row a question, pack, policy and budget; answer_in_context is drawn with ``chance``."""
    rng, rows = np.random.default_rng(seed), []
    for q in asked.itertuples():
        ease = rng.random()
        for pack in packs:
            for policy in policies:
                for b in budgets:
                    kept = int(ease < chance(q, policy, b, pack))
                    rows.append((q.dataset, q.qid, pack, policy, b, kept, True, float(kept), kept / 2 + 0.5, 140 + len(policy)))
    return pd.DataFrame(rows, columns=["dataset", "qid", "pack_id", "policy", "budget", "answer_in_context", "answer_defined", "all_gold_in_context",
                                       "gold_coverage", "n_tokens"])


def outcomes(rows, asked, readers=(("small", "fp32"),), f1=lambda row, reader: 0.5 * row.answer_in_context):
    """``rows`` read by each reader."""
    out = [rows.assign(reader=r, precision=p, f1=[f1(row, r) for row in rows.itertuples()], em=0.0) for r, p in readers]
    return pd.concat(out, ignore_index=True).merge(asked[["dataset", "qid", "half", "question_type"]], on=["dataset", "qid"])


def settings(*changes):
    """The settings table of the main pack and of changes of it."""
    from lib.settings import pack_id

    made = [setting(), *(setting(**c) for c in changes)]
    return pd.DataFrame([(pack_id(s), "pack", json.dumps(s)) for s in made], columns=["id", "kind", "settings"])


def one(table, **where):
    rows = table.loc[np.logical_and.reduce([(table[k] == v).to_numpy() for k, v in where.items()])]
    assert len(rows) == 1, (where, len(rows))
    return rows.iloc[0]
