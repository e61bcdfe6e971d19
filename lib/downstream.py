"""Does a better order survive the consumer? The lists whose first passages are packed for a reader (document 001, viability test 7; SPEC 11).

A list is known by its first stage, its ranker and the order in which its first ``depth`` passages are handed on: its ``own``, or the order that the first
stage gave them. The second differs from the first stage by *which* passages it holds alone, and from the list itself by their order alone. Two lists bound
what a ranking can do: the pool's ``best order``, and ``all gold first``, which no reranker can reach where the pool lacks a passage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lib import packers, packing
from lib.checks import MEND
from lib.ranking import QUESTION
from lib.reader_spec import full_spec
from lib.rerankers_compare import CROSS, NO_MODEL, first_of, kind_of, made_from
from lib.retrieval import tie_breaks
from lib.tuned_card import TunedError, read_card
from lib.whole import check_whole

OWN, KEPT = "own", "first stage"  # the order of the passages handed on
FIRST = "first stage"
BEST, CEILING = "best order", "all gold first"
HEAD = [*QUESTION, "first_stage", "ranker", "order", "depth"]
BLOCK = ("packers", "depths", "budget", "encoder", "setting", "read")
READ = ("reader", "firsts", "packers", "questions")


def compared(lists: pd.DataFrame, firsts: Sequence[str], scope: str) -> dict[str, str]:
    """ranker -> first stage: each of ``firsts`` that has lists, and what free fusion and cross-encoders made of it (language models read too few questions).

    >>> rows = pd.DataFrame({"scope": "pooled", "ranker": ["hybrid", "hybrid + fusion", "dense + reranker", "hybrid + m yes/no"]})
    >>> compared(rows, ["hybrid", "dense"], "pooled")
    {'hybrid': 'hybrid', 'hybrid + fusion': 'hybrid'}
    """
    there = [f for f in firsts if f in set(lists.loc[lists["scope"] == scope, "ranker"])]
    made = [r for r in made_from(lists, scope) if kind_of(r) in (NO_MODEL, CROSS)]
    return {f: f for f in there} | {r: first_of(r) for f in there for r in made if first_of(r) == f}


def kind(ranker: str) -> str:
    """What a list is: a first stage, a fusion ("no model"), a "cross-encoder", or one of the two bounds.

    >>> kind("hybrid"), kind("hybrid + fusion"), kind("hybrid + reranker"), kind("hybrid + best order")
    ('first stage', 'no model', 'cross-encoder', 'best order')
    """
    made = ranker.rpartition(" + ")[2]
    return FIRST if " + " not in ranker else made if made in (BEST, CEILING) else kind_of(ranker)


def heads(lists: pd.DataFrame, gold: pd.DataFrame, documents: pd.DataFrame, firsts: Sequence[str], scope: str, depths: Sequence[int]) -> pd.DataFrame:
    """What each list hands on: HEAD and docs, the doc_ids of its first ``depth`` passages in the order they are handed on.

    ``lists``: rows of the rankings table, reranked lists among them. A question without a list by some ranker has no row there.
    """
    names, relevant = compared(lists, firsts, scope), _relevant(gold, documents)
    ranked = lists[(lists["scope"] == scope) & lists["ranker"].isin(list(names))].sort_values("rank", kind="stable")
    found = {r: rows.groupby(QUESTION)["doc_id"].agg(list).to_dict() for r, rows in ranked.groupby("ranker")}
    rows = []
    for first in (f for f in firsts if f in found):
        pool, made = found[first], {r: found[r] for r, f in names.items() if f == first}
        made[f"{first} + {BEST}"] = {k: gold_first(docs, [d for d in docs if d in set(relevant.get(k, []))]) for k, docs in pool.items()}
        made[f"{first} + {CEILING}"] = {k: gold_first(docs, relevant.get(k, [])) for k, docs in pool.items()}
        for ranker, by_question in made.items():
            for key, docs in by_question.items():
                for depth in depths:
                    rows += [(*key, first, ranker, order, depth, tuple(head)) for order, head in _orders(docs[:depth], pool.get(key, []), ranker != first)]
    return pd.DataFrame(rows, columns=[*HEAD, "docs"])


def gold_first(docs: Sequence[str], relevant: Sequence[str]) -> list[str]:
    """``relevant`` in front, those that the list holds in its own order and the others behind them, then the rest of the list.

    >>> gold_first(["a", "b", "c"], ["x", "c", "b"])
    ['b', 'c', 'x', 'a']
    """
    wanted = set(relevant)
    held = [d for d in docs if d in wanted]
    return [*held, *(d for d in relevant if d not in set(held)), *(d for d in docs if d not in wanted)]


def _orders(head: list[str], pool: list[str], other: bool) -> list[tuple[str, list[str]]]:
    """The first passages in their own order and, of another list than the first stage, in the first stage's; what that lacks stands last."""
    place = {d: i for i, d in enumerate(pool)}
    return [(OWN, head), *([(KEPT, sorted(head, key=lambda d: place.get(d, len(pool))))] if other else [])]


