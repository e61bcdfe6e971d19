"""Reach, answers, pools, promises, cost and optimism of a gate, and its reranker, in sentences from its tables (notebook 07; document 002; SPEC 12)."""
from __future__ import annotations

import pandas as pd

from lib.chart_words import GAP, listed, percent, signed, verdict
from lib.gating_conformal import METHODS, questions_needed
from lib.gating_words import BUDGET, COVERAGE, RULE_WORDS, change, decided, many, near, paragraphs
from lib.wording import named

EMPTY = "There is nothing to tell: {}."
SHOWN = (0.20, 0.10)  # the levels told of gating_levels
ANSWERS = {"wins": "answers get better", "loses": "answers get worse", "undecided": "whether answers change is undecided"}
WORTH = {"wins": "better", "loses": "worse", "undecided": "undecided"}


def lasthop_words(levels: pd.DataFrame) -> str:
    """How deep each list must be read to hold the last hop of 80 % and 90 % of the questions, a point a data set (gating_levels)."""
    out = []
    for dataset, part in levels.groupby("dataset", sort=False) if len(levels) else ():
        said = []
        for alpha in (a for a in SHOWN if (part["alpha"].sub(a).abs() < 1e-9).any()):
            rows = part[part["alpha"].sub(alpha).abs() < 1e-9].set_index("pipeline")
            here = [p for p in ("H", "rerank", "gated") if p in rows.index]
            found = [f"{p} {_deep(rows.loc[p])}" for p in here if pd.notna(rows.loc[p, "k"])]
            missing = [p for p in here if pd.isna(rows.loc[p, "k"])]
            tail = ["out of reach" if missing == here else f"out of reach for {listed(missing)}"] if missing else []
            said.append(f"{percent(1 - alpha)} {', '.join([*found, *tail])}")
        if said:
            out.append(f"Places to read on {named(dataset)} ({many(part['n'].iloc[0], 'question')}): {'; '.join(said)}.")
    return paragraphs(out) or EMPTY.format("no list was read at several depths")


def _deep(row: pd.Series) -> str:
    return f"{int(row['k'])}{f' (surely {int(row.k_sure)})' if pd.notna(row['k_sure']) else ''}"


def replayed_words(replayed: pd.DataFrame, k: int = 5) -> str:
    """Answer F1 of what the gate hands on, on the questions for which that list was read; their number is part of the sentence (gating_replayed)."""
    out = []
    if replayed.empty:
        return EMPTY.format("nobody has read these lists")
    rows = near(replayed, k)
    rules = [r for r in (COVERAGE, BUDGET) if (rows["rule"] == r).any()] or sorted(set(rows["rule"]))
    for _, r in rows[rows["rule"].isin(rules)].sort_values(["dataset", "rule"]).iterrows():
        start = f"{named(r['dataset'])} (K {r['k']}) under {RULE_WORDS.get(r['rule'], r['rule'])}"
        if not r["covered"]:
            out.append(f"On {start} what is handed on was read for none of {many(r['n'], 'question')}: no answer can be replayed.")
            continue
        what = "the gate changes no answer's F1" if r["delta"] == r["ci_low"] == r["ci_high"] == 0 else ANSWERS[verdict(r["ci_low"], r["ci_high"])]
        part = "" if r["covered"] == r["n"] else f"; of the other {r['n'] - r['covered']:,} nothing is known"
        out.append(f"On {start} F1 is {r['h']:.2f} from H, {r['rerank']:.2f} reranked and {r['gated']:.2f} gated; against always reranking "
                   f"{change(r, digits=3, unit='')} on {r['covered']:,} of {many(r['n'], 'question')}: {what}{part}.")
    return paragraphs(out)


