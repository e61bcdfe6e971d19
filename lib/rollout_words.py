"""The release in sentences built from its tables (notebook 07)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from lib.chart_words import listed, signed
from lib.rollout_canary import ON, STOP
from lib.rollout_gates import RELEASE, UNKNOWN
from lib.rollout_parameters import GATES
from lib.rollout_residual import told
from lib.rollout_story import FIRST, Rollback
from lib.wording import named

GATE_WORDS = {"sufficiency": "evidence in the pool", "headroom": "headroom", "capture": "capture", "regressions": "evidence lost", "latency_p95": "p95 latency",
              "downstream": "downstream effect"}


def decision_words(decisions: pd.DataFrame, gates: pd.DataFrame | None = None, why: str = "") -> str:
    """A line a data set: what each slice gets and why, and what one switch for all questions would have said.

    ``gates`` (release_gates) tell which were not measured, of which no number of questions can promise anything; ``why`` there is no row, in words.
    """
    if decisions.empty:
        return f"Nothing can be released, since {why or 'no slice has a judged question'}: no gate can be asked."
    out = []
    for dataset, rows in decisions.groupby("dataset", sort=False):
        slices, whole = rows[rows["slice"] != "all"], rows[rows["slice"] == "all"]
        lost = {} if gates is None else unmeasured(gates[gates["dataset"] == dataset])
        nowhere = [g for g in GATES if lost and all(g in those for those in lost.values())]
        here = {name: [g for g in those if g not in nowhere] for name, those in lost.items()}
        said = [f"{name}: {listed([_why(r, here.get(r.slice, ())) for r in part.itertuples()])}" for name, part in slices.groupby("decision", sort=False)]
        one = f"One switch for {_all(whole['n'].iloc[0])} would say: **{whole['decision'].iloc[0]}**{_failed(whole.iloc[0])}." if len(whole) else ""
        open_ = [f"Not measured: {', '.join(GATE_WORDS[g] for g in nowhere)}; questions needed are those of the other gates."] if nowhere else []
        out.append(f"**{_upper(named(dataset))}.** " + " ".join(filter(None, [*(f"{_upper(s)}." for s in said), one, *open_])))
    return "\n\n".join(out)


def unmeasured(gates: pd.DataFrame) -> dict[str, list[str]]:
    """Slice -> its gates that no question (no request) could tell.

    >>> unmeasured(pd.DataFrame({"slice": "all", "gate": ["sufficiency", "downstream"], "n": [9, 0]}))
    {'all': ['downstream']}
    """
    return {name: [g for g in GATES if g in set(part.loc[part["n"] == 0, "gate"])] for name, part in gates.groupby("slice", sort=False)}


def _why(row, lost: Sequence[str] = ()) -> str:
    name = str(row.slice).replace("_", " ")
    needed = f", {row.needed:,.0f} questions needed" if row.decision == UNKNOWN and pd.notna(row.needed) and row.needed <= 10_000 else ""
    left = f"; not measured: {', '.join(GATE_WORDS[g] for g in lost)}" if lost else ""
    return f"{name} ({row.n}{_failed(row)}{needed}{left})"


def _failed(row) -> str:
    gates = [GATE_WORDS[g] for g in str(row.failed).split(", ") if g in GATE_WORDS] if row.decision not in (RELEASE, UNKNOWN) else []
    return f"; failed: {listed(gates)}" if gates else ""


def residual_words(residual: pd.DataFrame, where: str = "shown after") -> str:
    """The residual omission of each slice, a line each, in the units of its decision; a yearly number where the gate file gives one."""
    rows = residual[residual["where"] == where]
    if rows.empty:
        return "What is left cannot be told: no question has judged evidence and a reranked list."
    several = rows["dataset"].nunique() > 1
    names = [(named(d) + ", " if several else "") + str(s).replace("_", " ") for d, s in zip(rows["dataset"], rows["slice"])]
    return "\n".join(f"- *{name}*: {told(r)}" for name, r in zip(names, rows.to_dict("records")))


def gains_words(gains: pd.DataFrame, measure: str = "ndcg") -> str:
    """The gain over all questions beside that over questions whose pool holds the evidence, a sentence a data set."""
    out = []
    for dataset, rows in gains[(gains["slice"] == "all") & (gains["measure"] == measure)].groupby("dataset", sort=False):
        over = {"all": _all, "evidence in the pool": lambda n: f"the {_counted(n)} whose pool holds the evidence"}
        rows = rows[rows["n"] > 0]
        if rows.empty:
            continue
        said = [f"{_value(r)} over {over[r.over](r.n)}" for r in rows.itertuples()]
        out.append(f"{_upper(named(dataset))}: {listed(said)}.")
    return " ".join(out)


def split_words(split: pd.DataFrame, measure: str = "ndcg") -> str:
    """What of the end-to-end change is ordering and what is retrieval, a sentence a data set."""
    out = []
    for dataset, rows in split[(split["slice"] == "all") & (split["measure"] == measure) & (split["n"] > 0)].groupby("dataset", sort=False):
        part = {r.part: r for r in rows.itertuples()}
        out.append(f"{_upper(named(dataset))}: {_value(part['total'])} end to end is {_value(part['ordering'])} by ordering and {_value(part['retrieval'])} by "
                   f"retrieval ({_counted(part['total'].n)}); the other way round {_value(part['retrieval first'])} by retrieval and "
                   f"{_value(part['ordering then'])} by ordering.")
    return " ".join(out) or "There is no change to split: no question has judged evidence and a reranked list."


def canary_words(looks: pd.DataFrame) -> str:
    """What the canary decided at each share, and after how many questions."""
    if looks.empty:
        return "No canary was watched: no question has judged evidence and a reranked list."
    out = []
    for (dataset, share), rows in looks[looks["slice"] == "all"].groupby(["dataset", "share"], sort=False):
        ended = rows[rows["verdict"] != ON]
        row = (ended if len(ended) else rows.tail(1)).iloc[0]
        capital = row["gain_capital"] if row["verdict"] not in (ON, STOP) else row["harm_capital"]
        out.append(f"{_upper(named(dataset))}, {100 * share:g} % of the questions: after {row['n']} the verdict is *{row['verdict']}* (mean change "
                   f"{signed(row['mean'])}, capital {capital:.1f} of {row['needed_capital']:.0f} needed).")
    parts = looks[(looks["slice"] != "all") & (looks["verdict"] != ON)].drop_duplicates(["dataset", "slice", "share"])
    out += [f"Slice {r.slice.replace('_', ' ')} ({named(r.dataset)}, {100 * r.share:g} %): {r.verdict} after {r.n}." for r in parts.itertuples()]
    return " ".join(out)


def rollback_words(made: Rollback) -> str:
    """Whether the rollback restored everything, and what part of one would have made."""
    thirds = made.thirds[~made.thirds["registered"]]
    moved = thirds[thirds["other_shown"].fillna(0) > 0].sort_values("other_shown", kind="stable")
    back = "every record is the one of before, bit for bit" if made.same else "the records differ from those of before: the rollback failed"
    said = [f"After the rollback {back} (seal {made.seal[:12]})."]
    if made.back.active.name == FIRST.name:
        said.append("(No list could be fused, so the first stage's own order was in force before.)")
    if len(moved):
        worst = moved.iloc[-1]
        said.append(f"Taking back only the {worst['restored']} would have made a third system, which shows other passages than the old one in "
                    f"{worst['other_shown']} of {worst['questions']} questions, and none at all in {worst['nothing_shown']}.")
    if n := int((~thirds["scored"]).sum()):
        said.append(f"Of {n} more such mixtures nobody knows what they would show: no such model ever read texts cut that way.")
    return " ".join(said)


def _counted(n: int) -> str:
    return f"{n} question{'' if n == 1 else 's'}"


def _all(n: int) -> str:
    return f"all {_counted(n)}" if n != 1 else "the one question"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _value(row: Mapping | object) -> str:
    known = pd.notna(row.ci_low)
    return signed(row.estimate) + (f" [{signed(row.ci_low)}, {signed(row.ci_high)}]" if known else "")
