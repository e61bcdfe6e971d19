"""The rows of the scope map: which settings of the scope table stand in the one picture of all four conditions, and what they say together."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lib import claims, wording

SPAN, SCORE = "answer in context", "F1"
CONDITIONS = {"structure": "1 · Complementary structure", "retrieval": "2 · Retrieval that surfaces the evidence",
              "budget": "3 · A binding, not extreme budget",
              "reader": "4 · A reader that is the bottleneck"}
BUDGETS = ("budget 96", "budget 128", "budget 160", "budget 224", "bump")
SHORT = {"ondrell": "sample", "hotpotqa": "HotpotQA", "2wiki": "2Wiki", "musique": "MuSiQue", "ragbench_covidqa": "CovidQA", "ragbench_expertqa": "ExpertQA",
         "all": "all sets"}
DECIDES = {"structure": ("multi-hop − single-pass",), "retrieval": ("surfaced − not surfaced",), "budget": ("bump",), "reader": ()}
PUBLISHED = [  # claim, condition, setting, data set
    ("covidqa_submod_minus_focused_f1", "structure", "single-pass", "ragbench_covidqa"),
    ("expertqa_submod_minus_focused_f1", "structure", "single-pass", "ragbench_expertqa"),
    ("musique_submod_minus_focused_f1", "retrieval", "all, top 5", "musique"), ("musique_wide_submod_minus_focused_f1", "retrieval", "all, deeper", "musique"),
    ("budget96_submod_minus_focused_f1", "budget", "budget 96", "hotpotqa"), ("budget128_submod_minus_focused_f1", "budget", "budget 128", "hotpotqa"),
    ("budget160_submod_minus_focused_f1", "budget", "budget 160", "hotpotqa"), ("budget224_submod_minus_focused_f1", "budget", "budget 224", "hotpotqa"),
    ("3b_submod_minus_focused_f1", "reader", "Qwen2.5 3B fp16", "hotpotqa"), ("7b_submod_minus_focused_f1", "reader", "Qwen2.5 7B fp16", "hotpotqa"),
    ("7b_nf4_submod_minus_focused_f1", "reader", "Qwen2.5 7B nf4", "hotpotqa"), ("14b_submod_minus_focused_f1", "reader", "Qwen2.5 14B nf4", "hotpotqa")]
ROWS = ["condition", "dataset", "setting", "column", "source", "difference", "estimate", "ci_low", "ci_high", "n", "expected"]


def published() -> pd.DataFrame:
    """Document 000's submod - focused on F1 as rows of the map (source "published"); its interval where it prints one."""
    facts = claims.published().set_index("claim")
    rows = [(condition, dataset, setting, SCORE, "published", False, *facts.loc[claim, ["published", "published_low", "published_high"]], 0, "")
            for claim, condition, setting, dataset in PUBLISHED if claim in facts.index]
    return pd.DataFrame(rows, columns=ROWS)


def deepest(table: pd.DataFrame, dataset: str) -> str | None:
    """The deepest dense list of own passages that was packed beside the main one, as a setting such as own dense 20."""
    names = table.loc[(table["condition"] == "pool") & (table["dataset"] == dataset), "setting"]
    depths = names.str.extract(r"^own dense (\d+)$")[0].dropna().astype(int)
    return f"own dense {depths.max()}" if len(depths) and depths.max() > 5 else None


def rows(table: pd.DataFrame, main_reader: str, sweep_reader: str, treatment: str = "submod", control: str = "focused") -> pd.DataFrame:
    """ROWS of one pair: ours from the scope table, then published. Conditions 1 to 3 on answer-in-context and F1 of one reader, condition 4 on F1 of each.

    The budget is shown for HotpotQA where it is there (as published), else for the first data set; the rest for every data set.
    """
    pair = table[(table["treatment"] == treatment) & (table["control"] == control)]
    made = []
    for dataset in [d for d in pd.unique(pair["dataset"]) if d != "all"]:
        here = pair[pair["dataset"] == dataset]
        several = here.loc[here["condition"] == "structure", "setting"].isin(["single-pass"]).any()
        wanted = {"structure": ["single-pass", "comparison", "chain", "multi-hop − single-pass" if several else "chain − comparison"],
                  "retrieval": ["surfaced", "not surfaced", "surfaced − not surfaced"]}
        made += [_ours(r, r.setting) for condition, settings in wanted.items() for name in settings
                 for r in _measured(here[(here["condition"] == condition) & (here["setting"] == name)], main_reader)]
        pools = {"own dense 5": "all, top 5", deepest(pair, dataset): "all, deeper", "own iterative 5": "all, iterative"}
        made += [_ours(r, told, "retrieval") for name, told in pools.items()
                 for r in _measured(here[(here["condition"] == "pool") & (here["setting"] == name)], main_reader)]
        made += [_ours(r, r.setting) for r in here[(here["condition"] == "reader") & (here["metric"] == "f1")].itertuples()]
    swept = pair[pair["condition"] == "budget"]
    for dataset in (["hotpotqa"] if (swept["dataset"] == "hotpotqa").any() else sorted(set(swept["dataset"]) - {"all"})[:1]):
        here = swept[swept["dataset"] == dataset]
        made += [_ours(r, r.setting) for name in BUDGETS for r in _measured(here[here["setting"] == name], sweep_reader)]
    ours = pd.DataFrame(made, columns=ROWS).dropna(subset=["estimate", "ci_low", "ci_high"])
    shown = published() if len(ours) and (treatment, control) == ("submod", "focused") else published()[:0]
    return pd.concat([ours, shown], ignore_index=True)