def pools_words(pools: pd.DataFrame, k: int = 5) -> str:
    """Does a larger pool help the reranker, and does a language model order it better? A point a data set and group of questions (gating_pools).

    A pool without a delta is what the others on as many questions are compared with.
    """
    out = []
    for dataset, part in near(pools, k).groupby("dataset", sort=False) if len(pools) else ():
        for _, rows in sorted(part.groupby("n"), reverse=True):
            base, more = rows[rows["delta"].isna()], rows[rows["delta"].notna()]
            if base.empty or more.empty:
                continue
            b = base.iloc[0]
            said = [f"{_orderer(r['pool'])} {change(r)} ({WORTH[decided(r)]})" for _, r in more.iterrows()]
            proof = "" if any(decided(r) != "undecided" for _, r in more.iterrows()) else " To see no difference is no proof that there is none."
            out.append(f"On {named(dataset)} ({many(b['n'], 'question')}, K {b['k']}) the reranker finds {percent(b['coverage'])} in the pool "
                       f"{b['pool'].partition(', ')[0]}; against that, {'; '.join(said)}.{proof}")
    return paragraphs(out) or EMPTY.format("no larger pool was reranked")


def _orderer(pool: str) -> str:
    """A pool by name; of one that another model orders the model.

    >>> _orderer("all five"), _orderer("H + V, some-model yes/no")
    ('all five', '`some-model yes/no` in its place')
    """
    _, _, model = pool.partition(", ")
    return f"`{model}` in its place" if model else pool


def conformal_words(conformal: pd.DataFrame, thresholds: pd.DataFrame | None = None) -> str:
    """What gates with a promise granted here, and the number of calibration questions below which nothing can be granted.

    ``conformal``: rows of gating_rivals of the gates conformal and high probability; ``thresholds``: gating_conformal, for the sizes of the calibration halves.
    """
    if conformal.empty:
        return EMPTY.format("no gate was asked for a promise")
    out = []
    for method, rows in conformal.groupby("gate", sort=False):
        said = [_granted(part, f"at {rule.removeprefix('budget ')}{GAP}pp") for rule, part in rows.groupby("rule")]
        out.append(f"Of the calls, by budget, the {method} gates skip {', '.join(said)}.")
    needed = [f"{' / '.join(str(questions_needed(points, m)) for m in METHODS[1:])} for {points:g}{GAP}pp" for points in _budgets(conformal)]
    size = ""
    if thresholds is not None and len(thresholds):
        low, high = int(thresholds["n_calibration"].min()), int(thresholds["n_calibration"].max())
        size = f" Here a fold has {low:,}{'' if low == high else f' to {high:,}'}."
    told = f"Calibration questions needed before anything is granted, even if none is harmed ({' / '.join(METHODS[1:])}): {', '.join(needed)}."
    return paragraphs([*out, told + size])


def _budgets(rows: pd.DataFrame) -> list[float]:
    return sorted({float(r.removeprefix("budget ")) for r in rows["rule"] if r.startswith("budget ")})


def _granted(rows: pd.DataFrame, at: str) -> str:
    if not (rows["skip"] > 0).any():
        return f"nothing {at}"
    harm = 100 * rows["harmful"] / rows["n"]
    return f"{percent(rows['skip'].mean())} {at} (in {int((rows['skip'] > 0).sum())} of {many(len(rows))}; {harm.mean():.2f}{GAP}pp of harm came)"


def cost_words(cost: pd.DataFrame, k: int = 5) -> str:
    """Cost and seconds saved; the slow tail stays as long as the gate still reranks one question in twenty (gating_cost)."""
    out = []
    for dataset, part in near(cost, k).groupby("dataset", sort=False) if len(cost) else ():
        rows = part[part["rule"].isin([COVERAGE, BUDGET])].sort_values("rule", ascending=False)
        rows = rows if len(rows) else part
        said = [f"{r['gated_per_1k']:.2f} under {RULE_WORDS.get(r['rule'], r['rule'])} ({_saved(r)})" for _, r in rows.iterrows()]
        first = rows.iloc[0]
        counted = "" if first["counts"] == "measured" and first["measured"] == first["n"] else (
            f" Counts: {first['counts']}, {first['measured']:,} of {many(first['n'], 'question')}.")
        out.append(f"On {named(dataset)} (K {first['k']}) reranking 1,000 questions costs {first['always_per_1k']:.2f}; gated {' and '.join(said)}."
                   f"{counted}{_tail(rows)}")
    return paragraphs(out) or EMPTY.format("no reranking was counted")


def _saved(row: pd.Series) -> str:
    if pd.isna(row["saved"]):
        return "a saving unknown"
    if row["skip"] == 1:
        return "every call skipped"
    known = pd.notna(row["saved_low"])
    return f"{percent(row['saved'])}{f' [{100 * row.saved_low:.0f}, {100 * row.saved_high:.0f}]' if known else ''} saved, {percent(row['skip'])} skipped"


