"""The graph list H beside the dense list V and other first stages: what each finds more or less, question by question (SPEC 2, 12)."""
from __future__ import annotations

import altair as alt
import pandas as pd

from lib import chart_words as words
from lib.charts import FAINT, INK, MUTED, PAPER, RANKERS, SPARE, ChartError, Look, NothingToDraw, in_order, ready, row_axis
from lib.graph_list_table import ALL_HOPS
from lib.pool_union import H, V
from lib.wording import named

PANELS = {"recall_at_5": "recall@5", "last_hop_hit_at_5": f"last hop in the first{words.GAP}5"}
TITLED = {"recall_at_5": "gold", "last_hop_hit_at_5": "last hops"}  # what the title calls them
CONFIRM = "half 1 alone"
LOOKS = {H: Look("#6A3D9A", [1, 0], "circle", 2.0), **{r: look for r, look in RANKERS.items() if r != V}}
FEWEST = 10  # questions of a number of hops: an interval over fewer says nothing
LEVEL = 0.05
WIDTH, ROW, BESIDE = 176, 21, 84  # pixels: a panel, a row, the numbers beside a panel
POINTS = alt.Axis(labelExpr="datum.value == 0 ? '0' : replace(format(100 * datum.value, '+.0f'), '-', '−')", tickCount=4, grid=True)
NEEDED = ("dataset", "half", "n_hops", "ranker", "minus", "measure", "estimate", "ci_low", "ci_high", "p_holm", "n")


def graph_lists(table: pd.DataFrame, tier: str | None = None) -> alt.VConcatChart:
    """Every list minus the dense list in points: a block a data set, a panel each of PANELS; the graph list also on half 1 alone and by number of hops.

    ``table``: graph_lists. A mark is filled where its interval excludes 0 and p after Holm is below 0.05. A number of hops with fewer than FEWEST questions
    is left out and named. Raises ChartError; NothingToDraw where no difference to the dense list has an interval.
    """
    if missing := [c for c in NEEDED if c not in table]:
        raise ChartError(f"graph_lists: columns {missing} are missing; found {list(table)}")
    df, few = _rows(table)
    if df.empty:
        raise NothingToDraw(f"graph_lists: no difference to the list {V!r} has an interval; rank with it and with another list first")
    df = ready(df, "graph_lists")
    if df.duplicated(["dataset", "measure", "name"]).any():
        raise ChartError("graph_lists: a list has several values of one measure; keep one tier")
    sets = sorted(set(df["dataset"]))
    domains = {m: _domain(df[df["measure"] == m]) for m in PANELS}
    blocks = [_block(df[df["dataset"] == d], named(d) if len(sets) > 1 else "", domains, d == sets[0], d == sets[-1]) for d in sets]
    return alt.vconcat(*blocks, spacing=16).properties(title=words.headed(finding(df), *_notes(df, few, words.tier_of(table, tier)), width=720))


def _notes(df: pd.DataFrame, few: list[str], tier: str) -> list[str]:
    """What the rows are, how they are drawn, what is shaded and what half 1 alone, which chose nothing of the list, does not bear out."""
    where = f"{named(df['dataset'].iloc[0])} · " if df["dataset"].nunique() == 1 else ""
    half = "" if (df["half"] == "all").any() else f" · half {df['half'].min()}"
    first = f"{where}points against the dense list · {words.counted(df['n'])} a row{half} · {tier}"
    notes = [first[0].upper() + first[1:], f"Bars: 95{words.GAP}% bootstrap intervals; filled where they exclude 0, also after Holm's correction"]
    if (parts := _parts(df)).any():
        notes.append(f"Shaded: the graph list {words.listed([t for t, there in parts.items() if there])}")
    if few:
        notes.append(f"Left out, fewer than {FEWEST} questions: {words.listed(few)}")
    if unborne := _unborne(df):
        notes.append(f"Not shown on half 1 alone: {words.listed(unborne)}")
    return notes