def _relevant(gold: pd.DataFrame, documents: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Relevant passages of each question, the higher grade first, then by hop; ties by what they say, so that other ids change nothing."""
    tie = dict(zip(zip(documents["dataset"], documents["doc_id"]), tie_breaks((documents["title"].fillna("") + ". " + documents["text"]).tolist())))
    rows = gold[gold["grade"] > 0]
    rows = rows.assign(tie=[tie.get(k, -1) for k in zip(rows["dataset"], rows["doc_id"])], hop=rows["hop"].astype("Float64").fillna(0.0))
    return rows.sort_values(["grade", "hop", "tie"], ascending=[False, True, True]).groupby(QUESTION)["doc_id"].agg(list).to_dict()


def evidence(audit: pd.DataFrame) -> pd.DataFrame:
    """Whether the pool held the evidence asked for: dataset, qid, first_stage, met (1, 0, missing), from the table audit."""
    return audit[[*QUESTION, "first_stage", "met"]].drop_duplicates([*QUESTION, "first_stage"], ignore_index=True)


def packers_there(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """(the packers that can run, {packer: reason} of the others): ``tuned`` needs what it has learned."""
    left = {}
    if "tuned" in names:
        try:
            read_card()
        except TunedError as error:
            left["tuned"] = str(error)
    return [p for p in names if p not in left], left


def check(downstream: Mapping[str, Any]) -> dict[str, Any]:
    """The block ``downstream`` of the parameters, refused early; ``read`` is {} (no reader) or names reader, packers and questions.

    >>> check({"packers": ["naive"], "depths": [5], "budget": 160, "encoder": "minilm", "setting": {}, "read": {}})["budget"]
    160
    """
    if not isinstance(downstream, Mapping) or set(downstream) != set(BLOCK):
        raise ValueError(f"downstream must name {', '.join(BLOCK)} and nothing else, got {downstream!r}; {MEND}")
    packing.check_policies(downstream["packers"])
    if odd := {"gold", "selective"} & set(downstream["packers"]):
        raise ValueError(
            f"downstream packs lists with rules that read no gold and ask no model of every snippet, got {', '.join(sorted(odd))}; "
            f"there are {', '.join(p for p in packers.PACKERS if p not in ('gold', 'selective'))}; {MEND}"
        )
    depths = downstream["depths"]
    if not isinstance(depths, (list, tuple)) or not depths or len(set(depths)) < len(depths):
        raise ValueError(f"downstream's depths must be a list of distinct numbers of passages, the main one first, got {depths!r}; {MEND}")
    for depth in depths:
        check_whole("downstream's depth", depth, 1, mend=f"; {MEND}")
    check_whole("downstream's budget", downstream["budget"], 1, mend=f"; {MEND}")
    if packing.setting(**downstream["setting"])["representation"] != "chunk":
        raise ValueError(f"downstream packs plain snippets (representation chunk), got {downstream['setting']!r}; {MEND}")
    _check_read(downstream["read"], downstream["packers"])
    return dict(downstream)


def _check_read(read: Mapping[str, Any], packed: Sequence[str]) -> None:
    if not isinstance(read, Mapping) or set(read) not in (set(), set(READ)):
        raise ValueError(f"downstream's read must be {{}} (no reader) or name {', '.join(READ)}, got {read!r}; {MEND}")
    if read:
        full_spec(read["reader"])
        check_whole("downstream's questions", read["questions"], 0, mend=f" (0: all); {MEND}")
        for name in ("firsts", "packers"):
            if not isinstance(read[name], (list, tuple)) or (name == "packers" and set(read[name]) - set(packed)):
                raise ValueError(f"downstream's read must list {name} (packers out of those that pack: {', '.join(packed)}), got {read[name]!r}; {MEND}")