def _tail(rows: pd.DataFrame) -> str:
    """Mean and 95th percentile of the seconds added, always and gated."""
    known = rows.dropna(subset=["always_seconds", "gated_seconds"])
    said = [f"{r['gated_seconds']:.2g} / {r['gated_p95']:.2g} under {RULE_WORDS.get(r['rule'], r['rule'])}" for _, r in known.iterrows()]
    if not said:
        return ""
    slow = bool((known["gated_p95"] >= known["always_p95"]).any())
    why = " A gate that still reranks one question in twenty leaves the slowest ones as slow." if slow else ""
    r = known.iloc[0]
    return f" Seconds added (mean / p95): {r['always_seconds']:.2g} / {r['always_p95']:.2g} always, {listed(said)}.{why}"


def optimism_words(optimism: pd.DataFrame) -> str:
    """What a search promises above the truth, and how often the bare rule and the bound let a gate pass, in the simulation (gating_optimism)."""
    out = []
    for rule, part in optimism.groupby("rule", sort=False) if len(optimism) else ():
        got = part.set_index(["quantity", "n", "grid"])
        few, biggest, one, most = part["n"].min(), part["n"].max(), part["grid"].min(), part["grid"].max()
        kind = {g: "the only candidate" if g == 1 else f"the best of {g}" for g in (one, most)}
        told = [f"{change(got.loc[('optimism', n, grid)], 'estimate', digits=2)} ({kind[grid]}, {many(n, 'question')})"
                for n, grid in dict.fromkeys(((few, most), (biggest, most), (few, one)))]
        passes = got.loc[("held_out_passes", biggest, one), "estimate"], got.loc[("bound_passes", biggest, one), "estimate"]
        out.append(f"Simulated, {RULE_WORDS.get(rule, rule)}: the truth is worse than the promise by {listed(told)}. "
                   f"{'A gate without any search' if one == 1 else f'The best of {one}'} on {many(biggest, 'question')} then keeps its rule on as many "
                   f"held-out ones in {percent(passes[0])} of {int(part['runs'].max())} runs, and surely, by the bound, in {percent(passes[1])}.")
    return paragraphs(out) or EMPTY.format("no gate was simulated")


def reranker_words(compared: pd.DataFrame, usage: pd.DataFrame) -> str:
    """Who makes the list R, how much it reads, and how it stands among the rerankers that the audit compared with their own first stages (rerankers)."""
    if usage.empty:
        return EMPTY.format("nobody reranked the union")
    name, pairs = usage["reranker"].iloc[0], usage["pairs"].astype(float).mean()
    rows = compared[(compared["measure"] == "ndcg") & compared["kind"].isin(["cross-encoder", "language model"])].dropna(subset=["delta"])
    made_by = rows["ranker"].map(lambda name: str(name).rpartition(" + ")[2])
    by = rows.assign(made_by=made_by, weight=rows["delta"] * rows["n"]).groupby("made_by")[["weight", "n"]].sum()
    mean = by["weight"] / by["n"]
    said = f"The expensive reranker here is `{name}`: it reads {many(round(pairs), 'passage')} a question, and the student D imitates it."
    if name not in mean.index:
        return f"{said} The audit did not compare it with a first stage."
    others = mean.drop(name).sort_values(ascending=False)
    gain = f"{signed(mean[name], 3)} nDCG against its own first stage, on average over {many(by.at[name, 'n'], 'pair')} of question and list"
    if others.empty:
        return f"{said} It is the only one that reads that the audit asked ({gain})."
    best, than = others.index[0], f"{signed(others.iloc[0], 3)} on {by.at[others.index[0], 'n']:,.0f}"
    rank = f"none that reads did better (next: `{best}`, {than})" if others.iloc[0] <= mean[name] else f"`{best}` did better ({than}), on fewer questions"
    if others.iloc[0] > mean[name] and by.at[best, "n"] >= by.at[name, "n"]:
        rank = f"`{best}` did better ({than}): rerank with that one to gate it"
    return f"{said} In section 5, which has the intervals, it has {gain}; {rank}."
