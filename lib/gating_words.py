"""What a gate is worth, in sentences built from its tables: always reranking, the honest gate, the bare rule and the bound (notebook 07; SPEC 12).

*surely* is said only where an interval (two-sided, 95 %) or the one-sided 95 % bound of ``lib.gating_bound`` allows it, of each cell by itself.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from lib.chart_words import GAP, listed, percent, signed, verdict
from lib.gating_bound import lower_bound
from lib.gating_cells import POINT
from lib.gating_words_idle import NOTHING, counts, many, none, refused_words, unchanged
from lib.wording import named

K = 5
COVERAGE, BUDGET = "coverage", "budget 1"
RULE_WORDS = {COVERAGE: "the coverage rule", "budget 0.5": "the 0.5 pp budget", BUDGET: "the 1 pp budget", "budget 2": "the 2 pp budget"}
NO_GATE = "There is nothing to tell: no question has a reranked list and a last hop, so no gate was learned."
FEW = 4  # cells named one by one
SPREAD = ("ci_low", "ci_high")


def change(row: pd.Series, value: str = "delta", ends: Sequence[str] = SPREAD, digits: int = 1, unit: str = f"{GAP}pp") -> str:
    """A difference with its interval: '+1.2 pp [−0.3, +2.7]'; without one where the table has none; unknown where it is missing.

    >>> change(pd.Series({"delta": 1.24, "ci_low": -0.3, "ci_high": 2.71})).replace(GAP, " ")
    '+1.2 pp [−0.3, +2.7]'
    """
    if pd.isna(row[value]):
        return "unknown"
    known = pd.notna(row[ends[0]]) and pd.notna(row[ends[1]])
    return signed(row[value], digits) + unit + (f" [{signed(row[ends[0]], digits)}, {signed(row[ends[1]], digits)}]" if known else " (no interval)")


def paragraphs(texts: Iterable[str]) -> str:
    """One text as it is, several as Markdown points."""
    told = [t for t in texts if t]
    return told[0] if len(told) == 1 else "\n".join(f"- {t}" for t in told)


def near(table: pd.DataFrame, k: int = K) -> pd.DataFrame:
    """The rows of the K that lies nearest to ``k`` in each data set; of two the smaller."""
    away = (table["k"] - k).abs() + table["k"] / 1e6
    return table[away == away.groupby(table["dataset"]).transform("min")]


def places(rows: pd.DataFrame) -> str:
    """Cells by name, the first ``FEW``: 'MuSiQue at K 5 and 10'."""
    every = rows.drop_duplicates(["dataset", "k"])
    shown, rest = every.iloc[:FEW], len(every) - FEW
    parts = [f"{named(d)} at K {listed([str(k) for k in part['k']])}" for d, part in shown.groupby("dataset", sort=False)]
    return listed([*parts, f"{rest} more"] if rest > 0 else parts) if parts else "nowhere"


def decided(row: pd.Series) -> str:
    """wins, loses or undecided: the interval lies on one side of 0 and, where there is one, p after Holm is below 0.05."""
    return verdict(row["ci_low"], row["ci_high"]) if row.get("p_holm", 0.0) < 0.05 else "undecided"


def answer(always: pd.DataFrame, cells: pd.DataFrame, rules: pd.DataFrame, k: int = K) -> str:
    """The bold answer: what always reranking brings over H, what the honest gate skips and costs, where that is surely within 1 pp, and the advice.

    Tables gating_always, gating_cells, gating_rules; a data set is told at the K nearest to ``k``. Where H alone is surely better no gate is told of.
    """
    if always.empty or cells.empty:
        return NO_GATE
    parts = []
    for _, row in near(always, k).iterrows():
        gates = cells[(cells["dataset"] == row["dataset"]) & (cells["k"] == row["k"]) & cells["rule"].isin([COVERAGE, BUDGET])]
        kept = [f"{_calls(g)} ({RULE_WORDS[g['rule']].removeprefix('the ')})" for _, g in gates.sort_values("rule").iterrows()]
        kept = kept if (gates["skip"] > 0).any() else ["nothing"] * (len(gates) > 0)
        against = ", against always reranking" if (gates["skip"] > 0).any() else ""
        said = f" An honest gate skips {' or '.join(kept)}{against}." if kept and decided(row) != "loses" else ""
        parts.append(f"On {named(row['dataset'])} ({many(row['n'], 'question')}) the reranker has the last hop among the first {row['k']} for "
                     f"{percent(row['rerank'])}, the graph list H for {percent(row['h'])}{_changed(row)}.{said} Advice: {advice(row, gates)}.")
    told = [rules[rules["rule"] == name] for name in (COVERAGE, BUDGET)]
    over = [_over_all(r.iloc[0], cells[(cells["rule"] == r["rule"].iloc[0]) & (cells["skip"] == 0)]) for r in told if len(r)]
    cells_of = int(rules["cells"].max()) if over else 0
    return " ".join([*parts, f"Over {_cells(cells_of)} {'; '.join(over)}."] if over else parts)


def _calls(gate: pd.Series) -> str:
    if gate["skip"] == 0:
        return "nothing"
    skipped = f"{percent(gate['skip'])} of the calls" if gate["skip"] < 1 else f"every call, handing on {gate['fallbacks'].replace('/', ' or ')},"
    return f"{skipped} at {change(gate)}"


def _changed(row: pd.Series) -> str:
    return f" ({change(row)})" if row["wins"] + row["losses"] else f": {unchanged(row['n'])}"


def _over_all(r: pd.Series, idle: pd.DataFrame) -> str:
    """One rule over all cells; ``idle``: its cells without a skip, which are counted apart."""
    if r["skip"] == 0:
        return f"{RULE_WORDS[r['rule']]} {NOTHING}"
    some, every, sure = r["cells_within"] - len(idle), r["cells"] - len(idle), r["cells_surely_within"] - int(idle["surely_within"].sum())
    return (f"{RULE_WORDS[r['rule']]} skips {percent(r['skip'])} at {change(r)}: {_lose(some, every, len(idle))} at most 1{GAP}pp as measured, "
            f"{none(sure)} surely")


def _lose(some: int, every: int, idle: int) -> str:
    apart = f"{idle} of {every + idle} skip{'s' if idle == 1 else ''} nothing, {none(some)} of {every} other" if idle else f"{none(some)} of {every}"
    return f"{apart} {'loses' if some == 1 else 'lose'}"


def _cells(count: int) -> str:
    return "the one cell (data set and K)" if count == 1 else f"all {count} cells (data set and K)"


def advice(always: pd.Series, gates: pd.DataFrame) -> str:
    """Never rerank, always rerank, gate, or undecided: no more than the intervals allow. ``always``: one row of gating_always; ``gates``: its gating_cells."""
    worth, skipping = decided(always), gates[gates["skip"] > 0]
    if worth == "loses":
        return "never rerank, H alone is better"
    if worth == "undecided":
        return f"undecided, since {many(always['n'], 'question')} {'does' if always['n'] == 1 else 'do'} not tell whether the reranker improves on H at all"
    if gates.empty:
        return "always rerank, no gate was run here"
    sure = skipping[skipping["surely_within"].astype(bool)].sort_values("skip")
    if len(sure) and (sure["skip"].iloc[-1] == 1) and sure["fallbacks"].iloc[-1] in ("H", "D"):
        return f"never rerank, {sure['fallbacks'].iloc[-1]} alone surely loses at most 1{GAP}pp"
    if len(sure):
        return f"gate by {RULE_WORDS.get(sure['rule'].iloc[-1], sure['rule'].iloc[-1])}, which surely loses at most 1{GAP}pp"
    if skipping.empty:
        return "always rerank, the gate finds nothing to skip"
    if (skipping["ci_high"] < -POINT).all():
        return f"always rerank, every gate surely loses more than 1{GAP}pp"
    return f"always rerank until more is known, since whether the gate costs more than 1{GAP}pp is undecided"


def always_words(always: pd.DataFrame) -> str:
    """Whether always reranking finds more than H at every K, a point a data set (gating_always)."""
    out = []
    for dataset, part in always.groupby("dataset", sort=False) if len(always) else ():
        said = [f"K {r['k']} {f'{_than_h(r)} ({change(r)})' if r['wins'] + r['losses'] else unchanged(r['n'])}" for _, r in part.sort_values("k").iterrows()]
        out.append(f"Always reranking against H on {named(dataset)} ({many(part['n'].iloc[0], 'question')}): {', '.join(said)}.")
    return paragraphs(out) or NO_GATE


def _than_h(row: pd.Series) -> str:
    """The verdict in words; where Holm's correction alone undoes it, that is said."""
    said = decided(row)
    alone = said == "undecided" and verdict(row["ci_low"], row["ci_high"]) != "undecided"
    return {"wins": "better", "loses": "worse"}.get(said, "undecided after Holm" if alone else "undecided")


