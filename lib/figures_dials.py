"""The dials of the generated worlds: a panel a dial, what is won or kept along it while the other dials stand still (SPEC 9)."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, LOOKS, MUTED, PERCENT, SPARE, ChartError, NothingToDraw, in_order, ready

WIDTH, HEIGHT, ACROSS = 186, 136, 3  # pixels of a panel; panels in a row
METRIC = "answer_in_context_defined"
MEANT = {"hops": "passages to combine", "surfacing": "share named as in the question", "redundancy": "share of distractors retold",
         "position": "where a passage tells its answers", "paraphrase": "share of facts in other words"}
POINTS = alt.Axis(labelExpr="datum.value == 0 ? '0' : replace(format(100 * datum.value, '+.0f'), '-', '−')", tickCount=5)
NEEDED = ("dial", "value", "place", "end", "at_rest", "treatment", "control", "measure", "estimate", "ci_low", "ci_high", "n")
WAYS = {"rises": "grows with", "falls": "shrinks with", "flat": "holds along", "undecided": "may or may not move with"}
CALLED = {"position": "later answers"}  # as a sentence has it
RESTING = "grey column: where a dial rests while others turn"


def dial_contrasts(table: pd.DataFrame, margin: float | None = None, tier: str | None = None, metric: str = METRIC) -> alt.ConcatChart:
    """Treatment - control along each dial, a line and a band a contrast; ``margin`` shades what counts as none, a grey column marks the value at rest.

    ``table``: dials, of one reader where ``metric`` is an answer's. Raises ChartError; NothingToDraw where no contrast has an interval.
    """
    df = _checked(table[(table["measure"] == metric) & (table["control"] != "none")], "dial_contrasts")
    df = df.assign(line=df["treatment"] + " − " + df["control"], colour=[LOOKS.get(c, SPARE).colour for c in df["control"]],
                   dash=[LOOKS.get(c, SPARE).dash for c in df["control"]])
    at, trends = df[df["value"] != "trend"], df[df["value"] == "trend"]
    first, mine = at["line"].iloc[0], at[at["treatment"] == at["treatment"].iloc[0]]
    y = _down(at, POINTS, margin or 0.0)
    panels = [_panel(part, y, dial, margin) for dial, part in _by_dial(at)]
    finding = _finding(trends[trends["line"] == first]) or f"{first} along {len(panels)} dials"
    finding = finding if metric == METRIC else f"On {words.shown(metric)}, t{finding[1:]}" if finding.startswith("The lead") else finding
    others = [f"{line.split(' − ')[1]}: {_ways(trends[trends['line'] == line])}" for line in mine["line"].unique()[1:]]
    beside = f"Over {'; over '.join(others)}." if others and len(trends) else ""  # another packer's contrasts are drawn, and said by the table
    shown = f"Difference in {words.shown(metric)}, points · {RESTING}"
    title = words.headed(finding, f"{beside} {_exceptions(mine)}".strip(), shown, _bands(at, tier, margin), width=740)
    return _together(panels, at, title)


def dial_levels(table: pd.DataFrame, tier: str | None = None, metric: str = METRIC) -> alt.ConcatChart:
    """What each packer keeps along each dial, under what retrieval had put in the pool; the gap between them is lost in packing.

    ``table``: dials. Raises ChartError; NothingToDraw where no level has an interval.
    """
    kept = table[(table["measure"] == metric) & (table["control"] == "none")]
    pool = table[(table["measure"] == "answer_in_pool") & (table["control"] == "none")]
    df = _checked(pd.concat([pool, kept]), "dial_levels")
    df = df.assign(place_in_key=df["treatment"].map({t: k for k, t in enumerate(["pool", *in_order(set(df["treatment"]) - {"pool"})])}))
    df = df.sort_values("place_in_key", kind="stable", ignore_index=True)
    df = df.assign(line=df["treatment"].replace("pool", "in the pool"), colour=[LOOKS.get(t, SPARE).colour if t != "pool" else INK for t in df["treatment"]],
                   dash=[LOOKS.get(t, SPARE).dash if t != "pool" else [1, 0] for t in df["treatment"]])
    y = _down(df, PERCENT, 0.0)
    panels = [_panel(part, y, dial, None) for dial, part in _by_dial(df)]
    ends = df[df["end"] != "none"].pivot_table(index=["dial", "end"], columns="treatment", values="estimate")
    shown = f"Share of questions whose answer is in the pool, and in the context of each packer · {RESTING}"
    title = words.headed(_levels(ends), shown, _bands(df, tier, None), width=740)
    return _together(panels, df, title)


def _checked(rows: pd.DataFrame, figure: str) -> pd.DataFrame:
    if rows.empty:
        raise NothingToDraw(f"{figure}: no world was packed in this run (world_questions: 0)")
    df = ready(rows.dropna(subset=["estimate", "ci_low", "ci_high"]), figure, *NEEDED)
    if df.duplicated(["dial", "value", "treatment", "control", "measure"]).any():
        raise ChartError(f"{figure}: a contrast has several rows at one value; keep one tier and one reader")
    return df


def _by_dial(df: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each dial with its rows, in the order in which the dials come in the table."""
    for dial in df["dial"].drop_duplicates():
        yield dial, df[df["dial"] == dial]


def _down(df: pd.DataFrame, axis: alt.Axis, margin: float) -> alt.Y:
    low, high = min(df["ci_low"].min(), -margin), max(df["ci_high"].max(), margin)
    aside = 0.06 * (high - low)
    return alt.Y("estimate:Q", title=None, axis=axis, scale=alt.Scale(domain=[low - aside, high + aside], nice=False, zero=False))


