"""The gate board: slices x gates with pass, fail or cannot tell, and the decision that follows (document 001, "Release gates")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib import wording
from lib.charts import INK, MUTED, PAPER, NothingToDraw, ready
from lib.figures import note
from lib.rollout_gates import BOTH, FAIL, OFF, OPEN, PASS, RELEASE, REPAIR, UNKNOWN
from lib.rollout_parameters import GATES

CELL, WIDEST, ROW, SIDE = 82, 110, 36, 128  # pixels: a gate's width where all are drawn, and at most; a slice's height, the decision's width
LOOK = {PASS: ("#0B3C6F", "#0B3C6F", PAPER), FAIL: ("#F8E6DA", "#CF5A12", "#8A3A08"), OPEN: ("#F1F2F4", "#DADDE1", MUTED)}  # fill, edge, ink
NAMES = {"sufficiency": "evidence in pool", "headroom": "headroom", "capture": "capture", "regressions": "evidence lost", "latency_p95": "p95 latency",
         "downstream": "downstream"}
DECIDED = {RELEASE: "#0B3C6F", OFF: "#7A2E3A", REPAIR: "#CF5A12", BOTH: "#CF5A12", UNKNOWN: MUTED}
MOST = 10_000  # questions: more than these is written as such


def gate_board(gates: pd.DataFrame, decisions: pd.DataFrame, tier: str | None = None) -> alt.LayerChart:
    """A row a slice, a cell a gate (verdict, estimate with its one-sided bounds against the threshold, or the questions needed), the decision at the end.

    ``gates`` and ``decisions`` of `lib.rollout_gates`. A gate that is measured in no slice has no column; the subtitle names it. Raises NothingToDraw without
    a slice, or without a gate that was measured.
    """
    kept = [g for g in GATES if gates.loc[gates["gate"] == g, "n"].sum()]
    if not kept:
        raise NothingToDraw("gate_board: no slice has a gate that was measured; judge some questions first")
    lost = [NAMES[g] for g in GATES if g not in kept]
    cell = min(WIDEST, CELL * len(GATES) // len(kept))
    df = ready(_cells(gates[gates["gate"].isin(kept)], kept, cell), "gate_board", "dataset", "slice", "gate", "verdict")
    said = _ends(df, decisions, cell * len(kept))
    height = ROW * (df["row"].max() + 1)
    x = lambda field: alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, cell * len(kept) + SIDE], nice=False))
    y = lambda field: alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[height, -24], nice=False))
    base = alt.Chart(df)
    tiles = base.mark_rect(cornerRadius=3).encode(x=x("left"), x2="right:Q", y=y("top"), y2="bottom:Q", fill=alt.Fill("fill:N", scale=None),
                                                  stroke=alt.Stroke("edge:N", scale=None), strokeWidth=alt.StrokeWidth("thick:Q", scale=None))
    ink = alt.Color("ink:N", scale=None)
    texts = [base.mark_text(fontSize=size, fontWeight=weight, dy=dy).encode(x=x("middle"), y=y("centre"), text=f"{field}:N", color=ink)
             for field, size, weight, dy in (("word", 10.5, "bold", -7), ("number", 8.8, "normal", 7))]
    heads = alt.Chart(pd.DataFrame({"at": [cell * (i + 0.5) for i in range(len(kept))], "name": [NAMES[g] for g in kept], "y": -10.0}))
    top = heads.mark_text(fontSize=10.5, color=MUTED).encode(x=x("at"), y=y("y"), text="name:N")
    ends = alt.Chart(said).mark_text(align="left", fontSize=11.5, fontWeight="bold").encode(
        x=x("at"), y=y("centre"), text="decision:N", color=alt.Color("colour:N", scale=None))
    names = alt.Chart(said).mark_text(align="right", fontSize=11.5, dx=-10, color=INK).encode(x=x("zero"), y=y("centre"), text="name:N")
    title = words.headed(
        board_finding(decisions),
        f"{words.tier_of(gates, tier)} · {words.counted(said['n'])} a slice · dark: pass, framed: FAIL, pale: cannot tell",
        "In a cell: estimate [one-sided bounds] and limit, in per cent or seconds; ?: too few for a bound",
        "Where it cannot tell: how many questions (requests) would be needed",
        f"Not measured, so not drawn, and in no number of questions needed: {words.listed(lost)}" if lost else "",
        width=720,
    )
    return alt.layer(tiles, *texts, top, ends, names).properties(width=cell * len(kept) + SIDE, height=height + 24, title=title)


def board_or_note(gates: pd.DataFrame, decisions: pd.DataFrame, tier: str | None = None, why: str = "") -> alt.TopLevelMixin:
    """`gate_board`, or a note (``why``: in words) where there is nothing to draw."""
    try:
        return gate_board(gates, decisions, tier)
    except NothingToDraw:
        return note(f"gate board: not drawn, since {why or 'no gate was measured'}")


def _cells(gates: pd.DataFrame, kept: Sequence[str] = GATES, cell: float = CELL) -> pd.DataFrame:
    rows = gates.reset_index(drop=True)
    keys = list(dict.fromkeys(zip(rows["dataset"], rows["slice"])))
    rows["row"] = [keys.index(key) for key in zip(rows["dataset"], rows["slice"])]
    at = rows["gate"].map(list(kept).index)
    fill, edge, ink = zip(*(LOOK[v] for v in rows["verdict"]))
    places = {"left": at * cell + 2, "right": (at + 1) * cell - 2, "middle": (at + 0.5) * cell, "top": rows["row"] * ROW + 2,
              "bottom": (rows["row"] + 1) * ROW - 2, "centre": (rows["row"] + 0.5) * ROW}
    seen = {"word": [_word(r) for r in rows.itertuples()], "number": [_number(r) for r in rows.itertuples()]}
    return rows.assign(**places, **seen, fill=fill, edge=edge, ink=ink, thick=[2.0 if v == FAIL else 0.8 for v in rows["verdict"]])[
        ["dataset", "slice", "gate", "verdict", "row", *places, *seen, "fill", "edge", "ink", "thick"]]


def _word(row) -> str:
    if row.verdict == OPEN:
        return "not measured" if not row.n else "needs more" if math.isnan(row.needed) else _many(row.needed)
    return row.verdict if row.verdict == PASS else row.verdict.upper()


def _many(needed: float) -> str:
    return f"needs {needed:,.0f}" if needed <= MOST else f"over {MOST:,}"


def _number(row) -> str:
    """Estimate, bounds, threshold: 93 [85, 98] ≥ 90 (per cent), or in the gate's own units."""
    sign = "≤" if row.gate in ("regressions", "latency_p95") else "≥"
    scale, digits = (1, 1) if row.gate == "latency_p95" else (100, 0)
    show = lambda v: "?" if math.isnan(v) else f"{scale * v:.{digits}f}".replace("-", "−")
    tail = f"{sign} {scale * row.threshold:.{digits}f}".replace("-", "−") + (" s" if row.gate == "latency_p95" else "")
    return tail if math.isnan(row.estimate) else f"{show(row.estimate)} [{show(row.low)}, {show(row.high)}] {tail}"