def _measured(here: pd.DataFrame, reader: str) -> list:
    kept = here[((here["metric"] == "answer_in_context_defined") & (here["reader"] == "none")) | ((here["metric"] == "f1") & (here["reader"] == reader))]
    return list(kept.itertuples())


def _ours(r, told: str, condition: str | None = None) -> tuple:
    column = SCORE if r.metric == "f1" else SPAN
    return (condition or r.condition, r.dataset, told, column, "ours", " − " in r.setting or r.setting == "bump", r.delta, r.ci_low, r.ci_high, r.n, r.expected)


def verdicts(table: pd.DataFrame, metric: str = "answer_in_context_defined", dataset: str | None = None, treatment: str = "submod",
             control: str = "focused") -> pd.DataFrame:
    """One row a condition: the contrast that decides it (a difference of settings, or the bump), and borne out, reversed, not seen or not tested.

    ``dataset`` defaults to all of them together where there are several. Condition 4 is decided on F1, the smallest reader less the largest it shares
    questions with. borne out: the interval lies on the side that document 000 expects, and p after Holm is below 0.05.
    """
    pair = table[(table["treatment"] == treatment) & (table["control"] == control)]
    dataset = dataset or ("all" if (pair["dataset"] == "all").any() else next(iter(pair["dataset"]), ""))
    made = []
    for condition in CONDITIONS:
        here = pair[(pair["condition"] == condition) & (pair["dataset"] == dataset) & (pair["metric"] == ("f1" if condition == "reader" else metric))]
        here = here if condition == "reader" else here[here["reader"] == "none"]
        found = here[here["setting"].str.contains(" − ")] if condition == "reader" else _first(here, DECIDES[condition])
        if found.empty or np.isnan(found.iloc[-1]["ci_low"]):
            made.append((condition, dataset, "", np.nan, np.nan, np.nan, 0, "not tested"))
            continue
        r = found.iloc[-1]
        made.append((condition, dataset, r["setting"], r["delta"], r["ci_low"], r["ci_high"], r["n"], told(r["ci_low"], r["ci_high"], r["p_holm"])))
    return pd.DataFrame(made, columns=["condition", "dataset", "setting", "delta", "ci_low", "ci_high", "n", "verdict"])


def _first(here: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    return next((here[here["setting"] == name] for name in settings if (here["setting"] == name).any()), here[:0])


def told(low: float, high: float, p_holm: float = np.nan) -> str:
    """Whether an interval bears out that a gain rises: borne out, reversed, not seen (also where p after Holm, if known, is 0.05 or more).

    >>> told(0.01, 0.2), told(-0.2, -0.01), told(-0.1, 0.1), told(-0.2, -0.01, 0.06)
    ('borne out', 'reversed', 'not seen', 'not seen')
    """
    return "not seen" if p_holm >= 0.05 or low <= 0 <= high else "borne out" if low > 0 else "reversed"


def answer(table: pd.DataFrame, when: pd.DataFrame) -> str:
    """The notebook's bold answer: what becomes of the four conditions, and what the table of advice says on all questions."""
    found = verdicts(table)
    parts = [f"{condition} ({v.setting}: {wording.points(v.delta)} [{100 * v.ci_low:+.1f}, {100 * v.ci_high:+.1f}]) {v.verdict}"
             for condition, v in zip(found["condition"], found.itertuples()) if v.verdict != "not tested"]
    untested = [v.condition for v in found.itertuples() if v.verdict == "not tested"]
    said = f"Of the four conditions for submodular packing to beat the focused heuristic: {'; '.join(parts)}" + (f"; not tested here: {', '.join(untested)}"
                                                                                                                 if untested else "") + "."
    said = said if parts else "None of the four conditions for submodular packing to beat the focused heuristic could be tested in this run."
    scope_of = "all" if (when["dataset"] == "all").any() else None
    overall = when[(when["group"] == "all") & ((when["dataset"] == scope_of) if scope_of else True)]
    return " ".join([said, *(f"On all questions: {a[0].lower() + a[1:]}" for a in overall["advice"][:1])])
