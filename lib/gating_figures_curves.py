"""All gates in one picture: decision curves with the place that each gate chose, the random gate as a straight line, the oracle as the frontier (SPEC 12)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import INK, MUTED, PAPER, NothingToDraw, ready
from lib.gating_cells import POINT
from lib.gating_curves import ORACLE, RANDOM
from lib.gating_rivals_table import LEARNED
from lib.wording import named

# colour, dash, shape, width: the learned gate in front, one-number gates thin behind
LOOKS = {LEARNED: ("#0B3C6F", [1, 0], "circle", 2.8), "six features": ("#CF5A12", [9, 3], "square", 2.0), "score gap": ("#2A9D8F", [2, 2], "triangle-up", 1.6),
         "uncertainty": ("#A44A8F", [9, 3, 2, 3], "diamond", 1.6), "top score": ("#7A2E3A", [5, 2, 1, 2], "triangle-down", 1.6),
         "commitment": ("#6B6F2E", [6, 2], "cross", 1.6)}
SPARE = ("#82888F", [4, 2], "triangle-left", 1.4)
LABEL = {RANDOM: "at random", ORACLE: "oracle"}
TITLE = "delta against always reranking, pp"
HEIGHT, WIDE, HALF, NARROW = 250, 610, 285, 182  # pixels; wide: one data set, half: two or four


def curves(table: pd.DataFrame, places: pd.DataFrame, tier: str | None = None) -> alt.ConcatChart:
    """A panel a data set: delta by skip rate of every gate, the interval of the learned gate as a band, chosen places with intervals both ways.

    ``table``: gating_curves of one K and rule; ``places``: gating_rivals. Raises NothingToDraw where no curve has an interval.
    """
    df = table.dropna(subset=["ci_low", "ci_high"])
    if df.empty:
        raise NothingToDraw("curves: no gate has an interval; two questions a data set are needed")
    df = ready(df, "curves", "gate", "dataset", "k", "rule", "skip", "delta", "ci_low", "ci_high", "n")
    k, rule = df["k"].iloc[0], df["rule"].iloc[0]
    points = places[(places["k"] == k) & (places["rule"] == rule) & places["gate"].isin(df["gate"])].dropna(subset=["ci_low", "skip_low"])
    names = [g for g in LOOKS if g in set(df["gate"])] + sorted(set(df["gate"]) - set(LOOKS) - {RANDOM, ORACLE})
    sets = sorted(df["dataset"].unique())
    columns, width = {1: (1, WIDE), 2: (2, HALF), 4: (2, HALF)}.get(len(sets), (3, NARROW))
    parts = [(df[df["dataset"] == d], points[points["dataset"] == d]) for d in sets]
    panels = [_panel(*part, named(d), names, _span(*part), width, i % columns == 0) for i, (part, d) in enumerate(zip(parts, sets))]
    notes = [f"K = {k} · rule: {rule} · mark: what the gate's own folds chose · {words.counted(df['n'])}",
             f"Bars and the learned gate's band: 95{words.GAP}% intervals over questions · thin dashes: the 1 pp rule",
             f"At random and oracle: with the learned gate's fallbacks{' · scales differ' if len(sets) > 1 else ''} · {words.tier_of(df, tier)}"]
    return alt.concat(*panels, columns=columns, spacing=22).properties(title=words.headed(finding(points), *notes, width=720)).configure_view(stroke=None)


def _span(df: pd.DataFrame, points: pd.DataFrame) -> list[float]:
    """The axis of a panel: every curve, the learned gate's band and the chosen places with their bars."""
    learned = df[df["gate"] == LEARNED]
    low, high = pd.concat([df["delta"], learned["ci_low"]]).min(), pd.concat([df["delta"], learned["ci_high"]]).max()
    if len(points):
        low, high = min(low, points["ci_low"].min()), max(high, points["ci_high"].max())
    return [low - 0.05 * (high - low), high + 0.12 * (high - low)]


def finding(points: pd.DataFrame) -> str:
    """What the learned gate's own place is worth against as many skips at random, and the best rival, on average over data sets."""
    mine = points[points["gate"] == LEARNED]
    if mine.empty:
        return "What each gate costs at every skip rate"
    n, better, worse = len(mine), int((mine["over_low"] > 0).sum()), int((mine["over_high"] < 0).sum())
    skip, delta, chance = (mine[c].mean() for c in ("skip", "delta", "random"))
    said = f"The learned gate skips {words.percent(skip)} at {words.signed(delta, 1)} pp; as many skips at random would bring {words.signed(chance, 1)}"
    where = "here" if n == 1 else f"in {better or worse} of {n} data sets" if 0 < (better or worse) < n else "in every data set"
    verdict = f"surely better {where}" if better else f"surely worse {where}" if worse else "no sure difference"
    return f"{said} ({verdict})"


