"""The four conditions of document 000's scope map (section 6), each with the setting that is said to fail it: table scope.

Rows are contrasts of two packers. ``expected`` says what document 000 would expect of a setting: helps (its condition holds there), fails, or rises, the
difference between a setting where it holds and one where it does not. A condition is borne out only by that difference: one interval above zero and another
that holds zero may well belong to equal effects.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import scope, unlock

COLUMNS = ["tier", "condition", "dataset", "setting", "expected", "pack_id", "budget", "reader", "precision", "treatment", "control", "metric", *scope.JUDGED]
PAIRS = (("submod", "focused"), ("submod", "naive"))
METRICS = ("answer_in_context_defined", "answer_in_context", "all_gold_in_context", "gold_coverage")
CHAIN = ("bridge", "compositional", "inference", "bridge_comparison")
COMPARISON = ("comparison_choice", "comparison_yesno")
ARM = ["dataset", "qid", "policy", "budget", "reader", "precision", "pack_id"]


def slices(questions: pd.DataFrame) -> dict[str, list[tuple]]:
    """Slices of complementary structure -> their (dataset, qid): single-pass (one gold passage), multi-hop (two or more), chain and comparison among these.

    Of multi-hop questions a comparison needs two passages side by side, a chain one passage to find the next. Slices without a question are left out.
    """
    hops, kind = questions["n_hops"].astype("Float64"), questions["question_type"]
    several = (hops >= 2).fillna(False)
    masks = {"single-pass": (hops == 1).fillna(False), "multi-hop": several, "chain": several & kind.isin(CHAIN), "comparison": several & kind.isin(COMPARISON)}
    keys = pd.Series(list(zip(questions["dataset"], questions["qid"])), index=questions.index)
    return {name: keys[mask.astype(bool)].tolist() for name, mask in masks.items() if mask.any()}


def surfaced(questions: pd.DataFrame, gold: pd.DataFrame, rankings: pd.DataFrame, pool: tuple[str, str, int]) -> dict[str, list[tuple]]:
    """surfaced, not surfaced -> (dataset, qid): whether every gold passage stands in the packed pool (scope, ranker, depth); questions without gold in
    neither."""
    area, ranker, depth = pool
    there = rankings[(rankings["scope"] == area) & (rankings["ranker"] == ranker) & (rankings["rank"] <= depth)]
    known = gold[["dataset", "qid", "doc_id"]].merge(questions[scope.QUESTION], on=scope.QUESTION)
    found = known.merge(there[["dataset", "qid", "doc_id", "rank"]], on=["dataset", "qid", "doc_id"], how="left")
    whole = found["rank"].notna().groupby([found["dataset"], found["qid"]]).all()
    return {name: whole.index[whole == value].tolist() for name, value in (("surfaced", True), ("not surfaced", False)) if (whole == value).any()}


def _sliced(rows: pd.DataFrame, condition: str, groups: Mapping[str, Sequence], expected: Mapping[str, str], minus: Mapping[str, tuple[str, str]],
            pairs: Sequence,
            metrics: Sequence[str], tier: str, margin: float, resamples: int, seed: int) -> list[tuple]:
    """Contrasts within slices and between them, for every data set and reader of ``rows`` (one pack and budget)."""
    made = []
    for panel, part in rows.groupby(["pack_id", "budget", "reader", "precision"]):
        for dataset, group in scope.sets(part):
            for treatment, control in pairs:
                for metric in (m for m in metrics if m in group):
                    deltas = scope.sliced(scope.paired(group.dropna(subset=[metric]), treatment, control, metric), groups).dropna(axis=1, how="all")
                    between = {name: sides for name, sides in minus.items() if set(sides) <= set(deltas)}
                    found = scope.judged(deltas.dropna(how="all"), margin, resamples, seed, between)
                    made += [(tier, condition, dataset, name, expected.get(name, "rises"), *panel, treatment, control, metric, *values)
                             for name, *values in found.itertuples(name=None)]
    return made


def structure(rows: pd.DataFrame, questions: pd.DataFrame, tier: str, pairs: Sequence = PAIRS, metrics: Sequence[str] = (*METRICS, "f1"), margin: float = 0.02,
              resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Condition 1, complementary structure: multi-hop against single-pass questions, and chains against comparisons. ``rows``: one pack and budget."""
    groups = slices(questions)
    expected = {"multi-hop": "helps", "chain": "helps", "comparison": "helps", "single-pass": "fails"}
    minus = {"multi-hop − single-pass": ("multi-hop", "single-pass"), "chain − comparison": ("chain", "comparison")}
    return pd.DataFrame(_sliced(rows, "structure", groups, expected, minus, pairs, metrics, tier, margin, resamples, seed), columns=COLUMNS)