def _parts(df: pd.DataFrame) -> pd.Series:
    return pd.Series({"on half 1 alone": (df["name"] == CONFIRM).any(), "by number of hops": (df["n_hops"] != ALL_HOPS).any()})


def _unborne(df: pd.DataFrame) -> list[str]:
    """The decided differences of the graph list that half 1 alone does not show: its interval holds 0 or lies on the other side."""
    pairs = df[df["name"] == H].merge(df[df["name"] == CONFIRM], on=["dataset", "measure"], suffixes=("", "_1"))
    return [f"{PANELS[r.measure]} on {named(r.dataset)}" for r in pairs.itertuples()
            if r.said != "undecided" and words.verdict(r.ci_low_1, r.ci_high_1) != r.said]


def _rows(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows to draw, each with name (its row's label), said and colours, in order; and the numbers of hops left out, in words."""
    df = table[(table["minus"] == V) & table["measure"].isin(list(PANELS))].dropna(subset=["estimate", "ci_low", "ci_high"])
    main = "all" if (df["half"] == "all").any() else min(df["half"], default="all")
    parts = (df["half"] == main) & ((df["n_hops"] == ALL_HOPS) | (df["ranker"] == H))
    confirms = (df["half"] == "1") & (df["n_hops"] == ALL_HOPS) & (df["ranker"] == H)
    df = df[parts | confirms]
    small = (df["n_hops"] != ALL_HOPS) & (df["n"] < FEWEST)
    several = df["dataset"].nunique() > 1
    few = [f"{h} {'hop' if h == 1 else 'hops'} ({', '.join(PANELS[m] for m in PANELS if m in set(part['measure']))}{f'; {named(d)}' if several else ''})"
           for (d, h), part in df[small].groupby(["dataset", "n_hops"])]
    df = df[~small].reset_index(drop=True)
    said = [said_of(p, low, high) for p, low, high in zip(df["p_holm"], df["ci_low"], df["ci_high"])]
    colours = [LOOKS.get(r, SPARE).colour for r in df["ranker"]]
    df = df.assign(name=[_name(r, half, hops, main) for r, half, hops in zip(df["ranker"], df["half"], df["n_hops"])], said=said, colour=colours,
                   fill=[PAPER if s == "undecided" else c for s, c in zip(said, colours)], shape=[LOOKS.get(r, SPARE).shape for r in df["ranker"]])
    place = {r: k for k, r in enumerate(in_order(df["ranker"], LOOKS))}
    order = pd.DataFrame({"d": df["dataset"], "r": df["ranker"].map(place), "h": df["n_hops"], "c": df["half"] != main})
    return df.loc[order.sort_values(["d", "r", "h", "c"], kind="stable").index], few


def said_of(p_holm: float, low: float, high: float) -> str:
    """wins, loses or undecided; decided only where p after Holm is below LEVEL too.

    >>> said_of(0.01, 0.1, 0.3), said_of(0.2, 0.1, 0.3), said_of(0.01, -0.3, -0.1)
    ('wins', 'undecided', 'loses')
    """
    return words.verdict(low, high) if p_holm < LEVEL else "undecided"


def _name(ranker: str, half: str, hops: int, main: str) -> str:
    if half != main:
        return CONFIRM
    return ranker if hops == ALL_HOPS else f"{hops} {'hop' if hops == 1 else 'hops'}"


def _domain(df: pd.DataFrame) -> list[float]:
    low, high = min(df["ci_low"].min(), -0.01), max(df["ci_high"].max(), 0.01)
    return [low - 0.06 * (high - low), high + 0.06 * (high - low)] if len(df) else [-0.01, 0.01]


def _block(df: pd.DataFrame, name: str, domains: dict, first: bool, last: bool) -> alt.HConcatChart:
    names = list(dict.fromkeys(df["name"]))
    panels = [_panel(df[df["measure"] == m], names, PANELS[m] if first else "", domains[m], k == 0, last) for k, m in enumerate(PANELS)]
    told = {"title": alt.TitleParams(name, fontSize=12, frame="group", offset=5)} if name else {}
    return alt.hconcat(*panels, spacing=BESIDE + 14, bounds="flush").properties(**told)


def _panel(df: pd.DataFrame, names: list[str], head: str, domain: list[float], first: bool, last: bool) -> alt.LayerChart:
    axis = POINTS.copy()
    axis.labels = last
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    x, at = alt.X("ci_low:Q", title=None, scale=scale, axis=axis), alt.X("estimate:Q", title=None, scale=scale)
    y = alt.Y("name:N", sort=names, title=None, axis=row_axis([*names, CONFIRM], first), scale=alt.Scale(domain=names))
    df = df.assign(points=[words.signed(100 * v, 1) for v in df["estimate"]], asked=[f"{n:,}" for n in df["n"]])
    base = alt.Chart(df).encode(y=y, color=alt.Color("colour:N", scale=None))
    shade = alt.Chart(df.loc[df["name"] != df["ranker"], ["name"]]).mark_rect(color=FAINT, opacity=0.38, height=ROW).encode(y=y)
    zero = alt.Chart(pd.DataFrame([{"zero": 0}])).mark_rule(color=INK).encode(x=alt.X("zero:Q", scale=scale))
    looks = {"fill": alt.Fill("fill:N", scale=None), "stroke": alt.Stroke("colour:N", scale=None), "shape": alt.Shape("shape:N", scale=None)}
    marks = [base.mark_rule(strokeWidth=2).encode(x=x, x2="ci_high:Q"),
             base.mark_point(filled=True, size=62, opacity=1, strokeWidth=1.8).encode(x=at, **looks)]
    sides = {"points": (46, INK), "asked": (BESIDE, MUTED)}
    texts = [alt.Chart(df).mark_text(align="right", dx=dx, color=colour, fontSize=11).encode(x=alt.value(WIDTH), y=y, text=f"{column}:N")
             for column, (dx, colour) in sides.items()]
    heads = [alt.Chart(pd.DataFrame([{"head": text}])).mark_text(align="right", dx=dx, color=MUTED, fontSize=11).encode(
        x=alt.value(WIDTH), y=alt.value(-8), text="head:N") for text, dx in (("points", 46), ("n", BESIDE))] if head else []
    title = {"title": alt.TitleParams(head, fontSize=11.5, fontWeight="normal", color=MUTED, frame="group", offset=7)} if head else {}
    return alt.layer(*([shade] if (df["name"] != df["ranker"]).any() else []), zero, *marks, *texts, *heads).properties(
        width=WIDTH, height=ROW * len(names), **title)


def finding(df: pd.DataFrame) -> str:
    """The title: what the graph list's first 5 hold more or less of than the dense list's, over all questions, after Holm.

    >>> one = dict(dataset="musique", ranker="graph", name="graph", estimate=0.081, measure="last_hop_hit_at_5", said="wins")
    >>> finding(pd.DataFrame([one])).replace(words.GAP, " ")
    "The first 5 of the graph list against the dense list's: more last hops (+8.1 points)"
    """
    rows = df[df["name"] == H]
    if rows.empty:
        return "There is no graph list among the lists that are set beside the dense one"
    told = [_told(rows[rows["measure"] == m], noun) for m, noun in TITLED.items() if (rows["measure"] == m).any()]
    return f"The first{words.GAP}5 of the graph list against the dense list's: {'; '.join(told)}"


def _told(rows: pd.DataFrame, noun: str) -> str:
    """One measure: data sets by verdict, or the verdict and the points where there is one data set."""
    verbs = {"wins": f"more{words.GAP}{noun}", "loses": f"{'less' if noun == 'gold' else 'fewer'}{words.GAP}{noun}", "undecided": f"{noun} undecided"}
    if len(rows) == 1:
        return f"{verbs[rows['said'].iloc[0]]} ({words.signed(100 * rows['estimate'].iloc[0], 1)}{words.GAP}points)"
    return ", ".join(f"{verb} on {words.listed([named(d) for d in rows.loc[rows['said'] == said, 'dataset']])}"
                     for said, verb in verbs.items() if (rows["said"] == said).any())
