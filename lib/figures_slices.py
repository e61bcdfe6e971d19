"""Where answers are lost, a bar a slice: question types, data sets, packers or budgets side by side (SPEC 7)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, PERCENT, ChartError, ready, row_axis
from lib.figures_waterfall import ALIVE, LOST, LOST_IN, check_losses, largest_losses, whole_percent

ROOM, BAR, ROW = 440, 24, 43  # pixels: a whole bar, its height, from one bar to the next
KEY = {"right": "right", "read": "lost in reading", "context": "in packing", "pool": "in retrieval", "corpus": "not in the corpus"}
COLOURS = LOST | {"right": ALIVE}
LOSES = {s: f"most {LOST_IN[s]}" for s in reversed(LOST)} | {"none": "nothing"}


def waterfall_slices(table: pd.DataFrame, row: str = "slice", tier: str | None = None) -> alt.VConcatChart:
    """One bar of 100 answers a row, split into what comes out and what each stage loses; the highest share on top, all questions first.

    ``table``: chains of the table ``waterfall`` that differ in ``row`` alone (slice, dataset, policy, budget, ...). The lines under a bar are the
    intervals of the shares still alive, which is where its parts meet. A row without an interval is named below the title. Raises ChartError.
    """
    known = table.dropna(subset=["share", "ci_low", "ci_high"])
    columns = ("stage", "order", "share", "lost", "ci_low", "ci_high", "lost_low", "lost_high", "n")
    df = ready(known, "waterfall_slices", row, *columns).sort_values([row, "order"], ignore_index=True)
    if df.duplicated([row, "stage"]).any():
        raise ChartError(f"waterfall_slices: {row} {df.loc[df.duplicated([row, 'stage']), row].iloc[0]!r} has several chains; keep one of everything but {row}")
    for _, chain in df.groupby(row):
        check_losses(chain.reset_index(drop=True), "waterfall_slices")
    df = df.assign(name=[_named(v, row) for v in df[row]])
    ends = df[df["order"] == df["order"].max()].assign(last=lambda d: d[row] != "all").sort_values(["last", "share", "name"], ascending=[True, False, True])
    order = list(ends["name"])
    title = words.headed(_finding(df, order, row), *_notes(df, table, row, tier), width=740)
    chart = alt.layer(*_bars(_parts(df), order), *_intervals(df, order), _counts(ends, order)).properties(width=ROOM, height=ROW * len(order))
    return alt.vconcat(_key(df), chart, spacing=6).properties(title=title)


def _named(value, row: str) -> str:
    """A row as the figure calls it: question_type=bridge is bridge."""
    return "all questions" if value == "all" else str(value).split("=", 1)[-1] + (" tokens" if row == "budget" else "")


def _finding(df: pd.DataFrame, order: list[str], row: str) -> str:
    """Which stage loses most for which rows; rows whose intervals do not tell are counted."""
    single = [name for name in order if name != "all questions"] or order
    found: dict[str, list[str]] = {}
    for name in single:
        chain = df[df["name"] == name].reset_index(drop=True)
        most = largest_losses(chain)
        found.setdefault("close" if len(most) > 1 else chain["stage"][most[0]] if chain["lost"].max() > 0 else "none", []).append(name)
    close = found.pop("close", [])
    if len(close) == len(single):
        return f"Which stage loses most is too close to tell for {words.listed(close)}"
    said = [f"{words.listed(found[s])} {'lose' if len(found[s]) > 1 or found[s] == ['all questions'] else 'loses'} {how}"
            for s, how in LOSES.items() if s in found]
    if close:
        said.append(f"the other {len(close)} rows are too close to tell" if len(close) > 1 else f"{close[0]} is too close to tell")
    return "; ".join(said)


def _notes(df: pd.DataFrame, table: pd.DataFrame, row: str, tier: str | None) -> list[str]:
    fixed = [str(df[c].iloc[0]) + (" tokens" if c == "budget" else "") for c in ("dataset", "slice", "policy", "budget", "reader", "precision")
             if c in df and c != row and df[c].nunique() == 1 and df[c].iloc[0] not in ("all", "none")]
    gone = sorted(set(table[row]) - set(df[row]))
    lacking = f"Not drawn, too few with a defined answer: {words.listed([_named(v, row) for v in gone])}" if gone else ""
    whole = df[df[row] == "all"] if (df[row] == "all").any() else df
    known = "undefined" in whole and whole["undefined"].nunique() == 1 and whole["undefined"].iloc[0]
    without = f" (and {int(whole['undefined'].iloc[0])} without)" if known else ""
    return [" · ".join(fixed), f"Of 100 answers · {words.counted(df['n'])} with a defined answer{without} · {words.tier_of(df, tier)}",
            f"Lines under a bar: 95{words.GAP}% bootstrap intervals of the points where its parts meet", lacking]


def _parts(df: pd.DataFrame) -> pd.DataFrame:
    """The parts of each bar from left to right: what comes out, then the losses from the last stage back to the first."""
    out = []
    for name, chain in df.groupby("name"):
        shares, whole = [1.0, *chain["share"]], [100, *whole_percent(chain["share"])]
        out.append((name, "right", 0.0, shares[-1], whole[-1]))
        out += [(name, stage, shares[k + 1], shares[k], whole[k] - whole[k + 1]) for k, stage in enumerate(chain["stage"])]
    parts = pd.DataFrame(out, columns=["name", "part", "from", "to", "points"])
    fits = (parts["to"] - parts["from"]) * ROOM >= 5 + 7.5 * parts["points"].astype(str).str.len()
    return parts.assign(middle=(parts["from"] + parts["to"]) / 2, said=parts["points"].astype(str).where(fits & (parts["points"] > 0), ""),
                        colour=parts["part"].map(COLOURS), ink=[PAPER if p in ("right", "read") else INK for p in parts["part"]])


def _across(column: str) -> alt.X:
    return alt.X(f"{column}:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=PERCENT)


def _down(order: list[str]) -> alt.Y:
    return alt.Y("name:N", sort=order, title=None, axis=row_axis(order), scale=alt.Scale(padding=0))


def _bars(parts: pd.DataFrame, order: list[str]) -> list[alt.Chart]:
    base = alt.Chart(parts).encode(y=_down(order))
    return [base.mark_bar(size=BAR, stroke=PAPER, strokeWidth=1).encode(x=_across("from"), x2="to:Q", color=alt.Color("colour:N", scale=None)),
            base.mark_text(fontWeight="bold", fontSize=12).encode(x=_across("middle"), text="said:N", color=alt.Color("ink:N", scale=None))]


def _intervals(df: pd.DataFrame, order: list[str]) -> list[alt.Chart]:
    """Under each bar a line a meeting point, the later stages lower, so that lines that overlap stay apart."""
    return [alt.Chart(stage).mark_rule(color=INK, strokeWidth=1.3, yOffset=BAR / 2 + 3 + 2.6 * k).encode(y=_down(order), x=_across("ci_low"), x2="ci_high:Q")
            for k, (_, stage) in enumerate(df.groupby("order"))]


def _counts(ends: pd.DataFrame, order: list[str]) -> alt.Chart:
    counted = ends.assign(count=[f"n = {n:,}" for n in ends["n"]])
    return alt.Chart(counted).mark_text(align="left", dx=10, color=MUTED, fontSize=11.5).encode(y=_down(order), x=alt.value(ROOM), text="count:N")


def _key(df: pd.DataFrame) -> alt.LayerChart:
    """The parts by name above the bars, in the order in which they stand."""
    outcome = df["outcome"].iloc[0] if "outcome" in df else "em"
    there = [p for p in KEY if p == "right" or p in set(df["stage"])]
    names = KEY | {"right": {"f1": "F1", "none": "in the context"}.get(outcome, "right")} | ({} if "read" in there else {"context": "lost in packing"})
    width = [6.1 * len(names[p]) + 32 for p in there]
    data = pd.DataFrame({"x": [sum(width[:k]) for k in range(len(there))], "name": [names[p] for p in there], "colour": [COLOURS[p] for p in there]})
    base = alt.Chart(data).encode(x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, ROOM], nice=False)), y=alt.value(7))
    square = base.mark_point(shape="square", filled=True, size=110, opacity=1, stroke=MUTED, strokeWidth=0.6, xOffset=6).encode(
        color=alt.Color("colour:N", scale=None))
    return alt.layer(square, base.mark_text(align="left", dx=16).encode(text="name:N")).properties(width=ROOM, height=14)