def coverage_words(cells: pd.DataFrame, rivals: pd.DataFrame | None = None) -> str:
    """The bare 1 pp rule against the bound, the inner folds' promise against the truth, and where the student D does without a gate (gating_cells).

    With ``rivals`` (gating_rivals) handing D on for every question is told for each cell, whatever the gate chose.
    """
    if cells.empty:
        return NO_GATE
    out = [_rule(cells[cells["rule"] == rule]) for rule in (COVERAGE, BUDGET) if (cells["rule"] == rule).any()]
    mine = cells[cells["rule"] == COVERAGE] if (cells["rule"] == COVERAGE).any() else cells
    if not (cells["skip"] > 0).any():
        return paragraphs([f"The gate {NOTHING}.", _student(mine, rivals), refused_words(cells)])
    promised, held = mine["inner_delta"].mean(), mine["delta"].mean()
    less = "less, as is to be expected of a threshold that was searched for (one run cannot tell it from chance; the simulation in section 17 can)"
    if (mine["skip"] > 0).any():
        out.append(f"The inner folds promised {signed(promised, 1)}{GAP}pp on average, held-out questions give {signed(held, 1)}: "
                   f"{less if promised > held else 'no less, this time'}.")
    out.append(_student(mine, rivals))
    fewest = next(n for n in range(1, 2000) if lower_bound(0, 0, n) >= -POINT)
    if (mine["n"] < fewest).any():
        out.append(f"With fewer than {fewest} questions not even a gate without a single harmful skip is surely within 1{GAP}pp, unless skips also help.")
    return paragraphs([*out, refused_words(cells)])


