"""Which packer when: one row a situation, from what every packer of a run keeps there, in plain words (table when).

The best packer of a situation is found on the questions it is judged on, so it is a little flattered. Two things stand against that: ``tied`` names all packers
that a paired interval does not part from the best, and ``steady`` says whether both halves of the questions, looked at alone, find the best one among these.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import scope, stats

REFERENCE = ("gold", "random", "oracle", "closed_book")  # no choice of a practitioner
COLUMNS = ["tier", "dataset", "situation", "group", "metric", "pack_id", "budget", "reader", "precision", "best", "tied", "mean", "tokens", "cheapest",
           "cheapest_tokens",
           "over_topk", "over_topk_low", "over_topk_high", "over_naive", "over_naive_low", "over_naive_high", "over_focused", "over_focused_low",
           "over_focused_high",
           "steady", "n", "advice"]
AGAINST = ("topk", "naive", "focused")
FEWEST = 20  # questions: with fewer, a best packer is a name drawn from a hat
NAMES = {"topk": "whole documents in rank order", "naive": "the most relevant snippets (naive)", "focused": "the focused heuristic", "mmr": "MMR",
         "submod": "submodular packing", "tuned": "the tuned packer"}


def judge(rows: pd.DataFrame, metric: str, resamples: int = 10_000, seed: int = 0) -> dict | None:
    """One situation: best, tied, mean, tokens, over_* and their intervals, steady, n, and packed, the packers beside the best; None with fewer than FEWEST questions or a single packer.

    ``rows``: one row a question and policy with ``metric``, n_tokens and half. Ties go to fewer tokens, then by name. Only questions that every packer
    has are counted.
    """
    rows = rows[~rows["policy"].isin(REFERENCE)]
    wide = rows.pivot(index=["dataset", "qid"], columns="policy", values=metric).astype(float).dropna(axis=1, how="all").dropna()
    if len(wide) < FEWEST or len(wide.columns) < 2:
        return None
    kept = rows.merge(wide.index.to_frame(index=False)) if len(wide) else rows
    tokens = kept.groupby("policy")["n_tokens"].mean().astype(float)
    means = wide.mean()
    order = sorted(wide.columns, key=lambda p: (-round(means[p], 12), tokens[p], p))
    best = order[0]
    deltas = pd.DataFrame({p: wide[best] - wide[p] for p in order[1:]}, index=wide.index)
    found = dict(zip(deltas, stats.paired_cluster_bootstraps(deltas.to_numpy(), deltas.index, resamples=resamples, seed=seed)))
    tied = [best, *(p for p in order[1:] if found[p].low <= 0)]
    cheapest = min(tied, key=lambda p: (tokens[p], p))
    over = {f"over_{c}{end}": value for c in AGAINST for end,
            value in zip(("", "_low", "_high"), found[c][:3] if c in found else (0.0 if c == best else np.nan, np.nan, np.nan))}
    half = kept.drop_duplicates(["dataset", "qid"]).set_index(["dataset", "qid"])["half"].reindex(wide.index)
    firsts = [wide[half == h].mean().idxmax() for h in (0, 1) if (half == h).any()]
    return {"packed": order[1:], "best": best, "tied": ", ".join(tied), "mean": means[best], "tokens": tokens[best], "cheapest": cheapest, "cheapest_tokens": tokens[cheapest],
            **over,
            "steady": all(p in tied for p in firsts), "n": len(wide)}


def when(situations: Sequence[Mapping], tier: str, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """The when table. Each of ``situations``: situation, group, metric, pack_id, budget, reader, precision, rows (see ``judge``); a row a data set, and one
    over all.

    Situations that hold too few questions have no row.
    """
    made = []
    for s in situations:
        if s["metric"] not in s["rows"] or s["rows"].empty:
            continue
        for dataset, part in scope.sets(s["rows"].dropna(subset=[s["metric"]])):
            found = judge(part, s["metric"], resamples, seed)
            if found:
                told = {k: s[k] for k in ("situation", "group", "metric", "pack_id", "budget", "reader", "precision")}
                made.append({"tier": tier, "dataset": dataset, **told, **found})
    table = pd.DataFrame(made, columns=[*COLUMNS[:-1], "packed"])
    return table.assign(advice=[advice(r) for r in table.itertuples()])[COLUMNS]


def advice(row) -> str:
    """A row of the table in one plain sentence: what to use, what it gains, and what would do as well."""
    tied, points = row.tied.split(", "), "points of F1" if row.metric == "f1" else "points"
    gains = [_gain(getattr(row, f"over_{c}"), getattr(row, f"over_{c}_low"), getattr(row, f"over_{c}_high"), c, points) for c in ("topk", "naive")
             if c != row.best]
    said = "; ".join(g for g in gains if g)
    if len(tied) == 1:
        return f"Use {NAMES.get(row.best, row.best)}: it beats {_all(row.packed)}" + (f"; {said}" if said else "") + "."
    others = ", ".join(p for p in tied if p != row.best)
    thrifty = row.cheapest != row.best and row.cheapest_tokens <= 0.98 * row.tokens
    thrift = f" Where tokens cost money take {row.cheapest} ({row.cheapest_tokens:.0f} tokens against {row.tokens:.0f})." if thrifty else ""
    return f"Best is {row.best}, but {others} cannot be told from it" + (f"; {said}" if said else "") + f".{thrift}"


def _all(packed: Sequence[str]) -> str:
    """The packers that were beaten, by name: what was not packed there was not beaten.

    >>> _all(["naive"]), _all(["mmr", "naive", "submod"])
    ('naive', 'mmr, naive and submod')
    """
    return packed[0] if len(packed) == 1 else f"{', '.join(packed[:-1])} and {packed[-1]}"


def _gain(delta: float, low: float, high: float, control: str, points: str) -> str:
    """A gain over one control in words; empty where the control was not packed."""
    if pd.isna(low):
        return ""
    if low > 0:
        return f"{100 * delta:.1f} {points} over {control} [{100 * low:.1f}, {100 * high:.1f}]"
    return f"no clear gain over {control}"


def situations(survived: pd.DataFrame, outcomes: pd.DataFrame, questions: pd.DataFrame, main: str, budget: int, groups: Mapping[str, Mapping[str, Sequence]],
               pools: Mapping[str, str], graph: Mapping[str, str]) -> list[dict]:
    """Everything ``when`` asks: all questions, slices of them, budgets, pools, graph evidence and readers.

    ``groups``: heading -> slice -> its (dataset, qid); ``pools`` and ``graph``: situation -> pack_id (graph packs get the prefix ace_ and compete with the
    chunks of the main pack). Quality is answer-in-context over questions with a span, and F1 for each reader.
    """
    rows = scope.arms(survived, questions)
    at = rows[(rows["pack_id"] == main) & (rows["budget"] == budget)]
    free = {"metric": "answer_in_context_defined", "pack_id": main, "budget": budget, "reader": "none", "precision": "none"}
    made = [{"situation": "all questions", "group": "all", "rows": at, **free}]
    made += [{"situation": name, "group": group, "rows": at[pd.MultiIndex.from_frame(at[["dataset", "qid"]]).isin(list(members))], **free}
             for group, parts in groups.items() for name, members in parts.items()]
    made += [{"situation": f"budget {b}", "group": "budget", "rows": part, **free, "budget": b} for b, part in rows[rows["pack_id"] == main].groupby("budget")
             if b != budget]
    made += [{"situation": name, "group": "retrieval", "rows": rows[(rows["pack_id"] == pack) & (rows["budget"] == budget)], **free, "pack_id": pack}
             for name, pack in pools.items()]
    for name, pack in graph.items():
        made.append({"situation": name, "group": "evidence", "rows": _with_graph(at, rows, pack, budget), **free, "pack_id": pack})
    read = outcomes[outcomes["em"].notna() & (outcomes["pack_id"] == main) & (outcomes["budget"] == budget)]
    made += [{"situation": f"read by {reader} {precision}", "group": "reader", "rows": part, **free, "metric": "f1", "reader": reader, "precision": precision}
             for (reader, precision), part in read.groupby(["reader", "precision"])]
    return made


def _with_graph(at: pd.DataFrame, rows: pd.DataFrame, pack: str, budget: int) -> pd.DataFrame:
    graph = rows[(rows["pack_id"] == pack) & (rows["budget"] == budget) & ~rows["policy"].isin(REFERENCE)]
    return pd.concat([at, graph.assign(policy="ace_" + graph["policy"])]) if len(graph) else graph