def _panel(df: pd.DataFrame, y: alt.Y, dial: str, margin: float | None) -> alt.LayerChart:
    """One dial: lines and bands over its points; where the value at rest is none of them, marks beside."""
    values = list(df.sort_values("place", na_position="last")["value"].drop_duplicates())
    x = alt.X("value:N", sort=values, title=None, scale=alt.Scale(type="point", padding=0.35), axis=alt.Axis(labelAngle=0, grid=False))
    colour = alt.Color("colour:N", scale=None)
    rest = alt.Chart(df[df["at_rest"]].head(1))
    layers = [rest.mark_bar(color=FAINT, opacity=0.45, size=13).encode(x=x, y=alt.value(0), y2=alt.value(HEIGHT))]
    if margin is not None:
        zero = alt.Chart(pd.DataFrame([{"estimate": -margin, "high": margin, "zero": 0.0}]))
        layers += [zero.mark_rect(color=INK, opacity=0.06).encode(y=y, y2="high:Q"), zero.mark_rule(color=MUTED, strokeWidth=1).encode(y="zero:Q")]
    for _, part in df.groupby("line", sort=False):
        along = alt.Chart(part[part["place"].notna()])
        layers += [along.mark_area(opacity=0.16).encode(x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q", color=colour),
                   along.mark_line(strokeWidth=2, strokeDash=part["dash"].iloc[0]).encode(x=x, y=y, color=colour)]
    marks = alt.Chart(df).encode(x=x, y=y)
    apart = alt.Chart(df[df["place"].isna()])
    layers += [apart.mark_rule(strokeWidth=2, opacity=0.5).encode(x=x, y=alt.Y("ci_low:Q"), y2="ci_high:Q", color=colour),
               marks.mark_point(filled=True, size=34, opacity=1).encode(color=colour)]
    head = alt.TitleParams(dial, subtitle=MEANT.get(dial, ""), fontSize=12.5, subtitleFontSize=10.5, offset=6, frame="group", subtitlePadding=3)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)


def _together(panels: Sequence[alt.LayerChart], df: pd.DataFrame, title: alt.TitleParams) -> alt.ConcatChart:
    """The panels in rows of three, with the names of the lines where the next panel would stand."""
    names = df.drop_duplicates("line")[["line", "colour", "dash"]]
    names = names.assign(at=range(len(names)))
    parts = []
    for row in names.itertuples():
        base = alt.Chart(pd.DataFrame([{"line": row.line, "left": 0, "right": 1}])).encode(y=alt.value(24 + 19 * row.at))
        parts += [base.mark_rule(strokeWidth=2, color=row.colour, strokeDash=row.dash).encode(x=alt.value(8), x2=alt.value(38)),
                  base.mark_text(align="left", fontSize=12, color=row.colour, fontWeight="bold").encode(x=alt.value(46), text="line:N")]
    key = alt.layer(*parts).properties(width=WIDTH, height=max(HEIGHT, 24 + 19 * len(names)))
    return alt.concat(*panels, key, columns=ACROSS, spacing=22).properties(title=title).configure_view(stroke=None)


def _bands(df: pd.DataFrame, tier: str | None, margin: float | None) -> str:
    shaded = f" · shaded: within ±{100 * margin:g} points" if margin is not None else ""
    return f"{words.counted(df['n'])} a point, the same at each · bands: 95{words.GAP}% paired bootstrap intervals · {words.tier_of(df, tier)}{shaded}"


def _ways(trends: pd.DataFrame) -> str:
    """Which dials move a contrast which way, from the verdicts on its trends."""
    kinds = trends.assign(kind=trends["verdict"].str.split(",").str[0])
    dials = {kind: [CALLED.get(d, d) for d in part["dial"]] for kind, part in kinds.groupby("kind")}
    return ", ".join(f"{how} {words.listed(dials[kind])}" for kind, how in WAYS.items() if kind in dials)


def _finding(trends: pd.DataFrame) -> str:
    if trends.empty or not _ways(trends):
        return ""
    ways = _ways(trends).replace(", shrinks", " and shrinks", 1) if trends["verdict"].str.split(",").str[0].nunique() == 2 else _ways(trends)
    return f"The lead of {trends['treatment'].iloc[0]} over {trends['control'].iloc[0]} {ways}"


def _exceptions(at: pd.DataFrame) -> str:
    """Where a contrast lies within the margin, or speaks for the control."""
    controls, said = at["control"].nunique(), []
    for what, verdicts in (("Within the margin at", ("equivalent", "slightly up", "slightly down")), ("Behind at", ("moved down",))):
        rows = at[at["verdict"].isin(verdicts)].groupby(["dial", "value"], sort=False)["control"].agg(list)
        places = [f"{d} {v}" + ("" if len(c) == controls else f" (over {words.listed(c)})") for (d, v), c in rows.items()]
        said += [f"{what} {words.listed(places)}."] if places else []
    return " ".join(said)


def _levels(ends: pd.DataFrame) -> str:
    """Along which dial retrieval changes most, and along which packing alone does, each with where it starts and ends."""
    span = (ends.xs("high", level="end") - ends.xs("low", level="end")).abs()
    packers = in_order(set(span.columns) - {"pool"})
    lead = "submod" if "submod" in packers else packers[0]
    still = span[span["pool"] < 0.05]
    def along(dial: str, name: str) -> str:
        return f"{CALLED.get(dial, dial)} ({words.percent(ends.loc[(dial, 'low'), name])} to {words.percent(ends.loc[(dial, 'high'), name])})"

    said = f"Retrieval moves most along {along(span['pool'].idxmax(), 'pool')}"
    return said + (f"; of the dials that move it by less than 5 points, {lead} moves most along {along(still[lead].idxmax(), lead)}" if len(still) else "")