def _rule(rows: pd.DataFrame) -> str:
    (active, inside, _), moved, rule = counts(rows), rows[rows["skip"] > 0], RULE_WORDS[rows["rule"].iloc[0]]
    rule = f"{rule[0].upper()}{rule[1:]}"
    if not active:
        return f"{rule} {NOTHING}."
    sure, idle = moved[moved["surely_within"].astype(bool)], len(rows) - active
    harmed, kept = int((rows["harmful"] > 0).sum()), f"{len(sure)} surely ({places(sure)})" if len(sure) else "none surely"
    span = f" ({percent(rows['skip'].min())} to {percent(rows['skip'].max())})" if len(rows) > 1 else ""
    apart = f" In {idle} of {many(len(rows))} it {NOTHING} there." if idle else ""
    return (f"{rule} skips {percent(rows['skip'].mean())} of the calls{span}.{apart} As measured {none(inside)} of "
            f"{many(active, 'other cell' if idle else 'cell')} {'loses' if inside == 1 else 'lose'} at most 1{GAP}pp, {kept}. "
            f"Skips did harm in {none(harmed)} of {many(active)}: {int(rows['harmful'].sum())} harmful, {int(rows['beneficial'].sum())} beneficial.")


def _student(mine: pd.DataFrame, rivals: pd.DataFrame | None) -> str:
    """Whether the student D alone is as good as the reranker."""
    rows = mine[(mine["skip"] == 1) & (mine["fallbacks"] == "D")] if rivals is None else rivals[rivals["gate"] == "always D"]
    if rows.empty:
        return ""
    told = [f"{change(r)} on {places(r.to_frame().T)}" for _, r in rows.iterrows()]
    span = listed(told) if len(rows) <= FEW else f"{signed(rows['delta'].min(), 1)} to {signed(rows['delta'].max(), 1)}{GAP}pp"
    sure, worse = int(rows["surely_within"].sum()), int((rows["ci_high"] < -POINT).sum())
    rest = "" if sure + worse == len(rows) else ", else undecided"
    told = f"surely within 1{GAP}pp in {none(sure)} of {len(rows)}, surely worse in {none(worse)}{rest}"
    told = "the cheap student already does it, surely" if sure == len(rows) else told
    chosen = int(((mine["skip"] == 1) & (mine["fallbacks"] == "D")).sum())
    start = f"In {chosen} of {many(len(mine))} every call is skipped and D handed on: no gate is left. " if chosen else ""
    return f"{start}D for every question, against always reranking: {span}; {told}."