def _panel(df: pd.DataFrame, points: pd.DataFrame, name: str, gates: list[str], span: list[float], width: int, first: bool) -> alt.LayerChart:
    looks = [LOOKS.get(g, SPARE) for g in gates]
    x = alt.X("skip:Q", title="questions skipped", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=4, grid=False))
    scale = alt.Scale(domain=span, nice=False)
    title = TITLE if first else None  # on every layer: one that lacks it would take it from the others
    y = alt.Y("delta:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    legend = {"orient": "bottom", "title": None, "columns": 6, "symbolSize": 70, "labelLimit": 160, "columnPadding": 24}
    colour = alt.Color("gate:N", scale=alt.Scale(domain=gates, range=[c for c, *_ in looks]), legend=alt.Legend(**legend))
    shape = alt.Shape("gate:N", scale=alt.Scale(domain=gates, range=[s for _, _, s, _ in looks]), legend=alt.Legend(**legend))
    learned = df[df["gate"] == LEARNED]
    layers = [_level(0, [1, 0], title), _level(-POINT, [4, 3], title),
              alt.Chart(learned).mark_area(color=LOOKS[LEARNED][0], opacity=0.13).encode(x=x, y=alt.Y("ci_low:Q", title=title, scale=scale), y2="ci_high:Q"),
              alt.Chart(df[df["gate"] == RANDOM]).mark_line(color="#A9AEB4", strokeWidth=3.2).encode(x=x, y=y),
              alt.Chart(df[df["gate"] == ORACLE]).mark_line(color=INK, strokeWidth=1.3, strokeDash=[5, 3]).encode(x=x, y=y)]
    layers += [alt.Chart(df[df["gate"] == g]).mark_line(strokeDash=dash, strokeWidth=wide, clip=True).encode(x=x, y=y, color=colour)
               for g, (_, dash, _, wide) in reversed(list(zip(gates, looks))) if (df["gate"] == g).any()]
    bar = alt.Chart(points).mark_rule(strokeWidth=1.2, opacity=0.75, clip=True)
    layers += [bar.encode(x=x, y=alt.Y("ci_low:Q", title=title), y2="ci_high:Q", color=colour),
               bar.encode(x=alt.X("skip_low:Q", title="questions skipped"), x2="skip_high:Q", y=y, color=colour),
               alt.Chart(points).mark_point(filled=True, size=95, opacity=1, stroke=PAPER, strokeWidth=1.2).encode(x=x, y=y, color=colour, shape=shape)]
    layers += [_said(df, RANDOM, *_room(df), title)] * int((df["gate"] == RANDOM).any()) + [_said(df, ORACLE, 0.4, -9, "center", title)]
    head = alt.TitleParams(name, fontSize=12.5, offset=6, frame="group")
    return alt.layer(*layers).properties(width=width, height=HEIGHT, title=head)


def _level(at: float, dash: list[int], title: str | None) -> alt.Chart:
    return alt.Chart(pd.DataFrame({"at": [at]})).mark_rule(color=MUTED, strokeWidth=0.9, strokeDash=dash).encode(y=alt.Y("at:Q", title=title))


def _room(df: pd.DataFrame) -> tuple[float, int, str]:
    """Where the random line has room for its name: the share skipped, the shift in pixels (below the line or above) and the alignment."""
    wide = df.pivot(index="skip", columns="gate", values="delta").loc[0.3:0.8]
    if wide.empty:
        return 0.5, 14, "center"
    away = wide.drop(columns=RANDOM).sub(wide[RANDOM], axis=0)
    enough = 0.12 * (df["delta"].max() - df["delta"].min())
    rooms = {14: (-away.where(away <= 0)).min(axis=1), -10: away.where(away > 0).min(axis=1)}
    rooms = {side: room.fillna(enough).clip(upper=enough) - 1e-6 * (room.index - 0.7) ** 2 for side, room in rooms.items()}
    side = max(rooms, key=lambda s: rooms[s].max())
    falls = wide[RANDOM].iloc[-1] < wide[RANDOM].iloc[0]
    return float(rooms[side].idxmax()), side, "right" if falls == (side > 0) else "left"


def _said(df: pd.DataFrame, gate: str, where: float, shift: int, align: str, title: str | None) -> alt.LayerChart:
    """The name of a reference line, beside it, on a light ground."""
    mine = df[df["gate"] == gate]
    at = mine.iloc[[int((mine["skip"] - where).abs().argmin())]].assign(said=LABEL[gate]) if len(mine) else mine.assign(said="")
    ground, text = {"stroke": PAPER, "strokeWidth": 4, "color": PAPER}, {"color": MUTED if gate == RANDOM else INK}
    return alt.layer(*(alt.Chart(at).mark_text(dy=shift, align=align, fontSize=11, **look).encode(x="skip:Q", y=alt.Y("delta:Q", title=title), text="said:N")
                       for look in (ground, text)))