def _ends(df: pd.DataFrame, decisions: pd.DataFrame, right: float) -> pd.DataFrame:
    rows = df.drop_duplicates("row")[["dataset", "slice", "row", "centre"]].merge(decisions, on=["dataset", "slice"])
    several = rows["dataset"].nunique() > 1
    names = ["all questions" if s == "all" else s.replace("_", " ") for s in rows["slice"]]
    rows["name"] = [f"{wording.named(d)}: {n}" if several else n for d, n in zip(rows["dataset"], names)]
    return rows.assign(at=right + 8, zero=0, colour=rows["decision"].map(DECIDED))[["name", "decision", "colour", "centre", "at", "zero", "n"]]


def board_finding(decisions: pd.DataFrame) -> str:
    """The title: how many slices are released, and what the others get.

    >>> board_finding(pd.DataFrame({"slice": ["a", "b", "all"], "decision": ["release", "keep off", "release"]}))
    'Released for 1 of 2 slices (a); keep off: 1; as one switch for all it would say: release'
    """
    rows = decisions[decisions["slice"] != "all"] if (decisions["slice"] != "all").any() else decisions
    counts = rows["decision"].value_counts()
    who = [str(s).replace("_", " ") for s in rows.loc[rows["decision"] == RELEASE, "slice"]]
    named = f" ({words.listed(who)})" if 0 < len(who) <= 3 else ""
    said = [f"Released for {len(who) or 'none'} of {len(rows)} slice{'s' * (len(rows) != 1)}{named}"]
    said += [f"{name}: {counts[name]}" for name in (REPAIR, BOTH, OFF, UNKNOWN) if name in counts]
    one = decisions.loc[decisions["slice"] == "all", "decision"]
    tail = [f"as one switch for all it would say: {one.iloc[0]}"] if len(one) == 1 and len(rows) > 1 else []
    return "; ".join(said + tail)
