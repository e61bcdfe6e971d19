"""The four-term objective taken apart: one change at a time, every question packed again, and what of the answer and the gold survives (SPEC 4, "Ablations").

Nothing is read and no table of contexts is written: an answer stands in a pack where one of its snippets holds it.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from lib import evidence, packers, packing, survival
from lib.settings import TOLD

PUBLISHED = "published"
FAMILIES: dict[str, dict[str, dict]] = {
    "leave one out": {"without relevance": {"weights": [0, 0.5, 0.4, 0.3]}, "without query coverage": {"weights": [1, 0, 0.4, 0.3]},
                      "without saturated coverage": {"weights": [1, 0.5, 0, 0.3]}, "without document diversity": {"weights": [1, 0.5, 0.4, 0]}},
    "one term": {"relevance alone": {"weights": [1, 0, 0, 0]}, "query coverage alone": {"weights": [0, 1, 0, 0]},
                 "saturated coverage alone": {"weights": [0, 0, 1, 0]}, "document diversity alone": {"weights": [0, 0, 0, 1]}},
    "weights": {"equal weights": {"weights": [1, 1, 1, 1]}, "half the relevance": {"weights": [0.5, 0.5, 0.4, 0.3]},
                "twice the query coverage": {"weights": [1, 1, 0.4, 0.3]},
                "twice the saturated coverage": {"weights": [1, 0.5, 0.8, 0.3]}, "twice the document diversity": {"weights": [1, 0.5, 0.4, 0.6]}},
    "alpha": {f"alpha {a}": {"alpha": a} for a in (0.1, 0.2, 0.5, 1.0)},
    "lambda": {f"lambda {x}": {"lam": x} for x in (0.3, 0.5, 0.9, 1.0)},
    "cap": {f"cap {k}": {"cap": k} for k in (2, 3, 4, 5)},
    "exponent": {f"exponent {r}": {"exponent": r} for r in (0.0, 0.25, 0.5, 0.75, 1.5)},
    "greedy": {"both greedies": {"greedy": "both"}},
    # found by looking at more combinations on the real tier, after the single changes were known
    "two at once": {"query coverage alone, exponent 0.0": {"weights": [0, 1, 0, 0], "exponent": 0.0},
                    "without saturated coverage, exponent 0.0": {"weights": [1, 0.5, 0, 0.3], "exponent": 0.0}},
}
CHANGES = {name: change for family in FAMILIES.values() for name, change in family.items()}
COLUMNS = ["dataset", "qid", "half", "policy", "change", "answer_in_context", "answer_defined", "gold_coverage", "all_gold_in_context", "n_tokens"]


def policy_of(change: Mapping) -> str:
    """The packing rule whose picks the change moves, submod or mmr; raises ValueError for a change of anything but one rule's own settings.

    >>> policy_of({"lam": 0.5}), policy_of({"exponent": 0.0, "cap": 3})
    ('mmr', 'submod')
    """
    for policy, own in (("submod", TOLD["submod"]), ("mmr", ("lam",))):
        if change and set(change) <= set(own):
            return policy
    raise ValueError(f"a change of the objective names settings of one rule, {', '.join(TOLD['submod'])} or lam, got {dict(change)}")


def laid_out(bench: packing.Bench, s: dict) -> Iterator[tuple]:
    """Each question of a data set (row of questions) with its candidates, in whose ``holds_answer`` the answer stands, under the setting ``s``."""
    snippets, (_, vectors) = bench.snippets(s), bench.cut(s)
    mine = snippets[snippets["pool_id"] == packing.pool_id(s)]
    groups = dict(list(mine.groupby("qid", sort=False)))
    for q in bench.questions.itertuples():
        rows = groups.get(q.qid, mine.iloc[:0])
        holds = np.array([survival.answer_in_context(q.answers, [t], q.question_type).value for t in rows["text"]], bool)
        unit = np.stack([vectors[i] for i in rows["snippet_id"]]) if len(rows) else np.zeros((0, 1))
        c = evidence.candidates(q.question, rows, unit, holds)
        yield q, c, dict(zip(rows["snippet_id"], rows["doc_id"]))


def pack_changes(bench: packing.Bench, main: dict, changes: Mapping[str, Mapping], budget: int,
                 beside: tuple[str, ...] = ("naive", "focused", "mmr")) -> pd.DataFrame:
    """One data set packed under ``main`` by submod and the rules ``beside`` it, and by the rule of each change of ``changes`` (name: settings) under it.

    COLUMNS, a row a question, rule and change (``published`` for none); gold figures are missing where a question has no gold. Raises ValueError for a
    change of anything but one rule's own settings.
    """
    arms = [(policy, PUBLISHED, main) for policy in ("submod", *beside)]
    arms += [(policy_of(change), name, packing.setting(**{**main, **change})) for name, change in changes.items()]
    gold, rows = bench.gold.groupby("qid")["doc_id"].agg(set).to_dict(), []
    for q, c, document in laid_out(bench, main):
        defined = survival.answer_in_context(q.answers, [], q.question_type).defined
        for policy, name, s in arms:
            chosen = [i for i, _ in packers.picked(c, policy, budget, **{k: s[k] for k in TOLD[policy]})]
            inside, wanted = [document[c.ids[i]] for i in chosen], gold.get(q.qid, set())
            rows.append((q.dataset, q.qid, q.half, policy, name, int(c.holds_answer[chosen].any()), defined, survival.gold_coverage(wanted, inside),
                         survival.all_gold_in_context(wanted, inside), int(c.costs[chosen].sum())))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"answer_defined": bool, "gold_coverage": float, "all_gold_in_context": float})