def retrieval(rows: pd.DataFrame, questions: pd.DataFrame, gold: pd.DataFrame, rankings: pd.DataFrame, pool: tuple[str, str, int], tier: str,
              pairs: Sequence = PAIRS,
              metrics: Sequence[str] = (*METRICS, "f1"), margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Condition 2, retrieval that surfaces the evidence: questions whose gold is all in the pool against the others. ``rows``: one pack and budget."""
    groups = surfaced(questions, gold, rankings, pool)
    expected, minus = {"surfaced": "helps", "not surfaced": "fails"}, {"surfaced − not surfaced": ("surfaced", "not surfaced")}
    return pd.DataFrame(_sliced(rows, "retrieval", groups, expected, minus, pairs, metrics, tier, margin, resamples, seed), columns=COLUMNS)


def pools(survived: pd.DataFrame, questions: pd.DataFrame, settings: pd.DataFrame, main: str, budget: int, tier: str, pairs: Sequence = PAIRS,
          metrics: Sequence[str] = METRICS, margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Condition 2 again: the same contrast in every pool that was packed, deeper lists and the iterative retriever's among them, and its change from the
    main pool.

    Settings are called own dense 10 and so on. The change is paired by question; "rises" is what document 000 would expect of a pool that surfaces more.
    """
    where = unlock.pools(settings, main)
    rows, made = scope.arms(survived[survived["pack_id"].isin(list(where))], questions, budget=budget), []
    told = {pack: " ".join(map(str, place)) for pack, place in where.items()}
    for dataset, group in scope.sets(rows):
        for treatment, control in pairs:
            for metric in metrics:
                gaps = {told[p]: scope.paired(part.dropna(subset=[metric]), treatment, control, metric) for p, part in group.groupby("pack_id")}
                deltas = pd.DataFrame({name: gap for name, gap in gaps.items() if gap.notna().any()})
                minus = {f"{name} − {told[main]}": (name, told[main]) for name in deltas if name != told.get(main) and told.get(main) in deltas}
                found = scope.judged(deltas, margin, resamples, seed, minus)
                packs = {name: pack for pack, name in told.items()} | {name: "several" for name in minus}
                made += [(tier, "pool", dataset, name, "helps" if name == told.get(main) else "rises", packs[name], budget, "none", "none", treatment, control,
                          metric, *values)
                         for name, *values in found.itertuples(name=None)]
    return pd.DataFrame(made, columns=COLUMNS)


def budgets(shape: pd.DataFrame) -> pd.DataFrame:
    """Condition 3, a binding but not extreme budget: the gaps and contrasts of shape of the budget_shape table as rows of the scope table.

    Expected of document 000: helps at 160, less on both sides (bump above 0, curve below 0); same_quality is no contrast at one budget and stays there.
    """
    rows = shape[shape["quantity"] != "same_quality"]
    at = rows["quantity"].str.extract(r"gap_(\d+)")[0].astype(float)
    expected = np.where(at == 160, "helps", np.where(at.notna(), "fails",
                                                     np.where(rows["quantity"] == "curve", "falls", np.where(rows["quantity"] == "trend", "falls", "rises"))))
    named = np.where(at.notna(), "budget " + at.fillna(0).astype(int).astype(str), rows["quantity"])
    return rows.assign(condition="budget", setting=named, expected=expected, budget=at.fillna(0).astype(int))[COLUMNS].reset_index(drop=True)


def readers(outcomes: pd.DataFrame, pack_id: str, budget: int, order: Sequence[str], tier: str, pairs: Sequence = PAIRS, metrics: Sequence[str] = ("f1", "em"),
            margin: float = 0.02, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Condition 4, a reader that is the bottleneck: the contrast for each reader, and the smallest reader's less each larger one's, paired by question.

    ``order`` names readers from small to large ("name precision"); others come after, by name. Only questions that a pair of readers shares are compared.
    """
    read = outcomes[outcomes["em"].notna() & (outcomes["pack_id"] == pack_id) & (outcomes["budget"] == budget)]
    read = read.assign(who=read["reader"] + " " + read["precision"])
    ladder = [w for w in order if w in set(read["who"])] + sorted(set(read["who"]) - set(order))
    made = []
    for dataset, group in scope.sets(read):
        for treatment, control in pairs:
            for metric in metrics:
                gaps = {w: scope.paired(part, treatment, control, metric) for w, part in group.groupby("who")}
                deltas = pd.DataFrame({w: gaps[w] for w in ladder if w in gaps and gaps[w].notna().any()})
                for small in list(deltas)[:1]:  # none where nothing was read
                    deltas = deltas.assign(**{f"{small} − {w}": deltas[small] - deltas[w] for w in list(deltas)[1:]})
                found = scope.judged(deltas.dropna(axis=1, how="all"), margin, resamples, seed)
                made += [(tier, "reader", dataset, name, "rises" if " − " in name else "helps" if name == ladder[0] else "fails", pack_id, budget, *_who(name),
                          treatment, control, metric, *values) for name, *values in found.itertuples(name=None)]
    return pd.DataFrame(made, columns=COLUMNS)


def _who(name: str) -> tuple[str, str]:
    return ("several", "several") if " − " in name else tuple(name.rsplit(" ", 1))
