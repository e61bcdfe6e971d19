"""Contexts with something taken out: the snippets that hold the answer, or, as a control, as many others (SPEC 7; document 000, limitations).

A reader that is right with the whole context and wrong without the answer's snippets rests on them. Any other change of a context moves answers
too, so the control says how much of that is the answer's own doing: it removes the same number of snippets that do not hold the answer, those
nearest in tokens, bridging evidence among them, so that the comparison leans towards too small an effect.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pandas as pd

from lib import diagnostics, evidence, readers, survival

REMOVED = ("answer", "other")
TABLE = [*diagnostics.PACK_KEY, "removed", "context_hash", "ablated_hash", "n_removed", "n_left"]


def ablate(asked: pd.DataFrame, questions: pd.DataFrame, packs: pd.DataFrame, snippets: pd.DataFrame, policies: Sequence[str]) -> pd.DataFrame:
    """Every context of ``asked`` (``reading.to_read``) by ``policies`` that holds the answer, without the answer's snippets and without others.

    The columns of the ablations table, and question, answers, context (what is left, in reading order, joined anew) and prompt, so that the rows are
    read like any others once ``context_hash`` is the ablated one (``to_read``). A context all of whose snippets hold the answer has no control.
    Raises ValueError for a policy that was not read, or where packs and contexts disagree.
    """
    absent = sorted(set(policies) - set(asked["policy"]))
    if absent:
        raise ValueError(f"ablate names {absent}, which was not read; read are {sorted(set(asked['policy']) - {'closed_book'})}")
    rows = asked[asked["policy"].isin(policies) & (asked["policy"] != "closed_book")].reset_index(drop=True)
    keys = [tuple(row) for row in rows[diagnostics.PACK_KEY].itertuples(index=False)]
    used = packs[pd.MultiIndex.from_frame(packs[diagnostics.PACK_KEY]).isin(keys)]
    packed = diagnostics.snippet_lists(used, snippets, rows.assign(n_tokens=0, n_snippets=0)).merge(rows, on=diagnostics.PACK_KEY, validate="one_to_one")
    packed = packed.merge(questions[["dataset", "qid", "question_type"]], on=["dataset", "qid"], validate="many_to_one")
    made = []
    for row in packed.itertuples():
        holds = [bool(survival.answer_in_context(list(row.answers), [text], row.question_type).value) for text in row.texts]
        for removed, out in zip(REMOVED, (held(holds), others(holds, row.tokens))):
            if out:
                left = [text for i, text in enumerate(row.texts) if i not in out]
                text = evidence.joined(left)
                made.append((*(getattr(row, k) for k in diagnostics.PACK_KEY), removed, row.context_hash, hashlib.sha256(text.encode()).hexdigest(), len(out),
                             len(left), row.question, row.answers, text, readers.build_prompt(text, row.question)))
    return pd.DataFrame(made, columns=[*TABLE, "question", "answers", "context", "prompt"]).astype({"budget": "int64", "n_removed": "int64", "n_left": "int64"})


def held(holds: Sequence[bool]) -> set[int]:
    """Places of the snippets that hold the answer."""
    return {i for i, h in enumerate(holds) if h}


def others(holds: Sequence[bool], tokens: Sequence[int]) -> set[int]:
    """As many places that do not hold the answer, or as many as there are: for each that does, the free one nearest in tokens, the earlier of two.

    >>> others([False, True, False], [40, 30, 33])
    {2}
    """
    free, out = [i for i, h in enumerate(holds) if not h], set()
    for i in sorted(held(holds)):
        if free:
            nearest = min(free, key=lambda j: (abs(tokens[j] - tokens[i]), j))
            free.remove(nearest)
            out.add(nearest)
    return out


def to_read(ablated: pd.DataFrame) -> pd.DataFrame:
    """The ablated contexts as rows that ``reading.read_all`` takes: each distinct one with its own hash."""
    rows = ablated.assign(context_hash=ablated["ablated_hash"])
    return rows.drop_duplicates(["dataset", "qid", "context_hash"])[["dataset", "qid", "question", "answers", "context", "context_hash", "prompt"]]
