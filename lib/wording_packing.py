"""What notebook 02 found, a point a section, built from its tables: the summary says what the numbers say, whichever way they fall."""
from __future__ import annotations

import pandas as pd

from lib.ablation_table import finding, to_draw
from lib.wording import compared, named, percent, points

KEPT = "answer_in_context_defined"


def summary(curve: pd.DataFrame, crossed: pd.DataFrame, shifted: pd.DataFrame, ablated: pd.DataFrame, best: pd.DataFrame, contested: pd.DataFrame,
            budget: int) -> str:
    """Markdown points on kept answers, graph, choices, objective, greedy and rivals; a section that found nothing has none.

    ``curve``: packing rows (half all) at ``budget``; ``crossed``: factorial; ``shifted``: ``choices.shifts``; ``ablated``, ``best``, ``contested``: the tables
    objective_ablations, optimality and packer_contest.
    """
    parts = [_kept(curve, budget), _graph(crossed), _choices(shifted), _objective(ablated), _greedy(best), _contest(contested, budget)]
    return "\n".join(f"- {part}" for part in parts if part)


def interval(low: float, high: float) -> str:
    """The ends of an interval of shares in points: 0.02, 0.04 -> '[+2.0, +4.0]'."""
    return f"[{100 * low:+.1f}, {100 * high:+.1f}]"


def _pooled(table: pd.DataFrame) -> pd.DataFrame:
    """The rows over all data sets where sets are pooled, else those of the first set."""
    names = set(table["dataset"])
    return table[table["dataset"] == ("all" if "all" in names else min(names))] if names else table


def _kept(curve: pd.DataFrame, budget: int) -> str:
    rows = curve[(curve["measure"] == KEPT) & (curve["policy"] != "gold")].dropna(subset=["ci_low"])
    said = []
    for dataset, part in rows.groupby("dataset"):
        part = part.set_index("policy")
        shown = [p for p in (*compared(list(part.index)), "tuned", "topk", "random") if p in part.index]
        told = ", ".join(f"{p} {percent(part['estimate'][p])} [{100 * part['ci_low'][p]:.0f}, {100 * part['ci_high'][p]:.0f}]" for p in dict.fromkeys(shown))
        said.append(f"{named(dataset)} (n = {int(part['n'].max()):,}): {told}")
    return f"**Answers kept at {budget} tokens.** {'; '.join(said)}." if said else ""


def _graph(crossed: pd.DataFrame) -> str:
    rows = crossed[(crossed["kind"] == "interaction") & (crossed["treatment"] == "ace_submod - ace_focused")].dropna(subset=["ci_low"])
    told = [f"{'all sets' if r.dataset == 'all' else named(r.dataset)} {points(r.delta)} {interval(r.ci_low, r.ci_high)}, n = {r.n:,}" for r in rows.itertuples()]
    return f"**Graph.** submod's gain over focused on claims less that on chunks: {'; '.join(told)}." if told else ""


def _choices(shifted: pd.DataFrame) -> str:
    rows = shifted[(shifted["policy"] == "submod") & (shifted["changes"] == 1)].dropna(subset=["ci_low"])
    clear = rows[rows["p_holm"] < 0.05]
    if rows.empty:
        return ""
    told = [f"{r.change} {points(r.delta)} {interval(r.ci_low, r.ci_high)} ({named(r.dataset)})" for r in clear.itertuples()]
    return f"**Unsaid choices.** Of {len(rows)} single changes {len(clear)} move what submod keeps after Holm{': ' + '; '.join(told) if told else ''}."


def _objective(ablated: pd.DataFrame) -> str:
    drawn = to_draw(ablated) if len(ablated) else ablated
    drawn = drawn.dropna(subset=["ci_low"]) if len(drawn) else drawn
    return f"**Objective.** {finding(drawn)} (after Holm, n = {int(drawn['n'].max()):,})." if len(drawn) else ""


def _greedy(best: pd.DataFrame) -> str:
    rows = _pooled(best)
    rows = rows[rows["rule"] == "ratio"].set_index("quantity")
    if not {"optimal", "of_optimum"} <= set(rows.index) or rows["estimate"].isna().any():
        return ""
    found, share = rows.loc["optimal"], rows.loc["of_optimum"]
    ends = f"[{100 * found['ci_low']:.0f}, {100 * found['ci_high']:.0f}]"
    return (f"**Greedy.** The published rule finds the best pack for {percent(found['estimate'])} {ends} of {int(found['n']):,} small pools "
            f"and {100 * share['estimate']:.1f} % of the best F on average.")


def _contest(contested: pd.DataFrame, budget: int) -> str:
    if contested.empty:
        return ""
    rows = _pooled(contested[(contested["budget"] == budget) & (contested["measure"] == KEPT)]).set_index("policy")
    rivals = rows.drop(index=[p for p in ("pool", "best_possible", "gold", "submod") if p in rows.index]).dropna(subset=["delta_low"])
    if rivals.empty:
        return ""
    ahead, behind = ((rivals["p_holm"] < 0.05) & (rivals["delta"] * sign > 0) for sign in (1, -1))
    tuned = rivals.loc["tuned"] if "tuned" in rivals.index else None
    told = "" if tuned is None else f"; tuned {points(tuned['delta'])} {interval(tuned['delta_low'], tuned['delta_high'])}"
    return (f"**Rivals.** Against submod at {budget} tokens {ahead.sum()} of {len(rivals)} other packers keep more answers after Holm, "
            f"{behind.sum()} fewer{told}.")
